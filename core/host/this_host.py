"""The running system: its Host, and the language of its own texts. The platform's modules are imported when called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from core.common.streams import USUAL_READER, Reader

if TYPE_CHECKING:
    from core.host.interface import Host


def this_host() -> Host:
    """Return the Host of the running system."""
    if sys.platform == "win32":
        from core.host.windows.host import WindowsHost as ThisHost
    else:
        from core.host.linux.host import LinuxHost as ThisHost
    return ThisHost()


def app_alias_target(path: str) -> str:
    """Return the program that an App Execution Alias of Windows starts; empty if it is none, and on Linux."""
    if sys.platform == "win32":
        import ctypes

        from core.host.windows.app_alias import alias_target

        return alias_target(ctypes.WinDLL("kernel32"), path)
    return ""


@contextmanager
def prepared_streams() -> Iterator[tuple[Reader, Reader]]:
    """Yield the readers of standard output and standard error; a Windows console is prepared for the duration of the block."""
    if sys.platform == "win32":
        import ctypes

        from core.host.windows.console import prepared_consoles

        with prepared_consoles(ctypes.WinDLL("kernel32")) as readers:
            yield readers
    else:
        yield USUAL_READER, USUAL_READER


def display_language() -> str:
    """Return the language that a policy sets, else that of Windows' own texts; empty on Linux, where variables name it."""
    if sys.platform == "win32":
        from core.host.policy import this_policy
        from core.host.windows import system as windows_system

        return this_policy().language or windows_system.windows_display_language()
    return ""
