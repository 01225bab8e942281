"""What programs give themselves when they have started: IPython by its start-up files and settings, pytest by a project's,
Flask by .flaskenv, Python's prompt by PYTHONSTARTUP, and pipenv by .env what it runs.

Variables of the loader and of Python's own start come too late here; what changes sys.path counts from then on.
Sources: IPython's documentation, "Introduction to IPython configuration" and "Setting up startup files"; pytest's, "Reference" (pythonpath),
"pytest import mechanisms and sys.path" and "Initialization: determining rootdir and configfile"; pytest-env's README.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping

from core.common.syntax_tree import literal_text, statements_of
from core.common.variable_names import variable_in
from core.host.startup.plain import read_dotenv, toml_tables
from core.host.startup.state import State, is_name
from core.model.facts import PythonEnvironment, StartLine
from core.probes.programs.follow import find_named
from core.probes.python.search.search_path import SYS_PATH
from core.probes.python.search.start_code import path_changes, variable_lines
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.commands.runners import run_behind
from core.probes.starting.machine import Ground, folders_upward
from core.probes.starting.ways import Reached

TOO_LATE = ("LD_", "PYTHON")
"""Starts of variables that the loader and Python read before any code of a program runs."""
MOST_FILES = 40
MOST_FOLDERS = 24
"""Folders with tests that are looked at."""


def ipython_ways(ground: Ground) -> Iterator[Reached]:
    """Yield IPython, which runs a person's files in every terminal and notebook of its own; else it has what this session has."""
    join = ground.where.join
    profile = join(ground.env.get("IPYTHONDIR") or ground.at_home(".ipython"), "profile_default")
    of_start = join(profile, "startup")
    startup = [join(of_start, n) for n in ground.around.names(of_start) if n.endswith((".py", ".ipy"))]
    settings = [
        join(place, name)
        for place in ("/etc/ipython", profile)
        for name in ("ipython_config.py", "ipython_kernel_config.py")
    ]
    found = [f for f in (*settings, *startup[:MOST_FILES]) if ground.around.kind(f) == "file"]
    if not found or not _having("IPython", ground):
        return
    state = ground.session()
    for path in found:
        text = ground.read(path) or ""
        _run(text, path, state, ground)
        for line, code in _exec_lines(text) if path in settings else ():
            _run(code, path, state, ground, line)
    if any(row.file in found for rows in state.lines.values() for row in rows):
        last = next(f for f in reversed(found) if any(r.file == f for rows in state.lines.values() for r in rows))
        yield Reached(kind="ipython", at=last, state=state)


def prompt_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield Python's own prompt in a terminal, which runs the file that PYTHONSTARTUP names first (python(1), PYTHONSTARTUP)."""
    path = terminal.values.get("PYTHONSTARTUP") or ground.env.get("PYTHONSTARTUP", "")
    if "PYTHONSTARTUP" in terminal.open or not path.startswith("/") or (text := ground.read(path)) is None:
        return
    state = terminal.apart(path)
    _run(text, path, state, ground)
    if any(row.file == path for rows in state.lines.values() for row in rows):
        yield Reached(kind="prompt", at=path, state=state)


START_CODE = ("sitecustomize.py", "usercustomize.py")
TOLD_ELSEWHERE = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
"""Of start-up code, the rules about hidden GPUs read the facts of its environment."""


def start_code_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the environments whose start-up code sets variables for all programs; one that is set already mostly keeps its value."""
    for python in ground.pythons:
        for path in (ground.where.join(site, name) for site in python.site_packages for name in START_CODE):
            text = ground.read_file(path)
            state = ground.session(path)
            for name, value, line in variable_lines(text or "", PathNames(path, env=ground.env)):
                if not variable_in(ground.env, name) and name not in TOLD_ELSEWHERE and not name.startswith(TOO_LATE):
                    state.export_variable(name, value, path, line, "python")
            if state.lines:
                yield Reached(kind="task", at=f"{path}: python", state=state, prefix=python.prefix)


def _having(package: str, ground: Ground) -> list[PythonEnvironment]:
    return [
        p for p in ground.pythons if any(ground.where.is_folder(ground.where.join(s, package)) for s in p.site_packages)
    ]


def _run(text: str, path: str, state: State, ground: Ground, line: int = 0) -> None:
    """Let a state have what a file's code does to sys.path and to variables that are not too late."""
    for at, place, number in path_changes(text, path, ground.person.home):
        paths = ground.where.path_module
        add_to_sys_path(state, paths.normpath(paths.join(ground.folder, place)), path, line or number, at)
    for name, value, number in variable_lines(text, PathNames(path, home=ground.person.home, env=ground.env)):
        if is_name(name) and not name.startswith(TOO_LATE):
            state.export_variable(name, value, path, line or number, "python")


