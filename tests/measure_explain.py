"""Measure how well explain ranks the causes of resolved cases: ``python tests/measure_explain.py CASES.jsonl``.

Each line of the file is a case with ``error_text``, ``os``, ``framework`` and the true ``root_cause``; nothing else of
it is read. Prints the rates of the true cause among the first one, three and five, the worst misses, the highest score
of a wrong first cause, and the same rates on two halves, so that a table that was tuned on one of them shows it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from core.explain import explain

NOT_NAMED = 99
"""Place of a true cause that was not named at all."""
GOALS = {1: 0.60, 3: 0.88, 5: 0.96}


def as_text(case: dict[str, Any]) -> str:
    """Return what a person would paste: the system, the program, the message."""
    return f"OS: {case['os']}\nFramework: {case['framework']}\n\n{case['error_text']}"


def place(case: dict[str, Any]) -> tuple[int, float, list[tuple[str, float]]]:
    """Return the place of the true cause (1 is first), the score of the first cause, and the first five."""
    ranked = [(r.cause, r.score) for r in explain(as_text(case)).causes]
    names = [cause for cause, _ in ranked]
    at = names.index(case["root_cause"]) + 1 if case["root_cause"] in names else NOT_NAMED
    return at, ranked[0][1] if ranked else 0.0, ranked[:5]


def rates(places: list[int]) -> str:
    """Return the three rates in one line."""
    return "  ".join(f"first {n}: {sum(p <= n for p in places) / len(places):6.1%}" for n in GOALS)


def main(path: str) -> int:
    """Print the measurement; 0 when every goal is reached."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines if line.strip()]
    results = [(*place(case), case) for case in cases]
    places = [p for p, _, _, _ in results]
    print(f"{len(cases)} cases   {rates(places)}")
    for half in (0, 1):
        print(f"  half {half + 1}        {rates(places[half::2])}")
    wrong = [score for p, score, _, _ in results if p > 1]
    right = [score for p, score, _, _ in results if p == 1]
    print(
        f"highest score of a wrong first cause: {max(wrong, default=0):.2f}; mean score when wrong {sum(wrong) / max(len(wrong), 1):.2f}, when right {sum(right) / max(len(right), 1):.2f}"
    )
    for p, _, first, case in sorted(results, key=lambda r: -r[0]):
        if p > 1:
            guess = ", ".join(f"{cause} {score:.2f}" for cause, score in first[:3])
            print(
                f"{p:3}  {case['root_cause']:32} {case['os']:9} {' '.join(case['error_text'].split())[:70]!r}  <- {guess}"
            )
    reached = all(sum(p <= n for p in places) / len(places) >= goal for n, goal in GOALS.items())
    return 0 if reached and max(wrong, default=0) <= 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
