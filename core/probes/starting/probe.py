"""Starting probe: every way in which programs are started on this machine, its variables, and what differs because of
them.

A plain scan only reads files. It runs a shell only if reading leaves a relevant variable unknown, never with an
administrator's rights, and only if nobody else can change the files that the shell reads.
"""

from __future__ import annotations

import functools
import posixpath
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.patience import map_in_threads
from core.common.turns import MadeOnce
from core.common.variable_names import variable_in
from core.host.linux.files import variables_in
from core.host.provenance import may_run, this_person
from core.host.startup.state import State
from core.host.with_environment import HostWithEnvironment
from core.knowledge.tables import read_table
from core.model.facts import Closure, GoneFile, ImportSearch, Start, StartLine, StartLook, System, Variable, path_text
from core.model.facts.starting import OF_WINDOWS
from core.model.path_list import searched_entries
from core.model.paths import normalise
from core.probes.loading import closure
from core.probes.loading import probe as loading
from core.probes.loading.effective_entries import asked_entries, effective_entries
from core.probes.loading.linux import asked_names
from core.probes.probe import ProbeRequest
from core.probes.python import imports
from core.probes.python.locations import start_folder, starting_folder
from core.probes.python.search.modules import importable_names
from core.probes.python.search.search_path import SYS_PATH, later_entries
from core.probes.starting.given_inside import given_inside_ways
from core.probes.starting.machine import Ground, ground_of
from core.probes.starting.own_settings import own_settings_ways
from core.probes.starting.projects.chosen_pythons import chosen_python_ways
from core.probes.starting.projects.described_programs import described_ways
from core.probes.starting.projects.folders import folder_ways
from core.probes.starting.projects.images import image_ways
from core.probes.starting.projects.named_notebooks import named_notebook_ways
from core.probes.starting.projects.promised_programs import with_promised_programs
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.projects.uv_runs import saved_python_ways, uv_ways
from core.probes.starting.pythons import pythons_of
from core.probes.starting.services.condor import condor_ways
from core.probes.starting.services.deployed import deployed_ways
from core.probes.starting.services.hub import hub_ways
from core.probes.starting.services.multiplexers import multiplexer_ways
from core.probes.starting.services.notebook_servers import server_ways, with_server_settings
from core.probes.starting.services.scheduled import cron_ways
from core.probes.starting.services.supervised import supervised_ways
from core.probes.starting.services.systemd import service_ways
from core.probes.starting.shells import family
from core.probes.starting.started_programs import (
    flask_ways,
    ipython_ways,
    pipenv_ways,
    prompt_ways,
    pytest_ways,
    start_code_ways,
)
from core.probes.starting.starters import first_line_ways, launcher_ways, script_ways
from core.probes.starting.ways import (
    Reached,
    activation_ways,
    desktop_session,
    editor_ways,
    module_ways,
    notebook_ways,
    shell_ways,
)
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables import probe as environment
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable, may_be_told

T = TypeVar("T")

OF_PYTHONS_SEARCH = (
    SYS_PATH,
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONNOUSERSITE",
    "PYTHONUSERBASE",
    "PYTHONSAFEPATH",
)
"""Variables that decide where Python searches for modules."""
HOMES = ("HOME", "APPDATA", "LOCALAPPDATA")
"""Variables that lead to the person's own packages."""
ASK_SECONDS = 2.0
"""Seconds for one shell."""
MOST_LOOKS = 12
"""Maximum number of different sets of variables examined in addition to this session's."""
LOOKING_THREADS = 2
"""One follows libraries while the other waits for its children."""
MOST_BESIDE = 3
OF_ONE_PROGRAM = ("notebook", "service", "cron", "task", "script", "launcher")
"""Ways that start one program, whose variables are meant for it."""
OF_THE_SESSION = ("VIRTUAL_ENV", "CONDA_", "PYENV_", "UV_PROJECT_ENVIRONMENT", "PATHEXT", "SYSTEMROOT", "WINDIR")
"""Prefixes of variables that show which environment is active; they do not affect the loader or Python."""
CUDA_WORDS = ("cuda", "cudnn", "nvidia", "tensorrt")


