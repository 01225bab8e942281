r"""What Windows itself starts: services, tasks, shortcuts, the session's own; and batch files, in a folder that stands for C:\."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.host.startup.state import State
from core.host.windows.registered import registered_starts
from core.model.facts import Distribution, PythonEnvironment, RegisteredStart, Variable
from core.probes.programs.shortcuts import read_shortcut
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.command_lines import python_of_batch
from core.probes.starting.windows.command_words import words_of_line
from core.probes.starting.windows.starters import actions_of_task, starter_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write
from tests.windows.shortcut import shortcut

ENV = {
    "APPDATA": r"C:\Users\ada\AppData\Roaming",
    "USERPROFILE": r"C:\Users\ada",
    "Path": r"C:\Windows\System32;C:\mine",
    "SystemRoot": r"C:\Windows",
}
ML = PythonEnvironment(prefix=r"C:\ml", kind="venv")
PYTHON = r"C:\ml\Scripts\python.exe"
KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\Transcriber"
TASK = (
    '<?xml version="1.0" encoding="UTF-16"?>\n<Task xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">'
    "<Settings><Enabled>{enabled}</Enabled></Settings><Actions><Exec><Command>{command}</Command>"
    "<Arguments>{arguments}</Arguments><WorkingDirectory>C:\\project</WorkingDirectory></Exec></Actions></Task>"
)


def put(root: Path, path: str, content: str | bytes) -> None:
    write(root, path.replace("\\", "/"), content)


def ways(
    root: Path, *registered: RegisteredStart, variables: tuple[Variable, ...] = ()
) -> dict[tuple[str, str], tuple[str, dict[str, str]]]:
    its = request(root, system="windows", env=ENV)
    ground = ground_of(its, sysroot_of(its.host), r"C:\project")
    found = starter_ways(replace(ground, pythons=(ML,)), registered, variables)
    return {(w.kind, w.at): (w.prefix, w.state.environment()) for w in found}


# --- services --------------------------------------------------------------------------------------------------------

NSSM = {"imagepath": r"C:\tools\nssm.exe", "type": 16, "start": 2, "objectname": "LocalSystem"}
PARAMETERS = {
    "application": PYTHON,
    "appparameters": r'"C:\my project\train.py"',
    "appdirectory": r"C:\project",
    "appenvironmentextra": ["A=1", r"PATH=C:\only", "=odd", "none"],
}


def started(values: dict[str, object], parameters: dict[str, object] | None = None) -> tuple[RegisteredStart, ...]:
    keys = {r"SYSTEM\CurrentControlSet\Services\Transcriber": values}
    keys[r"SYSTEM\CurrentControlSet\Services\Transcriber\Parameters"] = parameters or {}
    return tuple(registered_starts(("Transcriber",), lambda root, key: keys.get(key, {}) if root == "HKLM" else {}))


def test_what_nssm_starts_stands_below_its_parameters() -> None:
    (one,) = started(NSSM, PARAMETERS)
    assert (one.key, one.folder, one.only) == (KEY, r"C:\project", False)
    assert one.command == rf'"{PYTHON}" "C:\my project\train.py"'
    assert one.variables == ("A=1", r"PATH=C:\only")


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ({"imagepath": PYTHON, "type": 16}, 1),
        ({"imagepath": PYTHON, "type": 1}, 0),
        ({"imagepath": PYTHON, "start": 4}, 0),
        ({"imagepath": r"%SystemRoot%\System32\svchost.exe -k netsvcs"}, 0),
        ({"imagepath": 7}, 0),
        ({}, 0),
    ],
    ids=["a program", "a driver", "disabled", "a host of Windows'", "no text", "no such key"],
)
def test_a_service_is_a_program_that_may_start(values: dict[str, object], count: int) -> None:
    assert len(started(values)) == count


@pytest.mark.parametrize(
    ("account", "told"), [("LocalSystem", ""), (r"NT AUTHORITY\LocalService", ""), (r".\ada", r".\ada")]
)
def test_the_account_of_a_service(account: str, told: str) -> None:
    assert started({"imagepath": PYTHON, "objectname": account})[0].account == told


def test_a_service_of_the_system_gets_the_machines_variables_and_its_own(tmp_path: Path) -> None:
    machine = (
        Variable(name="SystemRoot", value=r"C:\Windows", scope="process"),
        Variable(name="Path", value=r"%SystemRoot%\System32;C:\all", scope="machine", kind="REG_EXPAND_SZ"),
        Variable(name="Path", value=r"C:\mine", scope="user", kind="REG_SZ"),
    )
    plain = RegisteredStart(kind="service", key=KEY, command=f'"{PYTHON}" train.py', variables=("PYTHONPATH=C:\\old",))
    prefix, env = ways(tmp_path, plain, variables=machine)["service", KEY]
    assert (prefix, env["Path"], env["PYTHONPATH"]) == (r"C:\ml", r"C:\Windows\System32;C:\all", r"C:\old")


def test_a_service_may_replace_all_variables(tmp_path: Path) -> None:
    alone = RegisteredStart(kind="service", key=KEY, command=PYTHON, variables=(r"PATH=C:\only",), only=True)
    _prefix, env = ways(
        tmp_path, alone, variables=(Variable(name="CUDA_PATH", value=r"C:\c", scope="machine", kind="REG_SZ"),)
    )["service", KEY]
    assert env["PATH"] == r"C:\only"
    assert "CUDA_PATH" not in env


def test_what_begins_with_the_session_is_a_start_and_other_programs_are_none(tmp_path: Path) -> None:
    run = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Run"
    mine = RegisteredStart(kind="logon", key=rf"{run}\Tray", command=r'"C:\ml\Scripts\pythonw.exe" C:\tray.py')
    other = RegisteredStart(kind="logon", key=rf"{run}\Notes", command=r"C:\Windows\notepad.exe")
    assert [k for k, _v in ways(tmp_path, mine, other).items()] == [("launcher", rf"{run}\Tray")]


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_a_task_is_followed_through_its_batch_file(tmp_path: Path) -> None:
    text = TASK.format(enabled="true", command="cmd.exe", arguments=r"/c &quot;C:\project\nightly.bat&quot;")
    put(tmp_path, r"C:\Windows\System32\Tasks\Mine\Nightly", text.encode("utf-16"))
    put(tmp_path, r"C:\project\nightly.bat", f"@echo off\r\nset PATH=C:\\other;%SystemRoot%\r\n{PYTHON} train.py\r\n")
    found = ways(tmp_path)
    prefix, env = found["task", r"C:\Windows\System32\Tasks\Mine\Nightly"]
    assert (prefix, env["Path"]) == (r"C:\ml", r"C:\other;C:\Windows")


@pytest.mark.parametrize(
    "data",
    [
        TASK.format(enabled="false", command=PYTHON, arguments="x.py").encode("utf-16"),
        b'<!DOCTYPE t [<!ENTITY a "b">]><Task><Actions><Exec><Command>python</Command></Exec></Actions></Task>',
        b"<Task><Actions>",
        b"",
        b"\xff\xfe<\x00",
    ],
    ids=["disabled", "with a document type", "cut", "empty", "one sign"],
)
def test_a_file_that_starts_nothing(data: bytes) -> None:
    assert actions_of_task(data) == []


@given(st.binary(max_size=400))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_read_as_a_task_or_a_shortcut_or_not(data: bytes) -> None:
    assert isinstance(actions_of_task(data), list)
    whole = shortcut(PYTHON, "train.py", r"C:\project")
    found = read_shortcut(whole[:76] + data)
    assert found is not None
    assert read_shortcut(data) is None or len(data) >= 76


@given(st.integers(0, 400), st.integers(0, 255))
@settings(max_examples=60, deadline=None)
def test_a_spoilt_shortcut_never_fails(at: int, value: int) -> None:
    whole = bytearray(shortcut(PYTHON, "train.py", r"C:\project"))
    whole[at % len(whole)] = value
    read_shortcut(bytes(whole[: max(0, at)]))
    found = read_shortcut(bytes(whole))
    assert found is None or isinstance(found.target, str)


# --- shortcuts -------------------------------------------------------------------------------------------------------


def test_a_shortcut_says_its_target_its_arguments_and_its_folder() -> None:
    found = read_shortcut(shortcut(r"C:\Zoë 猫\python.exe", 'train.py "a b"', r"C:\project"))
    assert found is not None
    assert (found.target, found.arguments, found.folder) == (r"C:\Zoë 猫\python.exe", 'train.py "a b"', r"C:\project")


def test_a_shortcut_of_the_menu_is_a_start(tmp_path: Path) -> None:
    menu = r"C:\Users\ada\AppData\Roaming\Microsoft\Windows\Start Menu\Programs"
    put(tmp_path, rf"{menu}\Mine\Train.lnk", shortcut(r"C:\ml\Scripts\pythonw.exe", "train.py", r"C:\project"))
    put(tmp_path, rf"{menu}\Notes.lnk", shortcut(r"C:\Windows\notepad.exe"))
    put(tmp_path, r"C:\Users\ada\Desktop\Odd.lnk", b"\x4c\0\0\0")
    assert {k: v[0] for k, v in ways(tmp_path).items()} == {("launcher", rf"{menu}\Mine\Train.lnk"): r"C:\ml"}


# --- batch files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ((r"set PATH=C:\a", PYTHON), r"C:\a"),
        ((r'set "PATH=C:\a"', f'"{PYTHON}" -B x.py %*'), r"C:\a"),
        ((r"set PATH=%~dp0bin;%PATH%", PYTHON), r"C:\project\bin;C:\Windows\System32;C:\mine"),
        ((r"rem set PATH=C:\a", PYTHON), r"C:\Windows\System32;C:\mine"),
        ((rf"set PATH=C:\a& start \"\" /b {PYTHON} x.py".replace('\\"', '"'),), r"C:\a"),
        ((r"call other.cmd", PYTHON), r"C:\called"),
        ((PYTHON, r"set PATH=C:\later"), r"C:\Windows\System32;C:\mine"),
    ],
    ids=["plain", "quoted", "beside the file", "a remark", "two commands", "a called file", "too late"],
)
def test_a_batch_file_is_followed_to_its_python(lines: tuple[str, ...], path: str, tmp_path: Path) -> None:
    put(tmp_path, r"C:\project\run.bat", "\r\n".join(("@echo off", *lines)))
    put(tmp_path, r"C:\project\other.cmd", "@set PATH=C:\\called\r\n")
    its = request(tmp_path, system="windows", env=ENV)
    state = State({**ENV, "PWD": r"C:\project"}, set(ENV), separator=";")
    found = python_of_batch(r"C:\project\run.bat", state, ground_of(its, sysroot_of(its.host), r"C:\project"))
    assert found is not None
    assert found.path == PYTHON
    assert state.environment()["Path"] == path


@pytest.mark.parametrize(
    ("line", "activated"),
    [
        (r"call C:\conda\Scripts\activate.bat ml", r"C:\conda\envs\ml"),
        (r'call "C:\conda\Scripts\activate.bat" C:\conda\envs\ml', r"C:\conda\envs\ml"),
        (r"CALL C:\conda\condabin\conda.bat activate ml", r"C:\conda\envs\ml"),
        (r"call C:\conda\Scripts\activate.bat", r"C:\conda"),
        (r"call C:\conda\condabin\conda.bat activate elsewhere", r"D:\elsewhere"),
        (r"call C:\conda\Scripts\activate.bat none", ""),
        (r"call C:\conda\condabin\conda.bat info ml", ""),
    ],
)
def test_a_batch_file_that_activates_an_environment_of_condas(line: str, activated: str, tmp_path: Path) -> None:
    for prefix in (r"C:\conda", r"C:\conda\envs\ml", r"D:\elsewhere"):
        put(tmp_path, rf"{prefix}\conda-meta\history", b"")
    put(tmp_path, r"C:\conda\Scripts\activate.bat", "@rem conda's own\r\n")
    put(tmp_path, r"C:\conda\condabin\conda.bat", "@rem conda's own\r\n")
    put(tmp_path, r"C:\conda\envs\ml\etc\conda\activate.d\cuda.bat", "@set CUDA_PATH=C:\\its\r\n")
    put(tmp_path, r"C:\Users\ada\.conda\environments.txt", "C:\\conda\r\nD:\\elsewhere\r\n")
    put(tmp_path, r"C:\project\run.bat", f"{line}\r\n{PYTHON} train.py\r\n")
    its = request(tmp_path, system="windows", env=ENV)
    state = State({**ENV, "USERPROFILE": r"C:\Users\ada", "PWD": r"C:\project"}, set(ENV), separator=";")
    assert python_of_batch(r"C:\project\run.bat", state, ground_of(its, sysroot_of(its.host), r"C:\project"))
    first = state.environment()["Path"].partition(";")[0]
    assert first == (activated or r"C:\Windows\System32")
    assert state.values.get("CUDA_PATH", "") == (r"C:\its" if activated.endswith("ml") else "")


@pytest.mark.parametrize(
    ("call", "line", "first"),
    [
        ("call env.bat ml", r"set PATH=C:\envs\%1\bin;%PATH%", r"C:\envs\ml\bin"),
        ('call env.bat "my env"', r"set PATH=C:\envs\%~1;%PATH%", r"C:\envs\my env"),
        ('call env.bat "my env" x', r"set ALL=%*", r"C:\Windows\System32"),
        ("call env.bat", r"set PATH=C:\envs%1;%PATH%", r"C:\envs"),
        ("call env.bat ml", "shift\r\nset PATH=C:\\envs\\%1;%PATH%", r"C:\envs\%1"),
        ("call env.bat ml", r"set PATH=%~dp1;%PATH%", "%~dp1"),
    ],
    ids=["plain", "without its marks", "all", "none", "moved", "its folder, which stays unknown"],
)
def test_a_batch_file_gets_the_arguments_of_its_call(call: str, line: str, first: str, tmp_path: Path) -> None:
    put(tmp_path, r"C:\project\env.bat", f"@echo off\r\n{line}\r\n")
    put(tmp_path, r"C:\project\run.bat", f"{call}\r\n{PYTHON} train.py\r\n")
    its = request(tmp_path, system="windows", env=ENV)
    state = State({**ENV, "PWD": r"C:\project"}, set(ENV), separator=";")
    assert python_of_batch(r"C:\project\run.bat", state, ground_of(its, sysroot_of(its.host), r"C:\project"))
    assert state.environment()["Path"].partition(";")[0] == first
    assert state.values.get("ALL") == ('"my env" x' if "ALL" in line else None)


@pytest.mark.parametrize(
    ("called", "values"),
    [
        (("setlocal", "set A=1", "cd /d C:\\elsewhere"), {"A": None, "PWD": r"C:\project"}),
        (("set A=1",), {"A": "1"}),
        (("set A=1", "setlocal", "set A=2", "set B=2", "endlocal"), {"A": "1", "B": None}),
        (("setlocal EnableDelayedExpansion", "set A=2", 'endlocal & set "B=%A%"'), {"A": None, "B": "2"}),
        (("call :setup one", "exit /b 0", ":setup", "set A=%1", "exit /b", ":later", "set A=later"), {"A": "one"}),
        (("call :setup", "goto :eof", ":setup", "setlocal", "set A=1", "goto :eof"), {"A": None}),
        (("set A=1", "exit /b", "set A=2"), {"A": "1"}),
        (("if errorlevel 1 (", "exit /b", ")", "set A=2"), {"A": "2"}),
        (
            ("set A=1", "if exist env.bat (", "set A=2", "set B=%A%;x", ")", "set C=%A%"),
            {"A": "2", "B": "1;x", "C": "2"},
        ),
        (
            (
                "setlocal EnableDelayedExpansion",
                "if exist env.bat (",
                "set A=2",
                "set B=!A!;x",
                ")",
                'endlocal & set "C=%B%"',
            ),
            {"C": "2;x"},
        ),
        (
            ("set A=1", 'if "%A%"=="1" set B=one', 'if not "%A%"=="1" set C=two', 'if /i "%Z%"=="" set D=none'),
            {"B": "one", "C": None, "D": "none"},
        ),
        (("set A=on", "if /i %A%==ON (", "set B=one", ") else (", "set B=two", ")"), {"B": "one"}),
    ],
    ids=[
        "setlocal",
        "without it",
        "endlocal",
        "handed out",
        "a part",
        "a part of its own",
        "after its end",
        "an end in a block",
        "a block is read as a whole",
        "but for !NAME!",
        "texts that are alike",
        "a block that they decide",
    ],
)
def test_what_a_called_batch_file_leaves(
    called: tuple[str, ...], values: dict[str, str | None], tmp_path: Path
) -> None:
    """What setlocal, call, a block and a comparison do was seen in wine's cmd.exe."""
    put(tmp_path, r"C:\project\env.bat", "\r\n".join(("@echo off", *called)))
    put(tmp_path, r"C:\project\run.bat", f"@echo off\r\ncall env.bat\r\n{PYTHON} train.py\r\n")
    its = request(tmp_path, system="windows", env=ENV)
    state = State({**ENV, "PWD": r"C:\project"}, set(ENV), separator=";")
    assert python_of_batch(r"C:\project\run.bat", state, ground_of(its, sysroot_of(its.host), r"C:\project"))
    assert {n: state.values.get(n) for n in values} == values


