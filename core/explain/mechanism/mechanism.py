"""Whether a fault of this machine causes a given error text. A fault alone proves nothing; a proof needs a mechanism."""

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
    """Families of messages that the fault makes, and the text is of."""
    sure: bool = False
    """At least one of them is not shared by many faults."""
    against: str = ""
    """What in the text speaks against it, in one sentence; empty when nothing does."""

    @property
    def is_proved(self) -> bool:
        """A mechanism of its own, and nothing against it."""
        return self.sure and not self.against

    @property
    def is_possible(self) -> bool:
        """Such a fault can make such a text, as others can; nothing is against it."""
        return bool(self.by) and not self.against


def find_mechanism(reading: ParsedText, about: FaultFacts) -> Mechanism:
    """Return whether a fault, as found, causes such a text."""
    by = tuple(
        name
        for name in CAUSED_COMPLAINTS.get(about.cause, ())
        if (c := COMPLAINTS[name]).marks & reading.marks
        and c.system in ("", about.seen.machine.system)
        and c.fits(reading, about)
    )
    against = next((said for object_ in OBJECTIONS if (said := object_(reading, about))), "") if by else ""
    return Mechanism(by, any(not COMPLAINTS[name].shared for name in by), against)
