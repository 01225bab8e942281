r"""What a double click on a script starts, in a folder that stands for C:\."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.windows.registered import registered_starts
from core.model.facts import Distribution, PythonEnvironment, RegisteredStart
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.double_click import does_something, double_click_ways
from core.probes.sysroot import sysroot_of
from tests.probes.request import request, write

FOLDERS = {name: rf"C:\{name}\Lib\site-packages" for name in ("ml", "tools")}
ML = PythonEnvironment(
    prefix=r"C:\ml",
    kind="venv",
    executable=r"C:\ml\Scripts\python.exe",
    site_packages=(FOLDERS["ml"],),
    distributions=(Distribution(name="ctranslate2", version="4.8.5"),),
)
TOOLS = r"C:\tools\Scripts\python.exe"
CLASS = r"Software\Classes\{name}\shell\open\command"
CHOICE = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.py\UserChoice"
STARTS = "import ctranslate2\nprint(ctranslate2)\n"


@pytest.mark.parametrize(
    ("keys", "command"),
    [
        ({("HKLM", CLASS.format(name="Python.File")): "py"}, "py"),
        ({("HKLM", CLASS.format(name="Python.File")): "py", ("HKCU", CLASS.format(name="Python.File")): "mine"}, "mine"),
        ({("HKCU", r"Software\Classes\.py"): "Mine", ("HKLM", CLASS.format(name="Mine")): "its"}, "its"),
        ({("HKCU", CHOICE): "Applications\\python.exe", ("HKCU", CLASS.format(name="Applications\\python.exe")): "it"}, "it"),
        ({}, None),
    ],
)  # fmt: skip
def test_what_the_person_chose_opens_scripts(keys: dict[tuple[str, str], str], command: str | None) -> None:
    def read(root: str, key: str) -> dict[str, object]:
        value = keys.get((root, key))
        return {} if value is None else {"progid" if key == CHOICE else "": value}

    found = [one.command for one in registered_starts((), read) if one.kind == "association"]
    assert found == ([command] if command else [])


@pytest.mark.parametrize(
    ("python", "script", "lacks"),
    [
        (TOOLS, STARTS, ("ctranslate2",)),
        (TOOLS, "import json\nprint(json)\n", ()),
        (TOOLS, "import ctranslate2\n\n\ndef load():\n    return 1\n", ()),  # a module: nobody starts it
        (ML.executable, STARTS, ()),
        (
            r"C:\Python311\python.exe",
            STARTS,
            (),
        ),  # as its installer left it: that says nothing of how this person starts programs
        (r"C:\Windows\py.exe", STARTS, ()),
    ],
)
def test_a_script_that_the_chosen_environment_cannot_run_is_told(
    tmp_path: Path, python: str, script: str, lacks: tuple[str, ...]
) -> None:
    def put(path: str, content: str | bytes = b"") -> None:
        write(tmp_path, path.replace("\\", "/"), content)

    for name, folder in FOLDERS.items():
        put(rf"C:\{name}\pyvenv.cfg", "home = C:\\Python311\nversion = 3.11.9\n")
        put(rf"C:\{name}\Scripts\python.exe")
        put(rf"{folder}\placeholder.txt")
    put(rf"{FOLDERS['ml']}\ctranslate2\__init__.py")
    put(r"C:\Python311\python.exe")
    put(r"C:\Python311\python311.dll")
    put(r"C:\Python311\Lib\os.py")
    put(r"C:\work\project\transcribe.py", script)
    its = request(tmp_path, system="windows", env={"Path": r"C:\Windows"})
    ground = ground_of(its, sysroot_of(its.host), r"C:\work")
    one = RegisteredStart(kind="association", key=r"HKCU\Software\Classes\X", command=f'"{python}" "%1" %*')
    found = list(double_click_ways(replace(ground, pythons=(ML,)), (one,)))
    program = r"C:\work\project\transcribe.py"
    assert [(w.kind, w.at) for w in found] == ([("launcher", program)] if lacks else [])
    assert tuple(n for w in found for r in w.runs for n in r.lacks) == lacks
    assert all((r.program, r.source) == (program, one.key) for w in found for r in w.runs)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("if __name__ == '__main__':\n    run()\n", True),
        ("import torch\ntrain()\n", True),
        ("import torch\nx = 1\n", False),
        ('"""Words."""\n', False),
        ("def (", False),
    ],
)
def test_a_program_does_something_at_its_margin(text: str, told: bool) -> None:
    assert does_something(text) is told
