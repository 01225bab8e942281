"""Variables at random: one that a contract or a framework's own source names gets a value at random, in a place at random.

``python -m tests.worldlab.variables --seed N [--number M] [--oracle-only]``: the program is run with the variable (imports and first uses
that need no GPU); where it fails the scan must name the variable first, where it works the scan must be quiet. Variables of which only
a GPU would tell are left out.
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from core.knowledge.contracts import Contract, variable_contracts
from tests.worldlab.environments import copied, master, remove, site
from tests.worldlab.run import RIGHT, UNDECLARED, Outcome, examine, judge
from tests.worldlab.scene import Ran, Scene, World, installs, runs, then
from tests.worldlab.scenes.held_out import Plant, writes
from tests.worldlab.scenes.held_out_2 import ALL_SEARCHED

# --- what the real programs do ------------------------------------------------------------------------------------------

TORCH = """
import os, tempfile, torch, torchvision
torch.ones(9, 9) @ torch.ones(9, 9)
torch.nn.Linear(3, 3)(torch.ones(3))
import torch._inductor.config, torch._dynamo.config, torch._functorch.config, torch.fx.experimental._config
import torch.utils.cpp_extension, torch.distributed
os.makedirs(os.path.join(torch.hub.get_dir(), 'checkpoints'), exist_ok=True)
torch._C._cuda_cudaCachingAllocator_set_allocator_settings(os.environ.get('PYTORCH_CUDA_ALLOC_CONF', ''))
from torch._inductor.runtime.cache_dir_utils import cache_dir; os.makedirs(cache_dir(), exist_ok=True)
from triton.runtime.cache import get_cache_manager; get_cache_manager('a' * 64).put('x', 'y.txt')
from triton.backends.nvidia.compiler import CUDABackend; from triton.backends.compiler import GPUTarget
CUDABackend(GPUTarget('cuda', 80, 32)).parse_options({})
tempfile.mkdtemp()
"""
PROGRAMS = {
    "torch-2.6": TORCH,
    "torch-2.8": TORCH + "import torchaudio, bitsandbytes, xformers.ops\n",
    "jax": "import jax, jax.numpy as j; jax.devices('cpu'); jax.jit(lambda x: x + 1)(j.ones(3)).block_until_ready()",
    "tensorflow": (
        "import tensorflow as tf; tf.keras.layers.Dense(3)(tf.ones((2, 2))); import requests\n"
        "try:\n    requests.get('https://127.0.0.1:9/x', timeout=5)\nexcept requests.ConnectionError:\n    pass"
    ),
    "cupy": "import cupy, cupyx",
    "hub": (
        "import torch, datasets, accelerate, requests, huggingface_hub\n"
        "from transformers import BertConfig, BertModel, AutoTokenizer\n"
        "BertModel(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, vocab_size=9))\n"
        "accelerate.Accelerator(cpu=True); huggingface_hub.utils.get_session()\n"
        "import os; os.makedirs(huggingface_hub.constants.HF_HUB_CACHE, exist_ok=True)\n"
        "os.makedirs(os.path.join(torch.hub.get_dir(), 'checkpoints'), exist_ok=True)\n"
        "from triton.runtime.cache import get_cache_manager; get_cache_manager('a' * 64).put('x', 'y.txt')\n"
        "try:\n    requests.get('https://127.0.0.1:9/x', timeout=5)\nexcept requests.ConnectionError:\n    pass\n"
        "from huggingface_hub import HfApi\n"
        "try:\n    HfApi().model_info('gpt2', timeout=5)\nexcept requests.ConnectionError:\n    pass"
    ),
}
"""Environment -> imports and first uses that need no GPU."""
BEFORE: dict[str, Plant] = {"cupy": ALL_SEARCHED}
NEEDED = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LIBRARY_PATH",
    "CPATH",
    "PYTHONTRACEMALLOC",
)
GPU_TELLS = re.compile(
    r"CUDA_(?!CACHE)|NVIDIA_|NCCL_|TORCH_NCCL|CUBLAS|CUDNN|.*_CUDA_|.*CUDA.*GRAPH|NVCC|NUMBA|XLA_PYTHON|GLOO|MASTER_|RANK|WORLD_SIZE"
    r"|LOCAL_|TF_GPU|TF_FORCE_GPU|TRITON_(?:PTXAS|LIBCUDA|LIBDEVICE|CUOBJDUMP|NVDISASM)|.*ROCM|.*HIP|.*AMD|.*TPU|.*XPU|.*MPS|CC|CXX|MAX_JOBS"
    r"|BNB_|TORCH_CUDA|TORCH_EXTENSIONS|CUDAHOSTCXX"
)
"""Of these only a GPU, several machines or a compiler tell."""

# --- variables and values -------------------------------------------------------------------------------------------------

_READ = re.compile(
    r"(?:name=(?=.jax_)|(?:environ(?:\.get|\.setdefault|\.pop)?|getenv|env_\w+|\w*_state|env_with_choices)\s*[\[(]\s*)(?:name=)?[\"']([A-Za-z][A-Za-z0-9_]{3,})[\"']"
)
SOURCES = {
    "torch-2.6": ("torch", "triton"),
    "torch-2.8": ("torch", "triton", "bitsandbytes", "xformers"),
    "jax": ("jax", "jaxlib"),
    "tensorflow": ("tensorflow/python", "keras", "requests"),
    "cupy": ("cupy", "cupyx"),
    "hub": ("transformers", "datasets", "accelerate", "huggingface_hub", "requests", "tqdm", "fsspec"),
}


GENERAL = (
    "TMPDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME", "LC_ALL", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NO_PROXY",
    "HTTPS_PROXY", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_SCHEDULE", "KMP_AFFINITY", "PYTHONWARNINGS", "TZ",
    "MPLCONFIGDIR", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONASYNCIODEBUG", "PYTHONUNBUFFERED", "TQDM_MININTERVAL",
)  # fmt: skip
"""Variables of the system, of Python and of what every framework uses."""
_CONVERTED = re.compile(
    r"\b(?:int|float|Path|open|makedirs|loads|strtobool|join|setLevel|bool_state|int_state|float_state|enum_state)\(|name=.jax_"
)


@functools.cache
def lines_in(environment: str) -> tuple[str, ...]:
    """Return the lines of an environment's sources that may read a variable."""
    folders = [str(site(master(environment)) / package) for package in SOURCES[environment]]
    left_out = [f"--exclude-dir={name}" for name in ("tests", "test", "testing", "scripts", "models")]
    words = "environ|getenv|env_|_state[(]|name=.jax_"
    done = subprocess.run(
        ["grep", "-rhE", "--include=*.py", *left_out, words, *folders], check=False, capture_output=True
    )
    return tuple(sorted(set(done.stdout.decode("utf-8", "replace").splitlines())))


