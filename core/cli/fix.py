"""The commands fix and undo: preview, rehearsal, consent, result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from core.cli.terminal import UsageError, progress_on_stderr, say_json, say_result, status_of
from core.common.consent import consent_hint, is_consent
from core.common.exit_codes import OK, REFUSED, STUCK
from core.common.i18n import _, format_number, join_sentences
from core.common.text import printable
from core.common.text_width import pad
from core.doctor import repair
from core.doctor.examine import examine
from core.doctor.offers import takes_cudnn
from core.doctor.repair import Proposal, RepairContext
from core.doctor.verify import verification_sentences
from core.host.interface import Host
from core.host.this_host import this_host
from core.model.changes import ChangeError
from core.model.findings import Finding, Report
from core.model.scan_options import ScanOptions
from core.report.json_form import indented_json
from core.report.text import restart_now
from core.transaction.execute import VerifiedFor
from core.transaction.journal import Entry, UnreadableEntry
from core.transaction.variable_store import error_sentence

if TYPE_CHECKING:
    import argparse

    from core.transaction.execute import Outcome


class FixLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of ``run_fix`` for one finding, in the JSON form."""

    finding: str
    cause: str
    title: str
    changes: tuple[str, ...] = ()
    """The preview, with - and +."""
    advice: str = ""
    rehearsal: str = ""
    works: bool | None = None
    outcome: str = ""
    sentence: str = ""
    entry: str = ""
    verified_for: tuple[VerifiedFor, ...] = ()


class _Run(NamedTuple):
    """One call of the command: the machine, what was asked for, and where it is said."""

    shop: RepairContext
    options: argparse.Namespace
    scan: ScanOptions

    def look(self, host: Host) -> Report:
        """Scan a machine as the options say."""
        with progress_on_stderr() as watch:
            return examine(host, watch, self.scan)

    def tell(self, text: str) -> None:
        """Print a text for the person; nothing where a program reads JSON."""
        if not self.options.json:
            say_result(text)


def run_fix(options: argparse.Namespace) -> int:
    """Cure the findings named, or the primary one."""
    scan = ScanOptions(
        pythons=tuple(options.python), thorough=options.thorough, trials=options.trials, at_once=options.trials
    )
    for source in (options.cudnn, options.source):
        if source and not Path(source).exists():
            raise UsageError(_("{name} does not exist.", name=source))
    shop = repair.repair_context(this_host())
    _recover(shop)
    run = _Run(shop, options, scan)
    report = run.look(shop.current_host())
    rows: list[FixLine] = []
    refused = stuck = False
    for finding in chosen_findings(report, options.findings):
        offered = _with_source(finding, report, options.cudnn, shop) if options.cudnn else finding
        if options.fetch_cudnn and takes_cudnn(offered):
            offered = _with_fetched(offered, report, run)
        line, report = _cure(offered, report, run)
        rows.append(line)
        refused = refused or line.outcome in ("refused", "declined", "rolled back")
        stuck = stuck or line.outcome == "stuck"
    if options.json:
        say_json(indented_json({"schema": 1, "fixes": rows}))
    elif not rows:
        found_nothing = _("There is nothing to fix: no fault was found.")
        say_result(join_sentences(found_nothing, *(f.title for f in report.not_examined)) + "\n")
    if stuck:
        return STUCK
    if refused:
        return REFUSED
    return status_of(report)


def chosen_findings(report: Report, ids: Sequence[str]) -> tuple[Finding, ...]:
    """Return the findings with these ids; without ids the headline.

    Raises:
        UsageError: there is none with an id.
    """
    if not ids:
        return (report.headline,) if report.headline else ()
    known = {f.id for f in report.findings}
    for wish in ids:
        if wish not in known and report.not_examined:
            titles = join_sentences(*(f.title for f in report.not_examined))
            raise UsageError(
                _("this scan did not find {wish}, and it is incomplete: {titles}", wish=repr(wish), titles=titles)
            )
        if wish not in known:
            raise UsageError(
                _(
                    "there is no finding {wish} on this machine now; `convalesce scan --json` lists them.",
                    wish=repr(wish),
                )
            )
    return tuple(f for f in report.findings if f.id in ids)


def _with_source(finding: Finding, report: Report, source: str, shop: RepairContext) -> Finding:
    try:
        with progress_on_stderr() as watch:
            return repair.fix_from_cudnn_set(source, finding, report.snapshot, shop, watch)
    except ChangeError as e:
        raise UsageError(str(e)) from None


