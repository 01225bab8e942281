r"""Command lines and batch files of Windows, followed to the Python that they start. Files are only read.

Sources: Microsoft, "cmd", "set", "call", "start" and "cd" (Windows Commands).
"""

from __future__ import annotations

import codecs
import ntpath
import re
from collections.abc import Callable

from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.host.startup.plain import json_line, json_value, text_items
from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.programs.follow import find_named
from core.probes.starting.commands.command_line import StartedFile, python_started
from core.probes.starting.commands.lacking_modules import options_of_python
from core.probes.starting.machine import Ground
from core.probes.starting.projects.launching_code import one_line
from core.probes.starting.windows.batch_variables import assignment, value_of
from core.probes.starting.windows.blocks import (
    IS_CONDITION,
    Place,
    assign,
    bracket_of_a_value,
    expanded,
    holds,
    open_and_close,
    opens,
    within,
)
from core.probes.starting.windows.command_words import (
    MOST_LINE,
    as_cmd_reads,
    commands_between,
    is_title,
    without_outer_marks,
    words_of_line,
)
from core.probes.starting.windows.conda import (
    ON_ACTIVATION,
    activated_prefix,
    activates_nothing,
    asks_in_vain,
    hooked_program,
    is_not_found,
    run_by_conda,
)
from core.probes.starting.windows.giving_up import EXITS, Ends
from core.probes.starting.windows.jumps import HAS_JUMP, Rows
from core.probes.starting.windows.localized import localized, lose_what_is_local
from core.probes.starting.windows.loops import sets_each
from core.probes.starting.windows.managers import manager_of, run_in_project, with_own_packages
from core.probes.starting.windows.meant import meant_words
from core.probes.starting.windows.powershell import POWERSHELL, TRIES, Runs, python_of_powershell, python_of_script
from core.probes.starting.windows.py_launcher import is_launched, launched_python
from core.probes.starting.windows.stand_ins import behind_shim, is_store_alias, python_of_launcher

MOST_STEPS = 6
"""Batch files that call each other."""
MOVES_ARGUMENTS = late_pattern(r"(?i)\bshift\b")
"""After this, %1 is not the first argument."""
PYTHON = re.compile(r"pythonw?[\d.]*(?:\.exe)?", re.IGNORECASE)
SHELL = re.compile(r"cmd(?:\.exe)?", re.IGNORECASE)
BATCH = (".bat", ".cmd")
PROGRAM = late_pattern(r"(?i)[^\"]+\.pyw?")
STARTS_NOTHING = late_pattern(r"(?i)rem\b|::?|echo\b(?![^&|]*[&|])")
MARK = "\ufeff"
"""The mark of UTF-8, with which the first word of a batch file is no command."""
MOST_BLANKS = 12
"""Words that a path without quotation marks may fall into."""


def python_of_line(text: str, at: Place, state: State, ground: Ground) -> StartedFile | None:
    """Return the Python that a command line starts; None for any other program, and where reading does not show it.

    ``state`` gets the variables that are set on the way, and the folder in which the program starts as PWD.
    """
    state.begin()
    return _program(words_of_line(text), at, state, ground, 0)


def python_of_words(words: list[str], at: Place, state: State, ground: Ground) -> StartedFile | None:
    """Do the same for a command whose words are known."""
    return _program(words, at, state, ground, 0)


