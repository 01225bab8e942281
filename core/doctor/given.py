"""Input from a person: a report of another computer, a session code, or an error message; as a file or as text."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from core.common.given_text import PICTURE_STARTS, decode_text, is_binary
from core.common.i18n import _
from core.common.patience import Patience, call_patiently
from core.knowledge.causes import cause_rows
from core.model.facts import Frozen
from core.model.findings import Report
from core.report.json_form import BadReportError, from_json
from core.report.session_code import CodeError, code_text, decode_code, is_code

MAX_BYTES = 64 << 20
"""Most bytes of a file that are read; more than any real report or log has."""


class Given(Frozen, frozen=True, kw_only=True):
    """What it is: one of these, or a problem."""

    report: Report | None = None
    """A report of another computer: nothing in it can be changed from here."""
    code: str = ""
    """The content of a session code, in lines."""
    message: str = ""
    problem: str = ""
    """Why it cannot be read, in one sentence."""


def read_file(path: str) -> Given:
    """Read a file that was opened or dropped."""
    try:
        data = Patience().run(lambda: call_patiently(_read_bytes, path))
    except (OSError, ValueError) as e:
        return Given(problem=_("This file cannot be read: {reason}", reason=getattr(e, "strerror", None) or e))
    if data.startswith(PICTURE_STARTS) or is_binary(data):
        return Given(problem=_("This file holds no text. Paste the message instead."))
    return read_text(decode_text(data))


def _read_bytes(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(MAX_BYTES)


def read_text(text: str) -> Given:
    """Read what was typed or pasted."""
    try:
        if is_code(text):
            return Given(code=code_text(decode_code(text), cause_rows()))
        if text.lstrip().startswith("{") and '"schema"' in text:
            return Given(report=from_elsewhere(from_json(text.strip().encode())))
    except (CodeError, BadReportError) as e:
        return Given(problem=str(e))
    return Given(message=text)


def from_elsewhere(report: Report) -> Report:
    """Return a report of another computer, diagnosed again, without anything that a button could change on this one."""
    from core.doctor.examine import diagnose_snapshot

    again = diagnose_snapshot(report.snapshot)
    findings = tuple(replace(f, fix=replace(f.fix, changes=())) if f.fix else f for f in again.findings)
    return replace(again, findings=findings, taken_out=report.taken_out, history=report.history)


def describe_computer(report: Report) -> str:
    """Return in a few words which computer a report is of: its system, its GPU, and when it was made."""
    seen = report.snapshot
    gpus = seen.driver.gpus if seen.driver else None
    parts = (
        seen.machine.host_name,
        seen.machine.release or seen.machine.system,
        gpus[0].name if gpus else "",
        seen.taken[:10],
    )
    return ", ".join(p for p in parts if p)
