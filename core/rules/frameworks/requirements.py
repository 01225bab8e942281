"""Rules about what packages require of each other, and what was built for another NumPy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from core.common.i18n import _, join_sentences, n_
from core.common.late_pattern import late_pattern
from core.common.requirements import is_in_specifier
from core.common.text import join_names
from core.common.versions import is_older, version_tuple
from core.knowledge.causes import Cause
from core.knowledge.frameworks import framework_tables
from core.knowledge.modules import CheckedRequirement, NumpyTwo, followed_distributions, module_table, needed_at_start
from core.model.facts import BuiltForNumpy1, Distribution, Snapshot
from core.model.findings import Evidence, Finding, Fix
from core.model.remedies import InstallPackages, Remedy
from core.model.steps import Severity
from core.rules.frameworks.advice import framework_pip_command, reinstall_requirement
from core.rules.frameworks.environment_view import (
    FRAMEWORKS,
    EnvironmentView,
    UnmetRequirement,
    asked_of,
    environment_views,
    first_of_each,
    unmet_requirements,
)
from core.rules.frameworks.fit import gpu_side, minor_version
from core.rules.frameworks.imports import removal_remedy, stop_shadowing
from core.rules.wording import ERROR, NOTE, WARNING, make_finding, manual_fix, observation

_PARTS = late_pattern(r"nvidia-.*|cuda-.*|.*triton.*|jaxlib|jax-cuda.*")
"""Parts of frameworks that the rules about libraries examine; these report what is missing."""

_FOLLOWED = late_pattern(r"nvidia-.*|cuda-.*")
"""Libraries: the rules that follow binaries report whatever lacks one."""

_WITHOUT_RECORDS = ("conda",)
"""Kinds of environment that may contain a package without a distribution of its name."""


def broken_requirements(seen: Snapshot) -> Iterator[Finding]:
    """A package's requirement has another version or is missing: one finding for each package that must change."""
    examined = {load.consumer.prefix for load in seen.loads or () if load.consumer.framework}
    for home in environment_views(seen):
        if home.near > 3:
            continue
        unmet = list(unmet_requirements(home))
        wrong: dict[str, list[UnmetRequirement]] = {}
        for b in unmet:
            if b.installed:
                wrong.setdefault(b.wanted, []).append(b)
        for its in _without_parts_of_one(wrong):
            yield _unmet(home, its, loaded=home.python.prefix in examined)
        absent = [b for b in unmet if not b.installed and not b.optional]
        there = {} if home.python.kind in _WITHOUT_RECORDS else _unrecorded(home)
        for name in dict.fromkeys(b.wanted for b in absent if b.wanted in there):
            yield _without_record_of_its_own(home, [b for b in absent if b.wanted == name], there[name])
        yield from _absent(home, [b for b in absent if b.wanted not in there])


def _without_parts_of_one(wrong: dict[str, list[UnmetRequirement]]) -> Iterator[list[UnmetRequirement]]:
    """Yield what is reported together: all faults of one package; minor ones of NVIDIA's packages in one."""
    mild = [
        name
        for name, its in wrong.items()
        if name.startswith(("nvidia-", "cuda-")) and all(how_bad(b)[0] <= NOTE for b in its)
    ]
    together = mild if len(mild) > 1 else []
    if together:
        yield [b for name in together for b in wrong[name]]
    yield from (its for name, its in wrong.items() if name not in together)


