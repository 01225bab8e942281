"""``convalesce fix`` and ``undo`` as a person runs them, on a real environment with a stand-in cuDNN.

LD_LIBRARY_PATH names a folder with another release than the environment's wheel: the cure is a block in the
environment's own activation.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

import msgspec
import pytest

from core.cli import fix
from core.cli import main as cli
from core.cli.fix import chosen_findings
from core.cli.terminal import UsageError
from core.common.exit_codes import UNEXAMINED
from core.model.facts import Machine, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from tests import standin

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs ld.so and gcc; tests/windows does it there")


class Broken:
    """A throw-away home with an environment, and the variable that overrides its cuDNN."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.prefix = root / "venv"
        venv.create(self.prefix, with_pip=False)
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        standin.install_cudnn(self.prefix / "lib" / version / "site-packages", "9.10.2.21")
        self.other = standin.build_cudnn(root / "other", version="9.1.0.70")

    def run(self, *arguments: str, answer: str | None = None) -> subprocess.CompletedProcess[str]:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "CONVALESCE_STATE": str(self.root / "state"),
            "LD_LIBRARY_PATH": str(self.root / "other"),
            "PYTHONPATH": str(ROOT),
        }
        return subprocess.run(
            [sys.executable, "-B", "-m", "core.cli.main", *arguments],
            env=env,
            cwd=self.root,
            text=True,
            input=answer or "",
            capture_output=True,
            check=False,
        )

    def tree(self) -> dict[str, str]:
        """Every file and folder with the hash of its content, links as links."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            if path.is_symlink():
                found[str(path)] = f"-> {path.readlink()}"
            else:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        return found


@pytest.fixture
def broken(tmp_path: Path) -> Broken:
    (tmp_path / "home").mkdir()
    return Broken(tmp_path)


def test_a_dry_run_shows_and_rehearses_and_changes_nothing(broken: Broken) -> None:
    before = broken.tree()
    done = broken.run("fix", "--dry-run", "--python", str(broken.prefix))
    assert f"+ drop {broken.root / 'other'}" in done.stdout
    assert "Rehearsed on this machine: works." in done.stdout
    assert done.returncode == 1
    assert broken.tree() == before


def test_without_consent_nothing_is_changed(broken: Broken) -> None:
    before = broken.tree()
    done = broken.run("fix", "--python", str(broken.prefix), answer="n\n")
    assert "Nothing was changed." in done.stdout
    assert done.returncode == 4
    assert broken.tree() == before


def test_fixed_verified_listed_and_undone(broken: Broken) -> None:
    before = broken.tree()
    done = broken.run("fix", "--yes", "--json", "--python", str(broken.prefix))
    report = msgspec.json.decode(done.stdout)
    (line,) = report["fixes"]
    assert (line["cause"], line["works"], line["outcome"]) == ("ld_library_path_override", True, "done"), done.stderr
    shell = ["bash", "-c", '. "$0/bin/activate"; echo "[$LD_LIBRARY_PATH]"', str(broken.prefix)]
    active = subprocess.run(
        shell, env={"LD_LIBRARY_PATH": str(broken.root / "other")}, text=True, capture_output=True, check=True
    )
    assert active.stdout == "[]\n"
    listed = broken.run("undo", "--list")
    assert line["entry"] in listed.stdout
    assert "done" in listed.stdout
    asked = broken.run("undo", "--all", answer="n\n")
    assert (asked.returncode, "Nothing was changed." in asked.stdout) == (4, True)
    assert line["changes"]
    back = broken.run("undo", line["entry"], "--yes")
    assert back.returncode == 0, back.stderr
    assert "nothing to undo" in broken.run("undo", "--all").stdout
    after = {path: state for path, state in broken.tree().items() if not path.startswith(str(broken.root / "state"))}
    assert after == before


def test_an_unknown_finding_is_wrong_use(broken: Broken) -> None:
    done = broken.run("fix", "no.such", "--python", str(broken.prefix))
    assert done.returncode == 2
    assert "no.such" in done.stderr


def test_a_source_that_is_no_cudnn_is_refused_with_a_sentence(broken: Broken) -> None:
    (broken.root / "thing.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    before = broken.tree()
    done = broken.run("fix", "--yes", "--cudnn", str(broken.root / "thing.zip"), "--python", str(broken.prefix))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert {p: s for p, s in broken.tree().items() if "/state" not in p} == before


def test_a_stuck_change_has_an_exit_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from types import SimpleNamespace

    from core.doctor import repair
    from core.transaction.execute import Outcome
    from core.transaction.journal import Entry

    entry = Entry(id="20260101T000000Z-0000", made="", title="t", changes=(), state="done")
    stuck = Outcome(kind="stuck", sentence="It is stuck.")
    monkeypatch.setattr(repair, "repair_context", lambda *_: None)
    monkeypatch.setattr(repair, "recover", lambda _shop: ())
    monkeypatch.setattr(repair, "history", lambda _shop: (entry,))
    monkeypatch.setattr(repair, "undo", lambda _id, _shop: stuck)
    assert fix.run_undo(SimpleNamespace(list=False, entry=entry.id, all=False, yes=True, let_go="")) == 6
    assert "It is stuck." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("undecided", "words"), [((), "no finding 'cudnn.x'"), (("Undecided: whether cuDNN loads.",), "it is incomplete")]
)
def test_a_finding_that_is_not_there_may_not_have_been_reached(undecided: tuple[str, ...], words: str) -> None:
    found = tuple(
        Finding(id="cudnn.not-examined", cause="", step=Step.CUDNN, severity=Severity.UNKNOWN, title=title)
        for title in undecided
    )
    report = Report(snapshot=Snapshot(machine=Machine(system="linux")), findings=found)
    with pytest.raises(UsageError, match=words):
        chosen_findings(report, ["cudnn.x"])


def test_nothing_to_fix_says_what_was_not_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONVALESCE_STATE", str(tmp_path))
    title = "Undecided: whether cuDNN loads."
    found = Finding(id="cudnn.not-examined", cause="", step=Step.CUDNN, severity=Severity.UNKNOWN, title=title)
    report = Report(snapshot=Snapshot(machine=Machine(system="linux")), findings=(found,))
    monkeypatch.setattr(fix, "examine", lambda *_its: report)
    assert cli.main(["fix", "--dry-run"]) == UNEXAMINED
    assert title in capsys.readouterr().out
