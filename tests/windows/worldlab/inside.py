"""The Windows side: plant each scene, ask the oracle, scan, cure where there is a button, ask the oracle again, undo; JSON lines."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import examine
from core.fixes.packages.prepare import tell_python
from core.host.interface import Host
from core.host.windows.host import WindowsHost
from core.model.changes import ExchangePackages
from core.model.findings import Finding, Report
from core.model.scan_options import ScanOptions
from core.model.steps import Severity
from core.report.json_form import to_json
from tests.windows.faultlab.inside import LONGEST, NO_INSTALLER, OURS, STATE, WINES_FAULT, difference
from tests.windows.faultlab.machine import Machine, fingerprint
from tests.windows.worldlab import oracle
from tests.windows.worldlab.alike import ALIKE_SCENES
from tests.windows.worldlab.common import COMMON
from tests.windows.worldlab.daily import DAILIES
from tests.windows.worldlab.drawn import DRAWNS
from tests.windows.worldlab.field import FIELDS
from tests.windows.worldlab.fresh import FRESHES
from tests.windows.worldlab.held_out import HELD_OUT
from tests.windows.worldlab.held_out_2 import HELD_OUT_2
from tests.windows.worldlab.held_out_3 import HELD_OUT_3
from tests.windows.worldlab.held_out_4 import HELD_OUT_4
from tests.windows.worldlab.held_out_5 import HELD_OUT_5
from tests.windows.worldlab.held_out_6 import HELD_OUT_6
from tests.windows.worldlab.held_out_7 import HELD_OUT_7
from tests.windows.worldlab.held_out_8 import HELD_OUT_8
from tests.windows.worldlab.held_out_9 import HELD_OUT_9
from tests.windows.worldlab.held_out_10 import HELD_OUT_10
from tests.windows.worldlab.held_out_11 import HELD_OUT_11
from tests.windows.worldlab.held_out_12 import HELD_OUT_12
from tests.windows.worldlab.held_out_13 import HELD_OUT_13
from tests.windows.worldlab.held_out_14 import HELD_OUT_14
from tests.windows.worldlab.held_out_15 import HELD_OUT_15
from tests.windows.worldlab.held_out_16 import HELD_OUT_16
from tests.windows.worldlab.held_out_17 import HELD_OUT_17
from tests.windows.worldlab.held_out_18 import HELD_OUT_18
from tests.windows.worldlab.held_out_19 import HELD_OUT_19
from tests.windows.worldlab.installer import install_from_wheels
from tests.windows.worldlab.modules import MODULES
from tests.windows.worldlab.more import MORE_SCENES
from tests.windows.worldlab.parity import PARITIES
from tests.windows.worldlab.people import PEOPLES
from tests.windows.worldlab.scenes import Scene, table

LATER = (
    *HELD_OUT_2,
    *HELD_OUT_3,
    *HELD_OUT_4,
    *HELD_OUT_5,
    *HELD_OUT_6,
    *HELD_OUT_7,
    *HELD_OUT_8,
    *HELD_OUT_9,
    *HELD_OUT_10,
    *HELD_OUT_11,
    *HELD_OUT_12,
    *HELD_OUT_13,
    *HELD_OUT_14,
    *HELD_OUT_15,
    *HELD_OUT_16,
    *HELD_OUT_17,
    *HELD_OUT_18,
    *HELD_OUT_19,
)
ONLY = "CONVALESCE_LAB_ONLY"
"""Variable that ends each scene early: "oracle" after the real program was asked, "scan" before a cure is carried out."""


def main(arguments: list[str]) -> int:
    """PLACES.json NAME...: run the scenes whose names match."""
    places = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    reports = places.pop("reports", "")
    OURS["KMP_AFFINITY"] = (
        "disabled"  # wine lacks what Intel's OpenMP asks of processors, and it would end torch's import
    )
    for scene in (
        *table(),
        *MODULES,
        *MORE_SCENES,
        *COMMON,
        *ALIKE_SCENES,
        *FIELDS,
        *PEOPLES,
        *PARITIES,
        *DAILIES,
        *DRAWNS,
        *FRESHES,
        *HELD_OUT,
        *LATER,
    ):
        if not arguments[1:] or any(fnmatch(scene.name, n) for n in arguments[1:]):
            print(json.dumps(examined(scene, Machine(places), reports)), flush=True)
    return 0


def examined(scene: Scene, machine: Machine, reports: str) -> dict[str, Any]:
    """Build a scene's machine, ask the oracle, scan and judge it, and clean up."""
    OURS["CONVALESCE_STATE"] = str(STATE)
    started = time.monotonic()
    result: dict[str, Any] = {"name": scene.name, "expected": list(scene.causes), "found": "", "cure": "", "proof": ""}
    clean = fingerprint()
    try:
        made = scene.build(machine)
        env = renewed()
        result["oracle"] = before = asked(scene, made, env)
        if os.environ.get(ONLY) == "oracle":
            verdict = "borne out" if any(before.values()) == bool(scene.causes) else "wrong scene"
            return result | {"verdict": verdict, "right": verdict == "borne out"}
        report = look(WindowsHost(), scene, machine, made)
        if WINES_FAULT in msgspec.json.encode(report):
            report = look(WindowsHost(), scene, machine, made)
        if reports:
            Path(reports, f"{scene.name}.json").write_bytes(to_json(report))
        result |= judged(scene, report, before)
        primary = next((f for f in report.findings if f.primary), None)
        if scene.causes and primary and primary.fix:
            result["cure"] = primary.fix.title
            if os.environ.get(ONLY) == "scan":
                result["proof"] = "not tried"
            elif not scene.cured and any(isinstance(c, ExchangePackages) for c in primary.fix.changes):
                result |= installed(scene, primary, report, machine, made)
            elif primary.fix.changes:
                result |= cured(scene, primary, report, machine, made)
        if scene.cured and "done" not in result["proof"]:
            result["right"] = False
            result["detail"] += " no cure was carried out"
    except Exception as e:  # noqa: BLE001 - a scene that fails is a row of the table, and the others go on
        traceback.print_exc()
        result |= {"verdict": "no report", "right": False, "detail": f"{type(e).__name__}: {e}"}
    finally:
        machine.clean()
    left = {n: v for n, v in fingerprint().items() if clean.get(n) != v}
    if left:
        result |= {"right": False, "detail": f"{result.get('detail', '')} not clean afterwards: {list(left)[:3]}"}
    return result | {"seconds": round(time.monotonic() - started, 1)}


