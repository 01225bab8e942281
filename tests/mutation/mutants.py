"""The changes: what Cosmic Ray's operators can do to the modules that decide, of which a seed draws a sample."""

from __future__ import annotations

import ast
import difflib
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators import (
    boolean_replacer,
    break_continue,
    comparison_operator_replacement,
    unary_operator_replacement,
    zero_iteration_for_loop,
)
from cosmic_ray.operators.operator import Operator

SCOPE = (
    "core/rules/**/*.py",
    "core/model/changes.py",
    "core/model/path_list.py",
    "core/fixes/*.py",
    "core/transaction/preconditions.py",
    "core/transaction/file_preconditions.py",
    "core/transaction/broker/*.py",
    "core/explain/mechanism/*.py",
    "core/explain/verdicts.py",
)

ALIKE = ({"Eq", "NotEq"}, {"Is", "IsNot"}, {"Lt", "LtE", "Gt", "GtE"})
"""A comparison becomes another of its own sort: the order of two words, say, means nothing."""


def turned_round(operator: type[Operator]) -> bool:
    """Whether an operator is named for two comparisons of one sort (`ReplaceComparisonOperator_Lt_LtE`)."""
    return any(set(operator.__name__.split("_")[1:]) <= sort for sort in ALIKE)


OPERATORS: tuple[type[Operator], ...] = (
    *(o for o in comparison_operator_replacement.operators() if turned_round(o)),
    *(o for o in unary_operator_replacement.operators() if "Delete_Not" in o.__name__),
    boolean_replacer.AddNot,
    boolean_replacer.ReplaceAndWithOr,
    boolean_replacer.ReplaceOrWithAnd,
    boolean_replacer.ReplaceTrueWithFalse,
    boolean_replacer.ReplaceFalseWithTrue,
    break_continue.ReplaceBreakWithContinue,
    break_continue.ReplaceContinueWithBreak,
    zero_iteration_for_loop.ZeroIterationForLoop,
)


@dataclass(frozen=True)
class Mutant:
    """One change: the line before and after it, the lines of its statement, its function, the module's code before and after."""

    path: str
    line: int
    lines: range
    function: str
    before: str
    after: str
    old: str
    code: str

    @property
    def name(self) -> str:
        """What stays the same while lines above it come and go."""
        return f"{self.path}:{self.function}: {self.before} -> {self.after}"


def sample(root: Path, seed: int, number: int) -> tuple[list[Mutant], int]:
    """`number` places drawn by `seed`, one change each, and how many places there are.

    A place is drawn by its own name, so that an edit elsewhere leaves the sample as it is.
    """
    places = [(drawn(seed, name), path, turns) for path in modules(root) for name, turns in changes(root, path).items()]
    found: list[Mutant] = []
    for rank, path, turns in sorted(places, key=lambda p: p[0]):
        made = mutant(root, path, *turns[int(rank, 16) % len(turns)])
        found += [made] if made else []
        if len(found) == number:
            break
    return found, len(places)


def drawn(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()


def modules(root: Path) -> list[Path]:
    return [path for pattern in SCOPE for path in sorted(root.glob(pattern))]


def changes(root: Path, path: Path) -> dict[str, list[tuple[Operator, int]]]:
    """Each place in a module, by a name that says what stands there, with its changes: an operator and which of its turns."""
    code = path.read_text(encoding="utf-8")
    lines = code.splitlines()
    seen = Places()
    seen.walk(get_ast(code))
    names: dict[str, list[tuple[Operator, int]]] = {}
    for (start, kind), turns in sorted(seen.found.items(), key=lambda f: f[0]):
        name = f"{path.relative_to(root).as_posix()} {kind} {lines[start[0] - 1].strip()}"
        while name in names:
            name += " again"
        names[name] = turns
    return names


class Places(Visitor):
    """Where each operator can change a module, and which of its turns that is."""

    def __init__(self) -> None:
        self.operators = [kind() for kind in OPERATORS]
        self.turns = dict.fromkeys(OPERATORS, 0)
        self.found: dict[tuple[tuple[int, int], str], list[tuple[Operator, int]]] = {}

    def visit(self, node: Any) -> Any:
        for operator in self.operators:
            kind = type(operator)
            for start, _ in operator.mutation_positions(node):
                place = (start, kind.__name__.split("_")[0])
                self.found.setdefault(place, []).append((operator, self.turns[kind]))
                self.turns[kind] += 1
        return node


def mutant(root: Path, path: Path, operator: Operator, turn: int) -> Mutant | None:
    """The change made; None where the program stays the same, and for a module's own lines."""
    old = path.read_text(encoding="utf-8")
    new = mutate_code(old, operator, turn)
    if new is None or not differs(old, new):
        return None
    line, before, after = first_difference(old, new)
    tree = ast.parse(old)
    name = function(tree, line)
    where = path.relative_to(root).as_posix()
    return Mutant(where, line, statement(tree, line), name, before, after, old, new) if name else None


def differs(old: str, new: str) -> bool:
    try:
        return ast.dump(ast.parse(old)) != ast.dump(ast.parse(new))
    except SyntaxError:
        return False


def first_difference(old: str, new: str) -> tuple[int, str, str]:
    before, after = old.splitlines(), new.splitlines()
    for tag, i1, _, j1, _ in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            return i1 + 1, before[i1].strip(), after[j1].strip()
    raise ValueError("no line differs")


def function(tree: ast.Module, line: int) -> str:
    """The function in whose body a line is; "" for a module's own lines, which run before any test."""
    within = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and f.body[0].lineno <= line <= last(f)]
    return ".".join(f.name for f in within)


def statement(tree: ast.Module, line: int) -> range:
    """The lines of the innermost statement around a line, without those of its body."""
    found = max(
        (s for s in ast.walk(tree) if isinstance(s, ast.stmt) and s.lineno <= line <= last(s)), key=lambda s: s.lineno
    )
    body = getattr(found, "body", None)
    return range(found.lineno, max(found.lineno + 1, body[0].lineno) if body else last(found) + 1)


def last(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno
