"""Why cuDNN loads but cannot work: CUDA's own libraries are missing, of another CUDA, or of two releases; zlib."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from core.common.i18n import _, join_sentences, translate_fact
from core.common.late_pattern import late_pattern
from core.common.text import capitalise, join_names
from core.common.versions import versions_differ
from core.knowledge.cudnn_file_names import role_of
from core.knowledge.horizon import is_beyond_horizon
from core.knowledge.releases import compatibility_table, nvidia_package
from core.model.facts import Attempt, LibraryFile, Resolution, Toolkit, cuda_in_name
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, parent
from core.model.remedies import AddFolder, InstallPackages, Place, TakeOut
from core.rules.advice import add_to_search_path, pinned_package, pip_command
from core.rules.consumer_loads import ConsumerLoad, found_by_ld_library_path, is_unimportant, load_failures
from core.rules.cudnn.files import BROKEN_STATES
from core.rules.frameworks.environment_view import missing_packages
from core.rules.frameworks.libraries.packages import searched_by
from core.rules.snapshot_queries import candidate_evidence, file_at, is_of_environment, near_misses, python_of
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation

_CUDA = late_pattern(
    r"lib(?P<linux>cudart|cublas|cublasLt|nvrtc|nvrtc-builtins)\.so\.(?P<major>[0-9]{1,6})(?:\.\d+)*"
    r"|(?P<windows>cudart|cublas|cublasLt|nvrtc|nvrtc-builtins)64_(?P<number>[0-9]{1,6})(?:_\d+)?\.dll",
    re.IGNORECASE,
)
LIBRARY_PACKAGES = {"cudart": "cuda-runtime", "cublas": "cublas", "cublasLt": "cublas", "nvrtc": "cuda-nvrtc"}
"""Library family -> middle of the name of NVIDIA's wheel: nvidia-cublas-cu12."""


UNFIT_STATES = (*BROKEN_STATES, "unreadable")
"""States of a file that exists but cannot be loaded."""


@lru_cache(maxsize=4096)
def family_and_major(name: str) -> tuple[str, int] | None:
    """Return family and CUDA major version of a library's name: ("cublasLt", 12); None for another library."""
    found = _CUDA.fullmatch(name)
    if not found:
        return None
    if found["linux"]:
        return found["linux"], int(found["major"])
    number = int(found["number"])
    spelt = next(f for f in (*LIBRARY_PACKAGES, "nvrtc-builtins") if f.lower() == found["windows"].lower())
    return spelt, cuda_in_name(number)


class AbsentLibrary(msgspec.Struct, frozen=True):
    """A CUDA library that is needed and that the loader does not find."""

    search: Resolution
    family: str
    major: int
    by_framework: bool
    """Needed by a file other than cuDNN's, or of the CUDA version that the framework was built for."""


def absent_libraries(c: ConsumerLoad, *families: str) -> list[AbsentLibrary]:
    """Return the needed libraries of these families that no search finds, a framework's first.

    A library that is there but unusable (unreadable, damaged) is not missing: the toolkit's own rule reports it.
    Libraries of a CUDA newer than the tables are not judged.
    """
    found: dict[str, list[Resolution]] = {}
    for search in c.load.resolutions:
        found.setdefault(search.name.lower(), []).append(search)
    out = []
    for searches in found.values():
        what = family_and_major(searches[0].name)
        if what and is_beyond_horizon("cuda", what[1]):
            continue
        if what and what[0] in families and not any(s.winner for s in searches) and not unusable_libraries(c, *what):
            theirs = [s for s in searches if s.wanted_by and role_of(file_name(c.system, s.wanted_by)) is None]
            asks = bool(theirs) or what[1] in framework_cuda(c)
            out.append(AbsentLibrary((theirs or searches)[0], *what, asks))
    return sorted(out, key=lambda a: not a.by_framework)


def framework_cuda(c: ConsumerLoad) -> set[int]:
    """Return the CUDA major versions that the consumer's framework was built for, from its version and requirements."""
    python = python_of(c.seen, c.load.consumer.prefix) if c.load.consumer.prefix else None
    name, _, version = c.load.consumer.framework.partition(" ")
    if python is None or not name:
        return set()
    local = re.search(r"\+cu(\d{2})\d", version)
    if local:
        return {int(local[1])}
    requires = [r for d in python.distributions if d.name == name for r in d.requires]
    found = (re.match(r"nvidia-[a-z-]+?-cu(\d{2})\b", r) for r in requires)
    return {int(m[1]) for m in found if m}


