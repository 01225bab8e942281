"""The hashes of files for ``--thorough``: with OpenSSL, in two threads, and with word of how long it takes."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from core.common.i18n import _, format_plain_number
from core.common.patience import call_patiently, map_in_threads
from core.common.progress import Progress
from core.probes.sysroot import Sysroot

HASH_BLOCK_BYTES = 4 << 20
"""Bytes hashed between two checks for cancellation."""

HASHING_THREADS = 2

LONG_BYTES = 256 << 20
"""What takes less than a second on most machines is not worth a word."""

SAMPLE_BYTES = 64 << 20
"""From the time that these take, the rest is estimated: disks differ by a factor of a hundred."""

PARTS = 10
"""How often progress is reported."""


class HashingProgress:
    """Says how long the hashing of many bytes takes, and then each tenth of it. Safe to use from several threads."""

    def __init__(
        self, total: int, place: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._total, self._place, self._say, self._clock = total, place, say, clock
        self._start = clock()
        self._done = self._part = 0
        self._is_estimated = False
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        """Count hashed bytes."""
        with self._lock:
            self._done += count
            if self._total < LONG_BYTES or self._done < SAMPLE_BYTES:
                return
            part = self._done * PARTS // self._total
            if not self._is_estimated:
                self._is_estimated = True
                seconds = (self._clock() - self._start) * (self._total - self._done) / self._done
                self._tell(_("about {seconds} s", seconds=format_plain_number(max(seconds, 1), 0)))
            elif part > self._part:
                self._tell(_("{percent} %", percent=str(part * 100 // PARTS)))
            self._part = part

    def _tell(self, how_far: str) -> None:
        size = format_plain_number(self._total / 1e9, 1)
        self._say(
            _(
                "Comparing {size} GB of libraries in {place} with their hashes: {how_far}",
                size=size,
                place=self._place,
                how_far=how_far,
            )
        )


def hash_files(paths: Iterable[str], where: Sysroot, watch: Progress, place: str = "") -> Mapping[str, str]:
    """Return path -> SHA-256 of regular files, largest first, by OpenSSL in two threads; failures are left out.

    ``place``: the folder or environment that they belong to, for the word about how long it takes.

    Raises:
        CancelledError: the person asked to stop.
    """

    def size(path: str) -> int:
        seen = where.stat(path)
        return seen.st_size if seen and stat.S_ISREG(seen.st_mode) else -1

    sizes = {path: size(path) for path in paths}
    ordered = sorted((p for p, n in sizes.items() if n > 0), key=lambda p: sizes[p], reverse=True)
    progress = HashingProgress(sum(sizes[p] for p in ordered), place, watch.say)
    found = map_in_threads(
        ordered, lambda path: _sha256(where.local_path(path), watch, progress), threads=HASHING_THREADS
    )
    return {path: value for path, value in zip(ordered, found, strict=True) if value}


def _sha256(path: str, watch: Progress, progress: HashingProgress) -> str:
    """Return a file's hash; empty if it cannot be read. OpenSSL releases Python's lock while it works."""
    import hashlib  # imported late: loads OpenSSL

    digest = hashlib.sha256()
    block = memoryview(bytearray(HASH_BLOCK_BYTES))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(call_patiently(os.open, path, flags), "rb", buffering=0) as stream:  # noqa: PTH123  # flags matter
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return ""
            while count := call_patiently(lambda _path: stream.readinto(block), path):
                watch.check()
                digest.update(block[:count])
                progress.add(count)
    except OSError:
        return ""
    return digest.hexdigest()
