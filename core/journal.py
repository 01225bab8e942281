"""Journal: written before anything happens; survives a kill at any instant; holds the backups.

A folder with ``entries/ID.json`` (one document each, always replaced in one step), ``kept/SHA256`` (the bytes of
files that were replaced or put aside), ``staging/`` (unpacked archives) and ``lock``.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

from core import __version__, folders
from core.changes import Change, ChangeError, FileSet
from core.facts import Fact
from core.folders import Folder
from core.i18n import _

SCHEMA = 1
"""Version of an entry's form. A newer Convalesce reads every older one; an older one leaves newer entries alone."""
LARGEST_ENTRY = 16 << 20

State = Literal["begun", "done", "rolled back", "undoing", "undone", "stuck"]
_ID = re.compile(r"\d{8}T\d{6}Z-\d{4}\Z")


class JournalError(ChangeError):
    """The journal cannot be used; the message is one sentence."""


class Entry(Fact, frozen=True, kw_only=True):
    """One plan that was begun: what it is, all its changes, and how far it came."""

    schema: int = SCHEMA
    id: str
    made: str
    """ISO 8601 time, UTC."""
    title: str
    changes: tuple[Change, ...]
    state: State = "begun"
    note: str = ""
    """How it ended, in one sentence, where that is not plain."""
    finding: str = ""
    """``id`` of the finding whose fix it is."""
    plan: str = ""
    """SHA-256 of the plan's file, where an elevated Convalesce carried it out."""
    version: str = ""
    """The Convalesce that wrote it."""

    @property
    def unfinished(self) -> bool:
        """Whether it was interrupted between its beginning and its end."""
        return self.state in ("begun", "undoing")

    @property
    def undoable(self) -> bool:
        """Whether it can be taken back."""
        return self.state == "done"


class BadEntry(Fact, frozen=True, kw_only=True):
    """An entry that this version cannot read, and why."""

    id: str
    problem: str


def state_folder() -> Path:
    """Return this user's state folder; CONVALESCE_STATE names another."""
    named = os.environ.get("CONVALESCE_STATE", "")
    return Path(os.path.realpath(named or platformdirs.user_state_path("convalesce", appauthor=False)))


def machine_state_folder() -> Path:
    """Return the folder of the machine's own journal, which only an administrator writes."""
    if sys.platform == "win32":
        return Path(os.path.realpath(platformdirs.site_data_path("convalesce", appauthor=False)))
    return Path("/var/lib/convalesce")


