"""Every regular expression of the program ends in linear time, whatever text a file, a log or a report holds.

A match holds the interpreter's lock until it ends, so that no limit of time reaches it: a pattern that looks at 250,000 blanks
in quadratic time stops the window for minutes. Each pattern is tried on texts of 60,000 characters; a linear one needs some
milliseconds of processor time, a quadratic one some seconds.
"""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split", "subn")
LENGTH = 60_000
MOST_SECONDS = 1.0

SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for folder in ("core", "gui")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def _methods_by_name(source: str) -> dict[str, set[str]]:
    """Return the methods that a text calls on each name: one search for all names, since there are a thousand."""
    found: dict[str, set[str]] = {}
    for name, method in re.findall(rf"(\w+)\.({'|'.join(METHODS)})\b", source):
        found.setdefault(name, set()).add(method)
    return found


ALL = _methods_by_name("\n".join(SOURCES.values()))
ANY = frozenset(method for methods in ALL.values() for method in methods)


def _literal(node: ast.expr) -> str | bytes | None:
    """Return a pattern as it is written; a name stands for each value that is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return None


def _uses(source: str) -> Iterator[tuple[int, str | bytes, set[str]]]:
    """Yield line, pattern and the methods by which it is used."""
    tree, own = ast.parse(source), _methods_by_name(source)
    names = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    at_once = {
        id(node.func.value): node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re":
            how = function.attr
        elif isinstance(function, ast.Name) and function.id == "late_pattern":
            how = "compile"
        else:
            continue
        pattern = _literal(node.args[0])
        if pattern is None:
            continue
        if how in METHODS:
            yield node.lineno, pattern, {how}
        elif id(node) in at_once:
            yield node.lineno, pattern, {at_once[id(node)]}
        elif how == "compile":
            name = names.get(id(node), "")
            used = (own if name.startswith("_") else ALL).get(name, set()) if name else set(ANY)
            yield node.lineno, pattern, used or {"fullmatch"}


PATTERNS = [
    pytest.param(pattern, frozenset(methods), id=f"{path}:{line}")
    for path, source in SOURCES.items()
    for line, pattern, methods in _uses(source)
]


def _texts(pattern: str) -> Iterator[str]:
    """Yield texts that make a pattern try again and again: one character, words of its own, pairs."""
    for character in " \n\ta1./-\"'=([:,_x\\@%${":
        yield character * LENGTH
    for character in " a1./":
        yield character * LENGTH + "\n!"
    for word in re.findall(r"[A-Za-z]{3,}", pattern)[:6]:
        yield (word + " ") * (LENGTH // (len(word) + 1))
        yield word + " " * LENGTH + "!"
        yield word * (LENGTH // len(word))
        yield word + "=" + "a " * (LENGTH // 2) + "\0"
    for pair in ("a b ", "a=b ", "\n ", "a\n", "1.2 ", '"a" '):
        yield pair * (LENGTH // len(pair))


class _SlowError(Exception):
    pass


def _give_up(_number: int, _frame: object) -> None:
    raise _SlowError


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the timer of processor time is POSIX'")
@pytest.mark.parametrize(("pattern", "methods"), PATTERNS)
def test_a_pattern_takes_linear_time(pattern: str | bytes, methods: frozenset[str]) -> None:
    compiled = re.compile(pattern)
    spelt = pattern if isinstance(pattern, str) else pattern.decode("latin-1")
    before = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        for text in _texts(spelt):
            subject = text if isinstance(pattern, str) else text.encode()
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
            try:
                for method in methods:
                    if method in ("search", "match", "fullmatch"):
                        getattr(compiled, method)(subject)
                    else:
                        sum(1 for _ in compiled.finditer(subject))
            except _SlowError:
                pytest.fail(f"{sorted(methods)} of {pattern!r} is slow on {text[:12]!r}...{text[-3:]!r}")
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)
