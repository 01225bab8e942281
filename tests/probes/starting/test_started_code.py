"""A way that starts another Python: the real Python, started so, is the measure of what it lacks."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.host.startup.state import State
from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting.commands.lacking_modules import options_of_python
from core.probes.starting.machine import Ground
from core.probes.starting.projects.described_programs import described_ways
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.projects.uv_runs import uv_ways
from core.probes.starting.services.scheduled import cron_ways
from core.probes.starting.services.supervised import supervised_ways
from core.probes.starting.services.systemd import service_ways
from core.probes.starting.starters import first_line_ways, launcher_ways, script_ways
from tests.probes.starting.shells import ground

PROGRAM = "import sys\nimport frame\nprint(frame)\n"
UNIT = "[Service]\nWorkingDirectory=%h/work\nExecStart={start}\n"
VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an environment that has a framework, and one that has none."""
    for name in ("env", "bare"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "lib" / VERSION / "site-packages").mkdir(parents=True)
        (tmp_path / name / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
        for python in ("python", "python3"):
            (tmp_path / name / "bin" / python).symlink_to(os.path.realpath(sys.executable))
    package = tmp_path / "env/lib" / VERSION / "site-packages/frame"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/main.py").write_text(PROGRAM)
    return tmp_path


def pythons(home: Path) -> tuple[PythonEnvironment, ...]:
    site = str(home / "env/lib" / VERSION / "site-packages")
    frame = Distribution(name="frame", version="1", location=site)
    bare = PythonEnvironment(prefix=str(home / "bare"), kind="venv")
    return (
        PythonEnvironment(prefix=str(home / "env"), kind="venv", site_packages=(site,), distributions=(frame,)),
        bare,
    )


def here(home: Path, **env: str) -> Ground:
    made = ground(home)
    path = f"{home}/bare/bin:/usr/bin:/bin"
    return replace(made, env={"HOME": str(home), "PATH": path, **env}, folder=str(home / "work"))


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text.replace("{home}", str(home)))


COMMANDS: dict[str, tuple[str, dict[str, str], bool]] = {
    "the program": ("{home}/bare/bin/python main.py", {}, True),
    "options before it": ("{home}/bare/bin/python -u -W ignore -Xutf8 main.py --x", {}, True),
    "a module": ("{home}/bare/bin/python -m frame", {}, True),
    "an own module that imports it": ("{home}/bare/bin/python -m own", {"work/own.py": PROGRAM}, True),
    "code": ("{home}/bare/bin/python -c 'import frame'", {}, True),
    "an own module beside the program": (
        "{home}/bare/bin/python main.py",
        {"work/main.py": "from parts import x\n", "work/parts/__init__.py": "import frame\nx = 1\n"},
        True,
    ),
    "when it is the main program": (
        "{home}/bare/bin/python main.py",
        {"work/main.py": "if __name__ == '__main__':\n    import frame\n"},
        True,
    ),
    "when it is the main program, asked the other way round": (
        "{home}/bare/bin/python main.py",
        {"work/main.py": "if '__main__' == __name__:\n    import frame\n"},
        True,
    ),
    "by env": ("env A=1 {home}/bare/bin/python main.py", {}, True),
    "by its first line": ("{home}/work/run", {"work/run": "#!{home}/bare/bin/python\nimport frame\n"}, True),
    "by a script of shells": ("sh run.sh", {"work/run.sh": 'exec "{home}/bare/bin/python" main.py "$@"\n'}, True),
    "its own environment": ("{home}/env/bin/python main.py", {}, False),
    "the package is the program's own": ("{home}/bare/bin/python main.py", {"work/frame.py": ""}, False),
    "by PYTHONPATH": (f"PYTHONPATH={{home}}/env/lib/{VERSION}/site-packages {{home}}/bare/bin/python main.py", {}, False),
    "where it is caught": (
        "{home}/bare/bin/python main.py",
        {"work/main.py": "try:\n    import frame\nexcept ImportError:\n    frame = None\n"},
        False,
    ),
    "in a function that it calls": ("{home}/bare/bin/python main.py", {"work/main.py": "def f():\n    import frame\nif __name__ == '__main__':\n    f()\n"}, True),
    "in one that may end before": ("{home}/bare/bin/python main.py", {"work/main.py": "def f():\n    if True:\n        return\n    import frame\nf()\n"}, False),
    "beside a folder that its text adds": ("{home}/bare/bin/python main.py", {"work/main.py": "import sys\nsys.path.append('own')\nimport near\nimport frame\n", "work/own/near.py": ""}, True),
    "in a function": ("{home}/bare/bin/python main.py", {"work/main.py": "def f():\n    import frame\n"}, False),
    "behind another search": (
        "{home}/bare/bin/python main.py",
        {"work/main.py": f"import sys\nsys.path.insert(0, '{{home}}/env/lib/{VERSION}/site-packages')\nimport frame\n"},
        False,
    ),
    "behind its end": ("{home}/bare/bin/python main.py", {"work/main.py": "import sys\nsys.exit()\nimport frame\n"}, False),
    "by a start-up file": (
        "{home}/bare/bin/python main.py",
        {f"bare/lib/{VERSION}/site-packages/more.pth": f"{{home}}/env/lib/{VERSION}/site-packages\n"},
        False,
    ),
    "another command of it": ("{home}/bare/bin/python -m json.tool /dev/null || true", {}, False),
    "no program": ("{home}/bare/bin/python --version", {}, False),
}  # fmt: skip


