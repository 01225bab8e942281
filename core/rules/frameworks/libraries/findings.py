"""Missing or unfit dependencies of a framework's own binaries: one finding for each framework or extension."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from core.common.i18n import N_, _, translate_fact
from core.common.text import join_names
from core.knowledge.causes import Cause, OptionalCause
from core.knowledge.gpu_binaries import gpu_binaries
from core.knowledge.library_names import OF_VIDEO, parse_library_name
from core.model.facts import Gap, How, Snapshot
from core.model.facts.closure import Edge, Opening
from core.model.findings import Evidence, Finding
from core.model.path_list import LIBRARY_VARIABLE
from core.model.paths import file_name, parent
from core.model.steps import Severity
from core.rules.driver.facts import has_gpu_on_bus
from core.rules.frameworks.environment_view import FRAMEWORKS, asked_of, environment_views
from core.rules.frameworks.finding_ids import LIBRARIES_ID
from core.rules.frameworks.libraries.cure import cure_of, pinned_otherwise
from core.rules.frameworks.libraries.lacks import (
    COMPILER_VERSION,
    COMPILERS,
    FRAMEWORKS_OWN,
    TENSORRT,
    Lack,
    cuda_majors,
    failed_openings,
    find_lack,
    for_other_cudas,
    named_toolkit,
    tensorrt_majors,
)
from core.rules.snapshot_queries import is_of_environment, meant_entries
from core.rules.windows_parts import IN_THE_CLOUD, KEPT_BACK, MSVC_RUNTIME
from core.rules.wording import NOTE, UNKNOWN, WARNING, Concern, concern_row, make_finding, observation


def lacking_libraries(seen: Snapshot) -> Iterator[Finding]:
    """A framework's or extension's binaries need libraries that its loader does not find, or that do not fit."""
    for home in environment_views(seen):
        for closure in home.closures:
            lack = find_lack(home, closure)
            if lack is not None:
                yield _finding(lack)


def _finding(lack: Lack) -> Finding:
    cause, title, why = _cause_and_why(lack)
    remedy, fix = cure_of(lack, cause) if cause else (None, None)
    files = [e.path or e.name for e in lack.edges] + [g.provider or g.wanted_by for g in lack.gaps]
    return make_finding(
        f"frameworks.{LIBRARIES_ID}{lack.name}",
        _severity(lack, cause) if cause else UNKNOWN,
        title,
        cause=cause,
        why=why,
        evidence=[*_rows(lack), concern_row(lack.closure.consumer), *_importers(lack)],
        subjects=[lack.home.python.prefix, *dict.fromkeys(files)],
        fix=fix,
        remedy=remedy,
    )


def _importers(lack: Lack) -> Iterator[Concern]:
    """Yield the frameworks that import this package and fail with it."""
    if lack.name in imported_packages():
        for d in lack.home.python.distributions:
            if (
                d.name != lack.name
                and FRAMEWORKS.fullmatch(d.name)
                and any(True for _t in asked_of(lack.home, d, lack.name))
            ):
                yield lack.home.concerns(d.name)


def imported_packages() -> tuple[str, ...]:
    """Return the packages other than frameworks whose libraries frameworks need."""
    return tuple(row.distribution for row in gpu_binaries().frameworks if row.imported)


NOT_SEARCHED = ("cuda_not_on_search_path", "cudnn_not_on_search_path")
"""What is installed is whole: how a program is started decides whether it is found."""


def _severity(lack: Lack, cause: Cause) -> Severity:
    """Return the severity: a failing import fails with or without a GPU. Libraries that are there, and not searched, are a matter of how a
    program is started: where the programs at hand do not use this one, nothing that runs here fails.
    """
    if cause in NOT_SEARCHED and lack.home.is_idle(lack.name):
        return NOTE
    worked = any(
        t.framework == lack.name and t.gpu and t.right and not t.problem and not t.ended for t in lack.home.trials
    )
    of_a_part = cause == "driver_component_missing" or _of_a_part(lack)
    severity = min(lack.home.severity, WARNING) if of_a_part else lack.home.severity
    unused = has_gpu_on_bus(lack.home.seen) is False or lack.home.is_on_cpu(lack.name)
    return NOTE if worked or (unused and _for_a_card_alone(lack)) else severity


def _for_a_card_alone(lack: Lack) -> bool:
    """Whether the import goes on without what is lacking: it is opened by name, or with the GPU."""
    if lack.gaps or any(o.ended for o in lack.closure.openings or ()):
        return False
    if for_other_cudas(lack):
        return True
    later = [s.file for r in lack.rows for s in r.linux if s.hosted or s.later]
    return bool(lack.edges) and all(
        e.state == "absent" and (e.by_name or any(fnmatchcase(e.wanted_by, f"*/{part}") for part in later))
        for e in lack.edges
    )


def _of_a_part(lack: Lack) -> bool:
    """Whether only a part lacks something that is used beside another package (cuTENSOR): the framework itself is imported without."""
    parts = [s.file for r in lack.rows for s in r.linux if s.beside and not s.may_fail]
    failed = [o.library for o in lack.closure.openings or () if o.problem or o.ended]
    files = [*(e.wanted_by for e in lack.edges), *(g.wanted_by for g in lack.gaps), *failed]
    return bool(parts) and all(any(fnmatchcase(f, f"*/{part}") for part in parts) for f in files)


STATES: tuple[tuple[str, Cause, str, str], ...] = (
    ("not executable", "noexec_mount", N_("{who} in {prefix} cannot load {names}: the file system is mounted noexec."),
     N_("The system maps no program code from a file system that is mounted with the option noexec.")),
    ("unreadable", "library_unreadable", N_("{who} in {prefix} has no permission to read {names}."),
     N_("The file is there, but this user has no permission to open it, or to enter its folder.")),
    ("wrong architecture", "dll_wrong_architecture", N_("{who} in {prefix} needs {names}, and what is there was built for another processor."),
     N_("The loader skips a library for another architecture, and finds no other.")),
    ("damaged", "corrupt_or_truncated_file", N_("{who} in {prefix} cannot load {names}: the file is damaged."),
     N_("The loader uses the first file of this name and stops there with an error.")),
    ("too old", "vc_runtime_missing", N_("{who} in {prefix} does not start with {names}: Microsoft's C++ runtime is older than it needs."),
     N_("Its libraries are found, but their initialization fails. The runtime must be at least as recent as the compiler that built them.")),
    ("executable stack", "upstream_packaging_bug", N_("{who} in {prefix} cannot load {names}: the file asks for an executable stack."),
     N_("Since glibc 2.41, a running program cannot open a library that asks for an executable stack (\"cannot enable executable stack as shared object requires\").")),
    ("dangling", "corrupt_or_truncated_file", N_("{who} in {prefix} needs {names}, and the link of that name is broken."),
     N_("The link is there, but the file that it names is not.")),
)  # fmt: skip
"""State of a dependency -> cause, title, why; the first that applies leads."""


def _cause_and_why(lack: Lack) -> tuple[OptionalCause, str, str]:
    """Return cause, title and why."""
    values = {"who": lack.closure.consumer.framework, "prefix": lack.home.python.prefix}
    for state, cause, title, why in STATES:
        names = _names([e for e in lack.edges if e.state == state])
        if names:
            overridden = state != "not executable" and all(_by_variable(e) for e in lack.edges if e.state == state)
            return (
                "ld_library_path_override" if overridden else cause,
                _(title, names=join_names(dict.fromkeys(names)), **values),
                _(why),
            )
    absent = [e for e in lack.edges if e.state == "absent"]
    if others := for_other_cudas(lack):
        own = join_names(dict.fromkeys(e.name for e in absent))
        title = _("{who} in {prefix} has no {names}, which its framework's CUDA asks for.", names=own, **values)
        why = _("It has one library for each release of CUDA that it knows: {files}.", files=others)
        return "extension_abi_mismatch", title, why
    if absent:
        return _absent(lack, absent)
    return _misfit(lack, values) if lack.gaps else _failed_opening(lack, values)


def _names(edges: list[Edge]) -> list[str]:
    """Return the name of each file once: one is asked for by its path and by its name."""
    return [e.name for n, e in enumerate(edges) if not e.path or e.path not in {other.path for other in edges[:n]}]


def _by_variable(edge: Edge) -> bool:
    """Whether LD_LIBRARY_PATH replaced an intact file by an unfit one."""
    at = next((a for a in edge.attempts if a.path == edge.path), None)
    sound = any(a.outcome == "found" and a.how != "LD_LIBRARY_PATH" for a in edge.attempts)
    return at is not None and at.how == "LD_LIBRARY_PATH" and sound


def _missed_entries(lack: Lack) -> Iterator[Evidence]:
    """Yield the entries of LD_LIBRARY_PATH that are gone, of an environment or a toolkit of before, and those above, below or beside which
    a library lies that is not found.
    """
    paths = [path for e in lack.edges for path in e.elsewhere]
    folders = dict.fromkeys(parent(lack.system, path) for path in paths)
    for entry in [e for e in lack.home.seen.path_entries if paths and e.variable == LIBRARY_VARIABLE]:
        its = (entry.expanded or entry.text).rstrip("/")
        above = parent(lack.system, its)
        near = next((f for f in folders if f == above or parent(lack.system, f) in (its, above)), "")
        if "missing" in entry.marks:
            yield observation(_("{variable} names a folder that does not exist", variable=entry.variable), entry.text)
        elif near and its not in folders:
            yield observation(_("{variable} names another folder near it", variable=entry.variable), entry.text, near)


def _absent(lack: Lack, absent: list[Edge]) -> tuple[Cause, str, str]:  # noqa: PLR0912 - a flat list of cases
    names = join_names(dict.fromkeys(e.name for e in absent))
    values = {"who": lack.closure.consumer.framework, "prefix": lack.home.python.prefix, "names": names}
    if lack.recorded and all(not e.elsewhere for e in absent):
        title = _("{who} in {prefix} needs {names}, which the package installed and which no longer exists.", **values)
        return (
            "corrupt_or_truncated_file",
            title,
            _("The loader looks for it in the places below, and does not find it."),
        )
    cudnn = any("cudnn" in e.name for e in absent)
    if named := named_toolkit(lack, absent):
        title = _(
            "{who} in {prefix} does not find {names}: it looks in the toolkit that CUDA_PATH names, {path}.",
            path=named.value, **values,
        )  # fmt: skip
        why = _(
            "They are in the toolkit {root}. On Windows this package asks CUDA_PATH, and not PATH.", root=named.right
        )
        return "cuda_path_env_wrong", title, why
    if all(e.elsewhere for e in absent):
        if pinned := pinned_otherwise(lack):
            title = _("{who} in {prefix} does not find {names}: another release of its package is installed.", **values)
            why = _("It requires {packages}. Other releases have the file elsewhere.", packages=join_names(pinned))
            return "requirement_broken", title, why
        title = _("{who} in {prefix} does not find {names}, although they are installed.", **values)
        folders = dict.fromkeys(parent(lack.system, e.elsewhere[0]) for e in absent)
        why = _(
            "The files lie in {folders}. The loader does not search there for this program, and the program does not open them itself.",
            folders=join_names(folders),
        )
        return "cudnn_not_on_search_path" if cudnn else "cuda_not_on_search_path", title, why
    title = _("{who} in {prefix} needs {names}, which its loader does not find.", **values)
    wanted, there = cuda_majors(lack, absent)
    if wanted and there and wanted not in there:
        why = _(
            "It was built for CUDA {wanted}. CUDA {there} is installed, whose libraries have other names and functions.",
            wanted=wanted,
            there=join_names(there),
        )
        return "cuda_toolkit_version_mismatch", title, why
    why = _("The loader looked in every place where this program searches.")
    if all(TENSORRT.match(e.name) for e in absent):
        wanted, there = tensorrt_majors(lack, absent)
        if wanted and there and wanted not in there:
            why = _(
                "It was built for TensorRT {wanted}. TensorRT {there} is installed, whose libraries have other names.",
                wanted=wanted,
                there=join_names(there),
            )
            return "requirement_broken", title, why
    if all(OF_VIDEO.fullmatch(e.name) for e in absent):
        return "driver_component_missing", title, why
    if all(FRAMEWORKS_OWN.match(e.name) for e in absent):
        return "extension_abi_mismatch", title, why
    if all(COMPILERS.match(e.name) for e in absent):
        return "cxx_runtime_too_old", title, why
    if all("cudnn" in e.name for e in absent):
        return "cudnn_not_installed", title, why
    if all("nvrtc" in e.name for e in absent):
        return "nvrtc_missing_or_mismatch", title, why
    if lack.system == "windows" and not any(_is_cudas(e.name) for e in absent):
        runtime = all(MSVC_RUNTIME.fullmatch(e.name) for e in absent)
        return "vc_runtime_missing" if runtime else "system_library_missing", title, why
    return "cuda_runtime_missing", title, why


def _is_cudas(name: str) -> bool:
    """Whether a DLL is CUDA's, or a framework's own."""
    known = parse_library_name(name.lower())
    return known is not None and known.family != "vcruntime"


def _failed_opening(lack: Lack, values: dict[str, str]) -> tuple[OptionalCause, str, str]:
    """Return what the loader said when a child process opened the libraries. A crash alone shows no cause."""
    failed = failed_openings(lack.closure)
    opening = next((o for o in failed if o.problem), failed[0])
    words = opening.problem or translate_fact(opening.ended)
    cause: OptionalCause = ""
    if opening.number is not None:
        cause = CAUSE_OF_NUMBER.get(opening.number, "")
    elif opening.problem:
        cause = _cause_of_words(opening.problem)
    title = _("{who} in {prefix} cannot load its own library: {words}", words=words, **values)
    return cause, title, _("A child process opened it as the framework does.")


def _unmet_symbol(gap: Gap, wants: str, offers: str, who: str) -> str:
    """Return the sentence about a symbol, or a version of symbols, that one file wants and another has not."""
    what = gap.name or gap.version
    if not gap.provider:
        return _("No loaded library provides {what}, which {wants} of {who} needs.", what=what, wants=wants, who=who)
    return _(
        "{offers} does not provide {what}, which {wants} of {who} needs.",
        offers=offers,
        what=what,
        wants=wants,
        who=who,
    )


def _misfit(lack: Lack, values: dict[str, str]) -> tuple[OptionalCause, str, str]:
    """Return what a missing symbol shows: every file exists, but they do not belong together."""
    gap = lack.gaps[0]
    system = lack.home.seen.machine.system
    wants, offers = file_name(system, gap.wanted_by), file_name(system, gap.provider)
    title = _unmet_symbol(gap, wants, offers, values["who"])
    if {d.path for d in lack.recorded} & {gap.wanted_by, gap.provider}:
        why = _(
            "It is a library, but not the one that was installed: another package overwrote it, or a tool modified it."
        )
        return "corrupt_or_truncated_file", title, why
    own = is_of_environment(lack.home.seen, lack.home.python.prefix, gap.provider)
    overridden = gap.how == "LD_LIBRARY_PATH" and (not own or bool(gap.others))
    if gap.how == How.LD_PRELOAD:
        why = _(
            "LD_PRELOAD puts {path} into every program, before the library that the program would use.",
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
            _("LD_LIBRARY_PATH leads to a library whose release is not the one that the program was built with."),
        )
    if TENSORRT.match(wants) and TENSORRT.match(offers):
        why = _("TensorRT's libraries work together in one release alone.")
        return "cuda_lib_shadowed", title, why
    if not gap.provider or FRAMEWORKS_OWN.match(offers):
        why = _("The extension was built with a release of the framework that is not the installed one.")
        return "extension_abi_mismatch", title, why
    return (
        "cuda_lib_shadowed",
        title,
        _("The two libraries belong to different releases of CUDA and do not work together."),
    )


CAUSE_OF_NUMBER: dict[int, OptionalCause] = {
    5: "library_unreadable", 127: "cuda_lib_shadowed", 193: "corrupt_or_truncated_file", 1392: "corrupt_or_truncated_file",
    1455: "page_file_too_small", **dict.fromkeys((*KEPT_BACK, *IN_THE_CLOUD), "library_unreadable"),
}  # fmt: skip
"""Windows error number -> cause, if every header is intact. 126 shows no cause: the missing file is not known."""


def _cause_of_words(words: str) -> Cause:
    if re.search(r"GLIBC(XX)?_|CXXABI_", words):
        return "cxx_runtime_too_old"
    if re.search(r"file too short|invalid ELF header|ELF file", words):
        return "corrupt_or_truncated_file"
    if "nvrtc" in words.lower() and "undefined symbol" not in words:
        return "nvrtc_missing_or_mismatch"
    if "executable stack" in words:
        return "upstream_packaging_bug"
    if "undefined symbol" in words or "version `" in words:
        return "extension_abi_mismatch" if re.search(r"_Z\w*(torch|c10|at)", words) else "cuda_lib_shadowed"
    if "failed to map segment" in words or "Operation not permitted" in words:
        return "noexec_mount"
    return "cudnn_not_on_search_path" if "cudnn" in words else "cuda_runtime_missing"


def _rows(lack: Lack) -> Iterator[Evidence]:
    for opening in lack.closure.openings or ():
        if opening.problem or opening.ended:
            yield _opening_row(opening)
    names = list(dict.fromkeys(e.name for e in lack.edges))
    if len(names) > 1:
        yield observation(_("Lacking"), ", ".join(names), _("resolved as its loader does"))
    yield from _missed_entries(lack)  # first: a card shows few rows
    seen: dict[tuple[str, str], None] = {}
    for edge in lack.edges:
        if (edge.name, edge.state) in seen:
            continue
        seen[edge.name, edge.state] = None
        value = f"{_(edge.state)} {edge.path} {translate_fact(edge.detail)}".strip()
        yield observation(edge.name, value, _("named by {by}", by=edge.wanted_by))
        for path in edge.elsewhere[:1]:
            yield observation(_("Location of {name}", name=edge.name), path)
            yield from meant_entries(lack.home.seen, parent(lack.system, path))
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


RULES = (lacking_libraries,)
