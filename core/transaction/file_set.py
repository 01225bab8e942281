"""Carry out a FileSet: write and check new files beside the old ones, then rename; all of it or nothing."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from core.common.i18n import _
from core.host import file_attributes, ownership, safe_folder
from core.host.file_attributes import FileAttributes, for_other_bytes
from core.host.safe_folder import SafeFolder
from core.model.changes import Change, ChangeError, FileItem, FileSet
from core.model.facts import Frozen
from core.transaction.file_preconditions import changed_since
from core.transaction.journal import Entry, Journal, PreviousAttributes, is_own
from core.transaction.variable_store import error_sentence

SHA256_LETTERS = 64
"""Number of characters of a state that is a SHA-256."""


class NotRestored(Frozen, frozen=True):
    """What could not be restored."""

    sentence: str
    again: bool = False
    """Whether the system failed, so that another try may succeed."""


# --- doing -----------------------------------------------------------------------------------------------------


def place_files(change: FileSet, entry: Entry, journal: Journal) -> None:
    """Place, replace or quarantine every file, or raise with only temporary files left (see ``restore_files``).

    Raises:
        ChangeError, OSError: what was found is not what was planned, or the system refused.
    """
    if not change.unmake:
        for folder in change.folders:
            safe_folder.make_folders(folder)
    seen = {item.path: _stage_file(item, entry, journal, keep=not change.unmake) for item in change.items}
    for item in change.items:
        with safe_folder.open_parent(item.path) as (place, name):
            if _signature(place, name) != seen[item.path]:
                raise _changed_just_now(item)
            if "folder" in (item.before, item.after):
                _move_aside(place, name, entry.id, back=item.after == "folder")
            elif item.after:
                place.rename(_beside_name(name, entry.id), name)
            else:
                place.remove(name)
            place.sync()
    if change.unmake:
        _unmake(change)
    for item in change.items:
        _look_as_owner(item)


def _look_as_owner(item: FileItem) -> None:
    """Check that the owner of the folder can read a file that an administrator wrote.

    Raises:
        ChangeError: it cannot. OSError: it cannot be looked at.
    """
    if sys.platform == "win32" or os.geteuid() != 0 or len(item.after) != SHA256_LETTERS:
        return
    owner = Path(item.path).parent.stat()
    if not ownership.may_read(item.path, owner.st_uid, ownership.groups_of(owner.st_uid, owner.st_gid)):
        raise ChangeError(_("{path} is not readable for the owner of its folder.", path=item.path))


def restore_files(change: FileSet, entry: Entry, journal: Journal) -> tuple[NotRestored, ...]:
    """Restore every file to its ``before``, however far the change was carried out; return what could not be restored.
    Can be called repeatedly. A file in neither the old nor the new state was changed by somebody else and is left
    alone.
    """
    rows = [row for item in change.items if (row := _restore_item(item, entry, journal)) is not None]
    if not rows:
        try:
            _unmake(change)
        except OSError as e:
            rows.append(NotRestored(error_sentence(e), again=True))
    return tuple(rows)


def _restore_item(item: FileItem, entry: Entry, journal: Journal) -> NotRestored | None:
    """Restore one file or folder; return why it could not be restored, or None."""
    folder, name = safe_folder.split_path(item.path)
    try:
        with safe_folder.open_folder(folder) as place:
            place.remove(_beside_name(name, entry.id))
            restore = _restore_folder if item.before == "folder" else _restore_file
            problem = restore(item, place, entry, journal)
            place.sync()
    except FileNotFoundError:
        if not item.before:
            return None
        where = {"folder": folder, "name": name, "journal": journal.folder}
        return NotRestored(_("The folder {folder} is gone; {name} is kept in {journal}.", **where))
    except (ChangeError, OSError) as e:
        words = _("{path} could not be restored: {e}.", path=item.path, e=error_sentence(e).rstrip("."))
        return NotRestored(words, again=isinstance(e, OSError))
    return NotRestored(problem) if problem else None


def _restore_folder(item: FileItem, place: SafeFolder, entry: Entry, _journal: Journal) -> str:
    """Put the old folder back, which lies beside its place; return what stands in the way, or nothing."""
    _parent, name = safe_folder.split_path(item.path)
    now, is_aside = place.state(name), place.status(_aside_name(name, entry.id)) is not None
    if is_aside and not now:
        _move_aside(place, name, entry.id, back=True)
    elif is_aside or now != "folder":
        return _(
            "The new {path} exists; the old one is next to it as {aside}.",
            path=item.path,
            aside=_aside_name(name, entry.id),
        )
    return ""


def _restore_file(item: FileItem, place: SafeFolder, entry: Entry, journal: Journal) -> str:
    """Put the old file back from the journal; return who else has changed it, or nothing."""
    _folder, name = safe_folder.split_path(item.path)
    now = place.state(name)
    if now == item.after:
        back = FileItem(path=item.path, before=item.after, after=item.before)
        _stage_file(back, entry, journal, keep=False)
        if item.before:
            place.rename(_beside_name(name, entry.id), name)
        else:
            place.remove(name)
    elif now != item.before:
        return _("Another program has changed {path} since, so Convalesce left it unchanged.", path=item.path)
    return ""


def _unmake(change: FileSet) -> None:
    for folder in reversed(change.folders):
        try:
            with safe_folder.open_parent(folder) as (place, name):
                place.unmake(name)
                place.sync()
        except FileNotFoundError:
            continue


def _aside_name(name: str, entry: str) -> str:
    return f"{name}.convalesce-{entry}"


def _move_aside(place: SafeFolder, name: str, entry: str, *, back: bool) -> None:
    """Move a folder aside, or back, by one rename."""
    aside = _aside_name(name, entry)
    if place.status(name if back else aside) is not None:
        raise ChangeError(_("{path} already exists.", path=place.path + os.sep + (name if back else aside)))
    place.rename(*((aside, name) if back else (name, aside)))


def _beside_name(name: str, entry: str) -> str:
    return f".{name}.convalesce-{entry}"


def record_attributes(changes: tuple[Change, ...]) -> tuple[PreviousAttributes, ...]:
    """Return the attributes of every file that will be replaced or quarantined.

    Raises:
        ChangeError, OSError: one cannot be read.
    """
    rows = []
    for item in (i for c in changes if isinstance(c, FileSet) for i in c.items):
        if len(item.before) != SHA256_LETTERS:
            continue
        with safe_folder.open_parent(item.path) as (place, name):
            found, there = place.attributes(name), place.status(name)
        if found is not None and there is not None:
            rows.append(PreviousAttributes(path=item.path, inode=there.st_ino, attributes=found))
    return tuple(rows)


def _changed_just_now(item: FileItem) -> ChangeError:
    return ChangeError(_("Another program changed {path} just now.", path=item.path))


def _signature(folder: SafeFolder, name: str) -> tuple[int, ...] | None:
    found = folder.status(name)
    if found is None:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, stat.S_IFMT(found.st_mode))


def _stage_file(item: FileItem, entry: Entry, journal: Journal, *, keep: bool) -> tuple[int, ...] | None:
    """Back up the present file and write the new one beside it, both durably; return the present file's identity."""
    with safe_folder.open_parent(item.path) as (place, name):
        seen = _signature(place, name)
        now = place.state(name)
        if now != item.before:
            raise ChangeError(changed_since(item, now))
        if _signature(place, name) != seen:
            raise _changed_just_now(item)
        if "folder" in (item.before, item.after):
            return seen
        if keep and len(now) == SHA256_LETTERS:
            _keep(place, name, now, journal)
            kept = _signature(place, name)
            if seen is None or kept is None or kept[:3] != seen[:3]:  # a second hard link changes the file's ctime
                raise _changed_just_now(item)
            seen = kept
        beside = _beside_name(name, entry.id)
        place.remove(beside)
        if item.after.startswith("-> "):
            place.link(beside, item.after[3:])
        elif item.after:
            _fill(item, place, entry, journal)
        place.sync()
        return seen


