"""The lab of the driver's half, without a GPU: its plants are sound shell, its causes exist, and its names are its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from core.knowledge.causes import cause_ranks
from tests.faultlab.driver_on_gpu import HELD_OUT, SCENES, Place, Scene, works


@pytest.mark.parametrize("scene", [*SCENES, *HELD_OUT], ids=lambda s: s.name)
def test_a_plant_is_sound_shell_and_its_causes_exist(scene: Scene, tmp_path: Path):
    (tmp_path / "libcuda.so.1").touch()
    script = scene.plant(Place(folder=tmp_path, version="580.159.04", work=tmp_path))
    subprocess.run(["sh", "-n", "-c", script], check=True)
    assert "None" not in script
    assert set(scene.causes) <= set(cause_ranks())


def test_names_are_unique():
    names = [s.name for s in (*SCENES, *HELD_OUT[1:])]
    assert len(set(names)) == len(names)


def test_a_program_works_that_gets_a_gpu():
    assert works({"cuInit": 0, "count": 1})
    assert not works({"cuInit": 0, "count": 0})
    assert not works({"problem": "libcuda.so.1: cannot open shared object file"})
