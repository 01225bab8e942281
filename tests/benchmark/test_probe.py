"""The probe over the stand-ins: what is learnt before a death, time-outs, cancellation, machines with nothing to run."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from core.benchmark import run as probe
from core.benchmark.extent import TRAINING_TYPES, Extent, full_run, quick_run, run_of_layers, thorough_run
from core.benchmark.protocol import BenchmarkJob
from core.benchmark.shapes import DIRECTIONS, GROUPED_SHAPE, TIMED_SHAPES, Problem
from core.common.progress import CancelledError, Progress
from core.host.linux.host import LinuxHost
from core.model.facts import (
    Benchmark,
    CudaInit,
    CudnnCopy,
    Distribution,
    Driver,
    Gpu,
    Machine,
    PciDevice,
    PythonEnvironment,
    Snapshot,
)
from core.probes.driver.kernel_log import KernelLog
from core.probes.probe import ProbeRequest
from tests.benchmark.runs import ONE, env
from tests.benchmark.standin import built

GPUS = Driver(gpus=(Gpu(index=0, name="NVIDIA Stand-in 0", uuid="GPU-10101010-1010-1010-1010-101010101010"),))
BF16 = Problem(shape=ONE.shape, type="bf16")


QUICK = replace(quick_run(), exact=(ONE,), compared=(), timed=(ONE, BF16))
FULL = replace(full_run(), exact=(ONE,), compared=(), timed=(ONE,))


def look(
    driver: Driver | None = GPUS,
    gpu: int | None = None,
    watch: Progress | None = None,
    began: float | None = None,
    extent: Extent = QUICK,
    **switches: str,
) -> Benchmark:
    folder = built(9)
    copy = CudnnCopy(folder=str(folder), origin="folder", major=9, source="LD_LIBRARY_PATH")
    seen = Snapshot(machine=Machine(system="linux"), driver=driver, cudnn=(copy,), pythons=(), toolkits=())
    variables = env(folder, **switches)
    request = ProbeRequest(host=LinuxHost(), seen=seen, env=variables, watch=watch or Progress())
    return probe.run_benchmark(request, extent, gpu=gpu, began=began)


def test_a_healthy_card_is_measured_from_the_predicted_files() -> None:
    said: list[str] = []
    (run,) = look(watch=Progress(said.append)).gpus
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


def test_a_run_whose_time_was_used_up_before_it_began_still_checks_and_says_what_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(probe, "MIN_ENGINE_SECONDS", 0.0)
    long_ago = time.monotonic() - 100
    (run,) = look(began=long_ago).gpus
    assert {r.state for r in run.rungs} == {"passed"}
    assert {c.right for c in run.checks} == {True, None}
    assert {t.problem for t in run.timings} == {"not measured: the time was used up"}
    assert not run.ended


def test_the_engines_time_ends_before_the_runs_and_leaves_some_for_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    real = probe._GpuBenchmark._ask

    def ask(self: Any, work: Any, request: Any, timeout: float) -> Any:
        if isinstance(request, BenchmarkJob):
            given.append(request.seconds)
        return real(self, work, request, timeout)

    monkeypatch.setattr(probe._GpuBenchmark, "_ask", ask)
    began = time.monotonic() - QUICK.seconds + 3
    look(began=began)
    assert given[0] <= 3 - probe.ENGINE_OVERHEAD_SECONDS
    assert given[0] >= probe.MIN_ENGINE_SECONDS


def test_a_whole_run_asks_the_frameworks_of_the_environment_and_one_that_fails_costs_nothing_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The packages stand in: one cannot be imported, the other ends the process."""
    for name, file, code in (
        ("torch", "_C.so", "raise OSError('libcudnn.so.9: cannot open shared object file')"),
        ("jax", "_src/core.py", "import os; os.abort()"),
    ):
        (tmp_path / name / file).parent.mkdir(parents=True)
        (tmp_path / name / file).touch()
        (tmp_path / name / "__init__.py").write_text(code)
    found = tuple(Distribution(name=n, version="1.0", location=str(tmp_path)) for n in ("jax", "torch"))
    python = PythonEnvironment(prefix=str(tmp_path), executable=sys.executable, distributions=found)
    real = probe.choose_consumer

    def choose(request: ProbeRequest, where: Any) -> Any:
        chosen = real(request, where)
        assert chosen
        return dataclasses.replace(chosen, want=replace(chosen.want, python=python))

    monkeypatch.setattr(probe, "choose_consumer", choose)
    (run,) = look(extent=FULL, PYTHONPATH=str(tmp_path)).gpus
    assert [c.right for c in run.checks] == [True] * len(run.checks)
    assert [t.teraflops for t in run.timings] != [None]
    assert run.frameworks
    torch, jax = run.frameworks
    assert "libcudnn.so.9: cannot open" in torch.problem
    assert "SIGABRT" in jax.problem
    assert "while it did this: import jax" in jax.problem
    assert [name for name, _ in torch.steps] == ["import torch"]
    assert torch.seconds > 0


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


