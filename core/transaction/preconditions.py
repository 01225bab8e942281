"""Preconditions of a plan: nothing has changed since, nothing is malformed, everything can be written."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from core.common.i18n import _, format_number
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
from core.model.system_steps import SystemStep
from core.transaction import file_preconditions, line_edit, package_exchange
from core.transaction.journal import Journal
from core.transaction.system_steps import SystemTools, step_problems
from core.transaction.variable_store import VariableStore, error_sentence


def resolve_changes(changes: tuple[Change, ...], writer: VariableStore) -> tuple[Change, ...]:
    """Return the changes as they will be shown and made: with the hashes of the files that are there, and with the
    steps that an environment has already. Changes nothing.

    Raises:
        ChangeError, OSError: a file or a value cannot be read.
    """
    out: list[Change] = []
    for change in changes:
        if isinstance(change, FileSet):
            out.append(file_preconditions.resolve_files(change))
        elif isinstance(change, SetVariable) and change.scope == "environment" and change.after is not None:
            out.append(_with_steps(change, change.after, writer))
        else:
            out.append(change)
    return line_edit.resolve_edits(out)  # all at once: several may edit one file


def _with_steps(change: SetVariable, after: Value, writer: VariableStore) -> SetVariable:
    now = writer.read(change.name, change.scope, change.at)
    if now is None:
        return change
    new = [step for step in after.text.split("\n") if step not in now.text.split("\n")]
    text = "\n".join([now.text, *new])
    return msgspec.structs.replace(change, before=now, after=Value(text=text, kind=now.kind))


def unmet_preconditions(
    changes: tuple[Change, ...], *, writer: VariableStore, journal: Journal, trusted: frozenset[int] | None = None
) -> tuple[str, ...]:
    """Return a sentence for each reason against the changes; empty if they can be made. Changes nothing."""
    if not changes:
        return (_("There is nothing to change."),)
    rows: list[str] = []
    expected: dict[tuple[str, str, str], Value | None] = {}
    for change in changes:
        if isinstance(change, FileSet):
            rows += file_preconditions.file_problems(change, journal, trusted=trusted)
            continue
        if isinstance(change, ExchangePackages):
            rows += package_exchange.exchange_problems(change)
            continue
        if isinstance(change, SystemStep):
            rows += step_problems(change, SystemTools(writer.root))
            continue
        if isinstance(change, EditLine):
            continue
        key = (change.name, change.scope, change.at)
        try:
            now = expected[key] if key in expected else writer.read(*key)
            rows += _variable_problems(change, now, writer)
        except (ChangeError, OSError) as e:
            rows.append(error_sentence(e))
        expected[key] = change.after
    rows += line_edit.edit_problems([c for c in changes if isinstance(c, EditLine)])
    paths = [i.path for c in changes if isinstance(c, FileSet) for i in c.items]
    if len(set(paths)) != len(paths):
        rows.append(_("The plan names a file twice."))
    busy = writer.programs_using(path for c in changes for path in _held_by_programs(c))
    rows += [_("{program} has a file of this plan open; close it first.", program=program) for program in busy]
    return tuple(dict.fromkeys(rows))


def _held_by_programs(change: Change) -> Iterator[str]:
    """Yield the files that no program may have open while a change is made (Windows)."""
    if isinstance(change, FileSet):
        yield from (i.path for i in change.items if i.before)
    elif isinstance(change, ExchangePackages):
        yield from package_exchange.libraries_of(change)


def _variable_problems(change: SetVariable | EditPath, now: Value | None, writer: VariableStore) -> list[str]:
    rows = []
    if not change.name or any(c in change.name for c in "=\0\r\n") or (change.after and "\0" in change.after.text):
        return [_("The plan names an invalid variable.")]
    if not values_agree(change.before, now):
        rows.append(
            _(
                "{path} changed since it was shown: it was {before}, and is now {now}.",
                path=change.name,
                before=_shown(change.before),
                now=_shown(now),
            )
        )
    if change.after and (long := path_list.too_long(change.name, change.after.text, writer.system)):
        rows.append(long)
    if isinstance(change, EditPath):
        if change.system != writer.system:
            rows.append(_("The plan was made for another operating system."))
        if change.scope == "environment":
            rows.append(_("An environment's search path is changed by steps, not by entries."))
        if problem := change.problem():
            rows.append(problem)
        kind = (now or change.after or Value(text="")).kind
        if change.new is not None and change.old is None and kind == "REG_SZ" and "%" in change.entry:
            rows.append(
                _(
                    "{name} is stored as REG_SZ, in which Windows does not expand {entry}.",
                    name=change.name,
                    entry=change.entry,
                )
            )
        if writer.system == "windows" and kind not in ("REG_SZ", "REG_EXPAND_SZ"):
            rows.append(
                _(
                    "{name} is stored as {kind}, which cannot be a search path.",
                    name=change.name,
                    kind=kind or _("an unknown kind"),
                )
            )
        rows += _both_scopes(change, writer)
    elif change.before == change.after:
        rows.append(_("The plan changes nothing about {name}.", name=change.name))
    if obstacle := writer.write_obstacle(change.name, change.scope, change.at):
        rows.append(obstacle)
    return rows


def _both_scopes(change: EditPath, writer: VariableStore) -> list[str]:
    """Windows joins the machine's PATH and the user's: a program gets both, within the limit of one variable."""
    if writer.system != "windows" or change.name.upper() != "PATH" or change.after is None or change.new is None:
        return []
    other = writer.read(change.name, "user" if change.scope == "machine" else "machine", "")
    both = len(change.after.text) + 1 + (len(other.text) if other else 0)
    if both <= path_list.MAX_CHARACTERS["windows"]:
        return []
    return [
        _(
            "PATH would have {both} characters in a program; Windows allows at most {longest}.",
            both=format_number(both),
            longest=format_number(path_list.MAX_CHARACTERS["windows"]),
        )
    ]


def _shown(value: Value | None) -> str:
    if value is None:
        return _("not set")
    text = value.text if len(value.text) <= 200 else f"{value.text[:200]}..."
    return f"{text!r}" + (f" ({value.kind})" if value.kind.startswith("REG_") else "")
