"""What code does with variables: the real Python, run on the same code, is the measure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.probes.sysroot import Sysroot
from core.probes.variables.following.module_run import Ending, ModuleRun
from core.probes.variables.following.values import Around

HEAD = "import ast, enum, json, os, pathlib, re, shutil, subprocess, sys\nfrom urllib.parse import urlparse\n"
MORE = "import os\n"
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "a number": ("N = int(os.environ.get('X', '1'))", {"X": "2s"}),
    "a number that is right": ("N = int(os.environ.get('X', '1'))", {"X": " 2 "}),
    "a number, absent": ("N = int(os.environ.get('X', '1'))", {}),
    "a number without a default": ("N = int(os.environ['X'])", {}),
    "caught": ("try:\n    N = int(os.environ['X'])\nexcept ValueError:\n    N = 0", {"X": "y"}),
    "caught as another": ("try:\n    N = int(os.environ['X'])\nexcept KeyError:\n    N = 0", {"X": "y"}),
    "caught and raised again": ("try:\n    N = int(os.environ['X'])\nexcept ValueError as e:\n    raise RuntimeError(f'bad {os.environ[\"X\"]}') from e", {"X": "y"}),
    "words": ("if os.environ.get('X', 'a').lower() not in ('a', 'b'):\n    raise ValueError('no')", {"X": "C"}),
    "words, right": ("if os.environ.get('X', 'a').lower() not in ('a', 'b'):\n    raise ValueError('no')", {"X": "B"}),
    "two variables": ("a = os.environ.get('X')\nif not a:\n    os.environ['X'] = 'egl'\nelif a.lower() != 'egl':\n    raise ImportError(f'X is {a}')", {"X": "osmesa"}),
    "two variables, absent": ("a = os.environ.get('X')\nif not a:\n    os.environ['X'] = 'egl'\nassert os.environ['X'] == 'egl'", {}),
    "a match": ("match os.environ.get('X'):\n    case 'a' | 'b':\n        pass\n    case None:\n        pass\n    case _:\n        raise SystemError('x')", {"X": "c"}),
    "a match, right": ("match os.environ.get('X'):\n    case 'a' | 'b':\n        pass\n    case _:\n        raise SystemError('x')", {"X": "b"}),
    "a table": ("T = {'a': 1, 'b': 2}\nN = T[os.getenv('X', 'a')]", {"X": "c"}),
    "an enumeration": ("class M(enum.Enum):\n    A = 'a'\n    B = 'b'\nN = M(os.getenv('X', 'a'))", {"X": "c"}),
    "an enumeration, right": ("class M(str, enum.Enum):\n    A = 'a'\n    B = 'b'\nN = M(os.getenv('X', 'a'))", {"X": "b"}),
    "a member by its name": ("class M(enum.Enum):\n    A = 1\n    B = 2\nN = M[os.getenv('X', 'A').upper()]", {"X": "c"}),
    "JSON": ("N = json.loads(os.environ['X'])", {"X": "{a}"}),
    "a part": ("host, port = os.environ['X'].split(':')\nN = int(port)", {"X": "here"}),
    "a part that is no number": ("N = int(os.environ['X'].split(':')[1])", {"X": "here:there"}),
    "a part that lacks": ("N = os.environ['X'].split('=')[1]", {"X": "a"}),
    "a list": ("N = [int(n) for n in os.environ['X'].split(',')]", {"X": "0;1"}),
    "a list, right": ("N = [int(n) for n in os.environ['X'].split(',') if n]", {"X": "0,1,"}),
    "a loop": ("for n in os.environ['X'].split(','):\n    if not n.isdigit():\n        raise ValueError(n)", {"X": "0,a"}),
    "a loop that goes on": ("for n in os.environ['X'].split(','):\n    if not n.isdigit():\n        continue\n    int(n)", {"X": "0,a"}),
    "a helper": ("def num(name, default):\n    v = os.environ.get(name)\n    return default if v is None else float(v)\nN = num('X', 1.0)", {"X": "1,5"}),
    "a helper with a default": ("def num(name, default=None):\n    v = os.environ.get(name, default)\n    return int(v)\nN = num('Y', '3')", {"X": "1,5"}),
    "a file": ("if not os.path.isfile(os.environ.get('X', '/')):\n    raise FileNotFoundError(os.environ['X'])", {"X": "/none/of/it"}),
    "a file of a path": ("p = pathlib.Path(os.environ['X']) / 'b'\nif not p.exists():\n    raise OSError('x')", {"X": "/none"}),
    "a file that is opened": ("with open(os.environ['X']) as f:\n    T = f.read()", {"X": "/none/of/it"}),
    "a folder that is there": ("if not os.path.isdir(os.environ['X']):\n    raise OSError('x')", {"X": "/usr"}),
    "a program": ("if shutil.which(os.environ.get('X', 'sh')) is None:\n    raise RuntimeError('x')", {"X": "no-such-program"}),
    "a program that is run": ("subprocess.run([os.environ['X'], '--version'], capture_output=True)", {"X": "/opt/none/git"}),
    "a program that is run, there": ("subprocess.run([os.environ['X'], '-c', ''], capture_output=True)", {"X": "sh"}),
    "an address": ("u = urlparse(os.environ['X'])\nif u.scheme not in ('http', 'https'):\n    raise ValueError(u.scheme)", {"X": "localhost:5000"}),
    "a pattern": ("if not re.fullmatch(r'\\d+(MB|GB)', os.environ['X']):\n    raise ValueError('x')", {"X": "4 gigs"}),
    "a pattern, right": ("if not re.fullmatch(r'\\d+(MB|GB)', os.environ['X']):\n    raise ValueError('x')", {"X": "4GB"}),
    "a switch of one's own": ("def on(v):\n    if v.lower() in ('1', 'true'):\n        return True\n    if v.lower() in ('0', 'false'):\n        return False\n    raise ValueError(v)\nN = on(os.environ['X'])", {"X": "ja"}),
    "in the environment": ("if 'X' in os.environ and 'Y' in os.environ:\n    raise RuntimeError('both')", {"X": "1", "Y": "2"}),
    "not in the environment": ("if 'X' in os.environ and 'Y' not in os.environ:\n    raise RuntimeError('one')", {"X": "1", "Y": "2"}),
    "a default by or": ("N = int(os.environ.get('X') or 5)", {"X": ""}),
    "a conditional value": ("N = int(os.environ['X']) if 'X' in os.environ else 0", {"X": "a"}),
    "an f-string": ("T = {'lib-a': 1}\nN = T[f\"lib-{os.environ['X']}\"]", {"X": "b"}),
    "an assertion": ("assert os.environ.get('X', 'spawn') in ('spawn', 'subprocess'), 'no'", {"X": "forkserver"}),
    "a range": ("N = float(os.environ['X'])\nif not 0 < N:\n    raise ValueError(N)", {"X": "-1"}),
    "a class of settings": ("class S:\n    n: int = int(os.environ.get('X', 1))", {"X": "many"}),
    "left before": ("def f():\n    if os.environ.get('X') == 'off':\n        return None\n    raise ValueError('x')\nf()", {"X": "off"}),
    "nothing to do with it": ("N = [p for p in os.environ['X'].split(os.pathsep) if p]", {"X": "a:b"}),
    "a folder behind a file": ("os.makedirs(os.environ['X'], exist_ok=True)", {"X": "/etc/passwd/cache"}),
    "a folder that is a file": ("pathlib.Path(os.environ['X']).mkdir(exist_ok=True, parents=True)", {"X": "/etc/passwd"}),
    "a folder that is there already": ("os.makedirs(os.environ['X'], exist_ok=True)", {"X": "/tmp"}),
    "a part of an object": ("import types\nc = types.SimpleNamespace()\nc.d = os.environ['X']\nos.makedirs(c.d)", {"X": "/etc/passwd/cache"}),
    "a system": ("import platform\nW = ('a',)\nif platform.system() == 'Linux':\n    W += ('b',)\nif os.environ['X'] not in W:\n    raise ValueError('x')", {"X": "c"}),
    "set before it is read": ("os.environ.setdefault('X', '1')\nN = int(os.environ['X'])", {}),
    "another writes it": ("os.environ['X'] = '3'\nN = int(os.environ['X'])", {"X": "a"}),
    "ended by itself": ("if os.environ.get('X'):\n    sys.exit(0)\nraise ValueError('x')", {"X": "1"}),
}  # fmt: skip


def followed(code: str, env: dict[str, str]) -> Ending | None:
    return ModuleRun("one", code, Around(env, Sysroot("linux"), "/")).whole()


@pytest.mark.parametrize(("code", "env"), CASES.values(), ids=CASES)
def test_it_ends_where_the_real_python_ends(code: str, env: dict[str, str], tmp_path: Path):
    given = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), **env}
    file = tmp_path / "one.py"
    file.write_text(HEAD + code)
    real = subprocess.run([sys.executable, "-I", file], env=given, capture_output=True, text=True, check=False, cwd="/")
    found = followed(HEAD + code, given)
    lines = real.stderr.strip().splitlines()
    kind = lines[-1].partition(":")[0].rpartition(".")[2] if real.returncode else None
    assert (found.kind.replace("JSONDecodeError", "JSONDecodeError") if found else None) == kind, real.stderr
    if found is not None:
        assert f"line {found.line}" in real.stderr


OPEN = {
    "an unknown condition": "import x\nif x.y:\n    raise ValueError(os.environ['X'])",
    "an unknown way out": "import x\ndef f():\n    if x.y:\n        return\n    raise ValueError('x')\nf()",
    "an unknown import may be caught": "try:\n    import x\nexcept ImportError:\n    x = None\nif x is None:\n    raise ValueError('x')",
    "an unknown decorator": "import x\n@x.y\ndef f():\n    raise ValueError('x')\nf()",
    "an unknown context": "import contextlib\nwith contextlib.suppress(ValueError):\n    int(os.environ['X'])",
    "an unknown context of another word": "import x\nwith x.ignored(ValueError):\n    int(os.environ['X'])",
    "an unknown change under another name": "import x\nfrom os import environ\nif x.y:\n    environ.update(X='1')\nint(os.environ['X'])",
    "an unknown loop": "import x\nfor n in x.y:\n    int(os.environ['X'])",
    "an unknown change": "import x\nif x.y:\n    os.environ['X'] = '1'\nint(os.environ['X'])",
    "an unknown value": "import x\nT = {'a': x.y}\nN = int(T['a'])",
    "a list that is changed": "import x\nT = ['a']\nx.y(T)\nT.sort()\nif os.environ['X'] not in T:\n    raise ValueError('x')",
    "a module's own name": "if __name__ == '__main__':\n    raise ValueError('x')",
}


@pytest.mark.parametrize("code", OPEN.values(), ids=OPEN)
def test_what_is_open_ends_nothing(code: str):
    assert followed(MORE + code, {"X": "a"}) is None


LARGE = {
    "a list": "L = [1]\n" + "L = L + L\n" * 14 + "N = len(L)",
    "a list of stars": "L = [1]\n" + "L = [*L, *L]\n" * 14 + "N = len(L)",
    "a list that grows": "L = [1]\n" + "L.extend(L)\n" * 14 + "N = len(L)",
    "lists of lists": "L = [1]\n" + "L = [L, L]\n" * 30 + "N = len(L)",
    "a list in itself": "L = [1]\nL.append(L)\nN = len(L)",
    "a number": "N = 3\n" + "N = N * N\n" * 14,
    "a number as a text": "N = 3\n" + "N = N * N\n" * 14 + "N = f'{N}'",
    "a number that is written so": f"N = str(0x{'f' * 5000})",
    "a rounded number": "N = round(5, -9000) + 1",
    "a text of zeros": "N = 'x'.zfill(9000)",
    "a path": "P = 'x'\n" + "P = os.path.join(P, P)\n" * 14 + "N = len(P)",
    "a path of pathlib's": "import pathlib\nP = pathlib.Path('x')\n"
    + "P = P / 'xxxx'.replace('x', 'x' * 1)\n" * 1500
    + "N = P.name",
}
"""What grows until the memory is full, or no other thread works any more; ``N`` is true, were it known."""


@pytest.mark.parametrize("code", LARGE.values(), ids=LARGE)
def test_what_is_too_large_is_not_known(code: str):
    assert followed(f"{MORE}{code}\nif N:\n    raise ValueError(os.environ['X'])", {"X": "a"}) is None


def test_a_function_that_fails_whenever_it_is_called():
    code = MORE + "def f(a, b=1):\n    return a + int(os.environ['X'])\n\ndef g():\n    return os.environ['Y']\n"
    run = ModuleRun("one", code, Around({"X": "a", "Y": "b"}, Sysroot("linux"), "/"))
    assert run.whole() is None
    assert [(e.function, e.kind, e.line, e.read) for e in run.functions(("X", "Y"))] == [("f", "ValueError", 3, ("X",))]


def test_constants_of_another_module():
    texts = {
        "a.names": "NAME = 'X'\nWORDS = ('p', 'q')\n",
        "a": "from .names import NAME, WORDS\nimport os\nassert os.environ[NAME] in WORDS, f'{NAME}={os.environ[NAME]}'\n",
    }
    run = ModuleRun(
        "a",
        texts["a"],
        Around({"X": "r"}, Sysroot("linux"), "/"),
        lambda name: (texts[name], False) if name in texts else None,
    )
    found = run.whole()
    assert found is not None
    assert (found.kind, found.line, found.says, found.read) == ("AssertionError", 3, "X=r", ("X",))


def test_it_ends_at_last():
    assert (
        followed(
            "import os\nN = 0\nfor a in range(200):\n    for b in range(200):\n        N = N + 1\nint(os.environ['X'])\n",
            {"X": "a"},
        )
        is None
    )
    assert os.environ  # nothing of it is run
