"""The twin of an environment on Windows, where one folder answers to two of the names that environments' folders have."""

from __future__ import annotations

import sys
from pathlib import Path

from core.common.progress import Progress
from core.fixes.packages.twin import copy_environment

assert sys.platform == "win32"


def test_every_folder_is_copied_once(tmp_path: Path) -> None:
    prefix, root = tmp_path / "ml", tmp_path / "twin"
    for name in ("Lib/site-packages/numpy/__init__.py", "Scripts/pip.exe", "Include/a.h", "mine/notes.txt"):
        file = prefix / name
        file.parent.mkdir(parents=True)
        file.write_text(name)
    root.mkdir()
    copy_environment(str(prefix), root, Progress())
    assert sorted(p.name for p in root.iterdir()) == ["Include", "Lib", "Scripts"]
    assert (root / "Lib/site-packages/numpy/__init__.py").read_text() == "Lib/site-packages/numpy/__init__.py"
