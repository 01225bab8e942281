"""The origin of a loaded file, in words, and whether the examined system is the running one."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping

from core.common.fact_text import fact_text
from core.common.variable_names import variable_in
from core.model.path_list import searched_entries
from core.model.paths import is_inside, is_same
from core.probes.sysroot import Sysroot

PATH_VARIABLE = "LD_LIBRARY_PATH"


def runs_here(where: Sysroot) -> bool:
    """Whether the examined system is the running one, so that its files may be loaded."""
    ours = "windows" if sys.platform == "win32" else "linux"
    return where.system == ours and where.is_running_system


def file_origin(path: str, prefix: str, env: Mapping[str, str], where: Sysroot) -> str:
    """Return in a few words who owns a file that was mapped."""
    if prefix and any(is_inside(where.system, path, base) for base in (prefix, where.real_path(prefix))):
        return (
            fact_text("this environment's wheel")
            if re.search(r"[\\/]nvidia[\\/]", path)
            else fact_text("this environment")
        )
    variable = PATH_VARIABLE if where.system == "linux" else "PATH"
    value = variable_in(env, variable)
    folder = where.parent(path)
    system = re.match(r"/(usr/)?lib(32|64)?/|[a-z]:\\windows\\", path, re.IGNORECASE) is not None
    if where.system == "linux" or not system:
        for entry in searched_entries(value, where.system, variable):
            if not where.path_module.isabs(entry):
                continue
            if is_same(where.system, entry, folder) or where.real_path(entry) == where.real_path(folder):
                return variable
    if re.search(r"[\\/](site|dist)-packages[\\/]", path):
        return fact_text("another environment")
    if re.match(
        r"/usr/local/cuda|/opt/cuda|.*\\NVIDIA GPU Computing Toolkit\\|.*\\NVIDIA\\CUDNN\\v\d", path, re.IGNORECASE
    ):
        return "installer"
    return "system" if system else fact_text("another folder")
