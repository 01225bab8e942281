"""Programs that supervisord keeps running (Supervisor's documentation, "Configuration File")."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.state import State, fill
from core.probes.programs.follow import find_named
from core.probes.starting.commands.command_line import Line, python_without_shell
from core.probes.starting.commands.runners import words_of
from core.probes.starting.commands.started_code import program_ways
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

MOST_PROGRAMS = 60
_VARIABLE = late_pattern(r"\b([A-Za-z_]\w*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^,\"'\s;]*))")

Setting = list[tuple[int, str]]
"""The lines of a setting, each with its number."""


def supervised_ways(ground: Ground) -> Iterator[Reached]:
    """Yield each supervisord program that starts an environment's Python."""
    near = (ground.folder, posixpath.join(ground.folder, "etc"), ground.person.home)
    own = [f"{folder}/supervisord.conf" for folder in near if folder != "/"]
    kept = [p for p in ground.kept(".conf", ".ini") if "[program:" in (ground.read(p) or "")]
    for path in dict.fromkeys((*own, *kept, "/etc/supervisord.conf", "/etc/supervisor/supervisord.conf")):
        if (text := ground.read(path)) is None:
            continue
        if path in own:
            state = ground.session()
        else:
            state = State({"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, {"PATH"})
        yield from _programs(path, text, state, ground)


def _programs(path: str, text: str, state: State, ground: Ground) -> Iterator[Reached]:
    files = [(path, _sections(text))]
    for pattern in _setting_text(files[0][1].get("include", {}), "files").split():
        files += [(each, _sections(ground.read(each) or "")) for each in _matching(pattern, path, ground)]
    state.files.append(path)
    for file, sections in files:
        _give(state, sections.get("supervisord", {}).get("environment", []), file, posixpath.dirname(path))
    count = 0
    for file, sections in files:
        for title, settings in sections.items():
            name = title.partition(":")[2]
            if not title.startswith(("program:", "fcgi-program:")) or count >= MOST_PROGRAMS:
                continue
            count += 1
            its = state.copy()
            its.files = list(dict.fromkeys((*state.files, file)))
            here = posixpath.dirname(path)
            _give(its, settings.get("environment", []), file, here)
            its.values["PWD"] = _filled(_setting_text(settings, "directory"), its, here) or ground.folder
            command = _filled(_setting_text(settings, "command"), its, here)
            row = settings.get("command") or [(1, "")]
            words = words_of(command)
            if (
                words and "/" not in words[0]
            ):  # environment= does not count for it (supervisor/process.py: get_execv_args)
                path = find_named(words[0], {"PATH": state.values.get("PATH", "")}, ground.where, "/")
                words[0] = path or words[0]
            found = python_without_shell(words, Line(file, row[0][0]), its, ground)
            way = Reached(kind="service", at=f"{file}: {name}", state=its, argv=(found.path,) if found else ())
            yield from program_ways(found, way, ground)


def _sections(text: str) -> dict[str, dict[str, Setting]]:
    """Return section -> setting -> its lines, without comments."""
    found: dict[str, dict[str, Setting]] = {}
    section: dict[str, Setting] = {}
    last: Setting = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"\s;.*", "", raw)
        if not line.strip() or line.lstrip().startswith((";", "#")):
            continue
        if head := re.match(r"\[([^\]]+)\]", line):
            section = found.setdefault(head[1].strip(), {})
        elif line[0] in " \t":
            last.append((number, line.strip()))
        elif row := re.match(r"([^=:]+)[=:](.*)", line):
            last = section[row[1].rstrip()] = [(number, row[2].strip())]
    return found


def _setting_text(settings: dict[str, Setting], name: str) -> str:
    return " ".join(text for _number, text in settings.get(name, ())).strip()


def _filled(text: str, state: State, here: str) -> str:
    """Replace "%(ENV_HOME)s" and "%(here)s"."""
    filled = fill(r"%\(ENV_(\w+)\)s", lambda m: state.values.get(m[1], ""), text)
    return filled.replace("%(here)s", here).replace("%%", "%")


def _give(state: State, setting: Setting, file: str, here: str) -> None:
    for number, text in setting:
        for found in _VARIABLE.finditer(text):
            value = _filled(found[2] or found[3] or found[4] or "", state, here)
            state.export_variable(found[1], value, file, number, "supervisor")


def _matching(pattern: str, conf: str, ground: Ground) -> Iterator[str]:
    folder, _slash, name = posixpath.join(posixpath.dirname(conf), pattern).rpartition("/")
    yield from (f"{folder}/{n}" for n in ground.around.names(folder) if fnmatch.fnmatchcase(n, name))
