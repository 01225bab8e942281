"""Requirements of packages that somebody asked for, which an installed package of another series does not meet.

A framework's own requirements are read elsewhere. Here are the packages that no other one requires, and those that programs of the
working folder import: what they say of other packages is all that reading knows of a grammar, a protocol or a call that has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.common.requirements import is_in_specifier, marker_applies, parse_requirement
from core.common.versions import version_tuple
from core.model.facts import Distribution, Misfit, PythonEnvironment, marker_facts
from core.model.paths import is_inside
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.following.framework_users import INSTALLERS
from core.probes.python.installed.distributions import all_requirements, is_relevant, required_name
from core.probes.sysroot import Sysroot

CALENDAR = 2000
"""From this first number on a release is named after its year: another year is no other series."""
JUDGED_ELSEWHERE = frozenset(("numpy", *INSTALLERS))
"""NumPy's ABI has rules of its own."""
PROTOBUF = "protobuf"


def misfits(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[Misfit, ...]:
    """Return what an environment's own packages require and do not get by a whole series; the person's own packages were solved elsewhere."""
    if python.kind == "conda" or python.managed:
        return ()  # their own installers solve what they require

    architecture = python.architecture or request.seen.machine.architecture

    def look(watched: Sysroot) -> tuple[tuple[Misfit, ...], bool]:
        every: dict[str, Distribution] = {}
        for folder in (f for f in python.site_packages if is_inside(where.system, f, python.prefix)):
            for its in all_requirements(folder, watched):
                every.setdefault(its.name, its)
        return tuple(_unmet(every, marker_facts(where.system, architecture, python.version))), True

    known = request.shared.setdefault("identities", {})
    return kept_look("misfits", python.site_packages, tuple[Misfit, ...], look, where, known=known)


def _unmet(every: dict[str, Distribution], facts: dict[str, str]) -> Iterator[Misfit]:
    required = {required_name(wish) for d in every.values() for wish in d.pins}
    for its in every.values():
        if its.name in required or is_relevant(its.name) or its.name in INSTALLERS:
            continue
        for wish in its.pins:
            asked, name = parse_requirement(wish), required_name(wish)
            there = every.get(name)
            if asked is None or there is None or name in JUDGED_ELSEWHERE or is_relevant(name):
                continue
            if asked.marker and not marker_applies(asked, {**facts, "extra": ""}):
                continue
            if is_in_specifier(asked.specifier, there.version) is False and is_of_another_series(
                name, asked.specifier.split(","), there.version
            ):
                yield Misfit(
                    distribution=its.name,
                    version=its.version,
                    wanted=name,
                    specifier=asked.specifier,
                    installed=there.version,
                    location=its.location,
                )


def is_of_another_series(name: str, parts: Iterable[str], version: str) -> bool:
    """Whether a release lies outside the series that a requirement pins, or is of an older major than it asks for at least: packagers
    raise a lower bound within a major with every release. "==2.32.3" freezes what was there, "==4.8", "==4.9.*" and "~=0.19.1" mean
    a series. An upper bound alone says that newer releases were not tried; Protocol Buffers', which promise how far their generated
    code works, say more.
    """
    there = version_tuple(version)
    for part in parts:
        found = re.fullmatch(r"\s*(===?|~=|>=|>|<=?|!=)\s*v?(\d+(?:\.\d+)*)(\.\*)?\S*\s*", part)
        if found is None or not there:
            continue
        bound = version_tuple(found[2])
        if max(bound[0], there[0]) >= CALENDAR:
            continue
        exact, older = found[1] in ("==", "==="), found[1] in (">=", ">", "==", "===", "~=")
        pinned = found[1] == "~=" or (exact and (bool(found[3]) or len(bound) <= 2))
        if older and (there[0] < bound[0] or (there[0] == bound[0] == 0 and there[:2] < bound[:2])):
            return True
        if pinned and there[: min(2, len(bound))] != bound[:2]:
            return True
        if name == PROTOBUF and found[1] == "<" and there[0] > bound[0]:
            return True  # https://protobuf.dev/support/cross-version-runtime-guarantee/
    return False
