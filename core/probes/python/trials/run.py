"""One trial: a framework or a package is imported and used in an environment's own interpreter, and what the process said becomes facts."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.host import child
from core.host.provenance import Verdict, environment_for, may_run
from core.knowledge.cudnn_file_names import version_text
from core.knowledge.memory_growth import growth_of
from core.model.facts import (
    Distribution,
    FrameworkTrial,
    Frozen,
    ImportFailure,
    Mapped,
    PackageTrial,
    PythonEnvironment,
    path_text,
)
from core.model.paths import is_inside
from core.probes.loading.origin import file_origin
from core.probes.loading.roll_call.linux_loader import is_cuda_file
from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
from core.probes.python.trials.script import CHANGE_VARIABLE, TRIAL_SCRIPT
from core.probes.sysroot import Sysroot, without_silent_folders

TRIAL_TIMEOUT_SECONDS = 60.0
"""Seconds for one trial; the first import after an installation writes no byte code (-B) and may take ten."""
PACKAGE_SECONDS, MAX_PACKAGES = 20.0, 60
"""Processor seconds after which a framework's process imports no further package, and the maximum number of packages."""
PACKAGE_WAIT_SECONDS = 30.0
"""Seconds of wall time that a trial may take longer for them."""
PACKAGE_SHARE = 0.2
"""What the process of a framework may take besides its import, as a share of that. An import that is stopped ends late, at the next line of
Python; a program that has imported a framework takes 0.2 to 0.4 times as long again to take all down at its end, which a trial does not do.
"""
PACKAGES_FOLLOW = "-- convalesce: packages --"
"""Separates the output of a framework from that of the other packages."""

TRIAL_STAGES: tuple[Literal["convolution", "devices", "import"], ...] = ("convolution", "devices", "import")


class Surroundings(Frozen, frozen=True, kw_only=True):
    """What a trial found around it, where it was asked for it."""

    path: tuple[str, ...] = ()
    """The entries of sys.path outside the environment and its Python."""
    start_up: tuple[str, ...] = ()
    """The .pth files of the folders of packages, sitecustomize and usercustomize."""
    user_packages: str = ""
    """The folder of the user's own packages, where it is searched."""
    code: tuple[str, ...] = ()
    """Files of modules from outside the environment and its Python that were opened."""
    read: tuple[str, ...] = ()
    """Other files in the home folder that were opened."""


class Change(Frozen, frozen=True, kw_only=True):
    """What is left out around a trial besides variables; the trial's script carries it out."""

    tell: bool = False
    """Say what is around."""
    entries: tuple[str, ...] = ()
    """Of sys.path."""
    start_up: tuple[str, ...] = ()
    folder: bool = False
    """The folder that the program is started in."""


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
    around: Surroundings | None = None


class Trial(msgspec.Struct, frozen=True):
    """A framework's module to import in an environment's interpreter."""

    python: PythonEnvironment
    distribution: str
    version: str
    module: str
    packages: tuple[tuple[Distribution, str], ...] = ()
    """The distributions to import after it, each with its module."""
    doubtful: frozenset[str] = frozenset()
    """Those of them whose requirements are not met, which are imported first, however long that takes."""


