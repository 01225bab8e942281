"""Effects of an interpreter's start-up code that reading cannot follow: start the interpreter once and record its
sys.path, and which frameworks it refuses to import.

This happens only if there is such code, only for an interpreter that somebody named or uses, and only if nobody else
can change the code. It imports no package beyond those of the start itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from core.host.provenance import Verdict, environment_for
from core.knowledge.modules import module_table
from core.model.facts import EnvironmentFault, PythonEnvironment, StartCode, path_text
from core.probes.loading.origin import runs_here
from core.probes.probe import ProbeRequest
from core.probes.python.search.search_path import shows_whole_effect
from core.probes.sysroot import Sysroot, without_silent_folders
from core.probes.trust import interpreter_verdict, record_execution

START_TIMEOUT_SECONDS = 4.0
"""Seconds; less than the whole probe has."""
SCRIPT = r"""
import json, sys
refused = []
for name in sys.argv[1:]:
    if name in sys.modules and sys.modules[name] is None:
        refused.append((name, "ModuleNotFoundError: import of %s halted; None in sys.modules" % name, ""))
        continue
    for finder in list(sys.meta_path):
        kind = finder if isinstance(finder, type) else type(finder)
        if kind.__module__ in ("_frozen_importlib", "_frozen_importlib_external"):
            continue
        try:
            finder.find_spec(name, None, None)
        except BaseException as e:
            file = getattr(sys.modules.get(kind.__module__), "__file__", None)
            refused.append((name, "%s: %s" % (type(e).__name__, e), file or ""))
            break
sys.stdout.write("\n+" + json.dumps([sys.path, refused]))
"""
"""Print the search path, and which of the named modules start-up code refuses; none is imported."""


def start_faults(
    python: PythonEnvironment, start_code: tuple[StartCode, ...], request: ProbeRequest, where: Sysroot
) -> Iterator[EnvironmentFault]:
    """Yield what the start-up code of a named or active environment does to every program."""
    suspects = [c for c in start_code if not shows_whole_effect(c, where)]
    if not suspects or not python.is_wanted or not python.executable or not runs_here(where):
        return
    verdict = _verdict(python, suspects, where)
    record_execution("interpreter", python.executable, verdict, request)
    if not verdict.may:
        return
    env = {**environment_for(verdict, without_silent_folders(request.env, where)), "PYTHONDONTWRITEBYTECODE": "1"}
    command = (python.executable, "-B", "-c", SCRIPT, *_modules(python))
    done = request.host.run(
        command,
        timeout=START_TIMEOUT_SECONDS,
        env=env,
        watch=request.watch,
        account=verdict.account,
        kind="interpreter",
    )
    import json  # imported late: seldom needed. msgspec's JSON rejects folder names that are not valid text.

    first = suspects[0]
    if not done.out.rpartition("\n+")[1]:
        words = (done.err.strip() or done.out.strip()).splitlines()
        if done.started and not done.timed_out and (done.status or 0) > 0 and _by_start_code(done.err):
            detail = path_text(words[-1][:300]) if words else f"{done.status}"
            yield EnvironmentFault(kind="ended at its start", path=first.source, line=first.line, detail=detail)
        return
    try:
        searched, refused = json.loads(done.out.rpartition("\n+")[2])
    except ValueError:
        return
    same = partial(_as_compared, where)
    found = {same(str(p)) for p in searched if p}
    lost = [f for f in python.site_packages if same(f).startswith(same(python.prefix)) and same(f) not in found]
    if lost and not any(same(f) in found for f in python.site_packages):
        yield EnvironmentFault(kind="packages taken away", path=first.source, line=first.line, detail=lost[0])
    for file, words in dict.fromkeys((f, w) for _name, w, f in refused):
        names = ",".join(n for n, w, f in refused if (f, w) == (file, words))
        detail = path_text(f"{names} {' '.join(words.split())[:300]}")
        yield EnvironmentFault(kind="import refused", path=path_text(file) or first.source, detail=detail)
        return


def _as_compared(where: Sysroot, path: str) -> str:
    return str(where.path_module.normcase(where.real_path(path)))


def _modules(python: PythonEnvironment) -> list[str]:
    """Return the modules of the frameworks of an environment."""
    names = [d.name for d in python.distributions]
    return [
        r.module for r in module_table().modules if r.follow and any(re.fullmatch(r.distributions, n) for n in names)
    ]


def _verdict(python: PythonEnvironment, suspects: list[StartCode], where: Sysroot) -> Verdict:
    """Return whether the interpreter may run: nobody asked for this start, so files that others can change run in a sandbox or not at all."""
    verdict = interpreter_verdict(python, where, also=[c.source for c in suspects])
    foreign = verdict.changeable is not None and verdict.account is None
    return Verdict(may=False, changeable=verdict.changeable) if foreign else verdict


def _by_start_code(said: str) -> bool:
    """Whether Python reached its start-up code; Python itself reports an earlier failure."""
    return "Fatal Python error" not in said or "init_import_site" in said
