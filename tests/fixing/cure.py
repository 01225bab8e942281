"""On one machine of the fault lab: scan, rehearse the primary finding's fix, apply it, scan again, undo it, compare.

Prints one JSON document: what was planned, and what became of it. Packages come from the folder of wheels that ``--wheels`` names.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from core.common.progress import Progress
from core.doctor import repair
from core.doctor.examine import examine as doctor_examine
from core.doctor.verify import activated_environment
from core.host.interface import Host
from core.host.this_host import this_host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import SetVariable
from core.model.findings import Report
from core.model.scan_options import ScanOptions
from core.model.steps import Severity
from core.transaction.package_exchange import TWINS

WATCHED = ("/home", "/opt", "/usr/local", "/etc", "/tmp")
LARGE = 32 << 20
"""Bytes from which on a file is known by its inode, size and time instead of its hash: no fix of the lab writes such a one."""


@functools.cache
def content(path: str, _inode: int, _size: int, _times: tuple[int, int]) -> str:
    """The file's hash, worked out once for as long as the file system says that nobody wrote to it."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


OURS = {str(Path(__file__).resolve().parents[2]), sys.prefix, sys.base_prefix}


def picture(state: str) -> dict[str, str]:
    """Every folder, file and link that a fix could touch, but for ourselves and our history; files by hash."""
    found = {}
    for base in WATCHED:
        for here, inner, names in os.walk(base):
            inner[:] = [name for name in inner if str(Path(here, name)) not in {*OURS, state}]
            for name in (*inner, *names):
                path = Path(here) / name
                if path.is_symlink():
                    found[str(path)] = f"-> {path.readlink()}"
                elif path.is_dir():
                    found[str(path)] = "folder"
                elif path.is_file() and os.access(path, os.R_OK):
                    seen = path.stat()
                    if seen.st_size >= LARGE:
                        found[str(path)] = f"{seen.st_ino} {seen.st_size} {seen.st_mtime_ns}"
                    else:
                        times = (seen.st_mtime_ns, seen.st_ctime_ns)
                        found[str(path)] = content(str(path), seen.st_ino, seen.st_size, times)
    return found


IMPORTS = (
    "import ctypes, glob, importlib, sys\n"
    "found = glob.glob(sys.prefix + '/lib/python*/site-packages/t*/**/lib*_c*.so*', recursive=True)\n"
    "for path in sorted(found):\n"
    "    importlib.import_module(path.split('site-packages/')[1].split('/')[0])\n"
    "    ctypes.CDLL(path)\n"
    "print(len(found))"
)
"""Imports the stand-ins of frameworks, and loads their libraries with all that these are linked against."""


def imported(prefixes: tuple[str, ...]) -> list[str]:
    """Return what does not import in environments, in the loader's words."""
    runs = (
        subprocess.run([f"{p}/bin/python", "-B", "-c", IMPORTS], capture_output=True, text=True, check=False)
        for p in prefixes
    )
    return [r.stderr.strip().splitlines()[-1] for r in runs if r.returncode]


def difference(one: dict[str, str], two: dict[str, str]) -> list[str]:
    """What became another."""
    return [f"{k}: {one.get(k)} -> {two.get(k)}" for k in sorted({*one, *two}) if one.get(k) != two.get(k)]


def faults(report: Report) -> list[str]:
    """What is not as on a healthy machine."""
    return [f"{f.severity.word} {f.id} {f.subject}" for f in report.findings if f.severity > Severity.NOTE]


def started(prefix: str, shop: repair.RepairContext) -> Host:
    """The machine as a program finds it that is started while the environment is active."""
    env = activated_environment(prefix, shop.current_host())
    assert env is not None
    return HostWithEnvironment(shop.current_host(), env)


def main(pythons: tuple[str, ...], *, thorough: bool, wheels: str) -> dict[str, object]:
    """Cure what is primary."""
    os.environ["CONVALESCE_STATE"] = str(Path.home() / "state")
    shop = repair.repair_context(this_host())
    seen: list[Report] = []

    def examine(host: Host) -> Report:
        seen.append(doctor_examine(host, Progress(), ScanOptions(pythons=pythons, thorough=thorough)))
        return seen[-1]

    report = examine(shop.current_host())
    primary = report.primary
    if primary is None or primary.fix is None or not primary.fix.changes:
        return {"cause": primary.cause if primary else None, "changes": 0}
    before = picture(shop.journal.folder)
    proposal = repair.propose(primary, shop)
    if not proposal.is_prepared:
        sources = repair.package_sources(wheels, "", offline=True)
        proposal = repair.prepare(proposal, report, shop, Progress(), sources)
    rehearsal = repair.rehearse(proposal, report, shop, Progress(), examine)
    touched = [row for row in difference(before, picture(shop.journal.folder)) if f"/{TWINS}" not in row]
    outcome = repair.apply(proposal, report, shop, examine)
    changed = picture(shop.journal.folder) != before
    again = examine(shop.current_host()) if outcome.kind == "done" else report
    loads = imported(pythons) if outcome.kind == "done" else []
    through = [c.at for c in proposal.plan.changes if isinstance(c, SetVariable) and c.scope == "environment"]
    cured = [examine(started(prefix, shop)) for prefix in through] or [again]
    undone = repair.undo(outcome.entry, shop) if outcome.kind == "done" else None
    return {
        "cause": primary.cause,
        "changes": len(proposal.plan.changes),
        "problems": proposal.problems,
        "elevated": proposal.elevated,
        "preview": proposal.plan.lines(),
        "rehearsed": rehearsal.works,
        "rehearsal": rehearsal.sentence,
        "touched": touched,
        "kind": outcome.kind,
        "sentence": outcome.sentence,
        "changed": changed,
        "not imported": loads,
        "verified": sorted({fault for looked in cured for fault in faults(looked)}),
        "verified_for": {v.way: v.holds for v in outcome.verified_for},
        "again": faults(again),
        "offered again": [
            c.lines() for f in again.findings if f.fix for c in f.fix.changes if c in primary.fix.changes
        ],
        "undone": undone.kind if undone else None,
        "left": difference(before, picture(shop.journal.folder)),
        "back": faults(examine(shop.current_host())) if undone else None,
        "before": faults(report),
        "errors": [f"{e.probe} {e.kind}: {e.message}" for r in seen for e in r.snapshot.errors],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--wheels", default="")
    given = parser.parse_args()
    print(json.dumps(main(tuple(given.pythons), thorough=given.thorough, wheels=given.wheels)))
