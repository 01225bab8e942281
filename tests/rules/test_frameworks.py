"""Rules about Python environments on disk, and about what the scan could not look at."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import ProbeError
from core.model.steps import Severity, Step
from core.rules import incomplete_scan
from core.rules.frameworks import environments
from tests import machines as m


def test_an_environment_with_a_framework_is_told() -> None:
    assert [f.title for f in environments.environment_contents(m.wheel_machine())] == [
        f"The Python environment {m.PREFIX} has torch 2.6.0."
    ]


def test_a_named_environment_that_could_not_be_read_is_not_decided() -> None:
    python = m.python(problem="There is no Python environment here.", distributions=())
    found = [f for rule in environments.RULES for f in rule(replace(m.wheel_machine(), pythons=(python,)))]
    assert [(f.severity, f.subject) for f in found] == [(Severity.UNKNOWN, m.PREFIX)]


def test_where_no_python_is_the_step_is_to_name_another_place() -> None:
    """Files cannot be compared, nor a computation run, where nothing lies."""
    python = m.python(executable="", problem="There is no Python environment here.", distributions=())
    (found,) = environments.unreadable_environment(replace(m.wheel_machine(), pythons=(python,)))
    assert found.fix is not None
    assert found.fix.title == "Name the environment itself"


@pytest.mark.parametrize(
    ("probe", "step"), [("driver", Step.DRIVER), ("loads", Step.CUDNN), ("somewhere", Step.ENVIRONMENT)]
)
@pytest.mark.parametrize("kind", ["crash", "time-out", "cancelled", "refused"])
def test_what_was_not_looked_at_is_said(probe: str, step: Step, kind: str) -> None:
    error = ProbeError(probe=probe, kind=kind, message="why")
    found = list(incomplete_scan.probe_errors(replace(m.wheel_machine(), errors=(error,))))
    assert [(f.severity, f.step, f.subject) for f in found] == [(Severity.UNKNOWN, step, probe)]
