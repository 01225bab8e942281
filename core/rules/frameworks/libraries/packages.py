"""Which of NVIDIA's wheels has a missing library, in which release, and in which folder it will lie."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from core.common.requirements import is_in_specifier, parse_requirement, specifier_clauses
from core.knowledge.cuda_wheels import release_beside
from core.model.facts import Consumer, Distribution, How, Snapshot
from core.model.paths import file_name, is_inside, join_path, normalise, parent
from core.model.remedies import InstallPackages
from core.rules.frameworks.environment_view import view_of
from core.rules.frameworks.libraries.lacks import COMPILER_VERSION, Lack, cuda_majors, find_lack, is_found_in_packages

PACKAGE_OF = {
    "cudart": "cuda-runtime", "cublaslt": "cublas", "nvrtc": "cuda-nvrtc", "nvrtc-builtins": "cuda-nvrtc", "cupti": "cuda-cupti",
    "cufftw": "cufft", "cutensormg": "cutensor", "cusolvermg": "cusolver", "nvtoolsext": "nvtx", "nvshmem_host": "nvshmem", "nvblas": "cublas",
}  # fmt: skip
"""Stem of a library -> middle of the name of NVIDIA's wheel, if they differ: libcublasLt.so.12, nvidia-cublas-cu12."""

CUTENSOR = "cutensor"
"""Its wheel is no nvidia-... one, lies in a folder of its own, and has the number of its library: cutensor-cu12 2.2.0, libcutensor.so.2."""

OF_EACH_CUDA = ("cudnn", "nccl", "nvshmem", "cusparselt")
"""Wheels that still name their CUDA for CUDA 13, of which the toolkit's own no longer do: nvidia-cudnn-cu13, nvidia-cublas."""

NEEDS: Mapping[str, tuple[str, ...]] = {
    "cusolver": ("cublas", "cusparse", "nvjitlink"),
    "cusparse": ("nvjitlink",),
    "cudnn": ("cublas", "cuda-nvrtc"),
}
"""Middle of a wheel's name -> those whose DLLs its own import or open, for CUDA 12 (their import tables, and Requires-Dist)."""


def wanted_packages(lack: Lack) -> Iterator[str]:
    """Yield the packages that contain the missing files, named as in the consumer's requirements."""
    wishes = requirements(lack, lack.distribution)
    lost = [
        e for e in lack.edges if not (e.state == "absent" and e.elsewhere)
    ]  # what is here is searched, and not installed again
    for edge in lost or lack.edges:
        yield from packages_with(edge.name, edge.path, lack, wishes)
    for gap in lack.gaps:
        if gap.provider and not COMPILER_VERSION.match(gap.version):
            yield from packages_with(file_name(lack.system, gap.provider), gap.provider, lack, wishes)
            yield from packages_with(file_name(lack.system, gap.wanted_by), gap.wanted_by, lack, wishes)


def rest_of_the_extra(lack: Lack, wanted: list[str]) -> list[str]:
    """Return what else the extra lists that all these packages come from, and that is not installed either: who was installed without it
    lacks all of it, and a part leads to the next fault.
    """
    its = lack.distribution
    there = {d.name for d in lack.home.python.distributions}
    lists: dict[str, dict[str, str]] = {}
    for raw in its.requires if its else ():
        wish, extra = parse_requirement(raw), re.search(r"extra\s*==\s*[\"']([^\"']+)", raw)
        if wish and extra and wish.name.startswith("nvidia-"):
            lists.setdefault(extra[1], {})[wish.name] = without_marker(raw, lack)
    names = {wish.name for w in wanted if (wish := parse_requirement(w))}
    one = next((its for its in lists.values() if len(names) > 1 and names <= its.keys()), {})
    return [wish for name, wish in one.items() if name not in names and name not in there]


def installed_already(lack: Lack, wanted: list[str]) -> list[Distribution]:
    """Return the wanted distributions if all are installed in a fitting release, so that only their files are missing."""
    there = {d.name: d for d in lack.home.python.distributions}
    wishes = [wish for w in wanted if (wish := parse_requirement(w))]
    found = [d for w in wishes if (d := there.get(w.name)) and is_in_specifier(w.specifier, d.version)]
    if not found or len(found) != len(wanted) or not all(_is_overwritten(lack, g.provider, found) for g in lack.gaps):
        return []
    return found