def variables_in(environment: str, *, converted: bool = False) -> list[str]:
    """Return the variables that the sources of an environment's packages read, in order; ``converted``: in a line that converts something."""
    rows = (row for row in lines_in(environment) if not converted or _CONVERTED.search(row))
    found = {name.upper() for row in rows for name in _READ.findall(row)}
    return sorted(n for n in found if "_" in n and not GPU_TELLS.match(n) and n not in NEEDED)


def contracts_in(environment: str) -> list[Contract]:
    """Return the contracts of which an environment's distributions are readers."""
    names = {p.name.split("-")[0].replace("_", "-").lower() for p in site(master(environment)).glob("*.dist-info")}
    return [
        c
        for c in variable_contracts()
        if c.kind not in ("requirement", "capabilities", "devices", "interfaces", "files")
        and c.variable not in NEEDED
        and not GPU_TELLS.match(c.variable)
        and (not c.readers or any(re.fullmatch(c.readers, n) for n in names))
    ]


WRONG = (
    "auto", "zq7", "None", "10G", "4 threads", "1.5", "-1", "0x10", "1e3", "yes", "enabled", "TRUE", "2", "on", "off", "cpu,,gpu", ":a",
    '"1"', "'fast'", "{'a': 1}", "DEBUG", "verbose", "0", "1", "{home}/gone/deep", "{home}/note.txt", "{home}/closed", "{home}/closed/deep",
    "{home}/note.txt/deep", "{home}/data", "{home}/data:", "http://127.0.0.1:9", "socks://127.0.0.1:9",
)  # fmt: skip
"""Values of every kind; what becomes of them is the program's to say."""


def right_values(contract: Contract) -> list[str]:
    """Return values that a contract calls right."""
    match contract.kind:
        case "words":
            return [w for w in contract.words if w]
        case "switch":
            return ["1", "true", "off", "No"]
        case "number":
            return [f"{contract.least:g}", f"{contract.most:g}"]
        case "writable":
            return ["{home}/new/deep", "{home}/data"]
        case "file" | "path":
            return ["{home}/note.txt"]
        case "encoding":
            return ["utf-8", "latin-1:replace"]
        case _:
            return [contract.means] if re.fullmatch(r"[\w.:,=-]+", contract.means) else []


class Draw(NamedTuple):
    """One variable, its value, and where it is set."""

    environment: str
    variable: str
    value: str
    place: str


