"""The program's own folder on PATH: added once, taken away again, and not a byte besides."""

from __future__ import annotations

import pytest

from core.model.changes import Value
from core.model.path_list import PathError
from core.transaction.own_path import add_folder, remove_folder
from tests.transaction.memory_store import MemoryWriter

OURS = r"C:\Users\Zoë 猫\AppData\Local\Programs\Convalesce"
PATHS = {
    "usual": r"C:\a;%USERPROFILE%\bin",
    "ends in a semicolon": "C:\\a;",
    "an empty entry in the middle": r"C:\a;;C:\b",
    "quotes": r'"C:\a;b";C:\c',
    "only empty entries": ";;",
    "long": ";".join(rf"C:\folder number {i}" for i in range(150)),
    "other letters": r"C:\日本;C:\ü",
}
"""The last is longer than what NSIS's own string functions keep (1,024 characters)."""


@pytest.mark.parametrize("kind", ["REG_SZ", "REG_EXPAND_SZ"])
@pytest.mark.parametrize("name", PATHS)
def test_it_comes_and_goes_and_every_other_byte_stays(name: str, kind: str) -> None:
    before = Value(text=PATHS[name], kind=kind)
    store = MemoryWriter("windows", {("PATH", "user", ""): before})
    add_folder(OURS, "user", store)
    there = store.read("Path", "user", "")
    assert there is not None
    assert (there.text.split(";").count(OURS), there.kind) == (1, kind)
    assert there.text.endswith(";") == before.text.endswith(";"), "no empty entry more, and none less"
    add_folder(OURS.lower() + "\\", "user", store)
    assert store.read("Path", "user", "") == there, "it is there already"
    remove_folder(OURS, "user", store)
    assert store.read("Path", "user", "") == before
    assert store.broadcasts == 2
    remove_folder(OURS, "user", store)
    assert store.read("Path", "user", "") == before


def test_where_no_path_was_none_is_left() -> None:
    store = MemoryWriter("windows")
    add_folder(OURS, "user", store)
    assert store.read("Path", "user", "") == Value(text=OURS, kind="REG_SZ")
    remove_folder(OURS, "user", store)
    assert store.read("Path", "user", "") is None


def test_what_a_person_added_behind_it_stays() -> None:
    store = MemoryWriter("windows", {("PATH", "machine", ""): Value(text="C:\\a", kind="REG_SZ")})
    add_folder(r"C:\odd;name", "machine", store)
    written = store.read("Path", "machine", "")
    assert written is not None
    assert written.text == r'C:\a;"C:\odd;name"'
    store.write("Path", "machine", "", Value(text=written.text + ";C:\\b", kind="REG_SZ"))
    remove_folder(r"C:\odd;name", "machine", store)
    assert store.read("Path", "machine", "") == Value(text="C:\\a;C:\\b", kind="REG_SZ")


@pytest.mark.parametrize("text", ['C:\\a;"C:\\open', "C:\\x;" * 8000])
def test_a_path_that_cannot_take_it_is_left_alone(text: str) -> None:
    before = Value(text=text, kind="REG_SZ")
    store = MemoryWriter("windows", {("PATH", "user", ""): before})
    with pytest.raises(PathError):
        add_folder(OURS, "user", store)
    assert store.read("Path", "user", "") == before
    assert store.broadcasts == 0
