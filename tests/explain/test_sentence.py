"""The one sentence says what the list below it says."""

from __future__ import annotations

from core.explain import explain
from core.facts import Machine, Snapshot


def test_a_cause_that_is_proved_without_a_finding_is_told_as_proved() -> None:
    nothing = Snapshot(machine=Machine(system="linux"), cudnn=(), toolkits=(), pythons=(), loads=())
    told = explain("ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory", nothing)
    assert told.causes[0].verdict == "proved"
    assert told.sentence.startswith("Proved on this machine: ")
