"""Why a consumer gets the wrong files although some are found: shadowed, too old, of two releases, odd paths."""

from __future__ import annotations

from collections.abc import Iterator

from core.facts import Attempt, CudnnCopy, How
from core.findings import Evidence, Finding, Fix, Step
from core.i18n import _, n_, sentences
from core.rules.cudnn_files import faults
from core.rules.cures import anew, another_release, name_folder
from core.rules.known import differs, older
from core.rules.loading_search import ROLL, install, lies_in
from core.rules.loads import Case, at_hand, called, faulty_release, is_whole, mapped_folders, spread, trouble
from core.rules.view import candidates, copy_at, folder_of, inside, main_name, tidy
from core.rules.words import ERROR, WARNING, advice, finding, listed, saw, sentence


def shadowed(c: Case) -> Iterator[Finding]:
    """Two copies, and the wrong one is found first."""
    if c.winner is None or c.main is None:
        return
    if c.own and not lies_in(c, c.winner.path, c.own) and not inside(c.system, c.winner.path, c.own.folder):
        verdict = older(c.copy.version if c.copy else None, c.own.version)
        if differs(c.copy.version if c.copy else None, c.own.version) or (c.copy is None and trouble(c)):
            yield _shadowed(c, c.own, certain=bool(verdict) or bool(trouble(c)))
            return
    wanted = c.load.wanted_version
    if wanted and older(c.copy.version if c.copy else None, wanted):
        later = [x for a in c.main.found[1:] if (x := copy_at(c.seen, a.path))]
        later += [x for x in at_hand(c) if is_whole(x)]
        later = [x for x in later if older(x.version, wanted) is False]
        if later:
            yield _shadowed(c, later[0], certain=True)
            return
    if c.winner.how in (How.SYSTEM, How.SYSTEM16, How.WINDOWS):  # no program's own place, and before all of PATH
        later = [x for a in c.main.found[1:] if (x := copy_at(c.seen, a.path)) and is_whole(x)]
        later = [x for x in later if older(c.copy.version if c.copy else None, x.version)]
        if later:
            yield _shadowed(c, later[0], certain=bool(trouble(c)))
            return
    if trouble(c) and c.copy is not None:
        later = [x for a in c.main.found[1:] if (x := copy_at(c.seen, a.path)) and x is not c.copy and is_whole(x)]
        if later and not any(True for _ in faults(c.seen, c.copy)) and not spread(c):
            yield _shadowed(c, later[0], certain=True)


def _shadowed(c: Case, better: CudnnCopy, *, certain: bool) -> Finding:
    winner = c.winner
    assert winner is not None  # shadowed() saw it
    folder = folder_of(c.system, winner.path)
    windows = c.system == "windows"
    wanted = (
        [saw(_("Built with"), f"cuDNN {c.load.wanted_version}", c.load.wanted_source)] if c.load.wanted_version else []
    )
    return finding(
        Step.CUDNN,
        ERROR if certain else WARNING,
        "shadowed",
        _("{copy} is found first and hides {better}, the right one.", copy=called(c.copy), better=called(better)),
        cause="cudnn_shadowed",
        why=_(
            "The first cuDNN on the search path wins, and for {label} that is not the one it needs.",
            label=c.load.consumer.label,
        ),
        evidence=[*wanted, *candidates(c.main), *trouble(c)],
        subject=folder,
        fix=advice(
            _("Let {folder} be found before {other}", folder=better.folder, other=folder),
            _("Move {folder} before {other} in PATH, or take the latter out.", folder=better.folder, other=folder)
            if windows
            else _(
                "Remove {folder} from where it is named ({named_in}), then: sudo ldconfig",
                folder=folder,
                named_in=_named_in(c, winner),
            ),
            _("If nothing else needs the other copy, uninstall it."),
            restart="program",
        ),
    )


def _named_in(c: Case, winner: Attempt) -> str:
    if winner.how is How.LD_CACHE and c.copy and c.copy.source:
        return c.copy.source
    return winner.via or winner.how.value


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
        _(
            "{framework} was built with cuDNN {wanted}, but {version} is loaded.",
            framework=sentence(c.load.consumer.framework or c.load.consumer.label),
            wanted=wanted,
            version=version,
        ),
        cause="cudnn_minor_too_old",
        why=_(
            "A program runs with the cuDNN that it was built with or a newer one of the same major version. "
            "With an older one it stops with a version incompatibility."
        ),
        evidence=[
            saw(_("Built with"), wanted, c.load.wanted_source),
            saw(_("Loaded"), version, c.winner.path if c.winner else ""),
            *candidates(c.main),
        ],
        subject=c.load.consumer.id,
        fix=install(c),
    )


