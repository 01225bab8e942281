"""The real cuDNN wheels: version, CUDA major, names and GPU architectures of every file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.loader import read_image
from core.loader.contents import cuda_major, library_names
from core.loader.cudnn_version import cudnn_version
from core.loader.fatbin import machine_code

pytestmark = [
    pytest.mark.download,
    pytest.mark.skipif(sys.platform != "linux", reason="the cache of wheels is a Linux one"),
]

OLD = (50, 60, 61, 70, 75, 80, 86, 90)
WHEELS = {
    "CUDNN_8_9": ("8.9.7", 12, OLD),
    "CUDNN_9_1": ("9.1.0", 12, OLD),
    "CUDNN_9_10": ("9.10.2", 12, (50, 60, 61, 70, 80, 90, 100, 120)),
    "CUDNN_9_20_CUDA_13": ("9.20.0", 13, (75, 80, 90, 100, 120, 121)),
    "CUDNN_9_21_CUDA_13": ("9.21.1", 13, (75, 80, 90, 100, 120, 121)),
}
"""Version, CUDA major and the architectures of the ops library."""


@pytest.mark.parametrize("name", WHEELS)
def test_every_file_of_a_wheel(name: str) -> None:
    from tests.faultlab import wheels

    version, major, sass = WHEELS[name]
    folder: Path = wheels.unpacked(getattr(wheels, name)) / "nvidia/cudnn/lib"
    files = sorted(folder.glob("*.so.*"))
    assert len(files) >= 7
    majors = set()
    for file in files:
        image = read_image.read_image(file)
        assert (image.state, image.soname) == ("good", file.name)
        found = cudnn_version(file)
        if file.name == "libcudnn.so.8":
            assert found is None  # that shim holds no version
        else:
            assert found, file.name
            assert found.version == version
        majors.add(cuda_major(library_names(file)))
        code = machine_code(file)
        assert code is not None
        if "_ops" in file.name:
            assert set(sass) <= set(code[0])
    assert majors == {None, major}


@pytest.mark.parametrize("name", WHEELS)
def test_the_shim_names_its_sub_libraries(name: str) -> None:
    from tests.faultlab import wheels

    folder: Path = wheels.unpacked(getattr(wheels, name)) / "nvidia/cudnn/lib"
    shim = next(file for file in folder.glob("libcudnn.so.*"))
    named = {text.split(".so")[0] for text in library_names(shim)}
    there = {file.name.split(".so")[0] for file in folder.glob("libcudnn_*.so.*")}
    assert named
    assert named <= there
