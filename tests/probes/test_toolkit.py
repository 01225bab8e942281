"""The toolkit probe: every way in which CUDA's runtime libraries come onto a machine, each listed once."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from pathlib import Path

import pytest

from core.host.interface import CompletedProcess
from core.knowledge.cuda_file_names import (
    cuda_major,
    library_family,
    numbers_in_name,
    toolkit_locations,
    version_in_name,
)
from core.model.facts import Distribution, PythonEnvironment, Toolkit
from core.probes.toolkit import probe
from tests.probes.request import link, request, write
from tests.standin import build_library

KNOWN = toolkit_locations()


@functools.cache
def elf() -> bytes:
    """A real small library."""
    with tempfile.TemporaryDirectory() as folder:
        return build_library(Path(folder) / "libcudart.so.12").read_bytes()


def library(root: Path, path: str, *links: str) -> None:
    """Lay a library with its links into the made-up machine."""
    write(root, path, elf())
    for name in links:
        link(root, f"{path.rpartition('/')[0]}/{name}", path.rpartition("/")[2])


def python(prefix: str, kind: str = "venv", *installed: tuple[str, str], site: str = "") -> PythonEnvironment:
    site = site or f"{prefix}/lib/python3.11/site-packages"
    found = tuple(Distribution(name=n, version=v, location=site) for n, v in installed)
    return PythonEnvironment(prefix=prefix, kind=kind, site_packages=(site,), distributions=found)


def look(root: Path, env: dict[str, str] | None = None, *pythons: PythonEnvironment, **more) -> tuple[Toolkit, ...]:
    return probe.look(request(root, env, pythons=pythons, **more))


def installer(root: Path, version: str = "12.4", cudart: str = "12.4.127") -> str:
    base = f"/usr/local/cuda-{version}"
    library(root, f"{base}/targets/x86_64-linux/lib/libcudart.so.{cudart}", "libcudart.so.12", "libcudart.so")
    library(root, f"{base}/targets/x86_64-linux/lib/libnvrtc-builtins.so.{cudart}", f"libnvrtc-builtins.so.{version}")
    link(root, f"{base}/lib64", "targets/x86_64-linux/lib")
    write(root, f"{base}/bin/nvcc", b"\x7fELF")
    return base


# --- names -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "system", "family", "major", "version"),
    [
        ("libcudart.so.12.4.127", "linux", "cudart", 12, "12.4.127"),
        ("libcudart.so.11.0", "linux", "cudart", 11, None),
        ("libcudart.so.12", "linux", "cudart", 12, None),
        ("libcudart-d0da41ae.so.11.0", "linux", "cudart", 11, None),
        ("libcudart.so", "linux", "cudart", None, None),
        ("libcublasLt.so.12.4.5.8", "linux", "cublasLt", 12, "12.4.5.8"),
        ("libnvrtc.so.11.2", "linux", "nvrtc", 11, None),
        ("libnvrtc.alt.so.12", "linux", "nvrtc", 12, None),
        ("libnvrtc-builtins.so.12.4", "linux", "nvrtc-builtins", 12, "12.4"),
        ("libcufft.so.11", "linux", "cufft", 12, None),
        ("libcurand.so.10", "linux", "curand", None, None),
        ("libcusolver.so.11", "linux", "cusolver", None, None),
        ("libcusparse.so.12", "linux", "cusparse", None, None),
        ("libnvJitLink.so.13", "linux", "nvJitLink", 13, None),
        ("libcudnn.so.9", "linux", None, None, None),
        ("libcudart_static.a", "linux", None, None, None),
        ("libcublasFake.so.12", "linux", None, None, None),
        ("cudart64_12.dll", "windows", "cudart", 12, None),
        ("cudart64_110.dll", "windows", "cudart", 11, None),
        ("cudart64_101.dll", "windows", "cudart", 10, None),
        ("CUBLAS64_12.DLL", "windows", "cublas", 12, None),
        ("nvrtc64_112_0.dll", "windows", "nvrtc", 11, None),
        ("nvrtc64_130_0.alt.dll", "windows", "nvrtc", 13, None),
        ("nvrtc-builtins64_129.dll", "windows", "nvrtc-builtins", 12, "12.9"),
        ("nvJitLink_120_0.dll", "windows", "nvJitLink", 12, None),
        ("cufft64_12.dll", "windows", "cufft", 13, None),
        ("cudnn64_9.dll", "windows", None, None, None),
    ],
)
def test_what_names_tell(name, system, family, major, version):
    assert library_family(name, system, KNOWN) == family
    if family:
        number = numbers_in_name(name, system)
        assert cuda_major(family, number, KNOWN) == major
        assert version_in_name(family, number, system) == version


# --- places ----------------------------------------------------------------------------------------------


def test_an_installed_toolkit_is_listed_once_whoever_names_it(tmp_path: Path):
    base = installer(tmp_path)
    link(tmp_path, "/usr/local/cuda", "cuda-12.4")
    write(
        tmp_path,
        f"{base}/version.json",
        json.dumps({"cuda": {"version": "12.4.1"}, "cuda_nvcc": {"version": "12.4.131"}}),
    )
    env = {
        "CUDA_HOME": "/usr/local/cuda",
        "CUDA_PATH": f"{base}/",
        "PATH": "/usr/bin:/usr/local/cuda/bin",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    }
    (found,) = look(tmp_path, env)
    assert (found.root, found.origin) == (base, "installer")
    assert (found.version, found.version_source) == ("12.4.1", "version.json")
    assert found.folder == f"{base}/lib64"
    assert (found.nvcc, found.nvcc_version) == ("/usr/local/cuda/bin/nvcc", "12.4.131")
    assert found.named_by == ("/usr/local/cuda", "CUDA_HOME", "CUDA_PATH", "nvcc on PATH", "LD_LIBRARY_PATH")
    assert [(f.name, f.version, f.cuda_major, f.state) for f in found.libraries] == [
        ("libcudart.so.12", "12.4.127", 12, "good"),
        ("libnvrtc-builtins.so.12.4", "12.4.127", 12, "good"),
    ]
    assert found.libraries[0].real_path == f"{base}/targets/x86_64-linux/lib/libcudart.so.12.4.127"
    assert found.libraries[0].architecture == os.uname().machine


@pytest.mark.parametrize(
    ("files", "version", "source"),
    [
        ({"version.json": '{"cuda": {"version": "12.4.1"}}'}, "12.4.1", "version.json"),
        ({"version.json": "{broken", "version.txt": "CUDA Version 1.2.3"}, "12.4.127", "libcudart.so.12.4.127"),
        ({"version.json": '{"cuda": {"version": ["x"]}}'}, "12.4.127", "libcudart.so.12.4.127"),
        ({"version.json": "[" * 100_000}, "12.4.127", "libcudart.so.12.4.127"),
        ({"version.txt": "CUDA Version 12.4.99\n"}, "12.4.99", "version.txt"),
        ({}, "12.4.127", "libcudart.so.12.4.127"),
    ],
)
def test_the_surest_version_counts(tmp_path: Path, files, version, source):
    base = installer(tmp_path)
    for name, content in files.items():
        write(tmp_path, f"{base}/{name}", content)
    (found,) = look(tmp_path)
    assert (found.version, found.version_source) == (version, source)


def test_a_folder_name_and_a_header_where_no_file_name_tells(tmp_path: Path):
    library(tmp_path, "/usr/local/cuda-13.0/lib64/libcudart.so.13")
    library(tmp_path, "/opt/mine/lib/libcudart.so.11.0")
    write(tmp_path, "/opt/mine/include/cuda_runtime_api.h", "x\n#define CUDART_VERSION  11080\n")
    found = look(tmp_path, {"CUDA_PATH": "/opt/mine"})
    assert [(t.root, t.version, t.version_source, t.origin) for t in found] == [
        ("/usr/local/cuda-13.0", "13.0", "folder name", "installer"),
        ("/opt/mine", "11.8", "cuda_runtime_api.h", "folder"),
    ]


def test_a_variable_that_names_a_folder_without_cuda_is_still_listed(tmp_path: Path):
    (tmp_path / "opt/nothing").mkdir(parents=True)
    (found,) = look(tmp_path, {"CUDA_PATH": "/opt/nothing", "CUDA_HOME": "/gone", "CUDA_ROOT": "."})
    assert (found.root, found.libraries, found.version, found.named_by) == ("/opt/nothing", (), None, ("CUDA_PATH",))


@pytest.mark.parametrize(
    ("named", "root"), [("bin", "/opt/mine"), ("lib64", "/opt/mine"), ("bin/x", "/opt/mine/bin/x")]
)
def test_a_variable_that_names_a_part_of_a_toolkit(named: str, root: str, tmp_path: Path):
    library(tmp_path, "/opt/mine/lib64/libcudart.so.12")
    write(tmp_path, "/opt/mine/bin/nvcc", "")
    (tmp_path / "opt/mine/bin/x").mkdir()
    (found,) = look(tmp_path, {"CUDA_HOME": f"/opt/mine/{named}"})
    assert (found.root, found.named_by) == (root, ("CUDA_HOME",))


def test_the_distributions_libraries(tmp_path: Path):
    library(tmp_path, "/usr/lib/x86_64-linux-gnu/libcudart.so.11.8.89", "libcudart.so.11.0", "libcudart.so")
    (found,) = look(tmp_path)
    assert (found.root, found.origin, found.version) == ("/usr", "distribution", "11.8.89")
    assert [f.name for f in found.libraries] == ["libcudart.so.11.0"]


def test_wheels_of_cuda_12_are_versioned_by_their_distributions(tmp_path: Path):
    site = "/home/ada/ml/lib/python3.11/site-packages"
    library(tmp_path, f"{site}/nvidia/cuda_runtime/lib/libcudart.so.12")
    library(tmp_path, f"{site}/nvidia/cublas/lib/libcublas.so.12")
    library(tmp_path, f"{site}/nvidia/cublas/lib/libcublasLt.so.12")
    library(tmp_path, f"{site}/nvidia/curand/lib/libcurand.so.10")
    library(tmp_path, f"{site}/nvidia/cudnn/lib/libcudnn.so.9")
    write(tmp_path, f"{site}/nvidia/__init__.py")
    installed = (
        ("nvidia-cuda-runtime-cu12", "12.4.127"),
        ("nvidia-cublas-cu12", "12.4.5.8"),
        ("nvidia-curand-cu12", "10.3.5.147"),
        ("nvidia-cudnn-cu12", "9.1.0.70"),
    )
    (found,) = look(tmp_path, {}, python("/home/ada/ml", "venv", *installed))
    assert (found.root, found.origin, found.version) == (f"{site}/nvidia", "wheel", "12.4.127")
    assert found.version_source == "nvidia-cuda-runtime-cu12 12.4.127"
    assert found.folder == f"{site}/nvidia/cuda_runtime/lib"
    assert "/home/ada/ml" in found.owner
    assert [(f.name, f.version, f.cuda_major) for f in found.libraries] == [
        ("libcublas.so.12", "12.4.5.8", 12),
        ("libcublasLt.so.12", "12.4.5.8", 12),
        ("libcudart.so.12", "12.4.127", 12),
        ("libcurand.so.10", "10.3.5.147", 12),
    ]


def test_wheels_of_two_cuda_majors_in_one_environment_are_two_toolkits(tmp_path: Path):
    site = "/v/lib/python3.11/site-packages"
    library(tmp_path, f"{site}/nvidia/cublas/lib/libcublas.so.11")
    library(tmp_path, f"{site}/nvidia/cublas/lib/libcublas.so.12")
    library(tmp_path, f"{site}/nvidia/cu13/lib/libcudart.so.13")
    installed = (
        ("nvidia-cublas-cu11", "11.11.3.6"),
        ("nvidia-cublas-cu12", "12.4.5.8"),
        ("nvidia-cuda-runtime", "13.0.96"),
    )
    found = look(tmp_path, {}, python("/v", "venv", *installed))
    assert {(t.root.rpartition("/")[2], t.version, len(t.libraries)) for t in found} == {
        ("cu13", "13.0.96", 1),
        ("nvidia", "11.11.3.6", 1),
        ("nvidia", "12.4.5.8", 1),
    }


def test_a_distribution_that_is_installed_twice_tells_no_version(tmp_path: Path):
    site = "/v/lib/python3.11/site-packages"
    library(tmp_path, f"{site}/nvidia/cuda_runtime/lib/libcudart.so.12")
    installed = (("nvidia-cuda-runtime-cu12", "12.4.127"), ("nvidia-cuda-runtime-cu12", "12.1.105"))
    (found,) = look(tmp_path, {}, python("/v", "venv", *installed))
    assert found.version is None
    assert found.libraries[0].version is None


def test_a_stray_file_among_a_wheels_own_keeps_the_version_of_its_name(tmp_path: Path):
    site = "/v/lib/python3.11/site-packages"
    library(tmp_path, f"{site}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")
    library(tmp_path, f"{site}/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.1")
    (found,) = look(tmp_path, {}, python("/v", "venv", ("nvidia-cuda-nvrtc-cu12", "12.4.127")))
    assert [(f.name, f.version, f.version_source) for f in found.libraries] == [
        ("libnvrtc-builtins.so.12.1", "12.1", "file name"),
        ("libnvrtc.so.12", "12.4.127", "nvidia-cuda-nvrtc-cu12 12.4.127"),
    ]


def test_conda_and_what_a_framework_brings(tmp_path: Path):
    library(tmp_path, "/conda/lib/libcudart.so.11.8.89", "libcudart.so.11.0")
    write(tmp_path, "/conda/conda-meta/cudatoolkit-11.8.0-h6a678d5_0.json", "{}")
    site = "/conda/lib/python3.11/site-packages"
    library(tmp_path, f"{site}/torch/lib/libcudart-d0da41ae.so.11.0")
    found = look(tmp_path, {}, python("/conda", "conda", ("torch", "1.13.1")))
    assert [(t.origin, t.owner, t.version) for t in found] == [
        ("conda", "cudatoolkit 11.8.0", "11.8.89"),
        ("framework", "torch 1.13.1", None),
    ]


def test_damaged_dangling_and_strange_files_are_facts(tmp_path: Path):
    folder = "/opt/cuda/lib64"
    write(tmp_path, f"{folder}/libcudart.so.12", b"")
    write(tmp_path, f"{folder}/libcublas.so.12", elf()[:200])
    link(tmp_path, f"{folder}/libnvrtc.so.12", "libnvrtc.so.12.4.127")
    link(tmp_path, f"{folder}/libcufft.so.11", "libcufft.so.11")
    (tmp_path / folder.lstrip("/") / "libcurand.so.10").mkdir()
    os.mkfifo(tmp_path / folder.lstrip("/") / "libcusparse.so.12")
    (found,) = look(tmp_path)
    states = {f.name: f.state for f in found.libraries}
    assert states == {
        "libcudart.so.12": "empty",
        "libcublas.so.12": "truncated",
        "libnvrtc.so.12": "dangling",
        "libcufft.so.11": "dangling",
        "libcurand.so.10": "not a library",
        "libcusparse.so.12": "not a library",
    }


# --- nvcc ------------------------------------------------------------------------------------------------

SAID = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n"


def test_a_script_in_nvccs_place_is_seen_through_and_the_compiler_is_asked_last(tmp_path: Path):
    base = installer(tmp_path)
    write(tmp_path, "/usr/local/bin/nvcc", f'#!/bin/sh\nexec {base}/bin/nvcc "$@"\n')
    runs = {("/usr/local/bin/nvcc", "--version"): CompletedProcess(status=0, out=SAID)}
    (found,) = look(tmp_path, {"PATH": "/usr/local/bin"}, runs=runs)
    assert (found.root, found.nvcc, found.nvcc_version) == (base, "/usr/local/bin/nvcc", "13.0.88")


def test_a_compiler_that_is_not_on_path_is_never_run(tmp_path: Path):
    base = installer(tmp_path)
    runs = {(f"{base}/bin/nvcc", "--version"): CompletedProcess(status=0, out=SAID)}
    (found,) = look(tmp_path, {"PATH": "/usr/bin", "CUDA_PATH": base}, runs=runs)
    assert (found.nvcc, found.nvcc_version) == (f"{base}/bin/nvcc", None)


def test_a_compiler_that_fails_tells_nothing(tmp_path: Path):
    installer(tmp_path)
    (found,) = look(tmp_path, {"PATH": "/usr/local/cuda-12.4/bin"})
    assert found.nvcc_version is None


# --- Windows ---------------------------------------------------------------------------------------------


def test_windows_toolkits_old_and_new(tmp_path: Path):
    base = "C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA"
    write(tmp_path, f"{base}/v12.4/bin/cudart64_12.dll", b"MZ")
    write(tmp_path, f"{base}/v12.4/bin/nvrtc-builtins64_124.dll", b"MZ")
    write(tmp_path, f"{base}/v12.4/bin/nvcc.exe", b"MZ")
    write(tmp_path, f"{base}/v13.0/bin/x64/cudart64_13.dll", b"MZ")
    write(tmp_path, f"{base}/v13.0/version.json", '{"cuda": {"version": "13.0.2"}}')
    root = base.replace("/", "\\")
    env = {"CUDA_PATH": f"{root}\\v12.4", "CUDA_PATH_V12_4": f"{root}\\v12.4", "Path": f"{root}\\v13.0\\bin\\x64"}
    old, new = look(tmp_path, env, system="windows")
    assert (old.root, old.version, old.version_source) == (f"{root}\\v12.4", "12.4", "nvrtc-builtins64_124.dll")
    assert old.named_by == ("CUDA_PATH", "CUDA_PATH_V12_4")
    assert old.nvcc == f"{root}\\v12.4\\bin\\nvcc.exe"
    assert [(f.name, f.cuda_major, f.version) for f in old.libraries] == [
        ("cudart64_12.dll", 12, None),
        ("nvrtc-builtins64_124.dll", 12, "12.4"),
    ]
    assert (new.folder, new.version, new.named_by) == (f"{root}\\v13.0\\bin\\x64", "13.0.2", ("PATH",))


def test_a_stray_copy_in_a_folder_of_path(tmp_path: Path):
    write(tmp_path, "C:/Windows/System32/cudart64_110.dll", b"MZ")
    (found,) = look(tmp_path, {"Path": r"C:\Windows\System32;C:\none"}, system="windows")
    assert (found.root, found.origin, found.named_by) == (r"C:\Windows\System32", "folder", ("PATH",))


def test_wheels_on_windows(tmp_path: Path):
    site = r"C:\ml\Lib\site-packages"
    write(tmp_path, "C:/ml/Lib/site-packages/nvidia/cu13/bin/x86_64/cublas64_13.dll", b"MZ")
    write(tmp_path, "C:/ml/Lib/site-packages/nvidia/cuda_runtime/bin/cudart64_12.dll", b"MZ")
    installed = (("nvidia-cublas", "13.0.0.19"), ("nvidia-cuda-runtime-cu12", "12.6.77"))
    found = look(tmp_path, {}, python(r"C:\ml", "venv", *installed, site=site), system="windows")
    assert [(t.root, t.version) for t in found] == [
        (rf"{site}\nvidia\cu13", "13.0.0.19"),
        (rf"{site}\nvidia", "12.6.77"),
    ]


def test_an_empty_machine_has_none(tmp_path: Path):
    assert look(tmp_path, {"PATH": "/usr/bin", "LD_LIBRARY_PATH": ":"}) == ()
