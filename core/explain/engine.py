"""Build an explanation: read, rank, prove, warn, and summarise the result in one sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from msgspec import structs

from core.common.i18n import N_, _, join_sentences
from core.common.quick_search import quick_search
from core.common.text import printable
from core.explain import dictionary, endings, harmful_advice, other_machine, pasted, questions, saying, verdicts
from core.explain.model import CodeMeaning, Explanation, Link, RankedCause, TextSummary
from core.explain.ranking import MAX_TEXT_BELIEF, matching_clues, rank_causes
from core.explain.reading import ParsedText, read_text
from core.explain.steps import with_steps
from core.explain.words import believe_words
from core.knowledge.causes import cause_rows as known_causes
from core.model.facts import Snapshot
from core.model.findings import Finding
from core.rules.guard import run_guarded

MAX_CAUSES = 12
"""Maximum number of causes in an explanation."""
MIN_SCORE = 0.01
"""Minimum score of a cause that the machine does not prove."""
SHORT_TEXT_CHARACTERS = 4000
"""Characters up to which a text counts as a message by itself; a log must also name something about GPUs."""
FAINTEST_SCORE = 0.00001
"""Score of a cause whose share rounds to nothing: it still has its place after the others."""
LEAST_CAUSES = 5
"""Minimum number of causes without a machine: after a message that names one cause, the words suggest further ones."""
MAX_CAUSES_WITH_STEPS = 3
"""Number of causes with steps."""
LEAST_WORD_SCORE = 0.015
"""Minimum score of a cause by words alone; without any clue, of the best one."""
WORDS_AGREE_SCORE = 0.2
"""Score from which texts with such words mostly had the same cause."""
MAX_CAUSES_BY_WORDS = 3
"""Place up to which a cause is shown that words alone name."""
ANSWERED_SCORE = 0.85
"""Score of the cause that an answer leaves."""
ROOT_CAUSE_WEIGHT = 0.4
"""Weight of being the machine's root cause, relative to the text's score."""
PICTURE_TEXT = N_("This is a link to a picture, which holds no text: paste the text of the message itself.")
PICTURES = re.compile(
    r"(?:\s{0,20}(?:!\[[^\]\n]{0,200}\]\([^)\s]{1,500}\)|<img[^>\n]{1,500}>|https?://[^\s<>]{1,300}\.(?:png|jpe?g|gif|webp)))+\s{0,20}",
    re.IGNORECASE,
)
GUESS_SCORE = 0.3
"""Score below which a cause of a text that tells only how the program ended is a guess."""
ABSENT_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]{1,80})'")
NOTHING_TEXT = N_("Nothing in this text is about the GPU setup.")
NEXT_LOOK = N_("Paste the lines around the first error, or check this computer: convalesce scan.")
"""Next step for a text without any clue."""
OTHER_SIDE = N_(
    "Next: add what the program itself printed, or the output of python -m torch.utils.collect_env, or check this computer: convalesce scan."
)
"""Next step for a paste that shows part of a machine, but no message."""
TOPIC_WORDS = (
    *("cuda", "cudnn", "nvidia", "nvrtc", "cublas", "cusolver", "cusparse", "cufft", "curand", "tensorrt", "executionprovider", "nouveau", "gpu", "显卡", "nvrm", "nvml", "nccl", "nvcc", "ptxas", "nvvm", "xpu", "nvenc", "nvcuvid", "opencl"),
    *("tensorflow", "torch", "paddle", "jax", "cupy", "ctranslate", "onnxruntime"),
    *("ollama", "llama", "ggml", "vllm", "sglang", "lm studio", "koboldcpp", "whisper", "comfyui", "stable diffusion", "vram", "opencl", "vulkan"),
    *("geforce", "rtx ", "gtx ", "gloo", "c10d", "peer device", "hwaccel", "nvlddmkm", "/dev/kfd", "pi_error_", "ur_result_error"),
)  # fmt: skip
"""Words that make a log one about GPUs, if it also has a clue."""
LOADER_MARKS = frozenset({"load-failed", "lib-mismatch-symbol", "missing:other-library"})
"""Marks of a library, whatever its name, that Python or the system did not load: in a short text, that is the set-up."""
LEAST_ABOUT, LEAST_ABOUT_BY_WORDS = 3.0, 7.5
"""Log-odds of the words from which a text without such a word counts as one about GPUs: with and without a clue."""


def explain(text: str, snapshot: Snapshot | None = None, findings: tuple[Finding, ...] | None = None) -> Explanation:
    """Explain an error text, a log, or one term; with a Snapshot, prove or refute each cause on it if possible.

    ``findings``: those of the Snapshot's Report, if the caller has them. Works offline and in linear time; never raises
    for any text.
    """
    if len(text) < SHORT_TEXT_CHARACTERS and PICTURES.fullmatch(text):
        return Explanation(sentence=_(PICTURE_TEXT))
    meant = dictionary.look_up(text)
    # A number alone is read as the message with that number.
    reading = read_text(f"{meant[0].term}, error code {meant[0].number}" if meant and meant[0].number else text)
    ending = endings.find_ending(reading)
    about = bool(meant) or is_about_gpu(reading)
    if ending is None and not about:
        return Explanation(sentence=_(NOTHING_TEXT), decide=_next_look(reading))
    codes = meant or dictionary.code_meanings(reading)
    failures: list[Finding] = []
    says = TextSummary() if meant else saying.summarise_text(reading, codes)
    shown = "" if says.meaning or meant or matching_clues(reading) else pasted.describe(reading)
    says = structs.replace(says, meaning=shown) if shown else says
    away = run_guarded(lambda: other_machine.other_machine_reasons(reading, snapshot), "explain.foreign", failures, "")
    here = None if away else snapshot
    if here is not None:
        reading = replace(reading, marks=reading.marks | _machine_marks(here))
    judged = verdicts.judge_causes(reading, here, _findings(here, findings), failures)
    if here is None:
        nothing: dict[str, dict[str, Any]] = {}
        decided = run_guarded(lambda: pasted.judge_pasted(reading), "explain.pasted", failures, nothing)
        judged = replace(judged, verdicts=decided)
    causes = (
        ()
        if meant and not matching_clues(reading)
        else _causes(reading, judged, not shown, not meant, LEAST_CAUSES if here is None else 0)
    )
    link = _link(causes, judged, snapshot, away)
    asked = questions.find_question(causes, reading)
    explained = Explanation(
        sentence=_of_term(meant[0]) if meant else _sentence(link, causes, judged, says),
        says=says,
        shows=judged.shows,
        link=link,
        causes=causes,
        codes=codes,
        warnings=run_guarded(lambda: harmful_advice.find_harmful_advice(reading, here), "explain.cures", failures, ()),
        foreign=printable(away),
        decide=_(OTHER_SIDE) if shown and snapshot is None else questions.ask_what_decides(causes, asked),
        question=_(asked.ask) if asked else "",
        choices=tuple(_(a.answer) for a in asked.answers) if asked else (),
        answers=tuple(a.cause for a in asked.answers) if asked else (),
        lines=tuple(printable(line) for line in telling_lines(reading)),
        failed=tuple(dict.fromkeys(failures)),
    )
    return explained if ending is None else _of_ending(explained, ending, ending.guesses or about)


def _of_ending(e: Explanation, ending: endings.Ending, guesses: bool) -> Explanation:
    """Return the answer to a text that tells only how the program ended: what that means, and the next look, before guesses."""
    told = [r for r in e.causes if r.verdict == "proved" or r.may or r.because]
    if e.question or any(r.verdict == "proved" or r.may or r.score >= GUESS_SCORE for r in told):
        return e
    status = any(c.kind or c.family for c in e.codes if c.number)
    causes = tuple(structs.replace(r, steps="") for r in e.causes if guesses or r.verdict == "refuted")
    looked = structs.replace(e, causes=causes, decide=_(ending.look))
    if e.link not in ("", "nothing found"):
        return looked
    if status:
        return structs.replace(looked, sentence=e.sentence if not e.says.meaning else e.says.meaning)
    return structs.replace(looked, sentence=_(ending.meaning), says=structs.replace(e.says, meaning=_(ending.meaning)))


def _findings(snapshot: Snapshot | None, given: tuple[Finding, ...] | None) -> tuple[Finding, ...]:
    """Return the caller's findings, else those of the rules, without changes."""
    if snapshot is None or given is not None:
        return given or ()
    from core.rules.root_cause import diagnose  # a text alone needs none of the rules

    return diagnose(snapshot)


