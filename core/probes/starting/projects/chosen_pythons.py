"""Programs that run a person's files in a Python that their own settings name: Spyder, Thonny, PyCharm, VS Code's Code Runner, direnv, and R's
sessions by reticulate.

Where that Python lacks a framework that a program of the working folder imports, and an environment here has it, the way says so.
Sources: Spyder's documentation, "Using an existing environment"; Thonny's configuration.ini; JetBrains' jdk.table.xml; reticulate's
documentation, "Python Version Configuration"; R's, "Initialization at Start of an R Session".
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.plain import json_value, read_dotenv
from core.host.startup.posix import ShellReader
from core.host.startup.state import State
from core.knowledge.modules import module_table
from core.model.facts import StartedPython, StartKind
from core.probes.python.environment import prefix_of
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.runners import interpreter_in
from core.probes.starting.commands.started_code import lacking_pythons
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached, filled_by_editor

if TYPE_CHECKING:
    from configparser import ConfigParser

MOST_PROGRAMS = 40
"""Maximum number of programs of the working folder that are read."""
SPYDER = (".config/spyder-py3/config/spyder.ini", ".spyder-py3/config/spyder.ini")
THONNY = (".config/Thonny/configuration.ini", ".thonny/configuration.ini")
RSTUDIO = ".config/rstudio/rstudio-prefs.json"


class Chosen(msgspec.Struct, frozen=True):
    """A Python that settings name."""

    at: str
    """The file of settings."""
    python: str
    line: int = 0
    sure: bool = True
    """Whether somebody chose it for this folder or for all; a program's own choice may be one that nobody uses."""
    name: str = ""
    """What starts it, where the file has settings of several."""
    kind: StartKind = "editor"


def chosen_python_ways(ground: Ground, terminal: State) -> Iterator[Reached]:
    """Yield each program whose settings name a Python that lacks a framework which the folder's programs import."""
    if not ground.is_in_project:
        return
    programs = ground.programs(MOST_PROGRAMS)
    home = ground.person.home
    editors = (
        *chosen_in_spyder(map(ground.at_home, SPYDER), ground),
        *chosen_in_thonny(map(ground.at_home, THONNY), ground),
        *chosen_for_code_runner(ground),
        *chosen_in_vscode(ground),
        *chosen_by_direnv(ground),
        *chosen_in_pycharm(posixpath.join(ground.folder, ".idea/misc.xml"), ground.config("JetBrains"), home, ground),
    )
    for chosen in editors if programs else ():
        at = f"{chosen.at}: {chosen.name}" if chosen.name else chosen.at
        yield from _lacking(chosen.kind, at, chosen, [(n,) for n in programs], terminal, ground)
    for name in [n for n in ground.around.names(ground.folder) if n.endswith((".R", ".r", ".Rmd", ".qmd"))][:MOST_PROGRAMS]:  # fmt: skip
        path = posixpath.join(ground.folder, name)
        text = re.sub(r"(?m)#.*$", "", ground.read(path) or "")
        if (wanted := list(_wanted_in_r(text))) and (told := _python_of_r(text, path, ground)):
            yield from _lacking("script", path, told, wanted, terminal, ground)


def _lacking(  # noqa: PLR0917 - what runs, where it is told, and what it runs
    kind: StartKind, at: str, chosen: Chosen, programs: list[tuple[str, ...]], start: State, ground: Ground
) -> Iterator[Reached]:
    """Yield the way, if its Python lacks a framework that one of these imports."""
    python = chosen.python
    if not python.startswith("/") or not ground.where.is_file(python):
        return
    state = start.copy()
    state.files = []
    state.values["PWD"] = ground.folder
    prefix = prefix_of(python, ground.where, ground.env)
    frameworks = {row.module for row in module_table().modules}
    for arguments in programs:
        found = StartedFile(python, prefix, ground.where.real_path(prefix) if prefix else "", arguments)
        way = Reached(kind=kind, at=at, state=state, argv=(python, *arguments))
        runs = tuple(
            told_by(one, chosen) for one in lacking_pythons(found, way, ground) if frameworks.intersection(one.lacks)
        )
        if runs:
            yield replace(way, runs=runs)
            return


def told_by(one: StartedPython, chosen: Chosen) -> StartedPython:
    """Return a start with the line of the settings that choose its Python."""
    source = f"{chosen.at}:{chosen.line}" if chosen.line else chosen.at
    return replace(one, source=source, sure=one.sure and chosen.sure)


# --- editors -----------------------------------------------------------------------------------------------------------


