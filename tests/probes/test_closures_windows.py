r"""What frameworks' DLLs lead to on a made-up Windows: real DLLs, built by mingw; nothing is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.model.facts import Closure, Distribution, Opening, PythonEnvironment
from core.probes.loading import closure, closure_windows
from tests.loader import build
from tests.probes.request import request, write

PREFIX = "C:\\ml\\venv"
SITE = PREFIX + "\\Lib\\site-packages"
BASE = "C:\\Python311"
PROVIDER = SITE + "\\onnxruntime\\capi\\onnxruntime_providers_cuda.dll"
CUBLAS = SITE + "\\cupy_backends\\cuda\\libs\\cublas.cp311-win_amd64.pyd"
WHEEL = SITE + "\\nvidia\\cublas\\bin\\cublas64_12.dll"


def put(root: Path, path: str, *imports: str, **fields: Any) -> None:
    write(root, path.replace("\\", "/"), build.pe(imports, **fields))


def looked(root: Path, name: str, version: str, *, beside: tuple[Distribution, ...] = (), **env: str) -> Closure | None:
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        kind="venv",
        site_packages=(SITE,),
        distributions=(Distribution(name=name, version=version, location=SITE), *beside),
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


def test_a_dll_of_another_release_lacks_a_function(tmp_path: Path) -> None:
    wants = {"cublas64_12.dll": ("cublasCreate_v2", "cublasNew")}
    write(tmp_path, PROVIDER.replace("\\", "/"), build.pe(tuple(wants), functions=wants))
    write(tmp_path, "C:/old/cublas64_12.dll", build.pe(exports=("cublasCreate_v2",)))
    write(tmp_path, "C:/new/cublas64_12.dll", build.pe(exports=("cublasCreate_v2", "cublasNew")))
    old_first = looked(tmp_path, "onnxruntime-gpu", "1.20.0", PATH="C:\\old;C:\\new")
    assert old_first is not None
    (gap,) = old_first.gaps
    assert (gap.name, gap.provider, gap.how) == ("cublasNew", "C:\\old\\cublas64_12.dll", "PATH")
    assert gap.others == ("C:\\new\\cublas64_12.dll",)
    new_first = looked(tmp_path, "onnxruntime-gpu", "1.20.0", PATH="C:\\new;C:\\old")
    assert new_first is not None
    assert not new_first.gaps


@pytest.mark.parametrize(
    ("record", "stray"),
    [
        ("onnxruntime/capi/onnxruntime_providers_cuda.dll,,\n", True),
        ("onnxruntime/capi/onnxruntime_providers_cuda.dll,,\nonnxruntime/capi/cublas64_12.dll,,\n", False),
        ("", False),
    ],
    ids=["copied there", "installed there", "no record"],
)
def test_a_file_that_no_package_installed_is_a_stray(tmp_path: Path, record: str, stray: bool) -> None:
    put(tmp_path, PROVIDER, "cublas64_12.dll")
    folder = PROVIDER.rpartition("\\")[0]
    write(tmp_path, f"{folder}/cublas64_12.dll".replace("\\", "/"), b"")
    write(tmp_path, f"{SITE}/onnxruntime_gpu-1.20.0.dist-info/RECORD".replace("\\", "/"), record)
    its = looked(tmp_path, "onnxruntime-gpu", "1.20.0")
    assert edges(its) == {"cublas64_12.dll": "damaged"}
    assert its is not None
    assert its.strays == ((f"{folder}\\cublas64_12.dll",) if stray else ())


@pytest.mark.parametrize("number", [193, 126, None], ids=["Windows", "wine", "it loads"])
@pytest.mark.parametrize("unfit", [True, False])
def test_an_unfit_runtime_beside_python_is_what_a_failed_load_met(
    number: int | None, unfit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SITE + "\\ctranslate2\\ctranslate2.dll"
    put(tmp_path, library, "MSVCP140.dll")
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll")
    put(tmp_path, "C:\\Windows\\System32\\msvcp140.dll")
    if unfit:
        put(tmp_path, BASE + "\\msvcp140.dll", machine=0x14C)
    made = Opening(library=library, problem=f"error {number}" if number else "", number=number)
    monkeypatch.setattr(closure_windows.DllWalk, "_openings", lambda *_of: (made,))
    told = {"MSVCP140.dll": "wrong architecture"} if number and unfit else {}
    assert edges(looked(tmp_path, "ctranslate2", "4.8.5", PATH="C:\\cuda\\bin")) == told


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ({"number": 1114, "problem": "error 1114"}, True),
        ({"ended": "The process ended with status 0xC0000005."}, True),
        ({"number": 193, "problem": "error 193"}, False),
        ({}, False),  # most programs start with an older runtime
    ],
)
@pytest.mark.parametrize(("linker", "runtime"), [(44, 29), (38, 38), (2, 29)])
def test_a_runtime_older_than_the_linker_is_what_a_failed_start_met(
    made: dict[str, Any], told: bool, linker: int, runtime: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = SITE + "\\torch\\lib\\c10.dll"
    put(tmp_path, library, "msvcp140.dll", linker=linker)
    put(tmp_path, "C:\\Windows\\System32\\msvcp140.dll", version=(14, runtime, 30139, 0))
    monkeypatch.setattr(closure_windows.DllWalk, "_openings", lambda *_of: (Opening(library=library, **made),))
    its = looked(tmp_path, "torch", "2.9.0")
    assert edges(its) == ({"msvcp140.dll": "too old"} if told and linker > runtime else {})


@pytest.mark.parametrize("number", [126, None])
def test_what_nobody_brings_is_what_a_failed_load_met(
    number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fbgemm.dll of PyTorch 2.4.0 names a library of Visual Studio that its wheel does not have."""
    library, asked = SITE + "\\torch\\lib\\fbgemm.dll", []

    def load(_python: object, order: object, *_rest: object) -> tuple[Opening, ...]:
        asked.append(order)
        return (Opening(library=library, problem=f"error {number}" if number else "", number=number),)

    monkeypatch.setattr(closure_windows, "load_libraries", load)
    put(tmp_path, library, "libomp140.x86_64.dll", "KERNEL32.dll")
    put(tmp_path, "C:\\Windows\\System32\\kernel32.dll")
    assert edges(looked(tmp_path, "torch", "2.4.0")) == ({"libomp140.x86_64.dll": "absent"} if number else {})
    assert asked


