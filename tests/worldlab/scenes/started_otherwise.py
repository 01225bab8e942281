"""Programs that start in another way than one thinks (class D), as public threads tell of them: written before a scan had seen any of them.

just, Task, nox, invoke and Poetry are the real ones, fetched into the scene; make and direnv are those of the machine. Where a
starter does not run here (GitLab, GitHub's runner, systemd, PyCharm, Docker), a program with what its documentation says it gives is the oracle.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

from tests.worldlab.environments import uv
from tests.worldlab.scene import LEAVE, Oracle, Ran, Scene, World, installs, then
from tests.worldlab.scenes.held_out import CT2_PATHS, CUBLAS, NOT_SEARCHED
from tests.worldlab.scenes.held_out_8 import JAX, ONES, Plant, writes
from tests.worldlab.scenes.held_out_15 import by_run, said_by
from tests.worldlab.scenes.held_out_17_machines import notebook, script
from tests.worldlab.scenes.held_out_22_machines import by_workflow
from tests.worldlab.scenes.starters import WORKS, by_unit, program, runnable, unit_text
from tests.worldlab.scenes.usual_starts import alone

ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
VALUE = ("variable_value_wrong",)
UNIT = ".config/systemd/user/train.service"
NO_TORCH = "No module named 'torch'"
CLEAN = "/usr/local/bin:/usr/bin:/bin"


# --- how programs are started -------------------------------------------------------------------------------------------


def by_tool(*words: str) -> Oracle:
    """Run a starter that the scene fetched, with few variables, in the person's folder."""

    def oracle(world: World) -> Ran:
        fetched = world.folder / "fetched"
        given = [f"PATH={fetched}/bin:{CLEAN}", f"HOME={world.home}", "LANG=C.UTF-8", f"PYTHONPATH={fetched}"]
        return said_by(world, ["env", "-i", *given, *words])

    return oracle


def by_gitlab(world: World) -> Ran:
    """Run the jobs of a pipeline on a runner with a shell: the lines of a job, those of its ``before_script`` first, are one script."""
    text = (world.home / "work/.gitlab-ci.yml").read_text()
    ran = Ran(ok=False, said="no job")
    for job in re.split(r"^(?=\w+:\n)", text, flags=re.MULTILINE):
        lines = re.findall(r"^    - (.+)$", job, re.MULTILINE)
        if "  script:" in job:
            ran = alone("bash", "-e", "-c", "\n".join(lines))(world)
    return ran


def by_image(world: World) -> Ran:
    """Run what an image starts: CMD in the form of a shell."""
    (line,) = re.findall(r"^CMD (.*)$", (world.home / "work/Dockerfile").read_text(), re.MULTILINE)
    return alone("/bin/sh", "-c", line)(world)


def by_pycharm(world: World) -> Ran:
    """Run PyCharm's configuration: with the variables of the desktop's session, or with its own alone."""
    text = (world.home / "work/.idea/workspace.xml").read_text()
    own = {"PYTHONUNBUFFERED": "1"}
    if 'name="PARENT_ENVS" value="false"' in text:
        return alone("{env}/bin/python", "main.py", **own)(world)
    return said_by(world, ["env", "PYTHONUNBUFFERED=1", str(world.python), "main.py"])


def by_docker_run(world: World) -> Ran:
    """Run ``docker run --env-file``: each line is a name and a value as it stands, quotation marks too."""
    lines = (world.home / "work/gpu.env").read_text().splitlines()
    given = dict(w.split("=", 1) for w in lines if w and not w.startswith("#"))
    return alone("{env}/bin/python", "{home}/work/main.py", **given)(world)


def by_compose(world: World) -> Ran:
    """Run the service with the variables of its ``env_file``, of which Compose takes the quotation marks off."""
    lines = (world.home / "work/gpu.env").read_text().splitlines()
    given = dict(shlex.split(w)[0].split("=", 1) for w in lines if w and not w.startswith("#"))
    return alone("{env}/bin/python", "{home}/work/main.py", **given)(world)


def in_notebook(world: World) -> Ran:
    """Run the notebook's cells in its kernel: a line with an exclamation mark is one of the shell, in which ``{name}`` is Python's."""
    told = json.loads((world.home / "work/train.ipynb").read_text())
    kernel = world.home / ".local/share/jupyter/kernels" / told["metadata"]["kernelspec"]["name"] / "kernel.json"
    lines = "".join("".join(c["source"]) + "\n" for c in told["cells"]).splitlines()
    code = [f"import os; os.system(f{w[1:]!r})" if w.startswith("!") else w for w in lines if "this works" not in w]
    python = json.loads(kernel.read_text())["argv"][0]
    return said_by(world, ["env", "-i", f"PATH={CLEAN}", f"HOME={world.home}", python, "-c", "\n".join(code)])


