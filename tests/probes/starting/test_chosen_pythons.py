"""Settings of editors and of R that name a Python: what that lacks of what the folder's programs import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution
from core.probes.starting.projects.chosen_pythons import chosen_in_thonny, chosen_python_ways
from core.probes.starting.ways import desktop_session
from tests.probes.starting.test_started_code import VERSION, here, home, pythons, write  # noqa: F401 - home is a fixture

SPYDER = ".config/spyder-py3/config/spyder.ini"
VSCODE = "work/.vscode/settings.json"
THONNY = ".config/Thonny/configuration.ini"
TABLE = ".config/JetBrains/PyCharm2024.3/options/jdk.table.xml"
PROJECT = '<component name="ProjectRootManager" project-jdk-name="Python (lab)" project-jdk-type="Python SDK" />'
JDKS = '<jdk version="2"><name value="Other"/><homePath value="/x"/></jdk>\n<jdk version="2"><name value="Python (lab)"/><homePath value="{home}/{python}/bin/python"/></jdk>'
R = "library(reticulate)\npy_run_file('train.py')\n"


def spyder(python: str, custom: bool = True) -> dict[str, str]:
    return {SPYDER: f"[main_interpreter]\ndefault = {not custom}\ncustom = {custom}\nexecutable = {python}\n"}


def vscode(python: str) -> dict[str, str]:
    return {VSCODE: f'{{\n  // mine\n  "python.defaultInterpreterPath": "{python}",\n}}\n'}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (spyder("{home}/bare/bin/python"), f"{SPYDER}:4"),
        (spyder("{home}/env/bin/python"), ""),
        (spyder("{home}/bare/bin/python", custom=False), ""),
        (spyder("{home}/gone/bin/python"), ""),
        ({THONNY: "[LocalCPython]\nexecutable = '{home}/bare/bin/python'\n"}, f"{THONNY}:2"),
        ({THONNY: "[CustomInterpreter]\npath = {home}/bare/bin/python\n\n[run]\nbackend_name = CustomInterpreter\n"}, f"{THONNY}:2"),
        ({THONNY: "[run]\nbackend_name = ESP32\n"}, ""),
        (vscode("{home}/bare/bin/python"), f"{VSCODE}:3"),
        (vscode("${userHome}/bare"), f"{VSCODE}:3"),
        (vscode("${workspaceFolder}/../bare/bin/python"), f"{VSCODE}:3"),
        (vscode("{home}/env/bin/python"), ""),
        (vscode("python3"), ""),
        (vscode("{home}/gone/bin/python"), ""),
        ({"work/.idea/misc.xml": PROJECT, TABLE: JDKS.replace("{python}", "bare")}, "work/.idea/misc.xml:1"),
        ({"work/.idea/misc.xml": PROJECT, TABLE: JDKS.replace("{python}", "env")}, ""),
        ({"work/.idea/misc.xml": PROJECT}, ""),
        ({"work/.envrc": "export VIRTUAL_ENV={home}/bare\nlayout python3\n"}, "work/.envrc:2"),
        ({"work/.envrc": "export VIRTUAL_ENV={home}/env\nlayout python3\n"}, ""),
        ({"work/.envrc": "layout python\n", "work/.direnv/python-3.11.2/bin/README": ""}, ""),
        ({"work/.envrc": "layout ruby\n"}, ""),
        ({"work/s.R": R, "work/.Renviron": "RETICULATE_PYTHON={home}/bare/bin/python3\n"}, "work/.Renviron:1"),
        ({"work/s.R": R, ".Renviron": "A=b\nRETICULATE_PYTHON='{home}/bare'\n"}, ".Renviron:2"),
        ({"work/s.R": R, "work/.Renviron": "A=b\n", ".Renviron": "RETICULATE_PYTHON={home}/bare/bin/python\n"}, ""),
        ({"work/s.R": R, "work/.Renviron": "RETICULATE_PYTHON={home}/env/bin/python3\n"}, ""),
        ({"work/s.R": "plot(1)\n", "work/.Renviron": "RETICULATE_PYTHON={home}/bare/bin/python\n"}, ""),
        ({"work/s.R": f"use_python('{{home}}/bare/bin/python')\n{R}"}, "work/s.R:1"),
        ({"work/s.R": f"# use_python('{{home}}/bare/bin/python')\n{R}"}, ""),
        ({"work/s.R": f"{R}use_virtualenv('bare', required = TRUE)\n"}, "work/s.R:3"),
        ({"work/s.R": f"Sys.setenv(RETICULATE_PYTHON = '{{home}}/bare/bin/python')\n{R}"}, "work/s.R:1"),
        ({"work/s.R": "library(reticulate)\nt <- import('torch')\nuse_condaenv('bare')\n"}, "work/s.R:3"),
        ({"work/s.R": "library(tensorflow)\nuse_virtualenv('{home}/bare')\n"}, ""),
        ({"work/s.R": R, ".config/rstudio/rstudio-prefs.json": json.dumps({"python_path": "{home}/bare/bin/python"})}, ".config/rstudio/rstudio-prefs.json"),
        ({"work/s.R": R}, ""),
    ],
)  # fmt: skip
def test_a_python_without_the_framework(files: dict[str, str], told: str, home: Path):  # noqa: F811 - the fixture
    write(home, {n: t.replace("{home}", str(home)) for n, t in files.items()})
    write(home, {"work/main.py": "import json\n", "work/train.py": "import torch\n"})
    own = pythons(home)
    site = home / "env/lib" / VERSION / "site-packages"
    (site / "torch").mkdir()
    (site / "torch/__init__.py").write_text("")
    torch = Distribution(name="torch", version="2.8.0", location=str(site))
    bare = replace(own[1], executable=f"{home}/bare/bin/python")
    every = (replace(own[0], distributions=(*own[0].distributions, torch)), bare)
    ground = here(home)
    found = [
        one for way in chosen_python_ways(replace(ground, pythons=every), desktop_session(ground)) for one in way.runs
    ]
    assert [(one.lacks, one.source.removeprefix(f"{home}/")) for one in found] == ([(("torch",), told)] if told else [])
    assert all(one.sure is not told.startswith(THONNY) for one in found)
    by_path = told.startswith((SPYDER, THONNY)) or files == vscode("{home}/bare/bin/python")
    edited = told.partition(":")[0] if by_path else ""
    assert [row.file for one in found for row in one.named_by] == ([f"{home}/{edited}"] if edited else [])
    twin = replace(every[0], prefix=f"{home}/twin")
    again = [
        o
        for way in chosen_python_ways(replace(ground, pythons=(*every, twin)), desktop_session(ground))
        for o in way.runs
    ]
    assert len(again) == len(found)
    assert not any(one.named_by for one in again)  # two environments have it: nothing tells which is meant


@pytest.mark.parametrize(("opened", "sure"), [("['{home}/work/train.py']", True), ("['{home}/other/train.py']", False)])
def test_a_python_of_thonny_that_has_a_program_of_the_folder_open(opened: str, sure: bool, home: Path):  # noqa: F811 - the fixture
    settings = f"[LocalCPython]\nexecutable = {{home}}/bare/bin/python\n\n[file]\nopen_files = {opened}\n"
    write(home, {THONNY: settings, "work/train.py": "import frame\n"})
    found = chosen_in_thonny([str(home / THONNY)], replace(here(home), pythons=pythons(home)))
    assert [(one.python, one.sure) for one in found] == [(f"{home}/bare/bin/python", sure)]
