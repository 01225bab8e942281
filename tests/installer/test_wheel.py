"""The wheel in an environment: one name on the index, and no project's folders in its way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import msgspec
import pytest

from core import __version__
from tests.installer import ROOT

FOREIGN = ("core/__init__.py", "gui/__init__.py", "resources/__init__.py", "msgspec.py", "convalesce_lib.py")
"""Modules of a project: whoever imports one ends with status 1."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this checkout, with the locked setuptools, in a copy: several workers do so at the same time."""
    folder, source = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("source")
    for part in ("core", "gui", "resources", "installer"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ROOT.glob("*"):
        if file.is_file():
            shutil.copy(file, source)
    pip = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", str(folder), str(source)], check=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it into an environment that finds its requirements where ours do."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    (packages / "requirements.pth").write_text(f"{Path(msgspec.__file__).parents[1]}\n")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with folders of the names that the program uses inside."""
    for name in FOREIGN:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('the project was imported')\n")
    return tmp_path


def test_it_puts_one_name_into_a_shared_environment(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert tops == {"convalesce", f"convalesce-{__version__}.dist-info"}


def test_every_package_of_the_tree_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    tree = {p.parent.relative_to(ROOT) for name in ("core", "gui", "resources") for p in (ROOT / name).rglob("*.py")}
    assert set(listed) == {"convalesce", *(f"convalesce.lib.{'.'.join(p.parts)}" for p in tree)}


def test_it_speaks_every_language(wheel: Path, environment: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        catalogues = {p.name for p in map(Path, archive.namelist()) if "LC_MESSAGES" in p.parts}
    assert catalogues == {"convalesce.mo"}
    env = {"PATH": "", "PYTHONIOENCODING": "utf-8"}
    for language, says in {"de": "Aufruf:", "zh_CN": "用法："}.items():
        command = [environment / "bin/convalesce", "--language", language, "--help"]
        done = subprocess.run(command, cwd="/", env=env, capture_output=True, encoding="utf-8", check=False)
        assert done.stdout.startswith(says), done.stderr


@pytest.mark.parametrize("start", [["bin/convalesce"], ["bin/python", "-m", "convalesce"]])
def test_no_project_stands_in_its_way(environment: Path, project: Path, start: list[str]) -> None:
    command = [environment / start[0], *start[1:], "scan", "--json", "--only", "environment,cudnn"]
    env = {**os.environ, "PYTHONPATH": f"{project}{os.pathsep}"}
    done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["version"] == __version__, done.stderr
    assert json.loads(done.stdout)["snapshot"]["errors"] == []


def test_a_removed_current_folder_is_no_error(environment: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"rmdir '{gone}'; exec '{environment}/bin/convalesce' --version"
    done = subprocess.run(["sh", "-c", script], cwd=gone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"convalesce {__version__}\n")


def test_an_incomplete_installation_is_no_fault_of_the_machine(environment: Path, tmp_path: Path) -> None:
    (package,) = environment.glob("lib/python3*/site-packages/convalesce")
    missing = package / "lib/core/model"
    missing.rename(tmp_path / "model")
    try:
        done = subprocess.run(
            [environment / "bin/convalesce", "scan"], cwd="/", capture_output=True, text=True, check=False
        )
    finally:
        (tmp_path / "model").rename(missing)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
