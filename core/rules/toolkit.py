"""Rules about CUDA toolkits: variables that name none, damaged libraries, and intact toolkits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from core.common.i18n import N_, _, n_, translate_fact
from core.common.late_pattern import late_pattern
from core.common.shell import shell_command, shell_of
from core.common.text import join_names
from core.common.versions import version_tuple, versions_differ
from core.knowledge.causes import Cause
from core.knowledge.cuda_file_names import PARTS_OF_A_TOOLKIT, library_family, numbers_in_name, toolkit_locations
from core.knowledge.horizon import is_beyond_horizon
from core.knowledge.keepers import keeper_of
from core.knowledge.releases import nvidia_package
from core.model.facts import LibraryFile, PathEntry, Snapshot, System, Toolkit
from core.model.findings import Evidence, Finding, Fix
from core.model.path_list import LIBRARY_VARIABLE
from core.model.paths import file_name, is_inside, normalise, parent
from core.model.remedies import PointTo, PutPackageBack
from core.model.steps import Severity
from core.rules.advice import pip_command
from core.rules.consumer_loads import by_importance
from core.rules.cudnn.cuda_libraries import family_and_major, unusable_libraries
from core.rules.cudnn.files import BROKEN_STATES
from core.rules.frameworks.compilers import compiles_for, fitting_toolkit, name_fitting_toolkit, name_toolkit
from core.rules.frameworks.environment_view import environment_views, is_asked_for
from core.rules.snapshot_queries import effective_variable
from core.rules.variables.findings import TOOLKIT_VARIABLES
from core.rules.wording import ERROR, GOOD, NOTE, WARNING, make_finding, manual_fix, observation


def misleading_variables(seen: Snapshot) -> Iterator[Finding]:
    """A variable names a toolkit that does not exist."""
    if seen.environment is None:
        return
    for name in TOOLKIT_VARIABLES:
        value = effective_variable(seen, name)
        if value is None:
            continue
        problem = _problem(seen, name, value.value)
        if not problem:
            continue
        cuda = next((c for home in environment_views(seen) if home.near < 4 and (c := compiles_for(home))), "")
        better = fitting_toolkit(seen, cuda) if cuda else _newest_toolkit(seen)
        none_fits = bool(cuda) and better is None and bool(_installed_toolkits(seen))
        yield make_finding(
            "toolkit.variable-wrong",
            WARNING if _has_reader(seen) else NOTE,
            problem,
            cause="cuda_path_env_wrong",
            why=_(
                "Frameworks on Windows, compilers and build tools look for CUDA in the folder that this variable "
                "specifies. They then find nothing, or another version."
            ),
            evidence=[
                observation(name, repr(value.value), value.source or value.scope),
                *(
                    observation(_("Installed toolkit"), f"{t.root} (CUDA {t.version or _('unknown')})", t.source)
                    for t in _installed_toolkits(seen)
                ),
            ],
            subject=name,
            fix=name_fitting_toolkit(seen, name, cuda)
            if cuda and (better or none_fits)
            else _set_variable(seen, name, better),
            remedy=None
            if none_fits
            else PointTo(
                variable=name,
                folder=better.root if better else "",
                right=tuple(t.root for t in _installed_toolkits(seen) if t.origin != "distribution"),
            ),
        )


READERS = late_pattern(
    r"cupy-cuda.*|cupy|numba(-cuda)?|deepspeed|pycuda|cuda-(?:python|core|bindings)|llama-cpp-python|flashinfer.*|vllm|sglang|tilelang"
    r"|warp-lang|transformer-engine.*"
)
"""Packages that read such a variable when they are used."""


def _has_reader(seen: Snapshot) -> bool:
    """Whether a package here may read such a variable.

    The builder of torch's extensions counts: it imports setuptools, which no other package requires then. On Windows,
    and where no framework is installed, the answer is yes: there a toolkit is for compilers.
    """
    homes = [h for h in environment_views(seen) if h.near < 4 and h.builds]
    if seen.machine.system == "windows" or not homes:
        return True
    return any(
        any(READERS.fullmatch(d.name) for d in home.python.distributions)
        or (home.installed("torch") and home.installed("setuptools") and not is_asked_for(home, "setuptools"))
        for home in homes
    )


def _problem(seen: Snapshot, name: str, value: str) -> str:
    """Return what is wrong with the value; empty if nothing, or undecided."""
    if not value.strip():
        return _("The variable {name} is set, but empty.", name=name)
    entry = next((e for e in _entries(seen) if e.variable == name), None)
    marks = entry.marks if entry else ()
    if "relative" in marks or value.strip() in (".", ".."):
        return _(
            "The variable {name} is {value}, which depends on the folder that a program starts in.",
            name=name,
            value=value,
        )
    if "missing" in marks or (entry is not None and not entry.exists):
        return _("The variable {name} points to {value}, which does not exist.", name=name, value=value)
    if "not a folder" in marks:
        return _("The variable {name} points to {value}, which is not a folder.", name=name, value=value)
    if "unexpanded" in marks:
        return _("The variable {name} is {value}, which contains an unexpanded variable.", name=name, value=value)
    if entry is None or seen.toolkits is None or "unreadable" in marks:
        return ""
    folder = entry.expanded or value
    if whole := _whole_of(seen, folder):
        return _(
            "The variable {name} points to {value}, which is a part of the toolkit {root}.",
            name=name,
            value=value,
            root=whole.root,
        )
    for toolkit in seen.toolkits:
        if name in toolkit.named_by or any(
            is_inside(seen.machine.system, x, folder) for x in (toolkit.root, toolkit.folder)
        ):
            return ""
    return _("The variable {name} points to {value}, which contains no CUDA library.", name=name, value=value)


def _whole_of(seen: Snapshot, folder: str) -> Toolkit | None:
    """Return the toolkit whose folder of programs, libraries or headers this is: its readers add ``bin`` and ``lib64`` to the value."""
    system = seen.machine.system
    if file_name(system, normalise(system, folder)).lower() not in PARTS_OF_A_TOOLKIT:
        return None
    above = normalise(system, parent(system, normalise(system, folder)))
    return next((t for t in seen.toolkits or () if t.nvcc and normalise(system, t.root) == above), None)


def _entries(seen: Snapshot) -> tuple[PathEntry, ...]:
    return seen.path_entries


def _installed_toolkits(seen: Snapshot) -> list[Toolkit]:
    return [t for t in seen.toolkits or () if t.origin in ("installer", "folder", "distribution")]


def _newest_toolkit(seen: Snapshot) -> Toolkit | None:
    return max(
        (t for t in _installed_toolkits(seen) if t.origin != "distribution"),
        key=lambda t: version_tuple(t.version),
        default=None,
    )


def _set_variable(seen: Snapshot, name: str, better: Toolkit | None) -> Fix:
    if better is None:
        return manual_fix(
            _("Remove the variable {name}", name=name),
            _("There is no toolkit for it to point to. Remove it in the Start menu under Edit environment variables.")
            if seen.machine.system == "windows"
            else _("There is no toolkit for it to point to. Remove it with: unset {name}", name=name),
            restart="terminal",
        )
    return name_toolkit(seen, name, better)


def disagreeing_variables(seen: Snapshot) -> Iterator[Finding]:
    """CUDA_PATH and CUDA_HOME name different toolkits."""
    one, two = effective_variable(seen, "CUDA_PATH"), effective_variable(seen, "CUDA_HOME")
    if one and two and one.value and two.value:
        system = seen.machine.system
        if normalise(system, one.value) != normalise(system, two.value):
            yield make_finding(
                "toolkit.variables-disagree",
                NOTE,
                _("CUDA_PATH and CUDA_HOME point to different folders."),
                why=_("Some programs use one of them, some the other. It matters if the two have different versions."),
                evidence=[observation(v.name, v.value, v.source or v.scope) for v in (one, two)],
                subject="CUDA_PATH",
            )


def damaged_toolkit_libraries(seen: Snapshot) -> Iterator[Finding]:
    """Damaged, foreign or unreadable libraries of CUDA: an error if a consumer loads them."""
    used = _used_files(seen)
    system = seen.machine.system
    for toolkit in seen.toolkits or ():
        for cause, name, words, bad in _bad_libraries(seen, toolkit):
            loaded = [row for f in bad for row in used.get(normalise(system, f.path), ())]
            severity = ERROR if loaded else NOTE if _nobody_comes_to(seen, toolkit, bad) else WARNING
            yield make_finding(
                f"toolkit.{name}" if loaded else f"toolkit.unused-{name}",
                severity,
                _(words, names=join_names(f.name for f in bad)),
                cause=cause,
                why=_("Every program that loads this library fails, often with a message that names another file.")
                if loaded
                else _("Nothing that was examined loads it now."),
                evidence=[*(_library_row(f, system, renamed=name == RENAMED) for f in bad), *loaded],
                subject=parent(system, bad[0].path),
                fix=_move_away(bad, system) if name == RENAMED else _reinstall(seen, toolkit, bad, severity),
            )


SEARCH_PATHS = ("PATH", LIBRARY_VARIABLE)


def _nobody_comes_to(seen: Snapshot, toolkit: Toolkit, bad: list[LibraryFile]) -> bool:
    """Whether a search path alone leads to these files, and whole ones of the same names come before them there."""
    variable = toolkit.named_by[0] if len(toolkit.named_by) == 1 else ""
    if variable not in SEARCH_PATHS or toolkit.origin != "folder":
        return False
    system = seen.machine.system
    order = [normalise(system, e.expanded or e.text) for e in _entries(seen) if e.variable == variable]
    here = normalise(system, toolkit.folder)
    before = order[: order.index(here)] if here in order else []
    whole = {
        f.name.lower() if system == "windows" else f.name
        for t in seen.toolkits or ()
        for f in t.libraries
        if f.state == "good" and normalise(system, parent(system, f.path)) in before
    }
    return all((f.name.lower() if system == "windows" else f.name) in whole for f in bad)


RENAMED = "renamed"
"""Name of the finding about links and copies with another library's name."""


