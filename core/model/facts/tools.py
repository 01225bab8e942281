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
    """Whether the engine's own configuration names NVIDIA's runtime or hook; None: it has none, or it could not be read."""


class GpuDescription(Frozen, frozen=True, kw_only=True):
    """A specification of the Container Device Interface that describes NVIDIA's GPUs."""

    path: str
    devices: tuple[str, ...] = ()
    """Names of its devices: "0", "all"."""
    lost: tuple[str, ...] = ()
    """Files and device nodes of the host that it names and that are not there."""


class Linking(Frozen, frozen=True, kw_only=True):
    """A package that links programs with libcuda when it runs."""

    prefix: str
    """Its environment."""
    reader: str
    """Name and version of the distribution."""
    file: str
    """Where it says so."""
    drivers: tuple[str, ...] = ()
    """Folders with the driver's libcuda.so.1 to which it leads the linker; empty: it finds none, and stops."""
    link: str = ""
    """libcuda.so, without a number, as its linker finds it; empty: there is none."""


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
    workers: str = ""
    """A program, or settings, of the working folder that ask PyTorch's DataLoader for processes of its own."""
    descriptions: tuple[GpuDescription, ...] = ()
    """What the specifications of ``gpu_descriptions`` say."""
    linking: tuple[Linking, ...] = ()
    infiniband: tuple[str, ...] = ()
    """InfiniBand and RoCE devices with a port that is active."""
    locked_memory: int | None = None
    """Bytes that a process of this session may lock in memory; None: as many as it likes, or unknown."""
    iommu: bool | None = None
    """Whether the kernel uses an IOMMU, which redirects what GPUs send to each other."""
