"""A short code to read out over the phone: the findings of a report, a few versions and two check characters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

import msgspec

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.text_width import TEXT_WIDTH, wrap
from core.common.versions import all_numbers
from core.knowledge.causes import CauseRow, cause_rows
from core.model.facts import Frozen, Snapshot, System
from core.model.findings import Report
from core.model.steps import Severity, Step
from core.report.json_form import indented_json
from core.report.text import SEVERITY_MARKS

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""The 32 characters of D. Crockford's Base32, without the easily confused I, L, O and U."""
CODE_PREFIX = "CV"
CODE_FORM = 1
MAX_CODE_FINDINGS = 7
"""Most findings in a code; it has a flag for more."""
NO_CAUSE = 127
"""Index that stands for a finding without a cause."""
CODE_STEPS = tuple(Step)
CODE_SEVERITIES = (Severity.UNKNOWN, Severity.WARNING, Severity.ERROR)
_CODE = late_pattern(r"\s*CV[-\s]?(?=[-\s0-9A-Za-z]{4,60}\Z)(?=.*\d|.*-)", re.IGNORECASE)
_ALIKE = str.maketrans("ILO", "110")


class CodeError(ValueError):
    """The text is not a session code, or was misread; the message is one sentence."""


class CodeItem(Frozen, frozen=True, kw_only=True):
    """The part of a finding that a code contains."""

    cause: int
    severity: Literal["unknown", "warning", "error"]
    step: Step


class DecodedReport(Frozen, frozen=True, kw_only=True):
    """The content of a code."""

    system: System
    items: tuple[CodeItem, ...] = ()
    primary: bool = False
    """Whether the first item is the root cause."""
    more: bool = False
    """Whether there were more findings than the code contains."""
    driver: int | None = None
    """The driver's branch: 580."""
    driver_cuda: tuple[int, int] | None = None
    cudnn: tuple[int, int, int] | None = None
    """The cuDNN that answered, or else the first that was found."""


# --- from a report ---------------------------------------------------------------------------------------


def decoded_report(report: Report) -> DecodedReport:
    """Return the content of a report's code: every warning and fault, the root cause first."""
    numbers: dict[str, int] = {row.cause: n for n, row in enumerate(cause_rows())}
    head = report.headline
    found = sorted(
        (f for f in report.findings if f.severity in CODE_SEVERITIES), key=lambda f: (f is not head, -f.severity)
    )
    items = tuple(
        dict.fromkeys(
            CodeItem(cause=numbers.get(f.cause, NO_CAUSE), severity=f.severity.word, step=f.step)  # type: ignore[arg-type] # held to SEVERITIES above
            for f in found
        )
    )
    driver, driver_cuda = _driver(report.snapshot)
    return DecodedReport(
        system=report.snapshot.machine.system,
        items=items[:MAX_CODE_FINDINGS],
        primary=bool(found and found[0].primary),
        more=len(items) > MAX_CODE_FINDINGS,
        driver=driver,
        driver_cuda=driver_cuda,
        cudnn=_cudnn(report.snapshot),
    )


def _driver(s: Snapshot) -> tuple[int | None, tuple[int, int] | None]:
    d = s.driver
    if d is None:
        return None, None
    branch, pair = _numbers(d.version, (1024,)), _numbers(d.newest_cuda, (32, 16))
    return (branch[0] if branch else None), ((pair[0], pair[1]) if pair else None)


def _cudnn(s: Snapshot) -> tuple[int, int, int] | None:
    answered = [load.roll_call.version for load in s.loads or () if load.roll_call and load.roll_call.version]
    parts = _numbers((answered + [c.version for c in s.cudnn or () if c.version] + [None])[0], (16, 64, 16))
    return (parts[0], parts[1], parts[2]) if parts else None


