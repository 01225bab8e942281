"""The twenty-third held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.worldlab.environments import home, uv
from tests.worldlab.scene import LEAVE, Ran, Scene, World, installs
from tests.worldlab.scenes.held_out_8 import writes
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.held_out_17_machines import toolkit_of
from tests.worldlab.scenes.starters import WORKS

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_image(world: World) -> Ran:
    """Run what an image starts: ENV stays, ``$PATH`` in it is that of the image, and what a RUN writes is for shells that read it."""
    text = (world.home / "work/Dockerfile").read_text()
    (words,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    path = "/usr/local/bin:/usr/bin:/bin"
    given = [w.replace('"', "").replace("$PATH", path) for w in re.findall(r"^ENV (.*)$", text, re.MULTILINE)]
    clean = [f"PATH={path}", f"HOME={world.home}", "LANG=C.UTF-8"]
    return said_by(world, ["env", "-i", *clean, *given, *json.loads(words)])


def by_jenkins(world: World) -> Ran:
    """Run the steps of a pipeline on an agent: each ``sh`` is a shell of its own in the workspace."""
    text = (world.home / "work/Jenkinsfile").read_text()
    ran = Ran(ok=False, said="no step")
    for block, line in re.findall(r"^ +sh (?:'''\n([^']*)'''|'([^'\n]*)')$", text, re.MULTILINE):
        clean = ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={world.home}", "LANG=C.UTF-8"]
        ran = said_by(world, ["env", "-i", *clean, "sh", "-xe", "-c", block or line])
    return ran


def by_make(world: World) -> Ran:
    """Run the person's makefile, with uv in PATH and with the lab's own store for what uv fetches."""
    path = f"PATH={Path(sys.executable).parent}:{world.environment()['PATH']}"
    settings = ["UV_OFFLINE=1", f"UV_CACHE_DIR={home() / 'store'}", "UV_PYTHON=/usr/bin/python3"]
    return said_by(world, ["env", path, *settings, "make", "test"])


# --- what people do -----------------------------------------------------------------------------------------------------


def toolkit_with_nvcc(world: World) -> None:
    """Have the toolkit 12.4 below the home, with a compiler that answers, and that makes empty files of kernels."""
    toolkit_of("torch-2.6", "cuda-12.4", "cuda_runtime")(world)
    (world.home / "cuda-12.4/lib64/libcudart.so").symlink_to("libcudart.so.12")
    writes(
        {
            "cuda-12.4/bin/nvcc": "#!/bin/sh\n"
            'case "$*" in *--version*) echo "Cuda compilation tools, release 12.4, V12.4.131"; exit ;; esac\n'
            'while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\necho | g++ -fPIC -x c++ -c - -o "$out"\n'
        },
        mode=0o755,
    )(world)


def knows_pytest(world: World) -> None:
    """Let the lab's own store have pytest, for uvx is not to fetch anything."""
    installs("--target", str(world.folder / "fetched"), "pytest==8.4.2")(world)


def from_its_clone(world: World) -> None:
    """Install the clone beside the program, by ``pip install ./detectron2``."""
    writes(DETECTRON)(world)
    uv("pip", "install", "--quiet", "--no-deps", "--python", str(world.python), str(world.home / "work/detectron2"))


def keeps_model(world: World) -> None:
    """Have a small tokenizer in a folder of the project."""
    code = "from tokenizers import Tokenizer, models; from transformers import PreTrainedTokenizerFast as Fast; Fast(tokenizer_object=Tokenizer(models.BPE())).save_pretrained('model')"
    done = world.run([world.python, "-c", code])
    if done.returncode:
        raise OSError(done.stderr.decode())


# --- the files of their tools -------------------------------------------------------------------------------------------


def dockerfile(*lines: str) -> dict[str, str]:
    """Return the file of an image with an environment of its own, and with these lines at its end."""
    head = "FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\nWORKDIR {home}/work\nCOPY . .\n"
    made = "RUN python3 -m venv .venv && .venv/bin/pip install -r requirements.txt\n"
    return {"work/Dockerfile": head + made + "".join(f"{line}\n" for line in lines)}


def jenkinsfile(**stages: str) -> dict[str, str]:
    """Return a pipeline for an agent with a card: the steps of each stage, as they stand in the file."""
    told = "".join(
        f"        stage('{name}') {{\n            steps {{\n{steps}            }}\n        }}\n"
        for name, steps in stages.items()
    )
    return {"work/Jenkinsfile": f"pipeline {{\n    agent {{ label 'gpu' }}\n    stages {{\n{told}    }}\n}}\n"}


def parent(start: str) -> dict[str, str]:
    """Return a program that starts another one by this line."""
    return {
        "work/app.py": f"import os\nimport subprocess\nimport sys\n\nos.makedirs('runs', exist_ok=True)\n{start}\n",
        "work/train.py": f"import torch\n\ntorch.ones(1)\nprint('{WORKS}', flush=True){LEAVE}\n",
    }


def tests(recipe: str) -> dict[str, str]:
    """Return a test of a model, and the makefile that runs it."""
    return {
        "work/Makefile": f".PHONY: test\n\ntest:\n\t{recipe}\n",
        "work/tests/test_model.py": f"import torch\n\n\ndef test_model():\n    assert torch.nn.Linear(2, 2)(torch.ones(2)).shape == (2,)\n    print('{WORKS}')\n",
    }


DETECTRON = {
    "work/detectron2/README.md": "# Detectron2\n",
    "work/detectron2/setup.py": "from setuptools import find_packages, setup\n\nsetup(name='detectron2', version='0.6', packages=find_packages(exclude=('configs', 'tests*')))\n",
    "work/detectron2/detectron2/__init__.py": "__version__ = '0.6'\n",
    "work/detectron2/detectron2/model_zoo/__init__.py": "import torch\n\n\ndef get_config_file(path):\n    return path\n",
    "work/detectron2/detectron2/engine/__init__.py": "import torch\n\n\nclass DefaultPredictor:\n    pass\n",
    "work/detectron2/configs/Base-RCNN-FPN.yaml": "MODEL:\n  META_ARCHITECTURE: GeneralizedRCNN\n",
    "work/detectron2/tests/__init__.py": "",
}
"""A clone beside the person's program."""
SERVER = {
    "work/captions/__init__.py": "",
    "work/captions/queue.py": "from collections import deque\n\n\nclass Jobs:\n    def __init__(self):\n        self.waiting = deque()\n\n    def put(self, path):\n        self.waiting.append(path)\n",
    "work/captions/serve.py": f"import torch\nfrom transformers import AutoTokenizer, pipeline\n\nprint('{WORKS}', flush=True){LEAVE}\n",
}
"""A package of the person's, with a module for what waits."""
