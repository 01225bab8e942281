r"""Programs that are started in another folder than the scan: a file beside the program may stand in a package's way."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import Machine, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python import imports
from core.probes.starting import looks, probe
from core.probes.starting.commands.command_line import StartedFile
from core.probes.starting.commands.started_code import script_folder
from core.probes.starting.machine import ground_of
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write
from tests.probes.starting.test_windows_starters import ENV, TASK

PYTHON, SITE = r"C:\ml\Scripts\python.exe", r"C:\ml\Lib\site-packages"
ML = PythonEnvironment(
    prefix=r"C:\ml", kind="venv", version="3.11.9", executable=PYTHON, site_packages=(SITE,), found_by="--python"
)


def put(root: Path, path: str, content: str | bytes) -> None:
    write(root, path.replace("\\", "/"), content)


def machine(root: Path, arguments: str, **beside: str) -> ProbeRequest:
    """Return a machine with a task that runs something in C:\\project, looked at from C:\\Users\\ada."""
    put(root, r"C:\ml\pyvenv.cfg", "home = C:\\Python\nversion = 3.11.9\n")
    put(root, PYTHON, "MZ")
    put(root, r"C:\Python\python311.dll", "MZ")
    put(root, r"C:\Python\Lib\os.py", "")
    put(root, SITE + r"\numpy\__init__.py", "__version__ = '1.26.4'\n")
    put(root, SITE + r"\numpy-1.26.4.dist-info\METADATA", "Name: numpy\nVersion: 1.26.4\n")
    put(root, SITE + r"\numpy-1.26.4.dist-info\RECORD", "numpy/__init__.py,,\n")
    put(root, r"C:\project\main.py", "import numpy\n")
    for name, text in beside.items():
        put(root, rf"C:\project\{name}.py", text)
    text = TASK.format(enabled="true", command=PYTHON, arguments=arguments)
    put(root, r"C:\Windows\System32\Tasks\Nightly", text.encode("utf-16"))
    its = replace(request(root, system="windows", env=ENV), script_folder=r"C:\Users\ada")
    seen = Snapshot(machine=Machine(system="windows", user="ada", home=r"C:\Users\ada"), pythons=(ML,))
    its = replace(its, seen=seen)
    its = replace(its, seen=replace(seen, imports=imports.look(its)))
    return replace(its, seen=replace(its.seen, starts=probe.look(its)))


def test_each_look_is_kept_when_it_ends(tmp_path: Path) -> None:
    """Where the time is out before the last one, the others count."""
    kept: list[object] = []
    found = looks.look_again(replace(machine(tmp_path, "main.py", numpy=""), keep=kept.append))
    assert kept == [*found] != []


@pytest.mark.parametrize(
    ("arguments", "beside", "wins"),
    [
        ("main.py", {"numpy": ""}, r"C:\project\numpy.py"),
        ("-c &quot;import numpy&quot;", {"numpy": ""}, r"C:\project\numpy.py"),
        ("-I main.py", {"numpy": ""}, ""),
        ("main.py", {"helpers": ""}, ""),
    ],
    ids=["a file", "code", "isolated", "its own modules"],
)
def test_a_tasks_folder_is_searched_first(arguments: str, beside: dict[str, str], wins: str, tmp_path: Path) -> None:
    found = looks.look_again(machine(tmp_path, arguments, **beside))
    seen = [(look.starts, m.path, m.hidden) for look in found for s in look.imports or () for m in s.modules]
    its = [(starts, path) for starts, path, hidden in seen if hidden]
    assert its == ([((r"task:C:\Windows\System32\Tasks\Nightly",), wins)] if wins else [])


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        (("-B", "tools\\run.py", "-P"), r"C:\project\tools"),
        (("-P", "run.py"), ""),
        (("-m", "app"), r"C:\project"),
        (("-X", "dev", "D:\\run.py"), "D:\\"),
        ((), ""),
    ],
)
def test_the_folder_of_a_command(arguments: tuple[str, ...], folder: str, tmp_path: Path) -> None:
    its = request(tmp_path, system="windows", env=ENV)
    state = State({"PWD": r"C:\project"}, set(), separator=";")
    started = StartedFile(PYTHON, r"C:\ml", arguments=arguments)
    assert script_folder(started, state, ground_of(its, sysroot_of(its.host), "C:\\")) == folder
