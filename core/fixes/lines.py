"""Fixes for the line that gives a variable its wrong value, in start-up files, services, kernelspecs and settings. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.common.i18n import _
from core.fixes.variables import persistent_values
from core.model import path_list, remedies
from core.model.changes import EditLine, PersistentScope
from core.model.facts import NOT_EDITED, Snapshot, Start, StartLine
from core.model.findings import Finding
from core.rules.snapshot_queries import effective_variable
from core.rules.ways import THIS_SESSION

EVERYBODYS = ("/etc/", "/usr/", "/var/", "/lib/", "/opt/")
"""Prefixes of files that belong to the system, not to one person."""
SEARCH_PATH = "LD_LIBRARY_PATH"
SESSIONS = ("login", "terminal", "desktop", "ssh", "multiplexer")
"""Kinds of the ways by which a session comes about."""
MOST_REASON = 160
"""Most characters of the comment beside a line."""


def take_out_line(remedy: remedies.TakeOutLine) -> tuple[EditLine, ...]:
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


def name_python(remedy: remedies.NamePython) -> tuple[EditLine, ...]:
    """Return the edits that let lines of this person's name another interpreter; none of the system's own files."""
    if any(row.file.startswith(EVERYBODYS) for row in remedy.lines):
        return ()
    return tuple(
        EditLine(
            path=row.file,
            form=row.form,
            line=row.line,
            name=row.name,
            entry=row.value,
            value=remedy.python,
            starts=(remedy.start,),
        )
        for row in remedy.lines
    )


def edited_variable(remedy: remedies.Remedy) -> str:
    """Return the variable that a remedy is about; empty unless a line may set it."""
    match remedy:
        case remedies.Unset() | remedies.PointTo() | remedies.TakeOut():
            return remedy.variable
        case remedies.PreferFolder(by="LD_LIBRARY_PATH"):
            return SEARCH_PATH
        case remedies.GiveOtherName() if remedy.entry:
            return "PYTHONPATH"
    return ""


def edit_lines(remedy: remedies.Remedy, finding: Finding, snapshot: Snapshot) -> tuple[EditLine, ...]:
    """Return the edits of every line by which a variable is wrong in the ways that the finding concerns; none where it is
    not known of all of them which line that is.
    """
    if isinstance(remedy, remedies.AddFolder | remedies.AddDllFolders):
        return _put_in_front(searched_folders(remedy), finding, snapshot)
    name = edited_variable(remedy)
    whole = isinstance(remedy, remedies.Unset | remedies.PointTo)
    if not name or (snapshot.machine.system == "windows" and not whole):
        return ()
    kept = {v.source for v in persistent_values(snapshot, name)}
    found: dict[tuple[str, int, str], EditLine] = {}
    for start in _concerned_starts(finding, snapshot):
        for row, entry in _rows(remedy, start):
            if row.file in kept:
                continue
            if row.does == "open" or row.form in NOT_EDITED:
                return ()
            edit = _edit(row, entry, remedy, finding, start)
            key = (row.file, row.line, entry)
            old = found.get(key)
            if old is not None and (old.among != edit.among):
                return ()  # a loop or a function: one line does several things
            starts = tuple(dict.fromkeys((*(old.starts if old else ()), start.id)))
            found[key] = replace(edit, starts=starts)
    if isinstance(remedy, remedies.GiveOtherName) and not _all_by_lines(remedy, finding, snapshot):
        return ()
    return tuple(found.values())


def _all_by_lines(remedy: remedies.GiveOtherName, finding: Finding, snapshot: Snapshot) -> bool:
    """Whether lines lead every program that the finding concerns to the entry: this session's, too, where it is."""
    concerned = _concerned_starts(finding, snapshot)
    by_lines = [s for s in concerned if any(True for _row in _rows(remedy, s))]
    key = path_list.entry_key(remedy.entry, "linux")
    having = [
        s
        for s in concerned
        for v in s.variables
        if v.name == "PYTHONPATH" and key in {path_list.entry_key(e, "linux") for e in v.value.split(":")}
    ]
    if any(s not in by_lines for s in having):
        return False
    if finding.ways and THIS_SESSION not in finding.ways:
        return True
    ours = effective_variable(snapshot, "PYTHONPATH")
    return ours is not None and any(
        v.value == ours.value for s in by_lines if s.kind in SESSIONS for v in s.variables if v.name == "PYTHONPATH"
    )


