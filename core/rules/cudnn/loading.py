"""Rules about loading: for every consumer, whether cuDNN really loads, and if not, the one reason why."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from core.common.i18n import _, join_sentences, n_, translate_fact
from core.knowledge.horizon import is_beyond_horizon
from core.model.facts import RollCall, Snapshot
from core.model.findings import Finding
from core.model.paths import file_name
from core.model.remedies import join_remedies
from core.model.steps import Severity
from core.rules import newer
from core.rules.consumer_loads import (
    ConsumerLoad,
    by_importance,
    call_failed,
    calls_waiting_for_driver,
    describe_copy,
    is_assembled,
    load_failures,
    parts_elsewhere,
)
from core.rules.cudnn import cuda_libraries, late_dependencies, not_found, wrong_copy
from core.rules.cudnn.files import file_faults, signature_evidence
from core.rules.snapshot_queries import candidate_evidence, limit_rows
from core.rules.wording import (
    ERROR,
    GOOD,
    NOTE,
    UNKNOWN,
    changeable_evidence,
    make_finding,
    manual_fix,
    observation,
    with_concerns,
)

Reason = Callable[[ConsumerLoad], Iterator[Finding]]


def copy_faults(c: ConsumerLoad) -> Iterator[Finding]:
    """Faults in the files of the consumer's own copy, or else of the copy that it takes."""
    for copy in (c.own, c.copy):
        for fault in file_faults(c.seen, copy) if copy else ():
            if fault.id == "cudnn.sublibrary-missing" and copy and is_assembled(c, copy):
                continue
            leaked = (
                observation(_("Taken from elsewhere"), f"cudnn {role}: {folder}", "loader")
                for role, folder in parts_elsewhere(c)
            )
            rows = (*fault.evidence, *leaked, *load_failures(c))
            other = (
                wrong_copy.foreign_folder_fix(c) if fault.cause == "dll_wrong_architecture" and copy is c.copy else None
            )
            right = wrong_copy.copy_behind_foreign(c) if other else None
            remedy = wrong_copy.preferring_remedy(c, right) if right else fault.remedy
            yield replace(fault, evidence=limit_rows(list(rows)), fix=other or fault.fix, remedy=remedy)


def roll_call_failed(c: ConsumerLoad) -> Iterator[Finding]:
    """The roll call failed, and no observation explains it."""
    rows = load_failures(c)
    roll = c.load.roll_call
    # a wheel's, loaded without any search
    by_path = roll is not None and file_name(c.system, roll.library) != roll.library
    if not rows or not (c.winner or by_path):
        return
    late = roll is not None and _ran_out_of_time(roll)
    label = translate_fact(c.load.consumer.label)
    yield make_finding(
        "cudnn.roll-call-failed",
        UNKNOWN if late else ERROR,
        _("Whether cuDNN loads for {label} is not known: the child process took too long.", label=label)
        if late
        else _("cuDNN does not load completely for {label}.", label=label),
        why=_("A slow disk, a virus scanner or a busy machine can be the reason. The files look intact.")
        if late
        else _(
            "A child process loaded cuDNN as this program does and called every part. The files look intact, so the reason is unknown; the loader's message is shown."
        ),
        evidence=[*rows, *candidate_evidence(c.main)],
        subject=c.load.consumer.id,
        fix=manual_fix(
            _("Find out more"), _("Run: convalesce scan --thorough, which also checks every file's checksum.")
        ),
    )


def _ran_out_of_time(roll: RollCall) -> bool:
    """Whether nothing failed but what the child was stopped in."""
    said = [c.meaning for c in roll.calls if c.result is None and c.meaning]
    end = roll.ended.rpartition(": ")[2]
    return roll.timed_out and all(end in meaning for meaning in said)


def untrusted_copy(c: ConsumerLoad) -> Iterator[Finding]:
    """Others can change what would be loaded, and either nobody named it, or it would run with an administrator's rights."""
    at = c.load.changeable
    if not c.load.refused or at is None:
        return
    elevated = c.seen.machine.elevated is True
    label = translate_fact(c.load.consumer.label)
    yield make_finding(
        "cudnn.not-trusted",
        UNKNOWN,
        _("Found, not tested: other users can change {path}.", path=at.path),
        why=join_sentences(
            _("Loading a library runs its code, and whoever can change it decides what that does."),
            _("With administrator rights, nothing is run that other users can change.")
            if elevated
            else _("You did not name it, and it is neither active nor on a search path. Only its files were read."),
        ),
        evidence=[observation(_("For"), label), *changeable_evidence(at), *candidate_evidence(c.main)],
        subject=at.path,
        fix=manual_fix(
            _("Test it anyway"),
            _("Run as the account that uses it: convalesce scan --python {path}", path=c.load.consumer.prefix)
            if elevated
            else _("Name it with --python to test it: convalesce scan --python {path}", path=c.load.consumer.prefix),
        )
        if c.load.consumer.prefix
        else None,
    )


def changeable_copy(c: ConsumerLoad) -> Iterator[Finding]:
    """Others can change what was loaded; it was tried because it was named, is active or is on a search path."""
    at = c.load.changeable
    if at is None or c.load.roll_call is None:
        return
    yield make_finding(
        "cudnn.changeable",
        NOTE,
        _(
            "{label} loads cuDNN from where other users can change it: {path}.",
            label=translate_fact(c.load.consumer.label),
            path=at.path,
        ),
        why=_("Whoever can change a library decides what it answers, so its answers alone prove nothing."),
        evidence=[
            observation(_("Loaded"), c.load.roll_call.loaded or c.load.roll_call.library),
            *changeable_evidence(at),
        ],
        subject=c.load.consumer.id,
    )


