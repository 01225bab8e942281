"""Carry out an ExchangePackages: exchange the folder with its twin in one step; the old folder is kept until it is
released.

A twin is in the environment's own folder, below ``.convalesce``, so that it is on the same file system and goes with it.
A note in the journal's folder ``twins``, written before the twin is made, says where it is. A twin whose maker has
ended and that no entry needs is removed at the next start.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from core.common.i18n import _
from core.common.text import join_names
from core.host import exchange, file_lock, ownership, safe_folder
from core.model.changes import ChangeError, ExchangePackages
from core.transaction.file_set import NotRestored
from core.transaction.journal import Entry, Journal, UnreadableEntry
from core.transaction.variable_store import error_sentence

TWINS = ".convalesce"
"""Folder of an environment that contains its twins."""
_TOKEN = re.compile(r"[0-9a-f]{8}")
_INFO = re.compile(r"(.+)-([^-]+)\.(?:dist|egg)-info$")
_held: dict[str, int] = {}
"""Token of a twin that this process made -> the descriptor that holds its note locked. One per process, as descriptors are."""


# --- what is there ---------------------------------------------------------------------------------------------


def folder_fingerprint(folder: str) -> str:
    """Return a hash over name, kind, size and time of everything in a folder but byte code. It reads no file.

    Raises:
        OSError: a part cannot be looked at.
    """
    digest = hashlib.sha256()
    for path, found in _walk(folder):
        name = os.fsencode(path[len(folder) :])
        target = os.readlink(os.fsencode(path)) if stat.S_ISLNK(found.st_mode) else b""  # noqa: PTH115 - bytes
        about = b"%d %d %d" % (stat.S_IFMT(found.st_mode), found.st_size, found.st_mtime_ns)
        digest.update(b"\0".join((name, target, b"" if stat.S_ISDIR(found.st_mode) else about)) + b"\0\0")
    return digest.hexdigest()


def _walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.name == "__pycache__" or entry.name.endswith(".pyc"):
                continue
            found = entry.stat(follow_symlinks=False)
            yield entry.path, found
            if stat.S_ISDIR(found.st_mode):
                yield from _walk(entry.path)


def recorded_packages(folder: str) -> frozenset[tuple[str, str]]:
    """Return name and version of every distribution that a folder of packages has a record of."""
    found = (_INFO.match(name) for name in os.listdir(folder))  # noqa: PTH208 - names alone
    return frozenset((re.sub(r"[-_.]+", "-", m[1]).lower(), m[2]) for m in found if m)


def kept_bytes(change: ExchangePackages) -> int:
    """Return the bytes that releasing an exchange's kept files would free: of files that nothing else shares."""
    try:
        return sum(s.st_blocks * 512 for _path, s in _walk(change.twin) if stat.S_ISREG(s.st_mode) and s.st_nlink == 1)
    except OSError:
        return 0


def libraries_of(change: ExchangePackages) -> Iterator[str]:
    """Yield the libraries for Windows in an exchange's folder, which programs keep open as long as they run."""
    with suppress(OSError):
        yield from (path for path, _found in _walk(change.folder) if path.lower().endswith((".dll", ".pyd", ".exe")))


# --- what must hold --------------------------------------------------------------------------------------------


def loose_problem(folder: str, prefix: str) -> str:
    """Return in a sentence that others can change an environment's folder of packages; empty if they cannot (on Linux)."""
    if os.name == "nt" or not (loose := ownership.first_loose(folder, frozenset({f"uid:{os.geteuid()}"}))):
        return ""
    return _(
        "Other users can change {loose}, so the packages of {prefix} are left unchanged.", loose=loose, prefix=prefix
    )


def exchange_problems(change: ExchangePackages) -> tuple[str, ...]:
    """Return a sentence for each reason against the exchange; empty if it can be made. Changes nothing."""
    if not change.is_prepared:
        return (_("The packages for {prefix} were not prepared yet.", prefix=change.prefix),)
    if not _is_plain(change):
        return (_("The plan for {path} is inconsistent.", path=change.folder),)
    if problem := loose_problem(change.folder, change.prefix):
        return (problem,)
    try:
        return tuple(row for row in (_place_problem(change), _twin_problem(change)) if row)
    except OSError as e:
        return (error_sentence(e),)


def _is_plain(change: ExchangePackages) -> bool:
    """Whether both folders are in the environment, the twin where twins belong."""
    try:
        for path in (change.prefix, change.folder, change.twin):
            safe_folder.split_path(path)
    except ChangeError:
        return False
    prefix, folder, root = Path(change.prefix), Path(change.folder), twin_root(change.twin)
    inside = folder.is_relative_to(prefix) and folder != prefix
    return inside and root is not None and root.parent == prefix / TWINS


def _place_problem(change: ExchangePackages) -> str:
    if exchange.folder_number(change.folder) != change.old:
        return _("{folder} has been replaced by another folder since it was examined.", folder=change.folder)
    if not os.access(Path(change.folder).parent, os.W_OK):
        return _("This user has no permission to change {path}.", path=change.folder)
    if folder_fingerprint(change.folder) == change.before:
        return ""
    words = _foreign_packages(change)
    if words:
        return _("The packages in {folder} were changed since: {words}.", folder=change.folder, words=words)
    return _("Files in {folder} were changed since.", folder=change.folder)


