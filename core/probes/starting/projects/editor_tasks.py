"""What editors start for a project: VS Code's tasks, and PyCharm's run configurations, on every system.

Sources: VS Code's documentation, "Integrate with External Tools via Tasks" (``windows``: what holds there alone); PyCharm's, "Share and version
run/debug configurations".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.host.startup.plain import json_line, json_value, text_items
from core.host.startup.state import State, fill
from core.model.facts.base import Frozen
from core.probes.starting.commands.runners import interpreter_in
from core.probes.starting.machine import Ground

NAME = r"[A-Za-z_]\w*"
SHARED_FOLDERS = (".run", ".idea/runConfigurations")
"""Folders of a project, each with a file for each of PyCharm's run configurations."""


class Configured(Frozen, frozen=True, kw_only=True):
    """A command that an editor starts."""

    name: str
    line: int
    words: tuple[str, ...]
    state: State
    """The variables that it starts with; PWD is its folder."""
    by_shell: bool = False
    """Whether a shell reads the words."""


def editor_tasks(text: str, path: str, state: State, ground: Ground) -> Iterator[Configured]:
    """Yield VS Code's tasks."""
    found = json_value(text)
    whole = found if isinstance(found, dict) else {}
    tasks = whole.get("tasks")
    system = "windows" if ground.where.system == "windows" else "linux"
    for task in [t for t in tasks if isinstance(t, dict)] if isinstance(tasks, list) else []:
        here = task.get(system)
        own = task | here if isinstance(here, dict) else task
        its = state.apart()
        for options in (whole.get("options"), task.get("options"), own.get("options")):
            for name, value in text_items(options, "env"):
                known = _known(its, name, ground)
                its.export_variable(known, _filled(value, ground), path, json_line(text, name, "env"), "json")
            if isinstance(options, dict) and isinstance(folder := options.get("cwd"), str):
                its.values["PWD"] = _filled(folder, ground)
        args = own.get("args")
        words = [own.get("command"), *(args if isinstance(args, list) else [])]
        yield Configured(
            name=str(task.get("label", "")),
            line=json_line(text, "command", "tasks") or 1,
            words=tuple(_filled(w, ground) for w in words if isinstance(w, str)),
            state=its,
            by_shell=own.get("type") != "process",
        )


def run_configurations(text: str, path: str, state: State, ground: Ground) -> Iterator[Configured]:
    """Yield PyCharm's run configurations for Python, from .idea/workspace.xml or a file of their own."""
    import html  # imported late: few folders have such a file

    def filled(value: str) -> str:
        return html.unescape(value).replace("$PROJECT_DIR$", ground.folder).replace("$USER_HOME$", ground.person.home)

    for start, block in _python_configurations(text):
        its = state.apart()
        if alone := re.search(r"name=\"PARENT_ENVS\" value=\"false\"", block):
            its.keep_only((), path, text.count("\n", 0, start + alone.start()) + 1, "xml")
        for row in re.finditer(r"<env\s+name=\"([^\"]*)\"\s+value=\"([^\"]*)\"", block):
            if re.fullmatch(NAME, row[1]):
                number = text.count("\n", 0, start + row.start()) + 1
                known = _known(its, row[1], ground)
                its.export_variable(known, filled(row[2]), path, number, "xml")
        told = {n: filled(v) for n, v in re.findall(r"<option\s+name=\"(\w+)\"\s+value=\"([^\"]*)\"", block)}
        program = told.get("SCRIPT_NAME", "")
        its.values["PWD"] = told.get("WORKING_DIRECTORY") or its.values.get("PWD") or ground.folder
        name = re.search(r"\sname=\"([^\"]*)\"", block)
        yield Configured(
            name=html.unescape(name[1] if name else ""),
            line=text.count("\n", 0, start) + 1,
            words=(
                told.get("SDK_HOME") or _chosen(ground),
                *(("-m", program) if told.get("MODULE_MODE") == "true" else (program,) if program else ()),
            ),
            state=its,
        )


def _filled(text: str, ground: Ground) -> str:
    """Return a text with VS Code's variables replaced."""
    filled = re.sub(r"\$\{workspace(?:Folder|Root)\}|\$\{cwd\}", lambda _m: ground.folder, text)
    return fill(r"\$\{env:(\w+)\}", lambda m: ground.env.get(m[1], ""), filled)


def _known(state: State, name: str, ground: Ground) -> str:
    """Return the name under which a variable is set already: case counts on Linux alone."""
    if ground.where.system != "windows":
        return name
    return next((n for n in state.values if n.upper() == name.upper()), name)


def _python_configurations(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start line and the text of each run configuration for Python."""
    heads, at = re.compile(r"<configuration\s([^<>]*)>"), 0
    while (head := heads.search(text, at)) is not None:
        at = head.end()
        if re.search(r"\btype=\"Python", head[1]):
            if (end := text.find("</configuration>", at)) < 0:
                return
            yield head.start(), text[head.start() : end]
            at = end


def _chosen(ground: Ground) -> str:
    """Return the environment that PyCharm creates in the project's folder."""
    places = (interpreter_in(ground.where.join(ground.folder, n), ground) for n in ("venv", ".venv"))
    return next((p for p in places if ground.around.kind(p) == "file"), "")
