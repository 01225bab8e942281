r"""Ways of starting on Windows, read in a folder that stands for C:\."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, Machine, PythonEnvironment, Snapshot
from core.probes.loading import closure
from core.probes.starting import looks, probe
from core.probes.starting.machine import ground_of
from core.probes.starting.windows.ways import windows_ways
from core.probes.sysroot import sysroot_of
from tests.host.fake import FakeHost
from tests.loader import build
from tests.probes.request import request, write

CONDA = r"C:\ml\conda"
ENV = {"APPDATA": r"C:\Users\ada\AppData\Roaming", "Path": r"C:\Windows\System32", "SystemRoot": r"C:\Windows"}


def put(root: Path, path: str, text: str) -> str:
    file = root / path.replace("\\", "/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return path


def test_kernels_hooks_kept_variables_and_settings_are_read(tmp_path: Path) -> None:
    kernel = put(
        tmp_path,
        r"C:\Users\ada\AppData\Roaming\jupyter\kernels\ml\kernel.json",
        json.dumps({"argv": ["python"], "env": {"CUDA_VISIBLE_DEVICES": "-1", "PATH": r"C:\cuda;${Path}"}}, indent=1),
    )
    hook = put(
        tmp_path,
        CONDA + r"\etc\conda\activate.d\cuda.bat",
        '@set "CUDA_PATH=C:\\old"\n@if exist x set CUDA_HOME=C:\\y\n',
    )
    kept = put(tmp_path, CONDA + r"\conda-meta\state", json.dumps({"env_vars": {"XLA_FLAGS": "--bad"}}))
    editor = put(
        tmp_path,
        r"C:\Users\ada\AppData\Roaming\Code\User\settings.json",
        '{\n  // mine\n  "terminal.integrated.env.windows": {\n    "CUDA_VISIBLE_DEVICES": "-1",\n  },\n}\n',
    )
    machine = Machine(system="windows", user="ada", home=r"C:\Users\ada")
    its = request(tmp_path, system="windows", env=ENV)
    assert isinstance(its.host, FakeHost)
    seen = Snapshot(machine=machine, pythons=(PythonEnvironment(prefix=CONDA, kind="conda"),))
    found = {s.kind: s for s in probe.look(replace(its, seen=seen, env=ENV))}
    rows = {(k, r.name): (r.file, r.line, r.form) for k, s in found.items() for r in s.lines}
    assert rows["notebook", "CUDA_VISIBLE_DEVICES"] == (kernel, 6, "json")
    assert rows["activation", "CUDA_PATH"] == (hook, 1, "cmd")
    assert rows["activation", "XLA_FLAGS"] == (kept, 1, "json")
    assert rows["editor", "CUDA_VISIBLE_DEVICES"] == (editor, 4, "json")
    path = next(v.value for v in found["notebook"].variables if v.name.upper() == "PATH")
    assert path == r"C:\cuda;C:\Windows\System32"
    assert found["activation"].prefix == CONDA


ML = PythonEnvironment(prefix=r"C:\ml", kind="venv")
PROJECT = r"C:\project"


def ways(root: Path) -> dict[str, tuple[str, dict[str, str]]]:
    its = request(root, system="windows", env=ENV)
    where = sysroot_of(its.host)
    ground = ground_of(its, where, PROJECT)
    found = windows_ways(replace(ground, pythons=(ML,)))
    return {w.kind: (w.prefix, w.state.environment()) for w in found if w.kind in ("script", "editor")}


def test_the_settings_of_the_open_folder_are_those_of_its_terminals(tmp_path: Path) -> None:
    its = PROJECT + r"\.vscode\settings.json"
    put(
        tmp_path,
        its,
        json.dumps({"terminal.integrated.env.windows": {"PYTHONPATH": "${workspaceFolder}\\\\src"}}).replace(
            "\\\\\\\\", "\\\\"
        ),
    )
    assert ways(tmp_path)["editor"][1]["PYTHONPATH"] == PROJECT + r"\src"
    put(tmp_path, its, '{"editor.fontSize": 14}')
    assert not ways(tmp_path)


def test_a_batch_file_that_starts_an_environments_python_is_a_way(tmp_path: Path) -> None:
    lines = (
        r"@echo off",
        r"set PATH=C:\tools",
        r"rem C:\old\python.exe x.py",
        r"C:\ML\Scripts\python.exe train.py",
        "set PATH=C:\\later",
    )
    put(tmp_path, PROJECT + r"\run.bat", "\r\n".join(lines))
    put(tmp_path, PROJECT + r"\build.cmd", "set PATH=C:\\other\r\ncl.exe main.c\r\n")
    prefix, env = ways(tmp_path)["script"]
    assert (prefix, env["Path"]) == (r"C:\ml", r"C:\tools")


@pytest.mark.parametrize(
    ("lines", "name", "value"),
    [
        (('set CUDA_VISIBLE_DEVICES="0"',), "CUDA_VISIBLE_DEVICES", '"0"'),
        (("set CUDA_VISIBLE_DEVICES=0 & echo x",), "CUDA_VISIBLE_DEVICES", "0 "),
        (('set "CUDA_VISIBLE_DEVICES=0" & echo x',), "CUDA_VISIBLE_DEVICES", "0"),
        (("cd /d C:\\work", r"set PYTHONPATH=%CD%\src"), "PYTHONPATH", r"C:\work\src"),
        (("cd/d C:\\work", r"set PYTHONPATH=%CD%\src"), "PYTHONPATH", r"C:\work\src"),
        (("set BASE=C:\\b", "set PYTHONPATH=!BASE!\\src"), "PYTHONPATH", r"C:\b\src"),
        (("set A=1 & set PYTHONPATH=%A%",), "PYTHONPATH", None),
        (("if exist x set PYTHONPATH=C:\\x & set CUDA_PATH=C:\\y",), "CUDA_PATH", None),
        ((r'if exist "%~dp0run.bat" set CUDA_PATH=C:\y',), "CUDA_PATH", r"C:\y"),
        ((r"if exist C:\nothing set CUDA_PATH=C:\x",), "CUDA_PATH", None),
        ((r"set CUDA_PATH=C:\y", r"if not defined CUDA_PATH (set CUDA_PATH=C:\x)"), "CUDA_PATH", r"C:\y"),
        (("if not defined NOTHING (", "  set CUDA_PATH=C:\\y", ")"), "CUDA_PATH", r"C:\y"),
        (
            ("if defined NOTHING (", "  set CUDA_PATH=C:\\x", ") else (", "  set CUDA_PATH=C:\\y", ")"),
            "CUDA_PATH",
            r"C:\y",
        ),
        ((r"if exist C:\nothing (", "  set CUDA_PATH=C:\\x", ")"), "CUDA_PATH", None),
        ((r'if exist "%~dp0run.bat" (', "  set CUDA_PATH=C:\\y", ")"), "CUDA_PATH", r"C:\y"),
        (('if "%1"=="x" (', "  set CUDA_PATH=C:\\x", ")"), "CUDA_PATH", None),
        (("for %%i in (1 2) do (", "  set CUDA_PATH=C:\\x", ")"), "CUDA_PATH", None),
        ((r"path C:\x;%PATH%",), "Path", r"C:\x;C:\Windows\System32"),
        ((r"PATH=C:\x",), "Path", r"C:\x"),
        ((r"path",), "Path", r"C:\Windows\System32"),
        ((r'start "" /d C:\work /b echo', r"set PYTHONPATH=%CD%"), "PYTHONPATH", r"C:\project"),
    ],
)
def test_a_value_is_what_cmd_makes_of_it(lines: tuple[str, ...], name: str, value: str | None, tmp_path: Path) -> None:
    put(tmp_path, PROJECT + r"\run.bat", "\r\n".join((*lines, r"C:\ML\Scripts\python.exe train.py")))
    assert ways(tmp_path)["script"][1].get(name) == value


@pytest.mark.parametrize(
    ("value", "told"),
    [(r"C:\tools", r"C:\tools"), (r"C:\tools;${env:PATH}", r"C:\tools;C:\Windows\System32")],
    ids=["instead", "before"],
)
def test_a_launch_configuration_is_a_way(value: str, told: str, tmp_path: Path) -> None:
    one = {"name": "train", "type": "debugpy", "python": r"C:\ml\Scripts\python.exe", "env": {"PATH": value}}
    put(tmp_path, PROJECT + r"\.vscode\launch.json", json.dumps({"configurations": [one]}, indent=1))
    put(tmp_path, PROJECT + r"\.env", "PYTHONPATH=C:\\old\n")
    prefix, env = ways(tmp_path)["editor"]
    assert (prefix, env["Path"], env["PYTHONPATH"]) == (r"C:\ml", told, r"C:\old")


def test_an_activation_of_condas_is_examined_for_its_own_environment_alone(tmp_path: Path) -> None:
    """The other environment's closure stays as it is: to look for each DLL anew takes time."""
    pythons, dll = [], "cublas64_12.dll"
    for name in ("one", "two"):
        prefix = rf"C:\conda\envs\{name}"
        site = prefix + r"\Lib\site-packages"
        write(tmp_path, f"{prefix}/conda-meta/history".replace("\\", "/"))
        write(tmp_path, f"{prefix}/Library/bin/{dll}".replace("\\", "/"), build.pe())
        provider = f"{site}/onnxruntime/capi/onnxruntime_providers_cuda.dll"
        write(tmp_path, provider.replace("\\", "/"), build.pe([dll]))
        its = Distribution(name="onnxruntime-gpu", version="1.20.0", location=site)
        pythons.append(
            PythonEnvironment(
                prefix=prefix,
                executable=prefix + r"\python.exe",
                kind="conda",
                site_packages=(site,),
                distributions=(its,),
            )
        )
    asked = request(tmp_path, ENV, system="windows", pythons=tuple(pythons))
    asked = replace(asked, seen=replace(asked.seen, closures=closure.look(asked)))
    asked = replace(asked, seen=replace(asked.seen, starts=probe.look(asked)))
    different = {look.starts: look for look in looks.look_again(asked)}
    assert len(different) == 2
    for (start,), look in different.items():
        found = {c.consumer.prefix: {e.name: e.state for e in c.edges} for c in look.closures or ()}
        own = start.partition(":")[2]
        assert {p: its.get(dll, "found") for p, its in found.items()} == {
            p.prefix: "found" if p.prefix == own else "absent" for p in pythons
        }
