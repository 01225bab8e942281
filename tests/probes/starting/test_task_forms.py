"""The forms in which people write tasks: make is asked itself, where it can be."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import PythonEnvironment
from core.probes.starting.projects.described_programs import described_ways
from core.probes.starting.projects.tasks import task_ways
from core.probes.starting.services.systemd import service_ways
from tests.probes.starting.shells import in_project, project

VALUE = "LD_LIBRARY_PATH=/a"
UNIT = ".config/systemd/user/x.service"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a project and its environment."""
    env = project(tmp_path)
    (env / "bin/activate").write_text(f'VIRTUAL_ENV="{env}"\nPATH="$VIRTUAL_ENV/bin:$PATH"\nexport VIRTUAL_ENV PATH\n')
    (tmp_path / "work/main.py").write_text("import os; print(os.environ.get('LD_LIBRARY_PATH'))")
    (tmp_path / "work/.env").write_text(f"{VALUE}\n")
    return tmp_path


def values(home: Path, name: str, text: str) -> list[str | None]:
    """Return the variable in each way that starts the environment."""
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text)
    env = home / "work/.venv"
    made = in_project(home)
    its = (PythonEnvironment(prefix=str(env), kind="venv"),)
    ways = (*task_ways(replace(made, pythons=its)), *service_ways(replace(made, pythons=its)))
    return [w.state.environment().get("LD_LIBRARY_PATH") for w in ways if w.prefix == str(env)]


MAKEFILES = {
    "an activation": f"run:\n\t@. .venv/bin/activate && {VALUE} python main.py\n",
    "a file that may be gone": "ifneq (,$(wildcard ./.env))\n    include .env\n    export\nendif\nrun:\n\t@.venv/bin/python main.py\n",
    "one shell for a recipe": f".ONESHELL:\nrun:\n\t@. .venv/bin/activate\n\texport {VALUE}\n\tpython main.py\n",
    "a definition": f"define RUN\n{VALUE} .venv/bin/python\nendef\nrun:\n\t@$(RUN) main.py\n",
    "a chain in several lines": f"run:\n\t@cd . && \\\n\texport {VALUE} && \\\n\t.venv/bin/python main.py\n",
    "sourced": "run:\n\t@set -a; . ./.env; set +a; .venv/bin/python main.py\n",
}


@pytest.mark.parametrize("text", MAKEFILES.values(), ids=MAKEFILES)
def test_makefiles(text: str, home: Path):
    assert values(home, "work/Makefile", text)[-1:] == ["/a"]
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        ["make", "run"], cwd=home / "work", env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "/a"


SCRIPTS = {
    "cross-env": f"cross-env {VALUE} .venv/bin/python main.py",
    "concurrently": f'concurrently "vite" "{VALUE} .venv/bin/python main.py"',
    "dotenv": "dotenv -e .env -- .venv/bin/python main.py",
    "nodemon": f"{VALUE} nodemon --exec .venv/bin/python main.py",
    "nodemon with one word": f'{VALUE} nodemon --exec ".venv/bin/python main.py" -e py',
    "in the background": f"vite & {VALUE} .venv/bin/python main.py",
}


@pytest.mark.parametrize("command", SCRIPTS.values(), ids=SCRIPTS)
def test_scripts_of_npm(command: str, home: Path):
    assert values(home, "work/package.json", json.dumps({"scripts": {"x": command}})) == ["/a"]


FILES = {
    "tox": (
        "work/tox.ini",
        (
            "[tox]\nenvlist = py311\n[testenv]\nset_env =\n    LD_LIBRARY_PATH = /a\n"
            "commands =\n    {toxinidir}/.venv/bin/python main.py {posargs}\n"
        ),
    ),
    "Snakemake": (
        "work/Snakefile",
        f'rule train:\n    output: "x"\n    shell:\n        """\n        {VALUE} .venv/bin/python main.py > {{output}}\n        """\n',
    ),
    "a block of a Taskfile": (
        "work/Taskfile.yml",
        f"version: '3'\ntasks:\n  run:\n    cmds:\n      - |\n        export {VALUE}\n        .venv/bin/python main.py\n      - echo done\n",
    ),
    "a recipe of just with a first line": (
        "work/justfile",
        f"run:\n    #!/usr/bin/env bash\n    export {VALUE}\n    .venv/bin/python main.py\n",
    ),
    "a service of several commands": (
        UNIT,
        (
            f"[Service]\nType=oneshot\nWorkingDirectory=%h/work\nEnvironment={VALUE}\nExecStart=/bin/mkdir -p /x\n"
            "ExecStart=%h/work/.venv/bin/python main.py\nExecStart=/bin/true\n"
        ),
    ),
}


