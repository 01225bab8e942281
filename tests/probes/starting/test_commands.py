"""From a command line to the Python that it starts: what a real shell hands on is the measure where one can be run."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.commands.command_line import Line, python_of_command, python_of_text, words_of
from core.probes.starting.machine import Ground
from core.probes.starting.pythons import pythons_of
from core.probes.starting.starters import launcher_ways, script_ways
from core.probes.starting.ways import Reached, activation_ways, editor_ways, notebook_ways
from tests.probes.starting.shells import begin, ground

TOLD = "import os; print(os.environ.get('LD_LIBRARY_PATH'))"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with two environments."""
    for name in ("env", "other"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "pyvenv.cfg").write_text("home = /usr/bin\n")
        for python in ("python", "python3"):
            (tmp_path / name / "bin" / python).symlink_to(os.path.realpath(sys.executable))
    return tmp_path


def pythons(home: Path) -> tuple[PythonEnvironment, ...]:
    return tuple(PythonEnvironment(prefix=str(home / n), kind="venv") for n in ("env", "other"))


def write(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


COMMANDS = {
    "itself": "{home}/env/bin/python {file}",
    "env": "env LD_LIBRARY_PATH=/opt/a {home}/env/bin/python {file}",
    "env empties": "env -i LD_LIBRARY_PATH=/opt/b {home}/env/bin/python {file}",
    "env takes one": "env -u LD_LIBRARY_PATH {home}/env/bin/python {file}",
    "nice": "nice -n 5 nohup {home}/env/bin/python {file}",
    "sh -c": "sh -c 'export LD_LIBRARY_PATH=/opt/c; exec {home}/env/bin/python \"$@\"' python {file}",
    "bash -c with activation": "bash -c 'LD_LIBRARY_PATH=/opt/d {home}/env/bin/python {file}'",
    "taskset": "taskset -c 0 {home}/env/bin/python {file}",
    "timeout": "timeout -k 5 60 env LD_LIBRARY_PATH=/opt/t {home}/env/bin/python {file}",
    "flock": "flock -n {home}/lock {home}/env/bin/python {file}",
    "flock -c": "flock -n {home}/lock -c 'LD_LIBRARY_PATH=/opt/f {home}/env/bin/python {file}'",
    "another folder": "sh -c 'cd {home}/env/bin && exec ./python {file}'",
    "a function hands on": "sh -c 'run() {{ \"$@\"; }}; export LD_LIBRARY_PATH=/opt/g; run {home}/env/bin/python {file}'",
    "a variable of two words": "sh -c 'P=\"{home}/env/bin/python -u\"; LD_LIBRARY_PATH=/opt/v $P {file}'",
    "an empty variable before": "sh -c 'LD_LIBRARY_PATH=/opt/w $NONE {home}/env/bin/python {file}'",
    "script": "{home}/run.sh {file}",
    "sh script": "sh {home}/run.sh {file}",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_a_real_start_hands_on(command: str, home: Path):
    write(home / "run.sh", f'#!/bin/sh\nexport LD_LIBRARY_PATH=/opt/run\nexec {home}/env/bin/python "$@"\n')
    file = write(home / "told.py", TOLD)
    words = words_of(command.format(home=home, file=file))
    state = begin(home)
    state.values["LD_LIBRARY_PATH"] = "/opt/session"
    state.exported.add("LD_LIBRARY_PATH")
    real = subprocess.run(words, env=state.environment(), capture_output=True, text=True, check=True, timeout=60)
    found = python_of_command(words, Line("/x.desktop", 3), state, ground(home))
    assert found is not None
    assert found.prefix == str(home / "env")
    assert real.stdout.strip() == str(state.environment().get("LD_LIBRARY_PATH"))


STARTERS: dict[str, tuple[str | None, str | None]] = {
    "mpirun -np 2 -x LD_LIBRARY_PATH=/opt/m {python} x.py": ("/opt/m", "/s"),
    "mpirun -x LD_LIBRARY_PATH -n 1 {python} x.py": ("/s/lib", "/s"),
    "mpiexec -genv LD_LIBRARY_PATH /opt/i -n 2 {python} x.py": ("/opt/i", "/s"),
    "srun --export=ALL,CUDA_HOME=/c {python} x.py": ("/s/lib", "/c"),
    "srun --export=CUDA_HOME -n 1 {python} x.py": (None, "/s"),
    "srun --export NONE {python} x.py": (None, None),
    "systemd-run --user -E CUDA_HOME=/c {python} x.py": (None, "/c"),
    "systemd-run --user --scope {python} x.py": ("/s/lib", "/s"),
    "dotenv run -- {python} x.py": ("/of/env", "/s"),
    "dotenv -f other.env run {python} x.py": ("/s/lib", "/other"),
    "direnv exec . {python} x.py": ("/s/lib", "/of/envrc"),
    "tini -- {python} x.py": ("/s/lib", "/s"),
    "{python} -m uvicorn app:app --env-file other.env": ("/s/lib", "/other"),
    "{python} -m uvicorn app:app --env-file=.env": ("/s/lib", "/s"),
}


@pytest.mark.parametrize("command", STARTERS)
def test_options_of_what_starts_a_program(command: str, home: Path) -> None:
    write(home / "work/.env", "LD_LIBRARY_PATH=/of/env\n")
    write(home / "work/other.env", "CUDA_HOME=/other\n")
    write(home / "work/.envrc", "export CUDA_HOME=/of/envrc\n")
    state = begin(home)
    state.values |= {"LD_LIBRARY_PATH": "/s/lib", "CUDA_HOME": "/s", "PWD": str(home / "work")}
    state.exported |= {"LD_LIBRARY_PATH", "CUDA_HOME"}
    words = words_of(command.format(python=home / "env/bin/python"))
    found = python_of_command(words, Line("/x", 1), state, ground(home))
    assert found is not None
    assert found.prefix == str(home / "env")
    env = state.environment()
    assert (env.get("LD_LIBRARY_PATH"), env.get("CUDA_HOME")) == STARTERS[command]


def test_sudo_takes_the_variables_away(home: Path):
    state = begin(home)
    state.values |= {"LD_LIBRARY_PATH": "/opt/a", "CUDA_HOME": "/opt/a"}
    state.exported |= {"LD_LIBRARY_PATH", "CUDA_HOME"}
    kept = state.copy()
    words = ["sudo", "-u", "ada", f"{home}/env/bin/python", "x.py"]
    assert python_of_command(words, Line("/x", 1), state, ground(home))
    assert not {"LD_LIBRARY_PATH", "CUDA_HOME"} & set(state.environment())
    assert python_of_command(["sudo", "-E", *words[3:]], Line("/x", 1), kept, ground(home))
    assert "CUDA_HOME" in kept.environment()
    assert "LD_LIBRARY_PATH" not in kept.environment()


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("su root -c '{python} x.py'", ("/opt/b",)),
        ("su - root -c '{python} x.py'", ()),
        ("su -l root -c '{python} x.py'", ()),
        ("su -c '{python} x.py' - root", ()),
        ("su -w CUDA_HOME - root -c '{python} x.py'", ("/opt/b",)),
        ("runuser root -c '{python} x.py'", ("/opt/a", "/opt/b")),
        ("runuser -l root -c '{python} x.py'", ()),
        ("runuser -u root -- {python} x.py", ("/opt/a", "/opt/b")),
    ],
)  # each as util-linux 2.38 does it, where it is not root who calls it
def test_another_user_gets_what_su_hands_on(command: str, kept: tuple[str, ...], home: Path):
    state = begin(home)
    state.values |= {"LD_LIBRARY_PATH": "/opt/a", "CUDA_HOME": "/opt/b"}
    state.exported |= {"LD_LIBRARY_PATH", "CUDA_HOME"}
    its = replace(ground(home), person=replace(ground(home).person, uid=1000, name="ada"))
    words = words_of(command.format(python=home / "env/bin/python"))
    found = python_of_command(words, Line("/x", 1), state, its)
    assert found is not None
    assert found.prefix == str(home / "env")
    env = state.environment()
    assert tuple(env[n] for n in ("LD_LIBRARY_PATH", "CUDA_HOME") if n in env) == kept


