r"""Starts on Windows that end before their program runs, read in a folder that stands for C:\."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, PythonEnvironment, RegisteredStart, StartedPython
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write
from tests.probes.starting.test_windows import ENV, put

PROJECT, PYTHON = r"C:\project", r"C:\ml\Scripts\python.exe"
SITE = r"C:\ml\Lib\site-packages"
ML = PythonEnvironment(
    prefix=r"C:\ml",
    kind="venv",
    version="3.11.9",
    executable=PYTHON,
    site_packages=(SITE,),
    distributions=(Distribution(name="torch", version="2.6.0", location=SITE),),
)
ALIASES = r"C:\Users\ada\AppData\Local\Microsoft\WindowsApps"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    put(tmp_path, r"C:\ml\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    put(tmp_path, r"C:\ml\Scripts\activate.bat", '@set "PATH=C:\\ml\\Scripts;%PATH%"\r\n')
    put(tmp_path, SITE + r"\torch\__init__.py", "")
    put(tmp_path, r"C:\Python\python311.dll", "")
    put(tmp_path, r"C:\Python\Lib\os.py", "")
    put(tmp_path, PYTHON, "MZ")
    put(tmp_path, PROJECT + r"\train.py", "import torch\n")
    return tmp_path


def ended(
    root: Path, path: str = ENV["Path"], *pythons: PythonEnvironment, folder: str = PROJECT, **env: str
) -> list[StartedPython]:
    its = request(root, system="windows", env={**ENV, "Path": path, **env})
    ground = ground_of(its, sysroot_of(its.host), folder)
    found = windows_ways(replace(ground, pythons=pythons or (ML,)))
    return [one for w in found if w.kind == "script" for one in w.runs]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ((r"C:\ml\Scripts\activate.bat", "python train.py"), 2),
        ((r"call C:\ml\Scripts\activate.bat", "python train.py"), 0),
        ((r"C:\ml\Scripts\activate.bat && python train.py",), 0),
        ((rf"{PYTHON} train.py", r"C:\ml\Scripts\activate.bat"), 0),
        ((r"if exist x C:\ml\Scripts\activate.bat", f"{PYTHON} train.py"), 0),
        (("goto run", r"C:\ml\Scripts\activate.bat", ":run", f"{PYTHON} train.py"), 0),
        ((r"cmd /c C:\ml\Scripts\activate.bat", f"{PYTHON} train.py"), 0),
    ],
)
def test_a_batch_file_does_not_come_back_from_another(lines: tuple[str, ...], line: int, machine: Path) -> None:
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines)))
    told = [(one.fault, one.source) for one in ended(machine)]
    assert told == ([("without call", rf"C:\project\run.bat:{line}")] if line else [])


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (r"%ART%\venv\Scripts\python.exe -B train.py", r"C:\AI Art\venv\Scripts\python.exe"),
        (r'"%ART%\venv\Scripts\python.exe" -B train.py', ""),
        (rf"{PYTHON} -B %ART%\train.py --epochs 2", r"C:\AI Art\train.py"),
        (rf'{PYTHON} -B "%ART%\train.py" --epochs 2', ""),
        (rf"{PYTHON} -B train.py and notes.py", ""),
        (rf"{PYTHON} -W ignore %ART%\train.py", r"C:\AI Art\train.py"),
    ],
)
def test_a_path_without_quotation_marks_ends_at_a_blank(line: str, path: str, machine: Path) -> None:
    home = r"C:\AI Art\venv"
    site = home + r"\Lib\site-packages"
    art = replace(ML, prefix=home, executable=home + r"\Scripts\python.exe", site_packages=(site,))
    put(machine, site + r"\torch\__init__.py", "")
    for name in (r"\pyvenv.cfg", r"\Scripts\python.exe"):
        put(machine, home + name, "home = C:\\Python\n")
    put(machine, r"C:\AI Art\train.py", "import torch\n")
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", r"set ART=C:\AI Art", line)))
    told = [(one.fault, one.program, one.source) for one in ended(machine, ENV["Path"], ML, art)]
    assert told == ([("blank", path, r"C:\project\run.bat:3")] if path else [])


OTHER = r"C:\Other"


def put_other_python(machine: Path) -> None:
    put(machine, OTHER + r"\python.exe", "MZ")
    put(machine, OTHER + r"\python311.dll", "")
    put(machine, OTHER + r"\Lib\os.py", "")


GONE = r"venv\Scripts\activate.bat"


@pytest.mark.parametrize(
    ("lines", "fault", "line", "name"),
    [
        ((f"call {GONE} || exit /b 1", "python train.py"), "exits", 2, f"call {GONE}"),
        ((f"call {GONE} || (echo no environment & exit /b 1)", "python train.py"), "exits", 2, f"call {GONE}"),
        ((f"call {GONE} || goto :eof", "python train.py"), "exits", 2, f"call {GONE}"),
        ((f"call {GONE} || goto fail", "python train.py", "exit /b 0", ":fail", "echo no"), "exits", 2, f"call {GONE}"),
        ((f"call {GONE}", "if errorlevel 1 exit /b 1", "python train.py"), "exits", 3, f"call {GONE}"),
        ((f"call {GONE}", "if %errorlevel% neq 0 (", "  echo no", "  exit /b 1", ")", "python train.py"), "exits", 5, f"call {GONE}"),
        ((f"call {GONE}", 'if not "%ERRORLEVEL%"=="0" (', "  exit /b 1", ")", "python train.py"), "exits", 4, f"call {GONE}"),
        (("if not exist venv\\Scripts\\python.exe (", "  exit /b 1", ")", "venv\\Scripts\\python.exe train.py"), "exits", 3, "venv\\Scripts\\python.exe"),
        (('if not exist "venv" exit /b 1', "python train.py"), "exits", 2, "venv"),
        (('if not exist "venv" echo no & exit /b 1', "python train.py"), "exits", 2, "venv"),
        ((rf"call C:\ml\{GONE[5:]} || exit /b 1", "python train.py"), "", 0, ""),
        ((rf"call C:\ml\{GONE[5:]}", "if errorlevel 1 exit /b 1", "python train.py"), "", 0, ""),
        (("if not exist train.py exit /b 1", f"{PYTHON} train.py"), "", 0, ""),
        (("if not exist venv python -m venv venv", "if not exist venv exit /b 1", f"{PYTHON} train.py"), "", 0, ""),
        (("if not exist venv call install.bat", f"call {GONE} || exit /b 1", f"{PYTHON} train.py"), "", 0, ""),
        (("if not exist venv (", "  echo Run install.bat first.", "  exit /b 1", ")", "python train.py"), "exits", 4, "venv"),
        (("if not exist models exit /b 1", f"{PYTHON} train.py"), "", 0, ""),
        ((r"if not exist %MY_VENV%\Scripts\activate.bat exit /b 1", f"{PYTHON} train.py"), "", 0, ""),
        ((r"call %MY_VENV%\Scripts\activate.bat || exit /b 1", f"{PYTHON} train.py"), "", 0, ""),
        (("if exist train.py (", "  exit /b 1", ")", "venv\\Scripts\\python.exe train.py"), "", 0, ""),
        (("if not exist venv (", "  python -m venv venv", ")", f"{PYTHON} train.py"), "", 0, ""),
        (("goto start", "if not exist venv exit /b 1", ":start", f"{PYTHON} train.py"), "", 0, ""),
        ((f"call {GONE} || goto next", "exit /b 1", ":next", f"{PYTHON} train.py"), "", 0, ""),
        ((f"call {GONE} && exit /b 0", f"{PYTHON} train.py"), "", 0, ""),
        ((f"CUDA_VISIBLE_DEVICES=0 {PYTHON} train.py",), "no command", 2, "CUDA_VISIBLE_DEVICES=0"),
        ((f"set CUDA_VISIBLE_DEVICES=0 && {PYTHON} train.py",), "", 0, ""),
        (("conda run -n ml python train.py",), "no command", 2, "conda"),
        ((r"cd D:\work", f"{PYTHON} go.py"), "not in this folder", 0, "go.py"),
        ((r"cd D:\work", r".venv\Scripts\python.exe go.py"), "not in this folder", 0, r".venv\Scripts\python.exe"),
        ((r"cd /d D:\work", f"{PYTHON} go.py"), "", 0, ""),
        ((r"cd D:\work", "D:", f"{PYTHON} go.py"), "", 0, ""),
        ((r"pushd D:\work", f"{PYTHON} go.py"), "", 0, ""),
        (("conda run --no-capture-output -n ml python -m pip list",), "", 0, ""),
    ],
)  # fmt: skip
def test_a_batch_file_gives_up_before_its_program(
    lines: tuple[str, ...], fault: str, line: int, name: str, machine: Path
) -> None:
    put_other_python(machine)
    put(machine, r"D:\work\go.py", "import torch\n")
    put(machine, r"D:\work\.venv\Scripts\python.exe", "MZ")
    put(machine, r"D:\work\.venv\pyvenv.cfg", "home = C:\\Python\n")
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines)))
    work = replace(ML, prefix=r"D:\work\.venv", executable=r"D:\work\.venv\Scripts\python.exe")
    told = [
        (one.fault, one.source, one.name, one.seems) for one in ended(machine, f"{ENV['Path']};{OTHER}", ML, work)[:1]
    ]
    source = rf"C:\project\run.bat:{line}" if line else PROJECT
    assert told == (
        [(fault, source, name, r"D:\work\.venv" if "venv" in name and not line else r"C:\ml")] if fault else []
    )


@pytest.mark.parametrize(
    ("first", "gone"),
    [("setlocal EnableDelayedExpansion", r"C:\art\venv\Scripts\python.exe"), ("setlocal", "")],
)
def test_an_exclamation_mark_is_taken_from_a_path(first: str, gone: str, machine: Path) -> None:
    for name in (r"\pyvenv.cfg", r"\Scripts\python.exe"):
        put(machine, r"C:\art!\venv" + name, "home = C:\\Python\n")
    python = "!PY!" if gone else "%PY%"
    lines = (first, r'set "PY=C:\art!\venv\Scripts\python.exe"', f'"{python}" train.py')
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines)))
    assert [one.name for one in ended(machine) if not one.path] == ([gone] if gone else [])


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((r'set CUDA_HOME="C:\cuda"', r"set PATH=%CUDA_HOME%\bin;%PATH%"), True),
        ((r'set "PATH=C:\cuda\bin;%PATH%"',), False),
        ((r"set PATH=C:\cuda\bin;%PATH%",), False),
    ],
)
def test_quotation_marks_that_a_line_puts_into_path_are_noted(
    lines: tuple[str, ...], told: bool, machine: Path
) -> None:
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines, f"{PYTHON} train.py")))
    its = request(machine, system="windows", env=ENV)
    (way,) = [
        w
        for w in windows_ways(replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,)))
        if w.kind == "script"
    ]
    assert [row.line for row in way.state.ignored] == ([3] if told else [])


@pytest.mark.parametrize(("name", "fault"), [("base", ("", ("torch",))), ("ml", None), ("none", ("exits", ()))])
def test_conda_run_starts_the_python_of_its_environment(
    name: str, fault: tuple[str, tuple[str, ...]] | None, machine: Path
) -> None:
    base = r"C:\conda"
    for prefix in (base, base + r"\envs\ml"):
        for file in ("python.exe", "python311.dll", r"Lib\os.py", r"conda-meta\history"):
            put(machine, prefix + "\\" + file, "")
    put(machine, base + r"\condabin\conda.bat", "")
    site = base + r"\envs\ml\Lib\site-packages"
    put(machine, site + r"\torch\__init__.py", "")
    ml = replace(ML, prefix=base + r"\envs\ml", kind="conda", site_packages=(site,))
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\nconda run --no-capture-output -n {name} python train.py\r\n")
    found = ended(machine, f"{ENV['Path']};{base}\\condabin", ml)
    assert [(one.fault, one.lacks) for one in found] == ([fault] if fault else [])
    assert all(one.name == "none" for one in found if one.fault)


def put_bytes(machine: Path, content: bytes) -> None:
    put(machine, PROJECT + r"\run.bat", "")
    (machine / "C:/project/run.bat").write_bytes(content)


@pytest.mark.parametrize(("encoding", "told"), [("utf-16", True), ("utf-8-sig", False), ("utf-8", False)])
def test_a_batch_file_in_utf_16_is_not_read(encoding: str, told: bool, machine: Path) -> None:
    put_bytes(machine, f"@echo off\r\n{PYTHON} train.py\r\n".encode(encoding))
    assert [one.fault for one in ended(machine)] == (["not read"] if told else [])


def test_the_mark_of_utf_8_hides_the_first_command(machine: Path) -> None:
    put_bytes(machine, f"set PATH=C:\\cuda;%PATH%\r\n{PYTHON} train.py\r\n".encode("utf-8-sig"))
    its = request(machine, system="windows", env=ENV)
    (way,) = [
        w
        for w in windows_ways(replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,)))
        if w.kind == "script"
    ]
    assert [(row.name, row.line) for row in way.state.ignored] == [("PATH", 1)]
    assert "cuda" not in way.state.environment()["Path"]


@pytest.mark.parametrize(
    ("line", "dead"),
    [
        ("source .venv/bin/activate", "source .venv/bin/activate"),
        (". .venv/Scripts/activate && python train.py", ". .venv/Scripts/activate"),
        ("call workon ml", None),
        (r"call C:\ml\Scripts\activate.bat", None),
    ],
)
def test_a_line_for_another_systems_shell_activates_nothing(line: str, dead: str | None, machine: Path) -> None:
    put_other_python(machine)
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\n{line}\r\npython train.py\r\n")
    told = [(one.path, one.lacks, one.dead, one.sure) for one in ended(machine, f"{ENV['Path']};{OTHER}")]
    assert told == ([(OTHER + r"\python.exe", ("torch",), dead, True)] if dead else [])


WEBUI = (
    'if not defined PYTHON (set PYTHON=python)\r\n%PYTHON% -c "" >out.txt\r\nset PYTHON={0}\r\n%PYTHON% train.py\r\n'
)


@pytest.mark.parametrize(
    ("files", "gone"),
    [
        ({"user.bat": "set PYTHON=C:\\Python310\\python.exe\r\ncall web.bat\r\n"}, r"C:\Python310\python.exe"),
        ({"user.bat": "set PYTHON=C:\\ml\\Scripts\\python.exe\r\ncall web.bat\r\n"}, ""),
        ({"run.bat": "C:\\Users\\author\\python.exe train.py\r\n"}, r"C:\Users\author\python.exe"),
        ({"run.bat": "C:\\Users\\author\\python.exe train.py\r\n", "mine.bat": f"{PYTHON} train.py\r\n"}, ""),
        ({"run.bat": "if exist C:\\x\\python.exe C:\\x\\python.exe train.py\r\n"}, ""),
        ({"run.bat": "if exist x (\r\nset P=C:\\x\\python.exe\r\n)\r\n%P% train.py\r\n"}, ""),
        ({"run.bat": "C:\\Users\\author\\python.exe hello.py\r\n"}, ""),
        ({"run.bat": '"%FOLDER%\\Scripts\\python.exe" train.py\r\n'}, ""),
        ({"run.bat": "%FOLDER%C:\\gone\\python.exe train.py\r\n"}, ""),
    ],
    ids=[
        "a variable",
        "another one",
        "by its path",
        "beside a whole one",
        "if it is there",
        "in a condition",
        "no need",
        "of a variable that is not set",
        "behind one",
    ],
)
def test_a_batch_file_of_a_python_that_is_gone(files: dict[str, str], gone: str, machine: Path) -> None:
    put(machine, PROJECT + r"\hello.py", "print(1)\n")
    put(machine, PROJECT + r"\web.bat", WEBUI.format(PYTHON) if "user.bat" in files else "")
    for name, text in files.items():
        put(machine, rf"{PROJECT}\{name}", text)
    assert [one.name for one in ended(machine)] == ([gone] if gone else [])


@pytest.mark.parametrize(("python", "told"), [(r"C:\before\ml\Scripts\python.exe", True), (PYTHON, False)])
def test_a_packages_command_names_its_interpreter(python: str, told: bool, machine: Path) -> None:
    command = r"C:\ml\Scripts\transcribe.exe"
    write(machine, command.replace("\\", "/"), b"MZ" + bytes(900) + f"#!{python}\r\n".encode() + b"PK\3\4" + bytes(50))
    put(machine, PROJECT + r"\run.bat", f"@{command} %*\r\n")
    seen = [(one.name, one.seems, one.source) for one in ended(machine)]
    assert seen == ([(python, r"C:\ml", command)] if told else [])


@pytest.mark.parametrize(
    ("path", "env_beside", "sure"),
    [(ALIASES, False, True), (ALIASES, True, False), (r"C:\ml\Scripts;" + ALIASES, False, None)],
)
def test_an_alias_of_the_store_starts_nothing(path: str, env_beside: bool, sure: bool | None, machine: Path) -> None:
    put(machine, ALIASES + r"\python.exe", "")
    put(machine, PROJECT + r"\run.bat", "python train.py\r\n")
    if env_beside:
        put(machine, PROJECT + r"\.venv\pyvenv.cfg", "home = C:\\Python\n")
    told = [(one.fault, one.sure, one.lacks) for one in ended(machine, path)]
    assert told == ([] if sure is None else [("opens the Store", sure, ("torch",))])


@pytest.mark.parametrize("line", ["", "../app\n"])
def test_an_embeddable_python_that_does_not_search_its_programs_folder(line: str, tmp_path: Path) -> None:
    own = PythonEnvironment(
        prefix=r"C:\portable\py", kind="system", version="3.11.9", executable=r"C:\portable\py\python.exe"
    )
    put(tmp_path, r"C:\portable\py\python.exe", "MZ")
    put(tmp_path, r"C:\portable\py\python311.dll", "")
    put(tmp_path, r"C:\portable\py\python311._pth", f"{line}python311.zip\n.\nimport site\n")
    put(tmp_path, r"C:\portable\app\main.py", "import os\nimport tools.options\nimport nowhere\n")
    put(tmp_path, r"C:\portable\app\tools\__init__.py", "")
    put(tmp_path, r"C:\portable\run.bat", ".\\py\\python.exe -s app\\main.py\r\n")
    told = [(one.fault, one.lacks, one.source) for one in ended(tmp_path, ENV["Path"], own, folder=r"C:\portable")]
    assert told == ([] if line else [("folder not searched", ("tools",), r"C:\portable\py\python311._pth")])


@pytest.mark.parametrize(("line", "told"), [("", True), ("import site\n", False)])
def test_an_embeddable_python_that_reads_no_pth_files(line: str, told: bool, tmp_path: Path) -> None:
    site = r"C:\portable\py\Lib\site-packages"
    own = PythonEnvironment(
        prefix=r"C:\portable\py", kind="system", version="3.11.9", executable=r"C:\portable\py\python.exe"
    )
    put(tmp_path, r"C:\portable\py\python.exe", "MZ")
    put(tmp_path, r"C:\portable\py\python311.dll", "")
    put(tmp_path, r"C:\portable\py\python311._pth", f"..\\app\npython311.zip\n.\nLib\\site-packages\n{line}")
    put(tmp_path, rf"{site}\__editable__.facetools-1.0.pth", "C:\\src\\facetools\n")
    put(tmp_path, r"C:\src\facetools\facetools\__init__.py", "")
    put(tmp_path, r"C:\portable\app\main.py", "import facetools\nimport nowhere\n")
    put(tmp_path, r"C:\portable\run.bat", ".\\py\\python.exe -s app\\main.py\r\n")
    found = ended(tmp_path, ENV["Path"], own, folder=r"C:\portable")
    seen = [(one.fault, one.lacks, one.misset.line if one.misset else 0) for one in found]
    assert seen == ([("pth files not read", ("facetools",), 1)] if told else [])


CONDA_ML = PythonEnvironment(
    prefix=r"C:\conda\envs\ml", kind="conda", version="3.11.9", executable=r"C:\conda\envs\ml\python.exe", site_packages=(r"C:\conda\envs\ml\Lib\site-packages",),
    distributions=(Distribution(name="torch", version="2.6.0"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("line", "settings", "dead"),
    [
        ("call conda activate m1", "", "conda activate m1"),
        ("call C:\\conda\\Scripts\\activate.bat m1", "", "C:\\conda\\Scripts\\activate.bat m1"),
        ("call C:\\anaconda3\\Scripts\\activate.bat ml", "", "C:\\anaconda3\\Scripts\\activate.bat"),
        (
            (
                "if exist C:\\anaconda3\\Scripts\\activate.bat (\r\n  call C:\\anaconda3\\Scripts\\activate.bat ml\r\n"
                ") else (\r\n  call C:\\conda\\Scripts\\activate.bat ml\r\n)"
            ),
            "",
            None,
        ),
        ("call conda activate ml", "", None),
        ("call conda activate m1", "envs_dirs:\n  - D:\\envs\n", None),
        ("call conda activate %NAME%", "", None),
        ("call mamba activate ml", "", "mamba activate ml"),
        ("call C:\\conda\\Scripts\\activate.bat\r\ncall mamba activate ml", "", None),
        ("call C:\\other\\condabin\\conda_hook.bat\r\ncall mamba activate ml", "", None),
        ("set CONDA_EXE=C:\\conda\\Scripts\\conda.exe\r\ncall mamba activate ml", "", None),
    ],
)
def test_an_environment_that_conda_does_not_have_is_not_activated(
    line: str, settings: str, dead: str | None, tmp_path: Path
) -> None:
    """Where another folder may have it, nothing is told; mamba is no program here."""
    for prefix in (r"C:\conda", CONDA_ML.prefix):
        put(tmp_path, prefix + r"\conda-meta\history", "")
        put(tmp_path, prefix + r"\python.exe", "MZ")
        put(tmp_path, prefix + r"\python311.dll", "")
        put(tmp_path, prefix + r"\Lib\os.py", "")
    put(tmp_path, CONDA_ML.site_packages[0] + r"\torch\__init__.py", "")
    put(tmp_path, r"C:\conda\condabin\conda.bat", "@echo conda\n")
    put(tmp_path, r"C:\conda\Scripts\activate.bat", "@echo activate\n")
    put(tmp_path, r"C:\other\condabin\conda_hook.bat", '@for %%F in ("%~dp0") do @set "PATH=%%~dpF;%PATH%"\n')
    put(tmp_path, r"C:\other\condabin\mamba.bat", "@echo mamba\n")
    put(tmp_path, r"C:\conda\.condarc", settings)
    put(tmp_path, PROJECT + r"\train.py", "import torch\n")
    put(tmp_path, PROJECT + r"\run.bat", f"{line}\r\npython train.py\r\n")
    told = [
        (one.seems, one.dead, one.sure, one.finds_no_conda)
        for one in ended(tmp_path, r"C:\conda;C:\conda\condabin", CONDA_ML)
    ]
    assert told == ([(CONDA_ML.prefix, dead, True, "mamba" in dead)] if dead else [])


@pytest.mark.parametrize(
    ("before", "value", "told"),
    [
        ("set PYTHONPATH=C:\\nodes\r\n", r"C:\nodes", True),
        ("set PYTHONPATH=C:\\gone;C:\\nodes\r\n", r"C:\gone;C:\nodes", True),
        ("set PYTHONPATH=C:\\gone\r\n", "", False),
        ("", "", False),
    ],
)
def test_an_embeddable_python_does_not_read_pythonpath(before: str, value: str, told: bool, tmp_path: Path) -> None:
    own = PythonEnvironment(prefix=r"C:\py", kind="system", version="3.11.9", executable=r"C:\py\python.exe")
    put(tmp_path, r"C:\py\python.exe", "MZ")
    put(tmp_path, r"C:\py\python311.dll", "")
    put(tmp_path, r"C:\py\python311._pth", "../project\npython311.zip\n.\nimport site\n")
    put(tmp_path, r"C:\nodes\mynodes\__init__.py", "")
    put(tmp_path, PROJECT + r"\main.py", "import mynodes\n")
    put(tmp_path, PROJECT + r"\run.bat", f"{before}C:\\py\\python.exe -s main.py\r\n")
    found = [
        (o.fault, o.lacks, o.misset and (o.misset.value, o.misset.line)) for o in ended(tmp_path, ENV["Path"], own)
    ]
    assert found == ([("variable not read", ("mynodes",), (value, 1))] if told else [])


NIGHTLY = (
    "<Task><Actions><Exec><Command>{command}</Command><Arguments>{arguments}</Arguments>"
    "<WorkingDirectory>{folder}</WorkingDirectory></Exec></Actions></Task>"
)


@pytest.mark.parametrize(
    ("command", "arguments", "folder", "batch", "told"),
    [
        (r"C:\project\run.bat", "", "", r".venv\Scripts\python.exe train.py", r".venv\Scripts\python.exe"),
        (r"C:\project\run.bat", "", PROJECT, r".venv\Scripts\python.exe train.py", ""),
        (r"C:\project\run.bat", "", "", 'cd /d "%~dp0"\r\n.venv\\Scripts\\python.exe train.py', ""),
        (r"C:\project\run.bat", "", "", r"if exist x .venv\Scripts\python.exe train.py", ""),
        (r"C:\project\.venv\Scripts\python.exe", "train.py", "", "", "train.py"),
        (r"C:\project\.venv\Scripts\python.exe", r"C:\project\train.py", "", "", ""),
        (r"C:\project\.venv\Scripts\python.exe", "-m train", "", "", ""),
        (r"C:\project\.venv\Scripts\python.exe", "elsewhere.py", "", "", ""),
    ],
)
def test_a_task_without_a_folder_starts_in_system32(
    command: str, arguments: str, folder: str, batch: str, told: str, machine: Path
) -> None:
    own = PythonEnvironment(
        prefix=PROJECT + r"\.venv", kind="venv", version="3.11.9", executable=PROJECT + r"\.venv\Scripts\python.exe"
    )
    put(machine, own.executable, "MZ")
    put(machine, PROJECT + r"\.venv\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\n{batch}\r\n")
    put(
        machine,
        r"C:\Windows\System32\Tasks\Nightly",
        NIGHTLY.format(command=command, arguments=arguments, folder=folder),
    )
    its = request(machine, system="windows", env=ENV)
    ground = ground_of(its, sysroot_of(its.host), PROJECT)
    runs = [one for w in windows_ways(replace(ground, pythons=(own,))) if w.kind == "task" for one in w.runs]
    assert [(one.fault, one.name, one.source, one.program) for one in runs] == (
        [("not in this folder", told, r"C:\Windows\System32", PROJECT)] if told else []
    )
    if folder:
        return
    begins = RegisteredStart(
        kind="logon", key=r"HKCU\Software\Microsoft\Windows\CurrentVersion\Run\Train", command=f"{command} {arguments}"
    )
    logon = [
        one for w in windows_ways(replace(ground, pythons=(own,)), (begins,)) if w.kind == "launcher" for one in w.runs
    ]
    assert [one.name for one in logon if one.fault == "not in this folder"] == ([told] if told else [])


def test_a_folder_of_a_task_in_quotation_marks_is_none(machine: Path) -> None:
    task = NIGHTLY.format(command=PYTHON, arguments="train.py", folder=f'"{PROJECT}"')
    put(machine, r"C:\Windows\System32\Tasks\Nightly", task)
    its = request(machine, system="windows", env=ENV)
    ways = windows_ways(replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,)))
    runs = [one for w in ways if w.kind == "task" for one in w.runs]
    assert [(one.fault, one.source, one.program) for one in runs] == [("not in this folder", f'"{PROJECT}"', PROJECT)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (r"set VENV_DIR = C:\ml", "VENV_DIR "),
        (
            r'set VENV_DIR="C:\ml"',
            "",
        ),  # webui.bat puts it between quotation marks once more, which cmd.exe takes as none
        (r"set VENV_DIR=C:\ml", ""),
        (r"set OTHER = C:\ml", ""),
    ],
)
def test_a_blank_in_a_variables_name_leads_to_another_python(line: str, told: str, machine: Path) -> None:
    put(machine, PROJECT + r"\venv\Scripts\python.exe", "MZ")
    put(machine, PROJECT + r"\venv\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    its = 'if not defined VENV_DIR (set "VENV_DIR=%~dp0%venv")\r\nset PYTHON="%VENV_DIR%\\Scripts\\python.exe"\r\n%PYTHON% train.py\r\n'
    put(machine, PROJECT + r"\web.bat", its)
    put(machine, PROJECT + r"\user.bat", f"{line}\r\ncall web.bat\r\n")
    other = PythonEnvironment(prefix=PROJECT + r"\venv", kind="venv", version="3.11.9")
    runs = [one for one in ended(machine, ENV["Path"], ML, other) if one.source.endswith("user.bat")]
    assert [one.misset.name if one.misset else "" for one in runs if told or one.misset] == ([told] if told else [])


@pytest.mark.parametrize(
    ("lines", "lacks"),
    [
        ((r"call C:\ml\Scripts\activate.bat", "streamlit run train.py"), ("torch",)),
        ((r"call C:\ml\Scripts\activate.bat", r"C:\tools\Scripts\streamlit.exe run train.py"), ("torch",)),
        ((r"call C:\unread\activate.bat", "streamlit run train.py"), ()),
        ((r"call C:\ml\Scripts\activate.bat", "own run train.py"), ()),
        ((r"call C:\ml\Scripts\activate.bat", "streamlit run empty.py"), ()),
    ],
)
def test_a_command_of_another_environment_runs_the_program_there(
    lines: tuple[str, ...], lacks: tuple[str, ...], machine: Path
) -> None:
    tools = PythonEnvironment(
        prefix=r"C:\tools", kind="venv", version="3.11.9", executable=r"C:\tools\Scripts\python.exe"
    )
    put(machine, r"C:\tools\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    put(machine, r"C:\tools\Scripts\python.exe", "MZ")
    put(machine, r"C:\tools\Lib\site-packages\streamlit\__init__.py", "")
    put(machine, r"C:\tools\Lib\site-packages\streamlit-1.39.0.dist-info\METADATA", "")
    put(machine, r"C:\unread\activate.bat", "call C:\\elsewhere\\activate\r\n")
    put(machine, PROJECT + r"\empty.py", "")
    launcher = "MZ\n#!C:\\tools\\Scripts\\python.exe\r\nPK\x03\x04"
    put(machine, r"C:\tools\Scripts\streamlit.exe", launcher)
    put(machine, r"C:\ml\Scripts\own.exe", launcher.replace("tools", "ml"))
    put(machine, PROJECT + r"\run.bat", "\r\n".join(("@echo off", *lines)))
    found = ended(machine, r"C:\Windows\System32;C:\tools\Scripts", ML, tools)
    assert [(one.prefix, one.seems, one.lacks) for one in found] == ([(r"C:\tools", r"C:\ml", lacks)] if lacks else [])
    assert [one.command for one in found] == [r"C:\tools\Scripts\streamlit.exe"] * len(found)
    assert [one.brought_by for one in found] == ["streamlit 1.39.0"] * len(found)
    put(machine, r"C:\ml\Scripts\streamlit.exe", "MZ")
    assert not any(one.brought_by for one in ended(machine, r"C:\Windows\System32;C:\tools\Scripts", ML, tools))


PRINTS = "import torch\nprint('\\N{CHECK MARK} epoch 1')\n"


@pytest.mark.parametrize(
    ("line", "before", "program", "encoding"),
    [
        ("train.py > train.log 2>&1", "", PRINTS, "cp1252"),
        ("train.py >> train.log", "", PRINTS, "cp1252"),
        ("train.py | findstr epoch", "", PRINTS, "cp1252"),
        ("train.py > train.log", "set PYTHONIOENCODING=gbk", PRINTS.replace("CHECK MARK", "SNOWMAN"), "gbk"),
        ("train.py > train.log", "", PRINTS.replace("print(", "print(1, f").replace("1'", "{1}'"), "cp1252"),
        ("train.py", "", PRINTS, ""),
        ("train.py 2> errors.log", "", PRINTS, ""),
        ("train.py || echo failed", "", PRINTS, ""),
        ("-X utf8 train.py > train.log", "", PRINTS, ""),
        ("train.py > train.log", "set PYTHONUTF8=1", PRINTS, ""),
        ("train.py > train.log", "set PYTHONIOENCODING=utf-8", PRINTS, ""),
        ("train.py > train.log", "set PYTHONIOENCODING=cp1252:replace", PRINTS, ""),
        ("train.py > train.log", "", PRINTS.replace("CHECK MARK", "LATIN SMALL LETTER E WITH ACUTE"), ""),
        ("train.py > train.log", "", f"import sys\nsys.stdout.reconfigure(encoding='utf-8')\n{PRINTS}", ""),
        ("train.py > train.log", "", PRINTS.replace("print", "log.info"), ""),
    ],
)
def test_output_that_goes_into_a_file_is_in_the_code_page(
    machine: Path, line: str, before: str, program: str, encoding: str
) -> None:
    put(machine, PROJECT + r"\train.py", program)
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\n{before}\r\n{PYTHON} {line}\r\n")
    told = [(one.fault, one.command, one.source) for one in ended(machine)]
    assert told == ([("not in code page", encoding, PROJECT + r"\run.bat:3")] if encoding else [])


def test_output_of_a_task_that_goes_into_a_file(machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", PRINTS)
    command = f"<Command>cmd.exe</Command><Arguments>/c {PYTHON} train.py &gt; train.log</Arguments>"
    content = f"<Task><Actions><Exec>{command}<WorkingDirectory>{PROJECT}</WorkingDirectory></Exec></Actions></Task>"
    put(machine, r"C:\Windows\System32\Tasks\Nightly", content)
    its = request(machine, system="windows", env=ENV)
    found = windows_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\elsewhere"), pythons=(ML,)))
    told = [(one.fault, one.name, one.source) for way in found if way.kind == "task" for one in way.runs]
    assert told == [("not in code page", "\N{CHECK MARK}", r"C:\Windows\System32\Tasks\Nightly")]


QUOTES = "\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK}\n"
"""In UTF-8 the second mark ends in 0x9D, which cp1252 has not."""


@pytest.mark.parametrize(
    ("program", "script", "told"),
    [
        ("prompts = open('prompts.txt').read().splitlines()\n", "", True),
        ("with open('prompts.txt', 'r') as f:\n    rows = f.readlines()\n", "", True),
        ("from pathlib import Path\nrows = (Path(__file__).parent / 'prompts.txt').read_text()\n", "", True),
        ("NAME = 'prompts.txt'\n\ndef load():\n    return open(NAME).read()\n", "", True),
        ("rows = open('prompts.txt', encoding='utf-8').read()\n", "", False),
        ("rows = open('prompts.txt', errors='ignore').read()\n", "", False),
        ("rows = open('prompts.txt', 'rb').read()\n", "", False),
        ("rows = open('prompts.txt', 'w')\n", "", False),
        ("rows = open('plain.txt').read()\n", "", False),
        ("rows = open('german.txt').read()\n", "", False),
        ("try:\n    rows = open('prompts.txt').read()\nexcept UnicodeDecodeError:\n    rows = ''\n", "", False),
        ("rows = open('prompts.txt').read()\n", "set PYTHONUTF8=1\r\n", False),
    ],
)
def test_a_file_in_utf_8_that_a_program_opens_in_the_code_page(
    machine: Path, program: str, script: str, told: bool
) -> None:
    put(machine, PROJECT + r"\train.py", program)
    put(machine, PROJECT + r"\prompts.txt", QUOTES)
    put(machine, PROJECT + r"\german.txt", "\N{LATIN SMALL LETTER A WITH DIAERESIS}\n")
    put(machine, PROJECT + r"\plain.txt", "a\n")
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\n{script}{PYTHON} train.py\r\n")
    seen = [(one.fault, one.name, one.command, one.prefix) for one in ended(machine)]
    assert seen == ([("file not in code page", "prompts.txt", "cp1252", r"C:\ml")] if told else [])


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("rows = open('german.txt').read()\n", True),
        ("rows = open('german.txt', encoding='cp1252').read()\n", False),
        ("rows = open('prompts.txt').read()\n", False),
        ("rows = open('data.bin').read()\n", False),
    ],
)
def test_a_file_in_the_code_page_that_a_program_opens_in_utf_8(machine: Path, program: str, told: bool) -> None:
    put(machine, PROJECT + r"\train.py", program)
    put(machine, PROJECT + r"\prompts.txt", QUOTES)
    for name, data in (("german.txt", b"Stra\xdfe\n"), ("data.bin", b"\0\xdf\n")):
        write(machine, f"{PROJECT}\\{name}".replace("\\", "/"), data)
    seen = [(one.fault, one.name, one.command) for one in ended(machine, PYTHONUTF8="1")]
    assert seen == ([("file not in code page", "german.txt", "utf-8 (PYTHONUTF8)")] if told else [])


MOVED = r"C:\Users\ada\OneDrive - Uni\Desktop\data\net.npy"


@pytest.mark.parametrize(
    ("program", "there", "told"),
    [
        ("x = numpy.load(os.path.expanduser('~/Desktop/data/net.npy'))\n", MOVED, True),
        ("x = numpy.load(r'C:\\Users\\ada\\Desktop\\data\\net.npy')\n", MOVED, True),
        ("from pathlib import Path\nx = (Path.home() / 'Desktop' / 'data' / 'net.npy').read_bytes()\n", MOVED, True),
        ("x = os.listdir(os.path.join(os.path.expanduser('~'), 'Desktop', 'data'))\n", MOVED, True),
        ("try:\n    x = numpy.load(r'C:\\Users\\ada\\Desktop\\data\\net.npy')\nexcept OSError:\n    x = None\n", MOVED, False),
        ("x = numpy.load(r'C:\\Users\\ada\\data\\net.npy')\n", MOVED, False),
        ("x = numpy.load(os.path.expanduser('~/Desktop/data/net.npy'))\n", r"C:\Users\ada\Desktop\data\net.npy", False),
    ],
)  # fmt: skip
def test_a_file_past_the_folder_to_which_onedrive_has_moved_it(
    machine: Path, program: str, there: str, told: bool
) -> None:
    put(machine, PROJECT + r"\train.py", f"import os\nimport numpy\n{program}")
    put(machine, there, "")
    seen = [(one.fault, one.program) for one in ended(machine, OneDrive=r"C:\Users\ada\OneDrive - Uni")]
    place = MOVED.rpartition("\\")[0] if "listdir" in program else MOVED
    assert seen == ([("moved by OneDrive", place)] if told else [])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"train.py": "import os\nroot = os.environ['HOME']\n"}, ("HOME", r"C:\project\train.py:2")),
        ({"train.py": "import voices\n"}, ("HOME", SITE + r"\voices\cache.py:2")),
        ({"train.py": "from voices import cache\n"}, ("HOME", SITE + r"\voices\cache.py:2")),
        ({"train.py": "if __name__ == '__main__':\n    import voices\n"}, ("HOME", SITE + r"\voices\cache.py:2")),
        ({"train.py": "import os\nroot = os.environ.get('HOME', '.')\n"}, None),
        ({"train.py": "import os\n\ndef root():\n    return os.environ['HOME']\n"}, None),
        ({"train.py": "import os\nos.environ.setdefault('HOME', '.')\nimport voices\n"}, None),
        ({"train.py": "try:\n    import voices\nexcept KeyError:\n    voices = None\n"}, None),
        ({"train.py": "import voices\n", "run.bat": "set HOME=%USERPROFILE%\r\n"}, None),
        ({"train.py": "import os\nroot = os.environ['MODELS']\n"}, None),
    ],
)
def test_a_variable_that_windows_does_not_set(
    machine: Path, files: dict[str, str], told: tuple[str, str] | None
) -> None:
    put(machine, SITE + r"\voices\__init__.py", "from voices.cache import folder\n")
    put(machine, SITE + r"\voices\cache.py", "import os\nfolder = os.path.join(os.environ['HOME'], '.voices')\n")
    for name, text in files.items():
        put(machine, rf"{PROJECT}\{name}", text)
    seen = [(one.fault, one.name, one.source) for one in ended(machine)]
    assert seen == ([("not of Windows", *told)] if told else [])


BLOCK = ("if exist C:\\ml (", "  set VENV=C:\\ml", "  {python} train.py", ")")


@pytest.mark.parametrize(
    ("first", "python", "line"),
    [
        ("rem", r"%VENV%\Scripts\python.exe", 4),
        ("setlocal enabledelayedexpansion", r"!VENV!\Scripts\python.exe", 0),
        (r"set VENV=C:\ml", r"%VENV%\Scripts\python.exe", 0),
        ("rem", PYTHON, 0),
    ],
)
def test_a_variable_that_a_block_sets_has_no_value_within_it(first: str, python: str, line: int, machine: Path) -> None:
    put(machine, PROJECT + r"\run.bat", "\r\n".join((first, *BLOCK)).format(python=python))
    told = [(one.fault, one.source, one.name) for one in ended(machine)]
    assert told == ([("block", rf"C:\project\run.bat:{line}", "VENV")] if line else [])


@pytest.mark.parametrize(
    ("path", "lacks"), [(ENV["Path"] + ";C:\\Other", ("torch",)), (rf"C:\ml\Scripts;{ENV['Path']};C:\Other", ())]
)
def test_a_program_starts_another_by_the_python_of_path(path: str, lacks: tuple[str, ...], machine: Path) -> None:
    put_other_python(machine)
    put(machine, PROJECT + r"\worker.py", "import torch\n")
    put(machine, PROJECT + r"\app.py", "import os\nos.system('python worker.py')\n")
    put(machine, PROJECT + r"\run.bat", f"@{PYTHON} app.py\r\n")
    told = [(one.source, one.lacks) for one in ended(machine, path)]
    assert told == ([(r"C:\project\app.py:2", lacks)] if lacks else [])


@pytest.mark.parametrize(
    ("file", "key", "command", "lacks"),
    [
        (r"C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json", "mcpServers", "python", ("torch",)),
        (r"C:\Users\ada\AppData\Roaming\Claude\claude_desktop_config.json", "mcpServers", PYTHON, ()),
        (r"C:\project\.vscode\mcp.json", "servers", "${workspaceFolder}/../Other/python.exe", ("torch",)),
        (r"C:\project\.vscode\mcp.json", "servers", "npx", ()),
    ],
)
def test_a_server_of_an_assistant_has_its_commands_python(
    file: str, key: str, command: str, lacks: tuple[str, ...], machine: Path
) -> None:
    put_other_python(machine)
    put(machine, file, json.dumps({key: {"captions": {"command": command, "args": [PROJECT + r"\train.py"]}}}))
    env = {**ENV, "Path": ENV["Path"] + ";C:\\Other", "APPDATA": r"C:\Users\ada\AppData\Roaming"}
    its = request(machine, system="windows", env=env)
    found = windows_ways(replace(ground_of(its, sysroot_of(its.host), PROJECT), pythons=(ML,)))
    told = [(w.at, one.lacks) for w in found if w.kind == "launcher" for one in w.runs]
    assert told == ([(f"{file}: captions", lacks)] if lacks else [])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (rf'start "{PYTHON}" train.py', True),
        (rf'start /b "{PYTHON}" train.py', True),
        (rf'start "" "{PYTHON}" train.py', False),
        (rf'start "captions" /wait "{PYTHON}" train.py', False),
        (rf"start {PYTHON} train.py", False),
    ],
)
def test_start_takes_a_program_in_quotation_marks_for_a_title(line: str, told: bool, machine: Path) -> None:
    put_other_python(machine)
    put(machine, PROJECT + r"\run.bat", f"@echo off\r\n{line}\r\n")
    its = [(one.fault, one.source, one.name) for one in ended(machine, ENV["Path"] + ";C:\\Other")]
    assert its == ([("title", r"C:\project\run.bat:2", PYTHON)] if told else [])


@pytest.mark.parametrize(
    ("line", "told"),
    [("$MODEL = 'a'", True), ("$env:MODEL = 'a'", False), ("$MODEL = 'a'; $env:MODEL = $MODEL", False)],
)
def test_a_variable_that_a_script_keeps_to_itself(line: str, told: bool, machine: Path) -> None:
    put(machine, PROJECT + r"\train.py", "import os\nimport torch\nmodel = os.environ['MODEL']\n")
    put(machine, PROJECT + r"\run.ps1", f"{line}\n& {PYTHON} train.py\n")
    its = [(one.fault, one.source, one.program) for one in ended(machine)]
    assert its == ([("not exported", r"C:\project\train.py:3", r"C:\project\run.ps1:1")] if told else [])


@pytest.mark.parametrize(
    ("name", "lines", "told"),
    [
        ("run.ps1", "set FLASK_APP=server.py\n& {python} -m flask run\n", 1),
        ("run.ps1", "$env:FLASK_APP = 'server.py'\n& {python} -m flask run\n", 0),
        ("run.ps1", "set FLASK_COLOUR=red\n& {python} -m flask run\n", 0),
        ("run.ps1", "set FLASK_APP=server.py\n$env:FLASK_APP = 'server.py'\n& {python} -m flask run\n", 0),
        ("run.bat", "@echo off\r\nexport FLASK_APP=server.py\r\n{python} -m flask run\r\n", 2),
        ("run.bat", "@echo off\r\nset FLASK_APP=server.py\r\n{python} -m flask run\r\n", 0),
    ],
)
def test_a_line_without_effect_for_the_package_that_is_started(name: str, lines: str, told: int, machine: Path) -> None:
    cli = rf"{ML.site_packages[0]}\flask\cli.py"
    put(machine, cli, "import os\n\nname = os.environ.get('FLASK_APP')\n")
    put(machine, rf"{PROJECT}\{name}", lines.format(python=PYTHON))
    its = [(one.fault, one.name, one.source, one.program) for one in ended(machine)]
    assert its == ([("not exported", "FLASK_APP", f"{cli}:3", rf"{PROJECT}\{name}:{told}")] if told else [])


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("-m uvicorn main:app --port 8000", True),
        ("-m gunicorn api.main:app", True),
        ("-m uvicorn main:app --app-dir app", False),
        ("-m uvicorn app.main:app", False),
        ("-m uvicorn other:app", False),
        ("-m uvicorn torch:app", False),
    ],
)
def test_a_server_looks_for_its_application_where_it_starts(command: str, told: bool, machine: Path) -> None:
    for file in (r"app\main.py", r"app\api\main.py"):
        put(machine, rf"{PROJECT}\{file}", "app = 1\n")
    put(machine, rf"{PROJECT}\run.bat", f'@echo off\r\ncd /d "%~dp0"\r\n{PYTHON} {command}\r\n')
    its = [(one.fault, one.name, one.source) for one in ended(machine)]
    server = command.split()[1]
    assert its == ([("not searched", server, rf"{PROJECT}\app")] if told else [])
