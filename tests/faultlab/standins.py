"""Small libraries built with gcc in place of what cannot be had here: the driver, and frameworks of several gigabytes.

The driver's stand-in answers what the scan's children ask NVML and the CUDA driver API, as a machine with one GPU
would; a framework's stand-in has the real one's file name, DT_NEEDED and RPATH, and no code.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faultlab.wheels import cache


@dataclass(frozen=True)
class Driver:
    """How the stand-in driver answers."""

    version: str = "580.65.06"
    cuda: int = 13000
    """What cuDriverGetVersion says: 1000 x major + 10 x minor."""
    gpu: str = "NVIDIA GeForce RTX 3090"
    capability: tuple[int, int] = (8, 6)
    init: int = 0
    """What cuInit returns: 0, 34 (stub), 100 (no device), 999 (unknown)."""
    nvml: int = 0
    """What nvmlInit returns: 0, 4 (no permission), 9 (driver not loaded), 18 (library and driver differ)."""


HEALTHY_DRIVER = Driver()

CUDA_SOURCE = r"""
#include <stdlib.h>
#include <string.h>
static const char uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static int devices(void) {
    const char *seen = getenv("CUDA_VISIBLE_DEVICES");
    if (!seen) return 1;
    if (!strncmp(seen, "GPU-", 4)) return 1;
    char *end;
    long first = strtol(seen, &end, 10);
    return end != seen && first == 0;
}
int cuInit(unsigned flags) { return INIT ? INIT : devices() ? 0 : 100; }
int cuDriverGetVersion(int *v) { *v = CUDA; return INIT == 34 ? 34 : 0; }
int cuDeviceGetCount(int *n) { *n = devices(); return cuInit(0); }
int cuDeviceGet(int *d, int i) { *d = i; return i < devices() ? 0 : 101; }
int cuDeviceGetName(char *out, int size, int d) { strncpy(out, GPU, size - 1); out[size - 1] = 0; return 0; }
int cuDeviceTotalMem(size_t *n, int d) { *n = 24ull << 30; return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 24ull << 30; return 0; }
int cuDeviceGetUuid(char *out, int d) { memcpy(out, uuid, 16); return 0; }
int cuDeviceGetUuid_v2(char *out, int d) { memcpy(out, uuid, 16); return 0; }
int cuDeviceGetPCIBusId(char *out, int size, int d) { strncpy(out, "0000:01:00.0", size); return 0; }
int cuDeviceComputeCapability(int *a, int *b, int d) { *a = MAJOR; *b = MINOR; return 0; }
int cuDeviceGetAttribute(int *out, int what, int d) { *out = what == 75 ? MAJOR : what == 76 ? MINOR : 0; return 0; }
int cuGetErrorName(int e, const char **out) {
    *out = e == 0 ? "CUDA_SUCCESS" : e == 34 ? "CUDA_ERROR_STUB_LIBRARY" : e == 100 ? "CUDA_ERROR_NO_DEVICE"
         : e == 999 ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}
int cuGetErrorString(int e, const char **out) { return cuGetErrorName(e, out); }
int cuGetProcAddress(const char *n, void **f, int v, unsigned long long x) { *f = 0; return 500; }
int cuGetProcAddress_v2(const char *n, void **f, int v, unsigned long long x, int *s) { *f = 0; return 500; }
"""

NVML_SOURCE = r"""
#include <string.h>
struct memory { unsigned long long total, free, used; };
struct memory_v2 { unsigned version; unsigned long long total, reserved, free, used; };
struct pci { char legacy[16]; unsigned domain, bus, device, id, subsystem; char full[32]; };
static int text(char *out, unsigned size, const char *value) { strncpy(out, value, size - 1); out[size - 1] = 0; return 0; }
int nvmlInit(void) { return NVML; }
int nvmlInit_v2(void) { return NVML; }
int nvmlInitWithFlags(unsigned f) { return NVML; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int e) {
    return e == 0 ? "Success" : e == 4 ? "Insufficient Permissions" : e == 9 ? "Driver Not Loaded" : e == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *out, unsigned size) { return text(out, size, VERSION); }
int nvmlSystemGetNVMLVersion(char *out, unsigned size) { return text(out, size, "13." VERSION); }
int nvmlSystemGetCudaDriverVersion(int *v) { *v = CUDA; return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = CUDA; return 0; }
int nvmlDeviceGetCount(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex(unsigned i, void **d) { *d = (void *)16; return i ? 2 : 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)16; return i ? 2 : 0; }
int nvmlDeviceGetName(void *d, char *out, unsigned size) { return text(out, size, GPU); }
int nvmlDeviceGetUUID(void *d, char *out, unsigned size) {
    return text(out, size, "GPU-01020304-0506-0708-090a-0b0c0d0e0f10");
}
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m) { m->total = 24ull << 30; m->free = 23ull << 30; m->used = 1ull << 30; return 0; }
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory_v2 *m) {
    m->total = 24ull << 30; m->reserved = 0; m->free = 23ull << 30; m->used = 1ull << 30; return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = MAJOR; *b = MINOR; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next) { return 3; }
