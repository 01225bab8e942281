"""Programs probe: each program that the person named, its dependencies in its own search order, and what it has mapped."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.knowledge.cudnn_file_names import parse_cudnn_name, shipped_name, sub_libraries
from core.knowledge.library_names import parse_library_name
from core.knowledge.tables import read_table
from core.loader.contents import library_names
from core.loader.linux.search import library_closure
from core.loader.read_image import read_image
from core.model.facts import ExaminedProgram, Gap, Mapped, Resolution, Variable, path_text
from core.probes.loading.linux import consumer_search
from core.probes.probe import ProbeRequest
from core.probes.programs.follow import Followed, find_named, follow
from core.probes.programs.frozen import lost_library
from core.probes.programs.kernels import is_notebook
from core.probes.programs.windows import dlls_of
from core.probes.python.locations import starting_folder
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable

MOST_PLUGINS = 200
"""Maximum number of libraries examined in a program's own folders."""
OPENED = late_pattern(r"[\w+-]+\.so\.\d+(\.\d+)*|[\w+-]+64_\d+(_\d+)?\.dll", re.IGNORECASE)
"""Names that contain a release, by which a program opens a library.

Patterns and link names for compilers are left out.
"""
NEVER_OPENED = ("driver", "nvml", "libcuda", "vcruntime", "zlibwapi")


def look(request: ProbeRequest) -> tuple[ExaminedProgram, ...] | None:
    """Return each program that was named; None if none was. A notebook is a way of starting, and is looked at there."""
    programs = [named for named in request.programs if not is_notebook(named)]
    if not programs:
        return None
    where = sysroot_of(request.host)
    return request.kept(
        _process(named, request, where) if re.fullmatch(r"[0-9]{1,9}", named) else _file(named, request, where)
        for named in programs
    )


# --- a file --------------------------------------------------------------------------------------------------------


def _file(named: str, request: ProbeRequest, where: Sysroot) -> ExaminedProgram:
    path = find_named(named, request.env, where, starting_folder(where))
    if not path:
        return ExaminedProgram(named=named, problem=fact_text("There is no file of this name."))
    if where.is_folder(path):
        return ExaminedProgram(named=named, problem=fact_text("It is a folder, not a program."))
    its = follow(path, request.env, where)
    return _examine_program(ExaminedProgram(named=named), its, request, where)


def _examine_program(known: ExaminedProgram, its: Followed, request: ProbeRequest, where: Sysroot) -> ExaminedProgram:
    if its.problem or not its.path:
        last = its.chain[-1] if its.chain else known.named
        if last.lower().endswith(".exe") and its.problem != "unread":
            return _not_started(known, last, its, where)
        words = {
            "loop": fact_text("It leads back to itself."),
            "unread": fact_text("{path} cannot be read.", path=path_text(last)),
        }.get(its.problem, fact_text("{path} does not tell which program it starts.", path=path_text(last)))
        return replace(known, chain=_texts(its.chain), problem=words, unreadable=its.problem == "unread")
    image = read_image(its.path, root=where.root)
    if image.state != "good" or image.format not in ("ELF", "PE"):
        return _not_started(known, its.path, its, where)
    gaps: tuple[Gap, ...] = ()
    nearby: tuple[str, ...] = ()
    lost, alone = lost_library(its.path, where)
    if image.format == "PE":
        closure, gaps, nearby = dlls_of(its.path, its.env, where, lambda p: _names_opened(p, where))
    else:
        closure = _libraries(its, request, where)
    return replace(
        known,
        path=path_text(its.path),
        chain=_texts(its.chain),
        interpreter=path_text(its.interpreter),
        architecture=image.architecture,
        resolutions=closure,
        gaps=gaps,
        nearby=tuple(map(path_text, nearby)),
        linked=_linked_names(closure, its.path, where),
        lost=path_text(lost),
        alone=alone,
    )


def _not_started(known: ExaminedProgram, path: str, its: Followed, where: Sysroot) -> ExaminedProgram:
    """Return the result for a file that is no program; one that is named .exe but contains something else is damaged."""
    state = read_image(path, root=where.root).state
    if state in ("good", "not a library"):
        state = "damaged" if path.lower().endswith(".exe") else "not a library"
    words = fact_text("{path} cannot be started.", path=path_text(path))
    return replace(known, path=path_text(path), chain=_texts(its.chain), problem=words, state=state)


def _linked_names(closure: Iterable[Resolution], path: str, where: Sysroot) -> tuple[str, ...]:
    """Return the names that a loaded file is linked against; a PE's delay imports are opened at their first call."""
    names: dict[str, None] = {}
    for r in closure:
        image = read_image(r.wanted_by or path, root=where.root)
        if r.name in image.needed and r.name not in image.delayed:
            names[r.name] = None
    return tuple(names)


def _texts(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path_text(p) for p in paths)


