"""The probe over the stand-ins: what is learnt before a death, time-outs, cancellation, machines with nothing to run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

from core.benchmark import plan
from core.benchmark.framework import _read
from core.benchmark.numbers import whole
from core.benchmark.plan import full_run, quick_run
from core.benchmark.shapes import DIRECTIONS, SMALL, TIMED, Problem, reference
from core.facts import Benchmark, CudaInit, CudnnCopy, Driver, Gpu, Machine, PciDevice, PythonEnvironment, Snapshot
from core.host import Completed
from core.host.linux import LinuxHost
from core.probes import benchmark as probe
from core.probes.request import Request
from core.watch import CancelledError, Watch
from tests.benchmark.runs import ONE, env
from tests.benchmark.standin import built

GPUS = Driver(gpus=(Gpu(index=0, name="NVIDIA Stand-in 0", uuid="GPU-10101010-1010-1010-1010-101010101010"),))
BF16 = Problem(shape=ONE.shape, type="bf16")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "quick_run", lambda: ((ONE,), (), (ONE, BF16)))


def look(
    driver: Driver | None = GPUS, gpu: int | None = None, watch: Watch | None = None, **switches: str
) -> Benchmark:
    folder = built(9)
    copy = CudnnCopy(folder=str(folder), origin="folder", major=9, source="LD_LIBRARY_PATH")
    seen = Snapshot(machine=Machine(system="linux"), driver=driver, cudnn=(copy,), pythons=(), toolkits=())
    variables = env(folder, **switches)
    return probe.look(Request(host=LinuxHost(), seen=seen, env=variables, watch=watch or Watch()), quick=True, gpu=gpu)


def test_a_healthy_card_is_measured_from_the_predicted_files() -> None:
    said: list[str] = []
    (run,) = look(watch=Watch(said.append)).gpus
    assert run.ended == ""
    assert {r.state for r in run.rungs} == {"passed"}
    assert len(run.rungs) == 11
    assert run.version == "9.10.2"
    assert all(c.right for c in run.checks)
    assert [t.type for t in run.timings if t.teraflops] == ["fp16", "bf16"]
    assert {m.name: m.path for m in run.mapped}["libcudnn.so.9"] in run.predicted
    assert run.card
    assert run.card.multiprocessors == 4
    assert {limit.type for limit in run.limits} == {"fp32", "tf32", "fp16", "bf16", "int8"}
    assert any("cuDNN makes its handle" in s for s in said)


def test_a_death_in_the_ladder_breaks_its_rung_and_keeps_those_below() -> None:
    (run,) = look(STANDIN_DIE="cuModuleLoadData").gpus
    states = [r.state for r in run.rungs]
    assert states[:5] == ["passed"] * 5
    assert states[5] == "failed"
    assert set(states[6:]) == {"not reached"}
    assert "SIGABRT" in run.rungs[5].meaning


def test_a_death_in_cudnn_breaks_its_rung() -> None:
    (run,) = look(STANDIN_DIE="cudnnCreate").gpus
    (broken,) = [r for r in run.rungs if r.state == "failed"]
    assert (broken.name, broken.layer) == ("cuDNN makes its handle", "cudnn")


def test_a_death_later_costs_only_the_step_that_died() -> None:
    """The 70th handle of a descriptor is made in the midst of the measurements."""
    (run,) = look(STANDIN_DIE="cuEventElapsedTime").gpus
    assert run.ended
    assert all(r.state == "passed" for r in run.rungs)
    assert any(c.right for c in run.checks)
    problems = [t for t in run.timings if t.problem]
    assert len(problems) == 2  # each measurement killed its own child
    assert all("SIGABRT" in t.problem for t in problems)


def test_a_status_of_a_rung_is_explained() -> None:
    (run,) = look(STANDIN_FAIL="cuDevicePrimaryCtxRetain:2").gpus
    (broken,) = [r for r in run.rungs if r.state == "failed"]
    assert broken.status_name == "CUDA_ERROR_OUT_OF_MEMORY"
    assert "memory" in broken.meaning


def test_a_hanging_call_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LADDER_PATIENCE", 2.0)
    (run,) = look(STANDIN_HANG="cuMemAlloc_v2").gpus
    assert "did not end within" in run.ended
    assert [r.name for r in run.rungs if r.state == "failed"] == ["the GPU's memory can be allocated"]


def test_cancelling_kills_the_child_at_once() -> None:
    watch = Watch()
    timer: list[threading.Timer] = []

    def say(sentence: str) -> None:
        if "memory can be allocated" in sentence:
            timer.append(threading.Timer(0.0, watch.cancel))
            timer[0].start()

    watch = Watch(say)
    with pytest.raises(CancelledError):
        look(watch=watch, STANDIN_HANG="cuMemAlloc_v2")


@pytest.mark.parametrize(
    ("driver", "gpu", "words"),
    [
        (None, None, "driver could not be looked at"),
        (Driver(), None, "No NVIDIA GPU"),
        (Driver(gpus=(), cuda=CudaInit(problem="It could not be loaded.")), None, "No NVIDIA GPU"),
        (Driver(pci=(PciDevice(address="01:00.0", vendor_id="10de"),)), None, "no driver"),
        (GPUS, 3, "no GPU number 3"),
    ],
)
def test_where_there_is_nothing_to_run_one_calm_sentence_says_why(
    driver: Driver | None, gpu: int | None, words: str
) -> None:
    result = look(driver, gpu)
    assert result.gpus == ()
    assert words in result.problem
    assert result.problem.endswith(".")


def test_every_type_and_direction_is_checked_in_either_run() -> None:
    for exact, _compared, timed in (quick_run(), full_run()):
        floating = {(p.type, p.direction) for p in exact if p.type != "int8"}
        assert floating == {(t, d) for t in ("fp32", "tf32", "fp16", "bf16") for d in DIRECTIONS}
        assert {p.type for p in timed} == {"fp32", "tf32", "fp16", "bf16", "int8"}
    assert {p.shape for p in full_run()[2]} == set(TIMED)


PYTHON = PythonEnvironment(prefix="/e", executable="/e/bin/python")


def framework(out: str, err: str = "", ended: str = "") -> object:
    request = Request(host=LinuxHost(), seen=Snapshot(machine=Machine(system="linux")), env={}, watch=Watch())
    return _read(Completed(status=0, out=out, err=err, ended=ended), (ONE,), request, PYTHON, "torch 2.11.0")


def line(**said: object) -> str:
    return f"\n={json.dumps(said)}\n"


def small() -> list[int]:
    values = [whole(n, seed) for seed, n in enumerate(SMALL[0].counts)]
    return reference(SMALL[0], "forward", values[0], values[1])


def told(change: Callable[[list[int]], object] = lambda v: v) -> str:
    return (
        line(framework="torch 2.11.0", cudnn=91900)
        + line(small=change(small()))
        + line(number=0, milliseconds=[0.1, 0.2, 0.3])
    )


def test_a_frameworks_answer_is_read() -> None:
    its = framework(told() + line(mapped=["/e/libcudnn.so.9", "/lib/libc.so.6"]) + line(done=True))
    assert (its.right, its.problem, its.cudnn) == (True, "", "91900")  # type: ignore[attr-defined]
    assert [t.milliseconds for t in its.timings] == [0.2]  # type: ignore[attr-defined]
    assert [m.name for m in its.mapped] == ["libcudnn.so.9"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("spoil", [lambda v: [v[0] + 1, *v[1:]], lambda v: v[:-1], lambda v: [float("nan"), *v[1:]]])
def test_a_frameworks_wrong_result_is_seen(spoil: Callable[[list[int]], object]) -> None:
    assert framework(told(spoil) + line(done=True)).right is False  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "out",
    [
        "",
        "=",
        "=[1]\n",
        "={",
        line(number=5, milliseconds=[1.0]),
        line(number=0, milliseconds="fast"),
        line(number=0, milliseconds=[]),
    ],
)
def test_odd_or_broken_answers_give_a_sentence_and_no_figures(out: str) -> None:
    its = framework(out, err="Traceback\nRuntimeError: no", ended="ended with status 1")
    assert not any(t.teraflops for t in its.timings)  # type: ignore[attr-defined]
    assert "RuntimeError: no" in its.problem  # type: ignore[attr-defined]
