"""Which program a command line of Python runs, and which modules and variables it lacks there.

A module counts as lacking if the program imports it at its margin, nothing in its text changes sys.path, and no entry of that
Python's search has it.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import chain_of, is_environ, is_main, last_name, statements_of, uncalled
from core.common.variable_names import variable_in
from core.host.startup.plain import toml_tables
from core.host.startup.state import UNKNOWN
from core.knowledge.modules import module_of, module_table
from core.model.facts import FoundModule, PythonEnvironment, SearchEntry
from core.model.facts.imports import PACKAGES
from core.model.paths import is_inside
from core.probes.programs.kernels import is_notebook, read_notebook
from core.probes.python.following.callees import sure_calls
from core.probes.python.programs.own_paths import own_paths, search_of_program
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import (
    SYS_PATH,
    PythonSearch,
    python_search_path,
    read_interpreter,
    shows_whole_effect,
)
from core.probes.python.text.module_text import EXTENDS_PATH, modules_imported
from core.probes.starting.commands.command_line import LAUNCHERS, StartedFile
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.sysroot import Sysroot

MOST_MODULES = 30
"""Modules of the program's own that are read."""
CHANGES_SEARCH = late_pattern(
    r"\bsys\.path\b|\bmeta_path\b|addsitedir|activate_this|\bexecv|\bos\.exec|runpy|path_hooks|rootutils|autorootcwd"
)
"""After this, reading does not show where Python searches, or which Python runs on."""


def modules_of(distributions: Iterable[str]) -> frozenset[str]:
    """Return the modules of distributions: those of frameworks, and those that are named like their distribution."""
    names = set(distributions)
    known = {m.module for m in module_table().modules if any(re.fullmatch(m.distributions, n) for n in names)}
    return frozenset(known | {module_of(n) for n in names})


def has_module(python: PythonEnvironment, module: str, ground: Ground) -> bool:
    """Whether an environment's folders of packages have a module."""
    return any(name.partition(".")[0] == module for site in python.site_packages for name in ground.around.names(site))


def program_and_lacking_modules(
    found: StartedFile, way: Reached, ground: Ground, homes: list[PythonEnvironment]
) -> tuple[str, tuple[str, ...]]:
    """Return the program's file, or what stands for it, and the modules that its import lacks, in their order."""
    place, followed = _followed(found, way, ground, homes, options_of_python(found.arguments)[0])
    return place, tuple(followed.lacks) if followed else ()


def not_searched(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment
) -> tuple[str, str, tuple[str, ...], str] | None:
    """Return the program, the option that keeps modules from it, these modules, and the folder in which they lie; None for none.

    Without an option: the modules lie in a folder of the project above the program's own, which alone is searched; with SYS_PATH in its
    place, in one that the program adds from the working folder, which is returned.
    """
    letters, kind, named = options_of_python(found.arguments)
    paths = ground.where.path_module
    if served := _served_from_below(found, way, ground, home):
        return served
    place, strict = _followed(found, way, ground, [home], letters)
    if strict is None:
        return None
    if kind == "file" and paths.basename(named).removesuffix(".exe") in PYTEST:
        lost = _lost_by_pytest(place, strict, found, folder_of_start(way, ground), ground)
        return (place, PYTEST[0], lost, folder_of_start(way, ground)) if lost else None
    if letters and strict.lacks:
        _place, free = _followed(found, way, ground, [home], "")
        lost = tuple(n for n in strict.lacks if free is not None and n not in free.lacks)
        option = next((w for w in found.arguments if re.match(f"-\\w*[{letters}]", w)), "")
        if free is not None and lost and option:
            its = free.search.find(lost[0]).path
            whole = paths.dirname(its)
            return place, option, lost, paths.dirname(whole) if paths.basename(its) == "__init__.py" else whole
    if kind != "file" or paths.basename(named) in LAUNCHERS or not ground.is_in_project:
        return None
    here, whole = folder_of_start(way, ground), replace(found, arguments=_named_whole(found.arguments, named, place))
    for other in dict.fromkeys((ground.folder, paths.dirname(place))) if here and kind == "file" else ():
        if other == here:
            continue
        _place, apart = _followed(whole, way, ground, [home], letters, here=here)
        _place, there = _followed(whole, way, ground, [home], letters, here=other)
        lost = tuple(n for n in apart.lacks if there is not None and n not in there.lacks) if apart else ()
        if lost:
            return place, SYS_PATH, lost, other
    if not strict.lacks:
        return None
    folder = paths.dirname(ground.where.real_path(place))
    top = ground.where.real_path(ground.folder)
    while folder != top and is_inside(ground.where.system, folder, top):
        folder = paths.dirname(folder)
        lost = tuple(n for n in strict.lacks if _is_own_module(strict.search, folder, n))
        if lost:
            return place, "", lost, folder
    return None


