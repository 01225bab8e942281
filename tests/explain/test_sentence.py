"""The one sentence says what the list below it says."""

from __future__ import annotations

from core.explain import explain
from core.model.facts import Machine, Snapshot
from tests.explain.cases import CASES

NOTHING = Snapshot(machine=Machine(system="linux"), cudnn=(), toolkits=(), pythons=(), loads=())


def test_a_cause_that_is_proved_without_a_finding_is_told_as_proved() -> None:
    case = CASES["another interpreter"]
    told = explain(case.text, case.machine())
    assert told.causes[0].verdict == "proved"
    assert told.causes[0].finding is None
    assert told.sentence.startswith("Proved on this machine: ")


def test_what_is_not_here_is_no_proof_without_a_program_that_asks_for_it() -> None:
    told = explain("ImportError: libcudnn.so.8: cannot open shared object file: No such file or directory", NOTHING)
    assert (told.causes[0].cause, told.causes[0].verdict, told.link) == ("cudnn_not_installed", "open", "possible")
    assert told.sentence.startswith("This machine shows something that can cause such a message")
