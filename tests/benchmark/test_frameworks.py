"""The frameworks beside cuDNN: what their script says, read in every form; and the real ONNX Runtime on a processor."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.benchmark import frameworks as framework
from core.benchmark.extent import full_run, thorough_run
from core.benchmark.framework_script import FRAMEWORK_SCRIPT
from core.benchmark.frameworks import (
    ABILITIES,
    CPU_BUILD_SECONDS,
    MIN_FRAMEWORK_SECONDS,
    FrameworkEvent,
    read_script_answer,
    seconds_needed,
)
from core.benchmark.number_types import random_integers
from core.benchmark.shapes import DIRECTIONS, LARGE_SHAPE, SMALL_SHAPES, TIMED_SHAPES, reference_result
from core.common.progress import Progress
from core.host.child import read_answer
from core.host.interface import CompletedProcess
from core.host.linux.host import LinuxHost
from core.model.facts import FrameworkBuild, FrameworkRun, Frameworks, Machine, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python.trials.run import Trial
from tests.benchmark import frameworks
from tests.benchmark.runs import ONE

FULL = full_run()
PYTHON = PythonEnvironment(prefix="/e", executable="/e/bin/python")
TRIAL = Trial(PYTHON, "torch", "2.11.0", "torch")


def its(out: str, err: str = "", ended: str = "", mapped: tuple[str, ...] = ()) -> FrameworkRun:
    request = ProbeRequest(host=LinuxHost(), seen=Snapshot(machine=Machine(system="linux")), env={}, watch=Progress())
    answer = read_answer(CompletedProcess(status=0, out=out, err=err, ended=ended, mapped=mapped), FrameworkEvent)
    return read_script_answer(answer, (ONE,), request, TRIAL, predicted=True)


def line(**said: object) -> str:
    return f"\n+{json.dumps(said)}\n"


def small() -> list[int]:
    values = [random_integers(n, seed) for seed, n in enumerate(SMALL_SHAPES[0].element_counts)]
    return reference_result(SMALL_SHAPES[0], "forward", values[0], values[1])


def told(change: Callable[[list[int]], object] = lambda v: v) -> str:
    return (
        line(framework="torch 2.11.0", cudnn="91900", cuda="13.0")
        + line(gpu=True, begin="a small convolution")
        + line(small=change(small()))
        + line(number=0, milliseconds=[0.1, 0.2, 0.3])
    )


END = "\n.\n"


def test_a_frameworks_answer_is_read() -> None:
    run = its(told() + END, mapped=("/e/libcudnn.so.9", "/lib/libc.so.6"))
    assert (run.right, run.problem, run.cudnn, run.gpu, run.cuda) == (True, "", "9.19.0", True, "13.0")
    assert [t.milliseconds for t in run.timings] == [0.2]
    assert [m.name for m in run.mapped] == ["libcudnn.so.9"]


@pytest.mark.parametrize("spoil", [lambda v: [v[0] + 1, *v[1:]], lambda v: v[:-1], lambda v: [None, *v[1:]]])
def test_a_frameworks_wrong_result_is_seen(spoil: Callable[[list[int]], object]) -> None:
    assert its(told(spoil) + END).right is False


@pytest.mark.parametrize(
    "out",
    [
        "",
        "+",
        "\n+[1]\n",
        "\n+{",
        line(number=5, milliseconds=[1.0]),
        line(number=0, milliseconds="fast"),
        line(number=0, milliseconds=[]),
    ],
)
def test_odd_or_broken_answers_give_a_sentence_and_no_figures(out: str) -> None:
    run = its(out, err="Traceback\nRuntimeError: no", ended="ended with status 1")
    assert not any(t.teraflops for t in run.timings)
    assert "RuntimeError: no" in run.problem


def test_a_death_is_told_with_what_was_being_done_and_keeps_what_was_learnt() -> None:
    run = its(told() + line(begin="tf32, NHWC, forward"), ended="was killed by SIGSEGV")
    assert run.right is True
    assert "SIGSEGV while it did this: tf32, NHWC, forward" in run.problem
    assert [t.milliseconds for t in run.timings] == [0.2]


def test_one_timing_that_fails_costs_no_other() -> None:
    run = its(told().replace(line(number=0, milliseconds=[0.1, 0.2, 0.3]), line(number=0, problem="no bf16")) + END)
    assert (run.problem, [t.problem for t in run.timings]) == ("", ["no bf16"])


def test_what_a_framework_printed_is_kept_where_it_leaves_its_gpu_alone() -> None:
    out = line(framework="onnxruntime 1.22.0", cuda="12.8") + line(gpu=False) + line(small=small()) + END
    run = its(out, err="Failed to load library libonnxruntime_providers_cuda.so with error: libcudnn.so.9: not found")
    assert "libcudnn.so.9: not found" in run.output
    assert its(out.replace("12.8", ""), err="a warning").output == ""


def test_every_framework_is_asked_for_the_large_shape_in_each_type_first_then_type_by_type() -> None:
    for able in ABILITIES.values():
        todo = framework.problems_of(able, FULL)
        few = len(able.types)
        assert [(p.shape, p.type) for p in todo[:few]] == [(LARGE_SHAPE, t) for t in able.types]
        rest = [t for t in able.types for _ in TIMED_SHAPES[1:]]
        assert [p.type for p in todo[few:-1]] == rest
        assert (todo[-1].shape, todo[-1].type, todo[-1].layout) == (LARGE_SHAPE, "fp32", able.exact)
        assert {p.shape for p in todo} == set(TIMED_SHAPES)
        assert len(set(todo)) == len(todo)


def test_of_a_runs_own_list_a_framework_times_what_it_can_do_in_its_own_layout() -> None:
    for able in ABILITIES.values():
        todo = framework.problems_of(able, thorough_run())
        assert {p.layout for p in todo} == {able.layout}
        assert {p.type for p in todo} == set(able.types)
        assert {p.direction for p in todo} == (set(DIRECTIONS) if able.gradients else {"forward"})


def test_the_kernels_name_stands_beside_the_figure() -> None:
    named = line(number=0, kernel="sm90_xmma_fprop_implicit_gemm") + line(number=7, kernel="of nothing that was asked")
    (timing,) = its(told() + named + END).timings
    assert (timing.algorithm, timing.milliseconds) == ("sm90_xmma_fprop_implicit_gemm", 0.2)


def shared(left: float, *trials: Trial, builds: tuple[FrameworkBuild, ...] = ()) -> list[float]:
    """Run frameworks that use none of their time; return the seconds that each was given."""
    given: list[float] = []
    seen = Snapshot(machine=Machine(system="linux"), frameworks=Frameworks(builds=builds))
    request = ProbeRequest(host=LinuxHost(), seen=seen, env={}, watch=Progress())

    class Chosen:
        class want:
            class wish:
                framework = "torch 2.11.0"

    class Left:
        def seconds_left(self) -> float:
            return left

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(framework, "_run", lambda *a, **_k: given.append(a[3]))
        framework.run_frameworks(request, Chosen, trials, None, Left(), extent=FULL, prefix="")
    return given


JAX = Trial(PYTHON, "jax", "0.11.2", "jax")
ORT = Trial(PYTHON, "onnxruntime", "1.30.0", "onnxruntime")


def test_the_first_framework_gets_most_of_the_time_and_what_one_leaves_is_for_the_next() -> None:
    assert seconds_needed((TRIAL, JAX, ORT), FULL) == (FULL.first_seconds, FULL.further_seconds, CPU_BUILD_SECONDS)
    assert seconds_needed((JAX, TRIAL), FULL) == (FULL.first_seconds, FULL.further_seconds)
    assert seconds_needed((), FULL) == ()
    whole = FULL.first_seconds + FULL.further_seconds + CPU_BUILD_SECONDS
    first, second, third = shared(whole, TRIAL, JAX, ORT)
    assert first == FULL.first_seconds - framework.SCRIPT_OVERHEAD_SECONDS
    assert second == whole - CPU_BUILD_SECONDS - framework.SCRIPT_OVERHEAD_SECONDS
    assert third == whole - framework.SCRIPT_OVERHEAD_SECONDS
    assert shared(0.0, TRIAL, JAX, ORT) == [MIN_FRAMEWORK_SECONDS] * 3


def test_no_time_is_kept_for_a_build_that_is_known_to_compute_on_the_processor() -> None:
    processor = FrameworkBuild(prefix="/e", distribution="torch", version="2.11.0+cpu", cuda="")
    elsewhere = FrameworkBuild(prefix="/f", distribution="jax", version="0.11.2", cuda="")
    unknown = FrameworkBuild(prefix="/e", distribution="jax", version="0.11.2", cuda=None)
    builds = (processor, elsewhere, unknown)
    assert seconds_needed((JAX, TRIAL), FULL, builds) == (FULL.first_seconds, CPU_BUILD_SECONDS)
    assert seconds_needed((TRIAL, ORT), FULL, builds) == (CPU_BUILD_SECONDS, CPU_BUILD_SECONDS)
    assert shared(30.0, JAX, TRIAL, builds=builds)[0] == 30.0 - CPU_BUILD_SECONDS - framework.SCRIPT_OVERHEAD_SECONDS


def test_where_a_frameworks_seconds_went_is_told() -> None:
    out = line(begin="import torch", at=0.25) + line(gpu=True, begin="a small convolution", at=3.25)
    run = its(out + line(begin="fp16", at=4.5) + line(at=5.0) + END)
    assert run.steps == (("import torch", 3.0), ("a small convolution", 1.25), ("fp16", 0.5))
    assert its(told() + END).steps == ()


def test_the_script_is_for_old_pythons_too_and_names_every_framework() -> None:
    compile(FRAMEWORK_SCRIPT, "script", "exec")
    assert all(f"def {name}(ask):" in FRAMEWORK_SCRIPT for name in ABILITIES)


@pytest.mark.download
def test_the_real_onnx_runtime_takes_our_model_and_is_right() -> None:
    todo = frameworks.problems("fp16", "tf32", "fp32", directions=("forward",))
    run = frameworks.run(sys.executable, "onnxruntime", todo, {"PYTHONPATH": str(frameworks.onnxruntime())})
    assert (run.problem, run.right, run.gpu, run.cuda) == ("", True, False, "")
    assert run.framework.startswith("onnxruntime 1.")
    assert len([t for t in run.timings if t.milliseconds]) == len(todo)


@pytest.mark.parametrize("module", ABILITIES)
def test_a_framework_that_cannot_be_imported_is_a_sentence(module: str, tmp_path: Path) -> None:
    (tmp_path / module).mkdir()
    (tmp_path / module / "__init__.py").write_text("raise OSError('libcudnn.so.9: cannot open shared object file')")
    (tmp_path / "numpy.py").touch()
    run = frameworks.run(sys.executable, module, (), {"PYTHONPATH": str(tmp_path)})
    assert "libcudnn.so.9: cannot open" in run.problem
    assert run.right is None
