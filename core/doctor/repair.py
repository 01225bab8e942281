"""Repair: propose, rehearse, apply and undo a fix, for the window and the command line."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from msgspec.structs import replace

from core.common.i18n import _, join_sentences, n_
from core.common.progress import CancelledError, Progress
from core.common.versions import is_older
from core.doctor import package_repair
from core.doctor.offers import CURED_BY_NEWER, CURED_IN_PLACE
from core.doctor.verify import verify
from core.fixes import cudnn_set
from core.fixes.cudnn_set import CudnnSet
from core.fixes.packages.context import ExchangeContext
from core.fixes.packages.fetch import Fetcher, copy_of_consumer, cudnn_requirement
from core.fixes.packages.installer import Sources
from core.fixes.search_paths import add_folder, add_folder_for_concerned
from core.host import scratch
from core.host.interface import Host
from core.host.policy import UNDECIDED, Policy, change_obstacle, this_policy
from core.model.changes import ChangeError, EditPath
from core.model.facts import CudnnCopy, Frozen, Snapshot, split_id
from core.model.findings import Finding, Fix, Report
from core.rehearsal.rehearse import Examine, Rehearsal
from core.rehearsal.rehearse import rehearse as try_out
from core.rules.cudnn.files import release_of
from core.transaction import elevation, execute
from core.transaction.execute import Outcome, Plan, VerifiedFor
from core.transaction.journal import Entry, Journal, UnreadableEntry, machine_state_folder, state_folder
from core.transaction.preconditions import resolve_changes, unmet_preconditions
from core.transaction.session_host import current_host, merge_histories, without_active
from core.transaction.variable_store import VariableStore, error_sentence


@dataclass(frozen=True)
class RepairContext:
    """What repairing needs: the machine, the writer, and both journals."""

    host: Host
    writer: VariableStore
    journal: Journal
    machine_journal: Journal
    """What was done with an administrator's rights; only such a Convalesce writes it."""
    policy: Policy = UNDECIDED

    def current_host(self) -> Host:
        """Return the machine as newly started programs find it, also where this session is older than a change."""
        return current_host(self.host, history(self), self.writer.read)


def repair_context(host: Host) -> RepairContext:
    """Return what this user needs for repairs on this machine. Writes nothing to disk."""
    if sys.platform == "win32":
        from core.transaction.windows_variable_store import WindowsVariables

        writer: VariableStore = WindowsVariables()
    else:
        from core.transaction.variable_store import LinuxVariables

        writer = LinuxVariables(str(host.root))
    return RepairContext(
        host=host,
        writer=writer,
        journal=Journal(state_folder()),
        machine_journal=Journal(machine_state_folder()),
        policy=this_policy(),
    )


class Proposal(Frozen, frozen=True, kw_only=True):
    """The exact changes of a finding's fix on this machine; nothing is changed yet."""

    finding: Finding
    plan: Plan
    problems: tuple[str, ...] = ()
    """Reasons why it cannot be made, in sentences; empty if it can."""
    elevated: bool = False
    """Whether an administrator has to make it."""
    rehearsal: Rehearsal | None = None
    """What its preparation has shown, if it needed one."""

    @property
    def is_prepared(self) -> bool:
        """Whether the plan is exact; otherwise ``prepare`` makes it so, perhaps over the network."""
        return package_repair.unprepared_exchange(self.plan) is None


def propose(finding: Finding, shop: RepairContext) -> Proposal:
    """Return what the finding's fix would change here, with the present hashes and values. Changes nothing."""
    fix = finding.fix or Fix(title="")
    plan = Plan(title=fix.title, changes=fix.changes, finding=finding.id)
    if not_allowed := change_obstacle(shop.policy, elevated=False):
        return Proposal(finding=finding, plan=plan, problems=(not_allowed,))
    if (wish := package_repair.unprepared_exchange(plan)) is not None:
        return Proposal(finding=finding, plan=plan, problems=package_repair.exchange_obstacles(wish))
    try:
        plan = replace(plan, changes=resolve_changes(fix.changes, shop.writer))
    except (ChangeError, OSError) as e:
        return Proposal(finding=finding, plan=plan, problems=(error_sentence(e),))
    elevated = elevation.needs_elevation(plan.changes, shop.writer)
    if elevated and (not_allowed := change_obstacle(shop.policy, elevated=True)):
        problems: tuple[str, ...] = (not_allowed,)
    elif elevated:  # a change that is never made with an administrator's rights is not offered
        problems = elevation.not_allowed(plan.changes, os.environ)
    else:
        problems = unmet_preconditions(plan.changes, writer=shop.writer, journal=shop.journal)
    return Proposal(finding=finding, plan=plan, problems=problems, elevated=elevated)


