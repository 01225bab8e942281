"""An explanation as text for a terminal and as the contract's JSON."""

from __future__ import annotations

import msgspec

from core.explain.model import Explanation, Ranked
from core.i18n import N_, _, told
from core.report import printable
from core.wrapping import wrap

WIDTH = 96
SHOWN = 5
VERDICTS = {
    "proved": ("✓", N_("proved on this machine"), "31"),
    "refuted": ("–", N_("refuted on this machine"), "2"),
    "open": ("?", N_("open"), "35"),
}
"""Sign, words and ANSI colour of each verdict: never colour alone."""


def to_json(explanation: Explanation) -> bytes:
    """Return the contract's form: causes best first, codes; and sentence, warnings, foreign, decide, lines beside them."""
    return msgspec.json.format(msgspec.json.encode(explanation), indent=2) + b"\n"


def render_text(explanation: Explanation, colour: bool = False, width: int = WIDTH) -> str:
    """Return the explanation for a newcomer: the result, the causes and why, what to do, what the words mean."""
    e = explanation
    lines = _wrapped(e.sentence, "", width)
    if e.foreign:
        lines += [
            "",
            *_wrapped(e.foreign, "", width),
            _("Its own report decides: run convalesce scan --out FILE there, then explain --report FILE here."),
        ]
    if e.causes:
        lines += ["", _("What may stand behind it")]
        # what only its base rate brings in is no reason for anybody
        told = tuple(r for r in e.causes if r.because or r.verdict == "proved")
        for ranked in told[:SHOWN]:
            lines += _cause(ranked, colour, width)
        lines += _rest(told[SHOWN:], width)
    if e.decide:
        lines += ["", *_wrapped(e.decide, "", width)]
    if e.warnings:
        lines += ["", _("Cures that do harm")]
        for w in e.warnings:
            lines += _wrapped(
                "! " + (_("{title} (seen: {seen})", title=w.title, seen=w.seen) if w.seen else w.title), "  ", width
            )
            lines += _wrapped(w.harm, "    ", width) + _wrapped(
                _("To take it back: {undo}", undo=w.undo), "    ", width
            )
    lines += [line for f in e.failed for line in ("", *_wrapped(f.title, "", width))]
    if e.codes:
        lines += ["", _("What the words mean")]
        for c in e.codes:
            number = f" ({c.number})" if c.number and c.number != c.term else ""
            lines += _wrapped(f"{c.term}{number}" + (f", {c.family}" if c.family else ""), "  ", width)
            lines += _wrapped(f"{c.meaning} {c.usually}", "    ", width)
            lines += _wrapped(f"[{c.source}]", "    ", width) if c.source else []
    return "\n".join(lines) + "\n"


def _cause(r: Ranked, colour: bool, width: int) -> list[str]:
    sign, words, code = VERDICTS[r.verdict]
    mark = f"\x1b[{code}m{sign}\x1b[0m" if colour else sign
    verdict = "" if r.verdict == "open" else f"  ({_(words)})"
    lines = [f"  {mark} {r.score:4.0%}  {printable(r.meaning) or r.cause}  [{r.cause}]{verdict}"]
    for because in r.because[:2] if r.verdict != "refuted" else ():
        lines += _wrapped(f"- {because}", "        ", width)
    for item in r.evidence[:3] if r.verdict != "open" else ():
        lines += _wrapped(
            f"= {told(item.label)}: {told(item.value)}" + (f"  ({item.source})" if item.source else ""),
            "        ",
            width,
        )
    if r.finding is not None and r.verdict == "proved":
        lines += _wrapped(f"> {r.finding.title}", "        ", width)
        if r.finding.fix is not None:
            lines += _wrapped(_("What to do: {title}", title=r.finding.fix.title), "          ", width)
            for step in r.finding.fix.advice.split("\n"):
                lines += _wrapped(step, "            ", width) if step else []
    return lines


def _rest(causes: tuple[Ranked, ...], width: int) -> list[str]:
    named = [f"{r.cause} {r.score:.0%}" for r in causes if r.verdict != "refuted"]
    return _wrapped(_("Less likely: {causes}", causes=", ".join(named)), "    ", width) if named else []


def _wrapped(text: str, indent: str, width: int) -> list[str]:
    safe = printable(text)
    return wrap(safe, width, indent, indent + ("  " if indent else "")) or [""]
