"""``python -m tests.installer.linux_sizes FOLDER``: sizes and start times beside a bare PySide6 window, as a table.

FOLDER holds what installer/build_linux.sh made. The comparison, hello.py, is frozen by PyInstaller's own defaults in a
new environment of the same locked packages (or lies frozen in a second folder that is named), and both are packed by
the same xz. A start ends with the first pixel on an empty display; each time is the median of seven starts after one that
does not count, the two programs in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

from installer.by_hand import by_hand
from tests.installer import ROOT
from tests.installer.linux_display import first_paint

STARTS = 7


def main(arguments: list[str]) -> int:
    """Measure and print the table; 1 when a limit is missed."""
    packed = [*Path(arguments[0]).glob("convalesce-*-linux-x86_64.tar.xz")]
    if len(packed) != 1:
        print(f"{arguments[0]} has {len(packed)} tarballs of Convalesce, not one: installer/build_linux.sh makes it.")
        return 2
    with tempfile.TemporaryDirectory(prefix="convalesce-sizes-") as name:
        folder = Path(name)
        with tarfile.open(packed[0]) as archive:
            archive.extractall(folder, filter="data")
        (ours,) = folder.glob("convalesce-*")
        hello = Path(arguments[1]) if arguments[1:] else freeze(folder)
        small, plain = (packed_size(ours), packed_size(hello)), (size(ours), size(hello))
        quick = starts((ours / "convalesce", hello / "hello"), folder)
    print("| | Convalesce | PySide6 alone |\n|---|---|---|")
    for words, pair in (("packed, MB", small), ("installed, MB", plain), ("start to the first pixel, s", quick[:2])):
        print(f"| {words} | {pair[0]:.3f} | {pair[1]:.3f} |")
    print(f"| start to the whole wizard, s | {quick[2]:.3f} | |")
    return int(small[0] >= 45 or plain[0] >= 130 or quick[0] > 1.5 * quick[1])


def freeze(folder: Path) -> Path:
    """Freeze the comparison; return its folder."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env/bin/python"
    locked = ROOT / "requirements/build.txt"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", locked], check=True)
    places = ("--distpath", folder / "frozen", "--workpath", folder / "work", "--specpath", folder)
    options = ("--noconfirm", "--windowed", "--name", "hello", "--log-level", "ERROR")
    program = Path(__file__).with_name("hello.py")
    subprocess.run([python, "-m", "PyInstaller", *options, *places, program], check=True)
    return folder / "frozen/hello"


def size(folder: Path) -> float:
    """Return the megabytes of a folder's files, links not counted twice."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file() and not f.is_symlink()) / 1e6


def packed_size(folder: Path) -> float:
    """Return the megabytes that a folder takes as a tarball."""
    command = f"tar -C {folder.parent} -cf - {folder.name} | xz -6 --threads=2 | wc -c"
    return int(subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout) / 1e6


def starts(programs: tuple[Path, Path], home: Path) -> tuple[float, float, float]:
    """Return the seconds to each program's first pixel, and to the whole wizard."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C.UTF-8"}
    found: list[list[tuple[float, float]]] = [[], []]
    for _ in range(STARTS + 1):
        for row, program in zip(found, programs, strict=True):
            row.append(first_paint([program], env, whole=program is programs[0]))
    first = [statistics.median(paint for paint, _whole in row[1:]) for row in found]
    return first[0], first[1], statistics.median(whole for _paint, whole in found[0][1:])


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER/", "[HELLO/]")))
