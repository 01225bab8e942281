"""One consumer's load, planned: what its loader will find, and the resulting roll call."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.knowledge.cudnn import CudnnKnowledge, LoadingMode, RollCallCheck
from core.knowledge.cudnn_file_names import parse_cudnn_name, shipped_name
from core.loader.linux.search import LoadedFile
from core.loader.windows.search import conda_folders
from core.model.facts import Consumer, How, PythonEnvironment, Resolution, System
from core.probes.loading.consumers import CudnnRequirement
from core.probes.loading.linux import Tracer, consumer_search, preloaded_libraries
from core.probes.loading.roll_call.protocol import LaterLibrary, RollCallRequest
from core.probes.loading.start_path import with_start_path
from core.probes.loading.windows import (
    application_folder,
    consumer_dll_policy,
    imported_dlls,
    trace_dlls,
    with_loaded_first,
)
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

SYSTEMS: tuple[System, ...] = ("linux", "windows")


class LoadPlan(msgspec.Struct, frozen=True):
    """What a child is asked to load, for one consumer and one major version."""

    consumer: Consumer
    wish: CudnnRequirement
    resolutions: tuple[Resolution, ...]
    roll: RollCallRequest | None
    """None if the main library is nowhere, so that nothing can be called; for a plain program the bare name is tried nevertheless."""
    fragile: Mapping[str, int]
    """Functions and parts that need a file which is missing or broken; see ``crash_risk()``."""


class LoadContext(msgspec.Struct, frozen=True):
    """The other input of a plan: request, places, knowledge, and environment variables."""

    request: ProbeRequest
    where: Sysroot
    known: CudnnKnowledge
    env: Mapping[str, str]


def plan_load(
    consumer: Consumer, wish: CudnnRequirement, python: PythonEnvironment | None, setting: LoadContext
) -> LoadPlan:
    """Return the plan for one requirement. ``wish.main``, if set, is loaded by path; else by name."""
    resolve = _on_windows if setting.where.system == "windows" else _on_linux
    resolutions = resolve(wish, python, setting)
    main = _main(wish, resolutions, setting)
    roll = _roll(main, wish, resolutions, setting, added_folders(python)) if main else None
    checks = tuple(c for c in setting.known.checks if c.major == wish.major)
    needed = {f.path: f.needed for copy in setting.request.seen.cudnn or () for f in copy.files}
    return LoadPlan(consumer, wish, resolutions, roll, crash_risk(resolutions, checks, needed))


def _on_linux(wish: CudnnRequirement, python: PythonEnvironment | None, setting: LoadContext) -> tuple[Resolution, ...]:
    search = consumer_search(setting.env, setting.request, setting.where)
    program = [search.load(python.executable)] if python and python.executable else []
    askers = [search.load(path) for path in wish.askers]
    chain: list[LoadedFile] = [*askers[-1:], *program]
    tracer = Tracer(search, wish.major, chain, preloaded_libraries(askers, program, search))
    tracer.trace(wish.main or shipped_name("", wish.major, "linux"))
    return tuple(tracer.resolutions)


def _on_windows(
    wish: CudnnRequirement, python: PythonEnvironment | None, setting: LoadContext
) -> tuple[Resolution, ...]:
    where = setting.where
    application = application_folder(python, where) if python and python.executable else ""
    way: LoadingMode | None = wish.way if wish.askers else "whole folder" if wish.main else None
    added = added_folders(python)
    env = with_start_path(setting.env, python, where) if python else setting.env
    policy = consumer_dll_policy(env, application, way, (*_folders(wish, where), *added), where)
    main = wish.main or shipped_name("", wish.major, "windows")
    traced = trace_dlls(main, wish.major, policy, setting.known.zlibwapi, where, preload=_preload(wish, where))
    return with_loaded_first((*traced, *imported_dlls(wish.askers, wish.way, policy)), wish.loaded)


def added_folders(python: PythonEnvironment | None) -> tuple[str, ...]:
    """Return the folders that an environment on Windows registers for DLLs: from its own settings, and conda's."""
    if python is None:
        return ()
    return (*python.dll_folders, *(conda_folders(python.prefix) if python.kind == "conda" else ()))


