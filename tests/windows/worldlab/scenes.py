"""The scenes: frameworks' wheels as pip installs them, NVIDIA's DLLs where people have them, one thing wrong, or nothing."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from core.knowledge.modules import module_of
from tests.windows.faultlab.machine import HOME, SYSTEM32, TOOLKITS, Machine, distribution, environment
from tests.windows.worldlab.tables import PROGRAMS

NOT_SEARCHED, NO_CUDNN_PATH = "cuda_not_on_search_path", "cudnn_not_on_search_path"
MISSING, ABSENT, BROKEN = "cuda_runtime_missing", "cudnn_not_installed", "corrupt_or_truncated_file"
OTHER_CUDA = "cuda_toolkit_version_mismatch"
FOREIGN, SHADOWED, NO_NVRTC, PARTS = (
    "dll_wrong_architecture",
    "cuda_lib_shadowed",
    "nvrtc_missing_or_mismatch",
    "cudnn_sublibrary_missing",
)

TOOLKIT = TOOLKITS / "v12.4"
BIN = TOOLKIT / "bin"
OLD = HOME / "old tools (2023)"
ODD = HOME / "Zoë [x] 猫"
PLAIN = HOME / "old & new (2024)"
"""A name that PyTorch's own search, a pattern, finds as well: one like ODD is warned of."""
FOR_ORT = ("cublas-12", "cudart-12", "cufft-12", "cudnn-9.28", "nvrtc-12")
FOR_CUPY = ("cublas-12", "cudart-12", "cufft-12", "curand-12", "cusolver-12", "cusparse-12", "nvjitlink-12", "nvrtc-12")
ALL = (*FOR_CUPY, "cudnn-9.28")


REQUIRED = {
    "numpy": "2.2.6", "protobuf": "5.29.3", "flatbuffers": "25.2.10", "packaging": "25.0", "coloredlogs": "15.0.1", "sympy": "1.14.0",
    "pyyaml": "6.0.2", "fastrlock": "0.8.3",
}  # fmt: skip
"""What the frameworks require beside NVIDIA's: metadata, and a module that has every name."""

ANYTHING = "__version__ = '1.0'\n\n\ndef __getattr__(name):\n    return None\n"
"""The module of a package whose content plays no part."""


@dataclass(frozen=True)
class Scene:
    """One machine. ``causes``: those that are right, none for a healthy one."""

    name: str
    way: str
    """The oracle's; a program's name for a program."""
    causes: tuple[str, ...]
    build: Callable[[Machine], Path]
    """Returns the environment's folder of packages, or the program."""
    cured: bool = False
    """The person's own environment and variables suffice: what is offered must cure."""
    names: str = ""
    """What the first finding must name: a file, a variable, a package."""
    runs: Callable[[Path], list[str]] | None = None
    """The command that the person starts, given what ``build`` returned: the oracle, instead of a framework's DLLs."""
    folder: Path | None = None
    """The working folder of that command and of the scan."""

    @property
    def is_program(self) -> bool:
        """Whether this is no framework's."""
        return self.way.endswith(".exe")


Plant = Callable[[Machine, Path], object]


# --- what is installed -------------------------------------------------------------------------------------------


def pip(m: Machine, site: Path, *names: str) -> None:
    """Install wheels as pip does, but for headers and tests; RECORD lists what is there."""
    for name in names:
        base = Path(m.places[name])
        (record,) = base.glob("*.dist-info/RECORD")
        kept = []
        with record.open(newline="", encoding="utf-8") as rows:
            for row in csv.reader(rows):
                file = Path(row[0])
                code = file.suffix in (".dll", ".pyd", ".json", ".py", ".typed") and "tests" not in file.parts
                if code or file.parts[0].endswith(".dist-info"):
                    kept.append(row)
                    if file.name != "RECORD":
                        m.place(base / file, site / file)
        text = "".join(",".join(row) + "\n" for row in kept)
        m.write(site / record.relative_to(base), text)


