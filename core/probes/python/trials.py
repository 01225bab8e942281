"""Framework trials: import a framework in its own interpreter and run one convolution, as a new process does.

Trials run only on request (``--try``, ``--thorough``), since an import takes longer than the rest of the scan: for
named environments and, on a machine with a GPU, for active ones. A crash, a hang or an error text is data. Nothing is
written into the environment.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.host import child
from core.host.provenance import Verdict, environment_for, may_run
from core.knowledge.cudnn_file_names import version_text
from core.knowledge.memory_growth import growth_of
from core.model.facts import (
    Distribution,
    FrameworkTrial,
    ImportFailure,
    Mapped,
    PackageTrial,
    PythonEnvironment,
    Unexamined,
    full_id,
    path_text,
)
from core.probes.loading.origin import PATH_VARIABLE, file_origin, runs_here
from core.probes.loading.roll_call.linux_loader import is_cuda_file
from core.probes.probe import ProbeRequest
from core.probes.python.distributions import recorded_module, required_name
from core.probes.python.locations import working_folder
from core.probes.python.trial_script import TRIAL_SCRIPT
from core.probes.sysroot import Sysroot, sysroot_of, without_silent_folders
from core.probes.trust import interpreter_verdict, record_execution

TRIAL_TIMEOUT_SECONDS = 60.0
"""Seconds for one trial; the first import after an installation writes no byte code (-B) and may take ten."""
MAX_TRIALS = 5
PACKAGE_SECONDS, MAX_PACKAGES = 20.0, 60
"""Processor seconds after which a framework's process imports no further package, and the maximum number of packages.
"""
PACKAGE_WAIT_SECONDS = 30.0
"""Seconds of wall time that a trial may take longer for them."""
PACKAGES_FOLLOW = "-- convalesce: packages --"
"""Separates the output of a framework from that of the other packages."""

TRIAL_STAGES: tuple[Literal["convolution", "devices", "import"], ...] = ("convolution", "devices", "import")

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


class TrialEvent(msgspec.Struct, frozen=True):
    """One line that the script emitted."""

    stage: str = ""
    version: str = ""
    cuda: str = ""
    cudnn: str = ""
    cudnn_compiled: str = ""
    devices: int | None = None
    device: str = ""
    gpu: bool | None = None
    right: bool | None = None
    backward: bool = False
    problem: str = ""
    winerror: int = 0
    failure: ImportFailure | None = None
    package: str = ""
    state: str = ""
    seconds: float = 0.0


class Trial(msgspec.Struct, frozen=True):
    """A framework's module to import in an environment's interpreter."""

    python: PythonEnvironment
    distribution: str
    version: str
    module: str
    packages: tuple[tuple[Distribution, str], ...] = ()
    """The distributions to import after it, each with its module."""


def look(request: ProbeRequest) -> tuple[FrameworkTrial, ...] | None:
    """Return what happened in every trial that this machine asks for; None where none does."""
    where = sysroot_of(request.host)
    trials = tuple(with_packages(tuple(choose_trials(request, where))[:MAX_TRIALS], where))
    if not trials or not runs_here(where):
        return None
    hung: set[str] = set()
    done = []
    for trial in trials:
        if trial.python.executable in hung:
            continue  # each environment has one time-out, whatever it holds
        verdict = interpreter_verdict(trial.python, where)
        record_execution(
            "framework", trial.python.executable, verdict, request, full_id(trial.python.prefix, trial.distribution)
        )
        if not verdict.may:
            continue
        made = _try_framework(trial, request, where, verdict)
        done.append(made)
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
    return tuple(done)


def choose_trials(request: ProbeRequest, where: Sysroot) -> Iterator[Trial]:
    """Yield the trials that are worth their time: named environments, then active ones if there is a GPU."""
    driver = request.seen.driver
    gpu = bool(driver and driver.gpus)
    for python in request.seen.pythons or ():
        active = gpu and bool({"VIRTUAL_ENV", "CONDA_PREFIX"} & set(python.ways))
        if python.executable and not python.problem and ("--python" in python.ways or active):
            yield from installed_frameworks(python, where)


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
    for trial in trials:
        others = [t for t in trials if t.python.prefix == trial.python.prefix]
        parts = [(t, required_by(t.distribution, t.python)) for t in others]
        mine = []
        for distribution in packages_to_try(trial.python):
            asked = {required_name(r) for r in distribution.pins}
            wanted = next((t for t in others if t.distribution in asked), None)
            wanted = wanted or next((t for t, names in parts if distribution.name in names), others[0])
            key = trial.python.prefix, distribution.name
            if wanted is trial and key not in given and (module := recorded_module(distribution, where, compiled=True)):
                given.add(key)
                mine.append((distribution, module))
        yield replace(trial, packages=tuple(mine[:MAX_PACKAGES]))


def required_by(name: str, python: PythonEnvironment) -> frozenset[str]:
    """Return what a distribution requires, and what that requires in turn, extras included."""
    wishes = {d.name: {required_name(r) for r in (*d.requires, *d.pins)} for d in python.distributions}
    found: set[str] = set()
    todo = {name}
    while todo:
        found |= todo
        todo = {w for n in todo for w in wishes.get(n, ())} - found
    return frozenset(found)


def packages_to_try(python: PythonEnvironment) -> Iterator[Distribution]:
    """Yield what is listed of an environment besides frameworks and NVIDIA's libraries: who requires one of these first."""
    some = [
        d
        for d in python.distributions
        if not d.name.startswith("nvidia-") and not any(fnmatch.fnmatch(d.name, p) for p in FRAMEWORK_MODULES)
    ]
    known: dict[str, Distribution] = {}
    for distribution in sorted(some, key=lambda d: not d.pins):
        known.setdefault(distribution.name, distribution)
    yield from known.values()


