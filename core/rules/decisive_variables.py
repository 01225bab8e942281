"""Which variables make the difference between this session and another way of starting.

Two worlds are compared variable by variable: this machine is judged again with one variable as the other way has it, and the fault
comes, or goes, with that variable or it does not. What the loader, or Python, found was looked at for all of its variables at once:
where several of them differ so that it matters, they are named together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from core.model.facts import CudaInit, Driver, Environment, Snapshot, StartLook, Variable
from core.model.findings import Finding
from core.model.steps import Severity
from core.model.variable_names import HIDING_VARIABLES, LOADER_VARIABLES
from core.rules.snapshot_queries import effective_variable

WINDOWS_LOADERS = ("PATH", "Path")
"""The variable that Windows' loader searches, as the registry and as programs spell it."""
PYTHONS = (
    "sys.path", "PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONNOUSERSITE", "PYTHONUSERBASE", "PYTHONSAFEPATH", "HOME",
)  # fmt: skip
MOST_WORLDS = 16
"""Machines that are judged for one other way; further variables are not asked for."""

Key = tuple[str, str]
"""Id and subject of a finding."""


class Comparison:
    """The world of this session and that of another way; each world between them is judged once, when it is asked for."""

    def __init__(self, seen: Snapshot, look: StartLook, run: Callable[[Snapshot], list[Finding]]) -> None:
        self.seen, self.look, self.run = seen, look, run
        self.judged: dict[tuple[str, ...], frozenset[Key]] = {}
        self.loaders = WINDOWS_LOADERS if seen.machine.system == "windows" else LOADER_VARIABLES

    def decisive(self, key: Key, *, there: bool) -> tuple[str, ...]:
        """Return the variables any of which, as the other way has it, brings the fault here (``there``) or takes it away."""
        found = [names for names in list(self._groups())[:MOST_WORLDS] if (key in self._faults(names)) is there]
        return tuple(n for names in found for n in names)

    def _groups(self) -> Iterator[tuple[str, ...]]:
        """Yield the variables that differ: one by one, those of the loader together, and those of Python's search."""
        ours, theirs = self._values(self.seen.environment), self._values(self.look.environment)
        aside = "" if "PATH" in self.loaders else "PATH"
        differ = [n for n in dict.fromkeys((*theirs, *ours)) if ours.get(n) != theirs.get(n) and n != aside]
        counting = self.look.counting
        for joint, looked in (
            (self.loaders, self.look.loads is not None or self.look.closures is not None),
            (PYTHONS, self.look.imports is not None),
        ):
            names = tuple(n for n in joint if n in differ and (counting is None or n in counting)) if looked else ()
            if names:
                yield names
            differ = [n for n in differ if not looked or n not in joint]
        yield from ((n,) for n in differ)
        if aside and ours.get(aside) != theirs.get(aside):
            yield ("PATH",)

    def _values(self, environment: Environment | None) -> dict[str, str]:
        rows = environment.variables if environment else ()
        return {v.name: v.value for v in rows if v.scope == "process"}

    def _faults(self, names: tuple[str, ...]) -> frozenset[Key]:
        if names not in self.judged:
            its = self.run(self._machine_with(frozenset(names)))
            self.judged[names] = frozenset((f.id, f.subject) for f in its if f.severity >= Severity.WARNING)
        return self.judged[names]

    def _machine_with(self, names: frozenset[str]) -> Snapshot:
        """Return this machine with some variables as the other way has them, and what was found because of them."""
        seen, look = self.seen, self.look
        ours, theirs = seen.environment or Environment(), look.environment or Environment()

        def mixed(mine: tuple[Variable, ...], other: tuple[Variable, ...]) -> tuple[Variable, ...]:
            return (*(v for v in mine if v.name not in names), *(v for v in other if v.name in names))

        environment = replace(
            ours,
            variables=mixed(ours.variables, theirs.variables),
            entries=(
                *(e for e in ours.entries if e.variable not in names),
                *(e for e in theirs.entries if e.variable in names),
            ),
            places=(
                *(p for p in ours.places if p.variable not in names),
                *(p for p in theirs.places if p.variable in names),
            ),
        )
        loader, python = bool(names & set(self.loaders)), bool(names & set(PYTHONS))
        its = replace(
            seen,
            environment=environment,
            loads=look.loads if loader and look.loads is not None else seen.loads,
            closures=look.closures if loader and look.closures is not None else seen.closures,
            imports=look.imports if python and look.imports is not None else seen.imports,
            starts=None,
            start_looks=None,
        )
        return replace(its, driver=driver_for(seen, its))


def driver_for(seen: Snapshot, its: Snapshot) -> Driver | None:
    """Return the driver's results that hold with other variables: one that hides GPUs belongs to one way."""
    driver = seen.driver
    if driver is None or all(value_of(seen, n) == value_of(its, n) for n in HIDING_VARIABLES):
        return driver
    unhidden: CudaInit | None = driver.cuda_unhidden or driver.cuda
    if all(value_of(its, n) is None for n in HIDING_VARIABLES):
        return replace(driver, cuda=unhidden, cuda_unhidden=None)
    return replace(driver, cuda=None, cuda_unhidden=unhidden)


def value_of(seen: Snapshot, name: str) -> str | None:
    """Return a variable's value as programs get it; None where it is not set."""
    found = effective_variable(seen, name)
    return found.value if found else None
