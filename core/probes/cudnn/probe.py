"""cuDNN probe: every copy on this machine, in the usual places and on all search paths; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec.structs import replace

from core.common.late_pattern import late_pattern
from core.common.versions import whole_number
from core.knowledge.cudnn_file_names import CUDNN_MAJORS, parse_cudnn_name
from core.loader import read_image
from core.loader.linux.cache import CacheEntry, read_cache
from core.loader.windows.authenticode import signature_by_hash
from core.model.facts import CudnnCopy, Distribution, PythonEnvironment, Signature
from core.probes.cudnn.contents import assemble_copy, choose_files, describe_library, pages_deadline, with_owner
from core.probes.cudnn.links import find_header, find_links, stale_cache_path
from core.probes.cudnn.locations import CudnnFolder, CudnnSpot, bundler_of, conda_package, debian_package, find_folders
from core.probes.hashing import hash_files
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.trust import changeable_in_copy
from core.probes.wheel_record import RecordRow, record_rows

PAGES_SECONDS = 0.25
"""Seconds for the search for zeroed pages, over all copies of a scan."""

_WHEEL = late_pattern(r"nvidia_cudnn(?:_cu(?P<cuda>\d+))?-(?P<version>[\w.]+)\.dist-info")


class CudnnSurvey(msgspec.Struct, frozen=True):
    """The input that all functions of one examination share."""

    request: ProbeRequest
    where: Sysroot
    cache: tuple[CacheEntry, ...]
    until: float
    """When the search for zeroed pages stops (time.monotonic)."""


def look(request: ProbeRequest) -> tuple[CudnnCopy, ...]:
    """Return every copy, one for each folder and major: those of environments first, then by search path and place.

    Without ``request.thorough``, a wheel's files are compared with its RECORD by size alone.
    """
    where = sysroot_of(request.host)
    cache = (read_cache(root=where.root) or ()) if where.system == "linux" else ()
    survey = CudnnSurvey(request, where, cache, pages_deadline(PAGES_SECONDS))
    listed = dict.fromkeys(where.parent(e.path) for e in cache if parse_cudnn_name(e.name, where.system))
    found = [*find_folders(request, where, tuple(listed))]
    found += _emptied_folders(request, found, where)
    copies = (copy for one in found for copy in _copies(one, survey))
    return request.kept(replace(copy, changeable=changeable_in_copy(copy, where)) for copy in copies)


def _copies(found: CudnnFolder, survey: CudnnSurvey) -> Iterator[CudnnCopy]:
    where, folder = survey.where, found.spot.folder
    wheel, recorded = _wheel_of(folder, where)
    beside = find_links(found, where)
    version, path = find_header(folder, where)
    named = {
        what.major for n in (*found.names, *recorded) if (what := parse_cudnn_name(n, where.system)) and what.major
    }
    for major in sorted(m for m in named if m >= CUDNN_MAJORS[0]):
        survey.request.watch.check()
        mine = {
            n: row for n, row in recorded.items() if (what := parse_cudnn_name(n, where.system)) and what.major == major
        }
        copy = _copy(found, major, mine, survey)
        if copy is not None:
            owner, cuda = _owner(found, copy, wheel, survey)
            yield replace(
                with_owner(copy, owner, cuda),
                header_version=version,
                header=path,
                links=beside,
                cached_elsewhere=stale_cache_path(folder, major, survey.cache, where) if survey.cache else "",
            )


def _copy(found: CudnnFolder, major: int, recorded: Mapping[str, RecordRow], survey: CudnnSurvey) -> CudnnCopy | None:
    """Return a folder's copy of one major version; None if there is neither a file nor a record of one."""
    where, folder = survey.where, found.spot.folder
    names = [*choose_files(found, major, where).values()]
    # A file in RECORD that the listing lacks may still exist, if the folder may not be listed.
    hidden = (
        n
        for n in recorded
        if n not in names and read_image.read_image(where.join(folder, n), root=where.root).state != "missing"
    )
    names += [n for n in hidden if n not in found.names]
    if not names and not recorded:
        return None
    paths = [where.join(folder, name) for name in names]
    digests = hash_files(paths, where, survey.request.watch, folder) if survey.request.thorough else {}
    files = tuple(
        describe_library(
            name,
            folder,
            recorded.get(name),
            digests.get(path, ""),
            where,
            until=survey.until,
            signature=_signature(path, survey) if digests and name not in recorded else "",
        )
        for name, path in zip(names, paths, strict=True)
    )
    return assemble_copy(found, major, files, recorded, where)