def refused_proposal(finding: Finding, sentence: str) -> Proposal:
    """Return a proposal that changes nothing and says why."""
    return Proposal(finding=finding, plan=Plan(title="", changes=(), finding=finding.id), problems=(sentence,))


def prepare(
    proposal: Proposal, report: Report, shop: RepairContext, watch: Progress, sources: Sources | None = None
) -> Proposal:
    """Return the proposal with exactly what would be done to an environment's packages, tried out in a twin of it.

    May use the network, as ``sources`` says; the caller has named the address and has the person's consent. Changes
    nothing. A twin that is not used is removed by ``discard``, or at the next start.

    Raises:
        ChangeError, OSError: it cannot be done; the message says why. CancelledError: the person asked to stop.
    """
    wish = package_repair.unprepared_exchange(proposal.plan)
    if wish is None:
        return proposal
    further = tuple(c for c in proposal.plan.changes if c is not wish)
    asked = tuple(dict.fromkeys(n for c in proposal.finding.consumers if (n := split_id(c)[1])))
    context = ExchangeContext(
        seen=report.snapshot,
        sources=sources or Sources(),
        host=shop.host,
        journal=shop.journal,
        watch=watch,
        asked=asked,
    )
    made = package_repair.prepare_exchange(wish, further, context)
    plan = replace(proposal.plan, changes=resolve_changes((*made.changes, *further), shop.writer))
    problems = unmet_preconditions(plan.changes, writer=shop.writer, journal=shop.journal)
    if elevation.needs_elevation(plan.changes, shop.writer):
        problems = (_("Packages are not changed with administrator rights."),)
    return replace(proposal, plan=plan, problems=problems, rehearsal=package_repair.trial_result(made))


def package_sources(named: str, index: str, *, offline: bool, guard: bool = False) -> Sources:
    """Return where packages may come from, as the person said; see core/fixes/packages/installer.py."""
    return Sources(named=named, index=index, offline=offline, guard=guard)


def discard_prepared(proposal: Proposal, shop: RepairContext) -> None:
    """Remove what was prepared for a proposal that is not carried out."""
    package_repair.discard(proposal.plan.changes, shop.journal)


def fetched_from(proposal: Proposal, sources: Sources, shop: RepairContext, watch: Progress) -> str:
    """Return where preparing would fetch packages from, in one sentence; empty where it would use no network."""
    wish = package_repair.unprepared_exchange(proposal.plan)
    return package_repair.wheel_origin(wish, sources, shop.host, watch) if wish else ""


def rehearse(proposal: Proposal, report: Report, shop: RepairContext, watch: Progress, examine: Examine) -> Rehearsal:
    """Prove the cure in child processes, in the environment as it would be; nothing is changed for it."""
    if proposal.rehearsal is not None:
        return proposal.rehearsal
    return try_out(
        proposal.finding, report, proposal.plan.changes, host=shop.current_host(), watch=watch, examine=examine
    )


def apply(
    proposal: Proposal, report: Report, shop: RepairContext, examine: Examine, watch: Progress | None = None
) -> Outcome:
    """Carry the proposal out and scan again; undo it if it did not cure the finding. Never raises for the machine.

    ``report`` is the report that has the finding. The caller has shown the plan and has the person's consent. One that
    is not prepared is prepared first, at the same press.
    """
    watch = watch or Progress()
    ready = proposal if proposal.problems or proposal.is_prepared else _prepared(proposal, report, shop, watch)
    if isinstance(ready, Outcome):
        return ready
    if ready.problems:
        return _refused_outcome(ready.problems[0], ready.problems)
    check = _Verification(ready, report, shop, examine, watch)
    return _apply_elevated(ready, shop, check) if ready.elevated else _apply_here(ready, shop, check)


def _prepared(proposal: Proposal, report: Report, shop: RepairContext, watch: Progress) -> Proposal | Outcome:
    """Prepare a proposal; return the refusal where that fails, or where the rehearsal shows that it cures nothing."""
    try:
        proposal = prepare(proposal, report, shop, watch)
    except (ChangeError, OSError) as e:
        return _refused_outcome(error_sentence(e))
    if proposal.rehearsal and proposal.rehearsal.works is False:
        discard_prepared(proposal, shop)
        return _refused_outcome(proposal.rehearsal.sentence)
    return proposal


def _refused_outcome(words: str, problems: tuple[str, ...] = ()) -> Outcome:
    sentence = join_sentences(_("Nothing was changed."), words)
    return Outcome(kind="refused", sentence=sentence, problems=problems or (words,))


