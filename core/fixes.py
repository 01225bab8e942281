"""Fixes: from a finding and the Snapshot to the Changes that cure it, by cause. Pure; nothing is looked at or done here.

Each function returns the changes, or none where only the person should act; the finding keeps its advice either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from core import pathlist
from core.activation import KIND
from core.changes import Change, FileSet, Scope, SetVariable, Value, insert_entry, move_entry, remove_entry
from core.facts import CudnnCopy, How, PathEntry, Snapshot, System, Variable
from core.findings import Finding, Fix, Severity
from core.fixes_files import cache_aside, complete, quarantine, under_plain_name
from core.i18n import _
from core.pathlist import PathError
from core.rules.known import numbers
from core.rules.loads import Case, by_variable, cases
from core.rules.view import copy_at, folder_of, tidy

Maker = Callable[[Finding, Snapshot], tuple[Change, ...]]


def with_changes(finding: Finding, snapshot: Snapshot) -> Finding:
    """Return the finding with the changes that Convalesce can make for it; as it was where there are none, or where it has some."""
    if finding.fix is not None and finding.fix.changes:
        return finding
    named = MAKERS.get(finding.cause, ()) if finding.severity > Severity.NOTE else ()
    for maker in (*named, *BY_ID.get(finding.id, ())):
        try:
            changes = maker(finding, snapshot)
        except PathError:
            continue  # the search path is in no state to be edited: the advice stays
        if changes:
            fix = finding.fix or Fix(title=_("Take out the entries that do nothing"), restart="terminal")
            return replace(finding, fix=replace(fix, title=_title(fix, changes), changes=changes))
    return finding


def _title(fix: Fix, changes: tuple[Change, ...]) -> str:
    """Return what will be done: by the files' own words, else by the advice's."""
    first = changes[0]
    if isinstance(first, FileSet):
        return first.title
    return _("{title}, in this environment", title=fix.title) if first.scope == "environment" else fix.title


# --- variables ---------------------------------------------------------------------------------------------------


def _kept(snapshot: Snapshot, name: str) -> list[Variable]:
    """Return where a variable is kept: its lasting values, those that a session alone has left out."""
    found = snapshot.environment.variables if snapshot.environment else ()
    return [
        v for v in found if v.name.upper() == name.upper() and v.scope in ("user", "machine") and _editable(v, snapshot)
    ]


def _editable(v: Variable, snapshot: Snapshot) -> bool:
    if snapshot.machine.system == "windows":
        return v.kind in ("REG_SZ", "REG_EXPAND_SZ") and "Volatile" not in v.source
    return v.source == "/etc/environment" or (v.source.endswith(".conf") and "/environment.d/" in v.source)


def _scope(v: Variable) -> Scope:
    return "user" if v.scope == "user" else "machine"


def _set(v: Variable, after: str | None, system: System) -> SetVariable:
    kind = v.kind if system == "windows" else ""
    before = Value(text=v.value, kind=kind)
    new = None if after is None else Value(text=after, kind=kind)
    return SetVariable(name=v.name, scope=_scope(v), at=_at(v, system), before=before, after=new)


def _at(v: Variable, system: System) -> str:
    return "" if system == "windows" else v.source


def _of_one_scope(changes: list[Change]) -> tuple[Change, ...]:
    """Return the changes if one person can make all of them; a plan is the user's or the administrator's, never both."""
    scopes = {c.scope for c in changes if not hasattr(c, "items")}
    return tuple(changes) if len(scopes) <= 1 else ()


def unhide(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take a variable away that hides the GPUs, wherever it is kept."""
    return _of_one_scope([_set(v, None, snapshot.machine.system) for v in _kept(snapshot, finding.subject)])


