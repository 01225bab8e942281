"""Rules about what experiments prove, as a table: what a failed import works without, the cause, the subject, the cure."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Experiment,
    ExperimentOutcome,
    Experiments,
    FoundModule,
    FrameworkTrial,
    ImportSearch,
    Suspect,
)
from core.model.findings import Finding
from core.model.remedies import GiveOtherName, SetForEnvironments, TakeOut, Unset
from core.model.steps import Severity
from core.rules.frameworks.trials import trial_results
from core.rules.root_cause import diagnose
from tests.machines import PREFIX
from tests.rules.test_tried_imports import card, failure, package, seen

WORK = "/home/ada/work"
PTH = f"{PREFIX}/lib/python3.11/site-packages/agent.pth"
TOLD = failure(kind="RuntimeError", text="RuntimeError: no", found=f"{WORK}/queue.py", outside=True)


def experiments(*proved: Suspect, outcome: ExperimentOutcome = "works", foreign: tuple[str, ...] = ()) -> Experiments:
    run = Experiment(without=proved, outcome=outcome, seconds=2.5)
    return Experiments(
        repeated="same",
        runs=(run,),
        proved=proved if outcome == "works" else (),
        foreign=foreign,
        read=(f"{WORK}/a.json",),
    )


ROWS = [
    (Suspect(kind="variable", name="MY_LEVEL"), "variable_value_wrong", "MY_LEVEL", Unset),
    (
        Suspect(kind="variable", name="LD_LIBRARY_PATH", value="/x"),
        "ld_library_path_override",
        "LD_LIBRARY_PATH",
        Unset,
    ),
    (Suspect(kind="variable", name="LD_PRELOAD", value="/x.so"), "variable_value_wrong", "LD_PRELOAD", Unset),
    (Suspect(kind="variable", name="PYTHONPATH", value=f"/x:{WORK}"), "module_shadowed", f"{WORK}/queue.py", TakeOut),
    (Suspect(kind="folder", name=WORK), "module_shadowed", f"{WORK}/queue.py", GiveOtherName),
    (Suspect(kind="search entry", name=WORK), "module_shadowed", f"{WORK}/queue.py", GiveOtherName),
    (Suspect(kind="user packages", name=WORK), "module_shadowed", f"{WORK}/queue.py", SetForEnvironments),
    (Suspect(kind="start-up file", name=PTH), "module_shadowed", PTH, None),
    (Suspect(kind="settings", name="/home/ada"), "variable_value_wrong", f"{WORK}/a.json", None),
]


@pytest.mark.parametrize(("without", "cause", "subject", "remedy"), ROWS)
def test_the_cause_its_subject_and_its_cure(without: Suspect, cause: str, subject: str, remedy: type | None) -> None:
    found = card(seen(package(TOLD, experiments=experiments(without))))
    assert (found.cause, found.subject, found.severity) == (cause, subject, Severity.ERROR)
    assert found.remedy is None if remedy is None else isinstance(found.remedy, remedy)
    assert subject in found.title
    assert "it works" in {e.value for e in found.evidence}


def test_a_file_that_programs_beside_it_mean_is_not_renamed() -> None:
    own = FoundModule(name="queue", kind="module", path=f"{WORK}/queue.py", meant_by=(f"{WORK}/train.py:3",))
    machine = seen(package(TOLD, experiments=experiments(Suspect(kind="folder", name=WORK))))
    found = card(replace(machine, imports=(ImportSearch(prefix=PREFIX, hidden_standard=(own,)),)))
    assert found.fix
    assert (found.remedy, found.fix.title) == (None, "Rename queue.py")
    assert f"{WORK}/train.py:3 means this queue" in found.fix.advice


def test_a_start_up_file_without_a_module_in_the_way_breaks_pythons_start() -> None:
    told = failure(kind="RuntimeError", text="no")
    found = card(seen(package(told, experiments=experiments(Suspect(kind="start-up file", name=PTH)))))
    assert found.cause == "python_environment_broken"


def test_a_process_that_ended_is_explained_by_what_it_works_without() -> None:
    its = experiments(Suspect(kind="variable", name="MY_LEVEL"))
    ended = replace(package(TOLD), failures=(), state="ended", ended="was killed by SIGABRT", experiments=its)
    assert (card(seen(ended)).cause, card(seen(ended)).severity) == ("variable_value_wrong", Severity.ERROR)


def test_a_variable_that_an_experiment_refutes_is_not_blamed() -> None:
    read = failure(kind="ValueError", text="no", variable="MY_LEVEL")
    refuted = experiments(Suspect(kind="variable", name="MY_LEVEL"), outcome="same")
    assert card(seen(package(read))).cause == "variable_value_wrong"
    assert card(seen(package(read, experiments=refuted))).cause != "variable_value_wrong"


def framework(made: Experiments) -> Finding:
    (found,) = trial_results(
        seen(reached="import", gpu=None, right=None, problem=TOLD.text, failures=(TOLD,), experiments=made)
    )
    return found


def test_a_framework_that_fails_in_use_is_explained_too() -> None:
    found = framework(experiments(Suspect(kind="variable", name="MY_LEVEL")))
    assert (found.cause, found.id) == ("variable_value_wrong", "frameworks.trial-torch")


def test_what_an_experiment_proves_leads() -> None:
    made = experiments(Suspect(kind="variable", name="MY_LEVEL"))
    head = diagnose(seen(package(TOLD, experiments=made)))[0]
    assert (head.cause, head.primary) == ("variable_value_wrong", True)


def test_facts_of_a_trial_survive_a_report() -> None:
    trial = FrameworkTrial(prefix=PREFIX, framework="torch", experiments=experiments(Suspect(kind="folder", name=WORK)))
    assert trial.experiments is not None
    assert trial.experiments.seconds == 2.5
