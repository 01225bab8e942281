"""cuDNN's convolution functions of 7, 8 and 9: descriptors, the list of algorithms, and the call. Child process only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

from core.benchmark.child.c_api import CallError, Library
from core.benchmark.child.cudnn.api import CUDNN_DATA_TYPES, FLOAT, INT32, Buffers, Plan
from core.benchmark.shapes import Problem
from core.common.fact_text import fact_text
from core.model.facts import Direction, NumberType

_FFT, _WINOGRAD = "FFT", "Winograd"
ALGORITHM_NAMES: dict[Direction, tuple[str, ...]] = {
    "forward": (
        fact_text("implicit GEMM"),
        fact_text("implicit precomputed GEMM"),
        "GEMM",
        "direct",
        _FFT,
        fact_text("tiled FFT"),
        _WINOGRAD,
        fact_text("non-fused Winograd"),
    ),
    "data gradient": (
        "algorithm 0",
        "algorithm 1",
        _FFT,
        fact_text("tiled FFT"),
        _WINOGRAD,
        fact_text("non-fused Winograd"),
    ),
    "weight gradient": (
        "algorithm 0",
        "algorithm 1",
        _FFT,
        "algorithm 3",
        _WINOGRAD,
        fact_text("non-fused Winograd"),
        fact_text("tiled FFT"),
    ),
}
"""cudnnConvolutionFwdAlgo_t, ...BwdDataAlgo_t and ...BwdFilterAlgo_t."""

DEFAULT_MATH, TENSOR_OP_MATH, FMA_MATH = 0, 1, 3
"""cudnnMathType_t. FMA_MATH exists from cuDNN 8 on, and only from then on does DEFAULT_MATH allow tf32."""

_SEARCH: dict[Direction, str] = {
    "forward": "cudnnGetConvolutionForwardAlgorithm_v7",
    "data gradient": "cudnnGetConvolutionBackwardDataAlgorithm_v7",
    "weight gradient": "cudnnGetConvolutionBackwardFilterAlgorithm_v7",
}
_RUN: dict[Direction, str] = {
    "forward": "cudnnConvolutionForward",
    "data gradient": "cudnnConvolutionBackwardData",
    "weight gradient": "cudnnConvolutionBackwardFilter",
}
_ORDER: dict[Direction, tuple[int, int, int]] = {
    "forward": (0, 1, 2),
    "data gradient": (1, 2, 0),
    "weight gradient": (0, 2, 1),
}
"""Indexes of the two inputs and the output among data, filters and result, in the order of the C functions."""


class _Performance(ctypes.Structure):
    """cudnnConvolutionFwdAlgoPerf_t and its counterparts, identical in 7, 8 and 9."""

    _fields_ = (
        ("algo", ctypes.c_int),
        ("status", ctypes.c_int),
        ("time", ctypes.c_float),
        ("memory", ctypes.c_size_t),
        ("determinism", ctypes.c_int),
        ("math", ctypes.c_int),
        ("reserved", ctypes.c_int * 3),
    )


def math_type(type: NumberType, major: int) -> int:
    """Return the cudnnMathType_t that makes cuDNN use exactly this number type."""
    if type == "fp32":
        return FMA_MATH if major >= 8 else DEFAULT_MATH
    return DEFAULT_MATH if type == "tf32" else TENSOR_OP_MATH


class LegacyApi:
    """Computes a convolution with cudnnConvolutionForward and its two counterparts for gradients."""

    name = fact_text("convolution functions")

    def __init__(self, cudnn: Library, handle: ctypes.c_void_p, major: int) -> None:
        self._cudnn, self._handle, self._major = cudnn, handle, major
        self._made: list[tuple[str, ctypes.c_void_p]] = []

    def _make(self, kind: str) -> ctypes.c_void_p:
        out = ctypes.c_void_p()
        self._cudnn.call(f"cudnnCreate{kind}Descriptor", ctypes.byref(out))
        self._made.append((f"cudnnDestroy{kind}Descriptor", out))
        return out

    def _make_descriptors(self, problem: Problem) -> tuple[tuple[ctypes.c_void_p, ...], ctypes.c_void_p]:
        x, w, y = self._make("Tensor"), self._make("Filter"), self._make("Tensor")
        shape, order, data = problem.shape, int(problem.layout == "NHWC"), CUDNN_DATA_TYPES[problem.type]
        dims = shape.dimensions
        result = FLOAT if problem.type == "int8" else data
        self._cudnn.call("cudnnSetTensor4dDescriptor", x, order, data, *dims[0])
        self._cudnn.call("cudnnSetFilter4dDescriptor", w, data, order, *dims[1])
        self._cudnn.call("cudnnSetTensor4dDescriptor", y, order, result, *dims[2])
        convolution = self._make("Convolution")
        adds = INT32 if problem.type == "int8" else FLOAT
        pads, strides = (shape.pad, shape.pad), (shape.stride, shape.stride)
        self._cudnn.call("cudnnSetConvolution2dDescriptor", convolution, *pads, *strides, 1, 1, 1, adds)
        self._cudnn.call("cudnnSetConvolutionGroupCount", convolution, shape.groups)
        self._cudnn.call("cudnnSetConvolutionMathType", convolution, math_type(problem.type, self._major))
        return (x, w, y), convolution

    def plans(self, problem: Problem, buffers: Buffers) -> Iterator[Plan]:
        """Yield the algorithms that cuDNN offers for a problem, in its own order."""
        tensors, convolution = self._make_descriptors(problem)
        a, b, out = (tensors[i] for i in _ORDER[problem.direction])
        found, results = ctypes.c_int(), (_Performance * 8)()
        # For the data gradient, the filters come before the result; the convolution is the third argument.
        search = _SEARCH[problem.direction]
        self._cudnn.call(search, self._handle, a, b, convolution, out, 8, ctypes.byref(found), results)
        names = ALGORITHM_NAMES[problem.direction]
        seen: set[int] = set()
        offered = [r for r in results[: found.value] if r.status == 0]
        for result in offered:
            if result.algo in seen or not 0 <= result.algo < len(names):
                continue
            seen.add(result.algo)
            name = names[result.algo]
            yield Plan(
                name=name,
                launch=self._launcher(problem, buffers, (a, b, out), convolution, result.algo),
                workspace=result.memory,
                direct=_FFT not in name and _WINOGRAD not in name,
                repeatable=result.determinism == 1,
                tensor_cores=True if result.math in (TENSOR_OP_MATH, 2) else None if problem.type == "tf32" else False,
            )
        if not seen:
            status = next((r.status for r in results[: found.value]), None)
            raise CallError(search, status, detail=fact_text("it offers no algorithm for this"))

    def _launcher(
        self,
        problem: Problem,
        buffers: Buffers,
        tensors: tuple[ctypes.c_void_p, ...],
        convolution: ctypes.c_void_p,
        algorithm: int,
    ) -> Callable[[int, int], None]:
        """Return the call, which takes the workspace and its size."""
        first, second, result = tensors
        a, b, out = (buffers[i] for i in _ORDER[problem.direction])
        inputs = (ctypes.byref(_ONE), first, a, second, b)
        output = (ctypes.byref(_ZERO), result, out)
        function = _RUN[problem.direction]

        def launch(workspace: int, size: int) -> None:
            self._cudnn.call(function, self._handle, *inputs, convolution, algorithm, workspace, size, *output)

        return launch

    def close(self) -> None:
        """Destroy the descriptors."""
        for function, descriptor in self._made:
            self._cudnn.call(function, descriptor)
        self._made.clear()


_ONE, _ZERO = ctypes.c_float(1.0), ctypes.c_float(0.0)
