"""Reads fish's start-up files: ``set``, ``fish_add_path``, conditions, loops and other files. Nothing is run.

After fish's own documentation, "The fish language" (https://fishshell.com/docs/current/language.html).
"""

from __future__ import annotations

import contextlib
import fnmatch
import posixpath
import re

import msgspec

from core.host.startup.state import MOST_LETTERS, UNKNOWN, State, Surroundings

_BLOCKS = {"if", "for", "while", "switch", "function", "begin"}
Commands = list[tuple[int, list[str]]]
"""Commands, each with its line and its words, which keep their quotes."""
MOST_FILES = 200
MOST_CALLS = 20
"""Functions that call each other this deep are left."""


class _Stop(Exception):  # noqa: N818 - control flow, no error
    """Ends the file."""


class FishReader(msgspec.Struct):
    """Reads fish's files without running anything."""

    around: Surroundings
    state: State
    interactive: bool = False
    login: bool = False
    _file: str = ""
    _lists: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """List variables that are not exported."""
    _functions: dict[str, Commands] = msgspec.field(default_factory=dict)
    _depth: int = 0

    def read_files(self, *paths: str) -> None:
        """Read files as at fish's start."""
        with contextlib.suppress(RecursionError):  # blocks nested too deep to be followed
            for path in paths:
                self._read(path)

    def read_universal(self, path: str) -> None:
        """Take the universal variables, which fish has before it reads a file; one that it is given stands before them.

        Source: https://fishshell.com/docs/current/language.html#universal-variables; the file that ``set -Ux`` of fish 3 writes.
        """
        text = self.around.read(path)
        if text is None:
            return
        self.state.files.append(path)
        for number, line in enumerate(text.split("\n"), 1):
            found = re.match(r"SETUVAR((?: --\w+)*) (\w+):(.*)", line)
            if not found or found[2] in self.state.values:
                continue
            values = [_kept(v) for v in re.split(r"\\x1e", found[3])] if found[3] != r"\x1d" else []
            if "--export" in found[1].split():
                joined = (":" if "--path" in found[1].split() else " ").join(values)
                self.state.export_variable(found[2], joined, path, number, "universal")
            else:
                self._lists[found[2]] = values

    def _read(self, path: str) -> bool:
        text = self.around.read(path)
        if text is None or len(self.state.files) >= MOST_FILES:
            return text is not None
        self.state.files.append(path)
        before, self._file = self._file, path
        try:
            self._run(_commands(text))
        except _Stop:
            pass
        finally:
            self._file = before
        return True

    # --- commands --------------------------------------------------------------------------------------------

    def _run(self, commands: Commands) -> bool | None:
        at, result = 0, True
        held: bool | None = result
        while at < len(commands):
            line, words = commands[at]
            word = words[0] if words else ""
            if word in _BLOCKS or (word == "else" and words[1:2] == ["if"]):
                end = _end_of(commands, at)
                held = self._block(commands, at, end)
                at = end + 1
                continue
            if word in ("and", "or") and len(words) > 1:
                if held is None:
                    self._branches([[(line, words[1:])], []], line)
                elif held is (word == "and"):
                    held = self._command(words[1:], line)
            else:
                held = self._command(words, line)
            at += 1
        return held

    def _block(self, commands: Commands, at: int, end: int) -> bool | None:
        line, words = commands[at]
        inner = commands[at + 1 : end]
        match words[0]:
            case "if":
                return self._if(words[1:], inner, line)
            case "for" if len(words) > 3:
                for value in [v for w in words[3:] for v in self.expand(w)][:1000]:
                    self._lists[words[1]] = [value]
                    self._run(inner)
            case "begin":
                return self._run(inner)
            case "while":
                self._branches([inner, []], line)
            case "switch":
                self._switch(words[1:], inner, line)
            case "function" if len(words) > 1:
                self._functions[words[1]] = inner
        return None

    def _if(self, test: list[str], inner: Commands, line: int) -> bool | None:
        arms: list[tuple[list[str] | None, Commands]] = []
        words: list[str] | None = test
        body: Commands = []
        depth = 0
        for row in inner:
            word = row[1][0] if row[1] else ""
            if word == "else" and not depth:
                arms.append((words, body))
                words, body = (row[1][2:] if row[1][1:2] == ["if"] else None), []
                continue
            depth += (word in _BLOCKS) - (word == "end")
            body.append(row)
        arms.append((words, body))
        for number, (condition, its) in enumerate(arms):
            holds = True if condition is None else self._condition(condition, its, line)
            if holds:
                return self._run(its)
            if holds is None:
                rest = [b for _c, b in arms[number:]]
                self._branches(rest if arms[-1][0] is None else [*rest, []], line)
                return None
        return True

    def _condition(self, words: list[str], body: Commands, line: int) -> bool | None:
        held = self._command(words, line)
        while body and body[0][1][:1] in (["and"], ["or"]):
            row = body.pop(0)[1]
            if held is not None and held is (row[0] == "and"):
                held = self._command(row[1:], line)
        return held

    def _switch(self, words: list[str], inner: Commands, line: int) -> None:
        value = (self.expand(words[0]) or [""])[0] if words else UNKNOWN
        arms: list[tuple[list[str], Commands]] = []
        depth = 0
        for row in inner:
            word = row[1][0] if row[1] else ""
            if word == "case" and not depth:
                arms.append((row[1][1:], []))
                continue
            depth += (word in _BLOCKS) - (word == "end")
            if arms:
                arms[-1][1].append(row)
        if UNKNOWN in value:
            self._branches([*(b for _p, b in arms), []], line)
            return
        for patterns, body in arms:
            if any(fnmatch.fnmatchcase(value, p.strip("'\"")) for p in patterns):
                self._run(body)
                return

    def _branches(self, bodies: list[Commands], line: int) -> None:
        whole, ends = self.state, []
        for body in bodies:
            self.state = whole.copy()
            try:
                self._run(body)
            except _Stop:
                continue
            finally:
                ends.append(self.state)
        self.state = whole
        whole.merge_branches(ends, self._file, line, "fish")

    def _command(self, words: list[str], line: int) -> bool | None:  # noqa: C901, PLR0912 - one case per word
        if not words:
            return True
        name, rest = words[0], words[1:]
        match name:
            case "not" | "!":
                held = self._command(rest, line)
                return None if held is None else not held
            case "true":
                return True
            case "false":
                return False
            case "set":
                return self._set(rest, line)
            case "export":
                for each in rest:
                    var, _equals, value = each.partition("=")
                    if its := self.expand(value):
                        self._give(var, its, line, export=True)
                return True
            case "fish_add_path":
                self._add_path(rest, line)
                return True
            case "source" | ".":
                found = self.expand(rest[0]) if rest else []
                return self._read(found[0]) if found and UNKNOWN not in found[0] else None
            case "test" | "[":
                return self._test([w for part in rest for w in self.expand(part) or [""] if w != "]"])
            case "status":
                return {
                    "is-interactive": self.interactive, "--is-interactive": self.interactive, "-i": self.interactive,
                    "is-login": self.login, "--is-login": self.login, "-l": self.login,
                }.get(rest[0] if rest else "")  # fmt: skip
            case "contains":
                wanted = [w for part in rest if not part.startswith("-") for w in self.expand(part)]
                return None if any(UNKNOWN in w for w in wanted) else wanted[0] in wanted[1:] if wanted else False
            case "return" | "exit" | "exec":
                raise _Stop
            case "type" | "command" if rest:
                folders = self._list("PATH") or []
                return any(self.around.kind(posixpath.join(f, rest[-1])) == "file" for f in folders)
        return self._call(name, rest)

    def _call(self, name: str, words: list[str]) -> bool | None:
        """Run a function of the person's own; anything else has no effect."""
        if name not in self._functions or self._depth > MOST_CALLS:
            return None
        before = self._lists.get("argv")
        self._lists["argv"] = [v for w in words for v in self.expand(w)]
        self._depth += 1
        try:
            return self._run(self._functions[name])
        except _Stop:
            return None
        finally:
            self._depth -= 1
            self._lists.pop("argv")
            if before is not None:
                self._lists["argv"] = before

    def _set(self, words: list[str], line: int) -> bool | None:
        options = ""
        while words and re.match(r"--?[a-zA-Z-]+\Z", words[0]):
            options += {"--export": "x", "--erase": "e", "--query": "q", "--prepend": "p", "--append": "a"}.get(
                words[0], "" if words[0].startswith("--") else words[0][1:]
            )
            words = words[1:]
        if not words:
            return None
        name = re.sub(r"\[.*", "", words[0])
        if "q" in options:
            return name in self.state.values or name in self._lists
        if "e" in options and "[" in words[0]:
            held = self._list(name) or []
            left = _without(held, words[0].partition("[")[2].rstrip("]"))
            self._give(name, [UNKNOWN] if left is None else left, line, export=name in self.state.exported)
            return True
        if "e" in options:
            self._lists.pop(name, None)
            self.state.unset_variable(name, self._file, line, "fish")
            return True
        values = self._bounded(words[1:])
        if "p" in options:
            values = [*values, *(self._list(name) or [])]
        elif "a" in options:
            values = [*(self._list(name) or []), *values]
        self._give(name, values, line, export="x" in options or ("u" not in options and name in self.state.exported))
        return True

    def _bounded(self, words: list[str]) -> list[str]:
        """Return the words that words expand to; UNKNOWN where they are more than any variable can hold."""
        found: list[str] = []
        size = 0
        for word in words:
            its = self.expand(word)
            size += sum(len(w) + 1 for w in its)
            if size > MOST_LETTERS:
                return [UNKNOWN]
            found += its
        return found

    def _give(self, name: str, values: list[str], line: int, *, export: bool) -> None:
        if len(values) > MOST_LETTERS:
            values = [UNKNOWN]
        if not export:
            self._lists[name] = values
            self.state.values.pop(name, None)
            self.state.exported.discard(name)
            return
        joined = (":" if name.endswith("PATH") else " ").join(values)
        self.state.export_variable(name, joined, self._file, line, "fish")

    def _add_path(self, words: list[str], line: int) -> None:
        after = any(w in ("-a", "--append") for w in words)
        moving = any(w in ("-m", "--move") for w in words)
        new = [f.rstrip("/") or "/" for w in words if not w.startswith("-") for f in self.expand(w)]
        there = self._list("PATH") or []
        new = [f for f in new if self.around.kind(f) == "folder" and (moving or f not in there)]
        left = [f for f in there if f not in new]
        if new:
            self._give("PATH", [*left, *new] if after else [*new, *left], line, export=True)

    def _test(self, words: list[str]) -> bool | None:
        if any(UNKNOWN in w for w in words):
            return None
        if words[:1] == ["!"]:
            held = self._test(words[1:])
            return None if held is None else not held
        if len(words) == 2:
            kind = self.around.kind(words[1])
            return {
                "-n": bool(words[1]), "-z": not words[1], "-d": kind == "folder", "-f": kind == "file",
                "-e": kind != "missing", "-r": kind != "missing", "-s": kind == "file", "-x": kind != "missing",
            }.get(words[0])  # fmt: skip
        if len(words) == 3 and words[1] in ("=", "!="):
            return (words[0] == words[2]) is (words[1] == "=")
        if len(words) == 1:
            return {"-n": False, "-z": True}.get(words[0], bool(words[0]))
        return None

    # --- words -----------------------------------------------------------------------------------------------

    def _list(self, name: str) -> list[str] | None:
        if name in self.state.open:
            return [UNKNOWN]
        if name in self._lists:
            return self._lists[name]
        value = self.state.values.get(name)
        if value is None:
            return None
        return value.split(":") if name.endswith("PATH") else [value]

    def _output(self, text: str) -> list[str] | None:
        """Return the words that one of a few known commands writes; None for any other. Nothing is run."""
        commands = _commands(text)
        words = [v for w in commands[0][1] for v in self.expand(w)] if len(commands) == 1 else []
        if any(UNKNOWN in w for w in words):
            return None
        match words:
            case ["dirname", path] | ["path", "dirname", path]:
                return [posixpath.dirname(path) or "."]
            case ["basename", path] | ["path", "basename", path]:
                return [posixpath.basename(path)]
            case ["realpath", path] | ["readlink", "-f", path] | ["path", "resolve", path] if path.startswith("/"):
                return [posixpath.normpath(path)]
            case ["string", "join", separator, *rest] if not separator.startswith("-"):
                return [separator.join(rest)]
            case ["echo", *rest] if rest[:1] not in (["-n"], ["-e"]):
                return [" ".join(rest)]
            case ["uname"]:
                return ["Linux"]
            case ["id" | "/usr/bin/id" | "/bin/id", "-u"]:
                return [str(self.around.uid)]
            case ["whoami"] | ["id", "-un"]:
                return [self.around.user] if self.around.user else None
            case _:
                return None

    def _whole(self, raw: str) -> list[str] | None:
        """Return the words of a variable, of one of its elements, of braces, or of a known command; None for any other word."""
        if found := re.fullmatch(r"\$(\w+)|\{\$(\w+)\}", raw):
            return self._list(found[1] or found[2]) or []
        if found := re.fullmatch(r"\"?\$(\w+)\[([^\]$]+)\]\"?", raw):
            its = self._list(found[1])
            return [] if its is None else _picked(its, found[2])
        if found := re.fullmatch(r"([^'\"{}$(]*)\{([^{}'\"$(]*,[^{}'\"$(]*)\}([^'\"{}$(]*)", raw):
            return [v for part in found[2].split(",") for v in self.expand(f"{found[1]}{part}{found[3]}")]
        if (inner := re.fullmatch(r"\"?\$?\(([^()]*)\)\"?", raw)) and (told := self._output(inner[1])) is not None:
            return told
        return None

    def expand(self, raw: str) -> list[str]:
        """Return the words that a word expands to."""
        home = self.state.values.get("HOME", "")
        if raw == "~" or raw.startswith("~/"):
            raw = home + raw[1:]
        if (whole := self._whole(raw)) is not None:
            return whole
        if raw.startswith("(") or "(" in re.sub(r"'[^']*'|\"[^\"]*\"", "", raw):
            return [UNKNOWN]
        out, at = "", 0
        quoted = False
        while at < len(raw):
            char = raw[at]
            if char == "'" and not quoted:
                end = raw.find("'", at + 1)
                end = len(raw) if end < 0 else end
                out, at = out + raw[at + 1 : end], end + 1
            elif char == '"':
                quoted, at = not quoted, at + 1
            elif char == "\\":
                out, at = out + raw[at + 1 : at + 2], at + 2
            elif char == "$" and (name := re.compile(r"\$(\w+)|\$\{(\w+)\}").match(raw, at)):
                its = self._list(name[1] or name[2]) or []
                joint = ":" if (name[1] or name[2]).endswith("PATH") else " "
                out, at = (out + joint.join(its))[: MOST_LETTERS + 1], name.end()
                if not its and not quoted:
                    return []
            elif char == "{" and at + 1 < len(raw) and raw[at + 1] == "$":
                end = raw.find("}", at)
                out, at = out + " ".join(self._list(raw[at + 2 : end]) or []), end + 1
            else:
                out, at = out + char, at + 1
        folder, _slash, name_part = out.rpartition("/")
        if "*" in out and '"' not in raw and "'" not in raw and folder.startswith("/") and "*" not in folder:
            return [f"{folder}/{n}" for n in self.around.names(folder) if fnmatch.fnmatchcase(n, name_part)]
        return [out]


