"""Why a consumer takes the wrong cuDNN, or none: overridden, shadowed, of another major, not on the path, not there."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.facts import Attempt, CudnnCopy
from core.findings import Evidence, Finding, Fix, Step
from core.rules.cudnn_files import faults
from core.rules.cures import anew, name_folder, pip, without_variable
from core.rules.known import differs, older
from core.rules.loads import Case, answered, by_variable, called, case, mapped_folders, spread, trouble, versions
from core.rules.view import candidates, copy_at, folder_of, inside, main_name, package_of, tidy
from core.rules.words import ERROR, NOTE, WARNING, advice, finding, listed, saw

ROLL = "roll call in a child process"


def overridden(c: Case) -> Iterator[Finding]:
    """LD_LIBRARY_PATH puts another folder before the libraries that the program brings."""
    roll, clean = c.load.roll_call, c.load.clean_roll_call
    proved = bool(trouble(roll)) and answered(clean)
    theirs = [w for w in (c.winner, *(s.winner for _, s in c.parts)) if by_variable(w)]
    outside = [w for w in theirs if w and not (c.own and _in(c, w.path, c.own))]
    if not outside or not (c.own or proved):
        return
    other = copy_at(c.seen, outside[0].path)
    home = c.own or (copy_at(c.seen, clean.loaded) if clean else None)
    same = other is not None and home is not None and differs(other.version, home.version) is False
    broken = other is not None and any(True for _ in faults(c.seen, other))
    if same and not broken and not proved and not trouble(roll):
        return
    if home is not None and any(True for _ in faults(c.seen, home)) and not proved:
        return  # the loader came here because the program's own copy is broken
    folders = list(dict.fromkeys(folder_of(c.system, w.path) for w in outside))
    rows = [saw("Found first", w.path, f"LD_LIBRARY_PATH: {w.via}") for w in outside]
    if other:
        rows.append(saw("What lies there", called(other), other.folder))
    if home:
        rows.append(saw("What the program brings", called(home), home.folder))
    if proved:
        rows.append(saw("Without LD_LIBRARY_PATH", "every part answered", ROLL))
    yield finding(
        Step.CUDNN,
        ERROR,
        "overridden-by-variable",
        f"LD_LIBRARY_PATH makes {c.load.consumer.label} load another cuDNN than the one that it brings.",
        cause="ld_library_path_override",
        why="Folders in LD_LIBRARY_PATH are searched before the folder that a wheel's libraries name themselves. "
        "The program then runs with files of another release, or of two releases at once, often without a message.",
        evidence=[*rows, *trouble(roll)],
        subject=listed(folders),
        fix=without_variable(folders),
    )


def _in(c: Case, path: str, copy: CudnnCopy) -> bool:
    return tidy(c.system, folder_of(c.system, path)) == tidy(c.system, copy.folder)


def not_found(c: Case) -> Iterator[Finding]:
    """No file serves as the main library."""
    if c.main is None or c.winner is not None:
        return
    closed = [a for a in c.main.attempts if a.outcome in ("unreadable", "wrong architecture")]
    if closed:
        yield _closed(c, closed[0])
        return
    others = [x for x in c.seen.cudnn or () if x.major != c.load.major and _reachable(c, x)]
    broken = [
        x for x in c.seen.cudnn or () if x.major == c.load.major and any(_leads_to(c, a, x) for a in c.main.attempts)
    ]
    told = next((f for x in broken for f in faults(c.seen, x) if f.severity > NOTE), None)
    if told:
        yield replace(told, evidence=(*told.evidence, *candidates(c.main)))
        return
    here = [x for x in c.seen.cudnn or () if x.major == c.load.major and _complete(x) and _mine_or_shared(c, x)]
    if here:
        yield from _off_path(c, here)
    elif not c.wanted:
        return
    elif others:
        yield _other_major(c, others)
    else:
        yield _nowhere(c)


def _leads_to(c: Case, attempt: Attempt, copy: CudnnCopy) -> bool:
    """Whether the loader looked for the main library in this copy's folder, and found it unfit there."""
    return _in(c, attempt.path, copy)


