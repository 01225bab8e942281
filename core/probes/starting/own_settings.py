"""What the Python programs and notebooks of the working folder give themselves before they import a package.

They set variables (``os.environ[...]``, a notebook's ``%env``), or put a folder before the packages of their environment. No code runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import parsed
from core.common.variable_names import variable_in
from core.host.startup.plain import json_value, read_dotenv
from core.host.startup.state import State, is_name
from core.model.facts import StartKind
from core.probes.python.search.start_code import DotenvCall, dotenv_calls, path_changes, variable_lines
from core.probes.python.text.module_text import modules_imported
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground
from core.probes.starting.started_programs import TOLD_ELSEWHERE, TOO_LATE, add_to_sys_path
from core.probes.starting.ways import Reached

FOLDERS = ("", "scripts", "src", "app", "notebooks")
MOST_PROGRAMS = 40
"""Maximum number of files read in one folder."""
MOST_BYTES = 1 << 18
SETS = late_pattern(
    r"os\.environ\[|environ\.(?:setdefault|update)|putenv|sys\.path\.insert|%(?:set_)?env |load_dotenv|read_env"
)
_MAGIC = late_pattern(r"%(?:set_)?env[ \t]+([A-Za-z_]\w*)(?:=|[ \t]+)(\S.*?)[ \t]*$")


def own_settings_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each program and notebook that sets a variable, or searches a folder that hides a module of a listed environment."""
    if not ground.is_in_project:
        return
    paths = ground.where.path_module
    for folder in (paths.normpath(paths.join(ground.folder, n)) for n in FOLDERS):
        names = [n for n in ground.around.names(folder) if n.endswith((".py", ".ipynb"))]
        for path in [paths.join(folder, n) for n in names if n != "conftest.py"][:MOST_PROGRAMS]:
            text = ground.where.text(path, MOST_BYTES)
            if text is None or not (SETS.search(text) or _imports_own(text, folder, ground)):
                continue
            state = ground.session(path)
            kind: StartKind = "script"
            if path.endswith(".py"):
                _run(text, path, 0, state, ground)
            else:
                kind = "notebook"
                _notebook(text, path, state, ground)
            if state.lines:
                yield Reached(kind=kind, at=path, state=state)


def _run(  # noqa: PLR0917 - what is run, where it stands, and with what
    text: str, path: str, line: int, state: State, ground: Ground, depth: int = 0
) -> None:
    """Let a state have what code does before its first import of a package; ``line``: where all of it stands, 0 as it is."""
    paths = ground.where.path_module
    own, last = _first_import(text, paths.dirname(path), ground)
    rows: list[tuple[int, Callable[[], None]]] = []
    for name, value, number in variable_lines(text, PathNames(path, home=ground.person.home, env=ground.env)):
        rows.append((number, partial(_set, name, value, path, line or number, state, ground)))
    for call in dotenv_calls(text, path):
        rows.append((call.line, partial(_read_dotenv, call, path, state, ground)))
    for module, number in own if depth < MOST_DEPTH else ():
        inner = ground.where.text(module, MOST_BYTES) or ""
        if SETS.search(inner):
            rows.append((number, partial(_run, inner, module, 0, state, ground, depth + 1)))
    for number, take in sorted(rows, key=lambda r: r[0]):
        if number < last:
            take()
    for at, place, number in path_changes(text, path, ground.person.home):
        folder = paths.normpath(paths.join(ground.folder, place))
        if number < last and at == 0 and _hides(folder, path, ground):
            add_to_sys_path(state, folder, path, line or number, at)


READS_FILES = ("dotenv", "environs", "environ", "decouple")
"""Modules that read a file of variables, and import nothing of a framework."""
MOST_DEPTH = 3
"""Depth of the project's own modules that are followed."""


def _imports_own(text: str, folder: str, ground: Ground) -> bool:
    """Whether a program begins with a module of its own that may set variables."""
    if "import" not in text:
        return False
    return any(
        SETS.search(ground.where.text(m, MOST_BYTES) or "") for m, _line in _first_import(text, folder, ground)[0]
    )


