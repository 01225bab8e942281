"""Carry out a plan: check, write the journal, make the changes, verify, and undo them if anything deviates."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Literal

import msgspec

from core.common.i18n import _, join_sentences
from core.host import scratch
from core.model import path_list
from core.model.changes import (
    Change,
    ChangeError,
    EditLine,
    EditPath,
    ExchangePackages,
    FileSet,
    SetVariable,
    Value,
    values_agree,
)
from core.model.facts import Frozen
from core.model.system_steps import SystemStep
from core.transaction import file_set, line_edit, package_exchange, system_steps
from core.transaction.file_set import NotRestored
from core.transaction.journal import BegunError, Entry, Journal, State
from core.transaction.preconditions import unmet_preconditions
from core.transaction.system_steps import SystemTools
from core.transaction.variable_store import VariableStore, error_sentence

__all__ = ["Outcome", "Plan", "execute", "recover", "recover_locked", "undo", "unmet_preconditions"]


class Plan(Frozen, frozen=True, kw_only=True):
    """Changes that are made all together or not at all."""

    title: str
    changes: tuple[Change, ...]
    finding: str = ""
    """``id`` of the finding whose fix it is."""

    def lines(self) -> tuple[str, ...]:
        """Return the preview of all changes, with - and +."""
        return tuple(line for change in self.changes for line in change.lines())


Way = Literal[
    "process", "activation", "bare", "login", "terminal", "desktop", "ssh", "cron", "notebook", "service", "editor", "direnv", "module", "launcher", "script", "task", "multiplexer", "ipython", "prompt"
]  # fmt: skip
"""How a program is started: from this session, while an environment is active, by an environment's own interpreter
without its activation, or from a new log-in; the others as ``StartKind`` has them."""


class VerifiedFor(Frozen, frozen=True, kw_only=True):
    """Whether a cure holds for programs that are started in one way."""

    way: Way
    at: str = ""
    """The environment's prefix, for "activation" and "bare"."""
    holds: bool | None = None
    """None: not decided."""
    supposed: bool = False
    """Whether this session is older than a change, so that its new values were assumed; for an edited line, whether its
    files were read again without starting anything."""
    edited: bool = False
    """Whether this way reads an edited line."""


Gate = Callable[[tuple[Change, ...], bool], tuple[str, ...]]
"""(changes, whether they take something back) -> a sentence for each that may not be made; see ``core.transaction.broker``."""


def open_gate(_changes: tuple[Change, ...], _back: bool) -> tuple[str, ...]:
    """Return no sentence: with the person's own rights, the system itself decides."""
    return ()


class Outcome(Frozen, frozen=True, kw_only=True):
    """How it ended. Only after "stuck" can the machine be in neither the old nor the planned state."""

    kind: Literal["done", "undone", "refused", "rolled back", "stuck", "let go"]
    sentence: str
    problems: tuple[str, ...] = ()
    entry: str = ""
    """The journal's entry; empty where none was written."""
    notes: tuple[str, ...] = ()
    verified_for: tuple[VerifiedFor, ...] = ()
    """The result for each way of starting a program afterwards; empty if nothing was cured."""
    proved: str = ""
    """What a program started afterwards proved, in a sentence; empty if none was started."""


class _Engine(Frozen, frozen=True):
    """What every step needs: who writes variables, where it is recorded, and what may be done."""

    writer: VariableStore
    journal: Journal
    gate: Gate


# --- doing -----------------------------------------------------------------------------------------------------


def execute(
    plan: Plan,
    *,
    writer: VariableStore,
    journal: Journal,
    verify: Callable[[], str] = lambda: "",
    trusted: frozenset[int] | None = None,
    plan_hash: str = "",
    gate: Gate = open_gate,
) -> Outcome:
    """Carry out a plan, all of it or nothing, and verify it. ``verify`` scans again afterwards and returns an empty
    text, or one sentence about what is not cured; then everything is undone. If ``verify`` raises, everything is
    undone, too, and the exception is passed on. Never raises for errors of the machine: the Outcome reports them.
    "Nothing was changed" is said only where the journal has not begun; after that it is done, rolled back, or stuck.
    """
    try:
        with journal.lock():
            recover_locked(writer=writer, journal=journal, gate=gate)
            rows = gate(plan.changes, False) or unmet_preconditions(
                plan.changes, writer=writer, journal=journal, trusted=trusted
            )
            if rows:
                return _refusal(rows)
            pinned = tuple(_pin_value_kind(c, writer) for c in plan.changes)
            entry = journal.begin(
                plan.title, pinned, finding=plan.finding, plan=plan_hash, was=file_set.record_attributes(pinned)
            )
            return _carry_out(entry, _Engine(writer, journal, gate), verify)
    except BegunError as e:
        return _stuck_outcome(e.id, str(e))
    except (ChangeError, OSError) as e:
        return _refusal((error_sentence(e),))


def _refusal(rows: tuple[str, ...]) -> Outcome:
    return Outcome(kind="refused", sentence=join_sentences(_("Nothing was changed."), rows[0]), problems=rows)


