"""``convalesce fix`` and ``undo`` on packages: what is said before anything is fetched, and who is asked."""

from __future__ import annotations

import io
import json
import sys

import pytest
from msgspec.structs import replace

from core.cli import fix as cli_fix
from core.cli.main import main
from core.doctor import repair
from core.model.findings import Report
from tests.curelab.index import index
from tests.packages.conftest import Bench, tree

CUDA = {"remove": ("torch",), "install": ("torch==2.8.0+cu128",)}


@pytest.fixture
def faulty(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The environment has a finding as long as the CPU build is there."""

    def examine(*_all: object, **_more: object) -> Report:
        wrong = (bench.site / "torch-2.8.0+cpu.dist-info").exists()
        return replace(bench.report, findings=(bench.proposal(**CUDA).finding,) if wrong else ())

    monkeypatch.setattr(cli_fix, "examine", examine)
    monkeypatch.setattr(repair, "repair_context", lambda _host: bench.shop)
    return bench


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["fix", "frameworks.cpu-build-torch", *words])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_one_press(faulty: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(faulty.prefix)
    with index(faulty.wheels) as (url, _asked):
        status, out, _err = run("--yes", "--index", url, capsys=capsys)
    assert status == 0, out
    assert f"The packages come from {url}, and from nowhere else." in out
    assert "- torch 2.8.0+cpu" in out
    assert "+ torch 2.8.0+cu128 (1 MB, from http://127.0.0.1" in out
    assert "Imported in a copy of the environment: torch 2.8.0+cu128." in out
    assert out.index("come from") < out.index("sha256") < out.index("Done:")
    entry = faulty.shop.journal.entries()[-1].id
    assert main(["undo", "--list"]) == 0
    assert "(keeps " in capsys.readouterr().out
    assert main(["undo", entry, "--yes"]) == 0
    assert tree(faulty.prefix) == before
    assert main(["undo", "--let-go", entry, "--yes"]) == 4


def test_nothing_is_fetched_without_consent(faulty: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    with index(faulty.wheels) as (url, asked):
        status, out, err = run("--index", url, capsys=capsys)
    assert status == 4
    assert "Nothing was downloaded." in out
    assert "no terminal to ask for consent" in err
    assert asked == []


def test_what_was_tried_out_and_not_wanted_is_gone(
    faulty: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = io.StringIO("y\nn\n")
    monkeypatch.setattr(answers, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", answers)
    with index(faulty.wheels) as (url, _asked):
        status, out, _err = run("--index", url, capsys=capsys)
    assert status == 4
    assert "Nothing was changed." in out
    assert not (faulty.prefix / ".convalesce").exists()


def test_a_dry_run_offline_fetches_and_changes_nothing(faulty: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(faulty.prefix)
    status, out, _err = run("--dry-run", "--json", "--from", str(faulty.wheels), capsys=capsys)
    (line,) = json.loads(out)["fixes"]
    assert line["works"] is True
    assert any("torch 2.8.0+cu128" in text for text in line["changes"])
    assert status == 1
    assert tree(faulty.prefix, without="") == before


def test_the_history_lets_go_of_what_it_keeps(faulty: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    run("--yes", "--from", str(faulty.wheels), capsys=capsys)
    entry = faulty.shop.journal.entries()[-1].id
    assert main(["undo", "--let-go", entry, "--yes"]) == 0
    assert not (faulty.prefix / ".convalesce").exists()
    assert main(["undo", "--list"]) == 0
    assert "let go" in capsys.readouterr().out
    assert main(["undo", "--let-go", "nothing", "--yes"]) == 2
