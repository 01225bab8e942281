"""Files of variables under another name than the one that a program reads, which then lacks a variable that it needs to start.

Explorer hides a file's ending, and Notepad adds one: ``.env.txt``. python-dotenv passes over a file that is not there. What a program needs
is what its own statements ask for, and what the classes of packages ask for whose objects it makes: ``OpenAI()`` ends without a key.
"""

from __future__ import annotations

import ast
import codecs
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, chain_of, statements_of
from core.common.variable_names import variable_in
from core.host.startup.plain import read_dotenv
from core.model.facts import PythonEnvironment
from core.probes.python.following.called_code import CalledCode
from core.probes.python.following.callees import Class, sure_calls
from core.probes.python.following.dotted_modules import DottedModules, Module
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.python.search.start_code import asked_of_decouple, decouple_calls, dotenv_calls
from core.probes.python.text.evaluation import ends_with_raise
from core.probes.python.text.module_text import modules_imported
from core.probes.starting.commands.lacking_modules import (
    asked_variables,
    has_module,
    perhaps_none,
    refused_names,
    surely_run,
)
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_program, ended_start

MARK = "\ufeff"
MISNAMED = ("{name}.txt", "env.txt", "env")
"""What stands in the place of ".env", the likeliest first."""
MOST_PROGRAMS, MOST_BYTES, MOST_SOURCE = 20, 1 << 18, 4 << 20
MOST_FILES, MOST_MODULES = 60, 60
READS_BY_ITSELF = late_pattern(r"\.vscode|\.idea|\.envrc|Pipfile|Procfile|(?:docker-)?compose\.ya?ml|\.?mise\.toml")
"""Files and folders of what reads ``.env`` without being told to."""
TELLS_ABOUT = (".md", ".rst", ".txt", ".example", ".sample", ".template")
_READS_VARIABLES = late_pattern(r"dotenv|\.env\b(?!\.)|env[_-]?file|environs|decouple|BaseSettings|read_env|docker")
SETS_VARIABLES = late_pattern(r"environ\b[^\n]{0,40}\]\s*=(?!=)|environ\.(?:update|setdefault)|putenv")
"""After this, reading does not show which variables a program has."""


def misnamed_settings(ground: Ground) -> Iterator[Reached]:
    """Yield the programs of the working folder that need a variable which such a file beside them sets, and nothing else."""
    if not ground.is_in_project:
        return
    join, one_unread = ground.where.join, _is_unread(ground)
    for path in (join(ground.folder, n) for n in ground.programs(MOST_PROGRAMS)):
        text = ground.where.text(path, MOST_BYTES) or ""
        calls = dotenv_calls(text, path) or decouple_calls(text)
        file = join(ground.folder, calls[0].file or ".env") if len(calls) == 1 else ""
        if not calls and one_unread:
            yield from _unread(path, text, ground)
        elif not calls:
            yield from _renamed(path, text, ground)
        if not file or SETS_VARIABLES.search(text):
            continue
        if _is_there(file, searched=not calls[0].file, ground=ground):
            misnamed, absent = file, _behind_a_mark(file, ground)
        else:
            names = (form.format(name=ground.where.name(file)) for form in MISNAMED)
            places = (join(ground.where.parent(file), n) for n in names)
            misnamed = next((p for p in places if ground.around.kind(p) == "file"), "")
            absent = _set_by(misnamed, ground) if misnamed else frozenset()
        home = environment_of(text, calls[0].module, ground) if absent else None
        asked = _asked(path, text, absent, home, ground) if home else None
        asked = asked or _asked_of_decouple(text, absent)
        if home and asked:
            name, source = asked[0], f"{path}:{asked[1]}"
            its = ended_start(
                home.prefix, name, home.executable, "misnamed file", source=source, program=misnamed, command=file
            )
            if misnamed == file:
                says = f"its first line sets {MARK + name!r} and not {name}"
                its = ended_start(
                    home.prefix, says, home.executable, "file refused",
                    source=source, program=file, command=calls[0].module, refused="mark",
                )  # fmt: skip
            yield ended_program(path, home, its, ground)


def _is_unread(ground: Ground) -> bool:
    """Whether nothing in the working folder reads its ``.env``: no program, no tool's file that names it, no editor that reads it by itself."""
    names = ground.around.names(ground.folder)
    if ".env" not in names or ground.where.system == "windows" or any(map(READS_BY_ITSELF.fullmatch, names)):
        return False
    files = [
        n for n in names if n != ".env" and not n.endswith(TELLS_ABOUT) and n not in (".gitignore", ".dockerignore")
    ]
    texts = (ground.read_file(ground.where.join(ground.folder, n)) or "" for n in files[:MOST_FILES])
    return len(files) <= MOST_FILES and not any(_READS_VARIABLES.search(text) for text in texts)