def _settings(text: str) -> ConfigParser | None:
    import configparser  # of editors alone

    told = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        told.read_string(text)
    except configparser.Error:
        return None
    return told


def _line(text: str, value: str) -> int:
    """Return the line in which a value stands, 0 for none."""
    at = text.find(value)
    return text.count("\n", 0, at) + 1 if at >= 0 else 0


def chosen_in_spyder(files: Iterable[str], ground: Ground) -> Iterator[Chosen]:
    """Yield the interpreter that somebody chose in Spyder; its own is none that anybody chose."""
    for path in files:
        text = ground.read(path)
        told = _settings(text) if text else None
        if text and told is not None and told.get("main_interpreter", "custom", fallback="").lower() == "true":
            its = told["main_interpreter"]
            python = its.get("executable", "") or its.get("custom_interpreter", "")
            yield Chosen(path, python, _line(text, python))
            return


def chosen_in_thonny(files: Iterable[str], ground: Ground) -> Iterator[Chosen]:
    """Yield the interpreter that Thonny runs programs in."""
    for path in files:
        text = ground.read(path)
        told = _settings(text) if text else None
        if not text or told is None:
            continue
        of = told.get("run", "backend_name", fallback="LocalCPython").strip("\"'")
        python = told.get(of, "executable", fallback="") or told.get(of, "path", fallback="")
        if python.strip("\"'"):
            shown = (told.get("file", key, fallback="").replace("\\\\", "\\") for key in ("open_files", "current_file"))
            own = ground.where.join(ground.folder, "")
            opens = ground.is_in_project and any(own in each for each in shown)
            yield Chosen(path, python.strip("\"'"), _line(text, python), sure=opens)
        return


def chosen_for_code_runner(ground: Ground) -> Iterator[Chosen]:
    """Yield the interpreter that Code Runner's settings name by its path; by default it starts the terminal's ("code-runner.executorMap")."""
    path, text, told = next(settings_in_vscode(ground))
    word = next(iter(command_for_code_runner(told).split()), "").strip("\"'")
    if word.startswith("/"):
        yield Chosen(path, word, _line(text, word), name="Code Runner")


def command_for_code_runner(told: object) -> str:
    """Return the command by which Code Runner starts Python, in VS Code's settings; empty where they have none."""
    commands = told.get("code-runner.executorMap") if isinstance(told, dict) else None
    command = commands.get("python") if isinstance(commands, dict) else None
    return command if isinstance(command, str) else ""


NOT_YET = ("", "conda", "py", "python", "python3")
"""Values of VS Code's setting that name no Python in particular."""


def settings_in_vscode(ground: Ground) -> Iterator[tuple[str, str, dict[str, object]]]:
    """Yield the files of settings for the folder, with their texts and the settings: its own, and those of workspaces."""
    own = ground.where.join(ground.folder, ".vscode", "settings.json")
    shared = [ground.where.join(ground.folder, n) for n in ground.around.names(ground.folder) if n.endswith(WORKSPACE)]
    for path in (own, *shared):
        text = ground.read(path) or ""
        told = json_value(text) if text else None
        told = told.get("settings") if path.endswith(WORKSPACE) and isinstance(told, dict) else told
        yield path, text, told if isinstance(told, dict) else {}


WORKSPACE = ".code-workspace"


def chosen_in_vscode(ground: Ground) -> Iterator[Chosen]:
    """Yield the interpreters that the folder's settings name for VS Code (its documentation, "Python settings reference")."""
    for path, text, told in settings_in_vscode(ground):
        for key in ("python.defaultInterpreterPath", "python.pythonPath"):
            value = told.get(key)
            if isinstance(value, str) and value.strip().lower() not in NOT_YET:
                filled = filled_by_editor(value.strip(), {"HOME": ground.person.home, **ground.env}, ground)
                its = _chosen(path, ground.where.join(ground.folder, filled), ground, _line(text, f'"{key}"'))
                yield msgspec.structs.replace(its, name="Python")
                break


def chosen_by_direnv(ground: Ground) -> Iterator[Chosen]:
    """Yield the Python of the environment that the folder's .envrc activates (direnv-stdlib(1), "layout python")."""
    path = ground.upward(".envrc", ground.folder)
    if path and ground.where.is_file(path):
        state = ground.session()
        state.values["PWD"] = posixpath.dirname(path)
        ShellReader(ground.around, state, "bash").read_files(path)
        rows = state.lines.get("VIRTUAL_ENV", [])
        yield from [Chosen(path, f"{rows[-1].value}/bin/python", rows[-1].line, kind="direnv")] if rows else []


