"""Environment probe: the relevant variables of every scope, and every entry of the consumer's search paths."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.patience import call_patiently
from core.common.variable_names import variable_in
from core.knowledge import tables
from core.knowledge.contracts import contract_table, variable_contracts
from core.model import path_list
from core.model.facts import Environment, Frozen, Limit, Scope, Snapshot, System, Variable, path_text
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.variables.places import places_of_contracts
from core.probes.variables.search_paths import EntryOnDisk, RawEntry, expand_percent, path_entries

_PASSWORD_IN_URL = late_pattern(r"//[^/@\s]*:[^/@\s]*@")


class KnownLimit(Frozen, frozen=True, kw_only=True):
    """A length limit of some part of the system."""

    system: System
    measure: Literal["variable", "PATH"]
    characters: int
    says: str
    source: str
    verified: bool | str = False


class EnvironmentKnowledge(Frozen, frozen=True, kw_only=True):
    """resources/knowledge/environment.json."""

    limits: tuple[KnownLimit, ...]
    names: tuple[str, ...]
    prefixes: tuple[str, ...]
    secret_words: tuple[str, ...]
    folders: tuple[str, ...]
    folder_prefixes: tuple[str, ...]


def look(request: ProbeRequest) -> Environment:
    """Return the consumer's environment. Variables that name a single folder (CUDA_PATH) are entries, too."""
    known = tables.read_table("environment", EnvironmentKnowledge)
    variables = tuple(v for v in request.host.variables() if is_relevant_variable(v, known))
    system = request.host.system
    where = sysroot_of(request.host)
    wanted = [
        (name, raw_entries(name, request.env, variables, system))
        for name in folder_variables(request.env, system, known)
    ]
    seen = functools.cache(lambda folder: examine_folder(folder, where, request.env.get("HOME", ""), request.env))
    found = tuple(e for name, its in wanted for e in path_entries(name, its, system, seen))
    exceeded = exceeded_lengths(request.env, variables, system, known)
    return Environment(
        variables=tuple(_printable(v) for v in variables),
        entries=found,
        problems=tuple(x.text for x in exceeded),
        limits=exceeded,
        places=tuple(places_of_contracts(request.env, where)),
    )


def with_refused_variables(seen: Snapshot, env: Mapping[str, str]) -> Snapshot:
    """Return the Snapshot with the variables of this session that only a package's own code knows, and refuses: no table lists
    them, and every way of starting passes them on.
    """
    if seen.environment is None:
        return seen
    given = {n.upper(): v for n, v in env.items()}
    listed = {v.name.upper() for v in seen.environment.variables}
    listed |= {v.name.upper() for s in seen.starts or () for v in s.variables}
    rows = {
        r.variable: r
        for r in seen.vocabularies or ()
        if r.takes not in ("", "account", "cache", "header", "key length", "beside", "memory") and not r.setting
    }
    found = tuple(
        Variable(name=name, value=value, source="environment")
        for name, row in rows.items()
        if name not in listed and (value := path_text(given.get(name, ""))) and value in row.unknown
    )
    if not found:
        return seen
    looks = tuple(
        replace(k, environment=replace(k.environment, variables=(*k.environment.variables, *found)))
        if k.environment
        else k
        for k in seen.start_looks or ()
    )
    mine = replace(seen.environment, variables=(*seen.environment.variables, *found))
    return replace(seen, environment=mine, start_looks=looks if seen.start_looks is not None else None)


def is_relevant_variable(variable: Variable, known: EnvironmentKnowledge) -> bool:
    """Whether a variable concerns CUDA, Python or loaders, and cannot contain a secret."""
    name = variable.name.upper()
    listed = name in known.names or name in _contract_names()
    return (listed or name.startswith((*known.prefixes, *_code_prefixes()))) and may_be_told(variable, known)


def may_be_told(variable: Variable, known: EnvironmentKnowledge) -> bool:
    """Whether neither the name nor the value of a variable looks like a secret."""
    name = variable.name.upper()
    listed = name in known.names or name in _contract_names()
    secret = not listed and set(name.split("_")) & set(known.secret_words)
    return not secret and not _PASSWORD_IN_URL.search(variable.value)


@functools.cache
def _code_prefixes() -> tuple[str, ...]:
    """Return how the variables begin that frameworks' own code converts."""
    return tuple(dict.fromkeys(s for source in contract_table().code for s in source.starts))


@functools.cache
def _contract_names() -> frozenset[str]:
    """Return the variables with a contract or that one asks for; a folder of the person's, such as HOME, is not listed."""
    rows = [c for c in variable_contracts() if c.kind not in ("header", "key")]  # secrets
    others = {
        n for c in rows for n in (*c.unless, *dict(c.given), *(c.words if c.kind in ("together", "apart") else ()))
    }
    return frozenset({c.variable for c in rows if not c.inside} | others)


