"""Which Python runs: a way of starting that seems to belong to one environment but starts another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from core.common.i18n import N_, _, join_sentences
from core.common.shell import quote, shell_command, shell_of
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.model.facts import PythonEnvironment, Snapshot, Start, StartedPython, System
from core.model.findings import Evidence, Finding
from core.model.paths import file_name, is_inside, join_path, normalise, parent
from core.model.remedies import InstallPackages, NamePython
from core.model.steps import Severity
from core.rules.ended_starts import ENDS, ended_start, followed_rows, kept_words, misset_rows
from core.rules.frameworks.advice import framework_pip_command
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.ways import way_words
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation

WHY = {
    "lies in it": N_("The kernel is in this environment"),
    "activated": N_("This environment is activated"),
    "VIRTUAL_ENV": N_("VIRTUAL_ENV names this environment"),
    "CONDA_PREFIX": N_("CONDA_PREFIX names this environment"),
    "name": N_("The kernel is named after this environment"),
    "imports": N_("This environment has what the program imports"),
    "kernel": N_("This environment has what the notebook imports"),
}

OF_SCRIPTS = (".sh", ".bash")
"""Endings of scripts; those of a shell's own start-up files are others."""


def another_python_runs(seen: Snapshot) -> Iterator[Finding]:
    """A kernel, an activation or a shell starts another Python than that of the environment that it names."""
    views = {h.python.prefix: h for h in environment_views(seen)}
    for start in seen.starts or ():
        for one in start.runs:
            home = views.get(one.seems)
            if home is not None and one.fault in ENDS:
                yield ended_start(seen, home, start, one)
                break
            if home is not None and one.prefix != one.seems and not (one.path and not one.prefix):
                runs = views.get(one.prefix)
                yield _finding(seen, home, start, one, runs.python if runs else None)
                break


def _finding(
    seen: Snapshot, home: EnvironmentView, start: Start, one: StartedPython, runs: PythonEnvironment | None
) -> Finding:
    theirs = [d.name for d in runs.distributions] if runs else one.has
    lacking = [*one.lacks] if one.lacks else _lacking(home, theirs or ()) if theirs is not None or not one.path else []
    if one.why == "kernel":
        title = _("The notebook asks for the kernel {name}, which is not here.", name=one.name)
        why = _("Jupyter does not start it: No such kernel named {name}.", name=one.name)
    elif one.path:
        title = _("{path} runs, which is not the Python of {prefix}.", path=one.path, prefix=one.seems)
        why = (
            _(
                "{program} imports {names}, which this Python does not have.",
                program=one.program,
                names=join_names(lacking),
            )
            if one.lacks
            else _("It lacks packages of that environment: {names}.", names=join_names(lacking))
            if lacking
            else _("The program does not run in the environment that it seems to.")
        )
    elif one.fault == "opens the Store":
        title = _("{name} only opens the Microsoft Store, so nothing runs.", name=one.name)
        why = _(
            "It is an alias of Windows', and Python from the Store is not installed. {prefix} has what the program imports.",
            prefix=one.seems,
        )
    elif not re.search(r"[\\/]", one.name):
        title = _("There is no program {name} in PATH, so nothing runs.", name=one.name)
        why = _("{prefix} has what the program imports, and no activation comes before.", prefix=one.seems)
    else:
        title = _("{name} does not exist, so nothing runs.", name=one.name)
        why = _("It seems to start {prefix}, but names an interpreter that no longer exists.", prefix=one.seems)
    if one.dead and seen.machine.system != "windows":
        why = join_sentences(why, _why_dead(one))
    absent = one.why == "imports" and not re.search(r"[\\/]", one.name) and one.fault != "opens the Store"
    cause: Cause = "wrong_environment_active" if one.path or absent else "python_environment_broken"
    advice = _advice(start, one, home)
    if row := one.misset:
        cause, name = "variable_value_wrong", row.name.strip()
        why = join_sentences(why, kept_words(row))
        advice = (
            _(
                "Remove the blanks or quotation marks around {name} in line {line} of {file}",
                name=name,
                line=row.line,
                file=row.file,
            ),
            f'set "{name}={row.value.strip().strip(chr(34))}"',
        )
    told = make_finding(
        "environment.another-python-runs",
        _severity(home, one, lacking),
        _("Only in {ways}: {title}", ways=way_words(seen, (start.id,)), title=title),
        cause=cause,
        why=why,
        evidence=[
            observation(_("Runs"), one.path or one.name, one.source or start.at),
            observation(_(WHY[one.why]), one.seems, start.at),
            *([observation(_dead_label(seen, start, one), one.dead, start.at)] if one.dead else []),
            *followed_rows(start),
            *misset_rows(start, one),
            *([observation(_("The command"), one.command, start.at)] if one.command else []),
            *_led_away(seen, start, one),
            *([observation(_("It is the Python of"), runs.prefix, runs.found_by)] if runs else []),
            home.concerns(),
        ],
        subject=start.at,
        fix=manual_fix(*advice, remedy=None if one.misset else _remedy(start, one, home)),
    )
    return replace(told, ways=(start.id,))


