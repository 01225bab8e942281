"""Rules about variables and search paths: useless entries, and settings that fail under a stated condition."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.common.i18n import _, n_, translate_fact
from core.common.late_pattern import late_pattern
from core.common.shell import shell_command
from core.model.facts import How, Mark, PathEntry, Snapshot, Variable
from core.model.findings import Evidence, Finding
from core.model.path_list import entry_key, split_entries
from core.model.paths import parent
from core.model.remedies import DropDead, ExpandVariables
from core.model.variable_names import CUDA_WORDS
from core.rules.consumer_loads import consumer_loads
from core.rules.snapshot_queries import effective_variable, python_of
from core.rules.ways import CONCRETE
from core.rules.wording import ERROR, GOOD, NOTE, WARNING, concern_row, make_finding, manual_fix, observation

SEARCH_PATHS = ("PATH", "LD_LIBRARY_PATH")

HARMLESS_MARKS: frozenset[Mark] = frozenset({"duplicate", "missing", "not a folder", "trailing slash", "empty"})
"""Marks of entries that a loader skips."""

OF_DIALOGS = 2_047
"""What older dialogs and installers cut PATH at when they change it: every program gets a longer one whole."""
LONGEST = 32_767
"""Maximum length in characters of a variable on Windows; programs see only a part of a longer PATH."""


def tidy_paths(seen: Snapshot) -> Iterator[Finding]:
    """Entries without effect: one note for each variable."""
    for name in SEARCH_PATHS:
        entries = [e for e in seen.path_entries if e.variable == name]
        odd = [e for e in entries if any(m in HARMLESS_MARKS for m in e.marks)]
        if odd:
            yield make_finding(
                "environment.untidy-path",
                NOTE,
                n_(
                    "{name} has {n} entry that has no effect.",
                    "{name} has {n} entries that have no effect.",
                    len(odd),
                    name=name,
                ),
                why=_("The loader skips them. They are listed for information only."),
                evidence=[
                    observation(
                        _("{name} entry {index}", name=name, index=e.index + 1),
                        e.text or _("(empty)"),
                        ", ".join(_(m) for m in e.marks),
                    )
                    for e in odd
                ],
                subject=name,
                remedy=_without_dead(name, odd),
            )


def _without_dead(name: str, odd: list[PathEntry]) -> DropDead | None:
    """Return the removable entries: missing CUDA folders, and duplicates.

    Other missing folders may be on a drive that is not connected at the moment, and stay.
    """
    dead = tuple((e.scope, e.text) for e in odd if _is_dead(e))
    return DropDead(variable=name, entries=dead) if dead else None


def _is_dead(e: PathEntry) -> bool:
    gone = any(m in ("missing", "not a folder") for m in e.marks) and any(w in e.text.lower() for w in CUDA_WORDS)
    return gone or ("duplicate" in e.marks and bool(e.text))


def broken_entries(seen: Snapshot) -> Iterator[Finding]:
    """Entries that name a CUDA folder in a form that no loader understands."""
    for e in seen.path_entries:
        if e.variable not in SEARCH_PATHS or not any(w in e.text.lower() for w in CUDA_WORDS):
            continue
        why = _entry_fault(e, seen.machine.system == "windows")
        if why:
            yield make_finding(
                "environment.broken-entry",
                WARNING,
                _(
                    "{variable} contains a CUDA folder in a form that the loader does not understand.",
                    variable=e.variable,
                ),
                cause="cudnn_not_on_search_path" if "cudnn" in e.text.lower() else "cuda_not_on_search_path",
                why=why,
                evidence=[
                    observation(
                        _("{name} entry {index}", name=e.variable, index=e.index + 1),
                        e.text,
                        ", ".join(_(m) for m in e.marks),
                    )
                ],
                subject=e.text,
                fix=manual_fix(
                    _("Write the folder without quotation marks or variables"),
                    _(
                        "Replace the entry {text} in {variable} with the full path of the folder.",
                        text=e.text,
                        variable=e.variable,
                    ),
                    restart="terminal",
                ),
            )


def _entry_fault(e: PathEntry, windows: bool) -> str:
    if "quoted" in e.marks and windows:
        return _("The entry is in quotation marks, which the Windows loader takes as part of the name.")
    if "unexpanded" in e.marks and not windows and "*" in e.expanded:
        return ""  # told with the libraries that are missed for it; beside the folders themselves it does no harm
    if "unexpanded" in e.marks:
        return _("The entry contains a variable or a ~ that is not expanded, so the folder is not found.")
    if "relative" in e.marks and "empty" not in e.marks:
        return _("The entry is not a full path, so it depends on the folder that a program starts in.")
    return ""


def cut_values(seen: Snapshot) -> Iterator[Finding]:
    """Lines that set a variable to a value with a blank in it, without quotation marks: what stands behind the blank is dropped."""
    rows = {(r.file, r.line): (s, r) for s in seen.starts or () for r in s.lines if r.cut and not r.overridden}
    for start, row in rows.values():
        told = make_finding(
            "environment.cut-value",
            WARNING,
            _(
                "Line {line} of {file} sets {name} to {value} alone.",
                line=row.line,
                file=row.file,
                name=row.name,
                value=row.value,
            ),
            cause="variable_value_wrong",
            why=_(
                "A blank ends the value, since no quotation marks are around it. What stands behind it is dropped: {rest}",
                rest=row.cut,
            ),
            evidence=[
                observation(row.name, f"{row.name}={row.value}", f"{row.file}:{row.line}"),
                observation(_("Dropped"), row.cut, f"{row.file}:{row.line}"),
            ],
            subject=row.name,
            fix=manual_fix(
                _("Put quotation marks around it in line {line} of {file}", line=row.line, file=row.file),
                f'Environment="{row.name}={row.value} {row.cut}"'
                if row.form == "systemd"
                else f'export {row.name}="{row.value} {row.cut}"',
            ),
        )
        yield replace(told, ways=(start.id,)) if start.kind in CONCRETE else told


def path_as_plain_text(seen: Snapshot) -> Iterator[Finding]:
    """PATH of Windows' registry with variables in it, kept in the kind of value (REG_SZ) in which none is replaced."""
    stored = [v for v in seen.variables if v.name.upper() == "PATH" and v.scope in ("user", "machine")]
    got = next((v.value for v in seen.variables if v.name.upper() == "PATH" and v.scope == "process"), "")
    unreplaced = set(split_entries(got, "windows", "PATH"))
    reached = {entry_key(e.expanded or e.text, "windows") for e in seen.path_entries if "%" not in e.text}
    for v in stored:
        # whether Windows replaces them is told by what this session got, not by the kind alone: reports differ
        entries = [e for e in _with_variables(v, seen) if e[0] in unreplaced] if v.kind == "REG_SZ" else []
        if not entries:
            continue
        lost = [folder for _text, folder in entries if entry_key(folder, "windows") not in reached]
        missed = _lost_in(lost, seen)
        yield make_finding(
            "environment.plain-path",
            ERROR if missed else WARNING,
            _("The variables in the {scope} PATH are not replaced, because its kind is REG_SZ.", scope=v.scope),
            cause="cuda_not_on_search_path" if missed else "",
            why=_(
                "Windows replaces variables only in values of the kind REG_EXPAND_SZ, so the loader does not find the folders of these entries."
            ),
            evidence=[*(observation(text, folder, v.source) for text, folder in entries), *missed],
            subject=f"{v.scope} PATH",
            fix=manual_fix(_("Store PATH as REG_EXPAND_SZ"), restart="program"),
            remedy=ExpandVariables(variable=v.name, scope="user" if v.scope == "user" else "machine"),
        )


