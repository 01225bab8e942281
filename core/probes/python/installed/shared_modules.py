"""Modules that several packages bring: of one file, the package that was installed last has it; of two folders, the first on
sys.path.

Many of NVIDIA's wheels bring an ``nvidia/__init__.py``, most an empty one, some one with a licence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.common.versions import whole_number
from core.knowledge.modules import module_of
from core.model.facts import DamagedFile, Distribution, PythonEnvironment
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import read_record


def reachable_distributions(python: PythonEnvironment, where: Sysroot) -> Iterator[Distribution]:
    """Yield the distributions without those that Python imports nothing from: one of the same name, with its package, comes before.

    NVIDIA's are left in: their folders are portions of one namespace, and the loader takes libraries from beside the framework.
    """
    first: dict[str, Distribution] = {}
    for what in python.distributions:
        before = first.setdefault(what.name, what)
        hidden = before.location != what.location and where.is_file(
            where.join(before.location, module_of(what.name), "__init__.py")
        )
        if not hidden or what.name.startswith("nvidia-"):
            yield what


def without_files_of_others(
    found: Iterable[DamagedFile], distributions: Iterable[Distribution], where: Sysroot
) -> list[DamagedFile]:
    """Return the modules without those that are shorter than one package recorded, and as long as another one did."""
    listed = list(found)
    sizes: dict[str, int] = {}
    for one in listed:
        if one.header == "empty" or one.state == "size differs":
            seen = where.stat(one.path)
            if seen is not None:
                sizes[one.path] = seen.st_size
    if not sizes:
        return listed
    right = recorded_so(sizes, distributions, where)
    return [one for one in listed if one.path not in right]


def recorded_so(sizes: dict[str, int], distributions: Iterable[Distribution], where: Sysroot) -> set[str]:
    """Return the files of which a RECORD says that they have this many bytes."""
    right: set[str] = set()
    sep = where.path_module.sep
    for what in distributions:
        inside = [p for p in sizes if p not in right and p.startswith(what.location + sep)]
        record = read_record(what, where) if inside else ""
        for path in inside:
            inner = path.removeprefix(what.location + sep).replace(sep, "/")
            rows = re.finditer(rf"(?m)^{re.escape(inner)},[^\n]*,(\d{{1,12}})\r?$", record) if inner in record else ()
            if any(whole_number(row[1]) == sizes[path] for row in rows):
                right.add(path)
    return right
