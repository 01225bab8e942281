"""What people's programs ask of objects, of pickled files and of parts that a package does not require, each from what public threads report; with healthy twins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.worldlab.environments import home
from tests.worldlab.scene import Ran, Scene, World, installs, then
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_15 import by_run, by_script, said_by
from tests.worldlab.scenes.starters import program

BROKEN = ("requirement_broken",)
SHADOWED = ("module_shadowed", *BROKEN, "duplicate_framework_packages", "wrong_environment_active")
FILE = ("corrupt_or_truncated_file", *BROKEN)

TABLES = installs("pandas==2.3.3", "numpy==2.2.6")
LEARN = installs("scikit-learn==1.7.2", "numpy==2.2.6")
PLOT = installs("matplotlib==3.10.7", "numpy==2.2.6")
GYM = installs("gymnasium==1.1.1", "numpy==2.2.6")
SB3 = installs(
    "--no-deps",
    "stable-baselines3==2.7.0",
    "gymnasium==1.1.1",
    "cloudpickle",
    "farama-notifications",
    "pandas==2.3.3",
    "matplotlib==3.10.7",
    "contourpy",
    "cycler",
    "fonttools",
    "kiwisolver",
    "pyparsing",
    "packaging",
    "python-dateutil",
    "pytz",
    "tzdata",
    "six",
)
LIGHTNING = installs("lightning==2.5.5", "numpy==2.2.6", "setuptools==80.9.0")
SOUND = installs("librosa==0.11.0", "numpy==2.2.6", "setuptools==80.9.0")
CV = installs("opencv-python-headless==4.11.0.86", "numpy==2.2.6")


def makes(*requirements: str, code: str) -> Plant:
    """Have an environment of another machine make a file in the person's folder."""

    def plant(world: World) -> None:
        where = world.home / "work"
        where.mkdir(parents=True, exist_ok=True)
        words = [str(Path(sys.executable).with_name("uv")), "run", "--no-project", "--quiet", "--python", "3.11"]
        given = (w for r in requirements for w in ("--with", r))
        variables = {**os.environ, "UV_CACHE_DIR": str(home() / "store")}
        subprocess.run([*words, *given, "python", "-c", code], cwd=where, check=True, env=variables)

    return plant


def by_evaluate(world: World) -> Ran:
    """Run the person's ``evaluate.py``."""
    return said_by(world, [str(world.python), "evaluate.py"])


T = "import torch\n"
KERAS = "import numpy as np\nimport tensorflow as tf\nfrom tensorflow.keras import layers\n\nmodel = tf.keras.Sequential([tf.keras.Input((2,)), layers.Dense(2, activation='softmax')])\nmodel.compile('sgd', 'mse')\nX = np.zeros((4, 2))\n"
CSV = {"work/data.csv": "a,b\n1,2\n3,\n"}

