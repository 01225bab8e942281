"""The tenth held-out set, classes A to E: from public threads and the list of classes, by somebody who has read no rule and no probe.

Committed before the first run. Above each row: the thread that it is made from, or "class only". The last step of each
fault's plant is the fault, and without it the real program works.
"""

from __future__ import annotations

import json
import re
import shlex
import sys

from tests.worldlab.environments import VERSION, uv
from tests.worldlab.scene import Ran, Scene, World, both, cuts, dangles, imports, installs, loses, opens, runs, then
from tests.worldlab.scenes.held_out_8 import (
    JAX,
    ONES,
    PROVIDER,
    TENSORFLOW,
    TORCH,
    Plant,
    calls,
    filled,
    layered,
    searches,
    sees_system,
    sets,
    writes,
)
from tests.worldlab.scenes.held_out_9 import LIBRARIES, keeps, takes
from tests.worldlab.scenes.starters import named, program, started, unit, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

TENSORS = runs("import cupy; from cupy_backends.cuda.libs import cutensor; print(cutensor.get_version())")
"""What ``CUPY_ACCELERATORS=cutensor`` and ``cupyx.cutensor`` begin with."""
COLLECTIVES = runs("import cupy; from cupy_backends.cuda.libs import nccl; print(nccl.get_version())")
KERNEL = imports("torch", "ipykernel.kernelapp")
"""What Jupyter starts for a notebook."""
LINALG = opens("torch/lib/libtorch_cuda_linalg.so", after="import torch")
"""PyTorch opens this file at the first factorization on a GPU."""
VIDEO = runs("import torch; from decord import VideoReader")
ACCELERATOR = runs("from accelerate import Accelerator; Accelerator(cpu=True)")
TOKENIZER = runs("from transformers import AutoTokenizer")
ONNX = imports("onnxruntime", "onnx")
MASKS = runs("import torch; from pycocotools import mask")
TRITON_CLIENT = imports("tritonclient.grpc")
CUDNN = runs(
    "import ctypes, sys, sysconfig\n"
    "cudnn = ctypes.CDLL(sysconfig.get_paths()['purelib'] + '/nvidia/cudnn/lib/libcudnn.so.9', mode=ctypes.RTLD_GLOBAL)\n"
    "cudnn.cudnnGetErrorString.restype = ctypes.c_char_p\n"
    "handle = ctypes.c_void_p()\n"
    "print(said := cudnn.cudnnGetErrorString(cudnn.cudnnCreate(ctypes.byref(handle))).decode())\n"
    "sys.exit(said if 'VERSION' in said else 0)"
)
"""TensorFlow's first call; without a GPU it ends for want of one, unless cuDNN's parts do not fit each other."""
INFERS = runs("import numpyro, numpyro.distributions")
TRACES = runs("import tensorflow as tf; tf.function(lambda x: x + 1)(1)")
LOADS = runs("import io, torch; b = io.BytesIO(); torch.save(torch.ones(1), b); b.seek(0); torch.load(b)")
KERNEL_CACHE = runs("import torch; from triton.runtime.cache import get_cache_manager; get_cache_manager('ab')")
WHO_AM_I = runs(
    "from huggingface_hub import HfApi; import requests\n"
    "try:\n    HfApi(endpoint='http://127.0.0.1:9').model_info('gpt2', timeout=2)\n"
    "except requests.ConnectionError as e:\n    print('nobody answers there:', type(e).__name__)"
)
DYNAMO = runs("import torch; import torch._dynamo")
JOB = calls("{env}/bin/torchrun", "--nnodes=1", "main.py")


