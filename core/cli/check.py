"""The command check: the verdict for monitoring and CI, in the format that an engine reads."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from core import __version__
from core.cli.options import add_full_names, add_only, add_python, not_within, number_within
from core.cli.terminal import UsageError, read_file, read_report, report_write_errors, say_result, write_file
from core.common.i18n import _
from core.common.streams import discard_stream
from core.report.check.forms import FORMS

if TYPE_CHECKING:
    import argparse

    from core.model.findings import Report
    from core.report.check.expectations import Policy
    from core.report.check.outcome import Outcome, State

USUAL_LIMIT = 60.0
"""Seconds: longer than any scan takes, shorter than the engines' own time-outs."""


def add_check_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``check`` to the command line."""
    check = commands.add_parser("check", help=_("one line and an exit status, for monitors, schedulers and CI"))
    check.add_argument("--form", choices=FORMS, help=_("the output form and the exit statuses that an engine expects"))
    check.add_argument("--expect", type=Path, metavar="FILE", help=_("a policy (TOML) that this machine must meet"))
    check.add_argument("--write-expect", type=Path, metavar="FILE", help=_("write the policy that this machine meets"))
    check.add_argument("--out", type=Path, metavar="FILE", help=_("write to FILE in one step, and print nothing"))
    check.add_argument(
        "--length",
        type=_length,
        default=None,
        metavar="N",
        help=_("maximum length of the line in characters: 80 if omitted, at most 2048"),
    )
    check.add_argument(
        "--time-limit",
        type=_seconds,
        default=USUAL_LIMIT,
        metavar="SECONDS",
        help=_('answer "not known" after this many seconds'),
    )
    check.add_argument("--quiet", action="store_true", help=_("write nothing to standard error"))
    add_python(check)
    add_only(check)
    check.add_argument(
        "--try", action="store_true", dest="trials", help=_("also import the frameworks and run a convolution")
    )
    check.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help=_("another Linux system, below a folder: read only, nothing of it is run"),
    )
    check.add_argument("--report", type=Path, metavar="REPORT.json", help=_("judge another machine by its report"))
    add_full_names(check)
    check.set_defaults(command=run_check)


def run_check(options: argparse.Namespace) -> int:
    """Check this machine; return the engine's exit status."""
    import gc

    gc.disable()  # the process ends before garbage collection matters, as in a scan
    from core.report.check.forms.table import PLAIN, form_of
    from core.report.check.outcome import LINE_LENGTH, not_checked

    if options.quiet:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the program ends
    form = form_of(options.form) if options.form else PLAIN
    try:
        outcome, report = _make_outcome(options)
    except UsageError as e:
        if not options.form:
            raise
        print(
            f"convalesce: {e}", file=sys.stderr
        )  # status 2 says "critical" to one engine, and drains the node of another
        outcome, report = not_checked(str(e), 0.0, __version__), None
    if options.write_expect:
        _write_policy(options.write_expect, outcome.state, report)
    text = form.render(outcome, options.length or LINE_LENGTH)
    if options.out:
        _replace(options.out, text.encode("utf-8", "backslashreplace"))
    else:
        try:
            say_result(text)
        except BrokenPipeError:  # an engine that does not read the line may still wait for the status
            discard_stream(sys.stdout)
    gc.freeze()  # nor does the interpreter collect any at exit: a twentieth of the time
    return form.statuses[outcome.state]


def _make_outcome(options: argparse.Namespace) -> tuple[Outcome, Report | None]:
    from core.cli.scan import chosen_steps, other_root
    from core.doctor.check import check_machine, check_report
    from core.doctor.earlier_reads import with_earlier_reads
    from core.model.scan_options import ScanOptions
    from core.transaction.session_host import current_host

    policy = _policy(options.expect) if options.expect else None
    steps = chosen_steps(options.only)
    if not all(p.strip() for p in options.python):
        raise UsageError(_("--python is empty: is a variable not set?"))
    if options.report:
        return check_report(read_report(options.report), policy, steps, full_names=options.full_names)
    with with_earlier_reads():
        return check_machine(
            other_root(options) if options.root else current_host(),
            ScanOptions(steps=steps, trials=options.trials, pythons=tuple(options.python)),
            limit=options.time_limit,
            policy=policy,
            full_names=options.full_names,
        )


def _length(text: str) -> int:
    """Return how long the line may be.

    Raises:
        ArgumentTypeError: it is no number from 20 to the longest that any engine keeps.
    """
    from core.report.check.outcome import LONGEST_LINE

    return number_within(20, LONGEST_LINE)(text)


def _seconds(text: str) -> float:
    """Return a time limit.

    Raises:
        ArgumentTypeError: it is no number of seconds between 0.1 and a day.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 86400:
        raise not_within(text, 0.1, 86400)
    return seconds


def _policy(path: Path) -> Policy:
    from core.report.check.expectations import LARGEST_POLICY, PolicyError, read_policy

    try:
        return read_policy(read_file(path, LARGEST_POLICY))
    except PolicyError as e:
        raise UsageError(f"{path}: {e}") from None


def _write_policy(path: Path, state: State, report: Report | None) -> None:
    from core.report.check.expectations import policy_of

    if report is None or state in ("critical", "unknown"):
        raise UsageError(
            _(
                "A policy can be written only on a machine without faults; the state of this one is: {state}.",
                state=state,
            )
        )
    write_file(path, policy_of(report).encode())


def _replace(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it, so that a reader sees either the old or the new file.

    Raises:
        UsageError: it cannot be written.
    """
    import tempfile

    from core.host.output_file import refuse_planted

    if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
        write_file(path, data)
        return
    with report_write_errors(path):
        refuse_planted(path)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write(data)
        beside = Path(file.name)
        try:
            beside.chmod(0o644)  # the engine that reads it may be another account
            beside.replace(path)
        except OSError:
            with suppress(OSError):
                beside.unlink()
            raise
