"""Restore files of a package as its RECORD lists them, from any source with the same SHA-256."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.utils import canonicalize_name

from core.common.i18n import _, n_
from core.common.late_pattern import late_pattern
from core.common.progress import Progress
from core.common.shell import shell_command, shell_of
from core.fixes import archives
from core.fixes.packages.context import ExchangeContext
from core.fixes.packages.installer import Wanted, cached_wheels, choose_installer
from core.host import safe_folder, scratch
from core.host.interface import Host
from core.model.changes import ChangeError, ExchangePackages, FileItem, FileSet
from core.model.facts import Distribution, Frozen, Snapshot
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import record_rows

_INFO = late_pattern(r"(.+)-([^-]+)\.dist-info$")


class LostFile(Frozen, frozen=True, kw_only=True):
    """A file that is not as its package's RECORD lists it."""

    relative: str
    """Its path in the folder of packages."""
    sha256: str
    size: int
    there: bool
    package: str
    version: str


def put_files_back(change: ExchangePackages, context: ExchangeContext) -> FileSet:
    """Return the change that restores the files in the packages' RECORDs. Sources, in this order: what the person
    named, other environments, the caches of uv and pip, the index.

    Raises:
        ChangeError: a RECORD is not there, all files are as listed, or one's bytes cannot be had.
    """
    host, watch, staging = context.host, context.watch, context.journal.staging
    lost = [f for name in change.restore for f in lost_files(change.folder, name, watch)]
    if not lost:
        names = ", ".join(change.restore)
        raise ChangeError(_("Every file of {names} is as it was installed; there is nothing to restore.", names=names))
    for path in (Path(change.folder, f.relative) for f in lost if f.there):
        if path.is_dir() and not path.is_symlink():  # Docker makes one where a file is to be mounted that is not there
            command = shell_command("mv", str(path), f"{path}.folder", of=shell_of(host.system))
            raise ChangeError(
                _("{path} is a folder, and not a file. Rename it first: {command}", path=path, command=command)
            )
    found: dict[str, str] = {}
    for place in _folders_here(change, context.seen, host):
        _take_from_folder(place, lost, found)
    left = [f for f in lost if f.sha256 not in found]
    if left:
        safe_folder.make_folders(str(staging), 0o700)
        into = scratch.make_scratch(staging)
        for wheel in _wheels(change, left, into, context):
            if Path(wheel).is_dir():
                _take_from_folder(wheel, lost, found)
            else:
                _take_from_wheel(wheel, [f for f in lost if f.sha256 not in found], found, into, watch)
            if all(f.sha256 in found for f in lost):
                break
    left = [f for f in lost if f.sha256 not in found]
    if left:
        raise ChangeError(
            _(
                "The file {name} of {package} {version} was not found anywhere by its hash.",
                name=left[0].relative,
                package=left[0].package,
                version=left[0].version,
            )
        )
    return _file_set(change, lost, found)


def lost_files(folder: str, name: str, watch: Progress) -> list[LostFile]:
    """Return the files of a distribution that are missing or have other bytes than its RECORD lists.

    Raises:
        ChangeError: it has no RECORD, or two.
    """
    records = [m for n in os.listdir(folder) if (m := _INFO.match(n)) and canonicalize_name(m[1]) == name]  # noqa: PTH208 - names alone
    if len(records) != 1:
        raise ChangeError(_("{folder} does not have exactly one record of {name}.", folder=folder, name=name))
    spelt, version = records[0][1], records[0][2]
    where = Sysroot("linux" if os.name != "nt" else "windows")
    rows = record_rows(Distribution(name=spelt, version=version, location=folder), "", where)
    if not rows:
        raise ChangeError(_("{name} {version} has no RECORD of its files.", name=name, version=version))
    found = []
    for path, row in rows.items():
        relative = os.path.relpath(path, folder) if path else ".."
        if not row.sha256 or relative.startswith("..") or relative.endswith(".pyc"):
            continue
        watch.check()
        if digest_of(path, row.size) != row.sha256:
            there = os.path.lexists(path)
            size = row.size or 0
            found.append(
                LostFile(relative=relative, sha256=row.sha256, size=size, there=there, package=name, version=version)
            )
    return found


