"""Start the interpreter that lines are to name: it imports what the program asks for, and reads its text. Nothing of the program runs."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.common.progress import Progress
from core.common.text import join_names
from core.host.interface import Host
from core.host.provenance import environment_for, may_run
from core.model.changes import Change, EditLine
from core.model.facts import INTERPRETER, Snapshot, Start

IMPORT_SECONDS = 180.0
"""Limit for the imports: a framework's first one from a cold disk takes its time."""


def import_problem(changes: tuple[Change, ...], seen: Snapshot, host: Host, watch: Progress) -> str:
    """Return in a sentence why an interpreter that the changes name does not do; empty where each does, or there is none."""
    starts = {s.id: s for s in seen.starts or ()}
    for change in changes:
        if not isinstance(change, EditLine) or change.name != INTERPRETER:
            continue
        for start in (starts[i] for i in change.starts if i in starts):
            programs = [*dict.fromkeys(one.program for one in start.runs if one.program.endswith(".py"))]
            if problem := _problem(change.value, [*dict.fromkeys(_modules(start))], programs, host, watch):
                return problem
    return ""


IMPORTS = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
READS = "import sys; [compile(open(name, 'rb').read(), name, 'exec', dont_inherit=True) for name in sys.argv[1:]]"
"""Python compiles a program as it does before it runs it: a word that this release does not have ends it here."""


def _modules(start: Start) -> Iterator[str]:
    """Yield what the program imports and the present Python lacks, and the module that the command runs."""
    yield from (name for one in start.runs for name in one.lacks)
    words = start.argv[1:]
    yield from (words[n + 1] for n, word in enumerate(words[:-1]) if word == "-m")


def _problem(python: str, modules: list[str], programs: list[str], host: Host, watch: Progress) -> str:
    verdict = may_run({python: True})
    if not verdict.may:
        return _("Others can change {python}, so it is not started.", python=python)
    env = environment_for(verdict, host.fresh_environment())

    def said_by(asks: str, words: list[str]) -> str | None:
        argv = [python, "-I", "-B", "-c", asks, *words]
        done = host.run(argv, timeout=IMPORT_SECONDS, env=env, account=verdict.account, watch=watch)
        lines = [row.strip() for row in done.err.splitlines() if row.strip()]
        return None if done.status == 0 else next(reversed(lines), "")

    said = said_by(IMPORTS, modules)
    if said:
        return _("{python} does not import {names}: {said}", python=python, names=join_names(modules), said=said)
    if said is not None:
        return _("{python} does not import {names}.", python=python, names=join_names(modules))
    said = said_by(READS, programs) if programs else None
    return (
        ""
        if said is None
        else _("{python} cannot read {names}: {said}", python=python, names=join_names(programs), said=said)
    )
