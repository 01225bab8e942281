"""The sixteenth held-out set, classes A to E: half from public threads of 2020 to 2026, half from what real users' machines look like.

By somebody who has read no rule and no probe, and committed before the first scan. Above each row: the thread that it is
made from, or what people do. The last step of each fault's plant is the fault.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, imports, installs, lacks, runs, then
from tests.worldlab.scenes.closure import LINALG
from tests.worldlab.scenes.closure import TENSORFLOW as WITH_LIBRARIES
from tests.worldlab.scenes.held_out_8 import JAX, ONES, TORCH, layered, searches, sets, writes
from tests.worldlab.scenes.held_out_14 import linked_from
from tests.worldlab.scenes.held_out_15 import BLAS, SEARCHED, by_run, exported
from tests.worldlab.scenes.held_out_16_machines import (
    COMPOSE,
    HUB_OF_JUPYTER,
    KERNEL_OF_CUDA,
    REPOSITORY,
    RUN_IN_DOCKER,
    by_compose,
    by_docker_run,
    by_image,
    by_jupyterhub,
    by_pixi,
    by_reticulate,
    by_spyder,
    by_tools,
    dockerfile,
    drops,
    model_that,
    openssl_of_before,
    pixi,
    spyder,
    strips,
    tokens,
    voice,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

FETCHES = (
    "import requests\n"
    "try:\n    requests.get('https://127.0.0.1:9/model.safetensors')\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""A download; without a network it fails with an error of the network, which is right here."""
BY_ONNX = "import onnxruntime, onnx; onnx.helper.make_node('Identity', ['x'], ['y'])"
PROVIDER = (
    "import ctypes, os, onnxruntime; there = os.path.dirname(onnxruntime.__file__)\n"
    "for name in ('shared', 'cuda'):\n"
    "    ctypes.CDLL(f'{there}/capi/libonnxruntime_providers_{name}.so', mode=os.RTLD_NOW | ctypes.RTLD_GLOBAL)"
)
"""What a session with the CUDA provider opens first."""
PARTS = "import ctypes\nfor part in ('graph', 'ops', 'cnn', 'adv', 'heuristic', 'engines_precompiled', 'engines_runtime_compiled'):\n    ctypes.CDLL(f'libcudnn_{part}.so.9', mode=2)"
"""What cuDNN opens by name for its first convolution, bound at once."""
READER = (
    "import torch, pytesseract\nfrom PIL import Image\npytesseract.image_to_string(Image.new('RGB', (80, 40), 'white'))"
)
SPEAKER = "import torchaudio\nsound, rate = torchaudio.load('voice.wav')\nassert rate == 16000"
SLOW = "from transformers import LlamaTokenizer\nLlamaTokenizer('tokenizer.model')"
FAST = "from transformers import LlamaTokenizerFast\nLlamaTokenizerFast(tokenizer_file='tokenizer.json')"
LOADS = (
    "from transformers import AutoConfig, AutoModel\n"
    "settings = AutoConfig.from_pretrained('model', trust_remote_code=True)\n"
    "AutoModel.from_config(settings, trust_remote_code=True)"
)
"""A model that brings its own code, as DeepSeek's and many others of the Hub do."""
BOARD = "import torch\nfrom tensorboard import program\nboard = program.TensorBoard()\nboard.configure(argv=[None, '--logdir', 'runs'])"
DETECTS = "import os, torch\nhere = os.path.expanduser('~/.cache/torch/hub/lab_detector_main')\ntorch.hub.load(here, 'detector', source='local')"
OWN_FIRST = f"from models import unet\n{DETECTS}"
SRC = "import os, sys\nsys.path.{how}os.path.join(os.path.dirname(os.path.abspath(__file__)), 'src'))\nfrom transformers import AutoTokenizer, PreTrainedModel"
TRAINS = "from transformers import TrainingArguments\nTrainingArguments('out', use_cpu=True, report_to='none').device"
ARRAYS = "import jax.numpy as jnp, numpy as np\nprint(jnp.asarray(np.ones(3)) + 1)"
CHATS = (
    "import http.server, threading\n"
    "class Model(http.server.BaseHTTPRequestHandler):\n"
    "    def do_GET(self):\n"
    "        self.send_response(200)\n"
    "        self.send_header('Content-Length', '2')\n"
    "        self.end_headers()\n"
    "        self.wfile.write(b'{}')\n"
    "    def log_message(self, *a): pass\n"
    "server = http.server.HTTPServer(('127.0.0.1', 0), Model)\n"
    "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
    "from huggingface_hub.utils import get_session\n"
    "answer = get_session().get(f'http://127.0.0.1:{server.server_port}/v1/models', timeout=20)\n"
    "answer.raise_for_status()"
)
"""A model's server of this machine, and a question to it."""

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
LOST = ("corrupt_or_truncated_file", "installation_interrupted")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip
LACKS_CUDNN = ("cudnn_not_installed", "cuda_runtime_missing", "cudnn_not_on_search_path", *BROKEN)

