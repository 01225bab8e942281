"""Bounded reading of untrusted files: regular files only, never mapped, never opened if opening could block.

Truncating a mapped file kills its reader with SIGBUS; a FIFO blocks it; a device never ends. So every reader of this
package uses ``open_source``: it checks the file before opening it, checks the open file again, and reads by offset.
"""

from __future__ import annotations

import errno
import io
import ntpath
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from core.common.fact_text import fact_text
from core.common.patience import call_patiently
from core.loader.image import NoFile
from core.model.facts import FileState

MAX_READ_BYTES = 1 << 20
"""Largest single read, in bytes, whatever a header asks for."""


UNREAD: tuple[FileState, ...] = ("missing", "dangling", "unreadable")
"""States in which nothing was read, so that results hold only for the moment."""


MISSING_PROBLEM = "is not there"


class UnfitError(Exception):
    """The file cannot be read as a library: its state in one word, and why in one sentence."""

    def __init__(self, state: FileState, problem: str, really: NoFile = "") -> None:
        super().__init__(problem)
        self.state: FileState = state
        self.problem = problem
        self.really: NoFile = really


class Source:
    """A regular file that is open for reading by offset. Reads past the end return fewer bytes, as slices do."""

    def __init__(self, stream: io.FileIO, size: int, path: str = "") -> None:
        self._stream = stream
        self._path = path
        self._number = stream.fileno()
        self.hop: Callable[[int, int], bytes] = lambda size, offset: self.read(offset, size)
        """``read`` (size, offset) without its checks if the system has a call for it, for loops over many headers."""
        if sys.platform != "win32":
            self.hop = partial(os.pread, self._number)
        self.size = size
        """Bytes in the file when it was opened."""

    def read(self, offset: int, size: int) -> bytes:
        """Return at most ``size`` bytes (never more than CHUNK) from ``offset``; fewer at the end of the file.

        Raises:
            OSError: the disk or the network failed.
        """
        if offset < 0 or offset >= self.size or size <= 0:
            return b""
        size = min(size, MAX_READ_BYTES)
        if sys.platform != "win32":  # One system call instead of two: a scan makes tens of thousands.
            return call_patiently(self._pread, self._path, size, offset)
        self._stream.seek(offset)
        return self._stream.read(size) or b""

    def _pread(self, _path: str, size: int, offset: int) -> bytes:
        return os.pread(self._number, size, offset)

    def __len__(self) -> int:
        """Return the file's size."""
        return self.size


BLOCK_BYTES, MOST_BLOCKS = 1 << 16, 256


class BlockSource(Source):
    """The same file, read in blocks that are kept for a while.

    For tens of thousands of small reads close together: each call of the system is dear where a virus scanner looks on, or under wine.
    """

    def __init__(self, source: Source) -> None:
        self._below, self._blocks = source, dict[int, bytes]()
        self.hop = lambda size, offset: self.read(offset, size)
        self.size = source.size

    def read(self, offset: int, size: int) -> bytes:
        """Return what ``Source.read`` does."""
        if offset < 0 or offset >= self.size or size <= 0:
            return b""
        end = min(offset + size, self.size)
        first, last = offset // BLOCK_BYTES, (end - 1) // BLOCK_BYTES
        if last - first > 1:
            return self._below.read(offset, size)
        data = self._block(first) if first == last else self._block(first) + self._block(last)
        start = offset - first * BLOCK_BYTES
        return data[start : start + end - offset]

    def _block(self, number: int) -> bytes:
        data = self._blocks.pop(number, None)
        if data is None:
            data = self._below.read(number * BLOCK_BYTES, BLOCK_BYTES)
            if len(self._blocks) >= MOST_BLOCKS:
                del self._blocks[next(iter(self._blocks))]
        self._blocks[number] = data  # the last that was asked for goes last
        return data


class OtherRoot(str):
    """The root folder of a Linux system that is not running: its absolute links lead to places below it, as they would
    for that system.

    The value is the folder's own path, without links.
    """

    __slots__ = ()

    def place(self, path: str) -> str:
        """Return a path's target, with every link resolved inside; a missing path or a loop is resolved as far as possible."""
        return call_patiently(_place_inside, str(self), path)


MAX_LINKS = 40
"""Links that are followed for one path, as in Linux (MAXSYMLINKS)."""


def _place_inside(base: str, path: str) -> str:
    todo, links = [p for p in path.split("/") if p][::-1], 0
    done: list[str] = []
    while todo:
        part = todo.pop()
        if part == "..":
            done = done[:-1]
        elif part != ".":
            try:
                target = os.readlink(base + "/" + "/".join((*done, part)))  # noqa: PTH115 - plain text paths
            except (OSError, ValueError):
                target = ""
            links += bool(target)
            if not target or links > MAX_LINKS:
                done.append(part)
                continue
            done = [] if target.startswith("/") else done
            todo += [p for p in target.split("/") if p][::-1]
    return base.rstrip("/") + "/" + "/".join(done)


