"""Imports and names in a module's text, found mostly without Python's parser. Reads no file."""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Iterable, Iterator
from functools import cache

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of

IMPORT = late_pattern(
    r"^(?:import[ \t]+(?P<modules>[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)"
    r"|from[ \t]++(?P<dots>\.*)[ \t]*+(?P<module>[\w.]*)[ \t]*+import[ \t]*+(?P<names>\([^)]*\)|[^\n#\\]*(?:\\\r?\n[^\n#\\]*)*))",
    re.MULTILINE,
)
EXTENDS_PATH = late_pattern(
    r"\bsys\.path(?:\.(?:append|extend|insert)\b|\[|[ \t]*\+?=(?!=))|\baddsitedir\(|\bhub\.load\([^()]{0,300}source[ \t]*=[ \t]*[\"']local"
)
"""How a module extends sys.path."""

FILLS_MODULES = late_pattern(
    r"\bsys\.modules(?:\[[^\]\n]*\][ \t]*=(?!=)|\.(?:setdefault|update|__setitem__)\()"
    r"|(?<!\bin )\bsys\.modules[ \t]*(?:$|[,;)#])|\bsys\.meta_path\.(?:insert|append)\(",
    re.MULTILINE,
)
"""How a module makes others importable under a name that it spells: by an entry, by handing the table on, or by a finder."""

MAKES_MODULES = ("sys.modules", "meta_path", "\nexec(", "__path__")
"""How ``import package.module`` finds modules that are not in its folder.

It does not call ``__getattr__`` for these.
"""

_DOCUMENTED = late_pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*+[rRuU]?(\"{3}|'{3})")
"""The docstring at the beginning of a module, whose examples may have imports at the left margin."""


_BLOCK = late_pattern(
    r"\n(?:try[ \t]*:|else[ \t]*:|elif\b|with\b|\w+\(\)[ \t]*(?:#[^\n]*)?\r?$|(?:\w+[ \t]*=[ \t]*)?(?:__import__|(?:importlib\.)?import_module)\(|raise\b|assert\b.*[vV]ersion|if\b(?!.*TYPE_CHECKING[ \t]*:|[ \t]*\(?__name__))",
    re.MULTILINE,
)


GUARD = late_pattern(r"^if [^\n]*[vV]er[^\n]*:[ \t]*\r?\n[ \t]+raise\b", re.MULTILINE)
"""How a module refuses a release as it is imported."""


_ATTRIBUTES = late_pattern(r"(?:\.[A-Za-z_]\w*)+")


def lines_with(text: str, *begins: str, start: int = 0) -> list[int]:
    """Return where lines begin with one of these words; a pattern that begins with ``^`` is tried at every letter, which takes ten times as long."""
    found = [m.end() for m in _line_that_begins(begins).finditer(text, start)]
    if text.startswith(begins, start) and (not start or text[start - 1] == "\n"):
        found.insert(0, start)
    return found