def files_on_disk(c: ConsumerLoad, what: str, major: int | None) -> list[tuple[Toolkit, LibraryFile]]:
    """Return the intact files of a family (of one CUDA major version, or any) that this consumer could use."""
    return [pair for pair in _candidates(c, what, major) if pair[1].state == "good"]


def unusable_libraries(c: ConsumerLoad, what: str, major: int) -> list[LibraryFile]:
    """Return the files of a family in the consumer's own environment that it cannot load in their present state."""
    return [f for toolkit, f in _candidates(c, what, major) if is_own(c, toolkit) and f.state in UNFIT_STATES]


def _candidates(c: ConsumerLoad, what: str, major: int | None) -> list[tuple[Toolkit, LibraryFile]]:
    out = []
    for toolkit in c.seen.toolkits or ():
        if not is_own(c, toolkit) and toolkit.origin not in ("installer", "distribution", "folder"):
            continue
        for file in toolkit.libraries:
            it = family_and_major(file.name)
            if it and it[0] == what and major in (None, it[1]):
                out.append((toolkit, file))
    return out


def is_own(c: ConsumerLoad, toolkit: Toolkit) -> bool:
    """Whether a toolkit is in the consumer's own environment."""
    return is_of_environment(c.seen, c.load.consumer.prefix, toolkit.root)


def dependent_evidence(c: ConsumerLoad, gone: AbsentLibrary) -> Evidence:
    """Return the file that needs the library, as evidence."""
    by = gone.search.wanted_by or (c.winner.path if c.winner else "")
    return observation(_("Required"), gone.search.name, _("named by {by}", by=by) if by else "")


def other_cuda(c: ConsumerLoad) -> Iterator[Finding]:
    """Libraries of another major CUDA version are installed instead of the needed ones."""
    for gone in absent_libraries(c, "cublas", "cublasLt", "cudart"):
        if files_on_disk(c, gone.family, gone.major):
            continue
        others = files_on_disk(c, gone.family, None)
        outside = not c.load.consumer.prefix or (c.system == "windows" and gone.by_framework)  # Imports come from PATH.
        mine = [pair for pair in others if is_own(c, pair[0])] or (others if outside else [])
        if not mine:
            continue
        majors = join_names(sorted({str((family_and_major(f.name) or ("", 0))[1]) for _, f in mine}))
        rows = [
            dependent_evidence(c, gone),
            *(observation(_("Found instead"), f.path, f.version_source) for _copy, f in mine[:3]),
        ]
        if gone.by_framework:
            yield _other_toolkit(c, gone, majors, rows)
        else:
            yield _other_build(c, gone, majors, rows)
        return


def _other_toolkit(c: ConsumerLoad, gone: AbsentLibrary, majors: str, rows: list[Evidence]) -> Finding:
    return make_finding(
        "toolkit.other-cuda",
        ERROR,
        _(
            "{framework} was built for CUDA {major}; only CUDA {majors} is installed.",
            framework=capitalise(c.loaded_by),
            major=gone.major,
            majors=majors,
        ),
        cause="cuda_toolkit_version_mismatch",
        why=_(
            "It asks for {name} by this name. Libraries of another CUDA major version have other names; "
            "renaming or linking them does not help. Several versions can coexist.",
            name=gone.search.name,
        ),
        evidence=[*rows, *candidate_evidence(gone.search), *load_failures(c)],
        subject=c.load.consumer.id,
        fix=install_library(c, gone),
    )


