"""The twenty-first held-out set, classes A to E: faults as common as they are in the field, a third draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the nineteenth and the twentieth it
takes what people report most, whether an earlier set has it or not. Above each row: the thread that it is made from, or what
people do. The last step of each fault's plant is the fault, and without it the real program works.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, lacks, runs, then
from tests.worldlab.scenes.held_out import JAX_PLUGIN
from tests.worldlab.scenes.held_out_8 import JAX, layered, sets, without_system, writes
from tests.worldlab.scenes.held_out_15 import BLAS, by_run, by_script
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_17_machines import (
    UBUNTUS,
    by_notebook,
    by_sudo,
    has_certificates,
    notebook,
    toolkit_of,
)
from tests.worldlab.scenes.held_out_19_machines import toolkit_of_12_1
from tests.worldlab.scenes.held_out_20_machines import links
from tests.worldlab.scenes.held_out_21_machines import another, by_image, comfy, dockerfile, instead_of_12_8, makefile
from tests.worldlab.scenes.starters import by_unit, program, started, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

SEES = "import torch\nimport cv2\n\nframe = cv2.cvtColor(torch.zeros(8, 8, 3).numpy(), cv2.COLOR_RGB2GRAY)"
BOOSTS = "import lightgbm as lgb\nimport torch\n\nlgb.Dataset(torch.rand(64, 4).numpy(), label=[0, 1] * 32, params={'verbosity': -1}).construct()"
BOOSTS_LATER = BOOSTS.replace("import lightgbm as lgb\nimport torch", "import torch\nimport lightgbm as lgb")
"""PyTorch brings an OpenMP of its own, of the same name, and opens it first."""
NETWORK = "import tensorflow as tf\n\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
READS = "import torch\nimport spacy\n\nnlp = spacy.blank('en')\nnlp('It reads.')"
GENERATES = "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer"
LISTENS = "import torch\nimport whisper\n\nwhisper.available_models()"
FACES = "import onnx\nimport onnxruntime as ort\n\nonnx.TensorProto.FLOAT\nort.InferenceSession"
TRAINS = "import torch\nimport bitsandbytes as bnb\n\nbnb.optim.AdamW8bit"
WORKS_OFF = "import torch\nfrom celery import Celery\n\nCelery('captions', broker='memory://').conf"
INTERFACE = "import torch\nimport gradio as gr\n\ngr.Interface(fn=lambda x: x, inputs='text', outputs='text')"
CLASSIFIES = "import torch\nimport torchvision\n\ntorchvision.models.resnet18(weights=None)"
SERVES = f"from fastapi import FastAPI\n{BLAS}\n\napp = FastAPI()"
GATHERS = (
    "import os, tempfile, torch\nimport torch.distributed as dist\n\n"
    "store = 'file://' + os.path.join(tempfile.mkdtemp(), 'store')\n"
    "dist.init_process_group('gloo', init_method=store, rank=0, world_size=1)"
)
BUILDS = "import torch\nfrom torch.utils import cpp_extension\n\nprint(cpp_extension._get_cuda_arch_flags())"
"""What the building of every extension asks."""
SPARSE = runs(
    "import jax_plugins.xla_cuda12 as p\n"
    "p._import_extensions()\n"
    "p._load_nvidia_libraries()\n"
    "try:\n    print(p.cuda_versions.cusparse_get_version())\n"
    "except RuntimeError as e:\n    raise SystemExit(f'Unable to load cuSPARSE. Is it installed? {e}')"
)
"""What JAX's plug-in does before it makes a client."""
OPTIMIZES = runs(
    "import types, torch\n"
    "from triton.runtime.driver import driver\n"
    "driver.set_active(types.SimpleNamespace(get_benchmarker=lambda: None))\n"
    "import bitsandbytes as bnb\n"
    "bnb.optim.AdamW8bit"
)
"""The import with a driver that gives Triton what a card's driver does: its decorators ask for one."""
LIBRARIES = runs(
    "import ctypes, glob, os, sysconfig, tensorflow\n"
    "home = os.path.join(sysconfig.get_paths()['purelib'], 'nvidia')\n"
    "for name in ('cudart.so.12', 'cublas.so.12', 'cufft.so.11', 'cusolver.so.11', 'cusparse.so.12', 'cudnn.so.9'):\n"
    "    ctypes.CDLL((glob.glob(f'{home}/*/lib/lib{name}') or [f'lib{name}'])[0])"
)
"""What TensorFlow opens before it registers a GPU."""

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
SYSTEM = ("system_library_missing",)
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
LOST = ("corrupt_or_truncated_file", "installation_interrupted")
UNFIT = ("extension_abi_mismatch", *BROKEN)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip
OVERRIDE = ("ld_library_path_override", "cuda_lib_shadowed", "cuda_toolkit_version_mismatch")

