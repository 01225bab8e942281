"""Compare the files of frameworks and NVIDIA's libraries with the RECORD of their distribution; nothing runs.

People edit Python modules, so a module only has to exist, contain text, and state the recorded release if it states
one. Sizes of libraries are always compared; hashes only with --thorough, and only in environments that are examined in
full. The cuDNN probe checks cuDNN's own files there.
"""

from __future__ import annotations

import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal, NamedTuple

from msgspec.structs import replace

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.loader import read_image
from core.loader.zeros import zeroed_section
from core.model.facts import DamagedFile, Distribution, PackageRecords, PythonEnvironment, SharedFiles, path_text
from core.model.paths import normalise
from core.probes.hashing import hash_files
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import is_relevant
from core.probes.python.installed.gone_files import (
    STRIPPED_PATHS,
    Listings,
    every_distribution,
    is_named,
    list_folder,
    odd_state,
    place_of,
    unlike_files,
)
from core.probes.python.installed.shared_modules import reachable_distributions, without_files_of_others
from core.probes.sysroot import Entry, Sysroot, sysroot_of
from core.probes.wheel_record import RecordRow, installed_by_conda, read_record, record_rows, record_state

LIBRARY_PATTERN = r"\.(?:so(?:\.\d+)*|dll|pyd)\"?,"
"""The end of a library's name in a line of RECORD."""

MODULE_ROW = late_pattern(r"(?!\.\.|/|[A-Za-z]:)([^\",]*/)?([^\",/]+\.py),[^,]*,(?!0\r?$)(\d*)")
"""Folder, name and size of a non-empty Python module in a line of RECORD.

A folder without its empty ``__init__.py`` is still a package. Python recreates byte code, and nothing runs typing
stubs.
"""

VERSION_FILES = ("version.py", "_version.py", "__about__.py")
VERSION_ROW = r"(?m)^[\w.-]+/(?:version|_version|__about__)\.py,"
VERSION = late_pattern(
    rb"(?m)^(?:__version__|version|full_version)[ \t]*(?::[ \t]*str[ \t]*)?=[ \t]*[\"'](\d+(?:\.\w+)+(?:\+[\w.]+)?)[\"']"
)
"""Where a package states its own release as a literal."""

FIRST_BYTES, MAX_VERSION_BYTES, MAX_EXTENSION_BYTES = 4096, 1 << 20, 256 << 20
"""Bytes to read: of each module, of one that states a release, and of an extension module whose size differs."""

MAX_MODULES = 20
"""Maximum number of missing modules reported of one distribution; enough to show that a whole package is gone."""

MOST_GONE = 2000
"""Maximum number of missing modules of one distribution that the import follower gets."""

WITH_LIBRARIES = late_pattern(
    r"nvidia-.*|torch|torchvision|torchaudio|torch-nightly|tensorflow.*|tf-nightly.*|jaxlib|jax-cuda\d+-.*|onnxruntime.*"
    r"|ctranslate2|cupy-.*|paddlepaddle.*|mxnet.*|tensorrt.*|triton.*|numpy"
)
"""Distributions whose libraries use CUDA, and NumPy, which frameworks import."""

COMPARE_SECONDS = 1.0
"""Seconds after which remote environments are no longer compared."""

MAX_DAMAGED = 200
"""Maximum number of files kept of one environment."""


class ListedLibrary(NamedTuple):
    """A library in a distribution's RECORD."""

    what: Distribution
    path: str
    row: RecordRow


def look(request: ProbeRequest, clock: Callable[[], float] = time.monotonic) -> tuple[PackageRecords, ...]:
    """Return the comparison for every environment that has such a distribution with a RECORD."""
    where = sysroot_of(request.host)
    hashed: dict[tuple[int, int], str] = {}
    found: list[PackageRecords] = []

    def add(python: PythonEnvironment, hashed: dict[tuple[int, int], str] | None) -> None:
        for one in request.apart(lambda: (_environment(python, request, where, hashed),)):
            if one is not None:
                found.append(one)
                request.keep(one)

    for python in request.seen.pythons or ():
        add(python, hashed)
    end = clock() + COMPARE_SECONDS
    everything = request.seen.frameworks
    for python in everything.others if everything else ():
        if clock() > end:
            break
        add(python, None)
    return tuple(found)


