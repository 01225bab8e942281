"""Learn what words speak for which causes: ``python -m tests.learn_words [--write]``.

For each cause the mean of its texts' words, pairs of words, versions and marks, rare ones weighing more (the resolved threads of the
sets that are learned from, texts written for it, the help pages, and what clues say); a text is as near to a cause as the cosine to that mean, and nearer
the rarer its words are in the texts of all other causes (complement naive Bayes), and the more they part the cause from the others
(``tests.explain.parting``), all folded into the same numbers. Texts about
anything else (tests/explain/noise.jsonl) say which words are about a GPU set-up at all. Prints what the words alone are worth, in
five folds split by source: recall, and for each share of belief how often it was right; and how well they part texts about a GPU
set-up from others. ``--write`` only writes resources/knowledge/words.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import hypot, log
from pathlib import Path

import resources
from core.explain.ranking import rank_causes, shares
from core.explain.reading import ParsedText, read_text
from core.explain.words import SHARPNESS, believe_words, word_features
from core.knowledge.causes import cause_rows
from core.knowledge.messages import known_clues, known_messages
from core.knowledge.words import WordTable
from tests.explain.parting import part_causes
from tests.explain.threads import SETS, UNSEEN, Thread, all_threads
from tests.explain.written import FILE as WRITTEN
from tests.explain.written import Written, all_written

KNOWLEDGE = Path(resources.__path__[0], "knowledge")
HELP = Path(resources.__path__[0], "help")
NOISE = Path(__file__).parent / "explain" / "noise.jsonl"
LEARNED = tuple(name for name in SETS if name not in (*UNSEEN, "seventh"))
LANGUAGES = ("en", "zh_CN")
SOURCES = ("causes", "clues", "kernel_log", "messages")
"""Tables whose words or marks the examples have."""
FOLDS = 5
LEAST, LEAST_VERSION, LEAST_PAIR = 1.0, 2.0, 3.0
"""Texts that must have a word or a mark, a version, or a pair of words, for it to be kept, as they were weighed."""
MARK_WEIGHT, PAIR_WEIGHT = 1.5, 0.4
"""What a mark counts, and a pair of words that count already, beside a word."""
COMPLEMENT_SHARE = 0.3
"""Of the likeness: the complement naive Bayes; the rest is the cosine (``python -m tests.explain.yardstick``)."""
COMPLEMENT_SHARPNESS = 5.0
"""Difference in log-odds per unit of the complement's logarithms, which are those of words that fill a text of length 1."""
COMPLEMENT_SMOOTHING = 0.5
"""Added to what a word counts in the texts of other causes."""
LEAST_SHARE = 0.01
"""Of the mean of a cause: what a feature that is left out has less."""
PARTING = 13.0
"""Difference in log-odds between a text that is parted from all other causes and one that is as far from this cause as from any (``python -m tests.explain.yardstick``)."""
LEAST_PART = 0.02
"""Of the likeness: what a feature that parts causes less than this is left out of."""
KNOWLEDGE_WEIGHT = 2.0
"""What a page or a clue counts beside a thread."""
WRITTEN_WEIGHT = 1.0
"""What a written text counts beside a thread."""
SMOOTHING = 6.0
"""How many texts it takes to believe their own rate of a word as much as the rate of all texts."""
ABOUT_PRIOR = -1.0
"""Log-odds that a text is about a GPU set-up before a word of it is read."""
WORD_WEIGHT = 0.3
"""Words of one text overlap: each counts for less than naive Bayes says."""
CLUE_SHARE = 0.6
"""A clue is a text of those causes that it speaks for at least so much of its strongest."""
CLUE_WEIGHT = 0.5
"""What a clue counts as a text, and a translated page."""


SURE = 0.8


@dataclass(frozen=True)
class Example:
    """One text: its features, its cause (empty: about something else), and what it counts."""

    features: frozenset[str]
    cause: str
    weight: float = 1.0
    again: bool = False
    """It is part of a text that is an example, too."""


