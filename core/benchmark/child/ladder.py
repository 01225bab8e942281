"""The lower part of the ladder, in a child process: driver, device, memory, a kernel of our own, NVRTC, cuBLAS. Each rung is checked."""

from __future__ import annotations

import ctypes
import random
import struct
import time
from collections.abc import Callable

from msgspec.structs import replace

from core.benchmark.child.c_api import LOAD_FUNCTIONS, CallError, Library, call_string, load_first
from core.benchmark.child.cuda_api import Device, find_device, load_driver
from core.benchmark.protocol import BenchmarkEvent, LadderRequest
from core.common.fact_text import fact_text
from core.model.facts import Layer, Rung
from core.probes.loading.roll_call.linux_loader import system_loader

PTX_SOURCE = """.version {version}
.target sm_{target}
.address_size 64
.visible .entry scale(.param .u64 from, .param .u64 to, .param .u32 count)
{{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %d<6>;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %d1, %d1;
  cvta.to.global.u64 %d2, %d2;
  mul.wide.u32 %d3, %r5, 4;
  add.s64 %d4, %d1, %d3;
  add.s64 %d5, %d2, %d3;
  ld.global.u32 %r6, [%d4];
  mad.lo.u32 %r7, %r6, 3, %r5;
  st.global.u32 [%d5], %r7;
DONE:
  ret;
}}
"""
"""to[i] = 3 * from[i] + i, in PTX, which every driver compiles for its GPU."""

NVRTC_SOURCE = b"""extern "C" __global__ void scale(const unsigned *from, unsigned *to, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = 3 * from[i] + i;
}
"""
ELEMENT_COUNT = 4096
COPY_BYTES = 4 << 20
"""Bytes copied to the GPU and back."""

NVRTC_FORMS = {
    "nvrtcCreateProgram": "pppipp",
    "nvrtcCompileProgram": "pip",
    "nvrtcGetPTXSize": "pp",
    "nvrtcGetPTX": "pp",
    "nvrtcGetErrorString": "i",
}
CUBLAS_FORMS = {
    "cublasCreate_v2": "p",
    "cublasSetStream_v2": "pp",
    "cublasSgemm_v2": "piiiiipzizipzi",
    "cublasGetStatusName": "i",
}
MATRIX_SIDE = 32
"""Number of rows and columns of the matrices that cuBLAS multiplies."""

Step = Callable[[], str]
"""Does one rung; returns the path of the library that was used, or empty text. Raises CallError or WrongResultError."""

RungRunner = Callable[[str, Layer, str, Step], bool]


class WrongResultError(Exception):
    """Every call succeeded, but the result is wrong."""


def rung_runner(emit: Callable[[BenchmarkEvent], None]) -> RungRunner:
    """Return the function that runs one rung: it reports the start, then the outcome."""

    def take(name: str, layer: Layer, call: str, step: Step) -> bool:
        emit(BenchmarkEvent(begin=name, id=call))
        start = time.perf_counter()
        rung = Rung(name=name, layer=layer, state="passed", call=call)
        try:
            rung = Rung(name=name, layer=layer, state="passed", call=call, status=0, library=step())
        except CallError as e:
            rung = failed_rung(name, layer, e)
            if layer == "toolkit" and e.status is None and e.call in LOAD_FUNCTIONS:
                rung = replace(rung, state="absent")
        except WrongResultError as e:
            rung = Rung(name=name, layer=layer, state="failed", call=call, status=0, meaning=str(e))
        took = round(time.perf_counter() - start, 4)
        emit(BenchmarkEvent(rung=replace(rung, seconds=took)))
        # After a wrong result, further calls are possible and show what else is wrong.
        return rung.state != "failed" or rung.status == 0

    return take


def failed_rung(name: str, layer: Layer, e: CallError) -> Rung:
    """Return the rung for a call that failed."""
    return Rung(
        name=name, layer=layer, state="failed", call=e.call, status=e.status, status_name=e.name, meaning=e.detail
    )


