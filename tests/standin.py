"""Small stand-in cuDNN 7, 8 and 9 sets, built with gcc at test time: real names, real dlopen behaviour, no GPU code.

Each library behaves as NVIDIA's does as far as loading goes: the shim opens its parts by name when they are first
asked for, 8 and early 9 abort when a part is missing, later 9 answer 3009, a part of another version fails its
VersionCheck. Compiled objects are kept for the test session; a set is then a matter of copying a few small files.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

LINUX8 = ("ops_infer", "ops_train", "cnn_infer", "cnn_train", "adv_infer", "adv_train")
LINUX9 = ("graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled")
NEEDED = {
    "ops_train": ("ops_infer",),
    "cnn_infer": ("ops_infer",),
    "cnn_train": ("ops_infer", "ops_train", "cnn_infer"),
    "adv_infer": ("ops_infer",),
    "adv_train": ("ops_infer", "ops_train", "adv_infer"),
    "ops": ("graph",),
    "cnn": ("ops", "graph"),
    "adv": ("ops", "graph"),
    "heuristic": ("graph",),
    "engines_precompiled": ("graph",),
    "engines_runtime_compiled": ("graph",),
    "engines_tensor_ir": ("graph",),
}
"""DT_NEEDED inside a set, as read from NVIDIA's wheels 8.9.7.29, 9.1.0.70 and 9.28.0.42."""

WITHOUT_GPU_CODE = ("graph", "heuristic", "ext")

SHIM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#ifdef _WIN32
#include <windows.h>
#define API __declspec(dllexport)
static void *part(const char *role) {
  char name[128];
  snprintf(name, sizeof name, "%s_%s64_%d.dll", "cudnn", role, MAJOR);
  void *h = (void *)LoadLibraryA(name);
  if (!h) fprintf(stderr, "Could not locate %s. Please make sure it is in your library path!\n", name);
  return h;
}
#define SYMBOL(h, n) ((h) ? (void *)GetProcAddress((HMODULE)(h), (n)) : NULL)
#else
#include <dlfcn.h>
#define API __attribute__((visibility("default")))
static void *part(const char *role) {
  char a[128], b[128], c[128], d[128];
#if MAJOR == 8
  snprintf(a, sizeof a, "%s_%s.so.8", "libcudnn", role);
  void *h = dlopen(a, RTLD_NOW);
  if (!h) fprintf(stderr, "Could not load library %s. Error: %s\n", a, dlerror());
  return h;
#else
  snprintf(d, sizeof d, "%s_%s.so", "libcudnn", role);
  snprintf(a, sizeof a, "%s.%d.%d.%d", d, MAJOR, MINOR, PATCH);
  snprintf(b, sizeof b, "%s.%d.%d", d, MAJOR, MINOR);
  snprintf(c, sizeof c, "%s.%d", d, MAJOR);
  void *h = dlopen(a, RTLD_NOW);
  if (!h) h = dlopen(b, RTLD_NOW);
  if (!h) h = dlopen(c, RTLD_NOW);
  if (!h) h = dlopen(d, RTLD_NOW);
  if (!h) fprintf(stderr, "Unable to load any of {%s, %s, %s, %s}\n", a, b, c, d);
  return h;
#endif
}
#define SYMBOL(h, n) ((h) ? dlsym((h), (n)) : NULL)
#endif
API const char *cudnn_standin_names[] = { NAMES 0 };
static long ask(const char *role, const char *function, int needed) {
  long (*f)(void) = (long (*)(void))SYMBOL(part(role), function);
  if (f) return f();
  fprintf(stderr, "Invalid handle. Cannot load symbol %s\n", function);
  if (needed || MAJOR == 8 || MINOR < ABORTS_BELOW) abort();
  return 3009;
}
#define CALL(function, role, needed) API long function(void) { return ask(role, #function, needed); }
CALLS
"""

PART = r"""
#ifdef _WIN32
#define API __declspec(dllexport)
#else
#define API __attribute__((visibility("default")))
#endif
__asm__(".text\n.skip 9216, 0x90\n"); /* NVIDIA's code does not begin with the functions that follow, either */
API const char *cudnn_standin_names_ROLE[] = { NAMES 0 };
#define CODE (MAJOR * 65536 + MINOR * 256 + PATCH)
#if VERSION_DATA
API const int cudnn_DATA_version = CODE;
#endif
#ifdef BASE
extern const int BASE;
API long CHECK(void) { return BASE == CODE ? 0 : MISMATCH; }
#else
#ifdef CHECK
API long CHECK(void) { return 0; }
#endif
#endif
#ifdef DUMMY
API int cudnn_standin_start(int version) { return version == MAJOR * 10000 + MINOR * 100 + PATCH; }
API int DUMMY(void) { return 0; }
#endif
#if FIRST
API long cudnnGetVersion(void) { return MAJOR >= 9 ? MAJOR * 10000 + MINOR * 100 + PATCH
                                                   : MAJOR * 1000 + MINOR * 100 + PATCH; }
