"""What is kept between runs: nobody else's is read, and nothing is written where somebody else could change it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.host.own_cache import cache_folder, read_cached, write_cached
from tests.malice.conftest import ROOT, Box, give, grant, needs_root

pytestmark = needs_root

LIMIT = 100


@pytest.fixture
def folder(box: Box, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The administrator's own cache with a file in it, as the program made it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(box.root / "home/root/.cache"))
    write_cached("files", b"ours")
    return Path(cache_folder())


def of_eve(path: Path) -> None:
    give(path)


def linked(path: Path) -> None:
    target = path.parent / "target"
    target.write_bytes(b"another file")
    path.unlink()
    path.symlink_to(target)


def moved(folder: Path) -> None:
    """She has put her own folder in its place, which was hers to change."""
    folder.rename(folder.with_name("old"))
    folder.symlink_to(give(folder.parents[3] / "eve"))


FOLDERS: dict[str, Callable[[Path], object]] = {
    "her folder": of_eve,
    "her folder above": lambda folder: give(folder.parent),
    "anybody may write it": lambda folder: folder.chmod(0o777),
    "a group may write it": lambda folder: (os.chown(folder, 0, 54_321), folder.chmod(0o770)),
    "an access list lets her write": grant,
    "a link to her folder": moved,
}


@pytest.mark.parametrize("plant", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_that_another_account_can_change_is_neither_read_nor_written(
    plant: Callable[[Path], object], folder: Path
) -> None:
    assert read_cached("files", LIMIT) == b"ours"
    plant(folder)
    before = sorted(folder.iterdir())
    assert read_cached("files", LIMIT) == b""
    write_cached("files", b"news")
    assert sorted(folder.iterdir()) == before
    assert b"news" not in [f.read_bytes() for f in folder.iterdir()]


FILES: dict[str, Callable[[Path], object]] = {
    "her file": of_eve,
    "anybody may write it": lambda file: file.chmod(0o666),
    "a link": linked,
    "a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "too long": lambda file: file.write_bytes(bytes(LIMIT + 1)),
}


@pytest.mark.parametrize("plant", FILES.values(), ids=FILES)
def test_a_file_that_is_not_plainly_ours_is_not_read(plant: Callable[[Path], object], folder: Path) -> None:
    plant(folder / "files")
    assert read_cached("files", LIMIT) == b""


@pytest.mark.parametrize("name", [n for n in FILES if n != "a folder"])
def test_it_is_written_anew_and_what_a_link_leads_to_stays(name: str, folder: Path) -> None:
    FILES[name](folder / "files")
    write_cached("files", b"news")
    assert read_cached("files", LIMIT) == b"news"
    if (target := folder / "target").exists():
        assert target.read_bytes() == b"another file"


def test_nobody_else_can_read_it(folder: Path) -> None:
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (folder, folder / "files")]
    assert modes == [0o700, 0o600]


def test_an_administrator_with_another_accounts_home_reads_and_leaves_nothing_there(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(box.eve))
    planted = box.eve / ".cache/convalesce/reads"
    planted.mkdir(parents=True)
    (planted / "files").write_bytes(b"evil")
    for place in (planted / "files", planted, *planted.parents[:2]):
        give(place)
    assert read_cached("files", LIMIT) == b""
    write_cached("files", b"news")
    assert (planted / "files").read_bytes() == b"evil"
    assert [f.name for f in planted.iterdir()] == ["files"]


def test_an_account_without_a_home_keeps_nothing(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(box.root / "nowhere"))
    write_cached("files", b"news")
    assert read_cached("files", LIMIT) == b""
    assert not (box.root / "nowhere").exists()


def test_a_home_that_may_not_be_entered_is_no_error(box: Box) -> None:
    """As another account with the administrator's HOME, which sudo -u may leave."""
    (box.root / "home/root").chmod(0o700)
    code = "import os; os.setuid(54_321); from core.host.own_cache import read_cached; print(read_cached('files', 9))"
    env = {**os.environ, "HOME": str(box.root / "home/root"), "PYTHONPATH": str(ROOT)}
    env.pop("XDG_CACHE_HOME", None)
    done = subprocess.run([sys.executable, "-c", "import platformdirs.unix, core.host.own_cache;" + code], env=env,
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert (done.stdout, done.stderr) == ("b''\n", "")
