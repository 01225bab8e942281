"""The library of device functions that Numba's own CUDA target links, where a variable leads to a folder without it.

Source: numba/cuda/cuda_paths.py of 0.62: conda's folders, then CUDA_HOME, else CUDA_PATH; what is set is taken, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.model.facts import PythonEnvironment, path_text
from core.model.facts.framework_tools import UnfitTool
from core.probes.loading.asked_parts import is_asked_for
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

SPELT = ("from numba import cuda", "numba.cuda")
"""What a program spells that compiles for a GPU."""


def missing_libdevice(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield libdevice for a program here that compiles by Numba, if the folder that Numba takes lacks it."""
    reader = next((d for d in python.distributions if d.name == "numba"), None)
    root = request.env.get("CUDA_HOME", request.env.get("CUDA_PATH", ""))
    if reader is None or not where.path_module.isabs(root) or where.is_folder(where.join(python.prefix, "conda-meta")):
        return
    if any(d.name == "numba-cuda" for d in python.distributions):
        return  # it searches in other places, too
    folder = where.join(root, "nvvm", "libdevice")
    if any(re.fullmatch(r"libdevice[\w.]*\.bc", name) for name in where.names(folder) or ()):
        return
    if any(is_asked_for(spelt, request, where) for spelt in SPELT):
        yield UnfitTool(
            prefix=python.prefix,
            reader=f"{reader.name} {reader.version}",
            name="libdevice.10.bc",
            path=path_text(where.join(folder, "libdevice.10.bc")),
            state="absent",
            runs=False,
            looked=(path_text(folder),),
            source="numba/cuda/cuda_paths.py: CUDA_HOME, else CUDA_PATH, is taken, whatever it holds",
        )
