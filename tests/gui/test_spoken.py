"""The way from the question to "Fixed" by a program that sees nothing but AT-SPI, under X11 and under Wayland."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEBIANS_PYTHON = "/usr/bin/python3"
"""The one that python3-pyatspi belongs to."""
COMPOSITOR = "weston --backend=headless-backend.so --socket=convalesce --idle-time=0 --width=1366 --height=768"
WALK = f"""
{{before}}
"{sys.executable}" -m tests.gui.spoken_app "$1" &
app=$!
{DEBIANS_PYTHON} tests/gui/spoken_walk.py
status=$?
kill $app $compositor 2>/dev/null
exit $status
"""
BEFORE = {
    "x11": "export QT_QPA_PLATFORM=xcb; compositor=",
    "wayland": f"""
export QT_QPA_PLATFORM=wayland WAYLAND_DISPLAY=convalesce
{COMPOSITOR} >/dev/null 2>&1 &
compositor=$!
until [ -S "$XDG_RUNTIME_DIR/convalesce" ] || ! kill -0 $compositor; do read -t 0.1 <> <(:); done
""",
}


def lacking(platform: str) -> str:
    """Return what this computer lacks for the walk; empty for nothing."""
    programs = ("dbus-run-session", "xvfb-run" if platform == "x11" else "weston")
    missing = [p for p in programs if shutil.which(p) is None]
    there = Path(DEBIANS_PYTHON).exists()
    if (
        not there
        or subprocess.run([DEBIANS_PYTHON, "-c", "import pyatspi"], capture_output=True, check=False).returncode
    ):
        missing.append("python3-pyatspi")
    return ", ".join(missing)


@pytest.mark.skipif(sys.platform == "win32", reason="AT-SPI is Linux'")
@pytest.mark.parametrize("platform", BEFORE)
def test_it_is_walked_by_what_a_screen_reader_sees(platform: str) -> None:
    if missing := lacking(platform):
        pytest.skip(f"needs Debian's {missing}")
    with tempfile.TemporaryDirectory() as scratch:  # a socket's path must be short
        folder = Path(scratch)
        folder.chmod(0o700)
        env = {
            **{n: v for n, v in os.environ.items() if n not in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")},
            "XDG_RUNTIME_DIR": scratch, "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1", "CONVALESCE_LANGUAGE": "en",
        }  # fmt: skip
        session = ["dbus-run-session", "--", "bash", "-c", WALK.format(before=BEFORE[platform]), "walk", scratch]
        display = ["xvfb-run", "-a"] if platform == "x11" else []
        done = subprocess.run(
            [*display, *session], cwd=ROOT, env=env, capture_output=True, text=True, timeout=200, check=False
        )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    told = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert told["unnamed"] == []
    assert "The cause cuDNN is on this computer, but your programs cannot find it." in told["heard"]
    assert "What will change" in told["heard"]
    assert "Fixed The fault is gone, and nothing got worse." in told["heard"]
    assert "Scanning again to verify it" in told["heard"], "progress is said, too"
