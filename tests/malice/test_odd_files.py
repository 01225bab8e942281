"""What below a folder an administrator does not own alone: it is found wherever it lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.probes.odd_files import odd_files
from tests.malice.conftest import Box, give, needs_root

pytestmark = needs_root


@pytest.fixture
def odd(box: Box) -> tuple[str, set[str]]:
    """A folder of packages, and what is odd in it."""
    site = box.root / "opt/site"
    inner = site / "a/b/caf\udce9"  # a name that is not UTF-8
    inner.mkdir(parents=True)
    for name in ("hers", "open", "ours"):
        (inner / name).write_text("")
        (inner / name).chmod(0o644)
    give(inner / "hers")
    (inner / "open").chmod(0o666)
    (site / ".lock").write_text("")
    (site / ".lock").chmod(0o666)  # uv's, in a --target folder: nothing loads it
    (inner / ".lock").symlink_to(box.eve)
    (site / "link").symlink_to(box.eve)
    for folder in (site, *(f for f in site.rglob("*") if f.is_dir() and not f.is_symlink())):
        folder.chmod(0o755)
    return str(site), {str(p) for p in (inner / "hers", inner / "open", site / "link", inner / ".lock")}


def test_what_others_can_change_is_found(odd: tuple[str, set[str]]) -> None:
    folder, wanted = odd
    assert set(odd_files(folder)) == wanted
    assert not set(odd_files(str(Path(folder, "a/b/none"))))