def _unread(path: str, text: str, ground: Ground) -> Iterator[Reached]:
    """Yield a program that needs a variable which only the folder's ``.env`` sets."""
    file = ground.where.join(ground.folder, ".env")
    absent = frozenset() if SETS_VARIABLES.search(text) else _set_by(file, ground)
    home = environment_of(text, "os", ground) if absent else None
    if home and (asked := _asked(path, text, absent, home, ground)):
        source = f"{path}:{asked[1]}"
        its = ended_start(home.prefix, asked[0], home.executable, "variable not set", source=source, program=file)
        yield ended_program(path, home, its, ground)


def _renamed(path: str, text: str, ground: Ground) -> Iterator[Reached]:
    """Yield a program that needs a variable, or a package's constant that is one, where a variable of almost the same name is set in its place."""
    home = environment_of(text, "os", ground) if "import" in text and not SETS_VARIABLES.search(text) else None
    constants: dict[str, str] = {}
    for node in surely_run(statements_of(text), as_main=True) if home else ():
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and home:
            its = _constants(node.module, home, ground)
            constants |= {a.asname or a.name: its[a.name] for a in node.names if a.name in its}
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            continue
        asked = [*asked_variables(node), *refused_names(node, constants)]
        told = ((n, line, meant) for n, line in asked if (meant := _almost(n, ground)))
        if home and (one := next(told, None)):
            its_own = ended_start(
                home.prefix, one[0], home.executable, "variable not set", source=f"{path}:{one[1]}", command=one[2]
            )
            yield ended_program(path, home, its_own, ground)
            return


def _constants(module: str, home: PythonEnvironment, ground: Ground) -> dict[str, str]:
    """Return the names of a package's module that have a variable's value, or None: nnUNet_raw = os.environ.get("nnUNet_raw")."""
    join = ground.where.join
    place = next((p for s in home.site_packages if ground.where.is_file(p := f"{join(s, *module.split('.'))}.py")), "")
    rows = (
        (node for node in statements_of(ground.read_file(place) or "") if isinstance(node, ast.Assign)) if place else ()
    )
    return {
        name: variable
        for node in rows
        for target in node.targets
        if isinstance(target, ast.Name) and (name := target.id) and (variable := perhaps_none(node.value))
    }


def _almost(name: str, ground: Ground) -> str:
    """Return the variable of this session whose name goes on where this one ends, or is the same in other letters; empty if this one is set
    or a script of the folder names it.
    """
    given = variable_in(ground.env, name) if ground.where.system == "windows" else ground.env.get(name)
    if "_" not in name or given or any(name in script for script in ground.script_texts()):
        return ""
    same = name.casefold()
    names = sorted(n for n in ground.env if n.isidentifier())
    return next((n for n in names if n.casefold() == same or n.casefold().startswith(f"{same}_")), "")


def _behind_a_mark(file: str, ground: Ground) -> frozenset[str]:
    """Return the variable that the mark of UTF-8 in front of a file gives another name: python-dotenv opens it as UTF-8, which keeps the mark."""
    data = ground.where.read(file, MOST_BYTES) or b""
    if not data.startswith(codecs.BOM_UTF8):
        return frozenset()
    first = data.decode("utf-8-sig", "replace").partition("\n")[0]
    return frozenset(n for n in _set_in(first, file, ground) if not variable_in(ground.env, n))


def _is_there(file: str, *, searched: bool, ground: Ground) -> bool:
    """Whether a program finds its file of variables: by its path, or in the folders above the program."""
    return (
        any(ground.upward(n, ground.folder) for n in (".env", "settings.ini"))
        if searched
        else ground.around.kind(file) == "file"
    )


def _set_by(file: str, ground: Ground) -> frozenset[str]:
    """Return the variables that a file sets, that this session has not, and that no script of the folder names."""
    scripts = [*ground.script_texts()]
    return frozenset(
        n
        for n in _set_in(ground.read(file) or "", file, ground)
        if not variable_in(ground.env, n) and not any(n in script for script in scripts)
    )


def _set_in(text: str, file: str, ground: Ground) -> Iterable[str]:
    told = ground.session()
    read_dotenv(text, file, told)
    return told.lines


def environment_of(text: str, reader: str, ground: Ground) -> PythonEnvironment | None:
    """Return the first environment that has what reads the file, and all else that the program imports of packages."""
    tops = {m.partition(".")[0] for node in statements_of(text) for m in modules_imported(node)} | {reader}
    homes = [p for p in ground.pythons if reader in sys.stdlib_module_names or has_module(p, reader, ground)]
    wanted = {top for top in tops if any(has_module(p, top, ground) for p in ground.pythons)}
    return next((p for p in homes if all(has_module(p, top, ground) for top in wanted)), None)


