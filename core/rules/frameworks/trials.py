"""Rules about trials, in which a framework was imported and used in its own interpreter: known messages and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from core.common.i18n import N_, _, join_sentences, translate_fact
from core.common.shell import shell_command
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.knowledge.library_names import DRIVERS_OWN
from core.knowledge.memory_growth import Growth, growth_of
from core.knowledge.messages import LACKS_GPU
from core.model.facts import FrameworkBuild, FrameworkTrial, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import parent
from core.model.remedies import SetForEnvironments
from core.rules.advice import without_variable
from core.rules.consumer_loads import NO_LIBCUDA
from core.rules.counter import CounterOutcome
from core.rules.cudnn.not_found import all_overriding
from core.rules.frameworks.advice import install_fitting_torch, reinstall_package, tensorflow_for_gpu
from core.rules.frameworks.builds import is_cpu
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import build_fits, gpu_side
from core.rules.frameworks.import_diagnosis import ImportDiagnosis
from core.rules.frameworks.proved_changes import experiment_rows
from core.rules.frameworks.tried_imports import diagnose_import, import_evidence
from core.rules.wording import ERROR, GOOD, NOTE, UNKNOWN, WARNING, make_finding, manual_fix, observation


class KnownMessage(msgspec.Struct, frozen=True):
    """A message of a framework or the system, the cause that it proves by itself, and what it means."""

    pattern: str
    cause: Cause | Literal["gpu_arch", ""]
    meaning: str
    advice: str = ""


KNOWN_MESSAGES = (
    KnownMessage(
        r"WinError 1455|paging file is too small|winerror.?1455",
        "page_file_too_small",
        N_("Windows could not commit enough memory for the libraries: the page file is too small."),
        N_(
            "Settings, System, About, Advanced system settings, Performance, Advanced, Virtual memory: let Windows manage the "
            "size, and restart. Fewer workers (num_workers) need less."
        ),
    ),
    KnownMessage(
        r"(vcruntime140|msvcp140|vcruntime140_1|libomp140|vcomp140)[\w.]*\.dll",
        "vc_runtime_missing",
        N_("A library of the Microsoft Visual C++ runtime is missing."),
        N_(
            "Install the newest Visual C++ Redistributable for x64 from Microsoft (aka.ms/vs/17/release/vc_redist.x64.exe)."
        ),
    ),
    KnownMessage(
        r"WinError 1114",
        "vc_runtime_missing",
        N_("A library failed to initialize. An old Visual C++ runtime is the usual reason."),
        N_(
            "Install the newest Visual C++ Redistributable for x64 from Microsoft (aka.ms/vs/17/release/vc_redist.x64.exe)."
        ),
    ),
    KnownMessage(
        r"SIGILL|illegal instruction|0xC000001D|(compiled to use|built using) (AVX|SSE|FMA)",
        "cpu_instruction_set_missing",
        N_("The build uses instructions that this processor does not have."),
        N_("Use an older release, or a build for processors without AVX2."),
    ),
    KnownMessage(
        r"out of memory|OutOfMemoryError|RESOURCE_EXHAUSTED|CUDA_ERROR_OUT_OF_MEMORY|CUDNN_STATUS_ALLOC_FAILED",
        "gpu_memory_exhausted",
        N_("The GPU has no memory left, even for one small convolution: another program uses it."),
        N_("Close other programs that use the GPU; nvidia-smi lists them."),
    ),
    KnownMessage(
        r"no kernel image is available|sm_\d+ is not compatible with the current PyTorch",
        "gpu_arch",
        N_("The build has no machine code for this GPU."),
    ),
    KnownMessage(
        r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|unsupported display driver / cuda driver combination"
        r"|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE|forward compatibility was attempted on non supported HW",
        "",
        N_("The loaded libcuda does not match the driver or the GPU. The driver step says which of them is wrong."),
    ),
    KnownMessage(
        r"CUDA driver version is insufficient|driver on your system is too old",
        "driver_too_old",
        N_("The driver is too old for the CUDA version that this build uses."),
        N_("Install a newer driver for this GPU, or a build for an older CUDA."),
    ),
    KnownMessage(
        r"cuDNN version incompatibility|Loaded runtime CuDNN library: \S+ but source was compiled with",
        "cudnn_minor_too_old",
        N_("The loaded cuDNN is older than the one that the framework was compiled with."),
    ),
    KnownMessage(
        r"SUBLIBRARY_VERSION_MISMATCH|cudnnGetLibConfig",
        "mixed_cudnn_sublibraries",
        N_("Files of two cuDNN releases were loaded together."),
    ),
    KnownMessage(
        r"(file too short|invalid ELF header|WinError 193|not a valid Win32 application)",
        "corrupt_or_truncated_file",
        N_("A library is damaged, or was built for another kind of computer."),
    ),
)
"""In the order in which they are tried. Sources: the frameworks' own messages, as quoted in people's reports."""


def recognise(trial: FrameworkTrial) -> KnownMessage | None:
    """Return the known message in a failed trial's output; None if there is none."""
    words = f"{trial.problem}\n{trial.ended}\n{trial.printed}"
    return next((m for m in KNOWN_MESSAGES if re.search(m.pattern, words, re.IGNORECASE)), None)