def python_of_batch(
    path: str,
    state: State,
    ground: Ground,
    depth: int = 0,
    arguments: tuple[str, ...] | None = None,
    *,
    label: str = "",
) -> StartedFile | None:
    """Do the same for a batch file: the first Python that it starts. It is None where the file starts none, and ``state`` has what it
    sets then. ``arguments``: what it is called with; None: that is not known. ``label``: a part of it, as ``call :NAME`` runs it.
    """
    if not depth:
        state.begin()
    text = ground.read(path)
    if text is None or depth >= MOST_STEPS or not state.may_read():
        return None
    state.files += [path] if path not in state.files else []
    arguments = None if MOVES_ARGUMENTS.search(text) else arguments
    rows = Rows(text, label)
    kept: list[State] = []
    blocks: list[bool | None] = []
    block: State | None = None
    ends = _ends(path, text, state, ground, depth, arguments)
    tried: list[StartedFile] = []
    lost: list[StartedFile] = []
    for number, raw in rows:
        line = raw.lstrip().lstrip("@").lstrip()[:MOST_LINE]
        at = Place(path, number, arguments)
        if STARTS_NOTHING.match(line) or _is_behind_a_mark(line, at, state):
            continue
        name = "" if rows.may_be_passed else bracket_of_a_value(line, block or state, inside=bool(blocks))
        ends.give_up(number, "bracket", name)
        if False in blocks:
            open_and_close(line, blocks, None)
            continue
        if (label or not rows.may_be_passed) and not blocks and EXITS.match(line):
            break
        if _is_decided_jump(rows, line, blocks, ends, at, state, ground):
            continue
        line = localized(line, kept, state, at)
        sure = all(b is True for b in blocks)
        is_run = ends.asks_for_failure(line) or holds(line, at, state, ground)
        ends.begin(number, line, sure=sure, in_block=bool(blocks), opens=bool(is_run))
        block = (block or State(dict(state.values), separator=";")) if blocks or opens(line) else None
        started = commands_of_line(line, at, state, ground, depth, block=block if blocks else None, sure=sure)
        if started is not None and TRIES.match(" ".join(started.arguments[:2])):
            tried.append(started)
        elif started is not None and started.relative:
            lost.append(started)
        elif started is not None and (sure or not started.is_gone):
            return _reached(started, tried, rows, ends, path)
        ends.end()
        open_and_close(line, blocks, is_run)
    if lost and ends.found.get("ended_by") in ("exits", "not read"):
        return replace(lost[0], relative="", **ends.found)
    found = next(iter((*tried, *lost)), None)
    if kept and found is None:
        lose_what_is_local(kept[0], state, path if depth else "")
    return found


def _reached(started: StartedFile, tried: list[StartedFile], rows: Rows, ends: Ends, path: str) -> StartedFile:
    """Return a start with what a batch file does to it."""
    first = next((t for t in tried if t.is_gone), None)
    its = replace(first, arguments=started.arguments) if first else started
    number, option = rows.lost_behind()
    its = _no_command(its, option, Place(path, number)) if option and not its.ended_at else its
    its = replace(its, passed_over=(*its.passed_over, *((path, n) for n in rows.passed_over)))
    return replace(its, **ends.found) if ends.found else its


def _is_decided_jump(  # noqa: PLR0917 - a line, and where it stands
    rows: Rows, line: str, blocks: list[bool | None], ends: Ends, at: Place, state: State, ground: Ground
) -> bool:
    """Whether a line is a jump that is followed, or known not to be made; none out of a block is."""
    if blocks:
        rows.may_be_passed = rows.may_be_passed or HAS_JUMP.search(line) is not None
        return False
    return rows.jumps(
        line,
        lambda head: holds(f"{head}(", at, state, ground),
        lambda command: _succeeds(command, at, state, ground),
        ends.leads_nowhere,
    )


def _is_behind_a_mark(line: str, at: Place, state: State) -> bool:
    """Whether the mark of UTF-8 stands before a line, which is no command then; an assignment in it is noted."""
    if not line.startswith(MARK):
        return False
    if its := assignment(line.removeprefix(MARK).lstrip("@ ")):
        state.ignore(its.name, its.value, at.file, at.line, "cmd")
    return True


