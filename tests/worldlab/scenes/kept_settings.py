"""Variables and files of settings that people keep (class E), as public threads tell of them: written before a scan had seen any of them."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.worldlab.scene import Ran, Scene, World, installs, then
from tests.worldlab.scenes.held_out_8 import ONES, sets, writes
from tests.worldlab.scenes.held_out_15 import by_run, said_by
from tests.worldlab.scenes.held_out_17_machines import accelerated, script
from tests.worldlab.scenes.held_out_19 import ALLOCATES
from tests.worldlab.scenes.starters import program

VALUE = ("variable_value_wrong",)
BROKEN = ("requirement_broken",)
ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")

EXPRESSIONS = "import torch\nimport numexpr\n\nnumexpr.evaluate('1 + 1')"
TRACKS = "import torch\nimport wandb\n\nwandb.init(project='speech', dir='.')"
FRAMES = "import torch\nimport dask\n\ndask.delayed(sum)([1, 2]).compute()"
CHATS = "import torch\nfrom openai import OpenAI\n\nOpenAI(api_key='x')"
DEMO = "import torch\nimport gradio as gr\n\ngr.Interface"
WALKS = "import torch\nimport mujoco\n\nmujoco.MjModel.from_xml_string('<mujoco/>')"
LOGS = "import torch\nimport mlflow\n\nmlflow.set_experiment('speech')"
LIGHTNING = "import torch\nimport lightning as L\n\nL.Trainer(accelerator='cpu', devices=1, logger=False, enable_checkpointing=False)"
TRAINS = "import torch\nfrom accelerate import Accelerator\n\nAccelerator(cpu=True)"
SETTINGS = (
    "import torch\nfrom pydantic_settings import BaseSettings, SettingsConfigDict\n\n\n"
    "class Settings(BaseSettings):\n    model_config = SettingsConfigDict(env_file='.env'{more})\n\n    model: str = 'small'\n\n\nSettings()"
)
LOADS = (
    "import torch\nfrom datasets import Dataset\n\nDataset.from_generator(lambda: ({'text': str(i)} for i in range(3)))"
)
ZONES = "import torch\nimport tzlocal\n\ntzlocal.get_localzone()"
PLOTS = "import torch\nimport matplotlib.pyplot as plt\n\nplt.plot([1, 2])\nplt.savefig('loss.png')"
NOTES = {"work/.env": "# local\nMODEL=large\nOPENAI_API_KEY=sk-x\n"}
GLOO = "import torch, torch.distributed as dist\n\ndist.init_process_group('gloo', rank=0, world_size=1, init_method='tcp://127.0.0.1:29751')\ndist.destroy_process_group()"


def by_uv(world: World) -> Ran:
    """Run the person's script, in which uv starts the program."""
    path = f"PATH={Path(sys.executable).parent}:{world.environment()['PATH']}"
    return said_by(world, ["env", path, "UV_OFFLINE=1", "bash", "run.sh"])


def by_streamlit(world: World) -> Ran:
    """Let Streamlit read its settings, as ``streamlit run`` does first of all."""
    code = "from streamlit import config; config.get_config_options(); print(config.get_option('server.port')); print('this works')"
    return said_by(world, [str(world.python), "-c", code])


def launched(world: World) -> Ran:
    """Launch the program with the answers that were given to ``accelerate config``."""
    return said_by(world, [str(world.python), "-m", "accelerate.commands.launch", "main.py"])


WANDB = installs("wandb==0.22.3")
OPENAI = installs("openai==2.6.1")
DASK = installs("dask==2025.9.1")
MLFLOW = installs("mlflow-skinny==3.5.1")
PYDANTIC = installs("pydantic-settings==2.11.0")
FOR_LIGHTNING = installs("lightning==2.5.5")

