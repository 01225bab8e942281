"""Put an explanation together: read, rank, prove, warn, and say the result in one sentence."""

from __future__ import annotations

from dataclasses import replace

from core.causes import causes as known_causes
from core.explain import cures, dictionary, foreign, verdicts
from core.explain.model import CodeMeaning, Explanation, Ranked
from core.explain.ranking import heard, rank
from core.explain.reading import Reading, read
from core.explain.tables import clues
from core.facts import Snapshot
from core.findings import Finding
from core.guard import guarded
from core.i18n import N_, _, sentences
from core.report import printable

SHOWN = 12
"""Causes that are given at most."""
LEAST = 0.01
"""Score below which a cause that the machine does not prove is left out."""
SHORT = 4000
"""Characters up to which a text counts as a message by itself: a log must also name something of the GPU set-up."""
ROOT = 0.4
"""What being the machine's root cause weighs beside the text's share of belief."""
NOTHING = N_("Nothing in here is about the GPU set-up.")
TOPIC = (
    *("cuda", "cudnn", "nvidia", "nvrtc", "cublas", "tensorrt", "executionprovider", "nouveau"),
    *("tensorflow", "torch", "paddle", "jax", "cupy", "ctranslate", "onnxruntime"),
)  # fmt: skip
"""Words that make a log one about the GPU set-up, if it also has a clue."""


def explain(text: str, snapshot: Snapshot | None = None) -> Explanation:
    """Explain an error text, a log, or one term; with a Snapshot each cause is proved, refuted or left open on it.

    Works offline and in linear time; never raises for any text.
    """
    meant = dictionary.look_up(text)
    reading = read(f"error code {text.strip()}" if meant and text.strip().isdigit() else text)
    if not meant and not about_gpu(reading):
        return Explanation(sentence=_(NOTHING))
    codes = meant or dictionary.meanings(reading)
    failures: list[Finding] = []
    away = guarded(lambda: foreign.reasons(reading, snapshot), "explain.foreign", failures, "")
    known = None if away else snapshot
    if snapshot is not None and not away:
        reading = replace(reading, marks=reading.marks | _of_machine(snapshot))
    causes = () if meant and not heard(reading) else _causes(reading, known, failures)
    return Explanation(
        sentence=_sentence(meant, causes, snapshot, away),
        causes=causes,
        codes=codes,
        warnings=guarded(lambda: cures.seen(reading, known), "explain.cures", failures, ()),
        foreign=printable(away),
        decide=_decide(causes),
        lines=tuple(printable(line) for line in telling_lines(reading)),
        failed=tuple(dict.fromkeys(failures)),
    )


def _of_machine(snapshot: Snapshot) -> set[str]:
    """Return the marks of context that the machine itself gives to a text that came up on it."""
    machine = snapshot.machine
    return {machine.system} | ({"wsl"} if machine.wsl else set()) | ({"container"} if machine.container else set())


def about_gpu(reading: Reading) -> bool:
    """Whether a text says something about the GPU set-up: a short one by any clue or name, a log by both."""
    named = any(word in reading.low for word in TOPIC) or "lib:cudnn" in reading.marks
    told = bool(heard(reading))
    return (told or named) if len(reading.text) <= SHORT else (told and named)


def telling_lines(reading: Reading) -> tuple[str, ...]:
    """Return the lines that carry a symptom or a missing library, as written, at most a dozen of 200 characters."""
    phrases = [p.split("*")[0] for m in reading.symptoms for p in m.phrases]
    names = [x.name for x in reading.libraries]
    lines = (line.strip() for line in reading.text.split("\n"))
    kept = [line[:200] for line in lines if line and any(p in line.lower() for p in (*phrases, *names))]
    return tuple(dict.fromkeys(kept))[:12]


def _causes(reading: Reading, snapshot: Snapshot | None, failures: list[Finding]) -> tuple[Ranked, ...]:
    words = {row.cause: row.meaning for row in known_causes()}
    judged = verdicts.judge(reading, snapshot, failures)
    ranked = [
        Ranked(
            cause=cause,
            score=round(score, 4),
            because=tuple(_(b) if b else b for b in because[:4]),
            meaning=_(words[cause]) if cause in words else "",
            **judged.get(cause, {}),
        )
        for cause, score, because in rank(reading)
    ]
    worth = [r for place, r in enumerate(ranked) if (r.score >= LEAST and place < SHOWN) or r.verdict == "proved"]
    return tuple(sorted(worth, key=_order))


def _order(r: Ranked) -> tuple[int, float]:
    """Proved, open, refuted; among proved ones the root cause and what the text itself asked for gain, what follows loses."""
    place = {"proved": 0, "open": 1, "refuted": 2}[r.verdict]
    asked = r.verdict == "proved" and r.finding is None
    root = (asked or bool(r.finding and r.finding.primary)) - bool(r.finding and r.finding.follows_from)
    return place, -(r.score + ROOT * root)


def _sentence(meant: tuple[CodeMeaning, ...], causes: tuple[Ranked, ...], snapshot: Snapshot | None, away: str) -> str:
    if meant:
        first = meant[0]
        number = f" ({first.number})" if first.number else ""
        return f"{first.term}{number}: {first.meaning}"
    if not causes:
        return _(NOTHING)
    best = causes[0]
    if best.verdict == "proved":
        return _("Proved on this machine: {title}", title=best.finding.title if best.finding else best.meaning)
    if away:
        return _(
            "This text seems to come from another machine. By itself it points most to this: {meaning}",
            meaning=best.meaning,
        )
    if best.verdict == "refuted":
        return _("The text suggests causes that this machine refutes; the fault may lie elsewhere, or be over.")
    if not best.because:
        return _("The text names no symptom that points anywhere; a scan of the machine decides.")
    share = (
        _("The likeliest of several causes ({score}): {meaning}", score=format(best.score, ".0%"), meaning=best.meaning)
        if best.score < 0.7
        else _("Most likely ({score}): {meaning}", score=format(best.score, ".0%"), meaning=best.meaning)
    )
    return sentences(share, "" if snapshot is None else _("This machine neither proves nor refutes it."))


def _decide(causes: tuple[Ranked, ...]) -> str:
    if not causes or causes[0].verdict == "proved":
        return ""
    deciding = clues().decides
    asks = [_(deciding[r.cause]) for r in causes[:3] if r.verdict == "open" and r.cause in deciding]
    return _("To decide between the best: {questions}.", questions="; ".join(dict.fromkeys(asks))) if asks else ""
