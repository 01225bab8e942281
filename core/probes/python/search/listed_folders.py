"""The names in folders and archives on the search path, each listed once."""

from __future__ import annotations

from core.common.patience import call_patiently
from core.probes.sysroot import Sysroot

MAX_ZIP_BYTES = 64 << 20


class Folders:
    """The listings of folders; each folder is listed once."""

    def __init__(self, where: Sysroot) -> None:
        self.where = where
        self._names: dict[str, frozenset[str] | None] = {}

    def names(self, folder: str) -> frozenset[str] | None:
        """Return the names in a folder, or the paths in an archive; None where it cannot be listed."""
        if folder not in self._names:
            found = self.where.names(folder)
            if found is None and self.where.is_file(folder):
                found = self._in_archive(folder)
            self._names[folder] = None if found is None else frozenset(found)
        return self._names[folder]

    def _in_archive(self, path: str) -> tuple[str, ...] | None:
        seen = self.where.stat(path)
        if seen is None or seen.st_size > MAX_ZIP_BYTES or not path.lower().endswith((".zip", ".egg", ".whl")):
            return None
        import zipfile  # seldom needed

        try:
            return tuple(call_patiently(_archive_names, self.where.local_path(path)))
        except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
            return None


def _archive_names(path: str) -> list[str]:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return archive.namelist()[:20_000]