def _fill(item: FileItem, place: SafeFolder, entry: Entry, journal: Journal) -> None:
    """Write the new bytes beside, from the text, the source or the backups, with their attributes, and check them."""
    name = safe_folder.split_path(item.path)[1]
    beside = _beside_name(name, entry.id)
    was = next((w for w in entry.was if w.path == item.path), None)
    if item.text is None and not item.source:
        with journal.open_backups() as kept:
            if row := journal.no_backup(item.after, item.path):
                raise ChangeError(row)
            if not _given_back(item.after, was, kept, place, beside):
                _write(kept.open(item.after), place, beside, was.attributes if was else None)
    else:
        old = for_other_bytes(was.attributes) if was else None
        if item.text is not None:
            _write(item.text.encode("utf-8", "surrogatepass"), place, beside, old)
        else:
            with safe_folder.open_parent(item.source) as (origin, source):
                _write(origin.open(source), place, beside, old)
    if place.state(beside) != item.after:
        place.remove(beside)
        raise ChangeError(_("The bytes for {path} are not the planned ones (SHA-256 differs).", path=item.path))


def _given_back(state: str, was: PreviousAttributes | None, kept: SafeFolder, place: SafeFolder, beside: str) -> bool:
    """Restore the very file that was moved aside, by a hard link if it was kept as one."""
    for name in (f"{state}-{was.inode}" if was else state, state):
        found = kept.status(name)
        same = found is not None and (was is None or found.st_ino == was.inode)
        if same and is_own(found) and kept.state(name) == state and kept.share(name, place, beside):
            return True
    return False


