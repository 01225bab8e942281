"""The form of a row of the fault lab, and the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.faultlab import plants, setups
from tests.faultlab.setups import Lab, Site
from tests.faultlab.standins import HEALTHY_DRIVER, Driver

Offer = Literal["", "variable", "files", "packages", "system", "advice", "nothing"]
"""A fix that changes variables (or what sets them), files, packages, or the system by its own tools; exact steps for the
person; or nothing at all.
"""


@dataclass(frozen=True)
class Fault:
    """One row. ``cause`` is a word of resources/knowledge/causes.json, or empty for a healthy machine."""

    name: str
    cause: str
    why: str
    base: Callable[[Lab], Site]
    plant: plants.Plant = plants.nothing
    environment: Mapping[str, str] = field(default_factory=dict)
    thorough: bool = False
    """Only hashes can tell: the scan is run with --thorough."""
    driver: Driver | None = HEALTHY_DRIVER
    """None: the row's base brings its own driver, or there is none."""
    notes: tuple[str, ...] = ()
    """Ids of findings that must be there, too."""
    offer: Offer = ""
    """What Convalesce offers for the cause; empty for "advice" (a healthy machine: "nothing")."""

    def build(self, tree: Path) -> Lab:
        """Build the machine with its fault under ``tree``."""
        lab = setups.machine(tree, self.driver)
        lab.environment.update(self.environment)
        self.plant(lab, self.base(lab))
        setups.give_home(lab)
        return lab

    @property
    def offered(self) -> Offer:
        """What Convalesce must offer."""
        return self.offer or ("advice" if self.cause else "nothing")


def table() -> tuple[Fault, ...]:
    """Return every row: faults of files, of the search, of the driver, those with a fix at hand, and the healthy machines."""
    from tests.faultlab.rows_curable import CURABLE
    from tests.faultlab.rows_driver import DRIVER
    from tests.faultlab.rows_files import FILES
    from tests.faultlab.rows_healthy import HEALTHY
    from tests.faultlab.rows_search import SEARCH

    return (*FILES, *SEARCH, *DRIVER, *CURABLE, *HEALTHY)
