"""Rules about programs that the person named: missing dependencies, and outdated files that a running program has mapped."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _, join_sentences, n_, translate_fact
from core.common.late_pattern import late_pattern
from core.common.shell import shell_command, shell_of
from core.common.text import join_names
from core.knowledge.causes import OptionalCause
from core.knowledge.library_names import DRIVERS_OWN, parse_library_name
from core.model.facts import Attempt, ExaminedProgram, How, Resolution, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.path_list import join_entries
from core.model.paths import file_name, is_inside, normalise, parent, path_module
from core.model.remedies import AddFolder, Place, PreferFolder, Remedy
from core.rules.advice import add_to_search_path
from core.rules.driver.parts import whole_driver
from core.rules.snapshot_queries import candidate_evidence, meant_entries
from core.rules.wording import ERROR, GOOD, NOTE, UNKNOWN, WARNING, make_finding, manual_fix, observation

DAMAGED = ("empty", "truncated", "damaged")
"""States in which a file cannot be the intended executable."""

TOLD_WITH_THE_DRIVER = late_pattern(r"(?i)libcuda\.so(?:\.1)?|libnvidia-ml\.so(?:\.1)?|nvcuda\.dll|nvml\.dll")
"""What the rules about the driver judge for every program. Its other libraries, such as those for video, are told of the programs that are
linked against them.
"""


def unexamined_programs(seen: Snapshot) -> Iterator[Finding]:
    """A named program that could not be examined."""
    for program in seen.programs or ():
        if program.problem and program.state not in DAMAGED:
            yield make_finding(
                "cudnn.not-examined",
                UNKNOWN,
                _("The program {named} was not examined.", named=program.named),
                why=translate_fact(program.problem),
                evidence=_program_rows(program),
                subject=program.named,
                fix=manual_fix(
                    _("Name the program itself"),
                    _("Specify the path of the executable that finally runs, or the number of the running process."),
                ),
            )


def damaged_programs(seen: Snapshot) -> Iterator[Finding]:
    """A named program that is itself truncated, empty or overwritten."""
    for program in seen.programs or ():
        if program.state in DAMAGED:
            yield make_finding(
                "cudnn.program-damaged",
                ERROR,
                _("The program {program} is damaged.", program=_name(program, seen)),
                cause="corrupt_or_truncated_file",
                why=_(
                    "The content is not what the package installed: a download or a copy was interrupted, or the "
                    "disk is faulty."
                ),
                evidence=[*_program_rows(program), observation(program.path, _(program.state), _("file system"))],
                subject=program.named,
                fix=manual_fix(
                    _("Install the program again"),
                    _("Reinstall {program} from where it came from.", program=_name(program, seen)),
                    restart="program",
                ),
            )


def without_its_folder(seen: Snapshot) -> Iterator[Finding]:
    """A program that PyInstaller packed lies without the folder that it needs beside it, or without a part of that."""
    for program in seen.programs or ():
        if not program.lost:
            continue
        values = {"program": _name(program, seen), "path": program.lost}
        yield make_finding(
            "cudnn.program-without-its-folder",
            ERROR,
            _("The program {program} has lost its folder: {path} is not there.", **values)
            if program.alone
            else _("The program {program} has lost a part of itself: {path} is not there.", **values),
            cause="corrupt_or_truncated_file",
            why=_(
                "PyInstaller packed it together with a folder, without which it does not start: only the program was moved or copied."
            )
            if program.alone
            else _("PyInstaller put this file there, and without it Python does not start."),
            evidence=[*_program_rows(program), observation(program.lost, _("missing"), _("file system"))],
            subject=program.named,
            fix=manual_fix(
                _("Move the whole folder, or start the program in its own"),
                _("Put the program back into the folder that it came in, and make a shortcut to it."),
                restart="program",
            )
            if program.alone
            else manual_fix(
                _("Install the program again"),
                _("Reinstall {program} from where it came from.", **values),
                restart="program",
            ),
        )


def missing_libraries(seen: Snapshot) -> Iterator[Finding]:
    """Libraries that a program needs, or opens by name, and that its own search does not find."""
    for program in seen.programs or ():
        gone = [
            r
            for r in program.resolutions
            if r.winner is None and not TOLD_WITH_THE_DRIVER.fullmatch(r.name) and not _skipped_candidates(r)
        ]
        needed = [r for r in gone if r.name in program.linked]
        opened = [
            r for r in gone if r not in needed and not DRIVERS_OWN.fullmatch(r.name) and not _has_another(r, program)
        ]
        if needed:
            yield _missing(program, needed, seen, certain=True)
        if opened:
            yield _missing(program, opened, seen, certain=False)


def _skipped_candidates(r: Resolution) -> list[Attempt]:
    """Return the candidates of a search that the loader skipped as unusable."""
    return [a for a in r.attempts if a.outcome in ("wrong architecture", "unreadable")] if r.winner is None else []


def _has_another(r: Resolution, program: ExaminedProgram) -> bool:
    """Whether another release of the same library is found: a program that supports several uses the installed one."""
    mine = parse_library_name(r.name.lower())
    return mine is not None and any(
        (other.winner is not None or _skipped_candidates(other))
        and (its := parse_library_name(other.name.lower()))
        and its.family == mine.family
        and its.part == mine.part
        for other in program.resolutions
    )


def _missing(program: ExaminedProgram, gone: list[Resolution], seen: Snapshot, *, certain: bool) -> Finding:
    names = list(dict.fromkeys(r.name for r in gone))
    there = {name: folder for name in names if (folder := _folder_with(name, seen, program))}
    evidence = [
        *_program_rows(program),
        *(
            observation(_("Wanted by {file}", file=r.wanted_by or program.path), r.name, _("dynamic section"))
            for r in gone[:4]
        ),
        *(e for r in gone[:2] for e in candidate_evidence(r)[:4]),
        *(observation(_("{name} is on this machine", name=n), f) for n, f in there.items()),
        *(row for f in dict.fromkeys(there.values()) for row in meant_entries(seen, f)),
    ]
    return make_finding(
        "cudnn.program-library-missing" if certain else "cudnn.program-library-not-found",
        ERROR if certain else WARNING,
        n_(
            "The program {program} does not find a library that it needs: {names}.",
            "The program {program} does not find {n} libraries that it needs: {names}.",
            len(names),
            program=_name(program, seen),
            names=join_names(names),
        )
        if certain
        else _(
            "The program {program} opens {names} by name, and does not find it.",
            program=_name(program, seen),
            names=join_names(names),
        ),
        cause=_cause(names[0], bool(there)),
        why=join_sentences(
            _("It cannot start without it.")
            if certain and _is_at_start(gone, program)
            else _("It starts, but fails or uses the processor as soon as it needs the library."),
            _("The library is on this machine, but this program does not look in its folder.") if there else "",
        ),
        evidence=evidence,
        subject=program.named,
        fix=_cure(there, names, seen),
        remedy=_folders_remedy(there, names, seen),
    )


def _is_at_start(gone: list[Resolution], program: ExaminedProgram) -> bool:
    """Whether the program itself is linked against one of these, and not a plug-in that it opens by path."""
    followed = {"", program.path, *(r.winner.path for r in program.resolutions if r.winner)}
    return any(r.wanted_by in followed for r in gone)


def _folder_with(name: str, seen: Snapshot, program: ExaminedProgram) -> str:
    """Return a folder with an intact file of this name, preferably one of the program's own."""
    system = seen.machine.system
    near = next((p for p in program.nearby if file_name(system, p).lower() == name.lower()), "")
    if near:
        return parent(system, near)
    files = [
        *(f for c in seen.cudnn or () for f in (*c.files, *c.links)),
        *(f for t in seen.toolkits or () for f in t.libraries),
    ]
    found = (f for f in files if f.state == "good" and file_name(system, f.path).lower() == name.lower())
    return next((parent(system, f.path) for f in found), "")