def look(request: ProbeRequest) -> tuple[Start, ...]:
    """Return every way of starting programs that this machine's files show."""
    where = sysroot_of(request.host)
    ground = ground_of(request, where, starting_folder(where))
    known = read_table("environment", EnvironmentKnowledge)
    found: dict[str, Start] = {}
    readers = _names_of_packages(ground, request)

    def start_of(way: Reached) -> Iterator[Start]:
        start = _ask_shell(_start(way, known, readers, ground), way, ground, request)
        yield replace(start, runs=pythons_of(way, ground))

    for way in _ways(ground, request):
        for start in request.apart(functools.partial(start_of, way)):
            if found.setdefault(start.id, start) is start:
                request.keep(start)
    return tuple(found.values())


def _ways(ground: Ground, request: ProbeRequest) -> Iterator[Reached]:
    if ground.where.system == "windows":
        from core.probes.starting.windows.ways import windows_ways

        host = request.host
        yield from windows_ways(ground, host.registered_starts(), host.variables(), request.apart)
        return
    desktop = desktop_session(ground)
    yield Reached(kind="desktop", at=ground.person.name, state=desktop)
    terminal = desktop
    own = family(ground.person.shell)
    typed = terminal
    for way in request.apart(lambda: shell_ways(ground, desktop)):
        if (way.kind, way.at) == ("terminal", own):
            terminal = typed = way.state
        elif (way.kind, way.at, own) == ("terminal", "bash", "dash"):
            typed = way.state  # nobody types in dash; a set-up of no log-in has it
        yield way

    def kernels() -> Iterator[Reached]:
        return notebook_ways(ground, with_server_settings(ground, terminal))

    def editors() -> Iterator[Reached]:
        return editor_ways(ground, terminal)

    yield from request.apart(
        lambda: cron_ways(ground),
        lambda: with_promised_programs(kernels(), ground),
        lambda: named_notebook_ways(ground, terminal, request.programs),
        lambda: hub_ways(ground),
        lambda: server_ways(ground, terminal),
        lambda: ipython_ways(ground),
        lambda: prompt_ways(ground, terminal),
        lambda: start_code_ways(ground),
        lambda: activation_ways(ground, terminal, typed.aliases),
        lambda: service_ways(ground),
        lambda: supervised_ways(ground),
        lambda: deployed_ways(ground),
        lambda: task_ways(ground),
        lambda: image_ways(ground),
        lambda: described_ways(ground),
        lambda: own_settings_ways(ground),
        lambda: given_inside_ways(ground),
        lambda: pytest_ways(ground),
        lambda: flask_ways(ground),
        lambda: pipenv_ways(ground),
        lambda: with_promised_programs(editors(), ground),
        lambda: chosen_python_ways(ground, terminal),
        lambda: folder_ways(ground, terminal),
        lambda: multiplexer_ways(ground, terminal),
        lambda: module_ways(ground, terminal),
        lambda: launcher_ways(ground, desktop),
        lambda: script_ways(ground, request.programs),
        lambda: condor_ways(ground),
        lambda: first_line_ways(ground),
        lambda: uv_ways(ground),
        lambda: saved_python_ways(ground),
    )


def _names_of_packages(ground: Ground, request: ProbeRequest) -> Callable[[], frozenset[str]]:
    """Return what lists, when it is first asked, how the packages here begin the names of their own variables: TQDM for tqdm."""

    @functools.cache
    def names() -> frozenset[str]:
        found = (n for p in request.seen.pythons or () for site in p.site_packages for n in ground.around.names(site))
        return frozenset(n.partition(".")[0].upper() for n in found)

    return names


def _of_a_package(name: str, way: Reached, known: EnvironmentKnowledge, readers: Callable[[], frozenset[str]]) -> bool:
    """Whether a file of this way alone sets a variable that a package here may read as its own, and that is no secret."""
    value = way.state.values.get(name, "")
    if way.kind not in OF_ONE_PROGRAM or not way.state.lines.get(name) or not name.isupper():
        return False
    words = name.split("_")
    begins = {"_".join(words[:n]) for n in range(1, len(words))}
    return may_be_told(Variable(name=name, value=value), known) and bool(begins & readers())


def _with_neighbours(gone: GoneFile, ground: Ground) -> GoneFile:
    """Return a file that is gone with those beside it that may be the same under another name."""
    folder, name = posixpath.split(gone.path)
    stem = name.strip(".").partition(".")[0]
    others = [n for n in ground.around.names(folder) if len(stem) > 1 and n.strip(".").startswith(stem) and n != name]
    files = [p for n in others if ground.around.kind(p := posixpath.join(folder, n)) == "file"]
    return replace(gone, beside=tuple(path_text(p) for p in files[:MOST_BESIDE]))