def test_ctranslate2_opens_cublas_by_name_and_finds_it_on_path(tmp_path: Path) -> None:
    put(tmp_path, SITE + "\\ctranslate2\\ctranslate2.dll")
    its = looked(tmp_path, "ctranslate2", "4.8.5")
    assert edges(its) == {"cublas64_12.dll": "absent"}
    assert its is not None
    assert its.edges[0].by_name
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll")
    assert edges(looked(tmp_path, "ctranslate2", "4.8.5", PATH="C:\\cuda\\bin")) == {}


def test_what_torch_lacks_in_its_folder_comes_from_path(tmp_path: Path) -> None:
    put(tmp_path, SITE + "\\torch\\lib\\torch_cuda.dll", "curand64_10.dll")
    assert edges(looked(tmp_path, "torch", "2.9.0")) == {"curand64_10.dll": "absent"}
    put(tmp_path, "C:\\cuda\\bin\\curand64_10.dll")
    assert edges(looked(tmp_path, "torch", "2.9.0", PATH="C:\\cuda\\bin")) == {}


@pytest.mark.parametrize(("variable", "found"), [("PATH", True), ("CUDA_PATH", False)])
def test_llama_cpp_searches_path_alone(tmp_path: Path, variable: str, found: bool) -> None:
    put(tmp_path, SITE + "\\llama_cpp\\lib\\llama.dll", "ggml.dll")
    put(tmp_path, SITE + "\\llama_cpp\\lib\\ggml-cuda.dll", "cublas64_12.dll")
    put(tmp_path, SITE + "\\llama_cpp\\lib\\ggml.dll")
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll")
    where = {"PATH": "C:\\cuda\\bin", "CUDA_PATH": "C:\\cuda"}[variable]
    told = edges(looked(tmp_path, "llama-cpp-python", "0.3.16", **{variable: where}))
    assert told == ({} if found else {"cublas64_12.dll": "absent"})


