"""The sixteenth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import wave

from tests.worldlab.scene import Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant
from tests.worldlab.scenes.held_out_15 import said_by

SCENES: tuple[Scene, ...] = ()

KERNEL_OF_CUDA = (
    "from numba import cuda, float32, void\n"
    "def scale(x):\n"
    "    i = cuda.grid(1)\n"
    "    if i < x.size:\n"
    "        x[i] *= 2\n"
    "print(cuda.compile_ptx(scale, void(float32[:]), cc=(8, 0))[1])"
)
"""A kernel to PTX: it needs libNVVM and libdevice, and no card."""


# --- how programs are started -------------------------------------------------------------------------------------------


def _alone(world: World, given: list[str], words: list[str]) -> Ran:
    """Start a program with these variables alone, in the person's folder."""
    clean = ["PATH=/usr/local/bin:/usr/bin:/bin", f"HOME={world.home}", "LANG=C.UTF-8"]
    return said_by(world, ["env", "-i", *clean, *given, *words])


def by_image(world: World) -> Ran:
    """Run what an image starts: ENV stays, and what a RUN exports ends with its shell."""
    text = (world.home / "work/Dockerfile").read_text()
    (words,) = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    return _alone(world, re.findall(r"^ENV (.*)$", text, re.MULTILINE), json.loads(words))


def _lines(world: World) -> list[str]:
    """Return the lines of the file of variables; docker and compose pass over those that begin with #."""
    lines = (world.home / "work/gpu.env").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def by_docker_run(world: World) -> Ran:
    """Run what ``docker run --env-file`` does: the lines as they are, with their quotation marks."""
    words = shlex.split((world.home / "work/run.sh").read_text().splitlines()[-1])
    return _alone(world, _lines(world), words[words.index("lab:latest") + 1 :])


def by_compose(world: World) -> Ran:
    """Run what compose does: it takes quotation marks around a value away."""
    text = (world.home / "work/compose.yaml").read_text()
    (command,) = re.findall(r"^ +command: (.*)$", text, re.MULTILINE)
    return _alone(world, [shlex.split(line)[0] for line in _lines(world)], shlex.split(command))


class _Settings:
    """What a file of settings writes into; every name is there."""

    def __getattr__(self, name: str) -> _Settings:
        made = _Settings()
        setattr(self, name, made)
        return made


def by_jupyterhub(world: World) -> Ran:
    """Run a notebook's program as JupyterHub does: of its own variables those of ``env_keep`` alone."""
    settings = _Settings()
    exec((world.home / "work/jupyterhub_config.py").read_text(), {"get_config": lambda: settings})
    usual = ["PATH", "PYTHONPATH", "CONDA_ROOT", "CONDA_DEFAULT_ENV", "VIRTUAL_ENV", "LANG", "LC_ALL"]
    kept = vars(settings.Spawner).get("env_keep", usual)
    given = [f"{name}={value}" for name, value in world.environment().items() if name in kept]
    return _alone(world, given, [str(world.python), "main.py"])


def by_pixi(world: World) -> Ran:
    """Run the task, with the variables of the activation."""
    text = (world.home / "work/pixi.toml").read_text()
    found = re.findall(r'^(\w+) = "(.*)"$', text.partition("[activation.env]")[2].partition("[")[0], re.MULTILINE)
    (task,) = re.findall(r'^train = "(.*)"$', text, re.MULTILINE)
    return said_by(world, ["env", *(f"{name}={value}" for name, value in found), *shlex.split(task)])


def by_spyder(world: World) -> Ran:
    """Run the file in the interpreter that Spyder's settings name."""
    told = configparser.ConfigParser()
    told.read(world.home / ".config/spyder-py3/config/spyder.ini")
    return said_by(world, [told["main_interpreter"]["executable"], "main.py"])


def by_reticulate(world: World) -> Ran:
    """Run the file in the Python that R's session takes."""
    (python,) = re.findall(r"^RETICULATE_PYTHON=(.*)$", (world.home / "work/.Renviron").read_text(), re.MULTILINE)
    return said_by(world, [python, "main.py"])


def by_tools(world: World) -> Ran:
    """Run a script of the person's tools, in the folder with the data."""
    return said_by(world, [str(world.python), str(world.home / "tools/main.py")])


# --- what people do -----------------------------------------------------------------------------------------------------


def strips(*patterns: str) -> Plant:
    """Run ``strip`` over libraries, as recipes for small images do."""

    def plant(world: World) -> None:
        for pattern in patterns:
            subprocess.run(["strip", str(world.own(world.library(pattern)))], check=True)

    return plant


