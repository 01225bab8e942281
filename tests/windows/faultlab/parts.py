"""What the machines are made of: NVIDIA's wheels for Windows, and DLLs built with mingw for what cannot be had here."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import standin
from tests.faultlab.standins import CUDA_SOURCE, NVML_SOURCE, Driver
from tests.faultlab.wheels import Wheel, cache, unpacked
from tests.lock import made_once

WHEELS = {
    "cudnn-8.9.7": Wheel(
        "nvidia-cudnn-cu12",
        "8.9.7.29",
        "win_amd64",
        "4447321a2bdc8bd965084c1824575eb04f47a03ab62bbeb6cce7e9f74c3657f3",
    ),
    "cudnn-9.28": Wheel(
        "nvidia-cudnn-cu12",
        "9.28.0.42",
        "win_amd64",
        "e8eb548c252e95713e81e6fc53c61940d13114d7116908069d018b2d24700620",
    ),
    "cublas-12": Wheel(
        "nvidia-cublas-cu12",
        "12.4.5.8",
        "win_amd64",
        "5a796786da89203a0657eda402bcdcec6180254a8ac22d72213abc42069522dc",
    ),
    "cudart-12": Wheel(
        "nvidia-cuda-runtime-cu12",
        "12.4.127",
        "win_amd64",
        "09c2e35f48359752dfa822c09918211844a3d93c100a715d79b59591130c5e1e",
    ),
    "nvrtc-12": Wheel(
        "nvidia-cuda-nvrtc-cu12",
        "12.4.127",
        "win_amd64",
        "a961b2f1d5f17b14867c619ceb99ef6fcec12e46612711bcec78eb05068a60ec",
    ),
}

DRIVERS = {
    "driver": Driver(version="580.88"),
    "driver-old": Driver(version="472.12", cuda=11040),
    "driver-no-device": Driver(version="580.88", init=100, nvml=0),
}

CUDNN_SETS = {
    "cudnn-8.8.0": ("8.8.0", 12),
    "cudnn-8.6.0": ("8.6.0", 11),
    "cudnn-8.9.5": ("8.9.5", 12),
    "cudnn-9.1.0": ("9.1.0", 12),
    "cudnn-9.20.0": ("9.20.0", 13),
    "cudnn-7.6.5": ("7.6.5", 10),
    "cudnn-8.0.5": ("8.0.5", 11),
    "cudnn-8.9.3": ("8.9.3", 12),
}
"""Stand-in sets: version and CUDA's major."""

FOR_WHEELS = {"cudnn-8.9.7": ("8.9.7", 12), "cudnn-9.28": ("9.28.0", 12)}
"""Stand-ins for the sets that NVIDIA's wheels hold, for a run that fetches nothing."""

IN_WHEELS = {
    "cublas-12": ("cublas", ("cublas64_12.dll", "cublasLt64_12.dll")),
    "cudart-12": ("cuda_runtime", ("cudart64_12.dll",)),
    "nvrtc-12": ("cuda_nvrtc", ("nvrtc64_120_0.dll", "nvrtc-builtins64_124.dll")),
}
"""The same for CUDA 12: wheel -> its folder and its DLLs."""

FUNCTIONS = {
    "cudnn": "cudnnGetVersion",
    "cublas": "cublasCreate_v2",
    "cublasLt": "cublasLtCreate",
    "cudart": "cudaGetDeviceCount",
    "nvrtc": "nvrtcVersion",
    "nvrtc-builtins": "nvrtcGetBuiltins",
}
"""Family of DLL -> a function that it really exports, for import tables."""

IMPORTERS: dict[str, tuple[str, ...]] = {
    "torch_cuda.dll": ("cudnn64_9.dll", "cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll"),
    "ort-8.dll": ("cudnn64_8.dll", "cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll"),
    "ort-9.dll": ("cudnn64_9.dll", "cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll"),
    "ort-9-cuda13.dll": ("cudnn64_9.dll", "cublas64_13.dll", "cublasLt64_13.dll", "cudart64_13.dll"),
    "ort-8-cuda11.dll": ("cudnn64_8.dll", "cublas64_11.dll", "cublasLt64_11.dll", "cudart64_110.dll"),
    "ctranslate2.dll": ("cudnn64_8.dll",),
    "needs-runtime.dll": ("cudnn64_9.dll", "MSVCP140.dll", "VCRUNTIME140.dll"),
}
"""Stand-in of a framework's DLL -> what it imports, as read from the real ones."""

LIBRARIES = (
    *("cublas64_11.dll", "cublasLt64_11.dll", "cudart64_110.dll", "nvrtc64_112_0.dll", "nvrtc-builtins64_118.dll"),
    *("cublas64_13.dll", "cublasLt64_13.dll", "cudart64_13.dll", "nvrtc64_130_0.dll", "nvrtc-builtins64_130.dll"),
    "zlibwapi.dll",
)
"""Small DLLs of the right names: CUDA 11 and 13, and zlib."""