def _cause(name: str, there: bool) -> OptionalCause:
    if DRIVERS_OWN.fullmatch(name):
        return "driver_component_missing"
    known = parse_library_name(name.lower())
    if known is None:
        return ""
    match known.family:
        case "cudnn":
            return "cudnn_not_on_search_path" if there else "cudnn_not_installed"
        case "nvrtc" | "nvrtc-builtins":
            return "nvrtc_missing_or_mismatch"
        case "zlibwapi":
            return "zlibwapi_missing"
        case "vcruntime":
            return "vc_runtime_missing"
        case "framework":
            return ""
    return "cuda_not_on_search_path" if there else "cuda_runtime_missing"


OF_ITS_CUDA = ("cudart", "cublas", "nvrtc", "nvjitlink")
"""Families whose libraries have the number of their CUDA in their names."""


def _cure(there: dict[str, str], names: list[str], seen: Snapshot) -> Fix:
    if there:
        return add_to_search_path(seen, join_entries(list(dict.fromkeys(there.values())), seen.machine.system))
    if seen.driver and DRIVERS_OWN.fullmatch(names[0]):
        return whole_driver(seen, seen.driver, names[0])
    known = (parse_library_name(name.lower()) for name in names)
    cudas = {one.major for one in known if one and one.family in OF_ITS_CUDA}
    return manual_fix(
        _("Install what the program asks for"),
        _(
            "Install the release that contains {names}, or reinstall the program: its own package may include it.",
            names=join_names(names),
        ),
        _("That is CUDA {major}: what belongs to another CUDA has another name, and does not serve.", major=cudas.pop())
        if len(cudas) == 1
        else "",
        restart="program",
    )