def drops(*names: str) -> Plant:
    """Delete files of the home."""

    def plant(world: World) -> None:
        for name in names:
            (world.home / name).unlink()

    return plant


def openssl_of_before(world: World) -> None:
    """Have a libcrypto in another program's folder that lacks what Python's own modules were linked with."""
    folder = world.home / "matlab/bin/glnxa64"
    folder.mkdir(parents=True)
    made = ["gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libcrypto.so.3", "-o", str(folder / "libcrypto.so.3")]
    subprocess.run([*made, "-x", "c", "/dev/null"], check=True)


def voice(world: World) -> None:
    """Record a second of silence."""
    with wave.open(str(world.home / "work/voice.wav"), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(16000)
        f.writeframes(b"\0\0" * 16000)


def tokens(world: World) -> None:
    """Have a small tokenizer's file."""
    code = "from tokenizers import Tokenizer, models; Tokenizer(models.BPE({'a': 0, '<unk>': 1}, [], unk_token='<unk>')).save('tokenizer.json')"
    done = world.run([world.python, "-c", code])
    if done.returncode:
        raise OSError(done.stderr.decode())
    shutil.copy2(world.home / "work/tokenizer.json", world.home / "work/tokenizer-of-once.json")


# --- the files of their tools -------------------------------------------------------------------------------------------


def dockerfile(line: str) -> dict[str, str]:
    """Return the file of an image."""
    start = 'WORKDIR {home}/work\nCOPY . .\nCMD ["{env}/bin/python", "main.py"]\n'
    return {"work/Dockerfile": f"FROM nvidia/cuda:12.8.1-base-ubuntu22.04\n{line}\n{start}"}


def pixi(line: str) -> dict[str, str]:
    """Return pixi's manifest."""
    head = '[workspace]\nname = "simulation"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n\n'
    return {"work/pixi.toml": f'{head}[activation.env]\n{line}\n\n[tasks]\ntrain = "{{env}}/bin/python main.py"\n'}


def spyder(python: str) -> dict[str, str]:
    """Return Spyder's file of settings."""
    told = f"default = False\ncustom = True\nexecutable = {python}\ncustom_interpreter = {python}\n"
    return {".config/spyder-py3/config/spyder.ini": f"[main]\nversion = 87.2.0\n\n[main_interpreter]\n{told}"}


def model_that(line: str) -> dict[str, str]:
    """Return a model with code of its own, which begins with this line."""
    where = {"AutoConfig": "configuration_lab.LabConfig", "AutoModel": "modeling_lab.LabModel"}
    code = (
        "import torch\nfrom torch import nn\nfrom transformers import PreTrainedModel\n"
        f"{line}\n\nfrom .configuration_lab import LabConfig\n\n\n"
        "class LabModel(PreTrainedModel):\n    config_class = LabConfig\n\n"
        "    def __init__(self, config):\n        super().__init__(config)\n        self.head = nn.Linear(4, 4)\n"
    )
    return {
        "work/model/config.json": json.dumps({"model_type": "lab", "auto_map": where}),
        "work/model/configuration_lab.py": "from transformers import PretrainedConfig\n\n\nclass LabConfig(PretrainedConfig):\n    model_type = 'lab'\n",
        "work/model/modeling_lab.py": code,
    }


RUN_IN_DOCKER = {
    "work/run.sh": "#!/bin/bash\n"
    'docker run --rm --gpus all --env-file gpu.env -v "$PWD:$PWD" -w "$PWD" lab:latest {env}/bin/python main.py\n'
}
COMPOSE = {
    "work/compose.yaml": "services:\n  train:\n    image: lab:latest\n    env_file: gpu.env\n    working_dir: {home}/work\n"
    "    command: {env}/bin/python main.py\n"
}
HUB_OF_JUPYTER = (
    "c = get_config()  # noqa\nc.JupyterHub.bind_url = 'http://:8000'\n"
    "c.Spawner.default_url = '/lab'\nc.Spawner.notebook_dir = '~/work'\n"
)
REPOSITORY = {
    ".cache/torch/hub/lab_detector_main/hubconf.py": "dependencies = ['torch']\n\n\ndef detector():\n"
    "    from models.detector import Detector\n\n    return Detector()\n",
    ".cache/torch/hub/lab_detector_main/models/__init__.py": "",
    ".cache/torch/hub/lab_detector_main/models/detector.py": "from torch import nn\n\n\nclass Detector(nn.Module):\n    pass\n",
}
