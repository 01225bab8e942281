"""What a framework's own binaries lack, or what does not fit them: one finding for each framework or extension, with one cure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from core.common.i18n import N_, _, translate_fact
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.common.versions import is_in_specifier, parse_requirement
from core.knowledge.causes import Cause, OptionalCause
from core.knowledge.cuda_wheels import release_beside
from core.knowledge.gpu_binaries import gpu_binaries
from core.model.facts import Attempt, DamagedFile, Distribution, How, Snapshot, System
from core.model.facts.closure import Closure, Edge, Gap, Opening
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, is_inside, join_path, normalise, parent
from core.model.remedies import (
    AddDllFolders,
    AddFolder,
    InstallPackages,
    Place,
    PreferFolder,
    PutPackageBack,
    Remedy,
    TakeOut,
)
from core.model.steps import Severity, Step
from core.rules.advice import add_to_search_path, without_variable
from core.rules.frameworks.advice import fitting_companion, framework_pip_command, index_of_build, whole_again
from core.rules.frameworks.environment_view import EnvironmentView, asked_of, environment_views
from core.rules.frameworks.packages import FRAMEWORKS
from core.rules.wording import NOTE, UNKNOWN, Concern, concern_row, make_finding, manual_fix, observation

LIBRARIES_ID = "libraries-"
"""Start of the name of every finding of this module; the distribution follows."""

PACKAGE_OF = {
    "cudart": "cuda-runtime", "cublaslt": "cublas", "nvrtc": "cuda-nvrtc", "nvrtc-builtins": "cuda-nvrtc", "cupti": "cuda-cupti",
    "cufftw": "cufft", "cusolvermg": "cusolver", "nvtoolsext": "nvtx", "nvshmem_host": "nvshmem", "nvblas": "cublas",
}  # fmt: skip
"""Stem of a library -> middle of the name of NVIDIA's wheel, where they differ: libcublasLt.so.12, nvidia-cublas-cu12."""

COMPILERS = late_pattern(r"lib(stdc\+\+|gcc_s|c|m|pthread|dl|rt|gomp)\.so|ld-linux")
COMPILER_VERSION = late_pattern(r"(GLIBC|GLIBCXX|CXXABI|GCC|GOMP|OMP)_")
DRIVERS_OWN = late_pattern(r"lib(cuda|cudadebugger|nvcuvid|nvidia-[\w-]+)\.so")
"""A loader's sentence about what comes with the driver: no fault of a framework on a machine without one."""

LIBRARY_IN_WORDS = late_pattern(r"lib[\w+-]+(?:\.[\w-]+)*?\.so(?:\.\d+)*")
"""A file in a loader's own sentence."""

FRAMEWORKS_OWN = late_pattern(r"(lib)?(torch\w*|c10\w*|caffe2\w*|shm)\.(so|dll)")


class Lack(msgspec.Struct, frozen=True):
    """One consumer, what it lacks, and what is known of that."""

    home: EnvironmentView
    closure: Closure
    edges: tuple[Edge, ...]
    gaps: tuple[Gap, ...]
    recorded: tuple[DamagedFile, ...]
    """Files that the packages' records miss or find altered, and that are lacking here."""

    @property
    def system(self) -> System:
        """The machine's system."""
        return self.home.seen.machine.system

    @property
    def name(self) -> str:
        """The distribution's name."""
        return self.closure.consumer.framework.partition(" ")[0]


def lacking_libraries(seen: Snapshot) -> Iterator[Finding]:
    """A framework's or extension's own binaries name libraries that its loader does not find, or that do not fit."""
    for home in environment_views(seen):
        for closure in closures_of(home):
            lack = _lack(home, closure)
            if lack is not None:
                yield _finding(lack)


def closures_of(home: EnvironmentView) -> list[Closure]:
    """Return the closures of one environment."""
    system = home.seen.machine.system
    mine = normalise(system, home.python.prefix)
    return [c for c in home.seen.closures or () if normalise(system, c.consumer.prefix) == mine]


def _lack(home: EnvironmentView, closure: Closure) -> Lack | None:
    opened = {o.library for o in closure.openings or () if not o.problem and not o.ended}
    edges = tuple(e for e in closure.edges if not e.optional and (e.by_name or e.wanted_by not in opened))
    gaps = tuple(g for g in closure.gaps if not g.optional and g.wanted_by not in opened)
    failed = [o for o in closure.openings or () if (o.problem or o.ended) and not DRIVERS_OWN.match(o.problem)]
    if not (edges or gaps or failed):
        return None
    named = {e.name for e in edges} | {file_name(home.seen.machine.system, g.provider) for g in gaps if g.provider}
    named |= {name for o in failed for name in LIBRARY_IN_WORDS.findall(o.problem)}
    paths = {e.path for e in edges if e.path}
    recorded = tuple(
        d for d in _records(home) if file_name(home.seen.machine.system, d.path) in named or d.path in paths
    )
    if not recorded and not any(d.name.startswith("nvidia-") for d in home.python.distributions):
        edges = tuple(_with_places(e, home.seen) for e in edges)
    return Lack(home, closure, edges, gaps, recorded)


