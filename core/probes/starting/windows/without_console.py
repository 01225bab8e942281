"""Programs that ask for sys.stdout or sys.stderr where pythonw runs them: without a console both are None there.

Source: Python's documentation, "sys.__stdout__". tqdm 4.67 writes a bar to sys.stderr, and uvicorn 0.34 asks sys.stdout whether it is a terminal.
"""

from __future__ import annotations

import ast
import ntpath
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import chain_of
from core.model.facts import PythonEnvironment, StartedPython
from core.probes.python.following.callees import sure_calls
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.lacking_modules import program_file
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_start
from core.probes.starting.windows.not_of_windows import first_asked

SETS_THEM = late_pattern(
    r"\bsys\.std(?:out|err)[ \t]*(?:,[^\n(]*)?=(?!=)|redirect_std(?:out|err)|(?:Alloc|Attach)Console"
)
STREAMS = ("stdout", "stderr")
WRITE = {"tqdm": "stderr", "trange": "stderr", "uvicorn.run": "stdout", "faulthandler.enable": "stderr"}
"""Calls that use a stream unless they are told another -> which."""
TOLD = ("file", "disable", "log_config")


def without_console(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment | None
) -> Iterator[StartedPython]:
    """Yield the environment's Python if its program, or a package as it is imported, asks for a stream that is not there."""
    program = program_file(found)
    alone = ntpath.basename(found.path).lower().startswith("pythonw") or program.lower().endswith(".pyw")
    if home is None or not alone or not program:
        return
    place = ntpath.normpath(ntpath.join(ground.here(way.state), program))
    asks = first_asked(place, ground.read(place) or "", home, _asks, SETS_THEM, ground)
    if asks:
        yield ended_start(home.prefix, asks[0], found.path, "no console", source=asks[1], program=place)


def _asks(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Yield the streams that a statement surely uses, with their lines."""
    match node:
        case ast.For(iter=used):
            parts: list[ast.AST] = [used]
        case ast.With(items=items):
            parts = [i.context_expr for i in items]
        case ast.Assign() | ast.AnnAssign() | ast.Expr():
            parts = [node]
        case _:
            parts = []
    for part in parts:
        guarded = (n for n in ast.walk(part) if isinstance(n, ast.IfExp | ast.BoolOp | ast.Lambda))
        later = {id(n) for its in guarded for n in ast.walk(its)}
        for each in (n for n in ast.walk(part) if id(n) not in later):
            match each:
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sys"), attr=stream)) if stream in STREAMS:
                    yield f"sys.{stream}", each.lineno
        for call in sure_calls(part, lambda _test: None):
            called = ".".join(chain_of(call.func) or ())
            writes = WRITE.get(called.rpartition(".")[2] if called.startswith("tqdm.") else called, "")
            if writes and not {k.arg for k in call.keywords} & {*TOLD, None}:
                yield f"sys.{writes}", call.lineno
