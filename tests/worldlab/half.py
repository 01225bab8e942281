"""Half-deleted packages: take files of one package away at random, import it, scan, and count what is told.

``python -m tests.worldlab.half [--seed N] [--part 0.5] [--python ENV] [NAME...]``: ENV is copied by hard links for each package and never
altered. Without ENV one is installed with the packages of ``PACKAGES``. The machine is scanned as it is, without a card: an import fails
all the same.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.worldlab.environments import home, remove, site, uv
from tests.worldlab.run import CHECKOUT

PACKAGES = {
    "torch": "torch", "torchvision": "torchvision", "triton": "triton", "numpy": "numpy", "transformers": "transformers",
    "tokenizers": "tokenizers", "safetensors": "safetensors", "huggingface-hub": "huggingface_hub", "accelerate": "accelerate", "peft": "peft",
    "diffusers": "diffusers", "datasets": "datasets", "pandas": "pandas", "scipy": "scipy", "scikit-learn": "sklearn", "pillow": "PIL",
    "matplotlib": "matplotlib", "pyarrow": "pyarrow", "pyyaml": "yaml", "regex": "regex", "requests": "requests", "tqdm": "tqdm",
    "sympy": "sympy", "networkx": "networkx", "jinja2": "jinja2", "fsspec": "fsspec", "filelock": "filelock", "packaging": "packaging",
    "typing-extensions": "typing_extensions", "mpmath": "mpmath", "numba": "numba", "llvmlite": "llvmlite", "soundfile": "soundfile",
    "pydantic": "pydantic", "pydantic-core": "pydantic_core", "aiohttp": "aiohttp", "sentencepiece": "sentencepiece", "protobuf": "google.protobuf",
    "psutil": "psutil", "h5py": "h5py", "lxml": "lxml", "opencv-python-headless": "cv2", "einops": "einops", "timm": "timm",
}  # fmt: skip
"""Distribution -> the module that a program imports."""

RELEASES = ("torch==2.6.0", "torchvision==0.21.0", "numpy==2.2.6", "transformers==4.51.3", "datasets==3.6.0")


class Told(NamedTuple):
    """What became of one package."""

    name: str
    lost: int
    works: bool
    said: str
    status: int
    loud: str


def main() -> int:
    """Print a line for each package, and the sum."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab.half", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", type=float, default=0.5, help="part of the files that go")
    parser.add_argument("--python", type=Path, metavar="ENV")
    options = parser.parse_args()
    source = options.python or whole()
    rows = []
    for name in options.names or PACKAGES:
        rows.append(told(source, name, options.seed, options.part))
        one = rows[-1]
        print(
            f"{'works' if one.works else 'fails':6} status {one.status}  {name:24} {one.lost:5} lost  {one.loud[:150]}"
        )
        if not one.works and one.status == 0:
            print(f"       {one.said}")
        sys.stdout.flush()
    failing = [one for one in rows if not one.works]
    print(
        f"\n{len(rows)} packages, {len(failing)} fail in the real program; "
        f"of these {sum(one.status == 1 for one in failing)} are told with status 1, {sum(one.status == 0 and bool(one.loud) for one in failing)} "
        f"with a warning. Of {len(rows) - len(failing)} that work all the same {sum(one.status == 1 for one in rows if one.works)} have status 1."
    )
    return 0


def whole() -> Path:
    """Return an environment with all packages, installed once."""
    prefix = home() / "half"
    if not (prefix / "half.json").is_file():
        uv("venv", "--quiet", "--clear", "--python", sys.executable, str(prefix))
        pinned = {re.split("[=<>]", r)[0] for r in RELEASES}
        uv("pip", "install", "--quiet", "--python", str(prefix), *RELEASES, *(p for p in PACKAGES if p not in pinned))
        (prefix / "half.json").write_text(json.dumps(RELEASES))
    return prefix


def told(source: Path, name: str, seed: int, part: float) -> Told:
    """Break one package in a copy, import it and scan."""
    folder = home() / "scenes" / f"half-{name}-{os.getpid()}"
    folder.mkdir(parents=True)
    try:
        shutil.copytree(source, folder / "env", symlinks=True, copy_function=os.link)
        (folder / "home").mkdir()
        files = sorted(recorded(site(folder / "env"), name))
        gone = random.Random(f"{seed} {name}").sample(files, max(1, int(len(files) * part)))
        for path in gone:
            path.unlink()
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder / "home"), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        python = folder / "env" / "bin" / "python"
        ran = subprocess.run(
            [python, "-c", f"import {PACKAGES[name]}"],
            check=False,
            capture_output=True,
            env=env,
            cwd=folder / "home",
            timeout=300,
        )
        said = (ran.stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
        starter = [sys.executable, "-I", str(CHECKOUT / "tests" / "worldlab" / "without_card.py")]
        scan = subprocess.run(
            [*starter, "scan", "--json", "--full-names", "--python", str(folder / "env")],
            check=False,
            capture_output=True,
            env=env,
            cwd=folder / "home",
            timeout=300,
        )
        findings = json.loads(scan.stdout)["findings"]
        prefix = str(folder / "env")
        loud = [f for f in findings if f["severity"] in ("error", "warning") and prefix in json.dumps(f)]
        words = "; ".join(f"{f['severity']} {f['id']} [{f['cause']}]" for f in loud)
        return Told(name, len(gone), ran.returncode == 0, said[:160], scan.returncode, words)
    finally:
        remove(folder)


def recorded(packages: Path, name: str) -> Iterator[Path]:
    """Yield the files that a distribution installed and that are there, without its own record."""
    info = next(p for p in packages.glob("*.dist-info") if re.sub(r"[-_.]+", "-", p.name.split("-")[0]).lower() == name)
    for row in csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines()):
        path = packages / row[0]
        if not row[0].startswith((".", "/")) and ".dist-info/" not in row[0] and path.is_file():
            yield path


if __name__ == "__main__":
    sys.exit(main())
