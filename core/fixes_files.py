"""Fixes that place or put aside files: a set completed from an identical one, stray copies, a plain name. Pure.

Hashes are not in every Snapshot: a state "?" stands for "the bytes that are there", and is settled when the plan is
prepared (core/filesets.py).
"""

from __future__ import annotations

from core.changes import Change, FileItem, FileSet
from core.facts import CudnnCopy, How, LibraryFile, Snapshot
from core.findings import Finding
from core.i18n import _
from core.rules.cudnn_files import release_of
from core.rules.frameworks import lost_to_python
from core.rules.known import differs, numbers
from core.rules.loading_extra import RENAMED_BUILTINS
from core.rules.loads import cases
from core.rules.view import folder_of, name_of, python_of, tidy
from core.rules.words import listed

SPOILT = ("missing", "dangling", "empty", "truncated", "damaged")


def complete(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take what a set lacks, and what does not belong in it, from a sound set of exactly the same release and CUDA major.

    What does not belong: files that are damaged, of another release, or for another kind of processor.
    """
    copy = _copy(snapshot, finding.subject)
    if copy is None or copy.origin == "distribution":
        return ()
    wanted = list(dict.fromkeys([*copy.missing, *(f.name for f in copy.files if _is_spoilt(f, copy, snapshot))]))
    donor = next((d for d in snapshot.cudnn or () if wanted and _gives(d, copy, wanted)), None)
    if donor is None:
        return ()
    system = snapshot.machine.system
    there = {f.name.lower(): f for f in donor.files}
    mine = {f.name.lower(): f for f in copy.files}
    items = []
    for name in wanted:
        source = there[name.lower()]
        before = "" if name.lower() not in mine or mine[name.lower()].state == "missing" else "?"
        items.append(
            FileItem(
                path=_join(system, copy.folder, name),
                before=before,
                after="?",
                size=source.size or 0,
                source=source.real_path or source.path,
            )
        )
    return (
        FileSet(
            title=_(
                "Complete cuDNN {version} in {folder} from {source}",
                version=donor.version,
                folder=copy.folder,
                source=donor.folder,
            ),
            items=tuple(items),
        ),
    )


def _is_spoilt(f: LibraryFile, copy: CudnnCopy, snapshot: Snapshot) -> bool:
    foreign = f.architecture not in ("", snapshot.machine.architecture)
    unlike = f.record in ("size differs", "hash differs")
    return f.state in SPOILT or unlike or foreign or differs(f.version, release_of(copy)) is True


def _gives(donor: CudnnCopy, copy: CudnnCopy, wanted: list[str]) -> bool:
    """Whether a set is sound, of the same release, and has every wanted file."""
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
        and not donor.missing
        and all(name.lower() in sound for name in wanted)
        and len({f.version for f in donor.files if f.version}) == 1
    )


def _is_same_build(donor: CudnnCopy, copy: CudnnCopy, wanted: list[str]) -> bool:
    """Whether every file that stays has the donor's size: a release has one build for each CUDA major."""
    sizes = {f.name.lower(): f.size for f in donor.files}
    staying = [f for f in copy.files if f.name not in wanted]
    return bool(staying) and all(sizes.get(f.name.lower()) == f.size for f in staying)


FIRST = (How.SYSTEM, How.SYSTEM16, How.WINDOWS, How.APPLICATION)
"""Where Windows' loader looks before any search path."""


def quarantine(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Put a stray copy aside that nothing owns and that lies where the loader looks before any search path (Windows)."""
    copy = _copy(snapshot, finding.subject)
    stray = [c for c in cases(snapshot) if c.winner and c.winner.how in FIRST and c.copy is not None and c.copy is copy]
    return _aside(copy, snapshot) if copy is not None and stray else ()


def quarantine_parts(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """The same for single files that are taken in the place of parts of the set that is found (Windows)."""
    system = snapshot.machine.system
    changes: dict[str, tuple[Change, ...]] = {}
    for c in cases(snapshot):
        for search in [s for _role, s in c.parts] if c.load.consumer.id == finding.subject and c.winner else ():
            copy = _copy(snapshot, folder_of(system, search.winner.path)) if search.winner else None
            if search.winner and search.winner.how in FIRST and copy is not None and copy is not c.copy:
                changes[copy.folder] = _aside(copy, snapshot)
    return tuple(change for its in changes.values() for change in its) if all(changes.values()) else ()


def _aside(copy: CudnnCopy, snapshot: Snapshot) -> tuple[Change, ...]:
    if copy.owner or copy.origin not in ("system", "folder"):
        return ()
    system = snapshot.machine.system
    items = tuple(FileItem(path=_join(system, copy.folder, f.name), before="?", after="") for f in copy.files)
    title = _("Put the stray cuDNN {version} in {folder} aside", version=copy.version or copy.major, folder=copy.folder)
    return (FileSet(title=title, items=items),)


def under_plain_name(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Give the compiler's built-ins of the same version, which a packager renamed, their plain name beside them."""
    system = snapshot.machine.system
    for toolkit in snapshot.toolkits or ():
        for file in toolkit.libraries:
            name = name_of(system, file.path)
            found = RENAMED_BUILTINS.fullmatch(name)
            if not found or tidy(system, folder_of(system, file.path)) != tidy(system, finding.subject):
                continue
            compilers = [f for f in toolkit.libraries if _is_compiler(f) and f.version and f.version == file.version]
            if not compilers or file.state != "good":
                continue
            plain = "".join(part for part in found.groups() if part)
            path = _join(system, finding.subject, plain)
            if system == "linux":
                item = FileItem(path=path, after=f"-> {name}")
            else:
                item = FileItem(path=path, after="?", size=file.size or 0, source=file.path)
            return (
                FileSet(title=_("Give {name} its plain name, {plain}, too", name=name, plain=plain), items=(item,)),
            )
    return ()


def _is_compiler(file: LibraryFile) -> bool:
    return "nvrtc" in file.name.lower() and "builtins" not in file.name.lower()


def cache_aside(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Put the driver's cache of compiled kernels aside; the driver makes a new one."""
    cache = snapshot.driver.compute_cache if snapshot.driver else None
    if cache is None or not cache.exists or cache.path != finding.subject or not cache.aside:
        return ()
    item = FileItem(path=cache.aside, before="folder", after="")
    return (FileSet(title=_("Put the cache of compiled kernels in {path} aside", path=cache.aside), items=(item,)),)


HOOK = "convalesce_cuda.pth"


def add_dll_folders(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Let one environment's Python search for DLLs where PATH leads other programs (Windows, CPython 3.8 and later)."""
    system = snapshot.machine.system
    python = python_of(snapshot, finding.subject)
    lost = [lost_to_python(snapshot, x) for x in snapshot.loads or () if x.consumer.prefix == finding.subject]
    folders = tuple(dict.fromkeys(folder_of(system, path) for its in lost for path in its.values()))
    if system != "windows" or python is None or python.kind == "store" or not python.site_packages or not folders:
        return ()
    if numbers(python.version)[:2] < (3, 8):
        return ()
    return (dll_hook(python.site_packages[0], *folders),)


def dll_hook(site_packages: str, *folders: str) -> FileSet:
    """Return the change that makes one environment's Python search folders for DLLs (a ``.pth`` file, Windows).

    It serves what Python itself loads; cuDNN's own lazy loads do not look there (rehearse decides).
    """
    text = "".join(f"import os; os.path.isdir({f!a}) and os.add_dll_directory({f!a})\n" for f in folders)
    item = FileItem(path=_join("windows", site_packages, HOOK), after="?", size=len(text), text=text)
    return FileSet(title=_("Let this Python find DLLs in {folder}", folder=listed(folders)), items=(item,))


def _copy(snapshot: Snapshot, folder: str) -> CudnnCopy | None:
    system = snapshot.machine.system
    return next((c for c in snapshot.cudnn or () if tidy(system, c.folder) == tidy(system, folder)), None)


def _join(system: str, folder: str, name: str) -> str:
    separator = "\\" if system == "windows" else "/"
    return folder.rstrip("\\/") + separator + name