def _stuck_outcome(entry: str, *rows: str) -> Outcome:
    words = join_sentences(*rows, _("It is stuck halfway, and is rolled back at the next start."))
    return Outcome(kind="stuck", sentence=words, problems=tuple(r for r in rows if r), entry=entry)


def _pin_value_kind(change: Change, writer: VariableStore) -> Change:
    """Return the change with the value's real storage form, for an exact undo."""
    if not isinstance(change, SetVariable | EditPath) or (change.before is not None and change.before.kind):
        return change
    now = writer.read(change.name, change.scope, change.at)
    if now is None or change.before is None or now.text != change.before.text:
        return change
    after = change.after
    if after is not None and isinstance(change, EditPath):
        after = Value(text=after.text, kind=now.kind)
    return msgspec.structs.replace(change, before=now, after=after)


def _carry_out(entry: Entry, engine: _Engine, verify: Callable[[], str]) -> Outcome:
    problem, finished = "", False
    try:
        try:
            for change in entry.changes:
                _make(change, entry, engine, exact=True)
            _announce_change(entry, engine.writer)
            problem = verify()
            if not problem:
                engine.journal.change_state(entry, "done")
                package_exchange.release_twins(entry)
        except (ChangeError, OSError) as e:
            problem = error_sentence(e)
        if not problem:
            finished = True
            return Outcome(
                kind="done", sentence=_("Done: {title}.", title=entry.title), entry=entry.id, notes=_notes(entry)
            )
    finally:
        if not finished:
            outcome = _take_back(entry, engine, problem, "rolled back")
    return outcome


def _make(change: Change, entry: Entry, engine: _Engine, *, exact: bool) -> None:
    writer = engine.writer
    match change:
        case FileSet():
            file_set.place_files(change, entry, engine.journal)
        case SystemStep():
            system_steps.make_step(change, SystemTools(writer.root))
        case EditLine():
            line_edit.make_edit(change)
        case ExchangePackages():
            package_exchange.put_in_place(change)
        case SetVariable() | EditPath():
            now, after = writer.read(change.name, change.scope, change.at), change.after
            if isinstance(change, EditPath) and not exact:
                after = change.rebased_on(now)
            elif not values_agree(change.before, now):
                raise ChangeError(_("Another program changed {path} just now.", path=change.name))
            writer.write(change.name, change.scope, change.at, after)


def _announce_change(entry: Entry, writer: VariableStore) -> None:
    if any(isinstance(c, SetVariable | EditPath) for c in entry.changes):
        writer.announce_change()


def _notes(entry: Entry) -> tuple[str, ...]:
    return tuple(
        note
        for c in entry.changes
        if isinstance(c, EditPath) and c.after
        for note in path_list.length_notes(c.name, c.after.text, c.system)
    )


def _take_back(entry: Entry, engine: _Engine, why: str, goal: State) -> Outcome:
    """Restore the state before the entry, however far it was carried out. Can be called again; never raises for errors
    of the machine. If the system fails, the entry stays unfinished, so that the next start tries again. What others
    have changed since is left alone, and the entry says so.
    """
    journal = engine.journal
    refused = engine.gate(tuple(c.inverse() for c in reversed(entry.changes)), True)
    left = [NotRestored(row) for row in refused] or [
        row for change in reversed(entry.changes) for row in _restore(change, entry, engine)
    ]
    rows = [row.sentence for row in left]
    try:
        _announce_change(entry, engine.writer)
        if any(row.again for row in left):
            if entry.state not in ("begun", "undoing"):
                journal.change_state(entry, "undoing" if goal == "undone" else "begun")
            return _stuck_outcome(entry.id, why, *rows)
        state: State = "stuck" if rows else goal
        journal.change_state(entry, state, " ".join([why, *rows]).strip())
    except (ChangeError, OSError) as e:
        return _stuck_outcome(entry.id, why, *rows, error_sentence(e))
    if rows:
        words = join_sentences(why, _("It could not be undone completely: {problem}", problem=rows[0]))
        return Outcome(kind="stuck", sentence=words, problems=tuple(rows), entry=entry.id)
    with suppress(ChangeError, OSError):  # a superfluous backup does no harm; the next call tries again
        journal.forget_unneeded()
        package_exchange.release_twins(entry)
        package_exchange.clear_twins(journal)
    if goal == "undone":
        return Outcome(kind="undone", sentence=_("Undone: {title}.", title=entry.title), entry=entry.id)
    words = join_sentences(_("Everything is as it was before."), why)
    return Outcome(kind="rolled back", sentence=words, problems=(why,) if why else (), entry=entry.id)


