"""Rules about packages: some overwrite each other, others are retired."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from core.common.i18n import _, n_
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.frameworks import framework_tables
from core.knowledge.modules import module_table
from core.model.facts import Distribution, OverwrittenPackage, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.remedies import InstallPackages, Remedy
from core.rules.frameworks.advice import framework_pip_command, gpu_onnxruntime
from core.rules.frameworks.environment_view import FRAMEWORKS, EnvironmentView, environment_views, is_asked_for
from core.rules.frameworks.fit import gpu_side
from core.rules.wording import NOTE, WARNING, concern_row, make_finding, manual_fix, observation

SHARED_FOLDERS = (
    ("onnxruntime", re.compile(r"onnxruntime(-gpu|-directml|-openvino|-training|-qnn)?")),
    ("paddle", re.compile(r"paddlepaddle(-gpu)?")),
    ("tensorflow", re.compile(r"tensorflow(-gpu|-cpu|-rocm)?|tf-nightly")),
    ("cupy", re.compile(r"cupy(-cuda\d+x?|-rocm.*)?")),
    ("mxnet", re.compile(r"mxnet(-cu\d+(mkl)?)?")),
    ("nvidia/cudnn", re.compile(r"nvidia-cudnn-cu\d+")),
    ("cv2", re.compile(r"opencv-(contrib-)?python(-headless)?")),
)
"""A folder of packages, and the distributions that install into it."""


def duplicate_packages(seen: Snapshot) -> Iterator[Finding]:
    """Two distributions that write the same folder are both installed, or one is installed twice."""
    for home in environment_views(seen):
        for folder, pattern in SHARED_FOLDERS:
            some = [d for d in home.python.distributions if pattern.fullmatch(d.name)]
            for place in dict.fromkeys(d.location for d in some):
                here = [d for d in some if d.location == place]
                if len({d.name for d in here}) > 1 and not _empty_stub(here):
                    yield _duplicates(home, folder, here)
        yield from _installed_twice(home)


def shared_files(seen: Snapshot) -> Iterator[Finding]:
    """The records of two distributions list the same libraries, although no table says that they share them."""
    for home in environment_views(seen):
        for shared in home.records.shared if home.records and home.near <= 3 else ():
            names = [d.partition(" ")[0] for d in shared.distributions]
            if any(all(pattern.fullmatch(n) for n in names) for _folder, pattern in SHARED_FOLDERS):
                continue
            keep = next(
                (d for d in shared.distributions if is_asked_for(home, d.partition(" ")[0])), shared.distributions[-1]
            )
            yield make_finding(
                f"frameworks.shared-{names[0]}",
                min(home.severity, WARNING),
                _(
                    "{names} are in one environment and overwrite each other's files.",
                    names=join_names(shared.distributions),
                ),
                cause="duplicate_framework_packages",
                why=_("They write to the same folder: the last one installed wins, and removing one breaks the other."),
                evidence=[
                    observation(_("Written by both"), n_("{n} library", "{n} libraries", shared.files), shared.example),
                    *(home.concerns(name) for name in names if FRAMEWORKS.fullmatch(name)),
                    *([] if any(FRAMEWORKS.fullmatch(n) for n in names) else [home.concerns()]),
                ],
                subject=home.python.prefix,
                fix=_keep_one(home, _("Keep only {name}", name=keep.partition(" ")[0]), names, _in_its_release(keep)),
            )


def overwritten_packages(seen: Snapshot) -> Iterator[Finding]:
    """A distribution wrote over the modules of another one that owns the same package."""
    for home in environment_views(seen):
        for one in overwritten_packages_told(home):
            yield _overwritten(home, one)


def overwritten_packages_told(home: EnvironmentView) -> Iterator[OverwrittenPackage]:
    """Yield those of an environment that are told by themselves, and not as two builds of one project."""
    known = {folder for folder, _pattern in SHARED_FOLDERS}
    yield from (one for one in overwritten_in(home) if home.near <= 3 and one.package not in known)


def _overwritten(home: EnvironmentView, one: OverwrittenPackage) -> Finding:
    names = [d.partition(" ")[0] for d in (one.lost, one.written)]
    meant = {row.install.lower() for row in module_table().namesakes if row.module == one.package}
    wanted = next((n for n in names if is_asked_for(home, n)), "") or next((n for n in names if n in meant), "")
    keep = next(d for d in (one.lost, one.written) if d.startswith(f"{wanted} ") or (not wanted and d == one.written))
    return make_finding(
        f"frameworks.overwritten-{one.package}",
        min(home.severity, WARNING),
        _(
            "{names} are in one environment and overwrite each other's files.",
            names=join_names((one.lost, one.written)),
        ),
        cause="duplicate_framework_packages",
        why=_("They write to the same folder: the last one installed wins, and removing one breaks the other."),
        evidence=[
            observation(_("Written by both"), one.package, one.path),
            modules_there(one),
            *(concern_row(home.python.consumer(d)) for d in (one.lost, one.written)),
        ],
        subject=one.path,
        fix=_keep_one(home, _("Keep {name} alone", name=keep.partition(" ")[0]), names, _in_its_release(keep)),
    )


def _in_its_release(distribution: str) -> str:
    """Return the requirement for a distribution, given by name and version, in this release, without a build's own words."""
    return "==".join(distribution.split(" ", 1)).partition("+")[0]


