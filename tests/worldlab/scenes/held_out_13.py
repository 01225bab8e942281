"""The thirteenth held-out set, classes A to E: common steps, combinations of them, and rare ones, by somebody who has read no rule and no probe.

Committed before the first scan. Above each row: the thread that it is made from, or "class only". The last step of each
fault's plant is the fault; without it, or with what its healthy twin has in its place, the real program works; packages
of which an older release is the fault apart, where the newer one is the cure.
"""

from __future__ import annotations

import json
import re
import shutil
import struct

from tests.worldlab.environments import VERSION
from tests.worldlab.scene import Ran, Scene, World, imports, installs, lacks, runs, then
from tests.worldlab.scenes.held_out_8 import Plant, calls, layered, sets, without_system, writes
from tests.worldlab.scenes.starters import WORKS, by_unit, program, started, unit_text

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = imports("torch")
ONES = "import torch; torch.ones(1)"
JAX = "import jax; jax.devices('cpu')"
CUBLAS = "import ctypes, ctranslate2; ctypes.CDLL('libcublas.so.12'); ctypes.CDLL('libcudnn.so.9')"
"""What CTranslate2 opens by its bare name for its first matrix."""
MODELS = runs("from transformers import AutoTokenizer, PreTrainedModel")
CART = runs("import torch, gym; world = gym.make('CartPole-v1'); world.reset(); world.step(0)")
KEY = runs("import jax; jax.config.update('jax_platforms', 'cpu'); jax.random.key(0)")
INDUCTOR = runs("import torch, torch._inductor.config")
LOADER = runs("import torch; from torch.utils.data import DataLoader")
FIGURE = runs("import torch, graphviz; graphviz.Digraph('net').pipe('svg')")
"""What torchviz and Keras draw a network with."""
STATE = runs("from accelerate import Accelerator; Accelerator(cpu=True)")
FLAT = runs("import torch; from flat import layer")
SNAPSHOT = ".cache/huggingface/hub/models--lab--small"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = runs(
    "from pathlib import Path; from safetensors.torch import load_file\n"
    f"load_file(next(Path.home().glob('{SNAPSHOT}/snapshots/*/model.safetensors')))"
)
"""What ``from_pretrained`` does with weights that are in the hub's cache."""
ASKS_HUB = runs(
    "import requests\nfrom huggingface_hub import HfApi\n"
    "try:\n    HfApi(endpoint='http://127.0.0.1:9').model_info('gpt2', timeout=2)\n"
    "except (requests.ConnectionError, requests.Timeout) as e:\n    print('nobody answers there:', type(e).__name__)\n"
)
"""A question to the hub; without a network it fails with an error of the network, which is right here."""
BY_MAKE = started("make", "serve")
BY_NODE = started("node", "server.js")
BY_PYTHON = started("{env}/bin/python", "main.py")
BY_LOGIN = started("bash", "-lc", "cd work && {env}/bin/python main.py")
BY_DIRENV = started("sh", "-c", "direnv allow . && direnv exec . python3 main.py")
BY_PACKAGE = calls("{env}/bin/python", "-m", "lab.train")
BY_DOIT = started("{env}/bin/doit", "-v2", "train")


def of_devcontainer(world: World) -> Ran:
    """Start as the editor does in a development container: with ``remoteEnv``, comments in the file and all."""
    text = (world.home / "work/.devcontainer/devcontainer.json").read_text()
    told = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))["remoteEnv"]
    done = world.run(["env", *(f"{k}={v}" for k, v in told.items()), world.python, "main.py"])
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=WORKS in said, said=said[-3000:])


# --- what people do -----------------------------------------------------------------------------------------------------

LIBRARIES = "{site}/nvidia/cublas/lib:{site}/nvidia/cudnn/lib"
SEARCHED = f"LD_LIBRARY_PATH={LIBRARIES}"
SEARCHES = sets(LD_LIBRARY_PATH=LIBRARIES)


