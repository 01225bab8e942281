"""What the rules know of releases: typed rows of resources/knowledge, and the few questions that are asked of them."""

from __future__ import annotations

import functools
import re

from core.facts import Fact, System
from core.knowledge import read
from core.steps import Step


class Row(Fact, frozen=True, kw_only=True):
    """Base of all rows: where the fact comes from, and whether it was read there (else it is never shown as certain)."""

    source: str
    verified: bool


class DriverFloor(Row, frozen=True, kw_only=True):
    """The driver that one CUDA version shipped with: the oldest that runs all of it."""

    cuda: str
    linux: str
    windows: str
    """Empty where none is known."""


class Family(Row, frozen=True, kw_only=True):
    """The oldest driver that runs programs of one major CUDA version (minor-version compatibility)."""

    cuda_major: int
    linux: str
    windows: str
    note: str


class Compiler(Row, frozen=True, kw_only=True):
    """What one toolkit's compilers make machine code for (10 x major + minor)."""

    cuda: str
    sm: tuple[int, ...]


class CudnnCode(Row, frozen=True, kw_only=True):
    """The machine code that every GPU-carrying library of one cuDNN release has (10 x major + minor)."""

    version: str
    cuda_major: int
    system: System
    sass: tuple[int, ...]


class Saying(Row, frozen=True, kw_only=True):
    """A fact that findings quote."""

    id: str
    fact: str


class Compatibility(Fact, frozen=True, kw_only=True):
    """compatibility.json."""

    drivers: tuple[DriverFloor, ...]
    families: tuple[Family, ...]
    toolkits: tuple[Compiler, ...]
    cudnn: tuple[CudnnCode, ...]
    facts: tuple[Saying, ...]

    def fact(self, id: str) -> Saying:
        """Return the fact of that id; it is there, a test says so."""
        return next(f for f in self.facts if f.id == id)


class Architecture(Row, frozen=True, kw_only=True):
    """A GPU generation: its first and last CUDA version, and the last driver branch; empty = not ended."""

    architecture: str
    compute_capability: tuple[str, ...]
    first_cuda: str
    last_cuda: str
    last_driver_branch: str


class Gpus(Fact, frozen=True, kw_only=True):
    """gpus.json."""

    architectures: tuple[Architecture, ...]


class FaultyRelease(Row, frozen=True, kw_only=True):
    """A package that was published with a fault, and the neighbour that has it not."""

    package: str
    version: str
    system: str
    """linux or windows; empty for both."""
    missing: str
    """Start of the name of the file that it lacks; empty when it lacks none."""
    what: str
    instead: str
    instead_source: str


class Releases(Fact, frozen=True, kw_only=True):
    """releases.json."""

    faults: tuple[FaultyRelease, ...]


class Code(Row, frozen=True, kw_only=True):
    """A number that cuInit, NVML or the kernel log gave, in plain words."""

    api: str
    code: int
    name: str
    meaning: str
    next: str


class Hints(Fact, frozen=True, kw_only=True):
    """hints.json."""

    codes: tuple[Code, ...]


class Cause(Fact, frozen=True, kw_only=True):
    """A row of causes.json: the vocabulary."""

    cause: str
    step: str
    meaning: str


@functools.cache
def homes_of_causes() -> dict[str, Step]:
    """Return the step in which each cause lives."""
    return {c.cause: Step(c.step) for c in read("causes", tuple[Cause, ...])}


def compatibility() -> Compatibility:
    """Read compatibility.json."""
    return read("compatibility", Compatibility)


def numbers(version: str | None) -> tuple[int, ...]:
    """Return the leading numbers of a dotted version: (12, 4, 127); empty for none."""
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", version or "")
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def older(one: str | None, other: str | None) -> bool | None:
    """Whether ``one`` is older than ``other``, as far as both go (9.1 is not older than 9.1.0); None if unknown."""
    a, b = numbers(one), numbers(other)
    if not a or not b:
        return None
    shared = min(len(a), len(b))
    return a[:shared] < b[:shared]


def differs(one: str | None, other: str | None) -> bool | None:
    """Whether two versions differ, as far as both go; None if one is unknown."""
    a, b = numbers(one), numbers(other)
    if not a or not b:
        return None
    shared = min(len(a), len(b))
    return a[:shared] != b[:shared]


def driver_floor(known: Compatibility, cuda: str, system: System) -> tuple[str, str]:
    """Return the oldest driver that runs programs built for this CUDA version, and the source; empty if unknown.

    From CUDA 11 on any driver of the major version's family serves; before, each version needs its own.
    """
    major_minor = numbers(cuda)
    if not major_minor:
        return "", ""
    for family in known.families:
        if family.cuda_major == major_minor[0] and family.verified:
            return (family.linux if system == "linux" else family.windows), family.source
    for row in known.drivers:
        if numbers(row.cuda) == major_minor[:2] and row.verified:
            return (row.linux if system == "linux" else row.windows), row.source
    return "", ""


def code(api: str, number: int | None) -> Code | None:
    """Return what a status means, where the tables know it."""
    return next((c for c in read("hints", Hints).codes if c.api == api and c.code == number), None)
