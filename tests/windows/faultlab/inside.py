"""The Windows side: plant each row, scan, cure where there is a fix, prove it, take it back; one JSON line for each."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import examine
from core.explain import explain
from core.host.interface import Host
from core.host.windows.host import WindowsHost
from core.model.changes import ExchangePackages
from core.model.findings import Finding, Report
from core.model.scan_options import ScanOptions
from core.model.system_steps import SystemStep
from core.report.json_form import to_json
from tests.windows.faultlab.machine import HOME, Machine, fingerprint, import_error, load_error, version_checks
from tests.windows.faultlab.rows import ROWS, Row

WINES_FAULT = b"could not be started: Internal error"
"""Wine now and then fails to start a process, which Windows does not; the scan is then made once more."""
LONGEST = 32_767
"""Characters of a variable that a process can be given."""
NO_INSTALLER = "not done: the lab's environments have neither pip nor uv"
MISLEADS = "This message is misleading"
OURS = dict(os.environ)
STATE = HOME / "convalesce-state"


def main(arguments: list[str]) -> int:
    """PLACES.json NAME...: run the rows whose names match."""
    places = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    reports = places.pop("reports", "")
    rows = [r for r in ROWS if not arguments[1:] or any(fnmatch(r.name, n) for n in arguments[1:])]
    for row in rows:
        started = time.monotonic()
        result = examined(row, Machine(places), reports)
        result["seconds"] = round(time.monotonic() - started, 1)
        print(json.dumps(result), flush=True)
    return 0


def examined(row: Row, machine: Machine, reports: str) -> dict[str, Any]:
    """Build a row's machine, scan and judge it, and clean up."""
    OURS["CONVALESCE_STATE"] = str(STATE)
    clean = fingerprint()
    try:
        row.build(machine)
        os.environ.clear()
        fresh = {n: v for n, v in WindowsHost().fresh_environment().items() if len(v) < LONGEST}
        os.environ.update({**OURS, **fresh})  # as a scan that is started now
        report = look(WindowsHost(), machine, thorough=row.thorough)
        if WINES_FAULT in msgspec.json.encode(report):
            report = look(WindowsHost(), machine, thorough=row.thorough)
        if reports:
            Path(reports, f"{row.name}.json").write_bytes(to_json(report))
        result = judged(row, report)
        primary = next((f for f in report.findings if f.primary), None)
        changes = primary.fix.changes if primary and primary.fix else ()
        if primary and primary.fix and any(isinstance(c, SystemStep) for c in changes):
            result |= {"cure": f"{primary.fix.title} (a junction, which wine does not make)"}
        elif primary and primary.fix and not row.cured and any(isinstance(c, ExchangePackages) for c in changes):
            result |= {"cure": primary.fix.title, "proof": NO_INSTALLER}
        elif primary and (changes or row.source):
            result |= cured(row, primary, report, machine)
        elif row.cured:
            result |= {"right": False, "cure": "no fix was offered"}
        elif primary and primary.fix:
            result |= {"cure": primary.fix.title}
    except Exception as e:  # noqa: BLE001 - a row that fails is a row of the table, and the others go on
        traceback.print_exc()
        result = {
            "name": row.name,
            "why": row.why,
            "expected": row.cause,
            "found": "",
            "right": False,
            "cure": "",
            "said": "",
        }
        result |= {"misleading": False, "detail": f"{type(e).__name__}: {e}"}
    finally:
        machine.clean()
    left = fingerprint()
    if left != clean:
        result |= {"right": False, "detail": f"not clean afterwards: {difference(clean, left)}"}
    return result


def look(host: Host, machine: Machine, *, thorough: bool = False) -> Report:
    """Scan as the command line does."""
    return examine(host, Progress(), ScanOptions(pythons=tuple(machine.pythons), thorough=thorough))


def judged(row: Row, report: Report) -> dict[str, Any]:
    """Compare a report with its row."""
    primary = next((f for f in report.findings if f.primary), None)
    loud = [f for f in report.findings if f.severity.name not in ("GOOD", "NOTE")]
    errors = [f"{e.probe} {e.kind}: {e.message}" for e in report.snapshot.errors]
    said = next(
        (r.roll_call.output for r in report.snapshot.loads or () if r.roll_call and r.roll_call.output.strip()), ""
    )
    misled = any(e.label == MISLEADS for f in report.findings for e in f.evidence) or misleads(row, report)
    found = (primary.cause if primary else "") or ("(healthy)" if not loud else f"none, but {loud[0].id}")
    right = (found == row.cause if row.cause else not loud) and not errors and (misled or not row.misleading)
    detail = "; ".join(f"{f.severity.name.lower()} {f.id} {f.subject}" for f in loud)
    return {
        "name": row.name,
        "why": row.why,
        "expected": row.cause or "(healthy)",
        "found": found,
        "right": right,
        "misleading": misled,
        "said": (row.message or said.strip().partition("\n")[0])[:160],
        "cure": "",
        "detail": "; ".join(
            [detail, *errors, *([] if misled or not row.misleading else ["the message is not called misleading"])]
        ),
    }