def _folders_remedy(there: dict[str, str], names: list[str], seen: Snapshot) -> Remedy | None:
    """Return how a program on Windows finds what the machine has, if it lacks nothing else."""
    if seen.machine.system != "windows" or not names or any(name not in there for name in names):
        return None
    first, *more = dict.fromkeys(there.values())
    return AddFolder(folder=first, more=tuple(more))


def _bypass_fix(
    program: ExaminedProgram, path: str, how: str, later: str, seen: Snapshot, *, pointer: bool = False
) -> tuple[Fix, Remedy | None]:
    """Return how to bypass an unusable file that is found first: put the folder of an intact one (``later``) before it in PATH, else
    replace the file, or all that came with the program. ``pointer``: it is a pointer of Git LFS.
    """
    system = seen.machine.system
    folder, right = parent(system, path), parent(system, later) if later else ""
    if system == "windows" and how == How.PATH and right:
        fix = manual_fix(
            _("Make sure that {folder} is found before {other}", folder=right, other=folder),
            _("Move {folder} before {other} in PATH.", folder=right, other=folder),
            restart="program",
        )
        return fix, PreferFolder(over=folder, by="PATH", places=(Place(folder=right),))
    if not later and is_inside(system, path, parent(system, program.path)):
        name = _name(program, seen)
        fix = manual_fix(
            _("Install the program again"),
            _("The folder was cloned without Git LFS, which downloads the large files.") if pointer else "",
            shell_command("git", "-C", folder, "lfs", "pull", of=shell_of(system)) if pointer else "",
            _("Reinstall {program} from where it came from.", program=name),
            restart="program",
        )
        return fix, None
    fix = manual_fix(
        _("Replace the file, or take it off the search path"),
        _("Reinstall the package or program that owns {path}, or move the file away.", path=path),
        _("Then {later} is found.", later=later) if later else "",
        _("It was found by: {how}.", how=how),
        restart="program",
    )
    return fix, None


def misfit_libraries(seen: Snapshot) -> Iterator[Finding]:
    """The library that is found first lacks a function that the program imports (error 127)."""
    system = seen.machine.system
    for program in seen.programs or ():
        for provider in dict.fromkeys(g.provider for g in program.gaps):
            gaps = [g for g in program.gaps if g.provider == provider]
            name, gap = file_name(system, provider), gaps[0]
            fix, remedy = _bypass_fix(program, provider, gap.how, gap.others[0] if gap.others else "", seen)
            yield make_finding(
                "cudnn.program-library-misfit",
                ERROR,
                _(
                    "{offers} does not provide {what}, which {wants} of {who} needs.",
                    offers=name,
                    what=gap.name,
                    wants=file_name(system, gap.wanted_by),
                    who=_name(program, seen),
                ),
                cause="cuda_lib_shadowed",
                why=_("The two libraries belong to different releases of CUDA and do not work together."),
                evidence=[
                    *_program_rows(program),
                    *(
                        observation(g.name, _("is not in {path}", path=provider), _("wanted by {by}", by=g.wanted_by))
                        for g in gaps
                    ),
                    *(observation(_("Also there"), other) for other in gap.others[:2]),
                ],
                subject=program.named,
                subjects=(program.named, provider),
                fix=fix,
                remedy=remedy,
            )