class Journal:
    """The journal in one folder. Reading it makes nothing; the folder is made by the first ``begin``."""

    def __init__(self, folder: str | os.PathLike[str], *, shared: bool = False) -> None:
        """``shared``: every user may read the entries (the machine's own journal); the backups stay closed."""
        self.folder = os.path.realpath(folder)
        self._mode = 0o755 if shared else 0o700

    # --- reading ---------------------------------------------------------------------------------------------

    def entries(self) -> tuple[Entry | BadEntry, ...]:
        """Return every entry, oldest first. Never raises for what is written in one."""
        try:
            with folders.opened(self._part("entries")) as folder:
                names = [n for n in folder.names() if n.endswith(".json") and _ID.match(n[:-5])]
                return tuple(self._read(folder, n) for n in names)
        except FileNotFoundError:
            return ()

    def entry(self, id: str) -> Entry:
        """Return one entry.

        Raises:
            JournalError: there is none of this name, or this version cannot read it.
        """
        found = next((e for e in self.entries() if e.id == id), None)
        if found is None:
            raise JournalError(_("The history has no entry {id}.", id=repr(id)))
        if isinstance(found, BadEntry):
            raise JournalError(found.problem)
        return found

    def unfinished(self) -> tuple[Entry, ...]:
        """Return the entries that were interrupted, newest first."""
        return tuple(e for e in reversed(self.entries()) if isinstance(e, Entry) and e.unfinished)

    def _read(self, folder: Folder, name: str) -> Entry | BadEntry:
        own = name[:-5]
        try:
            data = folder.read(name, LARGEST_ENTRY) or b""
            schema = msgspec.json.decode(data, type=_Head).schema
            if schema > SCHEMA:
                newer = _(
                    "Entry {own} was written by a newer Convalesce (form {schema}); undo it with that one.",
                    own=own,
                    schema=schema,
                )
                return BadEntry(id=own, problem=newer)
            entry = msgspec.json.decode(data, type=Entry)
        except RecursionError:
            return BadEntry(id=own, problem=_("Entry {own} is damaged: it is nested too deeply.", own=own))
        except (msgspec.DecodeError, UnicodeDecodeError, ChangeError, OSError) as e:
            return BadEntry(id=own, problem=_("Entry {own} is damaged: {e}.", own=own, e=e))
        return (
            entry
            if entry.id == own
            else BadEntry(id=own, problem=_("Entry {own} is damaged: it names itself otherwise.", own=own))
        )

    # --- writing ---------------------------------------------------------------------------------------------

    def begin(self, title: str, changes: tuple[Change, ...], *, finding: str = "", plan: str = "") -> Entry:
        """Write the intent durably, and return it. Nothing may be changed before this returns."""
        now = datetime.now(UTC)
        stem = now.strftime("%Y%m%dT%H%M%SZ")
        taken = {e.id for e in self.entries()}
        own = next(i for n in range(10_000) if (i := f"{stem}-{n:04}") not in taken)
        entry = Entry(
            id=own, made=now.isoformat(), title=title, changes=changes, finding=finding, plan=plan, version=__version__
        )
        self.note(entry)
        return entry

    def note(self, entry: Entry) -> Entry:
        """Write an entry durably, over its older form, and return it."""
        self._prepare()
        with folders.opened(self._part("entries")) as folder:
            folder.write(f"{entry.id}.json", msgspec.json.format(msgspec.json.encode(entry), indent=1) + b"\n")
        return entry

    def change_state(self, entry: Entry, state: State, note: str = "") -> Entry:
        """Write how far an entry has come, durably."""
        return self.note(msgspec.structs.replace(entry, state=state, note=note))

    def _part(self, name: str) -> str:
        return str(Path(self.folder) / name)

    def _prepare(self) -> None:
        folders.make_way(self._part("entries"), self._mode)
        folders.make_way(self._part("kept"), 0o700)

    # --- backups ---------------------------------------------------------------------------------------------

    @contextmanager
    def kept(self) -> Iterator[Folder]:
        """Open the folder of backups, whose files are named by their SHA-256."""
        self._prepare()
        with folders.opened(self._part("kept")) as folder:
            yield folder

    @property
    def staging(self) -> Path:
        """The folder for unpacked archives; made on demand by who unpacks."""
        return Path(self._part("staging"))

    def forget_unneeded(self) -> None:
        """Remove backups that no entry needs any more. Nothing is removed while any entry cannot be read."""
        entries = self.entries()
        if any(isinstance(e, BadEntry) for e in entries):
            return
        needed = {
            item.before
            for e in entries
            if isinstance(e, Entry) and e.state not in ("undone", "rolled back")
            for c in e.changes
            if isinstance(c, FileSet)
            for item in c.items
        }
        with self.kept() as folder:
            for name in folder.names():
                if name not in needed:
                    folder.remove(name)

    # --- one at a time ---------------------------------------------------------------------------------------

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the journal alone. The system itself lets go of the lock when its holder ends, however it ends.

        Raises:
            JournalError: another Convalesce holds it.
        """
        self._prepare()
        with folders.opened(self.folder) as folder:
            fd = _open_lock(folder)
        try:
            if not _take(fd):
                raise JournalError(
                    _("Another Convalesce is changing this machine at this moment; try again when it is done.")
                )
            yield
        finally:
            os.close(fd)


class _Head(Fact, frozen=True, kw_only=True):
    schema: int


def _open_lock(folder: Folder) -> int:
    try:
        return folder.create("lock", 0o600)
    except FileExistsError:
        return folder.open("lock", write=True)


if sys.platform == "win32":
    import msvcrt

    def _take(fd: int) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _take(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise JournalError(
                _(
                    "The folder of the history has no locks ({strerror}); name another one in CONVALESCE_STATE.",
                    strerror=e.strerror,
                )
            ) from None
        return True
