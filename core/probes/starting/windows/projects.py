r"""What editors start for the working folder on Windows: VS Code's tasks, whose shell is PowerShell, and PyCharm's run configurations."""

from __future__ import annotations

import ntpath
from collections.abc import Iterator

from core.model.facts import PythonEnvironment
from core.probes.starting.commands import StartedFile
from core.probes.starting.editor_tasks import SHARED_FOLDERS, Configured, editor_tasks, run_configurations
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import python_of_words
from core.probes.starting.windows.starters import way_to

MOST_TASKS = 40


def project_ways(ground: Ground, pythons: tuple[PythonEnvironment, ...]) -> Iterator[Reached]:
    """Yield what the folder's files of editors start. They are often another machine's: a Python that is gone is not told."""
    if not ground.folder or ground.folder == ground.person.home:
        return
    places = [(ntpath.join(ground.folder, ".vscode", "tasks.json"), editor_tasks)]
    places += [(ntpath.join(ground.folder, ".idea", "workspace.xml"), run_configurations)]
    for shared in SHARED_FOLDERS:
        folder = ntpath.join(ground.folder, shared.replace("/", "\\"))
        names = [n for n in ground.around.names(folder) if n.endswith(".xml")][:MOST_TASKS]
        places += [(ntpath.join(folder, n), run_configurations) for n in names]
    for path, read in places:
        text = ground.read(path)
        state = ground.session()
        state.values["PWD"] = ground.folder
        state.files.append(path)
        for number, its in enumerate(read(text, path, state, ground) if text is not None else ()):
            found = _started(its, path, ground) if number < MOST_TASKS else None
            if found is not None and not found.is_gone:
                yield from way_to(
                    found, Reached(kind="task", at=f"{path}: {its.name}", state=its.state), ground, pythons
                )


def _started(its: Configured, path: str, ground: Ground) -> StartedFile | None:
    words = [w.replace("/", "\\") if "\\" not in w and number == 0 else w for number, w in enumerate(its.words)]
    if not words or not words[0]:
        return None
    if its.by_shell:
        words = [
            "powershell.exe",
            "-Command",
            " ".join(["&" if " " in words[0] and len(words) > 1 else "", _quoted(words), *words[1:]]).strip(),
        ]
    return python_of_words(words, Place(path), its.state, ground)


def _quoted(words: list[str]) -> str:
    """Return the program's word: VS Code puts one with blanks between quotation marks where it has arguments of its own."""
    return f"'{words[0]}'" if " " in words[0] and len(words) > 1 else words[0]
