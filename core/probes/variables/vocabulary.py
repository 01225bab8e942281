"""Vocabularies probe: words in a variable's value, compared with those in the files of the framework that reads it.

A library that accepts options by name contains these names as text, so the installed release itself shows which it
knows. Files are opened only if such a variable is set, in this session or another way of starting.
"""

from __future__ import annotations

import fnmatch
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.plain import json_line, json_value
from core.knowledge.contracts import (
    Contract,
    SettingsFile,
    WordSource,
    asked_words,
    contract_table,
    flags_in_file,
    named_places,
    variable_contracts,
)
from core.knowledge.tables import read_table
from core.loader import read_image
from core.loader.contents import written_words
from core.loader.linux.cache import read_cache
from core.model.facts import PythonEnvironment, Variable, Vocabulary, path_text
from core.model.path_list import searched_entries
from core.probes.driver.libraries import search_folders
from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
from core.probes.python.programs.own_programs import idle_distributions, is_part_idle
from core.probes.python.programs.program_folder import own_programs
from core.probes.python.search.search_path import own_library, read_interpreter
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables.accepted_values import CodeValue, takes_value
from core.probes.variables.code_needs import without_account, without_cache
from core.probes.variables.data_of_others import unfit_data
from core.probes.variables.following.endings import Read, ended_by_variables
from core.probes.variables.left_out import beside_left_out, users_left_out
from core.probes.variables.made_names import made_values
from core.probes.variables.own_caches import closed_caches
from core.probes.variables.places import MOST_FLAGS
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable, may_be_told
from core.probes.variables.reading_code import values_read
from core.probes.variables.reading_modules import MOST_TEXT, matching_files, reading_modules
from core.probes.variables.secrets import refused_secrets
from core.probes.variables.settings_classes import MARK, fields_read
from core.probes.variables.stacks import STACKS, too_large_stacks
from core.probes.variables.without_docstrings import NAME as OPTIMIZE
from core.probes.variables.without_docstrings import without_docstrings

MAX_SECONDS = 2.0
"""Seconds of the processor after which further modules are left out: a busy machine finds what a quiet one does."""
MOST_SETTINGS = 1 << 16
"""Maximum number of bytes read of a settings file."""


def look(request: ProbeRequest) -> tuple[Vocabulary, ...]:
    """Return, for each relevant environment, which words of the variables are known to the packages that read them."""
    from core.probes.variables.launch_answers import (  # imported late: few have such a file
        unfit_answers,
        unknown_answers,
    )
    from core.probes.variables.unreadable_files import unreadable_files

    where = sysroot_of(request.host)
    words = (
        found for contract in variable_contracts() if contract.known for found in _known_words(contract, request, where)
    )
    found = request.apart(
        lambda: words,
        lambda: _by_code(request, where),
        lambda: _of_settings(request, where),
        lambda: unknown_answers(request, where),
        lambda: unfit_answers(request, where),
        lambda: unreadable_files(request, where),
        lambda: without_account(request, where),
        lambda: without_cache(request, where),
        lambda: refused_secrets(request, where),
        lambda: beside_left_out(request, where),
        lambda: users_left_out(request, where),
        lambda: without_docstrings(_values(OPTIMIZE, request), request, where),
        lambda: unfit_data(request, where),
        lambda: too_large_stacks({n: tuple(_values(n, request)) for n in STACKS}, request, where),
    )
    return request.kept(_with_idle_readers(found, request, where))


_PART = late_pattern(r"[/\\](distribut(?:e|ed))[/\\]")
"""A part of a package that only programs of several processes use: they name it, or a package that uses it for them."""