def lacks_nothing(home: EnvironmentView, closure: Closure) -> bool:
    """Whether everything that these binaries name was found and fits, and loaded where it was loaded."""
    return _lack(home, closure) is None


BEFORE_ALL = (How.APPLICATION, How.SYSTEM, How.SYSTEM16, How.WINDOWS, How.DLL_FOLDER)
"""Where Windows looks before any search path."""


def _right_place(path: str, attempts: tuple[Attempt, ...], others: tuple[str, ...], system: System) -> tuple[str, str]:
    """Return how Windows came to an unfit file, and a folder with a sound one that its search does not reach; empty for none."""
    if system != "windows":
        return "", ""
    at = next((a for a in attempts if a.path == path), None)
    sound = [a.path for a in attempts if a.outcome == "found" and a.path != path] or list(others)
    return (at.how if at else ""), parent(system, sound[0]) if sound else ""


def _with_places(edge: Edge, seen: Snapshot) -> Edge:
    """Return an absent edge with where the machine has the file: an environment without NVIDIA's packages uses the machine's."""
    if edge.state != "absent" or edge.elsewhere:
        return edge
    sets = (*(t.libraries for t in seen.toolkits or ()), *(c.files for c in seen.cudnn or ()))
    there = (f for files in sets for f in files if f.name.lower() == edge.name.lower() and f.state == "good")
    return replace(edge, elsewhere=tuple(f.path for f in there))


def _records(home: EnvironmentView) -> tuple[DamagedFile, ...]:
    system = home.seen.machine.system
    mine = normalise(system, home.python.prefix)
    found = (r for r in home.seen.records or () if normalise(system, r.prefix) == mine)
    return tuple(d for r in found for d in r.damaged)


def files_told(seen: Snapshot) -> set[str]:
    """Return the files of packages, normalised, that a finding of this module tells: the records need not."""
    out = set()
    for home in environment_views(seen):
        for closure in closures_of(home):
            lack = _lack(home, closure)
            out |= {normalise(seen.machine.system, d.path) for d in lack.recorded} if lack else set()
    return out


# --- the finding -------------------------------------------------------------------------------------------------------


def _finding(lack: Lack) -> Finding:
    cause, title, why = _judged(lack)
    remedy, fix = _cure(lack, cause) if cause else (None, None)
    files = [e.path or e.name for e in lack.edges] + [g.provider or g.wanted_by for g in lack.gaps]
    return make_finding(
        Step.FRAMEWORKS,
        _severity(lack) if cause else UNKNOWN,
        f"{LIBRARIES_ID}{lack.name}",
        title,
        cause=cause,
        why=why,
        evidence=[*_rows(lack), concern_row(lack.closure.consumer), *_importers(lack)],
        subjects=[lack.home.python.prefix, *dict.fromkeys(files)],
        fix=fix,
        remedy=remedy,
    )


def _importers(lack: Lack) -> Iterator[Concern]:
    """Yield the frameworks that import what this is about, and fail with it."""
    if lack.name in imported_packages():
        for d in lack.home.python.distributions:
            if (
                d.name != lack.name
                and FRAMEWORKS.fullmatch(d.name)
                and any(True for _t in asked_of(lack.home, d, lack.name))
            ):
                yield lack.home.concerns(d.name)


def imported_packages() -> tuple[str, ...]:
    """Return the packages that are no frameworks, and whose libraries frameworks cannot do without."""
    return tuple(row.distribution for row in gpu_binaries().frameworks if row.imported)


def _severity(lack: Lack) -> Severity:
    """An import that fails, fails with or without a GPU."""
    worked = any(
        t.framework == lack.name and t.gpu and t.right and not t.problem and not t.ended for t in lack.home.trials
    )
    return NOTE if worked else lack.home.severity


STATES: tuple[tuple[str, Cause, str, str], ...] = (
    ("not executable", "noexec_mount", N_("{who} in {prefix} cannot load {names}: the file system is mounted noexec."),
     N_("The system maps no program code from a file system that is mounted with the option noexec.")),
    ("unreadable", "library_unreadable", N_("{who} in {prefix} may not read {names}."),
     N_("The file is there, but this user has no permission to open it, or to enter its folder.")),
    ("wrong architecture", "dll_wrong_architecture", N_("{who} in {prefix} needs {names}, and what is there was built for another processor."),
     N_("The loader passes a library of another architecture over, and finds no other.")),
    ("damaged", "corrupt_or_truncated_file", N_("{who} in {prefix} cannot load {names}: the file is damaged."),
     N_("The loader takes the first file of this name and stops there with an error.")),
    ("dangling", "corrupt_or_truncated_file", N_("{who} in {prefix} needs {names}, and the link of that name leads nowhere."),
     N_("The link is there, but the file that it names is not.")),
)  # fmt: skip
"""State of an edge: cause, title, why; the first that fits leads."""