def _start(way: Reached, known: EnvironmentKnowledge, readers: Callable[[], frozenset[str]], ground: Ground) -> Start:
    state = way.state
    env = state.environment()
    matter = [
        n
        for n in {**env, **dict.fromkeys(sorted(state.open))}
        if n == SYS_PATH
        or is_relevant_variable(Variable(name=n, value=env.get(n, "")), known)
        or _of_a_package(n, way, known, readers)
    ]
    lines = [row for n in matter for row in state.lines.get(n, ()) if n in env or n in state.open]
    variables = tuple(
        Variable(name=n, value=path_text(env[n]), source=_source(state.lines.get(n, ())))
        for n in sorted(matter)
        if n in env
    )
    return Start(
        id=f"{way.kind}:{way.at}",
        kind=way.kind,
        at=way.at,
        prefix=way.prefix,
        argv=tuple(path_text(a) for a in way.argv),
        folder=path_text(way.folder),
        confined=way.confined,
        variables=variables,
        lines=tuple(lines),
        taken=tuple(_removed_variables(state, env, known)),
        files=tuple(dict.fromkeys(state.files)),
        gone=tuple(_with_neighbours(g, ground) for g in state.gone),
        ignored=tuple(
            r
            for r in (*state.ignored, *_unreplaced(state, env, matter))
            if is_relevant_variable(
                Variable(name=r.name.strip().upper() if r.form in OF_WINDOWS else r.name, value=r.value), known
            )
            and (r.form in OF_WINDOWS or env.get(r.name) in (None, r.value))
        ),
        open=tuple(sorted(n for n in matter if n in state.open and n in state.exported)),
    )


UNREPLACED = late_pattern(r"(?:^|:)~(?=/)|\$(?!\{?(?:ORIGIN|LIB|PLATFORM)\b)\{?[A-Za-z_]")
"""A home or a variable in a value that no reader has replaced; ld.so itself replaces three."""


def _unreplaced(state: State, env: dict[str, str], names: Iterable[str]) -> Iterator[StartLine]:
    """Yield the lines whose reader takes ``$HOME`` or ``~`` for letters, so that the place that they name is none."""
    for name in names:
        rows = [r for r in state.lines.get(name, ()) if not r.overridden and r.does != "unset"]
        if name in env and rows and UNREPLACED.search(env[name]):
            yield replace(rows[-1], value=env[name])


def _removed_variables(state: State, env: dict[str, str], known: EnvironmentKnowledge) -> Iterator[StartLine]:
    """Yield the last line of each variable that a line removed."""
    for name, rows in sorted(state.lines.items()):
        if (
            name not in env
            and rows
            and rows[-1].does == "unset"
            and is_relevant_variable(Variable(name=name, value=""), known)
        ):
            yield rows[-1]


def _source(lines: Iterable[StartLine]) -> str:
    return ", ".join(f"{row.file}:{row.line}" for row in lines if not row.overridden)


# --- running a shell --------------------------------------------------------------------------------------------------


ASKED_KINDS = {"login": "-lic", "terminal": "-ic"}


def _ask_shell(start: Start, way: Reached, ground: Ground, request: ProbeRequest) -> Start:
    """Return the way with its shell's values of the variables that reading left unknown, if the shell may run."""
    wanted = [n for n in start.open if n != "PATH"]
    if not wanted or start.kind not in ASKED_KINDS or not ground.where.is_running_system or this_person().elevated:
        return start
    shell = next(
        (f"{f}/{start.at}" for f in ("/bin", "/usr/bin") if ground.around.kind(f"{f}/{start.at}") == "file"), ""
    )
    obeyed = dict.fromkeys((shell, ground.person.home, *way.state.files), False)
    if not shell or start.at == "dash" or not may_run(obeyed).may:
        return start
    env = {n: v for n, v in way.state.values.items() if n in ("HOME", "USER", "LOGNAME", "SHELL")}
    env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
    script = "printf '\\nconvalesce\\n'; env -0"
    done = request.host.run([shell, ASKED_KINDS[start.kind], script], timeout=ASK_SECONDS, env=env)
    _before, mark, told = done.out.partition("\nconvalesce\n")
    if not mark:
        return start
    pairs = variables_in(told)
    left = [v for v in start.variables if v.name not in wanted]
    new = [
        Variable(name=n, value=path_text(pairs[n]), source=_source([r for r in start.lines if r.name == n]))
        for n in wanted
        if n in pairs
    ]
    still = tuple(n for n in start.open if n not in wanted)
    return replace(start, variables=tuple(sorted([*left, *new], key=lambda v: v.name)), open=still, asked=True)


