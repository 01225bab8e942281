r"""Search policies of Windows' loader as data: a plain program, CPython since 3.8, conda's folders, altered search path.

After Microsoft's "Dynamic-link library search order" (MicrosoftDocs/win32, desktop-src/Dlls/dynamic-link-library-search-order.md)
and the text of "What's New in Python 3.8". A policy yields its places by a tuple of plain functions, in order.
"""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.model.facts import How
from core.model.path_list import searched_entries

DLL_LOAD_DIR, APPLICATION_DIR, USER_DIRS, SYSTEM32 = 0x100, 0x200, 0x400, 0x800
DEFAULT_DIRS = 0x1000
"""LOAD_LIBRARY_SEARCH_*; DEFAULT_DIRS stands for application, user and system folders together."""

KNOWN_DLLS = frozenset(
    {
        *("advapi32.dll", "clbcatq.dll", "combase.dll", "comdlg32.dll", "coml2.dll", "difxapi.dll"),
        *("gdi32.dll", "gdiplus.dll", "imagehlp.dll", "imm32.dll", "kernel32.dll", "kernelbase.dll"),
        *("msctf.dll", "msvcrt.dll", "normaliz.dll", "nsi.dll", "ntdll.dll", "ole32.dll", "oleaut32.dll"),
        *("psapi.dll", "rpcrt4.dll", "sechost.dll", "setupapi.dll", "shcore.dll", "shell32.dll", "shlwapi.dll"),
        *("ucrtbase.dll", "user32.dll", "wldap32.dll", "ws2_32.dll"),
    }
)
"""KnownDLLs of a usual Windows 10 or 11, in case the registry was not read. They always come from System32."""


class DllFolder(msgspec.Struct, frozen=True):
    """A folder in which the loader searches. ``remark``: what is unusual about the entry that names it."""

    folder: str
    how: How
    via: str = ""
    remark: str = ""


class DllPolicy(msgspec.Struct, frozen=True):
    r"""How one kind of program searches for DLLs. Folders are in Windows' form; an empty one is not searched."""

    application: str = ""
    """The folder of the program's .exe (for a venv: that of the base python.exe, which really runs)."""
    windows: str = "C:\\Windows"
    system: str = "C:\\Windows\\System32"
    """For a 32-bit program on 64-bit Windows: SysWOW64."""
    current: str = ""
    path: str = ""
    """PATH of the program."""
    set_directory: str | None = None
    """The argument of SetDllDirectory: empty text removes the current folder; None if it was not called."""
    added: tuple[str, ...] = ()
    """Folders passed to AddDllDirectory or os.add_dll_directory. Windows guarantees no order among them."""
    flags: int = 0
    """LOAD_LIBRARY_SEARCH_* of the call, or of SetDefaultDllDirectories; 0: the standard order."""
    altered: bool = False
    """LOAD_WITH_ALTERED_SEARCH_PATH: the folder of the DLL loaded by path replaces the application's."""
    loading: str = ""
    """The folder of the DLL that this call loads by its full path, whose imports are being searched."""
    architecture: str = "x86_64"
    known: frozenset[str] = KNOWN_DLLS
    root: str = "/"

    def for_processor(self, architecture: str) -> DllPolicy:
        """Return the policy of a program for this processor: Windows gives a 32-bit one SysWOW64 in the place of System32."""
        system = ntpath.join(self.windows, "SysWOW64") if architecture == "x86" else self.system
        return replace(self, architecture=architecture or self.architecture, system=system)

    def for_bare_name(self) -> DllPolicy:
        """Return the policy for a later LoadLibrary call with a bare name inside this program, as cuDNN makes it.

        Flags and altered search paths apply to one call only: folders added by add_dll_directory do not affect this one
        (observed with cuDNN 8.9.7 and 9.1.0).
        """
        return replace(self, flags=0, altered=False, loading="")


def plain_policy(application: str, path: str, *, current: str = "", root: str = "/") -> DllPolicy:
    """Return the policy of any program: the standard search order with safe search mode."""
    return DllPolicy(application=application, path=path, current=current, root=root)


def cpython_policy(application: str, path: str = "", *, added: Iterable[str] = (), root: str = "/") -> DllPolicy:
    """Return CPython's policy since 3.8 for extension modules and ctypes: LoadLibraryEx with DLL_LOAD_DIR |
    DEFAULT_DIRS.

    PATH is kept only for ``for_bare_name()``: imports do not search it.
    """
    return DllPolicy(
        application=application, path=path, added=tuple(added), flags=DLL_LOAD_DIR | DEFAULT_DIRS, root=root
    )


