"""Packages compiled with NumPy 1's headers, which NumPy 2 refuses: found by the names in their binaries.

import_array of NumPy 1 asks for numpy.core._multiarray_umath. That of NumPy 2 asks for numpy._core._multiarray_umath
first, then for the old name (numpy/__multiarray_api.h of 1.26 and 2.0). NumPy 2 has no _ARRAY_API under the old name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from core.common.versions import version_tuple
from core.loader.earlier_reads import cached_by_file
from core.loader.files import path_under_root
from core.model.facts import BuiltForNumpy1, Distribution, path_text
from core.probes.kept_looks import kept_look
from core.probes.python.gone_files import STRIPPED_PATHS
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows

OLD, NEW = b"numpy.core._multiarray_umath", b"numpy._core._multiarray_umath"
MAX_MODULE_BYTES = 128 << 20
MODULES_OF_ONE = 8
"""Modules of one package that are read until one gives the answer: one build makes all of them."""


@cached_by_file
def numpy_of_module(path: str | os.PathLike[str], *, root: str | os.PathLike[str] = "/") -> int | None:
    """Return the major version of NumPy, 1 or 2, whose headers a module was built with; 0 if it names none, None if
    unreadable.
    """
    import mmap  # imported late: few packages use NumPy's C interface

    try:
        with open(path_under_root(root, os.fspath(path)), "rb") as stream:  # noqa: PTH123  # a path of another root
            if not 0 < os.fstat(stream.fileno()).st_size <= MAX_MODULE_BYTES:
                return 0
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                if content.find(NEW) >= 0:
                    return 2
                return 1 if content.find(OLD) >= 0 else 0
    except (OSError, ValueError):
        return None


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
        what
        for what in {d.name: d for d in reversed(distributions)}.values()
        if what is not numpy and any(re.match(r"numpy(?![\w.-])", wish) for wish in what.pins)
    )

    def look(watched: Sysroot) -> tuple[tuple[BuiltForNumpy1, ...], bool]:
        return tuple(_built_for_numpy_1(wishing, watched)), True

    given = tuple((d.name, d.version, d.location) for d in wishing)
    return kept_look("numpy", given, tuple[BuiltForNumpy1, ...], look, where, known=known)


def _built_for_numpy_1(wishing: tuple[Distribution, ...], where: Sysroot) -> Iterator[BuiltForNumpy1]:
    for what in wishing:
        rows = record_rows(what, r"\.(?:cpython-\d+-[\w-]+|abi3)\.so,", where)
        modules = [p for p in rows if not STRIPPED_PATHS.search(p.removeprefix(what.location))]
        sizes = {p: seen.st_size for p in modules if (seen := where.stat(p))}
        for path in sorted(sizes, key=lambda p: sizes[p])[-MODULES_OF_ONE:]:
            built = numpy_of_module(path, root=where.root)
            if built == 1:
                yield BuiltForNumpy1(distribution=what.name, version=what.version, path=path_text(path))
            if built:
                break