def _read_dotenv(call: DotenvCall, path: str, state: State, ground: Ground) -> None:
    """Note the variables of the file that a call reads, those apart that this session has, unless the call overrides them."""
    join, sites = ground.where.join, [site for p in ground.pythons for site in p.site_packages]
    if not any(ground.around.kind(join(site, call.module)) == "folder" for site in sites):
        return
    file = ground.file_of_variables(call.file, path)
    text = ground.read(file) if file else None
    if text is None:
        return
    told = ground.session()
    read_dotenv(text, file, told, () if call.overrides else {**ground.env, **state.lines})
    state.files.append(file)
    for name, rows in told.lines.items():
        if not name.startswith(TOO_LATE) and name not in TOLD_ELSEWHERE:
            state.values[name], state.lines[name] = told.values[name], rows
            state.exported.add(name)


def _first_import(text: str, folder: str, ground: Ground) -> tuple[list[tuple[str, int]], int]:
    """Return the files of the project's own modules that code imports first, with their lines, and the line of the first statement that
    imports a package; that is beyond the end where there is none.
    """
    tree = parsed(text)
    if tree is None:
        return [], 0
    own: list[tuple[str, int]] = []
    for node in tree.body:
        for module in modules_imported(node):
            top = module.partition(".")[0]
            place = ground.where.join(folder, *module.split("."))
            files = (f"{place}.py", ground.where.join(place, "__init__.py"))
            if top in sys.stdlib_module_names or top in READS_FILES:
                continue
            file = next((f for f in files if ground.around.kind(f) == "file"), "")
            if not file:
                return own, node.lineno
            own.append((file, node.lineno))
    return own, text.count("\n") + 2


def _set(name: str, value: str, path: str, line: int, state: State, ground: Ground) -> None:  # noqa: PLR0917 - one assignment
    """Note a variable, if it does not come too late, and if this session has none: much code keeps that one."""
    if not is_name(name) or name.startswith(TOO_LATE):
        return
    is_set = name in ground.env or (ground.where.system == "windows" and variable_in(ground.env, name))
    if not is_set and name not in TOLD_ELSEWHERE:
        state.export_variable(name, value, path, line, "python")


def _hides(folder: str, path: str, ground: Ground) -> bool:
    """Whether a folder has a module of an environment's name, and is not the program's own folder, which is searched anyway."""
    if folder == ground.where.parent(path):
        return False
    names = {n.removesuffix(".py") for n in ground.around.names(folder) if "." not in n or n.endswith(".py")}
    return any(names & set(ground.around.names(site)) for p in ground.pythons for site in p.site_packages)


def _notebook(text: str, path: str, state: State, ground: Ground) -> None:
    """Take a notebook's cells of code in their order, up to the one that imports a package (nbformat's documentation; IPython's %env)."""
    whole = json_value(text)
    cells = whole.get("cells") if isinstance(whole, dict) else None
    for cell in cells if isinstance(cells, list) else ():
        source = cell.get("source") if isinstance(cell, dict) and cell.get("cell_type") == "code" else None
        rows = (
            "".join(str(r) for r in source) if isinstance(source, list) else source if isinstance(source, str) else ""
        )
        plain = []
        for row in rows.splitlines():
            if magic := _MAGIC.match(row.strip()):
                _set(magic[1], magic[2], path, _line(text, row), state, ground)
            plain.append("" if row.lstrip().startswith(("%", "!")) else row)
        code = "\n".join(plain)
        first = next((r for r in plain if SETS.search(r)), "")
        if first:
            _run(code, path, _line(text, first), state, ground)
        if _first_import(code, ground.where.parent(path), ground)[1] <= code.count("\n") + 1:
            return


def _line(text: str, row: str) -> int:
    """Return the line of the file in which a line of code stands."""
    import json

    at = text.find(json.dumps(row.rstrip("\n"), ensure_ascii=False)[1:-1])
    return text.count("\n", 0, at) + 1 if at >= 0 else 1
