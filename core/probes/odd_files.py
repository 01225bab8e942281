"""Files below a folder that an account other than root can change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

NEVER_LOADED = (".lock",)
"""Files that an installer only locks: uv leaves one in a ``--target`` folder, writable for everybody. No import has such a name."""


def odd_files(folder: str) -> Iterator[str]:
    """Yield the entries below a folder that are links, belong to another account, or are writable by others than their owner."""
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
            if entry.name in NEVER_LOADED and stat.S_ISREG(seen.st_mode):
                continue
            if seen.st_uid != 0 or seen.st_mode & 0o022 or entry.is_symlink():
                yield entry.path
        todo += [entry.path for entry in reversed(folders)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
