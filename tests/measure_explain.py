"""Measure how well explain ranks the causes of resolved public threads: ``python -m tests.measure_explain [--write | --misses SET | --draw]``.

Prints recall at 1, 3 and 5 and the precision of scores above 0.8: in-sample (the sets that the tables are mended by)
beside out-of-sample (repositories that nothing is mended by), then by system. Fails when the two first
places lie more than 12 points apart, and names each clue that fires on 5 texts and more that nothing is learned from, and is
right in less than 30 % of them: it goes, or its condition is narrowed. ``--misses first`` lists what is answered wrongly; the held-out set has no such list,
so that nobody mends by it. ``--write`` puts the tables into docs/explain.md. ``--draw`` prints 30 of the held-out cases and 30 of the other sets that nothing is learned from, by fixed seeds, each with the terminal's answer.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.explain import explain
from core.explain.ranking import conditions_hold
from core.explain.reading import read_text
from core.explain.render import render_text
from core.knowledge.messages import Clue, known_clues
from tests.explain.threads import SETS, UNSEEN, Thread, all_threads
from tests.learn_words import LEARNED

TRAINED, HELD_OUT = ("first", "second"), ("held out",)
LATER = tuple(name for name in SETS if name not in (*TRAINED, *UNSEEN))
NOT_NAMED = 99
"""Place of a true cause that was not named at all."""
SURE = 0.8
MAX_GAP = 0.12
"""Between recall at 1 in-sample and out-of-sample."""
MIN_FIRED, MIN_RIGHT = 5, 0.3
"""A clue that fires on so many unseen texts must name the cause in this share of them."""
DRAWS, DRAWN = ((20, HELD_OUT), (21, tuple(name for name in UNSEEN if name not in HELD_OUT))), 30
"""Seed and sets of each draw, and how many threads it has."""
MAX_STEP = 140
"""Characters of the first step that are shown of a drawn case."""
DOCUMENT = Path(__file__).parents[1] / "docs" / "explain.md"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
"""What the tables stand between."""
HEADER = (
    "| Texts | Cases | First | In three | In five | Scores above 0.8 | of them right |\n|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Answer:
    """Where the true cause stood in the answer to one thread."""

    thread: Thread
    place: int
    score: float
    """Of the first cause."""
    guesses: tuple[str, ...]


def answer(thread: Thread, text: str | None = None) -> Answer:
    """Explain a thread's paste (or ``text``) without a machine."""
    ranked = [(r.cause, r.score) for r in explain(thread.paste if text is None else text).causes]
    names = [cause for cause, _ in ranked]
    at = names.index(thread.cause) + 1 if thread.cause in names else NOT_NAMED
    return Answer(thread, at, ranked[0][1] if ranked else 0.0, tuple(f"{c} {s:.2f}" for c, s in ranked[:3]))


def recall(answers: Sequence[Answer], within: int) -> float:
    """Return the share of answers that name the cause among the first ``within``."""
    return sum(a.place <= within for a in answers) / max(len(answers), 1)


def row(label: str, answers: Sequence[Answer]) -> str:
    """Return a row of the table."""
    sure = [a for a in answers if a.score > SURE]
    right = f"{sum(a.place == 1 for a in sure) / len(sure):.0%}" if sure else "-"
    rates = " | ".join(f"{recall(answers, n):.0%}" for n in (1, 3, 5))
    return f"| {label} | {len(answers)} | {rates} | {len(sure)} | {right} |"


def by(answers: Iterable[Answer], label: Callable[[Thread], str]) -> list[str]:
    """Return a row for each group of answers."""
    groups: dict[str, list[Answer]] = {}
    for a in answers:
        groups.setdefault(label(a.thread), []).append(a)
    return [row(name, group) for name, group in sorted(groups.items())]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; 0 when in-sample and out-of-sample agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.measure_explain", description=__doc__)
    parser.add_argument("--misses", choices=(*TRAINED, *LATER))
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)
    if options.draw:
        return print_drawn()
    if options.misses:
        return print_misses([answer(t) for t in all_threads((options.misses,))])
    lines, gap = tables()
    print("\n".join(lines))
    if options.write:
        write(lines)
    print(f"\nIn-sample is {gap * 100:+.1f} points better than out-of-sample; more than {MAX_GAP * 100:.0f} fails.")
    weak = weak_clues(known_clues().clues, all_threads(UNSEEN))
    print(
        *weak, f"{len(weak)} clues are right in less than {MIN_RIGHT:.0%} of the unseen texts they fire on.", sep="\n"
    )
    return 1 if weak or gap > MAX_GAP else 0


