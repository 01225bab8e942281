"""Fixes of search paths: the right folder on them or first, the wrong one off them, dead entries out. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from core import pathlist
from core.changes import Change, EditPath, Scope, Value, insert_entry, move_entry, remove_entry
from core.facts import How, PathEntry, Snapshot, System, Variable
from core.findings import Finding
from core.fixes_kept import (
    activation,
    chosen,
    has_activation,
    kept,
    kept_value,
    of_one_scope,
    place_of,
    scope_of,
    value_of,
)
from core.rules.loading_cuda import family
from core.rules.loading_order import behind_foreign, better
from core.rules.loads import Case, by_variable, cases
from core.rules.view import folder_of, inside, tidy
from core.steps import Step

LIBRARIES = "LD_LIBRARY_PATH"

# --- on the path ---------------------------------------------------------------------------------------------------


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
        before = kept_value(snapshot, "PATH", "user")
        text = before.text if before else ""
        if pathlist.find(text, folder, system) is not None:
            return ()
        last = len(pathlist.split(text, system))
        return (insert_entry(before, folder, last, system, name="Path", scope="user"),)
    prefixes = dict.fromkeys(c.load.consumer.prefix for c in _concerned(finding, snapshot))
    return tuple(activation(p, f"prepend {folder}") for p in prefixes if has_activation(snapshot, p))


def _concerned(finding: Finding, snapshot: Snapshot) -> list[Case]:
    """Return the loads that the finding names as its own, else those that find no cuDNN."""
    every = list(cases(snapshot))
    return [c for c in every if c.concerns in finding.evidence] or [c for c in every if c.winner is None]


# --- off the path --------------------------------------------------------------------------------------------------


def drop_override(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take the overriding folder out of LD_LIBRARY_PATH: where it is kept, else while an environment is active."""
    if finding.step is Step.DRIVER:
        return ()  # whose libraries harm the driver is not what the loads of cuDNN tell
    found: dict[str, list[str]] = {}
    for c in cases(snapshot):
        outside = [e for e in _overriding(c) if e]
        if outside and c.own:
            found.setdefault(c.load.consumer.prefix, []).extend(outside)
    return _dropped(found, snapshot)


def _overriding(c: Case) -> Iterator[str]:
    """Yield the entries of LD_LIBRARY_PATH that lead a consumer away from its own copy."""
    for winner in (c.winner, *(search.winner for _, search in c.parts)):
        if winner and by_variable(winner) and c.own:
            folder = folder_of(c.system, winner.path)
            if tidy(c.system, folder) != tidy(c.system, c.own.folder):
                yield winner.via if winner.via.startswith("/") else folder


