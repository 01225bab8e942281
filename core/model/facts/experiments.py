"""What became of an import that failed when it was repeated with one thing changed at a time."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen

SuspectKind = Literal["variable", "folder", "user packages", "search entry", "start-up file", "settings"]
"""variable: one that is set. folder: the folder that the program is started in. user packages: the user's own packages (PEP 370).
search entry: an entry of sys.path from outside the environment. start-up file: a .pth file, sitecustomize or usercustomize.
settings: the files in the person's home folder."""

ExperimentOutcome = Literal["works", "same", "otherwise", "no answer"]
"""otherwise: it fails in another way, so that nothing is proved. no answer: its time was over."""


class Suspect(Frozen, frozen=True, kw_only=True):
    """One thing around a program that can be left out."""

    kind: SuspectKind
    name: str
    """The variable, or the path."""
    value: str = ""
    """Of a variable, where the failure's words have it anyway, or it is one of Python's or of the loader's own."""


class Experiment(Frozen, frozen=True, kw_only=True):
    """The same import once more, without some things."""

    without: tuple[Suspect, ...]
    outcome: ExperimentOutcome
    problem: str = ""
    """What it said, if it failed in another way."""
    seconds: float = 0.0


class Experiments(Frozen, frozen=True, kw_only=True):
    """A failed import, repeated."""

    repeated: ExperimentOutcome
    """The first repetition, with nothing changed but that it ran in a process of its own."""
    runs: tuple[Experiment, ...] = ()
    proved: tuple[Suspect, ...] = ()
    """It works without these, and fails with any of them; empty if nothing was found."""
    foreign: tuple[str, ...] = ()
    """Files of modules from outside the environment and its Python that the failed import opened."""
    read: tuple[str, ...] = ()
    """Other files in the person's home folder that it opened."""

    def refutes(self, kind: SuspectKind, name: str) -> bool:
        """Return whether the import fails in the same way without this."""
        return any(
            run.outcome == "same" and any(s.kind == kind and (not name or s.name == name) for s in run.without)
            for run in self.runs
        )

    @property
    def seconds(self) -> float:
        """Return how long all of them took."""
        return round(sum(run.seconds for run in self.runs), 1)