# --- what people do -----------------------------------------------------------------------------------------------------


def fetches(*packages: str) -> Plant:
    """Have a starter in a folder of its own."""

    def plant(world: World) -> None:
        installs("--target", str(world.folder / "fetched"), *packages)(world)

    return plant


def venv(where: str) -> Plant:
    """Have an environment with nothing in it."""

    def plant(world: World) -> None:
        uv("venv", "--quiet", "--python", sys.executable, str(world.home / where))

    return plant


def linked(world: World) -> None:
    """Have the environment in the project's folder, by a link."""
    (world.home / "work").mkdir(exist_ok=True)
    (world.home / "work/.venv").symlink_to(world.prefix)


def gitlab(**jobs: str) -> dict[str, str]:
    """Return a pipeline: name and lines of each job."""
    told = "".join(f"{name}:\n  tags: [gpu]\n{lines}\n" for name, lines in jobs.items())
    return {"work/.gitlab-ci.yml": f"stages: [setup, train]\n\n{told}"}


def image(cmd: str) -> Plant:
    """Have an image that starts this line, and a script beside it that activates."""
    return then(
        writes(
            {
                "work/activate.sh": "#!/bin/sh\n. {home}/work/.venv/bin/activate\n",
                "work/Dockerfile": "FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\nWORKDIR {home}/work\nCOPY . .\n"
                f"RUN python3 -m venv .venv && .venv/bin/pip install -r requirements.txt\nCMD {cmd}\n",
            }
        ),
        runnable("work/activate.sh"),
    )


def child(line: str) -> dict[str, str]:
    """Return a program that starts another one by this line."""
    return {
        "work/main.py": f"import os\nimport subprocess\nimport sys\n\nos.makedirs('runs', exist_ok=True)\n{line}\n",
        "work/train.py": f"{CUBLAS}\nprint('{WORKS}', flush=True){LEAVE}\n",
    }


def torch_child(line: str) -> dict[str, str]:
    """Return a program that starts another one, which needs torch, by this line."""
    return {**child(line), "work/train.py": f"{ONES}\nprint('{WORKS}', flush=True){LEAVE}\n"}


def cells(line: str) -> Plant:
    """Have a notebook with a line for the shell, and the program that it starts."""
    told = notebook(f"import torch\n{line}", dl="{env}/bin/python")
    return writes({**torch_child(""), **told}, "work")


def workflow(job: str, run: str) -> dict[str, str]:
    """Return a workflow for a runner of one's own: lines of its job, and what it runs."""
    return {
        "work/.github/workflows/train.yml": "name: train\non: push\njobs:\n  train:\n    runs-on: [self-hosted, gpu]\n"
        f"{job}    steps:\n      - uses: actions/checkout@v4\n      - name: train\n        run: {run}\n"
    }


def by_workflow_with(variables: bool = False, login: bool = False) -> Oracle:
    """Run the one step of the job: ``variables`` are those of ``env`` as they stand, ``login``: by a shell that reads .bash_profile."""

    def oracle(world: World) -> Ran:
        text = (world.home / "work/.github/workflows/train.yml").read_text()
        given = dict(re.findall(r"^      ([A-Z_]+): (.+)$", text, re.MULTILINE)) if variables else {}
        (run,) = re.findall(r"^        run: (.+)$", text, re.MULTILINE)
        return alone("bash", *(["-l"] if login else []), "-e", "-c", run, **given)(world)

    return oracle


PYCHARM = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<project version="4">\n  <component name="RunManager">\n    <configuration name="train" type="PythonConfigurationType" factoryName="Python">\n'
    '      <option name="PARENT_ENVS" value="{parent}" />\n      <envs>\n        <env name="PYTHONUNBUFFERED" value="1" />\n      </envs>\n      <option name="SDK_HOME" value="{env}/bin/python" />\n'
    '      <option name="WORKING_DIRECTORY" value="$PROJECT_DIR$" />\n      <option name="SCRIPT_NAME" value="$PROJECT_DIR$/main.py" />\n    </configuration>\n  </component>\n</project>\n'
)
TASKS = "from invoke import task\n\n\n@task\ndef train(c):\n{lines}"
NOX = "import nox\n\n\n@nox.session{options}\ndef train(session):\n{lines}"
POETRY = "[project]\nname = 'speech'\nversion = '0.1.0'\nrequires-python = '>=3.11'\ndependencies = ['torch']\n\n[tool.poetry]\npackage-mode = false\n"
HOOKS = "repos:\n  - repo: local\n    hooks:\n      - id: shapes\n        name: shapes\n        entry: python main.py\n        language: {language}\n        pass_filenames: false\n        always_run: true\n"
LINKS = (linked, program(ONES))


