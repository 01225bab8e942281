"""Preconditions of a FileSet, and the values that a Snapshot does not have. Changes nothing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import defaultdict
from pathlib import Path

import msgspec

from core.common.i18n import _, format_number
from core.host import ownership, safe_folder
from core.model.changes import ChangeError, FileItem, FileSet
from core.transaction.journal import Journal
from core.transaction.variable_store import not_changeable

_STATE = re.compile(r"(?:[0-9a-f]{64}|folder|-> [^/\\\0\r\n]+)?\Z")


# --- preconditions -------------------------------------------------------------------------------------------


def file_problems(change: FileSet, journal: Journal, *, trusted: frozenset[int] | None) -> tuple[str, ...]:
    """Return a sentence for each reason against the change; empty if it can be made. Changes nothing. ``trusted``: only
    these user numbers may be able to write a source (None: only a source that everybody can write is refused).
    """
    found = form_problems(change)
    if found:
        return found
    rows = [p for folder in change.folders for p in _folder_problems(folder, change)]
    rows += [p for item in change.items for p in _item_problems(item, change, trusted)]
    rows += [p for i in change.items if _from_backup(i) and (p := journal.no_backup(i.after, i.path))]
    return (*rows, *_space(change, journal))


def form_problems(change: FileSet) -> tuple[str, ...]:
    """Return a sentence for each statement that is not possible in a valid plan."""
    rows = []
    paths = [i.path for i in change.items]
    if len({os.path.normcase(p) for p in paths}) != len(paths):
        rows.append(_("The plan names a file twice."))
    for path in (*paths, *change.folders, *(i.source for i in change.items if i.source)):
        try:
            safe_folder.split_path(path)
        except ChangeError as e:
            rows.append(str(e))
    for item in change.items:
        if not _STATE.match(item.before) or not _STATE.match(item.after) or item.before == item.after:
            rows.append(_("The plan does not say what happens to {path}.", path=item.path))
        whole = "folder" in (item.before, item.after) and "" not in (item.before, item.after)
        if item.after in ("-> .", "-> ..") or item.size < 0 or whole or (item.after == "folder" and not change.unmake):
            rows.append(_("The plan for {path} is inconsistent.", path=item.path))
        if item.text is not None and _digest(item.text) != item.after:
            rows.append(_("The planned text for {path} is not the one that was shown.", path=item.path))
    return tuple(rows)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folder_problems(folder: str, change: FileSet) -> list[str]:
    parent = safe_folder.split_path(folder)[0]
    if change.unmake:
        return []
    if os.path.lexists(folder):
        return [_("The folder {folder} already exists.", folder=folder)]
    try:
        with safe_folder.open_folder(parent):
            return []
    except FileNotFoundError:
        return [] if _is_made(parent, change) else [_("The folder {folder} does not exist.", folder=parent)]
    except (ChangeError, OSError) as e:
        return [_("{folder} cannot be created: {e}.", folder=folder, e=e)]


def changed_since(item: FileItem, now: str) -> str:
    """Return in a sentence that a file is no longer what the plan was made for; ``now``: its state."""
    return _(
        "{path} changed since it was shown: it was {before}, and is now {now}.",
        path=item.path,
        before=describe_state(item.before),
        now=describe_state(now),
    )


def _item_problems(item: FileItem, change: FileSet, trusted: frozenset[int] | None) -> list[str]:
    rows = []
    folder, name = safe_folder.split_path(item.path)
    try:
        with safe_folder.open_folder(folder) as place:
            now = place.state(name)
        if now != item.before:
            rows.append(changed_since(item, now))
        if not os.access(folder, os.W_OK):
            rows.append(not_changeable(folder, folder))
    except FileNotFoundError:
        if item.before or change.unmake or not _is_made(folder, change):
            rows.append(_("The folder {folder} does not exist.", folder=folder))
    except (ChangeError, OSError) as e:
        rows.append(_("{path} cannot be changed: {e}.", path=item.path, e=e))
    if item.source:
        rows += _source_problems(item, trusted)
    return rows


def _from_backup(item: FileItem) -> bool:
    return len(item.after) == 64 and not item.source and item.text is None


def _is_made(folder: str, change: FileSet) -> bool:
    return any(Path(folder) == Path(f) for f in change.folders)


def _source_problems(item: FileItem, trusted: frozenset[int] | None) -> list[str]:
    loose = writable_by_others(item.source, trusted)
    if loose:
        return [
            _(
                "{loose} can be changed by other users, so nothing is taken from {source}.",
                loose=loose,
                source=item.source,
            )
        ]
    folder, name = safe_folder.split_path(item.source)
    try:
        with safe_folder.open_folder(folder) as place:
            fd = place.open(name)
            size = os.fstat(fd).st_size
            os.close(fd)
    except (ChangeError, OSError) as e:
        return [_("The source {source} cannot be read: {e}.", source=item.source, e=e)]
    return [] if size == item.size else [_("The source {source} has changed since it was shown.", source=item.source)]


def writable_by_others(path: str, trusted: frozenset[int] | None) -> str:
    """Return the first part of a path, links resolved, that somebody else may change; empty when there is none.

    ``trusted``: nobody but these user numbers (and root) may; None: only what everybody may change counts. On Windows
    access lists are read where an administrator's rights are at stake (``core.transaction.broker``), not here.
    """
    if os.name == "nt" or not Path(path).is_absolute():
        return ""
    if trusted is not None:
        return ownership.first_loose(path, frozenset(f"uid:{u}" for u in trusted))
    try:
        parts = [p for p in ownership.who_can_write(path) if p.kind != "missing"]
    except (OSError, ValueError):
        return ""
    open_to_all = (p.path for p in parts if ownership.EVERYONE in (p.writers if p is parts[-1] else p.movers))
    return next(open_to_all, "")


def _space(change: FileSet, journal: Journal) -> list[str]:
    """Return a sentence for each volume with too little space. A margin of 64 MiB stays free."""
    wanted: dict[int, int] = defaultdict(int)
    example: dict[int, str] = {}
    for item in change.items:
        place = Path(safe_folder.nearest_existing(safe_folder.split_path(item.path)[0]))
        device = place.stat().st_dev
        wanted[device] += item.size
        example.setdefault(device, str(place))
        if item.before and not item.before.startswith("-> ") and Path(item.path).is_file():
            keep = Path(safe_folder.nearest_existing(journal.folder))
            if keep.stat().st_dev != device or Path(item.path).stat().st_nlink > 1:
                wanted[keep.stat().st_dev] += Path(item.path).stat().st_size
                example.setdefault(keep.stat().st_dev, str(keep))
    rows = []
    for device, size in wanted.items():
        free = shutil.disk_usage(example[device]).free
        if size and size + (64 << 20) > free:
            rows.append(
                _(
                    "{folder} has {free} MiB free; {size} MiB are needed.",
                    folder=example[device],
                    free=format_number(free >> 20),
                    size=format_number((size >> 20) + 64),
                )
            )
    return rows


def describe_state(state: str) -> str:
    """Return a file's state in words that follow "changed since it was shown:"."""
    if not state:
        return _("no file")
    if state == "folder":
        return "a folder"
    return (
        _("a link to {target}", target=state[3:])
        if state.startswith("-> ")
        else _("a file with SHA-256 {digest}...", digest=state[:12])
    )


# --- values that a Snapshot does not have -------------------------------------------------------------------------


def resolve_files(change: FileSet) -> FileSet:
    """Return the set with every "?" replaced by what is there now, and every folder by its real name.

    Raises:
        ChangeError, OSError: a file cannot be read, or a source is none.
    """
    return msgspec.structs.replace(change, items=tuple(_resolve_item(i) for i in change.items))


def _resolve_item(item: FileItem) -> FileItem:
    folder, name = os.path.split(item.path)
    path = str(Path(os.path.realpath(folder)) / name)
    before, after, source, size = item.before, item.after, item.source, item.size
    if before == "?":
        with safe_folder.open_folder(os.path.realpath(folder)) as place:
            before = place.state(name)
    if after == "?" and item.text is not None:
        after, size = _digest(item.text), len(item.text.encode())
    elif after == "?":
        source = os.path.realpath(source)
        with safe_folder.open_parent(source) as (place, base):
            after, found = place.state(base), place.status(base)
        if found is None or after.startswith("-> "):
            raise ChangeError(_("{source} does not exist, so nothing can be taken from it.", source=source))
        size = found.st_size
    return msgspec.structs.replace(item, path=path, before=before, after=after, source=source, size=size)
