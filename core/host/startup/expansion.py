"""Expands a word of a POSIX shell: quotes, parameters, tildes, file name patterns, and the output of a few commands.

After POSIX.1-2017, "Shell Command Language", section 2.6, and bash(1), zsh(1), dash(1). Nothing is run.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator

import msgspec

from core.host.startup.state import MOST_LETTERS, UNKNOWN, State, Surroundings
from core.host.startup.syntax import NAME, Chain, Simple, double_end, nested_end, parse
from core.host.startup.zsh_arrays import ZshArrays, picked

_EVERY = re.compile(rf"\"?\$\{{({NAME})\[[@*]\]\}}\"?()")
"""A word that stands for every word of an array."""
_EVERY_IN_ZSH = re.compile(rf"\"?\$\{{(?:\(@\))?({NAME})(?:\[[@*]\])?\}}\"?|\"?\$({NAME})(?:\[[@*]\])?\"?")
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_JOINING = re.compile(rf"\(j(?P<mark>[^\w\s])([^()]*?)(?P=mark)\)({NAME})(?:\[[@*]\])?")
"""Of zsh: ${(j.:.)dirs}."""


_ESCAPED = re.compile(r"\$'((?:\\.|[^'\\])*)'", re.DOTALL)
"""$'...': quotes in which C's escapes count."""
_PLAIN = re.compile(r"[^\\'\"$`]+")
MOST_NESTING = 40
"""Expansions within each other; each is read once more on every level."""
MOST_CUT = 1 << 12
"""Maximum length of a value in which a pattern is searched from each letter on."""
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class ShellWords(msgspec.Struct):
    """The input of expansions: the shell's state, its arguments, and which shell it is."""

    around: Surroundings
    state: State
    shell: str = "bash"
    interactive: bool = False
    login: bool = False
    arguments: tuple[str, ...] = ()
    script: str = ""
    """$0."""
    _file: str = ""
    _arrays: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Words of each array; those of a tied one are in its variable."""
    _nesting: int = 0
    """How many expansions the present one is in."""
    _zsh: ZshArrays = msgspec.field(default_factory=ZshArrays)

    def array(self, name: str) -> list[str] | None:
        """Return the words of an array; None for another variable."""
        if self.shell == "zsh" and name in self._zsh.ties:
            return self._zsh.split(name, self._value(self._zsh.ties[name].scalar) or "")
        return self._arrays.get(name)

    def expand(self, raw: str, *, tilde: bool = False) -> str:
        """Return a word as one text, with quotes removed and everything in it expanded."""
        out: list[str] = []
        at = size = 0
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
                end = double_end(raw, at + 1) if raw.find('"', at + 1) > 0 else len(raw)
                out.append(self._double(raw[at + 1 : end]))
                size += len(out[-1])
                at = end + 1
            elif raw.startswith("$'", at) and self.shell != "dash" and (quoted := _ESCAPED.match(raw, at)):
                out.append(_unescaped(quoted[1]))
                at = quoted.end()
            elif char in "$`":
                text, at = self._dollar(raw, at)
                out.append(text)
                size += len(text)
            else:
                plain = _PLAIN.match(raw, at)
                out.append(plain[0] if plain else char)
                at += len(out[-1])
            if size > MOST_LETTERS:
                return UNKNOWN
        return "".join(out)

    def _double(self, text: str) -> str:
        out: list[str] = []
        at = size = 0
        while at < len(text):
            if text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
                out.append(text[at + 1])
                at += 2
            elif text[at] in "$`":
                part, at = self._dollar(text, at)
                out.append(part)
                size += len(part)
                if size > MOST_LETTERS:
                    return UNKNOWN
            else:
                plain = _PLAIN.match(text, at)
                out.append(plain[0] if plain else text[at])
                at += len(out[-1])
        return "".join(out)

    def _pattern(self, raw: str) -> str:
        """Return a pattern for fnmatch; quoted parts match literally."""
        out: list[str] = []
        for part in re.findall(r"\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\"'\\]+", raw, re.DOTALL):
            text = self.expand(part)
            quoted = part[0] in "\"'\\"
            out.append(re.sub(r"([*?\[])", r"[\1]", text) if quoted else text)
        return "".join(out)

    def words(self, raw: str) -> Iterator[str]:
        """Yield the words that a word expands to: split where it is not quoted, and with file names for patterns."""
        if raw in ('"$@"', "$@", '"${@}"'):
            yield from self.arguments
            return
        form = _EVERY_IN_ZSH if self.shell == "zsh" else _EVERY
        if (named := form.fullmatch(raw)) and (its := self.array(named[1] or named[2])) is not None:
            yield from (w for w in its if w or raw.startswith('"'))
            return
        text = self.expand(raw)
        quoted = raw[:1] in "\"'"
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
        if self._nesting > MOST_NESTING:
            return UNKNOWN, len(raw)
        self._nesting += 1
        try:
            return self._expanded_at(raw, at)
        finally:
            self._nesting -= 1

    def _expanded_at(self, raw: str, at: int) -> tuple[str, int]:
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
        its = self.array(found[1]) if self.shell == "zsh" else None
        if its is not None:
            index = _BRACKETS.match(raw, found.end())
            return picked(its, index[1] if index else ""), index.end() if index else found.end()
        return self._value(found[1]) or "", found.end()

    def _value(self, name: str) -> str | None:  # noqa: C901, PLR0912 - one case per form of the language
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
            case "OSTYPE" if name not in self.state.values:
                return {"bash": "linux-gnu", "zsh": "linux-gnu"}.get(self.shell)
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

    def _parameter(self, text: str) -> str:  # noqa: C901, PLR0912 - one case per form of the language
        if self.shell == "zsh" and (joining := _JOINING.fullmatch(text)):
            its = self.array(joining[3])
            return UNKNOWN if its is None else joining[2].join(its)
        found = re.match(rf"(#?)({NAME}|[0-9@*#?$!-])(\[[^\]]*\])?(.*)\Z", text, re.DOTALL)
        if found is None:
            return UNKNOWN
        length, name, index, rest = found.groups()
        value = self._value(name)
        its = self.array(name) if self.shell == "zsh" else None
        if its is not None:
            value = str(len(its)) if length else picked(its, (index or "")[1:-1])
            length = ""
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
            if old and value.count(old) * len(new) > MOST_LETTERS:
                return UNKNOWN
            return value.replace(old, new, -1 if swap[1] == "//" else 1)
        return UNKNOWN

    def _output(self, command: str) -> str:  # noqa: C901, PLR0912 - one case per form of the language
        """Return the output of one of the few known commands; UNKNOWN for any other. Nothing is run."""
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


def _unescaped(text: str) -> str:
    return re.sub(
        r"\\(?:x([0-9A-Fa-f]{1,2})|(.))",
        lambda m: chr(int(m[1], 16)) if m[1] else _LETTERS.get(m[2], m[2]),
        text,
        flags=re.DOTALL,
    )


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _cut(value: str, operator: str, pattern: str) -> str:
    if UNKNOWN in pattern or len(value) > MOST_CUT:
        return UNKNOWN
    order = range(len(value) + 1)
    if operator in ("#", "##"):
        ends = order if operator == "#" else reversed(order)
        return next((value[n:] for n in ends if fnmatch.fnmatchcase(value[:n], pattern)), value)
    starts = reversed(order) if operator == "%" else order
    return next((value[:n] for n in starts if fnmatch.fnmatchcase(value[n:], pattern)), value)
