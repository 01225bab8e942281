"""An environment and its frameworks, in the form that the rules about frameworks need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from core.common.late_pattern import late_pattern
from core.common.requirements import is_in_specifier, marker_applies, parse_requirement
from core.knowledge.modules import module_table
from core.model.facts import (
    Closure,
    Distribution,
    FrameworkBuild,
    FrameworkTrial,
    ImportSearch,
    PackageRecords,
    PythonEnvironment,
    Snapshot,
    System,
    marker_facts,
)
from core.model.facts.framework_tools import UnfitTool
from core.model.paths import parent
from core.model.steps import Severity
from core.rules.consumer_loads import environment_rank
from core.rules.snapshot_queries import in_environment, is_idle, is_on_cpu
from core.rules.wording import ERROR, NOTE, WARNING, Concern, concern_row

FRAMEWORKS = late_pattern(
    r"torch(-nightly)?|tensorflow(-gpu|-cpu|-intel)?|tf-nightly|jax|onnxruntime(-gpu|-directml)?|ctranslate2"
    r"|cupy-cuda\d+x?|paddlepaddle(-gpu)?"
)
"""Packages that a person chose: if another package does not fit, that one is changed."""

WITHOUT_VERSION = ("no metadata", "no version")
"""Kinds of leftovers from which importlib.metadata gets no version."""


class EnvironmentView(msgspec.Struct, frozen=True):
    """One environment, how its frameworks were built, and the results of trials."""

    seen: Snapshot
    python: PythonEnvironment
    builds: tuple[FrameworkBuild, ...]
    trials: tuple[FrameworkTrial, ...]
    near: int
    """Rank: 0 named, 1 active, 2 the default, 3 any other that was examined in full, 4 only listed."""

    @property
    def severity(self) -> Severity:
        """Return the severity of a fault: highest for a named or active environment, lowest for one that is only listed."""
        return ERROR if self.near <= 1 else WARNING if self.near <= 3 else NOTE

    def concerns(self, name: str = "") -> Concern:
        """Return the concerned consumer: the whole environment, or one of its distributions."""
        its = self.installed(name)
        return concern_row(self.python.consumer(f"{its.name} {its.version}" if its else ""))

    def build(self, *names: str) -> FrameworkBuild | None:
        """Return the build of the first of these distributions that has one; None if none has."""
        return next((b for n in names for b in self.builds if b.distribution == n), None)

    def installed(self, name: str) -> Distribution | None:
        """Return an installed distribution by name; None if it is not installed."""
        return next((d for d in self.python.distributions if d.name == name), None)

    @property
    def search(self) -> ImportSearch | None:
        """How Python searches modules here; None if that was not examined."""
        return next(in_environment(self.seen, self.python.prefix, self.seen.imports), None)

    @property
    def records(self) -> PackageRecords | None:
        """How its files compare with what packages recorded; None if that was not examined."""
        return next(in_environment(self.seen, self.python.prefix, self.seen.records), None)

    @property
    def tools(self) -> tuple[UnfitTool, ...]:
        """What its packages run or read by name, and that is missing or unusable."""
        return tuple(in_environment(self.seen, self.python.prefix, self.seen.framework_tools))

    @property
    def closures(self) -> tuple[Closure, ...]:
        """What its frameworks' libraries need."""
        return tuple(
            c for c in self.seen.closures or () if any(in_environment(self.seen, self.python.prefix, [c.consumer]))
        )

    def without_metadata(self) -> set[tuple[str, str]]:
        """Return folder and release of what is recorded by a .dist-info whose METADATA is missing or states no version."""
        system = self.seen.machine.system
        bare = (r.path for r in (self.search.remains if self.search else ()) if r.kind in WITHOUT_VERSION)
        found = ((parent(system, p), re.search(r"-([^-]+)\.dist-info$", p)) for p in bare)
        return {(folder, release[1]) for folder, release in found if release}

    def is_idle(self, name: str) -> bool:
        """Whether programs in the working folder use this environment, and none of them a distribution, as far as their text shows."""
        return is_idle(self.seen, self.python.prefix, name)

    def is_on_cpu(self, name: str) -> bool:
        """Whether the programs in the working folder use a distribution on the CPU alone, as they say themselves."""
        return is_on_cpu(self.seen, self.python.prefix, name)

    def trial(self, distribution: str) -> FrameworkTrial | None:
        """Return the trial of a framework; None if there was none."""
        return next((t for t in self.trials if t.framework == distribution), None)


def environment_views(seen: Snapshot) -> Iterator[EnvironmentView]:
    """Yield every environment that was read; named and active ones first."""
    everything = seen.frameworks
    near = sorted(seen.pythons or (), key=lambda p: environment_rank(seen, p.prefix))
    for python in (*near, *(everything.others if everything else ())):
        yield EnvironmentView(
            seen,
            python,
            tuple(in_environment(seen, python.prefix, everything.builds if everything else ())),
            tuple(in_environment(seen, python.prefix, seen.trials)),
            environment_rank(seen, python.prefix) if python in near else 4,
        )


def view_of(seen: Snapshot, prefix: str) -> EnvironmentView | None:
    """Return the environment with this prefix; None if there is none, or no prefix."""
    return next((h for h in environment_views(seen) if prefix and h.python.prefix == prefix), None)


def first_of_each(home: EnvironmentView) -> list[Distribution]:
    """Return the distributions that Python finds: of two with one name, the first on sys.path."""
    return _first_of_each(home.python)


def _first_of_each(python: PythonEnvironment) -> list[Distribution]:
    known: dict[str, Distribution] = {}
    for distribution in python.distributions:
        known.setdefault(distribution.name, distribution)
    return list(known.values())