def overwritten_in(home: EnvironmentView) -> tuple[OverwrittenPackage, ...]:
    """Return the packages of an environment in which one distribution wrote over another one's modules."""
    return home.search.overwritten if home.search else ()


def modules_there(one: OverwrittenPackage) -> Evidence:
    """Return the row that says whose modules are there."""
    return observation(_("The modules there are those of"), one.written, one.path)


def _empty_stub(here: list[Distribution]) -> bool:
    """Whether one is tensorflow-gpu 2.12.0, which contains no file and does no harm beside tensorflow."""
    real = [d for d in here if not (d.name == "tensorflow-gpu" and version_tuple(d.version) >= (2, 12))]
    return len({d.name for d in real}) < 2


def _duplicates(home: EnvironmentView, folder: str, here: list[Distribution]) -> Finding:
    names = join_names(f"{d.name} {d.version}" for d in here)
    side = gpu_side(home.seen)
    fact = framework_tables().fact("one_module")
    really = next(
        (b for b in home.builds if b.distribution in [d.name for d in here] and b.really and "-" in b.distribution),
        None,
    )
    mixed = next((o for o in overwritten_in(home) if o.package == folder), None)
    mild = folder == "cv2" or not side.there
    severity = (
        min(home.severity, WARNING)
        if mixed and mild
        else NOTE
        if mild
        else home.severity
        if really
        else min(home.severity, WARNING)
    )
    concerned = [""] if folder == "nvidia/cudnn" else list(dict.fromkeys(d.name for d in here))
    rows = [observation(_("Written by both"), folder, here[0].location), *(home.concerns(name) for name in concerned)]
    if mixed:
        rows.insert(1, modules_there(mixed))
    if really:
        rows.insert(
            1,
            observation(
                _("Owner of the files, instead of {distribution}", distribution=really.distribution),
                really.really,
                really.cuda_source,
            ),
        )
    return make_finding(
        f"frameworks.duplicates-{folder.replace('/', '-')}",
        severity,
        _("{names} are in one environment and overwrite each other's files.", names=names),
        cause="duplicate_framework_packages",
        why=(
            _(fact.fact)
            if folder == "onnxruntime"
            else _("They write to the same folder: the last one installed wins, and removing one breaks the other.")
        ),
        evidence=rows,
        subject=home.python.prefix,
        fix=_one_of(home, folder, here),
    )


