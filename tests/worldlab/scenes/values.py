"""Variables and what may stand in them (class E): written from the list of classes before a scan had seen any of them."""

from __future__ import annotations

import os

from tests.worldlab.scene import Scene, World, imports, installs, runs, then
from tests.worldlab.scenes.held_out import ALLOCATOR, JAX, NVCC, TRITON_BUILD, TRITON_CACHE, VALUE, sets, writes
from tests.worldlab.scenes.held_out_2 import ALL_SEARCHED, TF_KERAS
from tests.worldlab.scenes.held_out_8 import Plant
from tests.worldlab.scenes.held_out_12 import COMPILES, without_headers
from tests.worldlab.scenes.starters import program

TORCH = imports("torch")
CUPY = imports("cupy")
TENSORFLOW = imports("tensorflow")
KEPT_KERNELS = runs("import os; from cupy.cuda import compiler; os.makedirs(compiler.get_cache_dir(), exist_ok=True)")
"""What CuPy does before it compiles its first kernel."""
OPTIONS = runs(
    "from triton.backends.nvidia.compiler import CUDABackend; from triton.backends.compiler import GPUTarget\n"
    "CUDABackend(GPUTarget('cuda', 80, 32)).parse_options({})"
)
NCCL = runs(
    "import ctypes, os, torch, sysconfig\n"
    "nccl = ctypes.CDLL(os.path.join(sysconfig.get_paths()['purelib'], 'nvidia/nccl/lib/libnccl.so.2'))\n"
    "nccl.ncclGetLastError.restype = ctypes.c_char_p\n"
    "status = nccl.ncclGetUniqueId(ctypes.create_string_buffer(128))\n"
    "assert status == 0, f'{status} {nccl.ncclGetLastError(None)}'"
)
HUB = runs("import os, torch; os.makedirs(os.path.join(torch.hub.get_dir(), 'checkpoints'), exist_ok=True)")
"""What ``torch.hub.load_state_dict_from_url`` does before it fetches."""


HUGGING = installs("transformers==4.51.3", "numpy==2.2.6")
FETCHES = runs(
    "import requests\ntry:\n    requests.get('https://127.0.0.1:9/model', timeout=5)\nexcept requests.ConnectionError:\n    print('nobody answers there')"
)


def read_only(name: str):
    """A folder of the home that this person may only read."""

    def plant(world: World) -> None:
        (world.home / name).mkdir(parents=True)
        (world.home / name).chmod(0o555)
        world.plain_rights = True

    return plant


DATA = runs("import datasets; datasets.Dataset.from_generator(lambda: ({'text': str(i)} for i in range(3)))['text']")


def made_by_root(*names: str) -> Plant:
    """Folders of the home that a first run with sudo made: everybody may read them."""

    def plant(world: World) -> None:
        for name in names:
            (world.home / name).mkdir(parents=True, exist_ok=True)
            os.chown(world.home / name, 12345, 12345)
            (world.home / name).chmod(0o755)
        world.plain_rights = True

    return plant


COMPILING = "import torch\n@torch.compile\ndef f(x):\n    return x * 2\n"

