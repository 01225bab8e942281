"""Files that set variables, with a word that their reader does not replace: ``~``, ``$HOME``, a quotation mark (class D).

Each oracle gives the program what the file's own reader makes of the line, by that reader's documentation or, for make, by itself.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable

from tests.worldlab.scene import Oracle, Ran, Scene, World, then
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_12 import by_cron, crontab
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.held_out_16_machines import RUN_IN_DOCKER, by_docker_run
from tests.worldlab.scenes.held_out_17 import CUPYS, KERNEL, NOT_SEARCHED, SETS, SHELLS, VALUE
from tests.worldlab.scenes.starters import by_unit, program, started, unit_text

UNFOUND = (*NOT_SEARCHED, *VALUE, "nvrtc_missing_or_mismatch", "cuda_runtime_missing")
NAME = "LD_LIBRARY_PATH"
LETTERS = ("~/cuda-12.8/lib64", "$HOME/cuda-12.8/lib64")


def given(file: str, read: Callable[[str, World], list[str]]) -> Oracle:
    """Run the program with what the reader of a file makes of it, and with none of the shell's own variables."""

    def oracle(world: World) -> Ran:
        words = read((world.home / file).read_text(), world)
        clean = ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={world.home}", f"CUDA_PATH={world.home}/cuda-12.8"]
        return said_by(world, ["env", "-i", *clean, *words])

    return oracle


def of_desktop(text: str, _world: World) -> list[str]:
    """Return what a desktop runs: the words of Exec, in which nothing is replaced but its own codes (Desktop Entry Specification)."""
    (told,) = re.findall(r"^Exec=(.*)$", text, re.MULTILINE)
    return shlex.split(told)


def of_kernel(text: str, world: World) -> list[str]:
    """Return what Jupyter starts: names behind a dollar are replaced in ``env``, and a tilde is not (jupyter_client)."""
    told = json.loads(text)
    filled = {
        n: v.replace("${HOME}", str(world.home)).replace("$HOME", str(world.home)) for n, v in told["env"].items()
    }
    return [*(f"{n}={v}" for n, v in filled.items()), told["argv"][0], "main.py"]


def of_launch(text: str, world: World) -> list[str]:
    """Return what F5 starts: ``${env:NAME}`` alone is replaced."""
    told = json.loads(text)["configurations"][0]
    return [
        *(f"{n}={v.replace('${env:HOME}', str(world.home))}" for n, v in told["env"].items()),
        told["python"],
        "main.py",
    ]


def of_slurm(text: str, _world: World) -> list[str]:
    """Return what Slurm runs: the names and values of ``--export`` as they are."""
    (told,) = re.findall(r"^#SBATCH --export=(.*)$", text, re.MULTILINE)
    return [*[w for w in told.split(",") if "=" in w], "bash", "train.sbatch"]


def of_dotenv(text: str, world: World) -> list[str]:
    """Return what ``dotenv run`` starts: ``${NAME}`` alone is replaced (python-dotenv)."""
    filled = text.replace("${HOME}", str(world.home))
    return [*(w for w in filled.splitlines() if "=" in w and not w.startswith("#")), str(world.python), "main.py"]


def of_conda(text: str, world: World) -> list[str]:
    """Return what an activated environment of conda's has: its variables as they are kept."""
    return [*(f"{n}={v}" for n, v in json.loads(text)["env_vars"].items()), str(world.python), "main.py"]


