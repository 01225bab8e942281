"""Every fix on every planted fault that it claims to cure: rehearsed, applied, the scan healthy, undone, all as before.

The rows are those of the fault lab that say that a change of variables or files is offered, on machines with real wheels
of NVIDIA's; that no other row offers one is held by tests/test_faultlab.py, so a fix cannot be forgotten here.
"""

from __future__ import annotations

import json
import sys

import pytest

from tests.faultlab.faults import Fault, table
from tests.faultlab.run import NoMachineError, built, on_machine

FIXED = [row for row in table() if row.offered in ("variable", "files")]


def cure(fault: Fault) -> dict[str, object]:
    with built(fault) as lab:
        try:
            how = ["--thorough"] if fault.thorough else []
            done = on_machine(lab, [sys.executable, "-m", "tests.fixing.cure", *how, *lab.pythons])
        except NoMachineError as e:
            pytest.skip(f"this system allows no private mount namespace: {e}")
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    said: dict[str, object] = json.loads(done.stdout)
    return said


@pytest.mark.download
@pytest.mark.parametrize("fault", FIXED, ids=lambda row: row.name)
def test_a_fix_cures_what_it_claims_and_is_undone_without_a_trace(fault: Fault) -> None:
    said = cure(fault)
    assert said.get("errors", []) == [], "a probe did not end well"
    assert said["cause"] == fault.cause
    assert (said["problems"], said["elevated"]) == ([], False), said
    assert said["rehearsed"] is True, said
    assert said["touched"] == [], "the rehearsal changed something"
    assert (said["kind"], said["changed"]) == ("done", True), said
    assert said["verified"] == [], f"the machine is not healthy afterwards: {said}"
    verified_for: dict[str, bool | None] = said["verified_for"]  # type: ignore[assignment]  # made by cure.py
    assert True in verified_for.values(), said
    assert None not in verified_for.values(), said
    assert (said["again"] == []) is verified_for["process"], f"a second look from here says otherwise: {said}"
    assert said["offered again"] == [], said
    assert (said["undone"], said["left"]) == ("undone", []), said
    assert said["back"] == said["before"], f"the fault is not there again after the undo: {said}"
