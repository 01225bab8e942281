"""What people start programs with every day (class D): written before a scan had seen any of them.

Where a starter is not here (sudo, Slurm, Airflow, pyenv), a program with what its documentation says it gives is the oracle.
"""

from __future__ import annotations

import json
import re
import sys

from tests.worldlab.environments import uv
from tests.worldlab.scene import Oracle, Ran, Scene, World, then
from tests.worldlab.scenes.held_out import CT2_PATHS, CUBLAS, NOT_SEARCHED
from tests.worldlab.scenes.held_out_8 import JAX, ONES, Plant, sets, writes
from tests.worldlab.scenes.held_out_10 import another_environment
from tests.worldlab.scenes.held_out_15 import by_run, by_script, said_by
from tests.worldlab.scenes.held_out_17_machines import UBUNTUS, accelerated, activated, notebook, script
from tests.worldlab.scenes.held_out_19_machines import crontab
from tests.worldlab.scenes.starters import by_unit, program, runnable, unit_text

ELSEWHERE = ("wrong_environment_active", "process_env_not_inherited")
BROKEN = ("requirement_broken",)
VALUE = ("variable_value_wrong",)
UNIT = ".config/systemd/user/train.service"
NO_TORCH = "No module named 'torch'"

# --- how programs are started -------------------------------------------------------------------------------------------


def alone(*words: str, **given: str) -> Oracle:
    """Run a command with few variables, as what starts it by itself gives them; ``{home}`` and ``{env}`` are the scene's."""

    def oracle(world: World) -> Ran:
        def filled(text: str) -> str:
            return text.replace("{home}", str(world.home)).replace("{env}", str(world.prefix))

        clean = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(world.home), "LANG": "C.UTF-8", **given}
        return said_by(world, ["env", "-i", *(f"{n}={filled(v)}" for n, v in clean.items()), *map(filled, words)])

    return oracle


def shelled(text: str, **given: str) -> Oracle:
    """Run a line in a shell of its own, in the person's folder."""
    return alone("bash", "-c", text, **given)


