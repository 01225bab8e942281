"""Remedies: what would cure a finding, as data. A rule names one; core/fixes/catalogue.py turns it into Changes."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

from msgspec.structs import replace

from core.model.facts import Frozen, StartLine
from core.model.system_steps import StepKind

T = TypeVar("T")


class Place(Frozen, frozen=True, kw_only=True):
    """A folder, and the environment that it matters to."""

    folder: str
    prefix: str = ""
    """Empty for a program of no environment."""


class Unset(Frozen, frozen=True, kw_only=True, tag=True):
    """Remove a variable, wherever it is set."""

    variable: str
    value: str = ""
    """A value that is wrong for whoever reads it: where nothing stores it, these environments do without it while they are active."""
    prefixes: tuple[str, ...] = ()


class PointTo(Frozen, frozen=True, kw_only=True, tag=True):
    """Change the folder that a variable names."""

    variable: str
    folder: str
    """Empty if no folder is right: the variable is removed."""
    right: tuple[str, ...] = ()
    """Folders that it may name: a stored value that names one of them stays."""


class AddFolder(Frozen, frozen=True, kw_only=True, tag=True):
    """Put a folder on the search path."""

    folder: str
    more: tuple[str, ...] = ()
    """Further folders, after it."""
    prefixes: tuple[str, ...] = ()
    """The environments that lack it."""


class TakeOut(Frozen, frozen=True, kw_only=True, tag=True):
    """Remove folders from a variable that lists folders."""

    variable: str
    places: tuple[Place, ...]
    """The entries as the variable has them; without a prefix, for the environments that were named or are active."""


class PreferFolder(Frozen, frozen=True, kw_only=True, tag=True):
    """Move one folder before another in the search order."""

    over: str
    """The folder that is found first and should not be."""
    by: Literal["PATH", "LD_LIBRARY_PATH", "loader"]
    """How the loader finds it: a variable, or the loader's own folders."""
    places: tuple[Place, ...]
    """The folder that each environment should find."""


class DropDead(Frozen, frozen=True, kw_only=True, tag=True):
    """Remove entries without effect from a variable that lists folders."""

    variable: str
    entries: tuple[tuple[str, str], ...]
    """Scope and text of each."""


class ExpandVariables(Frozen, frozen=True, kw_only=True, tag=True):
    """Store a variable of Windows' registry so that the variables in it are replaced (REG_EXPAND_SZ)."""

    variable: str
    scope: Literal["user", "machine"]


class CompleteSet(Frozen, frozen=True, kw_only=True, tag=True):
    """Complete a set with files from an identical, intact set, and replace files that do not belong in it."""

    folder: str
    files: tuple[str, ...]
    """Names."""
    donor: str
    """The folder of the intact set."""


class PutAside(Frozen, frozen=True, kw_only=True, tag=True):
    """Quarantine stray copies of cuDNN."""

    folders: tuple[str, ...]


class PutCacheAside(Frozen, frozen=True, kw_only=True, tag=True):
    """Move the driver's cache of compiled kernels out of the way."""

    folder: str


class GivePlainName(Frozen, frozen=True, kw_only=True, tag=True):
    """Add the plain name of a library, beside the copy that a packager renamed."""

    file: str
    name: str


class GiveOtherName(Frozen, frozen=True, kw_only=True, tag=True):
    """Rename files that shadow a module; a folder is moved aside."""

    files: tuple[tuple[str, str], ...]
    """Path of each, and the file name that it gets; none for a folder."""
    entry: str = ""
    """The entry of PYTHONPATH that leads to nothing else: where lines set it, they lose it instead."""


class TakeOutLine(Frozen, frozen=True, kw_only=True, tag=True):
    """Remove a line from a .pth file."""

    file: str
    line: int
    folder: str
    """The entry that it adds to Python's search path."""


class NamePython(Frozen, frozen=True, kw_only=True, tag=True):
    """Let lines name an environment's own interpreter, in the place of the one that they name."""

    lines: tuple[StartLine, ...]
    python: str
    start: str
    """The way of starting that reads them (``Start.id``)."""


class AddDllFolders(Frozen, frozen=True, kw_only=True, tag=True):
    """Make one environment's Python search folders for DLLs (Windows)."""

    prefix: str
    folders: tuple[str, ...]


class PutPackageBack(Frozen, frozen=True, kw_only=True, tag=True):
    """Restore the files of a package of one environment, in exactly the installed version."""

    prefix: str
    package: str
    version: str
    location: str = ""
    """The folder that it is installed in, of a package that is not listed among the environment's."""
    more: tuple[str, ...] = ()
    """Names of further packages to restore."""


class InstallPackages(Frozen, frozen=True, kw_only=True, tag=True):
    """Remove packages from one environment and install others, as one step."""

    prefix: str
    remove: tuple[str, ...] = ()
    """Names of packages to remove: duplicates, leftovers ("~orch"), the build that is replaced."""
    install: tuple[str, ...] = ()
    """Requirements: "torch==2.8.0", "nvidia-cudnn-cu12==9.10.2.21"."""
    index: str = ""
    """Address of the index that has them; empty for the one that is configured there."""
    alone: bool = False
    """Whether to install without dependencies."""
    search: tuple[str, ...] = ()
    """Folders of the installed libraries that the programs that need them do not search by themselves."""
    dll_folders: tuple[str, ...] = ()
    """Such folders of which the environment's Python must be told, since its modules do not search PATH (Windows)."""


class UseSystemTool(Frozen, frozen=True, kw_only=True, tag=True):
    """Make a step with the system's own tools; see ``core.model.system_steps``."""

    kind: StepKind
    subject: str = ""
    value: str = ""


class SetForEnvironments(Frozen, frozen=True, kw_only=True, tag=True):
    """Set a variable while environments are active."""

    variable: str
    value: str
    prefixes: tuple[str, ...] = ()
    """Which; empty for those that were named or are in use."""


Remedy: TypeAlias = (
    Unset
    | PointTo
    | AddFolder
    | TakeOut
    | PreferFolder
    | DropDead
    | ExpandVariables
    | CompleteSet
    | PutAside
    | PutCacheAside
    | GivePlainName
    | GiveOtherName
    | TakeOutLine
    | NamePython
    | AddDllFolders
    | PutPackageBack
    | UseSystemTool
    | SetForEnvironments
    | InstallPackages
)


def join_remedies(one: Remedy | None, other: Remedy | None) -> Remedy | None:
    """Return one remedy for several programs' fault: values by environment are joined, else the first is used."""
    match one, other:
        case AddFolder(), AddFolder() if (one.folder, one.more) == (other.folder, other.more):
            return replace(one, prefixes=_combine(one.prefixes, other.prefixes))
        case TakeOut(), TakeOut() if one.variable == other.variable:
            return replace(one, places=_combine(one.places, other.places))
        case PreferFolder(), PreferFolder() if (one.over, one.by) == (other.over, other.by):
            return replace(one, places=_combine(one.places, other.places))
        case InstallPackages(), InstallPackages() if (one.prefix, one.index) == (other.prefix, other.index):
            remove, install = _combine(one.remove, other.remove), _combine(one.install, other.install)
            return replace(
                one,
                remove=remove,
                install=install,
                alone=one.alone and other.alone,
                search=_combine(one.search, other.search),
                dll_folders=_combine(one.dll_folders, other.dll_folders),
            )
    return one or other


def _combine(one: tuple[T, ...], other: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*one, *other)))