def run_ladder(request: LadderRequest, emit: Callable[[BenchmarkEvent], None]) -> None:
    """Run one rung after another until one fails. Runs in a child process, which any step may end."""
    take, lower = rung_runner(emit), DriverLadder(request)
    for name, layer, call, step in lower.rungs():
        if not take(name, layer, call, step):
            return


class DriverLadder:
    """The steps of the lower part, and the state that each passes to the next."""

    cuda: Library
    device: Device
    address: int

    def __init__(self, request: LadderRequest) -> None:
        self._request = request
        self._loader = system_loader(request.folders)

    def rungs(self) -> tuple[tuple[str, Layer, str, Step], ...]:
        """Return name, layer, main call and step of every rung."""
        return (
            *self.opening_rungs(),
            (fact_text("the GPU's memory can be allocated"), "device", "cuMemAlloc_v2", self._allocate),
            (fact_text("memory copies both ways, unchanged"), "device", "cuMemcpyDtoH_v2", self._copy),
            (
                fact_text("the driver compiles a kernel, and the GPU computes it rightly"),
                "device",
                "cuLaunchKernel",
                self._kernel,
            ),
            (fact_text("NVRTC compiles a kernel that runs"), "toolkit", "nvrtcCompileProgram", self._nvrtc),
            (fact_text("cuBLAS multiplies matrices rightly"), "toolkit", "cublasSgemm_v2", self._cublas),
        )

    def opening_rungs(self) -> tuple[tuple[str, Layer, str, Step], ...]:
        """Return the rungs up to an open GPU."""
        return (
            (fact_text("the driver answers"), "driver", "cuInit", self._driver),
            (fact_text("the GPU is visible to CUDA"), "driver", "cuDeviceGet", self._find),
            (fact_text("the GPU opens"), "device", "cuDevicePrimaryCtxRetain", self._open),
        )

    def _driver(self) -> str:
        self.cuda = load_driver(self._request.gpu.library)
        self.cuda.call("cuInit", 0)
        return self.cuda.path

    def _find(self) -> str:
        self._number = find_device(self.cuda, self._request.gpu.uuid, self._request.gpu.ordinal)
        return ""

    def _open(self) -> str:
        self.device = Device(self.cuda, self._number)
        return ""

    def _allocate(self) -> str:
        self.address = self.device.allocate(2 * COPY_BYTES)
        return ""

    def _copy(self) -> str:
        data = random.Random(1).randbytes(COPY_BYTES)  # noqa: S311 - no secret
        self.device.upload(self.address, data)
        self.device.cuda.call("cuMemcpyDtoD_v2", self.address + COPY_BYTES, self.address, COPY_BYTES)
        back = self.device.download(self.address + COPY_BYTES, COPY_BYTES)
        if back != data:
            first = next(i for i, (a, b) in enumerate(zip(data, back, strict=True)) if a != b)
            raise WrongResultError(
                fact_text(
                    "what came back differs from what was sent, first at byte {first} of {COPIED}",
                    first=first,
                    COPIED=COPY_BYTES,
                )
            )
        return ""

    def _kernel(self) -> str:
        capability = self.device.compute_capability
        version, target = ("5.0", 50) if capability >= 50 else ("3.2", 30)
        self._run(PTX_SOURCE.format(version=version, target=target).encode() + b"\0")
        return ""

    def _run(self, code: bytes) -> None:
        launch = self.device.compile_kernel(code, "scale")
        values = random.Random(2).choices(range(1 << 30), k=ELEMENT_COUNT)  # noqa: S311 - no secret
        self.device.upload(self.address, struct.pack(f"={ELEMENT_COUNT}I", *values))
        self.device.fill_with_nan(self.address + COPY_BYTES, 4 * ELEMENT_COUNT)
        arguments = (
            ctypes.c_size_t(self.address),
            ctypes.c_size_t(self.address + COPY_BYTES),
            ctypes.c_uint(ELEMENT_COUNT),
        )
        launch(ELEMENT_COUNT // 128, 128, *arguments)
        got = struct.unpack(f"={ELEMENT_COUNT}I", self.device.download(self.address + COPY_BYTES, 4 * ELEMENT_COUNT))
        wrong = [i for i in range(ELEMENT_COUNT) if got[i] != (3 * values[i] + i) & 0xFFFFFFFF]
        if wrong:
            raise WrongResultError(
                fact_text(
                    "{wrong} of {COUNT} results are wrong, first number {wrong2}",
                    wrong=len(wrong),
                    COUNT=ELEMENT_COUNT,
                    wrong2=wrong[0],
                )
            )

    def _nvrtc(self) -> str:
        nvrtc = load_first(self._request.nvrtc, NVRTC_FORMS, self._loader, _nvrtc_name)
        program = ctypes.c_void_p()
        nvrtc.call("nvrtcCreateProgram", ctypes.byref(program), NVRTC_SOURCE, b"scale.cu", 0, None, None)
        option = (ctypes.c_char_p * 1)(f"--gpu-architecture=compute_{self.device.compute_capability}".encode())
        nvrtc.call("nvrtcCompileProgram", program, 1, option)
        size = ctypes.c_size_t()
        nvrtc.call("nvrtcGetPTXSize", program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.call("nvrtcGetPTX", program, code)
        self._run(code.raw)
        return nvrtc.path

    def _cublas(self) -> str:
        cublas = load_first(self._request.cublas, CUBLAS_FORMS, self._loader, _cublas_name)
        handle = ctypes.c_void_p()
        cublas.call("cublasCreate_v2", ctypes.byref(handle))
        cublas.call("cublasSetStream_v2", handle, self.device.stream)
        chance = random.Random(3)  # noqa: S311 - no secret
        a, b = ([chance.randrange(-8, 9) for _ in range(MATRIX_SIDE * MATRIX_SIDE)] for _ in range(2))
        size = 4 * MATRIX_SIDE * MATRIX_SIDE
        at = (self.address, self.address + size, self.address + 2 * size)
        for address, values in zip(at, (a, b), strict=False):
            self.device.upload(address, struct.pack(f"={MATRIX_SIDE * MATRIX_SIDE}f", *values))
        self.device.fill_with_nan(at[2], size)
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        numbers = (0, 0, MATRIX_SIDE, MATRIX_SIDE, MATRIX_SIDE)
        sides = (at[0], MATRIX_SIDE, at[1], MATRIX_SIDE)
        cublas.call(
            "cublasSgemm_v2", handle, *numbers, ctypes.byref(one), *sides, ctypes.byref(zero), at[2], MATRIX_SIDE
        )
        got = struct.unpack(f"={MATRIX_SIDE * MATRIX_SIDE}f", self.device.download(at[2], size))
        # cuBLAS stores matrices by columns.
        for column in range(MATRIX_SIDE):
            for row in range(MATRIX_SIDE):
                true = sum(a[k * MATRIX_SIDE + row] * b[column * MATRIX_SIDE + k] for k in range(MATRIX_SIDE))
                if got[column * MATRIX_SIDE + row] != true:
                    raise WrongResultError(
                        fact_text(
                            "row {row}, column {column} is {row2}, not {true}",
                            row=row,
                            column=column,
                            row2=f"{got[column * MATRIX_SIDE + row]:g}",
                            true=true,
                        )
                    )
        return cublas.path


def _nvrtc_name(nvrtc: Library, status: int) -> str:
    return call_string(nvrtc.handle.nvrtcGetErrorString, status) if nvrtc.exports("nvrtcGetErrorString") else ""


def _cublas_name(cublas: Library, status: int) -> str:
    return call_string(cublas.handle.cublasGetStatusName, status) if cublas.exports("cublasGetStatusName") else ""
