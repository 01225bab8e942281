"""One cuDNN on disk: its files with their true versions, missing files, and the CUDA that it was built for."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.patience import call_patiently
from core.host.refusal import why_refused
from core.knowledge.cudnn_file_names import VERSION_LIBRARY, names_tried, parse_cudnn_name, shipped_name, sub_libraries
from core.loader import read_image
from core.loader.contents import cuda_major, library_names
from core.loader.cudnn_version import true_version
from core.loader.earlier_reads import earlier_or_new, lasting_identity
from core.loader.fatbin import machine_code
from core.loader.files import UnfitError, path_under_root
from core.loader.image import Image
from core.loader.sections import open_layout
from core.model.facts import CudnnCopy, FileState, LibraryFile, Signature, System, path_text
from core.probes.cudnn.locations import CudnnFolder
from core.probes.loading.origin import runs_here
from core.probes.sysroot import Sysroot
from core.probes.wheel_record import RecordRow, record_state

ROLES_WITH_NAMES = ("", "graph", "ops_infer", "cnn_infer", "adv")
"""Roles whose data names the libraries that they open: sub-libraries, cuBLAS, NVRTC.

The others name the driver at most.
"""

FILE_CODE_SECONDS = 0.5
"""Seconds for reading the GPU code of one file; past that the result is unknown."""


def choose_files(found: CudnnFolder, major: int, where: Sysroot) -> dict[str, str]:
    """Return role -> name of the file that serves as it, in the order in which cuDNN itself searches.

    The main library has the empty role. Renamed (hashed) copies count as main libraries only.
    """
    by_role: dict[str, list[str]] = {}
    for name in found.names:
        what = parse_cudnn_name(name, where.system)
        if what and what.major == major and not (what.hashed and what.role):
            by_role.setdefault(what.role, []).append(name)
    main = _first_present((shipped_name("", major, where.system),), by_role.get("", []))
    version = true_version(where.join(found.spot.folder, main), where.root)[0] if main else None
    chosen = {"": main} if main else {}
    for role in sorted(by_role.keys() - {""}):
        chosen[role] = _first_present(names_tried(role, major, version, where.system), by_role[role])
    return chosen


def _first_present(wanted: Iterable[str], there: list[str]) -> str:
    low = {name.lower(): name for name in there}
    hits = (low[name.lower()] for name in wanted if name.lower() in low)
    return next(hits, there[-1] if there else "")


def describe_library(
    name: str,
    folder: str,
    row: RecordRow | None,
    sha256: str,
    where: Sysroot,
    *,
    until: float,
    signature: Signature = "",
) -> LibraryFile:
    """Return what one file's headers and data say.

    ``row``: its line in a wheel's RECORD. ``sha256`` and ``signature`` are determined with --thorough only, the
    signature for files without a RECORD.
    """
    path = where.join(folder, name)
    what = parse_cudnn_name(name, where.system)
    role = what.role if what else ""
    image = read_image.read_image(path, root=where.root)
    real = where.real_path(path)
    state, problem = _file_state(path, image, signature, where, until)
    readable = image.state in ("good", "truncated") and image.format != ""
    version, version_source = true_version(path, where.root) if readable else (None, "")
    if version is None and readable and (by_name := _by_real_name(real, where)):
        version, version_source = by_name, fact_text("the real file's name")
    mentions = library_names(path, root=where.root) if readable and role in ROLES_WITH_NAMES else ()
    code = machine_code(path, root=where.root, seconds=FILE_CODE_SECONDS) if readable else None
    return LibraryFile(
        path=path_text(path),
        name=name,
        real_path=path_text(real) if real != path else "",
        state=state,
        problem=problem,
        size=image.size,
        architecture=image.architecture,
        version=version,
        version_source=version_source,
        cuda_major=cuda_major((*mentions, *image.needed)),
        needed=image.needed,
        mentions=tuple(n for n in mentions if n.lower() != name.lower()),
        runpath=image.runpath,
        rpath=image.rpath,
        soname=image.soname,
        sass=code[0] if code else None,
        ptx=code[1] if code else None,
        bound=code.bound if code else (),
        record=record_state(row, image.size, sha256) if row else "unchecked",
        sha256=sha256,
        signature=signature,
    )


def _file_state(path: str, image: Image, signature: Signature, where: Sysroot, until: float) -> tuple[FileState, str]:
    """Return whether a file is sound by its headers, its pages and its signature, and what is wrong."""
    if image.state == "unreadable" and runs_here(where):
        with suppress(OSError):
            reason = call_patiently(why_refused, where.local_path(path), "read")
            return image.state, fact_text("{problem}: {reason}", problem=image.problem, reason=reason)
    if image.state == "good" and (lost := find_zeroed_page(path, where.root, until=until)):
        return "damaged", lost
    if image.state == "good" and signature == "altered":
        return "damaged", fact_text("differs from what its maker signed (its Authenticode hash is another)")
    return image.state, image.problem


def _by_real_name(real: str, where: Sysroot) -> str:
    """Return the version in the name of a real file, if it is complete: libcudnn.so.8.9.7."""
    what = parse_cudnn_name(where.name(real), where.system)
    return what.release if what and what.release.count(".") >= 2 else ""


def assemble_copy(
    found: CudnnFolder, major: int, files: tuple[LibraryFile, ...], recorded: Mapping[str, RecordRow], where: Sysroot
) -> CudnnCopy:
    """Return the copy that consists of ``files``."""
    missing, missing_source = missing_names(major, files, recorded, where.system)
    by_role = {what.role: f for f in files if (what := parse_cudnn_name(f.name, where.system))}
    first = by_role.get(VERSION_LIBRARY.get(major, VERSION_LIBRARY[max(VERSION_LIBRARY)])) or LibraryFile(
        path="", name=""
    )
    main = by_role.get("")
    version, version_source = first.version, f"{first.name}: {first.version_source}" if first.version else ""
    if version is None and main is not None and main.version:
        version, version_source = main.version, f"{main.name}: {main.version_source}"
    for_cuda = {f.cuda_major: f for f in files if f.cuda_major is not None}
    cuda = next(iter(for_cuda)) if len(for_cuda) == 1 else None
    return CudnnCopy(
        folder=path_text(found.spot.folder),
        origin=found.spot.origin,
        major=major,
        version=version,
        version_source=version_source,
        environment=found.spot.environment,
        cuda_major=cuda,
        cuda_major_source=fact_text("library names in {name}", name=for_cuda[cuda].name) if cuda is not None else "",
        files=files,
        missing=missing,
        missing_source=missing_source,
        sass=_common_elements(f.sass for f in files),
        ptx=_common_elements(f.ptx for f in files if f.sass),
        bound=tuple(sorted({word for f in files for word in f.bound})),
        source=found.spot.source,
    )


def missing_names(
    major: int, files: tuple[LibraryFile, ...], recorded: Mapping[str, RecordRow], system: System
) -> tuple[tuple[str, ...], str]:
    """Return the missing names of the set, and the source that names them.

    cuDNN's own binaries name every part that they open or need, and nothing else of cuDNN: true of each of the 43
    wheels from 8.5.0.96 to 9.28.0.42 whose names were listed. The one exception, cuDNN 9.20.0 (the graph library in all
    of its wheels names engines_tensor_ir, which they lack), is a known faulty release.
    """
    there = {what.role for f in files if f.state != "missing" and (what := parse_cudnn_name(f.name, system))}
    named: dict[str, str] = {}
    for name in recorded:
        what = parse_cudnn_name(name, system)
        if what and what.major == major and what.role not in there:
            named.setdefault(shipped_name(what.role, major, system), "RECORD")
    for file in files:
        for role in sub_libraries((*file.mentions, *file.needed), major, system):
            if role not in there:
                named.setdefault(shipped_name(role, major, system), file.name)
    return tuple(sorted(named)), ", ".join(dict.fromkeys(named[n] for n in sorted(named)))


def _common_elements(sets: Iterable[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """Return the common elements of all non-empty sets; None if nothing was examined."""
    known = [s for s in sets if s is not None]
    holding = [set(s) for s in known if s]
    if not holding:
        return () if known else None
    return tuple(sorted(set.intersection(*holding)))


def with_owner(copy: CudnnCopy, owner: str, cuda: int | None) -> CudnnCopy:
    """Return the copy with its owner; the owner's name determines CUDA's major version if no file does."""
    if copy.cuda_major is None and cuda is not None:
        return replace(
            copy, owner=owner, cuda_major=cuda, cuda_major_source=fact_text("the package's name, {owner}", owner=owner)
        )
    return replace(copy, owner=owner)


def pages_deadline(seconds: float) -> float:
    """Return the moment at which the examination of pages stops."""
    return time.monotonic() + seconds


PAGE_BYTES = 4096
STRETCH_BYTES = {".text": 64 << 10, ".nv_fatbin": 512 << 10, ".nv_fatb": 512 << 10}
"""Section -> length of the stretches in which one page is examined. A run of zeroed pages as long as the stretch is always found."""

MIN_SAMPLED_PAGES = 128
"""Minimum number of pages of a section that are examined (or all), so that scattered zeroed pages in a small file are found, too."""

ZERO_PAGE = bytes(PAGE_BYTES)
ZERO_START = bytes(32)


def find_zeroed_page(path: str, root: str = "/", *, until: float) -> str:
    """Return a phrase, to follow the file's name, about the first page of code that is all zeros; empty if there is
    none.

    A failing disk or an incomplete copy leaves such pages. No page of 4096 bytes in .text or .nv_fatbin is all zeros in
    any file of cuDNN 8.9.7, 9.1.0, 9.10.2, 9.20.0 (Linux), 9.21.1 (Linux), and 8.9.7 and 9.1.0 for Windows (.text,
    .nv_fatb): every page of those was read once to verify that. In .rodata and .data such pages are normal. So one
    zeroed page of code proves damage, but finding none proves nothing: only one page in each stretch is examined, and
    only a hash reveals a flipped bit (--thorough).

    ``until`` (of time.monotonic) ends the search on a slow disk; pages not examined by then count as sound. A completed
    search without a result is cached for later scans, since thousands of reads all over a file are most of a cold
    scan's time.
    """
    key, identity = f"{__name__} {path_text(path)}", lasting_identity(path, root)
    found = earlier_or_new(key, identity, str, lambda: _zeroed_page(path, root, until), lambda told: told == "")
    return found or ""


def _zeroed_page(path: str, root: str, until: float) -> str | None:
    """Return the sentence, or empty text if all pages were examined; None if the search was not completed."""
    try:
        with open_layout(path_under_root(root, path)) as file:
            hop = file.source.hop
            for section in file.sections_named(*STRETCH_BYTES):
                first = -(-section.offset // PAGE_BYTES) * PAGE_BYTES
                step = max(
                    PAGE_BYTES,
                    min(STRETCH_BYTES[section.name], section.size // MIN_SAMPLED_PAGES // PAGE_BYTES * PAGE_BYTES),
                )
                for at in range(first, section.offset + section.size - PAGE_BYTES + 1, step):
                    # In nearly every page, the first bytes show that it is not zeroed.
                    if hop(len(ZERO_START), at) == ZERO_START and file.source.read(at, PAGE_BYTES) == ZERO_PAGE:
                        return fact_text(
                            "holds nothing but zeros at byte {at}, where its {name} should be",
                            at=at,
                            name=_kind(section.name),
                        )
                    if time.monotonic() > until:
                        return None
    except UnfitError:
        return None
    return ""


def _kind(section: str) -> str:
    return fact_text("machine code") if section == ".text" else "GPU code"