def _why_dead(one: StartedPython) -> str:
    """Return why an activation has no effect on Linux."""
    if one.dead.endswith(OF_SCRIPTS):
        return _(
            "{file} activates an environment in a shell of its own, which ends before Python starts.", file=one.dead
        )
    return _(
        "{file} ends in a shell without a terminal, before it puts {prefix} into PATH.",
        file=one.dead,
        prefix=one.seems,
    )


def _led_away(seen: Snapshot, start: Start, one: StartedPython) -> list[Evidence]:
    """Return the lines of the environment's own activation that make another folder active: it was moved, or copied, since."""
    system = seen.machine.system
    rows = (r for r in start.lines if r.name == "VIRTUAL_ENV" and r.does == "set" and r.value)
    return [
        observation(_("{name} is set here", name=r.name), r.value, f"{r.file}:{r.line}")
        for r in rows
        if one.seems
        and is_inside(system, r.file, one.seems)
        and normalise(system, r.value) != normalise(system, one.seems)
    ]


def _dead_label(seen: Snapshot, start: Start, one: StartedPython) -> str:
    """Return what to say of an activation without effect: a file that is not there, or a line for another shell."""
    dead = one.dead
    if seen.machine.system != "windows" and dead.endswith(OF_SCRIPTS):
        return _("Runs in a process of its own, which activates nothing here")
    if seen.machine.system != "windows":
        return _("Ends in a shell without a terminal")
    if one.finds_no_conda:
        return _("Outside a prompt of conda's, PATH has no program of this name")
    if _is_of_powershell(start) and dead.lower().endswith(".bat"):
        return _("PowerShell runs this in a process of its own, which activates nothing here")
    if re.match(r"(?i)(?:cmd|start|powershell|pwsh)\b(?!.*\\(?:cmd|start)\\)", dead):
        return _("Runs in a process of its own, which activates nothing here")
    foreign = dead.startswith(("source", ".")) or re.match(r"[\w-]+/", dead)
    return _("cmd.exe has no such command") if foreign else _("Activates an environment that is not there")


def _severity(home: EnvironmentView, one: StartedPython, lacking: list[str]) -> Severity:
    """Return the severity: none if both have the same frameworks, or if only a name suggests the environment."""
    if not lacking or home.near > 2 or not one.sure or (one.why == "name" and not one.path):
        return NOTE
    return ERROR if home.near <= 1 else WARNING


def _lacking(home: EnvironmentView, theirs: Collection[str]) -> list[str]:
    """Return the frameworks of the environment that are missing from the Python that runs; ``theirs``: what that one has."""
    return [f"{b.distribution} {b.version}" for b in home.builds if b.distribution not in theirs]


def _remedy(start: Start, one: StartedPython, home: EnvironmentView) -> NamePython | InstallPackages | None:
    """Return the exchange of the interpreter in the lines that name it, or the package with the command that is lacking; none for a kernel
    that its environment could not run.
    """
    if wish := one.brought_by.replace(" ", "=="):
        return InstallPackages(prefix=home.python.prefix, install=(wish,))
    if not one.named_by or not home.python.executable or (start.kind == "notebook" and not _has_kernel(home)):
        return None
    return NamePython(lines=one.named_by, python=home.python.executable, start=start.id)