def unfit_libraries(seen: Snapshot) -> Iterator[Finding]:
    """The library that is found first cannot be loaded by the program."""
    for program in seen.programs or ():
        for r in program.resolutions:
            winner = r.winner
            if winner is not None and winner.outcome == "found":
                continue
            first = winner or next(iter(_skipped_candidates(r)), None)
            if first is None:
                continue
            sound = next((a.path for a in r.attempts if a.outcome == "found"), "")
            how = first.via or first.how.value if seen.machine.system != "windows" else first.how.value
            fix, remedy = _bypass_fix(program, first.path, how, sound, seen, pointer=first.pointer)
            causes: dict[str, OptionalCause] = {
                "wrong architecture": "dll_wrong_architecture",
                "unreadable": "library_unreadable",
            }
            yield make_finding(
                "cudnn.program-library-unfit",
                ERROR,
                _("The program {program} cannot load {name}.", program=_name(program, seen), name=r.name),
                cause=causes.get(first.outcome, "corrupt_or_truncated_file"),
                why=_(
                    "The file {path}: {what}.", path=first.path, what=translate_fact(first.detail) or _(first.outcome)
                ),
                evidence=[*_program_rows(program), *candidate_evidence(r)],
                subject=program.named,
                subjects=(program.named, first.path),
                fix=fix,
                remedy=remedy,
            )


def older_process(seen: Snapshot) -> Iterator[Finding]:
    """A running program has other files mapped than it would find now, or files that were removed."""
    for program in seen.programs or ():
        if program.mapped is None:
            continue
        rows: list[Evidence] = []
        system = seen.machine.system
        now = {r.name: r.winner.path for r in program.resolutions if r.winner and r.winner.outcome == "found"}
        for mapped in program.mapped:
            new = now.get(mapped.name)
            if mapped.path in program.gone:
                rows.append(
                    observation(_("Mapped, and replaced or removed since"), mapped.path, f"/proc/{program.pid}/maps")
                )
            elif new and normalise(system, new) != normalise(system, mapped.path):
                rows.append(
                    observation(
                        _("Mapped: {path}", path=mapped.path), _("now: {path}", path=new), f"/proc/{program.pid}/maps"
                    )
                )
        if rows:
            yield make_finding(
                "cudnn.program-older",
                WARNING,
                _(
                    "The running program {program} uses other libraries than it would get now.",
                    program=_name(program, seen),
                ),
                cause="process_env_not_inherited",
                why=_("It was started before the change. It keeps its files until it is restarted."),
                evidence=[*_program_rows(program), *rows],
                subject=program.named,
                fix=manual_fix(_("Start the program again"), restart="program"),
            )


def whole_programs(seen: Snapshot) -> Iterator[Finding]:
    """Everything that a program needs of CUDA is found and intact."""
    bad = {f.subject for rule in FAULTS for f in rule(seen)}
    for program in seen.programs or ():
        if program.named in bad:
            continue
        ours = [r for r in program.resolutions if r.winner and parse_library_name(r.name.lower())]
        form = path_module(seen.machine.system)
        rows = dict.fromkeys((r.name, form.normpath(r.winner.path)) for r in ours if r.winner)
        yield make_finding(
            "cudnn.program-whole" if rows else "cudnn.program-without-cuda",
            GOOD if rows else NOTE,
            _("The program {program} finds every library that it names.", program=_name(program, seen))
            if rows
            else _("The program {program} names no library of CUDA.", program=_name(program, seen)),
            why="" if rows else _("It may open one by a name that it builds at run time."),
            evidence=[*_program_rows(program), *(observation(name, path) for name, path in rows)],
            subject=program.named,
        )


def _name(program: ExaminedProgram, seen: Snapshot) -> str:
    return file_name(seen.machine.system, program.path or program.named) or program.named


def _program_rows(program: ExaminedProgram) -> list[Evidence]:
    rows = [observation(_("Named"), program.named)]
    if program.path and program.path != program.named:
        rows.append(observation(_("It starts"), program.path, ", ".join(program.chain)))
    return rows


FAULTS = (
    unexamined_programs,
    damaged_programs,
    without_its_folder,
    missing_libraries,
    unfit_libraries,
    misfit_libraries,
)
RULES = (*FAULTS, older_process, whole_programs)