def test_a_task_activates_an_environment_below_a_base_that_keeps_no_records(tmp_path: Path) -> None:
    put(tmp_path, r"C:\conda\envs\ml\conda-meta\history", b"")
    put(tmp_path, r"C:\conda\envs\ml\python.exe", b"")
    put(tmp_path, r"C:\conda\Scripts\activate.bat", "@rem conda's own\r\n")
    command = r'/c "call C:\conda\Scripts\activate.bat ml &amp;&amp; python train.py"'.replace('"', "&quot;")
    text = TASK.format(enabled="true", command="cmd.exe", arguments=command)
    put(tmp_path, r"C:\Windows\System32\Tasks\Nightly", text.encode("utf-16"))
    its = request(tmp_path, system="windows", env=ENV)
    home = PythonEnvironment(prefix=r"C:\conda\envs\ml", kind="conda")
    (way,) = starter_ways(replace(ground_of(its, sysroot_of(its.host), r"C:\project"), pythons=(home,)), (), ())
    assert (way.kind, way.prefix) == ("task", home.prefix)
    assert r"C:\conda\envs\ml\Library\bin" in way.state.environment()["Path"].split(";")


def test_a_line_in_a_condition_makes_its_variable_unknown(tmp_path: Path) -> None:
    put(tmp_path, r"C:\project\run.bat", f'if "%1"=="x" (\nset PATH=C:\\a\n)\n{PYTHON}\n')
    its = request(tmp_path, system="windows", env=ENV)
    state = State(dict(ENV), set(ENV), separator=";")
    python_of_batch(r"C:\project\run.bat", state, ground_of(its, sysroot_of(its.host), r"C:\project"))
    assert state.open == {"Path"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r'"C:\a b\python.exe" -c "x = 1"', [r"C:\a b\python.exe", "-c", "x = 1"]),
        (r"C:\a\python.exe  C:\dir\ ", ["C:\\a\\python.exe", "C:\\dir\\"]),
        (r'a "b \"c\" d" ""', ["a", 'b "c" d', ""]),
        ("", []),
    ],
)
def test_words_are_those_that_a_program_gets(text: str, words: list[str]) -> None:
    assert words_of_line(text) == words


