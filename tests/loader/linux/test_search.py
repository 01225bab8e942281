"""Each rule of ld.so's search order, named after it, held against the loader that runs here (LD_DEBUG=libs)."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.loader.linux.search import LibrarySearch, ld_so_policy
from core.model.facts import How, Resolution
from tests.loader import build

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")

WANTED = "libwanted.so.1"
FLAGS = frozenset(Path("/proc/cpuinfo").read_text().split()) if sys.platform == "linux" else frozenset()
VENDOR = "GenuineIntel" if "GenuineIntel" in FLAGS else ""
LEGACY = tuple(map(int, (platform.libc_ver()[1] or "9.9").split(".")[:2])) < (2, 37)


@dataclass
class Stage:
    """A program that needs libmiddle.so, which needs libwanted.so.1, and folders with copies of that."""

    folder: Path

    def wanted(self, *folders: str) -> Stage:
        """Put a copy of the wanted library into each folder."""
        for name in folders:
            (self.folder / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / "link/libwanted.so", self.folder / name / WANTED)
        return self

    def at(self, *folders: str) -> str:
        """Return folders as a search path."""
        return ":".join(str(self.folder / name) for name in folders)

    def built(self, *, program: tuple[str, ...] = (), middle: tuple[str, ...] = (), wants: str = "") -> Stage:
        """Link the program and the library in the middle with these linker options."""
        link = self.folder / "link/libwanted.so"
        if wants:
            link = build.library(self.folder / "link/libother.so", soname=wants)
        lib = self.folder / "bin/libmiddle.so"  # its name has a slash, so the program finds it without any search
        build.library(lib, "-Wl,--no-as-needed", str(link), *(f"-Wl,{option}" for option in middle), soname=str(lib))
        build.gcc(
            self.folder / "bin/program",
            *("-Wl,--no-as-needed", str(lib), "-Wl,--unresolved-symbols=ignore-all"),
            *(f"-Wl,{option}" for option in program),
            source="int main(void) { return 0; }",
        )
        return self

    def agree(self, wanted: str = WANTED, *, library_path: str | None = None) -> Resolution:
        """Search as ld.so does, hold every step against the real one, and return our answer."""
        program, middle = self.folder / "bin/program", self.folder / "bin/libmiddle.so"
        without = LibrarySearch(ld_so_policy(current=str(self.folder), flags=FLAGS, vendor=VENDOR, legacy=LEGACY))
        without.resolve(wanted, [without.load(str(middle)), without.load(str(program))])
        search = without.with_library_path(library_path or "")
        ours = search.resolve(wanted, [search.load(str(middle)), search.load(str(program))])
        env = {} if library_path is None else {"LD_LIBRARY_PATH": library_path}
        tried, taken = build.tries(program, wanted, env, self.folder)
        winner = ours.winner
        mine = ours.attempts[: ours.attempts.index(winner) + 1] if winner else ours.attempts
        looked = [a.path for a in mine if Path(a.path).parent.is_dir() and a.outcome != "passed over"]
        assert looked == [str(self.folder / path) for path in tried]
        assert taken == (winner is not None and winner.outcome == "found")
        return ours


def how(resolution: Resolution) -> How | None:
    """How the winner was found."""
    return resolution.winner.how if resolution.winner else None


def taken(resolution: Resolution, stage: Stage) -> str:
    """The folder of the winner, from the stage."""
    assert resolution.winner
    return os.path.relpath(Path(resolution.winner.path).parent, stage.folder)


RPATH, RUNPATH = "--disable-new-dtags", "--enable-new-dtags"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    build.library(tmp_path / "link/libwanted.so", soname=WANTED)
    return Stage(tmp_path)


def test_what_is_nowhere_is_not_found(stage: Stage) -> None:
    assert stage.built().agree().winner is None


def test_ld_library_path(stage: Stage) -> None:
    assert how(stage.wanted("env").built().agree(library_path=stage.at("env"))) is How.LD_LIBRARY_PATH


def test_rpath_before_ld_library_path(stage: Stage) -> None:
    stage.wanted("rpath", "env").built(middle=(RPATH, f"-rpath,{stage.at('rpath')}"))
    assert how(stage.agree(library_path=stage.at("env"))) is How.RPATH


def test_ld_library_path_before_runpath(stage: Stage) -> None:
    stage.wanted("runpath", "env").built(middle=(RUNPATH, f"-rpath,{stage.at('runpath')}"))
    found = stage.agree(library_path=stage.at("env"))
    assert [a.how for a in found.found] == [How.LD_LIBRARY_PATH, How.RUNPATH]


def test_runpath_when_nothing_else(stage: Stage) -> None:
    stage.wanted("runpath").built(middle=(RUNPATH, f"-rpath,{stage.at('runpath')}"))
    assert how(stage.agree()) is How.RUNPATH


def test_rpath_is_inherited_from_the_program(stage: Stage) -> None:
    stage.wanted("rpath").built(program=(RPATH, f"-rpath,{stage.at('rpath')}"))
    assert how(stage.agree()) is How.RPATH


def test_runpath_is_not_inherited_from_the_program(stage: Stage) -> None:
    stage.wanted("runpath").built(program=(RUNPATH, f"-rpath,{stage.at('runpath')}"))
    assert stage.agree().winner is None


def test_runpath_of_the_asker_switches_inherited_rpath_off(stage: Stage) -> None:
    stage.wanted("rpath", "runpath").built(
        program=(RPATH, f"-rpath,{stage.at('rpath')}"), middle=(RUNPATH, f"-rpath,{stage.at('runpath')}")
    )
    assert how(stage.agree()) is How.RUNPATH


def test_rpath_of_the_asker_before_that_of_the_program(stage: Stage) -> None:
    stage.wanted("own", "program").built(
        program=(RPATH, f"-rpath,{stage.at('program')}"), middle=(RPATH, f"-rpath,{stage.at('own')}")
    )
    assert taken(stage.agree(), stage) == "own"


def test_rpath_is_ignored_beside_runpath_in_one_file(stage: Stage) -> None:
    stage.wanted("rpath", "runpath").built(middle=(RPATH, f"-rpath,{stage.at('rpath')}", f"-f,{stage.at('runpath')}"))
    middle = stage.folder / "bin/libmiddle.so"
    data = middle.read_bytes()  # -f writes DT_AUXILIARY, whose text becomes the RUNPATH
    assert data.count(AUXILIARY) == 1
    middle.write_bytes(data.replace(AUXILIARY, DT_RUNPATH))
    assert how(stage.agree()) is How.RUNPATH


AUXILIARY, DT_RUNPATH = (0x7FFFFFFD).to_bytes(8, "little"), (29).to_bytes(8, "little")


def test_origin_lib_and_platform_in_runpath(stage: Stage) -> None:
    known = ld_so_policy(flags=FLAGS, vendor=VENDOR)
    stage.wanted(f"bin/{known.lib}/{known.platform}").built(
        middle=(RUNPATH, "-rpath,$ORIGIN/none:${ORIGIN}/$LIB/${PLATFORM}")
    )
    assert how(stage.agree()) is How.RUNPATH


INTEL = "avx2 fma bmi1 bmi2 abm movbe popcnt"


@pytest.mark.parametrize(
    ("vendor", "flags", "name", "folders"),
    [
        ("", "", "x86_64", ["tls/x86_64/x86_64", "tls/x86_64", "tls", "x86_64/x86_64", "x86_64"]),
        ("AuthenticAMD", INTEL, "x86_64", ["tls/x86_64/x86_64", "tls/x86_64", "tls", "x86_64/x86_64", "x86_64"]),
        (
            "GenuineIntel",
            INTEL,
            "haswell",
            ["tls/haswell/x86_64", "tls/haswell", "tls/x86_64", "tls", "haswell/x86_64", "haswell", "x86_64"],
        ),
        ("GenuineIntel", f"{INTEL} avx512cd avx512er avx512pf", "xeon_phi", ["tls/xeon_phi/x86_64", "tls/xeon_phi"]),
        (
            "GenuineIntel",
            f"{INTEL} avx512cd avx512bw avx512dq avx512vl",
            "haswell",
            ["tls/haswell/avx512_1/x86_64", "tls/haswell/avx512_1", "tls/haswell/x86_64", "tls/haswell"],
        ),
    ],
)
def test_what_the_loader_calls_a_processor(vendor: str, flags: str, name: str, folders: list[str]) -> None:
    known = ld_so_policy(flags=flags.split(), vendor=vendor, legacy=True)
    assert known.platform == name
    assert [f for f in known.subfolders if "hwcaps" not in f][: len(folders)] == folders


def test_origin_of_a_link_is_the_folder_of_the_link(stage: Stage) -> None:
    stage.wanted("sub").built(middle=(RUNPATH, "-rpath,$ORIGIN/../sub"))
    assert taken(stage.agree(), stage) == "sub"


def test_semicolons_separate_entries_of_ld_library_path(stage: Stage) -> None:
    stage.wanted("b").built()
    found = stage.agree(library_path=f"{stage.at('a')};{stage.at('b')}")
    assert taken(found, stage) == "b"


@pytest.mark.parametrize("value", [":", "/nowhere:", ":/nowhere", "/nowhere::/nothing"])
def test_empty_entries_of_ld_library_path_are_the_current_folder(stage: Stage, value: str) -> None:
    stage.wanted(".").built()
    assert taken(stage.agree(library_path=value), stage) == "."


def test_an_empty_ld_library_path_is_not_the_current_folder(stage: Stage) -> None:
    assert stage.wanted(".").built().agree(library_path="").winner is None


def test_relative_entries_are_relative_to_the_current_folder(stage: Stage) -> None:
    assert taken(stage.wanted("rel").built().agree(library_path="rel"), stage) == "rel"


def test_entries_with_trailing_slashes_and_doubles_count_once(stage: Stage) -> None:
    stage.wanted("b").built()
    found = stage.agree(library_path=f"{stage.at('a')}/:{stage.at('a')}:{stage.at('b')}//")
    assert taken(found, stage) == "b"
    assert len([a for a in found.attempts if a.how is How.LD_LIBRARY_PATH]) == 2


def test_hwcaps_folders_before_the_folder_itself(stage: Stage) -> None:
    folders = ld_so_policy(flags=FLAGS, vendor=VENDOR, legacy=LEGACY).subfolders
    stage.wanted("env", *(f"env/{name}" for name in folders), "env/glibc-hwcaps/x86-64-v9").built()
    found = stage.agree(library_path=stage.at("env"))
    assert taken(found, stage) == f"env/{folders[0] if folders else ''}".rstrip("/")
    assert [os.path.relpath(Path(a.path).parent, stage.folder / "env") for a in found.found] == [*folders, "."]


def test_ld_so_cache_before_default_folders(stage: Stage) -> None:
    found = stage.built(wants="libgcc_s.so.1").agree("libgcc_s.so.1")
    assert how(found) is How.LD_CACHE
    assert How.DEFAULT in {a.how for a in found.found}


def test_ld_library_path_before_ld_so_cache(stage: Stage) -> None:
    cached = stage.built(wants="libgcc_s.so.1").agree("libgcc_s.so.1").winner
    assert cached
    (stage.folder / "env").mkdir()
    shutil.copy(cached.path, stage.folder / "env/libgcc_s.so.1")
    assert how(stage.agree("libgcc_s.so.1", library_path=stage.at("env"))) is How.LD_LIBRARY_PATH


def test_nodefaultlib_switches_default_folders_and_their_cache_off(stage: Stage) -> None:
    name = "libgcc_s.so.1"
    stage.built(wants=name, middle=("-z,nodefaultlib",))
    search = LibrarySearch(ld_so_policy())
    found = search.resolve(name, [search.load(str(stage.folder / "bin/libmiddle.so"))])
    assert [(a.how, a.outcome) for a in found.attempts] == [(How.LD_CACHE, "passed over")]
    assert not build.tries(stage.folder / "bin/program", name, {}, stage.folder)[1]


def test_a_name_with_a_slash_is_a_path(stage: Stage) -> None:
    stage.wanted("sub").built(wants=f"sub/{WANTED}")
    search = LibrarySearch(ld_so_policy(current=str(stage.folder)))
    found = search.resolve(f"sub/{WANTED}", [search.load(str(stage.folder / "bin/libmiddle.so"))])
    assert how(found) is How.DIRECT
    tried, taken_ = build.tries(stage.folder / "bin/program", f"sub/{WANTED}", {}, stage.folder)
    assert taken_
    assert [a.path for a in found.attempts] == [str(stage.folder / f"sub/{WANTED}")]
    assert not tried


# --- files that are not what they should be --------------------------------------------------------------


def patched(*changes: tuple[int, bytes]) -> Callable[[bytes], bytes]:
    """Return a function that overwrites bytes at offsets."""

    def change(data: bytes) -> bytes:
        copy = bytearray(data)
        for at, new in changes:
            copy[at : at + len(new)] = new
        return bytes(copy)

    return change


PASSED = {
    "another class": patched((4, b"\x01")),
    "another processor": patched((18, b"\xb7\x00")),
    "another processor, cut short": lambda data: patched((18, b"\xb7\x00"))(data)[:3000],
}
STOPS = {
    "empty": lambda data: b"",
    "cut within the first header": lambda data: data[:30],
    "cut within the program headers": lambda data: data[:100],
    "cut before the last segment": lambda data: data[:64] + data[64:4000],
    "a short text": lambda data: b"GROUP ( libc.so.6 )",
    "a long text": lambda data: b"<html>" + b"x" * 9000,
    "zeros": lambda data: bytes(20000),
    "the other byte order": patched((5, b"\x02")),
    "an object file": patched((16, b"\x01\x00")),
    "a program": patched((16, b"\x02\x00")),
    "a wrong size of program headers": patched((54, b"\x39")),
    "too many program headers": patched((56, b"\xff\xff")),
    "no program headers": patched((56, b"\0\0")),
    "program headers beyond the end": patched((36, b"\xff\xff")),
}


@pytest.mark.parametrize("name", PASSED)
def test_a_file_for_another_machine_is_passed_over(stage: Stage, name: str) -> None:
    stage.wanted("a", "b").built()
    bad = stage.folder / "a" / WANTED
    bad.write_bytes(PASSED[name](bad.read_bytes()))
    found = stage.agree(library_path=stage.at("a", "b"))
    assert found.attempts[0].outcome == "wrong architecture"
    assert taken(found, stage) == "b"


@pytest.mark.parametrize("name", STOPS)
def test_a_damaged_file_stops_the_search(stage: Stage, name: str) -> None:
    stage.wanted("a", "b").built()
    bad = stage.folder / "a" / WANTED
    bad.write_bytes(STOPS[name](bad.read_bytes()))
    found = stage.agree(library_path=stage.at("a", "b"))
    assert found.winner
    assert (found.winner.outcome, found.winner.stops) == ("damaged", True)
    assert taken(found, stage) == "a"


def test_a_folder_of_that_name_stops_the_search(stage: Stage) -> None:
    stage.wanted("b").built()
    (stage.folder / "a" / WANTED).mkdir(parents=True)
    assert taken(stage.agree(library_path=stage.at("a", "b")), stage) == "a"


def test_a_dangling_link_is_passed_over(stage: Stage) -> None:
    stage.wanted("b").built()
    (stage.folder / "a").mkdir()
    (stage.folder / "a" / WANTED).symlink_to("nowhere")
    assert taken(stage.agree(library_path=stage.at("a", "b")), stage) == "b"


def test_a_link_to_itself_ends_its_list_but_not_the_search(stage: Stage) -> None:
    stage.wanted("b", "runpath").built(middle=(RUNPATH, f"-rpath,{stage.at('runpath')}"))
    (stage.folder / "a").mkdir()
    (stage.folder / "a" / WANTED).symlink_to(WANTED)
    found = stage.agree(library_path=stage.at("a", "b"))
    assert [a.outcome for a in found.attempts[:3]] == ["not there", "passed over", "found"]
    assert taken(found, stage) == "runpath"


def test_a_file_that_may_not_be_read_is_passed_over(stage: Stage, unprivileged: None) -> None:
    stage.wanted("a", "b").built()
    (stage.folder / "a" / WANTED).chmod(0)
    found = stage.agree(library_path=stage.at("a", "b"))
    assert found.attempts[0].outcome == "unreadable"
    assert taken(found, stage) == "b"


def test_a_folder_that_may_not_be_entered_is_passed_over(stage: Stage, unprivileged: None) -> None:
    stage.wanted("a", "b").built()
    (stage.folder / "a").chmod(0)
    try:
        found = stage.agree(library_path=stage.at("a", "b"))
    finally:
        (stage.folder / "a").chmod(0o755)
    assert found.attempts[0].outcome == "unreadable"
    assert taken(found, stage) == "b"


def test_a_pipe_would_hold_the_loader_for_ever(stage: Stage) -> None:
    stage.wanted("b")
    (stage.folder / "a").mkdir()
    os.mkfifo(stage.folder / "a" / WANTED)
    found = LibrarySearch(ld_so_policy(stage.at("a", "b"))).resolve(WANTED)  # the real loader never comes back
    assert found.winner
    assert found.winner.outcome == "damaged"
    assert "pipe" in found.winner.detail
