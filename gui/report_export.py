"""Take the report along: onto the clipboard or into a file, without names of persons and machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from core.common.i18n import _
from core.model.steps import Severity

if TYPE_CHECKING:
    from core.model.findings import Report

Said = tuple[Severity, str]


def copy_report(report: Report) -> Said:
    """Put the report as text on the clipboard; return what to say."""
    from core.report.redact import redact
    from core.report.text import report_text

    QGuiApplication.clipboard().setText(report_text(redact(report)))
    return Severity.GOOD, _("The report is on the clipboard, without names of people and machines.")


def save_report(report: Report, path: Path) -> Said:
    """Write the report as JSON; return what to say."""
    from core.report.json_form import to_json
    from core.report.redact import redact

    try:
        path.write_bytes(to_json(redact(report)))
    except OSError as e:
        return Severity.ERROR, _("The report could not be written: {reason}", reason=e.strerror)
    return Severity.GOOD, _("The report was saved to {path}", path=path)
