"""Ways of starting that take variables away, and values of which every letter counts (classes D and E); in-sample: rules were made with them."""

from __future__ import annotations

import shlex

from tests.worldlab.scene import Ran, Scene, World, imports, runs, then
from tests.worldlab.scenes.held_out import CT2_PATHS, CUBLAS, NOT_SEARCHED, VALUE, sets, writes
from tests.worldlab.scenes.starters import BAD_FLAG, JAX, program, runnable, started

BY_SCRIPT = started("{home}/bin/serve")
BY_CODE = started("{env}/bin/python", "dags/nightly.py")
BY_FISH = started("fish", "-c", "{env}/bin/python main.py")
ENTRY_AT = ".local/share/applications/subtitles.desktop"


def by_entry(world: World) -> Ran:
    """Start what the desktop's entry says, as it stands there now."""
    rows = (world.home / ENTRY_AT).read_text().splitlines()
    words = shlex.split(next(row for row in rows if row.startswith("Exec=")).partition("=")[2])
    return started(*(w for w in words if w != "%f"))(world)


SU = "#!/bin/sh\nexec su {login}root -c '{env}/bin/python {home}/work/main.py'\n"
DAG = "import os\nimport subprocess\n\nenv = {given}\nenv['OMP_NUM_THREADS'] = '4'\nsubprocess.run(['{env}/bin/python', '{home}/work/main.py'], env=env, check=False)\n"
CONF = ".config/fish/conf.d/gpu.fish"
FLAGS = "function flags\n    set -gx XLA_FLAGS $argv $XLA_FLAGS\nend\nflags {flag}\n"
ENTRY = "[Desktop Entry]\nType=Application\nName=Subtitles\nExec=env LD_LIBRARY_PATH=/opt/cuda-11.8/lib64 {env}/bin/python {home}/work/main.py %f\n"
KERAS = imports("keras")


def serve(login: str) -> str:
    """Return a script that starts the program as root."""
    return SU.replace("{login}", login)


SCENES: tuple[Scene, ...] = (
    Scene("ctranslate2-by-su", "D", "ctranslate2", BY_SCRIPT, then(CT2_PATHS, program(CUBLAS), writes({"bin/serve": serve("- ")}), runnable("bin/serve")), NOT_SEARCHED, "ctranslate2", "bin/serve", "libcublas"),
    Scene("ctranslate2-by-code", "D", "ctranslate2", BY_CODE, then(CT2_PATHS, program(CUBLAS), writes({"work/dags/nightly.py": DAG.replace("{given}", "{'PATH': '/usr/bin:/bin'}")}, "work")), NOT_SEARCHED, "ctranslate2", "nightly.py", "libcublas"),
    Scene("jax-by-a-function-of-fish", "D", "jax", BY_FISH, then(program(JAX), sets(SHELL="/usr/bin/fish"), writes({CONF: FLAGS.replace("{flag}", BAD_FLAG)})), VALUE, "", "XLA_FLAGS", "Unknown flag"),
    Scene("ctranslate2-by-an-entry", "D", "ctranslate2", by_entry, then(CT2_PATHS, program(CUBLAS), writes({ENTRY_AT: ENTRY})), NOT_SEARCHED, "ctranslate2", "subtitles.desktop", "libcublas"),
    Scene("jax-platform-with-a-blank", "E", "jax", runs(JAX), sets(JAX_PLATFORMS="cpu "), VALUE, "", "JAX_PLATFORMS", "not in the list of known backends"),
    Scene("keras-backend-in-capitals", "E", "tensorflow", KERAS, sets(KERAS_BACKEND="TensorFlow"), VALUE, "", "KERAS_BACKEND", "Unable to import backend"),
    Scene("jax-switch-without-a-value", "E", "jax", runs(JAX), sets(JAX_ENABLE_X64=""), VALUE, "", "JAX_ENABLE_X64", "invalid truth value"),
    Scene("odd-su-that-keeps", "healthy", "ctranslate2", BY_SCRIPT, then(CT2_PATHS, program(CUBLAS), writes({"bin/serve": serve("")}), runnable("bin/serve"))),
    Scene("odd-code-that-adds", "healthy", "ctranslate2", BY_CODE, then(CT2_PATHS, program(CUBLAS), writes({"work/dags/nightly.py": DAG.replace("{given}", "os.environ.copy()")}, "work"))),
    Scene("odd-function-of-fish", "healthy", "jax", BY_FISH, then(program(JAX), sets(SHELL="/usr/bin/fish"), writes({CONF: FLAGS.replace("{flag}", "--xla_force_host_platform_device_count=2").replace("flags --", "# flags {flag}\nflags --")}))),
    Scene("odd-capitals-of-jax", "healthy", "jax", runs(JAX), sets(JAX_PLATFORM_NAME="CPU", JAX_ENABLE_X64="TRUE", JAX_PLATFORMS="", JAX_LOGGING_LEVEL="WARNING")),
)  # fmt: skip
