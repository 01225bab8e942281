"""The files of the user-mode driver that a loader could find: version, size, stub or not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.loader import read_image
from core.loader.linux.cache import read_cache
from core.model.facts import DriverLibrary, path_text
from core.model.path_list import LIBRARY_VARIABLE, searched_entries
from core.probes.sysroot import Sysroot

LINUX_NAMES = (
    "libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4",
    "libnvidia-opencl.so.1", "libnvidia-encode.so.1", "libnvcuvid.so.1",
)  # fmt: skip
"""The driver's main libraries, and the further ones that programs or libcuda open by name (utility_libs, compute_libs
and video_libs of src/nvc_info.c in NVIDIA/libnvidia-container).
"""
WINDOWS_NAMES = ("nvcuda.dll", "nvml.dll", "nvcuvid.dll", "nvEncodeAPI64.dll")

MAX_STUB_BYTES = 1 << 20
"""Maximum size in bytes of a stub, which has some tens of kilobytes; real libcuda and libnvidia-ml are larger."""

_VERSION = late_pattern(r"\.so\.(\d+\.\d+(?:\.\d+)*)$")
_STUB_WORDS = (b"is a stub library", b"CUDA driver is a stub library")
"""The text that NVML's stub prints when it is called, and the driver API's message for status 34."""


class DriverFolder(NamedTuple):
    """A folder that may contain the driver, and why it is examined."""

    path: str
    source: str


def search_folders(env: Mapping[str, str], where: Sysroot) -> tuple[DriverFolder, ...]:
    """Return the folders that hold drivers, those of LD_LIBRARY_PATH first."""
    if where.system == "windows":
        system = variable_in(env, "SYSTEMROOT", "C:\\Windows")
        programs = variable_in(env, "PROGRAMFILES", "C:\\Program Files")
        nvsmi = where.join(programs, "NVIDIA Corporation", "NVSMI")
        return (DriverFolder(where.join(system, "System32"), "System32"), DriverFolder(nvsmi, "NVSMI"))
    entries = searched_entries(env.get(LIBRARY_VARIABLE, ""), "linux", LIBRARY_VARIABLE)
    named = (DriverFolder(f.rstrip("/") or "/", LIBRARY_VARIABLE) for f in entries if f.startswith("/"))
    cached = (
        DriverFolder(where.parent(e.path), "ld.so.cache")
        for e in read_cache(root=where.root) or ()
        if e.name in LINUX_NAMES
    )
    return (*named, *cached, *_usual_folders())


def _usual_folders() -> Iterator[DriverFolder]:
    for folder in ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"):
        yield DriverFolder(folder, "default folder")
    for folder in ("/usr/lib/aarch64-linux-gnu", "/usr/lib64/nvidia", "/usr/lib/x86_64-linux-gnu/nvidia/current"):
        yield DriverFolder(folder, fact_text("distribution's folder for drivers"))
    yield DriverFolder("/usr/lib/wsl/lib", "WSL")
    for folder in (f"/run/nvidia/driver/usr/lib/{processor}-linux-gnu" for processor in ("x86_64", "aarch64")):
        yield DriverFolder(folder, fact_text("driver container of the GPU operator"))
    for folder in ("/usr/local/nvidia/lib64", "/usr/local/nvidia/lib"):
        yield DriverFolder(folder, fact_text("container runtime"))
    yield DriverFolder("/usr/local/cuda/compat", fact_text("CUDA compatibility package"))


def driver_libraries(folders: Iterable[DriverFolder], where: Sysroot) -> tuple[DriverLibrary, ...]:
    """Return every driver library in ``folders``, each path once; links to the same file are listed with it."""
    names = WINDOWS_NAMES if where.system == "windows" else LINUX_NAMES
    seen: set[tuple[str, str]] = set()
    found = []
    for folder in folders:
        real_folder = where.real_path(folder.path)
        for name in names:
            path = where.join(folder.path, name)
            if (real_folder, name) in seen or not where.exists(path):
                continue
            seen.add((real_folder, name))
            found.append(describe_driver_library(path, folder.source, where))
    return tuple(found)


def describe_driver_library(path: str, source: str, where: Sysroot) -> DriverLibrary:
    """Return what can be seen of the file at ``path`` without loading it."""
    real = where.real_path(path)
    image = read_image.read_image(where.local_path(path))
    version = _VERSION.search(real)
    return DriverLibrary(
        path=path_text(path),
        real_path=path_text(real) if where.path_module.normcase(real) != where.path_module.normcase(path) else "",
        version=version[1] if version else None,
        stub=is_stub(path, real, image.size, where),
        size=image.size,
        problem=image.problem,
        source=source,
        state=image.state,
    )


def is_driver_stub(path: str, where: Sysroot) -> bool:
    """Whether a file is the link-time stub of the driver's library for CUDA or of NVML."""
    seen = where.stat(path)
    known = where.name(path).startswith(("libcuda.so", "libnvidia-ml.so"))
    return bool(known and seen and is_stub(path, where.real_path(path), seen.st_size, where))


def is_stub(path: str, real: str, size: int | None, where: Sysroot) -> bool | None:
    """Whether a file is the toolkit's link-time stub. None for a small file that does not identify itself as one."""
    if "stubs" in path.split("/") or "stubs" in real.split("/"):
        return True
    if size is None or size >= MAX_STUB_BYTES:
        return False if size is not None else None
    content = where.read(path, MAX_STUB_BYTES) or b""
    return True if any(words in content for words in _STUB_WORDS) else None
