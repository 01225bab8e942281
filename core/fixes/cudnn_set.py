"""Place cuDNN: check that the source is a complete set for this machine, and choose each file's target."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import platformdirs

from core.common.home import below_home
from core.common.i18n import N_, _, translate_fact
from core.common.progress import Progress
from core.fixes import archives
from core.fixes.archives import ArchiveError, Member
from core.host import safe_folder, scratch
from core.knowledge.cudnn_file_names import CUDNN_MAJORS, parse_cudnn_name
from core.knowledge.releases import files_lost
from core.model.changes import ChangeError, FileItem, FileSet
from core.model.facts import CudnnCopy, Frozen, System
from core.probes.cudnn.contents import assemble_copy, choose_files, describe_library, pages_deadline
from core.probes.cudnn.locations import CudnnFolder, CudnnSpot
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import RecordRow, parse_rows
from core.transaction.journal import Journal


class SetRequirement(Frozen, frozen=True, kw_only=True):
    """The requirements on a set. ``major`` (of cuDNN) and ``cuda_major``: those that the consumer needs, if known."""

    system: System
    architecture: str
    major: int | None = None
    cuda_major: int | None = None


class CudnnSet(Frozen, frozen=True, kw_only=True):
    """A complete cuDNN, checked, ready to be placed."""

    title: str
    """"cuDNN 9.10.2 for CUDA 12"."""
    version: str
    major: int
    cuda_major: int | None
    architecture: str
    system: System
    members: tuple[Member, ...]
    record: bool
    """Whether every file agrees with the hashes of the wheel's own RECORD."""
    source: str


def read_set(source: str, wanted: SetRequirement, *, journal: Journal, watch: Progress) -> CudnnSet:
    """Return the complete set of cuDNN in an archive, a wheel or a folder, unpacked into the journal's staging folder.

    Raises:
        ArchiveError: it is not one complete, sound set of one version for this machine; the sentence says what is wrong.
        CancelledError: the person asked to stop.
    """
    safe_folder.make_folders(str(journal.staging), 0o700)
    into = scratch.make_scratch(journal.staging)
    done = False
    try:
        found = archives.take_members(source, lambda name: _is_wanted(name, wanted.system), into, watch)
        cudnn = _check_set(found, source, wanted)
        done = True
        return cudnn
    finally:
        if not done:
            scratch.drop_scratch(into)


def _is_wanted(name: str, system: System) -> bool:
    base = name.rsplit("/", 1)[-1]
    return (
        parse_cudnn_name(base, system) is not None
        or name.endswith(".dist-info/RECORD")
        or base in ("LICENSE", "License.txt")
    )


def _check_set(found: tuple[Member, ...], source: str, wanted: SetRequirement) -> CudnnSet:
    recorded = _read_record(found)
    copy, members = _only_set(found, recorded, source, wanted)
    _require(copy, source, wanted)
    wrong = [m.name for m in members if m.name in recorded and m.sha256 and m.sha256 != recorded[m.name].sha256]
    if wrong:
        raise ArchiveError(
            _("{name} does not match the wheel's own list of hashes (RECORD); the file is damaged.", name=wrong[0])
        )
    title = (
        _("cuDNN {version} for CUDA {cuda}", version=copy.version, cuda=copy.cuda_major)
        if copy.cuda_major
        else f"cuDNN {copy.version}"
    )
    return CudnnSet(
        title=title,
        version=copy.version or "",
        major=copy.major,
        cuda_major=copy.cuda_major,
        architecture=wanted.architecture,
        system=wanted.system,
        members=tuple(members),
        record=bool(recorded) and all(m.name in recorded for m in members if not m.link),
        source=source,
    )


