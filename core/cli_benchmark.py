"""The command ``benchmark``: convolutions on every GPU, whether they are right, from which files, and how fast."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from core.i18n import _

if TYPE_CHECKING:
    from core.findings import Report
    from core.watch import Watch


WITHOUT = ("trials",)
"""Sections that the benchmark does without: it asks the frameworks itself."""
QUICK_WITHOUT = (*WITHOUT, "frameworks")
"""A quick run does not ask how they were built, either: on a cold disk reading that may take longer than all else."""


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("benchmark", help=_("convolve on the GPU: is it right, and as fast as it should be"))
    parser.add_argument("--json", action="store_true", help=_("print one JSON document and nothing else"))
    parser.add_argument("--quick", action="store_true", help=_("under ten seconds instead of under a minute"))
    parser.add_argument("--gpu", type=int, metavar="N", help=_("only this GPU, as nvidia-smi counts; all if left out"))
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help=_("whose cuDNN and framework"))
    parser.add_argument("--full-names", action="store_true", help=_("keep user, host and device names in the output"))
    parser.set_defaults(command=benchmark)


def benchmark(options: argparse.Namespace) -> int:
    """Scan, benchmark, and print both's result."""
    import os
    import sys

    from core import terminal
    from core.findings import to_json
    from core.redact import redact

    with terminal.watching() as watch:
        report = measured(options, watch)
    if not options.full_names:
        report = redact(report)
    if options.json:
        terminal.say_json(to_json(report))
    else:
        from core.benchmark.show import as_table
        from core.report import as_text

        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        plain = "utf" not in (sys.stdout.encoding or "").lower()
        table = as_table(report.snapshot.benchmark, plain=plain)
        terminal.say_result(f"{table}\n{as_text(report, colour=colour)}" if table else as_text(report, colour=colour))
    return terminal.status_of(report)


def measured(options: argparse.Namespace, watch: Watch) -> Report:
    """Look at the machine, run the benchmark on what was seen, and judge both."""
    import time

    began = time.monotonic()
    from msgspec.structs import replace

    from core.doctor import PROBES, load_rules, look, report_on
    from core.host import this_host
    from core.probes import benchmark as probe
    from core.probes.request import Request
    from core.steps import Step

    host = this_host()
    pythons = tuple(options.python)
    without = QUICK_WITHOUT if options.quick else WITHOUT
    probes = tuple(p for p in PROBES if p.section not in without)
    seen = look(host, watch, pythons=pythons, probes=probes, meanwhile=load_rules)
    request = Request(host=host, seen=seen, env=host.fresh_environment(), watch=watch, pythons=pythons)
    result = probe.look(request, quick=options.quick, gpu=options.gpu, began=began)
    report = report_on(replace(seen, benchmark=result), steps=(Step.BENCHMARK,))
    # every cell would say only that it was not looked at
    return report if seen.frameworks else replace(report, grid=None)