def trial_failed(trial: FrameworkTrial) -> bool:
    """Whether a trial failed: an exception, a crash, wrong results."""
    return bool(trial.problem or trial.ended or trial.right is False)


def _only_without_gpu(home: EnvironmentView, trial: FrameworkTrial) -> bool:
    """Whether a trial ended only because this machine has no NVIDIA GPU, which is no fault of the environment."""
    imported = trial.reached != "nothing" and not trial.ended
    return imported and gpu_side(home.seen).there is False and bool(LACKS_GPU.search(trial.problem))


def _waits_for_driver(home: EnvironmentView, trial: FrameworkTrial) -> bool:
    """Whether the import fails only because the driver's own library is missing on a machine without a GPU."""
    return trial.reached == "nothing" and gpu_side(home.seen).there is False and NO_LIBCUDA in trial.problem


def trial_results(seen: Snapshot) -> Iterator[Finding]:
    """The result of every trial."""
    for home in environment_views(seen):
        for trial in home.trials:
            outcome = _counter_test(home, trial)
            if outcome is CounterOutcome.PROVED or (
                outcome is CounterOutcome.OPEN and trial.clean is not None and _foreign_files(trial)
            ):
                yield _override(home, trial)
            elif _waits_for_driver(home, trial):
                yield _waiting_finding(home, trial)
            elif (trial.problem or trial.ended) and not _only_without_gpu(home, trial):
                yield _failure(home, trial)
            elif trial.right is False:
                yield _wrong_finding(home, trial)
            elif trial.at_once and trial_failed(trial.at_once) and (growth := growth_of(trial.framework)):
                yield _takes_all(home, trial, trial.at_once, growth)
            else:
                yield _passed_finding(home, trial)


def _takes_all(home: EnvironmentView, trial: FrameworkTrial, greedy: FrameworkTrial, growth: Growth) -> Finding:
    """It works with the GPU memory that it needs, and fails with its default allocation."""
    return make_finding(
        f"frameworks.memory-{trial.framework}",
        ERROR,
        _(
            "{name} in {prefix} reserves the GPU's memory at its start, and fails.",
            name=_name(trial),
            prefix=home.python.prefix,
        ),
        cause="gpu_memory_exhausted",
        why=_(
            "Other programs use a part of the memory. It took the rest when it started, and CUDA's libraries got none. "
            "The same convolution works when it takes only what it needs."
        ),
        evidence=[
            observation(
                _("It said"), (greedy.problem or translate_fact(greedy.ended))[-600:], _("run in its own interpreter")
            ),
            observation(f"{growth.variable}={growth.value}", _("it works"), _("run again")),
            *_rows(home, trial),
        ],
        subject=home.python.prefix,
        fix=manual_fix(
            _("Let {name} use only the memory that it needs", name=_name(trial)),
            shell_command("export", f"{growth.variable}={growth.value}"),
            restart="program",
        ),
        remedy=SetForEnvironments(variable=growth.variable, value=growth.value, prefixes=(home.python.prefix,)),
    )


def _name(trial: FrameworkTrial) -> str:
    return f"{trial.framework} {trial.version}".strip()


def _foreign_files(trial: FrameworkTrial) -> list[str]:
    """Return the files mapped through LD_LIBRARY_PATH that come from elsewhere without it, except the driver's, whose folder cluster software puts there."""
    clean = {m.name: m.path for m in trial.clean.mapped} if trial.clean else {}
    return [
        m.path
        for m in trial.mapped
        if m.origin == "LD_LIBRARY_PATH" and not DRIVERS_OWN.match(m.name) and m.path != clean.get(m.name, m.path)
    ]


