"""Fixes for the line that gives a variable its wrong value, in start-up files, services, kernelspecs and settings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from core.fixes.variables import persistent_values
from core.model import path_list
from core.model.changes import EditLine, PersistentScope
from core.model.facts import Snapshot, Start, StartLine
from core.model.findings import Finding
from core.model.remedies import PointTo, PreferFolder, Remedy, TakeOut, TakeOutLine, Unset

EVERYBODYS = ("/etc/", "/usr/", "/var/", "/lib/", "/opt/")
"""Prefixes of files that belong to the system, not to one person."""
MOST_REASON = 160
"""Most characters of the comment beside a line."""


def take_out_line(remedy: TakeOutLine) -> tuple[EditLine, ...]:
    """Return the edit that takes a line out of a .pth file; without a comment, since old Pythons read it in any encoding."""
    scope: PersistentScope = "machine" if remedy.file.startswith(EVERYBODYS) else "user"
    return (
        EditLine(
            path=remedy.file,
            form="pth",
            line=remedy.line,
            name="sys.path",
            scope=scope,
            entry=remedy.folder,
            among=(remedy.folder,),
        ),
    )


def edited_variable(remedy: Remedy) -> str:
    """Return the variable that a remedy is about; empty unless a line may set it."""
    match remedy:
        case Unset() | PointTo() | TakeOut():
            return remedy.variable
        case PreferFolder(by="LD_LIBRARY_PATH"):
            return "LD_LIBRARY_PATH"
    return ""


def edit_lines(remedy: Remedy, finding: Finding, snapshot: Snapshot) -> tuple[EditLine, ...]:
    """Return the edits of every line by which a variable is wrong in the ways that the finding concerns; none where it is
    not known of all of them which line that is.
    """
    name = edited_variable(remedy)
    whole = isinstance(remedy, Unset | PointTo)
    if not name or (snapshot.machine.system == "windows" and not whole):
        return ()
    kept = {v.source for v in persistent_values(snapshot, name)}
    found: dict[tuple[str, int, str], EditLine] = {}
    for start in _concerned(finding, snapshot):
        for row, entry in _rows(remedy, start):
            if row.file in kept:
                continue
            if row.does == "open":
                return ()
            edit = _edit(row, entry, remedy, finding, start)
            key = (row.file, row.line, entry)
            old = found.get(key)
            if old is not None and (old.among != edit.among):
                return ()  # a loop or a function: one line does several things
            starts = tuple(dict.fromkeys((*(old.starts if old else ()), start.id)))
            found[key] = EditLine(**{**{n: getattr(edit, n) for n in edit.__struct_fields__}, "starts": starts})
    return tuple(found.values())


def _concerned(finding: Finding, snapshot: Snapshot) -> list[Start]:
    starts = snapshot.starts or ()
    return [s for s in starts if not finding.ways or s.id in finding.ways]


def _rows(remedy: Remedy, start: Start) -> Iterator[tuple[StartLine, str]]:
    """Yield the lines of a way that must be edited, each with the folder to remove; empty to remove the whole line."""
    name = edited_variable(remedy)
    for row in start.lines:
        if row.name != name or row.does == "unset" or row.line <= 0:
            continue
        match remedy:
            case Unset():
                yield row, ""
            case PointTo():
                right = {path_list.entry_key(f, "linux") for f in remedy.right}
                if path_list.entry_key(row.value, "linux") not in right and (not row.overridden or not remedy.folder):
                    yield row, ""
            case TakeOut():
                for place in remedy.places:
                    if _names(row, place.folder):
                        yield row, place.folder
            case PreferFolder():
                if _names(row, remedy.over):
                    yield row, remedy.over


def _names(row: StartLine, folder: str) -> bool:
    key = path_list.entry_key(folder, "linux")
    return any(path_list.entry_key(e, "linux") == key for e in _own_entries(row))


def _own_entries(row: StartLine) -> tuple[str, ...]:
    text = row.added or row.value
    return tuple(e for e in path_list.split_entries(text, "linux", row.name) if e)


def _edit(row: StartLine, entry: str, remedy: Remedy, finding: Finding, start: Start) -> EditLine:
    scope: PersistentScope = "machine" if row.file.startswith(EVERYBODYS) else "user"
    spelt = next(
        (e for e in _own_entries(row) if path_list.entry_key(e, "linux") == path_list.entry_key(entry, "linux")), entry
    )
    return EditLine(
        path=row.file,
        form=row.form,
        line=row.line,
        name=row.name,
        scope=scope,
        entry=spelt if entry else "",
        among=_own_entries(row) if entry else (),
        value=remedy.folder if isinstance(remedy, PointTo) else "",
        reason=_comment(finding.title),
        held=next((v.value for v in start.variables if v.name == row.name), ""),
    )


def _comment(text: str) -> str:
    """Return a sentence in a form that fits a comment: one line, and nothing in it that a program takes for its own."""
    plain = "".join(c if c.isprintable() and c not in "\\%\"'`$" else " " for c in text)
    return " ".join(plain.split())[:MOST_REASON].rstrip()
