"""Healthy Windows set-ups, laid out as NVIDIA's installers and archives, pip, conda and the frameworks' wheels do."""

from __future__ import annotations

import winreg
from pathlib import Path

from tests.windows.faultlab.machine import CUDNN, HOME, TOOLKITS, Machine, distribution, environment

CUDA_12 = TOOLKITS / "v12.4"
CUDA_11 = TOOLKITS / "v11.8"
CUDA_13 = TOOLKITS / "v13.0"
NEW = "cudnn-9.28"
OLD = "cudnn-8.9.7"
NEW_FOLDER = CUDNN / "v9.28\\bin\\12.9"
ARCHIVE = HOME / "cudnn-windows-x86_64-8.9.7.29_cuda12-archive"


# --- CUDA --------------------------------------------------------------------------------------------------------


def cuda_12(m: Machine, *, on_path: bool = True) -> Path:
    """CUDA 12.4 by NVIDIA's installer: real DLLs, its variables and PATH entries."""
    folder = CUDA_12 / "bin"
    for wheel, inner in (("cublas-12", "cublas"), ("cudart-12", "cuda_runtime"), ("nvrtc-12", "cuda_nvrtc")):
        m.place_all(Path(m.places[wheel]) / "nvidia" / inner / "bin", folder)
    return _toolkit(m, CUDA_12, "12.4.1", folder, on_path=on_path)


def cuda_11(m: Machine, *, on_path: bool = True) -> Path:
    """CUDA 11.8; its DLLs are stand-ins."""
    return _standin_toolkit(m, CUDA_11, "11.8.0", CUDA_11 / "bin", ("_11", "64_110.", "_112", "_118"), on_path=on_path)


def cuda_13(m: Machine, *, on_path: bool = True) -> Path:
    r"""CUDA 13.0, whose DLLs lie in bin\x64; they are stand-ins."""
    return _standin_toolkit(m, CUDA_13, "13.0.2", CUDA_13 / "bin\\x64", ("_13",), on_path=on_path)


def _standin_toolkit(
    m: Machine, root: Path, version: str, folder: Path, marks: tuple[str, ...], *, on_path: bool
) -> Path:
    for file in sorted(Path(m.places["standins"]).glob("*64_*.dll")):
        if any(mark in file.name for mark in marks):
            m.place(file, folder / file.name)
    return _toolkit(m, root, version, folder, on_path=on_path)


def _toolkit(m: Machine, root: Path, version: str, folder: Path, *, on_path: bool) -> Path:
    m.write(root / "version.json", f'{{"cuda": {{"name": "CUDA SDK", "version": "{version}"}}}}\n')
    major, minor, _ = version.split(".")
    m.variable("CUDA_PATH", str(root), "machine")
    m.variable(f"CUDA_PATH_V{major}_{minor}", str(root), "machine")
    if on_path:
        m.path(folder)
    return folder


# --- cuDNN -------------------------------------------------------------------------------------------------------


def installed_9(m: Machine, *, on_path: bool = True) -> Path:
    r"""cuDNN 9.28 by NVIDIA's installer: CUDNN\v9.28\bin\12.9."""
    m.place_all(m.cudnn(NEW), NEW_FOLDER)
    if on_path:
        m.path(NEW_FOLDER)
    return NEW_FOLDER


def archive_8(m: Machine, name: str = OLD, folder: Path = ARCHIVE / "bin", *, on_path: bool = True) -> Path:
    """cuDNN 8 from its archive, unpacked by hand; ``name`` of a stand-in set for older releases."""
    m.place_all(m.cudnn(name), folder)
    if on_path:
        m.path(folder)
    return folder


# --- consumers ---------------------------------------------------------------------------------------------------


def onnxruntime(m: Machine, version: str, binary: str, name: str = "ml", home: Path = HOME) -> Path:
    """Install onnxruntime-gpu as its wheel does: its CUDA provider takes CUDA and cuDNN from PATH."""
    site = environment(m, name, home=home)
    m.place(m.part(binary), site / "onnxruntime\\capi\\onnxruntime_providers_cuda.dll")
    distribution(m, site, "onnxruntime-gpu", version)
    return site


def ort_8(m: Machine) -> Path:
    """onnxruntime-gpu 1.18.1, which asks for cuDNN 8 and CUDA 12."""
    return onnxruntime(m, "1.18.1", "ort-8.dll")


def ort_9(m: Machine) -> Path:
    """onnxruntime-gpu 1.20.1, which asks for cuDNN 9 and CUDA 12."""
    return onnxruntime(m, "1.20.1", "ort-9.dll")


def torch(m: Machine, name: str = "ml", home: Path = HOME, cudnn: str = NEW) -> Path:
    r"""Install torch for CUDA 12.4, with everything in torch\lib; return that folder."""
    site = environment(m, name, home=home)
    lib = site / "torch\\lib"
    m.place(m.part("torch_cuda.dll"), lib / "torch_cuda.dll")
    for wheel, inner in (("cublas-12", "cublas"), ("cudart-12", "cuda_runtime"), ("nvrtc-12", "cuda_nvrtc")):
        m.place_all(Path(m.places[wheel]) / "nvidia" / inner / "bin", lib)
    m.place_all(m.cudnn(cudnn), lib)
    m.write(site / "torch\\version.py", "__version__ = '2.9.0+cu126'\ndebug = False\ncuda = '12.6'\nhip = None\n")
    distribution(m, site, "torch", "2.9.0+cu126")
    return lib


