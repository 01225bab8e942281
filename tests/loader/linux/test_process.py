"""A process as ld.so fills it, against what the real dlopen says of the same files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.loader.earlier_reads import EarlierReads, using
from core.loader.linux.process import Process
from core.loader.linux.search import LibrarySearch, ld_so_policy
from core.loader.symbols import Exports, gnu_hash, undefined_symbols, version_tables
from core.model.facts import How
from tests.loader import build

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs glibc's ld.so")

LINK = ("-Wl,--no-as-needed", "-Wl,--enable-new-dtags,-rpath,$ORIGIN", "-Wl,--unresolved-symbols=ignore-all")


def process() -> Process:
    search = LibrarySearch(ld_so_policy())
    return Process(search, search.program(sys.executable))


def dlopen(*paths: Path) -> str:
    """Return what the real loader says; empty when all of them open."""
    code = "import ctypes, os, sys\nfor p in sys.argv[1:]: ctypes.CDLL(p, mode=os.RTLD_NOW)"
    done = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("OSError: ")[2] if done.returncode else ""


def chain(folder: Path, provider: str = "int wanted(void) { return 1; }") -> Path:
    """Build liba, which needs libb, which needs libc1 and calls wanted()."""
    below = build.library(folder / "libc1.so", source=provider)
    middle = build.library(
        folder / "libb1.so", *LINK, str(below), source="int wanted(void); int f(void) { return wanted(); }"
    )
    return build.library(folder / "liba1.so", *LINK, str(middle))


def test_a_chain_opens(tmp_path: Path) -> None:
    top = chain(tmp_path)
    opened, edges = process().open(str(top))
    assert [one.file.path for one in opened] == [str(tmp_path / f"lib{n}1.so") for n in "abc"]
    assert edges == []
    assert dlopen(top) == ""


@pytest.mark.parametrize(
    ("spoil", "state"),
    [
        (lambda f: f.unlink(), "absent"),
        (lambda f: f.write_bytes(f.read_bytes()[:200]), "damaged"),
        (lambda f: f.write_bytes(b""), "damaged"),
        (lambda f: f.write_bytes(f.read_bytes()[:18] + b"\xb7\0" + f.read_bytes()[20:]), "wrong architecture"),
        (lambda f: (f.unlink(), f.symlink_to("/nowhere/libc1.so")), "dangling"),
    ],
)
def test_what_is_wrong_two_links_away(tmp_path: Path, spoil: Callable[[Path], object], state: str) -> None:
    top = chain(tmp_path)
    spoil(tmp_path / "libc1.so")
    opener = process()
    _opened, edges = opener.open(str(top))
    assert [(e.name, e.state, e.wanted_by) for e in edges] == [("libc1.so", state, str(tmp_path / "libb1.so"))]
    assert "libc1.so" in dlopen(top)
    assert opener.loaded == {}, "an open that fails leaves nothing"


def test_a_name_that_is_loaded_already_is_taken_from_there(tmp_path: Path) -> None:
    below = build.library(tmp_path / "hidden" / "libc2.so")
    top = build.library(tmp_path / "libb2.so", "-Wl,--no-as-needed", str(below))
    alone = process()
    assert [e.name for e in alone.open(str(top))[1]] == ["libc2.so"]
    after = process()
    after.open(str(below))
    assert after.open(str(top))[1] == []
    assert "libc2.so" in dlopen(top)
    assert dlopen(below, top) == ""


def test_a_symbol_of_another_release(tmp_path: Path) -> None:
    top = chain(tmp_path)
    older = build.library(tmp_path / "libc1.so", source="int other(void) { return 1; }")
    opener = process()
    opened, edges = opener.open(str(top))
    middle = next(one for one in opened if one.file.path.endswith("libb1.so"))
    gaps = opener.unmet_symbols(middle, opener.scope([middle]), everything=True)
    assert edges == []
    assert [(g.name, g.wanted_by) for g in gaps] == [("wanted", str(tmp_path / "libb1.so"))]
    assert "undefined symbol: wanted" in dlopen(top)
    build.library(older, source="int wanted(void) { return 1; }")
    again = process()
    opened, _none = again.open(str(top))
    middle = next(one for one in opened if one.file.path.endswith("libb1.so"))
    assert again.unmet_symbols(middle, again.scope([middle]), everything=True) == []


def test_what_a_library_lacks_is_kept_for_each_scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two frameworks load one library beside others: what the one lacks must not replace what the other lacks."""
    top = chain(tmp_path)
    other = build.library(tmp_path / "libelse.so")
    monkeypatch.setattr("core.loader.earlier_reads.SETTLED_NANOSECONDS", 0)
    news = []
    store = EarlierReads()
    for _scan in range(2):
        with using(store):
            opener = process()
            opened, _none = opener.open(str(top))
            more, _none = opener.open(str(other))
            middle = next(one for one in opened if one.file.path.endswith("libb1.so"))
            for scope in (opener.scope([middle]), [*opener.scope([middle]), *more]):
                assert opener.unmet_symbols(middle, scope, everything=True) == []
        news.append(store.has_news)
        store = EarlierReads(store.to_bytes())
    assert news == [True, False]