def _judged(lack: Lack) -> tuple[OptionalCause, str, str]:
    """Return cause, title and why."""
    values = {"who": lack.closure.consumer.framework, "prefix": lack.home.python.prefix}
    for state, cause, title, why in STATES:
        names = [e.name for e in lack.edges if e.state == state]
        if names:
            overridden = state != "not executable" and all(_by_variable(e) for e in lack.edges if e.state == state)
            return (
                "ld_library_path_override" if overridden else cause,
                _(title, names=join_names(dict.fromkeys(names)), **values),
                _(why),
            )
    absent = [e for e in lack.edges if e.state == "absent"]
    if absent:
        return _absent(lack, absent)
    return _misfit(lack, values)


def _by_variable(edge: Edge) -> bool:
    """Whether LD_LIBRARY_PATH led to an unfit file in the place of a sound one."""
    at = next((a for a in edge.attempts if a.path == edge.path), None)
    sound = any(a.outcome == "found" and a.how != "LD_LIBRARY_PATH" for a in edge.attempts)
    return at is not None and at.how == "LD_LIBRARY_PATH" and sound


def _absent(lack: Lack, absent: list[Edge]) -> tuple[Cause, str, str]:
    names = join_names(dict.fromkeys(e.name for e in absent))
    values = {"who": lack.closure.consumer.framework, "prefix": lack.home.python.prefix, "names": names}
    if lack.recorded and all(not e.elsewhere for e in absent):
        title = _("{who} in {prefix} needs {names}, which the package installed and which no longer exists.", **values)
        return "corrupt_or_truncated_file", title, _("The loader looks for it in the places below, and finds none.")
    cudnn = any("cudnn" in e.name for e in absent)
    if all(e.elsewhere for e in absent):
        title = _("{who} in {prefix} does not find {names}, although they are installed.", **values)
        why = _(
            "The files lie in folders that the loader does not search for this program, and the program does not open them itself."
        )
        return "cudnn_not_on_search_path" if cudnn else "cuda_not_on_search_path", title, why
    title = _("{who} in {prefix} needs {names}, which its loader does not find.", **values)
    wanted, there = _majors(lack, absent)
    if wanted and there and wanted not in there:
        why = _(
            "It was built for CUDA {wanted}. What is installed is of CUDA {there}, whose libraries have other names and functions.",
            wanted=wanted,
            there=join_names(there),
        )
        return "cuda_toolkit_version_mismatch", title, why
    why = _("The loader looked in every place where this program searches.")
    if all(FRAMEWORKS_OWN.match(e.name) for e in absent):
        return "extension_abi_mismatch", title, why
    if all(COMPILERS.match(e.name) for e in absent):
        return "cxx_runtime_too_old", title, why
    if all("cudnn" in e.name for e in absent):
        return "cudnn_not_installed", title, why
    if all("nvrtc" in e.name for e in absent):
        return "nvrtc_missing_or_mismatch", title, why
    return "cuda_runtime_missing", title, why


CUDA_NUMBERED = late_pattern(r"lib(?:cublas|cublasLt|cudart|nvrtc|nvJitLink|cupti)\.so\.(\d+)")
"""Libraries whose number is that of CUDA."""


def _majors(lack: Lack, absent: list[Edge]) -> tuple[str, list[str]]:
    """Return the CUDA that is asked for, and those that the environment's own packages are of; majors alone.

    A toolkit elsewhere on the machine was not necessarily meant for it.
    """
    build = next((b for b in lack.home.builds if b.distribution == lack.name), None)
    numbers = [m[1] for e in absent if (m := CUDA_NUMBERED.match(e.name))]
    wanted = next(iter(numbers), (build.cuda or "").partition(".")[0] if build else "")
    packages = [m[1] for d in lack.home.python.distributions if (m := re.fullmatch(r"nvidia-.*-cu(\d+)", d.name))]
    return wanted, list(dict.fromkeys(packages))