def _machine_marks(snapshot: Snapshot) -> set[str]:
    """Return the marks of context that a text from this machine would have."""
    machine = snapshot.machine
    return {machine.system} | ({"wsl"} if machine.wsl else set()) | ({"container"} if machine.container else set())


def is_about_gpu(reading: ParsedText) -> bool:
    """Whether a text is about a GPU set-up: a short one with any clue or name; a log with both, or with a message that
    only such a program prints.
    """
    named = any(word in reading.low for word in TOPIC_WORDS) or "lib:cudnn" in reading.marks
    clues = matching_clues(reading)
    if len(reading.text) <= SHORT_TEXT_CHARACTERS:
        if named or any(c.exact for c in clues) or reading.marks & LOADER_MARKS:
            return True
        return believe_words(reading).about >= (LEAST_ABOUT if clues else LEAST_ABOUT_BY_WORDS)
    exact = any(c.exact and max(c.causes, key=lambda cause: c.causes[cause]) != "program_error" for c in clues)
    return bool(clues) and (named or exact)


def _next_look(reading: ParsedText) -> str:
    """Return what to do with a text that is about no GPU set-up."""
    absent = ABSENT_MODULE.search(reading.text)
    if absent is None:
        return _(NEXT_LOOK)
    return _(
        "The Python that ran does not find the module {module}. Activate the environment that has it, or install the "
        "package that contains it into the one that ran: python -m pip always means the Python that you call.",
        module=printable(absent[1]),
    )


