"""What the person's own programs call, and what these calls need that the called packages do not require: a backend, a tokenizer's
library, a program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator

from core.common.requirements import is_in_specifier, parse_requirement
from core.common.variable_names import variable_in
from core.common.versions import is_older
from core.knowledge.tools import Call, tool_table
from core.model.facts import Distribution, PythonEnvironment, path_text
from core.model.facts.framework_tools import UnfitTool
from core.probes.probe import ProbeRequest
from core.probes.programs.follow import find_named
from core.probes.python.installed.distributions import normalise_name
from core.probes.python.installed.gone_files import every_distribution
from core.probes.python.locations import start_folder
from core.probes.python.programs.libraries_here import libraries_here
from core.probes.python.programs.program_folder import own_programs
from core.probes.python.text.lines_that_run import is_called, text_that_runs
from core.probes.python.text.module_text import packages_spelt
from core.probes.sysroot import Sysroot

CODE_BYTES = 64 << 10


def lacking_for_calls(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield what calls in the programs of the folder need and do not get, each once."""
    texts = {p.path: p.text for p in own_programs(request, where)}
    installed: tuple[Distribution, ...] = ()
    for call in tool_table().calls:
        if call.system not in ("", where.system):
            continue
        asking = [(path, text) for path, text in texts.items() if re.search(call.spelt, text)]
        if not asking:
            continue
        installed = installed or tuple(every_distribution(python, where))
        reader = next((d for d in installed if re.fullmatch(call.reader, d.name) and _is_of_release(d, call)), None)
        if not call.reader:
            asking = [(path, text) for path, text in asking if _is_its_python(text, python, where)]
        elif reader is None:
            continue
        if call.holds[0] and not _asks(call, python, where):
            continue
        if any(re.fullmatch(call.wants, d.name) for d in installed if call.wants):
            continue
        if _is_otherwise(call, installed, texts.values(), request, where):
            continue
        looked = _looked_for(call, python, request, where)
        if looked is None:
            continue
        for path, text in asking:
            line, name = _line_of(call, text, texts.values())
            if line and not any(normalise_name(name) == d.name for d in installed if not call.name):
                yield UnfitTool(
                    prefix=python.prefix,
                    reader=f"{reader.name} {reader.version}" if reader else "",
                    name=name,
                    path=path_text(path),
                    state="damaged" if looked and _is_empty(looked[0], where) else "absent",
                    runs=bool(call.program),
                    looked=tuple(path_text(p) for p in looked[:12]),
                    asked_by=path_text(text.splitlines()[line - 1].strip()[:120]),
                    called=path_text(f"{path}:{line}"),
                    package="" if call.wants else call.program and name,
                    source=call.source,
                )
                break


def _is_its_python(text: str, python: PythonEnvironment, where: Sysroot) -> bool:
    """Whether a program imports a package that is installed in this environment, so that it is started with it."""
    there = {name.partition(".")[0] for site in python.site_packages for name in where.names(site) or ()}
    return not there.isdisjoint(packages_spelt(text))


def _asks(call: Call, python: PythonEnvironment, where: Sysroot) -> bool:
    """Whether the file of the reader that asks for what is needed is there, and unchanged."""
    file, pattern = call.holds
    texts = (where.text(where.join(s, *file.split("/")), CODE_BYTES) for s in python.site_packages)
    return any(text is not None and re.search(pattern, text) for text in texts)


def _is_otherwise(
    call: Call, installed: tuple[Distribution, ...], texts: Collection[str], request: ProbeRequest, where: Sysroot
) -> bool:
    """Whether what is installed, a variable or a file of settings makes a call do without: a variable, also in a program's text."""
    if call.beside:
        wanted = parse_requirement(call.beside)
        its = next((d.version for d in installed if wanted and d.name == wanted.name), "")
        if not wanted or not its or is_in_specifier(wanted.specifier, its) is not True:
            return True
    home = request.env.get("HOME") or request.seen.machine.home
    return any(
        where.is_file(where.join(home, name[2:]))
        if name.startswith("~/")
        else _begins_in_folder(name, request, where)
        if name.startswith("%")
        else request.env.get(name) or any(name in text for text in texts)
        for name in call.chosen
    )


def _begins_in_folder(name: str, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether the folder that a variable names has something whose name begins so."""
    variable, _slash, begins = name.partition("/")
    folder = variable_in(request.env, variable.strip("%"))
    return any(n.startswith(begins) for n in where.names(folder) or ()) if folder else False


def _is_of_release(its: Distribution, call: Call) -> bool:
    return (
        not (call.since and is_older(its.version, call.since))
        and (not call.below or is_older(its.version, call.below) is True)
        and bool(re.search(call.release, its.version))
    )


def _looked_for(call: Call, python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> list[str] | None:
    """Return where a program, or a library that serves as well, was looked for; None where it is there."""
    looked: list[str] = []
    if call.program and where.system == "windows":
        own = [where.join(python.prefix, f) for f in ("Scripts", "Library\\bin")]
        path = variable_in(request.env, "PATH")
        folders = [*own, *(f for f in path.split(";") if f)]
        there = find_named(call.program, {"PATH": ";".join(folders)}, where, start_folder(request, where))
        beside = where.is_file(where.join(start_folder(request, where), f"{call.program}.exe"))
        if there and not beside and _is_empty(there, where) and "\\windowsapps\\" not in there.lower():
            return [there]  # a download that was stopped; the Store's aliases are empty, and work
        return None if there or beside or not path else [where.join(f, f"{call.program}.exe") for f in folders]
    if call.program:
        path = request.env.get("PATH", "")
        folders = [where.join(python.prefix, "bin"), *(f for f in path.split(":") if f.startswith("/"))]
        looked = [where.join(f, call.program) for f in folders]
        first = next((p for p in looked if where.is_file(p) and where.may_access(p, os.X_OK)), "")
        if first and _is_empty(first, where):
            return [first]
        if not path or first:
            return None
    if call.libraries and any(n.startswith(call.libraries) for n in libraries_here(python, request, where)):
        return None
    return looked


def _is_empty(path: str, where: Sysroot) -> bool:
    """Whether a file is there and has no content: no system starts it, and none looks further."""
    about = where.stat(path)
    return about is not None and where.is_file(path) and not about.st_size


def _line_of(call: Call, text: str, texts: Collection[str]) -> tuple[int, str]:
    """Return the first line that calls, outside conditions, ``try`` and functions that nobody calls, 0 for none, and what it needs.
    ``texts``: of all programs of the folder. Without a reader a function may be for what is not installed.
    """
    if call.unless and re.search(call.unless, text):
        return 0, ""
    left = text_that_runs(text, lambda f: bool(call.reader) and is_called(f, call.spelt, texts))
    found = re.search(call.spelt, left)
    if found is None:
        return 0, ""
    return left.count("\n", 0, found.start()) + 1, call.name or found["name"]