def _ends(  # noqa: PLR0917 - what python_of_batch was asked
    path: str, text: str, state: State, ground: Ground, depth: int, arguments: tuple[str, ...] | None
) -> Ends:
    """Return where a batch file ends; nothing in one in UTF-16 runs."""
    at = Place(path, 1, arguments)
    ends = Ends(
        path,
        text,
        fails=lambda part: _is_known(part, state) and _fails(part, at, state, ground),
        lacks=lambda head: _is_known(head, state) and holds(f"{head.strip()} (", at, state, ground) is True,
        leads_nowhere=lambda name: (
            python_of_batch(path, state.copy(), ground, depth + 1, arguments, label=name) is None
        ),
        never_comes_back=lambda line: _never_comes_back(line, at, state, ground, text),
    )
    if (ground.where.read(path, 2) or b"") in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        ends.found = {"ended_at": path, "ended_by": "not read"}
    return ends


def _is_known(part: str, state: State) -> bool:
    """Whether every variable of a command is set, by what was read."""
    return not any(n in state.open or not value_of(state, n) for n in re.findall(r"[%!](\w+)[%!]", part))


def _fails(part: str, at: Place, state: State, ground: Ground) -> bool:
    """Whether a command is known to fail: it activates an environment that is not there."""
    words = _behind_starters(words_of_line(expanded(part.strip().lstrip("@("), state, at)), state.copy(), ground)
    here = ground.here(state)
    if not words or any(c in words[0] for c in "%!*?"):
        return False
    if activates_nothing(words, state.values, here, ground):
        return True
    named = ntpath.dirname(words[0]) and re.fullmatch(r"(?i)activate(?:\.bat)?", ntpath.basename(words[0]))
    return bool(named) and not find_named(words[0], {"PATH": ""}, ground.where, here)


def _succeeds(line: str, at: Place, state: State, ground: Ground) -> bool:
    """Whether a command is likely to succeed: a Python that is only tried, or ``dir`` of what is there."""
    words = words_of_line(expanded(line, state, at)) if line else []
    if words and words[0].lower() == "dir":
        return ground.where.exists(within(next((w for w in words[1:] if w[0] != "/"), ""), state, ground))
    return bool(words) and PYTHON.fullmatch(ntpath.basename(words[0])) is not None


def _never_comes_back(line: str, at: Place, state: State, ground: Ground, text: str) -> bool:
    """Whether a line starts another batch file without ``call``: cmd.exe leaves this one for it. Jumps may pass it over."""
    if re.match(r"if\b|for\b", line, re.IGNORECASE) or re.search(r"(?i)\bgoto\b", text):
        return False
    for part in commands_between(line):
        words = words_of_line(expanded(part.strip().lstrip("@").strip(), state, at))
        if words and words[0].lower() not in ("call", "start") and not SHELL.fullmatch(ntpath.basename(words[0])):
            here = ground.here(state)
            path = find_named(words[0], {"PATH": value_of(state, "PATH") or ""}, ground.where, here)
            if path.lower().endswith(BATCH):
                return True
    return False


def commands_of_line(
    line: str,
    at: Place,
    state: State,
    ground: Ground,
    depth: int = 0,
    *,
    block: State | None = None,
    sure: bool = True,
) -> StartedFile | None:
    """Follow the commands of one line, which ``&`` and ``&&`` divide; the first Python counts.

    ``block``: the variables as the block was read that the line lies in, which a bracket ends. ``sure``: whether the line is reached.
    """
    before = block or State(dict(state.values), separator=";")
    in_block = block is not None
    if sure and sets_each(line, before, at, state, ground):
        return None
    for divided in commands_between(line):
        part = divided.lstrip().lstrip("@").lstrip()
        if assign(part, at, state, before, ground, sure=sure, in_block=in_block):
            sure = sure and not IS_CONDITION.match(part)
            continue
        command = re.sub(
            r"^(?:if\s+(?:not\s+)?exist\s+(?:\"[^\"]*\"|\S+)\s+|for\s+(?:/l\s+)?%%\w\s+in\s*\([^()]*\)\s*do\s+)?\(?\s*@?",
            "",
            part,
            flags=re.IGNORECASE,
        )
        command_as_it_stands, named = command, re.findall(r"%(\w+)%", command)
        doubtful = command != part or any(n in state.open or not value_of(before, n) for n in named)
        written = expanded(command.rstrip(), before, at, state)
        command = as_cmd_reads(written)
        if moved := MOVES.match(command):
            _move(moved[2], state, ground, to_its_drive=moved[1] is not None)
            continue
        if drive := DRIVE.fullmatch(command):
            state.values["PWD"] = state.values.get(f"={drive[1].upper()}", f"{drive[1]}\\")
            continue
        title = _TITLE.match(command)
        started = _command(words_of_line(command), at, state.copy() if title else state, ground, depth)
        if started is not None and title and find_named(title[1], {"PATH": ""}, ground.where, ground.here(state)):
            return replace(started, ended_at=at.shown, ended_by="title", first=title[1])
        if started is None and command != written:
            meant = _command(words_of_line(written), at, state.copy(), ground, depth)
            started = meant and _no_command(meant, words_of_line(command)[0], at)
        if block and sure and (started is None or started.is_gone):
            started = _read_too_early(command_as_it_stands, named, before, at, state, ground, depth) or started
        if started is not None and not (started.is_gone and doubtful):
            return started
    return None


