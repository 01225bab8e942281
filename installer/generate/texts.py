"""Every text of the program that can be translated: from calls of ``_`` and its kin, the Snapshot's words, and the tables.

Texts that probes write into the Snapshot stay English there, so they are not marked where they stand: whatever reads like
English in the modules that write facts is taken as a form, and shown translated by ``core.common.i18n.told``.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
FACT = "fact"
"""The context of texts in the Snapshot."""
WRITERS = (
    "core/probes",
    "core/loader",
    "core/host",
    "core/benchmark",
    "core/knowledge/gpu_rates.py",
    "core/transaction/windows_variable_store.py",
)
"""Where facts are written."""
NO_WRITERS = ("core/benchmark/terminal_table.py", "tests/host/fake.py")
SCRIPTS = ("torch_script.py", "framework_script.py")
"""Modules that hold a script for another interpreter: its texts are found in the script itself."""
VOCABULARIES = (
    "core/model/facts/",
    "core/rules/frameworks/grid.py",
    "core/transaction/journal.py",
    "core/loader/files.py",
    "core/common/progress.py",
)
"""Where Literal types and enumerations list words that are shown."""
NEVER_SHOWN = re.compile(r"[A-Z0-9_./\\-]*|[a-z0-9]+[_-][a-z0-9_-]+|utf-8|ascii|.{0,1}")
TABLES: dict[str, tuple[str, ...]] = {
    "causes": ("meaning",),
    "codes": ("family", "meaning", "usually"),
    "messages": ("meaning", "usually"),
    "clues": ("because", "decides"),
    "hints": ("meaning", "next"),
    "releases": ("what",),
    "wrong_cures": ("title", "harm", "undo"),
    "compatibility": ("fact",),
    "frameworks": ("fact",),
    "gpu_rates": ("meaning",),
    "environment": ("says",),
    "cudnn": ("fact", "meaning"),
}
"""File of resources/knowledge -> the fields that a person reads."""
ARGPARSE = (
    "usage: ", "positional arguments", "options", "show this help message and exit",
    "show program's version number and exit", "the following arguments are required: %s", "unrecognized arguments: %s",
    "expected one argument", "invalid %(type)s value: %(value)r", "not allowed with argument %s",
    "%(prog)s: error: %(message)s\n", "argument %(argument_name)s: %(message)s",
    "invalid choice: %(value)r (choose from %(choices)s)",
)  # fmt: skip
"""What the standard library's reader of command lines says to a person."""


class Text(NamedTuple):
    """One text: its English form, the plural if it has one, and its context."""

    message: str
    plural: str = ""
    context: str = ""