def _complete(copy: CudnnCopy) -> bool:
    return not copy.missing and all(f.state == "good" for f in copy.files)


def _mine_or_shared(c: Case, copy: CudnnCopy) -> bool:
    """Whether a copy is meant for this consumer: in its own environment, or in none at all."""
    if copy.environment:
        return tidy(c.system, copy.environment) == tidy(c.system, c.load.consumer.prefix)
    return copy.origin != "framework"


def _reachable(c: Case, copy: CudnnCopy) -> bool:
    return _mine_or_shared(c, copy)


def _closed(c: Case, attempt: Attempt) -> Finding:
    shut = attempt.outcome == "unreadable"
    title = "This user may not read" if shut else "The loader passes over"
    return finding(
        Step.CUDNN,
        ERROR,
        "unreadable" if shut else "wrong-architecture",
        f"{title} {main_name(c.system, c.load.major)}, and there is no other.",
        cause="library_unreadable" if shut else "dll_wrong_architecture",
        why="The file is there, but "
        + ("its permissions shut this user out." if shut else "it is for another processor."),
        evidence=candidates(c.main),
        subject=folder_of(c.system, attempt.path),
        fix=advice("Allow reading", f'sudo chmod -R a+rX "{folder_of(c.system, attempt.path)}"')
        if shut
        else advice("Install cuDNN for this processor", f"This computer is {c.seen.machine.architecture}."),
    )


def _off_path(c: Case, here: list[CudnnCopy]) -> Iterator[Finding]:
    """Yield that a complete copy lies off the search path: calm if nothing needs it."""
    best = max(here, key=lambda x: (bool(c.own and x.folder == c.own.folder), x.version or ""))
    calm = not c.wanted and _others_have_one(c)
    yield finding(
        Step.CUDNN,
        NOTE if calm else ERROR,
        "not-on-search-path",
        f"{called(best)} is on this machine, but its folder is not searched.",
        cause="cudnn_not_on_search_path",
        why=(
            "The Python environments bring their own cuDNN, so only other programs would miss it."
            if calm
            else f"The files are complete; the loader does not look there for {c.load.consumer.label}."
        ),
        evidence=[saw("Folder", best.folder, best.source), *candidates(c.main)],
        subject=best.folder,
        fix=name_folder(c.seen, best.folder),
    )


def _others_have_one(c: Case) -> bool:
    """Whether a Python environment has a cuDNN of its own: nobody waits for this copy then."""
    loads = (case(c.seen, load) for load in c.seen.loads or () if load.consumer.kind != "plain")
    return any(other.own is not None or other.winner is not None for other in loads)


def _other_major(c: Case, others: list[CudnnCopy]) -> Finding:
    wanted = c.load.major
    return finding(
        Step.CUDNN,
        ERROR,
        "other-major",
        f"{c.load.consumer.framework or c.load.consumer.label} needs cuDNN {wanted}; only {versions(others)} is there.",
        cause="cudnn_major_mismatch",
        why=f"It opens {main_name(c.system, wanted)} by this name. Files of another major version have other names and "
        "functions; renaming or linking them does not help. Both majors may lie side by side.",
        evidence=[
            *(saw("On this machine", called(x), x.folder) for x in others),
            *([saw("Wanted", f"cuDNN {c.load.wanted_version or wanted}", c.load.wanted_source)]),
            *candidates(c.main),
        ],
        subject=c.load.consumer.id,
        fix=_install(c),
    )


def _nowhere(c: Case) -> Finding:
    return finding(
        Step.CUDNN,
        ERROR,
        "not-installed",
        f"{c.load.consumer.framework or c.load.consumer.label} needs cuDNN {c.load.major}, and there is none.",
        cause="cudnn_not_installed",
        why="No file of this name lies where the loader looks, nor anywhere else that was searched.",
        evidence=[
            saw("Wanted", f"cuDNN {c.load.wanted_version or c.load.major}", c.load.wanted_source),
            *candidates(c.main),
        ],
        subject=c.load.consumer.id,
        fix=_install(c),
    )