def _read_too_early(  # noqa: PLR0917 - a command, and where it stands
    command: str, named: list[str], before: State, at: Place, state: State, ground: Ground, depth: int
) -> StartedFile | None:
    """Return the start that a command in a block would be, had the block's own assignments come before it was read; None for any other."""
    late = next((n for n in named if value_of(state, n) not in (None, value_of(before, n))), "")
    words = words_of_line(as_cmd_reads(expanded(command.rstrip(), state, at))) if late else []
    meant = _command(words, at, state.copy(), ground, depth)
    if meant is None or meant.is_gone or meant.ended_at:
        return None
    return replace(meant, ended_at=at.shown, ended_by="block", first=late)


_TITLE = late_pattern(r"(?i)start\s+(?:/\w\S*\s+)*\"([^\"]*\\[^\"]+)\"\s+\S")
"""A program in quotation marks that ``start`` takes for the title of a window, and opens what stands behind it."""


def _command(words: list[str], at: Place, state: State, ground: Ground, depth: int) -> StartedFile | None:
    """Follow one command; ``start`` runs it in a process of its own."""

    def follow(its: State) -> StartedFile | None:
        return _program(_behind_starters(words, its, ground), at, its, ground, depth)

    return _in_a_process(follow, state) if words and words[0].lower() == "start" else follow(state)


def _in_a_process(follow: Callable[[State], StartedFile | None], state: State) -> StartedFile | None:
    """Follow what runs in a process of its own: what it sets comes to the Python that it starts, and to nothing behind it."""
    inner = state.apart()
    found = follow(inner)
    if found is not None:
        state.take(inner)
    return found


MOVES = late_pattern(r"(?i)(?:(pushd\s+|(?:cd|chdir)\s+/d\s+)|(?:cd|chdir)\s+)\"?([^\"]+?)\"?\s*\Z")
DRIVE = late_pattern(r"([A-Za-z]:)\s*")


def _move(folder: str, state: State, ground: Ground, *, to_its_drive: bool) -> None:
    """Change the folder; that of another drive becomes the current one where that drive does, for which ``cd`` needs /d."""
    place = within(folder, state, ground)
    here = ntpath.splitdrive(ground.here(state))[0]
    drive = ntpath.splitdrive(place)[0]
    state.values["PWD" if to_its_drive or drive.upper() == here.upper() else f"={drive.upper()}"] = place


def _behind_starters(words: list[str], state: State, ground: Ground) -> list[str]:
    """Leave out ``call``, and ``start`` with its title and its options; ``/d`` names the folder to start in."""
    rest = list(words)
    while rest and rest[0].lower() in ("call", "start"):
        is_start = rest.pop(0).lower() == "start"
        while rest and is_start and (rest[0].startswith("/") or not rest[0] or is_title(rest)):
            option = rest.pop(0)
            if option.lower() == "/d" and rest:
                state.values["PWD"] = within(rest.pop(0), state, ground)
            elif option.lower().startswith("/d") and len(option) > 2:
                state.values["PWD"] = within(option[2:], state, ground)
    return rest


