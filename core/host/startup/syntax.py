"""Parses shell scripts into a tree of words, commands, conditions, loops and functions.

A part of POSIX.1-2017, "Shell Command Language", with bash's and zsh's ``[[`` and arrays.
"""

from __future__ import annotations

import functools
import re

import msgspec

from core.common.late_pattern import late_pattern

NAME = r"[A-Za-z_]\w*"
SHELL_NAMES = ("sh", "bash", "dash", "zsh", "ksh", "ash")
INPUT = "\ufdd0"
"""Stands before the text of a here-document, which is a word of its command; Unicode has no such character."""
_ASSIGNED = late_pattern(rf"{NAME}\+?=")
_REDIRECT = late_pattern(r"\d*(<<<|<<-?|[<>]&?\d*-?|&>>?|>>|>\|)")
_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "&", "|", "\n", "(", ")")
_RESERVED = {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}", "!"}


class ReadError(Exception):
    """The text cannot be parsed."""


class Token(msgspec.Struct, frozen=True):
    """A word with its quotes, or an operator, and the line where it starts."""

    text: str
    line: int
    operator: bool = False


# --- words ---------------------------------------------------------------------------------------------------------


def tokens(text: str) -> list[Token]:
    """Split a script into tokens.

    Raises:
        ReadError: a quote is not closed.
    """
    found: list[Token] = []
    heredocs: list[tuple[str, int]] = []
    at, line = 0, 1
    while at < len(text):
        char = text[at]
        if text.startswith("\\\n", at):
            at, line = at + 2, line + 1
        elif char in " \t\r":
            at += 1
        elif char == "#":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif operator := next((o for o in _OPERATORS if text.startswith(o, at)), ""):
            found.append(Token(operator, line, operator=True))
            at += len(operator)
            if operator == "\n":
                line += 1
                for number, (word, place) in enumerate(heredocs):
                    closing = re.compile(rf"^\t*{re.escape(word.strip(_QUOTES))}[ \t]*$", re.MULTILINE).search(text, at)
                    body = text[at : closing.start() if closing else len(text)]
                    quoted = body if word != word.strip(_QUOTES) else f'"{_UNQUOTED.sub(_escaped, body)}"'
                    found.insert(place + number, Token(INPUT + quoted, line))
                    stop = len(text) if closing is None else closing.end()
                    line += text.count("\n", at, stop)
                    at = stop
                heredocs = []
        elif redirect := _REDIRECT.match(text, at):
            at = redirect.end()
            while at < len(text) and text[at] in " \t":
                at += 1
            if redirect[1] in ("<", ">", ">>", "&>", "&>>", ">|", "<<<", "<<", "<<-", ">&", "<&"):
                end = word_end(text, at) if at < len(text) and text[at] not in "\n;&|()" else at
                if redirect[1].startswith("<<") and redirect[1] != "<<<":
                    heredocs.append((text[at:end], len(found)))
                line += text.count("\n", at, end)
                at = end
        else:
            end = word_end(text, at)
            found.append(Token(text[at:end].replace("\\\n", ""), line))
            line += text.count("\n", at, end)
            at = end
    found.append(Token("\n", line, operator=True))
    return found


_QUOTES = "'\"\\"
_UNQUOTED = late_pattern(r'(?<!\\)"')


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def word_end(text: str, at: int) -> int:
    """Return the index after the word that starts at ``at``."""
    start = at
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 2
        elif char == "'":
            at = _find(text, "'", at + 1) + 1
        elif char == '"':
            at = double_end(text, at + 1) + 1
        elif char == "`":
            at = _find(text, "`", at + 1) + 1
        elif text.startswith(("$((", "$(", "${"), at):
            at = nested_end(text, at + 1)
        elif char == "(" and at > start and text[at - 1] == "=":
            at = nested_end(text, at)  # an array
        elif char == "\r" and _ASSIGNED.match(text, start, at):
            at += 1  # of a file that was written on Windows: shells keep it in the value
        elif char in " \t\r\n;&|()<>":
            break
        else:
            at += 1
    return max(min(at, len(text)), start + 1)


