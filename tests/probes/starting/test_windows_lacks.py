r"""What a start on Windows keeps from its program: modules, variables and tools, read in a folder that stands for C:\."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment, RegisteredStart, StartedPython, Variable
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.starters import starter_ways
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request
from tests.probes.starting.test_windows import ENV, put

PROJECT, PYTHON, LIBS = r"C:\project", r"C:\ml\Scripts\python.exe", r"C:\libs"
SITE, OTHER = r"C:\ml\Lib\site-packages", r"C:\Python311\python.exe"
ML = PythonEnvironment(
    prefix=r"C:\ml",
    kind="venv",
    version="3.11.9",
    executable=PYTHON,
    site_packages=(SITE,),
    distributions=(
        Distribution(name="openai-whisper", version="20240930", location=SITE),
        Distribution(name="torch", version="2.6.0", location=SITE),
    ),
)
USES = "import audiotools\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    put(tmp_path, r"C:\ml\pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.9\n")
    put(tmp_path, r"C:\ml\Scripts\activate.bat", '@set "PATH=C:\\ml\\Scripts;%PATH%"\r\n')
    put(tmp_path, SITE + r"\whisper\__init__.py", "")
    put(tmp_path, SITE + r"\torch\__init__.py", "")
    for file in (r"C:\Python311\python311.dll", r"C:\Python311\Lib\os.py", OTHER, PYTHON):
        put(tmp_path, file, "MZ")
    put(tmp_path, LIBS + r"\audiotools\__init__.py", "")
    return tmp_path


def told(root: Path, *lines: str, env: dict[str, str] | None = None) -> list[StartedPython]:
    put(root, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines)))
    its = request(root, system="windows", env=ENV | (env or {}))
    found = windows_ways(replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,)))
    return [one for way in found if way.kind == "script" for one in way.runs]


@pytest.mark.parametrize(
    ("lines", "fault", "source"),
    [
        ((f"setx PYTHONPATH {LIBS} >nul",), "line without effect", r"C:\project\run.bat:2"),
        ((f"set PYTHONPATH={LIBS}",), "", ""),
        ((f'set PYTHONPATH="{LIBS}"',), "line without effect", r"C:\project\run.bat:2"),
        ((f'set "PYTHONPATH={LIBS}"',), "", ""),
        ((f"export PYTHONPATH={LIBS}",), "line without effect", r"C:\project\run.bat:2"),
        (("call env.bat",), "line without effect", r"C:\project\env.bat:2"),
        (("call other.bat",), "", ""),
        (
            ('for /f "usebackq tokens=1,* delims==" %%a in (".env") do set %%a=%%b',),
            "line without effect",
            r"C:\project\.env:2",
        ),
        (('for /f "tokens=1,* delims==" %%i in (good.env) do set "%%i=%%j"',), "", ""),
        (("for /f \"delims=\" %%i in ('type good.env') do set %%i",), "", ""),
    ],
)
def test_a_line_for_pythonpath_that_does_not_do_what_it_seems_to(
    lines: tuple[str, ...], fault: str, source: str, machine: Path
) -> None:
    put(machine, PROJECT + r"\train.py", USES)
    put(machine, PROJECT + r"\env.bat", f"@setlocal\r\n@set PYTHONPATH={LIBS}\r\n")
    put(machine, PROJECT + r"\other.bat", f"@set PYTHONPATH={LIBS}\r\n")
    put(machine, PROJECT + r"\.env", f'# where they are\nPYTHONPATH="{LIBS}"\n')
    put(machine, PROJECT + r"\good.env", f"PYTHONPATH={LIBS}\n")
    runs = told(machine, *lines, f"{PYTHON} train.py")
    assert [(one.fault, one.source, one.lacks) for one in runs] == ([(fault, source, ("audiotools",))] if fault else [])


@pytest.mark.parametrize(
    ("option", "lost"), [("-E", ("audiotools",)), ("-I", ("audiotools",)), ("-s", ()), ("-B", ()), ("-m runpy", ())]
)
def test_an_option_that_leaves_pythonpath_out(option: str, lost: tuple[str, ...], machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", USES)
    runs = told(machine, f"set PYTHONPATH={LIBS}", f"{PYTHON} {option} train.py")
    assert [(one.fault, one.name, one.lacks) for one in runs] == ([("not searched", option, lost)] if lost else [])


@pytest.mark.parametrize(
    ("line", "activated"),
    [
        ("call ml/Scripts/activate.bat", False),
        ("ml/Scripts/activate.bat", False),
        ('call "ml/Scripts/activate.bat"', True),
        (r"call ml\Scripts\activate.bat", True),
    ],
)
def test_cmd_exe_ends_a_name_at_a_slash(line: str, activated: bool, machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", "import torch\n")
    runs = told(machine, "cd /d C:\\", line, r"python C:\project\train.py", env={"Path": r"C:\Python311;C:\Windows"})
    assert [(one.path, one.dead) for one in runs] == ([] if activated else [(OTHER, line.removeprefix("call "))])


@pytest.mark.parametrize(
    ("line", "dead"),
    [
        (r"cmd /k C:\ml\Scripts\activate.bat", True),
        (r"cmd.exe /c C:\ml\Scripts\activate", True),
        (r'start "" C:\ml\Scripts\activate.bat', True),
        (r"powershell -File C:\ml\Scripts\Activate.ps1", True),
        (r"C:\ml\bin\activate", True),
        (r"call C:\ml\Scripts\activate", False),
    ],
)
def test_an_activation_in_a_process_of_its_own(line: str, dead: bool, machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", "import torch\n")
    put(machine, r"C:\ml\Scripts\Activate.ps1", '$env:PATH="C:\\ml\\Scripts;$env:PATH"\n')
    runs = told(machine, line, "python train.py", env={"Path": r"C:\Python311;C:\Windows"})
    assert [(one.path, one.dead) for one in runs] == ([(OTHER, line)] if dead else [])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("../ml/Scripts/python.exe train.py", "no command"),
        ('"../ml/Scripts/python.exe" train.py', ""),
        (r'start "x" cmd /k "C:\ml\Scripts\activate.bat & python train.py"', ""),
        (r"C:/ml/Scripts/python.exe train.py", ""),
    ],
)
def test_a_start_by_slashes_or_in_another_window(line: str, fault: str, machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", "import torch\n")
    assert [one.fault for one in told(machine, line)] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ((r"cd /d C:\Müller",), "batch in UTF-8"),
        (("chcp 65001 >nul", r"cd /d C:\Müller"), ""),
        (("rem für später", r"cd /d C:\Mueller"), ""),
    ],
)
def test_a_batch_file_in_utf_8(lines: tuple[str, ...], fault: str, machine: Path) -> None:
    for folder in ("Müller", "Mueller"):
        put(machine, rf"C:\{folder}\train.py", "import whisper\n")
    assert [one.fault for one in told(machine, *lines, f"{PYTHON} train.py")] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("account", "program", "lacks"),
    [
        ("", "import os\nimport whisper\n\nkey = os.environ['HF_TOKEN']\n", [("variable not set", "HF_TOKEN")]),
        ("ada", "import os\nimport whisper\n\nkey = os.environ['HF_TOKEN']\n", []),
        ("", "import os\nimport whisper\n\nroot = os.environ['SYSTEMROOT']\n", []),
        ("", "import whisper\n\nprint(whisper.load_audio('talk.wav'))\n", [("not of this account", "ffmpeg")]),
        ("ada", "import whisper\n\nprint(whisper.load_audio('talk.wav'))\n", []),
        (
            "ada",
            "import subprocess\nimport whisper\n\nsubprocess.run(['yt-dlp', 'x'])\n",
            [("tool not in PATH", "yt-dlp")],
        ),
        ("ada", "import subprocess\nimport whisper\n\nsubprocess.run(['ffmpeg', 'x'])\n", []),
        ("ada", "import subprocess\nimport whisper\n\nsubprocess.run(['python', '-V'])\n", []),
    ],
)
def test_a_service_of_another_account_lacks_variables_and_tools(
    account: str, program: str, lacks: list[tuple[str, str]], machine: Path
) -> None:
    put(machine, PROJECT + r"\serve.py", program)
    put(machine, r"C:\ffmpeg\bin\ffmpeg.exe", "MZ")
    put(machine, ML.prefix + r"\Scripts\yt-dlp.exe", "MZ")
    env = ENV | {"Path": r"C:\Windows;C:\ffmpeg\bin", "HF_TOKEN": "hf_x"}
    its = request(machine, system="windows", env=env)
    ground = ground_of(its, sysroot_of(its.host), PROJECT)
    service = RegisteredStart(
        kind="service", key=r"HKLM\x", command=f"{PYTHON} serve.py", folder=PROJECT, account=account or "LocalSystem"
    )
    machines = (
        Variable(name="SystemRoot", value=r"C:\Windows", scope="machine", kind="REG_SZ"),
        Variable(name="Path", value=r"C:\Windows", scope="machine", kind="REG_SZ"),
    )
    ground = replace(ground, person=replace(ground.person, name="ada"), pythons=(ML,))
    (way,) = starter_ways(ground, (service,), machines)
    assert [(one.fault, one.name) for one in way.runs] == lacks


@pytest.mark.parametrize(
    ("program", "given"),
    [
        ("import os\nos.environ['HF_HOME'] = r'K:\\ai'\nimport torch\n", {"HF_HOME": r"K:\ai"}),
        ("import os\nimport torch\nos.environ['HF_HOME'] = r'K:\\ai'\n", {}),
        ("from dotenv import load_dotenv\nload_dotenv()\nimport torch\n", {"HF_HOME": r"D:\hub"}),
        ("import settings\nimport torch\n", {"KERAS_BACKEND": "torch"}),
        ("import os\nos.environ['SYSTEMROOT'] = 'C:'\nimport torch\n", {}),
        ("import sys\nsys.path.insert(0, r'C:\\old')\nimport torch\n", {"sys.path": r"C:\old"}),
    ],
)
def test_what_a_program_gives_itself(program: str, given: dict[str, str], machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", program)
    put(machine, PROJECT + r"\settings.py", "import os\nos.environ.setdefault('KERAS_BACKEND', 'torch')\n")
    put(machine, PROJECT + r"\.env", "HF_HOME=D:\\hub\n")
    put(machine, r"C:\old\torch\__init__.py", "")
    put(machine, SITE + r"\dotenv\__init__.py", "")
    its = request(machine, system="windows", env=ENV)
    found = windows_ways(replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,)))
    ways = [w for w in found if w.at == PROJECT + r"\train.py"]
    assert {n: w.state.values[n] for w in ways for n in w.state.lines} == given


@pytest.mark.parametrize(
    ("line", "kind", "path", "told_there"),
    [
        ("accelerate launch train.py", "other", r"C:\Windows", True),
        ("accelerate launch train.py", "other", r"C:\Users\ada\AppData\Roaming\Python\Python311\Scripts", False),
        ("accelerate launch train.py", "venv", r"C:\Windows", False),
        (r"C:\ml\Scripts\python.exe train.py", "other", r"C:\Windows", False),
        ("git pull", "other", r"C:\Windows", False),
    ],
)
def test_a_command_of_a_package_that_path_does_not_lead_to(
    line: str, kind: str, path: str, told_there: bool, machine: Path
) -> None:
    put(machine, PROJECT + r"\train.py", "import os\n")
    scripts = r"C:\Users\ada\AppData\Roaming\Python\Python311\Scripts"
    file = machine / f"{scripts}\\accelerate.exe".replace("\\", "/")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"MZ" + f"#!{OTHER}\r\n".encode() + b"PK\x03\x04")
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\n{line}\r\n")
    its = request(machine, system="windows", env=ENV | {"Path": path})
    users = r"C:\Users\ada\AppData\Roaming\Python\Python311\site-packages"
    python = PythonEnvironment(
        prefix=r"C:\Python311", kind=kind, version="3.11.9", executable=OTHER, site_packages=(users,)
    )
    ground = replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(python, ML))
    runs = [one for way in windows_ways(ground) if way.kind == "script" for one in way.runs]
    assert [(one.fault, one.name) for one in runs] == ([("no command", "accelerate")] if told_there else [])
