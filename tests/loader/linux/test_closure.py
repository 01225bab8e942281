"""The closure of real programs against ldd, and of libraries that open others by themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.loader.linux.search import LibrarySearch, ld_so_policy, library_closure
from core.model.facts import How
from tests.loader import build

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")


def ldd(path: str) -> dict[str, str]:
    """Return name -> file as ldd says; names that it does not find are missing."""
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    run = subprocess.run(["ldd", path], env=env, capture_output=True, text=True, timeout=60, check=False)
    return dict(re.findall(r"^\s+(\S+) => (/\S+) \(", run.stdout, re.MULTILINE))


def _programs() -> list[str]:
    names = ("/bin/sh", "/usr/bin/env", "/usr/bin/git", "/usr/bin/gcc", "/usr/bin/ssh", "/usr/bin/perl", sys.executable)
    return [name for name in names if Path(name).exists()]


@pytest.mark.parametrize("path", _programs())
def test_a_program_loads_what_ldd_says(path: str) -> None:
    found = library_closure(path, LibrarySearch(ld_so_policy()))
    ours = {r.name: r.winner.path for r in found[1:] if r.winner and r.winner.how is not How.LOADED}
    theirs = ldd(path)
    assert {name: ours.get(name) for name in theirs} == theirs


def test_a_chain_of_libraries_with_rpath_and_runpath(tmp_path: Path) -> None:
    build.library(tmp_path / "c/libc3.so")
    build.library(
        tmp_path / "b/libb3.so",
        "-Wl,--no-as-needed",
        str(tmp_path / "c/libc3.so"),
        "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../c",
    )
    build.library(tmp_path / "d/libd3.so", "-Wl,--no-as-needed", str(tmp_path / "c/libc3.so"))
    link = ("-Wl,--no-as-needed", str(tmp_path / "b/libb3.so"), str(tmp_path / "d/libd3.so"))
    link += (f"-Wl,--disable-new-dtags,-rpath,{tmp_path}/b:{tmp_path}/d:$ORIGIN", "-Wl,--unresolved-symbols=ignore-all")
    program = build.gcc(tmp_path / "program", *link, source="int main(void) { return 0; }")
    found = {
        r.name: r
        for r in library_closure(str(program), LibrarySearch(ld_so_policy()))
        if r.attempts[0].how is not How.LOADED
    }
    theirs = ldd(str(program))
    assert {name: r.winner.path for name, r in found.items() if r.winner and "/" not in name}.items() >= {
        (name, str(Path(path))) for name, path in theirs.items() if not path.startswith(str(tmp_path))
    }
    for name, how in (("libb3.so", How.RPATH), ("libd3.so", How.RPATH), ("libc3.so", How.RUNPATH)):
        winner = found[name].winner
        assert winner
        assert (winner.how, os.path.realpath(winner.path)) == (how, os.path.realpath(theirs[name]))


def test_what_is_opened_later_is_searched_by_its_opener(tmp_path: Path) -> None:
    build.library(tmp_path / "lib/libsub.so.9")
    shim = build.library(tmp_path / "lib/libshim.so.9", "-Wl,--enable-new-dtags,-rpath,$ORIGIN")
    found = library_closure(
        str(shim), LibrarySearch(ld_so_policy()), opens=lambda path: ["libsub.so.9"] if "shim" in path else []
    )
    assert [(r.name, r.wanted_by, r.winner.how) for r in found if r.winner][1:] == [
        ("libsub.so.9", str(shim), How.RUNPATH)
    ]


def test_a_name_that_is_loaded_is_not_searched_again(tmp_path: Path) -> None:
    build.library(tmp_path / "x/libreal.so", soname="libalias.so.1")
    build.library(tmp_path / "y/libalias.so.1")
    needs = build.library(
        tmp_path / "libneeds.so", "-Wl,--no-as-needed", str(tmp_path / "y/libalias.so.1"), "-Wl,-rpath,$ORIGIN/y"
    )
    search = LibrarySearch(ld_so_policy())
    found = library_closure(str(needs), search, chain=[search.load(str(tmp_path / "x/libreal.so"))])
    assert [(a.how, a.path) for a in found[-1].attempts] == [(How.LOADED, str(tmp_path / "x/libreal.so"))]


def test_libraries_that_need_each_other_end(tmp_path: Path) -> None:
    first = build.library(tmp_path / "liba4.so")
    build.library(tmp_path / "libb4.so", "-Wl,--no-as-needed", str(first), "-Wl,-rpath,$ORIGIN")
    build.library(first, "-Wl,--no-as-needed", str(tmp_path / "libb4.so"), "-Wl,-rpath,$ORIGIN")
    found = library_closure(str(first), LibrarySearch(ld_so_policy()))
    assert [r.name for r in found] == [str(first), "libb4.so", "liba4.so"]
    assert found[-1].attempts[0].how is How.LOADED


def test_a_folder_with_100_000_files_is_no_matter(tmp_path: Path) -> None:
    for number in range(100_000):
        os.close(os.open(tmp_path / f"libcudnn_{number}.so", os.O_CREAT | os.O_WRONLY))
    search = LibrarySearch(ld_so_policy(str(tmp_path), flags=("avx2",), legacy=True))
    found = search.resolve("libcudnn_99999.so")
    assert found.winner
    assert (found.winner.outcome, found.winner.detail) == ("damaged", "is empty (0 bytes)")
    assert search.resolve("libcudnn_100000.so").winner is None
