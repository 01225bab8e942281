"""Learn what words speak for which causes: ``python -m tests.learn_words [--write]``.

Naive Bayes over the words, pairs of words and marks of the resolved threads (all sets but the held-out), of
the help pages and of what clues say, beside texts about anything else (tests/explain/noise.jsonl). Prints what the words alone
are worth, in five folds split by source: recall, and for each share of belief how often it was right; and how well they part
texts about a GPU set-up from others. ``--write`` writes resources/knowledge/words.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import resources
from core.explain.reading import ParsedText, read_text
from core.explain.words import believe_words, word_features
from core.knowledge.causes import cause_rows
from core.knowledge.messages import known_clues, known_messages
from core.knowledge.words import WordTable
from tests.explain.threads import Thread, all_threads

KNOWLEDGE = Path(resources.__path__[0], "knowledge")
HELP = Path(resources.__path__[0], "help")
NOISE = Path(__file__).parent / "explain" / "noise.jsonl"
LEARNED = ("first", "second", "third", "fourth")
LANGUAGES = ("en", "zh_CN")
FOLDS = 5
SMOOTHING = 6.0
"""How many texts of a cause it takes to believe its own rate of a word as much as the rate of all texts."""
WORD_WEIGHT = 0.3
"""Words of one text overlap: each counts for less than naive Bayes says."""
PRIOR_WEIGHT = 0.5
LEAST, LEAST_PAIR = 2.0, 3.0
"""Texts that must have a word or a mark, or a pair of words, for it to be kept, as they were weighed."""
LEAST_GAIN = 4
"""Hundredths of log-odds below which a word says nothing about a cause."""
CLUE_SHARE = 0.6
"""A clue is a text of those causes that it speaks for at least so much of its strongest."""
CLUE_WEIGHT = 0.5
"""What a clue counts as a text, and a translated page."""


@dataclass(frozen=True)
class Example:
    """One text: its features, its cause (empty: about something else), and what it counts."""

    features: frozenset[str]
    cause: str
    weight: float = 1.0


def example(text: str, cause: str, weight: float = 1.0) -> Example:
    """Return a text as an example."""
    return Example(word_features(read_text(text)), cause, weight)


def of_knowledge() -> list[Example]:
    """Return the help pages, the meanings of the causes, and the phrases of the messages that clues are about."""
    causes = {row.cause: row.meaning for row in cause_rows()}
    found = [example(meaning, cause) for cause, meaning in causes.items()]
    for language in LANGUAGES:
        for page in sorted((HELP / language).glob("*.md")):
            if page.stem in causes:
                text = page.read_text(encoding="utf-8")
                weight = 1.0 if language == "en" else CLUE_WEIGHT
                found.append(example(text, page.stem, weight))
                symptoms = text.split("\n## ")[1:2]
                found += [example(part, page.stem, weight) for part in symptoms]
    messages = {m.id: m for m in known_messages() if m.kind == "symptom"}
    for clue in known_clues().clues:
        about = [w for part in clue.when if not part.startswith("!") for w in part.split("|") if w in messages]
        best = max(clue.causes.values())
        if about and clue.because:
            phrases = "\n".join(p.replace("*", " ") for word in about for p in messages[word].phrases)
            found += [
                example(f"{clue.because}\n{phrases}", cause, CLUE_WEIGHT * weight / best)
                for cause, weight in clue.causes.items()
                if weight >= CLUE_SHARE * best > 0
            ]
    return found


def of_noise() -> list[Example]:
    """Return the texts about anything else."""
    return [example(json.loads(line), "") for line in NOISE.read_text(encoding="utf-8").splitlines()]


def of_threads(threads: Iterable[Thread]) -> list[Example]:
    """Return threads as examples: with what a person says of the system, and the message alone, each half."""
    return [example(text, t.cause, 0.5) for t in threads for text in (t.paste, t.text)]


def learn(examples: Sequence[Example], learned_from: str = "") -> WordTable:
    """Return the table of some examples."""
    causes = ["", *(row.cause for row in cause_rows())]
    number = {cause: n for n, cause in enumerate(causes)}
    texts: Counter[str] = Counter()
    having: dict[str, Counter[str]] = defaultdict(Counter)
    for e in examples:
        texts[e.cause] += e.weight  # type: ignore[assignment]  # a weighed count
        for feature in e.features:
            having[feature][e.cause] += e.weight  # type: ignore[assignment]
    whole = sum(texts.values())
    features = {}
    for feature, of in sorted(having.items()):
        rate = (sum(of.values()) + 0.5) / (whole + 1)
        if sum(of.values()) < (LEAST_PAIR if " " in feature else LEAST):
            continue
        row = [
            (number[c], round(100 * WORD_WEIGHT * log((count + SMOOTHING * rate) / (SMOOTHING * rate))))
            for c, count in of.items()
        ]
        kept = tuple(n for pair in sorted(row) if pair[1] >= LEAST_GAIN for n in pair)
        if kept:
            features[feature] = kept
    prior = [PRIOR_WEIGHT * log(texts[c] + 0.5) for c in causes]
    prior[0] = log(sum(exp(x) for x in prior[1:]))
    return WordTable(
        learned_from=learned_from,
        causes=tuple(causes),
        prior=tuple(round(x, 3) for x in prior),
        absent=tuple(round(WORD_WEIGHT * log(SMOOTHING / (texts[c] + SMOOTHING)), 4) for c in causes),
        features=features,
    )


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


def judge(table: WordTable, reading: ParsedText, cause: str) -> Judged:
    """Judge one text by a table."""
    belief = believe_words(reading, table)
    odds = belief.odds
    place = 1 + sum(x > odds[cause] for x in odds.values()) if cause else 0
    return Judged(cause, place, exp(max(odds.values())), belief.about)


def cross_validate(threads: Sequence[Thread], knowledge: Sequence[Example]) -> list[Judged]:
    """Return every text judged by a table that has not seen its source, the others of the noise among them."""
    noise = of_noise()
    lines = NOISE.read_text(encoding="utf-8").splitlines()
    judged = []
    for number in range(FOLDS):
        seen = of_threads(t for t in threads if fold(t.source) != number)
        other = [e for n, e in enumerate(noise) if n % FOLDS != number]
        table = learn([*seen, *knowledge, *other])
        judged += [judge(table, read_text(t.text), t.cause) for t in threads if fold(t.source) == number]
        judged += [judge(table, read_text(json.loads(line)), "") for n, line in enumerate(lines) if n % FOLDS == number]
    return judged


def main(argv: Sequence[str] | None = None) -> int:
    """Print what the words are worth; write the table when asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.learn_words", description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)
    threads, knowledge = all_threads(LEARNED), of_knowledge()
    judged = cross_validate(threads, knowledge)
    ours, other = [j for j in judged if j.cause], [j for j in judged if not j.cause]
    print("words alone:", "  ".join(f"in {n}: {sum(j.place <= n for j in ours) / len(ours):.1%}" for n in (1, 3, 5)))
    for low, high in ((0, 0.1), (0.1, 0.2), (0.2, 0.3), (0.3, 0.5), (0.5, 0.7), (0.7, 1)):
        there = [j for j in ours if low <= j.share < high]
        if there:
            mean = sum(j.share for j in there) / len(there)
            right = sum(j.place == 1 for j in there) / len(there)
            print(f"  belief {low:.1f} to {high:.1f}: {len(there)} texts, on average {mean:.0%}, right {right:.0%}")
    for least in (-2.0, 0.0, 1.0, 2.0, 3.0, 5.0):
        print(
            f"  about a GPU from {least:+.0f} on: {sum(j.about >= least for j in ours) / len(ours):.1%} of the threads,"
            f" {sum(j.about >= least for j in other) / len(other):.1%} of other texts"
        )
    if options.write:
        said = f"{len(threads)} resolved threads ({', '.join(LEARNED)}), help pages, clues; {len(other)} texts about anything else"
        table = learn([*of_threads(threads), *knowledge, *of_noise()], said)
        (KNOWLEDGE / "words.json").write_text(rows(table), encoding="utf-8")
        print(f"{len(table.features)} features, {(KNOWLEDGE / 'words.json').stat().st_size} bytes")
    return 0


def rows(table: WordTable) -> str:
    """Return the table as JSON, a feature a line."""

    def one(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    head = [f'"{key}":{one(getattr(table, key))}' for key in ("learned_from", "causes", "prior", "absent")]
    body = ",\n".join(f"{one(feature)}:{one(row)}" for feature, row in table.features.items())
    return "{\n" + ",\n".join(head) + ',\n"features":{\n' + body + "\n}}\n"


if __name__ == "__main__":
    raise SystemExit(main())
