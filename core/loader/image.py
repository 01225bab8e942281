"""Image: the content of a binary's headers."""

from __future__ import annotations

from typing import Literal

from core.model.facts import FileState, Frozen

NoFile = Literal["", "folder", "loop", "not asked"]


class Image(Frozen, frozen=True, kw_only=True):
    """One file on disk, read as a shared library from its headers alone, without running or mapping it."""

    path: str
    """As requested, printable."""
    size: int | None = None
    """Bytes; None if the file could not be examined."""
    state: FileState = "good"
    problem: str = ""
    """What is wrong with the file, to follow its name in a sentence: "is empty (0 bytes)"."""
    really: NoFile = ""
    """Something that loaders treat differently from other unfit files: a folder, a link to itself, a file that was not examined."""
    pointer: bool = False
    """It is a pointer of Git LFS, a short text in place of the file."""
    format: str = ""
    """"ELF" or "PE"; empty when it is neither."""
    architecture: str = ""
    """x86_64, aarch64, x86, ...; empty if the headers do not show it."""
    bits: int | None = None
    """32 or 64."""
    little_endian: bool = True
    library: bool = True
    """False for a program (ELF ET_EXEC or PIE, PE without the DLL flag)."""
    soname: str = ""
    """DT_SONAME, or the name in a DLL's export table where it was read."""
    needed: tuple[str, ...] = ()
    """DT_NEEDED in order; the DLLs of a PE's import table, then those of its delay-import table."""
    delayed: tuple[str, ...] = ()
    """The part of ``needed`` that is loaded only at the first call (PE delay imports)."""
    rpath: tuple[str, ...] = ()
    """Folders of DT_RPATH as written ($ORIGIN unexpanded). The loader ignores them if there is a RUNPATH."""
    runpath: tuple[str, ...] = ()
    """DT_RUNPATH's folders as written."""
    no_default_folders: bool = False
    """DF_1_NODEFLIB: the loader does not search its default folders for this file's dependencies."""
    executable_stack: bool = False
    """It asks for a stack that code may run on: PT_GNU_STACK has the flag X, or is missing where that means the same."""
    mappable: bool = False
    """Every byte that a loader maps is in the file. A file may lack its tail (sections, signature) and still load."""