def _find(text: str, mark: str, at: int) -> int:
    found = text.find(mark, at)
    if found < 0:
        raise ReadError
    return found


def double_end(text: str, at: int) -> int:
    """Return the index of the closing double quote of a string whose content starts at ``at``."""
    while at < len(text) and text[at] != '"':
        if text[at] == "\\":
            at += 2
        elif text.startswith(("$(", "${"), at):
            at = nested_end(text, at + 1)
        elif text[at] == "`":
            at = _find(text, "`", at + 1) + 1
        else:
            at += 1
    if at >= len(text):
        raise ReadError
    return at


def nested_end(text: str, at: int) -> int:
    """Return the index after the bracket that closes the one at ``at``."""
    closing = {"(": ")", "{": "}"}[text[at]]
    opening, depth = text[at], 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'" and closing == ")":
            at = _find(text, "'", at + 1)
        elif char == '"':
            at = double_end(text, at + 1)
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    raise ReadError


# --- the tree ------------------------------------------------------------------------------------------------------


class Simple(msgspec.Struct):
    """A command with its words."""

    words: list[Token]
    line: int


class Chain(msgspec.Struct):
    """Commands joined by ``&&`` and ``||``; the operator stands before each but the first."""

    parts: list[tuple[str, Node]]


class If(msgspec.Struct):
    """Conditions with their bodies; a None condition is else."""

    arms: list[tuple[list[Node] | None, list[Node]]]
    line: int


class Case(msgspec.Struct):
    """A word, and patterns with their bodies (``case``)."""

    word: str
    arms: list[tuple[list[str], list[Node]]]
    line: int


class Loop(msgspec.Struct):
    """A for loop over words; without a name, a while or until loop."""

    name: str
    words: list[str]
    body: list[Node]
    line: int
    test: list[Node] = msgspec.field(default_factory=list)
    """The condition of a while loop."""


class Function(msgspec.Struct):
    """A function's definition."""

    name: str
    body: list[Node]


class Block(msgspec.Struct):
    """Commands in braces, or in a subshell."""

    body: list[Node]
    own: bool
    """Whether it is a subshell, whose assignments are lost."""
    piped: bool = False
    """Whether its commands are joined by pipes, so that each is a subshell."""


Node = Simple | Chain | If | Case | Loop | Function | Block


