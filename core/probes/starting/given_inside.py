"""Variables that a tool gives a program from the inside, or the workers that it starts, by settings of the project.

A file of settings counts if its path of keys is the tool's own and the tool is installed; in Python code, what is called "env_vars" and is
made of texts. Sources: the documentations of Hydra ("hydra.job.env_set"), Ray ("Environment Dependencies": runtime_env), Prefect ("Override
work pool job variables"), LangGraph ("Application structure": env), BentoML ("bentofile.yaml": envs), Metaflow ("@environment"), Streamlit
("Secrets management": secrets of the root are variables).
"""

from __future__ import annotations

import ast
import fnmatch
import posixpath
import re
from collections.abc import Iterator, Mapping

import msgspec

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import constant, last_name, nodes_of
from core.host.startup.described import Described, described
from core.host.startup.plain import read_dotenv
from core.host.startup.state import UNKNOWN, State, fill
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground
from core.probes.starting.projects.launching_code import launching_files
from core.probes.starting.started_programs import TOO_LATE
from core.probes.starting.ways import Reached


class Giver(msgspec.Struct, frozen=True):
    """A tool, its files, and where they have variables."""

    package: str
    """The folder that it has in an environment."""
    files: tuple[str, ...]
    """Patterns of paths below the working folder."""
    keys: tuple[str, ...]
    """The last keys of the path to the variables; none: the whole file."""
    starts: bool = False
    """What it starts is a process of its own: variables of the loader and of Python count, too."""
    mark: str = ""
    """What a program of the folder spells that uses it."""


_YAML = ("*.yaml", "*.yml")
_SETTINGS = tuple(f"{folder}{end}" for folder in ("", "conf/", "config/", "configs/", "hydra_conf/") for end in _YAML)
GIVERS = (
    Giver("hydra", _SETTINGS, ("hydra", "job", "env_set"), mark="hydra"),
    Giver("hydra", tuple(f"{f}/{e}" for f in ("conf/hydra", "config/hydra", "configs/hydra") for e in _YAML), ("job", "env_set"), mark="hydra"),
    Giver("ray", _SETTINGS, ("runtime_env", "env_vars"), starts=True),
    Giver("ray", ("runtime_env*.yaml", "runtime_env*.yml", "runtime-env*.yaml", "runtime_env*.json"), ("env_vars",), starts=True),
    Giver("prefect", ("prefect.yaml",), ("job_variables", "env"), starts=True),
    Giver("langgraph_cli", ("langgraph.json",), ("env",), starts=True),
    Giver("langgraph_api", ("langgraph.json",), ("env",), starts=True),
    Giver("bentoml", ("bentofile.yaml",), ("envs",), starts=True),
    Giver("streamlit", (".streamlit/secrets.toml",), ()),
)  # fmt: skip
MOST_FILES = 40
MOST_BYTES = 1 << 17
_NAME = late_pattern(r"[A-Z][A-Z0-9_]*")
MAY_GIVE = late_pattern(r"\benv_vars\b|@environment\b")


def given_inside_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each file of settings, and each piece of code, that gives variables to what an environment here runs."""
    if not ground.is_in_project:
        return
    for giver in GIVERS:
        homes = [
            p
            for p in ground.pythons
            if any(ground.around.kind(f"{s}/{giver.package}") == "folder" for s in p.site_packages)
        ]
        for path in _files(giver, ground) if homes else ():
            text = ground.where.text(path, MOST_BYTES)
            if text is None or not all(k in text for k in giver.keys) or not _is_used(giver, ground):
                continue
            state = ground.session(path)
            whole = described(text, path)
            for node in _values_at(whole, giver.keys) if whole is not None else ():
                _give(node, text, path, state, ground, starts=giver.starts)
            if state.lines:
                prefix = homes[0].prefix if len(homes) == 1 else ""
                yield Reached(kind="task", at=f"{path}: {giver.package}", state=state, prefix=prefix)
    yield from _in_code(ground)


def _files(giver: Giver, ground: Ground) -> Iterator[str]:
    for pattern in giver.files:
        folder, _slash, name = pattern.rpartition("/")
        place = posixpath.join(ground.folder, folder) if folder else ground.folder
        for one in [n for n in ground.around.names(place) if fnmatch.fnmatchcase(n, name)][:MOST_FILES]:
            yield f"{place}/{one}"


def _is_used(giver: Giver, ground: Ground) -> bool:
    """Whether a program of the working folder spells the tool, if it is one that programs use."""
    if not giver.mark:
        return True
    return any(giver.mark in (ground.read(posixpath.join(ground.folder, n)) or "") for n in launching_files(ground))


def _values_at(node: Described, keys: tuple[str, ...], above: tuple[str, ...] = ()) -> Iterator[Described]:
    """Yield what stands at a path of keys that ends with these."""
    if not keys:
        yield node
        return
    if isinstance(node, list):
        for each in node:
            yield from _values_at(each, keys, above)
    elif isinstance(node, dict):
        for key, its in node.items():
            place = (*above, key)
            if place[-len(keys) :] == keys:
                yield its
            else:
                yield from _values_at(its, keys, place)


def _give(node: Described, text: str, path: str, state: State, ground: Ground, *, starts: bool) -> None:
    if isinstance(node, str):  # a file of variables
        file = posixpath.join(posixpath.dirname(path), node)
        if starts and (its := ground.read(file)) is not None:
            read_dotenv(its, file, state)
        return
    pairs = node.items() if isinstance(node, Mapping) else [_pair(row) for row in node]
    for name, value in pairs:
        if isinstance(value, str) and _NAME.fullmatch(name) and (starts or not name.startswith(TOO_LATE)):
            found = re.search(rf"(?m)^.*?(?<![\w-]){re.escape(name)}\b", text)
            line = text.count("\n", 0, found.end()) + 1 if found else 1
            filled = fill(r"\$\{oc\.env:(\w+)(?:,[^}]*)?\}", lambda m: state.values.get(m[1], ""), value)
            state.export_variable(name, filled, path, line, "python")


def _pair(row: Described) -> tuple[str, Described]:
    if isinstance(row, dict):
        return str(row.get("name", "")), row.get("value", "")
    name, _equals, value = str(row).partition("=")
    return name, value


# --- Python code ---------------------------------------------------------------------------------------------------------


def _in_code(ground: Ground) -> Iterator[Reached]:
    for name in launching_files(ground):
        path = posixpath.join(ground.folder, name)
        text = ground.where.text(path, MOST_BYTES)
        if text is None or not MAY_GIVE.search(text):
            continue
        state = ground.session(path)
        names = PathNames(path, env=ground.env)
        for given in (d for node in nodes_of(text) for d in _dictionaries(node)):
            for variable, told, line in names.variables_of(given):
                if _NAME.fullmatch(variable) and told != UNKNOWN:
                    state.export_variable(variable, told, path, line, "python")
        if state.lines:
            yield Reached(kind="task", at=f"{path}: env_vars", state=state)


def _dictionaries(node: ast.AST) -> Iterator[ast.Dict]:
    """Yield the variables that a call or a dictionary names for workers."""
    match node:
        case ast.Call(func=called, keywords=keywords):
            name = last_name(called)
            for one in keywords:
                if isinstance(one.value, ast.Dict) and (
                    one.arg == "env_vars" or (one.arg, name) == ("vars", "environment")
                ):
                    yield one.value
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(value, ast.Dict) and constant(key) == "env_vars":
                    yield value