def _one_of(home: EnvironmentView, folder: str, here: list[Distribution]) -> Fix:
    names = tuple(dict.fromkeys(d.name for d in here))
    if folder == "onnxruntime" and "onnxruntime-gpu" in names:
        version = next(d.version for d in here if d.name == "onnxruntime-gpu")
        return gpu_onnxruntime(home.seen, home.python, names, version)
    keep = next((d for d in here if d.name.endswith("-gpu")), None) or next(
        (d for d in here if re.search(r"-cu(da)?\d", d.name)), here[-1]
    )
    if folder == "nvidia/cudnn":
        wanted = " ".join(r for d in home.python.distributions for r in d.requires)
        keep = next((d for d in here if re.search(rf"\b{d.name}\b", wanted)), keep)
    wanted = f"{keep.name}=={keep.version.partition('+')[0]}"
    remedy = InstallPackages(prefix=home.python.prefix, remove=names, install=(wanted,))
    return _keep_one(home, _("Keep only {name}", name=keep.name), names, wanted, remedy)


def _keep_one(
    home: EnvironmentView, title: str, names: Iterable[str], wanted: str, remedy: Remedy | None = None
) -> Fix:
    """Return how to uninstall packages that overwrite each other's files, and to install one of them again."""
    return manual_fix(
        title,
        framework_pip_command(home.seen, home.python, "uninstall", "-y", *names),
        framework_pip_command(home.seen, home.python, "install", wanted),
        restart="program",
        remedy=remedy,
    )


def _installed_twice(home: EnvironmentView) -> Iterator[Finding]:
    """What its release breaks is told by itself: a framework alone says nothing of how it fails before it is used."""
    known: dict[tuple[str, str], list[str]] = {}
    frameworks = {b.distribution for b in home.builds}
    bare = home.without_metadata() if home.near <= 3 else set()
    for d in (d for d in home.python.distributions if (d.location, d.version) not in bare):
        known.setdefault((d.name, d.location), []).append(d.version)
    for (name, location), versions in known.items():
        if len(versions) > 1 and home.near <= 3:
            yield make_finding(
                f"frameworks.twice-{name}",
                WARNING if gpu_side(home.seen).there and name in frameworks else NOTE,
                _(
                    "{name} is recorded twice in one folder: {versions}.",
                    name=name,
                    versions=join_names(sorted(versions, key=version_tuple)),
                ),
                cause="duplicate_framework_packages",
                why=_(
                    "One of them was not removed when the other was installed: the records do not show whose files "
                    "are there."
                ),
                evidence=[observation(_("Records"), join_names(versions), location), home.concerns()],
                subject=home.python.prefix,
                fix=manual_fix(
                    _("Remove every copy of {name}, then install it once", name=name),
                    framework_pip_command(home.seen, home.python, "uninstall", "-y", name),
                    framework_pip_command(home.seen, home.python, "uninstall", "-y", name),
                    framework_pip_command(
                        home.seen, home.python, "install", f"{name}=={max(versions, key=version_tuple)}"
                    ),
                    remedy=InstallPackages(
                        prefix=home.python.prefix,
                        remove=(name,),
                        install=(f"{name}=={max(versions, key=version_tuple)}",),
                    ),
                ),
            )


# --- requirements ------------------------------------------------------------------------------------------


def retired_pynvml(seen: Snapshot) -> Iterator[Finding]:
    """The retired distribution pynvml is in a named or active environment."""
    fact = framework_tables().fact("pynvml")
    for home in environment_views(seen):
        old = home.installed("pynvml")
        if old and home.near <= 1:
            yield make_finding(
                "frameworks.pynvml",
                NOTE,
                _(
                    "The package pynvml {version} in {prefix} is retired.",
                    version=old.version,
                    prefix=home.python.prefix,
                ),
                why=_(fact.fact),
                evidence=[
                    observation(_("Installed"), _("pynvml {version}", version=old.version), old.location),
                    observation(_("Retired"), _("yes"), fact.source),
                ],
                subject=home.python.prefix,
                fix=manual_fix(
                    _("Use nvidia-ml-py instead"),
                    framework_pip_command(seen, home.python, "uninstall", "-y", "pynvml"),
                    framework_pip_command(seen, home.python, "install", "--force-reinstall", "nvidia-ml-py"),
                ),
            )


RULES = (duplicate_packages, shared_files, overwritten_packages, retired_pynvml)
