"""A person's own modules that hide installed packages: which these are, and which of the person's programs miss a name because of them.

Looked at only where a folder before the packages has a name that the packages have as well.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of
from core.knowledge.modules import module_of, module_table
from core.model.facts import Distribution, EndedImport, FoundModule
from core.model.facts.imports import BEFORE_THE_PACKAGES
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.following.follower import Follower
from core.probes.python.installed.distributions import BESIDES, all_requirements, required_name
from core.probes.python.installed.gone_files import STRIPPED_PATHS
from core.probes.python.programs.own_paths import in_entries_of, searches_of_programs
from core.probes.python.programs.program_folder import PROGRAM_BYTES, Program, programs_in
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.bound_names import stored_names
from core.probes.python.text.evaluation import attribute_chains
from core.probes.python.text.module_text import EXTENDS_PATH, MAKES_MODULES, imports_of
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

OWN_BYTES = 4 << 20
"""Bytes that are read of what programs import."""

MOST_PARTS, PART_BYTES = 200, 32 << 10
"""Modules of a package that are searched for imports of parts of another, and how far each is read."""


def shadowed_packages(
    search: ModuleSearch, where: Sysroot, told: frozenset[str] = frozenset()
) -> tuple[FoundModule, ...]:
    """Return the person's modules that hide a package which nothing else requires: it was installed for the person's own programs.
    And those in the place of a package of which an installed one imports parts: a file has no parts.

    Not told: a copy of the same package, another installation, and what a program beside it imports, for that is followed. Of
    all else that installed packages require, their own imports tell; ``told``: the files that these end at.
    """
    return tuple(_shadowed_packages(search, where, told))


def _shadowed_packages(search: ModuleSearch, where: Sysroot, told: frozenset[str]) -> Iterator[FoundModule]:
    known = {row.module for row in module_table().modules}
    required: dict[str, frozenset[str]] = {}
    programs: list[Program] | None = None
    for found in _hiding(search, where):
        alike = search.is_alike(found.path, found.hidden[0])
        if found.name in known or (alike and not _lacks_libraries(found, where)):
            continue
        folder = entry_of(search, found.hidden[0])
        owner = owner_of_module(found.name, folder, where)
        if owner is None:
            continue
        its = msgspec.structs.replace(search.with_surroundings(found), hidden_owner=f"{owner.name} {owner.version}")
        if where.is_folder(found.hidden[0]):
            if _lacks_portions(search, found, owner, where):
                yield its
            continue
        if alike:
            if any(imports_of(found.name).search(p.text) for p in _programs(search, where, _early(search))):
                yield its
            continue
        if _asks_for_itself(found, where):
            yield its
            continue
        if folder not in required:
            every = all_requirements(folder, where)
            required[folder] = frozenset(required_name(w) for d in every for w in (*d.pins, *d.requires))
        if owner.name in required[folder] and (
            found.path in told or not _lacks_parts(found, owner.name, folder, where)
        ):
            continue
        if programs is None:
            programs = _programs(search, where, _early(search))
        asks = imports_of(found.name)
        if not any(asks.search(p.text) for p in programs):
            yield its


def _lacks_portions(search: ModuleSearch, found: FoundModule, owner: Distribution, where: Sysroot) -> bool:
    """Whether a package stands in the place of a folder without a start of which it lacks all that an installed one has, or has parts
    whose imports end.
    """
    if found.kind != "package" or "__path__" in (where.text(found.path, OWN_BYTES) or ""):
        return False
    parts, mine = search.top_names(found.hidden[0]), search.top_names(where.parent(found.path))
    tops = set(re.findall(r"(?m)^([A-Za-z]\w*)/[^,\n]*\.(?:py|so|pyd),", read_record(owner, where)))
    if tops == {found.name} and not parts & mine:
        return True
    follower = Follower(search, (), where, OWN_BYTES, only=frozenset((found.name,)))
    return any(follower.follow(f"{found.name}.{part}") for part in sorted(parts & mine))


def _lacks_libraries(found: FoundModule, where: Sysroot) -> bool:
    """Whether a clone of an installed package has none of the libraries that this one's code opens by ctypes: they are built when it is installed."""
    own, its = where.parent(found.path), where.parent(found.hidden[0])
    if found.kind != "package" or not any("ctypes" in p.text for p in programs_in(own, where)):
        return False
    folders = ["", *(n for n in where.names(its) or () if "." not in n)][:MOST_PARTS]
    built = [where.join(f, n) for f in folders for n in where.names(where.join(its, f)) or () if LIBRARY.search(n)]
    return bool(built) and not any(where.exists(where.join(own, name)) for name in built)


LIBRARY = late_pattern(r"(?i)\.(?:dll|so(?:\.\d+)*)\Z")


def _asks_for_itself(found: FoundModule, where: Sysroot) -> bool:
    """Whether a file takes of its own name what it has not bound by then: it wants the installed package."""
    text = where.text(found.path, PROGRAM_BYTES) or "" if found.kind == "module" else ""
    asks = re.search(rf"(?m)^(?:from|import)[ \t]+{re.escape(found.name)}\b", text)
    if not asks or EXTENDS_PATH.search(text) or any(way in text for way in MAKES_MODULES):
        return False
    body, aliases = statements_of(text), set[str]()
    for n, node in enumerate(body):
        bound = {"*", "__name__", "__file__", "__doc__", *stored_names(body[:n])}
        match node:
            case ast.ImportFrom(level=0, module=found.name):
                if not {one.name for one in node.names} <= bound:
                    return True
            case ast.Import():
                aliases |= {one.asname or one.name for one in node.names if one.name == found.name}
            case ast.Expr() | ast.Assign() | ast.AnnAssign() if aliases:
                if any(c[0] in aliases and c[1] not in bound for _line, c in attribute_chains(node)):
                    return True
    return False


