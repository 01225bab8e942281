"""Which entries of a loader's variable can change what is found."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from core.probes.sysroot import Sysroot

HWCAPS = ("glibc-hwcaps", "tls", "haswell", "x86_64", "avx512_1", "i686", "sse2")
"""Folders below an entry in which ld.so looks, too (ld.so(8))."""


def effective_entries(name: str, value: str, where: Sysroot) -> tuple[str, ...]:
    """Return the entries of a loader's variable that can change what is found: a folder without any library cannot."""
    if where.system != "linux":
        return (value,)
    if name != "LD_LIBRARY_PATH":
        return tuple(e for e in re.split(r"[\s:]+", value) if e and ("/" not in e or "$" in e or where.exists(e)))
    entries = re.split(r"[:;]", value) if value else []
    return tuple(e for e in entries if not e.startswith("/") or "$" in e or _has_libraries(e, where))


def asked_entries(entries: Iterable[str], asked: Container[str], where: Sysroot) -> tuple[str, ...]:
    """Return the entries of LD_LIBRARY_PATH with a file of a name that is asked for, with a cuDNN, or with an interpreter's library.

    ``asked``: every name that the libraries of this machine's frameworks and extensions search for.
    """
    return tuple(e for e in entries if not e.startswith("/") or "$" in e or _answers(e, asked, where))


def _answers(folder: str, asked: Container[str], where: Sysroot) -> bool:
    names = where.names(folder)
    return names is None or any(n in asked or n in HWCAPS or n.startswith(("libcudnn", "libpython")) for n in names)


def _has_libraries(folder: str, where: Sysroot) -> bool:
    names = where.names(folder)
    return (names is None and where.exists(folder)) or any(".so" in n or n in HWCAPS for n in names or ())