def _places(index: str, size: int) -> list[int] | None:
    """Return the places that an index of a list names, from 0; None for one that is not known."""
    out: list[int] = []
    for part in index.split():
        found = re.fullmatch(r"(-?\d{1,9})?(?:(\.\.)(-?\d{1,9})?)?", part)
        if found is None:
            return None
        first, last = int(found[1] or 1), int(found[3] or (-1 if found[2] else found[1] or 1))
        one, two = (max(-1, min(n + size if n < 0 else n - 1, size)) for n in (first, last))
        out += range(one, two + 1) if one <= two else range(one, two - 1, -1)
    return [n for n in out if 0 <= n < size]


def _picked(words: list[str], index: str) -> list[str]:
    places = _places(index, len(words))
    return [UNKNOWN] if places is None or UNKNOWN in words else [words[n] for n in places]


def _without(words: list[str], index: str) -> list[str] | None:
    places = _places(index, len(words))
    return None if places is None else [w for n, w in enumerate(words) if n not in places]


def _kept(text: str) -> str:
    """Return a value of fish's file of universal variables without its escapes."""
    return re.sub(
        r"\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|(.))",
        lambda m: m[4] if m[4] else chr(number) if (number := int(m[1] or m[2] or m[3], 16)) < 0x110000 else "",
        text,
    )


