"""A verdict is the same in every language and for every kind of environment, over every recorded and every made machine."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from core.common import i18n
from core.doctor.examine import diagnose_snapshot
from core.model.facts import Snapshot
from core.model.findings import Report
from core.rules.root_cause import importance_of_findings, is_consequence, may_lead
from tests.rules import more_machines, test_frameworks_cublas
from tests.test_pseudo import MADE, RULES, snapshot

LANGUAGES = ("de", "zh_CN")


def machines() -> Iterator[tuple[str, Callable[[], Snapshot]]]:
    """Yield every machine that the tests have."""
    for name in MADE:
        yield name, functools.partial(snapshot, name)
    for name, made in RULES.items():
        yield f"rule {name}", made if callable(made) else functools.partial(replace, made)
    for name, seen in more_machines.MACHINES.items():
        yield f"rule {name}", functools.partial(replace, seen)


MACHINES = dict(machines())


KINDS = {"conda": "the conda environment", "store": "the Microsoft Store's Python"}
"""Kind of environment, and how the probe words it."""
CONDAS_OWN = (
    *(f"rule frameworks: {name}" for name, *_ in test_frameworks_cublas.TABLE),
    *(f"rule ended imports: {name}" for name in more_machines.ENDED),
)
"""Where conda is another matter: its interpreter leads extension modules to its own lib folder, so they miss nothing; and a
package may be there without a distribution of its name."""
OVERLAYS = ("rule imports: a second torch by user site", "rule imports: Windows, a second torch by the user")
"""Where the Store's Python is another matter: what its user installs is an overlay that is meant."""


def twin(seen: Snapshot, kind: str) -> Snapshot:
    """Return the same machine with an environment of another kind wherever it has a venv."""
    document = json.loads(msgspec.json.encode(seen))

    def turn(value: Any) -> Any:
        if isinstance(value, list):
            return [turn(v) for v in value]
        if not isinstance(value, dict):
            return value
        value = {name: turn(v) for name, v in value.items()}
        if value.get("kind") in ("venv", "python"):
            value["kind"] = kind
        if value.get("label", "").startswith("the Python environment"):
            value["label"] = value["label"].replace("the Python environment", KINDS[kind])
        return value

    return msgspec.convert(turn(document), Snapshot)


def verdicts(report: Report) -> dict[str, object]:
    """Return what a report says to a program."""
    return {
        "findings": [
            (f.id, f.all_subjects, f.severity.word, f.cause, f.consumers, f.primary, f.headline, f.follows_from)
            for f in report.findings
        ],
        "grid": [
            (r.prefix, [(c.framework, c.verdict, c.finding) for c in r.cells])
            for r in (report.grid.rows if report.grid else ())
        ],
    }


@pytest.mark.parametrize("name", MACHINES)
def test_a_verdict_is_the_same_in_every_language(name: str) -> None:
    seen = MACHINES[name]()
    for machine in (seen, twin(seen, "conda")):
        english = verdicts(diagnose_snapshot(machine))
        for language in LANGUAGES:
            i18n.use_language(language)
            assert verdicts(diagnose_snapshot(machine)) == english
        i18n.use_language(i18n.ENGLISH)


@pytest.mark.parametrize("name", MACHINES)
def test_every_kind_of_environment_is_judged_as_a_venv_is(name: str) -> None:
    seen = MACHINES[name]()
    of_venv = verdicts(diagnose_snapshot(seen))
    for kind in KINDS:
        if name not in (CONDAS_OWN if kind == "conda" else OVERLAYS):
            assert verdicts(diagnose_snapshot(twin(seen, kind))) == of_venv


@pytest.mark.parametrize("name", MACHINES)
def test_nothing_that_matters_as_much_is_worse_than_the_primary_and_no_consequence_of_it(name: str) -> None:
    seen = MACHINES[name]()
    report = diagnose_snapshot(seen)
    primary, importance = report.primary, importance_of_findings(seen)
    led = [f for f in report.findings if f.headline]
    assert len(led) <= 1
    assert report.headline in (None, *led)
    assert bool(led) == any(may_lead(f) for f in report.findings)
    for f in report.findings if primary else ():
        if may_lead(f) and importance(f) <= importance(primary) and f.severity > primary.severity:
            assert is_consequence(f, primary)
            assert f.follows_from == primary.id


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_open_says_what_would_decide_it(name: str) -> None:
    for f in diagnose_snapshot(MACHINES[name]()).findings:
        if f.severity.word == "unknown" or (f.headline and not f.primary):
            assert f.fix is not None
            assert f.fix.advice
