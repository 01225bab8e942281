"""Why a consumer finds the wrong cuDNN, or none: overridden, shadowed, another major version, not on the path, not installed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.common.i18n import N_, _, translate_fact
from core.common.shell import shell_command
from core.common.text import capitalise
from core.common.versions import versions_differ
from core.knowledge.causes import Cause
from core.knowledge.cudnn_file_names import role_of, shipped_name
from core.model.facts import Attempt, CudnnCopy, How, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, join_path, normalise, parent
from core.model.remedies import AddFolder, InstallPackages, Place, TakeOut
from core.rules.advice import add_to_search_path, pinned_package, pip_command, without_variable
from core.rules.consumer_loads import (
    ConsumerLoad,
    consumer_loads,
    counter_test,
    describe_copy,
    found_by_ld_library_path,
    is_built_without_cuda,
    is_meant_for,
    is_whole,
    load_failures,
    misses_cudnn,
    takes_newer_set,
    usable_copies,
    versions_text,
)
from core.rules.counter import CounterOutcome, blame_unless_refuted
from core.rules.cudnn.files import completing_remedy, file_faults
from core.rules.frameworks.environment_view import missing_packages, requested_by_an_extra
from core.rules.snapshot_queries import (
    candidate_evidence,
    copy_at,
    file_at,
    installed_programs,
    is_idle,
    is_of_environment,
    is_on_cpu,
    near_misses,
    python_of,
)
from core.rules.wording import ERROR, NOTE, make_finding, manual_fix, observation

ROLL_CALL_SOURCE = N_("roll call in a child process")
SYSTEM_FOLDERS = (How.SYSTEM, How.SYSTEM16, How.WINDOWS)
FIRST_SEARCHED = (*SYSTEM_FOLDERS, How.APPLICATION)
"""Where Windows' loader searches before any search path."""


def overridden_by_variable(c: ConsumerLoad) -> Iterator[Finding]:
    """LD_LIBRARY_PATH puts another folder before the libraries in the program's own environment."""
    clean = c.load.clean_roll_call
    outcome = counter_test(c)
    proved = outcome is CounterOutcome.PROVED
    theirs = [w for w in (c.winner, *(s.winner for _, s in c.parts)) if found_by_ld_library_path(w)]
    outside = [w for w in theirs if w and not (c.own and lies_in(c, w.path, c.own))]
    if proved and not outside:
        yield _needs_overridden(c)
    if not outside or not (c.own or proved):
        return
    other = copy_at(c.seen, outside[0].path)
    home = c.own or (copy_at(c.seen, clean.loaded) if clean else None)
    same = other is not None and home is not None and versions_differ(other.version, home.version) is False
    broken = other is not None and any(True for _ in file_faults(c.seen, other))
    if same and not broken and not proved and not load_failures(c):
        return
    if home is not None and any(True for _ in file_faults(c.seen, home)) and not proved:
        return  # The loader reached this file because the program's own copy is broken.
    rows = []
    if other:
        rows.append(observation(_("What lies there"), describe_copy(other), other.folder))
    if home:
        rows.append(observation(_("What the program brings"), describe_copy(home), home.folder))
    if proved:
        rows.append(observation(_("Without LD_LIBRARY_PATH"), _("every part answered"), _(ROLL_CALL_SOURCE)))
    rows += [observation(_("Found first"), w.path, w.via or "LD_LIBRARY_PATH") for w in outside]
    folders = list(dict.fromkeys(parent(c.system, w.path) for w in outside))
    is_fit = not (broken or proved) and takes_newer_set(c)
    yield from blame_unless_refuted(outcome, lambda: _overridden(c, rows, folders, is_fit))


def _overridden(c: ConsumerLoad, rows: list[Evidence], folders: list[str], is_fit: bool) -> Finding:
    return make_finding(
        "cudnn.overridden-by-variable",
        NOTE if is_fit else ERROR,
        _(
            "LD_LIBRARY_PATH makes {label} load another cuDNN than its own.",
            label=translate_fact(c.load.consumer.label),
        ),
        cause="ld_library_path_override",
        why=_("It is newer, complete, and of one release, which frameworks accept.")
        if is_fit
        else _(
            "Folders in LD_LIBRARY_PATH are searched before the folders that these libraries specify "
            "themselves (with RUNPATH; the older RPATH would come first). The program then runs with files "
            "of another release, or of two releases at once, often without a message."
        ),
        evidence=[*rows, *load_failures(c)],
        subjects=folders,
        fix=without_variable(folders),
        remedy=TakeOut(variable="LD_LIBRARY_PATH", places=overriding_entries(c)),
    )


