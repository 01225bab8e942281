"""The command on a machine without a GPU: one calm sentence, and the contract's exit status."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from core.benchmark.extent import full_run, quick_run
from core.cli.main import main
from core.common.progress import Progress
from core.doctor.benchmark import measure_speed
from core.doctor.examine import diagnose_snapshot
from core.host.this_host import this_host
from core.model.facts import Distribution, Driver, FrameworkBuild, Frameworks, Gpu, Machine, PythonEnvironment, Snapshot
from core.model.findings import Report
from core.probes.probe import Probe
from core.report.text import report_text
from core.rules.frameworks.grid import make_grid


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.doctor.benchmark.PROBES", (Probe("driver", lambda _request: Driver(pci=(), gpus=())),))


def test_without_a_gpu_one_sentence_and_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["benchmark", "--quick"])
    told = " ".join(capsys.readouterr().out.split())
    assert status in (0, 1)  # 1 only where a missing GPU or driver is itself an error
    assert "there is nothing to measure." in told
    assert "Traceback" not in told


def test_json_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    main(["benchmark", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == 1
    assert report["snapshot"]["benchmark"]["gpus"] == []
    assert [f["id"] for f in report["findings"] if f["step"] == "benchmark"] == ["benchmark.not-run"]


def test_a_number_that_is_none_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["benchmark", "--gpu", "first"])
    assert ended.value.code == 2
    assert "--gpu" in capsys.readouterr().err


def probed(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[list[str], Report]:
    """Run the command over stand-ins of the probes that look at once; return which were asked, and the report."""
    asked: list[str] = []

    def stand_in(section: str, result: object) -> Probe:
        def look(_request: object) -> object:
            asked.append(section)
            return result

        return Probe(section, look)

    torch = PythonEnvironment(prefix="/e", distributions=(Distribution(name="torch", version="2.11.0", location="/e"),))
    build = FrameworkBuild(prefix="/e", distribution="torch", version="2.11.0", cuda="13.0")
    sections = {
        "driver": Driver(pci=(), gpus=()),
        "pythons": (torch,),
        "frameworks": Frameworks(builds=(build,)),
        "trials": (),
    }
    monkeypatch.setattr("core.doctor.benchmark.PROBES", tuple(stand_in(n, v) for n, v in sections.items()))
    # a copy of this process would note what it was asked in its own list
    monkeypatch.setattr("core.doctor.second_process.is_possible", lambda _request: False)
    return asked, measure_speed(this_host(), Progress(), extent=quick_run() if "--quick" in arguments else full_run())


def test_a_whole_run_says_of_the_frameworks_what_a_scan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, report = probed(monkeypatch)
    assert set(asked) == {"driver", "pythons", "frameworks"}
    assert report.grid
    ((cell,),) = (row.cells for row in report.grid.rows)
    assert (cell.verdict, cell.reason) == ("cpu only", "This machine has no NVIDIA GPU.")
    assert report.grid == diagnose_snapshot(report.snapshot).grid


def test_a_quick_run_that_did_not_look_how_they_were_built_says_nothing_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, report = probed(monkeypatch, "--quick")
    assert set(asked) == {"driver", "pythons"}
    assert report.grid is None
    assert "Environments and frameworks" not in report_text(report)


def test_what_was_not_looked_at_is_not_blamed_on_the_files() -> None:
    torch = PythonEnvironment(prefix="/e", distributions=(Distribution(name="torch", version="2.11.0", location="/e"),))
    gpus = Driver(gpus=(Gpu(index=0, name="NVIDIA H200", compute_capability="9.0"),))
    seen = Snapshot(machine=Machine(system="linux"), driver=gpus, pythons=(torch,))
    ((cell,),) = (row.cells for row in make_grid(seen).rows)
    assert (cell.verdict, cell.reason) == ("not decided", "Its build was not examined.")
    ((cell,),) = (row.cells for row in make_grid(replace(seen, frameworks=Frameworks())).rows)
    assert cell.reason == "Its files do not show whether it was built for CUDA."
