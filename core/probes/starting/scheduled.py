"""What is started at a time: cron, anacron, the folders that cron runs, and at(1)."""

from __future__ import annotations

from collections.abc import Iterator

from core.host.startup.plain import read_crontab
from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting.machine import Ground, with_pam
from core.probes.starting.ways import Reached, environment_in


def cron_ways(ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield cron: the person's own crontab, and each of the system's that runs an environment or sets something."""
    plain = State({}, set())
    usual = {"HOME": ground.person.home, "LOGNAME": ground.person.name, "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    plain.values, plain.exported = dict(usual), set(usual)
    with_pam(ground, plain)
    own = f"/var/spool/cron/crontabs/{ground.person.name}"
    if (text := ground.read(own)) is not None:
        state = plain.copy()
        state.files = list(plain.files)
        jobs = read_crontab(text, own, state, system=False)
        yield Reached(kind="cron", at=own, state=state)
        for _user, command in jobs:
            yield from _job(command, own, state, ground, pythons)
    else:
        yield Reached(kind="cron", at=ground.person.name, state=plain)
    for path in ("/etc/crontab", *(f"/etc/cron.d/{n}" for n in ground.around.names("/etc/cron.d"))):
        if (text := ground.read(path)) is None:
            continue
        state = plain.copy()
        state.files = list(plain.files)
        jobs = read_crontab(text, path, state, system=True)
        for _user, command in jobs:
            yield from _job(command, path, state, ground, pythons)
        prefix = next((p for _user, command in jobs if (p := environment_in(command, pythons))), "")
        if prefix or any(user == ground.person.name for user, _command in jobs):
            yield Reached(kind="cron", at=path, state=state, prefix=prefix)


def _job(
    command: str, path: str, plain: State, ground: Ground, pythons: tuple[PythonEnvironment, ...]
) -> Iterator[Reached]:
    """Yield a job of a crontab that starts an environment, with what its own command sets before."""
    from core.probes.starting.commands import Line, python_of_text  # most people have no such job

    state = plain.copy()
    state.files = list(plain.files)
    text = ground.read(path) or ""
    at = text.find(command)
    found = python_of_text(command, Line(path, text.count("\n", 0, at) + 1), state, ground)
    if found and any(p.prefix == found.prefix and p.kind in ("venv", "conda") for p in pythons):
        yield Reached(kind="cron", at=f"{path}: {command}", state=state, prefix=found.prefix, argv=(found.path,))
