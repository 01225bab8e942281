"""The twenty-second held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import json
import re
import shutil

from tests.worldlab.scene import Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_15 import said_by

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_pm2(world: World) -> Ran:
    """Run the one program of ``ecosystem.config.js``, which Node itself reads: by its interpreter, in its folder, with its variables."""
    read = world.run(["node", "-p", "JSON.stringify(require('./ecosystem.config.js').apps[0])"])
    app = json.loads(read.stdout)
    given = [f"{name}={value}" for name, value in app.get("env", {}).items()]
    return said_by(world, ["env", "-C", app["cwd"], *given, app["interpreter"], app["script"]])


def by_workflow(world: World) -> Ran:
    """Run the steps of a job on a runner of one's own: each in a shell of its own, with the folders of GITHUB_PATH."""
    text = (world.home / "work/.github/workflows/train.yml").read_text()
    steps = re.findall(r"^        run: (?:\|\n((?:          .*\n)+)|(.+)\n)", text, re.MULTILINE)
    added = world.folder / "path"
    added.touch()
    ran = Ran(ok=False, said="no step")
    for block, line in steps:
        script = "\n".join(w.strip() for w in block.splitlines()) if block else line
        path = ":".join([*reversed(added.read_text().split()), "/usr/local/bin:/usr/bin:/bin"])
        clean = [f"PATH={path}", f"HOME={world.home}", "LANG=C.UTF-8", f"GITHUB_PATH={added}"]
        ran = said_by(world, ["env", "-i", *clean, "bash", "-e", "-c", script])
    added.unlink()
    return ran


# --- what people do -----------------------------------------------------------------------------------------------------


def executable(world: World) -> None:
    """Let the person's program be started by its name."""
    (world.home / "work/main.py").chmod(0o755)


def without_metadata(where: str) -> Plant:
    """Leave no record in a folder of the home: a clone has none."""

    def plant(world: World) -> None:
        for path in (world.home / where).glob("*.dist-info"):
            shutil.rmtree(path)

    return plant


def clone_of_jax(world: World) -> None:
    """Work in a clone: its files beside the package."""
    writes(
        {
            "work/setup.py": "from setuptools import setup\n",
            "work/tests/jax_test.py": "import jax\n",
            "work/README.md": "# JAX\n",
        }
    )(world)


# --- the files of their tools -------------------------------------------------------------------------------------------


def ecosystem(interpreter: str) -> dict[str, str]:
    """Return what pm2 keeps alive, in a file of its own."""
    return {
        "work/ecosystem.config.js": "module.exports = {\n  apps: [\n    {\n      name: 'captions',\n      script: 'main.py',\n"
        f"      interpreter: '{interpreter}',\n      cwd: '{{home}}/work',\n      autorestart: true,\n"
        "      env: { PYTHONUNBUFFERED: '1' },\n    },\n  ],\n};\n"
    }


def workflow(*steps: tuple[str, str]) -> dict[str, str]:
    """Return a workflow for a runner with a card of one's own: name and command of each step."""
    head = "name: train\n\non:\n  workflow_dispatch:\n\njobs:\n  train:\n    runs-on: [self-hosted, gpu]\n    steps:\n      - uses: actions/checkout@v4\n"
    told = ""
    for name, run in steps:
        lines = run.splitlines()
        body = "|\n" + "".join(f"          {line}\n" for line in lines) if len(lines) > 1 else f"{run}\n"
        told += f"\n      - name: {name}\n        run: {body}"
    return {"work/.github/workflows/train.yml": head + told}


CLONE = {
    "work/transformers/README.md": "# Transformers\n",
    "work/transformers/setup.py": "from setuptools import find_packages, setup\n\nsetup(name='transformers', version='4.30.0', package_dir={'': 'src'}, packages=find_packages('src'))\n",
    "work/transformers/src/transformers/__init__.py": "__version__ = '4.30.0.dev0'\n",
    "work/transformers/examples/pytorch/run_glue.py": "import transformers\n",
}
"""A clone for its examples, in the folder of the program."""
CLIP = {
    "setup.py": "from setuptools import find_packages, setup\n\nsetup(name='clip', version='1.0', py_modules=['clip'], packages=find_packages(exclude=['tests*']))\n",
    "README.md": "# CLIP\n",
    "clip/__init__.py": "from .clip import *\n",
    "clip/clip.py": "import torch\n\n__all__ = ['available_models', 'load']\n\n\ndef available_models():\n    return ['ViT-B/32']\n\n\ndef load(name):\n    return torch.nn.Identity()\n",
}
"""A clone of CLIP, which no index has by this name."""
DATASETS = {
    "work/datasets/__init__.py": "from .captions import Captions\n",
    "work/datasets/captions.py": "import json\n\n\nclass Captions:\n    def __init__(self, path):\n        with open(path) as f:\n            self.rows = [json.loads(line) for line in f]\n",
}
"""The package of a project that reads data."""
