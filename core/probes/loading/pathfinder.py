"""Where cuda-pathfinder finds NVIDIA's libraries on Linux, which some frameworks load through it.

https://nvidia.github.io/cuda-python/cuda-pathfinder/latest/; read in 1.3.3: cuda/pathfinder/_dynamic_libs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from core.model.facts import Frozen
from core.probes.sysroot import Sysroot

FOLDERS = {"nvJitLink": "nvjitlink", "cublasLt": "cublas", "cudart": "cuda_runtime", "nvrtc": "cuda_nvrtc"}
"""Folder of a library's wheel below nvidia, where it has not the library's name."""

TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH")

BUILTINS_OF_13_0 = ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0")
"""NVRTC in the wheels of CUDA 13.0 has no RUNPATH, so cuda-pathfinder opens what it needs from the same folder itself: load_dl_linux.py
of 1.4.0 to 1.9.1.
"""


class PathfinderFile(Frozen, frozen=True):
    """The file of one library."""

    path: str
    last: bool = False
    """From the toolkit that a variable names, which counts where the system's search finds none."""


def pathfinder_files(
    names: Sequence[str], sites: Sequence[str], env: Mapping[str, str], where: Sysroot
) -> Iterator[PathfinderFile]:
    """Yield the file of each library, as "cublas": in the packages of NVIDIA, in conda's folder, or in a toolkit."""
    conda = env.get("CONDA_PREFIX", "")
    toolkit = next((env[n] for n in TOOLKIT_VARIABLES if env.get(n)), "")
    for name in names:
        file = f"lib{name}.so"
        for relative in (("nvidia", "cu13", "lib"), ("nvidia", FOLDERS.get(name, name), "lib")):
            folders = (where.join(site, *relative) for site in sites)
            found = next((path for folder in folders if (path := _first(folder, file, where))), "")
            if found:
                break
        else:
            found = where.join(conda, "lib", file) if where.path_module.isabs(conda) else ""
        if found and where.is_file(found):
            yield PathfinderFile(found)
            folder, file = where.path_module.split(found)
            main, builtins = BUILTINS_OF_13_0
            if file == main and where.is_file(beside := where.join(folder, builtins)):
                yield PathfinderFile(beside)
        elif where.path_module.isabs(toolkit) and where.is_file(path := where.join(toolkit, "lib64", file)):
            yield PathfinderFile(path, last=True)


def _first(folder: str, file: str, where: Sysroot) -> str:
    """Return the file of a folder that has this name, else the first that begins with it."""
    names = sorted(n for n in where.names(folder) or () if n.startswith(file))
    chosen = file if file in names else next(iter(names), "")
    return where.join(folder, chosen) if chosen else ""
