"""What programs call and ask for, and how they are started: faults that people report often, and a twin of most that works."""

from __future__ import annotations

from tests.worldlab.scene import Scene, World, installs, then
from tests.worldlab.scenes.held_out_8 import Plant, sets, writes
from tests.worldlab.scenes.held_out_15 import by_code, by_run, launch
from tests.worldlab.scenes.held_out_16_machines import voice
from tests.worldlab.scenes.held_out_18_machines import clones
from tests.worldlab.scenes.held_out_20_machines import by_cron, links
from tests.worldlab.scenes.starters import program

BROKEN = ("requirement_broken",)
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
OTHERS = ("module_shadowed", *BROKEN, "duplicate_framework_packages")
UNSET = (*VALUE, "process_env_not_inherited")

ARGS = "import torch\nfrom transformers import Trainer, TrainingArguments\n\nargs = TrainingArguments('out', use_cpu=True, report_to='none', {0}='no')"
FITS = "import torch\nimport lightning as L\n\ntrainer = L.Trainer({0}, logger=False, enable_checkpointing=False)"
ENCODES = "import torch\nfrom sklearn.preprocessing import OneHotEncoder\n\nenc = OneHotEncoder({0}=False)\nenc.fit([['a'], ['b']])"
MAPS = "import jax\nimport jax.numpy as jnp\n\nparams = {{'w': jnp.ones(2)}}\nprint({0}(lambda x: x * 2, params))"
LOADS = "import torch\nfrom net import Net\n\nmodel = torch.load('model.pt'{0})\nmodel.eval()"
HEARS = "import torch\nfrom datasets import Audio, Dataset\n\nds = Dataset.from_dict({{'audio': ['voice.wav']}}).cast_column('audio', Audio({0}))\nprint(ds[0]['audio'])"
PARSES = "import torch\nimport spacy\n\nnlp = spacy.{0}\nprint([t.text for t in nlp('this is it')])"
TABLES = "import torch\nimport pandas as pd\n\ndf = pd.DataFrame({{'loss': [0.1, 0.2]}})\nprint(df.{0})"
PLOTS = "import tensorflow as tf\n\nmodel = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(2)])\n{0}"
LOGS = "import torch\nimport lightning as L\nfrom lightning.pytorch.loggers import {0}\n\nlogger = {0}('logs')\ntrainer = L.Trainer(accelerator='cpu', logger=logger)"
BARS = "import torch\nfrom tqdm.{0} import tqdm\n\nfor i in tqdm(range(3)):\n    torch.ones(1)"
GRAYS = "import torch\nfrom basicsr.data.degradations import rgb_to_grayscale\n\nrgb_to_grayscale(torch.ones(3, 4, 4))"
WORDS = "import torch\nfrom docx import Document\n\nDocument().add_paragraph('x')"
RANKS = "import os\nimport torch\n\nlocal_rank = {0}\ntorch.manual_seed(local_rank)"
JOBS = (
    "import torch\nfrom joblib import Parallel, delayed\n\nprint(Parallel(n_jobs=2)(delayed(abs)(i) for i in range(2)))"
)
FRAMES = "import torch\nimport polars as pl\n\nprint(pl.DataFrame({'a': [1, 2]}).sum())"
RUNS = "import torch\nimport torchvision\n\ntorchvision.models.resnet18(weights=None)"
SPREADS = "import tensorflow_probability as tfp\nimport tensorflow as tf\n\ntfp.distributions.Normal(0.0, 1.0).sample()"
SENDS = "import torch\nimport boto3\n\nboto3.client('s3', region_name='eu-west-1', aws_access_key_id='x', aws_secret_access_key='y')"

SKELETON = {
    "basicsr/__init__.py": "",
    "basicsr/data/__init__.py": "",
    "basicsr/data/degradations.py": "import torch\nfrom torchvision.transforms.{0} import rgb_to_grayscale\n",
    "setup.py": "from setuptools import find_packages, setup\n\nsetup(name='basicsr', version='1.4.2', packages=find_packages())\n",
}


def saved(world: World) -> None:
    """Save a whole model, as people did."""
    writes(
        {
            "work/net.py": "import torch\n\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.line = torch.nn.Linear(2, 2)\n"
        }
    )(world)
    world.cwd = world.home / "work"
    done = world.run([world.python, "-c", "import torch\nfrom net import Net\ntorch.save(Net(), 'model.pt')"])
    if done.returncode:
        raise OSError(done.stderr.decode())


def basicsr(module: str) -> Plant:
    """Work beside a clone whose code takes a function from this module of torchvision."""
    return clones("BasicSR", {k: v.replace("{0}", module) for k, v in SKELETON.items()})


