"""Rules about the trial of a person's program: the imports with which it starts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from core.common.i18n import N_, _, translate_fact
from core.model.facts import ProgramTrial, Snapshot
from core.model.findings import Finding
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.proved_changes import experiment_rows
from core.rules.frameworks.tried_imports import diagnose_import, import_evidence, lacks_only_a_gpu
from core.rules.snapshot_queries import in_environment
from core.rules.wording import ERROR, GOOD, NOTE, UNKNOWN, make_finding, observation


def program_results(seen: Snapshot) -> Iterator[Finding]:
    """The result of the start of each named program in each named environment."""
    for trial in seen.program_trials or ():
        homes = (h for h in environment_views(seen) if any(in_environment(seen, trial.prefix, [h.python])))
        yield from (_result(home, trial) for home in islice(homes, 1))


def _result(home: EnvironmentView, trial: ProgramTrial) -> Finding:
    values = {"who": trial.path, "prefix": trial.prefix}
    name = "frameworks.trial-program"
    run = _("run in its own interpreter")
    if trial.state == "no answer":
        title = _("The imports of {who} in {prefix} did not end in time.", **values)
        return make_finding(name, UNKNOWN, title, subject=trial.path, evidence=[home.concerns()])
    if trial.state == "imported" or lacks_only_a_gpu(home, trial.problem):
        title = _("The imports of {who} work in {prefix}.", **values)
        severity = NOTE if trial.problem else GOOD
        return make_finding(name, severity, title, subject=trial.path, evidence=[home.concerns()])
    diagnosis = diagnose_import(home, trial.failures, trial.experiments)
    said = observation(_("It said"), translate_fact(trial.problem or trial.ended)[-600:], run)
    return make_finding(
        name,
        ERROR,
        _(
            diagnosis.title if diagnosis else N_("{who} in {prefix} cannot start: an import fails."),
            **values,
            **(diagnosis.values if diagnosis else {}),
        ),
        cause=diagnosis.cause if diagnosis else "",
        why=diagnosis.why if diagnosis else _("The text alone shows no cause."),
        evidence=[
            said,
            *import_evidence(diagnosis, trial.failures),
            *experiment_rows(trial.experiments),
            home.concerns(),
        ],
        subject=(diagnosis.subject if diagnosis else "") or trial.path,
        fix=diagnosis.cure.fix if diagnosis else None,
        remedy=diagnosis.cure.remedy if diagnosis else None,
    )


RULES = (program_results,)
