"""The seventeenth held-out set, classes A to E: what people meet in their first week with a machine.

By somebody who has read no rule and no probe, and committed before the first scan. Above each row: the thread that it is
made from, or what people do. The last step of each fault's plant is the fault.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, imports, installs, lacks, then
from tests.worldlab.scenes.held_out_8 import JAX, ONES, ffmpeg, layered, sets, without_system, writes
from tests.worldlab.scenes.held_out_15 import BLAS, by_batch, by_run
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_16_machines import voice
from tests.worldlab.scenes.held_out_17_machines import (
    KERNELS,
    PROJECT,
    UBUNTUS,
    accelerated,
    activated,
    batch,
    by_accelerate,
    by_debugger,
    by_name,
    by_notebook,
    by_setup,
    by_sudo,
    by_uv,
    debugger,
    has_certificates,
    links_project,
    notebook,
    of_a_colleague,
    owns_project,
    script,
    toolkit_of,
)
from tests.worldlab.scenes.starters import by_unit, program, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

SESSION = "import onnxruntime\nonnxruntime.InferenceSession"
KERNEL = "from cupy.cuda import nvrtc\nprint(nvrtc.getVersion())"
SEES = "import torch, cv2\ncv2.resize(torch.zeros(8, 8).numpy(), (4, 4))"
BOOSTS = "import lightgbm\nimport torch\nlightgbm.Dataset(torch.zeros(4, 2).numpy(), [0, 1, 0, 1]).construct()"
VIDEO = "import torchcodec\nfrom torchcodec.decoders import VideoDecoder"
TABLE = "import torch\nfrom datasets import Dataset\nDataset.from_dict({'x': [1, 2]}).to_pandas()"
TRAINS = "from transformers import TrainingArguments\nTrainingArguments('lora', use_cpu=True, report_to='none').device"
SPEECH = (
    "from transformers.pipelines.audio_utils import ffmpeg_read\n"
    "sound = ffmpeg_read(open('voice.wav', 'rb').read(), 16000)\nassert len(sound) == 16000"
)
"""What a pipeline does with the name of a file."""
LOADS = "from datasets import load_dataset\nload_dataset('json', data_files='talks.jsonl', split='train')"
TALKS = {"work/talks.jsonl": '{"text": "a", "label": 0}\n{"text": "b", "label": 1}\n'}
NETWORK = "import tensorflow as tf\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
ASKS = (
    "import requests\nfrom huggingface_hub.utils import get_session\n"
    "try:\n    get_session().head('https://127.0.0.1:9/model.safetensors', timeout=20)\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
"""A question to the hub; without a network it fails with an error of the network, which is right here."""
PLOTS = "import torch\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('loss.png')"
LAUNCHED = "from accelerate import Accelerator\nAccelerator().device"
SUM = "import numpy as np, torch\nprint(torch.from_numpy(np.ones(3)).sum())"

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
SYSTEM = ("system_library_missing",)
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
MISMATCH = ("extension_abi_mismatch", *BROKEN)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override")  # fmt: skip

UNIT = ".config/systemd/user/speech.service"
TOOLKIT = "LD_LIBRARY_PATH={home}/cuda-12.8/lib64"
SHELLS = {".bashrc": f"export {TOOLKIT}\n", ".profile": f"export {TOOLKIT}\n"}
SETS = sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib64")
CUPYS = then(toolkit_of("cupy", "cuda-12.8"), sets(CUDA_PATH="{home}/cuda-12.8"))
OPENCV = "opencv-python==4.11.0.86"
SLIM = ("libGL.so*", "libGLX.so*", "libOpenGL.so*", "libEGL.so*")
OWN_DATASETS = {"work/datasets/__init__.py": "from .voices import Voices\n", "work/datasets/voices.py": "class Voices:\n    pass\n"}  # fmt: skip
FILES_ALONE = {"work/datasets/train.csv": "a,b\n", "work/datasets/make.py": "print('made')\n"}
SOURCES = {
    "work/onnxruntime/__init__.py": '"""ONNX Runtime."""\n__version__ = "1.24.0"\n\nfrom onnxruntime.capi import onnxruntime_validation\n',
    "work/onnxruntime/python/onnxruntime_validation.py": "",
    "work/onnxruntime/core/README.md": "",
    "work/cmake/CMakeLists.txt": "",
}
"""A clone of the repository: nothing is compiled there."""
BUNDLE = "apps/SciPy-bundle/lib/{}/site-packages"
MINI = "/opt/miniconda3/envs/work/ssl/cacert.pem"
DEEPSPEED = "deepspeed_config:\n  gradient_accumulation_steps: 1\n  zero3_init_flag: false\n  zero_stage: 2\n"
UMLAUTS = "Masterarbeit Größen (Kopie)"

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/dnhkng/GLaDOS/issues/14
    Scene("microphone-without-portaudio", "A", "torch-2.6", by_run, then(program("import torch, sounddevice\nsounddevice.query_devices()"), installs("sounddevice==0.5.2")), SYSTEM, "", "ortAudio", "PortAudio library not found"),
    # https://github.com/xorbitsai/inference/issues/2652
    Scene("speech-without-ffmpeg", "A", "hub", by_run, then(program(SPEECH), voice), (*SYSTEM, "build_tools_missing", *BROKEN), "", "ffmpeg", "ffmpeg was not found"),
    # https://github.com/lightgbm-org/LightGBM/issues/7141
    Scene("lightgbm-in-a-slim-image", "A", "torch-2.6", by_run, then(program(BOOSTS), installs("lightgbm==4.6.0"), without_system("libgomp.so*")), SYSTEM, "", "libgomp.so.1", "libgomp.so.1"),
    # https://github.com/danielgatis/rembg/issues/501
    Scene("onnxruntime-after-both-were-there", "A", "onnxruntime-1.23", by_run, then(program(SESSION), installs("onnxruntime==1.23.2"), lacks("onnxruntime")), ("installation_interrupted", "corrupt_or_truncated_file", "duplicate_framework_packages"), "", "onnxruntime", "has no attribute 'InferenceSession'"),
    # https://github.com/pytorch/pytorch/pull/148465
    Scene("torch-after-cufile-was-removed", "A", "torch-2.8", imports("torch"), lacks("nvidia-cufile-cu12"), ("cuda_runtime_missing", *BROKEN), "torch", "libcufile", "libcufile.so.0"),
    # https://github.com/AInseven/ComfyUI-fastblend/issues/5, in an image of CUDA that has the run time alone
    Scene("cupy-in-an-image-with-the-run-time-alone", "A", "cupy-alone", by_run, then(program(KERNEL), SETS, toolkit_of("cupy", "cuda-12.8", "cuda_runtime")), ("nvrtc_missing_or_mismatch", "cuda_runtime_missing"), "cupy-cuda12x", "libnvrtc", "libnvrtc.so.12"),
    # === B: all files are there, and do not fit
    # https://github.com/tensorflow/tensorflow/issues/98406
    Scene("pandas-older-than-numpy", "B", "hub", by_run, then(program(TABLE), installs("--no-deps", "pandas==2.1.4", "pytz")), ("numpy_abi_mismatch", *BROKEN), "", "pandas", "numpy.dtype size changed"),
    # https://github.com/huggingface/pytorch-image-models/issues/420
    Scene("timm-of-a-paper-of-2020", "B", "torch-2.6", by_run, then(program("import torch, timm"), installs("--no-deps", "timm==0.3.2")), BROKEN, "", "timm", "torch._six"),
    # https://github.com/huggingface/blog/issues/1445
    Scene("trainer-newer-than-accelerate", "B", "hub", by_run, then(program(TRAINS), installs("--no-deps", "accelerate==0.20.3")), BROKEN, "", "accelerate", "accelerate>=0.26"),
    # https://github.com/pytorch/text/issues/2272
    Scene("torchtext-of-before-torch-2.4", "B", "torch-2.6", by_run, then(program("import torchtext"), installs("tqdm", "requests", "setuptools==80.9.0"), installs("--no-deps", "torchtext==0.18.0")), MISMATCH, "", "torchtext", "undefined symbol"),
    # https://github.com/tensorflow/addons/issues/2865
    Scene("addons-older-than-keras-3", "B", "tensorflow", by_run, then(program("import tensorflow_addons as tfa"), installs("--no-deps", "tensorflow-addons==0.23.0", "typeguard==2.13.3")), BROKEN, "", "addons", "keras.src.engine"),
    # https://github.com/tensorflow/probability/issues/2009
    Scene("probability-of-before-jax-0-7", "B", "jax", by_run, then(program("import jax\nfrom tensorflow_probability.substrates import jax as tfp\ntfp.distributions.Normal(0.0, 1.0)"), installs("absl-py", "dm-tree", "decorator", "cloudpickle", "six", "gast", "typing-extensions"), installs("--no-deps", "tensorflow-probability==0.25.0")), BROKEN, "", "probability", "removed in JAX"),
    # === C: Python finds another file
    # https://github.com/huggingface/datasets/issues/6553
    Scene("package-datasets-of-ones-own", "C", "hub", by_run, then(program("import torch\nfrom datasets import load_dataset"), writes(OWN_DATASETS)), SHADOWED, "", "datasets", "cannot import name 'load_dataset'"),
    # https://github.com/pytorch/pytorch/issues/39473
    Scene("discriminator-in-dis-py", "C", "torch-2.8", by_run, then(program(ONES), writes({"work/dis.py": "import torch\n\n\nclass Discriminator(torch.nn.Module):\n    pass\n"})), SHADOWED, "", "dis.py", "has no attribute"),
    # https://github.com/graphite-project/whisper/issues/324
    Scene("whisper-of-another-project", "C", "torch-2.6", by_run, then(program("import torch, whisper\nwhisper.available_models()"), installs("six"), installs("--no-deps", "whisper==1.1.10")), (*SHADOWED, *BROKEN, "duplicate_framework_packages", "program_error"), "", "whisper", "module 'whisper' has no attribute"),
    # https://github.com/microsoft/onnxruntime/issues/2068
    Scene("program-in-the-clone-of-onnxruntime", "C", "onnxruntime-1.23", by_run, then(program(SESSION), writes(SOURCES)), SHADOWED, "", "work/onnxruntime", "onnxruntime.capi"),
    # https://github.com/numpy/numpy/issues/24586, with the modules of a cluster
    Scene("numpy-of-the-modules-for-another-python", "C", "torch-2.6", by_run, then(program(SUM), layered(BUNDLE.format("python3.10"), "--no-deps", "--python-version", "3.10", "numpy==1.26.4"), sets(PYTHONPATH="{home}/" + BUNDLE.format("python3.10"))), (*SHADOWED, "package_for_another_python"), "", "SciPy-bundle", "_multiarray_umath"),
    # https://github.com/tensorflow/tensorflow/issues/49518
    Scene("first-lesson-named-tensorflow-py", "C", "tensorflow", by_name("tensorflow.py"), writes({"work/tensorflow.py": "import tensorflow as tf\n\nprint(tf.constant([1, 2]))\nprint('this works')\n"}, "work"), SHADOWED, "", "tensorflow.py", "partially initialized module 'tensorflow'"),
    # === D: started in another way
    # https://github.com/microsoft/vscode-python/issues/19420
    Scene("file-of-variables-with-a-tilde", "D", "cupy-alone", by_debugger, then(program(KERNEL), CUPYS, SETS, writes(SHELLS), writes(debugger("LD_LIBRARY_PATH=~/cuda-12.8/lib64"))), (*NOT_SEARCHED, *VALUE, "nvrtc_missing_or_mismatch", "cuda_runtime_missing"), "", ".env", "libnvrtc.so.12"),
    # https://github.com/jupyter/notebook/issues/4629
    Scene("notebook-in-the-systems-kernel", "D", "torch-2.8", by_notebook, then(program(ONES), writes(notebook(ONES, dl="/usr/bin/python3"))), ELSEWHERE, "", "kernels/dl", "No module named 'torch'"),
    # https://github.com/Xharlie/BtcDet/issues/6
    Scene("script-with-sudo", "D", "jax", by_sudo, then(program(JAX), activated, writes(script("sudo python3 main.py"), mode=0o755)), ELSEWHERE, "", "run.sh", "No module named 'jax'"),
    # https://github.com/astral-sh/uv/issues/9939
    Scene("uv-run-beside-an-active-environment", "D", "tensorflow", by_uv, then(program("import tensorflow"), activated, writes(PROJECT), owns_project, writes(script("uv run --no-sync python main.py"), mode=0o755)), ELSEWHERE, "", ".venv", "No module named 'tensorflow'"),
    # a configuration for training of the group, copied into one's home
    Scene("launch-with-deepspeed-that-is-not-there", "D", "hub", by_accelerate, then(program(LAUNCHED), writes(accelerated("DEEPSPEED", DEEPSPEED))), BROKEN, "", "deepspeed", "DeepSpeed is not installed"),
    # https://github.com/AgnostiqHQ/covalent-slurm-plugin/pull/61
    Scene("job-behind-the-end-of-bashrc", "D", "ctranslate2", by_batch, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes(batch(f"{UBUNTUS}export {TOOLKIT}\n"))), NOT_SEARCHED, "", "train.sbatch", "libcublas.so.12"),
    # === E: variables
    # https://github.com/microsoft/Graphormer/issues/124
    Scene("kernels-with-two-toolkits-in-one-variable", "E", "torch-2.8", by_setup, then(writes(KERNELS, "work"), sets(TORCH_CUDA_ARCH_LIST="8.0", CUDA_HOME=":/usr/local/cuda-12.8")), ("cuda_path_env_wrong", *VALUE), "", "CUDA_HOME", "bin/nvcc"),
    # https://github.com/serengil/deepface/issues/1122
    Scene("legacy-keras-that-is-not-there", "E", "tensorflow", by_run, then(program(NETWORK), sets(TF_USE_LEGACY_KERAS="1")), (*VALUE, *BROKEN), "", "TF_USE_LEGACY_KERAS", "tf_keras"),
    # https://github.com/protocolbuffers/protobuf/issues/12164
    Scene("protobuf-in-c-plus-plus", "E", "tensorflow", by_run, then(program("import tensorflow"), sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="cpp")), VALUE, "", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "_message"),
    # https://github.com/wandb/wandb/issues/1488
    Scene("certificates-of-an-environment-that-went", "E", "hub", by_run, then(program(ASKS), sets(REQUESTS_CA_BUNDLE=MINI)), VALUE, "", "REQUESTS_CA_BUNDLE", "invalid path"),
    # https://github.com/huggingface/datasets/issues/7900
    Scene("cache-of-a-colleague", "E", "hub", by_run, then(program(LOADS), writes(TALKS), of_a_colleague("scratch/hf"), sets(HF_HOME="{home}/scratch/hf")), (*VALUE, "library_unreadable"), "", "HF_HOME", "Permission denied"),
    # https://github.com/bmaltais/kohya_ss/issues/2521
    Scene("plots-with-the-notebooks-backend", "E", "torch-2.6", by_run, then(program(PLOTS), installs("matplotlib==3.10.3"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline")), VALUE, "", "MPLBACKEND", "matplotlib_inline"),
    # === odd, and healthy
    # the answer of every thread about libGL
    Scene("opencv-headless-in-a-slim-image", "healthy", "torch-2.6", by_run, then(program(SEES), installs("--no-deps", OPENCV.replace("python", "python-headless")), without_system(*SLIM))),
    # FFmpeg 7 in a folder of one's own: of four builds that torchcodec brings one fits
    Scene("torchcodec-with-ffmpeg-in-the-home", "healthy", "torch-2.8", by_run, then(program(VIDEO), installs("--no-deps", "torchcodec==0.7.0"), ffmpeg)),
    # a newer release than the metadata of anything asks for
    Scene("trainer-with-a-newer-accelerate", "healthy", "hub", by_run, then(program(TRAINS), installs("accelerate==1.10.1"))),
    # a folder with data, of the name of a package that is used
    Scene("folder-datasets-with-data", "healthy", "hub", by_run, then(program(LOADS), writes(TALKS), writes(FILES_ALONE))),
    Scene("folder-code-with-scripts", "healthy", "torch-2.8", by_run, then(program(ONES), writes({"work/code/train.py": "import torch\n", "work/code/README.md": "Run main.py\n"}))),
    # the start-up script of a web interface asks for a faster malloc that is not installed
    Scene("malloc-that-is-not-there", "healthy", "torch-2.8", by_run, then(program(ONES), sets(LD_PRELOAD="libtcmalloc_minimal.so.4"))),
    # two kernels: the notebook's own, and one for other work
    Scene("notebook-beside-the-systems-kernel", "healthy", "torch-2.8", by_notebook, then(program(ONES), writes(notebook(ONES, dl="{env}/bin/python", python3="/usr/bin/python3")))),
    Scene("file-of-variables-with-whole-paths", "healthy", "cupy-alone", by_debugger, then(program(KERNEL), CUPYS, SETS, writes(SHELLS), writes(debugger("LD_LIBRARY_PATH={home}/cuda-12.8/lib64")))),
    # a service with systemd's own word for the home
    Scene("service-with-a-specifier", "healthy", "onnxruntime-1.23", by_unit, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, writes({**SHELLS, UNIT: unit_text("WorkingDirectory=%h/work\nEnvironment=LD_LIBRARY_PATH=%h/cuda-12.8/lib64\n")}))),
    Scene("uv-run-in-a-linked-environment", "healthy", "torch-2.6", by_uv, then(program(ONES), writes(PROJECT), links_project, writes(script("uv run --no-sync python main.py"), mode=0o755))),
    Scene("launch-without-deepspeed", "healthy", "hub", by_accelerate, then(program(LAUNCHED), writes(accelerated("'NO'")))),
    Scene("legacy-keras-that-is-there", "healthy", "tensorflow", by_run, then(program(NETWORK), installs("--no-deps", "tf-keras==2.20.1"), sets(TF_USE_LEGACY_KERAS="1"))),
    # the advice of an old error's text, kept ever since
    Scene("protobuf-in-python", "healthy", "tensorflow", by_run, then(program("import tensorflow"), sets(PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION="python"))),
    Scene("certificates-of-the-company", "healthy", "hub", by_run, then(program(ASKS), has_certificates, sets(REQUESTS_CA_BUNDLE="{home}/certs/company.pem", SSL_CERT_FILE="{home}/certs/company.pem"))),
    # a toolkit that was removed, and a program that compiles nothing
    Scene("toolkit-that-went-and-nobody-needs", "healthy", "torch-2.6", by_run, then(program(ONES), sets(CUDA_HOME="/usr/local/cuda-12.1", PATH="/usr/local/cuda-12.1/bin:/usr/local/bin:/usr/bin:/bin"))),
    # the modules of a cluster, for the same Python
    Scene("numpy-of-the-modules-that-fits", "healthy", "torch-2.6", by_run, then(program(SUM), layered(BUNDLE.format("python3.11"), "--no-deps", "numpy==2.2.6"), sets(PYTHONPATH="{home}/" + BUNDLE.format("python3.11")))),
    # a folder with blanks and umlauts
    Scene("folder-with-umlauts", "healthy", "torch-2.8", by_name("main.py"), writes({f"{UMLAUTS}/main.py": f"{ONES}\nprint('this works', flush=True)\n", f"{UMLAUTS}/Daten für später/a.csv": "a,b\n"}, UMLAUTS)),
    Scene("script-with-sudo-and-the-environments-python", "healthy", "jax", by_sudo, then(program(JAX), activated, writes(script("sudo {env}/bin/python main.py"), mode=0o755))),
)  # fmt: skip