def _misfit(lack: Lack, values: dict[str, str]) -> tuple[OptionalCause, str, str]:
    """Return what a gap of symbols tells: everything is there and does not belong together. A crash alone tells no cause."""
    if not lack.gaps:
        failed = [o for o in lack.closure.openings or () if (o.problem or o.ended) and not DRIVERS_OWN.match(o.problem)]
        opening = next((o for o in failed if o.problem), failed[0])
        words = opening.problem or translate_fact(opening.ended)
        title = _("{who} in {prefix} cannot load its own library: {words}", words=words, **values)
        cause: OptionalCause = ""
        if opening.number is not None:
            cause = CAUSE_OF_NUMBER.get(opening.number, "")
        elif opening.problem:
            cause = _cause_of_words(opening.problem)
        return cause, title, _("A child process opened it as the framework does.")
    gap = lack.gaps[0]
    system = lack.home.seen.machine.system
    wants, offers = file_name(system, gap.wanted_by), file_name(system, gap.provider)
    what = gap.name or gap.version
    if gap.provider:
        title = _(
            "{offers} does not have {what}, which {wants} of {who} needs.",
            offers=offers,
            what=what,
            wants=wants,
            who=values["who"],
        )
    else:
        title = _(
            "No loaded library has {what}, which {wants} of {who} needs.", what=what, wants=wants, who=values["who"]
        )
    own = is_inside(system, gap.provider, lack.home.python.prefix)
    overridden = gap.how == "LD_LIBRARY_PATH" and (not own or bool(gap.others))
    if gap.how == How.LD_PRELOAD:
        why = _(
            "LD_PRELOAD puts {path} into every program, before the library that the program would take.",
            path=gap.provider,
        )
        return "cxx_runtime_too_old" if COMPILER_VERSION.match(gap.version) else "cuda_lib_shadowed", title, why
    if COMPILER_VERSION.match(gap.version):
        if overridden:
            return (
                "ld_library_path_override",
                title,
                _("LD_LIBRARY_PATH leads to an older library than the program was built with."),
            )
        return (
            "cxx_runtime_too_old",
            title,
            _("The library of the system, or of this Python, is older than the one that the program was built with."),
        )
    if overridden:
        return (
            "ld_library_path_override",
            title,
            _("LD_LIBRARY_PATH leads to a library of another release than the program was built with."),
        )
    if not gap.provider or FRAMEWORKS_OWN.match(offers):
        why = _("The extension was built with another release of the framework than the installed one.")
        return "extension_abi_mismatch", title, why
    return (
        "cuda_lib_shadowed",
        title,
        _("The two libraries belong to different releases of CUDA and do not work together."),
    )


CAUSE_OF_NUMBER: dict[int, OptionalCause] = {
    5: "library_unreadable", 127: "cuda_lib_shadowed", 193: "corrupt_or_truncated_file", 1392: "corrupt_or_truncated_file",
}  # fmt: skip
"""What Windows' number tells where every header looks sound. 126 alone tells no cause: what is missing was not seen."""


def _cause_of_words(words: str) -> Cause:
    if re.search(r"GLIBC(XX)?_|CXXABI_", words):
        return "cxx_runtime_too_old"
    if re.search(r"file too short|invalid ELF header|ELF file", words):
        return "corrupt_or_truncated_file"
    if "nvrtc" in words.lower() and "undefined symbol" not in words:
        return "nvrtc_missing_or_mismatch"
    if "undefined symbol" in words or "version `" in words:
        return "extension_abi_mismatch" if re.search(r"_Z\w*(torch|c10|at)", words) else "cuda_lib_shadowed"
    if "failed to map segment" in words or "Operation not permitted" in words:
        return "noexec_mount"
    return "cudnn_not_on_search_path" if "cudnn" in words else "cuda_runtime_missing"


# --- evidence ----------------------------------------------------------------------------------------------------------


def _rows(lack: Lack) -> Iterator[Evidence]:
    for opening in lack.closure.openings or ():
        if opening.problem or opening.ended:
            yield _opening_row(opening)
    names = list(dict.fromkeys(e.name for e in lack.edges))
    if len(names) > 1:
        yield observation(_("Lacking"), ", ".join(names), _("resolved as its loader does"))
    seen: dict[tuple[str, str], None] = {}
    for edge in lack.edges:
        if (edge.name, edge.state) in seen:
            continue
        seen[edge.name, edge.state] = None
        value = f"{_(edge.state)} {edge.path} {translate_fact(edge.detail)}".strip()
        yield observation(edge.name, value, _("named by {by}", by=edge.wanted_by))
        for path in edge.elsewhere[:1]:
            yield observation(_("Location of {name}", name=edge.name), path)
    for gap in lack.gaps:
        what = f"{gap.name} {gap.version}".strip()
        yield observation(what, _("is not in {path}", path=gap.provider) if gap.provider else _("is in no loaded library"),
                          _("wanted by {by}", by=gap.wanted_by))  # fmt: skip
        for other in gap.others[:2]:
            yield observation(_("Also there"), other)
    for file in lack.recorded[:4]:
        yield observation(
            file.path, _(file.state), _("RECORD of {package}", package=f"{file.distribution} {file.version}")
        )
    places = list(
        dict.fromkeys(parent(lack.system, a.path) for e in lack.edges if e.state == "absent" for a in e.attempts)
    )
    if places:
        shown = ", ".join(places[:6]) + (f" (+{len(places) - 6})" if len(places) > 6 else "")
        yield observation(_("Searched, in this order"), shown, _("loader"))


