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
