"""Variables that programs read from files of their own: envdir's folders, .flaskenv, invoke's settings, nox's sessions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.plain import read_assignments, read_dotenv
from core.host.startup.state import State
from core.model.facts import PythonEnvironment
from core.probes.starting import starters
from core.probes.starting.machine import PAM_SETTINGS, with_pam
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.started_programs import flask_ways, pipenv_ways
from core.probes.starting.starters import script_ways
from tests.probes.starting.shells import ground, in_project, project

NAME = "XLA_FLAGS"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a project and its environment, which has Flask and python-dotenv."""
    env = project(tmp_path)
    for package in ("flask", "dotenv"):
        (env / "site" / package).mkdir(parents=True)
    return tmp_path


def pythons(home: Path) -> tuple[PythonEnvironment, ...]:
    env = f"{home}/work/.venv"
    return (PythonEnvironment(prefix=env, kind="venv", site_packages=(f"{env}/site",)),)


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text.replace("{home}", str(home)))


# --- a folder with a file for each variable -----------------------------------------------------------------------------

FOLDERS: dict[str, tuple[str, dict[str, str], str | None]] = {
    "envdir": ("exec envdir ./v .venv/bin/python main.py", {NAME: "--a  \nmore\n"}, "--a"),
    "s6-envdir": ("s6-envdir -fn ./v .venv/bin/python main.py", {NAME: "--a"}, "--a"),
    "chpst": ("chpst -u ada -e ./v .venv/bin/python main.py", {NAME: "--a\n"}, "--a"),
    "chpst without a folder": ("chpst -u ada .venv/bin/python main.py", {NAME: "--a\n"}, "--old"),
    "an empty file": ("envdir v .venv/bin/python main.py", {NAME: ""}, None),
    "another variable": ("envdir v .venv/bin/python main.py", {"OTHER": "1"}, "--old"),
    "a name that is no variable": ("envdir v .venv/bin/python main.py", {f".{NAME}": "1", f"{NAME}.bak": "2"}, "--old"),
    "no folder": ("envdir none .venv/bin/python main.py", {}, "--old"),
}


@pytest.mark.parametrize(("command", "files", "value"), FOLDERS.values(), ids=FOLDERS)
def test_a_folder_of_variables(command: str, files: dict[str, str], value: str | None, home: Path):
    write(home, {"work/run.sh": f"#!/bin/sh\n{command}\n", **{f"work/v/{n}": t for n, t in files.items()}})
    given = in_project(home, **{NAME: "--old"})
    (way,) = [w for w in script_ways(replace(given, pythons=pythons(home))) if w.prefix]
    assert way.state.environment().get(NAME) == value
    rows = [(r.file, r.line) for r in way.state.lines.get(NAME, ()) if not r.overridden]
    assert rows == ([] if value == "--old" else [(f"{home}/work/v/{NAME}", 1)])


