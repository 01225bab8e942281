"""Names that a release of another package no longer has: told by reading, and borne out by the real import."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from core.probes.python.text.compiled_names import CompiledModules, read_compiled
from core.probes.sysroot import Sysroot
from tests.probes.test_import_closure import Case, ended, plant, really_ends

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")

EXPIRED = """
from .expired import __expired__
__former__ = {n: n.upper() for n, _other in [("float", 1), ("object", 2)]}
for ta in ["float96", "float128"]:
    try:
        globals()[ta] = getattr(__import__("math"), ta)
    except AttributeError:
        pass
def __getattr__(attr):
    import warnings
    if attr == "linalg":
        return 1
    elif attr == "testing":
        return 2
    if attr in __former__:
        raise AttributeError(__former__[attr])
    if attr in __expired__:
        raise AttributeError(f"{attr} was removed: {__expired__[attr]}")
    if attr == "chararray":
        warnings.warn("old")
        return 3
    raise AttributeError("module {!r} has no attribute {!r}".format(__name__, attr))
def __dir__():
    return sorted(globals().keys() | {"linalg"})
"""
NUMERIC = {"numeric/__init__.py": EXPIRED, "numeric/expired.py": "__expired__ = {'sctypes': 'list them'}\n"}


def uses(name: str) -> dict[str, str]:
    return {**NUMERIC, "user/__init__.py": f"import torch\nimport numeric as np\nKINDS = set([np.{name}])\n"}


PASSES = """
def give(name):
    globals()[name] = name
