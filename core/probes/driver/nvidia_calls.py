"""Calls of NVML and of the CUDA driver, made in a child process; nothing here runs in the parent.

Each function emits what it knows after every step, so that the file and the progress are known if a library crashes or
hangs the child. The parent uses the last event of each kind.
"""

from __future__ import annotations

import ctypes
import os
import sys

from core.common.fact_text import fact_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from msgspec.structs import replace

    from core.model.facts import CudaInit, DriverPart, Gpu, Nvml
    from core.probes.driver.protocol import DriverEvent, DriverQuery

    T = TypeVar("T")
else:
    CudaInit = DriverPart = Gpu = Nvml = DriverEvent = dict

    def replace(said, **changed):
        """Return the event with some fields changed."""
        return said | changed


PLAIN = True
"""For ``core.host.child``: this module needs nothing of msgspec."""

MAX_GPUS = 64
"""Maximum number of GPUs described; a broken library may report any number."""

STATUS_NAMES = {
    0: "CUDA_SUCCESS",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    100: "CUDA_ERROR_NO_DEVICE",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "CUDA_ERROR_UNKNOWN",
}
"""Names for libraries that do not name their own statuses, such as the stub. Source: cuda.h of CUDA 13."""

PTX_COMPILER = "libnvidia-ptxjitcompiler.so.1"
"""The library that libcuda opens to compile a kernel in PTX.

Without it, 221: CUDA_ERROR_JIT_COMPILER_NOT_FOUND (cuda.h; the loader's record of its search in
github.com/anduril/jetpack-nixos/issues/184).
"""

PTX = b".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n"
"""A kernel that every driver since CUDA 9 compiles for every GPU that it supports."""

_MODELS = {0: "WDDM", 1: "TCC", 2: "MCDM"}
"""nvmlDriverModel_t: nvml.h."""


