"""``python -m tests.installer.windows``: build Setup.exe and the portable zip, and try them on a Windows.

On Windows this is the machine itself; elsewhere a wine prefix of its own. ``--built FOLDER`` tries what lies there
already, ``--twice`` builds a second time and compares; windows_sizes measures.
"""

from __future__ import annotations

import argparse
import importlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from core import __version__
from installer.windows import build
from installer.windows.msi import make_msi
from installer.windows.nsis import make_setup
from tests.installer import ROOT
from tests.installer.windows_files import faults
from tests.windows.faultlab import parts

ONLY_OLDER = "_internal/only-in-the-older-version.txt"


def main(argv: Sequence[str]) -> int:
    """Build, try and report; 0 when everything is right."""
    parser = argparse.ArgumentParser(prog="python -m tests.installer.windows", description=__doc__)
    parser.add_argument("--built", type=Path, metavar="FOLDER", help="try what was built there")
    parser.add_argument(
        "--clicked", action="store_true", help="answer Setup's questions by mouse and keyboard, and no more"
    )
    parser.add_argument("--twice", action="store_true", help="build a second time and compare")
    options = parser.parse_args(argv)
    folder = (options.built or ROOT / "build/windows").resolve()
    if not options.built and build.main([str(folder)]):
        return 1
    if options.twice and not same_again(folder):
        return 1
    setup = folder / f"Convalesce-{__version__}-Setup.exe"
    for words in (wrong := faults(folder / "work/frozen/convalesce", setup, __version__)):
        print(words, flush=True)
    return 1 if wrong else tried(folder, "windows_clicked" if options.clicked else "windows_trial")


def same_again(folder: Path) -> bool:
    """Build once more elsewhere; whether every file is the same."""
    with tempfile.TemporaryDirectory() as other:
        build.main([other])
        same = (Path(other) / "SHA256SUMS").read_text() == (folder / "SHA256SUMS").read_text()
    print(f"two builds are {'the same' if same else 'NOT the same'}", flush=True)
    return same


def tried(folder: Path, trial: str) -> int:
    """Make an older version beside this one, and run a trial where the programs run."""
    frozen = folder / "work/frozen/convalesce"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        older = Path(scratch) / "older"
        shutil.copytree(frozen, older)
        (older / ONLY_OLDER).write_text("An update takes this away.\n")
        make_setup(older, build.icon(folder), Path(scratch) / "Older-Setup.exe", "0.0.1", fast=True)
        msi = f"Convalesce-{__version__}.msi"
        with_msi = (folder / msi).exists()  # only where wixl is
        if with_msi:
            make_msi(older, build.icon(folder), Path(scratch) / "Older.msi", "0.0.1")
        shutil.rmtree(older)
        told = {
            "version": __version__,
            "setup": f"Convalesce-{__version__}-Setup.exe",
            "portable": f"Convalesce-{__version__}-portable.zip",
            "older": f"{Path(scratch).name}/Older-Setup.exe",
            "only_older": ONLY_OLDER,
            **({"msi": msi, "older_msi": f"{Path(scratch).name}/Older.msi"} if with_msi else {}),
            "frozen": str(frozen.relative_to(folder)),
            "standins": _windows(parts.standins()),
        }
        (folder / "trial.json").write_text(json.dumps(told))
        return _run(folder, trial)


def _run(folder: Path, trial: str) -> int:
    if sys.platform == "win32":
        main: Callable[[list[str]], int] = importlib.import_module(f"tests.installer.{trial}").main
        return main([str(folder)])
    from tests.windows.lab import session

    with session("installed") as (lab, display):
        command = [lab.python, "-m", f"tests.installer.{trial}", _windows(folder)]
        overrides = "mscoree,mshtml,winedbg.exe,winemenubuilder.exe="  # no entries in this desktop's own menu
        with lab.start(command, {**display, "WINEDLLOVERRIDES": overrides}) as process:
            assert process.stdout is not None
            for line in process.stdout:
                sys.stdout.write(line.decode("utf-8", "replace"))
                sys.stdout.flush()
        if process.returncode:
            raise SystemExit(process.returncode)  # out of the session, which then makes its prefix anew
    return 0


def _windows(path: Path) -> str:
    return str(path) if sys.platform == "win32" else f"Z:{path}".replace("/", "\\")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
