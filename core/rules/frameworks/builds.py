"""Rules about how frameworks were built: without CUDA, for other GPUs, or for a system on which they find no GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.frameworks import framework_tables
from core.knowledge.horizon import is_beyond_horizon
from core.model.facts import FrameworkBuild, Gpu, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.rules.driver.device_order import use_alone, visible_gpus
from core.rules.frameworks.advice import (
    gpu_onnxruntime,
    install_fitting_torch,
    jax_for_gpu,
    tensorflow_for_gpu,
    tensorflow_on_windows,
)
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import PASSES_OVER, build_fits, gpu_side, torch_code
from core.rules.snapshot_queries import capability_number
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation

TENSORFLOW_NAMES = ("tensorflow", "tensorflow-intel", "tf-nightly")
_GPU_BUILDS = late_pattern(
    r"torch|tensorflow.*|jax|onnxruntime-gpu|ctranslate2|paddlepaddle-gpu|cupy-cuda.*|mxnet-cu.*"
)


def is_cpu(build: FrameworkBuild) -> bool:
    """Whether a build supports neither CUDA nor another accelerator."""
    return build.cuda == "" and not build.other


def on_gpu(home: EnvironmentView) -> list[FrameworkBuild]:
    """Return the builds of an environment that support CUDA."""
    return [b for b in home.builds if b.cuda and _GPU_BUILDS.fullmatch(b.distribution)]


def cpu_only_build(seen: Snapshot) -> Iterator[Finding]:
    """The machine has a GPU, but a framework's build has no CUDA."""
    side = gpu_side(seen)
    if not side.there:
        return
    for home in environment_views(seen):
        for build in home.builds:
            if not is_cpu(build) or build.distribution.startswith("opencv") or _native_tensorflow(home, build):
                continue
            if build.distribution == "onnxruntime" and home.installed("onnxruntime-gpu"):
                continue
            yield _cpu_only(home, build)


def _cpu_only(home: EnvironmentView, build: FrameworkBuild) -> Finding:
    main = build.distribution in ("torch", "torch-nightly")
    others = [b for b in on_gpu(home) if b is not build]
    severity = home.severity if main or not others else NOTE
    if not main and severity > WARNING:
        severity = WARNING
    seen, python = home.seen, home.python
    fix = {
        "torch": lambda: install_fitting_torch(seen, python, build),
        "onnxruntime": lambda: gpu_onnxruntime(seen, python, ("onnxruntime",), ""),
        "jax": lambda: jax_for_gpu(seen, python, build.version),
        "tensorflow": lambda: tensorflow_for_gpu(seen, python, build.version),
        "tensorflow-cpu": lambda: tensorflow_for_gpu(seen, python, build.version),
    }.get(build.distribution)
    windows = framework_tables().fact("torch_windows")
    why = _("This build cannot use a GPU, whatever driver and libraries are installed.")
    if main and seen.machine.system == "windows":
        why = join_sentences(why, _(windows.fact))
    return make_finding(
        f"frameworks.cpu-build-{build.distribution}",
        severity,
        _(
            "{distribution} {version} in {prefix} is the build without CUDA.",
            distribution=build.distribution,
            version=build.version,
            prefix=python.prefix,
        ),
        cause="framework_cpu_only_build",
        why=why,
        evidence=[
            observation(_("Built for CUDA"), _("no"), build.cuda_source),
            observation("GPU", join_names(g.name for g in gpu_side(seen).gpus) or _("on the bus")),
            *(
                [
                    observation(
                        _("Built for CUDA in the same environment"),
                        join_names(f"{b.distribution} {b.version}" for b in others),
                    )
                ]
                if others
                else []
            ),
            home.concerns(build.distribution),
        ],
        subject=python.prefix,
        fix=fix() if fix else None,
    )


# --- TensorFlow on Windows, GPU generations ----------------------------------------------------------------


