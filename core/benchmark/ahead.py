"""Reading libraries from the disk before they are asked for: after a start, half a gigabyte of kernels waits there."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from core.benchmark.plan import Chosen

BESIDE = "libcublasLt.so.*[0-9]"
"""What cuBLAS loads from its own folder."""


def read_ahead(chosen: Chosen) -> threading.Thread | None:
    """Ask the system to read the files that ladder and engine will load, while the driver starts; None where it can not.

    Nothing is loaded: their bytes come into the system's cache, and nowhere else. Windows keeps what is mapped as a
    program apart from what was read as data, so it would gain nothing there.
    """
    if sys.platform == "win32":
        return None
    thread = threading.Thread(target=_read, args=(tuple(files(chosen)),), daemon=True, name="read ahead")
    thread.start()
    return thread


def files(chosen: Chosen) -> Iterator[str]:
    """Yield the files in the order in which they will be asked for."""
    for tries in (chosen.nvrtc, chosen.cublas):
        first = next((p for p in map(Path, tries) if p.is_absolute()), None)
        if first:
            yield str(first)
    if first:
        yield from map(str, sorted(first.parent.glob(BESIDE)))
    yield from chosen.predicted


def _read(paths: tuple[str, ...]) -> None:
    if sys.platform == "win32":
        return
    for path in paths:
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
            finally:
                os.close(file)
