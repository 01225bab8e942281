"""IPython's and pytest's own ways to other modules: the real pytest is the measure of what stands on sys.path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.python.search.search_path import later_entries, python_search_path, read_interpreter
from core.probes.starting.machine import Ground
from core.probes.starting.started_programs import SYS_PATH, ipython_ways, prompt_ways, pytest_ways, start_code_ways
from core.probes.sysroot import Sysroot
from tests.probes.starting.shells import begin, ground

TELLS = (
    "import json, os, sys\n\n\ndef test_tells():\n"
    "    own = [p for p in sys.path if p.startswith(os.environ['HOME'])]\n"
    "    print('TOLD', json.dumps([list(dict.fromkeys(own)), os.environ.get('CUDA_HOME')]))\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for package in ("pytest", "IPython", "pytest_env"):
        (tmp_path / "env/lib/python3.11/site-packages" / package).mkdir(parents=True)
    (tmp_path / "work").mkdir()
    return Path(os.path.realpath(tmp_path))


def here(home: Path) -> Ground:
    return replace(ground(home), env={"HOME": str(home)}, folder=str(home / "work"))


def pythons(home: Path, *lacks: str) -> tuple[PythonEnvironment, ...]:
    site = home / "env/lib/python3.11/site-packages"
    for package in lacks:
        (site / package).rmdir()
    return (PythonEnvironment(prefix=str(home / "env"), kind="venv", site_packages=(str(site),)),)


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


PROJECTS: dict[str, dict[str, str]] = {
    "a setting of its own file": {"pytest.ini": "[pytest]\npythonpath = src lib\n", "test_x.py": TELLS},
    "a list in TOML": {"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = [".", "src"]\n', "tests/test_x.py": TELLS},
    "tox.ini": {"tox.ini": "[tox]\nenvlist = a\n[pytest]\npythonpath =\n    src\n    lib\n", "test_x.py": TELLS},
    "setup.cfg": {"setup.cfg": "[metadata]\nname = x\n[tool:pytest]\npythonpath = src\n", "test_x.py": TELLS},
    "an empty file comes first": {"pytest.ini": "", "setup.cfg": "[tool:pytest]\npythonpath = src\n", "test_x.py": TELLS},
    "the folder of a test": {"tests/unit/test_x.py": TELLS},
    "the folder above a package of tests": {"tests/a/__init__.py": "", "tests/a/test_x.py": TELLS},
    "imported by another mode": {"pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n", "tests/test_x.py": TELLS},
    "conftest": {
        "tests/conftest.py": "import os, sys\n\nHERE = os.path.dirname(os.path.abspath(__file__))\nsys.path.insert(0, os.path.join(HERE, 'fakes'))\nos.environ['CUDA_HOME'] = '/opt/c'\n",
        "tests/test_x.py": TELLS,
    },
    "nothing": {"README": "", "test_x.py": TELLS},
}  # fmt: skip


@pytest.mark.parametrize("files", PROJECTS.values(), ids=PROJECTS)
def test_what_the_real_pytest_searches(files: dict[str, str], home: Path) -> None:
    write(home, {f"work/{n}": t for n, t in files.items()})
    command = [sys.executable, "-m", "pytest", "-sq", "-p", "no:cacheprovider", "-p", "no:randomly"]
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=home / "work", env=env, capture_output=True, text=True, timeout=60, check=False)
    (row,) = [line.partition("TOLD ")[2] for line in done.stdout.splitlines() if "TOLD " in line]
    real, variable = json.loads(row)
    ways = [*pytest_ways(replace(here(home), pythons=pythons(home)))]
    state = ways[0].state if ways else begin(home)
    mine = [p for p in state.values.get(SYS_PATH, "").split(":") if p]
    work = str(home / "work")
    assert {p for p in mine if p != work} == {p for p in real if p != work}
    assert state.environment().get("CUDA_HOME") == variable
    assert bool(ways) == bool([p for p in real if p != work] or variable)


def test_its_plugin_sets_variables_that_are_not_too_late(home: Path) -> None:
    ini = "[pytest]\naddopts = -q\nenv =\n    XLA_FLAGS=--a\n    D:HF_HOME=/h\n    LD_LIBRARY_PATH=/late\n"
    write(home, {"work/pytest.ini": ini})
    (way,) = pytest_ways(replace(here(home), pythons=pythons(home)))
    env = way.state.environment()
    assert (env["XLA_FLAGS"], env["HF_HOME"], "LD_LIBRARY_PATH" in env) == ("--a", "/h", False)
    assert [r.line for r in way.state.lines["HF_HOME"]] == [5]
    assert not list(pytest_ways(replace(here(home), pythons=pythons(home, "pytest_env"))))
    assert not list(pytest_ways(replace(here(home), pythons=pythons(home, "pytest"))))


def test_ipython_runs_its_own_files(home: Path) -> None:
    profile = ".ipython/profile_default"
    write(home, {
        f"{profile}/startup/README": "sys.path.insert(0, '/readme')\n",
        f"{profile}/startup/10-a.py": "import os, sys\n\nsys.path.append(os.path.expanduser('~/tools'))\nos.environ['XLA_FLAGS'] = '--a'\nos.environ['LD_LIBRARY_PATH'] = '/late'\n",
        f"{profile}/ipython_config.py": "c = get_config()\nc.InteractiveShellApp.exec_lines = [\n    'import sys; sys.path.insert(0, \"src\")',\n]\n",
    })  # fmt: skip
    (way,) = ipython_ways(replace(here(home), pythons=pythons(home)))
    rows = [(r.added, Path(r.file).name, r.line) for r in way.state.lines[SYS_PATH]]
    assert rows == [(f"{home}/work/src", "ipython_config.py", 3), (f"{home}/tools", "10-a.py", 3)]
    assert way.state.environment()["XLA_FLAGS"] == "--a"
    assert "LD_LIBRARY_PATH" not in way.state.environment()
    assert not list(ipython_ways(replace(here(home), pythons=pythons(home, "IPython"))))


@pytest.mark.parametrize("change", ["sys.path.insert(0, '{home}/lab')", "os.environ['XLA_FLAGS'] = '--a'", ""])
def test_pythons_prompt_runs_its_file_first(change: str, home: Path) -> None:
    write(home, {".pythonrc.py": f"import os, readline, sys\n\n{change.replace('{home}', str(home))}\n"})
    terminal = begin(home)
    terminal.values["PYTHONSTARTUP"] = f"{home}/.pythonrc.py"
    found = [
        (w.kind, {n: [r.line for r in rows] for n, rows in w.state.lines.items()})
        for w in prompt_ways(here(home), terminal)
    ]
    assert found == ([("prompt", {SYS_PATH if "sys.path" in change else "XLA_FLAGS": [3]})] if change else [])


def test_start_code_sets_variables_for_every_program_of_its_environment(home: Path) -> None:
    site = "env/lib/python3.11/site-packages"
    code = "import os\nos.environ.setdefault('TORCH_LOGS', 'odd')\nos.environ['HOME'] = '/x'\nos.environ['LD_PRELOAD'] = '/late'\n"
    write(home, {f"{site}/sitecustomize.py": code + "os.environ['CUDA_VISIBLE_DEVICES'] = ''\n"})
    (way,) = start_code_ways(replace(here(home), pythons=pythons(home)))
    assert way.prefix == str(home / "env")
    assert {n: [r.line for r in rows] for n, rows in way.state.lines.items()} == {"TORCH_LOGS": [2]}
    write(home, {f"{site}/sitecustomize.py": "import sys\n"})
    assert not list(start_code_ways(replace(here(home), pythons=pythons(home))))


def test_a_started_program_has_the_standard_library_before_what_it_adds(tmp_path: Path) -> None:
    where = Sysroot("linux")
    python = read_interpreter(sys.prefix, sys.executable, where)
    assert python is not None
    env = {SYS_PATH: later_entries([(0, "/front", "/a.py", 3), (None, "/end", "/b.py", 4)])}
    entries = python_search_path(python, env, str(tmp_path), where).entries
    at = {e.path: n for n, e in enumerate(entries)}
    standard = max(n for n, e in enumerate(entries) if e.origin == "standard library")
    packages = min(n for n, e in enumerate(entries) if e.origin == "site-packages")
    assert standard < at["/front"] < packages < at["/end"] == len(entries) - 1
    assert (entries[at["/front"]].source, entries[at["/front"]].line) == ("/a.py", 3)