SCENES: tuple[Scene, ...] = (
    # --- what a program that compiles needs
    Scene("compiling-without-pythons-headers", "A", "torch-2.8", COMPILES, then(program(COMPILING), without_headers), ("build_tools_missing",), "", "Python.h", "Python.h"),
    Scene("odd-plain-program-without-pythons-headers", "healthy", "torch-2.8", imports("torch"), then(program("import torch\ntorch.ones(1)\n"), without_headers)),
    # --- folders for what programs keep, by default
    Scene("hub-folder-made-with-sudo", "E", "hub", DATA, made_by_root(".cache/huggingface"), (*VALUE, "library_unreadable"), "", ".cache/huggingface", "Permission denied"),
    Scene("cupy-kernels-made-with-sudo", "E", "cupy", KEPT_KERNELS, then(ALL_SEARCHED, made_by_root(".cupy")), (*VALUE, "library_unreadable"), "", ".cupy", "Permission denied"),
    Scene("odd-hub-elsewhere-and-a-folder-made-with-sudo", "healthy", "hub", DATA, then(made_by_root(".cache/huggingface"), sets(HF_HOME="{home}/models"))),
    # --- frameworks' own
    Scene("torch-share-of-memory-in-percent", "E", "torch-2.8", ALLOCATOR, sets(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,garbage_collection_threshold:80"), VALUE, "torch", "garbage_collection_threshold", "threshold too big"),
    Scene("torch-log-that-is-close", "E", "torch-2.8", TORCH, sets(TORCH_LOGS="+dynamo,recompile"), VALUE, "torch", "recompile", "recompile"),
    Scene("torch-distributed-debug-all", "E", "torch-2.8", TORCH, sets(TORCH_DISTRIBUTED_DEBUG="all"), VALUE, "torch", "TORCH_DISTRIBUTED_DEBUG", "must be OFF, INFO, or DETAIL"),
    Scene("triton-architecture-with-a-dot", "E", "torch-2.8", OPTIONS, sets(TRITON_OVERRIDE_ARCH="8.0"), VALUE, "", "TRITON_OVERRIDE_ARCH", "must have the form"),
    Scene("triton-compiler-of-two-words", "E", "torch-2.8", TRITON_BUILD, sets(CC="ccache gcc"), VALUE, "", "ccache gcc", "ccache gcc"),
    Scene("triton-cache-that-is-closed", "E", "torch-2.8", TRITON_CACHE, then(read_only("shared"), sets(TRITON_CACHE_DIR="{home}/shared/triton")), VALUE, "", "TRITON_CACHE_DIR", "Permission denied"),
    Scene("torch-home-is-a-file", "E", "torch-2.6", HUB, then(writes({"models": "see the wiki\n"}), sets(TORCH_HOME="{home}/models")), VALUE, "torch", "TORCH_HOME", "models"),
    Scene("torch-cuda-home-with-a-colon", "E", "torch-2.6", NVCC, then(installs("setuptools<81"), sets(CUDA_HOME=":/usr/local/cuda-12.8")), ("cuda_path_env_wrong", *VALUE, "build_tools_missing"), "", ":/usr/local/cuda-12.8", "cuda-12.8"),
    Scene("torch-interface-that-is-gone", "E", "torch-2.8", NCCL, sets(NCCL_SOCKET_IFNAME="enp9s0"), VALUE, "", "enp9s0", "socket interface"),
    Scene("jax-truth-by-a-word", "E", "jax", JAX, sets(JAX_ENABLE_X64="enabled"), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    Scene("jax-size-with-a-unit", "E", "jax", JAX, sets(JAX_COMPILATION_CACHE_MAX_SIZE="10G"), VALUE, "", "JAX_COMPILATION_CACHE_MAX_SIZE", "10G"),
    Scene("jax-flags-without-dashes", "E", "jax", JAX, sets(XLA_FLAGS="xla_gpu_autotune_level=0"), VALUE, "", "XLA_FLAGS", "Could not open file"),
    Scene("keras-backend-that-is-absent", "E", "tensorflow", TF_KERAS, sets(KERAS_BACKEND="torch"), (*VALUE, "requirement_broken"), "", "KERAS_BACKEND", "torch"),
    Scene("keras-backend-of-old", "E", "tensorflow", TF_KERAS, sets(KERAS_BACKEND="theano"), VALUE, "", "KERAS_BACKEND", "theano"),
    Scene("tensorflow-protobuf-by-cpp", "E", "tensorflow", TENSORFLOW, sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="cpp"), (*VALUE, "requirement_broken"), "", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "pyext"),
    Scene("tensorflow-without-docstrings", "E", "tensorflow", TF_KERAS, sets(PYTHONOPTIMIZE="2"), VALUE, "", "PYTHONOPTIMIZE", "NoneType"),
    Scene("cupy-unknown-accelerator", "E", "cupy", CUPY, then(ALL_SEARCHED, sets(CUPY_ACCELERATORS="cub,tensor")), VALUE, "", "CUPY_ACCELERATORS", "Unknown accelerator"),
    Scene("numpy-without-its-baseline", "E", "torch-2.6", imports("numpy"), sets(NPY_DISABLE_CPU_FEATURES="SSE2"), VALUE, "", "NPY_DISABLE_CPU_FEATURES", "SSE2"),
    # --- the interpreter's own
    Scene("python-unknown-encoding", "E", "torch-2.6", TORCH, sets(PYTHONIOENCODING="utf-9"), (*VALUE, "python_environment_broken"), "", "PYTHONIOENCODING", "unknown encoding"),
    Scene("python-seed-by-a-word", "E", "torch-2.6", TORCH, sets(PYTHONHASHSEED="fixed"), (*VALUE, "python_environment_broken"), "", "PYTHONHASHSEED", "PYTHONHASHSEED"),
    Scene("torchaudio-without-docstrings", "E", "torch-2.8", imports("torchaudio"), sets(PYTHONOPTIMIZE="2"), VALUE, "", "PYTHONOPTIMIZE", "'NoneType' object has no attribute 'format'"),
    # --- odd, and healthy
    Scene("odd-torch-without-docstrings", "healthy", "torch-2.6", imports("torch", "torchvision", "sympy", "torch._dynamo"), sets(PYTHONOPTIMIZE="2")),
    Scene("odd-jax-without-docstrings", "healthy", "jax", imports("jax", "scipy.linalg"), sets(PYTHONOPTIMIZE="2")),
    Scene("odd-words-for-the-loader", "healthy", "torch-2.8", TORCH, sets(LD_PRELOAD="/opt/gone/libhook.so", LD_AUDIT="/opt/gone/audit.so", LD_BIND_NOW="1", GLIBC_TUNABLES="glibc.malloc.check=0:glibc.none=1", MALLOC_ARENA_MAX="2", MALLOC_CONF="x:y")),
    Scene("odd-words-for-python", "healthy", "torch-2.6", TORCH, sets(PYTHONOPTIMIZE="1", PYTHONUNBUFFERED="yes", PYTHONHASHSEED="0", PYTHONIOENCODING="utf-8:replace", PYTHONUTF8="1", PYTHONSAFEPATH="1", PYTHONNOUSERSITE="yes", PYTHONFAULTHANDLER="1", PYTHONWARNINGS="ignore::NoSuch", PYTHONSTARTUP="/gone", PYTHONBREAKPOINT="0", PYTHONPYCACHEPREFIX="{home}/pyc")),
    Scene("odd-words-for-threads", "healthy", "torch-2.6", runs("import torch, numpy; torch.ones(9) @ torch.ones(9)"), sets(OMP_NUM_THREADS="4,2", OMP_PROC_BIND="spread", KMP_AFFINITY="granularity=fine,compact,1,0", KMP_DUPLICATE_LIB_OK="TRUE", OPENBLAS_NUM_THREADS="", MKL_THREADING_LAYER="GNU", GOMP_CPU_AFFINITY="0")),
    Scene("odd-words-for-nccl", "healthy", "torch-2.8", NCCL, sets(NCCL_DEBUG="WARN", NCCL_P2P_DISABLE="1", NCCL_IB_DISABLE="1", NCCL_ALGO="Ring", NCCL_SOCKET_IFNAME="=lo", NCCL_IB_HCA="^mlx5_9", NCCL_DEBUG_FILE="{home}/nccl.%h.%p", NCCL_NET_PLUGIN="none")),
    Scene("odd-places-that-are-not-there", "healthy", "torch-2.6", HUB, sets(LANG="xx_YY.UTF-8", LC_ALL="de_DE.ISO-8859-15", TMPDIR="{home}/gone", TORCH_HOME="{home}/a/b", HF_HOME="{home}/c/d", XDG_CACHE_HOME="{home}/e", CUDA_CACHE_PATH="{home}/f/g")),
    Scene("odd-words-for-cuda", "healthy", "torch-2.8", TORCH, sets(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES=" 0", NVIDIA_TF32_OVERRIDE="0", CUBLAS_WORKSPACE_CONFIG=":4096:8", CUDA_LAUNCH_BLOCKING="0", CUDA_MODULE_LOADING="LAZY", CUDA_CACHE_MAXSIZE="4294967296", CUDA_DEVICE_MAX_CONNECTIONS="1", NVIDIA_VISIBLE_DEVICES="all", NVIDIA_DRIVER_CAPABILITIES="compute,utility")),
    Scene("odd-words-for-torch", "healthy", "torch-2.8", TORCH, sets(TORCH_LOGS="+dynamo,graph_breaks,torch.nn,-inductor", TORCH_DISTRIBUTED_DEBUG="detail", TORCH_CUDA_ARCH_LIST="", PYTORCH_CUDA_ALLOC_CONF="", PYTORCH_ALLOC_CONF="expandable_segments:True", TORCH_SHOW_CPP_STACKTRACES="1", TORCHINDUCTOR_FX_GRAPH_CACHE="yes", TORCH_CPP_LOG_LEVEL="INFO", PYTORCH_NVML_BASED_CUDA_CHECK="1", TRITON_ALWAYS_COMPILE="no", TRITON_PTXAS_PATH="")),
    Scene("odd-words-for-jax", "healthy", "jax", JAX, then(writes({"flags": "--xla_gpu_autotune_level=0 --xla_dump_to={home}/dump\n"}), sets(XLA_FLAGS="{home}/flags", JAX_ENABLE_X64="True", JAX_COMPILATION_CACHE_MAX_SIZE="-1", JAX_TRACEBACK_FILTERING="off", JAX_LOGGING_LEVEL="DEBUG", JAX_DEBUG_NANS="no", XLA_PYTHON_CLIENT_PREALLOCATE="false"))),
    Scene("odd-words-for-tensorflow", "healthy", "tensorflow", TF_KERAS, sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python", KERAS_BACKEND="tensorflow", TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3", TF_USE_LEGACY_KERAS="0", TF_FORCE_GPU_ALLOW_GROWTH="true", TF_GPU_ALLOCATOR="cuda_malloc_async", TF_XLA_FLAGS="--tf_xla_auto_jit=2", TF_NUM_INTEROP_THREADS="2")),
    Scene("odd-words-for-cupy", "healthy", "cupy", CUPY, then(ALL_SEARCHED, sets(CUPY_ACCELERATORS="cub", CUPY_CACHE_DIR="{home}/x/y", CUPY_TF32="1", CUPY_GPU_MEMORY_LIMIT="50%", CUPY_CUDA_PER_THREAD_DEFAULT_STREAM="0", CUPY_CACHE_IN_MEMORY="0"))),
    # --- what compiled code reads
    Scene("jax-flag-of-another-kind", "E", "jax", JAX, sets(XLA_FLAGS="--xla_force_host_platform_device_count=all"), VALUE, "", "xla_force_host_platform_device_count"),
    Scene("opencv-switch-by-another-word", "E", "torch-2.6", imports("torch", "cv2"), then(installs("opencv-python-headless==4.11.0.86", "numpy==2.2.6"), sets(OPENCV_DUMP_CONFIG="yes")), VALUE, "", "OPENCV_DUMP_CONFIG", "OPENCV_DUMP_CONFIG"),
    Scene("odd-flags-with-values", "healthy", "jax", JAX, sets(XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=True --xla_gpu_enable_triton_gemm --xla_gpu_autotune_level=2 --xla_force_host_platform_device_count=2")),
    Scene("odd-words-of-opencv", "healthy", "torch-2.6", imports("torch", "cv2"), then(installs("opencv-python-headless==4.11.0.86", "numpy==2.2.6"), sets(OPENCV_IO_MAX_IMAGE_PIXELS="20MB", OPENCV_LOG_LEVEL="loud", OPENCV_FOR_THREADS_NUM="many", OPENCV_TRACE="FALSE", OPENCV_VIDEOIO_PRIORITY_LIST="x,y"))),
    # --- what downloads models, and what is asked for and absent
    Scene("hub-certificates-that-are-gone", "E", "torch-2.6", FETCHES, then(HUGGING, sets(REQUESTS_CA_BUNDLE="{home}/old/ca.pem")), VALUE, "", "REQUESTS_CA_BUNDLE", "CA certificate bundle"),
    Scene("transformers-with-tensorflow-asked-for", "E", "torch-2.6", runs("import torch; from transformers import BertModel; BertModel.from_pretrained"), then(HUGGING, sets(USE_TF="1")), VALUE, "", "USE_TF", "requires the PyTorch"),
    Scene("odd-words-for-transformers", "healthy", "torch-2.6", runs("import torch; from transformers import BertModel; BertModel.from_pretrained"), then(HUGGING, writes({"ca/own.pem": ""}), sets(USE_TF="0", USE_TORCH="1", REQUESTS_CA_BUNDLE="{home}/ca", HF_HUB_ENABLE_HF_TRANSFER="0", HF_HUB_DISABLE_TELEMETRY="1"))),
)  # fmt: skip
