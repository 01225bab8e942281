"""Why a consumer gets the wrong files although some are found: shadowed, too old, of two releases, unusual paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from core.common.i18n import _, join_sentences, n_, translate_fact
from core.common.text import capitalise, join_names
from core.common.versions import is_older, versions_differ
from core.knowledge.cudnn_file_names import shipped_name
from core.knowledge.releases import faulty_release, is_never_there
from core.model.facts import Attempt, CudnnCopy, How, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, is_inside, normalise, parent
from core.model.remedies import Place, PreferFolder, PutAside, UseSystemTool
from core.rules.advice import add_to_search_path, another_release, reinstall
from core.rules.consumer_loads import (
    ConsumerLoad,
    describe_copy,
    is_whole,
    load_failures,
    mapped_folders,
    parts_elsewhere,
    takes_newer_set,
    usable_copies,
)
from core.rules.cudnn.files import file_faults
from core.rules.cudnn.not_found import FIRST_SEARCHED, ROLL_CALL_SOURCE, SYSTEM_FOLDERS, install_cudnn, lies_in
from core.rules.snapshot_queries import candidate_evidence, copy_at, copy_in
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation


def shadowed_copy(c: ConsumerLoad) -> Iterator[Finding]:
    """There are two copies, and the wrong one is found first."""
    if found := _right_copy(c):
        right, certain = found
        yield _shadowed_finding(c, right, certain=certain)


def _right_copy(c: ConsumerLoad) -> tuple[CudnnCopy, bool] | None:
    """Return the copy that should be found first, and whether that is certain; None if it is."""
    if c.winner is None or c.main is None:
        return None
    version = c.copy.version if c.copy else None
    elsewhere = c.own and not lies_in(c, c.winner.path, c.own) and not is_inside(c.system, c.winner.path, c.own.folder)
    if c.own and elsewhere and (versions_differ(version, c.own.version) or (c.copy is None and load_failures(c))):
        if takes_newer_set(c):
            return None
        return c.own, bool(is_older(version, c.own.version)) or bool(load_failures(c))
    later = [x for a in c.main.found[1:] if (x := copy_at(c.seen, a.path))]
    wanted = c.load.wanted_version
    if wanted and is_older(version, wanted):
        newer = [
            x for x in (*later, *(y for y in usable_copies(c) if is_whole(y))) if is_older(x.version, wanted) is False
        ]
        if newer:
            return newer[0], True
    whole = [x for x in later if is_whole(x)]
    if c.winner.how in SYSTEM_FOLDERS:  # not a program's own folder, and searched before all of PATH
        newer = [x for x in whole if is_older(version, x.version)]
        if newer:
            return newer[0], bool(load_failures(c))
    if load_failures(c) and c.copy is not None:
        others = [x for x in whole if x is not c.copy]
        if others and not any(True for _ in file_faults(c.seen, c.copy)) and not parts_elsewhere(c):
            return others[0], True
    return None


def copy_behind_foreign(c: ConsumerLoad) -> CudnnCopy | None:
    """Return the intact copy after a folder of PATH whose files are all for another architecture, where Windows stops."""
    if c.system != "windows" or c.winner is None or c.main is None or c.winner.how is not How.PATH:
        return None
    mine = c.seen.machine.architecture
    if c.copy is None or not c.copy.files or any(f.architecture in ("", mine) for f in c.copy.files):
        return None
    later = (copy_at(c.seen, a.path) for a in c.main.found)
    return next((x for x in later if x is not None and is_whole(x)), None)


def foreign_folder_fix(c: ConsumerLoad) -> Fix | None:
    """Return how the intact copy is found first; the other one stays for programs of its architecture."""
    right = copy_behind_foreign(c)
    if right is None or c.winner is None:
        return None
    wrong = parent(c.system, c.winner.path)
    return manual_fix(
        _("Make sure that {folder} is found before {other}", folder=right.folder, other=wrong),
        _("Move {folder} before {other} in PATH.", folder=right.folder, other=wrong),
        _("Programs for the other architecture still find their own files there."),
        restart="program",
    )


def _shadowed_finding(c: ConsumerLoad, right: CudnnCopy, *, certain: bool) -> Finding:
    winner = c.winner
    assert winner is not None  # ``shadowed_copy`` has checked it.
    folder = parent(c.system, winner.path)
    windows = c.system == "windows"
    wanted = (
        [observation(_("Built with"), f"cuDNN {c.load.wanted_version}", c.load.wanted_source)]
        if c.load.wanted_version
        else []
    )
    return make_finding(
        "cudnn.shadowed",
        ERROR if certain else WARNING,
        _(
            "{copy} is found first and hides {better}, which is the right one.",
            copy=describe_copy(c.copy),
            better=describe_copy(right),
        ),
        cause="cudnn_shadowed",
        why=_(
            "Programs load the first cuDNN on the search path. It is the wrong one for {label}.",
            label=translate_fact(c.load.consumer.label),
        ),
        evidence=[*wanted, *candidate_evidence(c.main), *load_failures(c)],
        subject=folder,
        fix=manual_fix(
            _("Make sure that {folder} is found before {other}", folder=right.folder, other=folder),
            *(
                [_("Move {folder} before {other} in PATH, or remove the latter.", folder=right.folder, other=folder)]
                if windows
                else _unnaming_steps(c, winner)
            ),
            _("If nothing else needs the other copy, uninstall it."),
            restart="program",
        ),
        remedy=preferring_remedy(c, right)
        or (removing_remedy(c.copy) if c.copy and winner.how in FIRST_SEARCHED else None),
    )


def preferring_remedy(c: ConsumerLoad, right: CudnnCopy) -> PreferFolder | None:
    """Return how the loader finds the right copy before the one that it takes; None if no search path contains it."""
    ways: dict[How, Literal["PATH", "LD_LIBRARY_PATH", "loader"]] = {
        How.PATH: "PATH",
        How.LD_LIBRARY_PATH: "LD_LIBRARY_PATH",
        How.LD_CACHE: "loader",
        How.DEFAULT: "loader",
    }
    if c.winner is None or c.winner.how not in ways:
        return None
    place = Place(folder=right.folder, prefix=c.load.consumer.prefix)
    return PreferFolder(over=parent(c.system, c.winner.path), by=ways[c.winner.how], places=(place,))


def removing_remedy(*copies: CudnnCopy) -> PutAside | None:
    """Return that stray copies are quarantined; None if a package owns one, or it was placed there deliberately."""
    stray = all(not x.owner and x.origin in ("system", "folder") for x in copies)
    return PutAside(folders=tuple(dict.fromkeys(x.folder for x in copies))) if copies and stray else None


def parts_remedy(c: ConsumerLoad) -> PutAside | None:
    """Return that single files are quarantined which are found before any search path in place of the set's parts."""
    strays = [s.winner for _role, s in c.parts if c.winner and s.winner and s.winner.how in FIRST_SEARCHED]
    copies = [x for w in strays if (x := copy_in(c.seen, parent(c.system, w.path))) is not None and x is not c.copy]
    return removing_remedy(*copies)