def folder_variables(env: Mapping[str, str], system: System, known: EnvironmentKnowledge) -> list[str]:
    """Return the names of the set variables that name folders, search paths first."""
    paths = ("PATH",) if system == "windows" else ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH")
    upper = {name.upper() for name in env}
    singles = {n for n in upper if n in known.folders or n.startswith(known.folder_prefixes)}
    return [n for n in paths if n in upper] + sorted(singles)


def raw_entries(name: str, env: Mapping[str, str], variables: Sequence[Variable], system: System) -> list[RawEntry]:
    """Return the entries of the consumer's variable ``name``, each with its scope and raw text.

    On Windows, PATH is the machine's entries followed by the user's. If these, expanded, differ from what a new program
    gets, the consumer's value counts and the scope is "process".
    """
    value = variable_in(env, name)
    if name not in ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH"):
        scope = _scope_of(name, value, variables, env)
        return [RawEntry(raw=value, expanded=value, scope=scope)]
    consumer = [RawEntry(raw=raw, expanded=raw) for raw in path_list.searched_entries(value, system, name)]
    if system == "linux":
        return consumer
    stored = [
        RawEntry(raw=raw, expanded=expand_percent(raw, env) if v.kind != "REG_SZ" else raw, scope=v.scope)
        for scope in ("machine", "user")
        for v in variables
        if v.scope == scope and v.name.upper() == name
        for raw in path_list.searched_entries(v.value, system, name)
    ]
    same = [p.expanded for p in stored if p.expanded] == [p.expanded for p in consumer if p.expanded]
    return stored if same else consumer


def _scope_of(name: str, value: str, variables: Sequence[Variable], env: Mapping[str, str]) -> Scope:
    for scope in ("user", "machine"):
        for v in variables:
            if v.scope == scope and v.name.upper() == name and value in (v.value, expand_percent(v.value, env)):
                return v.scope
    return "process"


def exceeded_lengths(
    env: Mapping[str, str], variables: Sequence[Variable], system: System, known: EnvironmentKnowledge
) -> tuple[Limit, ...]:
    """Return one row for each exceeded limit (the largest only) and for each registry value of a wrong type."""
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
                "{name} is {length} characters long. {says}",
                name=path_text(name),
                length=f"{length:,}",
                says=worst.says,
            )
            found.append(Limit(kind="length", text=words, variable=path_text(name), limit=worst.characters))
    for v in variables:
        if v.kind == "REG_SZ" and v.name.upper() == "PATH" and v.value.count("%") > 1:
            words = fact_text(
                "The {scope} PATH is stored as REG_SZ, so the variables in it, such as %SystemRoot%, are not replaced.",
                scope=v.scope,
            )
            found.append(Limit(kind="kind", text=words, variable=path_text(v.name)))
        elif v.kind and v.kind not in ("REG_SZ", "REG_EXPAND_SZ"):
            words = fact_text(
                "The {scope} variable {name} is stored as {kind}, which is no text.",
                scope=v.scope,
                name=v.name,
                kind=v.kind,
            )
            found.append(Limit(kind="kind", text=words, variable=path_text(v.name)))
    return tuple(found)


def _printable(variable: Variable) -> Variable:
    return Variable(
        name=path_text(variable.name),
        value=path_text(variable.value),
        scope=variable.scope,
        kind=variable.kind,
        source=variable.source,
    )


def examine_folder(
    folder: str, where: Sysroot, home: str = "", env: Mapping[str, str] = MappingProxyType({})
) -> EntryOnDisk:
    """Examine one entry on disk. A relative one depends on the working directory, so it is not judged. ``env``: what a variable in it,
    which Windows did not replace, was meant to be.

    "writable by others": anybody may put a file there, which includes folders such as /tmp whose sticky bit only
    prevents people from removing each other's files. Windows' access lists are not read.
    """
    if folder.startswith("~/") and where.path_module.isabs(home) and where.is_folder(home + folder[1:]):
        return EntryOnDisk(state="unknown", meant=where.real_path(home + folder[1:]))
    if where.system == "windows" and (filled := expand_percent(folder, env)) != folder and where.is_folder(filled):
        return EntryOnDisk(state="unknown", meant=filled)
    if not where.path_module.isabs(folder) or folder.startswith("~"):
        return EntryOnDisk(state="unknown")
    real = where.local_path(folder)
    try:
        mode = call_patiently(os.stat, real).st_mode
        if not stat.S_ISDIR(mode):
            return EntryOnDisk(state="not a folder")
        if os.name == "nt":
            call_patiently(os.scandir, real).close()
            return EntryOnDisk()
        entered = call_patiently(os.access, real, os.X_OK)
    except TimeoutError:
        return EntryOnDisk(state="unknown")
    except PermissionError:
        return EntryOnDisk(state="unreadable")
    except (OSError, ValueError):
        return EntryOnDisk(state="missing")
    return EntryOnDisk(state="folder" if entered else "unreadable", others_write=bool(mode & stat.S_IWOTH))
