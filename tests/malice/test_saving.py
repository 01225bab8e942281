"""A report that is saved while another account changes what lies there, between any two steps: nothing of others is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.common.i18n import _
from core.host import output_file
from core.model.changes import ChangeError
from tests.malice.conftest import Box, give, needs_root

pytestmark = needs_root
STEPS = ("lstat", "stat", "open", "readlink", "mkdir", "rename", "replace", "fstat")
MOST_STEPS = 400


def link(place: Path, box: Box) -> None:
    """She was first: the name leads to a file of the administrator's."""
    name = place / "report.md"
    name.unlink(missing_ok=True)
    name.symlink_to(box.root / "etc/environment")
    give(name)


def second_name(place: Path, box: Box) -> None:
    name = place / "report.md"
    name.unlink(missing_ok=True)
    name.hardlink_to(box.root / "etc/environment")


def folder(place: Path, box: Box) -> None:
    """Her folder becomes a link to the administrator's."""
    place.rename(place.with_name("away"))
    place.symlink_to(box.root / "etc")
    give(place)


def folder_above(place: Path, box: Box) -> None:
    above = place.parent
    above.rename(above.with_name("above-away"))
    above.mkdir()
    (above / place.name).symlink_to(box.root / "etc")
    give(above / place.name)
    give(above)


DEEDS: dict[str, Callable[[Path, Box], None]] = {
    "a link": link,
    "a second name": second_name,
    "the folder": folder,
    "the folder above": folder_above,
}


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("sticky", [False, True], ids=["her folder", "a shared one"])
def test_nothing_of_the_administrators_is_written_at_whatever_step_she_acts(
    box: Box, monkeypatch: pytest.MonkeyPatch, deed: str, sticky: bool
) -> None:
    if sticky and deed.startswith("the folder"):
        deed = "a link"  # in a sticky folder she can replace no folder
    name = "environment" if deed.startswith("the folder") else "report.md"
    precious, ended = box.root / "etc/environment", False
    before = precious.read_bytes()
    acted = 0
    for step in range(1, MOST_STEPS):
        top = box.root / "home/top"
        place = top / "above/place"
        place.mkdir(parents=True)
        for path in (top, top / "above", place):
            path.chmod(0o1777 if sticky and path == place else 0o755)
            if not (sticky and path == place):
                give(path)
        ended = not _saved(place / name, step, lambda at=place: DEEDS[deed](at, box), monkeypatch)
        acted += not ended
        assert precious.read_bytes() == before, f"at step {step}"
        assert precious.stat().st_uid == 0
        shutil.rmtree(top)
        if ended:
            break
    assert ended
    assert acted > 5


def _saved(path: Path, step: int, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Save, with the deed before a step; return whether that step came."""
    left = [step]

    def before(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                monkeypatch.undo()
                act()
            return real(*given, **named)

        return call

    for name in STEPS:
        monkeypatch.setattr(os, name, before(getattr(os, name)))
    try:
        output_file.write_output(path, _("A report").encode())
    except (ChangeError, OSError):
        pass
    finally:
        monkeypatch.undo()
    return left[0] <= 0