def by_cron(world: World) -> Ran:
    """Run the one job of the person's table as cron does: by ``/bin/sh -c``, with few variables (crontab(5))."""
    lines = [w for w in (world.home / "work/crontab").read_text().splitlines() if w and not w.startswith("#")]
    given = [w.replace(" ", "") for w in lines if re.match(r"\w+ *=", w)]
    (job,) = (re.sub(r"^(@\w+|(\S+\s+){5})\s*", "", w) for w in lines if not re.match(r"\w+ *=", w))
    done = world.run(["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, "/bin/sh", "-c", job])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in said, said=said[-3000:] or f"status {done.returncode}")


GENERATOR = "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator"


def by_manager(world: World) -> Ran:
    """Run what the unit starts, with the variables that systemd's own generator makes of ``environment.d``."""
    said = world.run([GENERATOR]).stdout.decode()
    given = [shlex.split(line)[0] for line in said.splitlines() if "=" in line]
    words = list(unit(world))
    home = words.index(f"HOME={world.home}")
    done = world.run([*words[: home + 1], *given, *words[home + 1 :]])
    told = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok="this works" in told, said=told[-3000:] or f"status {done.returncode}")


WORKON = '. "$1/bin/activate"; [ -f "$1/bin/postactivate" ] && . "$1/bin/postactivate"; python main.py'
BY_WORKON = started("bash", "-c", WORKON, "bash", "{env}")
"""What ``workon`` of virtualenvwrapper does."""
IN_NOTEBOOK = runs(
    "import os, sys\n"
    "from jupyter_client.manager import start_new_kernel\n"
    "manager, client = start_new_kernel(kernel_name='train')\n"
    "said = client.execute_interactive('from transformers import AutoTokenizer', timeout=200)['content']\n"
    "manager.shutdown_kernel(now=True)\n"
    "sys.exit(0 if said['status'] == 'ok' else str(said['traceback'][-1]))"
)
"""Jupyter's own client starts the kernel, and runs one cell."""


# --- what people do -----------------------------------------------------------------------------------------------------


def empties(pattern: str) -> Plant:
    """Leave a file without content."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.write_bytes(b"")

    return plant


def beside(pattern: str, where: str) -> Plant:
    """Keep the first bytes of a file of the packages under another name, as an interrupted copy does."""

    def plant(world: World) -> None:
        with world.library(pattern).open("rb") as file:
            (world.site / where).write_bytes(file.read(4096))

    return plant


def shelves(pattern: str, where: str) -> Plant:
    """Move a file of the packages to another folder of them."""

    def plant(world: World) -> None:
        path, target = world.library(pattern), world.site / where
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)

    return plant


def puts(source: str, pattern: str) -> Plant:
    """Copy a file of the home over one of the packages."""

    def plant(world: World) -> None:
        path = world.library(pattern)
        path.unlink()
        path.write_bytes((world.home / source).read_bytes())

    return plant


def runs_out_of_disk(package: str, behind: str) -> Plant:
    """Leave the files of a package that come behind one of them without content, as a full disk does."""

    def plant(world: World) -> None:
        for path in sorted((world.site / package).rglob("*.py")):
            if str(path.relative_to(world.site / package)) > behind:
                path.unlink()
                path.write_bytes(b"")

    return plant


def path_file(name: str, text: str) -> Plant:
    """Write a file of paths among the packages."""

    def plant(world: World) -> None:
        (world.site / f"{name}.pth").write_text(filled(text, world))

    return plant


def develops(package: str, where: str) -> Plant:
    """Have a package as a checkout in the home, installed with ``pip install -e``."""

    def plant(world: World) -> None:
        (info,) = world.site.glob(f"{package}-*.dist-info")
        release = info.name.split("-")[1]
        metadata = (info / "METADATA").read_text()
        takes(f"{{site}}/{package}", f"{where}/src/{package}")(world)
        uv("pip", "uninstall", "--quiet", "--python", str(world.python), package)
        path_file(f"__editable__.{package}-{release}", f"{{home}}/{where}/src\n")(world)
        info.mkdir()
        (info / "METADATA").write_text(metadata)
        (info / "INSTALLER").write_text("pip\n")
        (info / "direct_url.json").write_text(
            json.dumps({"dir_info": {"editable": True}, "url": f"file://{world.home}/{where}"})
        )
        names = (*(f"{info.name}/{n}" for n in ("METADATA", "INSTALLER", "direct_url.json", "RECORD")),)
        listed = (f"__editable__.{package}-{release}.pth", *names)
        (info / "RECORD").write_text("".join(f"{name},,\n" for name in listed))

    return plant


def merges(where: str) -> Plant:
    """Leave the marks of a merge in a file of the home."""

    def plant(world: World) -> None:
        path = world.own(world.home / where)
        lines = path.read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if line.startswith("import "))
        kept = lines[at]
        marked = ["<<<<<<< HEAD\n", kept, "=======\n", kept.rstrip() + "  # noqa\n", ">>>>>>> upstream/main\n"]
        path.write_text("".join((*lines[:at], *marked, *lines[at + 1 :])))

    return plant


def another_environment(where: str) -> Plant:
    """Make a second environment, without packages."""

    def plant(world: World) -> None:
        uv("venv", "--quiet", "--python", sys.executable, str(world.home / where))

    return plant


def first_line(script: str, interpreter: str) -> Plant:
    """Let a script of the environment name another interpreter."""

    def plant(world: World) -> None:
        path = world.own(world.prefix / "bin" / script)
        _first, rest = path.read_text().split("\n", 1)
        path.write_text(f"#!{filled(interpreter, world)}\n{rest}")

    return plant


def hook(text: str) -> Plant:
    """Write what virtualenvwrapper sources when one works on the environment."""

    def plant(world: World) -> None:
        (world.prefix / "bin/postactivate").write_text(filled(text, world))

    return plant


def kernel(**variables: str) -> Plant:
    """Register the environment as a kernel of the person's, with variables."""
    spec = {
        "argv": ["{env}/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "train",
        "language": "python",
        "env": variables,
    }
    return writes({".local/share/jupyter/kernels/train/kernel.json": json.dumps(spec, indent=1)})


CONFIGURATION = """compute_environment: LOCAL_MACHINE
debug: false
distributed_type: 'NO'
downcast_bf16: 'no'
machine_rank: 0
main_training_function: main
mixed_precision: 'no'
num_machines: 1
num_processes: 1
rdzv_backend: static
same_network: true
use_cpu: true
"""
DEFAULTS = ".cache/huggingface/accelerate/default_config.yaml"
TOX = """[tox]
env_list = train
skipsdist = true

[testenv:train]
skip_install = true
allowlist_externals = {env}/bin/python
set_env =
    XLA_FLAGS = {value}
commands = {env}/bin/python main.py
"""
NOX = """import nox

nox.options.default_venv_backend = "none"


@nox.session
def train(session):
    session.run("{python}", "main.py", external=True)
"""
SHIMS = """#!/bin/bash
set -e
. {env}/bin/activate
{line}
cd {home}/work
exec python main.py
"""
TRAIN = "import torch\n\ntorch.ones(1)\nprint('this works', flush=True)\n"
UNITS = ".config/systemd/user"
GENERATED = {
    "code/protos/google/__init__.py": "",
    "code/protos/google/rpc/__init__.py": "",
    "code/protos/google/rpc/status_pb2.py": "DESCRIPTOR = None\n",
}

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
UNFIT = ("extension_abi_mismatch", "requirement_broken")
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
PROTOBUF = ("protobuf==5.29.5", "grpcio==1.67.1")
WANDB = ("setuptools==80.9.0", "protobuf==4.25.8")
DETECTION = (
    "mmdet==3.3.0",
    "mmengine==0.10.7",
    "opencv-python-headless==4.11.0.86",
    "pycocotools==2.0.10",
    "setuptools==80.9.0",
)

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # class only: a download that ended early
    Scene("cupy-cut-cutensor", "A", "cupy", TENSORS, then(installs("cutensor-cu12==2.2.0"), cuts("cutensor/lib/libcutensor.so.2")), CUT, "", "libcutensor.so.2", "status -7"),
    # class only: a copy that ended early
    Scene("cupy-empty-nccl", "A", "cupy", COLLECTIVES, then(searches, empties("nvidia/nccl/lib/libnccl.so.2")), CUT, "", "libnccl.so.2", "libnccl.so.2"),
    # class only: what a scanner for viruses left
    Scene("keras-cut-optree", "A", "tensorflow", imports("keras"), cuts("optree/_C.cpython-*.so"), CUT, "", "optree", "status -7"),
    # class only: an image that was made small by hand
    Scene("notebook-lost-libzmq", "A", "torch-2.6", KERNEL, then(installs("ipykernel==6.30.1"), loses("pyzmq.libs/libzmq-*")), CUT, "", "libzmq", "libzmq"),
    # class only: packages of an ARM machine
    Scene("datasets-with-xxhash-for-arm", "A", "hub", runs("from datasets import Dataset"), installs("--no-deps", "--reinstall", "--python-platform", "aarch64-unknown-linux-gnu", "xxhash==3.6.0"), ("package_for_another_python", "dll_wrong_architecture", *UNFIT, *CUT), "", "xxhash", "_xxhash"),
    # class only: a tool that links what is there twice
    Scene("jax-dangling-mlir", "A", "jax", runs(JAX), dangles("jaxlib/mlir/_mlir_libs/_mlir.so"), CUT, "", "_mlir.so", "_mlir"),
    # class only: what an image left out
    Scene("video-reader-lost-libdecord", "A", "torch-2.6", VIDEO, then(installs("--no-deps", "decord==0.6.0"), loses("decord/libdecord.so")), CUT, "", "libdecord.so", "libdecord.so"),
    # class only: the same name in two CUDAs
    Scene("torch-with-cusolver-of-cuda-11", "A", "torch-2.8", LINALG, then(layered("old", "--no-deps", "nvidia-cusolver-cu11==11.4.1.48"), puts("old/nvidia/cusolver/lib/libcusolver.so.11", "nvidia/cusolver/lib/libcusolver.so.11")), (*CUT, "requirement_broken", "cuda_lib_shadowed", "cuda_toolkit_version_mismatch"), "torch", "libcusolver.so.11", "libcublas.so.11"),
    # class only: the place that the toolkit has for it
    Scene("torch-cupti-in-extras", "A", "torch-2.8", TORCH, shelves("nvidia/cuda_cupti/lib/libcupti.so.12", "nvidia/cuda_cupti/extras/CUPTI/lib64/libcupti.so.12"), (*CUT, "cuda_runtime_missing", "cuda_not_on_search_path", *BROKEN), "torch", "libcupti.so.12", "libcupti.so.12"),
    # === B: all is there and does not fit
    # https://github.com/onnx/onnx/issues/7249
    Scene("onnx-with-older-ml-dtypes", "B", "onnxruntime-1.23", ONNX, then(searches, installs("onnx==1.19.0", "ml_dtypes==0.5.3", "protobuf==6.31.1"), installs("--no-deps", "ml_dtypes==0.4.1")), BROKEN, "", "ml_dtypes", "float4_e2m1fn"),
    # class only: a library of functions that JAX has taken away
    Scene("numpyro-older-than-jax", "B", "jax", INFERS, then(installs("numpyro==0.19.0"), installs("--no-deps", "numpyro==0.12.1")), BROKEN, "", "numpyro", "jax"),
    # https://github.com/jin-s13/xtcocoapi/issues/45
    Scene("pycocotools-of-numpy-1", "B", "torch-2.6", MASKS, then(installs("pycocotools==2.0.10"), installs("--no-deps", "pycocotools==2.0.7")), ("numpy_abi_mismatch", *UNFIT), "", "pycocotools", "numpy"),
    # class only: files of two releases in one folder
    Scene("tensorflow-with-a-part-of-an-older-cudnn", "B", "tensorflow", CUDNN, then(layered("old", "--no-deps", "nvidia-cudnn-cu12==9.1.0.70"), puts("old/nvidia/cudnn/lib/libcudnn_graph.so.9", "nvidia/cudnn/lib/libcudnn_graph.so.9")), ("mixed_cudnn_sublibraries", *CUT), "", "libcudnn_graph.so.9", "cudnnGetLibConfig"),
    # https://github.com/drprojects/superpoint_transformer/issues/95
    Scene("hydra-older-than-python", "B", "torch-2.6", imports("torch", "hydra"), then(installs("hydra-core==1.3.2"), installs("--no-deps", "hydra-core==1.1.2")), ("package_for_another_python", *BROKEN), "", "hydra", "mutable default"),
    # https://github.com/wandb/wandb/issues/7810
    Scene("wandb-older-than-numpy", "B", "torch-2.6", imports("torch", "wandb"), then(installs("wandb==0.19.11", *WANDB, "docker-pycreds", "appdirs"), installs("--no-deps", "wandb==0.16.6")), ("numpy_abi_mismatch", *BROKEN), "", "wandb", "np.float_"),
    # https://github.com/open-mmlab/mmcv/issues/3096
    Scene("mmdet-with-a-newer-mmcv", "B", "torch-2.6", imports("mmdet"), then(installs(*DETECTION, "mmcv-lite==2.1.0", "numpy<2"), installs("--no-deps", "mmcv-lite==2.2.0")), BROKEN, "", "mmcv", "MMCV==2.2.0"),
    # https://github.com/pytorch/pytorch/issues/157381
    Scene("torch-with-cupti-of-an-older-toolkit", "B", "torch-2.8", TORCH, installs("--no-deps", "nvidia-cuda-cupti-cu12==12.1.105"), ("requirement_broken", "cuda_toolkit_version_mismatch", "cuda_lib_shadowed"), "torch", "cupti", "cuptiActivityEnableDriverApi"),
    # class only: another library of functions that JAX has taken away
    Scene("flax-older-than-jax", "B", "jax", imports("flax.linen"), then(installs("flax==0.11.2"), installs("--no-deps", "flax==0.7.4")), BROKEN, "", "flax", "jax"),
    # === C: Python finds another file
    # class only: the folder of a script comes before everything else
    Scene("queue-py-beside-a-script-of-tools", "C", "torch-2.6", calls("{env}/bin/python", "tools/train.py"), then(writes({"work/tools/train.py": TRAIN, "work/README.md": ""}, "work"), named("work/tools/train.py"), writes({"work/tools/queue.py": "JOBS: list[str] = []\n"})), SHADOWED, "", "queue.py", "queue"),
    # https://github.com/protocolbuffers/protobuf/issues/21706
    Scene("google-package-that-comes-last", "C", "tensorflow", TENSORFLOW, then(writes(GENERATED), path_file("protos", "{home}/code/protos\n")), SHADOWED, "", "google", "google.protobuf"),
    # class only: a disk that was full
    Scene("sympy-of-a-full-disk", "C", "torch-2.6", DYNAMO, runs_out_of_disk("sympy", "core/numbers.py"), CUT, "", "sympy", "sympy"),
    # class only: an environment that was copied with its scripts
    Scene("torchrun-of-a-copied-environment", "C", "torch-2.6", JOB, then(program(ONES), another_environment("projects/old/.venv"), first_line("torchrun", "{home}/projects/old/.venv/bin/python")), ("python_environment_broken", *ELSEWHERE), "", "torchrun", "No module named 'torch'"),
    # class only: the folder of a package in the place of the folder of packages
    Scene("package-itself-on-pythonpath", "C", "jax", runs(JAX), then(sets(PYTHONPATH="{site}"), sets(PYTHONPATH="{site}/jax")), (*SHADOWED, *VALUE), "", "PYTHONPATH", "partially initialized module 'typing'"),
    # class only: a clone of a library in the folder where one works
    Scene("jax-in-a-newer-checkout", "C", "jax", runs(JAX), then(writes({"jax-main/README.md": ""}, "jax-main"), then(layered("jax-main", "--no-deps", "jax==0.8.1"), keeps("jax-main", "jax"))), SHADOWED, "", "jax-main", "requires version"),
    # class only: a folder for what is shipped, which a start-up file puts first
    Scene("packaging-folder-by-usercustomize", "C", "hub", TOKENIZER, then(sees_system, writes({"lab/common/packaging/__init__.py": "", "lab/common/packaging/deb.py": "NAME = 'lab'\n"}), writes({f".local/lib/python{VERSION}/site-packages/usercustomize.py": "import sys\n\nsys.path.insert(0, '{home}/lab/common')\n"})), SHADOWED, "", "packaging", "cannot import name 'version' from 'packaging'"),
    # class only: a merge that was not finished
    Scene("checkout-of-accelerate-in-a-merge", "C", "hub", ACCELERATOR, then(develops("accelerate", "code/accelerate"), merges("code/accelerate/src/accelerate/state.py")), (*CUT, "program_error", "python_environment_broken", *BROKEN), "", "state.py", "SyntaxError"),
    # https://github.com/llnl/maestrowf/issues/175
    Scene("enum34-among-vendored-packages", "C", "ctranslate2", imports("ctranslate2"), then(searches, layered("vendor", "--no-deps", "tabulate==0.9.0"), sets(PYTHONPATH="{home}/vendor"), layered("vendor", "--no-deps", "enum34==1.1.10")), SHADOWED, "", "enum", "global_enum"),
    # === D: started in another way
    # class only: a flag with a letter too many, for tox
    Scene("jax-flag-of-tox", "D", "jax", started("{env}/bin/tox", "-q"), then(program(JAX), installs("tox==4.30.2"), writes({"work/tox.ini": TOX.replace("{value}", "--xla_gpu_enable_latency_hiding_scheduler=true")}), writes({"work/tox.ini": TOX.replace("{value}", "--xla_gpu_enable_latency_hidding_scheduler=true")})), VALUE, "", "xla_gpu_enable_latency_hidding_scheduler", "Unknown flag"),
    # class only: a session without an environment of its own
    Scene("python-of-a-nox-session", "D", "torch-2.6", started("{env}/bin/nox"), then(program(ONES), installs("nox==2025.5.1"), writes({"work/noxfile.py": NOX.replace("{python}", "{env}/bin/python")}), writes({"work/noxfile.py": NOX.replace("{python}", "/usr/bin/python3")})), ELSEWHERE, "", "noxfile.py", "No module named 'torch'"),
    # class only: a variable for every service of the person
    Scene("utf-8-of-all-services", "D", "ctranslate2", by_manager, then(program("import ctranslate2"), searches, writes({f"{UNITS}/serve.service": unit_text(f"Environment=LD_LIBRARY_PATH={LIBRARIES.replace('{at}', '{env}')}\n"), ".config/environment.d/10-locale.conf": "PYTHONUTF8=1\n"}), writes({".config/environment.d/10-locale.conf": "PYTHONUTF8=true\n"})), VALUE, "", "PYTHONUTF8", "PYTHONUTF8"),
    # https://ajitabhpandey.info/2025/07/is-crontab-not-a-shell-script-really
    Scene("job-of-a-crontab", "D", "torch-2.6", by_cron, then(program(ONES), sets(VIRTUAL_ENV="{env}", PATH="{env}/bin:/usr/local/bin:/usr/bin:/bin"), writes({"work/crontab": "# every night\nSHELL=/bin/sh\n15 2 * * * cd {home}/work && {env}/bin/python3 main.py\n"}), writes({"work/crontab": "# every night\nSHELL=/bin/sh\n15 2 * * * cd {home}/work && python3 main.py\n"})), ELSEWHERE, "", "crontab", "No module named 'torch'"),
    # https://github.com/gemlab-vt/NoiseCLR/issues/2
    Scene("answers-of-a-newer-accelerate", "D", "hub", started("{env}/bin/accelerate", "launch", "main.py"), then(program(ONES), writes({DEFAULTS: CONFIGURATION}), writes({DEFAULTS: CONFIGURATION + "parallelism_config: {}\n"})), (*VALUE, *BROKEN, "program_error"), "", "default_config.yaml", "unknown keys"),
    # class only: pipenv reads a file of its own
    Scene("jax-level-of-pipenv", "D", "jax", started("{env}/bin/pipenv", "run", "python", "main.py"), then(program(JAX), installs("pipenv==2025.0.4"), sets(VIRTUAL_ENV="{env}", PATH="{env}/bin:/usr/local/bin:/usr/bin:/bin", PIPENV_VERBOSITY="-1"), writes({"work/Pipfile": "[packages]\njax = \"*\"\n", "work/.env": "JAX_LOGGING_LEVEL=INFO\n"}), writes({"work/.env": "JAX_LOGGING_LEVEL=verbose\n"})), VALUE, "", "JAX_LOGGING_LEVEL", "jax_logging_level"),
    # class only: a manager of Pythons that comes first again
    Scene("shims-before-the-environment", "D", "torch-2.6", started("./run.sh"), then(program(ONES), writes({".pyenv/shims/python": "#!/usr/bin/env bash\nset -e\nexec /usr/bin/python3 \"$@\"\n"}, "", 0o755), writes({"work/run.sh": SHIMS.replace("{line}", "export OMP_NUM_THREADS=2")}, "work", 0o755), writes({"work/run.sh": SHIMS.replace("{line}", 'export PATH="$HOME/.pyenv/shims:$PATH"')}, "work", 0o755)), ELSEWHERE, "", "run.sh", "No module named 'torch'"),
    # class only: what virtualenvwrapper sources
    Scene("allocator-of-a-hook", "D", "torch-2.6", BY_WORKON, then(program(ONES), hook("export PYTHONMALLOC=malloc\n"), hook("export PYTHONMALLOC=jemalloc\n")), VALUE, "", "PYTHONMALLOC", "PYTHONMALLOC"),
    # class only: a decimal comma for a kernel of Jupyter
    Scene("progress-of-a-kernel", "D", "hub", IN_NOTEBOOK, then(installs("ipykernel==6.30.1"), kernel(TQDM_MININTERVAL="0.5"), kernel(TQDM_MININTERVAL="0,5")), VALUE, "", "TQDM_MININTERVAL", "could not convert string to float"),
    # === E: variables
    # class only: a plug-in that was built once
    Scene("jax-plugin-by-a-name-that-is-gone", "E", "jax", runs(JAX), sets(PJRT_NAMES_AND_LIBRARY_PATHS="cuda:/opt/xla/pjrt_c_api_gpu_plugin.so"), (*VALUE, "python_environment_broken"), "", "PJRT_NAMES_AND_LIBRARY_PATHS", "pjrt_c_api_gpu_plugin.so"),
    # class only: a level by its name
    Scene("autograph-level-by-a-word", "E", "tensorflow", TRACES, then(sets(AUTOGRAPH_VERBOSITY="3"), sets(AUTOGRAPH_VERBOSITY="info")), VALUE, "", "AUTOGRAPH_VERBOSITY", "'info'"),
    # class only: two variables of which one may be set
    Scene("torch-weights-both-ways", "E", "torch-2.6", LOADS, then(sets(TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1"), sets(TORCH_FORCE_WEIGHTS_ONLY_LOAD="1")), VALUE, "", "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "Only one of"),
    # class only: a class without its module
    Scene("triton-cache-manager-without-a-module", "E", "torch-2.8", KERNEL_CACHE, then(sets(TRITON_CACHE_MANAGER="triton.runtime.cache:FileCacheManager"), sets(TRITON_CACHE_MANAGER="FileCacheManager")), VALUE, "", "TRITON_CACHE_MANAGER", "MODULE:CLASS"),
    # class only: XLA reads a file of flags where the variable names one
    Scene("jax-flag-in-a-file-of-flags", "E", "jax", runs(JAX), then(writes({"xla.flags": "--xla_dump_to=/dev/null\n"}), sets(XLA_FLAGS="{home}/xla.flags"), writes({"xla.flags": "--xla_gpu_autotune_everything=true\n"})), VALUE, "", "xla_gpu_autotune_everything", "Unknown flag"),
    # class only: torchrun reads its arguments from variables
    Scene("torchrun-restarts-in-words", "E", "torch-2.6", JOB, then(program(ONES), sets(PET_MAX_RESTARTS="3"), sets(PET_MAX_RESTARTS="unlimited")), VALUE, "", "PET_MAX_RESTARTS", "unlimited"),
    # https://github.com/crewAIInc/crewAI/issues/755
    Scene("hub-token-in-curly-quotes", "E", "hub", WHO_AM_I, then(sets(HF_TOKEN="hf_abcdefghijklmnopqrstuvwxyzabcdefgh"), sets(HF_TOKEN="“hf_abcdefghijklmnopqrstuvwxyzabcdefgh”")), VALUE, "", "HF_TOKEN", "codec can't encode"),
    # class only: nobody puts the folder of the script first any more
    Scene("python-in-safe-mode-with-a-module-of-ones-own", "E", "torch-2.6", started("{env}/bin/python", "main.py"), then(program("import torch; from model import Net"), named("work/main.py"), writes({"work/model.py": "class Net:\n    pass\n"}), sets(PYTHONSAFEPATH="1")), VALUE, "", "PYTHONSAFEPATH", "No module named 'model'"),
    # class only: a star that no shell has seen
    Scene("onnxruntime-path-with-a-star", "E", "onnxruntime-1.23", runs(PROVIDER), then(searches, sets(LD_LIBRARY_PATH="{site}/nvidia/*/lib")), (*NOT_SEARCHED, *VALUE), "onnxruntime-gpu", "LD_LIBRARY_PATH", "libcu"),
    # === odd, and healthy
    # the newer types are there
    Scene("onnx-with-its-types", "healthy", "onnxruntime-1.23", ONNX, then(searches, installs("onnx==1.19.0", "ml_dtypes==0.5.3", "protobuf==6.31.1"))),
    # the generated code and its library
    Scene("triton-client-with-its-protobuf", "healthy", "ctranslate2", TRITON_CLIENT, then(searches, installs("tritonclient[grpc]==2.60.0", *PROTOBUF))),
    # the last release of MMCV that mmdet takes
    Scene("mmdet-with-its-mmcv", "healthy", "torch-2.6", imports("mmdet"), installs(*DETECTION, "mmcv-lite==2.1.0", "numpy<2")),
    # folders of runs, named as packages that are not installed
    Scene("folders-of-runs-of-trackers", "healthy", "hub", runs("from transformers import AutoTokenizer, TrainingArguments"), writes({"work/wandb/run-20260401_080000-x1/files/config.yaml": "a: 1\n", "work/mlruns/0/meta.yaml": "a: 1\n", "work/tensorboard/events.out": "", "work/ray/session.log": ""}, "work")),
    # a folder without a start-up file never hides a module of Python
    Scene("folders-beside-a-script-of-tools", "healthy", "torch-2.6", calls("{env}/bin/python", "tools/train.py"), then(writes({"work/tools/train.py": TRAIN, "work/tools/queue/jobs.txt": "", "work/tools/email/welcome.html": "", "work/queue.py": "JOBS: list[str] = []\n"}, "work"), named("work/tools/train.py"))),
    # a clone is in the folder, and its folder is not searched
    Scene("newer-checkout-of-jax-beside", "healthy", "jax", runs(JAX), then(writes({"work/jax-main/README.md": ""}, "work"), layered("work/jax-main", "--no-deps", "jax==0.8.1"), keeps("work/jax-main", "jax"))),
    # a library that is developed
    Scene("checkout-of-accelerate", "healthy", "hub", ACCELERATOR, develops("accelerate", "code/accelerate")),
    # tox, told a flag that there is
    Scene("jax-flag-of-tox-that-is-known", "healthy", "jax", started("{env}/bin/tox", "-q"), then(program(JAX), installs("tox==4.30.2"), writes({"work/tox.ini": TOX.replace("{value}", "--xla_gpu_enable_latency_hiding_scheduler=true")}))),
    # a variable for every service of the person
    Scene("variables-of-all-services", "healthy", "ctranslate2", by_manager, then(program("import ctranslate2"), searches, writes({f"{UNITS}/serve.service": unit_text(f"Environment=LD_LIBRARY_PATH={LIBRARIES.replace('{at}', '{env}')}\n"), ".config/environment.d/10-locale.conf": "PYTHONUTF8=1\nPYTHONMALLOC=malloc\nCACHE=${XDG_CACHE_HOME:-$HOME/.cache}\n"}))),
    # a whole path in a table of jobs
    Scene("job-of-a-crontab-with-the-whole-path", "healthy", "torch-2.6", by_cron, then(program(ONES), writes({"work/crontab": "# every night\nSHELL=/bin/sh\nMAILTO=ada@example.org\n15 2 * * * cd {home}/work && {env}/bin/python3 main.py\n"}))),
    # answers that this release asks for
    Scene("answers-of-accelerate", "healthy", "hub", started("{env}/bin/accelerate", "launch", "main.py"), then(program(ONES), writes({DEFAULTS: CONFIGURATION}))),
    # a level that there is
    Scene("jax-level-of-pipenv-that-is-known", "healthy", "jax", started("{env}/bin/pipenv", "run", "python", "main.py"), then(program(JAX), installs("pipenv==2025.0.4"), sets(VIRTUAL_ENV="{env}", PATH="{env}/bin:/usr/local/bin:/usr/bin:/bin", PIPENV_VERBOSITY="-1"), writes({"work/Pipfile": "[packages]\njax = \"*\"\n", "work/.env": "JAX_LOGGING_LEVEL=INFO\nJAX_PLATFORMS='cpu'\n"}))),
    # a manager of Pythons that comes last
    Scene("shims-behind-the-environment", "healthy", "torch-2.6", started("./run.sh"), then(program(ONES), writes({".pyenv/shims/python": "#!/usr/bin/env bash\nset -e\nexec /usr/bin/python3 \"$@\"\n"}, "", 0o755), writes({"work/run.sh": SHIMS.replace("{line}", 'export PATH="$PATH:$HOME/.pyenv/shims"')}, "work", 0o755))),
    # a kernel with variables
    Scene("kernel-with-variables", "healthy", "hub", IN_NOTEBOOK, then(installs("ipykernel==6.30.1"), kernel(TQDM_MININTERVAL="0.5", TOKENIZERS_PARALLELISM="false"))),
    # XLA reads a file of flags where the variable names one
    Scene("jax-file-of-flags", "healthy", "jax", runs(JAX), then(writes({"xla.flags": "--xla_dump_to=/dev/null\n--xla_gpu_enable_latency_hiding_scheduler=true\n"}), sets(XLA_FLAGS="{home}/xla.flags"))),
    # contracts that are kept
    Scene("words-of-many-kinds-that-are-right", "healthy", "torch-2.8", KERNEL_CACHE, sets(TRITON_CACHE_MANAGER="triton.runtime.cache:FileCacheManager", TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD="1", PET_MAX_RESTARTS="3", PYTHONMALLOC="malloc", PYTHONUTF8="0", PYTHONDEVMODE="1", LD_BIND_NOW="1", TQDM_MININTERVAL="2")),
    # copies that somebody kept
    Scene("cupy-with-cutensor-and-copies", "healthy", "cupy", both(TENSORS, COLLECTIVES), then(searches, installs("cutensor-cu12==2.2.0"), beside("nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/lib/libnccl.so.2.bak"), beside("nvidia/cufft/lib/libcufft.so.11", "nvidia/cufft/lib/libcufft.so.11.orig"))),
    # a start-up file of the person's
    Scene("tools-by-usercustomize", "healthy", "hub", TOKENIZER, then(sees_system, writes({"lab/common/plots.py": "", "lab/common/labtools/__init__.py": ""}), writes({f".local/lib/python{VERSION}/site-packages/usercustomize.py": "import sys\n\nsys.path.insert(0, '{home}/lab/common')\n"}))),
    # the folder of the script is named
    Scene("python-in-safe-mode-with-the-folder-named", "healthy", "torch-2.6", started("{env}/bin/python", "main.py"), then(program("import torch; from model import Net"), named("work/main.py"), writes({"work/model.py": "class Net:\n    pass\n"}), sets(PYTHONSAFEPATH="1", PYTHONPATH="{home}/work"))),
    # one entry that leads nowhere, and all others behind it
    Scene("onnxruntime-path-with-a-star-and-more", "healthy", "onnxruntime-1.23", runs(PROVIDER), sets(LD_LIBRARY_PATH="{site}/nvidia/*/lib:" + LIBRARIES.replace("{at}", "{env}"))),
)  # fmt: skip