SUDOERS = 'Defaults env_reset\nDefaults env_keep += "CUDA_* HF_HOME", secure_path="/opt/bin:/usr/bin"\nDefaults:bob !env_reset\n'


def test_sudoers_say_what_sudo_hands_on(home: Path):
    names = {"CUDA_HOME": "/opt/a", "HF_HOME": "/h", "LD_LIBRARY_PATH": "/opt/a", "PYTHONPATH": "/p"}
    state = begin(home)
    state.values |= names
    state.exported |= set(names)
    its = ground(home, texts={"/etc/sudoers": SUDOERS})
    assert python_of_command(["sudo", f"{home}/env/bin/python"], Line("/x", 1), state, its)
    assert {n: v for n, v in state.environment().items() if n in names} == {"CUDA_HOME": "/opt/a", "HF_HOME": "/h"}
    assert state.environment()["PATH"] == "/opt/bin:/usr/bin"


RUNS = {
    "uv run": ("uv run --frozen python main.py", {"pyproject.toml": ""}, ".venv"),
    "uv run of a file": ("uv run main.py", {"pyproject.toml": ""}, ".venv"),
    "poetry": ("poetry run python main.py", {"pyproject.toml": ""}, ".venv"),
    "pipenv": ("pipenv run python main.py", {"Pipfile": "", ".env": "LD_LIBRARY_PATH=/opt/dotenv\n"}, ".venv"),
    "pdm": ("pdm run main.py", {"pyproject.toml": ""}, ".venv"),
    "pdm with an interpreter of its own": ("pdm run python main.py", {"pyproject.toml": "", ".pdm-python": "{home}/work/../old/bin/python\n", ".venv/bin/python": ""}, "../old"),
    "pdm with an interpreter that is gone": ("pdm run python main.py", {"pyproject.toml": "", ".pdm-python": "/gone/bin/python"}, ".venv"),
    "pipenv with a place of its own": ("pipenv run python main.py", {"Pipfile": "", ".venv": "{home}/work/../old\n"}, "../old"),
    "pixi": ("pixi run -e gpu python main.py", {"pixi.toml": ""}, ".pixi/envs/gpu"),
    "a file of variables": ("uv run --env-file own.env python main.py", {"pyproject.toml": "", "own.env": "LD_LIBRARY_PATH=/opt/dotenv\n"}, ".venv"),
    "uv of another folder": ("uv run --project {home}/work python main.py", {"pyproject.toml": ""}, ".venv"),
    "conda by place": ("conda run -p {home}/envs/ml --live-stream python main.py", {}, "../envs/ml"),
    "conda": ("conda run -n ml --no-capture-output python main.py", {"../.conda/environments.txt": "{home}/envs/ml\n"}, "../envs/ml"),
}  # fmt: skip


