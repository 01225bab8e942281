"""libcuda and libnvidia-ml in place of NVIDIA's, built with gcc; variables of the process tell them how to behave."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

CUDA = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int number(const char *name, int other) { const char *v = getenv(name); return v ? atoi(v) : other; }
static int devices(void) {
  const char *shown = getenv("CUDA_VISIBLE_DEVICES");
  return shown && (!*shown || *shown == '-') ? 0 : number("STANDIN_GPUS", 1);
}
int cuInit(unsigned flags) {
  if (getenv("STANDIN_HANG")) for (;;) sleep(60);
  if (getenv("STANDIN_CRASH")) abort();
  int status = number("STANDIN_CUDA", 0);
  return status ? status : devices() ? 0 : 100;
}
int cuDriverGetVersion(int *v) { *v = number("STANDIN_DRIVER_CUDA", 13000); return 0; }
int cuDeviceGetCount(int *n) { *n = devices(); return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; }
int cuDeviceGetName(char *out, int size, int d) { strncpy(out, "Stand-in GPU", size); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = 8ull << 30; return 0; }
int cuDeviceGetUuid_v2(char *out, int d) { memset(out, 0xab, 16); out[15] = d; return 0; }
int cuDeviceGetPCIBusId(char *out, int size, int d) { strncpy(out, "0000:01:00.0", size); return 0; }
int cuDeviceGetAttribute(int *out, int what, int d) { *out = what == 75 ? 8 : 6; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = (void *)16; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { return 0; }
int cuCtxSetCurrent(void *c) { return 0; }
int cuModuleLoadData(void **m, const void *image) {
  if (getenv("STANDIN_CACHED") && !number("CUDA_CACHE_DISABLE", 0)) return 0;
  return number("STANDIN_PTX", dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_NOW) ? 0 : 221);
}
#ifndef NAMELESS
int cuGetErrorName(int e, const char **out) { *out = e == 999 ? "CUDA_ERROR_UNKNOWN" : "CUDA_ERROR_NAMED"; return 0; }
#endif
"""

NVML = r"""
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
struct memory { unsigned long long total, free, used; };
static int number(const char *name, int other) { const char *v = getenv(name); return v ? atoi(v) : other; }
int nvmlInitWithFlags(unsigned f) {
  if (getenv("STANDIN_CRASH")) abort();
  puts("a library may print what it likes");
  return number("STANDIN_NVML", 0);
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { strcpy(out, "580.65.06"); return 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *v) { *v = 13000; return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = number("STANDIN_GPUS", 1); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(16ul + i); return i == 7 ? 15 : 0; }
int nvmlDeviceGetName(void *d, char *out, unsigned n) {
  strcpy(out, getenv("STANDIN_GARBAGE") ? "\xff\xfe" : "Stand-in GPU"); return 0;
}
int nvmlDeviceGetUUID(void *d, char *out, unsigned n) { strcpy(out, "GPU-1"); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, struct memory *m) { m->total = 8; m->free = 7; m->used = 1; return 0; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) { *a = 8; *b = 6; return 0; }
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next) { *now = *next = 1; return 0; }
"""


COMPILER = r"""
#include <stdlib.h>
int __cuda_CallJitEntryPoint(void) { return 0; }
__attribute__((constructor)) static void start(void) { if (getenv("STANDIN_PART_CRASH")) abort(); }
"""


def install(folder: Path, version: str = "580.65.06") -> Path:
    """Put a driver's two libraries into ``folder``, linked as NVIDIA's installer does, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in (("libcuda.so", CUDA), ("libnvidia-ml.so", NVML), ("libnvidia-ptxjitcompiler.so", COMPILER)):
        shutil.copy(built(source), folder / f"{name}.{version}")
        (folder / f"{name}.1").symlink_to(f"{name}.{version}")
    return folder


@functools.cache
def built(source: str, *flags: str) -> Path:
    """Compile ``source`` to a shared library, once for the session."""
    keep = tempfile.TemporaryDirectory(prefix="standin-driver-")
    _KEPT.append(keep)
    out = Path(keep.name) / "library.so"
    (Path(keep.name) / "library.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", out, *flags, out.with_suffix(".c")], check=True)
    return out


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
