"""The table: every fault with its expected cause, and the healthy layouts."""

from __future__ import annotations

import winreg
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.windows.faultlab import layouts as at
from tests.windows.faultlab.machine import CUDNN, HOME, SYSTEM32, Machine, distribution, environment

MISSING, BROKEN, ARCHITECTURE = "cudnn_sublibrary_missing", "corrupt_or_truncated_file", "dll_wrong_architecture"
OFF_PATH, OTHER_MAJOR, MIXED = "cudnn_not_on_search_path", "cudnn_major_mismatch", "mixed_cudnn_sublibraries"


@dataclass(frozen=True)
class Row:
    """One machine. ``cause``: a word of resources/knowledge/causes.json, empty for a healthy one."""

    name: str
    cause: str
    why: str
    build: Callable[[Machine], object]
    misleading: bool = False
    """The message that cuDNN prints names the wrong file; a finding must say so."""
    message: str = ""
    """What a person sees who meets it, where the scan itself gets no message; explained on the machine."""
    loads: str = ""
    """A DLL that a fresh process can load by its bare name only once the fault is cured."""
    cured: bool = False
    """Convalesce must have a fix, and it must cure."""
    imports: str = ""
    """A file of the environment's packages that its Python can load only once the fault is cured."""
    site: Path = HOME / "ml\\Lib\\site-packages"
    source: str = ""
    """A set of cuDNN that a person has downloaded and names, where the fix needs one."""
    packed: Literal["", "zip", "wheel"] = ""
    """How that set was downloaded: as NVIDIA's archive, or as a wheel; empty: it is a folder."""
    checks: int = 0
    """The major of cuDNN whose VersionChecks must all answer 0 in a fresh process after the cure."""
    thorough: bool = False


Plant = Callable[[Machine, Path], object]


def spoilt(base: Callable[[Machine], Path], *plants: Plant) -> Callable[[Machine], object]:
    """Return a builder: a healthy layout, then the plants on the folder that it returns."""

    def build(m: Machine) -> None:
        folder = base(m)
        for plant in plants:
            plant(m, folder)

    return build


