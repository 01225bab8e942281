"""Tools probe: host compilers, container engines, and the driver's libraries that a linker finds, from files alone (Linux)."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from itertools import chain

import msgspec

from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.common.versions import whole_number
from core.loader.linux.cache import read_cache
from core.model.facts import ContainerEngine, GpuDescription, HostCompiler, Linking, Tools, path_text
from core.model.path_list import searched_entries
from core.probes.driver.kernel import CDI_FOLDERS
from core.probes.probe import ProbeRequest
from core.probes.python.programs.own_programs import starts_workers
from core.probes.sysroot import Sysroot, sysroot_of

COMPILER_VARIABLES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX", "CC")
"""nvcc's own variable, CMake's, and those that build tools pass to nvcc, by precedence."""
ON_PATH = ("gcc", "g++", "cc", "c++", "clang")
_NAME = late_pattern(r"(?:[\w.]+-)*(gcc|g\+\+|clang(?:\+\+)?)(?:-(\d{1,2})(?:\.\d{1,2})*)?")
_NUMBER = late_pattern(r"(\d{1,2})(?:\.\d{1,3}){0,2}")
USUAL_PROGRAMS = ("/usr/local/bin", "/usr/bin", "/usr/local/sbin", "/usr/sbin", "/bin", "/snap/bin")
ENGINES = (("docker", "dockerd"), ("podman", "podman"))
"""An engine, and the program that shows that it runs on this machine: a docker client alone may use another one."""
TOOLKIT_PROGRAMS = ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-container-cli")
DAEMON_FILE = "/etc/docker/daemon.json"
PODMANS_HOOKS = ("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d")
_DEVICE = late_pattern(r"^\s*(?:-\s*)?\"?name\"?:\s*\"?([\w.:-]{1,80})\"?,?\s*$", re.MULTILINE)
_HOSTS_FILE = late_pattern(r"^\s*(?:-\s*)?\"?(?:hostPath|path)\"?:\s*\"?(/[^\s\",]{1,400})\"?", re.MULTILINE)
MOST_LOST = 8
LINKER_FOLDERS = (
    *("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib"),
    *("/usr/local/lib", "/usr/lib/wsl/lib", "/usr/local/cuda/lib64/stubs", "/usr/local/cuda/compat"),
)  # fmt: skip
"""Folders searched by linkers, and by the build tools that add the toolkit's stubs."""
OF_BUILD_TOOLS = ("/usr/lib/wsl/lib", "/usr/local/cuda/lib64/stubs", "/usr/local/cuda/compat")
"""Those of them that a linker does not search by itself."""
TRITON = late_pattern(r"triton(-nightly)?|pytorch-triton")
TRITONS_DRIVERS = ("triton/backends/nvidia/driver.py", "triton/common/build.py")
"""Where Triton 3 and 2 compile and link what starts kernels."""
_LINKS_LIBCUDA = late_pattern(r"""libraries\s*=\s*\[['"]cuda['"]\]|['"]-lcuda['"]""")
"""What their releases up to 3.4 say: later ones may open libcuda.so.1 alone."""
CAP_IPC_LOCK = 14
"""capabilities(7)."""
INFINIBAND = "/sys/class/infiniband"
IOMMU = "/sys/class/iommu"


