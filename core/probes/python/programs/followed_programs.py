"""Where the programs of the folder that a scan was started in end while they import: in what installed packages do at their start, or
at a name that an installed module does not have.

A package that is imported at a program's top level does what it does; what a program asks for in a function, or in a condition that
is open, is ignored. A package that is not installed at all is told of a program that uses others of the environment; whether it
belongs to another one, the rules decide.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from core.common.late_pattern import late_pattern
from core.common.requirements import parse_requirement
from core.knowledge.modules import given_up, module_of, module_table
from core.model.facts import Distribution, EndedImport, Frozen, SearchEntry, path_text
from core.model.facts.imports import PACKAGES
from core.probes.kept_looks import kept_look
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.following.follower import Follower
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.installed.unfit_extensions import NOTHING_SUSPECT, Suspects
from core.probes.python.programs.lacking_packages import is_plainly_absent
from core.probes.python.programs.models_code import code_of_models
from core.probes.python.programs.own_paths import in_entries_of, searches_of_programs
from core.probes.python.programs.program_folder import PROGRAM_BYTES, Program, programs_in
from core.probes.python.programs.shadows import entry_of, owner_of_module
from core.probes.python.programs.unmade_parts import unmade_part
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.module_text import packages_spelt, refused_encoding
from core.probes.sysroot import Sysroot

MOST_PROGRAMS = 40
"""Programs of the folder that are followed."""

MOST_BYTES = 24 << 20
"""Bytes of source that are read for all of them."""

MOST_SECONDS, MOST_WAITING = 4.0, 45.0
"""Processor time for all programs of one environment, and seconds by the clock."""

MOST_NAMES, MOST_FOLDERS = 5000, 20
"""Names in a folder of data, and folders in it, that are looked at for modules."""

OF_TOOLS = late_pattern(r"setup|conftest|noxfile|fabfile|tasks|dodo|versioneer|__\w+__|test_\w+|\w+_tests?")
"""Programs that some tool runs, in an environment of its own."""


SCRIPTS, MOST_SCRIPTS = (".bat", ".cmd", ".ps1", ".sh"), 20
BELOW = late_pattern(
    r"(?:(?<=[\s\"'=])|(?<=%~dp0)|(?<=\s\./)|(?<=\s\.\\))((?:[A-Za-z_][\w.-]*[\\/])+[A-Za-z_]\w*\.py)(?=[\s\"']|$)"
)
"""A program in a folder below, as a script names it: ``ComfyUI\\main.py``, ``%~dp0app\\main.py``, ``./src/train.py``."""


class _Environment(NamedTuple):
    """Where programs are followed."""

    distributions: tuple[Distribution, ...]
    where: Sysroot
    suspects: Suspects
    known: dict[str, str] | None
    """See ``kept_look``."""
    late: Callable[[float], object]
    """Called with the seconds if time runs out."""


class _Ends(Frozen, frozen=True):
    """Where programs end."""

    found: tuple[EndedImport, ...]
    seconds: float = 0.0
    """After how long the look was cut short; 0 where it came to its end."""


def ends_of_programs(
    search: ModuleSearch,
    distributions: tuple[Distribution, ...],
    where: Sysroot,
    *,
    here: str = "",
    hub: str = "",
    home: str = "",
    known: dict[str, str] | None = None,
    suspects: Suspects = NOTHING_SUSPECT,
    late: Callable[[float], object] = lambda _seconds: None,
) -> tuple[EndedImport, ...]:
    """Return where the imports of programs end, each end once, with the programs that come to it.

    The programs lie in the folder in which programs are started, or in a folder below it from which one of its
    scripts starts them. ``here``: that folder, for a Python that does not search it. ``suspects``: what the packages
    recorded and lost, what Python lacks, and of what does not load the libraries alone. ``late`` is called with the seconds if time runs out.
    """
    folder, around = search.search.start, _Environment(distributions, where, suspects, known, late)
    programs = _programs(folder, where) if folder else []
    found = [*_in_other_encodings(folder, search, where)] if folder else []
    for place, mine in ((folder, programs), *_below(here or folder, search, where).items()):
        started = search if place == folder or not folder else search.started_in(place)
        for own, its in searches_of_programs(mine, started, here or folder, home, where):
            ends = _kept({p.name: p.text for p in its.programs}, place, own, around, here or folder)
            ended = (in_entries_of(own, e, its.adds) for e in ends)
            found += ended if place == folder else (_beside_their_own(e, here or folder, where) for e in ended)
    for place, files in code_of_models((p.text for p in programs), folder, hub, where):
        of_model = {
            name: text for name in files if (text := where.text(where.join(place, f"{name}.py"), PROGRAM_BYTES))
        }
        ends = _kept(of_model, place, search.started_in(place), around)
        # the other files of the model are no programs of the person's
        found += (msgspec.structs.replace(ended, others_find_theirs=False) for ended in ends)
    return tuple(found)


def _kept(
    programs: dict[str, str], folder: str, search: ModuleSearch, around: _Environment, project: str = ""
) -> tuple[EndedImport, ...]:
    """Return the ends of one folder's programs, kept until what was read of changes; ``project``: where a script starts them."""
    project = project or folder

    def look(watched: Sysroot) -> tuple[_Ends, bool]:
        return _followed(programs, folder, search.seen_through(watched), around._replace(where=watched), project)

    given = search.search_settings, around.distributions, folder, project, sorted(programs.items()), around.suspects
    ends = kept_look("imports of programs", given, _Ends, look, around.where, known=around.known)
    if ends.seconds:
        around.late(ends.seconds)
    return ends.found