def wheels() -> dict[str, Path]:
    """Return the unpacked wheels by their short names, fetched where needed."""
    return {name: unpacked(wheel) for name, wheel in WHEELS.items()}


def standins() -> Path:
    """Return the folder of everything that mingw builds; built once for each state of the sources."""
    sources = (Path(__file__), Path(standin.__file__), Path(standin.__file__).parent / "faultlab/standins.py")
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    return made_once(cache() / "standins-windows" / state, _build)


def _build(out: Path) -> None:
    out.mkdir()
    for name, (version, cuda) in (CUDNN_SETS | FOR_WHEELS).items():
        standin.build_cudnn(out / name, version, cuda, system="windows")
        standin.write_header(out / name, version)
    for name, how in DRIVERS.items():
        driver(out / name, how)
    for name, imports in IMPORTERS.items():
        library(out / name, imports)
    for name in LIBRARIES:
        library(out / name, exports=(_function(name),))
    for wheel, (folder, names) in IN_WHEELS.items():
        place = out / wheel / "nvidia" / folder / "bin"
        place.mkdir(parents=True)
        for name in names:
            library(place / name, exports=(_function(name),))
    start_fails(out / "start-fails.dll")
    for file in ("zlibwapi.dll", "cudnn-8.8.0/cudnn_cnn_infer64_8.dll"):
        as_32_bit(out / file, out / "x86" / Path(file).name)


def _function(name: str) -> str:
    family = name.partition("64_")[0]
    return FUNCTIONS.get(family, "standin")


def driver(folder: Path, how: Driver) -> None:
    """Build nvcuda.dll and nvml.dll that answer as told."""
    macros = [f'-DVERSION="{how.version}"', f"-DCUDA={how.cuda}", f'-DGPU="{how.gpu}"', f"-DINIT={how.init}"]
    macros += [f"-DNVML={how.nvml}", f"-DMAJOR={how.capability[0]}", f"-DMINOR={how.capability[1]}"]
    folder.mkdir()
    for name, source in (("nvcuda.dll", CUDA_SOURCE), ("nvml.dll", NVML_SOURCE)):
        code = folder / f"{name}.c"
        code.write_text(source)
        _mingw("-shared", "-O1", "-w", "-s", code, *macros, "-o", folder / name)
        code.unlink()


def library(path: Path, imports: Sequence[str] = (), exports: Sequence[str] = ("standin",)) -> None:
    """Build a DLL with these imports and exports."""
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        links: list[Path] = []
        uses: list[str] = []
        for number, name in enumerate(imports):
            function = _function(name) if _function(name) != "standin" else f"standin{number}"
            definition = work / f"{number}.def"
            definition.write_text(f"LIBRARY {name}\nEXPORTS\n{function}\n")
            archive = work / f"lib{number}.a"
            subprocess.run(["x86_64-w64-mingw32-dlltool", "-d", definition, "-l", archive], check=True)
            links.append(archive)
            uses.append(function)
        code = work / "library.c"
        rows = [f"extern int {name}(void);" for name in uses]
        rows += [f"__declspec(dllexport) int {name}(void) {{ return 1; }}" for name in exports]
        rows += [f"__declspec(dllexport) int uses(void) {{ return {' + '.join(f'{n}()' for n in uses) or '0'}; }}"]
        code.write_text("\n".join(rows) + "\n")
        _mingw("-shared", "-O1", "-w", "-s", code, *links, "-o", path)


def start_fails(path: Path) -> None:
    """Build a DLL whose DllMain says no: loading it gives error 1114 (ERROR_DLL_INIT_FAILED)."""
    with tempfile.TemporaryDirectory() as scratch:
        code = Path(scratch) / "library.c"
        code.write_text("int __stdcall DllMain(void *h, unsigned long r, void *p) { return r != 1; }\n")
        _mingw("-shared", "-nostdlib", "-Wl,-e,DllMain", "-s", code, "-o", path)


def as_32_bit(source: Path, target: Path) -> None:
    """Copy a DLL with a header that says 32-bit (IMAGE_FILE_MACHINE_I386, PE32)."""
    data = bytearray(source.read_bytes())
    header = struct.unpack_from("<I", data, 0x3C)[0]
    struct.pack_into("<H", data, header + 4, 0x14C)
    struct.pack_into("<H", data, header + 24, 0x10B)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(data)


def _mingw(*arguments: str | Path) -> None:
    subprocess.run(["x86_64-w64-mingw32-gcc", *arguments], check=True)


def places(*, light: bool = False) -> Mapping[str, str]:
    """Return where everything lies, by name, for the Windows side. ``light``: stand-ins alone, nothing is fetched."""
    if not shutil.which("x86_64-w64-mingw32-gcc"):
        raise SystemExit("The Windows fault lab needs mingw's compiler (gcc-mingw-w64-x86-64).")
    made = standins()
    if light:
        return {**{name: str(made / name) for name in IN_WHEELS}, "standins": str(made)}
    return {**{name: str(path) for name, path in wheels().items()}, "standins": str(made)}
