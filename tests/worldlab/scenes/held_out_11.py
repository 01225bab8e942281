"""The eleventh held-out set, classes A to E: from public threads and the list of classes, by somebody who has read no rule and no probe.

Committed before the first run. Above each row: the thread that it is made from, or "class only". The last step of each
fault's plant is the fault, and without it the real program works.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess

from tests.worldlab.scene import Ran, Scene, World, cuts, imports, installs, lacks, opens, runs, then
from tests.worldlab.scenes.held_out_8 import JAX, ONES, PROVIDER, TORCH, Plant, calls, moves, searches, sets, writes
from tests.worldlab.scenes.held_out_9 import LIBRARIES, linked, wheel
from tests.worldlab.scenes.held_out_10 import another_environment
from tests.worldlab.scenes.starters import by_unit, named, program, started, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

CUBLAS = opens("nvidia/cublas/lib/libcublas.so.12")
"""What CTranslate2 opens by its name."""
OPENS_CUBLAS = "import ctypes; ctypes.CDLL('libcublas.so.12')"
ONNX = imports("onnxruntime")
RANDOM = runs("import cupy; from cupy_backends.cuda.libs import curand; print(curand.getVersion())")
SLIDES = runs("import torch, openslide; print(openslide.__library_version__)")
SIMULATES = runs("import warp; warp.init()")
COMPILER = runs("from cuda.bindings import nvrtc; print(nvrtc.nvrtcVersion())")
PLOTS = imports("tensorflow", "matplotlib.pyplot")
CUDNN = runs("import torch; print(torch.backends.cudnn.version())")
TENSORS = runs("import cupy; from cupy_backends.cuda.libs import cutensor; print(cutensor.get_version())")
WORDS = runs("import torch; from gensim.models import Word2Vec")
AUGMENTS = runs("import torch, albumentations")
LEGACY = imports("tensorflow", "tf_keras")
DATA = runs("from datasets import Dataset; Dataset.from_dict({'a': [1]})")
TRAINS = (
    "import torch\nfrom transformers import Trainer, TrainingArguments\n"
    "Trainer(torch.nn.Linear(1, 1), TrainingArguments('out', use_cpu=True))"
)
JITS = imports("torch", "triton")
COMPILES = imports("torch", "torch._inductor.config")
PHYSICS = runs("import jax, mujoco; mujoco.MjModel.from_xml_string('<mujoco/>')")
SCREEN = runs("import torch, pygame; pygame.display.init(); print(pygame.display.get_driver())")
LOGS = runs("import jax, wandb; run = wandb.init(project='tiny'); run.log({'loss': 1}); run.finish()")
EXPERIMENTS = runs("import torch, mlflow; mlflow.MlflowClient().search_experiments()")
REVISION = runs("import torch, git; git.Git().version()")
CONFIG = runs("from transformers import AutoConfig; print(AutoConfig.from_pretrained('ada/tiny'))")
SUMS = runs("import torch; torch.set_num_threads(4); print(torch.ones(4000000).sum())")
NOTEBOOK = calls("{env}/bin/jupyter", "nbconvert", "--to", "notebook", "--execute", "--stdout", "train.ipynb")
BY_WEBUI = started("bash", "webui.sh")
BY_UVICORN = started("sh", "serve.sh")
INTERACTIVE = started("bash", "-ic", "{env}/bin/python -i <session.txt")
"""``-i`` is what Python itself assumes at a terminal."""
BY_PDM = started("{env}/bin/pdm", "run", "train")


def by_circus(world: World) -> Ran:
    """Let circusd start its one watcher, and stop it as soon as the program has ended."""
    script = (
        '"$1/bin/circusd" circus.ini >circus.log 2>&1 & p=$!\n'
        "for i in $(seq 300); do [ -e over ] && break; sleep 0.2; done\n"
        "kill $p; wait $p; cat out.log circus.log; rm -f over out.log"
    )
    done = world.run(["bash", "-c", script, "bash", world.prefix])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:])


def by_compose(world: World) -> Ran:
    """Start the one service as ``docker compose up`` does: its command, with its list of variables alone."""
    text = (world.home / "work/compose.yaml").read_text()
    given = re.findall(r"^ +- (\w+=.*)$", text, re.MULTILINE)
    (command,) = re.findall(r"^ +command: (.*)$", text, re.MULTILINE)
    done = world.run(["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, *shlex.split(command)])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:] or f"status {done.returncode}")


def by_task(world: World) -> Ran:
    """Run the editor's one task: its command by a shell, with the variables of its options."""
    (task,) = json.loads((world.home / "work/.vscode/tasks.json").read_text())["tasks"]
    folder = str(world.home / "work")
    given = [f"{k}={v.replace('${workspaceFolder}', folder)}" for k, v in task["options"]["env"].items()]
    done = world.run(["env", *given, "sh", "-c", task["command"].replace("${workspaceFolder}", folder)])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:] or f"status {done.returncode}")


