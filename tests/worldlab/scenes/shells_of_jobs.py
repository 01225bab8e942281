"""Commands that a shell without ``source`` reads: /bin/sh of Debian and Ubuntu (class D).

A job that names the word before ``&&`` ends there; behind ``;`` or a new line the first Python of PATH runs. make and sh are real; cron and systemd do not run, but their command does.
"""

from __future__ import annotations

import json
import shlex

from tests.worldlab.scene import Ran, Scene, World, then
from tests.worldlab.scenes.held_out_8 import JAX, Plant, writes
from tests.worldlab.scenes.held_out_12 import by_cron, crontab
from tests.worldlab.scenes.held_out_15 import said_by
from tests.worldlab.scenes.starters import by_unit, of_npm, program, started, unit_text

ENDS = ("process_env_not_inherited", "wrong_environment_active", "program_error", "python_environment_broken")
BY_MAKE = started("env", "-i", "PATH=/usr/bin:/bin", "HOME={home}", "make", "run")
BY_ITSELF = started("env", "-i", "PATH=/usr/bin:/bin", "HOME={home}", "./run.sh")
ACTIVATE = "source {env}/bin/activate"


def by_cron_in_bash(world: World) -> Ran:
    """Run the one job as cron does where the table says SHELL=/bin/bash."""
    command = (world.folder / "spool/cron/crontabs/root").read_text().splitlines()[-1].split(None, 5)[5]
    return said_by(world, ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", "bash", "-c", command])


def by_procfile(world: World) -> Ran:
    """Run the one process as honcho does: by ``sh -c`` (its process.py)."""
    told = (world.home / "work/Procfile").read_text().strip().partition(": ")[2]
    return said_by(world, ["env", "-i", "PATH=/usr/bin:/bin", f"HOME={world.home}", "sh", "-c", told])


def nightly(command: str, head: str = "") -> Plant:
    """Have a job of cron's."""
    return crontab(f"{head}15 3 * * * cd {{home}}/work && {command}\n")


def service(command: str, shell: str = "/bin/sh") -> Plant:
    """Have a service of the person's own that a shell starts."""
    return writes(
        {
            ".config/systemd/user/train.service": unit_text(
                "WorkingDirectory=%h/work\n", f"{shell} -c {shlex.quote(command)}"
            )
        }
    )


def made(*lines: str, head: str = "") -> Plant:
    """Have a makefile."""
    rows = "".join(f"\t{line}\n" for line in lines)
    return writes({"work/Makefile": f"{head}.PHONY: run\nrun:\n{rows}"})


def script(text: str) -> Plant:
    """Have a script that may be run."""
    return writes({"work/run.sh": text}, mode=0o755)


def npm(command: str) -> Plant:
    """Have a script of npm's."""
    return writes({"work/package.json": json.dumps({"name": "site", "scripts": {"serve": command}}, indent=2)})


def _fault(name: str, oracle: object, plant: Plant, names: str, says: str) -> Scene:
    return Scene(name, "D", "jax", oracle, then(program(JAX), plant), ENDS, "", names, says)


def _healthy(name: str, oracle: object, plant: Plant) -> Scene:
    return Scene(name, "healthy", "jax", oracle, then(program(JAX), plant))


LOST = "source: not found"
LACKS = "No module named 'jax'"

SCENES: tuple[Scene, ...] = (
    _fault("sh-and-of-cron", by_cron, nightly(f"{ACTIVATE} && python3 main.py"), "crontabs/root", LOST),
    _fault("sh-next-of-cron", by_cron, nightly(f"{ACTIVATE}; python3 main.py"), "crontabs/root", LACKS),
    _fault("sh-and-of-a-unit", by_unit, service(f"{ACTIVATE} && exec python main.py"), "train.service", LOST),
    _fault("sh-next-of-a-unit", by_unit, service(f"{ACTIVATE}; exec python3 main.py"), "train.service", LACKS),
    _fault("sh-and-of-make", BY_MAKE, made(f"{ACTIVATE} && python main.py"), "Makefile", "source"),
    _fault("sh-next-of-make", BY_MAKE, made(f"{ACTIVATE}; python3 main.py"), "Makefile", LACKS),
    _fault("sh-two-lines-of-make", BY_MAKE, made(". {env}/bin/activate", "python3 main.py"), "Makefile", LACKS),
    _fault(
        "sh-of-a-script",
        BY_MAKE,
        then(script(f"#!/bin/bash\n{ACTIVATE}\npython3 main.py\n"), made("sh run.sh")),
        "Makefile",
        LACKS,
    ),
    _fault(
        "sh-and-of-a-procfile",
        by_procfile,
        writes({"work/Procfile": f"worker: {ACTIVATE} && exec python main.py\n"}),
        "Procfile",
        LOST,
    ),
    _fault(
        "sh-that-ends-of-a-script",
        BY_ITSELF,
        script(f"#!/bin/sh\nset -e\n{ACTIVATE}\npython main.py\n"),
        "run.sh",
        LOST,
    ),
    _fault(
        "sh-first-line-of-a-script", BY_ITSELF, script(f"#!/bin/sh\n{ACTIVATE}\npython3 main.py\n"), "run.sh", LACKS
    ),
    _fault("sh-and-of-npm", of_npm, npm(f"{ACTIVATE} && python main.py"), "package.json", LOST),
    _healthy("odd-sh-dot-of-cron", by_cron, nightly(". {env}/bin/activate && python main.py")),
    _healthy("odd-sh-bash-of-cron", by_cron_in_bash, nightly(f"{ACTIVATE} && python main.py", "SHELL=/bin/bash\n")),
    _healthy("odd-sh-bash-of-a-unit", by_unit, service(f"{ACTIVATE} && exec python main.py", "/bin/bash")),
    _healthy("odd-sh-dot-of-a-unit", by_unit, service(". {env}/bin/activate; exec python main.py")),
    _healthy("odd-sh-bash-of-make", BY_MAKE, made(f"{ACTIVATE} && python main.py", head="SHELL := /bin/bash\n")),
    _healthy("odd-sh-or-of-make", BY_MAKE, made(f"{ACTIVATE} 2>/dev/null || . {{env}}/bin/activate; python main.py")),
    _healthy("odd-sh-one-shell-of-make", BY_MAKE, made(". {env}/bin/activate", "python main.py", head=".ONESHELL:\n")),
    _healthy("odd-sh-bash-of-a-script", BY_ITSELF, script(f"#!/bin/bash\n{ACTIVATE}\npython main.py\n")),
    _healthy("odd-sh-dot-of-npm", of_npm, npm(". {env}/bin/activate && python main.py")),
)
