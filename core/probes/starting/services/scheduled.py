"""Scheduled programs: cron, anacron, cron's periodic folders, a project's own table of jobs, and at(1)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.plain import read_crontab
from core.host.startup.state import State
from core.host.startup.syntax import parse
from core.probes.starting.machine import Ground, with_pam
from core.probes.starting.ways import Reached, environment_in


def cron_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the person's crontab, and each system crontab that starts an environment or sets a variable."""
    plain = State({}, set())
    usual = {"HOME": ground.person.home, "LOGNAME": ground.person.name, "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}
    plain.values, plain.exported = dict(usual), set(usual)
    with_pam(ground, plain)
    spools = (f"{folder}/{ground.person.name}" for folder in ("/var/spool/cron/crontabs", "/var/spool/cron"))
    own = next((path for path in spools if ground.around.kind(path) == "file"), "")
    if own and (text := ground.read(own)) is not None:
        state = plain.apart()
        jobs = read_crontab(text, own, state, system=False)
        yield Reached(kind="cron", at=own, state=state)
        for _user, command in jobs:
            yield from _job(command, own, state, ground)
    else:
        yield Reached(kind="cron", at=ground.person.name, state=plain)
    yield from _kept_tables(plain, ground.read(own) if own else None, ground)
    for path in ("/etc/crontab", "/etc/anacrontab", *(f"/etc/cron.d/{n}" for n in ground.around.names("/etc/cron.d"))):
        if (text := ground.read(path)) is None:
            continue
        state = plain.apart()
        own_format = path == "/etc/anacrontab"
        jobs = read_crontab(text, path, state, system=not own_format, fields=3 if own_format else 5)
        for _user, command in jobs:
            yield from _job(command, path, state, ground)
        prefix = next((p for _user, command in jobs if (p := environment_in(command, ground.pythons))), "")
        if prefix or any(user == ground.person.name for user, _command in jobs):
            yield Reached(kind="cron", at=path, state=state, prefix=prefix)
        if path == "/etc/crontab":
            yield from _files(PERIODIC, state, ground)
    yield from _files(SPOOLED, plain, ground)


PERIODIC = ("/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly")
"""Folders whose programs run-parts(8) starts, from a line of /etc/crontab or anacrontab."""

SPOOLED = ("/var/spool/cron/atjobs", "/var/spool/at")
"""Folders of at(1)'s jobs on Debian and Fedora.

A job is a script that first sets every variable of the shell that called at.
"""

_UNESCAPED = late_pattern(r"(?<!\\)%")
"""Behind this sign, a job's line is what its command gets to read (crontab(5))."""
MOST_SCRIPTS = 40
MOST_TABLES = 8
TABLE_NAME = late_pattern(r"crontab|crontab\.txt|.+\.(?:cron|crontab)|crontab\..+")
"""Names of tables that people keep in a project and hand to crontab(1)."""
TABLE_LINE = late_pattern(
    r"\s*(?:#.*|[\"']?[A-Za-z_]\w*[\"']?\s*=.*|@\w+\s+\S.*|(?:[\d*][\w*,/~-]*\s+){2}(?:[\w*,/~-]+\s+){3}\S.*)?"
)
"""A line of crontab(5): nothing, a comment, a variable, or a job behind its times."""


def _kept_tables(plain: State, installed: str | None, ground: Ground) -> Iterator[Reached]:
    """Yield the jobs of the tables in the working folder that start an environment, or a Python that lacks what they import.

    The person's own cron reads none of these before crontab(1) gets it: what it says is what the jobs will do.
    """
    if ground.folder in ("/", ""):
        return
    named = [n for n in ground.around.names(ground.folder) if TABLE_NAME.fullmatch(n)]
    for path in [posixpath.join(ground.folder, n) for n in named][:MOST_TABLES]:
        text = ground.read_file(path)
        if text is None or text == installed or not all(TABLE_LINE.fullmatch(row) for row in text.splitlines()):
            continue
        state = plain.apart()
        for _user, command in read_crontab(text, path, state, system=False):
            yield from _job(command, path, state, ground)


def _files(folders: tuple[str, ...], plain: State, ground: Ground) -> Iterator[Reached]:
    """Yield the scripts in these folders that start an environment."""
    for path in [f"{folder}/{name}" for folder in folders for name in ground.around.names(folder)][:MOST_SCRIPTS]:
        if (text := ground.read(path)) is not None and any(f"{p.prefix}/" in text for p in ground.pythons):
            yield from _started(text, (path, 0), path, plain, ground)


def _job(command: str, path: str, plain: State, ground: Ground) -> Iterator[Reached]:
    """Yield a crontab's job that starts an environment, with the variables that its command sets."""
    text = ground.read(path) or ""
    line = text.count("\n", 0, text.find(command)) + 1
    cut = _UNESCAPED.split(command, maxsplit=1)[0]
    written, read = (part.replace("\\%", "%") for part in (command, cut))
    is_cut = parse(read) is None and parse(written) is not None
    yield from _started(written if is_cut else read, (path, line), f"{path}: {command}", plain, ground, is_cut=is_cut)


def _started(
    text: str, at: tuple[str, int], name: str, plain: State, ground: Ground, *, is_cut: bool = False
) -> Iterator[Reached]:
    from core.probes.starting.commands.command_line import (
        Line,
        language,
        python_of_text,
    )  # imported late: most people have no such job

    state = plain.apart()
    state.values["PWD"] = ground.person.home  # where cron starts it (crontab(5))
    shell = state.values.get("SHELL", "/bin/sh")
    found = python_of_text(text, Line(*at), state, ground, shell=shell)
    if found is not None:
        from core.probes.starting.commands.started_code import program_ways

        if is_cut:
            found = replace(found, ended_at=f"{at[0]}:{at[1]}", ended_by="percent")
        way = Reached(kind="cron", at=name, state=state, argv=(found.path,), text=text, shell=language(shell, ground))
        yield from program_ways(found, way, ground)
