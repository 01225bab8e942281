"""Faults in the files of one copy of cuDNN, whoever loads it: the most certain cause first."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import N_, _, format_number, join_sentences, n_, translate_fact
from core.common.shell import quote, shell_command, shell_of
from core.common.text import join_names
from core.common.versions import versions_differ
from core.knowledge.causes import Cause
from core.knowledge.cudnn_file_names import role_of
from core.knowledge.horizon import is_beyond_horizon
from core.knowledge.releases import faulty_release, files_lost, nvidia_package
from core.model.facts import CudnnCopy, LibraryFile, Snapshot
from core.model.findings import Evidence, Finding
from core.model.paths import parent
from core.model.remedies import CompleteSet, PutPackageBack
from core.rules.advice import another_release, reinstall
from core.rules.consumer_loads import describe_copy, true_name
from core.rules.wording import ERROR, NOTE, make_finding, manual_fix, observation

SPOILT_STATES = ("missing", "dangling", "empty", "truncated", "damaged")
"""States of a file of a set that can be replaced from an identical set."""
BROKEN_STATES = ("empty", "truncated", "damaged", "not a library")
LAZY_LOADING_TEXT = N_(
    "cuDNN's main library opens its parts later and by name, so it loads even if a part is broken; "
    "the program fails only when it needs that part."
)


MAIN_NAME_TEXT = N_("Programs open cuDNN's main library by this name, but no file of this name is there.")


def file_faults(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Yield every fault of a copy's files as an error; the severity depends on who loads it, and is decided later."""
    kinds = (
        (unreadable_files, other_architecture, damaged_files, unlisted_files)
        if is_beyond_horizon("cudnn", copy.major)
        else FAULT_KINDS
    )
    for kind in kinds:
        yield from kind(seen, copy)


def _error(
    seen: Snapshot, copy: CudnnCopy, id: str, title: str, *, cause: Cause, why: str, rows: list[Evidence]
) -> Finding:
    return make_finding(
        id,
        ERROR,
        title,
        cause=cause,
        why=why,
        evidence=[observation(_("Copy"), describe_copy(copy), copy.folder), *rows],
        subject=copy.folder,
        fix=reinstall(seen, copy),
        remedy=completing_remedy(seen, copy) or package_remedy(copy),
    )