def _program(words: list[str], at: Place, state: State, ground: Ground, depth: int) -> StartedFile | None:
    if not words or depth >= MOST_STEPS:
        return None
    if words[0].startswith(":") and at.line:
        return python_of_batch(at.file, state, ground, depth + 1, tuple(words[1:]), label=words[0][1:])
    here = ground.here(state)
    search_path = {"PATH": value_of(state, "PATH") or ""}

    def is_file(word: str) -> bool:
        return ground.where.is_file(find_named(word, search_path, ground.where, here))

    is_of_linux = at.line and ASSIGNS.fullmatch(words[0])
    if meant := words[1:] if is_of_linux else meant_words(words, state, is_file):
        started = _program(meant, at, state, ground, depth + 1)
        return started and _no_command(started, words[0], at)
    name = ntpath.basename(words[0])
    if is_launched(words[0]):
        its = launched_python(words, state.values, ground.here(state), ground)
        words, name = [its.path, *its.arguments], "python.exe"
        if not its.path:
            return None  # the launcher says so itself
    if _is_activation(words, at, state, ground, depth):
        return None
    if run_by_conda(words) or manager_of(words):
        return _by_manager(words, at, state, ground, depth)
    if SHELL.fullmatch(name):
        return _in_a_process(lambda its: _shell(words[1:], at, its, ground, depth + 1), state)
    if POWERSHELL.fullmatch(name):
        by_powershell = _by_powershell(ground, depth)
        return _in_a_process(lambda its: python_of_powershell(words, its, ground, by_powershell), state)
    path = find_named(words[0], search_path, ground.where, here)
    path = behind_shim(path, ground) or path
    if not path and (whole := _cut_path(words, here, ground, PYTHON)):
        python = find_named(whole, search_path, ground.where, here)
        started = _program([python, *words[whole.count(" ") + 1 :]], at, state, ground, depth)
        return started and replace(started, ended_at=at.shown, ended_by="blank", first=whole)
    if PYTHON.fullmatch(name):
        return _named_python(words, path, here, at, state, ground)
    by_name = not ntpath.dirname(words[0])
    if path.lower().endswith(BATCH):
        return _batch_file(words, path, at, state, ground, depth)
    launches = path.lower().endswith(".exe")
    found = python_of_launcher(path, tuple(words[1:]), state, ground, by_name=by_name) if launches else None
    return found or (None if path else _not_on_path(words, at, state, ground))


def _batch_file(  # noqa: PLR0917 - where it stands, and what surrounds it
    words: list[str], path: str, at: Place, state: State, ground: Ground, depth: int
) -> StartedFile | None:
    """Follow another batch file, or the command that this one has the name of: cmd.exe searches the current folder first."""
    itself = not ntpath.dirname(words[0]) and path.lower() == at.file.lower()
    other = find_named(f"{words[0]}.exe", {"PATH": value_of(state, "PATH") or ""}, ground.where, path) if itself else ""
    if not other:
        return python_of_batch(path, state, ground, depth + 1, tuple(words[1:]))
    started = _program([other, *words[1:]], at, state, ground, depth + 1)
    return started and replace(started, ended_at=at.shown, ended_by="itself", first=words[0])


def _not_on_path(words: list[str], at: Place, state: State, ground: Ground) -> StartedFile | None:
    """Return the start of a package's command that lies in no folder of PATH, but in one of a Python that nobody activates; None for any other."""
    if not at.line or ntpath.dirname(words[0]) or "PATH" in {n.upper() for n in state.open}:
        return None
    for python in (p for p in ground.pythons if p.kind not in ("venv", "conda")):
        for folder in dict.fromkeys((python.prefix, *map(ntpath.dirname, python.site_packages))):
            path = ntpath.join(folder, "Scripts", f"{words[0].removesuffix('.exe')}.exe")
            if not ground.where.is_file(path):
                continue
            found = python_of_launcher(path, tuple(words[1:]), state, ground, by_name=True)
            if found is not None and not found.is_gone:
                return _no_command(found, words[0], at)
    return None