def _named_whole(arguments: tuple[str, ...], named: str, place: str) -> tuple[str, ...]:
    return tuple(place if word == named else word for word in arguments)


PYTEST = ("pytest", "py.test")
_SEARCHES_OTHERWISE = late_pattern(r"pythonpath|import-mode|pytest_plugins")


def _lost_by_pytest(test: str, imports: _Imports, found: StartedFile, here: str, ground: Ground) -> tuple[str, ...]:
    """Return the modules of the folder of the start that a test imports: pytest's own command searches the tests' folders alone.

    Source: pytest's documentation, "pytest import mechanisms and sys.path/PYTHONPATH".
    """
    join, above = ground.where.join, ground.where.parent
    lost = tuple(n for n in imports.lacks if _is_own_module(imports.search, here, n)) if here else ()
    files = (
        ground.read(join(here, n)) or ""
        for n in ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
    )
    if not lost or any(map(_SEARCHES_OTHERWISE.search, (*found.arguments[1:], *files))):
        return ()
    folder = above(test)
    while folder != here and is_inside(ground.where.system, folder, here):
        if CHANGES_SEARCH.search(ground.read(join(folder, "conftest.py")) or ""):
            return ()
        folder = above(folder)
    is_package = ground.where.is_file(join(above(test), "__init__.py"))
    return () if is_package or folder != here or ground.where.is_file(join(here, "conftest.py")) else lost


SERVERS = ("uvicorn", "gunicorn", "hypercorn")


def _served_from_below(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment
) -> tuple[str, str, tuple[str, ...], str] | None:
    """Return the application of a server's command that lies in a folder below the one of the start, which alone is searched; None for none.

    Source: uvicorn's documentation, "Settings" (--app-dir); Gunicorn's, "Settings" (chdir, pythonpath).
    """
    join, names = ground.where.join, [ground.where.name(w).removesuffix(".exe") for w in found.arguments[:3]]
    server = next((n for n in names if n in SERVERS), "")
    app = next((m[1] for w in found.arguments if (m := re.fullmatch(r"([A-Za-z_][\w.]*):\w+", w))), "")
    here = folder_of_start(way, ground) if server and app else ""
    if not here or any(re.match(r"--(?:app-dir|chdir|pythonpath|config)\b|-c", w) for w in found.arguments):
        return None
    search, (top, *inner) = _search(found, way, here, ground, [home], ""), app.split(".")
    if search is None or search.find(top).kind != "none":
        return None
    folders = (join(here, n) for n in ground.around.names(here) if "." not in n)
    folder = next((f for f in folders if ground.where.is_file(f"{join(f, top, *inner)}.py")), "")
    return (server, server, (top,), folder) if folder else None


def folder_of_start(way: Reached, ground: Ground) -> str:
    """Return the folder in which a way starts its program, the home for cron; empty where reading does not show it."""
    here = way.state.values.get("PWD") or (ground.person.home if way.kind == "cron" else ground.folder)
    return "" if "PWD" in way.state.open or UNKNOWN in here or "${" in here else here


def lacking_variables(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment
) -> Iterator[tuple[str, str]]:
    """Yield each variable that a program surely asks for as it starts and that the way does not set: its name, and file and line."""
    place, followed = _followed(found, way, ground, [home], options_of_python(found.arguments)[0])
    if followed is None or followed.fills_variables or not place.endswith(".py"):
        return
    same = str.upper if ground.where.system == "windows" else str
    given = {same(n) for n in (*way.state.values, *way.state.open)}
    for name, (node, line) in followed.wants.items():
        if same(name) not in given:
            yield name, f"{node or place}:{line}"


def _is_own_module(search: ModuleSearch, folder: str, name: str) -> bool:
    """Whether a folder of the person's has a module, or a folder of that name with modules in it."""
    kind, path = search.find_in_folder(folder, name)
    return bool(kind) and (kind != "namespace" or any(n.endswith(".py") for n in search.where.names(path) or ()))