def _try_framework(trial: Trial, request: ProbeRequest, where: Sysroot, verdict: Verdict) -> FrameworkTrial:
    request.watch.check()
    request.watch.say(fact_text("Trying {module} of {prefix}", module=trial.module, prefix=trial.python.prefix))
    first = run_trial(trial, request, request.env, where, verdict, with_packages=True)
    foreign = any(m.origin == PATH_VARIABLE for m in first.mapped)
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


def run_trial(
    trial: Trial,
    request: ProbeRequest,
    env: Mapping[str, str],
    where: Sysroot,
    verdict: Verdict,
    *,
    at_once: bool = False,
    with_packages: bool = False,
) -> FrameworkTrial:
    """Run one trial to its end or its time-out in the environment ``env``, with the rights that ``verdict`` says.

    ``at_once``: a framework takes the GPU's memory as it does by itself. So it does where its variable says how.
    """
    env = environment_for(verdict, without_silent_folders(env, where))
    folder = started_in(where, verdict, request.script_folder)
    growth = growth_of(trial.distribution)
    by_itself = at_once or (growth is not None and growth.variable in env)
    command = _command(
        trial, where.local_path(folder) if folder else "", at_once=by_itself, with_packages=with_packages
    )
    start = time.monotonic()
    env = {**env, "PYTHONDONTWRITEBYTECODE": "1"}
    timeout = TRIAL_TIMEOUT_SECONDS + (PACKAGE_WAIT_SECONDS if with_packages and trial.packages else 0.0)
    done = request.host.run(
        command, timeout=timeout, env=env, watch=request.watch, account=verdict.account, kind="answering"
    )
    answer = child.read_answer(done, TrialEvent)
    said, ended = tuple(e for e in answer.events if not e.package), answer.ended
    output, _mark, _of_packages = answer.output.partition(PACKAGES_FOLLOW)
    packages = _packages(trial, answer.events, ended if not answer.timed_out else "") if with_packages else ()
    if any(e.package for e in answer.events):
        ended = ""  # the framework had come through by then

    def last(name: str) -> str:
        return next((str(v) for e in reversed(said) if (v := getattr(e, name))), "")

    return FrameworkTrial(
        prefix=trial.python.prefix,
        framework=trial.distribution,
        folder=path_text(folder),
        version=last("version") or trial.version,
        reached=next((s for s in TRIAL_STAGES if any(e.stage == s for e in said)), "nothing"),
        gpu=next((e.gpu for e in said if e.gpu is not None), None),
        devices=next((e.devices for e in said if e.devices is not None), None),
        device=last("device"),
        cuda=last("cuda"),
        cudnn=cudnn_version(last("cudnn")),
        cudnn_compiled=last("cudnn_compiled"),
        right=next((e.right for e in said if e.right is not None), None),
        backward=any(e.backward for e in said),
        mapped=_mapped_files(answer.mapped, trial, env, where),
        printed=_printed_lines(output),
        problem=last("problem") or (_tail(output) if ended else ""),
        failures=tuple(e.failure for e in said if e.failure),
        packages=packages,
        ended=ended,
        timed_out=answer.timed_out and bool(ended),
        seconds=round(time.monotonic() - start, 2),
    )


