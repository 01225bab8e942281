"""``python -m tests.windows.fixing_child PLAN.json STATE N``: carry a plan out, and end at once at the Nth call of the system.

With N below 0 it goes to its end; the number of calls goes to stdout.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from core.transaction.execute import Plan, execute
from core.transaction.journal import Journal
from tests.transaction.memory_store import MemoryWriter

EVENTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.chmod", "os.utime"})
KILLED = 9


def encode(plan: Plan) -> bytes:
    """Return the plan for the child."""
    return msgspec.json.encode(plan)


def main(arguments: list[str]) -> int:
    """PLAN.json STATE N."""
    plan = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=Plan)
    journal, kill_at = Journal(arguments[1]), int(arguments[2])
    steps = 0

    def count(event: str, _arguments: tuple[object, ...]) -> None:
        nonlocal steps
        if event in EVENTS:
            steps += 1
            if steps == kill_at:
                os._exit(KILLED)

    sys.addaudithook(count)
    outcome = execute(plan, writer=MemoryWriter("windows"), journal=journal)
    print(steps)
    return 0 if outcome.kind == "done" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
