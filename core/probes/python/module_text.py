"""What a module's text says of imports and names: which are surely done, which it binds. No file is read here.

Source: https://docs.python.org/3/reference/compound_stmts.html#the-try-statement.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from core.common.late_pattern import late_pattern

IMPORT = late_pattern(
    r"^(?:import[ \t]+(?P<modules>[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)"
    r"|from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]*import[ \t]*(?P<names>\([^)]*\)|[^\n#\\]*(?:\\\r?\n[^\n#\\]*)*))",
    re.MULTILINE,
)
MAKES_NAMES = ("\ndef __getattr__(", "globals()", "sys.modules[__name__]", "\nexec(", "__path__")
"""How a module comes to names that its text does not spell, or a package to modules that its folder does not hold."""

EVERYTHING = late_pattern(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*\(?[ \t]*\*", re.MULTILINE)

_DOCUMENTED = late_pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[rRuU]?(\"{3}|'{3})")
"""The beginning of a module's docstring, in which examples have imports at the left margin."""

CATCHING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "OSError")
"""Names of what catches an import that fails."""


def sure_imports(text: str) -> dict[int, ast.Import | ast.ImportFrom] | None:
    """Return the line and the statement of each import that is surely done; None where the text cannot be parsed."""
    try:
        return {node.lineno: node for node in _of(ast.parse(text).body)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def at_the_margin(text: str) -> str:
    """Return the text with every import that is surely done at the left margin, on the line on which it stands."""
    lines = text.split("\n")
    for number, node in (sure_imports(text) or {}).items():
        if node.col_offset:
            lines[number - 1] = ast.unparse(node)
    return "\n".join(lines)


def _of(body: Iterable[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.With():
                yield from _of(node.body)
            case ast.Try():
                if all(_ends(h.body) for h in node.handlers if _catches(h.type)):
                    yield from _of((*node.body, *node.orelse))
                yield from _of(node.finalbody)


def _catches(kind: ast.expr | None) -> bool:
    match kind:
        case ast.Name(id=name):
            return name in CATCHING
        case ast.Tuple(elts=several):
            return any(_catches(one) for one in several)
    return True


def _ends(body: list[ast.stmt]) -> bool:
    """Whether a block raises, whichever way it takes."""
    match body[-1]:
        case ast.Raise():
            return True
        case ast.If(body=first, orelse=second):
            return bool(second) and _ends(first) and _ends(second)
    return False


def behind_docstring(text: str) -> int:
    """Return where a module's text goes on behind its docstring."""
    begin = _DOCUMENTED.match(text)
    return max(text.find(begin[1], begin.end()), 0) if begin else 0


def tasks_of(step: re.Match[str], package: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield what an import does, in order: the modules that it enters, the names that it takes."""
    if step["modules"]:
        for one in step["modules"].split(","):
            yield from _entering(one.split()[0])
        return
    module = step["module"]
    if step["dots"]:
        parts = package.split(".")
        above = len(parts) - len(step["dots"]) + 1
        if above < 1 or not package:
            return
        module = ".".join([*parts[:above], *([module] if module else [])])
    if not module or (not step["dots"] and module == "__future__"):
        return
    yield from _entering(module)
    plain = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
    names = tuple(words[0] for part in plain.split(",") if (words := part.split()))
    if all(re.fullmatch(r"\w+|\*", n) for n in names):
        yield "names", module, names


def _entering(module: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    parts = module.split(".")
    for n in range(1, len(parts) + 1):
        yield "enter", ".".join(parts[:n]), ()


def binds(text: str, name: str) -> bool:
    """Whether a package's own text gives the name to something else than its module of that name."""
    if name not in text:
        return False
    forms = (
        f"def {name}(",
        f"class {name}(",
        f"class {name}:",
        f"\n{name} =",
        f"\n{name}:",
        f" as {name}\n",
        f" as {name},",
    )
    return any(form in text for form in forms)


def top_level_imports(text: str) -> Mapping[int, object] | None:
    """Return the lines on which a module's own imports begin; None where it cannot be parsed."""
    try:
        return {n.lineno: n for n in ast.parse(text).body if isinstance(n, ast.Import | ast.ImportFrom)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def bound_names(text: str, name: str) -> frozenset[str]:
    """Return ``name`` where something at a module's top level, conditions included, may bind it; all is bound where that is open."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset((name,))
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef(name=its) | ast.AsyncFunctionDef(name=its) | ast.ClassDef(name=its):
                if its == name:
                    return frozenset((name,))
                continue  # what is bound inside is the function's own
            case ast.Name(id=its, ctx=ast.Store()) if its == name:
                return frozenset((name,))
            case ast.alias(name=its, asname=other) if (other or its.partition(".")[0]) == name:
                return frozenset((name,))
            case ast.Global() | ast.MatchAs():
                return frozenset((name,))
        todo.extend(ast.iter_child_nodes(node))
    return frozenset()
