"""Who wins: modules that are found by reading against what the real interpreters import, over many generated layouts."""

from __future__ import annotations

import json
import queue
import random
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, FoundModule, SearchEntry, System
from core.probes.python.search.likeness import is_never_asked
from core.probes.python.search.meant_by import lines_that_mean
from core.probes.python.search.modules import (
    ModuleSearch,
    hidden_standard_modules,
    known_modules,
    replaced_standard_modules,
    stands_in,
)
from core.probes.python.search.search_path import Interpreter, PythonSearch, python_search_path, read_interpreter
from core.probes.sysroot import Sysroot
from tests.probes.test_search_path import HERE, PYTHONS, make

LAYOUTS = 6
"""Environments that are generated for each installed Python."""

NAMES = ("torch", "numpy", "nvidia", "keras", "colorsys")
FORMS = (
    "package",
    "module",
    *(("link to nowhere",) * (sys.platform != "win32")),
    "namespace",
    "bytecode",
    "extension",
    "plain extension",
    "foreign extension",
)


def plant(folder: Path, name: str, form: str, suffix: str) -> None:
    """Put something of a name into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    if form in ("package", "namespace"):
        (folder / name).mkdir(exist_ok=True)
        if form == "package":
            (folder / name / "__init__.py").write_text("")
        return
    if form == "link to nowhere":
        (folder / f"{name}.py").symlink_to(folder / "gone" / f"{name}.py")
        return
    ends = {
        "module": ".py",
        "bytecode": ".pyc",
        "extension": suffix,
        "plain extension": ".so",
        "foreign extension": ".cpython-27-riscv64.so",
    }
    (folder / (name + ends[form])).write_text("")


ASK = """
import importlib.util, json, sys
def said(name):
    spec = importlib.util.find_spec(name)
    if spec is None: return ["none", ""]
    if spec.origin in (None, "namespace"): return ["namespace", list(spec.submodule_search_locations)[0]]
    return ["found", spec.origin]
