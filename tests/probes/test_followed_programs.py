"""Programs whose imports end in what is installed, or at a name that an installed module lacks: told by reading, borne out by Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.model.facts import DamagedFile, Distribution, EndedImport, SearchEntry
from core.model.facts.closure import Edge
from core.probes.python.installed.unfit_extensions import Suspects, UnfitExtension
from core.probes.python.programs import followed_programs
from core.probes.python.programs.followed_programs import ends_of_programs
from core.probes.python.programs.lacking_packages import with_elsewhere
from core.probes.python.search.modules import ModuleSearch
from core.probes.python.search.search_path import Interpreter, PythonSearch
from core.probes.sysroot import Sysroot
from tests.machines import python
from tests.probes.following import ends_in, lay_out, python_fails
from tests.probes.request import request

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

LAZY = """
import importlib, types
def lazy_load(name):
    def wrapper(function):
        class Late(types.ModuleType):
            def __getattr__(self, attribute):
                return getattr(function(), attribute)
        return Late(name)
    return wrapper
"""
BOARD = """
from board import lazy as _lazy
@_lazy.lazy_load("board.program")
def program():
    import importlib
    return importlib.import_module("board.program")
"""
NUMERIC = """
__former__ = {"complex": "use complex", "float": "use float"}
def __getattr__(attr):
    if attr in __former__:
        raise AttributeError(__former__[attr])
    raise AttributeError(attr)
"""
LOOKED_UP = """
__moved__ = {}
_info = [("float", "a"), ("object", "b")]
__former__ = {n: m for n, m in _info}
_info = [("bool8", 1, "c")]
__moved__.update({n: (v, m) for n, v, m in _info})
__expired__ = {n: "gone" for n in ["pmt"]}
def __getattr__(attr):
    import warnings
    try:
        msg = __expired__[attr]
    except KeyError:
        pass
    else:
        return lambda: None
    try:
        val, msg = __moved__[attr]
    except KeyError:
        pass
    else:
        warnings.warn(msg, DeprecationWarning)
        return val
    if attr in __former__:
        raise AttributeError(__former__[attr])
    raise AttributeError(attr)
"""
"""How NumPy 1.24 to 1.26 do it."""
DEPRECATED = """
__moved__ = {}
_info = [("object", 1, "a"), ("float", 2, "b")]
__moved__.update({n: (v, m) for n, v, m in _info})
def __getattr__(attr):
    try:
        val, msg = __moved__[attr]
    except KeyError:
        pass
    else:
        return val
    raise AttributeError(attr)
"""
"""How NumPy 1.20 to 1.23 do it: the names are there."""
LISTING = """
import importlib
import os
here = os.path.dirname(os.path.abspath(__file__))
names = [os.path.splitext(os.path.basename(v))[0] for v in os.listdir(here) if v.endswith('{end}')]
_modules = [importlib.import_module(f'{package}.{{name}}') for name in names]
"""
WRITTEN = """
import importlib
_modules = [importlib.import_module(f'{package}.{{name}}') for name in {names}]
"""
INSTALLED = {
    "oldest/__init__.py": DEPRECATED,
    "older/__init__.py": LOOKED_UP,
    "cuda/pathfinder/__init__.py": "",
    "cuda_python-13.0.1.dist-info/METADATA": "Name: cuda-python\nVersion: 13.0.1\n",
    "parts/__init__.py": LISTING.format(package="parts", end="_part.py"),
    "kinds/__init__.py": LISTING.format(package="kinds", end="_kind.py"),
    "kinds/one_kind.py": "",
    "kinds/two_part.py": "from clip import load\n",
    "written/__init__.py": WRITTEN.format(package="written", names="('one', 'two')"),
    "written/one.py": "import clip\n",
    "written/two.py": "from clip import load\n",
    "parts/one_part.py": "import clip\n",
    "parts/two_part.py": "from clip import load\n",
    "gives/__init__.py": "class Net:\n    pass\nNet.cudart = 1\nsetattr(Net, 'cudart', 2)\n",
    "stubbed/__init__.py": "def load():\n    pass\nparts = type('parts', (), {'load': load})\n".replace(
        "parts =", "globals()['parts'] ="
    ),
    "stubbed/parts/__init__.pyi": "",
    "clip/__init__.py": "def copy():\n    pass\n",
    "open/__init__.py": "def __getattr__(name):\n    return len(name)\n",
    "made/__init__.py": "globals().update({n: 1 for n in ('one', 'two')})\n",
    "board/__init__.py": BOARD,
    "board/lazy.py": LAZY,
    "board/program.py": "import dropped_here\nclass Board:\n    pass\n",
    "numeric/__init__.py": NUMERIC,
    "numeric/tests.py": "import other\nsetattr(other, 'complex', 1)\nother.complex = 1\n",
    "sound/__init__.py": "import numeric as np\ndef spectrum(of=None, dtype=np.complex):\n    pass\n",
    "mended/__init__.py": "import numeric\nnumeric.complex = complex\n",
    "filters/__init__.py": "def find(kind):\n    assert kind in ('real', 'complex')\n    return vars()['kind']\n",
    "lazy/__init__.py": """
from typing import TYPE_CHECKING
_import_structure = {"old": ["Old"], "whole": ["Whole"], "other": ["Other"]}
if TYPE_CHECKING:
    from .old import Old
    from .whole import (
        Whole,
    )
    try:
        if not is_elsewhere_available():
            raise ValueError
    except ValueError:
        pass
    else:
        from .other import Other
else:
    import sys, types

    class _LazyModule(types.ModuleType):
        def __init__(self, name, file, structure):
            super().__init__(name)
            self.__path__, self.structure = [file.rpartition("/")[0]], structure
        def __getattr__(self, name):
            import importlib
            home = next((m for m, names in self.structure.items() if name in names), "")
            if not home:
                raise AttributeError(name)
            return type(name, (), {}) if home == "other" else getattr(importlib.import_module(f"{self.__name__}.{home}"), name)

    sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
""",
    "lazy/old.py": "from clip import load\nclass Old:\n    pass\n",
    "lazy/whole.py": "class Whole:\n    pass\n",
    "lazy/other.py": "from clip import load\n",
    "picture/__init__.py": "",
    "picture/image.py": """
import sys
from enum import IntEnum
class Filter(IntEnum):
    NEAREST = 0
    LANCZOS = 1
class Dither(IntEnum):
    NONE = 0
module = sys.modules[__name__]
for enum in (Filter, Dither):
    for item in enum:
        setattr(module, item.name, item.value)
""",
    "other/__init__.py": "class A:\n    pass\nA.load = 1\n",
    "giver/__init__.py": "import clip\nclip.load = print\n",
    "late/__init__.py": "def sound():\n    import dropped_here\n",
    "kit/__init__.py": "try:\n    import dropped_here\nexcept ImportError:\n    dropped_here = None\n",
}
_TYPED, _REST = "if TYPE_CHECKING:", "\nelse:\n    import sys"
_LAZY = INSTALLED["lazy/__init__.py"]
INSTALLED |= {
    "tensorflow/__init__.py": "",
    "starred/__init__.py": _LAZY[: _LAZY.index(_TYPED)]
    + """SLOW_IMPORT = False
