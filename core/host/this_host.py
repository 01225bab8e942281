"""Which system this is: its Host, and the language of its own texts. Imports neither before it is asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.host.interface import Host


def this_host() -> Host:
    """Return the Host of the running system."""
    if sys.platform == "win32":
        from core.host.windows.host import WindowsHost as ThisHost
    else:
        from core.host.linux.host import LinuxHost as ThisHost
    return ThisHost()


def display_language() -> str:
    """Return the language in which Windows shows its own texts; empty on Linux, where variables name it."""
    if sys.platform == "win32":
        from core.host.windows import system as windows_system

        return windows_system.windows_display_language()
    return ""