def without(*names: str) -> Plant:
    """Delete files."""

    def plant(_m: Machine, folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return plant


def cut(name: str) -> Plant:
    """Cut a file short."""
    return lambda m, folder: m.truncate(folder / name)


def flipped(name: str) -> Plant:
    """Turn one bit in the middle of a file."""

    def plant(m: Machine, folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[len(data) // 2] ^= 1
        m.write(folder / name, bytes(data))

    return plant


def content(name: str, data: str | bytes) -> Plant:
    """Put other bytes under a name."""
    return lambda m, folder: m.write(folder / name, data)


def part(name: str, source: str) -> Plant:
    """Put a stand-in under a name."""
    return lambda m, folder: m.place(m.part(source), folder / name)


def variable(name: str, text: str, scope: str = "user") -> Plant:
    """Set a variable."""
    return lambda m, _folder: m.variable(name, text, scope)


def in_system32(source: str, name: str) -> Plant:
    """Copy a file into System32, as bad advice says."""
    return lambda m, _folder: m.place(m.cudnn(source) / name, SYSTEM32 / name)


def set_in_system32(source: str) -> Plant:
    """Copy a whole set into System32."""
    return lambda m, _folder: m.place_all(m.cudnn(source), SYSTEM32)


def off_path(
    base: Callable[..., Path], *entries: str, kind: int | None = None, scope: str = "machine"
) -> Callable[[Machine], object]:
    """Return a builder whose cuDNN is named on PATH by other entries: {folder}, {parent}."""

    def build(m: Machine) -> None:
        folder = base(m, on_path=False)
        if entries:
            m.path(*(e.format(folder=folder, parent=folder.parent) for e in entries), scope=scope, kind=kind)

    return build


def unexpanded(m: Machine) -> None:
    folder = at.with_9(m, on_path=False)
    m.variable("CUDNN_HOME", str(folder), "user")
    m.variable("Path", "%CUDNN_HOME%", "user", winreg.REG_SZ)


def parent_of_archive(m: Machine) -> None:
    m.driver()
    at.cuda_12(m)
    at.ort_8(m)
    m.path(at.archive_8(m, on_path=False).parent)


def cuda_13_without_x64(m: Machine) -> None:
    m.driver()
    m.path(at.cuda_13(m, on_path=False).parent)
    at.onnxruntime(m, "1.24.0", "ort-9-cuda13.dll")
    folder = CUDNN / "v9.20\\bin\\13.0"
    m.place_all(m.cudnn("cudnn-9.20.0"), folder)
    m.path(folder)


def only(major: int) -> Callable[[Machine], object]:
    def build(m: Machine) -> None:
        m.driver()
        at.cuda_12(m)
        if major == 9:
            at.ort_8(m)
            at.installed_9(m)
        else:
            at.ort_9(m)
            at.archive_8(m)

    return build


def only_7(m: Machine) -> None:
    m.driver()
    at.cuda_12(m)
    at.ort_8(m)
    at.archive_8(m, "cudnn-7.6.5", HOME / "cudnn7\\bin")


def nowhere(m: Machine) -> None:
    m.driver()
    at.cuda_12(m)
    at.ort_9(m)


def ctranslate2(m: Machine) -> None:
    m.driver()
    at.cuda_12(m)
    site = environment(m)
    folder = site / "ctranslate2"
    m.place(m.part("ctranslate2.dll"), folder / "ctranslate2.dll")
    m.place(m.cudnn(at.OLD) / "cudnn64_8.dll", folder / "cudnn64_8.dll")
    distribution(m, site, "ctranslate2", "4.4.0")


def shim_and_parts(m: Machine) -> None:
    ctranslate2(m)
    at.archive_8(m)


def x86_first(m: Machine) -> None:
    folder = at.with_8(m)
    other = HOME / "old program"
    m.place(m.part("x86/cudnn_cnn_infer64_8.dll"), other / "cudnn64_8.dll")
    m.path(other, first=True)
    assert folder


CUPY = "cupy_backends\\cuda\\libs\\cudnn.cp311-win_amd64.pyd"


def cupy(m: Machine) -> None:
    """An extension module imports cuDNN and CUDA, which PATH names and Python 3.8 and later does not look for there."""
    m.driver()
    at.cuda_12(m)
    site = environment(m)
    m.place(m.part("ort-8.dll"), site / CUPY)
    distribution(m, site, "cupy-cuda111", "10.6.0")
    at.archive_8(m)


def cublas_11(m: Machine) -> None:
    m.driver()
    at.cuda_11(m)
    at.ort_8(m)
    at.archive_8(m)


def runtime_gone(m: Machine) -> None:
    m.driver()
    at.cuda_12(m)
    at.installed_9(m)
    at.onnxruntime(m, "1.20.1", "needs-runtime.dll")
    m.put_aside(SYSTEM32 / "msvcp140.dll")


def named(folder: str) -> Callable[[Machine], object]:
    def build(m: Machine) -> None:
        m.driver()
        at.torch(m, home=HOME / folder)

    return build


def long_path(m: Machine) -> None:
    at.with_9(m, on_path=False)
    m.path(*(f"C:\\lab\\tool {n:04} with a name as long as such names are" for n in range(700)), scope="user")
    m.path(at.NEW_FOLDER, scope="user")


def no_user_path(m: Machine) -> None:
    at.with_9(m, on_path=False)
    if "PATH" in {n.upper() for n in m.before["user"]}:
        m.variable("Path", None, "user")


def torch_beside_pip(m: Machine) -> None:
    lib = at.with_torch(m)
    site = lib.parents[1]
    m.place_all(m.cudnn("cudnn-9.1.0"), site / "nvidia\\cudnn\\bin")


def older_shadow(m: Machine) -> None:
    at.with_9(m)
    other = HOME / "studio"
    m.place_all(m.cudnn("cudnn-9.1.0"), other)
    m.path(other, first=True)


def two_rows(m: Machine) -> None:
    m.driver("driver-old")
    at.torch(m)


OLDER = at.with_older_8
CNN, OPS = "cudnn_cnn_infer64_8.dll", "cudnn_ops_infer64_8.dll"
X86 = "x86/cudnn_cnn_infer64_8.dll"
HTML = "<!DOCTYPE html><html><head><title>Log in</title></head><body>Please log in to download.</body></html>\n" * 40

OF_8_8: dict[str, Any] = {"source": "cudnn-8.8.0", "checks": 8, "cured": True}
OF_8: dict[str, Any] = {"source": at.OLD, "checks": 8, "cured": True}
SMALL: dict[str, Any] = {"source": "cudnn-9.1.0", "checks": 9, "cured": True, "loads": "cudnn64_9.dll"}
OF_9: dict[str, Any] = {"source": at.NEW, "checks": 9, "cured": True}
"""A person names the set of this release that was downloaded, and it cures."""

FAULTS = (
    Row(
        "older-8-cnn-missing",
        MISSING,
        "Error code 126 about cnn_infer: it is missing.",
        spoilt(OLDER, without(CNN)),
        loads=CNN,
        **OF_8_8,
    ),
    Row(
        "older-8-ops-missing",
        MISSING,
        "The same text, but its dependency is missing.",
        spoilt(OLDER, without(OPS)),
        loads=CNN,
        **OF_8_8,
    ),
    Row(
        "older-8-cnn-cut",
        BROKEN,
        "Error code 193: the file is truncated.",
        spoilt(OLDER, content(CNN, b"MZ" + bytes(400))),
        loads=CNN,
        **OF_8_8,
    ),
    Row(
        "older-8-cnn-32-bit",
        ARCHITECTURE,
        "Error code 193: the file is 32-bit.",
        spoilt(OLDER, part(CNN, X86)),
        loads=CNN,
        **OF_8_8,
    ),
    Row(
        "older-8-zlib-missing",
        "zlibwapi_missing",
        "8.3 to 8.9.3 open zlibwapi.dll, and it is nowhere.",
        spoilt(OLDER, without("zlibwapi.dll")),
    ),
    Row(
        "older-8-zlib-32-bit",
        ARCHITECTURE,
        "zlibwapi.dll is the 32-bit one.",
        spoilt(OLDER, part("zlibwapi.dll", "x86/zlibwapi.dll")),
    ),
    Row(
        "8-cnn-missing",
        MISSING,
        "Could not locate cudnn_cnn_infer64_8.dll.",
        spoilt(at.with_8, without(CNN)),
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8-ops-missing",
        MISSING,
        "cuDNN says that zlibwapi.dll is missing; ops_infer is.",
        spoilt(at.with_8, without(OPS)),
        misleading=True,
        message="Could not locate zlibwapi.dll. Please make sure it is in your library path!",
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8-cnn-cut",
        BROKEN,
        "cuDNN says zlibwapi.dll, error 126; cnn_infer is truncated.",
        spoilt(at.with_8, cut(CNN)),
        misleading=True,
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8-cnn-32-bit",
        ARCHITECTURE,
        "cuDNN says zlibwapi.dll, error 126; cnn_infer is 32-bit.",
        spoilt(at.with_8, part(CNN, X86)),
        misleading=True,
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8-cnn-cut-with-zlib",
        BROKEN,
        "The same with a zlibwapi.dll there: error 193 about cnn_infer.",
        spoilt(at.with_8, cut(CNN), part("zlibwapi.dll", "zlibwapi.dll")),
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8-cnn-of-8.9.5",
        MIXED,
        "One file of another release: no text, the VersionCheck says 14.",
        spoilt(at.with_8, part(CNN, f"cudnn-8.9.5/{CNN}")),
        **OF_8,
    ),
    Row(
        "8-ops-missing-with-zlib",
        MISSING,
        "The same with a zlibwapi.dll there: cuDNN speaks of an unknown DLL.",
        spoilt(at.with_8, without(OPS), part("zlibwapi.dll", "zlibwapi.dll")),
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8-cnn-32-bit-with-zlib",
        ARCHITECTURE,
        "A zlibwapi.dll is there and cnn_infer is 32-bit: error 193 about cnn_infer.",
        spoilt(at.with_8, part(CNN, X86), part("zlibwapi.dll", "zlibwapi.dll")),
        loads=CNN,
        **OF_8,
    ),
    Row(
        "8.9.3-zlib-missing",
        "zlibwapi_missing",
        "8.9.3 is the last release that opens zlibwapi.dll.",
        at.with_8_9_3,
        source="cudnn-8.9.5",
        checks=8,
        cured=True,
    ),
    Row(
        "9-ops-missing",
        MISSING,
        "Invalid handle. Cannot load symbol cudnnOpsVersionCheck.",
        spoilt(at.with_9, without("cudnn_ops64_9.dll")),
        loads="cudnn_ops64_9.dll",
        **OF_9,
    ),
    Row(
        "9-cnn-missing",
        MISSING,
        "Invalid handle. Cannot load symbol cudnnCnnVersionCheck.",
        spoilt(at.with_9, without("cudnn_cnn64_9.dll")),
        loads="cudnn_cnn64_9.dll",
        **OF_9,
    ),
    Row(
        "9-graph-missing",
        MISSING,
        "Invalid handle. Cannot load symbol cudnnGetVersion; the process dies.",
        spoilt(at.with_9, without("cudnn_graph64_9.dll")),
        loads="cudnn_graph64_9.dll",
        **OF_9,
    ),
    Row(
        "9-engines-missing",
        MISSING,
        "No message at all until a GPU convolves.",
        spoilt(at.with_9, without("cudnn_engines_precompiled64_9.dll")),
        loads="cudnn_engines_precompiled64_9.dll",
        **OF_9,
    ),
    Row(
        "9-main-empty",
        BROKEN,
        "cudnn64_9.dll has no bytes.",
        spoilt(at.with_9, content("cudnn64_9.dll", b"")),
        loads="cudnn64_9.dll",
        **OF_9,
    ),
    Row(
        "9-html-saved-as-dll",
        BROKEN,
        "A log-in page was saved as cudnn_ops64_9.dll.",
        spoilt(at.with_9, content("cudnn_ops64_9.dll", HTML)),
        loads="cudnn_ops64_9.dll",
        **OF_9,
    ),
    Row(
        "9-one-bit-flipped",
        BROKEN,
        "One bit of cudnn_ops64_9.dll is another; only its signature tells (--thorough).",
        spoilt(at.with_9, flipped("cudnn_ops64_9.dll")),
        thorough=True,
        **OF_9,
    ),
    Row(
        "9-start-fails",
        "none, but cudnn.roll-call-failed",
        "The DllMain of a part says no (error 1114): an error whose cause is not decided.",
        spoilt(at.with_9, part("cudnn_ops64_9.dll", "start-fails.dll")),
    ),
    Row(
        "torch-cudnn-cut",
        BROKEN,
        "torch\\lib holds a truncated cudnn_cnn64_9.dll.",
        spoilt(at.with_torch, cut("cudnn_cnn64_9.dll")),
    ),
    Row("conda-part-missing", MISSING, "conda's Library\\bin lacks cnn_infer.", spoilt(at.with_conda, without(CNN))),
    Row(
        "pip-part-missing",
        MISSING,
        "pip's wheel lost cudnn_ops64_9.dll.",
        spoilt(at.with_pip, without("cudnn_ops64_9.dll")),
    ),
    Row(
        "not-on-path",
        OFF_PATH,
        "cuDNN 9 is installed, its folder is not on PATH.",
        off_path(at.with_9),
        loads="cudnn64_9.dll",
        cured=True,
    ),
    Row(
        "installers-bin-on-path",
        OFF_PATH,
        "CUDNN\\v9.28\\bin is on PATH instead of bin\\12.9.",
        off_path(at.with_9, "{parent}"),
        loads="cudnn64_9.dll",
        cured=True,
    ),
    Row(
        "archives-root-on-path",
        OFF_PATH,
        "The archive's folder is on PATH, its bin is not.",
        parent_of_archive,
        loads="cudnn64_8.dll",
        cured=True,
    ),
    Row(
        "entry-quoted",
        OFF_PATH,
        "The PATH entry stands in quotes.",
        off_path(at.with_9, '"{folder}"'),
        loads="cudnn64_9.dll",
        cured=True,
    ),
    Row(
        "entry-unexpanded",
        OFF_PATH,
        "A REG_SZ PATH holds %CUDNN_HOME%, which is not expanded.",
        unexpanded,
        loads="cudnn64_9.dll",
        cured=True,
    ),
    Row(
        "user-path-absent",
        OFF_PATH,
        "There is no user PATH at all; the folder is searched nowhere.",
        no_user_path,
        loads="cudnn64_9.dll",
        cured=True,
    ),
    Row(
        "cuda-13-bin-on-path",
        "cuda_not_on_search_path",
        "CUDA 13's bin is on PATH instead of bin\\x64.",
        cuda_13_without_x64,
        loads="cublas64_13.dll",
        cured=True,
    ),
    Row("only-9", OTHER_MAJOR, "cudnn64_8.dll is wanted, cuDNN 9 is there.", only(9), loads="cudnn64_8.dll", **OF_8),
    Row("only-8", OTHER_MAJOR, "cudnn64_9.dll is wanted, cuDNN 8 is there.", only(8), loads="cudnn64_9.dll", **OF_9),
    Row("only-7", OTHER_MAJOR, "cudnn64_8.dll is wanted, cuDNN 7 is there.", only_7, loads="cudnn64_8.dll", **OF_8),
    Row("nowhere", "cudnn_not_installed", "cuDNN is nowhere.", nowhere, loads="cudnn64_9.dll", **OF_9),
    Row(
        "nowhere-but-zip",
        "cudnn_not_installed",
        "The same; NVIDIA's archive was downloaded.",
        nowhere,
        packed="zip",
        **SMALL,
    ),
    Row(
        "nowhere-but-wheel",
        "cudnn_not_installed",
        "The same; a wheel was downloaded.",
        nowhere,
        packed="wheel",
        **SMALL,
    ),
    Row(
        "lone-shim-in-wheel",
        MISSING,
        "CTranslate2 ships cudnn64_8.dll alone; its parts are nowhere.",
        ctranslate2,
        **OF_8,
    ),
    Row(
        "system32-older-set",
        "cudnn_shadowed",
        "An older cuDNN 9 was copied into System32 and hides the installed one.",
        spoilt(at.with_9, set_in_system32("cudnn-9.1.0")),
        cured=True,
    ),
    Row(
        "system32-one-file",
        MIXED,
        "One file of an older release in System32.",
        spoilt(at.with_9, in_system32("cudnn-9.1.0", "cudnn_graph64_9.dll")),
        checks=9,
        cured=True,
    ),
    Row(
        "32-bit-first-on-path",
        ARCHITECTURE,
        "A 32-bit cudnn64_8.dll lies in a folder before.",
        x86_first,
        loads="cudnn64_8.dll",
        cured=True,
    ),
    Row(
        "extension-module-and-path",
        "python_dll_search_change",
        "An extension module wants the cuDNN that only PATH names; Python does not search PATH for it.",
        cupy,
        imports=CUPY,
        cured=True,
    ),
    Row("cublas-of-cuda-11", "cuda_toolkit_version_mismatch", "cuBLAS 11 is there, 12 is wanted.", cublas_11),
    Row(
        "runtime-missing",
        "vc_runtime_missing",
        "A framework's DLL needs a VC++ runtime that is not there.",
        runtime_gone,
    ),
    Row("brackets-in-path", "install_path_characters", "torch lies in a folder with [ ].", named("[ml] 2026")),
    Row(
        "path-too-long",
        "path_too_long",
        "PATH is longer than Windows takes: what comes last is not searched.",
        long_path,
    ),
    Row(
        "cuda-path-dangling",
        "cuda_path_env_wrong",
        "CUDA_PATH names a toolkit that is gone.",
        spoilt(at.with_9, variable("CUDA_PATH", "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v11.2")),
        cured=True,
    ),
    Row(
        "gpu-hidden",
        "gpu_hidden_by_env",
        "CUDA_VISIBLE_DEVICES=-1 is kept in the user's variables.",
        spoilt(at.with_9, variable("CUDA_VISIBLE_DEVICES", "-1")),
        cured=True,
    ),
    Row(
        "driver-sees-no-gpu",
        "none, but driver.cuda-init",
        "cuInit says that there is no device (100): an error whose cause is not decided.",
        lambda m: (m.driver("driver-no-device"), at.torch(m)),
    ),
    Row("driver-too-old", "driver_too_old", "The driver runs CUDA 11.4; torch was built for 12.6.", two_rows),
    Row(
        "driver-without-libraries",
        "driver_module_not_loaded",
        "An NVIDIA GPU, and no driver.",
        lambda m: (m.gpu(), at.torch(m)),
    ),
)

HEALTHY = (
    Row("healthy-installer-9-thorough", "", "Every signature fits.", at.with_9, thorough=True),
    Row("healthy-windows", "", "A Windows as it was installed.", at.empty),
    Row("healthy-no-gpu", "", "torch without an NVIDIA GPU.", at.no_gpu),
    Row("healthy-archive-8", "", "cuDNN 8.9.7 in a folder of its own, on PATH.", at.with_8),
    Row("healthy-8-in-toolkit", "", "cuDNN 8.9.7 copied into the toolkit's bin.", at.with_8_in_toolkit),
    Row("healthy-older-8", "", "cuDNN 8.8 with zlibwapi.dll.", at.with_older_8),
    Row("healthy-8.0", "", "cuDNN 8.0.5 with CUDA 11.8, before zlibwapi.dll was needed.", at.with_8_0),
    Row("healthy-installer-9", "", "cuDNN 9.28 by NVIDIA's installer.", at.with_9),
    Row("healthy-older-first", "", "Another program's older cuDNN 9 comes first on PATH, and serves.", older_shadow),
    Row("healthy-shim-in-wheel", "", "CTranslate2's cudnn64_8.dll finds its parts on PATH.", shim_and_parts),
    Row("healthy-torch", "", "torch with its own torch\\lib.", at.with_torch),
    Row("healthy-non-ascii-path", "", "torch lies in a folder with non-ASCII characters, and loads.", named("Zoë 猫")),
    Row("healthy-pip", "", "NVIDIA's wheels alone.", at.with_pip),
    Row("healthy-conda", "", "conda's Library\\bin.", at.with_conda),
    Row("healthy-cuda-11", "", "CUDA 11.8 with cuDNN 8.6.", at.with_cuda_11),
    Row("healthy-cuda-13", "", "CUDA 13.0 with bin\\x64.", at.with_cuda_13),
    Row("healthy-two-majors", "", "cuDNN 8 and 9 side by side.", at.two_majors),
    Row("healthy-torch-beside-pip", "", "torch\\lib wins over a pip copy, which is then idle.", torch_beside_pip),
)

ROWS = (*FAULTS, *HEALTHY)