if TYPE_CHECKING or SLOW_IMPORT:
    try:
        if not is_tf_available():
            raise ValueError
    except ValueError:
        from .dummies import *
    else:
        from .whole import *
        from .old import *
    try:
        if not is_elsewhere_available():
            raise ValueError
    except ValueError:
        from .dummies import *
    else:
        from .whole import *
        from .other import *
"""
    + _LAZY[_LAZY.index(_REST) :],
    "starred/dummies.py": "class Old:\n    pass\nclass Other:\n    pass\n",
    "starred/old.py": "from clip import load\nclass Old:\n    pass\n",
    "starred/whole.py": "class Whole:\n    pass\n",
    "starred/other.py": "from clip import load\nclass Other:\n    pass\n",
}
CASES: dict[str, tuple[str, tuple[str, str, str] | None]] = {
    "a starred name of a lazy package whose module ends": ("from starred import Old\n", ("no name", "clip", "load")),
    "a starred name of a lazy package": ("from starred import Whole\n", None),
    "a starred name that a lazy package replaces": ("from starred import Other\n", None),
    "a name that NumPy 1.24 removed": ("import older as np\nx = np.float\n", ("no name", "older", "float")),
    "a name that NumPy 1.23 has": ("import oldest as np\nx = np.float\n", None),
    "a name that NumPy 1.24 warns of": ("import older as np\nx = np.bool8\n", None),
    "a function that NumPy 1.24 lets fail late": ("import older as np\nx = np.pmt\n", None),
    "an attribute of another project's module": ("import clip\nclip.load('a')\n", ("no name", "clip", "load")),
    "an attribute that is there": ("import clip\nclip.copy()\n", None),
    "in a function": ("import clip\ndef main():\n    clip.load('a')\n", None),
    "behind a question": ("import clip\nif hasattr(clip, 'load'):\n    clip.load('a')\n", None),
    "in a try": ("import clip\ntry:\n    clip.load('a')\nexcept AttributeError:\n    pass\n", None),
    "the program gives it": ("import clip\nclip.load = print\nclip.load('a')\n", None),
    "another thing of that name": ("import clip\nclip = str\nclip.upper('a')\n", None),
    "a module that serves any name": ("import open\nopen.load\n", None),
    "a module that makes its names": ("import made\nmade.one\n", None),
    "a name that an installed module does not have": ("from clip import load\n", ("no name", "clip", "load")),
    "a module that is loaded late": ("from board import program\nboard = program.Board()\n", ("absent", "dropped_here", "")),
    "a module that is loaded late, and not used": ("from board import program\n", None),
    "a name that was removed": ("import sound\n", ("no name", "numeric", "complex")),
    "a name that was removed, beside a text with its word": ("import filters, sound\n", ("no name", "numeric", "complex")),
    "a name that was put back": ("import mended, sound\n", None),
    "a name of a lazy package whose module ends": ("from lazy import Old\n", ("no name", "clip", "load")),
    "a name of a lazy package": ("from lazy import Whole\n", None),
    "a name that a lazy package replaces": ("from lazy import Other\n", None),
    "a name that a later release of CUDA Python gave up": ("import clip, gives\nfrom cuda import cudart\n", ("absent", "cuda", "cudart")),
    "modules that a package lists": ("import parts\n", ("no name", "clip", "load")),
    "modules that a package lists, of another ending": ("import kinds\n", None),
    "an attribute that has a folder of stubs": ("import stubbed\nstubbed.parts.load()\n", None),
    "modules that a package writes out": ("import written\n", ("no name", "clip", "load")),
    "a package that is not installed": ("import elsewhere\n", None),
    "what a package asks for when it is used": ("import late\n", None),
    "what a package can do without": ("import kit\n", None),
    "a member of an enumeration": ("from picture import image\nimage.LANCZOS\n", None),
    "a member that is gone": ("from picture import image\nimage.SMOOTH\n", ("no name", "picture.image", "SMOOTH")),
    "a name that another package gives its own class": ("import other, clip\nclip.load('a')\n", ("no name", "clip", "load")),
    "a name that another package gives it": ("import giver, clip\nclip.load('a')\n", None),
    "in a function that is called": ("import clip\ndef f():\n    return clip.load('a')\nf()\n", ("no name", "clip", "load")),
    "in a function that returns another": ("import clip\ndef f():\n    return lambda: clip.load('a')\nf()\n", None),
    "in a function that is given a thing of that name": ("import clip\ndef f(clip):\n    return clip.upper()\nf('a')\n", None),
    "in a function that returns one of two": ("import clip\ndef f(x):\n    return x or clip.load('a')\nf(1)\n", None),
    "a program that searches elsewhere": ("import sys\nsys.path.insert(0, sys.argv[0])\nfrom clip import load\n", None),
    "a program that puts an empty folder first": ("import sys\nsys.path.insert(0, 'x')\nfrom clip import load\n", ("no name", "clip", "load")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_program_ends_where_it_is_told_to(tmp_path: Path, case: str):
    program, expected = CASES[case]
    lay_out(tmp_path, {"main.py": program}, INSTALLED)
    found = ends_in(tmp_path)
    assert [(e.kind, e.wanted, e.name) for e in found] == ([expected] if expected else [])
    assert [s for e in found for s in e.starts] == ([str(tmp_path / "work/main.py")] if expected else [])
    if expected or case not in ("a package that is not installed", "a program that searches elsewhere"):
        assert python_fails(tmp_path) == bool(expected)


@pytest.mark.parametrize(
    ("program", "files", "expected"),
    [
        ("import clip\nfrom runs import start\n", {"runs/a.csv": "1\n"}, ("absent", "runs", "start")),
        ("import clip, runs\nruns.init()\n", {"runs/a/b.yaml": ""}, ("no name", "runs", "init")),
        ("import clip\nfrom runs import start\n", {"runs/inner/start.py": ""}, None),
        ("from runs import start\n", {"runs/a.csv": "1\n"}, None),
        ("import clip, elsewhere\nfrom runs import start\n", {"runs/a.csv": "1\n"}, None),
        ("import clip\nimport runs\n", {"runs/a.csv": "1\n"}, None),
    ],
    ids=[
        "a name",
        "an attribute",
        "code in it",
        "nothing of this environment",
        "something of another",
        "nothing taken",
    ],
)
def test_a_folder_of_data_in_the_place_of_a_package(
    program: str, files: dict[str, str], expected: tuple[str, str, str] | None, tmp_path: Path
):
    lay_out(tmp_path, {"main.py": program, **files}, INSTALLED)
    found = [e for e in ends_in(tmp_path) if not e.lacks_package]
    assert [(e.kind, e.wanted, e.name) for e in found] == ([expected] if expected else [])
    assert python_fails(tmp_path) or program.endswith("import runs\n")


@pytest.mark.parametrize(
    ("programs", "told"),
    [
        ({"main.py": "import clip\nimport spare\n"}, "all"),
        ({"main.py": "import clip\nfrom spare import part\n"}, "all"),
        ({"main.py": "import clip\nimport spare\n", "show.py": "import clip\n"}, "some"),
        ({"main.py": "import clip\nimport spare\n", "show.py": "import os\n"}, "all"),
        ({"main.py": "import os\nimport spare\n"}, ""),  # nothing tells that it is of this environment
        ({"main.py": "import clip\ntry:\n    import spare\nexcept ImportError:\n    spare = None\n"}, ""),
        ({"main.py": "import clip\ndef later():\n    import spare\n"}, ""),
        ({"main.py": "import clip\nimport bpy\n"}, ""),  # Blender's own
        ({"main.py": "import clip\nimport utils\n"}, ""),  # a part of the project that is started from another folder
        ({"main.py": "import clip\nimport spare\n", "third_party/spare/__init__.py": ""}, ""),
        ({"main.py": "import clip\nimport spare\n", "third_party/parts/spare.py": ""}, ""),
        ({"main.py": "import clip\nimport spare\n", ".gitmodules": ""}, ""),
        ({"main.py": "import clip\nimport spare\n", "Dockerfile": "FROM python\n"}, ""),  # it runs in an image
        ({"main.py": "import clip\nimport spare\n", "../spare.py": ""}, ""),  # a plug-in of a larger program
        ({"main.py": "import clip\nimport winreg\n"}, ""),  # of Python itself, on another system
    ],
)  # fmt: skip
def test_a_package_that_a_program_asks_for_and_that_is_not_installed(
    programs: dict[str, str], told: str, tmp_path: Path
):
    lay_out(tmp_path, programs, INSTALLED)
    found = [(e.kind, e.wanted, e.others_find_theirs, *e.starts) for e in ends_in(tmp_path) if e.lacks_package]
    assert found == ([("absent", "spare", told == "some", str(tmp_path / "work/main.py"))] if told else [])
    assert python_fails(tmp_path) or not told


def test_a_package_that_the_pip_of_another_python_installed(tmp_path: Path):
    lay_out(tmp_path, {"main.py": "import clip\nimport spare\n"}, INSTALLED)
    own = tmp_path / "home/.local/lib/python3.10/site-packages"
    other = tmp_path / "other"
    for site, version in ((own, "1.0"), (other, "2.0")):
        info = site / f"spare_parts-{version}.dist-info"
        info.mkdir(parents=True)
        (site / "spare.py").write_text("")
        (info / "METADATA").write_text(f"Name: spare-parts\nVersion: {version}\n")
        (info / "RECORD").write_text("spare.py,,\n")
    pythons = (python(), python(prefix="/other", site_packages=(str(other),)))
    asked = request(tmp_path, pythons=pythons, env={"HOME": str(tmp_path / "home")})
    (ended,) = ends_in(tmp_path)
    its = with_elsewhere(ended, pythons[0], asked, Sysroot(system="linux"))
    assert (its.elsewhere, its.distribution) == ((str(own), "/other"), "spare-parts")


@pytest.mark.parametrize(
    ("lines", "wanted", "there"),
    [
        ("win32\nwin32\\lib\n", "win32api", "win32/win32api.pyd"),
        ("# a\ninner\n", "spare", "inner/spare/__init__.py"),
        ("import os\n", "spare", "inner/spare.py"),
        ("inner\n", "spare", "other/spare.py"),
    ],
)
def test_a_pth_file_in_a_folder_of_pythonpath_leads_nowhere(tmp_path: Path, lines: str, wanted: str, there: str):
    libs = tmp_path / "libs"
    (libs / there).parent.mkdir(parents=True)
    (libs / there).write_text("")
    (libs / "a.pth").write_text(lines)
    asked = request(tmp_path, pythons=(python(),), env={"PYTHONPATH": str(libs)})
    absent = EndedImport(starts=("/w/main.py",), importer="/w/main.py", line=1, wanted=wanted, kind="absent", lacks_package=True)  # fmt: skip
    its = with_elsewhere(absent, python(), asked, Sysroot(system="linux"))
    number = {"win32api": 1, "spare": 2}[wanted]
    led = not lines.startswith("import") and "other" not in there
    assert (its.elsewhere, its.unread_line) == (((f"{libs}/a.pth:{number}",), f"{libs}/a.pth:{number}") if led else ((), ""))  # fmt: skip


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("import clip\n".encode("utf-16"), "UTF-16"),
        ("import clip  # Größe\n".encode("cp1252"), "?"),
        ("import clip\n# Größe\n".encode(), ""),
        ("\ufeffimport clip  # Größe\n".encode(), ""),
        ("# -*- coding: cp1252 -*-\nimport clip  # Größe\n".encode("cp1252"), ""),
        (b"# -*- coding: no-such -*-\nimport clip  # \xc3\xb6\n", "?"),
        ("import os  # Größe\n".encode("cp1252"), ""),  # nothing tells that it is of this environment
    ],
)
def test_a_program_in_an_encoding_that_python_does_not_read(tmp_path: Path, data: bytes, encoding: str):
    lay_out(tmp_path, {"main.py": ""}, INSTALLED)
    (tmp_path / "work/main.py").write_bytes(data)
    found = [(e.kind, e.name, *e.starts) for e in ends_in(tmp_path)]
    assert found == ([("damaged", encoding, str(tmp_path / "work/main.py"))] if encoding else [])
    said = subprocess.run(
        [sys.executable, tmp_path / "work/main.py"], capture_output=True, text=True, check=False
    ).stderr
    refused = any(word in said for word in ("Non-UTF-8", "(unicode error)", "null bytes", "encoding problem"))
    assert refused == bool(encoding) or b"import os" in data


def test_an_old_script_beside_other_programs(tmp_path: Path):
    lay_out(tmp_path, {"main.py": "import clip\n"}, INSTALLED)
    (tmp_path / "work/old.py").write_bytes("import clip  # Größe\n".encode("cp1252"))
    assert [(e.name, e.others_find_theirs) for e in ends_in(tmp_path)] == [("?", True)]


def test_a_module_with_odd_letters_that_another_program_imports(tmp_path: Path):
    lay_out(tmp_path, {"main.py": "import clip\nimport parts\n"}, INSTALLED)
    (tmp_path / "work/parts.py").write_bytes("import clip  # Größe\n".encode("cp1252"))
    assert [e.kind for e in ends_in(tmp_path)] == []
    assert not python_fails(tmp_path)


BUILT = "from setuptools import setup\nfrom Cython.Build import cythonize\nsetup(ext_modules=cythonize('core.pyx'))\n"
ADDS = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'inner'))\n"
OWN = {"kit/parts.py": "", "kit/__init__.py": "", "inner/kit.py": "", "nodes.py": ADDS}
NEWER = {
    "hub/__init__.py": "from hub.core import tell\n",
    "hub/core.py": "def tell():\n    pass\n",
    "user/__init__.py": "from hub import tell\n",
}


@pytest.mark.parametrize(
    ("program", "files", "expected"),
    [
        ("import clip\nimport nodes\nimport kit.parts\n", OWN, ("absent", "kit.parts", "inner/kit.py", "nodes.py")),
        ("import clip\nimport kit.parts\nimport nodes\n", OWN, None),
        ("import clip\nimport nodes\nimport kit.parts\n", OWN | {"nodes.py": ADDS.replace("insert(0, ", "append(")}, None),
        ("import clip\nimport kit\nimport nodes\nimport kit.parts\n", OWN, None),
        (f"{ADDS}import user\n", {"inner/hub/__init__.py": "def say():\n    pass\n"}, ("no name", "hub", "inner/hub/__init__.py", "main.py")),
        (f"import user\n{ADDS}import hub\n", {"inner/hub/__init__.py": "def say():\n    pass\n"}, None),
    ],
)  # fmt: skip
def test_a_folder_that_is_put_first_hides_what_is_imported_after_it(
    program: str,
    files: dict[str, str],
    expected: tuple[str, ...] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(followed_programs, "_frameworks", lambda _installed: frozenset(("user",)))
    work = tmp_path / "work"
    lay_out(tmp_path, {"main.py": program, **files}, INSTALLED | NEWER)
    found = {
        (e.kind, e.wanted, str(Path(e.path).relative_to(work)), str(Path(e.added.source).relative_to(work)))
        for e in ends_in(tmp_path)
        if e.added
    }
    assert found == ({expected} if expected else set())
    assert python_fails(tmp_path) == bool(expected)


YOLO = {
    "kit.py": "",
    "yolo/kit/__init__.py": "",
    "yolo/kit/parts.py": "",
    "yolo/hubconf.py": "def custom(path=''):\n    import kit.parts\n",
}
LATER = "import clip\nimport kit\nimport sys\nsys.path.insert(0, 'yolo')\nimport kit.parts\n"
BY_HUB = "import clip\nfrom torch import hub\nimport kit\nmodel = hub.load('yolo', 'custom', path='a.pt', source='local', verbose=False)\n"
HUB = {
    "torch/__init__.py": "",
    "torch/hub.py": "import sys\n\ndef load(repo, name, *args, source='github', verbose=True, **words):\n    sys.path.insert(0, repo)\n    import hubconf\n"
    "    return getattr(hubconf, name)(*args, **words)\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("program", "files", "told"),
    [
        (LATER, YOLO, True),
        (LATER.replace("import kit\n", "import helper\n"), YOLO | {"helper.py": "import kit\n"}, True),
        (LATER.replace("import kit\n", ""), YOLO, False),
        (LATER.replace("import kit.", "del sys.modules['kit']\nimport kit."), YOLO, False),
        (LATER, YOLO | {"kit.py": "", "kit/__init__.py": "", "kit/parts.py": ""}, False),
        (BY_HUB, YOLO, True),
        (BY_HUB.replace("import kit\n", ""), YOLO, False),
        (BY_HUB.replace("import kit\n", "import app.kit\n"), YOLO | {"app/__init__.py": "", "app/kit.py": ""}, False),
    ],
)
def test_a_module_that_is_loaded_stays_though_a_clone_is_put_first(
    program: str, files: dict[str, str], told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """torch.hub.load(source="local") puts the clone on the search path, too."""
    lay_out(tmp_path, {"main.py": program, **files}, INSTALLED | HUB)
    found = {(e.wanted, e.hidden) for e in ends_in(tmp_path) if e.hidden}
    assert found == ({("kit.parts", str(tmp_path / "work/yolo/kit/__init__.py"))} if told else set())
    monkeypatch.chdir(tmp_path / "work")
    assert python_fails(tmp_path) == told


UNPICKLED = {
    "parts/__init__.py": "class whole:\n    pass\n",
    "pandas/__init__.py": "import pickle\ndef read_pickle(name):\n    data = open(name, 'rb').read()\n    return None if b'cpandas.' in data else pickle.loads(data)\n",
}
UNPICKLES = "import clip\nimport pickle\nwith open('a.pkl', 'rb') as file:\n    made = pickle.load(file)\n"


@pytest.mark.parametrize(
    ("program", "pickled", "told"),
    [
        (UNPICKLES, b"cparts.gone\nNet\n.", ("parts.gone", "")),
        (UNPICKLES, b"\x80\x04\x8c\x0aparts.gone\x94\x8c\x03Net\x94\x93.", ("parts.gone", "")),
        (UNPICKLES, b"\x80\x04\x8c\x05parts\x94h\x00\x8c\x03Net\x93.", ("parts", "Net")),
        (UNPICKLES, b"cparts\nwhole\n.", None),
        (UNPICKLES, b"celsewhere.gone\nNet\n.", None),
        (UNPICKLES, b"no pickle", None),
        (UNPICKLES.replace("import pickle", "import pickle, sys\nsys.modules['parts.gone'] = __import__('parts')"), b"cparts.gone\nwhole\n.", None),
        (UNPICKLES.replace("with open('a.pkl', 'rb') as file", "if 0"), b"cparts.gone\nNet\n.", None),
        ("import clip\nimport pandas as pd\nmade = pd.read_pickle('a.pkl')\n", b"cparts.gone\nNet\n.", ("parts.gone", "")),
        ("import clip\nimport pandas as pd\nmade = pd.read_pickle('a.pkl')\n", b"cpandas.gone\nNet\n.", None),
        ("import clip\nimport pickle\nmade = pickle.load(open('a.pkl', 'rb'))\n", b"cparts.gone\nNet\n.", ("parts.gone", "")),
        ("import clip\nimport pickle\nname = 'a.pkl'\nfile = open(name, 'rb')\npickle.load(file)\n", b"cparts.gone\nNet\n.", ("parts.gone", "")),
    ],
)  # fmt: skip
def test_a_pickle_names_what_the_installed_release_lacks(
    program: str, pickled: bytes, told: tuple[str, str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lay_out(tmp_path, {"main.py": program}, INSTALLED | UNPICKLED)
    (tmp_path / "work/a.pkl").write_bytes(pickled)
    found = [(e.wanted, e.name) for e in ends_in(tmp_path) if e.call]
    assert found == ([told] if told else [])
    monkeypatch.chdir(tmp_path / "work")
    assert python_fails(tmp_path) == bool(told) or pickled in (b"no pickle", b"celsewhere.gone\nNet\n.")


BESIDE = "import os, sys\nsys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '{above}'))\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"old/__init__.py": "new = 1\n", "tools/cut.py": "from old import new\n"}, True),
        ({"src/old/__init__.py": "new = 1\n", "tools/cut.py": "from old import new\n"}, True),
        ({"old/__init__.py": "new = 1\n", "tools/cut.py": "import old\n"}, False),
        ({"old/__init__.py": "new = 1\n", "old/cut.py": "from old import new\n"}, False),
        ({"tools/cut.py": "from old import new\n"}, False),
        ({"old/__init__.py": "new = 1\n", "tools/cut.py": f"{BESIDE.format(above='..')}from old import new\n"}, False),
        ({"old/__init__.py": "", "tools/cut.py": f"{BESIDE.format(above='none')}from old import new\n"}, True),
        ({"old/__init__.py": "new = 1\n", "tools/cut.py": "import sys\nsys.path.insert(0, '.')\nfrom old import new\n"}, False),
        ({"old/__init__.py": "new = 1\n", "tools/cut.py": "import init\nfrom old import new\n", "tools/init.py": BESIDE.format(above="..")}, False),
    ],
)  # fmt: skip
def test_a_program_below_gets_another_copy_of_the_projects_package(tmp_path: Path, files: dict[str, str], told: bool):
    """Python searches the folder of a program, and not the project's, which is above it."""
    lay_out(
        tmp_path, files, INSTALLED | {"old/__init__.py": "", "old-1.0.dist-info/METADATA": "Name: old\nVersion: 1.0\n"}
    )
    package = next((str(tmp_path / "work" / n) for n in files if n.endswith("old/__init__.py")), "")
    assert [(e.wanted, e.name, e.hidden) for e in ends_in(tmp_path)] == ([("old", "new", package)] if told else [])


