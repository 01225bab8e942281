"""Remedies: what would cure a finding, as data. The rule that knows it says it; core/fixes/catalogue.py makes Changes of it."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

from msgspec.structs import replace

from core.model.facts import Frozen

T = TypeVar("T")


class Place(Frozen, frozen=True, kw_only=True):
    """A folder, and the environment that it matters to."""

    folder: str
    prefix: str = ""
    """Empty for a program of no environment."""


class Unset(Frozen, frozen=True, kw_only=True, tag=True):
    """Take a variable away, wherever it is kept."""

    variable: str


class PointTo(Frozen, frozen=True, kw_only=True, tag=True):
    """Let a variable that names one folder name another."""

    variable: str
    folder: str
    """Empty where no folder is right: the variable is taken away."""
    right: tuple[str, ...] = ()
    """Folders that it may name: a kept value that names one of them stays."""


class AddFolder(Frozen, frozen=True, kw_only=True, tag=True):
    """Put a folder on the search path."""

    folder: str
    more: tuple[str, ...] = ()
    """Further folders, behind it."""
    prefixes: tuple[str, ...] = ()
    """The environments that miss it."""


class TakeOut(Frozen, frozen=True, kw_only=True, tag=True):
    """Take folders out of a variable that lists folders."""

    variable: str
    places: tuple[Place, ...]
    """The entries as the variable has them; without a prefix, for the environments that were named or are active."""


class PreferFolder(Frozen, frozen=True, kw_only=True, tag=True):
    """Let one folder be found before another."""

    over: str
    """The folder that is found first and should not be."""
    by: Literal["PATH", "LD_LIBRARY_PATH", "loader"]
    """What leads to it: a variable, or the loader's own places."""
    places: tuple[Place, ...]
    """The folder that each environment should find."""


class DropDead(Frozen, frozen=True, kw_only=True, tag=True):
    """Take entries that do nothing out of a variable that lists folders."""

    variable: str
    entries: tuple[tuple[str, str], ...]
    """Scope and text of each."""


class CompleteSet(Frozen, frozen=True, kw_only=True, tag=True):
    """Take files of a set from an identical, sound set: those that it lacks, and those that do not belong in it."""

    folder: str
    files: tuple[str, ...]
    """Names."""
    donor: str
    """The folder of the sound set."""


class PutAside(Frozen, frozen=True, kw_only=True, tag=True):
    """Put stray copies of cuDNN aside."""

    folders: tuple[str, ...]


class PutCacheAside(Frozen, frozen=True, kw_only=True, tag=True):
    """Put the driver's cache of compiled kernels aside."""

    folder: str


class GivePlainName(Frozen, frozen=True, kw_only=True, tag=True):
    """Give a library that a packager renamed its plain name, too, beside it."""

    file: str
    name: str


class AddDllFolders(Frozen, frozen=True, kw_only=True, tag=True):
    """Let one environment's Python search folders for DLLs (Windows)."""

    prefix: str
    folders: tuple[str, ...]


class PutPackageBack(Frozen, frozen=True, kw_only=True, tag=True):
    """Install a package of one environment again in this very version."""

    prefix: str
    package: str
    version: str


Remedy: TypeAlias = (
    Unset
    | PointTo
    | AddFolder
    | TakeOut
    | PreferFolder
    | DropDead
    | CompleteSet
    | PutAside
    | PutCacheAside
    | GivePlainName
    | AddDllFolders
    | PutPackageBack
)


def join_remedies(one: Remedy | None, other: Remedy | None) -> Remedy | None:
    """Return the remedy for one fault of several programs: what differs by environment is joined, else the first stays."""
    match one, other:
        case AddFolder(), AddFolder() if (one.folder, one.more) == (other.folder, other.more):
            return replace(one, prefixes=_each(one.prefixes, other.prefixes))
        case TakeOut(), TakeOut() if one.variable == other.variable:
            return replace(one, places=_each(one.places, other.places))
        case PreferFolder(), PreferFolder() if (one.over, one.by) == (other.over, other.by):
            return replace(one, places=_each(one.places, other.places))
    return one or other


def _each(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*one, *other)))