@pytest.mark.parametrize("case", RUNS)
def test_the_run_of_a_manager_starts_the_environment_of_the_project(case: str, home: Path):
    command, files, prefix = RUNS[case]
    command = command.replace("{home}", str(home))
    work = home / "work"
    for name, text in files.items():
        write(work / name, text.replace("{home}", str(home)))
    python = work / prefix / "bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    (work / prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    state = begin(home)
    state.values["PWD"] = str(work)
    found = python_of_text(command, Line("/x", 1), state, ground(home))
    assert found is not None
    assert os.path.normpath(found.prefix) == os.path.normpath(work / prefix)
    assert state.environment().get("LD_LIBRARY_PATH") == ("/opt/dotenv" if "opt/dotenv" in str(files) else None)


@pytest.mark.parametrize(("command", "reads"), [("bash -c '{python}'", True), ("bash {home}/go.sh", True), ("{home}/go.sh", True),
    ("sh -c '{python}'", False), ("bash -ic '{python}'", False)])  # fmt: skip
def test_a_shell_that_is_not_interactive_reads_its_own_file(command: str, reads: bool, home: Path):
    write(home / ".of-jobs", "export LD_LIBRARY_PATH=/old\n")
    write(home / "go.sh", f"#!/bin/bash\n{home}/env/bin/python main.py\n")
    (home / "go.sh").chmod(0o755)
    state = begin(home)
    state.values["BASH_ENV"] = "$HOME/.of-jobs"
    state.exported.add("BASH_ENV")
    text = command.format(home=home, python=f"{home}/env/bin/python main.py")
    assert python_of_text(text, Line("/x", 1), state, ground(home)) is not None
    assert state.environment().get("LD_LIBRARY_PATH") == ("/old" if reads else None)
    if not command.startswith("bash -i"):
        code = "import os; print(os.environ.get('LD_LIBRARY_PATH'))"
        write(home / "main.py", code)
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin", "BASH_ENV": "$HOME/.of-jobs"}
        done = subprocess.run(["sh", "-c", text], cwd=home, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ("/old" if reads else "None")


def test_the_variables_of_a_workspace_are_those_of_the_editors_terminals(home: Path):
    own = '{"folders": [{"path": "."}],\n "settings": {"terminal.integrated.env.linux": {"LD_LIBRARY_PATH": "/old"}}}'
    write(home / "work/mine.code-workspace", own)
    (way,) = editor_ways(replace(ground(home), folder=str(home / "work")), begin(home))
    assert [(r.line, r.value) for r in way.state.lines["LD_LIBRARY_PATH"]] == [(2, "/old")]


@pytest.mark.parametrize(
    ("command", "mark"), [("poetry run python main.py", "pyproject.toml"), ("pipenv run python main.py", "Pipfile")]
)
def test_an_environment_that_its_manager_keeps_in_the_home(command: str, mark: str, home: Path):
    work = home / "work"
    write(work / mark, "")
    place = os.path.realpath(work) if mark == "pyproject.toml" else f"{os.path.realpath(work)}/{mark}"
    digest = base64.urlsafe_b64encode(hashlib.sha256(place.encode()).digest()).decode()[:8]
    folder = ".cache/pypoetry/virtualenvs" if mark == "pyproject.toml" else ".local/share/virtualenvs"
    prefix = home / folder / (f"app-{digest}-py3.11" if mark == "pyproject.toml" else f"work-{digest}")
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").symlink_to(os.path.realpath(sys.executable))
    write(prefix / "pyvenv.cfg", "home = /usr/bin\n")
    state = begin(home)
    state.values["PWD"] = str(work)
    found = python_of_text(command, Line("/x", 1), state, ground(home))
    assert found is not None
    assert found.prefix == str(prefix)


MODULES = {
    "Tcl": ("cuda/12.4", '#%Module\nset root /opt/cuda-12.4\nprepend-path LD_LIBRARY_PATH $root/lib64\nsetenv CUDA_HOME $root\n', "/opt/cuda-12.4/lib64"),
    "Lua": ("cuda/12.4.lua", 'local root = "/opt/cuda-12.4"\nprepend_path("LD_LIBRARY_PATH", pathJoin(root, "lib64"))\nsetenv("CUDA_HOME", root)\n', "/opt/cuda-12.4/lib64"),
    "joined": ("cuda/12.4.lua", 'local root = "/opt/cuda-" .. "12.4"\nprepend_path("LD_LIBRARY_PATH", root .. "/lib64")\nsetenv("CUDA_HOME", root)\n', "/opt/cuda-12.4/lib64"),
    "by a function": ("cuda/12.4", "prepend-path LD_LIBRARY_PATH [exec root]/lib64\n", None),
}  # fmt: skip


@pytest.mark.parametrize("case", MODULES)
def test_a_script_that_loads_a_module(case: str, home: Path):
    name, text, value = MODULES[case]
    file = write(home / "modules" / name, text)
    script = write(
        home / "job.sbatch", f"#!/bin/bash\n#SBATCH --gres=gpu:1\nmodule load cuda\nsrun {home}/env/bin/python x.py\n"
    )
    state = begin(home)
    state.values["MODULEPATH"] = str(home / "modules")
    found = python_of_command([str(script)], Line(str(script), 1), state, ground(home))
    assert found is not None
    assert found.prefix == str(home / "env")
    assert state.environment().get("LD_LIBRARY_PATH") == value
    assert [(r.file, r.line) for r in state.lines["LD_LIBRARY_PATH"]][-1] == (
        str(file),
        1 if value is None else 3 if case == "Tcl" else 2,
    )


@pytest.mark.parametrize(
    "text",
    ["", "'", "sudo", "env -u", "bash -c", "sh -c '('", "exec", "/no/such/program x", "$X/bin/python x", "sh -c " * 40],
)
def test_what_leads_nowhere_is_none(text: str, home: Path):
    assert python_of_command(words_of(text), Line("/x", 1), begin(home), ground(home)) is None
    assert python_of_text(text, Line("/x", 1), begin(home), ground(home)) is None


SCRIPTS = {
    "an array": 'export LD_LIBRARY_PATH=/a\nCMD=(\n  {home}/env/bin/python -u\n  told.py\n)\nCMD+=(--x "y z")\n"${CMD[@]}"\n',
    "an array behind exec": 'export LD_LIBRARY_PATH=/a\nCMD=({home}/env/bin/python told.py)\nexec "${CMD[@]}" "$@"\n',
    "arguments in an array": 'ARGS=(--lr 1)\nLD_LIBRARY_PATH=/a {home}/env/bin/python told.py "${ARGS[@]}"\n',
    "a pipe": "export LD_LIBRARY_PATH=/a\n{home}/env/bin/python told.py 2>&1 | tee log\n",
    "a subshell": "(cd . && export LD_LIBRARY_PATH=/a && {home}/env/bin/python told.py)\n",
    "a chain": "cd . && export LD_LIBRARY_PATH=/a && {home}/env/bin/python told.py\n",
    "a chain behind something unknown": "mkdir -p x && export LD_LIBRARY_PATH=/a && {home}/env/bin/python told.py\n",
    "a condition about a file beside it": "if [ -f told.py ]; then\n  LD_LIBRARY_PATH=/a {home}/env/bin/python told.py\nfi\n",
    "a loop that ends": "while true; do LD_LIBRARY_PATH=/a {home}/env/bin/python told.py; sleep 0; break; done\n",
    "in the background": "export LD_LIBRARY_PATH=/a\n{home}/env/bin/python told.py &\necho $! >pid\nwait\n",
    "behind xargs": "echo 1 | LD_LIBRARY_PATH=/a xargs -n 1 {home}/env/bin/python told.py\n",
    "a folder that may be gone": "cd work || exit 1\nLD_LIBRARY_PATH=/a {home}/env/bin/python ../told.py\n",
    "a pipe's own variable": "export LD_LIBRARY_PATH=/a\nexport LD_LIBRARY_PATH=/b | true\n{home}/env/bin/python told.py\n",
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_the_forms_in_which_scripts_start_a_program(text: str, home: Path):
    (home / "work").mkdir()
    (home / "told.py").write_text(TOLD)
    script = write(home / "run.sh", f"#!/bin/bash\n{text.replace('{home}', str(home))}")
    state = begin(home)
    state.values["PWD"] = str(home)
    real = subprocess.run(
        [script], cwd=home, env=state.environment(), capture_output=True, text=True, check=True, timeout=60
    )
    assert real.stdout.split()[0] == "/a"
    found = python_of_command([str(script)], Line(str(script), 1), state, ground(home))
    assert found is not None
    assert found.prefix == str(home / "env")
    assert state.environment().get("LD_LIBRARY_PATH") == "/a"


def test_a_python_that_is_gone_is_told(home: Path):
    found = python_of_text("exec /no/such/python -u x", Line("/x", 1), begin(home), ground(home))
    assert found is not None
    assert (found.path, found.prefix, found.arguments, found.is_gone) == ("/no/such/python", "", ("-u", "x"), True)


def test_a_script_that_calls_itself_ends(home: Path):
    path = write(home / "loop.sh", f"#!/bin/sh\n{home}/loop.sh\n")
    assert python_of_command([str(path)], Line("/x", 1), begin(home), ground(home)) is None


def test_lines_stand_where_the_file_has_them(home: Path):
    path = write(
        home / "run.sh", f"#!/bin/sh\n\nunset LD_PRELOAD\nexport LD_LIBRARY_PATH=/opt/a\n{home}/env/bin/python x\n"
    )
    (way,) = script_ways(replace(at(home), pythons=pythons(home)))
    (row,) = way.state.lines["LD_LIBRARY_PATH"]
    assert (row.file, row.line, way.prefix) == (str(path), 4, str(home / "env"))


def at(home: Path, folder: str = "", **env: str) -> Ground:
    made = ground(home)
    return Ground(made.where, made.person, made.around, {"PATH": "/usr/bin:/bin", **env}, str(home / folder))


def test_launchers_of_environments_only(home: Path):
    apps = home / ".local/share/applications"
    write(apps / "mine.desktop", f"[Desktop Entry]\nExec=env A=1 {home}/env/bin/python %f\n")
    write(apps / "system.desktop", "[Desktop Entry]\nExec=/usr/bin/python3 /usr/bin/tool\n")
    write(apps / "broken.desktop", "[Desktop Entry]\nExec='\n")
    write(apps / "none.desktop", "[Desktop Entry]\n")
    found = list(launcher_ways(replace(at(home), pythons=pythons(home)), begin(home)))
    assert [(w.at.rsplit("/", 1)[-1], w.prefix) for w in found] == [("mine.desktop", str(home / "env"))]


def test_a_programs_script_is_a_way_wherever_it_lies(home: Path):
    path = write(home / "deep/start", f"#!/bin/bash\nexec {home}/env/bin/python\n")
    assert not list(script_ways(replace(at(home), pythons=pythons(home))))
    assert [w.at for w in script_ways(replace(at(home), pythons=pythons(home)), (str(path),))] == [str(path)]


def runs(way: Reached, home: Path):
    return [(one.prefix, one.seems, one.why) for one in pythons_of(way, replace(at(home), pythons=pythons(home)))]


def kernel(home: Path, folder: str, argv: str, name: str = "ml", display: str = "") -> Reached:
    spec = f'{{"argv": ["{argv}", "-m", "ipykernel_launcher"], "display_name": "{display}"}}'
    write(home / folder / f"kernels/{name}/kernel.json", spec)
    (way,) = [w for w in notebook_ways(replace(at(home), pythons=pythons(home)), begin(home)) if str(home) in w.at]
    return way


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("{home}/env/bin/python", ("env", "env", "lies in it")),
        ("{home}/other/bin/python", ("other", "env", "lies in it")),
        ("{home}/gone/bin/python", ("", "env", "lies in it")),
        ("python", None),
        ("python3", None),
        ("/usr/bin/bash", None),
    ],
)
def test_a_kernel_in_an_environment(argv: str, expected: tuple[str, str, str] | None, home: Path):
    way = kernel(home, "env/share/jupyter", argv.format(home=home))
    paths = [(f"{home}/{expected[0]}" if expected[0] else "", f"{home}/{expected[1]}", expected[2])] if expected else []
    assert runs(way, home) == paths


