"""What is around the program when an administrator starts it: variables, the current folder, a home that is another's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.malice.conftest import EVE, ROOT, Box, needs_root
from tests.malice.planted import library, owned

pytestmark = needs_root

MODULES = (
    "sitecustomize.py",
    "usercustomize.py",
    "json.py",
    "torch.py",
    "core.py",
    "msgspec.py",
    "resources.py",
    "gui.py",
)
LIBRARIES = ("libcudnn.so.9", "libcuda.so.1", "libnvidia-ml.so.1", "evil.so", "libevil.so", "gconv-modules")
PROGRAMS = ("nvcc", "nvidia-smi", "ldconfig", "python3", "bash", "uv", "dmesg")
SURROUNDINGS: dict[str, dict[str, str]] = {
    "the current folder": {},
    "PATH with a dot": {"PATH": ".:/usr/bin:/bin"},
    "PATH with an empty entry": {"PATH": ":/usr/bin:/bin"},
    "PATH with a relative entry": {"PATH": "bin/../:/usr/bin:/bin"},
    "a library to preload, by a relative name": {"PATH": "/usr/bin:/bin", "CUDA_INJECTION64_PATH": "evil.so"},
    "tables of characters": {"GCONV_PATH": "{eve}", "LOCPATH": "{eve}", "NLSPATH": "{eve}/%N", "LC_ALL": "xx_XX.EVIL"},
    "start-up files of shells": {"BASH_ENV": "{eve}/core.py", "ENV": "{eve}/core.py", "ZDOTDIR": "{eve}"},
    "her home": {"HOME": "{eve}"},
    "her shell": {"SHELL": "{eve}/bash"},
    "her packages": {"PYTHONUSERBASE": "{eve}", "PYTHONSTARTUP": "{eve}/core.py", "PYTHONHOME": ""},
    "settings of OpenSSL": {"OPENSSL_CONF": "{eve}/core.py", "OPENSSL_MODULES": "{eve}", "OPENSSL_ENGINES": "{eve}"},
    "libraries that frameworks are told of": {
        "NUMBA_CUDA_DRIVER": "{eve}/evil.so",
        "TF_PLUGGABLE_DEVICE_LIBRARY_PATH": "{eve}",
    },
    "her toolkit": {"CUDA_HOME": "{eve}", "CUDA_PATH": "{eve}", "CUDNN_PATH": "{eve}"},
    "her places of configuration": {"XDG_CONFIG_HOME": "{eve}", "XDG_DATA_HOME": "{eve}", "XDG_DATA_DIRS": "{eve}"},
}


@pytest.fixture
def marks(box: Box, marks: Path) -> Path:
    """Fill her folder with whatever could be taken for something else, each of which would leave a mark."""
    place = marks
    for name in MODULES:
        (box.eve / name).write_text(f"open({str(place / name)!r}, 'w').close()\n")
    for name in LIBRARIES:
        (box.eve / name).write_bytes(library(str(place)))
    for name in PROGRAMS:
        (box.eve / name).write_text(f"#!/bin/sh\n: > {place}/{name}-$(id -u)\n")
    owned(box.eve, EVE)
    for name in PROGRAMS:
        (box.eve / name).chmod(0o755)
    return place


@pytest.mark.parametrize("kind", SURROUNDINGS)
def test_nothing_of_hers_gets_an_administrators_rights(box: Box, marks: Path, kind: str) -> None:
    given = {n: v.format(eve=box.eve) for n, v in SURROUNDINGS[kind].items() if v}
    env = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(box.root / "home/root"),
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        **given,
    }
    done = subprocess.run(
        [sys.executable, "-m", "core", "scan", "--json"],
        cwd=box.eve,
        env=env,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode in (0, 1, 5), done.stderr.decode()
    assert json.loads(done.stdout)["schema"] == 1
    assert [p.name for p in marks.iterdir() if p.stat().st_uid == 0] == []


SCRIPT = """
import sys
sys.path.append(sys.argv.pop(1))
from core.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""As the installed program starts: no folder of the session's comes first."""


