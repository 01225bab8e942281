"""Variables whose names code makes of a prefix and the name of an argument.

torchrun gives the options of its parser an action that takes ``PET_MAX_RESTARTS`` in place of ``--max-restarts``; tqdm's decorator
takes ``TQDM_MININTERVAL`` in place of ``mininterval``. Both convert the text to the type of the argument.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from core.common.syntax_tree import argument, last_name, literal_text, parsed, statements_of
from core.probes.variables.accepted_values import CodeValue, Takes

TYPES: dict[str, Takes] = {"int": "whole number", "float": "number"}


def made_values(text: str, module_text: Callable[[str], str]) -> Iterator[CodeValue]:
    """Yield the conversions of variables with a name that is made; ``module_text`` returns the text of a module by its full name."""
    tree = parsed(text)
    if tree is None:
        return
    actions: dict[str, tuple[str, Takes | None]] | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                yield from _decorated(node, decorator)
        elif isinstance(node, ast.Call) and last_name(node.func) == "add_argument":
            action = argument(node, "action")
            if actions is None and isinstance(action, ast.Name):
                actions = _actions(tree, module_text)
            if actions and isinstance(action, ast.Name):
                yield from _option(node, actions.get(action.id))


def _decorated(function: ast.FunctionDef, decorator: ast.expr) -> Iterator[CodeValue]:
    """Yield the parameters that ``@envwrap("tqdm", types={...})`` takes from variables, as the function is defined."""
    match decorator:
        case ast.Call(func=func, args=[ast.Constant(value=str(prefix))]) if last_name(func) == "envwrap":
            pass
        case _:
            return
    types = argument(decorator, "types")
    named = (
        {k.value: last_name(v) for k, v in zip(types.keys, types.values, strict=True) if isinstance(k, ast.Constant)}
        if isinstance(types, ast.Dict)
        else {}
    )
    its = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    for parameter, default in zip(its[len(its) - len(defaults) :], defaults, strict=True):
        if parameter.annotation is not None or not isinstance(default, ast.Constant):
            continue  # a failed conversion to an annotated type is passed over
        kind = named.get(parameter.arg) if default.value is None else type(default.value).__name__
        if takes := TYPES.get(kind or ""):
            name = f"{prefix.rstrip('_')}_{parameter.arg}".upper()
            yield CodeValue(variable=name, takes=takes, line=decorator.lineno, at_import=True)


def _option(call: ast.Call, action: tuple[str, Takes | None] | None) -> Iterator[CodeValue]:
    """Yield what argparse makes of a text that stands for an option (its ``type``, which a default that is text passes, too)."""
    options = [text for a in call.args if (text := literal_text(a)) is not None]
    if action is None or not options:
        return
    prefix, own = action
    long = next((o for o in options if o.startswith("--")), options[0])
    name = literal_text(argument(call, "dest")) or long.lstrip("-").replace("-", "_")
    if takes := own or TYPES.get(last_name(argument(call, "type"))):
        yield CodeValue(variable=f"{prefix}{name}".upper(), takes=takes, line=call.lineno)


def _actions(tree: ast.Module, module_text: Callable[[str], str]) -> dict[str, tuple[str, Takes | None]]:
    """Return the actions of the module and of those that it imports from: name -> (prefix of its variables, own conversion)."""
    found = _own_actions(tree.body)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            text = module_text(node.module) if any("env" in a.name for a in node.names) else ""
            other = _own_actions(statements_of(text)) if "Action" in text else {}
            found |= {a.asname or a.name: other[a.name] for a in node.names if a.name in other}
    return found


def _own_actions(body: list[ast.stmt]) -> dict[str, tuple[str, Takes | None]]:
    found: dict[str, tuple[str, Takes | None]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef) and any(last_name(b) == "Action" for b in node.bases):
            for part in ast.walk(node):
                match part:
                    case ast.JoinedStr(values=[ast.Constant(value=str(prefix)), ast.FormattedValue(value=inner)]) if (
                        "dest" in {last_name(n) for n in ast.walk(inner)} and prefix.isidentifier() and prefix.isupper()
                    ):
                        number = any(isinstance(n, ast.Call) and last_name(n.func) == "int" for n in ast.walk(node))
                        found[node.name] = (prefix, "whole number" if number else None)
    return found