def path_under_root(root: str | os.PathLike[str], path: str) -> str:
    r"""Return the real path of an absolute path of the examined system; links inside are followed by the running system.

    Below an ``OtherRoot`` they are resolved here, and stay inside. A root that is a whole drive ("/", "C:\") is the
    running system itself. Below another root, C:\ml is the folder C:/ml (C/ml on Windows, where a folder's name cannot
    contain a colon).
    """
    if isinstance(root, OtherRoot):
        return root.place(path)
    base = os.fspath(root)
    if is_whole(base):
        return extended_path(path)
    inner = path.replace("\\", "/") if ntpath.splitdrive(path)[0] else path
    inner = inner.replace(":", "", 1) if os.name == "nt" else inner
    return base.rstrip("/\\") + "/" + inner.lstrip("/")


def is_whole(root: str) -> bool:
    r"""Whether a root is the running system's own: "/", or a whole drive such as "C:\\"."""
    return not isinstance(root, OtherRoot) and (root == "/" or ntpath.splitdrive(root)[1] in ("", "/", "\\"))


LONG_PATH_CHARACTERS = 240
"""Characters from which a path is given in the long form; MAX_PATH is 260, and the limit for folders 248."""


def extended_path(path: str, system: str = os.name) -> str:
    r"""Return a path in the form that Windows opens whatever its length and settings (\\?\C:\...); short ones unchanged.

    Without it, a file beyond 260 characters appears to be missing. Source: Microsoft, "Maximum Path Length Limitation".
    """
    if system != "nt" or len(path) < LONG_PATH_CHARACTERS or path[1:3] != ":\\":
        return path
    return "\\\\?\\" + ntpath.normpath(path)


def stat_regular_file(path: str | os.PathLike[str]) -> os.stat_result:
    """Return the status of a regular, non-empty file without opening it.

    Raises:
        UnfitError: it is missing, dangling, empty, not a regular file, or may not be examined.
    """
    try:
        seen = call_patiently(os.stat, os.fsdecode(path))
    except (OSError, ValueError) as error:
        raise _absent(path, error) from None
    if stat.S_ISDIR(seen.st_mode):
        raise UnfitError("not a library", fact_text("is a folder, not a file"), "folder")
    if not stat.S_ISREG(seen.st_mode):
        raise UnfitError("not a library", fact_text("is a pipe, a socket or a device, not a regular file"))
    if seen.st_size == 0:
        raise UnfitError("empty", fact_text("is empty (0 bytes)"))
    return seen


def _absent(path: str | os.PathLike[str], error: OSError | ValueError) -> UnfitError:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EACCES, errno.EPERM):
        return UnfitError("unreadable", fact_text("lies in a folder that this user may not enter"))
    if isinstance(error, TimeoutError):
        return UnfitError("unreadable", fact_text("lies in a place that gives no answer"))
    if number == errno.ELOOP:
        return UnfitError("dangling", fact_text("is a symbolic link that leads back to itself"), "loop")
    if _is_link(path):
        return UnfitError("dangling", fact_text("is a symbolic link to a file that is not there"))
    if number in (None, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL):
        return UnfitError("missing", MISSING_PROBLEM)
    return UnfitError("unreadable", fact_text("could not be looked at: {reason}", reason=os.strerror(number or 0)))


def _is_link(path: str | os.PathLike[str]) -> bool:
    try:
        return stat.S_ISLNK(call_patiently(os.lstat, os.fsdecode(path)).st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def open_source(path: str | os.PathLike[str]) -> Iterator[Source]:
    """Open a regular file for reading by offset.

    Raises:
        UnfitError: it is missing, empty, not a regular file, or may not be read; also when reading fails half-way.
    """
    stat_regular_file(path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        stream = io.FileIO(call_patiently(os.open, os.fsdecode(path), flags), "rb")
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise UnfitError("unreadable", fact_text("may not be read by this user")) from None
        raise UnfitError(
            "unreadable", fact_text("could not be opened: {reason}", reason=os.strerror(error.errno or 0))
        ) from None
    with stream:
        seen = os.fstat(stream.fileno())
        if not stat.S_ISREG(seen.st_mode):  # It was replaced between the check and the opening.
            raise UnfitError("not a library", "is not a regular file")
        try:
            yield Source(stream, seen.st_size, os.fsdecode(path))
        except OSError as error:
            raise UnfitError(
                "unreadable", fact_text("could not be read to the end: {reason}", reason=os.strerror(error.errno or 0))
            ) from None