# --- examining again --------------------------------------------------------------------------------------------------


def look_again(request: ProbeRequest) -> tuple[StartLook, ...]:
    """Return what differs for programs of other ways of starting than this session's; each set of variables is examined
    once.
    """
    known = read_table("environment", EnvironmentKnowledge)
    system = request.host.system
    ours = _key(request.env, known, system)
    folders = _folders_in_the_way(request)
    groups: dict[frozenset[tuple[str, str]], list[Start]] = {}
    for start in request.seen.starts or ():
        if any(one.why == "imports" for one in start.runs):
            continue  # its program ends at an import, whatever its variables are
        env = {v.name: v.value for v in start.variables}
        key = _key(env | {n: request.env[n] for n in start.open if n in request.env}, known, system)
        key |= {(v.name, v.value) for v in _of_packages_alone(start, request, known)}
        if folder := folders.get(start.id):
            key |= {("folder", folder), ("prefix", start.prefix)}
        if key != ours:
            groups.setdefault(key, []).append(start)
    # a way that starts a single program
    first = sorted(groups.values(), key=lambda its: not any(s.prefix or s.argv for s in its))
    done: MadeOnce[Any] = MadeOnce()

    def one(its: list[Start]) -> StartLook:
        found = _look(its, request, done, folders.get(its[0].id, ""))
        request.keep(found)
        return found

    looks = map_in_threads(first[:MOST_LOOKS], one, threads=LOOKING_THREADS)
    return tuple(look for look in looks if look is not None)


def _key(env: dict[str, str], known: EnvironmentKnowledge, system: System) -> frozenset[tuple[str, str]]:
    """Return the variables that decide how programs fare; two sets with the same key are treated as one."""
    rows = {
        (n, v)
        for n, v in env.items()
        if n == SYS_PATH or (is_relevant_variable(Variable(name=n, value=v), known) and _is_relevant(n.upper()))
    }
    path = variable_in(env, "PATH")
    entries = [e for e in searched_entries(path, system, "PATH") if _has_libraries(e.lower(), system)]
    return frozenset({*rows, *((f"PATH {i}", e) for i, e in enumerate(entries))})


def _has_libraries(entry: str, system: System) -> bool:
    """Whether an entry of PATH, in lower case, may have GPU libraries: by its name, or because conda keeps them there on Windows."""
    return any(w in entry for w in CUDA_WORDS) or (
        system == "windows" and entry.rstrip("\\").endswith("\\library\\bin")
    )


def _of_packages_alone(start: Start, request: ProbeRequest, known: EnvironmentKnowledge) -> tuple[Variable, ...]:
    """Return the variables of a way that no table lists, and that this session has not, or otherwise."""
    its = (v for v in start.variables if v.name != SYS_PATH and request.env.get(v.name) != v.value)
    return tuple(v for v in its if not is_relevant_variable(v, known))


def _is_relevant(name: str) -> bool:
    return name != "PATH" and not name.startswith(OF_THE_SESSION)


