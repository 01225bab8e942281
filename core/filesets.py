"""Carrying out a FileSet: everything is written beside and checked first, then renamed; all of it or nothing."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections import defaultdict
from pathlib import Path

from core import folders
from core.changes import ChangeError, FileItem, FileSet
from core.folders import Folder
from core.journal import Journal

_STATE = re.compile(r"(?:[0-9a-f]{64}|-> [^/\\\0\r\n]+)?\Z")
LARGEST_TEXT = 1 << 20


# --- what must hold before anything is done ------------------------------------------------------------------


def problems(change: FileSet, journal: Journal, *, trusted: frozenset[int] | None = None) -> tuple[str, ...]:
    """Return a sentence for everything that stands against the change; empty when it can be done. Changes nothing.

    ``trusted``: only these user numbers may be able to write a source (None: nobody but everybody is refused).
    """
    found = malformed(change)
    if found:
        return found
    rows = [p for folder in change.folders for p in _folder_problems(folder, change)]
    rows += [p for item in change.items for p in _item_problems(item, change, trusted)]
    return (*rows, *_space(change, journal))


def malformed(change: FileSet) -> tuple[str, ...]:
    """Return a sentence for everything that no sound plan would say."""
    rows = []
    paths = [i.path for i in change.items]
    if len({os.path.normcase(p) for p in paths}) != len(paths):
        rows.append("The plan names a file twice.")
    for path in (*paths, *change.folders, *(i.source for i in change.items if i.source)):
        try:
            folders.split(path)
        except ChangeError as e:
            rows.append(str(e))
    for item in change.items:
        if not _STATE.match(item.before) or not _STATE.match(item.after) or item.before == item.after:
            rows.append(f"The plan does not say what becomes of {item.path}.")
        if item.after in ("-> .", "-> ..") or item.size < 0:
            rows.append(f"The plan makes no sense for {item.path}.")
        if item.text is not None and _digest(item.text) != item.after:
            rows.append(f"The text planned for {item.path} is not the one that was shown.")
    return tuple(rows)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folder_problems(folder: str, change: FileSet) -> list[str]:
    parent = folders.split(folder)[0]
    if change.unmake:
        return []
    if os.path.lexists(folder):
        return [f"The folder {folder} is there already."]
    try:
        with folders.opened(parent):
            return []
    except FileNotFoundError:
        return [] if _is_made(parent, change) else [f"The folder {parent} is not there."]
    except (ChangeError, OSError) as e:
        return [f"{folder} cannot be made: {e}."]


def _item_problems(item: FileItem, change: FileSet, trusted: frozenset[int] | None) -> list[str]:
    rows = []
    folder, name = folders.split(item.path)
    try:
        with folders.opened(folder) as place:
            now = place.state(name)
        if now != item.before:
            rows.append(f"{item.path} changed since it was shown: {_words(item.before)}, and now {_words(now)}.")
    except FileNotFoundError:
        if item.before or change.unmake or not _is_made(folder, change):
            rows.append(f"The folder {folder} is not there.")
    except (ChangeError, OSError) as e:
        rows.append(f"{item.path} cannot be changed: {e}.")
    if item.source:
        rows += _source_problems(item, trusted)
    return rows


def _is_made(folder: str, change: FileSet) -> bool:
    return any(Path(folder) == Path(f) for f in change.folders)


def _source_problems(item: FileItem, trusted: frozenset[int] | None) -> list[str]:
    loose = writable_by_others(item.source, trusted)
    if loose:
        return [f"{loose} can be changed by other users, so nothing is taken from {item.source}."]
    folder, name = folders.split(item.source)
    try:
        with folders.opened(folder) as place:
            fd = place.open(name)
            size = os.fstat(fd).st_size
            os.close(fd)
    except (ChangeError, OSError) as e:
        return [f"The source {item.source} cannot be read: {e}."]
    return [] if size == item.size else [f"The source {item.source} changed since it was shown."]


def writable_by_others(path: str, trusted: frozenset[int] | None = None) -> str:
    """Return the first part of a path, from the root, that somebody else may write; empty when there is none.

    With ``trusted``, a part that belongs to another user than these, or that its group may write, counts, too. In a
    folder with the sticky bit (/tmp) nobody can swap what belongs to another. On Windows access lists are not read.
    """
    if os.name == "nt":
        return ""
    for part in (*reversed(Path(path).parents), Path(path)):
        try:
            found = part.lstat()
        except OSError:
            return ""
        if stat.S_ISLNK(found.st_mode):
            continue
        sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
        if found.st_mode & stat.S_IWOTH and not sticky:
            return str(part)
        if trusted is not None and not sticky:
            group = found.st_mode & stat.S_IWGRP and found.st_gid != 0
            if found.st_uid not in trusted or group:
                return str(part)
    return ""


def _space(change: FileSet, journal: Journal) -> list[str]:
    """Return a sentence for each volume that is too small. A margin of 64 MiB stays free."""
    wanted: dict[int, int] = defaultdict(int)
    example: dict[int, str] = {}
    for item in change.items:
        place = _existing(folders.split(item.path)[0])
        device = place.stat().st_dev
        wanted[device] += item.size
        example.setdefault(device, str(place))
        if item.before and not item.before.startswith("-> ") and Path(item.path).is_file():
            keep = _existing(journal.folder)
            if keep.stat().st_dev != device or Path(item.path).stat().st_nlink > 1:
                wanted[keep.stat().st_dev] += Path(item.path).stat().st_size
                example.setdefault(keep.stat().st_dev, str(keep))
    rows = []
    for device, size in wanted.items():
        free = shutil.disk_usage(example[device]).free
        if size and size + (64 << 20) > free:
            rows.append(f"{example[device]} has {free >> 20:,} MiB free; {(size >> 20) + 64:,} MiB are needed.")
    return rows


def _existing(path: str) -> Path:
    here = Path(path)
    while not here.exists():
        here = here.parent
    return here


def _words(state: str) -> str:
    if not state:
        return "no file"
    return f"a link to {state[3:]}" if state.startswith("-> ") else f"a file with SHA-256 {state[:12]}..."


# --- doing -----------------------------------------------------------------------------------------------------


def carry_out(change: FileSet, entry: str, journal: Journal) -> None:
    """Place, replace or put aside every file, or raise with nothing but files beside (see ``settle``).

    Raises:
        ChangeError, OSError: what was found is not what was planned, or the system refused.
    """
    if not change.unmake:
        for folder in change.folders:
            folders.make_way(folder)
    seen = {item.path: _stage(item, entry, journal, keep=not change.unmake) for item in change.items}
    for item in change.items:
        folder, name = folders.split(item.path)
        with folders.opened(folder) as place:
            if _signature(place, name) != seen[item.path]:
                raise ChangeError(f"{item.path} was changed by another program at this moment.")
            if item.after:
                place.rename(_beside(name, entry), name)
            else:
                place.remove(name)
            place.sync()
    if change.unmake:
        _unmake(change)


def settle(change: FileSet, entry: str, journal: Journal) -> tuple[str, ...]:
    """Bring every file back to its ``before``, however far the change had come; return what could not be.

    Can be called again and again. A file that is neither as before nor as after belongs to somebody else by now and
    is left alone.
    """
    rows = []
    for item in change.items:
        folder, name = folders.split(item.path)
        try:
            with folders.opened(folder) as place:
                place.remove(_beside(name, entry))
                now = place.state(name)
                if now == item.after:
                    back = FileItem(path=item.path, before=item.after, after=item.before)
                    _stage(back, entry, journal, keep=False)
                    if item.before:
                        place.rename(_beside(name, entry), name)
                    else:
                        place.remove(name)
                elif now != item.before:
                    rows.append(f"{item.path} was changed by another program since, and was left as it is.")
                place.sync()
        except FileNotFoundError:
            if item.before:
                rows.append(f"The folder {folder} is gone; {name} is kept in {journal.folder}.")
        except (ChangeError, OSError) as e:
            rows.append(f"{item.path} could not be put back: {e}.")
    if not rows:
        _unmake(change)
    return tuple(rows)


def _unmake(change: FileSet) -> None:
    for folder in reversed(change.folders):
        parent, name = folders.split(folder)
        try:
            with folders.opened(parent) as place:
                place.unmake(name)
                place.sync()
        except FileNotFoundError:
            continue


def _beside(name: str, entry: str) -> str:
    return f".{name}.convalesce-{entry}"


def _signature(folder: Folder, name: str) -> tuple[int, ...] | None:
    found = folder.status(name)
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns, stat.S_IFMT(found.st_mode))


def _stage(item: FileItem, entry: str, journal: Journal, *, keep: bool) -> tuple[int, ...] | None:
    """Keep what is there, write what will be there beside it, both durably; return how to recognise what is there."""
    folder, name = folders.split(item.path)
    with folders.opened(folder) as place:
        now, seen = place.state(name), _signature(place, name)
        if now != item.before:
            raise ChangeError(f"{item.path} changed since it was shown: {_words(item.before)}, and now {_words(now)}.")
        if keep and now and not now.startswith("-> "):
            _keep(place, name, now, journal)
            seen = _signature(place, name)
        beside = _beside(name, entry)
        place.remove(beside)
        if item.after.startswith("-> "):
            place.link(beside, item.after[3:])
        elif item.after:
            _fill(item, place, beside, journal)
        place.sync()
        return seen


def _fill(item: FileItem, place: Folder, beside: str, journal: Journal) -> None:
    """Write the new bytes beside, from the text, the source or the backups, and check them."""
    if item.text is not None:
        with os.fdopen(place.create(beside), "wb") as file:
            file.write(item.text.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        return
    if item.source:
        folder, name = folders.split(item.source)
        with folders.opened(folder) as origin:
            written = _copy(origin, name, place, beside)
    else:
        with journal.kept() as kept:
            if kept.status(item.after) is None:
                raise ChangeError(f"The backup of {item.path} is no longer in {journal.folder}.")
            shared = kept.share(item.after, place, beside)
            written = item.after if shared else _copy(kept, item.after, place, beside, exact=True)
    if written != item.after or place.state(beside) != item.after:
        place.remove(beside)
        raise ChangeError(f"The bytes for {item.path} are not those that were planned (SHA-256 differs).")


def _copy(origin: Folder, name: str, place: Folder, beside: str, *, exact: bool = False) -> str:
    """Copy a file, ``exact``: with its mode, owner and times; return the SHA-256 of what was written."""
    fd = origin.open(name)
    try:
        found = os.fstat(fd)
        written = folders.copy(fd, place, beside, 0o755 if found.st_mode & 0o111 else 0o644)
        if exact:
            place.imitate(beside, found)
        return written
    finally:
        os.close(fd)


def _keep(place: Folder, name: str, state: str, journal: Journal) -> None:
    """Keep a file's bytes under their SHA-256: by a second name for a file that has no other, else as a copy."""
    with journal.kept() as kept:
        if kept.status(state) is not None and kept.state(state) == state:
            return
        beside = f".{state}.new"
        kept.remove(beside)
        found = place.status(name)
        alone = found is not None and found.st_nlink == 1
        if not (alone and place.share(name, kept, beside)) and _copy(place, name, kept, beside, exact=True) != state:
            raise ChangeError(f"{place.path}{os.sep}{name} changed while it was being backed up.")
        kept.rename(beside, state)
        kept.sync()
