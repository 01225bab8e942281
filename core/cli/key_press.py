"""One key from the person at the terminal, without Enter."""

from __future__ import annotations

import os
import sys


def can_ask() -> bool:
    """Whether input and output are terminals, so that a person can read a question and press a key."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def pressed_key(prompt: str, choices: str) -> str:
    """Ask for one of some keys; empty for any other key, which means no answer. What was typed before does not count."""
    key = _windows_key(prompt) if sys.platform == "win32" else _terminal_key(prompt)
    return key if key and key in choices else ""


def _windows_key(prompt: str) -> str:
    import msvcrt

    while msvcrt.kbhit():  # type: ignore[attr-defined,unused-ignore]  # known on Windows alone
        msvcrt.getwch()  # type: ignore[attr-defined,unused-ignore]  # as above
    print(prompt, file=sys.stderr, flush=True)
    return str(msvcrt.getwch())  # type: ignore[attr-defined,unused-ignore]  # as above


def _terminal_key(prompt: str) -> str:
    import termios
    import tty

    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream)  # discards pending input
        print(prompt, file=sys.stderr, flush=True)
        return os.read(stream, 8).decode("ascii", "replace")
    except KeyboardInterrupt:
        return ""
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