def _restore(change: Change, entry: Entry, engine: _Engine) -> tuple[NotRestored, ...]:
    writer = engine.writer
    if isinstance(change, FileSet):
        return file_set.restore_files(change, entry, engine.journal)
    if isinstance(change, EditLine):
        return line_edit.restore_line(change)
    if isinstance(change, ExchangePackages):
        return package_exchange.restore_packages(change)
    try:
        if isinstance(change, SystemStep):
            system_steps.make_step(change.inverse(), SystemTools(writer.root))
            return ()
        now = writer.read(change.name, change.scope, change.at)
        if values_agree(change.before, now) or values_agree(change.after, now):
            writer.write(change.name, change.scope, change.at, change.before)
        elif isinstance(change, EditPath):
            writer.write(change.name, change.scope, change.at, change.inverse().rebased_on(now))
        else:
            return (
                NotRestored(
                    _("Another program has changed {path} since, so Convalesce left it unchanged.", path=change.name)
                ),
            )
    except (OSError, system_steps.ToolError) as e:
        return (NotRestored(error_sentence(e), again=True),)
    except ChangeError as e:
        return () if _is_back(change, writer) else (NotRestored(error_sentence(e)),)
    return ()


def _is_back(change: Change, writer: VariableStore) -> bool:
    """Whether nothing is left to restore, although that cannot be recorded."""
    if not isinstance(change, SetVariable | EditPath) or change.scope == "environment":  # which is several files
        return False
    with suppress(ChangeError, OSError):
        return values_agree(change.before, writer.read(change.name, change.scope, change.at))
    return False


# --- undoing ---------------------------------------------------------------------------------------------------


def undo(id: str, *, writer: VariableStore, journal: Journal, gate: Gate = open_gate) -> Outcome:
    """Undo an entry. Changes that others have made to the same search path since are kept. If another value or file of
    the entry has changed since, the undo is refused and nothing is changed.
    """
    begun, engine = "", _Engine(writer, journal, gate)
    try:
        with journal.lock():
            recover_locked(writer=writer, journal=journal, gate=gate)
            entry = journal.entry(id)
            if entry.state == "stuck":
                return _take_back(entry, engine, "", "undone")
            if not entry.undoable:
                return _refusal((_("Entry {id} is {state}; there is nothing to undo.", id=id, state=_(entry.state)),))
            rows = _undo_problems(entry, engine)
            if rows:
                return _refusal(rows)
            entry = journal.start_undoing(entry)
            begun = entry.id
            return _undo(entry, engine)
    except BegunError as e:
        return _stuck_outcome(e.id, str(e))
    except (ChangeError, OSError) as e:
        return _stuck_outcome(begun, error_sentence(e)) if begun else _refusal((error_sentence(e),))


def _undo(entry: Entry, engine: _Engine) -> Outcome:
    why = ""
    try:
        for change in reversed(entry.changes):
            _make(change.inverse(), entry, engine, exact=False)
    except (ChangeError, OSError) as e:
        why = error_sentence(e)
    return _take_back(entry, engine, why, "undone")


def _undo_problems(entry: Entry, engine: _Engine) -> tuple[str, ...]:
    writer = engine.writer
    inverses = tuple(c.inverse() for c in reversed(entry.changes))
    if rows := engine.gate(inverses, True):
        return rows
    others = tuple(c for c in inverses if not isinstance(c, EditPath))
    rows = unmet_preconditions(others, writer=writer, journal=engine.journal) if others else ()
    for change in inverses:
        if isinstance(change, EditPath) and (obstacle := writer.write_obstacle(change.name, change.scope, change.at)):
            rows = (*rows, obstacle)
    return rows


def recover(*, writer: VariableStore, journal: Journal) -> tuple[Outcome, ...]:
    """Undo what a crash or a loss of power interrupted. Call it at every start; usually it does nothing. Returns
    nothing while another Convalesce is running. Also removes what a killed one left in temporary folders.
    """
    scratch.clear_abandoned()
    scratch.clear_abandoned(journal.staging)
    with suppress(ChangeError, OSError):
        package_exchange.clear_twins(journal)
    try:
        if not journal.unfinished():
            return ()
        with journal.lock():
            return recover_locked(writer=writer, journal=journal)
    except (ChangeError, OSError) as e:
        return (Outcome(kind="refused", sentence=error_sentence(e)),)


def recover_locked(*, writer: VariableStore, journal: Journal, gate: Gate = open_gate) -> tuple[Outcome, ...]:
    """Like ``recover``, for a caller that holds the lock."""
    engine, why = _Engine(writer, journal, gate), _("It was interrupted before it finished.")
    return tuple(
        _take_back(entry, engine, why, "rolled back" if entry.state == "begun" else "undone")
        for entry in journal.unfinished()
    )


def let_go(id: str, *, journal: Journal) -> Outcome:
    """Remove an entry's backups; it can then no longer be undone."""
    try:
        with journal.lock():
            entry = journal.entry(id)
            if not entry.undoable:
                return _refusal((_("Entry {id} is {state}; it has no backup.", id=id, state=_(entry.state)),))
            journal.change_state(entry, "let go")
            journal.forget_unneeded()
            package_exchange.clear_twins(journal)
            words = _("The backup for this change was removed: {title}.", title=entry.title)
            return Outcome(kind="let go", sentence=words, entry=entry.id)
    except (ChangeError, OSError) as e:
        return _refusal((error_sentence(e),))