def _followed(
    found: StartedFile, way: Reached, ground: Ground, homes: list[PythonEnvironment], letters: str, *, here: str = ""
) -> tuple[str, _Imports | None]:
    """Return the program's file, or what stands for it, and its imports as a Python with these options finds them; None where
    reading does not show them. ``here``: the folder of the start, if it is not that of the way.
    """
    here = here or ground.here(way.state)
    _letters, kind, named = options_of_python(found.arguments)
    paths = ground.where.path_module
    if kind == "file" and paths.basename(named).lower().removesuffix(".exe") in LAUNCHERS:
        named = _launched(found.arguments, here, ground) or named
    elif kind == "module" and named.partition(".")[0] in LAUNCHERS:
        kind, named = ("file", told) if (told := _launched(found.arguments, here, ground)) else (kind, named)
    place = paths.normpath(paths.join(here, named)) if kind == "file" else named
    text = _code_of(place, ground.where) if kind == "file" else named if kind == "code" else ""
    if not named or text is None:
        return place, None
    folder = paths.dirname(ground.where.real_path(place)) if kind == "file" else here
    search = _search(found, way, "" if set(letters) & set("IPS") else folder, ground, homes, letters)
    if search is None:
        return place, None
    adds = own_paths(text, place, here, ground.person.home, ground.where) if kind == "file" else None
    if adds and adds.line and not adds.source:
        search = search_of_program(search, adds, place, ground.where) or search
        text = EXTENDS_PATH.sub(lambda m: m[0].replace("sys.path", "sys.known"), text)
    followed = _Imports(search, folder)
    if kind == "module":
        followed.take(named.partition(".")[0])
    else:
        followed.read(text, as_main=True)
    return place, None if followed.changes_search else followed


def _launched(arguments: tuple[str, ...], here: str, ground: Ground) -> str:
    """Return the person's program among the arguments of one that runs it: a file, or the module before ":app"; empty for none."""
    paths = ground.where.path_module
    for option, word in itertools.pairwise(arguments):
        app = re.fullmatch(r"([A-Za-z_][\w.]*):\w+", word) or (
            re.fullmatch(r"([A-Za-z_][\w.]*)", word) if option in ("-A", "--app") else None
        )
        named = f"{app[1].replace('.', '/')}.py" if app else word.partition("::")[0]
        if named.endswith(".py") and ground.where.is_file(paths.normpath(paths.join(here, named))):
            return named
    if arguments and paths.basename(arguments[0]) in PYTEST:
        tests = (
            ground.where.join(f, n) for f in ("", "tests") for n in ground.where.names(ground.where.join(here, f)) or ()
        )
        return next((t for t in tests if re.fullmatch(r"(?:tests/)?test_\w+\.py", t)), "")
    return ""


def _code_of(place: str, where: Sysroot) -> str | None:
    """Return a program's code."""
    if is_notebook(place):
        notebook = read_notebook(place, where)
        return notebook.code if notebook else None
    return where.text(place, 1 << 19)


def options_of_python(arguments: tuple[str, ...]) -> tuple[str, str, str]:
    """Return the letters of options that narrow Python's search, and what it runs: a file, a module, or code; empty for neither.

    E: without its variables. s: without the person's own packages. P: without the program's folder. I: all three. S: without packages.

    Source: https://docs.python.org/3/using/cmdline.html.
    """
    narrow = ""
    words = list(arguments)
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        letters = word[1:] if not word.startswith("--") else ""
        narrow += "".join(c for c in re.split(r"[cmWX]", letters)[0] if c in "EIPSs")
        ends = re.match(r"[^cmWX]*([cmWX])(.*)", letters, re.DOTALL)
        if word == "--check-hash-based-pycs" or (ends and not ends[2]):
            value = words.pop(0) if words else ""
        else:
            value = ends[2] if ends else ""
        if ends and ends[1] in "cm":
            return narrow, "code" if ends[1] == "c" else "module", value
        if "S" in narrow:
            return narrow, "", ""  # no packages are searched
    return narrow, "file", words[0] if words and words[0] != "-" else ""


def program_file(found: StartedFile) -> str:
    """Return the program that a Python runs, as its command writes it, where it is a file; else nothing."""
    _letters, kind, named = options_of_python(found.arguments)
    return named if kind == "file" else ""


