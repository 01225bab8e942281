"""Packages on a real Windows: exchanged by renames, kept whole when a program holds a file of them, killed at any rename."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.host import exchange
from core.model.changes import ExchangePackages
from core.transaction.execute import Outcome, Plan, execute, recover, undo
from core.transaction.journal import Entry, Journal
from core.transaction.package_exchange import TWINS, folder_fingerprint, new_twin
from core.transaction.windows_variable_store import WindowsVariables
from tests.windows import fixing_child

assert sys.platform == "win32"

KILLS = 8
HOLD = "import ctypes, sys; ctypes.WinDLL(sys.argv[1]); print('held', flush=True); sys.stdin.read()"


class Bench:
    """An environment with one package, and a twin with another build of it."""

    def __init__(self, base: Path) -> None:
        self.prefix = base.resolve() / "ml é"
        self.site = self.prefix / "Lib" / "site-packages"
        self.journal = Journal(base / "state")
        fill(self.site, "cpu")

    def plan(self) -> Plan:
        twin = new_twin(str(self.prefix), self.journal) / "Lib" / "site-packages"
        fill(twin, "cuda")
        change = ExchangePackages(
            title="Another build",
            prefix=str(self.prefix),
            folder=str(self.site),
            twin=str(twin),
            before=folder_fingerprint(str(self.site)),
            after=folder_fingerprint(str(twin)),
            old=exchange.folder_number(str(self.site)),
            new=exchange.folder_number(str(twin)),
        )
        return Plan(title="Another build", changes=(change,))

    def build(self) -> str:
        return (self.site / "torch/version.py").read_text()

    def execute(self, plan: Plan) -> Outcome:
        return execute(plan, writer=WindowsVariables(), journal=self.journal)


def fill(site: Path, build: str) -> None:
    (site / "torch/lib").mkdir(parents=True)
    (site / "torch/version.py").write_text(build)
    # a library that any process can load: one of Python's own
    source = next(p for p in (Path(sys.base_prefix) / "DLLs").glob("libffi*.dll"))
    shutil.copy2(source, site / "torch/lib/torch_cuda.dll")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@contextmanager
def program_with(library: Path) -> Iterator[int]:
    """Run a program that has loaded a library; yield its number."""
    command = [sys.executable, "-c", HOLD, str(library)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline().strip() == b"held"
        yield process.pid
        process.stdin.close()


def test_another_build_comes_and_goes_again(bench: Bench) -> None:
    done = bench.execute(bench.plan())
    assert (done.kind, bench.build()) == ("done", "cuda"), done
    assert undo(done.entry, writer=WindowsVariables(), journal=bench.journal).kind == "undone"
    assert bench.build() == "cpu"
    assert not (bench.prefix / TWINS).exists()


def test_a_program_that_has_loaded_a_library_is_named_and_nothing_is_changed(bench: Bench) -> None:
    plan = bench.plan()
    with program_with(bench.site / "torch/lib/torch_cuda.dll") as number:
        refused = bench.execute(plan)
        assert (refused.kind, bench.build()) == ("refused", "cpu"), refused
        assert f"python.exe ({number}) has a file of this plan open; close it first." in refused.sentence
    assert bench.execute(plan).kind == "done"


def test_undo_waits_for_the_program_too(bench: Bench) -> None:
    done = bench.execute(bench.plan())
    with program_with(bench.site / "torch/lib/torch_cuda.dll") as number:
        refused = undo(done.entry, writer=WindowsVariables(), journal=bench.journal)
        assert (refused.kind, bench.build()) == ("refused", "cuda"), refused
        assert f"({number})" in refused.sentence
    assert undo(done.entry, writer=WindowsVariables(), journal=bench.journal).kind == "undone"
    assert bench.build() == "cpu"


@pytest.mark.parametrize("held_at", [1, 2])
def test_a_folder_that_windows_does_not_rename_stays_and_the_person_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, held_at: int
) -> None:
    """Windows renames no folder with an open file in it, however that was opened; wine does, so the refusal is made up."""
    plan, real, count = bench.plan(), Path.rename, 0

    def rename(path: Path, target: str | Path) -> Path:
        nonlocal count
        count += TWINS in str(path) or path == bench.site
        if count == held_at:
            raise PermissionError(13, "Access is denied", str(path), 5, str(target))
        return real(path, target)

    monkeypatch.setattr(Path, "rename", rename)
    outcome = bench.execute(plan)
    assert (outcome.kind, bench.build()) == ("rolled back", "cpu"), outcome
    assert "close the programs that use" in outcome.sentence
    assert str(bench.prefix) in outcome.sentence


def test_killed_at_any_step_it_is_the_old_build_or_the_new(bench: Bench, tmp_path: Path) -> None:
    def run(kill_at: int) -> int:
        paper = tmp_path / "plan.json"
        plan = bench.plan()
        paper.write_bytes(fixing_child.encode(plan))
        command = [sys.executable, "-m", "tests.windows.fixing_child", str(paper), bench.journal.folder, str(kill_at)]
        done = subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL)
        assert done.returncode in (0, fixing_child.KILLED), done.stderr
        return int(done.stdout or b"0")

    steps = run(-1)
    assert bench.build() == "cuda"
    assert undo(bench.journal.entries()[-1].id, writer=WindowsVariables(), journal=bench.journal).kind == "undone"
    for step in sorted({1 + i * (steps - 1) // (KILLS - 1) for i in range(KILLS)}):
        run(step)
        recover(writer=WindowsVariables(), journal=bench.journal)
        done = [e for e in bench.journal.entries() if isinstance(e, Entry) and e.state == "done"]
        assert bench.build() == ("cuda" if done else "cpu"), step
        for entry in done:
            assert undo(entry.id, writer=WindowsVariables(), journal=bench.journal).kind == "undone"
    assert bench.build() == "cpu"
