"""Python code that starts a program with variables of its own: subprocess' functions, and Airflow's operators. Nothing is run.

Sources: Python's documentation, "subprocess" (env replaces the whole environment); Airflow's, "BashOperator" (env, append_env),
"ExternalPythonOperator" (the function runs in the Python that is named), and "Configuration" (dags_folder).
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Iterator

from core.common.syntax_tree import argument, constant, is_environ, last_name, literal_text, nodes_of, statements_of
from core.host.startup.state import State
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.machine import Ground

Task = tuple[str, int, str, State]
Reader = Callable[[str, str, State, Ground], Iterator[Task]]
"""Reads what a file of this text, at this path, starts with these variables."""
Row = tuple[str, str | None, int]
"""Name, value and line of a variable; without a name: all of this process; without a value: it is taken away."""
EVERY: Row = ("", "", 0)
STARTERS = frozenset((
    "run", "call", "check_call", "check_output", "Popen", "create_subprocess_exec", "create_subprocess_shell",
))  # fmt: skip
OPERATOR = "BashOperator"
FOLDERS = ("", "dags", "flows", "pipelines", "jobs", "scripts", "tools")
"""Folders of a project with such code."""
MOST_FILES = 40
MAY_LAUNCH = re.compile(r"\benv\s*=|[\\/]python")
NAMES_A_PYTHON = re.compile(r"['\"]?[^\s'\"]*[\\/]python[\w.]*(?:['\"\s]|$)")
"""A command that begins with the path of a Python."""
ELSEWHERE = ("external_python", "ExternalPythonOperator")
"""Airflow's decorator and operator that run a function in another Python."""


def launching_files(
    ground: Ground, folders: tuple[str, ...] = FOLDERS, endings: tuple[str, ...] = (".py",)
) -> Iterator[str]:
    """Yield the project's files that may start programs, below the working folder."""
    join = ground.where.join
    for folder in folders:
        names = ground.around.names(join(ground.folder, folder) if folder else ground.folder)
        yield from (join(folder, n) if folder else n for n in [n for n in names if n.endswith(endings)][:MOST_FILES])


def one_line(words: Iterable[str], ground: Ground) -> str:
    """Return words as one command line of this machine's system."""
    if ground.where.system != "windows":
        return shlex.join(words)
    return " ".join(f'"{w}"' if " " in w or not w else w for w in words)


def dag_files(ground: Ground) -> Iterator[str]:
    """Yield the files of the person's own Airflow, wherever the working folder is, by their whole paths."""
    home = ground.env.get("AIRFLOW_HOME") or ground.at_home("airflow")
    told = re.search(r"(?m)^[ \t]*dags_folder[ \t]*=[ \t]*(/\S+)[ \t]*$", ground.read(f"{home}/airflow.cfg") or "")
    folder = told[1] if told else f"{home}/dags"
    if folder != f"{ground.folder}/dags":
        yield from (f"{folder}/{n}" for n in [n for n in ground.around.names(folder) if n.endswith(".py")][:MOST_FILES])


def launching_calls(text: str, path: str, state: State, ground: Ground, *, own_python: str = "") -> Iterator[Task]:
    """Yield each command that is started with variables of its own, by a Python's path, or by Airflow. ``own_python``: what sys.executable
    is.
    """
    by_airflow = "airflow" in text
    if not by_airflow and not (MAY_LAUNCH.search(text) and "subprocess" in text):
        return
    nodes = sorted(
        (n for n in nodes_of(text) if isinstance(n, ast.stmt | ast.expr)), key=lambda n: (n.lineno, n.col_offset)
    )
    mappings = _Mappings(nodes, PathNames(path, env=state.values))
    names = PathNames(path, env=state.values)
    for statement in statements_of(text) if by_airflow else ():
        names.follow(statement)
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in (*STARTERS, OPERATOR):
                command = _command(node, called, names, ground, own_python)
                given = argument(node, "env")
                if not command or (given is None and called != OPERATOR and not NAMES_A_PYTHON.match(command)):
                    continue
                its = state.apart()
                whole = constant(argument(node, "append_env")) is not True if called == OPERATOR else True
                rows: list[Row | None] = [EVERY] if given is None else [*mappings.rows(given, node.lineno)]
                if _apply(rows, its, path, node.lineno, replaces=whole):
                    yield f"{called}, line {node.lineno}", node.lineno, command, its
            case _ if by_airflow and (command := _in_another_python(node, nodes, names)):
                yield f"{ELSEWHERE[0]}, line {node.lineno}", node.lineno, command, state.apart()
            case _:
                pass


def named_pythons_started(text: str, ground: Ground) -> Iterator[tuple[int, str, bool]]:
    """Yield line and command of each call that starts a Python by its bare name, with this process' own variables and folder, and whether a shell
    does it.
    """
    if not re.search(r"subprocess|os\.system", text) or not re.search(r"[\"']python[\d.]*[\"' ]", text):
        return
    names = PathNames("", env={})
    for node in nodes_of(text):
        match node:
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in (*STARTERS, "system"):
                named = {k.arg for k in node.keywords} & {"env", "cwd", "executable", None}
                by_shell = called == "system" or _is_by_shell(node, called)
                told = (
                    literal_text(argument(node, "command", 0))
                    if called == "system"
                    else _command(node, called, names, ground)
                )
                if told and not named and re.match(r"python[\d.]*(?:\s|$)", told):
                    yield node.lineno, told, by_shell
            case _:
                pass


