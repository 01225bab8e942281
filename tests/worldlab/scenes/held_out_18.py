"""The eighteenth held-out set, classes A to E: what a help desk gets in 2024 to 2026.

By somebody who has read no rule and no probe, and committed before the first scan. Above each row: the thread that it is
made from, or what people do. The last step of each fault's plant is the fault.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, then
from tests.worldlab.scenes.held_out_8 import JAX, ONES, sets, without_system, writes
from tests.worldlab.scenes.held_out_15 import by_run
from tests.worldlab.scenes.held_out_17_machines import PROJECT, script
from tests.worldlab.scenes.held_out_18_machines import (
    METADATA,
    SAM2,
    SLIM,
    by_code_runner,
    by_compose,
    by_image,
    by_jupyter,
    by_uv,
    clones,
    clones_sources,
    code_runner,
    compose,
    dockerfile,
    names_ffmpeg,
    notebook,
    saved,
    with_jupyter_of_uv,
    without_command,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

EXTENSION = (
    "import torch\nfrom torch.utils import cpp_extension\n"
    "ops = cpp_extension.load_inline('lab_ops', cpp_sources='int one() { return 1; }', functions=['one'])\n"
    "assert ops.one() == 1"
)
READY = "import torch\nfrom torch.utils import cpp_extension\ncpp_extension.verify_ninja_availability()"
"""What ``load`` does first; the compiler itself takes minutes on a busy machine."""
FOUR_BITS = "import torch\nfrom transformers import BitsAndBytesConfig\nBitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)"
AUGMENTS = (
    "import numpy as np\nfrom tensorflow.keras.preprocessing.image import ImageDataGenerator\n"
    "ImageDataGenerator(rotation_range=20).random_transform(np.zeros((8, 8, 3)))"
)
MANAGES = (
    "import subprocess, sys, torch\nprint(subprocess.check_output([sys.executable, '-m', 'pip', 'freeze'], text=True))"
)
"""What ComfyUI's manager, and many a program that installs what it lacks, does first."""
KINDS = "import torch, magic\nassert magic.from_buffer(b'%PDF-1.7', mime=True) == 'application/pdf'"
SPEECH = "from faster_whisper.vad import get_vad_model\nget_vad_model()"
"""What ``transcribe(..., vad_filter=True)`` does."""
EXPORTS = (
    "import onnx, onnxruntime\nfrom onnx import TensorProto, helper\n"
    "x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in 'xy')\n"
    "graph = helper.make_graph([helper.make_node('Relu', ['x'], ['y'])], 'net', [x], [y])\n"
    "model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)]{more})\n"
    "onnx.save(model, 'net.onnx')\n"
    "onnxruntime.InferenceSession('net.onnx', providers=['CPUExecutionProvider'])"
)
CONVERTS = (
    "import keras, tf2onnx\n"
    "model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(2)])\n"
    "tf2onnx.convert.from_keras(model, opset=18, output_path='model.onnx')"
)
DEMO = (
    "import torch\nimport gradio as gr\n"
    "with gr.Blocks() as demo:\n"
    "    chat = gr.Chatbot()\n"
    "    message = gr.Textbox()\n"
    "    message.submit(lambda m, h: ('', h), [message, chat], [message, chat])\n"
    "demo.get_api_info()"
)
"""What ``demo.launch()`` asks for its first page."""
PIPES = "import torch\nfrom torchdata.datapipes.iter import IterableWrapper\nlist(IterableWrapper([1, 2]))"
ASKS = "import torch\nfrom openai import OpenAI\nOpenAI(api_key='none', base_url='http://127.0.0.1:8000/v1')"
"""A client of a model's server of this machine, as vLLM's and Ollama's manuals show it."""
TRANSPORT = "import jax\nfrom ott.geometry import pointcloud"
BATCHES = "import torch\nfrom torch.utils.data import DataLoader\nlist(DataLoader(torch.ones(4, 2), num_workers=1))"
TRANSLATES = "import ctranslate2\nctranslate2.Translator"
LOADS = "import torch\nfrom datasets import load_dataset"
SOUND = "import onnxruntime, ffmpeg\nffmpeg.input('voice.wav')"
SEGMENTS = "from sam2.build_sam import build_sam2\nbuild_sam2('tiny')"
RUNTIME = "import onnxruntime\nonnxruntime.InferenceSession"
NETWORK = "import tensorflow as tf\ntf.constant([1, 2])"
TOKENS = "import torch\nfrom transformers import AutoTokenizer"
NUMBERS = (
    "import locale, torch\nlocale.setlocale(locale.LC_ALL, '')\nprint(f'{torch.ones(1000).sum().item():n} pictures')"
)
VIDEO = (
    "import torch, imageio_ffmpeg\n"
    "video = imageio_ffmpeg.write_frames('a.mp4', (16, 16))\n"
    "video.send(None)\nvideo.send(torch.zeros(16, 16, 3, dtype=torch.uint8).numpy().tobytes())\nvideo.close()"
)
BUCKET = "import tensorflow as tf\nimport google.auth\ngoogle.auth.default()"
"""What a client of a bucket does first."""
TRACKS = "import os, torch, wandb\nwandb.login(key=os.environ['WANDB_API_KEY'])"
RESUMES = "import torch\ntorch.load('last.pt', map_location='cpu', weights_only=False)"
ARRAYS = "import tempfile, cupy\nwith tempfile.NamedTemporaryFile() as f:\n    f.write(b'a')"
OPTIONAL = (
    "import ctranslate2\n"
    "try:\n    import onnxruntime\nexcept ImportError:\n    onnxruntime = None  # no filter for silence\n"
    "try:\n    from faster_whisper import WhisperModel\nexcept ImportError:\n    WhisperModel = None\n"
    "print(ctranslate2.get_supported_compute_types('cpu'))"
)

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
TOOLS = ("build_tools_missing", *BROKEN)
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")