def _unmet(home: EnvironmentView, its: list[UnmetRequirement], *, loaded: bool) -> Finding:
    worst = max(its, key=lambda b: how_bad(b)[0])
    severity, cause = how_bad(worst)
    if loaded and worst.wanted.startswith("nvidia-cudnn") and check_of(worst) is None:
        severity = NOTE  # The libraries loaded there were examined, which shows more than versions do.
    if not gpu_side(home.seen).there and worst.wanted.startswith(("nvidia-", "cuda-")):
        severity = NOTE
    severity = min(severity, home.severity)
    checked = check_of(worst) if severity > NOTE else None
    hides = _asker_in_front(home, worst)
    in_front = hides or _record_in_front(home, worst)
    fix, remedy = _without_record(home, in_front) if in_front else (_change_laggard(home, its), None)
    names = list(dict.fromkeys(b.wanted for b in its))
    return make_finding(
        f"frameworks.requires-{worst.wanted}" if len(names) == 1 else "frameworks.requires-nvidia",
        severity,
        _(
            "{name} {version} requires {wanted}{specifier}, but {installed} is installed.",
            name=worst.of.name,
            version=worst.of.version,
            wanted=worst.wanted,
            specifier=worst.specifier,
            installed=worst.installed,
        ),
        cause="module_shadowed" if hides and severity > NOTE else cause,
        why=join_sentences(
            _("Python uses the first record on its search path: that in {folder}.", folder=in_front.location)
            if in_front
            else _("Something that was installed later brought another version."),
            _("The loaded library decides whether it matters.")
            if severity <= NOTE
            else _("It checks versions when it starts, and stops with this one.")
            if checked is not None and checked.ends == "import"
            else _("It checks versions when it starts, and does not use the GPU with this one.")
            if checked is not None
            else _("The two were not built for each other."),
        ),
        evidence=[
            *map(_required, its),
            *([observation(_("Installed"), f"{hides.name} {hides.version}", hides.location)] if hides else []),
            *(
                observation(_("Installed"), f"{name} {b.installed}", _found_at(home, name))
                for name, b in {b.wanted: b for b in its}.items()
            ),
            *([observation(_("Checked when it starts"), checked.wanted, checked.source)] if checked else []),
            *(home.concerns(name) for name in _concerned(home, its)),
        ],
        subject=hides.location if hides and severity > NOTE else home.python.prefix,
        fix=fix,
        remedy=remedy,
    )


def _asker_in_front(home: EnvironmentView, unmet: UnmetRequirement) -> Distribution | None:
    """Return the package that asks, if it hides another release of itself in the environment that would take what is installed."""
    every = [d for d in home.python.distributions if d.name == unmet.of.name]
    fits = (all(is_in_specifier(text, unmet.installed) for text in asked_of(home, d, unmet.wanted)) for d in every[1:])
    others = [d for d, fit in zip(every[1:], fits, strict=True) if fit and d.location != every[0].location]
    return every[0] if others else None


def _record_in_front(home: EnvironmentView, unmet: UnmetRequirement) -> Distribution | None:
    """Return the record that Python finds first, if it hides that of a release in the environment that would do."""
    every = [d for d in home.python.distributions if d.name == unmet.wanted]
    others = (d for d in every if d.location != every[0].location)
    return every[0] if any(is_in_specifier(unmet.specifier, d.version) for d in others) else None


def _without_record(home: EnvironmentView, record: Distribution) -> tuple[Fix, Remedy | None]:
    """Return how Python comes to find the other record: a whole installation goes off its search path, a record alone gets another name."""
    search = home.search
    owner = f"{record.name} {record.version}"
    whole = next((m for m in search.modules if m.owner == owner and m.entry >= 0), None) if search else None
    entry = search.entries[whole.entry] if search and whole else None
    if entry and entry.origin in ("user site", "PYTHONPATH"):
        return stop_shadowing(home, "", entry, owner=owner), removal_remedy(home, entry)
    return manual_fix(
        _(
            "Rename the record of {name} {version} in {folder}",
            name=record.name,
            version=record.version,
            folder=record.location,
        ),
        _("Or keep that folder off Python's search path: start programs in another one, or take it out of PYTHONPATH."),
        restart="program",
    ), None


def _required(b: UnmetRequirement) -> Evidence:
    return observation(
        _("Required"),
        f"{b.wanted}{b.specifier}",
        _("metadata of {name} {version}", name=b.of.name, version=b.of.version),
    )


def _found_at(home: EnvironmentView, name: str) -> str:
    its = home.installed(name)
    return its.location if its else ""


def _concerned(home: EnvironmentView, its: list[UnmetRequirement]) -> list[str]:
    """Return the packages whose requirement is broken; the required ones work without them."""
    names = dict.fromkeys(b.of.name for b in its if home.installed(b.of.name))
    return list(dict.fromkeys((*names, *("jax" for n in names if n.startswith("jax-cuda") and home.installed("jax")))))


def _change_laggard(home: EnvironmentView, its: list[UnmetRequirement]) -> Fix:
    """Return how to change the package that does not fit the framework, never the framework itself."""
    wanted = its[0].wanted
    users = list(dict.fromkeys(b.of.name for b in its if not FRAMEWORKS.fullmatch(b.of.name)))
    minds = any(FRAMEWORKS.fullmatch(b.of.name) or _PARTS.fullmatch(b.of.name) for b in its)
    anchored = bool(FRAMEWORKS.fullmatch(wanted)) or (wanted in SHARED and not minds)
    if anchored and users:
        kept = f"{wanted}=={its[0].installed.partition('+')[0]}"
        index = _index_of(its[0].installed)
        return manual_fix(
            _("Install the release of {names} that fits {kept}", names=join_names(users), kept=kept),
            framework_pip_command(home.seen, home.python, "install", "--upgrade", *users, kept, *index),
            restart="program",
        )
    broken = {b.wanted: b.specifier for b in its}  # of an extra, say: without it the installed release would do
    every = {name: _all_specifiers(home, name) or text for name, text in broken.items()}
    return reinstall_requirement(home.seen, home.python, *(f"{name}{text}" for name, text in every.items()))


