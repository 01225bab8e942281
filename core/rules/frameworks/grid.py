"""The grid: every environment and every framework, each cell with a verdict and its reason. Derived from a report."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, translate_fact
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.causes import Cause
from core.knowledge.horizon import is_beyond_horizon, release_family
from core.model.facts import Distribution, FrameworkBuild, Snapshot, full_id, is_part_of
from core.model.findings import CompatibilityGrid, Finding, GridCell, GridRow, Verdict
from core.model.paths import normalise
from core.model.steps import Severity
from core.rules.consumer_loads import roll_call_passed
from core.rules.frameworks.builds import is_cpu
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import GpuSide, build_fits, gpu_side
from core.rules.frameworks.trials import trial_failed

ONLY_PROCESSOR: tuple[Cause, ...] = ("framework_cpu_only_build", "tf_native_windows_unsupported")
"""Causes that leave a framework on the CPU: it runs, and its cell has a verdict of its own."""

GRID_COLUMNS = (
    ("PyTorch", ("torch", "torch-nightly")),
    ("TensorFlow", ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tf-nightly")),
    ("JAX", ("jax",)),
    ("ONNX Runtime", ("onnxruntime-gpu", "onnxruntime", "onnxruntime-directml", "onnxruntime-openvino")),
    ("CTranslate2", ("ctranslate2",)),
    ("CuPy", ("cupy-cuda",)),
    ("Paddle", ("paddlepaddle-gpu", "paddlepaddle")),
    ("TensorRT", ("tensorrt-cu", "tensorrt")),
    ("MXNet", ("mxnet",)),
    ("OpenCV", ("opencv-python", "opencv-contrib-python", "opencv-python-headless", "opencv-contrib-python-headless")),
)
"""Column -> the distributions that count for it; a suffix may follow a name that ends with a hyphen (cupy-cuda12x)."""


def make_grid(seen: Snapshot, findings: tuple[Finding, ...] = ()) -> CompatibilityGrid:
    """Return the grid of a Snapshot; ``findings`` are that Snapshot's."""
    side = gpu_side(seen)
    rows = tuple(
        GridRow(
            prefix=home.python.prefix,
            executable=home.python.executable,
            python=home.python.version,
            kind=home.python.kind,
            found_by=home.python.found_by,
            importance=home.near,
            problem=home.python.problem,
            cells=tuple(_cells(home, side, findings)),
        )
        for home in environment_views(seen)
    )
    there = {c.framework for r in rows for c in r.cells}
    columns = tuple(name for name, _ in GRID_COLUMNS if name in there)
    return CompatibilityGrid(columns=columns, rows=rows, best=tuple(_best(columns, rows)))


def _cells(home: EnvironmentView, side: GpuSide, findings: tuple[Finding, ...]) -> Iterator[GridCell]:
    for name, distributions in GRID_COLUMNS:
        there = [d for n in distributions for d in home.python.distributions if _stands_for(d.name, n)]
        if there:
            yield _cell(home, name, there[0], side, findings)


def _stands_for(name: str, wanted: str) -> bool:
    return name == wanted or (wanted in ("cupy-cuda", "tensorrt-cu", "mxnet") and name.startswith(wanted))


def _cell(
    home: EnvironmentView, column: str, what: Distribution, side: GpuSide, findings: tuple[Finding, ...]
) -> GridCell:
    build = home.build(what.name)
    version = build.version if build else what.version
    verdict, reason, more = _verdict(home, what, build, side, findings)
    return GridCell(
        framework=column, distribution=what.name, version=version, verdict=verdict, reason=reason, finding=more
    )


Judged = tuple[Verdict, str, str]


