r"""What cmd.exe, PowerShell and the starters of Windows make of a command, read in a folder that stands for C:\."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment, RegisteredStart
from core.probes.python.search.search_path import SYS_PATH
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request
from tests.probes.starting.test_windows import ENV, put
from tests.probes.starting.test_windows_ended import ML, NIGHTLY, OTHER, PROJECT, PYTHON, machine, put_other_python

__all__ = ["machine"]

X86 = r"C:\Program Files (x86)\Common Files;C:\Windows\System32"
HOME = {"USERPROFILE": r"C:\Users\ada", "APPDATA": ENV["APPDATA"]}
MINE = r"C:\my env\Scripts\python.exe"
TASK = r"C:\Windows\System32\Tasks\Nightly"
STARTUP = ENV["APPDATA"] + r"\Microsoft\Windows\Start Menu\Programs\Startup"


def told(
    root: Path, path: str = ENV["Path"], *pythons: PythonEnvironment, registered: tuple[RegisteredStart, ...] = ()
) -> list[tuple[str, str, str]]:
    """Return why each start ends, what it is about, and where."""
    its = request(root, system="windows", env={**ENV, **HOME, "Path": path})
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=pythons or (ML,))
    ways = windows_ways(ground, registered)
    return [
        (one.fault or one.why, one.name, one.source.rpartition("\\")[2]) for w in ways for one in w.runs if one.sure
    ]


def at_home(machine: Path) -> PythonEnvironment:
    home = r"C:\Users\ada\ml"
    put(machine, home + r"\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    put(machine, home + r"\Scripts\python.exe", "MZ")
    put(machine, home + r"\Lib\site-packages\torch\__init__.py", "")
    return replace(ML, prefix=home, executable=home + r"\Scripts\python.exe", site_packages=())


def mine(machine: Path) -> PythonEnvironment:
    put(machine, r"C:\my env\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    put(machine, MINE, "MZ")
    put(machine, r"C:\my env\Lib\site-packages\torch\__init__.py", "")
    return replace(ML, prefix=r"C:\my env", executable=MINE, site_packages=(r"C:\my env\Lib\site-packages",))


@pytest.mark.parametrize(
    ("lines", "fault", "name", "line"),
    [
        ((rf"{OTHER}\python.exe ^", "  train.py ^", "  --epochs 3"), "imports", "python.exe", ""),
        ((f"{PYTHON} ^", "  train.py ^", "  --epochs 3"), "", "", ""),
        ((f"{PYTHON} train.py ^ ", "  --epochs 3"), "no command", "--epochs", ":3"),
        ((f"{PYTHON} train.py \\", "  --epochs 3"), "no command", "--epochs", ":3"),
        ((f"{PYTHON} train.py `", "  --epochs 3"), "no command", "--epochs", ":3"),
        ((f"{PYTHON} train.py --out C:\\x\\", "rem --epochs 3"), "", "", ""),
        (("if exist x (", "  set PATH=%PATH%;C:\\x", ")", f"{PYTHON} train.py"), "bracket", "PATH", ":3"),
        (("if exist x (set PATH=%PATH%;C:\\x)", f"{PYTHON} train.py"), "bracket", "PATH", ":2"),
        (("if exist x (", '  set "PATH=%PATH%;C:\\x"', ")", f"{PYTHON} train.py"), "", "", ""),
        (("set PATH=%PATH%;C:\\x", f"{PYTHON} train.py"), "", "", ""),
        (("set X=a (b)", "if exist x (", "  set Y=%X%", ")", f"{PYTHON} train.py"), "", "", ""),
        ((rf"for %%s in (1 2 3) do {OTHER}\python.exe train.py --seed %%s",), "imports", "python.exe", ""),
        ((f"{PYTHON} train.py", "if exist x (", "  echo %PATH%", ")"), "", "", ""),
        ((f"'{PYTHON}' train.py",), "no command", f"'{PYTHON}'", ":2"),
        ((r"~\ml\Scripts\python.exe train.py",), "no command", r"~\ml\Scripts\python.exe", ":2"),
        ((r"C:\ml\Scripts train.py",), "no command", r"C:\ml\Scripts", ":2"),
        ((f'"{PYTHON} train.py"',), "no command", f"{PYTHON} train.py", ":2"),
        ((rf'cmd /c "{PYTHON}" train.py',), "", "", ""),
    ],
)  # fmt: skip
def test_what_cmd_makes_of_a_line(lines: tuple[str, ...], fault: str, name: str, line: str, machine: Path) -> None:
    put_other_python(machine)
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines, "")))
    assert told(machine, X86, ML, at_home(machine)) == ([(fault, name, f"run.bat{line}")] if fault else [])


@pytest.mark.parametrize(
    ("lines", "fault", "name"),
    [
        ((f"{PYTHON} train.py \\", "  --epochs 3"), "no command", "--epochs"),
        ((f"{PYTHON} train.py `", "  --epochs 3"), "", ""),
        ((f'"{PYTHON}" train.py',), "no command", f'"{PYTHON}"'),
        ((f'"{PYTHON}" -m train',), "no command", f'"{PYTHON}"'),
        ((f'& "{PYTHON}" train.py',), "", ""),
        (('"all.exe" -replace "a", "b"', f"{PYTHON} train.py"), "", ""),
        ((f'& "{PYTHON} train.py"',), "no command", f"{PYTHON} train.py"),
        (("<#", "train.py \\", "  --epochs 3", "#>", f"{PYTHON} train.py"), "", ""),
        (('ssh host "train.py \\', '  --epochs 3"', f"{PYTHON} train.py"), "", ""),
        (("Start-Process `", f'  "{PYTHON}" "train.py"'), "", ""),
        ((r"& %USERPROFILE%\ml\Scripts\python.exe train.py",), "no command", r"%USERPROFILE%\ml\Scripts\python.exe"),
    ],
)  # fmt: skip
def test_what_powershell_makes_of_a_line(lines: tuple[str, ...], fault: str, name: str, machine: Path) -> None:
    put(machine, PROJECT + r"\run.ps1", "\r\n".join((*lines, "")))
    seen = told(machine, ENV["Path"], ML, at_home(machine))
    assert [(f, n) for f, n, _source in seen] == ([(fault, name)] if fault else [])


WEBUI = (
    'if not defined VENV_DIR (set "VENV_DIR=%~dp0%venv")', "set PYTHON=python", '%PYTHON% -c ""',
    "if %ERRORLEVEL% == 0 goto :start", "goto :failed", ":start",
    'if ["%VENV_DIR%"] == ["-"] goto :skip', 'dir "%VENV_DIR%\\Scripts\\python.exe"',
    "if %ERRORLEVEL% == 0 goto :activate", "python -m venv %VENV_DIR%", ":activate",
    'set PYTHON="%VENV_DIR%\\Scripts\\python.exe"', 'call "%VENV_DIR%\\Scripts\\activate.bat"', ":skip",
    'if [%ACCELERATE%] == ["True"] goto :accelerate', "goto :launch", ":accelerate", "exit /b", ":launch",
    "%PYTHON% train.py", "exit /b", ":failed", "echo failed",
)  # fmt: skip
"""After webui.bat of AUTOMATIC1111's web interface."""