SHARED = ("numpy", "protobuf", "ml-dtypes")
"""Packages that many others require: if a framework accepts the installed release, the others change."""


def releases_that_fit(
    home: EnvironmentView, askers: Sequence[str], other: str, version: str, *, stays: bool = False
) -> tuple[Fix, InstallPackages | None]:
    """Return how packages get releases that fit each other: a framework stays as it is, and what asks for it changes.

    ``version``: that of the other package, where it is known. ``stays``: what asks for it is known to be too old. No exchange where others depend on one of them by the build, or where only
    frameworks disagree.
    """
    known = {n: version if n == other and version else its.version if (its := home.installed(n)) else ""
             for n in dict.fromkeys((*askers, other))}  # fmt: skip
    kept = {n for n, v in known.items() if v and (FRAMEWORKS.fullmatch(n) or (stays and n == other))}
    wanted = {n: f"{n}=={v}" if n in kept else n for n, v in known.items()}
    command = framework_pip_command(home.seen, home.python, "install", "--upgrade", *wanted.values())
    words = _("Install releases that fit each other: {names}", names=join_names(tuple(wanted)))
    going = tuple(n for n in wanted if n not in kept)
    remedy = InstallPackages(prefix=home.python.prefix, remove=going, install=tuple(wanted.values()))
    certain = going and all(known.values()) and not any(n in SHARED for n in going)
    return manual_fix(words, command, restart="program"), remedy if certain else None


def _all_specifiers(home: EnvironmentView, name: str) -> str:
    """Return the version specifiers for one package of all frameworks in an environment, else of all its packages."""
    asked = [(d.name, text) for d in first_of_each(home) for text in asked_of(home, d, name)]
    mine = [text for by, text in asked if FRAMEWORKS.fullmatch(by) or _PARTS.fullmatch(by)]
    parts = dict.fromkeys(p for text in mine or [t for _by, t in asked] for p in text.split(",") if p)
    return ",".join(parts)


def _index_of(version: str) -> tuple[str, ...]:
    variant = version.partition("+")[2]
    known = re.fullmatch(r"cu\d+|cpu", variant)
    return ("--extra-index-url", f"{framework_tables().torch_index.url}{variant}") if known else ()


def _absent(home: EnvironmentView, lacking: list[UnmetRequirement]) -> Iterator[Finding]:
    """A requirement of a framework is not installed; its import will fail with that message."""
    if home.python.kind in _WITHOUT_RECORDS:
        return
    followed = followed_distributions()
    asking = (b for b in lacking if check_of(b) or any(re.fullmatch(p, b.of.name) for p in followed))
    mine = [b for b in asking if not _FOLLOWED.fullmatch(b.wanted)]
    for name in dict.fromkeys(b.of.name for b in mine):
        its = [b for b in mine if b.of.name == name]
        names = join_names(b.wanted for b in its)
        yield make_finding(
            f"frameworks.lacks-{name}",
            home.severity
            if any(check_of(b) or needed_at_start(name, b.wanted) for b in its)
            else min(home.severity, WARNING),
            _(
                "{name} {version} requires packages that are not installed: {names}.",
                name=name,
                version=its[0].of.version,
                names=names,
            ),
            cause="requirement_broken",
            why=_("It cannot be imported, or not all of it works, until they are there."),
            evidence=[
                *(
                    observation(
                        _("Required"),
                        f"{b.wanted}{b.specifier}",
                        _("metadata of {name} {version}", name=name, version=b.of.version),
                    )
                    for b in its
                ),
                home.concerns(name),
            ],
            subject=home.python.prefix,
            fix=reinstall_requirement(home.seen, home.python, *(f"{b.wanted}{b.specifier}" for b in its)),
        )


def _unrecorded(home: EnvironmentView) -> dict[str, str]:
    """Return the distributions whose module is there and whose folder of metadata is not, each with the module's file."""
    return dict(home.search.unrecorded) if home.search else {}


