"""Engine: what the window needs from core, as a Protocol, and its implementation for this machine. No Qt, and no early imports."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from core.common.i18n import _, n_
from core.common.progress import CancelledError, Progress

if TYPE_CHECKING:  # the engine itself is loaded on the worker's thread: the window is there before it
    from core.doctor.given import Given
    from core.doctor.named import Choice
    from core.doctor.repair import Proposal, RepairContext
    from core.explain import Explanation
    from core.host.interface import Host
    from core.model.facts import Snapshot
    from core.model.findings import Finding, Report
    from core.rehearsal.rehearse import Rehearsal
    from core.transaction.execute import Outcome
    from core.transaction.journal import Entry, UnreadableEntry


@dataclass(frozen=True)
class Preview:
    """A fix as it is shown before anything is done."""

    proposal: Proposal
    rehearsal: Rehearsal | None
    """The result of the rehearsal; None if the fix cannot be made anyway."""
    report: Report
    """The report that has the finding."""


@dataclass(frozen=True)
class ActionResult:
    """How a plan or its undo ended, with the machine's state afterwards."""

    outcome: Outcome
    report: Report | None = None
    """The examination that followed; None where nothing was changed."""
    running: tuple[str, ...] | None = ()
    """Names of running programs that still have the old variables; None where that is not known."""


class Engine(Protocol):
    """The verbs behind the window's buttons. Each is called on the worker's thread, one at a time."""

    def examine(self, watch: Progress, named: str = "") -> Report:
        """Examine and diagnose the machine; ``named``: what the person named, examined first."""
        ...

    def running_programs(self) -> tuple[Choice, ...]:
        """Return the programs that run now and that the person may name."""
        ...

    def read_given(self, path: str, text: str) -> Given:
        """Read what the person gave: a file, or a text."""
        ...

    def compare(self, here: Report, there: Report | None, path: str) -> str:
        """Return in lines what differs between this computer and another, whose report may be in a file."""
        ...

    def benchmark(self, report: Report, quick: bool, watch: Progress) -> Report:
        """Run convolutions on the GPUs; return the report with what was measured."""
        ...

    def explain(self, text: str, snapshot: Snapshot | None) -> Explanation:
        """Explain an error text, and prove or refute its causes on a Snapshot."""
        ...

    def propose(self, finding: Finding, report: Report, source: str, watch: Progress) -> Preview:
        """Plan a finding's fix and rehearse it; from a file or folder ``source``, where one is named. Changes nothing."""
        ...

    def apply(self, preview: Preview, watch: Progress) -> ActionResult:
        """Carry a fix out and verify it; everything is undone where it does not cure, or on cancelling."""
        ...

    def undo(self, entries: tuple[str, ...], watch: Progress) -> ActionResult:
        """Undo entries of the history, in this order; stop at the first that is refused."""
        ...

    def history(self) -> tuple[Entry | UnreadableEntry, ...]:
        """Return what was changed on this machine, oldest first."""
        ...


