"""Strings in a library's read-only data: names of libraries that it opens itself, and given words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.loader.earlier_reads import cached_by_file
from core.loader.files import UnfitError, path_under_root
from core.loader.sections import Layout, Section, open_layout, section_chunks
from core.model.facts import cuda_in_name, path_text

STRING_SECTIONS = frozenset({".rodata", ".data", ".rdata", ".lrodata", ".ldata", ".rodata.str1.1", ".rodata.str1.8"})
"""Sections that contain strings. Never .nv_fatbin, the GPU code, which is most of such a file."""

MAX_WHOLE_SECTION_BYTES, EDGE_BYTES = 32 << 20, 4 << 20
"""Size up to which a section is read completely, and bytes read at both ends of a larger one (cuDNN's tables of
kernels).

Compilers put no strings between: true of every cuDNN file from 8.9.7 to 9.21 on both systems.
"""

NAME_ENDINGS = {
    "ELF": (b".so", re.compile(rb"(?<![\w.+-])lib[\w+-]{2,64}\.so(?:\.[0-9%d]{1,8}){0,4}(?=[\0\x27\x22 ,;:)}]|$)")),
    "PE": (b".dll", re.compile(rb"(?<![\w.+-])[\w+-]{2,64}\.dll(?=[\0\x27\x22 ,;:)}]|$)")),
}
"""For each format: the suffix of library names, and a pattern for a complete name in a string."""

INTERESTING_NAME = late_pattern(
    r"^(?:lib)?(?:cudnn|cublas|cudart|nvrtc|cuda|cufft|curand|cusolver|cusparse|nvjitlink|nvjpeg|cupti|nccl|nvcuda|nvml"
    r"|nvidia|zlibwapi|npp|nvtoolsext|nvvm)",
    re.IGNORECASE,
)
"""Relevant library families; the C library and the like are left out."""


def library_names(path: str | os.PathLike[str], *, root: str = "/") -> tuple[str, ...]:
    """Return the names of CUDA libraries in the data of a library, sorted: those that it may open at run time.

    Patterns such as libnvrtc.so.%d are kept. The file's own name may be included. Empty if there are none, or if the
    file cannot be read (its Image says why). Takes 0.1 to 30 ms.
    """
    try:
        return _library_names(path, root=root)
    except UnfitError:
        return ()


@cached_by_file
def _library_names(path: str | os.PathLike[str], *, root: str) -> tuple[str, ...]:
    names: set[str] = set()
    with open_layout(path_under_root(root, os.fspath(path))) as file:
        for piece in _data(file):
            names.update(_names_in(piece, *NAME_ENDINGS[file.format]))
    return tuple(sorted(names))


def _data(file: Layout) -> Iterator[bytes]:
    for section in file.sections:
        if _holds_strings(section):
            for part in _parts(section):
                yield from section_chunks(file.source, part)


def _parts(section: Section) -> tuple[Section, ...]:
    if section.size <= MAX_WHOLE_SECTION_BYTES:
        return (section,)
    return replace(section, size=EDGE_BYTES), replace(
        section, offset=section.offset + section.size - EDGE_BYTES, size=EDGE_BYTES
    )


def _holds_strings(section: Section) -> bool:
    return section.name in STRING_SECTIONS and section.kind in (0, 1)


def _names_in(piece: bytes, ending: bytes, whole: re.Pattern[bytes]) -> Iterator[str]:
    """Yield the relevant names in a piece of data. The search starts from the endings, which are rare."""
    at = piece.find(ending)
    while at >= 0:
        for match in whole.finditer(piece[max(0, at - 72) : at + 24]):
            name = path_text(match[0])
            if INTERESTING_NAME.match(name):
                yield name
        at = piece.find(ending, at + len(ending))


def written_words(path: str | os.PathLike[str], words: tuple[str, ...], *, root: str = "/") -> frozenset[str] | None:
    """Return those of the words that occur as whole strings in a library's read-only data; None if it has none, or
    cannot be read.

    Takes 1 ms for each 10 MB of that data; reading stops once every word is found.
    """
    left = {w.encode(): w for w in words if w}
    found: set[str] = set()
    try:
        with open_layout(path_under_root(root, os.fspath(path))) as file:
            sections = [s for s in file.sections if _holds_strings(s)]
            for section in sections:
                for piece in section_chunks(file.source, section) if left else ():
                    here = [w for w in left if w in piece and re.search(rb"(?<!\w)" + re.escape(w) + rb"(?!\w)", piece)]
                    found.update(left.pop(w) for w in here)
                    if not left:
                        break
    except UnfitError:
        return None
    return frozenset(found) if sections else None


CUDA_LIBRARY = late_pattern(
    r"^(?:lib(?:cublas|cublasLt|nvrtc|cudart)\.so\.(\d{1,2})|(?:cublas|cublasLt|cudart)64_(\d{2,3}))(?=\D|$)"
)


def cuda_major(names: tuple[str, ...]) -> int | None:
    """Return the CUDA major version that a file was built for, from the CUDA libraries that it names
    (libcublasLt.so.12).

    None if it names none, or several major versions.
    """
    found = (CUDA_LIBRARY.match(name) for name in names)
    majors = {int(m[1]) if m[1] else cuda_in_name(int(m[2])) for m in found if m}
    return majors.pop() if len(majors) == 1 else None
