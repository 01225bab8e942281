"""Compiles an empty kernel, in a child: shows whether NVRTC and its built-ins work in their folder."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from core.model.facts import Frozen

KERNEL_SOURCE = b'extern "C" __global__ void nothing() {}'


class CompileQuery(Frozen, frozen=True, kw_only=True):
    """Which compiler."""

    library: str
    """Full path of libnvrtc or nvrtc64."""


class NvrtcResult(Frozen, frozen=True, kw_only=True):
    """Its output."""

    status: int | None = None
    """nvrtcResult: 0 for success, 7 where the built-ins cannot be opened; None when the library did not load."""
    problem: str = ""


def compile_empty(question: CompileQuery, emit: Callable[[NvrtcResult], None]) -> None:
    """Load the compiler by its path and compile. Runs in a child process: it may end it."""
    try:
        nvrtc = ctypes.CDLL(question.library)
    except OSError as e:
        emit(NvrtcResult(problem=str(e)))
        return
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), KERNEL_SOURCE, b"nothing.cu", 0, None, None)
    emit(NvrtcResult(status=status or nvrtc.nvrtcCompileProgram(program, 0, None)))
