"""Learns which features part the causes: ridge regression of every cause on the features of all texts, by stochastic dual coordinate ascent.

A mean says what the texts of a cause have in common, whatever other causes share it; this says what they have that others
do not. Least squares need no library, and a text changes only the causes whose answer for it is still wrong.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

RIDGE = 1.0
"""What a text of weight 1 may miss its cause by: more leaves more to the texts that are alike (``python -m tests.explain.yardstick``)."""
ROUNDS = 3
LEAST_STEP = 0.02
"""A change of a text's answer for a cause below which it is left."""

Text = tuple[Mapping[str, float], int, float]
"""What its features weigh, of length 1 together; its cause's number; what the text counts."""


def part_causes(texts: Sequence[Text], causes: int) -> dict[str, dict[int, float]]:
    """Return for each feature what it adds to the answer for each cause: 1 is a text of that cause, 0 is none."""
    parts: dict[str, dict[int, float]] = {f: {} for features, _cause, _weight in texts for f in features}
    taken: list[dict[int, float]] = [{} for _ in texts]
    order, shuffled = list(range(len(texts))), random.Random(0)
    for _ in range(ROUNDS):
        shuffled.shuffle(order)
        for number in order:
            features, cause, weight = texts[number]
            own, ridge = taken[number], RIDGE / weight
            rows = [(parts[f], x) for f, x in features.items()]
            missed = [0.0] * causes
            missed[cause] = 1.0
            for row, x in rows:
                for at, part in row.items():
                    missed[at] -= x * part
            for at, gap in enumerate(missed):
                step = (gap - ridge * own.get(at, 0.0)) / (1 + ridge)
                if abs(step) > LEAST_STEP:
                    own[at] = own.get(at, 0.0) + step
                    for row, x in rows:
                        row[at] = row.get(at, 0.0) + x * step
    return parts
