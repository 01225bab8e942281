"""Write and read a report in its public JSON form."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fill_form, forms_in, remember_form
from core.common.given_text import unmarked
from core.common.i18n import _
from core.model.facts import SCHEMA_VERSION, Frozen, Snapshot
from core.model.findings import CompatibilityGrid, Evidence, Finding, Fix, HistoryEntry, Redaction, Report
from core.model.steps import Severity, Step

MOST_TEXTS = 10_000
"""Most sentences of one report whose forms are remembered: more than any real report has, with room for several reports."""


class BadReportError(ValueError):
    """A report's JSON could not be read; the message is one sentence for the person who gave it."""


class _FindingForm(Frozen, frozen=True, kw_only=True):
    """A Finding as it stands in JSON: the severity is a word."""

    id: str
    cause: str
    step: Step
    severity: Literal["good", "note", "unknown", "warning", "error"]
    primary: bool
    subject: str
    title: str
    why: str
    evidence: tuple[Evidence, ...]
    fix: Fix | None = None
    follows_from: str = ""
    subjects: tuple[str, ...] = ()
    consumers: tuple[str, ...] = ()
    also: tuple[Step, ...] = ()
    headline: bool = False
    ways: tuple[str, ...] = ()


class _TextForm(Frozen, frozen=True, kw_only=True):
    """The source of a sentence of the Snapshot: ``message`` with each {name} replaced by its value."""

    message: str
    values: dict[str, str]


class _ReportForm(Frozen, frozen=True, kw_only=True):
    schema: int
    version: str
    snapshot: Snapshot
    findings: tuple[_FindingForm, ...] = ()
    grid: CompatibilityGrid | None = None
    taken_out: tuple[Redaction, ...] | None = None
    history: tuple[HistoryEntry, ...] | None = None
    texts: tuple[_TextForm, ...] = ()


def indented_json(value: object) -> bytes:
    """Return a value as the JSON that is printed and published: indented, with a final line feed."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def to_json(report: Report) -> bytes:
    """Return the report in the contract's JSON form, indented, with a final line feed."""
    forms = tuple(
        _FindingForm(**{**{n: getattr(f, n) for n in _FindingForm.__struct_fields__}, "severity": f.severity.word})
        for f in report.findings
    )
    form = _ReportForm(
        schema=SCHEMA_VERSION,
        version=report.version,
        snapshot=report.snapshot,
        findings=forms,
        grid=report.grid,
        taken_out=report.taken_out,
        history=report.history,
        texts=tuple(_TextForm(message=m, values=v) for m, v in {fill_form(*f): f for f in forms_in(report)}.values()),
    )
    return indented_json(form)


def from_json(data: bytes) -> Report:
    """Read a report's JSON form.

    Raises:
        BadReportError: the data is no JSON, is nested too deeply, has another schema, or a field of a wrong type.
    """
    try:
        data = unmarked(data)
        head = msgspec.json.decode(data)
        if not isinstance(head, dict) or "schema" not in head:
            raise BadReportError(_("This is not a Convalesce report: it has no field named schema."))
        if head["schema"] != SCHEMA_VERSION:
            raise BadReportError(
                _(
                    "This report has schema {theirs}; this version of Convalesce reads schema {ours}.",
                    theirs=repr(str(head["schema"])[:20]),
                    ours=SCHEMA_VERSION,
                )
            )
        form = msgspec.json.decode(data, type=_ReportForm)
    except RecursionError:
        raise BadReportError(_("This report is nested too deeply.")) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as e:
        raise BadReportError(_("This report cannot be read: {e}.", e=e)) from None
    for text in form.texts[:MOST_TEXTS]:
        remember_form(text.message, text.values)
    for load in form.snapshot.loads or ():  # older reports have it without texts
        for whole in (load.consumer, replace(load.consumer, framework="")):
            remember_form(*whole.message_and_values)
    findings = tuple(
        Finding(**{**{n: getattr(f, n) for n in f.__struct_fields__}, "severity": Severity[f.severity.upper()]})
        for f in form.findings
    )
    return Report(
        snapshot=form.snapshot,
        findings=findings,
        grid=form.grid,
        version=form.version,
        taken_out=form.taken_out,
        history=form.history,
    )