def _below(folder: str, search: ModuleSearch, where: Sysroot) -> dict[str, list[Program]]:
    """Return the programs below a folder that its scripts name, or that get a package of the folder from elsewhere: their folder -> its
    programs.
    """
    names = [n for n in sorted(where.names(folder) or ()) if n.lower().endswith(SCRIPTS)] if folder else []
    texts = (where.text(where.join(folder, n), PROGRAM_BYTES) or "" for n in names[:MOST_SCRIPTS])
    named = dict.fromkeys(m[1].replace("\\", "/") for text in texts for m in BELOW.finditer(text))
    found: dict[str, list[Program]] = {}
    paths = [*(where.join(folder, *name.split("/")) for name in named), *_without_their_package(folder, search, where)]
    for path in dict.fromkeys(paths[:MOST_SCRIPTS]):
        text = (where.text(path, PROGRAM_BYTES) or "") if where.is_file(path) else ""
        one = Program(path, where.name(path).removesuffix(".py"), text)
        if set(one.packages) - STANDARD and not OF_TOOLS.fullmatch(one.name):
            found.setdefault(where.parent(path), []).append(one)
    return found


def _beside_their_own(ended: EndedImport, folder: str, where: Sysroot) -> EndedImport:
    """Return an end of a program below a folder, with the package of that name that lies in the folder itself."""
    package = next(_packages_in(folder, where, ended.wanted.partition(".")[0]), "")
    other = package if package and not ended.path.startswith(where.parent(package)) else ""
    return msgspec.structs.replace(ended, hidden=path_text(ended.hidden or other))


def _packages_in(folder: str, where: Sysroot, name: str = "") -> Iterator[str]:
    """Yield the starts of the packages in a project's folder, or in its folder of sources; ``name``: of one."""
    for root in (folder, where.join(folder, "src")):
        starts = (where.join(root, n, "__init__.py") for n in ([name] if name else where.names(root) or ()))
        yield from (start for start in starts if where.is_file(start))


def _without_their_package(folder: str, search: ModuleSearch, where: Sysroot) -> Iterator[str]:
    """Yield the programs in folders below whose import of a package that lies in the folder finds another copy: Python searches the folder of a
    program, and not the one above it.
    """
    own = {where.name(where.parent(start)): start for start in _packages_in(folder, where)}
    names = [n for n in where.names(folder) or () if "." not in n and n not in own]
    for place in [f for n in names if where.is_folder(f := where.join(folder, n))][:MOST_FOLDERS] if own else ():
        found = search.started_in(place)
        elsewhere = {n for n, start in own.items() if found.find(n).path not in ("", start)}
        yield from (p.path for p in programs_in(place, where) if elsewhere.intersection(p.packages))


def _programs(folder: str, where: Sysroot) -> list[Program]:
    """Return the programs that import a package, or another module of their folder, which may import one."""
    named = [p for p in programs_in(folder, where) if p.name.isidentifier() and not OF_TOOLS.fullmatch(p.name)]
    return [p for p in named[:MOST_PROGRAMS] if set(p.packages) - STANDARD]


def _in_other_encodings(folder: str, search: ModuleSearch, where: Sysroot) -> Iterator[EndedImport]:
    """Yield each program whose bytes Python does not take for a text, if it uses packages of the environment.

    A module of another program may have odd bytes in its comments: ``import`` passes over them.
    """
    programs = programs_in(folder, where)
    imported = {name for one in programs for name in one.packages}
    for one in programs:
        data = where.read(one.path, PROGRAM_BYTES) or b""
        encoding = refused_encoding(data)
        if encoding != "UTF-16" and one.name in imported:
            continue
        text = data.decode("utf-16" if encoding == "UTF-16" else "latin-1", "replace") if encoding else ""
        if encoding and _uses_packages(text, search):
            path = path_text(one.path)
            others = any(_uses_packages(p.text, search) for p in programs if p.path != one.path)
            yield EndedImport(
                starts=(path,),
                importer="",
                line=0,
                wanted=one.name,
                kind="damaged",
                name=encoding,
                path=path,
                others_find_theirs=others and encoding != "UTF-16",
            )


