"""Tools probe: files that frameworks run or read by name, if they are missing or unusable.

``core.knowledge.tools`` lists them. A file is missing if a package's RECORD lists it or its reader needs it, and no
toolkit has another one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.knowledge.tools import Builder, SystemProgram, Tool, tool_table
from core.loader import read_image
from core.model.facts import Distribution, PythonEnvironment, path_text
from core.model.facts.framework_tools import ToolState, UnfitTool
from core.probes.loading.asked_parts import is_asked_for
from core.probes.noexec import is_noexec
from core.probes.probe import ProbeRequest
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.installed.gone_files import every_distribution
from core.probes.python.installed.model_files import unfit_models
from core.probes.python.installed.numba_parts import missing_libdevice
from core.probes.python.locations import start_folder
from core.probes.python.programs.checkpoints import models_of_keras_2, newer_models, refused_checkpoints
from core.probes.python.programs.opened_by_programs import absent_libraries
from core.probes.python.programs.program_calls import lacking_for_calls
from core.probes.python.programs.program_folder import texts_of_programs
from core.probes.python.search.search_path import read_interpreter
from core.probes.python.text.module_text import packages_spelt
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.wheel_record import record_rows

USUAL_ROOTS = ("/usr/local/cuda",)
METADATA_BYTES = 64 << 10
"""Bytes read of a distribution's METADATA, whose requirements come first."""


def look(request: ProbeRequest) -> tuple[UnfitTool, ...]:
    """Return each such file that is missing or unusable for a framework of a near environment."""
    return request.kept(_every(request))


def _every(request: ProbeRequest) -> Iterator[UnfitTool]:
    where = sysroot_of(request.host)
    roots = _roots(request, where)
    for python in request.seen.pythons or ():
        request.watch.check()
        for builder in tool_table().builders:
            if builder.system == where.system and (reader := _reader(builder.reader, python)):
                yield from _missing_build_tools(builder, reader, python, request, where)
        if where.system == "linux":
            yield from _missing_programs(python, request, where)
        yield from lacking_for_calls(python, request, where)
        yield from refused_checkpoints(python, request, where)
        yield from newer_models(python, request, where)
        yield from models_of_keras_2(python, request, where)
        yield from absent_libraries(python, request, where)
        yield from missing_libdevice(python, request, where)
        for tool in map(_of_windows, tool_table().tools) if where.system == "windows" else tool_table().tools:
            if (reader := _reader(tool.reader, python)) and not _is_spared(tool, request, where):
                yield from _unfit_tool(tool, reader, python, _of_its_cuda(reader, roots, request, where), where)
    yield from unfit_models(request, where)


def _of_windows(tool: Tool) -> Tool:
    """Return the file as Windows has it: programs have an ending there."""
    if not tool.runs:
        return tool
    others, roots = (tuple(f"{f}.exe" for f in files) for files in (tool.others, tool.roots))
    return replace(tool, file=f"{tool.file}.exe", others=others, roots=roots)


def _reader(pattern: str, python: PythonEnvironment) -> Distribution | None:
    """Return the first distribution whose name has this form."""
    return next((d for d in python.distributions if re.fullmatch(pattern, d.name)), None)


