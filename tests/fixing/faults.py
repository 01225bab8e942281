"""``python -m tests.fixing.faults [KIND...]``: every call that changes a file fails once, fails for good, or is the last.

For each kind of change, for its application and its undoing: what was said is true, and after the next start the machine
is as before or as planned, with nothing left. ``--sample N`` takes N calls of each, spread over all.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.model.changes import FileSet
from core.transaction import elevation
from core.transaction.broker import ground
from core.transaction.elevation import ElevationOrder
from core.transaction.execute import Outcome, Plan, execute, recover, undo
from core.transaction.journal import Entry, Journal
from tests.fixing.conftest import item, made
from tests.fixing.test_kill import KINDS, content, linux, prepare, variable

SOURCE = Path(__file__).with_name("faults.c")
SHIM = "CONVALESCE_TEST_FAULTS"
FAULTS = (
    ("kill", 0, False),
    ("EIO once", errno.EIO, False),
    ("ENOSPC from then on", errno.ENOSPC, True),
    ("EROFS from then on", errno.EROFS, True),
    ("EACCES once", errno.EACCES, False),
)


def in_child(work: Callable[[], Outcome], at: int, error: int, lasting: bool) -> tuple[Outcome | None, int]:
    """Run ``work`` in a forked child with that fault; return what it said (None: it was killed) and its calls."""
    shim = ctypes.CDLL(os.environ[SHIM])
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            shim.fault_arm(at, error, int(lasting))
            said = work()
            calls = shim.fault_disarm()
            told = {"kind": said.kind, "sentence": said.sentence, "entry": said.entry, "calls": calls}
            os.write(write, json.dumps(told).encode())
            status = 0
        finally:
            shim.fault_disarm()
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return None, at
    assert os.WIFEXITED(status), status
    assert os.WEXITSTATUS(status) == 0, "the child failed by itself"
    told: dict[str, Any] = json.loads(data)
    calls = told.pop("calls")
    return Outcome(**told), calls


class Case:
    """One kind of change on one machine."""

    def __init__(self, kind: Callable[[Path], Any], folder: Path) -> None:
        self.kind, self.root = kind, made(folder)
        prepare(self.root)
        self.writer = linux(self.root)
        self.journal = Journal(folder / "state")
        self.old = content(self.root)
        entry = self.apply().entry
        self.new = content(self.root)
        self.take_back(entry)
        self.rows: list[str] = []

    def apply(self) -> Outcome:
        return execute(self.kind(self.root), writer=self.writer, journal=self.journal)

    def take_back(self, entry: str) -> Outcome:
        return undo(entry, writer=self.writer, journal=self.journal)

    def ask_back(self, entry: str) -> None:
        """Make ready what an undoing needs beforehand."""

    def standing(self) -> str:
        """The entry that holds now; empty where none does."""
        done = [e.id for e in self.journal.entries() if isinstance(e, Entry) and e.state == "done"]
        assert len(done) <= 1
        return done[0] if done else ""

    def is_true(self, said: Outcome | None, begun: dict[str, object], what: str) -> None:
        """Hold what was said against the machine, then start anew and hold the machine against the two states."""
        now, unfinished = content(self.root), self.journal.unfinished()
        expected = {"done": self.new, "rolled back": self.old, "undone": self.old, "refused": begun}
        if said is not None and said.kind in expected:
            if now != expected[said.kind]:
                self.rows.append(f"{what}: said {said.sentence!r}, and the machine is another")
            if unfinished:
                self.rows.append(f"{what}: said {said.sentence!r}, and an entry is unfinished")
        if said is not None and said.kind == "stuck" and "rolled back at the next start" not in said.sentence:
            self.rows.append(f"{what}: stuck without a word on what becomes of it: {said.sentence!r}")
        again = recover(writer=self.writer, journal=self.journal)
        if any(o.kind not in ("rolled back", "undone") for o in again) or self.journal.unfinished():
            self.rows.append(f"{what}: the next start came to {[o.sentence for o in again]}")
        now = content(self.root)
        if now != (self.new if self.standing() else self.old):
            self.rows.append(f"{what}: after the next start the machine is neither as before nor as planned")
        if said is not None and said.kind == "stuck" and now != self.old:
            self.rows.append(f"{what}: said {said.sentence!r}, and the next start did not take it back")

    def applied(self, at: int, fault: tuple[str, int, bool]) -> None:
        if standing := self.standing():
            self.take_back(standing)
        said, _ = in_child(self.apply, at, *fault[1:])
        self.is_true(said, self.old, f"{self.kind.__name__} applied, call {at}, {fault[0]}")

    def undone(self, at: int, fault: tuple[str, int, bool]) -> None:
        entry = self.standing() or self.apply().entry
        self.ask_back(entry)
        said, _ = in_child(lambda: self.take_back(entry), at, *fault[1:])
        self.is_true(said, self.new, f"{self.kind.__name__} undone, call {at}, {fault[0]}")

    def every(self, sample: int) -> int:
        """Try the calls of both ways; return how many trials there were."""
        trials = 0
        for way, work in ((self.applied, self.apply), (self.undone, lambda: self.take_back(self.standing()))):
            if way == self.undone:
                self.ask_back(self.standing() or self.apply().entry)
            _, calls = in_child(work, 0, 0, False)
            if way == self.applied:
                self.take_back(self.standing())
            steps = range(1, calls + 1)
            if sample and calls > sample:
                steps = sorted({1 + round(i * (calls - 1) / (sample - 1)) for i in range(sample)})
            for at in steps:
                for fault in FAULTS:
                    way(at, fault)
                    trials += 1
        return trials


class Elevated(Case):
    """The same by the elevated side: its orders are written beforehand, and its gate stands before every step."""

    def __init__(self, kind: Callable[[Path], Any], folder: Path) -> None:
        self.mine = Journal(folder / "mine")
        self.orders: dict[str, tuple[str, str]] = {}
        ground.LINUX_FOLDERS = (str(folder),)
        super().__init__(kind, folder)

    def carried(self, order: ElevationOrder) -> Outcome:
        if order.undo not in self.orders:
            self.orders[order.undo] = elevation.write_order(order, self.mine)
        path, digest = self.orders[order.undo]
        return elevation.execute_order(
            path, digest, writer=self.writer, journal=self.journal, env={}, agreed=lambda _rows: ""
        )

    def apply(self) -> Outcome:
        return self.carried(ElevationOrder(plan=self.kind(self.root)))

    def take_back(self, entry: str) -> Outcome:
        return self.carried(ElevationOrder(undo=entry))

    def ask_back(self, entry: str) -> None:
        self.orders[entry] = elevation.write_order(ElevationOrder(undo=entry), self.mine)


def elevated(root: Path) -> Plan:
    """A library replaced, a link turned, and a variable of everybody's taken away."""
    items = (
        item(root, "lib/libcudnn_ops.so.9.1", "source/libcudnn_ops.so.9.1"),
        item(root, "lib/libcudnn.so.9", after="-> libcudnn.so.9.1"),
    )
    return Plan(title="elevated", changes=(FileSet(title="t", items=items), *variable(root).changes))