def without(*folders: str) -> Plant:
    """Copy the packages with ``rsync --exclude``: folders of this name do not come along."""

    def plant(world: World) -> None:
        for name in folders:
            shutil.rmtree(world.site / name)

    return plant


def without_empty_files(package: str) -> Plant:
    """Copy a package with a tool that leaves out empty files, as some synchronising services do."""

    def plant(world: World) -> None:
        found = [p for p in (world.site / package).rglob("*") if p.is_file() and not p.stat().st_size]
        if not found:
            raise LookupError(f"{package} has no empty file")
        for path in found:
            path.unlink()

    return plant


def vendored(package: str, where: str, *left_out: str) -> Plant:
    """Have a copy of a package in the project, without the files that ``.gitignore`` names."""

    def plant(world: World) -> None:
        shutil.copytree(world.site / package, world.home / where, ignore=shutil.ignore_patterns(*left_out))
        world.cwd = (world.home / where).parent

    return plant


def sees_others(world: World) -> None:
    """Make the environment with ``--system-site-packages``."""
    path = world.own(world.prefix / "pyvenv.cfg")
    path.write_text(path.read_text().replace("packages = false", "packages = true"))


def weights(part: float = 1.0) -> Plant:
    """Have a model in the hub's cache, whole or cut off."""

    def plant(world: World) -> None:
        numbers = b"\0" * 4000
        header = json.dumps({"weight": {"dtype": "F32", "shape": [1000], "data_offsets": [0, len(numbers)]}}).encode()
        whole = struct.pack("<Q", len(header)) + header + numbers
        folder = world.home / SNAPSHOT
        for name in ("blobs", f"snapshots/{COMMIT}", "refs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "refs/main").write_text(COMMIT)
        blob = "a" * 64
        (folder / "blobs" / blob).write_bytes(whole[: int(len(whole) * part)])
        link = folder / f"snapshots/{COMMIT}/model.safetensors"
        link.unlink(missing_ok=True)
        link.symlink_to(f"../../blobs/{blob}")

    return plant


def half_a_download(world: World) -> None:
    """Leave the rest of a download that was stopped, beside the whole file."""
    (world.home / SNAPSHOT / "blobs" / f"{'b' * 64}.1a2b3c4d.incomplete").write_bytes(b"\0" * 1000)


def marked(mark: str) -> Plant:
    """Name the project's folder in a ``.pth`` file of one's own."""

    def plant(world: World) -> None:
        (world.site / "lab.pth").write_bytes((mark + f"{world.home}/src\n").encode())

    return plant


def other_environment(world: World) -> None:
    """Have an environment of the project without any package."""
    for name in ("python", "python3"):
        path = world.home / "work/.venv/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("/usr/bin/python3")
    (world.home / "work/.venv/pyvenv.cfg").write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n"
    )


def linked_environment(world: World) -> None:
    """Have a link to the environment in the project."""
    (world.home / "work/.venv").symlink_to(world.prefix)