def _has_kernel(home: EnvironmentView) -> bool:
    return any(d.name == "ipykernel" for d in home.python.distributions)


def _same_kernel(system: System, file: str) -> tuple[str, ...]:
    """Return the options by which ipykernel writes a kernel's file anew: Jupyter takes the first kernel of a name, the person's own before
    an environment's.
    """
    own = parent(system, file)
    share = parent(system, parent(system, parent(system, own)))  # share/jupyter/kernels/NAME
    where = ("--prefix", parent(system, share)) if file_name(system, share) == "share" else ("--user",)
    return (*where, "--name", file_name(system, own))


def _right_activation(start: Start, one: StartedPython, home: EnvironmentView) -> tuple[str, ...]:
    """Return the line that activates the environment in a batch file, or a job, that means to, and does not."""
    system = home.seen.machine.system
    file = start.at.partition(": ")[0]
    if one.dead.endswith(OF_SCRIPTS) and system != "windows":
        return _("In {file}, source this script, and do not run it: {script}.", file=file, script=one.dead), ""
    if one.dead and system != "windows":
        return _(
            "Put the environment first in PATH in {file}", file=file
        ), f'export PATH={quote(f"{one.seems}/bin")}:"$PATH"'
    if not one.dead or not home.python.executable:
        return ()
    folder, by_powershell = parent(system, home.python.executable), _is_of_powershell(start)
    script = join_path(system, folder, "Activate.ps1" if by_powershell else "activate.bat")
    line = f"& {quote(script, 'powershell')}" if by_powershell else f"call {quote(script, shell_of(system))}"
    prefix = quote(one.seems, shell_of(system))
    if one.finds_no_conda:
        having = (p.prefix for p in home.seen.pythons or () if any(d.name == "conda" for d in p.distributions))
        base = next(having, "")
        if not base:
            return ()
        line = f"call {quote(join_path(system, base, 'Scripts', 'activate.bat'), shell_of(system))} {prefix}"
    elif home.python.kind == "conda":
        line = f"{'' if by_powershell else 'call '}conda activate {prefix}"
    return _("In {file}, in the place of {line}:", file=file, line=one.dead), line


def _is_of_powershell(start: Start) -> bool:
    return start.at.lower().endswith(".ps1")


def _advice(start: Start, one: StartedPython, home: EnvironmentView) -> tuple[str, ...]:
    """Return what to do, and the command or the line."""
    own = home.python.executable if home.seen.machine.system == "windows" else ""
    python = own or f"{one.seems}/bin/python"
    system = home.seen.machine.system
    registers = (python, "-m", "ipykernel", "install")
    install = "" if _has_kernel(home) else framework_pip_command(home.seen, home.python, "install", "ipykernel")
    if one.why == "kernel":
        return (
            _("Choose an existing kernel, or create one of this name"),
            install,
            shell_command(*registers, "--prefix", one.seems, "--name", one.name, of=shell_of(system)),
        )
    if start.kind == "notebook":
        file = one.source if file_name(system, one.source) == "kernel.json" else start.at
        return (
            _("Let the kernel start its environment's Python"),
            install,
            shell_command(*registers, *_same_kernel(system, file), of=shell_of(system)),
        )
    if one.lacks:
        if wish := one.brought_by.replace(" ", "=="):
            title = _("Install {packages} in {prefix}", packages=wish, prefix=one.seems)
            return title, framework_pip_command(home.seen, home.python, "install", wish)
        told = (
            _("Start the program with the environment's own Python"),
            python,
            *_right_activation(start, one, home),
        )
        file, _colon, line = one.source.rpartition(":")
        if file and file == start.at.partition(": ")[0] and line.isdigit():
            return (*told, _("Name this Python in {file}, line {line}.", file=file, line=line))
        if start.kind == "script" and not one.dead:
            return (*told, _("Name this Python in {file}.", file=start.at.partition(": ")[0]))
        return told
    return (
        _("Let the environment's own Python come first"),
        _("Remove the line that leads elsewhere: {source}.", source=one.source) if one.source else "",
    )


RULES = (another_python_runs,)