@pytest.mark.parametrize(
    ("first", "second", "python"),
    [
        ("set VENV_DIR=C:\\ml", "rem", PYTHON),
        ("set VENV_DIR=-", "rem", OTHER + r"\python.exe"),
        ("set VENV_DIR=-", "if %1==x goto nowhere", OTHER + r"\python.exe"),
        ("goto ours", "rem", ""),
    ],
)
def test_jumps_that_are_decided_are_followed(first: str, second: str, python: str, machine: Path) -> None:
    put_other_python(machine)
    put(machine, PROJECT + r"\web.bat", "\r\n".join((second, *WEBUI)))
    put(machine, PROJECT + r"\user.bat", "\r\n".join((first, "call web.bat", "exit /b", ":ours", "echo ours")))
    its = request(machine, system="windows", env={**ENV, "Path": ENV["Path"] + ";" + OTHER})
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,))
    ways = [w for w in windows_ways(ground) if w.at.endswith("user.bat")]
    runs = [(one.path, one.lacks) for w in ways for one in w.runs]
    assert [w.prefix for w in ways] == ([""] if "Other" in python else [ML.prefix] if python else [])
    assert runs == ([(python, ("torch",))] if "Other" in python else [])


@pytest.mark.parametrize(
    ("command", "arguments", "fault", "name"),
    [
        (f"{PYTHON} {PROJECT}\\train.py", "", "no command", f"{PYTHON} {PROJECT}\\train.py"),
        (PYTHON, rf"{PROJECT}\train.py", "", ""),
        ("cmd.exe", rf"/c &quot;{MINE}&quot; &quot;C:\my project\train.py&quot;", "marks", MINE),
        ("cmd.exe", rf"/c &quot;&quot;{MINE}&quot; &quot;C:\my project\train.py&quot;&quot;", "", ""),
        ("cmd.exe", rf"/c &quot;{MINE}&quot; {PROJECT}\train.py", "", ""),
        (rf"{PROJECT}\train.py", "", "imports", "python.exe"),
    ],
)
def test_a_task_starts_what_its_fields_say(command: str, arguments: str, fault: str, name: str, machine: Path) -> None:
    put(machine, r"C:\Python\python.exe", "MZ")
    put(machine, r"C:\my project\train.py", "import torch\n")
    put(machine, TASK, NIGHTLY.format(command=command, arguments=arguments, folder=PROJECT))
    its = request(machine, system="windows", env=ENV)
    ground = replace(ground_of(its, sysroot_of(its.host), r"C:\elsewhere"), pythons=(ML, mine(machine)))
    ways = [w for w in windows_ways(replace(ground, registered=(r"C:\Python",))) if w.kind == "task"]
    assert [(one.fault or one.why, one.name) for w in ways for one in w.runs] == ([(fault, name)] if fault else [])
    assert ways


