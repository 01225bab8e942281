"""Class C: a project's folder before an installed package, byte code that Python believes, eggs, two releases in one folder, plug-ins.

The rules were made with these scenes. Above each row: the thread that it is made from, or "class only".
"""

from __future__ import annotations

from tests.worldlab.scene import Oracle, Scene, imports, installs, runs, then
from tests.worldlab.scenes.held_out import sets, writes
from tests.worldlab.scenes.held_out_6 import SHADOWED

DATASETS = installs("datasets==3.6.0", "numpy==2.2.6")
LOADS = "import torch\nfrom datasets import load_dataset\n"
OWN = {"work/datasets/__init__.py": "", "work/datasets/coco.py": "import torch\n\n\nclass Coco:\n    pass\n"}


def main(name: str = "main") -> Oracle:
    """Run a program of the working folder."""
    return runs(f"import {name}")


SCENES: tuple[Scene, ...] = (
    # --- a name that an installed package has, too
    # https://github.com/huggingface/datasets/issues/6553
    Scene("places-own-datasets-for-a-program", "C", "torch-2.6", main(), then(DATASETS, writes({**OWN, "work/main.py": LOADS}, "work")), SHADOWED, "", "work/datasets", "load_dataset"),
    # class only: what another package imports
    Scene("places-own-datasets-for-evaluate", "C", "torch-2.6", imports("torch", "evaluate"), then(installs("datasets==3.6.0", "evaluate==0.4.5", "numpy==2.2.6"), writes(OWN, "work")), SHADOWED, "", "work/datasets", "datasets"),
    # class only
    Scene("places-own-evaluate-by-pythonpath", "C", "torch-2.6", runs("import torch, evaluate; evaluate.load"), then(installs("evaluate==0.4.5", "numpy==2.2.6"), writes({"tools/evaluate.py": "def score():\n    return 1\n"}), sets(PYTHONPATH="{home}/tools")), SHADOWED, "", "tools/evaluate.py", "load"),
    # --- healthy
    Scene("places-own-datasets-is-meant", "healthy", "torch-2.6", main(), then(DATASETS, writes({**OWN, "work/main.py": "import torch\nfrom datasets.coco import Coco\n"}, "work"))),
    Scene("places-datasets-of-data", "healthy", "torch-2.6", runs(LOADS), then(DATASETS, writes({"work/datasets/coco/labels.txt": "x", "work/main.py": LOADS}, "work"))),
    Scene("places-own-optional-names", "healthy", "torch-2.6", imports("torch", "accelerate"), then(installs("accelerate==1.6.0", "numpy==2.2.6"), writes({"work/utils/__init__.py": "", "work/yaml_tools.py": "", "work/networkx.py": "x = 1\n", "work/tests/__init__.py": ""}, "work"))),
)  # fmt: skip