def telling_lines(reading: ParsedText) -> tuple[str, ...]:
    """Return the lines with a symptom or a missing library as written, at most a dozen of 200 characters."""
    phrases = [p.split("*")[0] for m in reading.symptoms for p in m.phrases]
    names = [x.name for x in reading.libraries]
    lines = zip(reading.text.split("\n"), reading.low.split("\n"), strict=False)  # the second has more behind these
    forms = [form for m in reading.symptoms for form in m.forms]
    kept = [
        line.strip()[:200]
        for line, low in lines
        if any(p in low for p in (*phrases, *names)) or any(quick_search(f, low) for f in forms)
    ]
    return tuple(dict.fromkeys(kept))[:12]


def _causes(
    reading: ParsedText, judged: verdicts.Judgement, complains: bool, by_words: bool, least: int
) -> tuple[RankedCause, ...]:
    """Return the causes, best first, at least ``least`` of those with a score.

    Words do not rank a text that is evidence only and contains no error, nor a single term.
    """
    words = {row.cause: row.meaning for row in known_causes()}
    rows = rank_causes(reading, by_words)
    bare = not any(because for _cause, _score, because in rows)
    told = complains and rows[0][1] >= LEAST_WORD_SCORE
    ranked = [
        RankedCause(
            cause=cause,
            score=round(score, 4) or FAINTEST_SCORE,
            because=tuple(_(b) if b else b for b in because[:4]),
            by_words=told and not because and place < MAX_CAUSES_BY_WORDS and (bare or score >= LEAST_WORD_SCORE),
            meaning=_(words[cause]) if cause in words else "",
            **judged.verdicts.get(cause, {}),
        )
        for place, (cause, score, because) in enumerate(rows)
    ]
    worth = [
        r
        for place, r in enumerate(ranked)
        if ((r.score >= MIN_SCORE or (r.because and least) or bare) and place < MAX_CAUSES)
        or (place < least and (by_words or r.score > FAINTEST_SCORE))
        or r.verdict == "proved"
        or r.may
    ]
    best = sorted(worth, key=_rank_key)
    return tuple(
        with_steps(r, reading.marks, reading.text) if place < MAX_CAUSES_WITH_STEPS else r
        for place, r in enumerate(best)
    )


def _rank_key(r: RankedCause) -> tuple[int, float]:
    """Return the sort key: proved, open, refuted; among proved ones, root causes and causes that the text asks for
    first, consequences last.
    """
    place = {"proved": 0, "open": 1 if r.may else 2, "refuted": 3}[r.verdict]
    asked = r.verdict == "proved" and r.finding is None
    root = (asked or bool(r.finding and r.finding.primary)) - bool(r.finding and r.finding.follows_from)
    return place, -(r.score + ROOT_CAUSE_WEIGHT * root)


