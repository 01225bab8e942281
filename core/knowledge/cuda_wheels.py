"""The releases of NVIDIA's wheels in each release of CUDA: libraries of two releases are not always compatible."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from core.knowledge.tables import read_table


class CudaRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release of CUDA: the middle part of a wheel's name (cuda-nvrtc) -> its version."""

    cuda: str
    packages: dict[str, str]
    source: str
    """The wheel that pins them."""


class CudaWheels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table."""

    source: str
    known_until: str
    releases: tuple[CudaRelease, ...]


TELL_THE_RELEASE = ("cuda-runtime", "cuda-nvrtc", "cuda-cupti", "cublas", "nvjitlink")
"""Wheels whose own version begins with that of their CUDA: nvidia-cuda-runtime-cu12 12.8.90."""


def cuda_wheels() -> CudaWheels:
    """Return the table."""
    return read_table("cuda_wheels", CudaWheels)


def release_beside(name: str, installed: Mapping[str, str]) -> str:
    """Return the first parts of a wheel's version in the CUDA release of the installed wheels; empty if unknown.

    ``installed``: names and versions in the environment. "11.7.3" for nvidia-cusolver-cu12 with a runtime of CUDA 12.8.
    """
    middle, _dash, cuda = name.removeprefix("nvidia-").rpartition("-")
    for teller in TELL_THE_RELEASE:
        version = installed.get(f"nvidia-{teller}-{cuda}", "") if teller != middle else ""
        release = next((r for r in cuda_wheels().releases if version.startswith(f"{r.cuda}.")), None)
        if release and middle in release.packages:
            return ".".join(release.packages[middle].split(".")[:3])
    return ""
