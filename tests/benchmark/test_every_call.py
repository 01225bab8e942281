"""Every call that ladder and engine make, in turn: the process dies in it, or it fails. Generated from what is called."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import msgspec
import pytest

from core.benchmark.child.cuda_api import CUDA_FORMS as CUDA
from core.benchmark.child.cudnn.api import CUDNN_FORMS as CUDNN
from core.benchmark.child.ladder import CUBLAS_FORMS, NVRTC_FORMS
from tests.benchmark.every_call import Tried
from tests.benchmark.runs import env
from tests.benchmark.standin import built

SCAN = {"cuDeviceGetName", "cuDeviceGetPCIBusId", "cuDeviceTotalMem_v2", "cuDriverGetVersion"}
"""Calls of the driver's probe, which the stand-in answers, too."""

DONE_WITHOUT = {
    "cuStreamBeginCapture_v2": "each launch is then timed as it is",
    "cuStreamEndCapture": "likewise",
    "cuGraphInstantiateWithFlags": "likewise",
    "cudnnGetVersion": "its result is no status",
}
"""Calls whose failure costs nothing, and why."""

NAMED_OTHERWISE = {"cuDeviceGetUuid_v2": "cuDeviceGet"}
"""A GPU that does not tell its UUID is not found by it."""


class All(msgspec.Struct, frozen=True):
    exported: set[str]
    tried: tuple[Tried, ...]


@cache
def every(major: int) -> All:
    """Try every call with the stand-ins for this cuDNN: some 160 forks in a few seconds."""
    command = [sys.executable, "-m", "tests.benchmark.every_call", str(major)]
    done = subprocess.run(
        command, env=env(built(major)), cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, check=True, timeout=300
    )
    return msgspec.json.decode(done.stdout, type=All)


@pytest.mark.parametrize("major", [7, 8, 9])
def test_no_call_is_forgotten(major: int) -> None:
    died = {t.call for t in every(major).tried if t.mode == "dies"}
    assert died == every(major).exported - SCAN


def test_the_stand_ins_know_every_call_that_is_prepared() -> None:
    prepared = {*CUDA, *CUDNN, *NVRTC_FORMS, *CUBLAS_FORMS}
    other_name = {"cuDeviceGetUuid"}  # the older of two; asked where the newer is missing
    assert prepared - other_name <= every(9).exported


@pytest.mark.parametrize("major", [7, 8, 9])
def test_a_child_that_dies_in_a_call_has_said_what_it_was_doing(major: int) -> None:
    for tried in (t for t in every(major).tried if t.mode == "dies"):
        begun = [s.begin for s in tried.said if s.begin]
        assert (tried.signal, tried.problem, bool(begun)) == (signal.SIGABRT, "", True), tried.call
        finished = [s.rung.name for s in tried.said if s.rung]
        assert begun[-1] not in finished, tried.call


@pytest.mark.parametrize("major", [7, 8, 9])
def test_a_call_that_fails_is_named_and_nothing_raises(major: int) -> None:
    for tried in (t for t in every(major).tried if t.mode == "fails"):
        assert (tried.signal, tried.problem) == (0, ""), tried.call
        rungs = [s.rung.call for s in tried.said if s.rung and s.rung.state == "failed"]
        checks = [s.check.detail for s in tried.said if s.check and s.check.right is None]
        timings = [s.timing.problem for s in tried.said if s.timing and s.timing.problem]
        if tried.call in DONE_WITHOUT:
            assert [*rungs, *checks, *timings] == []
            assert any(s.timing and s.timing.teraflops for s in tried.said)
            continue
        name = NAMED_OTHERWISE.get(tried.call, tried.call)
        assert name in rungs or any(name in words for words in (*checks, *timings)), tried.call
        assert not any(s.check.right is False for s in tried.said if s.check), tried.call
