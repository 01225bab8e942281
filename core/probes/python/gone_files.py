"""Files that a distribution's RECORD lists and that are missing: modules, shared libraries, programs inside the
package.

Only folders are listed. For a complete package only its upper folders and those with libraries are, so that hundreds of
distributions cost milliseconds; for an incomplete one, all its folders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from core.common.late_pattern import late_pattern
from core.model.facts import DamagedFile, Distribution, PythonEnvironment
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.distributions import normalise_name
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record

STRIPPED_PATHS = late_pattern(
    r"(?:^|/)(?:tests?|testing|_?test_?data|examples?|benchmarks?|include)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|_tests?\.(?:cpython|cp|abi)[^/]*$"
)
"""Paths that people strip from images and that few programs need.

If an import needs one, following that import reports it.
"""

DIST_INFO = late_pattern(r"([A-Za-z0-9][\w.]*)-([^-]+)\.dist-info")

FILE_ROW = late_pattern(
    r"(?m)^(?!\.\.|/|[A-Za-z]:)((?:[^\",\n/]+/)*)(\w+\.py|[^\",\n/]+\.(?:so(?:\.\d+)*|pyd|dll)|(?<=/bin/)[^\",\n/.]+),[^,\n]*,(?!0\r?$)"
)
"""Folder and name in a line of RECORD, for a non-empty file that is a module, a library or a program in the package's
``bin``.
"""

UPPER_LEVELS = 2
"""Levels of a package's folders that are always listed: a package that lost random files lost some there."""

MOST_GONE = 2000
"""Maximum number of missing files kept of one distribution."""


def gone_files(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[DamagedFile, ...]:
    """Return the missing files of an environment's distributions.

    The answer is cached until a folder changes.
    """
    known: dict[str, tuple[DamagedFile, ...]] = request.shared.setdefault("gone files", {})
    if python.prefix not in known:
        known[python.prefix] = kept_look(
            "gone",
            (where.system, python.site_packages, python.kind, python.managed),
            tuple[DamagedFile, ...],
            partial(_gone_files, python),
            where,
            known=request.shared.setdefault("identities", {}),
        )
    return known[python.prefix]


def every_distribution(python: PythonEnvironment, where: Sysroot) -> Iterator[Distribution]:
    """Yield all distributions of an environment, the first of each name.

    A name that one folder contains twice is left out: an update was interrupted.
    """
    known: set[str] = set()
    for folder in python.site_packages:
        spelt = [m for n in where.names(folder) or () if n.endswith(".dist-info") and (m := DIST_INFO.fullmatch(n))]
        counts = Counter(normalise_name(m[1]) for m in spelt)
        for m in spelt:
            name = normalise_name(m[1])
            if name not in known and counts[name] == 1:
                yield Distribution(name=name, version=m[2], location=folder)
        known |= set(counts)


def _gone_files(python: PythonEnvironment, where: Sysroot) -> tuple[tuple[DamagedFile, ...], bool]:
    if python.kind in ("conda", "system") or python.managed:
        # conda rewrites what it packs, and Linux distributions split what a RECORD lists among their packages.
        return (), True
    found: list[DamagedFile] = []
    names: dict[str, frozenset[str] | None] = {}
    for what in every_distribution(python, where):
        found += list(_of_distribution(what, names, where))[:MOST_GONE]
    return tuple(found), True


def _of_distribution(
    what: Distribution, names: dict[str, frozenset[str] | None], where: Sysroot
) -> Iterator[DamagedFile]:
    folders: dict[str, list[str]] = {}
    for folder, name in FILE_ROW.findall(read_record(what, where)):
        folders.setdefault(folder, []).append(name)
    first = {f: n for f, n in folders.items() if f.count("/") <= UPPER_LEVELS or not all(i.endswith(".py") for i in n)}
    if not any(_missing_names(what, f, n, names, where) for f, n in first.items()):
        return
    for folder, its in folders.items():
        place = place_of(what, folder, where)
        lacking = _missing_names(what, folder, its, names, where)
        removed = bool(lacking) and not listing(place, names, where) and not where.is_folder(place)
        for name in lacking:
            yield DamagedFile(
                path=where.join(place, name),
                distribution=what.name,
                version=what.version,
                location=what.location,
                state="missing",
                with_folder=removed,
            )


def _missing_names(
    what: Distribution, folder: str, its: list[str], names: dict[str, frozenset[str] | None], where: Sysroot
) -> list[str]:
    """Return the names that are missing from a folder, except those that people strip."""
    if "../" in folder or STRIPPED_PATHS.search(folder):
        return []  # RECORD may name paths outside the packages' folder.
    there = listing(place_of(what, folder, where), names, where)
    if there is None or there.issuperset(its):
        return []
    other = _OTHER_SYSTEMS if where.system == "linux" else (".so",)
    return [
        n
        for n in its
        if n not in there
        and not (n.endswith(".py") and f"{n}c" in there)
        and not n.endswith(other)
        and not STRIPPED_PATHS.search(n)
    ]


_OTHER_SYSTEMS = (".dll", ".pyd")


def place_of(what: Distribution, folder: str, where: Sysroot) -> str:
    """Return a folder of a RECORD as a path of the examined system."""
    return str(where.path_module.normpath(where.join(what.location, folder))) if folder else what.location


def listing(folder: str, names: dict[str, frozenset[str] | None], where: Sysroot) -> frozenset[str] | None:
    """Return the names in a folder, an empty set if it does not exist; None if it cannot be listed."""
    if folder not in names:
        there = where.names(folder)
        names[folder] = None if there is None and where.is_folder(folder) else frozenset(there or ())
    return names[folder]


def module_stem(path: str) -> str:
    """Return the path of a module's file without its tags and suffix, which is the name that an import uses."""
    folder, slash, name = path.replace("\\", "/").rpartition("/")
    return folder + slash + name.partition(".")[0]
