"""Carry out an EditLine: compare, write beside, rename; and undo it, from the whole file or from the lines alone."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from core.common.i18n import _
from core.host import safe_folder
from core.host.environment_files import write_assignment
from core.host.startup.edit import Edit, edit_text
from core.model.changes import Change, ChangeError, EditLine, EditPath, SetVariable
from core.model.path_list import split_entries
from core.transaction.file_set import NotRestored
from core.transaction.variable_store import error_sentence, follow_none_of_others


@dataclass(frozen=True)
class _Text:
    """A start-up file's bytes as text."""

    text: str
    encoding: str

    @property
    def hash(self) -> str:
        """SHA-256 of its bytes."""
        return hashlib.sha256(self.text.encode(self.encoding)).hexdigest()


def _read_text(path: str) -> _Text:
    """Return a file's text.

    Raises:
        ChangeError, OSError: it is no regular file, or cannot be read.
    """
    with safe_folder.open_parent(path) as (place, name):
        data = place.read(name)
    if data is None:
        raise ChangeError(_("{name} does not exist.", name=path))
    try:
        return _Text(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _Text(data.decode("latin-1"), "latin-1")


def edit_of(change: EditLine) -> Edit:
    """Return the change's effect on its line."""
    return Edit(
        form=change.form,
        line=change.line,
        name=change.name,
        entry=change.entry,
        among=change.among,
        value=change.value,
        front=change.front,
        separator=";" if re.match(r"[A-Za-z]:[/\\]", change.path) else ":",
        reason=change.reason,
    )


# --- settling ------------------------------------------------------------------------------------------------------


def resolve_edits(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes with the exact lines of each edit, from the last line of a file to the first, so that line
    numbers stay valid.

    Raises:
        ChangeError, OSError: a file cannot be read, or a line is not as it was seen.
    """
    edits = [c for c in changes if isinstance(c, EditLine) and not c.before_hash]
    texts: dict[str, _Text] = {}
    out: list[Change] = [c for c in changes if c not in edits]
    for change in sorted(edits, key=lambda c: (os.path.realpath(c.path), -c.line)):
        real = os.path.realpath(change.path)
        old = texts.get(real) or _read_text(real)
        new = _Text(edit_text(old.text, edit_of(change)), old.encoding)
        texts[real] = new
        out.append(_resolve_edit(replace(change, path=real, file=change.file or change.path), old, new))
    return tuple(out)


def _resolve_edit(change: EditLine, old: _Text, new: _Text) -> EditLine:
    """Return the change with the lines in which two texts differ."""
    before, after = _rows(old.text), _rows(new.text)
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return replace(
        change,
        line=start + 1,
        before="".join(before[start : len(before) - end]),
        after="".join(after[start : len(after) - end]),
        before_hash=old.hash,
        after_hash=new.hash,
        encoding="utf-8" if old.encoding == "utf-8" else "latin-1",
    )


def _rows(text: str) -> list[str]:
    """Return the lines with their ends; only a line feed ends one."""
    rows = text.split("\n")
    return [*(f"{row}\n" for row in rows[:-1]), *rows[-1:]] if rows[-1] else [f"{row}\n" for row in rows[:-1]]


# --- preconditions -------------------------------------------------------------------------------------------------


def edit_problems(changes: Sequence[EditLine]) -> tuple[str, ...]:
    """Return a sentence for each reason against the edits, in their order; changes nothing."""
    rows: list[str] = []
    hashes: dict[str, str] = {}
    for change in changes:
        try:
            _check_form(change)
            _follow_none_of_others(change)
            if change.path not in hashes:
                _edited_text(change, _read_text(change.path))
            now = hashes.get(change.path) or _read_text(change.path).hash
            if now != change.before_hash and not (change.back and _place(_read_text(change.path), change) is not None):
                rows.append(_("{path} changed since it was shown.", path=change.path))
            folder = safe_folder.split_path(change.path)[0]
            if not os.access(folder, os.W_OK) or not os.access(change.path, os.W_OK):
                rows.append(_("This user has no permission to change {path}.", path=change.path))
            hashes[change.path] = change.after_hash
        except (ChangeError, OSError) as e:
            rows.append(error_sentence(e))
    return tuple(rows)


def _check_form(change: EditLine) -> None:
    if not change.before_hash or not change.after_hash or change.before == change.after:
        raise ChangeError(_("The plan does not say what happens to {path}.", path=change.path))
    if os.path.realpath(change.path) != change.path:
        raise ChangeError(_("{path} is now a link.", path=change.path))


def _follow_none_of_others(change: EditLine) -> None:
    for path in dict.fromkeys((change.file or change.path, change.path)):
        follow_none_of_others(path)


def _place(now: _Text, change: EditLine) -> int | None:
    """Return the position of the edited lines, from 0: the recorded one, or a single other one; else None. Empty lines
    (an insertion) have a position only in the unchanged file.
    """
    rows, wanted = _rows(now.text), _rows(change.before)
    if now.hash == change.before_hash:
        at = change.line - 1
        return at if 0 <= at <= len(rows) and rows[at : at + len(wanted)] == wanted else None
    if not wanted or now.encoding != change.encoding:
        return None
    places = [n for n in range(len(rows) - len(wanted) + 1) if rows[n : n + len(wanted)] == wanted]
    if change.line - 1 in places:
        return change.line - 1
    return places[0] if len(places) == 1 else None


def planned_texts(changes: Sequence[Change]) -> dict[str, str]:
    """Return the files as the edits will leave them, by every name that leads there; nothing where one cannot be read."""
    texts: dict[str, _Text] = {}
    for change in changes:
        if not isinstance(change, EditLine):
            continue
        with suppress(ChangeError, OSError):
            now = texts.get(change.path) or _read_text(change.path)
            texts[change.path] = texts[change.file or change.path] = _Text(_edited_text(change, now), now.encoding)
    return {path: text.text for path, text in texts.items()}


def planned_assignments(changes: Sequence[Change]) -> dict[str, str]:
    """Return the files of plain assignments as the changes of kept variables will leave them (Linux)."""
    texts: dict[str, str] = {}
    for change in changes:
        if isinstance(change, SetVariable | EditPath) and change.at.startswith("/") and change.scope != "environment":
            with suppress(ChangeError, OSError):
                now = texts.get(change.at)
                old = _read_text(os.path.realpath(change.at)).text if now is None else now
                texts[change.at] = write_assignment(old, change.name, change.after)
    return texts


def is_edit_in_place(change: EditLine) -> bool:
    """Whether an edit that was made is still there."""
    try:
        now = _read_text(change.path)
    except (ChangeError, OSError):
        return False
    return now.hash == change.after_hash or (bool(change.after) and _place(now, change.inverse()) is not None)


def value_after(change: EditLine, value: str | None) -> str | None:
    """Return what a variable holds in a program that reads the edited line, from what it holds without the edit."""
    if value is None:
        return None
    if change.entry:
        left = [e for e in split_entries(value, "linux", change.name) if e.rstrip("/") != change.entry.rstrip("/")]
        return ":".join(left) or None
    if change.held and value != change.held:
        return value
    return ":".join((*change.front, value)) if change.front else change.value or None


# --- doing ---------------------------------------------------------------------------------------------------------


def make_edit(change: EditLine) -> None:
    """Edit the file in one step.

    Raises:
        ChangeError, OSError: the file is not as it was shown, or the system refused.
    """
    _follow_none_of_others(change)
    now = _read_text(change.path)
    if not change.back and now.hash != change.before_hash:
        raise ChangeError(_("{path} changed since it was shown.", path=change.path))
    _write(change, now)


def _write(change: EditLine, now: _Text) -> None:
    text = _edited_text(change, now)
    with safe_folder.open_parent(change.path) as (place, name):
        place.write(name, text.encode(now.encoding))


def _edited_text(change: EditLine, now: _Text) -> str:
    at = _place(now, change)
    if at is None:
        raise ChangeError(
            _("Another program has changed {path} since, so Convalesce left it unchanged.", path=change.path)
        )
    rows = _rows(now.text)
    count = len(_rows(change.before))
    new = "".join((*rows[:at], change.after, *rows[at + count :]))
    if now.hash == change.before_hash and _Text(new, now.encoding).hash != change.after_hash:
        raise ChangeError(_("The plan does not say what happens to {path}.", path=change.path))
    return new


def restore_line(change: EditLine) -> tuple[NotRestored, ...]:
    """Restore the lines to their ``before``, however far the edit was carried out; return what could not be restored.
    Can be called repeatedly.
    """
    try:
        _drop_beside(change.path)
        now = _read_text(change.path)
        if now.hash == change.before_hash:
            return ()
        back = change.inverse()
        if _place(now, back) is None:
            if _place(now, change) is not None:
                return ()
            words = _("Another program has changed {path} since, so Convalesce left it unchanged.", path=change.path)
            return (NotRestored(words),)
        _write(back, now)
    except OSError as e:
        return (NotRestored(error_sentence(e), again=True),)
    except ChangeError as e:
        return (NotRestored(str(e)),)
    return ()


def _drop_beside(path: str) -> None:
    with safe_folder.open_parent(path) as (place, name):
        place.remove(f".{name}.convalesce-new")