def weak_clues(clues: Sequence[Clue], threads: Sequence[Thread]) -> list[str]:
    """Return a line for each clue that speaks for causes, fires on enough texts, and is right too rarely."""
    marks = [(t.cause, read_text(t.paste).marks) for t in threads]
    found = []
    for clue in clues:
        speaks_for = {cause for cause, weight in clue.causes.items() if weight > 0}
        fired = [cause for cause, its in marks if speaks_for and conditions_hold(clue.when, its)]
        right = sum(cause in speaks_for for cause in fired)
        if len(fired) >= MIN_FIRED and right < MIN_RIGHT * len(fired):
            found.append(f"{right} of {len(fired)}: {', '.join(clue.when)}  {clue.because}")
    return found


def tables() -> tuple[list[str], float]:
    """Return the lines of all tables, and how much better in-sample is than out-of-sample."""
    trained = [answer(t) for t in all_threads(TRAINED)]
    unseen = [answer(t) for t in all_threads(HELD_OUT)]
    bare = [answer(a.thread, a.thread.text) for a in unseen]
    later = [answer(t) for t in all_threads(LATER)]
    lines = [HEADER, row("all cases", [*trained, *unseen, *later]), row("in-sample", trained)]
    lines += [row(f"in-sample, {name}", [a for a in trained if a.thread.set == name]) for name in TRAINED]
    for since, learned in (("it is learned from", True), ("its classes are mended", False)):
        names = [n for n in LATER if (n in LEARNED) is learned]
        label = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        lines.append(row(f"{label}, since {since}", [a for a in later if a.thread.set in names]))
    lines += [row("out-of-sample", unseen), row("out-of-sample, the message alone", bare)]
    for kind, answers in (("in-sample", trained), ("out-of-sample", unseen)):
        lines += ["", f"By system, {kind}:", "", HEADER, *by(answers, lambda t: t.system)]
    return lines, recall(trained, 1) - recall(unseen, 1)


def write(lines: Sequence[str]) -> None:
    """Put the tables into their place in the document."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    DOCUMENT.write_text("\n".join((f"{before}{BEGIN}", *lines, f"{END}{after}")), encoding="utf-8")


def print_drawn() -> int:
    """Print cases that nothing was learned from: where they are, what resolved them, and what the terminal answers."""
    for seed, sets in DRAWS:
        print("| | Thread | Resolved as | Place | The terminal says | and first |\n|---|---|---|---|---|---|")
        print_cases(random.Random(seed).sample(all_threads(sets), DRAWN))
    return 0


def print_cases(threads: Sequence[Thread]) -> None:
    """Print a row for each thread."""
    for number, thread in enumerate(threads, 1):
        told, place = explain(thread.paste), answer(thread).place
        lines = [line.strip() for line in render_text(told, width=400).split("\n")]
        step = lines[lines.index("What to do") + 1 :] if "What to do" in lines else [""]
        first = next(
            (line for line in step if not line.startswith(("If this is the cause", *(r.meaning for r in told.causes)))),
            "",
        )
        where = f"[{thread.source}]({thread.url}), {thread.year or 'year unknown'}, {thread.system}"
        cells = (where, f"`{thread.cause}`", "-" if place == NOT_NAMED else str(place), told.sentence, first[:MAX_STEP])
        print(f"| {number} | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")


def print_misses(answers: Sequence[Answer]) -> int:
    """Print what is not answered with the cause in first place."""
    for a in sorted(answers, key=lambda a: -a.place):
        if a.place > 1:
            text = " ".join(a.thread.text.split())[:110]
            print(f"{a.place:3} {a.thread.cause:30} {a.thread.system:9} {text!r}  <- {', '.join(a.guesses)}")
    print(HEADER, row("all", answers), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
