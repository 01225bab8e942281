"""The twenty-second held-out set, classes A to E: faults as common as they are in the field, a fourth draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the three before it it takes what
people report most, whether an earlier set has it or not. Above each row: the thread that it is made from, or what people do.
The last step of each fault's plant is the fault, and without it the real program works; FFmpeg apart, which this machine has not.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, lacks, runs, then
from tests.worldlab.scenes.held_out_8 import JAX, layered, sets, without_system, writes
from tests.worldlab.scenes.held_out_15 import BLAS, SBATCH, by_batch, by_run, by_script
from tests.worldlab.scenes.held_out_16 import FETCHES
from tests.worldlab.scenes.held_out_16_machines import voice
from tests.worldlab.scenes.held_out_17_machines import UBUNTUS, toolkit_of
from tests.worldlab.scenes.held_out_18_machines import clones, without_command
from tests.worldlab.scenes.held_out_20_machines import links
from tests.worldlab.scenes.held_out_22_machines import (
    CLIP,
    CLONE,
    DATASETS,
    by_pm2,
    by_workflow,
    clone_of_jax,
    ecosystem,
    executable,
    without_metadata,
    workflow,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

LISTENS = (
    "import torch\nimport whisper\n\naudio = whisper.load_audio('voice.wav')\nmel = whisper.log_mel_spectrogram(audio)"
)
DECODES = "from faster_whisper import WhisperModel, decode_audio\n\naudio = decode_audio('voice.wav')\nWhisperModel.transcribe"
READS = "import torch\nimport soundfile as sf\n\nwave, rate = sf.read('voice.wav')\ntorch.from_numpy(wave)"
COMPILES = (
    "import torch\n\n\n@torch.compile\ndef step(x):\n    return torch.sin(x) + torch.cos(x)\n\n\nstep(torch.ones(64))"
)
COMPILES_EAGERLY = COMPILES.replace("@torch.compile", '@torch.compile(backend="eager")')
DETECTS = "import torch\nfrom ultralytics import YOLO\n\nYOLO('yolov8n.yaml')"
EMBEDS = "import torch\nfrom sentence_transformers import SentenceTransformer, util\n\nutil.cos_sim(torch.ones(2), torch.ones(2))"
CLASSIFIES = "import tensorflow as tf\nfrom transformers import BertConfig, TFBertModel\n\nTFBertModel(BertConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=1, intermediate_size=8, vocab_size=16))"
MEASURES = "import torch\nfrom skimage import filters, measure\n\nfilters.gaussian(torch.rand(8, 8).numpy())"
ADAPTS = "import torch\nfrom peft import LoraConfig, get_peft_model\n\nget_peft_model(torch.nn.Sequential(torch.nn.Linear(2, 2)), LoraConfig(target_modules=['0']))"
NETWORK = "import jax\nimport flax.linen as nn\n\nnn.Dense(2).init(jax.random.key(0), jax.numpy.ones((1, 2)))"
SCORES = "import torch\nimport clip\n\nprint(clip.available_models())\nclip.load"
LEARNS = "from datasets import Dataset, load_dataset\nfrom transformers import Trainer, TrainingArguments\n\nDataset.from_dict({'a': [1, 2]})"
GENERATES = "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer"
LAYERS = "import tensorflow as tf\n\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
KERAS = "import keras\n\nkeras.Sequential([keras.layers.Dense(2)])"
RUNS = "import torch\nimport torchvision\n\ntorchvision.models.resnet18(weights=None)"
ASKS = (
    "import requests, torch\nfrom huggingface_hub import HfApi\n\n"
    "try:\n    HfApi().model_info('gpt2')\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""What loading a model asks first; without a network it fails with an error of the network, which is right here."""
