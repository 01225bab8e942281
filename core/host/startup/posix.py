"""Reads start-up files of bash, zsh, dash and ksh: assignments, conditions, loops, functions and other files.

A small part of the shell's language, after POSIX.1-2017, "Shell Command Language", and bash(1), zsh(1), dash(1). What it does
not know changes nothing, except where it assigns a variable: that one is open then. Nothing is run.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator

import msgspec

from core.host.startup.state import UNKNOWN, State, Surroundings
from core.host.startup.syntax import (
    NAME,
    Block,
    Case,
    Chain,
    Function,
    If,
    Loop,
    Node,
    ReadError,
    Simple,
    Token,
    double_end,
    nested_end,
    parse,
    tokens,
)

MOST_FILES = 200
MOST_STEPS = 50_000
"""Where reading stops, against files that include each other and loops that do not end."""

_ASSIGNMENT = re.compile(rf"({NAME})(\+?)=(.*)\Z", re.DOTALL)
_DECLARING = {"export", "declare", "typeset", "readonly", "local"}


class _Return(Exception):  # noqa: N818 - control flow, no error
    """The file or function ends here."""


class _Exit(Exception):  # noqa: N818 - control flow, no error
    """The shell ends here."""


# --- reading -------------------------------------------------------------------------------------------------------


class ShellReader(msgspec.Struct):
    """A shell that reads its files and runs nothing."""

    around: Surroundings
    state: State
    shell: str = "bash"
    interactive: bool = False
    login: bool = False
    arguments: tuple[str, ...] = ()
    script: str = ""
    """$0."""
    commands: list[tuple[list[str], str, int]] = msgspec.field(default_factory=list)
    """Words of every command that is no part of the language, with file and line: what a script starts."""
    _functions: dict[str, list[Node]] = msgspec.field(default_factory=dict)
    _file: str = ""
    _depth: int = 0
    _steps: int = 0

    def read_file(self, path: str) -> bool:
        """Read a file as ``.`` does; False where it is not there."""
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
            else:
                self._run(nodes)
        except _Return:
            pass
        finally:
            self._file = before
            self._depth -= 1
        return True

    def read_files(self, *paths: str) -> None:
        """Read files as a shell's start does; ``exit`` in one of them ends it."""
        try:
            for path in paths:
                self.read_file(path)
        except (_Exit, RecursionError):
            pass

    def _not_understood(self, text: str) -> None:
        """Every variable that a file assigns is open where its form is not understood."""
        for number, line in enumerate(text.split("\n"), 1):
            if found := re.match(rf"\s*(?:export\s+|typeset\s+-x\s+)?({NAME})\+?=", line):
                self._give(found[1], UNKNOWN, number)
                self.state.exported.add(found[1])

    def _give(self, name: str, value: str, line: int) -> None:
        self.state.give(name, value, self._file, line, "posix")

    # --- commands --------------------------------------------------------------------------------------------

    def _run(self, nodes: list[Node]) -> bool | None:
        """Run commands; return whether the last one succeeded, None where that is not known."""
        result: bool | None = True
        for node in nodes:
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise _Exit
            result = self._one(node)
        return result

    def _one(self, node: Node) -> bool | None:
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
                if not node.own:
                    return self._run(node.body)
                return None

    def _chain(self, node: Chain) -> bool | None:
        result: bool | None = None
        for operator, part in node.parts:
            if operator and result is not None and result is (operator == "||"):
                continue
            if operator and result is None:
                self._perhaps([part])
            else:
                result = self._one(part)
        return result

    def _perhaps(self, nodes: list[Node]) -> None:
        """Run commands of which it is not known whether they are run."""
        self._branches([nodes, []], _line_of(nodes[0]) if nodes else 0)

    def _branches(self, bodies: list[list[Node]], line: int) -> None:
        """Run each of several courses on a state of its own; what differs in the end is open."""
        whole, ends = self.state, []
        for body in bodies:
            self.state = whole.copy()
            try:
                self._run(body)
            except (_Return, _Exit):
                continue  # the file would end here: what follows is read as if it had not
            finally:
                ends.append(self.state)
        self.state = whole
        whole.join(ends or [whole.copy()], self._file, line, "posix")

    def _if(self, node: If) -> bool | None:
        for number, (test, body) in enumerate(node.arms):
            holds = True if test is None else self._run(test)
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
            if not node.test or self._run(node.test) is not False:
                self._perhaps(node.body)
            return None
        words = [w for raw in node.words for w in self.words(raw)]
        for word in words[:1000]:
            if UNKNOWN in word:
                self.state.values[node.name] = UNKNOWN
                self._perhaps(node.body)
                return None
            self.state.values[node.name] = word
            self._run(node.body)
        return True

    def _simple(self, node: Simple) -> bool | None:
        words = list(node.words)
        given: list[tuple[str, str]] = []
        while words and (found := _ASSIGNMENT.match(words[0].text)):
            given.append((found[1], self._assigned(found[1], found[2], found[3])))
            words.pop(0)
        if not words:
            for name, value in given:
                self._set(name, value, node.line)
            return True
        name = self.expand(words[0].text)
        if name in _DECLARING:
            return self._declare(name, words[1:], node.line)
        if name == "[[":
            arguments = [w.text if w.operator else self.expand(w.text) for w in words[1:]]
        else:
            arguments = [w for word in words[1:] for w in self.words(word.text)]
        return self._command(name, arguments, node.line, given)

    def _command(  # noqa: C901, PLR0912 - a row a command
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
            case "." | "source":
                return self._source(arguments)
            case "unset":
                for each in arguments:
                    if not each.startswith("-"):
                        self.state.take(each, self._file, line, "posix")
                return True
            case "return":
                raise _Return
            case "exit":
                raise _Exit
            case "exec" if arguments:
                rest = [a for n, a in enumerate(arguments) if not (a.startswith("-") and n < 2)]
                self.commands.append((rest, self._file, line))
                raise _Exit
            case "command" | "builtin" if arguments and not arguments[0].startswith("-"):
                return self._command(arguments[0], arguments[1:], line, given)
            case "command" | "type" | "which" | "hash":
                return self._is_there(arguments[-1]) if arguments else None
            case "setenv" if len(arguments) == 2:
                self._set(arguments[0], arguments[1], line)
                self.state.exported.add(arguments[0])
                return True
            case "eval":
                return self._eval(arguments, line)
            case "alias":
                for each in arguments:
                    short, equals, text = each.partition("=")
                    if equals:
                        self.state.aliases[short] = (text, self._file, line)
                return True
            case "PATH_add":
                self._prepend("PATH", arguments, line)
                return True
            case "path_add" if arguments:
                self._prepend(arguments[0], arguments[1:], line)
                return True
        if name in self._functions:
            return self._call(name, arguments)
        extra = dict(given)
        self.commands.append(([name, *arguments], self._file, line))
        if extra:
            self.commands[-1] = ([*(f"{n}={v}" for n, v in extra.items()), name, *arguments], self._file, line)
        return None

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
            for found in (
                "PATH",
                *re.findall(rf"\b({NAME})=", text),
            ):  # what sets up pyenv, conda, brew: their folders
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

    def _source(self, arguments: list[str]) -> bool | None:
        if not arguments or UNKNOWN in arguments[0]:
            return None
        path = arguments[0]
        if "/" not in path:
            path = posixpath.join(posixpath.dirname(self._file), path)
        before = self.arguments
        self.arguments = tuple(arguments[1:]) or before
        try:
            return self.read_file(path)
        finally:
            self.arguments = before

    def _declare(self, command: str, words: list[Token], line: int) -> bool:
        exports = command == "export"
        for word in words:
            text = word.text
            if text.startswith(("-", "+")):
                exports = exports or ("x" in text and text.startswith("-"))
                if command == "export" and "n" in text:
                    exports = False
                continue
            found = _ASSIGNMENT.match(text)
            if found is None:
                name = self.expand(text)
                if exports and UNKNOWN not in name:
                    self._export(name, line)
                elif command == "export":
                    self.state.exported.discard(name)
                continue
            self._set(found[1], self._assigned(found[1], found[2], found[3]), word.line)
            if exports:
                self.state.exported.add(found[1])
        return True

    def _export(self, name: str, line: int) -> None:
        if name in self.state.values and name not in self.state.exported and not self.state.lines.get(name):
            self._give(name, self.state.values[name], line)
        self.state.exported.add(name)

    def _assigned(self, name: str, plus: str, raw: str) -> str:
        if raw.startswith("(") and raw.endswith(")"):  # an array: zsh ties path to PATH
            words = [w for t in _array(raw[1:-1]) for w in self.words(t)]
            value = ":".join(words)
            tied = self.state.values.get(name.upper(), "") if self.shell == "zsh" else ""
            return f"{tied}:{value}" if plus and tied else value
        value = self.expand(raw, tilde=True)
        return self.state.values.get(name, "") + value if plus else value

    def _set(self, name: str, value: str, line: int) -> None:
        if self.shell == "zsh" and name in ("path", "ld_library_path", "manpath", "fpath", "cdpath"):
            if name != "path":
                return
            name = "PATH"
        self._give(name, value, line)

    # --- conditions ------------------------------------------------------------------------------------------

    def _test(self, arguments: list[str], *, patterns: bool = False) -> bool | None:
        for operator, worst in (("-o", "||"), ("-a", "&&")):
            for sign in (operator, worst):
                if sign in arguments[1:-1] and not (sign == "-a" and arguments[0] == "-a"):
                    at = arguments.index(sign, 1)
                    one, two = (
                        self._test(arguments[:at], patterns=patterns),
                        self._test(arguments[at + 1 :], patterns=patterns),
                    )
                    if worst == "||":
                        return True if True in (one, two) else None if None in (one, two) else False
                    return False if False in (one, two) else None if None in (one, two) else True
        if arguments[:1] == ["!"]:
            held = self._test(arguments[1:], patterns=patterns)
            return None if held is None else not held
        if any(UNKNOWN in a for a in arguments):
            return None
        if len(arguments) == 1:
            return bool(arguments[0])
        if len(arguments) == 2:
            return self._unary(*arguments)
        if len(arguments) == 3:
            left, operator, right = arguments
            match operator:
                case "=" | "==" | "!=":
                    same = fnmatch.fnmatchcase(left, right) if patterns else left == right
                    return same if operator != "!=" else not same
                case "=~":
                    return None
                case "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge":
                    return _compare(left, operator, right)
        return None if arguments else False

    def _unary(self, operator: str, value: str) -> bool | None:
        match operator:
            case "-n":
                return bool(value)
            case "-z":
                return not value
            case "-f" | "-r" | "-s":
                kind = self.around.kind(value)
                return kind == "file" or (operator == "-r" and kind == "folder")
            case "-d":
                return self.around.kind(value) == "folder"
            case "-e" | "-x" | "-a":
                return self.around.kind(value) != "missing"
            case "-L" | "-h":
                return None
            case "-v":
                return value in self.state.values
            case "-t":
                return self.interactive
            case "-o":
                return {"login": self.login, "login_shell": self.login, "interactive": self.interactive}.get(value)
        return None

    def _is_there(self, name: str) -> bool | None:
        if UNKNOWN in name:
            return None
        if name in self._functions:
            return True
        if "/" in name:
            return self.around.kind(name) == "file"
        if "PATH" in self.state.open:
            return None
        folders = self.state.values.get("PATH", "").split(":")
        return any(f and self.around.kind(posixpath.join(f, name)) == "file" for f in folders)

    # --- expansion -------------------------------------------------------------------------------------------

    def expand(self, raw: str, *, tilde: bool = False) -> str:
        """Return a word without its quotes, with everything in it replaced, as one text."""
        out: list[str] = []
        at = 0
        if raw.startswith("~") or (tilde and ":~" in raw):
            raw = self._tilde(raw, every=tilde)
        while at < len(raw):
            char = raw[at]
            if char == "\\":
                out.append(raw[at + 1 : at + 2])
                at += 2
            elif char == "'":
                end = raw.find("'", at + 1)
                end = len(raw) if end < 0 else end
                out.append(raw[at + 1 : end])
                at = end + 1
            elif char == '"':
                end = double_end(raw, at + 1) if raw.count('"', at) > 1 else len(raw)
                out.append(self._double(raw[at + 1 : end]))
                at = end + 1
            elif char in "$`":
                text, at = self._dollar(raw, at)
                out.append(text)
            else:
                out.append(char)
                at += 1
        return "".join(out)

    def _double(self, text: str) -> str:
        out: list[str] = []
        at = 0
        while at < len(text):
            if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
                out.append(text[at + 1])
                at += 2
            elif text[at] in "$`":
                part, at = self._dollar(text, at)
                out.append(part)
            else:
                out.append(text[at])
                at += 1
        return "".join(out)

    def _pattern(self, raw: str) -> str:
        """Return a pattern for fnmatch: what is quoted in it stands for itself."""
        out: list[str] = []
        for part in re.findall(r"\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\"'\\]+", raw, re.DOTALL):
            text = self.expand(part)
            quoted = part[0] in "\"'\\"
            out.append(re.sub(r"([*?\[])", r"[\1]", text) if quoted else text)
        return "".join(out)

    def words(self, raw: str) -> Iterator[str]:
        """Yield the words that a word becomes: split where it is not quoted, with file names for patterns."""
        if raw in ('"$@"', "$@", '"${@}"'):
            yield from self.arguments
            return
        text = self.expand(raw)
        quoted = raw[:1] in "\"'"
        if self.shell == "zsh" and re.fullmatch(r"\$path|\$\{path(\[@\])?\}|\"\$path\[@\]\"", raw):
            yield from (p for p in self.state.values.get("PATH", "").split(":") if p)
            return
        if quoted or ("$" not in raw and "`" not in raw):
            parts = [text]
        else:
            parts = text.split() if self.shell != "zsh" else [text] if text else []
        for part in parts:
            if not quoted and "/" in part and any(c in part for c in "*?[") and UNKNOWN not in part:
                found = list(self._glob(re.sub(r"\([^()]*\)\Z", "", part)))
                yield from found or ([] if self.shell == "zsh" else [part])
            else:
                yield part

    def _glob(self, pattern: str) -> Iterator[str]:
        folder, _slash, name = pattern.rpartition("/")
        if not folder.startswith("/") or any(c in folder for c in "*?["):
            return
        for each in self.around.names(folder):
            if fnmatch.fnmatchcase(each, name) and (not each.startswith(".") or name.startswith(".")):
                yield f"{folder}/{each}"

    def _tilde(self, raw: str, *, every: bool) -> str:
        home = self.state.values.get("HOME", "")
        parts = raw.split(":") if every else [raw]
        done = [home + p[1:] if home and (p == "~" or p.startswith("~/")) else p for p in parts]
        return ":".join(done)

    def _dollar(self, raw: str, at: int) -> tuple[str, int]:
        if raw[at] == "`":
            end = raw.find("`", at + 1)
            end = len(raw) if end < 0 else end
            return self._output(raw[at + 1 : end]), end + 1
        if raw.startswith("$((", at):
            return UNKNOWN, nested_end(raw, at + 1)
        if raw.startswith("$(", at):
            end = nested_end(raw, at + 1)
            return self._output(raw[at + 2 : end - 1]), end
        if raw.startswith("${", at):
            end = nested_end(raw, at + 1)
            return self._parameter(raw[at + 2 : end - 1]), end
        found = re.compile(rf"\$({NAME}|[0-9@*#?$!-])").match(raw, at)
        if found is None:
            return "$", at + 1
        return self._value(found[1]) or "", found.end()

    def _value(self, name: str) -> str | None:  # noqa: PLR0912 - a row a form of the language
        match name:
            case "-":
                return "himBHs" if self.interactive else "hB"
            case "0":
                return self.script or (f"-{self.shell}" if self.login else self.shell)
            case "@" | "*":
                return " ".join(self.arguments)
            case "#":
                return str(len(self.arguments))
            case "$" | "!" | "?":
                return UNKNOWN
            case "UID" | "EUID":
                return str(self.around.uid)
            case "PS1" if name not in self.state.values:
                return "$ " if self.interactive else None
            case "BASH" | "BASH_VERSION" if name not in self.state.values:
                return "5.2" if self.shell == "bash" else None
            case "ZSH_VERSION":
                return "5.9" if self.shell == "zsh" else None
            case "HOSTNAME" | "RANDOM" | "PPID":
                return UNKNOWN
            case "BASH_SOURCE":
                return self._file
        if name.isdigit():
            number = int(name)
            return self.arguments[number - 1] if number <= len(self.arguments) else None
        if name in self.state.open:
            return UNKNOWN
        return self.state.values.get(name)

    def _parameter(self, text: str) -> str:  # noqa: C901, PLR0912 - a row a form of the language
        found = re.match(rf"(#?)({NAME}|[0-9@*#?$!-])(\[[^\]]*\])?(.*)\Z", text, re.DOTALL)
        if found is None:
            return UNKNOWN
        length, name, _index, rest = found.groups()
        value = self._value(name)
        if length:
            return UNKNOWN if value and UNKNOWN in value else str(len(value or ""))
        if not rest:
            return value or ""
        form = re.match(r"(:?[-+=?])(.*)\Z", rest, re.DOTALL)
        if form:
            known = value is not None and (value != "" or not form[1].startswith(":"))
            if value and value == UNKNOWN and form[1][-1] == "+":
                return UNKNOWN
            match form[1][-1]:
                case "-":
                    return value or "" if known else self._double(form[2])
                case "+":
                    return self._double(_unquoted(form[2])) if known else ""
                case "=":
                    if not known:
                        self.state.values[name] = self._double(form[2])
                    return self.state.values.get(name, "")
                case _:
                    return value or ""
        if value is None:
            return ""
        if UNKNOWN in value:
            return UNKNOWN
        if cut := re.match(r"(##?|%%?)(.*)\Z", rest, re.DOTALL):
            return _cut(value, cut[1], self._pattern(cut[2]))
        if swap := re.match(r"(//?)((?:\\.|[^/\\])*)/?(.*)\Z", rest, re.DOTALL):
            old, new = self._pattern(swap[2]), self.expand(swap[3])
            if UNKNOWN in old + new or any(c in old for c in "*?["):
                return UNKNOWN
            return value.replace(old, new, -1 if swap[1] == "//" else 1)
        return UNKNOWN

    def _output(self, command: str) -> str:  # noqa: C901, PLR0912 - a row a form of the language
        """Return what a command prints, of the few that are known; the rest is not run."""
        nodes = parse(command)
        if not nodes or len(nodes) != 1:
            return UNKNOWN
        node = nodes[0]
        if isinstance(node, Chain):  # cd "$(dirname "$0")" && pwd
            first, last = node.parts[0][1], node.parts[-1][1]
            if (
                isinstance(first, Simple)
                and isinstance(last, Simple)
                and last.words[0].text == "pwd"
                and len(node.parts) == 2
            ):
                words = [w for t in first.words for w in self.words(t.text) if w != "--"]
                if words[:1] == ["cd"] and len(words) == 2 and words[1].startswith("/"):
                    return posixpath.normpath(words[1])
            return UNKNOWN
        if not isinstance(node, Simple):
            return UNKNOWN
        words = [w for t in node.words for w in self.words(t.text)]
        if any(UNKNOWN in w for w in words):
            return UNKNOWN
        match words:
            case ["dirname", *_options, path]:
                return posixpath.dirname(path) or "."
            case ["basename", path]:
                return posixpath.basename(path)
            case ["readlink" | "realpath", *_options, path] if path.startswith("/"):
                return posixpath.normpath(path)
            case ["id", "-u"]:
                return str(self.around.uid)
            case ["id", "-un"] | ["whoami"]:
                return self.around.user or UNKNOWN
            case ["echo", *rest] if "-n" not in rest and "-e" not in rest:
                return " ".join(rest)
            case ["printf", "%s", text]:
                return text
            case ["cat", path]:
                return (self.around.read(path) or "").rstrip("\n") if self.around.kind(path) == "file" else ""
            case ["uname"]:
                return "Linux"
            case ["run-parts", *options, folder] if "--list" in options:
                names = [n for n in self.around.names(folder) if re.fullmatch(r"[\w.-]+\.sh", n)]
                return "\n".join(posixpath.join(folder, n) for n in names)
            case ["pwd"]:
                return self.state.values.get("PWD") or UNKNOWN
        return UNKNOWN


def _array(text: str) -> list[str]:
    try:
        return [t.text for t in tokens(text) if not t.operator]
    except ReadError:
        return [UNKNOWN]


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _compare(left: str, operator: str, right: str) -> bool | None:
    if not (re.fullmatch(r"-?\d{1,9}", left.strip()) and re.fullmatch(r"-?\d{1,9}", right.strip())):
        return None
    one, two = int(left), int(right)
    return {
        "-eq": one == two, "-ne": one != two, "-lt": one < two, "-le": one <= two, "-gt": one > two, "-ge": one >= two
    }[operator]  # fmt: skip


def _cut(value: str, operator: str, pattern: str) -> str:
    if UNKNOWN in pattern:
        return UNKNOWN
    order = range(len(value) + 1)
    if operator in ("#", "##"):
        ends = order if operator == "#" else reversed(order)
        return next((value[n:] for n in ends if fnmatch.fnmatchcase(value[:n], pattern)), value)
    starts = reversed(order) if operator == "%" else order
    return next((value[:n] for n in starts if fnmatch.fnmatchcase(value[n:], pattern)), value)


def _line_of(node: Node) -> int:
    match node:
        case Simple() | If() | Case() | Loop():
            return node.line
        case Chain():
            return _line_of(node.parts[0][1])
        case Function() | Block():
            return _line_of(node.body[0]) if node.body else 0
