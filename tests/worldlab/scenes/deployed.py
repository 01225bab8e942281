"""Ways of starting that hand on variables of their own (class D): pm2, a runner of GitHub Actions, Slurm's --export.

The starters are not here: their documentation's rules are the oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.worldlab.scene import Ran, Scene, World, then
from tests.worldlab.scenes.held_out import CT2_PATHS, CUBLAS, NOT_SEARCHED, SHADOWED, STUB, VALUE, command, writes
from tests.worldlab.scenes.starters import BAD_FLAG, JAX, ONES, WORKS, program

ECOSYSTEM = """// pm2 start
module.exports = {
  apps: [{
    name: 'train', script: 'main.py', interpreter: '{env}/bin/python', cwd: __dirname,
    env: { PYTHONPATH: '{home}/work/stubs', },
  }],
};
"""


def of_pm2(world: World) -> Sequence[str | Path]:
    """Start with the env of the one program (PM2's documentation, "Ecosystem File")."""
    return ["env", f"PYTHONPATH={world.home}/work/stubs", world.python]


def of_runner(world: World) -> Sequence[str | Path]:
    """Start as a runner does: with each line of its .env."""
    return ["env", *(world.home / "actions-runner/.env").read_text().splitlines(), world.python]


def job(world: World) -> Ran:
    """Run the job as --export=NONE has it: with nothing of the shell that handed it in."""
    done = world.run(
        ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", "/bin/bash", world.home / "work/train.sbatch"]
    )
    said = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return Ran(ok=WORKS in said, said=said[-3000:] or f"status {done.returncode}")


SCENES: tuple[Scene, ...] = (
    Scene("torch-in-an-ecosystem-of-pm2", "D", "torch-2.6", command(of_pm2, ONES), then(writes({"work/ecosystem.config.js": ECOSYSTEM, "work/stubs/torch/__init__.py": STUB}), program(ONES)), SHADOWED, "torch", "ecosystem.config.js", "has no attribute"),
    Scene("jax-job-of-a-runner", "D", "jax", command(of_runner, JAX), writes({"actions-runner/.runner": "{}", "actions-runner/.env": f"LANG=C.UTF-8\nXLA_FLAGS={BAD_FLAG}\n"}), VALUE, "", "actions-runner/.env", "Unknown flag"),
    Scene("ctranslate2-job-of-slurm", "D", "ctranslate2", job, then(CT2_PATHS, writes({"work/train.sbatch": "#!/bin/bash\n#SBATCH --gres=gpu:1\n#SBATCH --export=NONE\ncd {home}/work\n{env}/bin/python main.py\n"}), program(CUBLAS)), NOT_SEARCHED, "ctranslate2", "train.sbatch", "libcublas"),
)  # fmt: skip
