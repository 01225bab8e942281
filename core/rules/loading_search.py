"""Why a consumer takes the wrong cuDNN, or none: overridden, shadowed, of another major, not on the path, not there."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from core.facts import Attempt, CudnnCopy
from core.findings import Finding, Fix, Step
from core.rules.cudnn_files import faults
from core.rules.cures import name_folder, pip, without_variable
from core.rules.known import differs
from core.rules.loads import Case, answered, by_variable, called, case, trouble, versions
from core.rules.view import candidates, copy_at, folder_of, main_name, package_of, tidy
from core.rules.words import ERROR, NOTE, advice, finding, listed, saw

ROLL = "roll call in a child process"


def overridden(c: Case) -> Iterator[Finding]:
    """LD_LIBRARY_PATH puts another folder before the libraries that the program brings."""
    roll, clean = c.load.roll_call, c.load.clean_roll_call
    proved = bool(trouble(roll)) and answered(clean)
    theirs = [w for w in (c.winner, *(s.winner for _, s in c.parts)) if by_variable(w)]
    outside = [w for w in theirs if w and not (c.own and lies_in(c, w.path, c.own))]
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


def lies_in(c: Case, path: str, copy: CudnnCopy) -> bool:
    """Whether a file lies in a copy's folder."""
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
    here = [x for x in c.seen.cudnn or () if x.major == c.load.major and is_whole(x) and _mine_or_shared(c, x)]
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
    return lies_in(c, attempt.path, copy)


def is_whole(copy: CudnnCopy) -> bool:
    """Whether every file of a copy is there and sound."""
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
        fix=install(c),
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
        fix=install(c),
    )


def install(c: Case) -> Fix:
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
