"""Rules about copies of cuDNN as files: unused ones, misleading headers, a stale loader cache."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.common.i18n import _, join_sentences, translate_fact
from core.common.text import join_names
from core.common.versions import is_older, version_tuple, versions_differ
from core.knowledge.horizon import is_beyond_horizon
from core.model.facts import CudnnCopy, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import join_path, normalise
from core.model.remedies import InstallPackages
from core.rules.advice import add_to_search_path
from core.rules.consumer_loads import consumer_loads, describe_copy, used_folders
from core.rules.cudnn.files import file_faults, is_lone_main_library
from core.rules.driver.facts import driver_works
from core.rules.frameworks.advice import framework_pip_command
from core.rules.frameworks.environment_view import FRAMEWORKS, EnvironmentView, environment_views
from core.rules.frameworks.fit import gpu_side
from core.rules.snapshot_queries import installed_programs, is_idle, is_on_cpu
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation


def unused_copies(seen: Snapshot) -> Iterator[Finding]:
    """Faults in a copy that no consumer loads: a warning at most, and never the root cause."""
    if seen.cudnn is None:
        return
    used = used_folders(seen)
    system = seen.machine.system
    for copy in seen.cudnn:
        if normalise(system, copy.folder) in used:
            continue
        for fault in file_faults(seen, copy):
            known = seen.loads is not None
            why = _("Nothing that was examined loads this copy now.") if known else ""
            name = "cudnn.unused-" + fault.id.removeprefix("cudnn.") if known else fault.id
            yield replace(fault, id=name, severity=min(WARNING, fault.severity), why=join_sentences(why, fault.why))
            break


def no_cudnn(seen: Snapshot) -> Iterator[Finding]:
    """There is no cuDNN, and no framework that requests one."""
    if seen.cudnn is None or seen.cudnn or any(c.is_requested or c.copy for c in consumer_loads(seen)):
        return
    usable = seen.driver is not None and driver_works(seen.driver)
    unknown = any(e.probe == "closures" for e in seen.errors)  # whether anything here needs one
    near = [[d.name for d in h.python.distributions] for h in environment_views(seen) if h.near <= 1]
    others = any(names and not any(map(FRAMEWORKS.fullmatch, names)) for names in near)  # which need none
    yield make_finding(
        "cudnn.none",
        WARNING
        if usable and not (seen.closures or seen.programs or unknown or others)
        else NOTE,  # Its binaries were examined, and need no cuDNN.
        _("There is no cuDNN in the folders that were searched."),
        cause="cudnn_not_installed",
        why=join_sentences(
            _("Deep-learning programs need it on an NVIDIA GPU. Most Python frameworks include it."),
            "" if usable else _("Without a working GPU, nothing needs it."),
        ),
        evidence=[*_searched_places(seen), *installed_programs(seen, "cudnn")],
        fix=manual_fix(
            _("Install a framework that includes cuDNN, or cuDNN itself"),
            _(
                "For Python, install your framework with pip into its own environment: it includes cuDNN and the "
                "CUDA libraries."
            ),
            _("For other programs, get cuDNN from developer.nvidia.com/cudnn."),
        ),
    )


USUAL_PLACES = {
    "linux": "/etc/ld.so.cache, /etc/ld.so.conf, /lib, /lib64, /usr/lib, /usr/lib64, /usr/local/lib, /usr/local/cuda*, "
    "/usr/local/cudnn*, /opt/cuda*, /opt/cudnn*",
    "windows": r"C:\Windows\System32, C:\Program Files\NVIDIA\CUDNN, C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA, "
    r"C:\tools\cuda, C:\cuda, C:\cudnn",
}
"""Places that are searched for cuDNN on every machine: a summary of the cuDNN probe's list."""
SEARCH_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "CUDNN_PATH",
    "CUDNN_HOME",
    "CUDNN_ROOT",
    "CUDA_PATH",
    "CUDA_HOME",
    "CUDA_ROOT",
)


