"""The seventh held-out set, classes D and E: ways of starting and variables, by the person who had just mended the rules for both.

Committed before the first run, and scored once. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.worldlab.scene import Scene, World, imports, installs, runs, then
from tests.worldlab.scenes.held_out import CT2_PATHS, CUBLAS, NOT_SEARCHED, SHADOWED, STUB, VALUE, command, sets, writes
from tests.worldlab.scenes.held_out_2 import TF_KERAS
from tests.worldlab.scenes.held_out_3 import TORCH
from tests.worldlab.scenes.starters import ONES, by_unit, program, runnable, started, unit_text

BROKEN = (*VALUE, "requirement_broken")
OLD = "/usr/local/cuda-11.8/lib64"
UNITS = ".config/systemd/user"
STUBS = {"stubs/torch/__init__.py": STUB}
GROUP = runs(
    "import torch.distributed as d; d.init_process_group('gloo', init_method='env://'); print(d.get_world_size()); d.destroy_process_group()"
)
STATE = runs("import torch; from accelerate import Accelerator; print(Accelerator(cpu=True).mixed_precision)")
LOGGER = runs("import torch; from accelerate.logging import get_logger; get_logger('mine')")
HUGGING = installs("transformers==4.51.3", "accelerate==1.6.0", "numpy==2.2.6")


def of_taskfile(world: World) -> Sequence[str | Path]:
    """Start as go-task does: with the file's env (its documentation, "Environment variables")."""
    return ["env", f"PYTHONPATH={world.home}/work/stubs", world.python]


def of_gunicorn(world: World) -> Sequence[str | Path]:
    """Import the application as gunicorn does: raw_env is set before (its documentation, "Settings")."""
    return ["env", "XLA_FLAGS=--xla_gpu_enable_my_fusion=true", world.python]


def kept_by_poetry(world: World) -> None:
    """Let the environment lie where Poetry keeps it, which leads to the scene's own."""
    work = world.home / "work"
    digest = base64.urlsafe_b64encode(hashlib.sha256(os.path.realpath(work).encode()).digest()).decode()[:8]
    folder = world.home / ".cache/pypoetry/virtualenvs"
    folder.mkdir(parents=True)
    (folder / f"train-{digest}-py3.11").symlink_to(world.prefix)
    poetry = world.home / ".local/bin/poetry"  # what it does with "run": the environment's bin comes first
    poetry.parent.mkdir(parents=True, exist_ok=True)
    poetry.write_text(f'#!/bin/sh\nshift\nPATH={world.prefix}/bin:$PATH exec "$@"\n')
    poetry.chmod(0o755)
    world.variables["PATH"] = f"{poetry.parent}:/usr/local/bin:/usr/bin:/bin"


def torchrun(world: World) -> None:
    """Let the environment's torchrun start this Python: its first line is the master's."""
    script = world.prefix / "bin/torchrun"
    if script.exists():
        world.own(script)
    script.write_text(f"#!{world.python}\nimport sys\nfrom torch.distributed.run import main\nsys.exit(main())\n")
    script.chmod(0o755)


def reads_in_order(world: World) -> None:
    """The shell of the account is bash."""
    world.variables["SHELL"] = shutil.which("bash") or "/bin/bash"