def pip_packages(m: Machine, site: Path, *names: str) -> None:
    """Install NVIDIA's wheels as pip does: every file, with metadata and RECORD."""
    for name in names:
        base = Path(m.places[name])
        for file in sorted(p for p in base.rglob("*") if p.is_file()):
            m.place(file, site / file.relative_to(base))


# --- healthy machines --------------------------------------------------------------------------------------------


def with_8(m: Machine) -> Path:
    """CUDA 12.4, cuDNN 8.9.7 from its archive, onnxruntime-gpu for both; return cuDNN's folder."""
    m.driver()
    cuda_12(m)
    ort_8(m)
    return archive_8(m)


def with_9(m: Machine, *, on_path: bool = True) -> Path:
    """CUDA 12.4, cuDNN 9.28 by the installer, onnxruntime-gpu for both; return cuDNN's folder."""
    m.driver()
    cuda_12(m)
    ort_9(m)
    return installed_9(m, on_path=on_path)


def with_8_in_toolkit(m: Machine) -> Path:
    """CuDNN 8.9.7's archive copied into the toolkit's own folder."""
    m.driver()
    folder = cuda_12(m)
    ort_8(m)
    return m.place_all(m.cudnn(OLD), folder)


def with_older_8(m: Machine) -> Path:
    """A stand-in cuDNN 8.8 of the releases that open zlibwapi.dll, with that file."""
    m.driver()
    cuda_12(m)
    ort_8(m)
    folder = archive_8(m, "cudnn-8.8.0", HOME / "cudnn88\\bin")
    m.place(m.part("zlibwapi.dll"), folder / "zlibwapi.dll")
    return folder


def with_8_9_3(m: Machine) -> Path:
    """A stand-in cuDNN 8.9.3 without the zlibwapi.dll that it opens."""
    m.driver()
    cuda_12(m)
    ort_8(m)
    return archive_8(m, "cudnn-8.9.3", HOME / "cudnn893\\bin")


def with_8_0(m: Machine) -> Path:
    """CUDA 11.8 and cuDNN 8.0.5, as stand-ins."""
    m.driver()
    folder = cuda_11(m)
    onnxruntime(m, "1.5.3", "ort-8-cuda11.dll")
    return m.place_all(m.cudnn("cudnn-8.0.5"), folder)


def with_torch(m: Machine) -> Path:
    r"""Nothing but a driver, and torch with its own torch\lib."""
    m.driver()
    return torch(m)


def with_pip(m: Machine) -> Path:
    """NVIDIA's wheels in an environment, for programs that load them by their paths."""
    m.driver()
    site = environment(m)
    pip_packages(m, site, NEW, "cublas-12", "cudart-12", "nvrtc-12")
    return site / "nvidia\\cudnn\\bin"


def with_conda(m: Machine) -> Path:
    r"""Conda with CUDA 12 and cuDNN 8.9.7 in Library\bin, put on PATH by its installer."""
    m.driver()
    site = environment(m, "conda", "conda")
    library = site.parents[1] / "Library\\bin"
    for wheel, inner in (("cublas-12", "cublas"), ("cudart-12", "cuda_runtime"), ("nvrtc-12", "cuda_nvrtc")):
        m.place_all(Path(m.places[wheel]) / "nvidia" / inner / "bin", library)
    m.place_all(m.cudnn(OLD), library)
    m.write(site.parents[1] / "conda-meta\\cudnn-8.9.7.29-h0_0.json", '{"name": "cudnn", "version": "8.9.7.29"}')
    m.place(m.part("ort-8.dll"), site / "onnxruntime\\capi\\onnxruntime_providers_cuda.dll")
    distribution(m, site, "onnxruntime-gpu", "1.18.1")
    m.path(site.parents[1], library, site.parents[1] / "Scripts", scope="user", kind=winreg.REG_EXPAND_SZ)
    return library


def with_cuda_13(m: Machine) -> Path:
    r"""CUDA 13.0 with its bin\x64 and cuDNN 9.20 for it; both are stand-ins."""
    m.driver()
    cuda_13(m)
    onnxruntime(m, "1.24.0", "ort-9-cuda13.dll")
    folder = CUDNN / "v9.20\\bin\\13.0"
    m.place_all(m.cudnn("cudnn-9.20.0"), folder)
    m.path(folder)
    return folder


def with_cuda_11(m: Machine) -> Path:
    """CUDA 11.8 and cuDNN 8.6 with zlibwapi.dll; all are stand-ins."""
    m.driver()
    folder = cuda_11(m)
    onnxruntime(m, "1.16.3", "ort-8-cuda11.dll")
    m.place_all(m.cudnn("cudnn-8.6.0"), folder)
    m.place(m.part("zlibwapi.dll"), folder / "zlibwapi.dll")
    return folder


def two_majors(m: Machine) -> Path:
    """CuDNN 8 and 9 side by side, and a program for each."""
    m.driver()
    cuda_12(m)
    ort_8(m)
    onnxruntime(m, "1.20.1", "ort-9.dll", "nine")
    archive_8(m)
    return installed_9(m)


def no_gpu(m: Machine) -> Path:
    """A torch on a machine without an NVIDIA GPU."""
    return torch(m)


def empty(_m: Machine) -> None:
    """A Windows as it was installed."""