def _numbers(version: str | None, limits: Sequence[int]) -> list[int] | None:
    """Return the first parts of a version, or None if one is too large."""
    parts = all_numbers(version or "")[: len(limits)]
    numbers = [*parts] + [0] * (len(limits) - len(parts))
    return numbers if parts and all(n < most for n, most in zip(numbers, limits, strict=True)) else None


# --- bits ------------------------------------------------------------------------------------------------


def encode_code(t: DecodedReport) -> str:
    """Return the code: "CV-XXXX-XXXX-...", at most 34 characters."""
    fields = [(CODE_FORM, 4), (t.system == "windows", 1), (t.primary, 1), (t.more, 1), (len(t.items), 3)]
    for item in t.items:
        severity = CODE_SEVERITIES.index(Severity[item.severity.upper()])
        fields += [(item.cause, 7), (severity, 2), (CODE_STEPS.index(item.step), 3)]
    for numbers, widths in (
        ((t.driver,) if t.driver is not None else None, (10,)),
        (t.driver_cuda, (5, 4)),
        (t.cudnn, (4, 6, 4)),
    ):
        fields.append((numbers is not None, 1))
        fields += list(zip(numbers, widths, strict=True)) if numbers is not None else []
    bits = "".join(f"{int(value):0{width}b}" for value, width in fields)
    bits += "0" * (-len(bits) % 5)
    symbols = [int(bits[i : i + 5], 2) for i in range(0, len(bits), 5)]
    text = "".join(ALPHABET[n] for n in symbols + check_symbols(symbols))
    return "-".join([CODE_PREFIX, *textwrap.wrap(text, 4)])


def is_code(text: str) -> bool:
    """Whether a text is meant as a session code: it starts with CV and has only the code's characters."""
    return bool(_CODE.match(text))


def decode_code(text: str) -> DecodedReport:
    """Read a code back, whatever its case and spacing.

    Raises:
        CodeError: a character is wrong, two are swapped, or some are missing.
    """
    bare = re.sub(r"[-\s]", "", text).upper().removeprefix(CODE_PREFIX).translate(_ALIKE)
    if not bare or any(c not in ALPHABET for c in bare) or not 5 <= len(bare) <= 31:
        raise CodeError(_("This is not a session code: a code has the form CV-XXXX-XXXX."))
    symbols = [ALPHABET.index(c) for c in bare]
    if check_symbols(symbols[:-2]) != symbols[-2:]:
        raise CodeError(
            _("This session code has a typing error; compare it character by character, and type it again.")
        )
    bits = "".join(f"{n:05b}" for n in symbols[:-2])
    return _read_bits(iter(bits))


def _read_bits(bits: Iterator[str]) -> DecodedReport:
    def take(width: int) -> int:
        part = list(islice(bits, width))
        if len(part) < width:
            raise CodeError(_("This session code is not complete."))
        return int("".join(part), 2)

    def some(*widths: int) -> list[int]:
        return [take(w) for w in widths] if take(1) else []

    if take(4) != CODE_FORM:
        raise CodeError(_("This session code was made by a newer Convalesce."))
    system: System = "windows" if take(1) else "linux"
    primary, more = bool(take(1)), bool(take(1))
    items = []
    for _item in range(take(3)):
        cause, severity, step = take(7), take(2), take(3)
        if severity >= len(CODE_SEVERITIES) or step >= len(CODE_STEPS):
            raise CodeError(_("This session code was made by a newer Convalesce."))
        items.append({"cause": cause, "severity": CODE_SEVERITIES[severity].word, "step": CODE_STEPS[step]})
    driver, cuda, cudnn = some(10), some(5, 4), some(4, 6, 4)
    known = {"driver": driver[0] if driver else None, "driver_cuda": cuda or None, "cudnn": cudnn or None}
    return msgspec.convert({"system": system, "items": items, "primary": primary, "more": more, **known}, DecodedReport)


# --- check characters ---------------------------------------------------------------------------------------
# Two symbols of a Reed-Solomon code over GF(32): any two wrong symbols, and any two swapped ones, are detected.


