"""Engines for tests: one that shows a given report, and one that really repairs a machine made of files."""

from __future__ import annotations

from collections.abc import Callable

from core.apply import Outcome
from core.explain import Explanation, explain
from core.facts import Snapshot
from core.findings import Finding, Report
from core.journal import BadEntry, Entry
from core.watch import Watch
from gui.engine import Done, Preview


class Showing:
    """Shows a report, or what a function makes; changes nothing."""

    def __init__(self, report: Report | Callable[[Watch], Report]) -> None:
        self.report = report
        self.past: tuple[Entry | BadEntry, ...] = ()

    def examine(self, watch: Watch) -> Report:
        return self.report if isinstance(self.report, Report) else self.report(watch)

    def explain(self, text: str, snapshot: Snapshot | None) -> Explanation:
        return explain(text, snapshot)

    def propose(self, finding: Finding, report: Report, source: str, watch: Watch) -> Preview:
        raise NotImplementedError

    def apply(self, preview: Preview, watch: Watch) -> Done:
        raise NotImplementedError

    def undo(self, entries: tuple[str, ...], watch: Watch) -> Done:
        return Done(Outcome(kind="refused", sentence="Nothing was changed."))

    def history(self) -> tuple[Entry | BadEntry, ...]:
        return self.past