def _folders(wish: CudnnRequirement, where: Sysroot) -> tuple[str, ...]:
    """Return the folders of a framework's own DLLs, or of a wheel that is loaded by path."""
    return tuple(dict.fromkeys(where.parent(path) for path in (*wish.askers, wish.main) if path))


def _preload(wish: CudnnRequirement, where: Sysroot) -> tuple[str, ...]:
    """Return the cuDNN DLLs that a consumer on Windows loads by path before anything requests them by name.

    PyTorch and CTranslate2 load every DLL of their folder; users of the bare wheel must do the same, because cuDNN
    opens its parts by name and add_dll_directory does not affect that.
    """
    if where.system != "windows" or not (wish.main or (wish.askers and wish.way == "whole folder")):
        return wish.loaded
    folder = _folders(wish, where)[-1]
    named = ((n, parse_cudnn_name(n, "windows")) for n in where.names(folder) or ())
    return (*wish.loaded, *(where.join(folder, n) for n, what in named if what and what.major == wish.major))


def _main(wish: CudnnRequirement, resolutions: tuple[Resolution, ...], setting: LoadContext) -> str:
    """Return what the child loads: the path that the search predicts, or the bare name for a plain program.

    If a framework's main library is not found, no other way is tried: the search is the result.
    """
    if not wish.main and not wish.askers:
        return shipped_name("", wish.major, setting.where.system)
    return _name_for_child(resolutions[0]) if resolutions and resolutions[0].winner else ""


FOUND_BY_NAME = (How.PATH, How.SYSTEM, How.SYSTEM16, How.WINDOWS, How.LOADED, How.KNOWN_DLL)
"""Ways of Windows' search that lead any process with the consumer's environment to the same file."""


def _name_for_child(resolution: Resolution) -> str:
    """Return the name or path with which the child loads the same file as the consumer.

    cuDNN for Windows uses bare names, and so can the child. On Linux the result depends on the requesting file (RPATH,
    RUNPATH), which a child cannot imitate: it loads the file that the search predicts.
    """
    winner = resolution.winner
    return winner.path if winner and winner.how not in FOUND_BY_NAME else resolution.name


def _roll(
    main: str, wish: CudnnRequirement, resolutions: tuple[Resolution, ...], setting: LoadContext, added: tuple[str, ...]
) -> RollCallRequest:
    where = setting.where
    parts: dict[str, LaterLibrary] = {}
    for resolution in resolutions[1:]:
        what = parse_cudnn_name(resolution.name, where.system)
        if what and what.role and what.major == wish.major and (resolution.winner or resolution.name not in parts):
            parts[resolution.name] = LaterLibrary(name=resolution.name, tries=(_name_for_child(resolution),))
    return RollCallRequest(
        system=where.system,
        major=wish.major,
        main=main,
        preload=_preload(wish, where),
        folders=(*_folders(wish, where), *added) if where.system == "windows" else (),
        functions=tuple(c.function for c in setting.known.checks if c.major == wish.major),
        parts=tuple(parts.values()),
    )


def crash_risk(
    resolutions: tuple[Resolution, ...], checks: tuple[RollCallCheck, ...], needed: Mapping[str, tuple[str, ...]]
) -> dict[str, int]:
    """Return the functions and parts that may crash the process: 1 for their own fault, 2 for a dependency's.

    A function suffers from a part that is missing or broken; loading a missing part only fails, a broken one may crash.
    ``needed``: a file's path -> the names that it is linked against.
    """
    paths = {r.name: r.winner.path for r in resolutions if r.winner}

    def ranked(names: set[str]) -> dict[str, int]:
        ranks = dict.fromkeys(names, 1)
        for _link in range(3):  # the longest chain of cuDNN files that need each other
            new = [name for name, path in paths.items() if ranks.keys() & set(needed.get(path, ()))]
            ranks = {**dict.fromkeys(new, 2), **ranks}
        return ranks

    broken = {r.name for r in resolutions if r.winner and r.winner.outcome != "found"}
    gone = {r.name for r in resolutions} - paths.keys()
    roles = {
        what.role: rank
        for name, rank in ranked(broken | gone).items()
        for system in SYSTEMS
        if (what := parse_cudnn_name(name, system))
    }
    return {**ranked(broken), **{c.function: roles[c.role] for c in checks if c.role in roles}}
