"""Which code needs docstrings, by reading, against what Python does with the same text when it leaves them out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.probes.variables import vocabulary
from core.probes.variables.docstrings import uses_of_docstrings
from tests.probes.request import write
from tests.probes.test_contract_places import SITE, asked

DECORATED = "@filled\nclass A:\n    'of {kind}'\n"
CASES: dict[str, tuple[str, bool]] = {
    "the method of one": ("def filled(one):\n    one.__doc__ = one.__doc__.format(kind=1)\n    return one\n" + DECORATED, True),
    "the method of one that a name holds": ("def filled(one):\n    text = one.__doc__\n    lines = text.split()\n    return one\n" + DECORATED, True),
    "one that is added to": ("def filled(one):\n    one.__doc__ += 'more'\n    return one\n" + DECORATED, True),
    "one that is a part": ("def filled(one):\n    one.__doc__ = 'before' + one.__doc__\n    return one\n" + DECORATED, True),
    "one whose margin goes": ("import textwrap\ndef filled(one):\n    one.__doc__ = textwrap.dedent(one.__doc__)\n    return one\n" + DECORATED, True),
    "in a decorator that a function makes": ("def made(**words):\n    def inner(one):\n        one.__doc__ = one.__doc__ % words\n        return one\n    return inner\n@made(a=1)\ndef f():\n    'of'\n", True),
    "at the margin": ("def f():\n    'of'\nf.__doc__ += 'more'\n", True),
    "at the margin, of two": ("class A:\n    'of'\nclass B:\n    'of'\nA.__doc__ = 'more' + B.__doc__\n", True),
    "one that may be absent": ("def filled(one):\n    one.__doc__ = (one.__doc__ or '') + 'more'\n    return one\n" + DECORATED, False),
    "one that is asked for": ("def filled(one):\n    if one.__doc__ is not None:\n        one.__doc__ = one.__doc__.format(kind=1)\n    return one\n" + DECORATED, False),
    "one that is left": ("def filled(one):\n    if one.__doc__ is None:\n        return one\n    one.__doc__ = one.__doc__.format(kind=1)\n    return one\n" + DECORATED, False),
    "one that is tried": ("def filled(one):\n    try:\n        one.__doc__ += 'more'\n    except TypeError:\n        pass\n    return one\n" + DECORATED, False),
    "one that is handed on": ("def filled(one):\n    one.text = one.__doc__\n    return one\n" + DECORATED, False),
    "one in an f-string": ("def filled(one):\n    one.__doc__ = f'{one.__doc__} more'\n    return one\n" + DECORATED, False),
    "of what is written in C": ("text = len.__doc__.split()\n", False),
    "another name that held one": ("def filled(one):\n    text = one.__doc__\n    text = 'x'\n    text.split()\n    return one\n" + DECORATED, False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_is_what_python_does(case: str) -> None:
    text, fails = CASES[case]
    assert bool(list(uses_of_docstrings(text))) == fails
    done = subprocess.run([sys.executable, "-OO", "-c", text], capture_output=True, check=False, timeout=60)
    assert (done.returncode != 0) == fails


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("2", True),
        ("20", True),
        ("1", False),
        ("0", False),
        ("yes", False),
        (" +02", True),
        ("2 ", False),
        ("99999999999", False),
    ],
)
def test_a_package_that_needs_docstrings(tmp_path: Path, value: str, told: bool) -> None:
    write(tmp_path, f"{SITE}/toolbox/doc.py", CASES["the method of one"][0].replace(DECORATED, ""))
    write(tmp_path, f"{SITE}/toolbox/models/a.py", "from toolbox.doc import filled\n" + DECORATED)
    write(tmp_path, f"{SITE}/toolbox-1.0.dist-info/METADATA", "Name: toolbox\nVersion: 1.0\n")
    write(tmp_path, f"{SITE}/toolbox-1.0.dist-info/RECORD", "toolbox/doc.py,,\ntoolbox/models/a.py,,\n")
    rows = vocabulary.look(asked(tmp_path, {"PYTHONOPTIMIZE": value}, "toolbox"))
    assert [(r.reader, r.takes, r.line) for r in rows] == ([("toolbox", "docstrings", 2)] if told else [])


def test_what_another_package_requires_and_a_program_seldom_imports_is_not_told(tmp_path: Path) -> None:
    """As SymPy's physics, which PyTorch never imports."""
    write(tmp_path, f"{SITE}/algebra/physics/vectors.py", CASES["at the margin"][0])
    write(tmp_path, f"{SITE}/algebra-1.0.dist-info/METADATA", "Name: algebra\nVersion: 1.0\n")
    write(tmp_path, f"{SITE}/algebra-1.0.dist-info/RECORD", "algebra/physics/vectors.py,,\n")
    assert not vocabulary.look(asked(tmp_path, {"PYTHONOPTIMIZE": "2"}, "algebra"))


def test_a_decorator_that_another_name_stands_for(tmp_path: Path) -> None:
    made = CASES["in a decorator that a function makes"][0].partition("@")[0]
    write(tmp_path, f"{SITE}/toolbox/io.py", made + "described = made(a=1)\n@described\ndef f():\n    'of'\n")
    write(tmp_path, f"{SITE}/toolbox-1.0.dist-info/METADATA", "Name: toolbox\nVersion: 1.0\n")
    write(tmp_path, f"{SITE}/toolbox-1.0.dist-info/RECORD", "toolbox/io.py,,\n")
    (row,) = vocabulary.look(asked(tmp_path, {"PYTHONOPTIMIZE": "2"}, "toolbox"))
    assert row.reader == "toolbox"
