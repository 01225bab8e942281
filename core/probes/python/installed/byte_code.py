"""Byte code that Python takes in the place of a source, or without one, and that is cut off, of another text or for another Python.

Python takes a .pyc whose stamp agrees with its source (or that says it need not be compared) and reads no source; an error in it ends
the import. Only headers and last bytes are read; one that does not end as byte code does is walked through. Nothing is unmarshalled.

Sources: Lib/importlib/_bootstrap_external.py of CPython 3.8 to 3.13 (SourceLoader.get_code, SourcelessFileLoader.get_code, _classify_pyc),
PEP 552, and Python/marshal.c (w_object, w_complex_object).
"""

from __future__ import annotations

import _imp
import os
from collections.abc import Iterator, Mapping
from functools import partial

from core.common.patience import call_patiently
from core.knowledge.modules import module_table
from core.model.facts import Distribution, PythonEnvironment
from core.model.facts.imports import ByteCode
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import STRIPPED_PATHS
from core.probes.python.search.search_path import Interpreter
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

HEADER_BYTES, LAST_BYTES, MOST_BYTES = 16, 64 << 10, 16 << 20
"""A header's length, what is read of each file at once, and what is walked through at most."""

NAME_OF_A_MODULE = b"\x08<module>"
"""The name of a module's code, behind all that the module contains (marshal's short text: its length, then itself)."""

CACHE = "__pycache__"
MOST_TOLD = 200


def unfit_byte_code(
    python: PythonEnvironment, interpreter: Interpreter, request: ProbeRequest, where: Sysroot
) -> tuple[ByteCode, ...]:
    """Return the byte code of an environment's frameworks, and of what these require, that Python takes and that ends an import.

    None with PYTHONPYCACHEPREFIX, which keeps byte code elsewhere, or for a Python whose form of byte code is not known.
    """
    magic = magic_of(interpreter.version)
    if not magic or request.env.get("PYTHONPYCACHEPREFIX"):
        return ()
    given = (interpreter.version, tuple((d.name, d.version, d.location) for d in python.distributions))
    known = request.shared.setdefault("identities", {})
    look = partial(_unfit_byte_code, python.distributions, interpreter.version, magic)
    return kept_look("byte code", given, tuple[ByteCode, ...], look, where, known=known)


def magic_of(version: tuple[int, int]) -> bytes:
    """Return the first bytes of the byte code that a Python takes; empty where that is not known."""
    spelt = f"{version[0]}.{version[1]}"
    number = next((row.magic for row in module_table().byte_code if row.python == spelt), 0)
    return number.to_bytes(2, "little") + b"\r\n" if number else b""


def _unfit_byte_code(
    distributions: tuple[Distribution, ...], version: tuple[int, int], magic: bytes, where: Sysroot
) -> tuple[tuple[ByteCode, ...], bool]:
    """Return what was found; it lasts until a folder changes, as what is known of modules does."""
    found: list[ByteCode] = []
    for folder in dict.fromkeys(f for d in distributions for f in _folders(d, where)):
        found += _of_folder(folder, version, magic, where)
        if len(found) > MOST_TOLD:
            break
    for one in found:
        where.stat(one.path)
        where.stat(one.source or one.path)
    return tuple(found), True


def _folders(what: Distribution, where: Sysroot) -> Iterator[str]:
    """Yield the folders in which a distribution has modules."""
    if what.name.startswith("nvidia-"):
        return
    rows = {row.rpartition("/")[0] for row in _modules(read_record(what, where))}
    yield from (where.join(what.location, *r.split("/")) if r else what.location for r in sorted(rows))


def _modules(record: str) -> Iterator[str]:
    for line in record.split("\n"):
        path, comma, _rest = line.partition(",")
        inner = path.endswith((".py", ".pyc")) and not path.startswith(("..", "/", '"'))
        if comma and inner and CACHE not in path and not STRIPPED_PATHS.search(path):
            yield path


def _of_folder(folder: str, version: tuple[int, int], magic: bytes, where: Sysroot) -> Iterator[ByteCode]:
    """Yield the byte code of the modules in one folder that ends an import, and the one without a source."""
    names = where.names(folder) or ()
    sources = {n.removesuffix(".py") for n in names if n.endswith(".py")}
    for name in names:
        stem = name.removesuffix(".pyc")
        if stem in sources or stem == name:
            continue
        if alone := _sourceless(where.join(folder, name), version, magic, where):
            yield alone
    tag = f".cpython-{version[0]}{version[1]}.pyc"
    cache = where.join(folder, CACHE)
    for name in where.names(cache) or () if CACHE in names else ():
        stem = name.removesuffix(tag)
        if stem != name and stem in sources:
            path = where.join(cache, name)
            if found := _cached(path, where.join(folder, f"{stem}.py"), version, magic, where):
                yield found


def _cached(path: str, source: str, version: tuple[int, int], magic: bytes, where: Sysroot) -> ByteCode | None:
    """Return byte code in a cache that Python takes, and that is cut off or of another text; None for any other."""
    first, last = _read(path, where) or (b"", b"")
    if first[:4] != magic or len(first) < HEADER_BYTES:
        return None  # Python compiles it again
    flags = int.from_bytes(first[4:8], "little")
    if flags == 0:
        if ends_as_a_module(last, version) or not _is_stamped(first, source, where) or _is_whole(path, version, where):
            return None
        return ByteCode(path=path, source=source, state="cut")
    if flags != 1:
        return None  # compared with the source's hash, or none of Python's
    if not ends_as_a_module(last, version) and not _is_whole(path, version, where):
        return ByteCode(path=path, source=source, state="cut")
    text = _plain(where).read(source, MOST_BYTES)
    if text is None or _imp.source_hash(int.from_bytes(magic, "little"), text) == first[8:16]:
        return None
    return ByteCode(path=path, source=source, state="other text")


