"""Which star imports are left to be asked for a name, once a table of their words is made."""

import pytest

from core.probes.python.text.starred_words import MOST_ASKED, Behind, StarredWords

MODULES = {
    "pack.a": Behind("def first(): pass\n", [], (), is_closed=True),
    "pack.b": Behind("from .c import *\n", ["pack.c"], ("part",), is_closed=True),
    "pack.c": Behind("second = 2\nfrom .b import *\n", ["pack.b"], (), is_closed=True),
    "pack.open": Behind("globals()['third'] = 3\n", [], (), is_closed=False),
}
STARS = ["pack.a", "pack.open", "pack.b"]


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("first", ["pack.a", "pack.open"]),
        ("second", ["pack.b", "pack.open"]),  # by a star of its own, which leads back to it
        ("part", ["pack.b", "pack.open"]),  # a module in its folder
        ("globals", ["pack.open"]),  # spelt there, and open: once
        ("other", ["pack.open"]),  # who has names that no text spells is always asked
    ],
)
def test_who_surely_lacks_a_name_is_not_asked(name: str, left: list[str]) -> None:
    words = StarredWords(MODULES.__getitem__)
    for _time in range(MOST_ASKED):
        assert words.left("pack/__init__.py", STARS, name) == STARS
    assert words.left("pack/__init__.py", STARS, name) == left
