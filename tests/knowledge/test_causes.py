"""The vocabulary of causes: its rows, the type that is generated from them, and what holds a misspelt one up."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest
from mypy.api import run as mypy

import core
import gui
from core.knowledge.causes import Cause, cause_rows
from installer.generate.causes import MODULE, generated

SOURCES = [p for room in (core, gui) for p in sorted(Path(room.__file__).parent.rglob("*.py"))]
CAUSES: set[str] = {c.cause for c in cause_rows()}


def test_every_cause_says_what_it_means() -> None:
    assert len(CAUSES) == len(cause_rows())
    assert all(c.meaning.endswith(".") for c in cause_rows())


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.stem)
def test_no_comparison_names_a_cause_that_is_none(path: Path) -> None:
    """The type check holds what is given and what a table holds; a comparison with a report's text it cannot."""
    compared = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Compare)]
    named = [n for n in compared if any(getattr(part, "attr", "") == "cause" for part in (n.left, *n.comparators))]
    texts = {c.value for n in named for c in ast.walk(n) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    assert texts <= {*CAUSES, "", "gpu_arch"}


def test_the_type_of_causes_is_as_its_rows_want_it() -> None:
    assert generated() == MODULE.read_text(encoding="utf-8"), "run: python3 dev.py causes"
    assert get_args(Cause) == tuple(row.cause for row in cause_rows())


MISSPELT = """\
from core.knowledge.causes import Cause
from core.rules.wording import make_finding
from core.model.steps import Severity, Step
a: dict[Cause, int] = {"gpu_busy": 1}
b: dict[Cause, int] = {"gpu_buzy": 1}
c: tuple[Cause, ...] = ("gpu_busy", "gpu_buzy")
d = make_finding("driver.x", Severity.ERROR, "X.", cause="gpu_busy")
e = make_finding("driver.x", Severity.ERROR, "X.", cause="gpu_buzy")
f = make_finding("driver.x", Severity.ERROR, "X.")
"""


def test_a_misspelt_cause_fails_the_type_check(tmp_path: Path) -> None:
    module = tmp_path / "misspelt.py"
    module.write_text(MISSPELT)
    printed, _problems, _status = mypy(["--strict", "--follow-imports=silent", str(module)])
    assert sorted({int(n) for n in re.findall(r"misspelt\.py:(\d+): error", printed)}) == [5, 6, 8], printed
