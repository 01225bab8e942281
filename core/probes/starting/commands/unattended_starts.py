"""What a program lacks that nobody starts: a variable of the person's session, or a tool to which only another PATH leads."""

from __future__ import annotations

import ast
import ntpath
import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import argument, chain_of, literal_text, statements_of
from core.common.variable_names import variable_in
from core.knowledge.tools import tool_table
from core.model.facts import PythonEnvironment, StartedPython
from core.model.facts.starting import StartFault
from core.probes.programs.follow import find_named
from core.probes.python.following.callees import sure_calls
from core.probes.python.text.path_expressions import PathNames
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.lacking_modules import (
    folder_of_start,
    lacking_variables,
    options_of_python,
    program_file,
    surely_run,
)
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, ended_start

STARTED_BY_NOBODY = ("service", "cron")
"""Ways in which a Python that is gone is told: other files often name one of another machine."""
OF_ANOTHER_ACCOUNT = ("service", "task")
"""The same on Windows, where many have an account of the system's."""
OF_TERMINALS = (".bashrc", ".bash_aliases", ".zshrc")
OF_LOGINS = (".profile", ".bash_profile", ".zshenv", ".zprofile")
"""Start-up files whose variables a desktop may hand on to the person's services."""


def unattended_starts(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment | None
) -> Iterator[StartedPython]:
    """Yield the environment's Python (``home``) whose program does not get what the person's own programs get."""
    kinds = OF_ANOTHER_ACCOUNT if ground.where.system == "windows" else (*STARTED_BY_NOBODY, "launcher")
    if home is not None and way.kind in kinds:
        yield from _without_its_tool(found, way, ground, home)
        yield from _without_variables(found, way, ground, home)
    if home is not None and way.kind in (*kinds, "launcher", "editor"):
        yield from _without_its_file(found, way, ground, home)
    yield from without_launcher(found, way, ground, home)
    yield from _not_exported(found, way, ground, home)
    yield from _set_in_vain(found, way, ground, home)


MOST_MODULES = 60
"""Files of a package that are searched for the name of a variable."""


def _set_in_vain(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment | None
) -> Iterator[StartedPython]:
    """Yield the start of a package's own command that reads a variable which a line on the way to it sets without effect."""
    where, named = ground.where, options_of_python(found.arguments)[2]
    package = where.name(named).removesuffix(".exe").partition(".")[0] if not named.endswith(".py") else ""
    rows = [r for r in way.state.ignored if r.overridden and not variable_in(way.state.values, r.name)]
    for folder in (where.join(site, package) for site in home.site_packages) if home and package and rows else ():
        for name in [n for n in where.names(folder) or () if n.endswith(".py")][:MOST_MODULES]:
            lines = (where.text(where.join(folder, name)) or "").splitlines()
            for number, line in enumerate(lines, 1):
                if home and (
                    row := next((r for r in rows if re.search(rf"[\"']{re.escape(r.name)}[\"']", line)), None)
                ):
                    source, place = f"{where.join(folder, name)}:{number}", f"{row.file}:{row.line}"
                    its = ended_start(home.prefix, row.name, found.path, "not exported", source=source, program=place)
                    yield replace(its, misset=row)
                    return


