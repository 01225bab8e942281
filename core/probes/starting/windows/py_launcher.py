r"""Which Python ``py`` starts, and a file NAME.py that Windows opens: the launcher's rules, by files alone.

After the chapter "Python Launcher for Windows" of Python's documentation (docs.python.org/3/using/windows.html): a version on the
command line; else a release that the script's first line names; else an active environment; else PY_PYTHON, then py.ini of the person and beside the
launcher; else the newest that is registered.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Mapping, Sequence

import msgspec

from core.probes.starting.machine import Ground

LAUNCHER = re.compile(r"pyw?(?:\.exe)?", re.IGNORECASE)
SCRIPT = (".py", ".pyw")
VERSION = re.compile(r"-(?:V:)?(\d)(?:\.(\d+))?(?:-(?:32|64|arm64))?")
FIRST_LINE = re.compile(r"#!\s*(/usr/bin/env\s+|/usr/bin/|/usr/local/bin/)?python(\d?)(?:\.(\d+))?\b")
"""By ``env`` PATH is searched, and so an active environment may come before."""


class Launch(msgspec.Struct, frozen=True):
    """What the launcher starts. ``path``: empty where it finds none."""

    path: str
    arguments: tuple[str, ...]


def is_launched(program: str) -> bool:
    """Whether the first word of a command line is the launcher, or a script that Windows opens with it."""
    return LAUNCHER.fullmatch(ntpath.basename(program)) is not None or program.lower().endswith(SCRIPT)


def launched_python(words: Sequence[str], variables: Mapping[str, str], folder: str, ground: Ground) -> Launch:
    """Return the Python that a command line starts whose first word ``is_launched``, started in ``folder``."""
    env = {n.upper(): v for n, v in variables.items()}
    rest = list(words if words[0].lower().endswith(SCRIPT) else words[1:])
    given = VERSION.fullmatch(rest[0]) if rest else None
    if given:
        return Launch(_newest(given[1], given[2] or "", env, ground), tuple(rest[1:]))
    script = next((w for w in rest if not w.startswith("-")), "") if rest and not rest[0].startswith("-") else ""
    script = script or next((w for w in rest if w.lower().endswith(SCRIPT)), "")
    line = (ground.read(ntpath.normpath(ntpath.join(folder, script))) or "").partition("\n")[0] if script else ""
    asked = FIRST_LINE.match(line)
    names_release = bool(asked and asked[2] and not (asked[1] or "").startswith("/usr/bin/env"))
    if (active := env.get("VIRTUAL_ENV", "")) and not names_release:
        path = ntpath.join(active, "Scripts", "python.exe")
        if ground.where.is_file(path):
            return Launch(path, tuple(rest))
    if asked and asked[2]:
        return Launch(_newest(asked[2], asked[3] or "", env, ground), tuple(rest))
    return Launch(_newest("", "", env, ground), tuple(rest))


def _newest(major: str, minor: str, env: Mapping[str, str], ground: Ground) -> str:
    """Return the newest registered Python of a version; one with a minor version must be that very one."""
    if not minor and (chosen := _preferred(major, env, ground)):
        named = re.fullmatch(r"(\d)(?:\.(\d+))?(?:-(?:32|64|arm64))?", chosen)
        major, minor = (named[1], named[2] or "") if named else (major, minor)
    best: tuple[tuple[int, int], str] = ((0, 0), "")
    for folder in ground.registered:
        version = _version(folder, ground)
        fits = version is not None and major in ("", str(version[0])) and minor in ("", str(version[1]))
        if version is not None and fits and version > best[0]:  # of two that are equal the person's comes first
            best = version, ntpath.join(folder, "python.exe")
    return best[1]


def _preferred(major: str, env: Mapping[str, str], ground: Ground) -> str:
    """Return what PY_PYTHON, or py.ini's ``python`` under [defaults], says; with a major version PY_PYTHON3 and ``python3``."""
    if value := env.get(f"PY_PYTHON{major}", "").strip():
        return value
    places = [ntpath.join(f, "py.ini") for f in (env.get("LOCALAPPDATA", ""), env.get("SYSTEMROOT", "")) if f]
    for path in places:
        text = ground.read(path) or ""
        section = re.search(r"(?ims)^\[defaults\][^\n]*\n(.*?)(?=^\[|\Z)", text)
        found = re.search(rf"(?im)^[ \t]*python{major}[ \t]*=[ \t]*([\w.-]+)", section[1]) if section else None
        if found:
            return found[1]
    return ""


def _version(folder: str, ground: Ground) -> tuple[int, int] | None:
    """Return the version of an installed Python, by its DLL; None for conda's, which the launcher does not start unasked."""
    names = [n.lower() for n in ground.around.names(folder)]
    found = next((m for n in names if (m := re.fullmatch(r"python(3)(\d+)\.dll", n))), None)
    return (int(found[1]), int(found[2])) if found and "conda-meta" not in names else None
