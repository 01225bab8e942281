"""Engines for tests: one that shows a given report, and one that really repairs a machine made of files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor.engine import ActionResult, Preview, ThisMachine
from core.doctor.examine import diagnose_snapshot, explain_text
from core.doctor.given import Given, read_file, read_text
from core.doctor.named import Choice
from core.doctor.repair import RepairContext
from core.explain import Explanation
from core.model.changes import Value
from core.model.facts import Machine, Snapshot, Variable
from core.model.findings import Finding, Report
from core.report.compare import compare_reports, comparison_text
from core.transaction.execute import Outcome
from core.transaction.journal import Entry, Journal, UnreadableEntry
from tests.host.fake import FakeHost
from tests.transaction.memory_store import MemoryWriter


class Showing:
    """Shows a report, or what a function makes; changes nothing."""

    def __init__(self, report: Report | Callable[[Progress], Report]) -> None:
        self.report = report
        self.past: tuple[Entry | UnreadableEntry, ...] = ()
        self.after: Report | None = None
        self.asked: list[str] = []
        self.named: list[str] = []

    def examine(self, watch: Progress, named: str = "") -> Report:
        self.named.append(named)
        return self.report if isinstance(self.report, Report) else self.report(watch)

    def running_programs(self) -> tuple[Choice, ...]:
        return ()

    def read_given(self, path: str, text: str) -> Given:
        return read_file(path) if path else read_text(text)

    def compare(self, here: Report, there: Report | None, path: str) -> str:
        return comparison_text(compare_reports(here, there or read_file(path).report or here))

    def benchmark(self, report: Report, quick: bool, watch: Progress) -> Report:
        self.asked.append("quick" if quick else "whole")
        return self.after or report

    def explain(self, text: str, snapshot: Snapshot | None) -> Explanation:
        return explain_text(text, snapshot, None, Progress())[0]

    def propose(self, finding: Finding, report: Report, source: str, watch: Progress) -> Preview:
        raise NotImplementedError

    def apply(self, preview: Preview, watch: Progress) -> ActionResult:
        raise NotImplementedError

    def undo(self, entries: tuple[str, ...], watch: Progress) -> ActionResult:
        return ActionResult(Outcome(kind="refused", sentence="Nothing was changed."))

    def history(self) -> tuple[Entry | UnreadableEntry, ...]:
        return self.past


@dataclass(frozen=True)
class Kept(FakeHost):
    """A machine whose variables are those that the writer keeps, so that what is written is seen."""

    writer: MemoryWriter = field(default_factory=lambda: MemoryWriter("windows"))
    """Keys are as the writer makes them; the names in the variables are as they were recorded."""
    recorded: tuple[Variable, ...] = ()

    def variables(self) -> tuple[Variable, ...]:
        found = []
        for v in self.recorded:
            value = self.writer.read(v.name, v.scope, "")
            if value is not None:
                found.append(replace(v, value=value.text))
        return tuple(found)


class Repairing(ThisMachine):
    """The real engine with a real journal, on a recorded machine whose search path is what the writer keeps."""

    def __init__(
        self, folder: Path, recorded: tuple[Variable, ...], see: Callable[[tuple[Variable, ...]], Snapshot]
    ) -> None:
        self.writer = MemoryWriter("windows")
        for v in recorded:
            self.writer.write(v.name, v.scope, "", Value(text=v.value, kind=v.kind))
        host = Kept(root=folder, facts=Machine(system="windows"), writer=self.writer, recorded=recorded)
        self.journal = Journal(folder / "state")
        shop = RepairContext(
            host=host, writer=self.writer, journal=self.journal, machine_journal=Journal(folder / "all")
        )
        super().__init__(make=lambda: shop, look=lambda seen, _watch: diagnose_snapshot(see(seen.variables())))

    def running_programs(self) -> tuple[Choice, ...]:
        return ()

    @property
    def path(self) -> str:
        """The user's PATH as it is kept now."""
        return self.kept("Path") or ""

    def kept(self, name: str) -> str | None:
        """Return a variable of the user as it is kept now."""
        value = self.writer.read(name, "user", "")
        return value.text if value else None
