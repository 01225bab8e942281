"""What becomes of a DLL that is found: the real LoadLibraryExW's number, and what the product says of the same files."""

from __future__ import annotations

import ntpath
import os
import subprocess
import sys
import winreg
from collections.abc import Callable
from pathlib import Path

import pytest

from core.loader import read_image
from core.loader.windows.policy import KNOWN_DLLS
from core.loader.windows.search import DllSearch, cpython_policy, dll_closure, judge_dll, plain_policy
from tests.windows.dlls import dll

assert sys.platform == "win32"

WINE = "WINEPREFIX" in os.environ
ROOT = Path(__file__).parents[2]
MISSING, NO_FUNCTION, NOT_VALID, START_FAILED = 126, 127, 193, 1114
CHILD = "import sys; from core.probes.loading.roll_call.windows_loader import WindowsLoader; print(*WindowsLoader(()).load(sys.argv[1])[1:])"


def loaded(name: str, path: str = "") -> tuple[int, str]:
    """Load a DLL as the product's own child does: the error's number (0: none) and the product's word for it."""
    env = {**os.environ, "PATH": path}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name], check=True, capture_output=True, text=True, cwd=ROOT, env=env
    )
    number, _, word = done.stdout.strip().partition(" ")
    return 0 if number == "None" else int(number), word


