r"""cuDNN on a made-up Windows: copies, who loads them, and what is resolved; real DLLs, built by mingw, nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as changed

from core.model.facts import CudnnCopy, Distribution, Load, PythonEnvironment, Resolution
from core.probes.cudnn import probe as cudnn
from core.probes.loading import probe
from core.probes.loading.plan import added_folders
from core.probes.probe import ProbeRequest
from tests import standin
from tests.loader import build
from tests.probes.request import request

pytestmark = pytest.mark.skipif(not build.has_mingw(), reason="needs mingw's compilers")

PREFIX = "C:\\ml\\venv"
SITE = PREFIX + "\\Lib\\site-packages"
INSTALLED = "C:\\Program Files\\NVIDIA\\CUDNN\\v9.1\\bin\\12.4"


def on(root: Path, path: str) -> Path:
    return root / path.replace("\\", "/")


def asking(root: Path, *distributions: Distribution, path: str = "") -> ProbeRequest:
    python = PythonEnvironment(
        prefix=PREFIX,
        executable=PREFIX + "\\python.exe",
        kind="venv",
        site_packages=(SITE,),
        distributions=distributions,
    )
    env = {"Path": path, "SystemRoot": "C:\\Windows"}
    asked = request(root, env, system="windows", pythons=(python,) if on(root, SITE).is_dir() else ())
    return replace(asked, seen=changed(asked.seen, cudnn=cudnn.look(asked)))


def test_condas_python_makes_its_own_folders_known() -> None:
    python = PythonEnvironment(prefix="C:\\conda", kind="conda", dll_folders=("C:\\mine",))
    assert added_folders(python)[0] == "C:\\mine"
    assert "C:\\conda\\Library\\bin" in added_folders(python)
    assert added_folders(replace(python, kind="venv")) == ("C:\\mine",)


def look(root: Path, *distributions: Distribution, path: str = "") -> tuple[Load, ...]:
    return probe.look(asking(root, *distributions, path=path))


def copies(root: Path, **more: str) -> tuple[CudnnCopy, ...]:
    return asking(root, **more).seen.cudnn or ()


def winners(load: Load) -> dict[str, tuple[str, str] | None]:
    """Return name -> folder and how it was found."""
    return {
        r.name: (r.winner.path.rpartition("\\")[0], r.winner.how.value) if r.winner else None for r in load.resolutions
    }


def resolution(load: Load, name: str) -> Resolution:
    return next(r for r in load.resolutions if r.name == name)


def test_an_installed_copy(tmp_path: Path) -> None:
    standin.build_cudnn(on(tmp_path, INSTALLED), "9.1.0", 12, system="windows")
    standin.write_header(on(tmp_path, "C:\\Program Files\\NVIDIA\\CUDNN\\v9.1\\include\\12.4"), "9.1.0")
    (copy,) = copies(tmp_path)
    assert (copy.folder, copy.origin, copy.version) == (INSTALLED, "installer", "9.1.0")
    assert (copy.cuda_major, copy.missing, copy.header_version, copy.sass) == (12, (), "9.1.0", (80, 90))
    (load,) = look(tmp_path)
    assert load.consumer.id == "plain"
    assert winners(load) == {"cudnn64_9.dll": None}
    (load,) = look(tmp_path, path=f'C:\\Windows;"C:\\quoted";{INSTALLED}')
    found = winners(load)
    parts = {standin.file_name(r, 9, "windows") for r in standin.parts("9.1.0")}
    assert {n for n, w in found.items() if w == (INSTALLED, "PATH")} == {"cudnn64_9.dll", *parts}
    assert {n for n, w in found.items() if w is None} == {"cublasLt64_12.dll", "nvcuda.dll", "nvrtc64_120_0.dll"}
    assert load.roll_call is None  # not this system's files


def test_a_missing_dll_is_named_by_the_others(tmp_path: Path) -> None:
    folder = standin.build_cudnn(on(tmp_path, INSTALLED), "8.9.7", system="windows")
    (folder / "cudnn_cnn_infer64_8.dll").unlink()
    (copy,) = copies(tmp_path)
    assert copy.missing == ("cudnn_cnn_infer64_8.dll",)
    assert "cudnn64_8.dll" in copy.missing_source


def test_system32_comes_before_path(tmp_path: Path) -> None:
    for folder in ("C:\\Windows\\System32", INSTALLED):
        standin.build_cudnn(on(tmp_path, folder), "9.1.0", system="windows")
    assert [(c.folder, c.origin) for c in copies(tmp_path, path=INSTALLED)] == [
        (INSTALLED, "installer"),
        ("C:\\Windows\\System32", "system"),
    ]
    (load,) = look(tmp_path, path=INSTALLED)
    main = resolution(load, "cudnn64_9.dll")
    assert [(a.path.rpartition("\\")[0], a.how.value) for a in main.found] == [
        ("C:\\Windows\\System32", "System32"),
        (INSTALLED, "PATH"),
    ]


def test_pytorch_loads_every_dll_of_its_folder(tmp_path: Path) -> None:
    """So its own parts are found by name although they are on no path, whatever System32 holds."""
    lib = SITE + "\\torch\\lib"
    folder = standin.build_cudnn(on(tmp_path, lib), "9.1.0", system="windows")
    standin.build_cudnn(on(tmp_path, "C:\\Windows\\System32"), "9.1.0", system="windows")
    (folder / "torch_cuda.dll").write_bytes(build.pe(imports=("cudnn64_9.dll", "KERNEL32.dll")))
    torch = Distribution(name="torch", version="2.4.1", location=SITE)
    load, plain = look(tmp_path, torch)
    assert (load.consumer.framework, load.major, plain.consumer.kind) == ("torch 2.4.1", 9, "plain")
    found = winners(load)
    own = {standin.file_name(r, 9, "windows") for r in ("", *standin.parts("9.1.0"))}
    assert {n for n, w in found.items() if w == (lib, "already loaded")} == own
    assert "System32" in {a.how.value for a in resolution(load, "cudnn_ops64_9.dll").attempts}


def test_onnxruntime_finds_cudnn_on_path(tmp_path: Path) -> None:
    standin.build_cudnn(on(tmp_path, INSTALLED), "8.9.7", system="windows")
    capi = on(tmp_path, SITE + "\\onnxruntime\\capi")
    capi.mkdir(parents=True)
    (capi / "onnxruntime_providers_cuda.dll").write_bytes(build.pe(imports=("cudnn64_8.dll", "cublas64_11.dll")))
    ort = Distribution(name="onnxruntime-gpu", version="1.16.3", location=SITE)
    load, _plain = look(tmp_path, ort, path=INSTALLED)
    assert (load.consumer.framework, load.major) == ("onnxruntime-gpu 1.16.3", 8)
    assert winners(load)["cudnn_cnn_infer64_8.dll"] == (INSTALLED, "PATH")
    assert winners(load)["nvrtc64_120_0.dll"] is None


@pytest.mark.parametrize(("version", "wanted"), [("8.5.0", True), ("8.9.3", True), ("8.2.4", False), ("8.9.4", False)])
def test_zlibwapi_is_wanted_by_some_releases_only(tmp_path: Path, version: str, wanted: bool) -> None:
    standin.build_cudnn(on(tmp_path, INSTALLED), version, 11, system="windows")
    (load,) = look(tmp_path, path=INSTALLED)
    assert ("zlibwapi.dll" in winners(load)) == wanted
    assert resolution(load, "cudnn_cnn_infer64_8.dll").winner is not None


def test_a_dll_for_another_processor_stops_the_search(tmp_path: Path) -> None:
    standin.build_cudnn(on(tmp_path, INSTALLED), "9.1.0", system="windows")
    first = on(tmp_path, "C:\\old")
    first.mkdir(parents=True)
    (first / "cudnn64_9.dll").write_bytes(build.pe(machine=0x14C))
    (load, *_rest) = look(tmp_path, path=f"C:\\old;{INSTALLED}")
    winner = resolution(load, "cudnn64_9.dll").winner
    assert winner is not None
    assert (winner.path, winner.outcome) == ("C:\\old\\cudnn64_9.dll", "wrong architecture")


def test_a_wheel_that_nothing_asks_for(tmp_path: Path) -> None:
    folder = standin.install_cudnn(on(tmp_path, SITE), "9.1.0.70", 12, system="windows")
    (load,) = look(tmp_path)
    assert (load.consumer.id, load.consumer.framework) == (f"python:{PREFIX}", "")
    assert {w[1] for n, w in winners(load).items() if w and n.startswith("cudnn_")} == {"already loaded"}
    assert folder.is_dir()
