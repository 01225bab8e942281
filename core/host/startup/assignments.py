"""What the declarations and assignments of a POSIX shell make of its variables, and of bash's and zsh's arrays. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.host.startup.conditions import ShellTests
from core.host.startup.state import UNKNOWN, at_most
from core.host.startup.syntax import NAME, ReadError, Token, tokens
from core.host.startup.zsh_arrays import QUALIFIER, is_as_qualified, qualifiers_marked

ASSIGNMENT = late_pattern(rf"({NAME})(\+?)=(.*)\Z", re.DOTALL)


class ShellAssignments(ShellTests):
    """Words and conditions, and the variables that a line sets."""

    _exports_all: bool = False
    """After ``set -a``."""

    def _give(self, name: str, value: str, line: int) -> None:
        self.state.set_variable(name, value, self._file, line, "posix")
        if self._exports_all:
            self.state.exported.add(name)

    def _declare(self, command: str, words: list[Token], line: int) -> bool:
        exports, last = command == "export", ""
        if self.shell == "zsh":
            self._declare_arrays([w.text for w in words])
        for word in words:
            text = word.text
            if last and not re.match(r"[A-Za-z_]\w*(?:\+?=|$)", text) and re.fullmatch(r"[\w./:=,+~-]+", text):
                self.state.cut_off(last, text)  # "not a valid identifier"
                continue
            if text.startswith(("-", "+")):
                exports = exports or ("x" in text and text.startswith("-"))
                if command == "export" and "n" in text:
                    exports = False
                continue
            found = ASSIGNMENT.match(text)
            if found is None:
                name = self.expand(text)
                if exports and UNKNOWN not in name:
                    self._export(name, line)
                elif command == "export":
                    self.state.exported.discard(name)
                continue
            self._set(found[1], self._assigned(found[1], found[2], found[3]), word.line)
            last = found[1]
            if exports:
                self.state.exported.add(found[1])
        return True

    def _declare_arrays(self, texts: list[str]) -> None:
        """Tie arrays to variables (-T), and keep each of their words once (-U)."""
        options = "".join(t for t in texts if t.startswith("-"))
        names = [self.expand(t) for t in texts if not t.startswith(("-", "+"))]
        if "T" in options and names:
            self._zsh.tie(names)
        if "U" in options:
            self._zsh.keep_once(n.partition("=")[0] for n in names)

    def _export(self, name: str, line: int) -> None:
        if name in self.state.values and name not in self.state.exported and not self.state.lines.get(name):
            self._give(name, self.state.values[name], line)
        self.state.exported.add(name)

    def _assigned(self, name: str, plus: str, raw: str) -> str:
        if raw.startswith("(") and raw.endswith(")"):  # An array: zsh ties path to PATH.
            words = self._words_of_array(raw[1:-1])
            if self._is_tied(name):
                return self._zsh.joined(name, [*(self.array(name) or () if plus else ()), *words])
            self._arrays[name] = [*at_most((*(self._arrays.get(name, ()) if plus else ()), *words))]
            return ":".join(words)
        value = self.expand(raw, tilde=True)
        if self._is_tied(name):
            return self._zsh.joined(name, [*(self.array(name) or () if plus else ()), value])
        return self.state.values.get(name, "") + value if plus else value

    def _words_of_array(self, text: str) -> list[str]:
        if self.shell != "zsh":
            return [*at_most(w for t in _array(text) for w in self.words(t))]
        return [*at_most(self._qualified_words(text))]

    def _qualified_words(self, text: str) -> Iterator[str]:
        for each in _array(qualifiers_marked(text)):
            word, marked, asked = each.partition(QUALIFIER)
            yield from (w for w in self.words(word) if not marked or is_as_qualified(self.around.kind(w), asked))

    def _placed(self, name: str, index: str, raw: str) -> str:
        """Return what a tied array's variable holds after ``name[index]=word``; only a word put before all others is followed."""
        if index != "1,0":
            return UNKNOWN
        return self._zsh.joined(name, [self.expand(raw, tilde=True), *(self.array(name) or ())])

    def _is_tied(self, name: str) -> bool:
        return self.shell == "zsh" and name in self._zsh.ties

    def _set(self, name: str, value: str, line: int) -> None:
        if self._is_tied(name):
            name = self._zsh.ties[name].scalar
        self._give(name, self._zsh.once(name, value) if self.shell == "zsh" else value, line)


def _array(text: str) -> list[str]:
    try:
        return [t.text for t in tokens(text) if not t.operator]
    except ReadError:
        return [UNKNOWN]