def _libraries(its: Followed, request: ProbeRequest, where: Sysroot) -> tuple[Resolution, ...]:
    env = dict(its.env)
    bundle = posixpath.join(posixpath.dirname(its.path), "_internal")
    if where.is_folder(
        bundle
    ):  # PyInstaller's bootloader puts its folder first (its manual, "LD_LIBRARY_PATH / LIBPATH considerations").
        old = env.get("LD_LIBRARY_PATH", "")
        env["LD_LIBRARY_PATH"] = f"{bundle}:{old}" if old else bundle
    search = consumer_search(env, request, where)
    program = search.load(its.path)
    found = dict.fromkeys(library_closure(its.path, search, opens=lambda p: _names_opened(p, where)))
    if its.interpreter:
        return tuple(r for r in found if r.name != its.path)
    for plugin in _plugins(its.path, where):
        found |= dict.fromkeys(
            library_closure(plugin, search, chain=[program], opens=lambda p: _names_opened(p, where))
        )
    return tuple(r for r in found if "/" not in r.name)


def _plugins(path: str, where: Sysroot) -> list[str]:
    """Return the libraries in a program's own folders that name a CUDA library: it opens them by path."""
    folder, name = posixpath.split(path)
    places = [f"{folder}/_internal", f"{posixpath.dirname(folder)}/lib/{name}"]
    places += [f"{p}/{sub}" for p in places for sub in where.names(p) or () if where.is_folder(f"{p}/{sub}")]
    found: list[str] = []
    for place in places:
        for each in where.names(place) or ():
            if ".so" not in each or len(found) >= MOST_PLUGINS:
                continue
            image = read_image(f"{place}/{each}", root=where.root)
            if any(parse_library_name(n) for n in image.needed):
                found.append(f"{place}/{each}")
    return found


def _names_opened(path: str, where: Sysroot) -> tuple[str, ...]:
    """Return the CUDA libraries that a file opens by name, if its strings name a release."""
    name = where.name(path)
    own = parse_cudnn_name(name, where.system)
    if own is None and parse_library_name(name.lower()) is not None and name != path and _is_nvidias(name):
        return ()
    names = library_names(path, root=where.root)
    if own is not None:
        roles = sub_libraries(names, own.major or 9, where.system) if not own.role else ()
        return tuple(shipped_name(role, own.major or 9, where.system) for role in roles)
    out = []
    for each in names:
        known = parse_library_name(each.lower())
        if known and OPENED.fullmatch(each) and known.family not in NEVER_OPENED and each != name:
            out.append(each)
    return tuple(out)


def _is_nvidias(name: str) -> bool:
    known = parse_library_name(name.lower())
    return known is not None and known.family not in ("", "framework")


# --- a process -----------------------------------------------------------------------------------------------------


def _process(named: str, request: ProbeRequest, where: Sysroot) -> ExaminedProgram:
    """Examine a running process: the files that it has mapped, and those that it would find if it started now."""
    known = ExaminedProgram(named=named, pid=int(named))
    if where.system != "linux":
        return replace(known, problem=fact_text("Processes can be named by number on Linux only; name the file."))
    folder = f"/proc/{named}"
    if not where.is_folder(folder):
        return replace(known, problem=fact_text("There is no process {pid}.", pid=named))
    try:
        path = str(call_patiently(os.readlink, where.local_path(f"{folder}/exe")))
    except OSError:
        words = fact_text("This account may not look at the process {pid}, or it has ended.", pid=named)
        return replace(known, problem=words, unreadable=True)
    path = path.removesuffix(" (deleted)")
    own = _variables(where.read(f"{folder}/environ", 1 << 20) or b"")
    table = read_table("environment", EnvironmentKnowledge)
    told = tuple(
        Variable(name=n, value=path_text(v), source=f"{folder}/environ")
        for n, v in sorted(own.items())
        if is_relevant_variable(Variable(name=n, value=v), table)
    )
    mapped, gone = _mapped_files(where.text(f"{folder}/maps", 8 << 20) or "")
    its = follow(path, _if_started_now(own, request.env), where)
    return replace(_examine_program(known, its, request, where), mapped=mapped, gone=gone, variables=told)


def _if_started_now(own: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the process's variables, with the loader's variables of this session."""
    names = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH")
    kept = {n: v for n, v in own.items() if n not in names}
    return kept | {n: env[n] for n in names if n in env}


def _variables(data: bytes) -> dict[str, str]:
    parts = (part.decode("utf-8", "surrogateescape").partition("=") for part in data.split(b"\0") if b"=" in part)
    return {name: value for name, _equals, value in parts}


def _mapped_files(text: str) -> tuple[tuple[Mapped, ...], tuple[str, ...]]:
    """Return the CUDA and cuDNN files in /proc/PID/maps, and those of them that were deleted."""
    found: dict[str, Mapped] = {}
    gone: dict[str, None] = {}
    for line in text.splitlines():
        path = line.split(None, 5)[5] if line.count(" ") >= 5 and "/" in line else ""
        bare = path.removesuffix(" (deleted)")
        name = posixpath.basename(bare)
        known = parse_library_name(name.lower()) if bare else None
        if known and known.family not in ("framework", "vcruntime"):
            found[bare] = Mapped(path=path_text(bare), name=name)
            if bare != path:
                gone[path_text(bare)] = None
    return tuple(found.values()), tuple(gone)
