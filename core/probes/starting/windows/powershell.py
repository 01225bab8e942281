r"""Scripts and commands of PowerShell, followed to the Python that they start. Files are only read.

Variables of a script's own are followed as far as they are texts, and everything else leaves what it concerns unknown.

Sources: Microsoft, "about_Parsing", "about_Environment_Variables", "about_Command_Precedence", "about_PowerShell_exe", "about_Pwsh" and
"about_Profiles". A batch file that a script starts runs in a process of its own, so that what it sets is lost.
"""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import msgspec

from core.common.late_pattern import late_pattern
from core.common.variable_names import variable_in
from core.host.startup.state import MOST_LETTERS, UNKNOWN, State, fill
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.machine import Ground
from core.probes.starting.windows.batch_variables import value_of
from core.probes.starting.windows.powershell_statements import (
    Statement,
    refused_line,
    statements_of_script,
)

POWERSHELL = re.compile(r"(powershell|pwsh)(?:\.exe)?", re.IGNORECASE)
SCRIPT = ".ps1"
EDITIONS = {"powershell": "WindowsPowerShell", "pwsh": "PowerShell"}
"""Program -> the folder below the person's documents that has its profiles."""
PROFILES = ("profile.ps1", "Microsoft.PowerShell_profile.ps1")
TRIES = re.compile(r"-(?:V+|-version)\b|-m\s*(?:pip|venv|ensurepip|virtualenv)\b|-c\b(?!.*\bimport\b)", re.DOTALL)
"""Options of a Python that is only tried, or installs something: the program comes behind it."""
JOIN = ("&&", "||")
MOST_STEPS = 6

Runs = Callable[[list[str], str, int, State], StartedFile | None]
"""Follows the words of a program that is none of PowerShell's own; given file, line and variables, which it may change."""


def python_of_powershell(words: Sequence[str], state: State, ground: Ground, run: Runs) -> StartedFile | None:
    """Return the Python that ``powershell.exe`` with these options starts; None for any other program. ``state`` gets what is set on the way."""
    edition = POWERSHELL.fullmatch(ntpath.basename(words[0]))
    if edition is None:
        return None
    rest, profile = list(words[1:]), True
    refuses = ground.refuses_scripts and edition[1].lower() == "powershell" and not value_of(state, PREFERENCE)
    named = "-file" if edition[1].lower() == "pwsh" else "-command"
    while rest and re.match(r"[-/]\w", rest[0]):
        option = rest.pop(0).lower().replace("/", "-", 1)
        if option in ("-f", "-fi", "-file", "-c", "-command"):
            named = "-file" if option.startswith("-f") else "-command"
            break
        if option.startswith("-nop"):
            profile = False
        elif option.startswith(("-ex", "-ep")) and rest:
            refuses = rest.pop(0).lower() in ("restricted", "undefined", "default") and refuses
        elif option.startswith(("-wd", "-wo")) and rest:
            state.values["PWD"] = rest.pop(0)
        elif not option.startswith(("-no", "-sta", "-mta", "-i", "-l", "-s")):
            del rest[:1]
    if not rest:
        return None
    if profile and not refuses:
        apply_profiles(EDITIONS[edition[1].lower()], state, ground)
    follower = _Follower(state, ground, run)
    follower.unknown = JOIN if edition[1].lower() == "powershell" else ()
    if named == "-file":
        place = follower.within(rest[0])
        found = follower.script(rest[0])
        return _refused(found, place) if refuses else found
    follower.refuses = refuses
    found = follower.text(" ".join(rest), "", 0)
    return _refused(found, follower.refused) if follower.refused else found


PREFERENCE = "PSExecutionPolicyPreference"
"""The variable by which a PowerShell hands its policy on to those that it starts."""


def _refused(found: StartedFile | None, script: str) -> StartedFile | None:
    """Return a start to which PowerShell does not come, or in which it activates nothing, since it refuses a script."""
    return found and msgspec.structs.replace(found, ended_at=script, ended_by="policy", first=script)


def python_of_script(path: str, state: State, ground: Ground, run: Runs) -> StartedFile | None:
    """Do the same for a script of PowerShell."""
    return _Follower(state, ground, run).script(path)


def profile_files(edition: str, ground: Ground) -> Iterator[str]:
    """Yield where the person's profiles of an edition are."""
    homes = [v for n in ("USERPROFILE", "OneDrive") if (v := variable_in(ground.env, n))]
    yield from (ntpath.join(home, "Documents", edition, file) for home in homes for file in PROFILES)