class _Verification:
    """Examines the machine after a change, and keeps what was seen."""

    def __init__(
        self, proposal: Proposal, report: Report, shop: RepairContext, examine: Examine, watch: Progress
    ) -> None:
        self._proposal, self._report, self._shop, self._examine, self._watch = proposal, report, shop, examine, watch
        self._seen: tuple[VerifiedFor, ...] = ()
        self._proved: tuple[str, ...] = ()

    def problem(self) -> str:
        """Return in a sentence what is still wrong; empty where the finding is cured."""
        shop, changes = self._shop, self._proposal.plan.changes
        made = [replace(e, state="done") if isinstance(e, Entry) and e.state == "begun" else e for e in history(shop)]
        problem, self._seen = verify(
            self._proposal.finding,
            self._report,
            changes,
            session=current_host(shop.host, made, shop.writer.read),
            inherited=current_host(without_active(shop.host), made, shop.writer.read),
            examine=self._examine,
        )
        if not problem:
            problem, self._proved = package_repair.import_in_place(
                changes, self._report.snapshot, shop.host, self._watch
            )
        return problem

    def noted_in(self, outcome: Outcome) -> Outcome:
        """Return the outcome with what it was verified for and what was proved, and with a note on the running programs that
        still have the old PATH (Windows tells them).
        """
        if outcome.kind != "done":
            return outcome
        outcome = replace(outcome, verified_for=self._seen, proved=join_sentences(*self._proved))
        note = _old_path_note(self._proposal.plan)
        return replace(outcome, notes=(*outcome.notes, note)) if note else outcome


def _apply_here(proposal: Proposal, shop: RepairContext, check: _Verification) -> Outcome:
    """Carry the plan out with this user's rights."""
    outcome = execute.execute(proposal.plan, writer=shop.writer, journal=shop.journal, verify=check.problem)
    if outcome.kind == "done":  # what was unpacked for it is in place now
        scratch.drop_all(shop.journal.staging)
        package_repair.clear_twin(proposal.plan.changes)
    elif outcome.kind != "stuck":
        discard_prepared(proposal, shop)
    return check.noted_in(outcome)


def _apply_elevated(proposal: Proposal, shop: RepairContext, check: _Verification) -> Outcome:
    """Let the elevated side carry the plan out, verify here, and let it undo what did not cure the finding."""
    outcome = elevation.ask_elevated(elevation.ElevationOrder(plan=proposal.plan), host=shop.host, journal=shop.journal)
    try:
        problem = check.problem() if outcome.kind == "done" else ""
    except CancelledError:
        problem = _("It was cancelled before it was verified.")
    if not problem:
        return check.noted_in(outcome)
    back = elevation.ask_elevated(elevation.ElevationOrder(undo=outcome.entry), host=shop.host, journal=shop.journal)
    if back.kind == "undone":
        sentence = join_sentences(_("Everything is as it was before."), problem)
        return Outcome(kind="rolled back", sentence=sentence, problems=(problem,))
    sentence = join_sentences(problem, back.sentence)
    return Outcome(kind="stuck", sentence=sentence, problems=(problem,), entry=outcome.entry)


def _old_path_note(plan: Plan) -> str:
    """Return in a sentence which running programs still have the PATH from before the plan; empty for none."""
    if sys.platform == "win32":
        from core.host.windows.processes import programs_with_old_value

        new = [c.entry for c in plan.changes if isinstance(c, EditPath) and c.old is None and c.name.upper() == "PATH"]
        names = sorted({program for entry in new for program in programs_with_old_value("PATH", entry)})
        shown = ", ".join(names[:5])
        if len(names) > 5:
            shown = _("{names} and {count} more", names=shown, count=len(names) - 5)
        return _("Running programs keep the old PATH until you restart them: {shown}.", shown=shown) if names else ""
    return ""


def recover(shop: RepairContext) -> tuple[Outcome, ...]:
    """Undo what a crash interrupted. Call it at every start; usually it does nothing."""
    return execute.recover(writer=shop.writer, journal=shop.journal)


def history(shop: RepairContext) -> tuple[Entry | UnreadableEntry, ...]:
    """Return everything that was changed on this machine by this user or an administrator, oldest first."""
    return merge_histories(shop.journal, shop.machine_journal)


def undo(id: str, shop: RepairContext) -> Outcome:
    """Undo an entry of the history; one in the machine's history needs an administrator again."""
    if any(e.id == id for e in shop.machine_journal.entries()):
        return elevation.ask_elevated(elevation.ElevationOrder(undo=id), host=shop.host, journal=shop.journal)
    return execute.undo(id, writer=shop.writer, journal=shop.journal)


