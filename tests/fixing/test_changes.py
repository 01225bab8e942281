"""Changes are data: they round-trip, refuse nonsense, preview themselves, and undo exactly."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model import changes, path_list
from core.model.changes import Change, EditPath, FileItem, FileSet, PersistentScope, SetVariable, Value
from core.model.findings import Fix
from core.model.path_list import PathError
from core.transaction.preconditions import _both_scopes

SEVERAL: tuple[Change, ...] = (
    SetVariable(name="CUDA_PATH", scope="user", before=Value(text="C:\\gone", kind="REG_SZ"), after=None),
    changes.insert_entry(
        Value(text="C:\\a;;D:\\b", kind="REG_SZ"), '"C:\\x;y"', 1, "windows", name="PATH", scope="user"
    ),
    FileSet(
        title="cuDNN",
        folders=("/opt/cudnn",),
        items=(FileItem(path="/opt/cudnn/libcudnn.so.9", after="-> libcudnn.so.9.1"), FileItem(path="/x", text="")),
    ),
)


def test_a_fix_with_every_kind_of_change_round_trips_through_json() -> None:
    fix = Fix(title="t", changes=SEVERAL)
    assert msgspec.json.decode(msgspec.json.encode(fix), type=Fix) == fix


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'[{"change": "format"}]',
        b'[{"name": "PATH", "scope": "user"}]',
        b'[{"change": "variable", "name": "PATH", "scope": "galaxy"}]',
        b'[{"change": "variable", "name": 7, "scope": "user"}]',
        b'[{"change": "files", "title": "t", "items": [{"path": null}]}]',
        b'[{"change": "path", "name": "PATH", "scope": "user", "system": "windows", "entry": "x", "old": "0", "new": null}]',
    ],
)
def test_hostile_json_is_no_changes(data: bytes) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError, RecursionError)):
        msgspec.json.decode(data, type=tuple[Change, ...])


def test_every_inverse_of_an_inverse_is_the_change() -> None:
    assert [c.inverse().inverse() for c in SEVERAL[:2]] == list(SEVERAL[:2])


def test_the_preview_shows_what_was_and_what_will_be() -> None:
    variable, path, files = (c.lines() for c in SEVERAL)
    assert variable == ("  CUDA_PATH, for this user", "- C:\\gone", "+ (not set)")
    assert path == ("  PATH, for this user", "  C:\\a", '+ "C:\\x;y"', "  ", "  D:\\b")
    assert "+ /opt/cudnn (folder)" in files
    assert "+ /opt/cudnn/libcudnn.so.9 -> libcudnn.so.9.1" in files


@pytest.mark.parametrize(("scope", "nothing"), [("environment", "(unchanged)"), ("user", "(not set)")])
def test_the_preview_says_what_no_value_means(scope: PersistentScope, nothing: str) -> None:
    assert f"- {nothing}" in SetVariable(name="X", scope=scope, after=Value(text="1")).lines()


def test_the_preview_cannot_be_painted_over_by_control_characters() -> None:
    change = SetVariable(name="X", scope="user", after=Value(text="a\x1b[2K\u202eb"))
    assert "\x1b" not in "".join(change.lines())
    assert "\u202e" not in "".join(change.lines())


# --- search paths ----------------------------------------------------------------------------------------------

FOLDERS = {
    "windows": [
        "C:\\CUDA\\bin", "C:\\CUDA\\bin2", "c:\\cuda\\BIN", "C:\\CUDA\\bin\\", "%CUDA_PATH%\\bin", '"C:\\a;b\\bin"', "",
        " ", ".", "C:", "C:\\", "C:/x/y/", '"C:\\open', "\\\\server\\share", "C:\\日本 [1]", "%PATH%",
    ],
    "linux": ["/opt/cuda/bin", "/opt/cuda/bin2", "/OPT/cuda/bin", "/opt/cuda/bin/", "", ".", "/", "$HOME/bin", "/a b", "/ü;x"],
}  # fmt: skip
systems = st.sampled_from(["windows", "linux"])


@st.composite
def values(draw: st.DrawFn) -> tuple[str, Value | None]:
    system = draw(systems)
    if draw(st.integers(0, 9)) == 0:
        return system, None
    entries = draw(st.lists(st.sampled_from(FOLDERS[system]), max_size=8))
    if draw(st.integers(0, 4)) == 0:
        length = draw(st.sampled_from([1_024, 2_047, 8_191, 30_000]))
        entries += [f"C:\\{i:06}\\bin" for i in range(length // 15)]
    text = path_list.join_entries(entries, system)
    return system, Value(
        text=text, kind=draw(st.sampled_from(["REG_SZ", "REG_EXPAND_SZ"])) if system == "windows" else ""
    )


@given(values(), st.data())
def test_split_and_join_lose_no_byte(value: tuple[str, Value | None], data: st.DataObject) -> None:
    system, before = value
    text = before.text if before else data.draw(st.text())
    assert path_list.join_entries(path_list.split_entries(text, system), system) == text


LIBRARIES = st.lists(st.sampled_from(["/a", "/b", "", "/opt//cuda/", "."]), min_size=1, max_size=6)


@given(LIBRARIES, st.data())
def test_a_semicolon_separates_in_ld_library_path_too_and_every_other_byte_stays(
    entries: list[str], data: st.DataObject
) -> None:
    text = "".join(f"{e}{data.draw(st.sampled_from(':;'))}" for e in entries)[:-1]
    parts = path_list.split_entries(text, "linux", "LD_LIBRARY_PATH")
    assert parts == (entries if text else [])
    assert path_list.searched_entries(text, "linux", "LD_LIBRARY_PATH") == parts
    place = data.draw(st.integers(0, len(entries) - 1))
    rest = entries[:place] + entries[place + 1 :]
    if rest in ([], [""]):
        return  # an empty text has no entry
    before = Value(text=text)
    change = changes.remove_entry(before, place, "linux", name="LD_LIBRARY_PATH", scope="user")
    assert change.problem() == ""
    assert path_list.split_entries(change.after.text, "linux", "LD_LIBRARY_PATH") == rest
    assert change.rebased_on(before) == change.after
    assert change.inverse().rebased_on(change.after) == before
    theirs = Value(text=path_list.insert_in_path(change.after.text, "/theirs", 0, "linux", name="LD_LIBRARY_PATH"))
    undone = change.inverse().rebased_on(theirs)
    assert sorted(path_list.split_entries(undone.text, "linux", "LD_LIBRARY_PATH")) == sorted([*parts, "/theirs"])


def test_only_ld_library_path_has_two_separators() -> None:
    assert path_list.split_entries("/a;b:/c", "linux") == ["/a;b", "/c"]
    assert path_list.split_entries("/a;b:/c", "linux", "LIBRARY_PATH") == ["/a;b", "/c"]
    assert path_list.split_entries("/a:b;/c", "windows", "LD_LIBRARY_PATH") == ["/a:b", "/c"]
    value = "/a;/b;/c:/d"
    assert path_list.remove_from_path(value, "/b", 1, "linux", name="LD_LIBRARY_PATH") == "/a;/c:/d"
    assert path_list.insert_in_path(value, "/x", 4, "linux", name="LD_LIBRARY_PATH") == "/a;/b;/c:/d:/x"
    assert path_list.move_in_path(value, "/d", 3, 0, "linux", name="LD_LIBRARY_PATH") == "/d:/a;/b;/c"
    with pytest.raises(PathError):
        path_list.insert_in_path(value, "/x;/y", 0, "linux", name="LD_LIBRARY_PATH")


def any_edit(system: str, before: Value | None, data: st.DataObject) -> EditPath:
    entries = path_list.split_entries(before.text, system) if before else []
    kind = data.draw(st.sampled_from(["insert", "move", "remove"])) if entries else "insert"
    place = data.draw(st.integers(0, len(entries) - (kind != "insert")))
    if kind == "insert":
        entry = data.draw(st.sampled_from([f for f in FOLDERS[system] if f.strip() and f.count('"') != 1]))
        return changes.insert_entry(before, entry, place, system, name="PATH", scope="user")
    if kind == "remove":
        return changes.remove_entry(before, place, system, name="PATH", scope="user")
    to = data.draw(st.integers(0, len(entries) - 1))
    return changes.move_entry(before, place, to, system, name="PATH", scope="user")


@given(values(), st.data())
def test_apply_touches_only_the_entry_and_undo_is_the_identity(
    value: tuple[str, Value | None], data: st.DataObject
) -> None:
    system, before = value
    try:
        change = any_edit(system, before, data)
    except PathError:
        return
    old = path_list.split_entries(before.text, system) if before else []
    new = path_list.split_entries(change.after.text, system)
    assert change.problem() == ""
    if change.old is None:
        assert new[change.new] == change.entry
        assert new[: change.new] + new[change.new + 1 :] == old
    elif change.new is None:
        assert old[: change.old] + old[change.old + 1 :] == new
    else:
        assert sorted(old) == sorted(new)
        assert new[change.new] == change.entry == old[change.old]
    if before:
        assert change.after.kind == before.kind
    assert change.rebased_on(before) == change.after
    assert change.inverse().rebased_on(change.after) == before


@given(values(), st.data())
def test_undo_spares_what_others_did_since(value: tuple[str, Value | None], data: st.DataObject) -> None:
    system, before = value
    try:
        change = any_edit(system, before, data)
        other = "C:\\Others\\bin" if system == "windows" else "/others/bin"
        text = change.after.text
        count = len(path_list.split_entries(text, system))
        theirs = path_list.insert_in_path(text, other, data.draw(st.integers(0, count)), system)
    except PathError:
        return
    undone = change.inverse().rebased_on(Value(text=theirs, kind=change.after.kind))
    assert undone is not None
    assert undone.kind == change.after.kind
    rest = path_list.split_entries(undone.text, system)
    assert rest.count(other) == 1
    rest.remove(other)
    expected = path_list.split_entries(before.text, system) if before else []
    assert sorted(rest) == sorted(expected)
    if change.new is not None and change.old is None:
        assert rest == expected or expected.count(change.entry)


def test_undo_leaves_a_value_alone_from_which_others_took_the_entry() -> None:
    change = changes.insert_entry(Value(text="/a:/b"), "/x", 0, "linux", name="PATH", scope="user")
    assert change.inverse().rebased_on(Value(text="/b:/c")) == Value(text="/b:/c")
    moved = changes.move_entry(Value(text="/a:/b:/c"), 2, 0, "linux", name="PATH", scope="user")
    assert moved.inverse().rebased_on(Value(text="/a:/b")) == Value(text="/a:/b")


def test_undoing_a_removal_puts_the_entry_beside_its_old_neighbour() -> None:
    change = changes.remove_entry(Value(text="/a:/x:/b"), 1, "linux", name="PATH", scope="user")
    assert change.inverse().rebased_on(Value(text="/new:/a:/b:/newer")) == Value(text="/new:/a:/x:/b:/newer")
    assert change.inverse().rebased_on(Value(text="/new")) == Value(text="/new:/x")


@pytest.mark.parametrize(
    ("removed", "value", "undone"),
    [
        (1, "C:\\a;C:\\others", 'C:\\a;C:\\others;"C:\\open'),  # back at its place it would swallow theirs
        (1, "C:\\a", 'C:\\a;"C:\\open'),
        (0, '"C:\\open', 'C:\\a;"C:\\open'),
        (0, 'C:\\others;"C:\\open', 'C:\\others;C:\\a;"C:\\open'),
        (0, ';"C:\\other;C:\\open', ';C:\\a;"C:\\other;C:\\open'),
    ],
)
def test_undoing_a_removal_beside_an_open_quote_swallows_nothing(removed: int, value: str, undone: str) -> None:
    before = Value(text='C:\\a;"C:\\open', kind="REG_SZ")
    change = changes.remove_entry(before, removed, "windows", name="PATH", scope="user")
    assert change.inverse().rebased_on(Value(text=value, kind="REG_SZ")) == Value(text=undone, kind="REG_SZ")


@pytest.mark.parametrize(
    ("system", "one", "two", "same"),
    [
        ("windows", "C:\\CUDA\\bin", "c:/cuda/BIN\\", True),
        ("windows", '"C:\\a b\\bin"', "C:\\a b\\bin", True),
        ("windows", "C:\\CUDA\\bin", "C:\\CUDA\\bin2", False),
        ("windows", "%CUDA%\\bin", "C:\\CUDA\\bin", False),
        ("windows", "C:\\", "C:", True),
        ("linux", "/opt/bin", "/opt/bin/", True),
        ("linux", "/opt/bin", "/opt/BIN", False),
        ("linux", "/opt/bin", "/opt/bin2", False),
        ("linux", "/", "", False),
        ("linux", "/opt//cuda", "/opt/cuda", True),
        ("linux", "//opt/./cuda/", "/opt/cuda", True),
        ("linux", "", ".", False),
        ("windows", "C:\\CUDA\\\\bin", " C:\\CUDA\\.\\bin", True),
        ("windows", "", ".", False),
    ],
)
def test_which_entries_name_the_same_folder(system: str, one: str, two: str, same: bool) -> None:
    assert (path_list.entry_key(one, system) == path_list.entry_key(two, system)) is same


@pytest.mark.parametrize(
    ("system", "value", "entry", "index"),
    [
        ("windows", "C:\\a", "", 0),
        ("windows", "C:\\a", "C:\\b;C:\\c", 0),
        ("windows", "C:\\a", '"C:\\b', 0),
        ("windows", '"C:\\a', "C:\\b", 1),
        ("windows", "C:\\a", "C:\\b", 2),
        ("windows", "C:\\a", "C:\\b\n", 0),
        ("linux", "/a", "/b:/c", 0),
        ("linux", "/a", "/b\0", 0),
        ("linux", "/a", "/b", -1),
    ],
)
def test_an_entry_that_would_do_harm_is_refused(system: str, value: str, entry: str, index: int) -> None:
    with pytest.raises(PathError):
        path_list.insert_in_path(value, entry, index, system)


@pytest.mark.parametrize(
    ("system", "length", "refused", "notes"),
    [
        ("windows", 1_024, False, 0),
        ("windows", 1_025, False, 1),
        ("windows", 2_048, False, 2),
        ("windows", 8_192, False, 3),
        ("windows", 32_766, False, 3),
        ("windows", 32_767, True, 3),
        ("linux", 32_767, False, 0),
        ("linux", 131_066, False, 0),
        ("linux", 131_067, True, 0),
    ],
)
def test_lengths(system: str, length: int, refused: bool, notes: int) -> None:
    assert bool(path_list.too_long("PATH", "x" * length, system)) is refused
    assert len(path_list.length_notes("PATH", "x" * length, system)) == notes


def test_the_length_limit_of_linux_is_the_real_one() -> None:
    """execve takes a variable at the limit and refuses one beyond it."""
    import subprocess

    for extra, works in ((0, True), (1, False)):
        value = "x" * (131_071 - len("PATHLIKE=") + extra)
        assert (path_list.too_long("PATHLIKE", value, "linux") == "") is works
        try:
            subprocess.run(["/bin/true"], env={"PATHLIKE": value}, check=True)
            ran = True
        except OSError:
            ran = False
        assert ran is works


def test_a_plan_that_does_not_do_what_it_shows_is_found_out() -> None:
    good = changes.insert_entry(Value(text="/a", kind=""), "/b", 1, "linux", name="PATH", scope="user")
    evil = msgspec.structs.replace(good, after=Value(text="/a:/b:/evil"))
    assert good.problem() == ""
    assert "not its old value" in evil.problem()
    both = msgspec.structs.replace(good, new=None)
    assert both.problem()


ENDS = "C:\\a;C:\\b;"
"""Many installers leave a PATH like this."""


def test_a_path_that_ends_in_a_semicolon_gains_no_empty_entry() -> None:
    before = Value(text=ENDS, kind="REG_EXPAND_SZ")
    last = changes.insert_entry(before, "C:\\new", 3, "windows", name="Path", scope="user")
    assert (last.new, last.after.text) == (2, "C:\\a;C:\\b;C:\\new;")
    moved = changes.move_entry(before, 0, 2, "windows", name="Path", scope="user")
    assert (moved.new, moved.after.text) == (1, "C:\\b;C:\\a;")
    for change in (last, moved):
        assert change.problem() == change.inverse().problem() == ""
        assert change.inverse().rebased_on(change.after) == before
    for to in (-1, 3, 9):
        with pytest.raises(PathError):
            changes.move_entry(before, 0, to, "windows", name="Path", scope="user")
    nothing = changes.move_entry(Value(text="/a::/b"), 1, 2, "linux", name="PATH", scope="user")
    assert (nothing.new, nothing.after.text) == (2, "/a:/b:")
    alone = changes.insert_entry(Value(text=";", kind="REG_SZ"), "C:\\new", 2, "windows", name="Path", scope="user")
    assert alone.after.text == ";C:\\new;"
    assert changes.remove_entry(before, 1, "windows", name="Path", scope="user").after.text == "C:\\a;"


def test_an_undo_puts_nothing_behind_the_last_semicolon() -> None:
    before = Value(text="C:\\x;C:\\old", kind="REG_SZ")
    taken = changes.remove_entry(before, 1, "windows", name="Path", scope="user")
    theirs = Value(text="C:\\y;", kind="REG_SZ")
    assert taken.inverse().rebased_on(theirs).text == "C:\\y;C:\\old;"


@given(values(), st.data())
def test_no_edit_of_windows_path_makes_an_empty_entry_within(
    value: tuple[str, Value | None], data: st.DataObject
) -> None:
    system, before = value
    try:
        change = any_edit(system, before, data)
    except PathError:
        return
    if system == "windows" and change.entry:
        within = [path_list.split_entries(v.text, system)[:-1].count("") if v else 0 for v in (before, change.after)]
        assert within[1] <= within[0]


@pytest.mark.parametrize(("length", "fits"), [(32_766 - 5, True), (32_766 - 4, False)])
def test_the_two_paths_of_windows_fit_into_one_variable_together(length: int, fits: bool) -> None:
    class Store:
        """The machine's PATH has four characters."""

        system = "windows"

        def read(self, _name: str, _scope: str, _at: str) -> Value:
            return Value(text="C:\\a")

    change = EditPath(
        name="PATH", scope="user", system="windows", entry="x", old=None, new=0, after=Value(text="x" * length)
    )
    assert bool(_both_scopes(change, Store())) is not fits