def _followed(
    programs: dict[str, str], folder: str, search: ModuleSearch, around: _Environment, project: str
) -> tuple[_Ends, bool]:
    distributions, where, suspects, *_rest = around
    frameworks = _frameworks(distributions)
    if _hides_packages(search):
        frameworks = frozenset()  # what frameworks import is looked for in the program's own folders, too
    asked = frozenset(name for one in programs.values() for name in packages_spelt(one))
    follower = Follower(
        search,
        distributions,
        where,
        MOST_BYTES,
        closed=frameworks | {"numpy"} if frameworks else frozenset(),
        whole=(asked | search.top_names(folder)) - frameworks,
        suspects=suspects,
        end=(time.thread_time() + MOST_SECONDS, time.monotonic() + MOST_WAITING),
        calls=True,
    )
    found: dict[EndedImport, list[str]] = {}
    lacking: dict[EndedImport, list[str]] = {}
    others = 0
    begun = time.monotonic()
    for name, text in programs.items():
        path = where.join(folder, f"{name}.py")
        ended = follower.follow(name) or follower.end_at_pickle(path, text)
        own = unmade_part(ended, text, folder, where) if ended and _finds_all_else(ended, text, search) else None
        ended = own or ended
        if ended is not None and (
            own
            or _is_dropped(ended, search, where)
            or ended.wanted in suspects.lacking
            or _is_told(ended, folder, search, where)
            or _is_of_data(ended, text, folder, search, where)
            or _is_required(ended, text, folder, project, search, where)
        ):
            found.setdefault(_with_owners(ended, search, where), []).append(path_text(where.join(folder, f"{name}.py")))
        elif ended is not None and _uses_packages(text, search) and is_plainly_absent(ended, folder, where):
            lacking.setdefault(ended, []).append(path_text(where.join(folder, f"{name}.py")))
        elif ended is None and _uses_packages(text, search):
            others += 1
        if not follower.may_read or not follower.limit.had_time:
            break
    for one in suspects.unfit:
        package, _space, version = one.owner.partition(" ")
        if opened := follower.import_that_opens(one.path, package, version, one.edge):
            found.setdefault(opened[0], []).append(path_text(where.join(folder, f"{opened[1]}.py")))
    told = {
        msgspec.structs.replace(ended, lacks_package=True, others_find_theirs=others > 0): names
        for ended, names in lacking.items()
    }
    ends = tuple(msgspec.structs.replace(ended, starts=tuple(names)) for ended, names in {**found, **told}.items())
    in_time = follower.limit.had_time
    return _Ends(ends, 0.0 if in_time else time.monotonic() - begun), in_time


def _uses_packages(program: str, search: ModuleSearch) -> bool:
    """Whether a program imports an installed package, and adds nothing to the search path itself."""
    if "sys.path" in program:
        return False
    found = (search.find(name) for name in {*packages_spelt(program)} - STANDARD)
    entries = search.search.entries
    return any(its.kind not in ("none", "namespace") and entries[its.entry].origin in PACKAGES for its in found)


def _hides_packages(search: ModuleSearch) -> bool:
    """Whether a folder that a program puts before the packages has a module of the name of one of them."""
    entries = search.search.entries
    first = next((n for n, e in enumerate(entries) if e.origin == "start"), 0)
    added = {name for e in entries[:first] for name in search.top_names(e.path)}
    return bool(added) and any(added & search.top_names(e.path) for e in entries[first:] if e.origin in PACKAGES)


def _frameworks(distributions: Iterable[Distribution]) -> frozenset[str]:
    """Return the modules that are followed for their own sake."""
    rows = [row for row in module_table().modules if row.follow and not row.extends]
    return frozenset(r.module for r in rows if any(re.fullmatch(r.distributions, d.name) for d in distributions))


def _is_told(ended: EndedImport, folder: str, search: ModuleSearch, where: Sysroot) -> bool:
    """Whether an end lies in what is installed."""
    if ended.kind == "damaged":
        return bool(ended.owner)  # of what is installed; a text of one's own may be half written
    if ended.kind not in ("absent", "no name", "no parameter", "refused"):
        return False  # what else is damaged is told whoever asks
    if ended.hidden:
        return True  # where the look at what hides packages tells it as well, the rules take one of both
    inner = where.path_module.sep
    if (
        ended.path.startswith(folder + inner)
        or _is_added(ended.path, search, where)
        or (ended.kind != "refused" and search.find(ended.wanted.partition(".")[0]).kind == "namespace")
    ):
        return False
    asked_by_program = ended.importer.startswith(folder + inner) and not _is_installed(ended.importer, search, where)
    return not (asked_by_program and ended.kind == "absent" and "." not in ended.wanted)


