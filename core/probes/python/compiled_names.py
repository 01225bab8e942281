"""Whether a compiled module surely lacks a name: no byte of it, nor of the libraries beside it that talk to Python, spells it.

A module's names are texts in its file: string constants in C and Rust, Cython's tables, and the method tables of f2py and pybind11.
"""

from __future__ import annotations

import fnmatch

from core.common.late_pattern import late_pattern
from core.loader.read_image import read_image
from core.probes.sysroot import Sysroot

MAX_BYTES = 96 << 20

_SYSTEMS = late_pattern(
    r"(lib(c|m|dl|rt|pthread|util|gcc_s|stdc\+\+|gomp|python3[\d.]*)|ld-linux-[\w-]+)(-[0-9a-f]{8})?\.so(\.[\w.]+)?"
)
"""Libraries that put no name into a module."""

_OPEN = (b"__getattr__\0", b"PyRun_String", b"PyEval_EvalCode")
"""What a module may make names with that it does not spell."""

_PACKED = (b"\0zlib\0", b"\0decompress\0")
"""What Cython unpacks a table of strings with, where it was told to pack it."""


def spells(data: bytes, name: bytes) -> bool:
    """Whether compiled code may name a word: what stands within a mangled symbol is C++'s own.

    A word of C ends with a zero; Rust keeps its words one behind the other, as later releases of Cython do.
    """
    ends_anywhere = b"pyo3" in data or (b"__pyx_" in data and b"\0__test__\0" not in data)
    at = data.find(name)
    while at >= 0:
        begin, end = at, data[at + len(name) : at + len(name) + 1]
        while begin and _is_word(data[begin - 1 : begin]):
            begin -= 1
        mangled = data.startswith(b"_Z", begin) or data[begin:at].endswith(b"%d" % len(name))
        if not mangled and (ends_anywhere or end == b"\0"):
            return True
        at = data.find(name, at + 1)
    return False


def _is_word(character: bytes) -> bool:
    return character.isalnum() or character in (b"_", b"$")


def compiled_lacks(path: str, name: str, where: Sysroot) -> bool:
    """Whether an extension module surely has no such name."""
    own = where.read(path, MAX_BYTES) or b""
    image = read_image(path, root=where.root)
    if (
        b"PyModule" not in own
        or len(own) >= MAX_BYTES
        or any(w in own for w in _OPEN)
        or all(w in own for w in _PACKED)
    ):
        return False
    if spells(own, name.encode()):
        return False
    for library in image.needed:
        if _SYSTEMS.fullmatch(library):
            continue
        its = _beside(path, library, where)
        data = where.read(its, MAX_BYTES) if its else None
        if data is None or len(data) >= MAX_BYTES or (b"PyObject_" in data and spells(data, name.encode())):
            return False
    return True


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