def test_a_supervised_service(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(starters, "SUPERVISED", (f"{home}/sv",))
    write(home, {"sv/serve/run": "#!/bin/sh\nexec chpst -e ./env {home}/work/.venv/bin/python x.py\n"})
    write(home, {f"sv/serve/env/{NAME}": "--a\n"})
    (way,) = [w for w in script_ways(replace(in_project(home), pythons=pythons(home))) if w.prefix]
    assert (way.kind, way.at, way.state.environment().get(NAME)) == ("service", f"{home}/sv/serve/run", "--a")


# --- pipenv -------------------------------------------------------------------------------------------------------------

PIPENV: dict[str, tuple[dict[str, str], dict[str, str], str | None]] = {
    "its own file": ({"work/Pipfile": "", "work/.env": f"{NAME}=--a\n"}, {}, "--a"),
    "above": ({"Pipfile": "", ".env": f"{NAME}=--a\n"}, {}, "--a"),
    "the file leads": ({"work/Pipfile": "", "work/.env": f"{NAME}='--a'\n"}, {NAME: "--old"}, "--a"),
    "another file": ({"work/Pipfile": "", "work/.of": f"{NAME}=--a\n"}, {"PIPENV_DOTENV_LOCATION": "{home}/work/.of"}, "--a"),
    "left out": ({"work/Pipfile": "", "work/.env": f"{NAME}=--a\n"}, {"PIPENV_DONT_LOAD_ENV": "1"}, None),
    "a file beside no project": ({"work/.env": f"{NAME}=--a\n"}, {}, None),
    "nothing in it": ({"work/Pipfile": "", "work/.env": "# no\n"}, {}, None),
}  # fmt: skip


@pytest.mark.parametrize(("files", "env", "value"), PIPENV.values(), ids=PIPENV)
def test_pipenvs_file(files: dict[str, str], env: dict[str, str], value: str | None, home: Path):
    write(home, {**files, "bin/pipenv": "#!/bin/sh\n"})
    filled = {n: v.replace("{home}", str(home)) for n, v in env.items()}
    given = in_project(home, PATH=f"{home}/bin", **filled)
    assert [w.state.environment().get(NAME) for w in pipenv_ways(replace(given, pythons=pythons(home)))] == (
        [value] if value else []
    )
    (home / "bin/pipenv").unlink()
    assert not list(pipenv_ways(replace(given, pythons=pythons(home))))  # nobody here runs it


@pytest.mark.parametrize(("ignores", "takes"), [("", "work/other"), ("1", "work/.venv")])
def test_pipenv_takes_an_active_environment(ignores: str, takes: str, home: Path):
    write(home, {"work/Pipfile": "", "work/.env": f"{NAME}=--a\n", "bin/pipenv": "", "work/other/bin/python": ""})
    env = {"PATH": f"{home}/bin", "VIRTUAL_ENV": f"{home}/work/other", "PIPENV_IGNORE_VIRTUALENVS": ignores}
    both = (*pythons(home), PythonEnvironment(prefix=f"{home}/work/other", kind="venv"))
    assert [w.prefix for w in pipenv_ways(replace(in_project(home, **env), pythons=both))] == [f"{home}/{takes}"]


# --- Flask --------------------------------------------------------------------------------------------------------------

FLASK: dict[str, tuple[dict[str, str], dict[str, str], str | None]] = {
    "its own file": ({"work/.flaskenv": f"{NAME}=--a\n"}, {}, "--a"),
    "above": ({".flaskenv": f"{NAME}=--a\n"}, {}, "--a"),
    "the other file leads": ({"work/.flaskenv": f"{NAME}=--a\n", "work/.env": f"{NAME}=--b\n"}, {}, "--b"),
    "the session leads": ({"work/.flaskenv": f"{NAME}=--a\n"}, {NAME: "--old"}, None),
    "left out": ({"work/.flaskenv": f"{NAME}=--a\n"}, {"FLASK_SKIP_DOTENV": "1"}, None),
    "a comment behind it": ({"work/.flaskenv": f"{NAME} = --a # more\n"}, {}, "--a"),
    "too late": ({"work/.flaskenv": "LD_LIBRARY_PATH=/a\nPYTHONPATH=/b\n"}, {}, None),
    "a file that no program here is known to read": ({"work/.env": f"{NAME}=--a\n"}, {}, None),
    "nothing in it": ({"work/.flaskenv": "# no\n"}, {}, None),
}


@pytest.mark.parametrize(("files", "env", "value"), FLASK.values(), ids=FLASK)
def test_flasks_files(files: dict[str, str], env: dict[str, str], value: str | None, home: Path):
    write(home, files)
    ways = list(flask_ways(replace(in_project(home, **env), pythons=pythons(home))))
    assert [w.state.environment().get(NAME) for w in ways] == ([value] if value else [])


@pytest.mark.parametrize("package", ["flask", "dotenv"])
def test_flask_reads_no_file_without_its_packages(package: str, home: Path):
    write(home, {"work/.flaskenv": f"{NAME}=--a\n"})
    (home / "work/.venv/site" / package).rmdir()
    assert not list(flask_ways(replace(in_project(home), pythons=pythons(home))))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=1", "1"),
        ("export A = 1", "1"),
        ("A='1 # 2' # 3", "1 # 2"),
        ('A="1"', "1"),
        ("A=1#2", "1#2"),
        ("A=  # 1", "# 1"),
        ("A=1   # x", "1"),
        ("A=$HOME", "$HOME"),
        ("A='${HOME}/x'", "/home/ada/x"),
        ("A=", ""),
        ("# A=1", None),
        ("A", None),
    ],
)
def test_a_line_as_python_dotenv_reads_it(line: str, value: str | None):
    """The values are those of python-dotenv 1.1.1."""
    state = State({"HOME": "/home/ada"})
    read_dotenv(f"\n{line}\n", "/x/.env", state)
    assert state.values.get("A") == value
    assert [r.line for r in state.lines.get("A", ())] == ([] if value is None else [2])


@pytest.mark.parametrize(
    ("how", "value"),
    [({"expands": True}, "/home/ada/a:/home/ada/b:~/c"), ({"braced": True}, "/home/ada/a:$HOME/b:~/c"), ({}, "${HOME}/a:$HOME/b:~/c")],
)  # fmt: skip
def test_what_a_reader_of_assignments_replaces(how: dict[str, bool], value: str):
    state = State({"HOME": "/home/ada"})
    read_assignments("A=${HOME}/a:$HOME/b:~/c\n", "/x/.env", state, **how)
    assert state.values["A"] == value


# --- invoke and nox -----------------------------------------------------------------------------------------------------

