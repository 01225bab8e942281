"""The libraries that a text blames, and whether two names mean the same library."""

from __future__ import annotations

from core.explain.reading import ParsedText
from core.knowledge.library_names import TOOLKIT_FAMILIES, LibraryName


def blamed_libraries(reading: ParsedText) -> tuple[LibraryName, ...]:
    """Return the libraries of CUDA, cuDNN or the driver that the text complains about; a framework's own file is only affected."""
    return tuple(x for x in reading.blamed if x.family not in ("framework", "vcruntime"))


def is_same_library(wanted: LibraryName, had: LibraryName) -> bool:
    """Whether two names are of the same library, as far as both contain its version."""
    if wanted.family != had.family or (wanted.platform and had.platform and wanted.platform != had.platform):
        return False
    if wanted.major is None or had.major is None:
        return True
    # On Linux, cuDNN's file names contain a full version; files of one major version are one set.
    minors = (
        wanted.minor is None or had.minor is None or wanted.family not in TOOLKIT_FAMILIES or wanted.minor == had.minor
    )
    return wanted.major == had.major and minors
