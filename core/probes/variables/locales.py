"""The locales that the C library of this machine has, and whether a program asks for the one of its variables.

Sources: setlocale(3), locale(7); the layout of locale-archive in glibc's locale/locarchive.h.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterator, Mapping

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name
from core.probes.sysroot import Sysroot

FOLDER = "/usr/lib/locale"
ELSEWHERE = ("LOCPATH", "LOCALE_ARCHIVE", "GUIX_LOCPATH")
"""Variables that name further places."""
_NAME = late_pattern(r"([a-z]{2,3})_([A-Z]{2})(?:\.([\w-]+))?(?:@\w+)?")
ARCHIVE_MAGIC, ARCHIVE_BYTES = 0xDE020109, 4 << 20
"""The first number of an archive, and bytes read of it: the names stand before the data."""


def lacks_locale(value: str, env: Mapping[str, str], where: Sysroot) -> bool:
    """Whether a C library of this machine has no locale for a language and country; False where that is unknown."""
    asked = _NAME.fullmatch(value)
    if (
        where.system != "linux"
        or asked is None
        or any(env.get(name) for name in ELSEWHERE)
        or where.exists("/nix/store")
    ):
        return False
    names = where.names(FOLDER)
    if not names:
        return False  # musl, which takes any name, or a C library of another place
    known = {n for n in names if n != "locale-archive"}
    if "locale-archive" in names:
        archived = _archived(where.read(f"{FOLDER}/locale-archive", ARCHIVE_BYTES) or b"")
        if archived is None:
            return False
        known |= archived
    return not any(_serves(name, asked) for name in known)


def _serves(name: str, asked: re.Match[str]) -> bool:
    its = re.fullmatch(r"([a-z]{2,3})(?:_([A-Z]{2}))?(?:\.([\w-]+))?(?:@\w+)?", name)
    if its is None or its[1] != asked[1] or (its[2] and its[2] != asked[2]):
        return False
    return not (its[3] and asked[3]) or _plain(its[3]) == _plain(asked[3])


def _plain(codeset: str) -> str:
    """Return a codeset as glibc compares it."""
    return re.sub(r"[^a-z0-9]", "", codeset.lower())


def _archived(data: bytes) -> set[str] | None:
    """Return the names in an archive; None where they cannot be read."""
    if len(data) < 32:
        return None
    magic, _serial, _hash, _used, _size, start, length = struct.unpack_from("=7I", data)
    if magic != ARCHIVE_MAGIC or start + length > len(data):
        return None
    return {n.decode("ascii", "replace") for n in data[start : start + length].split(b"\0") if n}


def asks_for_the_locale(text: str) -> bool:
    """Whether a program calls setlocale() for the locale of its variables, and no handler stands around the call."""
    if "setlocale" not in text:
        return False
    try:
        return any(_is_asking(node) for node in _unguarded(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _unguarded(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is below it, without what stands in a ``try`` or a ``with``, which may suppress an error."""
    yield node
    passed = node.body if isinstance(node, ast.Try | ast.With) else []
    for child in ast.iter_child_nodes(node):
        if not any(child is one for one in passed):
            yield from _unguarded(child)


def _is_asking(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=func, args=[_, ast.Constant(value="")]):
            return last_name(func) == "setlocale"
    return False
