"""Starting probe: every way in which programs are started on this machine, and its variables.

A plain scan only reads files. It runs a shell only if reading leaves a relevant variable unknown, never with an
administrator's rights, and only if nobody else can change the files that the shell reads.
"""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.linux.files import variables_in
from core.host.provenance import may_run, this_person
from core.host.startup.state import State
from core.knowledge.tables import read_table
from core.model.facts import GoneFile, Start, StartLine, Variable, path_text
from core.model.facts.starting import OF_WINDOWS
from core.probes.probe import ProbeRequest
from core.probes.python.locations import starting_folder
from core.probes.python.search.search_path import SYS_PATH
from core.probes.starting.forbidden_settings import forbidden_settings
from core.probes.starting.given_inside import given_inside_ways
from core.probes.starting.machine import Ground, ground_of
from core.probes.starting.misnamed_settings import misnamed_settings
from core.probes.starting.opened_files import files_opened_in_vain
from core.probes.starting.own_settings import own_settings_ways
from core.probes.starting.projects.any_file import any_file_ways
from core.probes.starting.projects.chosen_pythons import chosen_python_ways
from core.probes.starting.projects.described_programs import described_ways
from core.probes.starting.projects.folders import folder_ways
from core.probes.starting.projects.images import image_ways
from core.probes.starting.projects.named_notebooks import named_notebook_ways
from core.probes.starting.projects.promised_programs import with_promised_programs
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.projects.uv_runs import saved_python_ways, uv_ways
from core.probes.starting.pythons import pythons_of
from core.probes.starting.refused_settings import refused_settings
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
from core.probes.sysroot import sysroot_of
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable, may_be_told

ASK_SECONDS = 2.0
"""Seconds for one shell."""
MOST_BESIDE = 3
OF_ONE_PROGRAM = ("notebook", "service", "cron", "task", "script", "launcher")
"""Ways that start one program, whose variables are meant for it."""


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
        lambda: misnamed_settings(ground),
        lambda: refused_settings(ground),
        lambda: files_opened_in_vain(ground),
        lambda: forbidden_settings(ground),
        lambda: own_settings_ways(ground),  # of two ways of one program, the first counts
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
        lambda: any_file_ways(ground, desktop),
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