AS_SYSTEM = TASK.replace(
    "<Settings>", "<Principals><Principal><UserId>{account}</UserId></Principal></Principals><Settings>"
)


@pytest.mark.parametrize(
    ("account", "path"),
    [
        ("S-1-5-18", r"C:\Windows\System32"),
        ("NT AUTHORITY\\NETWORK SERVICE", r"C:\Windows\System32"),
        ("S-1-5-21-1-2-3-1001", ENV["Path"]),
        ("PC\\ada", ENV["Path"]),
    ],
)
def test_a_task_of_a_system_account_has_not_the_persons_variables(tmp_path: Path, account: str, path: str) -> None:
    put(tmp_path, r"C:\ml\Scripts\python.exe", b"")
    put(tmp_path, r"C:\ml\pyvenv.cfg", "home = C:\\Python\n")
    text = AS_SYSTEM.format(enabled="true", command=PYTHON, arguments="train.py", account=account)
    put(tmp_path, r"C:\Windows\System32\Tasks\Nightly", text.encode("utf-16"))
    machine = Variable(name="Path", value=r"C:\Windows\System32", scope="machine", kind="REG_SZ")
    mine = Variable(name="Path", value=r"C:\mine", scope="user", kind="REG_SZ")
    ((_prefix, env),) = ways(tmp_path, variables=(machine, mine)).values()
    assert next(v for n, v in env.items() if n.upper() == "PATH") == path


