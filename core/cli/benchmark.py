"""The command benchmark: convolutions on every GPU, whether they are right, from which files, and how fast."""

from __future__ import annotations

import argparse
from typing import Any

from core.common.i18n import _


def add_benchmark_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "benchmark", help=_("run convolutions on the GPU: are the results right, and is it as fast as it should be")
    )
    parser.add_argument("--json", action="store_true", help=_("print one JSON document and nothing else"))
    parser.add_argument("--quick", action="store_true", help=_("under ten seconds instead of under a minute"))
    parser.add_argument(
        "--gpu", type=int, metavar="N", help=_("only this GPU, as nvidia-smi numbers them; all if omitted")
    )
    parser.add_argument("--python", action="append", default=[], metavar="PATH", help=_("whose cuDNN and framework"))
    parser.add_argument("--full-names", action="store_true", help=_("keep user, host and device names in the output"))
    parser.set_defaults(command=run_benchmark)


def run_benchmark(options: argparse.Namespace) -> int:
    """Scan, benchmark, and print both's result."""
    import sys

    from core.cli import terminal
    from core.doctor.benchmark import measure
    from core.report.json_form import to_json
    from core.report.redact import redact
    from core.transaction.session_host import current_host

    with terminal.progress_on_stderr() as watch:
        report = measure(current_host(), watch, pythons=tuple(options.python), quick=options.quick, gpu=options.gpu)
    if not options.full_names:
        report = redact(report)
    if options.json:
        terminal.say_json(to_json(report))
    else:
        from core.benchmark.terminal_table import benchmark_table
        from core.report.text import report_text

        colour = terminal.can_use_colour()
        plain = "utf" not in (sys.stdout.encoding or "").lower()
        table = benchmark_table(report.snapshot.benchmark, plain=plain)
        terminal.say_result(
            f"{table}\n{report_text(report, colour=colour)}" if table else report_text(report, colour=colour)
        )
    return terminal.status_of(report)