def _missing_build_tools(
    builder: Builder, reader: Distribution, python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> Iterator[UnfitTool]:
    """Yield the missing compiler and header that compiling at run time needs."""
    interpreter = read_interpreter(python.prefix, python.executable, where)
    searched = variable_in(request.env, "PATH")
    if interpreter is None or not searched:
        return

    users = (d.name for d in python.distributions if builder.users and re.fullmatch(builder.users, d.name))
    asked_by = next(users, "") or next((w for w in builder.spelt if is_asked_for(w, request, where)), "")

    def absent(name: str, looked: list[str], *, runs: bool) -> UnfitTool:
        return UnfitTool(
            prefix=python.prefix,
            reader=f"{reader.name} {reader.version}",
            name=name,
            path=path_text(looked[0] if looked else name),
            state="absent",
            runs=runs,
            looked=tuple(path_text(p) for p in looked[:12]),
            builds=True,
            asked_by=asked_by,
            source=builder.source,
        )

    folders = [f for f in searched.split(where.path_module.pathsep) if f]
    places = [where.join(folder, name) for name in builder.compilers for folder in folders]
    if builder.compilers and not request.env.get(builder.variable) and not any(_may_run(p, where) for p in places):
        yield absent(builder.compilers[0], places, runs=True)
    headers, spelt = where.join(interpreter.base, "include"), f"python{interpreter.short_version}"
    there = [n for n in where.names(headers) or () if n.startswith(spelt)]  # The endings "t" and "d" mark other builds.
    if where.system == "windows":
        there, spelt = [""], ""  # one folder for one Python
    if not any(where.is_file(where.join(headers, n, "Python.h")) for n in there):
        yield absent("Python.h", [where.join(headers, spelt, "Python.h")], runs=False)


def _may_run(path: str, where: Sysroot) -> bool:
    return where.is_file(path) and where.may_access(path, os.X_OK)


def _missing_programs(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield the programs of the system by which packages work, and which are neither on PATH nor in the environment."""
    if not request.env.get("PATH"):
        return
    installed = tuple(every_distribution(python, where))
    folders = [where.join(python.prefix, "bin"), *(f for f in request.env["PATH"].split(":") if f)]
    for program in tool_table().programs:
        reader = next((d for d in installed if re.fullmatch(program.reader, d.name)), None)
        looked = [where.join(folder, program.name) for folder in folders]
        if reader and not any(_may_run(p, where) for p in looked) and _is_started(program, request, where):
            brought = _brought_along(reader, installed, where)
            yield UnfitTool(
                prefix=python.prefix,
                reader=f"{reader.name} {reader.version}",
                name=program.name,
                path=path_text(looked[0]),
                state="absent",
                runs=True,
                looked=tuple(path_text(p) for p in looked[:12]),
                asked_by=brought,
                package=program.package,
                source=program.source,
            )


def _is_started(program: SystemProgram, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether a program of the folder may start a program of the system's; where the folder has none, the next one may."""
    texts = texts_of_programs(request, where)
    if any(_names_another(program, text, request, where) for text in texts):
        return False
    return not (texts and program.run_by) or any(re.search(program.run_by, text) for text in texts)


ADDS_TO_PATH = late_pattern(r"\benviron(?:\[[\"']PATH|\.get\([\"']PATH)|\bputenv\b")


def _names_another(program: SystemProgram, text: str, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether a program of the person's says where the system's program is: in a place that is there, or that only the program knows."""
    if program.run_by and not re.search(program.run_by, text):
        return False
    if re.search(rf"\b(?:{program.reader.replace('-', '_')})\b", text) and ADDS_TO_PATH.search(text):
        return True
    found = re.search(program.unless, text) if program.unless else None
    place = next(filter(None, found.groups()), "") if found else ""
    return found is not None and (not place or _may_run(where.join(start_folder(request, where), place), where))


def _brought_along(reader: Distribution, installed: Iterable[Distribution], where: Sysroot) -> str:
    """Return the distribution that requires this one, extras apart; empty where somebody installed it for its own sake."""
    wanted = re.compile(
        rf"(?mi)^Requires-Dist: *{re.escape(reader.name).replace('-', '[-_.]+')}(?![\w.-])(?!.*extra *==)"
    )
    for what in installed:
        info = f"{what.name.replace('-', '_')}-{what.version}.dist-info"
        if what.name != reader.name and wanted.search(
            where.text(where.join(what.location, info, "METADATA"), METADATA_BYTES) or ""
        ):
            return f"{what.name} {what.version}"
    return ""


def _roots(request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return the folders of CUDA toolkits from which a framework may take such files."""
    named = (request.env.get(n, "") for n in ("CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"))
    flags = re.findall(r"--xla_gpu_cuda_data_dir=(\S+)", request.env.get("XLA_FLAGS", ""))
    toolkits = (t.root for t in request.seen.toolkits or ())
    return tuple(
        dict.fromkeys(
            r
            for r in (*named, *flags, *toolkits, *(USUAL_ROOTS if where.system == "linux" else ()))
            if where.path_module.isabs(r)
        )
    )


def _of_its_cuda(
    reader: Distribution, roots: tuple[str, ...], request: ProbeRequest, where: Sysroot
) -> tuple[str, ...]:
    """Return the toolkits, except those of another CUDA version than the one in the reader's name."""
    wanted = re.search(r"cuda(\d\d)", reader.name)
    majors = {where.real_path(t.root): (t.version or "").partition(".")[0] for t in request.seen.toolkits or ()}
    return tuple(r for r in roots if not wanted or majors.get(where.real_path(r), "") in ("", wanted[1]))


def _unfit_tool(
    tool: Tool, reader: Distribution, python: PythonEnvironment, roots: Iterable[str], where: Sysroot
) -> Iterator[UnfitTool]:
    own = [where.join(site, *f.split("/")) for site in python.site_packages for f in (tool.file, *tool.others)]
    there = next((p for p in own if where.exists(p)), "")
    owner, recorded = _owner(tool, there or own[0] if own else "", python, where)
    if there:
        state, detail = _state(tool, there, recorded, python, where)
        if state is None or _serves(tool, (), roots, where):
            return
    else:
        if _serves(tool, (python.prefix,), roots, where) or not (owner or tool.demanded):
            return
        there, state, detail = own[0] if own else "", "absent", ""
        if any(not where.may_access(parent, os.X_OK) for parent in _above(there, where)):
            state = "unreadable"
    yield UnfitTool(
        prefix=python.prefix,
        reader=f"{reader.name} {reader.version}",
        name=tool.name,
        path=path_text(there),
        state=state,
        runs=tool.runs,
        owner=owner,
        detail=detail,
        looked=tuple(path_text(p) for p in (*own, *(where.join(r, *t.split("/")) for r in roots for t in tool.roots)))[
            :12
        ],
        source=tool.source,
    )


def _is_spared(tool: Tool, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether the programs of the folder take nothing of the reader that comes to a file: ``jax.devices()`` alone, say."""
    module, names = tool.spared
    texts = [t for t in texts_of_programs(request, where) if module and re.search(rf"\b{module}\b", t)]
    taken = re.compile(rf"\b(?:{module}|jnp)((?:\.\w+)+)")
    return bool(texts) and all(
        not {*packages_spelt(text)} - STANDARD - {module, "numpy"}
        and not re.search(rf"\bfrom[ \t]+{module}\b|\*\*|%", text)
        and all(re.fullmatch(rf"(?:\.(?:{names}))+", its) for its in taken.findall(text))
        for text in texts
    )


def _serves(tool: Tool, more: Iterable[str], roots: Iterable[str], where: Sysroot) -> bool:
    """Whether a toolkit or conda's folder has a usable copy."""
    places = (where.join(root, *t.split("/")) for root in (*more, *roots) for t in tool.roots)
    return any(where.is_file(p) and (not tool.runs or where.may_access(p, os.X_OK)) for p in places)


def _owner(tool: Tool, path: str, python: PythonEnvironment, where: Sysroot) -> tuple[str, int | None]:
    """Return the distribution whose RECORD lists the file, and the recorded size."""
    if not path:
        return "", None
    pattern = rf"{re.escape(tool.file)}\"?,"
    brings = [
        d for d in python.distributions if re.fullmatch(tool.reader, d.name) or d.name.startswith("nvidia-cuda-nvcc")
    ]
    for d in brings:
        for listed, row in record_rows(d, pattern, where).items():
            if listed == path or where.name(listed) == where.name(path):
                return f"{d.name} {d.version}", row.size
    return "", None


def _state(
    tool: Tool, path: str, recorded: int | None, python: PythonEnvironment, where: Sysroot
) -> tuple[ToolState | None, str]:
    """Return why an existing file is unusable; None if it is usable."""
    seen = where.stat(path)
    if seen is None:
        return "dangling", ""
    if not where.is_file(path):
        return "damaged", ""
    if not where.may_access(path, os.R_OK) and not tool.runs:
        return "unreadable", ""
    if tool.runs:
        if is_noexec(path, where):  # First, because nothing on such a file system can run, whatever its mode.
            return "noexec", ""
        if not where.may_access(path, os.X_OK):
            return "not executable", oct(seen.st_mode & 0o777)[2:]
    head = where.read(path, 4) or b""
    if tool.runs and head == b"\x7fELF":
        image = read_image.read_image(path, root=where.root)
        if image.architecture and python.architecture and image.architecture != python.architecture:
            return "wrong architecture", image.architecture
    if recorded is not None and seen.st_size < recorded:
        return "damaged", f"{seen.st_size} < {recorded}"
    if seen.st_size == 0 or (tool.starts and head and not head.hex().startswith(tool.starts)):
        return "damaged", f"{seen.st_size}"
    return None, ""


def _above(path: str, where: Sysroot) -> Iterator[str]:
    """Yield the existing folders above a path."""
    at = where.parent(path)
    while at != where.parent(at):
        if where.is_folder(at):
            yield at
        at = where.parent(at)