def _rows(home: EnvironmentView, trial: FrameworkTrial) -> list[Evidence]:
    source = _("run in its own interpreter")
    rows = []
    if trial.problem:
        rows.append(observation(_("It said"), translate_fact(trial.problem)[-600:], source))
    if trial.ended:
        rows.append(observation(_("The process"), translate_fact(trial.ended), source))
    if trial.printed and not trial.problem and not trial.gpu:
        rows.append(observation(_("It printed"), trial.printed[-600:], source))
    reached = {"nothing": _("not even the import"), "import": _("the import"), "devices": _("counting the GPUs")}
    whole = _("a convolution, forward and backward") if trial.backward else _("a convolution")
    if trial.folder:
        rows.append(observation(_("Started in"), trial.folder, source))
    rows.append(observation(_("Passed"), reached.get(trial.reached, whole), source))
    if trial.devices is not None:
        rows.append(observation(_("GPUs that it sees"), f"{trial.devices} {trial.device}".strip(), source))
    also = [p.distribution for p in trial.packages if p.state == "imported"]
    if also:
        rows.append(observation(_("Imported after it"), join_names(also, 8), source))
    untried = [p.distribution for p in trial.packages if p.state == "not tried"]
    if untried:
        rows.append(observation(_("Not tried"), join_names(untried, 8), source))
    versions = [f"CUDA {trial.cuda}" if trial.cuda else "", f"cuDNN {trial.cudnn}" if trial.cudnn else ""]
    if any(versions):
        rows.append(observation(_("Versions according to the files"), join_names(v for v in versions if v), source))
    owners: dict[str, list[str]] = {}
    for m in trial.mapped:
        owners.setdefault(m.origin, []).append(m.name)
    rows += [
        observation(
            _("Mapped, from {owner}", owner=translate_fact(owner) or _("unknown")),
            join_names(names, 6),
            _("files of the process"),
        )
        for owner, names in owners.items()
    ]
    return [*rows, home.concerns(trial.framework)]


def _counter_test(home: EnvironmentView, trial: FrameworkTrial) -> CounterOutcome:
    """Return what the trial without LD_LIBRARY_PATH proves about it.

    A trial that lacks nothing but a GPU counts as successful.
    """
    if trial.clean is None or not trial_failed(trial) or _only_without_gpu(home, trial):
        return CounterOutcome.OPEN
    return (
        CounterOutcome.REFUTED
        if trial_failed(trial.clean) and not _only_without_gpu(home, trial.clean)
        else CounterOutcome.PROVED
    )


def _override(home: EnvironmentView, trial: FrameworkTrial) -> Finding:
    clean = trial.clean
    assert clean is not None
    proved = _counter_test(home, trial) is CounterOutcome.PROVED
    files = _foreign_files(trial) or [m.path for m in trial.mapped if m.origin == "LD_LIBRARY_PATH"]
    folders = list(dict.fromkeys(parent(home.seen.machine.system, f) for f in files))
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        ERROR if proved else WARNING,
        _("{name} in {prefix} fails because of LD_LIBRARY_PATH.", name=_name(trial), prefix=home.python.prefix)
        if proved
        else _(
            "{name} in {prefix} loads libraries from LD_LIBRARY_PATH instead of its own.",
            name=_name(trial),
            prefix=home.python.prefix,
        ),
        cause="ld_library_path_override",
        why=_("The same load works without LD_LIBRARY_PATH.")
        if proved
        else _("It works now, with files that it was not built for."),
        evidence=[
            observation(_("From LD_LIBRARY_PATH"), join_names(files), _("files of the process")),
            *_rows(home, trial),
            observation(
                _("Without LD_LIBRARY_PATH"),
                translate_fact(clean.problem) or translate_fact(clean.ended) or _("it works"),
                _("run again"),
            ),
        ],
        subject=home.python.prefix,
        fix=without_variable(folders),
        remedy=all_overriding(home.seen, home.python.prefix),
    )


def _waiting_finding(home: EnvironmentView, trial: FrameworkTrial) -> Finding:
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        NOTE,
        _(
            "{name} in {prefix} can be imported only on a machine with the GPU driver.",
            name=_name(trial),
            prefix=home.python.prefix,
        ),
        why=_(
            "The build needs the driver's own library, and this machine has no NVIDIA GPU and no driver. "
            "That is not a fault of the build."
        ),
        evidence=_rows(home, trial),
        subject=home.python.prefix,
    )


def _failure(home: EnvironmentView, trial: FrameworkTrial) -> Finding:
    message = recognise(trial)
    if trial.timed_out and not message:
        return make_finding(
            f"frameworks.trial-{trial.framework}",
            UNKNOWN,
            _("{name} in {prefix} did not respond in time.", name=_name(trial), prefix=home.python.prefix),
            why=_("Whether it works is not known. A first start can take long on a slow disk: scan again."),
            evidence=_rows(home, trial),
            subject=home.python.prefix,
        )
    proved = trial.experiments is not None and trial.experiments.proved
    early = trial.reached == "nothing" and (not trial.ended or (trial.failures and not message))
    diagnosis = diagnose_import(home, trial.failures, trial.experiments) if proved or early else None
    if diagnosis is not None:
        return _failed_import(home, trial, diagnosis)
    cause = message.cause if message else ""
    if cause == "gpu_arch":
        cause = "gpu_arch_too_new" if _is_newer(home, trial) else "gpu_arch_too_old"
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        ERROR,
        _("{who} in {prefix} cannot be imported.", who=_name(trial), prefix=home.python.prefix)
        if trial.reached == "nothing"
        else _("{name} in {prefix} fails when it is used.", name=_name(trial), prefix=home.python.prefix),
        cause=cause,
        why=_(message.meaning) if message else _("The text alone shows no cause."),
        evidence=[*_rows(home, trial), *import_evidence(None, trial.failures), *experiment_rows(trial.experiments)],
        subject=home.python.prefix,
        fix=_cure(home, trial, message),
    )


