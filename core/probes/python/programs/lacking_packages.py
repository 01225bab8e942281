"""Packages that a program of the person's own asks for, and that its environment does not have.

They are often installed all the same: pip of another Python put them there.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.knowledge.modules import module_table
from core.model.facts import EndedImport, PythonEnvironment, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.programs.shadows import owner_of_module
from core.probes.python.search.pth_text import folders_named
from core.probes.sysroot import Sysroot

MOST_ELSEWHERE = 3
"""Other environments with the package that are named."""

FOLDERS_ABOVE = 3
"""Folders above a program in which its own modules may lie: a plug-in of a larger program is two below it."""

OTHERWISE_INSTALLED = late_pattern(
    r"(?i)(?:dockerfile|containerfile)(?:\..+)?|(?:docker-)?compose.*\.ya?ml|\.devcontainer|\.gitmodules"
)
"""What tells that a program gets its packages in an image, or that a part of its project was not fetched."""

MOST_FOLDERS = 40
"""Folders beside a program, and in each of them, that are looked at for its own modules."""


def is_plainly_absent(ended: EndedImport, folder: str, where: Sysroot) -> bool:
    """Whether a program in ``folder`` itself asks for a package of others' that is nowhere on its search path."""
    name = ended.wanted
    if ended.kind != "absent" or ended.path or ended.hidden or ended.owner or ended.call or "." in name:
        return False
    table = module_table()
    if (
        name in STANDARD
        or name in table.of_projects
        or name in table.of_hosts
        or name.startswith("_")
        or where.parent(ended.importer) != folder
    ):
        return False
    if any(OTHERWISE_INSTALLED.fullmatch(n) for n in where.names(folder) or ()):
        return False
    return not _is_beside(name, folder, where)


def _is_beside(name: str, folder: str, where: Sysroot) -> bool:
    """Whether a module of this name is, or may be, a part of the person's own project: it lies in a folder above the program or below."""
    inner = [where.join(folder, n) for n in where.names(folder) or () if "." not in n][:MOST_FOLDERS]
    inner += [where.join(one, n) for one in inner for n in (where.names(one) or ())[:MOST_FOLDERS] if "." not in n]
    above, at = list[str](), folder
    for _ in range(FOLDERS_ABOVE):
        at = where.parent(at)
        above.append(at)
    return any(_has_module(place, name, where) for place in (*inner, *above))


def _has_module(place: str, name: str, where: Sysroot) -> bool:
    return where.is_folder(where.join(place, name)) or where.is_file(where.join(place, f"{name}.py"))


def with_elsewhere(ended: EndedImport, mine: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> EndedImport:
    """Add the line of a .pth file in a folder of PYTHONPATH that leads to the package in vain; else the other environments, and the person's
    own folders of packages, that have it, and the distribution that it is of there.
    """
    if not ended.lacks_package:
        return ended
    for place in variable_in(request.env, "PYTHONPATH").split(where.path_module.pathsep):
        for file, line, folder in folders_named(place, where) if where.path_module.isabs(place) else ():
            if any(n.startswith(f"{ended.wanted}.") for n in where.names(folder) or ()) or where.is_folder(
                where.join(folder, ended.wanted)
            ):
                return msgspec.structs.replace(ended, elsewhere=(path_text(f"{file}:{line}"),))
    places = {site: python.prefix for python in request.seen.pythons or () for site in python.site_packages}
    home = request.env.get("HOME") or request.seen.machine.home
    found: dict[str, str] = {}
    for site, prefix in {**{folder: folder for folder in _of_the_person(home, where)}, **places}.items():
        if site not in mine.site_packages and prefix != mine.prefix and _has_module(site, ended.wanted, where):
            owner = owner_of_module(ended.wanted, site, where)
            found.setdefault(prefix, owner.name if owner else "")
    return msgspec.structs.replace(
        ended,
        elsewhere=tuple(map(path_text, found))[:MOST_ELSEWHERE],
        distribution=next((name for name in found.values() if name), ""),
    )


def _of_the_person(home: str, where: Sysroot) -> Iterator[str]:
    """Yield the folders in which ``pip install --user`` puts packages, one for each release of Python.

    Source: https://docs.python.org/3/library/site.html#site.USER_SITE.
    """
    windows = where.system == "windows"
    above = where.join(home, *(("AppData", "Roaming", "Python") if windows else (".local", "lib")))
    for name in where.names(above) or () if home else ():
        if name.lower().startswith("python"):
            yield where.join(above, name, "site-packages")
