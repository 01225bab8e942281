"""What starts programs: units, supervisord, tasks, tmux, folders, first lines. Files are written as people have them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.state import State
from core.host.startup.units import apply_unit, quoted_words, replace_specifiers, specifiers, unit_rows
from core.model.facts import PythonEnvironment
from core.probes.starting import starters
from core.probes.starting.machine import Ground
from core.probes.starting.projects.folders import folder_ways
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.pythons import pythons_of
from core.probes.starting.services import deployed, multiplexers
from core.probes.starting.services.condor import condor_ways
from core.probes.starting.services.deployed import deployed_ways
from core.probes.starting.services.hub import hub_ways
from core.probes.starting.services.multiplexers import multiplexer_ways
from core.probes.starting.services.notebook_servers import server_ways, with_server_settings
from core.probes.starting.services.scheduled import cron_ways
from core.probes.starting.services.supervised import supervised_ways
from core.probes.starting.services.systemd import service_ways
from core.probes.starting.starters import script_ways
from core.probes.starting.ways import Reached, desktop_session
from tests.probes.starting.shells import begin, ground, surroundings

UNITS = ".config/systemd/user"
NAME = "LD_LIBRARY_PATH"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with one environment, which is worked in."""
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr/bin\n")
    (tmp_path / "env/bin/python").symlink_to(os.path.realpath(sys.executable))
    (tmp_path / "work").mkdir()
    return tmp_path


def here(home: Path, **env: str) -> Ground:
    made = ground(home)
    return replace(made, env={**made.env, "HOME": str(home), "PATH": "/usr/bin:/bin", **env}, folder=str(home / "work"))


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{env}", str(home / "env")).replace("{home}", str(home)))


def pythons(home: Path) -> tuple[PythonEnvironment, ...]:
    return (PythonEnvironment(prefix=str(home / "env"), kind="venv"),)


def told(ways: Iterable[Reached], home: Path) -> dict[str, tuple[str | None, list[tuple[str, int]]]]:
    """Return way -> the variable's value, and the lines that count."""
    found = {}
    for way in ways:
        if str(home) not in way.at and way.kind != "multiplexer":
            continue  # this machine's own
        rows = [(r.file.removeprefix(f"{home}/"), r.line) for r in way.state.lines.get(NAME, ()) if not r.overridden]
        value = way.state.environment().get(NAME)
        found[way.at.removeprefix(f"{home}/")] = (value and value.replace(str(home), "~"), rows)
    return found


UNIT = "[Unit]\nDescription=x\n[Service]\n%sExecStart={env}/bin/python -m server\n[Install]\nEnvironment=NAME=no\n"
SERVICES: dict[str, tuple[dict[str, str], str | None, list[tuple[str, int]]]] = {
    "several, quoted and continued": (
        {"a.service": UNIT % f'Environment="A=b c" \\\n  "{NAME}=/x y" B=1\n'},
        "/x y",
        [(f"{UNITS}/a.service", 4)],
    ),
    "specifiers": (
        {"a.service": UNIT % f"Environment={NAME}=%h/lib:%n:100%%\n"},
        "~/lib:a.service:100%",
        [(f"{UNITS}/a.service", 4)],
    ),
    "a file that is optional and absent": ({"a.service": UNIT % "EnvironmentFile=-%h/none\n"}, None, []),
    "files count after single ones": (
        {
            "a.service": UNIT % f"EnvironmentFile=%h/v.env\nEnvironment={NAME}=/one\n",
            "../../../v.env": f'# c\n{NAME}="/two" \n',
        },
        "/two",
        [("v.env", 2)],
    ),
    "export is no name in such a file": (
        {"a.service": UNIT % "EnvironmentFile=%h/v.env\n", "../../../v.env": f"export {NAME}=/two\n"},
        None,
        [],
    ),
    "wildcards": (
        {
            "a.service": UNIT % "EnvironmentFile=%h/v/*.env\n",
            "../../../v/1.env": f"{NAME}=/1\n",
            "../../../v/2.env": f"{NAME}=/2\n",
        },
        "/2",
        [("v/2.env", 1)],
    ),
    "an empty one drops what came before": (
        {"a.service": UNIT % f"Environment={NAME}=/one\n", "a.service.d/o.conf": "[Service]\nEnvironment=\n"},
        None,
        [],
    ),
    "a drop-in of every service": (
        {"a.service": UNIT % f"Environment={NAME}=/one\n", "service.d/o.conf": f"[Service]\nUnsetEnvironment={NAME}\n"},
        None,
        [(f"{UNITS}/service.d/o.conf", 2)],
    ),
    "of the manager": (
        {"a.service": UNIT % "", "../user.conf": f"[Manager]\nDefaultEnvironment=A=1 {NAME}=/m\n"},
        "/m",
        [(".config/systemd/user.conf", 2)],
    ),
    "of the manager itself": (
        {"a.service": UNIT % "", "../user.conf": f"[Manager]\nManagerEnvironment={NAME}=/m\n"},
        "/m",
        [(".config/systemd/user.conf", 2)],
    ),
}


@pytest.mark.parametrize("case", SERVICES.values(), ids=SERVICES)
def test_services(case: tuple[dict[str, str], str | None, list[tuple[str, int]]], home: Path) -> None:
    files, value, lines = case
    write(home, {f"{UNITS}/{n}": t for n, t in files.items()})
    ways = list(service_ways(replace(here(home), pythons=pythons(home))))
    found = told(ways, home)
    assert found[f"{UNITS}/a.service"] == (value, lines)
    assert next(w for w in ways if w.at.endswith("/a.service")).prefix == str(home / "env")


