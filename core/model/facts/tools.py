"""What compiles, links and starts containers here: the tools section. Nothing of it is run."""

from __future__ import annotations

from core.model.facts.base import Frozen


class HostCompiler(Frozen, frozen=True, kw_only=True):
    """A C or C++ compiler that nvcc and build tools would use."""

    kind: str
    """gcc or clang."""
    path: str
    version: int | None = None
    """Its major version, from its real name or the folder of its own files; None if unknown."""
    named_by: str = ""
    """The variable that names it; "PATH" for the one that is found first there."""


class ContainerEngine(Frozen, frozen=True, kw_only=True):
    """Docker or podman, as a host has it."""

    name: str
    path: str
    runtime: bool | None = None
    """Whether Docker's own configuration names NVIDIA's runtime; None: it has none, or it could not be read."""


class Tools(Frozen, frozen=True, kw_only=True):
    """What builds, compilers of kernels and container engines need of a machine."""

    compilers: tuple[HostCompiler, ...] = ()
    """Those that are used, the first one counts."""
    engines: tuple[ContainerEngine, ...] = ()
    container_toolkit: str = ""
    """A program of NVIDIA's Container Toolkit; empty: there is none in the usual folders."""
    gpu_descriptions: tuple[str, ...] = ()
    """Specifications of CDI that describe NVIDIA's GPUs."""
    libcuda_link: str = ""
    """libcuda.so without a number in a folder that linkers search; empty: there is none."""
    shared_memory: int | None = None
    """Bytes of /dev/shm."""