def run_trial(
    trial: Trial,
    request: ProbeRequest,
    env: Mapping[str, str],
    where: Sysroot,
    verdict: Verdict,
    *,
    at_once: bool = False,
    with_packages: bool = False,
    change: Change | None = None,
    timeout: float | None = None,
    hear: Callable[[Surroundings], object] = lambda _around: None,
) -> FrameworkTrial:
    """Run one trial to its end or its time-out (seconds) in the environment ``env``, with the rights that ``verdict`` says.

    ``at_once``: a framework takes the GPU's memory as it does by itself. So it does where its variable says how.
    ``hear`` gets what is around, where ``change`` asks for it.
    """
    env = environment_for(verdict, without_silent_folders(env, where))
    folder = "" if change and change.folder else started_in(where, verdict, request.script_folder)
    growth = growth_of(trial.distribution)
    by_itself = at_once or (growth is not None and growth.variable in env)
    command = _command(
        trial,
        where.local_path(folder) if folder else "",
        at_once=by_itself,
        with_packages=with_packages,
        bare=bool(change and change.start_up),
        every=request.thorough,
    )
    start = time.monotonic()
    env = {**env, "PYTHONDONTWRITEBYTECODE": "1"}
    if change:
        env[CHANGE_VARIABLE] = msgspec.json.encode(change).decode()
    timeout = TRIAL_TIMEOUT_SECONDS if timeout is None else timeout
    timeout += PACKAGE_WAIT_SECONDS if with_packages and trial.packages else 0.0
    done = request.host.run(
        command, timeout=timeout, env=env, watch=request.watch, account=verdict.account, kind="answering"
    )
    answer = child.read_answer(done, TrialEvent)
    said, ended = tuple(e for e in answer.events if not e.package), answer.ended
    for event in said:
        if event.around:
            hear(event.around)
    output, _mark, of_packages = answer.output.partition(PACKAGES_FOLLOW)
    ended_by = ended if not answer.timed_out else ""
    packages = _packages(trial, answer.events, ended_by, of_packages) if with_packages else ()
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
        failures=tuple(e.failure for e in said if e.failure) or (_crash(trial, output, ended) if ended else ()),
        packages=packages,
        ended=ended,
        timed_out=answer.timed_out and bool(ended),
        seconds=round(time.monotonic() - start, 2),
    )


def _command(
    trial: Trial, folder: str, *, at_once: bool, with_packages: bool, bare: bool = False, every: bool = False
) -> tuple[str, ...]:
    packages = trial.packages if with_packages else ()
    return (
        *(trial.python.executable, "-B", *(("-S",) if bare else ()), "-c", TRIAL_SCRIPT),
        *(trial.module, folder, "at once" if at_once else ""),
        *((PACKAGES_FOLLOW, f"{PACKAGE_SECONDS:g}", "all" if every else f"{PACKAGE_SHARE:g}") if packages else ()),
        *(f"{d.name}={module}{'?' if d.name in trial.doubtful else ''}" for d, module in packages),
    )


def _packages(trial: Trial, events: tuple[TrialEvent, ...], ended: str, output: str) -> tuple[PackageTrial, ...]:
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
            crash = _crash(trial, output, ended)
            one = replace(one, state="ended", ended=ended, problem=_tail(output), failures=crash)
        made.append(one)
    return tuple(made)


def started_in(where: Sysroot, verdict: Verdict, script_folder: str) -> str:
    """Return the folder from which Python imports first, the script's or the person's working folder; none where its files may not be run."""
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
    """Return the last lines before the interpreter's own list of what it carried out."""
    said = _STACK.split(output)[0] if _STACK.search(output) else output
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    return "\n".join(lines[-6:])[-2000:]


def signal_of(ended: str) -> str:
    """Return the signal that ended a process, as its sentence has it; empty for none."""
    found = re.search(r"SIG[A-Z]+", ended)
    return found[0] if found else ""


_STACK = late_pattern(r"(?m)^(?:Current thread|Thread) 0x[0-9a-f]+[^\n]*most recent call first")
_FRAME = late_pattern(r'(?m)^  File "([^"<][^"]*)", line (\d+) in ')


def _crash(trial: Trial, output: str, ended: str) -> tuple[ImportFailure, ...]:
    """Return what faulthandler wrote as a process ended: the innermost line of a package that was carried out.

    Source: https://docs.python.org/3/library/faulthandler.html.
    """
    stacks = _STACK.split(output)
    for file, line in _FRAME.findall(stacks[-1]) if len(stacks) > 1 else ():
        inner = next((f for f in trial.python.site_packages if is_inside("linux", file.replace("\\", "/"), f)), "")
        if inner and "importlib" not in file:
            top = file[len(inner) :].strip("/").partition("/")[0].partition(".")[0]
            all_ = trial.python.distributions
            owner = next((f"{d.name} {d.version}" for d in all_ if d.name.replace("-", "_") == top.lower()), top)
            text = _tail(output).rpartition("\n")[2]
            return (ImportFailure(kind=signal_of(ended), text=text, file=file, line=int(line), asker=owner),)
    return ()


def cudnn_version(said: str) -> str:
    """Return what a framework says of its cuDNN as dotted text; what is no number of cuDNN's stays as it is."""
    number = whole_number(said)
    return (version_text(number) if number is not None else None) or said
