r"""What VS Code's tasks and PyCharm's run configurations start on Windows, in a folder that stands for C:\."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting.machine import ground_of
from core.probes.starting.ways import Reached
from core.probes.starting.windows.projects import project_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write

ENV = {"USERPROFILE": r"C:\Users\ada", "Path": r"C:\Windows\System32", "SystemRoot": r"C:\Windows"}
ML = PythonEnvironment(
    prefix=r"C:\ml", kind="venv", site_packages=(r"C:\ml\Lib\site-packages",), distributions=(Distribution(name="torch", version="2.6.0"),)
)  # fmt: skip
PYTHON, OTHER = r"C:\ml\Scripts\python.exe", r"C:\tools\Scripts\python.exe"
TASKS, WORKSPACE = r"C:\project\.vscode\tasks.json", r"C:\project\.idea\workspace.xml"


def put(root: Path, path: str, content: str = "") -> None:
    write(root, path.replace("\\", "/"), content)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for name in ("ml", "tools"):
        put(tmp_path, rf"C:\{name}\Scripts\python.exe")
        put(tmp_path, rf"C:\{name}\pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.9\n")
    put(tmp_path, r"C:\Python311\Lib\os.py")
    put(tmp_path, r"C:\Python311\python311.dll")
    put(tmp_path, r"C:\ml\Lib\site-packages\torch\__init__.py")
    put(tmp_path, r"C:\project\train.py", "import torch\n")
    return tmp_path


def ways(root: Path) -> list[Reached]:
    its = request(root, system="windows", env=ENV)
    return list(project_ways(ground_of(its, sysroot_of(its.host), r"C:\project"), (ML,)))


def task(root: Path, **row: object) -> None:
    put(root, TASKS, json.dumps({"version": "2.0.0", "tasks": [{"label": "train", **row}]}))


@pytest.mark.parametrize(
    "row",
    [
        {"type": "process", "command": PYTHON, "args": ["train.py"]},
        {"type": "shell", "command": PYTHON, "args": ["train.py"]},
        {"type": "shell", "command": rf"& '{PYTHON}' train.py"},
        {"type": "shell", "command": r"${workspaceFolder}\..\ml\Scripts\python.exe", "args": ["train.py"]},
        {"type": "process", "command": "/usr/bin/python3", "windows": {"command": PYTHON}, "args": ["train.py"]},
    ],
)
def test_a_task_of_vscode_leads_to_its_environment(machine: Path, row: dict[str, object]) -> None:
    task(machine, **row, options={"env": {"PATH": r"${workspaceFolder}\bin;${env:Path}", "A": "1"}})
    (way,) = ways(machine)
    assert (way.prefix, way.at) == (ML.prefix, f"{TASKS}: train")
    assert way.state.environment()["Path"] == r"C:\project\bin;C:\Windows\System32"
    assert way.state.environment()["A"] == "1"


@pytest.mark.parametrize(
    "command", ["${command:python.interpreterPath}", r"D:\ml\Scripts\python.exe", "npm", r".venv\Scripts\python.exe"]
)
def test_a_command_that_leads_to_no_python_of_this_machine_is_no_way(machine: Path, command: str) -> None:
    task(machine, type="process", command=command, args=["train.py"])
    assert ways(machine) == []


def test_a_task_whose_python_lacks_what_its_program_imports_is_told(machine: Path) -> None:
    task(machine, type="process", command=OTHER, args=["train.py"])
    (way,) = ways(machine)
    assert [(one.prefix, one.seems, one.lacks) for one in way.runs] == [(r"C:\tools", ML.prefix, ("torch",))]


def configuration(python: str, **options: str) -> str:
    rows = "".join(f'<option name="{n}" value="{v}" />' for n, v in {"SDK_HOME": python, **options}.items())
    return (
        '<project><component name="RunManager"><configuration name="train" type="PythonConfigurationType">'
        f'<envs><env name="PATH" value="C:\\only" /></envs>{rows}</configuration></component></project>'
    )


@pytest.mark.parametrize(
    "file", [WORKSPACE, r"C:\project\.run\train.run.xml", r"C:\project\.idea\runConfigurations\train.xml"]
)
def test_a_run_configuration_of_pycharm_leads_to_its_environment(machine: Path, file: str) -> None:
    put(machine, file, configuration(PYTHON, SCRIPT_NAME="$PROJECT_DIR$/train.py", WORKING_DIRECTORY="$PROJECT_DIR$"))
    (way,) = ways(machine)
    assert (way.prefix, way.state.environment()["Path"], way.runs) == (ML.prefix, r"C:\only", ())


def test_a_run_configuration_whose_python_lacks_the_framework_is_told(machine: Path) -> None:
    put(machine, WORKSPACE, configuration(OTHER, SCRIPT_NAME="$PROJECT_DIR$/train.py"))
    (way,) = ways(machine)
    assert [(one.seems, one.lacks) for one in way.runs] == [(ML.prefix, ("torch",))]
