"""The corpus: messages of resolved public threads, each with its URL, its source, its year, its system and its cause.

``first``: the 206 that the tables were built on. ``second``: collected later; the tables are mended by them. ``held out``:
repositories that no other set has; nothing is mended by them, and no rule is written with one in sight. ``third``: 62 more
from repositories that no other set has, looked for by topic ("my processor is too old", "after an update of the kernel") and
not by the words of a message, labelled before they were scored, and scored once (docs/explain.md). ``fourth``: 69 more in the
same way, by topic and by product, 64 of them from 2023 to 2026; also scored once before anything was mended by them. ``fifth``: 56
more in the same way, from 2022 to 2026; nothing is learned from them and nothing is mended by them. ``sixth``: collected after
the fifth and learned from, from repositories that the fifth does not have. ``seventh``: 51 more, from 2023 to 2026, looked for by product and
message, from any repository but those of the held-out and the fifth set; scored once (docs/explain.md), then mended by, not learned from. ``ninth``:
59 more, from 2022 to 2026, of what the others have little of (drivers, containers, clusters, language-model servers, media and science programs,
Rust, Julia, Java, .NET, other makers), from any repository but those of the held-out and the fifth set; scored once (docs/explain.md), then mended by and learned from. ``tenth``: 16 more
of the same kind, collected while the classes of the ninth were mended, scored once, then learned from.
``eighth``: 67 more, from 2022 to 2026, about Python frameworks, their extensions and builds, looked for and treated as the
seventh. ``eleventh``: 16 more of the same kind, collected when the classes of the eighth were mended, and scored once after that. ``twelfth``: 56 more,
from 2023 to 2026, looked for by neutral words and collected by somebody who had read no rule; scored once after the classes of all others were mended; nothing is learned from them and
nothing is mended by them. ``fourteenth``: 62 more, from 2022 to 2026, about drivers, containers, several GPUs and programs that run models, from any
repository but those of the held-out and the fifth set; scored once after sentences of these fields were read from the programs' sources, then mended by and learned from. ``thirteenth``: 100 more, from 2022 to 2026, collected by somebody who saw neither the tables nor an answer, and left unseen: scored once. ``fifteenth``: 80 more, from 2022 to 2026, about Python frameworks, their extensions and builds, labelled before any of them was scored, from any repository but those of the held-out, the fifth and the twelfth set.
``sixteenth``: 98 more, from 2022 to 2026, collected as the thirteenth by somebody who saw neither the tables nor an answer; scored once (docs/explain.md), then mended by and learned from, but for seven that no cause of the vocabulary fits, and three from repositories of the fifth set. ``eighteenth``: 135 more, from 2022 to 2026, collected to be learned from and never scored as unseen; none from a repository of the held-out or the fifth set.
``seventeenth``: 92 more, from 2022 to 2026, collected and scored as the sixteenth, then mended by and learned from, but for six from repositories of the held-out or the fifth set.
``nineteenth``: 58 more, and ``twentieth``: 34 of the same collector, treated as the seventeenth, but for three from repositories of the held-out or the fifth set.
``twenty-first``: 60 more of another such collector, and ``twenty-second``: 60 more of the same one, treated as the seventeenth, but for four each from repositories of the held-out or the fifth set.
``twenty-third``: 52 more, and ``twenty-fourth``: 56 more of another such collector, treated as the seventeenth, but for eleven from repositories of the held-out or the fifth set. ``twenty-fifth``: 47 more, from 2022 to 2026, collected by searching for complaints and for what ended them, to be learned from: labelled before any was explained, and then mended by. ``twenty-sixth``: 58 more, ``twenty-seventh``: 55 and ``twenty-eighth``: 51 of two more such collectors, treated as the seventeenth, but for 13 from repositories of the held-out or the fifth set and three that no cause of the vocabulary fits. ``twenty-ninth``: 36 more, ``thirtieth``: 39, ``thirty-first``: 37 and ``thirty-second``: 36 of more such collectors, treated as the seventeenth, but for twelve from repositories of the held-out or the fifth set. ``thirty-third``: 39 and ``thirty-fourth``: 39 more, treated as the seventeenth, but for two from repositories of the held-out or the fifth set; their collector had excerpts of a search, so causes come from the message more than from a resolution, and 24 of the 80 labels are weak. ``thirty-fifth``: 39 and ``thirty-sixth``: 37 more, treated as the seventeenth, but for three from repositories of the held-out or the fifth set and one with a weak label whose only sentence ("DNN library initialization failed") several causes make; looked for by product and by what ended a trouble, and labelled from the resolution. ``thirty-seventh``: 40 and ``thirty-eighth``: 40 more, treated as the seventeenth; their collector shortened excerpts of a search to the telling lines, and 25 of the 80 labels are weak. ``thirty-ninth``: 40 and ``fortieth``: 40 more, treated as the seventeenth; 15 of the 80 labels are weak. ``forty-first``: 40 (Python frameworks and the programs on top of them) and ``forty-second``: 40 more (drivers, containers, builds, programs in other languages), treated as the seventeenth; 30 of the 80 labels are weak. ``forty-third``: 40 and ``forty-fourth``: 39 more, treated as the seventeenth, but for one whose only sentence ("DNN library initialization failed") several causes make; all labels are certain. ``forty-fifth``: 40 and ``forty-sixth``: 40 more, treated as the seventeenth; 20 of the 80 labels are weak.
The messages are shortened; where a thread only describes one, it is what the program prints. Causes were labelled from the thread's
resolution before anything ran. A year that nothing tells is None.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

FILE = Path(__file__).parent / "threads.jsonl"
UNSCORED = FILE.with_name("unscored.jsonl")
"""Threads that are not learned from yet: they wait for their one score, or for somebody who learns from them after it (docs/explain.md); each row says besides whether its ``label`` is certain or weak, i.e. how clearly the thread ends, and which causes would be right ``also``.

