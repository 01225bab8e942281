"""Rules about the benchmark: the first rung that fails, wrong results, other files than predicted, too slow, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _, translate_fact
from core.common.late_pattern import late_pattern
from core.common.text import capitalise, join_names
from core.knowledge.causes import Cause, OptionalCause
from core.model.facts import Check, GpuRun, Rung, Snapshot
from core.model.findings import Evidence, Finding
from core.rules.benchmark import frameworks, speed
from core.rules.benchmark.wording import (
    cause_of,
    folders_of,
    free_memory,
    gpu_holders,
    gpu_name,
    gpu_runs,
    hiding_variable,
    not_as_predicted,
    prediction_rows,
    run_concerns,
    run_subject,
)
from core.rules.wording import ERROR, GOOD, NOTE, WARNING, make_finding, observation

PROGRAMS_XID = late_pattern(r"Xid \([^)]*\): (13|31|32|43|45|69)\b")
"""Faults that a program usually causes itself: exceptions, page faults, ended channels (NVIDIA, XID Errors)."""


def nothing_run(seen: Snapshot) -> Iterator[Finding]:
    """There was nothing to measure."""
    if seen.benchmark and seen.benchmark.problem:
        yield make_finding("benchmark.not-run", NOTE, seen.benchmark.problem)


def broken_rung(seen: Snapshot) -> Iterator[Finding]:
    """The first rung that fails names the layer."""
    for run in gpu_runs(seen):
        # Another rule reports wrong convolutions.
        broken = [r for r in run.rungs if r.state == "failed" and not (r.layer == "cudnn" and r.status == 0)]
        for number, rung in enumerate(broken):
            hidden = rung.call == "cuDeviceGet" and rung.status is None and bool(hiding_variable(seen))
            toolkit = rung.layer == "toolkit"
            severity = NOTE if hidden else WARNING if toolkit or number else ERROR
            cause = "" if hidden else cause_of(rung, run, seen)
            yield make_finding(
                f"benchmark.ladder-{rung.layer}",
                severity,
                _(
                    '{named}: the first step that fails is "{name}".',
                    named=gpu_name(run),
                    name=translate_fact(rung.name),
                ),
                cause=cause,
                why=_rung_meaning(rung, cause, run, hidden=hidden),
                subject=run_subject(run),
                evidence=[
                    *_call(rung),
                    *(
                        [observation(_("Variable"), hiding_variable(seen))]
                        if cause == "gpu_hidden_by_env" or hidden
                        else []
                    ),
                    *(gpu_holders(run) if cause == "gpu_memory_exhausted" else []),
                    *_kernel_rows(run),
                    *run_concerns(run),
                    *(
                        [observation(_("It printed"), run.output.strip()[:300])]
                        if run.output.strip() and not toolkit
                        else []
                    ),
                ],
                fix=free_memory(run) if cause == "gpu_memory_exhausted" else None,
            )


def _kernel_rows(run: GpuRun) -> list[Evidence]:
    """Return the kernel's messages during the run; they often explain more than the call does."""
    return [observation(_("Kernel log during the run"), line.strip(), "kernel") for line in run.xids[-3:]]


def _rung_meaning(rung: Rung, cause: OptionalCause, run: GpuRun, *, hidden: bool) -> str:
    passed = [r.name for r in run.rungs if r.state == "passed"]
    below = _("Every step before it works, up to: {passed}.", passed=_(passed[-1])) if passed else ""
    layer = {
        "driver": _("This is the layer of the driver: no program can use the GPU until it works."),
        "device": _("This is the layer of the card: the driver responds, but the GPU does not work."),
        "toolkit": _("This is a library of the CUDA toolkit; programs that do not use it are not affected."),
        "cudnn": _("Driver and card work, so the fault is in cuDNN: its files, or the CUDA libraries that it needs."),
    }[rung.layer]
    if hidden:
        return _("CUDA_VISIBLE_DEVICES hides this GPU from programs, so it was not measured.")
    if cause == "gpu_memory_exhausted":
        return below + _(
            "Nearly all of the GPU's memory was in use before the benchmark began, so the failure shows little else."
        )
    return below + layer