def _with_fetched(finding: Finding, report: Report, run: _Run) -> Finding:
    """Return the finding with a downloaded cuDNN as its fix; unchanged if the person does not agree to the download."""
    shop, options = run.shop, run.options
    sources = repair.package_sources("", options.index, offline=options.offline)
    try:
        with progress_on_stderr() as watch:
            where = repair.cudnn_origin(finding, report.snapshot, shop, sources, watch)
        if where:
            run.tell(f"{where}\n")
        if where and not options.yes and not _ask_agreement(_("Download it?")):
            return finding
        with progress_on_stderr() as watch:
            return repair.fix_from_fetched_cudnn(finding, report.snapshot, shop, sources, watch)
    except (ChangeError, OSError) as e:
        raise UsageError(error_sentence(e)) from None


def _cure(finding: Finding, report: Report, run: _Run) -> tuple[FixLine, Report]:
    """Take one finding from its preview to its end; return what happened and the newest report."""
    given = finding.fix
    line = FixLine(
        finding=finding.id,
        cause=finding.cause,
        title=given.title if given else finding.title,
        advice=given.advice if given else "",
    )
    run.tell(f"{finding.title}\n")
    if given is None or not given.changes:
        run.tell(_by_hand(finding))
        return line, report
    proposal = repair.propose(finding, run.shop)
    line = msgspec.structs.replace(line, changes=proposal.plan.lines())
    run.tell(_preview(proposal))
    if proposal.problems:
        run.tell(_("This cannot be done now: {problem}", problem=proposal.problems[0]) + "\n")
        return _close(line, "refused", proposal.problems[0]), report
    if not proposal.is_prepared:
        made = _prepare(proposal, report, run)
        if isinstance(made, _NotPrepared):
            return _close(line, made.outcome, made.sentence), report
        proposal, line = made, msgspec.structs.replace(line, changes=made.plan.lines())
    try:
        return _carry_out(proposal, line, report, run)
    finally:
        repair.discard_prepared(proposal, run.shop)


def _carry_out(proposal: Proposal, line: FixLine, report: Report, run: _Run) -> tuple[FixLine, Report]:
    """Rehearse, ask, apply."""
    shop, options, look, tell = run.shop, run.options, run.look, run.tell
    with progress_on_stderr() as watch:
        rehearsal = repair.rehearse(proposal, report, shop, watch, look)
    line = msgspec.structs.replace(line, rehearsal=rehearsal.sentence, works=rehearsal.works)
    tell(f"{rehearsal.sentence}\n")
    if options.dry_run:
        return line, report
    if rehearsal.works is False:
        return _close(line, "refused", _("The rehearsal failed, so nothing was changed.")), report
    if not options.yes and not _consent(rehearsed=bool(rehearsal.works)):
        tell(_("Nothing was changed.") + "\n")
        return _close(line, "declined", _("Nothing was changed.")), report
    outcome: Outcome = repair.apply(proposal, report, shop, look)
    tell(f"{outcome.sentence}\n" + (_restart_text(proposal.finding, outcome) if outcome.kind == "done" else ""))
    after = look(shop.current_host()) if outcome.kind == "done" else report
    line = msgspec.structs.replace(line, verified_for=outcome.verified_for)
    return _close(line, outcome.kind, outcome.sentence, outcome.entry), after


class _NotPrepared(NamedTuple):
    """Why a change of packages was not prepared."""

    outcome: Literal["declined", "refused"]
    sentence: str


def _prepare(proposal: Proposal, report: Report, run: _Run) -> Proposal | _NotPrepared:
    """Prepare the change of packages, after consent to download them; or return why not."""
    shop, options, tell = run.shop, run.options, run.tell
    sources = repair.package_sources(options.source, options.index, offline=options.offline, guard=options.guard)
    with progress_on_stderr() as watch:
        where = repair.fetched_from(proposal, sources, shop, watch)
    tell((where or _("Nothing is downloaded: only files on this machine are used.")) + "\n")
    if (
        where
        and not options.yes
        and not _ask_agreement(_("Download what is needed, and test it in a copy of the environment?"))
    ):
        tell(_("Nothing was downloaded.") + "\n")
        return _NotPrepared("declined", _("Nothing was downloaded."))
    try:
        with progress_on_stderr() as watch:
            made = repair.prepare(proposal, report, shop, watch, sources)
    except (ChangeError, OSError) as e:
        words = error_sentence(e)
        tell(join_sentences(_("Nothing was changed."), words) + "\n")
        return _NotPrepared("refused", words)
    tell(_preview(made))
    if made.problems:
        repair.discard_prepared(made, shop)
        tell(_("This cannot be done now: {problem}", problem=made.problems[0]) + "\n")
        return _NotPrepared("refused", made.problems[0])
    return made


def _close(line: FixLine, outcome: str, sentence: str, entry: str = "") -> FixLine:
    return msgspec.structs.replace(line, outcome=outcome, sentence=sentence, entry=entry)


def _by_hand(finding: Finding) -> str:
    if finding.fix is None or not finding.fix.advice:
        return _("Convalesce cannot do anything about it.") + "\n"
    return _("You have to do this yourself: {title}", title=finding.fix.title) + f"\n{finding.fix.advice}\n"