def _search(  # noqa: PLR0917 - a start, its options, and where it searches
    found: StartedFile, way: Reached, folder: str, ground: Ground, homes: list[PythonEnvironment], letters: str
) -> ModuleSearch | None:
    """Return the search of the started Python; None if reading does not show all of it."""
    if found.is_gone or found.requires is not None:
        interpreter = read_interpreter(homes[0].prefix, homes[0].executable, ground.where)
        own = PythonSearch((SearchEntry(path=folder, origin="start"),))
        return ModuleSearch(interpreter, own, homes[0].architecture, ground.where) if interpreter else None
    interpreter = read_interpreter(found.prefix, found.path, ground.where)
    if interpreter is None:
        return None
    given = {"HOME": ground.person.home, **way.state.environment()}
    env = {n: v for n, v in given.items() if not set(letters) & set("EI") or not n.startswith("PYTHON")}
    if set(letters) & set("Is"):
        env["PYTHONNOUSERSITE"] = "1"
    here = ground.here(way.state)
    path = python_search_path(interpreter, env, folder, ground.where, working=here)
    if not all(shows_whole_effect(code, ground.where) for code in path.start_code):
        return None
    search = ModuleSearch(interpreter, path, homes[0].architecture, ground.where)
    return None if search.has_unknown_finders else search


class _Imports:
    """The imports at the margin of a program and of its own modules."""

    def __init__(self, search: ModuleSearch, folder: str) -> None:
        self.search, self.folder = search, folder
        self.lacks: dict[str, None] = {}
        self.wants: dict[str, tuple[str, int]] = {}
        """Variables that are asked for without another value: the module's file, or "" for the program, and the line."""
        self.fills_variables = False
        self.seen: set[str] = set()
        self.found: dict[str, FoundModule] = {}
        self.changes_search = False

    def read(self, text: str, *, as_main: bool = False, path: str = "") -> None:
        """Take what a text imports, as far as Python surely comes."""
        self.changes_search = self.changes_search or bool(CHANGES_SEARCH.search(text))
        self.fills_variables = self.fills_variables or bool(FILLS_VARIABLES.search(text))
        for node in surely_run(statements_of(text), as_main=as_main):
            self._take(node, path)

    def _take(self, node: ast.stmt, path: str) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
            for name, line in asked_variables(node):
                self.wants.setdefault(name, (path, line))
        for name in modules_imported(node):
            self.take(name)

    def take(self, name: str) -> None:
        """Take a module: note that it lacks, or read it, and the part of it that is named, if it is the program's own."""
        module, *parts = name.split(".")
        if name in self.seen or module in sys.stdlib_module_names or len(self.seen) >= MOST_MODULES:
            return
        self.seen.add(name)
        if module not in self.found:
            self.found[module] = self.search.find(module)
        its, where = self.found[module], self.search.where
        if its.kind == "none":
            self.lacks[module] = None
        elif its.kind in ("module", "package") and self._is_own(its):
            place = where.join(where.parent(its.path), *parts)
            inner = (f"{place}.py", where.join(place, "__init__.py")) if parts and its.kind == "package" else ()
            for path in (*([] if parts and module in self.seen else [its.path]), *filter(where.is_file, inner)):
                self.seen.add(module)
                self.read(where.text(path, 1 << 19) or "", path=path)

    def _is_own(self, module: FoundModule) -> bool:
        """Whether a module is in the program's folder, or in one that somebody put before all packages; not among the packages of an environment there."""
        origin = self.search.search.entries[module.entry].origin if module.entry >= 0 else ""
        inside = is_inside(self.search.where.system, module.path, self.folder)
        return origin == "PYTHONPATH" or (inside and origin not in PACKAGES)


def surely_run(body: list[ast.stmt], *, as_main: bool) -> Iterator[ast.stmt]:
    """Yield the statements to which a module's code surely comes, in their order: those at its margin, in ``with``, of a program what asks whether it
    was started, and the module's own functions, each where it is surely called first.
    """
    functions = {n.name: n for n in body if isinstance(n, ast.FunctionDef) and _runs_when_called(n)}
    yield from _run(body, functions, as_main=as_main)


def _run(body: list[ast.stmt], functions: dict[str, ast.FunctionDef], *, as_main: bool) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        match node:
            case ast.If(test=test, body=inner) if as_main and is_main(test):
                yield from _run(inner, functions, as_main=False)
            case ast.With(items=items, body=inner) if not any(_catches(i.context_expr) for i in items):
                yield from _run(inner, functions, as_main=False)
            case ast.Assign() | ast.AnnAssign() | ast.Expr() | ast.Return():
                for call in sure_calls(node, lambda _test: None):
                    if isinstance(call.func, ast.Name) and (its := functions.pop(call.func.id, None)):
                        yield from _run(until_it_may_return(its.body), functions, as_main=False)
            case _:
                pass
        match node:
            case ast.Raise() | ast.Return() | ast.Expr(value=ast.Call(func=ast.Attribute(attr="exit" | "_exit"))):
                return
            case _:
                pass


