"""The part of the CUDA driver API that the benchmark uses: one GPU, its memory, kernels, events and graphs. Child process only."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

from core.benchmark.child.c_api import CallError, Library, load_first
from core.common.fact_text import fact_text
from core.probes.loading.roll_call.linux_loader import system_loader

CUDA_FORMS = {
    "cuInit": "u",
    "cuDeviceGetCount": "p",
    "cuDeviceGet": "pi",
    "cuDeviceGetUuid": "pi",
    "cuDeviceGetUuid_v2": "pi",
    "cuDeviceGetAttribute": "pii",
    "cuDevicePrimaryCtxRetain": "pi",
    "cuCtxSetCurrent": "p",
    "cuCtxSynchronize": "",
    "cuMemGetInfo_v2": "pp",
    "cuMemAlloc_v2": "pz",
    "cuMemFree_v2": "z",
    "cuMemcpyHtoD_v2": "zpz",
    "cuMemcpyDtoH_v2": "pzz",
    "cuMemcpyDtoD_v2": "zzz",
    "cuMemsetD8_v2": "zuz",
    "cuModuleLoadData": "pp",
    "cuModuleGetFunction": "ppp",
    "cuLaunchKernel": "puuuuuuuppp",
    "cuStreamCreate": "pu",
    "cuStreamSynchronize": "p",
    "cuEventCreate": "pu",
    "cuEventRecord": "pp",
    "cuEventSynchronize": "p",
    "cuEventElapsedTime": "ppp",
    "cuStreamBeginCapture_v2": "pi",
    "cuStreamEndCapture": "pp",
    "cuGraphInstantiateWithFlags": "ppz",
    "cuGraphLaunch": "pp",
    "cuGraphExecDestroy": "p",
    "cuGraphDestroy": "p",
    "cuGetErrorName": "ip",
}
"""Signatures from cuda.h; CUdeviceptr is an integer of pointer size."""

CLOCK_RATE, MULTIPROCESSORS, CC_MAJOR, CC_MINOR = 13, 16, 75, 76
"""CUdevice_attribute of cuda.h."""


def load_driver(library: str) -> Library:
    """Load the CUDA driver's library.

    Raises:
        CallError: it cannot be loaded.
    """
    usual = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    return load_first((library or usual,), CUDA_FORMS, system_loader(), _name)


def _name(cuda: Library, status: int) -> str:
    out = ctypes.c_char_p()
    known = cuda.exports("cuGetErrorName") and cuda.typed_function("cuGetErrorName")(status, ctypes.byref(out)) == 0
    return out.value.decode("ascii", "replace") if known and out.value else ""


def _integer(cuda: Library, function: str, *rest: int) -> int:
    out = ctypes.c_int()
    cuda.call(function, ctypes.byref(out), *rest)
    return out.value


def find_device(cuda: Library, uuid: str, ordinal: int) -> int:
    """Return the driver's handle of a GPU: by its UUID if one is given, since NVML and CUDA may number GPUs
    differently.

    Raises:
        CallError: a call failed, or no visible GPU has this UUID or number.
    """
    count = _integer(cuda, "cuDeviceGetCount")
    devices = [_integer(cuda, "cuDeviceGet", n) for n in range(count)]
    for device in devices if uuid else []:
        if uuid_of(cuda, device) == uuid.lower():
            return device
    if uuid or not 0 <= ordinal < count:
        wanted = uuid or fact_text("number {ordinal}", ordinal=ordinal)
        raise CallError(
            "cuDeviceGet",
            None,
            detail=fact_text(
                "CUDA shows {count} GPUs to this process, and none is {wanted}", count=count, wanted=wanted
            ),
        )
    return devices[ordinal]


def uuid_of(cuda: Library, device: int) -> str:
    """Return a GPU's UUID in NVML's format, in lower case; empty if the driver does not report it."""
    raw = ctypes.create_string_buffer(16)
    for function in ("cuDeviceGetUuid_v2", "cuDeviceGetUuid"):
        if cuda.exports(function) and cuda.typed_function(function)(raw, device) == 0:
            u = raw.raw.hex()
            return f"gpu-{u[:8]}-{u[8:12]}-{u[12:16]}-{u[16:20]}-{u[20:]}"
    return ""


class Device:
    """One GPU whose primary context is current in this thread; cuDNN and cuBLAS use the same context."""

    def __init__(self, cuda: Library, device: int) -> None:
        self.cuda, self.device = cuda, device
        context = ctypes.c_void_p()
        cuda.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        cuda.call("cuCtxSetCurrent", context)
        self.stream = self._handle("cuStreamCreate", 0)
        self._begin, self._end = (self._handle("cuEventCreate", 0) for _ in range(2))

    def _handle(self, function: str, *rest: int) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        self.cuda.call(function, ctypes.byref(out), *rest)
        return out

    def attribute(self, which: int) -> int:
        """Return a CUdevice_attribute."""
        return _integer(self.cuda, "cuDeviceGetAttribute", which, self.device)

    @property
    def compute_capability(self) -> int:
        """Compute capability as 10 x major + minor."""
        return 10 * self.attribute(CC_MAJOR) + self.attribute(CC_MINOR)

    def free_and_total_memory(self) -> tuple[int, int]:
        """Return free and total bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.cuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> int:
        """Allocate memory and return its address."""
        out = ctypes.c_size_t()
        self.cuda.call("cuMemAlloc_v2", ctypes.byref(out), size)
        return out.value

    def free(self, address: int) -> None:
        """Free memory."""
        self.cuda.call("cuMemFree_v2", address)

    def upload(self, address: int, data: bytes) -> None:
        """Copy bytes to the GPU."""
        self.cuda.call("cuMemcpyHtoD_v2", address, data, len(data))

    def download(self, address: int, size: int) -> bytes:
        """Copy bytes from the GPU, after all computation has finished."""
        self.synchronize()
        buffer = ctypes.create_string_buffer(size)
        self.cuda.call("cuMemcpyDtoH_v2", buffer, address, size)
        return buffer.raw

    def fill_with_nan(self, address: int, size: int) -> None:
        """Fill memory with 0xFF, a NaN in every floating-point type."""
        self.cuda.call("cuMemsetD8_v2", address, 0xFF, size)
        self.cuda.call("cuCtxSynchronize")

    def repeat(self, address: int, block: bytes, size: int) -> None:
        """Fill ``size`` bytes with consecutive copies of a block."""
        self.upload(address, block[:size])
        done = min(len(block), size)
        while done < size:
            step = min(done, size - done)
            self.cuda.call("cuMemcpyDtoD_v2", address + done, address, step)
            done += step
        self.cuda.call("cuCtxSynchronize")

    def synchronize(self) -> None:
        """Wait until all computation has finished.

        Raises:
            CallError: something started earlier has failed on the GPU.
        """
        self.cuda.call("cuStreamSynchronize", self.stream)

    def compile_kernel(self, code: bytes, name: str) -> Kernel:
        """Have the driver compile PTX, and return one of its kernels."""
        module = ctypes.c_void_p()
        self.cuda.call("cuModuleLoadData", ctypes.byref(module), code)
        function = ctypes.c_void_p()
        self.cuda.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())

        def launch(blocks: int, threads: int, *arguments: ctypes._SimpleCData[int]) -> None:
            pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
            self.cuda.call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, self.stream, pointers, None)

        return launch

    def measure_milliseconds(self, work: Callable[[], None]) -> float:
        """Return the GPU time of the work that ``work`` starts on our stream, measured between two events."""
        self.cuda.call("cuEventRecord", self._begin, self.stream)
        work()
        self.cuda.call("cuEventRecord", self._end, self.stream)
        self.cuda.call("cuEventSynchronize", self._end)
        out = ctypes.c_float()
        self.cuda.call("cuEventElapsedTime", ctypes.byref(out), self._begin, self._end)
        return out.value

    def record_graph(self, work: Callable[[], None]) -> Recording:
        """Record the work that ``work`` starts as a CUDA graph, which one launch replays without any processor time for
        each call.

        Raises:
            CallError: the driver is too old, or a call inside cannot be recorded.
        """
        self.cuda.call("cuStreamBeginCapture_v2", self.stream, 2)  # CU_STREAM_CAPTURE_MODE_RELAXED
        graph, failed = ctypes.c_void_p(), None
        try:
            work()
        except CallError as e:
            failed = e
        self.cuda.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        if failed:
            raise failed
        return Recording(self, graph)


Kernel = Callable[..., None]


class Recording:
    """A CUDA graph, ready to be replayed."""

    def __init__(self, device: Device, graph: ctypes.c_void_p) -> None:
        self._device, self._graph, self._ready = device, graph, ctypes.c_void_p()
        device.cuda.call("cuGraphInstantiateWithFlags", ctypes.byref(self._ready), graph, 0)

    def replay(self) -> None:
        """Launch everything that was recorded."""
        self._device.cuda.call("cuGraphLaunch", self._ready, self._device.stream)

    def close(self) -> None:
        """Destroy the graph."""
        self._device.cuda.call("cuGraphExecDestroy", self._ready)
        self._device.cuda.call("cuGraphDestroy", self._graph)