def required(m: Machine, site: Path, *, numpy: bool = True) -> None:
    """Install what the frameworks require beside NVIDIA's."""
    for name, version in REQUIRED.items():
        if name == "numpy" and not numpy:
            continue
        distribution(m, site, name, version)
        m.write(site.joinpath(*module_of(name).split("."), "__init__.py"), ANYTHING)


def venv(m: Machine, *wheels: str, home: Path = HOME) -> Path:
    """Make an environment with these wheels."""
    site = environment(m, "ml", home=home)
    imports_its_parts = any(
        name.startswith("cupy") for name in wheels
    )  # numpy.linalg and others: an empty module has none
    required(m, site, numpy=not imports_its_parts)
    pip(m, site, *(("numpy-1.26",) if imports_its_parts else ()), *wheels)
    if "cupy-14" in wheels:
        allow_numpy_1(m, site)
    return site


def allow_numpy_1(m: Machine, site: Path) -> None:
    """Let CuPy 14 require no NumPy 2: wine imports none, and its lack would be a fault of its own. The size stays."""
    (file,) = site.glob("cupy*.dist-info/METADATA")
    m.write(file, file.read_bytes().replace(b"Requires-Dist: numpy<2.6,>=2.0", b"Requires-Dist: numpy<2.6,>=1.2"))


def toolkit(m: Machine, *wheels: str, on_path: bool = True, folder: Path = BIN) -> Path:
    """Install NVIDIA's DLLs as its installer does."""
    for name in wheels:
        for file in sorted(Path(m.places[name]).glob("nvidia/*/bin/**/*.dll")):
            m.place(file, folder / file.name)
    m.write(TOOLKIT / "version.json", '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}\n')
    m.variable("CUDA_PATH", str(TOOLKIT), "machine")
    if on_path:
        m.path(folder)
    return folder


def torch(m: Machine, home: Path = HOME) -> Path:
    r"""Install torch with NVIDIA's real DLLs in torch\lib, around a stand-in of its own."""
    site = environment(m, "ml", home=home)
    lib = site / "torch\\lib"
    for wheel in ALL:
        for file in sorted(Path(m.places[wheel]).glob("nvidia/*/bin/*.dll")):
            m.place(file, lib / file.name)
    for name in ("torch_cuda.dll", "caffe2_nvrtc.dll"):
        m.place(Path(m.places["consumers"]) / name, lib / name)
    m.write(site / "torch\\__init__.py", ANYTHING)
    m.write(site / "torch\\version.py", "__version__ = '2.6.0+cu124'\ndebug = False\ncuda = '12.4'\nhip = None\n")
    info = site / "torch-2.6.0+cu124.dist-info"
    m.write(info / "METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0+cu124\n")
    rows = [f"{f.relative_to(site).as_posix()},,{f.stat().st_size}\n" for f in sorted(lib.iterdir())]
    m.write(
        info / "RECORD",
        "".join(
            [
                *rows,
                "torch/__init__.py,,\n",
                "torch/version.py,,\n",
                f"{info.name}/METADATA,,\n",
                f"{info.name}/RECORD,,\n",
            ]
        ),
    )
    return site


# --- faults ------------------------------------------------------------------------------------------------------


def spoilt(base: Callable[[Machine], Path], *plants: Plant) -> Callable[[Machine], Path]:
    """Return a builder: a healthy machine, then the plants."""

    def build(m: Machine) -> Path:
        m.driver()
        made = base(m)
        for plant in plants:
            plant(m, made)
        return made

    return build


def the(file: str, made: Path) -> Path:
    """Return a file by its place below the packages, or by its whole path."""
    return Path(file) if Path(file).is_absolute() else made / file


def gone(file: str) -> Plant:
    """Delete a file."""
    return lambda _m, made: the(file, made).unlink()


def cut(file: str) -> Plant:
    """Cut a file short."""
    return lambda m, made: m.truncate(the(file, made))


def foreign(file: str) -> Plant:
    """Let a file be for another processor."""

    def plant(m: Machine, made: Path) -> None:
        path = the(file, made)
        m.place(m.part("x86/zlibwapi.dll"), path)

    return plant


