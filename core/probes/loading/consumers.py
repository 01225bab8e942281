"""Who needs cuDNN in a Python environment: frameworks, the binaries that request it, and the version that they expect."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from core.common.fact_text import fact_text
from core.common.requirements import Requirement, is_in_specifier, marker_applies, parse_requirement, specifier_clauses
from core.common.versions import version_tuple, whole_number
from core.knowledge.cudnn import CudnnKnowledge, FrameworkRow, LoadingMode, MajorSince
from core.knowledge.cudnn_file_names import parse_cudnn_name
from core.knowledge.horizon import is_beyond_horizon, release_family
from core.loader import read_image
from core.model.facts import Distribution, Frozen, PythonEnvironment, System, marker_facts
from core.probes.sysroot import Sysroot


class CudnnRequirement(Frozen, frozen=True, kw_only=True):
    """One framework's requirement for a major version of cuDNN; with an empty framework, a wheel that nothing requests."""

    framework: str = ""
    """Name and version of the distribution."""
    major: int
    askers: tuple[str, ...] = ()
    """The framework's existing binaries in the order in which they are loaded; the last one needs cuDNN."""
    way: LoadingMode = "bare name"
    main: str = ""
    """The main library's path if nothing requests it by name: a wheel without a framework."""
    wanted_version: str | None = None
    wanted_source: str = ""
    loaded: tuple[str, ...] = ()
    """On Windows: DLLs that the person's programs load before, in this order."""


def cudnn_requirements(
    python: PythonEnvironment, where: Sysroot, known: CudnnKnowledge, architecture: str = "x86_64"
) -> tuple[CudnnRequirement, ...]:
    """Return every requirement of an environment's frameworks. ``architecture``: the machine's."""
    return tuple(
        wish
        for distribution in python.distributions
        for framework in known.frameworks
        if re.fullmatch(framework.distribution, distribution.name)
        for wish in _cudnn_requirement(distribution, framework, where, python.architecture or architecture)
    )


def _cudnn_requirement(
    distribution: Distribution, framework: FrameworkRow, where: Sysroot, architecture: str
) -> Iterator[CudnnRequirement]:
    askers, major = _binaries(distribution, framework, where)
    pinned, source, pinned_major = pinned_cudnn(distribution, where.system, architecture)
    newer = is_beyond_horizon(release_family(distribution.name), distribution.version)
    majors = (where.system == "windows" and framework.windows_majors) or framework.majors
    since = None if newer else _major_since(distribution.version, majors)
    major = major or (0 if since == 0 or _links_without(askers, where) else pinned_major or since)
    if askers and major:
        yield CudnnRequirement(
            framework=f"{distribution.name} {distribution.version}",
            major=major,
            askers=askers,
            way=framework.windows_way,
            wanted_version=pinned,
            wanted_source=source,
        )


def _binaries(
    distribution: Distribution, framework: FrameworkRow, where: Sysroot
) -> tuple[tuple[str, ...], int | None]:
    """Return the framework's existing binaries, the one that needs cuDNN last, and the major version that it needs."""
    there: list[str] = []
    for pattern in framework.windows if where.system == "windows" else framework.linux:
        folder, name = where.join(distribution.location, *pattern.split("/")[:-1]), pattern.split("/")[-1]
        names = fnmatch.filter(where.names(folder) or (), name) if "*" in name else (name,)
        there += [path for n in names if where.is_file(path := where.join(folder, n))]
    for path in there:
        for needed in read_image.read_image(path, root=where.root).needed:
            what = parse_cudnn_name(needed, where.system)
            if what and not what.role and what.major:
                return (*(p for p in there if p != path), path), what.major
    return tuple(there), None


def _links_without(askers: tuple[str, ...], where: Sysroot) -> bool:
    """Whether a framework for Windows links cuBLAS but not cuDNN: it loads without cuDNN, and opens it on demand.

    ONNX Runtime does so since its pull request 29252 (read in 1.31.1).
    """
    if where.system != "windows":
        return False
    images = [read_image.read_image(path, root=where.root) for path in askers]
    return all(i.state == "good" for i in images) and any(
        n.lower().startswith("cublas") for i in images for n in i.needed
    )


def pinned_cudnn(distribution: Distribution, system: System, architecture: str) -> tuple[str | None, str, int | None]:
    """Return the cuDNN version that a distribution's requirements pin, the requirement's text, and its major version.

    Only ``==`` pins a version; for a range, the text and the major version of its lower end are returned.
    """
    for raw in distribution.requires:
        if not re.match(r"nvidia[-_.]cudnn", raw, re.IGNORECASE):
            continue  # Most requirements are irrelevant, and parsing takes time.
        wish = parse_requirement(raw)
        if wish is None:
            continue
        if not re.fullmatch(r"nvidia-cudnn(-cu\d+)?", wish.name.lower().replace("_", "-")):
            continue
        if wish.marker and not _marker_applies(wish, system, architecture):
            continue
        words = fact_text(
            "{name} {version} requires {name2}{specifier}",
            name=distribution.name,
            version=distribution.version,
            name2=wish.name,
            specifier=wish.specifier,
        )
        asked = specifier_clauses(wish.specifier)
        fixed = [release for how, release in asked if how == "==" and "*" not in release]
        lowest = [release for how, release in asked if how in ("==", ">=", "~=", "===")]
        major = re.match(r"\d+", lowest[0]) if lowest else None
        return ".".join(fixed[0].split(".")[:3]) if fixed else None, words, whole_number(major[0]) if major else None
    return None, "", None


def _marker_applies(wish: Requirement, system: System, architecture: str) -> bool:
    """Whether a requirement's marker holds on the examined system; extras count as requested."""
    facts = marker_facts(system, architecture)
    extras = re.findall(r"extra\s*==\s*[\"']([^\"']+)", wish.marker) or [""]
    return any(marker_applies(wish, {**facts, "extra": extra}) for extra in extras)


def _major_since(version: str, majors: tuple[MajorSince, ...]) -> int | None:
    rows = [row for row in majors if is_in_specifier(f">={row.first}", version)]
    return max(rows, key=lambda row: version_tuple(row.first)).major if rows else None
