"""The values that Python code accepts from a variable, judged by the code itself: ``int(os.environ["X"])`` accepts an
integer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Literal

from core.model.facts import Frozen

Takes = Literal["whole number", "number", "switch", "words"]

CONVERSIONS: dict[str, Takes] = {
    "int": "whole number",
    "float": "number",
    "env_int": "whole number",
    "int_state": "whole number",
    "float_state": "number",
    "bool_state": "switch",
    "enum_state": "words",
    "optional_enum_state": "words",
    "define_int_state": "whole number",
    "define_float_state": "number",
    "define_bool_state": "switch",
    "define_enum_state": "words",
}
"""What a function makes of its variable: Python's own, Triton's knobs.py, JAX's config.py in its releases."""


_OWN = re.compile(r"^_*(?:as|to|get|parse)_(int|float)$")
"""Names that packages give to a conversion of their own."""


class CodeValue(Frozen, frozen=True, kw_only=True):
    """What a piece of code does with a variable."""

    variable: str
    takes: Takes
    line: int
    words: tuple[str, ...] = ()
    """Of an enumeration."""


def values_read(text: str) -> Iterator[CodeValue]:
    """Yield the conversions that a module's code applies to variables; nothing if the module cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.Call)
            or (takes := CONVERSIONS.get(_OWN.sub(r"\1", _called_name(node.func)))) is None
        ):
            continue
        first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "name"), None)
        name = _name(first)
        if not name or (takes in ("whole number", "number") and len(node.args) > 2):
            continue
        words = _words(node) if takes == "words" else ()
        if takes != "words" or words:
            yield CodeValue(variable=name.upper(), takes=takes, line=node.lineno, words=words)


def takes_value(code: CodeValue, value: str) -> bool:
    """Whether the conversion succeeds. An empty value counts as accepted: most code tests for it first."""
    text = value.strip()
    match code.takes:
        case "whole number":
            return bool(not text or re.fullmatch(r"[+-]?\d+(_\d+)*", text))
        case "number":
            try:
                float(text or "0")
            except ValueError:
                return False
            return True
        case "switch":
            return text.lower() in ("", "y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0")
        case "words":
            return not text or text in code.words


def _called_name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _name(argument: ast.expr | None) -> str:
    """Return the variable that an expression reads: its name, os.environ[...], os.environ.get(...), os.getenv(...)."""
    match argument:
        case ast.Constant(value=str(name)) if re.fullmatch(r"[A-Za-z]\w*_\w+", name):
            return name
        case ast.Subscript(value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(
            func=ast.Attribute(attr="get", value=ast.Attribute(attr="environ")),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return name
        case ast.Call(func=ast.Attribute(attr="getenv"), args=[ast.Constant(value=str(name)), *_]):
            return name
    return ""


def _words(node: ast.Call) -> tuple[str, ...]:
    given = next((k.value for k in node.keywords if k.arg == "enum_values"), None)
    if not isinstance(given, ast.List | ast.Tuple):
        return ()
    words = [e.value for e in given.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return tuple(words) if len(words) == len(given.elts) else ()
