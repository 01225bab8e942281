"""Rows in which a framework is faster are measured again, on both sides, and each keeps its faster timing."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from core.benchmark import run as probe
from core.benchmark.extent import Extent, thorough_run
from core.benchmark.second_timing import fastest_timings, slower_problems, with_second_timings
from core.benchmark.shapes import LARGE_SHAPE, Problem
from core.model.facts import Distribution, FrameworkRun, PythonEnvironment, Timing
from core.probes.probe import ProbeRequest
from tests.benchmark.runs import ONE
from tests.benchmark.test_probe import look

FP16 = Problem(shape=LARGE_SHAPE, type="fp16")
BF16 = Problem(shape=LARGE_SHAPE, type="bf16")


def timing(about: Problem, teraflops: float | None, **more: str) -> Timing:
    row = Timing(shape=about.shape.text, label=about.shape.label, type=about.type, direction=about.direction)
    return replace(row, layout=about.layout, teraflops=teraflops, **more)


def framework(name: str, *timings: Timing) -> FrameworkRun:
    return FrameworkRun(framework=name, timings=timings, seconds=2.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "again"),
    [
        (700.0, 800.0, (FP16,)),
        (700.0, 690.0, ()),
        (700.0, 710.0, ()),  # less than the margin: the spread of a quiet card
        (None, 800.0, ()),  # no figure of ours: nothing to compare
        (700.0, None, ()),
    ],
)
def test_only_rows_in_which_a_framework_is_clearly_faster_are_measured_again(
    ours: float | None, theirs: float | None, again: tuple[Problem, ...]
) -> None:
    own = [timing(FP16, ours), timing(BF16, 500.0)]
    runs = [framework("torch 2", timing(FP16, theirs)), framework("jax 0", timing(FP16, 100.0), timing(BF16, 400.0))]
    assert slower_problems((BF16, FP16), own, runs) == again


def test_the_fastest_framework_counts() -> None:
    runs = [framework("torch 2", timing(FP16, 600.0)), framework("jax 0", timing(FP16, 900.0))]
    assert slower_problems((FP16,), [timing(FP16, 700.0)], runs) == (FP16,)


def test_another_layout_of_ours_is_another_row() -> None:
    other = replace(FP16, layout="NCHW")
    own = [timing(FP16, 900.0), timing(other, 100.0)]
    assert slower_problems((FP16, other), own, [framework("torch 2", timing(FP16, 600.0))]) == (other,)
    assert fastest_timings(own) == tuple(own)


def test_each_side_keeps_the_faster_of_its_timings_and_all_else_of_the_first_run() -> None:
    first = framework("torch 2", timing(FP16, 800.0, algorithm="sm90_xmma"), timing(BF16, 700.0))
    second = framework("torch 2", timing(FP16, 820.0))
    other = framework("jax 0", timing(FP16, 500.0))
    merged, untouched = with_second_timings((first, other), (second,))
    assert [t.teraflops for t in merged.timings] == [820.0, 700.0]
    assert merged.timings[0].algorithm == "sm90_xmma", "the kernel's name is asked once"
    assert merged.seconds == 4.0
    assert untouched == other
    (slower,) = with_second_timings((first,), (framework("torch 2", timing(FP16, 10.0)),))
    assert slower.timings == first.timings


def test_a_second_timing_that_fails_changes_nothing() -> None:
    kept = fastest_timings([timing(FP16, 700.0), timing(FP16, None, problem="not measured")])
    assert [(t.teraflops, t.problem) for t in kept] == [(700.0, "")]


def test_a_thorough_run_measures_both_sides_again_where_a_framework_is_faster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The framework stands in: faster by far at first and slower later, one that fails beside it."""
    found = tuple(Distribution(name=n, version="1.0", location=str(tmp_path)) for n in ("torch", "jax"))
    python = PythonEnvironment(prefix=str(tmp_path), executable=sys.executable, distributions=found)
    choose, asked = probe.choose_consumer, []

    def chosen(request: ProbeRequest, where: Any) -> Any:
        real = choose(request, where)
        assert real
        return dataclasses.replace(real, want=replace(real.want, python=python))

    def run_frameworks(*args: Any, extent: Extent, prefix: str) -> tuple[FrameworkRun, ...]:
        trials = args[2]
        asked.append((tuple(t.module for t in trials), extent.beside))
        speed = 1e9 if len(asked) == 1 else 1e-9
        return tuple(
            framework(t.module, timing(ONE, speed))
            if t.module == "torch"
            else FrameworkRun(framework="jax", problem="no")
            for t in trials
        )

    for module, file in (("torch", "_C.so"), ("jax", "_src/core.py")):
        (tmp_path / module / file).parent.mkdir(parents=True)
        (tmp_path / module / file).touch()
    monkeypatch.setattr(probe, "choose_consumer", chosen)
    monkeypatch.setattr(probe.framework, "run_frameworks", run_frameworks)
    short = replace(thorough_run(), exact=(), compared=(), timed=(ONE,), beside=(ONE,), each_seconds=0.3)
    (run,) = look(extent=short).gpus
    assert asked == [(("torch", "jax"), (ONE,)), *[(("torch",), (ONE,))] * short.second_timings]
    assert len(run.timings) == 1
    assert run.frameworks
    assert [f.problem for f in run.frameworks] == ["", "no"]
    assert run.frameworks[0].timings[0].teraflops == 1e9
