r"""Sysroot: paths in the examined system's form, and their location below the host's root.

Probes keep paths as the examined system writes them (``/usr/local/cuda``, ``C:\Program Files\...``) and use a Sysroot
for every access to the disk. It raises nothing for what is on the disk: unreadable content is returned as empty or
None.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from itertools import islice
from types import ModuleType
from typing import NamedTuple

import msgspec

from core.common.patience import call_patiently, is_silent
from core.host.interface import Host, planned_files
from core.loader.files import OtherRoot, extended_path, is_whole
from core.model import paths
from core.model.facts import System
from core.model.path_list import LIBRARY_VARIABLE, remove_from_path, split_entries

MAX_NAMES = 200_000
"""Maximum number of names taken from one folder; a folder with more is no library folder."""


class Entry(NamedTuple):
    """What a name in a folder leads to."""

    size: int
    """In bytes."""
    closed: bool = False
    """Its rights do not let this user read it, as far as they tell."""


class Sysroot(msgspec.Struct, frozen=True):
    """The examined system's path form and root."""

    system: System
    root: str = "/"
    planned: Mapping[str, str] = {}
    """Contents of files that do not exist yet, by full path; ``names`` and ``text`` include them."""
    gone: frozenset[str] = frozenset()
    """Full paths of files and folders that are treated as removed; ``names`` and ``stat`` do not report them."""

    @property
    def path_module(self) -> ModuleType:
        """The path module for the examined system's form of paths; it works on either system."""
        return paths.path_module(self.system)

    @property
    def is_running_system(self) -> bool:
        r"""Whether the root is the running system's own: "/", or a drive such as "C:\\"."""
        return is_whole(self.root)

    def may_access(self, path: str, wish: int) -> bool:
        """Return whether this user may access a file so (``os.R_OK``, ...); for another system's files nobody can tell."""
        if not self.is_running_system:
            return True
        try:
            return call_patiently(os.access, self.local_path(path), wish)
        except (OSError, ValueError):
            return True

    def local_path(self, path: str) -> str:
        """Return the path by which the running system reaches ``path``."""
        if isinstance(self.root, OtherRoot):
            return self.root.place(path)
        if self.is_running_system:
            return extended_path(path)
        relative = path.replace("\\", "/") if self.system == "windows" else path
        return self.root.rstrip("/\\") + "/" + relative.lstrip("/")

    def target_path(self, real: str) -> str:
        """Return the examined system's form of a path that the running system gave: the inverse of ``local_path``."""
        if self.is_running_system:
            return real.removeprefix("\\\\?\\")
        base = os.path.realpath(self.root).rstrip("/\\")
        if not real.startswith(base + os.sep):
            return real
        inner = real[len(base) :]
        return inner.lstrip("/").replace("/", "\\") if self.system == "windows" else inner

    def join(self, *parts: str) -> str:
        """Join in the examined system's form."""
        return paths.join_path(self.system, *parts)

    def parent(self, path: str) -> str:
        """Return the folder that contains ``path``."""
        return paths.parent(self.system, path)

    def name(self, path: str) -> str:
        """Return the last part of ``path``."""
        return paths.file_name(self.system, path)

    def stat(self, path: str) -> os.stat_result | None:
        """Return the status of ``path``, links followed; None if it is missing or may not be examined."""
        if path in self.gone:
            return None
        try:
            return call_patiently(os.stat, self.local_path(path))
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        """Whether anything exists at ``path``, a broken link included."""
        return path in self.planned or self.stat(path) is not None or self.is_link(path)

    def is_folder(self, path: str) -> bool:
        """Whether ``path`` is a folder, links followed."""
        seen = self.stat(path)
        return seen is not None and stat.S_ISDIR(seen.st_mode)

    def is_file(self, path: str) -> bool:
        """Whether ``path`` is a regular file, links followed."""
        if path in self.planned:
            return True
        seen = self.stat(path)
        return seen is not None and stat.S_ISREG(seen.st_mode)

    def kind(self, path: str) -> str:
        """Return "file", "folder" or "missing", links followed."""
        return "file" if self.is_file(path) else "folder" if self.is_folder(path) else "missing"

    def is_link(self, path: str) -> bool:
        """Whether ``path`` itself is a symbolic link, wherever it leads."""
        try:
            real = (
                self.local_path(self.parent(path)) + "/" + self.name(path)
                if isinstance(self.root, OtherRoot)
                else self.local_path(path)
            )
            return stat.S_ISLNK(call_patiently(os.lstat, real).st_mode)
        except (OSError, ValueError):
            return False

    def real_path(self, path: str) -> str:
        """Return ``path`` with all links resolved as far as possible; resolution stops at a loop."""
        try:
            return self.target_path(call_patiently(os.path.realpath, self.local_path(path)))
        except (OSError, ValueError):
            return path

    def names(self, folder: str) -> tuple[str, ...] | None:
        """Return the sorted names in ``folder``; None if it cannot be listed."""
        try:
            there = call_patiently(_names, self.local_path(folder))
            if self.planned or self.gone:
                there = sorted({*there, *self._inside(folder, self.planned)} - {*self._inside(folder, self.gone)})
            return tuple(sorted(there))
        except (OSError, ValueError):
            return None

    def entries(self, folder: str) -> Mapping[str, Entry] | None:
        """Return what the names in ``folder`` lead to, without links that lead nowhere; empty if there is no such folder, None if it
        cannot be listed.
        """
        try:
            there = call_patiently(_entries, self.local_path(folder))
        except (FileNotFoundError, NotADirectoryError):
            there = {}
        except (OSError, ValueError):
            return None
        planned = {self.name(p): Entry(len(t)) for p, t in self.planned.items() if self._inside(folder, [p])}
        gone = self._inside(folder, self.gone) if self.gone else ()
        return {name: entry for name, entry in {**there, **planned}.items() if name not in gone}

    def listed(self, folder: str) -> tuple[str, ...]:
        """Return the names in ``folder`` in the order of the file system; empty if it cannot be listed."""
        try:
            return tuple(call_patiently(_names, self.local_path(folder)))
        except (OSError, ValueError):
            return ()

    def read(self, path: str, limit: int = 1 << 16) -> bytes | None:
        """Return the first ``limit`` bytes of a regular file; None if it is not one or cannot be read.

        Files of /proc and /sys report a size of 0 and are read nevertheless. O_NONBLOCK: do not wait for the other end
        of a FIFO.
        """
        seen = self.stat(path)
        if seen is None or not stat.S_ISREG(seen.st_mode):
            return None
        try:
            return call_patiently(_start, self.local_path(path), limit, seen.st_size)
        except (OSError, ValueError):
            return None

    def tail(self, path: str, limit: int) -> bytes | None:
        """Return the last ``limit`` bytes of a regular file; None if it is not one or cannot be read."""
        try:
            return call_patiently(_end, self.local_path(path), limit) if self.is_file(path) else None
        except (OSError, ValueError):
            return None

    def contains(self, path: str, word: bytes, limit: int) -> bool | None:
        """Whether a regular file of less than ``limit`` bytes contains a word; None for any other. It is never in memory as a whole."""
        try:
            return call_patiently(_contains, self.local_path(path), word, limit) if self.is_file(path) else None
        except (OSError, ValueError):
            return None

    def text(self, path: str, limit: int = 1 << 16) -> str | None:
        """Return ``read`` as text; bytes that are not UTF-8 are replaced."""
        if path in self.planned:
            return self.planned[path]
        data = self.read(path, limit)
        return None if data is None else data.decode("utf-8", "replace")

    def _inside(self, folder: str, some: Iterable[str]) -> list[str]:
        return [self.name(path) for path in some if paths.is_same(self.system, self.parent(path), folder)]