def _install(c: Case) -> Fix:
    """Return how to install the wanted cuDNN: the exact package that the environment pins, where it pins one."""
    prefix = c.load.consumer.prefix
    pins = [p for p in c.seen.pythons or () if prefix and tidy(c.system, p.prefix) == tidy(c.system, prefix)]
    wishes = [r for p in pins for d in p.distributions for r in d.requires if r.startswith("nvidia-cudnn")]
    pinned = [
        package
        for r in wishes
        if (package := package_of(r.replace("==", " "))) and package[1].startswith(f"{c.load.major}.")
    ]
    if pinned:
        command = pip(c.seen, prefix, "install", "==".join(pinned[0]))
        return advice(
            f"Install {pinned[0][0]} {pinned[0][1]}, which the framework asks for", command, restart="program"
        )
    what = f"cuDNN {c.load.wanted_version}" if c.load.wanted_version else f"cuDNN {c.load.major}"
    if prefix:
        cuda = next((x.cuda_major for x in c.seen.cudnn or () if x.environment == prefix and x.cuda_major), None)
        name = f"nvidia-cudnn-cu{cuda}" if cuda else "nvidia-cudnn-cu12 (or -cu11, -cu13: as the framework's CUDA)"
        return advice(
            f"Install {what} into this environment",
            pip(c.seen, prefix, "install", f'"{name}=={c.load.major}.*"')
            if cuda
            else f"Install {name}, version {c.load.major}.*, with pip in {prefix}.",
            "Or install a release of the framework that was built for the cuDNN that is there.",
            restart="program",
        )
    return advice(f"Install {what}", "Get it from developer.nvidia.com/cudnn for your CUDA version.", restart="program")


def shadowed(c: Case) -> Iterator[Finding]:
    """Two copies, and the wrong one is found first."""
    if c.winner is None or c.main is None:
        return
    if c.own and not _in(c, c.winner.path, c.own) and not inside(c.system, c.winner.path, c.own.folder):
        verdict = older(c.copy.version if c.copy else None, c.own.version)
        if differs(c.copy.version if c.copy else None, c.own.version) or (c.copy is None and trouble(c.load.roll_call)):
            yield _shadowed(c, c.own, certain=bool(verdict) or bool(trouble(c.load.roll_call)))
            return
    wanted = c.load.wanted_version
    if wanted and older(c.copy.version if c.copy else None, wanted):
        later = [x for a in c.main.found[1:] if (x := copy_at(c.seen, a.path)) and older(x.version, wanted) is False]
        if later:
            yield _shadowed(c, later[0], certain=True)
            return
    if trouble(c.load.roll_call) and c.copy is not None:
        later = [x for a in c.main.found[1:] if (x := copy_at(c.seen, a.path)) and x is not c.copy and _complete(x)]
        if later and not any(True for _ in faults(c.seen, c.copy)) and not spread(c):
            yield _shadowed(c, later[0], certain=True)


def _shadowed(c: Case, better: CudnnCopy, *, certain: bool) -> Finding:
    winner = c.winner
    assert winner is not None  # shadowed() saw it
    folder = folder_of(c.system, winner.path)
    windows = c.system == "windows"
    wanted = (
        [saw("Built with", f"cuDNN {c.load.wanted_version}", c.load.wanted_source)] if c.load.wanted_version else []
    )
    return finding(
        Step.CUDNN,
        ERROR if certain else WARNING,
        "shadowed",
        f"{called(c.copy)} is found first and hides {called(better)}, the right one.",
        cause="cudnn_shadowed",
        why=f"The first cuDNN on the search path wins, and for {c.load.consumer.label} that is not the one it needs.",
        evidence=[*wanted, *candidates(c.main), *trouble(c.load.roll_call)],
        subject=folder,
        fix=advice(
            f"Let {better.folder} be found before {folder}",
            f"Move {better.folder} before {folder} in PATH, or take the latter out."
            if windows
            else f"Remove {folder} from where it is named ({winner.via or winner.how.value}), then: sudo ldconfig",
            "If nothing else needs the other copy, uninstall it.",
            restart="program",
        ),
    )