def _environment(
    python: PythonEnvironment, request: ProbeRequest, where: Sysroot, hashed: dict[tuple[int, int], str] | None
) -> PackageRecords | None:
    """Compare one environment's libraries.

    ``hashed``: known hashes by device and inode of the file; None compares sizes only.
    """
    request.watch.check()
    modules: tuple[DamagedFile, ...] = ()
    gone: tuple[DamagedFile, ...] = ()
    if hashed is not None:
        certain = (m for m in unfit_modules(python, request, where) if m.state in ("missing", "hash differs"))
        modules = tuple(_missing_to_report(certain, python))
        unlike = unlike_files(python, request, where)
        gone = (*_missing_to_report(unlike.gone, python), *unlike.data)
    listed = list(_listed_libraries(python, where, cudnn=hashed is None))
    if not listed and not modules and not gone:
        return None
    owners = Counter(one.path for one in listed)
    mine = [one for one in listed if owners[one.path] == 1]  # Another rule reports overwritten files.
    damaged, whole = _compare_sizes(mine, where, inside=hashed is not None)
    known = {normalise(where.system, one.path) for one in listed} | {
        normalise(where.system, one.path) for one in modules
    }
    damaged += modules
    damaged += [one for one in gone if normalise(where.system, one.path) not in known]
    count = 0
    if hashed is not None and request.thorough:
        request.watch.say(_("Comparing the libraries in {prefix} with their hashes", prefix=python.prefix))
        digests = _digests([one.path for one in whole if one.row.sha256], python.prefix, request, where, hashed)
        count = len(digests)
        differ = [one for one in whole if record_state(one.row, None, digests.get(one.path, "")) == "hash differs"]
        damaged += [replace(_damaged_file(one, "hash differs"), size=one.row.size) for one in differ]
    return PackageRecords(
        prefix=python.prefix,
        packages=len({one.what.name for one in mine}),
        files=len(mine),
        hashed=count,
        damaged=tuple(damaged[:MAX_DAMAGED]),
        shared=tuple(_shared_files(one for one in listed if owners[one.path] > 1)),
    )


def _compare_sizes(
    listed: list[ListedLibrary], where: Sysroot, *, inside: bool
) -> tuple[list[DamagedFile], list[ListedLibrary]]:
    """Return the libraries that are missing or have another size than recorded, and the others; ``inside``: also those in which a look
    finds zeros that cannot be there.
    """
    names: Listings = {}
    damaged: list[DamagedFile] = []
    whole: list[ListedLibrary] = []
    for one in listed:
        seen = where.stat(one.path)
        if seen is None:
            if _is_gone(one.path, names, where):
                damaged.append(_damaged_file(one, "missing"))
        elif record_state(one.row, seen.st_size, "") == "size differs":
            header = read_image.read_image(one.path, root=where.root).state
            stripped = _is_stripped(one, seen.st_size, where)
            damaged.append(
                replace(_damaged_file(one, "size differs"), size=seen.st_size, header=header, stripped=stripped)
            )
        elif inside and zeroed_section(one.path, root=where.root):
            damaged.append(replace(_damaged_file(one, "hash differs"), size=seen.st_size, header="zeros"))
        else:
            whole.append(one)
    if any(d.state == "missing" for d in damaged):
        needers = _needers([one.path for one in whole], where)
        damaged = [replace(d, needed_by=needers.get(where.name(d.path), "")) for d in damaged]
    return damaged, whole


def _is_stripped(one: ListedLibrary, size: int, where: Sysroot) -> bool:
    """Whether ``strip`` removed symbols from an extension module: it is smaller and has no symbol table, but still loads."""
    if where.system != "linux" or size > (one.row.size or 0) or not re.search(r"\.(?:cpython|abi3)[^/]*$", one.path):
        return False
    import io  # imported late: seldom needed

    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    content = where.read(one.path, MAX_EXTENSION_BYTES) or b""
    try:
        return len(content) == size and ELFFile(io.BytesIO(content)).get_section_by_name(".symtab") is None
    except (ELFError, ValueError):
        return False


def _shared_files(listed: Iterable[ListedLibrary]) -> Iterator[SharedFiles]:
    """Yield the libraries that several distributions list, together with the names of these."""
    owners: dict[str, dict[str, str]] = {}
    for one in listed:
        owners.setdefault(one.path, {})[one.what.name] = f"{one.what.name} {one.what.version}"
    groups: dict[tuple[str, ...], list[str]] = {}
    for path, names in owners.items():
        if len(names) > 1:
            groups.setdefault(tuple(names.values()), []).append(path)
    for group, paths in groups.items():
        yield SharedFiles(distributions=group, files=len(paths), example=path_text(paths[0]))


