"""``python -m tests.installer.windows_sizes FOLDER``: sizes and start times beside a bare PySide6 window, as a table.

FOLDER holds what installer/build_windows.sh made. The comparison, hello.py, is frozen by PyInstaller's own defaults in
the same clean environment and packed by the same script. A start ends when the window is visible and answers a message,
so that it has painted; each is the median of seven after one that does not count.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from installer.by_hand import by_hand

STARTS = 7


def main(arguments: list[str]) -> int:
    """Freeze the comparison, measure, print the table; 1 when a limit is missed."""
    from core import __version__
    from installer.windows import build
    from installer.windows.environment import environment
    from installer.windows.nsis import make_setup

    folder = Path(arguments[0]).resolve()
    ours, work = folder / "work/frozen/convalesce", folder / "hello"
    shutil.rmtree(work, ignore_errors=True)
    with environment() as builder:
        places = ("--distpath", work / "frozen", "--workpath", work / "work", "--specpath", work)
        program = Path(__file__).with_name("hello.py")
        builder.run(
            "-m", "PyInstaller", "--noconfirm", "--windowed", "--name", "convalesce-gui", "--log-level", "WARN",
            *places, program,
        )  # fmt: skip
    hello = work / "frozen/convalesce-gui"
    shutil.copy(hello / "convalesce-gui.exe", hello / "convalesce.exe")  # the script expects two
    shutil.copy(ours / "LICENSE.txt", hello / "LICENSE.txt")
    make_setup(hello, build.icon(folder), folder / "Hello-Setup.exe", __version__)
    times = _starts([ours / "convalesce-gui.exe", hello / "convalesce-gui.exe"])
    setup = folder / f"Convalesce-{__version__}-Setup.exe"
    rows = (
        ("Setup.exe, MB", megabytes(setup), megabytes(folder / "Hello-Setup.exe")),
        ("installed, MB", megabytes(ours), megabytes(hello)),
        ("start to the first painted window, s", *times),
    )
    print("| | Convalesce | PySide6 alone |\n|---|---|---|")
    for row in rows:
        print(f"| {row[0]} | {row[1]:.2f} | {row[2]:.2f} |")
    return int(rows[0][1] >= 45 or rows[1][1] >= 130 or times[0] > 1.5 * times[1])


def megabytes(place: Path) -> float:
    files = [place] if place.is_file() else [f for f in place.rglob("*") if f.is_file()]
    return sum(f.stat().st_size for f in files) / 1e6


def _starts(programs: list[Path]) -> tuple[float, float]:
    if sys.platform == "win32":
        return tuple(json.loads(measured([str(p) for p in programs])))
    from tests.windows.lab import session

    with session("installed") as (lab, display):
        code = "import sys; from tests.installer.windows_sizes import measured; print(measured(sys.argv[1:]))"
        with lab.start([lab.python, "-c", code, *programs], display) as process:
            out = process.communicate()[0].decode()
    print(out.strip())
    one, two = json.loads(out.strip().splitlines()[-1])
    return one, two


def measured(programs: list[str]) -> str:
    """Return the seconds of each program's start, as JSON; on the Windows side. The programs take turns."""
    found: list[list[float]] = [[] for _ in programs]
    for _ in range(STARTS + 1):
        for row, program in zip(found, programs, strict=True):
            row.append(start(Path(program).absolute()))
    return json.dumps([round(statistics.median(row[1:]), 3) for row in found])


def start(program: Path) -> float:
    """Start a program, wait for its window, close it; return the seconds until the window had painted."""
    import ctypes

    from tests.installer.windows_machine import close, free, fresh, until, windows

    begun = time.perf_counter()
    with subprocess.Popen([program], env=fresh()) as process:
        until("a window", lambda: windows(program))
        handle = windows(program)[0][0]
        answer = ctypes.c_size_t()
        ctypes.WinDLL("user32").SendMessageTimeoutW(ctypes.c_void_p(handle), 0, 0, 0, 0, 20000, ctypes.byref(answer))
        seconds = time.perf_counter() - begun
        close(handle)
        process.wait(60)
    until("its end", lambda: free(program))
    return seconds


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER/")))
