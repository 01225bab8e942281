"""Whether programs that do not name httpx make a client of it, by what they import or call: it reads its variables there."""

from __future__ import annotations

import ast
import re
from collections import deque

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of
from core.knowledge.contracts import variable_contracts
from core.knowledge.modules import module_table
from core.probes.probe import ProbeRequest
from core.probes.python.following.dotted_modules import DottedModules, package_of
from core.probes.python.programs.program_folder import own_texts, texts_of_programs
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.module_text import behind_docstring, imported_names, imports_at_the_margin, packages_spelt
from core.probes.sysroot import Sysroot

MAKER = "httpx"
"""The distribution, and the module."""

CLIENTS = ("httpx.Client", "httpx.AsyncClient")
MOST_BYTES, MOST_NAMES = 8 << 20, 20_000
"""Source that is read for all programs of one environment, and names that may be modules: openai has 1500 modules."""

_MADE = late_pattern(
    r"(?m)^(?:\w+[ \t]*(?::[^=\n]*)?=[ \t]*)?(?P<whose>httpx\.|)(?:Async)?Client\((?P<given>[^()]*(?:\([^()]*\)[^()]*)*)\)"
)
"""A client that is made at the left margin; its source: httpx/_client.py, where __init__ makes a transport for each proxy."""
_BY_NAME = late_pattern(r"(?m)^from[ \t]+httpx[ \t]+import\b[^\n]*\b(?:Async)?Client\b")
_OWN_TRANSPORT = late_pattern(r"\btransport[ \t]*=[ \t]*(\w+)")
_NO_VARIABLES = late_pattern(r"\b(?:trust_env[ \t]*=[ \t]*False|proxy[ \t]*=(?![ \t]*None))")


_OBJECT = late_pattern(r"(?m)^\w+[ \t]*(?::[^=\n]*)?=[ \t]*([A-Z]\w*)\(")
"""An object that a module makes at the left margin."""
_ASKS = late_pattern(
    r"\bhttpx\.(?:(?:Async)?Client|get|post|put|head|request|stream)\((?![^()]*\btrust_env[ \t]*=[ \t]*False)"
)
_DERIVED = late_pattern(r"(?m)^[ \t]*class[ \t]+\w+\((?:[\w.]+[ \t]*,[ \t]*)*httpx\.(?:Async)?Client\b")
"""A package's own client, which its classes make: openai, anthropic."""


def without_makers(
    idle: tuple[str, ...], request: ProbeRequest, search: ModuleSearch, where: Sysroot
) -> tuple[str, ...]:
    """Return the idle distributions, without one whose client is made as the programs of the folder import another package, or make an
    object of a class of one that derives its own client.
    """
    variables = {c.variable for c in variable_contracts() if c.readers and re.fullmatch(c.readers, MAKER)}
    if MAKER not in idle:
        return idle
    around = (own_texts(request, where) or {}).values()  # a script may set one
    if variables.isdisjoint(name.upper() for name in request.env) and not any(
        name in text.upper() for text in around for name in variables
    ):
        return idle
    texts = texts_of_programs(request, where)
    frameworks = {row.module.partition(".")[0] for row in module_table().modules}
    tops = {top for text in texts for top in packages_spelt(text)} - frameworks
    made_of = {top: frozenset(name for text in texts for name in _made_objects(text, top)) for top in tops}
    return tuple(n for n in idle if n != MAKER) if _make_clients(made_of, search, where) else idle


def _made_objects(text: str, top: str) -> set[str]:
    """Return the classes of a package that a program calls, by the names that they have there."""
    called = re.findall(rf"(?m)^[ \t]*import[ \t]+{top}(?:\.\w+)*[ \t]+as[ \t]+(\w+)", text)
    names = set(re.findall(rf"\b(?:{'|'.join((top, *called))})(?:\.\w+)*\.([A-Z]\w*)\(", text))
    taken = re.findall(rf"(?m)^[ \t]*from[ \t]+{top}\b[\w.]*[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)", text)
    given = {name for one in taken for name in re.findall(r"\b[A-Z]\w*", one)}
    return names | {name for name in given if re.search(rf"\b{name}\(", text)}