def test_a_version_that_is_not_offered(tmp_path: Path) -> None:
    script = tmp_path / "map"
    script.write_text("V_1 { wanted; };\n")
    versioned = f"-Wl,--version-script={script}"
    below = build.library(tmp_path / "libc1.so", versioned, source="int wanted(void) { return 1; }")
    top = build.library(
        tmp_path / "libb1.so", *LINK, str(below), source="int wanted(void); int f(void) { return wanted(); }"
    )
    script.write_text("V_0 { wanted; };\n")
    build.library(tmp_path / "libc1.so", versioned, source="int wanted(void) { return 1; }")
    opener = process()
    opened, edges = opener.open(str(top))
    assert edges == []
    gaps = opener.unmet_versions(opened[0])
    assert [(g.version, g.provider) for g in gaps] == [("V_1", str(tmp_path / "libc1.so"))]
    assert "V_1" in dlopen(top)


def test_an_executable_stack_is_refused_where_the_real_loader_refuses_it(tmp_path: Path) -> None:
    top = build.library(tmp_path / "libstack.so", "-Wl,-z,execstack")
    assert bool(process().open(str(top))[1]) == ("executable stack" in dlopen(top))


@pytest.mark.parametrize(
    ("flag", "release", "tunable", "refused"),
    [
        ("-Wl,-z,execstack", "GLIBC_2.41", False, True),
        ("-Wl,-z,execstack", "GLIBC_2.40", False, False),
        ("-Wl,-z,execstack", "GLIBC_2.41", True, False),
        ("-Wl,-z,noexecstack", "GLIBC_2.41", False, False),
    ],
)
def test_an_executable_stack_by_the_release_of_glibc(
    tmp_path: Path, flag: str, release: str, tunable: bool, refused: bool
) -> None:
    script = tmp_path / "map"
    script.write_text(f"GLIBC_2.2.5 {{ f; }};\n{release} {{ }} GLIBC_2.2.5;\n")
    build.library(tmp_path / "libc.so.6", f"-Wl,--version-script={script}", source="void f(void) {}")
    top = build.library(tmp_path / "libstack.so", flag)
    search = LibrarySearch(ld_so_policy(str(tmp_path)))
    opener = Process(search, search.program(sys.executable), has_executable_stack=tunable)
    states = [(e.state, e.path) for e in opener.open(str(top))[1]]
    assert states == ([("executable stack", str(top))] if refused else [])


@pytest.mark.parametrize("style", ["gnu", "sysv", "both"])
def test_exports_by_either_table(tmp_path: Path, style: str) -> None:
    names = [f"function_{n}" for n in range(300)]
    source = "\n".join(f"int {n}(void) {{ return 1; }}" for n in names)
    path = build.library(tmp_path / "libmany.so", f"-Wl,--hash-style={style}", source=source)
    wanted = {n: gnu_hash(n) for n in (*names, "nothing", "function_300")}
    exports = Exports(str(path))
    assert exports.known
    assert set(exports.not_exported(wanted)) == {"nothing", "function_300"}


@pytest.mark.parametrize("piece", [700, 5000, 1 << 20])
def test_required_names_in_whatever_pieces_a_table_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("core.loader.symbols.NAMES_PIECE_BYTES", piece)
    monkeypatch.setattr("core.loader.symbols.FEW_NAMES", 1 << 20)
    names = [f"wanted_{'x' * n}" for n in range(0, 600, 7)]
    calls = "".join(f"extern int {n}(void); int call_{n}(void) {{ return {n}(); }}" for n in names)
    path = build.library(tmp_path / "libneedy.so", source=calls)
    found = [u.name for u in undefined_symbols(str(path)) or () if u.name.startswith("wanted")]
    assert sorted(found) == sorted(names)


def test_what_is_no_library_has_no_symbols(tmp_path: Path) -> None:
    path = tmp_path / "libtext.so"
    for content in (b"", b"hello", b"\x7fELF" + bytes(60), b"\x7fELF\2\1\1" + bytes([255] * 200)):
        path.write_bytes(content)
        assert not Exports(str(path)).known
        assert undefined_symbols(str(path)) == ()
        tables = version_tables(str(path))
        assert tables is None or not (tables.wanted or tables.offered)


def test_the_interpreter_itself_lacks_nothing() -> None:
    search = LibrarySearch(ld_so_policy())
    libc = Process(search, None)
    opened, edges = libc.open("libm.so.6")
    assert edges == []
    assert [gap for one in opened for gap in libc.unmet_versions(one)] == []


@pytest.mark.parametrize(
    ("preload", "how", "real"),
    [
        ("{there}", How.LD_PRELOAD, "hidden"),
        ("/nowhere/libx.so:{there}", How.LD_PRELOAD, "hidden"),
        ("/nowhere/libx.so {there}", How.LD_PRELOAD, "hidden"),
        ("/nowhere/libx.so", None, ""),
        ("", None, ""),
    ],
)
def test_what_ld_preload_names_is_there_before_all_else(
    tmp_path: Path, preload: str, how: How | None, real: str
) -> None:
    below = build.library(tmp_path / "hidden" / "libc3.so")
    top = build.library(tmp_path / "libb3.so", "-Wl,--no-as-needed", str(below))
    value = preload.format(there=below)
    made = process()
    made.preload(value)
    _opened, edges = made.open(str(top))
    provider = made.provider("libc3.so")
    assert [e.name for e in edges] == ([] if real else ["libc3.so"])
    assert (provider.taken.how if provider and provider.taken else None) is how
    code = f"import ctypes; ctypes.CDLL({str(top)!r})"
    done = subprocess.run([sys.executable, "-c", code], env={"LD_PRELOAD": value}, capture_output=True, check=False)
    assert (done.returncode == 0) == bool(real)