def _without_record_of_its_own(home: EnvironmentView, its: list[UnmetRequirement], path: str) -> Finding:
    """A required package is there, and its record is gone: only what asks for its version fails."""
    asking = [b for b in its if check_of(b)]
    wanted = its[0].wanted
    return make_finding(
        f"frameworks.unrecorded-{wanted}",
        home.severity if asking else NOTE,
        _("{name} in {prefix} lost its record: its .dist-info folder is gone.", name=wanted, prefix=home.python.prefix),
        cause="installation_interrupted",
        why=_("{names} asks for its version when it starts, and stops.", names=join_names(b.of.name for b in asking))
        if asking
        else _("Its files are there, and nothing here is known to ask for its version. pip takes it for absent."),
        evidence=[
            observation(_("Its module"), path),
            *map(_required, its),
            *(home.concerns(b.of.name) for b in asking or its[:1]),
        ],
        subject=path,
        fix=reinstall_requirement(home.seen, home.python, *dict.fromkeys(f"{b.wanted}{b.specifier}" for b in its[:1])),
    )


def jax_without_its_other_half(seen: Snapshot) -> Iterator[Finding]:
    """Only one of JAX's two packages for CUDA is installed, so JAX uses the CPU only."""
    for home in environment_views(seen):
        jax = home.installed("jax")
        for d in home.python.distributions if jax and home.near <= 3 else ():
            half = re.fullmatch(r"jax-cuda(\d+)-pjrt", d.name)
            other = f"jax-cuda{half[1]}-plugin" if half else ""
            if other and jax and not home.installed(other):
                wanted = f"{other}=={d.version}"
                yield make_finding(
                    "frameworks.lacks-jax-plugin",
                    home.severity if gpu_side(seen).there is not False else min(home.severity, WARNING),
                    _("{package} is installed in {prefix}, but {other} is not: JAX uses no GPU.",
                      package=f"{d.name} {d.version}", other=other, prefix=home.python.prefix),
                    cause="requirement_broken",
                    why=_("JAX uses CUDA through two packages of one release, and loads the first through the second."),
                    evidence=[observation(_("Installed"), f"{d.name} {d.version}", d.location), home.concerns("jax")],
                    subject=home.python.prefix,
                    fix=reinstall_requirement(seen, home.python, wanted),
                )  # fmt: skip


def numpy_abi(seen: Snapshot) -> Iterator[Finding]:
    """Extension modules built for NumPy 1 are installed beside NumPy 2, although their metadata allows it."""
    for home in environment_views(seen):
        numpy = home.installed("numpy")
        if home.near > 3 or numpy is None or version_tuple(numpy.version)[:1] < (2,):
            continue
        told = {u.of.name for u in unmet_requirements(home) if u.wanted == "numpy"}
        shown = {b.distribution: b for b in (home.search.numpy_1 if home.search else ())}
        others = [d for d in first_of_each(home) if d.name not in told and d.name not in shown]
        known = [
            (d, row)
            for row in module_table().numpy_2
            for d in others
            if re.fullmatch(row.distributions, d.name) and is_older(d.version, row.release)
        ]
        if shown or known:
            yield _built_for_numpy_1(home, numpy, tuple(shown.values()), known)


def _built_for_numpy_1(
    home: EnvironmentView,
    numpy: Distribution,
    shown: tuple[BuiltForNumpy1, ...],
    known: list[tuple[Distribution, NumpyTwo]],
) -> Finding:
    """Return a finding about packages whose own modules show it (``shown``), and releases that are known for it.

    NumPy 2 rejects the first, whoever imports them. An older NumPy helps both, and what their metadata and modules do not
    show. If something requires NumPy 2, newer releases of the first help where all are of that kind.
    """
    names = [*(b.distribution for b in shown), *(d.name for d, _row in known)]
    frameworks = [name for name in names if FRAMEWORKS.fullmatch(name)]
    ended = [d.name for d in first_of_each(home) if any(needed_at_start(d.name, b.distribution) for b in shown)]
    ends_import = shown or any(row.ends_import for _d, row in known)
    remedy: InstallPackages | None = None
    if not known and not _takes_numpy_1(home):
        if not frameworks:
            wanted = (*names, f"numpy=={numpy.version}")
            remedy = InstallPackages(prefix=home.python.prefix, remove=tuple(names), install=wanted)
        upgrade = ("install", "--upgrade", *names, f"numpy=={numpy.version}")
        fix = manual_fix(
            _("Install releases that were built for NumPy 2"),
            framework_pip_command(home.seen, home.python, *upgrade),
            restart="program",
        )
    else:
        fix = reinstall_requirement(home.seen, home.python, "numpy<2")
    return make_finding(
        "frameworks.numpy-abi",
        home.severity if ends_import else min(home.severity, WARNING) if frameworks else NOTE,
        n_(
            "{names} was built for NumPy 1, but {numpy} is installed.",
            "{names} were built for NumPy 1, but {numpy} is installed.",
            len(names),
            names=join_names(
                [f"{b.distribution} {b.version}" for b in shown] + [f"{d.name} {d.version}" for d, _row in known]
            ),
            numpy=f"numpy {numpy.version}",
        ),
        cause="numpy_abi_mismatch",
        why=_(
            "Extension modules that were built for NumPy 1 do not load with NumPy 2, or cannot exchange arrays with it."
        ),
        evidence=[
            observation(_("Installed"), f"numpy {numpy.version}", numpy.location),
            *(observation(_("Extension module"), b.path, f"{b.distribution} {b.version}") for b in shown),
            *(observation(_("The first release for NumPy 2"), f"{d.name} {r.release}", r.source) for d, r in known),
            *(home.concerns(name) for name in dict.fromkeys((*ended, *(frameworks or names)))),
        ],
        subject=shown[0].path if shown else home.python.prefix,
        subjects=[b.path for b in shown],
        fix=fix,
        remedy=remedy,
    )