int nvmlDeviceGetPciInfo_v3(void *d, struct pci *p) {
    memset(p, 0, sizeof *p); strcpy(p->legacy, "0000:01:00.0"); strcpy(p->full, "00000000:01:00.0");
    p->bus = 1; p->id = 0x220410de; return 0;
}
int nvmlDeviceGetPciInfo_v2(void *d, struct pci *p) { return nvmlDeviceGetPciInfo_v3(d, p); }
int nvmlDeviceGetPciInfo(void *d, struct pci *p) { return nvmlDeviceGetPciInfo_v3(d, p); }
"""

SMI_SOURCE = r"""
if [ $nvml = 18 ]; then echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18; fi
if [ $nvml != 0 ]; then
    echo "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    exit 9
fi
case "$1" in
-L) echo "GPU 0: $gpu (UUID: $uuid)" ;;
--query-gpu=*)
    answer=
    for field in $(echo "${1#--query-gpu=}" | tr , ' '); do
        case "$field" in
        index) value=0 ;;
        name) value=$gpu ;;
        uuid) value=$uuid ;;
        memory.total) value='24576 MiB' ;;
        compute_cap) value=$capability ;;
        driver_version) value=$version ;;
        *) value='[N/A]' ;;
        esac
        answer="$answer${answer:+, }$value"
    done
    echo "$answer" ;;
*) echo "| NVIDIA-SMI $version              Driver Version: $version      CUDA Version: $cuda      |" ;;
esac
"""


def smi(path: Path, how: Driver) -> None:
    """Write a stand-in of nvidia-smi, for the tools that ask it."""
    words = {
        "nvml": how.nvml,
        "gpu": how.gpu,
        "uuid": "GPU-01020304-0506-0708-090a-0b0c0d0e0f10",
        "capability": ".".join(map(str, how.capability)),
        "cuda": f"{how.cuda // 1000}.{how.cuda % 1000 // 10}",
        "version": how.version,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + "".join(f"{k}='{v}'\n" for k, v in words.items()) + SMI_SOURCE)
    path.chmod(0o755)


def driver(folder: Path, how: Driver) -> None:
    """Put libcuda and libnvidia-ml into ``folder``, named and linked as NVIDIA's installer does."""
    folder.mkdir(parents=True, exist_ok=True)
    macros = [f'-DVERSION="{how.version}"', f"-DCUDA={how.cuda}", f'-DGPU="{how.gpu}"', f"-DINIT={how.init}"]
    macros += [f"-DNVML={how.nvml}", f"-DMAJOR={how.capability[0]}", f"-DMINOR={how.capability[1]}"]
    for name, source in (("libcuda.so", CUDA_SOURCE), ("libnvidia-ml.so", NVML_SOURCE)):
        library(folder / f"{name}.{how.version}", source, soname=f"{name}.1", flags=macros)
        (folder / f"{name}.1").symlink_to(f"{name}.{how.version}")
        (folder / name).symlink_to(f"{name}.1")


def stub(path: Path) -> None:
    """Build the toolkit's link-time libcuda: every call answers 34, "CUDA driver is a stub library"."""
    macros = ['-DVERSION="0"', "-DCUDA=0", '-DGPU=""', "-DINIT=34", "-DMAJOR=0", "-DMINOR=0"]
    library(path, CUDA_SOURCE, soname="libcuda.so.1", flags=macros)


def library(
    path: Path, source: str = "", *, soname: str = "", needed: Sequence[str] = (), flags: Sequence[str] = ()
) -> None:
    """Build a shared library at ``path`` whose DT_NEEDED are ``needed``; equal requests are built once."""
    recipe = "\n".join(["1", source, soname or path.name, *needed, "--", *flags])
    built = cache() / "standins" / hashlib.sha256(recipe.encode()).hexdigest()[:24]
    if not built.is_file():
        built.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent) as folder:
            made = Path(folder, "made.so")
            _gcc(made, source, soname or path.name, needed, flags)
            made.replace(built)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(built, path)
    path.chmod(0o755)


def _gcc(made: Path, source: str, soname: str, needed: Sequence[str], flags: Sequence[str]) -> None:
    base = ["gcc", "-shared", "-fPIC", "-O1", "-w", "-Wl,--no-as-needed"]
    for number, name in enumerate(needed):
        empty = made.with_name(f"needed{number}.so")
        subprocess.run([*base, "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", empty], check=True)
    names = [str(made.with_name(f"needed{number}.so")) for number in range(len(needed))]
    code = made.with_suffix(".c")
    code.write_text(source)
    subprocess.run([*base, code, *names, f"-Wl,-soname,{soname}", *flags, "-o", made], check=True)
