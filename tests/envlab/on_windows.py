"""Portable Pythons for Windows with published packages: ``python -m tests.envlab.on_windows``, by hand, under wine.

python_embeded (an embeddable Python with its ._pth, as ComfyUI and others ship it) and a folder as WinPython has it get the
wine lab's Windows interpreter and wheels for win_amd64 from the index, kept in the cache's ``envlab/windows``. The wine lab's
Python scans them with the made-up card, and finds them without being told. ``--try`` runs the frameworks, too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.common.progress import Progress
from core.doctor.scan import PROBES, take_snapshot
from core.host.this_host import this_host
from core.model.scan_options import ScanOptions
from tests.envlab.run import cause, cells, examine, told


@dataclass(frozen=True)
class Portable:
    """One portable Python, and the cells and cause that are expected."""

    folder: str
    packages: Sequence[str]
    cells: Mapping[str, str]
    cause: str
    kind: str
    embeddable: bool = False
    trials: Mapping[str, str] = field(default_factory=dict)


ROWS = (
    Portable("ComfyUI_windows_portable/python_embeded", ("torch==2.8.0", "numpy<2.4"), {"PyTorch": "cpu only"}, "framework_cpu_only_build", "embedded", embeddable=True),
    Portable("WPy64-31190/python-3.11.9.amd64", ("onnxruntime-gpu==1.20.0", "numpy<2.4"), {"ONNX Runtime": "cannot run"}, "cudnn_not_installed", "other"),
    Portable("tensorflow/python", ("tensorflow==2.20.0",), {"TensorFlow": "cpu only"}, "tf_native_windows_unsupported", "other"),
)  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Make the portable Pythons and examine them under wine; exit status 1 on any miss."""
    parser = argparse.ArgumentParser(prog="python -m tests.envlab.on_windows", description=__doc__)
    parser.add_argument("--try", dest="trials", action="store_true")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.inside:
        return 1 if sum([examined(row, options.inside, trials=options.trials) for row in ROWS]) else 0
    from tests.envlab.real import home
    from tests.windows.lab import session

    with session() as (lab, display):
        for row in ROWS:
            made(row, lab.python.parent)
        drive = "Z:" + str(home() / "windows").replace("/", "\\")
        command = [
            lab.python,
            "-m",
            "tests.envlab.on_windows",
            "--inside",
            drive,
            *(["--try"] if options.trials else []),
        ]
        with lab.start(command, display) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line.decode("utf-8", "replace").rstrip(), flush=True)
    return process.returncode


def made(row: Portable, python: Path) -> None:
    """Lay a portable Python out once: the interpreter's files and the packages, byte for byte as they were published."""
    from tests.envlab.real import home, uv  # not for Windows

    prefix = home() / "windows" / row.folder
    mark = prefix / "lab.json"
    wanted = json.dumps([*row.packages])
    if mark.is_file() and mark.read_text() == wanted:
        return
    shutil.rmtree(prefix, ignore_errors=True)
    shutil.copytree(python, prefix, ignore=shutil.ignore_patterns("site-packages", "__pycache__"))
    if row.embeddable:
        dll = next(p for p in prefix.glob("python3*.dll") if p.stem != "python3")
        (prefix / f"{dll.stem}._pth").write_text("Lib\nDLLs\nLib\\site-packages\nimport site\n")
    target = ("--target", str(prefix / "Lib" / "site-packages"), "--python-platform", "x86_64-pc-windows-msvc")
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    uv("pip", "install", "--quiet", *target, "--python-version", minor, "--only-binary", ":all:", *row.packages)
    mark.write_text(wanted)


def examined(row: Portable, folder: Path, *, trials: bool) -> bool:
    """In the Windows Python: scan, print the line, and return whether it missed."""
    prefix = folder / Path(*row.folder.split("/"))
    report = examine((prefix,), dict(os.environ))
    got, why = {n: v for n, (v, _) in cells(report, prefix).items()}, cause(report, prefix)
    python = next(p for p in report.snapshot.pythons or () if p.prefix == str(prefix))
    good = all(got.get(n) == v for n, v in row.cells.items()) and (why, python.kind) == (row.cause, row.kind)
    shown = "; ".join(f"{n}: {v}" for n, v in got.items())
    print(
        f"{'ok  ' if good else 'MISS'} {row.folder:<42} {python.kind:<9} {python.version:<8} {shown:<30} {why or '-'}",
        flush=True,
    )
    if not good:
        print(
            f"       expected {dict(row.cells)}, {row.cause}, {row.kind}; {cells(report, prefix)}; {report.snapshot.errors}"
        )
    if trials:
        probes = tuple(p for p in PROBES if p.section in ("driver", "environment", "pythons", "trials"))
        seen = take_snapshot(this_host(), Progress(), ScanOptions(pythons=(str(prefix),), trials=True), probes=probes)
        for trial in seen.trials or ():
            print(f"       {told(trial)}", flush=True)
    return not good


if __name__ == "__main__":
    sys.exit(main())
