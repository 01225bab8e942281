"""Which variables an interpreter's start-up code sets: read from its text, constants at its top level alone; nothing is run."""

from __future__ import annotations

MAX_START_CODE_BYTES = 64 << 10
"""Bytes of a sitecustomize that are read."""


def variables_set(text: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that the code gives a constant value, in order; none where it cannot be read.

    os.environ["X"] = "1", os.environ.setdefault("X", "1"), os.putenv("X", "1") and os.environ.update({"X": "1"}) count, outside
    conditions, loops and functions: what runs only sometimes is left out.
    """
    if "environ" not in text and "putenv" not in text:
        return ()
    import ast  # for the few files that name the environment

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[tuple[str, str]] = []

    def keep(name: ast.AST | None, value: ast.AST) -> None:
        words = [n.value for n in (name, value) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        if len(words) == 2:
            found.append((words[0], words[1]))

    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=place, slice=name)], value=value) if _is_environment(place):
                keep(name, value)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=place, attr=called), args=arguments)):
                if len(arguments) == 2 and (called == "putenv" or (called == "setdefault" and _is_environment(place))):
                    keep(*arguments)
                elif called == "update" and _is_environment(place) and arguments and isinstance(arguments[0], ast.Dict):
                    for key, content in zip(arguments[0].keys, arguments[0].values, strict=True):
                        keep(key, content)
    return tuple(found)


def _is_environment(place: object) -> bool:
    import ast

    match place:
        case ast.Attribute(value=ast.Name(id="os"), attr="environ") | ast.Name(id="environ"):
            return True
    return False