A row goes to ``FILE`` without these words when it is learned from. The cause "none" means that the vocabulary has no word for it.
"""
SetName = Literal[
    "first", "second", "held out", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth",
    "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second", "twenty-third", "twenty-fourth", "twenty-fifth",
    "twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first", "thirty-second",
    "thirty-third", "thirty-fourth", "thirty-fifth", "thirty-sixth", "thirty-seventh", "thirty-eighth", "thirty-ninth", "fortieth", "forty-first", "forty-second", "forty-third", "forty-fourth",
    "forty-fifth", "forty-sixth",
]  # fmt: skip
SETS: tuple[SetName, ...] = get_args(SetName)
UNSEEN = ("held out", "fifth", "twelfth", "thirteenth")
"""What nothing is learned from."""


@dataclass(frozen=True)
class Thread:
    """One resolved public thread: the messages and the cause, nothing else."""

    url: str
    source: str
    year: int | None
    system: Literal["windows", "linux", "wsl", "container", "macos", "unknown"]
    framework: str
    set: SetName
    cause: str
    text: str

    @property
    def paste(self) -> str:
        """What a person would paste: the system, the program, the message."""
        system = "" if self.system == "unknown" else f"OS: {self.system}\n"
        return f"{system}Framework: {self.framework}\n\n{self.text}" if self.framework else system + self.text


def all_threads(sets: Sequence[str] = SETS) -> tuple[Thread, ...]:
    """Return the threads of some sets."""
    threads = (Thread(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines())
    return tuple(t for t in threads if t.set in sets)


def unscored_threads(labels: Sequence[str] = ("certain", "weak")) -> tuple[Thread, ...]:
    """Return the threads that are not learned from yet, by how sure their label is."""
    rows = [json.loads(line) for line in UNSCORED.read_text(encoding="utf-8").splitlines()]
    return tuple(
        Thread(**{k: v for k, v in row.items() if k not in ("label", "also")}) for row in rows if row["label"] in labels
    )