def _unnaming_steps(c: ConsumerLoad, winner: Attempt) -> list[str]:
    """Return how to stop the loader from finding a file first (Linux): the exact line that names its folder, if known."""
    folder = parent(c.system, winner.path)
    named = re.fullmatch(r"(/[\w./+-]+):(\d+)", c.copy.source) if c.copy else None
    if winner.how is How.LD_CACHE and named:
        return [
            _(
                "Line {number} of {file} adds {folder} for every program. Remove it, and update the loader's cache:",
                number=named[2],
                file=named[1],
                folder=folder,
            ),
            f"sudo sed -i '{named[2]}s/^/# /' {named[1]} && sudo ldconfig",
        ]
    place = c.copy.source if winner.how is How.LD_CACHE and c.copy and c.copy.source else winner.via or winner.how.value
    return [_("Remove {folder} from where it is set ({named_in}), then: sudo ldconfig", folder=folder, named_in=place)]


def too_old(c: ConsumerLoad) -> Iterator[Finding]:
    """The only copy is older than the release that the program was built with."""
    wanted = c.load.wanted_version
    version = c.version
    if not wanted or not is_older(version, wanted):
        return
    yield make_finding(
        "cudnn.too-old",
        ERROR,
        _(
            "{framework} was built with cuDNN {wanted}, but {version} is loaded.",
            framework=capitalise(c.loaded_by),
            wanted=wanted,
            version=version,
        ),
        cause="cudnn_minor_too_old",
        why=_(
            "A program runs with the cuDNN that it was built with or a newer one of the same major version. "
            "With an older one, it stops with a version incompatibility."
        ),
        evidence=[
            observation(_("Built with"), wanted, c.load.wanted_source),
            observation(_("Loaded"), version, c.winner.path if c.winner else ""),
            *candidate_evidence(c.main),
        ],
        subject=c.load.consumer.id,
        fix=install_cudnn(c),
    )


