"""The environment lab's rows, each with its cell and cause; and the sweep that finds all of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from core.common.progress import Progress
from core.host.this_host import this_host
from core.model.facts import Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python import builds
from core.report.json_form import from_json, to_json
from tests.envlab.rows import ROWS, Row
from tests.envlab.run import LabHost, examined, wrong

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins are Linux libraries")


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_every_environment_gets_its_cell_and_its_cause(row: Row, tmp_path: Path) -> None:
    prefix = tmp_path / row.name
    report = examined(row, prefix)
    assert report.snapshot.errors == ()
    assert wrong(row, report, prefix) == []
    assert from_json(to_json(report)) == report


def test_the_sweep_finds_all_of_them_without_being_told(tmp_path: Path) -> None:
    made = [row.make(tmp_path / "projects" / row.name / "venv").prefix for row in ROWS]
    host = LabHost(this_host(), {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    machine = host.machine()
    request = ProbeRequest(host=host, seen=Snapshot(machine=machine), env=host.fresh_environment(), watch=Progress())
    found = builds.look(request)
    here = {p.prefix for p in found.others if p.prefix.startswith(str(tmp_path))}
    assert here == {str(p) for p in made}
    assert {b.prefix for b in found.builds} >= here
