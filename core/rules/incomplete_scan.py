"""Rules about the scan itself: what could not be examined is reported, never guessed."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import N_, _, join_sentences, translate_fact
from core.common.text import join_names
from core.model.facts import Snapshot, Unexamined
from core.model.findings import Evidence, Finding
from core.model.steps import Step
from core.rules.wording import NOTE, UNKNOWN, make_finding, manual_fix, observation

PROBE_SUBJECTS = {
    "driver": (Step.DRIVER, N_("the GPU and its driver")),
    "environment": (Step.ENVIRONMENT, N_("the variables and search paths")),
    "pythons": (Step.FRAMEWORKS, N_("the Python environments")),
    "toolkits": (Step.TOOLKIT, N_("CUDA's libraries")),
    "cudnn": (Step.CUDNN, N_("the copies of cuDNN")),
    "loads": (Step.CUDNN, N_("whether cuDNN loads")),
    "imports": (Step.FRAMEWORKS, N_("what the frameworks import")),
    "starts": (Step.ENVIRONMENT, N_("how programs are started here")),
    "start_looks": (Step.ENVIRONMENT, N_("whether a fault depends on how a program is started")),
}
"""Section of the Snapshot -> its step, and the question that stays open without it."""


def probe_errors(seen: Snapshot) -> Iterator[Finding]:
    """A probe that crashed, was refused or ran out of time."""
    for error in seen.errors:
        step, what = PROBE_SUBJECTS.get(error.probe, (Step.ENVIRONMENT, error.probe))
        yield make_finding(
            f"{step}.not-examined",
            UNKNOWN,
            join_sentences(_("Undecided: {what}.", what=_(what)), _end_text(error.kind)),
            why=_("This report says nothing about it, neither good nor bad. Scan again to decide it."),
            evidence=[
                observation(
                    _("What happened"),
                    translate_fact(error.message) or error.kind,
                    _("probe {probe}", probe=error.probe),
                )
            ],
            subject=error.probe,
            fix=manual_fix(_("Scan again"), "convalesce scan"),
        )


def _end_text(kind: str) -> str:
    return {
        "crash": _("The scan was interrupted."),
        "time-out": _("The scan ran out of time."),
        "cancelled": _("The scan was cancelled."),
    }.get(kind, _("The scan was refused."))


def unexamined_places(seen: Snapshot) -> Iterator[Finding]:
    """Paths that did not respond: at the top if somebody named them, a note if nothing refers to them."""
    undecided = {(one.path, one.what) for one in seen.unexamined if one.wanted_by}
    for one in seen.unexamined:
        wanted = bool(one.wanted_by)
        if not wanted and (one.path, one.what) in undecided:
            continue  # told already, and as what it is for the person who asked
        seconds = _("{seconds} seconds", seconds=f"{one.seconds:.0f}")
        evidence = [
            observation(_("Waited for"), seconds),
            *([observation(_("What leads there"), join_names(one.wanted_by))] if wanted else []),
        ]
        if one.what == "imports":
            yield _imports(one, evidence)
            continue
        step = Step.ENVIRONMENT if one.what == "folder" else Step.FRAMEWORKS
        yield make_finding(
            f"{step}.not-examined" if wanted else f"{step}.left-alone",
            UNKNOWN if wanted else NOTE,
            _("{path} does not respond, so its content was not examined.", path=one.path)
            if one.what == "folder"
            else _("{path} did not finish in time, so it was not tested further.", path=one.path),
            why=_(
                "Everything else was examined. A program that looks there hangs as well, until the place "
                "responds again."
            )
            if wanted
            else _("Nothing that you named and nothing that is active refers to it. Everything else was examined."),
            evidence=evidence,
            subject=one.path,
            fix=manual_fix(
                _("See why it does not respond"),
                _("Reconnect the network folder or the disk, or remove what points to it; then scan again."),
            )
            if wanted and one.what == "folder"
            else None,
        )


def _imports(one: Unexamined, evidence: list[Evidence]) -> Finding:
    """Imports that there was no time to follow: no alarm, and undecided only where the person named the environment."""
    return make_finding(
        "frameworks.not-examined" if one.wanted_by else "frameworks.left-alone",
        UNKNOWN if one.wanted_by else NOTE,
        _("Time ran out before everything that {path} imports was examined.", path=one.path),
        why=_("The imports that were followed in time are judged; the others were not examined."),
        evidence=evidence,
        subject=one.path,
        fix=manual_fix(_("Scan again when the computer is less busy"), "convalesce scan"),
    )


def only_files(seen: Snapshot) -> Iterator[Finding]:
    """A system other than the running one was examined."""
    if seen.machine.other_root:
        yield make_finding(
            "environment.only-files",
            NOTE,
            _(
                "Only files below {folder} were read. Nothing of that system was loaded or run.",
                folder=seen.machine.other_root,
            ),
            why=_(
                "Its driver was not queried, its libraries were not called, and variables that its shells or services set are unknown. To find out, scan on the system itself while it is running."
            ),
            evidence=[observation(_("Processor"), seen.machine.architecture, seen.machine.release)],
            subject=seen.machine.other_root,
        )


RULES = (probe_errors, unexamined_places, only_files)
