"""Check results: integers bit for bit, algorithms against each other, and repeated runs against each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache

from msgspec.structs import replace

from core.benchmark.child.c_api import CallError, describe_call_error
from core.benchmark.child.cudnn.api import Buffers, Plan
from core.benchmark.child.session import CudnnSession
from core.benchmark.number_types import decode_numbers, encode_numbers, error_bound, random_integers
from core.benchmark.shapes import Problem, Shape, reference_result, to_layout
from core.common.fact_text import fact_text
from core.model.facts import Check, Direction, NumberType

MAX_ALGORITHMS = 3
"""Maximum number of algorithms of each interface compared with each other."""


def _new_check(problem: Problem, kind: str) -> Check:
    return Check(
        kind=kind,  # type: ignore[arg-type]  # one of the four words
        type=problem.type,
        direction=problem.direction,
        layout=problem.layout,
        shape=problem.shape.text,
    )


def result_type(problem: Problem) -> NumberType:
    """Return the type in which a result is stored."""
    return "fp32" if problem.type == "int8" else problem.type


def _run_into_poison(bench: CudnnSession, problem: Problem, buffers: Buffers, plan: Plan) -> bytes:
    """Run a plan into poisoned memory and return what is there afterwards."""
    size = problem.tensor_bytes(problem.written_tensor)
    bench.workspace(plan)
    bench.device.fill_with_nan(buffers[problem.written_tensor], size)
    bench.run(plan)
    return bench.device.download(buffers[problem.written_tensor], size)


def check_exact(bench: CudnnSession, problem: Problem) -> tuple[Check, ...]:
    """Convolve small integers by every interface and compare bit for bit with plain Python.

    Raises:
        CallError: no interface could do it, or the GPU failed.
    """
    shape, about = problem.shape, _new_check(problem, "exact")
    values = _values(shape)
    inputs = [which for which in range(3) if which != problem.written_tensor]
    buffers = bench.buffers(problem)
    for which in inputs:
        data = encode_numbers(to_layout(values[which], shape.dimensions[which], problem.layout), problem.type)
        bench.device.upload(buffers[which], data)
    expected = to_layout(
        _true_result(shape, problem.direction), shape.dimensions[problem.written_tensor], problem.layout
    )
    found: list[Check] = []
    ways: set[str] = set()
    for way, plan in bench.plans(problem, buffers, ways.__contains__):
        if not plan.direct:
            continue
        try:
            got = decode_numbers(_run_into_poison(bench, problem, buffers, plan), result_type(problem))
        except CallError as e:
            if not _is_refused(e):
                raise
            continue
        ways.add(way)
        right, detail = _compare(got, expected)
        found.append(replace(about, algorithm=f"{way}: {plan.name}", right=right, detail=detail))
    if not found:
        raise bench.most_telling_error or CallError("", None, detail=fact_text("no direct algorithm is offered for it"))
    return (
        *found,
        *(
            replace(about, algorithm=way, detail=describe_call_error(e))
            for way, e in bench.refused.items()
            if way not in ways
        ),
    )


@cache
def _values(shape: Shape) -> tuple[list[int], ...]:
    return tuple(random_integers(count, seed) for seed, count in enumerate(shape.element_counts))


@cache
def _true_result(shape: Shape, direction: Direction) -> list[int]:
    """Return the correct result, which is the same for every type and layout."""
    first, second = {"forward": (0, 1), "data gradient": (2, 1), "weight gradient": (0, 2)}[direction]
    return reference_result(shape, direction, _values(shape)[first], _values(shape)[second])


def _is_refused(e: CallError) -> bool:
    """Whether a launch was merely rejected (NOT_SUPPORTED in cuDNN 7 to 9), so that another plan may work."""
    return e.status is not None and (e.status == 9 or 3000 <= e.status < 4000)


def _compare(got: Sequence[float], expected: Sequence[int]) -> tuple[bool, str]:
    wrong = [i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if not a == b]  # noqa: SIM201 - NaN is wrong
    if not wrong:
        return True, ""
    i = wrong[0]
    return False, fact_text(
        "{wrong} of {expected} elements are wrong: element {i} is {i2}, not {i3}",
        wrong=len(wrong),
        expected=len(expected),
        i=i,
        i2=f"{got[i]:g}",
        i3=expected[i],
    )


def check_algorithms_agree(bench: CudnnSession, problem: Problem) -> tuple[Check, ...]:
    """Convolve random numbers by several algorithms, each twice, and compare their results.

    Raises:
        CallError: no algorithm could do it, or the GPU failed.
    """
    buffers = bench.filled_buffers(problem)
    runs: list[tuple[str, Plan, bytes]] = []
    count: Counter[str] = Counter()
    checks: list[Check] = []
    for name, plan in bench.plans(problem, buffers, lambda way: count[way] >= MAX_ALGORITHMS):
        count[name] += 1
        try:
            one = _run_into_poison(bench, problem, buffers, plan)
            two = _run_into_poison(bench, problem, buffers, plan)
        except CallError as e:
            if not _is_refused(e):
                raise
            continue
        label = f"{name}: {plan.name}"
        runs.append((label, plan, one))
        if plan.repeatable:
            same = one == two
            detail = (
                "" if same else fact_text("two runs of one algorithm that promises equal results gave different bits")
            )
            checks.append(replace(_new_check(problem, "repeated"), algorithm=label, right=same, detail=detail))
    if not runs:
        raise bench.nothing_offered()
    return (*checks, *_against_each_other(problem, runs))


def _against_each_other(problem: Problem, runs: list[tuple[str, Plan, bytes]]) -> list[Check]:
    base = next((r for r in runs if r[1].direct), runs[0])
    true = decode_numbers(base[2], result_type(problem))
    largest = 127 * 127 if problem.type == "int8" else 1
    high = max(map(abs, true))
    found = []
    for label, plan, data in runs:
        if label == base[0] and plan is base[1]:
            if any(map(math.isnan, true)):
                about = _new_check(problem, "two algorithms")
                found.append(replace(about, algorithm=label, right=False, detail=fact_text("the result holds NaN")))
            continue
        got = decode_numbers(data, result_type(problem))
        allowed = sum(
            error_bound(
                problem.type, problem.terms_per_element, problem.terms_per_element * largest, high, direct=p.direct
            )
            for p in (base[1], plan)
        )
        worst = max((abs(a - b) for a, b in zip(got, true, strict=True)), default=0.0)
        nan = any(map(math.isnan, got))
        right = not nan and worst <= allowed
        detail = (
            fact_text("the result holds NaN")
            if nan
            else ""
            if right
            else fact_text("it differs from {base} by more than rounding can", base=base[0])
        )
        found.append(
            replace(
                _new_check(problem, "two algorithms"),
                algorithm=fact_text("{label} against {base}", label=label, base=base[0]),
                right=right,
                worst=None if nan else worst,
                bound=allowed,
                detail=detail,
            )
        )
    return found
