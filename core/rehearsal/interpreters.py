"""Start the interpreter that lines are to name, and let it import what the program asks for."""

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
            if problem := _problem(change.value, [*dict.fromkeys(_modules(start))], host, watch):
                return problem
    return ""


def _modules(start: Start) -> Iterator[str]:
    """Yield what the program imports and the present Python lacks, and the module that the command runs."""
    yield from (name for one in start.runs for name in one.lacks)
    words = start.argv[1:]
    yield from (words[n + 1] for n, word in enumerate(words[:-1]) if word == "-m")


def _problem(python: str, modules: list[str], host: Host, watch: Progress) -> str:
    verdict = may_run({python: True})
    if not verdict.may:
        return _("Other users can change {python}, so it is not started.", python=python)
    asks = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    env = environment_for(verdict, host.fresh_environment())
    argv = [python, "-I", "-B", "-c", asks, *modules]
    done = host.run(argv, timeout=IMPORT_SECONDS, env=env, account=verdict.account, watch=watch)
    if done.status == 0:
        return ""
    said = next((row.strip() for row in reversed(done.err.splitlines()) if row.strip()), "")
    if said:
        return _("{python} does not import {names}: {said}", python=python, names=join_names(modules), said=said)
    return _("{python} does not import {names}.", python=python, names=join_names(modules))
