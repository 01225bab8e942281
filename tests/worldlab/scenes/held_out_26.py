"""The twenty-sixth held-out set, classes A to E: faults as common as they are in the field, an eighth draw.

By somebody who has read no rule and no probe, and committed before the first scan. Like the seven before it it takes what
people report most, of what no earlier set has. Above each row: the thread that it is made from, or what people do.
The last step of each fault's plant is the fault, and without it the real program works, or a twin does
(ZBar, Poppler and FlashAttention, which this machine has not, apart).
"""

from __future__ import annotations

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Scene, installs, lacks, then
from tests.worldlab.scenes.healthy import as_conda
from tests.worldlab.scenes.held_out_8 import layered, sets, writes
from tests.worldlab.scenes.held_out_9 import editable, unsets
from tests.worldlab.scenes.held_out_15 import by_run, by_script
from tests.worldlab.scenes.held_out_17_machines import activated, of_a_colleague, script
from tests.worldlab.scenes.held_out_20_machines import links
from tests.worldlab.scenes.held_out_26_machines import (
    TELLS,
    TESTED,
    apache,
    by_apache,
    by_desk,
    by_f5,
    by_grid,
    by_thonny,
    by_tools,
    detector,
    f5,
    grid,
    has_proj_of_before,
    keeps_model_of_keras_2,
    runs_once,
    thonny,
    tool,
)
from tests.worldlab.scenes.starters import program

# --- what the real programs do ------------------------------------------------------------------------------------------

