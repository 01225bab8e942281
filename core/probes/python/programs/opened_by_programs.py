"""Libraries that the person's own programs open with ctypes, and that are nowhere on this machine where they may come from, or that
no loader takes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name
from core.loader import read_image
from core.model.facts import PythonEnvironment, path_text
from core.model.facts.framework_tools import ToolState, UnfitTool
from core.probes.loading.closure_windows import GPU_DLL
from core.probes.probe import ProbeRequest
from core.probes.python.programs.libraries_here import libraries_here
from core.probes.python.programs.program_folder import Program, own_programs
from core.probes.python.search.start_code import LOADERS
from core.probes.python.text.path_expressions import PathNames
from core.probes.sysroot import Sysroot

_NAME = late_pattern(r"lib[\w.+-]+\.so(\.\d+)*\Z")
_DLL = late_pattern(r"(?i)[\w.+-]+\.dll\Z")
_SEARCHES = late_pattern(r"\badd_dll_directory\b|\bwinmode\b")
"""What lets a program on Windows find a DLL in further folders: those of PATH, too."""
_CHANGES_PLACES = late_pattern(r"\bos\.(?:chdir|execv\w*)\b|\bsubprocess\b")
"""After this a relative name may mean something else."""


def absent_libraries(python: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> Iterator[UnfitTool]:
    """Yield each library that a program opens in its straight lines, and that is not there or no library for this Python.

    One that another package brings, or a toolkit, may be opened before by something else: nothing is said of it.
    """
    known: set[str] | None = None
    for program in own_programs(request, where):
        path, text = program.path, program.text
        if not any(loader in text for loader in LOADERS):
            continue
        for file, line in opened(program, request.env.get("HOME", ""), where):
            if known is None and not where.path_module.isabs(file):
                known = libraries_here(python, request, where)
            state = "absent" if _is_absent(file, known, where) else _unfit(file, python, where)
            if not state or (known is not None and _SEARCHES.search(text)):
                continue
            yield UnfitTool(
                prefix=python.prefix,
                reader="ctypes",
                name=path_text(file),
                path=path_text(path),
                state=state,
                runs=False,
                opened=True,
                asked_by=path_text(text.splitlines()[line - 1].strip()[:120]),
                called=path_text(f"{path}:{line}"),
                source="https://docs.python.org/3/library/ctypes.html",
            )
            break


def _is_absent(file: str, known: set[str] | None, where: Sysroot) -> bool:
    """Whether a library is nowhere: a whole path leads to nothing, or no folder has the name. Other forms are not judged."""
    if where.system == "windows":
        if where.path_module.isabs(file):
            return file.lower().endswith(".dll") and not where.exists(file)
        return bool(_DLL.match(file)) and not GPU_DLL.fullmatch(file) and file.lower() not in (known or ())
    if "/" in file:
        return file.startswith("/") and not where.exists(file)
    return bool(_NAME.match(file)) and file not in (known or ())


def _unfit(file: str, python: PythonEnvironment, where: Sysroot) -> ToolState | None:
    """Return why no loader takes the file of a whole path that is there; None for one that it may take, and for other paths."""
    if not where.path_module.isabs(file) or not where.is_file(file):
        return None
    image = read_image.read_image(file, root=where.root)
    if image.architecture and python.architecture and image.architecture != python.architecture:
        return "wrong architecture"
    return "damaged" if image.state == "damaged" else None


def opened(program: Program, home: str, where: Sysroot) -> Iterator[tuple[str, int]]:
    """Yield the files that a program opens by ctypes before anything that is not sure, with the line of each."""
    lines, folder = program.text.splitlines(), where.parent(program.path)
    names = PathNames(program.path, folder=folder, home=home, paths=where.path_module, real_path=where.real_path)
    for node in program.statements:
        match node:
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                file = names.value_of(call.args[0]) if last_name(call.func) in LOADERS and call.args else None
                if file:
                    yield file, node.lineno
            case ast.Raise():
                return
            case _:
                pass
        if not names.follow(node) and any(
            _CHANGES_PLACES.search(line) for line in lines[node.lineno - 1 : node.end_lineno]
        ):
            return
