"""File systems whose files the system does not run or map as code: mounted with the option noexec."""

from __future__ import annotations

import os

from core.common.patience import call_patiently
from core.probes.sysroot import Sysroot

ST_NOEXEC = 8
"""See statvfs(3)."""


class Noexec:
    """Which folders lie on such a file system; each is asked once."""

    def __init__(self, where: Sysroot) -> None:
        self._where = where
        self._known: dict[str, bool] = {}

    def allows(self, path: str) -> bool:
        """Whether the system may map a file as code, as far as its mount tells."""
        folder = self._where.parent(path)
        if folder not in self._known:
            self._known[folder] = is_noexec(folder, self._where)
        return not self._known[folder]


def is_noexec(path: str, where: Sysroot) -> bool:
    """Whether a path of the running system lies on a file system that is mounted noexec."""
    try:
        return where.is_running_system and bool(call_patiently(os.statvfs, where.local_path(path)).f_flag & ST_NOEXEC)
    except (AttributeError, OSError, ValueError):
        return False