WAYS = {**{k.__name__: (Case, k) for k in KINDS}, **({"elevated": (Elevated, elevated)} if os.getuid() == 0 else {})}
"""Name -> how it is carried out, and the plan; an administrator's as root alone."""


def build(folder: Path) -> Path:
    """Compile the shim; return its path."""
    out = folder / "faults.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", out, SOURCE, "-ldl"], check=True)
    return out


def told(names: list[str], sample: int, shim: Path) -> dict[str, Any]:
    """Run the trials in a process that has the shim before libc; return what it found."""
    env = {**os.environ, "LD_PRELOAD": str(shim), SHIM: str(shim)}
    argv = [sys.executable, "-m", "tests.fixing.faults", "--sample", str(sample), *names]
    done = subprocess.run(argv, env=env, cwd=SOURCE.parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Run the trials, and print what was not true."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--sample", type=int, default=0)
    options = parser.parse_args()
    quick = Path("/dev/shm")  # thousands of calls wait for a disk elsewhere
    with tempfile.TemporaryDirectory(dir=quick if quick.is_dir() else None) as place:
        folder = Path(os.path.realpath(place))
        if SHIM not in os.environ:
            found = told(options.kinds, options.sample, build(folder))
            print("\n".join([*found["rows"], f"{found['trials']} trials, {len(found['rows'])} untrue"]))
            return bool(found["rows"])
        rows: list[str] = []
        trials = 0
        for name, (form, kind) in WAYS.items():
            if not options.kinds or name in options.kinds:
                case = form(kind, folder / name)
                trials += case.every(options.sample)
                rows += case.rows
        print(json.dumps({"trials": trials, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
