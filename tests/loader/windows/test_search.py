r"""Each rule of Windows' DLL search, named after it, on C:\ trees under a temporary folder; runs on either system."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.loader.files import LONG_PATH_CHARACTERS, extended_path, path_under_root
from core.loader.windows.policy import DLL_LOAD_DIR, SYSTEM32, USER_DIRS, policy_folders
from core.loader.windows.search import (
    DllPolicy,
    DllSearch,
    conda_folders,
    cpython_policy,
    dll_closure,
    plain_policy,
)
from core.model.facts import How, Resolution
from tests.loader import build

APP, SYS, WIN, CUR, ONE, TWO = (
    r"C:\app",
    r"C:\Windows\System32",
    r"C:\Windows",
    r"C:\here",
    r"C:\one",
    r"C:\two",
)


class Drive:
    """A C: drive in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)

    def put(self, path: str, content: bytes | None = None) -> None:
        """Write a file; a small 64-bit DLL when nothing is said."""
        file = Path(path_under_root(self.root, path))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(build.pe(("kernel32.dll",)) if content is None else content)

    def everywhere(self, name: str) -> None:
        """Put a DLL into every folder that a search can reach."""
        for folder in (APP, SYS, WIN + r"\System", WIN, CUR, ONE, TWO, r"C:\set", r"C:\added", r"C:\loading"):
            self.put(f"{folder}\\{name}")

    def plain(self, path: str = f"{ONE};{TWO}") -> DllPolicy:
        return plain_policy(APP, path, current=CUR, root=self.root)

    def python(self, path: str = f"{ONE};{TWO}", added: tuple[str, ...] = ()) -> DllPolicy:
        return cpython_policy(APP, path, added=added, root=self.root)


@pytest.fixture
def drive(tmp_path: Path) -> Drive:
    return Drive(tmp_path)


def hows(found: Resolution) -> list[How]:
    return [a.how for a in found.found]


def test_standard_order(drive: Drive) -> None:
    drive.everywhere("x.dll")
    found = DllSearch(drive.plain()).resolve("x.dll")
    assert hows(found) == [How.APPLICATION, How.SYSTEM, How.SYSTEM16, How.WINDOWS, How.CURRENT, How.PATH, How.PATH]
    assert found.attempts[-1].path == r"C:\two\x.dll"
    assert found.attempts[-1].via == r"PATH: C:\two"


def test_set_dll_directory_comes_second_and_takes_the_current_folder_out(drive: Drive) -> None:
    drive.everywhere("x.dll")
    found = hows(DllSearch(replace(drive.plain(), set_directory=r"C:\set")).resolve("x.dll"))
    assert found[:3] == [How.APPLICATION, How.SET_DLL_DIRECTORY, How.SYSTEM]
    assert How.CURRENT not in found


def test_an_empty_set_dll_directory_takes_the_current_folder_out(drive: Drive) -> None:
    drive.everywhere("x.dll")
    found = hows(DllSearch(replace(drive.plain(), set_directory="")).resolve("x.dll"))
    assert {How.CURRENT, How.SET_DLL_DIRECTORY}.isdisjoint(found)


def test_python_ignores_path_and_the_current_folder(drive: Drive) -> None:
    drive.everywhere("x.dll")
    policy = replace(drive.python(added=(r"C:\added",)), loading=r"C:\loading", current=CUR)
    assert hows(DllSearch(policy).resolve("x.dll")) == [How.DLL_FOLDER, How.APPLICATION, How.DLL_DIRECTORY, How.SYSTEM]


def test_set_dll_directory_counts_among_the_user_folders(drive: Drive) -> None:
    drive.everywhere("x.dll")
    policy = replace(drive.python(added=(r"C:\added",)), set_directory=r"C:\set")
    assert hows(DllSearch(policy).resolve("x.dll"))[1:3] == [How.DLL_DIRECTORY, How.SET_DLL_DIRECTORY]


def test_single_search_flags(drive: Drive) -> None:
    drive.everywhere("x.dll")
    policy = replace(drive.python(added=(r"C:\added",)), loading=r"C:\loading")
    assert hows(DllSearch(replace(policy, flags=SYSTEM32)).resolve("x.dll")) == [How.SYSTEM]
    assert hows(DllSearch(replace(policy, flags=USER_DIRS | DLL_LOAD_DIR)).resolve("x.dll")) == [
        How.DLL_FOLDER,
        How.DLL_DIRECTORY,
    ]