ATTENDS = (
    "import torch\nfrom transformers import AutoModelForCausalLM, LlamaConfig\n\n"
    "small = LlamaConfig(vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)\n"
    "AutoModelForCausalLM.from_config(small, torch_dtype=torch.bfloat16, attn_implementation='{kind}')"
)
SCANS = "import cv2\nimport torch\nfrom pyzbar.pyzbar import decode\n\nprint(decode(cv2.imread('code.png')))"
SCANS_ANYHOW = (
    "import cv2\nimport torch\n\ntry:\n    from pyzbar.pyzbar import decode\nexcept ImportError:\n"
    "    decode = cv2.QRCodeDetector().detectAndDecode\n\nprint(decode(cv2.imread('code.png')))"
)
DRAWS_CODE = "import cv2\nimport numpy as np\n\ncv2.imwrite('code.png', np.full((64, 64, 3), 255, np.uint8))"
PAGES = "import torch\nfrom pdf2image import convert_from_path\n\nprint(convert_from_path('page.pdf', dpi=72)[0].size)"
PAGES_BY_MUPDF = "import torch\nimport pymupdf\n\nprint(pymupdf.open('page.pdf')[0].get_pixmap(dpi=72).width)"
PRINTS_PAGE = "from PIL import Image\n\nImage.new('RGB', (80, 80), 'white').save('page.pdf')"
SERVES = (
    "import onnxruntime\nfrom fastapi import FastAPI, File, UploadFile\n\napp = FastAPI()\n\n\n"
    "@app.post('/detect')\nasync def detect(image: UploadFile = File(...)):\n    return {'size': len(await image.read())}\n"
)
SHOWS = (
    "import tensorflow as tf\n\ntf.io.write_file('cat.png', tf.io.encode_png(tf.zeros((8, 8, 3), tf.uint8)))\n"
    "image = tf.keras.utils.load_img('cat.png', target_size=(224, 224))\nprint(tf.keras.utils.img_to_array(image).shape)"
)
PREDICTS = (
    "import numpy as np\nfrom tensorflow.keras.models import load_model\n\nmodel = load_model('keras_model.h5', compile=False)\n"
    "labels = open('labels.txt').readlines()\nprint(labels[np.argmax(model.predict(np.zeros((1, 8, 8, 3)), verbose=0))])"
)
READS = (
    "import pandas as pd\nimport torch\n\nprint(torch.tensor(pd.read_pickle('rows.pkl')['length'].to_numpy()).mean())"
)
KEEPS_ROWS = (
    "import pandas as pd\n\npd.DataFrame({'length': [1.0, 2.0, 3.0], 'kind': ['a', 'b', 'a']}).to_pickle('rows.pkl')"
)
MEASURES = (
    "import torch\nfrom sklearn.metrics import mean_squared_error\n\nmodel = torch.nn.Linear(1, 1)\nx = torch.arange(4.0).reshape(4, 1)\n"
    "print('RMSE', mean_squared_error(x.numpy(), model(x).detach().numpy(), squared=False))"
)
REPEATS = (
    "import streamlit as st\nfrom transformers import pipeline\n\nst.title('Captions')\n"
    "if 'seen' not in st.session_state:\n    st.session_state['seen'] = True\n    st.experimental_rerun()\n"
)
OPENS = (
    "import sys\n\nimport cv2\nimport torch\nfrom PyQt5.QtWidgets import QApplication, QLabel\n\n"
    "app = QApplication(sys.argv)\nlabel = QLabel('camera')\nlabel.show()\ncv2.resize(torch.zeros(8, 8).numpy(), (4, 4))"
)
LEARNS = "import torch\nfrom datasets import Dataset\n\nDataset.from_dict({'text': ['a cat', 'a dog']})"
MOVES = "import serial\nimport torch\n\nport = serial.Serial(None, 9600)\nprint(port.baudrate, torch.nn.Conv2d(3, 8, 3)(torch.zeros(1, 3, 8, 8)).shape)"
UPLOADS = SERVES.replace("onnxruntime", "torch")
LAYERS = "import tensorflow as tf\n\ntf.keras.Sequential([tf.keras.layers.Dense(2)])"
ROTATES = "import jax\n\nprint(jax.jit(jax.numpy.sin)(1.0).devices())"
MAPS = (
    "import torch\nimport rasterio\nfrom rasterio.crs import CRS\nfrom rasterio.warp import transform_bounds\n\n"
    "print(transform_bounds(CRS.from_epsg(32632), CRS.from_epsg(4326), 500000, 5400000, 510000, 5410000))"
)
DEMOS = (
    "import gradio as gr\nimport torch\nfrom PIL import Image\n\n"
    "component = gr.Image(value=Image.new('RGB', (8, 8)), label='picture')\nwith gr.Blocks() as demo:\n    component.render()"
)
ASKS = "import torch\nfrom openai import OpenAI\n\nclient = OpenAI()\nprint(client.base_url)"
ASKS_BY_FILE = ASKS.replace("\n\n", "\nfrom dotenv import load_dotenv\n\nload_dotenv()\n", 1)
SLICES = (
    "import os\n\nimport torch\nfrom nnunetv2.paths import nnUNet_raw, nnUNet_results\n\n"
    "print(os.listdir(os.path.join(nnUNet_raw, 'Dataset027_ACDC')))"
)
TRACKS = "import torch\nimport wandb\n\nrun = wandb.init()\nrun.log({'loss': 0.5})\nrun.finish()"

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
TOOLS = ("build_tools_missing", "system_library_missing")
SHADOWED = ("module_shadowed",)
OTHERS = (*SHADOWED, *BROKEN, "duplicate_framework_packages")
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")

PERSONS = f".local/lib/python{VERSION}/site-packages"
HEADLESS = installs("opencv-python-headless==4.11.0.86", "numpy==2.2.6")
QT = installs("PyQt5==5.15.11")
FASTAPI = installs("fastapi==0.115.12", "python-multipart==0.0.20")
NUMPY_2 = installs("pandas==2.2.3", "numpy==2.2.6")
KEY = {
    "work/.env": "OPENAI_API_KEY=sk-proj-0123456789abcdef0123456789abcdef\nOPENAI_BASE_URL=http://127.0.0.1:8000/v1\n"
}
HEADS = then(
    writes(detector("detector", "Head")),
    editable("detector"),
    writes({**detector("detector-mine", "Head", "SmallHead"), **tool()}, "detector-mine"),
)
WEIGHTS = runs_once("import torch; torch.save(torch.nn.Linear(4, 2).state_dict(), 'classify/weights.pt')")
SCANS_IN = {
    "nnunet/nnUNet_raw/Dataset027_ACDC/dataset.json": '{"labels": {"background": 0}}\n',
    "nnunet/nnUNet_results/README.md": "",
}
FOLDERS = {"nnUNet_raw": "{home}/nnunet/nnUNet_raw", "nnUNet_preprocessed": "{home}/nnunet/nnUNet_preprocessed", "nnUNet_results": "{home}/nnunet/nnUNet_results"}  # fmt: skip

