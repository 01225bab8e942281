"""Background services: systemd's services of the person, and those of the system that start an environment."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.host.startup.units import Row, Unit, apply_unit, specifiers, unit_rows
from core.probes.starting.machine import Ground, login_state, with_systemd
from core.probes.starting.services.confinement import confinements
from core.probes.starting.ways import Reached, environment_in

MACHINES_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"

MOST_UNITS = 200
RUN = "/run"
MAY_START_PYTHON = late_pattern(r"/home/|/opt/|/srv/|python|\.py\b|\.sh\b")
"""In the command of a service of the system."""


def service_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the person's own services, and those of the system that start an environment."""
    data = ground.env.get("XDG_DATA_HOME") or ground.at_home(".local/share")
    user = (ground.config("systemd/user"), "/etc/systemd/user", f"{data}/systemd/user")
    system = ("/etc/systemd/system", "/usr/local/lib/systemd/system")
    # systemd.unit(5), "Unit File Search Path"
    packaged = (
        f"{RUN}/user/{ground.person.uid}/systemd/transient",
        "/usr/local/lib/systemd/user",
        "/usr/lib/systemd/user",
    )
    machines = (f"{RUN}/systemd/transient", f"{RUN}/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
    for folders, further, own in ((user, packaged, True), (system, machines, False)):
        for name, path in (*_units(ground, folders), *_packaged(ground, folders, further)):
            yield from _service(name, path, (*folders, *further), ground, own=own)
    installed = {n for folder in (*user, *system) for n in ground.around.names(folder)}
    for path in ground.kept(".service"):
        name = posixpath.basename(path)
        own = bool(_OF_A_PERSON.search(ground.read(path) or ""))
        its = _service(name, path, (posixpath.dirname(path),), ground, own=own) if name not in installed else ()
        yield from (way for way in its if way.runs)


_OF_A_PERSON = late_pattern(r"%h\b|default\.target")
"""In a unit that a project keeps: it is for systemd's user manager."""


def _units(ground: Ground, folders: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each service's name and file; for a template, each instance that is wanted, or the template itself if none is."""
    files: dict[str, str] = {}
    for folder in folders:
        for name in [n for n in ground.around.names(folder) if n.endswith(".service")][:MOST_UNITS]:
            files.setdefault(name, f"{folder}/{name}")
    wanted = dict.fromkeys(
        each
        for folder in folders
        for name in ground.around.names(folder)
        if name.endswith((".wants", ".requires", ".upholds", ".service.d"))
        for each in ([name[:-2]] if name.endswith(".d") else ground.around.names(f"{folder}/{name}"))
        if "@." not in each and "@" in each and each.endswith(".service")
    )
    for name, path in files.items():
        instances = (
            [w for w in wanted if "@" in w and w.partition("@")[0] + "@.service" == name] if "@." in name else []
        )
        for each in instances or [name]:
            yield each, path


def _packaged(ground: Ground, folders: tuple[str, ...], further: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the services of packages and of this boot that a person enabled or changed, by their names in the person's own folders.

    The other services of packages are many, and start what their package brings.
    """
    own = {name for folder in folders for name in ground.around.names(folder)}
    touched = {n.removesuffix(".d") for n in own if n.endswith(".service.d")}
    touched |= {
        each
        for folder in folders
        for name in ground.around.names(folder)
        if name.endswith((".wants", ".requires", ".upholds"))
        for each in ground.around.names(f"{folder}/{name}")
    }
    places = {folder: frozenset(ground.around.names(folder)) for folder in further}
    transient = (n for folder, names in places.items() if folder.startswith(RUN) for n in names)
    for name in sorted({n for n in (*touched, *transient) if n.endswith(".service")} - own):
        file = name if "@" not in name else f"{name.partition('@')[0]}@.service"
        folder = next((f for f, names in places.items() if file in names), "")
        if folder and file not in own:
            yield name, f"{folder}/{file}"


def _service(name: str, path: str, folders: tuple[str, ...], ground: Ground, *, own: bool) -> Iterator[Reached]:
    text = ground.read(path)
    if not text:  # masked
        return
    state = with_systemd(ground, login_state(ground)) if own else State({"PATH": MACHINES_PATH}, {"PATH"})
    person = ground.person
    known = specifiers(
        name,
        home=person.home if own else "/root",
        user=person.name if own else "root",
        uid=person.uid if own else 0,
        config=ground.config(),
        own=own,
    )
    files = [*_conf(ground, own=own), path, *_drop_ins(name, folders, ground)]
    rows: list[Row] = []
    for file in files:
        if (its := ground.read(file)) is not None:
            state.files.append(file)
            rows += unit_rows(its, file)
    unit = apply_unit(rows, state, ground.around, known, own=own)
    prefix = environment_in(unit.command, ground.pythons)
    mine = own or unit.user == person.name
    at = posixpath.join(posixpath.dirname(path), name)
    way = Reached(kind="service", at=at, state=state, prefix=prefix, argv=tuple(unit.command.split()))
    started = None
    if mine or prefix or MAY_START_PYTHON.search(unit.command):
        started = next(_started(unit, way, ground, own=own), None)
    if mine or prefix or started:
        found = started or way
        confined = tuple(confinements(unit, found.prefix, ground, own=own)) if found.prefix else ()
        yield replace(found, confined=confined) if confined else found


def _conf(ground: Ground, *, own: bool) -> Iterator[str]:
    """Yield the manager's configuration files, which may contain DefaultEnvironment= (systemd-user.conf(5))."""
    name = "user.conf" if own else "system.conf"
    places = ["/etc/systemd", *([ground.config("systemd")] if own else [])]
    yield from (f"{place}/{name}" for place in places)
    found = {n: f"{place}/{name}.d/{n}" for place in places for n in ground.around.names(f"{place}/{name}.d")}
    yield from (path for n, path in sorted(found.items()) if n.endswith(".conf"))


def _drop_ins(name: str, folders: tuple[str, ...], ground: Ground) -> list[str]:
    """Return a service's drop-ins in order of file name; a file in a nearer folder hides one of the same name."""
    bare = name.removesuffix(".service")
    template = bare.partition("@")[0] + "@" if "@" in bare else ""
    parts = bare.partition("@")[0].split("-")
    dashes = ["-".join(parts[:n]) + "-" for n in range(len(parts) - 1, 0, -1)]
    kinds = [f"{n}.service.d" for n in dict.fromkeys((bare, template, *dashes)) if n] + ["service.d"]
    found: dict[str, str] = {}
    for kind in kinds:
        for folder in folders:
            for each in ground.around.names(f"{folder}/{kind}") if kind in ground.around.names(folder) else ():
                if each.endswith(".conf"):
                    found.setdefault(each, f"{folder}/{kind}/{each}")
    return [path for _name, path in sorted(found.items())]


def _started(unit: Unit, way: Reached, ground: Ground, *, own: bool) -> Iterator[Reached]:
    """Follow what a service starts, through its scripts; yield the way to the Python that finally runs."""
    # imported late: most people have no such service
    from core.probes.programs.follow import find_named
    from core.probes.starting.commands.command_line import Line, python_without_shell
    from core.probes.starting.commands.runners import words_of
    from core.probes.starting.commands.started_code import program_ways, without_program

    if unit.folder.startswith("/"):
        way.state.values["PWD"] = unit.folder
    words = words_of(unit.command)
    if words and "/" not in words[0]:  # systemd.service(5): PATH= of the unit does not count for it
        rows = unit.settings.get("ExecSearchPath", ())
        searched = rows[-1].value if rows else MACHINES_PATH
        words[0] = find_named(words[0], {"PATH": searched}, ground.where, "/") or words[0]
    found = python_without_shell(words, Line(*unit.at), way.state, ground, whole=True)
    its_own = found is not None and bool(found.arguments) and tuple(words[-len(found.arguments) :]) == found.arguments
    here = unit.folder or (ground.person.home if own else "/")  # systemd.exec(5), "WorkingDirectory="
    moved = any(key in unit.settings for key in ("RootDirectory", "RootImage"))
    absent = without_program(found, here, way, ground) if found and its_own and not moved else None
    if absent:
        yield replace(way, prefix=way.prefix or absent.seems, runs=(absent,))
        return
    for its in program_ways(found, way, ground):
        yield its if its.prefix else replace(its, prefix=way.prefix)
