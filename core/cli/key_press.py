"""One key from the person at the terminal, without Enter."""

from __future__ import annotations

import sys

QUIT_KEYS = ("\x03", "\x04", "\x1b")
"""Ctrl+C, Ctrl+D, Escape: no answer."""


def can_ask() -> bool:
    """Whether somebody sits there who reads what is said and can press a key."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def pressed_key(choices: str) -> str:
    """Wait for one of some keys; empty for any other key, which means no answer."""
    key = _windows_key() if sys.platform == "win32" else _terminal_key()
    return key if key and key in choices and key not in QUIT_KEYS else ""


def _windows_key() -> str:
    import msvcrt

    return str(msvcrt.getwch())  # type: ignore[attr-defined,unused-ignore]


def _terminal_key() -> str:
    import termios
    import tty

    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream)
        return sys.stdin.read(1)
    except KeyboardInterrupt:
        return ""
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