NINJA = installs("setuptools==80.9.0", "ninja==1.13.0")
SETUPTOOLS = installs("setuptools==80.9.0")
UNIT = ".config/systemd/user/trainer.service"
WHISPER = installs("--no-deps", "faster-whisper==1.2.1", "av", "tokenizers", "huggingface-hub", "tqdm", "requests", "pyyaml", "filelock", "fsspec", "packaging", "typing-extensions", "httpx")  # fmt: skip
GRADIO = installs("gradio==4.44.1", "huggingface-hub==0.25.2", "numpy==2.2.6", "pydantic==2.10.6")
OWN_OPENAI = {"work/openai.py": "def ask(question):\n    return 'an answer to ' + question\n"}
OWN_SIGNAL = {"work/signal.py": "import math\n\n\ndef sine(hertz, rate):\n    return [math.sin(2 * math.pi * hertz * i / rate) for i in range(rate)]\n"}  # fmt: skip
SOCKS = sets(all_proxy="socks5://127.0.0.1:7890", https_proxy="http://127.0.0.1:7890")
KEY = "wandb_v1_" + "NotARealKey" * 7
"""As long as the keys that are given out since the end of 2025: 86 letters."""

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/qizekun/VPP/issues/3
    Scene("extension-without-ninja", "A", "torch-2.8", by_run, then(program(EXTENSION), SETUPTOOLS, without_command("ninja")), TOOLS, "", "inja", "Ninja is required"),
    # https://github.com/Comfy-Org/ComfyUI/issues/11766
    Scene("four-bits-without-bitsandbytes", "A", "hub", by_run, program(FOUR_BITS), BROKEN, "", "bitsandbytes", "No package metadata was found for bitsandbytes"),
    # https://github.com/tensorflow/tensorflow/issues/51736
    Scene("pictures-turned-without-scipy", "A", "tensorflow", by_run, program(AUGMENTS), BROKEN, "", "scipy", "scipy"),
    # https://github.com/Comfy-Org/ComfyUI-Manager/issues/1828
    Scene("manager-in-an-environment-without-pip", "A", "torch-2.6", by_run, program(MANAGES), (*TOOLS, "python_environment_broken"), "", "pip", "No module named pip"),
    # https://github.com/langgenius/dify/issues/13109
    Scene("documents-in-an-image-without-libmagic", "A", "torch-2.6", by_run, then(program(KINDS), installs("python-magic==0.4.27"), without_system("libmagic.so*")), ("system_library_missing",), "", "libmagic", "failed to find libmagic"),
    # https://github.com/jianchang512/stt/issues/113
    Scene("whisper-without-the-filter-for-silence", "A", "ctranslate2", by_run, then(program(SPEECH), WHISPER), BROKEN, "", "onnxruntime", "requires the onnxruntime package"),
    # === B: all files are there, and do not fit
    # https://github.com/microsoft/onnxruntime/issues/23602
    Scene("model-of-a-newer-onnx", "B", "onnxruntime-1.20", by_run, then(program(EXPORTS.replace("{more}", "")), installs("onnx==1.19.1")), BROKEN, "", "onnx", "Unsupported model IR version"),
    # https://github.com/onnx/tensorflow-onnx/issues/2319
    Scene("exporter-older-than-keras-3", "B", "tensorflow", by_run, then(program(CONVERTS), installs("onnx==1.17.0", "flatbuffers", "requests"), installs("--no-deps", "tf2onnx==1.16.1")), BROKEN, "", "tf2onnx", "output_names"),
    # https://github.com/gradio-app/gradio/issues/10792
    Scene("demo-older-than-pydantic", "B", "torch-2.6", by_run, then(program(DEMO), GRADIO, installs("pydantic==2.11.7")), BROKEN, "", "pydantic", "argument of type 'bool' is not iterable"),
    # https://github.com/RosettaCommons/RFdiffusion/issues/306
    Scene("program-older-than-torchdata", "B", "torch-2.6", by_run, then(program(PIPES), installs("torchdata==0.11.0", "numpy==2.2.6")), BROKEN, "", "torchdata", "torchdata.datapipes"),
    # https://github.com/abhinav-kimothi/A-Simple-Guide-to-RAG/issues/7
    Scene("client-older-than-httpx", "B", "hub", by_run, then(program(ASKS), installs("openai==1.54.4", "httpx==0.27.2"), installs("httpx==0.28.1")), BROKEN, "", "httpx", "unexpected keyword argument 'proxies'"),
    # an update of JAX, as in https://github.com/pyrddlgym-project/pyRDDLGym-jax/issues/16
    Scene("transport-older-than-jax", "B", "jax", by_run, then(program(TRANSPORT), installs("jaxopt==0.8.3", "equinox==0.13.0", "jax==0.7.2", "jaxlib==0.7.2"), installs("--no-deps", "lineax==0.0.4", "ott-jax==0.4.4")), BROKEN, "", "ott", "PRNGKeyArray"),
    # === C: Python finds another file
    # https://github.com/openpifpaf/openpifpaf/issues/507, in a study of sound
    Scene("signal-py-of-a-study-of-sound", "C", "torch-2.6", by_run, then(program(BATCHES), writes(OWN_SIGNAL)), SHADOWED, "", "signal.py", "module 'signal' has no attribute"),
    # https://github.com/OpenNMT/CTranslate2/issues/1843
    Scene("program-in-the-clone-of-ctranslate2", "C", "ctranslate2", by_run, then(program(TRANSLATES), clones_sources), SHADOWED, "", "work/ctranslate2", "ctranslate2"),
    # https://github.com/huggingface/datasets/issues/1590, with the line of an old manual for TensorFlow's models
    Scene("slim-of-the-models-on-the-path", "C", "hub", by_run, then(program(LOADS), writes(SLIM), sets(PYTHONPATH="{home}/models/research:{home}/models/research/slim")), SHADOWED, "", "slim", "cannot import name 'load_dataset'"),
    # https://github.com/openai/openai-python/issues/147
    Scene("openai-py-beside-the-program", "C", "hub", by_run, then(program(ASKS), installs("openai==1.99.9"), writes(OWN_OPENAI)), SHADOWED, "", "openai.py", "cannot import name 'OpenAI'"),
    # https://github.com/facebookresearch/sam2/issues/346
    Scene("beside-the-clone-of-sam2", "C", "torch-2.8", by_run, then(program(SEGMENTS), clones("sam2", SAM2)), SHADOWED, "", "work/sam2", "cannot import name 'CONFIGS' from 'sam2'"),
    # https://github.com/themanyone/whisper_dictation/issues/7
    Scene("ffmpeg-of-another-project", "C", "onnxruntime-1.23", by_run, then(program(SOUND), installs("ffmpeg-python==0.2.0"), installs("ffmpeg==1.4")), (*SHADOWED, *BROKEN, "duplicate_framework_packages", "corrupt_or_truncated_file", "program_error"), "", "ffmpeg", "has no attribute 'input'"),
    # === D: started in another way
    # https://github.com/pytorch/pytorch/pull/191622
    Scene("service-without-the-environments-tools", "D", "torch-2.8", by_unit, then(program(EXTENSION), NINJA, without_command("ninja"), writes({UNIT: unit_text("WorkingDirectory={home}/work\n")})), (*ELSEWHERE, *TOOLS), "", "inja", "Ninja is required"),
    # http://blog.dscpl.com.au/2016/01/python-virtual-environments-and-docker.html
    Scene("image-that-activates-in-a-step", "D", "onnxruntime-1.23", by_image, then(program(RUNTIME), writes(dockerfile("RUN . {env}/bin/activate && pip install -r requirements.txt"))), ELSEWHERE, "", "Dockerfile", "No module named 'onnxruntime'"),
    # https://github.com/docker/compose/issues/2854
    Scene("compose-with-quotation-marks-in-a-list", "D", "jax", by_compose, then(program(JAX), writes(compose("- PYTHONUNBUFFERED=1", '- JAX_PLATFORMS="cpu"'))), VALUE, "", "compose.yaml", "backend"),
    # https://github.com/formulahendry/vscode-code-runner/issues/1081
    Scene("code-runner-with-the-systems-python", "D", "torch-2.6", by_code_runner, then(program(ONES), writes(code_runner("/usr/bin/python3 -u"))), ELSEWHERE, "", "settings.json", "No module named 'torch'"),
    # https://docs.astral.sh/uv/guides/scripts, and https://github.com/Flexget/Flexget/pull/4154
    Scene("uv-run-of-a-script-with-metadata", "D", "hub", by_uv, then(program(TOKENS, METADATA), writes(PROJECT), writes(script("uv run main.py"), mode=0o755)), (*ELSEWHERE, *BROKEN), "", "main.py", "No module named 'torch'"),
    # https://github.com/astral-sh/uv/issues/12527
    Scene("notebook-in-the-jupyter-of-uv", "D", "tensorflow", by_jupyter, then(program(NETWORK), with_jupyter_of_uv, writes(notebook(NETWORK, "python3"))), ELSEWHERE, "", "jupyter", "No module named 'tensorflow'"),
    # === E: variables
    # https://github.com/tensorflow/tensorboard/issues/1323; ssh hands on the words of one's laptop
    Scene("language-that-is-not-installed", "E", "torch-2.8", by_run, then(program(NUMBERS), sets(LC_ALL="de_DE.UTF-8")), (*VALUE, "system_library_missing"), "", "LC_ALL", "unsupported locale setting"),
    # https://github.com/chatchat-space/Langchain-Chatchat/issues/605
    Scene("socks-proxy-without-its-package", "E", "hub", by_run, then(program(ASKS), installs("openai==1.99.9"), SOCKS), (*VALUE, *BROKEN), "", "socks", "'socksio' package is not installed"),
    # https://github.com/Zulko/moviepy/issues/1158
    Scene("ffmpeg-of-homebrew", "E", "torch-2.8", by_run, then(program(VIDEO), installs("imageio-ffmpeg==0.6.0"), sets(IMAGEIO_FFMPEG_EXE="/opt/homebrew/bin/ffmpeg")), VALUE, "", "IMAGEIO_FFMPEG_EXE", "/opt/homebrew/bin/ffmpeg"),
    # https://github.com/googleapis/python-storage/issues/119
    Scene("credentials-that-went", "E", "tensorflow", by_run, then(program(BUCKET), installs("google-auth==2.40.3"), sets(GOOGLE_APPLICATION_CREDENTIALS="{home}/keys/training.json")), VALUE, "", "GOOGLE_APPLICATION_CREDENTIALS", "was not found"),
    # https://github.com/wandb/server/issues/163
    Scene("key-newer-than-wandb", "E", "torch-2.6", by_run, then(program(TRACKS), installs("wandb==0.19.11"), sets(WANDB_API_KEY=KEY)), (*VALUE, *BROKEN), "", "wandb", "API key must be 40 characters long"),
    # https://github.com/e3nn/e3nn/issues/519, and a line of the administrator's
    Scene("checkpoint-that-may-not-be-whole", "E", "torch-2.6", by_run, then(program(RESUMES), saved, sets(TORCH_FORCE_WEIGHTS_ONLY_LOAD="1")), VALUE, "", "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "Weights only load failed"),
    # === odd, and healthy
    Scene("service-with-the-environments-tools", "healthy", "torch-2.8", by_unit, then(program(READY), NINJA, without_command("ninja"), writes({UNIT: unit_text("WorkingDirectory={home}/work\nEnvironment=PATH={env}/bin:/usr/local/bin:/usr/bin:/bin\n")}))),
    Scene("image-with-the-path-of-its-environment", "healthy", "onnxruntime-1.23", by_image, then(program(RUNTIME), writes(dockerfile("ENV VIRTUAL_ENV={env}", "ENV PATH={env}/bin:/usr/local/bin:/usr/bin:/bin", "RUN pip install -r requirements.txt")))),
    Scene("compose-with-quotation-marks-in-a-mapping", "healthy", "jax", by_compose, then(program(JAX), writes(compose('PYTHONUNBUFFERED: "1"', 'JAX_PLATFORMS: "cpu"')))),
    Scene("code-runner-with-the-environments-python", "healthy", "torch-2.6", by_code_runner, then(program(ONES), writes(code_runner("{env}/bin/python -u")))),
    # the metadata are a comment for everybody but uv
    Scene("script-with-metadata-by-the-environments-python", "healthy", "hub", by_uv, then(program(TOKENS, METADATA), writes(PROJECT), writes(script("{env}/bin/python main.py"), mode=0o755))),
    Scene("jupyter-of-uv-with-a-kernel-of-ones-own", "healthy", "tensorflow", by_jupyter, then(program(NETWORK), with_jupyter_of_uv, writes(notebook(NETWORK, "dl", "{env}/bin/python")))),
    # the answer of the thread: the exporter is told which version to write
    Scene("model-of-a-newer-onnx-for-an-older-runtime", "healthy", "onnxruntime-1.20", by_run, then(program(EXPORTS.replace("{more}", ", ir_version=10")), installs("onnx==1.19.1"))),
    Scene("demo-with-its-pydantic", "healthy", "torch-2.6", by_run, then(program(DEMO), GRADIO)),
    Scene("socks-proxy-with-its-package", "healthy", "hub", by_run, then(program(ASKS), installs("openai==1.99.9", "socksio==1.0.0"), SOCKS)),
    # the same clone, without the folder that has a package of the name
    Scene("models-on-the-path", "healthy", "hub", by_run, then(program(LOADS), writes(SLIM), sets(PYTHONPATH="{home}/models/research"))),
    # the clone has another name than its package
    Scene("beside-a-clone-of-another-name", "healthy", "torch-2.8", by_run, then(program(SEGMENTS), clones("segment-anything-2", SAM2))),
    Scene("ffmpeg-of-the-right-project", "healthy", "onnxruntime-1.23", by_run, then(program(SOUND), installs("ffmpeg-python==0.2.0"))),
    Scene("language-that-is-not-installed-and-nobody-asks", "healthy", "torch-2.8", by_run, then(program(ONES), sets(LC_ALL="de_DE.UTF-8", LANG="de_DE.UTF-8"))),
    Scene("ffmpeg-by-its-whole-path", "healthy", "torch-2.8", by_run, then(program(VIDEO), installs("imageio-ffmpeg==0.6.0"), names_ffmpeg)),
    Scene("credentials-that-went-and-nobody-needs", "healthy", "tensorflow", by_run, then(program(NETWORK), sets(GOOGLE_APPLICATION_CREDENTIALS="{home}/keys/training.json"))),
    Scene("checkpoint-that-may-be-whole", "healthy", "torch-2.6", by_run, then(program(RESUMES.replace(", weights_only=False", "")), saved, sets(TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1"))),
    # a shell that remembers the job of yesterday
    Scene("temporary-folder-of-a-job-that-ended", "healthy", "cupy-alone", by_run, then(program(ARRAYS), sets(TMPDIR="/scratch/slurm.4711", SLURM_TMPDIR="/scratch/slurm.4711"))),
    Scene("packages-that-may-be-absent", "healthy", "ctranslate2", by_run, program(OPTIONAL)),
)  # fmt: skip