give("first")
{}
"""

FINDER = "import importlib.util, json, sys\n\nclass Old:\n    NAMES = {'parts.old': json}\n    def find_spec(self, name, path=None, target=None):\n        return importlib.util.spec_from_loader(name, self) if name in self.NAMES else None\n    def create_module(self, spec):\n        return json\n    def exec_module(self, module):\n        pass\n\nsys.meta_path.insert(0, Old())\n"
RAISES = "if True:\n    def __getattr__(name):\n        import sys\n        module = sys.modules[__name__]\n        raise AttributeError(f'{module} has no {name}')\n"
SETS = "def show(block, old):\n    block.__dict__.get('inputs')\n    setattr(block, 'editable', vars(old).copy())\n    exec('1', block.__dict__)\n\nclass Block:\n    def __init__(self):\n        self.inputs = 1\n"

KERAS = {
    "tensorflow/__init__.py": "import os\n\n__path__.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'keras', '_tf_keras'))\n",
    **{f"keras/{name}__init__.py": "" for name in ("", "_tf_keras/", "_tf_keras/keras/")},
    "keras/_tf_keras/keras/layers/__init__.py": "class Dense: pass\n",
}

CASES: dict[str, Case] = {
    "a part that TensorFlow's Keras no longer has": ({**KERAS, "user/__init__.py": "from tensorflow.keras.wrappers import Model\n"}, ("absent", "tensorflow.keras.wrappers", "")),
    "a part that it has": ({**KERAS, "user/__init__.py": "from tensorflow.keras.layers import Dense\n"}, None),
    "a part that a finder of its own serves": ({"user/__init__.py": "from parts import old\n", "parts/__init__.py": "from . import finder\n", "parts/finder.py": FINDER}, None),
    "a part that no finder serves": ({"user/__init__.py": "from parts import other\n", "parts/__init__.py": "from . import finder\n", "parts/finder.py": FINDER}, ("no name", "parts", "other")),
    "an attribute for which __getattr__ only asks for its module": (
        {"user/__init__.py": "import parts\nKINDS = set([parts.rerun])\n", "parts/__init__.py": RAISES},
        ("no name", "parts", "rerun"),
    ),
    "a name that a package sets on other objects alone": (
        {"user/__init__.py": "from parts import inputs\n", "parts/__init__.py": "from . import blocks\n", "parts/blocks.py": SETS},
        ("no name", "parts", "inputs"),
    ),
    "a name of a part that the package takes by its own name": (
        {"user/__init__.py": "import torch\nimport parts\nKINDS = set([parts.ops.update])\n", "parts/__init__.py": "from parts import ops as ops\n", "parts/ops.py": "add = 1\n"},
        ("no name", "parts.ops", "update"),
    ),
    "an attribute that expired": (uses("sctypes"), ("no name", "numeric", "sctypes")),
    "an attribute of a table that is made in place": (uses("object"), ("no name", "numeric", "object")),
    "an attribute that nothing spells": (uses("nothing_like_it"), ("no name", "numeric", "nothing_like_it")),
    "an attribute that __getattr__ has": (uses("linalg"), None),
    "an attribute that __getattr__ has behind all tables": (uses("chararray"), None),
    "a name of everything that __all__ leaves out": (
        {"user/__init__.py": "from parts import helper\n", "parts/__init__.py": "from .a import *\n", "parts/a.py": "__all__ = ['kept']\nfrom .b import helper\nkept = 1\n", "parts/b.py": "helper = 1\n"},
        ("no name", "parts", "helper"),
    ),
    "a name of everything that __all__ has": (
        {"user/__init__.py": "from parts import kept\n", "parts/__init__.py": "from .a import *\n", "parts/a.py": "__all__ = ['kept']\nkept = 1\n"},
        None,
    ),
    "a name of everything where __all__ grows": (
        {"user/__init__.py": "from parts import helper\n", "parts/__init__.py": "from .a import *\n", "parts/a.py": "__all__ = ['kept']\n__all__ += ['helper']\nkept = helper = 1\n"},
        None,
    ),
    "a private name that everything leaves out": (
        {"user/__init__.py": "from parts import _helper\n", "parts/__init__.py": "from .a import *\n", "parts/a.py": "_helper = 1\n"},
        ("no name", "parts", "_helper"),
    ),
    "a private name that __all__ has": (
        {"user/__init__.py": "from parts import _helper\n", "parts/__init__.py": "from .a import *\n", "parts/a.py": "__all__ = ['_helper']\n_helper = 1\n"},
        None,
    ),
    "a name that a module sets after it has read it": (
        {"user/__init__.py": "import parts\nold = parts.helper\nsetattr(parts, 'helper', old)\n", "parts/__init__.py": ""},
        ("no name", "parts", "helper"),
    ),
    "a name that a module sets before it reads it": (
        {"user/__init__.py": "import parts\nsetattr(parts, 'helper', 1)\nold = parts.helper\n", "parts/__init__.py": ""},
        None,
    ),
    "a name that another module sets before one reads and sets it": (
        {"user/__init__.py": "from . import a\nimport parts\nold = parts.helper\nsetattr(parts, 'helper', old)\n", "user/a.py": "import parts\nsetattr(parts, 'helper', 1)\n", "parts/__init__.py": ""},
        None,
    ),
    "a name that a loop over words puts into globals()": (
        {"user/__init__.py": "from parts import second\n", "parts/__init__.py": "for name in ('first', 'second'):\n    globals()[name] = name\n"},
        None,
    ),
    "a name that no loop over words puts into globals()": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "for name in ('first', 'second'):\n    globals()[name] = name\n"},
        ("no name", "parts", "third"),
    ),
    "a name that code puts into globals()": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "for name in range(4):\n    globals()['fourth third second first'.split()[name]] = name\n"},
        None,
    ),
    "a name that calls of a function put into globals()": (
        {"user/__init__.py": "from parts import second\n", "parts/__init__.py": PASSES.format("give('second')")},
        None,
    ),
    "a name that no call of a function puts into globals()": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": PASSES.format("give('second')")},
        ("no name", "parts", "third"),
    ),
    "a name that a call puts together for globals()": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": PASSES.format("give('thi' + 'rd')")},
        None,
    ),
    "a name that a function puts into globals() that others call": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": PASSES.format("[each('thi' + 'rd') for each in (give,)]")},
        None,
    ),
    "a name that a text binds which is executed": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "import sys\nif sys.version_info > (3,):\n    exec('third = 1')\n"},
        None,
    ),
    "a name that no text binds which is executed": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "import sys\nif sys.version_info > (3,):\n    exec('second = 1')\n"},
        ("no name", "parts", "third"),
    ),
    "a name that a text may bind which is put together": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "exec('thi' + 'rd = 1')\n"},
        None,
    ),
    "a name that a text may bind which a function executes in its own names": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "def run(text):\n    exec(text)\nrun('second = 1')\n"},
        ("no name", "parts", "third"),
    ),
    "a name that a text may bind which a function executes in names that it is given": (
        {"user/__init__.py": "from parts import third\n", "parts/__init__.py": "import sys\ndef run(text, names):\n    exec(text, names)\nrun('thi' + 'rd = 1', sys._getframe().f_globals)\n"},
        None,
    ),
    "a module that a text only asks sys.modules for": (
        {"user/__init__.py": "from . import a\nimport gone\n", "user/a.py": "import sys\nHAS = 'gone' in sys.modules\n"},
        ("absent", "gone", ""),
    ),
    "a module that another name of sys.modules gets": (
        {"user/__init__.py": "from . import a\nimport gone\n", "user/a.py": "import sys, types\nall_of_them = sys.modules\nall_of_them['gone'] = types\n"},
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_of_a_gone_name_is_what_python_does(tmp_path: Path, case: str):
    files, expected = CASES[case]
    site = plant(tmp_path, {"torch/__init__.py": "", **files})
    told = ended(site, users=("user",))
    assert [(e.kind, e.wanted, e.name) for e in told] == ([expected] if expected else [])
    assert really_ends(site, module="user") == bool(expected)


SOURCE = """
#include <Python.h>
static PyMethodDef methods[] = {{"Kept", (PyCFunction)Py_BuildValue, METH_NOARGS, "like PyGivenUp of old"}, {0}};
static struct PyModuleDef made = {PyModuleDef_HEAD_INIT, "_code", 0, -1, methods};
const char *mangled = "_ZN2py9PyGivenUpE";
PyMODINIT_FUNC PyInit__code(void) { return PyModule_Create(&made); }
"""


@pytest.mark.skipif(not shutil.which("gcc"), reason="builds a module")
@pytest.mark.parametrize(("name", "expected"), [("PyGivenUp", [("no name", "parts", "PyGivenUp")]), ("Kept", [])])
@pytest.mark.parametrize("line", ["from parts import {}\n", "import parts\nclass Mine:\n    x = parts.{}\n"])
def test_a_name_that_no_byte_of_a_compiled_module_spells(
    tmp_path: Path, name: str, line: str, expected: list[tuple[str, str, str]]
):
    inner = {"user/__init__.py": line.format(name), "parts/__init__.py": "from parts._code import *\n"}
    site = plant(tmp_path, {"torch/__init__.py": "", **inner})
    (tmp_path / "code.c").write_text(SOURCE)
    made = site / "parts" / f"_code{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    subprocess.run(["gcc", "-shared", "-fPIC", f"-I{include}", "-o", made, tmp_path / "code.c"], check=True)
    assert [(e.kind, e.wanted, e.name) for e in ended(site, users=("user",))] == expected
    assert really_ends(site, module="user") == bool(expected)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\0PyGivenUp\0", True),
        (b"\0_ZN5arrow2py9PyGivenUpE\0", False),
        (b"\0N5arrow2py9PyGivenUpE\0", False),
        (b"\0write ``PyGivenUp`` instead\0", False),
        (b"pyo3 KeptPyGivenUpOther", True),
        (b"__pyx_vtable__ KeptPyGivenUpOther", True),
        (b"__pyx_vtable__\0__test__\0PyGivenUpOther\0", False),
        (b"", False),
    ],
)
def test_where_compiled_code_may_spell_a_word(data: bytes, expected: bool):
    assert read_compiled(data).spells(b"PyGivenUp") == expected


@pytest.mark.parametrize(
    ("data", "lacks"),
    [
        (b"", True),
        (b"__getattr__\0", False),
        (b"View.MemoryView.array.__getattr__\0x\0__getattr__\0", True),
        (b"View.MemoryView.array.__getattr__\0parts._code.__getattr__\0__getattr__\0", False),
        (b"PyRun_String\0", False),
    ],
)
def test_a_compiled_module_that_may_serve_names_that_it_does_not_spell(tmp_path: Path, data: bytes, lacks: bool):
    path = tmp_path / "_code.so"
    path.write_bytes(b"\0PyModule_Create\0" + data)
    assert CompiledModules(Sysroot(system="linux")).lacks(str(path), "PyGivenUp") is lacks


def test_what_somebody_asked_for_is_followed_though_it_uses_no_framework(tmp_path: Path):
    site = plant(
        tmp_path,
        {
            "torch/__init__.py": "",
            "alone/__init__.py": "import gone\n",
            "asked/__init__.py": "import gone_too\n",
            "needed/__init__.py": "",
            **{f"{n}-1.0.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {n}\nVersion: 1.0\n" for n in ("asked", "needed")},
            "alone-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: alone\nVersion: 1.0\nRequires-Dist: asked\nRequires-Dist: needed\n",
            "asked-1.0.dist-info/REQUESTED": "",
        },
    )  # fmt: skip
    found = [(e.starts, e.wanted) for e in ended(site)]
    assert sorted(found) == [(("alone",), "gone"), (("asked",), "gone_too")]