def _command(trial: Trial, folder: str, *, at_once: bool, with_packages: bool) -> tuple[str, ...]:
    packages = trial.packages if with_packages else ()
    return (
        *(trial.python.executable, "-B", "-c", TRIAL_SCRIPT),
        *(trial.module, folder, "at once" if at_once else ""),
        *((PACKAGES_FOLLOW, f"{PACKAGE_SECONDS:g}") if packages else ()),
        *(f"{d.name}={module}" for d, module in packages),
    )


def _packages(trial: Trial, events: tuple[TrialEvent, ...], ended: str) -> tuple[PackageTrial, ...]:
    """Return what became of each package; one that began and said nothing more ended the process."""
    made = []
    for distribution, _module in trial.packages:
        mine = [e for e in events if e.package == distribution.name]
        states = {e.state for e in mine}
        one = PackageTrial(distribution=distribution.name, version=distribution.version)
        if "imported" in states:
            one = replace(one, state="imported", seconds=round(mine[-1].seconds, 2))
        elif "failed" in states:
            told = next(e for e in mine if e.state == "failed")
            rows = tuple(e.failure for e in mine if e.failure)
            seconds = round(told.seconds, 2)
            one = replace(one, state="failed", problem=told.problem, failures=rows, seconds=seconds)
        elif "began" in states and ended:  # not where its time was out
            one = replace(one, state="ended", ended=ended)
        made.append(one)
    return tuple(made)


def started_in(where: Sysroot, verdict: Verdict, script_folder: str) -> str:
    """Return the folder from which Python imports first, the script's or the person's working folder; none where its files
    may not be run.
    """
    folder = script_folder or working_folder(where)
    mine = verdict.account is None and folder and may_run({where.local_path(folder): True})
    return folder if mine and mine.may and mine.account is None else ""


def _mapped_files(mapped: tuple[str, ...], trial: Trial, env: Mapping[str, str], where: Sysroot) -> tuple[Mapped, ...]:
    paths = (p for p in mapped if is_cuda_file(where.name(p)))
    return tuple(
        Mapped(path=path, name=where.name(path), origin=file_origin(path, trial.python.prefix, env, where))
        for path in dict.fromkeys(paths)
    )


_TELLING = late_pattern(r"cuda|cudnn|cublas|gpu|dlopen|dlerror|driver|nvidia", re.IGNORECASE)


def _printed_lines(output: str) -> str:
    """Return the last lines about the GPU and its libraries: TensorFlow only prints why it goes on without them."""
    lines = [line.rstrip()[:500] for line in output.splitlines() if _TELLING.search(line)]
    return "\n".join(lines[-6:])


def _tail(output: str) -> str:
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return "\n".join(lines[-6:])[-2000:]


def cudnn_version(said: str) -> str:
    """Return what a framework says of its cuDNN as dotted text; what is no number of cuDNN's stays as it is."""
    number = whole_number(said)
    return (version_text(number) if number is not None else None) or said