def test_what_cmd_exe_runs_first_stands_in_the_registry() -> None:
    keys = {("HKCU", r"Software\Microsoft\Command Processor"): {"autorun": r"C:\rc.cmd"}}
    (one,) = registered_starts((), lambda root, key: keys.get((root, key), {}))
    assert (one.kind, one.command) == ("prompt", r"C:\rc.cmd")
    assert one.key == r"HKCU\Software\Microsoft\Command Processor\AutoRun"


@pytest.mark.parametrize(
    ("account", "everybodys", "lacks"), [("", False, ("torch",)), ("ada", False, ()), ("", True, ())]
)
def test_a_service_of_another_account_lacks_the_persons_packages(
    tmp_path: Path, account: str, everybodys: bool, lacks: tuple[str, ...]
) -> None:
    users, all_of = ENV["APPDATA"] + r"\Python\Python311\site-packages", r"C:\Python311\Lib\site-packages"
    for file in (r"C:\Python311\python.exe", r"C:\Python311\python311.dll", r"C:\Python311\Lib\os.py"):
        put(tmp_path, file, b"MZ")
    put(tmp_path, rf"{users}\torch\__init__.py", "")
    put(tmp_path, rf"{all_of}\{'torch' if everybodys else 'other'}\__init__.py", "")
    put(tmp_path, r"C:\project\train.py", "import torch\n")
    its = request(tmp_path, system="windows", env=ENV)
    ground = ground_of(its, sysroot_of(its.host), r"C:\project")
    ground = replace(ground, person=replace(ground.person, name="ada"))
    python = PythonEnvironment(
        prefix=r"C:\Python311",
        kind="other",
        version="3.11",
        executable=r"C:\Python311\python.exe",
        site_packages=(users, all_of),
        distributions=(Distribution(name="torch", version="2.6.0", location=users),),
    )
    service = RegisteredStart(
        kind="service", key=KEY, command=r"C:\Python311\python.exe train.py", folder=r"C:\project", account=account
    )
    machines = (
        Variable(name="SystemRoot", value=r"C:\Windows", scope="machine"),
        *(Variable(name=n, value=v, scope="process") for n, v in ENV.items()),
    )
    (way,) = starter_ways(replace(ground, pythons=(python,)), (service,), machines)
    assert [(one.fault, one.lacks, one.source) for one in way.runs] == (
        [("not of this account", lacks, users)] if lacks else []
    )


@pytest.mark.parametrize(
    "folder", [rf"{ENV['APPDATA']}\Microsoft\Windows\Start Menu\Programs\Startup", r"C:\Users\ada\Desktop"]
)
def test_a_batch_file_that_explorer_starts(folder: str, tmp_path: Path) -> None:
    put(tmp_path, PYTHON, "MZ")
    put(tmp_path, r"C:\ml\pyvenv.cfg", "home = C:\\Python\n")
    put(tmp_path, rf"{folder}\captions.bat", f"@{PYTHON} C:\\project\\train.py\r\n")
    assert ways(tmp_path)["launcher", rf"{folder}\captions.bat"][0] == ML.prefix