def _verdict(
    home: EnvironmentView,
    what: Distribution,
    build: FrameworkBuild | None,
    side: GpuSide,
    findings: tuple[Finding, ...],
) -> Judged:
    if home.python.problem:
        return "not decided", translate_fact(home.python.problem), ""
    trial = home.trial(what.name)
    against = _worst_against(home, what, findings)
    if trial and trial.gpu and not trial_failed(trial) and not against:
        return (
            "runs",
            _("It ran a convolution on {device}, forward and backward.", device=trial.device or _("the GPU"))
            if trial.backward
            else _("It ran a convolution on {device}.", device=trial.device or _("the GPU")),
            f"frameworks.trial-{what.name}",
        )
    if against and against.severity is Severity.ERROR:
        return "cannot run", against.title, against.id
    if (
        home.seen.machine.system == "windows"
        and what.name.startswith("tensorflow")
        and version_tuple(what.version) >= (2, 11)
    ):
        return (
            "cpu only",
            _("No TensorFlow after 2.10 can see a GPU on native Windows: use WSL2."),
            "frameworks.tensorflow-windows",
        )
    if build and (is_cpu(build) or build.other):
        built = _("It was built for {other}.", other=build.other) if build.other else _("It is the build without CUDA.")
        return "cpu only", built, against.id if against else ""
    if side.there is False:
        return "cpu only", _("This machine has no NVIDIA GPU."), ""
    if trial and trial.gpu is False and trial.devices == 0 and not trial_failed(trial):
        return "cpu only", _("It ran and works, but saw no GPU."), f"frameworks.trial-{what.name}"
    return _by_files(home, what, build, side, against)


def _by_files(
    home: EnvironmentView, what: Distribution, build: FrameworkBuild | None, side: GpuSide, against: Finding | None
) -> Judged:
    """Judge by the files that were read, if nothing was run and no error applies."""
    if build is None and home.seen.frameworks is None:
        return "not decided", _("Its build was not examined."), ""
    if build is None or build.cuda is None:
        return "not decided", _("Its files do not show whether it was built for CUDA."), ""
    if side.there and not side.works:
        return "cannot run", _("The GPU driver does not work for any program."), ""
    if side.runs_cuda(build.cuda) is False:
        return (
            "cannot run",
            _(
                "It was built for CUDA {cuda}; the driver runs CUDA up to {most}.",
                cuda=build.cuda,
                most=side.cuda or _("less"),
            ),
            "",
        )
    if is_beyond_horizon(release_family(build.distribution), build.version) or is_beyond_horizon("cuda", build.cuda):
        return "not decided", _("It is newer than this Convalesce knows."), f"frameworks.newer-{build.distribution}"
    if build_fits(build, side) is False:
        return (
            "cannot run",
            _("It has no machine code for {gpus}.", gpus=join_names(g.name for g in side.gpus)),
            f"frameworks.code-{what.name}",
        )
    if against:
        return "not decided", against.title, against.id
    if side.there is None:
        return "not decided", _("Convalesce could not determine whether this machine has an NVIDIA GPU."), ""
    if build_fits(build, side) is None and not _loads_well(home, what):
        return "not decided", _("It was built for CUDA {cuda}; the GPUs are not stated.", cuda=build.cuda), ""
    return "should run", _("It was built for CUDA {cuda}, which driver and GPU run.", cuda=build.cuda), ""


def _loads_well(home: EnvironmentView, what: Distribution) -> bool:
    """Whether every library of the cuDNN that it needs loaded and worked in a child process."""
    system = home.seen.machine.system
    mine = [
        load
        for load in home.seen.loads or ()
        if normalise(system, load.consumer.prefix) == normalise(system, home.python.prefix)
        and load.consumer.framework.startswith((what.name + " ", f"{what.name}-"))
    ]
    return bool(mine) and all(roll_call_passed(load.roll_call) and not load.changeable for load in mine)


def _worst_against(home: EnvironmentView, what: Distribution, findings: tuple[Finding, ...]) -> Finding | None:
    """Return the worst finding about this framework in this environment; warnings and errors only."""
    prefix = home.python.prefix
    whole, mine = full_id(prefix), full_id(prefix, what.name)
    concerning = [
        f
        for f in findings
        if f.severity >= Severity.WARNING
        and f.cause not in ONLY_PROCESSOR
        and any(c == whole or is_part_of(c, mine) for c in f.consumers)
    ]
    return max(concerning, key=lambda f: f.severity, default=None)


def _best(columns: tuple[str, ...], rows: tuple[GridRow, ...]) -> Iterator[tuple[str, str]]:
    order: dict[Verdict, int] = {"runs": 2, "should run": 1}
    for column in columns:
        cells = [
            (order.get(c.verdict, 0), version_tuple(c.version), r.prefix)
            for r in rows
            for c in r.cells
            if c.framework == column
        ]
        good = [cell for cell in cells if cell[0]]
        if good:
            yield column, max(good, key=lambda cell: cell[:2])[2]