def repair_cuda_path(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Let the variable name the newest toolkit that is there; take it away where there is none."""
    installed = [t for t in snapshot.toolkits or () if t.origin in ("installer", "folder")]
    best = max(installed, key=lambda t: numbers(t.version), default=None)
    system = snapshot.machine.system
    there = {pathlist.key(t.root, system) for t in installed}
    kept = [v for v in _kept(snapshot, finding.subject) if pathlist.key(v.value, system) not in there]
    return _of_one_scope([_set(v, best.root if best else None, system) for v in kept])


# --- search paths --------------------------------------------------------------------------------------------------


def add_named_folder(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Put the folder that the finding names on the search path."""
    return add_folder(finding, snapshot) if finding.id.endswith("not-on-search-path") else ()


def add_folder(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Put the folder ``finding.subject`` on the search path: Windows' user PATH; on Linux, of each environment that it
    concerns and that has an activation. (For every program on Linux, ldconfig is the cure: the advice says how.)
    """
    folder, system = finding.subject, snapshot.machine.system
    if folder[:1] != "/" and folder[1:3] != ":\\":
        return ()
    if system == "windows":
        before = _value(snapshot, "PATH", "user")
        text = before.text if before else ""
        if pathlist.find(text, folder, system) is not None:
            return ()
        last = len(pathlist.split(text, system))
        return (insert_entry(before, folder, last, system, name="Path", scope="user"),)
    prefixes = dict.fromkeys(c.load.consumer.prefix for c in _concerned(finding, snapshot))
    return tuple(_activation(p, f"prepend {folder}") for p in prefixes if _has_activation(snapshot, p))


def _concerned(finding: Finding, snapshot: Snapshot) -> list[Case]:
    """Return the loads that the finding names as its own, else those that find no cuDNN."""
    every = list(cases(snapshot))
    return [c for c in every if c.concerns in finding.evidence] or [c for c in every if c.winner is None]


def _value(snapshot: Snapshot, name: str, scope: str) -> Value | None:
    found = next((v for v in _kept(snapshot, name) if v.scope == scope), None)
    return Value(text=found.value, kind=found.kind) if found else None


def _has_activation(snapshot: Snapshot, prefix: str) -> bool:
    return any(p.prefix == prefix and p.kind in ("venv", "conda") for p in snapshot.pythons or ())


def _activation(prefix: str, steps: str) -> SetVariable:
    return SetVariable(
        name="LD_LIBRARY_PATH", scope="environment", at=prefix, before=None, after=Value(text=steps, kind=KIND)
    )


def drop_override(_finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take the overriding folder out of LD_LIBRARY_PATH: where it is kept, else while an environment is active."""
    found: dict[str, list[str]] = {}
    for c in cases(snapshot):
        outside = [e for e in _by_variable(c) if e]
        if outside and c.own:
            found.setdefault(c.load.consumer.prefix, []).extend(outside)
    entries = list(dict.fromkeys(e for its in found.values() for e in its))
    kept = [
        change for v in _kept(snapshot, "LD_LIBRARY_PATH") for change in _without(v, entries, snapshot.machine.system)
    ]
    if kept:
        return _of_one_scope(kept)
    return tuple(
        _activation(prefix, "\n".join(f"drop {e}" for e in dict.fromkeys(its)))
        for prefix, its in found.items()
        if _has_activation(snapshot, prefix)
    )


def _by_variable(c: Case) -> Iterator[str]:
    """Yield the entries of LD_LIBRARY_PATH that lead a consumer away from its own copy."""
    for winner in (c.winner, *(search.winner for _role, search in c.parts)):
        if winner and by_variable(winner) and c.own:
            folder = folder_of(c.system, winner.path)
            if tidy(c.system, folder) != tidy(c.system, c.own.folder):
                yield winner.via if winner.via.startswith("/") else folder


def _without(v: Variable, entries: list[str], system: System) -> Iterator[Change]:
    """Yield the removal of every such entry of one kept variable, the last one first."""
    value = Value(text=v.value, kind=v.kind if system == "windows" else "")
    wanted = {pathlist.key(e, system) for e in entries}
    for place, entry in reversed(list(enumerate(pathlist.split(v.value, system)))):
        if pathlist.key(entry, system) in wanted:
            change = remove_entry(value, place, system, name=v.name, scope=_scope(v), at=_at(v, system))
            yield change
            value = change.after or value


def reorder(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Let the right copy be found before the one that hides it: by the order of PATH, or in the environment."""
    for c in cases(snapshot):
        winner = c.winner
        better = _better(c)
        if winner is None or better is None or folder_of(c.system, winner.path) != finding.subject:
            continue
        if winner.how is How.PATH and c.system == "windows":
            return _before(finding.subject, better.folder, snapshot)
        if winner.how is How.LD_LIBRARY_PATH and _has_activation(snapshot, c.load.consumer.prefix):
            return (_activation(c.load.consumer.prefix, f"drop {finding.subject}"),)
    return ()


def _better(c: Case) -> CudnnCopy | None:
    """Return the copy that should win: the consumer's own, else the next one that the loader would find."""
    if c.winner is None or c.main is None:
        return None
    if c.own and c.own is not c.copy:
        return c.own
    later = [copy_at(c.seen, a.path) for a in c.main.found[1:]]
    return next((x for x in later if x is not None and x is not c.copy and not x.missing), None)


def _before(wrong: str, right: str, snapshot: Snapshot) -> tuple[Change, ...]:
    """Return the edit of Windows' PATH after which ``right`` comes before ``wrong``, in the scope that names ``wrong``."""
    where: Scope
    for where in ("machine", "user"):
        value = _value(snapshot, "PATH", where)
        place = pathlist.find(value.text, wrong, "windows") if value else None
        if value is None or place is None:
            continue
        now = pathlist.find(value.text, right, "windows")
        if now is None:
            return (insert_entry(value, right, place, "windows", name="Path", scope=where),)
        if now > place:
            return (move_entry(value, now, place, "windows", name="Path", scope=where),)
    return ()


DEAD = ("missing", "not a folder", "duplicate")
WORDS = ("cuda", "cudnn", "nvidia", "tensorrt")


def remove_dead(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take out kept entries that do nothing: CUDA folders that are gone, and what is listed twice.

    Other folders that are missing may be on a drive that is not connected at this moment, and stay.
    """
    system = snapshot.machine.system
    kept = {v.scope: v for v in _kept(snapshot, finding.subject)}
    dead = [e for e in (snapshot.environment.entries if snapshot.environment else ()) if _is_dead(e, finding.subject)]
    changes: list[Change] = []
    for v in (kept.get("user"), kept.get("machine")):
        texts = [e.text for e in dead if v is not None and e.scope == v.scope]
        if v is None or not texts:
            continue
        value = Value(text=v.value, kind=v.kind if system == "windows" else "")
        for place, entry in reversed(list(enumerate(pathlist.split(v.value, system)))):
            if entry in texts:
                texts.remove(entry)
                change = remove_entry(value, place, system, name=v.name, scope=_scope(v), at=_at(v, system))
                changes.append(change)
                value = change.after or value
        if changes:
            break  # one scope at a time: the user's first
    return tuple(changes)


def _is_dead(e: PathEntry, variable: str) -> bool:
    if e.variable.upper() != variable.upper():
        return False
    gone = any(m in ("missing", "not a folder") for m in e.marks) and any(w in e.text.lower() for w in WORDS)
    return gone or ("duplicate" in e.marks and bool(e.text))


MAKERS: dict[str, tuple[Maker, ...]] = {
    "gpu_hidden_by_env": (unhide,),
    "cuda_path_env_wrong": (repair_cuda_path,),
    "cudnn_not_on_search_path": (add_named_folder,),
    "cuda_not_on_search_path": (add_named_folder,),
    "ld_library_path_override": (drop_override,),
    "cudnn_shadowed": (reorder, quarantine),
    "cudnn_sublibrary_missing": (complete,),
    "corrupt_or_truncated_file": (complete,),
    "nvrtc_missing_or_mismatch": (under_plain_name,),
    "nv_compute_cache_bad": (cache_aside,),
}
"""Cause -> what may cure it, the first that applies. A new fix is a function and a row here."""

BY_ID: dict[str, tuple[Maker, ...]] = {"environment.untidy-path": (remove_dead,)}
"""The same for findings that name no cause."""