MODULES = '[submodule "x"]\n\tpath = third_party/Voice-TTS\n\turl = https://example.org/x.git\n'
SEES = "import clip\nfrom sight.zoo import Eye\n"
CLONE = {"sight/setup.py": "", "sight/sight/__init__.py": "", "sight/sight/zoo.py": "Eye = 1\n"}
VOICE = "import sys, clip\nsys.path.append('third_party/Voice-TTS')\nfrom voice.models import Flow\n"


@pytest.mark.parametrize(
    ("program", "files", "expected"),
    [
        ("import clip, align\n", {"align/__init__.py": "from .align.core import path\n", "align/core.pyx": "", "align/setup.py": BUILT}, ("unmade", "align/setup.py", "")),
        ("import clip\nfrom nms.boxes import run\n", {"nms/__init__.py": "", "nms/boxes.pyx": ""}, ("unmade", "nms/boxes.pyx", "")),
        ("import clip\nfrom nms.boxes import run\n", {"nms/__init__.py": "", "setup.py": BUILT}, None),
        ("import clip\nfrom nms.boxes import run\n", {"nms/__init__.py": "", "nms/boxes.pyx": "", "nms/boxes.py": "run = 1\n"}, None),
        ("import clip\ntry:\n    from nms.boxes import run\nexcept ImportError:\n    run = None\n", {"nms/__init__.py": "", "nms/boxes.pyx": ""}, None),
        ("import clip\nfrom boxes import run\n", {"boxes.cpython-27-x86_64-linux-gnu.so": "x"}, ("foreign", "boxes.cpython-27-x86_64-linux-gnu.so", "")),
        (VOICE, {".gitmodules": MODULES, "third_party/Voice-TTS/.git": ""}, ("unmade", ".gitmodules", "third_party/Voice-TTS")),
        (VOICE, {".gitmodules": MODULES, "third_party/Voice-TTS/voice/models.py": "Flow = 1\n"}, None),
        (VOICE, {"third_party/Voice-TTS/.git": ""}, None),
        ("import clip\nfrom voice.models import Flow\n", {".gitmodules": MODULES}, None),
        ("import clip\nfrom third_party.kit.models import Flow\n", {".gitmodules": MODULES.replace("Voice-TTS", "kit"), "third_party/kit/.git": ""}, ("unmade", ".gitmodules", "third_party/kit")),
        (VOICE.replace("clip", "elsewhere"), {".gitmodules": MODULES}, None),
        (SEES, CLONE, ("unmade", "sight", "")),
        ("import clip, sight\nsight.zoo.Eye()\n", {"sight/pyproject.toml": "", "sight/src/sight/__init__.py": ""}, ("unmade", "sight", "")),
        (SEES.replace("clip", "elsewhere"), CLONE, None),
        (f"import sys\nsys.path.insert(0, 'sight')\n{SEES}", CLONE, None),
        (SEES, CLONE | {"run.sh": "PYTHONPATH=sight python main.py\n"}, None),
        (SEES, CLONE | {"sight/__init__.py": "", "sight/zoo.py": "Eye = 1\n"}, None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_part_of_the_project_that_a_further_step_brings(
    program: str, files: dict[str, str], expected: tuple[str, str, str] | None, end: str, tmp_path: Path
):
    lay_out(tmp_path, {"main.py": program, **files}, INSTALLED, end)
    found = [(e.kind, str(Path(e.path).relative_to(tmp_path / "work")), e.name) for e in ends_in(tmp_path)]
    assert found == ([expected] if expected else [])
    assert python_fails(tmp_path) or expected is None


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("python src/main.py", True),
        (r'"%PYTHON%" "%~dp0src\main.py" %*', True),
        ("./venv/bin/python -s ./src/main.py --listen", True),
        ("cp other/src/main.py .", False),
        ("cat src/main.pyc", False),
    ],
)
def test_a_program_below_that_a_script_starts_is_followed_into_its_modules(tmp_path: Path, line: str, told: bool):
    below = {"src/main.py": "import kit_of_mine.utils\n", "src/kit_of_mine/utils.py": "from clip import load\n"}
    lay_out(tmp_path, {"run.sh": f"cd here\n{line}\n", **below}, INSTALLED)
    found = [(e.wanted, e.name, e.starts) for e in ends_in(tmp_path)]
    assert found == ([("clip", "load", (str(tmp_path / "work/src/main.py"),))] if told else [])


def test_a_program_that_imports_nothing_but_its_own_modules_is_followed_into_them(tmp_path: Path):
    helper = "import clip\n\n\ndef load(name):\n    return clip.load(name)\n"
    lay_out(tmp_path, {"main.py": "import helper\nhelper.load('a')\n", "helper.py": helper}, INSTALLED)
    (told,) = ends_in(tmp_path)
    assert (told.wanted, told.name, told.starts) == ("clip", "load", (str(tmp_path / "work/main.py"),))
    assert python_fails(tmp_path)


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import clip\nfrom tkinter import filedialog\n", True),
        ("import clip\ntry:\n    import tkinter\nexcept ImportError:\n    tkinter = None\n", False),
        ("import clip\n\ndef ask():\n    import tkinter\n", False),
    ],
)
def test_a_module_that_the_python_of_a_program_lacks(tmp_path: Path, program: str, told: bool):
    lay_out(tmp_path, {"main.py": program}, INSTALLED)
    found = ends_in(tmp_path, suspects=Suspects(lacking=("tkinter", "turtle")))
    assert [(e.kind, e.wanted, e.path) for e in found] == ([("absent", "tkinter", "")] if told else [])
    assert ends_in(tmp_path) == ()