def older(name: str, folder: Path, *, on_path: bool = False) -> Plant:
    """Put a DLL of an older release into a folder, which may be first on PATH."""

    def plant(m: Machine, _made: Path) -> None:
        m.place(Path(m.places["consumers"]) / "older" / name, folder / name)
        if on_path:
            m.path(folder, first=True)

    return plant


def unfit_first(name: str, kind: str) -> Plant:
    """Put an unfit DLL first on PATH."""

    def plant(m: Machine, _made: Path) -> None:
        if kind == "cut":
            m.write(OLD / name, b"MZ" + bytes(300))
        else:
            m.place(m.part("x86/zlibwapi.dll"), OLD / name)
        m.path(OLD, first=True)

    return plant


def variable(name: str, text: str | None) -> Plant:
    """Set or remove a variable of the machine."""
    return lambda m, _made: m.variable(name, text, "machine")


# --- the machines ------------------------------------------------------------------------------------------------


def with_toolkit(framework: str, *wheels: str, on_path: bool = True, home: Path = HOME) -> Callable[[Machine], Path]:
    """Return a machine with a framework from pip, and the rest as a toolkit."""

    def base(m: Machine) -> Path:
        toolkit(m, *wheels, on_path=on_path)
        return venv(m, *([framework, "pathfinder"] if framework == "cupy-14" else [framework]), home=home)

    return base


def with_wheels(framework: str, *wheels: str, named: bool = False, home: Path = HOME) -> Callable[[Machine], Path]:
    r"""Return a machine with everything from pip. ``named``: PATH names the folders nvidia\*\bin."""

    def base(m: Machine) -> Path:
        extra = ["pathfinder"] if framework == "cupy-14" else []
        site = venv(m, framework, *extra, *wheels, home=home)
        folders = sorted({f.parent for f in site.glob("nvidia/*/bin/**/*.dll")})
        if named:
            m.path(*folders)
        return site

    return base


def program(name: str, *wheels: str, on_path: bool = True, home: Path = HOME) -> Callable[[Machine], Path]:
    """Return a machine with a toolkit, and a program that is not Python."""

    def base(m: Machine) -> Path:
        toolkit(m, *wheels, on_path=on_path)
        return m.place(Path(m.places["consumers"]) / name, home / "app" / name)

    return base


APP = HOME / "app"
INTERNAL = APP / "_internal"


def bundled(*wheels: str, top: bool = True) -> Callable[[Machine], Path]:
    r"""Return a machine with a program that PyInstaller bundled with ONNX Runtime and these wheels' DLLs.

    ``top``: they lie in _internal, which the bootloader gives to SetDllDirectory; else where the wheels have them.
    """

    def base(m: Machine) -> Path:
        made = Path(m.places["bundle"])
        for file in made.rglob("*"):
            if file.is_file():
                m.place(file, APP / file.relative_to(made))
        m.place_all(Path(m.places["ort-1.20"]) / "onnxruntime\\capi", INTERNAL / "onnxruntime\\capi")
        for name in wheels:
            for file in Path(m.places[name]).glob("nvidia/*/bin/*.dll"):
                m.place(file, INTERNAL / (file.name if top else file.relative_to(m.places[name])))
        return APP / "bundle.exe"

    return base


PAGE = b"<!DOCTYPE html><html><body>Log in</body></html>"


def compiler(m: Machine) -> Path:
    """Return ptxas as its wheel has it, in a toolkit."""
    toolkit(m, "cudart-12")
    return m.place(Path(m.places["nvcc-12"]) / "nvidia\\cuda_nvcc\\bin\\ptxas.exe", BIN / "ptxas.exe")


def nvcc(m: Machine) -> Path:
    """Return nvcc with the programs that it starts, as their wheel has them."""
    folder = HOME / "cuda\\bin"
    for file in sorted(Path(m.places["nvcc-13"]).glob("nvidia/cu13/bin/*.exe")):
        m.place(file, folder / file.name)
    return folder / "nvcc.exe"