TASKS = "from invoke import task\n\n@task(help={})\ndef train(c, fast=False):\n    %s\n"
RUN = 'c.run(".venv/bin/python main.py")'
INVOKE: dict[str, tuple[dict[str, str], list[str | None]]] = {
    "no settings": ({"work/tasks.py": TASKS % RUN}, ["--old"]),
    "the project's": (
        {"work/tasks.py": TASKS % RUN, "work/invoke.yaml": f'run:\n  echo: true\n  env:\n    {NAME}: "--a" # b\n'},
        ["--a"],
    ),
    "the person's": ({"work/tasks.py": TASKS % RUN, ".invoke.yml": f"run:\n  env:\n    {NAME}: --a # b\n"}, ["--a"]),
    "the project's before the person's": (
        {
            "work/tasks.py": TASKS % RUN,
            ".invoke.yml": f"run:\n  env:\n    {NAME}: --a\n",
            "work/invoke.json": f'{{"run": {{"env": {{"{NAME}": "--b"}}}}}}',
        },
        ["--b"],
    ),
    "another member": (
        {"work/tasks.py": TASKS % RUN, "work/invoke.yaml": f"run:\n  echo: true\nother:\n  env:\n    {NAME}: --a\n"},
        ["--old"],
    ),
    "of one command": (
        {"work/tasks.py": TASKS % f'c.run(".venv/bin/python main.py", env={{"{NAME}": "--c"}})'},
        ["--c"],
    ),
    "a value that runs": (
        {"work/tasks.py": TASKS % f'c.run(".venv/bin/python main.py", env={{"{NAME}": value()}})'},
        [None],
    ),
    "a value that is added to": (
        {
            "work/tasks.py": TASKS
            % f'c.run(".venv/bin/python main.py", env={{"{NAME}": os.environ["{NAME}"] + " --c"}})'
        },
        ["--old --c"],
    ),
    "behind a prefix": (
        {"work/tasks.py": TASKS % f'with c.cd("."), c.prefix("export {NAME}=--d"):\n        {RUN}'},
        ["--d"],
    ),
    "no task": ({"work/tasks.py": f"def train(c):\n    {RUN}\n"}, []),
    "no Python": ({"work/tasks.py": "def ("}, []),
    "nox": (
        {
            "work/noxfile.py": (
                f'import nox\n\n@nox.session\ndef tests(session):\n    session.env["{NAME}"] = "--e"\n'
                '    session.install("x")\n    session.run(".venv/bin/python", "main.py", *session.posargs)\n'
                f'    session.run(".venv/bin/python", "main.py", env={{"{NAME}": "--f"}})\n'
            )
        },
        ["--e", "--f"],
    ),
}


@pytest.mark.parametrize(("files", "told"), INVOKE.values(), ids=INVOKE)
def test_tasks_that_python_defines(files: dict[str, str], told: list[str | None], home: Path):
    write(home, files)
    ways = [w for w in task_ways(replace(in_project(home, **{NAME: "--old"}), pythons=pythons(home))) if w.prefix]
    assert [w.state.environment().get(NAME) for w in ways] == told