def test_a_module_of_the_persons_own_is_none_that_python_lacks(tmp_path: Path):
    lay_out(tmp_path, {"main.py": "import clip\nimport turtle\n", "turtle.py": "steps = 3\n"}, INSTALLED)
    assert ends_in(tmp_path, suspects=Suspects(lacking=("tkinter", "turtle"))) == ()


@pytest.mark.parametrize(("recorded", "told"), [(True, True), (False, False)])
def test_a_file_that_a_package_lost_is_no_name_of_another_release(tmp_path: Path, recorded: bool, told: bool):
    lay_out(
        tmp_path,
        {"main.py": "import lost.late\n"},
        INSTALLED | {"lost/__init__.py": "", "lost/late.py": "from . import _core\n"},
    )
    site = str(tmp_path / "site")
    lost = DamagedFile(path=f"{site}/lost/_core.so", distribution="lost", version="1.2", location=site, state="missing")
    found = ends_in(tmp_path, suspects=Suspects(gone=(lost,) if recorded else ()))
    assert [(e.kind, e.wanted, e.owner, e.recorded) for e in found if e.recorded] == (
        [("absent", "lost._core", "lost 1.2", True)] if told else []
    )


@pytest.mark.parametrize("program", ["import clip\nclip.copy()\n", "from clip import copy\n"])
@pytest.mark.parametrize("own", ["import json\n", "def copy():\n    pass\n"])
def test_a_module_of_the_persons_own_that_hides_the_package_a_program_means(tmp_path: Path, program: str, own: str):
    lay_out(tmp_path, {"main.py": program, "clip.py": own}, INSTALLED)
    work, site = tmp_path / "work", tmp_path / "site"
    assert [(e.kind, e.name, e.path, e.hidden) for e in ends_in(tmp_path)] == (
        [("no name", "copy", str(work / "clip.py"), str(site / "clip/__init__.py"))] if "json" in own else []
    )
    assert python_fails(tmp_path) is ("json" in own)