OF_CUDA = tuple(
    f"nvidia-{name}-cu12"
    for name in (
        *("cublas", "cuda-cupti", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cudnn"),
        *("cufft", "curand", "cusolver", "cusparse", "nccl", "nvjitlink"),
    )
)
"""What TensorFlow's extra ``and-cuda`` asks for; ONNX Runtime's environment has the same."""
TOOLKIT = "LD_LIBRARY_PATH={home}/cuda-12.8/lib64"
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
EXPORTED = writes({".bashrc": f"{UBUNTUS}export {TOOLKIT}\n"})
UNIT = ".config/systemd/user/transcribe.service"
UVICORN = "{env}/bin/uvicorn main:app --host 0.0.0.0 --port 8000"
BATCHES = "from celery import Celery\n\napp = Celery('captions', broker='redis://localhost:6379/0')\n\n\n@app.task\ndef caption(path):\n    return path\n"
DRIVE = "import sys\n\nsys.path.insert(0, '{home}/drive/MyDrive/packages')\n"
PIPELINE = "import torch\n\ntorch.ones(2).sum()"

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/opencv/opencv-python/issues/1198, https://github.com/modal-labs/modal-examples/pull/1466
    Scene("headless-opencv-in-an-image-without-libxcb", "A", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python-headless==4.13.0.90"), without_system("libxcb.so*")), SYSTEM, "", "libxcb.so.1", "libxcb.so.1"),
    # https://github.com/lightgbm-org/LightGBM/issues/2223, https://github.com/oobabooga/textgen/issues/6917
    Scene("lightgbm-in-an-image-without-libgomp", "A", "torch-2.6", by_run, then(program(BOOSTS), installs("lightgbm==4.6.0"), without_system("libgomp.so*")), SYSTEM, "", "libgomp.so.1", "libgomp.so.1"),
    # https://github.com/SYSTRAN/faster-whisper/issues/717, and ONNX Runtime since 1.19: made for CUDA 12, and the server has 11.8
    Scene("faces-with-the-toolkit-11-8", "A", "onnxruntime-1.23", by_run, then(program(PROVIDER), lacks(*OF_CUDA), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, instead_of_12_8), ("cuda_runtime_missing", "cuda_toolkit_version_mismatch", "cuda_not_on_search_path"), "", "libcublas", "libcublasLt.so.12"),
    # https://github.com/tensorflow/tensorflow/issues/63362: pip install tensorflow, without and-cuda
    Scene("tensorflow-without-its-extra", "A", "tensorflow", LIBRARIES, then(program(NETWORK), lacks(*OF_CUDA)), ("cuda_runtime_missing", "cudnn_not_installed", *BROKEN), "tensorflow", "libcu", "cannot open shared object file"),
    # https://github.com/JeffSHF/ColabDock/issues/28, https://github.com/sanchit-gandhi/whisper-jax/issues/211: pip install jax
    Scene("jax-by-its-bare-name", "A", "jax", JAX_PLUGIN, then(program(JAX), lacks("jax-cuda12-plugin", "jax-cuda12-pjrt")), ("framework_cpu_only_build", *BROKEN), "", "jax", "no plug-in"),
    # === B: all files are there, and do not fit
    # https://github.com/explosion/spaCy/issues/13875
    Scene("spacy-of-before-numpy-2", "B", "torch-2.6", by_run, then(program(READS), installs("spacy==3.7.5", "click==8.1.8", "numpy==1.26.4", "setuptools==80.9.0"), installs("--no-deps", "numpy==2.2.6")), ("numpy_abi_mismatch", *UNFIT), "", "thinc", "numpy.dtype size changed"),
    # https://github.com/YanWenKun/Hunyuan3D-2-WinPortable/issues/104
    Scene("transformers-with-the-hub-of-another-package", "B", "hub", by_run, then(program(GENERATES), installs("huggingface_hub==1.2.3")), BROKEN, "", "huggingface", "is required for a normal functioning of this module"),
    # https://github.com/yuvraj108c/ComfyUI-Whisper/issues/47, https://github.com/bpwhelan/GameSentenceMiner/issues/126
    Scene("whisper-with-a-numpy-of-after-numba", "B", "torch-2.6", by_run, then(program(LISTENS), installs("setuptools==80.9.0", "openai-whisper==20250625", "numba==0.61.2", "numpy==2.2.6"), installs("--no-deps", "numpy==2.4.6")), BROKEN, "", "numba", "Numba needs NumPy"),
    # https://github.com/onnx/onnx/issues/7249: TensorFlow 2.18 had brought its ml_dtypes
    Scene("onnx-with-the-types-of-before", "B", "onnxruntime-1.23", by_run, then(program(FACES), installs("onnx==1.19.1"), installs("--no-deps", "ml_dtypes==0.4.1")), BROKEN, "", "dtypes", "float4_e2m1fn"),
    # https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1492, https://github.com/ostris/ai-toolkit/issues/279
    Scene("bitsandbytes-of-before-triton-3-2", "B", "torch-2.6", OPTIMIZES, then(program(TRAINS), installs("setuptools==80.9.0", "bitsandbytes==0.45.5"), installs("--no-deps", "bitsandbytes==0.44.1")), BROKEN, "", "triton", "No module named 'triton.ops'"),
    # === C: Python finds another file
    # https://github.com/arc53/DocsGPT/issues/992, https://github.com/getscaf/scaf/issues/88
    Scene("worker-beside-celery-py", "C", "torch-2.6", by_run, then(program(WORKS_OFF), installs("celery==5.5.3"), writes({"work/celery.py": BATCHES})), SHADOWED, "", "celery.py", "celery"),
    # https://github.com/vllm-project/vllm/issues/8650: both are there, and the one that is not needed is removed
    Scene("opencv-after-its-headless-twin-was-removed", "C", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python==4.12.0.88"), installs("--no-deps", "opencv-python-headless==4.12.0.88"), lacks("opencv-python-headless")), (*LOST, "duplicate_framework_packages", *SHADOWED), "", "opencv", "cv2"),
    # https://github.com/pytorch/pytorch/issues/133883: packages in a folder that outlives the notebook's machine
    Scene("notebook-with-packages-on-a-drive", "C", "torch-2.6", by_notebook, then(program(f"{DRIVE}{PIPELINE}"), writes(notebook(f"{DRIVE}{PIPELINE}", torch="{env}/bin/python")), layered("drive/MyDrive/packages", "--no-deps", "pydantic==2.5.3", "typing_extensions==4.9.0")), (*SHADOWED, *BROKEN), "", "typing_extensions", "TypeIs"),
    # https://github.com/hardbyte/python-can/issues/1354, https://github.com/kharvd/gpt-cli/pull/82
    Scene("project-with-its-own-logging-py", "C", "torch-2.6", by_run, then(program(CLASSIFIES), writes({"work/logging.py": "import time\n\n\ndef log(text, path='train.log'):\n    with open(path, 'a') as f:\n        f.write(f'{time.ctime()} {text}\\n')\n"})), SHADOWED, "", "logging.py", "logging"),
    # https://github.com/Comfy-Org/ComfyUI/pull/11782
    Scene("comfyui-behind-its-own-utils", "C", "torch-2.8", by_run, then(comfy("insert(0, ")), SHADOWED, "", "comfy/utils.py", "'utils' is not a package"),
    # === D: started in another way
    # https://venthur.de/2021-03-31-python-makefiles.html: each line of a recipe has a shell of its own
    Scene("makefile-that-activates-in-a-line-of-its-own", "D", "torch-2.6", started("make", "-C", "{home}/work", "train"), then(program(CLASSIFIES), links("env", "work/.venv"), writes(makefile(". .venv/bin/activate", "python3 main.py"))), ELSEWHERE, "", "Makefile", "No module named 'torch'"),
    # https://github.com/moby/moby/issues/30066, https://github.com/vinland-technology/flict/pull/155: /bin/sh knows no source
    Scene("image-that-sources-before-it-starts", "D", "hub", by_image, then(program(GENERATES), links("env", "work/.venv"), writes(dockerfile("EXPOSE 8000", "CMD source .venv/bin/activate; python3 main.py"))), ELSEWHERE, "", "Dockerfile", "No module named"),
    # https://github.com/OHF-Voice/wyoming-faster-whisper/issues/30: the advice of its answers, in the file for terminals
    Scene("service-of-uvicorn-beside-an-export-in-bashrc", "D", "ctranslate2", by_unit, then(program(SERVES), installs("uvicorn==0.38.0", "fastapi==0.121.0"), toolkit_of("ctranslate2", "cuda-12.8"), SETS, EXPORTED, writes({UNIT: unit_text("WorkingDirectory=%h/work\nEnvironment=PYTHONUNBUFFERED=1\n", UVICORN)})), NOT_SEARCHED, "", "transcribe.service", "libcublas.so.12"),
    # https://github.com/BVLC/caffe/issues/5818, and every year since: sudo hands no LD_LIBRARY_PATH on
    Scene("sudo-beside-an-export-in-bashrc", "D", "onnxruntime-1.23", by_sudo, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, EXPORTED, writes({"work/run.sh": "#!/bin/bash\n# the camera is root's\ncd {home}/work\nsudo {env}/bin/python main.py\n"})), NOT_SEARCHED, "", "run.sh", "cannot open shared object file"),
    # https://github.com/pytorch/pytorch/issues/92132
    Scene("torchrun-of-another-environment", "D", "hub", by_script, then(program(GENERATES), another("torch-2.6", "envs/base"), writes({"work/run.sh": "#!/bin/bash\ncd {home}/work\n{home}/envs/base/bin/torchrun --standalone --nproc_per_node=1 main.py\n"})), ELSEWHERE, "", "run.sh", "No module named 'transformers'"),
    # === E: variables
    # https://github.com/jax-ml/jax/issues/30050
    Scene("jax-behind-a-toolkit-of-2023", "E", "jax", SPARSE, then(program(JAX), toolkit_of_12_1, sets(LD_LIBRARY_PATH="{home}/cuda-12.1/lib64:")), OVERRIDE, "", "LD_LIBRARY_PATH", "Unable to load cuSPARSE"),
    # https://github.com/lee88688/aider-composer/issues/49: a file of certificates of an environment that is gone
    Scene("gradio-with-certificates-that-are-gone", "E", "torch-2.6", by_run, then(program(INTERFACE), installs("gradio==5.49.1"), sets(SSL_CERT_FILE="{home}/miniconda3/envs/old/ssl/cacert.pem")), VALUE, "", "SSL_CERT_FILE", "No such file or directory"),
    # https://github.com/vllm-project/vllm/issues/7074: the name of another machine's network card
    Scene("gloo-with-the-card-of-another-machine", "E", "torch-2.8", by_run, then(program(GATHERS), sets(GLOO_SOCKET_IFNAME="eno1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")), VALUE, "", "GLOO_SOCKET_IFNAME", "eno1"),
    # https://github.com/NVlabs/curobo/issues/596, https://github.com/OpenBMB/BMTrain/issues/83
    Scene("kernels-for-a-card-of-after-torch-2-6", "E", "torch-2.6", by_run, then(program(BUILDS), installs("setuptools==80.9.0"), sets(TORCH_CUDA_ARCH_LIST="8.6 8.9"), sets(TORCH_CUDA_ARCH_LIST="8.6 8.9 12.0")), VALUE, "", "TORCH_CUDA_ARCH_LIST", "Unknown CUDA arch (12.0)"),
    # https://github.com/protocolbuffers/protobuf/issues/12164: advice of before protobuf 4
    Scene("tensorflow-with-protobuf-in-cpp", "E", "tensorflow", by_run, then(program(NETWORK), sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="cpp")), VALUE, "", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "cpp"),
    # === odd, and healthy
    # OpenCV of before libxcb was asked for, in the same image
    Scene("headless-opencv-of-before-libxcb", "healthy", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python-headless==4.12.0.88"), without_system("libxcb.so*"))),
    Scene("spacy-of-numpy-2", "healthy", "torch-2.6", by_run, then(program(READS), installs("spacy==3.8.7", "click==8.1.8", "numpy==2.2.6", "setuptools==80.9.0"))),
    Scene("lightgbm-behind-the-libgomp-of-torch", "healthy", "torch-2.6", by_run, then(program(BOOSTS_LATER), installs("lightgbm==4.6.0"), without_system("libgomp.so*"))),
    # https://github.com/pytorch/pytorch/issues/104825: pdb imports it, and asks for nothing in it before Python 3.13
    Scene("exercise-named-code-py", "healthy", "torch-2.6", by_run, then(program(CLASSIFIES), writes({"work/code.py": "import base64\n\n\ndef encode(text):\n    return base64.b64encode(text.encode())\n\n\nif __name__ == '__main__':\n    print(encode('hello'))\n"}))),
    Scene("bitsandbytes-of-after-triton-3-2", "healthy", "torch-2.6", OPTIMIZES, then(program(TRAINS), installs("setuptools==80.9.0", "bitsandbytes==0.45.5"))),
    Scene("worker-beside-celery-app-py", "healthy", "torch-2.6", by_run, then(program(WORKS_OFF), installs("celery==5.5.3"), writes({"work/celery_app.py": BATCHES, "work/celeryconfig.py": "task_acks_late = True\n", "work/celery.log": "", "work/tasks/__init__.py": ""}))),
    Scene("opencv-beside-its-headless-twin", "healthy", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python-headless==4.12.0.88"), installs("--no-deps", "opencv-python==4.12.0.88"))),
    Scene("comfyui-before-its-own-utils", "healthy", "torch-2.8", by_run, comfy("append(")),
    Scene("makefile-that-activates-and-starts", "healthy", "torch-2.6", started("make", "-C", "{home}/work", "train"), then(program(CLASSIFIES), links("env", "work/.venv"), writes(makefile("@mkdir -p runs", ". .venv/bin/activate && \\", "python3 main.py")))),
    Scene("image-that-sources-by-bash", "healthy", "hub", by_image, then(program(GENERATES), links("env", "work/.venv"), writes(dockerfile('SHELL ["/bin/bash", "-c"]', "CMD source .venv/bin/activate; python3 main.py")))),
    Scene("service-of-uvicorn-with-the-toolkit", "healthy", "ctranslate2", by_unit, then(program(SERVES), installs("uvicorn==0.38.0", "fastapi==0.121.0"), toolkit_of("ctranslate2", "cuda-12.8"), SETS, EXPORTED, writes({UNIT: unit_text(f"WorkingDirectory=%h/work\nEnvironment={TOOLKIT}\n", UVICORN)}))),
    Scene("sudo-with-the-variable-in-its-line", "healthy", "onnxruntime-1.23", by_sudo, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, EXPORTED, writes({"work/run.sh": "#!/bin/bash\ncd {home}/work\nsudo LD_LIBRARY_PATH={home}/cuda-12.8/lib64 {env}/bin/python main.py\n"}))),
    Scene("torchrun-beside-another-environment", "healthy", "hub", by_script, then(program(GENERATES), another("torch-2.6", "envs/base"), writes({"work/run.sh": "#!/bin/bash\ncd {home}/work\n{env}/bin/torchrun --standalone --nproc_per_node=1 main.py\n"}))),
    Scene("gradio-with-certificates-of-the-company", "healthy", "torch-2.6", by_run, then(program(INTERFACE), installs("gradio==5.49.1"), has_certificates, sets(SSL_CERT_FILE="{home}/certs/company.pem", REQUESTS_CA_BUNDLE="{home}/certs/company.pem"))),
    Scene("tensorflow-with-protobuf-in-python", "healthy", "tensorflow", by_run, then(program(NETWORK), sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python", TF_ENABLE_ONEDNN_OPTS="0", TF_FORCE_GPU_ALLOW_GROWTH="true"))),
)  # fmt: skip