def _needs_overridden(c: ConsumerLoad) -> Finding:
    """Return the finding that something in LD_LIBRARY_PATH prevents a correctly found cuDNN from loading."""
    named = [(r.name, r.winner) for r in c.load.resolutions if r.winner and found_by_ld_library_path(r.winner)]
    folders = list(dict.fromkeys(parent(c.system, w.path) for _name, w in named))
    return make_finding(
        "cudnn.needs-overridden",
        ERROR,
        _("LD_LIBRARY_PATH prevents cuDNN from loading for {label}.", label=translate_fact(c.load.consumer.label)),
        cause="ld_library_path_override",
        why=_(
            "The same load works without that variable: a library in one of its folders takes the place of the right one."
        ),
        evidence=[
            *(observation(_("Found first"), w.path, w.via or "LD_LIBRARY_PATH") for _name, w in named),
            observation(_("Without LD_LIBRARY_PATH"), _("every part answered"), _(ROLL_CALL_SOURCE)),
            *load_failures(c),
        ],
        subject="" if folders else c.load.consumer.id,
        subjects=folders,
        fix=without_variable(folders),
        remedy=TakeOut(variable="LD_LIBRARY_PATH", places=_places(c, [w for _name, w in named])) if named else None,
    )


def overriding_entries(c: ConsumerLoad) -> tuple[Place, ...]:
    """Return the entries of LD_LIBRARY_PATH, as written, that divert a consumer from its own copy."""
    away = [w for w in (c.winner, *(s.winner for _, s in c.parts)) if w and found_by_ld_library_path(w)]
    return _places(c, [w for w in away if not (c.own and lies_in(c, w.path, c.own))])


def _places(c: ConsumerLoad, found: list[Attempt]) -> tuple[Place, ...]:
    """Return the entries of LD_LIBRARY_PATH through which these files were found."""
    entries = (w.via if w.via.startswith("/") else parent(c.system, w.path) for w in found)
    return tuple(Place(folder=e, prefix=c.load.consumer.prefix) for e in dict.fromkeys(entries))


def all_overriding(seen: Snapshot, prefix: str = "") -> TakeOut | None:
    """Return how every environment (or one) gets its own copy back; None if LD_LIBRARY_PATH diverts none."""
    mine = [c for c in consumer_loads(seen) if c.own and prefix in ("", c.load.consumer.prefix)]
    places = tuple(dict.fromkeys(place for c in mine for place in overriding_entries(c)))
    return TakeOut(variable="LD_LIBRARY_PATH", places=places) if places else None


def lies_in(c: ConsumerLoad, path: str, copy: CudnnCopy) -> bool:
    """Whether a file is in a copy's folder."""
    return normalise(c.system, parent(c.system, path)) == normalise(c.system, copy.folder)


STOP_REASONS: dict[str, tuple[str, Cause, str]] = {
    "unreadable": (
        "unreadable",
        "library_unreadable",
        N_("{path} is found first, and this user has no permission to read it."),
    ),
    "wrong architecture": (
        "wrong-architecture",
        "dll_wrong_architecture",
        N_("{path} is found first, and it was built for another kind of processor."),
    ),
    "damaged": ("damaged", "corrupt_or_truncated_file", N_("{path} is found first, and it is damaged.")),
}
"""Outcome of a candidate -> name of the finding, cause, title."""


def search_stopped(c: ConsumerLoad) -> Iterator[Finding]:
    """The loader stops at an unusable file, although a usable one may follow."""
    for search in c.load.resolutions:
        winner = search.winner
        if winner is None or winner.outcome not in STOP_REASONS or search.name.startswith(("libcuda.", "nvcuda")):
            continue
        if role_of(search.name) is None and file_at(c.seen, winner.path) is not None:
            continue  # The toolkit's own rule reports its libraries.
        name, cause, words = STOP_REASONS[winner.outcome]
        later = [a.path for a in search.found]
        yield make_finding(
            f"cudnn.{name}",
            ERROR,
            _(words, path=winner.path),
            cause=cause,
            why=_("The loader uses the first file of this name and stops there, even if a good one comes later."),
            evidence=[*candidate_evidence(search), *load_failures(c)],
            subject=winner.path,
            fix=manual_fix(
                _("Replace that file, or remove its folder from the search path"),
                _("Reinstall the package or program that owns {path}, or move the file away.", path=winner.path),
                _("Then {later} is found.", later=later[0]) if later else "",
                restart="program",
            ),
        )
        return


