"""Which framework wants which cuDNN: by its binaries, its requirements, and its release."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.knowledge.cudnn import cudnn_knowledge
from core.model.facts import Distribution, PythonEnvironment, System
from core.probes.loading.consumers import CudnnRequirement, cudnn_requirements, pinned_cudnn
from core.probes.sysroot import Sysroot
from tests import standin
from tests.probes.request import write

KNOWN = cudnn_knowledge()
with_gcc = pytest.mark.skipif(sys.platform == "win32", reason="builds Linux libraries with gcc")
SITE = "/venv/site"
TORCH = 'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux" and platform_machine == "x86_64"'
TENSORFLOW = 'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"'


def asked(
    root: Path, name: str, version: str, *requires: str, system: System = "linux"
) -> tuple[CudnnRequirement, ...]:
    distribution = Distribution(name=name, version=version, location=SITE, requires=requires)
    python = PythonEnvironment(prefix="/venv", site_packages=(SITE,), distributions=(distribution,))
    return cudnn_requirements(python, Sysroot(system, str(root)), KNOWN)


@pytest.mark.parametrize(
    ("requires", "system", "version", "major"),
    [
        (TORCH, "linux", "9.1.0", 9),
        (TORCH, "windows", None, None),
        (TENSORFLOW, "linux", None, 9),
        ("nvidia-cudnn-cu11==8.7.0.84", "linux", "8.7.0", 8),
        ("nvidia_cudnn_cu13~=9.0", "linux", None, 9),
        ("nvidia-cudnn-cu12==9.*", "linux", None, 9),
        ("nvidia-cublas-cu12==12.4.5.8", "linux", None, None),
        ("nvidia-cudnn-cu12 == not a version ;;", "linux", None, None),
        ("nvidia-cudnn-cu12", "linux", None, None),
    ],
)
def test_a_pin(requires: str, system: System, version: str | None, major: int | None) -> None:
    found = pinned_cudnn(Distribution(name="x", version="1", requires=(requires,)), system, "x86_64")
    assert (found[0], found[2]) == (version, major)
    assert bool(found[1]) == (major is not None or requires == "nvidia-cudnn-cu12")


MARKED = 'nvidia-cudnn-cu12==9.10.2.21; platform_system == "Linux" and platform_machine == "x86_64"'
ON_ARM = 'nvidia-cudnn-cu13==9.30.0.1; platform_machine == "ARM64"'


@pytest.mark.parametrize(
    ("requires", "system", "architecture", "version"),
    [
        (MARKED, "linux", "x86_64", "9.10.2"),
        (MARKED, "linux", "aarch64", None),
        (ON_ARM, "windows", "aarch64", "9.30.0"),
        (ON_ARM, "windows", "x86_64", None),
    ],
)
def test_a_pin_for_another_processor_does_not_count(
    requires: str, system: System, architecture: str, version: str | None
) -> None:
    assert (
        pinned_cudnn(Distribution(name="torch", version="2.9.1", requires=(requires,)), system, architecture)[0]
        == version
    )


@pytest.mark.parametrize("version", ["2.22.0", "2.30.1"])
@with_gcc
def test_no_table_tells_what_a_newer_tensorflow_wants(tmp_path: Path, version: str) -> None:
    standin.build_library(tmp_path / "venv/site/tensorflow/libtensorflow_framework.so.2")
    assert asked(tmp_path, "tensorflow", version) == ()
    (wish,) = asked(tmp_path, "tensorflow", version, TENSORFLOW)
    assert wish.major == 9


@with_gcc
def test_a_binary_decides_before_all_else(tmp_path: Path) -> None:
    stub = standin.build_library(tmp_path / "stub" / "libcudnn.so.8")
    standin.build_library(tmp_path / "venv/site/torch/lib/libtorch_cuda.so", needed=(stub,))
    (wish,) = asked(tmp_path, "torch", "2.4.1", TORCH)
    assert (wish.major, wish.askers) == (8, (f"{SITE}/torch/lib/libtorch_cuda.so",))
    assert (wish.wanted_version, wish.framework) == ("9.1.0", "torch 2.4.1")


@with_gcc
@pytest.mark.parametrize(
    ("version", "major"), [("2.3.0", 7), ("2.10.1", 8), ("2.17.1", 8), ("2.18.0", 9), ("2.19.0rc1", 9)]
)
def test_tensorflow_opens_cudnn_by_a_name_that_it_puts_together(tmp_path: Path, version: str, major: int) -> None:
    standin.build_library(tmp_path / "venv/site/tensorflow/libtensorflow_framework.so.2")
    (wish,) = asked(tmp_path, "tensorflow", version)
    assert (wish.major, wish.wanted_version) == (major, None)


@with_gcc
def test_a_build_without_cuda_wants_nothing(tmp_path: Path) -> None:
    write(tmp_path, f"{SITE}/torch/lib/libtorch_cpu.so", b"")
    standin.build_library(tmp_path / "venv/site/torch/lib/libtorch_global_deps.so")
    assert asked(tmp_path, "torch", "2.4.1+cpu") == ()
    assert asked(tmp_path, "torchvision", "0.19.1") == ()
    assert asked(tmp_path, "tensorflow", "no version") == ()


@pytest.mark.parametrize(("version", "majors"), [("2.3.0", [7]), ("2.10.1", [8]), ("2.11.0", []), ("2.20.0", [])])
def test_tensorflow_for_windows_wants_none_after_2_10(tmp_path: Path, version: str, majors: list[int]) -> None:
    write(tmp_path, f"{SITE}/tensorflow/python/_pywrap_tensorflow_internal.pyd", b"")
    pins = (TENSORFLOW,) if version == "2.20.0" else ()
    found = asked(tmp_path, "tensorflow", version, *pins, system="windows")
    assert [w.major for w in found] == majors


def test_every_framework_has_a_source() -> None:
    assert all(f.source for f in KNOWN.frameworks)
    assert {c.major for c in KNOWN.checks} == {7, 8, 9}
    assert all(s.name.startswith("CUDNN_STATUS_") for s in KNOWN.statuses)
