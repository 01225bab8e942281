"""The fifteenth held-out set, classes A to E: from public threads of 2022 to 2026, chosen by how often people meet them.

By somebody who has read no rule and no probe, and committed before the first run. Above each row: the kind of thread that
it is made from. The last step of each fault's plant is the fault.
"""

from __future__ import annotations

import json
import shlex

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Ran, Scene, World, imports, installs, lacks, runs, then
from tests.worldlab.scenes.closure import TENSORFLOW as WITH_LIBRARIES
from tests.worldlab.scenes.held_out_8 import (
    JAX,
    ONES,
    PROVIDER,
    TENSORFLOW,
    TORCH,
    VISION,
    layered,
    searches,
    sees_system,
    sets,
    without_system,
    writes,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

PICTURES = imports("torch", "cv2")
KERNELS = runs("import cupy; from cupy_backends.cuda.libs import nvrtc; print(nvrtc.getVersion())")
"""What CuPy asks before its first kernel."""
PLUGIN = runs(
    "import jax_plugins.xla_cuda12 as p\n"
    "p._import_extensions()\n"
    "p._load_nvidia_libraries()\n"
    "try:\n    print(p.cuda_versions.cusparse_get_version(), p.cuda_versions.cufft_get_version())\n"
    "except RuntimeError as e:\n    raise SystemExit(f'Unable to load cuSPARSE. Is it installed? {e}')"
)
"""What JAX's plug-in does before it makes a client."""
CLIENT = runs("import jax; print(jax.devices('cpu'))")
LOADS = runs("from transformers import AutoTokenizer, pipeline")
GPU = runs(
    "import onnxruntime as o; assert 'CUDAExecutionProvider' in o.get_available_providers(), "
    'f"CUDAExecutionProvider is not in available provider names: {o.get_available_providers()}"'
)
DOWNLOADS = runs(
    "import http.server, tempfile, threading\n"
    "class Hub(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200)\n"
    "        self.send_header('Content-Length', '4')\n"
    "        self.end_headers()\n"
    "        self.wfile.write(b'data')\n"
    "    def log_message(self, *a): pass\n"
    "server = http.server.HTTPServer(('127.0.0.1', 0), Hub)\n"
    "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
    "from huggingface_hub.file_download import http_get\n"
    "with tempfile.TemporaryFile() as f:\n"
    "    http_get(f'http://127.0.0.1:{server.server_port}/model.safetensors', f, expected_size=4)\n"
    "    f.seek(0)\n"
    "    assert f.read() == b'data'"
)
"""How a file of the Hub comes, from a server of this machine."""
ARCHITECTURES = runs("from torch.utils.cpp_extension import _get_cuda_arch_flags; print(_get_cuda_arch_flags())")
"""What the building of an extension asks first."""
NVCC = runs(
    "from torch.utils import cpp_extension as c\n"
    "c._check_cuda_version('g++', c.TorchVersion('11.0'))\n"
    "print(c.CUDA_HOME)"
)
"""What the building of an extension does next: it asks the toolkit's compiler."""
BLAS = "import ctranslate2, ctypes; ctypes.CDLL('libcublas.so.12'); ctypes.CDLL('libcudnn.so.9')"
"""What CTranslate2 opens by these names before the first multiplication, and before the first convolution."""


def said_by(world: World, words: list[str]) -> Ran:
    """Run a program; whether it ran to its end is what it says."""
    try:
        done = world.run(words)
    except OSError as e:
        return Ran(ok=False, said=str(e))
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:] or f"status {done.returncode}")


def by_kernel(world: World) -> Ran:
    """Run the cells in the one kernel of the notebook, with its variables, as Jupyter starts it."""
    (path,) = (world.home / ".local/share/jupyter/kernels").glob("torch/kernel.json")
    told = json.loads(path.read_text())
    given = [f"{name}={value}" for name, value in told.get("env", {}).items()]
    return said_by(world, ["env", *given, told["argv"][0], "main.py"])


