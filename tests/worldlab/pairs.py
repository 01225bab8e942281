"""Releases thrown together by a seed: what following imports says of each package, against what the real import does.

``python -m tests.worldlab.pairs SEED...`` by hand: an environment of each family, first as an index held it on one day, then two to
four of its packages as of other days. A true word is one of an import that fails with what was told; a false one must not occur.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path

import msgspec

from core.model.facts import Distribution, EndedImport
from core.probes.python.following import import_closure
from core.probes.python.following.import_closure import ended_imports
from core.probes.python.installed.distributions import find_distributions
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.sysroot import Sysroot
from tests.worldlab.environments import _settle, master, site

FAMILIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "hub": ("torch-2.6", ("diffusers", "transformers", "huggingface-hub", "accelerate", "peft", "safetensors", "tokenizers", "sentence-transformers")),
    "training": ("torch-2.6", ("trl", "transformers", "datasets", "accelerate", "peft", "evaluate", "huggingface-hub", "optimum")),
    "lightning": ("torch-2.6", ("pytorch-lightning", "lightning", "torchmetrics", "lightning-utilities", "timm", "kornia", "segmentation-models-pytorch", "monai")),
    "web": ("torch-2.6", ("gradio", "gradio-client", "pydantic", "fastapi", "starlette", "huggingface-hub", "torchsde", "einops")),
    "graphs": ("torch-2.6", ("torch-geometric", "pyro-ppl", "gpytorch", "linear-operator", "botorch", "captum", "torchdiffeq", "skorch")),
    "flax": ("jax", ("flax", "optax", "chex", "orbax-checkpoint", "distrax", "dm-haiku", "equinox", "jaxtyping")),
    "jax-probability": ("jax", ("numpyro", "blackjax", "jaxopt", "optax", "tensorflow-probability", "diffrax", "rlax", "chex")),
    "keras": ("tensorflow", ("keras", "tf-keras", "keras-tuner", "keras-hub", "keras-cv", "tensorflow-hub", "tensorflow-datasets", "tensorflow-probability")),
    "tensorflow": ("tensorflow", ("tensorflow-hub", "tensorflow-addons", "tensorflow-model-optimization", "tf-slim", "protobuf", "tensorflow-metadata", "tensorflow-datasets", "dm-sonnet")),
}  # fmt: skip
"""Family -> its environment, and packages whose releases depend on each other."""

FIRST_DAY, LAST_DAY = date(2022, 6, 1), date(2026, 6, 1)
KEPT = r"torch|torchvision|triton|nvidia-.*|jax|jaxlib|jax-cuda.*|tensorflow"
"""What a family's environment keeps as it is: pairs of these and others are wanted, not gigabytes."""

NO_IMPORT = re.compile(r"(?m)^(ImportError|ModuleNotFoundError|AttributeError)\b.*")


class Compared(msgspec.Struct, frozen=True):
    """One package: the real import's last line, and what reading says."""

    family: str
    seed: int
    package: str
    module: str
    said: str
    """Empty where the real import succeeds."""
    place: str = ""
    """The last line of an environment's file in the traceback."""
    scan: str = ""

    @property
    def verdict(self) -> str:
        """Return what the scan's word is worth."""
        if not self.scan:
            return "quiet" if not self.said else "missed" if NO_IMPORT.match(self.said) else "another error"
        return "FALSE" if not self.said else "true" if self.scan.split()[-1] in self.said else "true, another name"


def told(ended: EndedImport | None) -> str:
    """Return an end in words: kind, place, module, name."""
    if ended is None:
        return ""
    return f"{ended.kind} {Path(ended.importer).name}:{ended.line} {ended.wanted} {ended.name}".strip()


def made(family: str, seed: int, folder: Path) -> Path:
    """Return the environment of a family by a seed, installed if it is not there."""
    base, packages = FAMILIES[family]
    chance = random.Random(f"{family} {seed}")
    prefix = folder / f"{family}-{seed}"
    if (prefix / "made.json").is_file():
        return prefix
    shutil.rmtree(prefix, ignore_errors=True)
    shutil.copytree(master(base), prefix, symlinks=True, copy_function=os.link)
    _settle(prefix, master(base))
    kept = [f"{d.name}=={d.version}" for d in installed(site(prefix)) if re.fullmatch(KEPT, d.name)]
    (folder / f"{family}-{seed}.txt").write_text("\n".join(kept))
    for _try in range(6):  # not every day has releases for this Python and these frameworks
        day = day_of(chance)
        if uv(folder, prefix, day, "-c", str(folder / f"{family}-{seed}.txt"), *packages):
            break
    odd = [(p, day_of(chance)) for p in chance.sample(packages, chance.randint(2, 4))]
    done = [(p, str(d)) for p, d in odd if uv(folder, prefix, d, "--no-deps", "--reinstall-package", p, p)]
    (prefix / "made.json").write_text(json.dumps([str(day), done]))
    return prefix


