"""Where cuda-pathfinder finds libraries, as read in its releases 1.3.3 and 1.9.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.probes.loading.pathfinder import PathfinderFile, pathfinder_files
from core.probes.sysroot import Sysroot
from tests.probes.request import write

FILES = (
    "/env/site/nvidia/cu13/lib/libcufft.so.12",
    "/env/site/nvidia/cublas/lib/libcublasLt.so.12",
    "/env/site/nvidia/cublas/lib/libcublas.so.12",
    "/env/site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    "/env/site/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.8",
    "/conda/lib/libcurand.so",
    "/conda/lib/libcublas.so",
    "/cuda/lib64/libcusparse.so",
    "/cuda/lib64/libcurand.so",
)


@pytest.mark.parametrize(
    ("name", "env", "path", "last"),
    [
        ("cublas", {"CONDA_PREFIX": "/conda"}, "/env/site/nvidia/cublas/lib/libcublas.so.12", False),
        ("nvrtc", {}, "/env/site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", False),
        ("cufft", {}, "/env/site/nvidia/cu13/lib/libcufft.so.12", False),
        ("curand", {"CONDA_PREFIX": "/conda", "CUDA_PATH": "/cuda"}, "/conda/lib/libcurand.so", False),
        ("curand", {"CUDA_HOME": "/none", "CUDA_PATH": "/cuda"}, "", False),
        ("cusparse", {"CUDA_PATH": "/cuda"}, "/cuda/lib64/libcusparse.so", True),
        ("cusparse", {"CUDA_PATH": "cuda"}, "", False),
        ("cusolver", {"CONDA_PREFIX": "/conda", "CUDA_PATH": "/cuda"}, "", False),
    ],
)
def test_the_folders_in_its_order(tmp_path: Path, name: str, env: dict[str, str], path: str, last: bool) -> None:
    for file in FILES:
        write(tmp_path, file, "x")
    where = Sysroot(system="linux", root=str(tmp_path))
    wanted = [PathfinderFile(path, last=last)] if path else []
    assert list(pathfinder_files((name,), ("/env/site",), env, where)) == wanted


def test_what_nvrtc_of_cuda_13_0_cannot_find_itself_is_opened_from_its_folder(tmp_path: Path) -> None:
    main, builtins = (f"/env/site/nvidia/cu13/lib/{n}" for n in ("libnvrtc.so.13", "libnvrtc-builtins.so.13.0"))
    where = Sysroot(system="linux", root=str(tmp_path))
    write(tmp_path, main, "x")
    assert list(pathfinder_files(("nvrtc",), ("/env/site",), {}, where)) == [PathfinderFile(main)]
    write(tmp_path, builtins, "x")
    assert list(pathfinder_files(("nvrtc",), ("/env/site",), {}, where)) == [
        PathfinderFile(main),
        PathfinderFile(builtins),
    ]
