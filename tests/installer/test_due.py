"""What makes the artefacts due, on a small checkout of our own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import installer


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in {
        "installer/convalesce.spec": "both",
        "installer/build_linux.sh": "linux",
        "installer/windows/setup.nsi": "windows",
        "tests/installer/windows_lab.py": "windows",
        "requirements/app.txt": "msgspec==1",
        "core/__init__.py": '__version__ = "1.0"\n',
        "core/rules/wording.py": "import json\n\nSAYS = 'a sentence'\n",
        "gui/window/window.py": "from PySide6 import QtWidgets\n",
        "resources/help/en/gpu.md": "help",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    monkeypatch.setattr(installer, "ROOT", tmp_path)
    monkeypatch.delenv("CONVALESCE_RELEASE", raising=False)
    for system in installer.SYSTEMS:
        assert installer.due(system) == "they were never tried"
        installer.passed(system, installer.signature(system))
        assert installer.due(system) == ""
    return tmp_path


@pytest.mark.parametrize(
    ("file", "content", "due"),
    [
        ("installer/convalesce.spec", "changed", {"linux", "windows"}),
        ("installer/build_linux.sh", "changed", {"linux"}),
        ("installer/windows/setup.nsi", "changed", {"windows"}),
        ("tests/installer/windows_lab.py", "changed", {"windows"}),
        ("requirements/app.txt", "msgspec==2", {"linux", "windows"}),
        ("core/__init__.py", '__version__ = "1.1"\n', {"linux", "windows"}),
        ("core/rules/wording.py", "import json\n\nSAYS = 'a better sentence'\n", set()),
        ("core/rules/wording.py", "import csv\n", {"linux", "windows"}),
        ("core/rules/more.py", "import json\n", {"linux", "windows"}),
        ("gui/window/window.py", "from PySide6 import QtNetwork\n", {"linux", "windows"}),
        ("resources/help/en/gpu.md", "better help", set()),
        ("resources/locale/de/LC_MESSAGES/convalesce.po", "", {"linux", "windows"}),
        ("core/rules/__pycache__/words.pyc", "", set()),
        ("installer/convalesce.spec", "both", set()),
    ],
)
def test_what_an_installer_is_made_of_makes_it_due(checkout: Path, file: str, content: str, due: set[str]) -> None:
    (checkout / file).parent.mkdir(parents=True, exist_ok=True)
    (checkout / file).write_text(content)
    assert {system for system in installer.SYSTEMS if installer.due(system)} == due


def test_a_release_and_a_tagged_commit_are_always_built(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], cwd=checkout, check=True)
    assert installer.due("linux") == ""
    subprocess.run(["git", "tag", "v1.0"], cwd=checkout, check=True)
    assert installer.due("linux") == "this commit is tagged v1.0"
    subprocess.run(["git", "tag", "-d", "v1.0"], cwd=checkout, check=True, capture_output=True)
    monkeypatch.setenv("CONVALESCE_RELEASE", "1")
    assert installer.due("windows") == "this is a release"
