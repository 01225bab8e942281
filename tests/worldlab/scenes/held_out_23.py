"""The twenty-third held-out set, classes A to E: faults as common as they are in the field, a fifth draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the four before it it takes what
people report most, whether an earlier set has it or not. Above each row: the thread that it is made from, or what people do.
The last step of each fault's plant is the fault, and without it the real program works, or a twin does
(FFmpeg, which this machine has not, and a file that is run as a script).
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, lacks, runs, then
from tests.worldlab.scenes.held_out_8 import layered, searches, sets, writes
from tests.worldlab.scenes.held_out_15 import BLAS, by_run, by_script
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_16_machines import voice
from tests.worldlab.scenes.held_out_17_machines import KERNELS, by_setup, script, toolkit_of
from tests.worldlab.scenes.held_out_19_machines import built_without, crontab
from tests.worldlab.scenes.held_out_20_machines import by_cron, links
from tests.worldlab.scenes.held_out_23_machines import (
    SERVER,
    by_image,
    by_jenkins,
    by_make,
    dockerfile,
    from_its_clone,
    jenkinsfile,
    keeps_model,
    knows_pytest,
    parent,
    tests,
    toolkit_with_nvcc,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

HEARS = "from datasets import Audio, Dataset\n\nsounds = Dataset.from_dict({'audio': ['voice.wav']}).cast_column('audio', Audio())\nprint(sounds[0]['audio'])"
HEARS_LATER = HEARS.replace("Audio())", "Audio(decode=False))")
LEARNS = "from datasets import Dataset, load_dataset\nfrom transformers import Trainer, TrainingArguments\n\nDataset.from_dict({'a': [1, 2]})"
CLASSIFIES = "import torch\nimport torchvision\n\ntorchvision.models.resnet18(weights=None)"
SPEAKS = "import torch\nfrom pydub import AudioSegment\n\nAudioSegment.silent(duration=500).export('answer.mp3', format='mp3')"
SPEAKS_PLAINLY = SPEAKS.replace("mp3", "wav")
FINDS = (
    "import onnxruntime as ort\n\n"
    "assert 'CUDAExecutionProvider' in ort.get_available_providers(), ort.get_available_providers()\n"
    "ort.InferenceSession"
)
BALANCES = "import torch\nfrom imblearn.over_sampling import SMOTE\n\nSMOTE(random_state=0)"
EMBEDS = "import tensorflow as tf\nimport tensorflow_hub as hub\n\nhub.KerasLayer"
HASTENS = "import torch\nfrom optimum.bettertransformer import BetterTransformer\n\nBetterTransformer.transform"
SPLITS = "import torch\nfrom transformers import AutoTokenizer\nfrom langchain.text_splitter import RecursiveCharacterTextSplitter\n\nRecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0).split_text('a b c')"
SPLITS_ANEW = SPLITS.replace("langchain.text_splitter", "langchain_text_splitters")
GENERATES = "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer"
LISTENS = "import torch\nimport whisper\n\nwhisper.load_model\nprint(whisper.available_models())"
DETECTS = "import torch\nfrom detectron2 import model_zoo\nfrom detectron2.engine import DefaultPredictor\n\nmodel_zoo.get_config_file"
ARRAYS = "import torch\nimport numpy as np\n\nprint(torch.from_numpy(np.zeros(2)))"
ASKS = "import torch\nimport ollama\n\nollama.Client"
PLOTS = "import torch\nimport matplotlib.pyplot as plt\n\nplt.plot(torch.arange(3).numpy())\nplt.savefig('loss.png')"
LOOKS_UP = (
    "import requests, torch\nfrom huggingface_hub import HfApi\n\n"
    "try:\n    HfApi().model_info('gpt2')\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""What a program asks the Hub; without a network it fails with an error of the network, which is right here."""
