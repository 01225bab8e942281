r"""What frameworks' DLLs lead to on a made-up Windows: real DLLs, built by mingw; nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.model.facts import Closure, Distribution, PythonEnvironment
from core.probes.loading import closure
from tests.loader import build
from tests.probes.request import request, write

PREFIX = "C:\\ml\\venv"
SITE = PREFIX + "\\Lib\\site-packages"
BASE = "C:\\Python311"
PROVIDER = SITE + "\\onnxruntime\\capi\\onnxruntime_providers_cuda.dll"
CUBLAS = SITE + "\\cupy_backends\\cuda\\libs\\cublas.cp311-win_amd64.pyd"
WHEEL = SITE + "\\nvidia\\cublas\\bin\\cublas64_12.dll"


def put(root: Path, path: str, *imports: str, machine: int = 0x8664) -> None:
    write(root, path.replace("\\", "/"), build.pe(imports, machine=machine))


def looked(root: Path, name: str, version: str, **env: str) -> Closure | None:
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        kind="venv",
        site_packages=(SITE,),
        distributions=(Distribution(name=name, version=version, location=SITE),),
    )
    write(root, f"{PREFIX}/pyvenv.cfg".replace("\\", "/"), f"home = {BASE}\n")
    asked = request(root, {"SystemRoot": "C:\\Windows", **env}, system="windows", pythons=(python,))
    return next(iter(closure.look(asked)), None)


def edges(its: Closure | None) -> dict[str, str]:
    assert its is not None
    return {e.name: e.state for e in its.edges}


def test_a_provider_whose_libraries_lie_in_nvidias_wheels(tmp_path: Path) -> None:
    put(tmp_path, PROVIDER, "cublas64_12.dll", "KERNEL32.dll")
    put(tmp_path, WHEEL)
    its = looked(tmp_path, "onnxruntime-gpu", "1.20.0")
    assert edges(its) == {"cublas64_12.dll": "absent"}
    assert its is not None
    assert its.edges[0].elsewhere == (WHEEL,)


@pytest.mark.parametrize(
    ("folder", "there"),
    [
        ("PATH", True),
        ("its own folder", True),
        ("the base interpreter's folder", False),
        ("the environment's scripts", False),
    ],
)
def test_where_a_provider_is_searched(tmp_path: Path, folder: str, there: bool) -> None:
    put(tmp_path, PROVIDER, "cublas64_12.dll")
    places = {
        "PATH": "C:\\cuda\\bin",
        "its own folder": PROVIDER.rpartition("\\")[0],
        "the base interpreter's folder": BASE,
        "the environment's scripts": PREFIX + "\\Scripts",
    }
    put(tmp_path, places[folder] + "\\cublas64_12.dll")
    assert edges(looked(tmp_path, "onnxruntime-gpu", "1.20.0", PATH="C:\\cuda\\bin")) == (
        {} if there else {"cublas64_12.dll": "absent"}
    )


def test_an_extension_module_does_not_search_path(tmp_path: Path) -> None:
    put(tmp_path, CUBLAS, "cublas64_12.dll")
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll")
    assert edges(looked(tmp_path, "cupy-cuda12x", "13.6.0", PATH="C:\\cuda\\bin")) == {"cublas64_12.dll": "absent"}
    assert edges(looked(tmp_path, "cupy-cuda12x", "13.6.0", CUDA_PATH="C:\\cuda")) == {}


@pytest.mark.parametrize(
    ("content", "state"), [(b"", "damaged"), (build.pe(machine=0xAA64), "wrong architecture"), (b"MZ short", "damaged")]
)
def test_the_first_file_ends_the_search(tmp_path: Path, content: bytes, state: str) -> None:
    put(tmp_path, PROVIDER, "cublas64_12.dll")
    write(tmp_path, PROVIDER.rpartition("\\")[0].replace("\\", "/") + "/cublas64_12.dll", content)
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll")
    assert edges(looked(tmp_path, "onnxruntime-gpu", "1.20.0", PATH="C:\\cuda\\bin")) == {"cublas64_12.dll": state}


def test_two_links_away(tmp_path: Path) -> None:
    put(tmp_path, PROVIDER, "cublas64_12.dll")
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll", "cublasLt64_12.dll")
    its = looked(tmp_path, "onnxruntime-gpu", "1.20.0", PATH="C:\\cuda\\bin")
    assert edges(its) == {"cublasLt64_12.dll": "absent"}
    assert its is not None
    assert its.edges[0].wanted_by == "C:\\cuda\\bin\\cublas64_12.dll"
