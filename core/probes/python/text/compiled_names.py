"""Whether a compiled module surely lacks a name: no byte of it, nor of the libraries beside it that talk to Python, spells it.

A module's names are texts in its file: string constants in C and Rust, Cython's tables, and the method tables of f2py and pybind11.
"""

from __future__ import annotations

import fnmatch
from typing import NamedTuple

from core.common.late_pattern import late_pattern
from core.loader.read_image import read_image
from core.probes.sysroot import Sysroot

MAX_BYTES = 96 << 20

_SYSTEMS = late_pattern(
    r"(lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+|gomp|python3[\d.]*)|ld-linux-[\w-]+)(-[0-9a-f]{8})?\.so(\.[\w.]+)?"
    r"|(?i:python3\d*|msvcp140\w*|vcruntime140\w*|concrt140|vcomp140|ucrtbase|msvcrt|api-ms-win-[\w-]+|ntdll|kernel32|advapi32|user32|gdi32"
    r"|shell32|shlwapi|ole32|oleaut32|rpcrt4|ws2_32|bcrypt\w*|crypt32|secur32|userenv|psapi|dbghelp|version|winmm|iphlpapi|setupapi)\.dll"
)
"""Libraries that put no name into a module."""

_OPEN = (b"PyRun_String", b"PyEval_EvalCode")
"""What a module may make names with that it does not spell."""

_GETATTR, _QUALIFIED, _OF_CYTHON = b"__getattr__\0", b".__getattr__\0", b"View.MemoryView.array"
"""A function that serves names that are spelt nowhere. Cython gives one to the arrays of its memory views, too, and each has its full
name for tracebacks.
"""

_PACKED = (b"\0zlib\0", b"\0decompress\0")
"""What Cython unpacks a table of strings with, where it was told to pack it."""


class Compiled(NamedTuple):
    """The bytes of a compiled file, and how a word ends in them."""

    data: bytes
    ends_anywhere: bool
    """A word of C ends with a zero; Rust keeps its words one behind the other, as later releases of Cython do."""

    def spells(self, name: bytes) -> bool:
        """Whether the code may name a word: what stands within a mangled symbol is C++'s own."""
        data, word = self.data, name if self.ends_anywhere else name + b"\0"
        at = data.find(word)
        while at >= 0:
            begin = at
            while begin and _is_word(data[begin - 1 : begin]):
                begin -= 1
            if not (data.startswith(b"_Z", begin) or data[begin:at].endswith(b"%d" % len(name))):
                return True
            at = data.find(word, at + 1)
        return False


def read_compiled(data: bytes) -> Compiled:
    """Return the bytes of a compiled file with how a word ends in them."""
    return Compiled(data, b"pyo3" in data or (b"__pyx_" in data and b"\0__test__\0" not in data))


def _is_word(character: bytes) -> bool:
    return character.isalnum() or character in (b"_", b"$")


class CompiledModules:
    """The extension modules of one environment; those that were asked about last are kept, since one is asked for many names."""

    def __init__(self, where: Sysroot) -> None:
        self._where = where
        self._kept: dict[str, tuple[Compiled, ...] | None] = {}

    def lacks(self, path: str, name: str) -> bool:
        """Whether an extension module surely has no such name."""
        if path not in self._kept:
            kept = sum(len(c.data) for its in self._kept.values() for c in its or ())
            if kept > MAX_BYTES:
                self._kept.clear()
            self._kept[path] = _spelling(path, self._where)
        its = self._kept[path]
        return its is not None and not any(one.spells(name.encode()) for one in its)


def _spelling(path: str, where: Sysroot) -> tuple[Compiled, ...] | None:
    """Return what spells the names of an extension module: its file, and libraries beside it; None where it may have others."""
    own = where.read(path, MAX_BYTES) or b""
    if (
        b"PyModule" not in own
        or len(own) >= MAX_BYTES
        or any(w in own for w in _OPEN)
        or _serves_names(own)
        or all(w in own for w in _PACKED)
    ):
        return None
    found = [read_compiled(own)]
    for library in read_image(path, root=where.root).needed:
        if _SYSTEMS.fullmatch(library):
            continue
        its = _beside(path, library, where)
        talks = where.contains(its, b"PyObject_", MAX_BYTES) if its else None
        data = where.read(its, MAX_BYTES) if talks else b""
        if talks is None or data is None:
            return None
        found += [read_compiled(data)] if talks else []
    return tuple(found)


def _serves_names(data: bytes) -> bool:
    """Whether a module has a ``__getattr__`` other than that of Cython's arrays."""
    if _GETATTR not in data:
        return False
    return data.count(_QUALIFIED) != data.count(_OF_CYTHON + _QUALIFIED) or _QUALIFIED not in data


def _beside(path: str, library: str, where: Sysroot) -> str:
    """Return the file of a library in a module's own folder, or in the one that a wheel's repair made; empty for none."""
    folder = where.parent(path)
    for _up in range(4):
        inner = [n for n in where.names(folder) or () if fnmatch.fnmatch(n, "*.libs")]
        for place in (folder, *(where.join(folder, n) for n in inner)):
            if where.is_file(found := where.join(place, library)):
                return found
        folder = where.parent(folder)
    return ""
