"""Every form. A new engine is one module beside this one, and one row here."""

from __future__ import annotations

from core.report.check.forms import github, intune, junit, nagios, npd, prom, sarif, slurm
from core.report.check.forms.form import Form

FORMS: dict[str, Form] = {
    "nagios": Form(nagios.render, nagios.STATUSES),
    "npd": Form(npd.render, npd.STATUSES),
    "prom": Form(prom.render, prom.STATUSES),
    "junit": Form(junit.render, junit.STATUSES),
    "sarif": Form(sarif.render, sarif.STATUSES),
    "github": Form(github.render, github.STATUSES),
    "intune": Form(intune.render, intune.STATUSES),
    "slurm": Form(slurm.render, slurm.STATUSES),
}