@lru_cache(maxsize=1024)  # of each way of starting
def true_library_name(f: LibraryFile, system: System) -> str:
    """Return the name with which a library of CUDA was built, if the file has another one's name; empty if they agree.

    A link or copy with another name does not change the content: its SONAME, or the link's target.
    """
    known = toolkit_locations()

    def kind(name: str) -> tuple[str | None, tuple[int, ...]]:
        return library_family(name, system, known), numbers_in_name(name, system)[:1]

    mine = kind(f.name)
    names = (f.soname, file_name(system, f.real_path)) if all(mine) else ()
    return next((name for name in names if all(kind(name)) and kind(name) != mine), "")


def _library_row(f: LibraryFile, system: System, *, renamed: bool) -> Evidence:
    if renamed:
        leads = _("leads to {path}", path=f.real_path) if f.real_path else ""
        return observation(f.path, leads or _("a copy of {name}", name=true_library_name(f, system)), f.soname)
    return observation(f.path, translate_fact(f.problem) or f.architecture or _(f.state), _(f.record))


def _move_away(bad: list[LibraryFile], system: System) -> Fix:
    remove = "del" if system == "windows" else "rm"
    return manual_fix(
        _("Remove the file with the wrong name, and install the required CUDA"),
        *(shell_command(remove, f.path, of=shell_of(system)) for f in bad),
        _("Two releases of CUDA can be installed side by side: each program asks for its own by name."),
        restart="program",
    )


