"""The frozen application: what PyInstaller's start-up code changes, and how to undo that for child processes.

Its bootloader on Linux puts the application's own folder before LD_LIBRARY_PATH and starts itself again, since the
loader reads that variable once; and its start-up code puts its own classes in the place of ctypes' loaders, which
look into the application's folder first and replace the system's error by a sentence of theirs. A child that examines
the machine as a consumer sees it must have neither.
"""

from __future__ import annotations

import os
import sys

PORTABLE_MARKER = "portable.txt"
"""Name of the file beside the programs that marks a portable copy."""


def is_frozen() -> bool:
    """Whether this is the application that PyInstaller built, not Python running our source."""
    return bool(getattr(sys, "frozen", False))


def start_module() -> str:
    """Return the module that starts this program: the launcher of an installed wheel, or our own in a checkout."""
    return "convalesce" if "convalesce" in sys.modules else "core"


def portable_folder() -> str:
    """Return the folder of a portable copy, which keeps its settings there; empty for any other way to run."""
    folder = os.path.dirname(sys.executable)  # noqa: PTH120 - pathlib costs a child's start
    return folder if is_frozen() and os.path.exists(os.path.join(folder, PORTABLE_MARKER)) else ""  # noqa: PTH110, PTH118 - as above


def child_variables() -> dict[str, str]:
    """Return what a child of a frozen application on Linux needs to run in exactly the environment that it is given.

    The bootloader knows by these two that it was started again already, and leaves LD_LIBRARY_PATH as it is
    (``python -m tests.installer.linux`` holds it to that). Our own libraries are still found, because the extension
    modules name their folder themselves. The child forgets both at its start.
    """
    if not is_frozen() or sys.platform != "linux":
        return {}
    return {
        "_PYI_ARCHIVE_FILE": os.environ.get("_PYI_ARCHIVE_FILE") or sys.executable,
        "_PYI_PARENT_PROCESS_LEVEL": "-1",
    }


def restore_ctypes() -> None:
    """Restore ctypes' own loaders, so that it loads the system's libraries and reports the loader's own errors."""
    if not is_frozen():
        return
    import ctypes

    pairs = [("CDLL", "cdll"), ("PyDLL", "pydll")]
    if sys.platform == "win32":
        pairs += [("WinDLL", "windll"), ("OleDLL", "oledll")]
    for name, loader in pairs:
        original = next(c for c in getattr(ctypes, name).__mro__ if c.__module__ == "ctypes")
        setattr(ctypes, name, original)
        setattr(ctypes, loader, ctypes.LibraryLoader(original))


def restore_dll_search() -> None:
    """On Windows, take our folder out of this process' DLL search, where PyInstaller's bootloader put it.

    Only a child can do without it: its modules find what they need in their own folder.
    """
    if is_frozen() and sys.platform == "win32":
        import ctypes

        ctypes.WinDLL("kernel32").SetDllDirectoryW(None)
