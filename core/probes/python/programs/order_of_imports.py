"""In which order programs import packages at their left margin, and what they surely have not imported yet at one of them.

glibc takes a library that the process has for one of the same name (DT_SONAME): a package that lacks a library works where a
framework that brings one was imported before. Source: ld.so(8); _dl_map_object in glibc's elf/dl-load.c.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.knowledge.modules import distribution_of, module_of
from core.model.facts import Distribution
from core.probes.python.following.dotted_modules import STANDARD
from core.probes.python.following.framework_users import has_line
from core.probes.python.installed.distributions import required_name
from core.probes.python.text.module_text import imported_names, imports_at_the_margin, imports_of
from core.probes.sysroot import Sysroot


def import_orders(programs: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return the packages that each program imports, in its order, those of Python itself left out."""
    every = (
        [name.partition(".")[0] for step in imports_at_the_margin(text, 0) for name, _names in imported_names(step, "")]
        for text in programs
    )
    return tuple(tuple(dict.fromkeys(n for n in order if n not in STANDARD)) for order in every)


def comes_before(
    package: str, framework: str, order: tuple[str, ...], every: tuple[Distribution, ...], where: Sysroot
) -> bool:
    """Whether a program imports a package while nothing can have imported the framework: neither what it imports before, nor the package.

    What requires the framework, at any depth and for any extra, may import it, and so may what spells that, and what no installed
    distribution explains.
    """
    if package not in order:
        return False
    begin = order[: order.index(package) + 1]
    line = imports_of(framework)
    may_import = {distribution_of(framework)}
    may_import |= {d.name for d in every if _module(d) in begin and has_line(d, line, where)}
    while (
        more := {d.name for d in every if any(required_name(w) in may_import for w in (*d.pins, *d.requires))}
        - may_import
    ):
        may_import |= more
    return {_module(d) for d in every if d.name not in may_import}.issuperset(begin)


def _module(its: Distribution) -> str:
    return module_of(its.name).partition(".")[0]
