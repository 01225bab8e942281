"""What a file has beside its bytes survives a cure and its undoing: owner, mode, access list, attributes, hard links."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host import file_attributes, safe_folder
from core.model.changes import FileSet, SetVariable, Value
from core.transaction.execute import Plan, execute, undo
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables
from tests.fixing.conftest import item, memory

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners, modes and access lists as Linux has them")
needs_root = pytest.mark.skipif(sys.platform == "win32" or os.getuid() != 0, reason="owners are given by root alone")

LIB = "lib/libcudnn_ops.so.9.1"
ACCESS = "system.posix_acl_access"


def access_list(uid: int) -> bytes:
    nobody = 0xFFFFFFFF
    rows = [(1, 6, nobody), (2, 4, uid), (4, 4, nobody), (0x10, 4, nobody), (0x20, 0, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


def everything(path: Path) -> file_attributes.FileAttributes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return file_attributes.read_attributes(fd)
    finally:
        os.close(fd)


def replaced(root: Path, *names: str) -> Plan:
    items = tuple(item(root, name, "source/libcudnn_ops.so.9.1") for name in names or (LIB,))
    return Plan(title="t", changes=(FileSet(title="t", items=items),))


def done(plan: Plan, journal: Journal) -> str:
    outcome = execute(plan, writer=memory(), journal=journal)
    assert outcome.kind == "done", outcome
    return outcome.entry


def undone(entry: str, journal: Journal) -> None:
    outcome = undo(entry, writer=memory(), journal=journal)
    assert outcome.kind == "undone", outcome


@pytest.fixture(params=[0o022, 0o077, 0o002], ids=oct)
def mask(request: pytest.FixtureRequest) -> object:
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


@pytest.mark.usefixtures("mask")
def test_a_new_library_can_be_loaded_by_everybody_under_any_umask(machine: Path, journal: Journal) -> None:
    change = FileSet(
        title="t",
        folders=(str(machine / "own"), str(machine / "own/lib")),
        items=(
            item(machine, "own/lib/libcudnn.so.9.1", "source/libcudnn.so.9.1"),
            item(machine, "lib/a.pth", text="x\n"),
        ),
    )
    done(Plan(title="t", changes=(change,)), journal)
    found = {
        p: (machine / p).stat().st_mode & 0o7777 for p in ("own", "own/lib", "own/lib/libcudnn.so.9.1", "lib/a.pth")
    }
    assert found == {"own": 0o755, "own/lib": 0o755, "own/lib/libcudnn.so.9.1": 0o644, "lib/a.pth": 0o644}
    state = Path(journal.folder)
    assert (state.stat().st_mode & 0o777, (state / "lock").stat().st_mode & 0o777) == (0o700, 0o600)
    assert {p.stat().st_mode & 0o777 for p in (state / "entries").iterdir()} == {0o644}


@pytest.mark.usefixtures("mask")
def test_a_replaced_file_keeps_what_it_has(machine: Path, journal: Journal) -> None:
    lib = machine / LIB
    lib.chmod(0o640)
    os.setxattr(lib, "user.origin", b"by hand")
    os.setxattr(lib, ACCESS, access_list(1234))
    os.utime(lib, ns=(10**18, 10**18))
    if os.getuid() == 0:
        os.chown(lib, 1234, 2345)
        os.chown(lib.parent, 1234, 2345)
    before = everything(lib)
    entry = done(replaced(machine), journal)
    after = everything(lib)
    assert after == replace(file_attributes.for_other_bytes(before), modified=after.modified)
    assert after.modified != before.modified
    undone(entry, journal)
    assert everything(lib) == before


@pytest.mark.parametrize("links", [0, 1])
def test_undo_gives_the_very_file_back_with_all_its_names(machine: Path, journal: Journal, links: int) -> None:
    lib = machine / LIB
    for n in range(links):
        os.link(lib, machine / f"lib/cache-{n}")
    before = lib.stat()
    entry = done(replaced(machine), journal)
    assert lib.stat().st_ino != before.st_ino
    undone(entry, journal)
    assert lib.stat().st_ino == before.st_ino
    assert all((machine / f"lib/cache-{n}").samefile(lib) for n in range(links))


def test_where_another_name_was_written_since_the_bytes_come_from_the_copy(machine: Path, journal: Journal) -> None:
    lib, cache = machine / LIB, machine / "lib/cache"
    os.link(lib, cache)
    before = lib.read_bytes()
    entry = done(replaced(machine), journal)
    cache.write_bytes(b"another")
    undone(entry, journal)
    assert (lib.read_bytes(), cache.read_bytes()) == (before, b"another")


def test_two_files_of_the_same_bytes_get_each_their_own_back(machine: Path, journal: Journal) -> None:
    other = machine / "lib/copy.so"
    other.write_bytes((machine / LIB).read_bytes())
    (machine / LIB).chmod(0o600)
    other.chmod(0o644)
    entry = done(replaced(machine, LIB, "lib/copy.so"), journal)
    undone(entry, journal)
    assert [p.stat().st_mode & 0o777 for p in (machine / LIB, other)] == [0o600, 0o644]
    assert not other.samefile(machine / LIB)


@needs_root
def test_what_root_makes_below_a_user_s_folder_is_the_user_s(machine: Path, journal: Journal) -> None:
    os.chown(machine / "lib", 1234, 2345)
    change = FileSet(
        title="t",
        folders=(str(machine / "lib/own"),),
        items=(item(machine, "lib/own/libcudnn.so.9.1", "source/libcudnn.so.9.1"),),
    )
    done(Plan(title="t", changes=(change,)), journal)
    found = {(p.stat().st_uid, p.stat().st_gid) for p in (machine / "lib/own", machine / "lib/own/libcudnn.so.9.1")}
    assert found == {(1234, 2345)}


@needs_root
def test_what_the_owner_could_not_read_is_taken_back(machine: Path, journal: Journal) -> None:
    """A file of root's that nobody else may read, in a user's folder; what replaces it would be the same."""
    os.chown(machine / "lib", 1234, 2345)
    (machine / LIB).chmod(0o600)
    before = (machine / LIB).stat().st_ino
    outcome = execute(replaced(machine), writer=memory(), journal=journal)
    assert (outcome.kind, "is not readable for the owner" in outcome.sentence) == ("rolled back", True)
    assert (machine / LIB).stat().st_ino == before


@needs_root
def test_the_rights_of_a_program_s_bytes_go_to_no_other_bytes(machine: Path, journal: Journal) -> None:
    lib = machine / LIB
    capability = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
    os.setxattr(lib, file_attributes.CAPABILITY_ATTRIBUTE, capability)
    entry = done(replaced(machine), journal)
    assert file_attributes.CAPABILITY_ATTRIBUTE not in os.listxattr(lib)
    undone(entry, journal)
    assert os.getxattr(lib, file_attributes.CAPABILITY_ATTRIBUTE) == capability


def test_a_file_of_variables_keeps_what_it_has(tmp_path: Path, journal: Journal) -> None:
    file = tmp_path / "etc/environment"
    file.parent.mkdir()
    file.write_text("A=1\n")
    os.setxattr(file, "user.origin", b"by hand")
    os.setxattr(file, ACCESS, access_list(1234))
    before = everything(file)
    change = SetVariable(name="CUDA_HOME", scope="machine", after=Value(text="/usr"))
    writer = LinuxVariables(str(tmp_path), str(tmp_path / "home"))
    assert execute(Plan(title="t", changes=(change,)), writer=writer, journal=journal).kind == "done"
    assert replace(everything(file), modified=0) == replace(before, modified=0)


def test_a_file_that_changes_while_it_is_read_is_refused(
    machine: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its signature is taken before its hash: bytes that come in between are nobody's to replace."""
    real = safe_folder.SafeFolder.state
    stray = machine / "lib/stray.so"

    def state(self: safe_folder.SafeFolder, name: str) -> str:
        found = real(self, name)
        if name == stray.name and list(journal.unfinished()):
            stray.write_bytes(b"newer")
        return found

    monkeypatch.setattr(safe_folder.SafeFolder, "state", state)
    plan = Plan(title="t", changes=(FileSet(title="t", items=(item(machine, "lib/stray.so"),)),))
    outcome = execute(plan, writer=memory(), journal=journal)
    assert outcome.kind != "done"
    assert stray.read_bytes() == b"newer"
