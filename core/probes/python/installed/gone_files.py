"""Files that a distribution's RECORD lists and that are missing, links to nothing included: modules, shared libraries, programs
inside the package. And modules that are there and may give nothing: shorter than recorded, or closed to this user.

Only folders are listed. For a complete package only its upper folders and those with libraries are, so that hundreds of
distributions cost milliseconds; for an incomplete one, all its folders.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Literal, NamedTuple

from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.model.facts import DamagedFile, Distribution, PythonEnvironment
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import normalise_name, of_egg
from core.probes.python.installed.shared_modules import without_files_of_others
from core.probes.sysroot import Entry, Sysroot
from core.probes.wheel_record import read_record

STRIPPED_PATHS = late_pattern(
    r"(?:^|/)(?:tests?|testing|_?test_?data|examples?|benchmarks?|include)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|_tests?\.(?:cpython|cp|abi)[^/]*$"
)
"""Paths that people strip from images and that few programs need.

If an import needs one, following that import reports it.
"""

DIST_INFO = late_pattern(r"([A-Za-z0-9][\w.]*)-([^-]+)\.dist-info")

FILE_ROW = late_pattern(
    r"(?!\.\.|/|[A-Za-z]:)((?:[^\",\n/]++/)*+)(\w+\.py|[^\",\n/]+\.(?:so(?:\.\d+)*|pyd|dll)|(?<=/bin/)[^\",\n/.]+|[^\",\n/]+\.(?:pem|json|ya?ml|txt|np[yz]|dat|model|onnx)),[^,\n]*,(?!0\r?$)(\d*)"
)
"""Folder, name and size in a line of RECORD, for a non-empty file that is a module, a library, data, or a program in the package's ``bin``."""

DATA = (".pem", ".json", ".yaml", ".yml", ".txt", ".npy", ".npz", ".dat", ".model", ".onnx")
"""What code opens by name. Most packages work without most of theirs: only what a module beside it names counts."""

MAX_TEXT_BYTES = 256 << 10
"""Bytes read of a module that may name a data file."""

OddState = Literal["size differs", "unreadable"]

UPPER_LEVELS = 2
"""Levels of a package's folders that are always listed: a package that lost random files lost some there."""

MOST_GONE = 2000
"""Maximum number of missing files kept of one distribution."""


Listings = dict[str, Mapping[str, Entry] | None]
"""Folder -> what is in it."""


class Unlike(NamedTuple):
    """What differs from the RECORDs of an environment."""

    gone: tuple[DamagedFile, ...] = ()
    odd: tuple[DamagedFile, ...] = ()
    """Modules that are there and may give nothing. People edit modules: an import shows which of these are at fault."""
    data: tuple[DamagedFile, ...] = ()
    """Data that are missing or empty, and that a module beside them or in the folder above names."""


