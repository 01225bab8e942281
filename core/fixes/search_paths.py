"""Fixes of search paths: add or move the right folder, remove the wrong one, remove dead entries. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from core.fixes import variables
from core.model import path_list
from core.model.changes import Change, EditPath, PersistentScope, insert_entry, move_entry, remove_entry
from core.model.facts import Snapshot, System, Variable
from core.model.findings import Finding
from core.model.remedies import AddFolder, DropDead, PreferFolder, TakeOut
from core.rules.consumer_loads import ConsumerLoad, consumer_loads

# --- on the path ---------------------------------------------------------------------------------------------------


def add_folder(remedy: AddFolder, snapshot: Snapshot) -> tuple[Change, ...]:
    """Put a folder on the search path: Windows' user PATH; on Linux, of each environment that misses it and that has an
    activation. (For every program on Linux, ldconfig is the cure: the advice says how.)
    """
    folder, system = remedy.folder, snapshot.machine.system
    if folder[:1] != "/" and folder[1:3] != ":\\":
        return ()
    if system == "windows":
        value = variables.persistent_path(snapshot, "user")
        changes: list[Change] = []
        for one in (folder, *remedy.more):
            text = value.text if value else ""
            if path_list.find_entry(text, one, system) is not None:
                continue
            last = len(path_list.split_entries(text, system))
            change = insert_entry(value, one, last, system, name="Path", scope="user")
            changes.append(change)
            value = change.after
        return tuple(changes)
    prefixes = dict.fromkeys(remedy.prefixes)
    steps = "\n".join(f"prepend {f}" for f in (*reversed(remedy.more), folder))
    return tuple(variables.activation_change(p, steps) for p in prefixes if variables.has_activation(snapshot, p))


def add_folder_for_concerned(folder: str, finding: Finding, snapshot: Snapshot) -> AddFolder:
    """Return that a folder is put on the search path of those that a finding concerns."""
    prefixes = tuple(c.load.consumer.prefix for c in _concerned_loads(finding, snapshot))
    return AddFolder(folder=folder, prefixes=prefixes)


def _concerned_loads(finding: Finding, snapshot: Snapshot) -> list[ConsumerLoad]:
    """Return the loads that the finding names as its own, else those that find no cuDNN."""
    every = list(consumer_loads(snapshot))
    return [c for c in every if c.load.consumer.full_id in finding.consumers] or [c for c in every if c.winner is None]


# --- off the path --------------------------------------------------------------------------------------------------


def take_out_folders(remedy: TakeOut, snapshot: Snapshot) -> tuple[Change, ...]:
    """Remove folders from LD_LIBRARY_PATH where it is stored, else while an environment is active."""
    system = snapshot.machine.system
    wanted = {path_list.entry_key(p.folder, system) for p in remedy.places}
    edits = [
        change
        for v in variables.persistent_values(snapshot, remedy.variable)
        for change in _remove_entries(v, lambda e: path_list.entry_key(e, system) in wanted, system)
    ]
    if edits:
        return variables.in_single_scope(edits)
    found: dict[str, dict[str, None]] = {}
    for place in remedy.places:
        for prefix in [place.prefix] if place.prefix else variables.target_environments(snapshot):
            found.setdefault(prefix, {}).update(
                dict.fromkeys(_entry_spellings(place.folder, remedy.variable, snapshot))
            )
    return tuple(
        variables.activation_change(prefix, "\n".join(f"drop {e}" for e in its), remedy.variable)
        for prefix, its in found.items()
        if variables.has_activation(snapshot, prefix)
    )


def _entry_spellings(folder: str, variable: str, snapshot: Snapshot) -> list[str]:
    """Return a folder as the entries of a variable write it: an activation compares letter by letter."""
    system = snapshot.machine.system
    entries = [e for e in snapshot.path_entries if e.variable == variable]
    same = [
        e.text
        for e in entries
        if path_list.entry_key(e.expanded or e.text, system) == path_list.entry_key(folder, system)
    ]
    return list(dict.fromkeys(same)) or [folder]


def _remove_entries(v: Variable, is_meant: Callable[[str], bool], system: System) -> Iterator[EditPath]:
    """Yield the removal of every such entry of one kept variable, the last one first."""
    value = variables.value_of(v, system)
    for place, entry in reversed(list(enumerate(path_list.split_entries(v.value, system, v.name)))):
        if is_meant(entry):
            change = remove_entry(
                value, place, system, name=v.name, scope=variables.scope_of(v), at=variables.place_of(v, system)
            )
            yield change
            value = change.after or value


# --- the order -----------------------------------------------------------------------------------------------------


def prefer_folder(remedy: PreferFolder, snapshot: Snapshot) -> tuple[Change, ...]:
    """Move the right copy before the one that hides it: by the order of PATH, or in the environments."""
    if remedy.by == "PATH":
        return put_before(remedy.over, remedy.places[0].folder, snapshot)
    drop = "\n".join(f"drop {e}" for e in _entry_spellings(remedy.over, "LD_LIBRARY_PATH", snapshot))
    steps = {
        p.prefix: drop if remedy.by == "LD_LIBRARY_PATH" else f"prepend {p.folder}" for p in reversed(remedy.places)
    }
    prefixes = dict.fromkeys(p.prefix for p in remedy.places)
    return tuple(variables.activation_change(p, steps[p]) for p in prefixes if variables.has_activation(snapshot, p))


def put_before(wrong: str, right: str, snapshot: Snapshot) -> tuple[Change, ...]:
    """Return the edit of Windows' PATH after which ``right`` comes before ``wrong``, in the scope that names ``wrong``."""
    where: PersistentScope
    for where in ("machine", "user"):
        value = variables.persistent_path(snapshot, where)
        place = path_list.find_entry(value.text, wrong, "windows") if value else None
        if value is None or place is None:
            continue
        now = path_list.find_entry(value.text, right, "windows")
        if now is None:
            return (insert_entry(value, right, place, "windows", name="Path", scope=where),)
        if now > place:
            return (move_entry(value, now, place, "windows", name="Path", scope=where),)
    return ()


# --- what does nothing ---------------------------------------------------------------------------------------------


def drop_dead_entries(remedy: DropDead, snapshot: Snapshot) -> tuple[Change, ...]:
    """Remove stored entries without effect."""
    system = snapshot.machine.system
    scopes = {v.scope: v for v in variables.persistent_values(snapshot, remedy.variable)}
    for v in (scopes[scope] for scope in ("user", "machine") if scope in scopes):
        left = Counter(text for scope, text in remedy.entries if scope == v.scope)

        def is_meant(entry: str, left: Counter[str] = left) -> bool:
            left[entry] -= 1  # an entry is removed as often as it is named
            return left[entry] >= 0

        if changes := tuple(_remove_entries(v, is_meant, system)):
            return changes  # one scope at a time: the user's first
    return ()
