"""A cache of what readers found in files, keyed by each file's identity: always within a run, and between runs if there
is a store.

A cached result depends only on the file's bytes. Ownership and permissions are examined each time.
"""

from __future__ import annotations

import os
import stat
import time
from _blake2 import blake2b  # imported late: hashlib loads OpenSSL
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

import msgspec

from core import __version__
from core.common.decoding import ONE_AT_A_TIME
from core.common.fact_text import forms_in, remember_form
from core.common.patience import call_patiently
from core.loader.files import is_whole, path_under_root
from core.model.facts import path_text

Reader = TypeVar("Reader", bound=Callable[..., Any])

MAX_REMEMBERED_FILES = 256
"""Number of files whose results each reader keeps."""

MAX_KEPT_BYTES = 8 << 20
"""Maximum size of the store in bytes: about ten environments with every GPU framework."""

SETTLED_NANOSECONDS = 2_000_000_000
"""Nanoseconds after which a change surely shows in a file's times: FAT's clock has steps of two seconds."""


MISSING = "missing"
"""Replaces an identity if the file is missing or may not be examined."""


Row = tuple[str, msgspec.Raw, list[tuple[str, dict[str, str]]]]
"""A file's identity, the result, and the forms of its sentences."""


class EarlierReads:
    """The results of earlier runs, as one byte string; anything invalid in it is ignored."""

    def __init__(self, data: bytes = b"") -> None:
        self._kept: dict[str, Row] = {}
        self._used: dict[str, Row] = {}
        self._new: dict[str, None] = {}
        self.identities: dict[str, str] = {}
        """Files that this run has examined -> their identities: a scan examines each once."""
        self._checked: set[str] = set()
        """Keys of what a child has just read: nothing of it needs to be looked at again in this run."""
        with suppress(msgspec.DecodeError, ValueError):
            if _mark(data[4:]) == data[:4]:
                stamp, rows = msgspec.msgpack.decode(data[4:], type=tuple[str, dict[str, Row]])
                self._kept = rows if stamp == _other_inputs() else {}

    @property
    def is_empty(self) -> bool:
        """Whether no result is known."""
        return not self._kept

    @property
    def has_news(self) -> bool:
        """Whether a result was added that was not there at the beginning."""
        return bool(self._new)

    def is_checked(self, key: str) -> bool:
        """Whether a child of this run found that the result holds."""
        return key in self._checked

    def news(self) -> bytes:
        """Return the results that were added, for ``take`` in another process."""
        return _packed(msgspec.msgpack.encode({key: self._used[key] for key in self._new}))

    @property
    def used(self) -> tuple[str, ...]:
        """The keys of the results that were asked for."""
        return tuple(self._used)

    def take(self, news: bytes, used: tuple[str, ...] = ()) -> None:
        """Add what a child of this run has read, and note what it ``used`` of the earlier results."""
        rows = msgspec.msgpack.decode(_unpacked(news), type=dict[str, Row])
        self._used |= {key: self._kept[key] for key in used if key in self._kept}
        self._kept |= rows
        self._used |= rows
        self._new |= dict.fromkeys(rows)
        self._checked |= rows.keys()

    def find(self, key: str, identity: str, kind: Any) -> Any:
        """Return the result kept for this identity, as ``kind``; None if there is none."""
        row = self._kept.get(key)
        if row is None or row[0] != identity:
            return None
        with suppress(msgspec.DecodeError):
            with ONE_AT_A_TIME:
                found = msgspec.msgpack.decode(row[1], type=kind)
            self._used[key] = row
            for message, values in row[2]:
                remember_form(message, values)
            return found
        return None

    def keep(self, key: str, identity: str, value: Any) -> None:
        """Keep a result for later runs."""
        self._used[key] = (identity, msgspec.Raw(msgspec.msgpack.encode(value)), list(forms_in(value)))
        self._new[key] = None
        self._kept[key] = self._used[key]

    def to_bytes(self) -> bytes:
        """Return the store's new content: the results used in this run, then the others as far as there is room."""
        rows, room = {}, MAX_KEPT_BYTES - 1024
        for key, row in {**self._used, **{k: r for k, r in self._kept.items() if k not in self._used}}.items():
            room -= 4 * len(key) + len(row[0]) + len(bytes(row[1])) + 16
            if room < 0:
                break
            rows[key] = row
        body = msgspec.msgpack.encode((_other_inputs(), rows))
        return _mark(body) + body


def _mark(body: bytes) -> bytes:
    """Return four bytes that show whether a store is whole."""
    return blake2b(body, digest_size=4).digest()


def _packed(data: bytes) -> bytes:
    """Return bytes in less space; as they are in a Python without zlib, whose library may be what the machine lacks."""
    try:
        from zlib import compress
    except ImportError:
        return b"=" + data
    return b"z" + compress(data, 1)


