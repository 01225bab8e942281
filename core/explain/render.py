"""An explanation as text for a terminal, and as JSON."""

from __future__ import annotations

from core.common.i18n import N_, _, join_sentences, translate_fact
from core.common.text import printable
from core.common.text_width import TEXT_WIDTH, wrap
from core.explain.model import Explanation, MachineFault, RankedCause, own_reasons
from core.report.json_form import indented_json

MAX_RENDERED_CAUSES = 5
MIN_SHOWN_SCORE = 0.015
"""Where a score reads 2 %: a dozen remote possibilities do not help. JSON has them all."""
MIN_ADVISED_SCORE = 0.05
"""Below it, a cause gets no steps: to follow them without knowing more harms more often than it helps."""
NEAR = 6
"""The steps of a second cause are shown unless the first is this many times as likely."""
VERDICT_SIGNS = {
    "proved": ("✓", N_("proved on this machine"), "31"),
    "refuted": ("–", N_("refuted on this machine"), "2"),
    "open": ("?", N_("open"), "35"),
}
"""Sign, words and ANSI colour of each verdict: never colour alone."""

BY_TEXT_WORDS = {"proved": N_("proved by the text itself"), "refuted": N_("refuted by the text itself")}
"""The same if the text itself shows it about its machine."""


def to_json(explanation: Explanation) -> bytes:
    """Return the published JSON: causes, best first, and the other fields of the explanation."""
    return indented_json(explanation)


def render_text(explanation: Explanation, colour: bool = False, width: int = TEXT_WIDTH) -> str:
    """Return the explanation for a newcomer.

    In order: what the message says, what this machine shows, whether one causes the other, the causes and why, the
    meaning of the words, and what to do.
    """
    e = explanation
    lines: list[str] = []
    if e.says.meaning and e.says.meaning != e.sentence:
        lines += [_("What the message says"), *_wrap_lines(e.says.meaning, "  ", width)]
        lines += _wrap_lines(named_sentence(e), "  ", width) if e.says.names else []
        lines.append("")
    if e.shows:
        lines.append(_("What this machine shows"))
        for shown in e.shows[:MAX_RENDERED_CAUSES]:
            lines += _wrap_lines(f"- {shown.title}  [{shown.cause}]", "  ", width)
            lines += _wrap_lines(join_sentences(link_sentence(shown), shown.against), "    ", width)
        lines.append("")
    lines += _wrap_lines(e.sentence, "", width)
    if e.foreign:
        lines += [
            "",
            *_wrap_lines(e.foreign, "", width),
            _(
                "The report of that machine decides: run convalesce scan --out FILE there, then convalesce "
                "explain --report FILE here."
            ),
        ]
    if worth := worth_showing(e.causes):
        lines += ["", _("Possible causes")]
        for ranked, reasons in zip(worth[:MAX_RENDERED_CAUSES], own_reasons(worth), strict=False):
            lines += _cause(ranked, reasons, colour, width)
        lines += _rest(worth[MAX_RENDERED_CAUSES:], width)
    lines += _harmful_advice(e, width)
    lines += [line for f in e.failed for line in ("", *_wrap_lines(f.title, "", width))]
    lines += _meanings(e, width)
    todo = what_to_do(e, width)
    return "\n".join((*lines, *(("", _("What to do"), *todo) if todo else ()))) + "\n"


def worth_showing(causes: tuple[RankedCause, ...]) -> tuple[RankedCause, ...]:
    """Return what a person reads of a ranking: what the machine shows, and what the text suggests by 2 % and more.

    A base rate alone is no reason to show it. Where the text suggests nothing that strongly, its first cause stays.
    """
    told = [r for r in causes if r.because or r.by_words or r.may or r.verdict == "proved"]
    likely = [r for r in told if r.score >= MIN_SHOWN_SCORE or r.may or r.verdict == "proved"]
    return tuple(likely or told[:1])


def _harmful_advice(e: Explanation, width: int) -> list[str]:
    lines = ["", _("Fixes that do harm")] if e.warnings else []
    for w in e.warnings:
        title = _("{title} (seen: {seen})", title=w.title, seen=w.seen) if w.seen else w.title
        lines += _wrap_lines(f"! {title}", "  ", width)
        lines += _wrap_lines(w.harm, "    ", width)
        lines += _wrap_lines(_("To undo it: {undo}", undo=w.undo), "    ", width)
    return lines


