r"""What a double click on a script starts: the program that opens .py files for this person.

Usually that is the launcher or a Python without packages, and nobody starts his work so: nothing is told of these. A person who chose the
Python of one environment to open scripts means it, and a script that imports what that environment lacks does not run then.

Source: Microsoft, "How to Assign a Custom Icon to a File Type" and "Best Practices for File Associations" (ProgID, UserChoice, shell\open\command).
"""

from __future__ import annotations

import ast
import ntpath
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.syntax_tree import is_main, statements_of, walk
from core.model.facts import RegisteredStart
from core.probes.starting.commands.started_code import lacking_pythons
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import python_of_line
from core.probes.starting.windows.command_words import words_of_line

MOST_FOLDERS, MOST_SCRIPTS = 40, 60


def double_click_ways(ground: Ground, registered: tuple[RegisteredStart, ...]) -> Iterator[Reached]:
    """Yield the double click on the first script whose imports the chosen environment lacks."""
    chosen = next((r for r in registered if r.kind == "association"), None)
    words = words_of_line(chosen.command) if chosen else []
    if chosen is None or not words or not _is_of_an_environment(words[0], ground):
        return
    for path in _scripts(ground):
        state = ground.session()
        state.files.append(chosen.key)
        state.values["PWD"] = ntpath.dirname(path)
        found = python_of_line(f'"{words[0]}" "{path}"', Place(chosen.key), state, ground)
        if found is None:
            return
        way = Reached(kind="launcher", at=path, state=state, argv=(found.path, *found.arguments))
        if runs := tuple(lacking_pythons(found, way, ground)):
            yield replace(way, runs=tuple(replace(one, source=chosen.key) for one in runs))
            return


def _is_of_an_environment(python: str, ground: Ground) -> bool:
    """Whether an interpreter belongs to a virtual or a conda environment, which no installer makes the one that opens scripts."""
    folder = ntpath.dirname(python)
    is_virtual = ground.where.is_file(ntpath.join(ntpath.dirname(folder), "pyvenv.cfg"))
    return ntpath.isabs(python) and (is_virtual or ground.where.is_folder(ntpath.join(folder, "conda-meta")))


def _scripts(ground: Ground) -> Iterator[str]:
    """Yield the scripts of the working folder and of the folders in it that do something when they are started."""
    folders = [ground.folder]
    folders += [
        path
        for name in ground.around.names(ground.folder)[:MOST_FOLDERS]
        if not name.startswith((".", "_")) and ground.around.kind(path := ntpath.join(ground.folder, name)) == "folder"
    ]
    seen = 0
    for folder in folders:
        for name in ground.around.names(folder):
            if not name.lower().endswith((".py", ".pyw")) or seen >= MOST_SCRIPTS:
                continue
            seen += 1
            path = ntpath.join(folder, name)
            if does_something(ground.read(path) or ""):
                yield path


def does_something(text: str) -> bool:
    """Whether a text is a program's, and no module's: it asks whether it was started, or calls something at its margin."""
    return any(
        (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        or (isinstance(node, ast.If) and any(map(is_main, walk(node.test))))
        for node in statements_of(text)
    )