def _unpacked(data: bytes) -> bytes:
    if data[:1] == b"=":
        return data[1:]
    from zlib import decompress

    return decompress(data[1:])


def short_hash(data: bytes) -> str:
    """Return a short hash of some bytes; not safe against forgery."""
    return blake2b(data, digest_size=16).hexdigest()


def _sources(folders: list[str]) -> Iterator[str]:
    """Yield each source below the folders with its size and time."""
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    seen = entry.stat()
                    yield f"{entry.path} {seen.st_size} {seen.st_mtime_ns}"
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(entry.path)


def _other_inputs() -> str:
    """Return the other inputs of a result: the code of these readers, and the time of the system's start (a crash may lose written pages)."""
    parts = [__version__]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
    with suppress(OSError):
        loader = os.path.dirname(__file__)  # noqa: PTH120 - no object for each of many files
        parts += sorted(_sources([loader, os.path.join(os.path.dirname(loader), "probes")]))  # noqa: PTH118, PTH120 - as above
    return short_hash("\n".join(parts).encode())


_store: list[EarlierReads] = []
"""The store in use, if any.

The readers are plain functions of a file, whose results ``lru_cache`` keeps for the process. Passing a store to each
would add a parameter to a hundred functions.
"""


@contextmanager
def using(store: EarlierReads) -> Iterator[None]:
    """Within the block, let readers reuse the store's results, and add new ones to it."""
    _store.append(store)
    try:
        yield
    finally:
        _store.remove(store)


def store_in_use() -> EarlierReads | None:
    """Return the store in use, if any."""
    return _store[-1] if _store else None


def file_identity(path: str) -> str:
    """Return a key that differs for each content of a file; empty if it is missing, or too young for its times to show
    a change.

    Raises:
        OSError, ValueError: it cannot be examined.
    """
    seen = call_patiently(os.stat, path)
    made = seen.st_mtime_ns
    # a further hard link changes the first of these times alone: uv makes one for each environment
    changed = made if seen.st_nlink > 1 and stat.S_ISREG(seen.st_mode) else seen.st_ctime_ns
    if time.time_ns() - (changed if changed > made else made) < SETTLED_NANOSECONDS:
        return ""
    return f"{seen.st_dev} {seen.st_ino} {seen.st_mode} {seen.st_size} {made} {changed}"


def _identity_in_run(path: str) -> str:
    """Return ``file_identity`` as this run found it first, where there is a store."""
    known = _store[-1].identities if _store else {}
    if not (identity := known.get(path, "")):
        identity = known[path] = file_identity(path)
    return identity


def lasting_identity(path: str, root: str = "/") -> str:
    """Return the identity under which a result may be kept between runs; empty for another system's file, or one without identity."""
    try:
        return file_identity(path_under_root(root, path)) if is_whole(root) else ""
    except (OSError, ValueError):
        return ""


def _is_there(found: object) -> bool:
    return found is not None


def earlier_or_new(
    key: str,
    identity: str,
    kind: Any,
    read: Callable[[], Any],
    lasts: Callable[[Any], bool] = _is_there,
    *,
    holds: Callable[[Any], bool] = _is_there,
) -> Any:
    """Return an earlier run's result if it still ``holds``, else the result of ``read``, which is kept if it ``lasts``."""
    store = _store[-1] if _store and identity else None
    if store is None:
        return read()
    found = store.find(key, identity, kind)
    if found is None or not (store.is_checked(key) or holds(found)):
        found = read()
        if lasts(found):
            store.keep(key, identity, found)
    return found


def cached_by_file(reader: Reader, *, lasts: Callable[[Any], bool] = _is_there) -> Reader:
    """Make a function of a path (and ``root``, by keyword) read each file once, since several probes need the same
    files.

    A file is read again once its identity, size or times differ, and every time while it is too young for these to show
    a change. Between runs, only results for the running system's own files are kept, and only if the result ``lasts``:
    it must depend on nothing but the file's bytes.
    """
    name = f"{reader.__module__}.{reader.__qualname__}"

    kind = cache(
        lambda: get_type_hints(reader)["return"]
    )  # Once, and late: it takes as long as reading a file's headers.

    def look(path: str, root: str, identity: str) -> Any:
        if not _store or not is_whole(root):
            return reader(path, root=root)
        key = f"{name} {path_text(path)}"
        return earlier_or_new(key, identity, kind(), lambda: reader(path, root=root), lasts)

    remembered = lru_cache(maxsize=MAX_REMEMBERED_FILES)(look)

    @wraps(reader)
    def read(path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/") -> Any:
        try:
            identity = _identity_in_run(path_under_root(root, os.fspath(path)))
        except (OSError, ValueError):
            identity = ""
        if not identity:
            return reader(path, root=root)
        return remembered(os.fspath(path), os.fspath(root), identity)

    return cast(Reader, read)
