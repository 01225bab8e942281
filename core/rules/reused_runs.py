"""The rules on one machine, and again on machines that differ from it in few sections: another way of starting, one variable, or what a
scan finds last.

A rule is a pure function of the sections that it reads, so its findings hold as long as these are the same.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, cast

from core.model.facts import Snapshot
from core.model.findings import Finding
from core.rules.every_rule import Rule
from core.rules.guard import rule_name, run_guarded

SECTIONS = frozenset(Snapshot.__struct_fields__)

Run = tuple[frozenset[str], list[Finding]]
"""What a rule read, and what it found."""


class RuleRuns:
    """What each rule read and found on one machine."""

    def __init__(self, rules: tuple[Rule, ...], seen: Snapshot) -> None:
        self._rules, self._seen = rules, seen
        self._runs = [_run(rule, seen) for rule in rules]

    def on(self, seen: Snapshot) -> RuleRuns:
        """Return what each rule reads and finds on a machine; only rules that read a section which differs from this one's are run again."""
        other = copy(self)
        other._seen, other._runs = seen, self._runs_on(seen)
        return other

    def findings(self, seen: Snapshot) -> list[Finding]:
        """Return every rule's findings on a machine."""
        return [finding for _read, found in self._runs_on(seen) for finding in found]

    def _runs_on(self, seen: Snapshot) -> list[Run]:
        same = {name for name in SECTIONS if getattr(seen, name) is getattr(self._seen, name)}
        runs = zip(self._rules, self._runs, strict=True)
        return [run if run[0] <= same else _run(rule, seen) for rule, run in runs]


class _Reading:
    """A Snapshot whose attributes are taken over when they are first read: ``vars`` tells which were."""

    def __init__(self, seen: Snapshot) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        value = vars(self)[name] = getattr(self._seen, name)
        return value


def _run(rule: Rule, seen: Snapshot) -> Run:
    """Return what a rule read and found; of one that fails, its findings up to then and one about the failure."""
    reading, found = _Reading(seen), list[Finding]()
    run_guarded(partial(_collect, rule, cast("Snapshot", reading), found), rule_name(rule), found, None)
    return frozenset(vars(reading)) - {"_seen"}, found


def _collect(rule: Rule, seen: Snapshot, found: list[Finding]) -> None:
    for finding in rule(seen):
        found.append(finding)