def advice_of_lines(remedy: remedies.Remedy, finding: Finding, snapshot: Snapshot) -> str:
    """Return which lines to write otherwise, for a fault of other ways of starting than this one; empty where none tells."""
    if not finding.ways or THIS_SESSION in finding.ways:
        return ""
    if isinstance(remedy, remedies.AddFolder | remedies.AddDllFolders):
        return _where_to_put(searched_folders(remedy), finding, snapshot)
    rows = [found for start in _concerned_starts(finding, snapshot) for found in _rows(remedy, start)]
    by_hand = any(row.form in NOT_EDITED for row, _entry in rows)
    if not by_hand and snapshot.machine.system != "windows":
        return ""  # there, the start menu's list of variables is no help against a line
    return "\n".join(dict.fromkeys(_other_line(row, entry, remedy) for row, entry in rows))


def _other_line(row: StartLine, entry: str, remedy: remedies.Remedy) -> str:
    """Return in a sentence how a line should be."""
    if entry:
        return _("In {file}, line {line}: remove {folder} from {name}.",
                 file=row.file, line=row.line, folder=entry, name=row.name)  # fmt: skip
    if isinstance(remedy, remedies.PointTo) and remedy.folder:
        return _("In {file}, line {line}: set {name} to {value}.",
                 file=row.file, line=row.line, name=row.name, value=remedy.folder)  # fmt: skip
    return _("In {file}, line {line}: remove {name}.", file=row.file, line=row.line, name=row.name)


def _where_to_put(remedy: remedies.AddFolder, finding: Finding, snapshot: Snapshot) -> str:
    """Return which lines give a search path without the folders."""
    windows = snapshot.machine.system == "windows"
    name = _search_path(snapshot)
    folders = (";" if windows else ":").join((remedy.folder, *remedy.more))
    said: dict[str, None] = {}
    for start in _concerned_starts(finding, snapshot):
        rows = _rows_setting(name, start, snapshot)
        for row in rows[-1:]:
            words = _("In {file}, line {line}: put {folders} before the other folders of {name}.",
                      file=row.file, line=row.line, folders=folders, name=row.name)  # fmt: skip
            if not row.line:  # a service's variables: the registry, or the program that keeps them, has no lines
                words = _("In {place}: put {folders} before the other folders of {name}.",
                          place=row.file, folders=folders, name=row.name)  # fmt: skip
            said[words] = None
        taken = [r for r in start.taken if r.name == SEARCH_PATH][-1:]
        if not rows and not taken and (words := _new_line(start, f"{name}={folders}")):
            said[words] = None
        for row in () if rows else taken:
            words = _("Line {line} of {file} unsets {name}. Remove that line, or set {name} to {folders} there",
                      file=row.file, line=row.line, folders=folders, name=row.name)  # fmt: skip
            said[words] = None
    return "\n".join(said)


def _rows_setting(name: str, start: Start, snapshot: Snapshot) -> list[StartLine]:
    """Return the lines that make a variable's value."""
    return [r for r in start.lines if _is_named(r, name, snapshot) and r.does != "unset" and not r.overridden]


def searched_folders(remedy: remedies.AddFolder | remedies.AddDllFolders) -> remedies.AddFolder:
    """Return the folders that a search path lacks. Where one way of starting alone lacks them, PATH as that way has it is what to
    change, whatever else could let Python find them.
    """
    if isinstance(remedy, remedies.AddFolder):
        return remedy
    return remedies.AddFolder(folder=remedy.folders[0], more=remedy.folders[1:], prefixes=(remedy.prefix,))