def apply_profiles(edition: str, state: State, ground: Ground) -> None:
    """Let a state have what the person's profiles set; a program that a profile starts counts for nothing."""
    for path in profile_files(edition, ground):
        if (text := ground.read(path)) is not None:
            state.files.append(path)
            _Follower(state, ground, lambda *_its: None).text(text, path, 1)


# --- following -----------------------------------------------------------------------------------------------------------

_OWN_PATH = late_pattern(r"(?i)\$(?:script:)?MyInvocation\.(?:MyCommand\.(?:Path|Definition|Source)|InvocationName)")
"""What scripts had before $PSCommandPath."""
_SETS = late_pattern(
    r"(?is)(?:\[[\w.]+\]\s*)?\$(?:env:(?P<env>\w+)|\{env:(?P<braced>[^}]+)\}|(?:(?:script|global|local|private):)?(?P<own>\w+))\s*(?P<how>\+?=)(?!=)\s*(?P<value>.*)"
)
_SETS_BY_NET = late_pattern(
    r"(?is)(?:\[void\]\s*)?\[(?:System\.)?Environment\]::SetEnvironmentVariable\(\s*(?P<name>['\"]\w+['\"])\s*,\s*(?P<value>.*?)\s*(?:,\s*(?P<scope>[^,()]+))?\)\Z"
)
_TERM = late_pattern(
    r"""(?is)\s*(?:'(?P<plain>(?:[^']|'')*)'|"(?P<filled>(?:`.|""|[^"`])*)"|(?P<variable>\$[\w:]+|\$\{[^}]+\})(?![\w.\[(])|(?P<number>\d+)|\((?P<inner>[^()]*(?:\([^()]*\)[^()]*)*)\)|(?P<command>(?:Join|Split|Resolve)-Path\s.*))\s*(?:(?P<plus>\+)|\Z)"""
)
_VARIABLE = late_pattern(
    r"(?i)\$(?:env:(\w+)|\{env:([^}]+)\}|\{(\w+)\}|\(\s*\$env:(\w+)\s*\)|(?:(?:script|global):)?(\w+))"
)
_HAS_EXPRESSION = late_pattern(r"\$\(|\$[^\w{(]")
_WORD = late_pattern(
    r"""(?s)\s+|'(?P<plain>(?:[^']|'')*)'|"(?P<filled>(?:`.|""|[^"`])*)"|`(?P<escaped>.)|\((?P<inner>[^()]*(?:\([^()]*\)[^()]*)*)\)|(?P<bar>\|)|(?P<call>&|\.(?=[\s'"$(]))|(?P<to>[\d*]?>>?(?:&\d|\s*\S+)?)|(?P<bare>(?:\$\{[^}]+\}|[^\s'"`()|>])+|.)"""
)
_TEST_PATH = late_pattern(
    r"(?is)(?:\(\s*)?Test-Path\s+(?:-(?:Literal)?Path\s+)?(?P<path>.+?)(?:\s+-PathType\s+\w+)?\s*\)?"
)
_NOT = late_pattern(r"(?is)(?:-not\b|!)\s*(.+)")
_DECLARES = late_pattern(r"(?i)(?:param|using)\b|\[")
"""Statements that start nothing: parameters, and what .NET does."""
_IF = late_pattern(r"(?is)(if|elseif)\s*\((.*)\)")
_HOOK = late_pattern(r"(?i)conda[^\n]{0,60}\bhook\b")
"""How a script or a profile makes conda's own command known: ``conda shell.powershell hook``, ``conda-hook.ps1``."""
_CONDA = late_pattern(r"(?i)[a-z]:[^\"'\n]{0,400}?\\conda\.exe")
_OPENS_ALL = ("invoke-expression", "iex", "import-module", "ipmo", "workon", "enter-vsdevshell", "refreshenv")
_MOVES = ("set-location", "cd", "sl", "chdir", "push-location", "pushd")
_NAMES = ("set-alias", "sal", "new-alias", "nal")
_PASSES_ON = late_pattern(r"(?is)(?:&\s*)?(\"[^\"]*\"|'[^']*'|\S+)\s+(?:@args|\$args)\s*")
"""The body of a function that stands for a program."""
_ENDS = ("exit", "return", "throw", "break")
_COMMANDS_OF_OTHERS = ("set", "set-variable", "sv", "export", "setenv")


