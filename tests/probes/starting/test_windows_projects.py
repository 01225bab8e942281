r"""What VS Code's tasks and PyCharm's run configurations start on Windows, in a folder that stands for C:\."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting.machine import ground_of
from core.probes.starting.ways import Reached
from core.probes.starting.windows.projects import launching_ways, pm2_ways, project_ways
from core.probes.starting.windows.ways import windows_ways
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
    return list(project_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(ML,))))


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


# --- what programs start -------------------------------------------------------------------------------------------------


def launched(root: Path) -> list[Reached]:
    its = request(root, system="windows", env=ENV)
    return list(launching_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(ML,))))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("main.py", "import subprocess\nsubprocess.run([r'..\\tools\\Scripts\\python.exe', 'train.py'])\n"),
        ("main.py", "import subprocess\nsubprocess.run(r'..\\tools\\Scripts\\python.exe train.py', shell=True)\n"),
        ("main.js", "const { spawn } = require('child_process');\nspawn('..\\\\tools\\\\Scripts\\\\python.exe', ['train.py']);\n"),
        ("package.json", r'{"scripts": {"start": "..\\tools\\Scripts\\python.exe train.py"}}'),
        ("main.py", "import subprocess\nsubprocess.run(['python', 'train.py'])\n"),
    ],
)  # fmt: skip
def test_a_program_that_starts_a_python_without_what_its_script_imports(machine: Path, name: str, text: str) -> None:
    put(machine, r"C:\Python311\python.exe")
    put(machine, rf"C:\project\{name}", text)
    ((run,),) = [way.runs for way in launched(machine)]
    assert (run.lacks, run.seems, run.sure) == (("torch",), r"C:\ml", True)


@pytest.mark.parametrize("folder", [".venv", "other"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.poe.tasks]\ntrain = "python train.py"\n'),
        ("pyproject.toml", '[tool.taskipy.tasks]\ntrain = { cmd = "python train.py" }\n'),
        ("pyproject.toml", '[tool.pdm.scripts]\ntrain = { cmd = "python train.py" }\n'),
        ("hatch.toml", '[envs.default]\npath = ".venv"\n[envs.default.scripts]\ntrain = "python train.py"\n'),
    ],
)
def test_a_task_of_the_projects_own_file(machine: Path, name: str, text: str, folder: str) -> None:
    """It runs in .venv, or by PATH where there is none; which environment has the package, the way tells."""
    put(machine, rf"C:\project\{folder}\Scripts\python.exe")
    put(machine, rf"C:\project\{folder}\pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.9\n")
    put(machine, r"C:\tools\Scripts\python.exe")
    put(machine, rf"C:\project\{name}", text)
    its = request(machine, system="windows", env={**ENV, "Path": r"C:\tools\Scripts;C:\Windows\System32"})
    found = list(launching_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(ML,))))
    python = r"C:\project\.venv" if folder == ".venv" else r"C:\tools"
    assert [(w.at, [(r.path, r.lacks, r.seems) for r in w.runs]) for w in found] == [
        (rf"C:\project\{name}: train", [(rf"{python}\Scripts\python.exe", ("torch",), r"C:\ml")])
    ]


@pytest.mark.parametrize(
    ("interpreter", "lacks"), [("../tools/Scripts/python.exe", ("torch",)), (PYTHON.replace("\\", "/"), ())]
)
def test_a_program_that_pm2_keeps_running(machine: Path, interpreter: str, lacks: tuple[str, ...]) -> None:
    app = f"{{ name: 'a', script: 'train.py', interpreter: '{interpreter}', cwd: __dirname, env: {{ A: 'b' }} }}"
    put(machine, r"C:\project\ecosystem.config.js", f"module.exports = {{ apps: [{app}] }};\n")
    its = request(machine, system="windows", env=ENV)
    (way,) = pm2_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(ML,)))
    assert (way.at, way.state.values["A"]) == (r"C:\project\ecosystem.config.js: a", "b")
    assert tuple(name for one in way.runs for name in one.lacks) == lacks


def test_variables_that_a_program_gives_what_it_starts(machine: Path) -> None:
    text = f"import subprocess\nsubprocess.run([{PYTHON!r}, 'train.py'], env={{'PATH': r'C:\\Windows'}})\n"
    put(machine, r"C:\project\main.py", text)
    (way,) = launched(machine)
    assert (way.prefix, way.state.values.get("Path", way.state.values.get("PATH"))) == (r"C:\ml", r"C:\Windows")
    assert "SystemRoot" not in way.state.values


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['python', 'train.py'], shell=True)\n",
        "import subprocess\nimport sys\nsubprocess.run([sys.executable, 'train.py'])\n",
        "import subprocess\nsubprocess.run(['python', '--version'])\n",
    ],
)
def test_a_shell_and_its_own_python_have_what_is_active(machine: Path, text: str) -> None:
    put(machine, r"C:\Python311\python.exe")
    put(machine, r"C:\project\main.py", text)
    assert [way.runs for way in launched(machine) if way.runs] == []


# --- managers of environments --------------------------------------------------------------------------------------------


def managed(root: Path, line: str) -> list[Reached]:
    put(root, r"C:\project\run.bat", f"@echo off\n{line}\n")
    its = request(root, system="windows", env={**ENV, "LOCALAPPDATA": r"C:\Users\ada\AppData\Local"})
    found = windows_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(ML,)))
    return [w for w in found if w.kind == "script"]


def beside(root: Path, prefix: str, *, project: str = '[project]\nname = "project"\n') -> None:
    put(root, rf"{prefix}\Scripts\python.exe")
    put(root, rf"{prefix}\pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.9\n")
    put(root, r"C:\project\pyproject.toml", project)


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("uv run train.py", r"C:\project\.venv"),
        ("uv run --extra gpu python -u train.py", r"C:\project\.venv"),
        ("pdm run python train.py", r"C:\project\.venv"),
        (
            "poetry run python train.py",
            r"C:\Users\ada\AppData\Local\pypoetry\Cache\virtualenvs\project-{digest}-py3.11",
        ),
    ],
)
def test_a_manager_runs_the_projects_own_environment(machine: Path, line: str, prefix: str) -> None:
    digest = base64.urlsafe_b64encode(hashlib.sha256(rb"c:\project").digest()).decode()[:8]
    beside(machine, prefix.format(digest=digest))
    ((run,),) = [way.runs for way in managed(machine, line)]
    assert (run.prefix, run.lacks, run.seems) == (prefix.format(digest=digest), ("torch",), r"C:\ml")


@pytest.mark.parametrize(
    ("line", "project"),
    [
        ("uv run train.py", '[project]\nname = "project"\ndependencies = ["torch"]\n'),
        ("uv run --with torch train.py", '[project]\nname = "project"\n'),
        ("uv sync", '[project]\nname = "project"\n'),
    ],
)
def test_uv_may_install_what_is_lacking(machine: Path, line: str, project: str) -> None:
    beside(machine, r"C:\project\.venv", project=project)
    assert not any(way.runs for way in managed(machine, line))


def test_uv_gives_a_program_what_its_own_metadata_list(machine: Path) -> None:
    put(machine, r"C:\project\train.py", "# /// script\n# dependencies = []\n# ///\nimport torch\n")
    ((run,),) = [way.runs for way in managed(machine, "uv run train.py")]
    assert (run.fault, run.lacks) == ("own packages", ("torch",))