@functools.cache
def every_text() -> tuple[Text, ...]:
    """Return all texts, each once, sorted."""
    found = {Text(t) for t in ARGPARSE}
    for folder in ("core", "gui"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.update(_marked(tree))
            if name.startswith(WRITERS) and name not in NO_WRITERS:
                found.update(_facts(tree, scripts=path.name in SCRIPTS))
            if name.startswith(VOCABULARIES):
                found.update(_words(tree))
    for name, fields in TABLES.items():
        data = json.loads((ROOT / "resources" / "knowledge" / f"{name}.json").read_text(encoding="utf-8"))
        found.update(Text(t) for t in _fields(data, fields))
    plain = {t.message for t in found if not t.context}
    plurals = {t.message for t in found if t.plural}
    kept = [t for t in found if (t.plural or t.context or t.message not in plurals)]
    shown = (t for t in kept if t.message and not (t.context and t.message in plain))
    return tuple(sorted(shown, key=lambda t: (t.context, t)))


def _marked(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            given = [a.value for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if node.func.id in ("_", "N_") and given:
                yield Text(given[0])
            elif node.func.id == "n_" and len(given) == 2:
                yield Text(given[0], given[1])
            elif node.func.id == "said" and given:
                yield Text(given[0], context=FACT)


# --- facts -------------------------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"[a-z]{2,}[,:;]? +[a-zA-Z{(]|[a-z]{2,}[,:]? *\{|\} [a-z(]{2,}")
_MACHINE = re.compile(r"(import |sudo|pip|conda|export|/|\\|<|--|\^|\(\?|rb?\b)|.*(\\[bdswA-Z]|\(\?|\.\*|</|\[\^)")


def _facts(tree: ast.Module, *, scripts: bool) -> Iterator[Text]:
    skipped = _not_texts(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            form = form_of(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if scripts and "\n" in node.value and "import" in node.value:
                yield from _facts(ast.parse(node.value), scripts=False)
                continue
            form = node.value
        else:
            continue
        bare = re.sub(r"\{\w+\}", "X", form)
        if " " in bare and "\n" not in form and len(form) < 400 and _SENTENCE.search(form) and not _MACHINE.match(form):
            yield Text(form, context=FACT)


def _not_texts(tree: ast.Module) -> set[int]:
    """Return the nodes that are no texts: documentation, annotations, comparisons, parts of f-strings, patterns, errors of ours."""
    out: set[int] = set()
    for node in ast.walk(tree):
        inner: list[ast.AST] = []
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inner = [node.value]
        elif isinstance(node, ast.JoinedStr):
            inner = [n for v in node.values for n in ast.walk(v) if not isinstance(v, ast.FormattedValue)]
            inner += [
                n
                for v in node.values
                if isinstance(v, ast.FormattedValue) and v.format_spec
                for n in ast.walk(v.format_spec)
            ]
        elif isinstance(node, ast.Compare | ast.Subscript):
            inner = [n for n in ast.walk(node) if isinstance(n, ast.Constant | ast.JoinedStr)]
        elif isinstance(node, ast.Call) and _name(node.func) in (
            "compile",
            "search",
            "match",
            "fullmatch",
            "sub",
            "findall",
        ):
            inner = list(ast.walk(node))
        elif isinstance(node, ast.Dict):
            inner = [k for k in node.keys if k is not None]
        out |= {id(n) for n in inner}
    return out


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def form_of(node: ast.JoinedStr) -> str:
    """Return an f-string with names in place of its expressions: ``f"{path.name} is {n} long"`` -> "{name} is {n} long"."""
    out, seen = "", {}
    for value in node.values:
        if isinstance(value, ast.Constant):
            out += str(value.value)
        elif isinstance(value, ast.FormattedValue):
            source = ast.unparse(value.value)
            if source not in seen:
                words = re.findall(r"[A-Za-z_]\w*", re.sub(r"'[^']*'", "", source)) or ["it"]
                wanted = words[-1].strip("_") or "it"
                name, n = wanted, 2
                while name in seen.values():
                    name, n = f"{wanted}{n}", n + 1
                seen[source] = name
            out += "{" + seen[source] + "}"
    return out


def _words(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        values: list[ast.AST] = []
        if isinstance(node, ast.Subscript) and _name(node.value) == "Literal":
            values = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        elif isinstance(node, ast.ClassDef) and any(_name(b) == "StrEnum" for b in node.bases):
            values = [s.value for s in node.body if isinstance(s, ast.Assign)]
        for value in values:
            if (
                isinstance(value, ast.Constant)
                and isinstance(value.value, str)
                and not NEVER_SHOWN.fullmatch(value.value)
            ):
                yield Text(value.value)


# --- tables ------------------------------------------------------------------------------------------------------


def _fields(data: object, wanted: tuple[str, ...]) -> Iterator[str]:
    if isinstance(data, list):
        for item in data:
            yield from _fields(item, wanted)
    elif isinstance(data, dict):
        for key, value in data.items():
            if key in wanted and isinstance(value, str):
                yield value
            elif key in wanted and isinstance(value, dict):
                yield from (v for v in value.values() if isinstance(v, str))
            elif isinstance(value, list | dict):
                yield from _fields(value, wanted)
