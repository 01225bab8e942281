"""The values that classes of settings accept from variables: pydantic makes a variable's name of a prefix and the name of a field.

Sources: pydantic-settings' documentation, "Environment variable names"; pydantic's, "Conversion Table".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name, literal_text, statements_of
from core.probes.variables.accepted_values import CodeValue, Takes

MARK = b"env_prefix"
"""What the text of a module with such classes has."""
_PREFIX = late_pattern(r"env_prefix\b[^=\n]{0,20}=\s*[\"']([A-Za-z]\w*_)[\"']")
_PLAIN: dict[str, Takes] = {"int": "whole number", "float": "number", "bool": "switch"}
SETTINGS = "BaseSettings"


def fields_read(text: str) -> Iterator[CodeValue]:
    """Yield what the fields of a module's classes accept, if the module has one prefix for the variables of all."""
    prefixes = set(_PREFIX.findall(text))
    if len(prefixes) != 1:
        return
    prefix = prefixes.pop()
    for node in (n for n in statements_of(text) if isinstance(n, ast.ClassDef)):
        whole = any(last_name(b) == SETTINGS for b in node.bases)
        for field in (f for f in node.body if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name)):
            name = f"{prefix}{getattr(field.target, 'id', '')}".upper()
            if words := _literal(field.annotation):
                yield CodeValue(variable=name, takes="words", line=field.lineno, words=words)
            elif whole and (takes := _PLAIN.get(last_name(field.annotation))):
                yield CodeValue(variable=name, takes=takes, line=field.lineno)


def _literal(annotation: ast.expr) -> tuple[str, ...]:
    """Return the words of Literal["a", "b"], or of that and None; nothing where a field may have any other value."""
    match annotation:
        case ast.Subscript(value=name, slice=inner) if last_name(name) == "Literal":
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            words = [text for p in parts if (text := literal_text(p)) is not None]
            return tuple(words) if len(words) == len(parts) else ()
        case ast.Subscript(value=name, slice=inner) if last_name(name) == "Optional":
            return _literal(inner)
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _literal(left)
    return ()
