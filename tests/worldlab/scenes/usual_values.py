"""Variables of every day and the values that people give them (class E): written before a scan had seen any of them."""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, then
from tests.worldlab.scenes.held_out_8 import JAX, ONES, sets, writes
from tests.worldlab.scenes.held_out_15 import by_run
from tests.worldlab.scenes.starters import program
from tests.worldlab.scenes.values import read_only

VALUE = ("variable_value_wrong",)
BROKEN = ("requirement_broken",)

LOADS = (
    "import torch\nfrom datasets import Dataset\nDataset.from_generator(lambda: ({'text': str(i)} for i in range(3)))"
)
"""The first data set of a program: it is kept in the hub's folder."""
GLOO = "import torch, torch.distributed as dist\ndist.init_process_group('gloo', rank=0, world_size=1, init_method='tcp://127.0.0.1:29731')\ndist.destroy_process_group()"
ENV_URL = "import os, torch, torch.distributed as dist\nos.environ.setdefault('MASTER_ADDR', '127.0.0.1')\ndist.init_process_group('gloo')\ndist.destroy_process_group()"
PLUGIN = "import jax\nfrom jaxlib import xla_client\nxla_client.generate_pjrt_gpu_plugin_options()"
"""What JAX does before it starts a GPU."""
HUB = "import torch\nfrom transformers import AutoModel\nAutoModel.from_pretrained"
ASKS = "import torch\nfrom huggingface_hub import HfApi\nfrom requests.exceptions import ConnectionError as Unreachable\ntry:\n    HfApi().model_info('gpt2', timeout=5)\nexcept Unreachable:\n    pass"
INDUCTOR = "import torch\nimport torch._inductor.config"
TRAINS = "import torch\nfrom accelerate import Accelerator\nAccelerator(cpu=True)"
PARALLEL = "import numpy, numba\n@numba.njit(parallel=True)\ndef f(x):\n    for i in numba.prange(8):\n        x[i] = i\nf(numpy.zeros(8))"
CLUSTER = "import tensorflow as tf\ntf.distribute.MultiWorkerMirroredStrategy"
DRAWS = "import torch\nimport matplotlib.pyplot as plt\nplt.plot(torch.arange(3))"
CT2 = "import ctranslate2\nctranslate2.get_supported_compute_types('cpu')"
ELASTIC = "import torch\nimport torch.distributed.run"
NUMBA = installs("numba==0.61.2")
PLOTS = installs("matplotlib==3.10.3")
A_FILE = writes({"models": "see the wiki\n"})

