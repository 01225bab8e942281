"""Examine one row: the real probes over a real environment; only the GPU and its driver are those of a made-up card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot
from core.doctor.scan import PROBES, take_snapshot
from core.host.interface import CompletedProcess, Host, RunOptions
from core.host.this_host import this_host
from core.model.facts import (
    Driver,
    FrameworkTrial,
    Machine,
    PciDevice,
    RegisteredStart,
    Signature,
    System,
    Variable,
    full_id,
    split_id,
)
from core.model.findings import Report
from core.model.scan_options import ScanOptions
from core.model.steps import Severity
from core.probes.probe import Probe
from tests import machines
from tests.envlab.rows import Row


@dataclass(frozen=True)
class LabHost:
    """The running system with other variables."""

    real: Host
    variables_: Mapping[str, str]

    @property
    def system(self) -> System:
        return self.real.system

    @property
    def root(self) -> Path:
        return self.real.root

    def machine(self) -> Machine:
        return self.real.machine()

    def variables(self) -> tuple[Variable, ...]:
        return tuple(Variable(name=n, value=v, source="environment") for n, v in self.variables_.items())

    def fresh_environment(self) -> dict[str, str]:
        return dict(self.variables_)

    def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
        return self.fresh_environment()

    def pci_devices(self) -> tuple[PciDevice, ...] | None:
        return self.real.pci_devices()

    def registered_pythons(self) -> tuple[str, ...]:
        return ()

    def registered_starts(self) -> tuple[RegisteredStart, ...]:
        return ()

    def signature(self, path: str) -> Signature:
        return self.real.signature(path)

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        if options.get("env") is None:
            options["env"] = self.variables_
        return self.real.run(argv, **options)


def card() -> Driver:
    """A GeForce RTX 3090 (8.6) whose driver runs CUDA 13.0."""
    return machines.working_driver()


WITHOUT_TRIALS = tuple(
    Probe(p.section, (lambda _request: card()), p.needs, p.timeout) if p.section == "driver" else p
    for p in PROBES
    if p.section not in ("trials", "benchmark")
)


def examine(
    prefixes: Sequence[Path],
    variables: Mapping[str, str],
    probes: tuple[Probe, ...] = WITHOUT_TRIALS,
    *,
    thorough: bool = False,
) -> Report:
    """Scan these environments."""
    home = prefixes[0].parent / "nobodys-home" if prefixes else Path("/nobodys-home")  # not there, and could be made
    host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": str(home), **variables})
    seen = take_snapshot(
        host, Progress(), ScanOptions(pythons=tuple(map(str, prefixes)), thorough=thorough), probes=probes
    )
    return diagnose_snapshot(seen)


def examined(row: Row, prefix: Path) -> Report:
    """Make a row's environment at ``prefix`` and scan it."""
    row.make(prefix)
    return examine((prefix,), {n: v.format(prefix=prefix) for n, v in row.variables.items()})


def cells(report: Report, prefix: Path) -> dict[str, tuple[str, str]]:
    """Return column -> verdict and reason of one environment."""
    rows = report.grid.rows if report.grid else ()
    return {c.framework: (c.verdict, c.reason) for r in rows if r.prefix == str(prefix) for c in r.cells}


def cause(report: Report, prefix: Path) -> str:
    """Return the cause of the worst finding that concerns an environment; the primary one first."""
    mine = [
        f
        for f in report.findings
        if f.severity >= Severity.WARNING
        and f.cause
        and (str(prefix) in f.subject or any(split_id(c)[0] == full_id(str(prefix)) for c in f.consumers))
    ]
    return max(mine, key=lambda f: (f.primary, f.severity)).cause if mine else ""


def wrong(row: Row, report: Report, prefix: Path) -> list[str]:
    """Return in words what is not as the row expects."""
    got = cells(report, prefix)
    out = [f"{n}: {got.get(n)}, expected {v}" for n, v in row.cells.items() if got.get(n, ("",))[0] != v]
    if cause(report, prefix) != row.cause:
        out.append(f"cause {cause(report, prefix) or 'none'}, expected {row.cause or 'none'}")
    return out


def told(trial: FrameworkTrial) -> str:
    """Return a trial in one line."""
    words = (trial.problem or trial.ended).splitlines()
    return (
        f"tried {trial.framework} {trial.version}: reached {trial.reached}, devices {trial.devices}, right {trial.right}, "
        f"{len(trial.mapped)} files of CUDA mapped, {trial.seconds} s{': ' + words[0][:110] if words else ''}"
    )
