"""The file of varied machines: for each a made machine, the fact that is another, and what the report then says otherwise."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from core.doctor.examine import diagnose_snapshot
from core.model.facts import Snapshot
from tests.rules.test_made_machines import lines
from tests.test_same_everywhere import MACHINES
from tests.variation.facts import Donor, fact_at, with_fact

WRITTEN = Path(__file__).with_name("varied_machines.txt")


class Variation(NamedTuple):
    """One fact of one machine, and its other value."""

    machine: str
    path: str
    value: Any

    @property
    def line(self) -> str:
        """Return it as the file has it."""
        if isinstance(self.value, Donor):
            return f"{self.path} <- {self.value.path} of {self.value.machine}"
        return f"{self.path} = {json.dumps(self.value, ensure_ascii=False)}"

    def made(self) -> Snapshot:
        """Return the machine.

        Raises:
            LookupError, TypeError, msgspec.ValidationError: the tests have no such machine, place or value any more.
        """
        value = self.value
        if isinstance(value, Donor):
            value = fact_at(machine(value.machine), value.path)
        return with_fact(machine(self.machine), self.path, value)


@functools.cache
def machine(name: str) -> Snapshot:
    """Return a made machine."""
    return MACHINES[name]()


@functools.cache
def base(name: str) -> tuple[str, ...]:
    """Return what is said of a made machine as it is."""
    return tuple(lines(diagnose_snapshot(machine(name))))


def said_otherwise(variation: Variation) -> list[str]:
    """Return which findings go and which lines come with the other value."""
    after = list(lines(diagnose_snapshot(variation.made())))
    before = base(variation.machine)
    out = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            out += [f"- {line}" for line in before[a:b] if not line.startswith("    ")]
            out += [f"+ {line}" for line in after[c:d]]
    return out


def written() -> Iterator[tuple[Variation, list[str]]]:
    """Yield each variation that is written down, with its lines."""
    if not WRITTEN.exists():
        return
    for block in WRITTEN.read_text(encoding="utf-8").split("\n== ")[1:]:
        name, *rest = block.rstrip("\n").split("\n-- ")
        for one in rest:
            head, *said = one.split("\n")
            path, sign, value = head.split(" ", 2)
            other = json.loads(value) if sign == "=" else Donor(*reversed(value.split(" of ", 1)))
            yield Variation(name, path, other), said


def write(found: list[Variation]) -> None:
    """Write the file anew; a variation whose machine or place is gone is left out and named."""
    blocks: dict[str, list[str]] = {name: [] for name in MACHINES}
    for each in found:
        try:
            blocks[each.machine].append("\n".join((f"-- {each.line}", *said_otherwise(each))))
        except (LookupError, TypeError, msgspec.ValidationError) as e:
            print(f"left out: {each.machine}: {each.line}: {e!r}")
    text = "".join(f"\n== {name}\n" + "\n".join(rows) + "\n" for name, rows in blocks.items() if rows)
    WRITTEN.write_text(text, encoding="utf-8")
