"""Packages that two installed distributions own, with different files: the one that was installed last wrote over the other's.

Only RECORDs are read, and some of the modules that differ. Two distributions of one release share their modules (only compiled
files may differ), and are no fault.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from itertools import combinations

from core.knowledge.modules import module_of, module_table
from core.model.facts import Distribution, OverwrittenPackage, PythonEnvironment, path_text
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import BESIDES, normalise_name
from core.probes.python.installed.gone_files import STRIPPED_PATHS, every_distribution
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import RecordRow, installed_by_conda, read_record, record_rows

MOST_FILES, MAX_BYTES = 40, 1 << 20
"""Modules that are hashed of one package, and bytes of each."""

LONG_START = 700
"""Bytes of a package's start that is more than a licence and a docstring. Of the 98 different starts of packages in the environments
of the world lab, 7 have no code of their own, and at most 637 bytes (a licence); of the 90 that have code and look for no further
parts, 71 are longer than 700.
"""
FURTHER_PARTS = (b"__path__", b"declare_namespace")
"""What stands in a start that looks for the other parts of a namespace."""


def overwritten_packages(
    python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> tuple[OverwrittenPackage, ...]:
    """Return the packages of an environment in which one distribution wrote over another one's modules."""
    if python.kind in ("conda", "system") or python.managed:
        return ()  # conda and Linux distributions change what a RECORD lists.
    known = request.shared.setdefault("identities", {})
    look = partial(_overwritten_packages, python)
    return kept_look("overwritten", python.site_packages, tuple[OverwrittenPackage, ...], look, where, known=known)


def _overwritten_packages(python: PythonEnvironment, where: Sysroot) -> tuple[tuple[OverwrittenPackage, ...], bool]:
    owners: dict[tuple[str, str], list[Distribution]] = {}
    for what in every_distribution(python, where):
        if not what.name.startswith("nvidia-") and not installed_by_conda(what, where):
            for package in dict.fromkeys(re.findall(r"(?m)^([A-Za-z_]\w*)/__init__\.py,", read_record(what, where))):
                owners.setdefault((what.location, package), []).append(what)
    shared = {key: its for key, its in owners.items() if len(its) > 1 and key[1] not in BESIDES}
    found = [_of_pair(*pair, package, where) for (_, package), its in shared.items() for pair in combinations(its, 2)]
    return tuple(one for one in found if one), True


def _of_pair(one: Distribution, other: Distribution, package: str, where: Sysroot) -> OverwrittenPackage | None:
    """Return what two distributions wrote to one package; None where all their common modules are alike or of neither."""
    if one.version == other.version:
        return None
    pattern = rf"(?m)^{package}/[^,\n]*\.py,"
    mine, its = record_rows(one, pattern, where), record_rows(other, pattern, where)
    start = where.join(one.location, package, "__init__.py")
    differing = [p for p in mine if p in its and mine[p].sha256 and its[p].sha256 and mine[p].sha256 != its[p].sha256]
    inner = [p for p in differing if not STRIPPED_PATHS.search(p.removeprefix(one.location).replace("\\", "/"))]
    if not any(p != start for p in inner):
        pairs = (one, other, mine.get(start), its.get(start)), (other, one, its.get(start), mine.get(start))
        meant = {normalise_name(row.install) for row in module_table().namesakes if row.module == package}
        for winner, loser, there, lost in pairs:
            is_meant = loser.name in meant
            if (is_meant or module_of(loser.name) == package) and _is_lost(
                start, there, lost, where, is_meant=is_meant
            ):
                return _overwritten(package, winner, loser, where)
        return None
    counts: Counter[str] = Counter()
    for path in inner[:MOST_FILES]:
        content = where.read(path, MAX_BYTES)
        if content is not None:
            digest = _sha256(content)
            counts.update(d.name for d, rows in ((one, mine), (other, its)) if rows[path].sha256 == digest)
    if not counts:
        return None
    winner = max((one, other), key=lambda d: counts[d.name])
    loser = other if winner is one else one
    return _overwritten(package, winner, loser, where)


def _overwritten(package: str, winner: Distribution, loser: Distribution, where: Sysroot) -> OverwrittenPackage:
    return OverwrittenPackage(
        package=package,
        path=path_text(where.join(winner.location, package)),
        written=f"{winner.name} {winner.version}",
        lost=f"{loser.name} {loser.version}",
    )


def _is_lost(
    start: str, winners: RecordRow | None, losers: RecordRow | None, where: Sysroot, *, is_meant: bool
) -> bool:
    """Whether a package has the start of another distribution than it had. Many packages of one namespace bring its start: that is short,
    or looks for the other parts. ``is_meant``: it is no namespace, but another project's module of the same name.
    """
    if not winners or not losers or not (is_meant or (losers.sha256 and (losers.size or 0) >= LONG_START)):
        return False
    content = where.read(start, MAX_BYTES)
    if content is None or any(word in content for word in FURTHER_PARTS):
        return False
    digest = _sha256(content)
    theirs = losers.sha256 == digest if losers.sha256 else losers.size == len(content)
    return not theirs and winners.sha256 in ("", digest)


def _sha256(content: bytes) -> str:
    import hashlib  # imported late: loads OpenSSL

    return hashlib.sha256(content).hexdigest()