SCENES: tuple[Scene, ...] = (
    # https://github.com/pydata/numexpr/issues/421: a list, as OpenMP has it
    Scene("threads-of-numexpr-by-a-list", "E", "torch-2.6", by_run, then(program(EXPRESSIONS), installs("numexpr==2.13.1"), sets(OMP_NUM_THREADS="4,2")), VALUE, "", "OMP_NUM_THREADS", "4,2"),
    # what people set for the tests of one day, and leave
    Scene("python-with-utf-8-by-its-name", "E", "torch-2.6", by_run, then(program(ONES), sets(PYTHONUTF8="utf-8")), VALUE, "", "PYTHONUTF8", "invalid PYTHONUTF8"),
    # https://github.com/wandb/wandb/issues: off in place of disabled
    Scene("tracker-switched-off-by-another-word", "E", "torch-2.6", by_run, then(program(TRACKS), WANDB, sets(WANDB_MODE="off")), VALUE, "", "WANDB_MODE", "'offline'"),
    # https://github.com/dask/dask/issues/8361: a tab in a file of settings stops the import
    Scene("settings-of-dask-with-a-tab", "E", "torch-2.6", by_run, then(program(FRAMES), DASK, writes({".config/dask/dask.yaml": "distributed:\n  worker:\n\tmemory: 1\n"})), VALUE, "", "dask.yaml", "dask.yaml"),
    # a password with a hash in it: what follows is no host
    Scene("proxy-with-a-hash-in-its-password", "E", "torch-2.6", by_run, then(program(CHATS), OPENAI, sets(https_proxy="http://me:p#ss@127.0.0.1:7890")), VALUE, "", "https_proxy", "Invalid port"),
    # the advice of every message about memory, in small letters
    Scene("allocator-with-a-truth-in-small-letters", "E", "torch-2.8", by_run, then(program(ALLOCATES), sets(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:true")), VALUE, "", "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments"),
    # https://github.com/gradio-app/gradio/issues: Kubernetes and Docker write ports so
    Scene("demo-on-a-port-as-docker-writes-it", "E", "torch-2.6", by_run, then(program(DEMO), installs("gradio==5.49.1"), sets(GRADIO_SERVER_PORT="8080/tcp")), VALUE, "", "GRADIO_SERVER_PORT", "8080/tcp"),
    # https://github.com/google-deepmind/mujoco/issues: MUJOCO_GL has three values
    Scene("simulator-with-a-renderer-that-is-none", "E", "torch-2.6", by_run, then(program(WALKS), installs("mujoco==3.3.7"), sets(MUJOCO_GL="gpu")), VALUE, "", "MUJOCO_GL", "MUJOCO_GL"),
    # https://github.com/mlflow/mlflow/issues/1550: the address of a server without its scheme
    Scene("tracking-server-without-its-scheme", "E", "torch-2.6", by_run, then(program(LOGS), MLFLOW, sets(MLFLOW_TRACKING_URI="localhost:5000")), VALUE, "", "MLFLOW_TRACKING_URI", "localhost:5000"),
    # https://github.com/Lightning-AI/pytorch-lightning/issues/18650: salloc --ntasks, and a program in it
    Scene("trainer-in-an-allocation-of-tasks", "E", "torch-2.6", by_run, then(program(LIGHTNING), FOR_LIGHTNING, sets(SLURM_NTASKS="4", SLURM_JOB_ID="4711", SLURM_JOB_NAME="train")), VALUE, "", "SLURM_NTASKS", "--ntasks"),
    # a folder of caches that cannot be made: XDG_CACHE_HOME of a service
    Scene("caches-in-a-place-that-cannot-be", "E", "hub", by_run, then(program(LOADS), sets(XDG_CACHE_HOME="/proc/cache")), VALUE, "", "XDG_CACHE_HOME", "/proc/cache"),
    # === odd, and healthy
    Scene("odd-threads-by-a-list-without-numexpr", "healthy", "torch-2.6", by_run, then(program(ONES), sets(OMP_NUM_THREADS="4,2"))),
    Scene("odd-threads-by-a-list-beside-numexpr", "healthy", "torch-2.6", by_run, then(program(ONES), installs("numexpr==2.13.1"), sets(OMP_NUM_THREADS="4,2"))),
    Scene("odd-python-with-utf-8", "healthy", "torch-2.6", by_run, then(program(ONES), sets(PYTHONUTF8="1", PYTHONWARNINGS="ignore"))),
    Scene("odd-tracker-switched-off", "healthy", "torch-2.6", by_run, then(program(TRACKS), WANDB, sets(WANDB_MODE="disabled"))),
    Scene("odd-settings-of-dask", "healthy", "torch-2.6", by_run, then(program(FRAMES), DASK, writes({".config/dask/dask.yaml": "distributed:\n  worker:\n    memory:\n      target: 0.6\n"}))),
    Scene("odd-proxy-without-its-scheme", "healthy", "torch-2.6", by_run, then(program(CHATS), OPENAI, sets(https_proxy="127.0.0.1:7890"))),
    Scene("odd-allocator-with-a-truth", "healthy", "torch-2.8", by_run, then(program(ALLOCATES), sets(PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"))),
    Scene("odd-simulator-on-a-server", "healthy", "torch-2.6", by_run, then(program(WALKS), installs("mujoco==3.3.7"), sets(MUJOCO_GL="EGL"))),
    Scene("odd-tracking-in-a-file", "healthy", "torch-2.6", by_run, then(program(LOGS), MLFLOW, sets(MLFLOW_TRACKING_URI="file:./mlruns"))),
    Scene("odd-trainer-in-an-interactive-job", "healthy", "torch-2.6", by_run, then(program(LIGHTNING), FOR_LIGHTNING, sets(SLURM_NTASKS="4", SLURM_JOB_ID="4711", SLURM_JOB_NAME="bash"))),
    Scene("odd-settings-that-leave-lines-out", "healthy", "torch-2.6", by_run, then(program(SETTINGS.replace("{more}", ", extra='ignore'")), PYDANTIC, writes(NOTES))),
    Scene("odd-cluster-of-tensorflow-that-nothing-asks", "healthy", "tensorflow", by_run, then(program("import tensorflow as tf\n\ntf.constant(1)"), sets(TF_CONFIG="{'cluster': {'worker': ['127.0.0.1:2222']}, 'task': {'type': 'worker', 'index': 0}}"))),
    Scene("odd-barrier-by-a-word-without-ranks", "healthy", "torch-2.8", by_run, then(program(ONES), sets(TORCH_DIST_INIT_BARRIER="true"))),
    Scene("odd-certificates-switched-off-as-of-old", "healthy", "hub", by_run, then(program("import torch, requests\n\nrequests.Session()"), sets(CURL_CA_BUNDLE="", TMPDIR="/scratch/gone", TF_CPP_MIN_LOG_LEVEL="ERROR", ACCELERATE_MIXED_PRECISION="float16"))),
    Scene("odd-plots-with-the-notebooks-backend-in-a-file", "healthy", "torch-2.6", by_run, then(program(PLOTS), installs("matplotlib==3.10.3"), writes({".config/matplotlib/matplotlibrc": "backend: module://matplotlib_inline.backend_inline\n"}))),
    # --- kept back while the rules were made, and scanned once
    # https://github.com/huggingface/accelerate/issues: answers that an editor indented with tabs
    Scene("answers-for-accelerate-with-a-tab", "E", "hub", launched, then(program(TRAINS), writes({".cache/huggingface/accelerate/default_config.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nfsdp_config:\n\tfsdp_state: none\nuse_cpu: true\n"})), (*VALUE, *BROKEN), "", "default_config.yaml", "cannot start any token"),
    # what a debug build wants of no other
    Scene("python-with-an-allocator-that-is-none", "E", "torch-2.6", by_run, then(program(ONES), sets(PYTHONMALLOC="jemalloc")), VALUE, "", "PYTHONMALLOC", "PYTHONMALLOC"),
    # https://github.com/pytorch/pytorch/issues: Kubernetes sets MASTER_PORT for a service of the name "master"
    Scene("port-of-a-service-of-kubernetes", "E", "torch-2.6", by_run, then(program(GLOO.replace("rank=0, world_size=1, init_method='tcp://127.0.0.1:29751'", "init_method='env://'")), sets(MASTER_ADDR="127.0.0.1", MASTER_PORT="tcp://10.43.7.1:29500", RANK="0", WORLD_SIZE="1")), VALUE, "", "MASTER_PORT", "tcp://10.43.7.1:29500"),
    # === odd, and healthy
    Scene("odd-answers-for-accelerate-with-blanks", "healthy", "hub", launched, then(program(TRAINS), writes(accelerated("'NO'")))),
    Scene("odd-zone-of-a-capital", "healthy", "torch-2.6", by_run, then(program(ZONES), installs("tzlocal==5.3.1", "tzdata"), sets(TZ="Europe/Berlin"))),
    Scene("odd-zone-of-a-city-that-nothing-asks", "healthy", "torch-2.6", by_run, then(program(ONES), installs("tzlocal==5.3.1"), sets(TZ="Europe/Munich"))),
    Scene("odd-uv-with-the-environments-python", "healthy", "torch-2.6", by_uv, then(program(ONES), sets(UV_PYTHON="{env}/bin/python"), writes(script("uv run --no-project main.py")))),
    Scene("odd-settings-of-streamlit-that-are-no-toml", "healthy", "torch-2.6", by_streamlit, then(program("import torch\nimport streamlit as st\n\nst.title('captions')"), installs("streamlit==1.50.0"), writes({"work/.streamlit/config.toml": "[server]\nport = 8501/tcp\n"}, "work"))),
    Scene("odd-port-of-a-service-that-nothing-asks", "healthy", "torch-2.6", by_run, then(program(ONES), sets(MASTER_PORT="tcp://10.43.7.1:29500"))),
)  # fmt: skip
