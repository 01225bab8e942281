"""Commands to copy: each argument arrives as it is, in the shell that the command is for."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.common.shell import quote, shell_command

HOSTILE = (
    "two words",
    "it's",
    'a "quoted" name',
    "$(touch hole)",
    "`touch hole`",
    "a;touch hole",
    "a\ntouch hole\n#",
    "a\nb\n",
    "tab\there",
    "$HOME ${HOME} %s %n \\n \\",
    "a&b|c>d<e",
    "*?[a-z]{a,b}",
    "~",
    "!!",
    "#",
    "-rf",
    "=ls",
    "<b>bold</b>",
    "\x1b[31mred",
    "\u202egnp.exe",
    "naïve 名",
)


def arguments(line: str, shell: str) -> list[bytes]:
    """Return what a shell makes of a line of words."""
    done = subprocess.run([shell, "-c", f"set -- {line}; printf '%s\\0' \"$@\""], capture_output=True, check=True)
    return done.stdout.split(b"\0")[:-1]


@pytest.mark.skipif(sys.platform == "win32", reason="shells of Linux")
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_every_hostile_name_arrives_as_one_argument(shell: str) -> None:
    words = ("chmod", "--", *HOSTILE)
    assert arguments(shell_command(*words), shell) == [w.encode() for w in words]
    assert all("\n" not in quote(w) for w in HOSTILE if not w.endswith("\n"))


@pytest.mark.skipif(sys.platform == "win32", reason="shells of Linux")
@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=8
    )
)
def test_any_words_arrive(words: list[str]) -> None:
    assert arguments(shell_command(*words), "sh") == [w.encode() for w in words]


def test_a_plain_name_stays_plain() -> None:
    assert shell_command("sudo", "chmod", "-R", "a+rX", "/usr/lib/x86_64-linux-gnu", "") == (
        "sudo chmod -R a+rX /usr/lib/x86_64-linux-gnu"
    )
    assert shell_command(r"C:\Python\python.exe", "torch==2.9", of="cmd") == r"C:\Python\python.exe torch==2.9"


def runtime(line: str) -> list[str]:
    """Split a command line as Microsoft's C runtime does ("Parsing C command-line arguments")."""
    found: list[str] = []
    word, inside, started, i = "", False, False, 0
    while i < len(line):
        count = len(line[i:]) - len(line[i:].lstrip("\\"))
        if line[i + count : i + count + 1] == '"':
            word += "\\" * (count // 2)
            i += count
            if count % 2:
                word += '"'
            else:
                inside, started = not inside, True
        elif count:
            word += "\\" * count
            i += count - 1
        elif line[i] == " " and not inside:
            if word or started:
                found.append(word)
            word, started = "", False
        else:
            word += line[i]
        i += 1
    return [*found, word] if word or started else found


def command_prompt(line: str, variables: dict[str, str]) -> str:
    """Return the line that cmd.exe hands on: variables filled in, then carets and operators outside quotes."""
    for name, value in variables.items():
        line = line.replace(f"%{name}%", value)
    out, inside, i = "", False, 0
    while i < len(line):
        c = line[i]
        inside ^= c == '"'
        if c == "^" and not inside:
            i += 1
            c = line[i]
        assert inside or c not in "&|<>();," or line[i - 1] == "^", line
        out += c
        i += 1
    return out


@pytest.mark.parametrize("folder", ["C:\\a b\\", "C:\\a&b^c", "C:\\50%USERNAME%\\x", "C:\\%PATH%", "C:\\a,b;c(1)", "%"])
def test_a_folder_of_windows_arrives_at_a_program(folder: str) -> None:
    line = shell_command("x.exe", folder, "end", of="cmd")
    assert runtime(command_prompt(line, {"USERNAME": "ada & del", "PATH": '"'})) == ["x.exe", folder, "end"]


def test_powershell_takes_no_variable_and_no_quote_of_any_kind() -> None:
    assert quote(r"C:\it's\$env:X", "powershell") == r"'C:\it''s\$env:X'"
    assert quote("a\u2019b", "powershell") == "'a\u2019\u2019b'"
