"""The CUDA version that a framework was built for, according to its own files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from core.common.late_pattern import late_pattern
from core.knowledge.gpu_binaries import GpuFramework
from core.probes.sysroot import Sysroot

BUILT_FOR = late_pattern(r"""(?<![\w.])cuda(?:_version)?['"]?\s*(?::[^=\n]*)?[=,]\s*['"]([\d.]+)""")
"""The CUDA version in the files in which frameworks record it."""


def built_for(row: GpuFramework, name: str, folders: Iterable[str], where: Sysroot) -> str:
    """Return the CUDA version that a framework was built for ("12.8", "12"); empty if unknown.

    ``name``: the distribution's. ``folders``: folders of packages.
    """
    if row.cuda == "name":
        m = re.search(r"cuda(\d\d)", name)
        return m[1] if m else ""
    if not row.cuda or row.cuda.isdigit():
        return row.cuda
    for folder in folders:
        text = where.text(where.join(folder, *row.cuda.split("/")), 64 << 10)
        m = BUILT_FOR.search(text or "")
        if m:
            return m[1]
    return ""


CHOOSES = "BNB_CUDA_VERSION"
"""A variable by which a person takes another of such files (bitsandbytes/cextension.py)."""


def lost_file(
    pattern: str, number: str, record: str, files_of: Callable[[str], list[str]], env: Mapping[str, str]
) -> tuple[str, str] | None:
    """Return the place, below the packages, of a framework's file that is not there, and the names of its files for other CUDA versions;
    None where nothing says that it should be there.

    It should if ``record``, the package's RECORD, lists it, or if the package has such a file for each CUDA version but this.
    ``pattern``: the file's, which may have "{cuda}" for the ``number`` without its dots.
    """
    place = pattern.replace("{cuda}", number.replace(".", ""))
    if "*" in place:
        return None
    if place in record:
        return place, ""
    by_number = number and place != pattern and not env.get(CHOOSES)
    others = files_of(pattern.replace("{cuda}", "*")) if by_number else []
    return (place, ", ".join(re.split(r"[\\/]", path)[-1] for path in others)) if others else None
