"""Rules about Python environments: their content, which one is active, and whether it is the intended one."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, n_, translate_fact
from core.common.shell import quote, shell_command, shell_of
from core.common.text import join_names
from core.common.versions import version_tuple
from core.model import path_list
from core.model.facts import Load, PythonEnvironment, Snapshot
from core.model.findings import Finding
from core.model.paths import normalise, parent
from core.model.remedies import AddDllFolders
from core.model.steps import Severity
from core.rules.frameworks import (
    broken,
    builds,
    ctranslate2,
    fewer_gpus,
    hardware,
    imports,
    misfits,
    packages,
    program_trials,
    records,
    requirements,
    trials,
    tried_imports,
    unfit_extensions,
)
from core.rules.frameworks.builds import on_gpu
from core.rules.frameworks.ended import finding as ended_imports
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import gpu_side
from core.rules.snapshot_queries import effective_variable
from core.rules.tools import used_compiler
from core.rules.wording import ERROR, GOOD, NOTE, UNKNOWN, WARNING, make_finding, manual_fix, observation

FRAMEWORK_NAMES = ("torch", "tensorflow", "jax", "onnxruntime-gpu", "ctranslate2", "paddlepaddle-gpu")


def unreadable_environment(seen: Snapshot) -> Iterator[Finding]:
    """A named environment could not be read."""
    told = {s.prefix for s in seen.imports or () if any(f.kind not in ("moved", "copied") for f in s.faults)}
    for python in seen.pythons or ():
        if python.problem and python.is_named and python.prefix not in told:
            yield make_finding(
                "frameworks.environment-unread",
                UNKNOWN,
                _("The Python environment {prefix} could not be read.", prefix=python.prefix),
                why=_("It is not known what it would load."),
                evidence=[observation(_("Problem"), translate_fact(python.problem), python.found_by)],
                subject=python.prefix,
                fix=None
                if python.executable
                else manual_fix(
                    _("Name the environment itself"),
                    _(
                        "Specify the folder of an environment made by python -m venv or conda, or its Python interpreter."
                    ),
                    _("To list what is there: {command}", command="convalesce scan"),
                ),
            )


def environment_contents(seen: Snapshot) -> Iterator[Finding]:
    """Each environment with its relevant content."""
    for python in seen.pythons or ():
        frameworks = _frameworks(python)
        if frameworks and not python.problem:
            yield make_finding(
                "frameworks.environment-read",
                GOOD,
                _(
                    "The Python environment {prefix} has {frameworks}.",
                    prefix=python.prefix,
                    frameworks=join_names(frameworks),
                ),
                evidence=[
                    observation(_("Python"), f"{python.version} ({python.kind})", python.found_by),
                    observation(
                        _("NVIDIA packages"),
                        n_(
                            "{n} package",
                            "{n} packages",
                            len([d for d in python.distributions if d.name.startswith("nvidia-")]),
                        ),
                    ),
                ],
                subject=python.prefix,
            )


def _frameworks(python: PythonEnvironment) -> list[str]:
    return [f"{d.name} {d.version}" for d in python.distributions if d.name in FRAMEWORK_NAMES]


def wrong_environment(seen: Snapshot) -> Iterator[Finding]:
    """The active environment is not the one whose interpreter starts, or has no framework while another one has."""
    active = effective_variable(seen, "VIRTUAL_ENV") or effective_variable(seen, "CONDA_PREFIX")
    started = _other_started(seen, active.name if active else "")
    system = seen.machine.system
    if active is None or not active.value:
        return
    known = any(active.name in p.ways for p in seen.pythons or ())
    if (
        known
        and started
        and active.name not in started.ways
        and normalise(system, started.prefix) != normalise(system, active.value)
    ):
        yield make_finding(
            "frameworks.another-python-starts",
            _other_severity(seen, active.name, started),
            _(
                "{value} is activated, but the command python starts the interpreter of {prefix}.",
                value=active.value,
                prefix=started.prefix,
            ),
            cause="wrong_environment_active",
            why=_("The program does not run in the activated environment."),
            evidence=[
                observation(active.name, active.value, active.source),
                observation(_("It is started by"), started.executable or started.prefix, started.found_by),
                *(h.concerns() for h in environment_views(seen) if active.name in h.python.ways),
            ],
            subject=active.value,
            fix=manual_fix(
                _("Activate it again in a new terminal"),
                _activation(seen, active.name, active.value),
                restart="terminal",
            ),
        )
        return
    yield from _without_framework(seen, active.name)


def _other_started(seen: Snapshot, active: str) -> PythonEnvironment | None:
    """Return the environment that ``python`` or ``python3`` starts, if it is not the active one."""
    first = next((p for p in seen.pythons or () if "python" in p.ways), None)
    second = next((p for p in seen.pythons or () if "python3" in p.ways), None)
    return second if active == "VIRTUAL_ENV" and first and second and active in first.ways else first


def _other_severity(seen: Snapshot, active: str, started: PythonEnvironment) -> Severity:
    """Return the severity: a fault if the environment that runs lacks a framework; conda activates its base by default."""
    if active != "VIRTUAL_ENV":
        return NOTE
    mine = next((h for h in environment_views(seen) if active in h.python.ways), None)
    theirs = {d.name for d in started.distributions}
    lacks = any(b.distribution not in theirs for b in mine.builds) if mine else False
    return ERROR if lacks else WARNING


def _activation(seen: Snapshot, name: str, prefix: str) -> str:
    if name == "CONDA_PREFIX":
        return shell_command("conda", "activate", prefix, of=shell_of(seen.machine.system))
    if seen.machine.system == "windows":
        return "& " + quote(f"{prefix}\\Scripts\\Activate.ps1", "powershell")
    return shell_command(".", f"{prefix}/bin/activate")


def _without_framework(seen: Snapshot, name: str) -> Iterator[Finding]:
    everything = list(environment_views(seen))
    mine = next((h for h in everything if name in h.python.ways), None)
    others = [h for h in everything if h is not mine and on_gpu(h)]
    if mine is None or mine.builds or not others or not gpu_side(seen).there or mine.python.problem:
        return
    yield make_finding(
        "frameworks.active-without-framework",
        NOTE,
        _(
            "The active environment {prefix} has no framework; {prefix2} has {on_gpu}.",
            prefix=mine.python.prefix,
            prefix2=others[0].python.prefix,
            on_gpu=join_names(f"{b.distribution} {b.version}" for b in on_gpu(others[0])),
        ),
        cause="wrong_environment_active",
        why=_("If a framework is missing in your program, this is the wrong environment."),
        evidence=[observation(_("Has a framework"), h.python.prefix, h.python.found_by) for h in others],
        subject=mine.python.prefix,
        fix=manual_fix(_("Use the other one"), others[0].python.executable),
    )


def older_variables(seen: Snapshot) -> Iterator[Finding]:
    """New programs have a folder with CUDA or cuDNN on their search path that this session's programs do not have."""
    windows = seen.machine.system == "windows"
    paths = [v for v in seen.variables if v.name.upper() == "PATH"]
    now = [v for v in paths if v.scope == "process"]
    if not windows or not now or seen.cudnn is None:
        return
    have = {path_list.entry_key(p, "windows") for v in now for p in path_list.searched_entries(v.value, "windows")}
    wanted = {
        path_list.entry_key(f, "windows"): f
        for f in (*(c.folder for c in seen.cudnn), *(t.folder for t in seen.toolkits or ()))
        if f
    }
    for v in paths:
        new = [
            wanted[t]
            for p in path_list.searched_entries(v.value, "windows")
            if v.scope in ("user", "machine") and (t := path_list.entry_key(p, "windows")) in wanted and t not in have
        ]
        for folder in dict.fromkeys(new):
            yield make_finding(
                "environment.older-variables",
                WARNING,
                _("Programs of this session do not have {folder} on their PATH yet.", folder=folder),
                cause="process_env_not_inherited",
                why=_("PATH changed after this session's programs were started. They keep the old one."),
                evidence=[
                    observation(_("PATH of new programs contains"), folder, v.source),
                    observation(_("PATH of this session"), _("does not name it"), "environment"),
                ],
                subject=folder,
                fix=manual_fix(
                    _("Restart your terminal, editor or service"),
                    _("If that does not help, sign out and back in."),
                    restart="session",
                ),
            )