FROM_A_FOLDER = "import torch\nfrom transformers import AutoTokenizer\n\nAutoTokenizer.from_pretrained('model')"
COMPILES = (
    "import torch\n\n\n@torch.compile\ndef step(x):\n    return torch.sin(x) + torch.cos(x)\n\n\nstep(torch.ones(64))"
)
CUDNN = runs(
    "import jax_plugins.xla_cuda12 as p\n"
    "p._import_extensions()\n"
    "p._load_nvidia_libraries()\n"
    "there, built = p.cuda_versions.cudnn_get_version(), p.cuda_versions.cudnn_build_version()\n"
    "if there // 100 < built // 100:\n"
    "    raise SystemExit(f'Loaded runtime CuDNN library: {there} but source was compiled with: {built}')"
)
"""What XLA compares before its first use of cuDNN: the same major release, and no older minor one."""

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
TOOLS = ("build_tools_missing", "system_library_missing")
SHADOWED = ("module_shadowed",)
OTHERS = (*SHADOWED, *BROKEN, "duplicate_framework_packages")
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip
LACKS_CUDNN = ("cudnn_not_installed", "cuda_runtime_missing", *BROKEN)

UNIT = ".config/systemd/user/captions.service"
SERVICE = {UNIT: unit_text("WorkingDirectory=%h/work\n", "{env}/bin/python %h/work/app.py")}
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
GONE = "{home}/miniconda3/envs/whisper/lib/python3.10/site-packages/nvidia"
OF_3_10 = ".local/lib/python3.10/site-packages"
PROXY = {"http_proxy": "http://127.0.0.1:7890/", "https_proxy": "http://127.0.0.1:7890/", "no_proxy": "localhost,127.0.0.0/8,::1"}  # fmt: skip
FOR_WHISPER = installs("setuptools==80.9.0", "openai-whisper==20250625", "numba==0.61.2", "numpy==2.2.6")
BUILDS = then(installs("setuptools==80.9.0"), writes(KERNELS, "work"), toolkit_with_nvcc)

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/huggingface/datasets/pull/4028: pip install datasets, without its extra for sound
    Scene("sounds-without-the-extra-of-datasets", "A", "hub", by_run, then(program(HEARS), voice, installs("librosa==0.11.0", "soundfile==0.13.1", "numba==0.61.2", "numpy==2.2.6"), lacks("librosa")), BROKEN, "", "librosa", "To support decoding audio files"),
    # https://github.com/pyenv/pyenv/issues/2265, https://github.com/OpenMined/PySyft/issues/6936
    Scene("python-built-without-bzip2", "A", "hub", by_run, then(program(LEARNS), built_without("_bz2")), ("python_environment_broken", *TOOLS), "", "bz2", "No module named '_bz2'"),
    # https://github.com/pytorch/pytorch/issues/165812
    Scene("torch-without-cudnn", "A", "torch-2.8", by_run, then(program(CLASSIFIES), lacks("nvidia-cudnn-cu12")), LACKS_CUDNN, "torch", "cudnn", "libcudnn.so.9"),
    # https://github.com/jiaaro/pydub/issues/62, https://github.com/quasarstream/python-ffmpeg-video-streaming/issues/120
    Scene("answer-as-mp3-in-an-image-without-ffmpeg", "A", "torch-2.6", by_run, then(program(SPEAKS), installs("pydub==0.25.1")), (*TOOLS, *BROKEN), "", "ffmpeg", "No such file or directory: 'ffmpeg'"),
    # https://github.com/Naozumi520/g2pW-Cantonese/issues/1, https://github.com/nazdridoy/kokoro-tts/issues/59
    Scene("faces-with-the-processors-onnxruntime", "A", "onnxruntime-1.23", by_run, then(program(FINDS), then(lacks("onnxruntime-gpu"), installs("onnxruntime==1.23.2"))), ("framework_cpu_only_build", *BROKEN), "", "onnxruntime", "CPUExecutionProvider"),
    # === B: all files are there, and do not fit
    # https://github.com/jax-ml/jax/issues/18032: PyTorch in the same environment wants another cuDNN
    Scene("jax-beside-the-cudnn-that-torch-wants", "B", "jax", CUDNN, then(program("import jax\n\njax.numpy.ones(2)"), installs("--no-deps", "nvidia-cudnn-cu12==9.1.0.70")), ("cudnn_minor_too_old", *BROKEN), "", "cudnn", "Loaded runtime CuDNN library"),
    # https://github.com/scikit-learn-contrib/imbalanced-learn/issues/1154
    Scene("imbalanced-learn-of-before-scikit-learn-1-8", "B", "torch-2.6", by_run, then(program(BALANCES), installs("imbalanced-learn==0.14.0", "scikit-learn==1.7.2", "numpy==2.2.6"), installs("--no-deps", "scikit-learn==1.8.0")), BROKEN, "", "imb", "_is_pandas_df"),
    # https://github.com/tensorflow/hub/issues/934
    Scene("tensorflow-hub-with-the-newest-setuptools", "B", "tensorflow", by_run, then(program(EMBEDS), installs("--no-deps", "tensorflow-hub==0.16.1", "tf-keras==2.20.1", "setuptools==80.9.0"), installs("setuptools==82.0.0")), BROKEN, "", "pkg_resources", "No module named 'pkg_resources'"),
    # https://github.com/huggingface/transformers/issues/45278: names that Transformers 5 has no longer
    Scene("optimum-of-before-transformers-5", "B", "hub", by_run, then(program(HASTENS), installs("--no-deps", "optimum==1.23.3"), installs("transformers==5.2.0")), BROKEN, "", "optimum", "is_tf_available"),
    # https://github.com/campusx-official/langchain-text-splitters/issues/1, https://github.com/FlorentB974/graphrag/pull/18
    Scene("program-of-before-langchain-1", "B", "hub", by_run, then(program(SPLITS), installs("langchain==0.3.27"), installs("langchain==1.0.5")), BROKEN, "", "langchain", "langchain.text_splitter"),
    # === C: Python finds another file
    # https://github.com/VocaHQ/vocalinux/issues/33, https://github.com/wheeler01/Linux-Dictation-Project/issues/1: pip install whisper
    Scene("whisper-that-is-another-project", "C", "torch-2.6", by_run, then(program(LISTENS), FOR_WHISPER, then(lacks("openai-whisper"), installs("whisper==1.1.10"))), OTHERS, "", "whisper", "has no attribute 'load_model'"),
    # https://github.com/python-caldav/caldav/issues/139: the exercise of another day in the same folder
    Scene("exercise-named-calendar-py", "C", "hub", by_run, then(program(GENERATES), writes({"work/calendar.py": "import sys\n\n\ndef leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n\n\nif __name__ == '__main__':\n    print(leap(int(sys.argv[1])))\n"})), SHADOWED, "", "calendar.py", "calendar"),
    # git clone, and a program beside the clone
    Scene("clone-of-detectron2-that-was-not-installed", "C", "torch-2.6", by_run, then(program(DETECTS), from_its_clone, lacks("detectron2")), (*SHADOWED, *BROKEN), "", "detectron2", "(unknown location)"),
    # https://github.com/numpy/numpy/issues/24586, https://github.com/numpy/numpy/issues/14661
    Scene("numpy-of-the-python-of-before", "C", "torch-2.8", by_run, then(program(ARRAYS), layered(OF_3_10, "--no-deps", "--python-version", "3.10", "numpy==1.26.4"), sets(PYTHONPATH="{home}/" + OF_3_10)), (*SHADOWED, "package_for_another_python", *BROKEN), "", "numpy", "numpy"),
    # https://github.com/vxgmichel/aioconsole/issues/86, https://github.com/pypa/setuptools/issues/3316
    Scene("file-of-a-package-run-as-a-script", "C", "hub", by_script, then(writes({**SERVER, **script("{env}/bin/python captions/serve.py")}, "work")), SHADOWED, "", "queue.py", "queue"),
    # === D: started in another way
    # https://github.com/SpreadKnowledge/YOLO_train_detection_GUI/pull/2, https://github.com/IAHispano/Applio/pull/480
    Scene("program-that-starts-another-by-name", "D", "torch-2.8", by_unit, then(writes({**parent("os.system('python3 train.py --epochs 3')"), **SERVICE}, "work")), ELSEWHERE, "", "app.py", "No module named 'torch'"),
    # questions about Jenkins, every week: each sh is a shell of its own
    Scene("pipeline-that-activates-in-a-step-of-its-own", "D", "torch-2.6", by_jenkins, then(program(CLASSIFIES), links("env", "work/.venv"), writes(jenkinsfile(Setup="                sh '. .venv/bin/activate'\n", Train="                sh 'python3 main.py'\n"))), ELSEWHERE, "", "Jenkinsfile", "No module named 'torch'"),
    # https://github.com/anaconda/docker-images/issues/89
    Scene("image-that-activates-in-bashrc", "D", "hub", by_image, then(program(GENERATES), links("env", "work/.venv"), writes(dockerfile('RUN echo "source {home}/work/.venv/bin/activate" >> ~/.bashrc', 'CMD ["bash", "-c", "python3 main.py"]'))), ELSEWHERE, "", "Dockerfile", "No module named 'torch'"),
    # crontab(5): a line of the table replaces no variables
    Scene("job-of-cron-with-a-variable-in-a-variable", "D", "onnxruntime-1.23", by_cron, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes(crontab("LD_LIBRARY_PATH=$HOME/cuda-12.8/lib64:$LD_LIBRARY_PATH", "15 4 * * * cd {home}/work && {env}/bin/python main.py"))), (*NOT_SEARCHED, *VALUE, "cuda_runtime_missing"), "", "crontab", "cannot open shared object file"),
    # https://github.com/pytest-dev/pytest/issues/11111, by uvx: a tool has an environment of its own
    Scene("tests-by-the-pytest-of-uvx", "D", "torch-2.6", by_make, then(knows_pytest, links("env", "work/.venv"), writes(tests("uvx pytest -q -s tests"), "work")), ELSEWHERE, "", "pytest", "No module named 'torch'"),
    # === E: variables
    # https://github.com/OpenBMB/VoxCPM/issues/204, https://github.com/gradio-app/gradio/issues/4007: what the desktop's settings set
    Scene("ollama-behind-the-proxy-of-the-desktop", "E", "torch-2.6", by_run, then(program(ASKS), installs("ollama==0.6.0"), sets(**PROXY, all_proxy="socks://127.0.0.1:7890/")), VALUE, "", "all_proxy", "Unknown scheme for proxy URL"),
    # https://github.com/lbin/DCNv2/issues/25
    Scene("kernels-with-the-folder-of-nvcc", "E", "torch-2.6", by_setup, then(BUILDS, sets(CUDA_HOME="{home}/cuda-12.4", TORCH_CUDA_ARCH_LIST="8.6"), sets(CUDA_HOME="{home}/cuda-12.4/bin")), ("cuda_path_env_wrong", *VALUE), "", "CUDA_HOME", "bin/bin/nvcc"),
    # https://github.com/SYSTRAN/faster-whisper/issues/1017: its line of .bashrc, for an environment that is gone
    Scene("speech-with-the-folders-of-an-environment-that-is-gone", "E", "ctranslate2", by_run, then(program(BLAS), searches, sets(LD_LIBRARY_PATH=f"{GONE}/cublas/lib:{GONE}/cudnn/lib")), (*NOT_SEARCHED, *VALUE, "cuda_runtime_missing"), "", "LD_LIBRARY_PATH", "libcublas.so.12"),
    # https://github.com/huggingface/kernels/issues/553: a line of another day's .bashrc
    Scene("asks-the-hub-while-it-is-switched-off", "E", "hub", by_run, then(program(LOOKS_UP), sets(HF_HUB_OFFLINE="1")), VALUE, "", "HF_HUB_OFFLINE", "offline mode is enabled"),
    # https://github.com/NixOS/nixpkgs/pull/446105, and what CUDA 11 wanted
    Scene("compiled-step-with-the-compiler-of-before", "E", "torch-2.8", by_run, then(program(COMPILES), sets(CXX="/usr/bin/g++-9")), (*VALUE, "build_tools_missing"), "", "CXX", "g++-9"),
    # === odd, and healthy
    Scene("sounds-that-are-not-decoded", "healthy", "hub", by_run, then(program(HEARS_LATER), voice)),
    Scene("python-built-without-tk", "healthy", "hub", by_run, then(program(LEARNS), built_without("_tkinter"))),
    Scene("torch-with-the-cudnn-of-an-archive", "healthy", "torch-2.8", by_run, then(program(CLASSIFIES), toolkit_of("torch-2.8", "cudnn-9.10", "cudnn"), sets(LD_LIBRARY_PATH="{home}/cudnn-9.10/lib64"), lacks("nvidia-cudnn-cu12"))),
    Scene("answer-as-wav-in-an-image-without-ffmpeg", "healthy", "torch-2.6", by_run, then(program(SPEAKS_PLAINLY), installs("pydub==0.25.1"))),
    Scene("program-of-after-langchain-1", "healthy", "hub", by_run, then(program(SPLITS_ANEW), installs("langchain==1.0.5", "langchain-text-splitters==1.0.0"))),
    Scene("clone-of-detectron2-beside-the-installed-one", "healthy", "torch-2.6", by_run, then(program(DETECTS), from_its_clone)),
    Scene("file-of-a-package-run-as-a-module", "healthy", "hub", by_script, then(writes({**SERVER, **script("{env}/bin/python -m captions.serve")}, "work"))),
    Scene("program-that-starts-another-by-its-own-python", "healthy", "torch-2.8", by_unit, then(writes({**parent("subprocess.run([sys.executable, 'train.py'], check=True)"), **SERVICE}, "work"))),
    Scene("pipeline-that-activates-and-starts", "healthy", "torch-2.6", by_jenkins, then(program(CLASSIFIES), links("env", "work/.venv"), writes(jenkinsfile(Train="                sh '''\n                    . .venv/bin/activate\n                    python3 main.py\n                '''\n")))),
    Scene("image-that-names-its-environment-in-path", "healthy", "hub", by_image, then(program(GENERATES), links("env", "work/.venv"), writes(dockerfile('ENV PATH="{home}/work/.venv/bin:$PATH"', 'CMD ["bash", "-c", "python3 main.py"]')))),
    Scene("job-of-cron-with-the-variable-in-its-line", "healthy", "onnxruntime-1.23", by_cron, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes(crontab("15 4 * * * cd {home}/work && LD_LIBRARY_PATH=$HOME/cuda-12.8/lib64:$LD_LIBRARY_PATH {env}/bin/python main.py")))),
    Scene("tests-by-the-pytest-of-the-environment", "healthy", "torch-2.6", by_make, then(installs("pytest==8.4.2"), links("env", "work/.venv"), writes(tests(".venv/bin/python -m pytest -q -s tests"), "work"))),
    # https://github.com/open-mmlab/mmdetection/issues/5885: named by a variable, such a backend gives way where there is no screen
    Scene("plots-on-a-server-with-the-backend-of-the-desk", "healthy", "torch-2.6", by_run, then(program(PLOTS), installs("matplotlib==3.10.7"), sets(MPLBACKEND="TkAgg"))),
    Scene("ollama-behind-a-proxy", "healthy", "torch-2.6", by_run, then(program(ASKS), installs("ollama==0.6.0"), sets(**PROXY, all_proxy="http://127.0.0.1:7890/"))),
    Scene("model-of-a-folder-with-the-hub-switched-off", "healthy", "hub", by_run, then(program(FROM_A_FOLDER), keeps_model, sets(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1"))),
)  # fmt: skip