def drawn(seed: int, number: int) -> Iterator[Draw]:
    """Yield the draws of a seed."""
    chance = random.Random(seed)
    known = {
        e: (contracts_in(e), variables_in(e), variables_in(e, converted=True) or variables_in(e)) for e in PROGRAMS
    }
    seen: set[tuple[str, str]] = set()
    while number > 0:
        environment = chance.choice(list(PROGRAMS))
        contracts, read, converted = known[environment]
        of = chance.random()
        contract = chance.choice(contracts) if of < 0.35 else None
        others = GENERAL if of < 0.55 else converted if of < 0.9 else read
        variable = contract.variable if contract else chance.choice(others)
        values = right_values(contract) if contract and chance.random() < 0.35 else []
        value = chance.choice(values or list(WRONG))
        plain = re.fullmatch(r"[\w./{}:,-]+", value) is not None
        place = chance.choice(list(PLACES)) if plain and chance.random() < 0.6 else "process"
        place = "process" if environment in BEFORE else place  # other places do not hand its search path on
        if (environment, variable) in seen or (place in LATE and variable.startswith(("PYTHON", "LD_", "LC_", "LANG"))):
            continue
        if variable == "HOME" and place != "process":
            continue
        seen.add((environment, variable))
        number -= 1
        yield Draw(environment, variable, value, place)


# --- places ---------------------------------------------------------------------------------------------------------------

Place = Callable[[World, str, str], None]


def _file(name: str, text: str, cwd: str = "") -> Place:
    def put(world: World, variable: str, value: str) -> None:
        line = text.replace("NAME", variable).replace("VALUE", value)
        writes({name: line}, cwd)(world)

    return put


def _mounted(path: str, text: str) -> Place:
    def put(world: World, variable: str, value: str) -> None:
        _file("mounted", text)(world, variable, value)
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        world.launcher += ["unshare", "-m", "sh", "-c", script, "sh", str(world.home / "mounted"), path]

    return put


def _in_cron(world: World, variable: str, value: str) -> None:
    writes({"cron.d/own": f"{variable}={value}\n5 * * * * root cd {{home}} && {{env}}/bin/python main.py\n"})(world)
    world.launcher += [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount --bind "$1" /etc/cron.d && shift && exec "$@"',
        "sh",
        str(world.home / "cron.d"),
    ]


def _sitecustomize(world: World, variable: str, value: str) -> None:
    (world.site / "sitecustomize.py").write_text(f"import os\nos.environ.setdefault({variable!r}, {value!r})\n")


def _of_conda(world: World, variable: str, value: str) -> None:
    (world.prefix / "conda-meta").mkdir(exist_ok=True)
    (world.prefix / "conda-meta/history").write_text("")
    folder = world.prefix / "etc/conda/activate.d"
    folder.mkdir(parents=True)
    (folder / "own.sh").write_text(f"export {variable}={value}\n")


def _in_process(world: World, variable: str, value: str) -> None:
    world.variables[variable] = value


PLACES: dict[str, Place] = {
    "process": _in_process,
    ".bashrc": _file(".bashrc", "export NAME=VALUE\n"),
    ".profile": _file(".profile", "NAME=VALUE; export NAME\n"),
    "/etc/environment": _mounted("/etc/environment", "NAME=VALUE\n"),
    "systemd": _file(".config/systemd/user/serve.service", "[Service]\nEnvironment=NAME=VALUE\nExecStart={env}/bin/python {home}/main.py\n"),
    ".env of a Procfile": _file("work/.env", "NAME=VALUE\n", "work"),
    "VS Code": _file("work/.vscode/settings.json", '{"terminal.integrated.env.linux": {"NAME": "VALUE"}}\n', "work"),
    "Jupyter": _file(".local/share/jupyter/kernels/own/kernel.json", '{"argv": ["{env}/bin/python", "-m", "ipykernel_launcher"], "env": {"NAME": "VALUE"}}\n'),
    "conda": _of_conda,
    "sitecustomize": _sitecustomize,
    "cron": _in_cron,
    "Makefile": _file("work/Makefile", "export NAME = VALUE\n\nrun:\n\t{env}/bin/python main.py\n", "work"),
}  # fmt: skip
LATE = ("sitecustomize",)
"""What is set there is set when Python has started."""


def scene_of(draw: Draw, number: int) -> Scene:
    """Return the draw as a scene; whether it is a fault is for the program to say."""

    def plant(world: World) -> None:
        world.home.mkdir(exist_ok=True)
        writes(
            {
                "note.txt": "a note\n",
                "data/x.txt": "x\n",
                "closed/x.txt": "x\n",
                "work/Procfile": "run: {env}/bin/python main.py\n",
            }
        )(world)
        (world.home / "closed").chmod(0)
        world.plain_rights = True
        value = draw.value.replace("{home}", str(world.home))
        PLACES[draw.place](world, draw.variable, value)

    def real(world: World) -> Ran:
        kept = dict(world.variables)
        if draw.place != "sitecustomize":
            world.variables[draw.variable] = draw.value.replace("{home}", str(world.home))
        try:
            return runs(PROGRAMS[draw.environment])(world)
        finally:
            world.variables = kept

    name = f"{number:03} {draw.environment} {draw.variable}"
    before = BEFORE.get(draw.environment)
    return Scene(name.replace(" ", "-"), "healthy", draw.environment, real, then(before, plant) if before else plant)