def test_an_installed_program_in_her_folder_imports_nothing_of_hers(box: Box, marks: Path, tmp_path: Path) -> None:
    """Nor does any interpreter that it starts, pip's and a framework's trial among them (python -m, python -c)."""
    for name in ("pip", "packaging", "numpy", "ctypes", "msgspec", "core"):
        (box.eve / name).mkdir()
        for module in ("__init__.py", "__main__.py"):
            (box.eve / name / module).write_text(f"open({str(marks / name)!r}, 'w').close()\n")
    owned(box.eve, EVE)
    env = box.root / "opt/env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", env], check=True)
    site = next(env.glob("lib/python3*/site-packages"))
    for file, text in {
        "torch/__init__.py": "import numpy\n",
        "torch/_C.so": "",
        "torch-2.8.0.dist-info/METADATA": "Name: torch\nVersion: 2.8.0\n",
    }.items():
        (site / file).parent.mkdir(exist_ok=True)
        (site / file).write_text(text)
    script = tmp_path / "convalesce.py"
    script.write_text(SCRIPT)
    for words in (("scan", "--try", "--json", "--python", str(env)), ("fix", "--yes", "--python", str(env)), ("undo",)):
        done = subprocess.run(
            [sys.executable, script, str(ROOT), *words], cwd=box.eve, capture_output=True, check=False, timeout=120,
            env={"PATH": "/usr/bin:/bin", "HOME": str(box.root / "home/root")},
        )  # fmt: skip
        assert done.returncode in (0, 1, 2, 4, 5), done.stderr.decode()
        assert b"Traceback" not in done.stderr
    assert [p.name for p in marks.iterdir() if p.stat().st_uid == 0] == []


WINDOW = """
import importlib, json, os, sys
sys.path.insert(0, sys.argv[1])
import core.__main__ as program
class Window:
    @staticmethod
    def main():
        print(json.dumps(dict(os.environ)))
        return 0
real = importlib.import_module
importlib.import_module = lambda name, *more: Window if name == "gui.window.app" else real(name, *more)
sys.exit(program.wizard_or_scan())
"""


@pytest.mark.parametrize("name", ["QT_PLUGIN_PATH", "QT_QPA_PLATFORM_PLUGIN_PATH"])
def test_an_administrators_window_loads_no_plugins_of_hers(box: Box, name: str) -> None:
    """Qt looks into these folders before its own, and loads what says that it is a plugin."""
    env = {"PATH": "/usr/bin:/bin", "HOME": "/", "QT_QPA_PLATFORM": "offscreen", name: f"{box.eve}:{box.root / 'opt'}"}
    done = subprocess.run(
        [sys.executable, "-c", WINDOW, str(ROOT)], cwd="/", env=env, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)[name] == str(box.root / "opt")


SWAP = """
import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from core.cli import terminal
name = Path(sys.argv[2])
def is_file(self, real=Path.is_file):  # between the look and the reading
    found = real(self)
    if self == name:
        name.unlink()
        os.mkfifo(name) if sys.argv[3] == "a pipe" else name.symlink_to("/dev/zero")
    return found
Path.is_file = is_file
try:
    terminal.read_report(name)
except terminal.UsageError as e:
    print(e)
"""


@pytest.mark.parametrize("what", ["a pipe", "a device without end"])
def test_a_report_that_is_swapped_while_it_is_opened_holds_nobody_up(tmp_path: Path, what: str) -> None:
    report = tmp_path / "report.json"
    report.write_text("{}")
    done = subprocess.run(
        [sys.executable, "-c", SWAP, str(ROOT), str(report), what], capture_output=True, text=True, check=False,
        timeout=60, env={**os.environ, "PYTHONPATH": ""}, preexec_fn=_little_memory,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1


def _little_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