def _only_set(
    found: tuple[Member, ...], recorded: Mapping[str, RecordRow], source: str, wanted: SetRequirement
) -> tuple[CudnnCopy, list[Member]]:
    """Return the one folder's cuDNN that is for the wanted CUDA, with its members."""
    system, cuda_major = wanted.system, wanted.cuda_major
    groups: dict[str, list[Member]] = defaultdict(list)
    for member in found:
        folder, _slash, base = member.name.rpartition("/")
        if parse_cudnn_name(base, system):
            groups[folder].append(member)
    if not groups:
        other = "Linux" if system == "windows" else "Windows"
        raise ArchiveError(
            _(
                "{source} contains no cuDNN library for this system (it might be the one for {other}).",
                source=source,
                other=other,
            )
        )
    sets = [_copy_of_members(members, recorded, folder, system) for folder, members in sorted(groups.items())]
    fit = [s for s in sets if cuda_major is None or s[0].cuda_major in (cuda_major, None)] or sets
    if len(fit) > 1:
        raise ArchiveError(
            _(
                "{source} contains {count} sets of cuDNN ({groups}); select one folder.",
                source=source,
                count=len(fit),
                groups=", ".join(sorted(groups)),
            )
        )
    return fit[0]


def _read_record(found: tuple[Member, ...]) -> Mapping[str, RecordRow]:
    """Return member name -> its row in the wheel's RECORD; empty where there is none."""
    rows: dict[str, RecordRow] = {}
    for member in found:
        if member.name.endswith(".dist-info/RECORD") and member.path and member.size < (64 << 20):
            text = Path(member.path).read_text(encoding="utf-8", errors="replace")
            rows |= {name: row for name, row in parse_rows(text.splitlines()) if row.sha256}
    return rows


class _UnpackedFiles(Sysroot, frozen=True):
    """Files for the examined system, in folders of the running one."""

    @property
    def path_module(self) -> ModuleType:
        """The path module of the running system."""
        return os.path


def _copy_of_members(
    members: list[Member], recorded: Mapping[str, RecordRow], folder: str, system: System
) -> tuple[CudnnCopy, list[Member]]:
    """Examine one folder's members as the probe examines a copy on the machine."""
    for member in members:
        if member.link and parse_cudnn_name(member.link, system) is None:
            raise ArchiveError(
                _("{name} is a link to {link}, which is not a cuDNN library.", name=member.name, link=member.link)
            )
    here = str(Path(members[0].path).parent)
    where = _UnpackedFiles(system)
    names = tuple(m.name.rpartition("/")[2] for m in members)
    spot = CudnnSpot(folder=here, origin="folder", source=N_("named by the person"))
    majors = sorted({m for n in names if (what := parse_cudnn_name(n, system)) and (m := what.major) in CUDNN_MAJORS})
    if len(majors) != 1:
        raise ArchiveError(
            _(
                "One folder holds files of cuDNN {versions}.",
                versions=" + ".join(map(str, majors)) or _("of unknown version"),
            )
        )
    found = CudnnFolder(spot=spot, names=names)
    listed = {n.rpartition("/")[2]: r for n, r in recorded.items() if n.rpartition("/")[0] == folder}
    mine = {n: r for n, r in listed.items() if (what := parse_cudnn_name(n, system)) and what.major == majors[0]}
    chosen = choose_files(found, majors[0], where)
    files = tuple(describe_library(n, here, mine.get(n), "", where, until=pages_deadline(2.0)) for n in chosen.values())
    return assemble_copy(found, majors[0], files, mine, where), members


def _require(copy: CudnnCopy, source: str, wanted: SetRequirement) -> None:
    """Raise for the first defect of the set."""
    name = Path(source).name
    _require_complete(copy, name)
    _require_one_version(copy, name, wanted.architecture)
    if wanted.major not in (None, copy.major):
        raise ArchiveError(
            _("{name} is cuDNN {theirs}; cuDNN {wanted} is needed.", name=name, theirs=copy.major, wanted=wanted.major)
        )
    if wanted.cuda_major is not None and copy.cuda_major not in (wanted.cuda_major, None):
        raise ArchiveError(
            _(
                "{name} was built for CUDA {theirs}; CUDA {wanted} is needed.",
                name=name,
                theirs=copy.cuda_major,
                wanted=wanted.cuda_major,
            )
        )


