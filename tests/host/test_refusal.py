"""Each refusal names its true reason: mode, owner, access list, mount, flag, container, policy."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.host import ownership, refusal
from core.host.refusal import why_refused
from core.transaction.variable_store import not_changeable
from tests.malice.conftest import EVE, give, grant, needs_root

READ_ONLY, PLAIN, FOLDER = 0x01, 0x80, 0x10
"""FILE_ATTRIBUTE_READONLY, _NORMAL, _DIRECTORY: winnt.h."""
ON_WINDOWS: tuple[tuple[int, refusal.Wish, bool, str], ...] = (
    (READ_ONLY, "change", False, "it has the read-only attribute"),
    (READ_ONLY, "read", False, "its access list does not allow it, or another program has it open for itself alone"),
    (READ_ONLY | FOLDER, "change", True, "its access list does not allow it"),
    (READ_ONLY | FOLDER, "enter", True, "its access list does not allow it"),
    (PLAIN, "change", False, "its access list does not allow it"),
    (PLAIN, "read", False, "its access list does not allow it, or another program has it open for itself alone"),
    (FOLDER, "read", True, "its access list does not allow it"),
)


@pytest.mark.parametrize(("attributes", "wish", "folder", "words"), ON_WINDOWS)
def test_on_windows_the_attributes_tell(attributes: int, wish: refusal.Wish, folder: bool, words: str) -> None:
    assert refusal.windows_reason(attributes, wish, folder=folder) == words


def test_whatever_the_system_answers_instead_of_a_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_path: str, _wish: refusal.Wish) -> str:
        raise OSError(5, "Access is denied", "C:\\x")

    monkeypatch.setattr(refusal, "_own", gone)
    assert why_refused("/", "change") == "the system answered: Access is denied"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    for folder in (tmp_path, *list(tmp_path.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    file = tmp_path / "libcudnn.so.9"
    file.write_bytes(b"x")
    yield file
    subprocess.run(["chattr", "-i", "-a", file], check=False, capture_output=True)


def as_eve(path: Path, wish: refusal.Wish) -> str:
    """Ask as Eve, in this process."""
    os.setegid(EVE)
    os.seteuid(EVE)
    groups = os.getgroups()
    try:
        return why_refused(str(path), wish)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def closed(file: Path) -> None:
    file.parent.chmod(0o700)


def listed(file: Path) -> None:
    grant(file, 4711)
    file.chmod(0o640)


CASES: dict[str, tuple[Callable[[Path], object], refusal.Wish, str]] = {
    "mode": (lambda f: f.chmod(0o640), "read", "it belongs to root and has the mode 0640"),
    "owner": (lambda f: f.chmod(0o644), "change", "it belongs to root and has the mode 0644"),
    "own mode": (lambda f: (give(f), f.chmod(0o444)), "change", f"it belongs to {EVE} and has the mode 0444"),
    "access list": (listed, "read", "it belongs to root, has the mode 0640 and an access list (getfacl)"),
    "folder": (closed, "read", "the folder {folder} is closed to this user: it belongs to root and has the mode 0700"),
    "nothing of these": (
        lambda f: f.chmod(0o666), "change",
        "its owner and mode allow it, so a policy of the system (SELinux, AppArmor, a container's) or a file server refuses it",
    ),
    "gone": (lambda f: f.unlink(), "read", "the system answered: No such file or directory"),
}  # fmt: skip


@needs_root
@pytest.mark.parametrize("name", CASES)
def test_the_reason_is_the_true_one(name: str, place: Path) -> None:
    make, wish, words = CASES[name]
    make(place)
    try:
        assert as_eve(place, wish) == words.format(folder=place.parent)
    finally:
        place.parent.chmod(0o755)


@needs_root
def test_a_file_of_another_container(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusal, "outside_accounts", lambda: frozenset({f"uid:{place.stat().st_uid}"}))
    place.chmod(0o600)
    assert as_eve(place, "read") == "it belongs to an account outside this container (mode 0600)"


@needs_root
@pytest.mark.parametrize(
    ("flag", "words"), [(0x10, "it is immutable (chattr +i)"), (0x20, "it may only be appended to (chattr +a)")]
)
def test_a_flag(flag: int, words: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container is refused the flag, so only its answer is made up."""
    monkeypatch.setattr(refusal, "_flags", lambda _path: flag)
    assert why_refused(str(place), "change") == words


@needs_root
def test_a_mount_without_writing() -> None:
    there = next(
        (
            m.split()[4]
            for m in Path("/proc/self/mountinfo").read_text().splitlines()
            if "ro" in m.split()[5].split(",")
        ),
        "",
    )
    assert there, "every system has one: /sys in a container, /snap, /boot/efi"
    assert why_refused(there, "change") == "its file system is mounted read-only"
    assert not_changeable(there, there) == f"{there} cannot be changed: its file system is mounted read-only."


@needs_root
def test_real_flags_are_read(place: Path) -> None:
    assert refusal._flags(str(place)) & 0x30 == 0
    if subprocess.run(["chattr", "+i", place], check=False, capture_output=True).returncode == 0:
        assert why_refused(str(place), "change") == "it is immutable (chattr +i)"


@needs_root
def test_a_right_by_the_access_list_is_no_reason(place: Path) -> None:
    grant(place)
    found = place.stat()
    assert ownership.allows(str(place), found, EVE, frozenset({EVE}), 2)
