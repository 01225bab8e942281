"""Who may change what: the verdict alone, on real owners, modes, links and access lists; and nobody can make it false."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host import ownership, provenance
from core.host.interface import Account
from core.host.provenance import Person, may_run, trusted_environment
from tests.malice.conftest import EVE, Box, as_eve, give, grant, needs_root
from tests.malice.planted import VERA

pytestmark = needs_root

ORDINARY = Person(trusted=frozenset({"uid:0", f"uid:{VERA}"}))
ROOT = Person(trusted=frozenset({"uid:0"}), elevated=True)
BEHIND = replace(ROOT, behind=Account(uid=VERA, gid=VERA))

SWAPS = """
import os, sys
for path in sys.argv[1:]:
    for act in (
        lambda: os.rename(path, path + "-"),
        lambda: os.unlink(path),
        lambda: open(path, "ab"),
        lambda: os.chmod(path, 0o777),
    ):
        try:
            act()
        except OSError:
            continue
        print("swapped", path)
"""


def made(box: Box, owner: int = 0, mode: int = 0o644) -> Path:
    file = box.root / "opt/lib/libcudnn.so.9"
    file.parent.mkdir()
    file.parent.chmod(0o755)
    file.write_bytes(b"")
    os.chown(file, owner, owner)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("person", [ORDINARY, ROOT, BEHIND], ids=["vera", "root", "sudo"])
def test_the_administrators_own_may_run(box: Box, person: Person, wanted: bool) -> None:
    verdict = may_run({str(made(box)): wanted}, person)
    assert (verdict.may, verdict.changeable, verdict.account) == (True, None, None)


def test_what_may_run_cannot_be_swapped_between_the_check_and_the_use(box: Box) -> None:
    file = made(box)
    (box.root / "opt/link").symlink_to(file.parent)
    way = ownership.who_can_write(str(box.root / "opt/link/libcudnn.so.9"))
    assert may_run({way[-1].path: False, str(box.root / "opt/link/libcudnn.so.9"): False}, ORDINARY).may
    done = as_eve(SWAPS, *(p.path for p in reversed(way) if p.path != "/"))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("person", "wanted", "may", "account"),
    [
        (ORDINARY, False, False, None),
        (ORDINARY, True, True, None),
        (ROOT, False, False, EVE),
        (ROOT, True, True, EVE),
        (BEHIND, False, False, EVE),
    ],
)
def test_hers(box: Box, person: Person, wanted: bool, may: bool, account: int | None) -> None:
    file = made(box, EVE)
    verdict = may_run({str(file): wanted}, person)
    assert verdict.may is may
    assert (verdict.account.uid if verdict.account else None) == account
    assert verdict.changeable is not None
    assert (verdict.changeable.path, verdict.changeable.owner) == (str(file), f"uid:{EVE}")
    assert verdict.changeable.mode == "0644"


@pytest.mark.parametrize("wanted", [True, False])
def test_the_persons_own_behind_sudo_runs_with_her_rights(box: Box, wanted: bool) -> None:
    verdict = may_run({str(made(box, VERA)): wanted}, BEHIND)
    assert verdict.may
    assert verdict.account
    assert verdict.account.uid == VERA


@pytest.mark.parametrize("mode", [0o666, 0o646])
def test_what_everybody_may_write_gets_nobodys_rights(box: Box, mode: int) -> None:
    for person in (ROOT, BEHIND):
        verdict = may_run(
            {str(made(box, mode=mode)) if person is ROOT else str(box.root / "opt/lib/libcudnn.so.9"): True}, person
        )
        assert (verdict.may, verdict.account) == (False, None)
    assert verdict.changeable
    assert verdict.changeable.writers == ("everyone",)


def test_two_accounts_are_one_too_many(box: Box) -> None:
    file = grant(made(box, EVE), VERA)
    assert not may_run({str(file): True}, ROOT).may
    other = made_beside(box, VERA)
    assert not may_run({str(file.parent / other): True, str(file): True}, ROOT).may


def made_beside(box: Box, owner: int) -> str:
    file = box.root / "opt/lib/libcudnn_ops.so.9"
    file.write_bytes(b"")
    os.chown(file, owner, owner)
    return file.name


def test_an_unwanted_file_beside_a_wanted_one_spoils_it(box: Box) -> None:
    file = made(box)
    other = give(file.parent / made_beside(box, EVE))
    assert may_run({str(file): True, str(other): True}, ORDINARY).may
    assert not may_run({str(file): True, str(other): False}, ORDINARY).may


def test_what_cannot_be_looked_at_is_others(box: Box) -> None:
    loop = box.root / "opt/loop"
    loop.symlink_to(loop)
    verdict = may_run({str(loop): False}, ORDINARY)
    assert not verdict.may
    assert not may_run({str(loop): True}, ROOT).may


def test_root_follows_only_what_is_roots(box: Box) -> None:
    hers, own = str(box.eve), str(box.root / "opt/cuda/lib64")
    env = {
        "LD_LIBRARY_PATH": f"{hers}:{own}",
        "LD_PRELOAD": f"{hers}/libcudnn_cnn.so.9",
        "PYTHONHOME": hers,
        "PATH": f"/usr/bin:{hers}",
        "LANG": "C",
        "EMPTY": "",
    }
    assert trusted_environment(env, ORDINARY) == env
    assert trusted_environment(env, ROOT) == {"LD_LIBRARY_PATH": own, "PATH": "/usr/bin", "LANG": "C", "EMPTY": ""}


def test_the_number_behind_sudo_only_takes_rights_away(monkeypatch: pytest.MonkeyPatch) -> None:
    for said in ("", "0", "-1", "x", "99999999999", "4294967295"):
        monkeypatch.setenv("SUDO_UID", said)
        assert provenance.this_person().behind is None
    monkeypatch.setenv("SUDO_UID", str(VERA))
    me = provenance.this_person()
    assert me.behind
    assert me.behind.uid == VERA
    assert me.trusted == ROOT.trusted


def test_on_windows_the_domains_administrators_are_administrators(monkeypatch: pytest.MonkeyPatch) -> None:
    me, other = "S-1-5-21-1-2-3-1001", "S-1-5-21-1-2-3-1002"
    person = Person(trusted=frozenset({"S-1-5-18", "S-1-5-32-544", me}))

    def way(*writers: str) -> tuple[ownership.PathPart, ...]:
        return (
            ownership.PathPart(path="C:\\", kind="folder", owner="S-1-5-18", writers=("S-1-5-11",)),
            ownership.PathPart(path="C:\\cudnn", kind="folder", owner=me, writers=writers, movers=writers),
            ownership.PathPart(path="C:\\cudnn\\cudnn64_9.dll", kind="file", owner=me),
        )

    monkeypatch.setattr(provenance.sys, "platform", "win32")
    for writers, may in (((), True), (("S-1-5-21-1-2-3-512",), True), (("S-1-5-11",), False), ((other,), False)):
        monkeypatch.setattr(ownership, "who_can_write", lambda _path, writers=writers: way(*writers))
        assert may_run({"C:\\cudnn\\cudnn64_9.dll": False}, person).may is may
        assert may_run({"C:\\cudnn\\cudnn64_9.dll": True}, person).may
