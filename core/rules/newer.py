"""Rules about what is newer than this program: it is reported, but judged neither wrong nor in order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.common.i18n import N_, _, join_sentences, translate_fact
from core.knowledge.horizon import Family, horizon_of, is_beyond_horizon, release_family
from core.model.facts import FrameworkBuild, Snapshot
from core.model.findings import Evidence, Finding
from core.model.paths import is_inside
from core.model.steps import Severity
from core.rules.consumer_loads import ConsumerLoad, describe_copy, load_failures
from core.rules.frameworks.environment_view import EnvironmentView, environment_views
from core.rules.snapshot_queries import candidate_evidence
from core.rules.wording import NOTE, UNKNOWN, make_finding, observation

FAMILY_NAMES: dict[Family, str] = {
    "cudnn": "cuDNN",
    "cuda": "CUDA",
    "gpu": N_("compute capability"),
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
    "ctranslate2": "CTranslate2",
}


def horizon_evidence(name: Family) -> Evidence:
    """Return how far the tables cover a family, as evidence."""
    known = horizon_of(name)
    newest = ".".join(map(str, known.newest))
    return observation(
        _("Newest that is known"), f"{_(FAMILY_NAMES[name])} {newest}", _("tables of {date}", date=known.known_until)
    )


def not_judged(
    id: str,
    name: Family,
    title: str,
    *,
    severity: Severity = UNKNOWN,
    evidence: Iterable[Evidence],
    subject: str,
) -> Finding:
    """Return the finding that something is beyond the tables."""
    return make_finding(
        id,
        severity,
        title,
        why=join_sentences(
            _("The newest release in these tables came out on {date}.", date=horizon_of(name).known_until),
            _("A newer version of Convalesce, or the maker's documentation, tells you what fits."),
        ),
        evidence=[*evidence, horizon_evidence(name)],
        subject=subject,
    )


def newer_gpus(seen: Snapshot) -> Iterator[Finding]:
    """A GPU of a compute capability that is in no table."""
    for gpu in (seen.driver.gpus or ()) if seen.driver else ():
        if is_beyond_horizon("gpu", gpu.compute_capability):
            capability = gpu.compute_capability or ""
            yield not_judged(
                "driver.newer-than-known",
                "gpu",
                _(
                    "The {name} (compute capability {capability}) is newer than this Convalesce knows: not judged.",
                    name=gpu.name,
                    capability=capability,
                ),
                evidence=[observation("GPU", f"{gpu.name}, {capability}", gpu.source)],
                subject=capability,
            )


def newer_toolkits(seen: Snapshot) -> Iterator[Finding]:
    """A toolkit, or the libraries of an environment, of a CUDA that is in no table."""
    system = seen.machine.system
    prefixes = [p.prefix for p in seen.pythons or ()]
    told_of: set[str] = set()
    for toolkit in seen.toolkits or ():
        root = next((p for p in prefixes if is_inside(system, toolkit.root, p)), toolkit.root)
        if is_beyond_horizon("cuda", toolkit.version) and root not in told_of:
            told_of.add(root)
            yield not_judged(
                "toolkit.newer-than-known",
                "cuda",
                _(
                    "CUDA {version} in {folder} is newer than this Convalesce knows: not judged.",
                    version=toolkit.version,
                    folder=root,
                ),
                evidence=[observation("CUDA", toolkit.version, toolkit.version_source or toolkit.source)],
                subject=root,
            )


def newer_packages(seen: Snapshot) -> Iterator[Finding]:
    """A package of NVIDIA's named after a CUDA that is in no table: nvidia-cublas-cu14. One finding for each environment."""
    for home in environment_views(seen):
        for d in home.python.distributions:
            made_for = re.fullmatch(r"nvidia-[a-z-]+-cu(\d{2,3})", d.name)
            if made_for and is_beyond_horizon("cuda", made_for[1]):
                yield not_judged(
                    "toolkit.newer-than-known",
                    "cuda",
                    _(
                        "CUDA {version} in {folder} is newer than this Convalesce knows: not judged.",
                        version=made_for[1],
                        folder=home.python.prefix,
                    ),
                    severity=_severity_for(home),
                    evidence=[observation(_("Package"), f"{d.name} {d.version}", d.location or home.python.prefix)],
                    subject=home.python.prefix,
                )
                break


