"""The command benchmark: convolutions on every GPU, whether they are right, from which files, and how fast."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from core.cli import terminal
from core.cli.options import add_full_names, add_json, add_python, given_path, number_within
from core.common.i18n import _

if TYPE_CHECKING:
    from core.benchmark.extent import Extent


def add_benchmark_command(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "benchmark", help=_("run convolutions on the GPU: are the results right, and is it as fast as it should be")
    )
    add_json(parser)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument(
        "--quick", action="store_true", help=_("take less than ten seconds instead of less than a minute")
    )
    extent.add_argument(
        "--thorough",
        action="store_true",
        help=_("measure every shape in every direction, beside every framework; takes some minutes"),
    )
    extent.add_argument(
        "--layers", type=given_path, metavar="FILE", help=_("measure your own convolutions, listed in a TOML file")
    )
    parser.add_argument(
        "--against",
        type=given_path,
        metavar="REPORT.json",
        help=_("compare the speeds with those of an earlier report"),
    )
    parser.add_argument(
        "--gpu",
        type=number_within(0, 999),
        metavar="N",
        help=_("only this GPU, as nvidia-smi numbers them; all if omitted"),
    )
    add_python(parser, _("the Python environment whose cuDNN and framework are measured"))
    add_full_names(parser)
    parser.set_defaults(command=run_benchmark)


def run_benchmark(options: argparse.Namespace) -> int:
    """Scan, benchmark, and print the result of both."""
    from core.doctor.benchmark import measure_speed
    from core.model.scan_options import ScanOptions
    from core.report.json_form import to_json
    from core.report.redact import redact
    from core.transaction.session_host import current_host

    extent = _extent(options)
    if options.against and options.json:
        raise terminal.UsageError(
            _("--against applies to the table; to compare two JSON reports, use convalesce report.")
        )
    before = terminal.read_report(options.against) if options.against else None
    with terminal.progress_on_stderr() as watch:
        report = measure_speed(
            current_host(), watch, options=ScanOptions(pythons=tuple(options.python)), extent=extent, gpu=options.gpu
        )
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
        if before is not None:
            from core.report.speeds import speeds_text

            table += "\n" + speeds_text(report, before)
        text = report_text(report, colour=colour, width=terminal.text_width())
        terminal.say_result(f"{table}\n{text}" if table else text)
    return terminal.status_of(report)


def _extent(options: argparse.Namespace) -> Extent:
    """Return how much to compute.

    Raises:
        UsageError: ``--layers`` names no list of layers.
    """
    from core.benchmark import extent
    from core.benchmark.layers import LARGEST_FILE, LayersError, read_layers

    if options.layers is None:
        return extent.quick_run() if options.quick else extent.thorough_run() if options.thorough else extent.full_run()
    try:
        return extent.run_of_layers(read_layers(terminal.read_file(options.layers, LARGEST_FILE)))
    except LayersError as e:
        raise terminal.UsageError(f"{options.layers}: {e}") from None