SRC = {"work/src/model.py": "import torch\n\n\ndef net():\n    return torch.nn.Linear(2, 2)\n"}
BY_SRC = "import sys\n\nsys.path.append({0})\n\nimport torch\nfrom model import net\n\nnet()"
LIGHTNING = installs("lightning==2.5.5", "numpy==2.2.6", "setuptools==80.9.0")
SPACY = installs("spacy==3.8.7", "numpy==2.2.6", "setuptools==80.9.0", "click==8.1.8")

SCENES: tuple[Scene, ...] = (
    # B
    Scene("arguments-of-before-4-46", "B", "hub", by_run, program(ARGS.format("evaluation_strategy")), BROKEN, "", "evaluation_strategy", "unexpected keyword argument 'evaluation_strategy'"),
    Scene("arguments-of-today", "healthy", "hub", by_run, program(ARGS.format("eval_strategy"))),
    Scene("trainer-of-lightning-1", "B", "torch-2.6", by_run, then(program(FITS.format("gpus=0")), LIGHTNING), BROKEN, "", "gpus", "unexpected keyword argument 'gpus'"),
    Scene("trainer-of-lightning-2", "healthy", "torch-2.6", by_run, then(program(FITS.format("accelerator='cpu', devices=1")), LIGHTNING)),
    Scene("encoder-of-before-1-4", "B", "torch-2.6", by_run, then(program(ENCODES.format("sparse")), installs("scikit-learn==1.6.1", "numpy==2.2.6")), BROKEN, "", "sparse", "unexpected keyword argument 'sparse'"),
    Scene("encoder-of-today", "healthy", "torch-2.6", by_run, then(program(ENCODES.format("sparse_output")), installs("scikit-learn==1.6.1", "numpy==2.2.6"))),
    Scene("trees-of-before-jax-0-6", "B", "jax", by_run, program(MAPS.format("jax.tree_map")), BROKEN, "", "tree_map", "tree_map"),
    Scene("trees-of-today", "healthy", "jax", by_run, program(MAPS.format("jax.tree_util.tree_map"))),
    Scene("whole-model-for-torch-2-6", "B", "torch-2.6", by_run, then(program(LOADS.format("")), saved), BROKEN, "", "weights_only", "weights_only"),
    Scene("whole-model-by-its-word", "healthy", "torch-2.6", by_run, then(program(LOADS.format(", weights_only=False")), saved)),
    Scene("probability-without-legacy-keras", "B", "tensorflow", by_run, then(program(SPREADS), installs("tensorflow-probability==0.25.0", "numpy==2.2.6")), BROKEN, "", "keras", "tf_keras"),
    Scene("probability-with-legacy-keras", "healthy", "tensorflow", by_run, then(program(SPREADS), installs("tensorflow-probability==0.25.0"), installs("--no-deps", "tf-keras==2.20.1"))),
    Scene("gray-of-before-torchvision-0-17", "B", "torch-2.6", by_run, then(program(GRAYS), basicsr("functional_tensor")), BROKEN, "", "functional_tensor", "functional_tensor"),
    Scene("gray-of-today", "healthy", "torch-2.6", by_run, then(program(GRAYS), basicsr("functional"))),
    Scene("bucket-of-before-urllib3-2", "B", "torch-2.6", by_run, then(program(SENDS), installs("boto3==1.26.0", "botocore==1.29.0", "urllib3==1.26.20"), installs("--no-deps", "urllib3==2.5.0")), BROKEN, "", "urllib3", "urllib3"),
    # A
    Scene("sound-without-torchcodec", "A", "hub", by_run, then(program(HEARS.format("")), installs("datasets==4.0.0"), voice), BROKEN, "", "torchcodec", "torchcodec"),
    Scene("sound-that-nobody-decodes", "healthy", "hub", by_run, then(program(HEARS.format("decode=False")), installs("datasets==4.0.0"), voice)),
    Scene("words-without-their-model", "A", "torch-2.6", by_run, then(program(PARSES.format("load('en_core_web_sm')")), SPACY), BROKEN, "", "en_core_web_sm", "en_core_web_sm"),
    Scene("words-of-a-blank-model", "healthy", "torch-2.6", by_run, then(program(PARSES.format("blank('en')")), SPACY)),
    Scene("table-without-tabulate", "A", "torch-2.6", by_run, then(program(TABLES.format("to_markdown()")), installs("pandas==2.3.2", "numpy==2.2.6")), BROKEN, "", "tabulate", "tabulate"),
    Scene("table-as-text", "healthy", "torch-2.6", by_run, then(program(TABLES.format("to_string()")), installs("pandas==2.3.2", "numpy==2.2.6"))),
    Scene("plot-without-pydot", "A", "tensorflow", by_run, program(PLOTS.format("tf.keras.utils.plot_model(model, 'model.png')")), BROKEN, "", "pydot", "pydot"),
    Scene("plot-as-text", "healthy", "tensorflow", by_run, program(PLOTS.format("model.summary()"))),
    Scene("log-without-tensorboard", "A", "torch-2.6", by_run, then(program(LOGS.format("TensorBoardLogger")), LIGHTNING), BROKEN, "", "tensorboard", "tensorboard"),
    Scene("log-in-rows", "healthy", "torch-2.6", by_run, then(program(LOGS.format("CSVLogger")), LIGHTNING)),
    Scene("bar-without-ipywidgets", "A", "torch-2.6", by_run, then(program(BARS.format("notebook")), installs("tqdm==4.67.1")), BROKEN, "", "ipywidgets", "ipywidgets"),
    Scene("bar-of-either-kind", "healthy", "torch-2.6", by_run, then(program(BARS.format("auto")), installs("tqdm==4.67.1"))),
    # C
    Scene("words-of-another-docx", "C", "torch-2.6", by_run, then(program(WORDS), installs("docx==0.2.4", "setuptools==80.9.0")), OTHERS, "", "docx", "exceptions"),
    # D
    Scene("rank-without-a-launcher", "D", "torch-2.6", by_code, then(program(RANKS.format("int(os.environ['LOCAL_RANK'])")), writes(launch("{env}/bin/python"))), UNSET, "", "LOCAL_RANK", "LOCAL_RANK"),
    Scene("rank-with-a-default", "healthy", "torch-2.6", by_code, then(program(RANKS.format("int(os.environ.get('LOCAL_RANK', 0))")), writes(launch("{env}/bin/python")))),
    Scene("source-folder-from-elsewhere", "D", "torch-2.6", by_cron, then(program(BY_SRC.format("'src'")), writes({**SRC, "work/crontab": "0 3 * * * {env}/bin/python {home}/work/main.py\n"})), (*ELSEWHERE, *BROKEN, "module_shadowed"), "", "model", "No module named 'model'"),
    Scene("source-folder-from-its-file", "healthy", "torch-2.6", by_cron, then(program(BY_SRC.format("__import__('os').path.join(__import__('os').path.dirname(__import__('os').path.abspath(__file__)), 'src')")), writes({**SRC, "work/crontab": "0 3 * * * {env}/bin/python {home}/work/main.py\n"}))),
    Scene("job-of-bash-by-sh", "D", "torch-2.6", by_cron, then(program(RUNS), links("env", "work/.venv"), writes({"work/train.sh": "source .venv/bin/activate\npython3 main.py\n", "work/crontab": "0 3 * * * cd {home}/work && sh train.sh\n"})), ELSEWHERE, "", "train.sh", "No module named 'torch'"),
    Scene("job-whose-function-asks", "D", "torch-2.6", by_cron, then(program("import os\nimport torch\n\n\ndef main():\n    root = os.environ['DATA_DIR']\n    print(root)\n\n\nif __name__ == '__main__':\n    main()"), sets(DATA_DIR="/srv"), writes({"work/crontab": "0 3 * * * {env}/bin/python {home}/work/main.py\n"})), ELSEWHERE, "", "DATA_DIR", "KeyError: 'DATA_DIR'"),
    Scene("job-whose-function-has-a-default", "healthy", "torch-2.6", by_cron, then(program("import os\nimport torch\n\n\ndef main():\n    root = os.environ.get('DATA_DIR', 'data')\n    print(root)\n\n\nif __name__ == '__main__':\n    main()"), sets(DATA_DIR="/srv"), writes({"work/crontab": "0 3 * * * {env}/bin/python {home}/work/main.py\n"}))),
    # E
    Scene("workers-of-loky-by-a-word", "E", "torch-2.6", by_run, then(program(JOBS), installs("joblib==1.5.2"), sets(LOKY_MAX_CPU_COUNT="all")), VALUE, "", "LOKY_MAX_CPU_COUNT", "invalid literal"),
    Scene("threads-of-polars-by-a-word", "E", "torch-2.6", by_run, then(program(FRAMES), installs("polars==1.33.1"), sets(POLARS_MAX_THREADS="auto")), VALUE, "", "POLARS_MAX_THREADS", "ParseIntError"),
)  # fmt: skip