def _asked(
    path: str, text: str, absent: Collection[str], home: PythonEnvironment, ground: Ground
) -> tuple[str, int] | None:
    """Return the first of these variables that a program surely needs as it starts, and the line; None where reading finds none."""
    code: CalledCode | None = None
    for node in surely_run(statements_of(text), as_main=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
            continue
        if told := next(((n, line) for n, line in asked_variables(node) if n in absent), None):
            return told
        for call in sure_calls(node, lambda _test: None):
            code = code or code_of(home, ground)
            if code and (name := _asked_by_class(call, path, text, code)) in absent:
                return name, call.lineno
    return None


def _asked_of_decouple(text: str, absent: Collection[str]) -> tuple[str, int] | None:
    """Return the first of these variables that a program asks python-decouple for, without another value for it."""
    asked = (
        (its for node in surely_run(statements_of(text), as_main=True) for its in asked_of_decouple(node))
        if "decouple" in text
        else ()
    )
    return next(((n, call.lineno) for n, call in asked if n in absent and argument(call, "default", 1) is None), None)


class _Facts:
    """What of an environment the conditions in its packages may ask for."""

    def __init__(self, home: PythonEnvironment, search: ModuleSearch, ground: Ground) -> None:
        self._home, self._ground, self.python = home, ground, search.python
        self.platform = {"windows": "win32"}.get(ground.where.system, ground.where.system)

    def is_installed(self, module: str) -> bool | None:
        return has_module(self._home, module.partition(".")[0], self._ground) or None

    def is_recorded(self, distribution: str) -> bool:
        return any(d.name == distribution for d in self._home.distributions)

    def release(self, _module: str) -> str:
        return ""


def code_of(home: PythonEnvironment, ground: Ground) -> CalledCode | None:
    """Return the functions and classes of an environment, as a program of the working folder finds them."""
    interpreter = read_interpreter(home.prefix, home.executable, ground.where)
    if interpreter is None:
        return None
    path = python_search_path(interpreter, ground.env, ground.folder, ground.where, working=ground.folder)
    search = ModuleSearch(interpreter, path, home.architecture, ground.where)
    return CalledCode(DottedModules(search, ground.where, MOST_SOURCE), _Facts(home, search, ground))


def modules_loaded(
    path: str, text: str, home: PythonEnvironment | None, follows: Callable[[str], bool], ground: Ground
) -> Iterator[tuple[bool, str, str]]:
    """Yield a program, then the modules that it surely imports and of whose top names ``follows`` holds: (is the program, text, file)."""
    yield True, text, path
    code, around = None, replace(ground, folder=ground.where.parent(path))
    waiting, seen = [*_imported(text, "", as_main=True)], set[str]()
    while waiting and home and len(seen) < MOST_MODULES:
        dotted = waiting.pop(0)
        top = dotted.partition(".")[0]
        if dotted not in seen and top not in sys.stdlib_module_names and follows(top):
            seen.add(dotted)
            code = code or code_of(home, around)
            if code and (its := code.scope(dotted)):
                yield False, its.text, its.path
                waiting += _imported(its.text, its.package)


def _imported(text: str, package: str, *, as_main: bool = False) -> Iterator[str]:
    """Yield the modules that a text surely imports: with a part its packages, and with ``from`` what it names, which may be modules."""
    for node in surely_run(statements_of(text), as_main=as_main):
        for module in modules_imported(node, package):
            parts = module.split(".")
            yield from (".".join(parts[: n + 1]) for n in range(len(parts)))
            if isinstance(node, ast.ImportFrom):
                yield from (f"{module}.{one.name}" for one in node.names)


def _asked_by_class(call: ast.Call, path: str, text: str, code: CalledCode) -> str:
    """Return the variable without which a call that makes an object ends; empty for none."""
    chain = chain_of(call.func)
    scope = code.scope_of("__main__", Module("module", path), text) if chain else None
    if scope is None or not chain or chain[0] not in scope.modules or any(w.arg is None for w in call.keywords):
        return ""
    its = code.class_at(scope, scope.modules, chain)
    return variable_of_class(its, call) if its else ""


def variable_of_class(its: Class, call: ast.Call) -> str:
    """Return the variable that __init__ takes in the place of a parameter that a call does not give, and without which it raises."""
    begins = [n for n in its.node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    if not begins:
        return ""
    args = begins[-1].args
    given: Mapping[str, ast.expr] = {
        **dict(zip([a.arg for a in (*args.posonlyargs, *args.args)][1:], call.args, strict=False)),
        **{w.arg: w.value for w in call.keywords if w.arg},
    }
    asked: dict[str, str] = {}
    for node in begins[-1].body:
        match node:
            case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=value)], orelse=[]):
                if _is_none(test) == name and (variable := perhaps_none(value)):
                    asked[name] = variable
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.BoolOp(op=ast.Or(), values=[ast.Name(id=same), value]),
            ) if name == same and (variable := perhaps_none(value)):
                asked[name] = variable
            case ast.If(test=test, body=body) if (name := _is_none(test)) in asked and ends_with_raise(body):
                if name not in given or perhaps_none(given[name]) == asked[name]:
                    return asked[name]
            case _:
                pass
    return ""


def _is_none(test: ast.expr) -> str:
    """Return the name that a condition holds against None, or whose value must be false; empty for anything else."""
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return name
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name
    return ""
