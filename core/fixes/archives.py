"""Archives that a person names (zip, wheel, tar.xz, tar.gz) or a folder: the wanted files, or a clear refusal.

An archive with one hostile member is refused as a whole: an absolute path, "..", a link that leads elsewhere, a
device, a size that no such set has, far more bytes than the archive could honestly hold.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

from core.common.i18n import _, format_number
from core.common.progress import Progress
from core.host import safe_folder
from core.model.changes import ChangeError
from core.model.facts import Frozen

MAX_MEMBERS = 20_000
MAX_BYTES = 12 << 30
"""Of all members; the largest cuDNN set has about 1.2 GiB."""
MAX_RATIO = 100
"""Unpacked bytes for each byte of the archive, beyond 64 MiB; NVIDIA's have less than 3."""
MAX_READ_BYTES = 32 << 20


class ArchiveError(ChangeError):
    """The archive or folder is refused; the message is one sentence."""


class Member(Frozen, frozen=True, kw_only=True):
    """A wanted file of an archive."""

    name: str
    """Its path inside, with forward slashes."""
    path: str = ""
    """Where it is now: unpacked, or in the folder itself."""
    sha256: str = ""
    size: int = 0
    link: str = ""
    """The target of a link: always a plain name in the same folder."""


def take_members(source: str, wanted: Callable[[str], bool], into: Path, watch: Progress) -> tuple[Member, ...]:
    """Return the wanted members of an archive, unpacked into ``into`` (which must be there), or those of a folder.

    Raises:
        ArchiveError: the source is no such archive, is damaged or hostile. CancelledError: the person asked to stop.
    """
    path = Path(source)
    try:
        real = os.path.realpath(source)
        if path.is_dir():
            return tuple(_in_folder(real, wanted, watch))
        if not path.is_file():
            raise ArchiveError(_("{path} is neither a file nor a folder.", path=source))
        room = _ExtractionBudget(path.stat().st_size, into, watch)
        if zipfile.is_zipfile(real):
            return tuple(_in_zip(real, wanted, room))
        return tuple(_in_tar(real, wanted, room))
    except (zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, NotImplementedError) as e:
        raise ArchiveError(
            _("{source} is damaged, or is not an archive that Convalesce reads: {e}.", source=source, e=e)
        ) from None
    except (OSError, ValueError, RuntimeError) as e:
        raise ArchiveError(_("{path} cannot be read: {strerror}.", path=source, strerror=e)) from None


def check_name(name: str) -> str:
    """Return a member's normalised name (ArchiveError if it leads out of the archive's folder)."""
    parts = name.rstrip("/").split("/")
    if parts[0] == ".":
        parts = parts[1:] or ["_"]
    odd = any(p in ("", ".", "..") for p in parts)
    if odd or re.search(r"[\\:\x00-\x1f]", name) or len(name) > 1_000:
        raise ArchiveError(
            _(
                "The archive contains a file named {name} that points outside the archive; nothing is taken from it.",
                name=repr(name[:200]),
            )
        )
    return "/".join(parts)