def _make_clients(made_of: dict[str, frozenset[str]], search: ModuleSearch, where: Sysroot) -> bool:
    """Whether one of these packages makes an httpx client when a program uses it.

    A module makes one, or derives its own class from httpx's client, or defines a class that uses httpx; in the last
    two cases a program must make objects of the package. Only modules count to which imports at the left margin lead.
    """
    tops, at_once = set(made_of), dict.fromkeys(made_of, frozenset[str]())
    found = DottedModules(search, where, MOST_BYTES)
    waiting, seen = deque(sorted(tops)), set(tops)
    while waiting and len(seen) < MOST_NAMES and found.left > 0:
        dotted = waiting.popleft()
        its, top = found.find(dotted), dotted.partition(".")[0]
        text = found.text(its) if its.kind in ("package", "module") else ""
        classes = made_of[top]
        at_once[top] |= {*_OBJECT.findall(text)}
        if MAKER in text and (
            makes_client(text)
            or (classes and _DERIVED.search(text))
            or _uses_in_class(text, classes)
            or _makes_in_class(text, at_once[top])
            or _makes_as_defined(text)
        ):
            return True
        for step in imports_at_the_margin(text, behind_docstring(text)):
            for module, names in imported_names(step, package_of(dotted, its)):
                parts = module.split(".") if module.partition(".")[0] == top else []
                above = [".".join(parts[: n + 1]) for n in range(len(parts))]
                more = dict.fromkeys((*above, *(f"{module}.{name}" for name in (names or ()) if parts)))
                waiting += [m for m in more if m not in seen]
                seen |= set(more)
    return False


def _uses_in_class(text: str, names: frozenset[str]) -> bool:
    """Whether a module that defines one of these classes asks something by httpx, which makes a client for it."""
    return _ASKS.search(text) is not None and any(re.search(rf"(?m)^class[ \t]+{name}\b", text) for name in names)


def _makes_in_class(text: str, names: frozenset[str]) -> bool:
    """Whether each object of one of these classes makes a client, or has its base make one: as ``import ollama`` does."""
    its = (n for n in statements_of(text) if isinstance(n, ast.ClassDef) and n.name in names)
    begins = (n for one in its for n in one.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    made = (n.value for one in begins for n in one.body if isinstance(n, ast.Expr | ast.Assign | ast.AnnAssign))
    return any(_is_made(call) for call in made if isinstance(call, ast.Call))


def _makes_as_defined(text: str) -> bool:
    """Whether the body of a class makes a client, which it does as the module is imported: as gradio 3.41's AsyncRequest does."""
    bodies = (n.body for n in statements_of(text) if isinstance(n, ast.ClassDef))
    made = (n.value for body in bodies for n in body if isinstance(n, ast.Assign | ast.AnnAssign))
    return any(_is_made(call) for call in made if isinstance(call, ast.Call))


def _is_made(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name == "super().__init__":
        return any(ast.unparse(a) in CLIENTS for a in call.args)
    return name in CLIENTS and not any(k.arg in ("transport", "proxy", "trust_env") for k in call.keywords)


def makes_client(text: str) -> bool:
    """Whether a module makes a client of httpx at its left margin that takes its proxies from variables."""
    by_name = bool(_BY_NAME.search(text))
    for made in _MADE.finditer(text):
        transport = _OWN_TRANSPORT.search(made["given"])
        own = transport and transport[1] != "None" and not re.search(rf"(?m)^{transport[1]}[ \t]*=[ \t]*None\b", text)
        if (made["whose"] or by_name) and not own and not _NO_VARIABLES.search(made["given"]):
            return True
    return False