def test_a_kernel_that_is_called_after_an_environment(home: Path):
    way = kernel(home, ".local/share/jupyter", f"{home}/env/bin/python", display="Python (other)")
    assert runs(way, home) == [(f"{home}/env", f"{home}/other", "name")]
    way = kernel(home, ".local/share/jupyter", f"{home}/env/bin/python", display="Another kernel")
    assert runs(way, home) == []


@pytest.mark.parametrize(
    ("alias", "leads"), [("", "env"), ("python=python3", "env"), ("python={home}/other/bin/python", "other")]
)
def test_an_alias_beats_an_activation(alias: str, leads: str, home: Path):
    write(
        home / "env/bin/activate",
        f"VIRTUAL_ENV={home}/env\nexport VIRTUAL_ENV\nPATH=$VIRTUAL_ENV/bin:$PATH\nexport PATH\n",
    )
    terminal = begin(home)
    if alias:
        name, _equals, text = alias.format(home=home).partition("=")
        terminal.aliases[name] = (text, "/home/ada/.bashrc", 2)
    way = next(w for w in activation_ways(replace(at(home), pythons=pythons(home)), terminal) if w.at.endswith("/env"))
    first = pythons_of(way, replace(at(home), pythons=pythons(home)))[0]
    assert (first.prefix, first.seems) == (str(home / leads), str(home / "env"))
    assert leads == "env" or first.source == "/home/ada/.bashrc:2"