class _ExtractionBudget:
    """How many bytes may still be unpacked from an archive, and the target folder."""

    def __init__(self, archive_size: int, into: Path, watch: Progress) -> None:
        self._left = min(MAX_BYTES, max(64 << 20, archive_size * MAX_RATIO))
        self._members = MAX_MEMBERS
        self.into = into
        self.watch = watch

    def member(self) -> None:
        self._members -= 1
        if self._members < 0:
            raise ArchiveError(
                _("The archive contains more than {most} files; no cuDNN does.", most=format_number(MAX_MEMBERS))
            )

    def use(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ArchiveError(_("The archive expands to an implausible size; nothing is taken from it."))

    def place(self, name: str) -> Path:
        """Return where a member goes: a folder of short name for each of the archive's."""
        folder, _, base = name.rpartition("/")
        place = self.into / hashlib.sha256(folder.encode()).hexdigest()[:8]
        place.mkdir(mode=0o700, exist_ok=True)
        return place / base

    def link(self, name: str, target: str) -> Member:
        """Make a link within its folder and return it."""
        path = self.place(name)
        path.symlink_to(target)
        return Member(name=name, path=str(path), link=target)

    def write(self, name: str, stream: IO[bytes], size: int) -> Member:
        """Unpack one file and return it, with its hash."""
        path, digest, written = self.place(name), hashlib.sha256(), 0
        with path.open("xb") as file:
            while chunk := stream.read(safe_folder.CHUNK_BYTES):
                self.watch.check()
                written += len(chunk)
                self.use(len(chunk))
                digest.update(chunk)
                file.write(chunk)
        if written != size:
            raise ArchiveError(
                _(
                    "{name} in the archive is {written} bytes long instead of {size}.",
                    name=name,
                    written=format_number(written),
                    size=format_number(size),
                )
            )
        return Member(name=name, path=str(path), sha256=digest.hexdigest(), size=size)


def _in_zip(path: str, wanted: Callable[[str], bool], room: _ExtractionBudget) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        infos = archive.infolist()
        names: set[str] = set()
        for info in infos:
            room.member()
            name = check_name(info.orig_filename)
            kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == 3 else 0
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise ArchiveError(
                    _("{name} in the archive is a link or a device; nothing is taken from it.", name=name)
                )
            if name in names and not info.is_dir():
                raise ArchiveError(
                    _("The archive contains two files named {name}; nothing is taken from it.", name=name)
                )
            names.add(name)
        for info in infos:
            name = check_name(info.orig_filename)
            if not info.is_dir() and wanted(name):
                with archive.open(info) as stream:
                    yield room.write(name, stream, info.file_size)


class _Limited(io.RawIOBase):
    """A decompressed stream, read in small pieces and never beyond the allowed size."""

    def __init__(self, stream: IO[bytes], room: _ExtractionBudget) -> None:
        self._stream = stream
        self._room = room

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_READ_BYTES:
            raise ArchiveError(_("The archive's headers are too large; nothing is taken from it."))
        self._room.watch.check()
        return self._stream.read(size)

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        while whence == 0 and offset > self._stream.tell():
            if not self.read(min(safe_folder.CHUNK_BYTES, offset - self._stream.tell())):
                break
        return self._stream.seek(offset, whence) if self._stream.tell() != offset else offset


def _open_decompressed(path: str) -> IO[bytes]:
    with Path(path).open("rb") as file:
        start = file.read(8)
    if start.startswith(b"\xfd7zXZ\0"):
        return lzma.open(path)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(path))
    if start.startswith(b"BZh"):
        return bz2.open(path)
    return Path(path).open("rb")


def _in_tar(path: str, wanted: Callable[[str], bool], room: _ExtractionBudget) -> Iterator[Member]:
    with _open_decompressed(path) as stream:
        archive = tarfile.open(fileobj=cast(IO[bytes], _Limited(stream, room)), mode="r:")  # noqa: SIM115 - nothing to close
        seen: set[str] = set()
        for info in archive:
            room.member()
            name = check_name(info.name)
            if info.isdir():
                continue
            if name in seen:
                raise ArchiveError(
                    _("The archive contains two files named {name}; nothing is taken from it.", name=name)
                )
            seen.add(name)
            if info.issym():
                if not re.fullmatch(r"[\w.+-]+", info.linkname) or set(info.linkname) == {"."}:
                    raise ArchiveError(
                        _(
                            "{name} in the archive is a link to {linkname}; nothing is taken from it.",
                            name=name,
                            linkname=repr(info.linkname),
                        )
                    )
                if wanted(name):
                    yield room.link(name, info.linkname)
                continue
            if not info.isreg():
                raise ArchiveError(
                    _("{name} in the archive is a link or a device; nothing is taken from it.", name=name)
                )
            if info.size > MAX_BYTES or info.size < 0:
                raise ArchiveError(_("{name} in the archive is too large; nothing is taken from it.", name=name))
            content = archive.extractfile(info) if wanted(name) else None
            if content is not None:
                yield room.write(name, content, info.size)
            else:
                room.use(info.size)


def _in_folder(base: str, wanted: Callable[[str], bool], watch: Progress) -> Iterator[Member]:
    """Yield the wanted files of a folder and of those below it, at most four deep; links to folders are not followed."""
    count = 0
    for here, inner, names in os.walk(base):
        depth = os.path.relpath(here, base).count(os.sep)
        if depth >= 3:
            inner.clear()
        inner.sort()
        for name in sorted(names):
            count += 1
            if count > MAX_MEMBERS:
                raise ArchiveError(
                    _(
                        "{base} holds more than {most} files; name the folder with the libraries.",
                        base=base,
                        most=format_number(MAX_MEMBERS),
                    )
                )
            watch.check()
            whole = os.path.relpath(Path(here) / name, base).replace(os.sep, "/")
            if wanted(whole):
                yield _folder_member(here, name, whole)


def _folder_member(here: str, name: str, whole: str) -> Member:
    with safe_folder.open_folder(here) as folder:
        state = folder.state(name)
        if not state.startswith("-> "):
            found = folder.status(name)
            path = str(Path(here) / name)
            return Member(name=whole, path=path, sha256=state, size=found.st_size if found else 0)
    target = state[3:]
    if "/" in target or "\\" in target:
        raise ArchiveError(
            _(
                "{name} in that folder is a link to {target}; select the folder that contains the real files.",
                name=name,
                target=target,
            )
        )
    return Member(name=whole, path=str(Path(here) / name), link=target)
