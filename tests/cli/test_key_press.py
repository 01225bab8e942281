"""The question of an explanation at a real terminal: a key answers it, and nobody is asked where nobody sits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

if sys.platform == "win32":
    pytest.skip("a pseudo-terminal is one of Linux", allow_module_level=True)

import pty

COMMAND = [sys.executable, "-m", "core", "explain", "RuntimeError: No CUDA GPUs are available", "--text-only"]
ASKS = "Press the number"


def at_terminal(keys: bytes) -> str:
    """Return what a terminal shows when somebody presses keys after the question."""
    ours, theirs = pty.openpty()
    env = os.environ | {"LANGUAGE": "en", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TERM": "xterm"}
    with subprocess.Popen(COMMAND, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        shown = b""
        pressed = False
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
            if not pressed and ASKS.encode() in shown:
                pressed = True
                os.write(ours, keys)
        assert process.wait(60) == 0
    os.close(ours)
    return shown.decode("utf-8", "replace")


def test_a_key_answers_the_question() -> None:
    shown = at_terminal(b"1")
    before, _, after = shown.partition(ASKS)
    assert "1. " in before
    assert "You answered" in after
    assert "You answered" not in before


@pytest.mark.parametrize("key", [b"\r", b"q", b"9"])
def test_any_other_key_leaves_it_open(key: bytes) -> None:
    assert "You answered" not in at_terminal(key)


def test_nobody_is_asked_where_no_terminal_is() -> None:
    told = subprocess.run(COMMAND, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    assert ASKS not in told.stdout + told.stderr
    assert told.stdout
