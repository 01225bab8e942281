"""Steps that would decide an open question, unless they were already taken."""

from __future__ import annotations

from core.common.i18n import _
from core.common.shell import shell_command, shell_of
from core.model.facts import Snapshot, split_id
from core.model.findings import Finding, Fix
from core.model.paths import normalise
from core.model.steps import Severity
from core.rules.advice import python_of_environment
from core.rules.driver.facts import driver_works
from core.rules.wording import manual_fix


def deciding_steps(finding: Finding, seen: Snapshot) -> Fix:
    """Return the steps that would decide a finding's open question."""
    system = seen.machine.system
    tried = {normalise(system, t.prefix) for t in seen.trials or ()}
    found = (split_id(c)[0].partition(":")[2] for c in finding.consumers)
    prefixes = [p for p in dict.fromkeys(found) if p and normalise(system, p) not in tried]
    usable = seen.driver is not None and driver_works(seen.driver)
    return manual_fix(
        _("Find out more") if finding.severity is Severity.UNKNOWN else _("Find out what causes it"),
        *(
            _(
                "Run one computation in its framework: {command}",
                command=shell_command("convalesce", "scan", "--try", "--python", python, of=shell_of(system)),
            )
            for python in (python_of_environment(seen, p) for p in prefixes[:2])
        ),
        "" if seen.thorough else _("Verify the content of every file: {command}", command="convalesce scan --thorough"),
        _("Measure cuDNN without any framework: {command}", command="convalesce benchmark")
        if usable and seen.benchmark is None
        else "",
        _("Pass the program's own message to: {command}", command="convalesce explain"),
    )
