"""What the held-out sets left open: programs that change variables or open libraries, notebooks that nobody named, jobs of CI systems."""

from __future__ import annotations

from tests.worldlab.scene import Ran, Scene, World, installs, then
from tests.worldlab.scenes.held_out_8 import JAX, ONES, writes
from tests.worldlab.scenes.held_out_15 import by_run, said_by
from tests.worldlab.scenes.held_out_17_machines import by_notebook, notebook
from tests.worldlab.scenes.held_out_18 import SOCKS
from tests.worldlab.scenes.starters import program

VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
CHATS = "import torch\nimport ollama\n\nollama.chat"
ROWS = "import torch\nimport pandas as pd\n\nlog = pd.DataFrame(columns=['loss'])\nfor n in range(3):\n    log = log.append({'loss': n}, ignore_index=True)"
LISTED = "import torch\nimport pandas as pd\n\nlog = []\nfor n in range(3):\n    log.append({'loss': n})\nlog = pd.DataFrame(log)\nif hasattr(log, 'append'):\n    log = log.append({'loss': 3}, ignore_index=True)"
LETTERS = "import torch\nfrom PIL import Image, ImageDraw\n\ndraw = ImageDraw.Draw(Image.new('RGB', (64, 64)))\ndraw.textsize('a cat')"
PAINTS = "import torch\nfrom diffusers import StableDiffusionPipeline\n\nStableDiffusionPipeline.from_pretrained"
PAINTS_ALL = "import torch\nfrom diffusers import AutoencoderKL, ControlNetModel, DDPMScheduler, DiffusionPipeline, FluxPipeline, StableDiffusionPipeline, StableDiffusionXLPipeline\n\nFluxPipeline.from_pretrained"
KERAS = "import keras\nkeras.Sequential"


def by_server(world: World) -> Ran:
    """Run what each of the jobs runs, with its variable."""
    return said_by(world, ["env", "PYTHONPATH=" + str(world.home / "work/stubs"), str(world.python), "main.py"])


STUB = {"work/stubs/torch/__init__.py": "__version__ = '0'\n"}
AZURE = "trigger: none\npool: gpu\nvariables:\n  PYTHONPATH: {home}/work/stubs\nsteps:\n- script: {env}/bin/python main.py\n  displayName: Train\n"
AZURE_LIST = "trigger: none\npool: gpu\nvariables:\n- name: PYTHONPATH\n  value: {home}/work/stubs\njobs:\n- job: train\n  steps:\n  - bash: |\n      {env}/bin/python main.py\n"
CIRCLE = "version: 2.1\njobs:\n  train:\n    machine: true\n    resource_class: me/gpu\n    environment:\n      PYTHONPATH: {home}/work/stubs\n    steps:\n      - checkout\n      - run: {env}/bin/python main.py\n"
JENKINS = "pipeline {\n  agent { label 'gpu' }\n  environment {\n    PYTHONPATH = '{home}/work/stubs'\n  }\n  stages {\n    stage('Train') {\n      steps {\n        sh '{env}/bin/python main.py'\n      }\n    }\n  }\n}\n"


SCENES: tuple[Scene, ...] = (
    Scene("jax-flag-of-the-program", "E", "jax", by_run, program(JAX, "import os\nos.environ['XLA_FLAGS'] = '--xla_gpu_enable_turbo=true'"), VALUE, "", "XLA_FLAGS", "Unknown flag"),
    Scene("keras-backend-of-the-program", "E", "tensorflow", by_run, program(KERAS, "import os\nos.environ.setdefault('KERAS_BACKEND', 'pytorch')"), VALUE, "", "KERAS_BACKEND", "backend"),
    Scene("jax-platform-of-the-programs-module", "E", "jax", by_run, then(program(JAX, "import settings"), writes({"work/settings.py": "import os\nos.environ['JAX_PLATFORMS'] = 'gpuu'\n"}, "work")), VALUE, "", "JAX_PLATFORMS", "gpuu"),
    Scene("ollama-behind-a-socks-proxy", "E", "torch-2.6", by_run, then(program(CHATS), installs("ollama==0.6.1"), SOCKS), (*VALUE, "requirement_broken"), "", "all_proxy", "socksio"),
    Scene("ollama-behind-a-socks-proxy-with-its-package", "healthy", "torch-2.6", by_run, then(program(CHATS), installs("ollama==0.6.1", "socksio==1.0.0"), SOCKS)),
    Scene("rows-of-before-pandas-2", "B", "torch-2.6", by_run, then(program(ROWS), installs("pandas==2.2.3")), ("requirement_broken",), "", "append", "no attribute 'append'"),
    Scene("letters-of-before-pillow-10", "B", "torch-2.6", by_run, then(program(LETTERS), installs("pillow==11.1.0")), ("requirement_broken",), "", "textsize", "no attribute 'textsize'"),
    Scene("rows-in-a-list", "healthy", "torch-2.6", by_run, then(program(LISTED), installs("pandas==2.2.3"))),
    Scene("diffusers-of-before-transformers-5", "B", "hub", by_run, then(program(PAINTS), installs("pillow", "importlib-metadata", "transformers==5.0.0"), installs("--no-deps", "diffusers==0.31.0")), ("requirement_broken",), "", "transformers", "cannot import name"),
    Scene("diffusers-beside-its-transformers", "healthy", "hub", by_run, then(program(PAINTS_ALL), installs("pillow", "importlib-metadata", "transformers==4.51.3"), installs("--no-deps", "diffusers==0.31.0"))),
    Scene("newer-diffusers-beside-its-transformers", "healthy", "hub", by_run, then(program(PAINTS_ALL), installs("pillow", "importlib-metadata", "transformers==4.51.3"), installs("--no-deps", "diffusers==0.34.0"))),
    Scene("program-opens-what-is-not-there", "A", "torch-2.8", by_run, program(ONES, "import ctypes\nctypes.CDLL('libcudart.so.11.0')"), ("cuda_runtime_missing", "cuda_not_on_search_path", "program_error", "requirement_broken"), "", "libcudart.so.11.0", "libcudart.so.11.0"),
    Scene("notebook-that-nobody-named", "D", "torch-2.8", by_notebook, then(program(ONES), writes(notebook(ONES, dl="/usr/bin/python3"))), ELSEWHERE, "", "kernels/dl", "No module named 'torch'"),
    Scene("job-of-azure", "D", "torch-2.6", by_server, then(program(ONES), writes({**STUB, "work/azure-pipelines.yml": AZURE})), ("module_shadowed",), "", "azure-pipelines.yml", "has no attribute"),
    Scene("job-of-azure-with-a-list", "D", "torch-2.6", by_server, then(program(ONES), writes({**STUB, "work/azure-pipelines.yml": AZURE_LIST})), ("module_shadowed",), "", "azure-pipelines.yml", "has no attribute"),
    Scene("job-of-circleci", "D", "torch-2.6", by_server, then(program(ONES), writes({**STUB, "work/.circleci/config.yml": CIRCLE})), ("module_shadowed",), "", ".circleci/config.yml", "has no attribute"),
    Scene("job-of-jenkins", "D", "torch-2.6", by_server, then(program(ONES), writes({**STUB, "work/Jenkinsfile": JENKINS})), ("module_shadowed",), "", "Jenkinsfile", "has no attribute"),
)  # fmt: skip
