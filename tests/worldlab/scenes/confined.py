"""Services whose settings keep something from their program (class D): the kernel's own limits are the oracle.

The units belong to the person, since a scene writes below its home. What systemd would do is done with the same calls: prctl(2) for
MemoryDenyWriteExecute=, setrlimit(2) for LimitAS=.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.worldlab.scene import Scene, World, then
from tests.worldlab.scenes.held_out import command, writes
from tests.worldlab.scenes.starters import ONES, program

UNIT = ".config/systemd/user/serve.service"
COMPILED = "import jax.numpy as jnp; jnp.ones(3) + 1"
CONFINED = ("service_confined",)
AS_SYSTEMD = """
import ctypes, os, re, resource, sys
text = open(sys.argv[1]).read()
if re.search(r"MemoryDenyWriteExecute=yes", text) and ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
    sys.exit("this kernel is older than PR_SET_MDWE")
if size := re.search(r"LimitAS=(\\d+)G", text):
    resource.setrlimit(resource.RLIMIT_AS, (int(size[1]) << 30,) * 2)
os.execv(sys.argv[2], sys.argv[2:])
"""


def unit(world: World) -> Sequence[str | Path]:
    """Start as systemd does, with the unit's own limits."""
    return [sys.executable, "-c", AS_SYSTEMD, world.home / UNIT, world.python]


def serving(*settings: str) -> str:
    """Return a unit with these settings."""
    return "\n".join(("[Service]", *settings, "WorkingDirectory={home}/work", "ExecStart={env}/bin/python main.py", ""))


SCENES: tuple[Scene, ...] = (
    Scene("jax-service-without-compiled-code", "D", "jax", command(unit, COMPILED), then(writes({UNIT: serving("MemoryDenyWriteExecute=yes")}), program(COMPILED)), CONFINED, "", "serve.service", "LLVM compilation error"),
    Scene("torch-service-with-little-address-space", "D", "torch-2.6", command(unit, ONES), then(writes({UNIT: serving("LimitAS=3G")}), program(ONES)), CONFINED, "", "serve.service", ""),
    Scene("odd-torch-service-without-compiled-code", "healthy", "torch-2.6", command(unit, ONES), then(writes({UNIT: serving("MemoryDenyWriteExecute=yes", "NoNewPrivileges=yes")}), program(ONES))),
    Scene("odd-jax-service-with-limits", "healthy", "jax", command(unit, COMPILED), then(writes({UNIT: serving("LimitAS=64G", "LimitMEMLOCK=64K", "PrivateTmp=yes")}), program(COMPILED))),
)  # fmt: skip