def first_on_path(world: World) -> None:
    """Start where the environment is active."""
    world.variables |= {"PATH": f"{world.prefix}/bin:/usr/local/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(world.prefix)}


def links_libraries(world: World) -> None:
    """Keep links to the libraries in one folder of the home."""
    (world.home / "libs").mkdir()
    for path in sorted(world.site.glob("nvidia/*/lib/lib*.so*")):
        (world.home / "libs" / path.name).symlink_to(path)


TWO_LINES = ".PHONY: serve\nserve:\n\texport {path}\n\t{env}/bin/python main.py\n"
ONE_LINE = ".PHONY: serve\nserve:\n\texport {path} && \\\n\t{env}/bin/python main.py\n"
NODE = (
    "const {{ spawnSync }} = require('node:child_process');\n"
    "const done = spawnSync('{{env}}/bin/python', ['main.py'], {{ env: {env}, stdio: 'inherit' }});\n"
    "process.exit(done.status ?? 1);\n"
)
CLEAN = NODE.format(env="{ PATH: process.env.PATH, PORT: '8080' }")
WHOLE = NODE.format(env="{ ...process.env, PORT: '8080' }")
DOTENV = {
    "work/main.py": f"from dotenv import load_dotenv\n\nload_dotenv()\n\nimport jax\n\njax.devices('cpu')\nprint('{WORKS}', flush=True)\n",
}
HYDRA = {
    "work/main.py": "import hydra\n\n\n@hydra.main(version_base=None, config_path='conf', config_name='config')\n"
    f"def main(settings):\n    import jax\n\n    jax.devices('cpu')\n    print('{WORKS}', flush=True)\n\n\nmain()\n",
}
HYDRA_SETTINGS = "hydra:\n  job:\n    env_set:\n      JAX_PLATFORMS: cpu\n      JAX_ENABLE_X64: '{value}'\nepochs: 3\n"
DODO = {
    "work/dodo.py": "import os\n\nos.environ['XLA_FLAGS'] = '{flag}'\n\n\n"
    "def task_train():\n    return {'actions': ['{env}/bin/python main.py'], 'verbosity': 2}\n",
}
DEVCONTAINER = (
    '{\n  // on the GPU machine\n  "name": "lab",\n  "image": "lab:latest",\n  "runArgs": ["--gpus", "all"],\n'
    '  "remoteEnv": {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "{flag}"}\n}\n'
)
UNKNOWN_FLAG = "--xla_gpu_use_my_kernels=true"
KNOWN_FLAG = "--xla_force_host_platform_device_count=2"
PROFILE = {".profile": f"# ~/.profile\nexport {SEARCHED}\n"}
UNIT = ".config/systemd/user/serve.service"
STDLIB_EARLY = dict.fromkeys(
    ("work/abc.py", "work/io.py", "work/os.py", "work/codecs.py", "work/site.py", "work/stat.py"),
    "raise ImportError('a file of the project')\n",
)
OWN_PACKAGE = {
    "work/lab/__init__.py": "",
    "work/lab/jax.py": "def sharded():\n    return 2\n",
    "work/lab/types.py": "Batch = dict\n",
    "work/lab/queue.py": "",
    "work/lab/train.py": "import jax\n\nfrom lab.jax import sharded\nfrom lab.types import Batch\n\njax.devices('cpu')\nsharded(), Batch()\n",
}
DEEPSPEED = (
    "deepspeed==0.14.0", "hjson==3.1.0", "pydantic==2.11.9", "pydantic-core==2.33.2", "annotated-types==0.7.0",
    "typing-inspection==0.4.1", "py-cpuinfo==9.0.0", "pynvml==11.5.0",
)  # fmt: skip
SKL = ("skl2onnx==1.16.0", "onnxconverter-common==1.13.0", "scikit-learn==1.7.2", "scipy", "joblib", "threadpoolctl")

# --- what is expected ---------------------------------------------------------------------------------------------------

BROKEN = ("requirement_broken",)
CUT = ("corrupt_or_truncated_file", "installation_interrupted", "python_environment_broken")
SHADOWED = ("module_shadowed",)
VALUE = ("variable_value_wrong",)
SYSTEM_LIBRARY = ("system_library_missing",)
NOT_SEARCHED = (
    "cuda_not_on_search_path",
    "ld_library_path_override",
    "process_env_not_inherited",
    "cudnn_not_on_search_path",
)
ELSEWHERE = ("wrong_environment_active",)

SCENES: tuple[Scene, ...] = (
    # === A: absent or unfit
    # https://github.com/pytorch/TensorRT/issues/2820
    Scene("torch-tensorrt-without-tensorrt", "A", "torch-2.8", imports("torch", "torch_tensorrt"), installs("--no-deps", "torch-tensorrt==2.8.0", "dllist==2.0.0"), (*BROKEN, "cuda_runtime_missing", *SYSTEM_LIBRARY), "", "tensorrt", "tensorrt"),
    # class only: rsync --exclude=data
    Scene("torch-copied-without-data", "A", "torch-2.6", LOADER, without("torch/utils/data"), CUT, "", "data", "cannot import name 'data'"),
    # class only: rsync --exclude=models
    Scene("transformers-copied-without-models", "A", "hub", MODELS, without("transformers/models"), CUT, "", "transformers", "models"),
    # https://github.com/szagoruyko/pytorchviz/pull/89
    Scene("figure-of-a-network-without-dot", "A", "torch-2.6", FIGURE, installs("graphviz==0.21"), (*SYSTEM_LIBRARY, *BROKEN, "build_tools_missing"), "", "dot", "dot"),
    # class only: an image without zlib
    Scene("triton-in-an-image-without-zlib", "A", "torch-2.8", imports("torch", "triton._C.libtriton"), without_system("libz.so.1*"), SYSTEM_LIBRARY, "", "libz.so.1", "libz.so.1"),
    # class only: the slimmest image of all
    Scene("torch-in-an-image-without-libstdcxx", "A", "torch-2.6", TORCH, without_system("libstdc++.so.6*"), (*SYSTEM_LIBRARY, "cxx_runtime_too_old"), "torch", "libstdc++.so.6", "libstdc++.so.6"),
    # https://github.com/lyogavin/airllm/issues/137
    Scene("weights-cut-in-the-cache-of-the-hub", "A", "hub", WEIGHTS, then(weights(), weights(0.6)), CUT, "", "models--lab--small", "deserializing header"),
    # === B: all is there, and does not fit
    # https://github.com/deepspeedai/DeepSpeed/issues/5337
    Scene("deepspeed-older-than-torch", "B", "hub", imports("torch", "deepspeed"), installs("--no-deps", *DEEPSPEED), BROKEN, "", "deepspeed", "cannot import name 'log'"),
    # https://github.com/unslothai/unsloth/issues/4028
    Scene("autoawq-older-than-transformers", "B", "hub", runs("import torch; from awq import AutoAWQForCausalLM"), then(installs("--no-deps", "autoawq==0.2.9", "zstandard==0.25.0"), installs("transformers==4.57.1")), BROKEN, "", "awq", "PytorchGELUTanh"),
    # https://github.com/huggingface/peft/issues/3333
    Scene("peft-older-than-transformers-5", "B", "hub", imports("torch", "peft"), then(installs("peft==0.17.1", "transformers==4.51.3"), installs("transformers==5.0.0")), BROKEN, "", "peft", "HybridCache"),
    # https://github.com/openai/gym/issues/3294
    Scene("gym-older-than-numpy", "B", "torch-2.6", CART, installs("--no-deps", "gym==0.26.2", "gym-notices==0.1.0", "cloudpickle==3.1.1"), BROKEN, "", "gym", "bool8"),
    # https://github.com/microsoft/onnxconverter-common/pull/318
    Scene("skl2onnx-older-than-onnx", "B", "onnxruntime-1.23", imports("onnxruntime", "skl2onnx"), then(installs("--no-deps", *SKL, "onnx==1.16.2"), installs("--no-deps", "onnx==1.20.0", "ml-dtypes==0.5.3", "typing-extensions")), BROKEN, "", "onnx", "mapping"),
    # https://github.com/brentyi/jaxls/issues/40
    Scene("equinox-older-than-jax", "B", "jax", imports("jax", "equinox"), installs("--no-deps", "equinox==0.11.0", "jaxtyping==0.2.36", "typeguard==2.13.3", "typing-extensions"), BROKEN, "", "equinox", "jax.core"),
    # https://github.com/tensorflow/model-optimization/pull/1276
    Scene("model-optimization-without-old-keras", "B", "tensorflow", imports("tensorflow", "tensorflow_model_optimization"), installs("--no-deps", "tensorflow-model-optimization==0.8.0", "dm-tree==0.1.9", "attrs"), BROKEN, "", "keras", "Keras cannot be imported"),
    # class only: a recipe from before NumPy 2
    Scene("pandas-newer-than-numpy-1", "B", "hub", imports("torch", "datasets"), installs("--no-deps", "numpy==1.24.4"), (*BROKEN, "numpy_abi_mismatch"), "", "numpy", "numpy"),
    # === C: another file is found
    # https://github.com/nu-radio/NuRadioMC/issues/1023
    Scene("logging-package-in-the-project", "C", "torch-2.6", TORCH, writes({"work/logging/__init__.py": "from .run import Run\n", "work/logging/run.py": "class Run:\n    pass\n"}, "work"), SHADOWED, "", "logging", "logging"),
    # class only: a helper for a bar
    Scene("tqdm-py-in-the-project", "C", "hub", MODELS, writes({"work/tqdm.py": "def tqdm(items):\n    return items\n"}, "work"), SHADOWED, "", "tqdm.py", "tqdm"),
    # class only: a folder of one's own on PYTHONPATH
    Scene("decimal-package-on-pythonpath", "C", "jax", runs(JAX), then(writes({"lib/decimal/__init__.py": "", "lib/decimal/rounding.py": ""}), sets(PYTHONPATH="{home}/lib")), SHADOWED, "", "decimal", "decimal"),
    # https://github.com/kyegomez/RT-2/issues/23, with pip's --target
    Scene("typing-of-python-2-on-pythonpath", "C", "torch-2.6", TORCH, then(layered("layer", "--no-deps", "typing==3.7.4.3"), sets(PYTHONPATH="{home}/layer")), SHADOWED, "", "typing", "typing"),
    # https://github.com/ByteDance-Seed/Triton-distributed/issues/28
    Scene("triton-in-its-clone", "C", "torch-2.8", imports("triton"), vendored("triton", "triton/python/triton", "*.so", "__pycache__"), SHADOWED, "", "triton/python", "libtriton"),
    # class only: packages of the person, which another folder stands in for
    Scene("packages-of-the-person-elsewhere", "C", "jax", runs(JAX), then(sees_others, lacks("opt-einsum"), layered(f".local/lib/python{VERSION}/site-packages", "--no-deps", "opt-einsum==3.4.0"), sets(PYTHONUSERBASE="{home}/base")), (*BROKEN, *VALUE, *ELSEWHERE), "", "opt", "opt_einsum"),
    # class only: an editor that writes a mark at the start of a text
    Scene("pth-with-a-mark-of-windows", "C", "torch-2.6", FLAT, then(writes({"src/flat/__init__.py": "", "src/flat/layer.py": "import torch\n"}), marked("\ufeff")), ("python_environment_broken", *BROKEN), "", "lab.pth", "flat"),
    # === D: the way of starting
    # class only: make has a shell of its own for each line
    Scene("ctranslate2-by-a-recipe-of-two-lines", "D", "ctranslate2", BY_MAKE, then(program(CUBLAS), writes({"work/Makefile": TWO_LINES.replace("{path}", SEARCHED)})), NOT_SEARCHED, "ctranslate2", "Makefile", "libcublas"),
    # class only: a server in Node that starts a worker
    Scene("ctranslate2-by-a-server-in-node", "D", "ctranslate2", BY_NODE, then(program(CUBLAS), SEARCHES, writes({"work/server.js": CLEAN})), NOT_SEARCHED, "ctranslate2", "server.js", "libcublas"),
    # class only: the program reads .env itself
    Scene("jax-switch-of-a-program-that-reads-a-file", "D", "jax", BY_PYTHON, then(installs("python-dotenv==1.1.1"), writes(DOTENV, "work"), writes({"work/.env": "JAX_PLATFORMS=cpu\nJAX_ENABLE_X64=double\n"})), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    # class only: Hydra sets variables for a job
    Scene("jax-switch-of-hydra", "D", "jax", BY_PYTHON, then(installs("hydra-core==1.3.2"), writes(HYDRA, "work"), writes({"work/conf/config.yaml": HYDRA_SETTINGS.replace("{value}", "double")})), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    # https://github.com/meteor/meteor/issues/12172
    Scene("profile-behind-a-bash-profile", "D", "ctranslate2", BY_LOGIN, then(program(CUBLAS), sets(SHELL="/bin/bash"), lambda world: setattr(world, "cwd", world.home), writes(PROFILE), writes({".cargo/env": "export CARGO_HOME=$HOME/.cargo\n", ".bash_profile": '. "$HOME/.cargo/env"\n'})), NOT_SEARCHED, "ctranslate2", "profile", "libcublas"),
    # class only: the project has an environment of its own, and an empty one
    Scene("envrc-puts-another-environment-first", "D", "torch-2.6", BY_DIRENV, then(program(ONES), first_on_path, other_environment, writes({"work/.envrc": "PATH_add .venv/bin\n"})), ELSEWHERE, "", ".envrc", "No module named 'torch'"),
    # class only: a development container
    Scene("jax-flag-of-a-devcontainer", "D", "jax", of_devcontainer, then(program(JAX), writes({"work/.devcontainer/devcontainer.json": DEVCONTAINER.replace("{flag}", UNKNOWN_FLAG)})), VALUE, "", "XLA_FLAGS", "Unknown flag"),
    # class only: a task runner written in Python
    Scene("jax-flag-of-doit", "D", "jax", BY_DOIT, then(program(JAX), installs("doit==0.36.0"), writes({n: t.replace("{flag}", UNKNOWN_FLAG) for n, t in DODO.items()})), VALUE, "", "XLA_FLAGS", "Unknown flag"),
    # https://github.com/systemd/systemd/issues/21322
    Scene("service-with-a-home-that-is-not-replaced", "D", "ctranslate2", by_unit, then(program(CUBLAS), links_libraries, writes({UNIT: unit_text("Environment=LD_LIBRARY_PATH=$HOME/libs\nWorkingDirectory=%h/work\n")})), NOT_SEARCHED, "ctranslate2", "serve.service", "libcublas"),
    # === E: variables
    # class only: a switch of once
    Scene("hub-told-to-stay-offline", "E", "hub", ASKS_HUB, sets(TRANSFORMERS_OFFLINE="1"), VALUE, "", "TRANSFORMERS_OFFLINE", "offline mode is enabled"),
    # class only
    Scene("jax-generator-that-jax-has-not", "E", "jax", KEY, sets(JAX_DEFAULT_PRNG_IMPL="philox"), VALUE, "", "JAX_DEFAULT_PRNG_IMPL", "philox"),
    # class only: a number by a word
    Scene("inductor-kernels-by-a-word", "E", "torch-2.8", INDUCTOR, sets(TORCHINDUCTOR_MULTI_KERNEL="true"), VALUE, "", "TORCHINDUCTOR_MULTI_KERNEL", "invalid literal for int()"),
    # class only: a size with a unit
    Scene("jax-constants-with-a-unit", "E", "jax", KEY, sets(JAX_CAPTURED_CONSTANTS_WARN_BYTES="2GB"), VALUE, "", "JAX_CAPTURED_CONSTANTS_WARN_BYTES", "2GB"),
    # class only
    Scene("accelerate-compiles-with-a-name-that-is-none", "E", "hub", STATE, sets(ACCELERATE_DYNAMO_BACKEND="inductr"), VALUE, "", "ACCELERATE_DYNAMO_BACKEND", "INDUCTR"),
    # === odd, and healthy
    # ld.so separates by both
    Scene("folders-with-a-semicolon", "healthy", "ctranslate2", runs(CUBLAS), sets(LD_LIBRARY_PATH=LIBRARIES.replace(":", ";"))),
    Scene("hub-home-with-a-tilde", "healthy", "hub", MODELS, sets(HF_HOME="~/models/hf", HF_TOKEN_PATH="~/.hf_token")),
    # Python has loaded its own before it looks there
    Scene("modules-that-python-has-loaded-before", "healthy", "torch-2.6", TORCH, writes(STDLIB_EARLY, "work")),
    # a package's modules have its name before theirs
    Scene("own-package-with-names-of-frameworks", "healthy", "jax", BY_PACKAGE, writes(OWN_PACKAGE, "work")),
    Scene("ctranslate2-by-a-recipe-of-one-line", "healthy", "ctranslate2", BY_MAKE, then(program(CUBLAS), writes({"work/Makefile": ONE_LINE.replace("{path}", SEARCHED)}), SEARCHES)),
    Scene("server-in-node-that-hands-on", "healthy", "ctranslate2", BY_NODE, then(program(CUBLAS), SEARCHES, writes({"work/server.js": WHOLE}))),
    # what is set already stays
    Scene("program-that-reads-a-file-behind-the-shell", "healthy", "jax", BY_PYTHON, then(installs("python-dotenv==1.1.1"), writes(DOTENV, "work"), writes({"work/.env": "JAX_PLATFORMS=cpu\nJAX_ENABLE_X64=double\n"}), sets(JAX_ENABLE_X64="1"))),
    Scene("switch-of-hydra-that-is-one", "healthy", "jax", BY_PYTHON, then(installs("hydra-core==1.3.2"), writes(HYDRA, "work"), writes({"work/conf/config.yaml": HYDRA_SETTINGS.replace("{value}", "on")}))),
    Scene("bash-profile-that-reads-the-profile", "healthy", "ctranslate2", BY_LOGIN, then(program(CUBLAS), sets(SHELL="/bin/bash"), lambda world: setattr(world, "cwd", world.home), writes(PROFILE), writes({".bash_profile": '[ -r "$HOME/.profile" ] && . "$HOME/.profile"\nexport CARGO_HOME=$HOME/.cargo\n'}), SEARCHES)),
    Scene("envrc-with-a-link-to-the-environment", "healthy", "torch-2.6", BY_DIRENV, then(program(ONES), first_on_path, linked_environment, writes({"work/.envrc": "PATH_add .venv/bin\nPATH_add node_modules/.bin\n"}))),
    Scene("devcontainer-with-a-flag", "healthy", "jax", of_devcontainer, then(program(JAX), writes({"work/.devcontainer/devcontainer.json": DEVCONTAINER.replace("{flag}", KNOWN_FLAG)}))),
    Scene("doit-with-a-flag", "healthy", "jax", BY_DOIT, then(program(JAX), installs("doit==0.36.0"), writes({n: t.replace("{flag}", KNOWN_FLAG) for n, t in DODO.items()}))),
    Scene("hub-with-switches-that-are-off", "healthy", "hub", ASKS_HUB, sets(TRANSFORMERS_OFFLINE="0", HF_HUB_OFFLINE="", HF_DATASETS_OFFLINE="no")),
    # none of its warnings comes up on import
    Scene("transformers-with-warnings-as-errors", "healthy", "hub", MODELS, sets(PYTHONWARNINGS="error")),
    # for compilers and tests, and for no program
    Scene("torch-without-headers-and-cmake", "healthy", "torch-2.6", LOADER, without("torch/include", "torch/share")),
    Scene("jax-without-empty-files", "healthy", "jax", runs(JAX), without_empty_files("scipy")),
    Scene("weights-beside-half-a-download", "healthy", "hub", WEIGHTS, then(weights(), half_a_download)),
    Scene("jax-generator-by-its-name", "healthy", "jax", KEY, sets(JAX_DEFAULT_PRNG_IMPL="unsafe_rbg", JAX_THREEFRY_PARTITIONABLE="0")),
    Scene("service-with-a-home-by-its-specifier", "healthy", "ctranslate2", by_unit, then(program(CUBLAS), links_libraries, writes({UNIT: unit_text("Environment=LD_LIBRARY_PATH=%h/libs\nWorkingDirectory=%h/work\n")}), sets(LD_LIBRARY_PATH="{home}/libs"))),
    # the base of the person's packages is elsewhere, and nothing is missing from it
    Scene("base-of-the-person-on-another-disk", "healthy", "jax", runs(JAX), then(sees_others, layered(f"base/lib/python{VERSION}/site-packages", "--no-deps", "opt-einsum==3.3.0"), sets(PYTHONUSERBASE="{home}/base"))),
)  # fmt: skip