def parts_missing(c: ConsumerLoad) -> Iterator[Finding]:
    """The main library is found, but not all of its parts."""
    row = faulty_release(c.copy) if c.copy else None
    gone = [s for _, s in c.parts if s.winner is None and not is_never_there(row, s.name)]
    if c.winner is None or not gone:
        return
    beside = {f.name.lower() for f in c.copy.files if f.state == "good"} if c.copy else set()
    there = [s.name for s in gone if s.name.lower() in beside]
    names = join_names(s.name for s in gone)
    yield make_finding(
        "cudnn.parts-off-path" if there else "cudnn.parts-missing",
        ERROR if load_failures(c) else WARNING,
        _("cuDNN's main library is found, but its folder is not searched for {names}.", names=names)
        if there
        else _("cuDNN's main library is found, but not {names}.", names=names),
        cause="cudnn_not_on_search_path" if there else "cudnn_sublibrary_missing",
        why=join_sentences(
            _("The main library opens its parts later, by bare name, through the ordinary search path."),
            _("They are next to it, but the loader does not search that folder.")
            if there
            else _("None of its folders contains them."),
        ),
        evidence=[
            observation(_("Copy"), describe_copy(c.copy), parent(c.system, c.winner.path)),
            *candidate_evidence(gone[0]),
            *load_failures(c),
        ],
        subject=c.load.consumer.id,
        fix=add_to_search_path(c.seen, parent(c.system, c.winner.path)) if there else install_cudnn(c),
    )


def mixed_releases(c: ConsumerLoad) -> Iterator[Finding]:
    """The parts come from another folder, and another release, than the main library."""
    away = parts_elsewhere(c)
    folders = mapped_folders(c)
    if not away and len(folders) < 2:
        return
    places = list(dict.fromkeys([*(folder for _, folder in away), *folders]))
    copies = [
        x for place in places for x in c.seen.cudnn or () if normalise(c.system, x.folder) == normalise(c.system, place)
    ]
    base = c.copy
    others = [x for x in copies if base is not None and x.folder != base.folder]
    unlike = [x for x in others if base is not None and versions_differ(x.version, base.version)]
    rows: list[Evidence] = [observation(_("Part {role}", role=role), folder, "loader") for role, folder in away]
    rows += [observation(_("Mapped from"), folder, ROLL_CALL_SOURCE) for folder in folders]
    if not unlike and not load_failures(c):
        return
    alone = base is not None and {f.name for f in base.files} == {shipped_name("", c.load.major, c.system)}
    if takes_newer_set(c) or (alone and not load_failures(c)):
        return  # a main library that is meant to use the machine's parts, or can, and does
    row = faulty_release(base) if base else None
    yield make_finding(
        "cudnn.mixed",
        ERROR,
        _("Parts of two cuDNN releases are loaded together for {label}.", label=translate_fact(c.load.consumer.label)),
        cause="mixed_cudnn_sublibraries",
        why=_("The main library comes from one folder, other parts from another. All must belong to one release."),
        evidence=[
            *(observation(_("Copy"), describe_copy(x), x.folder) for x in ([base] if base else []) + others),
            *([observation(_("Known fault of this release"), row.what, row.source)] if row else []),
            *rows,
            *load_failures(c),
        ],
        subject=c.load.consumer.id,
        fix=_one_release(c),
        remedy=parts_remedy(c),
    )


def _one_release(c: ConsumerLoad) -> Fix | None:
    row = faulty_release(c.copy) if c.copy else None
    if c.copy is None:
        return None
    strays = [s.winner.path for _role, s in c.parts if s.winner and s.winner.how in SYSTEM_FOLDERS]
    if strays and c.winner and c.winner.how not in SYSTEM_FOLDERS:
        return manual_fix(
            _("Remove the stray files from {folder}", folder=parent(c.system, strays[0])),
            _("No installer puts cuDNN there; move these files to another place: {files}", files=join_names(strays)),
            restart="program",
        )
    return another_release(c.seen, c.copy, row) if row else reinstall(c.seen, c.copy)