SCENES: tuple[Scene, ...] = (
    Scene("jax-flag-with-a-blank", "E", "jax", by_run, then(program(JAX), sets(XLA_FLAGS="--xla_gpu_autotune_level 0")), VALUE, "", "XLA_FLAGS"),
    Scene("jax-flag-with-blanks-around-the-sign", "E", "jax", by_run, then(program(JAX), sets(XLA_FLAGS="--xla_force_host_platform_device_count = 2")), VALUE, "", "XLA_FLAGS"),
    Scene("hub-home-below-a-file", "E", "hub", by_run, then(program(LOADS), A_FILE, sets(HF_HOME="{home}/models/hf")), VALUE, "", "HF_HOME"),
    Scene("hub-home-on-a-disk-that-is-closed", "E", "hub", by_run, then(program(LOADS), read_only("nas"), sets(HF_HOME="{home}/nas/hf")), (*VALUE, "library_unreadable"), "", "HF_HOME"),
    Scene("datasets-cache-that-cannot-be", "E", "hub", by_run, then(program(LOADS), sets(HF_DATASETS_CACHE="/proc/scratch/datasets")), VALUE, "", "HF_DATASETS_CACHE"),
    Scene("hub-home-that-cannot-be", "E", "hub", by_run, then(program(LOADS), sets(HF_HOME="/proc/scratch/hf")), VALUE, "", "HF_HOME"),
    Scene("hub-home-of-a-service-account", "E", "hub", by_run, then(program(LOADS), sets(HOME="/proc/nonexistent")), VALUE, "", "/proc/nonexistent"),
    Scene("gloo-on-an-interface-of-the-cluster", "E", "torch-2.6", by_run, then(program(GLOO), sets(GLOO_SOCKET_IFNAME="eno1")), VALUE, "", "GLOO_SOCKET_IFNAME"),
    Scene("port-by-a-word", "E", "torch-2.6", by_run, then(program(ENV_URL), sets(MASTER_PORT="auto", RANK="0", WORLD_SIZE="1")), VALUE, "", "MASTER_PORT"),
    Scene("program-share-of-memory-in-percent", "E", "jax", by_run, then(program(PLUGIN), sets(XLA_PYTHON_CLIENT_MEM_FRACTION="75%")), VALUE, "", "XLA_PYTHON_CLIENT_MEM_FRACTION"),
    Scene("program-with-the-allocator-of-torch", "E", "jax", by_run, then(program(PLUGIN), sets(XLA_PYTHON_CLIENT_ALLOCATOR="cudaMallocAsync")), VALUE, "", "XLA_PYTHON_CLIENT_ALLOCATOR"),
    Scene("hub-mirror-without-its-scheme", "E", "hub", by_run, then(program(ASKS), sets(HF_ENDPOINT="hf-mirror.com")), VALUE, "", "HF_ENDPOINT"),
    Scene("program-timeout-with-a-unit", "E", "hub", by_run, then(program(HUB), sets(HF_HUB_DOWNLOAD_TIMEOUT="60s")), VALUE, "", "HF_HUB_DOWNLOAD_TIMEOUT"),
    Scene("datasets-in-gigabytes", "E", "hub", by_run, then(program(LOADS), sets(HF_DATASETS_IN_MEMORY_MAX_SIZE="8GB")), VALUE, "", "HF_DATASETS_IN_MEMORY_MAX_SIZE"),
    Scene("transformers-without-torch-by-a-word", "E", "hub", by_run, then(program("from transformers import AutoModel\nAutoModel.from_pretrained"), sets(USE_TORCH="0")), VALUE, "", "USE_TORCH"),
    Scene("program-with-threads-by-a-word", "E", "torch-2.6", by_run, then(program(INDUCTOR), sets(TORCHINDUCTOR_COMPILE_THREADS="auto")), VALUE, "", "TORCHINDUCTOR_COMPILE_THREADS"),
    Scene("numba-layer-by-its-full-name", "E", "torch-2.6", by_run, then(program(PARALLEL), NUMBA, sets(NUMBA_THREADING_LAYER="openmp")), VALUE, "", "NUMBA_THREADING_LAYER"),
    Scene("numba-layer-that-is-not-installed", "E", "torch-2.6", by_run, then(program(PARALLEL), NUMBA, sets(NUMBA_THREADING_LAYER="tbb")), VALUE, "", "NUMBA_THREADING_LAYER"),
    Scene("program-without-threads-of-numba", "E", "torch-2.6", by_run, then(program(PARALLEL), NUMBA, sets(NUMBA_NUM_THREADS="0")), VALUE, "", "NUMBA_NUM_THREADS"),
    Scene("plots-with-the-backend-of-a-notebook", "E", "torch-2.6", by_run, then(program(DRAWS), PLOTS, sets(MPLBACKEND="module://matplotlib_inline.backend_inline")), (*VALUE, *BROKEN), "", "MPLBACKEND"),
    Scene("launcher-with-small-letters", "E", "torch-2.6", by_run, then(program(ELASTIC), sets(LOGLEVEL="info")), VALUE, "", "LOGLEVEL"),
    Scene("cluster-of-tensorflow-in-single-quotes", "E", "tensorflow", by_run, then(program("import tensorflow as tf\ntf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()"), sets(TF_CONFIG="{'cluster': {'worker': ['127.0.0.1:2222']}, 'task': {'type': 'worker', 'index': 0}}")), VALUE, "", "TF_CONFIG"),
    Scene("tensorflow-with-the-keras-of-before", "E", "tensorflow", by_run, then(program("import tensorflow as tf\ntf.keras.Sequential"), sets(TF_USE_LEGACY_KERAS="1")), (*VALUE, *BROKEN), "", "TF_USE_LEGACY_KERAS"),
    Scene("triton-home-that-cannot-be", "E", "torch-2.8", by_run, then(program("import torch\nfrom triton.runtime.cache import get_cache_manager\nget_cache_manager('a' * 8).put('x', 'f')"), A_FILE, sets(TRITON_HOME="{home}/models")), VALUE, "", "TRITON_HOME"),
    Scene("extensions-in-a-place-that-cannot-be", "E", "torch-2.6", by_run, then(program("import torch\nfrom torch.utils.cpp_extension import _get_build_directory\n_get_build_directory('x', False)"), installs("setuptools==80.9.0"), A_FILE, sets(TORCH_EXTENSIONS_DIR="{home}/models/x")), VALUE, "", "TORCH_EXTENSIONS_DIR"),
    Scene("architectures-without-dots", "E", "torch-2.6", by_run, then(program("import torch\nfrom torch.utils.cpp_extension import _get_cuda_arch_flags\n_get_cuda_arch_flags()"), installs("setuptools==80.9.0"), sets(TORCH_CUDA_ARCH_LIST="86")), VALUE, "", "TORCH_CUDA_ARCH_LIST"),
    # === odd, and healthy
    Scene("odd-hub-home-that-cannot-be-and-nobody-fetches", "healthy", "hub", by_run, then(program(ONES), A_FILE, sets(HF_HOME="{home}/models/hf"))),
    Scene("odd-hub-home-to-be-made", "healthy", "hub", by_run, then(program(LOADS), sets(HF_HOME="{home}/disk/hf"))),
    Scene("odd-level-in-small-letters-of-another-program", "healthy", "torch-2.6", by_run, then(program(ONES), sets(LOGLEVEL="info", LOG_LEVEL="debug"))),
    Scene("odd-level-of-the-launcher", "healthy", "torch-2.6", by_run, then(program(ELASTIC), sets(LOGLEVEL="INFO"))),
    Scene("odd-layer-of-numba", "healthy", "torch-2.6", by_run, then(program(PARALLEL), NUMBA, sets(NUMBA_THREADING_LAYER="omp", NUMBA_NUM_THREADS="1"))),
    Scene("odd-plots-without-a-window", "healthy", "torch-2.6", by_run, then(program(DRAWS), PLOTS, sets(MPLBACKEND="agg", MPLCONFIGDIR="/proc/none"))),
    Scene("odd-plots-with-a-window-toolkit-that-nobody-opens", "healthy", "torch-2.6", by_run, then(program(DRAWS), PLOTS, sets(MPLBACKEND="Qt5Agg"))),
    Scene("odd-cluster-of-tensorflow", "healthy", "tensorflow", by_run, then(program("import tensorflow as tf\ntf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec()"), sets(TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:2222"]}, "task": {"type": "worker", "index": 0}}'))),
    Scene("odd-precision-by-another-name", "healthy", "hub", by_run, then(program(TRAINS), sets(ACCELERATE_MIXED_PRECISION="no"))),
    Scene("odd-warnings-as-errors", "healthy", "torch-2.6", by_run, then(program(ONES), sets(PYTHONWARNINGS="error"))),
    Scene("odd-hub-mirror-with-its-scheme", "healthy", "hub", by_run, then(program(HUB), sets(HF_ENDPOINT="https://hf-mirror.com", HF_HUB_DOWNLOAD_TIMEOUT="60", USE_TORCH="1"))),
    Scene("odd-memory-for-cupy-with-a-unit", "healthy", "cupy", by_run, then(program("import cupy"), sets(CUPY_GPU_MEMORY_LIMIT="8589934592"))),
)  # fmt: skip