class UnmetRequirement(msgspec.Struct, frozen=True):
    """A requirement that the installed packages do not meet."""

    of: Distribution
    wanted: str
    """Name of the required distribution."""
    specifier: str
    installed: str
    """Its version; empty if it is not installed."""
    optional: bool
    """It belongs to an extra, so it counts only if that extra was requested."""


def unmet_requirements(home: EnvironmentView) -> Iterator[UnmetRequirement]:
    """Yield the unmet requirements on relevant packages as ``pip check`` would, by versions only.

    Extras may be alternatives (one for CUDA 12, one for 13): if one of them is met, the others were not requested.
    """
    machine = home.seen.machine
    yield from _unmet(home.python, machine.system, machine.architecture)


@lru_cache(maxsize=64)  # Several rules ask for each way of starting.
def _unmet(python: PythonEnvironment, system: System, architecture: str) -> tuple[UnmetRequirement, ...]:
    return tuple(_find_unmet(python, system, python.architecture or architecture))


def _find_unmet(python: PythonEnvironment, system: System, architecture: str) -> Iterator[UnmetRequirement]:
    installed = {
        d.name: d.version for d in reversed(python.distributions)
    }  # Of two with one name, Python finds the first.
    for distribution in _first_of_each(python):
        wishes = [
            w
            for raw in (*distribution.requires, *distribution.pins)
            if (w := _applicable(raw, system, architecture, python.version)) is not None
        ]
        met = {name for name, specifier, _ in wishes if name in installed and _is_met(specifier, installed[name])}
        for name, specifier, optional in wishes:
            version = installed.get(name)
            if optional and (version is None or name in met):
                continue
            if version is None or not _is_met(specifier, version):
                yield UnmetRequirement(distribution, name, specifier, version or "", optional)


def asked_of(home: EnvironmentView, distribution: Distribution, name: str) -> Iterator[str]:
    """Yield the versions of ``name`` that a distribution requires, as text, except for extras."""
    for raw in (*distribution.requires, *distribution.pins):
        wish = _applicable_requirement(raw, home)
        if wish is not None and wish[0] == name and not wish[2]:
            yield wish[1]


def requested_by_an_extra(seen: Snapshot, prefix: str, name: str, release: str) -> str:
    """Return the requirement of an environment's distributions on a package whose name starts with ``name``, extras included,
    that admits a release; empty if there is none, or several names that the installed packages do not tell apart.
    """
    home = view_of(seen, prefix)
    found: dict[str, str] = {}
    for raw in (r for d in (first_of_each(home) if home else ()) for r in d.requires):
        wish = _applicable_requirement(raw, home) if home else None
        if wish and wish[0].startswith(name) and wish[1] and is_in_specifier(wish[1], release):
            found.setdefault(wish[0], wish[0] + wish[1].replace(" ", ""))
    if len(found) > 1 and home:
        there = {d.name.rpartition("-")[2] for d in home.python.distributions if d.name.startswith("nvidia-")}
        found = {its: wish for its, wish in found.items() if its.rpartition("-")[2] in there}
    return next(iter(found.values())) if len(found) == 1 else ""


def is_asked_for(home: EnvironmentView, name: str) -> bool:
    """Whether another distribution requires this one; otherwise somebody installed it for its own sake."""
    return any(True for d in first_of_each(home) if d.name != name for _text in asked_of(home, d, name))


def is_trusted_name(home: EnvironmentView, name: str) -> bool:
    """Whether a distribution is installed, required here, or in the table of modules.

    Any other name was guessed from a module's name or taken from an error text, and anybody may publish a package under
    it.
    """
    return home.installed(name) is not None or is_asked_for(home, name) or name in module_table().names


def missing_packages(seen: Snapshot, prefix: str, *first: str, of: str = "") -> tuple[str, ...]:
    """Return these requirements and those of the environment's distributions, or of one, on missing packages of NVIDIA."""
    named = {re.split(r"[^\w.-]", wish, maxsplit=1)[0] for wish in first}
    home = view_of(seen, prefix)
    lacking = (b for b in (unmet_requirements(home) if home else ()) if not b.installed and not b.optional)
    its = (b for b in lacking if of in ("", b.of.name))
    more = (f"{b.wanted}{b.specifier}" for b in its if b.wanted.startswith("nvidia-") and b.wanted not in named)
    return tuple(dict.fromkeys((*first, *more)))


def _applicable_requirement(raw: str, home: EnvironmentView) -> tuple[str, str, bool] | None:
    """Return name, versions and whether it is optional; None if it does not apply here or cannot be parsed."""
    machine = home.seen.machine
    return _applicable(raw, machine.system, home.python.architecture or machine.architecture, home.python.version)


@lru_cache(maxsize=4096)  # Cached: many rules ask for the same requirements, for each way of starting.
def _applicable(raw: str, system: System, architecture: str, version: str) -> tuple[str, str, bool] | None:
    wish = parse_requirement(raw)
    if wish is None:
        return None
    name = re.sub(r"[-_.]+", "-", wish.name).lower()
    if not wish.marker:
        return name, wish.specifier, False
    facts = marker_facts(system, architecture, version)
    if marker_applies(wish, {**facts, "extra": ""}):
        return name, wish.specifier, False
    extras = re.findall(r"extra\s*==\s*[\"']([^\"']+)", wish.marker)
    optional = any(marker_applies(wish, {**facts, "extra": extra}) for extra in extras)
    return (name, wish.specifier, True) if optional else None


def _is_met(specifier: str, version: str) -> bool:
    """Whether a version meets a specifier; True if it cannot be parsed."""
    return is_in_specifier(specifier, version) is not False
