"""The PATH that a Python on Windows has once its own start-up code ran: sitecustomize, usercustomize and the lines of .pth files.

Their text is followed, and none of it runs. What cannot be followed, or takes entries away, changes nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from core.model.facts import PythonEnvironment
from core.probes.python.search.start_code import MAX_START_CODE_BYTES
from core.probes.sysroot import Sysroot
from core.probes.variables.following.module_run import ModuleRun
from core.probes.variables.following.values import Around

CUSTOMIZES = ("sitecustomize.py", "usercustomize.py")
MOST_PTH = 60


def with_start_path(env: Mapping[str, str], python: PythonEnvironment, where: Sysroot) -> dict[str, str]:
    """Return the variables of this Python's programs: PATH has what its start-up code adds."""
    given = dict(env)
    name = next((n for n in given if n.upper() == "PATH"), "PATH")
    if where.system != "windows":
        return given
    for text in _codes(python, where):
        run = ModuleRun("started", text, Around({n.upper(): v for n, v in given.items()}, where, ""))
        run.whole()
        new = run.env.get("PATH")
        if isinstance(new, str) and _entries(given.get(name, "")) <= _entries(new):
            given[name] = new
    return given


def _entries(path: str) -> set[str]:
    return {e.lower() for e in path.split(";") if e}


def _codes(python: PythonEnvironment, where: Sysroot) -> Iterator[str]:
    """Yield the start-up code that speaks of PATH, in the order in which it runs."""
    for site in python.site_packages:
        for name in [n for n in where.names(site) or () if n.endswith(".pth")][:MOST_PTH]:
            text = where.text(where.join(site, name), MAX_START_CODE_BYTES) or ""
            yield from (r for r in text.splitlines() if r.startswith(("import ", "import\t")) and _is_about_path(r))
    for name in CUSTOMIZES:
        found = (where.join(site, name) for site in python.site_packages)
        file = next((f for f in found if where.is_file(f)), "")
        text = where.text(file, MAX_START_CODE_BYTES) or "" if file else ""
        if _is_about_path(text):
            yield text


def _is_about_path(text: str) -> bool:
    return "environ" in text and ("'PATH'" in text or '"PATH"' in text)
