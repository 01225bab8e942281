"""Carrying out a FileSet: everything is written beside and checked first, then renamed; all of it or nothing."""

from __future__ import annotations

import os
import stat

from core import folders
from core.changes import ChangeError, FileItem, FileSet
from core.facts import Fact
from core.file_checks import words
from core.folders import Folder
from core.i18n import _
from core.journal import Journal
from core.writing import sentence


class Left(Fact, frozen=True):
    """What could not be brought back."""

    sentence: str
    again: bool = False
    """Whether the system failed, so that another try may succeed."""


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
                raise ChangeError(_("{path} was changed by another program at this moment.", path=item.path))
            if "folder" in (item.before, item.after):
                _turn(place, name, entry, back=item.after == "folder")
            elif item.after:
                place.rename(_beside(name, entry), name)
            else:
                place.remove(name)
            place.sync()
    if change.unmake:
        _unmake(change)


def settle(change: FileSet, entry: str, journal: Journal) -> tuple[Left, ...]:  # noqa: PLR0912 - a row a case
    """Bring every file back to its ``before``, however far the change had come; return what could not be.

    Can be called again and again. A file that is neither as before nor as after belongs to somebody else by now and
    is left alone.
    """
    rows: list[Left] = []
    for item in change.items:
        folder, name = folders.split(item.path)
        try:
            with folders.opened(folder) as place:
                place.remove(_beside(name, entry))
                now = place.state(name)
                if item.before == "folder":
                    if place.status(_aside(name, entry)) is not None and not now:
                        _turn(place, name, entry, back=True)
                    elif now != "folder" or place.status(_aside(name, entry)) is not None:
                        rows.append(
                            Left(
                                _(
                                    "There is a new {path}; the old one lies beside it as {aside}.",
                                    path=item.path,
                                    aside=_aside(name, entry),
                                )
                            )
                        )
                elif now == item.after:
                    back = FileItem(path=item.path, before=item.after, after=item.before)
                    _stage(back, entry, journal, keep=False)
                    if item.before:
                        place.rename(_beside(name, entry), name)
                    else:
                        place.remove(name)
                elif now != item.before:
                    rows.append(
                        Left(_("{path} was changed by another program since, and was left as it is.", path=item.path))
                    )
                place.sync()
        except FileNotFoundError:
            if item.before:
                rows.append(
                    Left(
                        _(
                            "The folder {folder} is gone; {name} is kept in {journal}.",
                            folder=folder,
                            name=name,
                            journal=journal.folder,
                        )
                    )
                )
        except (ChangeError, OSError) as e:
            words = _("{path} could not be put back: {e}.", path=item.path, e=sentence(e).rstrip("."))
            rows.append(Left(words, again=isinstance(e, OSError)))
    if not rows:
        try:
            _unmake(change)
        except OSError as e:
            rows.append(Left(sentence(e), again=True))
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


def _aside(name: str, entry: str) -> str:
    return f"{name}.convalesce-{entry}"


def _turn(place: Folder, name: str, entry: str, *, back: bool) -> None:
    """Put a folder aside, or back, by one rename."""
    aside = _aside(name, entry)
    if place.status(name if back else aside) is not None:
        raise ChangeError(_("{path} is there already.", path=place.path + os.sep + (name if back else aside)))
    place.rename(*((aside, name) if back else (name, aside)))


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
            raise ChangeError(
                _(
                    "{path} changed since it was shown: {before}, and now {now}.",
                    path=item.path,
                    before=words(item.before),
                    now=words(now),
                )
            )
        if "folder" in (item.before, item.after):
            return seen
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
            if row := journal.no_backup(item.after, item.path):
                raise ChangeError(row)
            shared = kept.share(item.after, place, beside)
            written = item.after if shared else _copy(kept, item.after, place, beside, exact=True)
    if written != item.after or place.state(beside) != item.after:
        place.remove(beside)
        raise ChangeError(_("The bytes for {path} are not those that were planned (SHA-256 differs).", path=item.path))


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
            raise ChangeError(_("{path} changed while it was being backed up.", path=place.path + os.sep + name))
        kept.rename(beside, state)
        kept.sync()
