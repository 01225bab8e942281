"""Files that are made to stop a reader, or to fill the memory: each is read as far as it means something, and takes no other along."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.common.progress import Progress
from core.doctor.scan import take_snapshot
from core.host.startup.described import MOST_NODES, described
from core.host.startup.fish import FishReader
from core.host.startup.plain import json_value, read_assignments, read_dotenv, read_pam, toml_tables
from core.host.startup.posix import ShellReader
from core.host.startup.state import MOST_LETTERS, MOST_ROWS, MOST_SCRIPTS, UNKNOWN, State
from core.model.facts import Machine, PythonEnvironment, Start
from core.model.findings import Report
from core.probes.probe import Probe, ProbeRequest
from core.probes.programs.kernels import read_notebook
from core.probes.starting import probe
from core.probes.starting.commands.command_line import Line, python_of_command
from core.probes.starting.machine import ground_of
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.windows.command_lines import python_of_batch, python_of_ps1
from core.probes.starting.windows.powershell import python_of_script
from core.probes.sysroot import Sysroot, sysroot_of
from core.report.json_form import from_json, to_json
from tests.host.fake import FakeHost
from tests.probes.request import request, write
from tests.probes.starting.shells import in_project, project, surroundings

TIMES = 24
"""Doublings: a text of 16 million letters, where nothing stops them."""


def shell(text: str, name: str = "bash") -> State:
    state = State()
    ShellReader(surroundings({"/x": text}), state, name).read_files("/x")
    return state


def fish(text: str) -> State:
    state = State()
    FishReader(surroundings({"/x": text}), state).read_files("/x")
    return state


def by(read: Callable[[str, str, State], None], text: str) -> State:
    state = State()
    read(text, "/x", state)
    return state


def batch(text: str, root: Path) -> State:
    write(root, "C:/x.bat", text)
    its = request(root, system="windows")
    state = State()
    python_of_batch(r"C:\x.bat", state, ground_of(its, sysroot_of(its.host), "C:\\"))
    return state


def powershell(text: str, root: Path) -> State:
    write(root, "C:/x.ps1", text)
    its = request(root, system="windows")
    state = State()
    python_of_script(r"C:\x.ps1", state, ground_of(its, sysroot_of(its.host), "C:\\"), lambda *_its: None)
    return state


@pytest.mark.parametrize("text", ["$env:A = ()", "$a = () + 'x'; $env:A = $a", "& ()", "$env:A = 'x' + ()"])
def test_empty_brackets_of_powershell_are_not_known(text: str, tmp_path: Path) -> None:
    assert "A" not in powershell(f"$env:B = '1'\n{text}\n", tmp_path).values


@pytest.mark.parametrize(("count", "set_"), [(2000, True), (2001, False)])
def test_a_condition_of_powershell_that_is_denied_often(count: int, set_: bool, tmp_path: Path) -> None:
    state = powershell(f"$env:B = '1'\nif ({'-not ' * count}$env:B) {{ $env:A = '1' }}\n", tmp_path)
    assert ("A" in state.values) is set_


DOUBLED: dict[str, Callable[[Path], State]] = {
    "a file of variables": lambda _: by(
        functools.partial(read_assignments, expands=True), "A=xx\n" + "A=$A$A\n" * TIMES
    ),
    "a .env": lambda _: by(read_dotenv, "A=xx\n" + "A=${A}${A}\n" * TIMES),
    "pam": lambda _: by(read_pam, "A DEFAULT=xx\n" + "A DEFAULT=${A}${A}\n" * TIMES),
    "bash": lambda _: shell("A=xx\n" + "A=$A$A\n" * TIMES),
    "bash, quoted": lambda _: shell("A=xx\n" + 'A="${A}$A"\n' * TIMES),
    "bash, swapped": lambda _: shell("A=xx\n" + "A=${A//x/$A}\n" * 6),
    "bash, an array": lambda _: shell("B=(xx)\n" + 'B=("${B[@]}" "${B[@]}")\n' * TIMES + 'A="${B[*]}"\n'),
    "zsh": lambda _: shell("path=(/x)\n" + "path=($path $path)\n" * TIMES + "A=$PATH\n", "zsh"),
    "fish": lambda _: fish("set -gx A xx\n" + "set -gx A $A$A\n" * TIMES),
    "fish, a list": lambda _: fish("set B xx\n" + "set B $B $B\n" * TIMES + "set -gx A $B\n"),
    "a batch file": lambda root: batch("set A=xx\r\n" + "set A=%A%%A%\r\n" * TIMES, root),
    "PowerShell": lambda root: powershell("$env:A = 'xx'\r\n" + '$env:A = "$env:A$env:A"\r\n' * TIMES, root),
    "PowerShell, added": lambda root: powershell("$a = 'xx'\r\n" + "$a = $a + $a\r\n" * TIMES + "$env:A = $a", root),
}


@pytest.mark.parametrize("how", DOUBLED)
def test_a_value_that_doubles_itself_is_not_known(how: str, tmp_path: Path) -> None:
    state = DOUBLED[how](tmp_path)
    assert all(len(v) <= MOST_LETTERS for v in state.values.values())
    assert all(len(row.value) <= MOST_LETTERS for rows in state.lines.values() for row in rows)
    assert "A" in state.open


def test_one_line_that_repeats_a_long_value_is_not_known() -> None:
    state = by(functools.partial(read_assignments, expands=True), f"A={'x' * 5000}\nB={'$A' * 5000}\nC=$A\n")
    assert (state.values["B"], state.values["C"]) == (UNKNOWN, "x" * 5000)


def test_of_a_variable_that_is_set_again_and_again_the_last_lines_are_kept() -> None:
    state = by(read_assignments, "A=1\n" * 5000 + "A=2\n")
    assert len(state.lines["A"]) <= MOST_ROWS
    assert [(r.line, r.value) for r in state.lines["A"] if not r.overridden] == [(5001, "2")]


def test_fish_s_range_of_a_thousand_million_places() -> None:
    state = fish("set A a b c\nset -gx B $A[2..999999999]\nset -gx C $A[-999999999..1]\n")
    assert state.values["B"] == "b c"
    assert state.values["C"] == "a"


@pytest.mark.parametrize(
    "text",
    [
        "if test x\n" * 3000 + "end\n" * 3000 + "set -gx A 1\n",
        "if true; then\n" * 3000 + "fi\n" * 3000,
        "A=" + "$(" * 3000 + "echo x" + ")" * 3000 + "\n",
        "A=" + '"$(' * 300 + "echo x" + ')"' * 300 + "\n",
        "A=" + "${B:-" * 3000 + "}" * 3000 + "\n",
    ],
    ids=["fish", "if", "output", "quoted output", "defaults"],
)
def test_what_is_nested_too_deep_is_left(text: str) -> None:
    for read in (shell, fish):
        assert UNKNOWN in read(text).values.get("A", UNKNOWN)


SELF = {
    "sh": ("run.sh", "#!/bin/sh\n" + "sh run.sh\n" * 40),
    "bash, two": ("run.sh", "#!/bin/bash\n" + "bash other.sh\nbash run.sh\n" * 20),
    "batch": ("run.bat", "call run.bat\r\n" * 40),
    "batch, parts": ("run.bat", ":a\r\n" + "call :a\r\n" * 40),
    "PowerShell": ("run.ps1", "& .\\run.ps1\r\n" * 40),
    "PowerShell, a function": ("run.ps1", "function f {\r\n" + "f\r\n" * 40 + "}\r\nf\r\n"),
}


@pytest.mark.parametrize(("name", "text"), SELF.values(), ids=SELF)
def test_a_script_that_starts_itself_often_is_read_some_times(name: str, text: str, tmp_path: Path) -> None:
    """Each level would multiply the readings by forty."""
    windows = not name.endswith(".sh")
    folder = r"C:\work" if windows else "/work"
    for each in (name, "other.sh"):
        write(tmp_path, f"{'C:' if windows else ''}/work/{each}", text).chmod(0o755)
    for shell_ in ("bash", "sh"):
        write(tmp_path, f"/bin/{shell_}", b"\x7fELF").chmod(0o755)
    its = request(tmp_path, system="windows" if windows else "linux")
    ground = ground_of(its, sysroot_of(its.host), folder)
    state = State({"PATH": "/bin", "PWD": folder}, {"PATH"})
    if windows:
        found = (python_of_ps1 if name.endswith(".ps1") else python_of_batch)(f"{folder}\\{name}", state, ground)
    else:
        found = python_of_command(["/work/run.sh"], Line("/work/x", 1), state, ground)
    assert found is None
    assert 1 < state.followed.scripts < 100 * MOST_SCRIPTS


# --- data ----------------------------------------------------------------------------------------------------------------

COMMAND = "  command: .venv/bin/python main.py\n"
LAUGHS = [
    f"a0: &a0\n{COMMAND}" + "".join(f"a{n + 1}: &a{n + 1}\n  - *a{n}\n  - *a{n}\n" for n in range(30)),
    f"a0: &a0\n{COMMAND}" + "".join(f"a{n + 1}: &a{n + 1}\n  x: *a{n}\n  y: *a{n}\n" for n in range(30)),
    f"a0: &a0\n{COMMAND}" + "".join(f"a{n + 1}: &a{n + 1}\n  x: *a{n}\n" for n in range(1500)),
    "a: &a\n  b: &b\n" + COMMAND + "  c: '" + "x\n" * 3000 + "\n",
]


@pytest.mark.parametrize("text", LAUGHS, ids=["lists", "mappings", "a chain", "a text without end"])
def test_yaml_that_means_more_than_can_be_followed_says_nothing(text: str) -> None:
    assert described(text, "x.yaml") is None


def test_yaml_with_aliases_of_the_usual_size_is_followed() -> None:
    text = f"a: &a\n{COMMAND}" + "".join(f"b{n}: *a\n" for n in range(500))
    whole = described(text, "x.yaml")
    assert isinstance(whole, dict)
    assert len(whole) == 501 < MOST_NODES


TOML = {
    "deep": "[env]\nA = " + "[" * 5000 + "]" * 5000,
    "a long number": "[env]\nA = " + "9" * 5000,
    "a number that cannot be written": "[env]\nA = 0x" + "f" * 5000,
    "a key of many parts": "[env]\n" + ".".join(["a"] * 3000) + " = 1",
    "a table of many parts": "[" + ".".join(['"a"'] * 3000) + "]\nA = 1",
}
FILES = ("mise.toml", "pixi.toml", "hatch.toml", "pyproject.toml", "uv.lock", "config.toml")


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_toml_that_cannot_be_read_takes_no_other_file_along(text: str, tmp_path: Path) -> None:
    assert toml_tables(text) == {}
    env = project(tmp_path)
    for name in FILES:
        (tmp_path / "work" / name).write_text(f"{text}\n[project]\nname = 'x'\n[tool.poe.tasks]\n[tool.pytest]\n")
    (tmp_path / "work/Makefile").write_text(f"all:\n\tXLA_FLAGS=--x {env}/bin/python main.py\n")
    found = task_ways(replace(in_project(tmp_path), pythons=(PythonEnvironment(prefix=str(env), kind="venv"),)))
    assert [w.state.environment().get("XLA_FLAGS") for w in found if w.prefix == str(env)] == ["--x"]


DEEP = "[" * 100_000 + "]" * 100_000


def test_json_that_is_nested_too_deep_says_nothing(tmp_path: Path) -> None:
    assert json_value(DEEP) is None
    (tmp_path / "a.ipynb").write_text(DEEP)
    assert read_notebook(str(tmp_path / "a.ipynb"), Sysroot("linux"), 1 << 20) is None


# --- what nobody foresaw -------------------------------------------------------------------------------------------------


def test_a_reader_that_crashes_is_told_and_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_arguments: object) -> object:
        raise AssertionError("at a file")

    monkeypatch.setattr(probe, "cron_ways", crash)
    kernel = {"argv": ["python", "-m", "ipykernel_launcher"], "env": {"LD_LIBRARY_PATH": "/opt/old"}}
    write(tmp_path, "/usr/share/jupyter/kernels/a/kernel.json", json.dumps(kernel))
    host = FakeHost(root=tmp_path, facts=Machine(system="linux", user="ada", home="/home/ada"))
    probes = (Probe("starts", functools.partial(look_here)),)
    seen = take_snapshot(host, Progress(), probes=probes)
    assert [(e.probe, e.kind) for e in seen.errors] == [("starts", "crash")]
    assert "AssertionError: at a file" in seen.errors[0].message
    assert [s.at for s in seen.starts or () if s.kind == "notebook"] == ["/usr/share/jupyter/kernels/a/kernel.json"]
    with pytest.raises(AssertionError):
        probe.look(request(tmp_path))


def look_here(request: ProbeRequest) -> tuple[Start, ...]:
    return probe.look(request)


HALF = "\\ud800"


def test_half_letters_of_code_and_of_json_are_told_in_a_form_that_a_report_can_hold(tmp_path: Path) -> None:
    """A variable may have any bytes, and a line of a shell takes them on."""
    work, python = "/home/ada/work", "/home/ada/work/.venv/bin/python"
    launch = {"type": "debugpy", "name": "n?", "program": "x.py", "python": python, "env": {"LD_LIBRARY_PATH": "/a?"}}
    write(tmp_path, f"{work}/.vscode/launch.json", json.dumps({"configurations": [launch]}).replace("?", HALF))
    write(tmp_path, f"{work}/main.py", f'import os\nos.environ["LD_LIBRARY_PATH"] = "/b{HALF}"\nimport torch\n')
    write(tmp_path, f"{work}/.venv/pyvenv.cfg", "home = /usr/bin\n")
    write(tmp_path, python, b"\x7fELF").chmod(0o755)
    write(tmp_path, f"{work}/.envrc", "export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/c\n")
    write(tmp_path, "/etc/passwd", "ada:x:1000:1000::/home/ada:/bin/bash\n")
    env = {"HOME": "/home/ada", "PATH": f"{work}/.venv/bin", "LD_LIBRARY_PATH": os.fsdecode(b"/opt/\xff")}
    host = FakeHost(root=tmp_path, facts=Machine(system="linux", user="ada", home="/home/ada"), environment=env)
    pythons = (PythonEnvironment(prefix=f"{work}/.venv", kind="venv"),)

    def in_work(request: ProbeRequest) -> tuple[Start, ...]:
        given = replace(request, seen=replace(request.seen, pythons=pythons), script_folder=work)
        return probe.look(given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "ground_of", lambda its, where, _folder: ground_of(its, where, work))
        seen = take_snapshot(host, Progress(), probes=(Probe("starts", in_work),))
    assert seen.errors == ()
    told = {v.value for s in seen.starts or () for v in s.variables if v.name == "LD_LIBRARY_PATH"}
    assert {r"/a\ud800", r"/opt/\xff:/c"} <= told
    lines = {row.value for s in seen.starts or () for row in s.lines}
    assert r"/a\ud800" in lines
    report = Report(snapshot=seen, findings=())
    assert from_json(to_json(report)).snapshot.starts == seen.starts
