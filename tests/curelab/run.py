"""Run one row: make the environment, press once, run the person's program, undo, compare every file."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from msgspec.structs import replace

from core.cli import fix as cli_fix
from core.cli.main import main
from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import diagnose_snapshot
from core.doctor.scan import PROBES, take_snapshot
from core.doctor.verify import activated_environment
from core.host.interface import Host
from core.host.this_host import this_host
from core.host.with_environment import HostWithEnvironment
from core.knowledge.frameworks import framework_tables
from core.model.changes import Change
from core.model.findings import Finding, Report
from core.model.scan_options import ScanOptions
from core.model.steps import Severity
from core.probes.probe import Probe
from core.rules.frameworks import advice
from core.transaction.journal import Journal
from core.transaction.variable_store import LinuxVariables
from tests.curelab import environments
from tests.curelab.index import index
from tests.curelab.rows import Row
from tests.envlab.run import LabHost
from tests.packages.conftest import tree


@dataclass
class Result:
    """What became of a row."""

    row: Row
    wrong: list[str] = field(default_factory=list)
    finding: str = ""
    lines: tuple[str, ...] = ()
    seconds: float = 0.0
    """From the press to the verified end, what was fetched from the loopback included."""


def probes(row: Row) -> tuple[Probe, ...]:
    """Return a scan's probes, the driver's replaced by the row's made-up card; trials only where the row asks for them."""
    return tuple(
        Probe(p.section, (lambda _request: row.card()), p.needs, p.timeout) if p.section == "driver" else p
        for p in PROBES
        if p.section != "benchmark" and (row.trials or p.section != "trials")
    )


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    place = Path(os.path.realpath(tempfile.mkdtemp(prefix="curelab-")))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def chosen(report: Report, row: Row) -> Finding | None:
    """Return the finding that is pressed: the row's, else the worst that has a button."""
    named = [f for f in report.findings if row.finding and f.id.startswith(row.finding)]
    able = [f for f in report.findings if f.fix and f.fix.changes and f.severity > Severity.NOTE]
    return next(iter(named), None) or next(iter(able if not row.finding else []), None)


def run(row: Row) -> Result:
    """Run a row in a folder of its own."""
    with work_folder() as work, index(work / "wheels") as (url, asked):
        result = Result(row)
        row.wheels(work / "wheels")
        env = row.made(work)
        arguments = ("--no-index", "--find-links", str(work / "wheels"))
        for wanted in row.install:
            env.install(*arguments, *wanted)
        named = [str(env.prefix)]
        if row.beside:
            other = environments.by_pip(_made(work / "second"))
            other.install(*arguments, *row.beside)
            named.append(str(other.prefix))
        row.plant(env)
        told = row.kind == "files put back" and "record" in row.finding and not row.thorough
        if (told or row.trials) and env.run(row.works, activated=row.trials) == "yes":
            result.wrong.append("the person's program works before the cure")
        configured = {"PIP_INDEX_URL": url, "UV_DEFAULT_INDEX": url}
        host = LabHost(
            this_host(),
            {**env.variables, **configured, **{n: v.format(prefix=env.prefix) for n, v in row.variables.items()}},
        )
        before = tree(env.site if env.user else env.prefix)
        press(row, result, host, env, work, named, url)
        if row.offline and asked:
            result.wrong.append(f"the index was asked: {asked[0]}")
        if not result.wrong and row.kind != "advice":
            _undo(result, host, env, work, before)
        return result


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def press(
    row: Row, result: Result, host: LabHost, env: environments.Environment, work: Path, named: list[str], url: str
) -> None:
    """Look, press the row's finding, run the person's program and look again; what is wrong goes to the result."""

    def look(at: Host, watch: Progress, _options: object = None) -> Report:
        options = ScanOptions(pythons=tuple(named), thorough=row.thorough, trials=row.trials, at_once=row.trials)
        return diagnose_snapshot(take_snapshot(at, watch, options, probes=probes(row)))

    index_of_torch = replace(framework_tables().torch_index, url=url.replace("simple/", "whl/"))
    tables = replace(framework_tables(), torch_index=index_of_torch)
    with mock.patch.object(advice, "framework_tables", return_value=tables):
        _press_with_tables(row, result, host, env, work, named, url, look)


def _press_with_tables(row, result, host, env, work, named, url, look) -> None:
    report = look(host, Progress())
    finding = chosen(report, row)
    if finding is None:
        result.wrong.append(f"no such finding: {[f.id for f in report.findings if f.severity > Severity.NOTE]}")
        return
    result.finding = finding.id
    changes: tuple[Change, ...] = finding.fix.changes if finding.fix else ()
    if row.kind == "advice":
        if changes or not (finding.fix and finding.fix.advice):
            result.wrong.append("changed where only advice is right")
        return
    if not changes and row.kind != "cuDNN fetched":
        result.wrong.append(f"{finding.id} has no button")
        return
    shop = context(host, work)
    options = [o.format(index=url, wheels=work / "wheels") for o in row.options]
    words = ["fix", finding.id, "--yes", "--json", *options, *(w for p in named for w in ("--python", p))]
    out, err, start = io.StringIO(), io.StringIO(), time.monotonic()
    with (
        mock.patch.object(cli_fix, "examine", look),
        mock.patch.object(repair, "repair_context", return_value=shop),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        status = main(words)
    result.seconds = round(time.monotonic() - start, 1)
    fixes = json.loads(out.getvalue() or '{"fixes": []}')["fixes"]
    done = fixes[0] if fixes else {"sentence": err.getvalue()[-300:]}
    result.lines = tuple(done.get("changes", ()))
    if done.get("outcome") != "done":
        result.wrong.append(f"{status}: {done.get('outcome')}: {done.get('sentence')} {done.get('rehearsal', '')}")
        return
    if (said := env.run(row.works, activated=row.trials)) != "yes":
        result.wrong.append(f"the person's program says {said[-200:]!r}")
    active = activated_environment(str(env.prefix), host) if row.trials else None
    again = look(host if active is None else HostWithEnvironment(host, active, tuple(named)), Progress())
    if any((f.id, f.subject) == (finding.id, finding.subject) and f.severity > Severity.NOTE for f in again.findings):
        result.wrong.append(f"{finding.id} is still told")


def context(host: LabHost, work: Path) -> repair.RepairContext:
    """Return the means of repairing, all of them in the row's folder."""
    return repair.RepairContext(
        host=host,
        writer=LinuxVariables("/", str(work / "home")),
        journal=Journal(work / "state"),
        machine_journal=Journal(work / "machine"),
    )


def _undo(result: Result, host: LabHost, env: environments.Environment, work: Path, before: dict[str, str]) -> None:
    shop = context(host, work)
    for entry in reversed(shop.journal.entries()):
        outcome = repair.undo(entry.id, shop)
        if outcome.kind != "undone":
            result.wrong.append(f"undo: {outcome.sentence}")
    after = tree(env.site if env.user else env.prefix)
    if after != before:
        names = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
        result.wrong.append(f"after undo {len(names)} files differ: {names[:3]}")
