"""Variables of Linux that Windows does not set, and that a program, or a package that it imports, asks for: it ends with KeyError."""

from __future__ import annotations

import ast
import ntpath
import re
from collections.abc import Callable, Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import statements_of
from core.common.variable_names import variable_in
from core.knowledge.modules import module_table
from core.model.facts import PythonEnvironment
from core.probes.starting.commands.lacking_modules import FILLS_VARIABLES, asked_variables, surely_run
from core.probes.starting.machine import Ground
from core.probes.starting.misnamed_settings import environment_of, modules_loaded
from core.probes.starting.ways import Reached, ended_program, ended_start

OF_LINUX = ("HOME", "USER", "LOGNAME")
MOST_PROGRAMS, MOST_BYTES = 20, 1 << 19
_SETS = late_pattern(r"(?i)\b(?:set|export|env:)[ \t\"]{0,9}(?:HOME|USER|LOGNAME)\b")


def posix_variables(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder that ask for such a variable as they start, or whose packages do."""
    absent = frozenset(n for n in OF_LINUX if not variable_in(ground.env, n))
    if not absent or not ground.folder or ground.folder == ground.person.home:
        return
    if any(_SETS.search(text) for text in ground.script_texts()):
        return
    for path in (ntpath.join(ground.folder, n) for n in ground.programs(MOST_PROGRAMS)):
        text = ground.where.text(path, MOST_BYTES) or ""
        home = environment_of(text, "os", ground)
        asks = first_asked(path, text, home, _asked_in(absent), FILLS_VARIABLES, ground) if home else None
        if home and asks:
            its = ended_start(home.prefix, asks[0], home.executable, "not of Windows", source=asks[1], program=path)
            yield ended_program(path, home, its, ground)


def _asked_in(absent: frozenset[str]) -> Callable[[ast.stmt], Iterator[tuple[str, int]]]:
    def asked(node: ast.stmt) -> Iterator[tuple[str, int]]:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            yield from (its for its in asked_variables(node) if its[0] in absent)

    return asked


def first_asked(  # noqa: PLR0917 - a program, and what is looked for
    path: str,
    text: str,
    home: PythonEnvironment,
    asked: Callable[[ast.stmt], Iterator[tuple[str, int]]],
    ends: re.Pattern[str],
    ground: Ground,
) -> tuple[str, str] | None:
    """Return the first use of ``asked`` that a program's start surely comes to, with file and line. ``ends``: reading stops behind this."""
    known = {row.module for row in module_table().modules}
    for is_program, content, file in modules_loaded(path, text, home, lambda top: top not in known, ground):
        if ends.search(content):
            return None
        for node in surely_run(statements_of(content), as_main=is_program):
            if told := next(asked(node), None):
                return told[0], f"{file}:{told[1]}"
    return None
