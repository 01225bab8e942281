"""Texts that were written for learning, not collected: real programs' sentences and plain words, as people paste them.

``python -m tests.explain.written DRAFT`` appends the texts of a draft to written.jsonl. A draft names a cause in a line
of its own, ``= cause [system [framework]]``, and its texts follow, parted by lines of ``--``. What is a text already, or
one of a thread, is left out. The words of these texts are learned (``tests.learn_words``); nothing is measured by them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from core.knowledge.causes import cause_rows
from installer.by_hand import by_hand
from tests.explain.threads import all_threads

FILE = Path(__file__).parent / "written.jsonl"
_HEAD = re.compile(r"^= (?=\w+(?: |$))", re.MULTILINE)


@dataclass(frozen=True)
class Written:
    """One text, its cause, and where it is told, its system and its framework."""

    cause: str
    text: str
    system: str = "unknown"
    framework: str = ""


def all_written() -> tuple[Written, ...]:
    """Return every written text."""
    return tuple(Written(**json.loads(line)) for line in FILE.read_text(encoding="utf-8").splitlines())


def read_draft(draft: str) -> list[Written]:
    """Return the texts of a draft.

    Raises:
        ValueError: a cause that does not exist.
    """
    causes = {str(row.cause) for row in cause_rows()}
    found: list[Written] = []
    for part in _HEAD.split(draft)[1:]:
        head, _, body = part.partition("\n")
        cause, system, framework = (*head.split(maxsplit=2), "", "")[:3]
        if cause not in causes:
            raise ValueError(f"{cause!r} is no cause.")
        texts = [text.strip() for text in f"\n{body}\n".split("\n--\n")]
        found += [Written(cause, text, system or "unknown", framework) for text in texts if text]
    return found


def main(argv: Sequence[str]) -> int:
    """Append drafts: all of them, or none where one cannot be read."""
    known = {w.text for w in all_written()} | {t.text for t in all_threads()}
    try:
        drafts = [w for name in argv for w in read_draft(Path(name).read_text(encoding="utf-8"))]
    except (OSError, ValueError) as e:
        print(e)
        return 1
    with FILE.open("a", encoding="utf-8", newline="\n") as file:
        for w in drafts:
            if w.text not in known:
                known.add(w.text)
                row = {key: value for key, value in asdict(w).items() if value not in ("unknown", "")}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{len(all_written())} texts, {len({w.cause for w in all_written()})} causes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(by_hand(__doc__, "DRAFT...")))
