"""Environment probe: the relevant variables of every scope, and every entry of the consumer's search paths."""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Mapping, Sequence
from typing import Literal

from core.common.fact_text import fact_text
from core.common.patience import asked
from core.knowledge import tables as knowledge
from core.model import path_list as pathlist
from core.model.facts import Environment, Frozen, Limit, Scope, System, Variable, text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables.search_paths import Part, Seen, entries, expand

_PASSWORD_IN_URL = re.compile(r"//[^/@\s]*:[^/@\s]*@")


class KnownLimit(Frozen, frozen=True, kw_only=True):
    """A length that something in the system cannot exceed."""

    system: System
    measure: Literal["variable", "PATH"]
    characters: int
    says: str
    source: str
    verified: bool | str = False


class Known(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/environment.json."""

    limits: tuple[KnownLimit, ...]
    names: tuple[str, ...]
    prefixes: tuple[str, ...]
    secret_words: tuple[str, ...]
    folders: tuple[str, ...]
    folder_prefixes: tuple[str, ...]


def look(request: ProbeRequest) -> Environment:
    """Return what the consumer's environment says. Variables that name a single folder (CUDA_PATH) are entries, too."""
    known = knowledge.read("environment", Known)
    variables = tuple(v for v in request.host.variables() if is_relevant(v, known))
    system = request.host.system
    where = sysroot_of(request.host)
    wanted = [(name, parts(name, request.env, variables, system)) for name in searched(request.env, system, known)]
    seen = functools.cache(lambda folder: look_at(folder, where))
    found = tuple(e for name, its in wanted for e in entries(name, its, system, seen))
    exceeded = limits(request.env, variables, system, known)
    return Environment(
        variables=tuple(_printable(v) for v in variables),
        entries=found,
        problems=tuple(x.text for x in exceeded),
        limits=exceeded,
    )


def is_relevant(variable: Variable, known: Known) -> bool:
    """Whether a variable has to do with CUDA, Python or loaders, and cannot hold a secret."""
    name = variable.name.upper()
    if name not in known.names and not name.startswith(known.prefixes):
        return False
    return not (set(name.split("_")) & set(known.secret_words)) and not _PASSWORD_IN_URL.search(variable.value)


def searched(env: Mapping[str, str], system: System, known: Known) -> list[str]:
    """Return the names of the set variables that name folders, search paths first."""
    paths = ("PATH",) if system == "windows" else ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH")
    upper = {name.upper() for name in env}
    singles = {n for n in upper if n in known.folders or n.startswith(known.folder_prefixes)}
    return [n for n in paths if n in upper] + sorted(singles)


def parts(name: str, env: Mapping[str, str], variables: Sequence[Variable], system: System) -> list[Part]:
    """Return the entries of the consumer's variable ``name`` with the scope and raw text that each came from.

    On Windows PATH is the machine's entries and then the user's. Where these, expanded, do not give what a new
    program gets, the consumer's value is what counts and the scope is "process".
    """
    value = next((v for n, v in env.items() if n.upper() == name), "")
    if name not in ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH"):
        scope = _scope_of(name, value, variables, env)
        return [Part(raw=value, expanded=value, scope=scope)]
    consumer = [Part(raw=raw, expanded=raw) for raw in pathlist.searched(value, system, name)]
    if system == "linux":
        return consumer
    stored = [
        Part(raw=raw, expanded=expand(raw, env) if v.kind != "REG_SZ" else raw, scope=v.scope)
        for scope in ("machine", "user")
        for v in variables
        if v.scope == scope and v.name.upper() == name
        for raw in pathlist.searched(v.value, system, name)
    ]
    same = [p.expanded for p in stored if p.expanded] == [p.expanded for p in consumer if p.expanded]
    return stored if same else consumer


def _scope_of(name: str, value: str, variables: Sequence[Variable], env: Mapping[str, str]) -> Scope:
    for scope in ("user", "machine"):
        for v in variables:
            if v.scope == scope and v.name.upper() == name and value in (v.value, expand(v.value, env)):
                return v.scope
    return "process"


def limits(env: Mapping[str, str], variables: Sequence[Variable], system: System, known: Known) -> tuple[Limit, ...]:
    """Return one row per exceeded limit (the largest only) and per registry value of a wrong kind."""
    found = []
    for name, value in sorted(env.items()):
        upper = name.upper()
        if upper not in known.names and not upper.startswith(known.prefixes):
            continue
        length = len(value) if system == "windows" else len(os.fsencode(value))
        over = [
            x for x in known.limits if x.system == system and x.measure in ("variable", upper) and length > x.characters
        ]
        if over:
            worst = max(over, key=lambda x: x.characters)
            words = fact_text(
                "{name} is {length} characters long. {says}", name=text(name), length=f"{length:,}", says=worst.says
            )
            found.append(Limit(kind="length", text=words, variable=text(name), limit=worst.characters))
    for v in variables:
        if v.kind == "REG_SZ" and v.name.upper() == "PATH" and v.value.count("%") > 1:
            words = fact_text(
                "The {scope} PATH is stored as REG_SZ, so the variables in it, such as %SystemRoot%, are not replaced.",
                scope=v.scope,
            )
            found.append(Limit(kind="kind", text=words, variable=text(v.name)))
        elif v.kind and v.kind not in ("REG_SZ", "REG_EXPAND_SZ"):
            words = fact_text(
                "The {scope} variable {name} is stored as {kind}, which is no text.",
                scope=v.scope,
                name=v.name,
                kind=v.kind,
            )
            found.append(Limit(kind="kind", text=words, variable=text(v.name)))
    return tuple(found)


def _printable(variable: Variable) -> Variable:
    return Variable(
        name=text(variable.name),
        value=text(variable.value),
        scope=variable.scope,
        kind=variable.kind,
        source=variable.source,
    )


def look_at(folder: str, where: Sysroot) -> Seen:
    """Ask the disk about one entry. A relative one depends on the current folder, so nothing is said about it.

    "writable by others": anybody may put a file there, which includes folders such as /tmp whose sticky bit only
    keeps people from removing what others have put there. Windows' access lists are not read.
    """
    if not where.form.isabs(folder) or folder.startswith("~"):
        return Seen(state="unknown")
    real = where.under(folder)
    try:
        mode = asked(os.stat, real).st_mode
        if not stat.S_ISDIR(mode):
            return Seen(state="not a folder")
        if os.name == "nt":
            asked(os.scandir, real).close()
            return Seen()
        entered = asked(os.access, real, os.X_OK)
    except TimeoutError:
        return Seen(state="unknown")
    except PermissionError:
        return Seen(state="unreadable")
    except (OSError, ValueError):
        return Seen(state="missing")
    return Seen(state="folder" if entered else "unreadable", others_write=bool(mode & stat.S_IWOTH))