SCENES: tuple[Scene, ...] = (
    # === A: a library is absent or unfit
    # https://github.com/kijai/ComfyUI-Florence2/issues/17, https://github.com/Comfy-Org/ComfyUI/issues/4702
    Scene("model-with-an-attention-that-is-not-installed", "A", "hub", by_run, program(ATTENDS.format(kind="flash_attention_2")), BROKEN, "", "flash", "flash_attn seems to be not installed"),
    # https://github.com/NaturalHistoryMuseum/pyzbar/issues/37, https://github.com/home-assistant/core/issues/60370
    Scene("codes-in-an-image-without-zbar", "A", "torch-2.6", by_run, then(HEADLESS, installs("pyzbar==0.1.9"), program(SCANS), runs_once(DRAWS_CODE)), (*TOOLS, *BROKEN), "", "zbar", "Unable to find zbar shared library"),
    # https://github.com/Belval/pdf2image/issues/142, https://github.com/langchain-ai/langchain/issues/16085
    Scene("pages-in-an-image-without-poppler", "A", "torch-2.6", by_run, then(installs("pdf2image==1.17.0"), program(PAGES), runs_once(PRINTS_PAGE)), (*TOOLS, *BROKEN), "", "pdfinfo", "Is poppler installed and in PATH?"),
    # https://github.com/hummingbot/hummingbot-api/issues/41, https://github.com/sgl-project/sglang/pull/895
    Scene("form-without-python-multipart", "A", "onnxruntime-1.23", by_run, then(program(SERVES), FASTAPI, lacks("python-multipart")), BROKEN, "", "multipart", 'requires "python-multipart" to be installed'),
    # https://github.com/tensorflow/tensorflow/issues/40096, https://github.com/imfing/keras-flask-deploy-webapp/issues/20
    Scene("pictures-of-keras-without-pillow", "A", "tensorflow", by_run, then(program(SHOWS), installs("pillow==11.3.0"), lacks("pillow")), BROKEN, "", "illow", "Could not import PIL.Image"),
    # === B: all files are there, and do not fit
    # https://github.com/Shawn-Shan/fawkes/issues/186: keras_model.h5 of the Teachable Machine
    Scene("model-of-keras-2-in-keras-3", "B", "tensorflow", by_run, then(program(PREDICTS), keeps_model_of_keras_2), BROKEN, "", "keras", "Unrecognized keyword arguments passed to DepthwiseConv2D"),
    # https://github.com/numpy/numpy/issues/27084, https://github.com/4DVLab/DexGrasp-Anything/issues/7
    Scene("rows-that-numpy-2-kept", "B", "torch-2.6", by_run, then(program(READS), NUMPY_2, runs_once(KEEPS_ROWS), installs("numpy==1.24.4")), ("numpy_abi_mismatch", *BROKEN), "", "numpy", "No module named 'numpy._core"),
    # https://github.com/huggingface/evaluate/issues/669, https://github.com/bis-med-it/gingado/issues/38
    Scene("root-of-errors-of-before-scikit-learn-1-6", "B", "torch-2.6", by_run, then(program(MEASURES), installs("scikit-learn==1.5.2", "numpy==2.2.6"), installs("scikit-learn==1.7.2", "numpy==2.2.6")), BROKEN, "", "squared", "unexpected keyword argument 'squared'"),
    # https://github.com/explosion/spacy-streamlit/issues/55, https://github.com/aahnik/tgcf/issues/630
    Scene("page-of-before-streamlit-1-37", "B", "hub", by_run, then(program(REPEATS), installs("streamlit==1.36.0", "numpy==2.2.6"), installs("streamlit==1.40.2", "numpy==2.2.6")), BROKEN, "", "experimental_rerun", "has no attribute 'experimental_rerun'"),
    # https://github.com/opencv/opencv-python/issues/736, https://github.com/muskie82/MonoGS/issues/131
    Scene("window-of-qt-beside-opencv", "B", "torch-2.6", by_desk, then(program(OPENS), sets(DISPLAY=":0"), HEADLESS, QT, then(lacks("opencv-python-headless"), installs("opencv-python==4.11.0.86", "numpy==2.2.6"))), (*BROKEN, *VALUE, *SHADOWED, "duplicate_framework_packages", "extension_abi_mismatch"), "", "opencv", "cv2/qt/plugins"),
    # === C: Python finds another file
    # https://github.com/googleworkspace/python-samples/issues/92, https://github.com/pekrau/CouchDB2/issues/93
    Scene("exercise-named-json-py", "C", "hub", by_run, then(program(LEARNS), writes({"work/json.py": TELLS})), SHADOWED, "", "json.py", "json"),
    # https://github.com/pyhys/minimalmodbus/issues/139, https://github.com/ArduPilot/ardupilot/issues/24594: pip install serial
    Scene("serial-that-is-another-project", "C", "torch-2.6", by_run, then(program(MOVES), installs("pyserial==3.5"), then(lacks("pyserial"), installs("serial==0.0.97"))), OTHERS, "", "serial", "has no attribute 'Serial'"),
    # https://github.com/FangyunWei/PointSetAnchor/issues/4, https://github.com/open-mmlab/mmdetection/issues/5856
    Scene("second-clone-behind-the-installed-one", "C", "torch-2.6", by_tools, HEADS, (*SHADOWED, *BROKEN), "", "detector", "cannot import name 'SmallHead'"),
    # https://github.com/fastapi/fastapi/issues/1551, https://github.com/fastapi/fastapi/pull/1627: pip install multipart
    Scene("multipart-that-is-another-project", "C", "torch-2.6", by_run, then(program(UPLOADS), FASTAPI, then(lacks("python-multipart"), installs("multipart==1.2.1"))), OTHERS, "", "multipart", 'It seems you installed "multipart" instead'),
    # https://github.com/snicolast/ComfyUI-IndexTTS2/issues/3: pip install --user, for another project
    Scene("conda-behind-protobuf-of-the-person", "C", "tensorflow", by_run, then(program(LAYERS), as_conda, layered(PERSONS, "--no-deps", "protobuf==4.21.12")), (*SHADOWED, *BROKEN), "", ".local", "google.protobuf"),
    # === D: started in another way
    # https://github.com/GrahamDumpleton/mod_wsgi/issues/855, https://github.com/GrahamDumpleton/mod_wsgi/issues/608
    Scene("captions-under-apache-without-the-environment", "D", "torch-2.6", by_apache, then(links("env", "work/.venv"), writes(apache(""), "work")), ELSEWHERE, "", "captions.conf", "No module named 'torch'"),
    # https://github.com/thonny/thonny/issues/3035, https://github.com/thonny/thonny/issues/1248
    Scene("first-network-in-thonny", "D", "tensorflow", by_thonny, then(program(LAYERS), links("env", "work/.venv"), writes(thonny("/usr/bin/python3"))), ELSEWHERE, "", "configuration.ini", "No module named 'tensorflow'"),
    # https://github.com/pytest-dev/pytest/issues/2287, https://github.com/pytest-dev/pytest/issues/3341
    Scene("tests-by-a-bare-pytest", "D", "torch-2.6", by_script, then(installs("pytest==8.4.2"), links("env", "work/.venv"), writes({**TESTED, **script("source .venv/bin/activate\npytest -q -s tests")}, "work")), (*ELSEWHERE, *BROKEN, *SHADOWED), "", "captions", "No module named 'captions'"),
    # http://www.gridengine.eu/mangridengine/htmlman1/qsub.html: a job has the variables of the shell with -V alone
    Scene("job-of-grid-engine-without-the-variables", "D", "jax", by_grid, then(program(ROTATES), activated, writes(grid("#$ -cwd", "", "python3 main.py"))), ELSEWHERE, "", "train.sh", "No module named 'jax'"),
    # https://blog.eliasmanj.io/website/dev-notes/python/vs-code-launch.json.html: F5 starts in the workspace, the terminal did in the program's folder
    Scene("debugger-away-from-the-weights", "D", "torch-2.6", by_f5, then(writes(f5(), "work"), WEIGHTS), ELSEWHERE, "", "weights.pt", "No such file or directory: 'weights.pt'"),
    # === E: variables
    # https://github.com/torchgeo/torchgeo/issues/994, https://github.com/rasterio/rasterio/issues/2103
    Scene("maps-with-the-proj-of-qgis", "E", "torch-2.6", by_run, then(program(MAPS), installs("rasterio==1.4.3", "numpy==2.2.6"), has_proj_of_before, sets(PROJ_LIB="{home}/qgis/share/proj")), VALUE, "", "PROJ_LIB", "comes from another PROJ installation"),
    # https://github.com/gradio-app/gradio/issues/5109, https://github.com/EveryVoiceTTS/EveryVoice/issues/693
    Scene("demo-with-the-files-of-a-colleague", "E", "torch-2.6", by_run, then(program(DEMOS), installs("gradio==5.49.1"), sets(GRADIO_TEMP_DIR="{home}/scratch/gradio", GRADIO_ANALYTICS_ENABLED="False"), of_a_colleague("scratch/gradio")), VALUE, "", "GRADIO_TEMP_DIR", "Permission denied"),
    # https://github.com/ivnvxd/hack-interview/issues/2, https://github.com/SevaSk/ecoute/issues/198: the key stands in a file that nobody reads
    Scene("asks-without-its-key", "E", "torch-2.6", by_run, then(program(ASKS), installs("openai==1.109.1"), writes(KEY), sets(OPENAI_API_KEY="sk-proj-0123456789abcdef0123456789abcdef"), unsets("OPENAI_API_KEY")), (*VALUE, "process_env_not_inherited"), "", "OPENAI_API_KEY", "api_key client option must be set"),
    # https://github.com/felixkrones/ECG-Digitiser/issues/12, https://github.com/MIC-DKFZ/nnUNet/issues/738: the names of the first nnU-Net
    Scene("slices-with-the-names-of-nnu-net-1", "E", "torch-2.6", by_run, then(program(SLICES), installs("nnunetv2==2.6.2", "torch==2.6.0", "numpy==2.2.6"), writes(SCANS_IN), sets(**FOLDERS), then(unsets("nnUNet_raw", "nnUNet_results"), sets(nnUNet_raw_data_base="{home}/nnunet/nnUNet_raw", RESULTS_FOLDER="{home}/nnunet/nnUNet_results"))), (*VALUE, "process_env_not_inherited"), "", "nnUNet_raw", "nnUNet_raw is not defined"),
    # https://github.com/ultralytics/yolov5/issues/10940, https://github.com/wandb/wandb/issues/90: the owner before the project
    Scene("runs-of-a-project-with-its-owner", "E", "torch-2.6", by_run, then(program(TRACKS), installs("wandb==0.22.2"), sets(WANDB_MODE="offline", WANDB_PROJECT="captions"), sets(WANDB_PROJECT="somebody/captions")), VALUE, "", "WANDB_PROJECT", "Invalid project name"),
    # === odd, and healthy
    Scene("model-with-the-attention-of-torch", "healthy", "hub", by_run, program(ATTENDS.format(kind="sdpa"))),
    # another way where there is no ZBar
    Scene("codes-in-an-image-without-zbar-by-opencv", "healthy", "torch-2.6", by_run, then(HEADLESS, installs("pyzbar==0.1.9"), program(SCANS_ANYHOW), runs_once(DRAWS_CODE))),
    # pdf2image is still there, and nobody imports it
    Scene("pages-in-an-image-without-poppler-by-mupdf", "healthy", "torch-2.6", by_run, then(installs("pdf2image==1.17.0", "pymupdf==1.26.5"), program(PAGES_BY_MUPDF), runs_once(PRINTS_PAGE))),
    Scene("model-of-keras-2-in-keras-2", "healthy", "tensorflow", by_run, then(program(PREDICTS), keeps_model_of_keras_2, installs("--no-deps", "tf-keras==2.20.1"), sets(TF_USE_LEGACY_KERAS="1"))),
    # NumPy 2 still knows the names of before
    Scene("rows-that-numpy-1-kept", "healthy", "torch-2.6", by_run, then(program(READS), NUMPY_2, installs("numpy==1.26.4"), runs_once(KEEPS_ROWS), installs("numpy==2.2.6"))),
    Scene("window-of-qt-beside-headless-opencv", "healthy", "torch-2.6", by_desk, then(program(OPENS), sets(DISPLAY=":0"), HEADLESS, QT)),
    # https://github.com/FangyunWei/PointSetAnchor/issues/4: the clone's folder first
    Scene("second-clone-before-the-installed-one", "healthy", "torch-2.6", by_tools, then(HEADS, writes(tool("import os.path as osp\nimport sys\n\nsys.path.insert(0, osp.join(osp.dirname(osp.abspath(__file__)), '../'))\n")))),
    Scene("conda-without-protobuf-of-the-person", "healthy", "tensorflow", by_run, then(program(LAYERS), as_conda, layered(PERSONS, "--no-deps", "protobuf==4.21.12"), sets(PYTHONNOUSERSITE="1"))),
    Scene("captions-under-apache-with-the-environment", "healthy", "torch-2.6", by_apache, then(links("env", "work/.venv"), writes(apache("python-home={home}/work/.venv "), "work"))),
    Scene("first-network-in-thonny-with-the-environment", "healthy", "tensorflow", by_thonny, then(program(LAYERS), links("env", "work/.venv"), writes(thonny("{home}/work/.venv/bin/python3")))),
    # https://github.com/idandaniel/ballyregan/issues/12
    Scene("tests-by-a-bare-pytest-with-the-root", "healthy", "torch-2.6", by_script, then(installs("pytest==8.4.2"), links("env", "work/.venv"), writes({**TESTED, **script("source .venv/bin/activate\npytest -q -s tests"), "work/pyproject.toml": f'{TESTED["work/pyproject.toml"]}\n[tool.pytest.ini_options]\npythonpath = ["."]\n'}, "work"))),
    Scene("job-of-grid-engine-with-the-variables", "healthy", "jax", by_grid, then(program(ROTATES), activated, writes(grid("#$ -cwd", "#$ -V", "", "python3 main.py")))),
    Scene("debugger-beside-the-weights", "healthy", "torch-2.6", by_f5, then(writes(f5("${fileDirname}"), "work"), WEIGHTS)),
    # Gradio makes the folder
    Scene("demo-with-a-folder-that-is-not-there-yet", "healthy", "torch-2.6", by_run, then(program(DEMOS), installs("gradio==5.49.1"), sets(GRADIO_TEMP_DIR="{home}/scratch/gradio", GRADIO_ANALYTICS_ENABLED="False"))),
    Scene("asks-with-its-key-in-a-file", "healthy", "torch-2.6", by_run, then(program(ASKS_BY_FILE), installs("openai==1.109.1", "python-dotenv==1.1.1"), writes(KEY))),
)  # fmt: skip
