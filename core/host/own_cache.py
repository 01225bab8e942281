"""The account's cache between runs: files that may be lost at any time, in a folder that nobody else can change."""

from __future__ import annotations

import os
from contextlib import suppress

import platformdirs

from core.common.home import NOWHERE, below_home
from core.host import ownership, provenance
from core.host.safe_folder import make_folders, open_folder
from core.model.changes import ChangeError


def cache_folder() -> str:
    """Return the account's cache folder, which may not exist yet; empty for an account without a home."""
    usual = below_home(lambda: platformdirs.user_cache_path("convalesce", appauthor=False))
    above = (usual.parent, usual.parent.parent)
    # pathlib's raises if the home folder is another account's.
    if usual == NOWHERE or not any(map(os.path.isdir, above)):
        return ""
    return os.path.realpath(usual / "reads")


def read_cached(name: str, limit: int) -> bytes:
    """Return a cached file's bytes; empty if it is missing, too long, a link, or if somebody else could have written it."""
    folder = cache_folder()
    with suppress(OSError, ChangeError):
        if folder and _is_own(os.path.join(folder, name)):  # noqa: PTH118 - plain text
            with open_folder(folder) as inside:
                return inside.read(name, limit) or b""
    return b""


def write_cached(name: str, data: bytes) -> None:
    """Cache a file, completely or not at all; do nothing if that is impossible, or if somebody else could change it."""
    folder = cache_folder()
    with suppress(OSError, ChangeError):
        if not folder or not _is_own(folder):
            return
        make_folders(folder, 0o700)
        if not _is_own(folder):
            return
        with open_folder(folder) as inside:
            beside = f".{name}.new"
            inside.remove(beside)
            with os.fdopen(inside.create(beside, 0o600), "wb") as file:
                file.write(data)
            inside.rename(beside, name)


def _is_own(path: str) -> bool:
    return not ownership.first_loose(path, provenance.this_person().trusted)
