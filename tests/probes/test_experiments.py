"""Counter-experiments in real interpreters: what is left out, what is found, and what is not tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Experiments
from core.probes.python.trials import probe as trials
from tests.probes.test_framework_run import STANDIN, asked, base, environment, own, with_package

__all__ = ["base", "environment", "own"]  # fixtures


def site_of(prefix: Path) -> Path:
    return next((prefix / "lib").glob("python3.*/site-packages"))


def experiments_of(prefix: Path, code: str, **env: str) -> Experiments:
    """Return what is found out about a package with this code."""
    with_package(prefix, "fails", code)
    (site_of(prefix) / "torch" / "__init__.py").write_text(STANDIN.format(devices=0))
    (trial,) = trials.look(asked(prefix, env)) or ()
    (package,) = trial.packages
    assert package.experiments is not None
    return package.experiments


def proved(made: Experiments) -> list[tuple[str, str]]:
    return [(s.kind, s.name) for s in made.proved]


HARMLESS = {f"HARMLESS_{n}": str(n) for n in range(8)}


@pytest.mark.parametrize(
    "code",
    [
        "import os\nfloat(os.environ.get('MY_SIZE', '1'))\n",
        "import os\nif 'MY_SIZE' in os.environ: raise KeyError('no')\n",
        "import os\nif [n for n in os.environ if n.startswith('MY_')]: raise OSError('no')\n",  # no word of it anywhere
        "import os\nif 'MY_SIZE' in os.environ: os.abort()\n",
    ],
)
def test_the_variable_without_which_it_works_is_found(own: Path, code: str):
    made = experiments_of(own, code, MY_SIZE="10GB", **HARMLESS)
    assert proved(made) == [("variable", "MY_SIZE")]
    assert made.repeated == "same"


def test_two_variables_that_end_it_together_are_both_named(own: Path):
    code = "import os\nif 'MY_ONE' in os.environ or 'MY_TWO' in os.environ: raise OSError('no')\n"
    made = experiments_of(own, code, MY_ONE="1", MY_TWO="2")
    assert sorted(proved(made)) == [("variable", "MY_ONE"), ("variable", "MY_TWO")]


def test_what_nothing_around_mends_takes_one_experiment(own: Path):
    made = experiments_of(own, "import gone\n", PYTHONPATH="/nowhere", **HARMLESS)
    assert (proved(made), [r.outcome for r in made.runs]) == ([], ["same"])
    assert made.refutes("variable", "HARMLESS_3")


def test_a_module_of_the_working_folder(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    work = tmp_path / "work"
    work.mkdir()
    (work / "colorsys.py").write_text("")
    monkeypatch.chdir(work)
    made = experiments_of(own, "from colorsys import rgb_to_hsv\n", **HARMLESS)
    assert proved(made) == [("folder", str(work))]
    assert str(work / "colorsys.py") in made.foreign


def test_a_module_of_one_of_several_folders_of_pythonpath(own: Path, tmp_path: Path):
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text("")
    (tmp_path / "two" / "colorsys.py").write_text("")
    path = ":".join(str(tmp_path / n) for n in ("one", "two", "three"))
    made = experiments_of(own, "import one, three\nfrom colorsys import rgb_to_hsv\n", PYTHONPATH=path)
    assert proved(made) == [("search entry", str(tmp_path / "two"))]


@pytest.mark.parametrize("name", ["agent.pth", "sitecustomize.py"])
def test_what_runs_at_each_start_of_python(own: Path, name: str):
    (site_of(own) / "other.pth").write_text("# nothing\n")
    (site_of(own) / name).write_text("import sys; sys.modules['colorsys'] = sys\n")
    made = experiments_of(own, "from colorsys import rgb_to_hsv\n", **HARMLESS)
    assert proved(made) == [("start-up file", str(site_of(own) / name))]


def test_settings_in_the_home_folder(own: Path, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text("{'a':}")
    code = "import json, os, pathlib\nfile = pathlib.Path.home() / 'settings.json'\nfile.exists() and json.loads(file.read_text())\n"
    made = experiments_of(own, code, HOME=str(home), PYTHONPATH="/nowhere")
    assert (proved(made), made.read) == ([("settings", str(home))], (str(home / "settings.json"),))


def test_one_that_works_by_itself_is_told(own: Path):
    with_package(own, "earlier", "import torch\ntorch.taken = True\n")
    made = experiments_of_later(own, "import torch\nif hasattr(torch, 'taken'): raise RuntimeError('twice')\n")
    assert (made.repeated, made.runs) == ("works", ())


def experiments_of_later(prefix: Path, code: str) -> Experiments:
    with_package(prefix, "afterwards", code)  # a longer record: the smallest package is imported first
    (site_of(prefix) / "torch" / "__init__.py").write_text(STANDIN.format(devices=0))
    (trial,) = trials.look(replace(asked(prefix), thorough=True)) or ()  # all packages: a stand-in imports in no time
    (made,) = (p.experiments for p in trial.packages if p.experiments)
    return made


def test_a_framework_that_works_without_a_variable(own: Path):
    (site_of(own) / "torch" / "__init__.py").write_text(
        "import os\nint(os.environ.get('MY_LEVEL', '0'))\n" + STANDIN.format(devices=0)
    )
    (trial,) = trials.look(asked(own, {"MY_LEVEL": "high", **HARMLESS})) or ()
    assert trial.experiments is not None
    assert proved(trial.experiments) == [("variable", "MY_LEVEL")]


def test_one_that_passes_is_not_repeated(own: Path):
    (site_of(own) / "torch" / "__init__.py").write_text(STANDIN.format(devices=0))
    (trial,) = trials.look(asked(own, {"PYTHONPATH": "/nowhere"})) or ()
    assert trial.experiments is None


def test_a_module_from_outside_is_told_of_a_process_that_ends(own: Path, tmp_path: Path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "colorsys.py").write_text("import os; os.abort()\n")
    made = experiments_of(own, "import colorsys\n", PYTHONPATH=str(tmp_path / "other"), **HARMLESS)
    assert proved(made) == [("variable", "PYTHONPATH")]
    assert made.foreign == (str(tmp_path / "other" / "colorsys.py"),)
