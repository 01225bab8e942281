"""The command on a machine without a GPU: one calm sentence, and the contract's exit status."""

from __future__ import annotations

import json

import pytest

from core import doctor
from core.cli import main
from core.facts import Driver
from core.probes.request import Probe


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PROBES", (Probe("driver", lambda _request: Driver(pci=(), gpus=())),))


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
