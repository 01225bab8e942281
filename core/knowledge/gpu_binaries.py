"""The binaries that each framework loads, in its order, and the names that these open: resources/knowledge/gpu_binaries.json."""

from __future__ import annotations

from typing import Literal

import msgspec

from core.knowledge import tables
from core.model.facts import Frozen


class OpenStep(Frozen, frozen=True, kw_only=True, rename={"first": "from", "fallback": "else", "is_global": "global"}):
    """A library that a framework opens by its path."""

    file: str
    """Pattern below the folder of packages; ``{cuda}``: the digits of the CUDA that the framework was built for."""
    may_fail: bool = False
    """The framework goes on without it."""
    first: str = ""
    """First release that does it."""
    fallback: tuple[str, ...] = ()
    """The library that is opened if this fails, before another try."""
    hosted: bool = False
    """It can be opened only in its own program, which passes something to it first: a child opens its dependencies instead."""
    later: bool = False
    """The framework's import goes on without it: its first use opens it."""
    of_others: bool = False
    """Plug-ins that other packages put there: each of their symbols must be found, not NVIDIA's alone."""
    is_global: bool = False
    """With RTLD_GLOBAL: its symbols serve everything that comes later."""
    beside: str = ""
    """Pattern of the distributions that somebody installs for this part alone; without one of them the part is not used."""
    asked: str = ""
    """What a program of the person's spells that uses this part; no other program comes to it."""


class OpenedNames(Frozen, frozen=True, kw_only=True, rename={"first": "from"}):
    """Names that a library opens by itself."""

    by: str
    names: dict[str, tuple[str, ...]]
    """CUDA major (empty: any) -> names."""
    first: str = ""
    below: str = ""
    needed: bool = True
    """False: only some programs come to it, and its absence alone is no fault."""
    way: Literal["", "ctypes"] = ""
    """How Windows is asked for them: by LoadLibrary, which searches PATH, or by Python's ctypes, which does not."""


class GpuFramework(Frozen, frozen=True, kw_only=True):
    """One framework's binaries."""

    distribution: str
    """Pattern of its name."""
    cuda: str
    """Where its CUDA version stands: a file, "name" for the distribution's own name, or the major itself; empty for nowhere."""
    linux: tuple[OpenStep, ...]
    windows: tuple[OpenStep, ...]
    source: str
    opens: tuple[OpenedNames, ...] = ()
    windows_way: Literal["", "altered search path", "then PATH", "PATH"] = ""
    """How it loads its DLLs; empty: as CPython does since 3.8, without PATH. "then PATH": what fails so with error 126 is
    tried again by LoadLibraryW, with its folders in front of PATH. "PATH": by LoadLibraryW alone, with its folder in front of PATH."""
    windows_added: tuple[tuple[str, str], ...] = ()
    """Variable and tail of the folders that it gives to os.add_dll_directory. "nvcc" is the folder above that of nvcc.exe on
    PATH, which counts where no variable before it names a folder."""
    windows_added_unless: str = ""
    """Pattern of files that it brings itself, so that those folders are not added."""
    windows_finds: str = ""
    """First release that finds NVIDIA's DLLs by cuda-pathfinder: the environment's own packages, then PATH, then CUDA_PATH."""
    finds: str = ""
    """First release that loads the libraries ``found`` by cuda-pathfinder before its own, on Linux."""
    found: tuple[str, ...] = ()
    """In the order in which they need each other: "cublasLt", "cublas"."""
    windows_opens: tuple[OpenedNames, ...] = ()
    """The same as ``opens``, on Windows."""
    after: str = ""
    """The distribution that it imports before."""
    imported: bool = False
    """No framework, but imported by those that require it: their import ends with its own."""
    heavy: bool = False
    """Opening it takes half a second and more: done where something looks wrong, or with --try and --thorough."""


class GpuBinaries(msgspec.Struct, frozen=True):
    """The whole table."""

    known_until: str
    frameworks: tuple[GpuFramework, ...]
    extensions_of: tuple[str, ...]
    extensions_source: str


def gpu_binaries() -> GpuBinaries:
    """Return the table."""
    return tables.read_table("gpu_binaries", GpuBinaries)