def _other_build(c: ConsumerLoad, gone: AbsentLibrary, majors: str, rows: list[Evidence]) -> Finding:
    fact = compatibility_table().fact("cudnn_cuda_major")
    package = nvidia_package(c.copy.owner) if c.copy else None
    cure = manual_fix(
        _("Install the cuDNN that was built for CUDA {majors}", majors=majors),
        _("Use the same cuDNN version, built for that CUDA."),
    )
    if package and majors.isdigit() and c.load.consumer.prefix:
        right = f"nvidia-cudnn-cu{majors}"
        wish = pinned_package(c.seen, c.load.consumer.prefix, right)
        exact = "==".join(wish) if wish else f"{right}=={c.load.major}.*"
        cure = manual_fix(
            _("Install the cuDNN that was built for CUDA {majors}", majors=majors),
            pip_command(c.seen, c.load.consumer.prefix, "uninstall", "-y", package[0]),
            pip_command(c.seen, c.load.consumer.prefix, "install", "--force-reinstall", "--no-deps", exact),
            "" if wish else _("Use the exact version that your framework asks for, if it names one."),
            restart="program",
            remedy=InstallPackages(prefix=c.load.consumer.prefix, remove=(package[0],), install=(exact,), alone=True),
        )
    return make_finding(
        "cudnn.other-cuda-build",
        ERROR,
        _(
            "This cuDNN was built for CUDA {major}, but the libraries next to it belong to CUDA {majors}.",
            major=gone.major,
            majors=majors,
        ),
        cause="cudnn_cuda_major_mismatch",
        why=join_sentences(_(fact.fact), _("It loads without them, and fails when it computes.")),
        evidence=[
            *rows,
            *candidate_evidence(gone.search),
            *load_failures(c),
            observation(_("Known from"), fact.source),
        ],
        subject=c.copy.folder if c.copy else c.load.consumer.id,
        fix=cure,
    )


def install_library(c: ConsumerLoad, gone: AbsentLibrary) -> Fix:
    """Return how to install the package or the toolkit that contains a library."""
    prefix = c.load.consumer.prefix
    middle = LIBRARY_PACKAGES.get(gone.family, gone.family)
    wish = pinned_package(c.seen, prefix, f"nvidia-{middle}")
    if wish and (gone.major >= 13 or wish[0].endswith(f"-cu{gone.major}")):
        return manual_fix(
            _("Install {package} {version}, which the framework requires", package=wish[0], version=wish[1]),
            pip_command(c.seen, prefix, "install", "==".join(wish)),
            restart="program",
            remedy=_install(c, "==".join(wish)),
        )
    if prefix and gone.major in (11, 12):
        package = f"nvidia-{middle}-cu{gone.major}"
        return manual_fix(
            _("Install {name}", name=package),
            pip_command(c.seen, prefix, "install", package),
            restart="program",
            remedy=_install(c, package),
        )
    if prefix and gone.major >= 13:
        return manual_fix(
            _("Install nvidia-{middle} for CUDA {major}", middle=middle, major=gone.major),
            pip_command(c.seen, prefix, "install", f"nvidia-{middle}=={gone.major}.*"),
            restart="program",
            remedy=_install(c, f"nvidia-{middle}=={gone.major}.*"),
        )
    return manual_fix(
        _("Install CUDA {major}", major=gone.major),
        _("Get a CUDA {major} toolkit from developer.nvidia.com/cuda-toolkit-archive.", major=gone.major),
    )


def _install(c: ConsumerLoad, wanted: str) -> InstallPackages:
    """Return how to add a package to the consumer's environment, together with all others that its frameworks lack."""
    prefix = c.load.consumer.prefix
    remedy = InstallPackages(prefix=prefix, install=missing_packages(c.seen, prefix, wanted))
    return searched_by(c.load.consumer, c.seen, remedy) if c.system == "windows" else remedy


