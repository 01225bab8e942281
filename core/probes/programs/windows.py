r"""A program on Windows: the DLLs that it is linked against, and its own DLLs that it opens by path.

PyInstaller's bootloader passes _internal to SetDllDirectory (its manual, "The PyInstaller Bootloader"); llama.cpp opens
ggml-cuda.dll beside the program, Ollama in lib\ollama\cuda_v12.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.knowledge.library_names import parse_library_name
from core.loader.windows.policy import DllPolicy
from core.loader.windows.search import DllSearch, cpython_policy, dll_closure, plain_policy
from core.model.facts import Gap, Resolution
from core.probes.loading.fit_windows import unmet_functions
from core.probes.programs.shortcuts import starting_folders
from core.probes.sysroot import Sysroot

MOST_PLUGINS = 200
"""Maximum number of DLLs examined in a program's own folders."""
DEPTH = 3
r"""Levels of folders below _internal that are searched: cupy_backends\cuda\libs."""
MOST_BESIDE, LEAST_DEEP = 100, 2
"""Entries beside a program that are looked at, and how deep its folder must lie: a drive's whole root is not its own."""
OPTIONAL = late_pattern(r".*(tensorrt|openvino|dnnl|migraphx).*", re.IGNORECASE)
"""Plug-ins of other engines, without which the program works."""

Opens = Callable[[str], Iterable[str]]
"""Returns the names of the libraries that a file opens at run time."""


Dlls = tuple[tuple[Resolution, ...], tuple[Gap, ...], tuple[str, ...]]


def dlls_of(path: str, variables: Mapping[str, str], where: Sysroot, opens: Opens) -> Dlls:
    """Return the resolutions of a program's DLLs, the functions that are missing from them, and files nearby that are
    not found.

    The folder in which a program starts comes before PATH. It is that of a shortcut, if one starts the program in a folder where it
    gets an unfit DLL; else it is not known, and not searched.
    """
    plain = _dlls_from("", path, variables, where, opens)
    wanted = {r.name.lower() for r in plain[0]}
    for folder in starting_folders(path, variables, where.names, where.read):
        if wanted & {name.lower() for name in where.names(folder) or ()}:
            there = _dlls_from(folder, path, variables, where, opens)
            if _unfit(there) - _unfit(plain):
                return there
    return plain


def _unfit(dlls: Dlls) -> set[str]:
    """Return the names that are not found, or lead to no file that this program can load or to one that lacks a function."""
    lost = {r.name.lower() for r in dlls[0] if r.winner is None or r.winner.outcome != "found"}
    return lost | {ntpath.basename(gap.provider).lower() for gap in dlls[1]}


def _dlls_from(current: str, path: str, variables: Mapping[str, str], where: Sysroot, opens: Opens) -> Dlls:
    env = {name.upper(): value for name, value in variables.items()}
    folder = where.parent(path)
    bundle = ntpath.join(folder, "_internal")
    plain = plain_policy(folder, env.get("PATH", ""), current=current, root=where.root)
    if where.is_folder(bundle):
        plain = replace(plain, set_directory=bundle)
    search = DllSearch(plain)
    loaded: dict[str, str] = {}
    found = dict.fromkeys(dll_closure(path, search, opens=opens, loaded=loaded))
    plugins = [p for p in _plugins(path, search, where) if ntpath.basename(p).lower() not in loaded]
    added = _added_folders(bundle, env, where)
    for plugin in plugins:
        its = DllSearch(_policy(plugin, plain, added), others=search)
        before = dict(loaded)  # Each plug-in may be opened without the others.
        found |= dict.fromkeys(r for r in dll_closure(plugin, its, opens=opens, loaded=before) if r.name != plugin)
    named = tuple(r for r in found if "\\" not in r.name and "/" not in r.name)
    gaps = tuple(g for r in named for g in unmet_functions(r, search, r.wanted_by or path))
    lost = {r.name.lower() for r in named if r.winner is None}
    places = dict.fromkeys((*_own_folders(path, where), *(_beside(folder, where) if lost else ())))
    near = (ntpath.join(f, n) for f in places for n in where.names(f) or () if n.lower() in lost)
    return named, gaps, tuple(near)


def _beside(folder: str, where: Sysroot) -> Iterator[str]:
    """Yield the folders beside a program: an archive of its DLLs that was unpacked there has one of its own."""
    if folder.rstrip("\\").count("\\") < LEAST_DEEP:
        return
    for name in sorted(where.names(folder) or ())[:MOST_BESIDE]:
        if where.is_folder(ntpath.join(folder, name)):
            yield from _folders(ntpath.join(folder, name), 1, where)


def _plugins(path: str, search: DllSearch, where: Sysroot) -> Iterator[str]:
    """Yield the DLLs in a program's own folders that name a CUDA library, except NVIDIA's own."""
    looked = 0
    for place in _own_folders(path, where):
        for each in sorted(where.names(place) or ()):
            known = parse_library_name(each.lower())
            if not each.lower().endswith((".dll", ".pyd")) or (known and known.family != "framework"):
                continue
            if OPTIONAL.fullmatch(each) or looked >= MOST_PLUGINS:
                continue
            looked += 1
            image = search.read_headers(ntpath.join(place, each))
            if any(_is_cudas(needed) for needed in image.needed if needed not in image.delayed):
                yield ntpath.join(place, each)


def _own_folders(path: str, where: Sysroot) -> Iterator[str]:
    folder, name = ntpath.split(path)
    yield folder
    yield from _folders(ntpath.join(folder, "_internal"), DEPTH, where)
    yield from _folders(ntpath.join(folder, "lib", ntpath.splitext(name)[0]), 1, where)


def _is_cudas(name: str) -> bool:
    known = parse_library_name(name.lower())
    return known is not None and known.family not in ("", "framework", "vcruntime", "driver", "nvml", "zlibwapi")


def _folders(top: str, depth: int, where: Sysroot) -> Iterator[str]:
    """Yield a folder and those below it."""
    if not where.is_folder(top):
        return
    yield top
    for name in sorted(where.names(top) or ()) if depth else ():
        yield from _folders(ntpath.join(top, name), depth - 1, where) if "." not in name else ()


def _added_folders(bundle: str, env: Mapping[str, str], where: Sysroot) -> tuple[str, ...]:
    """Return the folders that frameworks in a bundle pass to AddDllDirectory when imported."""
    toolkit = env.get("CUDA_PATH", "")
    folders = (ntpath.join(bundle, "torch", "lib"), ntpath.join(toolkit, "bin") if toolkit else "")
    return tuple(f for f in folders if f and where.is_folder(f))


def _policy(plugin: str, plain: DllPolicy, added: tuple[str, ...]) -> DllPolicy:
    """Return how a plug-in is opened: an extension module as CPython does it, any other with an altered search path."""
    if plugin.lower().endswith(".pyd"):
        python = cpython_policy(plain.application, plain.path, added=added, root=plain.root)
        return replace(python, set_directory=plain.set_directory)
    return replace(plain, altered=True)
