"""Random faults of files: draw a file that a real program reads, harm it, ask the program, and scan.

``python -m tests.worldlab.random_files [--seed N] [--number M] [--environment NAME_OR_FOLDER ...]``: an environment is a master of the lab or the
folder of a virtual environment; it is copied by hard links for each draw and never altered. A harm that the program survives is a healthy
machine: the scan must say nothing there but what it says of the unharmed copy, or of what was harmed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.worldlab.environments import ENVIRONMENTS, copied_from, home, master, site
from tests.worldlab.run import CHECKOUT, SCAN_TIMEOUT
from tests.worldlab.scene import ORACLE_TIMEOUT, Oracle, World, both, runs
from tests.worldlab.scenes import closure

# --- what the programs are ------------------------------------------------------------------------------------

BERT = "vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8"
DOWNLOAD = """
import requests
try:
    requests.get("https://127.0.0.1:9/")
except requests.ConnectionError as e:
    assert "refused" in str(e), e
"""
GPU = {
    "torch": both(closure.TORCH, closure.CUDNN),
    "jax-cuda12-plugin": closure.JAX,
    "tensorflow": closure.TENSORFLOW,
    "onnxruntime-gpu": closure.ONNXRUNTIME,
    "ctranslate2": closure.CTRANSLATE2,
    "cupy-cuda12x": closure.CUPY,
}
"""Distribution -> what a program with a GPU loads of it; the folders of NVIDIA's libraries are searched."""
PLAIN = {
    "torch": "import torch; torch.zeros(1)",
    "torchvision": "import torch, torchvision; torchvision.ops.nms(torch.zeros(1, 4), torch.zeros(1), 0.5)",
    "torchaudio": "import torchaudio",
    "xformers": "import xformers.ops",
    "bitsandbytes": "import bitsandbytes",
    "jax": "import jax.numpy; jax.numpy.ones(1)",
    "tensorflow": "import tensorflow; tensorflow.zeros(1)",
    "onnxruntime-gpu": "import onnxruntime; onnxruntime.get_available_providers()",
    "ctranslate2": "import ctranslate2; ctranslate2.get_supported_compute_types('cpu')",
    "cupy-cuda12x": "import cupy",
    "transformers": f"import transformers as t; t.BertModel(t.BertConfig({BERT})); t.AutoTokenizer, t.pipeline",
    "accelerate": "import accelerate; accelerate.Accelerator(cpu=True)",
    "diffusers": "from diffusers import DDPMScheduler, UNet2DModel; DDPMScheduler()",
    "sentence-transformers": "import sentence_transformers",
    "scikit-learn": "from sklearn.linear_model import LinearRegression as L; L().fit([[0.0], [1.0]], [0.0, 1.0])",
    "librosa": "import librosa, numpy; librosa.feature.melspectrogram(y=numpy.zeros(4096), sr=8000)",
    "gradio": "import gradio; gradio.Interface(lambda x: x, 'text', 'text')",
    "datasets": "import datasets; datasets.Dataset.from_dict({'a': [1]})",
    "faster-whisper": "import faster_whisper",
    "soundfile": "import soundfile",
    "requests": DOWNLOAD,
}
"""Distribution -> its typical first use, without a GPU."""


@dataclass(frozen=True)
class Program:
    """A real program, which is the oracle."""

    name: str
    oracle: Oracle
    gpu: bool = False


def programs_of(prefix: Path) -> list[Program]:
    """Return the programs whose distribution an environment has."""
    its = set(distributions_of(site(prefix)).values())
    names = {name for name, _version in its}
    return [
        *(Program(f"gpu {n}", oracle, gpu=True) for n, oracle in GPU.items() if n in names),
        *(Program(n, runs(code)) for n, code in PLAIN.items() if n in names),
    ]


def distributions_of(packages: Path) -> dict[str, tuple[str, str]]:
    """Return path below the packages -> name and version of the distribution that recorded it; of records and byte code none."""
    found = {}
    for info in packages.glob("*.dist-info"):
        name, _dash, version = info.name.removesuffix(".dist-info").partition("-")
        of = re.sub(r"[-_.]+", "-", name).lower(), version
        for row in csv.reader((info / "RECORD").read_text(encoding="utf-8").splitlines()):
            if not row[0].startswith((".", "/")) and ".dist-info/" not in row[0] and "__pycache__" not in row[0]:
                found[row[0]] = of
    return found


# --- what is done to a file -----------------------------------------------------------------------------------