def add_to_sys_path(state: State, place: str, file: str, line: int, at: int | None = 0) -> None:
    """Note an entry that a program gives sys.path; ``at`` None: at its end."""
    old = state.values.get(SYS_PATH, "")
    parts = [place, old] if at is not None else [old, place]
    state.values[SYS_PATH] = state.separator.join(p for p in parts if p)
    state.exported.add(SYS_PATH)
    row = StartLine(
        name=SYS_PATH,
        does="prepend" if at is not None else "append",
        value=state.values[SYS_PATH],
        added=place,
        file=file,
        line=line,
        form="python",
    )
    state.lines.setdefault(SYS_PATH, []).append(row)


def _exec_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of code that settings name (InteractiveShellApp.exec_lines)."""
    if "exec_lines" not in text:
        return
    for node in statements_of(text):
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="exec_lines")], value=ast.List(elts=rows)):
                yield from ((row.lineno, told) for row in rows if (told := literal_text(row)) is not None)


# --- Flask ---------------------------------------------------------------------------------------------------------------


def flask_ways(ground: Ground) -> Iterator[Reached]:
    """Yield Flask's own command, which reads .flaskenv and .env in or above the working folder if python-dotenv is installed.

    The file shows that it is used. A variable that is set already keeps its value (Flask's documentation, "Command Line Interface").
    """
    homes = [p for p in _having("flask", ground) if p in _having("dotenv", ground)]
    file = ground.upward(".flaskenv", ground.folder)
    if not file or not homes or ground.env.get("FLASK_SKIP_DOTENV", "").lower() not in ("", "0", "false", "no"):
        return
    told = ground.session()
    for path in (file, ground.upward(".env", ground.folder)):
        if path and (text := ground.read(path)) is not None:
            read_dotenv(text, path, told)
    state = ground.session(*told.files)
    for name, rows in told.lines.items():
        if name not in ground.env and not name.startswith(TOO_LATE):
            state.values[name], state.lines[name] = told.values[name], rows
            state.exported.add(name)
    if state.lines:
        yield Reached(kind="task", at=f"{file}: flask", state=state, prefix=homes[0].prefix if len(homes) == 1 else "")


def pipenv_ways(ground: Ground) -> Iterator[Reached]:
    """Yield what ``pipenv run`` and ``pipenv shell`` give a program: .env beside the project's Pipfile counts over the session.

    The program starts later, so that variables of the loader and of Python's start count, too. pipenv itself may be elsewhere
    (Pipenv's documentation, "Environment and Shell Configuration").
    """
    project = posixpath.dirname(ground.upward("Pipfile", ground.folder))
    left_out = ground.env.get("PIPENV_DONT_LOAD_ENV", "").lower() not in ("", "0", "false", "no", "off", "n", "f")
    if (
        not project
        or left_out
        or not (_having("pipenv", ground) or find_named("pipenv", ground.env, ground.where, "/"))
    ):
        return
    path = posixpath.join(project, ground.env.get("PIPENV_DOTENV_LOCATION") or ".env")
    text = ground.read(path)
    if text is None:
        return
    state = ground.session()
    read_dotenv(text, path, state)
    inside = State({**ground.env, "PWD": project}, set(ground.env))
    run_behind("pipenv", ["run", "python"], inside, ground)
    prefix = next((p.prefix for p in ground.pythons if p.prefix == inside.values.get("VIRTUAL_ENV")), "")
    if state.lines:
        yield Reached(kind="task", at=f"{path}: pipenv run", state=state, prefix=prefix)


# --- pytest --------------------------------------------------------------------------------------------------------------


def pytest_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the tests of the project in or above the working folder, where they find other modules than a program does."""
    if not ground.is_in_project or not (homes := _having("pytest", ground)):
        return
    file, settings, lines = _settings(ground)
    paths = ground.where.path_module
    root = paths.dirname(file) if file else ground.folder
    state = ground.session()
    if file:
        state.files.append(file)
    for name, value, line in _variables(settings, lines, bool(_having("pytest_env", ground))):
        state.export_variable(name, value, file, line, "python")
    for word in reversed(_words_of(settings.get("pythonpath"))):
        add_to_sys_path(state, paths.normpath(paths.join(root, word)), file, lines.get("pythonpath", 1))
    options = " ".join(_words_of(settings.get("addopts")))
    inserts = not re.search(r"--import-mode[= ](?:importlib|append)", options)
    tests = [paths.normpath(paths.join(root, w)) for w in _words_of(settings.get("testpaths"))]
    _collect(tests, root, state, ground, inserts=inserts)
    if any(r.file == file or r.form == "python" for rows in state.lines.values() for r in rows):
        prefix = homes[0].prefix if len(homes) == 1 else ""
        yield Reached(kind="task", at=f"{file or root}: pytest", state=state, prefix=prefix)


def _collect(tests: list[str], root: str, state: State, ground: Ground, *, inserts: bool) -> None:
    """Take what pytest finds where it looks for tests: conftest.py is run, and its folder and that of each test is searched."""
    join, parent = ground.where.join, ground.where.parent
    named = [join(root, n) for n in ground.around.names(root) if n.startswith("test") and "." not in n]
    waiting = [*dict.fromkeys((root, *tests, *named))]
    seen: set[str] = set()
    while waiting and len(seen) < MOST_FOLDERS:
        folder = waiting.pop(0)
        if folder in seen:
            continue
        seen.add(folder)
        names = ground.around.names(folder)
        own = [n for n in names if re.fullmatch(r"conftest\.py|test_\w*\.py|\w+_test\.py", n)]
        if own and inserts:
            top = folder
            while ground.around.kind(join(top, "__init__.py")) == "file" and parent(top) != top:
                top = parent(top)
            if top != ground.folder:  # a program that is started here searches it, too
                add_to_sys_path(state, top, join(folder, own[0]), 1)
        if "conftest.py" in own:
            path = join(folder, "conftest.py")
            state.files.append(path)
            _run(ground.read(path) or "", path, state, ground)
        if folder != root:
            waiting += [join(folder, n) for n in names if "." not in n and not n.startswith("_")]


def _settings(ground: Ground) -> tuple[str, Mapping[str, object], dict[str, int]]:
    """Return pytest's own settings for the working folder: the file, the settings, and the line of each."""
    for folder in folders_upward(ground.folder):
        for name, section in INI_FILES:
            path = ground.where.join(folder, name)
            text = ground.read_file(path)
            if text is None:
                continue
            if name == "pyproject.toml":
                found = _of_toml(text)
                if found is not None:
                    return path, found, {k: _line(text, k) for k in found}
            elif (rows := _of_ini(text, section)) is not None:
                return path, {k: v for k, (v, _n) in rows.items()}, {k: n for k, (_v, n) in rows.items()}
            elif name in ("pytest.ini", ".pytest.ini"):
                return path, {}, {}
        if ground.around.kind(ground.where.join(folder, ".git")) != "missing":
            break  # a project's own folder
    return "", {}, {}


INI_FILES = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("pyproject.toml", ""),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)


def _of_toml(text: str) -> dict[str, object] | None:
    if "tool.pytest" not in text:
        return None
    tool = toml_tables(text).get("tool")
    own = tool.get("pytest") if isinstance(tool, dict) else None
    inner = own.get("ini_options", own) if isinstance(own, dict) else None
    variables = tool.get("pytest_env") if isinstance(tool, dict) else None
    if not isinstance(inner, dict):
        return None
    return {**inner, **({"env": variables} if isinstance(variables, dict) else {})}


def _of_ini(text: str, section: str) -> dict[str, tuple[str, int]] | None:
    """Return a section's settings with the line of each, as iniconfig reads them: a further line of one is indented."""
    found: dict[str, tuple[str, int]] | None = None
    last = ""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            inside = line.strip() == f"[{section}]"
            found = {} if inside and found is None else found
        elif not inside or found is None or line.lstrip().startswith(("#", ";")) or not line.strip():
            continue
        elif line[0] in " \t" and last:
            found[last] = (f"{found[last][0]}\n{line.strip()}", found[last][1])
        elif row := re.match(r"([\w-]+)\s*[=:]\s*(.*)$", line):
            last = row[1]
            found[last] = (row[2].strip(), number)
    return found


def _line(text: str, name: str) -> int:
    found = re.search(rf"(?m)^[ \t]*\"?{re.escape(name)}\"?[ \t]*=", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _words_of(value: object) -> list[str]:
    """Return a setting's words: of a list, or of a text that is split as a shell does."""
    if isinstance(value, list):
        return [v for v in value if isinstance(v, str)]
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def _variables(
    settings: Mapping[str, object], lines: dict[str, int], by_plugin: bool
) -> Iterator[tuple[str, str, int]]:
    """Yield the variables that pytest-env sets before any test is imported, where it is installed."""
    told = settings.get("env") if by_plugin else None
    line = lines.get("env", 1)
    if isinstance(told, dict):
        rows = [(n, str(v.get("value", "") if isinstance(v, dict) else v), line) for n, v in told.items()]
    else:
        texts = told if isinstance(told, list) else told.split("\n") if isinstance(told, str) else []
        pairs = [(str(t).partition("="), n) for n, t in enumerate(texts)]
        rows = [(p[0].rpartition(":")[2].strip(), p[2].strip(), line + n) for p, n in pairs if p[1]]
    for name, value, number in rows:
        if is_name(name) and not name.startswith(TOO_LATE):
            yield name, value, number