@pytest.mark.parametrize(
    ("command", "args", "fault"),
    [(f"{PYTHON} {PROJECT}\\train.py", [], "no command"), (PYTHON, [PROJECT + r"\train.py"], "")],
)
def test_a_server_of_an_assistant_with_its_arguments_in_one_field(
    command: str, args: list[str], fault: str, machine: Path
) -> None:
    file = ENV["APPDATA"] + r"\Claude\claude_desktop_config.json"
    put(machine, file, json.dumps({"mcpServers": {"captions": {"command": command, "args": args}}}))
    assert [f for f, _name, _source in told(machine)] == ([fault] if fault else [])


READS = "import torch\nimport json\n{first}with open('config.json') as f:\n    config = json.load(f)\n"


@pytest.mark.parametrize(
    ("text", "folder", "fault"),
    [
        (READS.format(first=""), "", "not in this folder"),
        (READS.format(first=""), PROJECT, ""),
        (READS.format(first="import os\nos.chdir(os.path.dirname(__file__))\n"), "", ""),
        ("import torch\nfrom pathlib import Path\nrows = Path('config.json').read_text()\n", "", "not in this folder"),
        ("import torch\nfrom pathlib import Path\nHERE = Path(__file__).parent\nrows = (HERE / 'config.json').read_text()\n", "", ""),
        ("import torch\ntry:\n    rows = open('config.json').read()\nexcept OSError:\n    rows = ''\n", "", ""),
        ("import torch\nweights = torch.load('config.json')\n", "", "not in this folder"),
        ("import torch\nimport tensorflow as tf\nmodel = tf.keras.models.load_model('config.json')\n", "", "not in this folder"),
        ("import torch\nout = open('config.json', 'w')\n", "", ""),
        ("import torch\ntorch.save({}, 'config.json')\n", "", ""),
        ("import torch\n\ndef load():\n    return open('config.json').read()\n", "", ""),
    ],
)  # fmt: skip
def test_a_file_that_a_task_opens_by_a_relative_path(text: str, folder: str, fault: str, machine: Path) -> None:
    put(machine, PROJECT + r"\config.json", "{}")
    put(machine, PROJECT + r"\train.py", text)
    put(machine, TASK, NIGHTLY.format(command=PYTHON, arguments=PROJECT + r"\train.py", folder=folder))
    assert told(machine) == ([(fault, "config.json", "System32")] if fault else [])


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({}, True),
        ({"cwd": "${workspaceFolder}\\sub"}, False),
        ({"cwd": "${fileDirname}"}, False),
        ({"cwd": PROJECT}, True),
    ],
)
def test_a_file_that_an_editor_starts_a_program_beside(more: dict[str, str], fault: bool, machine: Path) -> None:
    put(machine, PROJECT + r"\sub\config.json", "{}")
    put(machine, PROJECT + r"\sub\train.py", READS.format(first=""))
    row = {"type": "debugpy", "python": PYTHON, "program": r"${workspaceFolder}\sub\train.py", **more}
    put(machine, PROJECT + r"\.vscode\launch.json", json.dumps({"configurations": [row]}))
    assert told(machine) == [("not in this folder", "config.json", "project")] * fault