def test_a_copied_environment_starts_the_one_that_it_was_copied_from(home: Path):
    site = home / f"old/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    write(site / "torch-2.6.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0\n")
    write(home / "old/pyvenv.cfg", f"home = {Path(sys.executable).resolve().parent}\n")
    write(home / "old/bin/python", "")
    text = f"VIRTUAL_ENV={home}/old\nexport VIRTUAL_ENV\nPATH=$VIRTUAL_ENV/bin:$PATH\nexport PATH\n"
    write(home / "env/bin/activate", text)
    way = next(
        w for w in activation_ways(replace(at(home), pythons=pythons(home)), begin(home)) if w.at.endswith("/env")
    )
    (first, *_more) = pythons_of(way, replace(at(home), pythons=pythons(home)))
    assert (first.prefix, first.seems, first.has) == (str(home / "old"), str(home / "env"), ("torch",))
    listed = (*pythons(home), PythonEnvironment(prefix=str(home / "old"), kind="venv"))
    assert pythons_of(way, replace(at(home), pythons=listed))[0].has is None


def test_an_activation_of_a_moved_environment_is_another_matter(home: Path):
    write(
        home / "env/bin/activate",
        "VIRTUAL_ENV=/gone/env\nexport VIRTUAL_ENV\nPATH=$VIRTUAL_ENV/bin:$PATH\nexport PATH\n",
    )
    way = next(
        w for w in activation_ways(replace(at(home), pythons=pythons(home)), begin(home)) if w.at.endswith("/env")
    )
    assert runs(way, home) == []


