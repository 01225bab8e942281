"""Read PE and ELF images from their headers: architecture, needed libraries, search paths, completeness."""

from __future__ import annotations

import os
from functools import partial

from core.common.fact_text import fact_text
from core.common.patience import call_patiently
from core.loader.earlier_reads import cached_by_file
from core.loader.files import MISSING_PROBLEM, UNREAD, Source, UnfitError, open_source, path_under_root
from core.loader.image import Image
from core.model.facts import FileState, path_text


def _lasts(image: Image) -> bool:
    return image.state not in UNREAD


@partial(cached_by_file, lasts=_lasts)
def read_image(path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/") -> Image:
    """Return what the headers of the file at ``path`` (looked up below ``root``) say. Never raises for a bad file.

    Reads a few kilobytes by offset, whatever the file's size. Anything else is described, too: a folder, FIFO, device,
    dangling link, empty or truncated file, linker script, saved web page.
    """
    name = os.fspath(path)
    try:
        with open_source(path_under_root(root, name)) as source:
            return _identify(source, path_text(name))
    except UnfitError as unfit:
        there = unfit.state not in ("missing", "dangling")
        return Image(
            path=path_text(name),
            size=_size(path_under_root(root, name)) if there else None,
            state=unfit.state,
            problem=unfit.problem,
            really=unfit.really,
        )


def no_image(path: str) -> Image:
    """Return what ``read_image`` says of a file that is missing from a folder."""
    return Image(path=path_text(path), state="missing", problem=MISSING_PROBLEM)


def _size(path: str) -> int | None:
    try:
        return call_patiently(os.stat, path).st_size
    except (OSError, ValueError):
        return None


def _identify(source: Source, path: str) -> Image:
    start = source.read(0, 512)
    try:
        if start.startswith(b"\x7fELF"):
            from core.loader import elf

            return elf.parse_elf(source, path)
        if start.startswith(b"MZ"):
            from core.loader import pe

            return pe.parse_pe(source, path)
    except UnfitError as unfit:
        shape = "ELF" if start.startswith(b"\x7fELF") else "PE"
        return Image(path=path, size=source.size, state=unfit.state, problem=unfit.problem, format=shape)
    state, problem = _other(start)
    return Image(path=path, size=source.size, state=state, problem=problem, pointer=_is_pointer(start))


def _other(start: bytes) -> tuple[FileState, str]:
    """Describe a file that is neither ELF nor PE, from its first bytes."""
    if not start.strip(b"\0"):
        return "damaged", fact_text("begins with nothing but zeros where its headers should be")
    for magic, words in _MAGIC:
        if start.startswith(magic):
            return "not a library", words
    bare = _bare(start)
    if bare.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return "not a library", fact_text("is a web page, saved under a library's name")
    if any(word in start for word in (b"GNU ld script", b"INPUT", b"GROUP", b"OUTPUT_FORMAT")):
        return "not a library", fact_text("is a linker script, a text for compilers that no program can load")
    if _is_pointer(start):
        return "not a library", fact_text("is a Git LFS pointer, a short text in place of the real file")
    if _is_text(start):
        return "not a library", fact_text("is a text file")
    return "damaged", fact_text("does not begin like a library of any kind")


def _bare(start: bytes) -> bytes:
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()


def _is_pointer(start: bytes) -> bool:
    """Whether a file begins as a pointer of Git LFS does (its specification, "The Pointer")."""
    return _bare(start).startswith(b"version https://git-lfs")


_MAGIC = (
    (b"!<arch>\n", fact_text("is an archive for linkers (a static or import library), which no program can load")),
    (b"!<thin>\n", fact_text("is an archive for linkers (a static or import library), which no program can load")),
    (b"PK\x03\x04", fact_text("is a ZIP archive")),
    (b"\x1f\x8b", fact_text("is a gzip archive")),
    (b"\xfd7zXZ\0", fact_text("is an xz archive")),
    (b"\xcf\xfa\xed\xfe", fact_text("is a macOS library")),
    (b"\xca\xfe\xba\xbe", fact_text("is a macOS library")),
    (b"#!", fact_text("is a script")),
)


def _is_text(start: bytes) -> bool:
    return not any(byte < 9 or 13 < byte < 32 or byte == 127 for byte in start)
