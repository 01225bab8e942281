"""Fixes that place or quarantine files: a set completed from an identical one, stray copies, a plain name. Pure.

Hashes are not in every Snapshot: a state "?" stands for "the bytes that are there", and is settled when the plan is
prepared (core/transaction/file_set.py).
"""

from __future__ import annotations

from core.common.i18n import _
from core.common.text import join_names
from core.common.versions import version_tuple
from core.model.changes import Change, FileItem, FileSet
from core.model.facts import CudnnCopy, Snapshot
from core.model.findings import Finding
from core.model.paths import file_name, join_path, normalise, parent
from core.model.remedies import AddDllFolders, CompleteSet, GiveOtherName, GivePlainName, PutAside, PutCacheAside
from core.rules.gone_files import NOT_FOUND
from core.rules.snapshot_queries import copy_in, file_at, python_of
from core.rules.ways import CONCRETE


def complete_set(remedy: CompleteSet, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take files of a set from an identical one."""
    copy, donor = copy_in(snapshot, remedy.folder), copy_in(snapshot, remedy.donor)
    if copy is None or donor is None:
        return ()
    system = snapshot.machine.system
    there = {f.name.lower(): f for f in donor.files}
    mine = {f.name.lower(): f for f in copy.files}
    items = []
    for name in remedy.files:
        source = there[name.lower()]
        before = "" if name.lower() not in mine or mine[name.lower()].state == "missing" else "?"
        items.append(
            FileItem(
                path=join_path(system, copy.folder, name),
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


def put_aside(remedy: PutAside, snapshot: Snapshot) -> tuple[Change, ...]:
    """Quarantine stray copies, each in its folder."""
    return tuple(_put_copy_aside(copy, snapshot) for f in remedy.folders if (copy := copy_in(snapshot, f)) is not None)


def _put_copy_aside(copy: CudnnCopy, snapshot: Snapshot) -> FileSet:
    system = snapshot.machine.system
    items = tuple(FileItem(path=join_path(system, copy.folder, f.name), before="?", after="") for f in copy.files)
    title = _(
        "Quarantine the stray cuDNN {version} in {folder}", version=copy.version or copy.major, folder=copy.folder
    )
    return FileSet(title=title, items=items)


def give_plain_name(remedy: GivePlainName, snapshot: Snapshot) -> tuple[Change, ...]:
    """Add the plain name of a library beside the copy that a packager renamed."""
    system = snapshot.machine.system
    name = file_name(system, remedy.file)
    path = join_path(system, parent(system, remedy.file), remedy.name)
    file = file_at(snapshot, remedy.file)
    if system == "linux":
        item = FileItem(path=path, after=f"-> {name}")
    else:
        item = FileItem(path=path, after="?", size=(file.size if file else 0) or 0, source=remedy.file)
    title = _("Give {name} its plain name, {plain}, as well", name=name, plain=remedy.name)
    return (FileSet(title=title, items=(item,)),)


def give_other_name(remedy: GiveOtherName, snapshot: Snapshot) -> tuple[Change, ...]:
    """Rename files that shadow a module; move a folder aside, under a name that cannot be imported. None that something here starts by
    its name: it would no longer find it.
    """
    system = snapshot.machine.system
    if any(_is_started(path, snapshot) for path, _name in remedy.files):
        return ()
    items = []
    for path, name in remedy.files:
        if name:
            target = join_path(system, parent(system, path), name)
            items.append(FileItem(path=target, after="?", source=path))
        items.append(FileItem(path=path, before="?" if name else "folder", after=""))
    old, new = (join_names(row) for row in zip(*((file_name(system, p), n) for p, n in remedy.files), strict=True))
    title = (
        _("Rename {old} to {new}", old=old, new=new)
        if all(n for _p, n in remedy.files)
        else _("Quarantine {names}", names=old)
    )
    return (FileSet(title=title, items=tuple(items)),)


def files_of_variables_back(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Give files of variables that ways of starting read their names back, where one file alone is beside the place with another name.

    What these ways lack, such a file may have set; no activation of an environment reaches a service.
    """
    system = snapshot.machine.system
    if finding.cause not in NOT_FOUND:
        return ()
    starts = [
        s for s in snapshot.starts or () if s.gone and s.kind in CONCRETE and (s.id in finding.ways or not finding.ways)
    ]
    mine = [s for s in starts if s.prefix and any(c.endswith(f":{s.prefix}") for c in finding.consumers)]
    renamed = {g.beside[0]: file_name(system, g.path) for s in mine for g in s.gone if len(g.beside) == 1}
    return give_other_name(GiveOtherName(files=tuple(sorted(renamed.items()))), snapshot) if renamed else ()


def _is_started(path: str, snapshot: Snapshot) -> bool:
    """Whether the command of a service, a task or a script names this file."""
    system = snapshot.machine.system
    its = normalise(system, path)
    words = ((s.folder, word) for s in snapshot.starts or () for word in s.argv[1:])
    return any(
        its in (normalise(system, word), normalise(system, join_path(system, folder, word))) for folder, word in words
    )


def put_cache_aside(remedy: PutCacheAside) -> tuple[Change, ...]:
    """Move the driver's cache of compiled kernels out of the way; the driver makes a new one."""
    item = FileItem(path=remedy.folder, before="folder", after="")
    return (FileSet(title=_("Quarantine the cache of compiled kernels in {path}", path=remedy.folder), items=(item,)),)


HOOK_FILE_NAME = "convalesce_cuda.pth"


def add_dll_folders(remedy: AddDllFolders, snapshot: Snapshot) -> tuple[Change, ...]:
    """Make one environment's Python find DLLs where PATH leads other programs (Windows, CPython 3.8 and later)."""
    python = python_of(snapshot, remedy.prefix)
    if python is None or python.kind == "store" or not python.site_packages or not remedy.folders:
        return ()
    if snapshot.machine.system != "windows" or version_tuple(python.version)[:2] < (3, 8):
        return ()
    return (dll_hook(python.site_packages[0], *remedy.folders),)


def hook_text(*folders: str) -> str:
    """Return the lines that make Python search folders for DLLs; a folder that is gone is left out."""
    return "".join(f"import os; os.path.isdir({f!a}) and os.add_dll_directory({f!a})\n" for f in folders)


def dll_hook(site_packages: str, *folders: str) -> FileSet:
    """Return the change that makes one environment's Python search folders for DLLs (a ``.pth`` file, Windows).

    It serves what Python itself loads; cuDNN's own lazy loads do not look there (rehearse decides).
    """
    text = hook_text(*folders)
    item = FileItem(path=join_path("windows", site_packages, HOOK_FILE_NAME), after="?", size=len(text), text=text)
    return FileSet(title=_("Let this Python find DLLs in {folder}", folder=join_names(folders)), items=(item,))
