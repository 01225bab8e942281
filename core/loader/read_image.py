"""PE and ELF images as their headers describe them: architecture, wanted libraries, search paths, completeness."""

from __future__ import annotations

import os

from core.common.patience import asked
from core.loader.files import Source, UnfitError, once, opened, under
from core.model.facts import Fact, FileState, text


class Image(Fact, frozen=True, kw_only=True):
    """One file on disk, read as a shared library from its headers alone; nothing of it was run or mapped."""

    path: str
    """As it was asked for, printable."""
    size: int | None = None
    """Bytes; None when the file could not be looked at."""
    state: FileState = "good"
    problem: str = ""
    """What is wrong with the file, to follow its name in a sentence: "is empty (0 bytes)"."""
    format: str = ""
    """"ELF" or "PE"; empty when it is neither."""
    architecture: str = ""
    """x86_64, aarch64, x86, ...; empty when the headers did not tell."""
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
    """DT_RPATH's folders as written ($ORIGIN unexpanded). The loader ignores it where there is a RUNPATH."""
    runpath: tuple[str, ...] = ()
    """DT_RUNPATH's folders as written."""
    no_default_folders: bool = False
    """DF_1_NODEFLIB: the loader skips its default folders for what this file needs."""
    mappable: bool = False
    """Every byte that a loader maps is in the file. A file may lack its tail (sections, signature) and still load."""


@once
def read(path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/") -> Image:
    """Return what the headers of the file at ``path`` (looked up under ``root``) tell. Never raises for a bad file.

    A few kilobytes are read by offset, whatever the file's size. Something that is no library is described:
    a folder, FIFO, device, dangling link, empty or cut file, linker script, saved web page.
    """
    name = os.fspath(path)
    try:
        with opened(under(root, name)) as source:
            return _identify(source, text(name))
    except UnfitError as unfit:
        there = unfit.state not in ("missing", "dangling")
        return Image(
            path=text(name), size=_size(under(root, name)) if there else None, state=unfit.state, problem=unfit.problem
        )


def _size(path: str) -> int | None:
    try:
        return asked(os.stat, path).st_size
    except (OSError, ValueError):
        return None


def _identify(source: Source, path: str) -> Image:
    start = source.read(0, 512)
    try:
        if start.startswith(b"\x7fELF"):
            from core.loader import elf

            return elf.parse(source, path)
        if start.startswith(b"MZ"):
            from core.loader import pe

            return pe.parse(source, path)
    except UnfitError as unfit:
        shape = "ELF" if start.startswith(b"\x7fELF") else "PE"
        return Image(path=path, size=source.size, state=unfit.state, problem=unfit.problem, format=shape)
    state, problem = _other(start)
    return Image(path=path, size=source.size, state=state, problem=problem)


def _other(start: bytes) -> tuple[FileState, str]:
    """Say what a file is that is neither ELF nor PE, from its first bytes."""
    if not start.strip(b"\0"):
        return "damaged", "begins with nothing but zeros where its headers should be"
    for magic, words in _MAGIC:
        if start.startswith(magic):
            return "not a library", words
    bare = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if bare.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "not a library", "is a web page, saved under a library's name"
    if any(word in start for word in (b"GNU ld script", b"INPUT", b"GROUP", b"OUTPUT_FORMAT")):
        return "not a library", "is a linker script, a text for compilers that no program can load"
    if bare.startswith(b"version https://git-lfs"):
        return "not a library", "is a Git LFS pointer, a short text in place of the real file"
    if _is_text(start):
        return "not a library", "is a text file"
    return "damaged", "does not begin like a library of any kind"


_MAGIC = (
    (b"!<arch>\n", "is an archive for linkers (a static or import library), which no program can load"),
    (b"!<thin>\n", "is an archive for linkers (a static or import library), which no program can load"),
    (b"PK\x03\x04", "is a ZIP archive"),
    (b"\x1f\x8b", "is a gzip archive"),
    (b"\xfd7zXZ\0", "is an xz archive"),
    (b"\xcf\xfa\xed\xfe", "is a macOS library"),
    (b"\xca\xfe\xba\xbe", "is a macOS library"),
    (b"#!", "is a script"),
)


def _is_text(start: bytes) -> bool:
    return not any(byte < 9 or 13 < byte < 32 or byte == 127 for byte in start)