def by_direnv(world: World) -> Ran:
    """Run the person's program in the folder's own variables."""
    return alone("bash", "-c", "cd {home}/work && direnv allow . && direnv exec . python main.py")(world)


def by_poetry(world: World) -> Ran:
    """Run the program by Poetry, which knows of no environment but its own."""
    return by_tool("bash", "-c", f"cd {world.home}/work && python3 -m poetry run python main.py")(world)


def poetrys(world: World) -> None:
    """Have the environment that Poetry made for the project: by the hash of its folder."""
    import base64
    import hashlib

    folder = str((world.home / "work").resolve())
    name = base64.urlsafe_b64encode(hashlib.sha256(folder.encode()).digest()).decode()[:8]
    venv(f".cache/pypoetry/virtualenvs/speech-{name}-py3.11")(world)


def hooked(world: World) -> None:
    """Have the environment that pre-commit made for a hook of the repository itself."""
    venv(".cache/pre-commit/repoabc123/py_env-python3")(world)


def by_hook(world: World) -> Ran:
    """Run the hook: by an environment of pre-commit's own, or by what PATH has (language: system), in an activated shell."""
    own = world.home / ".cache/pre-commit/repoabc123/py_env-python3/bin"
    text = (world.home / "work/.pre-commit-config.yaml").read_text()
    first = own if "language: python" in text else Path(world.prefix, "bin")
    return alone("python", "main.py", PATH=f"{first}:{CLEAN}")(world)


def activated(world: World) -> None:
    """Work in a shell in which the environment is activated."""
    world.variables |= {"VIRTUAL_ENV": str(world.prefix), "PATH": f"{world.prefix}/bin:{CLEAN}"}


