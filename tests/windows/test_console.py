"""A real console: what stands on its screen after a command, letter by letter, for each code page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.doctor.examine import diagnose_snapshot
from core.report.json_form import to_json
from tests import machines as m

assert sys.platform == "win32"

ROOT = Path(__file__).parents[2]
ON_A_SCREEN = """
import ctypes, json, sys
from ctypes import wintypes
kernel = ctypes.WinDLL("kernel32")
kernel.GetStdHandle.restype = wintypes.HANDLE
page, report, told = int(sys.argv[1]), sys.argv[2], sys.argv[3]
kernel.SetConsoleOutputCP(page)
screen, mode = wintypes.HANDLE(kernel.GetStdHandle(-11)), wintypes.DWORD()
kernel.SetConsoleScreenBufferSize(screen, wintypes.DWORD(120 | 300 << 16))
kernel.SetConsoleMode(screen, 3)
from core.cli import main
from core.host.this_host import prepared_streams
with prepared_streams() as readers:
    kernel.GetConsoleMode(screen, ctypes.byref(mode))
    during = mode.value
status = main.main(["replay", report])
kernel.GetConsoleMode(screen, ctypes.byref(mode))
size, done = 120 * 300, wintypes.DWORD()
letters = ctypes.create_unicode_buffer(size + 1)
kernel.ReadConsoleOutputCharacterW(screen, letters, size, wintypes.DWORD(0), ctypes.byref(done))
there = "".join(letters[: done.value])
with open(told, "w", encoding="utf-8") as file:
    lines = [there[n : n + 120].rstrip() for n in range(0, len(there), 120)]
    told = {"status": status, "readers": readers, "modes": (during, mode.value), "screen": "\\n".join(lines).strip()}
    json.dump(told, file)
"""


@pytest.mark.parametrize(("page", "sign"), [(437, "x"), (1252, "×"), (65001, "✗")])
def test_a_console_shows_the_signs_of_its_page(page: int, sign: str, tmp_path: Path) -> None:
    """Without colour: wine's console takes the mode for escape sequences, and shows them as letters all the same."""
    report, told = tmp_path / "report.json", tmp_path / "told.json"
    broken = m.with_file(m.wheel_machine(), "ops", state="truncated", size=9)
    report.write_bytes(to_json(diagnose_snapshot(broken)))
    command = [sys.executable, "-c", ON_A_SCREEN, str(page), str(report), str(told)]
    # a new console gives its own standard streams to the program only if nobody hands it others
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
        timeout=120,
        creationflags=subprocess.CREATE_NEW_CONSOLE,
        close_fds=True,
    )
    assert done.returncode == 0
    seen = json.loads(told.read_text(encoding="utf-8"))
    assert seen["status"] == 1
    assert seen["readers"] == [[True, f"cp{page}", ""]] * 2
    assert seen["modes"] == [7, 3]
    assert f"\n  {sign} " in seen["screen"], seen["screen"]
    assert "\x1b" not in seen["screen"]