def _native_tensorflow(home: EnvironmentView, build: FrameworkBuild) -> bool:
    windows = home.seen.machine.system == "windows" and not is_beyond_horizon("tensorflow", build.version)
    return windows and build.distribution in TENSORFLOW_NAMES and version_tuple(build.version) >= (2, 11)


def tensorflow_native_windows(seen: Snapshot) -> Iterator[Finding]:
    """TensorFlow's build for native Windows does not support GPUs."""
    if not gpu_side(seen).there:
        return
    fact = framework_tables().fact("tf_windows")
    for home in environment_views(seen):
        for build in home.builds:
            if _native_tensorflow(home, build) and build.distribution != "tensorflow-intel":
                yield make_finding(
                    "frameworks.tensorflow-windows",
                    home.severity,
                    _(
                        "TensorFlow {version} in {prefix} cannot use a GPU on native Windows.",
                        version=build.version,
                        prefix=home.python.prefix,
                    ),
                    cause="tf_native_windows_unsupported",
                    why=join_sentences(_(fact.fact), _("No other driver, CUDA or cuDNN changes that.")),
                    evidence=[
                        observation(_("Installed"), f"{build.distribution} {build.version}", home.python.prefix),
                        observation(_("Last release with GPU support here"), "2.10", fact.source),
                        home.concerns(build.distribution),
                    ],
                    subject=home.python.prefix,
                    fix=tensorflow_on_windows(seen),
                )


def framework_without_code(seen: Snapshot) -> Iterator[Finding]:
    """A framework's library has no machine code for a GPU of this machine."""
    side, gpus = gpu_side(seen), visible_gpus(seen)
    for home in environment_views(seen) if gpus else ():
        for build in on_gpu(home):
            unfit = [g for g in gpus if build_fits(build, replace(side, gpus=(g,))) is False]
            if unfit and gpus[0] in unfit and not (_passes_over(build) and len(unfit) < len(gpus)):
                yield _without_code(home, build, gpus[0], [g for g in gpus if g not in unfit])
            elif unfit:
                yield _without_code_for_another(home, build, unfit[0], [g for g in gpus if g not in unfit])


def _passes_over(build: FrameworkBuild) -> bool:
    return bool(re.fullmatch(PASSES_OVER, build.distribution))


def _machine_code(home: EnvironmentView, build: FrameworkBuild) -> tuple[tuple[int, ...], str]:
    """Return the architectures that a build has machine code for, with the source: its files, else the tables."""
    row = torch_code(build.version, build.cuda or "", gpu_side(home.seen)) if build.distribution == "torch" else None
    if build.sass:
        return build.sass, build.binary
    return (row.sass, row.source) if row else ((), "")


def _without_code(home: EnvironmentView, build: FrameworkBuild, gpu: Gpu, fit: list[Gpu]) -> Finding:
    """The GPU that programs use first; ``fit``: others, for which the build has code."""
    sass, _source = _machine_code(home, build)
    new = bool(sass) and (capability_number(gpu.compute_capability) or 0) > min(sass)
    return make_finding(
        f"frameworks.code-{build.distribution}",
        home.severity,
        _(
            "{distribution} {version} in {prefix} has no machine code for the {name}.",
            distribution=build.distribution,
            version=build.version,
            prefix=home.python.prefix,
            name=gpu.name,
        ),
        cause="gpu_arch_too_new" if new else "gpu_arch_too_old",
        why=join_sentences(
            _("It was built for older GPUs.") if new else _("It was built for newer GPUs."),
            _("Its own message is: no kernel image is available for execution on the device."),
            _("Programs that do not choose a GPU use this one, although the {name} would work.", name=fit[0].name)
            if fit
            else "",
        ),
        evidence=_code_rows(home, build, gpu),
        subject=home.python.prefix,
        fix=_other_code(home, build, fit, new=new),
    )


