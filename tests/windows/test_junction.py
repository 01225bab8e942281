"""A plain path to a folder with brackets and foreign letters: a junction where the system makes any, else nothing is left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.model.system_steps import SystemStep
from core.transaction.system_steps import SystemTools, make_step, step_problems

assert sys.platform == "win32"


@pytest.fixture
def models(tmp_path: Path) -> Path:
    folder = tmp_path / "Models [new] Ärger"
    folder.mkdir()
    (folder / "keep.txt").write_text("kept")
    return folder


@pytest.fixture
def makes_junctions(tmp_path: Path, models: Path) -> bool:
    """Whether this Windows makes junctions at all, by its own command; wine 8 says yes and makes none."""
    other = tmp_path / "other"
    subprocess.run(["cmd", "/c", "mklink", "/J", str(other), str(models)], check=False, capture_output=True)
    return (other / "keep.txt").is_file()


def test_a_junction_leads_there_and_goes_again(tmp_path: Path, models: Path, makes_junctions: bool) -> None:
    step = SystemStep(kind="short-path", subject=str(tmp_path / "plain"), value=str(models))
    tools = SystemTools()
    assert step_problems(step, tools) == ()
    if makes_junctions:
        make_step(step, tools)
        assert (tmp_path / "plain/keep.txt").read_text() == "kept"
        assert step_problems(step.inverse(), tools) == ()
        make_step(step.inverse(), tools)
    else:
        with pytest.raises(OSError, match="not supported"):
            make_step(step, tools)
    assert not (tmp_path / "plain").exists()
    assert (models / "keep.txt").read_text() == "kept"


def test_what_stands_there_is_left(tmp_path: Path, models: Path) -> None:
    there = tmp_path / "plain"
    there.mkdir()
    (there / "mine.txt").write_text("mine")
    step = SystemStep(kind="short-path", subject=str(there), value=str(models))
    assert step_problems(step, SystemTools()) != ()
    assert (there / "mine.txt").read_text() == "mine"
