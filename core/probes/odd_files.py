"""Files below a folder that an account other than root can change."""

from __future__ import annotations

import os
from collections.abc import Iterator


def odd_files(folder: str) -> Iterator[str]:
    """Yield the entries below a folder that are links, belong to another account, or are writable by others than their
    owner.
    """
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