def _names(folder: str) -> list[str]:
    with os.scandir(folder) as entries:
        return [e.name for e in islice(entries, MAX_NAMES)]


def _entries(folder: str) -> dict[str, Entry]:
    found = {}
    with os.scandir(folder) as entries:
        for one in islice(entries, MAX_NAMES):
            try:
                found[one.name] = _entry(one.stat())
            except FileNotFoundError:
                continue
            except OSError:
                found[one.name] = Entry(0, closed=True)
    return found


def _entry(seen: os.stat_result) -> Entry:
    """Return what a file's status says; of its rights those that apply to this user, root's privileges apart."""
    closed = not seen.st_mode & 0o044 and (not seen.st_mode & 0o400 or seen.st_uid != os.geteuid())
    return Entry(seen.st_size, closed)


_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


def _end(path: str, limit: int) -> bytes | None:
    with open(os.open(path, _FLAGS), "rb") as file:  # noqa: PTH123 - a file's number
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            return None
        file.seek(max(0, seen.st_size - limit))
        return file.read(limit)


def _start(path: str, limit: int, size: int) -> bytes:
    """Return the first bytes of what was a regular file of this size; each system call less counts where the kernel answers slowly."""
    number = os.open(path, _FLAGS)
    try:
        parts: list[bytes] = []
        while limit > 0 and (part := os.read(number, min(limit, max(size, 1 << 12) + 1, 1 << 27))):
            parts.append(part)
            limit -= len(part)
            if len(part) == size:
                break
        return b"".join(parts)
    finally:
        os.close(number)


def _contains(path: str, word: bytes, limit: int) -> bool | None:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    number = os.open(path, flags)
    try:
        seen = os.fstat(number)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size >= limit:
            return None
        before = b""
        while part := os.read(number, 1 << 20):
            if word in (part := before + part):
                return True
            before = part[-len(word) :]
        return False
    finally:
        os.close(number)


def without_silent_folders(env: Mapping[str, str], where: Sysroot) -> dict[str, str]:
    """Return ``env`` for a child, without unresponsive folders in the loader's search path, which would hang it."""
    name = "PATH" if where.system == "windows" else LIBRARY_VARIABLE
    found = dict(env)
    for variable in [n for n in env if n.upper() == name]:
        for index, folder in reversed(list(enumerate(split_entries(env[variable], where.system, name)))):
            if where.path_module.isabs(folder) and is_silent(where.local_path(folder)):
                found[variable] = remove_from_path(found[variable], folder, index, where.system, name=name)
    return found


def sysroot_of(host: Host) -> Sysroot:
    """Return the host's Sysroot."""
    planned, gone = planned_files(host)
    root = getattr(host, "sysroot", None) or os.fspath(host.root)
    return Sysroot(system=host.system, root=root, planned=planned, gone=gone)
