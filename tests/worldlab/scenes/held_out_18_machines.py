"""The eighteenth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from tests.worldlab.environments import uv
from tests.worldlab.scene import Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_15 import said_by

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_compose(world: World) -> Ran:
    """Run the service of ``compose.yaml`` with its variables, read as YAML: in a list, a quotation mark inside an entry stays."""
    lines = (world.home / "work/compose.yaml").read_text().splitlines()
    (start,) = (i for i, line in enumerate(lines) if line == "    environment:")
    given: list[str] = []
    for line in lines[start + 1 :]:
        if entry := re.fullmatch(r"      - (\w+=.*)", line):
            given.append(entry[1])
        elif pair := re.fullmatch(r'      (\w+): "(.*)"', line):
            given.append(f"{pair[1]}={pair[2]}")
        else:
            break
    (command,) = (line.removeprefix("    command: ") for line in lines if line.startswith("    command: "))
    return _alone(world, given, shlex.split(command))


def by_image(world: World) -> Ran:
    """Run what an image starts: ENV stays, and what a RUN activates ends with its shell."""
    text = (world.home / "work/Dockerfile").read_text()
    (words,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    return _alone(world, re.findall(r"^ENV (.*)$", text, re.MULTILINE), json.loads(words))


def by_code_runner(world: World) -> Ran:
    """Run the open file as VS Code's extension Code Runner does: by the command of its settings, in a shell."""
    told = json.loads((world.home / "work/.vscode/settings.json").read_text())["code-runner.executorMap"]["python"]
    return said_by(world, ["bash", "-c", f'cd "{world.home}/work" && {told} "{world.home}/work/main.py"'])


def by_uv(world: World) -> Ran:
    """Run the person's script, in which uv starts the program."""
    path = f"PATH={Path(sys.executable).parent}:{world.environment()['PATH']}"
    return said_by(world, ["env", path, "UV_OFFLINE=1", "bash", "run.sh"])


