"""Scenes that were written from public threads and committed before the first run, scored once, and only then looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.windows.faultlab.machine import HOME, SYSTEM32, TOOLKITS, Machine
from tests.windows.worldlab.scenes import (
    ABSENT,
    BIN,
    BROKEN,
    FOR_CUPY,
    FOR_ORT,
    FOREIGN,
    MISSING,
    NOT_SEARCHED,
    OLD,
    ORT,
    OTHER_CUDA,
    SHADOWED,
    TOOLKIT,
    Plant,
    Scene,
    bundled,
    gone,
    older,
    program,
    spoilt,
    toolkit,
    venv,
    with_toolkit,
    with_wheels,
)

LLAMA = HOME / "llama-b4000-bin-win-cuda-x64"
OLLAMA = HOME / "Ollama"
CAPI = "onnxruntime\\capi\\"
OTHER_MAJOR, PATH_WRONG = "cudnn_major_mismatch", "cuda_path_env_wrong"
FOR_LLAMA = ("cublas-12", "cudart-12")


def llama(*wheels: str) -> Callable[[Machine], Path]:
    """Unpack llama.cpp's archive, and NVIDIA's DLLs from the other archive beside it."""

    def base(m: Machine) -> Path:
        beside(m, LLAMA, *wheels)
        m.place(Path(m.places["consumers"]) / "ggml-cuda.dll", LLAMA / "ggml-cuda.dll")
        return m.place(Path(m.places["consumers"]) / "llama.exe", LLAMA / "llama.exe")

    return base


def ollama(m: Machine) -> Path:
    """Install Ollama: each CUDA has its folder in lib."""
    inner = OLLAMA / "lib\\ollama\\cuda_v12"
    beside(m, inner, *FOR_LLAMA)
    m.place(Path(m.places["consumers"]) / "ggml-cuda.dll", inner / "ggml-cuda.dll")
    return m.place(Path(m.places["consumers"]) / "ollama.exe", OLLAMA / "ollama.exe")


def beside(m: Machine, folder: Path, *wheels: str) -> None:
    """Place wheels' DLLs in a folder."""
    for name in wheels:
        for file in Path(m.places[name]).glob("nvidia/*/bin/*.dll"):
            m.place(file, folder / file.name)


def with_cudnn_8(m: Machine) -> Path:
    """ONNX Runtime, a toolkit, and the cuDNN of another major on PATH."""
    toolkit(m, *(name for name in FOR_ORT if name != "cudnn-9.28"))
    m.path(m.place_all(m.cudnn("cudnn-8.8.0"), HOME / "cudnn88\\bin"))
    return venv(m, "ort-1.20")


def cuda_11(m: Machine, *, first: bool = False) -> Path:
    """A CUDA 11.8 beside it."""
    folder = TOOLKITS / "v11.8\\bin"
    for file in sorted(Path(m.places["standins"]).glob("*64_11*.dll")):
        m.place(file, folder / file.name)
    m.write(TOOLKITS / "v11.8\\version.json", '{"cuda": {"name": "CUDA SDK", "version": "11.8.0"}}\n')
    m.path(folder, first=first)
    return folder


def cupy_of_another(m: Machine) -> Path:
    """CuPy for CUDA 12, and a CUDA_PATH that still names 11.8."""
    made = with_toolkit("cupy-13", *FOR_CUPY, on_path=True)(m)
    m.variable("CUDA_PATH", str(cuda_11(m).parent), "machine")
    return made


def own_copy(m: Machine) -> Path:
    """A program with its DLL beside it, and an older one first on PATH."""
    made = program("waves.exe", on_path=False)(m)
    beside(m, made.parent, "cufft-12", "cudart-12", "nvrtc-12")
    older("cufft64_11.dll", OLD, on_path=True)(m, made)
    return made


def odd_path(m: Machine) -> Path:
    """A PATH with empty entries, a drive that is gone, and CUDA_PATH with a backslash at its end."""
    made = with_toolkit("ctranslate2", "cublas-12", "nvrtc-12", "cudnn-9.28")(m)
    m.path("", "Q:\\tools\\bin", "", str(BIN).upper() + "\\", scope="user")
    m.variable("CUDA_PATH", str(TOOLKIT) + "\\", "machine")
    return made


def file_of(data: bytes, path: Path) -> Plant:
    """Put bytes under a name."""

    def plant(m: Machine, _made: Path) -> None:
        m.write(path, data)
        m.system_files.append(path)

    return plant


def emptied(m: Machine, site: Path) -> None:
    """Leave a wheel's metadata, without its files: an interrupted removal."""
    for file in (site / "nvidia\\cublas\\bin").glob("*.dll"):
        file.unlink()


HELD_OUT: tuple[Scene, ...] = (
    Scene("held-llama-without-cudart-archive", "llama.exe", (MISSING,), spoilt(llama())),
    Scene("held-ollama-cublaslt-lost", "ollama.exe", (MISSING,), spoilt(ollama, gone(str(OLLAMA / "lib\\ollama\\cuda_v12\\cublasLt64_12.dll")))),
    Scene("held-ort-cudnn-8-alone", ORT, (OTHER_MAJOR, ABSENT), spoilt(with_cudnn_8)),
    Scene("held-ort-provider-deleted", ORT, (BROKEN,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), gone(CAPI + "onnxruntime_providers_cuda.dll"))),
    Scene("held-cupy-13-cuda-path-of-11", "cupy-13", (PATH_WRONG, NOT_SEARCHED, OTHER_CUDA), spoilt(cupy_of_another)),
    Scene("held-ort-32-bit-in-system32", ORT, (FOREIGN,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), lambda m, _s: m.place(m.part("x86/zlibwapi.dll"), SYSTEM32 / "cudart64_12.dll"))),
    Scene("held-ort-empty-in-system32", ORT, (BROKEN,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), file_of(b"", SYSTEM32 / "cublasLt64_12.dll"))),
    Scene("held-ort-older-cufft-in-capi", ORT, (SHADOWED,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), older("cufft64_11.dll", HOME / "ml\\Lib\\site-packages\\onnxruntime\\capi"))),
    Scene("held-ort-wheel-emptied", ORT, (BROKEN, MISSING), spoilt(with_wheels("ort-1.20", *FOR_ORT, named=True), emptied)),
    Scene("held-program-of-cuda-11", "eleven.exe", (OTHER_CUDA, MISSING), spoilt(program("eleven.exe", "cublas-12", "cudart-12"))),
    Scene("held-healthy-llama-with-cudart-archive", "llama.exe", (), spoilt(llama(*FOR_LLAMA))),
    Scene("held-healthy-two-toolkits-older-first", ORT, (), spoilt(with_toolkit("ort-1.20", *FOR_ORT), lambda m, _s: cuda_11(m, first=True))),
    Scene("held-healthy-own-copy-before-path", "waves.exe", (), spoilt(own_copy)),
    Scene("held-healthy-untidy-path", "ctranslate2", (), spoilt(odd_path)),
    Scene("held-healthy-bundle-and-old-path", "bundle.exe", (), spoilt(bundled(*FOR_ORT), older("cublas64_12.dll", OLD, on_path=True))),
)  # fmt: skip
"""What is wrong, or odd: NVIDIA's DLLs left in the other archive; one lost of a backend's folder; a framework's own plug-in deleted; a variable
that names another toolkit; System32 before PATH; a copy beside the plug-in; a removal that was interrupted; a program of an older CUDA."""