def ask_cuda(request: DriverQuery, emit: Callable[[DriverEvent], None]) -> None:
    """Load the CUDA driver, initialise it and describe its GPUs, in this process. Call it in a child only."""
    name = request.library or ("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    said = CudaInit(problem=fact_text("It gave no answer."))
    if request.parts or request.kernel:  # Otherwise the driver may take the kernel from its cache without compiling it.
        os.environ["CUDA_CACHE_DISABLE"] = "1"
    try:
        cuda = _load_cuda(name)
        file = mapped_file(cuda, "cuInit", name)
        said = replace(said, library=file)
        emit(DriverEvent(cuda=said))
        status = int(cuda.cuInit(0))
    except OSError as error:
        emit(DriverEvent(cuda=replace(said, problem=_reason(error))))
        return
    except AttributeError:
        problem = fact_text("It has no function cuInit, so it is not the CUDA driver.")
        emit(DriverEvent(cuda=replace(said, problem=problem)))
        return
    said = replace(said, status=status, status_name=_status_name(cuda, status), problem="")
    said = replace(said, driver_cuda=_version_text(_integer(cuda, "cuDriverGetVersion")))
    count = _integer(cuda, "cuDeviceGetCount") if status == 0 else None
    emit(DriverEvent(cuda=replace(said, device_count=count)))
    for index in range(min(count or 0, MAX_GPUS)):
        emit(DriverEvent(gpu=_cuda_gpu(cuda, index)))
    if request.parts and count:
        _ask_part(cuda, PTX_COMPILER, file, emit)
    if request.kernel and count:
        part = DriverPart(name=PTX_COMPILER, problem=fact_text("It gave no answer."))
        emit(DriverEvent(part=part))
        emit(DriverEvent(part=replace(part, problem="", status=_load_ptx(cuda))))


def _ask_part(cuda: Any, name: str, cuda_file: str, emit: Callable[[DriverEvent], None]) -> None:
    """Load a library as libcuda does: by its name, else from libcuda's own folder, which may be in its RUNPATH."""
    emit(DriverEvent(part=DriverPart(name=name, problem=fact_text("It gave no answer."))))
    file = problem = ""
    for path in (name, cuda_file.rpartition("/")[0] + "/" + name):
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            problem = problem or _reason(error)
            continue
        # All releases export this function; the mapped file at its address is the library.
        file, problem = mapped_file(library, "__cuda_CallJitEntryPoint", name), ""
        break
    part = DriverPart(name=name, library=file, version=_version_in(file), problem=problem)
    emit(DriverEvent(part=part))
    mine, its = _version_in(cuda_file), _version_in(file)
    if problem or (mine and its and mine != its):
        emit(DriverEvent(part=replace(part, status=_load_ptx(cuda))))


def _version_in(path: str) -> str | None:
    """Return 580.65.06 for libcuda.so.580.65.06; None if the name contains no driver version (WSL's libcuda.so.1.1)."""
    tail = path.rpartition(".so.")[2] if ".so." in path else ""
    return tail if len(tail.partition(".")[0]) >= 3 and "." in tail and tail.replace(".", "").isdigit() else None


def _load_ptx(cuda: Any) -> int | None:
    """Load a kernel in PTX on the first GPU and return the status; None if an earlier call fails."""
    device, context, module = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    if not _is_working(cuda, "cuDeviceGet", ctypes.byref(device), 0):
        return None
    if not _is_working(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(context), device):
        return None
    try:
        if not _is_working(cuda, "cuCtxSetCurrent", context):
            return None
        entry = getattr(cuda, "cuModuleLoadData", None)
        return None if entry is None else int(entry(ctypes.byref(module), PTX))
    finally:
        _is_working(cuda, "cuDevicePrimaryCtxRelease_v2", device)


def _load_cuda(name: str) -> Any:
    if sys.platform == "win32":
        return ctypes.WinDLL(name)  # CUDAAPI is __stdcall on Windows: cuda.h
    return ctypes.CDLL(name)


def mapped_file(library: Any, function: str, name: str) -> str:
    """Return the file that contains ``function``: the one that this process has mapped at its address."""
    if sys.platform == "win32":
        buffer = ctypes.create_unicode_buffer(32768)
        length = ctypes.WinDLL("kernel32").GetModuleFileNameW(ctypes.c_void_p(library._handle), buffer, len(buffer))
        return _path_text(buffer.value) if length else ""
    entry = getattr(library, function, None)
    address = (ctypes.cast(entry, ctypes.c_void_p).value or 0) if entry is not None else 0
    last = name.rpartition("/")[2]
    try:
        maps = open("/proc/self/maps", "rb")  # noqa: PTH123, SIM115 - a pathlib import costs more; closed below
    except OSError:
        return ""
    with maps:
        for line in maps:
            fields = line.rstrip(b"\n").split(None, 5)
            if len(fields) < 6 or not fields[5].startswith(b"/"):
                continue
            start, _, end = fields[0].partition(b"-")
            if int(start, 16) <= address < int(end, 16):
                return _path_text(fields[5])
            if not address and _path_text(fields[5]).rpartition("/")[2].startswith(last):
                return _path_text(fields[5])
    return ""


def _path_text(path: str | bytes) -> str:
    """Return ``facts.path_text`` of a path, without importing the facts."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _reason(error: OSError) -> str:
    """Return the loader's own message, printable and in one line; on Windows the number, which the message hides."""
    if sys.platform == "win32":
        # For ERROR_MOD_NOT_FOUND only, ctypes raises FileNotFoundError without a number.
        number = 126 if isinstance(error, FileNotFoundError) else error.winerror or 0
        missing = fact_text(" (it, or a library that it needs, was not found)") if number == 126 else ""
        return fact_text("It could not be loaded: Windows error {number}{missing}.", number=number, missing=missing)
    return " ".join(str(error).encode("utf-8", "backslashreplace").decode().split())[:500]


def _integer(cuda: Any, function: str, *before: int) -> int | None:
    """Call ``function(int *out, ...)`` and return the number; None if it fails or does not exist."""
    out = ctypes.c_int()
    entry = getattr(cuda, function, None)
    if entry is None or entry(ctypes.byref(out), *before) != 0:
        return None
    return out.value


def _version_text(number: int | None) -> str | None:
    """Return 13000 as "13.0": 1000 * major + 10 * minor (cuda.h, cuDriverGetVersion)."""
    return f"{number // 1000}.{number % 1000 // 10}" if number and number > 0 else None


def _status_name(cuda: Any, status: int) -> str:
    out = ctypes.c_char_p()
    entry = getattr(cuda, "cuGetErrorName", None)
    if entry is not None and entry(status, ctypes.byref(out)) == 0 and out.value:
        return out.value.decode("ascii", "replace")
    return STATUS_NAMES.get(status, "")


def _cuda_gpu(cuda: Any, index: int) -> Gpu:
    device = _integer(cuda, "cuDeviceGet", index)
    if device is None:
        return Gpu(index=index, name="", source="CUDA driver")
    name, pci, uuid = (ctypes.create_string_buffer(n) for n in (256, 64, 16))
    size = ctypes.c_size_t()
    named = _is_working(cuda, "cuDeviceGetName", name, 255, device)
    placed = _is_working(cuda, "cuDeviceGetPCIBusId", pci, 63, device)
    sized = _is_working(cuda, "cuDeviceTotalMem_v2", ctypes.byref(size), device)
    known = _is_working(cuda, "cuDeviceGetUuid_v2", uuid, device) or _is_working(cuda, "cuDeviceGetUuid", uuid, device)
    # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h
    major, minor = (_integer(cuda, "cuDeviceGetAttribute", attribute, device) for attribute in (75, 76))
    u = uuid.raw.hex()
    return Gpu(
        index=index,
        name=name.value.decode("utf-8", "replace") if named else "",
        compute_capability=f"{major}.{minor}" if major is not None and minor is not None else None,
        uuid=f"GPU-{u[:8]}-{u[8:12]}-{u[12:16]}-{u[16:20]}-{u[20:]}" if known else "",
        memory_total=size.value if sized else None,
        pci=pci.value.decode("ascii", "replace") if placed else "",
        source="CUDA driver",
    )


def _is_working(cuda: Any, function: str, *arguments: Any) -> bool:
    entry = getattr(cuda, function, None)
    return entry is not None and entry(*arguments) == 0


def ask_nvml(request: DriverQuery, emit: Callable[[DriverEvent], None]) -> None:
    """Load NVML, query the driver and the GPUs, in this process. Call it in a child only."""
    said = Nvml(problem=fact_text("It gave no answer."))
    try:
        # Opened here first, for the loader's own message: pynvml reports every failure as "not found".
        library = _load_nvml(request.library)
        said = replace(said, library=mapped_file(library, "nvmlInit_v2", request.library or "libnvidia-ml.so.1"))
        emit(DriverEvent(nvml=said))
        import pynvml  # Imported late: the import is half of this child's time.

        status = _initialise_nvml(pynvml, library)
    except OSError as error:
        emit(DriverEvent(nvml=replace(said, problem=_reason(error))))
        return
    if status:
        emit(DriverEvent(nvml=replace(said, status=status, status_name=_nvml_name(pynvml, status), problem="")))
        return
    said = replace(said, status=0, status_name="NVML_SUCCESS", problem="")
    said = replace(said, driver_version=_nvml(pynvml, pynvml.nvmlSystemGetDriverVersion))
    emit(DriverEvent(nvml=said))
    said = replace(said, driver_cuda=_version_text(_nvml(pynvml, pynvml.nvmlSystemGetCudaDriverVersion_v2)))
    count = _nvml(pynvml, pynvml.nvmlDeviceGetCount)
    emit(DriverEvent(nvml=replace(said, device_count=count)))
    for index in range(min(count or 0, MAX_GPUS)):
        emit(_nvml_gpu(pynvml, index))


def _initialise_nvml(pynvml: Any, library: Any) -> int:
    """Initialise NVML and return its status."""
    pynvml.nvmlLib = library
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return int(error.value)
    return 0


def _load_nvml(library: str) -> ctypes.CDLL:
    if library or sys.platform != "win32":
        return ctypes.CDLL(library or "libnvidia-ml.so.1")
    system = os.environ.get("SystemRoot", r"C:\Windows")  # noqa: SIM112 - this is how Windows writes it
    try:
        return ctypes.CDLL(system + r"\System32\nvml.dll")
    except OSError:  # Drivers before the DCH ones install it elsewhere.
        programs = os.environ.get("ProgramFiles", r"C:\Program Files")  # noqa: SIM112 - as above
        return ctypes.CDLL(programs + r"\NVIDIA Corporation\NVSMI\nvml.dll")


def _nvml(pynvml: Any, call: Callable[[], T]) -> T | None:
    """Return the result of ``call``; None if NVML refuses, does not know the function, or returns garbage."""
    try:
        return call()
    except (pynvml.NVMLError, UnicodeDecodeError):
        return None


def _nvml_name(pynvml: Any, status: int) -> str:
    names = (n for n in vars(pynvml) if n.startswith("NVML_ERROR_"))
    return next((n for n in names if getattr(pynvml, n) == status), "")


def _nvml_gpu(pynvml: Any, index: int) -> DriverEvent:
    handle = _nvml(pynvml, lambda: pynvml.nvmlDeviceGetHandleByIndex(index))
    if handle is None:
        return DriverEvent(gpu=Gpu(index=index, name=""))
    capability = _nvml(pynvml, lambda: pynvml.nvmlDeviceGetCudaComputeCapability(handle))
    memory = _nvml(pynvml, lambda: pynvml.nvmlDeviceGetMemoryInfo(handle))
    mig = _nvml(pynvml, lambda: pynvml.nvmlDeviceGetMigMode(handle))
    pci = _nvml(pynvml, lambda: pynvml.nvmlDeviceGetPciInfo(handle).busId)
    gpu = Gpu(
        index=index,
        name=str(_nvml(pynvml, lambda: pynvml.nvmlDeviceGetName(handle)) or ""),
        compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
        uuid=str(_nvml(pynvml, lambda: pynvml.nvmlDeviceGetUUID(handle)) or ""),
        memory_total=int(memory.total) if memory else None,
        memory_free=int(memory.free) if memory else None,
        mig=bool(mig[0]) if mig else None,
        pci=pci.decode("ascii", "replace") if isinstance(pci, bytes) else str(pci or ""),
    )
    return DriverEvent(gpu=gpu, driver_model=_driver_model(pynvml, handle))


def _driver_model(pynvml: Any, handle: Any) -> str:
    if sys.platform != "win32":
        return ""
    model = _nvml(pynvml, lambda: pynvml.nvmlDeviceGetCurrentDriverModel(handle))
    return _MODELS.get(-1 if model is None else int(model), "")
