"""The fault lab: every planted fault gets its cause, every healthy machine is left in peace."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import replace

import pytest

if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip(
        "the lab plants its faults on wheels for Linux on x86_64, under the real ld.so", allow_module_level=True
    )

from core.knowledge.causes import cause_ranks
from tests.faultlab import bases
from tests.faultlab.faults import Fault, table
from tests.faultlab.run import NoMachineError, check, examine, judge

ROWS = table()


@pytest.fixture(scope="session")
def machines() -> None:
    """Private machines can be had. CONVALESCE_LAB=required makes it a failure where they can not."""
    try:
        check()
    except NoMachineError as e:
        if os.environ.get("CONVALESCE_LAB") == "required":
            raise
        pytest.skip(f"{e}. See docs/fault-lab.md.")


@pytest.mark.download
@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize("fault", ROWS, ids=lambda fault: fault.name)
def test_the_cause_is_right(fault: Fault) -> None:
    outcome = examine(fault)
    assert outcome.right, f"{fault.why} Expected {outcome.expected}, found {outcome.found}: {outcome.detail}"
    found = (outcome.report or {}).get("findings", ())
    assert not [f["id"] for f in found if f["id"].endswith(".not-trusted")], "what is the person's own is tried"


def test_the_table_is_as_large_as_promised() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert sum(bool(row.cause) for row in ROWS) >= 25
    assert sum(not row.cause for row in ROWS) >= 5


def test_every_cause_is_a_word_of_the_vocabulary() -> None:
    assert {row.cause for row in ROWS} - {""} <= set(cause_ranks())


# --- the judge -----------------------------------------------------------------------------------------------

DELETED = Fault("deleted", "cudnn_sublibrary_missing", "a file is gone", bases.torch_9)
HEALTHY = replace(DELETED, name="healthy", cause="")


def a_finding(cause: str, severity: str, *, primary: bool = False) -> dict[str, object]:
    return {"id": f"x.{cause}", "cause": cause, "severity": severity, "primary": primary, "subject": "x"}


def a_report(*findings: dict[str, object], errors: tuple[object, ...] = ()) -> bytes:
    return json.dumps({"findings": findings, "snapshot": {"errors": errors}}).encode()


RIGHT = a_finding("cudnn_sublibrary_missing", "error", primary=True) | {"fix": {"advice": "install it again"}}
NOTE = a_finding("no_nvidia_gpu", "note")
WARNING = a_finding("driver_too_old", "warning")


@pytest.mark.parametrize(
    ("fault", "status", "out", "right"),
    [
        (DELETED, 1, a_report(RIGHT, WARNING), True),
        (DELETED, 1, a_report(a_finding("corrupt_or_truncated_file", "error", primary=True)), False),
        (DELETED, 1, a_report({**RIGHT, "primary": False}), False),
        (DELETED, 1, a_report(RIGHT, errors=({"probe": "driver"},)), False),
        (DELETED, 1, a_report({**RIGHT, "fix": None}), False),
        (DELETED, 3, a_report(RIGHT), False),
        (DELETED, 3, b"", False),
        (replace(DELETED, notes=("x.no_nvidia_gpu",)), 1, a_report(RIGHT), False),
        (replace(DELETED, notes=("x.no_nvidia_gpu",)), 1, a_report(RIGHT, NOTE), True),
        (HEALTHY, 0, a_report(NOTE), True),
        (HEALTHY, 0, a_report(WARNING), False),
        (HEALTHY, 1, a_report(), False),
    ],
)
def test_the_judge(fault: Fault, status: int, out: bytes, right: bool) -> None:
    assert judge(fault, status, out, b"", 0.1).right is right
