"""Whether a window can be shown here; determined before any Qt module is loaded."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from core.common.i18n import _

WITHOUT_DISPLAY = {"offscreen", "vnc", "minimal", "linuxfb", "eglfs"}
PLATFORM_PLUGINS = (("WAYLAND_DISPLAY", "wayland", "libqwayland.so"), ("DISPLAY", "xcb", "libqxcb.so"))
"""Variable that names a display, Qt's name for its kind, and the platform plugin that shows windows there."""


def missing_display() -> str:
    """Return one sentence on why no window can be shown, or empty text.

    A Qt platform plugin that lacks a system library, or whose display does not respond, ends the process; so both are
    tested first, without Qt's Python modules.
    """
    if importlib.util.find_spec("gui.window.app") is None or importlib.util.find_spec("PySide6") is None:
        return _("This installation does not include the window.")
    if sys.platform == "win32" or os.environ.get("QT_QPA_PLATFORM") in WITHOUT_DISPLAY:
        return ""
    found = importlib.util.find_spec("PySide6")
    places = found.submodule_search_locations if found else None
    folder = Path(next(iter(places or []), "")) / "Qt" / "plugins" / "platforms"
    return why_no_window(os.environ, folder)


def why_no_window(environ: Mapping[str, str], plugins: Path) -> str:
    """Return why none of the displays in the environment variables can show a window; empty if one can."""
    named = [
        row for row in PLATFORM_PLUGINS if environ.get(row[0]) and environ.get("QT_QPA_PLATFORM", row[1]) == row[1]
    ]
    if not named:
        return _("There is no display here (DISPLAY and WAYLAND_DISPLAY are not set).")
    why = ""
    for variable, kind, name in named:
        why = missing_library(plugins / name)
        if not why and kind == "xcb" and not display_answers(environ[variable]):
            why = _("The display {name} does not respond.", name=environ[variable])
        if not why:
            return ""
    return why


def missing_library(plugin: Path) -> str:
    """Return one sentence about the first system library that a plugin lacks; empty if it loads."""
    try:
        ctypes.CDLL(str(plugin))
    except OSError as e:
        name = str(e).partition(":")[0]
        package = debian_package(name)
        if not package:
            return _("The window needs {name}, which is not installed.", name=name)
        return _(
            "The window needs {name}, which is not installed (on Debian and Ubuntu: apt install {package}).",
            name=name,
            package=package,
        )
    return ""


def debian_package(library: str) -> str:
    """Return the package of a library by Debian's naming rule: libxcb-cursor.so.0 -> libxcb-cursor0."""
    found = re.fullmatch(r"(lib[\w+.-]+)\.so\.(\d+)", library)
    if not found:
        return ""
    name = found[1].lower().replace("_", "-")
    return f"{name}-{found[2]}" if name[-1].isdigit() else f"{name}{found[2]}"


def display_answers(display: str) -> bool:
    """Whether an X display accepts a connection; True if that cannot be tested."""
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = (ctypes.c_char_p, ctypes.c_void_p)
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = (ctypes.c_void_p,)
    connection = xcb.xcb_connect(os.fsencode(display), None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not failed
