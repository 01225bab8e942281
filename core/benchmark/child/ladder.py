"""The ladder's lower part, in a child: driver, device, memory, a kernel of our own, NVRTC, cuBLAS. Each rung is checked."""

from __future__ import annotations

import ctypes
import random
import struct
import time
from collections.abc import Callable

from msgspec.structs import replace

from core.benchmark.child.c_api import LOADS, CallError, Library, loader, opened, string
from core.benchmark.child.cuda_api import Device, driver, find
from core.benchmark.protocol import BenchmarkEvent, Climb
from core.common.fact_text import fact_text
from core.model.facts import Layer, Rung

PTX = """.version {version}
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
"""to[i] = 3 * from[i] + i, in the virtual machine code that every driver compiles for its GPU."""

SOURCE = b"""extern "C" __global__ void scale(const unsigned *from, unsigned *to, unsigned count) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = 3 * from[i] + i;
}
"""
COUNT = 4096
COPIED = 4 << 20
"""Bytes that are copied to the GPU and back."""

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
SIDE = 32
"""Rows and columns of the matrices that cuBLAS multiplies."""

Step = Callable[[], str]
"""Does one rung; returns the library that answered, or nothing. Raises CallError, or WrongError."""

Climber = Callable[[str, Layer, str, Step], bool]


class WrongError(Exception):
    """Every call succeeded, and the result is wrong."""


def climber(emit: Callable[[BenchmarkEvent], None]) -> Climber:
    """Return the function that takes one rung: says so before, and says what happened after."""

    def take(name: str, layer: Layer, call: str, step: Step) -> bool:
        emit(BenchmarkEvent(begin=name, id=call))
        start = time.perf_counter()
        rung = Rung(name=name, layer=layer, state="passed", call=call)
        try:
            rung = Rung(name=name, layer=layer, state="passed", call=call, status=0, library=step())
        except CallError as e:
            rung = failed(name, layer, e)
            if layer == "toolkit" and e.status is None and e.call in LOADS:
                rung = replace(rung, state="absent")
        except WrongError as e:
            rung = Rung(name=name, layer=layer, state="failed", call=call, status=0, meaning=str(e))
        took = round(time.perf_counter() - start, 4)
        emit(BenchmarkEvent(rung=replace(rung, seconds=took)))
        # after a wrong result everything can still be called, and shows what else is wrong
        return rung.state != "failed" or rung.status == 0

    return take


def failed(name: str, layer: Layer, e: CallError) -> Rung:
    """Return the rung that a call broke."""
    return Rung(
        name=name, layer=layer, state="failed", call=e.call, status=e.status, status_name=e.name, meaning=e.detail
    )


def climb(request: Climb, emit: Callable[[BenchmarkEvent], None]) -> None:
    """Take one rung after another until one breaks. Runs in a child process: any step may end it."""
    take, lower = climber(emit), Lower(request)
    for name, layer, call, step in lower.rungs():
        if not take(name, layer, call, step):
            return


class Lower:
    """The steps of the lower part, and what each leaves for the next."""

    cuda: Library
    device: Device
    address: int

    def __init__(self, request: Climb) -> None:
        self._request = request
        self._loader = loader(request.folders)

    def rungs(self) -> tuple[tuple[str, Layer, str, Step], ...]:
        """Return name, layer, principal call and step of every rung."""
        return (
            *self.opening(),
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

    def opening(self) -> tuple[tuple[str, Layer, str, Step], ...]:
        """Return the rungs up to an open GPU."""
        return (
            (fact_text("the driver answers"), "driver", "cuInit", self._driver),
            (fact_text("the GPU is visible to CUDA"), "driver", "cuDeviceGet", self._find),
            (fact_text("the GPU opens"), "device", "cuDevicePrimaryCtxRetain", self._open),
        )

    def _driver(self) -> str:
        self.cuda = driver(self._request.gpu.library)
        self.cuda.call("cuInit", 0)
        return self.cuda.path

    def _find(self) -> str:
        self._number = find(self.cuda, self._request.gpu.uuid, self._request.gpu.ordinal)
        return ""

    def _open(self) -> str:
        self.device = Device(self.cuda, self._number)
        return ""

    def _allocate(self) -> str:
        self.address = self.device.allocate(2 * COPIED)
        return ""

    def _copy(self) -> str:
        data = random.Random(1).randbytes(COPIED)  # noqa: S311 - no secret
        self.device.upload(self.address, data)
        self.device.cuda.call("cuMemcpyDtoD_v2", self.address + COPIED, self.address, COPIED)
        back = self.device.download(self.address + COPIED, COPIED)
        if back != data:
            first = next(i for i, (a, b) in enumerate(zip(data, back, strict=True)) if a != b)
            raise WrongError(
                fact_text(
                    "what came back differs from what was sent, first at byte {first} of {COPIED}",
                    first=first,
                    COPIED=COPIED,
                )
            )
        return ""

    def _kernel(self) -> str:
        capability = self.device.capability
        version, target = ("5.0", 50) if capability >= 50 else ("3.2", 30)
        self._run(PTX.format(version=version, target=target).encode() + b"\0")
        return ""

    def _run(self, code: bytes) -> None:
        launch = self.device.kernel(code, "scale")
        values = random.Random(2).choices(range(1 << 30), k=COUNT)  # noqa: S311 - no secret
        self.device.upload(self.address, struct.pack(f"={COUNT}I", *values))
        self.device.poison(self.address + COPIED, 4 * COUNT)
        arguments = (ctypes.c_size_t(self.address), ctypes.c_size_t(self.address + COPIED), ctypes.c_uint(COUNT))
        launch(COUNT // 128, 128, *arguments)
        got = struct.unpack(f"={COUNT}I", self.device.download(self.address + COPIED, 4 * COUNT))
        wrong = [i for i in range(COUNT) if got[i] != (3 * values[i] + i) & 0xFFFFFFFF]
        if wrong:
            raise WrongError(
                fact_text(
                    "{wrong} of {COUNT} results are wrong, first number {wrong2}",
                    wrong=len(wrong),
                    COUNT=COUNT,
                    wrong2=wrong[0],
                )
            )

    def _nvrtc(self) -> str:
        nvrtc = opened(self._request.nvrtc, NVRTC_FORMS, self._loader, _nvrtc_name)
        program = ctypes.c_void_p()
        nvrtc.call("nvrtcCreateProgram", ctypes.byref(program), SOURCE, b"scale.cu", 0, None, None)
        option = (ctypes.c_char_p * 1)(f"--gpu-architecture=compute_{self.device.capability}".encode())
        nvrtc.call("nvrtcCompileProgram", program, 1, option)
        size = ctypes.c_size_t()
        nvrtc.call("nvrtcGetPTXSize", program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.call("nvrtcGetPTX", program, code)
        self._run(code.raw)
        return nvrtc.path

    def _cublas(self) -> str:
        cublas = opened(self._request.cublas, CUBLAS_FORMS, self._loader, _cublas_name)
        handle = ctypes.c_void_p()
        cublas.call("cublasCreate_v2", ctypes.byref(handle))
        cublas.call("cublasSetStream_v2", handle, self.device.stream)
        chance = random.Random(3)  # noqa: S311 - no secret
        a, b = ([chance.randrange(-8, 9) for _ in range(SIDE * SIDE)] for _ in range(2))
        size = 4 * SIDE * SIDE
        at = (self.address, self.address + size, self.address + 2 * size)
        for address, values in zip(at, (a, b), strict=False):
            self.device.upload(address, struct.pack(f"={SIDE * SIDE}f", *values))
        self.device.poison(at[2], size)
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        numbers = (0, 0, SIDE, SIDE, SIDE)
        sides = (at[0], SIDE, at[1], SIDE)
        cublas.call("cublasSgemm_v2", handle, *numbers, ctypes.byref(one), *sides, ctypes.byref(zero), at[2], SIDE)
        got = struct.unpack(f"={SIDE * SIDE}f", self.device.download(at[2], size))
        # column by column, as cuBLAS counts
        for column in range(SIDE):
            for row in range(SIDE):
                true = sum(a[k * SIDE + row] * b[column * SIDE + k] for k in range(SIDE))
                if got[column * SIDE + row] != true:
                    raise WrongError(
                        fact_text(
                            "row {row}, column {column} is {row2}, not {true}",
                            row=row,
                            column=column,
                            row2=f"{got[column * SIDE + row]:g}",
                            true=true,
                        )
                    )
        return cublas.path


def _nvrtc_name(nvrtc: Library, status: int) -> str:
    return string(nvrtc.handle.nvrtcGetErrorString, status) if nvrtc.has("nvrtcGetErrorString") else ""


def _cublas_name(cublas: Library, status: int) -> str:
    return string(cublas.handle.cublasGetStatusName, status) if cublas.has("cublasGetStatusName") else ""
