"""Whether a window can be shown here; asked before any Qt module is loaded."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys


def missing_display() -> str:
    """Return one sentence that says why no window can be shown, or empty text.

    A Qt platform plugin that lacks a system library ends the process, so that the libraries are tried first.
    """
    if importlib.util.find_spec("gui.app") is None or importlib.util.find_spec("PySide6") is None:
        return "The window is not part of this installation."
    if sys.platform == "win32" or os.environ.get("QT_QPA_PLATFORM") in {"offscreen", "vnc", "minimal"}:
        return ""
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        return "There is no display here (DISPLAY and WAYLAND_DISPLAY are not set)."
    # system libraries, not foreign ones: what the xcb plugin of Qt 6 needs and a bare Debian lacks
    for name in ("libEGL.so.1", "libxkbcommon.so.0", "libxcb-cursor.so.0"):
        try:
            ctypes.CDLL(name)
        except OSError:
            package = {"libEGL.so.1": "libegl1", "libxkbcommon.so.0": "libxkbcommon0"}.get(name, "libxcb-cursor0")
            return f"The window needs {name}, which is not installed (on Debian and Ubuntu: apt install {package})."
    return ""
