"""Partly cured findings: the cure is already in an environment's activation, and the fault remains outside it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.model.changes import Change, EditPath, SetVariable
from core.model.facts import Activation, Snapshot
from core.model.findings import Finding, Fix
from core.rules.environment import activation_command
from core.rules.wording import observation


def without_made_changes(finding: Finding, seen: Snapshot) -> Finding:
    """Return the finding with earlier changes for it as evidence; only new changes are offered."""
    fix, made = finding.fix, seen.environment.activations if seen.environment else ()
    if fix is None or not made:
        return finding
    there = {c: a for c in fix.changes for a in made if _is_made(c, a)}
    if not there:
        return finding
    rows = [
        observation(
            _("Already fixed"),
            _("through the activation of {prefix}", prefix=a.at),
            _("entry {entry} of the history", entry=a.entry),
        )
        for a in there.values()
    ]
    prefixes = list(dict.fromkeys(a.at for a in there.values()))
    new = tuple(c for c in fix.changes if c not in there)
    if not new:
        fix = _for_the_others(fix, seen, prefixes)
    words = [_("Programs that start through the activation of {prefix} are already fixed.", prefix=p) for p in prefixes]
    why = join_sentences(finding.why, *words)
    return replace(finding, why=why, evidence=(*rows, *finding.evidence), fix=replace(fix, changes=new))


def _is_made(change: Change, made: Activation) -> bool:
    if not isinstance(change, SetVariable | EditPath) or change.scope != "environment" or change.after is None:
        return False
    steps = made.steps.split("\n")
    return (change.name, change.at) == (made.name, made.at) and all(s in steps for s in change.after.text.split("\n"))


def _for_the_others(fix: Fix, seen: Snapshot, prefixes: list[str]) -> Fix:
    """Return the remaining advice: start through the activation, or cure it for everything else."""
    commands = [activation_command(seen, prefix) for prefix in prefixes]
    lines = [
        _("Programs that start after this command do not have the fault: {command}", command=command)
        for command in commands
    ]
    return Fix(
        title=_("Activate the environment first, or remove the cause for everything that starts without it"),
        advice="\n".join([*lines, fix.advice]).strip(),
        restart=fix.restart,
    )
