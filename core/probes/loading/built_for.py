"""The CUDA version that a framework was built for, according to its own files."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
