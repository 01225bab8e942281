"""Facts about releases: typed rows of resources/knowledge, and queries on them."""

from __future__ import annotations

import re

from core.common.versions import version_tuple
from core.knowledge.cudnn_file_names import role_of
from core.knowledge.tables import read_table
from core.model.facts import CudnnCopy, Frozen, System
from core.model.paths import file_name, form_of


class SourcedRow(Frozen, frozen=True, kw_only=True):
    """Base of all rows: the source of the fact, and whether it was verified there (otherwise it is never shown as certain)."""

    source: str
    verified: bool


class DriverFloor(SourcedRow, frozen=True, kw_only=True):
    """The driver released with one CUDA version before 11: the oldest that runs it."""

    cuda: str
    linux: str
    windows: str
    """Empty where none is known."""


class MinorVersionFloor(SourcedRow, frozen=True, kw_only=True):
    """The oldest driver that runs programs of one major CUDA version (minor-version compatibility)."""

    cuda_major: int
    linux: str
    windows: str
    note: str


class Compiler(SourcedRow, frozen=True, kw_only=True):
    """The architectures for which one toolkit's compilers generate machine code (10 x major + minor)."""

    cuda: str
    sm: tuple[int, ...]


class HostCompilers(SourcedRow, frozen=True, kw_only=True):
    """The newest host compilers that one CUDA's nvcc accepts; its own header rejects later ones."""

    cuda: str
    gcc: int
    clang: int


class CudnnCode(SourcedRow, frozen=True, kw_only=True):
    """The architectures for which every GPU library of one cuDNN release has machine code (10 x major + minor)."""

    version: str
    cuda_major: int
    system: System
    processor: str = "x86_64"
    sass: tuple[int, ...]


class QuotedFact(SourcedRow, frozen=True, kw_only=True):
    """A fact that findings quote."""

    id: str
    fact: str


class Compatibility(Frozen, frozen=True, kw_only=True):
    """compatibility.json."""

    known_until: str
    drivers: tuple[DriverFloor, ...]
    families: tuple[MinorVersionFloor, ...]
    toolkits: tuple[Compiler, ...]
    host_compilers: tuple[HostCompilers, ...]
    cudnn: tuple[CudnnCode, ...]
    facts: tuple[QuotedFact, ...]

    def fact(self, id: str) -> QuotedFact:
        """Return the fact with that id; a test ensures that it exists."""
        return next(f for f in self.facts if f.id == id)


class Architecture(SourcedRow, frozen=True, kw_only=True):
    """A GPU generation and the last CUDA that supports it; empty if it is still supported."""

    architecture: str
    compute_capability: tuple[str, ...]
    last_cuda: str


class Gpus(Frozen, frozen=True, kw_only=True):
    """gpus.json."""

    known_until: str
    architectures: tuple[Architecture, ...]


class FaultyRelease(SourcedRow, frozen=True, kw_only=True):
    """A release that was published with a fault, and the neighbouring release without it."""

    package: str
    """The package; empty where every copy of ``cudnn`` has the fault, whoever brings it."""
    cudnn: str
    """Version of cuDNN in the library itself; empty if only the package has the fault."""
    version: str
    """As packages write it."""
    lacks: str
    """Role of the library that it names and does not have; empty when it lacks none."""
    what: str
    instead: str
    instead_source: str


class Releases(Frozen, frozen=True, kw_only=True):
    """releases.json."""

    faults: tuple[FaultyRelease, ...]


class StatusCode(SourcedRow, frozen=True, kw_only=True):
    """A status of cuInit or NVML, in plain words."""

    api: str
    code: int
    name: str
    meaning: str
    next: str


class Hints(Frozen, frozen=True, kw_only=True):
    """hints.json."""

    codes: tuple[StatusCode, ...]


def compatibility_table() -> Compatibility:
    """Read compatibility.json."""
    return read_table("compatibility", Compatibility)


def driver_floor(known: Compatibility, cuda: str, system: System) -> tuple[str, str]:
    """Return the oldest driver that runs programs built for this CUDA version, and the source; empty if unknown.

    From CUDA 11 on, any driver of the major version's family suffices; before, each version needs its own.
    """
    major_minor = version_tuple(cuda)
    if not major_minor:
        return "", ""
    for family in known.families:
        if family.cuda_major == major_minor[0] and family.verified:
            return (family.linux if system == "linux" else family.windows), family.source
    for row in known.drivers:
        if version_tuple(row.cuda) == major_minor[:2] and row.verified:
            return (row.linux if system == "linux" else row.windows), row.source
    return "", ""


def status_code(api: str, number: int | None) -> StatusCode | None:
    """Return the meaning of a status, if it is in the tables."""
    return next((c for c in read_table("hints", Hints).codes if c.api == api and c.code == number), None)


def nvidia_package(owner: str) -> tuple[str, str] | None:
    """Return name and version of the nvidia-* distribution named in an owner's text: nvidia-cudnn-cu12 9.1.0.70."""
    found = re.search(r"\b(nvidia-[a-z0-9-]+)[ =]=?\s*v?(\d[\w.]*)", owner)
    return (found[1], found[2].rstrip(".")) if found else None


def faulty_release(copy: CudnnCopy) -> FaultyRelease | None:
    """Return the row of the release that was published with a fault, if this copy is one and shows the fault."""
    package = nvidia_package(copy.owner)
    for row in read_table("releases", Releases).faults:
        concerned = copy.version == row.cudnn if row.cudnn else package == (row.package, row.version)
        if concerned and (not row.lacks or any(role_of(name) == row.lacks for name in copy.missing)):
            return row
    return None


def is_never_there(row: FaultyRelease | None, name: str) -> bool:
    """Whether a library's name stands for the part that a faulty release lacks."""
    return row is not None and bool(row.lacks) and role_of(file_name(form_of(name), name)) == row.lacks


def files_lost(copy: CudnnCopy) -> tuple[str, ...]:
    """Return the missing files of a copy that its release was published with."""
    row = faulty_release(copy)
    return tuple(name for name in copy.missing if not is_never_there(row, name))