@cache
def _line_that_begins(begins: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\n(?={'|'.join(map(re.escape, begins))})")


def imports_of(module: str) -> re.Pattern[str]:
    """Return what finds the lines that import a module, or a part of it."""
    return re.compile(rf"(?m)^[ \t]*(?:import|from)[ \t]+{re.escape(module)}\b")


def imports_at_the_margin(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield each import at the left margin, as IMPORT matches it."""
    end = start
    for at in lines_with(text, "import", "from", start=start):
        if at >= end and (step := IMPORT.match(text, at)):
            yield step
            end = step.end()


def has_guard(text: str) -> bool:
    """Whether a module refuses a release as it is imported."""
    return "raise" in text and any(GUARD.match(text, at) for at in lines_with(text, "if "))


def fills_modules(text: str) -> bool:
    """Whether a module makes others importable itself."""
    return any(FILLS_MODULES.match(text, at.start()) for at in re.finditer(r"sys\.m", text))


def has_blocks(text: str) -> bool:
    """Whether the top level of a module has more than import statements, definitions and assignments."""
    return _BLOCK.search(f"\n{text}") is not None


def attributes_of(text: str, names: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the chains of attributes that a text looks up on these names, anywhere: ("np", "random", "rand")."""
    found = set()
    for name in names:  # one find for each: a pattern with all of them is tried at every letter
        at = text.find(f"{name}.")
        while at >= 0:
            end = at + len(name)
            before = text[at - 1 : at]
            if not (before.isalnum() or before in ("_", ".")) and (chain := _ATTRIBUTES.match(text, end)):
                found.add(name + chain[0])
            at = text.find(f"{name}.", end)
    return {tuple(one.split(".")) for one in found}


_TAKEN = late_pattern(
    r"^(?P<definition>class[ \t]+\w+\(|@|)(?:\w+[ \t]*=[ \t]*)?(?P<chain>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)", re.MULTILINE
)
"""What a statement at the left margin takes first: a class of its base, a decorator, a call, an assignment."""


def taken_at_the_margin(text: str, start: int, *, definitions: bool) -> Iterator[tuple[int, bool, list[str]]]:
    """Yield the chains that statements at the left margin take first: where they stand, and whether a class or a decorator does;
    ``definitions``: of no other statements.
    """
    steps: Iterable[re.Match[str]] = (
        (m for at in lines_with(text, "class", "@", start=start) if (m := _TAKEN.match(text, at)) and m["definition"])
        if definitions
        else _TAKEN.finditer(text, start)
    )
    yield from ((m.start(), bool(m["definition"]), m["chain"].split(".")) for m in steps)


def behind_docstring(text: str) -> int:
    """Return the offset of the text after the module's docstring."""
    begin = _DOCUMENTED.match(text)
    return max(text.find(begin[1], begin.end()), 0) if begin else 0


def imported_names(step: re.Match[str], package: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield each module that a line imports, with the names taken from it; None for ``import module``."""
    if step["modules"]:
        yield from ((one.split()[0], None) for one in step["modules"].split(","))
        return
    module = absolute_name(len(step["dots"]), step["module"], package)
    if module and (step["dots"] or module != "__future__"):
        plain = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
        names = tuple(words[0] for part in plain.split(",") if (words := part.split()))
        yield module, names if all(re.fullmatch(r"\w+|\*", n) for n in names) else ()


def modules_bound(step: re.Match[str], package: str) -> dict[str, str]:
    """Return the names that a line may bind to modules, each with its module's full name."""
    if step["modules"]:
        words = [one.split() for one in step["modules"].split(",")]
        plain = {w[0].partition(".")[0]: w[0].partition(".")[0] for w in words if len(w) == 1}
        return plain | {w[-1]: w[0] for w in words if len(w) == 3}
    module = absolute_name(len(step["dots"]), step["module"], package)
    plain_names = re.sub(r"#[^\n]*|\\\r?\n", " ", step["names"]).strip("() \t\r\n")
    parts = [part.split() for part in plain_names.split(",") if part.split()]
    return {w[-1]: f"{module}.{w[0]}" for w in parts if module and w[0] != "*"}


def absolute_name(dots: int, module: str, package: str) -> str:
    """Return the absolute name of a relative import; empty if it leads above the top level."""
    if not dots:
        return module
    parts = package.split(".")
    above = len(parts) - dots + 1
    if above < 1 or not package:
        return ""
    return ".".join([*parts[:above], *([module] if module else [])])


def modules_imported(node: ast.stmt, package: str = "") -> list[str]:
    """Return the modules that an import statement names, by their absolute names; none for another statement, nor for a relative import
    of a module without a package.
    """
    match node:
        case ast.Import(names=names):
            return [one.name for one in names]
        case ast.ImportFrom(module=module, level=dots):
            return [its] if (its := absolute_name(dots, module or "", package)) else []
    return []


_SPELT = late_pattern(
    r"(?m)(?:^[ \t]*|\")(?:from[ \t]+([A-Za-z_][\w.]*)[ \t]+import\b"
    r"|import[ \t]+([A-Za-z_][\w.]*(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[A-Za-z_][\w.]*(?:[ \t]+as[ \t]+\w+)?)*))"
)
"""An import in any line of a program, or of a notebook's cell."""


def refused_encoding(data: bytes) -> str:
    """Return the encoding of a program's bytes, or "?", where Python does not read them; empty where it does, or where they are no text.

    Source: PEP 263, PEP 3120. PowerShell 5 writes UTF-16 behind ``>``.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    if data.isascii() or b"\0" in data:
        return ""
    import io  # imported late: seldom needed
    import tokenize

    try:
        data.decode(tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    except UnicodeDecodeError as e:
        return "" if e.end == len(data) else "?"  # the end of what was read may lie within a letter
    except (SyntaxError, LookupError):
        return "?"
    return ""


def packages_spelt(text: str) -> list[str]:
    """Return the packages that the lines of a program or a notebook import, in their order, in functions and conditions, too."""
    rows = (row[1] or row[2] for row in _SPELT.finditer(text))
    return [re.split(r"[. \t]", one.strip())[0] for several in rows for one in several.split(",")]


def packages_imported(body: Iterable[ast.stmt]) -> dict[str, int]:
    """Return the packages that statements import whatever happens, each with its first line."""
    found: dict[str, int] = {}
    for node in body:
        for module in modules_imported(node):
            found.setdefault(module.partition(".")[0], node.lineno)
    return found


def binds_name(text: str, name: str, package: str = "") -> bool:
    """Whether a package's own text binds the name to something other than its submodule of that name.

    ``package``: the last part of its own name, as ``from jax import ops as ops`` in jax/__init__.py has it.
    """
    if f" as {name}" in text:
        its = rf"(?:\.|(?:[\w.]+\.)?{package or name})"
        text = re.sub(rf"(?m)^from[ \t]+{its}[ \t]+import[ \t]+{name}[ \t]+as[ \t]+{name}\b", "", text)
    ways = (
        f"def {name}(",
        f"class {name}(",
        f"class {name}:",
        f"\n{name} =",
        f"\n{name}:",
        f" as {name}\n",
        f" as {name},",
    )
    return name in text and any(way in text for way in ways)


def top_level_lines(text: str) -> frozenset[int]:
    """Return the lines on which a module's own imports, classes, decorators, calls and assignments begin; none if its text cannot be parsed."""
    body = statements_of(text)
    made = [n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)]
    decorators = (d.lineno for n in made for d in n.decorator_list)
    starts = (
        n.lineno for n in body if isinstance(n, ast.Import | ast.ImportFrom | ast.ClassDef | ast.Expr | ast.Assign)
    )
    return frozenset((*starts, *decorators))