def digest_of(path: str, size: int | None = None) -> str:
    """Return a regular file's SHA-256; empty for anything else, or where its size is another."""
    try:
        if Path(path).is_symlink() or (size is not None and Path(path).stat().st_size != size):
            return ""
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _folders_here(change: ExchangePackages, seen: Snapshot, host: Host) -> Iterator[str]:
    """Yield folders that hold packages as they are installed: those of other environments, then what uv unpacked."""
    others = (*(seen.pythons or ()), *(seen.frameworks.others if seen.frameworks else ()))
    wanted = set(change.restore)
    for python in others:
        if wanted & {d.name for d in python.distributions}:
            yield from (f for f in python.site_packages if os.path.realpath(f) != change.folder)
    env = host.fresh_environment()
    home = env.get("XDG_CACHE_HOME") or (f"{env['HOME']}/.cache" if env.get("HOME") else "")
    cache = Path(env.get("UV_CACHE_DIR") or f"{home}/uv") / "archive-v0"
    spelt = tuple(f"{n.replace('-', '_')}-" for n in wanted)
    for unpacked in sorted(cache.iterdir()) if cache.is_dir() else ():
        if any(n.endswith(".dist-info") and n.lower().startswith(spelt) for n in os.listdir(unpacked)):  # noqa: PTH208 - names alone
            yield str(unpacked)


def _take_from_folder(folder: str, lost: Sequence[LostFile], found: dict[str, str]) -> None:
    for file in lost:
        path = str(Path(folder) / file.relative)
        if file.sha256 not in found and digest_of(path, file.size) == file.sha256:
            found[file.sha256] = os.path.realpath(path)


def _wheels(change: ExchangePackages, left: Sequence[LostFile], into: Path, context: ExchangeContext) -> Iterator[str]:
    """Yield wheels of exactly these releases: what was named, what pip kept, what the index has."""
    sources = context.sources
    packages = list(dict.fromkeys((f.package, f.version) for f in left))
    if sources.named:
        named = Path(sources.named)
        yield from _of_releases(named.glob("*.whl"), packages) if named.is_dir() else (str(named),)
        if named.is_dir():
            yield str(named)
    kept = cached_wheels(context.host, into)
    yield from _of_releases(kept.iterdir() if kept else (), packages)
    if not sources.uses_network:
        return
    context.watch.say(_("Fetching the wheel that has the files"))
    installer = choose_installer(Path(change.prefix), home_of(change.prefix), context.host, context.watch)
    for name, version in packages:
        wish = Wanted(requirements=(f"{name}=={version}",), index=sources.index or change.index, alone=True)
        place = into / f"{name}-{version}"
        place.mkdir()
        installer.download(wish, place)
        yield from map(str, place.glob("*.whl"))
        yield str(place)


def _of_releases(wheels: Iterable[Path], packages: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Yield the wheels that are named as one of these releases and can be opened: a folder of downloads holds much else."""
    for wheel in sorted(wheels):
        name, _hyphen, rest = wheel.name.partition("-")
        if (canonicalize_name(name), rest.partition("-")[0]) in packages and zipfile.is_zipfile(wheel):
            yield str(wheel)


def home_of(prefix: str) -> str:
    """Return the folder of the interpreter that an environment was made from, as its pyvenv.cfg says; else its own."""
    try:
        text = (Path(prefix) / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    said = re.search(r"^home *= *(.+)$", text, re.MULTILINE)
    return said[1].strip() if said else str(Path(prefix) / "bin" if os.name != "nt" else Path(prefix))


def _take_from_wheel(wheel: str, lost: Sequence[LostFile], found: dict[str, str], into: Path, watch: Progress) -> None:
    names = {f.relative.replace(os.sep, "/") for f in lost}
    place = Path(tempfile.mkdtemp(prefix="members-", dir=into))
    for member in archives.take_members(os.path.realpath(wheel), lambda n: n in names, place, watch):
        if member.sha256 in {f.sha256 for f in lost}:
            found.setdefault(member.sha256, member.path)


def _file_set(change: ExchangePackages, lost: Sequence[LostFile], found: dict[str, str]) -> FileSet:
    items = [
        FileItem(
            path=str(Path(change.folder) / f.relative),
            before="?" if f.there else "",
            after=f.sha256,
            size=f.size,
            source=found[f.sha256],
        )
        for f in lost
    ]
    title = n_(
        "Restore {n} file of {packages} in {prefix}",
        "Restore {n} files of {packages} in {prefix}",
        len(items),
        packages=", ".join(dict.fromkeys(f"{f.package} {f.version}" for f in lost)),
        prefix=change.prefix,
    )
    return with_new_folders(title, items)


def with_new_folders(title: str, items: list[FileItem]) -> FileSet:
    """Return the change of these files, with the folders that it has to make."""
    made = {str(p) for i in items for p in Path(i.path).parents if not os.path.lexists(p)}
    return FileSet(title=title, items=tuple(items), folders=tuple(sorted(made, key=len)))