def cublas_mismatch(c: ConsumerLoad) -> Iterator[Finding]:
    """The releases of cuBLAS and cuBLASLt differ."""
    winners: dict[tuple[str, int], tuple[Resolution, Attempt]] = {}
    for search in c.load.resolutions:
        what = family_and_major(search.name)
        if what and what[0] in ("cublas", "cublasLt") and search.winner:
            winners.setdefault(what, (search, search.winner))
    for (name, major), (search, winner) in winners.items():
        other = winners.get(("cublasLt", major)) if name == "cublas" else None
        if other is None:
            continue
        one, two = file_at(c.seen, winner.path), file_at(c.seen, other[1].path)
        if one is None or two is None or not versions_differ(one.version, two.version):
            continue
        yield make_finding(
            "toolkit.cublas-pair",
            ERROR,
            _("The two halves of cuBLAS belong to different releases."),
            cause="cuda_lib_shadowed",
            why=_(
                "cuBLAS and cuBLASLt call each other and must belong to one release; otherwise symbols are "
                "missing. A folder that is searched early supplies one of the two."
            ),
            evidence=[
                *(observation(f.path, _("version {version}", version=f.version), f.version_source) for f in (one, two)),
                *candidate_evidence(search),
                *candidate_evidence(other[0]),
            ],
            subject=c.load.consumer.id,
            fix=manual_fix(
                _("Put both into one folder"),
                _(
                    "Remove {one} or {other} from the search path (LD_LIBRARY_PATH or PATH), whichever does not "
                    "belong to this program.",
                    one=parent(c.system, winner.path),
                    other=parent(c.system, other[1].path),
                ),
                restart="program",
            ),
            remedy=single_cublas_remedy(c),
        )


def single_cublas_remedy(c: ConsumerLoad) -> TakeOut | None:
    """Return how an environment gets both parts of cuBLAS from its own packages: without the variable's folder that supplies one."""
    prefix = c.load.consumer.prefix
    halves = [
        s.winner for s in c.load.resolutions if (family_and_major(s.name) or ("", 0))[0] in ("cublas", "cublasLt")
    ]
    folders = dict.fromkeys(parent(c.system, w.path) for w in halves if w and found_by_ld_library_path(w))
    places = tuple(Place(folder=f, prefix=prefix) for f in folders if not is_of_environment(c.seen, prefix, f))
    return TakeOut(variable="LD_LIBRARY_PATH", places=places) if places and prefix else None


def runtime_not_found(c: ConsumerLoad) -> Iterator[Finding]:
    """CUDA's libraries are not on the search path, or not installed."""
    gone = absent_libraries(c, "cudart", "cublas", "cublasLt", "nvrtc")
    if c.winner is None or not gone:
        return
    calm = is_unimportant(c)
    nowhere = [g for g in gone if not files_on_disk(c, g.family, g.major) and g.family != "nvrtc"]
    if nowhere:
        yield _runtime_nowhere(c, nowhere, calm=calm)
        return
    for one in gone:
        places = files_on_disk(c, one.family, one.major)
        if not places or any(is_own(c, toolkit) for toolkit, _ in places):
            continue  # The program's own packages: it loads them itself before cuDNN needs them.
        folder = parent(c.system, places[0][1].path)
        yield make_finding(
            "toolkit.not-on-search-path",
            NOTE if calm else ERROR if one.by_framework else WARNING,
            _("CUDA's libraries in {folder} are not on the search path.", folder=folder),
            cause="cuda_not_on_search_path",
            why=_(
                "{label} needs {names}. The files are on this machine, but the loader does not search their folder.",
                label=capitalise(translate_fact(c.load.consumer.label)),
                names=join_names(g.search.name for g in gone),
            ),
            evidence=[
                dependent_evidence(c, one),
                observation(_("Location"), folder, places[0][0].source),
                *near_misses(c.seen, folder),
                *candidate_evidence(one.search),
            ],
            subject=folder,
            fix=add_to_search_path(c.seen, folder),
            remedy=AddFolder(folder=folder, prefixes=(c.load.consumer.prefix,)),
        )
        return


def _runtime_nowhere(c: ConsumerLoad, gone: list[AbsentLibrary], *, calm: bool) -> Finding:
    names = join_names(g.search.name for g in gone)
    certain = any(g.by_framework for g in gone) or bool(load_failures(c))
    return make_finding(
        "toolkit.runtime-missing",
        NOTE if calm else ERROR if certain else WARNING,
        _(
            "CUDA's libraries that {framework} needs are not on this machine: {names}.",
            framework=c.loaded_by,
            names=names,
        ),
        cause="cuda_runtime_missing",
        why=_(
            "The GPU driver does not include them; they come with a CUDA toolkit or as Python packages. "
            "cuDNN loads without them, and fails when it computes."
        ),
        evidence=[*(dependent_evidence(c, g) for g in gone), *candidate_evidence(gone[0].search), *load_failures(c)],
        subject=c.load.consumer.id,
        fix=install_library(c, gone[0]),
    )