@dataclass
class Draw:
    """What was drawn: a file of a distribution, and what becomes of it."""

    number: int
    environment: str
    program: Program
    searched: bool
    harm: str
    path: str
    """Below the packages."""
    of: tuple[str, str]
    others: Sequence[Path] = ()
    """Other releases' files of this name."""

    @property
    def folder(self) -> str:
        """The package that the file is part of, one level or two below the packages."""
        return "/".join(self.path.split("/")[: 2 if self.path.startswith(("nvidia/", "google/")) else 1])


def change(world: World, path: Path, new: Callable[[bytes], bytes]) -> None:
    """Give a file other content, with its age: a fault of a disk leaves no date."""
    seen = world.own(path).stat()
    path.write_bytes(new(path.read_bytes()))
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def with_zeros(content: bytes) -> bytes:
    """Return content with an empty page in the middle."""
    begin = len(content) // 2 // 4096 * 4096
    end = min(begin + 4096, len(content))
    return content[:begin] + bytes(end - begin) + content[end:]


def lose_folder(world: World, draw: Draw, path: Path) -> None:
    """Take the whole package away; of a module alone the module."""
    folder = world.site / draw.folder
    closure.shutil.rmtree(folder) if folder.is_dir() else path.unlink()


def dangle(_world: World, _draw: Draw, path: Path) -> None:
    """Put a link to nothing in the place of a file."""
    path.unlink()
    path.symlink_to(f"/nowhere/{path.name}")


def close(world: World, _draw: Draw, path: Path) -> None:
    """Take the right to read a file away."""
    world.own(path).chmod(0)
    world.plain_rights = True


def close_folder(world: World, _draw: Draw, path: Path) -> None:
    """Take the right to look into a folder away."""
    path.parent.chmod(0)
    world.plain_rights = True


def replace_by_other(world: World, draw: Draw, path: Path) -> None:
    """Put another release's file there, or give a library another processor."""
    if draw.others:
        content = draw.others[0].read_bytes()
        change(world, path, lambda _old: content)
    else:
        change(world, path, lambda old: old[:18] + (183).to_bytes(2, "little") + old[20:])


def lose_record(world: World, draw: Draw, _path: Path) -> None:
    """Take a distribution's dist-info away."""
    for info in world.site.glob("*.dist-info"):
        name = info.name.removesuffix(".dist-info").partition("-")[0]
        if re.sub(r"[-_.]+", "-", name).lower() == draw.of[0]:
            closure.shutil.rmtree(info)


