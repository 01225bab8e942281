"""Guides: a person's steps for this system, each with a check that a program can run."""

from __future__ import annotations

from typing import Literal

from core.knowledge.releases import SourcedRow
from core.knowledge.tables import read_table
from core.model.facts import Frozen, Machine

GuideName = Literal["driver", "driver-libraries", "secure-boot", "firmware", "cpp-runtime"]


class GuideStep(Frozen, frozen=True, kw_only=True):
    """One step: a command, and a check that changes nothing and exits with 0 once the step is done."""

    do: str
    check: str


class Guide(SourcedRow, frozen=True, kw_only=True):
    """A guide for some systems."""

    guide: GuideName
    systems: tuple[str, ...]
    """Words of the system's own name (os-release's PRETTY_NAME), in small letters."""
    steps: tuple[GuideStep, ...]


class Guides(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/guides.json."""

    guides: tuple[Guide, ...]


def _filled(text: str, branch: str, library: str) -> str:
    return text.replace("{branch}", branch).replace("{library}", library)


def guide_steps(guide: GuideName, machine: Machine, *, branch: str = "", library: str = "") -> tuple[GuideStep, ...]:
    """Return the steps for this system; empty if there are none, or if they need a driver branch that is unknown."""
    name = "" if machine.wsl else machine.release.lower()  # its driver is Windows' own
    for row in read_table("guides", Guides).guides:
        if row.guide == guide and any(word in name for word in row.systems):
            if not branch and any("{branch}" in s.do for s in row.steps):
                return ()
            return tuple(
                GuideStep(do=_filled(s.do, branch, library), check=_filled(s.check, branch, library)) for s in row.steps
            )
    return ()
