"""Programs that files describe as data, and what programs give themselves: one fact, in the forms that people write it in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.described import described
from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting.own_settings import own_settings_ways
from core.probes.starting.projects.any_file import any_file_ways
from core.probes.starting.projects.described_programs import described_ways
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.services.systemd import service_ways
from core.probes.starting.starters import script_ways
from tests.probes.starting.shells import in_project, project

NAME, VALUE = "XLA_FLAGS", "--xla_x=1"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a project and its environment."""
    project(tmp_path)
    (tmp_path / "work/main.py").write_text("import jax\n")
    return tmp_path


def write(home: Path, name: str, text: str) -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{env}", str(home / "work/.venv")).replace("{home}", str(home)))
    path.chmod(0o755)


def found(home: Path) -> list[tuple[str | None, list[int]]]:
    """Return the variable of each way that starts the environment, and the lines that set it."""
    env = home / "work/.venv"
    made = in_project(home)
    its = (PythonEnvironment(prefix=str(env), kind="venv"),)
    ways = [
        *described_ways(replace(made, pythons=its)),
        *any_file_ways(replace(made, pythons=its), State()),
        *task_ways(replace(made, pythons=its)),
        *service_ways(replace(made, pythons=its)),
        *script_ways(replace(made, pythons=its)),
    ]
    return [
        (w.state.environment().get(NAME), [r.line for r in w.state.lines.get(NAME, ()) if not r.overridden])
        for w in ways
        if w.prefix == str(env)
    ]


