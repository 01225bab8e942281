"""The twenty-fourth held-out set: what its scenes are made of, and how its programs are started. No scenes of its own."""

from __future__ import annotations

import configparser
import json
import shlex

from tests.worldlab.scene import LEAVE, Ran, Scene, World
from tests.worldlab.scenes.held_out_8 import Plant, checkout, writes
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.starters import WORKS

SCENES: tuple[Scene, ...] = ()
PATH = "PATH=/usr/local/bin:/usr/bin:/bin"


# --- how programs are started -------------------------------------------------------------------------------------------


def by_supervisor(world: World) -> Ran:
    """Run the one program of ``supervisord.conf`` as a Supervisor that init started does: no shell, and the PATH of init."""
    told = configparser.RawConfigParser(inline_comment_prefixes=(" ;",))
    told.read(world.home / "work/supervisord.conf")
    section = told["program:captions"]
    words = shlex.split(section["command"])
    return said_by(world, ["env", "-i", "-C", section["directory"], PATH, f"HOME={world.home}", "LANG=C.UTF-8", *words])


def by_ipython(world: World) -> Ran:
    """Run the notebook's cells by the IPython of its kernel; Jupyter itself was started outside every environment."""
    told = json.loads((world.home / "work/train.ipynb").read_text())
    kernel = world.home / ".local/share/jupyter/kernels" / told["metadata"]["kernelspec"]["name"] / "kernel.json"
    cells = world.folder / "cells.ipy"
    cells.write_text("\n".join("".join(cell["source"]) for cell in told["cells"] if cell["cell_type"] == "code"))
    python = json.loads(kernel.read_text())["argv"][0]
    clean = [PATH, f"HOME={world.home}", "LANG=C.UTF-8", f"IPYTHONDIR={world.folder / 'ipython'}"]
    return said_by(world, ["env", "-i", *clean, python, "-m", "IPython", "--no-banner", str(cells)])


# --- what people do -----------------------------------------------------------------------------------------------------


def keeps_pieces(world: World) -> None:
    """Have the vocabulary of a small T5 in a folder of the project, as SentencePiece itself writes it."""
    code = (
        "import os, sentencepiece as s\n"
        "os.makedirs('model', exist_ok=True)\n"
        "s.SentencePieceTrainer.train(sentence_iterator=iter(['a cat sat on a mat', 'the dog ran to the sea'] * 9), "
        "model_prefix='model/spiece', vocab_size=40, hard_vocab_limit=False)\n"
        "open('model/tokenizer_config.json', 'w').write('{\"tokenizer_class\": \"T5Tokenizer\"}')"
    )
    done = world.run([world.python, "-c", code])
    if done.returncode:
        raise OSError(done.stderr.decode())


def clone_of_torch(world: World) -> None:
    """Have a clone of PyTorch, which nobody built: its Python files without the one that a build makes, and no library."""
    checkout("torch", "work", "**/*.py", "_C/*.pyi")(world)
    (world.home / "work/torch/version.py").unlink()
    files = {
        "setup.py": "from setuptools import setup\n",
        "README.md": "# PyTorch\n",
        "caffe2/README.md": "",
        "version.txt": "2.7.0a0\n",
    }
    writes({f"work/{name}": text for name, text in files.items()})(world)


# --- the files of their tools -------------------------------------------------------------------------------------------


def supervised(command: str) -> Plant:
    """Write Supervisor's file for a program with this command."""
    return writes(
        {
            "work/supervisord.conf": "[supervisord]\nnodaemon=true\n\n[program:captions]\n"
            f"command={command}\ndirectory={{home}}/work\nautostart=true\nautorestart=true\nstdout_logfile=/var/log/captions.log\n"
        }
    )


def image_of_uv(command: str) -> dict[str, str]:
    """Return the file of an image into which uv installs the project, and the project's own."""
    return {
        "work/Dockerfile": "FROM python:3.11-slim\nCOPY --from=ghcr.io/astral-sh/uv:0.8 /uv /uvx /bin/\n"
        f"WORKDIR {{home}}/work\nCOPY . .\nRUN uv sync --frozen --no-dev\n\nCMD {command}\n",
        "work/pyproject.toml": '[project]\nname = "captions"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = ["torch", "torchvision"]\n',
    }


def notebook_that(*lines: str) -> dict[str, str]:
    """Return a notebook of one cell in the kernel of the environment, and the program beside it."""
    cell = {"cell_type": "code", "execution_count": None, "id": "b2", "metadata": {}, "outputs": []}
    told = {
        "cells": [{**cell, "source": "\n".join(lines).splitlines(keepends=True)}],
        "metadata": {"kernelspec": {"display_name": "Python (ml)", "language": "python", "name": "ml"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    spec = {
        "argv": ["{env}/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python (ml)",
        "language": "python",
    }
    return {
        "work/train.ipynb": json.dumps(told, indent=1),
        "work/train.py": f"import torch\n\ntorch.ones(1)\nprint('{WORKS}', flush=True){LEAVE}\n",
        ".local/share/jupyter/kernels/ml/kernel.json": json.dumps(spec, indent=1),
    }


TESSERACT = {
    "tesseract/bin/tesseract": '#!/bin/sh\ncase "$1" in\n    --version) echo "tesseract 5.3.0" ;;\n    *) echo text > "$2.txt" ;;\nesac\n'
}
"""Tesseract in a folder of the person's."""
MAILS = {
    "work/email.py": "import smtplib\nfrom email.mime.text import MIMEText\n\n\ndef send(text):\n    with smtplib.SMTP('localhost') as server:\n        server.send_message(MIMEText(text))\n"
}
"""What tells the person that the training is over."""
EVALUATES = "import torch\n\n\ndef accuracy(model, batches):\n    right = sum((model(x).argmax(1) == y).sum() for x, y in batches)\n    return right / sum(len(y) for _, y in batches)\n"
SEARCHES = {
    "work/google/search.py": "import urllib.request\n\n\ndef first(words):\n    return urllib.request.urlopen('https://www.google.com/search?q=' + words).read()\n",
    "work/google/drive.py": "def download(name):\n    raise NotImplementedError(name)\n",
}
"""What the person's project asks of Google."""
PROFILE = (
    'if [ -n "$BASH_VERSION" ]; then\n    if [ -f "$HOME/.bashrc" ]; then\n        . "$HOME/.bashrc"\n    fi\nfi\n'
)
"""The login file of Debian and Ubuntu."""
