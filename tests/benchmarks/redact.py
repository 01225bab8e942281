"""Whether taking names out of a report takes time in proportion to its size: 5 MB and 50 MB.

python -m tests.benchmarks.redact
"""

from __future__ import annotations

import sys
import time

from core.model.facts import Environment, Machine, Snapshot, Variable
from core.model.findings import Report
from core.report.json_form import to_json
from core.report.redact import redact
from installer.by_hand import by_hand

PEOPLE = tuple(f"person{i}x" for i in range(200))


def report(size: int) -> Report:
    """Return a report of about ``size`` bytes as JSON: different paths, some with names."""
    rows, left, i = [], size, 0
    while left > 0:
        person = PEOPLE[i % len(PEOPLE)]
        value = (
            f"/data/{person}/env{i}/lib/python3.11/site-packages/nvidia/cudnn/lib:/home/{person}/{i}:/opt/lib/libcudnn.so.9 "
            * 4
        )
        rows.append(Variable(name=f"V{i}", value=value))
        left -= len(value) + 60
        i += 1
    machine = Machine(system="linux", user="marialopez", host_name="wks0815.example.org", people=PEOPLE)
    return Report(snapshot=Snapshot(machine=machine, environment=Environment(variables=tuple(rows))))


def main() -> int:
    """Print the seconds of both sizes, and their ratio."""
    took = []
    for megabytes in (5, 50):
        made = report(megabytes * 1_000_000)
        start = time.process_time()
        redact(made)
        took.append(time.process_time() - start)
        print(f"{len(to_json(made)) / 1e6:6.1f} MB  {took[-1]:7.2f} s")
    print(f"ratio  {took[1] / took[0]:.2f}")
    return 0


if __name__ == "__main__":
    by_hand(__doc__)
    sys.exit(main())