FILES: dict[str, tuple[str, str, int]] = {
    "circus, one watcher": ("work/circus.ini", "[watcher:serve]\ncmd = {env}/bin/python main.py\n\n[env:serve]\nXLA_FLAGS = --xla_x=1\n", 5),
    "circus, every watcher": ("work/circus.ini", "[env]\nXLA_FLAGS = --xla_x=1\n[watcher:a]\ncmd = {env}/bin/python\nargs = main.py\n", 2),
    "uwsgi": ("work/uwsgi.ini", "[uwsgi]\nvirtualenv = {env}\nmodule = main\nenv = A=b\nenv = XLA_FLAGS=--xla_x=1\n", 5),
    "circus, a script": ("work/circus.ini", "[watcher:serve]\ncmd = bash lib/run.sh\n\n[env:serve]\nXLA_FLAGS = --xla_x=1\n", 5),
    "Docker Compose with the environment mounted": ("work/compose.yaml", "services:\n  a:\n    image: x\n    volumes: [\"{home}:{home}\"]\n    command: {env}/bin/python main.py\n    environment:\n      - LD_LIBRARY_PATH=/in/the/image\n      - XLA_FLAGS=--xla_x=1\n", 8),
    "Docker Compose, a mapping for a volume": ("work/docker-compose.yml", "services:\n  a:\n    build: .\n    command: {env}/bin/python main.py\n    environment: {XLA_FLAGS: --xla_x=1}\n    volumes:\n      - source: {env}\n        target: {env}\n        type: bind\n", 5),
    "process-compose": ("work/process-compose.yaml", "version: '0.5'\nprocesses:\n  serve:\n    command: .venv/bin/python main.py\n    environment:\n      - 'A=b'\n      - \"XLA_FLAGS=--xla_x=1\"\n", 7),
    "mprocs": ("work/mprocs.yaml", "procs:\n  serve:\n    cmd: [\"{env}/bin/python\", main.py]\n    env: {A: b, XLA_FLAGS: --xla_x=1}\n", 4),
    "tmuxp": ("work/.tmuxp.yaml", "session_name: x\nenvironment:\n  XLA_FLAGS: --xla_x=1 # why\nwindows:\n- window_name: a\n  panes:\n  - shell_command:\n    - cd .\n    - .venv/bin/python main.py\n", 3),
    "tmuxinator": ("work/../.config/tmuxinator/x.yml", "name: x\nroot: ~/work\nwindows:\n  - train: XLA_FLAGS=--xla_x=1 ~/work/.venv/bin/python main.py\n", 4),
    "Zed's tasks": ("work/.zed/tasks.json", '[\n  {"label": "run",\n   "command": "$ZED_WORKTREE_ROOT/.venv/bin/python",\n   "args": ["main.py"],\n   "env": {"XLA_FLAGS": "--xla_x=1"}}, // x\n]\n', 5),
    "CMake's presets": ("work/CMakePresets.json", '{"configurePresets": [{"name": "x",\n"environment": {"XLA_FLAGS": "--xla_x=1"},\n"cacheVariables": {"Python_EXECUTABLE": "{env}/bin/python"}}]}\n', 2),
    "Ray Serve": ("work/config/serve.yaml", "applications:\n  - name: a\n    runtime_env:\n      py_executable: {env}/bin/python\n      env_vars:\n        XLA_FLAGS: \"--xla_x=1\"\n", 6),
    "names and values": ("work/deploy/job.yml", "job:\n  run: |\n    cd {home}/work\n    .venv/bin/python main.py\n  env:\n    - name: XLA_FLAGS\n      value: --xla_x=1\n", 6),
    "a file of variables": ("work/jobs.toml", "[[job]]\nname = \"x\"\nenv_file = \"own.env\"\ncommand = \"{env}/bin/python main.py\"\n", 1),
    "an anchor": ("work/jobs.yaml", "base: &base\n  env:\n    XLA_FLAGS: --xla_x=1\njob:\n  <<: *base\n  cmd: {env}/bin/python main.py\n", 3),
    "a Procfile for development": ("work/Procfile.dev", "web: XLA_FLAGS=--xla_x=1 .venv/bin/python main.py\n", 1),
    "a script in a folder": ("work/scripts/train.sh", "#!/bin/sh\nexport XLA_FLAGS=--xla_x=1\n.venv/bin/python main.py\n", 2),
    "a person's runit": (".local/sv/x/run", "#!/bin/sh\nexport XLA_FLAGS=--xla_x=1\nexec {env}/bin/python main.py\n", 2),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text", "line"), FILES.values(), ids=FILES)
def test_a_variable_is_found_with_its_line(name: str, text: str, line: int, home: Path):
    write(home, "work/own.env", f"{NAME}={VALUE}\n")
    if "run.sh" in text:
        write(home, "work/lib/run.sh", "cd {home}/work && {env}/bin/python main.py >out.log\n")
        (home / "work/lib/run.sh").chmod(0o644)
    write(home, name, text)
    assert found(home) == [(VALUE, [line])]


def test_quotation_marks_in_a_list_of_compose_reach_the_program(home: Path):
    rows = "services:\n  a:\n    image: x\n    command: {env}/bin/python main.py\n    environment:\n"
    write(home, "work/compose.yml", rows + f'      - PYTHONUNBUFFERED=1\n      - {NAME}="{VALUE}"\n')
    assert found(home) == [(f'"{VALUE}"', [7])]


QUIET = {
    "a container": ("work/job.yml", "services:\n  a:\n    image: x\n    command: {env}/bin/python main.py\n    environment:\n      XLA_FLAGS: --xla_x=1\n"),
    "compose": ("work/compose.yml", "services:\n  a:\n    build: .\n    command: {env}/bin/python main.py\n    environment:\n      XLA_FLAGS: --xla_x=1\n"),
    "mounted elsewhere": ("work/compose.yml", "services:\n  a:\n    image: x\n    volumes: [\"{home}:/home\"]\n    command: {env}/bin/python main.py\n    environment:\n      XLA_FLAGS: --xla_x=1\n"),
    "another machine's job": ("work/sky.yaml", "envs:\n  XLA_FLAGS: --xla_x=1\nrun: python main.py\n"),
    "another project": ("work/jobs.yaml", "env:\n  XLA_FLAGS: --xla_x=1\ncommand: /srv/other/.venv/bin/python main.py\n"),
    "broken": ("work/jobs.yaml", "env: {XLA_FLAGS: --xla_x=1\n  command: {env}/bin/python main.py\n"),
    "no command": ("work/notes.toml", "[env]\nXLA_FLAGS = '--xla_x=1'\n[note]\ntext = 'lies in {env}-old'\n"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), QUIET.values(), ids=QUIET)
def test_what_starts_no_environment_of_this_machine_is_left_out(name: str, text: str, home: Path):
    write(home, name, text)
    assert found(home) == []


YAML = {
    "blocks": ("a:\n  b: 1\n  c:\n  - x\n  - y: z\n    w: v\n", {"a": {"b": "1", "c": ["x", {"y": "z", "w": "v"}]}}),
    "texts": ("a: 'it''s'\nb: \"x\\ty\"\nc: x # c\nd: |\n  one\n  two\ne: >-\n  one\n  two\n", {"a": "it's", "b": "x\ty", "c": "x", "d": "one\ntwo", "e": "one two"}),
    "in one line": ("a: {b: [x, 'y, z'], c: {}}\nd: [\n  x,\n  y\n]\n", {"a": {"b": ["x", "y, z"], "c": {}}, "d": ["x", "y"]}),
    "addresses": ("a: http://x:1/y\nb: A:b\n", {"a": "http://x:1/y", "b": "A:b"}),
    "a text that goes on": ("a: one\n  two\nb: c\n", {"a": "one two", "b": "c"}),
    "nothing": ("a:\nb: null\n", {"a": "", "b": ""}),
    "another form": ("a: !include x\n", None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), YAML.values(), ids=YAML)
def test_yaml(text: str, value: object):
    assert described(text, "x.yaml") == value


def test_a_unit_of_a_package_counts_where_it_is_enabled(home: Path, monkeypatch: pytest.MonkeyPatch):
    text = f"[Service]\nEnvironment={NAME}={VALUE}\nExecStart={{env}}/bin/python main.py\n"
    monkeypatch.setattr("core.probes.starting.services.systemd.RUN", str(home / "run"))
    made = in_project(home)
    write(home, f"run/user/{made.person.uid}/systemd/transient/run-1.service", text)
    assert found(home) == [(VALUE, [2])]


def own(home: Path, name: str, text: str) -> list[tuple[str, str | None, list[int]]]:
    write(home, name, text)
    site = home / "work/.venv/lib/python3.11/site-packages"
    (site / "jax").mkdir(parents=True)
    its = (PythonEnvironment(prefix=str(home / "work/.venv"), kind="venv", site_packages=(str(site),)),)
    return [
        (w.kind, w.state.environment().get(NAME), [r.line for rows in w.state.lines.values() for r in rows])
        for w in own_settings_ways(replace(in_project(home), pythons=its))
    ]


def cells(*sources: str) -> str:
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": s.splitlines(keepends=True)} for s in sources]}, indent=1
    )


def test_what_a_program_sets_before_its_first_import_counts(home: Path):
    text = f"import os\nos.environ['{NAME}'] = '{VALUE}'\nimport jax\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '9'\n"
    assert own(home, "work/train.py", text) == [("script", VALUE, [2])]


def test_a_folder_that_hides_a_package_counts(home: Path):
    write(home, "work/vendor/jax/__init__.py", "")
    assert own(home, "work/train.py", "import sys\nsys.path.insert(0, 'vendor')\nimport jax\n") == [
        ("script", None, [2])
    ]


def test_a_folder_of_own_modules_does_not(home: Path):
    write(home, "work/vendor/mine.py", "")
    assert own(home, "work/train.py", "import sys\nsys.path.insert(0, 'vendor')\nimport jax\n") == []


def test_a_notebooks_settings_count(home: Path):
    text = cells(f"# first\n%env {NAME}={VALUE}", "import jax", "%env OTHER=1")
    ((kind, value, lines),) = own(home, "work/a.ipynb", text)
    assert (kind, value) == ("notebook", VALUE)
    assert NAME in text.splitlines()[lines[0] - 1]
