"""Verdicts: on the machine of each case the true cause comes first, proved where its message is its own."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.verdicts import _prefer_specific
from tests.explain.cases import CASES

SHARED = {
    # messages that too many faults make, or that name a library for which no program of the machine was seen to ask
    "the process ends inside cuDNN 8",
    "cuDNN lies one folder deeper",
    "cuDNN 8 is wanted, 9 is there, Windows",
    "no CUDA library at all",
    "cuSOLVER of another toolkit",
    "Python does not search PATH",
    "cuDNN 8 is wanted, 9 is there, Linux",
    "a segmentation fault by LD_LIBRARY_PATH",
    "CUDA 11 is wanted, 12 is there",
    "the driver is too old",
    "device nodes are closed",
    "a GPU that is newer than the build",
    "the compute cache belongs to root",
    "the GPU fell off the bus",
}


@pytest.mark.parametrize("name", CASES)
def test_the_first_cause_is_the_true_one(name: str) -> None:
    case = CASES[name]
    explained = explain(case.text, case.machine())
    first = explained.causes[0]
    assert explained.foreign == ""
    assert first.cause == case.cause
    assert first.evidence
    assert (first.verdict, explained.link) == (("open", "possible") if name in SHARED else ("proved", "proved"))


@pytest.mark.parametrize(("verdict", "left"), [("proved", "open"), ("open", "proved"), ("refuted", "proved")])
def test_a_finding_that_is_proved_comes_before_what_was_proved_without_one(verdict: str, left: str) -> None:
    verdicts: dict[str, dict[str, object]] = {
        "gpu_hidden_by_env": {"verdict": verdict, "finding": object()},
        "framework_cpu_only_build": {"verdict": "proved"},
    }
    _prefer_specific(verdicts)
    assert verdicts["framework_cpu_only_build"]["verdict"] == left
