"""Killed at every step: afterwards the next start leaves the old state or the new one, and nothing is lost.

A child is forked for each kill. A trace and an audit hook, which exist only in the child, count the lines that our
engine executes and the calls that reach the system, and end the child by SIGKILL at one of them.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.host import activation_scripts, safe_folder
from core.model import changes
from core.model.changes import EditLine, FileItem, FileSet, SetVariable, Value
from core.transaction import execute as apply
from core.transaction import file_preconditions, journal, line_edit, preconditions, variable_store
from core.transaction import file_set as filesets
from core.transaction.execute import Plan, execute, recover, undo
from core.transaction.journal import Entry, Journal
from core.transaction.variable_store import LinuxVariables
from tests.fixing.conftest import files, item, tree

OURS = {
    m.__file__
    for m in (
        activation_scripts,
        apply,
        preconditions,
        file_preconditions,
        changes,
        filesets,
        safe_folder,
        journal,
        line_edit,
        variable_store,
    )
}
CALLS = {
    "open",
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.utime",
    "fcntl.flock",
}
KILLS = 36
"""Kills for each kind of change and way; 300 and more in all."""


class Counter:
    """Counts steps, and kills its own process at the one that was chosen (-1: none)."""

    def __init__(self, kill_at: int) -> None:
        self.kill_at = kill_at
        self.steps = 0
        self.on = False

    def step(self) -> None:
        if self.on:
            self.steps += 1
            if self.steps == self.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    def trace(self, frame: object, event: str, arg: object) -> object:
        if frame.f_code.co_filename not in OURS:
            return None
        if event == "line":
            self.step()
        return self.trace

    def audit(self, event: str, args: tuple[object, ...]) -> None:
        if event in CALLS:
            self.step()


def in_child(work: Callable[[], object], kill_at: int) -> tuple[bool, int]:
    """Run ``work`` in a forked child; return whether it was killed, and how many steps it made if not."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            counter = Counter(kill_at)
            sys.addaudithook(counter.audit)
            sys.settrace(counter.trace)
            counter.on = True
            work()
            counter.on = False
            sys.settrace(None)
            os.write(write, str(counter.steps).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    data = os.read(read, 32)
    os.close(read)
    _, status = os.waitpid(pid, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0), "the child failed by itself"
    return killed, int(data or b"0")


# --- the kinds of change -----------------------------------------------------------------------------------------


def linux(root: Path) -> LinuxVariables:
    return LinuxVariables(str(root), str(root / "home/me"))


def prepare(root: Path) -> None:
    """What the changes below need beside the machine's libraries."""
    for name, text in {
        "etc/environment": "LANG=C\nexport CUDA_VISIBLE_DEVICES='-1' \nPATHLIKE=/a:/dead:/b\nA=1",
        "venv/pyvenv.cfg": "home = /usr\n",
        "venv/bin/activate": "deactivate () {\n    true\n}\ndeactivate nondestructive\nexport VIRTUAL_ENV=x\n",
        "conda/conda-meta/history": "",
        "home/.nv/ComputeCache/0/a": "kernel",
        "home/.nv/ComputeCache/index": "index",
        "home/me/.bashrc": "export LD_LIBRARY_PATH=/opt/a\n# mine\nexport LD_LIBRARY_PATH=/opt/a:$LD_LIBRARY_PATH\n",
        "home/me/kernel.json": '{"env": {"A": "1", "LD_LIBRARY_PATH": "/opt/a"}}',
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def variable(root: Path) -> Plan:
    before = Value(text="-1")
    change = SetVariable(name="CUDA_VISIBLE_DEVICES", scope="machine", before=before, after=None)
    return Plan(title="variable", changes=(change,))


def own_file(root: Path) -> Plan:
    change = SetVariable(name="CUDA_HOME", scope="user", after=Value(text="/usr/local/cuda"))
    return Plan(title="own file", changes=(change,))


def path_entry(root: Path) -> Plan:
    before = Value(text="/a:/dead:/b")
    change = changes.remove_entry(before, 1, "linux", name="PATHLIKE", scope="machine")
    return Plan(title="path", changes=(change,))


def venv(root: Path) -> Plan:
    steps = Value(text="drop /opt/mixed\nprepend /opt/cudnn", kind=activation_scripts.ACTIVATION_KIND)
    change = SetVariable(name="LD_LIBRARY_PATH", scope="environment", at=str(root / "venv"), after=steps)
    return Plan(title="venv", changes=(change,))


def conda(root: Path) -> Plan:
    steps = Value(text="unset", kind=activation_scripts.ACTIVATION_KIND)
    change = SetVariable(name="LD_LIBRARY_PATH", scope="environment", at=str(root / "conda"), after=steps)
    return Plan(title="conda", changes=(change,))


def file_set(root: Path) -> Plan:
    return Plan(title="files", changes=(files(root),))


def quarantine(root: Path) -> Plan:
    return Plan(title="quarantine", changes=(FileSet(title="stray", items=(item(root, "lib/stray.so"),)),))


def folder_aside(root: Path) -> Plan:
    cache = FileItem(path=str(root / "home/.nv/ComputeCache"), before="folder", after="")
    return Plan(title="cache", changes=(FileSet(title="cache", items=(cache,)),))


def environments(root: Path) -> Plan:
    """Two environments and two variables of one, with a hook beside them."""
    home = Value(text="set /usr/local/cuda", kind=activation_scripts.ACTIVATION_KIND)
    second = SetVariable(name="CUDA_HOME", scope="environment", at=str(root / "venv"), after=home)
    hook = FileSet(title="hook", items=(item(root, "venv/convalesce_cuda.pth", text="import os\n"),))
    return Plan(title="environments", changes=(*venv(root).changes, second, *conda(root).changes, hook))


def mixture(root: Path) -> Plan:
    return Plan(title="all", changes=(*quarantine(root).changes, *path_entry(root).changes, *venv(root).changes))


def lines(root: Path) -> Plan:
    """Two lines of one file, and one of another, where nothing says what stood there."""
    bashrc, kernel = (str(root / "home/me" / n) for n in (".bashrc", "kernel.json"))
    edits = (
        *(EditLine(path=bashrc, form="posix", line=n, name="LD_LIBRARY_PATH", reason="why") for n in (1, 3)),
        EditLine(path=kernel, form="json", line=1, name="LD_LIBRARY_PATH"),
    )
    return Plan(title="lines", changes=preconditions.resolve_changes(edits, linux(root)))


KINDS = [variable, own_file, path_entry, venv, conda, file_set, quarantine, folder_aside, environments, mixture, lines]


def content(root: Path) -> dict[str, object]:
    """Every file and link under the machine; folders that a user's first setting needs do not count."""
    found = {name: what for name, what in tree(root).items() if what[0] != "folder" or name.startswith("own")}
    return {re.sub(r"\d{8}T\d{6}Z-\d{4}", "ENTRY", name): what for name, what in found.items()}


def sample(steps: int) -> list[int]:
    """At most KILLS steps, spread over all of them, the last ones included."""
    return sorted({1 + round(i * (steps - 1) / (KILLS - 1)) for i in range(KILLS)})


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_killed_while_it_is_applied(machine: Path, tmp_path: Path, kind: Callable[[Path], Plan]) -> None:
    prepare(machine)
    state = Journal(tmp_path / "state")
    old = content(machine)
    assert execute(kind(machine), writer=linux(machine), journal=state).kind == "done"
    new = content(machine)
    assert new != old
    [entry] = state.entries()
    undo(entry.id, writer=linux(machine), journal=state)
    assert content(machine) == old

    def work() -> None:
        execute(kind(machine), writer=linux(machine), journal=state)

    killed, steps = in_child(work, -1)
    assert (killed, content(machine)) == (False, new)
    undo(state.entries()[-1].id, writer=linux(machine), journal=state)
    kills = 0
    for step in sample(steps):
        killed, _ = in_child(work, step)
        kills += killed
        outcomes = recover(writer=linux(machine), journal=Journal(state.folder))
        assert all(o.kind == "rolled back" for o in outcomes), (step, outcomes)
        assert state.unfinished() == ()
        done = [e for e in state.entries() if isinstance(e, Entry) and e.state == "done"]
        assert len(state.entries()) == len([e for e in state.entries() if isinstance(e, Entry)])
        assert content(machine) == (new if done else old), step
        if done:
            assert undo(done[0].id, writer=linux(machine), journal=state).kind == "undone"
            assert content(machine) == old, step
    assert kills >= KILLS - 5


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_killed_while_it_is_undone_or_recovered(machine: Path, tmp_path: Path, kind: Callable[[Path], Plan]) -> None:
    prepare(machine)
    state = Journal(tmp_path / "state")
    old = content(machine)

    def apply_it() -> str:
        return execute(kind(machine), writer=linux(machine), journal=state).entry

    entry = apply_it()
    new = content(machine)

    def work() -> None:
        undo(entry, writer=linux(machine), journal=state)

    _, steps = in_child(work, -1)
    assert content(machine) == old
    entry = apply_it()
    kills = 0
    for step in sample(steps):
        killed, _ = in_child(work, step)
        kills += killed
        if killed and state.unfinished():
            in_child(lambda: recover(writer=linux(machine), journal=state), step // 2)
        outcomes = recover(writer=linux(machine), journal=Journal(state.folder))
        assert all(o.kind == "undone" for o in outcomes), (step, outcomes)
        assert state.unfinished() == ()
        kept = state.entry(entry).state == "done"
        assert content(machine) == (new if kept else old), step
        if not kept:
            entry = apply_it()
            assert content(machine) == new
    assert kills >= KILLS - 5
