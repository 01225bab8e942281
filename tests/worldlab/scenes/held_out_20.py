"""The twentieth held-out set, classes A to E: faults as common as they are in the field, a second draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the nineteenth it takes what people
report most, whether an earlier set has it or not. Above each row: the thread that it is made from, or what people do. The last
step of each fault's plant is the fault, and without it the real program works; FFmpeg and the toolkit for kernels apart, which
this machine has not.
"""

from __future__ import annotations

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Scene, installs, lacks, then
from tests.worldlab.scenes.healthy import as_conda
from tests.worldlab.scenes.held_out_8 import JAX, ONES, layered, moves, searches, sets, without_system, writes
from tests.worldlab.scenes.held_out_15 import BLAS, SBATCH, by_batch, by_run
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_17_machines import (
    KERNELS,
    UBUNTUS,
    activated,
    by_name,
    by_notebook,
    by_setup,
    by_sudo,
    by_uv,
    notebook,
    toolkit_of,
)
from tests.worldlab.scenes.held_out_18_machines import clones
from tests.worldlab.scenes.held_out_19_machines import crontab
from tests.worldlab.scenes.held_out_20_machines import COMFY, CONDAS, SEGMENTS, by_cron, by_service, links
from tests.worldlab.scenes.starters import program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

SEES = "import torch, cv2\ncv2.resize(torch.zeros(8, 8).numpy(), (4, 4))"
HEARS = "import torch\nfrom torchcodec.decoders import AudioDecoder"
RESAMPLES = "import torch, torchaudio\ntorchaudio.transforms.Resample(44100, 16000)(torch.zeros(1, 44100))"
COMPILES = "import cupy\nfrom cupy_backends.cuda.libs import nvrtc\nprint('NVRTC', nvrtc.getVersion())"
"""What CuPy asks before its first kernel."""
INTERFACE = "import torch\nimport gradio as gr\n\ngr.Interface(fn=lambda x: x, inputs='text', outputs='text')"
ADAPTS = "import torch\nfrom peft import LoraConfig, get_peft_model\n\nget_peft_model(torch.nn.Sequential(torch.nn.Linear(2, 2)), LoraConfig(target_modules=['0']))"
GENERATES = "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer"
TRAINS = "import torch\nimport pytorch_lightning as pl\n\npl.Trainer(accelerator='cpu', logger=False, enable_checkpointing=False)"
TRANSCRIBES = (
    "from faster_whisper import WhisperModel\n\nprint(WhisperModel.transcribe)\nprint('this works', flush=True)\n"
)
SESSION = "import onnxruntime as ort\n\nort.InferenceSession\nort.get_available_providers()"
SEGMENTED = "import torch\nfrom segment_anything import build_sam\n\nbuild_sam()"
NETWORK = "import tensorflow as tf\n\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
CONVOLVES = "import torch\n\ntorch.backends.cudnn.benchmark = True\nprint('cuDNN', torch.backends.cudnn.version())"
PLOTS = "import torch\nimport matplotlib.pyplot as plt\n\nplt.plot(torch.arange(3).numpy())\nplt.savefig('loss.png')"
LEARNS = (
    "from datasets import Dataset, load_dataset\n\nDataset.from_dict({'a': [1, 2]}).map(lambda row: {'b': row['a']})"
)

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
SYSTEM = ("system_library_missing",)
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
LOST = ("corrupt_or_truncated_file", "installation_interrupted")
UNFIT = ("extension_abi_mismatch", *BROKEN)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip
OVERRIDE = ("ld_library_path_override", "cudnn_shadowed", "cudnn_minor_too_old", "mixed_cudnn_sublibraries", "cuda_lib_shadowed")  # fmt: skip

