"""Every fix on every planted fault that it claims to cure: rehearsed, applied, the scan healthy, undone, all as before.

The rows are those of the fault lab that say that a change of variables, files or packages is offered, on machines with real
wheels of NVIDIA's; that no other row offers one is held by tests/test_faultlab.py, so a fix cannot be forgotten here. Packages
come from the cache's folder of wheels, offline. ``python -m tests.fixing.test_cures [NAME...]`` runs the rows by hand.
"""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatch

import pytest

from installer.by_hand import by_hand
from tests.faultlab.faults import Fault, table
from tests.faultlab.run import NoMachineError, built, on_machine
from tests.faultlab.wheels import CUDNN_9_1_CUDA_11, fetched

FIXED = [row for row in table() if row.offered in ("variable", "files", "packages")]


def cure(fault: Fault) -> dict[str, object]:
    folder = fetched(CUDNN_9_1_CUDA_11).parent  # the only wheel that no machine of the lab has
    with built(fault) as lab:
        try:
            how = ["--thorough"] if fault.thorough else []
            command = [sys.executable, "-m", "tests.fixing.cure", *how, "--wheels", str(folder), *lab.pythons]
            done = on_machine(lab, command, keep=[folder], timeout=900)
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
    # an exchange is rehearsed by imports, and some files by nothing; no rehearsal may fail
    assert said["rehearsed"] is True or (fault.offered == "packages" and said["rehearsed"] is None), said
    assert said["touched"] == [], "the rehearsal changed something"
    assert (said["kind"], said["changed"]) == ("done", True), said
    if fault.offered == "packages":  # a line or a variable is for programs that are started anew, and verified so
        assert said["not imported"] == [], said
    assert said["verified"] == [], f"the machine is not healthy afterwards: {said}"
    verified_for: dict[str, bool | None] = said["verified_for"]
    assert True in verified_for.values(), said
    assert None not in verified_for.values(), said
    assert (said["again"] == []) is verified_for["process"], f"a second look from here says otherwise: {said}"
    assert said["offered again"] == [], said
    assert (said["undone"], said["left"]) == ("undone", []), said
    assert said["back"] == said["before"], f"the fault is not there again after the undo: {said}"


def main(names: list[str]) -> int:
    """Run the rows that were named, or all; 1 on any miss."""
    rows = [row for row in FIXED if not names or any(fnmatch(row.name, n) for n in names)]
    missed = 0
    for row in rows:
        try:
            test_a_fix_cures_what_it_claims_and_is_undone_without_a_trace(row)
            words = ""
        except AssertionError as e:
            words, missed = str(e)[-900:], missed + 1
        print(f"{'WRONG' if words else 'right'}  {row.name:34} {row.offered:9} {words}", flush=True)
    print(f"\n{len(rows) - missed} of {len(rows)} cured, imported and undone")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "[NAME...]")))