SCENES: tuple[Scene, ...] = (
    # questions about GitLab: each job is a shell of its own, on the same runner
    Scene("job-of-gitlab-beside-the-one-that-activates", "D", "torch-2.6", by_gitlab, then(*LINKS, writes(gitlab(setup="  stage: setup\n  script:\n    - source .venv/bin/activate\n    - pip install -r requirements.txt || true", train="  stage: train\n  script:\n    - python3 main.py"))), ELSEWHERE, "", ".gitlab-ci.yml", NO_TORCH),
    # questions about systemd: an activation in ExecStartPre ends with it
    Scene("service-that-activates-before-it-starts", "D", "torch-2.6", by_unit, then(*LINKS, writes({UNIT: unit_text("WorkingDirectory={home}/work\nExecStartPre=/bin/bash -c 'source {home}/work/.venv/bin/activate'\n", "/usr/bin/python3 {home}/work/main.py")})), ELSEWHERE, "", "train.service", NO_TORCH),
    # questions about Docker: a script that is run, and not sourced, activates for itself
    Scene("image-whose-script-activates-for-itself", "D", "torch-2.6", by_image, then(*LINKS, image("./activate.sh && python3 main.py")), ELSEWHERE, "", "Dockerfile", NO_TORCH),
    # https://github.com/casey/just/issues/295, #531: each line of a recipe is a shell of its own
    Scene("justfile-that-activates-in-a-line-of-its-own", "D", "torch-2.6", by_tool("just", "train"), then(*LINKS, fetches("rust-just==1.42.4"), writes({"work/justfile": "set shell := [\"bash\", \"-c\"]\n\ntrain:\n    source .venv/bin/activate\n    python3 main.py\n"})), ELSEWHERE, "", "justfile", NO_TORCH),
    # https://github.com/go-task/task/issues/204: each command is a shell of its own
    Scene("taskfile-that-activates-in-a-command-of-its-own", "D", "torch-2.6", by_tool("task", "train"), then(*LINKS, fetches("go-task-bin==3.45.4"), writes({"work/Taskfile.yml": "version: '3'\n\ntasks:\n  train:\n    desc: Train\n    cmds:\n      - bash -c 'source .venv/bin/activate'\n      - python3 main.py\n"})), ELSEWHERE, "", "Taskfile.yml", NO_TORCH),
    # a notebook that starts a program by its name: the PATH of Jupyter's server, not the kernel
    Scene("notebook-that-starts-a-program-by-name", "D", "torch-2.6", in_notebook, cells("!python3 train.py"), ELSEWHERE, "", "train.ipynb", NO_TORCH),
    # https://stackoverflow.com/questions/2231227: env= replaces all variables
    Scene("child-with-variables-of-its-own", "D", "ctranslate2", by_run, then(CT2_PATHS, writes(child("subprocess.run([sys.executable, 'train.py'], env={'CUDA_VISIBLE_DEVICES': '0'}, check=True)"), "work")), NOT_SEARCHED, "", "main.py", "libcublas"),
    # https://github.com/direnv/direnv/wiki/Python: layout python3 makes an environment of its own
    Scene("envrc-with-a-layout-of-its-own", "D", "torch-2.6", by_direnv, then(*LINKS, writes({"work/.envrc": "layout python3\n"})), ELSEWHERE, "", ".envrc", NO_TORCH),
    # https://github.com/actions/runner/issues/1126: no shell expands what stands in env
    Scene("workflow-with-a-dollar-in-its-variables", "D", "ctranslate2", by_workflow_with(variables=True), then(CT2_PATHS, program(CUBLAS), writes(workflow("    env:\n      LD_LIBRARY_PATH: $HOME/cuda/lib64:$LD_LIBRARY_PATH\n", "{env}/bin/python {home}/work/main.py"))), (*NOT_SEARCHED, *VALUE), "", "train.yml", "libcublas"),
    # questions about os.system: each call is a shell of its own
    Scene("program-that-activates-by-a-call", "D", "torch-2.6", by_run, then(linked, writes(torch_child("os.system('. .venv/bin/activate')\nos.system('python3 train.py')"), "work")), ELSEWHERE, "", "main.py", NO_TORCH),
    # https://www.pyinvoke.org/faq.html: each run is a shell of its own
    Scene("task-of-invoke-that-activates-in-a-run-of-its-own", "D", "torch-2.6", by_tool("python3", "-m", "invoke", "train"), then(*LINKS, fetches("invoke==2.2.0"), writes({"work/tasks.py": TASKS.replace("{lines}", "    c.run('source .venv/bin/activate')\n    c.run('python3 main.py')\n")})), ELSEWHERE, "", "tasks.py", NO_TORCH),
    # https://python-poetry.org/docs/managing-environments: an environment of Poetry's own, in which nothing was installed
    Scene("poetry-with-an-environment-of-its-own", "D", "torch-2.6", by_poetry, then(program(ONES), poetrys, fetches("poetry==2.1.4"), writes({"work/pyproject.toml": POETRY, **script("poetry run python main.py")})), ELSEWHERE, "", "run.sh", NO_TORCH),
    # === odd, and healthy
    Scene("odd-job-of-gitlab-that-activates-first", "healthy", "torch-2.6", by_gitlab, then(*LINKS, writes(gitlab(train="  stage: train\n  before_script:\n    - source .venv/bin/activate\n  script:\n    - python3 main.py")))),
    Scene("odd-service-that-makes-a-folder-before-it-starts", "healthy", "torch-2.6", by_unit, then(*LINKS, writes({UNIT: unit_text("WorkingDirectory={home}/work\nExecStartPre=/bin/mkdir -p {home}/work/runs\n", "{home}/work/.venv/bin/python {home}/work/main.py")}))),
    Scene("odd-image-whose-script-is-sourced", "healthy", "torch-2.6", by_image, then(*LINKS, image(". ./activate.sh && python3 main.py"))),
    Scene("odd-justfile-with-a-recipe-of-bash", "healthy", "torch-2.6", by_tool("just", "train"), then(*LINKS, fetches("rust-just==1.42.4"), writes({"work/justfile": "default: train\n\ntrain:\n    #!/usr/bin/env bash\n    set -e\n    source .venv/bin/activate\n    python3 main.py\n"}))),
    Scene("odd-taskfile-that-activates-and-starts", "healthy", "torch-2.6", by_tool("task", "train"), then(*LINKS, fetches("go-task-bin==3.45.4"), writes({"work/Taskfile.yml": "version: '3'\n\ntasks:\n  train:\n    cmds:\n      - |\n        bash -c 'source .venv/bin/activate\n        python3 main.py'\n"}))),
    Scene("odd-notebook-that-starts-a-program-by-its-kernel", "healthy", "torch-2.6", in_notebook, cells("import sys\n!{sys.executable} train.py")),
    Scene("odd-child-with-one-more-variable", "healthy", "ctranslate2", by_run, then(CT2_PATHS, writes(child("subprocess.run([sys.executable, 'train.py'], env={**os.environ, 'CUDA_VISIBLE_DEVICES': '0'}, check=True)"), "work"))),
    Scene("odd-envrc-of-the-projects-environment", "healthy", "torch-2.6", by_direnv, then(*LINKS, writes({"work/.envrc": "export VIRTUAL_ENV=$PWD/.venv\nPATH_add .venv/bin\n"}))),
    Scene("odd-workflow-with-an-expression-in-its-variables", "healthy", "torch-2.6", by_workflow, then(*LINKS, writes(workflow("    env:\n      HF_HOME: ${{ github.workspace }}/hf\n", "{env}/bin/python {home}/work/main.py")))),
    Scene("odd-program-that-activates-and-starts-in-a-call", "healthy", "torch-2.6", by_run, then(linked, writes(torch_child("os.system('. .venv/bin/activate && python3 train.py')"), "work"))),
    Scene("odd-task-of-invoke-behind-a-prefix", "healthy", "torch-2.6", by_tool("python3", "-m", "invoke", "train"), then(*LINKS, fetches("invoke==2.2.0"), writes({"work/tasks.py": TASKS.replace("{lines}", "    with c.prefix('source .venv/bin/activate'):\n        c.run('python3 main.py')\n")}))),
    Scene("odd-poetry-with-the-environment-in-the-project", "healthy", "torch-2.6", by_poetry, then(program(ONES), poetrys, linked, fetches("poetry==2.1.4"), writes({"work/pyproject.toml": POETRY, **script("poetry run python main.py")}))),
    # --- kept back while the rules were made, and scanned once
    # https://nox.thea.codes: a session has an environment of its own
    Scene("session-of-nox-without-torch", "D", "torch-2.6", by_tool("python3", "-m", "nox", "-s", "train", "--no-error-on-missing-interpreters"), then(program(ONES), fetches("nox==2025.5.1"), writes({"work/noxfile.py": NOX.replace("{options}", "").replace("{lines}", "    session.run('python', 'main.py')\n")})), ELSEWHERE, "", "noxfile.py", NO_TORCH),
    # PyCharm: "Include system environment variables" switched off
    Scene("pycharm-without-the-systems-variables", "D", "ctranslate2", by_pycharm, then(CT2_PATHS, program(CUBLAS), writes({"work/.idea/workspace.xml": PYCHARM.replace("{parent}", "false")})), NOT_SEARCHED, "", "workspace.xml", "libcublas"),
    # https://github.com/docker/cli/issues/3630: docker run takes no quotation marks off
    Scene("file-of-variables-for-docker-run-with-quotation-marks", "D", "jax", by_docker_run, then(program(JAX), writes({"work/gpu.env": '# for the container\nJAX_PLATFORMS="cpu"\nWORKERS=2\n', **script("docker run --rm --gpus all --env-file gpu.env lab:latest {env}/bin/python {home}/work/main.py")})), VALUE, "", "JAX_PLATFORMS", "cpu"),
    # === odd, and healthy
    Scene("odd-workflow-with-a-login-shell", "healthy", "torch-2.6", by_workflow_with(login=True), then(*LINKS, writes({".bash_profile": "source {home}/work/.venv/bin/activate\n", **workflow("    defaults:\n      run:\n        shell: bash -el {0}\n", "python3 main.py")}))),
    Scene("odd-session-of-nox-without-an-environment", "healthy", "torch-2.6", by_tool("bash", "-c", "PATH=.venv/bin:$PATH; python -m nox -s train"), then(*LINKS, fetches("nox==2025.5.1"), writes({"work/noxfile.py": NOX.replace("{options}", "(venv_backend='none')").replace("{lines}", "    session.run('python', 'main.py')\n")}))),
    Scene("odd-pycharm-with-the-systems-variables", "healthy", "ctranslate2", by_pycharm, then(CT2_PATHS, program(CUBLAS), writes({"work/.idea/workspace.xml": PYCHARM.replace("{parent}", "true")}))),
    Scene("odd-hook-of-the-system", "healthy", "torch-2.6", by_hook, then(program(ONES), hooked, activated, writes({"work/.pre-commit-config.yaml": HOOKS.replace("{language}", "system")}))),
    Scene("odd-file-of-variables-for-compose-with-quotation-marks", "healthy", "jax", by_compose, then(program(JAX), writes({"work/gpu.env": '# for the container\nJAX_PLATFORMS="cpu"\nWORKERS=2\n', "work/compose.yaml": "services:\n  train:\n    image: lab:latest\n    env_file: gpu.env\n    working_dir: {home}/work\n    command: {env}/bin/python main.py\n"}))),
    Scene("odd-script-that-hands-its-python-to-systemd", "healthy", "torch-2.6", by_run, then(*LINKS, activated, writes(script("systemd-run --user --working-directory={home}/work {home}/work/.venv/bin/python main.py")))),
)  # fmt: skip
