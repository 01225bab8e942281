"""Variables that ``module load`` sets: reads files of Environment Modules (Tcl) and Lmod (Lua) found on MODULEPATH.

After modulefile(4), module(1) and Lmod's documentation, "An Introduction to Writing Modulefiles". The result of a
function is unknown, and so is then the variable.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from core.common.late_pattern import late_pattern
from core.host.startup.state import UNKNOWN, State, Surroundings, fill

_LINE = late_pattern(
    r"\s*(?:(prepend|append)[-_]path|(setenv|pushenv)|(unsetenv))\s*(?:\(\s*)?(?:--?\w+\s+)*[\"']?(\w+)[\"']?\s*,?\s*(.*)"
)
_SET = late_pattern(r"\s*(?:set\s+(\w+)\s+(\S.*)|(?:local\s+)?(\w+)\s*=\s*(.+))")
LOADING = ("load", "add", "try-load", "switch", "swap")


def load_modules(words: list[str], around: Surroundings, state: State) -> None:
    """Apply ``module`` with these words to ``state``; only loading has an effect."""
    request, names = words[0], words[1:]
    for name in [n for n in names if not n.startswith("-")] if request in LOADING else ():
        path = find_module(name, around, state.values.get("MODULEPATH", ""))
        if path and (text := around.read(path)) is not None:
            read_module(text, path, state)


_OF_MODULES = ("MODULEPATH", "MODULESHOME", "LMOD_CMD", "BASH_ENV")
_SETS_UP = re.compile(r"modul|lmod", re.IGNORECASE)


def has_modules(around: Surroundings, values: Mapping[str, str]) -> bool:
    """Whether anything may give shells the command ``module``: a variable, a function handed on, or a file of the login shells."""
    told = any(values.get(n) for n in _OF_MODULES) or any(n.startswith("BASH_FUNC_m") for n in values)
    return told or any(_SETS_UP.search(n) for n in around.names("/etc/profile.d"))


def find_module(name: str, around: Surroundings, places: str) -> str:
    """Return the file of a module: of several releases the default one, else the last by name; empty if there is none."""
    for place in places.split(":"):
        base = posixpath.join(place, name)
        for path in (base, f"{base}.lua"):
            if place and around.kind(path) == "file":
                return path
        if place and around.kind(base) == "folder":
            told = re.search(r"ModulesVersion\s+\"?([^\"\s]+)", around.read(f"{base}/.version") or "")
            names = [n for n in around.names(base) if not n.startswith(".")]
            wanted = (told[1], f"{told[1]}.lua") if told else ()
            found = next((n for n in names if n in wanted), names[-1] if names else "")
            if found:
                return f"{base}/{found}"
    return ""


def read_module(text: str, path: str, state: State) -> None:
    """Apply what a module's file sets to ``state``."""
    state.files.append(path)
    known: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()  # Removed first: a pattern that skips trailing blanks would try each of them.
        if bare.startswith(("#", "--")):
            continue
        if found := _LINE.fullmatch(bare):
            _apply(found, number, path, state, known)
        elif found := _SET.fullmatch(bare):
            known[found[1] or found[3]] = _value(found[2] or found[4], known, state, tcl=bool(found[1]))


def _apply(found: re.Match[str], number: int, path: str, state: State, known: dict[str, str]) -> None:
    joins, _sets, unsets, name, raw = found.groups()
    if unsets:
        state.unset_variable(name, path, number, "posix")
        return
    lua = "(" in found[0].partition(name)[0]
    value = _value(raw.removesuffix(")") if lua else raw, known, state, tcl=not lua)
    old = state.values.get(name, "")
    if joins and old:
        value = f"{value}:{old}" if joins == "prepend" else f"{old}:{value}"
    state.export_variable(name, value, path, number, "posix")


def _value(raw: str, known: dict[str, str], state: State, *, tcl: bool) -> str:
    """Return the value of an expression on one line."""
    if tcl:
        bare = raw.strip().strip("\"'{}")
        bare = fill(r"\$(?:::)?env\((\w+)\)", lambda m: state.values.get(m[1], ""), bare)
        bare = fill(r"\$\{?(\w+)\}?", lambda m: known.get(m[1], UNKNOWN), bare)
        return UNKNOWN if "[" in bare else bare
    joined = re.fullmatch(r"pathJoin\((.*)\)", raw.strip())
    parts = joined[1].split(",") if joined else re.split(r"\.\.", raw)
    texts = [_lua(part.strip(), known, state) for part in parts]
    if any(UNKNOWN in t for t in texts):
        return UNKNOWN
    return posixpath.join(*(t.lstrip("/") if n else t for n, t in enumerate(texts))) if joined else "".join(texts)


def _lua(part: str, known: dict[str, str], state: State) -> str:
    if found := re.fullmatch(r"\"([^\"]*)\"|'([^']*)'", part):
        return found[1] if found[1] is not None else found[2]
    if found := re.fullmatch(r"os\.getenv\(\s*[\"'](\w+)[\"']\s*\)(?:\s+or\s+.*)?", part):
        return state.values.get(found[1], "")
    return known.get(part, UNKNOWN)
