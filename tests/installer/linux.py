"""``python -m tests.installer.linux [FOLDER]``: build the Linux artefacts (or take those in FOLDER) and live with them.

Each one goes into a bare Debian 12 of its own: installed, started, a planted fault found, cured, verified and undone by
the installed program, updated over, uninstalled; and what is left is compared with what was there before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from installer.by_hand import by_hand
from tests.installer import ROOT, linux_checks, linux_story
from tests.installer.linux_root import NoRootError, base

UNTRIED = "no system of its own can be made here, so the Linux artefacts were not tried"


def main(arguments: list[str]) -> int:
    """Run every part and say how long it took; return 1 at the first that fails."""
    with tempfile.TemporaryDirectory(prefix="convalesce-artefacts-") as folder:
        out = Path(arguments[0]).resolve() if arguments else Path(folder)
        parts: list[tuple[str, Callable[[], object]]] = [
            ("a bare Debian 12", base),
            ("the artefacts and their bills", lambda: linux_checks.everything(out)),
            ("frozen as from source", lambda: linux_checks.as_from_source(out)),
            ("the wheel with uv, uvx, pipx and pip", lambda: linux_checks.as_a_tool(out)),
            ("the tarball's life", lambda: linux_story.tarball(out)),
            ("the Debian package's life", lambda: linux_story.package(out)),
            ("the RPM's life", lambda: linux_story.rpm(out)),
        ]
        if not arguments:
            parts.insert(1, ("built", lambda: build(out)))
        for name, part in parts:
            start = time.monotonic()
            try:
                part()
            except NoRootError as e:
                print(f"{e} So {UNTRIED}.", flush=True)
                return 1 if os.environ.get("CONVALESCE_LAB") == "required" else 0
            except AssertionError as e:
                print(f"FAILED: {name}\n{e}", flush=True)
                return 1
            print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return 0


def build(out: Path) -> None:
    """Build as for a release, only packed less tightly."""
    env = {**os.environ, "CONVALESCE_XZ": "1", "PYTHON": sys.executable}
    done = subprocess.run(
        [ROOT / "installer" / "build_linux.sh", out], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def bill(artefact: Path) -> dict[str, object]:
    """Return the bill of materials beside an artefact."""
    content = json.loads(artefact.with_name(artefact.name + ".cdx.json").read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "[FOLDER/]")))