class _Parser:
    """Parses tokens into a tree."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens, self._at = found, 0

    def script(self) -> list[Node]:
        """Return the whole tree; parsing stops at what cannot be understood."""
        out: list[Node] = []
        while self._at < len(self._tokens):
            before = self._at
            out += self._body(())
            if self._at < len(self._tokens):
                self._at = max(self._at + 1, before + 1)  # an unmatched closing word
        return out

    def _look(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> Token:
        token = self._look()
        if token is None:
            raise ReadError
        self._at += 1
        return token

    def _skip(self, *texts: str) -> None:
        while (token := self._look()) and token.operator and token.text in texts:
            self._at += 1

    def _expect(self, text: str) -> None:
        self._skip("\n", ";")
        if self._take().text != text:
            raise ReadError

    def _body(self, ends: tuple[str, ...]) -> list[Node]:
        out: list[Node] = []
        while True:
            self._skip("\n", ";", "&")
            token = self._look()
            if token is None or token.text in ends:
                return out
            if not token.operator and token.text in _RESERVED - {"if", "for", "while", "until", "case", "{", "!"}:
                return out
            if token.operator and token.text in (")", ";;", ";&", ";;&"):
                return out
            node = self._chain()
            token = self._look()
            out.append(Block([node], own=True) if token and token.operator and token.text == "&" else node)

    def _chain(self) -> Node:
        parts: list[tuple[str, Node]] = [("", self._pipeline())]
        while (token := self._look()) and token.operator and token.text in ("&&", "||"):
            self._at += 1
            self._skip("\n")
            parts.append((token.text, self._pipeline()))
        return parts[0][1] if len(parts) == 1 else Chain(parts)

    def _pipeline(self) -> Node:
        first = self._command()
        piped = [first]
        while (token := self._look()) and token.operator and token.text in ("|", "|&"):
            self._at += 1
            self._skip("\n")
            piped.append(self._command())
        return Block(piped, own=True, piped=True) if len(piped) > 1 else first

    def _command(self) -> Node:
        token = self._take()
        if token.operator:
            if token.text == "(":
                body = self._body((")",))
                self._skip("\n", ";")
                if self._take().text != ")":
                    raise ReadError
                return Block(body, own=True)
            raise ReadError
        match token.text:
            case "if":
                return self._if(token.line)
            case "while" | "until":
                test = self._body(("do",))
                self._expect("do")
                body = self._body(("done",))
                self._expect("done")
                return Loop("", [], body, token.line, test if token.text == "while" else [])
            case "for" | "select":
                return self._for_loop(token.line)
            case "case":
                return self._case(token.line)
            case "{":
                body = self._body(("}",))
                self._expect("}")
                return Block(body, own=False)
            case "function":
                name = self._take().text
                self._skip("(", ")", "\n")
                return Function(name, [self._command()])
        return self._simple(token)

    def _simple(self, first: Token) -> Node:
        words = [first]
        while first.text == "[[" and words[-1].text != "]]":
            words.append(self._take())
            if words[-1].text == "\n":
                words.pop()
        if first.text == "[[":
            return Simple(words, first.line)
        while (token := self._look()) and not token.operator:
            words.append(self._take())
        after = self._tokens[self._at : self._at + 2]
        if len(words) == 1 and [t.text for t in after] == ["(", ")"]:
            self._at += 2
            self._skip("\n")
            return Function(first.text, [self._command()])
        return Simple(words, first.line)

    def _if(self, line: int) -> If:
        arms: list[tuple[list[Node] | None, list[Node]]] = []
        test = self._body(("then",))
        self._expect("then")
        arms.append((test, self._body(("elif", "else", "fi"))))
        while True:
            token = self._take()
            if token.text == "elif":
                test = self._body(("then",))
                self._expect("then")
                arms.append((test, self._body(("elif", "else", "fi"))))
            elif token.text == "else":
                arms.append((None, self._body(("fi",))))
            elif token.text == "fi":
                return If(arms, line)
            else:
                raise ReadError

    def _for_loop(self, line: int) -> Loop:
        name = self._take().text
        self._skip("\n", ";")
        words: list[str] = ['"$@"']
        if (token := self._look()) and token.text == "in":
            self._at += 1
            words = []
            while (token := self._look()) and not token.operator:
                words.append(self._take().text)
        self._expect("do")
        body = self._body(("done",))
        self._expect("done")
        return Loop(name, words, body, line)

    def _case(self, line: int) -> Case:
        word = self._take().text
        self._expect("in")
        arms: list[tuple[list[str], list[Node]]] = []
        while True:
            self._skip("\n", ";")
            token = self._take()
            if token.text == "esac":
                return Case(word, arms, line)
            if token.text == "(":
                token = self._take()
            patterns = [token.text]
            while (token := self._take()).text != ")":
                if token.text != "|":
                    patterns[-1] += token.text
                else:
                    patterns.append(self._take().text)
            arms.append((patterns, self._body(("esac",))))
            self._skip(";;", ";&", ";;&", "\n")


@functools.lru_cache(maxsize=256)
def parse(text: str) -> list[Node] | None:
    """Return a script's tree; None if it cannot be parsed."""
    try:
        return _Parser(tokens(text)).script()
    except (ReadError, RecursionError):
        return None


def line_of(node: Node) -> int:
    """Return the line where a command begins; 0 for an empty block."""
    match node:
        case Simple() | If() | Case() | Loop():
            return node.line
        case Chain():
            return line_of(node.parts[0][1])
        case Function() | Block():
            return line_of(node.body[0]) if node.body else 0
