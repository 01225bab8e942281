"""A machine with two accounts: the administrator, who runs the tests, and Eve, who wants to become one."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.model.changes import Change
from core.transaction.broker import closed_list, ground
from core.transaction.elevation import ElevationOrder, write_order
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables

EVE = 54_321
"""An account of her own; no row in the list of accounts is needed for that."""
ROOT = Path(__file__).parents[2]

needs_root = pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0, reason="a second account can only be played by root"
)


def give(path: Path | str) -> Path:
    """Give a file, a folder or a link to Eve."""
    os.chown(path, EVE, EVE, follow_symlinks=False)
    return Path(path)


def grant(path: Path | str, uid: int = EVE) -> Path:
    """Let a user write a folder or file by its access list alone: its owner and its rights for all stay."""
    nobody = 0xFFFFFFFF
    rows = [(1, 7, nobody), (2, 7, uid), (4, 5, nobody), (0x10, 7, nobody), (0x20, 5, nobody)]
    data = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)
    os.setxattr(path, "system.posix_acl_access", data)
    return Path(path)


def shared_folder(path: Path) -> Path:
    """Make a folder like /tmp: every account may write there, and remove its own files alone."""
    path.mkdir(parents=True)
    path.chmod(0o1777)
    return path


def as_eve(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a few lines of Python as Eve, by the system's own interpreter."""
    return subprocess.run(
        ["/usr/bin/env", "python3", "-c", code, *arguments],
        user=EVE,
        group=EVE,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
    )


class Box:
    """A machine's tree in a folder that is root's on the whole way and that Eve can reach, with a corner of her own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("etc", "opt/cuda/bin", "opt/cuda/lib64", "opt/spare", "home/root"):
            (root / name).mkdir(parents=True)
        (root / "etc/environment").write_text("PATH=/usr/bin:/bin\nCUDA_VISIBLE_DEVICES=-1\n")
        (root / "opt/cuda/lib64/libcudnn_cnn.so.9").write_bytes(b"cut")
        (root / "opt/spare/libcudnn_cnn.so.9").write_bytes(b"whole")
        self.eve = root / "home/eve"
        self.eve.mkdir()
        (self.eve / "libcudnn_cnn.so.9").write_bytes(b"evil")
        give(self.eve)
        give(self.eve / "libcudnn_cnn.so.9")
        for place in (root, *root.rglob("*")):
            place.chmod(0o755 if place.is_dir() else 0o644)
        self.writer = LinuxVariables(str(root), str(root / "home/root"))
        self.mine = Journal(root / "var/orders")
        self.machines = Journal(root / "var/machine", shared=True)

    def order(self, order: ElevationOrder) -> tuple[str, str]:
        return write_order(order, self.mine)

    def allowed(self, *changes: Change, back: bool = False) -> tuple[str, ...]:
        return closed_list.refusal_sentences(changes, ground.RealGround(), back=back)


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    quick = Path("/dev/shm")  # no disk is waited for
    root = Path(tempfile.mkdtemp(prefix="convalesce-malice-", dir=quick if quick.is_dir() else "/var/tmp"))
    monkeypatch.setattr(ground, "LINUX_FOLDERS", (str(root / "opt"),))
    try:
        yield Box(root)
    finally:
        shutil.rmtree(root)


@pytest.fixture
def marks(box: Box) -> Path:
    """Return a folder in which any account can leave a file that shows that its code ran."""
    return shared_folder(box.root / "marks")