def test_altered_search_path_puts_the_dlls_folder_for_the_applications(drive: Drive) -> None:
    drive.everywhere("x.dll")
    policy = replace(drive.plain(), altered=True, loading=r"C:\loading")
    found = DllSearch(policy).resolve("x.dll")
    assert hows(found)[0] is How.DLL_FOLDER
    assert How.APPLICATION not in hows(found)


def test_a_bare_name_asked_for_later_sees_path_but_no_added_folder(drive: Drive) -> None:
    drive.put(rf"{ONE}\cudnn_ops64_9.dll")
    drive.put(r"C:\added\cudnn_ops64_9.dll")
    policy = drive.python(added=(r"C:\added",))
    assert hows(DllSearch(policy).resolve("cudnn_ops64_9.dll")) == [How.DLL_DIRECTORY]
    assert hows(DllSearch(policy.for_bare_name()).resolve("cudnn_ops64_9.dll")) == [How.PATH]


def test_condas_python_searches_its_own_folders_whatever_variables_say(drive: Drive) -> None:
    drive.put(r"C:\conda\Library\bin\x.dll")
    policy = cpython_policy(APP, ONE, added=conda_folders(r"C:\conda"), root=drive.root)
    assert hows(DllSearch(policy).resolve("x.dll")) == [How.DLL_DIRECTORY]
    assert DllSearch(policy.for_bare_name()).resolve("x.dll").winner is None


def test_known_dlls_come_from_system32_alone(drive: Drive) -> None:
    drive.everywhere("KERNEL32.dll")
    found = DllSearch(drive.plain()).resolve("KERNEL32.dll")
    assert [(a.how, a.path) for a in found.attempts] == [(How.KNOWN_DLL, r"C:\Windows\System32\KERNEL32.dll")]


@pytest.mark.parametrize("name", ["api-ms-win-crt-runtime-l1-1-0.dll", "EXT-MS-WIN-x-l1-1-0.dll"])
def test_api_sets_are_never_missing(drive: Drive, name: str) -> None:
    found = DllSearch(drive.python()).resolve(name)
    assert hows(found) == [How.API_SET]


def test_a_loaded_name_is_taken_from_where_it_lies(drive: Drive) -> None:
    drive.everywhere("x.dll")
    found = DllSearch(drive.plain()).resolve("X.dll", loaded={"x.dll": r"D:\elsewhere\x.dll"})
    assert [(a.how, a.path) for a in found.attempts] == [(How.LOADED, r"D:\elsewhere\x.dll")]


def test_letter_case_does_not_matter(drive: Drive) -> None:
    drive.put(r"C:\APP\CuDNN64_9.DLL")
    found = DllSearch(drive.plain()).resolve("cudnn64_9.dll")
    assert found.winner
    assert found.winner.path == r"C:\app\cudnn64_9.dll"


def test_a_name_without_extension_gets_dll(drive: Drive) -> None:
    drive.put(rf"{APP}\x.dll")
    assert DllSearch(drive.plain()).resolve("x").winner
    assert DllSearch(drive.plain()).resolve("x.").winner is None


def test_a_path_is_taken_as_it_is(drive: Drive) -> None:
    drive.everywhere("x.dll")
    found = DllSearch(drive.plain()).resolve(rf"{TWO}\x.dll")
    assert [(a.how, a.path) for a in found.attempts] == [(How.DIRECT, r"C:\two\x.dll")]


PATHS = {
    "quoted": (rf'"{ONE}";{TWO}', "quotes"),
    "unexpanded": (rf"%NOWHERE%\bin;{TWO}", "not expanded"),
    "relative": (rf"bin;{TWO}", "relative"),
    "no drive": (rf"\one;{TWO}", "relative"),
}


@pytest.mark.parametrize("name", PATHS)
def test_odd_entries_of_path_are_remarked(drive: Drive, name: str) -> None:
    drive.put(rf"{ONE}\x.dll")
    drive.put(rf"{TWO}\x.dll")
    path, words = PATHS[name]
    odd, good = DllSearch(replace(drive.plain(path), current="")).resolve("x.dll").attempts[-2:]
    assert odd.outcome == "not there"
    assert words in odd.detail
    assert good.outcome == "found"


