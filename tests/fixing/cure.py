"""On one machine of the fault lab: scan, rehearse every fix with changes, apply it, scan again, undo it, compare.

Prints one JSON document: for each primary finding what was planned and what became of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from core import doctor
from core.apply import Plan, perform, prepared, undo
from core.fixes import with_changes
from core.host import Host, this_host
from core.journal import Journal
from core.rehearse import rehearse, verify
from core.watch import Watch
from core.writing import LinuxWriter

WATCHED = ("/home", "/opt", "/usr/local", "/etc", "/tmp")


def picture(state: str) -> dict[str, str]:
    """Every folder, file and link that a fix could touch; files by hash."""
    found = {}
    for base in WATCHED:
        for here, inner, names in os.walk(base):
            for name in (*inner, *names):
                path = Path(here) / name
                if str(path).startswith(state):
                    continue
                if path.is_symlink():
                    found[str(path)] = f"-> {path.readlink()}"
                elif path.is_dir():
                    found[str(path)] = "folder"
                elif path.is_file() and os.access(path, os.R_OK):
                    with path.open("rb") as file:
                        found[str(path)] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def main(pythons: tuple[str, ...], *, thorough: bool) -> dict[str, object]:
    """Cure what is primary."""
    host = this_host()

    def examine(seen: Host) -> object:
        return doctor.examine(seen, Watch(), pythons=pythons, thorough=thorough)

    report = examine(host)
    primary = report.primary
    if primary is None:
        return {"cause": None}
    finding = with_changes(primary, report.snapshot)
    changes = finding.fix.changes if finding.fix else ()
    if not changes:
        return {"cause": finding.cause, "changes": 0}
    home = Path.home()
    journal, writer = Journal(home / "state"), LinuxWriter(home=str(home))
    before = picture(journal.folder)
    plan = Plan(title=finding.fix.title, changes=prepared(changes, writer), finding=finding.id)
    rehearsal = rehearse(finding, report, plan.changes, host=host, watch=Watch(), examine=examine)
    untouched = picture(journal.folder) == before
    done = perform(
        plan,
        writer=writer,
        journal=journal,
        verify=lambda: verify(finding, report, plan.changes, host=host, examine=examine),
    )
    changed = picture(journal.folder) != before
    undone = undo(done.entry, writer=writer, journal=journal) if done.kind == "done" else None
    return {
        "cause": finding.cause,
        "changes": len(changes),
        "preview": plan.lines(),
        "rehearsed": rehearsal.works,
        "rehearsal": rehearsal.sentence,
        "untouched": untouched,
        "kind": done.kind,
        "sentence": done.sentence,
        "changed": changed,
        "undone": undone.kind if undone else None,
        "restored": picture(journal.folder) == before,
    }


if __name__ == "__main__":
    named = tuple(word for word in sys.argv[1:] if word != "--thorough")
    print(json.dumps(main(named, thorough="--thorough" in sys.argv)))
