"""The twenty-sixth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import sqlite3
from pathlib import Path

from tests.worldlab.scene import LEAVE, Ran, Scene, World, installs, lacks
from tests.worldlab.scenes.held_out_8 import Plant
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.starters import WORKS

SCENES: tuple[Scene, ...] = ()
PATH = "PATH=/usr/local/bin:/usr/bin:/bin"
SCREEN = """
coproc X { exec Xvfb -displayfd 3 -nolisten tcp 3>&1 >/dev/null 2>&1; }
screen=$X_PID
read -r number <&"${X[0]}" || exit 99
DISPLAY=:$number "$@"
status=$?
kill "$screen"
exit $status
"""
"""A screen of its own for a program, by the first number that is free."""


# --- how programs are started -------------------------------------------------------------------------------------------


def _alone(world: World, where: Path, words: list[str]) -> Ran:
    """Start a program with what a session or a service has, and with nothing of the person's shells."""
    return said_by(world, ["env", "-i", "-C", str(where), PATH, f"HOME={world.home}", "LANG=C.UTF-8", *words])


def by_apache(world: World) -> Ran:
    """Load the application as mod_wsgi does: in the process group's ``python-home``, or in the Python that it was built for."""
    text = (world.home / "work/deploy/captions.conf").read_text()
    (daemon,) = re.findall(r"^ *WSGIDaemonProcess (.*)$", text, re.MULTILINE)
    (script,) = re.findall(r"^ *WSGIScriptAlias \S+ (\S+)", text, re.MULTILINE)
    told = dict(word.split("=", 1) for word in daemon.split() if "=" in word)
    python = f"{told['python-home']}/bin/python" if "python-home" in told else "/usr/bin/python3"
    code = f"import sys\nsys.path.insert(0, {told['python-path']!r})\nexec(compile(open({script!r}).read(), {script!r}, 'exec'))"
    return _alone(world, Path("/"), [python, "-c", code])


def by_thonny(world: World) -> Ran:
    """Run the open file in the interpreter that Thonny's settings name; Thonny goes to the file's folder, and was started from the menu."""
    told = configparser.RawConfigParser()
    told.read(world.home / ".config/Thonny/configuration.ini")
    python = told[told["run"]["backend_name"]]["executable"]
    return _alone(world, world.home / "work", [python, "main.py"])


def by_grid(world: World) -> Ran:
    """Run the job as Grid Engine does: with the variables of the shell and in its folder where the script asks for them alone."""
    asked = [w for line in (world.home / "work/train.sh").read_text().splitlines() if line.startswith("#$") for w in shlex.split(line[2:])]  # fmt: skip
    where = world.home / "work" if "-cwd" in asked else world.home
    words = ["bash", str(world.home / "work/train.sh")]
    return said_by(world, ["env", "-C", str(where), *words]) if "-V" in asked else _alone(world, where, words)


def by_f5(world: World) -> Ran:
    """Run what F5 starts in VS Code: in the workspace's folder, or in the one that ``cwd`` names."""
    told = json.loads((world.home / "work/.vscode/launch.json").read_text())["configurations"][0]
    work = str(world.home / "work")
    program = told["program"].replace("${workspaceFolder}", work)
    where = (
        told.get("cwd", work).replace("${fileDirname}", str(Path(program).parent)).replace("${workspaceFolder}", work)
    )
    return said_by(world, ["env", "-C", where, told["python"], program])


def by_desk(world: World) -> Ran:
    """Run the program on a screen, in its folder."""
    return said_by(world, ["bash", "-c", SCREEN, "bash", str(world.python), "main.py"])


def by_tools(world: World) -> Ran:
    """Run the script of the clone's tools, in the clone's folder."""
    return said_by(world, [str(world.python), "tools/main.py"])


# --- what people do -----------------------------------------------------------------------------------------------------


def runs_once(code: str) -> Plant:
    """Have run a program in the working folder before, which left its files there."""

    def plant(world: World) -> None:
        (world.home / "work").mkdir(exist_ok=True)
        done = world.run(["env", "-C", str(world.home / "work"), str(world.python), "-c", code + LEAVE])
        if done.returncode:
            raise OSError(done.stderr.decode())

    return plant


def keeps_model_of_keras_2(world: World) -> None:
    """Have a model in a file that Keras 2 wrote, as the Teachable Machine hands it out."""
    installs("--no-deps", "tf-keras==2.20.1")(world)
    runs_once(
        "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\nimport tensorflow as tf\n"
        "layers = [tf.keras.layers.Input((8, 8, 3)), tf.keras.layers.DepthwiseConv2D(3, name='expanded_conv_depthwise'), "
        "tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(2, activation='softmax')]\n"
        "tf.keras.Sequential(layers).save('keras_model.h5')"
    )(world)
    (world.home / "work/labels.txt").write_text("0 cat\n1 dog\n")
    lacks("tf-keras")(world)