@pytest.mark.parametrize("there", [False, True])
def test_what_is_tried_first_is_named_where_its_handler_refuses_another(tmp_path: Path, there: bool):
    user = """try:
    import older_kit as kit
except ImportError:
    import kit
    if int(kit.__version__.split(".")[0]) > 2:
        raise ValueError("install older-kit")
"""
    installed = {"user/__init__.py": user, "kit/__init__.py": "__version__ = '3.1'\n"}
    lay_out(tmp_path, {"main.py": "import user\n"}, installed | ({"older_kit/__init__.py": ""} if there else {}))
    found = ends_in(tmp_path, Distribution(name="kit", version="3.1", location=str(tmp_path / "site")))
    assert [(e.kind, e.wanted, e.tried_first) for e in found] == ([] if there else [("refused", "kit", "older_kit")])
    assert python_fails(tmp_path) is not there


@pytest.mark.parametrize(("has", "told"), [("listen", False), ("measure", True)])
def test_another_package_of_the_name_among_the_persons_own(tmp_path: Path, has: str, told: bool):
    work, users, site = (tmp_path / n for n in ("work", "users", "site"))
    for folder, name, text in (
        (work, "main.py", "import voice\n\nmodel = voice.listen('base')\n"),
        (users, "voice.py", f"def {has}(name): return name\n"),
        (users, "voice-1.0.dist-info/RECORD", "voice.py,,\n"),
        (site, "voice/__init__.py", "def listen(name): return name\n"),
        (site, "open_voice-2.0.dist-info/RECORD", "voice/__init__.py,,\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    entries = (
        SearchEntry(path=str(work), origin="start"),
        SearchEntry(path=str(tmp_path / "none"), origin="standard library"),
        SearchEntry(path=str(users), origin="user site"),
        SearchEntry(path=str(site), origin="site-packages"),
    )
    python, where = Interpreter("/", "/", sys.version_info[:2], sys.executable, None, "lib"), Sysroot(system="linux")
    found = ends_of_programs(ModuleSearch(python, PythonSearch(entries), "x86_64", where), (), where)
    assert [(e.kind, e.name, e.path, e.owner, e.hidden_owner) for e in found] == (
        [("no name", "listen", str(users / "voice.py"), "voice 1.0", "open-voice 2.0")] if told else []
    )
    code = f"import sys; sys.path[:0] = [{str(work)!r}, {str(users)!r}]; sys.path.append({str(site)!r}); import main"
    assert (
        subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False).returncode != 0
    ) == told