def _meanings(e: Explanation, width: int) -> list[str]:
    lines = ["", _("What the words mean")] if e.codes else []
    for c in e.codes:
        number = f" ({c.number})" if c.number and c.number != c.term else ""
        lines += _wrap_lines(f"{c.term}{number}" + (f", {c.family}" if c.family else ""), "  ", width)
        lines += _wrap_lines(f"{c.meaning} {c.usually}", "    ", width)
        lines += _wrap_lines(f"[{c.source}]", "    ", width) if c.source else []
    return lines


def named_sentence(e: Explanation) -> str:
    """Return the things that the text names, in one sentence."""
    return _("It names {names}.", names=", ".join(n.name for n in e.says.names))


def link_sentence(shown: MachineFault) -> str:
    """Return how a fault of the machine relates to the text, in one sentence."""
    return {
        "makes": _("It causes such a message."),
        "may make": _("It can cause such a message, as can other faults."),
        "contradicted": _("It can cause such messages, but not this one."),
        "none": _("It is not known to cause such a message."),
    }[shown.link]


def what_to_do(e: Explanation, width: int) -> list[str]:
    """Return the fix of what is proved or likely, else the steps for what the text suggests, and what would decide.

    A question that separates the causes comes before the steps for what is only possible.
    """
    lines: list[str] = []
    asked = [
        line
        for at, text in enumerate(e.decide.split("\n"))
        for line in _wrap_lines(text, "    " if at else "  ", width)
    ]
    asks_one = "\n" in e.decide
    if asks_one:
        lines += asked + _wrap_lines(_("To answer: convalesce explain --answer NUMBER"), "    ", width)
    having = [
        r for r in worth_showing(e.causes) if r.steps and (r.score >= MIN_ADVISED_SCORE or r.verdict == "proved")
    ][:2]
    near = [r for r in having if r.score * NEAR >= having[0].score]
    first = [r for r in e.causes if r.verdict == "proved" or r.may][:1] or near
    for r in first:
        fix = r.finding.fix if r.finding else None
        lead = r.meaning if r.verdict == "proved" else _("If this is the cause: {meaning}", meaning=r.meaning)
        lines += _wrap_lines(fix.title if fix else lead, "  ", width)
        for step in (fix.advice if fix else r.steps).split("\n"):
            lines += _wrap_lines(step, "    ", width) if step else []
        if fix and fix.changes and r.finding:
            lines += _wrap_lines(_("Convalesce can fix it: convalesce fix {id}", id=r.finding.id), "    ", width)
    return lines if asks_one or not e.decide else lines + asked


def _cause(r: RankedCause, reasons: tuple[str, ...], colour: bool, width: int) -> list[str]:
    sign, words, code = VERDICT_SIGNS[r.verdict]
    words = N_("this machine can cause it") if r.may else words
    words = BY_TEXT_WORDS.get(r.verdict, words) if r.by_text else words
    verdict = "" if r.verdict == "open" and not r.may else f"  ({_(words)})"
    share = f"{r.score:4.0%}" if r.score >= MIN_SHOWN_SCORE else " " * 4
    head = f"  {sign} {share}  "
    lines = wrap(f"{printable(r.meaning) or r.cause}  [{r.cause}]{verdict}", width, head, " " * len(head))
    if colour:
        lines[0] = lines[0].replace(sign, f"\x1b[{code}m{sign}\x1b[0m", 1)
    for because in reasons[:2] if r.verdict != "refuted" else ():
        lines += _wrap_lines(f"- {because}", "        ", width)
    for item in r.evidence[:3]:
        lines += _wrap_lines(
            f"= {translate_fact(item.label)}: {translate_fact(item.value)}"
            + (f"  ({item.source})" if item.source else ""),
            "        ",
            width,
        )
    if r.finding is not None:
        lines += _wrap_lines(f"> {r.finding.title}", "        ", width)
    return lines


def _rest(causes: tuple[RankedCause, ...], width: int) -> list[str]:
    named = [f"{r.cause} {r.score:.0%}" for r in causes if r.verdict != "refuted"]
    return _wrap_lines(_("Less likely: {causes}", causes=", ".join(named)), "    ", width) if named else []


def _wrap_lines(text: str, indent: str, width: int) -> list[str]:
    safe = printable(text)
    return wrap(safe, width, indent, indent + ("  " if indent else "")) or [""]