def day_of(chance: random.Random) -> date:
    """Return any day."""
    return FIRST_DAY + timedelta(days=chance.randrange((LAST_DAY - FIRST_DAY).days))


def uv(folder: Path, prefix: Path, day: date, *arguments: str) -> bool:
    """Install as of a day; say whether that could be done."""
    program = Path(sys.executable).with_name("uv")
    command = [str(program), "pip", "install", "--quiet", "--only-binary", ":all:", "--exclude-newer", str(day), "--python", str(prefix)]  # fmt: skip
    settings = {"UV_CACHE_DIR": str(folder / "store"), "UV_LINK_MODE": "hardlink"}
    done = subprocess.run([*command, *arguments], check=False, env={**os.environ, **settings}, capture_output=True)
    return done.returncode == 0


def installed(folder: Path) -> tuple[Distribution, ...]:
    """Return the distributions as a scan has them."""
    return find_distributions(str(folder), Sysroot(system="linux"), every=True) or ()


def real_import(prefix: Path, module: str) -> tuple[str, str]:
    """Return the last line of what an import says that fails, and where it ended."""
    done = subprocess.run(
        [str(prefix / "bin" / "python"), "-c", f"import {module}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=prefix / "bin",
        env={"PATH": "/usr/bin:/bin", "HOME": str(prefix), "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"},
        timeout=300,
    )
    if done.returncode == 0:
        return "", ""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Warning|NotFound)\b", line)]
    places = re.findall(r'File "[^"]*site-packages/([^"]*)", line (\d+)', done.stderr)
    return (errors or lines or ["?"])[-1][:300], ":".join(places[-1]) if places else ""


def compared(family: str, seed: int, folder: Path) -> Iterator[Compared]:
    """Yield each package of a family."""
    prefix, where = made(family, seed, folder), Sysroot(system="linux")
    interpreter = read_interpreter(str(prefix), str(prefix / "bin" / "python"), where)
    if interpreter is None:
        raise RuntimeError(prefix)
    distributions = installed(site(prefix))
    search = ModuleSearch(interpreter, python_search_path(interpreter, {}, str(prefix / "bin"), where), "x86_64", where)
    ends = {start: e for e in ended_imports(search, distributions, where) for start in e.starts}
    answers = prefix / "answers.json"
    known = json.loads(answers.read_text()) if answers.is_file() else {}
    tops = {n.removesuffix(".dist-info").rpartition("-")[0].lower().replace("_", "-") for n in os.listdir(site(prefix)) if n.endswith(".dist-info")}  # noqa: PTH208  # fmt: skip
    for package in FAMILIES[family][1]:
        module = MODULES.get(package, package.replace("-", "_"))
        if package not in tops or not any(site(prefix).glob(f"{module.replace('.', '/')}*")):
            continue
        if module not in known:
            known[module] = real_import(prefix, module)
            answers.write_text(json.dumps(known))
        said, place = known[module]
        yield Compared(family, seed, package, module, said, place, told(ends.get(module)))


MODULES: Mapping[str, str] = {
    "pyro-ppl": "pyro",
    "dm-haiku": "haiku",
    "dm-sonnet": "sonnet",
    "orbax-checkpoint": "orbax.checkpoint",
    "protobuf": "google.protobuf",
    "keras-tuner": "keras_tuner",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Compare the families of some seeds; exit status 1 for a false word."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab.pairs", description=__doc__)
    parser.add_argument("seeds", nargs="+", type=int)
    parser.add_argument("--family", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--folder", type=Path, required=True, help="where the environments are made and stay")
    parser.add_argument("--all", action="store_true", help="show the healthy packages, too")
    options = parser.parse_args(argv)
    vars(import_closure)["MOST_WAITING"] = 300.0  # processor time is what counts here
    options.folder.mkdir(parents=True, exist_ok=True)
    counted: Counter[str] = Counter()
    for seed in options.seeds:
        for family in options.family:
            for one in compared(family, seed, options.folder):
                counted[one.verdict] += 1
                if one.said or one.scan or options.all:
                    print(f"{one.verdict:14} {family}-{seed} {one.module}\n   real   {one.place} {one.said}\n   scan   {one.scan}", flush=True)  # fmt: skip
    print("\n" + ", ".join(f"{n} {v}" for v, n in sorted(counted.items())))
    return 1 if counted["FALSE"] else 0


if __name__ == "__main__":
    sys.exit(main())
