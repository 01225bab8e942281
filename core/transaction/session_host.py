"""The host as newly started programs see it, where variables changed after this session began.

A session keeps the values from before a fix, and a scan from it would find the cured fault again. The history says what was
changed; on Linux the files with the values say whether it still applies, on Windows the registry. An activation counts where its environment is active: a program that is
started without it gets what the session has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Unpack

from core.host import activation_scripts
from core.host.interface import CompletedProcess, Host, RunOptions
from core.host.this_host import this_host
from core.host.windows.environment import renewed_values
from core.host.with_environment import HostWithEnvironment
from core.model.changes import (
    Change,
    ChangeError,
    EditLine,
    EditPath,
    PersistentScope,
    SetVariable,
    Value,
    values_agree,
)
from core.model.facts import Activation, Renewal, Variable
from core.model.paths import is_inside
from core.transaction.journal import Entry, Journal, UnreadableEntry, machine_state_folder, state_folder

Read = Callable[[str, PersistentScope, str], Value | None]
"""Return the stored value for a name, a scope and a file or prefix, as ``Writer.read`` does."""

ACTIVATION_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""Variables that name the active environment."""


class NewSessionHost(HostWithEnvironment, frozen=True):
    """The real host, with the variables that newly started programs get, and what differs from this session's own."""

    renewals: tuple[Renewal, ...] = ()
    activations: tuple[Activation, ...] = ()


class RenewedSession(NewSessionHost, frozen=True):
    """The same on Windows, where new programs get the registry's variables, and this session has its own besides."""

    session: Mapping[str, str] = {}
    """This session's, renewed."""

    def variables(self) -> tuple[Variable, ...]:
        """Those of the session as a new one would have them, and the kept ones."""
        ours = (Variable(name=n, value=v, source="environment") for n, v in self.session.items())
        return (*ours, *(v for v in self.host.variables() if v.scope != "process"))

    def run(self, argv: Sequence[str], **options: Unpack[RunOptions]) -> CompletedProcess:
        """The real one's, in the session as a new one would be."""
        if options.get("env") is None:
            options["env"] = self.session
        return self.host.run(argv, **options)


def current_host(
    host: Host | None = None, entries: Iterable[Entry | UnreadableEntry] | None = None, read: Read | None = None
) -> Host:
    """Return the machine as newly started programs find it: the host that every verb uses. ``host``: the real one for
    None. ``entries``: this user's and this machine's history for None. ``read``: reads stored values.
    """
    there = host or this_host()
    past = merge_histories(Journal(state_folder()), Journal(machine_state_folder())) if entries is None else entries
    return new_session_host(there, past, read or _kept_under(str(there.root)))


def _kept_under(root: str) -> Read:
    def read(name: str, scope: PersistentScope, at: str) -> Value | None:
        from core.transaction.variable_store import LinuxVariables  # only where something was ever changed

        return LinuxVariables(root).read(name, scope, at)

    return read


def new_session_host(host: Host, entries: Iterable[Entry | UnreadableEntry], read: Read) -> Host:
    """Return the host as new programs find it; ``host`` itself where that is the same and no activation was changed.

    ``entries``: the history, oldest first.
    """
    if host.system != "linux":
        return _renewed_on_windows(host, [e for e in entries if isinstance(e, Entry)])
    old = host.fresh_environment()
    env, done = dict(old), [e for e in entries if isinstance(e, Entry)]
    steps = _standing_activations(done, read)
    changes = [*_lasting_edits(done, read), *_of_the_active(steps, old)]
    for change in changes:
        value = _value_after(change, env.get(change.name))
        if value is None:
            env.pop(change.name, None)
        else:
            env[change.name] = value
    lines = [c for e in done if e.state == "done" for c in e.changes if isinstance(c, EditLine)]
    for line in [c for c in lines if _line_stands(c)]:
        kept = _line_value(line, env.get(line.name))
        if kept is None:
            env.pop(line.name, None)
        else:
            env[line.name] = kept
    changed: list[Edit | EditLine] = [*changes, *lines]
    found = tuple(
        Renewal(
            name=c.name,
            scope=c.scope,
            at=c.path if isinstance(c, EditLine) else c.at,
            old=old.get(c.name),
            new=env.get(c.name),
        )
        for c in {c.name: c for c in changed}.values()
        if old.get(c.name) != env.get(c.name)
    )
    activations = tuple(
        Activation(name=c.name, at=c.at, steps=c.after.text, entry=entry) for c, entry in steps if c.after
    )
    return NewSessionHost(host, env, renewals=found, activations=activations) if found or activations else host