BAR = "import torch\nfrom tqdm import tqdm\n{first}for n in tqdm(range(3){more}):\n    pass\n"


@pytest.mark.parametrize(
    ("text", "python", "stream"),
    [
        (BAR.format(first="", more=""), "pythonw.exe", "sys.stderr"),
        (BAR.format(first="", more=""), "python.exe", ""),
        (BAR.format(first="", more=", disable=True"), "pythonw.exe", ""),
        (BAR.format(first="import sys\nsys.stderr = sys.stdout = open('log', 'w')\n", more=""), "pythonw.exe", ""),
        ("import torch\nimport voices\n", "pythonw.exe", "sys.stdout"),
        ("import torch\nprint('ready')\n", "pythonw.exe", ""),
        ("import torch\nimport sys\nCOLOUR = sys.stdout.isatty() if sys.stdout else False\n", "pythonw.exe", ""),
        ("import torch\nimport sys\n\ndef say():\n    sys.stdout.write('a')\n", "pythonw.exe", ""),
        ("import torch\nimport sys\nsys.stdout.reconfigure(encoding='utf-8')\n", "pythonw.exe", "sys.stdout"),
    ],
)
def test_a_stream_that_a_program_without_a_console_has_not(text: str, python: str, stream: str, machine: Path) -> None:
    site = ML.site_packages[0]
    put(machine, site + r"\voices\__init__.py", "import sys\n\nIS_TERMINAL = sys.stdout.isatty()\n")
    put(machine, r"C:\ml\Scripts\pythonw.exe", "MZ")
    put(machine, PROJECT + r"\train.py", text)
    put(machine, PROJECT + r"\run.bat", rf"start C:\ml\Scripts\{python} train.py")
    assert [(f, n) for f, n, _source in told(machine)] == ([("no console", stream)] if stream else [])


