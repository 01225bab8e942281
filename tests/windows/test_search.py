"""The search policies against the real LoadLibraryExW: what the loader takes is what the policy says it takes."""

from __future__ import annotations

import ctypes
import ntpath
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.loader.windows.policy import APPLICATION_DIR, DEFAULT_DIRS, DLL_LOAD_DIR, SYSTEM32, USER_DIRS
from core.loader.windows.search import DllPolicy, DllSearch, plain_policy

assert sys.platform == "win32"

NAME = "convalesce_search.dll"
BASE = Path(sys.base_prefix)
ALTERED = 0x8

CHILD = r"""
import ctypes, json, sys
order = json.loads(sys.argv[1])
k = ctypes.WinDLL("kernel32", use_last_error=True)
k.LoadLibraryExW.restype = k.AddDllDirectory.restype = ctypes.c_void_p
k.LoadLibraryExW.argtypes = (ctypes.c_wchar_p, ctypes.c_void_p, ctypes.c_uint)
k.AddDllDirectory.argtypes = k.SetDllDirectoryW.argtypes = (ctypes.c_wchar_p,)
k.GetModuleFileNameW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p, ctypes.c_uint)
for folder in order["added"]:
    k.AddDllDirectory(folder)
if order["set"] is not None:
    k.SetDllDirectoryW(order["set"])
handle = k.LoadLibraryExW(order["name"], None, order["flags"])
error = ctypes.get_last_error()
buffer = ctypes.create_unicode_buffer(32768)
k.GetModuleFileNameW(handle, buffer, 32768)
print(json.dumps([buffer.value if handle else "", 0 if handle else error]))
"""


@dataclass(frozen=True)
class Way:
    """One call: flags, and folders (by name) that hold the DLL, are on PATH, were added, were set."""

    flags: int
    holds: tuple[str, ...]
    path: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    set: str | None = None


WAYS = {
    "PATH in its order": Way(0, ("one", "two"), path=("two", "one")),
    "nowhere": Way(0, (), path=("one",)),
    "off PATH": Way(0, ("one",), path=("two",)),
    "the current folder before PATH": Way(0, ("here", "one"), path=("one",)),
    "SetDllDirectory before PATH": Way(0, ("one", "two"), path=("one",), set="two"),
    "SetDllDirectory takes the current folder out": Way(0, ("here", "one"), path=("one",), set=""),
    "an added folder means nothing without flags": Way(0, ("added",), added=("added",)),
    "an added folder with the default flags": Way(DEFAULT_DIRS, ("added", "one"), path=("one",), added=("added",)),
    "PATH means nothing with the default flags": Way(DEFAULT_DIRS, ("one",), path=("one",)),
    "user folders alone": Way(USER_DIRS, ("added",), added=("added",)),
    "System32 alone": Way(SYSTEM32, ("one", "added"), path=("one",), added=("added",)),
    "the application's folder alone": Way(APPLICATION_DIR, ("one",), path=("one",)),
}

WINE = "WINEPREFIX" in os.environ
WINE_DIFFERS = ("SetDllDirectory takes the current folder out",)
"""Microsoft, SetDllDirectoryW: an empty text takes the current folder out. Wine 8 leaves it in; we follow Windows."""


@pytest.fixture(scope="module")
def dll() -> bytes:
    """Any small 64-bit DLL."""
    return next((BASE / "DLLs").glob("libffi*.dll")).read_bytes()


def loaded(tmp_path: Path, name: str, way: Way) -> tuple[str, int]:
    import json

    order = {"name": name, "flags": way.flags, "added": [str(tmp_path / f) for f in way.added], "set": None}
    if way.set is not None:
        order["set"] = str(tmp_path / way.set) if way.set else ""
    env = {**os.environ, "PATH": ";".join(str(tmp_path / f) for f in way.path)}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", CHILD, json.dumps(order)],
        check=True,
        capture_output=True,
        env=env,
        cwd=tmp_path / "here",
    )
    path, error = json.loads(done.stdout)
    return path, error


def policy(tmp_path: Path, way: Way) -> DllPolicy:
    path = ";".join(str(tmp_path / f) for f in way.path)
    base = plain_policy(str(BASE), path, current=str(tmp_path / "here"))
    where = None if way.set is None else str(tmp_path / way.set) if way.set else ""
    added = tuple(str(tmp_path / f) for f in way.added)
    return replace(base, flags=way.flags & ~ALTERED, added=added, set_directory=where)


@pytest.mark.parametrize("name", WAYS)
def test_the_loader_takes_what_the_policy_says(tmp_path: Path, dll: bytes, name: str) -> None:
    way = WAYS[name]
    for folder in ("one", "two", "here", "added"):
        (tmp_path / folder).mkdir()
        if folder in way.holds:
            (tmp_path / folder / NAME).write_bytes(dll)
    winner = DllSearch(policy(tmp_path, way)).resolve(NAME).winner
    path, error = loaded(tmp_path, NAME, way)
    if WINE and name in WINE_DIFFERS:
        assert winner is not None
        assert (ntpath.basename(ntpath.dirname(path)), ntpath.basename(ntpath.dirname(winner.path))) == ("here", "one")
        return
    assert ntpath.normcase(path) == ntpath.normcase(winner.path if winner else "")
    assert error == (0 if winner else 126)


@pytest.mark.parametrize(
    ("content", "outcome"), [(b"", "damaged"), (b"<html>" * 100, "damaged"), (b"MZ" + bytes(500), "damaged")]
)
def test_the_first_file_ends_the_search_whatever_it_is(
    tmp_path: Path, dll: bytes, content: bytes, outcome: str
) -> None:
    for folder, data in (("one", content), ("two", dll), ("here", None)):
        (tmp_path / folder).mkdir()
        if data is not None:
            (tmp_path / folder / NAME).write_bytes(data)
    way = Way(0, (), path=("one", "two"))
    winner = DllSearch(policy(tmp_path, way)).resolve(NAME).winner
    assert winner is not None
    assert (winner.path, winner.outcome, winner.stops) == (str(tmp_path / "one" / NAME), outcome, True)
    assert loaded(tmp_path, NAME, way) == ("", 193)


def test_api_sets_and_known_dlls_come_from_windows(tmp_path: Path, dll: bytes) -> None:
    for folder in ("one", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "one" / "ole32.dll").write_bytes(dll)
    way = Way(0, (), path=("one",))
    search = DllSearch(policy(tmp_path, way))
    for name in ("ole32.dll", "api-ms-win-core-file-l1-1-0.dll"):
        assert search.resolve(name).winner is not None
        path, error = loaded(tmp_path, name, way)
        assert error == 0
        assert "\\windows\\system32\\" in path.lower()


def test_a_full_path_leads_to_that_file_alone(tmp_path: Path, dll: bytes) -> None:
    for folder in ("one", "two", "here"):
        (tmp_path / folder).mkdir()
    (tmp_path / "two" / NAME).write_bytes(dll)
    way = Way(DLL_LOAD_DIR | DEFAULT_DIRS, (), path=("two",))
    wanted = str(tmp_path / "one" / NAME)
    assert DllSearch(policy(tmp_path, way)).resolve(wanted).winner is None
    assert loaded(tmp_path, wanted, way) == ("", 126)
    assert ctypes.sizeof(ctypes.c_void_p) == 8