def _renewed_on_windows(host: Host, entries: Sequence[Entry]) -> Host:
    """Return the host with this session's variables as a new session has them; ``host`` itself where nothing differs."""
    edits = [c for e in entries if e.state == "done" for c in e.changes]
    edits += [c.inverse() for e in entries if e.state == "undone" for c in reversed(e.changes)]
    sets = [c for c in edits if isinstance(c, SetVariable) and c.scope != "environment"]
    if not sets:
        return host
    before = {c.name: c.before.text if c.before else None for c in reversed(sets)}
    old = {v.name: v.value for v in host.variables() if v.scope == "process"}
    fresh = host.fresh_environment()
    new = renewed_values(old, before, fresh)
    found = tuple(
        Renewal(name=c.name, scope=c.scope, at=c.at, old=old.get(c.name), new=new.get(c.name))
        for c in {c.name: c for c in sets}.values()
        if old.get(c.name) != new.get(c.name)
    )
    return RenewedSession(host, fresh, renewals=found, session=new) if found else host


def without_active(host: Host) -> Host:
    """Return the host as a program finds it that is started from here while no Python environment is active."""
    env = host.fresh_environment()
    return (
        HostWithEnvironment(host, {n: v for n, v in env.items() if n not in ACTIVATION_VARIABLES})
        if set(ACTIVATION_VARIABLES) & set(env)
        else host
    )


def merge_histories(*journals: Journal) -> tuple[Entry | UnreadableEntry, ...]:
    """Return the entries of several journals, oldest first; none of a journal that this user may not read."""
    found: list[Entry | UnreadableEntry] = []
    for journal in journals:
        with suppress(ChangeError, OSError):
            found += journal.entries()
    return tuple(sorted(found, key=lambda e: e.id))


Edit = SetVariable | EditPath


def _edits(changes: Iterable[Change]) -> list[Edit]:
    return [c for c in changes if isinstance(c, SetVariable | EditPath)]


def _lasting_edits(entries: Sequence[Entry], read: Read) -> list[Edit]:
    """Return the changes of stored values whose last one still applies; an undone change counts as a change back."""
    edits: list[Edit] = []
    for e in entries:
        if e.state == "done":
            edits += _edits(e.changes)
        elif e.state == "undone":
            edits += _edits(c.inverse() for c in reversed(e.changes))
    last = {(c.name, c.scope, c.at): c for c in edits if c.scope != "environment"}
    holding = {key for key, c in last.items() if _holds(c, read)}
    return [c for c in edits if (c.name, c.scope, c.at) in holding]


def _standing_activations(entries: Sequence[Entry], read: Read) -> list[tuple[Edit, str]]:
    """Return the last change of each environment's activation that still holds, and its entry."""
    edits = [(c, e.id) for e in entries if e.state == "done" for c in _edits(e.changes) if c.scope == "environment"]
    return [(c, entry) for c, entry in {(c.name, c.at): (c, entry) for c, entry in edits}.values() if _holds(c, read)]


def _of_the_active(steps: Sequence[tuple[Edit, str]], env: Mapping[str, str]) -> list[Edit]:
    """Return the steps of the active environment; of two, the first that has any."""
    for prefix in (env[name] for name in ACTIVATION_VARIABLES if env.get(name)):
        mine = [c for c, _entry in steps if _lies_in(prefix, c.at)]
        if mine:
            return mine
    return []


def _line_stands(change: EditLine) -> bool:
    from core.transaction import line_edit  # only where a line was ever edited

    return line_edit.is_edit_in_place(change)


def _line_value(change: EditLine, value: str | None) -> str | None:
    from core.transaction import line_edit

    return line_edit.value_after(change, value)


def _holds(change: Edit, read: Read) -> bool:
    try:
        return values_agree(change.after, read(change.name, change.scope, change.at))
    except (ChangeError, OSError):
        return False


def _lies_in(path: str, prefix: str) -> bool:
    """Whether a named interpreter or folder belongs to the environment at ``prefix``."""
    named = Path(path).absolute()
    return is_inside("linux", str(named), prefix) or str(named.resolve()) == prefix


def _value_after(change: Edit, value: str | None) -> str | None:
    """Return a variable's value in a new program, from its value in this session."""
    after = change.after
    if change.scope == "environment":
        return activation_scripts.apply_steps(change.name, after.text, value, again=True) if after else value
    if value == (change.before.text if change.before else None):
        return after.text if after else None
    return value