CONDA_FOLDERS = ("Library\\mingw-w64\\bin", "Library\\usr\\bin", "Library\\bin", "Scripts", "bin")


def conda_folders(prefix: str) -> tuple[str, ...]:
    """Return the folders that conda's Python passes to AddDllDirectory at start-up, whatever the variables are.

    After conda-forge/python-feedstock, recipe/patches/0007-Add-CondaEcosystemModifyDllSearchPath.patch; its variable
    that added PATH was removed with Python 3.11.
    """
    return tuple(ntpath.join(prefix, tail) for tail in CONDA_FOLDERS)


# --- the order -------------------------------------------------------------------------------------------

Step = Callable[[DllPolicy], Iterator[DllFolder]]
"""Yields the folders of one stage of a policy."""


def _dll_folder(policy: DllPolicy) -> Iterator[DllFolder]:
    if policy.loading:
        yield DllFolder(policy.loading, How.DLL_FOLDER)


def _application(policy: DllPolicy) -> Iterator[DllFolder]:
    if policy.altered and policy.loading:
        yield DllFolder(policy.loading, How.DLL_FOLDER, "LOAD_WITH_ALTERED_SEARCH_PATH")
    elif policy.application:
        yield DllFolder(policy.application, How.APPLICATION)


def _set_directory(policy: DllPolicy) -> Iterator[DllFolder]:
    if policy.set_directory:
        yield DllFolder(policy.set_directory, How.SET_DLL_DIRECTORY)


def _added_folders(policy: DllPolicy) -> Iterator[DllFolder]:
    for folder in policy.added:
        yield DllFolder(folder, How.DLL_DIRECTORY, fact_text("add_dll_directory: {folder}", folder=folder))
    yield from _set_directory(policy)


def _system(policy: DllPolicy) -> Iterator[DllFolder]:
    yield DllFolder(policy.system, How.SYSTEM)


def _system16(policy: DllPolicy) -> Iterator[DllFolder]:
    yield DllFolder(ntpath.join(policy.windows, "System"), How.SYSTEM16)


def _windows(policy: DllPolicy) -> Iterator[DllFolder]:
    yield DllFolder(policy.windows, How.WINDOWS)


def _current_folder(policy: DllPolicy) -> Iterator[DllFolder]:
    if policy.current and policy.set_directory is None:
        yield DllFolder(policy.current, How.CURRENT)


def _path(policy: DllPolicy) -> Iterator[DllFolder]:
    """Yield PATH's entries without the empty ones; unusual ones are looked up unchanged, as the loader does."""
    for entry in searched_entries(policy.path, "windows"):
        bare = entry.strip()
        if not bare:
            continue
        remark = ""
        folder = bare
        if '"' in bare:
            remark = fact_text("the entry is in quotes, which count as part of the folder's name")
        elif "%" in bare:
            remark = fact_text("the entry holds a variable that was not expanded")
        elif not ntpath.isabs(bare) or not ntpath.splitdrive(bare)[0]:
            remark = fact_text("the entry is relative: it changes with the program's current folder")
            folder = ntpath.join(policy.current, bare) if policy.current else bare
        yield DllFolder(folder, How.PATH, f"PATH: {entry}", remark)


STANDARD_ORDER: tuple[Step, ...] = (_application, _set_directory, _system, _system16, _windows, _current_folder, _path)
SEARCH_FLAGS: tuple[tuple[int, Step], ...] = (
    (DLL_LOAD_DIR, _dll_folder),
    (APPLICATION_DIR, _application),
    (USER_DIRS, _added_folders),
    (SYSTEM32, _system),
)


def policy_folders(policy: DllPolicy) -> tuple[DllFolder, ...]:
    """Return every folder in order, each once."""
    if policy.flags:
        flags = policy.flags
        if flags & DEFAULT_DIRS:
            flags |= APPLICATION_DIR | USER_DIRS | SYSTEM32
        steps: tuple[Step, ...] = tuple(step for flag, step in SEARCH_FLAGS if flags & flag)
    else:
        steps = STANDARD_ORDER
    unique: dict[str, DllFolder] = {}
    for step in steps:
        for place in step(policy):
            unique.setdefault(ntpath.normcase(place.folder).rstrip("\\"), place)
    return tuple(unique.values())