CAUSES = (
    "variable_value_wrong",
    "requirement_broken",
    "python_environment_broken",
    "cuda_path_env_wrong",
    "compute_cache_unusable",
)


def judged(draw: Draw, number: int, folder: Path, *, oracle_only: bool, tries: bool = False) -> tuple[bool, Outcome]:
    """Ask the program what the draw does, then scan; return whether the program fails, and the outcome."""
    remove(folder / "home")
    for made in ("env/conda-meta", "env/etc/conda"):
        shutil.rmtree(folder / made, ignore_errors=True)
    (site(folder / "env") / "sitecustomize.py").unlink(missing_ok=True)
    (folder / "home").mkdir()
    scene = scene_of(draw, number)
    oracle = scene.oracle
    answers: list[Ran] = []

    def asked(world: World) -> Ran:
        answers.append(oracle(world))
        return Ran(ok=True, said=answers[-1].said)

    outcome = examine(replace(scene, oracle=asked), oracle_only=oracle_only, tries=tries, there=folder)
    fails = not answers[-1].ok
    if fails and outcome.report is not None:
        return fails, _as_fault(outcome, draw)
    return fails, outcome


def _as_fault(outcome: Outcome, draw: Draw) -> Outcome:
    fault = replace(outcome.scene, kind="E", causes=CAUSES, names=draw.variable)
    text = json.dumps(outcome.report).encode()
    return judge(fault, Ran(ok=False, said=outcome.said), outcome.status or 0, text, b"", outcome.seconds)


def main() -> int:
    """Print a line for each draw, and the sum."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab.variables", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--only", default="", help="of the draws, those whose name has this pattern")
    parser.add_argument("--oracle-only", action="store_true")
    parser.add_argument("--try", action="store_true", dest="tries", help="scan with --try")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    draws = [
        (n, d) for n, d in enumerate(drawn(options.seed, options.number)) if re.search(options.only, f"{n:03} {d}")
    ]

    def of(environment: str) -> list[tuple[bool, Outcome]]:
        with copied(environment, f"variables-{options.seed}-{environment}") as folder:
            try:
                prepare(environment, folder)
            except RuntimeError as e:
                print(f"{e}: its draws are left out", flush=True)
                return []
            return [
                told(d, *judged(d, n, folder, oracle_only=options.oracle_only, tries=options.tries))
                for n, d in draws
                if d.environment == environment
            ]

    with ThreadPoolExecutor(options.jobs) as pool:
        rows = [row for its in pool.map(of, PROGRAMS) for row in its]
    answered = [(fails, o) for fails, o in rows if "it gave no answer" not in o.said]
    faults, healthy = [o for f, o in answered if f], [o for f, o in answered if not f]
    named, quiet = (sum(o.verdict in RIGHT for o in its) for its in (faults, healthy))
    print(
        f"{named} of {len(faults)} faults named first; {quiet} of {len(healthy)} harmless values quiet; "
        f"{len(rows) - len(answered)} programs gave no answer in time"
    )
    return 0


def prepare(environment: str, folder: Path) -> None:
    """Install what the packages use and do not say, and see that the program works without any variable.

    Raises:
        RuntimeError: it does not.
    """
    world = World(folder)
    if asked := UNDECLARED.get(environment):
        installs(*asked)(world)
    if environment in BEFORE:
        BEFORE[environment](world)
    if not (real := runs(PROGRAMS[environment])(world)).ok:
        raise RuntimeError(f"{environment} does not work: {real.said}")


def told(draw: Draw, fails: bool, outcome: Outcome) -> tuple[bool, Outcome]:
    """Print what became of a draw."""
    mark = " " if outcome.verdict in RIGHT else "!"
    print(
        f"{mark} {'fails' if fails else 'works'} {outcome.verdict:12} {outcome.scene.name[:3]} {draw.environment:10} {draw.place:18} "
        f"{draw.variable}={draw.value!r}  {outcome.said[:110]}"
        + (f"\n      {outcome.found}\n      {outcome.detail[:600]}" if mark == "!" else ""),
        flush=True,
    )
    return fails, outcome


if __name__ == "__main__":
    sys.exit(main())