def _opening_row(opening: Opening) -> Evidence:
    words = opening.problem or translate_fact(opening.ended)
    return observation(opening.library, words, _("opened in a child process"))


# --- the cure ------------------------------------------------------------------------------------------------------------


def _cure(lack: Lack, cause: OptionalCause) -> tuple[Remedy | None, Fix | None]:
    """Return one cure for everything that is lacking; None where none is known that touches it."""
    home, prefix = lack.home, lack.home.python.prefix
    if cause == "ld_library_path_override":
        folders = _variable_folders(lack)
        places = tuple(Place(folder=f, prefix=prefix) for f in folders)
        return TakeOut(variable="LD_LIBRARY_PATH", places=places), without_variable(folders)
    preloaded = list(dict.fromkeys(g.provider for g in lack.gaps if g.how == How.LD_PRELOAD))
    if preloaded:
        return None, manual_fix(
            _("Take {path} out of LD_PRELOAD", path=join_names(preloaded)),
            _("For this terminal: unset LD_PRELOAD"),
            restart="terminal",
        )
    packages = dict.fromkeys((d.distribution, d.version) for d in lack.recorded)
    past = _past_unfit(lack) if not packages else None
    if past is not None:
        return past
    if len(packages) == 1:
        (name, version), *_none = packages
        return PutPackageBack(prefix=prefix, package=name, version=version), whole_again(
            home.seen, home.python, name, version
        )
    if packages:
        wanted = [f"{name}=={version}" for name, version in packages]
        (name, version), *others = packages
        more = tuple(other for other, _version in others)
        return PutPackageBack(prefix=prefix, package=name, version=version, more=more), _install(
            lack, wanted, again=True
        )
    elsewhere = list(dict.fromkeys(parent(lack.system, e.elsewhere[0]) for e in lack.edges if e.elsewhere))
    if elsewhere and lack.edges and all(e.elsewhere for e in lack.edges):
        if lack.system == "windows" and not any(a.how is How.PATH for e in lack.edges for a in e.attempts):
            fix = add_dll_directories(elsewhere)
            return AddDllFolders(prefix=prefix, folders=tuple(elsewhere)), fix
        fix = add_to_search_path(home.seen, (";" if lack.system == "windows" else ":").join(elsewhere))
        return AddFolder(folder=elsewhere[0], more=tuple(elsewhere[1:]), prefixes=(prefix,)), fix
    if cause in ("noexec_mount", "library_unreadable", "cxx_runtime_too_old"):
        return None, _system_fix(cause, lack)
    if cause == "extension_abi_mismatch":
        return _fitting_extension(lack)
    wanted = list(dict.fromkeys(_wanted_packages(lack)))
    if there := _installed_already(lack, wanted):
        names, exact = tuple(d.name for d in there), [f"{d.name}=={d.version}" for d in there]
        if any(e.state == "dangling" for e in lack.edges):
            return None, _install(lack, exact, again=True)  # a link out of its folder could not be brought back
        remedy = PutPackageBack(prefix=prefix, package=names[0], version=there[0].version, more=names[1:])
        return remedy, _install(lack, exact, again=True)
    if cause == "cuda_toolkit_version_mismatch" and wanted:
        # libraries of a second CUDA in one environment: ONNX Runtime 1.18 crashed with them, so nothing is done unasked
        return None, _install(lack, wanted)
    return (_missing_packages(lack, wanted), _install(lack, wanted)) if wanted else (None, None)


def _installed_already(lack: Lack, wanted: list[str]) -> list[Distribution]:
    """Return the distributions that are wanted, where all of them are there in a fitting release: their files are not."""
    there = {d.name: d for d in lack.home.python.distributions}
    wishes = [wish for w in wanted if (wish := parse_requirement(w))]
    found = [d for w in wishes if (d := there.get(w.name)) and is_in_specifier(w.specifier, d.version)]
    return found if found and len(found) == len(wanted) and not lack.gaps else []


def _missing_packages(lack: Lack, wanted: list[str]) -> InstallPackages:
    """Return the remedy that brings what is lacking, and lets it be found where the consumer does not search for itself.

    Of two releases that do not fit, the one without the function is the older: it goes, so that a newer one comes.
    """
    wishes = _requirements(lack, None)
    there = {d.name for d in lack.home.python.distributions}
    older = [
        w
        for g in lack.gaps
        if g.provider
        for w in _package(file_name(lack.system, g.provider), g.provider, lack, wishes)
    ]
    names = (wish.name for w in older if (wish := parse_requirement(w)) and "==" not in str(wish.specifier))
    return InstallPackages(
        prefix=lack.home.python.prefix,
        remove=tuple(dict.fromkeys(n for n in names if n in there)),
        install=tuple(wanted),
        search=tuple(dict.fromkeys(_unsearched(lack))),
    )


