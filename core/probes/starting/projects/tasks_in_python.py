"""Tasks that a project's Python file defines: invoke's tasks.py, nox's noxfile.py. Their text is read; no code runs.

Sources: invoke's documentation, "Configuration" and "Runners" (env); nox's, "Configuration & API" (session.run, session.env).
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator
from typing import TypeGuard

from core.common.syntax_tree import argument, last_name, literal_text, statements_of, uncalled
from core.host.startup.plain import json_line, json_value
from core.host.startup.state import State, is_name
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground

Task = tuple[str, int, str, State]
Pair = tuple[str, str, int]
"""Name, value and line of a variable."""

SETTINGS = ("yaml", "yml", "json")
"""Endings of invoke's settings; the first that exists in a place is read."""


def invoke_tasks(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield the commands of invoke's tasks, with the variables that run.env of its settings gives each."""
    for place in ("/etc/invoke", ground.at_home(".invoke"), f"{ground.folder}/invoke"):
        file = next((p for e in SETTINGS if ground.around.kind(p := f"{place}.{e}") == "file"), "")
        if file and (its := ground.read(file)) is not None:
            state.files.append(file)
            _give(state, _of_json(its) if file.endswith("json") else _of_yaml(its), file)
    for name, context, body in _functions(text, "task"):
        for call, before in _calls(body, context):
            command = literal_text(call.args[0]) if call.args else None
            if command is not None:
                yield (
                    name,
                    call.lineno,
                    " && ".join((*before, command)),
                    _with_env(state, argument(call, "env"), path),
                )


def nox_sessions(text: str, path: str, state: State, ground: Ground) -> Iterator[Task]:
    """Yield the commands of nox's sessions; each session has an environment in .nox, named after it."""
    folder = f"{ground.folder}/.nox"
    for name, context, body in _functions(text, "session"):
        own = [n for n in ground.around.names(folder) if re.fullmatch(rf"{re.escape(name)}(-.*)?", n)]
        given = state.apart()
        given.values["PATH"] = ":".join([*(f"{folder}/{n}/bin" for n in own), state.values.get("PATH", "")])
        for statement in body:
            _give(given, _of_session(statement, context, PathNames(path, env=given.values)), path)
        for call, _before in _calls(body, context):
            words = [w for a in call.args if (w := literal_text(a)) is not None]
            yield name, call.lineno, shlex.join(words), _with_env(given, argument(call, "env"), path)


def _functions(text: str, decorator: str) -> Iterator[tuple[str, str, list[ast.stmt]]]:
    """Yield the functions with this decorator: name, name of the first argument, body."""
    for node in statements_of(text):
        if not isinstance(node, ast.FunctionDef) or not node.args.args:
            continue
        for one in node.decorator_list:
            if last_name(uncalled(one)) == decorator:
                named = literal_text(argument(one, "name")) if isinstance(one, ast.Call) else None
                yield named or node.name, node.args.args[0].arg, node.body
                break


def _calls(
    body: list[ast.stmt], context: str, before: tuple[str, ...] = ()
) -> Iterator[tuple[ast.Call, tuple[str, ...]]]:
    """Yield the calls of ``context.run``, with the commands that ``with context.cd`` and ``context.prefix`` put first."""
    for node in body:
        if isinstance(node, ast.With):
            first = [w for i in node.items if (w := _before(i.context_expr, context))]
            yield from _calls(node.body, context, (*before, *first))
        elif isinstance(node, ast.Expr | ast.Assign) and _is_of(node.value, context, "run"):
            yield node.value, before


def _before(node: ast.expr, context: str) -> str:
    told = literal_text(node.args[0]) if isinstance(node, ast.Call) and node.args else None
    if told is None:
        return ""
    return f"cd {shlex.quote(told)}" if _is_of(node, context, "cd") else told if _is_of(node, context, "prefix") else ""


def _is_of(node: ast.expr | None, context: str, method: str) -> TypeGuard[ast.Call]:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
            return name == context and attr == method
        case _:
            return False


def _of_session(statement: ast.stmt, context: str, names: PathNames) -> Iterator[Pair]:
    """Yield what a statement puts into session.env."""
    match statement:
        case ast.Assign(
            targets=[ast.Subscript(value=ast.Attribute(value=ast.Name(id=owner), attr="env"), slice=key)], value=value
        ) if owner == context:
            yield from names.variables_of(ast.Dict([key], [value]))
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=owner), attr="env"), attr="update"),
                args=[told],
            )
        ) if owner == context:
            yield from names.variables_of(told)


def _of_json(text: str) -> Iterator[Pair]:
    found = json_value(text)
    run = found.get("run") if isinstance(found, dict) else None
    env = run.get("env") if isinstance(run, dict) else None
    for name, value in env.items() if isinstance(env, dict) else ():
        if isinstance(value, str):
            yield name, value, json_line(text, name, "env")


def _of_yaml(text: str) -> Iterator[Pair]:
    """Yield the members of run.env; of YAML the usual form is read, with one member a line."""
    above: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        member = re.match(r"( *)[\"']?([\w.-]+)[\"']?:(?:\s+(.*))?$", line)
        if member is None:
            continue
        indent, name = len(member[1]), member[2]
        while above and above[-1][0] >= indent:
            above.pop()
        if [key for _indent, key in above] == ["run", "env"]:
            quoted = re.match(r"\"([^\"]*)\"|'([^']*)'", member[3] or "")
            value = (
                (quoted[1] or quoted[2] or "")
                if quoted
                else re.split(r"(?:^|\s)#", member[3] or "", maxsplit=1)[0].strip()
            )
            yield name, value, number
        above.append((indent, name))


def _with_env(state: State, env: ast.expr | None, path: str) -> State:
    its = state.apart()
    _give(its, PathNames(path, env=state.values).variables_of(env), path)
    return its


def _give(state: State, pairs: Iterator[Pair], path: str) -> None:
    for name, value, line in pairs:
        if is_name(name):
            state.export_variable(name, value, posixpath.normpath(path), line, "python")
