"""Half a stack that was upgraded, wheels that share a file, projects of a package's name, and what calls need at run time.

Common faults of 2022 to 2026, and machines beside them that are odd and work. The rules were mended with these scenes.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.worldlab.scene import Scene, World, installs, lacks, then
from tests.worldlab.scenes.held_out_8 import sets, writes
from tests.worldlab.scenes.held_out_15 import by_run
from tests.worldlab.scenes.starters import program

BROKEN = ("requirement_broken", "extension_abi_mismatch", "numpy_abi_mismatch")
SHADOWED = ("module_shadowed", "requirement_broken", "duplicate_framework_packages")
LOST = ("corrupt_or_truncated_file", "installation_interrupted", "requirement_broken", "cuda_runtime_missing")
NCCL = ("cuda_lib_shadowed", "extension_abi_mismatch", "duplicate_framework_packages")  # fmt: skip

MODULES = (
    '[submodule "matcha"]\n\tpath = third_party/Matcha-TTS\n\turl = https://github.com/shivammehta25/Matcha-TTS.git\n'
)
UNBUILT = {"work/monotonic_align/__init__.py": "from .monotonic_align.core import maximum_path_c\n", "work/monotonic_align/core.pyx": "def maximum_path_c():\n    pass\n", "work/monotonic_align/setup.py": "from setuptools import setup\nfrom Cython.Build import cythonize\nsetup(ext_modules=cythonize('core.pyx'))\n"}  # fmt: skip
PATCHED = "import collections, collections.abc\nfor name in ('Mapping', 'MutableMapping', 'Sequence'):\n    setattr(collections, name, getattr(collections.abc, name))\nimport torch\nfrom attrdict import AttrDict"
ONES = "import torch; torch.ones(1)"
TOKENS = "import torch\nfrom transformers import AutoTokenizer"
TRAINER = "import torch\nfrom transformers import TrainingArguments\nTrainingArguments('out')"
EXPORT = "import torch\ntorch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),), 'net.onnx')"
TABLES = "import torch, pandas\npandas.DataFrame({'a': [1]})"


def bare(*names: str) -> Callable[[World], None]:
    """Install without what the packages require."""
    return installs("--no-deps", *names)


SCENES: tuple[Scene, ...] = (
    # === A
    Scene("nccl-of-cu11-was-removed", "A", "torch-2.8", by_run, then(program(ONES), bare("nvidia-nccl-cu11==2.19.3"), lacks("nvidia-nccl-cu11")), LOST, "torch", "libnccl.so.2", "libnccl.so.2"),
    Scene("export-without-onnx", "A", "torch-2.6", by_run, program(EXPORT), BROKEN, "", "onnx", "onnx"),
    Scene("export-without-onnx-2-8", "A", "torch-2.8", by_run, program(EXPORT), BROKEN, "", "onnx", "onnx"),
    Scene("whisper-without-the-filter", "A", "ctranslate2", by_run, then(program("from faster_whisper import vad, WhisperModel\nvad.get_vad_model()"), installs("faster-whisper==1.1.1", "requests"), lacks("onnxruntime")), BROKEN, "", "onnxruntime", "onnxruntime"),
    Scene("whisper-and-the-hub-that-brings-no-requests", "A", "ctranslate2", by_run, then(program("from faster_whisper import WhisperModel"), installs("faster-whisper==1.1.1", "huggingface-hub==1.0.1")), BROKEN, "", "requests", "requests"),
    Scene("cv2-after-headless-was-removed", "A", "torch-2.8", by_run, then(program("import torch, cv2\ncv2.resize"), bare("opencv-python==4.11.0.86"), bare("opencv-python-headless==4.11.0.86"), lacks("opencv-python-headless")), LOST, "", "cv2", "cv2"),
    Scene("excel-without-openpyxl", "A", "torch-2.6", by_run, then(program("import torch, pandas\npandas.DataFrame({'a': [1]}).to_excel('a.xlsx')"), installs("pandas==2.2.3")), BROKEN, "", "openpyxl", "openpyxl"),
    Scene("video-without-av", "A", "torch-2.6", by_run, then(program("import torch, torchvision\ntorchvision.io.read_video('a.mp4')")), BROKEN, "", "av", "PyAV"),
    Scene("plot-without-matplotlib", "A", "torch-2.6", by_run, then(program("import torch, pandas\npandas.DataFrame({'a': [1]}).plot()"), installs("pandas==2.2.3")), BROKEN, "", "matplotlib", "matplotlib"),
    Scene("offload-without-accelerate", "A", "hub", by_run, then(program("import torch\nfrom transformers import AutoModel\nAutoModel.from_pretrained('here', device_map='auto')"), lacks("accelerate")), BROKEN, "", "accelerate", "ccelerate"),
    Scene("sparse-arrays-with-nothing-searched", "A", "cupy", by_run, program("import cupy\nfrom cupyx.scipy.sparse.linalg import eigsh"), ("cuda_not_on_search_path", "cudnn_not_on_search_path", "cuda_runtime_missing"), "cupy-cuda12x", "libcublas", "libcublas.so.12"),
    # === B
    Scene("nccl-of-cu11-over-that-of-cu12", "B", "torch-2.8", by_run, then(program(ONES), bare("nvidia-nccl-cu11==2.19.3")), NCCL, "torch", "libnccl.so.2", "undefined symbol"),
    Scene("torchaudio-of-two-torches-ago", "B", "torch-2.8", by_run, then(program("import torch, torchaudio\ntorchaudio.transforms.Resample"), bare("torchaudio==2.6.0")), BROKEN, "torchaudio", "torchaudio", "ndefined symbol"),
    Scene("transformers-newer-than-the-hub", "B", "hub", by_run, then(program(TOKENS), bare("transformers==4.56.2", "tokenizers==0.22.0", "huggingface-hub==0.30.2")), BROKEN, "transformers", "huggingface", "huggingface-hub>=0.34"),
    Scene("tokenizers-older-than-transformers", "B", "hub", by_run, then(program(TOKENS), bare("tokenizers==0.20.3")), BROKEN, "transformers", "tokenizers", "tokenizers>=0.21"),
    Scene("hub-of-1-0-under-transformers-4", "B", "hub", by_run, then(program(TOKENS), installs("httpx", "typer-slim", "shellingham"), bare("huggingface-hub==1.0.1")), BROKEN, "transformers", "huggingface", "huggingface-hub"),
    Scene("accelerate-older-than-the-trainer", "B", "hub", by_run, then(program(TRAINER), bare("accelerate==0.20.3")), BROKEN, "", "accelerate", "accelerate>="),
    Scene("pandas-of-before-numpy-2", "B", "torch-2.6", by_run, then(program(TABLES), installs("pandas==2.2.3"), bare("pandas==2.0.3")), BROKEN, "", "pandas", "numpy.dtype size changed"),
    Scene("sklearn-of-before-numpy-2", "B", "torch-2.6", by_run, then(program("import torch\nfrom sklearn.metrics import f1_score"), installs("scikit-learn==1.5.2"), bare("scikit-learn==1.3.2")), BROKEN, "", "scikit", "numpy"),
    Scene("numba-of-the-year-before-numpy-2", "B", "torch-2.6", by_run, then(program("import torch, numba\nnumba.njit"), bare("numba==0.59.1", "llvmlite==0.42.0")), BROKEN, "", "numba", "Numba needs NumPy"),
    Scene("tensorboardx-older-than-protobuf", "B", "torch-2.6", by_run, then(program("import torch\nfrom tensorboardX import SummaryWriter"), bare("tensorboardX==2.5", "protobuf==5.29.3", "six")), BROKEN, "", "protobuf", "Descriptors cannot be created directly"),
    Scene("timm-of-torch-1", "B", "torch-2.6", by_run, then(program("import torch, timm\ntimm.create_model"), bare("timm==0.3.2")), BROKEN, "", "torch._six", "torch._six"),
    Scene("datasets-behind-a-newer-pyarrow", "B", "hub", by_run, then(program("import torch, datasets\ndatasets.Dataset.from_dict({'a': [1]})"), bare("datasets==2.14.6"), bare("pyarrow==21.0.0")), BROKEN, "", "PyExtensionType", "PyExtensionType"),
    Scene("pydantic-and-the-core-of-another", "B", "torch-2.6", by_run, then(program("import torch, pydantic\npydantic.BaseModel"), installs("pydantic==2.12.3"), bare("pydantic-core==2.33.2")), BROKEN, "", "pydantic", "pydantic-core"),
    Scene("typing-extensions-older-than-torch", "B", "torch-2.6", by_run, then(program(ONES), bare("typing-extensions==4.5.0")), BROKEN, "torch", "typing", "typing_extensions"),
    Scene("gradio-4-and-the-hub-of-1-0", "B", "torch-2.6", by_run, then(program("import torch, gradio\ngradio.Blocks"), installs("gradio==4.44.1", "pydantic<2.11"), bare("huggingface-hub==1.0.1", "typer-slim", "shellingham")), BROKEN, "", "HfFolder", "HfFolder"),
    Scene("imgaug-older-than-numpy-2", "B", "torch-2.6", by_run, then(program("import torch, imgaug.augmenters"), installs("imgaug==0.4.0", "numpy==2.2.6", "opencv-python-headless")), BROKEN, "", "sctypes", "sctypes"),
    Scene("ml-dtypes-older-than-tensorflow", "B", "tensorflow", by_run, then(program("import tensorflow as tf\ntf.constant([1])"), bare("ml-dtypes==0.2.0")), BROKEN, "tensorflow", "ml", "ml_dtypes"),
    Scene("ml-dtypes-older-than-onnx", "B", "torch-2.6", by_run, then(program("import torch, onnx\nonnx.helper"), installs("onnx==1.19.1"), bare("ml-dtypes==0.3.2")), BROKEN, "", "ml", "ml_dtypes"),
    Scene("jaxlib-older-than-jax", "B", "jax", by_run, then(program("import jax; jax.devices('cpu')"), bare("jaxlib==0.6.2")), BROKEN, "jax", "jaxlib", "jaxlib"),
    Scene("sentences-older-than-the-hub", "B", "hub", by_run, then(program("import torch\nfrom sentence_transformers import SentenceTransformer"), installs("scikit-learn", "scipy", "nltk", "pillow", "sentencepiece"), bare("sentence-transformers==2.2.2")), BROKEN, "", "cached_download", "cached_download"),
    Scene("peft-behind-a-newer-transformers", "B", "hub", by_run, then(program("import torch\nfrom peft import LoraConfig"), installs("peft==0.17.1"), installs("transformers==5.0.0")), BROKEN, "", "HybridCache", "HybridCache"),
    Scene("own-code-of-numpy-1", "B", "torch-2.6", by_run, then(program("import torch, numpy as np\nprint(np.float(1), np.bool(1))")), (*BROKEN, "program_error"), "", "float", "np.float"),
    Scene("own-code-of-pillow-9", "B", "torch-2.6", by_run, then(program("import torch\nfrom PIL import Image\nImage.new('RGB', (4, 4)).resize((2, 2), Image.ANTIALIAS)"), installs("pillow")), (*BROKEN, "program_error"), "", "ANTIALIAS", "ANTIALIAS"),
    Scene("keras-2-beside-tensorflow-2-20", "B", "tensorflow", by_run, then(program("import tensorflow as tf\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"), bare("keras==2.15.0")), BROKEN, "", "keras", "keras"),
    Scene("torchmetrics-and-older-utilities", "B", "torch-2.6", by_run, then(program("import torch, torchmetrics\ntorchmetrics.Metric"), bare("torchmetrics==1.6.1", "lightning-utilities==0.3.0", "packaging")), BROKEN, "", "lightning", "lightning_utilities"),
    Scene("jinja-older-than-markupsafe", "B", "torch-2.6", by_run, then(program("import torch\nfrom jinja2 import Template"), bare("jinja2==2.11.3")), BROKEN, "", "soft_unicode", "soft_unicode"),
    Scene("flask-older-than-werkzeug", "B", "torch-2.6", by_run, then(program("import torch\nfrom flask import Flask"), installs("flask==2.3.3"), bare("flask==2.1.3"), bare("werkzeug==3.1.3")), BROKEN, "", "url_quote", "url_quote"),
    Scene("protobuf-older-than-onnx", "B", "torch-2.6", by_run, then(program("import torch, onnx\nonnx.helper"), installs("onnx==1.17.0"), bare("protobuf==3.19.6")), BROKEN, "", "protobuf", "builder"),
    Scene("pyarrow-of-before-numpy-2", "B", "hub", by_run, then(program("import torch, datasets\ndatasets.Dataset.from_dict({'a': [1]})"), bare("pyarrow==14.0.2")), BROKEN, "", "pyarrow", "pyarrow"),
    Scene("matplotlib-of-before-numpy-2", "B", "torch-2.6", by_run, then(program("import torch\nimport matplotlib.pyplot"), installs("matplotlib==3.9.2"), bare("matplotlib==3.7.5")), BROKEN, "", "matplotlib", "numpy"),
    Scene("movies-of-before-moviepy-2", "B", "torch-2.6", by_run, then(program("import torch\nfrom moviepy.editor import VideoFileClip"), installs("moviepy==2.1.2")), BROKEN, "", "moviepy.editor", "moviepy.editor"),
    Scene("integrals-of-before-scipy-1-14", "B", "torch-2.6", by_run, then(program("import torch\nfrom scipy.integrate import simps"), installs("scipy==1.14.1")), BROKEN, "", "simps", "simps"),
    Scene("diffusion-of-lightning-1", "B", "torch-2.6", by_run, then(program("import torch\nfrom pytorch_lightning.utilities.distributed import rank_zero_only"), installs("pytorch-lightning==2.5.0")), BROKEN, "", "utilities.distributed", "utilities.distributed"),
    Scene("cuda-python-13-for-code-of-12", "B", "torch-2.6", by_run, then(program("import torch\nfrom cuda import cuda, cudart"), installs("cuda-python==13.0.1")), BROKEN, "", "cuda", "cannot import name 'cuda'"),
    Scene("settings-of-pydantic-1", "B", "torch-2.6", by_run, then(program("import torch\nfrom pydantic import BaseSettings"), installs("pydantic==2.10.6")), BROKEN, "", "BaseSettings", "BaseSettings"),
    Scene("code-of-tensorflow-1", "B", "tensorflow", by_run, program("import tensorflow as tf\nx = tf.placeholder(tf.float32, [None, 2])"), BROKEN, "", "placeholder", "placeholder"),
    Scene("attrdict-of-before-python-3-10", "B", "torch-2.6", by_run, then(program("import torch\nfrom attrdict import AttrDict"), bare("attrdict==2.0.1", "six")), BROKEN, "", "Mapping", "Mapping"),
    Scene("code-of-a-newer-grpcio-tools", "B", "torch-2.6", by_run, then(program("import torch\nfrom grpc_health.v1 import health_pb2_grpc"), installs("grpcio-health-checking==1.66.2"), bare("grpcio==1.60.1")), BROKEN, "", "grpc", "generated code"),
    Scene("fastapi-of-before-starlette-1", "B", "torch-2.6", by_run, then(program("import torch\nfrom fastapi import FastAPI\napp = FastAPI()"), installs("fastapi==0.115.0"), bare("starlette==1.0.0")), BROKEN, "", "starlette", "unexpected keyword"),
    Scene("logger-without-wandb", "A", "torch-2.6", by_run, then(program("import torch\nfrom pytorch_lightning.loggers import WandbLogger\nlogger = WandbLogger(project='x', offline=True)"), installs("pytorch-lightning==2.5.0")), BROKEN, "", "wandb", "wandb"),
    Scene("boxes-without-pycocotools", "A", "torch-2.6", by_run, then(program("import torch\nfrom torchmetrics.detection import MeanAveragePrecision\nmetric = MeanAveragePrecision()"), installs("torchmetrics==1.6.1")), BROKEN, "", "pycocotools", "pycocotools"),
    Scene("clone-without-its-submodules", "A", "torch-2.6", by_run, then(program("import sys, torch\nsys.path.append('third_party/Matcha-TTS')\nfrom matcha.models import flow"), writes({"work/.gitmodules": MODULES}), lambda world: (world.home / "work/third_party/Matcha-TTS").mkdir(parents=True)), BROKEN, "", "Matcha-TTS", "No module named 'matcha'"),
    Scene("clone-with-an-uncompiled-part", "A", "torch-2.6", by_run, then(program("import torch\nimport monotonic_align"), writes(UNBUILT)), BROKEN, "", "setup.py", "monotonic_align.monotonic_align"),
    # === C
    Scene("runs-in-the-place-of-wandb", "C", "torch-2.6", by_run, then(program("import torch, wandb\nwandb.init(mode='disabled')"), writes({"work/wandb/run-20250301_101112-ab12/files/config.yaml": "lr: 1\n", "work/wandb/debug.log": ""})), SHADOWED, "", "work/wandb", "has no attribute 'init'"),
    Scene("pictures-in-the-place-of-datasets", "C", "torch-2.6", by_run, then(program("import torch\nfrom datasets import load_dataset"), writes({"work/datasets/train/a.csv": "1\n"})), SHADOWED, "", "work/datasets", "cannot import name 'load_dataset'"),
    Scene("whisper-of-the-index", "C", "torch-2.6", by_run, then(program("import torch, whisper\nwhisper.load_model('tiny')"), bare("whisper==1.1.10", "six")), SHADOWED, "", "whisper", "load_model"),
    Scene("apex-of-the-index", "C", "torch-2.6", by_run, then(program("import torch\nfrom apex import amp"), bare("apex==0.9.10.dev0")), SHADOWED, "", "apex", "apex"),
    Scene("exercise-named-platform-py", "C", "torch-2.6", by_run, then(program(ONES), writes({"work/platform.py": "NAME = 'pc'\n"})), SHADOWED, "", "platform.py", "platform"),
    Scene("folder-named-datasets", "C", "hub", by_run, then(program("import torch\nfrom datasets import Dataset\nDataset.from_dict({'a': [1]})"), writes({"work/datasets/__init__.py": "", "work/datasets/train.csv": "1\n"})), SHADOWED, "", "work/datasets", "Dataset"),
    Scene("folder-named-datasets-without-init-is-no-fault", "healthy", "hub", by_run, then(program("import torch\nfrom datasets import Dataset\nDataset.from_dict({'a': [1]})"), writes({"work/datasets/train.csv": "1\n", "work/tokenizers/a.json": "{}"}))),
    # === healthy
    Scene("attrdict-behind-names-that-are-put-back", "healthy", "torch-2.6", by_run, then(program(PATCHED), bare("attrdict==2.0.1", "six"))),
    Scene("keras-of-torch-by-its-file", "healthy", "torch-2.6", by_run, then(program("import torch, keras\nkeras.Sequential"), installs("keras==3.8.0"), writes({".keras/keras.json": '{"floatx": "float32", "epsilon": 1e-07, "backend": "torch", "image_data_format": "channels_last"}'}))),
    Scene("parts-of-opencv-with-stubs-alone", "healthy", "torch-2.6", by_run, then(program("import torch, cv2\ncv2.aruco.ArucoDetector\ncv2.cuda.getCudaEnabledDeviceCount()\n\n\ndef show(x):\n    cv2.imshow('a', x)"), bare("opencv-python-headless==4.11.0.86"))),
    Scene("submodule-that-nothing-imports", "healthy", "torch-2.6", by_run, then(program(ONES), writes({"work/.gitmodules": MODULES}), lambda world: (world.home / "work/third_party/Matcha-TTS").mkdir(parents=True))),
    Scene("tensorboardx-with-pythons-protobuf", "healthy", "torch-2.6", by_run, then(program("import torch\nfrom tensorboardX import SummaryWriter"), bare("tensorboardX==2.5", "protobuf==5.29.3", "six", "packaging"), sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python"))),
    Scene("export-with-onnx", "healthy", "torch-2.6", by_run, then(program(EXPORT), installs("onnx==1.17.0"))),
    Scene("export-when-asked", "healthy", "torch-2.6", by_run, program("import sys, torch\nif '--export' in sys.argv:\n    torch.onnx.export(torch.nn.Linear(2, 1), (torch.ones(1, 2),), 'net.onnx')\n")),
    Scene("whisper-that-filters-nothing", "healthy", "ctranslate2", by_run, then(program("from faster_whisper import WhisperModel\ntry:\n    WhisperModel('none', device='cpu', local_files_only=True).transcribe('a.wav', vad_filter=False)\nexcept Exception as e:\n    print(type(e))"), installs("faster-whisper==1.1.1", "requests"))),
    Scene("newer-nccl-and-cudnn", "healthy", "torch-2.8", by_run, then(program(ONES), bare("nvidia-nccl-cu12==2.27.7"))),
    Scene("own-code-of-both-numpys", "healthy", "torch-2.6", by_run, program("import torch, numpy as np\nif not hasattr(np, 'float'):\n    np.float = float\nprint(np.float(1))\ntry:\n    np.int(1)\nexcept AttributeError:\n    pass")),
    Scene("headless-after-the-other-was-removed-and-put-back", "healthy", "torch-2.8", by_run, then(program("import torch, cv2\ncv2.resize"), bare("opencv-python==4.11.0.86"), bare("opencv-python-headless==4.11.0.86"), lacks("opencv-python"), installs("--no-deps", "--reinstall", "opencv-python-headless==4.11.0.86"))),
    Scene("cuda-chosen-where-it-is", "healthy", "torch-2.8", by_run, then(program("import torch\nimport onnxruntime as ort\nprint(ort.get_device(), ort.get_available_providers())"), bare("onnxruntime-gpu==1.23.2", "flatbuffers", "coloredlogs", "humanfriendly", "protobuf"))),
    Scene("clone-of-accelerate-in-its-src", "healthy", "torch-2.6", by_run, then(program("import torch\nfrom mytrain import fit"), writes({"work/mytrain/pyproject.toml": '[build-system]\nrequires = ["setuptools>=68"]\nbuild-backend = "setuptools.build_meta"\n\n[project]\nname = "mytrain"\nversion = "1.0"\n', "work/mytrain/src/mytrain/__init__.py": "def fit():\n    pass\n"}), lambda world: installs("--no-deps", "-e", str(world.home / "work/mytrain"))(world))),
    Scene("all-of-before-numpy-2", "healthy", "torch-2.6", by_run, then(program("import torch, pandas\nfrom sklearn.metrics import f1_score\nimport matplotlib.pyplot"), installs("numpy==1.26.4", "pandas==2.0.3", "scikit-learn==1.3.2", "matplotlib==3.7.5"))),
    Scene("legacy-keras-by-its-variable", "healthy", "tensorflow", by_run, then(program("import tensorflow as tf\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"), installs("--no-deps", "tf-keras==2.20.1"), sets(TF_USE_LEGACY_KERAS="1"))),
    Scene("optional-parts-that-are-absent", "healthy", "torch-2.6", by_run, program("import torch\ntry:\n    import xformers.ops\nexcept ImportError:\n    xformers = None\ntry:\n    from flash_attn import flash_attn_func\nexcept ImportError:\n    flash_attn_func = None\ntry:\n    from torchvision.transforms import functional_tensor\nexcept ImportError:\n    from torchvision.transforms import functional as functional_tensor")),
    Scene("exports-that-nobody-calls", "healthy", "torch-2.6", by_run, then(program("import torch, argparse\n\n\ndef export(model):\n    torch.onnx.export(model, (torch.ones(1, 2),), 'net.onnx')\n\n\ndef table(rows):\n    import pandas as pd\n    pd.DataFrame(rows).to_excel('a.xlsx')\n\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--video')\nif parser.parse_args().video:\n    import torchvision\n    torchvision.io.read_video('a.mp4')"), installs("pandas==2.2.3"))),
    Scene("numba-with-nvidias-target", "healthy", "torch-2.6", by_run, then(program("import torch\nfrom numba import cuda\ncuda.jit"), installs("numba==0.61.2", "numba-cuda==0.15.1", "cuda-bindings==12.9.2"))),
    Scene("script-of-another-project", "healthy", "torch-2.6", by_run, then(program(ONES), writes({"work/serve.py": "import fastapi, torch\nfrom einops import rearrange\n\napp = fastapi.FastAPI()\n"}))),
)  # fmt: skip
