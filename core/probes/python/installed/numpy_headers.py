"""Packages compiled with NumPy 1's headers, which NumPy 2 refuses: found by the names in their binaries.

import_array of NumPy 1 asks for numpy.core._multiarray_umath. That of NumPy 2 asks for numpy._core._multiarray_umath
first, then for the old name (numpy/__multiarray_api.h of 1.26 and 2.0). NumPy 2 has no _ARRAY_API under the old name.

A module of Cython that only uses NumPy's types never calls import_array. It compares their sizes as it is loaded, and
those of NumPy 1 are greater: "numpy.dtype size changed". What it shows is a sentence of numpy/__init__.pxd, which may be
older than the headers that it was compiled with. So it counts only for a package that refuses this NumPy itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from core.common.requirements import is_in_specifier, parse_requirement
from core.common.versions import version_tuple
from core.loader.earlier_reads import cached_by_file
from core.loader.files import MAX_READ_BYTES, UnfitError, open_source, path_under_root
from core.model.facts import BuiltForNumpy1, Distribution, path_text
from core.probes.kept_looks import kept_look
from core.probes.python.installed.gone_files import STRIPPED_PATHS
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows

OLD, NEW = b"numpy.core._multiarray_umath", b"numpy._core._multiarray_umath"
OLD_TYPES, NEW_TYPES = b"numpy.core.multiarray failed to import", b"numpy._core.multiarray failed to import"
"""What numpy/__init__.pxd of 1.26 and of 2.0 leaves in each module that uses NumPy's types."""
COMPARES = b"size changed, may indicate binary incompatibility"
MAX_MODULE_BYTES = 128 << 20
MODULES_OF_ONE = 8
"""Modules of one package that are read until one gives the answer: one build makes all of them."""


@cached_by_file
def numpy_of_module(path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/") -> int | None:
    """Return the major version of NumPy, 1 or 2, whose headers a module was built with; 0 if it names none, None if unreadable."""
    named = _words_in_file((OLD, NEW), path, root)
    return None if named is None else 2 if NEW in named else 1 if OLD in named else 0


@cached_by_file
def has_types_of_numpy_1(path: str | os.PathLike[str], *, root: str | os.PathLike[str]) -> bool | None:
    """Return whether a module of Cython compares the sizes of NumPy 1's types; None if unreadable."""
    named = _words_in_file((OLD_TYPES, NEW_TYPES, NEW, COMPARES), path, root)
    return None if named is None else named == {OLD_TYPES, COMPARES}


def _words_in_file(
    wanted: tuple[bytes, ...], path: str | os.PathLike[str], root: str | os.PathLike[str]
) -> set[bytes] | None:
    """Return which of these a file contains; none for one that is too big, None if unreadable."""
    found: set[bytes] = set()
    before = b""
    try:
        with open_source(path_under_root(root, os.fspath(path))) as source:
            for offset in range(0, source.size if source.size <= MAX_MODULE_BYTES else 0, MAX_READ_BYTES):
                part = before + source.read(offset, MAX_READ_BYTES)
                found |= {one for one in wanted if one in part}
                before = part[-max(map(len, wanted)) :]
    except UnfitError as error:
        return set() if error.state == "empty" else None
    except ValueError:
        return None
    return found


def built_for_numpy_1(
    distributions: tuple[Distribution, ...], where: Sysroot, known: dict[str, str] | None = None
) -> tuple[BuiltForNumpy1, ...]:
    """Return the packages that were built for NumPy 1 although NumPy 2 is installed.

    ``known``: see ``kept_look``.
    """
    numpy = next((d for d in distributions if d.name == "numpy"), None)
    if numpy is None or version_tuple(numpy.version)[:1] < (2,):
        return ()
    wishing = tuple(
        what for what in {d.name: d for d in reversed(distributions)}.values() if what is not numpy and _wishes(what)
    )
    refusing = frozenset(what.name for what in wishing if _refuses(what, numpy.version))

    def look(watched: Sysroot) -> tuple[tuple[BuiltForNumpy1, ...], bool]:
        return tuple(_built_for_numpy_1(wishing, refusing, watched)), True

    given = tuple((d.name, d.version, d.location, d.name in refusing) for d in wishing)
    return kept_look("numpy", given, tuple[BuiltForNumpy1, ...], look, where, known=known)


def _wishes(what: Distribution) -> list[str]:
    return [wish for wish in what.pins if re.match(r"numpy(?![\w.-])", wish)]


def _refuses(what: Distribution, version: str) -> bool:
    """Whether each line about NumPy excludes a release, whatever Python or system it is for."""
    asked = [parse_requirement(wish) for wish in _wishes(what)]
    return all(one is not None and is_in_specifier(one.specifier, version) is False for one in asked)


def _built_for_numpy_1(
    wishing: tuple[Distribution, ...], refusing: frozenset[str], where: Sysroot
) -> Iterator[BuiltForNumpy1]:
    for what in wishing:
        rows = record_rows(what, r"\.(?:(?:cpython-\d+-[\w-]+|abi3)\.so|pyd),", where)
        modules = [p for p in rows if not STRIPPED_PATHS.search(p.removeprefix(what.location))]
        sizes = {p: seen.st_size for p in modules if (seen := where.stat(p))}
        for path in sorted(sizes, key=lambda p: sizes[p])[-MODULES_OF_ONE:]:
            built = numpy_of_module(path, root=where.root)
            if not built and what.name in refusing and has_types_of_numpy_1(path, root=where.root):
                built = 1
            if built == 1:
                yield BuiltForNumpy1(distribution=what.name, version=what.version, path=path_text(path))
            if built:
                break
