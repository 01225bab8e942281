"""What a module's text says of imports and names: which are surely done, which it binds. No file is read here.

Source: https://docs.python.org/3/reference/compound_stmts.html#the-try-statement.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from core.common.late_pattern import late_pattern

IMPORT = late_pattern(
    r"^(?:import[ \t]+(?P<modules>[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)"
    r"|from[ \t]++(?P<dots>\.*)[ \t]*+(?P<module>[\w.]*)[ \t]*+import[ \t]*+(?P<names>\([^)]*\)|[^\n#\\]*(?:\\\r?\n[^\n#\\]*)*))",
    re.MULTILINE,
)
ATTRIBUTE = late_pattern(
    r"^(?:\w+[ \t]*=[ \t]*|@|class[ \t]+\w+\()(?P<chain>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)", re.MULTILINE
)
"""What a module takes of another one by attribute as it is imported: the value of a name, a decorator, a base."""

MAKES_NAMES = ("\ndef __getattr__(", "globals()", "sys.modules[__name__]", "\nexec(", "__path__")
"""How a module comes to names that its text does not spell, or a package to modules that its folder does not hold."""

MAKES_MODULES = ("sys.modules", "meta_path", "\nexec(", "__path__")
"""How ``import package.module`` comes to modules that its folder does not hold; __getattr__ is not asked for these."""

EVERYTHING = late_pattern(r"^[ \t]*from[ \t]++(\.*)([\w.]*)[ \t]++import[ \t]*+\(?[ \t]*\*", re.MULTILINE)

_DOCUMENTED = late_pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[rRuU]?(\"{3}|'{3})")
"""The beginning of a module's docstring, in which examples have imports at the left margin."""

CATCHING = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException", "OSError")
"""Names of what catches an import that fails."""


Holds = Callable[[str], bool | None]
"""Whether a module is installed, by its name; None where that is open."""

_ASKED = ("torch", "triton", "numpy", "scipy", "transformers", "tokenizers", "safetensors", "sentencepiece")
"""Modules that is_X_available() asks for without further conditions, in every package that has such a function."""


def sure_imports(text: str, holds: Holds | None = None) -> dict[int, ast.Import | ast.ImportFrom] | None:
    """Return the line and the statement of each import that is surely done; None where the text cannot be parsed."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef)}
    called = [
        functions[n.value.func.id].body
        for n in body
        if isinstance(n, ast.Expr)
        and isinstance(n.value, ast.Call)
        and isinstance(n.value.func, ast.Name)
        and not n.value.args
        and n.value.func.id in functions
    ]
    return {node.lineno: node for some in (body, *called) for node in _of(some, holds)}


def at_the_margin(text: str, holds: Holds | None = None) -> str:
    """Return the text with every import that is surely done at the left margin, on the line on which it stands."""
    lines = text.split("\n")
    for number, node in (sure_imports(text, holds) or {}).items():
        if node.col_offset:
            lines[number - 1] = ast.unparse(node)
    return "\n".join(lines)


def has_known_branches(text: str) -> bool:
    """Whether a text has imports at its top level in a branch whose condition reading can answer, or in a function that it calls."""
    return bool(_BRANCH.search(text)) or any(f"def {m[1]}(" in text for m in _CALLED.finditer(text))


_BRANCH = late_pattern(r"(?m)^if[ \t]+(?:not[ \t]+)?(?:is_\w+_available\(\)|(?:typing\.)?TYPE_CHECKING)[ \t]*:")
_CALLED = late_pattern(r"(?m)^(\w+)\(\)[ \t]*(?:#[^\n]*)?\r?$")


def _of(body: Iterable[ast.stmt], holds: Holds | None = None) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom():
                yield node
            case ast.With():
                yield from _of(node.body, holds)
            case ast.Try():
                if all(_ends(h.body) for h in node.handlers if _catches(h.type)):
                    yield from _of((*node.body, *node.orelse), holds)
                yield from _of(node.finalbody, holds)
            case ast.If(test=test, body=first, orelse=second):
                answer = _answer(test, holds)
                if answer is not None:
                    yield from _of(first if answer else second, holds)
                elif any(isinstance(n, ast.Return) for n in ast.walk(node)):
                    return  # what follows in a function is not sure
            case ast.Return() | ast.Raise():
                return


def _answer(test: ast.expr, holds: Holds | None) -> bool | None:
    """Return what a condition comes to that asks for a module, or for the type checker; None for any other."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            answer = _answer(inner, holds)
            return None if answer is None else not answer
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.Call(func=ast.Name(id=name), args=[]) if name.startswith("is_") and name.endswith("_available"):
            module = name.removeprefix("is_").removesuffix("_available")
            return holds(module) if holds is not None and module in _ASKED else None
    return None


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


def bound_modules(step: re.Match[str], package: str) -> dict[str, str]:
    """Return the names that an import may give to modules, each with the module's own name."""
    if step["modules"]:
        words = [one.split() for one in step["modules"].split(",")]
        return {w[-1]: w[0] for w in words if len(w) == 3} | {
            w[0].partition(".")[0]: w[0].partition(".")[0] for w in words if len(w) == 1
        }
    module = next((m for kind, m, _names in tasks_of(step, package) if kind == "names"), "")
    plain = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
    words = [part.split() for part in plain.split(",") if part.split()]
    return {w[-1]: f"{module}.{w[0]}" for w in words if module}


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


def top_level_lines(text: str) -> Mapping[int, object] | None:
    """Return the lines on which a module's own imports, assignments, classes and decorators begin; None where it cannot be parsed."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: dict[int, object] = {}
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assign(value=ast.Attribute() | ast.Call()):
                found[node.lineno] = node
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found |= {one.lineno: one for one in node.decorator_list}
                if isinstance(node, ast.ClassDef):
                    found[node.lineno] = node
    return found


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
