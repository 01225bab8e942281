r"""``set`` and %NAME% as cmd.exe reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.probes.starting.windows.batch_variables import Assignment, assignment, expanded_line, foreign_assignment

VALUES = {"PATH": r"C:\a;C:\b", "N": "abcdef", "VAR ": "x"}


def value_of(name: str) -> str | None:
    return next((v for n, v in VALUES.items() if n.upper() == name.upper()), None)


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("set A=1", "A", "1"),
        ("SET A=1 ", "A", "1 "),
        ("set A = 1", "A ", " 1"),
        ('set "A=1"', "A", "1"),
        ('set "A=1" rest', "A", "1"),
        ('set "A=1 "', "A", "1 "),
        ('set A="1"', "A", '"1"'),
        ('set "A="1""', "A", '"1"'),
        ('set"A=1"', "A", "1"),
        ("set A=b=c", "A", "b=c"),
        ("set A=", "A", ""),
        ("set A=1>nul", "A", "1"),
        ("set A=1 2>nul", "A", "1 "),
        ("set A=a^&b", "A", "a&b"),
        (r"set A=C:\Program Files (x86)\x", "A", r"C:\Program Files (x86)\x"),
    ],
)
def test_what_a_line_assigns(command: str, name: str, value: str) -> None:
    assert assignment(command) == Assignment(name, value)


@pytest.mark.parametrize("command", ["set", "set A", "settings A=1", "setlocal", "set =1", 'set "', "echo set A=1"])
def test_what_assigns_nothing(command: str) -> None:
    assert assignment(command) is None


@pytest.mark.parametrize("command", ["set /a A=1+2", 'set /a "A=1+2"', "set /p A=Which? ", "set /a A+=1"])
def test_what_is_computed_or_asked_for_is_open(command: str) -> None:
    its = assignment(command)
    assert its is not None
    assert (its.name, its.open) == ("A", True)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("%path%;x", r"C:\a;C:\b;x"),
        ("%NOTHING%x", "x"),
        ("%VAR %", "x"),
        ("%N:~1,2%", "bc"),
        ("%N:~-2%", "ef"),
        ("%N:~0,-4%", "ab"),
        ("%N:cd=%", "abef"),
        ("%N:*c=X%", "Xdef"),
        ("%1 %* %~dp0 %%i", "%1 %* %~dp0 %%i"),
        ("100% of it", "100 of it"),
    ],
)
def test_what_a_line_comes_to(text: str, expanded: str) -> None:
    assert expanded_line(text, value_of) == expanded


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("export PATH=/x:$PATH", ("PATH", "/x:$PATH", "cmd")),
        ("$env:CUDA_PATH = 'C:\\c'", ("CUDA_PATH", "C:\\c", "cmd")),
        ('setx HF_HOME "D:\\my models"', ("HF_HOME", "D:\\my models", "setx")),
        ("setx /M HF_HOME D:\\models >nul", ("HF_HOME", "D:\\models", "setx")),
        ("set A=1", ("", "", "setx")),
    ],
)
def test_an_assignment_in_another_shells_language(command: str, told: tuple[str, str, str]) -> None:
    assert foreign_assignment(command) == told


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(expanded_line(text, value_of), str)
    assert foreign_assignment(text) is not None
    its = assignment(f"set {text}")
    assert its is None or its.name
