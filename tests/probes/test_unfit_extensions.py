"""Compiled modules that do not load, where an import comes to them, and what start-up code does: made on a disk of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.probes.python.environment import goes_without_home
from core.probes.python.numpy_headers import numpy_of_module
from core.probes.python.start_code import path_changes
from core.probes.python.sure_imports import at_the_margin, sure_imports
from core.probes.python.unfit_extensions import UnfitExtension
from core.probes.sysroot import Sysroot


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("import a\n", [1]),
        ("try:\n    from . import core\nexcept ImportError:\n    core = None\n", []),
        ("try:\n    from . import core\nexcept ImportError as e:\n    say(e)\n    raise\n", [2]),
        (
            "try:\n    import core\nexcept ImportError:\n    if x:\n        raise\n    else:\n        raise OSError\n",
            [2],
        ),
        ("try:\n    import core\nexcept ImportError:\n    if x:\n        raise\n", []),
        ("try:\n    import core\nexcept KeyError:\n    pass\n", [2]),
        ("try:\n    pass\nfinally:\n    import core\n", [4]),
        ("if x:\n    import a\n", []),
        ("def f():\n    import a\n", []),
        ("with x:\n    import a\n", [2]),
    ],
)
def test_an_import_is_sure_where_its_failure_ends_the_module(text: str, lines: list[int]) -> None:
    assert list(sure_imports(text) or ()) == lines
    bare = at_the_margin(text).split("\n")
    assert all(bare[n - 1].startswith(("import", "from")) for n in lines)


def test_text_that_is_no_python_has_no_sure_import() -> None:
    assert sure_imports("import (") is None
    assert at_the_margin("import (") == "import ("


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("import sys\nsys.path.insert(0, '/vendor')\n", ((0, "/vendor", 2),)),
        ("import sys\nsys.path.append('/late')\n", ((None, "/late", 2),)),
        (
            "import os, sys\nhere = os.path.dirname(os.path.abspath(__file__))\nsys.path.insert(0, os.path.join(here, 'v'))\n",
            ((0, "/agent/v", 3),),
        ),
        ("import sys\nfrom pathlib import Path\nsys.path.insert(0, str(Path(__file__).parent / 'v'))\n", ((0, "/agent/v", 3),)),
        ("import sys\np = '/x'\nif p not in sys.path:\n    sys.path.insert(0, p)\n", ((0, "/x", 4),)),
        ("import sys\nif maybe():\n    sys.path.insert(0, '/x')\n", ()),
        ("import sys\nsys.path.insert(0, where())\n", ()),
        ("import os\nos.environ['A'] = '1'\n", ()),
    ],
)  # fmt: skip
def test_what_start_up_code_does_to_the_search(text: str, changes: tuple[object, ...]) -> None:
    assert path_changes(text, "/agent/sitecustomize.py") == changes


@pytest.mark.parametrize(
    ("content", "numpy"),
    [
        (b"\0numpy.core._multiarray_umath\0", 1),
        (b"\0numpy._core._multiarray_umath\0numpy.core._multiarray_umath\0", 2),
        (b"\0numpy.core.multiarray\0", 0),
        (b"", 0),
    ],
)
def test_a_module_names_the_numpy_that_it_was_built_with(tmp_path: Path, content: bytes, numpy: int) -> None:
    file = tmp_path / "m.so"
    file.write_bytes(content)
    assert numpy_of_module(file) == numpy


def test_the_name_of_a_module_is_its_place_below_the_packages() -> None:
    assert UnfitExtension("/s/PIL/_imaging.cpython-311-x86_64-linux-gnu.so", "pillow 1", "/s").dotted == "PIL._imaging"


def test_only_a_relative_home_leads_python_back_to_its_own_folder(tmp_path: Path) -> None:
    base, env = tmp_path / "base", tmp_path / "env"
    (base / "lib" / "python3.11").mkdir(parents=True)
    (base / "bin").mkdir()
    (base / "bin" / "python3.11").write_text("")
    (env / "bin").mkdir(parents=True)
    (env / "bin" / "python").symlink_to(base / "bin" / "python3.11")
    where = Sysroot(system="linux", root="/")
    assert goes_without_home("C:\\Python311", str(env / "bin" / "python"), where)
    assert not goes_without_home("/usr/bin-of-old", str(env / "bin" / "python"), where)
