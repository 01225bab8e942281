"""The seventeenth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from tests.worldlab.environments import master, site, uv
from tests.worldlab.scene import Oracle, Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant
from tests.worldlab.scenes.held_out_15 import said_by

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_debugger(world: World) -> Ran:
    """Run what F5 starts in VS Code: with the lines of ``.env`` as they are, for no shell reads them."""
    told = json.loads((world.home / "work/.vscode/launch.json").read_text())["configurations"][0]
    given = [line for line in (world.home / "work/.env").read_text().splitlines() if line and not line.startswith("#")]
    return said_by(world, ["env", *given, told["python"], "main.py"])


def by_notebook(world: World) -> Ran:
    """Run the notebook's cells in the kernel that it names."""
    told = json.loads((world.home / "work/train.ipynb").read_text())
    kernel = world.home / ".local/share/jupyter/kernels" / told["metadata"]["kernelspec"]["name"] / "kernel.json"
    cells = "\n".join("".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code")
    return said_by(world, [json.loads(kernel.read_text())["argv"][0], "-c", cells])


def by_sudo(world: World) -> Ran:
    """Run what follows ``sudo`` in the person's script, with the PATH that sudo has in its settings."""
    words = shlex.split((world.home / "work/run.sh").read_text().splitlines()[-1])
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return said_by(world, ["env", "-i", path, "HOME=/root", "LANG=C.UTF-8", *words[words.index("sudo") + 1 :]])


def by_uv(world: World) -> Ran:
    """Run the person's script, in which uv starts the program."""
    path = f"PATH={Path(sys.executable).parent}:{world.environment()['PATH']}"
    return said_by(world, ["env", path, "UV_OFFLINE=1", "bash", "run.sh"])


def by_accelerate(world: World) -> Ran:
    """Launch the program with the answers that were given to ``accelerate config``."""
    return said_by(world, [str(world.python), "-m", "accelerate.commands.launch", "main.py"])


def by_setup(world: World) -> Ran:
    """Build the person's kernels, as the manual of many a repository says."""
    return said_by(world, [str(world.python), "setup.py", "build_ext", "--inplace"])


def by_name(name: str) -> Oracle:
    """Run a script of this name, or of the name that a cure gave it."""

    def oracle(world: World) -> Ran:
        there = (world.cwd or world.home) / name
        return said_by(world, [str(world.python), name if there.is_file() else f"my_{name}"])

    return oracle


# --- what people do -----------------------------------------------------------------------------------------------------


def toolkit_of(environment: str, where: str, *packages: str) -> Plant:
    """Have a toolkit below the home: the libraries and headers of NVIDIA's packages of an environment, or of some of them."""

    def plant(world: World) -> None:
        source = site(master(environment)) / "nvidia"
        for package in packages or sorted(p.name for p in source.iterdir()):
            for part, target in (("lib", "lib64"), ("include", "include")):
                for path in sorted((source / package / part).rglob("*")):
                    copy = world.home / where / target / path.relative_to(source / package / part)
                    if path.is_file() and path.suffix != ".py" and not copy.exists():
                        copy.parent.mkdir(parents=True, exist_ok=True)
                        os.link(path, copy)

    return plant


def owns_project(world: World) -> None:
    """Have an environment of the project's own, made by ``uv init`` and ``uv run`` before anything was added."""
    uv("venv", "--quiet", "--python", sys.executable, str(world.home / "work/.venv"))


def links_project(world: World) -> None:
    """Let the project's environment be a link to the one that is kept elsewhere."""
    (world.home / "work/.venv").symlink_to(world.prefix)


def activated(world: World) -> None:
    """Work in a shell in which the environment is activated."""
    world.variables |= {"VIRTUAL_ENV": str(world.prefix), "PATH": f"{world.prefix}/bin:/usr/local/bin:/usr/bin:/bin"}


def of_a_colleague(where: str) -> Plant:
    """Have a folder that everybody may read and a colleague alone may write into."""

    def plant(world: World) -> None:
        folder = world.home / where
        (folder / "hub").mkdir(parents=True)
        for path in (folder, folder / "hub"):
            path.chmod(0o755)
            os.chown(path, 12345, 12345)
        world.plain_rights = True

    return plant


def has_certificates(world: World) -> None:
    """Keep the certificates of one's company beside those of everybody."""
    (known,) = world.site.glob("certifi/cacert.pem")
    (world.home / "certs").mkdir()
    (world.home / "certs/company.pem").write_bytes(known.read_bytes())


# --- the files of their tools -------------------------------------------------------------------------------------------


def debugger(*lines: str) -> dict[str, str]:
    """Return VS Code's file of what F5 starts, and the file of variables that it reads by itself."""
    told = {
        "name": "Python Debugger: Current File",
        "type": "debugpy",
        "request": "launch",
        "program": "${workspaceFolder}/main.py",
        "console": "integratedTerminal",
        "python": "{env}/bin/python",
    }
    return {
        "work/.vscode/launch.json": json.dumps({"version": "0.2.0", "configurations": [told]}, indent=4),
        "work/.env": "\n".join(("# for VS Code", *lines, "")),
    }


def notebook(code: str, **kernels: str) -> dict[str, str]:
    """Return a notebook in the first of these kernels, and all of the kernels: name -> interpreter."""
    name = next(iter(kernels))
    cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "id": "a1", "metadata": {}, "outputs": []}
    told = {
        "cells": [{**cell, "source": [f"{code}\n", "print('this works')"]}],
        "metadata": {"kernelspec": {"display_name": name, "language": "python", "name": name}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    files = {"work/train.ipynb": json.dumps(told, indent=1)}
    for kernel, python in kernels.items():
        words = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": words, "display_name": kernel, "language": "python"}
        files[f".local/share/jupyter/kernels/{kernel}/kernel.json"] = json.dumps(spec, indent=1)
    return files


def script(line: str) -> dict[str, str]:
    """Return a script of the person's."""
    return {"work/run.sh": f'#!/bin/bash\nset -e\ncd "$(dirname "$0")"\n{line}\n'}


def accelerated(kind: str, more: str = "") -> dict[str, str]:
    """Return what ``accelerate config`` keeps."""
    head = f"compute_environment: LOCAL_MACHINE\ndebug: false\ndistributed_type: {kind}\n{more}"
    tail = "machine_rank: 0\nmain_training_function: main\nmixed_precision: 'no'\nnum_machines: 1\nnum_processes: 1\nuse_cpu: {cpu}\n"
    tail = tail.replace("{cpu}", "false" if more else "true")
    return {".cache/huggingface/accelerate/default_config.yaml": head + tail}


def batch(start_up: str) -> dict[str, str]:
    """Return a job's script, and the start-up file that it sources."""
    head = "#!/bin/bash\n#SBATCH --job-name=transcribe\n#SBATCH --gres=gpu:1\n#SBATCH --time=04:00:00\n\n"
    return {
        "work/train.sbatch": f"{head}source ~/.bashrc\ncd {{home}}/work\n{{env}}/bin/python main.py\n",
        ".bashrc": start_up,
    }


PROJECT = {
    "work/pyproject.toml": '[project]\nname = "speech"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = []\n',
    "work/.python-version": "3.11\n",
}
"""What ``uv init`` writes."""
KERNELS = {
    "work/setup.py": "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, CUDAExtension\n\n"
    "setup(name='rois', ext_modules=[CUDAExtension('rois', ['rois.cu'])], cmdclass={'build_ext': BuildExtension})\n"
    "print('this works')\n",
    "work/rois.cu": "#include <torch/extension.h>\n\n__global__ void roi(float *x) { x[threadIdx.x] = 0; }\n\n"
    "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {}\n",
}
UBUNTUS = "case $- in\n    *i*) ;;\n      *) return;;\nesac\n\nHISTSIZE=1000\nalias ll='ls -alF'\n"
"""How the start-up file of Debian and Ubuntu begins: a shell that is not interactive leaves it here."""
