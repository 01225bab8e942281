"""What start-up code sets is read from its text: constants at the top level, and nothing that runs only sometimes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from core.probes.driver.libraries import is_driver_stub
from core.probes.python.start_code import libraries_loaded, path_changes, variables_set
from core.probes.sysroot import Sysroot

HIDE = ("CUDA_VISIBLE_DEVICES", "-1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os; os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", (HIDE,)),
        ("import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')\n", (HIDE,)),
        ("import os\nos.putenv('CUDA_VISIBLE_DEVICES', '-1')", (HIDE,)),
        ("from os import environ\nenviron['A'] = 'b'", (("A", "b"),)),
        ("import os as _os\n_os.environ['A'] = 'b'", (("A", "b"),)),
        ("import os\nos.environ.update({'A': 'b', 'CUDA_VISIBLE_DEVICES': '-1'})", (("A", "b"), HIDE)),
        ("import os\nif os.environ.get('X'):\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", ()),
        ("import os\ndef hide():\n    os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", ()),
        ("import os\nos.environ['A'] = str(1)", ()),
        ("import os\nos.environ[name] = '-1'", ()),
        ("import os\nos.environ.update(**{'A': 'b'})", ()),
        ("# os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", ()),
        ("print('environ')", ()),
        ("environ =", ()),
        ("environ\0", ()),
        ("environ" + "(" * 5000, ()),
        ("", ()),
    ],
)
def test_what_start_code_sets(text: str, expected: tuple[tuple[str, str], ...]):
    assert variables_set(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import ctypes; ctypes.CDLL('/opt/stubs/libcuda.so', ctypes.RTLD_GLOBAL)", ("/opt/stubs/libcuda.so",)),
        ("from ctypes import CDLL\nlibrary = CDLL('/opt/libcuda.so')", ("/opt/libcuda.so",)),
        ("import ctypes\nctypes.cdll.LoadLibrary('/opt/libcuda.so')", ("/opt/libcuda.so",)),
        (
            "import ctypes, os\nHERE = os.path.dirname(__file__)\nctypes.CDLL(os.path.join(HERE, 'libcuda.so'))",
            ("/site/libcuda.so",),
        ),
        ("import ctypes\nctypes.CDLL('libcuda.so.1')", ()),
        ("import ctypes\ndef load():\n    ctypes.CDLL('/opt/libcuda.so')", ()),
        ("import ctypes\nctypes.CDLL(path)", ()),
        ("# CDLL('/opt/libcuda.so')", ()),
        ("CDLL(", ()),
        ("", ()),
    ],
)
def test_what_start_code_loads(text: str, expected: tuple[str, ...]):
    assert libraries_loaded(text, "/site/sitecustomize.py") == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("sys.path.append('/a')", ((None, "/a"),)),
        ("sys.path.insert(1, '/a')", ((1, "/a"),)),
        ("sys.path.extend(['/a', '/b'])", ((None, "/a"), (None, "/b"))),
        ("sys.path += '/a', '/b'", ((None, "/a"), (None, "/b"))),
        ("sys.path = ['/a', '/b'] + sys.path", ((0, "/a"), (1, "/b"))),
        ("sys.path[0:0] = ['/a', '/b']", ((0, "/a"), (1, "/b"))),
        ("sys.path[:0] = ['/a']", ((0, "/a"),)),
        ("sys.path[0] = '/a'", ()),
        ("sys.path[:1] = ['/a']", ()),
        ("if '/a' not in sys.path:\n    sys.path.insert(0, '/a')", ((0, "/a"),)),
        ("if sys.argv:\n    sys.path.insert(0, '/a')", ()),
        ("sys.path.extend(['/a', sys.prefix])", ((None, "/a"),)),
    ],
)
def test_what_start_code_puts_on_the_search_path(code: str, expected: tuple[tuple[int | None, str], ...]):
    assert tuple(its[:2] for its in path_changes(f"import sys\n{code}\n", "/site/sitecustomize.py")) == expected
    space = {"sys": SimpleNamespace(path=["/first", "/last"], argv=[], prefix="/usr")}
    exec(code, space)
    left = ["/first", "/last"]
    for at, folder in expected:
        left.insert(len(left) if at is None else at, folder)
    if expected:
        assert left == [folder for folder in space["sys"].path if folder != "/usr"]


def test_a_stub_that_start_code_loads_is_a_fact_of_the_environment(tmp_path: Path):
    stub, real = tmp_path / "stubs" / "libcuda.so", tmp_path / "lib" / "libcuda.so"
    for file in (stub, real):
        file.parent.mkdir()
        file.write_bytes(b"\x7fELF")
    where = Sysroot(system="linux")
    assert [is_driver_stub(str(f), where) for f in (stub, real, tmp_path / "stubs" / "libgone.so")] == [
        True,
        False,
        False,
    ]
