"""The measuring script: it reads cases, counts places, and fails when a goal is missed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import measure_explain
from tests.explain.cases import CASES


def written(folder: Path, cases: list[dict[str, str]]) -> str:
    """Write cases as the script reads them."""
    path = folder / "cases.jsonl"
    path.write_text("".join(json.dumps(c) + "\n" for c in cases), encoding="utf-8")
    return str(path)


def test_own_cases_reach_the_goals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"error_text": c.text, "os": "unknown", "framework": "", "root_cause": c.cause}
        for name, c in CASES.items()
        if "another interpreter" not in name
    ]
    assert measure_explain.main(written(tmp_path, rows)) == 0
    assert f"{len(rows)} cases" in capsys.readouterr().out


def test_wrong_causes_miss_the_goals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"error_text": "CUDA out of memory", "os": "linux", "framework": "PyTorch", "root_cause": "zlibwapi_missing"},
        {"error_text": "CUDA out of memory", "os": "linux", "framework": "PyTorch", "root_cause": "mig_misconfigured"},
    ]
    assert measure_explain.main(written(tmp_path, rows)) == 1
    assert "zlibwapi_missing" in capsys.readouterr().out