def _call(rung: Rung) -> list[Evidence]:
    return [
        observation(_("Call"), f"{rung.call}: {rung.answer}" if rung.answer else rung.call),
        *([observation(_("Meaning"), translate_fact(rung.meaning))] if rung.meaning else []),
    ]


def process_died(seen: Snapshot) -> Iterator[Finding]:
    """The process crashed or hung after the ladder."""
    for run in gpu_runs(seen):
        if run.ended and not any(r.state == "failed" for r in run.rungs):
            what = re.sub(r"^(\w)", lambda m: m[1].lower(), translate_fact(run.during)) or _("working")
            yield make_finding(
                "benchmark.died",
                ERROR,
                _("{named}: cuDNN ended the program, or hung, while {what}.", named=gpu_name(run), what=what),
                why=_(
                    "A program that does the same fails in the same way. The other measurements were made without "
                    "this step."
                ),
                subject=run_subject(run),
                evidence=[
                    observation(_("Outcome"), run.ended),
                    *_kernel_rows(run),
                    *run_concerns(run),
                    *([observation(_("It printed"), run.output.strip()[:300])] if run.output.strip() else []),
                ],
            )


def one_way(seen: Snapshot) -> Iterator[Finding]:
    """Only one of cuDNN's two interfaces can convolve, so that some programs fail and others do not."""
    for run in gpu_runs(seen):
        every = [c for c in run.checks if c.kind == "exact" and c.type == "fp32" and c.layout == "NCHW"]
        works = any(c.right for c in every)
        for way in dict.fromkeys(c.algorithm for c in every if c.right is None and c.algorithm):
            if works and not any(c.right and c.algorithm.startswith(way) for c in every):
                said = next(c.detail for c in every if c.algorithm == way)
                yield make_finding(
                    "benchmark.one-way",
                    WARNING,
                    _(
                        "{named}: cuDNN computes convolutions through only one of its interfaces; the {way} do not work.",
                        named=gpu_name(run),
                        way=way,
                    )
                    if way.endswith("s")
                    else _(
                        "{named}: cuDNN computes convolutions through only one of its interfaces; the {way} interface does not work.",
                        named=gpu_name(run),
                        way=way,
                    ),
                    why=_(
                        "Programs call cuDNN in one of two ways: PyTorch through the graph interface, others through the older convolution functions. So one program works and another one fails."
                    ),
                    subject=run_subject(run),
                    evidence=[observation(_("It responds"), said), *run_concerns(run)],
                )


def wrong_results(seen: Snapshot) -> Iterator[Finding]:
    """A convolution gave a wrong result although every call succeeded."""
    for run in gpu_runs(seen):
        bad = [c for c in run.checks if c.right is False]
        if not bad:
            continue
        cause, why, more = _blamed_cause(run, bad, seen)
        yield make_finding(
            "benchmark.wrong-result",
            ERROR,
            _("{named}: convolutions give wrong results, and no call reports an error.", named=gpu_name(run)),
            cause=cause,
            why=why,
            subject=run_subject(run),
            evidence=[
                *more,
                *(
                    observation(
                        f"{capitalise(c.kind)}: {c.type}, {c.layout}, {c.direction}", f"{c.algorithm}: {c.detail}"
                    )
                    for c in bad[:4]
                ),
                *run_concerns(run),
            ],
        )


