"""What a module's text says is found by plain searches: these find what the patterns do that they stand for."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from core.probes.python.text import module_text as m

ODD = (
    "",
    "import a",
    "from a import b\n",
    '"""A docstring.\n\nimport inside\n"""\nimport a, b as c\nfrom . import (\n    d,\n    e,\n)\nfrom .f import g  # why\n',
    "import a\r\nfrom b import c\r\n    import d\r\nfrom.e import f\r\n",
    "from a import (\nimport\n)\nimport b\n",
    "importlib.x()\nfrom_ = 1\nimport\ta\n",
    "if version < 3:\n    raise ImportError\nif True:\n    pass\n",
    "if __version__ < '3':\r\n\traise ImportError\r\n",
    "import sys\nsys.modules[__name__] = 1\n",
    "x = name in sys.modules\nif 'a' in sys.modules:\n    pass\n",
    "handed(sys.modules)\nsys.modules.setdefault('a', b)\n",
    "class A(b.C):\n    pass\n@d.e\ndef f(): pass\ng = h.i\nclass J(k): pass\nclassy.x = 1\n",
)


def _texts() -> Iterator[str]:
    yield from ODD
    for path in islice(sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")), 120):
        yield path.read_text("utf-8")


@pytest.mark.parametrize("behind", [False, True])
def test_plain_searches_find_what_the_patterns_find(behind: bool) -> None:
    """Imports, definitions, guards and entries of sys.modules; from the text's beginning and from behind its docstring."""
    for text in _texts():
        start = m.behind_docstring(text) if behind else 0
        assert [x.span() for x in m.imports_at_the_margin(text, start)] == [
            x.span() for x in m.IMPORT.finditer(text, start)
        ]
        every = list(m.taken_at_the_margin(text, start, definitions=False))
        assert list(m.taken_at_the_margin(text, start, definitions=True)) == [one for one in every if one[1]]
        assert m.has_guard(text) == bool(m.GUARD.search(text))
        assert m.fills_modules(text) == bool(m.FILLS_MODULES.search(text))


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("def a(): pass", True),
        ("class a:\n", True),
        ("class a(b):\n", True),
        ("import b as a\n", True),
        ("import b as a, c\n", True),
        ("x\na = 1", True),
        ("x\na: int", True),
        ("from . import a\n", False),
        ("aa = 1\nb.a = 1", False),
    ],
)
def test_what_binds_a_name(text: str, binds: bool) -> None:
    """A definition, an assignment or another import's name."""
    assert m.binds_name(text, "a") is binds


def test_a_licence_in_lines_of_windows_is_passed_over_once() -> None:
    """Two ways to read the end of each line were two to the power of their number."""
    licence = "# a line\r\n" * 60
    assert m.behind_docstring(f"{licence}import os\r\n") == 0
    assert m.behind_docstring(f'{licence}"""Words."""\r\n') == len(licence) + 3 + len("Words.")