def _is_stamped(first: bytes, source: str, where: Sysroot) -> bool:
    """Whether a header has the time and size of a source, as Python compares them."""
    seen = _plain(where).stat(source)
    if seen is None:
        return False
    stamp = (int(seen.st_mtime) & 0xFFFFFFFF).to_bytes(4, "little") + (seen.st_size & 0xFFFFFFFF).to_bytes(4, "little")
    return first[8:16] == stamp


def _sourceless(path: str, version: tuple[int, int], magic: bytes, where: Sysroot) -> ByteCode | None:
    """Return byte code that has no source and that Python does not import; None for any other."""
    read = _read(path, where)
    if read is None:
        return None
    first, last = read
    if first[:4] != magic and first:
        return ByteCode(path=path, state="other Python")
    if len(first) >= HEADER_BYTES and (ends_as_a_module(last, version) or _is_whole(path, version, where)):
        return None
    return ByteCode(path=path, state="cut")


def _read(path: str, where: Sysroot) -> tuple[bytes, bytes] | None:
    """Return a file's header and its last bytes; None for one that cannot be read."""
    try:
        return call_patiently(_both_ends, _plain(where).local_path(path))
    except (OSError, ValueError):
        return None


def _both_ends(path: str) -> tuple[bytes, bytes]:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    opened = os.open(path, flags)
    try:
        data = os.read(opened, LAST_BYTES)
        if len(data) < LAST_BYTES:
            return data[:HEADER_BYTES], data[HEADER_BYTES:]
        seen = os.fstat(opened)
        os.lseek(opened, max(HEADER_BYTES, seen.st_size - LAST_BYTES), os.SEEK_SET)
        return data[:HEADER_BYTES], os.read(opened, LAST_BYTES)
    finally:
        os.close(opened)


def _plain(where: Sysroot) -> Sysroot:
    """Return the same machine, without a note of each file: folders tell of a change."""
    return Sysroot(system=where.system, root=where.root, planned=where.planned, gone=where.gone)


# --- the form of byte code --------------------------------------------------------------------------------------------


def ends_as_a_module(last: bytes, version: tuple[int, int]) -> bool:
    """Whether the last bytes of a file are those of a module's code: its name, its line, its table of lines, its exceptions."""
    at = last.rfind(NAME_OF_A_MODULE)
    while at >= 0:
        end = at + len(NAME_OF_A_MODULE)
        if version >= (3, 11):
            end = _behind(last, end)  # its qualified name
        end += 4 if end >= 0 else 0
        for _table in range(2 if version >= (3, 11) else 1):
            end = _behind(last, end) if end >= 0 else -1
        if end == len(last):
            return True
        at = last.rfind(NAME_OF_A_MODULE, 0, at)
    return False


def _behind(data: bytes, at: int) -> int:
    """Return where a text, a row of bytes or a reference ends; -1 for anything else."""
    if not 0 <= at < len(data):
        return -1
    kind = data[at] & 0x7F
    if kind == ord("r"):
        return at + 5
    if kind in b"zZ":
        return at + 2 + data[at + 1] if at + 1 < len(data) else -1
    if kind in b"suatA":
        return at + 5 + int.from_bytes(data[at + 1 : at + 5], "little")
    return -1


_SIZES: Mapping[int, int] = dict(zip(b"0NFTS.igIry", (0, 0, 0, 0, 0, 0, 4, 8, 8, 4, 16), strict=True))
"""Bytes behind the letter of each kind that always has as many."""


def _is_whole(path: str, version: tuple[int, int], where: Sysroot) -> bool:
    """Whether a file contains all of a module's code; one of unusual form or size counts as whole."""
    data = _plain(where).read(path, MOST_BYTES) or b""
    return len(data) in (0, MOST_BYTES) or is_whole(data[HEADER_BYTES:], version)


def is_whole(data: bytes, version: tuple[int, int]) -> bool:
    """Whether marshalled data do not end before their last object does; a letter that is not known counts as damage."""
    at, todo = 0, [1]
    while todo:
        if todo[-1] == 0:
            todo.pop()
        elif todo[-1] < 0:  # numbers behind a code's objects
            at -= todo.pop()
        else:
            todo[-1] -= 1
            at, inside = _object(data, at, version)
            if not 0 <= at <= len(data):
                return False
            todo += inside
    return at <= len(data)


def _object(data: bytes, at: int, version: tuple[int, int]) -> tuple[int, tuple[int, ...]]:
    """Return where an object's own bytes end, and how many objects are inside it, the first at the end; -1 for damage."""
    if at >= len(data):
        return -1, ()
    kind, inner = data[at] & 0x7F, at + 1
    number = int.from_bytes(data[inner : inner + 4], "little", signed=True)
    if kind in _SIZES:
        return inner + _SIZES[kind], ()
    if kind == ord("l"):
        return inner + 4 + 2 * abs(number), ()
    if kind == ord(")"):
        return inner + 1, tuple(data[inner : inner + 1])
    if kind in b"([<>":
        return (inner + 4, (number,)) if number >= 0 else (-1, ())
    if kind == ord("c"):
        return (inner + 20, (2, -4, 8)) if version >= (3, 11) else (inner + 24, (1, -4, 8))
    return _behind(data, at), ()
