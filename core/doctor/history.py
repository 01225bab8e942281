"""The machine's journals for a Report: every change that Convalesce made there, and its state."""

from __future__ import annotations

from msgspec.structs import replace

from core.common.i18n import _
from core.model.changes import ChangeError
from core.model.findings import HistoryEntry, Report
from core.transaction.journal import Entry, Journal, UnreadableEntry, machine_state_folder, state_folder

MAX_LINES = 200
"""Lines of one entry's preview that a report keeps."""


def with_history(report: Report) -> Report:
    """Return the report with this machine's history: the user's journal and the machine's own."""
    journals = (Journal(machine_state_folder()), Journal(state_folder()))
    done = tuple(sorted((d for j in journals for d in _read_entries(j)), key=lambda d: d.made))
    return replace(report, history=done)


def _read_entries(journal: Journal) -> tuple[HistoryEntry, ...]:
    try:
        return tuple(_history_entry(e) for e in journal.entries())
    except OSError as e:
        # the machine's journal may be closed to this user
        return (HistoryEntry(title=_("History that cannot be read"), state="unreadable", note=f"{e.strerror}."),)
    except ChangeError as e:
        return (HistoryEntry(title=_("History that cannot be read"), state="unreadable", note=str(e)),)


def _history_entry(entry: Entry | UnreadableEntry) -> HistoryEntry:
    if isinstance(entry, UnreadableEntry):
        return HistoryEntry(title=_("Entry {id}", id=entry.id), state="unreadable", note=entry.problem)
    lines = tuple(line for change in entry.changes for line in change.lines())
    return HistoryEntry(
        id=entry.id, made=entry.made, title=entry.title, state=entry.state, note=entry.note, lines=lines[:MAX_LINES]
    )
