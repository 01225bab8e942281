"""Export the report to the clipboard or a file, without names of people and machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QDate, QStandardPaths, Qt
from PySide6.QtGui import QGuiApplication

from core.common.i18n import _
from core.model.steps import Severity

if TYPE_CHECKING:
    from core.model.findings import Report

Said = tuple[Severity, str]


def copy_report(report: Report) -> Said:
    """Copy the report as text to the clipboard; return the message for the person."""
    from core.report.redact import redact
    from core.report.text import report_text

    QGuiApplication.clipboard().setText(report_text(redact(report)))
    return Severity.GOOD, _("The report is on the clipboard, without names of people and machines.")


FORMS = {"html": "HTML (*.html)", "md": "Markdown (*.md)", "json": "JSON (*.json)"}
"""File extension -> its name in a file dialog."""


def suggested_name() -> str:
    """Return the default path of a saved report: among the documents, named after the day."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return f"{folder}/convalesce-{QDate.currentDate().toString(Qt.DateFormat.ISODate)}.html"


def save_report(report: Report, path: Path, before: Report | None) -> Said:
    """Write the report in the format of the file's extension; return the message for the person.

    ``before``: the computer before a cure; HTML and Markdown show both.
    """
    from core.host.output_file import write_output
    from core.model.changes import ChangeError

    try:
        write_output(path, _encode_report(report, path.suffix.lower(), before))
    except ChangeError as e:
        return Severity.ERROR, str(e)
    except OSError as e:
        return Severity.ERROR, _("The report could not be written: {reason}", reason=e.strerror)
    return Severity.GOOD, _("The report was saved to {path}", path=path)


def _encode_report(report: Report, form: str, before: Report | None) -> bytes:
    from core.report.html import as_html
    from core.report.json_form import to_json
    from core.report.redact import redact
    from core.report.text import as_markdown

    clean = redact(report)
    if form in (".html", ".htm"):
        return as_html(clean, before).encode()
    if form == ".md":
        return as_markdown(clean, before).encode()
    return to_json(clean)