def _is_of_data(ended: EndedImport, program: str, folder: str, search: ModuleSearch, where: Sysroot) -> bool:
    """Whether a program takes a folder beside it that holds no code for a package that is not installed, and finds all else that it imports:
    then it belongs to this environment.
    """
    top = ended.wanted.partition(".")[0]
    path = where.join(folder, top)
    if (
        ended.kind not in ("absent", "no name")
        or ended.hidden
        or ended.path != path
        or ended.importer.rpartition(where.path_module.sep)[0] != folder
    ):
        return False
    return _finds_all_else(ended, program, search) and not _holds_code(path, where)


def _is_required(  # noqa: PLR0917 - an end, its program, and where both lie
    ended: EndedImport, program: str, folder: str, project: str, search: ModuleSearch, where: Sysroot
) -> bool:
    """Whether a program's own list of requirements names the package that the environment in its project does not have: the source was
    renewed, and what it requires was not. All else that the program imports is there.
    """
    inside = project.rstrip("/\\") + where.path_module.sep
    if ended.kind != "absent" or ended.hidden or "." in ended.wanted or not ended.importer.startswith(folder):
        return False
    if not any(e.origin in PACKAGES and e.path.startswith(inside) for e in search.search.entries):
        return False
    rows = (where.text(where.join(folder, "requirements.txt"), PROGRAM_BYTES) or "").splitlines()
    asked = (parse_requirement(row.partition("#")[0].strip()) for row in rows)
    named = {module_of(normalise_name(its.name)) for its in asked if its and not its.marker}
    return ended.wanted in named and _finds_all_else(ended, program, search)


def _finds_all_else(ended: EndedImport, program: str, search: ModuleSearch) -> bool:
    """Whether a program finds all that it imports but for the module where it ends, and a package among it."""
    top = ended.wanted.partition(".")[0]
    others = [search.find(name).kind for name in {*packages_spelt(program)} - STANDARD - {top}]
    return all(kind not in ("none", "namespace") for kind in others) and bool(others)


def _holds_code(folder: str, where: Sysroot, depth: int = 2) -> bool:
    """Whether a folder, or one in it, has a module; a folder with more than can be looked at may have one."""
    names = where.names(folder) or ()
    if len(names) > MOST_NAMES or any(n.endswith((".py", ".pyc", ".so", ".pyd")) for n in names):
        return True
    inner = [path for n in names if "." not in n and where.is_folder(path := where.join(folder, n))][:MOST_FOLDERS]
    return bool(depth) and any(_holds_code(path, where, depth - 1) for path in inner)


def _with_owners(ended: EndedImport, search: ModuleSearch, where: Sysroot) -> EndedImport:
    """Return an end at an installed module that hides another one, with the distributions that they belong to."""
    if not ended.hidden or not _is_installed(ended.path, search, where):
        return ended
    top = ended.wanted.partition(".")[0]
    mine, its = (owner_of_module(top, entry_of(search, p), where) for p in (ended.path, ended.hidden))
    return msgspec.structs.replace(
        ended,
        owner=f"{mine.name} {mine.version}" if mine else ended.owner,
        hidden_owner=f"{its.name} {its.version}" if its else ended.hidden_owner,
    )


def _is_added(path: str, search: ModuleSearch, where: Sysroot) -> bool:
    """Whether a file lies in a folder that the program puts on the search path."""
    added = (e.path for e in search.search.entries if e.origin == "pth" and e.source.endswith(".py"))
    return any(path.startswith(folder + where.path_module.sep) for folder in added)


def _is_dropped(ended: EndedImport, search: ModuleSearch, where: Sysroot) -> bool:
    """Whether a program asks for a module that the installed release of a distribution no longer brings."""
    its = given_up(f"{ended.wanted}.{ended.name}" if ended.name else ended.wanted) if ended.kind == "absent" else None
    name = re.split(r"[<>=!~ ]", its.last)[0] if its else ""
    folders = (e.path for e in search.search.entries if e.origin in PACKAGES)
    infos = (n for f in folders for n in where.names(f) or () if n.endswith(".dist-info")) if name else ()
    return any(normalise_name(n.partition("-")[0]) == name for n in infos)


def _is_installed(path: str, search: ModuleSearch, where: Sysroot) -> bool:
    """Whether a file lies in a folder of packages, which may itself lie below the folder of the program."""
    entries: Iterable[SearchEntry] = (e for e in search.search.entries if e.origin in PACKAGES)
    return any(path.startswith(e.path + where.path_module.sep) for e in entries)