def chosen_in_pycharm(path: str, above: str, person: str, ground: Ground) -> Iterator[Chosen]:
    """Yield the interpreter of a project of PyCharm: the project names it, and the person's settings say where it is."""
    text = ground.read(path) or ""
    named = re.search(r'project-jdk-name="([^"]+)"', text)
    products = [n for n in ground.around.names(above) if n.startswith(("PyCharm", "IntelliJ", "Idea", "DataSpell"))]
    for product in sorted(products, reverse=True) if named else ():
        table = ground.read(ground.where.join(above, product, "options", "jdk.table.xml")) or ""
        for one in re.findall(r"<jdk\b.*?</jdk>", table, re.DOTALL):
            home = re.search(r'<homePath value="([^"]+)"', one)
            if named and home and f'<name value="{named[1]}"' in one:
                python = home[1].replace("$USER_HOME$", person)
                python = python.replace("/", "\\") if ground.where.system == "windows" else python
                yield Chosen(path, python, _line(text, "project-jdk-name"))
                return


# --- R -----------------------------------------------------------------------------------------------------------------

_BY_PYTHON = late_pattern(
    r"\b(?:library|require|requireNamespace)\(\s*[\"']?(tensorflow|keras3?|reticulate)\b|\breticulate::"
)
_RUNS = late_pattern(r"\b(?:py_run_file|source_python)\(\s*[\"']([^\"']+)[\"']")
_IMPORTS = late_pattern(r"(?<![\w.])import\(\s*[\"']([A-Za-z_]\w*)")
_CHOOSES = late_pattern(r"\buse_(python|virtualenv|condaenv)\(\s*(?:\w+\s*=\s*)?[\"']([^\"']+)[\"']")
_SETS = late_pattern(r"\bSys\.setenv\(\s*[\"']?RETICULATE_PYTHON[\"']?\s*=\s*[\"']([^\"']+)[\"']")
MODULE_OF = {"tensorflow": "tensorflow", "keras": "keras", "keras3": "keras"}
"""R's package -> the module that it imports in Python."""


def _wanted_in_r(text: str) -> Iterator[tuple[str, ...]]:
    """Yield what a script of R runs in Python, as Python's arguments."""
    packages = _BY_PYTHON.findall(text)
    if not packages:
        return
    yield from ((name,) for name in _RUNS.findall(text))
    modules = [*_IMPORTS.findall(text), *(MODULE_OF[p] for p in packages if p in MODULE_OF)]
    yield from (("-c", f"import {name}") for name in dict.fromkeys(modules))


def _python_of_r(text: str, path: str, ground: Ground) -> Chosen | None:
    """Return the Python that a script's session takes, if somebody chose it: by RETICULATE_PYTHON first, then by the script."""
    near = posixpath.join(ground.folder, ".Renviron")
    own = near if ground.around.kind(near) == "file" else ground.at_home(".Renviron")
    if told := _SETS.search(text):
        return _chosen(path, told[1], ground, _line(ground.read(path) or "", told[0]))
    state = State({"HOME": ground.person.home})
    if (kept := ground.read(own)) is not None:
        read_dotenv(kept, own, state)
    if python := state.values.get("RETICULATE_PYTHON") or ground.env.get("RETICULATE_PYTHON", ""):
        rows = state.lines.get("RETICULATE_PYTHON", [])
        return _chosen(own if rows else path, python, ground, rows[-1].line if rows else 0)
    if told := _CHOOSES.search(text):
        line = _line(ground.read(path) or "", told[0])
        if told[1] == "python":
            return _chosen(path, told[2], ground, line)
        named = [p for p in ground.pythons if told[2] in (p.prefix, posixpath.basename(p.prefix))]
        return Chosen(path, named[0].executable, line) if len(named) == 1 else None
    prefs = json_value(kept) if (kept := ground.read(ground.at_home(RSTUDIO))) else None
    chosen = prefs.get("python_path") if isinstance(prefs, dict) else None
    return _chosen(ground.at_home(RSTUDIO), chosen, ground, 0) if isinstance(chosen, str) and chosen else None


def _chosen(at: str, python: str, ground: Ground, line: int) -> Chosen:
    """Return a choice; a folder stands for the Python in it."""
    path = ground.where.path_module.normpath(re.sub(r"^~(?=/)", lambda _m: ground.person.home, python))
    inner = (interpreter_in(path, ground), ground.where.join(path, "python.exe"))  # conda's on Windows
    return Chosen(at, next((p for p in inner if ground.where.is_file(p)), path), line)
