"""Rules about the trial of a person's program."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import Experiment, Experiments, ImportFailure, ProgramTrial, Suspect
from core.model.steps import Severity
from core.rules.frameworks.program_trials import program_results
from core.rules.root_cause import diagnose
from tests.machines import PREFIX, no_gpu_machine, wheel_machine

MAIN = "/home/ada/work/main.py"
LACKS = ImportFailure(
    kind="ModuleNotFoundError", text="No module named 'einops'", module="einops", absent=True, file=MAIN, line=3
)
LEVEL = Suspect(kind="variable", name="MY_LEVEL")
PROVED = Experiments(repeated="same", runs=(Experiment(without=(LEVEL,), outcome="works"),), proved=(LEVEL,))
RUN = ProgramTrial(prefix=PREFIX, path=MAIN, state="failed", problem="no")


@pytest.mark.parametrize(
    ("trial", "cause", "severity", "named"),
    [
        (replace(RUN, state="imported", problem=""), "", Severity.GOOD, "main.py work in"),
        (replace(RUN, failures=(LACKS,)), "requirement_broken", Severity.ERROR, "einops"),
        (replace(RUN, experiments=PROVED), "variable_value_wrong", Severity.ERROR, "MY_LEVEL"),
        (RUN, "", Severity.ERROR, "cannot start"),
        (replace(RUN, state="no answer"), "", Severity.UNKNOWN, "in time"),
    ],
)
def test_each_result(trial: ProgramTrial, cause: str, severity: Severity, named: str) -> None:
    (found,) = program_results(replace(wheel_machine(), program_trials=(trial,)))
    assert (found.cause, found.severity) == (cause, severity)
    assert named in found.title


def test_one_that_wants_a_gpu_is_no_fault_where_there_is_none() -> None:
    wants = replace(RUN, problem="RuntimeError: Found no NVIDIA driver on your system")
    (found,) = program_results(replace(no_gpu_machine(), program_trials=(wants,)))
    assert found.severity is Severity.NOTE


def test_it_leads() -> None:
    head = diagnose(replace(wheel_machine(), program_trials=(replace(RUN, failures=(LACKS,)),)))[0]
    assert head.id == "frameworks.trial-program"