def only_on_path(seen: Snapshot) -> Iterator[Finding]:
    """On Windows, a library is on PATH, where any program finds it, but Python 3.8 and later does not."""
    if seen.machine.system != "windows":
        return
    for load in seen.loads or ():
        lost = lost_to_python(seen, load)
        if lost:
            yield _only_on_path(seen, load, *next(iter(lost.items())))


def lost_to_python(seen: Snapshot, load: Load) -> dict[str, str]:
    """Return the libraries that an environment's framework does not find -> the files that other programs find on PATH."""
    if load.consumer.kind not in ("python", "store") or not load.consumer.framework:
        return {}
    plain = {
        r.name.lower(): r.winner.path
        for other in seen.loads or ()
        if other.consumer.kind == "plain"
        for r in other.resolutions
        if r.winner
    }
    lost = [
        r.name
        for r in load.resolutions
        if r.winner is None and r.name.lower().startswith(("cudnn", "cublas", "cudart"))
    ]
    return {name: plain[name.lower()] for name in lost if name.lower() in plain}


def lost_folders(seen: Snapshot, prefix: str) -> tuple[str, ...]:
    """Return the folders of PATH that one environment's Python would have to search for its frameworks' libraries."""
    lost = [lost_to_python(seen, load) for load in seen.loads or () if load.consumer.prefix == prefix]
    return tuple(dict.fromkeys(parent("windows", path) for its in lost for path in its.values()))