class ThisMachine:
    """The engine on the running system, or on the RepairContext that a test makes."""

    def __init__(
        self,
        pythons: tuple[str, ...] = (),
        make: Callable[[], RepairContext] | None = None,
        look: Callable[[Host, Progress], Report] | None = None,
    ) -> None:
        self._pythons = pythons
        self._make = make
        self._how = look
        self._made: RepairContext | None = None
        self._named = ""

    def _shop(self) -> RepairContext:
        if self._made is None:
            from core.doctor import repair
            from core.host.this_host import this_host

            self._made = self._make() if self._make else repair.repair_context(this_host())
            repair.recover(self._made)  # what a crash interrupted is undone before anybody looks
        return self._made

    def examine(self, watch: Progress, named: str = "") -> Report:
        """See Engine."""
        self._named = named  # the cure is tried under the conditions in which the fault was found
        shop = self._shop()
        report = self._look(shop.current_host(), watch)
        if shop.policy.report_share:
            from core.doctor.report_share import share_report

            watch.say(share_report(report, shop.policy))
        return report

    def running_programs(self) -> tuple[Choice, ...]:
        """See Engine."""
        from core.doctor.named import running_choices

        return running_choices()

    def read_given(self, path: str, text: str) -> Given:
        """See Engine."""
        from core.doctor.given import read_file, read_text

        return read_file(path) if path else read_text(text)

    def compare(self, here: Report, there: Report | None, path: str) -> str:
        """See Engine."""
        from core.doctor.given import read_file
        from core.report.compare import compare_reports, comparison_text

        given = read_file(path) if there is None else None
        other = there or (given.report if given else None)
        if other is None:
            return (given.problem if given else "") or _("This file is not a report.")
        return comparison_text(compare_reports(here, other))

    def _look(self, host: Host, watch: Progress) -> Report:
        from core.doctor.examine import examine
        from core.doctor.named import environment_in
        from core.doctor.programs import sort_chosen
        from core.model.scan_options import ScanOptions

        if self._how:
            report = self._how(host, watch)
        else:
            chosen = sort_chosen((environment_in(self._named),) if self._named else (), host)
            pythons = (*chosen.pythons, *self._pythons)
            named = bool(self._named)
            options = ScanOptions(
                pythons=pythons,
                programs=chosen.programs,
                script=chosen.script,
                script_folder=chosen.script_folder,
                trials=named,
                at_once=named,
            )
            report = examine(host, watch, options)
        watch.check()  # a cancelled examination is no result, and what was being verified is undone
        return report

    def _look_again(self, shop: RepairContext, watch: Progress) -> Report | None:
        """Scan after a change that is final: cancelling this scan undoes nothing."""
        with suppress(CancelledError):
            return self._look(shop.current_host(), watch)
        return None

    def benchmark(self, report: Report, quick: bool, watch: Progress) -> Report:
        """See Engine."""
        from core.benchmark.extent import full_run, quick_run
        from core.doctor.benchmark import measure_speed
        from core.model.scan_options import ScanOptions

        extent = quick_run() if quick else full_run()
        measured = measure_speed(
            self._shop().current_host(),
            watch,
            seen=report.snapshot,
            options=ScanOptions(pythons=self._pythons),
            extent=extent,
        )
        watch.check()
        return measured

    def explain(self, text: str, snapshot: Snapshot | None) -> Explanation:
        """See Engine."""
        from core.doctor.examine import explain_text

        return explain_text(text, snapshot, None, Progress())[0]

    def propose(self, finding: Finding, report: Report, source: str, watch: Progress) -> Preview:
        """See Engine."""
        from core.doctor import repair
        from core.model.changes import ChangeError

        shop = self._shop()
        watch.say(_("Preparing the changes"))
        if source:
            try:
                finding = repair.fix_from_cudnn_set(source, finding, report.snapshot, shop, watch)
            except ChangeError as e:
                return Preview(repair.refused_proposal(finding, str(e)), None, report)
        proposal = repair.propose(finding, shop)
        watch.check()
        if proposal.problems:
            return Preview(proposal, None, report)
        if (
            not proposal.is_prepared
        ):  # pressing the button downloads, tries the packages in a twin, and only then changes anything
            from core.fixes.packages.installer import Sources
            from core.rehearsal.rehearse import Rehearsal

            where = repair.fetched_from(proposal, Sources(), shop, watch)
            return Preview(proposal, Rehearsal(works=None, sentence=where), report)
        watch.say(_("Rehearsing it; nothing is changed"))
        return Preview(proposal, repair.rehearse(proposal, report, shop, watch, lambda h: self._look(h, watch)), report)

    def apply(self, preview: Preview, watch: Progress) -> ActionResult:
        """See Engine."""
        from core.doctor import repair
        from core.host.linux import processes as running

        shop, seen = self._shop(), []

        def look(host: Host) -> Report:
            watch.say(_("Scanning again to verify it"))
            seen.append(self._look(host, watch))
            return seen[-1]

        watch.check()
        watch.say(_("Making the changes"))
        outcome = repair.apply(preview.proposal, preview.report, shop, look, watch)
        if outcome.kind != "done":
            return ActionResult(outcome)
        # the verification examined the machine as new programs see it; a scan from here would still see the old
        # variables
        report = seen[-1] if seen else self._look_again(shop, watch)
        return ActionResult(outcome, report, running.with_old_variables(preview.proposal.plan.changes))

    def undo(self, entries: tuple[str, ...], watch: Progress) -> ActionResult:
        """See Engine."""
        from core.doctor import repair

        shop = self._shop()
        outcome = repair.undo(entries[0], shop)
        for n, entry in enumerate(entries[1:], 1):
            if outcome.kind != "undone":
                break
            if watch.cancelled:
                left = len(entries) - n
                from msgspec.structs import replace

                note = n_("{n} change was left as it is.", "{n} changes were left as they are.", left)
                outcome = replace(outcome, notes=(*outcome.notes, note))
                break
            outcome = repair.undo(entry, shop)
        return ActionResult(outcome, self._look_again(shop, watch) if outcome.kind == "undone" else None)

    def history(self) -> tuple[Entry | UnreadableEntry, ...]:
        """See Engine."""
        from core.doctor import repair

        return repair.history(self._shop())
