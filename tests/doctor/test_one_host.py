"""Every verb looks at the machine that one place gives, so that after a fix all of them see the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.benchmark import run
from core.cli.main import main
from core.common.progress import Progress
from core.doctor import scan
from core.doctor.engine import ThisMachine
from core.host.interface import Host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import SetVariable, Value
from core.model.facts import Benchmark, Driver, Machine, Snapshot
from core.model.findings import Finding, Fix, Report
from core.model.steps import Severity, Step
from core.probes.probe import Probe, ProbeRequest
from core.transaction import session_host
from tests.host.fake import FakeHost

CHANGE = SetVariable(name="CUDA_HOME", scope="user", after=Value(text="/x"))
BROKEN = Finding(id="a.b", cause="c", step=Step.CUDNN, severity=Severity.ERROR, title="It is broken.")
FIXABLE = replace(BROKEN, fix=Fix(title="Mend it", changes=(CHANGE,)))
REPORT = Report(snapshot=Snapshot(machine=Machine(system="linux")), findings=(FIXABLE,))


class Seen:
    """The one host, and every host that was looked at."""

    def __init__(self, folder: Path) -> None:
        self.host = FakeHost(root=folder, environment={"CUDA_HOME": "/the/one"})
        self.looks: list[Host] = []

    def look(self, request: ProbeRequest) -> Driver:
        self.keep(request.host)
        return Driver(pci=(), gpus=())

    def measure(self, request: ProbeRequest, _extent: object, **_options: object) -> Benchmark:
        self.keep(request.host)
        return Benchmark()

    def keep(self, host: Host) -> None:
        while isinstance(host, HostWithEnvironment):
            host = host.host
        self.looks.append(host)


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Seen:
    found = Seen(tmp_path)
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(session_host, "new_session_host", lambda _host, _entries, _read: found.host)
    probes = (Probe("driver", found.look),)
    monkeypatch.setattr(scan, "PROBES", probes)
    monkeypatch.setitem(scan.take_snapshot.__kwdefaults__, "probes", probes)
    monkeypatch.setattr(run, "run_benchmark", found.measure)
    return found


VERBS: dict[str, Callable[[], object]] = {
    "scan": lambda: main(["scan", "--json"]),
    "fix": lambda: main(["fix", "--dry-run", "--json"]),
    "benchmark": lambda: main(["benchmark", "--json"]),
    "quick benchmark": lambda: main(["benchmark", "--quick", "--json"]),
    "explain": lambda: main(["explain", "CUDNN_STATUS_NOT_INITIALIZED", "--json"]),
    "the window's scan": lambda: ThisMachine().examine(Progress()),
    "the window's benchmark": lambda: ThisMachine().benchmark(REPORT, quick=True, watch=Progress()),
    "the window's rehearsal": lambda: ThisMachine().propose(FIXABLE, REPORT, "", Progress()),
}


@pytest.mark.skipif(sys.platform == "win32", reason="the one place gives the host of Linux another environment")
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_looks_at_the_one_host(verb: str, seen: Seen) -> None:
    VERBS[verb]()
    assert seen.looks, "it looked at nothing"
    assert all(host is seen.host for host in seen.looks)
