"""Compiled regular expressions from one run to the next: compiling them takes a tenth of the time of ``explain``.

What ``re`` makes of an expression depends on its text, its flags and this Python alone. The module ``re`` offers no way to keep it, so
its compiler is replaced within ``kept_patterns``; where that has another form than it is known to have, nothing is kept.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

MOST_PATTERNS = 2000
LONGEST_PATTERN = 20_000
"""Characters of the longest expression that is kept."""
NOT_KEPT = re.LOCALE.value | re.DEBUG.value
"""Flags of what depends on something else, or does something else."""


class Compiled(msgspec.Struct, frozen=True, array_like=True):
    """What ``re`` made of an expression."""

    flags: int
    code: bytes
    groups: int
    names: dict[str, int]


Patterns = dict[str, Compiled]

_in_use: list[Patterns] = []


def patterns_in_use() -> Patterns:
    """Return what this block has compiled or uses; another process's may be added. Without a block it is for nothing."""
    return _in_use[-1] if _in_use else {}


def python_build() -> str:
    """Return what tells this Python from another one whose expressions may be compiled otherwise."""
    return f"{sys.version} {sys.maxunicode} {sys.byteorder} {getattr(_compiler(), 'MAGIC', 0)}"


@contextmanager
def kept_patterns(earlier: Patterns) -> Iterator[Patterns]:
    """Within the block, use what was compiled earlier; yield it, with what is compiled anew."""
    compiler = _compiler()
    known = dict(earlier)
    if compiler is None:
        yield known
        return
    _in_use.append(known)
    usual = compiler.compile

    def compile_pattern(pattern: Any, flags: int = 0) -> Any:
        if type(pattern) not in (str, bytes) or flags & NOT_KEPT or len(pattern) > LONGEST_PATTERN:
            return usual(pattern, flags)
        key = f"{flags} {pattern}" if type(pattern) is str else f"{flags} b{pattern.decode('latin-1')}"
        if key in known:
            with suppress(RuntimeError, ValueError, OverflowError, TypeError):  # no code of an expression
                return _made(compiler, pattern, known[key])
        parsed = compiler._parser.parse(pattern, flags)
        words = array("I", compiler._code(parsed, flags)).tobytes()
        its = parsed.state
        made = Compiled(flags | its.flags, words, its.groups - 1, dict(its.groupdict))
        if len(known) < MOST_PATTERNS:
            with suppress(UnicodeEncodeError):
                key.encode()
                known[key] = made
        return _made(compiler, pattern, made)

    compiler.compile = compile_pattern
    try:
        yield known
    finally:
        compiler.compile = usual
        _in_use.remove(known)


def _made(compiler: Any, pattern: str | bytes, its: Compiled) -> Any:
    code = array("I")
    code.frombytes(its.code)
    numbered: list[str | None] = [None] * (its.groups + 1)
    for name, number in its.names.items():
        numbered[number] = name
    return compiler._sre.compile(pattern, its.flags, code.tolist(), its.groups, its.names, tuple(numbered))


def _compiler() -> Any:
    """Return the part of ``re`` that compiles; None where it is not as it is known to be."""
    found: Any = getattr(re, "_compiler", None)
    if found is None or not all(hasattr(found, name) for name in ("compile", "_code", "_parser", "_sre")):
        return None
    return found if getattr(found._sre, "CODESIZE", 0) == array("I").itemsize else None
