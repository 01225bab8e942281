"""Conditions of a POSIX shell: ``test``, ``[``, ``[[``, and whether a command is there. Nothing is run.

After POSIX.1-2017, "test", and bash(1), "CONDITIONAL EXPRESSIONS".
"""

from __future__ import annotations

import fnmatch
import posixpath
import re

import msgspec

from core.host.startup.expansion import ShellWords
from core.host.startup.state import UNKNOWN
from core.host.startup.syntax import Node


class ShellTests(ShellWords):
    """Words, and what a condition says of them; None where reading does not decide it."""

    _functions: dict[str, list[Node]] = msgspec.field(default_factory=dict)

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
        if operator in ("-f", "-r", "-s", "-d", "-e", "-x", "-a") and not value.startswith("/"):
            value = posixpath.join(self.state.values.get("PWD", ""), value)
            if UNKNOWN in value:
                return None
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


def _compare(left: str, operator: str, right: str) -> bool | None:
    if not (re.fullmatch(r"-?\d{1,9}", left.strip()) and re.fullmatch(r"-?\d{1,9}", right.strip())):
        return None
    one, two = int(left), int(right)
    return {
        "-eq": one == two, "-ne": one != two, "-lt": one < two, "-le": one <= two, "-gt": one > two, "-ge": one >= two
    }[operator]  # fmt: skip
