"""Programs that files describe as data, and what programs and notebooks give themselves (class D): in-sample, written with the rules.

Where the starter itself can be had (honcho, IPython, a shell), it is the oracle; else the file's variables are given as its documentation says.
"""

from __future__ import annotations

import json

from tests.worldlab.scene import Scene, installs, then
from tests.worldlab.scenes.held_out import CT2_PATHS, CUBLAS, NOT_SEARCHED, SHADOWED, STUB, VALUE, writes
from tests.worldlab.scenes.starters import BAD_FLAG, JAX, OLD, ONES, SESSION, program, runnable, started

FLAG = f"XLA_FLAGS={BAD_FLAG}"
MAIN = ("{env}/bin/python", "main.py")
IPYTHON = installs("ipython==9.6.0", "nbformat==5.10.4")
PROCESSES = "version: '0.5'\nprocesses:\n  serve:\n    command: {env}/bin/python main.py\n    working_dir: {home}/work\n    environment:\n      - LD_LIBRARY_PATH=%s\n"


def notebook(*cells: str) -> str:
    """Return the text of a notebook with these cells."""
    rows = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": c.splitlines(keepends=True)} for c in cells]  # fmt: skip
    whole = {"cells": rows, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(whole, indent=1)


SAYS = "print('this', 'works', flush=True)"
"""A traceback shows the line itself, too."""

SCENES: tuple[Scene, ...] = (
    # --- a command and variables, described as data
    Scene("jax-flag-of-circus", "D", "jax", started("env", FLAG, *MAIN), then(writes({"work/circus.ini": f"[watcher:serve]\ncmd = {{env}}/bin/python main.py\nnumprocesses = 1\n\n[env:serve]\nXLA_FLAGS = {BAD_FLAG}\n"}), program(JAX)), VALUE, "", "circus.ini", "Unknown flag"),
    Scene("ctranslate2-by-process-compose", "D", "ctranslate2", started("env", f"LD_LIBRARY_PATH={OLD}", *MAIN), then(CT2_PATHS, writes({"work/process-compose.yaml": PROCESSES % OLD}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "process-compose.yaml", "libcublas"),
    Scene("torch-by-tmuxp", "D", "torch-2.6", started("env", "PYTHONPATH={home}/work/stubs", *MAIN), then(writes({"work/stubs/torch/__init__.py": STUB, "work/.tmuxp.yaml": "session_name: train\nenvironment:\n  PYTHONPATH: {home}/work/stubs\nwindows:\n  - window_name: train\n    panes:\n      - {env}/bin/python main.py\n"}), program(ONES)), SHADOWED, "torch", ".tmuxp.yaml", "has no attribute"),
    Scene("jax-precision-of-zed", "D", "jax", started("env", "JAX_DEFAULT_MATMUL_PRECISION=fp16", *MAIN), then(writes({"work/.zed/tasks.json": '[\n  {"label": "run", "command": "{env}/bin/python", "args": ["main.py"],\n   "env": {"JAX_DEFAULT_MATMUL_PRECISION": "fp16"}}\n]\n'}), program(JAX)), VALUE, "", "tasks.json", "Invalid value"),
    Scene("jax-flag-of-a-procfile-for-development", "D", "jax", started("{env}/bin/honcho", "start", "-f", "Procfile.dev"), then(installs("honcho==2.0.0"), writes({"work/Procfile.dev": f"web: {FLAG} {{env}}/bin/python main.py\n"}), program(JAX)), VALUE, "", "Procfile.dev", "Unknown flag"),
    Scene("ctranslate2-by-a-script-in-a-folder", "D", "ctranslate2", started("scripts/serve.sh"), then(CT2_PATHS, writes({"work/scripts/serve.sh": f"#!/bin/sh\nexport LD_LIBRARY_PATH={OLD}\nexec {{env}}/bin/python main.py\n"}), runnable("work/scripts/serve.sh"), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "serve.sh", "libcublas"),
    # --- what programs and notebooks give themselves
    Scene("jax-precision-of-its-first-lines", "D", "jax", started(*MAIN), program(JAX, "import os\nos.environ['JAX_DEFAULT_MATMUL_PRECISION'] = 'fp16'"), VALUE, "", "main.py", "Invalid value"),
    Scene("onnxruntime-behind-its-vendored-folder", "D", "onnxruntime-1.23", started(*MAIN), then(writes({"work/vendor/onnxruntime/__init__.py": "class Session:\n    pass\n"}), program(SESSION, "import sys\nsys.path.insert(0, 'vendor')")), SHADOWED, "", "main.py", "has no attribute"),
    Scene("jax-level-of-a-notebook", "D", "jax", started("{env}/bin/python", "-m", "IPython", "train.ipynb"), then(IPYTHON, writes({"work/train.ipynb": notebook("%env JAX_LOGGING_LEVEL=verbose", f"{JAX}\n{SAYS}")}, "work")), VALUE, "", "train.ipynb", "Invalid value"),
    # --- odd, and healthy
    Scene("odd-files-that-describe-programs", "healthy", "jax", started("env", "XLA_FLAGS=--xla_gpu_autotune_level=2", *MAIN), then(writes({
        "work/circus.ini": "[watcher:serve]\ncmd = {env}/bin/python main.py\n\n[env:serve]\nXLA_FLAGS = --xla_gpu_autotune_level=2\n",
        "work/compose.yaml": f"services:\n  train:\n    image: nvcr.io/nvidia/jax:25.08-py3\n    command: python main.py\n    environment:\n      XLA_FLAGS: {BAD_FLAG}\n",
        "work/deploy/job.yaml": f"kind: Job\nspec:\n  containers:\n    - name: train\n      command: [\"{{env}}/bin/python\", main.py]\n      env:\n        - name: XLA_FLAGS\n          value: {BAD_FLAG}\n",
        "work/jobs.yaml": f"env:\n  XLA_FLAGS: {BAD_FLAG}\ncommand: /srv/other/.venv/bin/python main.py\n",
        "work/train.ipynb": notebook("%env JAX_LOGGING_LEVEL=DEBUG", "import jax", "%env JAX_DEFAULT_MATMUL_PRECISION=fp16"),
        "work/vendor/mine.py": "",
        "work/tool.py": "import os, sys\nsys.path.insert(0, 'vendor')\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nimport jax\nos.environ['JAX_LOGGING_LEVEL'] = 'loud'\n",
    }), program(JAX))),
)  # fmt: skip
