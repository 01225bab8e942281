"""Two scenes of the Windows world lab on stand-ins: the framework's own DLL is loaded by the oracle, by the scan, and after the cure."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.windows.planted import in_the_lab, places

assert sys.platform == "win32"
# ruff: noqa: E402 - type checkers on Linux stop at the assertion; what follows is known on Windows alone

from tests.windows.faultlab.layouts import onnxruntime, pip_packages
from tests.windows.faultlab.machine import Machine
from tests.windows.worldlab.inside import examined
from tests.windows.worldlab.scenes import NO_CUDNN_PATH, NOT_SEARCHED, OLD, ORT, SHADOWED, Scene, required

PROVIDER = "onnxruntime_providers_cuda.dll"


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Give the process its variables back: a scene replaces them by those of a new program."""
    ours = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(ours)


def with_wheels(m: Machine) -> Path:
    """ONNX Runtime with NVIDIA's wheels, in folders that its provider does not search."""
    m.driver()
    site = onnxruntime(m, "1.20.1", "ort-9.dll")
    m.place(m.part("zlibwapi.dll"), site / "onnxruntime\\capi\\onnxruntime_providers_shared.dll")
    required(m, site)
    pip_packages(m, site, "cublas-12", "cudart-12", "nvrtc-12")
    m.place_all(m.cudnn("cudnn-9.28"), site / "nvidia\\cudnn\\bin")
    return site


def behind_another_release(m: Machine) -> Path:
    """The same, all on PATH, behind a cuBLAS that lacks what the provider imports."""
    site = with_wheels(m)
    m.path(*sorted({f.parent for f in site.glob("nvidia/*/bin/*.dll")}))
    m.place(m.part("zlibwapi.dll"), OLD / "cublas64_12.dll")
    m.path(OLD, first=True)
    return site


SCENES = (
    (Scene("wheels-not-searched", ORT, (NOT_SEARCHED, NO_CUDNN_PATH), with_wheels, cured=True), 126),
    (Scene("another-release-first", ORT, (SHADOWED,), behind_another_release, cured=True), 127),
)


@in_the_lab
@pytest.mark.parametrize(("scene", "number"), SCENES, ids=lambda s: getattr(s, "name", ""))
def test_the_providers_own_number_is_found_and_cured(scene: Scene, number: int) -> None:
    result = examined(scene, Machine(places()), "")
    assert result["oracle"][PROVIDER] == number
    assert result["told"][PROVIDER] == number
    assert result["right"], f"{result['proof']} {result['detail']}"
    assert "loaded, undone" in result["proof"]
