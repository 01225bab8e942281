r"""Scripts of PowerShell, followed to the Python that they start, in a folder that stands for C:\."""

from __future__ import annotations

import ntpath
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.host.startup.state import State
from core.host.windows.registered import POLICIES, PRODUCT, SHELL, registered_starts
from core.model.facts import Distribution, PythonEnvironment, RegisteredStart
from core.probes.starting.machine import Ground, ground_of
from core.probes.starting.probe import look
from core.probes.starting.windows.blocks import Place
from core.probes.starting.windows.command_lines import python_of_ps1, python_of_words
from core.probes.starting.windows.powershell_statements import statements_of_script
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write

ENV = {"USERPROFILE": r"C:\Users\ada", "Path": r"C:\Windows\System32;C:\Python311", "SystemRoot": r"C:\Windows"}
RUN = r"C:\project\run.ps1"
ML = PythonEnvironment(
    prefix=r"C:\ml", kind="venv", site_packages=(r"C:\ml\Lib\site-packages",), distributions=(Distribution(name="torch", version="2.6.0"),)
)  # fmt: skip
PYTHON = r"C:\ml\Scripts\python.exe"


def put(root: Path, path: str, content: str = "") -> None:
    write(root, path.replace("\\", "/"), content)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for file in (PYTHON, r"C:\Python311\python.exe", r"C:\ml\Scripts\Activate.ps1", r"C:\ml\Scripts\activate.ps1", r"C:\ml\Lib\site-packages\torch\__init__.py"):  # fmt: skip
        put(tmp_path, file)
    put(tmp_path, r"C:\Python311\Lib\os.py")
    put(tmp_path, r"C:\Python311\python311.dll")
    put(tmp_path, r"C:\ml\pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.9\n")
    put(tmp_path, r"C:\ml\Scripts\activate.bat", "@set PATH=C:\\ml\\Scripts;%PATH%\n")
    put(tmp_path, r"C:\project\train.py", "import torch\n")
    return tmp_path


def ground(root: Path) -> Ground:
    its = request(root, system="windows", env=ENV)
    return ground_of(its, sysroot_of(its.host), r"C:\project")


def started(root: Path, script: str) -> tuple[str, State]:
    """Return the Python that a script starts, with its arguments, and the variables by then."""
    put(root, RUN, script)
    state = State(dict(ENV), set(ENV), separator=";")
    state.values["PWD"] = r"C:\project"
    found = python_of_ps1(RUN, state, ground(root))
    return " ".join((ntpath.normpath(found.path), *found.arguments)) if found else "", state


@pytest.mark.parametrize(
    "script",
    [
        rf"& {PYTHON} train.py",
        rf'& "{PYTHON}" train.py',
        rf"{PYTHON} train.py *>&1 | Tee-Object -FilePath log.txt",
        rf"$result = & '{PYTHON}' train.py",
        "$python = 'C:\\ml\\Scripts\\python.exe'\n& $python train.py",
        "$root = 'C:\\ml'\n$python = Join-Path $root 'Scripts\\python.exe'\n&$python train.py",
        '$root = "C:\\ml"\n& "$root\\Scripts\\python.exe" train.py',
        "param(\n  [string]$Model = 'small'\n)\n\n& C:\\ml\\Scripts\\python.exe `\n  train.py",
        "function Main {\n  & C:\\ml\\Scripts\\python.exe train.py\n}\n\nMain",
        "try { & C:\\ml\\Scripts\\python.exe train.py } catch { Write-Host $_ }",
        "if (Test-Path C:\\gone) {\n  & C:\\gone\\python.exe\n} else {\n  & C:\\ml\\Scripts\\python.exe train.py\n}",
        "if (-not (Test-Path 'C:\\ml')) { exit 1 }\nC:\\ml\\Scripts\\python.exe train.py",
        "Start-Process -FilePath C:\\ml\\Scripts\\python.exe -ArgumentList 'train.py' -NoNewWindow -Wait",
        "C:\\ml\\Scripts\\Activate.ps1\npython train.py",
        ". C:\\ml\\Scripts\\activate; python train.py",
        "cd C:\\ml\\Scripts\n.\\activate\npython train.py",
        "cmd /c C:\\ml\\Scripts\\python.exe train.py",
        "$here = Split-Path -Parent $MyInvocation.MyCommand.Path\n& \"$here\\..\\ml\\Scripts\\python.exe\" train.py",
        "python -m pip install -r requirements.txt\npython --version\nC:\\ml\\Scripts\\python.exe train.py",
        "if (!(Test-Path C:\\ml)) {\n  python -m venv C:\\ml\n}\nC:\\ml\\Scripts\\python.exe train.py",
        "$env:VIRTUAL_ENV = $null\nPush-Location $PSScriptRoot\n& ..\\ml\\Scripts\\python.exe train.py",
        "# & C:\\gone\\python.exe\n<#\n& C:\\gone\\python.exe\n#>\n$options = @{ 'a' = 'b'; c = 1 }\nC:\\ml\\Scripts\\python.exe train.py",
    ],
)  # fmt: skip
def test_a_script_is_followed_to_its_python(machine: Path, script: str) -> None:
    assert started(machine, script)[0] == f"{PYTHON} train.py"


