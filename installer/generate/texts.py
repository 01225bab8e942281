"""Every text of the program that can be translated: from calls of ``_``, ``fact_text`` and their kin, and from the tables."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from core.common.syntax_tree import last_name

ROOT = Path(__file__).resolve().parents[2]
FACT = "fact"
"""The context of texts in the Snapshot."""
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
    "clues": ("because", "decides", "ask", "answer"),
    "hints": ("meaning", "next"),
    "steps": ("checks", "step"),
    "kernel_log": ("meaning", "next", "usually", "actions"),
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


_WORD = re.compile(r"[A-Za-z]")
"""A form of ``fact_text`` without one, such as "{name}: {meaning}", is the same in every language."""


def _marked(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            given = [a.value for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            if node.func.id in ("_", "N_") and given:
                yield Text(given[0])
            elif node.func.id == "n_" and len(given) == 2:
                yield Text(given[0], given[1])
            elif node.func.id == "fact_text" and given and _WORD.search(re.sub(r"\{\w+\}", "", given[0])):
                yield Text(given[0], context=FACT)


def _words(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        values: list[ast.AST] = []
        if isinstance(node, ast.Subscript) and last_name(node.value) == "Literal":
            values = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        elif isinstance(node, ast.ClassDef) and any(last_name(b) == "StrEnum" for b in node.bases):
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