def _unsearched(lack: Lack) -> Iterator[str]:
    """Yield the folders in which the consumer does not search by itself, and in which the lacking files will lie.

    NVIDIA's wheels for CUDA 11 and 12 have a folder for each library: nvidia/cublas/lib.
    """
    if lack.system != "linux":
        return
    for edge in lack.edges:
        folder = next((parent(lack.system, p) for p in edge.elsewhere), "")
        if not folder and lack.home.python.site_packages:
            its = _middle(edge.name).replace("-", "_")
            folder = join_path(lack.system, lack.home.python.site_packages[0], "nvidia", its, "lib")
        tried = {normalise(lack.system, parent(lack.system, a.path)) for a in edge.attempts}
        if edge.attempts and folder and normalise(lack.system, folder) not in tried:
            yield folder


def _past_unfit(lack: Lack) -> tuple[Remedy | None, Fix | None] | None:
    """Return how Windows comes to a sound file instead of the unfit one that it finds first; None where that is not the fault."""
    places = [
        (e.path, *_right_place(e.path, e.attempts, e.elsewhere, lack.system)) for e in lack.edges if e.state != "absent"
    ]
    places += [
        (g.provider, g.how, parent(lack.system, g.others[0]) if g.others else "") for g in lack.gaps if g.provider
    ]
    strays = lack.closure.strays
    places = [p for p in places if p[0] in strays or not is_inside(lack.system, p[0], lack.home.python.prefix)]
    if lack.system != "windows" or not places or any(e.state == "absent" and not e.elsewhere for e in lack.edges):
        return None
    path, how, right = places[0]
    over = parent(lack.system, path)
    if how == How.PATH and right:
        fix = manual_fix(
            _("Make sure that {folder} is found before {other}", folder=right, other=over),
            _("Move {folder} before {other} in PATH.", folder=right, other=over),
            restart="program",
        )
        place = Place(folder=right, prefix=lack.home.python.prefix)
        return PreferFolder(over=over, by="PATH", places=(place,)), fix
    if how in BEFORE_ALL:
        files = join_names(dict.fromkeys(p for p, h, _right in places if h in BEFORE_ALL))
        fix = manual_fix(
            _("Remove the stray files from {folder}", folder=over),
            _("No installer puts them there; move these files to another place: {files}", files=files),
            restart="program",
        )
        return None, fix
    return None


def add_dll_directories(folders: list[str]) -> Fix:
    """Return what a program does before it imports a framework on Windows, where PATH is not searched."""
    lines = (f'os.add_dll_directory(r"{folder}")' for folder in folders)
    return manual_fix(_("Make these folders known to Python before the import"), "import os", *lines, restart="program")


def _variable_folders(lack: Lack) -> list[str]:
    paths = [e.path for e in lack.edges if e.path] + [g.provider for g in lack.gaps if g.how == "LD_LIBRARY_PATH"]
    return list(dict.fromkeys(parent(lack.system, p) for p in paths))


def _system_fix(cause: OptionalCause, lack: Lack) -> Fix:
    paths = join_names(dict.fromkeys(e.path for e in lack.edges if e.path))
    if cause == "noexec_mount":
        return manual_fix(_("Move the environment, or mount without noexec"),
                          _("Make the environment anew on a file system that is not mounted noexec; findmnt -T {path} shows the options.", path=lack.home.python.prefix))  # fmt: skip
    if cause == "library_unreadable":
        return manual_fix(
            _("Let this user read the file"),
            _("Its owner does: chmod a+r {paths}; each folder above it needs a+x.", paths=paths),
        )
    return manual_fix(_("Use a release that this system can run"),
                      _("Install a release of {who} that was built for older systems, or use a newer system or Python.", who=lack.closure.consumer.framework))  # fmt: skip


def _fitting_extension(lack: Lack) -> tuple[Remedy | None, Fix | None]:
    """Return how to get the release of an extension that fits its framework: the framework is what the person chose."""
    there = {d.name: d for d in lack.home.python.distributions}
    base = next((there[n] for n in ("torch", "tensorflow", "jaxlib", "paddlepaddle-gpu") if n in there), None)
    if base is None or base.name == lack.name:
        return None, None
    anchor = f"{base.name}=={base.version}"
    index = index_of_build(base.version) if base.name == "torch" else ""
    options = ("--upgrade", *(("--index-url", index) if index else ()))
    command = framework_pip_command(lack.home.seen, lack.home.python, "install", *options, lack.name, anchor)
    title = _("Install the release of {name} that fits {anchor}", name=lack.name, anchor=anchor)
    wish = fitting_companion(lack.name, base.version) if base.name == "torch" else lack.name
    remedy = InstallPackages(prefix=lack.home.python.prefix, remove=(lack.name,), install=(wish, anchor), index=index)
    return remedy, manual_fix(title, command, restart="program")