@pytest.mark.parametrize(
    "script",
    [
        "& C:\\ml\\Scripts\\activate.bat\npython train.py",
        "cmd /c C:\\ml\\Scripts\\activate.bat\npython train.py",
        ".\\venv\\Scripts\\Activate.ps1\npython train.py",
        "function old {\n  C:\\ml\\Scripts\\Activate.ps1\n}\npython train.py",
        "if ($false -eq (Test-Path C:\\gone)) { }\npython train.py",
        "conda activate ml\npython train.py",
    ],
)
def test_an_activation_without_effect_leaves_the_python_of_path(machine: Path, script: str) -> None:
    assert started(machine, script)[0] == r"C:\Python311\python.exe train.py"


@pytest.mark.parametrize(
    "script",
    [
        "(& C:\\conda\\Scripts\\conda.exe 'shell.powershell' 'hook') | Out-String | Invoke-Expression\nconda activate ml\npython train.py",
        "cd $root\n.\\venv\\Scripts\\Activate.ps1\npython train.py",
        "& $python train.py",
        "& (Get-Command python).Source train.py",
        "python train.py | iex",
        "exit 0\npython train.py",
    ],
)
def test_a_program_that_reading_does_not_show_is_no_python(machine: Path, script: str) -> None:
    found, state = started(machine, script)
    assert found == "" or "Path" in state.open


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("$env:X = 'C:\\it''s'", r"C:\it's"),
        ('$Env:X = "C:\\first;$env:PATH"', rf"C:\first;{ENV['Path']}"),
        ("$env:X = 'a'\n$env:X += ';b'", "a;b"),
        ("$env:X = 1", "1"),
        ("$env:X = $PSScriptRoot + '\\src'", r"C:\project\src"),
        ('$env:X = "$($env:USERPROFILE)\\src"', r"C:\Users\ada\src"),
        ("[Environment]::SetEnvironmentVariable('X', 'a', 'Process')", "a"),
        ("[System.Environment]::SetEnvironmentVariable('X', 'a', [System.EnvironmentVariableTarget]::User)", None),
        ("Set-Item -Path Env:X -Value 'a'", "a"),
        ("$env:X = 'a'\nRemove-Item Env:\\X", None),
        ("$env:X = 'a'; $env:X = $null + ''", None),
        ("if (Test-Path C:\\gone) { $env:X = 'a' }", None),
        ("if (Test-Path C:\\ml) { $env:X = 'a' }", "a"),
        ("$X = 'a'", None),
        ("set X=a", None),
    ],
)
def test_variables_of_the_process_are_followed(machine: Path, line: str, value: str | None) -> None:
    _found, state = started(machine, line)
    assert state.environment().get("X") == value


@pytest.mark.parametrize("line", ["$env:X = $other", '$env:X = "$(whoami)"', "if ($a) { $env:X = 'a' }"])
def test_what_reading_does_not_show_is_unknown(machine: Path, line: str) -> None:
    assert started(machine, line)[1].open == {"X"}