def called_shells(text: str, _path: str, state: State, _ground: Ground) -> Iterator[Task]:
    """Yield the commands that a program hands to a shell, if one of them activates an environment: each call has a shell of its own."""
    if "activate" not in text or not re.search(r"subprocess|os\.system", text):
        return
    for node in sorted((n for n in nodes_of(text) if isinstance(n, ast.Call)), key=lambda n: n.lineno):
        called = last_name(node.func)
        its_own = {k.arg for k in node.keywords} & {"env", "cwd", "executable", None}
        if called == "system" or (called in STARTERS and _is_by_shell(node, called)):
            told = literal_text(argument(node, "command" if called == "system" else "args", 0))
            if told and not its_own:
                yield "calls of a shell", node.lineno, told, state.apart()


def own_python(ground: Ground) -> str:
    """Return the Python that runs a project's programs, if there is one environment that was asked for, or that is active."""
    known = [p for p in ground.pythons if p.kind in ("venv", "conda") and p.executable]
    first = [p for p in known if p.is_named] or [p for p in known if p.is_wanted] or known
    return first[0].executable if len(first) == 1 else ""


def _in_another_python(node: ast.stmt | ast.expr, nodes: list[ast.stmt | ast.expr], names: PathNames) -> str:
    """Return the command by which Airflow runs a function in another Python, as far as the text tells it; else nothing."""
    function: ast.stmt | ast.expr | None = None
    call = node
    match node:
        case ast.FunctionDef(decorator_list=decorators):
            call = next((d for d in decorators if isinstance(d, ast.Call) and last_name(d.func) in ELSEWHERE), node)
            function = node if call is not node else None
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == ELSEWHERE[1]:
            told = argument(node, "python_callable")
            wanted = told.id if isinstance(told, ast.Name) else ""
            function = next((n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == wanted), None)
        case _:
            pass
    named = argument(call, "python") if isinstance(call, ast.Call) else None
    python = names.value_of(named) if named is not None else None
    if not python or not isinstance(function, ast.FunctionDef):
        return ""
    return shlex.join((python, "-c", "\n".join(ast.unparse(n) for n in function.body)))


def _is_by_shell(call: ast.Call, called: str) -> bool:
    return called == "create_subprocess_shell" or constant(argument(call, "shell")) is True


def _command(call: ast.Call, called: str, names: PathNames, ground: Ground, own_python: str = "") -> str:
    """Return what a call starts, as far as its words stand in the text; empty if the program does not."""
    if called == OPERATOR:
        given = argument(call, "bash_command")
        return (names.value_of(given) if given is not None else None) or ""
    if called == "create_subprocess_exec":
        listed = call.args
    else:
        first = argument(call, "args", 0)
        if (told := literal_text(first)) is not None:
            whole = _is_by_shell(call, called) or ground.where.system == "windows"
            return told if whole else shlex.quote(told)
        listed = first.elts if isinstance(first, ast.List | ast.Tuple) else []
    words = [own_python or None if ast.unparse(a) == "sys.executable" else literal_text(a) for a in listed]
    return one_line((w for w in words if w is not None), ground) if words and words[0] is not None else ""


def _apply(rows: list[Row | None], state: State, path: str, line: int, *, replaces: bool) -> bool:
    """Give a state the variables of an ``env`` argument; False if the text does not tell them."""
    if None in rows or not rows:
        return False
    if replaces and EVERY not in rows:
        state.keep_only((), path, line, "python")
    for name, value, number in (r for r in rows if r is not None):
        if name and value is not None:
            state.export_variable(name, value, path, number, "python")
        elif name:
            state.unset_variable(name, path, number, "python")
    return True


class _Mappings:
    """The mappings of variables in one file."""

    def __init__(self, nodes: list[ast.stmt | ast.expr], texts: PathNames) -> None:
        self._nodes, self._texts = nodes, texts

    def rows(self, node: ast.expr, line: int) -> Iterator[Row | None]:
        """Yield what a mapping consists of at a line; None where the text does not tell."""
        match node:
            case ast.Attribute() | ast.Name() if is_environ(node):
                yield EVERY
            case ast.Call(func=ast.Attribute(value=inner, attr="copy"), args=[]):
                yield from self.rows(inner, line)
            case ast.Call(func=ast.Name(id="dict"), args=several, keywords=more) if len(several) < 2 and (
                several or more
            ):
                for inner in several:
                    yield from self.rows(inner, line)
                yield from (self._row(k.arg, k.value) for k in more)
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                yield from self.rows(left, line)
                yield from self.rows(right, line)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if key is None:
                        yield from self.rows(value, line)
                    else:
                        yield self._row(literal_text(key), value)
            case ast.Name(id=name):
                yield from self._of_name(name, line)
            case _:
                yield None

    def _row(self, name: str | None, value: ast.expr) -> Row | None:
        return (name, self._texts.text_of(value), value.lineno) if name else None

    def _of_name(self, name: str, line: int) -> Iterator[Row | None]:
        """Yield what a name's mapping holds before a line, as the file's statements fill it one after another."""
        rows: list[Row | None] = [None]
        for node in self._nodes:
            if node.lineno >= line:
                break
            match node:
                case ast.Assign(targets=[ast.Name(id=its)], value=value) if its == name:
                    known = [r for r in rows if r is not None]
                    fresh = not (isinstance(value, ast.Name) and value.id == name)
                    rows = list(self.rows(value, node.lineno)) if fresh else [*known]
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=its), slice=key)], value=value) if its == name:
                    rows.append(self._row(literal_text(key), value))
                case ast.Call(func=ast.Attribute(value=ast.Name(id=its), attr="update"), args=[value]) if its == name:
                    rows += self.rows(value, node.lineno)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=its), attr="pop"), args=[key, *_]) if its == name:
                    told = literal_text(key)
                    rows.append(None if told is None else (told, None, node.lineno))
                case _:
                    pass
        yield from rows