def _commands(text: str) -> Commands:  # noqa: C901, PLR0912, PLR0915 - one case per word
    """Return the commands of a script."""
    out: Commands = []
    words: list[str] = []
    word: list[str] = []
    at, line, start, depth = 0, 1, 1, 0

    def close_word() -> None:
        if word:
            words.append("".join(word))
            word.clear()

    def close() -> None:
        nonlocal words
        close_word()
        if words:
            out.append((start, words))
            words = []

    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            if text[at + 1] == "\n":
                line += 1
            else:
                word.append(text[at : at + 2])
            at += 2
            continue
        if char in "'\"":
            end = at + 1
            while end < len(text) and text[end] != char:
                end += 2 if text[end] == "\\" else 1
            word.append(text[at : end + 1])
            line += text.count("\n", at, end + 1)
            at = end + 1
            continue
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(0, depth - 1)
        if depth:
            word.append(char)
        elif char == "#" and not word:
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
            continue
        elif char in "\n;":
            close()
        elif text.startswith(("&&", "||"), at):
            close()
            words = ["and" if char == "&" else "or"]
            start = line
            at += 2
            continue
        elif char in " \t\r":
            close_word()
        elif char in "|&":
            close()
        elif char in "<>":
            close_word()
            redirect = re.compile(r"[<>]+&?\s*[^\s;]*").match(text, at)
            at = redirect.end() if redirect else at + 1
            continue
        else:
            if not words and not word:
                start = line
            word.append(char)
        if char == "\n":
            line += 1
        at += 1
    close()
    return out


def _end_of(commands: Commands, at: int) -> int:
    depth = 0
    for number in range(at, len(commands)):
        words = commands[number][1]
        word = words[0] if words else ""
        depth += (word in _BLOCKS) - (word == "end")
        if not depth:
            return number
    return len(commands)
