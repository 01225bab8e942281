"""Framework trials: import a framework in its own interpreter and run one convolution, as a new process does.

Trials run only on request (``--try``, ``--thorough``), since an import takes longer than the rest of the scan: for
named environments, else for active ones, else for the one that ``python`` starts. A crash, a hang or an error text is data. Nothing is
written into the environment.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.host.provenance import Verdict
from core.knowledge.library_names import DRIVERS_OWN
from core.knowledge.memory_growth import growth_of
from core.model.facts import Distribution, FrameworkTrial, PythonEnvironment, Unexamined, full_id
from core.probes.loading.origin import PATH_VARIABLE, runs_here
from core.probes.probe import ProbeRequest
from core.probes.python.following.import_hints import is_unmet
from core.probes.python.installed.distributions import all_requirements, recorded_module, required_name
from core.probes.python.installed.gone_files import every_distribution
from core.probes.python.trials.experiments import Laboratory
from core.probes.python.trials.run import MAX_PACKAGES, TRIAL_TIMEOUT_SECONDS, Trial, run_trial
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.trust import interpreter_verdict, record_execution
from core.probes.wheel_record import read_record

MAX_TRIALS = 5
ACTIVE = frozenset({"VIRTUAL_ENV", "CONDA_PREFIX"})
NEAR = frozenset({"python", "python3", "here"})
"""Ways in which the environment is found that a person's next program most likely starts in."""
FRAMEWORK_MODULES = {
    "torch": ("torch", "torch/_C.*"),
    "tensorflow": ("tensorflow", "tensorflow/python/framework/ops.py"),
    "tensorflow-gpu": ("tensorflow", "tensorflow/python/framework/ops.py"),
    "jax": ("jax", "jax/_src/core.py"),
    "onnxruntime-gpu": ("onnxruntime", "onnxruntime/capi/onnxruntime_pybind11_state*"),
    "onnxruntime": ("onnxruntime", "onnxruntime/capi/onnxruntime_pybind11_state*"),
    "ctranslate2": ("ctranslate2", "ctranslate2/_ext.*"),
    "paddlepaddle-gpu": ("paddle", "paddle/base/libpaddle.*"),
    "paddlepaddle": ("paddle", "paddle/base/libpaddle.*"),
    "cupy-cuda*": ("cupy", "cupy/_core/core.*"),
}
"""Distribution -> its module, and a file that must exist for the import."""

TOOLS = late_pattern(
    r"pip|wheel|uv|build|twine|virtualenv|pipx|poetry.*|pdm.*|hatch.*|tox.*|nox|black|ruff|mypy.*|flake8.*|isort|pre-commit|pytest.*|coverage"
    r"|jupyter.*|notebook.*|ipykernel|ipython|ipywidgets|debugpy|.*-stubs|types-.*|pyinstaller.*|cython|ninja|cmake|meson|scikit-build.*"
)
"""Distributions that a program does not import: they install, check or start programs."""


def look(request: ProbeRequest) -> tuple[FrameworkTrial, ...] | None:
    """Return what happened in every trial that this machine asks for; None where none does."""
    where = sysroot_of(request.host)
    trials = tuple(with_packages(tuple(choose_trials(request, where))[:MAX_TRIALS], where))
    if not trials or not runs_here(where):
        return None
    hung: set[str] = set()
    verdicts: dict[str, Verdict] = {}  # for root, all files of an environment are looked at
    done = []
    for trial in trials:
        if trial.python.executable in hung:
            continue  # each environment has one time-out, whatever it holds
        its_prefix = trial.python.prefix
        verdict = verdicts[its_prefix] = verdicts.get(its_prefix) or interpreter_verdict(trial.python, where)
        record_execution(
            "framework", trial.python.executable, verdict, request, full_id(trial.python.prefix, trial.distribution)
        )
        if not verdict.may:
            continue
        made = _try_framework(trial, request, where, verdict)
        done.append((trial, made, verdict))
        request.keep(made)
        if made.timed_out or (made.clean is not None and made.clean.timed_out):
            hung.add(trial.python.executable)
            request.miss(
                Unexamined(
                    path=trial.python.executable,
                    what="interpreter",
                    seconds=TRIAL_TIMEOUT_SECONDS,
                    wanted_by=tuple(trial.python.found_by.split(", ")),
                )
            )
    laboratory = Laboratory(request, where)  # last: what was kept until then is there if their time runs out
    return tuple(laboratory.with_experiments(*one) for one in done)


def choose_trials(request: ProbeRequest, where: Sysroot) -> Iterator[Trial]:
    """Yield the trials that are worth their time.

    They are of the named environments and, if there is a GPU, of the active ones. If no environment is named, they
    are of the active ones; if these have no framework, of the first that the person's ``python`` or the working
    folder leads to.
    """
    usable = [p for p in request.seen.pythons or () if p.executable and not p.problem and "suggested" not in p.ways]
    named = [p for p in usable if "--python" in p.ways]
    active = [p for p in usable if not ACTIVE.isdisjoint(p.ways)]
    gpu = bool(request.seen.driver and request.seen.driver.gpus)
    chosen = [p for p in usable if p in named or (p in active and gpu)] if named else active
    trials = [t for p in chosen for t in installed_frameworks(p, where)]
    near = (list(installed_frameworks(p, where)) for p in usable if not NEAR.isdisjoint(p.ways))
    yield from trials if trials or named else next(filter(None, near), [])


