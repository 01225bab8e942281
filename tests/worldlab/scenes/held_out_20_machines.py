"""The twentieth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import re

from tests.worldlab.scene import LEAVE, Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant, writes
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.starters import unit

SCENES: tuple[Scene, ...] = ()


# --- how programs are started -------------------------------------------------------------------------------------------


def by_cron(world: World) -> Ran:
    """Run the one job of the person's table as cron does: in the home, by ``/bin/sh`` or the SHELL of the table."""
    lines = [w for w in (world.home / "work/crontab").read_text().splitlines() if w and not w.startswith("#")]
    given = dict(w.split("=", 1) for w in lines if re.match(r"\w+=", w))
    (job,) = (re.sub(r"^(@\w+|(\S+\s+){5})\s*", "", w) for w in lines if not re.match(r"\w+=", w))
    clean = ["PATH=/usr/bin:/bin", f"HOME={world.home}", *(f"{name}={value}" for name, value in given.items())]
    return said_by(world, ["env", "-i", "-C", str(world.home), *clean, given.get("SHELL", "/bin/sh"), "-c", job])


def by_service(world: World) -> Ran:
    """Run what the unit starts; systemd ignores lines of a file of variables that are no assignments, as ``export A=b``."""
    file = world.home / "work/whisper.env"
    text = file.read_text()
    file.write_text("".join(f"{line}\n" for line in text.splitlines() if re.match(r"\w+=", line)))
    words = list(unit(world))
    file.write_text(text)
    return said_by(world, [str(word) for word in words])


# --- what people do -----------------------------------------------------------------------------------------------------


def links(target: str, where: str) -> Plant:
    """Lead a name of the home to a folder of the scene."""

    def plant(world: World) -> None:
        path = world.home / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(world.folder / target)

    return plant


# --- the files of their tools -------------------------------------------------------------------------------------------

CONDAS = """# >>> conda initialize >>>
# !! Contents within this block are managed by 'conda init' !!
__conda_setup="$('{home}/miniconda3/bin/conda' 'shell.bash' 'hook' 2> /dev/null)"
if [ $? -eq 0 ]; then
    eval "$__conda_setup"
else
    if [ -f "{home}/miniconda3/etc/profile.d/conda.sh" ]; then
        . "{home}/miniconda3/etc/profile.d/conda.sh"
    else
        export PATH="{home}/miniconda3/bin:$PATH"
    fi
fi
unset __conda_setup
# <<< conda initialize <<<
"""
"""What ``conda init`` writes at the end of the start-up file."""
SEGMENTS = {
    "README.md": "# Segment anything\n",
    "setup.py": "from setuptools import find_packages, setup\n\n"
    "setup(name='segment_anything', version='1.0', packages=find_packages(exclude='notebooks'))\n",
    "segment_anything/__init__.py": "from .build_sam import build_sam\n",
    "segment_anything/build_sam.py": "import torch\n\n\ndef build_sam():\n    return torch.nn.Identity()\n",
    "segment_anything/utils/__init__.py": "",
    "notebooks/images/README.md": "",
}
"""A clone of a repository."""
COMFY = writes(
    {
        "work/ComfyUI/main.py": "import folder_paths\nimport comfy.model_management\nimport nodes\nimport server\n"
        f"print('this works', flush=True){LEAVE}\n",
        "work/ComfyUI/folder_paths.py": "import os\n\nbase_path = os.path.dirname(os.path.realpath(__file__))\n",
        "work/ComfyUI/nodes.py": "import torch\nimport numpy as np\nfrom PIL import Image\n\nimport comfy.utils\n\n\ndef load(name):\n    return np.array(Image.open(name))\n",
        "work/ComfyUI/server.py": "import json\n\nfrom utils import install_util\n",
        "work/ComfyUI/comfy/__init__.py": "",
        "work/ComfyUI/comfy/model_management.py": "import torch\n\ntry:\n    import xformers\n    import xformers.ops\nexcept Exception:\n    XFORMERS = False\n",
        "work/ComfyUI/comfy/utils.py": "import torch\n\n\ndef tiled(x):\n    return torch.nn.functional.pad(x, (1, 1))\n",
        "work/ComfyUI/utils/__init__.py": "",
        "work/ComfyUI/utils/install_util.py": "from pathlib import Path\n\nrequirements = Path(__file__).parents[1] / 'requirements.txt'\n",
        "work/ComfyUI/requirements.txt": "torch\ntorchvision\ntorchaudio\nnumpy>=1.25.0\nPillow\n",
        "work/ComfyUI/extra_model_paths.yaml.example": "#Rename this to extra_model_paths.yaml\n",
        "work/ComfyUI/custom_nodes/example_node.py.example": "class Example:\n    pass\n",
        "work/ComfyUI/custom_nodes/comfyui-reactor.disabled/requirements.txt": "insightface==0.7.3\nonnxruntime-gpu\n",
        "work/ComfyUI/custom_nodes/comfyui-reactor.disabled/__init__.py": "import insightface\n",
    },
    "work/ComfyUI",
)
"""A clone of ComfyUI, with a node that is switched off by its folder's name."""
