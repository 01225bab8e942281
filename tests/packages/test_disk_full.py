"""The disk is full at each stage of a change of packages: the old ones or the new ones, nothing between, and the reason is told.

The environment, its home and everything temporary lie on a small file system in a mount namespace of its own, which a file
fills but for a few bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.doctor import repair
from core.model.changes import ChangeError
from core.transaction import package_exchange
from core.transaction.execute import recover
from core.transaction.variable_store import error_sentence
from tests.packages.conftest import Bench, make_bench, tree

CUDA = {"remove": ("torch",), "install": ("torch==2.8.0+cu128",)}
MOUNT = 'mount -t tmpfs -o size=256m,mode=700 tmpfs "$1" && shift && exec "$@"'
CANNOT = "no file system of one's own here"
WHILE_PREPARING = (0, 40, 400, 1600)
"""KiB that are left free."""
WHILE_APPLYING = (0, 8, 32)


@contextmanager
def filled(base: Path, free: int) -> Iterator[None]:
    """Leave so many KiB of the file system free."""
    ballast = base / "ballast"
    about = os.statvfs(base)
    with ballast.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, max(1, about.f_bavail * about.f_frsize - free * 1024))
    try:
        yield
    finally:
        ballast.unlink()


def check(bench: Bench, base: Path) -> None:
    """Fill the disk in each stage; what is left must be whole."""
    before = tree(bench.prefix)
    told: list[str] = []
    stages = {"not prepared": 0, "not applied": 0, "not undone": 0}
    for free in WHILE_PREPARING:
        with filled(base, free):
            try:
                made = bench.prepared(**CUDA)
            except (ChangeError, OSError) as e:
                stages["not prepared"] += 1
                told.append(error_sentence(e))
            else:
                repair.discard_prepared(made, bench.shop)
        recover(writer=bench.shop.writer, journal=bench.shop.journal)
        assert tree(bench.prefix) == before, f"{free} KiB free while preparing"
        assert not (bench.prefix / package_exchange.TWINS).exists()
    for free in WHILE_APPLYING:
        proposal = bench.prepared(**CUDA)
        with filled(base, free):
            done = bench.apply(proposal)
            whole = tree(bench.prefix) != before if done.kind == "done" else tree(bench.prefix) == before
        assert whole or done.kind == "stuck", f"{free} KiB free while applying: {done}"
        stages["not applied"] += done.kind != "done"
        assert done.sentence
        recover(writer=bench.shop.writer, journal=bench.shop.journal)
        if done.kind != "done":
            repair.discard_prepared(proposal, bench.shop)
        else:
            stages["not undone"] += not undone(bench, base, done.entry, free)
        assert tree(bench.prefix) == before, f"{free} KiB free while applying: {done}"
    assert stages["not prepared"] > 0, stages
    assert all("space" in words.lower() for words in told), told
    assert stages["not applied"] > 0, stages
    print(stages)


def undone(bench: Bench, base: Path, entry: str, free: int) -> bool:
    """Take an entry back with a full disk, and again with space where that could not be done; return whether it could."""
    with filled(base, free):
        first = repair.undo(entry, bench.shop)
    recover(writer=bench.shop.writer, journal=bench.shop.journal)
    if first.kind == "undone":
        return True
    assert first.sentence
    known = {e.id: getattr(e, "state", "") for e in bench.shop.journal.entries()}
    if known[entry] == "done":
        assert repair.undo(entry, bench.shop).kind == "undone"
    return False


@pytest.mark.skipif(sys.platform == "win32", reason="a mount namespace is Linux' own")
def test_a_full_disk_leaves_the_old_packages_or_the_new_ones(tmp_path: Path, ready: Path) -> None:
    rights = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", "--mount", *rights, "sh", "-c", MOUNT, "sh", str(tmp_path)]
    probe = subprocess.run([*command, "true"], check=False, capture_output=True)
    if probe.returncode:
        pytest.skip(CANNOT)
    run = [sys.executable, "-m", "tests.packages.test_disk_full", str(tmp_path), str(ready)]
    done = subprocess.run(
        [*command, *run], check=False, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    check(make_bench(Path(sys.argv[1]), Path(sys.argv[2])), Path(os.path.realpath(sys.argv[1])))