def has_proj_of_before(world: World) -> None:
    """Have the data base of an older PROJ, as QGIS brings it, below the home: what PROJ reads of it first."""
    folder = world.home / "qgis/share/proj"
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "proj.db") as base:
        base.execute("CREATE TABLE metadata (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        rows = (
            ("DATABASE.LAYOUT.VERSION.MAJOR", "1"),
            ("DATABASE.LAYOUT.VERSION.MINOR", "0"),
            ("EPSG.VERSION", "v9.8.6"),
        )
        base.executemany("INSERT INTO metadata VALUES (?, ?)", rows)


# --- the files of their tools -------------------------------------------------------------------------------------------


def apache(options: str) -> dict[str, str]:
    """Return an application, and Apache's file for it with these options of the process group besides."""
    return {
        "work/deploy/captions.conf": "<VirtualHost *:80>\n    ServerName captions.example.org\n"
        f"    WSGIDaemonProcess captions {options}python-path={{home}}/work processes=1 threads=4\n"
        "    WSGIProcessGroup captions\n    WSGIApplicationGroup %{GLOBAL}\n"
        "    WSGIScriptAlias / {home}/work/captions.wsgi\n"
        "    <Directory {home}/work>\n        Require all granted\n    </Directory>\n</VirtualHost>\n",
        "work/captions.wsgi": "from app import application\n",
        "work/app.py": "import torch\nimport torchvision\n\nmodel = torchvision.models.resnet18(weights=None)\n\n\n"
        "def application(environ, start_response):\n    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        f"    return [str(model(torch.zeros(1, 3, 224, 224)).argmax().item()).encode()]\n\n\nprint('{WORKS}', flush=True)\n",
    }


def thonny(python: str) -> dict[str, str]:
    """Return Thonny's file of settings."""
    return {
        ".config/Thonny/configuration.ini": "[general]\nlanguage = en_US\nui_mode = regular\n\n"
        f"[run]\nbackend_name = LocalCPython\n\n[LocalCPython]\nexecutable = {python}\nlast_executables = ['{python}']\n\n"
        "[file]\ncurrent_file = {home}/work/main.py\nopen_files = ['{home}/work/main.py']\n"
    }


def grid(*lines: str) -> dict[str, str]:
    """Return the script of a job for Grid Engine; it begins with what it asks for."""
    told = "".join(f"{line}\n" for line in lines)
    return {"work/train.sh": f"#!/bin/bash\n#$ -N train\n#$ -l gpu=1\n#$ -l h_rt=24:00:00\n#$ -j y\n{told}"}


def f5(cwd: str = "") -> dict[str, str]:
    """Return VS Code's file of what F5 starts, and the program below the workspace."""
    told = {
        "name": "Python: classify",
        "type": "debugpy",
        "request": "launch",
        "program": "${workspaceFolder}/classify/main.py",
        "console": "integratedTerminal",
        "python": "{env}/bin/python",
    }
    return {
        "work/.vscode/launch.json": json.dumps(
            {"version": "0.2.0", "configurations": [{**told, "cwd": cwd} if cwd else told]}, indent=4
        ),
        "work/classify/main.py": "import torch\n\nmodel = torch.nn.Linear(4, 2)\nmodel.load_state_dict(torch.load('weights.pt'))\n"
        f"print('{WORKS}', flush=True){LEAVE}\n",
    }


def detector(where: str, *heads: str) -> dict[str, str]:
    """Return a clone of a project with these models."""
    models = "".join(f"class {head}(torch.nn.Linear):\n    pass\n\n\n" for head in heads)
    return {
        f"{where}/README.md": "# Detector\n\npip install -v -e .\n",
        f"{where}/setup.py": "from setuptools import find_packages, setup\n\nsetup(name='detector', version='2.1.0', packages=find_packages())\n",
        f"{where}/detector/__init__.py": "",
        f"{where}/detector/models/__init__.py": f"import torch\n\n\n{models}".rstrip() + "\n",
        f"{where}/configs/base.yaml": "model: Head\n",
    }


def tool(start: str = "") -> dict[str, str]:
    """Return the script that trains, in the clone's ``tools``."""
    return {
        "detector-mine/tools/main.py": f"{start}import torch\n\nfrom detector.models import SmallHead\n\n"
        f"SmallHead(4, 2)(torch.zeros(1, 4))\nprint('{WORKS}', flush=True){LEAVE}\n"
    }


TESTED = {
    "work/captions/__init__.py": "",
    "work/captions/model.py": "import torch\n\n\ndef make():\n    return torch.nn.Linear(4, 2)\n",
    "work/tests/test_model.py": f"import torch\n\nfrom captions.model import make\n\n\ndef test_shape():\n    assert make()(torch.zeros(1, 4)).shape == (1, 2)\n    print('{WORKS}')\n",
    "work/pyproject.toml": '[project]\nname = "captions"\nversion = "0.1.0"\ndependencies = ["torch"]\n',
}
"""A package, and its tests beside it."""
TELLS = "import datetime\n\n\ndef entry(loss):\n    return {'day': str(datetime.date.today()), 'loss': loss}\n\n\nif __name__ == '__main__':\n    print(entry(0.5))\n"
"""An exercise."""
