"""Renewed: this session's host as programs find it that are started anew, after changes that the session is older than.

Linux only: there a variable comes from a log-in or from an environment's activation, so that a session keeps the values
from before a fix, and a look from it would see the cured fault again. The history says what was changed; the files where
it is kept say whether it still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core import activation
from core.changes import Change, ChangeError, EditPath, Scope, SetVariable, Value, agree
from core.facts import Renewal
from core.host import Host
from core.journal import BadEntry, Entry, Journal, machine_state_folder, state_folder
from core.supposed import WithEnvironment

Read = Callable[[str, Scope, str], Value | None]
"""Return what is kept for a name, a scope and a place, as ``Writer.read`` does."""


@dataclass(frozen=True)
class Renewed(WithEnvironment):
    """The real host, with the variables that newly started programs get, and what differs from this session's own."""

    renewals: tuple[Renewal, ...] = ()


def renewed(host: Host, entries: Iterable[Entry | BadEntry], read: Read, pythons: Sequence[str] = ()) -> Host:
    """Return the host as new programs find it; ``host`` itself where that is the same.

    ``entries``: the history, oldest first. ``pythons``: environments or interpreters that the person named; of these and
    the active one, the first that has steps of ours in its activation is supposed to be active.
    """
    if host.system != "linux":
        return host
    old = host.fresh_environment()
    env, done = dict(old), [e for e in entries if isinstance(e, Entry)]
    changes = [*_kept(done, read), *_of_activation(done, read, (*pythons, *_active(old)))]
    for change in changes:
        value = _value_after(change, env.get(change.name))
        if value is None:
            env.pop(change.name, None)
        else:
            env[change.name] = value
    found = tuple(
        Renewal(name=c.name, scope=c.scope, at=c.at, old=old.get(c.name), new=env.get(c.name))
        for c in {c.name: c for c in changes}.values()
        if old.get(c.name) != env.get(c.name)
    )
    return Renewed(host, env, found) if found else host


def for_session(host: Host, pythons: Sequence[str] = ()) -> Host:
    """Return the host as new programs find it, by the histories of this user and of this machine."""
    if host.system != "linux":
        return host
    entries = both(Journal(state_folder()), Journal(machine_state_folder()))
    if not entries:
        return host
    from core.writing import LinuxWriter

    return renewed(host, entries, LinuxWriter(str(host.root)).read, pythons)


def both(*journals: Journal) -> tuple[Entry | BadEntry, ...]:
    """Return the entries of several journals, oldest first; none of one that is closed to this user."""
    found: list[Entry | BadEntry] = []
    for journal in journals:
        with suppress(ChangeError, OSError):
            found += journal.entries()
    return tuple(sorted(found, key=lambda e: e.id))


Edit = SetVariable | EditPath


def _edits(changes: Iterable[Change]) -> list[Edit]:
    return [c for c in changes if isinstance(c, SetVariable | EditPath)]


def _kept(entries: Sequence[Entry], read: Read) -> list[Edit]:
    """Return the changes of lasting values whose last one still holds; what was undone counts as changed back."""
    edits: list[Edit] = []
    for e in entries:
        if e.state == "done":
            edits += _edits(e.changes)
        elif e.state == "undone":
            edits += _edits(c.inverse() for c in reversed(e.changes))
    last = {(c.name, c.scope, c.at): c for c in edits if c.scope != "environment"}
    holding = {key for key, c in last.items() if _holds(c, read)}
    return [c for c in edits if (c.name, c.scope, c.at) in holding]


def _of_activation(entries: Sequence[Entry], read: Read, prefixes: Sequence[str]) -> list[Edit]:
    """Return the steps of the first of these environments that has any."""
    edits = [c for e in entries if e.state == "done" for c in _edits(e.changes) if c.scope == "environment"]
    last = [c for c in {(c.name, c.at): c for c in edits}.values() if _holds(c, read)]
    for prefix in prefixes:
        mine = [c for c in last if _lies_in(prefix, c.at)]
        if mine:
            return mine
    return []


def _holds(change: Edit, read: Read) -> bool:
    try:
        return agree(change.after, read(change.name, change.scope, change.at))
    except (ChangeError, OSError):
        return False


def _active(env: Mapping[str, str]) -> list[str]:
    return [env[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if env.get(name)]


def _lies_in(path: str, prefix: str) -> bool:
    """Whether a named interpreter or folder belongs to the environment at ``prefix``."""
    named = Path(path).absolute()
    return Path(prefix) in (named, *named.parents) or str(named.resolve()) == prefix


def _value_after(change: Edit, value: str | None) -> str | None:
    """Return what a variable holds in a new program, from what it holds in this session."""
    after = change.after
    if change.scope == "environment":
        return activation.applied(change.name, after.text, value, again=True) if after else value
    if value == (change.before.text if change.before else None):
        return after.text if after else None
    return value