def published_fault(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """A release that was published with a fault: a note, unless a load suffers from it."""
    row = faulty_release(copy)
    if row is None:
        return
    yield make_finding(
        "cudnn.faulty-release",
        NOTE,
        _("The package {package} {version} was published with a fault.", package=row.package, version=row.version)
        if row.package
        else _("cuDNN {version} was published with a fault.", version=row.cudnn),
        cause="upstream_packaging_bug",
        why=row.what,
        evidence=[
            observation(_("Copy"), describe_copy(copy), copy.folder),
            *(observation(_("Missing file"), name, copy.missing_source) for name in copy.missing),
            observation(_("Known from"), row.source),
        ],
        subject=copy.folder,
        fix=another_release(seen, copy, row),
    )


def _file_names(files: list[LibraryFile]) -> str:
    return join_names(f.name for f in files)


def unreadable_files(_seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files or a folder that this user may not read."""
    shut = [f for f in copy.files if f.state == "unreadable"]
    if shut:
        yield make_finding(
            "cudnn.unreadable",
            ERROR,
            _("This user has no permission to read {named} of cuDNN.", named=_file_names(shut)),
            cause="library_unreadable",
            why=_(
                "The file is there, but the system does not let this user read it. The loader then skips it or fails."
            ),
            evidence=[
                observation(_("Copy"), describe_copy(copy), copy.folder),
                *(
                    observation(f.path, translate_fact(f.problem) or _("may not be read"), _("file system"))
                    for f in shut
                ),
            ],
            subject=copy.folder,
            fix=manual_fix(
                _("Allow reading"),
                _("If the files are yours: chmod -R u+rX {folder}", folder=quote(copy.folder)),
                _(
                    "If they are not: sudo chmod -R a+rX {folder} (or ask the administrator).",
                    folder=quote(copy.folder),
                ),
                restart="program",
            ),
        )


def other_architecture(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files for another architecture."""
    mine = seen.machine.architecture
    other = [f for f in copy.files if _is_for_other_processor(f, mine)]
    if other:
        yield _error(
            seen,
            copy,
            "cudnn.wrong-architecture",
            _("{named} of cuDNN was built for another kind of processor.", named=_file_names(other)),
            cause="dll_wrong_architecture",
            why=join_sentences(
                _(
                    "This computer is {mine}. The loader skips such a file, or reports that it does not exist or is "
                    "not a valid program.",
                    mine=mine,
                ),
                _(LAZY_LOADING_TEXT),
            ),
            rows=[
                observation(
                    f.path,
                    _("built for {architecture}, not {mine}", architecture=f.architecture, mine=mine),
                    _("file header"),
                )
                for f in other
            ],
        )


def _is_for_other_processor(file: LibraryFile, mine: str) -> bool:
    """Whether a file's header names another architecture; the rest of such a header does not matter then."""
    return bool(mine and file.architecture and file.architecture != mine) and file.state in ("good", "damaged")


def damaged_files(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files that are empty, truncated or not libraries at all."""
    broken = [
        f for f in copy.files if f.state in BROKEN_STATES and not _is_for_other_processor(f, seen.machine.architecture)
    ]
    if broken:
        rows = []
        for f in broken:
            said = (
                _(f.state)
                if f.size is None
                else _("{state}, {size} bytes", state=_(f.state), size=format_number(f.size))
            )
            source = _("its signature") if f.signature else _("file header")
            rows.append(observation(f.path, f"{said}: {translate_fact(f.problem)}" if f.problem else said, source))
        yield _error(
            seen,
            copy,
            "cudnn.damaged",
            n_("{named} of cuDNN is damaged.", "{named} of cuDNN are damaged.", len(broken), named=_file_names(broken)),
            cause="corrupt_or_truncated_file",
            why=join_sentences(
                _("The file is not the published one: a download or a copy was interrupted, or the disk was full."),
                _(LAZY_LOADING_TEXT),
            ),
            rows=rows,
        )


def signature_evidence(copy: CudnnCopy) -> Iterator[Evidence]:
    """Yield the state of the files' signatures, if examined; a file without one proves nothing."""
    sure = [f for f in copy.files if f.signature in ("valid", "intact")]
    if any(f.signature for f in copy.files):
        known = all(f.signature == "valid" for f in sure)
        signers = _("Windows knows the signer") if known else _("by the signed hashes")
        words = _("{n} of {all} files are as their maker signed them", n=len(sure), all=len(copy.files))
        yield observation(_("Signatures"), words, signers if sure else _("no file has one that decides"))


def release_of(copy: CudnnCopy) -> str | None:
    """Return the release that a copy should be: its package's, else that of most of its files."""
    package = nvidia_package(copy.owner)
    if package and package[0].startswith("nvidia-cudnn") and package[1].startswith(f"{copy.major}."):
        return ".".join(package[1].split(".")[:3])
    known = [f.version for f in copy.files if f.version and f.state == "good"]
    return max(known, key=lambda v: (known.count(v), v == copy.version), default=copy.version)


def renamed_files(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files of another major version, or another part, under this one's name: renamed links and copies."""
    other = [(f, name) for f in copy.files if f.state == "good" and (name := true_name(f))]
    if not other:
        return
    names = join_names(dict.fromkeys(name for _f, name in other))
    owned = copy.origin in ("wheel", "conda", "distribution")
    remove = "del" if seen.machine.system == "windows" else "rm"
    yield make_finding(
        "cudnn.renamed",
        ERROR,
        _("{named} is really {names}, under another name.", named=_file_names([f for f, _name in other]), names=names),
        cause="cudnn_major_mismatch",
        why=_(
            "A link or a copy with another name does not turn one library into another. Programs that ask "
            "for this name expect other functions, and fail when they call them."
        ),
        evidence=[
            observation(_("Copy"), describe_copy(copy), copy.folder),
            *(
                observation(
                    f.path,
                    _("leads to {path}", path=f.real_path) if f.real_path else _("a copy of {name}", name=name),
                    f.version_source or _("its own name inside"),
                )
                for f, name in other
            ),
        ],
        subject=copy.folder,
        fix=reinstall(seen, copy)
        if owned
        else manual_fix(
            _("Remove the file with the wrong name, and install the required cuDNN"),
            *(shell_command(remove, f.path, of=shell_of(seen.machine.system)) for f, _name in other),
            _("Then install cuDNN {major} next to the other one: both can coexist.", major=copy.major),
            restart="program",
        ),
    )


def foreign_files(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files of another release in one folder: their versions differ, or an intact file's size differs from RECORD."""
    base = release_of(copy)
    other = [f for f in copy.files if f.state == "good" and versions_differ(f.version, base) and not true_name(f)]
    exchanged = [
        f
        for f in copy.files
        if f.state == "good" and f.record == "size differs" and f not in other and f.version is None
    ]
    if not other and not exchanged:
        return
    rows = [
        observation(
            f.path,
            _("a link to {path}: version {version}, the set is {base}", path=f.real_path, version=f.version, base=base)
            if f.real_path and parent(seen.machine.system, f.real_path) != copy.folder
            else _("version {version}, the set is {base}", version=f.version, base=base),
            f.version_source,
        )
        for f in other
    ]
    rows += [
        observation(
            f.path,
            _(
                "a library with a sound header, but not the published one ({size} bytes)",
                size=format_number(f.size or 0),
            ),
            "RECORD",
        )
        for f in exchanged
    ]
    yield _error(
        seen,
        copy,
        "cudnn.mixed",
        _(
            "cuDNN's folder holds files of different releases: {named} does not belong to the others.",
            named=_file_names([*other, *exchanged]),
        ),
        cause="mixed_cudnn_sublibraries",
        why=(
            _(
                "All cuDNN libraries must belong to one release. Mixed ones load, and then fail with a version "
                "mismatch, a missing symbol, or wrong results."
            )
        ),
        rows=rows,
    )


def unlisted_files(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files that differ from the package's own record."""
    changed = [
        f
        for f in copy.files
        if f.state == "good"
        and (f.record == "hash differs" or (f.record == "size differs" and f.version is not None))
        and not versions_differ(f.version, release_of(copy))
    ]
    if changed:
        yield _error(
            seen,
            copy,
            "cudnn.differs-from-record",
            _("{named} of cuDNN differs from the file that was published.", named=_file_names(changed)),
            cause="corrupt_or_truncated_file",
            why=(
                _(
                    "The package's list states the size and checksum of each file. A file that differs was damaged "
                    "or replaced; it might crash or compute wrong results without a message."
                )
            ),
            rows=[observation(f.path, _(f.record), _("the package's RECORD")) for f in changed],
        )


def missing_files(seen: Snapshot, copy: CudnnCopy) -> Iterator[Finding]:
    """Files of the set that are missing from the folder."""
    gone = files_lost(copy)
    dangling = [f for f in copy.files if f.state in ("dangling", "missing")]
    names = list(dict.fromkeys([*gone, *(f.name for f in dangling)]))
    listed_by_record = copy.origin == "wheel"  # Its own list shows what it contained, even if no file is left.
    if not names or is_lone_main_library(copy) or not (copy.files or listed_by_record):
        return
    main_gone = any(role_of(name) == "" for name in names)
    rows = [observation(_("Missing"), name, copy.missing_source or _("the set's own files")) for name in gone]
    rows += [
        observation(f.path, translate_fact(f.problem) or _("a link to a file that is not there"), _("file system"))
        for f in dangling
    ]
    yield _error(
        seen,
        copy,
        "cudnn.sublibrary-missing",
        n_(
            "cuDNN is incomplete: {names} is missing.",
            "cuDNN is incomplete: {names} are missing.",
            len(names),
            names=join_names(names),
        ),
        cause="cudnn_sublibrary_missing",
        why=join_sentences(
            _(MAIN_NAME_TEXT if main_gone else LAZY_LOADING_TEXT),
            _("If another cuDNN is on the search path, a file of that one might be loaded without a message."),
        ),
        rows=rows,
    )


def is_lone_main_library(copy: CudnnCopy) -> bool:
    """Whether a copy consists of the main library only, as some programs ship it to use the machine's parts."""
    roles = {role_of(f.name) for f in copy.files if f.state == "good"}
    return copy.major >= 8 and roles == {""} and copy.origin not in ("wheel", "conda", "distribution")


def completing_remedy(seen: Snapshot, copy: CudnnCopy) -> CompleteSet | None:
    """Return the missing and the unsuitable files of a set, with an identical, intact set that has them; None without
    one.

    Unsuitable files are damaged, of another release, or for another architecture.
    """
    if copy.origin == "distribution":
        return None
    spoilt = (f.name for f in copy.files if _is_spoilt(f, copy, seen.machine.architecture))
    wanted = tuple(dict.fromkeys([*files_lost(copy), *spoilt]))
    donors = (d for d in seen.cudnn or () if wanted and _can_supply(d, copy, wanted) and _is_trusted(d, seen))
    donor = next(donors, None)
    return CompleteSet(folder=copy.folder, files=wanted, donor=donor.folder) if donor else None


def package_remedy(copy: CudnnCopy) -> PutPackageBack | None:
    """Return how to restore the package that a copy belongs to, if it is a wheel of an environment."""
    package = nvidia_package(copy.owner)
    special = any(
        f.state == "not a library" and not f.size for f in copy.files
    )  # a pipe, for example, which cannot be saved for undo
    if copy.origin != "wheel" or not package or not copy.environment or special:
        return None
    return PutPackageBack(prefix=copy.environment, package=package[0], version=package[1])


def _is_spoilt(f: LibraryFile, copy: CudnnCopy, architecture: str) -> bool:
    foreign = f.architecture not in ("", architecture)
    unlike = f.record in ("size differs", "hash differs")
    return f.state in SPOILT_STATES or unlike or foreign or versions_differ(f.version, release_of(copy)) is True


def _is_trusted(donor: CudnnCopy, seen: Snapshot) -> bool:
    """Whether nobody else can change a set; without an administrator's rights, a set that programs use anyway is accepted, too."""
    if donor.changeable is None:
        return True
    wanted = any(p.prefix == donor.environment and p.is_wanted for p in seen.pythons or ())
    return not seen.machine.elevated and (wanted or donor.source in ("LD_LIBRARY_PATH", "PATH", "ld.so.cache"))


def _can_supply(donor: CudnnCopy, copy: CudnnCopy, wanted: tuple[str, ...]) -> bool:
    """Whether a set is intact, of the same release, and has every needed file."""
    version = release_of(copy)
    sound = {
        f.name.lower() for f in donor.files if f.state == "good" and f.record not in ("size differs", "hash differs")
    }
    return (
        donor.folder != copy.folder
        and donor.major == copy.major
        and donor.version is not None
        and donor.version == version
        and copy.cuda_major in (donor.cuda_major, None)
        and _is_same_build(donor, copy, wanted)
        and not files_lost(donor)
        and all(name.lower() in sound for name in wanted)
        and len({f.version for f in donor.files if f.version}) == 1
    )


def _is_same_build(donor: CudnnCopy, copy: CudnnCopy, wanted: tuple[str, ...]) -> bool:
    """Whether every file that stays has the donor's size: a release has one build for each CUDA major version."""
    sizes = {f.name.lower(): f.size for f in donor.files}
    staying = [f for f in copy.files if f.name not in wanted]
    return bool(staying) and all(sizes.get(f.name.lower()) == f.size for f in staying)


FAULT_KINDS = (
    published_fault,
    unreadable_files,
    other_architecture,
    damaged_files,
    renamed_files,
    foreign_files,
    unlisted_files,
    missing_files,
)
"""Functions that find faults, the most certain first."""
