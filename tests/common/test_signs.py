"""The program's signs in code pages: the nearest that each has, and no other letter changed."""

from __future__ import annotations

import pytest

from core.common.signs import with_signs_of

TEXT = "✓ ok\n  \x1b[31m✗\x1b[0m bad\n· note\n    – no\n ███░│\n"
SHOWN = {
    "cp437": "√ ok\n  \x1b[31mx\x1b[0m bad\n· note\n    - no\n ███░│\n",
    "cp1252": "v ok\n  \x1b[31m×\x1b[0m bad\n· note\n    – no\n ###.|\n",
    "cp936": "√ ok\n  \x1b[31m×\x1b[0m bad\n· note\n    – no\n ███.│\n",
    "cp65001": TEXT,
    "utf-8": TEXT,
    "ascii": "v ok\n  \x1b[31mx\x1b[0m bad\n. note\n    - no\n ###.|\n",
    "cp99999": "v ok\n  \x1b[31mx\x1b[0m bad\n. note\n    - no\n ###.|\n",
}


@pytest.mark.parametrize("page", SHOWN)
def test_each_page_gets_the_nearest_signs(page: str) -> None:
    assert with_signs_of(TEXT, page) == SHOWN[page]


@pytest.mark.parametrize("page", ["cp437", "cp1252", "cp936"])
def test_what_is_shown_is_in_the_page(page: str) -> None:
    assert SHOWN[page].encode(page).decode(page) == SHOWN[page]


@pytest.mark.parametrize("text", ["C:\\a – b\\x·y ✓", "–b", "Zoë 猫", "\ud800", ""])
def test_other_letters_stay(text: str) -> None:
    assert with_signs_of(text, "ascii") == text
