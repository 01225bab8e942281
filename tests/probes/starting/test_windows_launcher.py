r"""Which Python ``py`` starts, in a folder that stands for C:\."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import prefix_among, python_of_line
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write

FOLDERS = {"310": r"C:\Users\ada\Python310", "312": r"C:\Python312", "39": r"C:\Python39"}
CONDA = r"C:\conda"
PROJECT = r"C:\project"
LOCAL = r"C:\Users\ada\AppData\Local"


def put(root: Path, path: str, content: str) -> None:
    write(root, path.replace("\\", "/"), content)


def started(root: Path, line: str, **env: str) -> str:
    """Return the python.exe that a line starts where 3.10, 3.12, 3.9 and conda's 3.13 are registered."""
    for digits, folder in FOLDERS.items():
        put(root, rf"{folder}\python{digits}.dll", "")
        put(root, rf"{folder}\python.exe", "")
    put(root, rf"{CONDA}\python313.dll", "")
    put(root, rf"{CONDA}\conda-meta\history", "")
    put(root, rf"{CONDA}\python.exe", "")
    its = request(root, system="windows", env={})
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), registered=(CONDA, *FOLDERS.values()))
    values = {"SystemRoot": r"C:\Windows", "LOCALAPPDATA": LOCAL, "Path": "", **env}
    state = State(dict(values), set(values), separator=";")
    found = python_of_line(line, Place("x"), state, ground)
    return found.path if found else ""


TWELVE, TEN, NINE = (rf"{FOLDERS[n]}\python.exe" for n in ("312", "310", "39"))


@pytest.mark.parametrize(
    ("line", "env", "expected"),
    [
        ("py train.py", {}, TWELVE),  # the newest; conda's is not the launcher's
        (r'"C:\Windows\py.exe" train.py', {}, TWELVE),
        (r"C:\project\train.py --fast", {}, TWELVE),  # Windows opens it with the launcher
        ("py -3.10 train.py", {}, TEN),
        ("py -3 train.py", {}, TWELVE),
        ("py -V:3.9 train.py", {}, NINE),
        ("py -3.11 train.py", {}, ""),
        ("pyw -3.9-64 train.py", {}, NINE),
        ("py train.py", {"PY_PYTHON": "3.9"}, NINE),
        ("py -3 train.py", {"PY_PYTHON3": "3.10"}, TEN),
        ("py -3.10 train.py", {"PY_PYTHON": "3.9"}, TEN),
        ("py nine.py", {}, NINE),
        ("py any.py", {}, TWELVE),
        ("py nine.py", {"VIRTUAL_ENV": r"C:\ml"}, r"C:\ml\Scripts\python.exe"),
        ("py -3.9 nine.py", {"VIRTUAL_ENV": r"C:\ml"}, NINE),
        ("py -m train", {}, TWELVE),
        ("py three.py", {"VIRTUAL_ENV": r"C:\ml"}, TWELVE),
        ("py any.py", {"VIRTUAL_ENV": r"C:\ml"}, r"C:\ml\Scripts\python.exe"),
    ],
)
def test_the_launcher_s_rules(line: str, env: dict[str, str], expected: str, tmp_path: Path) -> None:
    put(tmp_path, PROJECT + r"\nine.py", "#!/usr/bin/env python3.9\n")
    put(tmp_path, PROJECT + r"\any.py", "#! python\n")
    put(tmp_path, PROJECT + r"\three.py", "#!python3\n")
    put(tmp_path, r"C:\ml\Scripts\python.exe", "")
    assert started(tmp_path, line, **env) == expected


def test_the_person_s_py_ini_comes_before_the_machine_s(tmp_path: Path) -> None:
    put(tmp_path, r"C:\Windows\py.ini", "[commands]\npython=3.12\n[defaults]\npython=3.9\n")
    assert started(tmp_path, "py train.py") == NINE
    put(tmp_path, LOCAL + r"\py.ini", "[defaults]\r\npython = 3.10\r\n")
    assert started(tmp_path, "py train.py") == TEN


def test_a_started_python_is_that_of_an_environment(tmp_path: Path) -> None:
    its = request(tmp_path, system="windows", env={})
    put(tmp_path, r"C:\Python312\python312.dll", "")
    put(tmp_path, r"C:\Python312\python.exe", "")
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), registered=(r"C:\Python312",))
    found = python_of_line("py train.py", Place("x"), State({}, set(), separator=";"), ground)
    assert found
    assert found.arguments == ("train.py",)
    assert prefix_among(found, (PythonEnvironment(prefix=r"C:\Python312"),)) == r"C:\Python312"