def test_instances_of_a_template(home: Path) -> None:
    write(
        home,
        {
            f"{UNITS}/t@.service": UNIT % "EnvironmentFile=-%h/%i.env\n",
            "one.env": f"{NAME}=/1\n",
            "two.env": f"{NAME}=/2\n",
        },
    )
    wants = home / UNITS / "default.target.wants"
    wants.mkdir()
    (wants / "t@one.service").symlink_to("../t@.service")
    found = told(service_ways(replace(here(home), pythons=pythons(home))), home)
    assert found == {f"{UNITS}/t@one.service": ("/1", [("one.env", 1)])}


@pytest.mark.parametrize(
    ("managers", "passed", "value", "is_open"),
    [
        (f"ManagerEnvironment={NAME}=/m\n", f"PassEnvironment={NAME}\n", "/m", False),
        (f"ManagerEnvironment={NAME}=/m\n", "", None, False),
        ("", f"PassEnvironment={NAME}\n", None, True),
        ("", f"PassEnvironment={NAME}\nEnvironment={NAME}=/own\n", "/own", False),
    ],
)
def test_a_service_of_the_machine_gets_what_it_asks_the_manager_for(
    managers: str, passed: str, value: str | None, is_open: bool
) -> None:
    rows = [*unit_rows(f"[Manager]\n{managers}", "system.conf"), *unit_rows(f"[Service]\n{passed}", "a.service")]
    state = State()
    apply_unit(rows, state, surroundings(), {}, own=False)
    assert (state.environment().get(NAME), NAME in state.open) == (value, is_open)


AT_JOB = """#!/bin/sh
# atrun uid=1000 gid=1000
umask 22
{name}=/old/lib; export {name}
HOME={home}; export HOME
cd {home}/work || {{
\t echo 'Execution directory inaccessible' >&2
\t exit 1
}}
{home}/env/bin/python train.py
"""