def _link(causes: tuple[RankedCause, ...], judged: verdicts.Judgement, snapshot: Snapshot | None, away: str) -> Link:
    """Return whether the machine's faults cause the text."""
    if snapshot is None or not causes:
        return ""
    if away:
        return "elsewhere"
    if causes[0].verdict == "proved":
        return "proved"
    if causes[0].may:
        return "possible"
    told = [r for r in causes if r.because]
    if told and max(told, key=lambda r: r.score).verdict == "refuted":
        return "contrary"
    return "not linked" if judged.shows else "nothing found"


def _of_term(meant: CodeMeaning) -> str:
    number = f" ({meant.number})" if meant.number else ""
    return f"{meant.term}{number}: {meant.meaning}"


def _sentence(link: Link, causes: tuple[RankedCause, ...], judged: verdicts.Judgement, says: TextSummary) -> str:
    """Return in words whether the machine's faults cause the text; without a machine, what the text suggests."""
    if not causes:
        return _(NOTHING_TEXT)
    best = causes[0]
    title = best.finding.title if best.finding else best.meaning
    if link == "proved":
        return _("Proved on this machine: {title}", title=title)
    if link == "possible":
        return _(
            "This machine shows something that can cause such a message, as can other faults: {title}", title=title
        )
    if link == "elsewhere":
        return _(
            "This text seems to come from another machine. By itself, it most likely means: {meaning}",
            meaning=best.meaning,
        )
    if link == "contrary":
        denied = max((r for r in causes if r.verdict == "refuted"), key=lambda r: r.score)
        return _(
            "This machine shows the opposite of the most likely cause ({meaning}): either the text comes from another machine, or the fault is already fixed.",
            meaning=denied.meaning.rstrip(".。"),
        )
    if link == "not linked":
        shown = judged.shows[0]
        return join_sentences(
            _("This machine also shows: {title}", title=shown.title),
            shown.against or judged.stranger or _("It is not known to cause such a message."),
        )
    if link == "nothing found":
        return join_sentences(_("Nothing that was found on this machine explains it."), judged.stranger)
    return _points_to(causes, says)


def _points_to(causes: tuple[RankedCause, ...], says: TextSummary) -> str:
    """Return the causes that a text suggests by itself."""
    best = causes[0]
    if best.verdict == "proved":
        return _("The text itself proves it: {meaning}", meaning=best.meaning)
    if best.by_words:
        came = (
            _("Messages like this one mostly had this cause: {meaning}", meaning=best.meaning)
            if best.score >= WORDS_AGREE_SCORE
            else _("Messages like this one have had different causes; only the machine can tell.")
        )
        unknown = "" if any(r.because for r in causes) else _("No exact message was recognised.")
        return join_sentences(says.meaning, unknown, came)
    if not best.because:
        return says.meaning or _("The text contains no symptom of a known cause; a scan of the machine can tell.")
    if best.score >= questions.LIKELY_SCORE:
        return _("Most likely ({score}): {meaning}", score=format(best.score, ".0%"), meaning=best.meaning)
    return _(
        "Several causes are possible; only the machine can tell. The most likely one: {meaning}",
        meaning=best.meaning,
    )


def answer_question(e: Explanation, number: int) -> Explanation:
    """Return an explanation after an answer to its question, counted from 1.

    Raises:
        ValueError: it has no question, or no such answer.
    """
    if not 1 <= number <= len(e.answers):
        raise ValueError(number)
    chosen = e.answers[number - 1]
    words: dict[str, str] = {row.cause: row.meaning for row in known_causes()}
    old = next((r for r in e.causes if r.cause == chosen), RankedCause(cause=chosen, score=0, meaning=_(words[chosen])))
    best = with_steps(
        structs.replace(
            old, score=ANSWERED_SCORE, because=(_("You answered: {answer}", answer=e.choices[number - 1]), *old.because)
        )
    )
    share = (MAX_TEXT_BELIEF - ANSWERED_SCORE) / (sum(r.score for r in e.causes if r.cause != chosen) or 1)
    rest = [structs.replace(r, score=round(r.score * min(share, 1), 4)) for r in e.causes if r.cause != chosen]
    return structs.replace(
        e,
        causes=(best, *rest),
        sentence=_points_to((best, *rest), e.says),
        decide="",
        question="",
        choices=(),
        answers=(),
    )