def test_a_delayed_dll_is_told_as_opened_later(tmp_path: Path) -> None:
    path = SITE + "\\torch\\lib\\torch_cuda.dll"
    write(tmp_path, path.replace("\\", "/"), build.pe(delayed=("nvrtc64_120_0.dll",)))
    its = looked(tmp_path, "torch", "2.9.0")
    assert its is not None
    assert [(e.name, e.by_name) for e in its.edges] == [("nvrtc64_120_0.dll", True)]


@pytest.mark.parametrize(("version", "found"), [("13.6.0", False), ("14.2.0", True)])
def test_cupy_finds_nvidias_wheels_since_14(tmp_path: Path, version: str, found: bool) -> None:
    put(tmp_path, CUBLAS, "cublas64_12.dll")
    put(tmp_path, WHEEL, "cublasLt64_12.dll")
    put(tmp_path, WHEEL.replace("cublas64_12", "cublasLt64_12"))
    assert (edges(looked(tmp_path, "cupy-cuda12x", version)) == {}) is found


def test_cupy_takes_the_folder_of_nvcc_where_cuda_path_names_none(tmp_path: Path) -> None:
    put(tmp_path, CUBLAS, "cublas64_12.dll")
    put(tmp_path, "C:\\cuda\\bin\\cublas64_12.dll")
    put(tmp_path, "C:\\cuda\\bin\\nvcc.exe")
    assert edges(looked(tmp_path, "cupy-cuda12x", "13.6.0", PATH="C:\\cuda\\bin")) == {}


def test_a_driver_that_is_not_there_is_no_lack_of_the_framework(tmp_path: Path) -> None:
    put(tmp_path, PROVIDER, "nvcuda.dll")
    assert edges(looked(tmp_path, "onnxruntime-gpu", "1.20.0")) == {}


def test_what_a_file_elsewhere_needs_is_lacking_as_well(tmp_path: Path) -> None:
    put(tmp_path, CUBLAS, "cusparse64_12.dll")
    put(tmp_path, SITE + "\\nvidia\\cusparse\\bin\\cusparse64_12.dll", "nvJitLink_120_0.dll", "KERNEL32.dll")
    linker = SITE + "\\nvidia\\nvjitlink\\bin\\nvJitLink_120_0.dll"
    put(tmp_path, linker)
    its = looked(tmp_path, "cupy-cuda12x", "13.6.0")
    assert edges(its) == {"cusparse64_12.dll": "absent", "nvJitLink_120_0.dll": "absent"}
    assert its is not None
    assert its.edges[1].elsewhere == (linker,)


# --- packages that no table knows ---------------------------------------------------------------------------------------

FLASH = SITE + "\\flash_attn_2_cuda.cp311-win_amd64.pyd"
LIB = SITE + "\\torch\\lib\\"


def packages(root: Path, *names: str, code: str = "", **env: str) -> dict[str, Closure]:
    """Return the closures of an environment with these packages; the first module of flash-attn is ``code``."""
    rows = {
        "torch": "torch/lib/c10.dll,,\n",
        "flash-attn": "flash_attn_2_cuda.cp311-win_amd64.pyd,,\nflash_attn/__init__.py,,\n",
    }
    for name in names:
        folder = name.replace("-", "_")
        write(root, f"{SITE}/{folder}-2.7.0.dist-info/RECORD".replace("\\", "/"), rows[name])
    write(root, f"{SITE}/flash_attn/__init__.py".replace("\\", "/"), code)
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        kind="venv",
        version="3.11.9",
        site_packages=(SITE,),
        distributions=tuple(Distribution(name=n, version="2.7.0", location=SITE) for n in names),
    )
    write(root, f"{PREFIX}/pyvenv.cfg".replace("\\", "/"), f"home = {BASE}\n")
    asked = request(root, {"SystemRoot": "C:\\Windows", **env}, system="windows", pythons=(python,))
    return {c.consumer.framework.partition(" ")[0]: c for c in closure.look(asked)}