def renewed() -> Mapping[str, str]:
    """Give this process the variables that a new program gets; return them."""
    os.environ.clear()
    fresh = {n: v for n, v in WindowsHost().fresh_environment().items() if len(v) < LONGEST}
    os.environ.update({**OURS, **fresh})
    return dict(os.environ)


def asked(scene: Scene, made: Path, env: Mapping[str, str]) -> dict[str, int]:
    """Return what the real loader says: DLL -> number."""
    if scene.runs:
        return oracle.started(scene.runs(made), env, scene.folder)
    return oracle.program(made, env) if scene.is_program else oracle.framework(scene.way, made, env)


def look(host: Host, scene: Scene, machine: Machine, made: Path) -> Report:
    """Scan as the command line does."""
    programs = (str(made),) if scene.is_program else ()
    with working_folder(scene.folder):
        return examine(host, Progress(), ScanOptions(pythons=tuple(machine.pythons), programs=programs))


@contextmanager
def working_folder(folder: Path | None) -> Iterator[None]:
    """Be in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)


def judged(scene: Scene, report: Report, before: Mapping[str, int]) -> dict[str, Any]:
    """Compare a report with what the oracle bears out."""
    primary = next((f for f in report.findings if f.primary), None)
    loud = [f for f in report.findings if f.severity not in (Severity.GOOD, Severity.NOTE)]
    fails = any(before.values())
    found = (primary.cause if primary else "") or ("(quiet)" if not loud else f"none, but {loud[0].id}")
    if fails != bool(scene.causes):
        verdict = "wrong scene"
    elif not scene.causes:
        verdict = "quiet" if not loud else "false alarm"
    else:
        told = str(
            msgspec.to_builtins([primary.title, primary.why, primary.subject, primary.evidence]) if primary else ""
        )
        named = scene.names.lower() in told.replace("\\\\", "\\").lower()
        verdict = "named first" if found in scene.causes and named else "missed"
        found += "" if named else f" (it does not name {scene.names})"
    opened = {
        o.library.rpartition("\\")[2]: o.number or 0 for c in report.snapshot.closures or () for o in c.openings or ()
    }
    errors = [f"{e.probe} {e.kind}: {e.message}" for e in report.snapshot.errors]
    detail = "; ".join([*(f"{f.severity.name.lower()} {f.id} {f.cause} {f.title}" for f in loud), *errors])
    told = {n: v for n, v in opened.items() if v}
    return {
        "found": found,
        "verdict": verdict,
        "right": verdict in ("quiet", "named first") and not errors,
        "told": told,
        "detail": detail,
    }


def cured(scene: Scene, primary: Finding, report: Report, machine: Machine, made: Path) -> dict[str, Any]:
    """Rehearse, apply, load the framework's own DLLs again, undo; registry and files must be as before."""
    host, watch = WindowsHost(), Progress()
    shop = repair.repair_context(host)
    before = fingerprint()

    def again(seen: Host) -> Report:
        return look(seen, scene, machine, made)

    proposal = repair.propose(primary, shop)
    rehearsal = repair.rehearse(proposal, report, shop, watch, again)
    outcome = repair.apply(proposal, report, shop, again)
    loads = asked(scene, made, renewed())
    back = repair.undo(outcome.entry, shop) if outcome.entry else outcome
    after = {n: v for n, v in fingerprint().items() if str(STATE) not in n}
    words = f"rehearsed {rehearsal.works}, {outcome.kind}, {numbers(loads)}, {back.kind}"
    right = outcome.kind == "done" and not any(loads.values()) and back.kind == "undone"
    if after != before:
        words, right = f"{words}, NOT AS BEFORE {difference(before, after)}", False
    if right:
        return {"proof": words}
    return {
        "proof": words,
        "right": False,
        "detail": f"{rehearsal.sentence} {outcome.sentence} {back.sentence} {proposal.problems}",
    }


def installed(scene: Scene, primary: Finding, report: Report, machine: Machine, made: Path) -> dict[str, Any]:
    """Let the lab install a cure's packages, make the rest of that same cure, and load the framework's own DLLs again."""
    assert primary.fix
    packages = [c for c in primary.fix.changes if isinstance(c, ExchangePackages)]
    if not all(install_from_wheels(c, machine) for c in packages):
        return {"proof": NO_INSTALLER}
    for change in packages:
        tell_python(change, change.folder)
    done = "installed by the lab from its wheels"
    if further := tuple(c for c in primary.fix.changes if not isinstance(c, ExchangePackages)):
        rest = replace(primary, fix=replace(primary.fix, changes=further))
        its = cured(scene, rest, report, machine, made)
        return its | {"proof": f"{done}, {its['proof']}"}
    loads = asked(scene, made, renewed())
    proof = f"{done}, {numbers(loads)}"
    return (
        {"proof": proof, "right": False, "detail": "the cure left the fault"}
        if any(loads.values())
        else {"proof": proof}
    )


def numbers(said: Mapping[str, int]) -> str:
    """Return the oracle's answer in words."""
    failed = ", ".join(f"{name}: {number}" for name, number in said.items() if number)
    return failed or "loaded"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
