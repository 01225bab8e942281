r"""Files of other languages that start Python on Windows: scripts of Git Bash, of Windows Script Host, and services of WinSW. They are only read.

Sources: MSYS2, "Filesystem Paths" (a drive is ``/c``; variables with paths are converted), of which Git Bash is made; Microsoft, "Run Method (Windows Script Host)"; WinSW, "XML configuration file".
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable, Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.state import State
from core.host.windows.environment import expand_variables
from core.model.facts import StartKind
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.runners import words_of
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached
from core.probes.starting.windows.batch_variables import value_of
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import commands_of_line, python_of_words
from core.probes.starting.windows.starters import way_to

MOST_FILES, MOST_LINES = 20, 400
_DRIVE = late_pattern(r"/([A-Za-z])(?=/|$)")
_ASSIGNS = late_pattern(r"([A-Za-z_]\w*)=(.*)")
_VARIABLE = late_pattern(r"\$\{?([A-Za-z_]\w*)\}?")
_BESIDE = late_pattern(r"\$\((?:cd )?[\"$(]{0,4}dirname [^()]{0,99}\)?[^()]{0,40}\)|\$\{?(?:PWD|SCRIPT_DIR|DIR)\}?")
"""How a script names its own folder, or the one in which it starts."""
_DECIDES = late_pattern(
    r"\b(?:if|for|while|until|case|function|eval|trap|set -\w{0,9}e)\b|\(\)|\bexec[ \t]{0,9}>|conda[ \t]{1,9}activate\b"
)
"""After this, reading does not show what runs."""
_RUNS = late_pattern(
    r"(?i)\.(?:Run|Exec)\b[ \t]{0,9}\(?[ \t]{0,9}((?>\"(?:[^\"\n]|\"\"){0,400}+\"|chr\(34\)|[& \t]){1,20}+)"
)
_FOLDER = late_pattern(r"(?i)\.CurrentDirectory[ \t]{0,9}=[ \t]{0,9}\"([^\"\n]{1,400})\"")
_VALUE = late_pattern(r"(?i)<(executable|arguments|startarguments|workingdirectory)>([^<]{0,800})</\1>")
_ENV = late_pattern(r"(?i)<env\s{1,9}name=\"([^\"]{1,99})\"\s{1,9}value=\"([^\"]{0,800})\"")


def other_files(ground: Ground) -> Iterator[Reached]:
    """Yield the files of the working folder in these languages that start an environment's Python, or one that lacks what its program imports."""
    readers: tuple[tuple[str, Callable[[str, str, State, Ground], StartedFile | None]], ...] = (
        (".sh", _of_bash),
        (".vbs", _of_script_host),
        (".xml", _of_winsw),
    )
    for ending, read in readers:
        for name in [n for n in ground.around.names(ground.folder) if n.lower().endswith(ending)][:MOST_FILES]:
            path = ntpath.join(ground.folder, name)
            state = ground.session()
            state.values["PWD"] = ground.folder
            state.files.append(path)
            state.begin()
            found = read(ground.read(path) or "", path, state, ground)
            if found is not None and not found.is_gone:
                kind: StartKind = "service" if ending == ".xml" else "script"
                way = Reached(kind=kind, at=path, state=state, argv=(path,), text=" ".join(found.arguments))
                yield from way_to(found, way, ground)


def _of_bash(text: str, path: str, state: State, ground: Ground) -> StartedFile | None:
    """Follow a script of Git Bash. One that was written for Linux often names ``venv/bin/activate``, which no environment has here."""
    for number, row in enumerate(text.splitlines()[:MOST_LINES], 1):
        line = row.strip()
        if not line or line.startswith("#"):
            continue
        if _DECIDES.search(line):
            return None
        for part in re.split(r"&&|;", line):
            words = [_in_windows(w, state) for w in words_of(_BESIDE.sub(".", part))]
            while words and (given := _ASSIGNS.fullmatch(words[0])):
                state.export_variable(given[1], _converted(given[2]), path, number, "posix")
                words = words[1:]
            if words[:1] in (["export"], ["exec"], ["nohup"], ["time"]):
                words = words[1:]
                if given := _ASSIGNS.fullmatch(words[0]) if words else None:
                    state.export_variable(given[1], _converted(given[2]), path, number, "posix")
                    continue
            if words[:1] in (["source"], ["."]) and len(words) > 1:
                if not _activated(words[1], path, number, state, ground):
                    return None
            elif words[:1] == ["cd"] and len(words) > 1:
                state.values["PWD"] = _place(words[1], state, ground)
            elif words and (found := python_of_words(words, Place(path, number), state, ground)):
                return found
    return None


def _activated(file: str, path: str, number: int, state: State, ground: Ground) -> bool:
    """Apply an environment's ``activate``; False for another file, whose effect is not known. One that is not there has no effect."""
    place = _place(file, state, ground)
    if ntpath.basename(place).lower() != "activate":
        return False
    if ground.where.is_file(place):
        folder = ntpath.dirname(place)
        state.export_variable("VIRTUAL_ENV", ntpath.dirname(folder), path, number, "posix")
        state.export_variable("PATH", f"{folder};{value_of(state, 'PATH') or ''}", path, number, "posix")
    return True


def _place(file: str, state: State, ground: Ground) -> str:
    return ntpath.normpath(ntpath.join(ground.here(state), file))


def _in_windows(word: str, state: State) -> str:
    """Return a word as a program of Windows gets it."""
    filled = _VARIABLE.sub(lambda m: value_of(state, m[1]) or "", word)
    return _converted(filled) if _DRIVE.match(filled) and ":" not in filled else filled


def _converted(value: str) -> str:
    """Return a variable's value as Git Bash hands it on: a list of paths becomes one of Windows'."""
    parts = value.split(":")
    drives = [_DRIVE.match(part) for part in parts]
    if not all(drives):
        return value
    return ";".join(
        f"{d[1].upper()}:{p[2:] or '/'}".replace("/", "\\") for d, p in zip(drives, parts, strict=True) if d
    )


def _of_script_host(text: str, path: str, state: State, ground: Ground) -> StartedFile | None:
    """Follow the first command that a script of Windows Script Host runs, where its text tells the whole command."""
    if folder := _FOLDER.search(text):
        state.values["PWD"] = folder[1]
    for found in _RUNS.finditer(text):
        told = re.sub(r"(?i)chr\(34\)", '""""', found[1])
        command = "".join(part.replace('""', '"') for part in re.findall(r"\"((?:[^\"]|\"\"){0,400}+)\"", told))
        line = text.count("\n", 0, found.start()) + 1
        if its := commands_of_line(expand_variables(command, ground.env), Place(path, line), state, ground):
            return its
    return None


def _of_winsw(text: str, path: str, state: State, ground: Ground) -> StartedFile | None:
    """Follow what a service of WinSW starts: the settings lie beside its program, under the same name."""
    if not ground.where.is_file(f"{path[:-4]}.exe") or "<executable>" not in text:
        return None
    base = {**ground.env, "BASE": ntpath.dirname(path)}
    told = {name.lower(): expand_variables(value.strip(), base) for name, value in _VALUE.findall(text)}
    for found in _ENV.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        state.export_variable(found[1], expand_variables(found[2], base), path, line, "assignments")
    state.values["PWD"] = told.get("workingdirectory") or ntpath.dirname(path)
    command = f'"{told.get("executable", "")}" {told.get("arguments") or told.get("startarguments") or ""}'
    line = text.count("\n", 0, text.find("<executable>")) + 1
    return commands_of_line(command, Place(path, line), state, ground)
