"""Rules about a framework that sees fewer GPUs than the driver offers this user: each missing GPU, with the reason if known."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _
from core.model.facts import FrameworkTrial, Gpu, Snapshot
from core.model.findings import Evidence, Finding
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import PASSES_OVER, code_fits, gpu_side
from core.rules.snapshot_queries import effective_variable
from core.rules.wording import NOTE, WARNING, make_finding, observation, variable_row

CHOOSING = ((r"jax", ("JAX_CUDA_VISIBLE_DEVICES",)), (r"tensorflow.*|tf-nightly", ("TF_MIN_GPU_MULTIPROCESSOR_COUNT",)))
"""Variables with which a framework itself leaves out GPUs: jax/_src/xla_bridge.py (jax_cuda_visible_devices), and
tensorflow/core/common_runtime/gpu/gpu_device.cc (GetMinGPUMultiprocessorCount).
"""


def fewer_gpus(seen: Snapshot) -> Iterator[Finding]:
    """A framework counts fewer GPUs than CUDA does for the same user with the same variables."""
    driver = seen.driver
    given = driver.cuda.device_count if driver and driver.cuda and driver.cuda.status == 0 else None
    if not given or any(g.mig for g in (driver.gpus if driver else None) or ()):
        return
    for home in environment_views(seen):
        for trial in home.trials:
            if trial.devices is not None and 0 < trial.devices < given and not trial.problem and not trial.ended:
                yield _finding(home, trial, given)


def _finding(home: EnvironmentView, trial: FrameworkTrial, given: int) -> Finding:
    seen, left_out = home.seen, given - (trial.devices or 0)
    unfit = _without_code(home, trial)
    names = [n for pattern, names in CHOOSING if re.fullmatch(pattern, trial.framework) for n in names]
    choosing = [v for n in names if (v := effective_variable(seen, n)) is not None and v.value]
    printed = re.findall(r"(?im)^.*ignoring visible gpu device.*$", trial.printed)
    explained = len(unfit) >= left_out or bool(choosing) or len(printed) >= left_out
    rows: list[Evidence] = [
        observation(_("GPUs that it sees"), str(trial.devices), trial.framework),
        observation("cuInit", str(given), "CUDA driver"),
        *map(variable_row, choosing),
        *(
            observation(
                f"{g.index} {g.name}", _("no machine code for compute capability {cc}", cc=g.compute_capability or "?")
            )
            for g in unfit
        ),
        *(observation(_("It printed"), line.strip(), trial.framework) for line in printed),
        home.concerns(trial.framework),
    ]
    if not explained:
        every = gpu_side(seen).gpus
        rows += [observation(f"{g.index} {g.name}", _("given by the driver")) for g in every if g not in unfit]
    return make_finding(
        f"frameworks.fewer-gpus-{trial.framework}",
        NOTE if explained else min(home.severity, WARNING),
        _(
            "{name} in {prefix} sees {count} of the {given} GPUs that the driver gives it.",
            name=trial.framework,
            prefix=home.python.prefix,
            count=trial.devices,
            given=given,
        ),
        cause="gpu_hidden_by_env" if choosing else "",
        why=_("The reason is given below. This may be intended.")
        if explained
        else _("No reason was found: no variable of the framework excludes them, and each of them responds."),
        evidence=rows,
        subject=home.python.prefix,
    )


def _without_code(home: EnvironmentView, trial: FrameworkTrial) -> list[Gpu]:
    """Return the GPUs that TensorFlow leaves out because it has no code for them; other frameworks count every GPU."""
    build = home.build(trial.framework)
    if build is None or not build.sass or not re.fullmatch(PASSES_OVER, trial.framework):
        return []
    return [g for g in gpu_side(home.seen).gpus if code_fits(build.sass, build.ptx or (), (g,)) is False]


RULES = (fewer_gpus,)