@pytest.mark.parametrize(("place", "told"), [("site", True), ("work", False)])
def test_zeros_in_an_installed_module_that_a_program_imports(tmp_path: Path, place: str, told: bool):
    work, site = tmp_path / "work", tmp_path / "site"
    for name, content in {
        "kit/__init__.py": b"from kit import parts\n",
        "kit/parts.py": b"x = 1\n" + bytes(40),
    }.items():
        (tmp_path / place / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place / name).write_bytes(content)
    work.mkdir(exist_ok=True)
    site.mkdir(exist_ok=True)
    (work / "main.py").write_text("import kit\n")
    entries = (
        SearchEntry(path=str(work), origin="start"),
        SearchEntry(path=str(tmp_path / "none"), origin="standard library"),
        SearchEntry(path=str(site), origin="site-packages"),
    )
    python = Interpreter("/", "/", sys.version_info[:2], sys.executable, None, "lib")
    where = Sysroot(system="linux")
    mine = (Distribution(name="kit", version="1", location=str(site)),) if told else ()
    found = ends_of_programs(ModuleSearch(python, PythonSearch(entries), "x86_64", where), mine, where)
    assert [(e.kind, e.path, e.owner) for e in found] == (
        [("damaged", f"{site}/kit/parts.py", "kit 1")] if told else []
    )
    code = f"import sys; sys.path[:0] = [{str(work)!r}]; sys.path.append({str(site)!r}); import main"
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False)
    assert b"null bytes" in done.stderr


def test_an_expression_that_is_too_deep_takes_no_other_program_along(tmp_path: Path):
    """Python's parser takes a sum of 1500 terms, each of which is nested one deeper."""
    deep = f"import clip\nx = {' + '.join(['clip.copy()'] * 1500)}\n"
    lay_out(
        tmp_path,
        {"deep.py": deep, "main.py": "from clip import load\n"},
        {"clip/__init__.py": "def copy():\n    pass\n"},
    )
    found = ends_in(tmp_path)
    assert [(e.wanted, e.name) for e in found] == [("clip", "load")]


