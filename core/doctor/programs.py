"""Turn a person's choice, a file or a running process, into options of a scan, for the window and the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from core.common.i18n import _, translate_fact
from core.host.interface import Host
from core.model.paths import path_module
from core.probes.programs.follow import find_named, follow
from core.probes.programs.kernels import is_notebook
from core.probes.python.locations import starting_folder
from core.probes.sysroot import Sysroot, sysroot_of


class ChosenPrograms(msgspec.Struct, frozen=True):
    """The programs that a person chose, sorted into options of a scan."""

    pythons: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    script: str = ""
    """The first Python script among them."""
    script_folder: str = ""
    """Its folder."""
    problem: str = ""
    """Why a choice is not a program, in one sentence; the scan reports it, too."""


def sort_chosen(chosen: Iterable[str], host: Host) -> ChosenPrograms:
    """Return what was chosen, sorted: each a path, a command, or a process' number. Nothing is run.

    A Python interpreter, an environment's folder, and a script that a Python runs are environments; a notebook is its kernel's
    environment and a program; everything else, and a running Python, too, is a program.
    """
    where = sysroot_of(host)
    pythons: dict[str, None] = {}
    programs: dict[str, None] = {}
    problem = script = folder = ""
    for text in chosen:
        named = text.strip().strip('"')
        if not named:
            continue
        python, is_program, why = _sort(named, host, where)
        if python:
            pythons[python] = None
        if is_program:
            programs[named] = None
        problem = problem or why
        script = script or (_script(named, host, where) if python else "")
        folder = folder or (_folder(named, host, where) if python or is_notebook(named) else "")
    return ChosenPrograms(tuple(pythons), tuple(programs), script, folder, problem)


def _sort(named: str, host: Host, where: Sysroot) -> tuple[str, bool, str]:
    if named.isdecimal():
        python = _python_of_process(named, where)
        gone = where.system == "linux" and not where.is_folder(f"/proc/{named}")
        return python, True, _("There is no process {pid}.", pid=named) if gone else ""
    env = host.fresh_environment()
    path = find_named(named, env, where, starting_folder(where))
    if not path:
        return "", True, _("{name} does not exist.", name=named)
    if where.is_folder(path):
        return path, False, ""
    its = follow(path, env, where)
    if is_notebook(path):  # which kernel it asks for is a fact of its way of starting
        return its.interpreter if where.is_file(its.interpreter) else "", True, ""
    if its.interpreter:
        return its.interpreter, _sets_variables(path, where), ""
    return "", True, "" if its.path else translate_fact(_("{name} does not show which program it starts.", name=named))


def _script(named: str, host: Host, where: Sysroot) -> str:
    """Return the path of a Python script; empty for anything else."""
    path = _file(named, host, where)
    return path if path.endswith((".py", ".pyw")) else ""


def _folder(named: str, host: Host, where: Sysroot) -> str:
    """Return the folder that is searched first for what a script or notebook imports; empty for anything else.

    Python puts the folder of the script, whose links it follows, first on its search path; a notebook's kernel starts in that of the notebook.
    Source: https://docs.python.org/3/library/sys_path_init.html.
    """
    path = _file(named, host, where)
    if not path.endswith((".py", ".pyw", ".ipynb")):
        return ""
    return where.parent(path if is_notebook(path) else where.real_path(path))


def _file(named: str, host: Host, where: Sysroot) -> str:
    """Return the path of the file that was named; empty for a process, or for none."""
    path = "" if named.isdecimal() else find_named(named, host.fresh_environment(), where, starting_folder(where))
    return path if where.is_file(path) else ""


def _sets_variables(script: str, where: Sysroot) -> bool:
    """Whether a script's first line sets variables for its interpreter: then it is a separate way of starting."""
    head = (where.read(script, 256) or b"").partition(b"\n")[0]
    return bool(re.match(rb"#!\s*\S*/env\s.*\w=", head))


def _python_of_process(pid: str, where: Sysroot) -> str:
    """Return the interpreter that a process runs, as it was started: a virtual environment's own path, where it says so."""
    words = (where.read(f"/proc/{pid}/cmdline", 4096) or b"").split(b"\0")
    first = words[0].decode("utf-8", "replace") if words else ""
    real = ""
    try:
        real = os.readlink(where.local_path(f"/proc/{pid}/exe"))  # noqa: PTH115 - the system's own text
    except OSError:
        return ""
    form = path_module("linux")
    if not form.basename(real).startswith("python"):
        return ""
    return first if form.isabs(first) and where.is_file(first) else real