TIMED = {
    "anacron": ({"/etc/anacrontab": "SHELL=/bin/sh\n{name}=/ana\n7 5 train {home}/env/bin/python x.py\n"}, "/etc/anacrontab", "/ana", 2),
    "run-parts": (
        {"/etc/crontab": "{name}=/cron\n17 * * * * root run-parts /etc/cron.daily\n",
         "/etc/cron.daily/train": "#!/bin/sh\n{name}=/daily {home}/env/bin/python x.py\n"},
        "/etc/cron.daily/train", "/daily", 2,
    ),
    "at": ({"/var/spool/cron/atjobs/a00001": AT_JOB}, "/var/spool/cron/atjobs/a00001", "/old/lib", 4),
    "a crontab of another system": ({"/var/spool/cron/ada": "{name}=/cron\n@daily {home}/env/bin/python x.py\n"}, "/var/spool/cron/ada", "/cron", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", TIMED)
def test_what_is_started_at_a_time(case: str, home: Path) -> None:
    texts, at, value, line = TIMED[case]
    files = {n: t.format(name=NAME, home=home) for n, t in texts.items()}
    its = ground(home, texts=files)
    found = [w for w in cron_ways(replace(its, pythons=pythons(home))) if w.prefix and w.at.startswith(at)]
    assert found
    assert {w.state.environment().get(NAME) for w in found} == {value}
    assert {(r.file, r.line) for w in found for r in w.state.lines[NAME] if not r.overridden} == {(at, line)}


def test_a_batch_job_and_what_the_machine_starts_with(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        home,
        {"work/job.slurm": f"#!/bin/bash\n#SBATCH -G 1\nexport {NAME}=/job\nsrun --mem 4G {{env}}/bin/python x.py\n"},
    )
    (home / "rc.local").write_text(f"#!/bin/sh\n{NAME}=/boot {home}/env/bin/python serve.py &\n")
    at_home = here(home, **{NAME: "/session"})
    monkeypatch.setattr(starters, "AT_THE_START", (str(home / "rc.local"),))
    ways = {w.at: w for w in script_ways(replace(at_home, pythons=pythons(home)))}
    assert ways[f"{home}/rc.local"].kind == "service"
    assert ways[f"{home}/rc.local"].state.environment() == {"PATH": starters.MACHINES_PATH, NAME: "/boot"}
    assert ways[f"{home}/work/job.slurm"].state.environment()[NAME] == "/job"


def test_words_and_specifiers() -> None:
    assert list(quoted_words('A=1 \'B=2 3\' "C=4\\" 5" D=\\ 6')) == ["A=1", "B=2 3", 'C=4" 5', "D= 6"]
    known = specifiers("run-gpu@mnt-a\\x2db.service", home="/h", user="ada", uid=7, config="/h/.config", own=True)
    assert (
        replace_specifiers("%h %i %I %p %j %u %U %E %% %q", known)
        == "/h mnt-a\\x2db mnt/a-b run-gpu gpu ada 7 /h/.config % %q"
    )
    rows = list(unit_rows("[Service]\nA=1 \\\n# no\n  2\n[Install]\nA=3\n", "f"))
    assert [(r.key, r.value.split(), r.line) for r in rows] == [("A", ["1", "2"], 2)]


SUPERVISED = """[supervisord]
environment=LD_LIBRARY_PATH=/of/all
[include]
files = conf.d/*.conf
[program:plain]
command={env}/bin/python a.py ; it is
[program:own]
command={env}/bin/python a.py
environment=A="1, 2",
    ; not this: LD_LIBRARY_PATH=/no
    LD_LIBRARY_PATH="/own:%(here)s",B=3
[program:other]
command=/bin/cat
"""


def test_supervisord(home: Path) -> None:
    write(
        home,
        {
            "work/supervisord.conf": SUPERVISED,
            "work/conf.d/x.conf": "[program:x]\ncommand=sh -c 'LD_LIBRARY_PATH=/x exec {env}/bin/python'\n",
        },
    )
    assert told(supervised_ways(replace(here(home), pythons=pythons(home))), home) == {
        "work/supervisord.conf: plain": ("/of/all", [("work/supervisord.conf", 2)]),
        "work/supervisord.conf: own": ("/own:~/work", [("work/supervisord.conf", 11)]),
        "work/conf.d/x.conf: x": ("/x", [("work/conf.d/x.conf", 2)]),
    }


@pytest.mark.parametrize(
    ("command", "leads"), [("{env}/bin/python3 main.py", []), ("sh -c 'exec python3 main.py'", ["other"])]
)
def test_a_service_that_names_its_python_looks_for_no_other(command: str, leads: list[str], home: Path) -> None:
    (home / "other/bin").mkdir(parents=True)
    (home / "other/pyvenv.cfg").write_text("home = /usr/bin\n")
    for name in ("env", "other"):
        (home / name / "bin/python3").symlink_to(os.path.realpath(sys.executable))
    variables = "environment=VIRTUAL_ENV={env},PATH={home}/other/bin"
    write(home, {"work/supervisord.conf": f"[program:serve]\n{variables}\ncommand={command}\n"})
    both = tuple(PythonEnvironment(prefix=str(home / name), kind="venv") for name in ("env", "other"))
    (way,) = [w for w in supervised_ways(replace(here(home), pythons=both)) if str(home) in w.at]
    found = [one.prefix for one in pythons_of(way, replace(here(home), pythons=both)) if one.name == "python3"]
    assert found == [str(home / each) for each in leads]


MAKEFILE = """PYTHON ?= {env}/bin/python
LIBS := /opt/lib
export LD_LIBRARY_PATH = $(CURDIR)/lib:$(LIBS)
all: train
train: data
	@echo $(shell date)
	$(PYTHON) main.py \\
	--fast
serve: export LD_LIBRARY_PATH := /serve
serve:
	cd x && LD_LIBRARY_PATH=$$HOME/now $(PYTHON) serve.py
tune: export LD_LIBRARY_PATH := /tune
tune:
	-$(PYTHON) tune.py
unknown:
	$(shell which python) x.py
"""


def test_make(home: Path) -> None:
    write(home, {"work/Makefile": MAKEFILE})
    found = told(task_ways(replace(here(home), pythons=pythons(home))), home)
    assert found == {
        "work/Makefile: train": ("~/work/lib:/opt/lib", [("work/Makefile", 3)]),
        "work/Makefile: serve": ("~/now", [("work/Makefile", 11)]),
        "work/Makefile: tune": ("/tune", [("work/Makefile", 12)]),
    }


def test_make_itself_says_the_same(home: Path) -> None:
    write(
        home,
        {
            "work/Makefile": MAKEFILE.replace(
                "main.py \\\n\t--fast", "-c 'import os; print(os.environ[\"LD_LIBRARY_PATH\"])'"
            ),
            "work/data": "",
        },
    )
    said = subprocess.run(
        ["make", "-s", "train"], cwd=home / "work", capture_output=True, text=True, check=True, env=here(home).env
    )
    value = told(task_ways(replace(here(home), pythons=pythons(home))), home)["work/Makefile: train"][0]
    assert value
    assert said.stdout.splitlines()[-1].replace(str(home), "~") == value


@pytest.mark.parametrize("written", ["/one", "/one# comment", "/one  # comment", "/one  ", r"/one\#two", "  /one"])
def test_comments_and_blanks_are_as_make_takes_them(home: Path, written: str) -> None:
    makefile = (
        "include .env\nexport\nrun:\n\t@{env}/bin/python -c \"import os; print(repr(os.environ['LD_LIBRARY_PATH']))\"\n"
    )
    write(home, {"work/Makefile": makefile, "work/.env": f"LD_LIBRARY_PATH={written}\n"})
    said = subprocess.run(
        ["make", "-s", "run"], cwd=home / "work", capture_output=True, text=True, check=True, env=here(home).env
    ).stdout.strip()
    [way] = told(task_ways(replace(here(home), pythons=pythons(home))), home).values()
    assert repr(way[0]) == said


TASKS: dict[str, tuple[dict[str, str], dict[str, tuple[str | None, list[tuple[str, int]]]]]] = {
    "just": (
        {"justfile": "export LD_LIBRARY_PATH := '/j'\npy := '{env}/bin/python'\n\ntrain name='x':\n    @{{py}} main.py {{name}}\n"},
        {"work/justfile: train": ("/j", [("work/justfile", 1)])},
    ),
    "npm": (
        {"package.json": '{\n "scripts": {\n  "a": "echo",\n  "s": "LD_LIBRARY_PATH=/n {env}/bin/python x"\n }\n}'},
        {"work/package.json: s": ("/n", [("work/package.json", 4)])},
    ),
    "pixi": (
        {
            "pixi.toml": '[tasks]\ntrain = "python main.py"\nserve = { cmd = "python s.py", env = { LD_LIBRARY_PATH = "/own" } }\n'
            '[activation.env]\nLD_LIBRARY_PATH = "/pixi"\n'
        },
        {
            "work/pixi.toml: train": ("/pixi", [("work/pixi.toml", 5)]),
            "work/pixi.toml: serve": ("/own", [("work/pixi.toml", 3)]),
        },
    ),
    "PDM": (
        {"pyproject.toml": '[tool.pdm.scripts]\n_.env_file = ".env"\ntrain = { cmd = "python main.py", env_file = ".gpu" }\n', ".gpu": "LD_LIBRARY_PATH=/pdm\n"},
        {"work/pyproject.toml: train": ("/pdm", [("work/.gpu", 1)])},
    ),
    "Procfile": (
        {"Procfile": "web: {env}/bin/python web.py\n", ".env": "LD_LIBRARY_PATH=/p\n"},
        {"work/Procfile: web": ("/p", [("work/.env", 1)])},
    ),
    "VS Code": (
        {".vscode/tasks.json": '{"tasks": [{"label": "t", "command": "{env}/bin/python", "args": ["m.py"],\n "options": {"env": {\n"LD_LIBRARY_PATH": "${workspaceFolder}/l"}}}]}'},
        {"work/.vscode/tasks.json: t": ("~/work/l", [("work/.vscode/tasks.json", 3)])},
    ),
    "PyCharm": (
        {".idea/workspace.xml": '<x>\n<configuration name="a &amp; b" type="PythonConfigurationType">\n<option name="SDK_HOME" value="{env}/bin/python" />\n<envs>\n<env name="LD_LIBRARY_PATH" value="$PROJECT_DIR$/l&lt;" />\n</envs></configuration></x>'},
        {"work/.idea/workspace.xml: a & b": ("~/work/l<", [("work/.idea/workspace.xml", 5)])},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TASKS.values(), ids=TASKS)
def test_tasks(case: tuple[dict[str, str], dict[str, tuple[str | None, list[tuple[str, int]]]]], home: Path) -> None:
    files, expected = case
    write(home, {f"work/{n}": t for n, t in files.items()})
    for place in (".venv", ".pixi/envs/default"):
        (home / "work" / place).parent.mkdir(parents=True, exist_ok=True)
        (home / "work" / place).symlink_to(home / "env")
    found = [
        PythonEnvironment(prefix=str(home / p), kind="venv") for p in ("env", "work/.venv", "work/.pixi/envs/default")
    ]
    assert told(task_ways(replace(here(home), pythons=tuple(found))), home) == expected


def test_a_server_that_runs_keeps_what_it_was_started_with(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home, {
        "proc/7/comm": "tmux: server\n", "proc/7/cmdline": "tmux\0", "proc/7/environ": f"{NAME}=/old\0A=b\0HOME={home}\0",
        "proc/8/comm": "screen\n", "proc/8/cmdline": "screen\0-r\0", "proc/8/environ": f"{NAME}=/old\0",
        "proc/9/comm": "bash\n",
    })  # fmt: skip
    monkeypatch.setattr(multiplexers, "PROC", str(home / "proc"))
    ways = list(multiplexer_ways(here(home), begin(home)))
    assert [w.at for w in ways] == ["tmux (PID 7)"]
    assert ways[0].state.environment()[NAME] == "/old"
    assert [(r.file, r.line) for r in ways[0].state.lines[NAME]] == [(str(home / "proc/7/environ"), 0)]


ECOSYSTEM = """
// what runs on this machine
module.exports = {
  apps: [{
    name: 'api', script: 'main.py', interpreter: '{env}/bin/python',
    env: { LD_LIBRARY_PATH: "/old", 'CUDA_HOME': process.env.CUDA, PORT: 8000, },
  }, { name: "web", script: "npm", args: "run start" }],
};
"""
PM2 = {
    "a module": ({"work/ecosystem.config.js": ECOSYSTEM}, "work/ecosystem.config.js", "/old", 6),
    "JSON": (
        {"work/ecosystem.json": '{"apps": [{"name": "api", "script": "{env}/bin/python",\n "env": {"LD_LIBRARY_PATH": "/old"}}]}'},
        "work/ecosystem.json", "/old", 2,
    ),
    "what is started again": (
        {".pm2/dump.pm2": '[{"name": "api", "pm_exec_path": "{home}/work/main.py", "exec_interpreter": "{env}/bin/python"}]'},
        ".pm2/dump.pm2", None, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PM2)
def test_programs_of_pm2(case: str, home: Path) -> None:
    files, file, value, line = PM2[case]
    write(home, files)
    (way,) = deployed_ways(replace(here(home), pythons=pythons(home)))
    assert (way.at, way.prefix) == (f"{home / file}: api", str(home / "env"))
    assert way.state.environment().get(NAME) == value
    assert [(r.file, r.line) for r in way.state.lines.get(NAME, ())] == ([(str(home / file), line)] if line else [])
    assert "CUDA_HOME" not in way.state.environment()  # nobody knows what it is when pm2 runs


@pytest.mark.parametrize(
    "text", ["", "module.exports = require('./other')", "module.exports = {apps: [", "{", "x" * 50]
)
def test_an_ecosystem_that_is_a_program_is_none(text: str, home: Path) -> None:
    write(home, {"work/ecosystem.config.js": text, ".pm2/dump.pm2": text})
    assert list(deployed_ways(replace(here(home), pythons=pythons(home)))) == []


def test_gunicorn_gives_its_application_what_its_settings_say(home: Path) -> None:
    write(
        home,
        {
            "work/gunicorn.conf.py": "import os\nworkers = 2\nraw_env = [\n  'CUDA_HOME=/old',\n  'LD_LIBRARY_PATH=/late', os.name]\n"
        },
    )
    (way,) = deployed_ways(here(home))
    assert [(r.file, r.line) for r in way.state.lines["CUDA_HOME"]] == [(str(home / "work/gunicorn.conf.py"), 4)]
    assert NAME not in way.state.environment()  # the loader has begun before
    write(home, {"work/gunicorn.conf.py": "raw_env = make()\n"})
    assert list(deployed_ways(here(home))) == []


TASKFILE = """version: '3'
dotenv: ['.env', 'gone.env']
env:
  LD_LIBRARY_PATH: '{{.TASKFILE_DIR}}/libs' # ours
  CUDA_HOME:
    sh: dirname nvcc
tasks:
  train:
    env:
      LD_LIBRARY_PATH: /old
    cmds:
      - echo "{{.CLI_ARGS}}"
      - cmd: {env}/bin/python main.py
  serve:
    cmds:
    - "{env}/bin/python serve.py"
  short: {env}/bin/python short.py
"""


def test_a_taskfile(home: Path) -> None:
    write(home, {"work/Taskfile.yml": TASKFILE, "work/.env": "HF_HOME=/hf\n"})
    found = {w.at.rpartition(": ")[2]: w.state for w in task_ways(replace(here(home), pythons=pythons(home)))}
    libraries = {name: state.environment().get(NAME) for name, state in found.items()}
    assert libraries == {"train": "/old", "serve": f"{home}/work/libs", "short": f"{home}/work/libs"}
    assert [r.line for r in found["train"].lines[NAME] if not r.overridden] == [10]
    assert {state.environment()["HF_HOME"] for state in found.values()} == {"/hf"}
    assert "CUDA_HOME" in found["serve"].open


def test_a_makefile_that_includes_others_and_itself(home: Path) -> None:
    write(home, {
        "work/Makefile": "WHERE = mk\ninclude $(WHERE)/env.mk gone.mk\ntrain:\n\t{env}/bin/python main.py\n",
        "work/mk/env.mk": "-include Makefile mk/env.mk\nexport LD_LIBRARY_PATH = /old\n",
    })  # fmt: skip
    (way,) = task_ways(replace(here(home), pythons=pythons(home)))
    assert [(r.file, r.line, r.value) for r in way.state.lines[NAME]] == [(str(home / "work/mk/env.mk"), 2, "/old")]
    if shutil.which("make"):
        write(home, {"work/mk/env.mk": "export LD_LIBRARY_PATH = /old\n", "work/gone.mk": ""})
        code = "import os; print(os.environ.get('LD_LIBRARY_PATH'))"
        write(home, {"work/main.py": code})
        done = subprocess.run(["make", "train"], cwd=home / "work", capture_output=True, text=True, check=True)
        assert "/old" in done.stdout.splitlines()


def test_an_environment_that_is_reached_by_a_link_is_itself(home: Path) -> None:
    (home / "kept").symlink_to(home / "env")
    write(home, {"work/go.sh": "#!/bin/sh\nexec {home}/kept/bin/python main.py\n"})
    (way,) = script_ways(replace(here(home), pythons=pythons(home)))
    assert way.prefix == str(home / "env")


def test_a_runner_gives_its_jobs_what_its_file_says_as_it_stands(home: Path) -> None:
    write(
        home,
        {
            "actions-runner/.env": 'LANG=C.UTF-8\nLD_LIBRARY_PATH="/old"\n# x=y\n',
            "actions-runner/.path": "/opt/bin:/bin\n",
        },
    )
    assert list(deployed_ways(here(home))) == []  # no runner is configured there
    write(home, {"actions-runner/.runner": "{}"})
    (way,) = deployed_ways(here(home))
    env = way.state.environment()
    assert (env[NAME], env["PATH"], "x" in env) == ('"/old"', "/opt/bin:/bin", False)
    assert [r.line for r in way.state.lines[NAME]] == [2]


@pytest.mark.parametrize(
    ("option", "libraries", "home_of_cuda"),
    [("", "/session", None), ("--export=NONE", None, None), ("--export=NIL", None, None), ("--export=ALL,CUDA_HOME=/c", "/session", "/c"),
     ("--export=CUDA_HOME=/c", None, "/c"), ("--export=LD_LIBRARY_PATH", "/session", None)],
)  # fmt: skip
def test_slurm_hands_on_what_its_option_says(
    option: str, libraries: str | None, home_of_cuda: str | None, home: Path
) -> None:
    job = f"#!/bin/bash\n#SBATCH -n 1\n#SBATCH {option or '-c 2'}\n{{env}}/bin/python main.py\n"
    write(home, {"work/train.sbatch": job})
    (way,) = script_ways(replace(here(home, LD_LIBRARY_PATH="/session"), pythons=pythons(home)))
    env = way.state.environment()
    assert (env.get(NAME), env.get("CUDA_HOME")) == (libraries, home_of_cuda)
    assert way.prefix == str(home / "env")


@pytest.mark.parametrize(
    ("command", "option", "libraries", "line"),
    [
        ("sbatch --export=NONE train.sbatch", "-c 2", None, "work/run.sh:2"),
        ("sbatch -J x --export NONE train.sbatch 4", "--export=ALL", None, "work/run.sh:2"),
        ("sbatch --export=ALL train.sbatch", "--export=NONE", "/session", ""),
        ("sbatch train.sbatch", "--export=NONE", None, "work/train.sbatch:3"),
        (f"sbatch --export=ALL,{NAME}=/job train.sbatch", "-c 2", "/job", "work/run.sh:2"),
    ],
)
def test_the_command_that_hands_a_job_in_counts_before_its_comments(
    command: str, option: str, libraries: str | None, line: str, home: Path
) -> None:
    job = f"#!/bin/bash\n#SBATCH -n 1\n#SBATCH {option}\n{{env}}/bin/python main.py\n"
    write(home, {"work/train.sbatch": job, "work/run.sh": f"#!/bin/bash\n{command}\n"})
    found = [
        w
        for w in script_ways(replace(here(home, LD_LIBRARY_PATH="/session"), pythons=pythons(home)))
        if w.at.endswith("run.sh")
    ]
    assert [w.state.environment().get(NAME) for w in found] == [libraries]
    rows = [f"{r.file}:{r.line}" for r in found[0].state.lines.get(NAME, []) if not r.overridden]
    assert rows[-1:] == ([f"{home}/{line}"] if line else [])


CONDOR = "executable = {python}\narguments = main.py\n{more}\nqueue\n"


@pytest.mark.parametrize(
    ("more", "libraries"),
    [
        ("", None),
        ("getenv = True", "/session"),
        (f"getenv = {NAME}", "/session"),
        (f'environment = "A=1 {NAME}=/job"', "/job"),
        (f"Environment = A=1;{NAME}=/job", "/job"),
    ],
)
def test_a_job_of_condor_gets_what_its_file_says(more: str, libraries: str | None, home: Path) -> None:
    write(home, {"work/train.sub": CONDOR.replace("{python}", "{env}/bin/python").replace("{more}", more)})
    (way,) = condor_ways(replace(here(home, LD_LIBRARY_PATH="/session"), pythons=pythons(home)))
    assert (way.prefix, way.state.environment().get(NAME)) == (str(home / "env"), libraries)


def test_a_job_of_condor_in_a_container_is_none_of_this_machine(home: Path) -> None:
    text = CONDOR.replace("{python}", "{env}/bin/python").replace("{more}", "universe = docker")
    write(home, {"work/train.sub": text})
    assert not [*condor_ways(replace(here(home), pythons=pythons(home)))]


@pytest.mark.parametrize(
    ("comment", "libraries", "home_of_cuda"),
    [("#PBS -V", "/session", None), ("#PBS -l select=1", None, None), ("#PBS -v CUDA_HOME=/c,LD_LIBRARY_PATH", "/session", "/c"),
     ("#$ -V", "/session", None), ("#$ -cwd", None, None), ("#$ is what it costs", "/session", None),
     ("#BSUB -q gpu", "/session", None), ('#BSUB -env "none, CUDA_HOME=/c"', None, "/c"), ('#BSUB -env "all,CUDA_HOME=/c"', "/session", "/c")],
)  # fmt: skip
def test_other_batch_systems_hand_on_what_their_options_say(
    comment: str, libraries: str | None, home_of_cuda: str | None, home: Path
) -> None:
    write(home, {"work/train.sh": f"#!/bin/bash\n{comment}\n{{env}}/bin/python main.py\n"})
    (way,) = script_ways(replace(here(home, LD_LIBRARY_PATH="/session"), pythons=pythons(home)))
    env = way.state.environment()
    assert (env.get(NAME), env.get("CUDA_HOME")) == (libraries, home_of_cuda)


def test_a_notebook_server_that_runs_keeps_what_it_was_started_with(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = f"{NAME}=/old\0HOME={home}\0"
    write(home, {
        "proc/7/comm": "jupyter-lab\n", "proc/7/cmdline": "{env}/bin/python\0{env}/bin/jupyter-lab\0", "proc/7/environ": environ,
        "proc/8/comm": "python3\n", "proc/8/cmdline": "python3\0-m\0jupyterlab\0", "proc/8/environ": environ,
        "proc/9/comm": "python3\n", "proc/9/cmdline": "python3\0main.py\0", "proc/9/environ": environ,
        "env/share/jupyter/kernels/python3/kernel.json": '{"argv": ["python", "-m", "ipykernel_launcher"]}',
    })  # fmt: skip
    monkeypatch.setattr(multiplexers, "PROC", str(home / "proc"))
    ways = list(server_ways(replace(here(home), pythons=pythons(home)), begin(home)))
    assert [w.at.partition(":")[0] for w in ways] == ["PID 7", "PID 8"]
    assert {w.state.environment()[NAME] for w in ways} == {"/old"}
    assert {w.prefix for w in ways} == {str(home / "env")}


def test_settings_of_a_notebook_server_set_what_its_kernels_get(home: Path) -> None:
    code = "import os\nc = get_config()\nos.environ['LD_LIBRARY_PATH'] = '/of/settings'\n"
    write(
        home,
        {".jupyter/jupyter_server_config.py": code, ".jupyter/jupyter_other_config.py": code.replace("/of", "/no")},
    )
    terminal = begin(home)
    state = with_server_settings(replace(here(home), pythons=pythons(home)), terminal)
    assert state.environment()[NAME] == "/of/settings"
    assert [(Path(r.file).name, r.line) for r in state.lines[NAME]] == [("jupyter_server_config.py", 3)]
    assert NAME not in terminal.environment()
    (home / ".jupyter/jupyter_server_config.py").write_text("c = get_config()\n")
    assert with_server_settings(replace(here(home), pythons=pythons(home)), terminal) is terminal


def test_stages_of_dvc(home: Path) -> None:
    write(home, {
        "work/dvc.yaml": "stages:\n  prepare:\n    cmd: LD_LIBRARY_PATH=/one {env}/bin/python a.py\n    deps:\n      - a.py\n"
        "  train:\n    cmd:\n      - echo training\n      - env LD_LIBRARY_PATH=/two {env}/bin/python b.py\nplots:\n  - x.json\n",
    })  # fmt: skip
    found = told(task_ways(replace(here(home), pythons=pythons(home))), home)
    assert found == {
        "work/dvc.yaml: prepare": ("/one", [("work/dvc.yaml", 3)]),
        "work/dvc.yaml: train": ("/two", [("work/dvc.yaml", 9)]),
    }


def test_settings_of_desktops(home: Path) -> None:
    write(home, {
        ".config/plasma-workspace/env/cuda.sh": "export CUDA_HOME=/kde\n",
        ".config/hypr/hyprland.conf": "$root = /opt\nenv = LD_LIBRARY_PATH,$root/lib # ours\nsource = more.conf\nbind = SUPER, Q, exec, kitty\n",
        ".config/hypr/more.conf": "env = HF_HOME,$HOME/hf\n",
    })  # fmt: skip
    state = desktop_session(here(home))
    values = {n: state.environment().get(n) for n in ("CUDA_HOME", NAME, "HF_HOME")}
    assert values == {"CUDA_HOME": "/kde", NAME: "/opt/lib", "HF_HOME": f"{home}/hf"}
    assert [(r.file, r.line) for r in state.lines[NAME] if not r.overridden] == [
        (str(home / ".config/hypr/hyprland.conf"), 2)
    ]


def test_sweeps_of_wandb(home: Path) -> None:
    kept = "method: grid\nparameters:\n  lr:\n    values: [1, 2]\n"
    write(home, {
        "work/sweep.yaml": f"program: train.py\n{kept}command:\n  - ${{env}}\n  - LD_LIBRARY_PATH=/one\n  - {home}/env/bin/python\n  - ${{program}}\n  - ${{args}}\n",
        "work/sweeps/named.yml": f"{kept}program: {home}/env/bin/train\ncommand: ['${{program}}']\n",
        "work/other.yaml": f"program: {{env}}/bin/python\ncommand:\n  - {home}/env/bin/python\n",
    })  # fmt: skip
    (way,) = task_ways(replace(here(home), pythons=pythons(home)))
    assert way.at == str(home / "work/sweep.yaml") + ": sweep"
    assert way.state.environment()[NAME] == "/one"


@pytest.mark.parametrize(("told_by", "value"), [("gpu_ids: '3,4'", "3,4"), ("gpu_ids: 1", "1"), ("gpu_ids: all", None)])
def test_the_gpus_of_accelerate(told_by: str, value: str | None, home: Path) -> None:
    write(home, {".cache/huggingface/accelerate/default_config.yaml": f"debug: false\n{told_by}\nnum_processes: 2\n"})
    site = home / "env/lib/python3.11/site-packages"
    (site / "accelerate").mkdir(parents=True)
    its = tuple(replace(p, site_packages=(str(site),)) for p in pythons(home))
    ways = list(deployed_ways(replace(here(home), pythons=its)))
    assert [w.state.environment()["CUDA_VISIBLE_DEVICES"] for w in ways] == ([value] if value else [])
    assert [w.state.lines["CUDA_VISIBLE_DEVICES"][0].line for w in ways] == ([2] if value else [])
    assert not list(deployed_ways(replace(here(home), pythons=pythons(home))))


def test_the_first_program_of_a_container(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        home, {"1/cmdline": "{env}/bin/python\0main.py\0", "1/environ": f"{NAME}=/of/image\0HOME={home}\0", "mark": ""}
    )
    monkeypatch.setattr(deployed, "FIRST", str(home / "1"))
    monkeypatch.setattr(deployed, "CONTAINERS", (str(home / "mark"),))
    (way,) = deployed_ways(replace(here(home), pythons=pythons(home)))
    assert (way.kind, way.prefix, way.state.environment()[NAME]) == ("service", str(home / "env"), "/of/image")
    write(home, {"1/cmdline": "sleep\0infinity\0"})
    assert not list(deployed_ways(replace(here(home), pythons=pythons(home))))
    monkeypatch.setattr(deployed, "CONTAINERS", ())
    write(home, {"1/cmdline": "{env}/bin/python\0"})
    assert not list(deployed_ways(replace(here(home), pythons=pythons(home))))


@pytest.mark.parametrize(("told", "value"), [("true", "/session"), ("false", None)])
def test_a_run_configuration_without_the_variables_of_its_editor(home: Path, told: str, value: str | None) -> None:
    head = '<configuration name="a" type="PythonConfigurationType">'
    python = '<option name="SDK_HOME" value="{env}/bin/python" />'
    write(home, {"work/.idea/workspace.xml": f'<x>{head}<option name="PARENT_ENVS" value="{told}" />{python}</configuration></x>'})  # fmt: skip
    given = here(home)
    (way,) = task_ways(replace(given, env={**given.env, NAME: "/session"}, pythons=pythons(home)))
    assert way.state.environment().get(NAME) == value


def test_run_configurations_that_a_project_shares(home: Path) -> None:
    xml = (
        '<component name="ProjectRunConfigurationManager">\n  <configuration name="train" type="PythonConfigurationType">\n'
        '    <envs>\n      <env name="LD_LIBRARY_PATH" value="/shared" />\n    </envs>\n'
        '    <option name="SDK_HOME" value="{env}/bin/python" />\n  </configuration>\n</component>\n'
    )
    write(
        home,
        {"work/.run/train.run.xml": xml, "work/.idea/runConfigurations/other.xml": xml.replace("/shared", "/older")},
    )
    found = told(task_ways(replace(here(home), pythons=pythons(home))), home)
    assert dict(found.values()) == {
        "/shared": [("work/.run/train.run.xml", 4)],
        "/older": [("work/.idea/runConfigurations/other.xml", 4)],
    }


def test_notebooks_of_jupyterhub_get_what_its_configuration_gives(home: Path) -> None:
    kernel = {"argv": [str(home / "env/bin/python"), "-m", "ipykernel_launcher"]}
    write(home, {
        "work/jupyterhub_config.py": "c = get_config()\nc.Spawner.environment = {\n    'A': 'b',\n    'LD_LIBRARY_PATH': '/hub',\n}\n",
        ".local/share/jupyter/kernels/gpu/kernel.json": json.dumps(kernel),
    })  # fmt: skip
    found = [w for w in hub_ways(replace(here(home, **{NAME: "/session"}), pythons=pythons(home))) if w.prefix]
    assert [(w.state.environment()[NAME], w.state.environment()["A"]) for w in found] == [("/hub", "b")]
    assert [(r.file, r.line) for r in found[0].state.lines[NAME]] == [(str(home / "work/jupyterhub_config.py"), 4)]


@pytest.mark.parametrize(
    ("line", "value", "taken"),
    [
        ("", None, 1),
        ("c.Spawner.env_keep = ['PATH', 'LD_LIBRARY_PATH']", "/session", 0),
        ("c.Spawner.env_keep.append('LD_LIBRARY_PATH')", "/session", 0),
        ("c.Spawner.env_keep += ['LD_LIBRARY_PATH']", "/session", 0),
        ("c.Spawner.env_keep = ['PATH']", None, 2),
        ("c.Spawner.environment = {'LD_LIBRARY_PATH': os.environ['LD_LIBRARY_PATH']}", "/session", 0),
        ("c.Spawner.environment = {'LD_LIBRARY_PATH': '/a:' + os.environ['LD_LIBRARY_PATH']}", "/a:/session", 0),
    ],
)
def test_a_hub_that_is_started_here_hands_on_what_it_keeps(
    line: str, value: str | None, taken: int, home: Path
) -> None:
    write(home, {"work/jupyterhub_config.py": f"c = get_config()\n{line}\n"})
    (way,) = hub_ways(replace(here(home, **{NAME: "/session"}), pythons=pythons(home)))
    rows = [r for r in way.state.lines.get(NAME, ()) if r.does == "unset"]
    assert (way.state.environment().get(NAME), [r.line for r in rows]) == (value, [taken] if taken else [])
    write(home, {"work/jupyterhub_config.py": "c.JupyterHub.spawner_class = 'dockerspawner.DockerSpawner'\n"})
    assert not list(hub_ways(replace(here(home, **{NAME: "/session"}), pythons=pythons(home))))


def test_tmux_and_screen(home: Path) -> None:
    write(home, {
        ".tmux.conf": "set -g mouse on\nset-environment -g A b\nsetenv -g LD_LIBRARY_PATH ~/t ; # no\nset-environment -gu A\n",
        ".screenrc": "startup_message off\n",
    })  # fmt: skip
    found = told(multiplexer_ways(here(home), begin(home)), home)
    assert list(found) == ["tmux", "screen"]
    assert found["screen"] == (None, [])
    assert found["tmux"][1] == [(".tmux.conf", 3)]


FOLDERS: dict[str, tuple[dict[str, str], dict[str, str], tuple[str, int]]] = {
    "direnv and a file": ({".envrc": "dotenv_if_exists gone\ndotenv .env.gpu\n", ".env.gpu": "LD_LIBRARY_PATH=/d\n"}, {}, (".env.gpu", 1)),
    "direnv and the folder above": ({".envrc": "source_up\n", "../.envrc": "\nexport LD_LIBRARY_PATH=/d\n"}, {}, ("../.envrc", 2)),
    "mise": ({"mise.toml": "[tools]\n[env]\nA = 1\nLD_LIBRARY_PATH = '/d'\n"}, {}, ("mise.toml", 4)),
    "mise and a file": ({".mise.toml": "[env]\n_.file = ['.env']\n", ".env": "LD_LIBRARY_PATH=/d\n"}, {}, (".env", 1)),
    "uv": ({".env": "\nLD_LIBRARY_PATH='/d'\n"}, {"UV_ENV_FILE": ".env"}, (".env", 2)),
}  # fmt: skip


@pytest.mark.parametrize("case", FOLDERS.values(), ids=FOLDERS)
def test_folders(case: tuple[dict[str, str], dict[str, str], tuple[str, int]], home: Path) -> None:
    files, env, (name, line) = case
    write(home, {f"work/{n}": t for n, t in files.items()})
    ((value, rows),) = told(folder_ways(here(home, **env), begin(home)), home).values()
    assert value == "/d"
    assert rows == [(os.path.normpath(f"work/{name}"), line)]


FIRST_LINES: dict[str, tuple[str, str | None]] = {
    "env -S": ("#!/usr/bin/env -S LD_LIBRARY_PATH=/f {env}/bin/python\nprint()\n", "/f"),
    "env of the path": ("#!/usr/bin/env -S -u LD_LIBRARY_PATH python=1 {env}/bin/python\n", None),
    "a shell by env": ("#!/usr/bin/env bash\nexec env LD_LIBRARY_PATH=/s {env}/bin/python x\n", "/s"),
}


@pytest.mark.parametrize("case", FIRST_LINES.values(), ids=FIRST_LINES)
def test_first_lines(case: tuple[str, str | None], home: Path) -> None:
    text, value = case
    write(home, {"bin/tool": text})
    (home / "bin/tool").chmod(0o755)
    (found,) = told(
        script_ways(replace(here(home, LD_LIBRARY_PATH="/mine"), pythons=pythons(home)), (str(home / "bin/tool"),)),
        home,
    ).values()
    assert found[0] == value


Ways = Callable[[Ground], Iterable[Reached]]


@pytest.mark.parametrize("read", [service_ways, supervised_ways, task_ways], ids=lambda r: r.__name__)
@pytest.mark.parametrize(
    "text", ["", "\0", "=", "[program:x", "a:\n\t$(", "{", "export\n\n", '[Service]\nEnvironment="\n\\'], ids=range(8)
)
def test_broken_files_end_nowhere(text: str, read: Ways, home: Path) -> None:
    names = ("supervisord.conf", "Makefile", "justfile", "package.json", ".vscode/tasks.json", ".idea/workspace.xml")
    write(home, {f"work/{n}": text for n in names} | {f"{UNITS}/a.service": text})
    assert all(value is None for value, _rows in told(read(replace(here(home), pythons=pythons(home))), home).values())