def _blamed_cause(run: GpuRun, bad: list[Check], seen: Snapshot) -> tuple[Cause, str, list[Evidence]]:
    """Return the cause of wrong results as far as the evidence determines it, and that evidence."""
    rungs = {r.name: r.state for r in run.rungs if r.layer in ("device", "toolkit")}
    plain = [name for name, state in rungs.items() if state == "failed"]
    errors = run.card.ecc_uncorrected if run.card else None
    logged = (*(seen.driver.kernel_log or () if seen.driver else ()), *run.xids)
    xids = [line for line in logged if "Xid" in line and not PROGRAMS_XID.search(line)]
    if plain or errors or xids:
        rows = [observation(_("Also wrong without cuDNN"), name) for name in plain]
        rows += [observation(_("Uncorrected memory errors"), errors, "NVML")] if errors else []
        rows += [observation(_("Kernel log"), line) for line in xids[-2:]]
        return "hardware_fault", _("The card itself is faulty: there are signs of it outside cuDNN, too."), rows
    folders = folders_of(run.mapped, seen.machine.system)
    if len(folders) > 1:
        rows = [observation(_("cuDNN files were mapped from"), folder) for folder in folders]
        return "mixed_cudnn_sublibraries", _("Files from different copies of cuDNN are loaded together."), rows
    preloaded = next(
        (v for v in seen.variables if v.name == "LD_PRELOAD" and v.value),
        None,
    )
    if preloaded:
        row = observation(_("Preloaded into every program"), preloaded.value, preloaded.source or "LD_PRELOAD")
        why = _(
            "A preloaded library can alter what cuDNN computes. Run the benchmark without it to see whether it does."
        )
        return "wrong_results", why, [row]
    unsteady = any(c.kind == "repeated" for c in bad)
    steady = _("The same run gives different bits each time, which points to the card.") if unsteady else ""
    why = _(
        "{steady}Our own kernel and the copies are right, and all cuDNN files come from one folder. To "
        "decide it, run the same benchmark with another cuDNN release (if it is wrong again: the card) "
        "and on another card (if it is wrong again: cuDNN).",
        steady=steady,
    )
    return (
        "wrong_results",
        why,
        [observation(_("Right without cuDNN"), join_names(name for name, state in rungs.items() if state == "passed"))],
    )


def other_files(seen: Snapshot) -> Iterator[Finding]:
    """The process mapped another file than the search predicted, or cuDNN's files come from two folders."""
    system = seen.machine.system
    for run in gpu_runs(seen):
        differ = not_as_predicted(run.mapped, run.predicted, system)
        folders = folders_of(run.mapped, system)
        if differ and len(folders) == 1:
            yield make_finding(
                "benchmark.other-files",
                WARNING,
                _("{named}: other library files were used than the search predicts.", named=gpu_name(run)),
                why=_(
                    "Only the files that a program really maps decide it. Something other than search paths is involved: a preloaded library, a file that was replaced, or a loader's cache."
                ),
                subject=run_subject(run),
                evidence=prediction_rows(differ) + run_concerns(run),
            )
        elif len(folders) > 1:
            title = _("{named}: cuDNN's files came from {count} folders.", named=gpu_name(run), count=len(folders))
            yield frameworks.mixed_files(seen, run, "benchmark.mixed-files", title, run_subject(run), run.mapped)


def right_results(seen: Snapshot) -> Iterator[Finding]:
    """Everything that could be checked is correct."""
    for run in gpu_runs(seen):
        told = [c for c in run.checks if c.right is not None]
        whole = (
            not run.ended
            and all(r.state != "failed" for r in run.rungs)
            and len(folders_of(run.mapped, seen.machine.system)) < 2
        )
        if told and all(c.right for c in told) and whole:
            kinds = join_names(dict.fromkeys(c.type for c in told))
            yield make_finding(
                "benchmark.right", GOOD,
                _("{named}: all {count} convolution checks passed ({kinds}), with cuDNN {version}.", named=gpu_name(run), count=len(told), kinds=kinds, version=run.version or _('of unknown version')),
                subject=run_subject(run),
            )  # fmt: skip


RULES = (
    nothing_run,
    broken_rung,
    process_died,
    wrong_results,
    one_way,
    other_files,
    *speed.RULES,
    *frameworks.RULES,
    right_results,
)
