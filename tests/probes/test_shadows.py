"""Modules of a person's own that hide installed packages, against what this interpreter does with the same files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.model.facts import SearchEntry, StartCode
from core.probes.python.programs.shadows import ended_programs, shadowed_packages
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot

VERSION = sys.version_info[:2]
HERE = Sysroot(system="linux")
NATIVE = "import ctypes\nimport os\n\n\ndef load():\n    return open(os.path.join(os.path.dirname(__file__), 'lib', 'native.so'))\n\n\nload()\n"
INSTALLED = {
    "native/__init__.py": NATIVE,
    "native/calls.py": "",
    "native/lib/native.so": "",
    "native-1.0.dist-info/METADATA": "Name: native\nVersion: 1.0\n",
    "datasets/__init__.py": "from .load import load_dataset\n",
    "datasets/load.py": "def load_dataset():\n    pass\n",
    "datasets-3.6.0.dist-info/METADATA": "Name: datasets\nVersion: 3.6.0\n",
    "helper.py": "def help():\n    pass\n",
    "helper-1.0.dist-info/METADATA": "Name: helper\nVersion: 1.0\nRequires-Dist: part\n",
    "whole/__init__.py": "",
    "whole/parts.py": "",
    "whole-1.0.dist-info/METADATA": "Name: whole\nVersion: 1.0\n",
    "user/__init__.py": "",
    "user/late.py": "from whole.parts import *\n",
    "user-1.0.dist-info/METADATA": "Name: user\nVersion: 1.0\nRequires-Dist: whole\nRequires-Dist: plain\n",
    "user-1.0.dist-info/RECORD": "user/__init__.py,,\nuser/late.py,,\n",
    "plain/__init__.py": "x = 1\n",
    "plain-1.0.dist-info/METADATA": "Name: plain\nVersion: 1.0\n",
    "plugs/one/__init__.py": "",
    "plug-1.0.dist-info/METADATA": "Name: plug\nVersion: 1.0\n",
    "plug-1.0.dist-info/RECORD": "plugs/one/__init__.py,,\n",
    "plot/__init__.py": "new = 1\n",
    "kits/three/__init__.py": "from plot import new\n",
    "plot-1.0.dist-info/METADATA": "Name: plot\nVersion: 1.0\n",
    "plot-1.0.dist-info/RECORD": "plot/__init__.py,,\nkits/three/__init__.py,,\n",
    "part.py": "def whole():\n    pass\n",
    "part-1.0.dist-info/METADATA": "Name: part\nVersion: 1.0\n",
}

CASES: dict[str, tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]] = {
    "nobody's folder": ({}, (), ()),
    "an own package": ({"datasets/__init__.py": ""}, ("datasets",), ()),
    "a folder of data": ({"datasets/a.txt": ""}, (), ()),
    "a folder of modules without a start": ({"datasets/a.py": "", "main.py": "from datasets import load_dataset\n"}, (), ()),
    "a file": ({"helper.py": "x = 1\n"}, ("helper",), ()),
    "a copy": ({"helper.py": "def help():\n    return 1\n"}, (), ()),
    "what another package requires": ({"part.py": "x = 1\n"}, (), ()),
    "a file in the place of a package of which another imports parts": ({"whole.py": "x = 1\n"}, ("whole",), ()),
    "a file in the place of a package of which nothing imports parts": ({"plain.py": "x = 2\n"}, (), ()),
    "a program that wants the installed one": (
        {"datasets/__init__.py": "", "main.py": "from datasets import load_dataset\n"}, (), ("main",)),
    "a program of the package's name": ({"helper.py": "import helper\n\nprint(helper.help())\n"}, ("helper",), ()),
    "a program of the package's name that has the name": ({"helper.py": "import helper\n\ndef help(): ...\nhelper.help()\n"}, (), ()),
    "a clone without its library": (
        {"native/__init__.py": NATIVE, "native/calls.py": "", "main.py": "import native\n"}, ("native",), ()),
    "a clone that nobody asks for": ({"native/__init__.py": NATIVE, "native/calls.py": "", "main.py": "import part\n"}, (), ()),
    "a program that goes through the module": ({"helper.py": "x = 1\n", "main.py": "import helper\nhelper.x\nfrom helper import help\n"}, (), ("main",)),
    "a program that wants its own": ({"datasets/__init__.py": "", "datasets/coco.py": "", "main.py": "from datasets import coco\n"}, (), ()),
    "a program that puts a folder with its own first": (
        {"src/datasets/__init__.py": "", "main.py": "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'src'))\nfrom datasets import load_dataset\n"}, (), ("main",)),
    "by pathlib, and an f-string": (
        {"src/datasets/__init__.py": "", "main.py": "import sys\nfrom pathlib import Path\nhere = Path(__file__).resolve().parent\nif str(here / 'src') not in sys.path:\n    sys.path.insert(0, f'{here}/src')\nfrom datasets import load_dataset\n"}, (), ("main",)),
    "a program that puts it last": (
        {"src/datasets/__init__.py": "", "main.py": "import sys\nsys.path.append('src')\nfrom datasets import load_dataset\n"}, (), ()),
    "a program that has loaded the installed one by then": (
        {"src/datasets/__init__.py": "", "main.py": "import datasets, sys\nsys.path.insert(0, 'src')\nfrom datasets import load_dataset\n"}, (), ()),
    "a program that puts its own first and wants it": (
        {"src/datasets/__init__.py": "", "src/datasets/coco.py": "", "main.py": "import sys\nsys.path.insert(0, 'src')\nfrom datasets import coco\n"}, (), ()),
    "a program that searches by itself": (
        {"datasets/__init__.py": "", "main.py": "import sys\nsys.path.insert(0, sys.path[-1])\nfrom datasets import load_dataset\n"}, (), ()),
    "a program that has the name of what it wants": ({"helper.py": "from helper import help\n"}, ("helper",), ()),
    "a program that has the name of what it wants parts of": ({"datasets.py": "from datasets.load import load_dataset\n"}, (), ("datasets",)),
    "a program of such a name, which another one wants": (
        {"helper.py": "import os\nfrom helper import help\n", "main.py": "from helper import mine\n"}, ("helper",), ("main",)),
    "a file that takes its own names of itself": (
        {"helper.py": "mine = 1\nfrom helper import mine\n", "main.py": "from helper import mine\n"}, (), ()),
    "a file that takes its own names of itself when it starts": (
        {"helper.py": "if __name__ == '__main__':\n    from helper import mine\nmine = 1\n", "main.py": "from helper import mine\n"}, (), ()),
    "a package of plug-ins": ({"plugs/__init__.py": "", "plugs/mine/__init__.py": ""}, ("plugs",), ()),
    "a folder of plug-ins": ({"plugs/mine/__init__.py": ""}, (), ()),
    "a package of plug-ins that looks for the others": ({"plugs/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"}, (), ()),
    "parts for an older release of another package": (
        {"kits/__init__.py": "", "kits/three/__init__.py": "from plot import old\n"}, ("kits",), ()),
    "parts for this release of another package": (
        {"kits/__init__.py": "", "kits/three/__init__.py": "from plot import new\n"}, (), ()),
    "a package of the name of a folder that somebody installed": ({"kits/__init__.py": "", "kits/own.py": ""}, (), ()),
    "through another module of its own": (
        {"datasets/__init__.py": "", "data.py": "from datasets import load_dataset\n", "main.py": "import data\n"}, (), ("data", "main")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_is_what_python_does(tmp_path: Path, case: str):
    """A program ends where it is told to end; a package that is hidden cannot be imported as it was installed."""
    mine, hidden, ends = CASES[case]
    work, site = tmp_path / "work", tmp_path / "site"
    for folder, files in ((work, mine), (site, INSTALLED)):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    entries = (
        SearchEntry(path=str(work), origin="start"),
        SearchEntry(path=str(tmp_path / "none"), origin="standard library"),
        SearchEntry(path=str(site), origin="site-packages"),
    )
    search = ModuleSearch(
        Interpreter("/", "/", VERSION, sys.executable, None, "lib"), PythonSearch(entries), "x86_64", HERE
    )
    assert tuple(f.name for f in shadowed_packages(search, HERE)) == hidden
    ended = ended_programs(search, (), HERE)
    assert sorted(s for e in ended for s in e.starts) == [str(work / f"{name}.py") for name in ends]
    for name in (n.removesuffix(".py") for n in mine if "/" not in n and n in ("main.py", "data.py")):
        code = f"import sys; sys.path[:0] = [{str(work)!r}]; sys.path.append({str(site)!r}); import {name}"
        done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False, cwd=work)
        assert (done.returncode != 0) == (name in ends or "native" in hidden), done.stderr
    for name in hidden:
        code = f"import sys; sys.path[:0] = [{str(work)!r}, {str(site)!r}]; import {name}; print({name}.__file__)"
        done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False, text=True)
        assert done.stdout.startswith(str(work)) or "partially initialized" in done.stderr or "native.so" in done.stderr


TWO_CLONES: dict[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "a file before the package": (
        {"work/main.py": "from utils.general import size\n", "one/utils.py": "x = 1\n", "two/utils/general.py": "size = 1\n"}, ("main",)),
    "a package before the package": (
        {"work/main.py": "from utils.general import size\n", "one/utils/__init__.py": "", "two/utils/__init__.py": "", "two/utils/general.py": "size = 1\n"}, ("main",)),
    "a package that lacks a name": (
        {"work/main.py": "from utils import size\n", "one/utils/__init__.py": "x = 1\n", "two/utils/__init__.py": "size = 1\n"}, ("main",)),
    "what is asked for comes first": (
        {"work/main.py": "from utils.general import size\n", "one/utils/__init__.py": "", "one/utils/general.py": "size = 1\n", "two/utils.py": ""}, ()),
    "folders without a start": (
        {"work/main.py": "from utils.general import size\n", "one/utils/other.py": "", "two/utils/general.py": "size = 1\n"}, ()),
    "no program asks": ({"work/main.py": "x = 1\n", "one/utils.py": "", "two/utils.py": "x = 1\n"}, ()),
    "beside the program": (
        {"work/main.py": "import model\n", "work/utils.py": "x = 1\n", "one/model.py": "from utils import size\n", "one/utils.py": "size = 1\n"}, ("main", "model")),
}  # fmt: skip


@pytest.mark.parametrize("case", TWO_CLONES)
def test_modules_of_two_clones_that_have_one_name(tmp_path: Path, case: str):
    """A program ends where it is told to end, though nothing of that name is installed."""
    files, ends = TWO_CLONES[case]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    places = [str(tmp_path / name) for name in ("work", "one", "two")]
    entries = (
        SearchEntry(path=places[0], origin="start"),
        *(SearchEntry(path=p, origin="PYTHONPATH", source="PYTHONPATH") for p in places[1:]),
        SearchEntry(path=str(tmp_path / "site"), origin="site-packages"),
    )
    search = ModuleSearch(
        Interpreter("/", "/", VERSION, sys.executable, None, "lib"), PythonSearch(entries), "x86_64", HERE
    )
    ended = ended_programs(search, (), HERE)
    assert sorted({Path(s).stem for e in ended for s in e.starts}) == sorted(ends)
    code = f"import sys; sys.path[:0] = {places!r}; import main"
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False)
    assert (done.returncode != 0) == bool(ends), done.stderr


FINDER = """
import sys
from importlib.util import spec_from_file_location
from pathlib import Path
MAPPING = {"sam": "%s"}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):  # as setuptools' finder does
        if name == "sam" or name.startswith("sam."):
            place = Path(MAPPING["sam"], *name.split(".")[1:])
            for file in (place / "__init__.py", place.with_suffix(".py")):
                if file.is_file():
                    return spec_from_file_location(name, file)
