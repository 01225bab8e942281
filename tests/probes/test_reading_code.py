"""What a module's code takes of variables, beside what Python itself does with the same module and the same values."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from core.probes.variables.accepted_values import takes_value
from core.probes.variables.code_needs import account_asked, cached_function, variables_of
from core.probes.variables.reading_code import values_read

HEAD = "import enum, json, logging, os\nfrom os import environ, getenv\n"
CASES: dict[str, tuple[str, Mapping[str, bool]]] = {
    "converted": ("a = int(os.environ.get('X_A', 3))", {"4": True, " 4 ": True, "1_000": True, "four": False, "4.0": False}),
    "by index": ("if 'X_A' in environ:\n    a = float(environ['X_A'])", {"1e-3": True, "inf": True, "10GB": False}),
    "or a default": ("a = int(getenv('X_A') or 3)", {"": True, "7": True, "auto": False}),
    "by a name": ("raw = os.getenv('X_A')\nif raw is not None:\n    size = int(raw.strip())", {"7": True, "7s": False}),
    "by a name for its name": ("NAME = 'X_A'\na = int(os.environ.get(NAME, '1'))", {"7": True, "x": False}),
    "by an expression in a condition": ("if (raw := os.getenv('X_A')):\n    a = int(raw)", {"7": True, "x": False}),
    "by a function": (
        "def number(name, default):\n    return int(os.environ.get(name, default))\na = number('X_A', 3)",
        {"7": True, "many": False},
    ),
    "by a function of a value": (
        ("def as_number(value):\n    if value is None:\n        return None\n    return float(value)\n"
        "a = as_number(os.environ.get('X_A'))"),
        {"7": True, "many": False},
    ),
    "by a function that knows more": (
        ("def size(name):\n    raw = os.environ.get(name, '1')\n    if raw == 'auto':\n        return 0\n    return int(raw)\n"
        "a = size('X_A')"),
        {"7": True, "auto": True, "few": False},
    ),
    "by a function of another module": (
        "get_env = getattr(os, 'getenv')\na = int(get_env('X_A', '1'))",
        {"7": True, "many": False},
    ),
    "a list": (
        "KINDS = ('on', 'off')\nkind = os.environ.get('X_A', 'on').lower()\nif kind not in KINDS:\n    raise ValueError(kind)",
        {"ON": True, "off": True, "maybe": False},
    ),
    "a raise for the rest": (
        "raw = os.environ.get('X_A', 'no').lower()\nif raw == 'no':\n    a = 0\nelif raw in ('yes', 'y'):\n    a = 1\nelse:\n    raise ValueError(raw)",
        {"no": True, "Y": True, "maybe": False},
    ),
    "a raise for the rest of another question": (
        "raw, size = os.environ.get('X_A', 'no'), 3\nif size > 2:\n    a = 0\nelif raw == 'yes':\n    a = 1\nelse:\n    raise ValueError(raw)",
        {"maybe": True},
    ),
    "asserted": ("assert os.environ.get('X_A', 'a') in {'a', 'b'}", {"b": True, "B": False}),
    "an enumeration": (
        "class Kind(str, enum.Enum):\n    A = 'a'\n    B = 'b'\nkind = Kind(os.environ.get('X_A', 'a'))",
        {"b": True, "B": False},
    ),
    "an enumeration's name": (
        "class Kind(enum.Enum):\n    A = 1\n    B = 2\nkind = Kind[os.environ.get('X_A', 'A').upper()]",
        {"b": True, "c": False},
    ),
    "a table": ("TABLE = {'fast': 1, 'slow': 2}\nkind = TABLE[os.environ.get('X_A', 'fast')]", {"slow": True, "medium": False}),
    "a table that is asked first": (
        "TABLE = {'fast': 1}\nraw = os.environ.get('X_A', 'fast')\nkind = TABLE[raw] if raw in TABLE else 0",
        {"slow": True},
    ),
    "a level": ("logging.getLogger().setLevel(os.environ.get('X_A', 'INFO').upper())", {"debug": True, "loud": False}),
    "JSON": ("config = json.loads(os.environ.get('X_A', '{}'))", {'{"a": 1}': True, "{'a': 1}": False}),
    "caught": ("try:\n    a = int(os.environ['X_A'])\nexcept (KeyError, ValueError):\n    a = 1", {"x": True}),
    "caught in a function": (
        ("def number(name):\n    try:\n        return int(os.environ[name])\n    except ValueError:\n        return 0\n"
        "a = number('X_A')"),
        {"x": True},
    ),
    "caught and told": (
        "try:\n    a = int(os.environ.get('X_A', 1))\nexcept ValueError as e:\n    raise RuntimeError('no number') from e",
        {"1": True, "x": False},
    ),
    "asked first": ("raw = os.environ.get('X_A', '')\na = int(raw) if raw.isdigit() else 0", {"x": True}),
    "another value is right": (
        "raw = os.environ.get('X_A', 'auto')\nif raw != 'auto':\n    a = int(raw)",
        {"auto": True, "3": True},
    ),
    "to another base": ("a = int(os.environ.get('X_A', '0'), 16)", {"ff": True}),
    "overwritten": ("a = os.environ.get('X_A')\na = '3'\nb = int(a)", {"x": True}),
    "only asked": ("a = os.environ.get('X_A', '') in ('1', 'true')", {"x": True}),
    "a list with an open end": ("MORE = ['a', *os.listdir('/')]\nif os.environ.get('X_A', 'a') not in MORE:\n    pass", {"x": True}),
}  # fmt: skip


MODULES: dict[str, tuple[str, str]] = {
    "a switch of its own": ("FAST_MODE = os.environ.get('X_FAST_MODE')\nif os.environ.get('X_FAST_MODE'):\n    import fast_thing", "fast_thing"),
    "a constant of another module": (
        ("def get():\n    if constants.X_FAST_MODE:\n        if a:\n            warn()\n        else:\n            try:\n                import fast_thing\n"
        "            except ImportError:\n                raise ValueError('x')"),
        "fast_thing",
    ),
    "it goes on without": ("if constants.X_FAST_MODE:\n    try:\n        import fast_thing\n    except ImportError:\n        fast_thing = None", ""),
    "it is caught above": ("try:\n    if constants.X_FAST_MODE:\n        import fast_thing\nexcept Exception:\n    pass", ""),
    "the other branch": ("if constants.X_FAST_MODE:\n    pass\nelse:\n    import slow_thing", ""),
}  # fmt: skip


@pytest.mark.parametrize(("code", "module"), MODULES.values(), ids=MODULES)
def test_what_a_switch_that_is_on_imports(code: str, module: str) -> None:
    found = [v for v in values_read(f"import os\n{code}\n") if v.takes == "module"]
    assert [v.words for v in found if v.variable == "X_FAST_MODE"] == ([(module,)] if module else [])
    assert all(not takes_value(v, "1") and takes_value(v, "0") for v in found)


def test_which_code_asks_for_an_account_whenever_it_is_called() -> None:
    asks = "import getpass\n\ndef folder():\n    name = clean(getpass.getuser())\n    return f'/tmp/{name}'\n"
    assert account_asked(asks) == 4
    assert account_asked(asks.replace("    name", "    if mine():\n        name")) == 0
    assert account_asked(asks.replace("    name = clean(getpass.getuser())", "    try:\n        name = getpass.getuser()\n    except KeyError:\n        name = ''")) == 0  # fmt: skip
    assert variables_of("a = os.environ.get('X_DIR')\nb = environ[\"Y\"]\nc = os.getenv('Z', 'W')") == {
        "X_DIR",
        "Y",
        "Z",
    }


@pytest.mark.parametrize("name", CASES)
def test_the_code_is_read_as_python_runs_it(name: str, tmp_path: Path):
    code, values = CASES[name]
    module = tmp_path / "config.py"
    module.write_text(HEAD + code)
    found = [c for c in values_read(HEAD + code) if c.at_import and c.variable == "X_A"]
    for value, right in values.items():
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(module)],
            env={**os.environ, "X_A": value},
            capture_output=True,
            check=False,
        )
        assert (done.returncode == 0) is right
        assert all(takes_value(c, value) for c in found) is right


@pytest.mark.parametrize(
    "code",
    [
        "def use():\n    return int(os.environ['X_A'])",
        "use = lambda: int(os.environ['X_A'])",
        "if os.name == 'nt':\n    a = int(os.environ['X_A'])",
        "for n in range(0):\n    a = int(os.environ['X_A'])",
        "try:\n    a = 1\nexcept OSError:\n    a = int(os.environ['X_A'])",
    ],
)
def test_what_an_import_does_not_come_to_is_told_as_such(code: str):
    (found,) = values_read(HEAD + code)
    assert (found.variable, found.takes, found.at_import) == ("X_A", "whole number", False)


@pytest.mark.parametrize("text", ["a = (", "\0", "(" * 5000, "int(os.environ['X_A'])\nclass"])
def test_what_cannot_be_parsed_tells_nothing(text: str):
    assert list(values_read(text)) == []


@pytest.mark.parametrize(
    ("code", "line"),
    [("@numba.jit(nopython=True, cache=True)\ndef f(): pass", 1), ("\n@njit(cache=True)\ndef f(): pass", 2), ("@njit(cache=False)\ndef f(): pass", 0),
     ("@lru(cache=True)\ndef f(): pass", 0), ("def g():\n    @njit(cache=True)\n    def f(): pass", 0), ("@njit\ndef f(): pass", 0), ("(", 0)],
)  # fmt: skip
def test_functions_that_are_cached_as_their_module_is_imported(code: str, line: int) -> None:
    assert cached_function(code) == line


@pytest.mark.parametrize(
    ("code", "takes"),
    [("if not os.path.isfile(X):\n    if strict:\n        raise OSError\n    else:\n        raise ValueError", ["file"]),
     ("if not os.path.isfile(X):\n    raise OSError", ["file"]), ("if X and not os.path.isdir(X):\n    raise OSError", ["folder"]),
     ("if not X or not Path(X).exists():\n    raise OSError", ["path"]), ("if not Path(X).is_file():\n    X = None", []),
     ("if Path(X).exists():\n    raise OSError", []), ("if strict and not os.path.isfile(X):\n    raise OSError", []),
     ("try:\n    if not os.path.isfile(X):\n        raise OSError\nexcept OSError:\n    pass", [])],
)  # fmt: skip
def test_paths_whose_absence_ends_in_an_exception(code: str, takes: list[str]) -> None:
    found = [*values_read(f"{HEAD}from pathlib import Path\nX = os.environ.get('X_A')\n{code}\n")]
    assert [v.takes for v in found if v.required] == takes
    assert takes or not found


def test_a_name_that_is_put_together_and_kept_in_an_object():
    code = (
        "import os\nfrom enum import Enum\n\n\nclass Kind(str, Enum):\n    EAGER = 'EAGER'\n    NONE = 'NONE'\n\n\nclass Plugin:\n"
        "    def __post_init__(self):\n        start = 'LAB_'\n        if self.kind is None:\n"
        "            self.kind = os.environ.get(start + 'KIND', 'none')\n        self.kind = Kind(self.kind.upper())\n"
        "        self.size = int(os.environ.get(f'{start}SIZE', 1))\n"
    )
    found = {(v.variable, v.takes, v.words, v.case) for v in values_read(code)}
    assert ("LAB_KIND", "words", ("EAGER", "NONE"), "upper") in found
    assert ("LAB_SIZE", "whole number", (), "") in found
