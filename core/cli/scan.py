"""The commands scan and replay."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from core.cli import terminal
from core.common.i18n import _

if TYPE_CHECKING:
    import argparse

    from core.host.interface import Host
    from core.model.findings import Report
    from core.model.scan_options import ScanOptions
    from core.model.steps import Step


def run_scan(options: argparse.Namespace) -> int:
    """Scan this machine, or another one below ``--root``."""
    gc.disable()  # a scan ends before its garbage matters; collecting it took a tenth of the time
    from core.doctor.earlier_reads import with_earlier_reads
    from core.doctor.examine import examine
    from core.host.this_host import this_host
    from core.model.scan_options import ScanOptions
    from core.transaction.session_host import current_host

    steps = chosen_steps(options.only)
    other = other_root(options) if options.root else None
    chosen = ScanOptions(
        steps=steps,
        thorough=options.thorough,
        trials=options.trials,
        at_once=options.trials,
        pythons=tuple(options.python),
    )
    if options.program:
        chosen = _with_programs(chosen, options.program, other or this_host())
    with terminal.progress_on_stderr() as watch, with_earlier_reads(wanted=not options.thorough):
        report = examine(other or current_host(), watch, chosen)

    from core.doctor.history import with_history  # while the probes waited these were imported
    from core.doctor.report_share import share_report
    from core.host.policy import this_policy
    from core.report.redact import redact

    report = report if other else with_history(report)
    if not other and (told := share_report(report, this_policy())):
        print(f"convalesce: {told}", file=sys.stderr)
    if not options.full_names:
        report = redact(report)
    try:
        if options.out:
            from core.report.json_form import to_json

            terminal.write_file(options.out, to_json(report))
    finally:  # a file that cannot be written must not cost the result
        status = _show(report, as_json=options.json)
    gc.freeze()  # nor does the interpreter collect any at exit
    return status


def _with_programs(chosen: ScanOptions, programs: list[str], host: Host) -> ScanOptions:
    from msgspec.structs import replace

    from core.doctor.programs import sort_chosen

    named = sort_chosen(programs, host)
    if named.problem:
        raise terminal.UsageError(named.problem)
    return replace(
        chosen,
        pythons=(*chosen.pythons, *named.pythons),
        programs=named.programs,
        script=named.script,
        script_folder=named.script_folder,
    )


def other_root(options: argparse.Namespace) -> Host:
    """Return the system below the folder that was named.

    Raises:
        UsageError: it is no Linux system, or something of it should be run.
    """
    if sys.platform == "win32":
        raise terminal.UsageError(_("--root examines Linux systems, and on Linux only."))
    if options.trials:
        raise terminal.UsageError(_("--try cannot be combined with --root: nothing of another system is run."))
    from core.doctor.other_root import OtherRootHost, is_linux_root

    if not is_linux_root(options.root):
        raise terminal.UsageError(
            _("{folder} is not the root of a Linux system: it has no folders etc and usr.", folder=options.root)
        )
    return OtherRootHost(options.root)


def run_replay(options: argparse.Namespace) -> int:
    """Diagnose a recorded report again."""
    from core.doctor.examine import diagnose_again

    return _show(diagnose_again(terminal.read_report(options.report)), as_json=options.json)


def chosen_steps(only: str) -> tuple[Step, ...]:
    """Return the steps that ``--only`` names.

    Raises:
        UsageError: it names something else.
    """
    from core.model.steps import Step

    words = [w.strip() for w in only.split(",") if w.strip()]
    unknown = [w for w in words if w not in {s.value for s in Step}]
    if unknown:
        raise terminal.UsageError(
            _(
                "--only does not know {name}; use one of {words}.",
                name=repr(unknown[0]),
                words=", ".join(s.value for s in Step),
            )
        )
    return tuple(Step(w) for w in words)


def _show(report: Report, *, as_json: bool) -> int:
    from core.report.json_form import to_json

    if as_json:
        terminal.say_json(to_json(report))
    else:
        from core.report import session_code
        from core.report.text import report_text

        code = session_code.encode_code(session_code.decoded_report(report))
        terminal.say_result(
            report_text(report, colour=terminal.can_use_colour(), width=terminal.text_width())
            + "\n"
            + _("To pass it on over the phone: {code}  (convalesce explain {code})", code=code)
            + "\n"
        )
    return terminal.status_of(report)
