"""The command line end to end on Windows: calm where all is in order, JSON and exit status as promised."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = not any(Path("C:\\Program Files").glob("NVIDIA*"))
"""Whether nothing of NVIDIA's is on this machine, as in the lab."""


def convalesce(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "utf8", "-m", "core", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=env, check=False, capture_output=True, text=True, encoding="utf-8", timeout=300
    )


def test_a_scan_answers_in_json_and_nothing_else() -> None:
    done = convalesce("scan", "--json")
    report = json.loads(done.stdout)
    snapshot = report["snapshot"]
    assert snapshot["machine"]["system"] == "windows"
    assert snapshot["machine"]["release"].startswith(("Windows", "Microsoft Windows"))
    assert snapshot.get("errors", []) == []
    assert done.returncode == int(any(f["severity"] == "error" for f in report["findings"]))
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not ALONE, reason="this machine has software of NVIDIA's, and may have faults")
def test_a_healthy_windows_without_a_gpu_is_left_in_peace() -> None:
    done = convalesce("scan")
    assert done.returncode == 0, done.stdout
    assert "What is wrong" not in done.stdout
    assert "There is no NVIDIA GPU in this machine" in done.stdout


@pytest.mark.parametrize("page", ["cp437", "cp932", "cp1252", "utf-8"])
def test_no_code_page_stops_a_scan(page: str) -> None:
    """A terminal of another alphabet: what it cannot show is replaced, and JSON stays UTF-8."""
    person = {"USERNAME": "Zoë 猫", "USERPROFILE": "C:\\Users\\Zoë 猫", "PYTHONUTF8": "0", "PYTHONIOENCODING": page}
    for arguments in (["scan"], ["scan", "--json"]):
        command, env = [sys.executable, "-m", "core", *arguments], {**os.environ, **person}
        done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, timeout=300)
        assert done.returncode in (0, 1, 5), done.stderr
        assert b"Traceback" not in done.stderr
    assert json.loads(done.stdout.decode("utf-8"))["snapshot"]["machine"]["system"] == "windows"


def test_the_users_name_is_not_in_the_report() -> None:
    person = {"USERNAME": "Zoë Example", "USERPROFILE": "C:\\Users\\Zoë Example", "COMPUTERNAME": "ZOES-PC"}
    out = convalesce("scan", "--json", env={**os.environ, **person}).stdout
    assert "Zoë Example" not in out
    assert "ZOES-PC" not in out
    assert json.loads(out)["snapshot"]["machine"]["user"]
