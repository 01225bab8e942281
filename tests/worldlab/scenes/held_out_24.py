"""The twenty-fourth held-out set, classes A to E: faults as common as they are in the field, a sixth draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the five before it it takes what
people report most, whether an earlier set has it or not. Above each row: the thread that it is made from, or what people do.
The last step of each fault's plant is the fault, and without it the real program works, or a twin does
(Tesseract, which this machine has not; torchtext, which has no release for this PyTorch, apart).
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, lacks, runs, then
from tests.worldlab.scenes.held_out_8 import sets, writes
from tests.worldlab.scenes.held_out_15 import by_run, by_script
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_17_machines import UBUNTUS, of_a_colleague, script, toolkit_of
from tests.worldlab.scenes.held_out_19_machines import built_without, crontab
from tests.worldlab.scenes.held_out_20_machines import by_cron, links
from tests.worldlab.scenes.held_out_23_machines import by_image, keeps_model
from tests.worldlab.scenes.held_out_24_machines import (
    EVALUATES,
    MAILS,
    PROFILE,
    SEARCHES,
    TESSERACT,
    by_ipython,
    by_supervisor,
    clone_of_torch,
    image_of_uv,
    keeps_pieces,
    notebook_that,
    supervised,
)
from tests.worldlab.scenes.starters import program

# --- what the real programs do ------------------------------------------------------------------------------------------

READS = "import torch\nimport pytesseract\nfrom PIL import Image\n\nprint(pytesseract.image_to_string(Image.new('RGB', (80, 30), 'white')))"
READS_BY_PATH = READS.replace(
    "\n\n", "\n\npytesseract.pytesseract.tesseract_cmd = '{home}/tesseract/bin/tesseract'\n", 1
)
CLASSIFIES = "import torch\nimport torchvision\n\ntorchvision.models.resnet18(weights=None)"
SPLITS = "import torch\nfrom transformers import T5Tokenizer\n\nprint(T5Tokenizer.from_pretrained('model').tokenize('a cat'))"
SPLITS_FAST = "import torch\nfrom transformers import AutoTokenizer\n\nAutoTokenizer.from_pretrained('model')"
CHOOSES = "import torch\nfrom tkinter import Tk, filedialog\n\nfiledialog.askdirectory"
GENERATES = "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer"
COUNTS = (
    "import torch\nfrom torchtext.vocab import build_vocab_from_iterator\n\nbuild_vocab_from_iterator([['a', 'b']])"
)
AUGMENTS = "import torch\nimport imgaug.augmenters as iaa\n\niaa.Fliplr(0.5)"
LOGS = "import torch\nfrom tensorboardX import SummaryWriter\n\nSummaryWriter('runs').add_scalar('loss', 0.5, 1)"
ASKS = "import torch\nfrom openai import OpenAI\n\nOpenAI(api_key='none', base_url='http://127.0.0.1:8000/v1')"
SCORES = "import torch\nimport evaluate\nfrom transformers import Trainer, TrainingArguments\n\nevaluate.load\nevaluate.combine"
WRITES = "import torch\nfrom docx import Document\n\nDocument().add_paragraph('text')"
LAYERS = "import tensorflow as tf\n\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
TRACKS = "import torch\nimport wandb\n\nrun = wandb.init(project='captions')\nrun.log({'loss': 0.5})\nrun.finish()"
GATHERS = (
    "import torch\nimport torch.distributed as dist\n\ndist.init_process_group('gloo')\nprint(dist.get_world_size())"
)
COMPILES = (
    "import torch\n\n\n@torch.compile\ndef step(x):\n    return torch.sin(x) + torch.cos(x)\n\n\nstep(torch.ones(64))"
)
SPEEDS = "import torch\nfrom accelerate import Accelerator\n\naccelerator = Accelerator(cpu=True)\naccelerator.prepare(torch.nn.Linear(2, 2))"
CUDNN = runs(
    "import jax_plugins.xla_cuda12 as p\n"
    "p._import_extensions()\n"
    "p._load_nvidia_libraries()\n"
    "try:\n    print(p.cuda_versions.cudnn_get_version())\n"
    "except RuntimeError as e:\n    raise SystemExit(f'Unable to load cuDNN. Is it installed? {e}')"
)
"""What JAX's plug-in does before it makes a client."""

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
TOOLS = ("build_tools_missing", "system_library_missing")
SHADOWED = ("module_shadowed",)
OTHERS = (*SHADOWED, *BROKEN, "duplicate_framework_packages")
VALUE = ("variable_value_wrong",)
UNFIT = ("extension_abi_mismatch", *BROKEN)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override", "cuda_runtime_missing")  # fmt: skip

