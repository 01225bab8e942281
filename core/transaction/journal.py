"""Journal: written before anything happens; survives a kill at any instant; holds the backups.

A folder with ``entries/ID.json`` (one document each, always replaced in one step), ``kept/SHA256`` (the bytes of
files that were replaced or put aside), ``staging/`` (unpacked archives) and ``lock``.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

from core import __version__
from core.common.home import below_home
from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.host import ownership, safe_folder
from core.host.file_attributes import FileAttributes
from core.host.file_lock import take_lock
from core.host.safe_folder import SafeFolder
from core.model.changes import Change, ChangeError, FileSet
from core.model.facts import Frozen

ENTRY_SCHEMA = 2
"""Format version of an entry. A newer Convalesce reads every older version; an older one leaves newer entries alone."""
MAX_ENTRY_BYTES = 16 << 20
SHARED_MODE = 0o755
"""Mode of the machine's own journal, which everybody reads."""

State = Literal["begun", "done", "rolled back", "undoing", "undone", "stuck", "let go"]
_ID = late_pattern(r"\d{8}T\d{6}Z-\d{4}\Z")


class JournalError(ChangeError):
    """The journal cannot be used; the message is one sentence."""


class BegunError(JournalError):
    """An entry may have been written although the system reported an error: its changes must be undone."""

    def __init__(self, id: str, why: ChangeError | OSError) -> None:
        words = (why.strerror if isinstance(why, OSError) else "") or str(why)
        super().__init__(_("The history could not be written: {why}.", why=words.rstrip(".")))
        self.id = id


class PreviousAttributes(Frozen, frozen=True, kw_only=True):
    """The attributes of a file before it was replaced or quarantined."""

    path: str
    inode: int
    """Its inode number: a backup with the same number is the same file, with all its hard links."""
    attributes: FileAttributes


class Entry(Frozen, frozen=True, kw_only=True):
    """One plan that was begun: its title, all its changes, and how far it was carried out."""

    schema: int = ENTRY_SCHEMA
    id: str
    made: str
    """ISO 8601 time, UTC."""
    title: str
    changes: tuple[Change, ...]
    state: State = "begun"
    note: str = ""
    """How it ended, in one sentence, if the state alone does not say."""
    finding: str = ""
    """``id`` of the finding whose fix it is."""
    plan: str = ""
    """SHA-256 of the plan's file, where an elevated Convalesce carried it out."""
    version: str = ""
    """The Convalesce that wrote it."""
    was: tuple[PreviousAttributes, ...] = ()
    """The previous attributes of each file that is replaced or quarantined."""

    @property
    def unfinished(self) -> bool:
        """Whether it was interrupted between its beginning and its end."""
        return self.state in ("begun", "undoing")

    @property
    def undoable(self) -> bool:
        """Whether it can be undone."""
        return self.state == "done"


class UnreadableEntry(Frozen, frozen=True, kw_only=True):
    """An entry that this version cannot read, and why."""

    id: str
    problem: str


