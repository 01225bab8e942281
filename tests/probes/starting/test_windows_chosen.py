r"""Pythons on Windows that an editor's settings, a kernel or a batch file choose, and that lack what the program imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment, StartedPython
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write

ENV = {
    "APPDATA": r"C:\Users\ada\AppData\Roaming",
    "USERPROFILE": r"C:\Users\ada",
    "PATH": r"C:\Windows\System32;C:\other",
    "SystemRoot": r"C:\Windows",
}
PROJECT = "C:\\lab\\project"
TOOLS = "C:\\lab\\tools\\Scripts\\python.exe"
KERNEL = "C:/Users/ada/AppData/Roaming/jupyter/kernels/ml/kernel.json"
TRAIN = "import torch\nprint(torch.ones(1))\n"


def environment(root: Path, prefix: str, *modules: str) -> PythonEnvironment:
    """Make an environment of a Python that lies in C:\\other."""
    place = prefix.replace("\\", "/")
    write(root, "C:/other/python.exe", "MZ")
    write(root, "C:/other/python311.dll", "MZ")
    write(root, "C:/other/Lib/os.py")
    write(root, f"{place}/Scripts/python.exe", "MZ")
    write(root, f"{place}/pyvenv.cfg", "home = C:\\other\nversion = 3.11.9\n")
    for module in modules:
        write(root, f"{place}/Lib/site-packages/{module}/__init__.py")
    site = f"{prefix}\\Lib\\site-packages"
    return PythonEnvironment(
        prefix=prefix,
        executable=f"{prefix}\\Scripts\\python.exe",
        kind="venv",
        version="3.11.9",
        site_packages=(site,),
        distributions=tuple(Distribution(name=m, version="1.0", location=site) for m in modules),
    )


def told(root: Path) -> list[tuple[str, StartedPython]]:
    pythons = (environment(root, "C:\\lab\\ml", "torch"), environment(root, "C:\\lab\\tools", "numpy"))
    its = request(root, ENV, system="windows", pythons=pythons)
    ground = ground_of(its, sysroot_of(its.host), PROJECT)
    return [(w.kind, one) for w in windows_ways(replace(ground, pythons=pythons)) for one in w.runs]


def notebook(kernel: str, code: str) -> str:
    cell = {"cell_type": "code", "source": [code]}
    return json.dumps({"cells": [cell], "metadata": {"kernelspec": {"name": kernel, "language": "python"}}})


def settings(**rows: Any) -> str:
    return json.dumps({n.replace("__", "."): v for n, v in rows.items()})


CASES: dict[str, tuple[dict[str, str], str]] = {
    "VS Code": ({".vscode/settings.json": settings(python__defaultInterpreterPath=TOOLS)}, "editor"),
    "VS Code, by a folder": ({".vscode/settings.json": settings(python__pythonPath="${workspaceFolder}\\..\\tools")}, "editor"),
    "VS Code, the right one": ({".vscode/settings.json": settings(python__defaultInterpreterPath="C:/lab/ml/Scripts/python.exe")}, ""),
    "VS Code, none in particular": ({".vscode/settings.json": settings(python__defaultInterpreterPath="python")}, ""),
    "Code Runner": ({".vscode/settings.json": settings(python__defaultInterpreterPath="C:/lab/ml/Scripts/python.exe", **{"code-runner__executorMap": {"python": "python -u"}})}, "editor"),
    "Code Runner, by the chosen one": ({".vscode/settings.json": settings(**{"code-runner__executorMap": {"python": "$pythonPath -u $fullFileName"}})}, ""),
    "a launch configuration": ({".vscode/launch.json": json.dumps({"configurations": [{"name": "x", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}\\train.py", "python": TOOLS}]})}, "editor"),
    "a launch configuration that is gone": ({".vscode/launch.json": json.dumps({"configurations": [{"name": "x", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}\\train.py", "python": "${workspaceFolder}\\venv\\Scripts\\python.exe"}]})}, "editor"),
    "a launch configuration of another machine": ({".vscode/launch.json": json.dumps({"configurations": [{"name": "x", "type": "debugpy", "request": "launch", "program": "${workspaceFolder}\\train.py", "python": "C:/Users/author/venv/Scripts/python.exe"}]})}, ""),
    "Spyder": ({"C:/Users/ada/.spyder-py3/config/spyder.ini": f"[main_interpreter]\ndefault = False\ncustom = True\nexecutable = {TOOLS}\n"}, "editor"),
    "Thonny": ({"C:/Users/ada/AppData/Roaming/Thonny/configuration.ini": f"[LocalCPython]\nexecutable = {TOOLS}\n"}, "editor"),
    "Thonny with the program open": ({"C:/Users/ada/AppData/Roaming/Thonny/configuration.ini": f"[LocalCPython]\nexecutable = {TOOLS}\n[file]\nopen_files = ['C:\\\\lab\\\\project\\\\train.py']\n"}, "editor"),
    "PyCharm": ({".idea/misc.xml": '<component name="ProjectRootManager" project-jdk-name="tools" />', "C:/Users/ada/AppData/Roaming/JetBrains/PyCharm2025.2/options/jdk.table.xml": '<jdk version="2"><name value="tools" /><homePath value="C:/lab/tools/Scripts/python.exe" /></jdk>'}, "editor"),
    "a kernel": ({KERNEL: json.dumps({"argv": [TOOLS, "-m", "ipykernel_launcher"]}), "a.ipynb": notebook("ML", "import torch")}, "notebook"),
    "a kernel for other notebooks": ({KERNEL: json.dumps({"argv": [TOOLS]}), "a.ipynb": notebook("ml", "import numpy"), "b.ipynb": notebook("other", "import torch")}, ""),
    "a kernel of the right environment": ({KERNEL: json.dumps({"argv": ["C:/lab/ml/Scripts/python.exe"]}), "a.ipynb": notebook("ml", "import torch")}, ""),
    "a kernel whose Python is gone": ({KERNEL: json.dumps({"argv": ["C:/lab/gone/python.exe", "-m", "ipykernel_launcher"]}), "a.ipynb": notebook("ML", "import torch")}, "notebook"),
    "a dead kernel for other notebooks": ({KERNEL: json.dumps({"argv": ["C:/lab/gone/python.exe"]}), "a.ipynb": notebook("ml", "import os"), "b.ipynb": notebook("other", "import torch")}, ""),
    "a batch file and PATH": ({"run.bat": "@echo off\ncd /d \"%~dp0\"\npython train.py\n"}, "script"),
    "an activation that is not there": ({"run.bat": "cd /d \"%~dp0\"\r\ncall venv\\Scripts\\activate.bat\r\npython train.py\r\n"}, "script"),
    "one of two activations": ({"run.bat": "if exist venv\\x (\n  call venv\\Scripts\\activate.bat\n) else (\n  call ..\\ml\\Scripts\\activate\n)\npython train.py\n", "C:/lab/ml/Scripts/activate.bat": '@set "PATH=C:\\lab\\ml\\Scripts;%PATH%"\n'}, ""),
    "a kernel without an ending": ({KERNEL: json.dumps({"argv": ["C:/lab/ml/Scripts/python"]}), "a.ipynb": notebook("ml", "import torch")}, ""),
    "a kernel with the path of Linux": ({KERNEL: json.dumps({"argv": ["C:/lab/ml/bin/python"]}), "a.ipynb": notebook("ml", "import torch")}, "notebook"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "kind"), CASES.values(), ids=CASES)
def test_a_chosen_python_that_lacks_a_framework(tmp_path: Path, files: dict[str, str], kind: str) -> None:
    write(tmp_path, "C:/lab/project/train.py", TRAIN)
    for name, text in files.items():
        write(tmp_path, name if ":" in name else f"C:/lab/project/{name}", text)
    found = told(tmp_path)
    assert [k for k, _one in found] == ([kind] if kind else [])
    assert all(one.lacks == ("torch",) and one.seems == "C:\\lab\\ml" for _kind, one in found)
    assert all(one.sure for k, one in found if "Thonny" not in one.source or "project" in str(files))


@pytest.mark.parametrize("has_its_own", [True, False])
def test_a_dead_kernel_of_the_name_that_each_environment_has(tmp_path: Path, has_its_own: bool) -> None:
    write(tmp_path, KERNEL.replace("/ml/", "/python3/"), json.dumps({"argv": ["C:/lab/gone/python.exe"]}))
    write(tmp_path, "C:/lab/project/a.ipynb", notebook("python3", "import torch"))
    if has_its_own:
        write(tmp_path, "C:/lab/ml/Lib/site-packages/ipykernel/__init__.py")
    assert [(kind, one.path, one.sure) for kind, one in told(tmp_path)] == [("notebook", "", not has_its_own)]


def test_the_activation_that_is_not_there_is_named(tmp_path: Path) -> None:
    write(tmp_path, "C:/lab/project/train.py", TRAIN)
    write(tmp_path, "C:/lab/project/run.bat", CASES["an activation that is not there"][0]["run.bat"])
    [(_kind, one)] = told(tmp_path)
    assert one.dead == PROJECT + "\\venv\\Scripts\\activate.bat"


def test_an_environment_in_the_folder_may_be_activated_first(tmp_path: Path) -> None:
    write(tmp_path, "C:/lab/project/train.py", TRAIN)
    write(tmp_path, "C:/lab/project/run.bat", "python train.py\n")
    write(tmp_path, "C:/lab/project/.venv/pyvenv.cfg", "home = C:\\other\n")
    assert not any(one.sure for _kind, one in told(tmp_path))


@pytest.mark.parametrize(
    ("code", "settings_of_editor", "is_told"),
    [
        ("import torch\nfrom src.features import scale\n", "{}", True),
        ("%cd ..\nimport torch\nfrom src.features import scale\n", "{}", False),
        ("import sys\nsys.path.append('..')\nfrom src.features import scale\n", "{}", False),
        ("import torch\nfrom src.features import scale\n", '{"jupyter.notebookFileRoot": "${workspaceFolder}"}', False),
        ("import torch\nfrom here import scale\n", "{}", False),
    ],
)
def test_a_notebook_in_a_folder_of_its_own(tmp_path: Path, code: str, settings_of_editor: str, is_told: bool) -> None:
    write(tmp_path, KERNEL, json.dumps({"argv": ["C:/lab/ml/Scripts/python.exe", "-m", "ipykernel_launcher"]}))
    write(tmp_path, "C:/lab/project/src/features.py", "def scale(rows):\n    return rows\n")
    write(tmp_path, "C:/lab/project/notebooks/here.py", "scale = 1\n")
    write(tmp_path, "C:/lab/project/notebooks/explore.ipynb", notebook("ml", code))
    write(tmp_path, "C:/lab/project/.vscode/settings.json", settings_of_editor)
    found = [(k, o.fault, o.lacks, o.source) for k, o in told(tmp_path) if k == "notebook"]
    assert found == [("notebook", "not searched", ("src",), PROJECT)] * is_told