def _used_files(seen: Snapshot) -> dict[str, list[Evidence]]:
    """Return the files, by normalised path, that some consumer loads, or would if they were intact; each with its consumers."""
    used: dict[str, list[Evidence]] = {}
    for c in by_importance(seen):
        for search in c.load.resolutions:
            what = family_and_major(search.name)
            if search.winner:
                used.setdefault(normalise(c.system, search.winner.path), []).append(c.concerns)
            elif what:
                for f in unusable_libraries(c, *what):
                    used.setdefault(normalise(c.system, f.path), []).append(c.concerns)
    return used


def _bad_libraries(seen: Snapshot, toolkit: Toolkit) -> Iterator[tuple[Cause, str, str, list[LibraryFile]]]:
    mine = seen.machine.architecture
    files = toolkit.libraries
    groups: tuple[tuple[Cause, str, str, list[LibraryFile]], ...] = (
        (
            "corrupt_or_truncated_file",
            "damaged",
            N_("{names} of CUDA is damaged."),
            [f for f in files if f.state in BROKEN_STATES],
        ),
        (
            "library_unreadable",
            "unreadable",
            N_("This user has no permission to read {names} of CUDA."),
            [f for f in files if f.state == "unreadable"],
        ),
        (
            "corrupt_or_truncated_file",
            "differs-from-record",
            N_("{names} of CUDA differs from the file that was published."),
            [f for f in files if f.state == "good" and f.record in ("size differs", "hash differs")],
        ),
    )
    yield from ((c, n, w, bad) for c, n, w, bad in groups if bad)
    system = seen.machine.system
    if renamed := [f for f in files if f.state == "good" and true_library_name(f, system)]:
        yield (
            "cuda_toolkit_version_mismatch",
            RENAMED,
            N_("{names} of CUDA is another library under this name."),
            renamed,
        )
    odd = [f for f in files if f.state == "good" and f.architecture and mine and f.architecture != mine]
    if odd and len(odd) < len(files):  # A whole tree for another processor is for building, not for running.
        yield (
            "dll_wrong_architecture",
            "wrong-architecture",
            N_("{names} of CUDA was built for another kind of processor."),
            odd,
        )