ASSIGNS = late_pattern(r"[A-Za-z_]\w*=.*")
"""How shells of Linux give a command a variable."""


def _no_command(started: StartedFile, name: str, at: Place) -> StartedFile:
    """Return a start that a line does not come to, whose first word is no command."""
    return replace(started, ended_at=at.shown, ended_by="no command", first=name)


def _by_conda(  # noqa: PLR0917 - where it stands, and what surrounds it
    words: list[str], rest: tuple[list[str], list[str]], at: Place, state: State, ground: Ground, depth: int
) -> StartedFile | None:
    """Follow ``conda run``: the command has the environment that its options name. Where PATH has no conda, nothing starts."""
    options, command = rest
    here = ground.here(state)
    asks = [words[0], "activate", *options]
    lost = is_not_found(asks, state.values, here, ground)
    if lost or asks_in_vain(asks, state.values, here, ground):
        gone = StartedFile(command[0], "", arguments=tuple(command[1:]), by_name=True, is_gone=True)
        if not (PYTHON.fullmatch(command[0]) and at.line):
            return None
        return (
            _no_command(gone, words[0], at)
            if lost
            else replace(gone, ended_at=at.shown, ended_by="exits", first=options[0])
        )
    prefix = activated_prefix(asks, state.values, here, ground)
    if not prefix:
        return None
    activate(prefix, Place(at.file), state, ground, depth)
    return _program(command, at, state, ground, depth + 1)


def _by_manager(words: list[str], at: Place, state: State, ground: Ground, depth: int) -> StartedFile | None:
    """Follow the ``run`` of an environment manager to the Python of its environment."""
    if rest := run_by_conda(words):
        return _by_conda(words, rest, at, state, ground, depth)
    if alone := with_own_packages(words, state, ground):
        return alone
    command, project = run_in_project(words, (at.file, at.line), state, ground)
    found = _program(command, at, state, ground, depth + 1)
    return found and replace(found, project=project)


def _named_python(  # noqa: PLR0917 - where it stands, and what surrounds it
    words: list[str], path: str, here: str, at: Place, state: State, ground: Ground
) -> StartedFile | None:
    """Return the Python that a command names, found in ``path``, or gone."""
    if path and ground.where.is_file(path):
        started = python_started(path, words, state, ground)
        if not started.prefix and is_store_alias(path, ground):
            return replace(started, by_name=True, is_gone=True, opens_store=True)
        _letters, kind, named = options_of_python(tuple(words[1:]))
        program = words.index(named, 1) if named and kind == "file" else len(words)
        whole = _cut_path(words[program:], here, ground, PROGRAM)
        if not whole:
            return started
        rest = (*words[1:program], whole, *words[program + whole.count(" ") + 1 :])
        return replace(started, arguments=rest, ended_at=at.shown, ended_by="blank", first=whole)
    gone = bool(ntpath.splitdrive(words[0])[0]) and ntpath.isabs(words[0]) and not path
    beside = not path and not ntpath.splitdrive(words[0])[0] and ntpath.dirname(words[0]).strip("\\/")
    if beside:
        return StartedFile(words[0], "", arguments=tuple(words[1:]), is_gone=True, relative=words[0])
    return StartedFile(words[0], "", arguments=tuple(words[1:]), is_gone=True) if gone else None


def _cut_path(words: list[str], here: str, ground: Ground, name: re.Pattern[str]) -> str:
    """Return the path of a file, of which the first of some words is the part before a blank; empty where that is a file itself, or
    no words together are.
    """
    if not words or ground.where.is_file(ntpath.join(here, words[0])):
        return ""
    paths = (" ".join(words[:count]) for count in range(2, min(len(words), MOST_BLANKS) + 1))
    return next(
        (p for p in paths if name.fullmatch(ntpath.basename(p)) and ground.where.is_file(ntpath.join(here, p))), ""
    )


