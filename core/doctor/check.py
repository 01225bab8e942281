"""Check: the verdict for engines, within a time limit."""

from __future__ import annotations

import queue
import threading
import time

from msgspec.structs import replace

from core import __version__
from core.common.progress import CancelledError, Progress
from core.doctor.examine import diagnose_snapshot, examine
from core.host.interface import Host
from core.model.findings import Report
from core.model.scan_options import ScanOptions
from core.model.steps import Step
from core.report.check.expectations import Policy, answer_expectations
from core.report.check.outcome import Outcome, check_outcome, no_answer
from core.report.redact import Cleaner


def check_machine(
    host: Host, options: ScanOptions, *, limit: float, policy: Policy | None, full_names: bool
) -> tuple[Outcome, Report | None]:
    """Examine the machine and return the outcome, with the report that it was made of.

    The examination runs in a daemon thread; where it has not ended after ``limit`` seconds, its children are killed, the outcome
    is unknown, and there is no report. Without ``full_names`` the outcome's texts are redacted; the report is not.
    """
    policy = policy or Policy()
    pythons = tuple(dict.fromkeys((*options.pythons, *policy.environments)))
    options = replace(options, trials=options.trials or policy.needs_trials, pythons=pythons)
    watch = Progress()
    begun = time.monotonic()
    done: queue.SimpleQueue[Report | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            done.put(examine(host, watch, options))
        except Exception as e:  # noqa: BLE001 - raised again below, in the caller's thread
            done.put(e)

    threading.Thread(target=work, daemon=True, name="check").start()
    try:
        seen = done.get(timeout=limit)
    except queue.Empty:
        watch.cancel()
        return no_answer(time.monotonic() - begun, limit, __version__), None
    except KeyboardInterrupt:
        watch.cancel()
        raise
    if isinstance(seen, CancelledError):
        return no_answer(time.monotonic() - begun, limit, __version__), None
    if isinstance(seen, BaseException):
        raise seen
    return _conclude(seen, policy, time.monotonic() - begun, full_names=full_names)


def check_report(
    recorded: Report, policy: Policy | None = None, steps: tuple[Step, ...] = (), *, full_names: bool = False
) -> tuple[Outcome, Report]:
    """Return the outcome for a recorded machine, diagnosed by this version."""
    report = diagnose_snapshot(recorded.snapshot, steps)
    return _conclude(report, policy or Policy(), 0.0, full_names=full_names)


def _conclude(report: Report, policy: Policy, seconds: float, *, full_names: bool) -> tuple[Outcome, Report]:
    outcome = check_outcome(report, answer_expectations(policy, report), policy.accepted, seconds)
    return outcome if full_names else Cleaner(report.snapshot).redact_texts(outcome), report
