"""A place that never answers costs its own time: the thread is left behind, the place is named, everything else is read."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.cli.terminal import status_of
from core.common import patience
from core.common.exit_codes import FOUND, OK, UNEXAMINED
from core.common.patience import Patience, call_patiently
from core.common.progress import Progress
from core.common.turns import others_turn
from core.doctor import scan
from core.doctor.examine import diagnose_snapshot
from core.model.facts import Machine, Snapshot, Unexamined
from core.model.findings import Report
from core.model.scan_options import ScanOptions
from core.model.steps import Severity
from core.probes.probe import Probe, ProbeRequest
from core.probes.sysroot import Sysroot
from core.rules.root_cause import diagnose
from tests import machines as m
from tests import standin
from tests.host.fake import FakeHost

LIMIT = 0.2
CALLS = ("stat", "lstat", "scandir", "open")


class Dead:
    """Makes every question to the file system about some paths wait for ever."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []
        self._folders: list[str] = []
        self._patch = monkeypatch

    def kill(self, folder: Path, *calls: str) -> None:
        """Let these calls (all of CALLS if none is named) hang in a folder and below it."""
        self._folders.append(os.fspath(folder))
        for name in calls or CALLS:
            self._patch.setattr(os, name, self._hanging(getattr(os, name)))

    def _hanging(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def hanging(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            where = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
            if any(where == f or where.startswith(f + "/") for f in self._folders):
                self.asked.append(where)
                self.gate.wait(60)
            return call(path, *args, **kwargs)

        return hanging


@pytest.fixture
def dead(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dead]:
    made = Dead(monkeypatch)
    yield made
    made.gate.set()


def test_work_that_never_hangs_is_done_once_and_its_answer_comes_back() -> None:
    calls: list[int] = []
    assert Patience().run(lambda: calls.append(1) or len(calls)) == 1
    with pytest.raises(KeyError):
        Patience().run(lambda: {}["nothing"])


@pytest.mark.parametrize("calls", [(), *((c,) for c in CALLS)], ids=lambda c: "-".join(c) or "all")
def test_what_hangs_is_left_behind_and_everything_else_is_read(
    tmp_path: Path, dead: Dead, calls: tuple[str, ...]
) -> None:
    for name in ("good", "dead", "also good"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    dead.kill(tmp_path / "dead", *calls)
    where = Sysroot(system="linux", root=str(tmp_path))
    mine, waits = Patience(limit=LIMIT), []

    def work() -> list[tuple[Any, ...]]:
        seen = []
        for name in ("good", "dead", "also good"):
            folder = f"/{name}"
            seen.append((where.names(folder), where.text(f"{folder}/file"), where.is_link(f"{folder}/file")))
        return seen

    found = mine.run(work, waits.append)
    assert found[0] == (("file",), "good", False)
    assert found[2] == (("file",), "also good", False)
    assert found[1] != (("file",), "dead", False) or calls == ("lstat",)
    assert len(waits) == len(mine.silent) <= 2
    assert all(place.startswith(str(tmp_path / "dead")) for place in mine.silent)


def test_a_silent_place_is_asked_once_however_often_it_is_wanted(tmp_path: Path, dead: Dead) -> None:
    dead.kill(tmp_path / "dead")
    where, mine = Sysroot(system="linux", root=str(tmp_path)), Patience(limit=LIMIT)
    mine.run(lambda: [where.stat(f"/dead/{n}") for n in range(100)])
    assert mine.silent == (str(tmp_path / "dead"),)
    before = len(dead.asked)
    mine.run(lambda: [where.names(f"/dead/{n}") for n in range(100)])
    assert len(dead.asked) == before


def test_a_thread_that_was_left_behind_does_nothing_more_when_it_wakes(tmp_path: Path, dead: Dead) -> None:
    dead.kill(tmp_path / "dead", "stat")
    after: list[str] = []
    first: list[threading.Thread] = []

    def work() -> str:
        first.append(threading.current_thread())
        for name in ("dead", "other"):
            with contextlib.suppress(OSError):
                call_patiently(os.stat, str(tmp_path / name))
            after.append(f"{len(first)} {name}")
        return "done"

    assert Patience(limit=LIMIT).run(work) == "done"
    dead.gate.set()
    first[0].join(30)
    assert not first[0].is_alive()
    assert after == ["2 dead", "2 other"]


def test_more_silent_places_than_patience_has_end_the_work(tmp_path: Path, dead: Dead) -> None:
    for n in range(patience.MAX_SILENT_PLACES + 2):
        dead.kill(tmp_path / f"dead{n}", "stat")

    def work() -> None:
        for n in range(patience.MAX_SILENT_PLACES + 2):
            Sysroot(system="linux", root=str(tmp_path)).stat(f"/dead{n}")

    with pytest.raises(TimeoutError):
        Patience(limit=LIMIT).run(work)


def test_each_item_has_its_own_patience(tmp_path: Path, dead: Dead) -> None:
    dead.kill(tmp_path / "2", "stat")
    done: list[int] = []

    def work(n: int) -> str:
        done.append(n)
        try:
            call_patiently(os.stat, str(tmp_path / str(n)))
        except TimeoutError:
            return "silent"
        except OSError:
            return "there"
        return ""

    found = Patience(limit=LIMIT).run(lambda: patience.map_in_threads(range(4), work))
    assert found == ["there", "there", "silent", "there"]
    assert sorted(done) == [0, 1, 2, 2, 3]


def test_an_error_in_one_item_comes_out_when_the_others_are_done() -> None:
    done: list[int] = []

    def work(n: int) -> None:
        if n == 1:
            raise ValueError("one")
        done.append(n)

    with pytest.raises(ValueError, match="one"):
        patience.map_in_threads(range(5), work)
    assert sorted(done) == [0, 2, 3, 4]


# --- a whole look ---------------------------------------------------------------------------------------------------


def environment(root: Path, prefix: str) -> None:
    site = root / prefix.lstrip("/") / "lib/python3.11/site-packages"
    (site / "torch-2.7.0.dist-info").mkdir(parents=True)
    (site / "torch-2.7.0.dist-info/METADATA").write_text("Name: torch\nVersion: 2.7.0\n")
    (root / prefix.lstrip("/") / "bin").mkdir()
    (root / prefix.lstrip("/") / "bin/python").write_bytes(b"")
    (root / prefix.lstrip("/") / "pyvenv.cfg").write_text("version = 3.11.4\n")


def look(root: Path, env: dict[str, str], *named: str, steps: Any = ()) -> Snapshot:
    host = FakeHost(
        root=root, facts=Machine(system="linux", home="/home/ada"), environment={"HOME": "/home/ada", **env}
    )
    return scan.take_snapshot(host, Progress(), ScanOptions(pythons=named, steps=steps))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "Patience", lambda: Patience(limit=LIMIT))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("place", ["/opt/conda", "/usr/local", "/home/ada/.pyenv", "/mnt"])
def test_a_dead_mount_in_a_usual_place_is_a_note_and_all_else_is_examined(
    tmp_path: Path, dead: Dead, place: str
) -> None:
    environment(tmp_path, "/home/ada/env")
    (tmp_path / place.lstrip("/")).mkdir(parents=True)
    dead.kill(tmp_path / place.lstrip("/"))
    seen = look(tmp_path, {"VIRTUAL_ENV": "/home/ada/env"})
    assert not seen.errors
    assert [u.path for u in seen.unexamined] == [place]
    assert [d.name for p in seen.pythons or () for d in p.distributions] == ["torch"]
    assert None not in (seen.driver, seen.environment, seen.toolkits, seen.cudnn, seen.loads, seen.frameworks)
    wanted = place == "/usr/local"  # it holds default folders of the loader
    told = [f for f in diagnose(seen) if f.subject == place]
    assert [(f.id, f.severity) for f in told] == [
        ("environment.not-examined", Severity.UNKNOWN) if wanted else ("environment.left-alone", Severity.NOTE)
    ]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("env", "named", "by"),
    [
        ({"LD_LIBRARY_PATH": "/net/dead/lib:/usr/lib"}, (), "LD_LIBRARY_PATH"),
        ({"PATH": "/net/dead/bin:/usr/bin"}, (), "PATH"),
        ({"VIRTUAL_ENV": "/net/dead/env"}, (), "VIRTUAL_ENV"),
        ({"CUDA_HOME": "/net/dead/cuda"}, (), "CUDA_HOME"),
        ({}, ("/net/dead/env",), "--python"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_what_leads_to_a_dead_mount_is_said_at_the_top_with_status_5(
    tmp_path: Path, dead: Dead, env: dict[str, str], named: tuple[str, ...], by: str
) -> None:
    environment(tmp_path, "/home/ada/env")
    (tmp_path / "net/dead").mkdir(parents=True)
    dead.kill(tmp_path / "net/dead")
    seen = look(tmp_path, {"CONDA_PREFIX": "/home/ada/env", **env}, *named)
    assert not seen.errors
    assert [(u.path, by in u.wanted_by) for u in seen.unexamined] == [("/net/dead", True)]
    assert "torch" in [d.name for p in seen.pythons or () for d in p.distributions]
    report = diagnose_snapshot(seen)
    assert "/net/dead" in {f.subject for f in report.not_examined}
    assert status_of(report) in (FOUND, UNEXAMINED)
    assert status_of(Report(snapshot=seen, findings=report.not_examined)) == UNEXAMINED


@pytest.mark.usefixtures("quick")
def test_a_dead_folder_of_the_search_path_changes_no_other_verdict(tmp_path: Path, dead: Dead) -> None:
    environment(tmp_path, "/home/ada/env")
    site = tmp_path / "home/ada/env/lib/python3.11/site-packages"
    standin.install_cudnn(site, "9.1.0.70", 12)
    (tmp_path / "usr/lib").mkdir(parents=True)
    shutil.copy(site / "nvidia/cudnn/lib/libcudnn.so.9", tmp_path / "usr/lib")
    (tmp_path / "net/dead/lib").mkdir(parents=True)
    env = {"VIRTUAL_ENV": "/home/ada/env"}
    whole = diagnose_snapshot(look(tmp_path, env))
    dead.kill(tmp_path / "net/dead")
    report = diagnose_snapshot(look(tmp_path, {**env, "LD_LIBRARY_PATH": "/net/dead/lib"}))
    assert [f.subject for f in report.not_examined] == ["/net/dead"]
    assert [c.folder for c in report.snapshot.cudnn or ()] == [c.folder for c in whole.snapshot.cudnn or ()]
    loud = {(f.id, f.severity, f.subject) for f in report.findings if f not in report.not_examined}
    assert loud == {(f.id, f.severity, f.subject) for f in whole.findings}


def test_an_error_wins_over_what_was_not_examined_and_a_note_changes_nothing() -> None:
    healthy = diagnose_snapshot(m.wheel_machine())
    assert status_of(healthy) == OK
    note = diagnose_snapshot(m.replace(m.wheel_machine(), unexamined=(Unexamined(path="/mnt/x", seconds=3.0),)))
    assert status_of(note) == OK
    wanted = (Unexamined(path="/mnt/x", seconds=3.0, wanted_by=("PATH",)),)
    assert status_of(diagnose_snapshot(m.replace(m.wheel_machine(), unexamined=wanted))) == UNEXAMINED
    broken = m.with_file(m.wheel_machine(), "ops", state="empty", size=0)
    assert status_of(diagnose_snapshot(m.replace(broken, unexamined=wanted))) == FOUND


def test_what_a_probe_found_before_its_end_is_kept(tmp_path: Path) -> None:
    gate = threading.Event()

    def slow(request: ProbeRequest) -> tuple[str, ...]:
        request.keep("one")
        request.keep("two")
        gate.wait(30)
        return ()

    def crash(request: ProbeRequest) -> tuple[str, ...]:
        request.keep("first")
        raise KeyError("x")

    def nothing(_request: ProbeRequest) -> tuple[str, ...]:
        raise KeyError("y")

    probes: tuple[Probe, ...] = (
        Probe("pythons", slow, timeout=0.2),
        Probe("toolkits", crash),
        Probe("cudnn", nothing),
    )
    host = FakeHost(root=tmp_path)
    try:
        seen = scan.take_snapshot(host, Progress(), probes=probes)
    finally:
        gate.set()
    assert (seen.pythons, seen.toolkits, seen.cudnn) == (("one", "two"), ("first",), None)
    assert sorted((e.probe, e.kind) for e in seen.errors) == [
        ("cudnn", "crash"),
        ("pythons", "time-out"),
        ("toolkits", "crash"),
    ]


def test_what_comes_after_is_loaded_while_the_probes_wait(tmp_path: Path) -> None:
    loaded = threading.Event()

    def waits_for_a_program(_request: ProbeRequest) -> tuple[bool, ...]:
        with others_turn():
            return (loaded.wait(30),)

    seen = scan.take_snapshot(
        FakeHost(root=tmp_path), Progress(), probes=(Probe("pythons", waits_for_a_program),), preload=loaded.set
    )
    assert seen.pythons == (True,)


def test_what_cannot_be_loaded_yet_is_loaded_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, raised = threading.Event(), []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))

    def without_files() -> None:
        ended.set()
        raise OSError(errno.EMFILE, "Too many open files")

    def waits(_request: ProbeRequest) -> tuple[bool, ...]:
        with others_turn():
            return (ended.wait(30),)

    scan.take_snapshot(FakeHost(root=tmp_path), Progress(), probes=(Probe("pythons", waits),), preload=without_files)
    for thread in threading.enumerate():
        if thread.name == "preload":
            thread.join(30)
    assert raised == []


# --- a real one -------------------------------------------------------------------------------------------------------

SCAN = """
import os, sys
os.environ.update(dict(a.split("=", 1) for a in sys.argv[2:]))  # now, since a loader that searches there starts no program
from core.cli.main import main
raise SystemExit(main(["scan", "--json", "--full-names", "--out", sys.argv[1]]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="FUSE is Linux' own")
@pytest.mark.parametrize(
    ("variable", "status", "severity"),
    [("VIRTUAL_ENV", 5, "unknown"), ("LD_LIBRARY_PATH", 5, "unknown"), ("X", 0, "note")],
)
def test_a_real_mount_that_never_answers(variable: str, status: int, severity: str, tmp_path: Path) -> None:
    (tmp_path / "home/miniconda3").mkdir(parents=True)
    dead = str(tmp_path / "home/miniconda3")
    told = tmp_path / "report.json"
    setting = [f"HOME={tmp_path / 'home'}", f"{variable}={dead}/lib"]
    command = [sys.executable, "-m", "tests.dead_mount", dead, sys.executable, "-c", SCAN, str(told), *setting]
    done = subprocess.run(command, capture_output=True, check=False, cwd=Path(__file__).parents[2])
    if done.returncode == 77:
        pytest.skip("nobody may mount here")
    assert done.returncode in (status, FOUND), done.stderr
    report = json.loads(told.read_bytes())
    assert [u["path"] for u in report["snapshot"]["unexamined"]] == [dead]
    assert [e for e in report["snapshot"]["errors"] if e["kind"] == "time-out"] == []
    assert [f["severity"] for f in report["findings"] if f["subject"] == dead] == [severity]
    assert None not in [
        report["snapshot"][s] for s in ("driver", "environment", "pythons", "toolkits", "cudnn", "loads")
    ]