def not_tried(c: ConsumerLoad) -> Iterator[Finding]:
    """The search was made, but not the roll call."""
    if c.winner and c.load.roll_call is None and not c.load.refused:
        yield make_finding(
            "cudnn.not-called",
            NOTE if c.seen.machine.other_root else UNKNOWN,
            _(
                "Whether {copy} loads for {label} was not tested.",
                copy=describe_copy(c.copy),
                label=translate_fact(c.load.consumer.label),
            ),
            why=_("Its files were found and look intact. Only loading them in a child process can prove it."),
            evidence=candidate_evidence(c.main),
            subject=c.load.consumer.id,
        )


def without_driver(c: ConsumerLoad) -> Iterator[Finding]:
    """Parts that need the driver's own library, which a machine or image without a driver lacks."""
    parts = calls_waiting_for_driver(c)
    if not parts or load_failures(c):
        return
    yield make_finding(
        "cudnn.waits-for-driver",
        NOTE,
        n_(
            "{n} library of cuDNN opens for {label} only on a machine with the GPU driver.",
            "{n} libraries of cuDNN open for {label} only on a machine with the GPU driver.",
            len(parts),
            label=translate_fact(c.load.consumer.label),
        ),
        why=_(
            "The driver's own library is not on this machine. That is not a fault of cuDNN; everything else "
            "that it needs was found."
        ),
        evidence=[
            *(
                observation(
                    f"{call.function} {file_name(c.system, call.library)}",
                    translate_fact(call.meaning),
                    _("roll call in a child process"),
                )
                for call in parts
            ),
            observation(_("Copy"), describe_copy(c.copy)),
        ],
        subject=c.load.consumer.id,
    )


def loads_completely(c: ConsumerLoad) -> Iterator[Finding]:
    """Everything loaded, and every call succeeded."""
    roll = c.load.roll_call
    if roll is None or not (roll.calls or roll.version) or load_failures(c) or calls_waiting_for_driver(c):
        return
    if c.load.changeable:
        return  # Whoever can change the copy may have written its results.
    yield make_finding(
        "cudnn.loads",
        GOOD,
        n_(
            "cuDNN {version} loads for {label}: {n} call to it in a child process succeeded.",
            "cuDNN {version} loads for {label}: {n} calls to it in a child process succeeded.",
            sum(not call_failed(call.function, call.result) for call in roll.calls),
            version=roll.version or c.load.major,
            label=translate_fact(c.load.consumer.label),
        ),
        evidence=[
            observation(_("Loaded"), roll.loaded or roll.library, _("roll call in a child process")),
            observation(_("Copy"), describe_copy(c.copy)),
            *(signature_evidence(c.copy) if c.copy else ()),
        ],
        subject=c.load.consumer.id,
    )


REASONS: tuple[Reason, ...] = (
    not_found.overridden_by_variable,
    copy_faults,
    not_found.search_stopped,
    not_found.not_found,
    wrong_copy.shadowed_copy,
    wrong_copy.too_old,
    wrong_copy.mixed_releases,
    wrong_copy.parts_missing,
    late_dependencies.cpp_runtime,
    late_dependencies.missing_zlibwapi,
    late_dependencies.bare_libcuda,
    cuda_libraries.other_cuda,
    cuda_libraries.cublas_mismatch,
    late_dependencies.missing_nvrtc,
    cuda_libraries.runtime_not_found,
    wrong_copy.path_too_long,
    wrong_copy.path_characters,
    roll_call_failed,
    untrusted_copy,
    not_tried,
    without_driver,
    loads_completely,
)
"""Why a load fails, the surest and deepest reason first. Of each load the first reason above a note is reported."""


NEWER_CUDNN: tuple[Reason, ...] = (copy_faults, untrusted_copy, newer.newer_load)
"""What is reported of a cuDNN that is newer than the tables: only what its files' headers and records show."""
OF_CUDA = (
    cuda_libraries.other_cuda,
    cuda_libraries.cublas_mismatch,
    late_dependencies.missing_nvrtc,
    cuda_libraries.runtime_not_found,
)


def applicable_reasons(c: ConsumerLoad) -> tuple[Reason, ...]:
    """Return the reasons that apply to a load: all, or only those independent of the tables for a newer release."""
    copy = c.copy or c.own
    if is_beyond_horizon("cudnn", c.load.major):
        return NEWER_CUDNN
    if copy and is_beyond_horizon("cuda", copy.cuda_major):
        return (*(r for r in REASONS if r not in (*OF_CUDA, loads_completely)), newer.newer_load)
    return REASONS


def judge_loads(seen: Snapshot) -> Iterator[Finding]:
    """Judge every load; the same fault of several consumers is one finding that names them all."""
    told: dict[tuple[str, str], Finding] = {}
    for c in by_importance(seen):
        for found in judge_load(c):
            key = (found.id, found.subject)
            old = told.get(key)
            if old is None:
                told[key] = with_concerns(found, c.concerns)
            elif c.concerns.consumer not in old.consumers:
                worst = max(old.severity, found.severity)
                more = dict.fromkeys((*old.all_subjects, *found.all_subjects))
                subjects = tuple(more) if len(more) > 1 else ()
                remedy = join_remedies(old.remedy, found.remedy)
                told[key] = with_concerns(replace(old, severity=worst, subjects=subjects, remedy=remedy), c.concerns)
    yield from told.values()


def judge_load(c: ConsumerLoad) -> Iterator[Finding]:
    """Yield the reason why one load fails, or that it works, and any notes."""
    for reason in (changeable_copy, *applicable_reasons(c)):
        for found in reason(c):
            yield found
            if found.severity > Severity.NOTE:
                return


RULES = (judge_loads,)