def test_a_session_of_nox_has_an_environment_of_its_own(home: Path):
    env = home / "work/.nox/tests-3-11"
    (env / "bin").mkdir(parents=True)
    (env / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (env / "bin/python").symlink_to(os.path.realpath(sys.executable))
    text = (
        'import nox\n@nox.session(name="tests", python=["3.11"])\ndef f(session):\n    session.run("python", "x.py")\n'
    )
    write(home, {"work/noxfile.py": text})
    its = (PythonEnvironment(prefix=str(env), kind="venv"),)
    assert [(w.at, w.prefix) for w in task_ways(replace(in_project(home), pythons=its))] == [
        (f"{home}/work/noxfile.py: tests", str(env))
    ]


# --- pam_env --------------------------------------------------------------------------------------------------------------


ONCE = "session required pam_env.so\n# session required pam_env.so\n"
TWICE = "session required pam_env.so readenv=1\nsession required pam_env.so readenv=1 envfile=/etc/default/locale\n"


@pytest.mark.parametrize(("login", "both"), [(ONCE, "environment"), (TWICE, "settings")], ids=["once", "twice"])
def test_pam_envs_own_settings(login: str, both: str, home: Path):
    """What su(1) of Debian, which calls pam_env twice, gave a shell with these files: the same."""
    settings = "# a comment\nXLA_FLAGS DEFAULT=--a OVERRIDE=\nMY_HOME\tDEFAULT=@{HOME}/x\nBOTH DEFAULT=settings\n"
    files = {PAM_SETTINGS: settings, "/etc/environment": "BOTH=environment\n", "/etc/pam.d/login": login}
    state = with_pam(ground(home, files), State({"HOME": str(home)}, {"HOME"}))
    told = {n: state.environment().get(n) for n in ("XLA_FLAGS", "MY_HOME", "BOTH")}
    assert told == {"XLA_FLAGS": "--a", "MY_HOME": f"{home}/x", "BOTH": both}
    assert {(r.file, r.line) for r in state.lines["XLA_FLAGS"]} == {(PAM_SETTINGS, 2)}


# --- just, Task and honcho: what they really gave a command, session XLA_FLAGS=--old or none (just 1.x, Task 3, honcho 2) --------------

RUN = "    .venv/bin/python main.py\n"
TASK = "version: '3'\n{}tasks:\n  t:\n    cmds:\n      - .venv/bin/python main.py\n"
STARTERS: dict[str, tuple[dict[str, str], str | None, str | None]] = {
    "just exports all": ({"justfile": f"set export\n{NAME} := '--a'\nt:\n{RUN}"}, "--a", "--a"),
    "just exports none": ({"justfile": f"set export := false\n{NAME} := '--a'\nt:\n{RUN}"}, "--old", None),
    "just loads a file": ({"justfile": f"set dotenv-load\nt:\n{RUN}", ".env": f"{NAME}=--a # why"}, "--old", "--a"),
    "a file of another name": (
        {"justfile": f"set dotenv-filename := 'my.env'\nt:\n{RUN}", "my.env": f"{NAME}=--a", ".env": f"{NAME}=--b"},
        "--old",
        "--a",
    ),
    "a file elsewhere": (
        {"justfile": f'set dotenv-path := "sub/x.env"\nt:\n{RUN}', "sub/x.env": f"{NAME}=--a"},
        "--old",
        "--a",
    ),
    "a file that counts over the session": (
        {"justfile": f"set dotenv-load\nset dotenv-override\nt:\n{RUN}", ".env": f"{NAME}=--a"},
        "--a",
        "--a",
    ),
    "just loads nothing": ({"justfile": f"t:\n{RUN}", ".env": f"{NAME}=--a"}, "--old", None),
    "Task's env": ({"Taskfile.yml": TASK.format(f"env:\n  {NAME}: --a\n")}, "--old", "--a"),
    "Task's file": ({"Taskfile.yml": TASK.format("dotenv: ['.env']\n"), ".env": f"{NAME}=--a"}, "--old", "--a"),
    "honcho": ({"Procfile": "web: .venv/bin/python main.py\n", ".env": f"  {NAME}=--a # why\n"}, "--a", "--a"),
    "honcho and export": (
        {"Procfile": "web: .venv/bin/python main.py\n", ".env": f"export {NAME}=--a\n"},
        "--old",
        None,
    ),
}


@pytest.mark.parametrize("name", STARTERS)
def test_whose_value_counts(name: str, home: Path):
    files, with_session, without = STARTERS[name]
    write(home, {f"work/{n}": t for n, t in files.items()})
    for given, value in ((in_project(home, **{NAME: "--old"}), with_session), (in_project(home), without)):
        (way,) = [w for w in task_ways(replace(given, pythons=pythons(home))) if w.prefix]
        assert way.state.environment().get(NAME) == value


IN_CONTAINERS: dict[str, tuple[str, str | None]] = {
    "a file keeps its quotation marks": ("docker run --rm --env-file v.env lab {home}/work/.venv/bin/python main.py", '"--a"'),
    "podman": ("podman run --env-file=v.env lab {home}/work/.venv/bin/python main.py", '"--a"'),
    "an option": ("docker container run -e XLA_FLAGS='--b' --env-file none lab {home}/work/.venv/bin/python", "--b"),
    "an option in one word": ("docker run -eXLA_FLAGS=--b lab {home}/work/.venv/bin/python", "--b"),
    "the script's own stays outside": ("export XLA_FLAGS=--c; docker run lab {home}/work/.venv/bin/python", "--old"),
    "handed on": ("export XLA_FLAGS=--c; docker run -e XLA_FLAGS lab {home}/work/.venv/bin/python", "--c"),
    "the image's Python": ("docker run --env-file v.env lab python main.py", None),
    "no run": ("docker exec -e XLA_FLAGS=--b lab {home}/work/.venv/bin/python", None),
}  # fmt: skip


@pytest.mark.parametrize(("command", "value"), IN_CONTAINERS.values(), ids=IN_CONTAINERS)
def test_variables_of_a_container(command: str, value: str | None, home: Path):
    write(home, {"work/run.sh": f"#!/bin/bash\n{command}\n", "work/v.env": f'# of docker\n{NAME}="--a"\n'})
    found = list(script_ways(replace(in_project(home, **{NAME: "--old"}), pythons=pythons(home))))
    assert [w.state.environment().get(NAME) for w in found] == ([value] if value else [])
    forms = {line.form for w in found for line in w.state.lines.get(NAME, ()) if line.file.endswith("v.env")}
    assert forms <= {"assignments"}  # a cure edits them