GATHERS = (
    "import os, tempfile, torch\nimport torch.distributed as dist\n\n"
    "store = 'file://' + os.path.join(tempfile.mkdtemp(), 'store')\n"
    "dist.init_process_group('gloo', init_method=store, rank=0, world_size=1)"
)
SPARSE = runs(
    "import jax_plugins.xla_cuda12 as p\n"
    "p._import_extensions()\n"
    "p._load_nvidia_libraries()\n"
    "try:\n    print(p.cuda_versions.cusparse_get_version())\n"
    "except RuntimeError as e:\n    raise SystemExit(f'Unable to load cuSPARSE. Is it installed? {e}')"
)
"""What JAX's plug-in does before it makes a client."""

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
SYSTEM = ("system_library_missing",)
TOOLS = ("build_tools_missing", *SYSTEM)
SHADOWED = ("module_shadowed",)
OTHERS = (*SHADOWED, *BROKEN, "duplicate_framework_packages")
VALUE = ("variable_value_wrong",)
UNFIT = ("extension_abi_mismatch", *BROKEN)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip

OF_CUDA = tuple(
    f"nvidia-{name}-cu12"
    for name in (
        *("cublas", "cuda-cccl", "cuda-cupti", "cuda-nvcc", "cuda-nvrtc", "cuda-runtime", "cudnn"),
        *("cufft", "cusolver", "cusparse", "nccl", "nvjitlink", "nvshmem"),
    )
)
"""What the plug-in's extra ``with-cuda`` asks for."""
TOOLKIT = "export LD_LIBRARY_PATH={home}/cuda-12.8/lib64\n"
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
UNIT = ".config/systemd/user/subtitles.service"
ENVIRONMENT = "miniconda3/envs/ml"
PATHS = f'{UBUNTUS}export PATH="{{home}}/{ENVIRONMENT}/bin:$PATH"\n'
JOB = SBATCH.replace("#SBATCH --export=NONE\n", "").replace("set -e\n", "")
WHISPER = installs("setuptools==80.9.0", "openai-whisper==20250625", "numba==0.61.2", "numpy==2.2.6")
FOR_YOLO = ("ultralytics==8.3.200", "numpy==2.2.6")

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/openai/whisper/pull/2776, https://github.com/linto-ai/whisper-timestamped/issues/236
    Scene("whisper-in-an-image-without-ffmpeg", "A", "torch-2.6", by_run, then(program(LISTENS), WHISPER, voice), (*TOOLS, *BROKEN), "", "ffmpeg", "No such file or directory: 'ffmpeg'"),
    # https://github.com/speaches-ai/speaches/issues/21: built from its sources, and the image has no libsndfile1
    Scene("soundfile-of-its-sources-in-a-slim-image", "A", "torch-2.6", by_run, then(program(READS), voice, without_system("libsndfile.so*"), installs("soundfile==0.13.1"), installs("--no-cache", "--reinstall", "--no-deps", "--no-binary", "soundfile", "soundfile==0.13.1")), (*SYSTEM, *BROKEN), "", "sndfile", "libsndfile"),
    # https://github.com/marieai/marie-ai/issues/94, https://github.com/cellarium-ai/cellarium-ml/issues/407
    Scene("compiled-step-in-an-image-without-a-compiler", "A", "torch-2.8", by_run, then(program(COMPILES), without_command("g++")), ("build_tools_missing",), "", "g++", "C++"),
    # pip install jax-cuda12-plugin, without its extra with-cuda, and no toolkit
    Scene("jax-plugin-without-its-extra", "A", "jax", SPARSE, then(program(JAX), lacks(*OF_CUDA)), ("cuda_runtime_missing", "cudnn_not_installed", *BROKEN), "", "cusparse", "Unable to load cuSPARSE"),
    # https://github.com/bentoml/BentoYolo/issues/8, https://github.com/ultralytics/ultralytics/issues/1270
    Scene("yolo-in-a-slim-image", "A", "torch-2.8", by_run, then(program(DETECTS), installs(*FOR_YOLO, "opencv-python==4.12.0.88"), without_system("libGL.so*", "libGLX.so*", "libOpenGL.so*")), SYSTEM, "", "libGL.so.1", "libGL.so.1"),
    # === B: all files are there, and do not fit
    # https://github.com/huggingface/sentence-transformers/issues/3001
    Scene("sentences-of-before-the-hub-0-26", "B", "hub", by_run, then(program(EMBEDS), installs("sentence-transformers==4.1.0", "torchvision==0.21.0", "nltk", "sentencepiece"), installs("--no-deps", "sentence-transformers==2.2.2")), BROKEN, "", "sentence", "cached_download"),
    # https://github.com/huggingface/transformers/issues/36410, https://github.com/Gourieff/ComfyUI-ReActor/issues/87
    Scene("bert-of-tensorflow-beside-keras-3", "B", "tensorflow", by_run, then(program(CLASSIFIES), installs("transformers==4.51.3"), installs("--no-deps", "tf-keras==2.20.1"), lacks("tf-keras")), BROKEN, "", "tf-keras", "Keras 3"),
    # https://github.com/scikit-image/scikit-image/issues/7445
    Scene("pictures-of-before-numpy-2", "B", "torch-2.6", by_run, then(program(MEASURES), installs("scikit-image==0.22.0", "scipy==1.13.1", "numpy==1.26.4"), installs("--no-deps", "numpy==2.2.6")), ("numpy_abi_mismatch", *UNFIT), "", "scikit", "numpy.dtype size changed"),
    # https://github.com/EvilBT/ComfyUI_SLK_joy_caption_two/issues/177
    Scene("peft-with-the-accelerate-of-before", "B", "hub", by_run, then(program(ADAPTS), installs("peft==0.17.1"), installs("--no-deps", "accelerate==0.31.0")), BROKEN, "", "accelerate", "clear_device_cache"),
    # https://github.com/google/flax/pull/3823, https://github.com/waymo-research/waymax/pull/77: JAX was upgraded alone
    Scene("flax-of-before-jax-0-6", "B", "jax", by_run, then(program(NETWORK), installs("flax==0.11.2"), installs("--no-deps", "flax==0.8.2")), BROKEN, "", "flax", "flax"),
    # === C: Python finds another file
    # https://github.com/openai/CLIP/issues/329, https://github.com/rom1504/clip-retrieval/issues/382: pip install clip
    Scene("clip-that-is-another-project", "C", "torch-2.6", by_run, then(program(SCORES), clones("CLIP", CLIP), installs("clip==0.2.0")), OTHERS, "", "clip", "has no attribute 'available_models'"),
    # https://github.com/huggingface/datasets/issues/6553
    Scene("project-with-its-own-datasets", "C", "hub", by_run, then(program(LEARNS), writes(DATASETS)), SHADOWED, "", "datasets", "cannot import name"),
    # keys for a service, in a file beside the program; NumPy asks the standard library for its own
    Scene("keys-in-a-file-named-secrets-py", "C", "hub", by_run, then(program(LEARNS), writes({"work/secrets.py": "OPENAI_API_KEY = 'none'\nHF_TOKEN = 'none'\n"})), SHADOWED, "", "secrets.py", "secrets"),
    # a clone that PYTHONPATH has named since the day of a patch
    Scene("transformers-of-a-folder-in-pythonpath", "C", "hub", by_run, then(program(GENERATES), layered("src/patched", "--no-deps", "transformers==4.38.2"), sets(PYTHONPATH="{home}/src/patched")), OTHERS, "", "src/patched", "tokenizers"),
    # python main.py in the root of a clone of JAX, whose sources are newer than the jaxlib that is installed
    Scene("program-in-a-clone-of-jax", "C", "jax", by_run, then(program(JAX), clone_of_jax, layered("work", "--no-deps", "jax==0.8.1"), without_metadata("work")), OTHERS, "", "jaxlib", "jaxlib"),
    # === D: started in another way
    # https://github.com/huggingface/accelerate/issues/3237, https://github.com/conda/conda/issues/8072: .bashrc leaves at once
    Scene("batch-script-that-sources-bashrc", "D", "hub", by_batch, then(program(GENERATES), links("env", ENVIRONMENT), writes({".bashrc": PATHS, "work/train.sbatch": f"{JOB}source ~/.bashrc\n\naccelerate launch --cpu main.py\n"})), ELSEWHERE, "", "train.sbatch", "accelerate: command not found"),
    # https://github.com/Unitech/pm2/issues/5050, https://github.com/Unitech/pm2/issues/5119
    Scene("program-of-pm2-with-a-bare-python", "D", "tensorflow", by_pm2, then(program(LAYERS), links("env", "work/.venv"), writes(ecosystem("python3"))), ELSEWHERE, "", "ecosystem.config.js", "No module named 'tensorflow'"),
    # https://github.com/actions/starter-workflows/issues/2353: each step has a shell of its own
    Scene("workflow-that-activates-in-a-step-of-its-own", "D", "torch-2.6", by_workflow, then(program(RUNS), links("env", "work/.venv"), writes(workflow(("Activate", "source .venv/bin/activate"), ("Train", "python3 main.py")))), ELSEWHERE, "", "train.yml", "No module named 'torch'"),
    # https://github.com/mtgrosser/passenger-systemd/issues/2, https://github.com/conda/conda/issues/8072
    Scene("service-that-sources-bashrc", "D", "ctranslate2", by_unit, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({".bashrc": f"{UBUNTUS}{TOOLKIT}", UNIT: unit_text("WorkingDirectory=%h/work\n", '/bin/bash -c "source %h/.bashrc && exec {env}/bin/python main.py"')})), NOT_SEARCHED, "", "subtitles.service", "libcublas.so.12"),
    # an activated environment, and the first line of the program asks for another Python
    Scene("program-whose-first-line-names-the-systems-python", "D", "torch-2.8", by_script, then(program(RUNS, "#!/usr/bin/python3"), executable, links("env", "work/.venv"), writes({"work/run.sh": "#!/bin/bash\ncd {home}/work\nsource .venv/bin/activate\n./main.py\n"})), ELSEWHERE, "", "main.py", "No module named 'torch'"),
    # === E: variables
    # https://github.com/keras-team/keras/issues/18955: what another project of the person's wants
    Scene("keras-for-a-torch-that-is-not-there", "E", "tensorflow", by_run, then(program(KERAS), sets(KERAS_BACKEND="torch")), (*VALUE, *BROKEN), "", "KERAS_BACKEND", "No module named 'torch'"),
    # a mirror's bare name, as a browser would take it
    Scene("mirror-of-the-hub-by-its-bare-name", "E", "hub", by_run, then(program(ASKS), sets(HF_ENDPOINT="hf-mirror.com")), VALUE, "", "HF_ENDPOINT", "No scheme supplied"),
    # the word for other logs
    Scene("distributed-with-the-word-debug", "E", "torch-2.8", by_run, then(program(GATHERS), sets(TORCH_DISTRIBUTED_DEBUG="DEBUG", NCCL_DEBUG="INFO")), VALUE, "", "TORCH_DISTRIBUTED_DEBUG", "must be OFF, INFO, or DETAIL"),
    # https://github.com/wandb/wandb/issues/1488: the place of another distribution of Linux
    Scene("certificates-of-another-linux", "E", "hub", by_run, then(program(f"import torch\n{FETCHES}"), sets(REQUESTS_CA_BUNDLE="/etc/pki/tls/certs/ca-bundle.crt")), VALUE, "", "REQUESTS_CA_BUNDLE", "Could not find a suitable TLS CA certificate bundle"),
    # https://github.com/openai/grok/issues/40: a notebook of a machine with TPUs
    Scene("jax-for-the-machine-of-before", "E", "jax", by_run, then(program("import jax\n\njax.numpy.ones(2)"), sets(JAX_PLATFORMS="tpu,cpu")), VALUE, "", "JAX_PLATFORMS", "tpu"),
    # === odd, and healthy
    # faster-whisper brings what it needs of FFmpeg
    Scene("faster-whisper-without-ffmpeg", "healthy", "ctranslate2", by_run, then(program(DECODES), installs("faster-whisper==1.2.1", "setuptools==80.9.0"), voice)),
    Scene("soundfile-of-its-wheel-in-a-slim-image", "healthy", "torch-2.6", by_run, then(program(READS), installs("soundfile==0.13.1"), voice, without_system("libsndfile.so*"))),
    Scene("eager-step-in-an-image-without-a-compiler", "healthy", "torch-2.8", by_run, then(program(COMPILES_EAGERLY), without_command("g++"))),
    # jax[cuda12-local], as the manual calls it
    Scene("jax-plugin-with-a-local-toolkit", "healthy", "jax", SPARSE, then(program(JAX), lacks(*OF_CUDA), toolkit_of("jax", "cuda-12.8"), SETS)),
    # pip check names opencv-python, and cv2 is there
    Scene("yolo-with-headless-opencv", "healthy", "torch-2.8", by_run, then(program(DETECTS), installs(*FOR_YOLO, "opencv-python==4.12.0.88"), lacks("opencv-python"), installs("--no-deps", "opencv-python-headless==4.12.0.88"), without_system("libGL.so*", "libGLX.so*", "libOpenGL.so*"))),
    Scene("sentences-of-after-the-hub-0-26", "healthy", "hub", by_run, then(program(EMBEDS), installs("sentence-transformers==4.1.0"))),
    Scene("bert-of-tensorflow-with-keras-2-beside", "healthy", "tensorflow", by_run, then(program(CLASSIFIES), installs("transformers==4.51.3"), installs("--no-deps", "tf-keras==2.20.1"))),
    # files of a data set, and no package
    Scene("project-with-a-folder-of-datasets", "healthy", "hub", by_run, then(program(LEARNS), writes({"work/datasets/train.jsonl": "{}\n", "work/datasets/prepare.py": "import json\n", "work/datasets/README.md": "# Data\n"}))),
    Scene("keys-in-a-folder-named-secrets", "healthy", "hub", by_run, then(program(LEARNS), writes({"work/secrets/hf_token.txt": "none\n", "work/.streamlit/secrets.toml": "HF_TOKEN = 'none'\n", "work/my_secrets.py": "HF_TOKEN = 'none'\n"}))),
    Scene("clone-of-transformers-beside-the-program", "healthy", "hub", by_run, then(program(GENERATES), writes(CLONE))),
    Scene("workflow-that-adds-to-the-path", "healthy", "torch-2.6", by_workflow, then(program(RUNS), links("env", "work/.venv"), writes(workflow(("Environment", 'source .venv/bin/activate\necho "$PWD/.venv/bin" >> "$GITHUB_PATH"'), ("Train", "python3 main.py"))))),
    Scene("service-that-sources-a-file-of-its-own", "healthy", "ctranslate2", by_unit, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({".bashrc": f"{UBUNTUS}{TOOLKIT}", "work/env.sh": TOOLKIT, UNIT: unit_text("WorkingDirectory=%h/work\n", '/bin/bash -c "source %h/work/env.sh && exec {env}/bin/python main.py"')}))),
    Scene("batch-script-of-accelerate-with-a-path", "healthy", "hub", by_batch, then(program(GENERATES), links("env", ENVIRONMENT), writes({".bashrc": PATHS, "work/train.sbatch": f'{JOB}source ~/.bashrc\nexport PATH="$HOME/{ENVIRONMENT}/bin:$PATH"\n\naccelerate launch --cpu main.py\n'}))),
    Scene("keras-for-jax-without-tensorflow", "healthy", "jax", by_run, then(program(KERAS), installs("keras==3.11.3"), sets(KERAS_BACKEND="jax"))),
    # a mirror of the company's, and the word for more logs in small letters
    Scene("mirror-of-the-hub-by-its-address", "healthy", "hub", by_run, then(program(f"{GATHERS}\n\n{ASKS}"), sets(HF_ENDPOINT="http://127.0.0.1:9", TORCH_DISTRIBUTED_DEBUG="detail", HF_HUB_DISABLE_TELEMETRY="1"))),
)  # fmt: skip