Put = Callable[..., str]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a DLL into a folder; return its path."""

    def write(name: str, content: bytes, folder: str = "bin") -> str:
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_bytes(content)
        return str(tmp_path / folder / name)

    return write


def verdict(path: str) -> str:
    """What the product makes of the file alone."""
    return judge_dll(read_image.read_image(path), "x86_64")[0]


def not_found(path: str, search: DllSearch) -> list[str]:
    """The names that the product says cannot be found for a DLL."""
    return [r.name for r in dll_closure(path, search) if r.winner is None]


def by_path() -> DllSearch:
    return DllSearch(cpython_policy(str(Path(sys.base_prefix))))


def test_a_dll_that_does_not_start_is_error_1114(put: Put) -> None:
    path = put("cudnn_ops64_9.dll", dll(starts=False))
    assert loaded(path) == (START_FAILED, "ERROR_DLL_INIT_FAILED")
    assert verdict(path) == "found", "its file is in order: only loading it tells"
    assert loaded(put("whole.dll", dll())) == (0, "")


def test_a_dependency_that_does_not_start_is_error_1114_too(put: Put) -> None:
    put("deep.dll", dll(starts=False, exports="deep"))
    path = put("cudnn64_9.dll", dll({"deep.dll": "deep"}))
    assert loaded(path)[0] == START_FAILED
    assert not_found(path, by_path()) == []


def test_a_missing_dependency_is_error_126_and_named(put: Put) -> None:
    path = put("cudnn64_9.dll", dll({"convalesce_gone.dll": "f"}))
    assert loaded(path)[0] == MISSING
    assert not_found(path, by_path()) == ["convalesce_gone.dll"]


def test_a_missing_delay_load_harms_nothing_until_it_is_called(put: Put) -> None:
    path = put("cudnn64_9.dll", dll(delayed={"convalesce_gone.dll": "f"}))
    assert loaded(path) == (0, "")
    image = read_image.read_image(path)
    assert (image.delayed, "convalesce_gone.dll" in image.needed) == (("convalesce_gone.dll",), True)
    (late,) = (r for r in dll_closure(path, by_path()) if r.name == "convalesce_gone.dll")
    assert late.winner is None
    assert late.wanted_by == path


def test_a_dependency_without_the_wanted_function_is_error_127(put: Put) -> None:
    put("old.dll", dll(exports="old_function"))
    path = put("cudnn64_9.dll", dll({"old.dll": "new_function"}))
    # wine 8 loads it and fails at the call (tests/windows/README.md); the product calls 127 what Windows does
    assert loaded(path) == ((0, "") if WINE else (NO_FUNCTION, "ERROR_PROC_NOT_FOUND"))
    put("old.dll", dll(exports="new_function"))
    assert loaded(path) == (0, "")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "damaged"),
        (b"<!DOCTYPE html>" * 50, "damaged"),
        (dll()[:0x300], "damaged"),
        (dll(machine=0x14C), "damaged"),
        (dll(machine=0xAA64), "wrong architecture"),
    ],
    ids=["empty", "a page", "cut", "another's header", "for Arm"],
)
def test_a_file_that_is_no_dll_for_this_processor_is_error_193(put: Put, content: bytes, said: str) -> None:
    path = put("cudnn64_9.dll", content)
    assert loaded(path) == (NOT_VALID, "ERROR_BAD_EXE_FORMAT")
    assert verdict(path) in (said, "wrong architecture")


def test_a_dependency_for_another_processor_is_error_193(put: Put) -> None:
    put("arm.dll", dll(machine=0xAA64, exports="f"))
    path = put("cudnn64_9.dll", dll({"arm.dll": "f"}))
    # wine 8 goes on searching and says 126; Windows stops at the first file of the name, and so does the product
    assert loaded(path)[0] == (MISSING if WINE else NOT_VALID)
    (found,) = (r for r in dll_closure(path, by_path()) if r.name == "arm.dll")
    assert found.winner
    assert (found.winner.outcome, found.winner.stops) == ("wrong architecture", True)


def test_imports_of_api_sets_are_never_missing(put: Put) -> None:
    path = put("cudnn64_9.dll", dll({"api-ms-win-core-file-l1-1-0.dll": "CreateFileW"}))
    assert loaded(path) == (0, "")
    assert not_found(path, by_path()) == []
    odd = put("odd.dll", dll({"ext-ms-win-convalesce-l1-1-0.dll": "f"}))
    assert not_found(odd, by_path()) == [], "which of these names a Windows has is its own affair"


def test_what_a_dll_imports_is_searched_as_it_was_itself(put: Put, tmp_path: Path) -> None:
    put("cudnn_deep64_9.dll", dll(exports="deep"), "two")
    path = put("cudnn64_9.dll", dll({"cudnn_deep64_9.dll": "deep"}), "one")
    variable = f"{tmp_path / 'one'};{tmp_path / 'two'}"
    application = str(Path(sys.base_prefix))
    assert loaded("cudnn64_9.dll", variable) == (0, ""), "by its bare name: PATH for both"
    assert not_found("cudnn64_9.dll", DllSearch(plain_policy(application, variable))) == []
    assert loaded(path, variable)[0] == MISSING, "by its path, as Python does it: PATH for neither"
    assert not_found(path, DllSearch(cpython_policy(application, variable))) == ["cudnn_deep64_9.dll"]


def test_the_known_dlls_of_this_windows_are_no_names_that_matter_here() -> None:
    r"""Wine has no such list. Windows' own (KnownDLLs in the registry) varies; ours serves where it was not read."""
    key = r"SYSTEM\CurrentControlSet\Control\Session Manager\KnownDLLs"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            count = winreg.QueryInfoKey(opened)[1]
            listed = {str(winreg.EnumValue(opened, i)[1]).lower() for i in range(count)}
    except FileNotFoundError:
        listed = set()
    assert WINE or {"kernel32.dll", "ole32.dll"} <= listed
    assert not [n for n in listed - KNOWN_DLLS if n.startswith(("cu", "nv", "msvcp", "vcruntime", "zlib"))]


def test_a_known_dll_is_never_taken_from_path(put: Put, tmp_path: Path) -> None:
    for name in ("ole32.dll", "ws2_32.dll", "kernel32.dll"):
        put(name, dll(starts=False))
        assert loaded(name, str(tmp_path / "bin")) == (0, "")
        found = DllSearch(plain_policy(str(Path(sys.base_prefix)), str(tmp_path / "bin"))).resolve(name).winner
        assert found
        assert ntpath.normcase(found.path) == ntpath.normcase(rf"C:\Windows\System32\{name}")
