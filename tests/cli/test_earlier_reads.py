"""A second look knows what the first one read of files, says the same, and bears that it is lost or spoilt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.host.own_cache import cache_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows' folder for a cache is no variable's")


def scan(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "core", "scan", "--json", "--python", sys.prefix, *arguments]
    done = subprocess.run(
        command, capture_output=True, check=False, text=True, env={**os.environ, "PYTHONHASHSEED": "0"}
    )
    assert done.returncode in (0, 1, 5), done.stderr
    report = json.loads(done.stdout)
    for changing in ("taken", "seconds"):
        del report["snapshot"][changing]
    report["texts"] = sorted(json.dumps(text, sort_keys=True) for text in report["texts"])
    return dict(report)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file, in a folder of this account's own."""
    (tmp_path / "cache").mkdir()  # a variable that names a missing folder is a fact of its own
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(cache_folder(), "files")


def test_with_what_is_kept_and_with_what_is_spoilt_it_says_the_same(kept: Path) -> None:
    first = scan("--only", "cudnn,frameworks")
    assert kept.stat().st_size > 100
    assert scan("--only", "cudnn,frameworks") == first
    kept.write_bytes(kept.read_bytes()[:-50] + bytes(50))
    spoilt = kept.read_bytes()
    assert scan("--only", "cudnn,frameworks") == first
    assert kept.read_bytes() != spoilt


def test_a_thorough_look_neither_reads_nor_keeps_anything(kept: Path) -> None:
    scan("--only", "cudnn", "--thorough")
    assert not kept.exists()
