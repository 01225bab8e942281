"""What is made already is evidence, and is not offered again."""

from __future__ import annotations

from msgspec.structs import replace

from core.fixes.already_made import without_made_changes
from core.host.activation_scripts import ACTIVATION_KIND
from core.model.changes import SetVariable, Value
from core.model.facts import Activation, Environment, Machine, PythonEnvironment, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.steps import Severity, Step


def drop(prefix: str, steps: str = "drop /bad") -> SetVariable:
    return SetVariable(
        name="LD_LIBRARY_PATH", scope="environment", at=prefix, after=Value(text=steps, kind=ACTIVATION_KIND)
    )


SEEN = Snapshot(
    machine=Machine(system="linux"),
    environment=Environment(
        activations=(Activation(name="LD_LIBRARY_PATH", at="/v", steps="prepend /new\ndrop /bad", entry="E"),)
    ),
    pythons=(PythonEnvironment(prefix="/v", kind="venv"),),
)
ROW = Evidence(label="Found first", value="/bad/libcudnn.so.9")
FOUND = Finding(
    id="a.b", cause="c", step=Step.CUDNN, severity=Severity.ERROR, title="It is broken.", evidence=(ROW,),
    fix=Fix(title="Take it out", changes=(drop("/v"),), advice="Remove the line that sets it.", restart="terminal"),
)  # fmt: skip


def test_the_identical_change_is_not_offered_again() -> None:
    told = without_made_changes(FOUND, SEEN)
    assert (told.id, told.severity) == (FOUND.id, FOUND.severity)
    assert told.evidence == (
        Evidence(label="Already fixed", value="through the activation of /v", source="entry E of the history"),
        ROW,
    )
    assert told.why == "Programs that start through the activation of /v are already fixed."
    assert told.fix
    assert told.fix.changes == ()
    assert "source /v/bin/activate" in told.fix.advice
    assert "Remove the line that sets it." in told.fix.advice
    assert told.fix.restart == "terminal"


def test_what_is_new_is_offered_as_before() -> None:
    for change in (drop("/v", "drop /other"), drop("/v", "drop /bad\ndrop /other"), drop("/w")):
        finding = replace(FOUND, fix=replace(FOUND.fix, changes=(change,)))
        assert without_made_changes(finding, SEEN) == finding
    assert without_made_changes(replace(FOUND, fix=None), SEEN) == replace(FOUND, fix=None)
    plain = replace(SEEN, environment=replace(SEEN.environment, activations=()))
    assert without_made_changes(FOUND, plain) == FOUND


def test_of_two_environments_the_other_one_is_still_offered() -> None:
    both = replace(FOUND, fix=replace(FOUND.fix, changes=(drop("/v"), drop("/w"))))
    told = without_made_changes(both, SEEN)
    assert told.fix == replace(FOUND.fix, changes=(drop("/w"),))
    assert told.evidence[0].label == "Already fixed"


def test_a_change_elsewhere_than_in_an_activation_is_never_made_already() -> None:
    lasting = SetVariable(
        name="LD_LIBRARY_PATH", scope="user", at="/v", after=Value(text="drop /bad", kind=ACTIVATION_KIND)
    )
    for change in (lasting, replace(drop("/v"), after=None), replace(drop("/v"), name="PATH")):
        finding = replace(FOUND, fix=replace(FOUND.fix, changes=(change,)))
        assert without_made_changes(finding, SEEN) == finding
