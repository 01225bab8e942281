"""Counter-experiments decide: no error blames what its own counter-test refutes, and what one proves is blamed.

Held over every recorded and every made machine, with each counter-test's answer turned both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.knowledge.cudnn_file_names import shipped_name
from core.model.facts import Closure, CudaInit, Load, RollCall, Snapshot
from core.model.findings import Finding
from core.model.steps import Severity, Step
from core.report.json_form import from_json
from core.rules.consumer_loads import consumer_load, failures_of, load_failures
from core.rules.counter import CounterOutcome, cuda_starts, judge_cuda, judge_failures
from core.rules.cudnn import loading
from core.rules.cudnn.loading import judge_load
from core.rules.cudnn.not_found import not_found
from core.rules.driver import gpu_access, status
from core.rules.frameworks import environments
from tests import machines
from tests.rules import test_driver, test_loading
from tests.test_same_everywhere import MACHINES as ALL_MADE
from tests.test_snapshots import RECORDED

MACHINES: dict[str, Callable[[], Snapshot]] = {
    **machines.HEALTHY,
    **{f"driver: {name}": row[0] for name, row in test_driver.TABLE.items()},
    **{f"loading: {name}": row[0] for name, row in test_loading.TABLE.items()},
}


def recorded(path: Path) -> Snapshot:
    return from_json(path.read_bytes()).snapshot


def every_machine() -> Iterator[tuple[str, Snapshot]]:
    for path in RECORDED:
        yield path.stem, recorded(path)
    for name, make in MACHINES.items():
        yield name, make()


EVERY = dict(every_machine())
WORKS = CudaInit(status=0, device_count=1, library="/usr/lib/x86_64-linux-gnu/libcuda.so.1")
FAILURES = [CudaInit(status=n, library="/opt/any/libcuda.so.1") for n in (3, 100, 101, 803, 804, 999)]
BY_LIBRARY_PATH = {
    "libcuda_wrong_library",
    "cuda_compat_mismatch",
    "cuda_compat_unsupported",
    "ld_library_path_override",
}


TOPICS = {
    Step.DRIVER: (*status.RULES, *gpu_access.RULES),
    Step.CUDNN: loading.RULES,
    Step.FRAMEWORKS: environments.RULES,
}


def errors(seen: Snapshot, step: Step) -> list[Finding]:
    return [f for rule in TOPICS[step] for f in rule(seen) if f.severity is Severity.ERROR and f.step is step]


def driver_variants(seen: Snapshot) -> Iterator[tuple[Snapshot, CudaInit]]:
    """Yield a machine as it is and with every failure of cuInit, each without any counter-test."""
    if seen.driver is None:
        return
    for cuda in (seen.driver.cuda, *FAILURES):
        if cuda is not None and not cuda_starts(cuda):
            yield machines.with_driver(seen, cuda=cuda, cuda_unhidden=None, cuda_clean=None), cuda


@pytest.mark.parametrize("name", EVERY)
def test_a_variable_without_which_cuinit_fails_alike_is_not_blamed(name: str) -> None:
    for seen, cuda in driver_variants(EVERY[name]):
        for variable, value in (
            ("CUDA_VISIBLE_DEVICES", "-1"),
            ("NVIDIA_VISIBLE_DEVICES", "void"),
            ("GPU_DEVICE_ORDINAL", "7"),
        ):
            refuted = machines.with_driver(machines.with_variable(seen, variable, value), cuda_unhidden=cuda)
            assert "gpu_hidden_by_env" not in {f.cause for f in errors(refuted, Step.DRIVER)}


@pytest.mark.parametrize("name", EVERY)
def test_a_variable_without_which_cuinit_works_is_blamed(name: str) -> None:
    for seen, _cuda in driver_variants(EVERY[name]):
        proved = machines.with_driver(machines.with_variable(seen, "CUDA_VISIBLE_DEVICES", "7"), cuda_unhidden=WORKS)
        stubs = BY_LIBRARY_PATH  # a stub or an empty file that is seen is the surer cause
        assert {f.cause for f in errors(proved, Step.DRIVER)} & {"gpu_hidden_by_env", *stubs}


@pytest.mark.parametrize("name", EVERY)
def test_a_search_path_without_which_cuinit_fails_alike_is_not_blamed(name: str) -> None:
    for seen, cuda in driver_variants(EVERY[name]):
        if seen.machine.system != "linux":
            continue
        refuted = machines.with_driver(
            machines.with_variable(seen, "LD_LIBRARY_PATH", "/opt/any"), cuda_clean=replace(cuda, library=WORKS.library)
        )
        for found in errors(refuted, Step.DRIVER):
            assert found.fix is None or "from LD_LIBRARY_PATH where" not in found.fix.advice, found.id


@pytest.mark.parametrize("name", EVERY)
def test_a_search_path_without_which_cuinit_works_is_blamed(name: str) -> None:
    for seen, _cuda in driver_variants(EVERY[name]):
        if seen.machine.system != "linux":
            continue
        proved = machines.with_driver(machines.with_variable(seen, "LD_LIBRARY_PATH", "/opt/any"), cuda_clean=WORKS)
        assert {f.cause for f in errors(proved, Step.DRIVER)} & BY_LIBRARY_PATH


def with_loads(seen: Snapshot, change: Callable[[Load], Load]) -> Snapshot:
    return replace(seen, loads=tuple(change(load) for load in seen.loads or ()))


@pytest.mark.parametrize("name", EVERY)
def test_a_search_path_without_which_cudnn_fails_alike_is_not_blamed(name: str) -> None:
    seen = with_loads(EVERY[name], lambda load: replace(load, clean_roll_call=load.roll_call))
    failing = {load.consumer.id for load in seen.loads or () if failures_of(load.roll_call)}
    for found in errors(seen, Step.CUDNN):
        if found.id == "cudnn.overridden-by-variable":
            concerned = {load.consumer.id for load in seen.loads or () if load.consumer.label in str(found.evidence)}
            assert not concerned & failing


@pytest.mark.parametrize("name", EVERY)
def test_a_search_path_without_which_cudnn_loads_is_blamed(name: str) -> None:
    seen = EVERY[name]
    if seen.machine.system != "linux":
        return
    for index, load in enumerate(seen.loads or ()):
        if not failures_of(load.roll_call) or not load_failures(consumer_load(seen, load)):
            continue
        proved = machines.with_load(seen, index, clean_roll_call=machines.answers(machines.cudnn()))
        found = [
            f for f in judge_load(consumer_load(proved, (proved.loads or ())[index])) if f.severity is Severity.ERROR
        ]
        assert [f.cause for f in found] == ["ld_library_path_override"]


@pytest.mark.parametrize("name", EVERY)
def test_a_search_path_without_which_a_framework_fails_alike_is_not_blamed(name: str) -> None:
    seen = EVERY[name]
    trials = tuple(replace(t, clean=replace(t, clean=None)) for t in seen.trials or () if t.problem or t.ended)
    for found in errors(replace(seen, trials=trials), Step.FRAMEWORKS):
        assert not (found.id.startswith("frameworks.trial-") and found.cause == "ld_library_path_override")


@pytest.mark.parametrize(
    ("asked", "again", "outcome"),
    [
        (CudaInit(status=100), None, CounterOutcome.OPEN),
        (CudaInit(status=0, device_count=1), CudaInit(status=100), CounterOutcome.OPEN),
        (CudaInit(status=100), CudaInit(status=0, device_count=1), CounterOutcome.PROVED),
        (CudaInit(status=100), CudaInit(status=0, device_count=0), CounterOutcome.CHANGED),
        (CudaInit(status=0, device_count=0), CudaInit(status=0, device_count=0), CounterOutcome.REFUTED),
        (CudaInit(status=100), CudaInit(status=100), CounterOutcome.REFUTED),
        (CudaInit(status=100), CudaInit(status=999), CounterOutcome.CHANGED),
        (CudaInit(status=100), CudaInit(problem="no answer"), CounterOutcome.OPEN),
        (CudaInit(problem="file too short"), CudaInit(problem="not there"), CounterOutcome.OPEN),
        (CudaInit(problem="not there"), CudaInit(problem="not there"), CounterOutcome.REFUTED),
    ],
)
def test_what_an_answer_says(asked: CudaInit, again: CudaInit | None, outcome: CounterOutcome) -> None:
    assert judge_cuda(asked, again) is outcome


def test_what_failures_say() -> None:
    one, two = frozenset({("dlopen", "a")}), frozenset({("dlopen", "b")})
    assert judge_failures(frozenset(), frozenset()) is CounterOutcome.OPEN
    assert judge_failures(one, None) is CounterOutcome.OPEN
    assert judge_failures(one, frozenset()) is CounterOutcome.PROVED
    assert judge_failures(one, one | two) is CounterOutcome.REFUTED
    assert judge_failures(one, two) is CounterOutcome.CHANGED
    assert failures_of(RollCall(library="libcudnn.so.9")) is None


def test_a_framework_that_opens_cudnn_by_itself_needs_no_search_path() -> None:
    """PyTorch opens pip's libraries where the loader does not find them: behind a link to another disk, say."""
    tried = 0
    for name, make in ALL_MADE.items():
        seen = make()
        for load in (replace(x, consumer=replace(x.consumer, framework="torch 2.6.0")) for x in seen.loads or ()):
            if not any(f.id == "cudnn.not-on-search-path" for f in not_found(consumer_load(seen, load))):
                continue
            file = f"/opt/{shipped_name('', load.major, seen.machine.system)}"
            opens = replace(seen, closures=(Closure(consumer=load.consumer, files=(file,)),))
            assert not [*not_found(consumer_load(opens, load))], name
            tried += 1
    assert tried