MAX_PATH_CHARACTERS = 260
"""Maximum length in characters, including the final NUL (windef.h)."""
LONG_PATHS_ON = r'reg add "HKLM\SYSTEM\CurrentControlSet\Control\FileSystem" /v LongPathsEnabled /t REG_DWORD /d 1 /f'


def path_too_long(c: ConsumerLoad) -> Iterator[Finding]:
    """Files with paths longer than Windows' loader accepts while long paths are disabled."""
    copy = c.own or c.copy
    if copy is None or c.system != "windows" or c.seen.machine.long_paths is not False:
        return
    deep = [f for f in copy.files if len(f.path) >= MAX_PATH_CHARACTERS]
    if deep:
        yield make_finding(
            "cudnn.path-too-deep",
            ERROR if load_failures(c) else WARNING,
            n_(
                "The path of cuDNN is too long: {n} file exceeds {most} characters.",
                "The path of cuDNN is too long: {n} files exceed {most} characters.",
                len(deep),
                most=MAX_PATH_CHARACTERS,
            ),
            cause="install_path_characters",
            why=_("Unless long paths are enabled, Windows reports that such a file does not exist."),
            evidence=[
                *(observation(_("{n} characters", n=len(f.path)), f.path, _("file system")) for f in deep),
                observation(_("LongPathsEnabled"), "0", _("registry")),
                *load_failures(c),
            ],
            subject=copy.folder,
            fix=manual_fix(
                _("Move the environment to a shorter path"),
                _("Recreate the environment at a short path, such as {folder}.", folder="C:\\ml"),
                _("Or enable long paths (as an administrator): {command}", command=LONG_PATHS_ON),
                restart="program",
            ),
        )


def path_characters(c: ConsumerLoad) -> Iterator[Finding]:
    """The folder's name contains characters that programs which search for libraries cannot handle."""
    copy = c.own or c.copy
    if copy is None:
        return
    odd = sorted({ch for ch in copy.folder if ch in "[]*?" or (c.system == "linux" and ch in ":;")})
    foreign = c.system == "windows" and not copy.folder.isascii()
    if not odd and not foreign:
        return
    what = join_names(f"'{ch}'" for ch in odd) or _("non-ASCII characters")
    failures = load_failures(c)
    # On Windows only PyTorch searches its DLLs by a pattern; whether a DLL in such a folder loads, loading it shows.
    stumbles = bool(failures) or c.system != "windows" or bool(odd and c.load.consumer.framework.startswith("torch "))
    link = plain_link(copy.environment, c.seen) if copy.environment and not c.seen.machine.other_root else ""
    yield make_finding(
        "cudnn.path-characters",
        ERROR if failures else WARNING if stumbles else NOTE,
        _("The path of cuDNN contains {what}, which programs cannot handle.", what=what)
        if stumbles
        else _("The path of cuDNN contains {what}, which some programs cannot handle.", what=what),
        cause="install_path_characters",
        why=_(
            "Frameworks search their own folder for libraries with patterns in which such characters have a "
            "special meaning, or with functions that handle no other alphabet. They then find nothing, or "
            "run on the processor without a message."
        ),
        evidence=[observation(_("Folder"), copy.folder, copy.source), *failures],
        subject=copy.folder,
        fix=manual_fix(
            _("Move the environment to a plain path"),
            _("Recreate the environment at a path that has only letters, digits, dots, hyphens and underscores."),
            _("Or start its programs by a plain path that leads to it: {link}", link=link) if link else "",
        ),
        remedy=UseSystemTool(kind="short-path", subject=link, value=copy.environment) if link else None,
    )


def plain_link(folder: str, seen: Snapshot) -> str:
    """Return an ASCII path for a link to a folder: in the home folder, or at the top of its drive (Windows)."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", file_name(seen.machine.system, folder)).strip("-").lower() or "environment"
    if seen.machine.system == "windows":
        return f"{folder[:2]}\\convalesce-{name}" if folder[1:2] == ":" else ""
    home = seen.machine.home
    return f"{home}/convalesce-{name}" if re.fullmatch(r"[/\w.-]+", home, re.ASCII) else ""