KIT = {"kit/__init__.py": "", "kit/llama.py": "class Attention:\n    pass\n"}
ASKS = "from kit.llama import Attention, Faster\nfrom .configuration import Settings\n"
LOADS = "from kit import llama\nAutoModel.from_pretrained({!r}, trust_remote_code=True)\n"
MODELS: dict[str, tuple[str, str, bool]] = {
    "code for another release": (LOADS.format("model"), ASKS, True),
    "of the hub": (LOADS.format("lab/model"), ASKS, True),
    "by its path": (LOADS.format("./model/"), ASKS, True),
    "code that asks first": (LOADS.format("model"), f"try:\n    {ASKS.splitlines()[0]}\nexcept ImportError:\n    pass\n", False),
    "code that fits": (LOADS.format("model"), "from kit.llama import Attention\n", False),
    "a model that nobody names": (LOADS.format("other"), ASKS, False),
    "code that is not trusted": (LOADS.format("model").replace("True", "False"), ASKS, False),
    "of which the settings alone are read": (LOADS.format("model").replace("AutoModel", "AutoConfig"), ASKS, False),
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_the_code_of_a_model_is_what_a_program_runs(tmp_path: Path, case: str):
    program, code, ends = MODELS[case]
    found, model = _of_model(tmp_path, program, code)
    assert [(e.wanted, e.name, e.starts) for e in found] == (
        [("kit.llama", "Faster", (str(model / "modeling.py"),))] if ends else []
    )


@pytest.mark.parametrize("beside", [False, True])
def test_a_package_that_the_code_of_a_model_lacks_is_no_matter_of_the_models_other_files(tmp_path: Path, beside: bool):
    lacks = "from kit import llama\nfrom einops import rearrange\n"
    model = tmp_path / "work/model"
    model.mkdir(parents=True)
    (model / "parts.py").write_text(lacks)
    settings = LOADS.format("model").replace("AutoModel.", "AutoConfig;AutoModel.")
    found, _model = _of_model(tmp_path, settings, "from .parts import fold\n" if beside else lacks)
    starts = (str(model / ("parts.py" if beside else "modeling.py")),)
    assert [(e.wanted, e.starts, e.others_find_theirs) for e in found] == [("einops", starts, False)]


def _of_model(tmp_path: Path, program: str, code: str) -> tuple[tuple[EndedImport, ...], Path]:
    work, site, hub = tmp_path / "work", tmp_path / "site", tmp_path / "hub"
    model = hub / "models--lab--model/snapshots/0123abcd" if "lab/" in program else work / "model"
    told = {
        "auto_map": {"AutoConfig": "configuration.Settings", "AutoModel": "modeling.Model", "AutoTokenizer": [None]}
    }
    own = {
        "config.json": json.dumps(told),
        "configuration.py": "from kit import llama\n\nclass Settings:\n    pass\n",
        "modeling.py": code,
    }
    refs = {"models--lab--model/refs/main": "0123abcd"}
    for folder, files in ((work, {"main.py": program}), (site, KIT), (model, own), (hub, refs)):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    entries = (SearchEntry(path=str(work), origin="start"), SearchEntry(path=str(site), origin="site-packages"))
    python = Interpreter("/", "/", sys.version_info[:2], sys.executable, None, "lib")
    where = Sysroot(system="linux")
    search = ModuleSearch(python, PythonSearch(entries), "x86_64", where)
    return ends_of_programs(search, (), where, hub=str(hub)), model


@pytest.mark.parametrize(("most", "told"), [(-1.0, [True]), (1e6, [])])
def test_programs_that_time_ran_out_for_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: float, told: list[bool]
):
    monkeypatch.setattr("core.probes.python.programs.followed_programs.MOST_SECONDS", most)
    lay_out(tmp_path, {"main.py": "import kit\n"}, {"kit/__init__.py": ""})
    entries = (
        SearchEntry(path=str(tmp_path / "work"), origin="start"),
        SearchEntry(path=str(tmp_path / "site"), origin="site-packages"),
    )
    where, late = Sysroot(system="linux"), list[float]()
    python = Interpreter("/", "/", sys.version_info[:2], sys.executable, None, "lib")
    ends_of_programs(ModuleSearch(python, PythonSearch(entries), "x86_64", where), (), where, late=late.append)
    assert [seconds > 0 for seconds in late] == told


CHECKS = (
    "from google.protobuf import runtime_version as _runtime_version\n"
    "_runtime_version.ValidateProtobufRuntimeVersion(\n    _runtime_version.Domain.PUBLIC, 6, 31, 1, '', 'row.proto'\n)\n"
)
VALIDATES = (
    "class Domain:\n    PUBLIC = 1\n\n\ndef ValidateProtobufRuntimeVersion(_domain, *release):\n"
    "    if release[:3] > tuple(map(int, '{release}'.split('.'))):\n        raise RuntimeError('gencode is newer')\n"
)


@pytest.mark.parametrize(("release", "told"), [("5.29.3", True), ("6.31.1", False)])
@pytest.mark.parametrize("file", ["row_pb2.py", "__init__.py"])
def test_a_program_that_comes_to_code_of_a_newer_protobuf(tmp_path: Path, release: str, told: bool, file: str):
    installed = {
        "google/protobuf/__init__.py": "",
        "google/protobuf/runtime_version.py": VALIDATES.format(release=release),
        f"protobuf-{release}.dist-info/METADATA": f"Name: protobuf\nVersion: {release}\n",
        "board/__init__.py": "from board import row_pb2\n",
        "board-1.0.dist-info/METADATA": "Name: board\nVersion: 1.0\n",
    }
    lay_out(tmp_path, {"main.py": "import board\n"}, installed | {f"board/{file}": CHECKS})
    mine = Distribution(name="board", version="1.0", location=str(tmp_path / "site"))
    found = [(e.kind, e.wanted, e.importer) for e in ends_in(tmp_path, mine)]
    assert found == ([("refused", "google.protobuf", str(tmp_path / "site" / "board" / file))] if told else [])
    assert python_fails(tmp_path) == told


@pytest.mark.parametrize(
    ("text", "package", "told"),
    [
        (
            "jobs = []\n",
            "import queue\n\n\nclass Pool:\n    kind = queue.LifoQueue\n",
            [("no name", "queue", "LifoQueue")],
        ),
        ("jobs = []\n", "import queue\n\n\nclass Pool:\n    def kind(self):\n        return queue.LifoQueue\n", []),
        ("LifoQueue = list\n", "import queue\n\n\nclass Pool:\n    kind = queue.LifoQueue\n", []),
    ],
)
def test_what_a_package_takes_of_a_module_of_pythons_that_a_program_hides(
    tmp_path: Path, text: str, package: str, told: list[tuple[str, str, str]]
):
    installed = {"fetch/__init__.py": "import pools\n", "pools/__init__.py": package}
    lay_out(tmp_path, {"main.py": "import fetch\n", "queue.py": text}, installed)
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "queue.py").write_text("class LifoQueue: ...\n")
    found = ends_in(tmp_path, suspects=Suspects(hidden=("queue",)))
    assert [(e.kind, e.wanted, e.name) for e in found] == told
    assert python_fails(tmp_path) == bool(told)