def _preview(proposal: Proposal) -> str:
    lines = [_("{title}. This would change:", title=proposal.plan.title), *proposal.plan.lines()]
    if proposal.elevated:
        lines.append(_("An administrator has to allow it."))
    return "\n".join(lines) + "\n"


def _restart_text(finding: Finding, outcome: Outcome) -> str:
    lines = [*verification_sentences(outcome.verified_for), *filter(None, (outcome.proved,)), *outcome.notes]
    if finding.fix and finding.fix.restart:
        lines.append(join_sentences(restart_now(finding.fix.restart), _("Running programs keep the old values.")))
    lines.append(_("To undo it: convalesce undo {entry}", entry=outcome.entry))
    return "\n".join(lines) + "\n"


def _consent(*, rehearsed: bool) -> bool:
    question = (
        _("Make these changes?") if rehearsed else _("Make these changes even though they could not be rehearsed?")
    )
    return _ask_agreement(question)


def _recover(shop: repair.RepairContext) -> None:
    """Roll back what a crash interrupted, and say so."""
    for outcome in repair.recover(shop):
        print(f"convalesce: {outcome.sentence}", file=sys.stderr)


def run_undo(options: argparse.Namespace) -> int:
    """List what was changed, or undo an entry."""
    shop = repair.repair_context(this_host())
    if not options.list:  # which changes nothing
        _recover(shop)
    if options.let_go:
        return _let_go(options, shop)
    entries = repair.history(shop)
    if options.list:
        say_result("".join(_row(e) for e in entries) or _("Convalesce has never changed anything here.") + "\n")
        return OK
    if options.entry and options.all:
        raise UsageError(_("name an entry or use --all, but not both."))
    chosen = _to_take_back(entries, options)
    if not chosen:
        say_result(_("There is nothing to undo.") + "\n")
        return OK
    for entry in chosen:
        if isinstance(entry, Entry):
            back = [line for c in reversed(entry.changes) for line in c.inverse().lines()]
            say_result("\n".join([_("This undoes: {title}", title=entry.title), *back]) + "\n")
    if not options.yes and not _ask_agreement(_("Undo it?")):
        say_result(_("Nothing was changed.") + "\n")
        return REFUSED
    for entry in chosen:
        outcome = repair.undo(entry.id, shop)
        say_result(f"{outcome.sentence}\n")
        if outcome.kind != "undone":
            return STUCK if outcome.kind == "stuck" else REFUSED
    return OK


def _let_go(options: argparse.Namespace, shop: RepairContext) -> int:
    known = [e for e in repair.history(shop) if e.id == options.let_go]
    if not known:
        raise UsageError(
            _("the history has no entry {wish}; `convalesce undo --list` shows it.", wish=repr(options.let_go))
        )
    title = known[0].title if isinstance(known[0], Entry) else known[0].id
    question = _("Remove the backup for this change: {title}? It can then no longer be undone.", title=title)
    if not options.yes and not _ask_agreement(question):
        say_result(_("Nothing was changed.") + "\n")
        return REFUSED
    outcome = repair.let_go(options.let_go, shop)
    say_result(f"{outcome.sentence}\n")
    return OK if outcome.kind == "let go" else REFUSED


def _to_take_back(
    entries: Sequence[Entry | UnreadableEntry], options: argparse.Namespace
) -> Sequence[Entry | UnreadableEntry]:
    """Return the named entry, all that are still in effect (newest first), or the newest of these."""
    if not options.entry:
        holding = [e for e in reversed(entries) if isinstance(e, Entry) and e.undoable]
        return holding if options.all else holding[:1]
    named = [e for e in entries if e.id == options.entry]
    if not named:
        raise UsageError(
            _("the history has no entry {wish}; `convalesce undo --list` shows it.", wish=repr(options.entry))
        )
    return named


def _ask_agreement(question: str) -> bool:
    if not sys.stdin.isatty():
        print("convalesce: " + _("there is no terminal to ask for consent; use --yes in a script."), file=sys.stderr)
        return False
    print(f"{question} {consent_hint()} ", end="", file=sys.stderr, flush=True)
    return is_consent(sys.stdin.readline())


def _row(entry: Entry | UnreadableEntry) -> str:
    if isinstance(entry, UnreadableEntry):
        return f"{entry.id}  " + _("cannot be read: {strerror}", strerror=printable(entry.problem)) + "\n"
    note = f"  {entry.note}" if entry.note else ""
    if kept := repair.kept_bytes(entry):
        note += "  " + _("(keeps {size} MB)", size=format_number(-(-kept // 1_000_000)))
    return printable(f"{entry.id}  {pad(_(entry.state), 11)}  {entry.title}{note}\n")