def _foreign_packages(change: ExchangePackages) -> str:
    """Return in words which distributions were added or removed besides those of the plan."""
    now, then = recorded_packages(change.folder), recorded_packages(change.twin) if Path(change.twin).is_dir() else None
    if then is None:
        return ""
    ours = {(p.name, p.version) for p in (*change.gone, *change.come)}
    came = [_("{name} {version} was installed", name=n, version=v) for n, v in sorted(now - then - ours)]
    went = [_("{name} {version} was removed", name=n, version=v) for n, v in sorted(then - now - ours)]
    return join_names([*came, *went])


def _twin_problem(change: ExchangePackages) -> str:
    if exchange.folder_number(change.twin) != change.new:
        return _("What was kept in {twin} is no longer there.", twin=change.twin)
    if folder_fingerprint(change.twin) != change.after:
        return _("Files in {folder} were changed since.", folder=change.twin)
    return ""


# --- exchanging and undoing ------------------------------------------------------------------------------------


def put_in_place(change: ExchangePackages) -> None:
    """Exchange the two folders.

    Raises:
        ChangeError, OSError: one is another by now, a program holds a file (Windows), or the system refused.
    """
    rows = exchange_problems(change)
    if rows:
        raise ChangeError(rows[0])
    try:
        exchange.bring_folder(change.new, change.folder, change.twin)
    except PermissionError:
        if os.name != "nt":
            raise
        raise ChangeError(
            _(
                "Windows cannot replace {folder} while a program has one of its files open: close the programs that use {prefix}.",
                folder=change.folder,
                prefix=change.prefix,
            )
        ) from None


def restore_packages(change: ExchangePackages) -> tuple[NotRestored, ...]:
    """Restore the previous folder, however far the change was carried out. Can be called repeatedly."""
    try:
        exchange.bring_folder(change.old, change.folder, change.twin)
    except OSError as e:
        return (NotRestored(error_sentence(e), again=True),)
    except ChangeError as e:
        return (NotRestored(str(e)),)
    return ()


# --- twins, noted ----------------------------------------------------------------------------------------------


def new_twin(prefix: str, journal: Journal) -> Path:
    """Make an empty folder for a twin of an environment, and return it. Its note is written first, and locked by this
    process.

    Raises:
        ChangeError, OSError: it cannot be made there.
    """
    token = secrets.token_hex(4)
    root = Path(prefix) / TWINS / token
    notes = _notes(journal)
    journal.prepare()
    safe_folder.make_folders(str(notes), 0o700)
    note = notes / token
    note.write_text(str(root), encoding="utf-8", errors="surrogateescape")
    _held[token] = file_lock.lock_file(note)
    safe_folder.make_folders(str(root), 0o700)
    return root


def twin_root(path: str) -> Path | None:
    """Return the folder of a twin that a path is in; None where it is in none."""
    for place in (Path(path), *Path(path).parents):
        if place.parent.name == TWINS and _TOKEN.fullmatch(place.name):
            return place
    return None


def drop_twin(root: Path, journal: Journal) -> None:
    """Remove a twin of this process that no entry needs."""
    fd = _held.pop(root.name, None)
    if fd is not None:
        os.close(fd)
    with suppress(ChangeError, OSError):
        clear_twins(journal)


def clear_twins(journal: Journal) -> None:
    """Remove every twin that no process uses and no entry needs. Removes none while an entry cannot be read."""
    notes = _notes(journal)
    names = sorted(p.name for p in notes.iterdir() if _TOKEN.fullmatch(p.name)) if notes.is_dir() else []
    entries = journal.entries() if names else ()
    if any(isinstance(e, UnreadableEntry) for e in entries):
        return
    needed = {str(root) for e in entries if isinstance(e, Entry) for root in _needed_roots(e)}
    for name in names:
        fd = file_lock.try_hold(notes / name) if name not in _held else None
        if fd is None:
            continue
        try:
            root = twin_root((notes / name).read_text(encoding="utf-8", errors="surrogateescape"))
            unneeded = root is None or str(root) not in needed
            if unneeded and root is not None and root.name == name:
                _remove(root)
        finally:
            os.close(fd)
        if unneeded:
            (notes / name).unlink()


def _remove(root: Path) -> None:
    """Remove a twin, and the folder of twins with the last one. A failure is tried again at the next start."""
    gone = root.with_name(f"{root.name}.gone")
    if root.is_dir() and not root.is_symlink():
        root.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    if gone.exists():
        raise OSError(None, "", str(gone))
    with suppress(OSError):
        root.parent.rmdir()


def _needed_roots(entry: Entry) -> Iterator[Path]:
    if entry.state in ("undone", "rolled back", "let go"):
        return
    for change in entry.changes:
        if isinstance(change, ExchangePackages) and (root := twin_root(change.twin)):
            yield root


def release_twins(entry: Entry) -> None:
    """Release the locks of an entry's twins: from now on the entry records that they are needed."""
    for root in _needed_roots(entry):
        fd = _held.pop(root.name, None)
        if fd is not None:
            os.close(fd)


def _notes(journal: Journal) -> Path:
    return Path(journal.folder) / "twins"
