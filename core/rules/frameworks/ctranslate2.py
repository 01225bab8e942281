"""Rules about CTranslate2's cuBLAS: its wheel has none, and opens it by name on the loader's search path."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import N_, _
from core.knowledge.causes import Cause
from core.knowledge.horizon import is_beyond_horizon
from core.model.facts import FrameworkBuild, Snapshot, Toolkit
from core.model.findings import Finding, Fix
from core.model.paths import normalise
from core.rules.advice import add_to_search_path
from core.rules.frameworks.advice import framework_pip_command
from core.rules.frameworks.builds import on_gpu
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.frameworks.fit import gpu_side
from core.rules.snapshot_queries import effective_variable, is_of_environment
from core.rules.wording import NOTE, UNKNOWN, make_finding, manual_fix, observation

SEARCH_SOURCES = {"linux": {"LD_LIBRARY_PATH", "ld.so.cache"}, "windows": {"PATH"}}
"""Values of a toolkit's ``named_by`` for folders that the loader searches."""

DEFAULT_FOLDERS = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64"),
    *(f"{usr}/lib/{processor}-linux-gnu" for usr in ("", "/usr") for processor in ("x86_64", "aarch64")),
)

FACT_SOURCE = N_("needed names, RPATH and ctranslate2/__init__.py, read in 4.4.0 and 4.8.5")


def cublas_by_name(seen: Snapshot) -> Iterator[Finding]:
    """CTranslate2 for CUDA finds no cuBLAS: none is installed, or none is on the loader's search path."""
    if not gpu_side(seen).there or seen.toolkits is None:
        return
    for home in environment_views(seen):
        build = home.build("ctranslate2")
        if build is None or build not in on_gpu(home) or home.near > 3 or home.python.kind == "conda":
            continue  # conda's interpreter has an RPATH to its own lib folder, which its extension modules use.
        if is_beyond_horizon("ctranslate2", build.version) or is_beyond_horizon("cuda", build.cuda):
            continue
        places = list(_places(home, build))
        if not any(_is_searched(seen, t) for t in places) and not _is_opened(home, build):
            yield _lost_cublas(home, build, places)


def _name(seen: Snapshot, build: FrameworkBuild) -> str:
    major = (build.cuda or "").partition(".")[0]
    return f"cublas64_{major}.dll" if seen.machine.system == "windows" else f"libcublas.so.{major}"


def _places(home: EnvironmentView, build: FrameworkBuild) -> Iterator[Toolkit]:
    """Yield the sets of CUDA libraries that contain the needed cuBLAS; the environment's own first."""
    wanted = _name(home.seen, build)
    having = [t for t in home.seen.toolkits or () if any(f.name.lower() == wanted for f in t.libraries)]
    yield from sorted(having, key=lambda t: not _is_own(home, t))


def _is_opened(home: EnvironmentView, build: FrameworkBuild) -> bool:
    """Whether its own load found the library, in a child that ran this Python's start-up code."""
    name = _name(home.seen, build)
    opened = (o for c in home.closures for o in c.openings or ())
    return any(o.library.lower() == name and not o.problem and not o.ended for o in opened)


def _is_own(home: EnvironmentView, toolkit: Toolkit) -> bool:
    return is_of_environment(home.seen, home.python.prefix, toolkit.root)


def _is_searched(seen: Snapshot, toolkit: Toolkit) -> bool:
    if SEARCH_SOURCES[seen.machine.system] & set(toolkit.named_by) or toolkit.folder in DEFAULT_FOLDERS:
        return True
    windows = seen.machine.system == "windows"  # another way of starting has variables of its own
    value = effective_variable(seen, "PATH" if windows else "LD_LIBRARY_PATH")
    named = value.value.split(";" if windows else ":") if value else []
    its = normalise(seen.machine.system, toolkit.folder or toolkit.root)
    return its in [normalise(seen.machine.system, n) for n in named if n]


def _lost_cublas(home: EnvironmentView, build: FrameworkBuild, places: list[Toolkit]) -> Finding:
    name = _name(home.seen, build)
    torch = home.build("torch")
    helped = bool(torch and torch.cuda and torch.cuda.partition(".")[0] == (build.cuda or "").partition(".")[0])
    version, prefix = build.version, home.python.prefix
    rows = [
        observation(_("Required"), name, _(FACT_SOURCE)),
        *(observation(_("Location"), t.folder or t.root, t.source) for t in places[:3]),
    ]
    if not places:
        title = _(
            "CTranslate2 {version} in {prefix} needs {name}, which is not on this machine.",
            version=version,
            prefix=prefix,
            name=name,
        )
        cause: Cause = "cuda_runtime_missing"
        why = _("Its package does not include cuBLAS. It loads without it, and fails when it computes.")
    else:
        title = _("CTranslate2 {version} in {prefix} does not find {name}.", version=version, prefix=prefix, name=name)
        cause = "cuda_not_on_search_path"
        why = _("It asks for the bare name, and the loader does not search the folder that contains it.")
    if helped:
        rows.append(
            observation(
                _("In the same environment"), f"torch {torch.version if torch else ''}", torch.binary if torch else ""
            )
        )
        why = _(
            "Once the same program imports torch, CTranslate2 uses its cuBLAS. Without that, CTranslate2 "
            "fails when it computes."
        )
    return make_finding(
        "frameworks.cublas-not-searched",
        UNKNOWN
        if helped
        else NOTE
        if (places and home.is_idle("ctranslate2")) or home.is_on_cpu("ctranslate2")
        else home.severity,
        title,
        cause=cause,
        why=why,
        evidence=[*rows, home.concerns("ctranslate2")],
        subject=prefix,
        fix=_cure(home, build, places),
    )


def _cure(home: EnvironmentView, build: FrameworkBuild, places: list[Toolkit]) -> Fix:
    if places:
        return add_to_search_path(home.seen, places[0].folder or places[0].root)
    major = (build.cuda or "").partition(".")[0]
    package = f"nvidia-cublas-cu{major}" if major in ("11", "12") else f"nvidia-cublas=={major}.*"
    command = framework_pip_command(home.seen, home.python, "install", package)
    if home.seen.machine.system == "windows" or not home.python.site_packages:
        return manual_fix(
            _("Install CUDA {major}", major=major),
            _("Get a CUDA {major} toolkit from developer.nvidia.com/cuda-toolkit-archive.", major=major),
        )
    middle = "cublas" if major in ("11", "12") else f"cu{major}"
    folder = f"{home.python.site_packages[0]}/nvidia/{middle}/lib"
    named = add_to_search_path(home.seen, folder)
    return manual_fix(
        _("Install {package}, and let the loader search its folder", package=package),
        command,
        named.advice,
        restart="terminal",
    )


RULES = (cublas_by_name,)
