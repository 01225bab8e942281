"""Rules that are not run again on a machine with another section find there what they found before."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from core.model.facts import Snapshot
from core.rules.every_rule import RULES
from core.rules.reused_runs import RuleRuns
from tests.machines import system_machine, wheel_machine, windows_machine
from tests.test_same_everywhere import MACHINES

NAMES = tuple(MACHINES)[::12]
OF_WAYS = ("environment", "loads", "closures", "imports", "driver")
"""The sections in which another way of starting differs."""


@pytest.mark.parametrize(("name", "other"), tuple(pairwise(NAMES)))
def test_a_machine_with_the_sections_of_another_is_judged_as_if_anew(name: str, other: str) -> None:
    seen, donor = MACHINES[name](), MACHINES[other]()
    runs = RuleRuns(RULES, seen)
    for section in OF_WAYS:
        its = msgspec.structs.replace(seen, **{section: getattr(donor, section)})
        assert runs.findings(its) == RuleRuns(RULES, its).findings(its), section


@pytest.mark.parametrize("section", Snapshot.__struct_fields__)
def test_every_section_that_changes_is_read_anew(section: str) -> None:
    for seen, donor in pairwise([wheel_machine(), system_machine(), windows_machine()]):
        its = msgspec.structs.replace(seen, **{section: getattr(donor, section)})
        assert RuleRuns(RULES, seen).findings(its) == RuleRuns(RULES, its).findings(its)


def test_only_rules_that_read_what_differs_run_again() -> None:
    seen, ran = wheel_machine(), []

    def of_driver(seen: Snapshot):
        ran.append(seen.driver)
        yield from ()

    def of_imports(seen: Snapshot):
        ran.append(seen.imports)
        yield from ()

    runs = RuleRuns((of_driver, of_imports), seen)
    ran.clear()
    runs.findings(msgspec.structs.replace(seen, imports=()))
    assert ran == [()]


@pytest.mark.parametrize("missing", [("loads", "start_looks"), ("driver", "closures", "vocabularies", "machine")])
def test_what_was_found_before_a_scan_ended_is_as_if_found_at_its_end(missing: tuple[str, ...]) -> None:
    for seen, donor in pairwise([wheel_machine(), system_machine(), windows_machine()]):
        part = msgspec.structs.replace(seen, **{s: donor.machine if s == "machine" else None for s in missing})
        its = msgspec.structs.replace(seen, environment=donor.environment)
        runs = RuleRuns(RULES, part).on(seen)
        for machine in (seen, its):
            assert runs.findings(machine) == RuleRuns(RULES, machine).findings(machine)