@pytest.mark.parametrize("line", [r"set PATH=C:\cuda;%PATH%", r"export PATH=C:\cuda", r"$PATH = 'C:\cuda'"])
def test_an_assignment_of_another_shell_is_noted(machine: Path, line: str) -> None:
    (row,) = started(machine, line)[1].ignored
    assert (row.name, row.file, row.line) == ("PATH", RUN, 1)
    assert row.value.startswith(r"C:\cuda")


def test_an_own_variable_is_no_assignment_of_another_shell(machine: Path) -> None:
    assert started(machine, "$model = 'C:\\models'\n$X86 = 'a'\nset-location C:\\ml")[1].ignored == []


@pytest.mark.parametrize(
    ("command", "prefix"),
    [
        (rf"powershell.exe -NoProfile -ExecutionPolicy Bypass -File {RUN}", r"C:\ml"),
        (rf'powershell -Command "& {PYTHON} train.py"', r"C:\ml"),
        (rf"pwsh.exe {RUN}", r"C:\ml"),
        (rf"powershell.exe -EncodedCommand {RUN}", None),
        (r"powershell.exe -NoLogo", None),
    ],
)
def test_a_start_by_powershell_leads_to_the_environment(machine: Path, command: str, prefix: str | None) -> None:
    put(machine, RUN, rf"& {PYTHON} train.py")
    one = RegisteredStart(kind="logon", key="HKCU\\Run\\Train", command=command)
    found = [w.prefix for w in windows_ways(replace(ground(machine), pythons=(ML,)), (one,)) if w.kind == "launcher"]
    assert found == ([prefix] if prefix else [])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (rf"powershell.exe -NoProfile -File {RUN}", RUN),
        (rf"powershell.exe -ExecutionPolicy Restricted {RUN}", RUN),
        (
            r'powershell -Command ".\venv\Scripts\Activate.ps1; python train.py"',
            r"C:\project\venv\Scripts\Activate.ps1",
        ),
        (rf"powershell.exe -NoProfile -ExecutionPolicy Bypass -File {RUN}", ""),
        (rf"powershell.exe -ep RemoteSigned {RUN}", ""),
        (rf"pwsh.exe -File {RUN}", ""),
        (rf'powershell -Command "& {PYTHON} train.py"', ""),
    ],
)
@pytest.mark.parametrize("refuses", [True, False])
def test_a_script_that_the_policy_refuses_does_not_run(machine: Path, command: str, told: str, refuses: bool) -> None:
    put(machine, RUN, rf"& {PYTHON} train.py")
    for file in ("pyvenv.cfg", r"Scripts\Activate.ps1"):
        put(machine, rf"C:\project\venv\{file}")
    put(machine, r"C:\project\venv\Scripts\python.exe")
    put(machine, r"C:\project\run.bat", f"{command}\r\n")
    registered = (RegisteredStart(kind="policy", key="HKLM\\Shell", command="Restricted"),) if refuses else ()
    found = [
        one
        for w in windows_ways(replace(ground(machine), pythons=(ML,)), registered)
        if w.at.endswith("run.bat")
        for one in w.runs
    ]
    assert [one.name for one in found if one.fault == "policy"] == ([told] if told and refuses else [])


@pytest.mark.parametrize(
    ("values", "refuses"),
    [
        ({}, True),
        ({("HKLM", SHELL): {"executionpolicy": "Restricted"}}, True),
        ({("HKLM", SHELL): {"executionpolicy": "RemoteSigned"}}, False),
        ({("HKCU", SHELL): {"executionpolicy": "Bypass"}, ("HKLM", SHELL): {"executionpolicy": "Restricted"}}, False),
        ({("HKCU", SHELL): {"executionpolicy": "Undefined"}}, True),
        ({("HKLM", POLICIES): {"executionpolicy": "Restricted"}}, False),
        ({("HKLM", PRODUCT): {"producttype": "ServerNT"}}, False),
    ],
)
def test_the_policy_is_the_persons_or_the_machines_or_that_of_windows(
    values: dict[tuple[str, str], dict[str, object]], refuses: bool
) -> None:
    all_values = {("HKLM", PRODUCT): {"producttype": "WinNT"}, **values}
    found = registered_starts((), lambda root, key: all_values.get((root, key), {}))
    assert any(one.kind == "policy" for one in found) is refuses


