"""Verify: after a change, examine each way of starting a program again, and report for which the fault is gone.

The registry and every file are read again. A shell really carries out activations and a log-in. What only the next log-in
brings (Linux's files of assignments) is assumed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from core.common.i18n import N_, _
from core.doctor.fresh_start import fresh_environment, is_as_before
from core.fixes.variables import has_activation, target_environments
from core.host.interface import Host
from core.host.linux.files import SHELLS_OWN, variables_in
from core.host.provenance import environment_for, may_run
from core.host.with_environment import HostWithEnvironment
from core.knowledge.tables import read_table
from core.model.changes import Change, EditLine, EditPath, ExchangePackages, FileSet, SetVariable
from core.model.facts import Snapshot, Variable, split_id
from core.model.findings import Finding, Report
from core.model.paths import is_inside
from core.model.system_steps import take_effect_later
from core.probes.variables.probe import EnvironmentKnowledge, is_relevant_variable
from core.rehearsal.rehearse import Examine, open_question, remaining_finding, remaining_problem
from core.rules.snapshot_queries import python_of
from core.transaction.execute import VerifiedFor, Way
from core.transaction.session_host import NewSessionHost


@dataclass(frozen=True)
class ProgramStart:
    """One way of starting a program, and the machine as such a program finds it."""

    way: Way
    host: Host | None
    """None if it could not be determined."""
    at: str = ""
    """The environment that is active, or whose interpreter is started."""


def verify(
    finding: Finding, before: Report, changes: tuple[Change, ...], *, session: Host, inherited: Host, examine: Examine
) -> tuple[str, tuple[VerifiedFor, ...]]:
    """Look again; return what is not cured in one sentence (or an empty text), and for which ways of starting it is.

    ``session``: the host of the next ordinary look. ``inherited``: the same while no environment is active. A change of
    activations is for what is started through them, every other for what is started from here. The session is looked at
    last, so that its report is the newest.
    """
    if take_effect_later(changes):
        return "", ()  # it takes effect only after the next sign-in or restart
    through = _activated_by(changes)
    environments = through or _concerned_environments(finding, changes, before.snapshot)
    starts = _program_starts(environments, before.snapshot, session, inherited)
    meant = [s for s in starts if (s.way == "activation" and s.at in through) or (s.way == "process" and not through)]
    for start in meant:
        if start.host is None:
            return _("The activation of {prefix} failed.", prefix=start.at), ()
    reports = _examine_starts(starts, examine)
    edited = [c for c in changes if isinstance(c, EditLine)]
    for start, report in zip(starts, reports, strict=True):
        if start in meant and report and (problem := remaining_problem(finding, before, report)):
            return problem, ()
    fresh = _judge_edited(finding, edited, reports[0], inherited)
    for again in fresh:
        if again.holds is False:
            return way_sentence(again), ()
    judged = tuple(_judge_start(finding, before, s, environments, r) for s, r in zip(starts, reports, strict=True))
    return "", (*judged, *fresh)


def _judge_edited(
    finding: Finding, edited: Sequence[EditLine], after: Report | None, host: Host
) -> tuple[VerifiedFor, ...]:
    """Return for each way of starting that reads an edited line whether the fault is gone: by a start of its shell where
    that can be made, else by reading its files again.
    """
    seen = {s.id: s for s in (after.snapshot.starts if after else None) or ()}
    left = next(
        (f for f in (after.findings if after else ()) if (f.id, f.subject) == (finding.id, finding.subject)), None
    )
    rows = []
    for way in dict.fromkeys(i for c in edited for i in c.starts):
        start = seen.get(way)
        if start is None:
            continue  # without the line it is no longer a separate way
        holds = not (left and left.severity >= finding.severity and (not left.ways or way in left.ways))
        real = fresh_environment(start, host)
        for change in edited if real is not None and holds else ():
            if way in change.starts and real is not None and is_as_before(change, real.get(change.name)):
                holds = False
        rows.append(VerifiedFor(way=start.kind, at=start.at, holds=holds, supposed=real is None, edited=True))
    return tuple(rows)


def _activated_by(changes: Sequence[Change]) -> list[str]:
    found = [c.at for c in changes if isinstance(c, SetVariable | EditPath) and c.scope == "environment"]
    return list(dict.fromkeys(found))


def _concerned_environments(finding: Finding, changes: Sequence[Change], seen: Snapshot) -> list[str]:
    """Return the environments that the finding concerns, or whose files it or the cure is about, else those in use."""
    paths = [finding.subject, *(i.path for c in changes if isinstance(c, FileSet) for i in c.items)]
    paths += [c.folder for c in changes if isinstance(c, ExchangePackages)]
    system = seen.machine.system
    consumers = {split_id(c)[0] for c in finding.consumers}
    found = [
        p
        for p in seen.pythons or ()
        if p.consumer().id in consumers or any(is_inside(system, x, p.prefix) for x in paths)
    ]
    return [p.prefix for p in found] or target_environments(seen)


def _program_starts(environments: Sequence[str], seen: Snapshot, session: Host, inherited: Host) -> list[ProgramStart]:
    """Return the ways of starting a program, that of this session first."""
    named, plain = tuple(environments), inherited.fresh_environment()

    def with_variables(env: dict[str, str] | None) -> Host | None:
        return None if env is None else HostWithEnvironment(inherited, env, named)

    known = [p for p in environments if python_of(seen, p) is None or has_activation(seen, p)]
    return [
        ProgramStart("process", session),
        *(ProgramStart("activation", with_variables(activated_environment(p, inherited)), p) for p in known),
        *(ProgramStart("bare", with_variables(plain), p) for p in environments),
        ProgramStart("login", with_variables(inherited.login_environment())),
    ]


def _examine_starts(starts: Sequence[ProgramStart], examine: Examine) -> list[Report | None]:
    """Examine each host that differs in a relevant way once, the first one last."""
    keys = [_relevant_variables(s.host) if s.host else None for s in starts]
    found: dict[object, Report] = {}
    for key in [*dict.fromkeys(k for k in keys if k not in (None, keys[0])), keys[0]]:
        host = starts[keys.index(key)].host
        if host:
            found[key] = examine(host)
    return [found.get(key) for key in keys]


def _relevant_variables(host: Host) -> frozenset[tuple[str, str]]:
    known = read_table("environment", EnvironmentKnowledge)
    pairs = host.fresh_environment().items()
    return frozenset((n, v) for n, v in pairs if is_relevant_variable(Variable(name=n, value=v), known))


def _judge_start(
    finding: Finding, before: Report, start: ProgramStart, environments: Sequence[str], after: Report | None
) -> VerifiedFor:
    holds: bool | None = None
    here = start.way == "process"  # the only way for which ``before`` shows what else was wrong
    if after and (remaining_finding(finding, after) or (here and remaining_problem(finding, before, after))):
        holds = False
    elif after and not open_question(finding, before, after):
        its = [start.at] if start.at else environments
        holds = True if all(python_of(after.snapshot, p) for p in its) else None
    supposed = start.way == "process" and isinstance(start.host, NewSessionHost) and bool(start.host.renewals)
    return VerifiedFor(way=start.way, at=start.at, holds=holds, supposed=supposed)


ACTIVATION_SCRIPT = (
    'if [ -d "$1/conda-meta" ]; then . "$1/etc/conda/activate.d/convalesce.sh"; else . "$1/bin/activate"; fi && env -0'
)


def activated_environment(prefix: str, host: Host) -> dict[str, str] | None:
    """Return the environment that a shell has after it activated a Python environment; None when that failed."""
    before = host.fresh_environment()
    script = os.path.join(prefix, "bin", "activate")  # noqa: PTH118 - a text for the shell
    verdict = may_run({p: True for p in (prefix, script) if p.startswith("/")})
    if not verdict.may:
        return None
    before = environment_for(verdict, before)
    done = host.run(["/bin/sh", "-c", ACTIVATION_SCRIPT, "sh", prefix], timeout=20, env=before, account=verdict.account)
    if done.status != 0 or not done.out:
        return None
    found = {n: v for n, v in variables_in(done.out).items() if n not in SHELLS_OWN}
    return {n: before[n] if n in before and v == before[n] else v for n, v in found.items()}


# --- in words ------------------------------------------------------------------------------------------------------

WAY_TEXTS: dict[Way, tuple[str, str, str]] = {
    "process": (
        N_("Started from here: the fault is gone."),
        N_("Started from here: the fault is still there."),
        N_("Started from here: undecided, because the scan was incomplete."),
    ),
    "activation": (
        N_("Started while {at} is active: the fault is gone."),
        N_("Started while {at} is active: the fault is still there."),
        N_("Started while {at} is active: undecided, because the scan was incomplete."),
    ),
    "bare": (
        N_("Started by the Python of {at} itself, without activation: the fault is gone."),
        N_("Started by the Python of {at} itself, without activation: the fault is still there."),
        N_("Started by the Python of {at} itself, without activation: undecided, because the scan was incomplete."),
    ),
    "login": (
        N_("Started after a new sign-in: the fault is gone."),
        N_("Started after a new sign-in: the fault is still there."),
        N_("Started after a new sign-in: undecided, because its shell or something else did not respond."),
    ),
}  # fmt: skip
"""Way of starting a program -> sentences: the fault is gone, still there, or undecided."""


FRESH_TEXTS: dict[Way, tuple[str, str, str, str]] = {
    "login": (
        N_("In a new login shell ({at}): the fault is gone."),
        N_("In a new login shell ({at}): the fault is still there."),
        N_("In a login shell ({at}): undecided."),
        N_("In a login shell ({at}), according to its files: the fault is gone. Sign out and back in."),
    ),
    "terminal": (
        N_("In a new terminal ({at}): the fault is gone."),
        N_("In a new terminal ({at}): the fault is still there."),
        N_("In a terminal ({at}): undecided."),
        N_("In a terminal ({at}), according to its files: the fault is gone. Open a new terminal."),
    ),
    "desktop": (
        N_("Started as a new desktop session does: the fault is gone. Sign out and back in."),
        N_("Started as a new desktop session does: the fault is still there."),
        N_("For desktop programs: undecided."),
        N_("For desktop programs, according to the session's files: the fault is gone. Sign out and back in."),
    ),
    "ssh": (
        N_("Started as a new command over ssh ({at}): the fault is gone."),
        N_("Started as a new command over ssh ({at}): the fault is still there."),
        N_("For commands over ssh ({at}): undecided."),
        N_("For commands over ssh ({at}), according to its files: the fault is gone."),
    ),
    "cron": (
        N_("Started as a new cron job: the fault is gone."),
        N_("Started as a new cron job: the fault is still there."),
        N_("For cron jobs ({at}): undecided."),
        N_("For cron jobs ({at}), according to its files: the fault is gone."),
    ),
    "notebook": (
        N_("In the kernel {at}: the fault is gone."),
        N_("In the kernel {at}: the fault is still there."),
        N_("In the kernel {at}: undecided."),
        N_("In the kernel {at}, according to its files: the fault is gone. Restart the kernel."),
    ),
    "activation": (
        N_("Started while {at} is active: the fault is gone."),
        N_("Started while {at} is active: the fault is still there."),
        N_("Started while {at} is active: undecided, because the scan was incomplete."),
        N_("Started while {at} is active, according to its files: the fault is gone. Activate it again."),
    ),
    "service": (
        N_("In the service {at}: the fault is gone."),
        N_("In the service {at}: the fault is still there."),
        N_("In the service {at}: undecided."),
        N_("In the service {at}, according to its files: the fault is gone. Let its manager read them (systemctl daemon-reload, supervisorctl update), and restart it."),
    ),
    "editor": (
        N_("In the editor's terminals: the fault is gone."),
        N_("In the editor's terminals: the fault is still there."),
        N_("In the editor's terminals: undecided."),
        N_("In the editor's terminals, according to its files: the fault is gone. Open a new one."),
    ),
    "direnv": (
        N_("In the folder of {at}: the fault is gone."),
        N_("In the folder of {at}: the fault is still there."),
        N_("In the folder of {at}: undecided."),
        N_("In the folder of {at}, according to its files: the fault is gone. Enter it again; with direnv, run direnv allow first."),
    ),
    "module": (
        N_("With the environment modules reloaded: the fault is gone."),
        N_("With the environment modules reloaded: the fault is still there."),
        N_("With the environment modules reloaded: undecided."),
        N_("With the environment modules reloaded, according to their files: the fault is gone."),
    ),
    "launcher": (
        N_("Started by the launcher {at}: the fault is gone."),
        N_("Started by the launcher {at}: the fault is still there."),
        N_("Started by the launcher {at}: undecided."),
        N_("Started by the launcher {at}, according to its file: the fault is gone."),
    ),
    "script": (
        N_("Started by the script {at}: the fault is gone."),
        N_("Started by the script {at}: the fault is still there."),
        N_("Started by the script {at}: undecided."),
        N_("Started by the script {at}, according to its file: the fault is gone."),
    ),
    "task": (
        N_("Started by the task {at}: the fault is gone."),
        N_("Started by the task {at}: the fault is still there."),
        N_("Started by the task {at}: undecided."),
        N_("Started by the task {at}, according to its file: the fault is gone."),
    ),
    "multiplexer": (
        N_("In a shell of {at}: the fault is gone."),
        N_("In a shell of {at}: the fault is still there."),
        N_("In a shell of {at}: undecided."),
        N_("In a shell of {at}, according to its files: the fault is gone. Its server keeps the old value until it is restarted."),
    ),
    "ipython": (
        N_("In IPython: the fault is gone."),
        N_("In IPython: the fault is still there."),
        N_("In IPython: undecided."),
        N_("In IPython, according to its files: the fault is gone."),
    ),
    "prompt": (
        N_("At Python's prompt: the fault is gone."),
        N_("At Python's prompt: the fault is still there."),
        N_("At Python's prompt: undecided."),
        N_("At Python's prompt, according to its files: the fault is gone."),
    ),
}  # fmt: skip
"""Way of starting whose line was edited -> sentences: the fault is gone, still there, undecided, or gone according to the files."""


def verification_sentences(found: Sequence[VerifiedFor]) -> tuple[str, ...]:
    """Return in sentences for which ways of starting a program the fault is gone; none if nothing was verified."""
    if not found:
        return ()
    if not any(v.holds for v in found):
        first = _("It could not be verified: the scan was incomplete in every case.")
    elif all(v.holds for v in found):
        first = _("Verified: the fault is gone, and nothing got worse.")
    else:
        first = _("Verified: the fault is gone for some ways of starting a program, and nothing got worse.")
    return (first, *map(way_sentence, found))


def way_sentence(found: VerifiedFor) -> str:
    """Return in a sentence whether the fault is gone in one way of starting a program."""
    if found.edited:
        row = 3 if found.supposed and found.holds else (True, False, None).index(found.holds)
        return _(FRESH_TEXTS[found.way][row], at=found.at)
    if found.supposed and found.holds:
        return _("Started from here, once this session has the new values: the fault is gone.")
    return _(WAY_TEXTS[found.way][(True, False, None).index(found.holds)], at=found.at)