@pytest.mark.parametrize(("command", "files", "lacks"), COMMANDS.values(), ids=COMMANDS)
def test_what_a_real_start_lacks(command: str, files: dict[str, str], lacks: bool, home: Path):
    filled = command.replace("{home}", str(home))
    write(home, {**files, "work/package.json": json.dumps({"scripts": {"serve": filled}})})
    if (home / "work/run").exists():
        (home / "work/run").chmod(0o755)
    given = here(home)
    real = subprocess.run(
        ["/bin/sh", "-c", filled], cwd=home / "work", env=given.env, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert ("No module named 'frame'" in real.stderr or "No module named frame" in real.stderr) is lacks
    found = [one for way in task_ways(replace(given, pythons=pythons(home))) for one in way.runs]
    assert [(o.lacks, o.seems, o.why, o.sure) for o in found] == (
        [(("frame",), str(home / "env"), "imports", True)] if lacks else []
    )


UNSEARCHED: dict[str, tuple[str, dict[str, str], str]] = {
    "-I and its own module": ("{home}/env/bin/python -I main.py", {"work/main.py": "import own\n", "work/own.py": ""}, "work"),
    "-I and a module that it has": ("{home}/env/bin/python -I main.py", {"work/own.py": ""}, ""),
    "-E and PYTHONPATH": ("PYTHONPATH={home}/lib {home}/env/bin/python -uE main.py", {"work/main.py": "import own\n", "lib/own/__init__.py": ""}, "lib"),
    "-E and its own module": ("{home}/env/bin/python -E main.py", {"work/main.py": "import own\n", "work/own.py": ""}, ""),
    "-P and its own module": ("{home}/env/bin/python -P main.py", {"work/main.py": "import own\n", "work/own.py": ""}, "work"),
    "a package above it": ("{home}/env/bin/python tools/run.py", {"work/tools/run.py": "from src.model import net\n", "work/src/model.py": "net = 1\n"}, "work"),
    "a package above it, by a changed search": ("{home}/env/bin/python tools/run.py", {"work/tools/run.py": "import sys\nsys.path.append('.')\nfrom src.model import net\n", "work/src/model.py": "net = 1\n"}, ""),
    "a package above it, by PYTHONPATH": ("PYTHONPATH=. {home}/env/bin/python tools/run.py", {"work/tools/run.py": "from src.model import net\n", "work/src/model.py": "net = 1\n"}, ""),
    "a package above it, as a module": ("{home}/env/bin/python -m tools.run", {"work/tools/run.py": "from src.model import net\n", "work/src/model.py": "net = 1\n"}, ""),
    "a folder that it adds, from elsewhere": ("cd / && {home}/env/bin/python {home}/work/main.py", {"work/main.py": "import sys\nsys.path.append('src')\nimport model\n", "work/src/model.py": ""}, "work"),
    "a folder that it adds by its own place": ("cd / && {home}/env/bin/python {home}/work/main.py", {"work/main.py": "import os, sys\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'src'))\nimport model\n", "work/src/model.py": ""}, ""),
    "a folder that it adds, from its own": ("{home}/env/bin/python {home}/work/main.py", {"work/main.py": "import sys\nsys.path[0:0] = ['src']\nimport model\n", "work/src/model.py": ""}, ""),
    "a folder that it adds, from the one above": ("{home}/env/bin/python tools/run.py", {"work/tools/run.py": "import sys\nsys.path.append('../src')\nimport model\n", "work/src/model.py": ""}, "work/tools"),
    "a folder that it adds, where it is": ("cd tools && {home}/env/bin/python run.py", {"work/tools/run.py": "import sys\nsys.path.append('../src')\nimport model\n", "work/src/model.py": ""}, ""),
    "a folder of data above it": ("{home}/env/bin/python tools/run.py", {"work/tools/run.py": "try:\n    import data\nexcept ImportError:\n    pass\n", "work/data/x.csv": ""}, ""),
}  # fmt: skip


@pytest.mark.parametrize(("command", "files", "folder"), UNSEARCHED.values(), ids=UNSEARCHED)
def test_what_a_real_start_does_not_search(command: str, files: dict[str, str], folder: str, home: Path):
    filled = command.replace("{home}", str(home))
    write(home, {**files, "work/package.json": json.dumps({"scripts": {"serve": filled}})})
    given = here(home)
    real = subprocess.run(
        ["/bin/sh", "-c", filled], cwd=home / "work", env=given.env, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert ("No module named" in real.stderr) is bool(folder), real.stderr
    found = [(o.fault, o.source, o.seems) for way in task_ways(replace(given, pythons=pythons(home))) for o in way.runs]
    assert found == ([("not searched", str(home / folder), str(home / "env"))] if folder else [])


CHILDREN: dict[str, tuple[str, str, bool]] = {
    "a list": ("import subprocess\nsubprocess.run(['python3', 'main.py'], check=True)\n", "bare", True),
    "one text": ("import subprocess\nsubprocess.run('python3 -u main.py', shell=True, check=True)\n", "bare", True),
    "by the system's shell": ("import os\nos.system('python3 main.py')\n", "bare", True),
    "where PATH leads to the environment": ("import os\nos.system('python3 main.py')\n", "env", False),
    "its own interpreter": ("import subprocess, sys\nsubprocess.run([sys.executable, 'main.py'], check=True)\n", "bare", False),
    "with variables of its own": ("import os, subprocess\nsubprocess.run(['python3', 'main.py'], env={'PATH': '{home}/env/bin'})\n", "bare", False),
}  # fmt: skip


@pytest.mark.parametrize("case", CHILDREN)
def test_a_python_that_an_environments_program_starts_by_name(home: Path, case: str):
    text, leads, lacks = CHILDREN[case]
    unit = f"[Service]\nWorkingDirectory=%h/work\nEnvironment=PATH={home}/{leads}/bin\nExecStart={home}/env/bin/python run.py\n"
    write(home, {"work/run.py": text, ".config/systemd/user/x.service": unit})
    real = subprocess.run(
        [home / "env/bin/python", "run.py"], cwd=home / "work", env={"PATH": f"{home}/{leads}/bin"}, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert ("No module named 'frame'" in real.stderr) is lacks, real.stderr
    (way,) = service_ways(replace(here(home), pythons=pythons(home)))
    assert [(o.lacks, o.seems, o.source) for o in way.runs] == (
        [(("frame",), str(home / "env"), f"{home}/work/run.py:2")] if lacks else []
    )


@pytest.mark.parametrize(("name", "lacks"), [("bare", True), ("env", False), ("gone", False)])
def test_conda_run_in_a_usual_place(home: Path, name: str, lacks: bool):
    (home / "miniconda3/envs").mkdir(parents=True)
    if (home / name).exists():
        (home / "miniconda3/envs" / name).symlink_to(home / name)
    write(home, {"work/run.sh": f"#!/bin/bash\nconda run -n {name} python main.py\n"})
    given = replace(here(home), env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    assert [o.lacks for w in script_ways(replace(given, pythons=pythons(home))) for o in w.runs] == (
        [("frame",)] if lacks else []
    )


WANTED: dict[str, tuple[str, str, str, bool]] = {
    "set for terminals": ("os.environ['MODELS']", "", ".bashrc", True),
    "set nowhere": ("os.environ['MODELS']", "", "", False),
    "set by the job": ("os.environ['MODELS']", "MODELS=/srv\n", ".bashrc", False),
    "with another value for none": ("os.environ.get('MODELS', '/srv')", "", ".bashrc", False),
    "given to what does not take None": ("__import__('pathlib').Path(os.getenv('MODELS'))", "", ".bashrc", True),
    "a part of a path": ("os.path.join('/srv', os.environ.get('MODELS'))", "", ".bashrc", True),
    "joined to a text": ("os.getenv('MODELS') + '/small'", "", ".bashrc", True),
    "a number with another value for none": ("int(os.getenv('MODELS', '1'))", "", "", False),
    "shown": ("print(os.getenv('MODELS'))", "", ".bashrc", False),
    "asked for at last": ("1 if 'MODELS' not in os.environ else os.environ['MODELS']", "", ".bashrc", False),
    "in a function that nobody calls": ("lambda: os.environ['MODELS']", "", ".bashrc", False),
    "from a file": ("__import__('dotenv').load_dotenv() or os.environ['MODELS']", "", ".bashrc", False),
}


@pytest.mark.parametrize("case", WANTED)
@pytest.mark.parametrize("by", ["models = {code}", "def main(): return {code}\nmain()"])
def test_a_variable_that_only_terminals_have(home: Path, case: str, by: str):
    code, given, file, told = WANTED[case]
    text = f"import os\n{by.format(code=code)}\n"
    write(home, {"work/main.py": text, **({file: "export MODELS=/srv/models\n"} if file else {})})
    start = f"{home}/env/bin/python {home}/work/main.py"
    env = dict(w.split("=") for w in given.split())
    if "dotenv" not in code:
        real = subprocess.run(start.split(), env=env, capture_output=True, text=True, check=False)
        assert (real.returncode != 0) is (told or (not file and "'1'" not in code)), real.stderr
    its = replace(here(home), around=ground(home, {"/etc/cron.d/x": f"{given}5 * * * * ada {start}\n"}).around)
    found = [
        (o.fault, o.name, o.source, o.program) for w in cron_ways(replace(its, pythons=pythons(home))) for o in w.runs
    ]
    wanted = ("variable not set", "MODELS", f"{home}/work/main.py:2", f"{home}/.bashrc")
    assert found == ([wanted] if told else [])


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("{env}/bin/python main.py", True),
        ("LOCAL_RANK=0 {env}/bin/python main.py", False),
        ("{env}/bin/python {env}/bin/torchrun main.py", False),
        ("{env}/bin/python -m torch.distributed.run main.py", False),
    ],
)
def test_a_variable_that_torchrun_gives(home: Path, start: str, told: bool):
    scripts = json.dumps({"scripts": {"train": start.format(env=home / "env")}})
    write(home, {"work/main.py": "import os\nrank = os.environ['LOCAL_RANK']\n", "work/package.json": scripts})
    found = [
        (o.fault, o.name, o.program) for w in task_ways(replace(here(home), pythons=pythons(home))) for o in w.runs
    ]
    assert found == [("variable not set", "LOCAL_RANK", "torchrun")] * told


@pytest.mark.parametrize(("line", "lacks"), [("", True), ("ExecSearchPath={home}/env/bin\n", False)])
def test_a_bare_name_is_not_searched_in_the_path_of_a_unit(
    home: Path, line: str, lacks: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("core.probes.starting.services.systemd.MACHINES_PATH", f"{home}/bare/bin")
    unit = "[Service]\nWorkingDirectory=%h/work\nEnvironment=PATH={home}/env/bin\n{line}ExecStart=python3 main.py\n"
    write(home, {".config/systemd/user/x.service": unit.replace("{line}", line)})
    found = [o.lacks for w in service_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert found == ([("frame",)] if lacks else [])


@pytest.mark.parametrize("command", ["celery -A tasks worker", "flask --app tasks run", "gunicorn tasks:app"])
def test_what_imports_a_module_that_an_option_names(home: Path, command: str):
    name = command.split(maxsplit=1)[0]
    script = "#!{home}/bare/bin/python\nimport sys\n"
    write(home, {"work/tasks.py": "import frame\n", f"bare/bin/{name}": script, ".config/systemd/user/x.service": UNIT.replace("{start}", f"{{home}}/bare/bin/{command}")})  # fmt: skip
    (home / "bare/bin" / name).chmod(0o755)
    assert [o.lacks for w in service_ways(replace(here(home), pythons=pythons(home))) for o in w.runs] == [("frame",)]


@pytest.mark.parametrize(("line", "lost"), [("{python} main.py", True), ("cd {home}/work && {python} main.py", False), ("{python} {home}/work/main.py", False), ("{python} nothing.py", False)])  # fmt: skip
def test_a_job_of_cron_starts_in_the_home(home: Path, line: str, lost: bool):
    filled = line.replace("{python}", f"{home}/env/bin/python").replace("{home}", str(home))
    real = subprocess.run(["/bin/sh", "-c", filled], cwd=home, capture_output=True, text=True, check=False)
    assert ("can't open file" in real.stderr) is (lost or "nothing" in line)
    given = replace(here(home), around=ground(home, {"/etc/cron.d/x": f"5 * * * * ada {filled}\n"}).around)
    found = [(o.fault, o.name, o.program) for w in cron_ways(replace(given, pythons=pythons(home))) for o in w.runs]
    assert found == ([("program not there", "main.py", str(home / "work"))] if lost else [])


@pytest.mark.parametrize(("rows", "lost"), [("\tcd src\n\t{home}/env/bin/python run.py\n", True), ("\tcd src && {home}/env/bin/python run.py\n", False), ("\tcd src; \\\n\t{home}/env/bin/python run.py\n", False)])  # fmt: skip
def test_a_recipe_that_goes_to_a_folder_in_a_line_of_its_own(home: Path, rows: str, lost: bool):
    write(home, {"work/src/run.py": "print(1)\n", "work/Makefile": f"train:\n{rows}"})
    real = subprocess.run(["make", "train"], cwd=home / "work", capture_output=True, text=True, check=False)
    assert ("can't open file" in real.stderr) is lost
    found = [
        (o.fault, o.name, o.program) for w in task_ways(replace(here(home), pythons=pythons(home))) for o in w.runs
    ]
    assert found == ([("program not there", "run.py", str(home / "work/src"))] if lost else [])


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("uvx pytest test_main.py", True),
        ("uvx pytest", True),
        ("uv tool run --python 3.12 pytest -q test_main.py", True),
        ("pipx run pytest test_main.py", True),
        ("uvx --with torch pytest test_main.py", False),
        ("uvx --with-requirements a.txt pytest test_main.py", False),
        ("uvx ruff check test_main.py", False),
        ("uvx pytest test_other.py", False),
    ],
)
def test_a_tool_in_an_environment_of_its_own(home: Path, command: str, lacks: bool):
    site = home / "env/lib" / VERSION / "site-packages"
    (site / "torch").mkdir()
    (site / "torch/__init__.py").write_text("")
    env, bare = pythons(home)
    env = replace(
        env, distributions=(*env.distributions, Distribution(name="torch", version="2.8.0", location=str(site)))
    )
    write(
        home,
        {
            "work/test_main.py": "import torch\n",
            "work/test_other.py": "import json\n",
            "work/Makefile": f"test:\n\t{command}\n",
        },
    )
    found = [(o.fault, o.command, o.lacks) for w in task_ways(replace(here(home), pythons=(env, bare))) for o in w.runs]
    assert found == ([("own packages", "pytest", ("torch",))] if lacks else [])


@pytest.mark.parametrize(
    ("code", "path", "lacks"),
    [
        ("load_inline(name='x', cpp_sources='')", "", True),
        ("load_inline(name='x', cpp_sources='')", "Environment=PATH={home}/env/bin:/bin\n", False),
        ("torch.ones(1)", "", False),
        ("import subprocess\nsubprocess.run(['ninja', '--version'], check=True)", "", True),
        ("import subprocess\nsubprocess.run(['ninja'], check=True)", "Environment=PATH={home}/env/bin:/bin\n", False),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'ninja'], check=True)", "", False),
        ("import subprocess\nsubprocess.run(['ninja'], env={'PATH': '/x'})", "", False),
        ("import subprocess\ntry:\n    subprocess.run(['ninja'])\nexcept OSError:\n    pass", "", False),
        ("import subprocess\nsubprocess.run(['ninja-2'])", "", False),
    ],
)
def test_a_tool_beside_the_python_of_a_service(
    home: Path, code: str, path: str, lacks: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "core.probes.starting.services.systemd.with_systemd", lambda _ground, state: State({"PATH": "/none"}, {"PATH"})
    )
    env, bare = pythons(home)
    env = replace(env, distributions=(*env.distributions, Distribution(name="torch", version="2.8.0", location="")))
    unit = UNIT.replace("{start}", "{home}/env/bin/python main.py").replace("[Service]\n", f"[Service]\n{path}")
    write(home, {"work/main.py": f"import torch\nfrom torch.utils.cpp_extension import load_inline\n{code}\n", "env/bin/ninja": "#!/bin/sh\n", ".config/systemd/user/x.service": unit})  # fmt: skip
    site = home / "env/lib" / VERSION / "site-packages/torch"
    site.mkdir()
    (site / "__init__.py").write_text("")
    found = [
        (o.fault, o.name, o.source) for w in service_ways(replace(here(home), pythons=(env, bare))) for o in w.runs
    ]
    assert found == ([("tool not in PATH", "ninja", str(home / "env/bin"))] if lacks else [])


