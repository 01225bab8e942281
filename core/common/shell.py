"""Commands that a person copies: every argument quoted for the shell that the command is for."""

from __future__ import annotations

import re
import shlex
from typing import Literal

from core.common.text import printable

Shell = Literal["sh", "cmd", "powershell"]

_PLAIN = {
    "sh": re.compile(r"[\w@%+=:,./-]+", re.ASCII),
    # "~" occurs in short names (PROGRA~1); a comma or a semicolon separates arguments there
    "cmd": re.compile(r"[\w@+=:./\\~-]+", re.ASCII),
    "powershell": re.compile(r"[\w+:./\\][\w+:./\\-]*", re.ASCII),
}
_QUOTES = "'\u2018\u2019\u201a\u201b"
"""The characters that PowerShell treats as a single quote (about_Quoting_Rules, and the language's specification, 2.3.5.2)."""


def shell_of(system: str) -> Shell:
    """Return the default shell of a system: commands are written for it unless the text says otherwise."""
    return "cmd" if system == "windows" else "sh"


def shell_command(*words: str, of: Shell = "sh") -> str:
    """Return a command of these words, each of which arrives as one argument; empty ones are left out."""
    return " ".join(quote(word, of) for word in words if word)


def quote(argument: str, shell: Shell = "sh") -> str:
    """Return a text as one argument, on one line wherever the shell can express that."""
    if _PLAIN[shell].fullmatch(argument) and not (shell == "sh" and argument.startswith("=")):
        return argument
    if shell == "powershell":
        return "'" + re.sub(f"([{_QUOTES}])", r"\1\1", argument) + "'"
    return _for_cmd(argument) if shell == "cmd" else _for_sh(argument)


def _for_sh(argument: str) -> str:
    if argument.endswith("\n"):  # $() drops a final line feed: two lines are better than a wrong name
        return shlex.quote(argument)
    if printable(argument) != argument or "\n" in argument or "\t" in argument:
        # one line that can be read and copied, in every sh: $'...' is bash's and zsh's alone
        return f'"$(printf {shlex.quote("".join(map(_for_printf, argument)))})"'
    return f'"{argument}"' if not re.search(r'["$`\\!]', argument) else shlex.quote(argument)


def _for_printf(c: str) -> str:
    if c.isascii() and c.isprintable():
        return {"%": "%%", "\\": "\\\\"}.get(c, c)
    return "".join(f"\\{byte:03o}" for byte in c.encode("utf-8", "surrogateescape"))


def _for_cmd(argument: str) -> str:
    r"""Quote for cmd.exe and for the C runtime, which takes \" as a quote.

    A percent sign goes outside the quotes, after a caret: %"NAME"^% is not a variable reference, so cmd leaves it
    unchanged.
    """
    text = re.sub(r'(?<!\\)(\\*)"', r"\1\1\\" + '"', argument)
    text = re.sub(r"(\\+)(?=%|\Z)", r"\1\1", text)
    return '"' + text.replace("%", '"^%"') + '"'