SCENES: tuple[Scene, ...] = (
    # === B: methods and keywords of objects
    Scene("rows-added-in-a-function", "B", "torch-2.6", by_run, then(TABLES, program(T + "import pandas as pd\n\n\ndef load(path):\n    df = pd.read_csv(path)\n    return df\n\n\ndf = load('data.csv')\ndf = df.append({'a': 1, 'b': 2}, ignore_index=True)"), writes(CSV)), BROKEN, "", "append", "append"),
    Scene("columns-dropped-by-place", "B", "torch-2.6", by_run, then(TABLES, program(T + "import pandas as pd\n\ndf = pd.read_csv('data.csv')\nX = df.drop('a', 1)"), writes(CSV)), BROKEN, "", "drop", "positional argument"),
    Scene("classes-predicted-by-keras", "B", "tensorflow", by_run, program(KERAS + "print(model.predict_classes(X))"), BROKEN, "", "predict_classes", "predict_classes"),
    Scene("model-in-a-folder-for-keras-3", "B", "tensorflow", by_run, program("import tensorflow as tf\n\nmodel = tf.keras.models.load_model('saved_model')", "import os\nos.makedirs('saved_model/variables', exist_ok=True)\nopen('saved_model/saved_model.pb', 'wb').write(b'\\x08\\x01')\n"), (*BROKEN, *FILE), "", "saved_model", "Keras 3"),
    Scene("range-of-an-array", "B", "torch-2.6", by_run, program(T + "import numpy as np\n\nx = np.array([1.0, 3.0])\nprint((x - x.min()) / x.ptp())"), BROKEN, "", "ptp", "ptp"),
    Scene("clusters-with-an-affinity", "B", "torch-2.6", by_run, then(LEARN, program(T + "from sklearn.cluster import AgglomerativeClustering\n\nmodel = AgglomerativeClustering(n_clusters=2, affinity='euclidean', linkage='ward')")), BROKEN, "", "affinity", "affinity"),
    Scene("style-of-seaborn", "B", "torch-2.6", by_run, then(PLOT, program(T + "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n\nplt.style.use('seaborn-whitegrid')\nplt.plot([1, 2])")), BROKEN, "", "seaborn-whitegrid", "seaborn-whitegrid"),
    Scene("seed-of-an-environment", "B", "torch-2.6", by_run, then(GYM, program(T + "import gymnasium as gym\n\nenv = gym.make('CartPole-v1')\nenv.seed(42)\nobs, info = env.reset()")), BROKEN, "", "seed", "seed"),
    Scene("evaluation-of-before-sb3-2", "B", "torch-2.6", by_run, then(SB3, program(T + "import gymnasium as gym\nfrom stable_baselines3 import PPO\n\nenv = gym.make('CartPole-v1')\nmodel = PPO('MlpPolicy', env, create_eval_env=True)\nmodel.learn(10)")), BROKEN, "", "create_eval_env", "create_eval_env"),
    Scene("turns-that-are-resampled", "B", "torch-2.6", by_run, program(T + "from torchvision import transforms\n\ntr = transforms.Compose([transforms.RandomRotation(10, resample=False, expand=False), transforms.ToTensor()])"), BROKEN, "", "resample", "resample"),
    Scene("marks-of-before-opencv-4-7", "B", "torch-2.6", by_run, then(CV, program(T + "import cv2\n\nd = cv2.aruco.Dictionary_get(cv2.aruco.DICT_4X4_50)\np = cv2.aruco.DetectorParameters_create()")), BROKEN, "", "Dictionary_get", "Dictionary_get"),
    Scene("scan-of-a-head", "B", "torch-2.6", by_run, then(installs("nibabel==5.3.2", "numpy==2.2.6"), makes("nibabel", "numpy", code="import nibabel, numpy; nibabel.save(nibabel.Nifti1Image(numpy.zeros((2,2,2), dtype='float32'), numpy.eye(4)), 'brain.nii')"), program(T + "import nibabel as nib\n\nimg = nib.load('brain.nii')\ndata = img.get_data()\nprint(data.shape)")), BROKEN, "", "get_data", "get_data"),
    Scene("settings-of-yaml", "B", "torch-2.6", by_run, then(installs("pyyaml==6.0.3"), program(T + "import yaml\n\nwith open('config.yaml') as f:\n    cfg = yaml.load(f)\nprint(cfg['lr'])"), writes({"work/config.yaml": "lr: 0.1\n"})), BROKEN, "", "Loader", "Loader"),
    Scene("queue-of-before-gradio-4", "B", "torch-2.6", by_run, then(installs("gradio==5.49.1", "numpy==2.2.6", "pydantic==2.11.10"), program(T + "import gradio as gr\n\ndemo = gr.Interface(fn=lambda x: x, inputs='text', outputs='text')\ndemo.queue(concurrency_count=2)")), BROKEN, "", "concurrency_count", "concurrency_count"),
    Scene("files-of-the-hub-with-a-token", "B", "hub", by_run, then(installs("datasets==4.0.0"), program(T + "from datasets import load_dataset\n\nds = load_dataset('csv', data_files='data.csv', use_auth_token=True)"), writes(CSV)), BROKEN, "", "use_auth_token", "use_auth_token"),
    Scene("words-of-a-newer-model", "B", "torch-2.6", by_run, then(installs("tiktoken==0.4.0"), program(T + "import tiktoken\n\nenc = tiktoken.encoding_for_model('o1-mini')")), BROKEN, "", "o1-mini", "o1-mini"),
    # === B: pickled files
    Scene("model-pickled-by-an-old-sklearn", "B", "torch-2.6", by_run, then(LEARN, program(T + "import joblib\n\nmodel = joblib.load('model.pkl')", "import pickle\nopen('model.pkl', 'wb').write(b'csklearn.ensemble.forest\\nRandomForestClassifier\\n.')\n")), (*FILE, *BROKEN), "", "sklearn.ensemble.forest", "sklearn.ensemble.forest"),
    # === A
    Scene("lander-without-box2d", "A", "torch-2.6", by_run, then(GYM, program(T + "import gymnasium as gym\n\nenv = gym.make('LunarLander-v3')\nobs, info = env.reset(seed=0)")), BROKEN, "", "ox2d", "ox2D"),
    Scene("figure-of-plotly-as-a-picture", "A", "torch-2.6", by_run, then(installs("plotly==6.3.1", "numpy==2.2.6"), program(T + "import plotly.graph_objects as go\n\nfig = go.Figure(go.Scatter(y=[1, 2]))\nfig.write_image('loss.png')")), BROKEN, "", "kaleido", "aleido"),
    Scene("rank-of-pages-without-scipy", "A", "torch-2.6", by_run, program(T + "import networkx as nx\n\nG = nx.path_graph(4)\nprint(nx.pagerank(G))"), BROKEN, "", "scipy", "scipy"),
    Scene("bar-of-rich", "A", "torch-2.6", by_run, then(LIGHTNING, program(T + "import lightning as L\nfrom lightning.pytorch.callbacks import RichProgressBar\n\ntrainer = L.Trainer(accelerator='cpu', callbacks=[RichProgressBar()], logger=False)")), BROKEN, "", "rich", "rich"),
    Scene("trees-by-the-words-of-sklearn", "A", "torch-2.6", by_run, then(installs("--no-deps", "xgboost==3.0.5"), installs("scipy", "numpy==2.2.6"), program(T + "from xgboost import XGBClassifier\n\nmodel = XGBClassifier(n_estimators=5)")), BROKEN, "", "scikit-learn", "sklearn"),
    Scene("folder-of-pictures-without-pillow", "A", "hub", by_run, then(program(T + "from datasets import load_dataset\n\nds = load_dataset('imagefolder', data_dir='pictures', split='train')\nprint(ds[0]['image'])"), makes("pillow", code="import os; from PIL import Image; os.makedirs('pictures/cat'); Image.new('RGB',(4,4)).save('pictures/cat/1.png')")), BROKEN, "", "illow", "Pillow"),
    Scene("faces-without-contrib", "A", "torch-2.6", by_run, then(CV, program(T + "import cv2\n\nfaces = cv2.face.LBPHFaceRecognizer_create()")), BROKEN, "", "contrib", "face"),
    Scene("codes-without-zbar", "A", "torch-2.6", by_run, then(installs("pyzbar==0.1.9"), program(T + "from pyzbar.pyzbar import decode")), ("system_library_missing",), "", "zbar", "zbar"),
    Scene("photos-of-a-phone", "A", "torch-2.6", by_run, then(program(T + "from PIL import Image\n\nimg = Image.open('IMG_0001.HEIC').convert('RGB')", "open('IMG_0001.HEIC', 'wb').write(b'\\0\\0\\0\\x18ftypheic\\0\\0\\0\\0mif1heic' + b'\\0' * 400)\n")), (*BROKEN, *FILE), "", "HEIC", "cannot identify"),
    Scene("neighbours-without-pyg-lib", "A", "torch-2.6", by_run, then(installs("torch-geometric==2.6.1", "numpy==2.2.6"), program(T + "from torch_geometric.data import Data\nfrom torch_geometric.loader import NeighborLoader\n\ndata = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))\nloader = NeighborLoader(data, num_neighbors=[2], batch_size=1)\nprint(next(iter(loader)))")), BROKEN, "", "torch-sparse", "pyg-lib"),
    # === C
    Scene("script-in-a-folder-below", "C", "torch-2.6", by_script, then(writes({"work/scripts/train.py": "import torch\nfrom models.net import Net\n\nNet()\nprint('this works', flush=True)\n", "work/models/__init__.py": "", "work/models/net.py": "import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n", "work/run.sh": "#!/bin/bash\n{env}/bin/python scripts/train.py\n"}, "work")), (*SHADOWED, "process_env_not_inherited"), "", "models", "No module named 'models'"),
    Scene("test-named-evaluate-py", "C", "hub", by_evaluate, then(installs("evaluate==0.4.5"), writes({"work/evaluate.py": "import torch\nimport evaluate\n\nmetric = evaluate.load('accuracy')\nprint('this works', flush=True)\n"}, "work")), SHADOWED, "", "evaluate.py", "load"),
    # === kept back until the rules were done
    Scene("arrays-pickled-by-numpy-2", "B", "torch-2.6", by_run, then(makes("numpy==2.2.6", code="import numpy as np, pickle; pickle.dump({'x': np.ones(3)}, open('features.pkl', 'wb'))"), installs("numpy==1.25.2"), program(T + "import pickle\n\nwith open('features.pkl', 'rb') as f:\n    data = pickle.load(f)\nprint(data['x'])")), (*FILE, *BROKEN), "", "numpy._core", "numpy._core"),
    Scene("gaps-filled-by-a-method", "B", "hub", by_run, then(program(T + "import pandas as pd\n\ndf = pd.read_csv('data.csv')\ndf = df.fillna(method='ffill')"), writes(CSV)), BROKEN, "", "method", "method"),
    Scene("lander-of-before-gymnasium-1", "B", "torch-2.6", by_run, then(GYM, program(T + "import gymnasium as gym\n\nenv = gym.make('LunarLander-v2')\nobs, info = env.reset(seed=0)")), BROKEN, "", "LunarLander", "LunarLander"),
    Scene("mel-by-place", "B", "torch-2.6", by_run, then(SOUND, program(T + "import numpy as np\nimport librosa\n\ny = np.zeros(22050, dtype=np.float32)\nmel = librosa.feature.melspectrogram(y, 22050, n_mels=64)")), BROKEN, "", "melspectrogram", "positional argument"),
    Scene("picture-of-a-graph", "A", "torch-2.6", by_run, program(T + "import networkx as nx\n\nG = nx.path_graph(4)\nnx.draw(G)"), BROKEN, "", "matplotlib", "matplotlib"),
    Scene("rate-that-says-so", "B", "torch-2.8", by_run, program(T + "\nmodel = torch.nn.Linear(2, 2)\nopt = torch.optim.Adam(model.parameters(), lr=0.1)\nsched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, 'min', patience=2, verbose=True)"), BROKEN, "", "verbose", "verbose"),
    Scene("root-of-the-mean-squared-error", "B", "torch-2.6", by_run, then(LEARN, program(T + "from sklearn.metrics import mean_squared_error\n\nprint(mean_squared_error([1.0, 2.0], [1.0, 3.0], squared=False))")), BROKEN, "", "squared", "squared"),
    Scene("table-pickled-by-pandas-1", "B", "torch-2.6", by_run, then(makes("pandas==1.5.3", "numpy==1.26.4", code="import pandas as pd; pd.DataFrame({'a': [1, 2]}, index=pd.Index([3, 5])).to_pickle('frame.pkl')"), TABLES, program(T + "import pickle\n\nimport pandas as pd\n\ndf = pickle.load(open('frame.pkl', 'rb'))\nprint(df)")), (*FILE, *BROKEN), "", "frame.pkl", "pandas"),
    Scene("table-to-parquet", "A", "torch-2.6", by_run, then(TABLES, program(T + "import pandas as pd\n\ndf = pd.DataFrame({'a': [1]})\ndf.to_parquet('a.parquet')")), BROKEN, "", "pyarrow", "pyarrow"),
    Scene("tokens-of-another-jwt", "C", "torch-2.6", by_run, then(installs("jwt==1.4.0"), program(T + "import jwt\n\nprint(jwt.encode({'user': 1}, 'key', algorithm='HS256'))")), SHADOWED, "", "jwt", "encode"),
    Scene("video-of-an-environment", "A", "torch-2.6", by_run, then(GYM, installs("pygame"), program(T + "import gymnasium as gym\n\nenv = gym.make('CartPole-v1', render_mode='rgb_array')\nenv = gym.wrappers.RecordVideo(env, 'videos')\nenv.reset()")), BROKEN, "", "moviepy", "moviepy"),
    # === healthy twins
    Scene("rows-joined-in-a-function", "healthy", "torch-2.6", by_run, then(TABLES, program(T + "import pandas as pd\n\n\ndef load(path):\n    rows = []\n    rows.append(pd.read_csv(path))\n    return rows\n\n\ndf = load('data.csv')\ndf.append({'a': 1, 'b': 2})"), writes(CSV))),
    Scene("columns-dropped-by-name", "healthy", "torch-2.6", by_run, then(TABLES, program(T + "import pandas as pd\n\ndf = pd.read_csv('data.csv')\nX = df.drop('a', axis=1)\nX = X.fillna(method='ffill')"), writes(CSV))),
    Scene("a-model-of-ones-own-with-old-methods", "healthy", "tensorflow", by_run, program("import numpy as np\nimport tensorflow as tf\n\n\nclass Model(tf.keras.Model):\n    def predict_classes(self, x):\n        return self.predict(x).argmax(-1)\n\n    def call(self, x):\n        return x\n\n\nmodel = Model()\nprint(model.predict_classes(np.zeros((2, 2))))\nbest = tf.keras.callbacks.ModelCheckpoint('best.h5', save_weights_only=False) if False else None")),
    Scene("best-model-in-its-form", "healthy", "tensorflow", by_run, program(KERAS + "best = tf.keras.callbacks.ModelCheckpoint('best.keras', save_best_only=True)\nw = tf.keras.callbacks.ModelCheckpoint('best.weights.h5', save_weights_only=True)\nmodel.save('model.h5')")),
    Scene("range-by-a-function", "healthy", "torch-2.6", by_run, program(T + "import numpy as np\n\nx = np.array([1.0, 3.0])\nprint((x - x.min()) / np.ptp(x))")),
    Scene("settings-of-yaml-safely", "healthy", "torch-2.6", by_run, then(installs("pyyaml==6.0.3"), program(T + "import yaml\n\nwith open('config.yaml') as f:\n    cfg = yaml.load(f, yaml.SafeLoader)\nprint(cfg['lr'], yaml.safe_load('a: 1'))"), writes({"work/config.yaml": "lr: 0.1\n"}))),
    Scene("arrays-pickled-by-this-numpy", "healthy", "torch-2.6", by_run, then(makes("numpy==1.26.4", code="import numpy as np, pickle; pickle.dump({'x': np.ones(3)}, open('features.pkl', 'wb'))"), program(T + "import pickle\n\nwith open('features.pkl', 'rb') as f:\n    data = pickle.load(f)\nprint(data['x'])"))),
    Scene("cart-without-box2d", "healthy", "torch-2.6", by_run, then(GYM, program(T + "import gymnasium as gym\n\nenv = gym.make('CartPole-v1')\nobs, info = env.reset(seed=0)"))),
    Scene("figure-of-plotly-as-a-page", "healthy", "torch-2.6", by_run, then(installs("plotly==6.3.1", "numpy==2.2.6"), program(T + "import plotly.graph_objects as go\n\nfig = go.Figure(go.Scatter(y=[1, 2]))\nfig.write_html('loss.html')"))),
    Scene("style-that-is-there", "healthy", "torch-2.6", by_run, then(PLOT, program(T + "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n\nplt.style.use('seaborn-v0_8-whitegrid')\nplt.style.use(['ggplot', 'my.mplstyle'])\nplt.plot([1, 2])"), writes({"work/my.mplstyle": "lines.linewidth: 2\n"}))),
    Scene("pagerank-with-scipy", "healthy", "torch-2.6", by_run, then(installs("scipy==1.16.2", "numpy==2.2.6"), program(T + "import networkx as nx\n\nG = nx.path_graph(4)\nG.add_node(9, label='a')\nprint(nx.pagerank(G), G.nodes[9])"))),
    Scene("script-in-a-folder-below-as-a-module", "healthy", "torch-2.6", by_script, then(writes({"work/scripts/train.py": "import torch\nfrom models.net import Net\n\nNet()\nprint('this works', flush=True)\n", "work/models/__init__.py": "", "work/models/net.py": "import torch\n\n\nclass Net(torch.nn.Module):\n    pass\n", "work/run.sh": "#!/bin/bash\n{env}/bin/python -m scripts.train\n"}, "work"))),
)  # fmt: skip
