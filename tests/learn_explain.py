"""Learn the weights of the clues from resolved threads: ``python -m tests.learn_explain [--write]``.

What people wrote in resources/knowledge/clues.json is the prior. Softmax regression with a Gaussian prior around it moves
only weights that a clue has, and the base rates, as far as the threads ask for it (maximum a posteriori, plain gradient
ascent; no library is needed for so few numbers). Before anything is written, the same is done in five folds split by source,
each scored with weights that have not seen its sources: that row tells what learning is worth. The held-out set takes no part.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import resources
from core.explain.ranking import BASE_RATE_WEIGHT, LOG_ODDS_DIVISOR, UNNAMED_LOSS, conditions_hold
from core.explain.reading import read_text
from core.knowledge.messages import Clue, known_clues
from tests.explain.threads import all_threads

TABLE = Path(resources.__path__[0], "knowledge", "clues.json")
FOLDS = 5
STEPS, RATE = 300, 0.25
PRIOR = 6.0
"""How many threads it takes to move a weight: the larger, the nearer to what people wrote."""
MOST = 2.0
"""How far a weight may move."""
Weights = dict[tuple[int, str], float]
"""(number of the clue, cause): weight. The base rates stand under -1."""


@dataclass(frozen=True)
class Example:
    """One thread as the model sees it."""

    source: str
    cause: str
    clues: tuple[int, ...]
    named: frozenset[str]
    """What exact clues name; empty for none."""


def examples(clues: Sequence[Clue]) -> list[Example]:
    """Return the threads that weights may be learned from."""
    found = []
    for thread in all_threads(("first", "second")):
        marks = read_text(thread.paste).marks
        holding = tuple(n for n, clue in enumerate(clues) if conditions_hold(clue.when, marks))
        named = {c for n in holding if clues[n].exact for c, weight in clues[n].causes.items() if weight > 0}
        found.append(Example(thread.source, thread.cause, holding, frozenset(named)))
    return found


def shares(example: Example, clues: Sequence[Clue], weights: Weights, causes: Sequence[str]) -> dict[str, float]:
    """Return the belief in each cause, as ``core.explain.ranking`` does."""
    odds = {c: weights[-1, c] - (UNNAMED_LOSS if example.named and c not in example.named else 0.0) for c in causes}
    for n in example.clues:
        for cause in clues[n].causes:
            odds[cause] += weights[n, cause]
    top = max(odds.values())
    raw = {c: exp((x - top) / LOG_ODDS_DIVISOR) for c, x in odds.items()}
    whole = sum(raw.values())
    return {c: x / whole for c, x in raw.items()}


def learn(seen: Sequence[Example], clues: Sequence[Clue], prior: Weights, causes: Sequence[str]) -> Weights:
    """Return the weights that fit the threads and stay near the prior."""
    weights = dict(prior)
    for _ in range(STEPS):
        slope = {key: (prior[key] - w) * PRIOR for key, w in weights.items()}
        for example in seen:
            belief = shares(example, clues, weights, causes)
            for n in (-1, *example.clues):
                for cause in causes if n < 0 else clues[n].causes:
                    slope[n, cause] += ((cause == example.cause) - belief[cause]) / LOG_ODDS_DIVISOR
        for key, value in slope.items():
            moved = weights[key] + RATE * value / (PRIOR * 4)
            weights[key] = min(max(moved, prior[key] - MOST), prior[key] + MOST)
    return weights


def recall(tried: Sequence[Example], clues: Sequence[Clue], weights: Weights, causes: Sequence[str]) -> list[int]:
    """Return the place of each true cause."""
    places = []
    for example in tried:
        belief = shares(example, clues, weights, causes)
        places.append(1 + sum(x > belief.get(example.cause, 0.0) for x in belief.values()))
    return places


def rates(places: Sequence[int]) -> str:
    """Return recall at 1, 3 and 5 in one line."""
    return "  ".join(f"in {n}: {sum(p <= n for p in places) / len(places):.1%}" for n in (1, 3, 5))


def fold(source: str) -> int:
    """Return the fold of a source."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % FOLDS


def write(weights: Weights, prior: Weights, clues: Sequence[Clue]) -> int:
    """Write what moved by a tenth or more, line by line, so that the table's form stays; return how many."""
    changed = 0
    lines = TABLE.read_text(encoding="utf-8").split("\n")
    at = [i for i, line in enumerate(lines) if line.startswith('{"when"')]
    for n, i in enumerate(at):
        row = json.loads(lines[i].rstrip(","))
        moved = {c: round(weights[n, c], 1) for c in clues[n].causes if abs(weights[n, c] - prior[n, c]) >= 0.1}
        if moved:
            row["causes"] |= moved
            lines[i] = json.dumps(row, ensure_ascii=False) + ("," if lines[i].endswith(",") else "")
            changed += len(moved)
    TABLE.write_text("\n".join(lines), encoding="utf-8")
    return changed


def main(argv: Sequence[str] | None = None) -> int:
    """Print what learning is worth; write only when asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.learn_explain", description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)
    table = known_clues()
    clues, causes = table.clues, tuple(table.base)
    prior: Weights = {(n, c): w for n, clue in enumerate(clues) for c, w in clue.causes.items()}
    prior |= {(-1, c): BASE_RATE_WEIGHT * log(count) for c, count in table.base.items()}
    all_examples = examples(clues)
    print("as written              ", rates(recall(all_examples, clues, prior, causes)))
    unseen: list[int] = []
    for number in range(FOLDS):
        weights = learn([e for e in all_examples if fold(e.source) != number], clues, prior, causes)
        unseen += recall([e for e in all_examples if fold(e.source) == number], clues, weights, causes)
    print("learned, without its own", rates(unseen))
    weights = learn(all_examples, clues, prior, causes)
    print("learned, in-sample      ", rates(recall(all_examples, clues, weights, causes)))
    if options.write:
        print(f"{write(weights, prior, clues)} weights are written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