def drop_wrong_libcuda(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take the folder of a libcuda that is not the driver's out of LD_LIBRARY_PATH, as ``drop_override`` does."""
    entries = snapshot.environment.entries if snapshot.environment else ()
    wrong = [
        e.expanded or e.text
        for e in entries
        if e.variable == LIBRARIES and finding.subject and inside("linux", finding.subject, e.expanded or e.text)
    ]
    return _dropped(dict.fromkeys(chosen(snapshot), wrong), snapshot) if wrong else ()


def drop_half(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take the folder out of LD_LIBRARY_PATH that brings one half of cuBLAS to an environment with both of its own."""
    found: dict[str, list[str]] = {}
    for c in cases(snapshot):
        prefix = c.load.consumer.prefix
        if c.load.consumer.id != finding.subject or not prefix:
            continue
        for search in c.load.resolutions:
            what, winner = family(search.name), search.winner
            if what and what[0] in ("cublas", "cublasLt") and winner and by_variable(winner):
                folder = folder_of(c.system, winner.path)
                if not inside(c.system, folder, prefix):
                    found.setdefault(prefix, []).append(folder)
    return _dropped(found, snapshot)


def _dropped(found: Mapping[str, Iterable[str]], snapshot: Snapshot) -> tuple[Change, ...]:
    """Return how folders go out of LD_LIBRARY_PATH. ``found``: an environment's prefix -> the folders that harm it."""
    entries = list(dict.fromkeys(e for its in found.values() for e in its))
    system = snapshot.machine.system
    edits = [change for v in kept(snapshot, LIBRARIES) for change in _without(v, entries, system)]
    if edits:
        return of_one_scope(edits)
    return tuple(
        activation(prefix, "\n".join(f"drop {e}" for e in dict.fromkeys(its)))
        for prefix, its in found.items()
        if has_activation(snapshot, prefix)
    )


def _without(v: Variable, entries: list[str], system: System) -> Iterator[EditPath]:
    """Yield the removal of every such entry of one kept variable, the last one first."""
    value = value_of(v, system)
    wanted = {pathlist.key(e, system) for e in entries}
    for place, entry in reversed(list(enumerate(pathlist.split(v.value, system)))):
        if pathlist.key(entry, system) in wanted:
            change = remove_entry(value, place, system, name=v.name, scope=scope_of(v), at=place_of(v, system))
            yield change
            value = change.after or value


# --- the order -----------------------------------------------------------------------------------------------------


def reorder(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Let the right copy be found before the one that hides it: by the order of PATH, or in the environments."""
    steps: dict[str, str] = {}
    for c in cases(snapshot):
        winner, right = c.winner, better(c)
        if winner is None or right is None or folder_of(c.system, winner.path) != finding.subject:
            continue
        if winner.how is How.PATH and c.system == "windows":
            return before(finding.subject, right.folder, snapshot)
        if winner.how is How.LD_LIBRARY_PATH:
            steps.setdefault(c.load.consumer.prefix, f"drop {finding.subject}")
        elif winner.how in (How.LD_CACHE, How.DEFAULT):
            steps.setdefault(c.load.consumer.prefix, f"prepend {right.folder}")
    return tuple(activation(p, its) for p, its in steps.items() if has_activation(snapshot, p))


def past_foreign(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Let the copy for this processor be found before one for another, which programs of that kind may need (Windows)."""
    for c in cases(snapshot):
        right = behind_foreign(c)
        if right is not None and c.winner and folder_of(c.system, c.winner.path) == finding.subject:
            return before(finding.subject, right.folder, snapshot)
    return ()


def before(wrong: str, right: str, snapshot: Snapshot) -> tuple[Change, ...]:
    """Return the edit of Windows' PATH after which ``right`` comes before ``wrong``, in the scope that names ``wrong``."""
    where: Scope
    for where in ("machine", "user"):
        value = kept_value(snapshot, "PATH", where)
        place = pathlist.find(value.text, wrong, "windows") if value else None
        if value is None or place is None:
            continue
        now = pathlist.find(value.text, right, "windows")
        if now is None:
            return (insert_entry(value, right, place, "windows", name="Path", scope=where),)
        if now > place:
            return (move_entry(value, now, place, "windows", name="Path", scope=where),)
    return ()


# --- what does nothing ---------------------------------------------------------------------------------------------

WORDS = ("cuda", "cudnn", "nvidia", "tensorrt")


def remove_dead(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take out kept entries that do nothing: CUDA folders that are gone, and what is listed twice.

    Other folders that are missing may be on a drive that is not connected at this moment, and stay.
    """
    system = snapshot.machine.system
    scopes = {v.scope: v for v in kept(snapshot, finding.subject)}
    dead = [e for e in (snapshot.environment.entries if snapshot.environment else ()) if _is_dead(e, finding.subject)]
    changes: list[Change] = []
    for v in (scopes.get("user"), scopes.get("machine")):
        texts = [e.text for e in dead if v is not None and e.scope == v.scope]
        if v is None or not texts:
            continue
        value: Value = value_of(v, system)
        for place, entry in reversed(list(enumerate(pathlist.split(v.value, system)))):
            if entry in texts:
                texts.remove(entry)
                change = remove_entry(value, place, system, name=v.name, scope=scope_of(v), at=place_of(v, system))
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