def _without_code_for_another(home: EnvironmentView, build: FrameworkBuild, gpu: Gpu, fit: list[Gpu]) -> Finding:
    """A GPU that programs use only if they name it, or use all."""
    sass, _source = _machine_code(home, build)
    gpus = visible_gpus(home.seen)
    new = bool(sass) and (capability_number(gpu.compute_capability) or 0) > min(sass)
    return make_finding(
        f"frameworks.code-{build.distribution}",
        NOTE if _passes_over(build) else min(home.severity, WARNING),
        _(
            "{distribution} {version} in {prefix} has no machine code for GPU {index}, the {name}.",
            distribution=build.distribution,
            version=build.version,
            prefix=home.python.prefix,
            index=gpus.index(gpu),
            name=gpu.name,
        ),
        cause="gpu_arch_too_new" if new else "gpu_arch_too_old",
        why=_("It skips this GPU and uses the {name}.", name=fit[0].name)
        if _passes_over(build)
        else join_sentences(
            _("Programs that do not choose a GPU use GPU 0, the {name}, and work.", name=gpus[0].name),
            _(
                "Those that use this one, or all of them, fail: no kernel image is available for execution on the device."
            ),
        ),
        evidence=[
            *_code_rows(home, build, gpu),
            *(observation(_("Fit"), f"{gpus.index(g)} {g.name}", g.source) for g in fit),
        ],
        subject=home.python.prefix,
        fix=_other_code(home, build, fit, new=new),
    )


def _other_code(home: EnvironmentView, build: FrameworkBuild, fit: list[Gpu], *, new: bool) -> Fix | None:
    """Return what helps: a build for all GPUs, or leaving out one that newer builds no longer have code for."""
    if fit and not new:
        return use_alone(fit, home.seen)
    return install_fitting_torch(home.seen, home.python, build) if build.distribution == "torch" else None


def _code_rows(home: EnvironmentView, build: FrameworkBuild, gpu: Gpu) -> list[Evidence]:
    sass, source = _machine_code(home, build)
    return [
        observation(
            "GPU",
            _(
                "{name}, compute capability {compute_capability}",
                name=gpu.name,
                compute_capability=gpu.compute_capability,
            ),
            gpu.source,
        ),
        observation(_("Machine code"), join_names((f"{s // 10}.{s % 10}" for s in sass), 20) or _("not told"), source),
        home.concerns(build.distribution),
    ]


def built_for_newer_cuda(seen: Snapshot) -> Iterator[Finding]:
    """A framework was built for a newer CUDA than this driver supports."""
    side = gpu_side(seen)
    if not side.works:
        return
    for home in environment_views(seen):
        for build in on_gpu(home):
            if side.runs_cuda(build.cuda or "") is False:
                yield _newer_cuda(home, build)


def _newer_cuda(home: EnvironmentView, build: FrameworkBuild) -> Finding:
    side = gpu_side(home.seen)
    cures = {
        "torch": lambda: install_fitting_torch(home.seen, home.python, build),
        "jax": lambda: jax_for_gpu(home.seen, home.python, build.version),
    }
    newer = manual_fix(
        _("Install a newer driver"),
        _(
            "Install a driver that runs CUDA {cuda}, or a build of {name} for an older CUDA.",
            cuda=build.cuda,
            name=build.distribution,
        ),
        restart="computer",
    )
    cure = cures.get(build.distribution)
    return make_finding(
        f"frameworks.cuda-{build.distribution}",
        home.severity,
        _(
            "{name} {version} in {prefix} was built for CUDA {cuda}, which this driver does not run.",
            name=build.distribution,
            version=build.version,
            prefix=home.python.prefix,
            cuda=build.cuda,
        ),
        cause="driver_too_old",
        why=_(
            "A driver runs programs that were built for its own CUDA major version or an older one, not for "
            "a newer one."
        ),
        evidence=[
            observation(_("Built for CUDA"), build.cuda, build.cuda_source),
            observation(_("Newest CUDA that this driver runs"), side.cuda or _("less")),
            observation(_("Driver"), side.driver or _("unknown")),
            home.concerns(build.distribution),
        ],
        subject=home.python.prefix,
        fix=cure() if cure else newer,
    )


RULES = (built_for_newer_cuda, cpu_only_build, tensorflow_native_windows, framework_without_code)