def _install(lack: Lack, wanted: list[str], *, again: bool = False) -> Fix:
    options = ("--force-reinstall", "--no-deps") if again else ()
    command = framework_pip_command(lack.home.seen, lack.home.python, "install", *options, *wanted)
    steps = [command]
    if lack.system == "windows" and not again and not any(_in_packages(a.path) for e in lack.edges for a in e.attempts):
        steps.append(_("Then scan again: {who} does not search the folders of these packages, so PATH must name them.", who=lack.closure.consumer.framework))  # fmt: skip
    return manual_fix(_("Install {packages}", packages=join_names(wanted)), *steps, restart="program")


def _in_packages(path: str) -> bool:
    r"""Whether a place that was searched is that of one of NVIDIA's packages: site-packages\nvidia\...\bin."""
    return re.search(r"[\\/]site-packages[\\/]nvidia[\\/]", path, re.IGNORECASE) is not None


def _wanted_packages(lack: Lack) -> Iterator[str]:
    """Yield what would bring the lacking files, as the consumer's own requirements name it."""
    its = next((d for d in lack.home.python.distributions if d.name == lack.name), None)
    wishes = _requirements(lack, its)
    for edge in lack.edges:
        yield from _package(edge.name, edge.path, lack, wishes)
    for gap in lack.gaps:
        if gap.provider and not COMPILER_VERSION.match(gap.version):
            yield from _package(file_name(lack.system, gap.provider), gap.provider, lack, wishes)
            yield from _package(file_name(lack.system, gap.wanted_by), gap.wanted_by, lack, wishes)


def _requirements(lack: Lack, its: Distribution | None) -> list[str]:
    """Return the consumer's requirements, then those of everything else in the environment."""
    others = (d for d in lack.home.python.distributions if d is not its)
    return [r for d in (*((its,) if its else ()), *others) for r in (*d.requires, *d.pins)]


def _middle(library: str) -> str:
    """Return the middle of the name of the wheel that has a library of NVIDIA's: "cuda-nvrtc" of libnvrtc.so.12."""
    stem = re.sub(r"^lib", "", library.partition(".so")[0]).lower()
    stem = re.sub(r"(64)?(_[\d_]+)?\.dll$", "", stem)
    return PACKAGE_OF.get(stem, "cudnn" if stem.startswith("cudnn") else stem)


def _package(library: str, path: str, lack: Lack, wishes: list[str]) -> Iterator[str]:
    middle = _middle(library)
    if path and not is_inside(lack.system, path, lack.home.python.prefix):
        return
    major, number = _cuda_wanted(lack), _cudnn_number(library)
    named = [
        w
        for w in wishes
        if re.match(rf"nvidia[-_.]{re.escape(middle)}(?![a-z])", w, re.IGNORECASE) and _brings(w, major, number)
    ]
    if named:
        yield _spelt(named[0], lack)
    elif middle.startswith(("cu", "nv", "nccl")) and major:
        name = f"nvidia-{middle}-cu{major}" if int(major) < 13 else f"nvidia-{middle}"
        yield _spelt(f"{name}=={number}.*" if number else name, lack)


def _cuda_wanted(lack: Lack) -> str:
    """Return the CUDA whose libraries are lacking: by their own numbers, else the one that the consumer was built for."""
    return _majors(lack, [e for e in lack.edges if e.state == "absent"] or list(lack.edges))[0]


def _cudnn_number(library: str) -> str:
    found = re.search(r"cudnn\w*?(?:\.so\.|64_)(\d+)", library)
    return found[1] if found else ""


def _brings(requirement: str, major: str, number: str) -> bool:
    """Whether a requirement on one of NVIDIA's wheels can bring a library of this CUDA, and of this release of cuDNN."""
    wish = parse_requirement(requirement)
    of = re.search(r"[-_.]cu(\d+)$", wish.name) if wish else None
    if wish is None or (major and (of[1] != major if of else int(major) < 13)):
        return False
    named = [s.version.partition(".")[0] for s in wish.specifier if s.operator in ("==", "===", "~=")]
    return not number or all(n == number for n in named)


