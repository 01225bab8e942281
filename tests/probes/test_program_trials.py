"""Trials of a person's program in real interpreters: its imports are carried out, and nothing else of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import ProgramTrial
from core.probes.python.trials import programs
from tests.probes.test_framework_run import asked, base, environment, own, with_package

__all__ = ["base", "environment", "own"]  # fixtures


def tried(prefix: Path, script: Path, text: str, **env: str) -> ProgramTrial:
    script.parent.mkdir(exist_ok=True)
    script.write_text(text)
    request = replace(asked(prefix, env), script=str(script), script_folder=str(script.parent))
    (made,) = programs.look(request) or ()
    return made


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return tmp_path / "work" / "main.py"


def test_the_imports_are_carried_out_and_the_rest_is_not(own: Path, script: Path):
    text = f"import json\nfrom __future__ import annotations\nopen({str(script.parent / 'made')!r}, 'w')\njson.loads('x')\nwhile True: pass\n"
    made = tried(own, script, text)
    assert (made.state, made.problem) == ("imported", "")
    assert not (script.parent / "made").exists()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("import gone\n", "failed"),
        ("if __name__ == '__main__':\n    import gone\n", "failed"),
        ("try:\n    import gone\nexcept ImportError:\n    gone = None\n", "imported"),
        ("def later():\n    import gone\n", "imported"),
        ("import os\nos.environ['MY_LEVEL'] = 'high'\nimport leveled\n", "failed"),
        ("import os\nos.environ.pop('X', None)\nimport leveled\n", "imported"),
        ("import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'lib'))\nimport inner\n", "imported"),
        ("import colorsys\nx = colorsys.rgb_to_nothing(1)\n", "failed"),
        ("import colorsys\nx = colorsys.rgb_to_hsv(1, 2)\n", "imported"),
        ("import colorsys\nif hasattr(colorsys, 'x'): colorsys.x()\n", "imported"),
        ("import os.path\nx = os.path.join.nothing\n", "imported"),
        ("def f(:\n", "failed"),
    ],
)  # fmt: skip
def test_which_lines_count(own: Path, script: Path, text: str, state: str):
    with_package(own, "leveled", "import os\nint(os.environ.get('MY_LEVEL', '1'))\n", requires="x")
    (script.parent / "lib").mkdir(parents=True)
    (script.parent / "lib" / "inner.py").write_text("")
    made = tried(own, script, text)
    assert made.state == state, made.problem


def test_a_module_beside_it_hides_pythons_own(own: Path, script: Path):
    script.parent.mkdir()
    (script.parent / "colorsys.py").write_text("")
    made = tried(own, script, "from colorsys import rgb_to_hsv\n")
    assert made.experiments is not None
    assert [(s.kind, s.name) for s in made.experiments.proved] == [("folder", str(script.parent))]
    assert made.failures[0].found == str(script.parent / "colorsys.py")


def test_an_environment_with_a_framework_is_preferred(own: Path, script: Path):
    script.parent.mkdir()
    script.write_text("import gone\n")
    request = replace(asked(own), script=str(script), script_folder=str(script.parent))
    mine = next(p for p in request.seen.pythons or () if p.prefix == str(own))
    bare = replace(mine, prefix="/other", distributions=())
    request = replace(request, seen=replace(request.seen, pythons=(bare, mine)))
    assert [t.prefix for t in programs.look(request) or ()] == [str(own)]


def test_nothing_is_tried_without_a_script(own: Path):
    assert programs.look(asked(own)) is None
