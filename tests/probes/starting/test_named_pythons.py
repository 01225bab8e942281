"""The lines of settings that name a Python: those that an edit would change, and where none may be."""

from __future__ import annotations

import pytest

from core.host.startup.edit import Edit, edit_text
from core.model.changes import ChangeError
from core.model.facts import INTERPRETER
from core.probes.starting.commands.named_pythons import lines_naming

OLD, NEW = "/usr/bin/python3", "/home/ada/env/bin/python"
SPYDER = "[main_interpreter]\ncustom = True\ncustom_interpreters_list = ['/usr/bin/python3']\ncustom_interpreter = /usr/bin/python3\nexecutable = /usr/bin/python3\n"


@pytest.mark.parametrize(
    ("file", "text", "lines", "after"),
    [
        ("kernel.json", '{\n "argv": ["/usr/bin/python3", "-m", "x"]\n}', (2,), '{\n "argv": ["/home/ada/env/bin/python", "-m", "x"]\n}'),
        ("settings.json", '{\n // "/usr/bin/python3" before\n "python.defaultInterpreterPath": "/usr/bin/python3", // mine\n}', (3,), '{\n // "/usr/bin/python3" before\n "python.defaultInterpreterPath": "/home/ada/env/bin/python", // mine\n}'),
        ("launch.json", '{"a": {"python": "/usr/bin/python3"}, "b": {"python": "/usr/bin/python3"}}', (), ""),
        ("package.json", '{"start": "/usr/bin/python3 main.py"}', (), ""),
        ("x.service", "[Service]\n# /usr/bin/python3\nExecStart=-/usr/bin/python3 /srv/main.py\n", (3,), "[Service]\n# /usr/bin/python3\nExecStart=-/home/ada/env/bin/python /srv/main.py\n"),
        ("x.service", "[Service]\nExecStart=/usr/bin/python3.11 /srv/main.py\n", (), ""),
        ("x.service", "[Service]\nExecStartPre=/usr/bin/python3 a.py\nExecStart=/usr/bin/python3 b.py\n", (), ""),
        ("x.service", "[Service]\nEnvironment=P=/usr/bin/python3\nExecStart=/srv/run.sh\n", (), ""),
        ("spyder.ini", SPYDER, (4, 5), SPYDER.replace("= /usr/bin/python3", "= /home/ada/env/bin/python")),
        ("x.service", "[Service]\nExecStartPre=/usr/bin/python3 a.py\nExecStart=/srv/run.sh\n", (), ""),
        ("run.sh", "/usr/bin/python3 main.py\n", (), ""),
    ],
)  # fmt: skip
def test_the_lines_that_name_a_python(file: str, text: str, lines: tuple[int, ...], after: str):
    found = lines_naming(OLD, f"/home/ada/{file}", text)
    assert [row.line for row in found] == [*lines]
    for row in found:
        assert (row.name, row.value) == (INTERPRETER, OLD)
        text = edit_text(text, Edit(form=row.form, line=row.line, name=row.name, entry=row.value, value=NEW))
    assert not found or text == after


@pytest.mark.parametrize(("line", "new"), [(2, NEW), (1, "/home/ada/my env/bin/python"), (1, "")])
def test_a_line_that_is_another_one_is_left(line: int, new: str):
    text = "ExecStart=/usr/bin/python3 main.py\nExecStart=/usr/bin/python3 /usr/bin/python3\n"
    with pytest.raises(ChangeError):
        edit_text(text, Edit(form="systemd", line=line, name=INTERPRETER, entry=OLD, value=new))


def test_a_bare_name_is_a_python_in_a_command_alone():
    assert lines_naming("python", "/w/launch.json", '{"type": "python"}') == ()
    assert lines_naming("python", "/h/x.ini", "[editor]\nlanguage = python\n") == ()
    (row,) = lines_naming("python3", "/h/x.service", "[Service]\nExecStart=/usr/bin/env python3 main.py\n")
    assert row.line == 2
