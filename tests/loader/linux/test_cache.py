"""ld.so.cache and ld.so.conf: what ldconfig wrote, the old format, hostile bytes."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.loader.linux.cache import conf_folders, parse_cache, read_cache
from core.loader.linux.search import LdSo, LibrarySearch
from core.model.facts import How
from tests.loader import build

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs gcc and ldconfig")


def ldconfig(root: Path, *arguments: str) -> None:
    program = shutil.which("ldconfig") or "/sbin/ldconfig"
    subprocess.run([program, "-r", str(root), "-X", *arguments], check=True, capture_output=True)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """A root with its own ld.so.conf, one library, and better ones for better processors."""
    (tmp_path / "etc/ld.so.conf.d").mkdir(parents=True)
    (tmp_path / "etc/ld.so.conf").write_text("include ld.so.conf.d/*.conf\n")
    (tmp_path / "etc/ld.so.conf.d/cuda.conf").write_text("# CUDA\n/opt/cuda/lib64\n")
    build.library(tmp_path / "opt/cuda/lib64/libx.so.1")
    for level in ("v2", "v3"):
        build.library(tmp_path / f"opt/cuda/lib64/glibc-hwcaps/x86-64-{level}/libx.so.1")
    return tmp_path


@linux
@pytest.mark.parametrize("form", ["new", "compat", "old"])
def test_what_ldconfig_writes_is_read(system: Path, form: str) -> None:
    ldconfig(system, "-c", form)
    entries = read_cache(root=str(system))
    assert entries is not None
    found = {(e.path.removeprefix("/opt/cuda/lib64/"), e.hwcaps) for e in entries if e.name == "libx.so.1"}
    levels = {(f"glibc-hwcaps/x86-64-{n}/libx.so.1", f"x86-64-{n}" if form != "old" else "") for n in ("v2", "v3")}
    assert found == {("libx.so.1", ""), *levels}
    assert {e.architecture for e in entries} == {"x86_64"}


@linux
@pytest.mark.parametrize(
    ("levels", "folder"), [((), "."), (("v2",), "glibc-hwcaps/x86-64-v2"), (("v3", "v2"), "glibc-hwcaps/x86-64-v3")]
)
def test_the_cache_gives_the_best_that_the_processor_is_fit_for(
    system: Path, levels: tuple[str, ...], folder: str
) -> None:
    ldconfig(system)
    policy = LdSo(
        root=str(system),
        cache=read_cache(root=str(system)) or (),
        subfolders=tuple(f"glibc-hwcaps/x86-64-{level}" for level in levels),
    )
    winner = LibrarySearch(policy).resolve("libx.so.1").winner
    assert winner
    assert winner.how is How.LD_CACHE
    assert winner.path == str(Path("/opt/cuda/lib64", folder, "libx.so.1"))


@linux
def test_a_stale_cache_names_a_file_that_is_gone(system: Path) -> None:
    ldconfig(system)
    (system / "opt/cuda/lib64/libx.so.1").unlink()
    found = LibrarySearch(LdSo(root=str(system), cache=read_cache(root=str(system)) or ())).resolve("libx.so.1")
    assert [(a.how, a.outcome) for a in found.attempts][:1] == [(How.LD_CACHE, "not there")]


@linux
@pytest.mark.parametrize(("first", "second"), [("found", "found"), ("not there", "passed over")])
def test_of_two_files_in_the_cache_the_loader_tries_the_first_alone(system: Path, first: str, second: str) -> None:
    build.library(system / "opt/new/libx.so.1")
    (system / "etc/ld.so.conf.d/new.conf").write_text("/opt/new\n")
    ldconfig(system)
    if first == "not there":
        (system / "opt/cuda/lib64/libx.so.1").unlink()
    found = LibrarySearch(LdSo(root=str(system), cache=read_cache(root=str(system)) or ())).resolve("libx.so.1")
    seen = [(a.path, a.outcome) for a in found.attempts if a.how is How.LD_CACHE]
    assert seen == [("/opt/cuda/lib64/libx.so.1", first), ("/opt/new/libx.so.1", second)]


def test_includes_comments_and_loops(tmp_path: Path) -> None:
    etc = tmp_path / "etc"
    (etc / "more").mkdir(parents=True)
    (etc / "ld.so.conf").write_text(
        "include more/*.conf\ninclude /etc/absolute.conf\n/last:/other,/third\nhwcap 1 x\nrelative\n"
    )
    (etc / "more/b.conf").write_text("/b # why\n")
    (etc / "more/a.conf").write_text("/a=libc6\ninclude ../ld.so.conf\ninclude a.conf\n")
    (etc / "absolute.conf").write_text("/absolute\n")
    found = conf_folders(root=str(tmp_path))
    assert [f.path for f in found][:3] == ["/a", "/b", "/absolute"]
    assert [f.path for f in found][-3:] == ["/last", "/other", "/third"]
    assert found[1].source == "/etc/more/b.conf:1"


def test_no_cache_and_no_conf(tmp_path: Path) -> None:
    assert read_cache(root=str(tmp_path)) is None
    assert conf_folders(root=str(tmp_path)) == ()
    assert parse_cache(b"something else") is None


def _cache() -> bytes:
    strings = b"liba.so.1\0/usr/lib/liba.so.1\0"
    head = b"glibc-ld.so.cache1.1" + struct.pack("<IIB3xI12x", 1, len(strings), 2, 0)
    return head + struct.pack("<IIIIQ", 0x303, 72, 82, 0, 0) + strings


def test_a_cache_written_by_hand() -> None:
    entries = parse_cache(_cache())
    assert entries is not None
    assert [(e.name, e.path) for e in entries] == [("liba.so.1", "/usr/lib/liba.so.1")]


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 130), st.sampled_from([b"", b"ld.so-1.7.0\0", b"glibc-ld.so.cache1.1"]))
def test_hostile_caches_give_entries_or_nothing(junk: bytes, at: int, magic: bytes) -> None:
    for data in (magic + junk, _cache()[:at] + junk + _cache()[at + len(junk) :]):
        for entry in parse_cache(data) or ():
            assert entry.name
            assert entry.path.startswith("/")


def test_two_stars_of_an_include_are_one(tmp_path: Path) -> None:
    """As to glob(3): a pattern of an image does not have the whole image searched."""
    for place in ("etc/a/x.conf", "etc/a/b/y.conf"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(f"/{Path(place).stem}\n")
    (tmp_path / "etc/ld.so.conf").write_text("include /etc/**/*.conf\n")
    assert [f.path for f in conf_folders(root=str(tmp_path))] == ["/x"]