@pytest.mark.parametrize(("name", "text"), FILES.values(), ids=FILES)
def test_other_files(name: str, text: str, home: Path):
    assert values(home, name, text) == ["/a"]


@pytest.mark.parametrize(
    "name", ["work/tox.ini", "work/Snakefile", "work/Taskfile.yml", "work/justfile", "work/Makefile"]
)
@pytest.mark.parametrize(
    "text", ["", "[", "define X\n", "shell:", "- |\n", "run:\n    #!", "[testenv]\nset_env\ncommands = {"]
)
def test_odd_files_start_nothing(name: str, text: str, home: Path):
    assert values(home, name, text) == []


LOST = {
    "make": ("work/Makefile", f"run:\n\texport {VALUE}\n\t.venv/bin/python main.py\n", ["/a"]),
    "one shell": ("work/Makefile", f".ONESHELL:\nrun:\n\texport {VALUE}\n\t.venv/bin/python main.py\n", []),
    "joined": ("work/Makefile", f"run:\n\texport {VALUE} && .venv/bin/python main.py\n", []),
    "another recipe": ("work/Makefile", f"a:\n\texport {VALUE}\nrun:\n\t.venv/bin/python main.py\n", []),
    "just": ("work/justfile", f"run:\n    export {VALUE}\n    .venv/bin/python main.py\n", ["/a"]),
}


@pytest.mark.parametrize("name", LOST)
def test_a_line_that_only_sets_a_variable_is_lost_behind_it(name: str, home: Path):
    file, text, lost = LOST[name]
    (home / file).write_text(text)
    its = (PythonEnvironment(prefix=str(home / "work/.venv"), kind="venv"),)
    ways = [w for w in task_ways(replace(in_project(home), pythons=its)) if w.prefix]
    assert [r.value for w in ways[-1:] for r in w.state.ignored] == lost