def by_code(world: World) -> Ran:
    """Run what F5 starts in VS Code: the interpreter and the variables of launch.json."""
    told = json.loads((world.home / "work/.vscode/launch.json").read_text())["configurations"][0]
    given = [f"{name}={value}" for name, value in told.get("env", {}).items()]
    return said_by(world, ["env", *given, told["python"], "main.py"])


def by_batch(world: World) -> Ran:
    """Run the script of a job as the cluster does: with none of the shell's variables, but with those of the machine."""
    return said_by(world, ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", "bash", "train.sbatch"])


def by_run(world: World) -> Ran:
    """Run the person's program in its folder, by the environment's Python."""
    return said_by(world, [str(world.python), "main.py"])


def by_script(world: World) -> Ran:
    """Run the person's script."""
    return said_by(world, ["bash", "run.sh"])


# --- what people do -----------------------------------------------------------------------------------------------------


def exported(world: World) -> None:
    """Name the folders of NVIDIA's packages in LD_LIBRARY_PATH, in the shell and in its start-up file."""
    searches(world)
    value = shlex.quote(world.variables["LD_LIBRARY_PATH"])
    (world.home / ".bashrc").write_text(f"# faster-whisper\nexport LD_LIBRARY_PATH={value}\n")


def activated(world: World) -> None:
    """Work in a shell in which the environment is activated."""
    world.variables["VIRTUAL_ENV"] = str(world.prefix)
    world.variables["PATH"] = f"{world.prefix}/bin:/usr/local/bin:/usr/bin:/bin"


def kernel(python: str) -> dict[str, str]:
    """Return the file that ``ipykernel install --user --name torch`` writes when it is run by this Python."""
    told = {
        "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python (torch)",
        "language": "python",
        "metadata": {"debugger": True},
    }
    return {".local/share/jupyter/kernels/torch/kernel.json": json.dumps(told, indent=1)}


def launch(python: str) -> dict[str, str]:
    """Return VS Code's file of what F5 starts."""
    told = {
        "name": "Python: train",
        "type": "debugpy",
        "request": "launch",
        "program": "${workspaceFolder}/main.py",
        "console": "integratedTerminal",
        "python": python,
    }
    return {"work/.vscode/launch.json": json.dumps({"version": "0.2.0", "configurations": [told]}, indent=4)}


UNIT = ".config/systemd/user/train.service"
SBATCH = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --gres=gpu:1\n#SBATCH --export=NONE\n#SBATCH --output=%j.log\n\nset -e\n"
OF_TENSORFLOW = tuple(
    f"nvidia-{name}-cu12"
    for name in (
        *("cublas", "cuda-cupti", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cudnn"),
        *("cufft", "curand", "cusolver", "cusparse", "nccl", "nvjitlink"),
    )
)
"""What tensorflow[and-cuda] brings along."""
NVIDIA = ("cublas", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft", "curand", "nvjitlink")
SEARCHED = ":".join(f"{{env}}/lib/python{VERSION}/site-packages/nvidia/{name}/lib" for name in NVIDIA)

BROKEN = ("requirement_broken",)
UNFIT = ("extension_abi_mismatch", "requirement_broken")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active",)
NOT_SEARCHED = (
    "cuda_not_on_search_path",
    "cudnn_not_on_search_path",
    "process_env_not_inherited",
    "ld_library_path_override",
)
LACKS_CUDA = ("cuda_runtime_missing", "cudnn_not_installed", "requirement_broken")

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # issues of trainers and of containers: the newest torch beside an old list of NVIDIA's packages (libcusparseLt.so.0)
    Scene("torch-without-cusparselt", "A", "torch-2.6", TORCH, lacks("nvidia-cusparselt-cu12"), (*BROKEN, "cuda_runtime_missing", "installation_interrupted"), "torch", "libcusparseLt", "libcusparseLt.so.0"),
    # issues of TensorFlow, the most frequent one: pip install tensorflow, without [and-cuda]
    Scene("tensorflow-without-and-cuda", "A", "tensorflow", WITH_LIBRARIES, lacks(*OF_TENSORFLOW), LACKS_CUDA, "tensorflow", "", "libcudart.so.12"),
    # issues of CuPy: a wheel of CuPy, NVIDIA's libraries from wheels, and no compiler among them
    Scene("cupy-without-nvrtc", "A", "cupy", KERNELS, then(searches, lacks("nvidia-cuda-nvrtc-cu12")), ("nvrtc_missing_or_mismatch", "cuda_runtime_missing", *BROKEN), "", "nvrtc", "libnvrtc.so.12"),
    # issues of ONNX Runtime and of face-swapping programs: cuDNN and cuBLAS by hand, and cuFFT forgotten
    Scene("onnxruntime-without-cufft", "A", "onnxruntime-1.23", runs(PROVIDER), then(searches, lacks("nvidia-cufft-cu12")), ("cuda_runtime_missing", "cuda_not_on_search_path", *BROKEN), "onnxruntime-gpu", "libcufft", "libcufft.so.11"),
    # issues of PyTorch and of trainers: the profiler's library did not come along (libcupti)
    Scene("torch-without-the-profilers-library", "A", "torch-2.8", TORCH, lacks("nvidia-cuda-cupti-cu12"), (*BROKEN, "cuda_runtime_missing", "installation_interrupted"), "torch", "libcupti", "libcupti.so.12"),
    # issues of object detection in slim containers: opencv-python without a desktop
    Scene("opencv-without-libgl", "A", "torch-2.6", PICTURES, then(installs("--no-deps", "opencv-python==4.11.0.86"), without_system("libGL.so*")), ("system_library_missing",), "", "libGL.so.1", "libGL.so.1"),
    # === B: all files are there, and do not fit
    # issues of torchvision, detection and ComfyUI: torch upgraded, torchvision left as it was
    Scene("torchvision-of-an-older-torch", "B", "torch-2.8", VISION, installs("--no-deps", "torchvision==0.21.0"), UNFIT, "", "torchvision", "torchvision::nms does not exist"),
    # issues of PyTorch, hundreds of duplicates: another package brought an older nvJitLink
    Scene("torch-with-an-older-nvjitlink", "B", "torch-2.6", TORCH, installs("--no-deps", "nvidia-nvjitlink-cu12==12.1.105"), (*BROKEN, "cuda_lib_shadowed", "cuda_toolkit_version_mismatch"), "torch", "nvjitlink", "nvJitLink"),
    # issues of pandas, scikit-learn and datasets since 2024: built with NumPy 1, and NumPy 2 is there
    Scene("datasets-with-a-pandas-of-numpy-1", "B", "hub", imports("datasets"), installs("--no-deps", "pandas==2.1.4", "pytz==2026.6"), ("numpy_abi_mismatch", *UNFIT), "", "pandas", "numpy.dtype size changed"),
    # issues of transformers and of huggingface_hub since the end of 2025: the Hub's client of the next major release
    Scene("transformers-with-the-hub-of-1", "B", "hub", LOADS, installs("huggingface_hub==1.3.0"), BROKEN, "", "huggingface", "is required for a normal functioning"),
    # issues of JAX: jaxlib alone upgraded
    Scene("jax-with-a-newer-jaxlib", "B", "jax", CLIENT, installs("--no-deps", "jaxlib==0.8.0"), BROKEN, "", "jaxlib", "jaxlib version 0.8.0 is newer than and incompatible with jax version 0.7.2"),
    # issues of TensorFlow and of everything with protobuf: another package pinned an old one
    Scene("tensorflow-with-an-old-protobuf", "B", "tensorflow", TENSORFLOW, installs("--no-deps", "protobuf==3.20.3"), BROKEN, "", "protobuf", "runtime_version"),
    # === C: Python finds another file
    # issues of datasets and of research code: the project's own package "datasets"
    Scene("datasets-of-the-project", "C", "hub", by_run, then(program("from datasets import load_dataset"), writes({"work/datasets/__init__.py": "from .cub import Birds\n", "work/datasets/cub.py": "class Birds:\n    pass\n"})), SHADOWED, "", "datasets", "cannot import name 'load_dataset'"),
    # issues of PyTorch: a file of one's own with a name of the standard library
    Scene("random-of-the-person", "C", "torch-2.8", by_run, then(program(ONES), writes({"work/random.py": "import numpy as np\n\n\ndef seeded(n):\n    return np.arange(n)\n"})), SHADOWED, "", "random.py", "cannot import name 'Random'"),
    # issues of clusters and of ROS: PYTHONPATH with packages of a module, of before
    Scene("typing-extensions-of-a-module", "C", "torch-2.6", TORCH, then(layered("modules/python-libs/2023b", "--no-deps", "typing_extensions==4.5.0"), sets(PYTHONPATH="{home}/modules/python-libs/2023b")), SHADOWED, "", "typing_extensions", "typing_extensions"),
    # issues of NumPy with ROS and with conda: PYTHONPATH with the packages of another Python
    Scene("numpy-of-another-python", "C", "jax", runs(JAX), then(layered("miniconda3/envs/robot/lib/python3.10/site-packages", "--python-version", "3.10", "--only-binary", ":all:", "--no-deps", "numpy==1.26.4"), sets(PYTHONPATH="{home}/miniconda3/envs/robot/lib/python3.10/site-packages")), ("package_for_another_python", *SHADOWED), "", "numpy", "numpy"),
    # issues of transformers and of local servers: the person's own transformers.py
    Scene("transformers-of-the-person", "C", "hub", by_run, then(program("from transformers import AutoModelForCausalLM"), writes({"work/transformers.py": "def swap(x):\n    return x[::-1]\n"})), SHADOWED, "", "transformers.py", "cannot import name 'AutoModelForCausalLM'"),
    # issues of ONNX Runtime, rembg, insightface and fastembed: another package brought the one without CUDA
    Scene("onnxruntime-twice", "C", "onnxruntime-1.20", GPU, then(searches, installs("--no-deps", "onnxruntime==1.20.1")), ("duplicate_framework_packages", "framework_cpu_only_build"), "", "onnxruntime", "is not in available provider names"),
    # === D: started in another way
    # questions about services: the system's Python in ExecStart
    Scene("service-by-the-systems-python", "D", "torch-2.6", by_unit, then(program(ONES), writes({UNIT: unit_text("WorkingDirectory={home}/work\n", "/usr/bin/python3 {home}/work/main.py")})), ELSEWHERE, "", "train.service", "No module named 'torch'"),
    # issues of faster-whisper and of voice assistants: works in the terminal, and not as a service
    Scene("whisper-service-without-the-shells-folders", "D", "ctranslate2", by_unit, then(exported, program(BLAS), writes({UNIT: unit_text("WorkingDirectory={home}/work\n")})), NOT_SEARCHED, "", "train.service", "libcublas.so.12"),
    # issues of Jupyter: the kernel that was installed by the wrong Python
    Scene("kernel-of-the-systems-python", "D", "torch-2.8", by_kernel, then(program(ONES), writes(kernel("/usr/bin/python3"))), ELSEWHERE, "", "kernel.json", "No module named 'torch'"),
    # issues of VS Code's Python: F5 starts another interpreter than the one that was chosen
    Scene("debugger-of-the-systems-python", "D", "hub", by_code, then(program(ONES), writes(launch("/usr/bin/python3"))), ELSEWHERE, "", "launch.json", "No module named 'torch'"),
    # questions on clusters: the job's script activates nothing
    Scene("batch-script-that-activates-nothing", "D", "tensorflow", by_batch, then(activated, program("import tensorflow"), writes({"work/train.sbatch": SBATCH + "python3 main.py\n"})), ELSEWHERE, "", "train.sbatch", "No module named 'tensorflow'"),
    # issues of ONNX Runtime: a script that sets LD_LIBRARY_PATH instead of adding to it
    Scene("script-that-replaces-the-folders", "D", "onnxruntime-1.23", by_script, then(exported, program(PROVIDER), writes({"work/run.sh": "#!/bin/bash\nexport CUDA_HOME=/usr/local/cuda\nexport LD_LIBRARY_PATH=/usr/local/cuda/lib64\n{env}/bin/python main.py\n"})), NOT_SEARCHED, "", "run.sh", "libcu"),
    # === E: variables
    # issues of JAX of 2025, many: the toolkit's folder in LD_LIBRARY_PATH, with an older nvJitLink
    Scene("jax-with-the-toolkits-nvjitlink", "E", "jax", PLUGIN, then(layered("cuda-12.1", "--no-deps", "nvidia-nvjitlink-cu12==12.1.105"), sets(LD_LIBRARY_PATH="{home}/cuda-12.1/nvidia/nvjitlink/lib")), ("ld_library_path_override", "cuda_lib_shadowed", "cuda_toolkit_version_mismatch"), "", "LD_LIBRARY_PATH", "Unable to load cuSPARSE"),
    # issues of JAX: a flag of the pages for TPUs
    Scene("jax-with-a-flag-for-tpus", "E", "jax", CLIENT, sets(XLA_FLAGS="--xla_tpu_spmd_rng_bit_generator_unsafe=1"), VALUE, "", "xla_tpu_spmd_rng_bit_generator_unsafe", "Unknown flag"),
    # issues of the Hub, of images for GPUs that set it for everybody: no hf_transfer here
    Scene("hub-without-hf-transfer", "E", "hub", DOWNLOADS, sets(HF_HUB_ENABLE_HF_TRANSFER="1"), (*VALUE, *BROKEN), "", "HF_HUB_ENABLE_HF_TRANSFER", "HF_HUB_ENABLE_HF_TRANSFER=1"),
    # issues of Keras: the name of the framework instead of the backend's
    Scene("keras-with-pytorch-for-torch", "E", "tensorflow", imports("keras"), sets(KERAS_BACKEND="pytorch"), VALUE, "", "KERAS_BACKEND", "Unable to import backend : pytorch"),
    # issues of extensions since the RTX 50 and the DGX Spark: the list of architectures is newer than torch
    Scene("torch-with-architectures-of-later", "E", "torch-2.6", ARCHITECTURES, then(installs("setuptools==80.9.0"), sets(TORCH_CUDA_ARCH_LIST="8.9"), sets(TORCH_CUDA_ARCH_LIST="8.9;12.1")), VALUE, "", "TORCH_CUDA_ARCH_LIST", "Unknown CUDA arch (12.1)"),
    # issues of apex, of deepspeed and of every extension: CUDA_HOME with a colon before it, from a line of .bashrc
    Scene("torch-with-a-colon-in-cuda-home", "E", "torch-2.6", NVCC, then(installs("setuptools==80.9.0"), sets(CUDA_HOME=":/usr/local/cuda")), ("cuda_path_env_wrong", *VALUE), "", "CUDA_HOME", ":/usr/local/cuda/bin/nvcc"),
    # === odd, and healthy
    # every ONNX Runtime of the wheels names TensorRT, and nearly nobody has it
    Scene("onnxruntime-without-tensorrt", "healthy", "onnxruntime-1.23", runs(PROVIDER), searches),
    # the start script of a web interface preloads an allocator that is not installed: the loader says so, and goes on
    Scene("torch-with-an-allocator-that-is-gone", "healthy", "torch-2.8", TORCH, sets(LD_PRELOAD="libtcmalloc_minimal.so.4")),
    # a server without a desktop, and the OpenCV for servers
    Scene("opencv-for-servers", "healthy", "torch-2.6", PICTURES, then(installs("--no-deps", "opencv-python-headless==4.11.0.86"), without_system("libGL.so*"))),
    # a project that pins numpy below 2
    Scene("torch-with-numpy-1", "healthy", "torch-2.6", runs("import torch, torchvision; print(torch.ones(2).numpy())"), installs("numpy==1.26.4")),
    # a folder with data, which Python looks at behind the package
    Scene("data-in-a-folder-datasets", "healthy", "hub", by_run, then(program("from datasets import load_dataset"), writes({"work/datasets/coco/labels.txt": "cat\n", "work/torch_utils.py": "x = 1\n", "work/models/onnx/readme.txt": ""}))),
    # a test of many devices on a processor
    Scene("jax-with-eight-processors", "healthy", "jax", CLIENT, sets(JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=8 --xla_gpu_enable_triton_gemm=false", XLA_PYTHON_CLIENT_PREALLOCATE="false")),
    # the variable of the images for GPUs, and what it asks for
    Scene("hub-with-hf-transfer", "healthy", "hub", DOWNLOADS, then(installs("hf_transfer==0.1.9"), sets(HF_HUB_ENABLE_HF_TRANSFER="1", HF_HOME="{home}/disk/hf", TOKENIZERS_PARALLELISM="false"))),
    # a service that names the folders itself
    Scene("whisper-service-with-its-folders", "healthy", "ctranslate2", by_unit, then(exported, program(BLAS), writes({UNIT: unit_text(f"WorkingDirectory={{home}}/work\nEnvironment=LD_LIBRARY_PATH={SEARCHED}\n")}))),
    # the kernel of the environment, and one of another language
    Scene("kernel-of-the-environment", "healthy", "torch-2.8", by_kernel, then(program(ONES), writes(kernel("{env}/bin/python")), writes({".local/share/jupyter/kernels/ir/kernel.json": '{"argv": ["R", "--slave", "-e", "IRkernel::main()", "--args", "{connection_file}"], "display_name": "R", "language": "R"}\n'}))),
    # VS Code with the environment's interpreter
    Scene("debugger-of-the-environment", "healthy", "hub", by_code, then(program(ONES), writes({**launch("{env}/bin/python"), "work/.vscode/settings.json": '{\n  // of this folder\n  "python.defaultInterpreterPath": "{env}/bin/python",\n}\n', "work/.env": "PYTHONPATH=./src\nWANDB_MODE=offline\n"}))),
    # words that everybody copies
    Scene("tensorflow-with-words-of-everybody", "healthy", "tensorflow", TENSORFLOW, sets(TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0", TF_FORCE_GPU_ALLOW_GROWTH="true", TF_GPU_ALLOCATOR="cuda_malloc_async", KERAS_BACKEND="tensorflow")),
    # an environment that sees the person's own packages, of before, behind its own
    Scene("packages-of-the-person-behind", "healthy", "torch-2.6", runs("import torch, numpy; assert numpy.__version__ == '2.2.6', numpy.__version__"), then(sees_system, layered(f".local/lib/python{VERSION}/site-packages", "--no-deps", "numpy==1.26.4", "typing_extensions==4.5.0"))),
    # words for PyTorch's memory, for a compiler and for several cards
    Scene("torch-with-words-of-everybody", "healthy", "torch-2.8", TORCH, sets(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,garbage_collection_threshold:0.8", CUDA_LAUNCH_BLOCKING="1", TORCH_CUDA_ARCH_LIST="8.0;8.6;8.9+PTX", NCCL_P2P_DISABLE="1", NCCL_DEBUG="WARN", CUDA_DEVICE_ORDER="PCI_BUS_ID", OMP_NUM_THREADS="4")),
    # a job's script that activates
    Scene("batch-script-that-activates", "healthy", "jax", by_batch, then(program(JAX), writes({"work/train.sbatch": SBATCH + "source {env}/bin/activate\npython main.py\n"}))),
    # CuPy with NVIDIA's wheels, and with words of its own
    Scene("cupy-with-a-cache-elsewhere", "healthy", "cupy", KERNELS, then(searches, sets(CUPY_CACHE_DIR="{home}/disk/cupy", CUPY_ACCELERATORS="cub", CUPY_TF32="1"))),
)  # fmt: skip
