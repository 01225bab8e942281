"""The lab's real half: ``python -m tests.envlab.real [NAME...]`` installs published packages and examines them, by hand.

Environments are made by uv (hard links, no byte code, every wheel fetched once) below the cache's folder ``envlab``, each
marked with the row that made it, so that it is made once; all of them take about 22 GB. Planted faults are copies by hard
links, made for one look. What an index of its own publishes (torch-cpu) is taken from ``envlab/wheels``: put it there with
``pip download --no-deps --dest FOLDER torch==2.13.0+cpu``. Each is scanned with the lab's made-up card and, with ``--try``, its frameworks are run on the
machine as it is. ``--list`` only says where they lie. Exit status 1 on any miss.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from core.common.progress import Progress
from core.doctor.scan import PROBES, take_snapshot
from core.host.this_host import this_host
from core.model.scan_options import ScanOptions
from tests.envlab.layouts import VERSION
from tests.envlab.run import LabHost, cause, cells, examine, told
from tests.faultlab.wheels import CUDNN_9_1, cache, link_tree, unpacked

CUDA_12_8 = (
    *("nvidia-cudnn-cu12==9.10.2.21", "nvidia-cublas-cu12==12.8.4.1", "nvidia-cuda-nvrtc-cu12==12.8.93"),
    *("nvidia-cuda-runtime-cu12==12.8.90", "nvidia-cuda-cupti-cu12==12.8.90", "nvidia-cufft-cu12==11.3.3.83"),
    *("nvidia-curand-cu12==10.3.9.90", "nvidia-cusolver-cu12==11.7.3.90", "nvidia-cusparse-cu12==12.5.8.93"),
    *("nvidia-nccl-cu12==2.27.3", "nvidia-nvjitlink-cu12==12.8.93"),
)
"""What torch 2.8.0 pins. JAX and TensorFlow take ranges, and are given the same: fetched and kept once."""

PASSED, COUNTED, IMPORTED = "convolution", "devices", "import"


@dataclass(frozen=True)
class Real:
    """One real environment: packages, or another row (``of``) with a fault planted; and what is expected."""

    name: str
    packages: Sequence[Sequence[str]] = ()
    """Arguments of one ``uv pip install`` after another, as a person would have given them."""
    of: str = ""
    plant: Callable[[Path], None] | None = None
    cells: Mapping[str, str] = field(default_factory=dict)
    cause: str = ""
    trials: Mapping[str, str] = field(default_factory=dict)
    """Distribution -> the stage that it reaches on a machine without a GPU."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set for the scan; ``{prefix}`` is the environment."""
    thorough: bool = False


def site(prefix: Path) -> Path:
    """Return an environment's folder of packages."""
    return prefix / "lib" / f"python{VERSION}" / "site-packages"


# --- faults ------------------------------------------------------------------------------------------------


def _cudnn(prefix: Path) -> Path:
    return site(prefix) / "nvidia" / "cudnn" / "lib"


def _older_part(prefix: Path) -> None:
    """Put one library of cuDNN 9.1 among those of 9.10."""
    _replace(_cudnn(prefix) / "libcudnn_ops.so.9", _part("libcudnn_ops.so.9"))


def _part(name: str) -> Path:
    return unpacked(CUDNN_9_1) / "nvidia" / "cudnn" / "lib" / name


def _mixed_folder(prefix: Path) -> None:
    """Lay out a folder for LD_LIBRARY_PATH: 9.10's set, one library of 9.1 in it."""
    link_tree(_cudnn(prefix), prefix / "mixed")
    _replace(prefix / "mixed" / "libcudnn_cnn.so.9", _part("libcudnn_cnn.so.9"))


def _shim_alone(prefix: Path) -> None:
    for file in _cudnn(prefix).glob("libcudnn_*"):
        file.unlink()


