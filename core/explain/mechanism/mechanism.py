"""Whether a fault of this machine causes an error text. A fault alone proves nothing; a proof needs a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from core.explain.mechanism.complaints import CAUSED_COMPLAINTS, COMPLAINTS
from core.explain.mechanism.fault_facts import FaultFacts
from core.explain.mechanism.objections import OBJECTIONS
from core.explain.reading import ParsedText


@dataclass(frozen=True)
class Mechanism:
    """Whether a fault causes a text."""

    by: tuple[str, ...] = ()
    """Families of messages that the fault produces and that are in the text."""
    sure: bool = False
    """At least one of them is specific to few faults."""
    against: str = ""
    """Evidence in the text against it, in one sentence; empty if there is none."""

    @property
    def is_proved(self) -> bool:
        """Whether the fault causes the text: it has a specific mechanism, and nothing is against it."""
        return self.sure and not self.against

    @property
    def is_possible(self) -> bool:
        """Whether the fault, like others, can produce such a text, and nothing is against it."""
        return bool(self.by) and not self.against


def find_mechanism(reading: ParsedText, about: FaultFacts) -> Mechanism:
    """Return whether a fault causes such a text."""
    by = tuple(
        name
        for name in CAUSED_COMPLAINTS.get(about.cause, ())
        if (c := COMPLAINTS[name]).marks & reading.marks
        and c.system in ("", about.seen.machine.system)
        and c.fits(reading, about)
    )
    against = next((said for object_ in OBJECTIONS if (said := object_(reading, about))), "") if by else ""
    return Mechanism(by, any(not COMPLAINTS[name].shared for name in by), against)