def _searched_places(seen: Snapshot) -> list[Evidence]:
    """Return the places that were searched: each variable's folders, each environment, and the usual folders."""
    system = seen.machine.system
    rows = []
    for name in SEARCH_VARIABLES:
        if name == "PATH" and system == "linux":
            continue  # No program searches for libraries there.
        folders = [e.expanded or e.text for e in seen.path_entries if e.variable == name]
        if folders:
            rows.append(observation(_("Searched: {variable}", variable=name), join_names(folders), name))
    if seen.pythons:
        rows.append(
            observation(
                _("Searched: Python environments"), join_names(p.prefix for p in seen.pythons), _("file system")
            )
        )
    return [*rows, observation(_("Searched: usual places"), USUAL_PLACES[system], _("file system"))]


def lone_main_libraries(seen: Snapshot) -> Iterator[Finding]:
    """A main library without its parts uses whichever parts the search path offers: a fault where none can, and something calls them."""
    for copy in seen.cudnn or ():
        if not is_lone_main_library(copy):
            continue
        home = next((h for h in environment_views(seen) if h.python.prefix == copy.environment and h.near <= 2), None)
        callers = _callers_without_parts(seen, copy, home) if home else ()
        if home and callers:
            yield _parts_nowhere(copy, home, callers)
        else:
            yield make_finding(
                "cudnn.main-library-alone",
                NOTE,
                _("A program ships only cuDNN's main library and takes the rest from elsewhere."),
                why=_("Some packages ship it this way. The parts must then be on the search path, in one release."),
                evidence=[observation(_("Copy"), describe_copy(copy), copy.folder)],
                subject=copy.folder,
            )


def _callers_without_parts(seen: Snapshot, copy: CudnnCopy, home: EnvironmentView) -> tuple[str, ...]:
    """Return what calls this library on the GPU; nothing where a file of this machine may be one of its parts."""
    name, prefix = copy.owner.partition(" ")[0], home.python.prefix
    others = (f.name.lower() for c in seen.cudnn or () if c.major == copy.major for f in c.files)
    if not copy.missing or set(map(str.lower, copy.missing)) & set(others):
        return ()
    if not gpu_side(seen).works or is_idle(seen, prefix, name) or is_on_cpu(seen, prefix, name):
        return ()
    return home.search.on_cudnn if home.search else ()


def _parts_nowhere(copy: CudnnCopy, home: EnvironmentView, callers: tuple[str, ...]) -> Finding:
    return make_finding(
        "cudnn.parts-nowhere",
        min(home.severity, WARNING),
        _(
            "{owner} has cuDNN's main library alone, and {names} are nowhere on this machine.",
            owner=copy.owner,
            names=join_names(copy.missing),
        ),
        cause="cudnn_not_installed",
        why=_(
            "The main library opens its parts at its first call, as for a model with convolutions, and the program ends where there are none."
        ),
        evidence=[
            observation(_("Copy"), describe_copy(copy), copy.folder),
            *(observation(_("Calls cuDNN"), caller, home.python.prefix) for caller in callers[:3]),
            *_searched_places(home.seen),
            home.concerns(copy.owner.partition(" ")[0]),
        ],
        subject=copy.folder,
        fix=_install_parts(copy, home),
    )


def _install_parts(copy: CudnnCopy, home: EnvironmentView) -> Fix:
    """Return how to install NVIDIA's package into the environment, in a folder that its programs search."""
    seen, python = home.seen, home.python
    build = home.build(copy.owner.partition(" ")[0])
    cuda = ((build.cuda if build else "") or "12").partition(".")[0]
    wish = f"nvidia-cudnn-cu{cuda}=={copy.major}.*"
    windows = seen.machine.system == "windows"
    tail = ("nvidia", "cudnn", "bin" if windows else "lib")
    folders = tuple(join_path(seen.machine.system, site, *tail) for site in python.site_packages[:1])
    paths = [add_to_search_path(seen, f) for f in folders]
    return manual_fix(
        _("Install {what} into this environment", what=f"cuDNN {copy.major}"),
        framework_pip_command(seen, python, "install", wish),
        *(line for fix in paths for line in (fix.title, fix.advice)),
        restart="program",
        remedy=InstallPackages(prefix=python.prefix, install=(wish,), search=folders),
    )