@cache
def read_once(text: str) -> ParsedText:
    """Return a text as it is read; each is asked for in several folds."""
    return read_text(text)


def example(text: str, cause: str, weight: float = 1.0, again: bool = False) -> Example:
    """Return a text as an example."""
    return Example(word_features(read_once(text)), cause, weight, again)


def of_knowledge() -> list[Example]:
    """Return the help pages, the meanings of the causes, and the phrases of the messages that clues are about."""
    causes = {row.cause: row.meaning for row in cause_rows()}
    found = [example(meaning, cause, KNOWLEDGE_WEIGHT) for cause, meaning in causes.items()]
    for language in LANGUAGES:
        for page in sorted((HELP / language).glob("*.md")):
            if page.stem in causes:
                text = page.read_text(encoding="utf-8")
                weight = KNOWLEDGE_WEIGHT * (1.0 if language == "en" else CLUE_WEIGHT)
                found.append(example(text, page.stem, weight))
                symptoms = text.split("\n## ")[1:2]
                found += [example(part, page.stem, weight) for part in symptoms]
    messages = {m.id: m for m in known_messages() if m.kind == "symptom"}
    told: set[tuple[str, str]] = set()
    for clue in known_clues().clues:
        about = [w for part in clue.when if not part.startswith("!") for w in part.split("|") if w in messages]
        best = max(clue.causes.values())
        if about and clue.because:
            phrases = "\n".join(p.replace("*", " ") for word in about for p in messages[word].phrases)
            found += [
                example(f"{clue.because}\n{phrases}", cause, KNOWLEDGE_WEIGHT * CLUE_WEIGHT * weight / best)
                for cause, weight in clue.causes.items()
                if weight >= CLUE_SHARE * best > 0 and (clue.because, cause) not in told
            ]
            # a clue that says the same of a narrower text is no further example
            told |= {(clue.because, cause) for cause in clue.causes}
    return found


def of_noise() -> list[Example]:
    """Return the texts about anything else."""
    return [example(json.loads(line), "") for line in NOISE.read_text(encoding="utf-8").splitlines()]


def of_threads(threads: Iterable[Thread]) -> list[Example]:
    """Return threads as examples: with what a person says of the system, and the message alone, each half."""
    both = ((example(t.paste, t.cause, 0.5), example(t.text, t.cause, 0.5, again=True)) for t in threads)
    return [e for pair in both for e in pair]


def of_written(texts: Iterable[Written]) -> list[Example]:
    """Return written texts as examples."""
    return [example(w.text, w.cause, WRITTEN_WEIGHT) for w in texts]