SYSTEM_FOLDERS = ("system32", "syswow64")
"""Windows' own folders: CUDA files there were copied by hand, and reinstalling a toolkit does not repair them."""


def _reinstall(seen: Snapshot, toolkit: Toolkit, bad: list[LibraryFile], _severity: Severity) -> Fix:
    packages = [p for f in bad if (p := nvidia_package(f.version_source))]
    home = next((p.prefix for p in seen.pythons or () if is_inside(seen.machine.system, toolkit.root, p.prefix)), "")
    if toolkit.origin == "wheel" and packages:
        names = list(dict.fromkeys("==".join(p) for p in packages))
        return manual_fix(
            _("Reinstall {names}", names=" ".join(names)),
            pip_command(seen, home, "install", "--force-reinstall", "--no-deps", "--no-cache-dir", *names),
            restart="program",
            remedy=PutPackageBack(
                prefix=home,
                package=packages[0][0],
                version=packages[0][1],
                more=tuple(dict.fromkeys(p[0] for p in packages if p[0] != packages[0][0])),
            )
            if not any(f.state == "unreadable" for f in bad)  # An unreadable file cannot be saved for undo.
            else None,
        )
    if seen.machine.system == "windows" and file_name("windows", toolkit.root).lower() in SYSTEM_FOLDERS:
        return manual_fix(
            _("Remove the stray files from {folder}", folder=toolkit.root),
            _(
                "No installer puts them there; move these files to another place: {files}",
                files=join_names(f.path for f in bad),
            ),
            restart="program",
        )
    if keeper := keeper_of(toolkit.root):
        return manual_fix(
            _("Have {keeper} restore this toolkit", keeper=keeper.keeper),
            keeper.again or _("Reinstall {keeper}: its folder is {root}.", keeper=keeper.keeper, root=toolkit.root),
            restart="program",
        )
    return manual_fix(
        _("Reinstall this toolkit"),
        _("Reinstall CUDA {version} in {root}.", version=toolkit.version or "", root=toolkit.root),
    )


def toolkits_in_order(seen: Snapshot) -> Iterator[Finding]:
    """Each toolkit whose libraries are intact; a version other than a wheel's runtime is normal."""
    for toolkit in seen.toolkits or ():
        if (
            not toolkit.libraries
            or is_beyond_horizon("cuda", toolkit.version)
            or any(True for _ in _bad_libraries(seen, toolkit))
        ):
            continue
        owner = f" ({toolkit.owner})" if toolkit.owner else ""
        yield make_finding(
            "toolkit.whole",
            GOOD,
            n_(
                "CUDA {version} in {folder}: {n} library was checked (header and length), and no fault was found.",
                "CUDA {version} in {folder}: {n} libraries were checked (headers and lengths), and no fault was found.",
                len(toolkit.libraries),
                version=toolkit.version or _("of unknown version"),
                folder=toolkit.folder or toolkit.root,
            ),
            evidence=_facts(toolkit, owner),
            subject=toolkit.folder or toolkit.root,
        )


def _facts(toolkit: Toolkit, owner: str) -> list[Evidence]:
    rows = [observation(_("Toolkit"), f"{toolkit.root}{owner}", toolkit.source)]
    if keeper := keeper_of(toolkit.root):
        rows.append(observation(_("Installed by"), keeper.keeper, toolkit.root))
    if toolkit.named_by:
        rows.append(observation(_("Set by"), join_names(toolkit.named_by)))
    if toolkit.nvcc_version and versions_differ(toolkit.nvcc_version, toolkit.version):
        rows.append(observation(_("Its compiler"), f"nvcc {toolkit.nvcc_version}", toolkit.nvcc))
    return rows


RULES = (misleading_variables, disagreeing_variables, damaged_toolkit_libraries, toolkits_in_order)
