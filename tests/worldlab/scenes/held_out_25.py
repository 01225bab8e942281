"""The twenty-fifth held-out set, classes A to E: faults as common as they are in the field, a seventh draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the six before it it takes what
people report most, of what no earlier set has. Above each row: the thread that it is made from, or what people do.
The last step of each fault's plant is the fault, and without it the real program works, or a twin does.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, lacks, then
from tests.worldlab.scenes.held_out_8 import layered, sets, writes
from tests.worldlab.scenes.held_out_9 import unsets
from tests.worldlab.scenes.held_out_15 import BLAS, by_run
from tests.worldlab.scenes.held_out_16 import PROVIDER
from tests.worldlab.scenes.held_out_16_machines import model_that
from tests.worldlab.scenes.held_out_17_machines import UBUNTUS, by_name, toolkit_of
from tests.worldlab.scenes.held_out_19_machines import built_without
from tests.worldlab.scenes.held_out_20_machines import links
from tests.worldlab.scenes.held_out_25_machines import (
    FIRST_PICTURES,
    FLOWERS,
    KEY_OF_KAGGLE,
    READS_ROWS,
    ROWS,
    WORDS,
    by_key,
    by_php,
    by_ros,
    by_sublime,
    by_uwsgi,
    key,
    node,
    page,
    sublime,
    uwsgi,
)
from tests.worldlab.scenes.starters import program

# --- what the real programs do ------------------------------------------------------------------------------------------

TRAINS = "from transformers import Trainer, TrainingArguments\n\nTrainingArguments(output_dir='out', report_to='none')"
KEEPS = (
    "from transformers import BertConfig, BertModel\n\n"
    "small = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8)\n"
    "BertModel(small).save_pretrained('model')\nBertModel.from_pretrained('model')"
)
LOADS = (
    "from transformers import AutoConfig, AutoModel\n\n"
    "settings = AutoConfig.from_pretrained('model', trust_remote_code=True)\n"
    "AutoModel.from_config(settings, trust_remote_code=True)"
)
DRAWS = (
    "import cv2\nimport numpy as np\nimport torch\n\nframe = np.zeros((48, 64, 3), np.uint8)\n"
    "cv2.rectangle(frame, (4, 4), (20, 20), (0, 255, 0), 2)\ncv2.imwrite('frame.png', frame)\ncv2.destroyAllWindows()"
)
DRAWS_ALONE = (
    "import sys\n\nimport cv2\nimport numpy as np\nimport torch\n\nframe = np.zeros((48, 64, 3), np.uint8)\n"
    "cv2.rectangle(frame, (4, 4), (20, 20), (0, 255, 0), 2)\ncv2.imwrite('frame.png', frame)\n"
    "if '--show' in sys.argv:\n    cv2.imshow('frame', frame)\n    cv2.waitKey(0)\n    cv2.destroyAllWindows()"
)
CLASSIFIES = "import torch\nimport torchvision\n\ntorchvision.models.resnet18(weights=None)"
ARRAYS = "import torch\nimport mxnet as mx\n\nprint(mx.nd.ones((2, 2)).asnumpy())"
SEARCHES = (
    "import keras\nimport numpy as np\nfrom scikeras.wrappers import KerasClassifier\nfrom sklearn.model_selection import cross_val_score\n\n\n"
    "def make():\n    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation='softmax')])\n\n\n"
    "model = KerasClassifier(make, loss='sparse_categorical_crossentropy', epochs=1, verbose=0)\n"
    "x = np.arange(48, dtype='float32').reshape(12, 4)\nprint(cross_val_score(model, x, np.array([0, 1] * 6), cv=2, error_score='raise'))"
)
LOOKS = "from datasets import load_dataset\n\nprint(load_dataset('captions.py', trust_remote_code=True)['train'][0])"
LOOKS_AT_FILES = (
    "from datasets import load_dataset\n\nprint(load_dataset('json', data_files='rows/train.jsonl')['train'][0])"
)
TUNES = "from trl import SFTConfig, SFTTrainer\n\nSFTConfig(output_dir='out', max_seq_length=512, report_to='none')"
LOWERS = (
    "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nfrom tensorflow.keras.models import Sequential\n"
    "from tensorflow.keras.optimizers import Adam\n\nmodel = Sequential([Dense(2)])\nmodel.compile(optimizer=Adam(lr=0.001), loss='mse')"
)
LEARNS = "import torch\nfrom datasets import Dataset\n\nDataset.from_dict({'text': ['a cat', 'a dog']})"
GENERATES = "import torch\nfrom transformers import AutoModelForCausalLM, AutoTokenizer"
QUANTIZES = "import torch\nfrom taming.modules.vqvae.quantize import VectorQuantizer2 as VectorQuantizer\n\nVectorQuantizer(16, 4, beta=0.25)"
TURNS = "import torch\nfrom datasets.flowers import Flowers\n\nprint(len(torch.utils.data.DataLoader(Flowers())))"
FOLDS = "import torch\nfrom einops import rearrange\n\nprint(rearrange(torch.zeros(2, 3, 4), 'b c w -> b (c w)').shape)"
COUNTS = "import torch\nfrom nltk.corpus import stopwords\n\nprint(len(stopwords.words('english')))"
MEASURES = (
    "import cv2\nimport numpy as np\nimport torch\n\ncv2.imwrite('depth.exr', np.ones((4, 4), np.float32))\n"
    "print(torch.from_numpy(cv2.imread('depth.exr', cv2.IMREAD_UNCHANGED)).shape)"
)
MEASURES_ANYHOW = f"import os\n\nos.environ['OPENCV_IO_ENABLE_OPENEXR'] = '1'\n{MEASURES}"
GATHERS = (
    "from datetime import timedelta\n\nimport torch\nimport torch.distributed as dist\n\n"
    "dist.init_process_group('gloo', timeout=timedelta(seconds=10))\nprint(dist.get_world_size())"
)
COMPETES = "import torch\nimport kaggle\n\nprint(kaggle.api.get_config_value('username'))"

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
TOOLS = ("build_tools_missing", "system_library_missing")
SHADOWED = ("module_shadowed",)
OTHERS = (*SHADOWED, *BROKEN, "duplicate_framework_packages")
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path", "process_env_not_inherited", "ld_library_path_override", "cuda_runtime_missing")  # fmt: skip

HEADLESS = installs("opencv-python-headless==4.11.0.86", "numpy==2.2.6")
LIBRARIES = "{home}/cuda-12.8/lib64"
SETS = sets(LD_LIBRARY_PATH=LIBRARIES)
OF_3_12 = layered(".local/lib/python3.12/site-packages", "--no-deps", "--python-version", "3.12", "einops==0.8.1")
RANKS = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_PORT": "29531"}
TAMING = installs("taming-transformers-rom1504==0.0.6", "einops==0.8.1", "torch==2.6.0", "numpy==2.2.6")
MXNET = installs("mxnet==1.9.1", "numpy==1.23.5", "requests==2.32.3")

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/huggingface/transformers/pull/27646, https://github.com/huggingface/course/issues/644
    Scene("trainer-without-accelerate", "A", "hub", by_run, then(program(TRAINS), lacks("accelerate")), BROKEN, "", "accelerate", "requires `accelerate"),
    # https://github.com/EleutherAI/lm-evaluation-harness/pull/707, https://github.com/rh-aiservices-bu/llm-on-openshift/pull/77
    Scene("model-of-the-hub-without-einops", "A", "hub", by_run, then(program(LOADS), writes(model_that("from einops import rearrange")), installs("einops==0.8.1"), lacks("einops")), BROKEN, "", "einops", "not found in your environment: einops"),
    # https://github.com/ageitgey/face_recognition/issues/1108, https://github.com/opencv/opencv-python/issues/18
    Scene("frames-with-the-opencv-of-servers", "A", "torch-2.6", by_run, then(program(DRAWS), installs("opencv-python==4.11.0.86", "numpy==2.2.6"), then(lacks("opencv-python"), HEADLESS)), (*BROKEN, "duplicate_framework_packages", "framework_cpu_only_build"), "", "opencv", "The function is not implemented"),
    # https://github.com/pytorch/pytorch/issues/100974, https://github.com/langchain-ai/langchain/issues/19078
    Scene("torch-without-cublas", "A", "torch-2.6", by_run, then(program(CLASSIFIES), lacks("nvidia-cublas-cu12")), ("cuda_runtime_missing", *BROKEN), "torch", "cublas", "libcublas.so"),
    # https://github.com/pyenv/pyenv/issues/1183, https://github.com/huggingface/autotrain-advanced/issues/694
    Scene("python-built-without-libffi", "A", "torch-2.6", by_run, then(program(CLASSIFIES), built_without("_ctypes")), ("python_environment_broken", *TOOLS), "", "ctypes", "No module named '_ctypes'"),
    # === B: all files are there, and do not fit
    # https://github.com/apache/mxnet/issues/21165, https://github.com/awslabs/gluonts/issues/2509
    Scene("mxnet-of-before-numpy-1-24", "B", "torch-2.6", by_run, then(program(ARRAYS), MXNET, installs("--no-deps", "numpy==1.26.4")), ("numpy_abi_mismatch", *BROKEN), "", "mxnet", "has no attribute 'bool'"),
    # https://github.com/adriangb/scikeras/issues/332, https://github.com/adriangb/scikeras/issues/337
    Scene("scikeras-of-before-scikit-learn-1-6", "B", "tensorflow", by_run, then(program(SEARCHES), installs("scikeras==0.13.0", "scikit-learn==1.5.2"), installs("scikit-learn==1.6.1")), BROKEN, "", "sci", "__sklearn_tags__"),
    # https://github.com/huggingface/datasets/issues/7693, https://github.com/huggingface/audio-transformers-course/issues/219
    Scene("script-of-a-data-set-of-before-datasets-4", "B", "hub", by_run, then(program(LOOKS), writes(ROWS), installs("datasets==4.0.0")), BROKEN, "", "datasets", "Dataset scripts are no longer supported"),
    # https://github.com/stanfordnlp/dspy/issues/8762, https://github.com/ogx-ai/ogx/pull/2948
    Scene("settings-of-before-trl-0-20", "B", "hub", by_run, then(program(TUNES), installs("trl==0.15.2"), installs("trl==0.23.0")), BROKEN, "", "max_seq_length", "unexpected keyword argument 'max_seq_length'"),
    # https://github.com/philipperemy/keras-tcn/issues/284, https://github.com/google/eng-edu/pull/106
    Scene("rate-of-before-keras-3", "B", "tensorflow", by_run, program(LOWERS), BROKEN, "", "lr", "not recognized: {'lr': 0.001}"),
    # === C: Python finds another file
    # https://github.com/calthoff/self_taught/issues/14, https://github.com/python/cpython/issues/125480
    Scene("exercise-named-csv-py", "C", "hub", by_run, then(program(LEARNS), writes({"work/csv.py": READS_ROWS})), SHADOWED, "", "csv.py", "csv"),
    # the first lesson, in a file of the library's name
    Scene("first-pictures-in-cv2-py", "C", "torch-2.6", by_name("cv2.py"), then(HEADLESS, writes({"work/cv2.py": FIRST_PICTURES}, "work")), SHADOWED, "", "cv2.py", "has no attribute 'cvtColor'"),
    # https://github.com/CompVis/stable-diffusion/issues/72, https://github.com/timothybrooks/instruct-pix2pix/issues/8: pip install taming-transformers
    Scene("taming-transformers-of-the-index", "C", "torch-2.6", by_run, then(program(QUANTIZES), TAMING, then(lacks("taming-transformers-rom1504"), installs("taming-transformers==0.0.1", "numpy==2.2.6"))), OTHERS, "", "taming", "cannot import name 'VectorQuantizer2'"),
    # https://github.com/mahmoodlab/CLAM/pull/170: a folder without an __init__.py comes after every package
    Scene("folder-datasets-behind-the-package-datasets", "C", "torch-2.6", by_run, then(program(TURNS), writes(FLOWERS), installs("datasets==3.6.0", "numpy==2.2.6")), SHADOWED, "", "datasets", "No module named 'datasets.flowers'"),
    # pip of one Python, and python of another: "Requirement already satisfied"
    Scene("einops-in-the-packages-of-another-python", "C", "torch-2.6", by_run, then(program(FOLDS), installs("einops==0.8.1"), OF_3_12, lacks("einops")), (*ELSEWHERE, *BROKEN, "package_for_another_python"), "", "einops", "No module named 'einops'"),
    # === D: started in another way
    # https://github.com/unbit/uwsgi/issues/2242, https://github.com/unbit/uwsgi/issues/1972
    Scene("uwsgi-without-the-environment", "D", "torch-2.6", by_uwsgi, then(links("env", "work/.venv"), writes(uwsgi(), "work")), ELSEWHERE, "", "uwsgi.ini", "No module named 'torch'"),
    # https://github.com/sublimehq/sublime_text/issues/4876
    Scene("build-system-of-sublime-by-a-bare-name", "D", "tensorflow", by_sublime, then(program("import tensorflow as tf\n\ntf.constant(1)"), links("env", "work/.venv"), writes(sublime("python3"))), ELSEWHERE, "", "sublime-project", "No module named 'tensorflow'"),
    # https://github.com/ros2/ros2cli/issues/1024, https://github.com/mgonzs13/yolo_ros/issues/112
    Scene("node-of-ros-with-the-systems-python", "D", "torch-2.6", by_ros, then(links("env", "work/.venv"), node("/usr/bin/python3")), ELSEWHERE, "", "detector", "No module named 'torch'"),
    # https://github.com/Uberi/speech_recognition/issues/512, and questions about shell_exec
    Scene("page-of-php-by-a-bare-name", "D", "hub", by_php, then(program(GENERATES), links("env", "work/.venv"), writes(page("'python3 '"))), ELSEWHERE, "", "caption.php", "No module named 'torch'"),
    # a key of the desktop, and an export in .bashrc
    Scene("dictation-by-a-key-beside-an-export-in-bashrc", "D", "ctranslate2", by_key, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({".bashrc": f"{UBUNTUS}export LD_LIBRARY_PATH={LIBRARIES}\n", **key("{env}/bin/python {home}/work/main.py")})), NOT_SEARCHED, "", "i3", "libcublas.so.12"),
    # === E: variables
    # https://github.com/opencv/opencv/issues/21928, https://github.com/wutong16/HyperDreamer/issues/10
    Scene("depths-without-leave-for-openexr", "E", "torch-2.6", by_run, then(program(MEASURES), HEADLESS, sets(OPENCV_IO_ENABLE_OPENEXR="1"), unsets("OPENCV_IO_ENABLE_OPENEXR")), (*VALUE, "process_env_not_inherited"), "", "OPENCV_IO_ENABLE_OPENEXR", "OpenEXR codec is disabled"),
    # https://github.com/nltk/nltk/issues/2147: the folder in the folder
    Scene("words-with-the-folder-of-the-corpora", "E", "hub", by_run, then(program(COUNTS), installs("nltk==3.9.1"), writes(WORDS), sets(NLTK_DATA="{home}/nltk"), sets(NLTK_DATA="{home}/nltk/corpora")), VALUE, "", "NLTK_DATA", "nltk.download('stopwords')"),
    # https://github.com/Kaggle/kaggle-cli/issues/617, https://github.com/Kaggle/kaggle-cli/pull/56
    Scene("kaggle-with-the-folder-of-the-keys", "E", "torch-2.6", by_run, then(program(COMPETES), installs("kaggle==1.6.17"), writes(KEY_OF_KAGGLE, mode=0o600), sets(KAGGLE_CONFIG_DIR="{home}/keys/kaggle"), sets(KAGGLE_CONFIG_DIR="{home}/keys")), VALUE, "", "KAGGLE_CONFIG_DIR", "Could not find kaggle.json"),
    # https://github.com/pytorch/examples/issues/540: what a job of the cluster set
    Scene("ranks-at-the-address-of-a-cluster", "E", "torch-2.8", by_run, then(program(GATHERS), sets(**RANKS, MASTER_ADDR="localhost"), sets(MASTER_ADDR="gpu-node-01.cluster.invalid")), VALUE, "", "MASTER_ADDR", "gpu-node-01"),
    # a line of a tutorial for another Linux
    Scene("faces-with-lib-for-lib64", "E", "onnxruntime-1.23", by_run, then(program(PROVIDER), toolkit_of("onnxruntime-1.23", "cuda-12.8"), SETS, sets(LD_LIBRARY_PATH="{home}/cuda-12.8/lib")), (*NOT_SEARCHED, *VALUE), "", "LD_LIBRARY_PATH", "cannot open shared object file"),
    # === odd, and healthy
    Scene("small-model-without-accelerate", "healthy", "hub", by_run, then(program(KEEPS), lacks("accelerate"))),
    # a window is opened only where one is asked for
    Scene("frames-with-the-opencv-of-servers-and-no-window", "healthy", "torch-2.6", by_run, then(program(DRAWS_ALONE), HEADLESS)),
    # the script of before is still there, and nobody asks for it
    Scene("files-of-a-data-set-with-datasets-4", "healthy", "hub", by_run, then(program(LOOKS_AT_FILES), writes(ROWS), installs("datasets==4.0.0"))),
    # https://github.com/keras-team/tf-keras/issues/331: with Keras 2 it is a warning
    Scene("rate-of-before-keras-3-with-keras-2", "healthy", "tensorflow", by_run, then(program(LOWERS), installs("--no-deps", "tf-keras==2.20.1"), sets(TF_USE_LEGACY_KERAS="1"))),
    Scene("exercise-named-csv-py-in-a-folder", "healthy", "hub", by_run, then(program(LEARNS), writes({"work/exercises/csv.py": READS_ROWS, "work/csv/train.csv": "a,b\n", "work/run.sh": "#!/bin/bash\npython exercises/csv.py csv/train.csv\n"}))),
    Scene("taming-transformers-by-another-name", "healthy", "torch-2.6", by_run, then(program(QUANTIZES), TAMING)),
    Scene("einops-beside-that-of-another-python", "healthy", "torch-2.6", by_run, then(program(FOLDS), installs("einops==0.8.1"), OF_3_12)),
    Scene("uwsgi-with-the-environment", "healthy", "torch-2.6", by_uwsgi, then(links("env", "work/.venv"), writes(uwsgi("virtualenv = {home}/work/.venv"), "work"))),
    Scene("build-system-of-sublime-by-a-whole-path", "healthy", "tensorflow", by_sublime, then(program("import tensorflow as tf\n\ntf.constant(1)"), links("env", "work/.venv"), writes(sublime("$project_path/.venv/bin/python")))),
    # python -m colcon build in the environment, or executable = /usr/bin/env python3 in setup.cfg
    Scene("node-of-ros-with-the-first-python", "healthy", "torch-2.6", by_ros, then(links("env", "work/.venv"), node("/usr/bin/env python3"), writes({"work/src/detector/setup.cfg": "[develop]\nscript_dir=$base/lib/detector\n[install]\ninstall_scripts=$base/lib/detector\n[build_scripts]\nexecutable = /usr/bin/env python3\n"}))),
    Scene("page-of-php-by-a-whole-path", "healthy", "hub", by_php, then(program(GENERATES), links("env", "work/.venv"), writes(page("__DIR__ . '/.venv/bin/python '")))),
    Scene("dictation-by-a-key-with-its-variable", "healthy", "ctranslate2", by_key, then(program(BLAS), toolkit_of("ctranslate2", "cuda-12.8"), SETS, writes({".bashrc": f"{UBUNTUS}export LD_LIBRARY_PATH={LIBRARIES}\n", **key(f"env LD_LIBRARY_PATH={LIBRARIES} {{env}}/bin/python {{home}}/work/main.py")}))),
    Scene("depths-with-leave-of-the-program", "healthy", "torch-2.6", by_run, then(program(MEASURES_ANYHOW), HEADLESS)),
    # the folder that the variable names is gone, and NLTK looks into the home, too
    Scene("words-in-the-home-and-a-folder-that-is-gone", "healthy", "hub", by_run, then(program(COUNTS), installs("nltk==3.9.1"), writes({"nltk_data/corpora/stopwords/english": "i\nme\nthe\n"}), sets(NLTK_DATA="/mnt/old/nltk_data"))),
    Scene("kaggle-by-variables-alone", "healthy", "torch-2.6", by_run, then(program(COMPETES), installs("kaggle==1.6.17"), sets(KAGGLE_USERNAME="somebody", KAGGLE_KEY="0123456789abcdef0123456789abcdef"))),
)  # fmt: skip
