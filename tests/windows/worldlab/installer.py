"""A cure that installs packages, carried out by the lab: its environments have neither pip nor uv, and no network.

The packages come from the wheels that the lab has, as the scenes' own do. This shows that the offered packages let the framework's own
DLLs load; it does not show the installer's part, nor that the change is undone.
"""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from core.model.changes import ExchangePackages
from tests.windows.faultlab.machine import Machine
from tests.windows.worldlab.scenes import pip, torch

OF_ANOTHER_CUDA = ("cusolver-12.9",)
"""Wheels that fit none of the lab's others, which are of CUDA 12.4: an installer would bring all of one release."""


def install_from_wheels(change: ExchangePackages, m: Machine) -> bool:
    """Do what the change says; False where the lab has no such wheel."""
    site = Path(change.folder or Path(change.prefix, "Lib\\site-packages"))
    known = {name: _of_wheel(Path(place)) for name, place in m.places.items() if name not in OF_ANOTHER_CUDA}
    wanted = [Requirement(text) for text in change.install]
    wanted += [Requirement(f"{name}=={_installed(site, name)}") for name in change.restore if _installed(site, name)]
    if len(wanted) < len(change.install) + len(change.restore):
        return False
    chosen = []
    for one in wanted:  # it grows by what the chosen wheels require
        name = canonicalize_name(one.name)
        fits = [n for n, its in known.items() if its[0] == name and one.specifier.contains(its[1], prereleases=True)]
        if not fits and name != "torch":
            return False
        chosen.append((name, max(fits, key=lambda n: Version(known[n][1])) if fits else ""))
        if fits and change.install and not change.alone:
            there = {canonicalize_name(w.name) for w in wanted}
            needs = {canonicalize_name(n.name): n for n in _requires(Path(m.places[chosen[-1][1]]))}
            of_lab = {its[0] for its in known.values()} - there
            wanted += [n for name, n in needs.items() if name in of_lab and not _installed(site, name)]
    for name in dict.fromkeys((*change.remove, *(name for name, _place in chosen))):
        _remove(site, name)
    for _name, place in chosen:
        if place:
            pip(m, site, place)
        else:
            shutil.rmtree(site.parents[1])  # the environment
            torch(m, site.parents[2])
    return True


def _of_wheel(place: Path) -> tuple[str, str]:
    """Return the distribution that lies unpacked in a folder; empty texts where none does."""
    info = next(iter(place.glob("*.dist-info")), None)
    name, _dash, version = info.name.removesuffix(".dist-info").partition("-") if info else ("", "", "")
    return canonicalize_name(name), version


def _requires(place: Path) -> list[Requirement]:
    """Return what the distribution that lies unpacked in a folder requires here."""
    (text,) = place.glob("*.dist-info/METADATA")
    lines = text.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    found = [Requirement(line.partition(":")[2]) for line in lines if line.startswith("Requires-Dist:")]
    return [r for r in found if r.marker is None or r.marker.evaluate({"extra": ""})]


def _installed(site: Path, name: str) -> str:
    """Return the version of an installed distribution; empty if there is none."""
    found = (p.name.removesuffix(".dist-info").partition("-") for p in site.glob("*.dist-info"))
    return next((version for each, _dash, version in found if canonicalize_name(each) == canonicalize_name(name)), "")


def _remove(site: Path, name: str) -> None:
    """Remove a distribution's files, as its RECORD lists them; torch is made anew as a whole."""
    for info in site.glob("*.dist-info"):
        if canonicalize_name(info.name.partition("-")[0]) == canonicalize_name(name) != "torch":
            with (info / "RECORD").open(newline="", encoding="utf-8") as rows:
                files = [row[0] for row in csv.reader(rows)]
            for file in files:
                (site / file).unlink(missing_ok=True)
            shutil.rmtree(info, ignore_errors=True)