def _write(content: bytes | int, place: SafeFolder, beside: str, wanted: FileAttributes | None) -> None:
    """Write bytes, or those of an open file, which is closed, beside; synced, with the attributes wanted; a new file gets those of a
    new one in its folder.
    """
    try:
        with os.fdopen(place.create(beside, 0o600), "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
                file.flush()
            else:
                safe_folder.copy_bytes(content, file.fileno())
            runs = isinstance(content, int) and os.fstat(content).st_mode & 0o111
            file_attributes.set_attributes(file.fileno(), wanted or place.of_new(0o755 if runs else 0o644))
            os.fsync(file.fileno())
        if wanted:
            place.restore(beside, wanted)
    finally:
        if isinstance(content, int):
            os.close(content)


def _keep(place: SafeFolder, name: str, state: str, journal: Journal) -> None:
    """Keep a file's bytes under their SHA-256, and the file itself by a hard link if the user owns it. A file that
    already has other hard links is copied, too: whoever has one of those could change the bytes.
    """
    found = place.status(name)
    if found is None:
        return
    with journal.open_backups() as kept:
        alone = found.st_nlink == 1
        whole = kept.status(state) is not None and kept.state(state) == state
        mine = is_own(found)
        if mine and (whole or not alone):
            very = f"{state}-{found.st_ino}"
            kept.remove(very)
            place.share(name, kept, very)
        if not whole:
            beside = f".{state}.new"
            kept.remove(beside)
            if not (mine and alone and place.share(name, kept, beside)) and _backup(place, name, kept, beside) != state:
                raise ChangeError(_("{path} changed while it was being backed up.", path=place.path + os.sep + name))
            kept.rename(beside, state)
        kept.sync()


def _backup(place: SafeFolder, name: str, kept: SafeFolder, beside: str) -> str:
    fd = place.open(name)
    try:
        with os.fdopen(kept.create(beside, 0o600), "wb") as file:
            written = safe_folder.copy_bytes(fd, file.fileno())
            os.fsync(file.fileno())
            return written
    finally:
        os.close(fd)
