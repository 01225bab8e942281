"""Whether a module was written in the place of the one that it hides, stands in for it, or has nothing to do with it: by their texts."""

from __future__ import annotations

import re
import sys

from core.model.facts import FoundModule
from core.probes.python.text.module_text import packages_spelt
from core.probes.sysroot import Sysroot

MAX_MODULE_BYTES = 1 << 20

ASKED_BY_DEBUGGERS = {"code": (3, 13)}
"""Module of Python itself -> the release since which pdb needs a name of it to be imported; before, a command of pdb alone asks for it.

Source: Lib/pdb.py of CPython 3.12 and 3.13.
"""


def stands_in(found: FoundModule, where: Sysroot) -> bool:
    """Whether a module has every name, and every file, of the module hidden by it: a copy, or a stand-in with more."""
    mine, its = (where.text(path, MAX_MODULE_BYTES) for path in (found.path, found.hidden[0]))
    inits = [where.name(path) == "__init__.py" for path in (found.path, found.hidden[0])]
    if not mine or not its or not all(path.endswith(".py") for path in (found.path, found.hidden[0])):
        return False
    if any(inits):
        own, theirs = (frozenset(where.names(where.parent(p)) or ()) for p in (found.path, found.hidden[0]))
        if not all(inits) or not theirs - {"__pycache__"} <= own:
            return False
    if mine == its:
        return True
    from core.probes.python.text.bound_names import read_names  # imported late: seldom needed

    read = [read_names(text) for text in (mine, its)]
    made = [frozenset(re.findall(r"(?m)^[ \t]*(?:async )?(?:def|class) (\w+)", text)) for text in (mine, its)]
    if not made[1] <= made[0]:
        return False  # what is deleted again at the end counts as bound
    return read[0] is not None and read[1] is not None and read[1].bound <= read[0].bound


def shares_a_name(found: FoundModule, where: Sysroot) -> bool:
    """Whether a module's text binds a public name that the hidden module's text seems to bind: it was written in its place."""
    mine, its = (where.text(path, MAX_MODULE_BYTES) or "" for path in (found.path, found.hidden[0]))
    if not (mine and its and found.path.endswith(".py") and found.hidden[0].endswith(".py")):
        return False
    from core.probes.python.text.bound_names import likely_names, read_names  # imported late: seldom needed

    own = read_names(mine)
    public = {n for n in own.bound if not n.startswith("_")} if own else set()
    return not public.isdisjoint(likely_names(its))


def is_unlike(found: FoundModule, where: Sysroot) -> bool:
    """Whether a module's text binds no name that the module hidden by it defines: it is no copy and no stand-in of it."""
    mine, its = (where.text(path, MAX_MODULE_BYTES) for path in (found.path, found.hidden[0]))
    if mine is None or its is None or not (found.path.endswith(".py") and found.hidden[0].endswith(".py")):
        return False
    from core.probes.python.text.bound_names import read_names  # imported late: seldom needed

    own, theirs = read_names(mine), read_names(its)
    if own is None or theirs is None or own.stars or own.is_open or own.getattr is not None:
        return False
    defined = frozenset(re.findall(r"(?m)^(?:async )?(?:def|class) ([A-Za-z]\w*)", its)) & theirs.bound
    return bool(defined) and defined.isdisjoint(own.bound)


def is_never_asked(found: FoundModule, version: tuple[int, ...], where: Sysroot) -> bool:
    """Whether what frameworks import asks nothing of the module that is hidden, and the text in its place imports none of them again."""
    if version >= ASKED_BY_DEBUGGERS.get(found.name, ()):
        return False
    text = where.text(found.path, MAX_MODULE_BYTES)
    return text is not None and sys.stdlib_module_names.issuperset(packages_spelt(text))