class _Follower:
    """One run of PowerShell: its variables, its functions, and how many files it has come through."""

    def __init__(self, state: State, ground: Ground, run: Runs) -> None:
        self.state, self.ground, self.run = state, ground, run
        self.own = {"null": "", "true": "True", "false": "False"}
        self.functions: dict[str, tuple[Statement, ...]] = {}
        self.ended = False
        self.depth = 0
        self.unknown: tuple[str, ...] = ()
        """Signs between commands that this edition does not know."""
        self.refuses = False
        """Whether scripts are refused: what they start is only looked for."""
        self.refused = ""
        """The first script that is."""
        self.tried: StartedFile | None = None
        """The first Python that is only tried, or installs something."""

    def script(self, path: str) -> StartedFile | None:
        """Follow a script to the first Python that it starts."""
        place = self.within(path)
        text = self.ground.read(place)
        if text is None:
            return None
        self.state.files += [place] if place not in self.state.files else []
        found, refused = self.text(text, place, 1), refused_line(text, self.unknown)
        if found is None or not refused:
            return found
        return msgspec.structs.replace(found, ended_at=f"{place}:{refused[0]}", ended_by="no command", first=refused[1])

    def text(self, text: str, file: str, line: int) -> StartedFile | None:
        """Follow statements; ``line``: 0 for a command that no file has."""
        if self.depth >= MOST_STEPS or not self.state.may_read():
            return None
        before = {n: v for n, v in self.own.items() if n in ("psscriptroot", "pscommandpath")}
        if file:
            self.own |= {"psscriptroot": ntpath.dirname(file), "pscommandpath": file}
        self.depth += 1
        text = _OWN_PATH.sub("$PSCommandPath", text.lstrip("\ufeff"))
        found = self._run_statements(statements_of_script(text), file if line else "", sure=True)
        self.depth -= 1
        self.ended = False
        self.own |= before
        return found or (self.tried if not self.depth else None)

    def _run_statements(self, statements: Sequence[Statement], file: str, *, sure: bool) -> StartedFile | None:
        chosen: bool | None = False
        for each in statements:
            if each.body is None:
                found = self._run_statement(each, file, sure=sure)
            elif self._hooks(each.text):  # ... | Where-Object {$_} | Invoke-Expression
                continue
            else:
                runs, chosen = self._whether(each, chosen)
                found = None if runs is False else self._run_statements(each.body, file, sure=sure and runs is True)
            if found is not None or self.ended:
                return found
        return None

    def _whether(self, block: Statement, chosen: bool | None) -> tuple[bool | None, bool | None]:
        """Return whether a block runs, None where that is not known, and whether a branch before an ``else`` has run."""
        head = block.text.lower()
        word = (re.match(r"[\w-]+|[.&]", head) or [""])[0]
        if asked := _IF.fullmatch(block.text):
            holds = self._holds(asked[2])
            before = chosen if asked[1].lower() == "elseif" else False
            runs = False if before is True or holds is False else None if before is None else holds
            return runs, True if True in (before, holds) else None if None in (before, holds) else False
        if word == "else":
            return (None if chosen is None else not chosen), chosen
        if word in ("function", "filter"):
            name = (head.split(None, 1)[1:] or [""])[0].partition("(")[0].strip()
            self.functions[name] = block.body or ()
            if len(block.body or ()) == 1 and (passed := _PASSES_ON.fullmatch(self.functions[name][0].text)):
                self.state.aliases[name] = (next(iter(self._words_of_command(passed[1])), ""), "", block.line)
            return False, chosen
        if word in ("catch", "trap", "param"):
            return False, chosen
        return (True if word in ("try", "finally", "&", ".", "") else None), chosen

    def _holds(self, condition: str) -> bool | None:
        """Return whether a condition holds that asks for a file or for a variable; None for any other."""
        condition, denies = condition.strip(), False
        while denied := _NOT.fullmatch(condition):
            condition, denies = re.sub(r"\A\((.*)\)\Z", r"\1", denied[1].strip(), flags=re.DOTALL).strip(), not denies
        if denies:
            holds = self._holds(condition)
            return None if holds is None else not holds
        if asked := _TEST_PATH.fullmatch(condition):
            path = self._value(asked["path"]) or next(iter(self._words_of_command(asked["path"])), UNKNOWN)
            if name := re.fullmatch(r"(?i)env:\\?(\w+)", path):
                return None if name[1] in self.state.open else value_of(self.state, name[1]) is not None
            return None if UNKNOWN in path else self.ground.where.exists(self.within(path))
        if named := re.fullmatch(r"(?i)\$env:(\w+)", condition):
            return None if named[1] in self.state.open else bool(value_of(self.state, named[1]))
        return None

    def _run_statement(self, each: Statement, file: str, *, sure: bool) -> StartedFile | None:
        text = each.text
        if self._hooks(text):
            return None
        if its := _SETS_BY_NET.fullmatch(text):
            if (its["scope"] or "process").strip("'\" ").rpartition(":")[2].lower() == "process":
                self._give(its["name"].strip("'\""), self._value(its["value"]), file, each.line, sure=sure)
            return None
        if its := _SETS.fullmatch(text):
            return self._assign(its, each, file, sure=sure)
        words = [] if _DECLARES.match(text) else self._words_of_command(text)
        return self._command(words, each, file, sure=sure) if words else None

    def _assign(self, its: re.Match[str], each: Statement, file: str, *, sure: bool) -> StartedFile | None:
        value = self._value(its["value"])
        if name := its["env"] or its["braced"]:
            if its["how"] == "+=" and value is not None:
                value = (value_of(self.state, name) or "") + value
            self._give(name, value, file, each.line, sure=sure)
            return None
        own = its["own"].lower()
        if value is None and re.match(r"[&.]\s|[A-Za-z]", its["value"]):
            self.own.pop(own, None)
            return self._command(self._words_of_command(its["value"]), each, file, sure=sure)
        if value is not None and its["own"].isupper() and value_of(self.state, its["own"]) not in (None, value):
            self.state.ignore(its["own"], value, file, each.line, "powershell")
        self.own.pop(own, None)
        if value is not None and its["how"] == "=" and sure:
            self.own[own] = value
        return None

    def _give(self, name: str, value: str | None, file: str, line: int, *, sure: bool) -> None:
        """Set a variable of the process; None: to what reading does not show."""
        known = next((n for n in self.state.values if n.upper() == name.upper()), name)
        if value is None or UNKNOWN in value or not sure:
            self.state.open.add(known)
        elif value:
            self.state.export_variable(known, value, file, line, "powershell")
        else:
            self.state.unset_variable(known, file, line, "powershell")

    # --- commands ---

    def _command(self, words: list[str], each: Statement, file: str, *, sure: bool) -> StartedFile | None:
        called = words[0] in ("&", ".")
        rest = words[1:] if called else list(words)
        if not rest:
            return None
        rest[0] = self.state.aliases.get(rest[0].lower(), rest)[0]
        name, arguments = rest[0].lower(), rest[1:]
        if UNKNOWN in name:
            self.ended = sure  # which program this starts is not known
            return None
        if name in self.functions:
            self.depth += 1
            follows = self.depth < MOST_STEPS and self.state.may_read()
            found = self._run_statements(self.functions[name], file, sure=sure) if follows else None
            self.depth -= 1
            return found
        if name in _OPENS_ALL or any(n in each.text.lower() for n in ("| invoke-expression", "| iex")):
            self._open_path()
        elif name in _MOVES and arguments:
            folder = next((a for a in arguments if not a.startswith("-")), "")
            self.state.values["PWD"] = self.within(folder) if sure and UNKNOWN not in folder else UNKNOWN
        elif name in _NAMES and len(arguments) > 1:
            short, meant = [a for a in arguments if a.lower() not in ("-name", "-value", "-option")][:2]
            self.state.aliases |= {short.lower(): (meant, file, each.line)} if sure else {}
        elif name in _ENDS:
            self.ended = sure
        elif name in _COMMANDS_OF_OTHERS:
            self._without_effect(arguments, file, each.line)
        elif name in ("set-item", "si", "new-item", "ni", "remove-item", "ri", "rm", "del"):
            self._item(name, arguments, file, each.line, sure=sure)
        elif name in ("start-process", "saps", "start"):
            return self._started_apart(arguments, each, file, sure=sure)
        else:
            return self._program(rest, file, each.line, sure=sure)
        return None

    def _program(self, words: list[str], file: str, line: int, *, sure: bool) -> StartedFile | None:
        """Follow a script, an activation, or a program."""
        place = self.within(words[0]) if re.search(r"[\\/]", words[0]) else words[0]
        if UNKNOWN in place:  # it lies in a folder that is not known, and may activate an environment
            self._open_path()
            return None
        scripts = [p for p in (place, f"{place}{SCRIPT}") if p.lower().endswith(SCRIPT)]
        script = next((p for p in scripts if self.ground.where.is_file(p)), "")
        if script:
            self.refused = self.refused or (script if self.refuses else "")
            home = ntpath.dirname(ntpath.dirname(script))
            if ntpath.basename(script).lower() == "activate.ps1" and self.ground.where.is_file(
                ntpath.join(home, "pyvenv.cfg")
            ):
                if not self.refuses:
                    self._activate(home, file, line, sure=sure)
                return None
            return self.script(script)
        if re.fullmatch(r"(?i)(?:conda|mamba|micromamba)(?:\.bat|\.exe)?", ntpath.basename(words[0])):
            if words[1:2] == ["activate"] and not self._may_know_conda():
                return None
            before = value_of(self.state, "PATH")
            found = self.run(words, file, line, self.state)
            if "activate" in words and value_of(self.state, "PATH") == before:
                self._open_path()  # a hook that reading did not meet may know it
            return found
        apart = self.state.copy()
        found = self.run(words, file, line, apart)
        if found is None or (found.is_gone and not sure):
            return None
        if TRIES.match(" ".join(found.arguments[:2])):
            self.tried = self.tried or found
            return None
        self.state.values, self.state.exported, self.state.lines, self.state.open = (
            apart.values, apart.exported, apart.lines, apart.open,
        )  # fmt: skip
        return found

    def _hooks(self, text: str) -> bool:
        """Whether a statement makes conda's own command known; from then on the place that it names is conda's."""
        if conda := _CONDA.search(text) if _HOOK.search(text) else None:
            self.state.values["CONDA_EXE"] = conda[0]
        return bool(_HOOK.search(text))

    def _may_know_conda(self) -> bool:
        """Whether this shell may have conda's own command ``activate``. Without its hook the name leads to conda.bat, and the script goes on as it was."""
        if "PATH" in {n.upper() for n in self.state.open} or value_of(self.state, "CONDA_PREFIX"):
            return True
        files = [*self.state.files, *(f for e in EDITIONS.values() for f in profile_files(e, self.ground))]
        return any(_HOOK.search(self.ground.read(f) or "") for f in files)

    def _open_path(self) -> None:
        self.state.open |= {n for n in self.state.values if n.upper() == "PATH"}

    def _activate(self, home: str, file: str, line: int, *, sure: bool) -> None:
        """Do what Activate.ps1 of venv does: it goes by its own place."""
        self._give("VIRTUAL_ENV", home, file, line, sure=sure)
        path = value_of(self.state, "PATH") or ""
        self._give("PATH", f"{ntpath.join(home, 'Scripts')};{path}", file, line, sure=sure)

    def _without_effect(self, arguments: list[str], file: str, line: int) -> None:
        """Note an assignment as cmd.exe or a shell of Linux writes it: here ``set`` sets no variable of the process."""
        name, equals, value = " ".join(arguments).partition("=")
        if equals and re.fullmatch(r"\w+", name.strip()):
            self.state.ignore(name.strip(), value, file, line, "powershell")

    def _item(self, name: str, arguments: list[str], file: str, line: int, *, sure: bool) -> None:
        """Follow a change of the drive Env:."""
        target = next((m[1] for a in arguments if (m := re.fullmatch(r"(?i)env:\\?(\w+)", a))), "")
        plain = [a for a in arguments if not a.startswith("-") and not a.lower().startswith("env:")]
        if target:
            self._give(target, "" if name.startswith(("r", "d")) else (plain or [UNKNOWN])[-1], file, line, sure=sure)

    def _started_apart(self, arguments: list[str], each: Statement, file: str, *, sure: bool) -> StartedFile | None:
        """Follow Start-Process: the program, its arguments in one text or in several, and its folder."""
        named = {a.lower(): b for a, b in pairwise(arguments) if a.startswith("-")}
        behind = {
            named.get(n) for n in ("-filepath", "-argumentlist", "-args", "-workingdirectory", "-windowstyle", "-verb")
        }
        plain = [a for a in arguments if not a.startswith("-") and a not in behind]
        program = named.get("-filepath") or (plain.pop(0) if plain else "")
        if folder := named.get("-workingdirectory", ""):
            self.state.values["PWD"] = self.within(folder)
        words = (named.get("-argumentlist") or named.get("-args") or " ".join(plain)).replace(",", " ").split()
        return self._command(["&", program, *words], each, file, sure=sure) if program else None

    # --- values ---

    def within(self, path: str) -> str:
        """Return the path of a file from the folder that is current."""
        here = self.ground.here(self.state)
        path = path.replace("/", "\\")
        return ntpath.normpath(path if ntpath.isabs(path) else ntpath.join(here, path))

    def _variable(self, text: str) -> str:
        """Return what a variable holds, and the sign for what is not known."""
        found = _VARIABLE.fullmatch(text)
        return self._filled(found) if found else UNKNOWN

    def _filled(self, found: re.Match[str]) -> str:
        if name := found[1] or found[2] or found[4]:
            return UNKNOWN if name in self.state.open else value_of(self.state, name) or ""
        own = (found[3] or found[5]).lower()
        if own in ("pwd", "home"):
            here = self.ground.here(self.state)
            return here if own == "pwd" else value_of(self.state, "USERPROFILE") or self.ground.person.home
        return self.own.get(own, UNKNOWN)

    def _expanded(self, raw: str) -> str:
        """Return what stands between quotation marks that let variables be replaced."""
        raw = re.sub(r"\$\(\s*(\$[\w:]+)\s*\)", r"\1", raw)
        if _HAS_EXPRESSION.search(raw):
            return UNKNOWN
        filled = fill(_VARIABLE, self._filled, raw.replace('""', '"'))
        return re.sub(r"`(.)", r"\1", filled)

    def _value(self, text: str) -> str | None:
        """Return the text that an expression comes to: texts, variables and paths, added up; None for any other."""
        value, at, text = "", 0, text.strip()
        while at < len(text):
            part = _TERM.match(text, at)
            if part is None or len(value) > MOST_LETTERS:
                return None
            if part["plain"] is not None:
                value += part["plain"].replace("''", "'")
            elif part["filled"] is not None:
                value += self._expanded(part["filled"])
            elif part["variable"]:
                value += self._variable(part["variable"])
            elif part["number"]:
                value += part["number"]
            elif (inner := self._inner(part["inner"] or part["command"] or "")) is not None:
                value += inner
            else:
                return None
            at = part.end()
        return value if text and UNKNOWN not in value and len(value) <= MOST_LETTERS else None

    def _inner(self, text: str) -> str | None:
        """Return what an expression in brackets comes to."""
        words = self._words_of_command(text)
        if words and words[0].lower() == "join-path":
            parts = [w for w in words[1:] if not w.startswith("-")]
            return ntpath.join(*parts) if parts and not any(UNKNOWN in p for p in parts) else None
        if words and words[0].lower() == "split-path":
            parts = [w for w in words[1:] if not w.startswith("-")]
            leaf = any(w.lower().startswith("-l") and w.lower() != "-literalpath" for w in words)
            cut = ntpath.basename if leaf else ntpath.dirname
            return cut(parts[0]) if len(parts) == 1 and UNKNOWN not in parts[0] else None
        if words and words[0].lower() in ("resolve-path", "get-location") and len(words) <= 2:
            return self.within(words[1] if len(words) == 2 else ".")
        return self._value(text)

    def _words_of_command(self, text: str) -> list[str]:
        """Return the words of a command, up to the next program of its pipeline; without where its output goes."""
        words: list[str] = []
        word: str | None = None
        for piece in _WORD.finditer(text):
            kind = piece.lastgroup
            if kind is None or kind in ("to", "bar"):
                words += [word] if word is not None else []
                word = None
                if kind == "bar":
                    break
                continue
            if kind == "plain":
                more = piece["plain"].replace("''", "'")
            elif kind == "filled":
                more = self._expanded(piece["filled"])
            elif kind == "escaped":
                more = piece["escaped"]
            elif kind == "call":
                words, more = ([piece[0]], None) if not words and word is None else (words, piece[0])
                if more is None:
                    continue
            elif kind == "inner":
                its = self._inner(piece["inner"])
                more = UNKNOWN if its is None else its
            else:
                more = fill(_VARIABLE, self._filled, piece["bare"])
            word = (word or "") + more
        return [*words, word] if word is not None else words
