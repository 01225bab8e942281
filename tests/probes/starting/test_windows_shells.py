r"""What prompts run first on Windows: AutoRun and PowerShell's profiles, in a folder that stands for C:\."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment, RegisteredStart
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.shells import prompt_ways
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write

ENV = {"USERPROFILE": r"C:\Users\ada", "Path": r"C:\Windows\System32", "SystemRoot": r"C:\Windows"}
KEY = r"HKCU\Software\Microsoft\Command Processor\AutoRun"
PROFILE = r"C:\Users\ada\Documents\WindowsPowerShell\profile.ps1"


def put(root: Path, path: str, content: str) -> None:
    write(root, path.replace("\\", "/"), content)


def prompts(root: Path, autorun: str = "") -> dict[str, dict[str, str]]:
    its = request(root, system="windows", env=ENV)
    ground = ground_of(its, sysroot_of(its.host), r"C:\project")
    registered = (RegisteredStart(kind="prompt", key=KEY, command=autorun),) if autorun else ()
    return {w.at: w.state.environment() for w in prompt_ways(ground, registered)}


def test_a_batch_file_of_autorun_sets_variables_for_every_prompt(tmp_path: Path) -> None:
    put(tmp_path, r"C:\rc.cmd", "@echo off\nset PYTHONPATH=C:\\old\n")
    assert prompts(tmp_path, r'"C:\rc.cmd"')["cmd.exe"]["PYTHONPATH"] == r"C:\old"


def test_an_assignment_in_autorun_itself_counts(tmp_path: Path) -> None:
    assert prompts(tmp_path, r"@set PYTHONPATH=C:\old& chcp 65001")["cmd.exe"]["PYTHONPATH"] == r"C:\old"


@pytest.mark.parametrize(
    "line", [r'if exist "C:\gone\hook.bat" "C:\gone\hook.bat"', "chcp 65001 >nul", r"C:\clink\clink.exe inject"]
)
def test_an_autorun_that_sets_nothing_is_no_way_of_its_own(tmp_path: Path, line: str) -> None:
    assert prompts(tmp_path, line) == {}


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("$env:PYTHONPATH = 'C:\\it''s'", "PYTHONPATH", r"C:\it's"),
        ('$env:path += ";C:\\more"', "Path", r"C:\Windows\System32;C:\more"),
        ('$Env:Path = "C:\\first;$env:PATH"', "Path", r"C:\first;C:\Windows\System32"),
        ('$env:Path = "C:\\first;" + ${env:Path}', "Path", r"C:\first;C:\Windows\System32"),
    ],
)
def test_a_profile_of_powershell_sets_variables(tmp_path: Path, line: str, name: str, value: str) -> None:
    put(tmp_path, PROFILE, f"# mine\n<# $env:A = 'no'\n#>\n{line}\n")
    assert prompts(tmp_path)["Windows PowerShell"][name] == value


def test_a_profile_that_activates_an_environment_is_left_alone(tmp_path: Path) -> None:
    put(
        tmp_path,
        PROFILE,
        "$env:X = 'a'\n(& 'C:\\conda.exe' 'shell.powershell' 'hook') | Out-String | Invoke-Expression\n",
    )
    assert prompts(tmp_path) == {}


def test_activation_of_condas_puts_its_libraries_on_path(tmp_path: Path) -> None:
    its = request(tmp_path, system="windows", env=ENV)
    ground = ground_of(its, sysroot_of(its.host), r"C:\project")
    (way,) = windows_ways(replace(ground, pythons=(PythonEnvironment(prefix=r"C:\conda\envs\ml", kind="conda"),)))
    entries = way.state.environment()["Path"].split(";")
    assert entries[:2] == [r"C:\conda\envs\ml", r"C:\conda\envs\ml\Library\mingw-w64\bin"]
    assert entries.index(r"C:\conda\envs\ml\Library\bin") < entries.index(r"C:\Windows\System32")
