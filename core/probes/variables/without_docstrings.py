"""Packages whose code needs the docstrings that PYTHONOPTIMIZE=2 leaves out, found by reading where the variable is set."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator

from core.knowledge.contracts import variable_contracts
from core.knowledge.modules import followed_distributions
from core.model.facts import Distribution, Frozen, PythonEnvironment, Vocabulary, path_text
from core.probes.kept_looks import kept_look
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import all_requirements, required_name
from core.probes.sysroot import Sysroot
from core.probes.variables.docstrings import uses_of_docstrings
from core.probes.wheel_record import read_record

NAME = "PYTHONOPTIMIZE"
MOST_TEXT, MAX_SECONDS = 1 << 20, 4.0
"""Bytes read of a module, and seconds of the processor after which no further package is begun."""

CALLED = re.compile(r"(?m)^(?:[ \t]*@|\w+[ \t]*=[ \t]*)(?:\w+\.)*(\w+)")
"""What decorates, or is called at the margin."""


class NeedsDocstrings(Frozen, frozen=True):
    """The first line of a package that fails without them."""

    path: str
    line: int


def _level(value: str) -> int:
    """Return the level that CPython makes of a value: 1 where it is no number (_Py_get_env_flag in Python/preconfig.c)."""
    digits = value.lstrip(" \t\n\v\f\r").removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return 1
    number = digits.lstrip("0")[:11] or "0"
    return int(number) if int(number) < 1 << 31 else 1


def without_docstrings(values: Iterable[str], request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield, for each environment, the packages that use a framework, or that nobody else requires, and whose code fails with one of these values."""
    strips = [v for v in values if _level(v) >= 2]
    told = [c.readers for c in variable_contracts() if c.variable == NAME]
    for python in request.seen.pythons or () if strips else ():
        end = time.thread_time() + MAX_SECONDS
        for its in _candidates(python, where):
            request.watch.check()
            if time.thread_time() > end:
                break
            if any(re.fullmatch(readers, its.name) for readers in told):
                continue

            def look(watched: Sysroot, its: Distribution = its) -> tuple[NeedsDocstrings | None, bool]:
                return _first_of(its, watched), True

            if found := kept_look("docstrings", its, NeedsDocstrings | None, look, where):
                yield Vocabulary(
                    variable=NAME,
                    prefix=python.prefix,
                    files=(path_text(found.path),),
                    unknown=tuple(path_text(v) for v in strips),
                    takes="docstrings",
                    line=found.line,
                    reader=its.name,
                    sure=False,
                )


def _candidates(python: PythonEnvironment, where: Sysroot) -> list[Distribution]:
    """Return the packages of an environment that a program is likely to import: those of frameworks, and that use one, and of the
    others that are listed those which nobody requires.
    """
    every = {d.name: d for folder in python.site_packages for d in all_requirements(folder, where)}
    rows = followed_distributions()
    frameworks = {n for n in every if any(re.fullmatch(p, n) for p in rows)}
    wanted = {d.name: {required_name(wish) for wish in (*d.pins, *d.requires)} for d in every.values()}
    using = frameworks | {name for name, its in wanted.items() if its & frameworks}
    required = frozenset().union(*wanted.values())
    alone = {d.name for d in python.distributions if d.name not in required}
    return [every[n] for n in sorted(every) if n in using | alone]


def _first_of(its: Distribution, where: Sysroot) -> NeedsDocstrings | None:
    """Return the first line of a package that needs docstrings: at the margin of a module in its own folder, or of a function that decorates."""
    rows = re.findall(r"(?m)^\"?((?!(?:[^,\n]*/)?tests?/)[A-Za-z_][^,\n\"]*\.py)\"?,", read_record(its, where))
    decorates: dict[str, NeedsDocstrings] = {}
    named: set[str] = set()
    for row in sorted(rows, key=lambda r: (r.count("/"), r)):
        path = where.join(its.location, *row.split("/"))
        text = where.text(path, MOST_TEXT) or ""
        named.update(CALLED.findall(text))
        for use in uses_of_docstrings(text):
            if use.decorator:
                decorates.setdefault(use.decorator, NeedsDocstrings(path, use.line))
            elif row.count("/") <= 1:  # Deeper ones are imported by whoever needs them.
                return NeedsDocstrings(path, use.line)
    return next((found for name, found in decorates.items() if name in named), None)