def _with_variables(v: Variable, seen: Snapshot) -> list[tuple[str, str]]:
    """Return the entries that name a variable which this machine has, with the folder that each would be."""
    known = {name.upper(): its.value for name in _NAMED.findall(v.value) if (its := effective_variable(seen, name))}
    found = []
    for entry in split_entries(v.value, "windows", "PATH"):
        names = _NAMED.findall(entry)
        if names and all(n.upper() in known for n in names):
            found.append((entry, _NAMED.sub(lambda m: known[m[1].upper()], entry)))
    return found


_NAMED = late_pattern(r"%([^%;]+)%")


def _lost_in(folders: list[str], seen: Snapshot) -> list[Evidence]:
    """Return whose libraries lie in these folders and are not found: the consumers, each once."""
    wanted = {entry_key(f, "windows") for f in folders}
    files = [f for t in seen.toolkits or () for f in t.libraries] + [f for c in seen.cudnn or () for f in c.files]
    there = {f.name.lower() for f in files if entry_key(parent("windows", f.path), "windows") in wanted}
    rows: dict[str, Evidence] = {}
    for closure in seen.closures or ():
        lacks = [e for e in closure.edges if e.state == "absent"]
        elsewhere = (p for e in lacks for p in e.elsewhere)
        if any(e.name.lower() in there for e in lacks) or any(
            entry_key(parent("windows", p), "windows") in wanted for p in elsewhere
        ):
            row = concern_row(closure.consumer)
            rows.setdefault(str(row), row)
    return list(rows.values())


