"""Scan a machine, run the benchmark on what was found, and judge both."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from core.common.progress import Progress
from core.doctor.examine import diagnose_snapshot, preload_rules
from core.doctor.scan import PROBES, take_snapshot
from core.host.interface import Host
from core.model.facts import Snapshot
from core.model.findings import Report
from core.model.scan_options import DEFAULT_SCAN, ScanOptions
from core.model.steps import Step
from core.probes.probe import ProbeRequest

if TYPE_CHECKING:
    from core.benchmark.extent import Extent

SKIPPED_SECTIONS = ("trials", "program_trials")
"""Sections that the benchmark does without: it asks the frameworks itself."""


QUICK_SKIPPED_SECTIONS = (*SKIPPED_SECTIONS, "frameworks")
"""A quick run does not ask how they were built, either: on a cold disk reading that may take longer than all else."""


def measure_speed(
    host: Host,
    watch: Progress,
    *,
    seen: Snapshot | None = None,
    options: ScanOptions = DEFAULT_SCAN,
    extent: Extent | None,
    gpu: int | None = None,
) -> Report:
    """Run the benchmark on a ``seen`` machine, and diagnose both; scan first if that is None.

    ``extent``: a full run where it is None. ``gpu``: only this one, as nvidia-smi counts. If it scans, progress covers
    only the sections that the benchmark needs.
    """
    began = time.monotonic()
    from core.benchmark import run
    from core.benchmark.extent import full_run

    extent = extent or full_run()
    steps: tuple[Step, ...] = ()
    if seen is None:
        without, steps = QUICK_SKIPPED_SECTIONS if extent.quick else SKIPPED_SECTIONS, (Step.BENCHMARK,)
        probes = tuple(p for p in PROBES if p.section not in without)
        seen = take_snapshot(host, watch, options, probes=probes, preload=preload_rules)
    request = ProbeRequest(host=host, seen=seen, env=host.fresh_environment(), watch=watch, **asdict(options))
    result = run.run_benchmark(request, extent, gpu=gpu, began=began)
    report = diagnose_snapshot(replace(seen, benchmark=result), steps)
    # every cell would say only that it was not looked at
    return report if seen.frameworks or not steps else replace(report, grid=None)
