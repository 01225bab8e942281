"""The page about the house is true: its picture is drawn from the contracts, and what it names is there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from installer.generate import architecture

ROOT = Path(__file__).resolve().parents[1]
NAMED = re.compile(r"`((?:core|gui|resources|tests|installer|docs)/[\w./-]+|[\w/]+\.(?:py|json))`")
PAGES = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"]


def test_the_picture_is_drawn_from_the_contracts() -> None:
    assert architecture.page() == architecture.PAGE.read_text(encoding="utf-8"), "run: python3 dev.py architecture"
    assert "```text\n9 " in architecture.page()


def test_every_folder_stands_on_one_floor() -> None:
    shown = re.findall(r"^[\d ]  (\S+)", architecture.picture(), re.MULTILINE)
    folders = [f"core/{p.parent.name}/" for p in (ROOT / "core").glob("*/__init__.py")]
    assert sorted(shown) == sorted(["core/__main__.py", "gui/", "resources/", *folders])


@pytest.mark.parametrize("top", ["core", "gui"])
def test_three_modules_with_one_prefix_are_a_folder(top: str) -> None:
    prefixes = Counter((p.parent, p.stem.partition("_")[0]) for p in (ROOT / top).rglob("*.py") if p.stem[0] != "_")
    assert sum(prefixes.values()) > 30
    assert {where: count for where, count in prefixes.items() if count >= 3} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_file_and_folder_that_a_page_names_is_there(page: Path) -> None:
    named = set(NAMED.findall(page.read_text(encoding="utf-8")))
    assert len(named) > 10
    named = {n for n in named if "/fr" not in n}  # the language that an example makes
    missing = {n for n in named if not (ROOT / n).exists() and ("/" in n or not any_named(n))}
    assert missing == set()


def any_named(name: str) -> bool:
    return any(True for room in ("core", "resources") for _ in (ROOT / room).rglob(name))
