"""``python -m tests.installer [SYSTEM...]``: build and try the artefacts that are due; see the package's own words.

A system is tried by ``python -m tests.installer.SYSTEM``, which exits with 0 when its artefacts passed.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time

from installer.by_hand import by_hand
from tests.installer import ROOT, SYSTEMS, due, passed, signature


def main(arguments: list[str]) -> int:
    """Try each system that is due, and record those that passed; return 1 if one failed."""
    status = 0
    for system in arguments or SYSTEMS:
        if importlib.util.find_spec(f"tests.installer.{system}") is None:
            continue
        why = due(system)
        print(
            f"installer for {system}: {f'built and tried, because {why}' if why else 'unchanged, not built'}",
            flush=True,
        )
        if not why:
            continue
        start, made_of = time.monotonic(), signature(system)
        if subprocess.run([sys.executable, "-m", f"tests.installer.{system}"], cwd=ROOT, check=False).returncode:
            print(f"installer for {system}: FAILED", flush=True)
            status = 1
        else:
            passed(system, made_of)
            print(f"installer for {system}: passed in {time.monotonic() - start:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "[SYSTEM...]")))