def test_an_extension_takes_what_torch_loaded_before(tmp_path: Path) -> None:
    put(tmp_path, LIB + "c10.dll", "cudart64_12.dll")
    put(tmp_path, LIB + "cudart64_12.dll")
    put(tmp_path, FLASH, "c10.dll", "cudart64_12.dll", "python311.dll")
    assert "flash-attn" not in packages(tmp_path, "torch", "flash-attn")
    put(tmp_path, FLASH, "c10.dll", "c10_cuda.dll")
    assert edges(packages(tmp_path, "torch", "flash-attn")["flash-attn"]) == {"c10_cuda.dll": "absent"}


def test_an_extension_for_another_torch_lacks_a_function(tmp_path: Path) -> None:
    wants = {"c10.dll": ("?allocate@c10@@YAXXZ",)}
    write(tmp_path, FLASH.replace("\\", "/"), build.pe(tuple(wants), functions=wants))
    write(tmp_path, (LIB + "c10.dll").replace("\\", "/"), build.pe(exports=("?free@c10@@YAXXZ",)))
    (gap,) = packages(tmp_path, "torch", "flash-attn")["flash-attn"].gaps
    assert (gap.name, gap.provider) == ("?allocate@c10@@YAXXZ", LIB + "c10.dll")


ADDS = "import os\nos.add_dll_directory(os.path.join(os.environ['CUDA_PATH'], 'bin'))\n"


@pytest.mark.parametrize(
    ("place", "code", "told"),
    [
        ("C:\\cuda\\bin", "", True),  # on PATH alone: Python does not search it
        ("C:\\cuda\\bin", ADDS, False),
        (WHEEL.rpartition("\\")[0], "", False),  # its code may load it first
        ("C:\\elsewhere", ADDS, True),
    ],
)
def test_a_module_linked_against_cuda_that_no_table_knows(tmp_path: Path, place: str, code: str, told: bool) -> None:
    put(tmp_path, FLASH, "cublas64_12.dll")
    put(tmp_path, f"{place}\\cublas64_12.dll")
    found = packages(tmp_path, "flash-attn", code=code, PATH="C:\\cuda\\bin", CUDA_PATH="C:\\cuda")
    assert ("flash-attn" in found) == told


@pytest.mark.parametrize(
    ("there", "chosen", "detail"),
    [
        (("118", "121"), "", "libbitsandbytes_cuda118.dll, libbitsandbytes_cuda121.dll"),
        (("121", "124"), "", None),
        (("118", "121"), "121", None),  # the person takes that one
        ((), "", None),  # a build without CUDA
    ],
)
def test_a_package_has_libraries_for_other_cuda_versions(
    tmp_path: Path, there: tuple[str, ...], chosen: str, detail: str | None
) -> None:
    write(tmp_path, f"{SITE}/torch/version.py".replace("\\", "/"), "cuda = '12.4'\n")
    write(tmp_path, f"{SITE}/bitsandbytes/__init__.py".replace("\\", "/"), "")
    for number in there:
        put(tmp_path, f"{SITE}\\bitsandbytes\\libbitsandbytes_cuda{number}.dll")
    torch = Distribution(name="torch", version="2.6.0+cu124", location=SITE)
    env = {"BNB_CUDA_VERSION": chosen} if chosen else {}
    its = looked(tmp_path, "bitsandbytes", "0.43.1", beside=(torch,), **env)
    told = [(e.name, e.state, e.detail) for e in its.edges] if its else []
    assert told == ([("libbitsandbytes_cuda124.dll", "absent", detail)] if detail else [])