def learn(examples: Sequence[Example], learned_from: str = "", digest: str = "") -> WordTable:
    """Return the table of some examples."""
    causes = tuple(row.cause for row in cause_rows())
    ours, others = [e for e in examples if e.cause], [e for e in examples if not e.cause]
    texts, strange = _counts(ours), _counts(others)
    whole, apart = sum(e.weight for e in ours), sum(e.weight for e in others)
    weighs = {
        f: (log(whole / n) + 1) * (PAIR_WEIGHT if " " in f else MARK_WEIGHT if f.startswith("=") else 1.0)
        for f, n in texts.items()
        if n >= (LEAST_PAIR if " " in f else LEAST_VERSION if f.startswith("v:") else LEAST)
    }
    vectors: list[dict[str, float]] = []
    for e in ours:
        known = sorted(f for f in e.features if f in weighs)
        length = hypot(*(weighs[f] for f in known))
        vectors.append({f: weighs[f] / length for f in known})
    means: dict[str, dict[str, float]] = {cause: defaultdict(float) for cause in causes}
    for e, vector in zip(ours, vectors, strict=True):
        for f, x in vector.items():
            means[e.cause][f] += e.weight * x
    features: dict[str, tuple[int, int, list[int]]] = {}
    for f in sorted({*weighs, *(f for f, n in strange.items() if n >= LEAST and not f.startswith("v:"))}):
        rate = (texts[f] + strange[f] + 0.5) / (whole + apart + 1)
        ours_rate = (texts[f] + SMOOTHING * rate) / (whole + SMOOTHING)
        about = WORD_WEIGHT * log(ours_rate / ((strange[f] + SMOOTHING * rate) / (apart + SMOOTHING)))
        features[f] = (round(100 * about), round(100 * weighs.get(f, 0.0)), [])
    likeness = _likeness(means)
    parts = part_causes(
        [(v, causes.index(e.cause), e.weight) for e, v in zip(ours, vectors, strict=True) if not e.again], len(causes)
    )
    for f, its in parts.items():
        for at, part in its.items():
            if abs(share := PARTING / SHARPNESS * part) >= LEAST_PART:
                likeness[causes[at]][f] += share
    for at, cause in enumerate(causes):
        for f, x in sorted(likeness[cause].items()):
            features[f][2].extend((at, round(1000 * weighs[f] * x)))
    return WordTable(
        learned_from=learned_from,
        digest=digest,
        causes=causes,
        about=round(ABOUT_PRIOR, 3),
        features={f: (about, weight, tuple(its)) for f, (about, weight, its) in features.items()},
    )