def kernelspec(value: str) -> Plant:
    """Have a kernel with a variable."""
    told = {
        "argv": ["{env}/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "CUDA",
        "language": "python",
        "env": {NAME: value},
    }
    return writes({".local/share/jupyter/kernels/cuda/kernel.json": json.dumps(told, indent=1)})


def launch(value: str) -> Plant:
    """Have a configuration of VS Code's with a variable."""
    told = {
        "name": "Train",
        "type": "debugpy",
        "request": "launch",
        "program": "${workspaceFolder}/main.py",
        "python": "{env}/bin/python",
        "env": {NAME: value},
    }
    return writes({"work/.vscode/launch.json": json.dumps({"version": "0.2.0", "configurations": [told]}, indent=4)})


def made(line: str) -> Plant:
    """Have a makefile that exports a variable."""
    return writes({"work/Makefile": f"{line}\n\n.PHONY: run\nrun:\n\t{{env}}/bin/python main.py\n"})


def entry(value: str) -> Plant:
    """Have a starter on the desktop."""
    text = f'[Desktop Entry]\nType=Application\nName=Training\nPath={{home}}/work\nExec=env "{NAME}={value}" {{env}}/bin/python {{home}}/work/main.py\n'
    return writes({".local/share/applications/training.desktop": text})


def service(value: str) -> Plant:
    """Have a service of the person's own with a variable."""
    return writes({".config/systemd/user/train.service": unit_text(f"WorkingDirectory=%h/work\nEnvironment={NAME}={value} CUDA_PATH=%h/cuda-12.8\n")})  # fmt: skip


def batch(value: str) -> Plant:
    """Have a job whose variables its first lines name."""
    return writes({"work/train.sbatch": f"#!/bin/bash\n#SBATCH --gres=gpu:1\n#SBATCH --export=NONE,CUDA_PATH={{home}}/cuda-12.8,{NAME}={value}\ncd {{home}}/work\n{{env}}/bin/python main.py\n"})  # fmt: skip


def of_file(value: str) -> Plant:
    """Have a script that starts the program with a file of variables."""
    return writes({"work/gpu.env": f"# for the GPU\n{NAME}={value}\n", "work/run.sh": "#!/bin/bash\nset -e\ncd {home}/work\n{env}/bin/dotenv -f gpu.env run -- {env}/bin/python main.py\n"}, mode=0o755)  # fmt: skip


def docker(value: str) -> Plant:
    """Have a script that starts a container with a file of variables."""
    return writes({**RUN_IN_DOCKER, "work/gpu.env": f"CUDA_PATH={{home}}/cuda-12.8\n{NAME}={value}\n"})


def nightly(value: str) -> Plant:
    """Have a job of cron's with a variable."""
    return crontab(
        f"CUDA_PATH = {{home}}/cuda-12.8\n{NAME} = {value}\n15 3 * * * cd {{home}}/work && {{env}}/bin/python main.py 2>&1\n"
    )


def kept(value: str) -> Plant:
    """Make the environment one of conda's, with a variable."""

    def plant(world: World) -> None:
        meta = world.prefix / "conda-meta"
        meta.mkdir()
        (meta / "history").write_text("==> 2026-04-01 08:00:00 <==\n")
        (meta / "state").write_text(json.dumps({"env_vars": {NAME: value.replace("{home}", str(world.home))}}))

    return plant


PROGRAM = then(program(KERNEL), CUPYS, SETS, writes(SHELLS))
WHOLE = "{home}/cuda-12.8/lib64"
BY_MAKE = started("make", "run")
BY_ENTRY = given(".local/share/applications/training.desktop", of_desktop)
BY_KERNEL = given(".local/share/jupyter/kernels/cuda/kernel.json", of_kernel)
BY_LAUNCH = given("work/.vscode/launch.json", of_launch)
BY_BATCH = given("work/train.sbatch", of_slurm)
BY_DOTENV = given("work/gpu.env", of_dotenv)
BY_CONDA = given("../env/conda-meta/state", of_conda)


def _fault(name: str, oracle: Oracle, plant: Plant, names: str) -> Scene:
    return Scene(name, "D", "cupy-alone", oracle, then(PROGRAM, plant), UNFOUND, "", names, "libnvrtc.so.12")


def _healthy(name: str, oracle: Oracle, plant: Plant) -> Scene:
    return Scene(name, "healthy", "cupy-alone", oracle, then(PROGRAM, plant))


SCENES: tuple[Scene, ...] = (
    _fault("letters-tilde-of-cron", by_cron, nightly(LETTERS[0]), "crontabs/root"),
    _fault("letters-home-of-cron", by_cron, nightly(LETTERS[1]), "crontabs/root"),
    _fault("letters-tilde-of-a-unit", by_unit, service(LETTERS[0]), "train.service"),
    _fault("letters-home-of-a-unit", by_unit, service(LETTERS[1]), "train.service"),
    _fault("letters-home-of-the-desktop", BY_ENTRY, entry(LETTERS[1].replace("$", "\\\\$")), "training.desktop"),
    _fault("letters-tilde-of-the-desktop", BY_ENTRY, entry(LETTERS[0]), "training.desktop"),
    _fault("letters-tilde-of-a-kernel", BY_KERNEL, kernelspec(LETTERS[0]), "kernels/cuda"),
    _fault("letters-home-of-f5", BY_LAUNCH, launch(LETTERS[1]), "launch.json"),
    _fault("letters-tilde-of-f5", BY_LAUNCH, launch(LETTERS[0]), "launch.json"),
    _fault("letters-tilde-of-make", BY_MAKE, made(f"export {NAME} := {LETTERS[0]}"), "Makefile"),
    _fault("letters-home-of-make", BY_MAKE, made(f"export {NAME} := {LETTERS[1]}"), "Makefile"),
    _fault("letters-quoted-of-make", BY_MAKE, made(f'export {NAME} := "{WHOLE}"'), "Makefile"),
    _fault("letters-home-of-slurm", BY_BATCH, batch(LETTERS[1]), "train.sbatch"),
    _fault("letters-tilde-of-dotenv", BY_DOTENV, of_file(LETTERS[0]), "gpu.env"),
    _fault("letters-home-of-dotenv", BY_DOTENV, of_file(LETTERS[1]), "gpu.env"),
    _fault("letters-home-of-conda", BY_CONDA, kept(LETTERS[1]), "conda-meta/state"),
    _healthy("odd-whole-path-of-cron", by_cron, nightly(WHOLE)),
    _healthy("odd-specifier-of-a-unit", by_unit, service("%h/cuda-12.8/lib64")),
    _healthy("odd-whole-path-of-the-desktop", BY_ENTRY, entry(WHOLE)),
    _healthy("odd-home-of-a-kernel", BY_KERNEL, kernelspec(LETTERS[1])),
    _healthy("odd-name-of-f5", BY_LAUNCH, launch("${env:HOME}/cuda-12.8/lib64")),
    _healthy("odd-home-in-braces-of-make", BY_MAKE, made(f"export {NAME} := ${{HOME}}/cuda-12.8/lib64")),
    _healthy("odd-home-in-brackets-of-make", BY_MAKE, made(f"export {NAME} := $(HOME)/cuda-12.8/lib64")),
    _healthy("odd-whole-path-of-slurm", BY_BATCH, batch(WHOLE)),
    _healthy("odd-braces-of-dotenv", BY_DOTENV, of_file("${HOME}/cuda-12.8/lib64")),
    _healthy("odd-whole-path-of-docker", by_docker_run, docker(WHOLE)),
    _healthy("odd-whole-path-of-conda", BY_CONDA, kept(WHOLE)),
)
