"""The program as a package of the system lays it below /: the tree that the .deb and the .rpm share."""

from __future__ import annotations

import shutil
from pathlib import Path

from installer.generate import manual
from installer.linux import desktop, tarball

HOME = "usr/lib/convalesce"
PAPERS = "usr/share/doc/convalesce"


def lay_out(frozen: Path, stage: Path, zsh: str = "site-functions") -> Path:
    """Lay everything below ``stage``; return the program's folder there. ``zsh`` is where the system's zsh looks."""
    home = stage / HOME
    shutil.copytree(frozen, home, symlinks=True)
    (stage / "usr/bin").mkdir(parents=True)
    (stage / "usr/bin/convalesce").symlink_to("../lib/convalesce/convalesce")
    desktop.build(stage / "usr/share", "convalesce")
    manual.build(stage / "usr/share", zsh)
    actions = stage / "usr/share/polkit-1/actions"
    actions.mkdir(parents=True)
    shutil.copy2(Path(__file__).parent / "convalesce.policy", actions)
    papers = stage / PAPERS
    papers.mkdir(parents=True)
    (papers / "THIRD-PARTY.txt").write_text(tarball.notices(), encoding="utf-8")
    return home


def set_modes(stage: Path) -> None:
    """Let programs and folders be 755, and all else 644, libraries too."""
    for item in stage.rglob("*"):
        if not item.is_symlink():
            runs = item.is_dir() or (item.stat().st_mode & 0o100 and ".so" not in item.name)
            item.chmod(0o755 if runs else 0o644)