def install():
    sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize(
    ("folder", "program", "ends"),
    [
        ("sam", "from sam.build import make\n", True),
        ("sam", "from sam import CONFIGS\n", True),
        ("sam", "from sam import plain\n", False),
        ("sam", "import sam.plain\n", False),
        ("sam-2", "from sam.build import make\n", False),
    ],
)
def test_the_outer_folder_of_a_clone_that_is_installed_where_it_lies(
    folder: str, program: str, ends: bool, tmp_path: Path
):
    work, site = tmp_path / "work", tmp_path / "site"
    package = work / folder / "sam"
    package.mkdir(parents=True)
    site.mkdir()
    (package / "__init__.py").write_text("CONFIGS = 1\n")
    (package / "build.py").write_text("from sam import CONFIGS\n\ndef make():\n    pass\n")
    (package / "plain.py").write_text("")
    (work / "main.py").write_text(program)
    (site / "__editable___sam_1_finder.py").write_text(FINDER % package)
    begun = StartCode(
        text="import __editable___sam_1_finder; __editable___sam_1_finder.install()", source=str(site / "a.pth")
    )
    entries = (
        SearchEntry(path=str(work), origin="start"),
        SearchEntry(path=str(tmp_path / "none"), origin="standard library"),
        SearchEntry(path=str(site), origin="site-packages"),
    )
    python = Interpreter("/", "/", VERSION, sys.executable, None, "lib")
    search = ModuleSearch(python, PythonSearch(entries, (begun,)), "x86_64", HERE)
    found = ended_programs(search, (), HERE)
    assert [(e.path, e.hidden) for e in found] == ([(str(work / folder), str(package / "__init__.py"))] if ends else [])
    code = f"import sys; sys.path[:0] = [{str(work)!r}, {str(site)!r}]; {begun.text}; import main"
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False, cwd=work)
    assert (done.returncode != 0) == ends, done.stderr