def ffmpeg(m: Machine) -> Path:
    """Return FFmpeg's program as its wheel has it."""
    (file,) = Path(m.places["ffmpeg"]).glob("imageio_ffmpeg/binaries/*.exe")
    return m.place(file, HOME / "ffmpeg\\bin\\ffmpeg.exe")


def starts(option: str) -> Callable[[Path], list[str]]:
    """Return the start of the program itself with an option."""
    return lambda made: [str(made), option]


def of_zeros(m: Machine, made: Path) -> None:
    """Leave a program's size, and zeros for its bytes."""
    size = made.stat().st_size
    m.write(made, b"")
    with made.open("r+b") as stream:
        stream.truncate(size)


def half_of_zeros(m: Machine, made: Path) -> None:
    """Leave the first half of a program, and zeros for the rest: a download that was put together wrongly."""
    data = made.read_bytes()
    m.write(made, data[: len(data) // 2])
    with made.open("r+b") as stream:
        stream.truncate(len(data))


def cut_itself(m: Machine, made: Path) -> None:
    """Cut a program short."""
    m.truncate(made)


def spoilt_itself(data: bytes) -> Plant:
    """Let a program itself begin with these bytes and end after them."""
    return lambda m, made: m.write(made, data)


NV = "nvidia\\{0}\\bin\\{1}"
LIB = "torch\\lib\\"

ORT = "onnxruntime-gpu"

SCENES: tuple[Scene, ...] = (
    # ONNX Runtime 1.20
    Scene("ort-1.20-toolkit", ORT, (), spoilt(with_toolkit("ort-1.20", *FOR_ORT))),
    Scene("ort-1.20-wheels-on-path", ORT, (), spoilt(with_wheels("ort-1.20", *FOR_ORT, named=True, home=ODD))),
    Scene("ort-1.20-wheels-not-searched", ORT, (NOT_SEARCHED, NO_CUDNN_PATH), spoilt(with_wheels("ort-1.20", *FOR_ORT)), cured=True),
    Scene("ort-1.20-odd-path-not-searched", ORT, (NOT_SEARCHED, NO_CUDNN_PATH), spoilt(with_wheels("ort-1.20", *FOR_ORT, home=ODD)), cured=True),
    Scene("ort-1.20-toolkit-not-searched", ORT, (NOT_SEARCHED, NO_CUDNN_PATH), spoilt(with_toolkit("ort-1.20", *FOR_ORT, on_path=False)), cured=True),
    Scene("ort-1.20-cufft-missing", ORT, (MISSING,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), gone(str(BIN / "cufft64_11.dll")))),
    Scene("ort-1.20-cublaslt-truncated", ORT, (BROKEN,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), cut(str(BIN / "cublasLt64_12.dll")))),
    Scene("ort-1.20-older-cudart-first", ORT, (SHADOWED,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), older("cudart64_12.dll", OLD, on_path=True)), cured=True),
    Scene("ort-1.20-older-cublas-system32", ORT, (SHADOWED,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), older("cublas64_12.dll", SYSTEM32))),
    Scene("ort-1.20-32-bit-first", ORT, (FOREIGN,), spoilt(with_toolkit("ort-1.20", *FOR_ORT), unfit_first("cufft64_11.dll", "foreign")), cured=True),
    Scene("ort-1.20-wheel-part-lost", ORT, (BROKEN, PARTS), spoilt(with_wheels("ort-1.20", *FOR_ORT, named=True), gone(NV.format("cufft", "cufft64_11.dll")))),
    Scene("ort-1.20-other-major", ORT, (OTHER_CUDA, MISSING, "cuda_lib_shadowed"), spoilt(with_wheels("ort-1.20", "cublas-13", named=True), lambda m, _s: toolkit(m, "cudart-12", "cufft-12", "cudnn-9.28", "nvrtc-12"), lambda m, s: distribution(m, s, "nvidia-cuda-nvrtc", "13.0.88"))),
    # the newest ONNX Runtime: CUDA 13, cuDNN and cuFFT optional
    Scene("ort-new-wheels-on-path", ORT, (), spoilt(with_wheels("ort-new", "cublas-13", named=True))),
    Scene("ort-new-wheels-not-searched", ORT, (NOT_SEARCHED,), spoilt(with_wheels("ort-new", "cublas-13", home=ODD)), cured=True),
    Scene("ort-new-cublaslt-lost", ORT, (BROKEN,), spoilt(with_wheels("ort-new", "cublas-13", named=True), gone("nvidia\\cu13\\bin\\x86_64\\cublasLt64_13.dll"))),
    Scene("ort-new-cublas-truncated", ORT, (BROKEN,), spoilt(with_wheels("ort-new", "cublas-13", named=True), cut("nvidia\\cu13\\bin\\x86_64\\cublas64_13.dll"))),
    Scene("ort-new-cublas-foreign", ORT, (FOREIGN,), spoilt(with_wheels("ort-new", "cublas-13", named=True), foreign("nvidia\\cu13\\bin\\x86_64\\cublas64_13.dll"))),
    Scene("ort-new-only-cuda-12", ORT, (OTHER_CUDA, MISSING), spoilt(with_toolkit("ort-new", *FOR_ORT))),
    Scene("ort-new-truncated-first", ORT, (BROKEN,), spoilt(with_wheels("ort-new", "cublas-13", named=True), unfit_first("cublasLt64_13.dll", "cut")), cured=True),
    # CTranslate2
    Scene("ct2-toolkit", "ctranslate2", (), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12", "cudnn-9.28", home=ODD))),
    Scene("ct2-wheels-not-searched", "ctranslate2", (NOT_SEARCHED,), spoilt(with_wheels("ctranslate2", "cublas-12")), cured=True),
    Scene("ct2-no-cublas", "ctranslate2", (MISSING,), spoilt(with_wheels("ctranslate2"))),
    Scene("ct2-openmp-lost", "ctranslate2", (BROKEN,), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12"), gone("ctranslate2\\libiomp5md.dll"))),
    Scene("ct2-cublas-truncated", "ctranslate2", (BROKEN,), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12"), cut(str(BIN / "cublas64_12.dll")))),
    Scene("ct2-older-cublaslt-first", "ctranslate2", (SHADOWED,), spoilt(with_toolkit("ctranslate2", "cublas-12", "nvrtc-12"), older("cublasLt64_12.dll", OLD, on_path=True)), cured=True),
    Scene("ct2-only-cuda-13", "ctranslate2", (OTHER_CUDA, MISSING), spoilt(with_wheels("ctranslate2", "cublas-13", named=True))),
    # CuPy 13
    Scene("cupy-13-toolkit", "cupy-13", (), spoilt(with_toolkit("cupy-13", *FOR_CUPY, on_path=False))),
    Scene("cupy-13-wheels-not-searched", "cupy-13", (NOT_SEARCHED,), spoilt(with_wheels("cupy-13", *FOR_CUPY)), cured=True),
    Scene("cupy-13-path-alone", "cupy-13", (NOT_SEARCHED,), spoilt(with_toolkit("cupy-13", *FOR_CUPY), variable("CUDA_PATH", None)), cured=True),
    Scene("cupy-13-nvjitlink-missing", "cupy-13", (MISSING,), spoilt(with_toolkit("cupy-13", *FOR_CUPY), gone(str(BIN / "nvJitLink_120_0.dll")))),
    Scene("cupy-13-curand-foreign", "cupy-13", (FOREIGN,), spoilt(with_toolkit("cupy-13", *FOR_CUPY), foreign(str(BIN / "curand64_10.dll")))),
    Scene("cupy-13-cusolver-newer", "cupy-13", (SHADOWED,), spoilt(with_toolkit("cupy-13", *(w for w in FOR_CUPY if w != "cusolver-12"), "cusolver-12.9"))),
    Scene("cupy-13-no-nvrtc", "cupy-13", (NO_NVRTC,), spoilt(with_toolkit("cupy-13", *(w for w in FOR_CUPY if w != "nvrtc-12")))),
    # CuPy 14, which finds by cuda-pathfinder
    Scene("cupy-14-wheels", "cupy-14", (), spoilt(with_wheels("cupy-14", *FOR_CUPY, home=ODD))),
    Scene("cupy-14-path-alone", "cupy-14", (), spoilt(with_toolkit("cupy-14", *FOR_CUPY), variable("CUDA_PATH", None))),
    Scene("cupy-14-cufft-lost", "cupy-14", (BROKEN,), spoilt(with_wheels("cupy-14", *FOR_CUPY), gone(NV.format("cufft", "cufft64_11.dll")))),
    Scene("cupy-14-cublas-truncated", "cupy-14", (BROKEN,), spoilt(with_wheels("cupy-14", *FOR_CUPY), cut(NV.format("cublas", "cublas64_12.dll")))),
    Scene("cupy-14-cusolver-newer", "cupy-14", (SHADOWED, "requirement_broken"), spoilt(with_wheels("cupy-14", *(w for w in FOR_CUPY if w != "cusolver-12"), "cusolver-12.9"))),
    # a program that PyInstaller bundled
    Scene("bundle-whole", "bundle.exe", (), spoilt(bundled(*FOR_ORT))),
    Scene("bundle-in-wheels-folders", "bundle.exe", (NOT_SEARCHED, NO_CUDNN_PATH), spoilt(bundled(*FOR_ORT, top=False)), cured=True),
    Scene("bundle-cufft-missing", "bundle.exe", (MISSING,), spoilt(bundled(*FOR_ORT), gone(str(INTERNAL / "cufft64_11.dll")))),
    Scene("bundle-cublaslt-truncated", "bundle.exe", (BROKEN,), spoilt(bundled(*FOR_ORT), cut(str(INTERNAL / "cublasLt64_12.dll")))),
    Scene("bundle-cudart-foreign", "bundle.exe", (FOREIGN,), spoilt(bundled(*FOR_ORT), foreign(str(INTERNAL / "cudart64_12.dll")))),
    Scene("bundle-no-cudnn", "bundle.exe", (ABSENT,), spoilt(bundled("cublas-12", "cudart-12", "cufft-12", "nvrtc-12"))),
    # ptxas as it comes
    Scene("ptxas-whole", "ptxas.exe", (), spoilt(compiler)),
    Scene("ptxas-truncated", "ptxas.exe", (BROKEN,), spoilt(compiler, cut_itself)),
    Scene("ptxas-empty", "ptxas.exe", (BROKEN,), spoilt(compiler, spoilt_itself(b""))),
    Scene("ptxas-is-a-page", "ptxas.exe", (BROKEN,), spoilt(compiler, spoilt_itself(PAGE))),
    # nvcc and ffmpeg as they come
    *(
        Scene(f"{name}-{fault}", f"{name}.exe", causes, spoilt(base, *plants), runs=starts(option))
        for name, base, option in (("nvcc", nvcc, "--version"), ("ffmpeg", ffmpeg, "-version"))
        for fault, causes, plants in (
            ("whole", (), ()),
            ("truncated", (BROKEN,), (cut_itself,)),
            ("empty", (BROKEN,), (spoilt_itself(b""),)),
            ("is-a-page", (BROKEN,), (spoilt_itself(PAGE),)),
            ("of-zeros", (BROKEN,), (of_zeros,)),
            ("half-of-zeros", (BROKEN,), (half_of_zeros,)),
        )
    ),
    # PyTorch's folder
    Scene("torch", "torch", (), spoilt(lambda m: torch(m, PLAIN))),
    Scene("torch-cufft-lost", "torch", (BROKEN, MISSING), spoilt(torch, gone(LIB + "cufft64_11.dll"))),
    Scene("torch-cusparse-truncated", "torch", (BROKEN,), spoilt(torch, cut(LIB + "cusparse64_12.dll"))),
    Scene("torch-curand-foreign", "torch", (FOREIGN, BROKEN), spoilt(torch, foreign(LIB + "curand64_10.dll"))),
    Scene("torch-older-cublas-inside", "torch", (SHADOWED, BROKEN), spoilt(torch, older("cublas64_12.dll", HOME / "ml\\Lib\\site-packages\\torch\\lib"))),
    Scene("torch-nvjitlink-lost", "torch", (BROKEN, MISSING), spoilt(lambda m: torch(m, ODD), gone(LIB + "nvJitLink_120_0.dll"))),
    Scene("torch-nvrtc-lost", "torch", (BROKEN, NO_NVRTC), spoilt(torch, gone(LIB + "nvrtc64_120_0.dll"))),
    Scene("torch-lost-but-on-path", "torch", (), spoilt(torch, lambda m, s: (toolkit(m, "curand-12"), (s / LIB / "curand64_10.dll").unlink()))),
)  # fmt: skip

NEEDED_BY = {
    "cublas64_12.dll": ("cublas-12",), "cublasLt64_12.dll": ("cublas-12",), "cudnn64_9.dll": ("cudnn-9.28", "cublas-12", "nvrtc-12"), "cudart64_12.dll": ("cudart-12",),
    "cufft64_11.dll": ("cufft-12",), "curand64_10.dll": ("curand-12",), "nvJitLink_120_0.dll": ("nvjitlink-12",), "nvrtc64_120_0.dll": ("nvrtc-12",),
    "cusparse64_12.dll": ("cusparse-12", "nvjitlink-12"), "cusolver64_11.dll": ("cusolver-12", "cusparse-12", "nvjitlink-12", "cublas-12"),
}  # fmt: skip
USES_OLD_FUNCTIONS = ("sparse.exe",)
"""Programs that an older release of their last library serves as well: the oracle says so."""
OLDER_THERE = ("cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll", "cufft64_11.dll")


def program_scenes() -> tuple[Scene, ...]:
    """Return each program whole, and with five faults of the library that it names last."""
    out = []
    for name, imports in PROGRAMS.items():
        dll = list(imports)[-1]
        wheels = tuple(dict.fromkeys(w for each in imports for w in NEEDED_BY[each]))
        whole, stem = program(name, *wheels), name.removesuffix(".exe")
        lost = {"cudnn64_9.dll": ABSENT, "nvrtc64_120_0.dll": NO_NVRTC}.get(dll, MISSING)
        off = {"cudnn64_9.dll": NO_CUDNN_PATH, "nvrtc64_120_0.dll": NO_NVRTC}.get(dll, NOT_SEARCHED)
        off = {"cudnn64_9.dll": NO_CUDNN_PATH, "nvrtc64_120_0.dll": NO_NVRTC}.get(next(iter(imports)), off)
        fifth = (
            Scene(f"{stem}-older-first", name, (SHADOWED,), spoilt(whole, older(dll, OLD, on_path=True)), cured=False)
            if dll in OLDER_THERE and name not in USES_OLD_FUNCTIONS
            else Scene(f"{stem}-truncated-first", name, (BROKEN,), spoilt(whole, unfit_first(dll, "cut")))
        )
        out += [
            Scene(f"{stem}-whole", name, (), spoilt(whole)),
            Scene(
                f"{stem}-not-searched",
                name,
                tuple(dict.fromkeys((off, NOT_SEARCHED))),
                spoilt(program(name, *wheels, on_path=False)),
                cured=True,
            ),
            Scene(f"{stem}-missing", name, (lost,), spoilt(whole, gone(str(BIN / dll)))),
            Scene(f"{stem}-truncated", name, (BROKEN,), spoilt(whole, cut(str(BIN / dll)))),
            Scene(f"{stem}-32-bit-first", name, (FOREIGN,), spoilt(whole, unfit_first(dll, "foreign"))),
            fifth,
        ]
    return tuple(replace(s) for s in out)


def table() -> tuple[Scene, ...]:
    """Return every scene."""
    return (*SCENES, *program_scenes())
