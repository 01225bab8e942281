"""Tools probe: host compilers, container engines, and the driver's libraries that a linker finds, from files alone
(Linux).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.common.versions import whole_number
from core.model.facts import ContainerEngine, HostCompiler, Tools, path_text
from core.model.path_list import searched_entries
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of

COMPILER_VARIABLES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX", "CC")
"""nvcc's own variable, CMake's, and those that build tools pass to nvcc, by precedence."""
ON_PATH = ("gcc", "g++", "cc", "c++", "clang")
_NAME = re.compile(r"(?:[\w.]+-)*(gcc|g\+\+|clang(?:\+\+)?)(?:-(\d{1,2})(?:\.\d{1,2})*)?")
_NUMBER = late_pattern(r"(\d{1,2})(?:\.\d{1,3}){0,2}")
USUAL_PROGRAMS = ("/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/bin", "/snap/bin")
ENGINES = (("docker", "dockerd"), ("podman", "podman"))
"""An engine, and the program that shows that it runs on this machine: a docker client alone may use another one."""
TOOLKIT_PROGRAMS = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-container-cli")
DAEMON_FILE = "/etc/docker/daemon.json"
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
LINKER_FOLDERS = (
    *("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib"),
    *("/usr/local/lib", "/usr/lib/wsl/lib", "/usr/local/cuda/lib64/stubs", "/usr/local/cuda/compat"),
)  # fmt: skip
"""Folders searched by linkers, and by the build tools that add the toolkit's stubs."""


def look(request: ProbeRequest) -> Tools | None:
    """Return what is installed; None on Windows, where files do not show it."""
    where = sysroot_of(request.host)
    if where.system != "linux":
        return None
    programs = [f for f in searched_entries(request.env.get("PATH", ""), "linux", "PATH") if f.startswith("/")]
    return Tools(
        compilers=tuple(host_compilers(request, programs, where)),
        engines=tuple(engines(where)),
        container_toolkit=next((p for n in TOOLKIT_PROGRAMS if (p := _find(n, USUAL_PROGRAMS, where))), ""),
        gpu_descriptions=tuple(gpu_descriptions(where)),
        libcuda_link=_libcuda_link(request, where),
        shared_memory=_shared_memory(where) if not request.seen.machine.other_root else None,
    )


def _find(name: str, folders: tuple[str, ...] | list[str], where: Sysroot) -> str:
    """Return the first file of that name in the folders."""
    return next((path_text(p) for f in folders if where.is_file(p := where.join(f, name))), "")


def host_compilers(request: ProbeRequest, programs: list[str], where: Sysroot) -> Iterator[HostCompiler]:
    """Yield the compilers that variables name, then the first ones on PATH, each file once."""
    named = [(v, request.env[v].split()[0]) for v in COMPILER_VARIABLES if request.env.get(v, "").strip()]
    told: set[str] = set()
    for source, asked in (*named, *(("PATH", name) for name in ON_PATH)):
        path = asked if asked.startswith("/") else _find(asked, programs, where)
        if source == "NVCC_CCBIN" and where.is_folder(path):
            path = _find("gcc", [path], where)
        if not path or not where.is_file(path):
            continue
        real = where.real_path(path)
        its = _NAME.fullmatch(where.name(real)) or _NAME.fullmatch(where.name(path))
        kind = "clang" if its and its[1].startswith("clang") else "gcc"
        if its is None or kind in told:
            continue
        told.add(kind)
        version = whole_number(its[2]) if its[2] else _own_folder(kind, real, where)
        yield HostCompiler(kind=kind, path=path_text(path), version=version, named_by=source)


def _own_folder(kind: str, real: str, where: Sysroot) -> int | None:
    """Return the major version from a compiler's own folder, lib/gcc/TARGET/13; None if there are several."""
    if kind != "gcc":
        return None
    base = where.join(where.parent(where.parent(real)), "lib", "gcc")
    found = {
        number
        for target in where.names(base) or ()
        if target.endswith(("-linux-gnu", "-linux", "-redhat-linux"))
        for name in where.names(where.join(base, target)) or ()
        if (m := _NUMBER.fullmatch(name)) and (number := whole_number(m[1])) is not None
    }
    return found.pop() if len(found) == 1 else None


def engines(where: Sysroot) -> Iterator[ContainerEngine]:
    """Yield the container engines that run on this machine."""
    for name, program in ENGINES:
        if path := _find(program, USUAL_PROGRAMS, where):
            yield ContainerEngine(name=name, path=path, runtime=_names_runtime(where) if name == "docker" else None)


def _names_runtime(where: Sysroot) -> bool | None:
    text = where.text(DAEMON_FILE, 1 << 18)
    if text is None:
        return None
    try:
        said = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    runtimes = said.get("runtimes") if isinstance(said, dict) else None
    return isinstance(runtimes, dict) and "nvidia" in runtimes


def gpu_descriptions(where: Sysroot) -> Iterator[str]:
    """Yield the specifications that describe NVIDIA's GPUs."""
    for folder in CDI_FOLDERS:
        for name in where.names(folder) or ():
            path = where.join(folder, name)
            if name.endswith((".yaml", ".json")) and "nvidia.com/gpu" in (where.text(path, 1 << 20) or ""):
                yield path_text(path)


def _libcuda_link(request: ProbeRequest, where: Sysroot) -> str:
    named = searched_entries(request.env.get("LIBRARY_PATH", ""), "linux", "LIBRARY_PATH")
    return _find("libcuda.so", (*(f for f in named if f.startswith("/")), *LINKER_FOLDERS), where)


def _shared_memory(where: Sysroot) -> int | None:
    try:
        seen = call_patiently(os.statvfs, where.local_path("/dev/shm"))  # noqa: S108 - asked for its size alone
    except (OSError, ValueError):
        return None
    return seen.f_blocks * seen.f_frsize
