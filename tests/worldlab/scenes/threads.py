"""Faults that public threads of 2023 to 2026 tell of again and again, and that the lab did not hold.

The rules were mended with these scenes. Above each row: the kind of thread.
"""

from __future__ import annotations

from tests.worldlab.scene import Ran, Scene, World, then
from tests.worldlab.scenes.held_out_8 import ONES, writes
from tests.worldlab.scenes.held_out_12 import by_cron, crontab
from tests.worldlab.scenes.held_out_15 import by_script, said_by
from tests.worldlab.scenes.starters import by_unit, program, unit_text

ELSEWHERE = ("wrong_environment_active",)
UNIT = ".config/systemd/user/train.service"


def by_make(world: World) -> Ran:
    """Run ``make train`` in the project."""
    return said_by(world, ["make", "-s", "train"])


def pipx(world: World) -> None:
    """Have streamlit in an environment of its own, as pipx puts it, and its program in ~/.local/bin."""
    inner = world.home / ".local/share/pipx/venvs/streamlit"
    world.run(["/usr/bin/python3", "-m", "venv", "--without-pip", str(inner)])
    tool = "import runpy, sys\nrunpy.run_path(sys.argv[2], run_name='__main__')\n"
    writes({".local/share/pipx/venvs/streamlit/bin/streamlit": f"#!{inner}/bin/python\n{tool}"}, mode=0o755)(world)
    (world.home / ".local/bin").mkdir(parents=True)
    (world.home / ".local/bin/streamlit").symlink_to(inner / "bin/streamlit")
    world.variables["PATH"] = f"{world.home}/.local/bin:/usr/local/bin:/usr/bin:/bin"


SCENES: tuple[Scene, ...] = (
    # make: each line of a recipe has a shell of its own
    Scene("activation-on-a-line-of-its-own", "D", "torch-2.6", by_make, then(program(ONES), writes({"work/Makefile": "train:\n\t. {env}/bin/activate\n\tpython3 main.py\n"})), ELSEWHERE, "", "Makefile", "No module named 'torch'"),
    # a unit that starts a script by sh, which has no "source"
    Scene("service-by-sh-with-source", "D", "torch-2.6", by_unit, then(program(ONES), writes({"work/run.sh": "source {env}/bin/activate\npython3 {home}/work/main.py\n", UNIT: unit_text("WorkingDirectory={home}/work\n", "/bin/sh {home}/work/run.sh")})), ELSEWHERE, "", "train.service", "No module named 'torch'"),
    # cron's shell is sh, which has no "source"
    Scene("cron-by-sh-with-source", "D", "jax", by_cron, then(program("import jax"), crontab("0 3 * * * cd {home}/work; source {env}/bin/activate; python3 main.py\n")), ELSEWHERE, "", "cron", "No module named 'jax'"),
    # conda activate in a script that no shell of conda's runs
    Scene("service-by-a-script-for-conda", "D", "torch-2.6", by_unit, then(program(ONES), writes({"work/run.sh": "#!/bin/bash\nconda activate train\npython3 {home}/work/main.py\n", UNIT: unit_text("WorkingDirectory={home}/work\n", "/bin/bash {home}/work/run.sh")})), ELSEWHERE, "", "train.service", "No module named 'torch'"),
    # streamlit by pipx
    Scene("streamlit-of-pipx", "D", "torch-2.6", by_script, then(pipx, program(ONES), writes({"work/run.sh": "#!/bin/bash\nstreamlit run main.py\n"})), ELSEWHERE, "", "streamlit", "No module named 'torch'"),
)  # fmt: skip