def misleading_headers(seen: Snapshot) -> Iterator[Finding]:
    """A compiler would build against another release than the installed one."""
    for copy in seen.cudnn or ():
        if is_beyond_horizon("cudnn", copy.major) or not versions_differ(copy.header_version, copy.version):
            continue
        newer = is_older(copy.version, copy.header_version)
        other_major = version_tuple(copy.header_version)[:1] != (copy.major,)
        yield make_finding(
            "cudnn.header-differs",
            NOTE if not newer or other_major else WARNING,
            _(
                "The header next to cuDNN {version} has version {header_version}.",
                version=copy.version,
                header_version=copy.header_version,
            ),
            cause="cudnn_minor_too_old" if newer and not other_major else "",
            why=_(
                "Programs that are compiled here are built for the header's version, and then reject this older "
                "library."
            )
            if newer
            else _(
                "Programs that are compiled here are built for the header's version; existing programs are not "
                "affected."
            ),
            evidence=[
                observation(_("Header"), copy.header_version, copy.header),
                observation(_("Library"), copy.version, copy.folder),
            ],
            subject=copy.header or copy.folder,
            fix=manual_fix(
                _("Make header and library match before you compile"),
                _("Install the header and the libraries of one release; the header is {header}.", header=copy.header),
            ),
        )


def stale_cache(seen: Snapshot) -> Iterator[Finding]:
    """The loader's cache lists a cuDNN that was removed or replaced."""
    for copy in seen.cudnn or ():
        if copy.cached_elsewhere:
            yield make_finding(
                "cudnn.stale-loader-cache",
                NOTE if _found_by_someone(seen, copy) else WARNING,
                _("The loader's cache is out of date: it lists a cuDNN that no longer exists."),
                cause="cudnn_not_on_search_path",
                why=_(
                    "Linux finds system libraries through /etc/ld.so.cache, which ldconfig writes. The files have "
                    "changed since it was last written."
                ),
                evidence=[
                    observation(_("Listed"), copy.cached_elsewhere, "/etc/ld.so.cache"),
                    observation(_("Copy"), describe_copy(copy), copy.folder),
                ],
                subject=copy.folder,
                fix=manual_fix(_("Rebuild the cache"), "sudo ldconfig", restart="program"),
            )


def misleading_links(seen: Snapshot) -> Iterator[Finding]:
    """Links and import libraries for compilers that refer to another release: a note for those who link."""
    for copy in seen.cudnn or ():
        odd = [f for f in copy.links if versions_differ(f.version, copy.version) or f.state in ("dangling", "missing")]
        if odd:
            yield make_finding(
                "cudnn.link-differs",
                NOTE,
                _("Compiler links next to cuDNN {version} point elsewhere.", version=copy.version or copy.major),
                why=_(
                    "Programs that are linked here get another release than the one in this folder. Existing "
                    "programs are not affected."
                ),
                evidence=[
                    observation(
                        f.path,
                        f"{f.real_path or translate_fact(f.problem) or _(f.state)} {f.version or ''}".strip(),
                        f.version_source,
                    )
                    for f in odd
                ],
                subject=copy.folder,
            )


def _found_by_someone(seen: Snapshot, copy: CudnnCopy) -> bool:
    return any(c.copy is not None and c.copy.folder == copy.folder for c in consumer_loads(seen))


RULES = (unused_copies, no_cudnn, lone_main_libraries, misleading_headers, misleading_links, stale_cache)
