"""``python -m tests.windows [PYTEST ARGUMENTS]``: run the project's tests on a Windows Python, under wine.

Without arguments these are the suites that Windows decides: the host, the children, the loader, the window and this folder.
``--shell ARGUMENTS`` runs that Python with other arguments.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.windows.faultlab import parts
from tests.windows.lab import ROOT, session, wine64
from tests.windows.linux_side import in_wine
from tests.windows.planted import PLACES
from tests.windows.small_drive import small_drive

SUITES = (
    (
        *(
            "tests/windows",
            "tests/host",
            "tests/host/test_child.py",
            "tests/loader",
            "tests/knowledge/test_knowledge.py",
        ),
        *(
            "tests/test_snapshots.py",
            "tests/common/test_progress.py",
            "tests/rules/test_windows.py",
            "tests/rules/test_loading.py",
        ),
        *(f"tests/probes/test_{name}.py" for name in ("cudnn", "cudnn_names", "loading", "wants")),
    ),
    tuple(f"tests/gui/test_{name}.py" for name in ("app", "window", "walk", "seen")),
)
"""What Windows decides, and the window on Qt's own platform for it (its longer tests: tests/gui), each in a process of its own.

Left out: pure functions, probes' tests that build a Linux machine, and fixes by POSIX means, which the fault lab proves
here in their Windows form.
"""


def main(arguments: list[str]) -> int:
    """Set the lab up where need be, run pytest (or Python) in it, pass its output on and return its status."""
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    if arguments[:1] == ["--shell"]:
        commands = [arguments[1:]]
    else:
        named = any((ROOT / argument.partition("::")[0]).exists() for argument in arguments)
        suites = ((),) if named else (tuple(s for s in suite if (ROOT / s).exists()) for suite in SUITES)
        commands = [["-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", *s, *arguments] for s in suites]
    with session() as (lab, display):
        places = {name: in_wine(Path(path)) for name, path in parts.places(light=True).items()}
        before, drive = small_drive(lab)
        env = lab.environment({**display, **drive, PLACES: json.dumps(places)})
        for command in commands:
            if status := _run([*before, wine64(), lab.python, *command], env):
                sys.exit(status)  # the exception has the prefix made anew: a test that failed may have changed it
    return 0


def _run(command: list[str | Path], env: dict[str, str]) -> int:
    """Run a command, pass its output on and return its status."""
    pipe, none = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=none, stdout=pipe, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line.decode("utf-8", "replace"))
            sys.stdout.flush()
    return process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
