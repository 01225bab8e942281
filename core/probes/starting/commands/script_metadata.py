"""Programs with metadata of their own (PEP 723): ``uv run`` gives each an environment with what its metadata list, and nothing else.

Sources: PEP 723, "Specification"; uv's documentation, "Running scripts".
"""

from __future__ import annotations

import posixpath
import re

from core.common.late_pattern import late_pattern
from core.probes.python.installed.distributions import required_name
from core.probes.sysroot import Sysroot

_BLOCK = late_pattern(r"(?m)^# /// script$\n((?:^#(?:| .*)$\n)+?)^# ///$")
MOST_PROGRAM = 1 << 18


def own_requirements(words: list[str], folder: str, where: Sysroot) -> tuple[str, tuple[str, ...]] | None:
    """Return the program that ``uv run`` is given by these words, and the names of what its metadata list; None where it has none."""
    if words[:1] != ["run"]:
        return None
    rest = words[1:]
    number = next(
        (n for n, w in enumerate(rest) if w.endswith(".py") or (n and rest[n - 1] in ("--script", "-s"))), None
    )
    if number is None or any(re.match(r"python|-m$|--module$", posixpath.basename(w)) for w in rest[:number]):
        return None
    path = where.path_module.normpath(where.path_module.join(folder, rest[number]))
    listed = metadata_of(where.text(path, MOST_PROGRAM) or "") if where.is_file(path) else None
    if listed is None:
        return None
    beside = [w.partition("=")[2] or rest[n + 1] for n, w in enumerate(rest[:number]) if re.match(r"--with(?:=|$)", w)]
    return path, tuple(required_name(w) for w in (*listed, *(w for one in beside for w in one.split(","))))


def metadata_of(text: str) -> tuple[str, ...] | None:
    """Return the requirements in a program's metadata; None where it has no metadata, or where they cannot be read."""
    found = _BLOCK.search(text)
    if found is None:
        return None
    import tomllib  # imported late: few programs have metadata

    try:
        told = tomllib.loads("\n".join(row[2:] for row in found[1].splitlines())).get("dependencies", [])
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else None
