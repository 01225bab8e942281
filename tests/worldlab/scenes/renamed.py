"""Names, methods and arguments that the installed release of a package no longer has, as people's programs ask for them, and programs of
today that work.

Drawn by a fixed seed from what public threads of 2022 to 2026 report; the seed also chose those that no rule was made with.
"""

from __future__ import annotations

from tests.worldlab.scene import Scene, installs, then
from tests.worldlab.scenes.held_out_8 import writes
from tests.worldlab.scenes.held_out_15 import by_run
from tests.worldlab.scenes.starters import program

BROKEN = ("requirement_broken",)
TREES = installs("lightgbm==4.6.0", "scipy==1.16.2", "numpy==2.2.6", "scikit-learn==1.7.2", "pandas==2.3.3")
SOUND = installs("librosa==0.11.0", "numpy==2.2.6", "setuptools==80.9.0")
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 1234567\n"
WEB = installs("gradio==5.49.1", "numpy==2.2.6", "pydantic==2.11.10")


SCENES: tuple[Scene, ...] = (
    Scene("simps-of-before-scipy-1-14", "B", "torch-2.6", by_run, then(program("import torch\nfrom scipy import integrate\n\nintegrate.simps([1, 2, 3])"), installs("scipy==1.16.2", "numpy==2.2.6")), BROKEN, "", "simps", "simps"),
    Scene("graph-of-a-matrix-of-before-networkx-3", "B", "torch-2.6", by_run, program("import numpy as np\nimport torch\nimport networkx as nx\n\nG = nx.from_numpy_matrix(np.eye(2))"), BROKEN, "", "from_numpy_matrix", "from_numpy_matrix"),
    Scene("hands-of-the-old-mediapipe", "B", "torch-2.6", by_run, then(program("import torch\nimport mediapipe as mp\n\nhands = mp.solutions.hands.Hands()"), installs("mediapipe==0.10.31", "numpy==2.2.6")), BROKEN, "", "solutions", "solutions"),
    Scene("adamw-of-transformers", "B", "hub", by_run, then(program("import torch\nfrom transformers import AdamW\n\nAdamW([torch.ones(1, requires_grad=True)])"), installs("transformers==4.56.2")), BROKEN, "", "AdamW", "AdamW"),
    Scene("field-of-torchtext-beside-a-newer-torch", "B", "torch-2.6", by_run, then(program("import torch\nfrom torchtext.data import Field"), installs("--no-deps", "torchtext==0.18.0"), installs("requests", "tqdm")), ("extension_abi_mismatch", *BROKEN), "", "torchtext", "torchtext"),
    Scene("names-of-a-vectorizer-of-before-1-2", "B", "torch-2.6", by_run, then(program("import torch\nfrom sklearn.feature_extraction.text import CountVectorizer\n\nvec = CountVectorizer()\nvec.fit_transform(['a cat', 'a dog'])\nprint(vec.get_feature_names())"), installs("scikit-learn==1.7.2", "numpy==2.2.6")), BROKEN, "", "get_feature_names", "get_feature_names"),
    Scene("statsmodels-older-than-scipy-1-16", "B", "torch-2.6", by_run, then(program("import torch\nimport statsmodels.api as sm\n\nsm.OLS"), installs("statsmodels==0.14.4", "scipy==1.16.2", "numpy==2.2.6", "pandas==2.3.3")), BROKEN, "", "_lazywhere", "_lazywhere"),
    Scene("axes-in-space-of-before-matplotlib-3-7", "B", "torch-2.6", by_run, then(program("import torch\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n\nfig = plt.figure()\nax = fig.gca(projection='3d')"), installs("matplotlib==3.10.7", "numpy==2.2.6")), BROKEN, "", "projection", "unexpected keyword argument 'projection'"),
    Scene("houses-of-boston", "B", "torch-2.6", by_run, then(program("import torch\nfrom sklearn.datasets import load_boston\n\nX, y = load_boston(return_X_y=True)"), installs("scikit-learn==1.7.2", "numpy==2.2.6")), BROKEN, "", "load_boston", "load_boston"),
    Scene("training-of-before-lightgbm-4", "B", "torch-2.6", by_run, then(program("import numpy as np\nimport torch\nimport lightgbm as lgb\n\ndata = lgb.Dataset(np.random.rand(50, 2), label=np.random.rand(50))\nlgb.train({'verbose': -1}, data, num_boost_round=2, verbose_eval=False)"), TREES), BROKEN, "", "verbose_eval", "unexpected keyword argument 'verbose_eval'"),
    Scene("training-of-lightgbm-4", "healthy", "torch-2.6", by_run, then(program("import numpy as np\nimport torch\nimport lightgbm as lgb\n\ndata = lgb.Dataset(np.random.rand(50, 2), label=np.random.rand(50))\nlgb.train({'verbose': -1}, data, num_boost_round=2, callbacks=[])"), TREES)),
    Scene("fit-of-before-lightgbm-4", "B", "torch-2.6", by_run, then(program("import numpy as np\nimport torch\nfrom lightgbm import LGBMRegressor\n\nX, y = np.random.rand(50, 2), np.random.rand(50)\nmodel = LGBMRegressor(n_estimators=2)\nmodel.fit(X, y, eval_set=[(X, y)], early_stopping_rounds=5)"), TREES), BROKEN, "", "early_stopping_rounds", "unexpected keyword argument 'early_stopping_rounds'"),
    Scene("table-of-before-pandas-2", "B", "torch-2.6", by_run, then(program("import torch\nimport pandas as pd\n\nopen('data.csv', 'w').write('a,b\\n1,2\\n')\ndf = pd.read_csv('data.csv', error_bad_lines=False)"), installs("pandas==2.3.3", "numpy==2.2.6")), BROKEN, "", "error_bad_lines", "unexpected keyword argument 'error_bad_lines'"),
    Scene("picture-of-before-gradio-4", "B", "torch-2.6", by_run, then(program("import torch\nimport gradio as gr\n\nwith gr.Blocks() as demo:\n    image = gr.Image(source='upload', type='pil')"), WEB), BROKEN, "", "source", "unexpected keyword argument 'source'"),
    Scene("picture-of-today", "healthy", "torch-2.6", by_run, then(program("import torch\nimport gradio as gr\n\nwith gr.Blocks() as demo:\n    image = gr.Image(sources=['upload'], type='pil')"), WEB)),
    Scene("diffusers-newer-than-accelerate", "B", "hub", by_run, then(program("import torch\nfrom diffusers import UNet2DConditionModel\n\nUNet2DConditionModel"), installs("--no-deps", "diffusers==0.33.1", "accelerate==0.31.0", "peft==0.15.2"), installs("--no-deps", "pillow==11.3.0", "importlib-metadata==8.7.0", "zipp==3.23.0")), BROKEN, "", "accelerate", "clear_device_cache"),
    Scene("backend-of-a-newer-diffusers", "B", "hub", by_run, then(program("import torch\nfrom diffusers.utils import USE_PEFT_BACKEND"), installs("--no-deps", "diffusers==0.20.2", "pillow==11.3.0", "importlib-metadata==8.7.0", "zipp==3.23.0", "huggingface-hub==0.25.2", "transformers==4.46.3", "tokenizers==0.20.3")), BROKEN, "", "USE_PEFT_BACKEND", "USE_PEFT_BACKEND"),
    Scene("size-of-a-text-of-before-pillow-10", "B", "torch-2.6", by_run, program("import torch\nfrom PIL import Image, ImageDraw, ImageFont\n\nimg = Image.new('RGB', (64, 64))\ndraw = ImageDraw.Draw(img)\nfont = ImageFont.load_default()\nw, h = draw.textsize('x', font=font)"), BROKEN, "", "textsize", "textsize"),
    Scene("annotator-of-before-supervision-0-22", "B", "torch-2.6", by_run, then(program("import torch\nimport supervision as sv\n\nbox = sv.BoxAnnotator(thickness=2, text_thickness=2, text_scale=1)"), installs("supervision==0.26.1", "numpy==2.2.6")), BROKEN, "", "text_thickness", "unexpected keyword argument 'text_thickness'"),
    # kept back until the rules were done
    Scene("settings-of-before-pydantic-2", "B", "torch-2.6", by_run, then(program("import torch\nfrom pydantic import BaseSettings\n\n\nclass Settings(BaseSettings):\n    lr: float = 0.1"), installs("pydantic==2.11.10")), BROKEN, "", "BaseSettings", "BaseSettings"),
    Scene("contrib-of-tensorflow-1", "B", "tensorflow", by_run, program("import tensorflow as tf\nslim = tf.contrib.slim"), BROKEN, "", "contrib", "contrib"),
    Scene("imread-of-scipy-misc", "B", "torch-2.6", by_run, then(program("import torch\nfrom scipy.misc import imread, imresize"), installs("scipy==1.16.2", "numpy==2.2.6")), BROKEN, "", "scipy.misc", "imread"),
    Scene("diffusers-older-than-its-hub", "B", "hub", by_run, then(program("import torch\nfrom diffusers import DDPMScheduler"), installs("--no-deps", "diffusers==0.25.1", "pillow==11.3.0", "importlib-metadata==8.7.0", "zipp==3.23.0")), BROKEN, "", "cached_download", "cached_download"),
    Scene("checkpoint-that-git-lfs-did-not-fetch", "A", "torch-2.6", by_run, then(program("import torch\n\nmodel = torch.load('checkpoints/model.pth', weights_only=False)"), writes({"work/checkpoints/model.pth": POINTER})), ("corrupt_or_truncated_file", *BROKEN), "", "model.pth", "invalid load key"),
    Scene("peft-newer-than-the-names-of-transformers", "B", "hub", by_run, then(program("import torch\nfrom peft import LoraConfig"), installs("--no-deps", "peft==0.15.1", "transformers==4.35.2", "tokenizers==0.15.2")), BROKEN, "", "Cache", "Cache"),
    Scene("mapping-of-before-onnx-1-19", "B", "torch-2.6", by_run, then(program("import torch\nimport onnx\nfrom onnx import mapping\n\nprint(mapping.TENSOR_TYPE_TO_NP_TYPE)"), installs("onnx==1.19.1", "numpy==2.2.6")), BROKEN, "", "mapping", "mapping"),
    Scene("output-of-librosa", "B", "torch-2.6", by_run, then(program("import numpy as np\nimport torch\nimport librosa\n\nlibrosa.output.write_wav('x.wav', np.zeros(100, dtype=np.float32), 22050)"), SOUND), BROKEN, "", "output", "output"),
    Scene("config-of-jax", "B", "jax", by_run, program("import jax\nfrom jax.config import config\n\nconfig.update('jax_enable_x64', True)"), BROKEN, "", "jax.config", "jax.config"),
    Scene("completion-of-openai-1", "B", "torch-2.6", by_run, then(program("import torch\nimport openai\n\nopenai.api_key = 'x'\nopenai.ChatCompletion.create(model='gpt-4', messages=[])"), installs("openai==1.109.1")), BROKEN, "", "ChatCompletion", "ChatCompletion"),
)  # fmt: skip
