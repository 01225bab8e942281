"""The tests as a plug-in of pytest: once as the code is, to see which reach what; then, in a child each, with one change."""

from __future__ import annotations

import functools
import gc
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from .mutants import Mutant

TESTS = (
    "tests/test_snapshots.py",
    "tests/fixing/test_fixes.py",
    "tests/malice/test_plans.py",
    "tests/rules",
    "tests/knowledge/test_knowledge.py",
    "tests/explain/test_statements.py",
    "tests/explain/test_verdicts.py",
    "tests/explain/test_tables.py",
    "tests/explain/test_foreign_and_cures.py",
    "tests/explain/test_mechanism.py",
    "tests/explain/test_every_machine.py",
    "tests/variation",
    "tests/transaction",
    "tests/fixing/test_lines.py",
    "tests/benchmark/test_rules.py",
    "tests/benchmark/test_numbers.py",
    "tests/fixing/test_changes.py",
    "tests/fixing/test_order.py",
    "tests/fixing/test_attributes.py",
    "tests/fixing/test_malice.py",
    "tests/fixing/test_renewal.py",
    "tests/fixing/test_place.py",
    "tests/fixing/test_cured.py",
)
QUICK = 0.8
"""Seconds: a test that took longer while its lines were noted is not asked, or a run would take hours."""
PATIENCE = 300, 3600
"""Seconds of the processor's and of the clock's time for one change; a program that hangs is noticed."""

Line = tuple[str, int]


class Trial:
    """Runs each test once and notes its lines, then tries each change in a child, `jobs` at a time."""

    def __init__(self, root: Path, mutants: list[Mutant], jobs: int, tell: Callable[[Mutant, str], None]) -> None:
        self.root, self.mutants, self.jobs, self.tell = root, mutants, jobs, tell
        self.paths = {str(root / m.path): m.path for m in mutants}
        self.seconds: dict[pytest.Item, float] = {}
        self.reached: dict[Line, set[pytest.Item]] = defaultdict(set)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work in place of pytest's own loop."""
        self.look(session.items)
        functions = [
            f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__code__.co_filename in self.paths
        ]
        caches = [c for c in gc.get_objects() if isinstance(c, functools._lru_cache_wrapper)]
        print(f"\n{len(self.seconds)} of {len(session.items)} tests pass and are quick", flush=True)
        gc.freeze()
        running: dict[int, tuple[Mutant, int]] = {}
        for mutant in self.mutants:
            while len(running) >= self.jobs:
                self.end(running)
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                os.write(writing, self.child(mutant, functions, caches).encode())
                os._exit(0)
            os.close(writing)
            running[child] = mutant, reading
        while running:
            self.end(running)
        return True

    def look(self, items: list[pytest.Item]) -> None:
        """Run the tests as the code is, and keep those that are quick and pass, each with the lines that it came through."""
        lines = coverage.Coverage(data_file=None, include=[*self.paths])
        lines.start()
        for item, after in zip(items, [*items[1:], None], strict=True):
            lines.switch_context(item.nodeid)
            begun = os.times()
            reports = runtestprotocol(item, log=False, nextitem=after)
            seconds = sum(os.times()[:4]) - sum(begun[:4])  # its children's too
            if seconds <= QUICK and all(r.passed for r in reports):
                self.seconds[item] = seconds
        lines.stop()
        kept = {item.nodeid: item for item in self.seconds}
        for path, name in self.paths.items():
            for line, contexts in lines.get_data().contexts_by_lineno(path).items():
                self.reached[name, line] = {kept[c] for c in contexts if c in kept}

    def child(self, mutant: Mutant, functions: list[FunctionType], caches: list[Any]) -> str:
        """The test that notices the change; "" when none does."""
        signal.setitimer(signal.ITIMER_PROF, PATIENCE[0])
        signal.alarm(PATIENCE[1])
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        name = str(self.root / mutant.path)
        old, new = (compile(code, name, "exec", dont_inherit=True) for code in (mutant.old, mutant.code))
        swapped = dict(pairs(old, new))
        for function in functions:
            code = swapped.get(function.__code__)
            if code is not None and len(code.co_freevars) == len(function.__code__.co_freevars):
                function.__code__ = code
        for cache in caches:
            cache.cache_clear()
        tests = self.order(mutant)
        for item, after in zip(tests, [*tests[1:], None], strict=True):
            if any(r.failed for r in runtestprotocol(item, log=False, nextitem=after)):
                return item.nodeid
        return ""

    def order(self, mutant: Mutant) -> list[pytest.Item]:
        """The tests that come through the changed line, file by file, the quickest first."""
        found = set().union(*(self.reached[mutant.path, line] for line in mutant.lines))
        cost: dict[Path, float] = defaultdict(float)
        for item in found:
            cost[item.path] += self.seconds[item]
        return sorted(found, key=lambda i: (cost[i.path], i.path, self.seconds[i], i.nodeid))

    def end(self, running: dict[int, tuple[Mutant, int]]) -> None:
        """Wait for a child and tell what it saw."""
        child, status = os.waitpid(-1, 0)
        mutant, reading = running.pop(child)
        with os.fdopen(reading) as answer:
            said = answer.read()
        self.tell(mutant, said or ("it hangs or ends the program" if status else ""))


def pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Each function's code with its code after the change."""
    inner, after = ([c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new))
    for one, other in zip(inner, after, strict=False):
        if one.co_name == other.co_name:
            if one != other:
                yield one, other
            yield from pairs(one, other)
