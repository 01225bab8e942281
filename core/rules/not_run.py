"""Rules about programs that were not run because others can change them and would have gained the scan's rights."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.common.text import join_names
from core.model.facts import Execution, Snapshot
from core.model.findings import Finding
from core.model.steps import Step
from core.rules.wording import NOTE, UNKNOWN, make_finding, manual_fix, observation

STEPS = {"framework": Step.FRAMEWORKS, "nvcc": Step.TOOLKIT, "search path": Step.ENVIRONMENT}
"""What this rule reports; the rule about a load reports a roll call that was not made."""


def not_run(seen: Snapshot) -> Iterator[Finding]:
    """Programs that were found, but neither started nor followed."""
    for one in seen.executions:
        if not one.account and one.what in STEPS:
            yield _not_run_finding(one)


def _not_run_finding(one: Execution) -> Finding:
    at = one.changeable
    followed = one.what == "search path"
    where = at.path if at else one.path
    return make_finding(
        f"{STEPS[one.what]}.not-trusted",
        NOTE if followed else UNKNOWN,
        _("{path} on a search path was not followed: other users can change {at}.", path=one.path, at=where)
        if followed
        else _("{path} was not run: other users can change {at}.", path=one.path, at=where),
        why=_("With administrator rights, nothing is run that other users can change."),
        evidence=[observation(_("Who"), join_names(at.writers))] if at and at.writers else [],
        subject=one.path,
        fix=manual_fix(
            _("Test it anyway"), _("Run Convalesce as the account that uses it, without administrator rights.")
        ),
    )


RULES = (not_run,)
