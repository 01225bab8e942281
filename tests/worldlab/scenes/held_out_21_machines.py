"""The twenty-first held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import json
import os
import re
import shutil

from tests.worldlab.environments import _settle, master
from tests.worldlab.scene import LEAVE, Ran, Scene, World, installs
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_15 import said_by

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_image(world: World) -> Ran:
    """Run what an image starts by its CMD in a shell's words: ``/bin/sh -c``, or the SHELL that the file names."""
    text = (world.home / "work/Dockerfile").read_text()
    (words,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    shell = (re.findall(r"^SHELL (.*)$", text, re.MULTILINE) or ['["/bin/sh", "-c"]'])[-1]
    clean = ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={world.home}", "LANG=C.UTF-8"]
    given = re.findall(r"^ENV (.*)$", text, re.MULTILINE)
    return said_by(world, ["env", "-i", *clean, *given, *json.loads(shell), words])


# --- what people do -----------------------------------------------------------------------------------------------------


def another(environment: str, where: str) -> Plant:
    """Have a second environment below the home: a copy of this one by hard links."""

    def plant(world: World) -> None:
        source, target = master(environment), world.home / where
        shutil.copytree(source, target, symlinks=True, copy_function=os.link)
        _settle(target, source)

    return plant


def instead_of_12_8(world: World) -> None:
    """Have the toolkit 11.8 below the home instead of 12.8: what matters here of it."""
    packages = (
        "cublas-cu11==11.11.3.6",
        "cuda-runtime-cu11==11.8.89",
        "cufft-cu11==10.9.0.58",
        "curand-cu11==10.3.0.86",
    )
    installs("--target", str(world.folder / "fetched"), "--no-deps", *(f"nvidia-{name}" for name in packages))(world)
    shutil.rmtree(world.home / "cuda-12.8")
    target = world.home / "cuda-11.8/lib64"
    target.mkdir(parents=True)
    for path in (world.folder / "fetched").glob("nvidia/*/lib/*.so*"):
        path.rename(target / path.name)
    world.variables["LD_LIBRARY_PATH"] = str(target)


# --- the files of their tools -------------------------------------------------------------------------------------------


def dockerfile(*lines: str) -> dict[str, str]:
    """Return the file of an image that makes an environment of its own, with these lines at its end."""
    head = "FROM python:3.11-slim\nWORKDIR {home}/work\nCOPY . .\n"
    made = "RUN python3 -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt\n"
    return {"work/Dockerfile": head + made + "".join(f"{line}\n" for line in lines)}


def makefile(*recipe: str) -> dict[str, str]:
    """Return a makefile with this recipe."""
    told = "".join(f"\t{line}\n" for line in recipe)
    return {"work/Makefile": f".PHONY: train clean\n\ntrain:\n{told}\nclean:\n\trm -rf runs\n"}


def comfy(how: str) -> Plant:
    """Clone ComfyUI; ``how``: in what way its nodes add the folder ``comfy`` to Python's search."""
    added = f"sys.path.{how}os.path.join(os.path.dirname(os.path.realpath(__file__)), 'comfy'))"
    root = "work/ComfyUI"
    return writes(
        {
            f"{root}/main.py": f"import torch\nimport nodes\nimport server\n\nprint('this works', flush=True){LEAVE}\n",
            f"{root}/nodes.py": f"import os\nimport sys\n\nimport torch\n\n{added}\n\nimport comfy.utils\nimport comfy.samplers\n\nMAX_RESOLUTION = 16384\n",
            f"{root}/server.py": "import json\n\nfrom app.frontend_management import FrontendManager\n\n\nclass PromptServer:\n    manager = FrontendManager\n",
            f"{root}/app/__init__.py": "",
            f"{root}/app/frontend_management.py": "import logging\n\nfrom utils.install_util import get_missing_requirements_message\n\n\nclass FrontendManager:\n    missing = get_missing_requirements_message\n",
            f"{root}/comfy/__init__.py": "",
            f"{root}/comfy/samplers.py": "import torch\n\nfrom comfy import utils\n\n\ndef sample(x):\n    return utils.lerp(x, x)\n",
            f"{root}/comfy/utils.py": "import torch\n\n\ndef lerp(a, b):\n    return torch.lerp(a, b, 0.5)\n",
            f"{root}/utils/__init__.py": "",
            f"{root}/utils/install_util.py": "from pathlib import Path\n\n\ndef get_missing_requirements_message():\n    return Path(__file__).parents[1] / 'requirements.txt'\n",
            f"{root}/utils/json_util.py": "def merge_json_recursive(base, update):\n    return {**base, **update}\n",
            f"{root}/requirements.txt": "torch\ntorchvision\ntorchaudio\nnumpy>=1.25.0\nPillow\n",
        },
        root,
    )