def let_go(id: str, shop: RepairContext) -> Outcome:
    """Remove the backups of an entry of this user's history; it can then no longer be undone."""
    return execute.let_go(id, journal=shop.journal)


def kept_bytes(entry: Entry) -> int:
    """Return the bytes that releasing an entry's kept files would free."""
    return package_repair.twin_bytes(entry)


def fix_from_cudnn_set(
    source: str, finding: Finding, snapshot: Snapshot, shop: RepairContext, watch: Progress
) -> Finding:
    """Return the finding with a fix that places the complete cuDNN set found in an archive, a wheel or a folder.

    A faulty copy of the same release that no package owns is made whole in its own folder; else the set gets a folder of
    its own, which is put on the search path.

    Raises:
        ChangeError: it is not one complete, sound set for this machine; the sentence says what is wrong.
        CancelledError: the person asked to stop.
    """
    wanted = cudnn_set.SetRequirement(system=snapshot.machine.system, architecture=snapshot.machine.architecture)
    cudnn = cudnn_set.read_set(source, wanted, journal=shop.journal, watch=watch)
    faulty = _repairable_copy(finding, snapshot, cudnn)
    again = cudnn_set.repair_in_place(cudnn, faulty) if faulty else None
    if again is not None:
        return replace(finding, fix=Fix(title=again.title, changes=(again,), restart="program"))
    folder = cudnn_set.own_folder(cudnn)
    search = add_folder(add_folder_for_concerned(folder, finding, snapshot), snapshot)
    changes = (cudnn_set.file_set(cudnn, folder), *search)
    files = len(cudnn.members)
    fix = Fix(
        title=n_("Place {n} file of {title}", "Place {n} files of {title}", files, title=cudnn.title),
        changes=changes,
        restart="terminal",
    )
    return replace(finding, fix=fix)


def fix_from_fetched_cudnn(
    finding: Finding, snapshot: Snapshot, shop: RepairContext, sources: Sources, watch: Progress
) -> Finding:
    """Return the finding with a fix that places the cuDNN of the wheel that is fetched for it, by hash. The caller has named
    the address (``cudnn_origin``) and has the person's consent.

    Raises:
        ChangeError: nothing tells which one is needed, or it could not be had; the sentence says what is wrong.
        CancelledError: the person asked to stop.
    """
    requirement = cudnn_requirement(finding, snapshot)
    if not requirement:
        raise ChangeError(_("Nothing here shows which cuDNN is needed; download one, and name its file."))
    watch.say(_("Fetching {requirement}", requirement=requirement))
    wheel, _package = Fetcher(shop.host, watch).fetch(requirement, sources, shop.journal)
    return fix_from_cudnn_set(wheel, finding, snapshot, shop, watch)


def cudnn_origin(finding: Finding, snapshot: Snapshot, shop: RepairContext, sources: Sources, watch: Progress) -> str:
    """Return which wheel would be fetched for a finding and from where, in one sentence; empty where none would be.

    Raises:
        ChangeError: there is nothing that could fetch it.
    """
    requirement = cudnn_requirement(finding, snapshot)
    where = Fetcher(shop.host, watch).origin(sources) if requirement else ""
    return join_sentences(_("Needed: {requirement}.", requirement=requirement), where) if where else ""


def _is_nobodys(copy: CudnnCopy, cudnn: CudnnSet) -> bool:
    """Whether a copy of the set's major version is no package's."""
    return not copy.owner and copy.origin in ("installer", "folder") and copy.major == cudnn.major


def _repairable_copy(finding: Finding, snapshot: Snapshot, cudnn: CudnnSet) -> CudnnCopy | None:
    """Return the copy that the finding is about, if it is nobody's package and is meant to be this very release, or an older
    one whose fault a newer release does not have.
    """
    if finding.cause in CURED_BY_NEWER:
        copy = copy_of_consumer(finding, snapshot)
        if copy is None or not _is_nobodys(copy, cudnn):
            return None
        newer = is_older(release_of(copy), cudnn.version)
        return copy if newer and copy.cuda_major in (None, cudnn.cuda_major) else None
    if finding.cause not in CURED_IN_PLACE:
        return None
    copy = next((c for c in snapshot.cudnn or () if c.folder == finding.subject), None)
    if copy is None or not _is_nobodys(copy, cudnn):
        return None
    sound = [f for f in copy.files if f.state == "good" and f.architecture == cudnn.architecture]
    same = release_of(copy) == cudnn.version and copy.cuda_major in (None, cudnn.cuda_major)
    return copy if same and sound else None