NVIDIAS = tuple(
    f"nvidia-{name}-cu12"
    for name in (
        *("cublas", "cuda-cupti", "cuda-nvrtc", "cuda-runtime", "cudnn", "cufft", "curand"),
        *("cusolver", "cusparse", "cusparselt", "nccl", "nvjitlink", "nvtx"),
    )
)
"""What PyTorch's wheel of CUDA 12 asks for."""
UNIT = ".config/systemd/user/whisper.service"
SERVICE = unit_text("WorkingDirectory=%h/work\nEnvironmentFile=%h/work/whisper.env\n")
TOOLKIT = "LD_LIBRARY_PATH={home}/cuda-12.8/lib64"
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
PERSONS = f".local/lib/python{VERSION}/site-packages"
USERS = then(links("env", "miniconda3/envs/ml"), writes({".bashrc": f"{UBUNTUS}{CONDAS}"}))
JOB = f"{SBATCH.replace('#SBATCH --export=NONE' + chr(10), '').replace('set -e' + chr(10), '')}module load cuda/12.4\n"
SOCKS = {"http_proxy": "http://127.0.0.1:7890", "https_proxy": "http://127.0.0.1:7890"}
LIGHTNING = installs("setuptools==80.9.0", "pytorch-lightning==1.9.5")

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/linuxserver/docker-faster-whisper/issues/42: CTranslate2 of after 4.5, and the cuDNN that the manual named before
    Scene("whisper-with-the-cudnn-of-before", "A", "ctranslate2", by_run, then(program(BLAS), searches, installs("--no-deps", "nvidia-cudnn-cu12==8.9.7.29")), ("cudnn_major_mismatch", "cudnn_not_installed", *BROKEN), "", "cudnn", "libcudnn.so.9"),
    # https://github.com/pytorch/pytorch/issues/100974: a lock file without what the wheel asks for
    Scene("torch-locked-without-nvidias-packages", "A", "torch-2.6", by_run, then(program(ONES), lacks(*NVIDIAS)), ("cuda_runtime_missing", *BROKEN), "torch", "libcu", "libcublas"),
    # containers with OpenCV: after libgl1 comes libglib2.0-0
    Scene("opencv-in-an-image-without-glib", "A", "torch-2.8", by_run, then(program(SEES), installs("--no-deps", "opencv-python==4.11.0.86"), without_system("libgthread-2.0.so*")), SYSTEM, "", "libgthread-2.0.so.0", "libgthread-2.0.so.0"),
    # https://github.com/meta-pytorch/torchcodec/issues/1023, https://github.com/huggingface/datasets/issues/7707
    Scene("torchcodec-in-an-image-without-ffmpeg", "A", "torch-2.8", by_run, then(program(HEARS), installs("--no-deps", "torchcodec==0.7.0"), without_system("libavcodec.so*", "libavutil.so*")), SYSTEM, "", "libav", "Could not load libtorchcodec"),
    # pip install cupy-cuda12x on a machine with a driver alone
    Scene("cupy-with-a-driver-alone", "A", "cupy-alone", by_run, program(COMPILES), ("cuda_runtime_missing", "nvrtc_missing_or_mismatch"), "", "nvrtc", "libnvrtc.so.12"),
    # === B: all files are there, and do not fit
    # https://github.com/Zeyi-Lin/HivisionIDPhotos/issues/281: Gradio 4, and the newest client of the Hub
    Scene("gradio-4-and-the-hub-of-1", "B", "torch-2.6", by_run, then(program(INTERFACE), installs("gradio==4.44.1", "huggingface_hub==0.36.2", "pydantic==2.10.6"), installs("huggingface_hub==1.3.0")), BROKEN, "", "huggingface", "HfFolder"),
    # https://github.com/huggingface/peft/issues/3333: Transformers of the next major release, and PEFT as it was
    Scene("peft-of-before-transformers-5", "B", "hub", by_run, then(program(ADAPTS), installs("peft==0.17.1"), installs("transformers==5.2.0")), BROKEN, "", "peft", "HybridCache"),
    # https://github.com/numz/ComfyUI-SeedVR2_VideoUpscaler/issues/368: Transformers imports scikit-learn where it is installed
    Scene("scikit-learn-of-before-numpy-2", "B", "hub", by_run, then(program(GENERATES), installs("numpy==1.26.4", "scipy==1.13.1", "scikit-learn==1.3.2"), installs("--no-deps", "numpy==2.2.6")), ("numpy_abi_mismatch", *UNFIT), "", "scikit", "numpy.dtype size changed"),
    # pip install -U torch torchvision, and torchaudio is as it was
    Scene("torchaudio-left-behind", "B", "torch-2.8", by_run, then(program(RESAMPLES), installs("--no-deps", "torchaudio==2.6.0")), UNFIT, "", "torchaudio", "undefined symbol"),
    # https://github.com/openvinotoolkit/nncf/pull/3903, and every repository that pins Lightning 1.9
    Scene("lightning-with-the-newest-setuptools", "B", "torch-2.6", by_run, then(program(TRAINS), LIGHTNING, installs("setuptools==84.2.1")), BROKEN, "", "pkg_resources", "No module named 'pkg_resources'"),
    # === C: Python finds another file
    # https://github.com/mem0ai/mem0/issues/88 and hundreds more: the example of the manual, in a file of the library's name
    Scene("script-named-after-faster-whisper", "C", "ctranslate2", by_name("faster_whisper.py"), then(searches, installs("faster-whisper==1.2.1"), writes({"work/faster_whisper.py": TRANSCRIBES}, "work")), SHADOWED, "", "faster_whisper.py", "partially initialized module"),
    # the exercise of another day in the same folder
    Scene("exercise-named-tokenize-py", "C", "hub", by_run, then(program(GENERATES), writes({"work/tokenize.py": "import re\n\n\ndef words(text):\n    return re.findall(r'\\w+', text.lower())\n\n\nif __name__ == '__main__':\n    print(words('The quick brown fox'))\n"})), SHADOWED, "", "tokenize.py", "tokenize"),
    # pip install --user before there was an environment, and conda's Python takes the person's own packages first
    Scene("conda-behind-tokenizers-of-the-person", "C", "hub", by_run, then(program(GENERATES), as_conda, layered(PERSONS, "--no-deps", "tokenizers==0.15.2")), (*SHADOWED, *BROKEN), "", ".local", "tokenizers"),
    # https://github.com/microsoft/onnxruntime/issues/3326, https://github.com/glucauze/sd-webui-faceswaplab/issues/124
    Scene("onnxruntime-after-its-twin-was-removed", "C", "onnxruntime-1.23", by_run, then(program(SESSION), searches, installs("--no-deps", "onnxruntime==1.23.2"), lacks("onnxruntime")), (*LOST, "duplicate_framework_packages", *SHADOWED), "", "onnxruntime", "has no attribute 'InferenceSession'"),
    # pip install -e ., and the clone is tidied away into another folder
    Scene("clone-that-was-moved-after-its-installation", "C", "torch-2.6", by_run, then(program(SEGMENTED), clones("segment-anything", SEGMENTS), moves("work/segment-anything", "repos/segment-anything")), (*LOST, "python_environment_broken", *BROKEN), "", "segment", "No module named 'segment_anything'"),
    # === D: started in another way
    # https://github.com/conda/conda/issues/9193: conda's function is one of the interactive shell
    Scene("batch-script-with-condas-activation", "D", "torch-2.8", by_batch, then(program(ONES), USERS, writes({"work/train.sbatch": f"{JOB}conda activate ml\n\npython3 main.py\n"})), ELSEWHERE, "", "train.sbatch", "No module named 'torch'"),
    # questions about cron, every week: /bin/sh knows no source
    Scene("job-of-cron-that-sources", "D", "tensorflow", by_cron, then(program(NETWORK), links("env", "work/.venv"), writes(crontab("0 3 * * * cd {home}/work; source .venv/bin/activate; python3 main.py"))), ELSEWHERE, "", "crontab", "No module named 'tensorflow'"),
    # https://github.com/systemd/systemd/issues/2836: a file of variables that a shell reads, too
    Scene("service-with-a-file-that-exports", "D", "ctranslate2", by_service, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({"work/whisper.env": f"export {TOOLKIT}\nexport WHISPER_MODEL=large-v3\n", UNIT: SERVICE})), (*NOT_SEARCHED, *VALUE), "", "whisper", "libcublas.so.12"),
    # sudo has a PATH of its own
    Scene("sudo-beside-an-activated-environment", "D", "onnxruntime-1.23", by_sudo, then(program(SESSION), activated, writes({"work/run.sh": "#!/bin/bash\n# port 80\ncd {home}/work\nsudo python3 main.py\n"})), ELSEWHERE, "", "run.sh", "No module named 'onnxruntime'"),
    # conda env remove, and the kernel that was registered from it stays
    Scene("kernel-of-an-environment-that-is-gone", "D", "jax", by_notebook, then(program(JAX), writes(notebook(JAX, dl="{home}/miniconda3/envs/dl/bin/python"))), (*ELSEWHERE, "python_environment_broken"), "", "kernels/dl", "No such file or directory"),
    # === E: variables
    # https://github.com/pytorch/pytorch/issues/80637, https://github.com/bmaltais/kohya_ss/issues/1096
    Scene("torch-behind-an-older-cudnn", "E", "torch-2.8", by_run, then(program(CONVOLVES), toolkit_of("torch-2.6", "cudnn-9.1", "cudnn"), sets(LD_LIBRARY_PATH="{home}/cudnn-9.1/lib64")), OVERRIDE, "", "LD_LIBRARY_PATH", "cuDNN version incompatibility"),
    # https://github.com/pinokiofactory/RMBG-2-Studio/issues/16
    Scene("gradio-behind-a-socks-proxy", "E", "torch-2.6", by_run, then(program(INTERFACE), installs("gradio==5.49.1"), sets(**SOCKS, all_proxy="socks5://127.0.0.1:7890")), (*VALUE, *BROKEN), "", "all_proxy", "socksio"),
    # https://github.com/oobabooga/textgen/issues/6783: a notebook starts a program in an environment of its own
    Scene("matplotlib-with-the-notebooks-backend", "E", "torch-2.6", by_run, then(program(PLOTS), installs("matplotlib==3.10.7"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline")), (*VALUE, *BROKEN), "", "MPLBACKEND", "is not a valid value for backend"),
    # the advice for Keras 2, without the package that it needs
    Scene("tensorflow-with-legacy-keras", "E", "tensorflow", by_run, then(program(NETWORK), sets(TF_USE_LEGACY_KERAS="1")), (*VALUE, *BROKEN), "", "TF_USE_LEGACY_KERAS", "keras"),
    # issues of every extension: the toolkit was upgraded, and .bashrc was not
    Scene("kernels-with-the-toolkit-of-before", "E", "torch-2.6", by_setup, then(installs("setuptools==80.9.0"), writes(KERNELS, "work"), sets(CUDA_HOME="/usr/local/cuda-11.8", PATH="/usr/local/cuda-11.8/bin:/usr/local/bin:/usr/bin:/bin")), ("cuda_path_env_wrong", *VALUE), "", "CUDA_HOME", "/usr/local/cuda-11.8/bin/nvcc"),
    # === odd, and healthy
    # what a person has in the home for conda's Python, too, and nothing of it is in the way
    Scene("conda-behind-tools-of-the-person", "healthy", "hub", by_run, then(program(GENERATES), as_conda, layered(PERSONS, "nvitop==1.6.0", "rich==14.1.0"))),
    # the whole toolkit of the release that PyTorch has as packages
    Scene("torch-behind-the-same-toolkit", "healthy", "torch-2.8", by_run, then(program(CONVOLVES), toolkit_of("torch-2.8", "cuda-12.8"), sets(CUDA_HOME="{home}/cuda-12.8", LD_LIBRARY_PATH="{home}/cuda-12.8/lib64:"))),
    # the proxy of a program for it, by HTTP
    Scene("gradio-behind-a-proxy", "healthy", "torch-2.6", by_run, then(program(INTERFACE), installs("gradio==5.49.1"), sets(**SOCKS, no_proxy="localhost,127.0.0.1,::1", GRADIO_ANALYTICS_ENABLED="False"))),
    # a server without a screen
    Scene("matplotlib-without-a-screen", "healthy", "torch-2.6", by_run, then(program(PLOTS), installs("matplotlib==3.10.7"), sets(MPLBACKEND="Agg"))),
    Scene("service-with-a-file-that-assigns", "healthy", "ctranslate2", by_service, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({"work/whisper.env": f"# for the service\n{TOOLKIT}\nWHISPER_MODEL=large-v3\n", UNIT: SERVICE}))),
    Scene("job-of-cron-by-bash", "healthy", "tensorflow", by_cron, then(program(NETWORK), links("env", "work/.venv"), writes(crontab("SHELL=/bin/bash", "0 3 * * * cd {home}/work; source .venv/bin/activate; python3 main.py")))),
    # module is not there on this machine, and the job goes on
    Scene("batch-script-with-a-path", "healthy", "torch-2.8", by_batch, then(program(ONES), USERS, writes({"work/train.sbatch": f"{JOB}export PATH=$HOME/miniconda3/envs/ml/bin:$PATH\n\npython3 main.py\n"}))),
    # two kernels, of which the one that nobody uses is dead
    Scene("notebook-beside-a-dead-kernel", "healthy", "jax", by_notebook, then(program(JAX), writes(notebook(JAX, jax="{env}/bin/python", old="{home}/miniconda3/envs/old/bin/python")))),
    # pip: datasets requires fsspec<=2025.3.0, but you have fsspec 2025.10.0 which is incompatible
    Scene("datasets-with-a-newer-fsspec", "healthy", "hub", by_run, then(program(LEARNS), installs("--no-deps", "fsspec==2025.10.0"))),
    Scene("clone-of-comfyui", "healthy", "torch-2.8", by_run, COMFY),
    # a project of uv's whose environment lies on another disk
    Scene("project-of-uv-with-a-linked-environment", "healthy", "torch-2.6", by_uv, then(program(ONES), links("env", "work/.venv"), writes({"work/pyproject.toml": '[project]\nname = "segments"\nversion = "0.1.0"\nrequires-python = ">=3.10"\ndependencies = ["torch>=2.5"]\n', "work/.python-version": "3.11\n", "work/run.sh": "#!/bin/bash\ncd {home}/work\nuv run --no-sync main.py\n"}))),
    # the variables of many a page about JAX and memory
    Scene("jax-with-the-usual-variables", "healthy", "jax", by_run, then(program(JAX), sets(XLA_PYTHON_CLIENT_ALLOCATOR="platform", XLA_PYTHON_CLIENT_PREALLOCATE="false", JAX_COMPILATION_CACHE_DIR="{home}/.cache/jax", JAX_TRACEBACK_FILTERING="off", TF_CPP_MIN_LOG_LEVEL="2", CUDA_DEVICE_ORDER="PCI_BUS_ID"))),
    Scene("tensorflow-with-legacy-keras-installed", "healthy", "tensorflow", by_run, then(program(NETWORK), installs("--no-deps", "tf-keras==2.20.1"), sets(TF_USE_LEGACY_KERAS="1"))),
    Scene("clone-that-stays-where-it-is", "healthy", "torch-2.6", by_run, then(program(SEGMENTED), clones("segment-anything", SEGMENTS))),
    # PYTHONPATH as every other manual adds to it, with a colon at its end
    Scene("onnxruntime-with-a-colon-in-pythonpath", "healthy", "onnxruntime-1.23", by_run, then(program(f"from insight import wrap\n\nwrap()\n{PROVIDER}"), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes({"work/src/insight/__init__.py": "import onnxruntime\n\n\ndef wrap():\n    return onnxruntime.get_device()\n"}), sets(PYTHONPATH="{home}/work/src:"))),
)  # fmt: skip