def _with_idle_readers(rows: Iterable[Vocabulary], request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the rows, marked where the programs of the working folder do not use what reads the variable."""
    idle: dict[tuple[str, str], bool] = {}
    for row in rows:
        python = next((p for p in request.seen.pythons or () if p.prefix == row.prefix), None)
        if python is None or not row.reader:
            yield row
            continue
        part = None if row.sure or not row.files else _PART.search(row.files[0])
        named = part[1] if part else row.reader
        if (row.prefix, named) not in idle:
            idle[row.prefix, named] = (
                is_part_idle(part[1], row.reader, python, request, where)
                if part
                else row.reader in idle_distributions(python, request, where, (row.reader,))
            )
        yield replace(row, idle=idle[row.prefix, named])


def _by_code(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the values that a package's own code cannot accept, except for variables with a row of their own."""
    told = {
        c.variable
        for c in variable_contracts()
        if (not c.open or c.known) and c.fails and c.kind != "debugging" and not c.variable.startswith("XDG_")
    }  # of an open one, the installed release knows more; what helps to find errors is told beside what is no value at all; XDG's folders have many readers, and what one reader passes over ends another
    known = read_table("environment", EnvironmentKnowledge)
    given: dict[str, dict[str, None]] = {}
    here = [Variable(name=n, value=v) for n, v in request.env.items()]
    started = [v for s in request.seen.starts or () for v in s.variables]
    listed = (v for v in here if is_relevant_variable(v, known))  # those of ways were chosen as these were read
    for its in (*started, *listed, *(v for v in here if may_be_told(v, known))):
        if its.name.upper() not in told and its.value:
            given.setdefault(its.name.upper(), {})[its.value] = None
    asked = frozenset(n for n in given if not n.startswith(NOT_ASKED))
    seconds = MAX_SECONDS
    for python in request.seen.pythons or () if given else ():
        modules = [*reading_modules(given, python, request, where)]
        begun = time.thread_time()
        told_values: set[tuple[str, str]] = set()
        for reader, path, names in modules:
            request.watch.check()
            if time.thread_time() > begun + seconds:
                break
            for row in _of_module(path, reader, {n: given[n] for n in names}, python, where):
                told_values |= {(row.variable, value) for value in row.unknown}
                yield row
        seconds -= min(seconds, time.thread_time() - begun)
        rows = (Read(reader, path, names) for reader, path, names in modules)
        for row in ended_by_variables(rows, python, request, where, asked):
            if (row.variable, row.unknown[0]) not in told_values:
                yield row
    yield from _by_programs(given, request, where)


def _by_programs(given: Mapping[str, dict[str, None]], request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the values that the person's own programs cannot accept: ``int(os.environ["BATCH_SIZE"])``. One that a program sets itself
    counts as right.
    """
    python = next((p for p in request.seen.pythons or () if p.is_wanted), None)
    for program in own_programs(request, where) if python and given else ():
        its = {
            n: v
            for n, v in given.items()
            if n in program.text
            and not re.search(rf"[\"']{n}[\"'](?:\][ \t]*=(?!=)|[ \t]*:)|override[ \t]*=[ \t]*True", program.text)
        }
        if its and python:
            yield from (replace(row, sure=False) for row in _of_module(program.path, "", its, python, where))


NOT_ASKED = (
    "PATH",
    "HOME",
    "PWD",
    "LANG",
    "LC_",
    "SHELL",
    "USER",
    "LOGNAME",
    "TERM",
    "SSH_",
    "XDG_",
    "DBUS_",
    "LD_",
    "_",
    "SHLVL",
)
"""Starts of variables that are right as they are, or judged elsewhere."""


def _of_module(
    path: str, reader: str, given: dict[str, dict[str, None]], python: PythonEnvironment, where: Sysroot
) -> Iterator[Vocabulary]:
    content = where.read(path, MOST_TEXT) or b""
    spelt = any(name.encode() in content or name.lower().encode() in content for name in given)
    spelt = spelt or any(_is_put_together(name, content) for name in given)
    made = any(b in content for b in (*MAKES_NAMES, MARK)) and any(_last_words(n) in content for n in given)
    text = content.decode("utf-8", "replace") if spelt or made else ""
    for cache in closed_caches(text, given, where) if spelt else ():
        yield Vocabulary(
            variable=cache.variable,
            prefix=python.prefix,
            files=(path_text(path),),
            known=(path_text(cache.obstacle),),
            unknown=(path_text(cache.value),),
            takes="own cache",
            line=cache.line,
            reader=reader,
            sure=False,
        )
    for code in (
        *(values_read(text) if spelt else ()),
        *(made_values(text, lambda module: _module_text(module, python, where)) if made else ()),
        *(fields_read(text) if made and MARK in content else ()),
    ):
        if code.takes == "module" and _is_there(code.words[0], python, where):
            continue
        if wrong := tuple(v for v in given.get(code.variable, ()) if _is_refused(code, v, where)):
            yield Vocabulary(
                variable=code.variable,
                prefix=python.prefix,
                files=(path_text(path),),
                known=code.words,
                unknown=tuple(path_text(v) for v in wrong),
                takes=code.takes,
                line=code.line,
                reader=reader,
                sure=code.at_import,
            )


def _is_put_together(name: str, content: bytes) -> bool:
    """Whether a module has a variable's name in two parts, the first of which is a text of its own: ``"ACCELERATE_DYNAMO_" + "BACKEND"``."""
    parts = name.split("_")
    halves = (("_".join(parts[:n]) + "_", "_".join(parts[n:])) for n in range(1, len(parts)))
    return any(
        re.search(rb"[\"']%b[\"']" % first.encode(), content) is not None
        for first, rest in halves
        if first.encode() in content and rest and rest.encode() in content
    )


MAKES_NAMES = (b"add_argument(", b"@envwrap(")
"""What a module has whose variables' names are made of a prefix and the name of an argument."""


def _last_words(variable: str) -> bytes:
    return variable.partition("_")[2].lower().encode()


def _module_text(module: str, python: PythonEnvironment, where: Sysroot) -> str:
    paths = (p for p in matching_files(f"{module.replace('.', '/')}.py", python, where))
    return next((where.text(p, MOST_TEXT) or "" for p in paths), "")


def _is_there(module: str, python: PythonEnvironment, where: Sysroot) -> bool:
    """Whether a module is in the folders of packages, or is one that every Python has."""
    first = module.partition(".")[0]
    names = [n for site in python.site_packages for n in where.names(site) or ()]
    return first in sys.stdlib_module_names or any(n.partition(".")[0] == first for n in names)


def _is_refused(code: CodeValue, value: str, where: Sysroot) -> bool:
    if code.takes not in ("file", "folder", "path"):
        return not takes_value(code, value)
    text = value.strip()
    if not (code.at_import or code.required) or not where.path_module.isabs(text) or value in code.words:
        return False
    if where.stat(text) is None:
        return True
    return code.takes != "path" and where.is_folder(text) is (code.takes == "file")


def _of_settings(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield the settings in files that frameworks read at import, with whether the framework knows their words."""
    home = request.env.get("HOME") or request.seen.machine.home
    for row in contract_table().settings:
        if row.variable and any(n.upper() == row.variable and v for n, v in request.env.items()):
            continue
        variable, usual = row.folders
        folder = next((v for n, v in request.env.items() if n.upper() == variable and v), "")
        path = where.join(folder or where.join(home or "/", *usual.split("/")), row.file)
        text = where.text(path, MOST_SETTINGS) if where.path_module.isabs(path) else None
        found = json_value(text) if text else None
        given = found.get(row.key) if isinstance(found, dict) else None
        value = given if isinstance(given, str) else f"{given}" if row.number and given is not None else ""
        if text is None or not value or (row.number and isinstance(given, float)):
            continue
        for python in request.seen.pythons or ():
            reader = next((d.name for d in python.distributions if re.fullmatch(row.reader, d.name)), "")
            if reader and (unknown := _unknown_setting(row, value, python, where)) is not None:
                yield Vocabulary(
                    variable=row.key,
                    prefix=python.prefix,
                    files=(),
                    known=tuple(w for w in row.words) or ((value,) if not unknown else ()),
                    unknown=(value,) if unknown else (),
                    takes="words",
                    reader=reader,
                    setting=f"{path_text(path)}:{json_line(text, row.key)}",
                )


def _unknown_setting(row: SettingsFile, value: str, python: PythonEnvironment, where: Sysroot) -> bool | None:
    """Return whether a setting's reader does not know its value; None if its files do not show it."""
    if row.number:
        return True
    if row.words:
        return value not in row.words
    contract = next((c for c in variable_contracts() if c.variable == row.variable and c.known), None)
    if contract is None or contract.known is None:
        return None
    words = asked_words(contract, value)
    if not words:
        return False
    its = _compare(contract.variable, contract.known, words, python, where, env={})
    return None if its is None else bool(its.unknown)


def _known_words(contract: Contract, request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    words = tuple(
        dict.fromkeys(
            w
            for value in _values(contract.variable, request)
            for w in asked_words(contract, _of_file(contract, value, where))
        )
    )
    if contract.known is None or not words:
        return
    for python in request.seen.pythons or ():
        if any(re.fullmatch(contract.readers, d.name) for d in python.distributions):
            request.watch.check()
            if (
                found := _compare(contract.variable, contract.known, words, python, where, env=request.env)
            ) is not None:
                yield found


def _of_file(contract: Contract, value: str, where: Sysroot) -> str:
    """Return the flags in the file that a value names; any other value as it is."""
    if contract.kind != "flags" or contract.flag:
        return value
    for path in named_places(contract, value, where.system):
        place = path if where.path_module.isabs(path) else where.join(working_folder(where), path)
        return " ".join(flags_in_file(where.text(place, MOST_FLAGS) or "")) if where.is_file(place) else value
    return value


def _values(variable: str, request: ProbeRequest) -> Iterator[str]:
    yield from (v for n, v in request.env.items() if n.upper() == variable)
    yield from (v.value for s in request.seen.starts or () for v in s.variables if v.name.upper() == variable)


def _compare(
    variable: str,
    source: WordSource,
    words: tuple[str, ...],
    python: PythonEnvironment,
    where: Sysroot,
    *,
    env: Mapping[str, str],
) -> Vocabulary | None:
    """Return the words in two parts, known and unknown; None if the files do not show it."""
    if source.plugins and _has_plugins(source, python, where):
        return None
    if source.libraries:
        files = tuple(path_text(p) for f in source.files for p in matching_files(f, python, where))
        lacking = {w for w, name in source.libraries if not _has_library(name, python, where, env)} if files else set()
        known = {w for w in words if w.lower() not in lacking}
        complete = bool(files)
    elif any("{word}" in f for f in source.files):
        near = [f for f in source.files if list(_matching(_pattern(f, "*"), python, where, env))]
        files = tuple(path_text(p) for f in near for p in _matching(_pattern(f, "*"), python, where, env))
        known = {w for w in words for f in near if list(_matching(_pattern(f, w), python, where, env))}
        complete = bool(files)
    else:
        found = [p for f in source.files for p in matching_files(f, python, where)]
        told = {p: _words_in_file(p, source, (*words, source.proof), where) for p in found}
        files = tuple(path_text(p) for p in found)
        known = {w for its in told.values() for w in its or ()}
        complete = source.proof in known and None not in told.values()
        known |= {
            w
            for w in words
            for f in source.also
            if list(matching_files(_pattern(f, w.replace(".", "/")), python, where))
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


def _matching(pattern: str, python: PythonEnvironment, where: Sysroot, env: Mapping[str, str]) -> Iterator[str]:
    """Yield what fits a pattern below the packages; "stdlib/": in Python's own library, or where PYTHONPATH puts something beside it."""
    top, _slash, name = pattern.partition("/")
    if top != "stdlib":
        yield from matching_files(pattern, python, where)
    elif interpreter := read_interpreter(python.prefix, python.executable, where):
        named = searched_entries(env.get("PYTHONPATH", ""), where.system, "PYTHONPATH")
        for folder in (own_library(interpreter, env, where), *named, *python.site_packages):
            yield from (where.join(folder, n) for n in where.names(folder) or () if fnmatch.fnmatchcase(n, name))


def _has_library(name: str, python: PythonEnvironment, where: Sysroot, env: Mapping[str, str]) -> bool:
    """Whether a library is in a folder that the loader searches, or in one of the environment."""
    if any(e.name == name for e in read_cache(root=where.root) or ()):
        return True
    beside = [where.parent(where.parent(site)) for site in python.site_packages]  # a wheel puts its libraries there
    folders = [where.join(python.prefix, "lib"), *beside, *(f.path for f in search_folders(env, where))]
    return any(where.exists(where.join(folder, name)) for folder in folders)


def _pattern(file: str, word: str) -> str:
    return file.replace("{word}", word if re.fullmatch(r"[\w.+/-]*|\*", word) else "?" * 99)


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
    """Whether an installed package may add words: it has an entry point of the group, or is in its folder."""
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