def misleads(row: Row, report: Report) -> bool:
    """Whether the explanation of the row's message refutes what it says (zlibwapi.dll) and proves the real cause."""
    if not row.message:
        return False
    verdicts = {c.cause: c.verdict for c in explain(row.message, report.snapshot).causes}
    return verdicts.get(row.cause) == "proved" and verdicts.get("zlibwapi_missing") == "refuted"


def cured(row: Row, primary: Finding, report: Report, machine: Machine) -> dict[str, Any]:
    """Rehearse, apply, prove with the real loader in a fresh process, undo; registry and files must be as before."""
    host, watch = WindowsHost(), Progress()
    shop = repair.repair_context(host)
    source = machine.packed(row.source, row.packed) if row.source else ""
    before = fingerprint()
    words: list[str] = []
    unloaded = load_error(row.loads, host.fresh_environment(), host.run) if row.loads else "?"
    lost = import_error(row.site, row.site / row.imports, host.fresh_environment(), host.run) if row.imports else ""

    later: list[Report] = []

    def again(seen: Host) -> Report:
        later.append(look(seen, machine))
        return later[-1]

    if row.source and not (primary.fix and primary.fix.changes):
        primary = repair.fix_from_cudnn_set(source, primary, report.snapshot, shop, watch)
    proposal = repair.propose(primary, shop)
    rehearsal = repair.rehearse(proposal, report, shop, watch, again)
    words.append(f"rehearsed {rehearsal.works}")
    rehearsed = _without_state(fingerprint())
    if rehearsed != before:
        words.append(f"THE REHEARSAL CHANGED {difference(before, rehearsed)}")
    outcome = repair.apply(proposal, report, shop, again)
    words.append(outcome.kind)
    right = rehearsal.works is not False and outcome.kind == "done" and len(words) == 2
    if row.loads:
        loaded = load_error(row.loads, host.fresh_environment(), host.run)
        right = right and bool(unloaded) and not loaded
        words.append(f"LoadLibrary {unloaded or 'loaded'} -> {loaded or 'loaded'}")
    if row.imports:
        found = import_error(row.site, row.site / row.imports, host.fresh_environment(), host.run)
        right = right and bool(lost) and not found
        words.append(f"import {lost or 'loaded'} -> {found or 'loaded'}")
    if row.checks:
        said = version_checks(row.checks, host.fresh_environment(), host.run)
        right = right and said.endswith("all 0") and said[:2] not in ("0 ", "1 ")
        words.append(f"VersionCheck: {said}")
    back = repair.undo(outcome.entry, shop) if outcome.entry else outcome
    words.append(back.kind)
    after = _without_state(fingerprint())
    if after != before:
        words.append(f"NOT AS BEFORE {difference(before, after)}")
    right = right and back.kind == "undone" and after == before
    title = primary.fix.title if primary.fix else ""
    result: dict[str, Any] = {"cure": title, "proof": ", ".join(words)}
    if not right:
        result |= {
            "right": False,
            "detail": f"{rehearsal.sentence} {outcome.sentence} {back.sentence} {proposal.problems} {_told(later)}",
        }
    return result


def _told(reports: list[Report]) -> str:
    """Return what the looks after the change found: their errors and the evidence of faults."""
    errors = {f"{e.probe} {e.kind}: {e.message}" for r in reports for e in r.snapshot.errors}
    rows = {
        f"{e.label}: {e.value}" for r in reports for f in r.findings if f.severity.name == "ERROR" for e in f.evidence
    }
    return "; ".join(sorted(errors | rows))[:1500]


def _without_state(seen: dict[str, object]) -> dict[str, object]:
    """Leave Convalesce's own journal out."""
    return {name: v for name, v in seen.items() if str(STATE) not in name}


def difference(one: dict[str, object], two: dict[str, object]) -> str:
    """Return the first three things that changed between two fingerprints."""
    rows = [f"{k}: {one.get(k)} -> {two.get(k)}" for k in {**one, **two} if one.get(k) != two.get(k)]
    return "; ".join(rows[:3])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
