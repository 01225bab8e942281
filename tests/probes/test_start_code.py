"""What start-up code sets is read from its text: constants at the top level, and nothing that runs only sometimes."""

from __future__ import annotations

import pytest

from core.probes.python.start_code import variables_set

HIDE = ("CUDA_VISIBLE_DEVICES", "-1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os; os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", (HIDE,)),
        ("import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')\n", (HIDE,)),
        ("import os\nos.putenv('CUDA_VISIBLE_DEVICES', '-1')", (HIDE,)),
        ("from os import environ\nenviron['A'] = 'b'", (("A", "b"),)),
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
