"""``python -m tests.installer.windows_msi FOLDER``: the MSI, tried on this Windows by its own msiexec.

FOLDER holds trial.json, which names an MSI of this and of an older version.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

assert sys.platform == "win32"
# ruff: noqa: E402 - type checkers on Linux stop at the assertion; what follows is known on Windows alone

from installer.by_hand import by_hand
from tests.installer.windows_machine import difference, run_silently, state, tree, until

HOME = Path(os.environ["PROGRAMFILES"], "Convalesce")
LINKS = tuple(
    Path(os.environ[name], "Microsoft/Windows/Start Menu/Programs/Convalesce.lnk")
    for name in ("PROGRAMDATA", "APPDATA")
)
"""Everybody's, and where wine puts everybody's."""
REFUSED = 1603
"""ERROR_INSTALL_FAILURE: a launch condition does not hold."""
BESIDE = 1638
"""ERROR_PRODUCT_VERSION: another version of this product is installed."""
OF_WINDOWS_INSTALLER = (r"\Installer", "Microsoft", "Package Cache")
"""What Windows Installer itself keeps of a package."""


def main(arguments: list[str]) -> int:
    """Try the package from its installation to its removal; an AssertionError names what is not right."""
    folder = Path(arguments[0])
    told = json.loads((folder / "trial.json").read_text(encoding="utf-8"))
    tried(folder, told)
    return 0


def tried(folder: Path, told: Mapping[str, str]) -> None:
    """Install, upgrade, refuse a downgrade, repair and remove, each silently."""
    older, newer = folder / told["older_msi"], folder / told["msi"]
    before = state()
    answered("the older version", 0, "/i", older)
    assert (HOME / "convalesce.exe").exists()
    assert any(link.exists() for link in LINKS), LINKS
    answered("this version over it", 0, "/i", newer)
    whole(folder, told, "upgraded")
    assert not (HOME / told["only_older"]).exists(), "the older version's file is still there"
    kept = tree(HOME)
    beside = run_silently(folder / told["setup"], "/S", "/ALLUSERS")
    assert beside == BESIDE, beside
    say(f"Setup.exe /S /ALLUSERS beside it: {beside}")
    answered("the older version once more", REFUSED, "/i", older)
    assert tree(HOME) == kept, "what was refused changed files"
    (HOME / "convalesce.exe").unlink()
    answered("a repair", 0, "/i", newer, "REINSTALL=ALL", "REINSTALLMODE=amus")  # wine's msiexec has no /f
    whole(folder, told, "repaired")
    answered("the removal", 0, "/x", newer)
    until("the end of the removal", lambda: not HOME.exists())
    left = [d for d in difference(before, state()) if not any(part in d for part in OF_WINDOWS_INSTALLER)]
    assert not left, left
    say("nothing is left")


def whole(folder: Path, told: Mapping[str, str], how: str) -> None:
    """Compare the installed files with the frozen ones."""
    wanted, got = tree(folder / told["frozen"]), tree(HOME)
    assert got == wanted, (how, difference(wanted, got))


def answered(what: str, status: int, action: str, package: Path, *properties: str) -> None:
    """Have msiexec do something silently; its status must be this one."""
    got = run_silently("msiexec", action, package, *properties, "/qn", "/norestart")
    say(f"msiexec {action} {package.name} /qn: {what}, status {got}")
    assert got == status, (what, got)


def say(text: str) -> None:
    print(f"trial of the MSI: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FOLDER/")))