def installed_frameworks(python: PythonEnvironment, where: Sysroot) -> Iterator[Trial]:
    """Yield the frameworks of an environment that can be imported, each module once."""
    seen: set[str] = set()
    for distribution in sorted(python.distributions, key=lambda d: d.name.endswith("-gpu"), reverse=True):
        for pattern, (module, file) in FRAMEWORK_MODULES.items():
            if fnmatch.fnmatch(distribution.name, pattern) and module not in seen:
                *folders, name = file.split("/")
                if fnmatch.filter(where.names(where.join(distribution.location, *folders)) or (), name):
                    seen.add(module)
                    yield Trial(python, distribution.name, distribution.version, module)


def with_packages(trials: tuple[Trial, ...], where: Sysroot) -> Iterator[Trial]:
    """Give each package of an environment that can be imported to one trial: to that of a framework that it requires or that requires it
    (another one's process would import two frameworks), or the first.
    """
    given: set[tuple[str, str]] = set()
    known = {p.prefix: tuple(packages_to_try(p, where)) for p in {t.python.prefix: t.python for t in trials}.values()}
    for trial in trials:
        others = [t for t in trials if t.python.prefix == trial.python.prefix]
        parts = [(t, required_by(t.distribution, t.python)) for t in others]
        mine = []
        for distribution in known[trial.python.prefix]:
            asked = {required_name(r) for r in distribution.pins}
            wanted = next((t for t in others if t.distribution in asked), None)
            wanted = wanted or next((t for t, names in parts if distribution.name in names), others[0])
            key = trial.python.prefix, distribution.name
            if wanted is trial and key not in given and (module := recorded_module(distribution, where, compiled=True)):
                given.add(key)
                mine.append((distribution, module))
        installed = {d.name: d.version for d in (*every_distribution(trial.python, where), *trial.python.distributions)}
        doubtful = frozenset(d.name for d, _module in mine if is_unmet(d, installed))
        mine.sort(
            key=lambda one: (one[0].name not in doubtful, not one[0].pins, len(read_record(one[0], where)), one[0].name)
        )
        yield replace(trial, packages=tuple(mine[:MAX_PACKAGES]), doubtful=doubtful)


def required_by(name: str, python: PythonEnvironment) -> frozenset[str]:
    """Return what a distribution requires, and what that requires in turn, extras included."""
    wishes = {d.name: {required_name(r) for r in (*d.requires, *d.pins)} for d in python.distributions}
    found: set[str] = set()
    todo = {name}
    while todo:
        found |= todo
        todo = {w for n in todo for w in wishes.get(n, ())} - found
    return frozenset(found)


def packages_to_try(python: PythonEnvironment, where: Sysroot) -> Iterator[Distribution]:
    """Yield what is installed besides frameworks, NVIDIA's libraries and tools: who requires a framework first, then what nobody
    requires, and so somebody asked for, then what else is listed.
    """
    listed = {d.name for d in python.distributions}
    others = [d for folder in python.site_packages for d in all_requirements(folder, where)]
    required = {required_name(r) for d in others for r in d.pins}
    wanted = [d for d in others if d.name not in required and d.name not in listed]
    some = sorted(
        (*python.distributions, *(replace(d, pins=()) for d in wanted)), key=lambda d: (not d.pins, d.name in listed)
    )
    known: dict[str, Distribution] = {}
    for distribution in some:
        name = distribution.name
        if not (
            name.startswith("nvidia-")
            or TOOLS.fullmatch(name)
            or any(fnmatch.fnmatch(name, p) for p in FRAMEWORK_MODULES)
        ):
            known.setdefault(name, distribution)
    yield from known.values()


def _try_framework(trial: Trial, request: ProbeRequest, where: Sysroot, verdict: Verdict) -> FrameworkTrial:
    request.watch.check()
    request.watch.say(fact_text("Trying {module} of {prefix}", module=trial.module, prefix=trial.python.prefix))
    first = run_trial(trial, request, request.env, where, verdict, with_packages=True)
    foreign = any(m.origin == PATH_VARIABLE and not DRIVERS_OWN.match(m.name) for m in first.mapped)
    went_wrong = bool(first.problem or first.ended or first.right is False)
    if request.env.get(PATH_VARIABLE) and where.system == "linux" and (went_wrong or foreign):
        clean = {n: v for n, v in request.env.items() if n != PATH_VARIABLE}
        return replace(first, clean=run_trial(trial, request, clean, where, verdict))
    if request.at_once and first.gpu and not went_wrong and _takes_too_much(trial, request):
        return replace(first, at_once=run_trial(trial, request, request.env, where, verdict, at_once=True))
    return first


def _takes_too_much(trial: Trial, request: ProbeRequest) -> bool:
    """Whether a framework would by itself take more of a GPU's memory than is free, and no variable says otherwise."""
    growth = growth_of(trial.distribution)
    if growth is None or growth.variable in request.env:
        return False
    gpus = (request.seen.driver.gpus if request.seen.driver else None) or ()
    return any(
        g.memory_free is not None and g.memory_total and g.memory_free < growth.share * g.memory_total for g in gpus
    )