def _spelt(requirement: str, lack: Lack) -> str:
    """Return a requirement without its marker; one that leaves the release open asks for that of the wheels beside it."""
    wish = parse_requirement(requirement)
    if wish is None:
        return requirement.partition(";")[0].strip()
    if "==" in str(wish.specifier):
        return f"{wish.name}{wish.specifier}"
    beside = release_beside(
        wish.name.replace("_", "-").lower(), {d.name: d.version for d in lack.home.python.distributions}
    )
    fits = beside and is_in_specifier(wish.specifier, f"{beside}.9999") is not False
    specifier = ",".join(filter(None, (str(wish.specifier), f"=={beside}.*" if fits else "")))
    return f"{wish.name}{specifier}"


# --- joined with what other rules say ---------------------------------------------------------------------------------

JOINED: frozenset[str] = frozenset(
    (
        *("cudnn_not_on_search_path", "cuda_not_on_search_path", "cuda_runtime_missing", "cudnn_not_installed"),
        *("corrupt_or_truncated_file", "library_unreadable", "dll_wrong_architecture", "nvrtc_missing_or_mismatch"),
        *("requirement_broken", "cuda_lib_shadowed", "extension_abi_mismatch"),
    )
)
"""Causes of findings that a card about everything that a consumer lacks says in one."""


def join_cards(found: list[Finding], seen: Snapshot) -> list[Finding]:
    """Return the findings with one card for each consumer: what other rules say of the same lack goes into it.

    Where cuDNN alone is lacking, its own rules know more, and the card goes instead.
    """
    cards = {f.consumers[0]: f for f in found if f.id.partition(".")[2].startswith(LIBRARIES_ID) and f.consumers}
    lacks = {c.consumer.full_id: c for c in seen.closures or ()}
    gone: set[int] = set()
    whole: dict[int, Finding] = {}
    for who, card in cards.items():
        others = [
            f for f in found if f is not card and f.severity > NOTE and f.cause in JOINED and set(f.consumers) == {who}
        ]
        names = {e.name for e in lacks[who].edges} if who in lacks else set()
        if names and all("cudnn" in n for n in names) and any(f.step is Step.CUDNN for f in others):
            gone.add(id(card))
            continue
        if card.cause == "cuda_toolkit_version_mismatch":
            majors = [f for f in found if f.cause == "cudnn_major_mismatch" and set(f.consumers) == {who}]
            gone |= {id(f) for f in majors}
            rows = (e for f in majors for e in f.evidence if e not in card.evidence)
            whole[id(card)] = replace(card, evidence=(*card.evidence, *rows))
        gone |= {id(f) for f in others if f.cause != "requirement_broken" or "nvidia" in f.subject}
    return list(_one_of_a_mount(_one_of_a_library([whole.get(id(f), f) for f in found if id(f) not in gone])))


def _one_of_a_library(found: list[Finding]) -> list[Finding]:
    """Return the findings with one for each library that is too old or another one for several consumers of an environment."""

    def shared(f: Finding) -> tuple[str, ...]:
        mine = f.id.partition(".")[2].startswith(LIBRARIES_ID) and f.cause in SHARED_CAUSES
        return (f.cause, *f.about) if mine and len(f.about) > 1 else ()

    first: dict[tuple[str, ...], Finding] = {}
    for f in found:
        key = shared(f)
        lead = first.get(key) if key else None
        if key and (lead is None or FRAMEWORKS.fullmatch(f.id.partition(LIBRARIES_ID)[2])):
            first[key] = f
    return [_joined(f, [o for o in found if shared(o) == shared(f)]) if shared(f) else f
            for f in found if not shared(f) or first[shared(f)] is f]  # fmt: skip


SHARED_CAUSES = ("cxx_runtime_too_old", "ld_library_path_override", "cuda_lib_shadowed")


def _joined(lead: Finding, same: list[Finding]) -> Finding:
    """Return a finding with the evidence and the consumers of others that tell of the same."""
    if len(same) == 1:
        return lead
    return replace(
        lead,
        evidence=tuple(dict.fromkeys((*lead.evidence, *(e for o in same for e in o.evidence)))),
        subjects=lead.subjects and tuple(dict.fromkeys(s for o in (lead, *same) for s in o.about)),
        consumers=tuple(dict.fromkeys((*lead.consumers, *(c for o in same for c in o.consumers)))),
    )


def _one_of_a_mount(found: list[Finding]) -> Iterator[Finding]:
    """Yield the findings with one for each environment from whose file system nothing may be run: a framework's leads."""
    on_mounts = [f for f in found if f.cause == "noexec_mount" and f.step is Step.FRAMEWORKS]
    for f in found:
        same = [o for o in on_mounts if o.subject == f.subject] if f in on_mounts else [f]
        lead = next((o for o in same if FRAMEWORKS.fullmatch(o.id.partition(LIBRARIES_ID)[2])), same[0])
        if f is lead:
            yield _joined(f, same)


RULES = (lacking_libraries,)
