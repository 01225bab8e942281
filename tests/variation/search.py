"""Looks for variations that show something new: a sentence of a report, or an outcome of a condition in the rules.

``python -m tests.variation.search [--seconds 300] [--seed 1] [--types REGEX]`` adds what it finds to the file.
With ``--types`` it varies only the facts of these types: "Import.*|Ended.*" after a rule that reads them.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.machinery
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[2]
WATCHED = ("core.rules", "core.fixes", "core.model.changes", "core.model.path_list")
ENOUGH = 3
"""Machines that show an outcome; further ones show nothing new."""
NEAR = 0.4
"""Share of the trials with a value that is next to the fact's own."""

OUTCOMES: set[tuple[int, bool]] = set()
"""What the conditions came to since the set was emptied: number of the condition, and its truth."""


def _note(number: int, value: Any) -> Any:
    OUTCOMES.add((number, bool(value)))
    return value


class _Watch(ast.NodeTransformer):
    """Has every condition tell what it comes to."""

    count = 0

    def _noted(self, node: ast.expr) -> ast.expr:
        _Watch.count += 1
        return ast.Call(ast.Name("_note", ast.Load()), [ast.Constant(_Watch.count), node], [])

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        node.values = [self._noted(v) for v in node.values]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        return self._noted(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self._noted(node) if isinstance(node.op, ast.Not) else node

    def visit_If(self, node: ast.If) -> ast.stmt:
        self.generic_visit(node)
        node.test = self._noted(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        node.test = self._noted(node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.ifs = [self._noted(i) for i in node.ifs]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.body = [self.visit(n) for n in node.body]
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:
        tree = ast.fix_missing_locations(_Watch().visit(ast.parse(data)))
        return compile(tree, path, "exec", dont_inherit=True)

    def get_code(self, fullname: str) -> Any:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["_note"] = _note
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not name.startswith(WATCHED):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.origin and spec.origin.endswith(".py"):
            spec.loader = _Loader(name, spec.origin)
        return spec


def plain_line(line: str) -> str:
    """Return a line of a report without its names and numbers."""
    line = re.sub(r"[\w.+~-]*[/\\][^\s|;,]*", "/", line)
    return re.sub(r"\d+(?:\.\d+)*", "0", line)


def main() -> None:
    """Search, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--types", type=re.compile, default=re.compile(""), help="vary only facts of these types")
    options = parser.parse_args()
    sys.meta_path.insert(0, _Finder())
    from tests.variation import facts, written  # the rules, watched

    dice = random.Random(options.seed)
    snapshots = {name: written.machine(name) for name in written.MACHINES}
    other = facts.Alternatives(snapshots)
    hits: Counter[tuple[int, bool]] = Counter()
    lines: set[str] = set()
    for name in snapshots:
        OUTCOMES.clear()
        lines.update(map(plain_line, written.base(name)))
        hits.update(OUTCOMES)
    kept = [variation for variation, _said in written.written()]
    for each in kept:
        OUTCOMES.clear()
        lines.update(plain_line(line[2:]) for line in written.said_otherwise(each))
        hits.update(OUTCOMES)
    places = {name: list(facts.facts_of(seen)) for name, seen in snapshots.items()}
    by_key: dict[facts.Key, list[tuple[str, str, object]]] = {}
    for name, found in places.items():
        for path, key, value in found:
            by_key.setdefault(key, []).append((name, path, value))
    keys = sorted(key for key in by_key if options.types.match(key[0]))
    order = {name: number for number, name in enumerate(written.MACHINES)}
    known = {(v.machine, v.line) for v in kept}
    tried = 0
    end = time.process_time() + options.seconds
    while time.process_time() < end:
        key = dice.choice(keys)
        name, path, value = dice.choice(by_key[key])
        choices = other.of(key, value)
        if not choices:
            continue
        one = dice.choice(choices[:4] if dice.random() < NEAR else choices)
        variation = written.Variation(name, path, one)
        if (name, variation.line) in known:
            continue
        known.add((name, variation.line))
        tried += 1
        OUTCOMES.clear()
        try:
            said = written.said_otherwise(variation)
        except (LookupError, TypeError, msgspec.ValidationError):
            continue
        new = {plain_line(line[2:]) for line in said if line.startswith("+")} - lines
        fresh = [o for o in OUTCOMES if hits[o] < (ENOUGH if said else 1)]
        if new or fresh:
            kept.append(variation)
            lines |= new
            hits.update(OUTCOMES)
    kept.sort(key=lambda v: (order[v.machine], v.path, v.line))
    written.write(kept)
    both = len([o for o in hits if o[1] and (o[0], False) in hits])
    print(f"{tried} tried, {len(kept)} kept; {both} of {_Watch.count} conditions came to both outcomes")


if __name__ == "__main__":
    main()