def newer_frameworks(seen: Snapshot) -> Iterator[Finding]:
    """A framework of a release, or built for a CUDA, that is in no table, unless it is for processors alone. One finding for
    all packages of a framework.
    """
    for home in environment_views(seen):
        builds = {b.distribution: b for b in home.builds}
        releases = {d.name: d.version for d in home.python.distributions} | {n: b.version for n, b in builds.items()}
        families: set[Family] = set()
        for name, version in releases.items():
            its, build = release_family(name), builds.get(name)
            if its is not None and is_beyond_horizon(its, version):
                if its not in families and not _is_for_processors(home, its):
                    families.add(its)
                    yield _framework(home, its, f"{name} {version}", build)
            elif build and is_beyond_horizon("cuda", build.cuda):
                yield _framework(home, "cuda", f"{name} {version}", build)


def _is_for_processors(home: EnvironmentView, family: Family) -> bool:
    """Whether every build of a family here is one without CUDA: no table of CUDA, cuDNN or GPUs has a say in those."""
    its = [b for b in home.builds if release_family(b.distribution) == family]
    return bool(its) and all(b.cuda == "" and not b.other for b in its)


def _severity_for(home: EnvironmentView) -> Severity:
    return UNKNOWN if home.near <= 3 else NOTE


def _framework(home: EnvironmentView, its: Family, package: str, build: FrameworkBuild | None) -> Finding:
    name = package.partition(" ")[0]
    values = {"package": package, "prefix": home.python.prefix, "cuda": build.cuda if build else None}
    return not_judged(
        f"frameworks.newer-{name}",
        its,
        _(
            "{package} in {prefix} was built for CUDA {cuda}, which is newer than this Convalesce knows: not judged.",
            **values,
        )
        if its == "cuda"
        else _("{package} in {prefix} is newer than this Convalesce knows: not judged.", **values),
        severity=_severity_for(home),
        evidence=[
            *([observation(_("Built for CUDA"), build.cuda, build.cuda_source)] if build and build.cuda else []),
            home.concerns(name),
        ],
        subject=home.python.prefix,
    )


def newer_copies(seen: Snapshot) -> Iterator[Finding]:
    """A cuDNN that is in no table and that nothing loads: if something does, ``newer_load`` reports it."""
    loaded = {load.major for load in seen.loads or ()}
    for copy in seen.cudnn or ():
        if is_beyond_horizon("cudnn", copy.major) and copy.major not in loaded:
            yield not_judged(
                "cudnn.newer-than-known",
                "cudnn",
                _("{copy} is newer than this Convalesce knows: not judged.", copy=describe_copy(copy)),
                severity=NOTE,
                evidence=[observation(_("Copy"), describe_copy(copy), copy.folder)],
                subject=copy.folder,
            )


def newer_load(c: ConsumerLoad) -> Iterator[Finding]:
    """A load of a cuDNN that is in no table, or of one for a CUDA that is in no table."""
    copy = c.copy or c.own
    name: Family = "cudnn" if is_beyond_horizon("cudnn", c.load.major) else "cuda"
    values = {
        "copy": describe_copy(copy) if copy else f"cuDNN {c.load.major}",
        "label": translate_fact(c.load.consumer.label),
    }
    roll = c.load.roll_call
    yield not_judged(
        "cudnn.newer-than-known",
        name,
        _("{copy} is newer than this Convalesce knows: not judged for {label}.", **values)
        if name == "cudnn"
        else _(
            "{copy} was built for CUDA {cuda}, which is newer than this Convalesce knows: not judged for {label}.",
            cuda=copy.cuda_major if copy else "",
            **values,
        ),
        evidence=[
            *(
                [observation(_("Loaded"), roll.loaded or roll.library, _("roll call in a child process"))]
                if roll
                else []
            ),
            *load_failures(c),
            *candidate_evidence(c.main),
        ],
        subject=c.load.consumer.id,
    )


RULES = (newer_gpus, newer_toolkits, newer_packages, newer_frameworks, newer_copies)
