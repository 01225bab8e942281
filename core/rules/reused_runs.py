"""The rules on one machine, and again on machines that differ from it in few sections: another way of starting, or one variable.

A rule is a pure function of the sections that it reads, so its findings hold as long as these are the same.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from core.model.facts import Snapshot
from core.model.findings import Finding
from core.rules.every_rule import Rule
from core.rules.guard import rule_name, run_guarded

SECTIONS = frozenset(Snapshot.__struct_fields__)


class RuleRuns:
    """What each rule read and found on one machine."""

    def __init__(self, rules: tuple[Rule, ...], seen: Snapshot) -> None:
        self._rules, self._seen = rules, seen
        self._runs = [_run(rule, seen) for rule in rules]

    def findings(self, seen: Snapshot) -> list[Finding]:
        """Return every rule's findings; only rules that read a section which differs from the first machine's are run again."""
        same = {name for name in SECTIONS if getattr(seen, name) is getattr(self._seen, name)}
        runs = (
            found if read <= same else _run(rule, seen)[1]
            for rule, (read, found) in zip(self._rules, self._runs, strict=True)
        )
        return [finding for found in runs for finding in found]


class _Reading:
    """A Snapshot whose attributes are taken over when they are first read: ``vars`` tells which were."""

    def __init__(self, seen: Snapshot) -> None:
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        value = vars(self)[name] = getattr(self._seen, name)
        return value


def _run(rule: Rule, seen: Snapshot) -> tuple[frozenset[str], list[Finding]]:
    """Return what a rule read and found; of one that fails, its findings up to then and one about the failure."""
    reading, found = _Reading(seen), list[Finding]()
    run_guarded(partial(_collect, rule, cast("Snapshot", reading), found), rule_name(rule), found, None)
    return frozenset(vars(reading)) - {"_seen"}, found


def _collect(rule: Rule, seen: Snapshot, found: list[Finding]) -> None:
    for finding in rule(seen):
        found.append(finding)
