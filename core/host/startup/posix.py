"""Reads start-up files of bash, zsh, dash and ksh: assignments, conditions, loops, functions and included files.

It understands a small part of the shell's language, after POSIX.1-2017, "Shell Command Language", and bash(1), zsh(1),
dash(1). Anything else has no effect, unless it assigns a variable, which is then unknown. Nothing is run.
"""

from __future__ import annotations

import fnmatch
import itertools
import posixpath
import re
from typing import Literal

import msgspec

from core.host.startup.assignments import ASSIGNMENT, ShellAssignments
from core.host.startup.modulefiles import LOADING, load_modules
from core.host.startup.plain import read_assignments
from core.host.startup.state import UNKNOWN, State, at_most
from core.host.startup.syntax import (
    INPUT,
    NAME,
    SHELL_NAMES,
    Block,
    Case,
    Chain,
    Function,
    If,
    Loop,
    Node,
    Simple,
    line_of,
    parse,
)
from core.host.startup.zsh_arrays import AT_A_PLACE

MOST_FILES = 200
MOST_STEPS = 50_000
"""Number of commands after which reading stops, in case files include each other or a loop does not end."""

OF_CONDA = ("activate", "conda.sh", "mamba.sh", "micromamba.sh")
"""Files of conda's that a shell reads to get its function."""
TAKE_JOBS = ("sbatch", "qsub", "bsub", "at", "batch")
"""Programs that read a shell's script from a here-document."""
_DECLARING = {"export", "declare", "typeset", "readonly", "local"}


class _Return(Exception):  # noqa: N818 - control flow, no error
    """``return``: ends the file or function."""


class _Exit(Exception):  # noqa: N818 - control flow, no error
    """``exit``: ends the shell."""


# --- reading -------------------------------------------------------------------------------------------------------


