"""Which modules of an environment's packages may read the variables that are set."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping

from core.common.late_pattern import late_pattern
from core.knowledge.contracts import contract_table
from core.knowledge.modules import module_of, module_table
from core.model.facts import PythonEnvironment
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.programs.program_folder import own_programs
from core.probes.python.text.module_text import modules_imported
from core.probes.sysroot import Sysroot
from core.probes.variables.following.own_modules import mentioning_modules

MOST_TEXT = 4 << 20
"""Maximum number of bytes read of a Python module."""
MOST_RECORD = 16 << 20
"""Maximum number of bytes read of a distribution's list of files."""
MOST_IMPORTED = 8
"""Packages whose modules are searched for variables that are not theirs."""
PLACE = late_pattern(r"_(?:HOME|DIR|ROOT|FOLDER|CACHE|PATH)$")
OF_THE_SYSTEM = (
    "XDG", "DBUS", "SSH", "TERM", "VIRTUAL", "CONDA", "LESS", "GNOME", "WINDOWPATH", "PYTHON", "NUMBER", "PROCESSOR", "KMP", "CONVALESCE",
)  # fmt: skip
"""First words of variables that no package reads as its own."""


def reading_modules(
    given: Mapping[str, object], python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield the modules that may read variables, as (distribution, file, variables); those in the table first."""
    wanted: dict[str, tuple[str, set[str]]] = {}
    claimed: set[tuple[str, str]] = set()
    recorded = recorded_names(python, where)
    for source in contract_table().code:
        names = {n for n in given if n.startswith(source.starts)}
        reader = next((n for n in recorded if re.fullmatch(source.readers, n)), "") if names else ""
        for file in source.files if reader else ():
            request.watch.check()
            claimed |= {(n, file.split("/")[0]) for n in names}
            for path in (
                _settings_modules(file[:-1], python, where)
                if file.endswith("/")
                else matching_files(file, python, where)
            ):
                wanted.setdefault(path, (reader, set()))[1].update(names)
    owned: set[str] = set()
    own = dict.fromkeys((module_of(reader), reader) for reader in recorded)
    begins = {n.partition("_")[0] for n in given} - {m.upper() for m, _reader in own} - {*OF_THE_SYSTEM}
    own |= dict.fromkeys((name, owner) for name, owner in _folders(begins, python, where))
    for module, reader in own:
        owned |= {n for n in given if n.startswith(f"{module.upper()}_")}
        names = {n for n in given if n.startswith(f"{module.upper()}_") and (n, module) not in claimed}
        for path in _own_modules(module, names, python, where) if names else ():
            wanted.setdefault(path, (reader, set()))[1].update(names)
    owned |= {n for _reader, names in wanted.values() for n in names}
    for reader, path, name in _named_as_a_folder([n for n in given if n not in owned], python, where):
        wanted.setdefault(path, (reader, set()))[1].add(name)
    for reader, path, name in _of_imported({n for n in given if n not in owned}, python, request, where):
        wanted.setdefault(path, (reader, set()))[1].add(name)
    yield from ((reader, path, frozenset(names)) for path, (reader, names) in wanted.items())


def _of_imported(
    names: set[str], python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> Iterator[tuple[str, str, str]]:
    """Yield the modules of packages that programs of the working folder import and that have another package's, or nobody's, variable in their
    text, as (distribution, file, variable): rembg reads U2NET_HOME.
    """
    asked = {
        n for n in names if "_" in n and (PLACE.search(n) or not n.startswith(tuple(f"{s}_" for s in OF_THE_SYSTEM)))
    }
    programs = own_programs(request, where) if asked else ()
    imported = {m.partition(".")[0].upper() for p in programs for node in p.statements for m in modules_imported(node)}
    owners = dict(_folders(imported, python, where))
    frameworks = {row.module for row in module_table().modules}  # large, and their variables are in the table
    mine = [m for m in owners if m not in frameworks]
    for module in mine[:MOST_IMPORTED]:
        request.watch.check()
        for path in (
            p for site in python.site_packages for p in mentioning_modules(where.join(site, module), asked, where)
        ):
            text = where.text(path, MOST_RECORD) or ""
            yield from ((owners[module], path, n) for n in sorted(asked) if n in text)


def _named_as_a_folder(names: list[str], python: PythonEnvironment, where: Sysroot) -> tuple[tuple[str, str, str], ...]:
    """Return the telling modules of listed packages in folders that are called as variables begin, as (distribution, file, variable):
    AUTOGRAPH_VERBOSITY is read below tensorflow/python/autograph. Records have megabytes, so the answer is kept.
    """
    words = {n: n.partition("_")[0] for n in names if "_" in n.strip("_")}
    words = {n: w.lower() for n, w in words.items() if len(w) > 3 and w not in OF_THE_SYSTEM}
    if not words:
        return ()
    given = sorted(words.items()), python.distributions, python.site_packages
    kind = tuple[tuple[str, str, str], ...]
    return kept_look("folders", given, kind, lambda watched: (tuple(_in_records(words, python, watched)), True), where)


def _in_records(words: Mapping[str, str], python: PythonEnvironment, where: Sysroot) -> Iterator[tuple[str, str, str]]:
    """Yield the modules for variables and the folders that these name."""
    listed = {normalise_name(d.name): d.name for d in python.distributions}
    for site in python.site_packages:
        for info in where.names(site) or ():
            reader = listed.get(normalise_name(info.split("-")[0])) if info.endswith(".dist-info") else None
            record = where.read(where.join(site, info, "RECORD"), MOST_RECORD) if reader else None
            for name, word in words.items() if reader and record else ():
                inside = f"/{word}/".encode()
                if record is None or reader is None or inside not in record:
                    continue
                paths = [line.partition(b",")[0] for line in record.splitlines() if inside in line]
                texts = [p.decode("utf-8", "replace") for p in paths if p.endswith(b".py")]
                for path in [t for t in texts if TELLING.fullmatch(t.rpartition("/")[2][:-3].lower())][:MOST_MODULES]:
                    yield reader, where.join(site, *path.split("/")), name


def _folders(begins: set[str], python: PythonEnvironment, where: Sysroot) -> Iterator[tuple[str, str]]:
    """Yield the packages that are called as variables begin, and not as their distribution: GIT_PYTHON_REFRESH is read by git, of GitPython."""
    for site in python.site_packages:
        names = where.names(site) or ()
        records = [n for n in names if n.endswith(".dist-info")]
        for name in (n for n in names if n.isidentifier() and n.upper() in begins):
            inside = f"{name}/__init__.py,".encode()
            its = (r for r in records if inside in (where.read(where.join(site, r, "RECORD"), MOST_RECORD) or b""))
            if record := next(its, ""):
                yield name, normalise_name(record.split("-")[0])


def recorded_names(python: PythonEnvironment, where: Sysroot) -> tuple[str, ...]:
    """Return the names of all distributions of an environment, the listed ones first."""
    names = [d.name for d in python.distributions]
    for site in python.site_packages:
        names += [normalise_name(n.split("-")[0]) for n in where.names(site) or () if n.endswith(".dist-info")]
    return tuple(dict.fromkeys(names))


TELLING = late_pattern(r"__init__|\w*(?:config|const|env|setting|flag|option|default|knob|import_util|hub|log)\w*")
"""Names of modules in which packages usually read their variables."""
MOST_FOLDERS, MOST_MODULES = 60, 160
"""Maximum number of folders listed and of modules read, for one package."""


def _own_modules(package: str, names: set[str], python: PythonEnvironment, where: Sysroot) -> Iterator[str]:
    """Yield a package's modules that have one of its variables in their text, and those that usually read variables."""
    for site in python.site_packages:
        yield from mentioning_modules(where.join(site, package), names, where)
    yield from _settings_modules(package, python, where)


def _settings_modules(package: str, python: PythonEnvironment, where: Sysroot) -> Iterator[str]:
    """Yield the modules in a package's own folder, and those one level below whose name suggests settings."""
    for site in python.site_packages:
        top = where.join(site, package)
        names = where.names(top) or ()
        modules = [where.join(top, n) for n in names if n.endswith(".py")]
        folders = [n for n in names if "." not in n and not n.startswith("__") and n not in ("tests", "test", "models")]
        for folder in folders[:MOST_FOLDERS]:
            inner = where.names(where.join(top, folder)) or ()
            modules += [
                where.join(top, folder, n) for n in inner if n.endswith(".py") and TELLING.fullmatch(n[:-3].lower())
            ]
        modules.sort(key=lambda p: TELLING.fullmatch(p.rpartition("/")[2][:-3].lower()) is None)
        yield from modules[:MOST_MODULES]


def matching_files(pattern: str, python: PythonEnvironment, where: Sysroot) -> Iterator[str]:
    """Yield an environment's files below site-packages that fit a pattern; only its last part may have wildcards."""
    *folders, name = pattern.split("/")
    for site in python.site_packages:
        folder = where.join(site, *folders)
        if not any(c in name for c in "*?["):
            if where.is_file(path := where.join(folder, name)):
                yield path
            continue
        yield from (where.join(folder, n) for n in where.names(folder) or () if fnmatch.fnmatchcase(n, name))