def _is_overwritten(lack: Lack, path: str, wanted: Iterable[Distribution]) -> bool:
    """Whether another distribution's file lies in the folder in which one of these recorded its own: what was installed last is there."""
    names, records = {f"{d.name} {d.version}" for d in wanted}, lack.home.records
    folder = normalise(lack.system, parent(lack.system, path))
    return any(
        names & set(s.distributions) and normalise(lack.system, parent(lack.system, s.example)) == folder
        for s in (records.shared if records else ())
    )


def requirements(lack: Lack, its: Distribution | None) -> list[str]:
    """Return the consumer's requirements, then those of all other packages in the environment."""
    others = (d for d in lack.home.python.distributions if d is not its)
    return [r for d in (*((its,) if its else ()), *others) for r in (*d.requires, *d.pins)]


def middle_of(library: str) -> str:
    """Return the middle of the name of the wheel with this library: "cuda-nvrtc" for libnvrtc.so.12."""
    stem = re.sub(r"^lib", "", library.partition(".so")[0]).lower()
    if stem.endswith(".dll"):
        stem = stem.removesuffix(".dll").rstrip("_0123456789")
    return PACKAGE_OF.get(stem, "cudnn" if stem.startswith("cudnn") else stem)


def searched_by(consumer: Consumer, seen: Snapshot, remedy: InstallPackages) -> InstallPackages:
    """Return a remedy for a consumer with the folders that it does not search, as far as its own binaries show what it lacks."""
    home = view_of(seen, consumer.prefix)
    closures = (c for c in (home.closures if home else ()) if c.consumer.full_id == consumer.full_id)
    lack = next((found for c in closures if home and (found := find_lack(home, c))), None)
    return with_search(lack, remedy) if lack else remedy


def with_search(lack: Lack, remedy: InstallPackages) -> InstallPackages:
    """Return the remedy with the folders that the consumer does not search by itself, and how it comes to search them."""
    folders = tuple(dict.fromkeys((*remedy.search, *unsearched_folders(lack))))
    return replace(remedy, dll_folders=folders) if needs_a_hook(lack) else replace(remedy, search=folders)


def needs_a_hook(lack: Lack) -> bool:
    """Whether PATH is not searched for what is missing: Windows' loader does so for no extension module of Python's."""
    return lack.system == "windows" and not any(a.how is How.PATH for e in lack.edges for a in e.attempts)


def unsearched_folders(lack: Lack) -> Iterator[str]:
    """Yield the folders that will contain the missing files, and what those need, and that the consumer does not search.

    A variable of this session that leads to other folders of the environment counts for this session alone: what is added for every program
    of the environment has these, too, or it would lead there to a part of what is needed.
    """
    wishes = requirements(lack, lack.distribution)
    for edge in lack.edges:
        tried = {normalise(lack.system, parent(lack.system, a.path)): a.how for a in edge.attempts}
        if not edge.attempts or is_found_in_packages(lack, edge.name):
            continue
        there = [parent(lack.system, p) for p in edge.elsewhere[:1]]
        new = [
            folder
            for folder in there or _folders_to_be(edge.name, lack, wishes)
            if normalise(lack.system, folder) not in tried and not _has_its_own_place(folder, tried)
        ]
        yield from new
        if new:
            by_variable = (f for f, how in tried.items() if how is How.LD_LIBRARY_PATH)
            yield from (f for f in by_variable if is_inside(lack.system, f, lack.home.python.prefix))


def _has_its_own_place(folder: str, tried: Mapping[str, How | str]) -> bool:
    """Whether the consumer's own RPATH names the package's folder elsewhere: some releases of a wheel lie beside ``nvidia``, not in it
    (cusparselt/lib), and who was built with these knows.
    """
    tail = "/".join(("", *folder.split("/")[-2:]))
    return any(f.endswith(tail) and how in {How.RPATH, How.RUNPATH} for f, how in tried.items())


