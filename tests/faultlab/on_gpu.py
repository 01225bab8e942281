"""Faults on a machine with a real GPU and PyTorch's CUDA wheels: ``python -m tests.faultlab.on_gpu OUT [NAME...]``.

A fault is planted in the cuDNN wheel of a throw-away environment that shares all else with the real one by hard links, or
in a folder named by LD_LIBRARY_PATH, or it is a variable. Run it as root on Linux with the interpreter that holds PyTorch. OUT
gets a redacted report for each, and the table is printed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

from core.model.findings import Report
from core.report.json_form import from_json
from installer.by_hand import by_hand

STUB = "int cuInit(unsigned f){(void)f;return 34;} int cuDriverGetVersion(int*v){*v=0;return 34;}"


@dataclass(frozen=True)
class Place:
    """Where things are on this machine."""

    wheel: Path
    """The wheel's cuDNN folder."""
    other: Path
    """A folder with another cuDNN of the same major (the distribution's)."""
    work: Path


@dataclass(frozen=True)
class Fault:
    """One row: what to plant in a copy of the set, which variables to set, and the cause to be named."""

    name: str
    cause: str
    plant: Callable[[Path, Place], object] | None = None
    env: dict[str, str] = field(default_factory=dict)
    user: str = ""
    by_variable: bool = False
    """Whether the altered set lies in a folder named by LD_LIBRARY_PATH, not in the environment's wheel."""


def part(folder: Path, word: str) -> Path:
    """Return the file of a sub-library."""
    return next(f for f in sorted(folder.glob(f"libcudnn_{word}.so.9*")) if f.is_file())


def own(file: Path) -> Path:
    """Make a hard-linked file one of its own, so that the original stays whole."""
    data = file.read_bytes()
    file.unlink()
    file.write_bytes(data)
    return file


def from_other(word: str) -> Callable[[Path, Place], object]:
    """Replace a sub-library by the other release's."""

    def plant(folder: Path, place: Place) -> object:
        target = part(folder, word)
        target.unlink()
        return shutil.copy(part(place.other, word).resolve(), target)

    return plant


def cut(word: str, size: int) -> Callable[[Path, Place], object]:
    """Cut a sub-library to a size in bytes."""
    return lambda folder, _place: os.truncate(own(part(folder, word)), size)


def delete(*words: str) -> Callable[[Path, Place], object]:
    """Delete sub-libraries."""
    return lambda folder, _place: [part(folder, w).unlink() for w in words]