def _listed_libraries(python: PythonEnvironment, where: Sysroot, *, cudnn: bool) -> Iterator[ListedLibrary]:
    """Yield the libraries in RECORDs, except of conda's packages, whose files conda rewrites after RECORD was written."""
    for what in reachable_distributions(python, where):
        if not WITH_LIBRARIES.fullmatch(what.name) or (what.name.startswith("nvidia-cudnn") and not cudnn):
            continue
        if installed_by_conda(what, where):
            continue
        for path, row in record_rows(what, LIBRARY_PATTERN, where).items():
            if not STRIPPED_PATHS.search(path.replace("\\", "/").removeprefix(what.location.replace("\\", "/"))):
                yield ListedLibrary(what, path, row)


def unfit_modules(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[DamagedFile, ...]:
    """Return the Python modules of an environment that differ from its RECORDs, tests included; those that are only shorter,
    or closed, among them. They are read once a scan.
    """
    known: dict[str, tuple[DamagedFile, ...]] = request.shared.setdefault("missing modules", {})
    if python.prefix not in known:
        given = tuple((d.name, d.version, d.location) for d in python.distributions)
        identities = request.shared.setdefault("identities", {})
        known[python.prefix] = kept_look(
            "modules", given, tuple[DamagedFile, ...], partial(_unfit_modules, python), where, known=identities
        )
    return known[python.prefix]


def _missing_to_report(gone: Iterable[DamagedFile], python: PythonEnvironment) -> Iterator[DamagedFile]:
    """Yield some missing files of each distribution, except those that people strip."""
    counts: Counter[str] = Counter()
    for one in gone:
        above = next((d.location for d in python.distributions if one.path.startswith(d.location)), "")
        if not STRIPPED_PATHS.search(one.path.replace("\\", "/").removeprefix(above.replace("\\", "/"))):
            counts[one.distribution] += 1
            if counts[one.distribution] <= MAX_MODULES:
                yield one


def _unfit_modules(python: PythonEnvironment, where: Sysroot) -> tuple[tuple[DamagedFile, ...], bool]:
    """Return the Python modules in RECORDs that are missing, without byte code in their place, or damaged.

    Damaged: empty, filled with zeros, or stating another release. The answer is cached until a folder, a RECORD or a
    reported file changes, so that thousands of intact modules are not examined again.
    """
    unwatched = Sysroot(system=where.system, root=where.root, planned=where.planned, gone=where.gone)
    found: list[DamagedFile] = []
    names: Listings = {}
    for what in reachable_distributions(python, where):
        if not is_relevant(what.name) or installed_by_conda(what, where):
            continue  # conda rewrites what it packs.
        folders: dict[str, dict[str, int]] = {}
        for line in read_record(what, where).split("\n"):
            if ".py," in line and (m := MODULE_ROW.match(line)):
                folders.setdefault(m[1] or "", {})[m[2]] = whole_number(m[3]) or 0
        unfit = (
            one
            for folder, its in folders.items()
            if "../" not in folder  # RECORD may name paths outside the packages' folder.
            and (there := list_folder(place := place_of(what, folder, where), names, where)) is not None
            for name, size in its.items()
            if (one := _unfit_module(what, where.join(place, name), f"{folder}{name}", size, there, unwatched))
        )
        its_own = [*itertools.islice(unfit, MOST_GONE)]
        left_out = {
            f for f in {_inner_folder(one) for one in its_own if one.with_folder} if not is_named(what, f, where)
        }
        found += [replace(one, with_folder=one.with_folder and _inner_folder(one) in left_out) for one in its_own]
        found += _closed_folders(what, folders, names, where)
    for what in every_distribution(python, where):
        if not is_relevant(what.name) and not installed_by_conda(what, where):
            found += _of_another_release(what, where)
    found = without_files_of_others(found, python.distributions, where)
    for one in found:
        where.stat(one.path)
    return tuple(found), True


def _of_another_release(what: Distribution, where: Sysroot) -> Iterator[DamagedFile]:
    """Yield the module in which a package's own start states another release than the one that is recorded."""
    for path, row in record_rows(what, VERSION_ROW, where).items():
        inner = path.removeprefix(what.location).strip("\\/").replace("\\", "/")
        there = where.entries(where.parent(path)) or {}
        one = _unfit_module(what, path, inner, row.size or 0, there, where) if where.name(path) in there else None
        if one and one.release:
            yield one


def _inner_folder(one: DamagedFile) -> str:
    """Return the folder of a file below that of the packages."""
    return one.path.removeprefix(one.location).replace("\\", "/").strip("/").rpartition("/")[0]


def _closed_folders(
    what: Distribution, folders: Iterable[str], names: Listings, where: Sysroot
) -> Iterator[DamagedFile]:
    """Yield the start of each package whose folder this user may not look into."""
    for folder in folders:
        place = place_of(what, folder, where)
        if "../" not in folder and list_folder(place, names, where) is None and where.is_folder(place):
            its = DamagedFile(path=where.join(place, "__init__.py"), distribution=what.name, version=what.version,
                              location=what.location, state="unreadable")  # fmt: skip
            if not STRIPPED_PATHS.search(folder):
                yield its


def _unfit_module(  # noqa: PLR0917 - a row of RECORD
    what: Distribution, path: str, inner: str, size: int, there: Mapping[str, Entry], where: Sysroot
) -> DamagedFile | None:
    """Return the fault of a module that was recorded with content; None if it has none."""
    name = where.name(path)
    unfit = DamagedFile(
        path=path, distribution=what.name, version=what.version, location=what.location, state="missing"
    )
    if name not in there:
        taken = not there and not where.is_folder(where.parent(path))
        return None if f"{name}c" in there else replace(unfit, with_folder=taken)
    if STRIPPED_PATHS.search(inner):
        return None
    begin = where.read(path, FIRST_BYTES)
    if begin is None:
        return replace(unfit, state="unreadable")
    if (not begin and size) or b"\0" in begin:  # a record without sizes does not say that there was a text
        return replace(unfit, state="hash differs", header="" if begin else "empty")
    if inner.count("/") == 1 and name in VERSION_FILES and (stated := VERSION.search(begin)):
        release = stated[1].decode().partition("+")[0]
        if release != what.version.partition("+")[0] and _is_altered(what, inner, where):
            return replace(unfit, state="hash differs", release=release)
    state = odd_state(there[name], size)
    return replace(unfit, state=state) if state else None


def _is_altered(what: Distribution, inner: str, where: Sysroot) -> bool:
    """Whether a module's hash differs from the recorded one."""
    import hashlib  # imported late: seldom needed

    content = where.read(where.join(what.location, *inner.split("/")), MAX_VERSION_BYTES)
    row = next(iter(record_rows(what, rf"(?m)^{re.escape(inner)},", where).values()), None)
    return bool(row and row.sha256 and content is not None and hashlib.sha256(content).hexdigest() != row.sha256)


def _is_gone(path: str, names: Listings, where: Sysroot) -> bool:
    """Whether a file really is missing: its folder can be listed and lacks it, or does not exist either."""
    there = list_folder(where.parent(path), names, where)
    return there is not None and where.name(path) not in there


def _needers(paths: Iterable[str], where: Sysroot) -> dict[str, str]:
    """Return file name -> the first library that is linked against it."""
    found: dict[str, str] = {}
    for path in paths:
        for name in read_image.read_image(path, root=where.root).needed:
            found.setdefault(name, path)
    return found


def _damaged_file(one: ListedLibrary, state: Literal["missing", "size differs", "hash differs"]) -> DamagedFile:
    return DamagedFile(
        path=one.path, distribution=one.what.name, version=one.what.version, state=state, recorded=one.row.size
    )


def _digests(
    paths: Iterable[str], prefix: str, request: ProbeRequest, where: Sysroot, known: dict[tuple[int, int], str]
) -> Mapping[str, str]:
    """Return path -> SHA-256. Files that several environments share by hard links are read once."""
    same: dict[tuple[int, int], list[str]] = {}
    for path in paths:
        seen = where.stat(path)
        if seen is not None:
            same.setdefault((seen.st_dev, seen.st_ino), []).append(path)
    new = {key: shared[0] for key, shared in same.items() if key not in known}
    found = hash_files(new.values(), where, request.watch, prefix)
    known.update((key, found[path]) for key, path in new.items() if path in found)
    return {path: known[key] for key, shared in same.items() if key in known for path in shared}
