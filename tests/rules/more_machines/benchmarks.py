"""Machines that were measured."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from core.model.facts import (
    Benchmark,
    Check,
    CudaInit,
    Environment,
    GpuRun,
    Mapped,
    RateLimit,
    Rung,
    Snapshot,
    Variable,
)
from tests import machines as m
from tests.benchmark.test_rules import CARD, RUNGS, broken, run, timing


def measured(*runs: GpuRun, **fields: Any) -> Snapshot:
    """Return a machine that was measured."""
    return replace(m.wheel_machine(), benchmark=Benchmark(gpus=runs), **fields)


def printed(call: str, layer: str, status: int | None = 1) -> GpuRun:
    """Return a run that stopped and printed something."""
    return broken(call, status, layer, output="terminate called after throwing an instance of 'std::bad_alloc'")


def mapped(*origins: str) -> tuple[Mapped, ...]:
    """Return cuDNN's files from two folders."""
    return (
        Mapped(path="/a/libcudnn.so.9", name="libcudnn.so.9", origin=origins[0]),
        Mapped(path="/b/libcudnn_ops.so.9", name="libcudnn_ops.so.9", origin=origins[1]),
    )


def check(algorithm: str, right: bool | None, **fields: Any) -> Check:
    """Return a comparison with exact numbers."""
    known: dict[str, Any] = {
        "kind": "exact",
        "type": "fp32",
        "direction": "forward",
        "layout": "NCHW",
        "shape": "s",
        "detail": "status 3000",
    }
    return Check(algorithm=algorithm, right=right, **(known | fields))


FAST = timing(740.0)

BENCHMARKS: dict[str, Snapshot] = {
    "right": measured(run()),
    "no card is known": measured(run(card=None)),
    "a card without a name": measured(run(card=replace(CARD, name=""))),
    "cuDNN ends the program and prints": measured(printed("cudnnCreate", "cudnn")),
    "NVRTC fails and prints": measured(printed("nvrtcCompileProgram", "toolkit", 5)),
    "cuBLAS fails": measured(printed("cublasCreate_v2", "toolkit", 1)),
    "the driver fails": measured(broken("cuInit", 803, "driver")),
    "the driver fails, and does not without the variable": measured(
        broken("cuInit", 803, "driver"),
        driver=m.working_driver(cuda=CudaInit(status=803), cuda_clean=CudaInit(status=0, driver_cuda="13.0", device_count=1)),
    ),
    "a hidden GPU": measured(
        broken("cuInit", 100, "driver"),
        environment=Environment(variables=(Variable(name="CUDA_VISIBLE_DEVICES", value="-1", source="~/.profile"),)),
    ),
    "files of two folders": measured(run(mapped=mapped("", "ld.so.cache"))),
    "files of two folders by the variable": measured(run(mapped=mapped("", "LD_LIBRARY_PATH"))),
    "one interface alone": measured(run(checks=(check("graph", None), check("older functions", True)))),
    "the older functions do not work": measured(run(checks=(check("graph: engine 1", True), check("older functions", None)))),
    "one interface alone in another type": measured(
        run(checks=(check("older functions", True), check("graph", None, type="bf16")))
    ),
    "one interface alone in another layout": measured(
        run(checks=(check("older functions", True), check("graph", None, layout="NHWC")))
    ),
    "wrong once": measured(run(checks=(check("graph: engine 1", False),))),
    "wrong and unsteady": measured(run(checks=(check("graph: engine 1", False, kind="repeated"),))),
    "wrong, with a library before every other": measured(
        run(checks=(check("graph: engine 1", False),)),
        environment=Environment(variables=(Variable(name="LD_PRELOAD", value="/opt/x.so", source="~/.profile"),)),
    ),
    "a convolution that computes wrongly in the ladder": measured(
        run(rungs=(*RUNGS[:2], Rung(name="cuDNN convolves rightly", layer="cudnn", state="failed", call="cudnnConvolutionForward", status=0)))
    ),
    "two types, each by its own limit": measured(
        run(
            limits=(*run().limits, RateLimit(type="fp32", teraflops=67.0, typical=0.7), RateLimit(type="bf16", teraflops=1070.0)),
            timings=(
                replace(FAST, direction="data gradient", teraflops=300.0),
                replace(FAST, label="3x3, 64 channels", teraflops=90.0),
                replace(FAST, type="fp32", teraflops=None),
                FAST,
                replace(FAST, type="fp32", teraflops=50.0),
            ),
        )
    ),
    "two rungs that break": measured(
        run(rungs=(RUNGS[0], Rung(name="the GPU opens", layer="device", state="failed", call="cuDevicePrimaryCtxRetain", status=2),
                   Rung(name="NVRTC compiles", layer="toolkit", state="failed", call="nvrtcCompileProgram", status=5)))
    ),
}  # fmt: skip
