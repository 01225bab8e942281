"""What is true of an import that fails: who asks, for what, and whose it is."""

from __future__ import annotations

import re

from core.knowledge.modules import NOT_ON_WINDOWS, GivenUp, distribution_of, given_up, module_of, module_table
from core.model.facts import EndedImport, PythonEnvironment
from core.model.facts.imports import PACKAGES
from core.model.paths import file_name, is_inside, normalise, parent
from core.rules.consumer_loads import DEFAULT
from core.rules.frameworks.environment_view import FRAMEWORKS, EnvironmentView, asked_of, first_of_each, is_asked_for


def framework_distributions(home: EnvironmentView, ended: EndedImport) -> list[str]:
    """Return the distributions whose import fails."""
    patterns = [row.distributions for row in module_table().modules if row.module in ended.starts]
    found = [d.name for p in patterns for d in home.python.distributions if re.fullmatch(p, d.name)]
    users = [name for s in ended.starts if home.installed(name := distribution_of(s)) and name not in found]
    return list(dict.fromkeys((*found, *users)))


def is_of_programs(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether nothing but a person's own programs comes to this end, which hides nothing but their own modules."""
    alone = bool(ended.starts) and all(map(is_program, ended.starts))
    return alone and (not ended.hidden or ended.kind == "unmade" or precedes_own(home, ended))


def starts_programs(home: EnvironmentView) -> bool:
    """Whether ``python`` starts this environment's interpreter, and programs compute with what is in it."""
    return home.near <= DEFAULT and bool(_frameworks(home.python))


def may_belong_elsewhere(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a program that lacks a package here has it, and a framework of this environment's, in another one."""
    others = (p for p in home.seen.pythons or () if p.prefix in ended.elsewhere)
    return any(_frameworks(home.python) & _frameworks(p) for p in others)


def _frameworks(python: PythonEnvironment) -> set[str]:
    return {module_of(d.name) for d in python.distributions if FRAMEWORKS.fullmatch(d.name)}


def is_program(start: str) -> bool:
    """Whether imports start at a file, and not at a module."""
    return "/" in start or "\\" in start


def asker(home: EnvironmentView, ended: EndedImport) -> str:
    """Return the installed package whose line asks where a program's imports end; empty where the program itself does."""
    if ended.asked_by:
        return ended.asked_by.partition(" ")[0]
    system = home.seen.machine.system
    folders = [f"{normalise(system, d.location)}/" for d in home.python.distributions if d.location]
    importer = normalise(system, ended.importer).replace("\\", "/")
    inside = next(
        (importer.removeprefix(f) for f in (f.replace("\\", "/") for f in folders) if importer.startswith(f)), ""
    )
    name = distribution_of(inside.partition("/")[0].removesuffix(".py")) if inside else ""
    return name if home.installed(name) else ""


def is_asked_by_program(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a program itself asks for what an installed module does not have."""
    return is_of_programs(home, ended) and bool(ended.owner or ended.path) and not asker(home, ended)


def package_of(home: EnvironmentView, ended: EndedImport) -> str:
    """Return the distribution that brings a module; of two that do, the one that an installed package requires."""
    usual, plain = distribution_of(ended.wanted), ended.wanted.partition(".")[0].replace("_", "-").lower()
    return plain if is_asked_for(home, plain) and not is_asked_for(home, usual) else usual


def requirers(home: EnvironmentView, ended: EndedImport) -> list[tuple[str, str]]:
    """Return the packages that require what the import does not get, with the required versions."""
    wanted = package_of(home, ended)
    found = [(f"{d.name} {d.version}", text) for d in first_of_each(home) for text in asked_of(home, d, wanted)]
    read = [(ended.required_by, ended.required_versions)] if ended.required_by else []
    return list(dict.fromkeys((*found, *read)))


def is_outer_folder(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a folder stands in for the package that lies in it: a clone beside the program, which was installed where it is."""
    system = home.seen.machine.system
    return (
        bool(ended.path and ended.hidden)
        and ended.kind != "unmade"
        and is_inside(system, normalise(system, ended.hidden), normalise(system, ended.path))
    )


def is_folder_of_data(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a program's own folder stands in for a package that is not installed: only one without code is told, and an installed
    package would come before it.
    """
    bare = file_name(home.seen.machine.system, ended.path) == ended.wanted.partition(".")[0]
    return bare and not (ended.hidden or ended.owner) and is_of_programs(home, ended)


def precedes_own(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a person's file asks an installed or linked package for what another copy of the person's own has."""
    asked = ended.kind in ("absent", "no name", "no parameter") and bool(ended.path and ended.hidden and ended.importer)
    own = (ended.hidden, ended.importer)
    entry = home.search.entry(ended.entry) if home.search and not ended.added else None
    linked = entry is not None and entry.origin == "pth"
    return (
        asked and (linked or _is_of_packages(home, ended.path)) and not any(_is_of_packages(home, path) for path in own)
    )


def call_spelt(ended: EndedImport) -> str:
    """Return a call as the program spells it, with what the function does not take: "httpx.Client(proxies=...)", "mel(..., ...)"."""
    if ended.kind == "refused" or ended.name.startswith("+"):
        return f"{ended.function or ended.call}()"
    given = ended.name.removeprefix("*")
    places = ", ".join("..." for _n in range(int(given))) if given != ended.name else f"{given}=..."
    return f"{ended.function}({places})"


def _is_of_packages(home: EnvironmentView, path: str) -> bool:
    """Whether a path is in a folder of packages of any Python here, or of the user."""
    system, mine = home.seen.machine.system, normalise(home.seen.machine.system, path)
    folders = {e.path for e in (home.search.entries if home.search else ()) if e.origin in PACKAGES}
    folders |= {f for p in home.seen.pythons or () for f in p.site_packages}
    return any(is_inside(system, mine, normalise(system, folder)) for folder in folders)


def leads_outside(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a recorded module is to be in a folder outside the environment."""
    system = home.seen.machine.system
    path = normalise(system, ended.path) if ended.path and not ended.importer else ""
    return bool(path) and not path.startswith(normalise(system, home.python.prefix))


def asks_another(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a package asks for a part that another package, whose start is there, never recorded."""
    system = home.seen.machine.system
    start = file_name(system, ended.path)
    inside = normalise(system, ended.importer).startswith(normalise(system, parent(system, ended.path)))
    lacks = ended.kind == "absent" and bool(ended.importer and ended.owner) and not ended.recorded
    return lacks and "." in ended.wanted and start.startswith("__init__.") and not inside


def given_up_name(ended: EndedImport) -> GivenUp | None:
    """Return the table's row of a name that a later release no longer has."""
    return given_up(f"{ended.wanted}.{ended.name}" if ended.name else ended.wanted)


def is_part_given_up(ended: EndedImport) -> bool:
    """Whether a later release gave up that part of a package, and not the whole."""
    return (its := given_up_name(ended)) is not None and "." in its.name


def is_of_other_systems(ended: EndedImport) -> bool:
    """Whether Python has the missing name on other systems than Windows alone."""
    return (its := given_up_name(ended)) is not None and its.last == NOT_ON_WINDOWS


def is_pythons_own(ended: EndedImport) -> bool:
    """Whether the missing name was part of Python's own library, and a later Python removed it."""
    return (its := given_up_name(ended)) is not None and its.last.startswith("python<")
