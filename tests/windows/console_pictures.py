"""``python -m tests.windows.console_pictures FOLDER``: pictures of scan, explain and fix in Windows' own prompt.

FOLDER gets a picture for each command and code page. The prompt is cmd.exe in wine's conhost, on a display of its own, and the
program this checkout in the lab's Python. CUDA_PATH leads nowhere there, so that there is something to fix.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from installer.by_hand import by_hand
from tests.windows.lab import ROOT, Lab, session

COMMANDS = {"scan": "scan", "explain": "explain 126 --text-only", "fix": "fix --dry-run"}


class Prompt(NamedTuple):
    """A code page, with the language and the font that Windows has with it."""

    page: int
    language: str
    font: str


PROMPTS = (
    Prompt(437, "en", "DejaVu Sans Mono"),
    Prompt(1252, "de", "DejaVu Sans Mono"),
    Prompt(936, "zh_CN", "Noto Sans Mono CJK SC"),
)
GRAB = """
import sys
from PySide6.QtGui import QGuiApplication
app = QGuiApplication(sys.argv)
seen = app.primaryScreen().grabWindow(0).toImage()
drawn = lambda x, y: seen.pixel(x, y) & 0xFFFFFF
right = max(x for x in range(seen.width()) if any(drawn(x, y) for y in range(0, seen.height(), 2)))
bottom = max(y for y in range(seen.height()) if any(drawn(x, y) for x in range(0, right, 2)))
if not seen.copy(0, 0, right + 1, bottom + 1).save(sys.argv[1]):
    sys.exit(1)
"""
LONGEST = 180.0
"""Seconds that a command may take."""


def main(arguments: list[str]) -> int:
    """Take every picture and name its file."""
    folder = Path(arguments[0]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with session("console") as (lab, display):
        lab.run("reg", "add", r"HKCU\Environment", "/v", "CUDA_PATH", "/d", r"C:\CUDA\gone", "/f")
        for prompt in PROMPTS:
            for name, command in COMMANDS.items():
                file = folder / f"{name}-{prompt.page}.png"
                picture(lab, display, command, prompt, file)
                print(file, flush=True)
    return 0


def picture(lab: Lab, display: Mapping[str, str], command: str, prompt: Prompt, file: Path) -> None:
    """Run the command in a prompt of its own, and take the picture when it has ended."""
    for value, kind, data in (
        ("FaceName", "REG_SZ", prompt.font),
        ("CodePage", "REG_DWORD", str(prompt.page)),
        ("FontSize", "REG_DWORD", str(16 << 16)),
        ("ScreenBufferSize", "REG_DWORD", str(100 | 42 << 16)),
        ("WindowSize", "REG_DWORD", str(100 | 42 << 16)),
    ):
        lab.run("reg", "add", r"HKCU\Console", "/v", value, "/t", kind, "/d", data, "/f")
    ended, seen = (lab.prefix / f"drive_c/{name}.txt" for name in ("ended", "seen"))
    ended.unlink(missing_ok=True)
    seen.unlink(missing_ok=True)
    script = lab.prefix / "drive_c/picture.cmd"
    lines = (
        "@echo off",
        f"chcp {prompt.page} >nul",
        "cls",
        f"echo C:\\^>convalesce {command}",
        f'cd /d "{windows(ROOT)}"',
        f'"{windows(lab.python)}" -m core {command} <nul',  # nobody is there to answer a question
        "set answer=%errorlevel%",
        "echo C:\\^>echo %%errorlevel%%",
        "echo %answer%",
        "echo ended >C:\\ended.txt",
        ":seen",
        "if not exist C:\\seen.txt (ping -n 2 127.0.0.1 >nul & goto seen)",
    )
    script.write_text("\r\n".join(lines) + "\r\n", encoding="ascii")
    given = {**display, "CONVALESCE_LANGUAGE": prompt.language, "NO_COLOR": "1", "CUDA_PATH": r"C:\CUDA\gone"}
    with lab.start(["wineconsole.exe", "cmd.exe", "/c", r"C:\picture.cmd"], given) as process:
        until(ended.exists)
        time.sleep(1)  # the console draws on its own clock
        env = {**os.environ, **display, "QT_QPA_PLATFORM": "xcb"}
        subprocess.run([sys.executable, "-c", GRAB, file], env=env, check=True)
        seen.touch()
        process.communicate()


def windows(path: Path) -> str:
    """Return how a path is called there."""
    return f"Z:{path}".replace("/", "\\")


def until(holds: Callable[[], bool]) -> None:
    """Wait for something.

    Raises:
        TimeoutError: it took too long.
    """
    end = time.monotonic() + LONGEST
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER")))