def _likeness(means: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Return for each cause how much more like its texts a text is by each feature: the cosine to their mean, and the complement naive Bayes."""
    whole: dict[str, float] = defaultdict(float)
    for mean in means.values():
        for f, x in mean.items():
            whole[f] += x
    found: dict[str, dict[str, float]] = {cause: defaultdict(float) for cause in means}
    for cause, mean in means.items():
        length = hypot(*mean.values())
        for f, x in mean.items():
            if x / length >= LEAST_SHARE:
                elsewhere = whole[f] - x + COMPLEMENT_SMOOTHING
                rarity = log((whole[f] + COMPLEMENT_SMOOTHING) / elsewhere) * COMPLEMENT_SHARPNESS / SHARPNESS
                found[cause][f] = (1 - COMPLEMENT_SHARE) * x / length + COMPLEMENT_SHARE * rarity
    return found


def _counts(examples: Iterable[Example]) -> dict[str, float]:
    """Return what the texts that have a feature weigh together; 0 for any other."""
    found: dict[str, float] = defaultdict(float)
    for e in examples:
        for f in e.features:
            found[f] += e.weight
    return found


def source_digest() -> str:
    """Return the digest of everything that the table is learned from: the threads, the pages, and the tables of knowledge."""
    causes = {row.cause for row in cause_rows()}
    pages = [p for language in LANGUAGES for p in sorted((HELP / language).glob("*.md")) if p.stem in causes]
    tables = [KNOWLEDGE / f"{name}.json" for name in SOURCES]
    found = hashlib.sha256()
    for path in (*pages, *tables, NOISE, WRITTEN):
        found.update(path.read_bytes().replace(b"\r\n", b"\n"))
    for thread in all_threads(LEARNED):
        found.update(f"{thread.cause}\n{thread.source}\n{thread.paste}\n".encode())
    return found.hexdigest()[:16]


def fold(source: str) -> int:
    """Return the fold of a source."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % FOLDS


@dataclass(frozen=True)
class Judged:
    """What a table that has not seen a text says about it."""

    cause: str
    place: int
    share: float
    about: float
    ranked: int = 0
    """The place that words and clues together give the cause."""
    score: float = 0.0
    """Of what they put first."""


def judge(table: WordTable, reading: ParsedText, cause: str) -> Judged:
    """Judge one text by a table."""
    belief = believe_words(reading, table)
    odds = belief.odds
    place = 1 + sum(x > odds[cause] for x in odds.values()) if cause else 0
    return Judged(cause, place, shares(odds)[0], belief.about)


def _with_clues(table: WordTable, thread: Thread) -> Judged:
    """Judge the message of a thread by its words, and its paste by words and clues."""
    ranked = rank_causes(read_once(thread.paste), table=table)
    place = 1 + [cause for cause, _score, _because in ranked].index(thread.cause)
    alone = judge(table, read_once(thread.text), thread.cause)
    return replace(alone, ranked=place, score=ranked[0][1])


def cross_validate(threads: Sequence[Thread], knowledge: Sequence[Example]) -> list[Judged]:
    """Return every text judged by a table that has not seen its source, the others of the noise among them."""
    lines, noise = NOISE.read_text(encoding="utf-8").splitlines(), of_noise()
    examples = [(t, of_threads([t])) for t in threads]
    judged = []
    for number in range(FOLDS):
        seen = [e for t, its in examples if fold(t.source) != number for e in its]
        table = learn([*seen, *knowledge, *(e for n, e in enumerate(noise) if n % FOLDS != number)])
        judged += [_with_clues(table, t) for t in threads if fold(t.source) == number]
        judged += [judge(table, read_once(json.loads(line)), "") for n, line in enumerate(lines) if n % FOLDS == number]
    return judged


def main(argv: Sequence[str] | None = None) -> int:
    """Print what the words are worth; write the table when asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.learn_words", description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)
    threads, written = all_threads(LEARNED), all_written()
    knowledge = [*of_knowledge(), *of_written(written)]
    if options.write:
        return write(threads, written, knowledge)
    judged = cross_validate(threads, knowledge)
    ours, other = [j for j in judged if j.cause], [j for j in judged if not j.cause]
    print("words alone:", "  ".join(f"in {n}: {sum(j.place <= n for j in ours) / len(ours):.1%}" for n in (1, 3, 5)))
    print("with clues:", "  ".join(f"in {n}: {sum(j.ranked <= n for j in ours) / len(ours):.1%}" for n in (1, 3, 5)))
    sure = [j for j in ours if j.score > SURE]
    print(f"  scores above {SURE}: {len(sure)}, right {sum(j.ranked == 1 for j in sure) / len(sure):.0%}")
    for low, high in ((0, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1)):
        there = [j for j in ours if low <= j.share < high]
        if there:
            mean = sum(j.share for j in there) / len(there)
            right = sum(j.place == 1 for j in there) / len(there)
            print(f"  belief {low:.1f} to {high:.1f}: {len(there)} texts, on average {mean:.0%}, right {right:.0%}")
    for least in (-2.0, 0.0, 2.0, 3.0, 5.0, 7.0, 12.0):
        print(
            f"  about a GPU from {least:+.0f} on: {sum(j.about >= least for j in ours) / len(ours):.1%} of the threads,"
            f" {sum(j.about >= least for j in other) / len(other):.1%} of other texts"
        )
    return 0


def write(threads: Sequence[Thread], written: Sequence[Written], knowledge: Sequence[Example]) -> int:
    """Learn the table from everything, and write it."""
    said = f"{len(threads)} resolved threads ({', '.join(LEARNED)}), {len(written)} written texts, help pages, clues; {len(of_noise())} texts about anything else"
    table = learn([*of_threads(threads), *knowledge, *of_noise()], said, source_digest())
    (KNOWLEDGE / "words.json").write_text(rows(table), encoding="utf-8")
    print(f"{len(table.features)} features, {(KNOWLEDGE / 'words.json').stat().st_size} bytes")
    return 0


def rows(table: WordTable) -> str:
    """Return the table as JSON, a feature a line."""

    def one(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    head = [f'"{key}":{one(getattr(table, key))}' for key in ("learned_from", "digest", "causes", "about")]
    body = ",\n".join(f"{one(feature)}:{one(row)}" for feature, row in table.features.items())
    return "{\n" + ",\n".join(head) + ',\n"features":{\n' + body + "\n}}\n"


if __name__ == "__main__":
    raise SystemExit(main())