def look(request: ProbeRequest) -> Tools | None:
    """Return what is installed; None on Windows, where files do not show it."""
    where = sysroot_of(request.host)
    if where.system != "linux":
        return None
    programs = [f for f in searched_entries(request.env.get("PATH", ""), "linux", "PATH") if f.startswith("/")]
    here = not request.seen.machine.other_root
    described = tuple(gpu_descriptions(where, here=here))
    return Tools(
        compilers=tuple(host_compilers(request, programs, where)),
        engines=tuple(engines(where)),
        container_toolkit=next((p for n in TOOLKIT_PROGRAMS if (p := _find(n, USUAL_PROGRAMS, where))), ""),
        gpu_descriptions=tuple(d.path for d in described),
        libcuda_link=_libcuda_link(request, where),
        shared_memory=_shared_memory(where) if here else None,
        workers=starts_workers(request, where) if here else "",
        descriptions=described,
        linking=tuple(linking(request, where)),
        infiniband=tuple(infiniband(where)),
        locked_memory=_locked_memory(where) if here else None,
        iommu=bool(where.names(IOMMU)) if where.is_folder("/sys/class") else None,
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
            runtime = _names_runtime(where) if name == "docker" else _has_hook(where)
            yield ContainerEngine(name=name, path=path, runtime=runtime)


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


def _has_hook(where: Sysroot) -> bool | None:
    """Return whether podman has NVIDIA's hook, which came before CDI; None: it has none."""
    hooks = (n for folder in PODMANS_HOOKS for n in where.names(folder) or ())
    return True if any("nvidia" in name for name in hooks) else None


def gpu_descriptions(where: Sysroot, *, here: bool = True) -> Iterator[GpuDescription]:
    """Yield the specifications that describe NVIDIA's GPUs. ``here``: devices and sockets of this system count."""
    for folder in CDI_FOLDERS:
        for name in where.names(folder) or ():
            path = where.join(folder, name)
            text = (where.text(path, 1 << 20) or "") if name.endswith((".yaml", ".json")) else ""
            if "nvidia.com/gpu" not in text:
                continue
            if name.endswith(".json"):
                text = msgspec.json.format(text, indent=1)  # one value a line, as YAML has it
            named = dict.fromkeys(_HOSTS_FILE.findall(text)) if here else ()
            lost = tuple(path_text(p) for p in named if _is_lost(p, where))
            yield GpuDescription(
                path=path_text(path), devices=tuple(dict.fromkeys(_DEVICE.findall(text))), lost=lost[:MOST_LOST]
            )


def _is_lost(path: str, where: Sysroot) -> bool:
    """Whether a file is certainly not there: a folder that this user may not enter hides it."""
    folder = where.parent(path)
    return not where.exists(path) and not (where.exists(folder) and where.names(folder) is None)


def linking(request: ProbeRequest, where: Sysroot) -> Iterator[Linking]:
    """Yield the packages of each environment that hand -lcuda to a linker when they run, and what that linker finds."""
    for python in request.seen.pythons or ():
        for its in python.distributions:
            if not TRITON.fullmatch(its.name):
                continue
            folders = (its.location,) if its.location else python.site_packages
            files = (where.join(f, name) for f in folders for name in TRITONS_DRIVERS)
            file = next((f for f in files if _LINKS_LIBCUDA.search(where.text(f, 1 << 18) or "")), "")
            if file:
                drivers = _drivers_folders(request, where)
                own = request.env.get("LIBRARY_PATH", "").split(":")
                usual = (f for f in LINKER_FOLDERS if f not in OF_BUILD_TOOLS)
                yield Linking(
                    prefix=python.prefix,
                    reader=f"{its.name} {its.version}",
                    file=path_text(file),
                    drivers=drivers,
                    link=_find("libcuda.so", [f for f in chain(drivers, own, usual) if f.startswith("/")], where),
                )


def _drivers_folders(request: ProbeRequest, where: Sysroot) -> tuple[str, ...]:
    """Return where Triton looks for libcuda.so.1: its own variable, else ldconfig's table, else LD_LIBRARY_PATH."""
    if named := request.env.get("TRITON_LIBCUDA_PATH", "").strip():
        return (named,)
    entries = read_cache(root=where.root) or ()
    found = [posixpath.dirname(e.path) for e in entries if e.name == "libcuda.so.1"]
    found = found or request.env.get("LD_LIBRARY_PATH", "").split(":")
    return tuple(dict.fromkeys(f for f in found if f.startswith("/") and where.exists(where.join(f, "libcuda.so.1"))))


def infiniband(where: Sysroot) -> Iterator[str]:
    """Yield the devices of InfiniBand and RoCE that have an active port."""
    for name in where.names(INFINIBAND) or ():
        ports = where.join(INFINIBAND, name, "ports")
        if any("ACTIVE" in (where.text(where.join(ports, n, "state"), 64) or "") for n in where.names(ports) or ()):
            yield path_text(name)


def _locked_memory(where: Sysroot) -> int | None:
    """Return the bytes that this process may lock; None for no limit, and for whom the kernel exempts from it."""
    import resource

    able = re.search(r"^CapEff:\s*([0-9a-f]{1,16})$", where.text("/proc/self/status", 1 << 14) or "", re.MULTILINE)
    if able is None or int(able[1], 16) >> CAP_IPC_LOCK & 1:
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else soft


def _libcuda_link(request: ProbeRequest, where: Sysroot) -> str:
    named = searched_entries(request.env.get("LIBRARY_PATH", ""), "linux", "LIBRARY_PATH")
    return _find("libcuda.so", (*(f for f in named if f.startswith("/")), *LINKER_FOLDERS), where)


def _shared_memory(where: Sysroot) -> int | None:
    try:
        seen = call_patiently(os.statvfs, where.local_path("/dev/shm"))  # noqa: S108 - asked for its size alone
    except (OSError, ValueError):
        return None
    return seen.f_blocks * seen.f_frsize
