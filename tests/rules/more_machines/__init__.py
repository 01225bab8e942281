"""Machines with faults in what a program gets beside cuDNN: libraries, imports, variables, packages, tools, benchmarks, and ways.

Each differs from its neighbour by one fact that decides. What is said of them is written down in made_machines.txt.
"""

from __future__ import annotations

from core.model.facts import Snapshot
from tests.rules.more_machines.benchmarks import BENCHMARKS
from tests.rules.more_machines.drivers import DRIVERS
from tests.rules.more_machines.files import FILES
from tests.rules.more_machines.imports import ENDED, EXTENSIONS, IMPORTS
from tests.rules.more_machines.libraries import LIBRARIES
from tests.rules.more_machines.loads import LOADS
from tests.rules.more_machines.packages import PACKAGES
from tests.rules.more_machines.variables import CONTRACTS
from tests.rules.more_machines.ways import WAYS

MACHINES: dict[str, Snapshot] = {
    f"{part}: {name}": seen
    for part, table in (
        ("libraries", LIBRARIES),
        ("imports", IMPORTS),
        ("ended imports", ENDED),
        ("extensions", EXTENSIONS),
        ("contracts", CONTRACTS),
        ("packages", PACKAGES),
        ("files", FILES),
        ("benchmarks", BENCHMARKS),
        ("drivers", DRIVERS),
        ("loads", LOADS),
        ("ways", WAYS),
    )
    for name, seen in table.items()
}