def _signature(path: str, survey: CudnnSurvey) -> Signature:
    """Return the system's verdict on a file's signature; if that is inconclusive, the verdict by the file's own hash."""
    said = survey.request.host.signature(path)
    return signature_by_hash(path, said, root=survey.where.root) if said in ("undecided", "not trusted") else said


def _wheels(site: str, where: Sysroot) -> Iterator[Distribution]:
    """Yield the cuDNN wheels in a folder of packages."""
    for name in where.names(site) or ():
        if m := _WHEEL.fullmatch(name):
            yield Distribution(name=name.split("-")[0].replace("_", "-"), version=m["version"], location=site)


def _wheel_of(folder: str, where: Sysroot) -> tuple[Distribution | None, Mapping[str, RecordRow]]:
    """Return the wheel that a folder's cuDNN came with, and file name -> its row in RECORD.

    Two wheels may claim the same folder (cu11 and cu12 overwrite each other): the one whose sizes agree is chosen.
    """
    m = re.fullmatch(r"(.+)[\\/]nvidia[\\/].+", folder)
    best: tuple[Distribution | None, Mapping[str, RecordRow]] = (None, {})
    most = -1
    for wheel in _wheels(m[1], where) if m else ():
        here = {
            where.name(path): row
            for path, row in record_rows(wheel, "cudnn", where).items()
            if where.path_module.normcase(where.parent(path)) == where.path_module.normcase(folder)
        }
        sizes = ((where.stat(where.join(folder, name)), row.size) for name, row in here.items())
        agree = sum(seen is not None and seen.st_size == size for seen, size in sizes)
        if here and agree > most:
            best, most = (wheel, here), agree
    return best


def _emptied_folders(request: ProbeRequest, found: list[CudnnFolder], where: Sysroot) -> list[CudnnFolder]:
    """Return the wheels' folders that RECORD lists and that contain no cuDNN file any more, or cannot be listed."""
    seen = {where.path_module.normcase(one.spot.folder) for one in found}
    gone = []
    for python in request.seen.pythons or ():
        for wheel in (w for site in python.site_packages for w in _wheels(site, where)):
            for path in record_rows(wheel, "cudnn", where):
                folder = where.parent(path)
                what = parse_cudnn_name(where.name(path), where.system)
                if what and what.major and where.path_module.normcase(folder) not in seen:
                    seen.add(where.path_module.normcase(folder))
                    spot = CudnnSpot(folder=folder, origin="wheel", source="RECORD", environment=python.prefix)
                    gone.append(CudnnFolder(spot=spot, names=()))
    return gone


def _owner(
    found: CudnnFolder, copy: CudnnCopy, wheel: Distribution | None, survey: CudnnSurvey
) -> tuple[str, int | None]:
    """Return the package that a copy belongs to, with its version, and the CUDA major version in the package's name."""
    spot, request, where = found.spot, survey.request, survey.where
    python = next((p for p in request.seen.pythons or () if p.prefix == spot.environment), None)
    if wheel is not None:
        return _cuda_major_in_name(f"{wheel.name} {wheel.version}")
    if spot.origin == "framework" and (bundler := _bundler(spot.folder, python, request, where)):
        return f"{bundler.name} {bundler.version}", None
    if spot.origin == "conda":
        return conda_package(spot.environment, where), None
    if spot.origin == "distribution":
        paths = (where.join(spot.folder, f.name) for f in copy.files)
        return _cuda_major_in_name(next((p for path in paths if (p := debian_package(path, where))), ""))
    return "", None


def _bundler(
    folder: str, python: PythonEnvironment | None, request: ProbeRequest, where: Sysroot
) -> Distribution | None:
    environments = (python,) if python else request.seen.pythons or ()
    return next((d for p in environments if (d := bundler_of(p, folder, where))), None)


def _cuda_major_in_name(owner: str) -> tuple[str, int | None]:
    m = re.search(r"-cu(?:da-)?(\d+)", owner)
    return owner, whole_number(m[1]) if m else None