OF_A_LAUNCHER = ("LOCAL_RANK", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun gives each program that it starts (PyTorch's documentation, "torchrun", "Environment Variables")."""


def without_launcher(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment | None
) -> Iterator[StartedPython]:
    """Yield the start, however it is made, of a program by its Python alone that asks for a variable of torchrun's."""
    _letters, kind, named = options_of_python(found.arguments)
    if home is None or kind != "file" or not named.endswith(".py"):
        return
    for name, source in lacking_variables(found, way, ground, home):
        if name in OF_A_LAUNCHER:
            yield ended_start(home.prefix, name, found.path, "variable not set", source=source, program="torchrun")
            return


def _not_exported(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment | None
) -> Iterator[StartedPython]:
    """Yield the start whose program asks for a variable that a script on the way to it sets for itself alone."""
    scripts = {f: ground.read(f) or "" for f in way.state.files if f.lower().endswith((".sh", ".bash", ".ps1"))}
    if home is None or not scripts:
        return
    for name, source in lacking_variables(found, way, ground, home):
        spelt = re.escape(name)
        for file, text in scripts.items():
            of_powershell = file.lower().endswith(".ps1")
            own = (
                rf"(?im)^[ \t]*\${spelt}[ \t]*="
                if of_powershell
                else rf"(?m)^[ \t]*{spelt}=(?:\"[^\"\n]*\"|'[^'\n]*'|\S*)[ \t]*(?:#.*)?$"
            )
            others = (
                rf"(?i)env:{spelt}\b|Environment\]"
                if of_powershell
                else rf"export\b[^\n]*\b{spelt}\b|set -\w*a|allexport|declare"
            )
            row = re.search(own, text)
            if row and not re.search(others, text):
                line = text.count("\n", 0, row.start()) + 1
                yield ended_start(
                    home.prefix, name, found.path, "not exported", source=source, program=f"{file}:{line}"
                )
                return


def _without_variables(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment
) -> Iterator[StartedPython]:
    """Yield the start whose program asks for a variable that this session, a start-up file of a shell or a ``.env`` beside the program has.

    Of the session's own variables a launcher gets those of the desktop, which no file shows.
    """
    windows, join = ground.where.system == "windows", ground.where.join
    beside = ground.where.parent(join(ground.here(way.state), program_file(found) or "x"))
    places = () if windows else (*map(ground.at_home, (*OF_LOGINS, *OF_TERMINALS)), join(beside, ".env"))
    for name, source in lacking_variables(found, way, ground, home):
        sets = re.compile(rf"^[ \t]*export[ \t]+{re.escape(name)}=", re.MULTILINE)
        of_dotenv = re.compile(rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}=", re.MULTILINE)
        file = next((p for p in places if (of_dotenv if p.endswith(".env") else sets).search(ground.read(p) or "")), "")
        handed_on = way.kind in ("service", "launcher") and file.endswith(OF_LOGINS)
        if (file or (name in ground.env and way.kind != "launcher")) and not handed_on:
            yield ended_start(home.prefix, name, found.path, "variable not set", source=source, program=file)
            return


CHANGES_FOLDER = late_pattern(r"\bchdir\b|hydra")


def _without_its_file(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment
) -> Iterator[StartedPython]:
    """Yield the start in another folder than the program's, which opens a file by a relative path that only its own folder has."""
    is_told = way.state.values.get("PWD") or way.kind in ("cron", "editor")
    here = folder_of_start(way, ground) if is_told else ""
    paths, is_file = ground.where.path_module, ground.where.is_file
    place = paths.normpath(paths.join(here, program_file(found) or "."))
    text = (ground.read(place) if here and place.endswith((".py", ".pyw")) else None) or ""
    folder = paths.dirname(place)
    for file, line in relative_files(text, place) if not CHANGES_FOLDER.search(text) else ():
        if not ground.where.exists(paths.join(here, file)) and is_file(paths.join(folder, file)):
            fault: StartFault = "not in this folder" if ground.where.system == "windows" else "program not there"
            source = f"{place}:{line}"
            yield ended_start(home.prefix, file, found.path, fault, source=here, program=folder, command=source)
            return


def relative_files(text: str, path: str) -> Iterator[tuple[str, int]]:
    """Yield the relative paths of the files that a program surely opens for reading as it starts, with their lines."""
    names = PathNames(path)
    for node in surely_run(statements_of(text), as_main=True):
        simple = isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)
        parts = [i.context_expr for i in node.items] if isinstance(node, ast.With) else [node] if simple else []
        for call in (c for part in parts for c in sure_calls(part, lambda _test: None)):
            match call:
                case ast.Call(func=ast.Name(id="open"), args=[file, *_]) if (
                    literal_text(argument(call, "mode", 1) or ast.Constant("r")) in READING
                ):
                    pass
                case ast.Call(func=ast.Attribute(value=file, attr="read_text" | "read_bytes"), args=[]):
                    pass
                case ast.Call(func=func, args=[file, *_]) if _READS_A_FILE.fullmatch(".".join(chain_of(func)[-2:])):
                    pass
                case _:
                    continue
            value = names.value_of(file) or ""
            if value and not ntpath.isabs(value) and "://" not in value:
                yield value, call.lineno
        names.follow(node)


READING = ("r", "rt", "rb")
_READS_A_FILE = late_pattern(
    r"(?:\w+\.)?(?:read_(?:csv|json|table|excel|parquet|pickle|feather)|loadtxt|genfromtxt|load_file|load_model|load_weights|InferenceSession|truetype)"
    r"|(?:torch|jit|np|numpy|jnp|joblib|onnx|torchaudio|librosa|sf|soundfile)\.(?:load|read)|Image\.open"
)
"""Calls whose first argument is the path of a file that must be there."""


def _without_its_tool(
    found: StartedFile, way: Reached, ground: Ground, home: PythonEnvironment
) -> Iterator[StartedPython]:
    """Yield the start whose package runs a tool that lies beside the Python (on Windows, in this session's PATH), but not in the start's PATH."""
    windows, paths = ground.where.system == "windows", ground.where.path_module
    its = {n.upper(): v for n, v in way.state.values.items()}
    path, open_names = its.get("PATH", ""), {n.upper() for n in way.state.open}
    if not path or "PATH" in open_names:
        return
    here = ground.here(way.state)
    place = paths.normpath(paths.join(here, program_file(found) or "."))
    text = (ground.read(place) if place.endswith(".py") else None) or ""
    names = {d.name for d in home.distributions}
    other = "linux" if windows else "windows"
    calls = (c for c in tool_table().calls if c.program and c.system != other and re.search(c.spelt, text))
    wanted = [
        (c.program, c.reader)
        for c in calls
        if not (c.unless and re.search(c.unless, text)) and not any(its.get(n.upper()) for n in c.chosen)
    ]
    if not windows:
        wanted += [
            (p.name, p.reader) for p in tool_table().programs if text and (not p.run_by or re.search(p.run_by, text))
        ]
    wanted += [(tool, "") for tool in _run_by_name(text)]
    own = paths.join(home.prefix, "Scripts" if windows else "bin")
    for tool, reader in wanted:
        if (reader and not any(re.fullmatch(reader, n) for n in names)) or find_named(
            tool, {"PATH": path}, ground.where, here
        ):
            continue
        beside = find_named(tool, {"PATH": own}, ground.where, here)
        meant = beside or (find_named(tool, ground.env, ground.where, here) if windows else "")
        if meant:
            of_person = windows and meant != beside
            fault: StartFault = "not of this account" if of_person else "tool not in PATH"
            lacks, folder = (tool,) if of_person else (), paths.dirname(meant)
            yield ended_start(home.prefix, tool, found.path, fault, source=folder, program=place, lacks=lacks)
            return


def _run_by_name(text: str) -> Iterator[str]:
    """Yield the programs that a program's code surely starts by a bare name, without a shell, with its own PATH; another Python is looked at elsewhere."""
    for node in surely_run(statements_of(text), as_main=True) if "subprocess" in text and "PATH" not in text else ():
        simple = isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)
        for call in sure_calls(node, lambda _test: None) if simple else ():
            told = argument(call, "args", 0) if chain_of(call.func)[:1] == ("subprocess",) else None
            plain = {k.arg for k in call.keywords}.isdisjoint(("env", "cwd", "executable", "shell", None))
            name = literal_text(next(iter(told.elts), None)) if isinstance(told, ast.List | ast.Tuple) else ""
            if plain and re.fullmatch(r"(?!python)[\w.-]+", name or ""):
                yield name or ""