def too_old(c: Case) -> Iterator[Finding]:
    """The only copy is older than what the program was built with."""
    wanted = c.load.wanted_version
    version = (c.load.roll_call.version if c.load.roll_call else None) or (c.copy.version if c.copy else None)
    if not wanted or not older(version, wanted):
        return
    yield finding(
        Step.CUDNN,
        ERROR,
        "too-old",
        f"{c.load.consumer.framework or c.load.consumer.label} was built with cuDNN {wanted}, but {version} is loaded.",
        cause="cudnn_minor_too_old",
        why="A program runs with the cuDNN that it was built with or a newer one of the same major version. "
        "With an older one it stops with a version incompatibility.",
        evidence=[
            saw("Built with", wanted, c.load.wanted_source),
            saw("Loaded", version, c.winner.path if c.winner else ""),
            *candidates(c.main),
        ],
        subject=c.load.consumer.id,
        fix=_install(c),
    )


def mixed(c: Case) -> Iterator[Finding]:
    """The parts come from another folder, and from another release, than the main library."""
    away = spread(c)
    folders = mapped_folders(c)
    if not away and len(folders) < 2:
        return
    places = list(dict.fromkeys([*(folder for _, folder in away), *folders]))
    copies = [x for place in places for x in c.seen.cudnn or () if tidy(c.system, x.folder) == tidy(c.system, place)]
    base = c.copy
    others = [x for x in copies if base is not None and x.folder != base.folder]
    unlike = [x for x in others if base is not None and differs(x.version, base.version)]
    rows: list[Evidence] = [saw(f"Part {role}", folder, "loader") for role, folder in away]
    rows += [saw("Mapped from", folder, ROLL) for folder in folders]
    if not unlike and not trouble(c.load.roll_call):
        return
    alone = base is not None and {f.name for f in base.files} == {main_name(c.system, c.load.major)}
    if alone and not trouble(c.load.roll_call):
        return  # a main library that is meant to use the machine's parts, and does
    yield finding(
        Step.CUDNN,
        ERROR,
        "mixed",
        f"Parts of two cuDNN releases are loaded together for {c.load.consumer.label}.",
        cause="mixed_cudnn_sublibraries",
        why="The main library comes from one folder, other parts from another. All must be of one release.",
        evidence=[
            *(saw("Copy", called(x), x.folder) for x in ([base] if base else []) + others),
            *rows,
            *trouble(c.load.roll_call),
        ],
        subject=c.load.consumer.id,
        fix=anew(c.seen, base) if base else None,
    )


def brackets(c: Case) -> Iterator[Finding]:
    """Characters in the folder's name on which programs that search for libraries stumble."""
    copy = c.own or c.copy
    if copy is None:
        return
    odd = sorted({ch for ch in copy.folder if ch in "[]*?" or (c.system == "linux" and ch in ":;")})
    foreign = c.system == "windows" and not copy.folder.isascii()
    if not odd and not foreign:
        return
    what = listed(f"'{ch}'" for ch in odd) or "letters beyond ASCII"
    yield finding(
        Step.CUDNN,
        ERROR if trouble(c.load.roll_call) else WARNING,
        "path-characters",
        f"The path of cuDNN contains {what}, on which programs stumble.",
        cause="install_path_characters",
        why="Frameworks search their own folder for libraries with patterns in which such characters have a meaning, or with "
        "functions that know no other alphabet. They then find nothing, or run on the processor without a message.",
        evidence=[saw("Folder", copy.folder, copy.source), *trouble(c.load.roll_call)],
        subject=copy.folder,
        fix=advice(
            "Move the environment to a plain path",
            "Make the environment anew in a folder whose path has only letters, digits, dots, dashes and underscores.",
        ),
    )