def _flipped_bit(prefix: Path) -> None:
    """Alter one byte in the middle of PyTorch's own GPU library; a hard link's other ends stay as they are."""
    path = site(prefix) / "torch" / "lib" / "libtorch_cuda.so"
    _replace(path, path)
    with path.open("r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        byte = stream.read(1)
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte[0] ^ 1]))


def _cut_cufft(prefix: Path) -> None:
    path = site(prefix) / "nvidia" / "cufft" / "lib" / "libcufft.so.11"
    _replace(path, path)
    os.truncate(path, path.stat().st_size // 2)


def _lost_library(prefix: Path) -> None:
    (site(prefix) / "nvidia" / "cusparselt" / "lib" / "libcusparseLt.so.0").unlink()


def _replace(path: Path, by: Path) -> None:
    """Put a copy of a file in the place of another, which may have other links."""
    half = path.with_name(f".half-{path.name}")
    shutil.copyfile(by, half)
    half.replace(path)


def _deleted_base(prefix: Path) -> None:
    config = prefix / "pyvenv.cfg"
    lines = ["home = /nowhere/bin" if line.startswith("home") else line for line in config.read_text().splitlines()]
    config.unlink()
    config.write_text("\n".join(lines) + "\n")
    for link in (prefix / "bin").glob("python*"):
        link.unlink()
    (prefix / "bin" / "python").symlink_to("/nowhere/bin/python")


def _as_conda(prefix: Path) -> None:
    """Make a copy of a real interpreter's tree around the packages, with conda's records: no pyvenv.cfg."""
    (prefix / "pyvenv.cfg").unlink()
    shutil.rmtree(prefix / "bin")
    base = Path(sys.base_prefix)
    for part in ("bin", "include"):
        _copied(base / part, prefix / part)
    _copied(base / "lib" / f"python{VERSION}", prefix / "lib" / f"python{VERSION}", without="site-packages")
    for library in (base / "lib").glob("libpython*"):
        shutil.copy2(library, prefix / "lib" / library.name, follow_symlinks=False)
    records = prefix / "conda-meta"
    records.mkdir()
    (records / f"python-{sys.version.split()[0]}-h_0_cpython.json").write_text("{}")
    (records / "history").write_text("")


def _copied(source: Path, target: Path, without: str = "") -> None:
    shutil.copytree(
        source, target, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", without or "-")
    )


# --- the rows ----------------------------------------------------------------------------------------------

TORCH = "torch-cudnn-9"
CONVOLVES = {"torch": PASSED}
ROWS = (
    Real(TORCH, (("torch==2.8.0", "numpy"),), cells={"PyTorch": "should run"}, trials=CONVOLVES),
    Real("torch-cudnn-8", (("torch==2.2.2", "numpy<2"),), cells={"PyTorch": "should run"}, trials=CONVOLVES),
    Real("torch-cpu", (("torch==2.13.0+cpu", "numpy"),), cells={"PyTorch": "cpu only"}, cause="framework_cpu_only_build", trials=CONVOLVES),
    Real("tensorflow-and-cuda", (("tensorflow[and-cuda]==2.20.0", *CUDA_12_8),), cells={"TensorFlow": "should run"}, trials={"tensorflow": PASSED}),
    Real("tensorflow-alone", (("tensorflow==2.20.0",),), cells={"TensorFlow": "cannot run"}, cause="cudnn_not_installed", trials={"tensorflow": PASSED}),
    Real("jax-cuda12", (("jax[cuda12]", *CUDA_12_8),), cells={"JAX": "should run"}, trials={"jax": PASSED}),
    Real("jax-alone", (("jax",),), cells={"JAX": "cpu only"}, cause="framework_cpu_only_build", trials={"jax": PASSED}),
    Real("onnxruntime-cpu-over-gpu", (("onnxruntime-gpu==1.20.0",), ("--reinstall", "onnxruntime==1.20.0")), cells={"ONNX Runtime": "cannot run"}, cause="duplicate_framework_packages", trials={"onnxruntime-gpu": PASSED}),
    Real("onnxruntime-gpu", (("onnxruntime-gpu==1.20.0", *CUDA_12_8[:6]),), cells={"ONNX Runtime": "cannot run"}, cause="cudnn_not_on_search_path", trials={"onnxruntime-gpu": PASSED}),
    Real("ctranslate2-4.4", (("ctranslate2==4.4.0", "faster-whisper", "setuptools<81"),), cells={"CTranslate2": "cannot run", "ONNX Runtime": "cpu only"}, cause="cudnn_sublibrary_missing", trials={"ctranslate2": COUNTED, "onnxruntime": PASSED}),
    Real("ctranslate2-newest", (("ctranslate2", "faster-whisper", *CUDA_12_8[:2]),), cells={"CTranslate2": "cannot run", "ONNX Runtime": "cpu only"}, cause="cuda_not_on_search_path", trials={"ctranslate2": COUNTED, "onnxruntime": PASSED}),
    Real("cupy", (("cupy-cuda12x", *CUDA_12_8[2:4]),), cells={"CuPy": "should run"}, trials={"cupy-cuda12x": IMPORTED}),
    Real("paddle", (("paddlepaddle", "setuptools"),), cells={"Paddle": "cpu only"}, cause="framework_cpu_only_build", trials={"paddlepaddle": PASSED}),
    Real("conda-like", of=TORCH, plant=_as_conda, cells={"PyTorch": "should run"}, trials=CONVOLVES),
    Real("deleted-base", of=TORCH, plant=_deleted_base, cells={"PyTorch": "not decided"}),
    Real("torchvision-of-another-torch", (("torch==2.8.0", "numpy"), ("--no-deps", "torchvision==0.21.0")), cells={"PyTorch": "should run"}, cause="requirement_broken", trials=CONVOLVES),
    Real("cudnn-pin-broken", (("torch==2.8.0", "numpy"), ("--no-deps", "nvidia-cudnn-cu12==9.1.0.70")), cells={"PyTorch": "cannot run"}, cause="cudnn_minor_too_old", trials=CONVOLVES),
    Real("older-part", of=TORCH, plant=_older_part, cells={"PyTorch": "cannot run"}, cause="mixed_cudnn_sublibraries", trials=CONVOLVES),
    Real("mixed-folder", of=TORCH, plant=_mixed_folder, cells={"PyTorch": "cannot run"}, cause="ld_library_path_override", variables={"LD_LIBRARY_PATH": "{prefix}/mixed"}),
    Real("shim-alone", of=TORCH, plant=_shim_alone, cells={"PyTorch": "cannot run"}, cause="cudnn_sublibrary_missing", trials=CONVOLVES),
    Real("flipped-bit-in-torch", of=TORCH, plant=_flipped_bit, thorough=True, cells={"PyTorch": "cannot run"}, cause="corrupt_or_truncated_file"),
    Real("cut-cufft", of=TORCH, plant=_cut_cufft, cells={"PyTorch": "cannot run"}, cause="corrupt_or_truncated_file", trials={"torch": "nothing"}),
    Real("lost-library", of=TORCH, plant=_lost_library, cells={"PyTorch": "cannot run"}, cause="corrupt_or_truncated_file", trials={"torch": "nothing"}),
)  # fmt: skip


# --- made once ---------------------------------------------------------------------------------------------


def home() -> Path:
    """Return the folder of the real environments."""
    return cache() / "envlab"


def uv(*arguments: str) -> None:
    """Run uv with the lab's own store of unpacked wheels, beside the environments so that hard links reach."""
    own = Path(sys.executable).with_name("uv")
    command = [str(own) if own.exists() else "uv", *arguments]
    settings = {
        "UV_CACHE_DIR": str(home() / "store"),
        "UV_LINK_MODE": "hardlink",
        "UV_HTTP_TIMEOUT": "600",
        "UV_FIND_LINKS": str(home() / "wheels"),
    }
    subprocess.run(command, check=True, env={**os.environ, **settings}, stdout=sys.stderr)


def made(row: Real) -> Path:
    """Return the environment of a row that has packages, installed first if it was not yet."""
    prefix = home() / row.name
    mark = prefix / "lab.json"
    wanted = json.dumps([sys.version, *map(list, row.packages)])
    if not mark.is_file() or mark.read_text() != wanted:
        uv("venv", "--quiet", "--clear", "--python", sys.executable, str(prefix))
        for arguments in row.packages:
            uv("pip", "install", "--quiet", "--python", str(prefix), *arguments)
        mark.write_text(wanted)
    return prefix


@contextmanager
def standing(row: Real) -> Iterator[Path]:
    """Give a row's environment; one with a planted fault is a copy by hard links that goes afterwards."""
    if not row.of:
        yield made(row)
        return
    prefix = home() / "planted" / row.name
    shutil.rmtree(prefix, ignore_errors=True)
    base = made(next(r for r in ROWS if r.name == row.of))
    try:
        shutil.copytree(base, prefix, symlinks=True, copy_function=os.link)
        if row.plant:
            row.plant(prefix)
        yield prefix
    finally:
        shutil.rmtree(prefix, ignore_errors=True)


# --- examined ----------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Make and examine the rows named, or all; print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.envlab.real", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--try", dest="trials", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(argv)
    misses = 0
    for row in ROWS:
        if options.names and not any(fnmatch(row.name, n) for n in options.names):
            continue
        with standing(row) as prefix:
            if options.list:
                print(prefix)
                continue
            faults = [*scanned(row, prefix), *(tried(row, prefix) if options.trials else ())]
        for fault in faults:
            print(f"       {fault}", flush=True)
        misses += bool(faults)
    return 1 if misses else 0


def scanned(row: Real, prefix: Path) -> list[str]:
    """Scan with the made-up card; print the line of the table; return what is not as expected."""
    start = time.perf_counter()
    variables = {n: v.format(prefix=prefix) for n, v in row.variables.items()}
    report = examine((prefix,), variables, thorough=row.thorough)
    took = time.perf_counter() - start
    got, why = {n: v for n, (v, _) in cells(report, prefix).items()}, cause(report, prefix)
    shown = "; ".join(f"{n}: {v}" for n, v in got.items())
    good = all(got.get(n) == v for n, v in row.cells.items()) and why == row.cause
    print(f"{'ok  ' if good else 'MISS'} {row.name:<30} {shown:<50} {why or '-':<30} {took:5.1f} s", flush=True)
    if good:
        return []
    return [
        f"expected {dict(row.cells)} and {row.cause or 'no cause'}",
        *(f"{n}: {r}" for n, (_, r) in cells(report, prefix).items()),
    ]


def tried(row: Real, prefix: Path) -> list[str]:
    """Run the frameworks on the machine as it is; nothing may be written into the environment."""
    before = _files(prefix)
    host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": str(home() / "nobody")})
    probes = tuple(p for p in PROBES if p.section in ("driver", "environment", "pythons", "trials"))
    seen = take_snapshot(host, Progress(), ScanOptions(pythons=(str(prefix),), trials=True), probes=probes)
    got = {t.framework: t for t in seen.trials or ()}
    for trial in got.values():
        print(f"       {told(trial)}", flush=True)
    faults = [
        f"{n}: {got[n].reached if n in got else 'not tried'}, expected {s}"
        for n, s in row.trials.items()
        if n not in got or got[n].reached != s
    ]
    written = sorted(_files(prefix) ^ before)
    return faults + [f"written or removed: {written[:3]}"] * bool(written)


def _files(prefix: Path) -> set[str]:
    return {str(Path(place, name)) for place, _folders, names in os.walk(prefix) for name in names}


if __name__ == "__main__":
    sys.exit(main())