def _powers() -> list[int]:
    """Return alpha^0 ... alpha^30 of GF(32), with x^5 + x^2 + 1."""
    powers = [1]
    while len(powers) < 31:
        doubled = powers[-1] << 1
        powers.append(doubled ^ 0b100101 if doubled & 32 else doubled)
    return powers


_POWER = _powers()


def _times(a: int, b: int) -> int:
    return 0 if not a or not b else _POWER[(_POWER.index(a) + _POWER.index(b)) % 31]


def check_symbols(symbols: Sequence[int]) -> list[int]:
    """Return the two check symbols, so that the whole is 0 at alpha and at alpha squared."""
    a = b = 0
    for place, symbol in enumerate(reversed(symbols), 2):
        a ^= _times(symbol, _POWER[place % 31])
        b ^= _times(symbol, _POWER[2 * place % 31])
    divisor = _POWER[1] ^ _POWER[2]
    second = _times(a ^ b, _POWER[-_POWER.index(divisor) % 31])
    return [second, a ^ _times(second, _POWER[1])]


# --- words -------------------------------------------------------------------------------------------------


def code_text(t: DecodedReport, vocabulary: Sequence[CauseRow]) -> str:
    """Return the content of a code, for a terminal."""
    system, versions = "Windows" if t.system == "windows" else "Linux", _versions(t)
    lines = [
        _("A session code from a {system} machine ({versions}).", system=system, versions=versions)
        if versions
        else _("A session code from a {system} machine.", system=system),
        "",
    ]
    if not t.items:
        lines.append(_("Nothing wrong was found there."))
    for n, item in enumerate(t.items):
        sign, word, _colour = SEVERITY_MARKS[Severity[item.severity.upper()]]
        known = vocabulary[item.cause] if item.cause < len(vocabulary) else None
        unnamed = (
            _("A finding without a named cause.")
            if item.cause == NO_CAUSE
            else _("This version does not know the cause.")
        )
        cause = f"  [{known.cause}]" if known else ""
        head = _("{word}, step {step}", word=_(word), step=item.step.value)
        if t.primary and n == 0:
            head = _("the cause, {word}", word=head)
        text = f"{sign} {head}: {_(known.meaning) if known else unnamed}{cause}"
        lines += wrap(text, TEXT_WIDTH, "  ", "    ")
    if t.more:
        lines.append("  " + _("There were more findings than a session code can hold."))
    if any(i.cause < len(vocabulary) for i in t.items):
        lines += ["", _("To learn more about one of them: convalesce explain and the word in brackets.")]
    return "\n".join(lines) + "\n"


def _versions(t: DecodedReport) -> str:
    words = [
        _("driver {version}", version=t.driver) if t.driver is not None else "",
        _("which runs CUDA up to {version}", version=_version_text(t.driver_cuda)) if t.driver_cuda else "",
        f"cuDNN {_version_text(t.cudnn)}" if t.cudnn else "",
    ]
    return ", ".join(filter(None, words))


def _version_text(numbers: Iterable[int]) -> str:
    return ".".join(map(str, numbers))


def code_json(t: DecodedReport, vocabulary: Sequence[CauseRow]) -> bytes:
    """Return the content of a code as JSON, with the names of the causes."""
    findings = [
        {
            "cause": vocabulary[i.cause].cause if i.cause < len(vocabulary) else "",
            "severity": i.severity,
            "step": i.step,
            "primary": t.primary and n == 0,
        }
        for n, i in enumerate(t.items)
    ]
    form = {"system": t.system, "findings": findings, "more": t.more}
    versions = {"driver": t.driver, "driver_cuda": t.driver_cuda, "cudnn": t.cudnn}
    shown = {k: None if v is None else str(v) if isinstance(v, int) else _version_text(v) for k, v in versions.items()}
    return indented_json(form | {"versions": shown})
