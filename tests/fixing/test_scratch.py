"""Scratch folders: nothing is left after any end, a kill included; what is in use, or another's, stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.host import scratch
from core.transaction.execute import recover
from core.transaction.journal import Journal
from tests.fixing.conftest import memory

CODE = (
    "import os, signal, sys; from core.host import scratch; place = scratch.make_scratch(sys.argv[1]); (place / 'x').write_text('x'); "
    "print(place, flush=True); "
)
ENDS = {
    "the end": ("", True),
    "an exception": ("raise RuntimeError", True),
    "sys.exit": ("sys.exit(3)", True),
    "a kill": ("os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))", False),
    "_exit": ("os._exit(0)", False),
}


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_after_any_end(tmp_path: Path, end: str) -> None:
    code, at_once = ENDS[end]
    subprocess.run([sys.executable, "-c", CODE + code, str(tmp_path)], check=False, capture_output=True)
    assert bool(list(tmp_path.iterdir())) is not at_once
    scratch.clear_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_in_use_stays(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE + "sys.stdin.read()", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    place = Path(process.stdout.readline().strip())
    scratch.clear_abandoned(tmp_path)
    assert (place / "x").read_text() == "x"
    process.communicate("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="another's files are made by root alone")
def test_another_s_folder_and_a_link_of_that_name_stay(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "x").write_text("x")
    (tmp_path / "convalesce-00000000").symlink_to(precious)
    theirs = tmp_path / "convalesce-11111111"
    theirs.mkdir()
    os.chown(theirs, 54_321, 54_321)
    scratch.clear_abandoned(tmp_path)
    assert (precious / "x").exists()
    assert theirs.exists()


@pytest.mark.filterwarnings("error")
def test_one_that_goes_meanwhile_does_not_keep_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process removes its own while this one looks."""
    for n in range(3):
        (tmp_path / f"convalesce-0000000{n}").mkdir()
    real, gone = scratch._is_mine, []

    def look(entry: os.DirEntry[str]) -> bool:
        if not gone:
            gone.append(entry.name)
            Path(entry.path).rmdir()
        return real(entry)

    monkeypatch.setattr(scratch, "_is_mine", look)
    scratch.clear_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_next_start_clears_the_history_s_staging(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "state")
    journal.staging.mkdir(parents=True, mode=0o700)
    code = CODE + "os._exit(0)"
    subprocess.run([sys.executable, "-c", code, str(journal.staging)], check=True, capture_output=True)
    assert recover(writer=memory(), journal=journal) == ()
    assert list(journal.staging.iterdir()) == []
