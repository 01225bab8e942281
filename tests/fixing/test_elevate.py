"""Elevation: the confirmed plan and nothing else; tampered, foreign and loose orders are refused with nothing changed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from core.common import i18n
from core.host import ownership
from core.host.interface import CompletedProcess
from core.host.linux.host import LinuxHost
from core.host.policy import UNDECIDED, Policy
from core.model import changes
from core.model.changes import Change, FileItem, FileSet, SetVariable, Value
from core.transaction import elevation
from core.transaction.broker import ground
from core.transaction.elevation import ElevationOrder
from core.transaction.execute import Outcome, Plan
from core.transaction.journal import Entry, Journal
from core.transaction.variable_store import LinuxVariables
from tests.fixing.conftest import item, tree
from tests.transaction.memory_store import MemoryWriter

OLD = Value(text="/a:/b")
CUDA_PATH = SetVariable(name="CUDA_PATH", scope="machine", before=None, after=Value(text="/usr/local"))


def entry(folder: str, name: str = "PATH", scope: changes.PersistentScope = "machine") -> Change:
    return changes.insert_entry(OLD, folder, 0, "linux", name=name, scope=scope)


def file(path: str, **fields: str) -> Change:
    return FileSet(title="t", items=(FileItem(path=path, **({"before": "0" * 64} | fields)),))


@pytest.mark.parametrize(
    "change",
    [
        CUDA_PATH,
        entry("/usr/local/bin"),
        file("/usr/lib/x86_64-linux-gnu/libcudnn_ops.so.9"),
        file("/usr/local/cuda-12.4/lib64/libcublasLt.so.12.4.5.8"),
        file("/opt/thing/cudnn64_8.dll"),
    ],
)
def test_listed_kinds_and_targets_are_taken(change: Change) -> None:
    assert elevation.not_allowed((change,), {}) == ()


@pytest.mark.parametrize(
    "change",
    [
        SetVariable(name="PATH", scope="machine", after=Value(text="/evil")),
        SetVariable(name="LD_PRELOAD", scope="machine", after=Value(text="/evil.so")),
        SetVariable(name="BASH_ENV", scope="machine", after=Value(text="/evil.sh")),
        SetVariable(name="CUDA_PATH", scope="user", after=Value(text="/x")),
        SetVariable(name="CUDA_PATH", scope="environment", at="/venv", after=Value(text="unset")),
        entry("/usr/local/bin", name="PYTHONPATH"),
        entry("/usr/local/bin", scope="user"),
        file("/etc/passwd"),
        file("/etc/libcudnn.so.9"),
        file("/usr/lib/libc.so.6"),
        file("/usr/lib/../../etc/libcudnn.so.9"),
        file("/usr/libexec/libcudnn.so.9"),
        file("/home/me/libcudnn.so.9"),
        file("libcudnn.so.9"),
        FileSet(title="t", folders=("/etc/cudnn",), items=()),
    ],
    ids=lambda c: " ".join(c.lines()[:2]),
)
def test_everything_else_is_refused(change: Change) -> None:
    [row] = elevation.not_allowed((change,), {})
    assert row.endswith(".")


def test_a_folder_of_an_ordinary_user_never_goes_on_everybodys_path(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    give(tmp_path / "mine", 1000, 1000)
    [row] = elevation.not_allowed((entry(str(tmp_path / "mine")),), {})
    assert "ordinary users" in row


# --- the order ---------------------------------------------------------------------------------------------------


def give(path: Path | str, user: int, group: int) -> None:
    """Give a file to somebody else, which only an administrator can; for anybody else the test's files are foreign to 0."""
    if os.geteuid() == 0:
        os.chown(path, user, group)


