"""The folder that an administrator's policy names for a copy of each scan's report."""

from __future__ import annotations

import re
from pathlib import Path

from core.common.i18n import _
from core.host.policy import Policy
from core.model.findings import Report


def share_report(report: Report, policy: Policy) -> str:
    """Write the report, without names, into the policy's folder; return a message, empty if there is no folder. The
    file is named after the computer, since the report does not contain its name.
    """
    if not policy.report_share:
        return ""
    import platform  # few machines have such a policy

    from core.report.json_form import to_json
    from core.report.redact import redact

    name = re.sub(r"[^\w.-]", "_", platform.node()) or "computer"
    file = Path(policy.report_share, f"{name}.json")
    half = file.with_suffix(".part")
    try:
        half.write_bytes(to_json(redact(report)))
        half.replace(file)
    except (OSError, ValueError) as e:
        return _(
            "Your administrator's policy asks for a copy of the report in {file}, which failed: {e}", file=file, e=e
        )
    return _("As your administrator's policy asks, a copy of the report is now in {file}.", file=file)