def by_cron(world: World) -> Ran:
    """Run the one job as cron does: what stands behind a percent sign is no part of the command (crontab(5))."""
    lines = [w for w in (world.home / "work/crontab").read_text().splitlines() if w and not w.startswith("#")]
    given = [w for w in lines if re.match(r"\w+ *=", w)]
    (job,) = (re.sub(r"^(@\w+|(\S+\s+){5})\s*", "", w) for w in lines if w not in given)
    command = re.split(r"(?<!\\)%", job)[0].replace("\\%", "%")
    shell = next((w.partition("=")[2] for w in given if w.startswith("SHELL=")), "/bin/sh")
    return said_by(world, ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", *given, shell, "-c", command])


def in_kernel(name: str) -> Oracle:
    """Run the notebook's cells in a kernel of the person's."""

    def oracle(world: World) -> Ran:
        (told,) = (json.loads(p.read_text()) for p in (world.home / "work").glob("*.ipynb"))
        spec = json.loads((world.home / f".local/share/jupyter/kernels/{name}/kernel.json").read_text())
        cells = "\n".join("".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code")
        return said_by(world, [spec["argv"][0], "-c", cells])

    return oracle


TMUX = ("tmux", "-S", "{home}/.tmux-socket")


def in_tmux(world: World) -> Ran:
    """Run what the script lets tmux start, with a socket of its own."""
    text = (world.home / "work/run.sh").read_text()
    (inner,) = re.findall(r'tmux new-session -d -s \w+ "(.*)"', text)
    words = [w.replace("{home}", str(world.home)) for w in TMUX]
    inner = f"cd {world.home}/work; {inner} >out 2>&1; tmux wait-for -S over"
    world.run(
        [
            *words,
            "new-session",
            "-d",
            "-s",
            "x",
            "cat",
            ";",
            "new-window",
            inner,
            ";",
            "wait-for",
            "over",
            ";",
            "kill-server",
        ]
    )
    said = (world.home / "work/out").read_text()
    return Ran(ok="this works" in said, said=said)


# --- what people do -----------------------------------------------------------------------------------------------------

LOCAL = sets(PATH="{home}/.local/bin:/usr/local/bin:/usr/bin:/bin")
RUNS_A_FILE = "import runpy, sys\n\n\ndef main():\n    sys.argv = [a for a in sys.argv if a.endswith('.py')]\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
PYTEST = "tests/test_main.py"


def tool(name: str, where: str = ".local/share/uv/tools", module: str = "") -> Plant:
    """Have a tool in an environment of its own, as ``uv tool install`` and ``pipx install`` make it: it runs the file that it is given."""

    def plant(world: World) -> None:
        folder = world.home / where / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        uv("venv", "--quiet", "--python", sys.executable, str(folder))
        (site,) = folder.glob("lib/python3*/site-packages")
        (site / (module or name)).mkdir()
        (site / (module or name) / "__init__.py").write_text(RUNS_A_FILE)
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[console_scripts]\n{name} = {module or name}:main\n")
        own = folder / "bin" / name
        own.write_text(
            f"#!{folder}/bin/python\nimport sys\nfrom {module or name} import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
        )
        own.chmod(0o755)
        (world.home / ".local/bin").mkdir(parents=True, exist_ok=True)
        (world.home / ".local/bin" / name).symlink_to(own)

    return plant


def of_the_system(name: str, line: str) -> Plant:
    """Have a script of ``pip install --user``, which the system's Python runs."""
    return then(
        writes(
            {
                f".local/bin/{name}": f"#!/usr/bin/python3\nimport re\nimport sys\n{line}\nif __name__ == '__main__':\n    sys.exit(main())\n"
            }
        ),
        runnable(f".local/bin/{name}"),
    )


CONDA_BLOCK = (
    "# >>> conda initialize >>>\n__conda_setup=\"$('{home}/miniconda3/bin/conda' 'shell.bash' 'hook' 2> /dev/null)\"\n"
    'if [ $? -eq 0 ]; then\n    eval "$__conda_setup"\nelse\n    export PATH="{home}/miniconda3/bin:$PATH"\nfi\nunset __conda_setup\n# <<< conda initialize <<<\n'
)
MINICONDA = {
    "miniconda3/bin/conda": "#!/bin/sh\necho 'conda() { export PATH={env}/bin:$PATH; }'\n",
    "miniconda3/conda-meta/history": "",
}
CONDA = then(writes({**MINICONDA, ".bashrc": UBUNTUS + CONDA_BLOCK}), runnable("miniconda3/bin/conda"))
"""conda init's lines at the end of a start-up file that a shell of no terminal leaves early."""
CONDA_FIRST = then(writes({**MINICONDA, ".bashrc": CONDA_BLOCK}), runnable("miniconda3/bin/conda"))
DAG = "from airflow import DAG\nfrom airflow.operators.bash import BashOperator\n\nwith DAG('nightly') as dag:\n    BashOperator(task_id='train', bash_command='{command}'{more})\n"
EXTERNAL = (
    "from airflow.decorators import dag, task\n\n\n@task.external_python(python='{python}')\ndef train():\n    import torch\n\n    torch.ones(1)\n\n\n"
    "@dag(schedule='@daily')\ndef nightly():\n    train()\n\n\nnightly()\n"
)
OPERATOR = (
    "from airflow import DAG\nfrom airflow.operators.python import ExternalPythonOperator\n\n\ndef train():\n    import torch\n\n    torch.ones(1)\n\n\n"
    "with DAG('nightly') as dag:\n    ExternalPythonOperator(task_id='train', python='{python}', python_callable=train)\n"
)
PYCHARM = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<project version="4">\n  <component name="RunManager">\n    <configuration name="train" type="PythonConfigurationType" factoryName="Python">\n'
    '      <option name="SDK_HOME" value="{python}" />\n      <option name="WORKING_DIRECTORY" value="$PROJECT_DIR$" />\n      <option name="SCRIPT_NAME" value="$PROJECT_DIR$/main.py" />\n    </configuration>\n  </component>\n</project>\n'
)
TASKS = '{"version": "2.0.0", "tasks": [{"label": "train", "type": "shell", "command": "{python}", "args": ["main.py"], "options": {"cwd": "${workspaceFolder}"}}]}\n'
CONDOR = "universe = vanilla\nexecutable = {python}\narguments = {home}/work/main.py\n{more}request_gpus = 1\noutput = train.out\nlog = train.log\nqueue\n"
SBATCH = "#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --gres=gpu:1\n\ncd {home}/work\n{line}\n"


def toxed(world: World) -> None:
    """Have the environment that tox made, of which nobody told that it needs PyTorch."""
    (world.home / "work/.tox").mkdir()
    uv("venv", "--quiet", "--python", sys.executable, str(world.home / "work/.tox/train"))


PACKAGE = {"work/src/model.py": "import jax\n\n\ndef net():\n    return jax\n", "work/src/__init__.py": ""}
USES = "from src.model import net\n\nnet()"
ASKS = "import os\nimport jax\n\nmodels = os.environ['MODEL_DIR']"
EXPORTS = f"{UBUNTUS}export MODEL_DIR={{home}}/models\n"
CHILD = "import subprocess\n\nsubprocess.run(['python3', 'main.py'], check=True)\n"
WORKFLOW = "name: train\non: push\njobs:\n  train:\n    runs-on: [self-hosted, gpu]\n    steps:\n      - run: source {env}/bin/activate\n      - name: train\n        run: python3 main.py\n"


def below(code: str) -> Plant:
    """Have a notebook in a folder of the project, with the environment's kernel."""
    files = notebook(code, dl="{env}/bin/python")
    return then(
        program(code), writes({**PACKAGE, **files, "work/notebooks/train.ipynb": files.pop("work/train.ipynb")})
    )


def in_its_folder(world: World) -> Ran:
    """Run the notebook's cells as its kernel does: in the notebook's folder."""
    told = json.loads((world.home / "work/notebooks/train.ipynb").read_text())
    cells = "\n".join("".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code")
    return said_by(world, ["env", "-C", str(world.home / "work/notebooks"), str(world.python), "-c", cells])


TEST = writes(
    {
        "work/test_main.py": "import torch\n\n\ndef test_ones():\n    assert torch.ones(1) == 1\n\n\nprint('this works')\n"
    },
    "work",
)
PLAIN_TEST = writes(
    {
        "work/test_main.py": "import json\n\n\ndef test_nothing():\n    assert json.loads('1') == 1\n\n\nprint('this works')\n"
    },
    "work",
)

SCENES: tuple[Scene, ...] = (
    # === tools in environments of their own
    Scene("app-by-the-streamlit-of-uv", "D", "torch-2.6", by_script, then(program(ONES), tool("streamlit"), LOCAL, writes(script("streamlit run main.py"))), ELSEWHERE, "", "streamlit", NO_TORCH),
    Scene("tests-by-the-pytest-of-pipx", "D", "torch-2.6", shelled("cd {home}/work && {home}/.local/bin/pytest test_main.py"), then(TEST, tool("pytest", ".local/share/pipx/venvs"), activated, writes({"work/Makefile": "test:\n\tpytest test_main.py\n"}), lambda w: w.variables.update(PATH=f"{w.prefix}/bin:{w.home}/.local/bin:/usr/bin:/bin")), ELSEWHERE, "", "pytest", NO_TORCH),
    Scene("torchrun-of-the-user", "D", "torch-2.6", by_script, then(program(ONES), of_the_system("torchrun", "from torch.distributed.run import main"), activated, lambda w: w.variables.update(PATH=f"{w.home}/.local/bin:{w.variables['PATH']}"), writes(script("torchrun --nproc_per_node=1 main.py"))), ELSEWHERE, "", "torchrun", NO_TORCH),
    Scene("service-of-the-users-gunicorn", "D", "torch-2.6", alone("{home}/.local/bin/gunicorn", "main:app"), then(program(ONES), of_the_system("gunicorn", "def main():\n    sys.path.insert(0, '.')\n    import main"), writes({UNIT: unit_text("WorkingDirectory={home}/work\n", "{home}/.local/bin/gunicorn -b :8000 main:app")})), ELSEWHERE, "", "train.service", NO_TORCH),
    Scene("notebook-by-the-kernel-of-papermill", "D", "torch-2.6", in_kernel("course"), then(program(ONES), another_environment(".venvs/course"), writes({**notebook(ONES, course="{home}/.venvs/course/bin/python"), **script("papermill train.ipynb out.ipynb -k course")})), ELSEWHERE, "", "course", NO_TORCH),
    # === jobs
    Scene("job-submitted-without-variables", "D", "ctranslate2", alone("{env}/bin/python", "{home}/work/main.py"), then(CT2_PATHS, program(CUBLAS), writes({"work/train.sbatch": SBATCH.replace("{line}", "{env}/bin/python main.py"), **script("sbatch --export=NONE train.sbatch")})), NOT_SEARCHED, "ctranslate2", "run.sh", "libcublas"),
    Scene("job-submitted-with-a-flag", "D", "jax", alone("{env}/bin/python", "{home}/work/main.py", JAX_PLATFORMS="gpuu"), then(program(JAX), writes({"work/train.sbatch": SBATCH.replace("{line}", "{env}/bin/python main.py"), **script("sbatch --export=ALL,JAX_PLATFORMS=gpuu train.sbatch")})), VALUE, "", "JAX_PLATFORMS", "gpuu"),
    Scene("job-without-variables-by-name", "D", "torch-2.6", alone("python3", "{home}/work/main.py"), then(program(ONES), activated, writes({"work/train.sbatch": SBATCH.replace("#SBATCH --gres", "#SBATCH --export=NONE\n#SBATCH --gres").replace("{line}", "python3 main.py")})), ELSEWHERE, "", "train.sbatch", NO_TORCH),
    Scene("job-of-condor", "D", "torch-2.6", alone("/usr/bin/python3", "{home}/work/main.py"), then(program(ONES), writes({"work/train.sub": CONDOR.replace("{python}", "/usr/bin/python3").replace("{more}", "getenv = true\n")})), ELSEWHERE, "", "train.sub", NO_TORCH),
    Scene("job-of-condor-without-variables", "D", "ctranslate2", alone("{env}/bin/python", "{home}/work/main.py"), then(CT2_PATHS, program(CUBLAS), writes({"work/train.sub": CONDOR.replace("{python}", "{env}/bin/python").replace("{more}", "")})), NOT_SEARCHED, "ctranslate2", "train.sub", "libcublas"),
    # === Airflow
    Scene("dag-beside-the-program", "D", "torch-2.6", alone("/usr/bin/python3", "{home}/work/main.py"), then(program(ONES), writes({"work/dags/nightly.py": DAG.replace("{command}", "/usr/bin/python3 {home}/work/main.py").replace("{more}", "")})), ELSEWHERE, "", "nightly.py", NO_TORCH),
    Scene("dag-of-the-person", "D", "jax", alone("{env}/bin/python", "{home}/work/main.py", JAX_PLATFORMS="gpuu"), then(program(JAX), writes({"airflow/airflow.cfg": "[core]\ndags_folder = {home}/airflow/dags\n", "airflow/dags/nightly.py": DAG.replace("{command}", "{env}/bin/python {home}/work/main.py").replace("{more}", ", append_env=True, env={'JAX_PLATFORMS': 'gpuu'}")})), VALUE, "", "nightly.py", "gpuu"),
    Scene("dag-in-another-environment", "D", "torch-2.6", alone("{home}/.venvs/etl/bin/python", "-c", ONES), then(program(ONES), another_environment(".venvs/etl"), writes({"work/dags/nightly.py": EXTERNAL.replace("{python}", "{home}/.venvs/etl/bin/python")})), ELSEWHERE, "", "nightly.py", NO_TORCH),
    Scene("dag-by-an-operator-in-another-environment", "D", "torch-2.6", alone("{home}/.venvs/etl/bin/python", "-c", ONES), then(program(ONES), another_environment(".venvs/etl"), writes({"work/dags/nightly.py": OPERATOR.replace("{python}", "{home}/.venvs/etl/bin/python")})), ELSEWHERE, "", "nightly.py", NO_TORCH),
    # === conda in shells that have no function of it
    Scene("cron-by-bash-without-conda", "D", "torch-2.6", by_cron, then(program(ONES), CONDA, writes(crontab("0 3 * * * bash -c 'conda activate ml && cd {home}/work && python main.py'"))), ELSEWHERE, "", "crontab", "conda: command not found"),
    Scene("service-by-bash-without-conda", "D", "torch-2.6", by_unit, then(program(ONES), CONDA, writes({UNIT: unit_text("WorkingDirectory={home}/work\n", "/bin/bash -c 'conda activate ml && python3 main.py'")})), ELSEWHERE, "", "train.service", "conda: command not found"),
    Scene("make-by-bash-without-conda", "D", "torch-2.6", shelled("cd {home}/work && make train"), then(program(ONES), CONDA, writes({"work/Makefile": "train:\n\tbash -c \"conda activate ml && python3 main.py\"\n"})), ELSEWHERE, "", "Makefile", "conda: command not found"),
    Scene("service-by-bash-and-a-bashrc-that-ends", "D", "torch-2.6", by_unit, then(program(ONES), CONDA, writes({UNIT: unit_text("WorkingDirectory={home}/work\n", "/bin/bash -c 'source {home}/.bashrc && conda activate ml && python3 main.py'")})), ELSEWHERE, "", "train.service", "conda: command not found"),
    Scene("make-with-condas-function-in-no-shell", "D", "torch-2.6", shelled("cd {home}/work && make train"), then(program(ONES), CONDA, writes({"work/Makefile": "SHELL := /bin/bash\ntrain:\n\tconda activate ml && python3 main.py\n"})), ELSEWHERE, "", "Makefile", "conda: command not found"),
    # === direnv, pyenv, tmux, sudo
    Scene("direnv-beside-the-active-environment", "D", "torch-2.6", shelled("cd {home}/work && direnv allow . && direnv exec . python main.py", PATH="{env}/bin:/usr/local/bin:/usr/bin:/bin"), then(program(ONES), another_environment("work/.venv"), activated, writes({"work/.envrc": "source .venv/bin/activate\n"})), ELSEWHERE, "", ".envrc", NO_TORCH),
    Scene("session-of-tmux-by-name", "D", "torch-2.6", in_tmux, then(program(ONES), writes(script('tmux new-session -d -s train "/usr/bin/python3 main.py"'))), ELSEWHERE, "", "run.sh", NO_TORCH),
    Scene("script-with-sudo-by-name", "D", "torch-2.6", alone("python3", "{home}/work/main.py"), then(program(ONES), activated, writes(script("sudo python3 main.py"))), ELSEWHERE, "", "run.sh", NO_TORCH),
    # === services, cron, editors
    Scene("supervisor-by-name", "D", "torch-2.6", alone("python3", "{home}/work/main.py"), then(program(ONES), writes({"work/supervisord.conf": "[supervisord]\nnodaemon=true\n\n[program:train]\ncommand=/usr/bin/python3 main.py\ndirectory={home}/work\n"})), ELSEWHERE, "", "supervisord.conf", NO_TORCH),
    Scene("cron-with-a-percent-sign", "D", "torch-2.6", by_cron, then(program(ONES), writes(crontab("0 3 * * * cd {home}/work && {env}/bin/python main.py --date $(date +%F) >> train.log 2>&1; cat train.log"))), (*ELSEWHERE, *VALUE), "", "crontab"),
    Scene("service-with-the-folder-of-an-environment-alone", "D", "torch-2.6", by_unit, then(program(ONES), writes({UNIT: unit_text("WorkingDirectory={home}/work\nEnvironment=VIRTUAL_ENV={env}\n", "/usr/bin/env python3 {home}/work/main.py")})), ELSEWHERE, "", "train.service", NO_TORCH),
    Scene("service-with-two-variables-in-one", "D", "jax", by_unit, then(program(JAX), writes({UNIT: unit_text('WorkingDirectory={home}/work\nEnvironment="JAX_PLATFORMS=cpu JAX_ENABLE_X64=1"\n')})), VALUE, "", "train.service", "JAX_ENABLE_X64=1"),
    Scene("pycharm-with-the-systems-python", "D", "torch-2.6", alone("/usr/bin/python3", "{home}/work/main.py"), then(program(ONES), writes({"work/.idea/workspace.xml": PYCHARM.replace("{python}", "/usr/bin/python3")})), ELSEWHERE, "", "workspace.xml", NO_TORCH),
    Scene("task-of-code-with-the-systems-python", "D", "torch-2.6", alone("/usr/bin/python3", "{home}/work/main.py"), then(program(ONES), writes({"work/.vscode/tasks.json": TASKS.replace("{python}", "/usr/bin/python3")})), ELSEWHERE, "", "tasks.json", NO_TORCH),
    Scene("tox-without-torch", "D", "torch-2.6", shelled("cd {home}/work && .tox/train/bin/python main.py"), then(program(ONES), toxed, writes({"work/tox.ini": "[tox]\nenv_list = train\nskipsdist = true\n\n[testenv:train]\ndeps =\n    numpy\ncommands = python main.py\n"})), ELSEWHERE, "", "tox.ini", NO_TORCH),
    Scene("ranks-with-the-libraries-of-before", "D", "ctranslate2", alone("{env}/bin/python", "{home}/work/main.py", LD_LIBRARY_PATH="/opt/cuda-11.8/lib64"), then(CT2_PATHS, program(CUBLAS), writes(script("mpirun -np 2 --hostfile hosts -x LD_LIBRARY_PATH=/opt/cuda-11.8/lib64 {env}/bin/python main.py"))), NOT_SEARCHED, "ctranslate2", "run.sh", "libcublas"),
    Scene("accelerate-in-eight-bits", "D", "hub", shelled("cd {home}/work && {env}/bin/accelerate launch main.py"), then(program("import torch\nfrom accelerate import Accelerator\nAccelerator()"), writes({".cache/huggingface/accelerate/default_config.yaml": "compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: 'NO'\nmachine_rank: 0\nmain_training_function: main\nmixed_precision: fp8\nnum_machines: 1\nnum_processes: 1\nuse_cpu: true\n"})), (*BROKEN, *VALUE), "", "default_config.yaml"),
    # === what an option, a folder above, a child or a step leaves out
    Scene("make-by-an-isolated-python", "D", "jax", shelled("cd {home}/work && make train"), then(program(f"import jax\n{USES}"), writes({**PACKAGE, "work/Makefile": "train:\n\t{env}/bin/python -I main.py\n"})), ELSEWHERE, "", "Makefile", "No module named 'src'"),
    Scene("notebook-below-its-package", "D", "jax", in_its_folder, below(f"import jax\n{USES}"), ELSEWHERE, "", "train.ipynb", "No module named 'src'"),
    Scene("service-that-starts-a-child-by-name", "D", "jax", by_unit, then(program(JAX), writes({"work/run.py": CHILD, UNIT: unit_text("WorkingDirectory={home}/work\n", "{env}/bin/python run.py")})), ELSEWHERE, "", "run.py", "No module named 'jax'"),
    Scene("workflow-with-an-activation-in-a-step", "D", "jax", shelled("cd {home}/work && bash -c 'source {env}/bin/activate' && python3 main.py"), then(program(JAX), writes({"work/.github/workflows/train.yml": WORKFLOW})), ELSEWHERE, "", "train.yml", "No module named 'jax'"),
    Scene("service-with-a-path-for-a-bare-name", "D", "jax", alone("/usr/bin/python3", "{home}/work/main.py"), then(program(JAX), writes({UNIT: unit_text("WorkingDirectory={home}/work\nEnvironment=PATH={env}/bin:/usr/bin:/bin\n", "python3 main.py")})), ELSEWHERE, "", "train.service", "No module named 'jax'"),
    Scene("job-without-the-variable-of-bashrc", "D", "jax", by_cron, then(program(ASKS), writes({".bashrc": EXPORTS, **crontab("0 3 * * * cd {home}/work && {env}/bin/python main.py")})), ELSEWHERE, "", "MODEL_DIR", "KeyError: 'MODEL_DIR'"),
    Scene("make-that-goes-to-a-folder-for-one-line", "D", "jax", shelled("cd {home}/work && make train"), writes({"work/src/train.py": f"{JAX}\nprint('this works')\n", "work/Makefile": "train:\n\tcd src\n\t{env}/bin/python train.py\n"}, "work"), ELSEWHERE, "", "Makefile", "can't open file"),
    Scene("service-with-a-value-that-a-blank-ends", "D", "jax", alone("{env}/bin/python", "{home}/work/main.py", PYTHONPATH="{home}/work/my"), then(program("import jax\nimport layers"), writes({"work/my libs/layers.py": "", UNIT: unit_text("WorkingDirectory={home}/work\nEnvironment=PYTHONPATH={home}/work/my libs\n")})), VALUE, "", "train.service", "No module named 'layers'"),
    # === odd, and healthy
    Scene("odd-make-by-an-isolated-python", "healthy", "jax", shelled("cd {home}/work && make train"), then(program(JAX), writes({**PACKAGE, "work/Makefile": "train:\n\t{env}/bin/python -I main.py\n"}))),
    Scene("odd-notebook-that-goes-to-its-package", "healthy", "jax", in_its_folder, below(f"import os\nimport jax\nos.chdir('..')\n{USES}")),
    Scene("odd-job-with-another-value-for-none", "healthy", "jax", by_cron, then(program(ASKS.replace("os.environ['MODEL_DIR']", "os.environ.get('MODEL_DIR', '/srv')")), writes({".bashrc": EXPORTS, **crontab("0 3 * * * cd {home}/work && {env}/bin/python main.py")}))),
    Scene("odd-make-that-goes-there-and-starts", "healthy", "jax", shelled("cd {home}/work && make train"), writes({"work/src/train.py": f"{JAX}\nprint('this works')\n", "work/Makefile": "train:\n\tcd src && \\\n\t{env}/bin/python train.py\n"}, "work")),
    Scene("odd-tests-of-nothing-by-the-pytest-of-pipx", "healthy", "torch-2.6", shelled("cd {home}/work && {home}/.local/bin/pytest test_main.py"), then(PLAIN_TEST, tool("pytest", ".local/share/pipx/venvs"), activated, writes({"work/Makefile": "test:\n\tpytest test_main.py\n"}))),
    Scene("odd-tools-of-uv-beside-the-program", "healthy", "torch-2.6", by_run, then(program(ONES), tool("ruff"), tool("httpie"), LOCAL, writes(script("ruff check main.py\nhttpie main.py\n{env}/bin/python main.py")))),
    Scene("odd-torchrun-of-the-environment", "healthy", "torch-2.6", by_run, then(program(ONES), of_the_system("torchrun", "from torch.distributed.run import main"), activated, writes(script("source {env}/bin/activate\ntorchrun --nproc_per_node=1 main.py")))),
    Scene("odd-torchrun-that-waits-for-its-activation", "healthy", "torch-2.6", by_run, then(program(ONES), of_the_system("torchrun", "from torch.distributed.run import main"), LOCAL, writes(script("torchrun --nproc_per_node=1 main.py")))),
    Scene("odd-job-without-variables-that-has-its-own", "healthy", "ctranslate2", shelled("cd {home}/work && export LD_LIBRARY_PATH=$(echo {env}/lib/python3*/site-packages/nvidia/*/lib | tr ' ' ':'); {env}/bin/python main.py"), then(CT2_PATHS, program(CUBLAS), writes({"work/train.sbatch": SBATCH.replace("{line}", "export LD_LIBRARY_PATH={env}/lib/python3.11/site-packages/nvidia/cublas/lib:{env}/lib/python3.11/site-packages/nvidia/cudnn/lib\n{env}/bin/python main.py"), **script("sbatch --export=NONE train.sbatch")}))),
    Scene("odd-dag-of-the-environment", "healthy", "torch-2.6", by_run, then(program(ONES), writes({"work/dags/nightly.py": DAG.replace("{command}", "{env}/bin/python {home}/work/main.py").replace("{more}", ", append_env=True, env={'OMP_NUM_THREADS': '4'}"), "work/dags/etl.py": EXTERNAL.replace("{python}", "{env}/bin/python")}))),
    Scene("odd-dag-that-only-moves-files", "healthy", "torch-2.6", by_run, then(program(ONES), another_environment(".venvs/etl"), writes({"work/dags/nightly.py": OPERATOR.replace("{python}", "{home}/.venvs/etl/bin/python").replace("    import torch\n\n    torch.ones(1)\n", "    import shutil\n\n    shutil.move('a', 'b')\n")}))),
    Scene("odd-cron-with-an-escaped-percent-sign", "healthy", "torch-2.6", by_cron, then(program(ONES), writes(crontab("0 3 * * * cd {home}/work && {env}/bin/python main.py --date $(date +\\%F)")))),
    Scene("odd-service-by-an-interactive-bash-with-conda", "healthy", "torch-2.6", by_unit, then(program(ONES), CONDA, writes({UNIT: unit_text("WorkingDirectory={home}/work\n", "/bin/bash -ic 'conda activate ml && python main.py'")}))),
    Scene("odd-cron-by-bash-with-condas-lines-first", "healthy", "torch-2.6", by_cron, then(program(ONES), CONDA_FIRST, writes(crontab("0 3 * * * bash -c 'source {home}/.bashrc && conda activate ml && cd {home}/work && python main.py'")))),
    Scene("odd-direnv-of-the-active-environment", "healthy", "torch-2.6", by_run, then(program(ONES), lambda w: (w.home / "work/.venv").symlink_to(w.prefix), activated, writes({"work/.envrc": "source .venv/bin/activate\n"}))),
    Scene("odd-sudo-by-the-whole-path", "healthy", "torch-2.6", by_run, then(program(ONES), activated, writes(script("sudo {env}/bin/python main.py")))),
    Scene("odd-tox-that-needs-nothing", "healthy", "torch-2.6", by_run, then(program(ONES), toxed, writes({"work/tox.ini": "[tox]\nenv_list = train\nskipsdist = true\n\n[testenv:train]\ndeps =\n    ruff\ncommands = ruff check .\n"}))),
    Scene("odd-job-of-condor", "healthy", "torch-2.6", by_run, then(program(ONES), writes({"work/train.sub": CONDOR.replace("{python}", "{env}/bin/python").replace("{more}", "")}))),
    Scene("odd-answers-for-accelerate", "healthy", "hub", by_run, then(program("import torch\nfrom accelerate import Accelerator\nAccelerator(cpu=True)"), writes(accelerated("NO", "num_processes: 1\n")))),
    Scene("odd-pycharm-with-a-second-configuration", "healthy", "torch-2.6", by_run, then(program(ONES), writes({"work/.idea/workspace.xml": PYCHARM.replace("{python}", "{env}/bin/python")}))),
)  # fmt: skip
