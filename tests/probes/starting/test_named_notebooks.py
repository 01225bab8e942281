"""Notebooks that a person named: the kernel that each asks for, and the Python that this kernel starts."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.doctor.programs import sort_chosen
from core.host.linux.host import LinuxHost
from core.model.facts import Distribution, PythonEnvironment
from core.probes.starting.projects.named_notebooks import named_notebook_ways
from core.probes.starting.ways import Reached
from tests.probes.starting.shells import begin, in_project, project

VERSION = f"python{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a project whose environment has a framework, and with an environment that has none."""
    env = project(tmp_path)
    site = env / "lib" / VERSION / "site-packages"
    for name in ("frame", "ipykernel"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("")
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    (bare / "lib" / VERSION / "site-packages").mkdir(parents=True)
    (bare / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    (bare / "bin/python").symlink_to(os.path.realpath(sys.executable))
    return tmp_path


def pythons(home: Path) -> tuple[PythonEnvironment, ...]:
    site = str(home / "work/.venv/lib" / VERSION / "site-packages")
    frame = Distribution(name="frame", version="1", location=site)
    return (
        PythonEnvironment(prefix=str(home / "bare"), kind="venv"),
        PythonEnvironment(
            prefix=str(home / "work/.venv"),
            kind="venv",
            site_packages=(site,),
            distributions=(frame,),
            found_by="--python",
        ),
    )


def kernel(home: Path, folder: str, name: str, python: str, **env: str) -> None:
    path = home / folder / "kernels" / name
    path.mkdir(parents=True)
    argv = [python.replace("{home}", str(home)), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (path / "kernel.json").write_text(json.dumps({"argv": argv, "language": "python", "env": env}))


def notebook(home: Path, name: str | None, *rows: str, language: str = "python") -> Path:
    spec = {"kernelspec": {"name": name, "language": language}} if name else {}
    cells = [{"cell_type": "markdown", "source": "# import other"}] + [
        {"cell_type": "code", "source": [row + "\n"]} for row in rows or ("%matplotlib inline", "import frame")
    ]
    path = home / "work/train.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))
    return path


def ways(home: Path) -> list[Reached]:
    return list(
        named_notebook_ways(replace(in_project(home), pythons=pythons(home)), begin(home), ("train.ipynb", "/bin/ls"))
    )


def test_its_kernel_brings_its_variables(home: Path):
    kernel(home, "work/.venv/share/jupyter", "Vision", "python", XLA_FLAGS="--x")
    notebook(home, "vision")
    (way,) = ways(home)
    assert (way.prefix, way.runs, way.state.values["XLA_FLAGS"]) == (str(home / "work/.venv"), (), "--x")
    assert way.at == str(home / "work/train.ipynb")


@pytest.mark.parametrize("name", ["python3", None], ids=["by its name", "without metadata"])
def test_jupyters_own_python_without_a_kernelspec(home: Path, name: str | None):
    notebook(home, name)
    (way,) = ways(home)
    assert (way.prefix, way.runs) == (str(home / "work/.venv"), ())


def test_a_kernel_that_is_gone(home: Path):
    notebook(home, "vision")
    ((one,),) = [way.runs for way in ways(home)]
    assert (one.name, one.path, one.seems, one.why) == ("vision", "", str(home / "work/.venv"), "kernel")


def test_a_kernel_of_another_python(home: Path):
    kernel(home, ".local/share/jupyter", "vision", "{home}/bare/bin/python")
    notebook(home, "vision")
    ((one,),) = [way.runs for way in ways(home)]
    assert (one.prefix, one.seems, one.lacks) == (str(home / "bare"), str(home / "work/.venv"), ("frame",))


def test_a_kernel_whose_python_is_gone(home: Path):
    kernel(home, ".local/share/jupyter", "vision", "{home}/miniconda3/envs/vision/bin/python")
    notebook(home, "vision")
    ((one,),) = [way.runs for way in ways(home)]
    its = str(home / "miniconda3/envs/vision/bin/python")
    assert (one.name, one.path, one.seems, one.lacks) == (its, "", str(home / "work/.venv"), ("frame",))


@pytest.mark.parametrize("rows", [("!pip install frame", "import frame"), ("%pip install frame\nimport frame",)])
def test_a_notebook_that_installs_what_it_imports(home: Path, rows: tuple[str, ...]):
    kernel(home, ".local/share/jupyter", "vision", "{home}/bare/bin/python")
    notebook(home, "vision", *rows)
    assert [way.runs for way in ways(home)] == [()]


def test_a_notebook_of_another_language(home: Path):
    notebook(home, "ir", language="R")
    assert not ways(home)


@pytest.mark.parametrize(
    ("name", "python"),
    [("vision", ""), ("mine", "{home}/bare/bin/python"), ("old", "")],
    ids=["no kernel", "its kernel's Python", "a kernel whose Python is gone"],
)
def test_a_notebook_is_no_wrong_use_of_the_command(home: Path, name: str, python: str):
    kernel(home, ".local/share/jupyter", "mine", "{home}/bare/bin/python")
    kernel(home, ".local/share/jupyter", "old", "{home}/gone/bin/python")
    named = str(notebook(home, name))
    host = LinuxHost(environ={b"PATH": b"/usr/bin:/bin", b"HOME": str(home).encode()})
    made = sort_chosen([named], host)
    assert made.pythons == ((python.replace("{home}", str(home)),) if python else ())
    assert (made.programs, made.script_folder, made.problem) == ((named,), str(home / "work"), "")


def test_what_is_no_notebook_is_told_by_the_scan(home: Path):
    path = home / "work/train.ipynb"
    path.write_text("{")
    assert sort_chosen([str(path)], LinuxHost(environ={})).problem == ""
    assert not list(
        named_notebook_ways(replace(in_project(home), env={}, pythons=pythons(home)), begin(home), (str(path),))
    ), "no kernel is known"


def near(home: Path, name: str, *rows: str) -> list[tuple[str, bool]]:
    """What is told of a notebook that nobody named: the Python that its kernel runs, and whether that is sure."""
    site = home / "work/.venv/lib" / VERSION / "site-packages"
    (site / "torch").mkdir()
    (site / "torch/__init__.py").write_text("")
    bare, own = pythons(home)
    torch = Distribution(name="torch", version="2.8.0", location=str(site))
    own = replace(own, distributions=(*own.distributions, torch))
    kernel(home, ".local/share/jupyter", "python3", "{home}/bare/bin/python")
    kernel(home, ".local/share/jupyter", "vision", "{home}/bare/bin/python")
    kernel(home, ".local/share/jupyter", "mine", "{home}/work/.venv/bin/python")
    kernel(home, ".local/share/jupyter", "old", "{home}/gone/bin/python")
    notebook(home, name, *rows)
    found = named_notebook_ways(replace(in_project(home), pythons=(bare, own)), begin(home), ())
    runs = [one for way in found for one in way.runs]
    assert all(one.source.endswith("/kernel.json") for one in runs)
    return [(one.prefix.rpartition("/")[2], one.sure) for one in runs]


@pytest.mark.parametrize(
    ("name", "row", "told"),
    [
        ("vision", "import torch", [("bare", True)]),
        ("python3", "import torch", [("bare", False)]),
        ("old", "import torch", [("", True)]),
        ("old", "import frame", []),
        ("old", "!pip install torch\nimport torch", []),
        ("mine", "import torch", []),
        ("elsewhere", "import torch", []),
        ("vision", "import frame", []),
        ("vision", "!pip install torch\nimport torch", []),
    ],
    ids=[
        "another Python's kernel",
        "everybody's kernel",
        "one that is gone",
        "gone, and no framework",
        "gone, and installs",
        "its own",
        "of another machine",
        "no framework",
        "installs",
    ],
)
def test_a_notebook_that_nobody_named(home: Path, name: str, row: str, told: list[tuple[str, bool]]):
    assert near(home, name, row) == told


@pytest.mark.parametrize(
    ("row", "files", "told"),
    [
        ("from src.model import net", {}, True),
        ("import sys\nsys.path.append('..')\nfrom src.model import net", {}, False),
        ("%cd ..\nfrom src.model import net", {}, False),
        ("import os\nos.chdir('..')\nfrom src.model import net", {}, False),
        ("from src.model import net", {"notebooks/src/__init__.py": ""}, False),
        ("from src.model import net", {".vscode/settings.json": '{"jupyter.notebookFileRoot": "${workspaceFolder}"}'}, False),
        ("from other.model import net", {}, False),
    ],
    ids=["above it", "changes the search", "goes there", "goes there in Python", "beside it", "started elsewhere", "nowhere"],
)  # fmt: skip
def test_a_notebook_in_a_folder_of_the_project(home: Path, row: str, files: dict[str, str], told: bool):
    for name, text in {"src/model.py": "net = 1\n", **files}.items():
        (home / "work" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "work" / name).write_text(text)
    (home / "work/notebooks").mkdir(exist_ok=True)
    notebook(home, "mine", "import torch", *row.splitlines()).rename(home / "work/notebooks/train.ipynb")
    site = home / "work/.venv/lib" / VERSION / "site-packages"
    (site / "torch").mkdir()
    (site / "torch/__init__.py").write_text("")
    kernel(home, ".local/share/jupyter", "mine", "{home}/work/.venv/bin/python")
    found = named_notebook_ways(replace(in_project(home), pythons=pythons(home)), begin(home), ())
    runs = [(one.fault, one.lacks, one.source) for way in found for one in way.runs]
    assert runs == ([("not searched", ("src",), str(home / "work"))] if told else [])


def test_everybodys_kernel_where_the_environment_has_none(home: Path):
    site = home / "work/.venv/lib" / VERSION / "site-packages"
    shutil.rmtree(site / "ipykernel")
    assert near(home, "python3", "import torch") == [("bare", True)], (
        "an environment without ipykernel cannot run the notebook, so what Jupyter finds does"
    )


def test_the_jupyter_that_has_an_environment_of_its_own(home: Path) -> None:
    """As ``uv tool install jupyterlab`` makes it: its kernel lacks what the notebook imports."""
    shutil.rmtree(home / "work/.venv/lib" / VERSION / "site-packages/ipykernel")
    tool = home / ".local/share/uv/tools/jupyterlab"
    shutil.copytree(home / "bare", tool, symlinks=True)
    kernel(home, ".local/share/uv/tools/jupyterlab/share/jupyter", "python3", "python")
    (tool / "bin/jupyter-lab").write_text("")
    (home / ".local/bin").mkdir(parents=True)
    (home / ".local/bin/jupyter-lab").symlink_to(tool / "bin/jupyter-lab")
    notebook(home, "python3", "import frame")
    (way,) = ways(home)
    assert [(one.path, one.lacks) for one in way.runs] == [(str(tool / "bin/python"), ("frame",))]


def test_what_lies_in_the_home_is_not_read(home: Path):
    kernel(home, ".local/share/jupyter", "vision", "{home}/bare/bin/python")
    notebook(home, "vision", "import torch").rename(home / "train.ipynb")
    ground = replace(in_project(home), folder=str(home))
    assert not list(named_notebook_ways(replace(ground, pythons=pythons(home)), begin(home), ()))


@pytest.mark.parametrize(
    ("line", "files", "sure"),
    [
        ("!python train.py", {}, True),
        ("!python train.py", {"work/.vscode/settings.json": "{}"}, False),
        ("!python train.py", {"work/.venv/bin/jupyter-lab": ""}, False),
        ("!python train.py", {"work/.venv/bin/jupyter": ""}, True),
        ("out = !python train.py", {}, True),
        ("%sx python train.py", {}, True),
        ("%%bash\nset -e\npython train.py", {}, True),
        ("%%script bash\npython train.py", {"work/.vscode/settings.json": "{}"}, False),
        ("%%writefile run.sh\npython train.py", {}, None),
        ("%%bash\nsource {home}/away/bin/activate\npython train.py", {}, None),
        ("!{sys.executable} train.py", {}, None),
        ("!python other.py", {}, None),
        ("!ls", {}, None),
    ],
)
def test_a_python_that_a_cell_starts_by_name(home: Path, line: str, files: dict[str, str], sure: bool | None):
    kernel(home, ".local/share/jupyter", "vision", "{home}/away/bin/python")
    (home / "work/.venv").rename(home / "away")  # it does not lie in the project
    for name, text in {"work/train.py": "import frame\n", "work/other.py": "import json\n", **files}.items():
        path = home / name.replace("work/.venv", "away")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (home / "away/bin/activate").write_text(f"PATH={home}/away/bin:$PATH\n")
    notebook(home, "vision", "import sys", line.replace("{home}", str(home)))
    moved = str(home / "away/lib" / VERSION / "site-packages")
    its = replace(
        pythons(home)[1],
        prefix=str(home / "away"),
        site_packages=(moved,),
        distributions=(Distribution(name="frame", version="1", location=moved),),
    )
    ground = replace(in_project(home, PATH=f"{home}/bare/bin:/usr/bin"), pythons=(pythons(home)[0], its))
    found = named_notebook_ways(ground, ground.session(), ("train.ipynb",))
    told = [(one.prefix, one.lacks, one.sure) for way in found for one in way.runs]
    assert told == ([] if sure is None else [(str(home / "bare"), ("frame",), sure)])