def parts_missing(c: Case) -> Iterator[Finding]:
    """The main library is found, and parts of it are not."""
    row = faulty_release(c.seen, c.copy) if c.copy else None
    gone = [s for _, s in c.parts if s.winner is None and not (row and row.missing and s.name.startswith(row.missing))]
    if c.winner is None or not gone:
        return
    beside = {f.name.lower() for f in c.copy.files if f.state == "good"} if c.copy else set()
    there = [s.name for s in gone if s.name.lower() in beside]
    names = listed(s.name for s in gone)
    yield finding(
        Step.CUDNN,
        ERROR if trouble(c) else WARNING,
        "parts-off-path" if there else "parts-missing",
        _("cuDNN's main library is found, but its folder is not searched for {names}.", names=names)
        if there
        else _("cuDNN's main library is found, but not {names}.", names=names),
        cause="cudnn_not_on_search_path" if there else "cudnn_sublibrary_missing",
        why=sentences(
            _("The main library opens its parts later, by bare name, through the ordinary search path."),
            _("They lie beside it, and the loader does not look there.")
            if there
            else _("They are in none of its folders."),
        ),
        evidence=[
            saw(_("Copy"), called(c.copy), folder_of(c.system, c.winner.path)),
            *candidates(gone[0]),
            *trouble(c),
        ],
        subject=c.load.consumer.id,
        fix=name_folder(c.seen, folder_of(c.system, c.winner.path)) if there else install(c),
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
    rows: list[Evidence] = [saw(_("Part {role}", role=role), folder, "loader") for role, folder in away]
    rows += [saw(_("Mapped from"), folder, ROLL) for folder in folders]
    if not unlike and not trouble(c):
        return
    alone = base is not None and {f.name for f in base.files} == {main_name(c.system, c.load.major)}
    if alone and not trouble(c):
        return  # a main library that is meant to use the machine's parts, and does
    row = faulty_release(c.seen, base) if base else None
    yield finding(
        Step.CUDNN,
        ERROR,
        "mixed",
        _("Parts of two cuDNN releases are loaded together for {label}.", label=c.load.consumer.label),
        cause="mixed_cudnn_sublibraries",
        why=_("The main library comes from one folder, other parts from another. All must be of one release."),
        evidence=[
            *(saw(_("Copy"), called(x), x.folder) for x in ([base] if base else []) + others),
            *([saw(_("Known fault of this release"), row.what, row.source)] if row else []),
            *rows,
            *trouble(c),
        ],
        subject=c.load.consumer.id,
        fix=_one_release(c),
    )


def _one_release(c: Case) -> Fix | None:
    row = faulty_release(c.seen, c.copy) if c.copy else None
    if c.copy is None:
        return None
    return another_release(c.seen, c.copy, row) if row else anew(c.seen, c.copy)


MAX_PATH = 260
"""Characters, the closing NUL included (windef.h)."""
LONG_PATHS_ON = r'reg add "HKLM\SYSTEM\CurrentControlSet\Control\FileSystem" /v LongPathsEnabled /t REG_DWORD /d 1 /f'


def too_deep(c: Case) -> Iterator[Finding]:
    """Files whose whole path is longer than Windows' loader takes while long paths are not switched on."""
    copy = c.own or c.copy
    if copy is None or c.system != "windows" or c.seen.machine.long_paths is not False:
        return
    deep = [f for f in copy.files if len(f.path) >= MAX_PATH]
    if deep:
        yield finding(
            Step.CUDNN,
            ERROR if trouble(c) else WARNING,
            "path-too-deep",
            n_(
                "The path of cuDNN is too long: {n} file lies beyond {most} characters.",
                "The path of cuDNN is too long: {n} files lie beyond {most} characters.",
                len(deep),
                most=MAX_PATH,
            ),
            cause="install_path_characters",
            why=_("As long as long paths are not switched on, Windows says of such a file that it is not there."),
            evidence=[
                *(saw(_("{n} characters", n=len(f.path)), f.path, _("file system")) for f in deep),
                saw(_("LongPathsEnabled"), "0", _("registry")),
                *trouble(c),
            ],
            subject=copy.folder,
            fix=advice(
                _("Move the environment to a shorter path"),
                _("Make the environment anew in a folder near the drive's root, such as {folder}.", folder="C:\\ml"),
                _("Or switch long paths on (as an administrator): {command}", command=LONG_PATHS_ON),
                restart="program",
            ),
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
    what = listed(f"'{ch}'" for ch in odd) or _("letters beyond ASCII")
    yield finding(
        Step.CUDNN,
        ERROR if trouble(c) else WARNING,
        "path-characters",
        _("The path of cuDNN contains {what}, on which programs stumble.", what=what),
        cause="install_path_characters",
        why=_(
            "Frameworks search their own folder for libraries with patterns in which such characters have a "
            "meaning, or with functions that know no other alphabet. They then find nothing, or run on the "
            "processor without a message."
        ),
        evidence=[saw(_("Folder"), copy.folder, copy.source), *trouble(c)],
        subject=copy.folder,
        fix=advice(
            _("Move the environment to a plain path"),
            _(
                "Make the environment anew in a folder whose path has only letters, digits, dots, dashes and "
                "underscores."
            ),
        ),
    )