def _folders_to_be(library: str, lack: Lack, wishes: list[str]) -> Iterator[str]:
    """Yield the folder in which NVIDIA's wheel keeps a library; on Windows those of what it needs, too.

    Wheels for CUDA 11 and 12 have a folder each, nvidia/cublas/lib, and so have cuDNN's and NCCL's of every CUDA; those for CUDA 13 share
    nvidia/cu13/lib. On Windows a library finds what it needs in no other folder by itself.
    """
    sites, cuda = lack.home.python.site_packages, cuda_wanted(lack)
    middle = middle_of(library)
    if not sites or not any(packages_with(library, "", lack, wishes)):
        return
    for each in (middle, *(NEEDS.get(middle, ()) if lack.system == "windows" else ())):
        if each == CUTENSOR:
            yield join_path(lack.system, sites[0], CUTENSOR, "bin" if lack.system == "windows" else "lib")
            continue
        shared = cuda and int(cuda) >= 13 and each not in OF_EACH_CUDA
        of_linux = (f"cu{cuda}" if shared else each.replace("-", "_"), "lib")
        of_windows = (of_linux[0], "bin", *(("x86_64",) if shared else ()))
        yield join_path(lack.system, sites[0], "nvidia", *(of_windows if lack.system == "windows" else of_linux))


def packages_with(library: str, path: str, lack: Lack, wishes: list[str]) -> Iterator[str]:
    """Yield the requirement on the wheel that has a library; none for a file outside the environment, or no CUDA that is known."""
    middle = middle_of(library)
    if path and not is_inside(lack.system, path, lack.home.python.prefix):
        return
    major, number = cuda_wanted(lack), _cudnn_number(library)
    if middle == CUTENSOR:
        release = re.search(r"\.so\.(\d+)", library)
        if major:
            yield f"{CUTENSOR}-cu{major}{f'=={release[1]}.*' if release else ''}"
        return
    named = [
        w
        for w in wishes
        if re.match(rf"nvidia[-_.]{re.escape(middle)}(?![a-z])", w, re.IGNORECASE) and _brings(w, major, number)
    ]
    if named:
        yield without_marker(named[0], lack)
    elif middle.startswith(("cu", "nv", "nccl")) and major:
        name = f"nvidia-{middle}-cu{major}" if int(major) < 13 or middle in OF_EACH_CUDA else f"nvidia-{middle}"
        yield without_marker(f"{name}=={number}.*" if number else name, lack)


def cuda_wanted(lack: Lack) -> str:
    """Return the CUDA version of the missing libraries: from their names, else the one that the consumer was built for."""
    return cuda_majors(lack, [e for e in lack.edges if e.state == "absent"] or list(lack.edges))[0]


def _cudnn_number(library: str) -> str:
    found = re.search(r"cudnn\w{0,40}?(?:\.so\.|64_)(\d+)", library)
    return found[1] if found else ""


def _brings(requirement: str, major: str, number: str) -> bool:
    """Whether a requirement on one of NVIDIA's wheels can provide a library of this CUDA and this cuDNN."""
    wish = parse_requirement(requirement)
    of = re.search(r"[-_.]cu(\d+)$", wish.name) if wish else None
    if wish is None or (major and (of[1] != major if of else int(major) < 13)):
        return False
    named = [
        release.partition(".")[0] for how, release in specifier_clauses(wish.specifier) if how in ("==", "===", "~=")
    ]
    return not number or all(n == number for n in named)


def without_marker(requirement: str, lack: Lack) -> str:
    """Return a requirement without its marker; if it allows any release, with the release of the other wheels."""
    wish = parse_requirement(requirement)
    if wish is None:
        return requirement.partition(";")[0].strip()
    if "==" in wish.specifier:
        return f"{wish.name}{wish.specifier}"
    beside = release_beside(
        wish.name.replace("_", "-").lower(), {d.name: d.version for d in lack.home.python.distributions}
    )
    fits = beside and is_in_specifier(wish.specifier, f"{beside}.9999") is not False
    specifier = ",".join(filter(None, (wish.specifier, f"=={beside}.*" if fits else "")))
    return f"{wish.name}{specifier}"
