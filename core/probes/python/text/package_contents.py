"""What the files of a package say, compiled ones included: those of the package that was asked about last are kept."""

from __future__ import annotations

from collections.abc import Iterator

from core.probes.sysroot import Sysroot

MAX_FILE_BYTES, MAX_PACKAGE_BYTES = 4 << 20, 96 << 20

MOST_KEPT = 24 << 20
"""Bytes and letters of one package that are kept, since it is asked for many names."""


class PackageContents:
    """The files of one environment's packages, each package read as far as somebody asks."""

    def __init__(self, where: Sysroot) -> None:
        self._where = where
        self._folders: tuple[str, ...] = ()
        self._kept: list[str | bytes | None] = []
        self._further: Iterator[str | bytes | None] = iter(())

    def of(self, folders: tuple[str, ...]) -> Iterator[str | bytes | None]:
        """Yield the text of each file of a package and the bytes of compiled ones; None for an unreadable file or past the limit."""
        if self._folders != folders:
            self._folders, self._kept, self._further = folders, [], self._read(folders)
        kept, further = self._kept, self._further
        yield from kept
        room = MOST_KEPT - sum(len(one or "") for one in kept)
        for one in further:
            room -= len(one or "")
            if room > 0:
                kept.append(one)
            else:
                self._folders = ()
            yield one

    def _read(self, folders: tuple[str, ...]) -> Iterator[str | bytes | None]:
        todo, left = [(folder, False) for folder in folders], MAX_PACKAGE_BYTES
        while todo:
            folder, is_library = todo.pop()
            for one in sorted(self._where.names(folder) or ()):
                path = self._where.join(folder, one)
                if one.endswith((".py", ".pyi")):
                    text = self._where.text(path, MAX_FILE_BYTES) or ""
                    left -= len(text)
                    yield text
                elif one.endswith((".so", ".pyd", ".pyc")) and (not is_library or "python" in one):
                    data = self._where.read(path, MAX_PACKAGE_BYTES) or b""
                    left -= len(data)
                    yield data or None
                elif "." not in one and one != "__pycache__" and self._where.is_folder(path):
                    todo.append((path, is_library or one == "lib"))  # torch/lib: no modules, but the one of Python
                if left < 0:
                    yield None
                    return
