"""What the ranking is tuned by: ``python -m tests.explain.yardstick [SET ...]``, in a clone with its history.

Each set is ranked as if nobody had seen it: the words are learned without it, and messages and clues are those of the
last commit before the set was mended by (``BEFORE``). Prints recall at 1, 3 and 5, the scores above 0.8 and how many of
them are right: of the words alone, of the clues alone, and of both; then of both with today's messages and clues, whose
authors saw the sets, and of those of these threads on which no exact clue fires. It never reads the sets that nothing
is learned from.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from core.explain.ranking import believe_clues, holding_clues, rank_causes
from core.explain.reading import ParsedText
from core.explain.words import believe_words
from core.knowledge import messages, tables
from core.knowledge.causes import cause_rows
from core.knowledge.words import WordTable
from tests.explain.threads import Thread, all_threads
from tests.explain.written import all_written
from tests.learn_words import LEARNED, SURE, learn, of_knowledge, of_noise, of_threads, of_written, read_once

BEFORE = {
    "third": "9438a071", "fourth": "12e2857a", "sixth": "4be6071d", "seventh": "38a49ea7",
    "eighth": "4b579011^", "ninth": "4b579011^", "tenth": "4b579011^", "eleventh": "4b579011^",
    "fourteenth": "3b25b654", "fifteenth": "b6d4679d", "sixteenth": "63f6c44d", "seventeenth": "8f3215af",
    "nineteenth": "d4b3d6a8", "twentieth": "f9354868", "twenty-first": "c7534c11", "twenty-second": "8497302f",
    "twenty-third": "c5cdda03", "twenty-fourth": "c5cdda03",
    "twenty-sixth": "707e807e", "twenty-seventh": "707e807e", "twenty-eighth": "707e807e",
    "twenty-ninth": "7c1e8b84", "thirtieth": "2b24cdf5", "thirty-first": "d17bd334", "thirty-second": "d17bd334",
    "thirty-third": "00eb0237", "thirty-fourth": "00eb0237", "thirty-fifth": "f4540b41", "thirty-sixth": "f4540b41",
    "thirty-seventh": "ed8c2919", "thirty-eighth": "ed8c2919", "thirty-ninth": "07a55211", "fortieth": "07a55211", "forty-first": "81d6c9e0", "forty-second": "81d6c9e0",
    "forty-third": "a94826a3", "forty-fourth": "a94826a3", "forty-fifth": "7b671250", "forty-sixth": "7b671250",
}  # fmt: skip
"""Set -> the commit whose tables had not seen it."""
OLD_TABLES = ("messages", "clues", "kernel_log")
ROOT = Path(__file__).parents[2]

Place = tuple[int, float]
"""The place of the true cause, and the score of the first one."""


@contextmanager
def tables_of(commit: str) -> Iterator[None]:
    """Let texts be read and ranked by the tables of a commit, without the causes that are gone.

    Raises:
        subprocess.CalledProcessError: the clone does not have the commit.
    """
    read, known = tables._read_file, {str(row.cause) for row in cause_rows()}

    def read_old(name: str, form: Any) -> Any:
        if name not in OLD_TABLES:
            return read(name, form)
        shown = ("git", "show", f"{commit}:resources/knowledge/{name}.json")
        told = json.loads(subprocess.run(shown, cwd=ROOT, capture_output=True, check=True).stdout)
        if name == "clues":
            weights = [{c: w for c, w in clue["causes"].items() if c in known} for clue in told["clues"]]
            clues = [{**clue, "causes": its} for clue, its in zip(told["clues"], weights, strict=True) if its]
            told = {"base": {c: x for c, x in told["base"].items() if c in known}, "clues": clues}
        return msgspec.convert(told, form)

    try:
        with mock.patch.object(tables, "_read_file", read_old):
            forget_tables()
            yield
    finally:
        forget_tables()


def forget_tables() -> None:
    """Let the tables be read again."""
    messages.known_messages.cache_clear()
    messages.known_clues.cache_clear()
    holding_clues.cache_clear()
    read_once.cache_clear()


def places(reading: ParsedText, cause: str, table: WordTable) -> tuple[Place, Place, Place]:
    """Return what words, clues, and both say of a text."""
    words, ranked = believe_words(reading, table).odds, rank_causes(reading, table=table)
    clues = believe_clues(reading, words).odds
    names = [name for name, _score, _because in ranked]
    return (
        (1 + sum(x > words[cause] for x in words.values()), 0.0),
        (1 + sum(x > clues[cause] for x in clues.values()), 0.0),
        (1 + names.index(cause), ranked[0][1]),
    )


def row(label: str, found: Sequence[Place]) -> str:
    """Return a row of the table."""
    sure = [place for place, score in found if score > SURE]
    right = f"{sum(place == 1 for place in sure) / len(sure):.0%}" if sure else "-"
    rates = " | ".join(f"{sum(place <= n for place, _ in found) / max(len(found), 1):.1%}" for n in (1, 3, 5))
    return f"| {label} | {len(found)} | {rates} | {len(sure)} | {right} |"


def judge(name: str, threads: Sequence[Thread]) -> list[tuple[Place, Place, Place]]:
    """Return the places for one set by the tables that are in force, and by words that are learned from others."""
    seen = [t for t in threads if t.set != name and t.set in LEARNED]
    table = learn([*of_threads(seen), *of_knowledge(), *of_written(all_written()), *of_noise()])
    return [places(read_once(t.paste), t.cause, table) for t in threads if t.set == name]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.explain.yardstick", description=__doc__)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(BEFORE)}; all, if none is named")
    names = parser.parse_args(argv).sets or list(BEFORE)
    threads = all_threads((*LEARNED, *BEFORE))
    then: list[tuple[Place, Place, Place]] = []
    now: list[tuple[Place, Place, Place]] = []
    inexact: list[Place] = []
    print("| | Cases | First | In three | In five | Scores above 0.8 | of them right |\n|---|---|---|---|---|---|---|")
    for commit, group in groupby(names, lambda name: BEFORE[name]):
        with tables_of(commit):
            for name in group:
                found = judge(name, threads)
                print(row(f"{name}, as unseen", [both for _w, _c, both in found]), flush=True)
                then += found
    for name in names:
        found = judge(name, threads)
        now += found
        readings = [read_once(t.paste) for t in threads if t.set == name]
        bare = [not believe_clues(r, [str(row.cause) for row in cause_rows()]).named for r in readings]
        inexact += [both for (_w, _c, both), alone in zip(found, bare, strict=True) if alone]
    for label, at in (("words alone", 0), ("clues alone", 1), ("both", 2)):
        print(row(f"all as unseen, {label}", [places[at] for places in then]))
    print(row("all, with today's clues", [both for _w, _c, both in now]))
    print(row("of these, those without an exact message", inexact))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
