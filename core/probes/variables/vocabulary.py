"""Vocabularies probe: words of a variable's values, compared with those in the files of the framework that reads it.

A library that accepts options by name contains these names as text, so the installed release itself shows which it
knows. No file is opened unless such a variable is set, here or in another way of starting.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from core.knowledge.contracts import Contract, WordSource, asked_words, code_sources, contracts
from core.loader import read_image
from core.loader.contents import written_words
from core.model.facts import PythonEnvironment, Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables.reading_code import takes_value, values_read

MOST_TEXT = 4 << 20
"""Bytes that are read of a Python module."""


def look(request: ProbeRequest) -> tuple[Vocabulary, ...]:
    """Return, for each relevant environment, which words of the variables its readers know."""
    where = sysroot_of(request.host)
    words = (found for contract in contracts() if contract.known for found in _of(contract, request, where))
    return (*words, *_by_code(request, where))


def _by_code(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the values that a framework's own code cannot convert, except for variables with a row of their own."""
    told = {c.variable for c in contracts()}
    given: dict[str, dict[str, None]] = {}
    for env in (request.env.items(), *(((v.name, v.value) for v in s.variables) for s in request.seen.starts or ())):
        for name, value in env:
            if name.upper() not in told and value:
                given.setdefault(name.upper(), {})[value] = None
    for source in code_sources():
        names = {n for n in given if n.startswith(source.starts)}
        for python in request.seen.pythons or () if names else ():
            reader = next((d.name for d in python.distributions if re.fullmatch(source.readers, d.name)), "")
            for file in source.files if reader else ():
                request.watch.check()
                for path in _matching(file, python, where):
                    yield from _of_module(path, reader, {n: given[n] for n in names}, python, where)


def _of_module(
    path: str, reader: str, given: dict[str, dict[str, None]], python: PythonEnvironment, where: Sysroot
) -> Iterator[Vocabulary]:
    text = where.text(path, MOST_TEXT) or ""
    if not any(name in text or name.lower() in text for name in given):
        return
    for code in values_read(text):
        if wrong := tuple(v for v in given.get(code.variable, ()) if not takes_value(code, v)):
            yield Vocabulary(
                variable=code.variable,
                prefix=python.prefix,
                files=(path_text(path),),
                known=code.words,
                unknown=tuple(path_text(v) for v in wrong),
                takes=code.takes,
                line=code.line,
                reader=reader,
            )


def _of(contract: Contract, request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    words = tuple(
        dict.fromkeys(w for value in _values(contract.variable, request) for w in asked_words(contract, value))
    )
    if contract.known is None or not words:
        return
    for python in request.seen.pythons or ():
        if any(re.fullmatch(contract.readers, d.name) for d in python.distributions):
            request.watch.check()
            if (found := _compare(contract.variable, contract.known, words, python, where)) is not None:
                yield found


def _values(variable: str, request: ProbeRequest) -> Iterator[str]:
    yield from (v for n, v in request.env.items() if n.upper() == variable)
    yield from (v.value for s in request.seen.starts or () for v in s.variables if v.name.upper() == variable)


def _compare(
    variable: str, source: WordSource, words: tuple[str, ...], python: PythonEnvironment, where: Sysroot
) -> Vocabulary | None:
    """Return the words in two parts, known and unknown; None if the files do not show it."""
    if source.plugins and _has_plugins(source, python, where):
        return None
    if any("{word}" in f for f in source.files):
        near = [f for f in source.files if list(_matching(_pattern(f, "*"), python, where))]
        files = tuple(path_text(p) for f in near for p in _matching(_pattern(f, "*"), python, where))
        known = {w for w in words for f in near if list(_matching(_pattern(f, w), python, where))}
        complete = bool(files)
    else:
        found = [p for f in source.files for p in _matching(f, python, where)]
        told = {p: _words_in_file(p, source, (*words, source.proof), where) for p in found}
        files = tuple(path_text(p) for p in found)
        known = {w for its in told.values() for w in its or ()}
        complete = source.proof in known and None not in told.values()
        known |= {
            w for w in words for f in source.also if list(_matching(_pattern(f, w.replace(".", "/")), python, where))
        }
    if not complete:
        return None
    return Vocabulary(
        variable=variable,
        prefix=python.prefix,
        files=files,
        known=tuple(w for w in words if w in known),
        unknown=tuple(w for w in words if w not in known),
    )


def _pattern(file: str, word: str) -> str:
    return file.replace("{word}", word if re.fullmatch(r"[\w.+/-]*|\*", word) else "?" * 99)


def _matching(pattern: str, python: PythonEnvironment, where: Sysroot) -> Iterator[str]:
    *folders, name = pattern.split("/")
    for site in python.site_packages:
        folder = where.join(site, *folders)
        if not any(c in name for c in "*?["):
            if where.is_file(path := where.join(folder, name)):
                yield path
            continue
        yield from (where.join(folder, n) for n in where.names(folder) or () if fnmatch.fnmatchcase(n, name))


def _words_in_file(path: str, source: WordSource, words: tuple[str, ...], where: Sysroot) -> frozenset[str] | None:
    """Return which of the words occur in a file; None if it cannot be read completely."""
    forms = {source.written.format(word=w): w for w in words}
    if path.endswith(".py"):
        text = where.text(path, MOST_TEXT)
        return None if text is None else frozenset(w for form, w in forms.items() if form in text)
    if read_image.read_image(path, root=where.root).state != "good":
        return None
    found = written_words(path, tuple(forms), root=where.root)
    return None if found is None else frozenset(forms[f] for f in found)


def _has_plugins(source: WordSource, python: PythonEnvironment, where: Sysroot) -> bool:
    """Whether some package may add words of its own: it has an entry point of the group, or is in its folder."""
    for site in python.site_packages:
        for name in where.names(site) or ():
            if not name.endswith(".dist-info") or re.fullmatch(source.known_plugins, name.split("-")[0].lower()):
                continue
            if f"[{source.plugins}]" in (where.text(where.join(site, name, "entry_points.txt")) or ""):
                return True
        inside = where.names(where.join(site, source.plugins)) or ()
        if any(not re.fullmatch(rf"{source.known_plugins}|__\w+__(\.py)?", n) for n in inside):
            return True
    return False