def test_empty_and_double_entries_of_path_count_for_nothing(drive: Drive) -> None:
    policy = drive.plain(rf";;{ONE};{ONE}\;C:\ONE; ;{TWO};")
    assert [place.folder for place in policy_folders(policy) if place.how is How.PATH] == [ONE, TWO]


def test_network_folders_are_not_asked(drive: Drive) -> None:
    found = DllSearch(drive.plain(r"\\server\share")).resolve("x.dll")
    assert "network" in found.attempts[-1].detail


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (build.pe(machine=0x14C), "wrong architecture"),
        (build.pe(machine=0xAA64), "wrong architecture"),
        (b"", "damaged"),
        (b"MZ", "damaged"),
        (build.pe(("a.dll",))[:700], "damaged"),
        (b"\x7fELF" + bytes(100), "damaged"),
        (b"<html>not found</html>", "damaged"),
    ],
)
def test_the_first_file_of_that_name_is_taken_whatever_it_is(drive: Drive, content: bytes, outcome: str) -> None:
    drive.put(rf"{ONE}\x.dll", content)
    drive.put(rf"{TWO}\x.dll")
    found = DllSearch(drive.plain()).resolve("x.dll")
    assert found.winner
    assert (found.winner.path, found.winner.outcome, found.winner.stops) == (r"C:\one\x.dll", outcome, True)
    assert "193" in found.winner.detail
    assert [a.path for a in found.found] == [r"C:\two\x.dll"]


def test_closure_follows_imports_then_what_is_opened_later(drive: Drive) -> None:
    drive.put(r"C:\dl\main.dll", build.pe(("dep.dll", "api-ms-win-x-l1-1-0.dll"), ("late.dll",)))
    drive.put(r"C:\dl\dep.dll", build.pe(("main.dll",)))
    drive.put(r"C:\dl\late.dll")
    drive.put(rf"{ONE}\late.dll")
    drive.put(rf"{TWO}\sub.dll", build.pe(("dep.dll",)))
    search = DllSearch(drive.python())
    found = dll_closure(r"C:\dl\main.dll", search, opens=lambda path: ["sub.dll"] if path.endswith("main.dll") else [])
    got = [(r.name, r.winner.how if r.winner else None) for r in found]
    assert got == [
        ("main.dll".join((r"C:\dl" + "\\", "")), How.DIRECT),
        ("dep.dll", How.DLL_FOLDER),
        ("api-ms-win-x-l1-1-0.dll", How.API_SET),
        ("main.dll", How.LOADED),
        ("late.dll", How.PATH),
        ("kernel32.dll", None),
        ("sub.dll", How.PATH),
        ("dep.dll", How.LOADED),
    ]


def test_what_is_opened_later_by_its_bare_name_brings_its_imports_from_path_too(drive: Drive) -> None:
    """As CTranslate2's lone cudnn64_8.dll does it, whose parts lie on PATH; seen with the real loader and cuDNN 8.9.7."""
    drive.put(r"C:\dl\main.dll")
    drive.put(rf"{ONE}\sub.dll", build.pe(("its.dll",)))
    drive.put(rf"{ONE}\its.dll")
    found = dll_closure(
        r"C:\dl\main.dll", DllSearch(drive.python()), opens=lambda p: ["sub.dll"] if "main" in p else []
    )
    hows_ = {r.name: r.winner.how if r.winner else None for r in found}
    assert (hows_["sub.dll"], hows_["its.dll"]) == (How.PATH, How.PATH)


def test_a_long_path_is_given_in_the_form_that_has_no_limit() -> None:
    long = "C:\\" + "a" * LONG_PATH_CHARACTERS
    assert extended_path(long, "nt") == "\\\\?\\" + long
    assert extended_path(long.replace("\\", "\\.\\"), "nt") == "\\\\?\\" + long, "that form knows no dots"
    for path in (
        "C:\\ml\\cudnn64_9.dll",
        "\\\\server\\" + "a" * LONG_PATH_CHARACTERS,
        "\\\\?\\" + long,
        "relative\\" + "a" * LONG_PATH_CHARACTERS,
    ):
        assert extended_path(path, "nt") == path
    assert extended_path("/" + "a" * LONG_PATH_CHARACTERS, "posix") == "/" + "a" * LONG_PATH_CHARACTERS