HARMS: dict[str, Callable[[World, Draw, Path], None]] = {
    "file lost": lambda _world, _draw, path: path.unlink(),
    "package's folder lost": lose_folder,
    "emptied": lambda world, _draw, path: change(world, path, lambda _old: b""),
    "cut in half": lambda world, _draw, path: change(world, path, lambda old: old[: len(old) // 2]),
    "zeros in the middle": lambda world, _draw, path: change(world, path, with_zeros),
    "zeros alone": lambda world, _draw, path: change(world, path, lambda old: bytes(len(old))),
    "another's file": replace_by_other,
    "closed": close,
    "folder closed": close_folder,
    "link to nothing": dangle,
    "dist-info lost": lose_record,
}


# --- drawing --------------------------------------------------------------------------------------------------


@dataclass
class Source:
    """An environment to draw from."""

    name: str
    prefix: Path
    owners: dict[str, tuple[str, str]] = field(default_factory=dict)
    read: dict[str, list[str]] = field(default_factory=dict)
    """Program -> the recorded files that it opens."""
    usual: dict[tuple[bool, bool], frozenset[str]] = field(default_factory=dict)
    """What the scan says of an unharmed copy, by whether libraries are searched and rights are plain."""


@contextmanager
def staged(source: Source, program: Program, *, searched: bool) -> Iterator[World]:
    """Give a copy of an environment, for a program."""
    with copied_from(source.prefix, "random-files") as folder:
        world = World(folder=folder)
        if program.gpu or searched:
            closure.searched(world)
        yield world


def opened(source: Source, program: Program) -> list[str]:
    """Return the recorded files with content that a program really opens; none where it does not work."""
    if program.name not in source.read:
        with staged(source, program, searched=False) as world:
            log = world.folder / "opened"
            world.launcher = ["strace", "-f", "-qq", "-e", "trace=open,openat,readlink", "-o", str(log)]
            ok = program.oracle(world).ok
            spelt = re.findall(r'"([^"]+)"[^\n]*\) = \d', log.read_text(encoding="utf-8", errors="replace"))
            below = {str(Path(os.path.normpath(p))).removeprefix(f"{world.site}/") for p in spelt}
        files = (p for p in below if p in source.owners and (site(source.prefix) / p).stat().st_size)
        source.read[program.name] = sorted(files) if ok else []
    return source.read[program.name]


def drawn(sources: Sequence[Source], seed: int, number: int) -> Draw:
    """Return one draw; the same seed and environments give the same."""
    chance = random.Random(f"{seed} {number}")
    source = chance.choice(sources)
    programs = programs_of(source.prefix)
    chance.shuffle(programs)
    program = next(p for p in programs if opened(source, p))
    files = opened(source, program)
    of = chance.choice(sorted({source.owners[p] for p in files}))
    its = [p for p in files if source.owners[p] == of]
    if chance.random() < 0.15:  # a file that the program may not read
        its = [p for p, owner in source.owners.items() if owner == of and not p.endswith(".pyi")]
    path = chance.choice(sorted(its))
    harms = list(HARMS)
    others = others_of(path, of)
    if not others and ".so" not in path:
        harms.remove("another's file")
    searched = chance.random() < 0.5
    return Draw(number, source.name, program, searched, chance.choice(harms), path, of, others)


def others_of(path: str, of: tuple[str, str]) -> list[Path]:
    """Return the files of this name and distribution in masters with another release of it."""
    found = []
    for name in sorted(ENVIRONMENTS):
        packages = site(home() / name)
        if (file := packages / path).is_file() and not any(
            packages.glob(f"{of[0].replace('-', '_')}-{of[1]}.dist-info")
        ):
            found.append(file)
    return found


# --- judging --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """What became of one draw."""

    draw: Draw
    works: bool
    verdict: str
    status: int | None
    said: str
    found: str
    seconds: float


PATIENT = """
import runpy, sys
sys.path.insert(0, {checkout!r})
from core.probes.python.following import import_closure
vars(import_closure)["MOST_WAITING"] = 300.0
runpy.run_path({starter!r}, run_name="__main__")
"""
"""A busy machine finds what a quiet one does: processor time is limited as in a scan, waiting is not."""


def scan(world: World, *, card: bool) -> tuple[int, list[dict[str, Any]], float]:
    """Scan as people do; return the exit status, the findings and the seconds."""
    starter = CHECKOUT / "tests" / "worldlab" / ("with_card.py" if card else "without_card.py")
    words = ["scan", "--json", "--full-names", "--python", str(world.prefix)]
    code = PATIENT.format(checkout=str(CHECKOUT), starter=str(starter))
    begun = time.monotonic()
    done = world.run([sys.executable, "-I", "-c", code, *words], timeout=SCAN_TIMEOUT)
    try:
        findings = json.loads(done.stdout)["findings"]
    except ValueError:
        return done.returncode, [{"id": "no report", "severity": "error", "title": done.stderr[-800:].decode()}], 0.0
    return done.returncode, findings, time.monotonic() - begun


def is_about(draw: Draw, finding: dict[str, Any], prefix: Path) -> bool:
    """Whether a finding names the harmed file, its package or its module."""
    told = json.dumps([finding.get(k) for k in ("id", "title", "subject", "evidence", "why")], ensure_ascii=False)
    told = told.replace(str(prefix), "").lower()
    name = Path(draw.path).name
    module = re.sub(r"(/__init__)?\.(py|[\w.-]*so[\d.]*)$", "", draw.path).replace("/", ".")
    names = {draw.path, module, *([name] if name != "__init__.py" else [])}
    if draw.harm in ("package's folder lost", "folder closed") and f"/{draw.folder}/".lower() in told:
        return True  # another file of that folder
    package = {draw.of[0], draw.of[0].replace("-", "_"), draw.folder.removesuffix(".py").replace("/", ".")}
    title = str(finding.get("title", "")).replace(str(prefix), "").lower()
    spelt = [(one.lower(), told) for one in names] + [(one.lower(), f"{finding['id']} {title}") for one in package]
    return any(re.search(rf"(?<![\w.-]){re.escape(one)}(?![\w-])", text) for one, text in spelt)


def judged(draw: Draw, source: Source, *, card: bool) -> Told:
    """Harm a copy, ask the program, scan, and compare."""
    with staged(source, draw.program, searched=draw.searched) as world:
        HARMS[draw.harm](world, draw, world.site / draw.path)
        try:
            real = draw.program.oracle(world)
        except subprocess.TimeoutExpired:
            return Told(draw, works=False, verdict="no answer", status=None, said="", found="", seconds=ORACLE_TIMEOUT)
        status, findings, seconds = scan(world, card=card)
        prefix, plain = world.prefix, world.plain_rights
    usual = usual_of(source, draw, plain_rights=plain, card=card)
    loud = [f for f in findings if is_loud(f) and words_of_finding(f, prefix) not in usual]
    first = next((f for f in findings if f.get("primary") or f.get("headline")), None)
    named = [f for f in loud if is_about(draw, f, prefix)]
    other = [f for f in loud if f not in named]
    if real.ok:
        verdict = "FALSE ALARM" if other else "told, program works" if named else "quiet"
    else:
        verdict = "named first" if first in named and status == 1 else "named later" if named else "missed"
    shown = "; ".join(dict.fromkeys(words_of_finding(f, prefix) for f in ([first] if first else []) + loud))
    said = next((w for w in reversed(real.said.splitlines()) if re.search(r"\w", w)), "").replace(str(prefix), "env")
    return Told(draw, real.ok, verdict, status, said[:200], shown[:600], seconds)


def is_loud(finding: dict[str, Any]) -> bool:
    """Whether a finding is more than a note."""
    return finding["severity"] not in ("good", "note")


def words_of_finding(finding: dict[str, Any], prefix: Path) -> str:
    """Return what a finding says, whatever the copy's folder is."""
    words = f"{finding['severity']} {finding['id']}: {finding.get('title', '')}"
    return words.replace(str(prefix), "env")


def usual_of(source: Source, draw: Draw, *, plain_rights: bool, card: bool) -> frozenset[str]:
    """Return what the scan says of an unharmed copy: asked once for each way of starting."""
    key = draw.searched or draw.program.gpu, plain_rights
    if key not in source.usual:
        with staged(source, draw.program, searched=draw.searched) as world:
            world.plain_rights = plain_rights
            _status, findings, _seconds = scan(world, card=card)
            source.usual[key] = frozenset(words_of_finding(f, world.prefix) for f in findings if is_loud(f))
    return source.usual[key]


# --- the tool -------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Print a line for each draw, and the sums; exit status 1 where something was missed or is a false alarm."""
    parser = argparse.ArgumentParser(prog="python -m tests.worldlab.random_files", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=20, help="how many draws")
    parser.add_argument("--only", type=int, nargs="*", help="only the draws of these numbers")
    parser.add_argument("--environment", nargs="+", default=["torch-2.8"], metavar="NAME_OR_FOLDER")
    parser.add_argument("--without-card", action="store_true", help="scan this machine as it is")
    parser.add_argument("--list", action="store_true", help="only say what is drawn")
    options = parser.parse_args(argv)
    sources = {}
    for name in options.environment:
        prefix = master(name) if name in ENVIRONMENTS else Path(name).absolute()
        sources[name] = Source(name, prefix, distributions_of(site(prefix)))
    rows: list[Told] = []
    for number in options.only or range(options.number):
        draw = drawn(list(sources.values()), options.seed, number)
        if options.list:
            print(words_of(draw))
            continue
        rows.append(judged(draw, sources[draw.environment], card=not options.without_card))
        print(line(rows[-1]), flush=True)
    print(totals(rows))
    return 1 if any(r.verdict in ("missed", "named later", "FALSE ALARM") for r in rows) else 0


def words_of(draw: Draw) -> str:
    """Return what was drawn, in a line."""
    searched = ", searched" if draw.searched or draw.program.gpu else ""
    return f"{draw.number:3} {Path(draw.environment).name}{searched} | {draw.program.name} | {draw.harm} | {draw.path} ({draw.of[0]})"


def line(told: Told) -> str:
    """Return one draw and what was told, with the words where it is not right."""
    row = f"{told.verdict:20} [{told.status}] {told.seconds:4.1f} s {words_of(told.draw)}"
    if told.verdict in ("named first", "quiet"):
        return row
    return f"{row}\n      the program: {told.said}\n      the scan: {told.found or 'nothing'}"


def totals(rows: Sequence[Told]) -> str:
    """Return what the draws come to, by what was done to the files."""
    faults = [r for r in rows if not r.works]
    lines = ["", f"{'':24} {'faults':>8} {'named first':>12} {'later':>6} {'missed':>7}"]
    for harm in HARMS:
        its = Counter(r.verdict for r in faults if r.draw.harm == harm)
        if its:
            lines.append(f"{harm:24} {its.total():8} {its['named first']:12} {its['named later']:6} {its['missed']:7}")
    of_all, healthy = Counter(r.verdict for r in faults), Counter(r.verdict for r in rows if r.works)
    lines.append(
        f"\n{of_all['named first']} of {len(faults)} faults named first, {of_all['named later']} named later, {of_all['missed']} missed; "
        f"of {healthy.total()} that work all the same {healthy['quiet']} quiet, {healthy['told, program works']} told of what was harmed, "
        f"{healthy['FALSE ALARM']} false alarms."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
