"""Shared by both of cuDNN's convolution interfaces: functions, types, buffers, plans. Child process only."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from core.benchmark.child.c_api import CallError, Library, call_string, load_first
from core.benchmark.shapes import Problem
from core.model.facts import NumberType
from core.probes.loading.roll_call.linux_loader import Loader

CUDNN_FORMS = {
    "cudnnGetVersion": "",
    "cudnnCreate": "p",
    "cudnnSetStream": "pp",
    "cudnnGetErrorString": "i",
    "cudnnGetLastErrorString": "pz",
    "cudnnCreateTensorDescriptor": "p",
    "cudnnSetTensor4dDescriptor": "piiiiii",
    "cudnnDestroyTensorDescriptor": "p",
    "cudnnCreateFilterDescriptor": "p",
    "cudnnSetFilter4dDescriptor": "piiiiii",
    "cudnnDestroyFilterDescriptor": "p",
    "cudnnCreateConvolutionDescriptor": "p",
    "cudnnSetConvolution2dDescriptor": "piiiiiiii",
    "cudnnSetConvolutionGroupCount": "pi",
    "cudnnSetConvolutionMathType": "pi",
    "cudnnDestroyConvolutionDescriptor": "p",
    "cudnnGetConvolutionForwardAlgorithm_v7": "pppppipp",
    "cudnnGetConvolutionBackwardDataAlgorithm_v7": "pppppipp",
    "cudnnGetConvolutionBackwardFilterAlgorithm_v7": "pppppipp",
    "cudnnConvolutionForward": "pppzpzpizzppz",
    "cudnnConvolutionBackwardData": "pppzpzpizzppz",
    "cudnnConvolutionBackwardFilter": "pppzpzpizzppz",
    "cudnnBackendCreateDescriptor": "ip",
    "cudnnBackendDestroyDescriptor": "p",
    "cudnnBackendSetAttribute": "piiqp",
    "cudnnBackendGetAttribute": "piiqpp",
    "cudnnBackendFinalize": "p",
    "cudnnBackendExecute": "ppp",
}
"""cudnn.h of 7, cudnn_cnn_infer.h and cudnn_backend.h of 8, cudnn_cnn.h and cudnn_graph.h of 9."""

FLOAT, HALF, INT8, INT32, BFLOAT16 = 0, 2, 3, 4, 9
CUDNN_DATA_TYPES: dict[NumberType, int] = {"fp32": FLOAT, "tf32": FLOAT, "fp16": HALF, "bf16": BFLOAT16, "int8": INT8}
"""cudnnDataType_t."""


@dataclass(frozen=True)
class Plan:
    """One way to compute a problem: an algorithm with everything that it needs except the workspace."""

    name: str
    launch: Callable[[int, int], None]
    """Start it, given the workspace's address and size."""
    workspace: int
    direct: bool
    """Neither Winograd nor FFT, so integers stay exact."""
    repeatable: bool | None
    tensor_cores: bool | None


@dataclass(frozen=True)
class Buffers:
    """Addresses of data, filters and result on the GPU."""

    x: int
    w: int
    y: int

    def __getitem__(self, which: int) -> int:
        return (self.x, self.w, self.y)[which]


class ConvolutionApi(Protocol):
    """An interface of cuDNN: yields plans, best first by cuDNN's own estimate; they are valid until ``close``."""

    name: str

    def plans(self, problem: Problem, buffers: Buffers) -> Iterator[Plan]:
        """Yield plans that this GPU and this cuDNN can run.

        Raises:
            CallError: cuDNN cannot compute this problem, or failed.
        """
        ...

    def close(self) -> None:
        """Free the resources of this problem's plans."""
        ...


def is_supported(problem: Problem, capability: int, major: int) -> bool:
    """Whether a GPU of this compute capability (times 10) and this major version of cuDNN support the problem's number
    type.

    cuDNN's support matrix: tf32 and bf16 from Ampere and cuDNN 8 on, fp16 from 5.3 on, int8 from 6.1 on, forward and
    with channels last only (its NCHW engines need reordered filters).
    """
    least = {"fp32": 0, "tf32": 80, "fp16": 53, "bf16": 80, "int8": 61}[problem.type]
    if problem.type == "int8" and (problem.direction, problem.layout) != ("forward", "NHWC"):
        return False
    return capability >= least and (major >= 8 or problem.type not in ("tf32", "bf16"))


def load_cudnn(tries: tuple[str, ...], by: Loader) -> Library:
    """Load cuDNN.

    Raises:
        CallError: it cannot be loaded.
    """
    return load_first(tries, CUDNN_FORMS, by, _name)


def _name(cudnn: Library, status: int) -> str:
    if not cudnn.exports("cudnnGetErrorString"):
        return ""
    return call_string(cudnn.handle.cudnnGetErrorString, status)


def error_message(cudnn: Library) -> str:
    """Return cuDNN 9's own explanation of its last error."""
    if not cudnn.exports("cudnnGetLastErrorString"):
        return ""
    buffer = ctypes.create_string_buffer(512)
    function = cudnn.handle.cudnnGetLastErrorString
    function.argtypes, function.restype = (ctypes.c_char_p, ctypes.c_size_t), None
    function(buffer, len(buffer))
    return buffer.value.decode("utf-8", "replace")


def cudnn_version(cudnn: Library) -> int:
    """Return cudnnGetVersion: 8907, 91002."""
    cudnn.handle.cudnnGetVersion.restype = ctypes.c_size_t
    return int(cudnn.handle.cudnnGetVersion())


def create_handle(cudnn: Library) -> ctypes.c_void_p:
    """Return a new handle.

    Raises:
        CallError: cuDNN could not be initialised; the detail is its own error message.
    """
    handle = ctypes.c_void_p()
    try:
        cudnn.call("cudnnCreate", ctypes.byref(handle))
    except CallError as e:
        raise CallError(e.call, e.status, e.name, error_message(cudnn)) from None
    return handle
