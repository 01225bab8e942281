"""Rules about the frameworks' benchmark: one fails, does not use the GPU, or maps other files than cuDNN alone does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.common.i18n import _
from core.model.facts import FrameworkRun, GpuRun, Snapshot
from core.model.facts.loading import Mapped
from core.model.findings import Finding
from core.rules.benchmark.wording import folders_of, gpu_name, gpu_runs, not_as_predicted, prediction_rows, run_concerns
from core.rules.cudnn.not_found import all_overriding
from core.rules.snapshot_queries import cudnn_mapped
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, observation


def framework_results(seen: Snapshot) -> Iterator[Finding]:
    """A framework fails, computes wrongly, or does not use the GPU, although cuDNN alone is correct."""
    for run in gpu_runs(seen):
        alone = any(c.right for c in run.checks) and not any(c.right is False for c in run.checks)
        for its in run.frameworks or ():
            if its.problem or its.right is False or (its.gpu is False and its.cuda):
                yield _framework_fails(run, its, alone=alone)
            elif its.gpu is False:
                yield make_finding(
                    "benchmark.framework-without-gpu",
                    NOTE,
                    _("{name} computes on the processor here: this build has no GPU support.", name=its.framework),
                    why=_("There is nothing to compare with, and nothing that the driver or cuDNN could do about it."),
                    subject=its.python,
                )


def _framework_fails(run: GpuRun, its: FrameworkRun, *, alone: bool) -> Finding:
    idle = its.gpu is False and bool(its.cuda) and not its.problem
    named_ = {"named": gpu_name(run), "framework": its.framework}
    if idle:
        title = _("{named}: {framework} does not use the GPU and computes on the processor.", **named_)
    elif alone:
        title = _("{named}: {framework} computes wrong convolutions, although cuDNN alone does not.", **named_)
    else:
        title = _("{named}: {framework} computes wrong convolutions.", **named_)
    said = its.problem or its.detail or its.output.strip()[-600:]
    return make_finding(
        "benchmark.framework",
        ERROR,
        title,
        why=_(
            "cuDNN computes correctly without it, with the files that the search predicts, so the cause is "
            "the framework's build or something else that it loads."
        )
        if alone
        else _("cuDNN fails outside the framework, too; fix that first."),
        subject=its.python,
        evidence=[
            *([observation(_("It said"), said)] if said else []),
            *([observation(_("Built for CUDA"), its.cuda)] if idle and its.cuda != "yes" else []),
            *(observation(_("It mapped"), m.path) for m in its.mapped if "cudnn" in m.name),
        ][:7]
        + run_concerns(run),
    )


def mixed_files(  # noqa: PLR0917 - the parts of a finding
    seen: Snapshot, run: GpuRun, id: str, title: str, subject: str, mapped: Iterable[Mapped]
) -> Finding:
    """Return the finding about parts of cuDNN that a process mapped from several folders."""
    override = any(m.origin == "LD_LIBRARY_PATH" for m in mapped)
    return make_finding(
        id,
        ERROR,
        title,
        cause="ld_library_path_override" if override else "mixed_cudnn_sublibraries",
        why=_(
            "The parts of cuDNN are made for each other. Mixed ones might work by chance, fail, or compute "
            "wrong results."
        ),
        subject=subject,
        evidence=[
            *(observation(_("Mapped from"), f) for f in folders_of(mapped, seen.machine.system)),
            *run_concerns(run),
        ],
        remedy=all_overriding(seen) if override else None,
    )


def framework_files(seen: Snapshot) -> Iterator[Finding]:
    """The framework mapped cuDNN files from two folders, or other files than the search predicts."""
    system = seen.machine.system
    for run in gpu_runs(seen):
        for its in run.frameworks or ():
            parts = cudnn_mapped(its.mapped)
            folders = folders_of(parts, system)
            differ = not_as_predicted(parts, run.predicted if its.predicted else (), system)
            if len(folders) > 1:
                title = _("{name} loads cuDNN's files from {n} folders.", name=its.framework, n=len(folders))
                yield mixed_files(seen, run, "benchmark.framework-mixed-files", title, its.python, parts)
            elif differ:
                yield make_finding(
                    "benchmark.framework-other-files",
                    WARNING,
                    _("{name} uses other files of cuDNN than the search predicts.", name=its.framework),
                    why=_(
                        "Only the files that a program really maps decide it; cuDNN alone was measured with the "
                        "predicted files."
                    ),
                    subject=its.python,
                    evidence=prediction_rows(differ) + run_concerns(run),
                )


RULES = (framework_results, framework_files)