API long cudnnGetCudartVersion(void) { return CUDA * 1000 + 40; }
#endif
"""

CHECKS = {
    "graph": "cudnnGraphVersionCheck",
    "ops": "cudnnOpsVersionCheck",
    "cnn": "cudnnCnnVersionCheck",
    "adv": "cudnnAdvVersionCheck",
    "ops_infer": "cudnnOpsInferVersionCheck",
    "ops_train": "cudnnOpsTrainVersionCheck",
    "cnn_infer": "cudnnCnnInferVersionCheck",
    "cnn_train": "cudnnCnnTrainVersionCheck",
    "adv_infer": "cudnnAdvInferVersionCheck",
    "adv_train": "cudnnAdvTrainVersionCheck",
}

DATA = {"graph": "graph", "ops": "ops_infer", "adv": "adv_infer", "ops_infer": "ops_infer"} | {
    "ops_train": "ops_train",
    "cnn_infer": "cnn_infer",
    "adv_infer": "adv_infer",
}
"""Role -> the middle of the exported name that holds its version (cudnn_ops_infer_version in cuDNN 9's ops)."""

DUMMIES = {
    "heuristic": "dummyHeuristicSymbol",
    "engines_precompiled": "dummyBackendEnginesPreCompiledSymbol",
    "engines_runtime_compiled": "dummyBackendEnginesRuntimeCompiledSymbol",
    "engines_tensor_ir": "dummyBackendEnginesTensorIRSymbol",
}
"""Exported by cuDNN 9's engines; the function before it compares the version that it is started with."""

BASE = {"ops": "cudnn_graph_version", "cnn": "cudnn_ops_infer_version", "adv": "cudnn_ops_infer_version"} | {
    role: "cudnn_ops_infer_version" for role in LINUX8 if role != "ops_infer"
}
"""Role -> the exported version that its VersionCheck compares with its own."""


def parts(version: str) -> tuple[str, ...]:
    """Return the roles of a release's sub-libraries, as NVIDIA ships them (9.21: tensor_ir, 9.24: ext)."""
    major, minor, _patch = numbers(version)
    if major == 7:
        return ()
    if major == 8:
        return LINUX8
    late = (("engines_tensor_ir",) if minor >= 21 else ()) + (("ext",) if minor >= 24 else ())
    return LINUX9 + late


def numbers(version: str) -> tuple[int, int, int]:
    """Return major, minor and patch level."""
    major, minor, patch = (int(n) for n in version.split(".")[:3])
    return major, minor, patch


def file_name(role: str, major: int, system: str = "linux") -> str:
    """Return a library's file name; the role of the main library is empty."""
    if system == "windows":
        return f"cudnn_{role}64_{major}.dll" if role else f"cudnn64_{major}.dll"
    return f"libcudnn_{role}.so.{major}" if role else f"libcudnn.so.{major}"


def build_cudnn(
    folder: Path | str,
    version: str = "9.1.0",
    cuda: int = 12,
    sass: tuple[int, ...] = (80, 90),
    *,
    system: str = "linux",
    zlib: bool = False,
    wants: tuple[str, ...] = (),
) -> Path:
    """Put a whole stand-in set of one release into ``folder`` and return the folder.

    ``zlib``: the libraries need libz.so.1 as the real ones do. ``wants``: further roles that the graph library names
    although the set lacks them, as in nvidia-cudnn-cu13 9.20.0.48. ``sass``: compute capabilities of the machine code
    in each library that has any. ``system="windows"`` needs mingw's x86_64-w64-mingw32-gcc.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for file in _compiled(version, cuda, sass, system, zlib, wants).iterdir():
        shutil.copy2(file, target / file.name)
    return target


def install_cudnn(site_packages: Path | str, version: str = "9.1.0.70", cuda: int = 12, **options: object) -> Path:
    """Lay a stand-in set out as the wheel nvidia-cudnn-cuNN does, with its RECORD; return the folder of libraries."""
    site, system = Path(site_packages), str(options.get("system", "linux"))
    cudnn = site / "nvidia" / "cudnn"
    folder = build_cudnn(cudnn / ("bin" if system == "windows" else "lib"), version, cuda, **options)
    write_header(cudnn / "include", version)
    needs = (f"nvidia-cublas-cu{cuda}",) if cuda < 13 else ("nvidia-cublas",)
    record_wheel(site, f"nvidia-cudnn-cu{cuda}", version, sorted(p for p in cudnn.rglob("*") if p.is_file()), needs)
    return folder


def write_header(folder: Path | str, version: str) -> Path:
    """Write cudnn_version.h of one release and return its path."""
    major, minor, patch = numbers(version)
    header = Path(folder) / "cudnn_version.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n")
    return header


def record_wheel(
    site_packages: Path | str, name: str, version: str, files: list[Path] | None = None, requires: tuple[str, ...] = ()
) -> Path:
    """Write a distribution's dist-info (METADATA, RECORD with hashes and sizes) and return the folder."""
    site = Path(site_packages)
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    wishes = "".join(f"Requires-Dist: {wish}\n" for wish in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wishes}")
    rows = []
    for file in files or []:
        data = file.read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{file.relative_to(site).as_posix()},sha256={digest},{len(data)}\n")
    (info / "RECORD").write_text("".join(rows) + f"{info.name}/METADATA,,\n{info.name}/RECORD,,\n")
    return info


def build_library(
    file: Path | str, soname: str = "", needed: tuple[Path, ...] = (), *, code: str = "", flags: tuple[str, ...] = ()
) -> Path:
    """Build one small Linux library (a stand-in for cuBLAS, NVRTC, a framework's own library) and return its path."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "library.c"
        source.write_text(code or f"int standin_{abs(hash(path.name)) % 10**6}(void) {{ return 1; }}\n")
        _gcc("linux", source, path, soname or path.name, (*flags, "-Wl,--no-as-needed", *map(str, needed)))
    return path


@functools.cache
def _compiled(version: str, cuda: int, sass: tuple[int, ...], system: str, zlib: bool, wants: tuple[str, ...]) -> Path:
    """Compile a set once; the folder goes when the test session ends."""
    keep = tempfile.TemporaryDirectory(prefix="standin-cudnn-")
    _KEPT.append(keep)
    out = Path(keep.name)
    major, minor, patch = numbers(version)
    release = (f"-DMAJOR={major}", f"-DMINOR={minor}", f"-DPATCH={patch}", f"-DCUDA={cuda}")
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        more = _zlib(work) if zlib else ()
        for role in parts(version):
            _part(work, out, role, version, cuda, sass, system, wants, (*release, *more))
        _shim(work, out, version, cuda, sass, system, release)
    return out


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _zlib(work: Path) -> tuple[str, ...]:
    """Link against libz.so.1, which every machine with Python has, without its development files."""
    stub = build_library(work / "zlib" / "libz.so.1")
    return ("-Wl,--no-as-needed", str(stub))


def _shim(
    work: Path, out: Path, version: str, cuda: int, sass: tuple[int, ...], system: str, release: tuple[str, ...]
) -> None:
    major = numbers(version)[0]
    if major == 7:
        source = work / "main.c"
        body = PART.replace("_ROLE", "").replace("NAMES", '"libnvrtc.so",')
        source.write_text(body)
        flags = (*release, "-DVERSION_DATA=0", "-DFIRST=1", "-DMISMATCH=14")
        _gcc(system, source, out / file_name("", 7, system), file_name("", 7), (*flags, *_fatbin(work, sass, system)))
        return
    first = "ops_infer" if major == 8 else "graph"
    asked = [r for r in parts(version) if r in CHECKS]
    calls = [f'CALL({name}, "{first}", 1)' for name in ("cudnnGetVersion", "cudnnGetCudartVersion")]
    calls += [f'CALL({CHECKS[role]}, "{role}", {int(role == first)})' for role in asked]
    opened = [*asked, "ext"] if "ext" in parts(version) else asked
    names = "".join(f'"{_mention(role, major, system)}", ' for role in opened)
    source = work / "shim.c"
    source.write_text(SHIM.replace("CALLS", "\n".join(calls)).replace("NAMES", names))
    paths = ("-Wl,--enable-new-dtags,-rpath,$ORIGIN",) if system == "linux" else ()
    libraries = ("-ldl",) if system == "linux" else ()
    name = file_name("", major, system)
    _gcc(system, source, out / name, name, (*release, "-DABORTS_BELOW=4", *paths, *libraries))


def _mention(role: str, major: int, system: str) -> str:
    """Return a part's name as NVIDIA's binaries hold it: unversioned in cuDNN 9 for Linux."""
    name = file_name(role, major, system)
    return name.removesuffix(".9") if system == "linux" and major == 9 else name


def _part(
    work: Path,
    out: Path,
    role: str,
    version: str,
    cuda: int,
    sass: tuple[int, ...],
    system: str,
    wants: tuple[str, ...],
    more: tuple[str, ...],
) -> None:
    major = numbers(version)[0]
    source = work / f"{role}.c"
    names = "".join(f'"{name}", ' for name in _names(role, version, cuda, system, wants))
    source.write_text(PART.replace("ROLE", role).replace("NAMES", names).replace("DATA_v", f"{DATA.get(role, role)}_v"))
    flags = [f"-DVERSION_DATA={int(role in DATA)}", f"-DMISMATCH={14 if major == 8 else 1002}"]
    flags += [f"-DFIRST={int(role in ('graph', 'ops_infer'))}"]
    flags += [f"-DCHECK={CHECKS[role]}"] if role in CHECKS else []
    flags += [f"-DBASE={BASE[role]}"] if role in BASE else []
    flags += [f"-DDUMMY={DUMMIES[role]}"] if role in DUMMIES else []
    needed = [str(out / file_name(r, major, system)) for r in NEEDED.get(role, ())]
    if system == "linux":
        cublas = "$ORIGIN:$ORIGIN/../../cublas/lib:$ORIGIN/../../nvrtc/lib"
        flags += [f"-Wl,--enable-new-dtags,-rpath,{cublas}", f"-Wl,-rpath-link,{out}", "-Wl,--no-as-needed"]
    code = () if role in WITHOUT_GPU_CODE else _fatbin(work, sass, system)
    name = file_name(role, major, system)
    _gcc(system, source, out / name, name, (*more, *flags, *needed, *code))


def _names(role: str, version: str, cuda: int, system: str, wants: tuple[str, ...]) -> list[str]:
    """Return the names that a library opens by itself, as read from NVIDIA's wheels."""
    major = numbers(version)[0]
    if system == "windows":
        driver, nvrtc, blas, light = "nvcuda.dll", "nvrtc64_%d_0.dll", f"cublas64_{cuda}.dll", f"cublasLt64_{cuda}.dll"
    else:
        driver, nvrtc, blas, light = "libcuda.so.1", "libnvrtc.so.%d", f"libcublas.so.{cuda}", f"libcublasLt.so.{cuda}"
    opened = {
        "ops_infer": [blas, light, driver, nvrtc],
        "cnn_infer": [_mention("cnn_train", major, system), driver],
        "graph": [driver, nvrtc],
        "adv": [light, driver],
        "engines_precompiled": [light, driver],
    }.get(role, [])
    if role == "graph":
        here = [r for r in parts(version) if r == "heuristic" or r.startswith("engines")]
        opened += [_mention(r, major, system) for r in (*here, *wants)]
    return opened


def _fatbin(work: Path, sass: tuple[int, ...], system: str) -> tuple[str, ...]:
    """Return an assembler file with a .nv_fatbin section that holds one empty cubin for each compute capability."""
    if not sass:
        return ()
    section = ".nv_fatb" if system == "windows" else ".nv_fatbin"
    cubin = b"\x7fELF" + bytes(60)
    entries = b"".join(
        struct.pack("<HHIQIIHHIIIQQ", 2, 0x101, 64, len(cubin), 0, 0, 0, 0, sm, 0, 0, 0x11, 0) + bytes(8) + cubin
        for sm in sass
    )
    blob = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries
    flags = '"a", @progbits' if system == "linux" else '"dr"'
    source = work / "fatbin.s"
    source.write_text(f".section {section}, {flags}\n.balign 8\n.byte {','.join(map(str, blob))}\n")
    return (str(source), "-z", "noexecstack") if system == "linux" else (str(source),)


def _gcc(system: str, source: Path, out: Path, soname: str, more: tuple[str, ...]) -> None:
    compiler = "x86_64-w64-mingw32-gcc" if system == "windows" else "gcc"
    own = () if system == "windows" else ("-fPIC", f"-Wl,-soname,{soname}", "-Wl,--build-id=none")
    subprocess.run([compiler, "-shared", "-O1", "-s", "-o", str(out), *own, str(source), *more], check=True)