def unlike_files(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Unlike:
    """Return the missing files and the odd modules of an environment's distributions.

    The answer is cached until a folder or a reported file changes.
    """
    known: dict[str, Unlike] = request.shared.setdefault("gone files", {})
    if python.prefix not in known:
        known[python.prefix] = kept_look(
            "gone",
            (where.system, python.site_packages, python.kind, python.managed),
            Unlike,
            partial(_unlike_files, python),
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
        if folder.endswith(".egg"):
            eggs = [d for d in of_egg(folder, where) if d.name not in known]
            known |= {d.name for d in eggs}
            yield from eggs
            continue
        spelt = [m for n in where.names(folder) or () if n.endswith(".dist-info") and (m := DIST_INFO.fullmatch(n))]
        counts = Counter(normalise_name(m[1]) for m in spelt)
        for m in spelt:
            name = normalise_name(m[1])
            if name not in known and counts[name] == 1:
                yield Distribution(name=name, version=m[2], location=folder)
        known |= set(counts)


def _unlike_files(python: PythonEnvironment, where: Sysroot) -> tuple[Unlike, bool]:
    if python.kind in ("conda", "system") or python.managed:
        # conda rewrites what it packs, and Linux distributions split what a RECORD lists among their packages.
        return Unlike(), True
    gone: list[DamagedFile] = []
    odd: list[DamagedFile] = []
    data: list[DamagedFile] = []
    listings: Listings = {}
    for what in every_distribution(python, where):
        folders: dict[str, dict[str, int]] = {}
        opened: dict[str, dict[str, int]] = {}
        for folder, name, size in _file_rows(read_record(what, where)):
            its = opened if name.endswith(DATA) else folders
            its.setdefault(folder, {})[name] = whole_number(size) or 0
        its_gone, its_odd = _of_distribution(what, folders, listings, where)
        gone += its_gone[:MOST_GONE]
        odd += its_odd[:MOST_GONE]
        data += _data_of_distribution(what, {f: n for f, n in opened.items() if f in folders}, listings, where)
    odd = without_files_of_others(odd, every_distribution(python, where), where)
    for one in (*odd, *data):
        where.stat(one.path)
    return Unlike(tuple(gone), tuple(odd), tuple(data)), True


def _file_rows(record: str) -> Iterator[tuple[str, str, str]]:
    """Yield folder, name and size of each file that FILE_ROW is about."""
    for line in record.split("\n"):  # a pattern that begins with ^ is tried at every letter
        if row := FILE_ROW.match(line):
            yield row[1], row[2], row[3]


def _data_of_distribution(
    what: Distribution, folders: Mapping[str, Mapping[str, int]], listings: Listings, where: Sysroot
) -> Iterator[DamagedFile]:
    """Yield the data beside the modules of a distribution's upper folders that are missing or empty and that such a module names."""
    for folder, its in folders.items():
        if folder.count("/") > UPPER_LEVELS or not folder or "../" in folder or STRIPPED_PATHS.search(folder):
            continue
        place = place_of(what, folder, where)
        there = list_folder(place, listings, where) or {}
        for name in [n for n in its if there and (n not in there or not there[n].size)]:
            if asker := next(_naming(name, (place, where.parent(place)), what, where), ""):
                yield DamagedFile(
                    path=where.join(place, name),
                    distribution=what.name,
                    version=what.version,
                    location=what.location,
                    state="size differs" if name in there else "missing",
                    header="empty" if name in there else "",
                    size=0 if name in there else None,
                    recorded=its[name],
                    needed_by=asker,
                )


def _naming(name: str, folders: Iterable[str], what: Distribution, where: Sysroot) -> Iterator[str]:
    """Yield the modules in some folders of a distribution that contain the name of a file as the end of a string."""
    spelt = re.compile(rf"\b{re.escape(name)}[\"']")
    for folder in folders:
        for one in where.names(folder) or () if len(folder) > len(what.location) else ():
            path = where.join(folder, one)
            if one.endswith(".py") and spelt.search(where.text(path, MAX_TEXT_BYTES) or ""):
                yield path


def _of_distribution(
    what: Distribution, folders: Mapping[str, Mapping[str, int]], listings: Listings, where: Sysroot
) -> tuple[list[DamagedFile], list[DamagedFile]]:
    """Return the missing files of a distribution, and its odd modules."""
    first = {f: n for f, n in folders.items() if f.count("/") <= UPPER_LEVELS or not all(i.endswith(".py") for i in n)}
    if not any(
        _missing_names(what, f, n, listings, where) or _odd_names(what, f, n, listings, where) for f, n in first.items()
    ):
        return [], []
    gone: list[DamagedFile] = []
    odd: list[DamagedFile] = []
    for folder, its in folders.items():
        place = place_of(what, folder, where)
        lacking = _missing_names(what, folder, its, listings, where)
        removed = bool(lacking) and not list_folder(place, listings, where) and not where.is_folder(place)
        removed = removed and not is_named(what, folder, where)
        begun = partial(DamagedFile, distribution=what.name, version=what.version, location=what.location)
        gone += [begun(path=where.join(place, n), state="missing", with_folder=removed) for n in lacking]
        odd += [begun(path=where.join(place, n), state=s) for n, s in _odd_names(what, folder, its, listings, where)]
    return gone, odd


def is_named(what: Distribution, folder: str, where: Sysroot) -> bool:
    """Whether a package's own start lists a sub-package whose folder is gone among those that it imports when they are first used
    (transformers' _import_structure): then nobody left it out on purpose.
    """
    parts = folder.strip("/").split("/")
    number = next(
        (n for n in range(1, len(parts)) if not where.is_folder(place_of(what, "/".join(parts[: n + 1]), where))), 0
    )
    text = (
        where.text(where.join(place_of(what, "/".join(parts[:number]), where), "__init__.py"), MAX_TEXT_BYTES)
        if number
        else ""
    )
    return bool(text) and bool(re.search(rf"[\"']{re.escape(parts[number])}(?:\.\w+)*[\"']\s*:\s*\[", text or ""))


def _missing_names(
    what: Distribution, folder: str, its: Mapping[str, int], listings: Listings, where: Sysroot
) -> list[str]:
    """Return the names that are missing from a folder, except those that people strip."""
    if "../" in folder or STRIPPED_PATHS.search(folder):
        return []  # RECORD may name paths outside the packages' folder.
    there = list_folder(place_of(what, folder, where), listings, where)
    if there is None or there.keys() >= its.keys():
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


def _odd_names(
    what: Distribution, folder: str, its: Mapping[str, int], listings: Listings, where: Sysroot
) -> list[tuple[str, OddState]]:
    """Return the modules in a folder that may give nothing, with the reason; of a closed folder its start alone."""
    if "../" in folder or STRIPPED_PATHS.search(folder):
        return []
    place = place_of(what, folder, where)
    there = list_folder(place, listings, where)
    if there is None:
        return [("__init__.py", "unreadable")] if folder and where.is_folder(place) else []
    return [(n, s) for n, size in its.items() if n.endswith(".py") and n in there and (s := odd_state(there[n], size))]


def odd_state(seen: Entry, recorded: int) -> OddState | None:
    """Return why a module may give nothing; None where nothing shows that."""
    if seen.closed:
        return "unreadable"
    return "size differs" if seen.size < recorded else None


_OTHER_SYSTEMS = (".dll", ".pyd")


def place_of(what: Distribution, folder: str, where: Sysroot) -> str:
    """Return a folder of a RECORD as a path of the examined system."""
    return str(where.path_module.normpath(where.join(what.location, folder))) if folder else what.location


def list_folder(folder: str, listings: Listings, where: Sysroot) -> Mapping[str, Entry] | None:
    """Return what is in a folder, nothing if it does not exist; None if it cannot be listed."""
    if folder not in listings:
        listings[folder] = where.entries(folder)
    return listings[folder]


def module_stem(path: str) -> str:
    """Return the path of a module's file without its tags and suffix, which is the name that an import uses."""
    folder, slash, name = path.replace("\\", "/").rpartition("/")
    return folder + slash + name.partition(".")[0]
