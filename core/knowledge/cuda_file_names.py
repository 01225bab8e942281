"""The meaning of file names of CUDA's runtime libraries: family, CUDA major version, version. Pure functions."""

from __future__ import annotations

import re

from core.common.late_pattern import late_pattern
from core.common.versions import all_numbers
from core.knowledge import tables
from core.model.facts import Frozen, System, cuda_in_name

PARTS_OF_A_TOOLKIT = ("bin", "lib64", "include")
"""Folders in a toolkit that people name in the place of the toolkit itself."""


class SourcedPlace(Frozen, frozen=True, kw_only=True):
    """Base of all rows: where the fact comes from, and whether it was seen there."""

    source: str
    verified: bool | str = False


class ToolkitRoot(SourcedPlace, frozen=True, kw_only=True):
    """A place of toolkits; the last part of ``path`` may contain a ``*``."""

    system: System
    origin: str
    path: str
    folders: tuple[str, ...]


class LibraryFolders(SourcedPlace, frozen=True, kw_only=True):
    """Sub-folders with the libraries on one system."""

    system: System
    folders: tuple[str, ...]


class FrameworkBundle(SourcedPlace, frozen=True, kw_only=True):
    """A framework that bundles its own CUDA libraries."""

    distribution: str
    path: str


class LibraryFamily(SourcedPlace, frozen=True, kw_only=True):
    """One library of the toolkit: its name on both systems and the wheel that contains it."""

    family: str
    package: str
    windows: str


class MajorMapping(SourcedPlace, frozen=True, kw_only=True):
    """The CUDA version for a family's own number, where these differ."""

    family: str
    number: int
    cuda: int


class Locations(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/locations.json."""

    roots: tuple[ToolkitRoot, ...]
    folders_of_a_toolkit: tuple[LibraryFolders, ...]
    folders_of_conda: tuple[LibraryFolders, ...]
    folders_of_a_wheel: tuple[LibraryFolders, ...]
    folders_of_frameworks: tuple[FrameworkBundle, ...]
    families: tuple[LibraryFamily, ...]
    majors: tuple[MajorMapping, ...]


def toolkit_locations() -> Locations:
    """Return the places of toolkits and the names of their files."""
    return tables.read_table("locations", Locations)


NUMBERED_AS_CUDA = ("cudart", "cublas", "cublasLt", "nvrtc", "nvrtc-builtins", "nvJitLink")
"""Families whose own number begins with CUDA's major."""

_LINUX = late_pattern(r"lib(?P<family>[A-Za-z]+(?:-builtins)?)(?:-[0-9a-f]{8})?(?:\.alt)?\.so(?P<number>(?:\.\d+)*)")
_WINDOWS = late_pattern(r"(?P<family>[a-z-]+?(?:64)?)_(?P<number>[\d_]+)(?:\.alt)?\.dll", re.IGNORECASE)


def library_family(name: str, system: System, known: Locations) -> str | None:
    """Return the family that a file name belongs to; None for any other file."""
    m = (_WINDOWS if system == "windows" else _LINUX).fullmatch(name)
    if not m:
        return None
    if system == "linux":
        return next((f.family for f in known.families if f.family == m["family"]), None)
    return next((f.family for f in known.families if f.windows.lower() == m["family"].lower()), None)


def numbers_in_name(name: str, system: System) -> tuple[int, ...]:
    """Return the numbers in a file name: (12, 4, 127) for libcudart.so.12.4.127, (112, 0) for nvrtc64_112_0.dll."""
    m = (_WINDOWS if system == "windows" else _LINUX).fullmatch(name)
    return all_numbers(m["number"]) if m else ()


def cuda_major(family: str, number: tuple[int, ...], known: Locations) -> int | None:
    """Return the CUDA major version of a library from its name; None if the number belongs to several."""
    if not number:
        return None
    if family in NUMBERED_AS_CUDA:
        return cuda_in_name(number[0])
    return next((m.cuda for m in known.majors if m.family == family and m.number == number[0]), None)


def version_in_name(family: str, number: tuple[int, ...], system: System) -> str | None:
    """Return the true version in the name of a real file; None if it has only the loader's number.

    libcudart.so.11.0 means any CUDA 11 and is no version; only nvrtc-builtins is named after its minor version.
    """
    if system == "linux" and (len(number) >= 3 or (len(number) == 2 and family == "nvrtc-builtins")):
        return ".".join(map(str, number))
    if system == "windows" and family == "nvrtc-builtins" and number and number[0] >= 90:
        return f"{number[0] // 10}.{number[0] % 10}"
    return None