def not_found(c: ConsumerLoad) -> Iterator[Finding]:
    """There is no usable main library."""
    if c.main is None or c.winner is not None or _is_opened_by_consumer(c) or is_built_without_cuda(c):
        return
    closed = [a for a in c.main.attempts if a.outcome in ("unreadable", "wrong architecture")]
    if closed:
        yield _unusable_file(c, closed[0])
        return
    others = [x for x in c.seen.cudnn or () if x.major != c.load.major and is_meant_for(c, x)]
    mine = usable_copies(c)
    here = [x for x in mine if is_whole(x)]
    told = (
        next((f for x in mine for f in file_faults(c.seen, x) if f.severity > NOTE), None) if misses_cudnn(c) else None
    )
    if here:
        yield from _off_path(c, here)
    elif told:  # The loader's cache leaves out broken files, so no candidate leads to them.
        yield replace(told, evidence=(*told.evidence, *candidate_evidence(c.main)))
    elif not c.is_requested:
        return
    elif others:
        yield _other_major(c, others)
    else:
        yield _cudnn_nowhere(c)


def _is_opened_by_consumer(c: ConsumerLoad) -> bool:
    """Whether the framework opens cuDNN itself if the loader does not find it, as PyTorch does with pip's packages."""
    name = shipped_name("", c.load.major, c.system)
    its = c.load.consumer
    return any(
        not k.edges and any(file_name(c.system, f) == name for f in k.files)
        for k in c.seen.closures or ()
        if (k.consumer.framework, k.consumer.prefix) == (its.framework, its.prefix)
    )


def _unusable_file(c: ConsumerLoad, attempt: Attempt) -> Finding:
    shut = attempt.outcome == "unreadable"
    copy = copy_at(c.seen, attempt.path)
    name = shipped_name("", c.load.major, c.system)
    return make_finding(
        "cudnn.unreadable" if shut else "cudnn.wrong-architecture",
        ERROR,
        _("This user has no permission to read {name}, and there is no other.", name=name)
        if shut
        else _("The loader skips {name}, and there is no other.", name=name),
        cause="library_unreadable" if shut else "dll_wrong_architecture",
        why=_("The file is there, but the system does not let this user read it.")
        if shut
        else _("The file is there, but it was built for another processor."),
        evidence=candidate_evidence(c.main),
        subject=parent(c.system, attempt.path),
        fix=manual_fix(_("Allow reading"), shell_command("sudo", "chmod", "-R", "a+rX", parent(c.system, attempt.path)))
        if shut
        else manual_fix(
            _("Install cuDNN for this processor"),
            _("This computer is {architecture}.", architecture=c.seen.machine.architecture),
        ),
        remedy=None if shut or copy is None else completing_remedy(c.seen, copy),
    )


def _off_path(c: ConsumerLoad, here: list[CudnnCopy]) -> Iterator[Finding]:
    """Yield that a complete copy is not on the search path: only a note if nothing needs it."""
    best = max(here, key=lambda x: (bool(c.own and x.folder == c.own.folder), x.version or ""))
    its = c.load.consumer
    name = its.framework.partition(" ")[0]
    calm = not misses_cudnn(c) or is_idle(c.seen, its.prefix, name) or is_on_cpu(c.seen, its.prefix, name)
    calm = calm or (not c.is_requested and _is_found_otherwise(c, best))
    yield make_finding(
        "cudnn.not-on-search-path",
        NOTE if calm else ERROR,
        _("{best} is on this machine, but its folder is not searched.", best=describe_copy(best)),
        cause="cudnn_not_on_search_path",
        why=(
            _("The Python environments include their own cuDNN, so only other programs would miss it.")
            if not misses_cudnn(c)
            else _("The Python environments find that folder by their own means, so only other programs would miss it.")
            if calm and not c.is_requested
            else _(
                "The files are complete, but the loader does not search that folder for {label}.",
                label=translate_fact(c.load.consumer.label),
            )
        ),
        evidence=[
            observation(_("Folder"), best.folder, best.source),
            *near_misses(c.seen, best.folder),
            *candidate_evidence(c.main),
        ],
        subject=best.folder,
        fix=add_to_search_path(c.seen, best.folder),
        remedy=AddFolder(folder=best.folder, prefixes=(c.load.consumer.prefix,)),
    )


def _is_found_otherwise(c: ConsumerLoad, copy: CudnnCopy) -> bool:
    """Whether a framework takes libraries from this copy's folder, which its environment makes known by its own means."""
    return any(
        k.consumer.prefix and not k.edges and any(lies_in(c, path, copy) for path in k.files)
        for k in c.seen.closures or ()
    )


def _other_major(c: ConsumerLoad, others: list[CudnnCopy]) -> Finding:
    wanted = c.load.major
    return make_finding(
        "cudnn.other-major",
        ERROR,
        _(
            "{framework} needs cuDNN {wanted}; only {versions} is installed.",
            framework=capitalise(c.loaded_by),
            wanted=wanted,
            versions=versions_text(others),
        ),
        cause="cudnn_major_mismatch",
        why=_(
            "It opens {main_name} by this name. Files of another major version have other names and "
            "functions; renaming or linking them does not help. Both majors can coexist.",
            main_name=shipped_name("", wanted, c.system),
        ),
        evidence=[
            *(observation(_("On this machine"), describe_copy(x), x.folder) for x in others),
            *([observation(_("Required"), f"cuDNN {c.load.wanted_version or wanted}", c.load.wanted_source)]),
            *candidate_evidence(c.main),
        ],
        subject=c.load.consumer.id,
        fix=install_cudnn(c),
    )


