"""Which system this is."""

from __future__ import annotations

import sys

from core.host.interface import Host


def this_host() -> Host:
    """Return the Host of the running system."""
    if sys.platform == "win32":
        from core.host.windows import WindowsHost as ThisHost
    else:
        from core.host.linux import LinuxHost as ThisHost
    return ThisHost()