def by_condor(world: World) -> Ran:
    """Run what a description of HTCondor submits: no variables but its own, and those that ``getenv`` names."""
    lines = (world.home / "work/train.sub").read_text().splitlines()
    told = {k.strip(): v.strip() for k, _, v in (line.partition("=") for line in lines if "=" in line)}
    given = shlex.split(told.get("environment", "").strip('"'))
    there = world.environment()
    given += [f"{n}={there[n]}" for n in re.split("[, ]+", told.get("getenv", "")) if n in there]
    words = [told["executable"], *shlex.split(told["arguments"])]
    done = world.run(["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, *words])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:] or f"status {done.returncode}")


# --- what people do -----------------------------------------------------------------------------------------------------


def a_folder(pattern: str) -> Plant:
    """Have a folder in the place of a file, as Docker makes one where the file to mount is not on the host."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.mkdir()

    return plant


def a_loop(pattern: str) -> Plant:
    """Let a file be a link to itself."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.symlink_to(path.name)

    return plant


def zeros(pattern: str) -> Plant:
    """Leave a file's size and nothing of its content, as a machine that lost its power does."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        size = path.stat().st_size
        path.unlink()
        path.touch()
        with path.open("r+b") as file:
            file.truncate(size)

    return plant


def told(pattern: str, text: str) -> Plant:
    """Have a text in the place of a file of the packages."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.write_text(text)

    return plant


def of_32_bits(world: World, where: str, name: str) -> None:
    """Compile a library for 32 bits."""
    (world.folder / "empty.c").write_text("int there = 1;\n")
    target = world.folder / where
    target.mkdir(parents=True, exist_ok=True)
    (target / name).unlink(missing_ok=True)
    words = ["gcc", "-m32", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{name}", "-o", target / name]
    subprocess.run([*words, world.folder / "empty.c"], check=True)


def halved(pattern: str) -> Plant:
    """Have a library for 32 bits in the place of one of the packages."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        of_32_bits(world, str(path.parent.relative_to(world.folder)), path.name)

    return plant


def halves_first(world: World) -> None:
    """Let the loader search a folder with libraries for 32 bits first."""
    for name in ("libcudart.so.12", "libcurand.so.10"):
        of_32_bits(world, "home/games/lib32", name)
    world.variables["LD_LIBRARY_PATH"] = f"{world.home}/games/lib32:" + world.variables["LD_LIBRARY_PATH"]


def closes(pattern: str) -> Plant:
    """Take everyone's right to read a file away."""

    def plant(world: World) -> None:
        world.own(world.library(pattern)).chmod(0)
        world.plain_rights = True

    return plant


def shared(where: str) -> Plant:
    """Compile a library of one's own, which is no module of Python."""

    def plant(world: World) -> None:
        source = world.home / where.replace(".so", ".c")
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("unsigned hash(const char *s) { unsigned h = 7; while (*s) h = h * 31 + *s++; return h; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", world.home / where, source], check=True)

    return plant


def byte_code(where: str) -> Plant:
    """Leave the byte code of a module that is gone, made by Python 2.7."""

    def plant(world: World) -> None:
        path = world.home / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x03\xf3\r\n" + bytes(4) + b"c" + bytes(60))

    return plant


def interpreter(where: str) -> Plant:
    """Let PDM remember an interpreter."""

    def plant(world: World) -> None:
        writes({"work/.pdm-python": where})(world)

    return plant


def cached(where: str) -> Plant:
    """Have a model's files in a cache of the hub."""
    revision = "5b0f5b2d6f1a4c6e9d8b7a6c5d4e3f2a1b0c9d8e"
    model = f"{where}/models--ada--tiny"
    text = '{"model_type": "bert", "hidden_size": 8, "num_attention_heads": 1, "num_hidden_layers": 1}\n'
    return writes({f"{model}/refs/main": revision, f"{model}/snapshots/{revision}/config.json": text})


def notebook(kernel: str) -> Plant:
    """Write a notebook of one cell, for a kernel."""
    cell = {"cell_type": "code", "execution_count": None, "id": "a1", "metadata": {}, "outputs": [], "source": ONES}
    spec = {"kernelspec": {"display_name": kernel, "language": "python", "name": kernel}}
    text = json.dumps({"cells": [cell], "metadata": spec, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    return writes({"work/train.ipynb": text}, "work")


def plugin(value: str) -> Plant:
    """Install a package of one's own that registers a backend of Triton."""
    points = f"[triton.backends]\nxpu = {value}\n"
    files = {"triton_xpu/__init__.py": "", "triton_xpu-0.3.dist-info/entry_points.txt": points}
    return wheel("triton_xpu", "0.3", files)


def task(**variables: str) -> Plant:
    """Write a task of the editor's."""
    one = {"label": "infer", "type": "shell", "command": "{env}/bin/python main.py", "options": {"env": variables}}
    return writes({"work/.vscode/tasks.json": json.dumps({"version": "2.0.0", "tasks": [one]}, indent=2)})


FINDER = """import sys


class Pinned:
    def find_spec(self, name, path=None, target=None):
        if name == "onnxruntime":
            raise ImportError("onnxruntime is pinned on this machine: ask the lab")


sys.meta_path.insert(0, Pinned())
"""
COMPOSE = """services:
  train:
    image: nvcr.io/nvidia/jax:25.08-py3
    network_mode: host
    volumes: ["{env}:{env}", "{home}:{home}"]
    working_dir: {home}/work
    command: {env}/bin/python main.py
    environment:
      - JAX_PLATFORMS=cpu
      - {line}
"""
CIRCUS = """[circus]
check_delay = 5

[watcher:train]
cmd = bash run.sh
numprocesses = 1
respawn = False
copy_env = True

[env:train]
{line}
"""
RUN = "{env}/bin/python main.py >out.log 2>&1\ntouch over\n"
PDM = """[project]
name = "train"
version = "0.1"
requires-python = ">=3.9"

[tool.pdm]
distribution = false

[tool.pdm.scripts]
train = "python main.py"
"""
SUBMIT = """universe = vanilla
executable = {env}/bin/python
arguments = main.py
request_gpus = 1
log = train.log
{line}
queue
"""
WEBUI = """#!/usr/bin/env bash
cd "$(dirname "$0")"
venv_dir="venv"
if [[ -f webui-user.sh ]]; then
    source ./webui-user.sh
fi
exec "${venv_dir}/bin/python" main.py
"""
WEBUI_USER = """#!/bin/bash
# Commandline arguments for webui.py, for example: export COMMANDLINE_ARGS="--medvram --opt-split-attention"
export COMMANDLINE_ARGS="--medvram"

# python3 venv without trailing slash (defaults to ${install_dir}/${clone_dir}/venv)
{line}
"""
SERVE = "#!/bin/sh\nexec {env}/bin/uvicorn main:app --env-file {file}\n"
BASHRC = {
    ".bashrc": "export PYTHONSTARTUP=$HOME/.pythonrc.py\n",
    "work/session.txt": f"{JAX}; print('this ' 'works')\n",
}
YOLO = {
    "code/yolov5/utils/__init__.py": "",
    "code/yolov5/utils/general.py": "def check_img_size(size: int) -> int:\n    return size\n",
    "code/MiDaS/utils.py": "def read_image(path: str) -> str:\n    return path\n",
    "work/main.py": "import torch\nfrom utils.general import check_img_size\n\nprint('this works', check_img_size(640), flush=True)\n",
}
UNITS = ".config/systemd/user"
SEARCHED = f"LD_LIBRARY_PATH={LIBRARIES.replace('{at}', '{env}')}"

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
CUT = ("corrupt_or_truncated_file", "installation_interrupted")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
ELSEWHERE = ("wrong_environment_active",)
NOT_SEARCHED = (
    "cuda_not_on_search_path",
    "ld_library_path_override",
    "process_env_not_inherited",
    "cudnn_not_on_search_path",
)
OPENSLIDE = ("openslide-python==1.4.2", "openslide-bin==4.0.0.8")
BINDINGS = ("cuda-bindings==12.9.2", "nvidia-cuda-nvrtc-cu12==12.8.93")
ALBUMENTATIONS = ("albumentations==1.4.15", "albucore==0.0.16", "opencv-python-headless==4.11.0.86")
GENSIM = ("gensim==4.3.2", "scipy==1.12.0", "numpy==1.26.4")
MUJOCO = ("mujoco==3.3.5", "PyOpenGL==3.1.10")
NBCONVERT = ("nbconvert==7.16.6", "ipykernel==6.30.1")
TRACKERS = ("wandb==0.21.4",)
MLFLOW = ("mlflow-skinny==3.4.0",)

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # class only: Docker makes a folder where the file that it is to mount is not on the host
    Scene("torch-nccl-is-a-folder", "A", "torch-2.8", TORCH, a_folder("nvidia/nccl/lib/libnccl.so.2"), CUT, "torch", "libnccl.so.2", "libnccl.so.2"),
    # class only: ln -s in the wrong folder
    Scene("ctranslate2-linked-to-itself", "A", "ctranslate2", CUBLAS, then(searches, a_loop("nvidia/cublas/lib/libcublasLt.so.12")), CUT, "ctranslate2", "libcublasLt.so.12", "libcublasLt.so.12"),
    # class only: a machine that lost its power while the file was written
    Scene("cupy-curand-of-zeros", "A", "cupy", RANDOM, then(searches, zeros("nvidia/curand/lib/libcurand.so.10")), CUT, "cupy", "libcurand.so.10", "invalid ELF header"),
    # class only: a linker's script is no library
    Scene("onnxruntime-cufft-is-a-script", "A", "onnxruntime-1.23", runs(PROVIDER), then(searches, told("nvidia/cufft/lib/libcufft.so.11", "/* GNU ld script */\nGROUP ( /usr/local/cuda/lib64/libcufft.so.11 )\n")), CUT, "onnxruntime-gpu", "libcufft.so.11", "invalid ELF header"),
    # class only: libraries of a system of 32 bits
    Scene("onnxruntime-runtime-of-32-bits", "A", "onnxruntime-1.23", runs(PROVIDER), then(searches, halved("nvidia/cuda_runtime/lib/libcudart.so.12")), ("dll_wrong_architecture", *CUT), "onnxruntime-gpu", "libcudart.so.12", "wrong ELF class"),
    # class only: the binding and no library
    Scene("slides-without-openslide", "A", "torch-2.6", SLIDES, then(installs(*OPENSLIDE), lacks("openslide-bin")), ("system_library_missing", *BROKEN), "", "openslide", "openslide"),
    # class only: a download that ended early
    Scene("warp-cut-its-library", "A", "jax", SIMULATES, then(installs("warp-lang==1.9.0"), cuts("warp/bin/warp.so")), CUT, "", "warp.so", "status -7"),
    # class only: NVIDIA's own bindings search for the compiler
    Scene("cuda-bindings-without-nvrtc", "A", "ctranslate2", COMPILER, then(installs(*BINDINGS), lacks("nvidia-cuda-nvrtc-cu12")), ("nvrtc_missing_or_mismatch", "cuda_runtime_missing", *BROKEN), "", "nvrtc", "nvrtc"),
    # class only: somebody's umask
    Scene("plots-closed-font-module", "A", "tensorflow", PLOTS, then(installs("matplotlib==3.10.6"), closes("matplotlib/ft2font.*.so")), ("library_unreadable",), "", "ft2font", "ermission denied"),
    # === B: all is there and does not fit
    # https://github.com/gladiaio/gladia/issues/928
    Scene("torch-with-an-older-cudnn", "B", "torch-2.8", CUDNN, installs("--no-deps", "nvidia-cudnn-cu12==9.1.0.70"), ("cudnn_minor_too_old", *BROKEN), "torch", "cudnn", "version incompatibility"),
    # class only: the library of tensors is at its second release
    Scene("cupy-with-the-first-cutensor", "B", "cupy", TENSORS, then(installs("cutensor-cu12==2.2.0"), installs("--no-deps", "cutensor-cu12==1.7.0")), (*BROKEN, "cuda_toolkit_version_mismatch", "cuda_runtime_missing", "cuda_not_on_search_path", *CUT), "", "cutensor", "libcutensor.so.2"),
    # class only: SciPy took three functions away
    Scene("gensim-older-than-scipy", "B", "torch-2.6", WORDS, then(installs(*GENSIM), installs("--no-deps", "scipy==1.13.1")), BROKEN, "", "gensim", "triu"),
    # https://github.com/albumentations-team/albumentations/issues/1946
    Scene("albumentations-older-than-albucore", "B", "torch-2.6", AUGMENTS, then(installs(*ALBUMENTATIONS), installs("--no-deps", "albucore==0.0.17")), BROKEN, "", "albucore", "preserve_channel_dim"),
    # class only: the old Keras is made for one TensorFlow
    Scene("old-keras-older-than-tensorflow", "B", "tensorflow", LEGACY, then(installs("tf-keras==2.20.1"), installs("--no-deps", "tf-keras==2.15.1")), BROKEN, "", "keras", "has no attribute"),
    # === C: Python finds another file
    # class only: a project with a list of telephone numbers
    Scene("numbers-py-of-a-project", "C", "torch-2.6", TORCH, then(writes({"work/README.md": ""}, "work"), writes({"work/numbers.py": "OFFICE = '+49 30 1234'\n"})), SHADOWED, "torch", "numbers.py", "numbers"),
    # class only: Python takes a library of C for its module
    Scene("library-named-as-a-module", "C", "hub", DATA, then(writes({"work/README.md": ""}, "work"), shared("work/xxhash.so")), SHADOWED, "", "xxhash.so", "PyInit_xxhash"),
    # class only: a finder that a colleague's start-up file puts first
    Scene("onnxruntime-behind-a-finder", "C", "onnxruntime-1.23", ONNX, then(writes({"lab/tools.py": ""}), sets(PYTHONPATH="{home}/lab"), writes({"lab/sitecustomize.py": FINDER})), (*SHADOWED, "python_environment_broken"), "", "sitecustomize.py", "pinned"),
    # class only: two clones with modules of one name
    Scene("utils-of-two-clones", "C", "torch-2.6", started("{env}/bin/python", "main.py"), then(writes(YOLO, "work"), named("work/main.py"), sets(PYTHONPATH="{home}/code/yolov5"), sets(PYTHONPATH="{home}/code/MiDaS:{home}/code/yolov5")), SHADOWED, "", "utils", "'utils' is not a package"),
    # class only: byte code of a module that was deleted years ago
    Scene("byte-code-of-python-2", "C", "jax", runs(JAX), then(writes({"work/README.md": ""}, "work"), byte_code("work/uuid.pyc")), (*SHADOWED, "package_for_another_python", *CUT), "", "uuid.pyc", "bad magic number"),
    # class only: a backend that left its entry
    Scene("triton-loads-a-backend-that-is-gone", "C", "torch-2.8", JITS, plugin("triton.backends.xpu"), ("installation_interrupted", "python_environment_broken", *CUT, *BROKEN, *SHADOWED), "", "xpu", "triton.backends.xpu"),
    # class only: a folder of results has the name of the tracker
    Scene("results-of-a-tracker-that-is-not-there", "C", "hub", started("{env}/bin/python", "main.py"), then(program(TRAINS), named("work/main.py"), writes({"work/codecarbon/emissions.csv": "timestamp,emissions\n"})), SHADOWED, "", "codecarbon", "EmissionsTracker"),
    # === D: started in another way
    # class only: a service of Docker Compose
    Scene("jax-promotion-of-compose", "D", "jax", by_compose, then(program(JAX), writes({"work/compose.yaml": COMPOSE.replace("{line}", "JAX_NUMPY_DTYPE_PROMOTION=strict")}), writes({"work/compose.yaml": COMPOSE.replace("{line}", "JAX_NUMPY_DTYPE_PROMOTION=strickt")})), VALUE, "", "JAX_NUMPY_DTYPE_PROMOTION", "strickt"),
    # class only: a task of the editor replaces a list
    Scene("onnxruntime-path-of-a-task", "D", "onnxruntime-1.23", by_task, then(program(PROVIDER), searches, task(OMP_NUM_THREADS="2"), task(LD_LIBRARY_PATH="/usr/local/cuda-12.1/lib64")), NOT_SEARCHED, "onnxruntime-gpu", "tasks.json", "libcu"),
    # class only: a number in words, for circusd
    Scene("memory-traces-of-circus", "D", "jax", by_circus, then(program(JAX), installs("circus==0.19.0"), writes({"work/run.sh": RUN, "work/circus.ini": CIRCUS.replace("{line}", "PYTHONTRACEMALLOC = 1")}), writes({"work/circus.ini": CIRCUS.replace("{line}", "PYTHONTRACEMALLOC = on")})), VALUE, "", "PYTHONTRACEMALLOC", "PYTHONTRACEMALLOC"),
    # class only: PDM remembers the interpreter of once
    Scene("pdm-remembers-another-python", "D", "torch-2.6", BY_PDM, then(program(ONES), installs("pdm==2.25.9"), writes({"work/pyproject.toml": PDM}), another_environment("projects/old/.venv"), interpreter("{env}/bin/python"), interpreter("{home}/projects/old/.venv/bin/python")), ELSEWHERE, "", ".pdm-python", "No module named 'torch'"),
    # class only: a notebook of another machine
    Scene("notebook-for-a-kernel-that-is-gone", "D", "torch-2.6", NOTEBOOK, then(installs(*NBCONVERT), notebook("python3"), named("work/train.ipynb"), notebook("vision")), (*ELSEWHERE, "python_environment_broken"), "", "vision", "vision"),
    # class only: the minus before a file that was renamed
    Scene("service-with-a-file-that-was-renamed", "D", "ctranslate2", by_unit, then(program(OPENS_CUBLAS), writes({f"{UNITS}/serve.service": unit_text("EnvironmentFile=-%h/serve.env\n"), "serve.env": f"{SEARCHED}\n"}), moves("serve.env", "serve.env.bak")), NOT_SEARCHED, "ctranslate2", "serve.env", "libcublas"),
    # class only: the settings of a web interface
    Scene("webui-with-the-environment-of-once", "D", "torch-2.6", BY_WEBUI, then(program(ONES), another_environment("projects/old/venv"), writes({"work/webui.sh": WEBUI, "work/webui-user.sh": WEBUI_USER.replace("{line}", 'venv_dir="{env}"')}, "work", 0o755), named("work/webui.sh"), writes({"work/webui-user.sh": WEBUI_USER.replace("{line}", 'venv_dir="{home}/projects/old/venv"')}, "work", 0o755)), ELSEWHERE, "", "webui-user.sh", "No module named 'torch'"),
    # class only: what Python runs before the first prompt
    Scene("jax-at-the-prompt", "D", "jax", INTERACTIVE, then(sets(SHELL="/bin/bash"), writes({**BASHRC, ".pythonrc.py": "import readline\n"}, "work"), writes({"lab/opt_einsum.py": "paths: list[str] = []\n", ".pythonrc.py": "import sys\n\nsys.path.insert(0, '{home}/lab')\n"})), SHADOWED, "", "opt_einsum", "opt_einsum"),
    # class only: the file of variables of a server
    Scene("jax-seconds-of-uvicorn", "D", "jax", BY_UVICORN, then(program(JAX), installs("uvicorn==0.35.0", "python-dotenv==1.1.1"), writes({"work/serve.sh": SERVE.replace("{file}", "prod.env"), "work/prod.env": "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=2\n"}, "work", 0o755), writes({"work/prod.env": "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=2s\n"})), VALUE, "", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "2s"),
    # === E: variables
    # https://github.com/google-deepmind/dm_control/issues/129
    Scene("mujoco-by-two-words", "E", "jax", PHYSICS, then(installs(*MUJOCO), sets(PYOPENGL_PLATFORM="osmesa"), sets(MUJOCO_GL="egl")), VALUE, "", "PYOPENGL_PLATFORM", "PYOPENGL_PLATFORM"),
    # class only: a driver of another system
    Scene("game-for-a-screen-of-windows", "E", "torch-2.6", SCREEN, then(installs("pygame==2.6.1"), sets(SDL_VIDEODRIVER="dummy"), sets(SDL_VIDEODRIVER="windib")), VALUE, "", "SDL_VIDEODRIVER", "not available"),
    # class only: a mode that there is not
    Scene("wandb-mode-that-is-not-there", "E", "jax", LOGS, then(installs(*TRACKERS), sets(WANDB_MODE="offline"), sets(WANDB_MODE="off")), VALUE, "", "WANDB_MODE", "mode"),
    # class only: an address without its scheme
    Scene("mlflow-at-a-place-without-a-scheme", "E", "torch-2.8", EXPERIMENTS, then(installs(*MLFLOW), sets(MLFLOW_TRACKING_URI="file:{home}/mlruns"), sets(MLFLOW_TRACKING_URI="localhost:5000")), VALUE, "", "MLFLOW_TRACKING_URI", "localhost:5000"),
    # class only: a program that was somewhere else once
    Scene("git-that-is-not-there", "E", "torch-2.6", REVISION, then(installs("GitPython==3.1.45"), sets(GIT_PYTHON_GIT_EXECUTABLE="/opt/git/bin/git")), VALUE, "", "GIT_PYTHON_GIT_EXECUTABLE", "git"),
    # class only: a disk that is not mounted, and no network
    Scene("hub-cache-on-another-disk", "E", "hub", CONFIG, then(cached(".cache/huggingface/hub"), sets(HF_HUB_OFFLINE="1"), sets(HF_HUB_CACHE="/mnt/models/hub")), VALUE, "", "HF_HUB_CACHE", "offline"),
    # class only: a method that there is, elsewhere
    Scene("inductor-workers-by-another-word", "E", "torch-2.8", COMPILES, then(sets(TORCHINDUCTOR_WORKER_START="spawn"), sets(TORCHINDUCTOR_WORKER_START="forkserver")), VALUE, "", "TORCHINDUCTOR_WORKER_START", "forkserver"),
    # class only: a unit too large
    Scene("threads-with-too-large-a-stack", "E", "torch-2.6", SUMS, then(sets(OMP_STACKSIZE="64M"), sets(OMP_STACKSIZE="4096G")), VALUE, "", "OMP_STACKSIZE", "Thread creation failed"),
    # class only: a place for kernels that is a file
    Scene("warp-cache-behind-a-file", "E", "jax", SIMULATES, then(installs("warp-lang==1.9.0"), writes({"scratch": "a note\n"}), sets(WARP_CACHE_PATH="{home}/scratch/warp")), VALUE, "", "WARP_CACHE_PATH", "scratch"),
    # === odd, and healthy
    # ld.so passes by what is not for this processor
    Scene("libraries-of-32-bits-come-first", "healthy", "onnxruntime-1.23", runs(PROVIDER), then(searches, halves_first)),
    # the library is a package
    Scene("slides-with-openslide", "healthy", "torch-2.6", SLIDES, installs(*OPENSLIDE)),
    # a start-up file of the bindings has loaded their namespace before
    Scene("cuda-py-and-a-folder-of-kernels", "healthy", "ctranslate2", COMPILER, then(installs(*BINDINGS), writes({"work/cuda.py": "DEVICE = 0\n", "work/cuda/kernel.cu": "__global__ void f() {}\n"}, "work"))),
    # links that lead nowhere are no modules
    Scene("links-that-lead-nowhere", "healthy", "torch-2.6", TORCH, then(writes({"work/README.md": ""}, "work"), linked("work/torch.py", "/mnt/nas/torch.py"), linked("work/numbers.py", "/mnt/nas/numbers.py"))),
    Scene("albumentations-with-its-albucore", "healthy", "torch-2.6", AUGMENTS, installs(*ALBUMENTATIONS)),
    Scene("gensim-with-its-scipy", "healthy", "torch-2.6", WORDS, installs(*GENSIM)),
    # nobody draws
    Scene("mujoco-without-a-screen", "healthy", "jax", PHYSICS, then(installs(*MUJOCO), sets(PYOPENGL_PLATFORM="osmesa", MUJOCO_GL="disabled"))),
    # contracts that are kept
    Scene("trackers-with-their-words", "healthy", "jax", LOGS, then(installs(*TRACKERS), sets(WANDB_MODE="offline", WANDB_DIR="{home}/not/yet", WANDB_SILENT="true", GIT_PYTHON_REFRESH="quiet", OMP_STACKSIZE="64M", OMP_PLACES="cores", KERAS_TORCH_DEVICE="gpu"))),
    # the disk is mounted
    Scene("hub-cache-on-another-disk-that-is-there", "healthy", "hub", CONFIG, then(cached("disk/hub"), sets(HF_HUB_OFFLINE="1", HF_HUB_CACHE="{home}/disk/hub"))),
    Scene("circus-with-a-number", "healthy", "jax", by_circus, then(program(JAX), installs("circus==0.19.0"), writes({"work/run.sh": RUN, "work/circus.ini": CIRCUS.replace("{line}", "PYTHONTRACEMALLOC = 1")}))),
    Scene("pdm-remembers-this-python", "healthy", "torch-2.6", BY_PDM, then(program(ONES), installs("pdm==2.25.9"), writes({"work/pyproject.toml": PDM}), another_environment("projects/old/.venv"), interpreter("{env}/bin/python"))),
    Scene("notebook-for-its-kernel", "healthy", "torch-2.6", NOTEBOOK, then(installs(*NBCONVERT), notebook("python3"), named("work/train.ipynb"))),
    Scene("webui-with-its-environment", "healthy", "torch-2.6", BY_WEBUI, then(program(ONES), another_environment("projects/old/venv"), writes({"work/webui.sh": WEBUI, "work/webui-user.sh": WEBUI_USER.replace("{line}", 'venv_dir="{env}"  # was {home}/projects/old/venv')}, "work", 0o755), named("work/webui.sh"))),
    Scene("prompt-with-a-history", "healthy", "jax", INTERACTIVE, then(sets(SHELL="/bin/bash"), writes({**BASHRC, ".pythonrc.py": "import readline, sys\n\nsys.path.append('{home}/lab')\n", "lab/opt_einsum.py": "paths: list[str] = []\n"}, "work"))),
    # only .pyc is a module without a source
    Scene("byte-code-elsewhere", "healthy", "jax", runs(JAX), then(writes({"work/README.md": ""}, "work"), byte_code("work/old/uuid.pyc"), byte_code("work/uuid.pyo"), byte_code("work/__pycache__/uuid.cpython-27.pyc"))),
    Scene("job-of-condor-that-inherits", "healthy", "ctranslate2", by_condor, then(program(OPENS_CUBLAS), searches, writes({"work/train.sub": SUBMIT.replace("{line}", "getenv = LD_LIBRARY_PATH, HOME\nenvironment = \"OMP_NUM_THREADS=2 WANDB_MODE=offline\"")}))),
    # the minus says that the file may be absent
    Scene("service-with-a-file-that-may-be-absent", "healthy", "ctranslate2", by_unit, then(program(OPENS_CUBLAS), writes({f"{UNITS}/serve.service": unit_text(f"EnvironmentFile=-%h/serve.env\nEnvironment={SEARCHED}\n")}))),
    Scene("compose-with-its-words", "healthy", "jax", by_compose, then(program(JAX), writes({"work/compose.yaml": COMPOSE.replace("{line}", "JAX_NUMPY_DTYPE_PROMOTION=strict")}))),
    # the roots of clones are no packages
    Scene("clones-on-pythonpath", "healthy", "hub", DATA, then(writes({"code/datasets/setup.py": "", "code/datasets/src/datasets/__init__.py": "", "code/torch/README.md": "", "code/xxhash/xxhash.c": "int x;\n"}), sets(PYTHONPATH="{home}/code"))),
    # the file of variables of a server
    Scene("uvicorn-with-a-number", "healthy", "jax", BY_UVICORN, then(program(JAX), installs("uvicorn==0.35.0", "python-dotenv==1.1.1"), writes({"work/serve.sh": SERVE.replace("{file}", "prod.env"), "work/prod.env": "# two seconds\nJAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=2\n"}, "work", 0o755))),
)  # fmt: skip
