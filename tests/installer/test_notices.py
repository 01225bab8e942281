"""The notices name what the locked requirements bring, with a text for each licence."""

from __future__ import annotations

import re
import sys

import pytest

from installer import notices
from installer.parts import PYPI, packages
from tests.installer import ROOT

LOCKED = dict(
    re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / "app.txt").read_text(encoding="utf-8"), re.MULTILINE)
)


def test_every_locked_package_has_a_licence_that_somebody_looked_up() -> None:
    assert set(PYPI) == set(LOCKED)


def test_the_notices_name_the_locked_versions() -> None:
    said = (notices.FOLDER / "third-party.txt").read_text(encoding="utf-8")
    for name, version in LOCKED.items():
        assert re.search(rf"^ +{re.escape(name)} {re.escape(version)} +{re.escape(PYPI[name].licence)}$", said, re.M), (
            f"{name} {version}: run python -m installer.notices"
        )


@pytest.mark.skipif(sys.platform == "win32", reason="the notices are made on Linux; their test above holds everywhere")
def test_the_notices_are_what_their_maker_writes() -> None:
    parts = packages()
    assert (notices.FOLDER / "third-party.txt").read_text(encoding="utf-8") == notices.summary(parts)
    for part in parts:
        text = (notices.FOLDER / f"{part.name}.txt") if part.name not in notices.WITHOUT_TEXT else None
        assert text is None or text.read_text(encoding="utf-8") == notices.text(part)


def test_each_licence_has_its_text() -> None:
    texts = {f.stem: f.read_text(encoding="utf-8") for f in notices.FOLDER.glob("*.txt")}
    for name in (set(LOCKED) - {"pyside6-essentials", "shiboken6"}) | {"lgpl-3.0", "gpl-3.0", "cpython", "icu"}:
        assert len(texts[name]) > 500, name
    assert texts["convalesce"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in texts["lgpl-3.0"]
    assert "Redistribution and use" in texts["nvidia-ml-py"]