def _lacks_parts(found: FoundModule, owner: str, folder: str, where: Sysroot) -> bool:
    """Whether a module hides a package, although a package that requires it imports parts of it at a module's left margin."""
    if found.kind != "module" or not where.name(found.hidden[0]).startswith("__init__."):
        return False
    part = re.compile(rf"(?m)^(?:import|from)[ \t]+{re.escape(found.name)}\.\w")
    for its in all_requirements(folder, where):
        if owner in {required_name(wish) for wish in its.pins}:
            rows = re.findall(r"(?m)^(\w[\w/]*\.py),", read_record(its, where))
            first = sorted((r for r in rows if not STRIPPED_PATHS.search(r)), key=lambda r: (r.count("/"), r))
            texts = (where.text(where.join(folder, *r.split("/")), PART_BYTES) or "" for r in first[:MOST_PARTS])
            if any(part.search(text) for text in texts):
                return True
    return False


def ended_programs(
    search: ModuleSearch, distributions: tuple[Distribution, ...], where: Sysroot, *, home: str = ""
) -> tuple[EndedImport, ...]:
    """Return where the imports of the person's own programs end because a folder hides what they ask for.

    The folder is the programs' own, or one of PYTHONPATH, or one that they add to the search path themselves. It
    hides an installed module, or a module of another folder of the person.
    """
    folder = search.search.start
    hides = _hides_something(search, where)
    programs = _programs(search, where, _early(search) if hides else [folder] if folder else [])
    if not hides and not any(EXTENDS_PATH.search(p.text) for p in programs):
        return ()
    found: dict[EndedImport, list[str]] = {}
    for searched, its in searches_of_programs(programs, search, folder, home, where):
        if not _hides_something(searched, where):
            continue
        own = frozenset(n for e in _early(searched) for n in searched.top_names(e))
        follower = Follower(searched, distributions, where, OWN_BYTES, only=own)
        for program in its.programs:
            ended = follower.follow(program.name)
            if ended is not None and ended.hidden and ended.kind in ("no name", "absent"):
                owner = owner_of_module(ended.wanted.partition(".")[0], entry_of(searched, ended.hidden), where)
                whose = f"{owner.name} {owner.version}" if owner else ended.hidden_owner
                told = msgspec.structs.replace(ended, hidden_owner=whose)
                found.setdefault(in_entries_of(searched, told, its.adds), []).append(searched.find(program.name).path)
    return tuple(msgspec.structs.replace(e, starts=tuple(names)) for e, names in found.items())


def _hides_something(search: ModuleSearch, where: Sysroot) -> bool:
    return any(True for _found in _hiding(search, where)) or _in_two_places(search) or _is_before_its_package(search)


def _is_before_its_package(search: ModuleSearch) -> bool:
    """Whether a folder without ``__init__`` stands in for a package of an editable installation."""
    return any(search.find(name).kind == "namespace" for name in search.editable_paths)


def _early(search: ModuleSearch) -> list[str]:
    """Return the folders before the environment's packages that somebody put there."""
    return [e.path for e in search.search.split()[0] if e.origin in BEFORE_THE_PACKAGES]


def _in_two_places(search: ModuleSearch) -> bool:
    """Whether two of the person's own folders have one name: two clones with modules of their own."""
    seen: set[str] = set()
    for folder in _early(search):
        names = search.top_names(folder) - {"__main__", "setup", "conftest"}
        if seen & names:
            return True
        seen |= names
    return False


def _hiding(search: ModuleSearch, where: Sysroot) -> Iterator[FoundModule]:
    """Yield the modules that nobody installed and that hide an installed one."""
    _front, packages = search.search.split()
    later = frozenset().union(*(search.top_names(e.path) for e in packages if e.origin != "standard library"))
    for folder in _early(search):
        common = (search.top_names(folder) & later) - STANDARD - BESIDES
        if not common or any(n.endswith((".dist-info", ".egg-info")) for n in where.names(folder) or ()):
            continue
        for name in sorted(common):
            found = search.find(name)
            if found.kind not in ("none", "namespace") and found.hidden and search.search.folder(found.entry) == folder:
                yield found


def entry_of(search: ModuleSearch, path: str) -> str:
    """Return the entry that a path lies in."""
    return max((e.path for e in search.search.entries if path.startswith(e.path)), key=len, default="")


def owner_of_module(module: str, folder: str, where: Sysroot) -> Distribution | None:
    """Return the distribution that has a module as its own: by its name, else by its record, else one that has a part of it."""
    every = all_requirements(folder, where)
    if own := next((d for d in every if module_of(d.name) == module), None):
        return own
    for rest in (r"(?:/__init__)?\.(?:py|[\w-]+\.so|(?:[\w-]+\.)?pyd),", r"/[A-Za-z]\w*/__init__\.py,"):
        row = re.compile(rf"(?m)^{re.escape(module)}{rest}")
        if its := next((d for d in every if row.search(read_record(d, where))), None):
            return its
    return None


def _programs(search: ModuleSearch, where: Sysroot, folders: list[str]) -> list[Program]:
    """Return the modules in folders before the packages; a program that starts there is one of them."""
    every = (p for folder in folders for p in programs_in(folder, where))
    return [p for p in every if p.name.isidentifier() and search.find(p.name).path == p.path]