HANDED_IN: dict[str, tuple[str, str]] = {
    "by sh, which has no source": ("sbatch --gres=gpu:1 --wrap 'source {home}/env/bin/activate && python3 main.py'", "no source"),
    "another Python": ("sbatch --wrap={home}/bare/bin/python\\ main.py", "imports"),
    "the environment's own": ("sbatch --wrap '. {home}/env/bin/activate && python3 main.py'", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", HANDED_IN)
def test_what_sbatch_wraps_is_read_by_sh(home: Path, case: str):
    command, fault = HANDED_IN[case]
    script = 'VIRTUAL_ENV={home}/env\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH VIRTUAL_ENV\n'
    write(home, {"env/bin/activate": script, "work/run.sh": f"#!/bin/bash\n{command}\n"})
    told = [o.fault or o.why for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert told == ([fault] if fault else [])


@pytest.mark.parametrize(("folder", "name", "lacks"), [(".git/hooks", "pre-push", True), (".git/hooks", "pre-push.sample", False), (".githooks", "pre-commit", True)])  # fmt: skip
def test_programs_that_git_runs(home: Path, folder: str, name: str, lacks: bool):
    write(home, {f"work/{folder}/{name}": "#!/bin/sh\nexec {home}/bare/bin/python main.py\n"})
    found = [(w.at, o.lacks) for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert found == ([(f"{home}/work/{folder}/{name}", ("frame",))] if lacks else [])


STEP = "jobs:\n  a:\n    runs-on: {runner}\n    steps:\n      - run: source {home}/env/bin/activate{joined}python3 main.py\n{more}"
WORKFLOWS: dict[str, tuple[dict[str, str], str]] = {
    "in another step": ({"joined": "\n      - run: "}, "imports"),
    "in the same step": ({"joined": " && "}, ""),
    "by sh": ({"joined": " && ", "more": "        shell: sh\n"}, "no source"),
    "by sh, which goes on": ({"joined": "; ", "more": "        shell: sh\n"}, "imports"),
    "on a machine of GitHub's": ({"joined": "\n      - run: ", "runner": "ubuntu-latest"}, ""),
    "behind another Python": ({"joined": "\n      - run: ", "more": "      - uses: actions/setup-python@v5\n"}, ""),
    "behind a changed PATH": ({"joined": "\n      - run: echo {home}/env/bin >> $GITHUB_PATH\n      - run: "}, ""),
}


@pytest.mark.parametrize("case", WORKFLOWS)
def test_an_activation_in_a_workflow_ends_with_its_step(home: Path, case: str):
    parts, fault = WORKFLOWS[case]
    text = STEP
    for key, value in {"runner": "[self-hosted, gpu]", "more": "", **parts}.items():
        text = text.replace(f"{{{key}}}", value)
    script = 'VIRTUAL_ENV={home}/env\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH VIRTUAL_ENV\n'
    write(home, {"env/bin/activate": script, "work/.github/workflows/x.yml": text})
    told = [
        (o.fault or o.why, o.seems) for w in described_ways(replace(here(home), pythons=pythons(home))) for o in w.runs
    ]
    assert told == ([(fault, str(home / "env"))] if fault else [])


AZURE = "pool:\n  {pool}\n\nsteps:\n- script: source .venv/bin/activate{joined}python3 main.py\n  displayName: Train\n"
STAGES = "stages:\n- stage: Train\n  pool: gpu\n  jobs:\n  - job: One\n    steps:\n    - bash: . .venv/bin/activate\n    - bash: python3 main.py\n"
GITLAB = "{more}setup:\n  tags: [gpu]\n  script:\n    - source .venv/bin/activate{joined}    - python3 main.py\n"
ANOTHER_JOB = "\ntrain:\n  tags: [gpu]\n  script:\n"
CIRCLE = "jobs:\n  train:\n    {runs}\n    steps:\n      - run: source .venv/bin/activate\n      - run:\n          name: Train\n          command: {python} main.py\n"
JENKINS = "pipeline {\n  agent { label 'gpu' }\n  stages { stage('Train') { steps {\n    {steps}\n  } } }\n}\n"
STEPS: dict[str, tuple[str, str, bool]] = {
    "GitHub's": (".github/workflows/x.yml", STEP.replace("{home}/env", ".venv").replace("{runner}", "self-hosted").replace("{joined}", "\n      - run: ").replace("{more}", ""), True),
    "GitHub's, on a machine of theirs": (".github/workflows/x.yml", STEP.replace("{home}/env", ".venv").replace("{runner}", "ubuntu-22.04").replace("{joined}", "\n      - run: ").replace("{more}", ""), False),
    "GitLab's, in one job": (".gitlab-ci.yml", GITLAB.replace("{more}", "").replace("{joined}", "\n"), False),
    "Azure's": ("azure-pipelines.yml", AZURE.replace("{pool}", "name: gpu").replace("{joined}", "\n- script: "), True),
    "Azure's, in one step": ("azure-pipelines.yml", AZURE.replace("{pool}", "name: gpu").replace("{joined}", " && "), False),
    "Azure's, on a machine of theirs": ("azure-pipelines.yml", AZURE.replace("{pool}", "vmImage: ubuntu-latest").replace("{joined}", "\n- script: "), False),
    "Azure's, by stages": ("azure-pipelines.yml", STAGES, True),
    "CircleCI's": (".circleci/config.yml", CIRCLE.replace("{runs}", "machine: true\n    resource_class: ada/gpu").replace("{python}", "python3"), True),
    "CircleCI's, by its path": (".circleci/config.yml", CIRCLE.replace("{runs}", "machine: true\n    resource_class: ada/gpu").replace("{python}", ".venv/bin/python3"), False),
    "Jenkins's": ("Jenkinsfile", JENKINS.replace("{steps}", "sh '. .venv/bin/activate'\n    sh 'python3 main.py'"), True),
    "Jenkins's, by the workspace": ("Jenkinsfile", JENKINS.replace("{steps}", "sh '. ${WORKSPACE}/.venv/bin/activate'\n    sh 'python3 main.py'"), True),
    "Jenkins's, in one step": ("Jenkinsfile", JENKINS.replace("{steps}", "sh '. .venv/bin/activate && python3 main.py'"), False),
    "Jenkins's, in front of PATH": ("Jenkinsfile", JENKINS.replace("{steps}", "sh '. .venv/bin/activate'\n    withEnv(['PATH+VENV=.venv/bin']) { sh '.venv/bin/python3 main.py' }"), False),
    "CircleCI's, on a machine of theirs": (".circleci/config.yml", CIRCLE.replace("{runs}", "machine:\n      image: ubuntu-2204:current").replace("{python}", "python3"), False),
}  # fmt: skip
"""File, text, and whether a step of a machine of one's own starts another Python."""


@pytest.mark.parametrize("case", STEPS)
def test_steps_that_activate_an_environment_of_the_projects_folder(home: Path, case: str):
    name, text, lost = STEPS[case]
    script = 'VIRTUAL_ENV={home}/env\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH VIRTUAL_ENV\n'
    (home / "work/.venv").symlink_to(home / "env")
    write(home, {"env/bin/activate": script, f"work/{name}": text})
    steps = re.findall(r"(?:run|script|bash|command): (.*)|\bsh '([^']*)'", text)
    codes = [
        subprocess.run(["bash", "-e", "-c", step or by_sh], check=False, cwd=home / "work", env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "", "WORKSPACE": str(home / "work")}, capture_output=True).returncode
        for step, by_sh in steps
    ]  # fmt: skip
    assert any(codes) is (lost or "a machine of theirs" in case), "real shells, one a step"
    its = replace(here(home), pythons=pythons(home))
    told = [(o.why, o.seems) for w in (*described_ways(its), *task_ways(its)) for o in w.runs]
    assert told == ([("imports", str(home / "env"))] if lost else [])


GITLABS: dict[str, tuple[str, bool]] = {
    "another job": (GITLAB.replace("{more}", "").replace("{joined}", ANOTHER_JOB), True),
    "another job in an image": (GITLAB.replace("{more}", "image: python:3.11\n").replace("{joined}", ANOTHER_JOB), False),
    "another job of a shared runner": (GITLAB.replace("{more}", "").replace("{joined}", ANOTHER_JOB.replace("  tags: [gpu]\n", "")), False),
    "before all jobs": (GITLAB.replace("{more}", "before_script:\n  - . .venv/bin/activate\n\n").replace("{joined}", ANOTHER_JOB), False),
}  # fmt: skip


@pytest.mark.parametrize("case", GITLABS)
def test_an_activation_in_a_job_of_gitlab_ends_with_the_job(home: Path, case: str):
    text, lost = GITLABS[case]
    (home / "work/.venv").symlink_to(home / "env")
    write(home, {"env/bin/activate": ACTIVATE, "work/.gitlab-ci.yml": text})
    its = replace(here(home), pythons=pythons(home))
    assert [(o.why, o.seems) for w in described_ways(its) for o in w.runs] == ([("imports", str(home / "env"))] if lost else [])  # fmt: skip


def test_services_and_cron_jobs(home: Path):
    start = f"{home}/bare/bin/python {home}/work/main.py"
    write(home, {".config/systemd/user/x.service": UNIT.replace("{start}", start)})
    (way,) = [w for w in service_ways(replace(here(home), pythons=pythons(home))) if w.runs]
    assert (way.at, way.runs[0].program) == (f"{home}/.config/systemd/user/x.service", f"{home}/work/main.py")
    given = replace(
        here(home), around=ground(home, {"/etc/cron.d/x": f"5 * * * * ada cd {home}/work && {start}\n"}).around
    )
    assert [w.runs[0].lacks for w in cron_ways(replace(given, pythons=pythons(home))) if w.runs] == [("frame",)]


TABLE = "# every night\nPATH={home}/bare/bin:/usr/bin:/bin\n15 2 * * 1-5 {job}\n@daily true\n"
TABLES: dict[str, tuple[str, str, bool]] = {
    "a name": ("work/crontab", "cd {home}/work && python3 main.py", True),
    "under another name": ("work/nightly.cron", "cd {home}/work && python3 main.py", True),
    "the environment's own path": ("work/crontab", "cd {home}/work && {home}/env/bin/python3 main.py", False),
    "an activation": ("work/crontab", "cd {home}/work && PATH={home}/env/bin:$PATH python3 main.py", False),
    "no such program at home, where cron starts": ("work/crontab", "python3 main.py", False),
    "another machine's folder": ("work/crontab", "cd /app && python3 main.py", False),
    "no table": ("work/crontab", "cd {home}/work && python3 main.py\nif this then that", False),
}


@pytest.mark.parametrize(("name", "job", "lacks"), TABLES.values(), ids=TABLES)
def test_a_table_of_jobs_in_the_working_folder(name: str, job: str, lacks: bool, home: Path):
    write(home, {name: TABLE.replace("{job}", job)})
    given = here(home, PATH=f"{home}/env/bin:/usr/bin:/bin", VIRTUAL_ENV=f"{home}/env")
    runs = [one for way in cron_ways(replace(given, pythons=pythons(home))) for one in way.runs]
    found = [one.lacks for one in runs if one.fault != "program not there"]
    assert found == ([("frame",)] if lacks else [])
    assert [one.fault for one in runs if one.fault] == ["program not there"] * (job == "python3 main.py")
    if "\n" not in job:  # as cron starts it, by a shell with few variables
        few = {"PATH": f"{home}/bare/bin:/usr/bin:/bin", "HOME": str(home)}
        command = ["/bin/sh", "-c", job.replace("{home}", str(home))]
        real = subprocess.run(command, cwd=home, env=few, capture_output=True, text=True, timeout=60, check=False)
        assert ("No module named 'frame'" in real.stderr) is lacks


MANAGED: dict[str, tuple[str, str]] = {
    "uv is not there": ("PATH=/nowhere uv run main.py", "uv"),
    "Poetry is not there, and its environment neither": ("PATH=/nowhere poetry run python main.py", "poetry"),
    "by its own path": ("{home}/.local/bin/uv run main.py", ""),
    "in a folder of PATH": ("PATH={home}/.local/bin uv run main.py", ""),
}


@pytest.mark.parametrize("case", MANAGED)
def test_a_manager_that_the_path_of_a_job_lacks(case: str, home: Path):
    start, name = MANAGED[case]
    (home / "env").rename(home / "work/.venv")
    write(
        home,
        {
            "work/crontab": f"15 2 * * * cd {{home}}/work && {start}\n",
            "work/pyproject.toml": "[project]\nname = 'x'\n",
            ".local/bin/uv": "#!/bin/sh\n",
        },
    )
    (home / ".local/bin/uv").chmod(0o755)
    env, bare = pythons(home)
    site = str(home / "work/.venv/lib" / VERSION / "site-packages")
    env = replace(env, prefix=str(home / "work/.venv"), site_packages=(site,))
    runs = [one for way in cron_ways(replace(here(home), pythons=(env, bare))) for one in way.runs]
    assert [(one.name, one.path, one.lacks) for one in runs] == ([(name, "", ("frame",))] if name else [])


BARE_START = "{home}/bare/bin/python main.py"
KEPT: dict[str, tuple[dict[str, str], bool]] = {
    "a unit": ({"work/deploy/x.service": UNIT.replace("{start}", BARE_START)}, True),
    "a unit of another machine": ({"work/deploy/x.service": "[Service]\nExecStart=/usr/bin/python3 /app/main.py\n"}, False),
    "a unit that is installed": (
        {"work/deploy/x.service": UNIT.replace("{start}", BARE_START), ".config/systemd/user/x.service": UNIT.replace("{start}", "{home}/env/bin/python main.py")},
        False,
    ),
    "a program of Supervisor": ({"work/deploy/x.conf": f"[program:x]\ncommand={BARE_START}\ndirectory={{home}}/work\n"}, True),
    "settings of something else": ({"work/deploy/x.conf": f"[other]\ncommand={BARE_START}\n"}, True),
    "a launcher": ({"work/x.desktop": f"[Desktop Entry]\nType=Application\nPath={{home}}/work\nExec={BARE_START}\n"}, True),
    "a command of a data file": ({"work/jobs.yaml": f"nightly:\n  command: {BARE_START}\n"}, True),
    "one of a container": ({"work/jobs.yaml": f"nightly:\n  image: x\n  command: {BARE_START}\n"}, False),
    "one by its name": ({"work/jobs.yaml": "nightly:\n  command: python3 main.py\n"}, False),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
def test_what_a_project_keeps_for_its_place_in_the_system(case: str, home: Path):
    files, lacks = KEPT[case]
    write(home, files)
    given = replace(here(home), pythons=pythons(home))
    ways = (
        *service_ways(given),
        *supervised_ways(given),
        *launcher_ways(given, given.session()),
        *described_ways(given),
    )
    assert [one.lacks for way in ways for one in way.runs] == ([("frame",)] if lacks else [])


ACTIVATE = (
    'VIRTUAL_ENV={home}/env\nexport VIRTUAL_ENV\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH\n# source bin/activate\n'
)
ENVIRONMENT = "{home}/env/bin/activate"
SETUP = f"#!/bin/bash\nexport A=b\n. {ENVIRONMENT}\necho ready\n"
WITHOUT_EFFECT: dict[str, tuple[dict[str, str], list[str]]] = {
    "a line of a recipe": ({"work/Makefile": f"train:\n\t. {ENVIRONMENT}\n\tpython3 main.py\n"}, ["make", "-s", "train"]),
    "one line of a recipe": ({"work/Makefile": f"train:\n\t. {ENVIRONMENT} && python3 main.py\n"}, ["make", "-s", "train"]),
    "a recipe of one shell": ({"work/Makefile": f".ONESHELL:\ntrain:\n\t. {ENVIRONMENT}\n\tpython3 main.py\n"}, ["make", "-s", "train"]),
    "source, by sh": ({"work/run.sh": f"#!/bin/sh\nsource {ENVIRONMENT}\npython3 main.py\n"}, ["./run.sh"]),
    "source, by bash": ({"work/run.sh": f"#!/bin/bash\nsource {ENVIRONMENT}\npython3 main.py\n"}, ["./run.sh"]),
    "a dot, by sh": ({"work/run.sh": f"#!/bin/sh\n. {ENVIRONMENT}\npython3 main.py\n"}, ["./run.sh"]),
    "a script that is run": ({"work/run.sh": "#!/bin/bash\nbash setup.sh\npython3 main.py\n", "work/setup.sh": SETUP}, ["./run.sh"]),
    "a script that is run, before": ({"work/Makefile": "train:\n\tsh ./setup.sh\n\tpython3 main.py\n", "work/setup.sh": SETUP}, ["make", "-s", "train"]),
    "a script that is sourced": ({"work/run.sh": "#!/bin/bash\nsource ./setup.sh\npython3 main.py\n", "work/setup.sh": SETUP}, ["./run.sh"]),
    "conda activate": (
        {"work/run.sh": "#!/bin/bash\nconda activate train\npython3 main.py\n", "miniconda3/envs/train/conda-meta/history": ""},
        ["./run.sh"],
    ),
    "a program that runs another": (
        {"work/run.sh": "#!/bin/bash\n{home}/work/streamlit run main.py\n", "work/streamlit": "#!{home}/bare/bin/python\nimport runpy, sys\nrunpy.run_path(sys.argv[2])\n"},
        ["./run.sh"],
    ),
    "a program that looks at another": (
        {"work/run.sh": "#!/bin/bash\n{home}/work/black main.py\n", "work/black": "#!{home}/bare/bin/python\nprint('looked at')\n"},
        ["./run.sh"],
    ),
}  # fmt: skip


def test_an_activation_before_a_service_starts_ends_with_its_shell(home: Path):
    unit = "[Service]\nWorkingDirectory={home}/work\nExecStartPre=/bin/bash -c '. {home}/env/bin/activate'\nExecStart={home}/bare/bin/python main.py\n"
    write(home, {".config/systemd/user/x.service": unit, "env/bin/activate": ACTIVATE})
    (one,) = (one for way in service_ways(replace(here(home), pythons=pythons(home))) for one in way.runs)
    assert (one.seems, one.lacks) == (str(home / "env"), ("frame",))


UNITS: dict[str, tuple[str, str, bool]] = {
    "itself": ("{home}/bare/bin/python {home}/work/main.py", "", True),
    "by another name of it": ("{home}/bare/bin/python3 {home}/work/main.py", "", True),
    "by a shell": ("/bin/sh {home}/work/run.sh", "{home}/bare/bin/python main.py\n", False),
    "by a script": ("{home}/work/run.sh", "#!/bin/sh\n{home}/bare/bin/python main.py\n", False),
    "by its first line": ("{home}/work/run.sh", "#!{home}/bare/bin/python\nimport frame\n", False),
}


@pytest.mark.parametrize("name", UNITS)
def test_the_line_of_a_unit_that_names_the_python(name: str, home: Path):
    command, script, named = UNITS[name]
    unit = f"[Service]\nWorkingDirectory={home}/work\nExecStart={command}\n"
    write(home, {".config/systemd/user/x.service": unit, "work/run.sh": script or "exit\n"})
    (home / "work/run.sh").chmod(0o755)
    (one,) = (one for way in service_ways(replace(here(home), pythons=pythons(home))) for one in way.runs)
    assert [(row.line, row.value) for row in one.named_by] == (
        [(3, command.replace("{home}", str(home)).split()[0])] if named else []
    )


@pytest.mark.parametrize(("files", "command"), WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_an_activation_without_effect(files: dict[str, str], command: list[str], home: Path):
    write(home, {"env/bin/activate": ACTIVATE, **files})
    for name in ("run.sh", "streamlit", "black"):
        if (home / "work" / name).exists():
            (home / "work" / name).chmod(0o755)
    given = here(home)
    real = subprocess.run(
        command, cwd=home / "work", env=given.env, capture_output=True, text=True, timeout=60, check=False
    )
    ways = (*task_ways(replace(given, pythons=pythons(home))), *script_ways(replace(given, pythons=pythons(home))))
    found = [(o.lacks, o.sure) for w in ways for o in w.runs]
    assert found == ([(("frame",), True)] if "No module named 'frame'" in real.stderr else [])


ACTIVATES = "source {home}/env/bin/activate"
SCRIPTS: dict[str, tuple[str, bool | None]] = {
    "in a subshell": (f"({ACTIVATES})\npython3 main.py", True),
    "with the start in the same subshell": (f"({ACTIVATES}; python3 main.py)", None),
    "in a pipe": (f"{ACTIVATES} | tee log\npython3 main.py", True),
    "beside the script": (f"{ACTIVATES} &\nwait\npython3 main.py", True),
    "in a command's output": (f"x=$({ACTIVATES})\npython3 main.py", True),
    "in a shell of its own": (f"bash -c '{ACTIVATES}'\npython3 main.py", True),
    "in a shell that a wrapper starts": (f"timeout 9 bash -c '{ACTIVATES}'\npython3 main.py", True),
    "before a log-in shell, whose files may have functions": (
        f"{ACTIVATES}\nbash -lc 'PATH={{home}}/bare/bin:/usr/bin; python3 main.py'",
        True,
    ),
    "in what another shell reads": (f"bash <<'END'\n{ACTIVATES}\nEND\npython3 main.py", True),
    "with the start in what another shell reads": (f"bash <<END\n{ACTIVATES}\npython3 main.py\nEND", None),
    "in a function that nobody calls": (f"f() {{\n{ACTIVATES}\n}}\npython3 main.py", True),
    "in a function that is called": (f"f() {{\n{ACTIVATES}\n}}\nf\npython3 main.py", None),
    "of a folder that is not there": ("if [ -d venv ]; then\n. venv/bin/activate\nfi\npython3 main.py", False),
    "behind the start": (f"python3 main.py\n{ACTIVATES}", True),
    "run as a program": ("{home}/env/bin/activate || true\npython3 main.py", True),
    "taken back": (f"{ACTIVATES}\ndeactivate\npython3 main.py", True),
    "by an alias, which scripts do not read": ("alias python3={home}/env/bin/python\npython3 main.py", True),
    "for a shell that a manager opens": ("poetry shell\npython3 main.py", False),
    "by the name of its folder alone": ("export VIRTUAL_ENV={home}/env\npython3 main.py", True),
    "that the next start asks for": ("if [ ! -d env ]; then\necho '. env/bin/activate'\nfi\npython3 main.py", False),
    "without any variable": ("env -i python3 main.py", True),
    "that is for people to do": (f"# {ACTIVATES}\necho '{ACTIVATES}'\npython3 main.py", False),
    "that a help text names": (f"cat <<END\n{ACTIVATES}\nEND\npython3 main.py", False),
    "for one of the arguments": (f'if [ "$1" = all ]; then\n{ACTIVATES}\nfi\npython3 main.py', False),
    "of somebody else's machine": ("source /home/else/env/bin/activate\npython3 main.py", False),
    "in a file that only shows as it runs": (". $(ls -d env*)/bin/activate\npython3 main.py", None),
}
"""Whether the start of another Python is told, and as something that no activation before changes."""


@pytest.mark.parametrize("case", SCRIPTS)
def test_an_activation_that_ends_before_the_start(case: str, home: Path):
    body, sure = SCRIPTS[case]
    deactivates = 'deactivate() { PATH="$OLD_PATH"; }\n'
    write(
        home,
        {"env/bin/activate": f'OLD_PATH="$PATH"\n{deactivates}{ACTIVATE}', "work/run.sh": f"#!/bin/bash\n{body}\n"},
    )
    given = here(home)
    real = subprocess.run(
        ["bash", "run.sh"], cwd=home / "work", env=given.env, capture_output=True, text=True, timeout=60, check=False
    )
    found = [o.sure for w in script_ways(replace(given, pythons=pythons(home))) for o in w.runs]
    assert found == ([] if sure is None else [sure])
    assert ("No module named 'frame'" in real.stderr) == (sure is not None) or "ls -d" in body or "env -i" in body


def test_an_installer_that_a_script_runs_activates_for_itself(home: Path):
    write(
        home,
        {
            "work/run.sh": "#!/bin/bash\nbash setup.sh\npython3 main.py\n",
            "work/setup.sh": f"{SETUP}pip install frame\n",
        },
    )
    found = [one for way in script_ways(replace(here(home), pythons=pythons(home))) for one in way.runs]
    assert [(one.sure, one.dead) for one in found] == [(False, "")], "somebody may activate it before"


def test_a_conda_that_the_script_was_given_may_lead_anywhere(home: Path):
    for line in ('eval "$(conda shell.bash hook)"', ". /opt/conda/etc/profile.d/conda.sh", "source ~/.bashrc"):
        write(home, {"work/run.sh": f"#!/bin/bash\n{line}\nconda activate ml\npython3 main.py\n"})
        assert not [o for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]


def test_a_python_that_is_gone(home: Path):
    start = f"{home}/old/bin/python {home}/work/main.py"
    write(home, {".config/systemd/user/x.service": UNIT.replace("{start}", start), "work/Makefile": f"x:\n\t{start}\n"})
    (one,) = [o for w in service_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert (one.name, one.path, one.lacks) == (f"{home}/old/bin/python", "", ("frame",))
    assert not [
        w for w in task_ways(replace(here(home), pythons=pythons(home))) if w.runs
    ]  # of another machine, perhaps
    (home / "work/main.py").write_text("import json\n")
    assert not [w for w in service_ways(replace(here(home), pythons=pythons(home))) if w.runs]


NAMED: dict[str, tuple[dict[str, str], dict[str, str], bool | None]] = {
    "another recipe makes its environment": (
        {"Makefile": "install:\n\tpython3 -m venv .venv\n\t. .venv/bin/activate && pip install -r r.txt\n\ntrain:\n\tpython3 main.py\n"},
        {},
        False,
    ),
    "by its name": ({"Makefile": "train:\n\tpython3 main.py\n"}, {}, False),
    "by its path": ({"Makefile": "train:\n\t{home}/bare/bin/python3 main.py\n"}, {}, True),
    "beside an active environment": (
        {"Makefile": "train:\n\tpython3 main.py\n"},
        {"VIRTUAL_ENV": "{home}/bare"},
        True,
    ),
    "a server's script": ({"package.json": '{"scripts": {"x": "python3 main.py"}}'}, {}, True),
    "a folder that sets its own": (
        {"package.json": '{"scripts": {"x": "python3 main.py"}}', ".envrc": "layout python\n"},
        {},
        False,
    ),
    "an activation that a shell of its own does not know": (
        {"Makefile": "train:\n\tbash -c 'conda activate ml; python3 main.py'\n", "../miniconda3/envs/ml/conda-meta/history": ""},
        {},
        True,
    ),
    "an activation of another machine's, which somebody else's replaces": (
        {"Makefile": "train:\n\tbash -c 'conda activate ml; python3 main.py'\n"},
        {},
        False,
    ),
    "an activation in a line of just's": ({"justfile": "train:\n    . {home}/env/bin/activate\n    python3 main.py\n"}, {}, True),
    "a recipe of just in one shell": (
        {"justfile": "train:\n    #!/bin/bash\n    . {home}/env/bin/activate\n    python3 main.py\n"},
        {},
        None,
    ),
    "an activation in a command of Task's": (
        {"Taskfile.yml": "tasks:\n  train:\n    cmds:\n      - . {home}/env/bin/activate\n      - python3 main.py\n"},
        {},
        True,
    ),
    "an activation in a run of invoke's": (
        {"tasks.py": "from invoke import task\n\n@task\ndef train(c):\n    c.run('. {home}/env/bin/activate')\n    c.run('python3 main.py')\n"},
        {},
        True,
    ),
    "an activation in a call": (
        {"run.py": "import os\nos.system('. {home}/env/bin/activate')\nos.system('python3 main.py')\n"},
        {},
        True,
    ),
    "an activation in the same call": (
        {"run.py": "import os\nos.system('. {home}/env/bin/activate && python3 main.py')\n"},
        {},
        None,
    ),
    "an activation that reading does not follow": (
        {"Makefile": "train:\n\tbash -lc 'conda activate ml; python3 main.py'\n"},
        {},
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "env", "sure"), NAMED.values(), ids=NAMED)
def test_a_name_leads_elsewhere_once_an_environment_is_active(
    files: dict[str, str], env: dict[str, str], sure: bool | None, home: Path
):
    write(home, {"env/bin/activate": ACTIVATE, **{f"work/{n}": t for n, t in files.items()}})
    given = here(home, **{n: v.replace("{home}", str(home)) for n, v in env.items()})
    found = [one.sure for way in task_ways(replace(given, pythons=pythons(home))) for one in way.runs]
    assert found == ([] if sure is None else [sure])


def test_a_script_that_is_started_by_hand_waits_for_its_activation(home: Path):
    write(home, {"work/train.sh": "#!/bin/bash\npython main.py\n"})
    assert [o.sure for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs] == [False]


STARTS = "#!/bin/bash\n. {home}/env/bin/activate\n{line}\nexec python main.py\n"
SHIMS_FIRST = 'export PATH="$HOME/.pyenv/shims:$PATH"'
SHIMS: dict[str, tuple[str, dict[str, str], bool]] = {
    "first": (SHIMS_FIRST, {}, True),
    "last": ('export PATH="$PATH:$HOME/.pyenv/shims"', {}, False),
    "of an environment that has it": (SHIMS_FIRST, {".pyenv/shims/python": '#!/bin/sh\nexec {home}/env/bin/python "$@"\n'}, False),
    "first, and then the environment": (SHIMS_FIRST + '\nexport PATH="$VIRTUAL_ENV/bin:$PATH"', {}, False),
    "another folder": ("export PATH={home}/bare/bin:$PATH", {}, True),
}  # fmt: skip


@pytest.mark.parametrize(("line", "files", "lacks"), SHIMS.values(), ids=SHIMS)
def test_shims_before_an_activated_environment(line: str, files: dict[str, str], lacks: bool, home: Path):
    shim = {".pyenv/shims/python": '#!/usr/bin/env bash\nset -e\nexec {home}/bare/bin/python3 "$@"\n'}
    write(home, {"env/bin/activate": ACTIVATE, "work/run.sh": STARTS.replace("{line}", line), **shim, **files})
    for program in (".pyenv/shims/python", "work/run.sh"):
        (home / program).chmod(0o755)
    given = here(home)
    real = subprocess.run(
        ["./run.sh"], cwd=home / "work", env=given.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ("No module named 'frame'" in real.stderr) is lacks
    found = [(o.lacks, o.sure) for w in script_ways(replace(given, pythons=pythons(home))) for o in w.runs]
    assert found == ([(("frame",), True)] if lacks else [])


@pytest.mark.parametrize(("version", "lacks"), [("has", False), ("bare", True), ("gone", False)])
def test_the_version_that_pyenv_takes_for_a_folder(version: str, lacks: bool, home: Path):
    (home / ".pyenv/versions").mkdir(parents=True)
    (home / "env").rename(home / ".pyenv/versions/has")
    (home / "bare").rename(home / ".pyenv/versions/bare")
    (home / "env").symlink_to(".pyenv/versions/has")
    files = {".pyenv/version": "bare\n", "work/.python-version": f"{version}\n", ".pyenv/shims/python": "#!/bin/sh\n"}
    write(home, {**files, "work/run.sh": f"#!/bin/sh\n{SHIMS_FIRST}\npython main.py\n"})
    found = [o.lacks for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert found == ([("frame",)] if lacks else [])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-u", "x.py", "-m"), ("", "file", "x.py")),
        (("-Bm", "x.y"), ("", "module", "x.y")),
        (("-mx",), ("", "module", "x")),
        (("-W", "ignore", "-c", "1"), ("", "code", "1")),
        (("-IWignore", "x.py"), ("I", "file", "x.py")),
        (("-S", "x.py"), ("S", "", "")),
        (("-",), ("", "file", "")),
        (("-sE", "-W", "PI", "x.py"), ("sE", "file", "x.py")),
        ((), ("", "file", "")),
    ],
)
def test_the_options_of_python(words: tuple[str, ...], told: tuple[str, str, str]):
    assert options_of_python(words) == told


FIRST_LINES: dict[str, tuple[str, dict[str, str], str, bool]] = {
    "a Python without it": ("run.py", {"work/run.py": "#!{home}/bare/bin/python\nimport frame\n"}, "", True),
    "in a folder of programs": ("bin/run", {"work/bin/run": "#!{home}/bare/bin/python -u\nimport frame\n"}, "", True),
    "a Python with it": ("run.py", {"work/run.py": "#!{home}/env/bin/python\nimport frame\n"}, "", False),
    "nothing of it": ("run.py", {"work/run.py": "#!{home}/bare/bin/python\nimport json\n"}, "", False),
    "by env, in an active environment": ("run.py", {"work/run.py": "#!/usr/bin/env python\nimport frame\n"}, "env", False),
}  # fmt: skip


@pytest.mark.parametrize(("program", "files", "active", "lacks"), FIRST_LINES.values(), ids=FIRST_LINES)
def test_the_first_line_of_a_program(program: str, files: dict[str, str], active: str, lacks: bool, home: Path):
    write(home, files)
    path = home / "work" / program
    env = {"VIRTUAL_ENV": f"{home}/{active}", "PATH": f"{home}/{active}/bin:/usr/bin:/bin"} if active else {}
    given = here(home, **env)
    assert not list(first_line_ways(replace(given, pythons=pythons(home))))  # nobody may execute it
    path.chmod(0o755)
    real = subprocess.run(
        [path], cwd=home / "work", env=given.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert ("No module named 'frame'" in real.stderr) is lacks
    found = [(w.at, o.lacks, o.seems) for w in first_line_ways(replace(given, pythons=pythons(home))) for o in w.runs]
    assert found == ([(str(path), ("frame",), str(home / "env"))] if lacks else [])


def test_a_name_in_the_first_line_waits_for_its_activation(home: Path):
    write(home, {"work/run.py": "#!/usr/bin/env python3\nimport frame\n"})
    (home / "work/run.py").chmod(0o755)
    assert not list(first_line_ways(replace(here(home), pythons=pythons(home))))


PROJECT = '[project]\nname = "x"\nversion = "1"\n'
UV: dict[str, tuple[dict[str, str], dict[str, str], bool | None]] = {
    "it lacks what nobody asked for": ({}, {}, True),
    "it may be installed first": ({"pyproject.toml": PROJECT + 'dependencies = ["frame"]\n'}, {}, False),
    "it may not": ({"pyproject.toml": PROJECT + 'dependencies = ["frame"]\n'}, {"UV_NO_SYNC": "1"}, True),
    "it is locked": ({"uv.lock": '[[package]]\nname = "frame"\nversion = "1"\n'}, {}, False),
    "it is not": ({"uv.lock": '[[package]]\nname = "other"\nversion = "1"\n'}, {}, True),
    "the project's own is active": ({}, {"VIRTUAL_ENV": "{home}/work/.venv"}, None),
    "none is active": ({}, {"VIRTUAL_ENV": ""}, None),
    "uv takes that one": ({}, {"UV_PROJECT_ENVIRONMENT": "{home}/env"}, None),
    "another made it": ({".venv/pyvenv.cfg": "home = {home}\n"}, {}, None),
    "no project": ({"pyproject.toml": "[tool.ruff]\n"}, {}, None),
    "not uv's": ({"pyproject.toml": PROJECT + "[tool.uv]\nmanaged = false\n"}, {}, None),
    "bad settings": ({"pyproject.toml": "["}, {}, None),
    "a test alone": ({"main.py": "", "test_x.py": PROGRAM}, {}, None),
    "it has all": ({f".venv/lib/{VERSION}/site-packages/frame.py": ""}, {}, None),
}  # fmt: skip


@pytest.mark.parametrize(("files", "env", "sure"), UV.values(), ids=UV)
def test_uv_runs_the_projects_environment(files: dict[str, str], env: dict[str, str], sure: bool | None, home: Path):
    (home / "bare").rename(home / "work/.venv")
    config = (home / "work/.venv/pyvenv.cfg").read_text() + "uv = 0.8.0\n"
    write(home, {f"work/{n}": t for n, t in ({"pyproject.toml": PROJECT, ".venv/pyvenv.cfg": config} | files).items()})
    given = here(home, **{n: v.replace("{home}", str(home)) for n, v in ({"VIRTUAL_ENV": "{home}/env"} | env).items()})
    found = [(o.sure, o.lacks, o.path) for w in uv_ways(replace(given, pythons=pythons(home))) for o in w.runs]
    assert found == ([] if sure is None else [(sure, ("frame",), f"{home}/work/.venv/bin/python")])


@pytest.mark.parametrize(
    ("named", "files", "lacks"),
    [
        ("{home}/bare/bin/python", {}, True),
        ("{home}/work/.venv/bin/python", {}, False),
        ("3.12", {}, False),
        ("", {}, False),
        ("{home}/bare/bin/python", {"pyproject.toml": PROJECT}, False),
    ],
)
def test_uv_takes_the_python_of_a_variable_where_there_is_no_project(
    named: str, files: dict[str, str], lacks: bool, home: Path
):
    (home / "env").rename(home / "work/.venv")
    config = (home / "work/.venv/pyvenv.cfg").read_text() + "uv = 0.8.0\n"
    write(home, {f"work/{n}": t for n, t in ({".venv/pyvenv.cfg": config} | files).items()})
    site = str(home / "work/.venv/lib" / VERSION / "site-packages")
    own = replace(pythons(home)[0], prefix=str(home / "work/.venv"), site_packages=(site,))
    given = replace(here(home, UV_PYTHON=named.replace("{home}", str(home))), pythons=(own, pythons(home)[1]))
    found = [(o.source, o.lacks, o.sure) for w in uv_ways(given) for o in w.runs]
    assert found == ([(f"UV_PYTHON={home}/bare/bin/python", ("frame",), True)] if lacks else [])


SHELLS_WITHOUT_SOURCE = {
    "and": ("source {home}/env/bin/activate && python main.py", "no source"),
    "and behind a folder": ("cd {home}/work && source {home}/env/bin/activate && exec python main.py", "no source"),
    "set -e": ("set -e; source {home}/env/bin/activate; python main.py", "no source"),
    "or a dot": ("source {home}/env/bin/activate || . {home}/env/bin/activate; python main.py", ""),
    "a condition under set -e": ("set -e; if source {home}/x; then exit; fi; . {home}/env/bin/activate; python main.py", ""),
    "a dot": (". {home}/env/bin/activate && python main.py", ""),
    "bash": ("bash -c 'source {home}/env/bin/activate && python main.py'", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SHELLS_WITHOUT_SOURCE)
def test_a_shell_without_source_does_not_come_to_what_stands_behind(home: Path, case: str) -> None:
    command, fault = SHELLS_WITHOUT_SOURCE[case]
    script = '#!/bin/sh\nVIRTUAL_ENV={home}/env\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH VIRTUAL_ENV\n'
    write(home, {"env/bin/activate": script, "work/Makefile": f"run:\n\t{command}\n"})
    done = subprocess.run(
        ["dash", "-c", command.replace("{home}", str(home))],
        check=False,
        cwd=home / "work",
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
        capture_output=True,
    )
    assert (done.returncode == 0) is not bool(fault), "the real shell"
    (way,) = task_ways(replace(here(home, PATH="/usr/bin:/bin"), pythons=pythons(home)))
    assert way.prefix == str(home / "env")
    assert [one.fault for one in way.runs] == ([fault] if fault else [])


CONDA: dict[str, tuple[str, str]] = {
    "and": ("conda activate ml && python3 main.py", "no conda"),
    "and behind a folder": ("cd {home}/work && micromamba activate ml && exec python3 main.py", "no conda"),
    "a Python that is not there, either": ("conda activate ml && python2.99 main.py", "no conda"),
    "and the environment's own Python": ("conda activate ml && {home}/env/bin/python main.py", "no conda"),
    "a function of this name": ("conda() { PATH={home}/env/bin:$PATH; }; conda activate ml && python3 main.py", ""),
    "given by a file": (". {home}/conda.sh && conda activate ml && python3 main.py", ""),
    "without and": ("conda activate ml; {home}/env/bin/python main.py", ""),
    "run": ("{home}/env/bin/python main.py || conda run -n ml python3 main.py", ""),
}


@pytest.mark.parametrize("case", CONDA)
def test_a_shell_that_does_not_know_conda_activate(home: Path, case: str) -> None:
    command, fault = CONDA[case]
    filled = command.replace("{home}", str(home))
    write(home, {"conda.sh": "conda() { PATH={home}/env/bin:$PATH; }\n"})
    real = subprocess.run(
        ["dash", "-c", filled], check=False, cwd=home / "work", env=here(home).env, capture_output=True, text=True
    )
    assert ("not found" in real.stderr) is (bool(fault) or case == "without and"), "the real shell"
    assert (real.returncode == 0) is not bool(fault)
    given = replace(
        here(home), around=ground(home, {"/etc/cron.d/x": f"5 * * * * ada cd {home}/work; {filled}\n"}).around
    )
    runs = [one for way in cron_ways(replace(given, pythons=pythons(home))) for one in way.runs]
    assert [(one.fault, one.seems) for one in runs] == ([(fault, str(home / "env"))] if fault else [])


GUARD = "case $- in\n    *i*) ;;\n      *) return;;\nesac\n"
HOOK = 'eval "$({home}/miniconda3/bin/conda shell.bash hook)"\n'
FUNCTION = "conda() { PATH={home}/env/bin:$PATH; }\n"
START_UP: dict[str, tuple[str, str, str]] = {
    "none is read": (FUNCTION, "conda activate ml && python3 main.py", "no conda"),
    "one that ends before its function": (
        GUARD + FUNCTION,
        "source {home}/.bashrc && conda activate ml && python3 main.py",
        "no conda",
    ),
    "one that ends before the hook": (GUARD + HOOK, ". {home}/.bashrc && conda activate ml && python3 main.py", "no conda"),
    "one with the hook": (HOOK, "source {home}/.bashrc && conda activate ml && python3 main.py", ""),
    "one with the function": (FUNCTION, "source {home}/.bashrc && conda activate ml && python3 main.py", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", START_UP)
def test_a_bash_in_a_cron_job_knows_conda_only_by_what_it_reads(home: Path, case: str) -> None:
    start_up, command, fault = START_UP[case]
    conda = "#!/bin/sh\necho 'conda() { PATH={home}/env/bin:$PATH; }'\n"
    write(home, {".bashrc": start_up, "miniconda3/bin/conda": conda})
    (home / "miniconda3/bin/conda").chmod(0o755)
    line = f"cd {home}/work; bash -c '{command}'".replace("{home}", str(home))
    real = subprocess.run(["dash", "-c", line], check=False, env=here(home).env, capture_output=True, text=True)
    assert ("conda: command not found" in real.stderr) is bool(fault), "the real shell"
    given = replace(here(home), around=ground(home, {"/etc/cron.d/x": f"5 * * * * ada {line}\n"}).around)
    runs = [one for way in cron_ways(replace(given, pythons=pythons(home))) for one in way.runs]
    assert [(one.fault, one.seems) for one in runs] == ([(fault, str(home / "env"))] if fault else [])


OWN_PATH = "export PATH={home}/env/bin:$PATH\n"
SLURM = "#!/bin/bash\n#SBATCH --gres=gpu:1\nsource {home}/.bashrc\n{command}\n"
JOBS: dict[str, tuple[str, str, str]] = {
    "Slurm, a launcher": (GUARD + OWN_PATH, SLURM.replace("{command}", "accelerate launch --cpu main.py"), ".bashrc"),
    "Slurm, a Python": (GUARD + OWN_PATH, SLURM.replace("{command}", "python3 main.py"), ".bashrc"),
    "PBS, without a prompt": ('[ -z "$PS1" ] && return\n' + OWN_PATH, "#!/bin/bash\n#PBS -q gpu\n. {home}/.bashrc\ntorchrun main.py\n", ".bashrc"),
    "LSF, without a word": ("[[ $- != *i* ]] && return\n" + OWN_PATH, "#!/bin/bash\n#BSUB -gpu num=1\nsource {home}/.bashrc\nexec torchrun --nproc_per_node 1 main.py\n", ".bashrc"),
    "none of the shell's variables": ("", "#!/bin/bash\n#SBATCH --export=NONE\naccelerate launch main.py\n", "no file"),
    "one that does not end": (OWN_PATH, SLURM.replace("{command}", "accelerate launch --cpu main.py"), ""),
    "a PATH of its own": (GUARD + OWN_PATH, SLURM.replace("{command}", OWN_PATH + "accelerate launch main.py"), ""),
    "a path": (GUARD + OWN_PATH, SLURM.replace("{command}", "{home}/env/bin/torchrun main.py"), ""),
    "a script that a terminal starts": (GUARD + OWN_PATH, "#!/bin/bash\nsource {home}/.bashrc\naccelerate launch main.py\n", "not told"),
    "of a shell that may have it": ("", "#!/bin/bash\n#SBATCH --gres=gpu:1\naccelerate launch main.py\n", "not told"),
}  # fmt: skip
"""Start-up file, script, and which file ends; what fails here alone, and works in a terminal, is not told."""


@pytest.mark.parametrize("case", JOBS)
def test_a_start_up_file_that_ends_leaves_a_job_without_its_path(home: Path, case: str) -> None:
    start_up, script, told = JOBS[case]
    runs = "#!{home}/env/bin/python\nimport runpy, sys\nsys.path.insert(0, '')\nrunpy.run_path('main.py')\n"
    write(
        home, {".bashrc": start_up, "work/job.sh": script} | {f"env/bin/{n}": runs for n in ("accelerate", "torchrun")}
    )
    for name in ("accelerate", "torchrun"):
        (home / "env/bin" / name).chmod(0o755)
    env = here(home).env if "--export=NONE" not in script else {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    real = subprocess.run(["bash", "job.sh"], check=False, cwd=home / "work", env=env, capture_output=True)
    assert (real.returncode != 0) is bool(told), "the real shell"
    found = [one for way in script_ways(replace(here(home), pythons=pythons(home))) for one in way.runs if one.sure]
    expected = {"": [], "not told": [], "no file": [""]}.get(told, [f"{home}/{told}"])
    assert [one.dead for one in found] == expected


NO_SHELL: dict[str, tuple[str, str]] = {
    "a folder first": ("cd {home}/work && {home}/env/bin/python main.py", "cd"),
    "an activation": ("source {home}/env/bin/activate && python main.py", "source"),
    "a variable": ("export A=1 && {home}/env/bin/python {home}/work/main.py", "export"),
    "a Python that is not listed": ("cd {home}/work && {base} main.py", "cd"),
    "the home as ~": ("~/env/bin/python {home}/work/main.py", "~/env/bin/python"),
    "the home as a variable": ("$HOME/env/bin/python {home}/work/main.py", "$HOME/env/bin/python"),
    "a path that is not whole": ("../env/bin/python main.py", "../env/bin/python"),
    "a shell": ("/bin/sh -c 'cd {home}/work && {home}/env/bin/python main.py'", ""),
    "the Python alone": ("{home}/env/bin/python {home}/work/main.py", ""),
}


@pytest.mark.parametrize("case", NO_SHELL)
def test_a_command_of_a_shell_where_none_reads_it(home: Path, case: str) -> None:
    command, first = NO_SHELL[case]
    command = command.replace("{base}", os.path.realpath(sys.executable))
    script = 'VIRTUAL_ENV={home}/env\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport PATH VIRTUAL_ENV\n'
    unit = f"[Service]\nWorkingDirectory=%h/work\nExecStart={command}\n"
    write(home, {"env/bin/activate": script, ".config/systemd/user/x.service": unit})
    word = shlex.split(command.replace("{home}", str(home)))[0]
    assert (shutil.which(word, path="/usr/bin:/bin") is None) is bool(first), "systemd finds no such program"
    (way,) = service_ways(replace(here(home), pythons=pythons(home)))
    told = [(one.fault, one.name, one.seems, one.source.rpartition(":")[2]) for one in way.runs]
    assert told == ([("no shell", first, str(home / "env"), "3")] if first else [])


IN_ANOTHER_FOLDER: dict[str, tuple[str, str, bool]] = {
    "the program is elsewhere": ("{home}/env/bin/python main.py", "", True),
    "options before it": ("{home}/env/bin/python -u main.py --port 80", "", True),
    "of a Python that is not listed": ("{base} main.py", "", True),
    "it starts there": ("{home}/env/bin/python main.py", "WorkingDirectory=%h/work\n", False),
    "a whole path": ("{home}/env/bin/python {home}/work/main.py", "", False),
    "a shell goes there": ("/bin/sh -c 'cd {home}/work && exec {home}/env/bin/python main.py'", "", False),
    "a module": ("{home}/env/bin/python -m frame", "", False),
    "of nowhere": ("{home}/env/bin/python nothing.py", "", False),
}


@pytest.mark.parametrize("case", IN_ANOTHER_FOLDER)
def test_a_service_that_starts_in_another_folder_than_its_program(home: Path, case: str) -> None:
    command, setting, absent = IN_ANOTHER_FOLDER[case]
    command = command.replace("{base}", os.path.realpath(sys.executable))
    write(home, {".config/systemd/user/x.service": f"[Service]\n{setting}ExecStart={command}\n"})
    words = shlex.split(command.replace("{home}", str(home)))
    real = subprocess.run(words, check=False, cwd=home / "work" if setting else home, capture_output=True, text=True)
    assert ("can't open file" in real.stderr) is (absent or case == "of nowhere"), "the real Python"
    (way,) = service_ways(replace(here(home), pythons=pythons(home)))
    told = [(one.fault, one.name, one.source, one.program, one.seems) for one in way.runs]
    expected = ("program not there", "main.py", str(home), f"{home}/work", f"{home}/env")
    assert told == ([expected] if absent else [])


TESTS: dict[str, tuple[str, dict[str, str], bool]] = {
    "by its own command": ("pytest -q tests", {}, True),
    "by its module": ("python -m pytest -q tests", {}, False),
    "with the root in its settings": ("pytest -q tests", {"work/pytest.ini": "[pytest]\npythonpath = .\n"}, False),
    "with a conftest.py in the root": ("pytest -q tests", {"work/conftest.py": ""}, False),
    "with a conftest.py that adds the root": ("pytest -q tests", {"work/tests/conftest.py": "import sys\nsys.path.insert(0, '.')\n"}, False),
    "of a package": ("pytest -q tests", {"work/tests/__init__.py": ""}, False),
    "with a variable": ("PYTHONPATH=. pytest -q tests", {}, False),
}  # fmt: skip


@pytest.mark.parametrize("case", TESTS)
def test_tests_that_do_not_find_the_package_beside_them(home: Path, case: str):
    command, files, lost = TESTS[case]
    write(home, {"work/captions/__init__.py": "", "work/tests/test_a.py": "import frame\nimport captions\n\n\ndef test_it():\n    pass\n", **files})  # fmt: skip
    write(home, {"work/run.sh": f"#!/bin/sh\nexport PATH={home}/env/bin:$PATH\n{command}\n", "env/bin/pytest": f"#!{home}/env/bin/python\nimport sys\nsys.path.append({str(Path(pytest.__file__).parent.parent)!r})\nfrom pytest import console_main\nsys.path[:] = sys.path[1:]\nsys.exit(console_main())\n"})  # fmt: skip
    (home / "env/bin/pytest").chmod(0o755)
    module = home / "env/lib" / VERSION / "site-packages/pytest.pth"
    module.write_text(str(Path(pytest.__file__).parent.parent))
    real = subprocess.run(["/bin/sh", "run.sh"], cwd=home / "work", capture_output=True, text=True, check=False)
    module.unlink()
    assert ("No module named 'captions'" in real.stdout) is lost, real.stdout + real.stderr
    found = [o for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert [(o.fault, o.name, o.lacks, o.source) for o in found] == [("not searched", "pytest", ("captions",), str(home / "work"))] * lost  # fmt: skip


def test_a_python_that_no_folder_of_path_has(home: Path):
    for name, gone in (("python2.99", True), ("python3", False)):
        job = f"cd {home}/work && {name} main.py"
        around = ground(home, {"/etc/cron.d/x": f"PATH={home}/bare/bin\n5 * * * * ada {job}\n"}).around
        (one,) = [o for w in cron_ways(replace(here(home), around=around, pythons=pythons(home))) for o in w.runs]
        assert (one.name, one.path == "", one.lacks) == (name, gone, ("frame",))


EXTERNAL = "from airflow.decorators import task\nETL = '{bare}/bin/python'\n\n@task.external_python(python=ETL)\ndef train():\n    import frame\n    frame.f()\n"
OPERATOR = (
    "from airflow.operators.python import ExternalPythonOperator\n\ndef train():\n    import frame\n\n"
    "ExternalPythonOperator(task_id='t', python='{bare}/bin/python', python_callable=train)\n"
)


@pytest.mark.parametrize("code", [EXTERNAL, OPERATOR], ids=["a decorator", "an operator"])
@pytest.mark.parametrize("lacks", [True, False])
def test_a_function_that_airflow_runs_in_another_python(code: str, lacks: bool, home: Path) -> None:
    python = "bare" if lacks else "env"
    write(home, {"airflow/dags/train.py": code.replace("{bare}/", f"{{home}}/{python}/")})
    runs = [one for way in task_ways(replace(here(home), pythons=pythons(home))) for one in way.runs]
    assert [(one.lacks, one.sure) for one in runs] == ([(("frame",), True)] if lacks else [])


PYCHARM = (
    '<project><component name="RunManager"><configuration name="train" type="PythonConfigurationType">\n'
    '<option name="SDK_HOME" value="{home}/bare/bin/python" />\n<option name="WORKING_DIRECTORY" value="$PROJECT_DIR$" />\n'
    "{what}\n</configuration></component></project>\n"
)


@pytest.mark.parametrize(
    ("what", "lacks"),
    [
        ('<option name="SCRIPT_NAME" value="$PROJECT_DIR$/main.py" />', True),
        ('<option name="SCRIPT_NAME" value="main.py" />', True),
        ('<option name="SCRIPT_NAME" value="frame" /><option name="MODULE_MODE" value="true" />', True),
        ('<option name="SCRIPT_NAME" value="json.tool" /><option name="MODULE_MODE" value="true" />', False),
        ("", False),
    ],
)
def test_what_a_configuration_of_pycharm_runs(what: str, lacks: bool, home: Path) -> None:
    write(home, {"work/.idea/workspace.xml": PYCHARM.replace("{what}", what)})
    runs = [one for way in task_ways(replace(here(home), pythons=pythons(home))) for one in way.runs]
    assert [(one.lacks, one.sure) for one in runs] == ([(("frame",), True)] if lacks else [])


TOOL = "#!{home}/bare/bin/python\nimport runpy, sys\nrunpy.run_path(sys.argv[-1])\n"


@pytest.mark.parametrize(
    ("beside", "env", "sure"),
    [
        ({}, {}, True),
        ({"env/bin/torchrun": TOOL}, {}, False),
        ({"env/bin/torchrun": TOOL}, {"VIRTUAL_ENV": "{home}/env"}, True),
    ],
    ids=["the environment has none", "it has its own, and may be activated first", "it is active, and comes later"],
)
def test_a_launcher_that_path_has_first(beside: dict[str, str], env: dict[str, str], sure: bool, home: Path) -> None:
    write(home, {"tools/torchrun": TOOL, "work/run.sh": "#!/bin/sh\ntorchrun main.py\n", **beside})
    (home / "tools/torchrun").chmod(0o755)
    given = here(
        home, PATH=f"{home}/tools:/usr/bin:/bin", **{n: v.replace("{home}", str(home)) for n, v in env.items()}
    )
    assert [(o.lacks, o.sure) for w in script_ways(replace(given, pythons=pythons(home))) for o in w.runs] == [
        (("frame",), sure)
    ]


def test_tests_that_are_named_to_pytest(home: Path) -> None:
    write(home, {"tools/pytest": TOOL, "work/Makefile": "test:\n\tpytest -q main.py::test_it\n"})
    (home / "tools/pytest").chmod(0o755)
    given = here(home, PATH=f"{home}/tools:/usr/bin:/bin")
    assert [(o.lacks, o.sure) for w in task_ways(replace(given, pythons=pythons(home))) for o in w.runs] == [
        (("frame",), True)
    ]


PERCENT: dict[str, tuple[str, str]] = {
    "in a substitution": ("{home}/env/bin/python main.py --date $(date +%F)", "percent"),
    "between quotation marks": ("{home}/env/bin/python main.py --name 'run of %d'", "percent"),
    "with a backslash": ("{home}/env/bin/python main.py --date $(date +\\%F)", ""),
    "behind all words": ("{home}/env/bin/python main.py --share 50%", ""),
    "with a backslash, between quotation marks": ("{home}/env/bin/python main.py '\\%d'", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", PERCENT)
def test_a_percent_sign_ends_the_command_of_a_cron_job(home: Path, case: str) -> None:
    command, fault = PERCENT[case]
    line = f"cd {home}/work && {command}".replace("{home}", str(home))
    given = line.split("\\%")  # what cron gives the shell, with the escaped signs (crontab(5))
    rest = next((n for n, part in enumerate(given) if "%" in part), None)
    kept = given if rest is None else [*given[:rest], given[rest].partition("%")[0]]
    real = subprocess.run(["dash", "-c", "%".join(kept)], check=False, capture_output=True, text=True)
    assert ("yntax error" in real.stderr or "nterminated" in real.stderr) is bool(fault), "the real shell"
    its = replace(here(home), around=ground(home, {"/etc/cron.d/x": f"5 * * * * ada {line}\n"}).around)
    (way,) = [w for w in cron_ways(replace(its, pythons=pythons(home))) if w.prefix and w.argv]
    assert way.prefix == str(home / "env")
    assert [(one.fault, one.source) for one in way.runs] == ([(fault, "/etc/cron.d/x:1")] if fault else [])


METADATA = '# /// script\n# requires-python = ">=3.11"\n# dependencies = [{listed}]\n# ///\n'
WITH_METADATA: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "nothing is listed": ("", "uv run main.py", ("frame",)),
    "it is listed": ('\n#   "frame>=1,<2",\n# ', "uv run main.py", ()),
    "by an option": ("", "uv run --with frame main.py", ()),
    "what it brings is not known": ('"other"', "uv run main.py", ()),
    "with options": ("", "uv run --quiet --script main.py --epochs 3", ("frame",)),
    "by python": ("", "uv run python main.py", ()),
    "by the environment": ("", "{home}/env/bin/python main.py", ()),
}


@pytest.mark.parametrize("case", WITH_METADATA)
def test_a_program_with_metadata_of_its_own(home: Path, case: str) -> None:
    listed, command, lacks = WITH_METADATA[case]
    first = "#!/usr/bin/env -S uv run --script\n" + METADATA.replace("{listed}", listed)
    write(home, {"work/main.py": first + PROGRAM, "work/run.sh": f"#!/bin/sh\n{command}\n"})
    (home / "work/main.py").chmod(0o755)
    found = [(o.lacks, o.sure) for w in script_ways(replace(here(home), pythons=pythons(home))) for o in w.runs]
    assert found == ([(lacks, True)] if lacks else [])


def test_a_program_by_whose_first_line_uv_runs_it(home: Path) -> None:
    write(home, {"work/main.py": "#!/usr/bin/env -S uv run --script\n" + METADATA.replace("{listed}", "") + PROGRAM})
    (home / "work/main.py").chmod(0o755)
    assert [o.fault for w in first_line_ways(replace(here(home), pythons=pythons(home))) for o in w.runs] == [
        "own packages"
    ]


JOB = "#!/bin/bash\n#SBATCH --gres=gpu:1\nmodule load cuda/12.4\n{line}\npython3 main.py\n"
ACTIVATES = "conda activate ml"
HERE = {"miniconda3/envs/ml/conda-meta/history": ""}
WITH_MODULES: dict[str, tuple[str, dict[str, str], dict[str, str], str, bool]] = {
    "none here, and an environment that is here": (ACTIVATES, HERE, {}, "", True),
    "an environment of another machine": (ACTIVATES, {}, {}, "", False),
    "no environment is asked for": ("", HERE, {}, "", False),
    "modules in the shell": (ACTIVATES, HERE, {"MODULEPATH": "/apps/modules"}, "", False),
    "a function handed on": (ACTIVATES, HERE, {"BASH_FUNC_module%%": "() { :; }"}, "", False),
    "modules of login shells": (ACTIVATES, HERE, {}, "/etc/profile.d/z00_lmod.sh", False),
    "a file that may give them": (". {home}/site.sh\n" + ACTIVATES, {**HERE, "site.sh": "module() { :; }\n"}, {}, "", False),
}  # fmt: skip


@pytest.mark.parametrize("case", WITH_MODULES)
def test_a_job_that_loads_modules_and_activates_nothing(home: Path, case: str) -> None:
    line, files, env, machines, told = WITH_MODULES[case]
    write(home, {"work/train.sbatch": JOB.replace("{line}", line), **files})
    around = ground(home, {machines: "x=1\n"} if machines else {}).around
    if told:
        real = subprocess.run(
            ["bash", "-c", "module load x; conda activate ml; echo on"],
            check=False,
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert (real.stdout, real.stderr.count("command not found")) == ("on\n", 2), "the real shell"
    given = replace(here(home, **env), around=around)
    runs = [one for way in script_ways(replace(given, pythons=pythons(home))) for one in way.runs]
    assert [(one.lacks, one.sure) for one in runs] == ([(("frame",), True)] if told else [])
