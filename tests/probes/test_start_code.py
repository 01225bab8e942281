"""What start-up code sets is read from its text: constants at the top level, and nothing that runs only sometimes."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.host.startup.state import UNKNOWN
from core.probes.driver.libraries import is_driver_stub
from core.probes.python.search.start_code import libraries_loaded, path_changes, variable_lines, variables_set
from core.probes.python.text.path_expressions import PathNames
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
        ("import os\nHERE = os.path.dirname(__file__)\nos.environ['A'] = os.path.join(HERE, 'b')", (("A", "/site/b"),)),
        ("import os\nos.environ['A'] = ':'.join(['/a', '/b'])", (("A", "/a:/b"),)),
        ("import os\nA = '/a'\nif A:\n    A = '/b'\nos.environ['A'] = A", ()),
        ("import os\nA = 'a'\nos.environ['A'] = f'{A!r}'", ()),
        ("import os\nos.environ['A'] = os.environ.get('B', 'b')", ()),
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
    assert variables_set(text, "/site/sitecustomize.py") == expected


def test_a_value_that_is_too_deep_to_follow_takes_no_other_along():
    """How deep is too deep, the interpreter decides: another test may have raised its limit."""
    text = "import os\nos.environ['A'] = " + " + ".join(["'a'"] * 2000) + "\nos.environ['B'] = 'b'"
    found = dict(variables_set(text, "/site/sitecustomize.py"))
    assert found.pop("B") == "b"
    assert found in ({}, {"A": "a" * 2000})


SET = {
    "added to": "os.environ['A'] = os.environ.get('A', '') + ' --more'",
    "added to what is not set": "os.environ['A'] = os.environ.get('B', '') + ' --more'",
    "of another": "os.environ['C'] = os.environ['A'] + os.pathsep + os.getenv('B', 'none')",
    "after it is set": "os.environ['A'] = 'x'\nos.environ['C'] = os.environ['A'] + 'y'",
    "in places of a form": "os.environ['C'] = '{}/b:{}'.format(os.environ['A'], 'c')",
    "in two steps": "OLD = os.environ['A']\nos.environ.update({'A': 'x', 'C': f'{OLD}:y'})",
}


DOUBLED = {
    "added": "v = v + v",
    "a text with names": "v = f'{v}{v}'",
    "in a form": "v = '{}{}'.format(v, v)",
    "joined": "v = ''.join([v, v])",
    "a path": "v = os.path.join(v, v)",
    "a path of pathlib's": "v = str(Path(v) / v)",
}


@pytest.mark.parametrize("line", DOUBLED.values(), ids=DOUBLED)
def test_a_text_that_doubles_itself_is_not_told(line: str):
    told = variable_lines("v = 'xx'\n" + f"{line}\n" * 24 + "os.environ['C'] = v\n", PathNames("", env={}))
    assert [(name, value) for name, value, _line in told] in ([], [("C", UNKNOWN)])


def test_a_place_that_python_refuses_is_no_change_of_the_search():
    assert path_changes(f"import sys\nsys.path.insert(0x{'f' * 40}, '/x')\n", "/a/sitecustomize.py") == ()


@pytest.mark.parametrize("code", SET.values(), ids=SET)
def test_what_a_program_sets_with_the_variables_that_it_has(code: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "environ", {"A": "a"})
    told = variable_lines(code, PathNames("", env=os.environ.copy()))
    exec(code, {"os": os})
    assert {name: value for name, value, _line in told} == {n: v for n, v in os.environ.items() if (n, v) != ("A", "a")}


@pytest.mark.parametrize(
    "before",
    [
        "os.environ['A'] = made()",
        "if made():\n    os.environ['A'] = 'b'",
        "load_dotenv()",
    ],
)
def test_a_variable_that_may_have_changed_tells_nothing(before: str):
    assert variable_lines(f"{before}\nos.environ['C'] = os.environ['A']", PathNames("", env={"A": "a"})) == ()


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