def test_what_the_kernel_writes_about_the_gpu_is_read_only_where_something_goes_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = "[1.0] NVRM: Xid (PCI:0000:01:00): 31, old", "[9.0] NVRM: Xid (PCI:0000:01:00): 79, new"
    monkeypatch.setattr(
        probe, "kernel_log", lambda _request, _where: KernelLog(lines=(old, "[2.0] NVRM: loading", new))
    )
    driver = replace(GPUS, kernel_log=(old,))
    (healthy,) = look(driver).gpus
    (died,) = look(driver, STANDIN_DIE="cudnnCreate").gpus
    assert (healthy.xids, died.xids) == ((), (new,))


def test_a_status_of_a_rung_is_explained() -> None:
    (run,) = look(STANDIN_FAIL="cuDevicePrimaryCtxRetain:2").gpus
    (broken,) = [r for r in run.rungs if r.state == "failed"]
    assert broken.status_name == "CUDA_ERROR_OUT_OF_MEMORY"
    assert "memory" in broken.meaning


def test_a_hanging_call_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LADDER_TIMEOUT_SECONDS", 2.0)
    (run,) = look(STANDIN_HANG="cuMemAlloc_v2").gpus
    assert "did not end within" in run.ended
    assert [r.name for r in run.rungs if r.state == "failed"] == ["the GPU's memory can be allocated"]


def test_cancelling_kills_the_child_at_once() -> None:
    watch = Progress()
    timer: list[threading.Timer] = []

    def say(sentence: str) -> None:
        if "memory can be allocated" in sentence:
            timer.append(threading.Timer(0.0, watch.cancel))
            timer[0].start()

    watch = Progress(say)
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
    for extent in (quick_run(), full_run(), thorough_run()):
        floating = {(p.type, p.direction) for p in extent.exact if p.type != "int8"}
        assert floating == {(t, d) for t in ("fp32", "tf32", "fp16", "bf16") for d in DIRECTIONS}
        assert {p.type for p in extent.timed} == {"fp32", "tf32", "fp16", "bf16", "int8"}
    assert {p.shape for p in full_run().timed} == set(TIMED_SHAPES)


def test_a_thorough_run_times_each_shape_grouped_ones_too_in_every_direction_beside_the_frameworks() -> None:
    everything = {(s, t, d) for s in (*TIMED_SHAPES, GROUPED_SHAPE) for t in TRAINING_TYPES for d in DIRECTIONS}
    extent = thorough_run()
    assert {(p.shape, p.type, p.direction) for p in extent.timed} >= everything
    assert {(p.shape, p.type, p.direction) for p in extent.beside or ()} == everything
    assert extent.kernels


def test_a_run_of_ones_own_layers_times_nothing_else() -> None:
    layer = replace(GROUPED_SHAPE, name="layer 1", stride=2)
    extent = run_of_layers((layer,))
    assert {p.shape for p in extent.timed} == {layer} == {p.shape for p in extent.beside or ()}
    assert {(p.type, p.direction) for p in extent.timed} == {(t, d) for t in TRAINING_TYPES for d in DIRECTIONS}