def _only_on_path(seen: Snapshot, load: Load, lost: str, path: str) -> Finding:
    folder = parent("windows", path)
    home = next(
        (
            h
            for h in environment_views(seen)
            if normalise("windows", h.python.prefix) == normalise("windows", load.consumer.prefix)
        ),
        None,
    )
    site = home.python.site_packages[0] if home and home.python.site_packages else load.consumer.prefix
    return make_finding(
        "frameworks.path-is-not-searched",
        ERROR,
        _(
            "{framework} does not find {name}, although PATH names its folder.",
            framework=load.consumer.framework,
            name=lost,
        ),
        cause="python_dll_search_change",
        why=_(
            "Since Python 3.8, PATH is not searched for the libraries of extension modules; a program must "
            "add the folder itself."
        ),
        evidence=[
            observation(_("Any program finds it"), path, "PATH"),
            observation(_("This Python"), _("does not find it"), translate_fact(load.consumer.label)),
            *([home.concerns(load.consumer.framework.partition(" ")[0])] if home else []),
        ],
        subject=load.consumer.prefix,
        fix=manual_fix(
            _("Add the folder in that environment"),
            _('Save this one line as "{site}\\cuda_folder.pth":', site=site),
            _('import os; os.add_dll_directory(r"{folder}")', folder=folder),
            restart="program",
        ),
        remedy=AddDllFolders(prefix=load.consumer.prefix, folders=lost_folders(seen, load.consumer.prefix)),
    )


def other_compiler(seen: Snapshot) -> Iterator[Finding]:
    """The nvcc on PATH has another CUDA major version than PyTorch, so that compiled extensions will not fit."""
    nvcc = used_compiler(seen)
    if nvcc is None:
        return
    version = nvcc.nvcc_version or nvcc.version or ""
    for home in environment_views(seen):
        build = home.build("torch")
        if home.near > 1 or build is None or not build.cuda or not version_tuple(version):
            continue
        if version_tuple(version)[:1] != version_tuple(build.cuda)[:1]:
            yield _other_compiler(home, build.version, build.cuda, version, nvcc.nvcc)


def _other_compiler(home: EnvironmentView, torch: str, cuda: str, version: str, nvcc: str) -> Finding:
    fitting = next(
        (
            t
            for t in home.seen.toolkits or ()
            if t.nvcc and version_tuple(t.nvcc_version or t.version)[:2] == version_tuple(cuda)[:2]
        ),
        None,
    )
    windows = home.seen.machine.system == "windows"
    set_it = (
        "$env:CUDA_HOME = " + quote(fitting.root, "powershell")
        if windows and fitting
        else f"export CUDA_HOME={quote(fitting.root)}"
        if fitting
        else ""
    )
    return make_finding(
        "frameworks.other-compiler",
        NOTE,
        _(
            "nvcc belongs to CUDA {version}, but torch {torch} in {prefix} was built for CUDA {cuda}.",
            version=version,
            torch=torch,
            prefix=home.python.prefix,
            cuda=cuda,
        ),
        cause="nvcc_toolkit_mismatch_build",
        why=_("This matters only when you compile extensions for PyTorch: it refuses another major version."),
        evidence=[
            observation(_("nvcc"), _("{nvcc} of CUDA {version}", nvcc=nvcc, version=version)),
            observation(_("torch was built for CUDA"), cuda),
            home.concerns("torch"),
        ],
        subject=home.python.prefix,
        fix=manual_fix(
            _("Compile with the matching toolkit"),
            set_it or _("Install the CUDA {cuda} toolkit next to this one; several versions can coexist.", cuda=cuda),
        ),
    )


RULES = (
    unreadable_environment,
    environment_contents,
    wrong_environment,
    older_variables,
    only_on_path,
    other_compiler,
    *builds.RULES,
    *ctranslate2.RULES,
    *hardware.RULES,
    *imports.RULES,
    *ended_imports.RULES,
    *unfit_extensions.RULES,
    *broken.RULES,
    *packages.RULES,
    *requirements.RULES,
    *misfits.RULES,
    *records.RULES,
    *trials.RULES,
    *tried_imports.RULES,
    *program_trials.RULES,
    *fewer_gpus.RULES,
)