OF_HATCH = {
    "the default": ("work/pyproject.toml", "[tool.hatch.envs.default]\npath = '.venv'\n[tool.hatch.envs.default.env-vars]\nLD_LIBRARY_PATH = '/a'\n[tool.hatch.envs.default.scripts]\nrun = 'python main.py'\n"),
    "inherited": ("work/hatch.toml", "[envs.default.env-vars]\nLD_LIBRARY_PATH = '/a'\n[envs.gpu]\npath = '.venv'\n[envs.gpu.scripts]\nrun = ['python main.py']\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_HATCH)
def test_hatch(name: str, home: Path):
    assert values(home, *OF_HATCH[name]) == ["/a"]


def test_a_job_of_gitlab(home: Path):
    (home / "work/.gitlab-ci.yml").write_text(
        'variables:\n  LD_LIBRARY_PATH: "$CI_PROJECT_DIR/lib"\n\ntrain:\n  script:\n    - .venv/bin/python main.py\n'
    )
    its = (PythonEnvironment(prefix=str(home / "work/.venv"), kind="venv"),)
    found = [
        w.state.environment().get("LD_LIBRARY_PATH") for w in described_ways(replace(in_project(home), pythons=its))
    ]
    assert found == [f"{home}/work/lib"]


JOBS = {
    "GitHub": ("work/.github/workflows/train.yml", "on: push\nenv:\n  LD_LIBRARY_PATH: ${{ github.workspace }}/lib\njobs:\n  train:\n    runs-on: [self-hosted, gpu]\n    steps:\n      - uses: actions/checkout@v4\n      - run: {env}/bin/python main.py\n", ["{home}/work/lib"]),
    "GitHub, from the home": ("work/.github/workflows/train.yaml", "jobs:\n  train:\n    runs-on: self-hosted\n    env: {LD_LIBRARY_PATH: /a}\n    steps:\n      - run: |\n          source ~/work/.venv/bin/activate\n          python main.py\n", ["/a"]),
    "GitHub's own machines": ("work/.github/workflows/test.yml", "env:\n  LD_LIBRARY_PATH: /a\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - run: python -m venv .venv\n      - run: .venv/bin/python main.py\n", []),
    "CircleCI": ("work/.circleci/config.yml", "version: 2.1\njobs:\n  train:\n    machine: true\n    environment:\n      LD_LIBRARY_PATH: /a\n    steps:\n      - run: {env}/bin/python main.py\n", ["/a"]),
    "CircleCI in a container": ("work/.circleci/config.yml", "version: 2.1\njobs:\n  train:\n    docker:\n      - image: cimg/python:3.11\n    environment:\n      LD_LIBRARY_PATH: /a\n    steps:\n      - run: {env}/bin/python main.py\n", []),
    "Azure": ("work/azure-pipelines.yml", "variables:\n- name: LD_LIBRARY_PATH\n  value: $(Build.SourcesDirectory)/lib\njobs:\n- job: train\n  steps:\n  - bash: |\n      {env}/bin/python main.py\n", ["{home}/work/lib"]),
    "Azure's own machines": ("work/azure-pipelines.yml", "variables:\n  LD_LIBRARY_PATH: /a\npool: {vmImage: ubuntu-latest}\nsteps:\n- script: .venv/bin/python main.py\n", []),
    "Jenkins": ("work/Jenkinsfile", "pipeline {\n  agent { label 'gpu' }\n  environment {\n    // why\n    LD_LIBRARY_PATH = \"${WORKSPACE}/lib\"\n    KEY = credentials('id')\n  }\n  stages { stage('Train') { steps { sh '{env}/bin/python main.py' } } }\n}\n", ["{home}/work/lib"]),
    "Jenkins, of another stage": ("work/Jenkinsfile", "pipeline {\n  stages {\n    stage('Build') {\n      environment { LD_LIBRARY_PATH = '/b' }\n      steps { sh 'make' }\n    }\n    stage('Train') { steps { sh \"\"\"\n      cd .\n      {env}/bin/python main.py\n    \"\"\" } }\n  }\n}\n", [None]),
    "Jenkins, withEnv": ("work/Jenkinsfile", "node {\n  withEnv(['A=b', 'LD_LIBRARY_PATH=/a']) {\n    sh script: '{env}/bin/python main.py', label: 'train'\n  }\n  sh '{env}/bin/python main.py'\n}\n", ["/a", None]),
    "Jenkins, an entry in front": ("work/Jenkinsfile", "node {\n  withEnv(['LD_LIBRARY_PATH=/a']) { withEnv(['LD_LIBRARY_PATH+X=/b']) {\n    sh(returnStdout: true, script: '{env}/bin/python main.py')\n  } }\n}\n", ["/b:/a"]),
    "Jenkins in a container": ("work/Jenkinsfile", "pipeline {\n  agent { docker { image 'python' } }\n  environment { LD_LIBRARY_PATH = '/a' }\n  stages { stage('T') { steps { sh '{env}/bin/python main.py' } } }\n}\n", []),
}  # fmt: skip


@pytest.mark.parametrize("name", JOBS)
def test_jobs_of_servers(name: str, home: Path):
    file, text, told = JOBS[name]
    env = str(home / "work/.venv")
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("{env}", env))
    its = (PythonEnvironment(prefix=env, kind="venv"),)
    ground = in_project(home)
    found = [
        w.state
        for w in (*described_ways(replace(ground, pythons=its)), *task_ways(replace(ground, pythons=its)))
        if w.prefix == env
    ]
    assert [s.environment().get("LD_LIBRARY_PATH") for s in found] == [
        t and t.replace("{home}", str(home)) for t in told
    ]
