"""SafeFolder: changes inside one open folder, so that a link swapped in along the path is never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from core.common.i18n import _
from core.host import file_attributes
from core.host.file_attributes import FileAttributes
from core.model.changes import ChangeError

_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
BY_HANDLE = os.open in os.supports_dir_fd and _NOFOLLOW != 0
"""Whether the system opens files relative to an open folder. Windows does not: there the path is checked each time."""
CHUNK_BYTES = 1 << 20


class SafeFolder:
    """One folder that is held open. Names are single file names in it; links are never followed."""

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    def _child_path(self, name: str) -> str:
        if name in ("", ".", "..") or "/" in name or "\0" in name or (os.sep != "/" and os.sep in name):
            raise ChangeError(_("{name} is not a plain file name.", name=repr(name)))
        if self._handle is not None:
            return name
        refuse_links(self.path)
        return str(Path(self.path) / name)

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of the file or link itself; None if there is none."""
        try:
            return os.stat(self._child_path(name), dir_fd=self._handle, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open(self, name: str, *, write: bool = False) -> int:
        """Open a regular file for reading (or both) and return its descriptor.

        Raises:
            ChangeError: it is a link or no regular file. OSError: it cannot be opened.
        """
        found = self.status(name)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise self._not_regular(name)
        flags = (os.O_RDWR if write else os.O_RDONLY) | _NOFOLLOW | _NONBLOCK | _BINARY
        return self._regular(os.open(self._child_path(name), flags, dir_fd=self._handle), name)

    def _regular(self, fd: int, name: str) -> int:
        """Return the descriptor of a regular file; close that of anything else, and raise ChangeError."""
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise self._not_regular(name)
        return fd

    def _not_regular(self, name: str) -> ChangeError:
        return ChangeError(_("{path} is not a regular file.", path=self.path + os.sep + name))

    def create(self, name: str, mode: int = 0o644) -> int:
        """Create a file with exactly this mode under any umask, and return its descriptor; FileExistsError if there is one."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY
        fd = os.open(self._child_path(name), flags, mode & 0o700, dir_fd=self._handle)
        if self._handle is not None:
            try:
                os.fchmod(fd, mode)
            except OSError:
                os.close(fd)
                raise
        return fd

    def open_output(self, name: str) -> int:
        """Open a regular file for writing, its content intact, or create it with the umask's mode.

        Raises:
            ChangeError: it is a link or no regular file.
            OSError: it cannot be opened.
        """
        flags = os.O_WRONLY | os.O_CREAT | _NOFOLLOW | _NONBLOCK | _BINARY
        return self._regular(os.open(self._child_path(name), flags, 0o666, dir_fd=self._handle), name)

    def read(self, name: str, limit: int = 1 << 20) -> bytes | None:
        """Return a small file's bytes; None if there is none. ChangeError if it is longer than ``limit``."""
        try:
            fd = self.open(name)
        except FileNotFoundError:
            return None
        with os.fdopen(fd, "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ChangeError(_("{path} is too large for such a file.", path=self.path + os.sep + name))
        return data

    def write(self, name: str, data: bytes) -> None:
        """Replace a file's content atomically: write a temporary file, sync, rename, sync the folder. The existing attributes are kept."""
        old, beside = self.attributes(name), f".{name}.convalesce-new"
        self.remove(beside)
        with os.fdopen(self.create(beside, 0o600 if old else 0o644), "wb") as file:
            file.write(data)
            file.flush()
            file_attributes.set_attributes(
                file.fileno(), file_attributes.for_other_bytes(old) if old else self.of_new(0o644)
            )
            os.fsync(file.fileno())
        self.rename(beside, name)
        self.sync()

    def rename(self, name: str, to: str) -> None:
        """Rename within the folder atomically, replacing a file of the new name."""
        os.replace(self._child_path(name), self._child_path(to), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        """Remove a file or link, if there is one."""
        try:
            os.unlink(self._child_path(name), dir_fd=self._handle)
        except FileNotFoundError:
            return

    def target(self, name: str) -> str:
        """Return a symbolic link's target text."""
        return os.readlink(self._child_path(name), dir_fd=self._handle)

    def link(self, name: str, target: str) -> None:
        """Create a symbolic link."""
        os.symlink(target, self._child_path(name), dir_fd=self._handle)

    def share(self, name: str, other: SafeFolder, to: str) -> bool:
        """Create a hard link to a file in another folder; False if the file system cannot."""
        try:
            os.link(
                self._child_path(name),
                other._child_path(to),
                src_dir_fd=self._handle,
                dst_dir_fd=other._handle,
                follow_symlinks=os.link not in os.supports_follow_symlinks,
            )
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            return False
        return True

    def attributes(self, name: str) -> FileAttributes | None:
        """Return a regular file's owner, mode, access list and the like; None if there is none.

        Raises:
            ChangeError, OSError: as ``open``.
        """
        try:
            fd = self.open(name)
        except FileNotFoundError:
            return None
        try:
            return file_attributes.read_attributes(fd)
        finally:
            os.close(fd)

    def restore(self, name: str, wanted: FileAttributes) -> None:
        """Set a closed file's mode and time where that is impossible while it is open (Windows)."""
        if os.name == "nt":
            at = Path(self._child_path(name))
            if wanted.modified is not None:
                os.utime(at, ns=(wanted.modified, wanted.modified))
            at.chmod(wanted.mode)

    def of_new(self, mode: int) -> FileAttributes:
        """Return the attributes for a new file: it gets the folder's owner."""
        if self._handle is None:
            return FileAttributes(mode=mode)
        here = os.fstat(self._handle)
        root = os.geteuid() == 0
        group = here.st_gid if root or here.st_mode & stat.S_ISGID else os.getegid()
        return FileAttributes(mode=mode, uid=here.st_uid if root else os.geteuid(), gid=group)

    def make(self, name: str, mode: int = 0o755) -> None:
        """Create a folder in it with exactly this mode under any umask, with its own owner; FileExistsError if there is one."""
        os.mkdir(self._child_path(name), mode, dir_fd=self._handle)
        if self._handle is None:
            return
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _NOFOLLOW, dir_fd=self._handle)
        try:
            found, wanted = os.fstat(inner), self.of_new(mode)
            if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (wanted.uid, wanted.gid):
                os.fchown(inner, wanted.uid, wanted.gid)
            os.fchmod(inner, mode | (found.st_mode & stat.S_ISGID))
        finally:
            os.close(inner)

    def unmake(self, name: str) -> bool:
        """Remove an empty folder in it; False if it is not empty or not there."""
        try:
            os.rmdir(self._child_path(name), dir_fd=self._handle)
        except OSError:
            return False
        return True

    def names(self) -> list[str]:
        """Return the names in it, sorted."""
        if self._handle is None:
            refuse_links(self.path)
        with os.scandir(self.path if self._handle is None else self._handle) as entries:
            return sorted(e.name for e in entries)

    def sync(self) -> None:
        """Make changes in the folder survive a power failure (Windows does so by itself)."""
        if self._handle is not None:
            os.fsync(self._handle)

    def state(self, name: str) -> str:
        """Return the state of a name: "" if it does not exist, a file's SHA-256, "-> target" for a link, or "folder".

        Raises:
            ChangeError: it is something else.
            OSError: it cannot be read.
        """
        found = self.status(name)
        if found is None:
            return ""
        if stat.S_ISLNK(found.st_mode):
            return f"-> {self.target(name)}"
        if stat.S_ISDIR(found.st_mode):
            return "folder"
        with os.fdopen(self.open(name), "rb") as file:
            import hashlib  # imported late: loads OpenSSL

            return hashlib.file_digest(file, "sha256").hexdigest()


def split_parts(path: str) -> tuple[str, tuple[str, ...]]:
    r"""Return a path's anchor ("/", "C:\") and the names after it.

    Raises:
        ChangeError: the path is not absolute, or contains "." or "..".
    """
    pure = Path(path)
    if not pure.is_absolute() or "\0" in path:
        raise ChangeError(_("{path} is not an absolute path.", path=repr(path)))
    names = path[len(pure.anchor) :].replace("\\" if os.sep == "\\" else "/", "/").split("/")
    if ".." in names or "." in names:
        raise ChangeError(_("{path} contains . or ..; a plan must name every folder.", path=repr(path)))
    return pure.anchor, tuple(n for n in names if n)


def refuse_links(path: str) -> None:
    """Check that no part of the path to a folder is a link or junction.

    Raises:
        ChangeError: one is.
        FileNotFoundError: a part of it is not there.
    """
    anchor, names = split_parts(path)
    here = Path(anchor)
    for name in names:
        here = here / name
        found = here.lstat()
        if stat.S_ISLNK(found.st_mode) or bool(getattr(found, "st_reparse_tag", False)):
            raise ChangeError(_("{here} is a link now; a plan must name the real folder.", here=here))
        if not stat.S_ISDIR(found.st_mode):
            raise ChangeError(_("{folder} is not a folder.", folder=here))


@contextmanager
def open_folder(path: str) -> Iterator[SafeFolder]:
    """Open a folder without following any link along the path.

    Raises:
        ChangeError: a part of the path is a link or no folder.
        FileNotFoundError, PermissionError: the system's own.
    """
    if not BY_HANDLE:
        refuse_links(path)
        yield SafeFolder(path, None)
        return
    anchor, names = split_parts(path)
    flags = os.O_RDONLY | os.O_DIRECTORY | _BINARY
    handle = os.open(anchor, flags)
    try:
        for name in names:
            try:
                inner = os.open(name, flags | _NOFOLLOW, dir_fd=handle)
            except NotADirectoryError:
                raise ChangeError(
                    _("{name} in {path} is a link or a file now; a plan must name real folders.", name=name, path=path)
                ) from None
            os.close(handle)
            handle = inner
        yield SafeFolder(path, handle)
    finally:
        os.close(handle)


def split_path(path: str) -> tuple[str, str]:
    """Return the folder and the file name of an absolute path (ChangeError as in ``split_parts``)."""
    anchor, names = split_parts(path)
    if not names:
        raise ChangeError(_("{path} is not the name of a file.", path=repr(path)))
    return str(Path(anchor, *names[:-1])), names[-1]


@contextmanager
def open_parent(path: str) -> Iterator[tuple[SafeFolder, str]]:
    """Open the folder of a file, and yield it with the file's name; raises what ``split_path`` and ``open_folder`` raise."""
    folder, name = split_path(path)
    with open_folder(folder) as place:
        yield place, name


def nearest_existing(path: str) -> str:
    """Return the path, or the nearest folder above it that exists and can be examined; the root if none."""
    here = Path(path)
    while not os.path.exists(here) and here != here.parent:  # noqa: PTH110  # Path's own raises where nobody may look
        here = here.parent
    return str(here)


def make_folders(path: str, mode: int = 0o755) -> None:
    """Create a folder and its missing parents durably: each is synced into its parent.

    Raises:
        ChangeError: a part of the path is a link or a file.
        OSError: a folder could not be created.
    """
    anchor, names = split_parts(path)
    here = Path(anchor)
    for name in names:
        if not os.path.lexists(here / name):
            with open_folder(str(here)) as folder:
                with suppress(FileExistsError):
                    folder.make(name, mode)
                folder.sync()
        here = here / name


def copy_bytes(source: int, target: int) -> str:
    """Copy an open file to another; return the SHA-256 of the bytes written."""
    import hashlib  # imported late: loads OpenSSL

    digest = hashlib.sha256()
    while chunk := os.read(source, CHUNK_BYTES):
        digest.update(chunk)
        view = memoryview(chunk)
        while view:
            view = view[os.write(target, view) :]
    return digest.hexdigest()