def _failed_import(home: EnvironmentView, trial: FrameworkTrial, diagnosis: ImportDiagnosis) -> Finding:
    """An import failed, and its exception and what the process found about it show the cause."""
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        ERROR,
        _(diagnosis.title, who=_name(trial), prefix=home.python.prefix, **diagnosis.values),
        cause=diagnosis.cause,
        why=diagnosis.why,
        evidence=[*import_evidence(diagnosis), *experiment_rows(trial.experiments), *_rows(home, trial)],
        subject=diagnosis.subject or home.python.prefix,
        fix=diagnosis.cure.fix or _cure(home, trial, None),
        remedy=diagnosis.cure.remedy,
    )


def _is_newer(home: EnvironmentView, trial: FrameworkTrial) -> bool:
    build = home.build(trial.framework)
    lowest = min(build.sass) if build and build.sass else 0
    capabilities = [g.compute_capability or "" for g in gpu_side(home.seen).gpus]
    return any(float(c) * 10 > lowest for c in capabilities if re.fullmatch(r"\d+\.\d", c))


def _cure(home: EnvironmentView, trial: FrameworkTrial, message: KnownMessage | None) -> Fix | None:
    build = home.build(trial.framework)
    if message and message.advice:
        return manual_fix(_("Fix it"), *_(message.advice).splitlines(), restart="program")
    if message and message.cause == "gpu_arch" and build and build.distribution == "torch":
        return install_fitting_torch(home.seen, home.python, build)
    if trial.reached == "nothing" and (its := home.installed(trial.framework)):
        return reinstall_package(home.seen, home.python, its.name, its.version)
    return None


def _wrong_finding(home: EnvironmentView, trial: FrameworkTrial) -> Finding:
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        ERROR,
        _("{name} in {prefix} computes a wrong convolution.", name=_name(trial), prefix=home.python.prefix),
        why=_("One small convolution and its gradients differ from the processor's results by far more than rounding."),
        evidence=_rows(home, trial),
        subject=home.python.prefix,
    )


def _passed_finding(home: EnvironmentView, trial: FrameworkTrial) -> Finding:
    side = gpu_side(home.seen)
    build = home.build(trial.framework)
    if side.works and not trial.gpu and trial.devices == 0 and build and build.cuda and not is_cpu(build):
        return _without_gpu(home, trial, build)
    values = {
        "name": _name(trial),
        "prefix": home.python.prefix,
        "where": (trial.device or _("a GPU")) if trial.gpu else _("the processor"),
    }
    if trial.reached != "convolution":
        title = _("{name} in {prefix} can be imported.", **values)
    elif trial.backward:
        title = _("{name} in {prefix} runs a convolution on {where}, forward and backward.", **values)
    else:
        title = _("{name} in {prefix} runs a convolution on {where}.", **values)
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        GOOD if trial.gpu or not side.there else NOTE,
        title,
        evidence=_rows(home, trial),
        subject=home.python.prefix,
    )


def _without_gpu(home: EnvironmentView, trial: FrameworkTrial, build: FrameworkBuild) -> Finding:
    """A CUDA build computes on the CPU although the machine has a GPU whose driver works."""
    message = recognise(trial)
    bare = trial.framework == "tensorflow" and not any(
        d.name.startswith("nvidia-cudnn") for d in home.python.distributions
    )
    fits = build_fits(build, gpu_side(home.seen))
    return make_finding(
        f"frameworks.trial-{trial.framework}",
        WARNING,
        _("{name} in {prefix} works, but sees no GPU.", name=_name(trial), prefix=home.python.prefix),
        cause=message.cause if message and message.cause != "gpu_arch" else "",
        why=join_sentences(
            _("The driver reports a GPU, and this build was made for CUDA."),
            _("Its machine code matches the GPU.") if fits else "",
            _(message.meaning) if message else "",
        ),
        evidence=_rows(home, trial),
        subject=home.python.prefix,
        fix=_cure(home, trial, message)
        or (tensorflow_for_gpu(home.seen, home.python, trial.version) if bare else None),
    )


RULES = (trial_results,)