print(json.dumps({n: said(n) for n in sys.argv[1:]}))
"""


def asked(executable: Path, env: dict[str, str], work: Path) -> dict[str, list[str]]:
    """Return what the interpreter finds; the working folder goes by its name."""
    done = subprocess.run(
        [executable, "-B", "-c", ASK, *NAMES], env=env, cwd=work, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def search(executable: Path, env: dict[str, str], work: Path) -> ModuleSearch:
    """Return the search that is read from files."""
    folder = executable.parent.parent
    prefix = folder if (folder / "pyvenv.cfg").exists() else executable.resolve().parent.parent
    python = read_interpreter(str(prefix), str(executable), HERE)
    assert python is not None
    return ModuleSearch(python, python_search_path(python, env, str(work), HERE), "x86_64", HERE)


def shown(found: FoundModule) -> list[str]:
    return [found.kind if found.kind in ("none", "namespace") else "found", found.path]


@pytest.mark.skipif(
    not sysconfig.get_platform().endswith("x86_64"), reason="the names of extensions are this processor's"
)
@pytest.mark.parametrize("base", PYTHONS)
def test_what_is_read_is_what_the_interpreter_imports(base: str, tmp_path: Path):
    suffix = subprocess.run(
        [base, "-c", "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))"], capture_output=True, text=True, check=True
    ).stdout.strip()  # fmt: skip
    for seed in range(LAYOUTS):
        root, dice = tmp_path / str(seed), random.Random(seed)
        root.mkdir()
        executable, env, work = make(root, base, dice)
        sites = [p for p in root.rglob("site-packages") if p.is_dir()]
        for name in NAMES:
            for folder in dice.sample([work, *sites, *(root / f"extra{n}" for n in range(4))], k=3):
                plant(folder, name, dice.choice(FORMS), suffix)
        said, read = asked(executable, env, work), search(executable, env, work)
        assert {n: shown(read.find(n)) for n in NAMES} == said, (seed, env)
        shutil.rmtree(root)


def environment(tmp_path: Path, base: str = PYTHONS[0]) -> tuple[Path, Path]:
    """Lay out a virtual environment; return its interpreter and its folder of packages."""
    short = subprocess.run(
        [base, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    prefix = tmp_path / "env"
    site = prefix / "lib" / f"python{short}" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(base)
    (prefix / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\ninclude-system-site-packages = false\n")
    return prefix / "bin" / "python", site


def known(
    tmp_path: Path, executable: Path, site: Path, env: dict[str, str] | None = None, **packages: str
) -> dict[str, FoundModule]:
    """Return the modules that matter by name, in an environment with these distributions."""
    its = tuple(Distribution(name=n, version=v, location=str(site)) for n, v in packages.items())
    return {m.name: m for m in known_modules(search(executable, env or {}, tmp_path), its)}


def test_a_winner_tells_its_owner_and_what_it_hides(tmp_path: Path):
    executable, site = environment(tmp_path)
    plant(site, "torch", "package", "")
    plant(tmp_path, "torch", "module", "")
    torch = known(tmp_path, executable, site, torch="2.8.0")["torch"]
    assert (torch.kind, torch.path, torch.owner) == ("module", f"{tmp_path}/torch.py", "")
    assert (torch.hidden, torch.hidden_owner) == ((f"{site}/torch/__init__.py",), "torch 2.8.0")
    (tmp_path / "torch.py").unlink()
    torch = known(tmp_path, executable, site, torch="2.8.0")["torch"]
    assert (torch.path, torch.owner, torch.hidden) == (f"{site}/torch/__init__.py", "torch 2.8.0", ())


@pytest.mark.parametrize(
    ("files", "whole"),
    [
        ({"__init__.py": "ONES = 1\n", "_C.so": "", "nn.py": ""}, True),
        ({"__init__.py": "ONES = 1\nOWN = 2\n", "_C.so": "", "nn.py": "", "mine.py": ""}, True),
        ({"__init__.py": "ONES = 1\n", "nn.py": ""}, False),
        ({"__init__.py": "OWN = 2\n", "_C.so": "", "nn.py": ""}, False),
        ({"__init__.py": "ONES = 1\n", "_C.so": ""}, False),
    ],
)
def test_a_whole_copy_has_all_files_and_names(tmp_path: Path, files: dict[str, str], whole: bool):
    executable, site = environment(tmp_path)
    for folder, its in ((site, {"__init__.py": "ONES = 1\n", "_C.so": "", "nn.py": ""}), (tmp_path, files)):
        (folder / "torch").mkdir()
        for name, text in its.items():
            (folder / "torch" / name).write_text(text)
    torch = known(tmp_path, executable, site, torch="2.8.0")["torch"]
    assert (torch.path, torch.whole) == (f"{tmp_path}/torch/__init__.py", whole)


@pytest.mark.parametrize(
    ("text", "unlike"),
    [("class Tensor:\n    pass\n", False), ("import cuda\n", False), ("def main():\n    return 1\n", True), ("", True)],
)
def test_a_stand_in_has_a_name_of_the_hidden_module(tmp_path: Path, text: str, unlike: bool):
    executable, site = environment(tmp_path)
    plant(site, "torch", "package", "")
    (site / "torch" / "__init__.py").write_text("from torch._tensor import Tensor\nfrom torch import cuda as cuda\n")
    (tmp_path / "torch.py").write_text(text)
    assert known(tmp_path, executable, site, torch="2.8.0")["torch"].unlike is unlike


def test_a_package_in_a_projects_first_folder_is_the_projects(tmp_path: Path):
    executable, site = environment(tmp_path)
    plant(site, "torch", "package", "")
    plant(tmp_path, "torch", "package", "")
    assert known(tmp_path, executable, site, torch="2.8.0")["torch"].project == ""
    (tmp_path / "pyproject.toml").touch()
    assert known(tmp_path, executable, site, torch="2.8.0")["torch"].project == f"{tmp_path}/pyproject.toml"


def test_a_folder_without_init_hides_nothing_and_a_link_to_the_same_hides_nothing(tmp_path: Path):
    executable, site = environment(tmp_path)
    plant(site, "torch", "package", "")
    plant(tmp_path, "torch", "namespace", "")
    assert known(tmp_path, executable, site, torch="2.8.0")["torch"].owner == "torch 2.8.0"
    (tmp_path / "torch").rmdir()
    (tmp_path / "torch").symlink_to(site / "torch")
    assert known(tmp_path, executable, site, torch="2.8.0")["torch"].hidden == ()


@pytest.mark.parametrize(
    ("names", "foreign"),
    [
        (("_C.cpython-399-x86_64-linux-gnu.so",), 1),
        (("_C.cpython-399-x86_64-linux-gnu.so", "_C.abi3.so"), 0),
        (("_C.so",), 0),
        (("_C.cpython-399-x86_64-linux-gnu.so", "_C.cp399-win_amd64.pyd"), 2),
        ((), 0),
    ],
)
def test_extensions_for_another_python_are_told_where_none_is_for_this_one(
    tmp_path: Path, names: tuple[str, ...], foreign: int
):
    executable, site = environment(tmp_path)
    plant(site, "torch", "package", "")
    for name in names:
        (site / "torch" / name).write_text("")
    assert len(known(tmp_path, executable, site, torch="2.8.0")["torch"].foreign) == foreign


@pytest.mark.parametrize(
    ("tag", "fits"),
    [
        ("py3-none-any", True),
        ("cp37-abi3-manylinux_2_28_x86_64", True),
        ("cp{short}-cp{short}-manylinux_2_28_x86_64", True),
        ("cp{short}-cp{short}-linux_x86_64", True),
        ("cp39-none-manylinux2014_x86_64", True),
        ("py2.py3-none-manylinux1_x86_64", True),
        ("cp{short}-cp{short}-manylinux_2_28_aarch64", False),
        ("cp399-cp399-manylinux_2_28_x86_64", False),
        ("cp{short}-cp{short}-win_amd64", False),
        ("nonsense", True),
    ],
)
def test_a_wheels_tags_are_those_of_pep_425(tmp_path: Path, tag: str, fits: bool):
    executable, site = environment(tmp_path)
    plant(site, "torch", "package", "")
    short = site.parent.name.removeprefix("python").replace(".", "")
    (site / "torch-2.8.0.dist-info").mkdir()
    (site / "torch-2.8.0.dist-info" / "WHEEL").write_text(f"Wheel-Version: 1.0\nTag: {tag.format(short=short)}\n")
    assert (known(tmp_path, executable, site, torch="2.8.0")["torch"].wheel_tags == ()) is fits


@pytest.mark.parametrize(
    ("text", "unlike"),
    [
        ("def pick():\n    return 1\n", True),
        ("", True),
        ("import os\n\n\nclass Queue:\n    pass\n", False),
        ("from queue_of_old import Queue\n", False),
        ("from queue_of_old import *\n", False),
        ("def __getattr__(name):\n    return name\n", False),
        ("globals().update(vars(__import__('_queue')))\n", False),
        ("def broken(:\n", False),
    ],
)
def test_a_file_that_hides_one_is_no_copy_and_no_stand_in(tmp_path: Path, text: str, unlike: bool):
    executable, _site = environment(tmp_path)
    (tmp_path / "queue.py").write_text(text)
    torch = (Distribution(name="torch", version="2.8.0"),)
    (found,) = hidden_standard_modules(search(executable, {}, tmp_path), torch)
    assert found.unlike is unlike


@pytest.mark.parametrize(
    ("name", "version", "text", "never"),
    [
        ("code", (3, 12), "import base64\n", True),
        ("code", (3, 13), "import base64\n", False),  # pdb has a class of its InteractiveConsole
        ("code", (3, 12), "import torch\n", False),  # torch comes to import this text, and that torch again
        ("queue", (3, 12), "import base64\n", False),
    ],
)
def test_a_hidden_module_that_debuggers_alone_ask(
    tmp_path: Path, name: str, version: tuple[int, int], text: str, never: bool
):
    (tmp_path / f"{name}.py").write_text(text)
    assert is_never_asked(FoundModule(name=name, path=str(tmp_path / f"{name}.py")), version, HERE) is never


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("import os\nfrom queue import JOBS\n", 2),
        ("import queue\n\nprint(queue.JOBS)\n", 3),
        ("import queue as q\n\nprint(q.JOBS)\n", 3),
        ("import queue as q\n\nprint(other.JOBS)\n", 0),
        ("import queue as q, os\nfrom queue import Queue as Q\n", 0),  # whatever it means, Python's own has it
        ("from queue import *\n", 0),
        ("from jobs.queue import JOBS\n", 0),
        ("from .queue import JOBS\n", 0),
        ("def broken(:\nfrom queue import JOBS\n", 0),
    ],
)
def test_a_program_that_asks_a_file_for_what_the_hidden_one_lacks_means_it(tmp_path: Path, program: str, line: int):
    executable, _site = environment(tmp_path)
    (tmp_path / "queue.py").write_text("JOBS = []\n\n\ndef Queue():\n    return JOBS\n")
    (tmp_path / "train.py").write_text(program)
    torch = (Distribution(name="torch", version="2.8.0"),)
    (found,) = hidden_standard_modules(search(executable, {}, tmp_path), torch)
    assert found.meant_by == ((f"{tmp_path}/train.py:{line}",) if line else ())


def test_a_part_that_the_hidden_package_lacks_is_meant_too(tmp_path: Path):
    for folder, part in (("mine", "faces"), ("its", "io")):
        for name in ("__init__", part):
            (tmp_path / folder / "utils").mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / "utils" / f"{name}.py").write_text("")
    (tmp_path / "mine" / "a.py").write_text("import utils.io\nimport utils.faces\n")
    (tmp_path / "mine" / "b.py").write_text("from utils import faces\n")
    paths = [f"{tmp_path}/{folder}/utils/__init__.py" for folder in ("mine", "its")]
    found = FoundModule(name="utils", kind="package", path=paths[0], hidden=(paths[1],))
    lines = lines_that_mean(found, f"{tmp_path}/mine", HERE)
    assert lines == (f"{tmp_path}/mine/a.py:2", f"{tmp_path}/mine/b.py:1")


@pytest.mark.parametrize(
    ("own", "right"),
    [
        ("{copy}", True),
        ("{copy}\nOWN = 1\n", True),
        ("", False),
        ("class Queue:\n    pass\n", False),
        ("{renamed}\nLifoQueue = Queue\n", False),
        ("def broken(:", False),
    ],
)
def test_a_copy_of_a_module_stands_in_for_it(tmp_path: Path, own: str, right: bool):
    executable, _site = environment(tmp_path)
    copy = Path(queue.__file__).read_text(encoding="utf-8")
    given = own.replace("{copy}", copy).replace("{renamed}", copy.replace("class LifoQueue", "class Lifo"))
    (tmp_path / "queue.py").write_text(given, encoding="utf-8")
    torch = (Distribution(name="torch", version="2.8.0"),)
    (found,) = hidden_standard_modules(search(executable, {}, tmp_path), torch)
    (tmp_path / "real").mkdir()
    real = tmp_path / "real" / "queue.py"
    real.write_text(copy, encoding="utf-8")
    assert stands_in(replace(found, hidden=(str(real),)), HERE) is right


def test_a_module_of_python_that_no_table_has_is_looked_at_where_a_file_replaces_it(tmp_path: Path):
    executable, _site = environment(tmp_path)
    for name in ("calendar", "wave", "test"):
        plant(tmp_path, name, "package" if name == "test" else "module", "")
    (tmp_path / "wave.py").write_text("class Wave_read:\n    pass\n")
    its = search(executable, {}, tmp_path)
    names = ("calendar", "wave", "test", "graphlib")
    assert [f.name for f in replaced_standard_modules(its, names, ())] == ["calendar"]
    assert replaced_standard_modules(its, names, (FoundModule(name="calendar"),)) == ()


@pytest.mark.parametrize("name", ["queue.py", "queue/__init__.py"])
def test_an_archive_hides_a_module_of_the_standard_library(tmp_path: Path, name: str):
    executable, _site = environment(tmp_path)
    with zipfile.ZipFile(tmp_path / "deps.zip", "w") as archive:
        archive.writestr(name, "def pick():\n    return 1\n")
    torch = (Distribution(name="torch", version="2.8.0"),)
    its = search(executable, {"PYTHONPATH": str(tmp_path / "deps.zip")}, tmp_path / "work")
    (found,) = hidden_standard_modules(its, torch)
    assert found.path == f"{tmp_path}/deps.zip/{name}"


def test_a_file_hides_a_module_of_the_standard_library(tmp_path: Path):
    executable, _site = environment(tmp_path)
    for name in ("random", "queue", "mymodule", "sys"):
        plant(tmp_path, name, "module", "")
    (tmp_path / "types").mkdir()
    torch = (Distribution(name="torch", version="2.8.0"),)
    found = hidden_standard_modules(search(executable, {}, tmp_path), torch)
    assert sorted(f.path for f in found) == [f"{tmp_path}/queue.py", f"{tmp_path}/random.py"]
    assert hidden_standard_modules(search(executable, {"PYTHONSAFEPATH": "1"}, tmp_path), torch) == () or "3.8" in str(
        _site
    )


@pytest.mark.parametrize(("system", "kind"), [("windows", "module"), ("linux", "none")])
def test_a_source_of_a_program_with_a_window_is_a_module_on_windows(tmp_path: Path, system: System, kind: str):
    where = Sysroot(system, str(tmp_path))
    here = SearchEntry(path=r"C:\project" if system == "windows" else "/project", origin="start")
    file = Path(where.local_path(where.join(here.path, "ctranslate2.pyw")))
    file.parent.mkdir(parents=True)
    file.write_text("")
    python = Interpreter(prefix="", base="", version=(3, 11))
    assert ModuleSearch(python, PythonSearch((here,)), "AMD64", where).find("ctranslate2").kind == kind


def test_an_editable_installations_finder_leads_to_its_source(tmp_path: Path):
    executable, site = environment(tmp_path)
    plant(tmp_path / "src", "torch", "package", "")
    (site / "__editable__.torch-2.9.pth").write_text(
        "import __editable___torch_2_9_finder; __editable___torch_2_9_finder.install()"
    )
    (site / "__editable___torch_2_9_finder.py").write_text(
        f"from typing import Dict\nMAPPING: Dict[str, str] = {{'torch': '{tmp_path}/src/torch'}}\n"
    )
    torch = known(tmp_path, executable, site)["torch"]
    assert (torch.kind, torch.path, torch.entry) == ("package", f"{tmp_path}/src/torch/__init__.py", -1)