NUMPY_1 = (("1.26.4", (3, 12)), ("1.24.4", (3, 11)), ("1.21.6", (3, 10)))
"""Last releases of three series, each with the newest Python that it has wheels for."""


def _takes_numpy_1(home: EnvironmentView) -> bool:
    """Whether a NumPy 1 runs in this Python, and does for all that is installed: what was built for NumPy 2 runs with it, too.

    Source: https://numpy.org/doc/stable/dev/depending_on_numpy.html (NumPy 2.0 specific advice).
    """
    asked = [text for d in first_of_each(home) for text in asked_of(home, d, "numpy")]
    its = version_tuple(home.python.version)[:2]
    return any(
        its <= newest and all(is_in_specifier(text, release) is not False for text in asked)
        for release, newest in NUMPY_1
    )


def check_of(b: UnmetRequirement) -> CheckedRequirement | None:
    """Return the check at a package's start that this requirement fails; None if nothing checks it."""
    for row in module_table().checked:
        if re.fullmatch(row.of, b.of.name) and re.fullmatch(row.wanted, b.wanted):
            early = row.first and is_older(b.of.version, row.first) is True
            least = next(iter(re.findall(r"(?:==|>=|~=)\s*([\d.]+)", b.specifier)), "")
            if not early and not (row.older and b.installed and is_older(b.installed, least) is not True):
                return row
    return None


def how_bad(b: UnmetRequirement) -> tuple[Severity, Cause]:
    """Return the severity of a broken requirement, and its cause: a newer library of the same major version usually works."""
    if b.installed and check_of(b):
        return ERROR, "requirement_broken"
    if b.installed and "==" in b.specifier and b.wanted.startswith(f"{b.of.name}-"):
        return WARNING, "requirement_broken"  # a part of its own, which must have exactly one release
    wanted = next(iter(re.findall(r"(?:==|>=|~=|>)\s*([\d.]+)", b.specifier)), "")
    same_major = version_tuple(wanted)[:1] == version_tuple(b.installed)[:1]
    if b.optional and (same_major or not wanted):
        return NOTE, "requirement_broken"
    if b.wanted.startswith("nvidia-cudnn"):
        if not same_major:
            return WARNING, "cudnn_major_mismatch"
        if is_older(b.installed, wanted):
            return WARNING, "cudnn_minor_too_old"
        return NOTE, "requirement_broken"
    if (
        b.wanted.startswith(("nvidia-", "cuda-"))
        and not is_older(minor_version(b.installed), minor_version(wanted))
        and same_major
    ):
        return NOTE, "requirement_broken"
    if b.wanted.startswith(("nvidia-", "cuda-", "torch", "triton", "jax", "tensorflow")):
        return WARNING, "requirement_broken"
    if (
        FRAMEWORKS.fullmatch(b.of.name)
        and b.installed
        and is_older(minor_version(b.installed), minor_version(wanted)) is True
        and "<" not in b.specifier
    ):
        return WARNING, "requirement_broken"  # older than the oldest release that it supports
    if FRAMEWORKS.fullmatch(b.of.name) and wanted and not same_major:
        # NumPy's ABI changed with its major version 2, protobuf's with each major version.
        return WARNING, "requirement_broken"
    return NOTE, "requirement_broken"


RULES = (broken_requirements, jax_without_its_other_half, numpy_abi)