TOOLKIT = "export LD_LIBRARY_PATH=$HOME/cuda-12.8/lib64\n"
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
NIGHTLY = '30 2 * * * bash -lc "cd {home}/work && {env}/bin/python main.py"'
RANKS = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}
SETUP = {"work/setup.sh": "#!/bin/bash\nexport TOKENIZERS_PARALLELISM=false\nsource .venv/bin/activate\n"}

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/Unstructured-IO/unstructured/issues/3290, https://github.com/madmaze/pytesseract/issues/342
    Scene("pages-in-an-image-without-tesseract", "A", "torch-2.6", by_run, then(program(READS), installs("pytesseract==0.3.13", "pillow==11.3.0")), (*TOOLS, *BROKEN), "", "tesseract", "tesseract is not installed"),
    # https://github.com/pinokiocomputer/pinokio/issues/193, https://github.com/opendatalab/MinerU/issues/419
    Scene("torch-without-nccl", "A", "torch-2.6", by_run, then(program(CLASSIFIES), lacks("nvidia-nccl-cu12")), ("cuda_runtime_missing", *BROKEN), "torch", "nccl", "libnccl.so.2"),
    # https://github.com/ChasonShi/MELoRA/issues/4, https://github.com/kijai/ComfyUI-ELLA-wrapper/issues/4
    Scene("t5-without-sentencepiece", "A", "hub", by_run, then(program(SPLITS), installs("sentencepiece==0.2.0"), keeps_pieces, lacks("sentencepiece")), BROKEN, "", "sentencepiece", "requires the SentencePiece library"),
    # https://github.com/bmaltais/kohya_ss/issues/873
    Scene("chooser-of-folders-without-tk", "A", "torch-2.6", by_run, then(program(CHOOSES), built_without("_tkinter")), ("python_environment_broken", *TOOLS), "", "tkinter", "No module named '_tkinter'"),
    # https://github.com/jax-ml/jax/issues/20519
    Scene("jax-without-cudnn", "A", "jax", CUDNN, then(program("import jax\n\njax.numpy.ones(2)"), lacks("nvidia-cudnn-cu12")), ("cudnn_not_installed", "cuda_runtime_missing", *BROKEN), "", "cudnn", "Unable to load cuDNN"),
    # === B: all files are there, and do not fit
    # https://github.com/oobabooga/textgen/issues/2805: another project wanted other tokenizers
    Scene("transformers-with-newer-tokenizers", "B", "hub", by_run, then(program(GENERATES), installs("--no-deps", "tokenizers==0.22.1")), BROKEN, "", "tokenizers", "is required for a normal functioning of this module"),
    # https://github.com/pytorch/text/issues/2272, https://github.com/pytorch/text/issues/2288
    Scene("torchtext-after-its-last-release", "B", "torch-2.6", by_run, then(program(COUNTS), installs("torchtext==0.18.0", "torch==2.6.0")), UNFIT, "", "torchtext", "undefined symbol"),
    # https://github.com/aleju/imgaug/issues/859, https://github.com/microsoft/OmniParser/issues/172
    Scene("imgaug-of-before-numpy-2", "B", "torch-2.6", by_run, then(program(AUGMENTS), installs("imgaug==0.4.0", "numpy==1.26.4", "scikit-image==0.25.2", "opencv-python-headless==4.11.0.86", "scipy==1.15.3", "shapely==2.0.7"), installs("--no-deps", "numpy==2.2.6")), ("numpy_abi_mismatch", *BROKEN), "", "imgaug", "sctypes"),
    # https://github.com/lanpa/tensorboardX/issues/663
    Scene("tensorboardx-of-before-protobuf-4", "B", "torch-2.6", by_run, then(program(LOGS), installs("tensorboardX==2.5.1", "protobuf==3.20.1"), installs("--no-deps", "protobuf==4.25.8")), BROKEN, "", "protobuf", "Descriptors cannot be created directly"),
    # https://github.com/anthropics/anthropic-sdk-python/issues/767, https://github.com/platisd/openai-pr-description/issues/9
    Scene("openai-of-before-httpx-0-28", "B", "torch-2.6", by_run, then(program(ASKS), installs("openai==1.54.4", "httpx==0.27.2"), installs("httpx==0.28.1")), BROKEN, "", "httpx", "unexpected keyword argument 'proxies'"),
    # === C: Python finds another file
    # https://github.com/python-openxml/python-docx/issues/1230, https://github.com/wangxb96/RAG-QA-Generator/issues/7: pip install docx
    Scene("docx-that-is-another-project", "C", "torch-2.6", by_run, then(program(WRITES), installs("python-docx==1.2.0"), then(lacks("python-docx"), installs("docx==0.2.4"))), OTHERS, "", "docx", "No module named 'exceptions'"),
    # https://github.com/huggingface/evaluate/issues/609
    Scene("program-beside-its-evaluate-py", "C", "hub", by_run, then(program(SCORES), installs("evaluate==0.4.5"), writes({"work/evaluate.py": EVALUATES})), SHADOWED, "", "evaluate.py", "has no attribute 'load'"),
    # https://github.com/pytorch/pytorch/issues/62470, https://github.com/paperswithcode/galai/issues/43
    Scene("program-in-a-clone-of-torch", "C", "torch-2.6", by_run, then(program(CLASSIFIES), clone_of_torch), (*SHADOWED, *BROKEN), "", "work/torch", "torch.version"),
    # https://github.com/quantumlib/Cirq/issues/2449
    Scene("project-with-a-package-google", "C", "tensorflow", by_run, then(program(LAYERS), writes({**SEARCHES, "work/google/__init__.py": ""})), SHADOWED, "", "google", "google.protobuf"),
    # https://github.com/tomitokko/20-python-projects/issues/15, https://github.com/prefect-archive/prefect-email/issues/61
    Scene("mails-by-email-py", "C", "hub", by_run, then(program(GENERATES), writes(MAILS)), SHADOWED, "", "email.py", "'email' is not a package"),
    # === D: started in another way
    # https://github.com/Supervisor/supervisor/issues/1318, https://github.com/Supervisor/supervisor/issues/632
    Scene("captions-under-supervisor-by-a-bare-name", "D", "torch-2.6", by_supervisor, then(program(CLASSIFIES), links("env", "work/.venv"), supervised("python3 main.py")), ELSEWHERE, "", "supervisord.conf", "No module named 'torch'"),
    # a script that another script runs, and does not source
    Scene("script-that-runs-its-activation", "D", "hub", by_script, then(program(GENERATES), links("env", "work/.venv"), writes({**SETUP, **script("bash setup.sh\npython3 main.py")})), ELSEWHERE, "", "run.sh", "No module named 'torch'"),
    # https://github.com/astral-sh/uv/issues/8342
    Scene("image-of-uv-with-the-images-python", "D", "torch-2.6", by_image, then(program(CLASSIFIES), links("env", "work/.venv"), writes(image_of_uv('["python3", "main.py"]'))), ELSEWHERE, "", "Dockerfile", "No module named 'torch'"),
    # https://zwischenzugs.com/2019/02/27/bash-startup-explained/: bash -l reads .profile, which reads .bashrc, which leaves at once
    Scene("job-of-cron-by-a-login-shell", "D", "onnxruntime-1.23", by_cron, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes({".profile": PROFILE, ".bashrc": UBUNTUS + TOOLKIT, **crontab(NIGHTLY)})), NOT_SEARCHED, "", "crontab", "cannot open shared object file"),
    # https://github.com/jupyter/notebook/issues/5054, and !python in a cell: the first Python of PATH, not the kernel's
    Scene("notebook-that-starts-a-program-by-the-shell", "D", "torch-2.6", by_ipython, then(installs("ipykernel==6.30.1"), writes(notebook_that("import torch", "!python3 train.py --epochs 3"), "work")), ELSEWHERE, "", "train.ipynb", "No module named 'torch'"),
    # === E: variables
    # https://github.com/harubaru/waifu-diffusion/pull/45, https://github.com/wandb/wandb/issues/9134
    Scene("wandb-that-is-enabled", "E", "torch-2.6", by_run, then(program(TRACKS), installs("wandb==0.22.2"), sets(WANDB_MODE="disabled"), sets(WANDB_MODE="enabled")), VALUE, "", "WANDB_MODE", "online"),
    # https://github.com/NVIDIA/apex/issues/99, https://github.com/Junda24/AFNet/issues/15
    Scene("ranks-without-an-address", "E", "torch-2.8", by_run, then(program(GATHERS), sets(**RANKS)), (*VALUE, "process_env_not_inherited"), "", "MASTER_ADDR", "MASTER_ADDR expected, but not set"),
    # https://github.com/opendatahub-io/ilab-on-ocp/pull/26: what torch.compile makes is kept where a colleague alone may write
    Scene("compiled-steps-in-the-folder-of-a-colleague", "E", "torch-2.8", by_run, then(program(COMPILES), sets(TORCHINDUCTOR_CACHE_DIR="{home}/scratch/inductor"), of_a_colleague("scratch/inductor")), VALUE, "", "TORCHINDUCTOR_CACHE_DIR", "Permission denied"),
    # a line of .bashrc for another project: ``accelerate launch`` sets it, and here it stays
    Scene("accelerate-for-a-deepspeed-that-is-not-there", "E", "hub", by_run, then(program(SPEEDS), sets(ACCELERATE_USE_DEEPSPEED="true")), (*VALUE, *BROKEN), "", "ACCELERATE_USE_DEEPSPEED", "DeepSpeed is not installed"),
    # the logs of torch.compile, each in the singular
    Scene("logs-of-torch-in-the-singular", "E", "torch-2.8", by_run, then(program(CLASSIFIES), sets(TORCH_LOGS="graph_breaks,recompiles"), sets(TORCH_LOGS="graph_break,recompile")), VALUE, "", "TORCH_LOGS", "nvalid log setting"),
    # === odd, and healthy
    # https://github.com/openalpr/train-ocr/issues/31
    Scene("pages-with-a-tesseract-of-ones-own", "healthy", "torch-2.6", by_run, then(program(READS_BY_PATH), installs("pytesseract==0.3.13", "pillow==11.3.0"), writes(TESSERACT, mode=0o755))),
    Scene("python-built-without-sqlite", "healthy", "torch-2.6", by_run, then(program(CLASSIFIES), built_without("_sqlite3"))),
    # https://github.com/Stability-AI/stable-audio-tools/issues/177: a fast tokenizer needs no SentencePiece
    Scene("fast-tokenizer-without-sentencepiece", "healthy", "hub", by_run, then(program(SPLITS_FAST), keeps_model)),
    Scene("openai-of-after-httpx-0-28", "healthy", "torch-2.6", by_run, then(program(ASKS), installs("openai==1.55.3", "httpx==0.28.1"))),
    Scene("docx-of-python-docx", "healthy", "torch-2.6", by_run, then(program(WRITES), installs("python-docx==1.2.0"))),
    Scene("program-beside-its-scripts-evaluate-py", "healthy", "hub", by_run, then(program(SCORES), installs("evaluate==0.4.5"), writes({"work/scripts/evaluate.py": EVALUATES, "work/evaluate.sh": "#!/bin/bash\npython scripts/evaluate.py\n"}))),
    Scene("program-in-a-folder-of-a-clone-of-torch", "healthy", "torch-2.6", by_run, then(program(CLASSIFIES), clone_of_torch, writes({"work/tools/main.py": f"{CLASSIFIES}\nprint('this works')\n"}, "work/tools"))),
    # a folder without an __init__.py is one more part of the namespace
    Scene("project-with-a-folder-google", "healthy", "tensorflow", by_run, then(program(LAYERS), writes(SEARCHES))),
    Scene("captions-under-supervisor-by-a-whole-path", "healthy", "torch-2.6", by_supervisor, then(program(CLASSIFIES), links("env", "work/.venv"), supervised("{home}/work/.venv/bin/python main.py"))),
    Scene("script-that-sources-its-activation", "healthy", "hub", by_script, then(program(GENERATES), links("env", "work/.venv"), writes({**SETUP, **script("source ./setup.sh\npython3 main.py")}))),
    Scene("image-of-uv-with-the-environments-python", "healthy", "torch-2.6", by_image, then(program(CLASSIFIES), links("env", "work/.venv"), writes(image_of_uv('[".venv/bin/python", "main.py"]')))),
    Scene("job-of-cron-by-a-login-shell-with-a-profile", "healthy", "onnxruntime-1.23", by_cron, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes({".profile": PROFILE + TOOLKIT, ".bashrc": UBUNTUS, **crontab(NIGHTLY)}))),
    Scene("notebook-that-starts-a-program-by-its-own-python", "healthy", "torch-2.6", by_ipython, then(installs("ipykernel==6.30.1"), writes(notebook_that("import sys", "!{sys.executable} train.py --epochs 3"), "work"))),
    Scene("wandb-that-is-disabled", "healthy", "torch-2.6", by_run, then(program(TRACKS), installs("wandb==0.22.2"), sets(WANDB_MODE="disabled"))),
    Scene("ranks-with-an-address", "healthy", "torch-2.8", by_run, then(program(GATHERS), sets(**RANKS, MASTER_ADDR="localhost", MASTER_PORT="29517"))),
)  # fmt: skip
