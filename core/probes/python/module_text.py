"""What a module's text says of imports and names, told without Python's parser as far as possible. No file is read here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from core.common.late_pattern import late_pattern

IMPORT = late_pattern(
    r"^(?:import[ \t]+(?P<modules>[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)"
    r"|from[ \t]++(?P<dots>\.*)[ \t]*+(?P<module>[\w.]*)[ \t]*+import[ \t]*+(?P<names>\([^)]*\)|[^\n#\\]*(?:\\\r?\n[^\n#\\]*)*))",
    re.MULTILINE,
)
EXTENDS_PATH = late_pattern(r"\bsys\.path(?:\.(?:append|extend|insert)\b|\[|[ \t]*\+?=(?!=))|\baddsitedir\(")
"""How a module adds folders to those that imports are looked up in."""

FILLS_MODULES = late_pattern(
    r"\bsys\.modules(?:\[[^\]\n]*\][ \t]*=(?!=)|\.(?:setdefault|update|__setitem__)\()"
    r"|(?<!\bin )\bsys\.modules[ \t]*(?:$|[,;)#])",
    re.MULTILINE,
)
"""How a module makes others importable under a name that it spells: by an entry, or by handing the table on."""

MAKES_MODULES = ("sys.modules", "meta_path", "\nexec(", "__path__")
"""How ``import package.module`` comes to modules that its folder does not hold; __getattr__ is not asked for these."""

_DOCUMENTED = late_pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[rRuU]?(\"{3}|'{3})")
"""The beginning of a module's docstring, in which examples have imports at the left margin."""


_BLOCK = late_pattern(
    r"^(?:try[ \t]*:|else[ \t]*:|elif\b|with\b|\w+\(\)[ \t]*(?:#[^\n]*)?\r?$|raise\b|if\b(?!.*TYPE_CHECKING[ \t]*:|[ \t]*\(?__name__))",
    re.MULTILINE,
)


def has_blocks(text: str) -> bool:
    """Whether a module has more at its top level than imports, definitions and assignments."""
    return _BLOCK.search(text) is not None


def attributes_of(text: str, names: Iterable[str]) -> set[tuple[str, ...]]:
    """Return what a text takes of names by attribute, wherever it does: ("np", "random", "rand")."""
    spelt = "|".join(map(re.escape, names))
    found = re.findall(rf"(?<![\w.])((?:{spelt})(?:\.[A-Za-z_]\w*)+)", text) if spelt else ()
    return {tuple(one.split(".")) for one in set(found)}


def behind_docstring(text: str) -> int:
    """Return where a module's text goes on behind its docstring."""
    begin = _DOCUMENTED.match(text)
    return max(text.find(begin[1], begin.end()), 0) if begin else 0


def imported(step: re.Match[str], package: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield what a line imports: each module, with the names that are taken of it; None for ``import module``."""
    if step["modules"]:
        yield from ((one.split()[0], None) for one in step["modules"].split(","))
        return
    module = absolute(len(step["dots"]), step["module"], package)
    if module and (step["dots"] or module != "__future__"):
        plain = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
        names = tuple(words[0] for part in plain.split(",") if (words := part.split()))
        yield module, names if all(re.fullmatch(r"\w+|\*", n) for n in names) else ()


def modules_bound(step: re.Match[str], package: str) -> dict[str, str]:
    """Return the names that a line may give to modules, each with the module's own name."""
    if step["modules"]:
        words = [one.split() for one in step["modules"].split(",")]
        plain = {w[0].partition(".")[0]: w[0].partition(".")[0] for w in words if len(w) == 1}
        return plain | {w[-1]: w[0] for w in words if len(w) == 3}
    module = absolute(len(step["dots"]), step["module"], package)
    plain_names = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
    parts = [part.split() for part in plain_names.split(",") if part.split()]
    return {w[-1]: f"{module}.{w[0]}" for w in parts if module and w[0] != "*"}


def absolute(dots: int, module: str, package: str) -> str:
    """Return the whole name of what an import names; empty for one above the top level."""
    if not dots:
        return module
    parts = package.split(".")
    above = len(parts) - dots + 1
    if above < 1 or not package:
        return ""
    return ".".join([*parts[:above], *([module] if module else [])])


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


def top_level_lines(text: str) -> frozenset[int]:
    """Return the lines on which a module's own imports begin; none where its text cannot be parsed."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(node.lineno for node in body if isinstance(node, ast.Import | ast.ImportFrom))


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
