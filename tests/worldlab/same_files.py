"""Are all files of a scene as they were? Names, modes, links and bytes; byte code apart, what undoing keeps, and what the program wrote."""

from __future__ import annotations

import filecmp
import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.worldlab.environments import remove

APART = ("__pycache__", ".convalesce", ".cache", ".local", ".triton", ".keras")
HASHED = 1 << 20
"""Files below this size are hashed. Of the others a second link is kept, and bytes are compared where the file is another one."""


@dataclass(frozen=True)
class File:
    """What is known of one file, link or folder."""

    mode: int
    what: str
    """The hash of a small file, the size of a large one, where a link leads."""
    number: tuple[int, int] = field(default=(0, 0), compare=False)
    """Of a large file: its inode, and when it was written."""


@dataclass(frozen=True)
class Before:
    """A scene's files at one moment."""

    folder: Path
    kept: Path
    files: Mapping[str, File]

    def other_now(self, apart: Collection[str] = ()) -> list[str]:
        """Return the names of all that is not as it was; ``apart``: names that are not compared."""
        now = _files(self.folder)
        names = {n for n, its in self.files.items() if now.get(n) != its} | (now.keys() - self.files.keys())
        large = (n for n, its in self.files.items() if n not in names and its.number != now[n].number)
        names |= {n for n in large if not self._same_bytes(n, now[n])}
        return sorted(names - set(apart))

    def _same_bytes(self, name: str, now: File) -> bool:
        inode = self.files[name].number[0]
        return now.number[0] != inode and filecmp.cmp(self.kept / str(inode), self.folder / name, shallow=False)


@contextmanager
def remembered(folder: Path) -> Iterator[Before]:
    """Remember a scene's files; the second links of the large ones go afterwards."""
    kept = folder.with_name(f"{folder.name}-before")
    kept.mkdir()
    try:
        files = _files(folder)
        for name, its in files.items():
            link = kept / str(its.number[0])
            if its.number[0] and not link.exists():
                os.link(folder / name, link)
        yield Before(folder, kept, files)
    finally:
        remove(kept)


@contextmanager
def written_meanwhile(folder: Path) -> Iterator[set[str]]:
    """Give the names of what a program writes while it runs: of these it can say nothing whether a change was taken back."""
    names: set[str] = set()
    then = _touched(folder)
    try:
        yield names
    finally:
        now = _touched(folder)
        names |= {n for n in then.keys() | now.keys() if then.get(n) != now.get(n)}


def _touched(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return what shows that a name was written: folders are not compared, since a file in them changes their time."""
    found: dict[str, tuple[int, ...]] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f not in APART]
        found |= {str(Path(place, f).relative_to(folder)): () for f in folders}
        for name in names:
            seen = Path(place, name).lstat()
            found[str(Path(place, name).relative_to(folder))] = (
                seen.st_ino,
                seen.st_mtime_ns,
                seen.st_size,
                seen.st_mode,
            )
    return found


def _files(folder: Path) -> dict[str, File]:
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f not in APART]
        for name in (*names, *folders):
            path = Path(place, name)
            found[str(path.relative_to(folder))] = _file(path)
    return found


def _file(path: Path) -> File:
    seen = path.lstat()
    if stat.S_ISLNK(seen.st_mode):
        return File(seen.st_mode, f"-> {path.readlink()}")
    if not stat.S_ISREG(seen.st_mode):
        return File(seen.st_mode, "")
    if seen.st_size < HASHED:
        return File(seen.st_mode, hashlib.sha256(path.read_bytes()).hexdigest())
    return File(seen.st_mode, str(seen.st_size), (seen.st_ino, seen.st_mtime_ns))