def _put_in_front(remedy: remedies.AddFolder, finding: Finding, snapshot: Snapshot) -> tuple[EditLine, ...]:
    """Return the edits of the lines that give other ways of starting than this one a search path without the folders; none
    unless each of these ways has such a line of this person's.
    """
    if not finding.ways or THIS_SESSION in finding.ways:
        return ()
    name = _search_path(snapshot)
    folders = (remedy.folder, *remedy.more)
    found: dict[tuple[str, int], EditLine] = {}
    for start in _concerned_starts(finding, snapshot):
        rows = _rows_setting(name, start, snapshot)
        if not rows or not _may_be_put_in(rows[-1]):
            return ()
        edit = replace(_edit(rows[-1], "", remedy, finding, start), front=folders)
        old = found.get((edit.path, edit.line))
        starts = tuple(dict.fromkeys((*(old.starts if old else ()), start.id)))
        found[edit.path, edit.line] = replace(edit, starts=starts)
    return tuple(found.values())


def _new_line(start: Start, assignment: str) -> str:
    """Return in a sentence which line a table of cron's or a unit of systemd's would need; empty for other ways of starting."""
    if start.kind == "cron":
        return _("In {file}, add this line before the jobs: {line}", file=start.at.partition(": ")[0], line=assignment)
    if start.kind == "service" and start.at.endswith(".service"):
        line = f"Environment={assignment}"
        return _(
            "In {file}, add this line to the section [Service], and start it again: {line}", file=start.at, line=line
        )
    return ""


def _may_be_put_in(row: StartLine) -> bool:
    return row.does != "open" and row.form not in NOT_EDITED and row.line > 0 and not row.file.startswith(EVERYBODYS)


def _search_path(snapshot: Snapshot) -> str:
    """Return the variable that the loader of this system searches."""
    return "PATH" if snapshot.machine.system == "windows" else SEARCH_PATH


def _is_named(row: StartLine, name: str, snapshot: Snapshot) -> bool:
    """Whether a line is about a variable; on Windows names are case-insensitive."""
    return row.name == name or (snapshot.machine.system == "windows" and row.name.upper() == name)


def _concerned_starts(finding: Finding, snapshot: Snapshot) -> list[Start]:
    starts = snapshot.starts or ()
    return [s for s in starts if not finding.ways or s.id in finding.ways]


def _rows(remedy: remedies.Remedy, start: Start) -> Iterator[tuple[StartLine, str]]:
    """Yield the lines of a way that must be edited, each with the folder to remove; empty to remove the whole line."""
    name = edited_variable(remedy)
    for row in start.lines:
        if row.name != name or row.does == "unset" or row.line <= 0:
            continue
        match remedy:
            case remedies.Unset():
                yield row, ""
            case remedies.PointTo():
                right = {path_list.entry_key(f, "linux") for f in remedy.right}
                if path_list.entry_key(row.value, "linux") not in right and (not row.overridden or not remedy.folder):
                    yield row, ""
            case remedies.TakeOut():
                for place in remedy.places:
                    if _names(row, place.folder):
                        yield row, place.folder
            case remedies.GiveOtherName():
                if _names(row, remedy.entry):
                    yield row, remedy.entry
            case remedies.PreferFolder():
                if _names(row, remedy.over):
                    yield row, remedy.over


def _names(row: StartLine, folder: str) -> bool:
    key = path_list.entry_key(folder, "linux")
    return any(path_list.entry_key(e, "linux") == key for e in _own_entries(row))


def _own_entries(row: StartLine) -> tuple[str, ...]:
    text = row.value if row.form == "crontab" else row.added or row.value  # cron expands nothing: its lines say all
    return tuple(e for e in path_list.split_entries(text, "linux", row.name) if e)


def _edit(row: StartLine, entry: str, remedy: remedies.Remedy, finding: Finding, start: Start) -> EditLine:
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
        value=remedy.folder if isinstance(remedy, remedies.PointTo) else "",
        reason=_comment(finding.title),
        held=next((v.value for v in start.variables if v.name == row.name), ""),
    )


def _comment(text: str) -> str:
    """Return a sentence in a form that fits a comment: one line, and nothing in it that a program takes for its own."""
    plain = "".join(c if c.isprintable() and c not in "\\%\"'`$" else " " for c in text)
    return " ".join(plain.split())[:MOST_REASON].rstrip()
