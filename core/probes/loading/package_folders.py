"""The folders in which packages for Windows keep CUDA's libraries, outside every search path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.probes.sysroot import Sysroot


def nvidias_folders(sites: Sequence[str], where: Sysroot) -> Iterator[str]:
    """Yield the folders in which NVIDIA's wheels for Windows keep their DLLs."""
    for base in sites:
        home = where.join(base, "nvidia")
        for part in where.names(home) or ():
            for folder in (where.join(home, part, "bin"), where.join(home, part, "bin", "x86_64")):
                if any(n.lower().endswith(".dll") for n in where.names(folder) or ()):
                    yield folder


def torchs_folders(sites: Sequence[str], where: Sysroot) -> Iterator[str]:
    """Yield the folders in which PyTorch keeps its own, with those of CUDA."""
    for base in sites:
        folder = where.join(base, "torch", "lib")
        if where.names(folder):
            yield folder