def zero_pages(word: str) -> Callable[[Path, Place], object]:
    """Overwrite 200 pages in the middle with zeros."""

    def plant(folder: Path, _place: Place) -> object:
        file = own(part(folder, word))
        with file.open("r+b") as f:
            f.seek(file.stat().st_size // 2 // 4096 * 4096)
            return f.write(bytes(200 * 4096))

    return plant


def stub(folder: Path, _place: Place) -> object:
    """Leave nothing but a stub of the driver in the folder."""
    empty(folder)
    source = folder / "stub.c"
    source.write_text(STUB)
    target = folder / "libcuda.so.1"
    return subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", target, source], check=True)


def empty(folder: Path) -> None:
    """Delete every file of the folder."""
    for f in folder.iterdir():
        f.unlink()


def empty_driver(folder: Path, _place: Place) -> object:
    """Leave nothing but an empty file with the driver's name in the folder."""
    empty(folder)
    return (folder / "libcuda.so.1").write_bytes(b"")


FAULTS = (
    Fault("healthy", ""),
    Fault("variable-names-distribution", "ld_library_path_override", env={"LD_LIBRARY_PATH": "{other}"}),
    Fault("cnn-of-other-release", "ld_library_path_override", from_other("cnn"), by_variable=True),
    Fault("ops-of-other-release", "ld_library_path_override", from_other("ops"), by_variable=True),
    Fault("wheel-with-cnn-of-other-release", "mixed_cudnn_sublibraries", from_other("cnn")),
    Fault("cnn-deleted", "cudnn_sublibrary_missing", delete("cnn")),
    Fault("ops-deleted", "cudnn_sublibrary_missing", delete("ops")),
    Fault("engines-precompiled-deleted", "cudnn_sublibrary_missing", delete("engines_precompiled")),
    Fault("runtime-and-heuristic-deleted", "cudnn_sublibrary_missing", delete("engines_runtime_compiled", "heuristic")),
    Fault("ops-cut", "corrupt_or_truncated_file", cut("ops", 1 << 20)),
    Fault("graph-emptied", "corrupt_or_truncated_file", cut("graph", 0)),
    Fault("cnn-zeroed-pages", "corrupt_or_truncated_file", zero_pages("cnn")),
    Fault("hidden-empty", "gpu_hidden_by_env", env={"CUDA_VISIBLE_DEVICES": ""}),
    Fault("hidden-minus-1", "gpu_hidden_by_env", env={"CUDA_VISIBLE_DEVICES": "-1"}),
    Fault("hidden-5", "gpu_hidden_by_env", env={"CUDA_VISIBLE_DEVICES": "5"}),
    Fault("stub-libcuda", "libcuda_wrong_library", stub, by_variable=True),
    Fault("empty-libcuda", "libcuda_wrong_library", empty_driver, by_variable=True),
    Fault("file-mode-600", "library_unreadable", lambda f, _p: own(part(f, "cnn")).chmod(0o600), user="nobody"),
)


def main(argv: list[str]) -> int:
    """Run the faults named (all of them by default) and print the table."""
    out = Path(argv[0])
    out.mkdir(parents=True, exist_ok=True)
    misses = 0
    site = Path(next(p for p in sys.path if (Path(p) / "nvidia" / "cudnn" / "lib").is_dir()))
    # beside the real environment: hard links need one file system
    with tempfile.TemporaryDirectory(prefix="on-gpu-", dir=site.parents[3]) as work:
        Path(work).chmod(0o755)
        place = find(site, Path(work))
        for fault in FAULTS:
            if argv[1:] and fault.name not in argv[1:]:
                continue
            report, seconds = scan(fault, place, out)
            found = report.primary.cause if report.primary else ""
            good = found == fault.cause and (fault.cause or report.worst_severity.word in ("good", "note"))
            misses += not good
            title = report.primary.title if report.primary else f"worst: {report.worst_severity.word}"
            print(
                f"{'ok  ' if good else 'MISS'} {fault.name:<30} {found or '-':<28} {seconds:5.2f} s  {title}",
                flush=True,
            )
    return 1 if misses else 0


def find(site: Path, work: Path) -> Place:
    """Find the wheel's cuDNN, and the distribution's."""
    folders = [Path("/usr/lib/x86_64-linux-gnu"), Path("/usr/local/cuda/lib64")]
    other = next((f for f in folders if list(f.glob("libcudnn.so.9*"))), None)
    wheel = site / "nvidia" / "cudnn" / "lib"
    if other is None:
        raise SystemExit(
            f"The faults need a cuDNN 9 of the distribution: there is none in {folders[0]} or {folders[1]}."
        )
    if not wheel.is_dir():
        raise SystemExit(f"Run this with the interpreter that has PyTorch with CUDA: there is no {wheel}.")
    return Place(wheel, other, work)


def required_by(name: str) -> set[str]:
    """Return a distribution and all that it requires here, by their names."""
    found, todo = set(), [name]
    while todo:
        one = todo.pop()
        try:
            wishes = requires(one) or []
        except PackageNotFoundError:  # for another system or Python
            continue
        found.add(one)
        names = (re.match(r"[\w.-]+", w) for w in wishes if "extra ==" not in w)
        todo += [m[0] for m in names if m and m[0] not in found]
    return found


def environment(place: Place, name: str) -> tuple[Path, Path]:
    """Make an environment that shares the real one's files by hard links; return its prefix and its cuDNN folder."""
    prefix, site = place.work / name, place.wheel.parents[2]
    there = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (prefix / "bin").mkdir(parents=True)
    there.mkdir(parents=True)
    (prefix / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    home = Path(sys.executable).resolve().parent
    (prefix / "pyvenv.cfg").write_text(f"home = {home}\nversion = {sys.version.split()[0]}\n")
    for file in {str(f) for name in required_by("torch") for f in distribution(name).files or ()}:
        source, target = site / file, there / file
        if ".." not in file and source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(source, target)
    return prefix, there / "nvidia" / "cudnn" / "lib"


def scan(fault: Fault, place: Place, out: Path) -> tuple[Report, float]:
    """Plant a fault and scan; return the report and the scan's seconds."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")}
    env |= {k: v.format(other=place.other) for k, v in fault.env.items()}
    python = sys.executable
    if fault.plant and fault.by_variable:
        folder = place.work / fault.name
        shutil.copytree(place.wheel, folder, copy_function=os.link, symlinks=True)
        fault.plant(folder, place)
        env["LD_LIBRARY_PATH"] = str(folder)
    elif fault.plant:
        prefix, folder = environment(place, fault.name)
        fault.plant(folder, place)
        python = str(prefix)
    command = [sys.executable, "-m", "core.cli.main", "scan", "--json", "--python", python]
    if fault.user:
        command = ["setpriv", "--reuid", fault.user, "--clear-groups", *command]
    start = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 1, 5):
        raise SystemExit(f"{fault.name}: {done.stderr.decode(errors='replace')}")
    (out / f"{fault.name}.json").write_bytes(done.stdout)
    return from_json(done.stdout), seconds


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "OUT", "[NAME...]")))