CUDNN_BY_HAND = "export LD_LIBRARY_PATH={home}/cudnn/lib\n"
UNIT = ".config/systemd/user/backup.service"
FOLDERS = f"LD_LIBRARY_PATH={SEARCHED}"
NUMBA = installs("numba==0.62.1")
LOADED = installs("onnx==1.19.1", "typing-extensions")
TOOLKIT = linked_from("cupy", "nvidia/cuda_nvcc", "cuda-12.8")
OLDER = linked_from("hub", "nvidia/cublas/lib", "cuda-12.4/lib64")
READS = installs("--no-deps", "pytesseract==0.3.13", "pillow", "packaging")
TESSERACT = '#!/bin/sh\nif [ "$1" = --version ]; then echo "tesseract 5.3.4"; exit; fi\necho "no text" > "$2.txt"\n'
OWN_MODELS = {"work/models/__init__.py": "", "work/models/unet.py": "class UNet:\n    pass\n"}
OWN_TOKENIZERS = {"work/src/tokenizers/__init__.py": "from .words import Words\n", "work/src/tokenizers/words.py": "class Words:\n    pass\n"}  # fmt: skip
TOOLS = {
    "tools/main.py": "import torch\n\nprint(torch.ones(2))\nprint('this works', flush=True)\n",
    "lib/lab/__init__.py": "",
}
SESSION = "library(reticulate)\npy_run_file('main.py')\n"
LOCK = 'version = 1\nrequires-python = ">=3.12"\n\n[[package]]\nname = "torch"\nversion = "2.9.1"\nsource = { registry = "pypi" }\n\n[[package]]\nname = "nvidia-cudnn-cu12"\nversion = "9.10.2.21"\nsource = { registry = "pypi" }\n'
PROJECT = (
    '[project]\nname = "lab"\nversion = "0.1.0"\nrequires-python = ">=3.12"\ndependencies = ["torch>=2.9", "einops"]\n'
)
BACKUP = "import shutil, pathlib\n\npathlib.Path('runs').mkdir(exist_ok=True)\nshutil.make_archive('runs', 'tar', 'runs')\nprint('this works', flush=True)\n"

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/tensorflow/tensorflow/issues/63362
    Scene("tensorflow-without-cudnn", "A", "tensorflow", WITH_LIBRARIES, lacks("nvidia-cudnn-cu12"), LACKS_CUDNN, "tensorflow", "cudnn", "libcudnn.so.9"),
    # https://github.com/Stability-AI/stable-audio-3/issues/32
    Scene("torchaudio-without-a-backend", "A", "torch-2.8", by_run, then(program(SPEAKER), voice), (*BROKEN, "system_library_missing"), "", "soundfile", "Couldn't find appropriate backend"),
    # https://github.com/ChasonShi/MELoRA/issues/4
    Scene("llama-tokenizer-without-sentencepiece", "A", "hub", by_run, program(SLOW), BROKEN, "", "sentencepiece", "SentencePiece library"),
    # https://github.com/pypa/manylinux/issues/119
    Scene("numpy-stripped-of-its-symbols", "A", "torch-2.6", imports("torch", "numpy"), strips("numpy.libs/libscipy_openblas64_*.so"), LOST, "", "openblas", "ELF load command"),
    # https://github.com/microsoft/unilm/issues/876
    Scene("documents-without-tesseract", "A", "hub", by_run, then(program(READER), READS), ("system_library_missing", "build_tools_missing", *BROKEN), "", "tesseract", "tesseract is not installed"),
    # https://github.com/numba/numba/issues/9216
    Scene("numba-in-a-toolkit-without-libdevice", "A", "torch-2.6", by_run, then(program(KERNEL_OF_CUDA), NUMBA, TOOLKIT, sets(CUDA_HOME="{home}/cuda-12.8"), drops("cuda-12.8/nvvm/libdevice/libdevice.10.bc")), ("libdevice_not_found", "cuda_path_env_wrong", *LOST), "", "libdevice", "libdevice"),
    # === B: all files are there, and do not fit
    # https://github.com/onnx/onnx/issues/7249
    Scene("onnx-newer-than-ml-dtypes", "B", "onnxruntime-1.23", by_run, then(program(BY_ONNX), searches, LOADED, installs("--no-deps", "ml-dtypes==0.4.1")), BROKEN, "", "dtypes", "float4_e2m1fn"),
    # https://github.com/huggingface/transformers/issues/36410
    Scene("transformers-on-tensorflow-with-keras-3", "B", "tensorflow", by_run, then(program("from transformers import TFBertModel"), installs("transformers==4.51.3")), BROKEN, "", "keras", "Keras 3"),
    # https://github.com/deepseek-ai/DeepSeek-OCR/issues/302
    Scene("model-of-the-hub-older-than-transformers", "B", "hub", by_run, then(program(LOADS), writes(model_that("from transformers.models.llama.modeling_llama import LlamaAttention, LlamaFlashAttention2"))), BROKEN, "", "transformers", "LlamaFlashAttention2"),
    # https://github.com/librosa/librosa/issues/1853
    Scene("librosa-older-than-numpy", "B", "torch-2.6", by_run, then(program("import torch, librosa"), installs("librosa==0.8.1", "numba==0.62.1", "setuptools==80.9.0")), BROKEN, "", "librosa", "has no attribute 'complex'"),
    # https://github.com/pytorch/ao/issues/2919
    Scene("torchao-newer-than-torch", "B", "torch-2.6", by_run, then(program("import torch, torchao.quantization"), installs("--no-deps", "torchao==0.17.0")), (*BROKEN, "extension_abi_mismatch"), "", "torchao", "register_constant"),
    # https://github.com/tensorflow/tensorboard/issues/7107
    Scene("tensorboard-with-the-newest-setuptools", "B", "torch-2.6", by_run, then(program(BOARD), installs("tensorboard==2.20.0", "setuptools==80.9.0"), installs("setuptools==84.2.1")), BROKEN, "", "pkg_resources", "No module named 'pkg_resources'"),
    # === C: Python finds another file
    # https://github.com/openai/CLIP/issues/329
    Scene("clip-of-another-project", "C", "torch-2.6", by_run, then(program("import torch, clip\nclip.available_models()"), installs("--no-deps", "clip==0.2.0")), (*SHADOWED, *BROKEN, "duplicate_framework_packages", "program_error"), "", "clip", "module 'clip' has no attribute"),
    # the script that exports, beside the program
    Scene("onnx-py-of-an-export", "C", "onnxruntime-1.23", by_run, then(program(BY_ONNX), searches, LOADED, writes({"work/onnx.py": "def export(model, path):\n    model.save(path)\n"})), SHADOWED, "", "onnx.py", "module 'onnx' has no attribute"),
    # https://github.com/ultralytics/yolov5/issues/2414
    Scene("hub-repository-behind-own-models", "C", "torch-2.8", by_run, then(program(OWN_FIRST), writes(REPOSITORY), writes(OWN_MODELS)), SHADOWED, "", "models", "No module named 'models.detector'"),
    # code of a paper puts its own folder first
    Scene("src-first-by-the-program", "C", "hub", by_run, then(program(SRC.replace("{how}", "insert(0, ")), writes(OWN_TOKENIZERS)), SHADOWED, "", "src/tokenizers", "tokenizers"),
    # a start-up file puts the packages of an old environment first
    Scene("packages-of-an-old-environment-first", "C", "tensorflow", by_run, then(program("import tensorflow"), layered("venvs/old/lib/python3.11/site-packages", "--no-deps", "protobuf==3.20.3", "wrapt==1.14.1"), sets(PYTHONPATH="{home}/venvs/old/lib/python3.11/site-packages")), SHADOWED, "", "venvs/old", "runtime_version"),
    # https://github.com/python/cpython/issues/107353
    Scene("colon-that-lets-the-data-folder-in", "C", "torch-2.6", by_tools, then(writes(TOOLS), writes({"work/string.py": "LETTERS = 'abc'\n", "work/corpus.txt": "a b c\n"}, "work"), sets(PYTHONPATH="{home}/lib:")), SHADOWED, "", "string.py", "cannot import name 'Template' from 'string'"),
    # === D: started in another way
    # https://github.com/tleyden/docker/pull/5
    Scene("image-that-exports-in-a-step", "D", "ctranslate2", by_image, then(exported, program(BLAS), writes(dockerfile(f"RUN export {FOLDERS}"))), NOT_SEARCHED, "", "Dockerfile", "libcublas.so.12"),
    # https://github.com/docker/cli/issues/3630
    Scene("file-of-variables-with-quotation-marks", "D", "jax", by_docker_run, then(program(JAX), writes(RUN_IN_DOCKER), writes({"work/gpu.env": 'JAX_PLATFORMS="cpu"\nXLA_PYTHON_CLIENT_PREALLOCATE="false"\n'})), VALUE, "", "gpu.env", "backend"),
    # https://github.com/jupyterhub/jupyterhub/issues/4903
    Scene("notebooks-of-a-hub-without-the-folders", "D", "ctranslate2", by_jupyterhub, then(exported, program(BLAS), writes({"work/jupyterhub_config.py": HUB_OF_JUPYTER})), NOT_SEARCHED, "", "jupyterhub_config.py", "libcublas.so.12"),
    # a task of pixi, with a variable of its activation
    Scene("task-of-pixi-with-another-word", "D", "jax", by_pixi, then(program(JAX), writes(pixi('JAX_ENABLE_X64 = "double"'))), VALUE, "", "pixi.toml", "invalid truth value"),
    # https://github.com/spyder-ide/spyder/issues/3915
    Scene("spyder-with-the-systems-python", "D", "torch-2.8", by_spyder, then(program(ONES), writes(spyder("/usr/bin/python3"))), ELSEWHERE, "", "spyder.ini", "No module named 'torch'"),
    # https://github.com/rstudio/keras3/pull/596
    Scene("session-of-r-with-the-systems-python", "D", "tensorflow", by_reticulate, then(program("import tensorflow"), writes({"work/train.R": SESSION, "work/.Renviron": "RETICULATE_PYTHON=/usr/bin/python3\n"})), ELSEWHERE, "", ".Renviron", "No module named 'tensorflow'"),
    # === E: variables
    # https://github.com/QuantConnect/Lean/issues/8895, with the folder of MATLAB's libraries
    Scene("downloads-behind-the-openssl-of-matlab", "E", "hub", by_run, then(program(FETCHES), sets(LD_LIBRARY_PATH="{home}/matlab/bin/glnxa64"), openssl_of_before), ("ld_library_path_override", "system_library_missing", "python_environment_broken"), "", "glnxa64", "SSL module is not available"),
    # https://github.com/numba/numba/issues/3411
    Scene("numba-with-a-toolkit-that-compiles-nothing", "E", "torch-2.6", by_run, then(program(KERNEL_OF_CUDA), NUMBA, linked_from("cupy", "nvidia/cuda_runtime", "cuda-12.8"), sets(CUDA_HOME="{home}/cuda-12.8")), ("cuda_path_env_wrong", "cuda_runtime_missing", "libdevice_not_found", *VALUE), "", "CUDA_HOME", "Missing libdevice"),
    # https://github.com/numba/numba/issues/6330
    Scene("numba-with-the-simulator-of-the-tests", "E", "torch-2.6", by_run, then(program(KERNEL_OF_CUDA), NUMBA, TOOLKIT, sets(CUDA_HOME="{home}/cuda-12.8"), sets(NUMBA_ENABLE_CUDASIM="1")), VALUE, "", "NUMBA_ENABLE_CUDASIM", "compile_ptx"),
    # https://github.com/meta-llama/llama-cookbook/issues/59
    Scene("trainer-with-a-rank-of-once", "E", "hub", by_run, then(program(TRAINS), sets(LOCAL_RANK="0")), VALUE, "", "LOCAL_RANK", "expected, but not set"),
    # https://github.com/ollama/ollama/issues/9141
    Scene("proxy-for-this-machine-too", "E", "hub", by_run, then(program(CHATS), sets(http_proxy="http://127.0.0.1:9", https_proxy="http://127.0.0.1:9")), VALUE, "", "http_proxy", "ProxyError"),
    # a debugging session left it in the shell
    Scene("jax-with-a-guard-of-once", "E", "jax", by_run, then(program(ARRAYS), sets(JAX_PLATFORMS="cpu", JAX_TRANSFER_GUARD="disallow")), VALUE, "", "JAX_TRANSFER_GUARD", "Disallowed"),
    # === odd, and healthy
    # cuDNN by hand, in a folder that the loader searches
    Scene("tensorflow-with-cudnn-by-hand", "healthy", "tensorflow", WITH_LIBRARIES, then(lacks("nvidia-cudnn-cu12"), linked_from("jax", "nvidia/cudnn/lib", "cudnn/lib"), sets(LD_LIBRARY_PATH="{home}/cudnn/lib"), writes({".profile": CUDNN_BY_HAND, ".bashrc": CUDNN_BY_HAND}))),
    # the package that every answer to the thread names
    Scene("torchaudio-with-soundfile", "healthy", "torch-2.8", by_run, then(program(SPEAKER), voice, installs("soundfile==0.13.1"))),
    # a fast tokenizer needs no SentencePiece
    Scene("llama-tokenizer-that-is-fast", "healthy", "hub", by_run, then(program(FAST), tokens)),
    # stripped libraries that bear it
    Scene("torch-stripped-of-some-symbols", "healthy", "torch-2.6", imports("torch", "torchvision"), strips("torch/lib/libshm.so", "torch/lib/libtorch_global_deps.so")),
    # a program in the person's own folder
    Scene("documents-with-tesseract-of-the-home", "healthy", "hub", by_run, then(program(READER), READS, writes({".local/bin/tesseract": TESSERACT}, mode=0o755), sets(PATH="{home}/.local/bin:/usr/local/bin:/usr/bin:/bin"))),
    # a toolkit of links
    Scene("numba-in-a-whole-toolkit", "healthy", "torch-2.6", by_run, then(program(KERNEL_OF_CUDA), NUMBA, TOOLKIT, sets(CUDA_HOME="{home}/cuda-12.8"))),
    # code of a model that asks before it imports
    Scene("model-of-the-hub-that-asks-first", "healthy", "hub", by_run, then(program(LOADS), writes(model_that("try:\n    from transformers.models.llama.modeling_llama import LlamaFlashAttention2\nexcept ImportError:\n    LlamaFlashAttention2 = None")))),
    # the program does not import its own models before
    Scene("hub-repository-beside-own-models", "healthy", "torch-2.8", by_run, then(program(DETECTS), writes(REPOSITORY), writes(OWN_MODELS))),
    # code of a paper puts its own folder last
    Scene("src-last-by-the-program", "healthy", "hub", by_run, then(program(SRC.replace("{how}", "append(")), writes(OWN_TOKENIZERS))),
    # a toolkit's cuBLAS, older and whole
    Scene("onnxruntime-behind-an-older-cublas", "healthy", "onnxruntime-1.23", runs(f"{PROVIDER}\n{PARTS}"), then(OLDER, searches, lambda w: w.variables.update(LD_LIBRARY_PATH=f"{w.home}/cuda-12.4/lib64:{w.variables['LD_LIBRARY_PATH']}"))),
    # a newer nvJitLink, as another package brings it
    Scene("torch-with-a-newer-linker", "healthy", "torch-2.6", LINALG, installs("--no-deps", "nvidia-nvjitlink-cu12==12.8.93")),
    # an image that keeps what it sets
    Scene("image-that-keeps-what-it-sets", "healthy", "ctranslate2", by_image, then(exported, program(BLAS), writes(dockerfile(f"ENV {FOLDERS}")))),
    # compose takes quotation marks away
    Scene("file-of-variables-for-compose", "healthy", "jax", by_compose, then(program(JAX), writes(COMPOSE), writes({"work/gpu.env": 'JAX_PLATFORMS="cpu"\nXLA_PYTHON_CLIENT_PREALLOCATE="false"\n'}))),
    # a hub that hands the folders on
    Scene("notebooks-of-a-hub-with-the-folders", "healthy", "ctranslate2", by_jupyterhub, then(exported, program(BLAS), writes({"work/jupyterhub_config.py": HUB_OF_JUPYTER + "c.Spawner.env_keep = ['PATH', 'HOME', 'LD_LIBRARY_PATH']\n"}))),
    Scene("task-of-pixi-with-a-word", "healthy", "jax", by_pixi, then(program(JAX), writes(pixi('JAX_ENABLE_X64 = "true"')))),
    Scene("spyder-with-the-environments-python", "healthy", "torch-2.8", by_spyder, then(program(ONES), writes(spyder("{env}/bin/python")))),
    # a proxy, and its exceptions
    Scene("proxy-with-exceptions", "healthy", "hub", by_run, then(program(CHATS), sets(http_proxy="http://proxy.lab.example:3128", https_proxy="http://proxy.lab.example:3128", no_proxy="localhost,127.0.0.1,::1,.lab.example"))),
    # a lock file that was pulled, and is not installed yet
    Scene("lock-of-a-newer-torch", "healthy", "torch-2.8", by_run, then(program(ONES), writes({"work/uv.lock": LOCK, "work/pyproject.toml": PROJECT, "work/.python-version": "3.12\n"}))),
    # a service by the system's Python that needs no framework
    Scene("backup-by-the-systems-python", "healthy", "torch-2.6", by_unit, writes({"work/main.py": BACKUP, UNIT: unit_text("WorkingDirectory={home}/work\n", "/usr/bin/python3 {home}/work/main.py")}, "work")),
    # folders that went, and words that OpenMP does not know
    Scene("folders-and-words-of-another-machine", "healthy", "torch-2.8", TORCH, sets(TMPDIR="/scratch/ada/4711", XDG_RUNTIME_DIR="/run/user/4711", OMP_NUM_THREADS="auto", OMP_PROC_BIND="maybe", SPARK_HOME="/opt/spark", PYTHONPATH="/opt/spark/python:/opt/spark/python/lib/py4j-0.10.9.7-src.zip", CONDA_PREFIX="/opt/conda/envs/old", CONDA_DEFAULT_ENV="old")),
)  # fmt: skip
