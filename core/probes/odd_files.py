"""Which files below a folder more than root alone can change. Tens of thousands are looked at: in a child, beside everything else."""

from __future__ import annotations

import os

PLAIN = True
TYPE_CHECKING = False  # as typing has it; importing that takes longer than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.probes.trust import OddFiles, OddFolders

BATCH = 1000
"""Paths in one event."""


def tell_odd_files(request: OddFolders, emit: Callable[[OddFiles], None]) -> None:
    """Emit the odd files below the folders, in a child."""
    batch: list[str] = []
    for folder in request.folders:
        for path in odd_files(folder):
            batch.append(os.fsencode(path).decode("latin-1"))  # JSON takes no bytes
            if len(batch) == BATCH:
                emit({"paths": batch})  # type: ignore[arg-type]  # a plain child emits plain data
                batch = []
    emit({"paths": batch})  # type: ignore[arg-type]


def odd_files(folder: str) -> Iterator[str]:
    """Yield what lies below a folder and belongs to another account, is a link, or may be written by more than its owner."""
    todo = [folder]
    while todo:
        folders: list[os.DirEntry[str]] = []
        files: list[os.DirEntry[str]] = []
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else files).append(entry)
        except OSError:
            continue
        for entry in (*folders, *files):
            try:
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if seen.st_uid != 0 or seen.st_mode & 0o022 or entry.is_symlink():
                yield entry.path
        todo += [entry.path for entry in reversed(folders)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