def exceeded_limits(seen: Snapshot) -> Iterator[Finding]:
    """Limits that a variable exceeds, and values of a wrong type."""
    plain = any(True for _finding in path_as_plain_text(seen))
    for limit in seen.environment.limits if seen.environment else ():
        if plain and limit.kind == "kind" and limit.variable.upper() == "PATH":
            continue
        beyond = limit.variable.upper() == "PATH" and limit.limit == LONGEST
        lost = _not_found(seen) if beyond else []
        yield make_finding(
            "environment.limit",
            ERROR if lost else NOTE if limit.limit == OF_DIALOGS else WARNING,
            translate_fact(limit.text),
            cause="path_too_long" if beyond else "",
            why=_("Programs can get a shortened or unusable value."),
            evidence=lost,
            subject=limit.text[:80],
            fix=manual_fix(
                _("Shorten or repair the variable"),
                _("Remove entries that are not needed, in the system's own dialog."),
            ),
        )


def _not_found(seen: Snapshot) -> list[Evidence]:
    """Return the consumers whose load did not find a file that PATH should provide."""
    loads = [c.load for c in consumer_loads(seen) if c.winner and c.winner.how is How.PATH]
    return [concern_row(load.consumer) for load in loads if load.roll_call and not load.roll_call.loaded]


def writable_folders(seen: Snapshot) -> Iterator[Finding]:
    """Folders on a search path that everybody may write to: a note about security."""
    odd = [e for e in seen.path_entries if "writable by others" in e.marks]
    for name in SEARCH_PATHS:
        mine = [e for e in odd if e.variable == name]
        if mine:
            yield make_finding(
                "environment.writable-by-others",
                NOTE,
                n_(
                    "Everyone on this machine can put files into {n} folder of {name}.",
                    "Everyone on this machine can put files into {n} folders of {name}.",
                    len(mine),
                    name=name,
                ),
                why=_("Your programs load any library that somebody puts there."),
                evidence=[observation(_("{name} entry {index}", name=name, index=e.index + 1), e.text) for e in mine],
                subject=name,
            )


def variables_in_order(seen: Snapshot) -> Iterator[Finding]:
    """No variable causes a problem."""
    if seen.environment is None or any(True for rule in (broken_entries, exceeded_limits) for _ in rule(seen)):
        return
    count = len([e for e in seen.environment.entries if e.variable in SEARCH_PATHS])
    names = [v.name for v in seen.environment.variables if v.name.upper().startswith(("CUDA", "CUDNN", "LD_LIB"))]
    yield make_finding(
        "environment.in-order",
        GOOD,
        n_(
            "Search paths: {n} entry was checked, and no fault was found.",
            "Search paths: {n} entries were checked, and no fault was found.",
            count,
        ),
        evidence=[observation(_("CUDA variables"), ", ".join(sorted(set(names))) or _("none"))],
    )


def changed_since_session(seen: Snapshot) -> Iterator[Finding]:
    """Variables were changed since this session began: the machine was judged as new programs find it."""
    for r in seen.environment.renewed if seen.environment else ():
        at_once = r.scope == "environment"
        yield make_finding(
            "environment.older-session",
            NOTE,
            _(
                "This session still has {name} from before a change to the activation of {prefix}.",
                name=r.name,
                prefix=r.at,
            )
            if at_once
            else _("This session still has {name} from before a change; new programs get the new one.", name=r.name),
            why=_(
                "Everything here was examined with the values that programs get once the environment is "
                "activated again. Programs that are started from here before that, or without it, get the old "
                "ones."
            )
            if at_once
            else _(
                "Everything here was examined with the values that newly started programs get. Running programs "
                "keep the old ones."
            ),
            evidence=[
                observation(_("This session has"), _("nothing") if r.old is None else repr(r.old), r.name),
                observation(_("New programs get"), _("nothing") if r.new is None else repr(r.new), r.at),
            ],
            subject=r.name,
            fix=manual_fix(
                _("Activate the environment in a new terminal") if at_once else _("Sign out and back in"),
                activation_command(seen, r.at) if at_once else "",
                restart="terminal" if at_once else "session",
            ),
        )


def activation_command(seen: Snapshot, prefix: str) -> str:
    """Return the command that activates an environment."""
    python = python_of(seen, prefix)
    return shell_command(
        *(("conda", "activate", prefix) if python and python.kind == "conda" else ("source", f"{prefix}/bin/activate"))
    )


RULES = (
    tidy_paths,
    broken_entries,
    cut_values,
    path_as_plain_text,
    exceeded_limits,
    writable_folders,
    changed_since_session,
    variables_in_order,
)
