"""Methods that a release gave up, on objects that a program makes; stand-ins of the classes are the measure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.probes.following import ends_in, lay_out, python_fails

PANDAS = """
class DataFrame:
    def __init__(self, *a, **k): pass
    def head(self): return DataFrame()
    def tolist(self): return []
def read_csv(name): return DataFrame()
def concat(several): return DataFrame()
"""
"""What of pandas 2 the programs take."""

MADE = "import pandas as pd\ndf = pd.DataFrame()\n"
CASES: dict[str, tuple[str, int]] = {
    "at once": (f"{MADE}df = df.append({{'a': 1}}, ignore_index=True)\n", 3),
    "in a loop": (f"{MADE}for n in range(3):\n    df = df.append({{'a': n}}, ignore_index=True)\n", 4),
    "by a function of the table": ("from pandas import read_csv\nrows = read_csv('a.csv')\nrows.append(rows)\n", 3),
    "of what is made there": ("import pandas\nx = pandas.DataFrame().append(None)\n", 2),
    "in a function that is called": (f"{MADE}def add():\n    out = pd.DataFrame()\n    return out.append(df)\nadd()\n", 5),
    "behind the main guard": (f"{MADE}if __name__ == '__main__':\n    df.append(df)\n", 4),
    "of a list": ("import pandas as pd\ndf = []\ndf.append(pd.DataFrame())\n", 0),
    "of what became a list": (f"{MADE}df = df.head().tolist()\ndf.append(1)\n", 0),
    "of a list made in a condition": (f"{MADE}if df:\n    df = []\ndf.append(1)\n", 0),
    "of a method's result": ("import pandas as pd\ndf = pd.read_csv('a').tolist()\ndf.append(1)\n", 0),
    "of a parameter": (f"{MADE}def add(df):\n    df.append(1)\nadd([])\n", 0),
    "in a function that is not called": (f"{MADE}def add():\n    df.append(1)\n", 0),
    "in a condition": (f"{MADE}if hasattr(df, 'append'):\n    df.append(1)\n", 0),
    "in a try": (f"{MADE}try:\n    df.append(1)\nexcept AttributeError:\n    pass\n", 0),
    "of a loop's name": (f"{MADE}for df in [[]]:\n    df.append(1)\n", 0),
    "where its error is suppressed": (f"{MADE}import contextlib\nwith contextlib.suppress(AttributeError):\n    df.append(1)\n", 0),
    "of a context's name": (f"{MADE}import contextlib\nwith contextlib.nullcontext([]) as df:\n    df.append(1)\n", 0),
    "in a context": (f"{MADE}import contextlib\nwith contextlib.nullcontext():\n    df.append(1)\n", 5),
    "of what a function binds anew": (f"{MADE}def empty():\n    global df\n    df = []\nempty()\ndf.append(1)\n", 0),
    "that the program puts back": (f"{MADE}pd.DataFrame.append = lambda *a: None\ndf.append(1)\n", 0),
    "of another package": ("import polars as pd\ndf = pd.DataFrame()\ndf.append(1)\n", 0),
}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="paths of Linux")
@pytest.mark.parametrize("case", CASES)
def test_a_method_of_an_object_that_the_program_makes(case: str, tmp_path: Path) -> None:
    text, line = CASES[case]
    older = f"{PANDAS}DataFrame.append = lambda *a: None\n"
    for version, its in (("1.5.3", older), ("2.2.3", PANDAS)):
        lay_out(tmp_path, {"main.py": text}, {"pandas.py": its, "polars.py": older})
        record = tmp_path / f"site/pandas-{version}.dist-info"
        record.mkdir()
        found = [(e.wanted, e.name, e.line) for e in ends_in(tmp_path)]
        assert found == ([("pandas.DataFrame", "append", line)] if line and version == "2.2.3" else [])
        record.rmdir()
    assert python_fails(tmp_path) is bool(line and "__main__" not in text)