def state_folder() -> Path:
    """Return this user's state folder; CONVALESCE_STATE names another."""
    named = os.environ.get("CONVALESCE_STATE", "")
    own = below_home(lambda: platformdirs.user_state_path("convalesce", appauthor=False))
    return Path(os.path.realpath(named or own))


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
        self._mode = SHARED_MODE if shared else 0o700

    # --- whose it is -----------------------------------------------------------------------------------------

    def check_owner(self) -> None:
        """Check that nobody else can have written here, because entries are carried out with the reader's rights.

        With an administrator's rights every part of the path counts. A missing history passes.

        Raises:
            JournalError: somebody else can change it, or it belongs to another account.
        """
        for name in ("", "entries", "kept"):
            place = self._part(name) if name else self.folder
            if loose := self._loose(place):
                raise JournalError(
                    _(
                        "{loose} belongs to another account, or other users can change it; Convalesce ignores the history in "
                        "{folder}.",
                        loose=loose,
                        folder=self.folder,
                    )
                )

    def _loose(self, place: str) -> str:
        if sys.platform == "win32":
            return _loose_on_windows(place) if self._mode == SHARED_MODE else ""
        me = frozenset({f"uid:{os.geteuid()}"})
        if os.geteuid() == 0:
            return ownership.first_loose(place)
        try:
            here = ownership.who_can_write(place)[-1:]
        except OSError:
            return ""  # it cannot be read either
        return ownership.loose_part(here, ownership.ADMINISTRATORS | me)

    # --- reading ---------------------------------------------------------------------------------------------

    def entries(self) -> tuple[Entry | UnreadableEntry, ...]:
        """Return every entry, oldest first. Never raises for an entry's content.

        Raises:
            JournalError: others than who reads it can have written it.
        """
        self.check_owner()
        try:
            with safe_folder.open_folder(self._part("entries")) as folder:
                names = [n for n in folder.names() if n.endswith(".json") and _ID.match(n[:-5])]
                return tuple(self._read_entry(folder, n) for n in names)
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
        if isinstance(found, UnreadableEntry):
            raise JournalError(found.problem)
        return found

    def unfinished(self) -> tuple[Entry, ...]:
        """Return the entries that were interrupted, newest first."""
        return tuple(e for e in reversed(self.entries()) if isinstance(e, Entry) and e.unfinished)

    def _read_entry(self, folder: SafeFolder, name: str) -> Entry | UnreadableEntry:
        own = name[:-5]
        try:
            if not is_own(folder.status(name)):
                foreign = _(
                    "Entry {own} belongs to another account, or other users can change it; Convalesce ignores it.",
                    own=own,
                )
                return UnreadableEntry(id=own, problem=foreign)
            data = folder.read(name, MAX_ENTRY_BYTES) or b""
            schema = msgspec.json.decode(data, type=_Head).schema
            if schema > ENTRY_SCHEMA:
                newer = _(
                    "Entry {own} was written by a newer Convalesce (form {schema}); undo it with that one.",
                    own=own,
                    schema=schema,
                )
                return UnreadableEntry(id=own, problem=newer)
            entry = msgspec.json.decode(data, type=Entry)
        except RecursionError:
            return UnreadableEntry(id=own, problem=_("Entry {own} is damaged: it is nested too deeply.", own=own))
        except (msgspec.DecodeError, UnicodeDecodeError, ChangeError, OSError) as e:
            return UnreadableEntry(id=own, problem=_("Entry {own} is damaged: {e}.", own=own, e=e))
        return (
            entry
            if entry.id == own
            else UnreadableEntry(
                id=own, problem=_("Entry {own} is damaged: its name and its content disagree.", own=own)
            )
        )

    # --- writing ---------------------------------------------------------------------------------------------

    def begin(
        self,
        title: str,
        changes: tuple[Change, ...],
        *,
        finding: str = "",
        plan: str = "",
        was: tuple[PreviousAttributes, ...] = (),
    ) -> Entry:
        """Write the intent durably, and return it. Nothing may be changed before this returns."""
        now = datetime.now(UTC)
        stem = now.strftime("%Y%m%dT%H%M%SZ")
        taken = {e.id for e in self.entries()}
        own = next(i for n in range(10_000) if (i := f"{stem}-{n:04}") not in taken)
        entry = Entry(
            id=own,
            made=now.isoformat(),
            title=title,
            changes=changes,
            finding=finding,
            plan=plan,
            version=__version__,
            was=was,
        )
        try:
            self.write_entry(entry)
        except (ChangeError, OSError) as e:
            self._remove_failed_entry(entry, e)
            raise
        return entry

    def start_undoing(self, entry: Entry) -> Entry:
        """Write durably that an entry is being undone; if that fails, the entry is unchanged.

        Raises:
            BegunError: the system failed, and it may be written all the same.
        """
        new = msgspec.structs.replace(entry, state="undoing", note="")
        try:
            return self.write_entry(new)
        except (ChangeError, OSError) as e:
            try:
                if self._entry_on_disk(new.id) != entry:
                    self.write_entry(entry)
            except (ChangeError, OSError):
                raise BegunError(entry.id, e) from e
            raise

    def _remove_failed_entry(self, entry: Entry, why: ChangeError | OSError) -> None:
        """Remove an entry whose writing failed, so that nothing has begun.

        Raises:
            BegunError: that failed, too.
        """
        try:
            with safe_folder.open_folder(self._part("entries")) as folder:
                folder.remove(f".{entry.id}.json.convalesce-new")
                folder.remove(f"{entry.id}.json")
        except FileNotFoundError:
            return
        except (ChangeError, OSError):
            raise BegunError(entry.id, why) from why

    def _entry_on_disk(self, id: str) -> Entry | None:
        found = next((e for e in self.entries() if e.id == id), None)
        return found if isinstance(found, Entry) else None

    def write_entry(self, entry: Entry) -> Entry:
        """Write an entry durably, over its older form, and return it."""
        self.prepare()
        with safe_folder.open_folder(self._part("entries")) as folder:
            folder.write(f"{entry.id}.json", msgspec.json.format(msgspec.json.encode(entry), indent=1) + b"\n")
        return entry

    def change_state(self, entry: Entry, state: State, note: str = "") -> Entry:
        """Write an entry's progress durably. If the system fails after the write, the written state counts."""
        new = msgspec.structs.replace(entry, state=state, note=note)
        try:
            return self.write_entry(new)
        except OSError:
            if self._entry_on_disk(new.id) != new:
                raise
            return new

    def _part(self, name: str) -> str:
        return str(Path(self.folder) / name)

    def prepare(self) -> None:
        """Create the journal's folders, each private to its account from its creation on.

        Raises:
            JournalError: they are there, and others can change them. OSError: they cannot be made.
        """
        if sys.platform == "win32" and self._mode == SHARED_MODE:
            from core.host.windows.ownership import MACHINE_BACKUPS, make_protected

            make_protected(self.folder)
            make_protected(self._part("kept"), MACHINE_BACKUPS)
        self.check_owner()
        safe_folder.make_folders(self._part("entries"), self._mode)
        safe_folder.make_folders(self._part("kept"), 0o700)

    # --- backups ---------------------------------------------------------------------------------------------

    @contextmanager
    def open_backups(self) -> Iterator[SafeFolder]:
        """Open the folder of backups, whose files are named by their SHA-256."""
        self.prepare()
        with safe_folder.open_folder(self._part("kept")) as folder:
            yield folder

    def no_backup(self, state: str, path: str) -> str:
        """Return why the bytes of ``state`` cannot be restored for ``path``; empty if they can. Changes nothing."""
        try:
            with safe_folder.open_folder(self._part("kept")) as folder:
                found = folder.status(state)
        except FileNotFoundError:
            found = None
        if found is None:
            return _("The backup of {path} is no longer in {folder}.", path=path, folder=self.folder)
        if not stat.S_ISREG(found.st_mode) or not is_own(found):
            return _("The backup of {path} belongs to another account, or other users can change it.", path=path)
        return ""

    @property
    def staging(self) -> Path:
        """The folder for unpacked archives; the caller creates it."""
        return Path(self._part("staging"))

    def forget_unneeded(self) -> None:
        """Remove backups that no entry needs any more. Nothing is removed while any entry cannot be read."""
        entries = self.entries()
        if any(isinstance(e, UnreadableEntry) for e in entries):
            return
        needed = {
            item.before
            for e in entries
            if isinstance(e, Entry) and e.state not in ("undone", "rolled back", "let go")
            for c in e.changes
            if isinstance(c, FileSet)
            for item in c.items
        }
        with self.open_backups() as folder:
            for name in folder.names():
                if name.partition("-")[0] not in needed:
                    folder.remove(name)

    # --- one at a time ---------------------------------------------------------------------------------------

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the journal. The system releases the lock when its holder ends, however it ends.

        Raises:
            JournalError: another Convalesce holds it.
        """
        self.prepare()
        with safe_folder.open_folder(self.folder) as folder:
            fd = _open_lock(folder)
        try:
            if not _take(fd):
                raise JournalError(
                    _("Another Convalesce is changing this machine right now; try again when it has finished.")
                )
            yield
        finally:
            os.close(fd)


def is_own(found: os.stat_result | None) -> bool:
    """Whether a file of the journal is an administrator's or of who runs, and nobody else may write it."""
    if found is None or sys.platform == "win32":  # there the folder's access list decides
        return True
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o022


if sys.platform == "win32":

    def _loose_on_windows(place: str) -> str:
        from core.host.windows.ownership import is_protected

        if loose := ownership.first_loose(place):
            return loose
        return place if Path(place).name == "convalesce" and not is_protected(place) else ""


class _Head(Frozen, frozen=True, kw_only=True):
    schema: int


def _open_lock(folder: SafeFolder) -> int:
    try:
        return folder.create("lock", 0o600)
    except FileExistsError:
        return folder.open("lock", write=True)


def _take(fd: int) -> bool:
    try:
        return take_lock(fd)
    except OSError as e:
        raise JournalError(
            _(
                "The folder of the history does not support locks ({strerror}); set another one in CONVALESCE_STATE.",
                strerror=e.strerror,
            )
        ) from None