def python_of_ps1(path: str, state: State, ground: Ground) -> StartedFile | None:
    """Return the first Python that a script of PowerShell starts, as ``python_of_batch`` does."""
    state.begin()
    return python_of_script(path, state, ground, _by_powershell(ground, 0))


def _by_powershell(ground: Ground, depth: int) -> Runs:
    """Return how PowerShell's own reader follows a program that is none of its own."""
    return lambda words, file, line, state: _program(words, Place(file, line), state, ground, depth + 1)


def _is_activation(words: list[str], at: Place, state: State, ground: Ground, depth: int) -> bool:
    """Whether a command activates an environment of conda's (``state`` gets it), makes conda known, or names an environment that conda has not."""
    here = ground.here(state)
    if conda := hooked_program(words, state.values, here, ground):
        state.export_variable(
            "PATH", f"{ntpath.dirname(conda)};{value_of(state, 'PATH') or ''}", at.file, at.line, "cmd"
        )
        return True
    if activates_nothing(words, state.values, here, ground):
        return True
    if prefix := activated_prefix(words, state.values, here, ground):
        activate(prefix, Place(at.file), state, ground, depth)
    return bool(prefix)


def activate(prefix: str, at: Place, state: State, ground: Ground, depth: int = 0) -> None:
    """Do what conda's activation does: PATH, the variables that ``conda env config vars`` keeps, and the hooks in activate.d."""
    join = ground.where.join
    added = ";".join(join(prefix, f) if f else prefix for f in ON_ACTIVATION)
    state.export_variable("PATH", f"{added};{value_of(state, 'PATH') or ''}", at.file, at.line, "assignments")
    state.values["CONDA_PREFIX"] = prefix
    state.exported.add("CONDA_PREFIX")
    kept = join(prefix, "conda-meta", "state")
    text = ground.read(kept) or ""
    for name, value in text_items(json_value(text), "env_vars"):
        if value != "***unset***":
            state.export_variable(name, value, kept, json_line(text, name, "env_vars"), "json")
    hooks = join(prefix, "etc", "conda", "activate.d")
    for name in ground.around.names(hooks):
        if name.lower().endswith(".bat"):
            python_of_batch(join(hooks, name), state, ground, depth + 1)


def _shell(words: list[str], at: Place, state: State, ground: Ground, depth: int) -> StartedFile | None:
    """Follow ``cmd /c COMMAND``: what is behind the option is one line, of which cmd.exe may take two quotation marks away."""
    options = next((n for n, w in enumerate(words) if w.lower()[:2] in ("/c", "/k", "/r")), None)
    if options is None:
        return None
    first = words[options][2:]
    rest = [*([first] if first else []), *words[options + 1 :]]
    told = rest[0] if len(rest) == 1 else one_line(rest, ground)
    line = without_outer_marks(
        told, lambda path: bool(find_named(path, {"PATH": ""}, ground.where, ground.here(state)))
    )
    before = state.copy()
    found = commands_of_line(line, at, state, ground, depth)
    if line != told and (found is None or found.ended_by == "blank"):
        meant = commands_of_line(told, at, before, ground, depth)
        return meant and replace(meant, ended_at=at.shown, ended_by="marks", first=meant.path)
    return found


def prefix_among(found: StartedFile, pythons: tuple[PythonEnvironment, ...]) -> str:
    """Return the environment of this machine that a Python belongs to, by its own prefix or its place; empty for none."""
    folder = ntpath.dirname(found.path)
    own = (found.prefix, found.real) if found.prefix else (folder, ntpath.dirname(folder))
    places = {ntpath.normcase(p.rstrip("\\")) for p in own if p}
    return next((p.prefix for p in pythons if ntpath.normcase(p.prefix.rstrip("\\")) in places), "")
