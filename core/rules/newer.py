"""What is newer than this program knows is told, and judged neither wrong nor in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.facts import FrameworkBuild, Snapshot
from core.findings import Evidence, Finding
from core.horizon import Family, beyond, family, horizon
from core.i18n import N_, _, sentences, told
from core.rules.frameworks_view import Home, homes
from core.rules.loads import Case, called, trouble
from core.rules.view import candidates, inside
from core.rules.words import NOTE, UNKNOWN, finding, saw
from core.steps import Severity, Step

NAMES: dict[Family, str] = {
    "cudnn": "cuDNN",
    "cuda": "CUDA",
    "gpu": N_("compute capability"),
    "torch": "PyTorch",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
    "ctranslate2": "CTranslate2",
}


def edge(name: Family) -> Evidence:
    """Return how far the tables know a family, as evidence."""
    known = horizon(name)
    newest = ".".join(map(str, known.newest))
    return saw(
        _("Newest that is known"),
        f"{_(NAMES[name])} {newest}",
        _("tables of {date}", date=known.known_until),
    )


def not_judged(
    step: Step,
    name: Family,
    title: str,
    *,
    id: str = "newer-than-known",
    severity: Severity = UNKNOWN,
    evidence: Iterable[Evidence] = (),
    subject: str = "",
) -> Finding:
    """Return the finding that something lies beyond the tables."""
    return finding(
        step,
        severity,
        id,
        title,
        why=sentences(
            _("The tables were last compared with what is published on {date}.", date=horizon(name).known_until),
            _("A newer version of Convalesce, or its maker's own documentation, decides what suits it."),
        ),
        evidence=[*evidence, edge(name)],
        subject=subject,
    )


def gpus(seen: Snapshot) -> Iterator[Finding]:
    """A GPU of a compute capability that no table has."""
    for gpu in (seen.driver.gpus or ()) if seen.driver else ():
        if beyond("gpu", gpu.compute_capability):
            capability = gpu.compute_capability or ""
            yield not_judged(
                Step.DRIVER,
                "gpu",
                _(
                    "The {name} (compute capability {capability}) is newer than this program knows: not judged.",
                    name=gpu.name,
                    capability=capability,
                ),
                evidence=[saw("GPU", f"{gpu.name}, {capability}", gpu.source)],
                subject=capability,
            )


def toolkits(seen: Snapshot) -> Iterator[Finding]:
    """A toolkit, or the libraries of an environment, of a CUDA that no table has."""
    system = seen.machine.system
    prefixes = [p.prefix for p in seen.pythons or ()]
    told_of: set[str] = set()
    for toolkit in seen.toolkits or ():
        root = next((p for p in prefixes if inside(system, toolkit.root, p)), toolkit.root)
        if beyond("cuda", toolkit.version) and root not in told_of:
            told_of.add(root)
            yield not_judged(
                Step.TOOLKIT,
                "cuda",
                _(
                    "CUDA {version} in {folder} is newer than this program knows: not judged.",
                    version=toolkit.version,
                    folder=root,
                ),
                evidence=[saw("CUDA", toolkit.version, toolkit.version_source or toolkit.source)],
                subject=root,
            )


def frameworks(seen: Snapshot) -> Iterator[Finding]:
    """A framework of a release, or built for a CUDA, that no table has."""
    for home in homes(seen):
        for build in home.builds:
            its = family(build.distribution)
            if its is not None and beyond(its, build.version):
                title = N_("{name} {version} in {prefix} is newer than this program knows: not judged.")
                yield _framework(home, build, its, title)
            elif beyond("cuda", build.cuda):
                title = N_(
                    "{name} {version} in {prefix} was built for CUDA {cuda}, which is newer than this program knows: not judged."
                )
                yield _framework(home, build, "cuda", title)


def _framework(home: Home, build: FrameworkBuild, name: Family, title: str) -> Finding:
    return not_judged(
        Step.FRAMEWORKS,
        name,
        _(title, name=build.distribution, version=build.version, prefix=home.python.prefix, cuda=build.cuda),
        id=f"newer-{build.distribution}",
        severity=UNKNOWN if home.near <= 3 else NOTE,
        evidence=[
            *([saw(_("Built for CUDA"), build.cuda, build.cuda_source)] if build.cuda else []),
            home.concerns(build.distribution),
        ],
        subject=home.python.prefix,
    )


def copies(seen: Snapshot) -> Iterator[Finding]:
    """A cuDNN that no table has and that no load was made of: where one was, that tells it."""
    loaded = {load.major for load in seen.loads or ()}
    for copy in seen.cudnn or ():
        if beyond("cudnn", copy.major) and copy.major not in loaded:
            yield not_judged(
                Step.CUDNN,
                "cudnn",
                _("{copy} is newer than this program knows: not judged.", copy=called(copy)),
                severity=NOTE,
                evidence=[saw(_("Copy"), called(copy), copy.folder)],
                subject=copy.folder,
            )


def load(c: Case) -> Iterator[Finding]:
    """A load of a cuDNN that no table has, or of one for a CUDA that no table has."""
    copy = c.copy or c.own
    name: Family = "cudnn" if beyond("cudnn", c.load.major) else "cuda"
    values = {"copy": called(copy) if copy else f"cuDNN {c.load.major}", "label": told(c.load.consumer.label)}
    roll = c.load.roll_call
    yield not_judged(
        Step.CUDNN,
        name,
        _("{copy} is newer than this program knows: not judged for {label}.", **values)
        if name == "cudnn"
        else _(
            "{copy} was built for CUDA {cuda}, which is newer than this program knows: not judged for {label}.",
            cuda=copy.cuda_major if copy else "",
            **values,
        ),
        evidence=[
            *([saw(_("Loaded"), roll.loaded or roll.library, _("roll call in a child process"))] if roll else []),
            *trouble(c),
            *candidates(c.main),
        ],
        subject=c.load.consumer.id,
    )


RULES = (gpus, toolkits, frameworks, copies)