class Machine:
    """A machine whose files of assignments and journals lie in a test's folder."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        (self.root / "etc").mkdir()
        (self.root / "etc/environment").write_text("LANG=C\n")
        self.writer = LinuxVariables(str(self.root), str(self.root / "home"))
        self.mine = Journal(self.root / "mine")
        self.machines = Journal(self.root / "machine")

    def carry_out(self, path: str, digest: str, policy: Policy = UNDECIDED, **env: str) -> Outcome:
        return elevation.execute_order(
            path,
            digest,
            writer=self.writer,
            journal=self.machines,
            env={"PKEXEC_UID": str(os.getuid()), **env},
            agreed=lambda _rows: "",
            policy=policy,
        )


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    me = f"uid:{os.getuid()}"  # whoever runs the tests is the administrator of this machine
    monkeypatch.setattr(ownership, "ADMINISTRATORS", ownership.ADMINISTRATORS | {me})
    return Machine(tmp_path)


def test_the_confirmed_plan_is_carried_out_and_undone(box: Machine) -> None:
    path, digest = elevation.write_order(
        ElevationOrder(plan=Plan(title="Repair CUDA_PATH", changes=(CUDA_PATH,))), box.mine
    )
    done = box.carry_out(path, digest)
    assert done.kind == "done", done
    assert (box.root / "etc/environment").read_text() == "LANG=C\nCUDA_PATH=/usr/local\n"
    [written] = box.machines.entries()
    assert isinstance(written, Entry)
    assert written.plan == digest
    again = box.carry_out(path, digest)
    assert (again.kind, "changed since it was shown" in again.sentence) == ("refused", True)
    path, digest = elevation.write_order(ElevationOrder(undo=done.entry), box.mine)
    assert box.carry_out(path, digest).kind == "undone"
    assert (box.root / "etc/environment").read_text() == "LANG=C\n"


@pytest.mark.parametrize("policy", [Policy(scan_only=True), Policy(no_elevation=True)])
def test_the_elevated_side_obeys_the_administrators_policy(box: Machine, policy: Policy) -> None:
    plan = ElevationOrder(plan=Plan(title="Repair CUDA_PATH", changes=(CUDA_PATH,)))
    refusal = box.carry_out(*elevation.write_order(plan, box.mine), policy=policy)
    assert refusal.kind == "refused"
    assert "Your administrator" in refusal.sentence
    done = box.carry_out(*elevation.write_order(plan, box.mine))
    back = box.carry_out(*elevation.write_order(ElevationOrder(undo=done.entry), box.mine), policy=policy)
    assert back.kind == ("undone" if policy.scan_only else "refused"), "to look only does not forbid the way back"


def test_where_the_policy_forbids_it_nobody_is_asked(box: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elevation, "this_policy", lambda: Policy(no_elevation=True))
    plan = ElevationOrder(plan=Plan(title="Repair CUDA_PATH", changes=(CUDA_PATH,)))
    refusal = elevation.ask_elevated(plan, host=LinuxHost(environ={}), journal=box.mine)
    assert (refusal.kind, "NoElevation" in refusal.sentence) == ("refused", True)


def test_the_elevated_side_answers_in_the_persons_language(box: Machine) -> None:
    i18n.use_language("de")
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="CUDA_PATH", changes=(CUDA_PATH,))), box.mine)
    i18n.use_language("en")  # as in a program that gets none of the person's variables
    assert box.carry_out(path, digest).sentence == "Erledigt: CUDA_PATH."


def refused(box: Machine, path: str, digest: str, words: str, **env: str) -> None:
    before = tree(box.root)
    outcome = box.carry_out(path, digest, **env)
    assert outcome.kind == "refused"
    assert words in outcome.sentence
    assert outcome.sentence.startswith("Nothing was changed. ")
    assert {n: w for n, w in tree(box.root).items() if not n.startswith("machine")} == before


def test_a_tampered_plan_is_refused(box: Machine) -> None:
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(CUDA_PATH,))), box.mine)
    data = Path(path).read_bytes()
    Path(path).write_bytes(data.replace(b'"/usr/local"', b'"/usr/local/evil"'))
    refused(box, path, digest, "SHA-256 differs")
    refused(box, path, "x" * 64, "SHA-256")
    refused(box, path, "", "SHA-256")
    refused(box, str(box.root / "nowhere.json"), digest, "SHA-256 differs")
    refused(box, "../plan.json", digest, "not an absolute path")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"schema": 2}',
        b'{"schema": 1, "plan": {"title": "t", "changes": [{"change": "run"}]}}',
    ],
)
def test_an_order_that_is_none_is_refused(box: Machine, data: bytes) -> None:
    path = box.root / "order.json"
    path.write_bytes(data)
    refused(box, str(path), hashlib.sha256(data).hexdigest(), "")


def test_an_order_that_is_a_link_a_fifo_or_in_a_loose_folder_is_refused(box: Machine) -> None:
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(CUDA_PATH,))), box.mine)
    (box.root / "link.json").symlink_to(path)
    refused(box, str(box.root / "link.json"), digest, "not a regular file")
    os.mkfifo(box.root / "fifo.json")
    refused(box, str(box.root / "fifo.json"), digest, "not a regular file")
    Path(path).parent.chmod(0o777)
    refused(box, path, digest, "can be changed by other users")
    Path(path).parent.chmod(0o770)
    give(Path(path).parent, 0, 1000)
    refused(box, path, digest, "can be changed by other users")


def test_a_plan_of_another_user_than_the_one_who_asked_is_refused(
    box: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "ADMINISTRATORS", frozenset({"uid:0"}))
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(CUDA_PATH,))), box.mine)
    give(path, 1001, 1001)
    owner = str(Path(path).stat().st_uid)
    refused(box, path, digest, "can be changed by other users", PKEXEC_UID="60000")
    assert box.carry_out(path, digest, PKEXEC_UID=owner).kind == "done"


def test_what_is_not_listed_is_refused_by_the_elevated_side_itself(box: Machine) -> None:
    evil = SetVariable(name="LD_PRELOAD", scope="machine", after=Value(text="/evil.so"))
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(evil,))), box.mine)
    refused(box, path, digest, "administrator rights")


def test_a_source_that_others_can_write_is_refused_although_its_bytes_are_right(
    box: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ground, "LINUX_FOLDERS", (str(box.root / "opt"),))
    (box.root / "opt").mkdir()
    (box.root / "source").mkdir()
    (box.root / "source/libcudnn.so.9").write_bytes(b"shim")
    change = FileSet(title="t", items=(item(box.root, "opt/libcudnn.so.9", "source/libcudnn.so.9"),))
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(change,))), box.mine)
    (box.root / "source").chmod(0o775)
    give(box.root / "source", 0, 1000)
    refused(box, path, digest, "can be changed by other users")
    (box.root / "source").chmod(0o755)
    assert box.carry_out(path, digest).kind == "done"


# --- asking ------------------------------------------------------------------------------------------------------


class Answering:
    """A host on which pkexec answers as it was told."""

    def __init__(self, completed: CompletedProcess) -> None:
        self.completed = completed
        self.asked: Sequence[str] = ()

    def run(self, argv: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None) -> CompletedProcess:
        self.asked = argv
        return self.completed


def test_pkexec_gets_the_plan_by_file_with_its_hash(box: Machine) -> None:
    said = msgspec.json.encode(Outcome(kind="done", sentence="Done: t.", entry="x")).decode()
    host = Answering(CompletedProcess(status=0, out=said + "\n"))
    outcome = elevation.ask_elevated(
        ElevationOrder(plan=Plan(title="t", changes=(CUDA_PATH,))), host=host, journal=box.mine
    )
    assert (outcome.kind, outcome.entry) == ("done", "x")
    option, path, digest, summary = host.asked[-4:]
    assert (option, summary) == ("--elevated-variable", "Set the variable CUDA_PATH for all users to /usr/local.")
    assert host.asked[0] == "pkexec"
    assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("completed", "kind", "words"),
    [
        (CompletedProcess(status=126), "refused", "No password was entered"),
        (CompletedProcess(status=127), "refused", "Run this in a terminal: sudo "),
        (CompletedProcess(status=None, ended="is not there"), "refused", "Run this in a terminal: sudo "),
        (CompletedProcess(status=0, out="{ what"), "stuck", "history"),
    ],
)
def test_every_other_answer_is_a_sentence(box: Machine, completed: CompletedProcess, kind: str, words: str) -> None:
    outcome = elevation.ask_elevated(
        ElevationOrder(plan=Plan(title="t", changes=(CUDA_PATH,))), host=Answering(completed), journal=box.mine
    )
    assert outcome.kind == kind
    assert words in outcome.sentence


def test_what_the_elevated_side_would_refuse_is_not_even_asked(box: Machine) -> None:
    evil = SetVariable(name="LD_PRELOAD", scope="machine", after=Value(text="/evil.so"))
    host = Answering(CompletedProcess(status=0))
    assert (
        elevation.ask_elevated(ElevationOrder(plan=Plan(title="t", changes=(evil,))), host=host, journal=box.mine).kind
        == "refused"
    )
    assert host.asked == ()


def test_the_command_by_hand_really_starts_the_elevated_side(box: Machine) -> None:
    """With an order that is refused, so that the real machine stays as it is."""
    evil = SetVariable(name="LD_PRELOAD", scope="machine", after=Value(text="/evil.so"))
    path, digest = elevation.write_order(ElevationOrder(plan=Plan(title="t", changes=(evil,))), box.mine)
    argv = elevation.elevated_command(path, digest, "variable", "x")
    assert argv[0] == sys.executable
    done = subprocess.run(argv, capture_output=True, check=False, cwd="/")
    assert done.returncode == 4, done
    assert msgspec.json.decode(done.stdout, type=Outcome).kind == "refused"


def test_what_needs_an_administrator() -> None:
    writer = MemoryWriter("linux")
    assert elevation.needs_elevation((CUDA_PATH,), writer)
    assert not elevation.needs_elevation((entry("/x", scope="user"),), writer)