def _look(starts: list[Start], request: ProbeRequest, done: MadeOnce[Any], folder: str) -> StartLook:
    """Return what one way of starting finds.

    ``done``: results of ways with the same variables for the loader, and for Python. ``folder``: see ``_folders_in_the_way``.
    """
    known = read_table("environment", EnvironmentKnowledge)
    first = starts[0]
    theirs = {v.name: v for v in first.variables}
    env = {
        n: v
        for n, v in request.env.items()
        if not is_relevant_variable(Variable(name=n, value=v), known) or not _is_relevant(n.upper())
    }
    env |= {n: request.env[n] for n in first.open if n in request.env}
    env |= {n: v.value for n, v in theirs.items()}
    if SYS_PATH in theirs:
        rows = [r for r in first.lines if r.name == SYS_PATH]
        env[SYS_PATH] = later_entries((None if r.does == "append" else 0, r.added, r.file, r.line) for r in rows)
    host = HostWithEnvironment(request.host, env)
    its = replace(request, host=host, env=env)
    section = environment.look(its)
    kept = tuple(
        replace(v, source=theirs[v.name].source) if v.name in theirs and theirs[v.name].source else v
        for v in section.variables
        if v.scope == "process" or any(v.source == f for f in first.files)
    )
    loaders = ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT") if request.host.system == "linux" else ("PATH", "Path")
    where = sysroot_of(request.host)
    searched = tuple(effective_entries(n, env.get(n, ""), where) for n in loaders)
    ours = tuple(effective_entries(n, request.env.get(n, ""), where) for n in loaders)
    lead, ours = (_that_lead(request, one, where) for one in (searched, ours))
    differ = lead != ours
    pythons = tuple(n for n in OF_PYTHONS_SEARCH if env.get(n) != request.env.get(n))
    later = ((theirs[SYS_PATH],) if SYS_PATH in theirs else ()) + _of_packages_alone(first, request, known)
    its = replace(its, keep=_nothing)  # Of an examination that is cut short, only complete sections are kept.

    def once(look: Callable[[ProbeRequest], T], *key: Hashable) -> T:
        found: T = done.get((look, *key), lambda: look(its))
        return found

    searches = None
    if folder:
        searches = _imports_from(folder, first, its)
    elif pythons and request.seen.imports is not None:
        searches = once(imports.look, searched, *(env.get(n) for n in (*OF_PYTHONS_SEARCH, *HOMES)))
    return StartLook(
        starts=tuple(s.id for s in starts),
        environment=replace(section, variables=(*kept, *later)),
        loads=once(loading.look_again, searched) if differ and request.seen.loads is not None else None,
        closures=_closures(starts, its, done, searched) if differ and request.seen.closures is not None else None,
        imports=searches,
        counting=(*(n for n, one, other in zip(loaders, lead, ours, strict=True) if one != other), *pythons),
    )


def _folders_in_the_way(request: ProbeRequest) -> dict[str, str]:
    """Return the folder of each way's program, by the way's id, if it is another than this scan's and something in it has the name of a
    module of Python's or of an installed package.
    """
    if request.seen.imports is None:
        return {}
    where = sysroot_of(request.host)
    here = normalise(where.system, start_folder(request, where))
    pythons = {p.prefix: p for p in request.seen.pythons or ()}
    taken: dict[str, frozenset[str]] = {}
    found = {}
    for start in request.seen.starts or ():
        if not start.folder or start.prefix not in pythons or normalise(where.system, start.folder) == here:
            continue
        if start.prefix not in taken:
            installed = (importable_names(s, where) for s in pythons[start.prefix].site_packages)
            # Python's own modules are nearly the same from release to release
            taken[start.prefix] = frozenset().union(sys.stdlib_module_names, *installed)
        if importable_names(start.folder, where) & taken[start.prefix]:
            found[start.id] = start.folder
    return found


def _imports_from(folder: str, start: Start, its: ProbeRequest) -> tuple[ImportSearch, ...]:
    """Return the module searches, that of a way's environment for a program in another folder."""
    only = tuple(p for p in its.seen.pythons or () if p.prefix == start.prefix)
    kept = tuple(s for s in its.seen.imports or () if s.prefix != start.prefix)
    return kept + imports.look(replace(its, script_folder=folder, seen=replace(its.seen, pythons=only)))


def _that_lead(
    request: ProbeRequest, searched: tuple[tuple[str, ...], ...], where: Sysroot
) -> tuple[tuple[str, ...], ...]:
    """Return the entries of the loader's variables that can lead to another file: on Linux, of a name that something here asks for."""
    if where.system != "linux" or request.seen.loads is None or request.seen.closures is None:
        return searched
    return asked_entries(searched[0], asked_names(request), where), *searched[1:]


def _closures(starts: list[Start], its: ProbeRequest, done: MadeOnce[Any], searched: Hashable) -> tuple[Closure, ...]:
    """Return the closures with a way's variables. On Windows, where each DLL is looked for anew and each environment of conda has a PATH
    of its own, ways that start single environments leave the others' closures as they are.
    """
    only = frozenset(s.prefix for s in starts)
    if "" in only or its.host.system != "windows":
        only = frozenset(p.prefix for p in its.seen.pythons or ())

    def look() -> tuple[Closure, ...]:
        pythons = tuple(p for p in its.seen.pythons or () if p.prefix in only)
        kept = tuple(c for c in its.seen.closures or () if c.consumer.prefix not in only)
        return kept + closure.look_again(replace(its, seen=replace(its.seen, pythons=pythons)))

    found: tuple[Closure, ...] = done.get((closure.look_again, searched, only), look)
    return found


def _nothing(_part: object) -> None:
    return None