def by_jupyter(world: World) -> Ran:
    """Run the notebook's cells in the kernel that it names: one of the person's, or that of Jupyter's own environment."""
    told = json.loads((world.home / "work/train.ipynb").read_text())
    name = f"kernels/{told['metadata']['kernelspec']['name']}/kernel.json"
    server = Path((world.home / ".local/bin/jupyter-lab").read_text().splitlines()[0].removeprefix("#!")).parent
    person, own = world.home / ".local/share/jupyter" / name, server.parent / "share/jupyter" / name
    (python,) = json.loads((person if person.exists() else own).read_text())["argv"][:1]
    cells = "\n".join("".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code")
    return said_by(world, [python if "/" in python else str(server / python), "-c", cells])


def _alone(world: World, given: list[str], words: list[str]) -> Ran:
    """Start a program with these variables alone, in the person's folder."""
    clean = ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={world.home}", "LANG=C.UTF-8"]
    return said_by(world, ["env", "-i", *clean, *given, *words])


# --- what people do -----------------------------------------------------------------------------------------------------

WITHOUT = """
mount -t overlay overlay -o "lowerdir=/usr/bin,upperdir=$1/upper,workdir=$1/work" /usr/bin || exit 99
shift; exec "$@"
"""


def without_command(name: str) -> Plant:
    """Start programs where a command of the system is not installed."""

    def plant(world: World) -> None:
        hidden = world.folder / "without"
        for part in ("upper", "work"):
            (hidden / part).mkdir(parents=True)
        os.mknod(hidden / "upper" / name, 0o020000, 0)  # how overlayfs marks what is not there
        world.launcher += ["unshare", "-m", "sh", "-c", WITHOUT, "sh", str(hidden)]

    return plant


def clones(name: str, files: dict[str, str]) -> Plant:
    """Clone a project into ``work/<name>``, and install it as ``pip install -e .`` does there."""

    def plant(world: World) -> None:
        writes({f"work/{name}/{path}": text for path, text in files.items()})(world)
        uv(
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--python",
            str(world.python),
            "-e",
            str(world.home / "work" / name),
        )

    return plant


def clones_sources(world: World) -> None:
    """Work in the folder of a clone that has the package's sources, and nothing that is compiled."""
    shutil.copytree(
        world.site / "ctranslate2",
        world.home / "work/ctranslate2",
        ignore=shutil.ignore_patterns("*.so*", "__pycache__"),
    )
    writes(
        {
            "work/setup.py": "from setuptools import setup\n",
            "work/cpp/module.cc": "",
            "work/tests/test_translator.py": "",
        }
    )(world)


def with_jupyter_of_uv(world: World) -> None:
    """Have Jupyter by ``uv tool install jupyterlab``: an environment of its own, with the kernel that it brings."""
    tool = world.home / ".local/share/uv/tools/jupyterlab"
    tool.parent.mkdir(parents=True)
    uv("venv", "--quiet", "--python", sys.executable, str(tool))
    words = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": words, "display_name": "Python 3 (ipykernel)", "language": "python"}
    kernel = tool / "share/jupyter/kernels/python3/kernel.json"
    kernel.parent.mkdir(parents=True)
    kernel.write_text(json.dumps(spec, indent=1))
    own = tool / "bin/jupyter-lab"
    own.write_text(f"#!{tool}/bin/python\nimport sys\nfrom jupyterlab.labapp import main\nsys.exit(main())\n")
    own.chmod(0o755)
    (world.home / ".local/bin").mkdir(parents=True)
    (world.home / ".local/bin/jupyter-lab").symlink_to(own)


def names_ffmpeg(world: World) -> None:
    """Name the program of imageio-ffmpeg's own wheel by its whole path."""
    (binary,) = (world.site / "imageio_ffmpeg/binaries").glob("ffmpeg-*")
    world.variables["IMAGEIO_FFMPEG_EXE"] = str(binary)


def saved(world: World) -> None:
    """Have a checkpoint of last year, with the options of its training in it."""
    (world.home / "work").mkdir(exist_ok=True)
    code = "import argparse, torch\ntorch.save({'w': torch.ones(2), 'args': argparse.Namespace(lr=0.1)}, 'last.pt')"
    subprocess.run([world.python, "-c", code], check=True, cwd=world.home / "work")


# --- the files of their tools -------------------------------------------------------------------------------------------


def compose(*lines: str) -> dict[str, str]:
    """Return a service with these lines as its variables."""
    told = "\n".join(f"      {line}" for line in lines)
    return {
        "work/compose.yaml": f"services:\n  train:\n    image: lab:latest\n    environment:\n{told}\n"
        "    working_dir: {home}/work\n    command: {env}/bin/python main.py\n"
    }


def dockerfile(*lines: str) -> dict[str, str]:
    """Return the file of an image that starts ``python3``."""
    told = "\n".join(lines)
    return {
        "work/Dockerfile": f'FROM nvidia/cuda:12.8.1-base-ubuntu22.04\n{told}\nWORKDIR {{home}}/work\nCOPY . .\nCMD ["python3", "main.py"]\n'
    }


def code_runner(python: str) -> dict[str, str]:
    """Return VS Code's settings: the interpreter that was chosen, and what Code Runner starts."""
    told = {
        "python.defaultInterpreterPath": "{env}/bin/python",
        "code-runner.executorMap": {"python": python},
        "code-runner.runInTerminal": True,
    }
    return {"work/.vscode/settings.json": json.dumps(told, indent=4)}


def notebook(code: str, name: str, kernel: str = "") -> dict[str, str]:
    """Return a notebook for this kernel; ``kernel``: the interpreter of a kernel of the person's by this name."""
    cell: dict[str, object] = {"cell_type": "code", "execution_count": None, "id": "a1", "metadata": {}, "outputs": []}
    told = {
        "cells": [{**cell, "source": [f"{code}\n", "print('this works')"]}],
        "metadata": {"kernelspec": {"display_name": name, "language": "python", "name": name}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    files = {"work/train.ipynb": json.dumps(told, indent=1)}
    if kernel:
        words = [kernel, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": words, "display_name": name, "language": "python"}
        files[f".local/share/jupyter/kernels/{name}/kernel.json"] = json.dumps(spec, indent=1)
    return files


METADATA = '# /// script\n# requires-python = ">=3.11"\n# dependencies = []\n# ///\n'
"""What ``uv init --script`` writes at the beginning of a program."""
SAM2 = {
    "pyproject.toml": '[build-system]\nrequires = ["setuptools>=61.0"]\nbuild-backend = "setuptools.build_meta"\n',
    "setup.py": "from setuptools import find_packages, setup\n\nsetup(name='SAM-2', version='1.0', packages=find_packages(exclude='notebooks'), package_dir={'sam2': 'sam2'})\n",
    "README.md": "# SAM 2\n",
    "sam2/__init__.py": "CONFIGS = {'tiny': 'sam2_hiera_t.yaml'}\n",
    "sam2/build_sam.py": "import torch\n\nfrom sam2 import CONFIGS\n\n\ndef build_sam2(name):\n    print(CONFIGS[name])\n    return torch.nn.Identity()\n",
    "notebooks/images/README.md": "",
}
"""A repository of the same name as its package."""
SLIM = {
    "models/research/object_detection/__init__.py": "",
    "models/research/slim/datasets/__init__.py": "\n",
    "models/research/slim/datasets/flowers.py": "import tensorflow as tf\n",
    "models/research/slim/nets/__init__.py": "\n",
    "models/research/slim/deployment/__init__.py": "\n",
}
"""A clone of TensorFlow's models."""
