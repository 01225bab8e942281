"""The commands that work on recorded reports: report and triage; and the parts of explain that need no scan."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from core.cli import terminal
from core.cli.options import add_json, add_report, given_path
from core.common.exit_codes import FOUND, OK
from core.common.i18n import _, n_

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

    from core.model.findings import Report
    from core.report.help_pages import Page
    from core.report.triage.reading import Item

MAX_WORD_CHARACTERS = 80
"""Most characters of a session code or a cause; longer texts are messages."""


def add_report_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``report`` to the command line."""
    report = commands.add_parser("report", help=_("show a recorded report in another form, or next to another one"))
    add_report(report)
    form = report.add_mutually_exclusive_group()
    form.add_argument("--html", action="store_true", help=_("one file for a browser and for printing"))
    form.add_argument("--markdown", action="store_true", help=_("for an issue tracker"))
    form.add_argument(
        "--against", type=given_path, metavar="OTHER.json", help=_("what differs from another machine's report")
    )
    report.add_argument("--json", action="store_true", help=_("with --against: print one JSON document"))
    report.add_argument(
        "--out", type=given_path, metavar="FILE", help=_("write to FILE in one step, and print nothing")
    )
    report.add_argument("--full-names", action="store_true", help=_("keep user, host and device names"))
    report.set_defaults(command=_report)


def add_triage_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``triage`` to the command line."""
    triage = commands.add_parser("triage", help=_("combine many reports into one table"))
    triage.add_argument(
        "folder", type=given_path, metavar="FOLDER|FILE|-", help=_("reports, or JSON lines (- for standard input)")
    )
    add_json(triage)
    told = triage.add_mutually_exclusive_group()
    told.add_argument(
        "--suspects",
        type=given_path,
        metavar="REPORT.json",
        help=_("what sets this machine apart from the healthy ones"),
    )
    told.add_argument(
        "--export",
        type=given_path,
        metavar="FILE",
        help=_("a row for each machine: JSON lines, or Parquet (FILE.parquet)"),
    )
    triage.set_defaults(command=_triage)


def _report(options: argparse.Namespace) -> int:
    from core.doctor.examine import with_findings
    from core.report.redact import redact

    report = with_findings(terminal.read_report(options.report))
    if not options.full_names:
        report = redact(report)
    text = _comparison(report, options) if options.against else _form(options)(report)
    if options.out:
        terminal.write_file(options.out, text.encode("utf-8", "backslashreplace"))
    else:
        terminal.say_result(text)
    return OK


def _form(options: argparse.Namespace) -> Callable[[Report], str]:
    if options.json:
        raise terminal.UsageError(_("--json works only with --against; the report itself is JSON already."))
    if options.html:
        from core.report.html import as_html

        return as_html
    if options.markdown:
        from core.report.text import as_markdown

        return as_markdown
    from core.report.text import report_text

    return report_text


def _comparison(report: Report, options: argparse.Namespace) -> str:
    from core.doctor.examine import with_findings
    from core.report.compare import compare_reports, comparison_text
    from core.report.json_form import indented_json
    from core.report.speeds import speeds_text

    other = terminal.read_report(options.against)
    comparison = compare_reports(report, with_findings(other))
    if options.json:
        return indented_json(comparison).decode()
    measured = report.snapshot.benchmark and other.snapshot.benchmark
    return comparison_text(comparison) + (f"\n{speeds_text(report, other)}" if measured else "")


def _triage(options: argparse.Namespace) -> int:
    from core.report.json_form import indented_json
    from core.report.triage.table import tabulate_reports, triage_text

    if options.suspects:
        return _suspects(options)
    if options.export:
        return _export(options)
    table = tabulate_reports(_items(options.folder))
    for bad in table.malformed:
        print("convalesce: " + _("skipped: {file} {problem}.", file=bad.file, problem=bad.problem), file=sys.stderr)
    terminal.say_json(indented_json(table)) if options.json else terminal.say_result(triage_text(table))
    return OK


def _items(place: Path) -> Iterator[Item]:
    """Return the reports of a folder, a file, or standard input.

    Raises:
        UsageError: there is no such place.
    """
    from core.report.triage.reading import read_all, read_stream

    if str(place) == "-":
        return read_stream(sys.stdin.buffer)
    if not place.exists():
        raise terminal.UsageError(_("{folder} is not a folder or a file.", folder=place))
    return read_all(place)


def _suspects(options: argparse.Namespace) -> int:
    from core.report.json_form import indented_json
    from core.report.triage.reading import BadFile, read_all
    from core.report.triage.table import difference_lines, machine_differences

    _name, machine = next(
        read_all(options.suspects), ("", BadFile(file=str(options.suspects), problem=_("is not a report")))
    )
    if isinstance(machine, BadFile):
        raise terminal.UsageError(f"{options.suspects} {machine.problem}")
    found = machine_differences(_items(options.folder), machine)
    if options.json:
        terminal.say_json(indented_json(found))
        return OK
    head = _("What sets this machine apart from the healthy ones, the most unusual first")
    lines = difference_lines(found) or ["  " + _("Nothing: it is like the other machines, or none of them is healthy.")]
    terminal.say_result("\n".join((head, *lines)) + "\n")
    return OK


def _export(options: argparse.Namespace) -> int:
    from core.host.output_file import refuse_planted
    from core.report.triage.export import ExportError, export_file

    try:
        with terminal.report_write_errors(options.export):
            refuse_planted(options.export)
            count = export_file(_items(options.folder), options.export)
    except ExportError as e:
        raise terminal.UsageError(str(e)) from None
    terminal.say_result(
        n_("{n} machine is in {path}.", "{n} machines are in {path}.", count, path=options.export) + "\n"
    )
    return OK


def explain_without_scan(options: argparse.Namespace) -> int | None:
    """Answer what needs no scan: a session code, a step or a cause; None for every other text."""
    from core.report.help_pages import find_page
    from core.report.session_code import is_code

    if len(options.text) > MAX_WORD_CHARACTERS or Path(options.text).is_file():
        return None  # a folder of a word's name says nothing
    if is_code(options.text):
        return _tell_code(options)
    found = find_page(options.text)
    return None if found is None else _tell_page(found, options)


def _tell_page(found: Page, options: argparse.Namespace) -> int:
    from core.report.help_pages import page_text
    from core.report.json_form import indented_json

    if options.json:
        terminal.say_json(indented_json(found))
    else:
        terminal.say_result(page_text(found, colour=terminal.can_use_colour(), width=terminal.text_width()))
    return OK


def _tell_code(options: argparse.Namespace) -> int:
    """Show the findings of a session code."""
    from core.knowledge.causes import cause_rows
    from core.report.session_code import CodeError, code_json, code_text, decode_code

    try:
        told = decode_code(options.text)
    except CodeError as e:
        raise terminal.UsageError(str(e)) from None
    terminal.say_json(code_json(told, cause_rows())) if options.json else terminal.say_result(
        code_text(told, cause_rows())
    )
    return FOUND if any(i.severity == "error" for i in told.items) else OK