@pytest.mark.parametrize(
    ("text", "itself", "fault"),
    [
        ("import torch\n", True, "no service"),
        ("import torch\n", False, ""),
        ("import servicemanager\nimport torch\n", True, ""),
    ],
)
def test_a_python_that_windows_starts_as_a_service(text: str, itself: bool, fault: str, machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", text)
    key, command = r"HKLM\SYSTEM\CurrentControlSet\Services\Captions", f"{PYTHON} {PROJECT}\\train.py"
    service = RegisteredStart(kind="service", key=key, command=command, itself=itself)
    assert told(machine, registered=(service,)) == ([(fault, "train.py", "Captions")] if fault else [])


def test_a_service_whose_class_lies_beside_its_program(machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", "import torch\nimport serving\n")
    put(machine, PROJECT + r"\serving.py", "import win32serviceutil\n")
    key, command = r"HKLM\SYSTEM\CurrentControlSet\Services\Captions", f"{PYTHON} {PROJECT}\\train.py"
    assert not told(machine, registered=(RegisteredStart(kind="service", key=key, command=command, itself=True),))


@pytest.mark.parametrize(
    ("line", "lacks"),
    [
        (rf"Set-Alias python {OTHER}\python.exe", True),
        (rf"function python {{ & {OTHER}\python.exe @args }}", True),
        (f"Set-Alias -Name python -Value {PYTHON}", False),
        (rf"Set-Alias python3 {OTHER}\python.exe", False),
    ],
)
def test_what_a_profile_names_python(line: str, lacks: bool, machine: Path) -> None:
    put_other_python(machine)
    put(machine, r"C:\Users\ada\Documents\WindowsPowerShell\profile.ps1", f"{line}\r\n")
    put(machine, PROJECT + r"\run.ps1", "python train.py\r\n")
    seen = told(machine, r"C:\ml\Scripts;" + ENV["Path"])
    assert [f for f, _name, _source in seen] == (["imports"] if lacks else [])


@pytest.mark.parametrize(
    ("name", "text", "lacks"),
    [
        ("Makefile", "PY = C:/Other/python.exe\n\ntrain:\n\t$(PY) train.py\n", True),
        ("Makefile", "PY = C:/ml/Scripts/python.exe\n\ntrain:\n\t$(PY) train.py\n", False),
        ("Makefile", "train:\n\tsource venv/bin/activate && C:/Other/python.exe train.py\n", False),
        ("justfile", "train:\n    C:/Other/python.exe train.py\n", True),
        ("app.code-workspace", '{"settings": {"python.defaultInterpreterPath": "C:\\\\Other\\\\python.exe"}}', True),
        ("app.code-workspace", '{"settings": {"python.defaultInterpreterPath": "C:\\\\ml\\\\Scripts\\\\python.exe"}}', False),
        ("run.bat", "for /f \"delims=\" %%i in ('where python') do set PY=%%i\r\n\"%PY%\" train.py\r\n", True),
    ],
)  # fmt: skip
def test_files_that_name_another_python(name: str, text: str, lacks: bool, machine: Path) -> None:
    put_other_python(machine)
    put(machine, PROJECT + r"\train.py", "import torch\n\nprint(torch.ones(3))\n")
    put(machine, rf"{PROJECT}\{name}", text)
    assert [f for f, _name, _source in told(machine, rf"C:\ml\Scripts;{OTHER}")] == (["imports"] if lacks else [])


def test_what_ipython_and_flask_read_counts_on_windows(machine: Path) -> None:
    for package in ("IPython", "flask", "dotenv"):
        put(machine, rf"{ML.site_packages[0]}\{package}\__init__.py", "")
    start = r"C:\Users\ada\.ipython\profile_default\startup\00-gpu.py"
    put(machine, start, "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '-1'\n")
    put(machine, PROJECT + r"\.flaskenv", "CUDA_VISIBLE_DEVICES=-1\n")
    its = request(machine, system="windows", env={**ENV, **HOME})
    its = replace(its, seen=replace(its.seen, machine=replace(its.seen.machine, home=HOME["USERPROFILE"])))
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,))
    seen = {w.kind: w.at for w in windows_ways(ground) if w.state.values.get("CUDA_VISIBLE_DEVICES") == "-1"}
    assert seen == {"ipython": start, "task": PROJECT + r"\.flaskenv: flask"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\npythonpath = ../old/Lib/site-packages\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["../old/Lib/site-packages"]\n'),
    ],
)
def test_what_pytest_searches_on_windows(machine: Path, name: str, text: str) -> None:
    put(machine, rf"{ML.site_packages[0]}\pytest\__init__.py", "")
    put(machine, rf"{PROJECT}\{name}", text)
    put(machine, PROJECT + r"\tests\test_train.py", "import torch\n")
    its = request(machine, system="windows", env=ENV)
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,))
    (way,) = [w for w in windows_ways(ground) if w.at.endswith(": pytest")]
    assert way.state.values[SYS_PATH].split(";") == [PROJECT + r"\tests", r"C:\old\Lib\site-packages"]
    assert (way.at, way.prefix) == (rf"{PROJECT}\{name}: pytest", ML.prefix)


def test_what_sitecustomize_sets_on_windows(machine: Path) -> None:
    file = rf"{ML.site_packages[0]}\sitecustomize.py"
    put(machine, file, "import os\nos.environ['HF_HOME'] = 'K:\\\\hf'\nos.environ['PATH'] = 'C:\\\\none'\n")
    its = request(machine, system="windows", env=ENV)
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,))
    (way,) = [w for w in windows_ways(ground) if w.at == f"{file}: python"]
    assert (way.state.values["HF_HOME"], [*way.state.lines]) == (r"K:\hf", ["HF_HOME"])