def _require_complete(copy: CudnnCopy, name: str) -> None:
    bad = [f for f in copy.files if f.state != "good"]
    if bad:
        raise ArchiveError(
            _(
                "{file} in {name}: {problem}; get the file again.",
                file=bad[0].name,
                name=name,
                problem=translate_fact(bad[0].problem) or _(bad[0].state),
            )
        )
    if gone := files_lost(copy):
        raise ArchiveError(
            _("{name} is not a complete cuDNN: {missing} is missing.", name=name, missing=", ".join(gone))
        )
    if not any(
        (what := parse_cudnn_name(f.name, "windows") or parse_cudnn_name(f.name, "linux")) and not what.role
        for f in copy.files
    ):
        raise ArchiveError(_("{name} is not a complete cuDNN: its main library is missing.", name=name))


def _require_one_version(copy: CudnnCopy, name: str, architecture: str) -> None:
    foreign = [f for f in copy.files if f.architecture != architecture]
    if foreign:
        raise ArchiveError(
            _(
                "{file} in {name} is for {theirs}; this machine is {ours}.",
                file=foreign[0].name,
                name=name,
                theirs=foreign[0].architecture,
                ours=architecture,
            )
        )
    versions = sorted({f.version for f in copy.files if f.version})
    if not versions:
        raise ArchiveError(_("Nothing in {name} shows its version.", name=name))
    if len(versions) > 1:
        raise ArchiveError(_("{name} mixes files of cuDNN {versions}.", name=name, versions=" and ".join(versions)))


# --- where it goes -----------------------------------------------------------------------------------------------


def own_folder(cudnn: CudnnSet) -> str:
    """Return the folder of this user's own that the set goes into; each version and CUDA major has one of its own."""
    cuda = f"-cuda{cudnn.cuda_major}" if cudnn.cuda_major else ""
    base = Path(os.path.realpath(below_home(lambda: platformdirs.user_data_path("convalesce", appauthor=False))))
    return str(base / "cudnn" / f"{cudnn.version}{cuda}" / ("bin" if cudnn.system == "windows" else "lib"))


def file_set(cudnn: CudnnSet, folder: str) -> FileSet:
    """Return the change that puts the whole set into ``folder``, which is made with those above it that are not there.

    Raises:
        ChangeError: something is in the folder already.
    """
    place = Path(folder)
    if place.exists() and any(place.iterdir()):
        raise ChangeError(_("{folder} is not empty; a cuDNN set goes into its own folder.", folder=folder))
    made = [str(p) for p in (*reversed(place.parents), place) if not p.exists()]
    items = []
    for member in cudnn.members:
        path = str(place / member.name.rpartition("/")[2])
        after = f"-> {member.link}" if member.link else member.sha256
        items.append(FileItem(path=path, after=after, size=member.size, source="" if member.link else member.path))
    return FileSet(
        title=_("Place {title} in {folder}", title=cudnn.title, folder=folder), items=tuple(items), folders=tuple(made)
    )


def repair_in_place(cudnn: CudnnSet, copy: CudnnCopy) -> FileSet | None:
    """Return the change that makes a faulty copy this very set, in the copy's own folder; None where it is so already.

    Files that are right stay; files of the same major that the set does not have are quarantined.
    """
    folder = os.path.realpath(copy.folder)
    there = {name.lower(): name for name in os.listdir(folder)} if os.path.isdir(folder) else {}  # noqa: PTH208, PTH112 - names alone
    items, names = [], set()
    for member in cudnn.members:
        name = member.name.rpartition("/")[2]
        if (what := parse_cudnn_name(name, cudnn.system)) is None or what.major != cudnn.major:
            continue  # a licence
        names.add(name.lower())
        path = str(Path(folder) / there.get(name.lower(), name))
        if member.link or _digest(path) != member.sha256:
            after = f"-> {member.link}" if member.link else member.sha256
            before = "?" if os.path.lexists(path) else ""
            source = "" if member.link else member.path
            items.append(FileItem(path=path, before=before, after=after, size=member.size, source=source))
    extra = [
        n
        for low, n in there.items()
        if (w := parse_cudnn_name(n, cudnn.system)) and w.major == cudnn.major and low not in names
    ]
    items += [FileItem(path=str(Path(folder) / name), before="?", after="") for name in sorted(extra)]
    return (
        FileSet(title=_("Put the complete {title} into {folder}", title=cudnn.title, folder=folder), items=tuple(items))
        if items
        else None
    )


def _digest(path: str) -> str:
    """Return a regular file's SHA-256; empty for anything else."""
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - the hot path of a folder of large files
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""
