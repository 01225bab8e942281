"""Numba takes the folder that CUDA_HOME names, whatever it holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution
from core.probes.python.installed.numba_parts import missing_libdevice
from core.probes.sysroot import Sysroot
from tests.machines import python
from tests.probes.request import request, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

KERNEL = "from numba import cuda, float32\n"
HOME = {"CUDA_HOME": "/opt/cuda"}
LIBDEVICE = "/opt/cuda/nvvm/libdevice/libdevice.10.bc"


@pytest.mark.parametrize(
    ("env", "files", "also", "told"),
    [
        (HOME, {"/opt/cuda/nvvm/lib64/libnvvm.so": "", "/work/main.py": KERNEL}, (), True),
        ({"CUDA_PATH": "/opt/cuda"}, {"/work/main.py": "import numba.cuda\n"}, (), True),
        (HOME, {LIBDEVICE: "", "/work/main.py": KERNEL}, (), False),
        (HOME, {"/work/main.py": "import numba\n"}, (), False),
        (HOME, {"/work/main.py": KERNEL}, ("numba-cuda",), False),
        ({}, {"/work/main.py": KERNEL}, (), False),
        (HOME | {"CUDA_PATH": "/other"}, {LIBDEVICE: "", "/work/main.py": KERNEL}, (), False),
        (HOME, {"/env/conda-meta/history": "", "/work/main.py": KERNEL}, (), False),
    ],
)
def test_the_folder_of_the_variable_is_taken(
    tmp_path: Path, env: dict[str, str], files: dict[str, str], also: tuple[str, ...], told: bool
):
    for path, text in files.items():
        write(tmp_path, path, text)
    mine = tuple(Distribution(name=name, version="0.62.1", location="/env") for name in ("numba", *also))
    its = replace(python(distributions=mine), prefix="/env")
    asked = replace(request(tmp_path, env), script_folder="/work")
    found = list(missing_libdevice(its, asked, Sysroot(system="linux", root=str(tmp_path))))
    assert [f.name for f in found] == (["libdevice.10.bc"] if told else [])
