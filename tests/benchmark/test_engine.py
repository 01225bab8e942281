"""The engine over stand-ins that compute real convolutions: right, wrong, failing, hanging."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from core.benchmark.child import worker
from core.benchmark.protocol import BenchmarkEvent, BenchmarkJob, GpuSelector
from core.benchmark.shapes import DIRECTIONS, SMALL_SHAPES, Problem, Shape
from core.model.facts import NumberType
from tests.benchmark.runs import ONE, TINY, checks, climb, convolve, rungs, timings

TYPES: tuple[NumberType, ...] = ("fp32", "tf32", "fp16", "bf16", "int8")
DEPTHWISE = Shape(name="depthwise", n=2, c=16, size=6, k=16, r=3, groups=16)


def test_every_rung_of_a_healthy_machine_passes() -> None:
    answer = climb()
    assert answer.ended == ""
    assert [r.state for r in rungs(answer)] == ["passed"] * 8
    assert rungs(answer)[0].library.endswith("/libcuda.so.1")


@pytest.mark.parametrize("major", [7, 8, 9])
def test_every_type_layout_and_direction_is_exact(major: int) -> None:
    problems = tuple(
        Problem(shape=s, type=t, layout=layout, direction=d)
        for s in (*SMALL_SHAPES, DEPTHWISE)
        for t in TYPES
        for layout in ("NCHW", "NHWC")
        for d in DIRECTIONS
    )
    answer = convolve(major, exact=problems)
    assert answer.ended == ""
    found = checks(answer)
    assert [c for c in found if c.right is False] == []
    right = {(c.type, c.direction) for c in found if c.right}
    floating = {(t, d) for t in ("fp32", "fp16") for d in DIRECTIONS}
    modern = {(t, d) for t in ("tf32", "bf16") for d in DIRECTIONS} if major > 7 else set()
    assert right == floating | modern | {("int8", "forward")}
    ways = {c.algorithm.split(":")[0] for c in found if c.right}
    assert ways == ({"convolution functions"} if major == 7 else {"convolution functions", "graph"})
    assert {e.version for e in answer.events if e.version} == {{7: 7605, 8: 8907, 9: 91002}[major]}


def test_a_data_gradient_that_is_a_forward_convolution_is_computed_so_too_and_is_exact() -> None:
    turned = "forward with the filter turned round"
    (each, half) = (
        Problem(shape=s, type="bf16", direction="data gradient") for s in (DEPTHWISE, replace(DEPTHWISE, groups=8))
    )
    without = {"STANDIN_NO_DATA_GRADIENT": "1"}  # of the graph's own engines: only the turned ones are left
    found = {c.algorithm: c.right for c in checks(convolve(exact=(each,), **without))}
    assert [right for name, right in found.items() if turned in name] == [True]
    assert not any(turned in c.algorithm for c in checks(convolve(exact=(half,), **without)))
    more, fewer = (timings(convolve(timed=(p,)))[0].algorithms for p in (each, half))
    assert more > fewer


@pytest.mark.parametrize(
    ("cc", "missing"), [("50", {"fp16", "bf16", "tf32", "int8"}), ("61", {"bf16", "tf32"}), ("75", {"bf16", "tf32"})]
)
def test_what_a_card_does_not_have_is_left_open_and_not_wrong(cc: str, missing: set[str]) -> None:
    answer = convolve(exact=tuple(Problem(shape=TINY, type=t) for t in TYPES), STANDIN_CC=cc)
    assert {c.type for c in checks(answer) if c.right is None} == missing
    assert not any(c.right is False for c in checks(answer))


def test_algorithms_agree_repeat_and_are_timed() -> None:
    answer = convolve(compared=(ONE,), timed=(ONE,))
    kinds = {(c.kind, c.right) for c in checks(answer)}
    assert kinds == {("repeated", True), ("two algorithms", True), ("samples", True)}
    (timing,) = timings(answer)
    assert timing.problem == ""
    # the stand-in's time is virtual: 4 TFLOP/s in fp16 and two microseconds for each launch
    operations = TINY.operations
    assert timing.milliseconds == pytest.approx(operations / 4e9 + 0.002, rel=0.01)
    assert timing.teraflops == pytest.approx(operations / (timing.milliseconds or 1) / 1e9)
    assert timing.algorithms >= 3


@pytest.mark.parametrize("every", ["1", "2", "3"])
def test_one_wrong_value_is_never_passed_over(every: str) -> None:
    answer = convolve(exact=(ONE,), compared=(ONE,), timed=(ONE,), STANDIN_FLIP=every)
    wrong = [c for c in checks(answer) if c.right is False]
    assert wrong
    assert all(c.detail for c in wrong)


def test_nan_never_passes() -> None:
    answer = convolve(exact=(ONE,), compared=(ONE,), timed=(ONE,), STANDIN_NAN="1")
    found = checks(answer)
    assert {c.kind for c in found if c.right is False} == {"exact", "two algorithms", "samples"}
    assert not any(c.right for c in found if c.kind != "repeated")


def test_a_wrong_kernel_and_a_wrong_product_are_told_from_failing_calls() -> None:
    kernel = {r.name: r for r in rungs(climb(STANDIN_KERNEL_WRONG="1"))}
    failed = [r for r in kernel.values() if r.state == "failed"]
    assert [(r.status, "wrong" in r.meaning) for r in failed] == [(0, True), (0, True)]  # our own, and NVRTC's
    product = [r for r in rungs(climb(STANDIN_BLAS_WRONG="1")) if r.state == "failed"]
    assert [(r.layer, r.status) for r in product] == [("toolkit", 0)]


CALLS = {
    "cuInit": ("the driver answers", 100, "CUDA_ERROR_NO_DEVICE"),
    "cuDeviceGetCount": ("the GPU is visible to CUDA", 999, "CUDA_ERROR_UNKNOWN"),
    "cuDevicePrimaryCtxRetain": ("the GPU opens", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
    "cuMemAlloc_v2": ("the GPU's memory can be allocated", 2, "CUDA_ERROR_OUT_OF_MEMORY"),
    "cuMemcpyHtoD_v2": ("memory copies both ways, unchanged", 719, "CUDA_ERROR_LAUNCH_FAILED"),
    "cuModuleLoadData": (
        "the driver compiles a kernel, and the GPU computes it rightly",
        218,
        "CUDA_ERROR_INVALID_PTX",
    ),
    "cuLaunchKernel": (
        "the driver compiles a kernel, and the GPU computes it rightly",
        700,
        "CUDA_ERROR_ILLEGAL_ADDRESS",
    ),
    "nvrtcCompileProgram": ("NVRTC compiles a kernel that runs", 5, "NVRTC_ERROR_INVALID_OPTION"),
    "cublasCreate_v2": ("cuBLAS multiplies matrices rightly", 1, "CUBLAS_STATUS_NOT_INITIALIZED"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_failing_call_breaks_its_own_rung(call: str) -> None:
    name, status, word = CALLS[call]
    answer = climb(STANDIN_FAIL=f"{call}:{status}")
    assert answer.ended == ""
    assert rungs(answer)[-1].state == "failed"
    (broken,) = [r for r in rungs(answer) if r.state == "failed"]
    assert (broken.name, broken.call, broken.status, broken.status_name) == (name, call, status, word)


def test_a_child_that_hangs_is_stopped() -> None:
    answer = climb(timeout=10, STANDIN_HANG="cuLaunchKernel")
    assert answer.timed_out
    assert [e.begin for e in answer.events if e.begin][-1] == CALLS["cuLaunchKernel"][0]


UPPER = {
    (8, "cudnnCreate"): (1, "CUDNN_STATUS_NOT_INITIALIZED"),
    (9, "cudnnCreate"): (4000, "CUDNN_STATUS_INTERNAL_ERROR"),
    (8, "cudnnConvolutionForward"): (8, "CUDNN_STATUS_EXECUTION_FAILED"),
    (9, "cudnnBackendExecute"): (5000, "CUDNN_STATUS_EXECUTION_FAILED"),
}


@pytest.mark.parametrize(("major", "call"), UPPER)
def test_cudnns_statuses_are_named_for_8_and_for_9(major: int, call: str) -> None:
    status, word = UPPER[major, call]
    answer = convolve(major, STANDIN_FAIL=f"{call}:{status}")
    assert answer.ended == ""
    (broken,) = [r for r in rungs(answer) if r.state == "failed"]
    assert (broken.call, broken.status, broken.status_name, broken.layer) == (call, status, word, "cudnn")


def test_one_way_of_asking_may_fail_alone() -> None:
    answer = convolve(exact=(ONE,), STANDIN_FAIL="cudnnCreateTensorDescriptor:3009")
    assert [r.state for r in rungs(answer)] == ["passed"] * 6
    (open_,) = [c for c in checks(answer) if c.right is None]
    assert open_.algorithm == "convolution functions"
    assert [c.algorithm for c in checks(answer) if c.right] == ["graph: engine 40"]


def test_an_error_that_spoils_the_gpu_ends_the_run_with_a_name() -> None:
    """The eighth wait for the GPU comes after the ladder."""
    answer = convolve(exact=(ONE,) * 6, STANDIN_FAIL="cuStreamSynchronize@8:700")
    assert answer.ended == ""
    assert rungs(answer)[-1].name == "the GPU stays in order"
    assert rungs(answer)[-1].status_name == "CUDA_ERROR_ILLEGAL_ADDRESS"


def test_too_little_memory_shrinks_the_batch_or_says_so() -> None:
    large = Problem(shape=Shape(name="large", label="large", n=64, c=64, size=32, k=64, r=3), type="fp32")
    small = timings(convolve(timed=(large,), STANDIN_MEMORY="40"))
    assert small[0].teraflops
    assert not small[0].shape.startswith("64x")
    none = timings(convolve(timed=(large,), STANDIN_FAIL="cuMemAlloc_v2@6:2"))
    assert none == [] or none[0].problem or none[0].teraflops


def test_without_graphs_of_launches_it_measures_launch_by_launch() -> None:
    (timing,) = timings(convolve(timed=(ONE,), STANDIN_FAIL="cuStreamBeginCapture_v2:801"))
    assert timing.teraflops


def test_a_measurement_that_fails_names_the_call_that_did() -> None:
    (timing,) = timings(convolve(timed=(ONE,), STANDIN_FAIL="cuEventElapsedTime:999"))
    assert "cuEventElapsedTime CUDA_ERROR_UNKNOWN" in timing.problem


def test_the_time_that_is_left_is_shared_and_what_one_does_not_need_is_for_those_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, given = [0.0], []

    def timed(_bench: object, problem: Problem, _end: float, each: float, _rest: float) -> tuple[BenchmarkEvent, ...]:
        given.append(round(each, 3))
        now[0] += 0.1 if problem.type == "fp16" else each
        return ()

    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(worker, "_time_problem", timed)
    todo = tuple(Problem(shape=TINY, type=t) for t in ("fp16", "fp16", "fp32", "tf32"))
    job = BenchmarkJob(gpu=GpuSelector(), cudnn=(), timed=todo, seconds=2.0, each=0.7)
    list(worker._steps(job, None, 2.0))
    assert given == [0.5, 0.633, 0.7, 0.7]
    given.clear()
    now[0] = 1.96
    list(worker._steps(job, None, 2.0))
    assert given[0] == worker.MIN_MEASUREMENT_SECONDS


def test_what_a_measurement_took_is_told() -> None:
    (timing,) = timings(convolve(timed=(ONE,)))
    assert timing.seconds is not None
    assert timing.seconds > 0


def test_fp32_is_asked_of_the_older_functions_first() -> None:
    both = convolve(exact=(replace(ONE, type="fp32"), ONE))
    assert [(c.type, c.algorithm.split(":")[0]) for c in checks(both)] == [
        ("fp32", "convolution functions"),
        ("fp32", "graph"),
        ("fp16", "graph"),
        ("fp16", "convolution functions"),
    ]


def test_when_the_time_is_used_up_everything_left_is_named_and_nothing_else_is_done() -> None:
    answer = convolve(exact=(ONE,), compared=(ONE,), timed=(ONE,), seconds=0.0)
    assert answer.ended == ""
    assert [c.right for c in checks(answer)] == [None, None]
    said = [*(c.detail for c in checks(answer)), *(t.problem for t in timings(answer))]
    assert said == ["not measured: the time was used up"] * 3
