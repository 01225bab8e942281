r"""Lines of Windows that set PATH, and the folder that is put in front: a batch file's, a setting's."""

from __future__ import annotations

import pytest

from core.host.startup.edit import Edit, edit_text
from core.model.changes import ChangeError
from core.model.facts import LineForm

FOLDER = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\bin"


def edited(text: str, form: LineForm, line: int, folder: str = FOLDER) -> str:
    return edit_text(text, Edit(form=form, line=line, name="Path", front=(folder,), separator=";"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r"set PATH=C:\a", rf"set PATH={FOLDER};C:\a"),
        (r'@set "PATH=C:\a;%PATH%"', rf'@set "PATH={FOLDER};C:\a;%PATH%"'),
        (r"set Path=", f"set Path={FOLDER}"),
    ],
)
def test_a_folder_is_put_in_front_of_what_a_batch_file_sets(before: str, after: str) -> None:
    assert edited(f"@echo off\r\n{before}\r\npython x.py\r\n", "cmd", 2) == f"@echo off\r\n{after}\r\npython x.py\r\n"


def test_a_folder_is_put_in_front_of_a_setting() -> None:
    text = '{\n "env": {\n  "PATH": "C:\\\\a",\n }\n}\n'
    assert '"PATH": "' + FOLDER.replace("\\", "\\\\") + ';C:\\\\a"' in edited(text, "json", 3)


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        (r"set PATH=C:\a& python x.py", FOLDER),
        (r"set PATH=C:\a", r"C:\100%\bin"),
        (r"set PATH=C:\a", r"C:\a;C:\b"),
        (r"set CUDA=C:\a", FOLDER),
        (r"set PATH=C:\a", r"C:\Users\Jörg\bin"),
    ],
    ids=["two commands", "a sign of cmd's", "two folders", "another variable", "letters of a code page"],
)
def test_what_is_no_plain_assignment_is_left_to_the_person(line: str, folder: str) -> None:
    with pytest.raises(ChangeError):
        edited(f"@echo off\n{line}\n", "cmd", 2, folder)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("set SEED=42 & python x.py", "42", 'set "SEED=42"& python x.py'),
        ('@set "SEED=4&2" && python x.py', "42", '@set "SEED=42"& python x.py'),
        ("set SEED=42 & python x.py", "", "python x.py"),
        ("@set seed=42& set OTHER=1& python x.py", "", "@set OTHER=1& python x.py"),
        ("set SEED=42 ", "42", "set SEED=42"),
        ('set SEED="42"', "42", 'set "SEED=42"'),
        ('@set seed="4&2" ', "42", '@set "seed=42"'),
        ('set SEED="42"', "", 'rem set SEED="42"'),
    ],
)
def test_a_value_that_another_command_follows_is_set_right_or_goes_alone(before: str, value: str, after: str) -> None:
    edit = Edit(form="cmd", line=2, name="SEED", value=value, separator=";")
    assert edit_text(f"@echo off\r\n{before}\r\n", edit) == f"@echo off\r\n{after}\r\n"


@pytest.mark.parametrize(
    "line", ["set SEED=42 || python x.py", "set SEED=42 ^& 43& python x.py", "set SEED=42 &", "if a==b set SEED=42& x"]
)
def test_what_is_not_surely_two_commands_is_left_to_the_person(line: str) -> None:
    with pytest.raises(ChangeError):
        edit_text(f"{line}\r\n", Edit(form="cmd", line=1, name="SEED", separator=";"))
