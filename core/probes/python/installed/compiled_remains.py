"""Compiled modules that no installed release brought, beside a recorded module of the same name: Python takes the compiled one.

A package's release with compiled modules (mypyc, Cython) leaves them where a release without them is unpacked over it, or where the
files of two releases are copied together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from core.model.facts import Distribution, LeftModule, PythonEnvironment, path_text
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.gone_files import every_distribution
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import installed_by_conda, read_record

MOST_FOLDERS = 40
"""Folders of one distribution that are listed."""


def compiled_remains(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> tuple[LeftModule, ...]:
    """Return the compiled modules of an environment that hide a module of the installed release."""
    if python.kind in ("conda", "system") or python.managed:
        return ()  # conda and Linux distributions change what a RECORD lists.
    known = request.shared.setdefault("identities", {})
    look = partial(_compiled_remains, python)
    return kept_look("compiled remains", (python.site_packages, python.version), tuple[LeftModule, ...], look, where, known=known)  # fmt: skip


def _compiled_remains(python: PythonEnvironment, where: Sysroot) -> tuple[tuple[LeftModule, ...], bool]:
    every = [d for d in every_distribution(python, where) if not d.name.startswith("nvidia-")]
    fits = re.compile(_fitting(python.version, where.system))
    found = [one for what in every for one in _of_distribution(what, fits, where)]
    if not found:
        return (), True
    records = [read_record(d, where) for d in every]
    own = [one for one in found if not any(f"{_inner(one, where)}," in record for record in records)]
    return tuple(one for one in own if not installed_by_conda(_owner(one, every), where)), True


def _fitting(version: str, system: str) -> str:
    """Return the pattern of a compiled module's file that this Python takes (importlib.machinery.EXTENSION_SUFFIXES)."""
    digits = "".join(version.split(".")[:2])
    return (
        rf"(\w+)\.(?:cp{digits}-win_\w+\.)?pyd"
        if system == "windows"
        else rf"(\w+)\.(?:cpython-{digits}-[\w-]+\.|abi3\.)?so"
    )


def _of_distribution(what: Distribution, fits: re.Pattern[str], where: Sysroot) -> Iterator[LeftModule]:
    record = read_record(what, where)
    folders: dict[str, set[str]] = {}
    for folder, stem in re.findall(r"(?m)^((?:[\w-]+/)+)(\w+)\.py,", record):
        folders.setdefault(folder, set()).add(stem)
    for folder, stems in list(folders.items())[:MOST_FOLDERS]:
        place = where.join(what.location, *folder.strip("/").split("/"))
        for name in where.names(place) or ():
            its = fits.fullmatch(name)
            if its and its[1] in stems and f"{folder}{name}," not in record:
                yield LeftModule(
                    path=path_text(where.join(place, name)),
                    hides=path_text(where.join(place, f"{its[1]}.py")),
                    distribution=what.name,
                    version=what.version,
                )


def _inner(one: LeftModule, where: Sysroot) -> str:
    """Return a file's path as RECORDs write it, from the package on."""
    parts = one.path.replace("\\", "/").split("/")
    start = max((n for n, part in enumerate(parts) if part in ("site-packages", "dist-packages")), default=-1)
    return "/".join(parts[start + 1 :]) if start >= 0 else where.name(one.path)


def _owner(one: LeftModule, every: list[Distribution]) -> Distribution:
    return next(d for d in every if (d.name, d.version) == (one.distribution, one.version))