def _cudnn_nowhere(c: ConsumerLoad) -> Finding:
    return make_finding(
        "cudnn.not-installed",
        ERROR,
        _(
            "{framework} needs cuDNN {major}, and there is none where it looks.",
            framework=capitalise(c.loaded_by),
            major=c.load.major,
        ),
        cause="cudnn_not_installed",
        why=_(
            "No file of this name is in the listed folders, or in any other place where Convalesce looked for cuDNN."
        ),
        evidence=[
            observation(_("Required"), f"cuDNN {c.load.wanted_version or c.load.major}", c.load.wanted_source),
            *candidate_evidence(c.main),
            *installed_programs(c.seen, "cudnn"),
        ],
        subject=c.load.consumer.id,
        fix=install_cudnn(c),
    )


def _unsearched_wheel(c: ConsumerLoad) -> tuple[str, ...]:
    """Return the folder of cuDNN's wheel if the program does not search that folder, and takes a copy outside the environment; on Windows
    also if it takes none.
    """
    system, prefix = c.system, c.load.consumer.prefix
    python = python_of(c.seen, prefix)
    if system == "linux" and (c.winner is None or is_of_environment(c.seen, prefix, c.winner.path)):
        return ()
    if python is None or not python.site_packages or c.main is None:
        return ()
    folder = join_path(system, python.site_packages[0], "nvidia", "cudnn", "bin" if system == "windows" else "lib")
    tried = {normalise(system, parent(system, a.path)) for a in c.main.attempts}
    return () if normalise(system, folder) in tried else (folder,)


def _install(c: ConsumerLoad, title: str, wish: str, *more: str) -> Fix:
    """Return how to install a package with cuDNN into a program's environment, in a folder that the program searches."""
    seen, prefix, folders = c.seen, c.load.consumer.prefix, _unsearched_wheel(c)
    first = c.system == "windows" and c.winner is not None and c.winner.how in FIRST_SEARCHED
    path = [add_to_search_path(seen, f) for f in folders] if c.system == "windows" else []
    return manual_fix(
        title,
        pip_command(seen, prefix, "install", wish),
        *(line for fix in path for line in (fix.title, fix.advice)),
        *more,
        restart="program",
        remedy=None
        if first
        else InstallPackages(prefix=prefix, install=missing_packages(seen, prefix, wish), search=folders),
    )


def _cuda_of(c: ConsumerLoad) -> str:
    """Return the major CUDA of the cuDNN in a program's environment, else, on Windows, the one that its framework was built for: PATH leads
    it to the wheel. Empty if unknown.
    """
    its = c.load.consumer
    here = next((x.cuda_major for x in c.seen.cudnn or () if x.environment == its.prefix and x.cuda_major), None)
    if here or c.system != "windows":
        return str(here or "")
    name = its.framework.partition(" ")[0]
    built = (b.cuda or "" for b in c.seen.builds if (b.prefix, b.distribution) == (its.prefix, name))
    return next(built, "").partition(".")[0]


def install_cudnn(c: ConsumerLoad) -> Fix:
    """Return how to install the wanted cuDNN: the exact package that the environment pins, if it pins one."""
    prefix = c.load.consumer.prefix
    wish = pinned_package(c.seen, prefix, "nvidia-cudnn")
    if wish and wish[1].startswith(f"{c.load.major}."):
        title = _("Install {package} {version}, which the framework requires", package=wish[0], version=wish[1])
        return _install(c, title, "==".join(wish))
    what = f"cuDNN {c.load.wanted_version}" if c.load.wanted_version else f"cuDNN {c.load.major}"
    if prefix:
        title = _("Install {what} into this environment", what=what)
        if requested := requested_by_an_extra(c.seen, prefix, "nvidia-cudnn-cu", f"{c.load.major}.9999"):
            return _install(c, title, requested)
        other = _("Or install a release of the framework that was built for the installed cuDNN.")
        if cuda := _cuda_of(c):
            return _install(c, title, f"nvidia-cudnn-cu{cuda}=={c.load.major}.*", other)
        return manual_fix(
            title,
            _(
                "Install {name}, version {major}.*, with pip in {prefix}.",
                name=_("nvidia-cudnn-cu12 (or -cu11, -cu13: to match the framework's CUDA)"),
                major=c.load.major,
                prefix=prefix,
            ),
            other,
            restart="program",
        )
    return manual_fix(
        _("Install {name}", name=what),
        _("Get it from developer.nvidia.com/cudnn for your CUDA version."),
        restart="program",
    )
