"""What PDM's own start-up code does to sys.path: a project's ``__pypackages__`` comes before the environment's packages.

Source: pdm/pep582/sitecustomize.py, which ``pdm --pep582`` puts on PYTHONPATH.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.model.facts import SearchEntry, path_text
from core.probes.sysroot import Sysroot

OF_PACKAGES = ("site-packages", "user site")
"""Origins of the entries before which the project's folder is put."""
MOST_FOLDERS = 30
"""Folders above the program's that are looked into."""


def is_of_pdm(text: str) -> bool:
    """Whether start-up code is PDM's."""
    return "__pypackages__" in text and "PEP582_PACKAGES" in text


def with_own_packages(  # noqa: PLR0917 - what the start-up code goes by
    entries: Iterable[SearchEntry], file: str, release: str, folder: str, given: str, where: Sysroot
) -> list[SearchEntry]:
    """Return sys.path after PDM's start-up code ``file``; ``given``: the value of PEP582_PACKAGES; ``release``: 3.11."""
    own = where.parent(file)
    out = [e for e in entries if e.path != own]
    found = where.join(given, "lib") if given else _nearest(folder, release, where)
    if not found:
        return out
    at = next((n for n, e in enumerate(out) if e.origin in OF_PACKAGES), len(out))
    out.insert(at, SearchEntry(path=path_text(found), origin="pth", source=path_text(file)))
    return out


def _nearest(folder: str, release: str, where: Sysroot) -> str:
    for _depth in range(MOST_FOLDERS):
        if where.is_folder(place := where.join(folder, "__pypackages__", release, "lib")):
            return place
        if (above := where.parent(folder)) == folder or not folder:
            break
        folder = above
    return ""