@pytest.mark.parametrize(
    ("line", "dead"),
    [
        (r".\venv\Scripts\Activate.ps1", r"C:\project\venv\Scripts\Activate.ps1"),
        (r"& 'C:\ml\Scripts\activate.bat'", r"C:\ml\Scripts\activate.bat"),
        ("# python of the prompt, in which a person may have activated an environment", ""),
    ],
)
def test_a_script_of_the_folder_that_starts_another_python_is_told(machine: Path, line: str, dead: str) -> None:
    put(machine, RUN, f"{line}\npython train.py\n")
    (way,) = [w for w in windows_ways(replace(ground(machine), pythons=(ML,))) if w.at == RUN]
    (one,) = way.runs
    assert (one.prefix, one.seems, one.lacks, one.dead) == (r"C:\Python311", r"C:\ml", ("torch",), dead)
    assert one.sure is bool(dead)


def test_a_profile_counts_for_a_script_of_the_folder(machine: Path) -> None:
    put(machine, r"C:\Users\ada\Documents\WindowsPowerShell\profile.ps1", "$env:X = 'a'\n")
    put(machine, RUN, rf"& {PYTHON} train.py")
    (way,) = [w for w in windows_ways(replace(ground(machine), pythons=(ML,))) if w.at == RUN]
    assert way.state.environment()["X"] == "a"


def test_a_line_of_another_shell_reaches_the_rules(machine: Path) -> None:
    put(machine, RUN, r"set PATH=C:\cuda;%PATH%" + f"\n{PYTHON} train.py\n")
    one = RegisteredStart(kind="logon", key="HKCU\\Run\\Train", command=f"powershell.exe -File {RUN}")
    its = request(machine, system="windows", env=ENV, pythons=(ML,), starts=(one,))
    rows = [(r.name, r.value, r.line) for start in look(its) for r in start.ignored]
    assert rows == [("PATH", r"C:\cuda", 1)]


@given(st.text() | st.lists(st.sampled_from("{}()'\"`\n;|&$@#<> a")).map("".join))
def test_any_text_has_statements_within_its_lines(text: str) -> None:
    def lines(found: tuple[object, ...]) -> list[int]:
        return [n for s in found for n in (s.line, *lines(s.body or ()))]  # type: ignore[attr-defined]  # statements

    assert all(1 <= n <= text.count("\n") + 1 for n in lines(statements_of_script(text)))


@pytest.mark.parametrize(
    ("script", "line"),
    [
        (f"cd C:\\project && {PYTHON} train.py", 1),
        (f"Write-Host 'a && b'  # a && b\n{PYTHON} train.py || exit 1", 2),
        (f"Write-Host 'a && b'  # a && b\n{PYTHON} train.py", 0),
    ],
)
def test_windows_powershell_refuses_what_joins_commands(machine: Path, script: str, line: int) -> None:
    put(machine, RUN, script)
    for program in ("powershell", "pwsh"):
        state = State(dict(ENV), set(ENV), separator=";")
        words = [program, "-ExecutionPolicy", "Bypass", "-File", RUN]
        found = python_of_words(words, Place(r"C:\project\run.bat", 1), state, ground(machine))
        assert found is not None
        told = (found.ended_by, found.ended_at) if found.ended_at else None
        assert told == (("no command", f"{RUN}:{line}") if line and program == "powershell" else None)


@pytest.mark.parametrize("filtered", ["", "Where-Object {$_} | "])
def test_a_script_that_runs_condas_hook_activates_by_its_command(machine: Path, filtered: str) -> None:
    for file in (r"C:\conda\Scripts\conda.exe", r"C:\conda\conda-meta\history", r"C:\conda\envs\ml\conda-meta\history", r"C:\conda\envs\ml\python.exe"):  # fmt: skip
        put(machine, file)
    hook = f'(& "C:\\conda\\Scripts\\conda.exe" "shell.powershell" "hook") | Out-String | {filtered}Invoke-Expression'
    found, _state = started(machine, f"{hook}\nconda activate ml\npython train.py")
    assert found == r"C:\conda\envs\ml\python.exe train.py"
