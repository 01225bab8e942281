"""An interpreter that a line is to name is started before the line is edited: it has to import what the program asks for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.host.linux.host import LinuxHost
from core.model.changes import EditLine
from core.model.facts import INTERPRETER, Start, StartedPython
from core.rehearsal.interpreters import import_problem
from tests.machines import wheel_machine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Linux' host")


@pytest.mark.parametrize(
    ("name", "lacks", "argv", "says"),
    [
        (INTERPRETER, ("json",), (), ""),
        (INTERPRETER, ("json", "torch_of_nobody"), (), "does not import json and torch_of_nobody: ModuleNotFoundError"),
        (INTERPRETER, (), ("python3", "-m", "kernel_of_nobody", "-f", "x"), "No module named 'kernel_of_nobody'"),
        ("LD_LIBRARY_PATH", ("torch_of_nobody",), (), ""),
    ],
)
def test_what_it_does_not_import(name: str, lacks: tuple[str, ...], argv: tuple[str, ...], says: str):
    python = str(Path(sys.executable))
    one = StartedPython(name="python3", path="/usr/bin/python3", prefix="/usr", seems="/e", why="imports", lacks=lacks)
    starts = (Start(id="notebook:k", kind="notebook", at="k", argv=argv, runs=(one,)),)
    seen = replace(wheel_machine(), starts=starts)
    change = EditLine(
        path="/k", form="json", line=1, name=name, entry="/usr/bin/python3", value=python, starts=("notebook:k",)
    )
    problem = import_problem((change,), seen, LinuxHost(), Progress())
    assert says in problem
    assert bool(problem) is bool(says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("raise SystemExit('it ran')\n", ""),
        ("print 'of Python 2'\n", "SyntaxError"),
        (None, "No such file or directory"),
    ],
)
def test_the_program_is_read_and_not_run(tmp_path: Path, text: str | None, says: str):
    program = tmp_path / "main.py"
    if text is not None:
        program.write_text(text)
    one = StartedPython(
        name="python3", path="/usr/bin/python3", prefix="/usr", seems="/e", why="imports", program=str(program)
    )
    starts = (Start(id="service:s", kind="service", at="s", runs=(one,)),)
    change = EditLine(
        path="/s",
        form="systemd",
        line=1,
        name=INTERPRETER,
        entry="/usr/bin/python3",
        value=sys.executable,
        starts=("service:s",),
    )
    problem = import_problem((change,), replace(wheel_machine(), starts=starts), LinuxHost(), Progress())
    assert says in problem
    assert bool(problem) is bool(says)
