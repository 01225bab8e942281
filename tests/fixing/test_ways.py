"""A real LD_LIBRARY_PATH fault in a real environment: the next look, from wherever, says what "verified" said.

Cured from the command line here; from the window in tests/gui/test_real.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.test_fix import ROOT, Broken

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="variables come from a shell and an activation on Linux"
)

CAUSE = "ld_library_path_override"


class Terminals:
    """One machine, and programs started on it in each way."""

    def __init__(self, root: Path) -> None:
        (root / "home").mkdir()
        self.broken = Broken(root)
        self.prefix, self.other = self.broken.prefix, str(root / "other")
        self.profile = root / "home/.profile"
        self.account = {"HOME": str(root / "home"), "SHELL": "/bin/sh", "CONVALESCE_STATE": str(root / "state")}
        self.here = {**self.account, "PATH": os.environ["PATH"], "LD_LIBRARY_PATH": self.other}
        """The terminal that the person sits at."""

    def ran(self, way: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in one way of starting it."""
        start, env = {
            "process": ("", self.here),
            "bare": ("", self.here),
            "activation": (f". {self.prefix}/bin/activate && ", self.here),
            "login": ("", self.account),
        }[way]
        shell = ["/bin/sh", "-l", "-c"] if way == "login" else ["/bin/bash", "-c"]
        script = f'{start}cd / && PYTHONPATH={ROOT} exec {sys.executable} -B -m core.cli.main "$@"'
        return subprocess.run(
            [*shell, script, "sh", *arguments], env=env, text=True, capture_output=True, check=False, input=""
        )

    def looked(self, way: str) -> dict[str, Any]:
        """Return the JSON report of an ordinary look."""
        named = self.prefix / "bin/python" if way == "bare" else self.prefix
        done = self.ran(way, "scan", "--json", "--full-names", "--python", str(named))
        return msgspec.json.decode(done.stdout)

    def cured(self, way: str = "process") -> dict[str, Any]:
        """Fix the primary finding, and return what is said of it."""
        done = self.ran(way, "fix", "--yes", "--json", "--python", str(self.prefix))
        (line,) = msgspec.json.decode(done.stdout)["fixes"]
        return line


@pytest.fixture
def terminals(tmp_path: Path) -> Terminals:
    return Terminals(Path(os.path.realpath(tmp_path)))


def faults(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [f for f in report["findings"] if f["cause"] == CAUSE]


def test_a_line_of_a_start_up_file_is_cured_for_every_way(terminals: Terminals) -> None:
    text = f"export LD_LIBRARY_PATH={terminals.other}\n"
    terminals.profile.write_text(text)
    line = terminals.cured()
    assert line["outcome"] == "done"
    verified = {v["way"]: v["holds"] for v in line["verified_for"]}
    assert set(verified.values()) == {True}, verified
    assert {"process", "activation", "bare", "login"} <= set(verified)
    assert faults(terminals.looked("login")) == []
    assert terminals.ran("process", "undo", "--yes").returncode == 0
    assert terminals.profile.read_text() == text
    assert faults(terminals.looked("process"))[0]["fix"]["changes"], "undone, it is offered again"


def test_the_next_look_says_what_verified_said(terminals: Terminals) -> None:
    line = terminals.cured()
    assert line["outcome"] == "done"
    verified = {v["way"]: v["holds"] for v in line["verified_for"]}
    assert verified == {"process": False, "activation": True, "bare": False, "login": True}
    for way, holds in verified.items():
        found = faults(terminals.looked(way))
        assert bool(found) is not holds, f"{way}: verified said {holds}"
        for finding in found:
            rows = [r for r in finding["evidence"] if r["label"] == "Already fixed"]
            assert [r["value"] for r in rows] == [f"through the activation of {terminals.prefix}"]
            assert line["entry"] in rows[0]["source"]
            assert finding["fix"].get("changes", []) == [], "the same cure is offered again"
            assert f"source {terminals.prefix}/bin/activate" in finding["fix"]["advice"]
            assert "~/.profile" in finding["fix"]["advice"]
    again = terminals.cured()
    assert (again["cause"], again.get("changes"), again.get("outcome")) == (CAUSE, None, None)
    assert terminals.ran("process", "undo", "--yes").returncode == 0
    assert faults(terminals.looked("process"))[0]["fix"]["changes"], "undone, it is offered again"


def test_a_terminal_in_which_the_environment_was_active_before(terminals: Terminals) -> None:
    """Its variables are those of before; a look from it supposes that the environment is activated again, and says so."""
    terminals.here |= {"VIRTUAL_ENV": str(terminals.prefix), "PATH": f"{terminals.prefix}/bin:{os.environ['PATH']}"}
    line = terminals.cured()
    said = {v["way"]: (v["holds"], v.get("supposed", False)) for v in line["verified_for"]}
    assert said["process"] == (True, True)
    assert (said["bare"], said["activation"]) == ((False, False), (True, False))
    report = terminals.looked("process")
    assert faults(report) == []
    [note] = [f for f in report["findings"] if f["id"] == "environment.older-session"]
    assert f"activation of {terminals.prefix}" in note["title"]


def test_the_words_of_the_command_line(terminals: Terminals) -> None:
    done = terminals.ran("process", "fix", "--yes", "--python", str(terminals.prefix))
    assert "Verified: the fault is gone for some ways of starting a program" in done.stdout
    assert f"Started while {terminals.prefix} is active: the fault is gone." in done.stdout
    assert "Started from here: the fault is still there." in done.stdout
    assert done.returncode == 1, "a look from here still finds it"


def test_what_is_kept_for_every_session_is_cured_for_every_way(terminals: Terminals) -> None:
    kept = terminals.profile.parent / ".config/environment.d/10.conf"
    kept.parent.mkdir(parents=True)
    kept.write_text(f"LD_LIBRARY_PATH={terminals.other}\n")
    line = terminals.cured()
    assert line["outcome"] == "done"
    assert {v["way"]: v["holds"] for v in line["verified_for"]} == dict.fromkeys(
        ("process", "activation", "bare", "login"), True
    )
    for way in ("process", "activation", "bare", "login"):
        assert faults(terminals.looked(way)) == []