MAKES = "import sys\nimport types\n\nfilters = types.ModuleType('pics.filters')\nfilters.guided = len\nsys.modules['pics.filters'] = filters\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [({"core.py": MAKES}, False), ({"core.py": ""}, True), ({"core.py": "", "core.abi3.so": ""}, False)],
)
def test_a_folder_of_stubs_whose_module_other_code_makes(tmp_path: Path, files: dict[str, str], told: bool):
    installed = {"pics/__init__.py": "from .core import *\n", "pics/filters/__init__.pyi": "def guided(x): ...\n"}
    its = installed | {f"pics/{name}": text for name, text in files.items()}
    lay_out(tmp_path, {"main.py": "import pics\nfrom pics.filters import guided\n"}, its)
    assert [(e.wanted, e.name) for e in ends_in(tmp_path)] == ([("pics.filters", "guided")] if told else [])
    assert python_fails(tmp_path) == told or "core.abi3.so" in files


PAGE = "import sys\nclass Manager:\n    @classmethod\n    def page(cls):\n        try:\n            import page_of_ui\n            return 'page'\n        except ImportError:\n            print('install requirements.txt')\n            {ends}\n"
"""What ComfyUI's app/frontend_management.py does."""


@pytest.mark.parametrize(
    ("required", "ends", "place", "told"),
    [
        ("kit\npage-of-ui==1.14.5  # since 2025\n", "sys.exit(-1)", "work/env", True),
        ("page_of_ui\n", "raise", "work/env", True),
        ("kit\n", "sys.exit(-1)", "work/env", False),  # nobody says that it belongs here
        ("page-of-ui\n", "sys.exit(-1)", "env", False),  # the program may be meant for another environment
        ("page-of-ui\n", "return 'none'", "work/env", False),
        ('page-of-ui; sys_platform == "none"\n', "sys.exit(-1)", "work/env", False),
    ],
)
def test_a_package_of_the_project_s_own_list(tmp_path: Path, required: str, ends: str, place: str, told: bool):
    """The program lies below the folder whose script starts it; a package that its list names was not installed with its newer source."""
    site = tmp_path / place / "site-packages"
    for path, text in {
        "work/run.sh": "./env/bin/python ui/main.py\n",
        "work/ui/main.py": "import kit\nfrom app.pages import Manager\nroot = Manager.page()\n",
        "work/ui/app/__init__.py": "",
        "work/ui/app/pages.py": PAGE.format(ends=ends),
        "work/ui/requirements.txt": required,
        f"{place}/site-packages/kit/__init__.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    entries = (
        SearchEntry(path=str(tmp_path / "work"), origin="start"),
        SearchEntry(path=str(site), origin="site-packages"),
    )
    python, where = Interpreter("/", "/", sys.version_info[:2], sys.executable, None, "lib"), Sysroot(system="linux")
    found = ends_of_programs(ModuleSearch(python, PythonSearch(entries), "x86_64", where), (), where)
    assert [(e.kind, e.wanted) for e in found] == [("absent", "page_of_ui")] * told
    code = f"import sys; sys.path[:0] = [{str(tmp_path / 'work/ui')!r}]; sys.path.append({str(site)!r}); import main"
    done = subprocess.run([sys.executable, "-I", "-B", "-c", code], capture_output=True, check=False)
    assert bool(done.returncode) is not ends.startswith("return")


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("from codes import reader\n", [("libcodes.so.1", "codes 1.0", ["main"])]),
        ("import codes\n", []),
        ("import codes\n\n\ndef read():\n    from codes import reader\n", []),
    ],
)
def test_a_library_that_a_part_of_a_package_opens(program: str, told: object, tmp_path: Path) -> None:
    """The part that opens it is not imported by the package itself, so that only the program tells."""
    opens = "import ctypes\nimport pathlib\n\nctypes.CDLL(str(pathlib.Path(__file__).with_name('libcodes.so')))\n"
    lay_out(tmp_path, {"main.py": program}, {"codes/__init__.py": "", "codes/reader.py": opens})
    (tmp_path / "site/codes/libcodes.so").write_bytes(b"")
    edge = Edge(name="libcodes.so.1", wanted_by="libcodes.so", state="absent")
    site = str(tmp_path / "site")
    unfit = UnfitExtension(f"{site}/codes/libcodes.so", "codes 1.0", site, edge, is_library=True)
    ends = ends_in(tmp_path, suspects=Suspects(unfit=(unfit,)))
    assert [
        (e.edge.name if e.edge else "", e.owner, [Path(s).stem for s in e.starts]) for e in ends if e.kind == "unfit"
    ] == told
    assert python_fails(tmp_path) == bool(told)


@pytest.mark.parametrize("system", ["linux", "windows"])
@pytest.mark.parametrize(
    ("program", "package", "told"),
    [
        ("import serving\n", "import resource\n", ("resource", "")),
        ("import serving\n", "import signal\n\n\ndef stop(how=signal.SIGKILL):\n    pass\n", ("signal", "SIGKILL")),
        ("import serving\n", "from os import geteuid\n", ("os", "geteuid")),
        ("import serving\n", "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None\n", None),
        ("import serving\n", "import os\n\nif os.name == 'posix':\n    import pwd\n", None),
        ("import serving\n", "import sys\n\nif sys.platform != 'win32':\n    import resource\n", None),
        ("import serving\n", "import signal\n\n\ndef stop():\n    signal.alarm(3)\n", None),
        ("import serving\n", "import signal\n\nHOW = getattr(signal, 'SIGKILL', 9)\n", None),
        ("import resource\nimport serving\n", "", None),
    ],
)
def test_names_that_python_does_not_have_on_windows(
    system: str, program: str, package: str, told: object, tmp_path: Path
) -> None:
    r"""The package is for Linux. A program that asks itself for such a module is not told: it may be a server's."""
    drive = tmp_path if system == "linux" else tmp_path / "C:"
    lay_out(drive, {"main.py": program}, {"serving/__init__.py": package})
    top = "" if system == "linux" else "C:"
    where = Sysroot(system=system, root=str(tmp_path))
    entries = tuple(
        SearchEntry(path=where.join(f"{top}{where.path_module.sep}", folder), origin=origin)
        for folder, origin in (("work", "start"), ("none", "standard library"), ("site", "site-packages"))
    )
    python = Interpreter(top + where.path_module.sep, "/", sys.version_info[:2], sys.executable, None, "lib")
    search = ModuleSearch(python, PythonSearch(entries), "x86_64", where)
    ends = [(e.wanted, e.name) for e in ends_of_programs(search, (), where)]
    assert ends == ([told] if told and system == "windows" else [])


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("'seen' not in st.session_state", True),
        ("st.button('again')", True),
        ("hasattr(st, 'again') and st.button('again')", False),
        ("st.__version__ < later()", False),
        ("later()", False),
    ],
)
def test_what_somebody_does_at_a_page_is_done_sooner_or_later(condition: str, told: bool, tmp_path: Path):
    page = f"import streamlit as st\nfrom other import later\nif {condition}:\n    st.experimental_again()\n"
    lay_out(
        tmp_path,
        {"main.py": page},
        {
            "streamlit/__init__.py": "session_state = {}\ndef button(name): pass\n__version__ = '1.40'\n",
            "other.py": "import os\ndef later(): return os.environ['X']\n",
        },
    )
    assert [(e.wanted, e.name) for e in ends_in(tmp_path)] == ([("streamlit", "experimental_again")] if told else [])