def _catches(opened: ast.expr) -> bool:
    """Whether what ``with`` opens may catch exceptions: contextlib.suppress, pytest.raises."""
    return last_name(uncalled(opened)) in ("suppress", "raises")


_RUNS_IT = frozenset(("main", "command", "record", "no_grad", "inference_mode"))
"""Decorators behind which a call without arguments runs the function: Hydra's, click's, PyTorch's."""


def _runs_when_called(node: ast.FunctionDef) -> bool:
    return all(last_name(uncalled(d)) in _RUNS_IT for d in node.decorator_list)


def until_it_may_return(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a function up to the first condition or loop in which it may end."""
    for number, node in enumerate(body):
        if isinstance(node, ast.Return | ast.FunctionDef | ast.ClassDef):
            continue
        if any(isinstance(n, ast.Return | ast.Yield) for n in ast.walk(node)):
            is_sure = isinstance(node, ast.With) and until_it_may_return(node.body) == node.body
            return body[: number + is_sure]
    return body


FILLS_VARIABLES = late_pattern(
    r"dotenv|environ\b[^\n]{0,40}\]\s*=(?!=)|environ\.(?:update|setdefault|pop)|putenv|read_env|\bEnv\(|environs"
)
"""After this, reading does not show which variables a program has."""


def asked_variables(node: ast.stmt) -> Iterator[tuple[str, int]]:
    """Yield the variables without which a statement ends, with their lines: with KeyError, or with TypeError at what does not take None."""
    later = {
        id(n)
        for part in ast.walk(node)
        if isinstance(part, ast.Lambda | ast.IfExp | ast.BoolOp)
        for n in ast.walk(part)
    }
    for part in ast.walk(node):
        match part:
            case ast.Subscript(value=value, slice=ast.Constant(value=str(name)), ctx=ast.Load()) if (
                is_environ(value) and id(part) not in later
            ):
                yield name, part.lineno
            case ast.Call(func=func, args=args) if last_name(func) in _REFUSE_NONE and id(part) not in later:
                yield from ((name, one.lineno) for one in args if (name := perhaps_none(one)))
            case ast.BinOp(left=left, op=ast.Add() | ast.Div(), right=right) if id(part) not in later:
                yield from ((name, one.lineno) for one in (left, right) if (name := perhaps_none(one)))
            case _:
                pass


def refused_names(node: ast.stmt, named: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the variables of these names (name -> variable) that a statement surely hands to what does not take None, with their lines."""
    for call in sure_calls(node, lambda _test: None):
        if last_name(call.func) in _REFUSE_NONE and chain_of(call.func)[:1] in (
            ("os",),
            ("Path",),
            ("open",),
            ("pathlib",),
        ):
            yield from ((named[a.id], a.lineno) for a in call.args if isinstance(a, ast.Name) and a.id in named)


_REFUSE_NONE = frozenset(
    (
        "int",
        "float",
        "Path",
        "PurePath",
        "join",
        "open",
        "listdir",
        "makedirs",
        "mkdir",
        "chdir",
        "expanduser",
        "abspath",
    )
)
"""Functions of Python that raise TypeError for None: int(), pathlib.Path(), os.path.join(), os.makedirs(), open()."""


def perhaps_none(node: ast.expr) -> str:
    """Return the variable of a call that gives None where it is not set: os.getenv("X"), os.environ.get("X"); empty for anything else."""
    match node:
        case ast.Call(
            func=ast.Attribute(attr="get", value=owner), args=[ast.Constant(value=str(name))], keywords=[]
        ) if is_environ(owner):
            return name
        case ast.Call(func=func, args=[ast.Constant(value=str(name))], keywords=[]) if last_name(func) == "getenv":
            return name
    return ""


OFF = ("", "0", "false", "no", "off")


def may_come(module: str, folder: str, ground: Ground) -> bool:
    """Whether ``uv run`` may install the module before it starts the program: it first installs what the project asks for."""
    if any(variable_in(ground.env, n).lower() not in OFF for n in ("UV_NO_SYNC", "UV_OFFLINE")):
        return False
    locked = toml_of(ground.where.join(folder, "uv.lock"), ground).get("package")
    if isinstance(locked, list):
        names = [n for p in locked if isinstance(p, Mapping) and isinstance(n := p.get("name"), str)]
        return module in modules_of(names)
    project = toml_of(ground.where.join(folder, "pyproject.toml"), ground).get("project")
    return bool(isinstance(project, Mapping) and project.get("dependencies"))


def toml_of(path: str, ground: Ground) -> Mapping[str, object]:
    """Return the tables of a file."""
    return toml_tables(ground.where.text(path, 1 << 22) or "")
