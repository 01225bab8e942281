"""Files of settings that are not in the form in which they are read: a tab that indents YAML, a comma too many in JSON, TOML without quotation marks.

Packages read them (Dask each file of its folder as it is imported, the launcher of Accelerate one before anything else), or a program of the
working folder that names the file. Streamlit passes over such a file. Sources: Dask's documentation, "Configuration"; YAML 1.2, "Indentation
Spaces".
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.common.syntax_tree import last_name, literal_text, nodes_of
from core.model.facts import Vocabulary, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.programs.program_folder import own_programs
from core.probes.sysroot import Sysroot
from core.probes.variables.launch_answers import answers
from core.probes.variables.reading_modules import recorded_names

FORMS = {".json": "JSON", ".toml": "TOML", ".yaml": "YAML", ".yml": "YAML"}
LOADERS = ("json", "yaml", "tomllib", "tomli")
MOST_BYTES = 1 << 18
_TAB = late_pattern(r" *\t[ \t]*[^\s#]")


def unreadable_files(request: ProbeRequest, where: Sysroot) -> Iterator[Vocabulary]:
    """Yield each file of settings that its reader cannot take."""
    pythons = request.seen.pythons or ()
    rows = [
        (python.prefix, reader, path, reader)
        for python in pythons
        for reader, path in _of_packages(request, where)
        if reader in recorded_names(python, where)
    ]
    near = next((p for p in pythons if p.is_named), None) or next((p for p in pythons if p.is_wanted), None)
    for program in own_programs(request, where):
        named = (where.join(where.parent(program.path), *n.split("/")) for n in loaded_files(program.text))
        rows += [(near.prefix, "", path, program.path) for path in named if near]
    for prefix, reader, path, by in rows:
        form = FORMS.get(path[path.rfind(".") :].lower(), "")
        text = where.text(path, MOST_BYTES) if form and where.is_file(path) else None
        if text is not None and (problem := problem_of(text, form)):
            line, says = problem
            yield Vocabulary(
                variable=form,
                prefix=prefix,
                files=(path_text(path), path_text(by)),
                takes="form",
                line=line,
                reader=reader,
                sure=reader == "dask",
                says=says,
            )


def _of_packages(request: ProbeRequest, where: Sysroot) -> Iterator[tuple[str, str]]:
    home = request.env.get("HOME") or request.seen.machine.home
    folder = request.env.get("DASK_CONFIG") or where.join(home or "/", ".config", "dask")
    yield from (("dask", where.join(folder, n)) for n in where.names(folder) or ())
    yield "accelerate", answers(request, where)[0]


def loaded_files(text: str) -> Iterator[str]:
    """Yield the files that a program loads by names which stand in its text: ``yaml.safe_load(open("config.yaml"))``, and the like."""
    if not any(f"{name}." in text for name in LOADERS):
        return
    for node in nodes_of(text):
        match node:
            case ast.With(items=[ast.withitem(context_expr=opens, optional_vars=ast.Name(id=handle))]):
                inner = (n for each in node.body for n in ast.walk(each))
                if (name := _opened(opens)) and any(_loads(n, handle) for n in inner):
                    yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=method), args=[first, *_]):
                if module in LOADERS and "load" in method and (name := _opened(first)):
                    yield name
            case _:
                pass


def _loads(node: ast.AST, handle: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=method), args=[ast.Name(id=name), *_]):
            return module in LOADERS and "load" in method and name == handle
    return False


def _opened(node: ast.expr) -> str:
    """Return the file that an expression opens for reading, or reads; empty for any other."""
    match node:
        case ast.Call(func=ast.Name(id="open"), args=[first, *rest]):
            mode = literal_text(rest[0]) if rest else "r"
            return (literal_text(first) or "") if mode in ("r", "rb") else ""
        case ast.Call(func=ast.Attribute(value=ast.Call(args=[first]) as path, attr="read_text")):
            return (literal_text(first) or "") if last_name(path.func) == "Path" else ""
    return ""


def problem_of(text: str, form: str) -> tuple[int, str] | None:
    """Return line and error of a text that is not in a form; of YAML, tabs behind the key of a mapping alone are seen."""
    if form == "JSON":
        try:
            json.loads(text)
        except json.JSONDecodeError as e:
            return e.lineno, e.msg
        except RecursionError:
            return None
    elif form == "TOML":
        import tomllib  # imported late: most folders have no such file

        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            at = re.search(r"line (\d+)", str(e))
            return int(at[1]) if at else text.count("\n") + 1, str(e)
    else:
        above = ""
        for number, row in enumerate(text.splitlines(), 1):
            if above.endswith(":") and _TAB.match(row):
                return number, "found character '\\t' that cannot start any token"
            above = row.split(" #")[0].rstrip() or above
    return None