class ShellReader(ShellAssignments):
    """Reads a shell's files without running anything."""

    follows: bool = False
    """Whether commands are looked for: those of subshells and pipes count, too, and each is kept with its state."""
    commands: list[tuple[list[str], str, int, State]] = msgspec.field(default_factory=list)
    """Words of every command outside the language, with file, line and state: the programs that a script starts."""
    unreached: list[tuple[int, tuple[list[str], str, int, State]]] = msgspec.field(default_factory=list)
    """Commands to which the shell never comes, since it has no ``source`` or ``conda activate``: the line that fails, and the command as in ``commands``."""
    _no_source: tuple[list[str], int] | None = None
    """The last simple command was ``source``, with these words and in this line, and the shell has none; or ``conda activate``, with no
    words."""
    unreached_by: Literal["no source", "no conda"] = "no source"
    """Which of the two the shell lacks."""
    lacks_conda: bool = False
    """Whether nothing gave the shell conda's function so far: ``conda activate`` then fails (conda's documentation, "conda init")."""
    met_no_conda: bool = False
    """Whether such a ``conda activate`` was met."""
    ends_on_error: bool = False
    """After ``set -e``."""
    _testing: bool = False
    """In a condition, in which nothing ends by ``set -e``."""
    _depth: int = 0
    _steps: int = 0

    def read_file(self, path: str) -> bool:
        """Read a file as ``.`` does; return False if it does not exist."""
        text = self.around.read(path)
        if text is None:
            return False
        if len(self.state.files) >= MOST_FILES or self._depth > 20:
            return True
        self.state.files.append(path)
        nodes = parse(text)
        before, self._file = self._file, path
        self._depth += 1
        try:
            if nodes is None:
                self._not_understood(text)
                self.lacks_conda = False
            else:
                self.state.followed.whole.add(path)
                self._run(nodes)
        except _Return:
            pass
        finally:
            self._file = before
            self._depth -= 1
        return True

    def read_files(self, *paths: str) -> None:
        """Read files as at a shell's start; ``exit`` in one of them stops it."""
        try:
            for path in paths:
                self.read_file(path)
        except (_Exit, RecursionError):
            pass

    def _not_understood(self, text: str) -> None:
        """Make every variable that a file assigns unknown, because the file cannot be parsed."""
        for number, line in enumerate(text.split("\n"), 1):
            if found := re.match(rf"\s*(?:export\s+|typeset\s+-x\s+)?({NAME})\+?=", line):
                self._give(found[1], UNKNOWN, number)
                self.state.exported.add(found[1])

    # --- commands --------------------------------------------------------------------------------------------

    def _run(self, nodes: list[Node]) -> bool | None:
        """Run commands; return whether the last one succeeded, None if unknown."""
        result: bool | None = True
        for number, node in enumerate(nodes, 1):
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise _Exit
            result = self._run_node(node)
            if self._no_source and self.ends_on_error and isinstance(node, Simple) and not self._testing:
                self._beyond(nodes[number:])
                raise _Exit
        return result

    def _condition(self, nodes: list[Node]) -> bool | None:
        before, self._testing = self._testing, True
        try:
            return self._run(nodes)
        finally:
            self._testing = before

    def _beyond(self, nodes: list[Node]) -> None:
        """Keep what would be started if ``source`` had worked: the shell ends or goes on elsewhere before it comes to it."""
        if self._no_source is None:
            return
        words, line = self._no_source
        before, started, shell, functions = self.state, len(self.commands), self.shell, dict(self._functions)
        self.state, self.shell, self._no_source = before.copy(), "bash", None
        self.state.files = list(before.files)
        try:
            self._source(words, line)
            self._run(nodes)
        except (_Return, _Exit):
            pass
        finally:
            self.unreached += [(line, command) for command in self.commands[started:]]
            del self.commands[started:]
            self.state, self.shell, self._functions = before, shell, functions

    def _run_node(self, node: Node) -> bool | None:
        match node:
            case Simple():
                return self._simple(node)
            case Chain():
                return self._chain(node)
            case If():
                return self._if(node)
            case Case():
                return self._case(node)
            case Loop():
                return self._loop(node)
            case Function():
                self._functions[node.name] = node.body
                return True
            case Block():
                if node.piped:
                    for part in node.body if self.follows else ():
                        self._subshell([part])
                    return None
                return self._subshell(node.body) if node.own else self._run(node.body)

    def _subshell(self, body: list[Node]) -> bool | None:
        """Run commands on a copy of the state: their variables are lost, and ``exit`` ends only them."""
        if not body:
            return None
        before, functions, started = self.state, dict(self._functions), len(self.commands)
        self.state = before.copy()
        try:
            return self._run(body)
        except (_Return, _Exit):
            return None
        finally:
            self.state, self._functions = before, functions
            if not self.follows:
                del self.commands[started:]

    def _chain(self, node: Chain) -> bool | None:
        result: bool | None = None
        for number, (operator, part) in enumerate(node.parts):
            if operator and result is not None and result is (operator == "||"):
                if operator == "&&" and self._no_source:
                    self._beyond([Chain([("", part), *node.parts[number + 1 :]])])
                continue
            rest = node.parts[number:]
            if operator and result is None and all(o == "&&" for o, _part in rest):
                self._perhaps([Chain([("", part), *rest[1:]])])
                return None
            if operator and result is None:
                self._perhaps([part])
            else:
                result = self._run_node(part)
        return result

    def _perhaps(self, nodes: list[Node]) -> None:
        """Run commands that may or may not run."""
        self._branches([nodes, []], line_of(nodes[0]) if nodes else 0)

    def _branches(self, bodies: list[list[Node]], line: int) -> None:
        """Run each of several branches on its own state; variables that differ at the end are unknown."""
        whole, ends = self.state, []
        for body in bodies:
            self.state = whole.copy()
            try:
                self._run(body)
            except (_Return, _Exit):
                continue  # The file would end here; what follows is read as if it did not.
            finally:
                ends.append(self.state)
        self.state = whole
        whole.merge_branches(ends or [whole.copy()], self._file, line, "posix")

    def _if(self, node: If) -> bool | None:
        for number, (test, body) in enumerate(node.arms):
            holds = True if test is None else self._condition(test)
            if holds:
                return self._run(body)
            if holds is None:
                rest = [b for _test, b in node.arms[number:]]
                has_else = node.arms[-1][0] is None
                self._branches(rest if has_else else [*rest, []], node.line)
                return None
        return True

    def _case(self, node: Case) -> bool | None:
        word = self.expand(node.word)
        if UNKNOWN in word:
            self._branches([*(body for _patterns, body in node.arms), []], node.line)
            return None
        for patterns, body in node.arms:
            for pattern in patterns:
                text = self._pattern(pattern)
                if UNKNOWN in text:
                    self._branches([body, []], node.line)
                elif fnmatch.fnmatchcase(word, text):
                    return self._run(body)
        return True

    def _loop(self, node: Loop) -> bool | None:
        if not node.name:
            if not node.test or self._condition(node.test) is not False:
                self._perhaps(node.body)
            return None
        every = (w for raw in node.words for w in self.words(raw))
        for word in itertools.islice(at_most(every), 1000):
            if UNKNOWN in word:
                self.state.values[node.name] = UNKNOWN
                self._perhaps(node.body)
                return None
            self.state.values[node.name] = word
            self._run(node.body)
        return True

    def _simple(self, node: Simple) -> bool | None:
        self._no_source = None
        words = [w for w in node.words if not w.text.startswith(INPUT)]
        given: list[tuple[str, str]] = []
        while words and (found := ASSIGNMENT.match(words[0].text)):
            given.append((found[1], self._assigned(found[1], found[2], found[3])))
            words.pop(0)
        if words and self.shell == "zsh" and (placed := AT_A_PLACE.match(words[0].text)) and self._is_tied(placed[1]):
            given.append((placed[1], self._placed(placed[1], placed[2], placed[3])))
            words.pop(0)
        if not words:
            for name, value in given:
                self._set(name, value, node.line)
            return True
        first: list[str] = []
        while words and not (first := [*self.words(words[0].text)]):  # "$@", or a variable that holds a whole command
            words.pop(0)
        if not first:
            return True
        name = first[0]
        if name in _DECLARING:
            return self._declare(name, words[1:], node.line)
        if name == "[[":
            arguments = [w.text if w.operator else self.expand(w.text) for w in words[1:]]
        else:
            every = (w for word in words[1:] for w in self.words(word.text))
            arguments = [*first[1:], *at_most(every)]
        for each in (w.text for w in node.words if self.follows and w.text.startswith(INPUT)):
            read = self.expand(each[1:]) if each[1:2] == '"' else each[1:]
            called = next((a for a in reversed([name, *arguments]) if not a.startswith("-")), name)
            if posixpath.basename(called) in SHELL_NAMES:
                arguments += ["-c", read]
            elif name in TAKE_JOBS:
                head = re.match(r"#!.*?([\w.-]+)[ \t]*\n", read)
                name, arguments = head[1] if head else "sh", ["-c", read]
        return self._command(name, arguments, node.line, given)

    def _command(  # noqa: C901, PLR0912, PLR0915 - one case per command
        self, name: str, arguments: list[str], line: int, given: list[tuple[str, str]]
    ) -> bool | None:
        match name:
            case "!":
                held = self._command(arguments[0], arguments[1:], line, given) if arguments else None
                return None if held is None else not held
            case ":" | "true":
                return True
            case "false":
                return False
            case "[" | "test":
                return self._test(arguments[:-1] if name == "[" else arguments)
            case "[[":
                return self._test([a for a in arguments if a != "]]"], patterns=True)
            case "source" if self.follows and self.shell == "dash":
                self._no_source, self.unreached_by = (arguments, line), "no source"
                return False  # dash has no such command
            case "conda" | "mamba" | "micromamba" if self._lacks(name, arguments):
                self._no_source, self.unreached_by = ([], line), "no conda"
                self.met_no_conda = True
                return False
            case "." | "source":
                return self._source(arguments, line)
            case "unset":
                for each in arguments if "-f" not in arguments else ():
                    if not each.startswith("-"):
                        self.state.unset_variable(each, self._file, line, "posix")
                return True
            case "set":
                for each in itertools.takewhile(lambda a: a[:1] in ("-", "+") and a != "--", arguments):
                    if "a" in each or (each[-1] == "o" and "allexport" in arguments):
                        self._exports_all = each[0] == "-"
                    if "e" in each.removesuffix("o") or (each[-1] == "o" and "errexit" in arguments):
                        self.ends_on_error = each[0] == "-"
                return True
            case "return":
                raise _Return
            case "exit":
                raise _Exit
            case "exec" if arguments:
                options = next((n for n, a in enumerate(arguments) if not a.startswith("-")), len(arguments))
                named = options > 0 and arguments[options - 1].endswith("a")  # bash's exec -a NAME
                rest = arguments[options + named :]
                self._start([*(f"{n}={v}" for n, v in given), *rest], line)
                raise _Exit
            case "command" | "builtin" if arguments and not arguments[0].startswith("-"):
                return self._command(arguments[0], arguments[1:], line, given)
            case "command" | "type" | "which" | "hash":
                return self._is_there(arguments[-1]) if arguments else None
            case "setenv" if len(arguments) == 2:
                self._set(arguments[0], arguments[1], line)
                self.state.exported.add(arguments[0])
                return True
            case "printf" if arguments[:1] == ["-v"] and len(arguments) > 2:
                plain = arguments[2].count("%") == arguments[2].count("%s") == len(arguments) - 3
                told = (
                    arguments[2].replace("%s", "{}").format(*arguments[3:])
                    if plain and "{" not in arguments[2]
                    else UNKNOWN
                )
                self._set(arguments[1], told, line)
                return True
            case "eval":
                return self._eval(arguments, line)
            case "alias":
                for each in arguments:
                    short, equals, text = each.partition("=")
                    if equals:
                        self.state.aliases[short] = (text, self._file, line)
                return True
            case "dotenv" | "dotenv_if_exists" if not self.follows:  # direnv's; a program in other scripts
                return self._dotenv(arguments[0] if arguments else ".env")
            case "source_env" | "source_env_if_exists" if arguments:
                path = self._beside(arguments[0])
                return self.read_file(f"{path}/.envrc" if self.around.kind(path) == "folder" else path)
            case "source_up" | "source_up_if_exists":
                return self._source_up(arguments[0] if arguments else ".envrc")
            case "PATH_add":
                self._prepend("PATH", arguments, line)
                return True
            case "cd" if arguments and not arguments[-1].startswith("-"):
                here = self.state.values.get("PWD", "/")
                place = posixpath.normpath(posixpath.join(here, arguments[-1]))
                self.state.values["PWD"] = UNKNOWN if UNKNOWN in place else place
                return True if self.follows and self.around.kind(place) == "folder" else None
            case "module" | "ml" if arguments:
                words = arguments if name == "module" or arguments[0] in LOADING else ["load", *arguments]
                load_modules(words, self.around, self.state)
                return None
            case "layout" if re.fullmatch(r"python[\d.]*", "".join(arguments[:1])) and not self.follows:
                return self._layout(line)
            case "path_add" if arguments:
                self._prepend(arguments[0], arguments[1:], line)
                return True
        if name in self._functions:
            return self._call(name, arguments)
        self._start([*(f"{n}={v}" for n, v in dict(given).items()), name, *arguments], line)
        return None

    def _lacks(self, name: str, arguments: list[str]) -> bool:
        """Whether this is ``conda activate`` where the shell has no such function."""
        return self.follows and self.lacks_conda and arguments[:1] == ["activate"] and name not in self._functions

    def _start(self, words: list[str], line: int) -> None:
        state = self.state
        if self.follows:
            state = self.state.copy()
            state.files = list(self.state.files)
        self.commands.append((words, self._file, line, state))

    # --- direnv-stdlib(1) ------------------------------------------------------------------------------------

    def _layout(self, line: int) -> bool | None:
        """Activate the environment that ``layout python`` made, which is the folder's own unless VIRTUAL_ENV names another."""
        here = self.state.values.get("PWD", "/")
        made = [n for n in self.around.names(f"{here}/.direnv") if n.startswith("python-")]
        named = self.state.values.get("VIRTUAL_ENV") or (f".direnv/{made[0]}" if len(made) == 1 else "")
        if not named:
            return None
        place = posixpath.join(here, named)
        self._set("VIRTUAL_ENV", place, line)
        self.state.exported.add("VIRTUAL_ENV")
        self._prepend("PATH", [f"{place}/bin"], line)
        return True

    def _beside(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self._file), path))

    def _dotenv(self, name: str) -> bool:
        path = self._beside(name)
        if self.around.kind(path) == "folder":
            path = f"{path}/.env"
        text = self.around.read(path)
        if text is not None:
            read_assignments(text, path, self.state, expands=True)
        return text is not None

    def _source_up(self, name: str) -> bool:
        folder = posixpath.dirname(posixpath.dirname(self._file))
        while folder not in ("/", ""):
            if self.around.kind(f"{folder}/{name}") == "file":
                return self.read_file(f"{folder}/{name}")
            folder = posixpath.dirname(folder)
        return False

    def _call(self, name: str, arguments: list[str]) -> bool | None:
        before, self.arguments = self.arguments, tuple(arguments)
        self._depth += 1
        if self._depth > 30:
            raise _Exit
        try:
            return self._run(self._functions[name])
        except _Return:
            return None
        finally:
            self.arguments = before
            self._depth -= 1

    def _eval(self, arguments: list[str], line: int) -> bool | None:
        text = " ".join(arguments)
        if UNKNOWN in text or (nodes := parse(text)) is None:
            self.lacks_conda = False  # it may be conda's hook
            for found in (
                "PATH",
                *re.findall(rf"\b({NAME})=", text),
            ):  # These set up pyenv, conda or brew: add their folders.
                self._give(found, UNKNOWN, line)
                self.state.exported.add(found)
            return None
        return self._run(nodes)

    def _prepend(self, name: str, folders: list[str], line: int) -> None:
        here = posixpath.dirname(self._file)
        for folder in folders:
            old = self.state.values.get(name, "")
            whole = posixpath.normpath(posixpath.join(here, folder))
            self._give(name, f"{whole}:{old}" if old else whole, line)
            self.state.exported.add(name)

    def _source(self, arguments: list[str], line: int) -> bool | None:
        if not arguments or UNKNOWN in arguments[0]:
            self.lacks_conda = False
            self.state.followed.unclear.add(self._file)
            return None
        path = arguments[0]
        if "/" not in path:
            path = posixpath.join(posixpath.dirname(self._file), path)
        elif not path.startswith("/"):
            here = self.state.values.get("PWD", "")
            path = posixpath.normpath(posixpath.join(here or posixpath.dirname(self._file), path))
        before = self.arguments
        self.arguments = tuple(arguments[1:]) or before
        try:
            found = self.read_file(path)
            if not found or posixpath.basename(path) in OF_CONDA:
                self.lacks_conda = False
            if not found and path.startswith("/") and self.around.kind(path) == "missing":
                self.state.miss(path, self._file, line)
            return found
        finally:
            self.arguments = before