def test_the_editors_own_file_of_variables(home: Path):
    write(home / "work/.env", "CUDA_HOME=/opt/env\n")
    write(home / "work/dev.env", "CUDA_HOME=/opt/dev\n")
    settings = write(home / "work/.vscode/settings.json", "{}")
    (way,) = editor_ways(replace(at(home, "work"), pythons=pythons(home)), begin(home))
    assert way.state.values["CUDA_HOME"] == "/opt/env"
    settings.write_text(
        f'{{"python.envFile": "${{workspaceFolder}}/dev.env", "python.defaultInterpreterPath": "{home}/env/bin/python"}}'
    )
    (way,) = editor_ways(replace(at(home, "work"), pythons=pythons(home)), begin(home))
    assert (way.state.values["CUDA_HOME"], way.prefix) == ("/opt/dev", str(home / "env"))
    write(
        home / "work/.vscode/launch.json",
        '{"configurations": [{"name": "a", "type": "debugpy", "env": {"CUDA_HOME": "${workspaceFolder}"}}, {"type": "go"}, 3]}',
    )
    _way, launch = editor_ways(replace(at(home, "work"), pythons=pythons(home)), begin(home))
    assert launch.state.values["CUDA_HOME"] == f"{home}/work"


@pytest.mark.parametrize("name", [".devcontainer/devcontainer.json", ".devcontainer.json"])
def test_a_development_container_sets_switches_and_its_places_are_its_own(home: Path, name: str):
    write(home / "work" / name, """{
  // ours
  "containerEnv": {"JAX_PLATFORMS": "cpu", "LD_LIBRARY_PATH": "/usr/local/cuda/lib64", "PATH": "${containerEnv:PATH}"},
  "remoteEnv": {"XLA_FLAGS": "--x", "GONE": null}
}""")  # fmt: skip
    (way,) = editor_ways(replace(at(home, "work"), pythons=pythons(home)), begin(home))
    assert (way.kind, way.at) == ("editor", f"{home}/work/{name}")
    assert (way.state.values["JAX_PLATFORMS"], way.state.values["XLA_FLAGS"]) == ("cpu", "--x")
    assert way.state.values.get("LD_LIBRARY_PATH") != "/usr/local/cuda/lib64"
    assert "${" not in way.state.values.get("PATH", "")


def test_a_folder_that_no_editor_opened_is_none(home: Path):
    write(home / "work/.env", "CUDA_HOME=/opt/env\n")
    assert not list(editor_ways(replace(at(home, "work"), pythons=pythons(home)), begin(home)))