SCENES: tuple[Scene, ...] = (
    # --- D
    # https://github.com/tensorflow/tensorflow/issues/21801: a service by bash -c, behind wrappers
    Scene("ctranslate2-service-by-a-chain", "D", "ctranslate2", by_unit, then(CT2_PATHS, writes({f"{UNITS}/whisper.service": unit_text("", "/usr/bin/nice -n 5 /usr/bin/flock -n {home}/lock /bin/bash -c 'source {home}/env.sh && exec {env}/bin/python {home}/work/main.py'"), "env.sh": f"# CUDA\nexport LD_LIBRARY_PATH={OLD}:$LD_LIBRARY_PATH\n"}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "env.sh", "libcublas"),
    # class only
    Scene("torch-by-make-that-includes", "D", "torch-2.6", started("make", "train"), then(writes({"work/Makefile": "include mk/env.mk\n\ntrain:\n\t{env}/bin/python main.py\n", "work/mk/env.mk": "export PYTHONPATH = $(CURDIR)/stubs\n", "work/stubs/torch/__init__.py": STUB}), program(ONES)), SHADOWED, "torch", "env.mk", "has no attribute"),
    # class only
    Scene("torch-by-a-taskfile", "D", "torch-2.6", command(of_taskfile, ONES), then(writes({"work/Taskfile.yml": "version: '3'\nenv:\n  PYTHONPATH: '{{.TASKFILE_DIR}}/stubs'\ntasks:\n  train:\n    cmds:\n      - {env}/bin/python main.py\n", "work/stubs/torch/__init__.py": STUB}), program(ONES)), SHADOWED, "torch", "Taskfile.yml", "has no attribute"),
    # class only
    Scene("torch-in-a-workspace-of-vscode", "D", "torch-2.6", command(of_taskfile, ONES), then(writes({"work/train.code-workspace": '{"folders": [{"path": "."}],\n "settings": {"terminal.integrated.env.linux": {\n  "PYTHONPATH": "{home}/work/stubs"}}}\n', "work/stubs/torch/__init__.py": STUB}), program(ONES)), SHADOWED, "torch", "train.code-workspace", "has no attribute"),
    # class only
    Scene("ctranslate2-by-a-script-that-exports-all", "D", "ctranslate2", started("{home}/work/serve.sh"), then(CT2_PATHS, writes({"work/serve.sh": '#!/usr/bin/env bash\nset -euo pipefail\ncd "$(dirname "$0")"\nset -a\n. ./gpu.env\nset +a\nexec {env}/bin/python main.py "$@"\n', "work/gpu.env": f"WORKERS=2\nLD_LIBRARY_PATH={OLD}\n"}), runnable("work/serve.sh"), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "gpu.env", "libcublas"),
    # class only
    Scene("torch-by-torchrun-in-a-script", "D", "torch-2.6", started("{home}/work/train.sh"), then(torchrun, writes({"work/train.sh": "#!/bin/bash\nexport PYTHONPATH=./stubs:${PYTHONPATH:-}\nexport OMP_NUM_THREADS=1\n{env}/bin/torchrun --standalone --nproc-per-node=1 main.py \\\n  --epochs 3 \\\n  2>&1\n", "work/stubs/torch/__init__.py": STUB}), runnable("work/train.sh"), program(ONES)), SHADOWED, "torch", "train.sh", "torch"),
    # class only
    Scene("torch-service-with-bash-env", "D", "torch-2.6", by_unit, then(writes({f"{UNITS}/train.service": unit_text("Environment=BASH_ENV={home}/.noninteractive\n", "/bin/bash -c '{env}/bin/python {home}/work/main.py'"), ".noninteractive": "export PYTHONPATH=$HOME/stubs\n", **STUBS}), program(ONES)), SHADOWED, "torch", ".noninteractive", "has no attribute"),
    # class only
    Scene("jax-by-gunicorn", "D", "jax", command(of_gunicorn, "import jax; jax.devices('cpu')"), then(installs("gunicorn==23.0.0", "packaging"), writes({"work/gunicorn.conf.py": "bind = '127.0.0.1:8000'\nworkers = 1\nraw_env = ['XLA_FLAGS=--xla_gpu_enable_my_fusion=true']\n", "work/serve.sh": "#!/bin/sh\nexec {env}/bin/gunicorn main:app\n"}, "work"), runnable("work/serve.sh")), VALUE, "", "gunicorn.conf.py", "Unknown flag"),
    # https://github.com/python-poetry/poetry/issues/2779: another environment variable beneath Poetry
    Scene("ctranslate2-by-poetry-and-make", "D", "ctranslate2", started("make", "serve"), then(CT2_PATHS, kept_by_poetry, writes({"work/pyproject.toml": '[project]\nname = "train"\nversion = "0"\n', "work/Makefile": f"export LD_LIBRARY_PATH = {OLD}\n.PHONY: serve\nserve:\n\tpoetry run python main.py\n"}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "Makefile", "libcublas"),
    # https://github.com/spyder-ide/spyder/issues/8407: a launcher gets what a shell's file says
    Scene("torch-launcher-through-a-shell", "D", "torch-2.6", started("bash", "-ic", "cd {home}/work && {env}/bin/python main.py"), then(reads_in_order, writes({".local/share/applications/train.desktop": '[Desktop Entry]\nType=Application\nName=Train\nExec=bash -ic "cd {home}/work && {env}/bin/python main.py"\nTerminal=true\n', ".bashrc": "PS1='$ '\nexport PYTHONPATH=~/stubs\n", **STUBS}), program(ONES)), SHADOWED, "torch", ".bashrc", "has no attribute"),
    # --- E
    # https://github.com/pydata/numexpr/issues/421
    Scene("numexpr-threads-of-each-level", "E", "torch-2.8", imports("torch", "numexpr"), then(installs("numexpr==2.10.2", "numpy==2.2.6"), sets(OMP_NUM_THREADS="4,3,2")), VALUE, "", "OMP_NUM_THREADS", "4,3,2"),
    # https://github.com/Xilinx/brevitas-radioml-challenge-21/issues/5
    Scene("matplotlib-backend-for-notebooks", "E", "torch-2.8", imports("torch", "matplotlib.pyplot"), then(installs("matplotlib==3.9.2", "numpy==2.2.6"), sets(MPLBACKEND="module://matplotlib_inline.backend_inline")), BROKEN, "", "MPLBACKEND", "matplotlib_inline"),
    # class only
    Scene("accelerate-steps-in-words", "E", "torch-2.6", STATE, then(HUGGING, sets(ACCELERATE_GRADIENT_ACCUMULATION_STEPS="auto")), VALUE, "", "ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "auto"),
    # class only
    Scene("accelerate-level-that-is-none", "E", "torch-2.6", LOGGER, then(HUGGING, sets(ACCELERATE_LOG_LEVEL="verbose")), VALUE, "", "ACCELERATE_LOG_LEVEL", "VERBOSE"),
    # class only
    Scene("transformers-told-to-leave-torch", "E", "torch-2.6", runs("import torch; from transformers import BertModel; BertModel.from_pretrained"), then(HUGGING, sets(USE_TORCH="0", USE_TF="1")), VALUE, "", "USE_T", "requires the PyTorch"),
    # class only
    Scene("jax-collectives-of-the-gpu", "E", "jax", runs("import jax; jax.devices('cpu')"), sets(JAX_CPU_COLLECTIVES_IMPLEMENTATION="nccl"), VALUE, "", "JAX_CPU_COLLECTIVES_IMPLEMENTATION", "nccl"),
    # class only
    Scene("keras-epsilon-in-quotes", "E", "tensorflow", TF_KERAS, writes({".keras/keras.json": '{"floatx": "float32", "epsilon": "1e-07", "backend": "tensorflow"}\n'}), VALUE, "", "keras.json", "epsilon"),
    # class only
    Scene("python-digits-below-the-least", "E", "torch-2.6", TORCH, sets(PYTHONINTMAXSTRDIGITS="100"), (*VALUE, "python_environment_broken"), "", "PYTHONINTMAXSTRDIGITS", "PYTHONINTMAXSTRDIGITS"),
    # https://github.com/pytorch/pytorch/issues/67172
    Scene("torch-port-above-all-ports", "E", "torch-2.8", GROUP, sets(MASTER_ADDR="localhost", MASTER_PORT="123456", RANK="0", WORLD_SIZE="1"), VALUE, "", "MASTER_PORT", "123456"),
    # class only
    Scene("python-libraries-of-another-layout", "E", "torch-2.6", TORCH, sets(PYTHONPLATLIBDIR="lib64"), (*VALUE, "python_environment_broken"), "", "PYTHONPLATLIBDIR", ""),
    # --- odd, and healthy
    # class only: a list of levels and words that OpenMP, Intel's library and MKL take
    Scene("odd-words-of-openmp", "healthy", "torch-2.8", runs(ONES), sets(OMP_NUM_THREADS="4,2", OMP_PROC_BIND="close", OMP_PLACES="cores", OMP_SCHEDULE="dynamic,4", KMP_AFFINITY="granularity=fine,compact,1,0", KMP_BLOCKTIME="1", MKL_THREADING_LAYER="GNU", MKL_NUM_THREADS="2")),
    # class only
    Scene("odd-words-of-accelerate", "healthy", "torch-2.6", STATE, then(HUGGING, sets(ACCELERATE_MIXED_PRECISION="bf16", ACCELERATE_LOG_LEVEL="info", ACCELERATE_DYNAMO_BACKEND="no", ACCELERATE_USE_CPU="yes", ACCELERATE_GRADIENT_ACCUMULATION_STEPS="4"))),
    # class only
    Scene("odd-numbers-for-the-hub", "healthy", "torch-2.6", imports("torch", "datasets", "transformers"), then(installs("transformers==4.51.3", "datasets==3.6.0", "numpy==2.2.6"), sets(HF_DATASETS_IN_MEMORY_MAX_SIZE="1e9", HF_HUB_ETAG_TIMEOUT="10", HF_DATASETS_CACHE="{home}/data", TRANSFORMERS_VERBOSITY="loud", TOKENIZERS_PARALLELISM="maybe", HF_HUB_DISABLE_PROGRESS_BARS="ON", HF_DATASETS_OFFLINE="0", USE_TORCH="AUTO"))),
    # class only: a job of one process
    Scene("odd-job-of-slurm", "healthy", "torch-2.8", GROUP, sets(MASTER_ADDR="localhost", MASTER_PORT="29511", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", SLURM_JOB_ID="17", SLURM_NTASKS="1", SLURM_NODELIST="gpu[01-02]", NCCL_DEBUG="WARN", TORCH_NCCL_ASYNC_ERROR_HANDLING="1")),
    # class only
    Scene("odd-ecosystem-of-pm2", "healthy", "ctranslate2", runs(CUBLAS), then(CT2_PATHS, writes({"work/ecosystem.config.js": "const path = require('path')\nmodule.exports = {\n  apps: [{ name: 'whisper', script: 'main.py', interpreter: '{env}/bin/python', env: { WORKERS: 2, HF_HUB_OFFLINE: '1' } },\n    { name: 'old', script: path.join(__dirname, 'x.py'), env: { LD_LIBRARY_PATH: '/opt/gone' } }],\n}\n", "work/Taskfile.yml": "version: '3'\nenv:\n  LD_LIBRARY_PATH: /opt/gone\n", "actions-runner/.env": "LANG=C.UTF-8\nLD_LIBRARY_PATH=/opt/gone\n"}), program(CUBLAS))),
    # class only
    Scene("odd-file-of-keras-with-more", "healthy", "tensorflow", runs("import keras; print(keras.backend.backend())"), writes({".keras/keras.json": '{\n    "floatx": "float16",\n    "epsilon": 1e-07,\n    "backend": "tensorflow",\n    "image_data_format": "channels_first",\n    "mine": "theano"\n}\n'})),
    # class only
    Scene("odd-words-of-tensorflow", "healthy", "tensorflow", TF_KERAS, sets(TF_CPP_MIN_LOG_LEVEL="2", TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_VMODULE="gpu_device=2", TF_CONFIG='{{"cluster": {{"worker": ["localhost:12345"]}}, "task": {{"type": "worker", "index": 0}}}}', KERAS_HOME="{home}/keras", TF_NUM_INTRAOP_THREADS="2")),
    # class only
    Scene("odd-words-of-jax", "healthy", "jax", runs("import jax; jax.devices('cpu')"), sets(JAX_LOGGING_LEVEL="WARNING", JAX_DEBUG_LOG_MODULES="jax._src.cache_key", JAX_COMPILATION_CACHE_MAX_SIZE="-1", JAX_CPU_COLLECTIVES_IMPLEMENTATION="gloo", XLA_PYTHON_CLIENT_PREALLOCATE="false", JAX_NUM_CPU_DEVICES="2", JAX_DEFAULT_MATMUL_PRECISION="high", JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="1e-1")),
)  # fmt: skip