def test_a_script_in_the_startup_folder_is_opened_by_the_launcher(machine: Path) -> None:
    put(machine, r"C:\Python\python.exe", "MZ")
    put(machine, STARTUP + r"\tray.pyw", "import torch\n")
    its = request(machine, system="windows", env={**ENV, **HOME})
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,), registered=(r"C:\Python",))
    runs = [(w.kind, one.path, one.lacks) for w in windows_ways(ground) for one in w.runs]
    assert runs == [("launcher", r"C:\Python\python.exe", ("torch",))]


@pytest.mark.parametrize(("name", "fault"), [("streamlit.bat", "itself"), ("run.bat", "")])
def test_a_batch_file_with_the_name_of_its_command(name: str, fault: str, machine: Path) -> None:
    put(machine, r"C:\ml\Scripts\streamlit.exe", f"MZ\n#!{PYTHON}\r\nPK\x03\x04")
    put(machine, rf"{PROJECT}\{name}", "call C:\\ml\\Scripts\\activate.bat\r\nstreamlit run train.py\r\n")
    assert told(machine) == ([(fault, "streamlit", f"{name}:2")] if fault else [])


@pytest.mark.parametrize(("shim", "torch"), [(OTHER + r"\python.exe", False), (PYTHON, True)])
def test_scoops_shim_leads_to_the_program_that_it_names(shim: str, torch: bool, machine: Path) -> None:
    put_other_python(machine)
    put(machine, r"C:\scoop\shims\python.exe", "MZ")
    put(machine, r"C:\scoop\shims\python.shim", f'path = "{shim}"\r\n')
    put(machine, PROJECT + r"\run.bat", "python train.py\r\n")
    assert [f for f, _name, _source in told(machine, r"C:\scoop\shims")] == ([] if torch else ["imports"])


@pytest.mark.parametrize(
    ("wanted", "lacks"), [("3.11.9", False), ("3.10.11", True)], ids=["one that has it", "one that has not"]
)
def test_pyenvs_shim_leads_to_the_version_of_the_folder(wanted: str, lacks: bool, machine: Path) -> None:
    root = r"C:\Users\ada\.pyenv\pyenv-win"
    for version, minor in (("3.11.9", 11), ("3.10.11", 10)):
        for file in ("python.exe", f"python3{minor}.dll", r"Lib\os.py"):
            put(machine, rf"{root}\versions\{version}\{file}", "MZ")
    put(machine, root + r"\versions\3.11.9\Lib\site-packages\torch\__init__.py", "")
    put(machine, root + r"\version", "3.10.11\n")
    put(machine, root + r"\shims\python.bat", "@echo off\r\ncall pyenv exec %~n0 %*\r\n")
    put(machine, PROJECT + r"\.python-version", f"{wanted}\n")
    put(machine, PROJECT + r"\run.bat", "python train.py\r\n")
    assert [f for f, _name, _source in told(machine, root + r"\shims")] == (["imports"] if lacks else [])


@pytest.mark.parametrize(
    ("line", "dead"),
    [("call conda activate ml", True), ("call mamba activate ml", True), ("call conda run -n ml python x.py", False)],
)
def test_condas_bare_program_activates_nothing(line: str, dead: bool, machine: Path) -> None:
    put_other_python(machine)
    base = r"C:\conda"
    for prefix in (base, base + r"\envs\ml"):
        for file in ("python.exe", "python311.dll", r"Lib\os.py", r"conda-meta\history"):
            put(machine, rf"{prefix}\{file}", "")
    site = base + r"\envs\ml\Lib\site-packages"
    put(machine, site + r"\torch\__init__.py", "")
    for name in ("conda.exe", "mamba.exe"):
        put(machine, rf"{base}\Scripts\{name}", "MZ")
    ml = replace(ML, prefix=base + r"\envs\ml", kind="conda", site_packages=(site,))
    put(machine, PROJECT + r"\run.bat", f"{line}\r\npython train.py\r\n" if dead else f"{line}\r\n")
    seen = told(machine, rf"{OTHER};{base}\Scripts", ml)
    assert [f for f, _name, _source in seen] == (["imports"] if dead else [])
