r"""Scripts of Git Bash and of Windows Script Host, and services of WinSW, in a folder that stands for C:\."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.probes.starting.machine import ground_of
from core.probes.starting.ways import Reached
from core.probes.starting.windows.other_files import other_files
from core.probes.sysroot import sysroot_of
from tests.probes.request import request
from tests.probes.starting.test_windows_projects import ENV, ML, OTHER, PYTHON, machine, put

__all__ = ["machine"]
ON_PATH = {**ENV, "Path": r"C:\Python311;C:\Windows\System32"}


def ways(root: Path, name: str, text: str) -> list[Reached]:
    put(root, r"C:\Python311\python.exe")
    put(root, rf"C:\project\{name}", text)
    its = request(root, system="windows", env=ON_PATH)
    return list(other_files(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(ML,))))


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/bash\nsource ../ml/bin/activate\npython train.py\n",
        'source /c/ml/bin/activate && python train.py "$@"\n',
        'cd "$(dirname "$0")"\n/c/tools/Scripts/python.exe train.py\n',
        "cd ..\nexport PYTHONUNBUFFERED=1\n./tools/Scripts/python.exe project/train.py\n",
    ],
)
def test_a_script_of_git_bash_that_leads_to_another_python(machine: Path, text: str) -> None:
    ((run,),) = [way.runs for way in ways(machine, "train.sh", text)]
    assert (run.lacks, run.seems, run.sure) == (("torch",), r"C:\ml", True)


@pytest.mark.parametrize(
    "text",
    [
        "source ../ml/Scripts/activate\npython train.py\n",
        "conda activate ml\npython train.py\n",
        "if [ -d venv ]; then source venv/bin/activate; fi\npython train.py\n",
        "source setup_env.sh\npython train.py\n",
    ],
)
def test_a_script_of_git_bash_with_its_environment_or_one_that_is_not_followed(machine: Path, text: str) -> None:
    put(machine, r"C:\ml\Scripts\activate")
    assert not any(way.runs for way in ways(machine, "train.sh", text))


def test_what_a_script_of_git_bash_sets(machine: Path) -> None:
    (way,) = ways(
        machine, "train.sh", "export PYTHONPATH=/c/old\nOMP_NUM_THREADS=2 ../ml/Scripts/python.exe train.py\n"
    )
    its = way.state.environment()
    assert (way.prefix, its["PYTHONPATH"], its["OMP_NUM_THREADS"]) == (r"C:\ml", r"C:\old", "2")


@pytest.mark.parametrize(
    "text",
    [
        f'CreateObject("WScript.Shell").Run """{OTHER}"" train.py", 0, False\n',
        f'Set shell = CreateObject("WScript.Shell")\nshell.Run Chr(34) & "{OTHER}" & Chr(34) & " train.py", 0\n',
        f'Set shell = CreateObject("WScript.Shell")\nshell.CurrentDirectory = "C:\\project"\nshell.Run("cmd /c {OTHER} train.py")\n',
    ],
)
def test_what_a_script_of_windows_script_host_runs(machine: Path, text: str) -> None:
    ((run,),) = [way.runs for way in ways(machine, "hidden.vbs", text)]
    assert (run.lacks, run.seems) == (("torch",), r"C:\ml")


def test_a_service_of_winsw_and_its_variables(machine: Path) -> None:
    put(machine, r"C:\project\embedder.exe")
    text = rf"""<service><id>embedder</id><executable>{PYTHON}</executable><arguments>train.py</arguments>
<workingdirectory>%BASE%</workingdirectory><env name="PYTHONPATH" value="%BASE%\lib"/></service>"""
    (way,) = ways(machine, "embedder.xml", text)
    assert (way.kind, way.prefix, way.state.values["PYTHONPATH"]) == ("service", r"C:\ml", r"C:\project\lib")
    assert [w.at for w in ways(machine, "other.xml", text)] == [way.at]
