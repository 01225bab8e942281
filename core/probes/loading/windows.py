"""A consumer's cuDNN dependencies on Windows: every DLL that it needs, with all candidates in the loader's order."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.common.versions import version_tuple
from core.knowledge.cudnn import LoadingMode, Zlibwapi
from core.knowledge.cudnn_file_names import parse_cudnn_name
from core.loader.contents import cuda_major, library_names
from core.loader.cudnn_version import true_version
from core.loader.windows.policy import DEFAULT_DIRS, DLL_LOAD_DIR
from core.loader.windows.search import DllPolicy, DllSearch, cpython_policy, dll_closure, plain_policy
from core.model.facts import Attempt, How, PythonEnvironment, Resolution
from core.probes.sysroot import Sysroot

CUDA_DLL = late_pattern(
    r"(cublas|cublasLt|cudart|nvrtc|nvJitLink)\w*\.dll|nvcuda\.dll|nvrtc-builtins\w+\.dll", re.IGNORECASE
)


NVRTC_DLLS = {11: "nvrtc64_112_0.dll", 12: "nvrtc64_120_0.dll", 13: "nvrtc64_130_0.dll"}
"""CUDA major version -> the NVRTC that cuDNN opens by a composed name (nvrtc64_%d_0.dll).

Names are those in the wheels nvidia-cuda-nvrtc-cu11 11.8.89, -cu12 12.9 and nvidia-cuda-nvrtc 13.
"""

MSVC_RUNTIME = late_pattern(r"(vcruntime140(_1)?|msvcp140(_[12]|_atomic_wait)?|concrt140|vcomp140)\.dll", re.IGNORECASE)
"""Microsoft's C++ runtime of Visual Studio 2015 and later, which frameworks import; CUDA's own libraries contain it."""

NVRTC_ASKERS = ("ops_infer", "engines_precompiled")
"""Roles that name cuBLAS, and so determine CUDA's major version; in cuDNN 9 the graph library opens NVRTC for all."""


def application_folder(python: PythonEnvironment, where: Sysroot) -> str:
    """Return the folder of the program that really runs: a virtual environment's python.exe only starts its base's."""
    settings = where.text(where.join(python.prefix, "pyvenv.cfg"), 1 << 14) or ""
    home = re.search(r"(?m)^home[ \t]*=[ \t]*(\S.*)$", settings)
    return home[1].rstrip() if home else where.parent(python.executable)


def consumer_dll_policy(
    env: Mapping[str, str], application: str, way: LoadingMode | None, folders: tuple[str, ...], where: Sysroot
) -> DllPolicy:
    """Return the policy for a consumer's search for cuDNN.

    ``way``: a framework's way of loading; None for a plain program. ``folders``: the folders of its DLLs, which it
    registers, and those that the environment adds.
    """
    path = variable_in(env, "PATH")
    if way in ("whole folder", "added folders"):
        return cpython_policy(application, path, added=folders, root=where.root)
    return replace(plain_policy(application, path, root=where.root), added=folders)  # as an extension module


def trace_dlls(
    main: str, major: int, policy: DllPolicy, known: Zlibwapi, where: Sysroot, *, preload: tuple[str, ...]
) -> tuple[Resolution, ...]:
    """Resolve the main library (a bare name or a path) and all its cuDNN and CUDA dependencies.

    ``preload``: DLLs that the consumer has loaded by path before; their names then refer to these.
    """
    search = DllSearch(policy)

    def opens(path: str) -> tuple[str, ...]:
        return _dlls_opened_by_name(path, major, search, where)

    found = [r for start in (main, *preload) for r in dll_closure(start, search, opens=opens)]
    wanted = [r for r in found if r.name == main or parse_cudnn_name(r.name, "windows") or CUDA_DLL.fullmatch(r.name)]
    if needs_zlibwapi(found, major, known, where):
        asker = next((r.winner.path for r in found if "cnn_infer" in r.name and r.winner), "")
        wanted.append(DllSearch(policy.for_bare_name(), others=search).resolve("zlibwapi.dll", wanted_by=asker))
    unique: dict[str, Resolution] = {}
    for resolution in wanted:
        unique.setdefault(resolution.name.lower(), resolution)
    return with_loaded_first(unique.values(), preload)


def with_loaded_first(resolutions: Iterable[Resolution], loaded: Iterable[str]) -> tuple[Resolution, ...]:
    """Return the results of searches where these files are loaded before: their names refer to them."""
    paths = {ntpath.basename(path).lower(): path for path in loaded}
    return tuple(_with_loaded_first(r, paths.get(r.name.lower(), "")) for r in resolutions)


def imported_dlls(askers: Sequence[str], way: LoadingMode, policy: DllPolicy) -> tuple[Resolution, ...]:
    """Resolve the CUDA libraries and Microsoft's C++ runtime that a framework's own DLLs import.

    An extension module (.pyd) is loaded by CPython, which does not search PATH; other DLLs as the framework loads them.
    """
    search = DllSearch(policy)
    found: dict[str, Resolution] = {}
    for asker in askers:
        flags = DLL_LOAD_DIR | DEFAULT_DIRS if asker.lower().endswith(".pyd") else policy.flags
        altered = not flags and way == "altered search path"
        its = DllSearch(replace(policy, flags=flags, altered=altered, loading=ntpath.dirname(asker)), others=search)
        for name in search.read_headers(asker).needed:
            if CUDA_DLL.fullmatch(name) or MSVC_RUNTIME.fullmatch(name):
                found.setdefault(name.lower(), its.resolve(name, wanted_by=asker))
    return tuple(found.values())


def _dlls_opened_by_name(path: str, major: int, search: DllSearch, where: Sysroot) -> tuple[str, ...]:
    """Return the DLLs of cuDNN and CUDA that one of cuDNN's files opens by name."""
    own = ntpath.basename(path)
    what = parse_cudnn_name(own, "windows")
    image = search.read_headers(path)
    if what is None or what.major != major or image.state not in ("good", "truncated"):
        return ()
    names = library_names(where.local_path(path))
    opened = [
        n for n in names if n.lower() != own.lower() and (parse_cudnn_name(n, "windows") or CUDA_DLL.fullmatch(n))
    ]
    compiler = NVRTC_DLLS.get(cuda_major((*names, *image.needed)) or 0) if what.role in NVRTC_ASKERS else None
    return (*opened, *([compiler] if compiler and compiler not in opened else []))


def _with_loaded_first(resolution: Resolution, path: str) -> Resolution:
    """Put the file that is already loaded before the others."""
    if not path:
        return resolution
    first = Attempt(path=path, how=How.LOADED, outcome="found")
    others = tuple(a for a in resolution.attempts if ntpath.normcase(a.path) != ntpath.normcase(path))
    return Resolution(name=ntpath.basename(path), wanted_by=resolution.wanted_by, attempts=(first, *others))


def needs_zlibwapi(found: Sequence[Resolution], major: int, known: Zlibwapi, where: Sysroot) -> bool:
    """Whether the cuDNN that was found is of a release that opens zlibwapi.dll, or of an unknown one.

    Only its true version decides, not the name of a file or folder.
    """
    if major != 8:
        return False
    for resolution in found:
        winner = resolution.winner
        if winner and winner.outcome == "found" and "ops_infer" in resolution.name:
            version = true_version(where.local_path(winner.path))[0]
            return version is None or version_tuple(known.first) <= version_tuple(version) < version_tuple(known.below)
    return False
