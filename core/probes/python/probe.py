"""Frameworks probe: the Python environments of this machine, read from outside; nothing in them runs."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from core.common.fact_text import fact_text, join_facts
from core.common.late_pattern import late_pattern
from core.knowledge.modules import module_of
from core.model.facts import Distribution, PythonEnvironment, Way, path_text
from core.probes.probe import ProbeRequest
from core.probes.python.environment import describe_environment, is_of_another_system, prefix_of
from core.probes.python.installed.distributions import all_requirements, find_distributions, is_relevant, required_name
from core.probes.python.locations import DEEP_FIND_STEPS, FIND_STEPS, Candidate, working_folder
from core.probes.python.search.modules import PACKAGE_RECORDS
from core.probes.python.search.search_path import python_search_path, read_interpreter
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.trust import changeable_in_environment

READ_BUDGET_SECONDS = 5.0
"""Seconds after which further environments are listed but not read."""

MAX_PROMOTED = 3
"""Maximum number of remote environments examined in full, if no near one has a GPU framework."""

_GPU = late_pattern(
    r"torch(-nightly)?|tensorflow(-gpu)?|tf-nightly|jax-cuda\d+-plugin|onnxruntime-gpu|ctranslate2|paddlepaddle-gpu"
    r"|cupy-cuda.*|mxnet-cu.*|nvidia-cudnn-cu\d+"
)
"""Distributions that use a GPU or contain a library that does."""


def look(request: ProbeRequest) -> tuple[PythonEnvironment, ...]:
    """Return every environment that was named, is active, is on PATH, is in the current folder or is known to conda.

    Convalesce's own environment is left out unless the person named it, or installed a framework beside it, and one that another
    system's Python made (WSL's on Windows' disk) unless it was named. Each environment is listed once, with
    everything that led to it. If none has a framework and none was named, the newest remote ones with a framework are
    added.
    """
    near = find_environments(request, FIND_STEPS, time.monotonic, keep=True)
    if request.pythons or any(wants_gpu(p) for p in near):
        return near
    far = [p for p in find_further(request, near, time.monotonic) if wants_gpu(p)]
    where = sysroot_of(request.host)
    return near + tuple(sorted(far, key=lambda p: _last_change(p, where), reverse=True)[:MAX_PROMOTED])


def wants_gpu(python: PythonEnvironment) -> bool:
    """Whether an environment contains a GPU framework or NVIDIA's cuDNN."""
    return any(_GPU.fullmatch(d.name) for d in python.distributions)


def find_further(
    request: ProbeRequest, near: tuple[PythonEnvironment, ...], clock: Callable[[], float]
) -> tuple[PythonEnvironment, ...]:
    """Return the environments in tools' folders, the registry or projects, except those in ``near``."""
    where = sysroot_of(request.host)
    known = {where.real_path(p.prefix) for p in near}
    if "further" not in request.shared:
        request.shared["further"] = find_environments(request, DEEP_FIND_STEPS, clock)
    further: tuple[PythonEnvironment, ...] = request.shared["further"]
    return tuple(p for p in further if where.real_path(p.prefix) not in known)


def _last_change(python: PythonEnvironment, where: Sysroot) -> float:
    """Return the time of the last installation, in seconds since the epoch."""
    seen = [where.stat(folder) for folder in python.site_packages]
    return max((s.st_mtime for s in seen if s), default=0.0)


def find_environments(
    request: ProbeRequest,
    steps: tuple[Callable[[ProbeRequest], Iterator[Candidate]], ...],
    clock: Callable[[], float],
    *,
    keep: bool = False,
) -> tuple[PythonEnvironment, ...]:
    """Return the environments that the steps find, in order.

    ``keep``: pass each to the request as part of the section, and list every distribution that has to do with a
    framework. After READ_BUDGET_SECONDS on ``clock`` an environment is listed, but not read.
    """
    where = sysroot_of(request.host)
    end = clock() + READ_BUDGET_SECONDS
    ways: dict[str, dict[str, Way]] = {}
    chosen: dict[str, tuple[str, Candidate]] = {}
    for step in steps:
        satisfied = ""
        for candidate in step(request):
            request.watch.check()
            if candidate.group and candidate.group == satisfied:
                continue  # Programs get the first python3 on PATH, not a later one.
            prefix = prefix_of(candidate.path, where, request.env)
            if not candidate.named and (not prefix or is_of_another_system(prefix, where)):
                continue
            same = where.real_path(prefix or candidate.path)
            if not candidate.named and is_ours(same, where) and not _holds_framework(prefix, candidate, request, where):
                continue
            satisfied = candidate.group or satisfied
            chosen.setdefault(same, (prefix, candidate))
            its = ways.setdefault(same, {})
            if not (candidate.weak and its):
                its.setdefault(candidate.found_by, candidate.way)
    described = []
    for same, (prefix, candidate) in chosen.items():
        describe = functools.partial(_describe, prefix, candidate, request, where, late=clock() > end, every=keep)
        for its_own in request.apart(lambda: (describe(),)):  # noqa: B023 - called at once
            described.append(_named_only(its_own, ways[same]))
            if keep:
                request.keep(described[-1])
    return tuple(described)


def is_ours(prefix: str, where: Sysroot) -> bool:
    """Whether ``prefix`` is the environment in which Convalesce itself is installed."""
    return sys.prefix != sys.base_prefix and prefix == where.real_path(where.target_path(sys.prefix))


def _holds_framework(prefix: str, candidate: Candidate, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether our own environment is also one that somebody works in."""
    return wants_gpu(_describe(prefix, candidate, request, where, late=False, every=False))


def _named_only(python: PythonEnvironment, ways: dict[str, Way]) -> PythonEnvironment:
    return replace(python, found_by=join_facts(ways), ways=tuple(dict.fromkeys(ways.values())))


def _describe(
    prefix: str, candidate: Candidate, request: ProbeRequest, where: Sysroot, *, late: bool, every: bool
) -> PythonEnvironment:
    if not prefix:
        problem = fact_text("There is no Python environment here.")
        if where.stat(candidate.path) is None:
            problem = fact_text("This path does not exist, or this user may not look at it.")
        return PythonEnvironment(prefix=path_text(candidate.path), problem=problem)
    if late:
        return PythonEnvironment(prefix=path_text(prefix), problem=fact_text("It was not read: time ran out."))
    its = describe_environment(prefix, candidate.path, request.env, where, every=every)
    if every:
        its = _with_further_folders(its, request, where)
    return replace(its, changeable=changeable_in_environment(its, where))


def _packages_in(folder: str, named: frozenset[str], where: Sysroot) -> tuple[Distribution, ...] | None:
    """Return the listed distributions of a folder, and those whose names are listed or required elsewhere; None if nothing was installed
    into it.
    """
    found = find_distributions(folder, where, every=True) or ()
    known = {d.name for d in found}
    records = any(n.endswith(PACKAGE_RECORDS) for n in where.names(folder) or ())
    others = [d for d in all_requirements(folder, where) if d.name in named - known] if records else []
    return (*found, *others) or (() if records else None)


def _bare_records(folder: str, named: frozenset[str], where: Sysroot) -> tuple[Distribution, ...]:
    """Return the records in the working folder without their packages: programs that start there ask these for releases."""
    names = where.names(folder) or ()
    if not any(n.endswith(".dist-info") for n in names):
        return ()
    tops = {n.partition(".")[0] for n in names}
    every = (d for d in all_requirements(folder, where) if d.name in named and not is_relevant(d.name))
    return tuple(d for d in every if d.version and module_of(d.name) not in tops)


def _with_further_folders(its: PythonEnvironment, request: ProbeRequest, where: Sysroot) -> PythonEnvironment:
    """Add the packages that PYTHONPATH and .pth files lead to, in the order of the search: the first of a name wins."""
    python = read_interpreter(its.prefix, its.executable, where)
    if python is None:
        return its
    here = working_folder(where)
    entries = python_search_path(python, request.env, request.script_folder or here, where, working=here).entries
    order = [e.path for e in entries if e.origin != "standard library"]
    known = {where.real_path(f) for f in its.site_packages}
    named = frozenset(d.name for d in its.distributions)
    named |= {required_name(wish) for d in its.distributions for wish in (*d.pins, *d.requires)}
    new: dict[str, tuple[Distribution, ...]] = {}
    bare: list[Distribution] = []
    for entry in entries:
        if entry.origin == "standard library" or where.real_path(entry.path) in known:
            continue
        if entry.origin == "start":
            bare += _bare_records(entry.path, named, where)
        elif (found := _packages_in(entry.path, named, where)) is not None:
            new[entry.path] = found
    place = {f: n for n, f in enumerate(order)}
    every = (*its.distributions, *bare, *(d for its_own in new.values() for d in its_own))
    return replace(
        its,
        site_packages=(*its.site_packages, *new),
        distributions=tuple(sorted(every, key=lambda d: place.get(d.location, len(order)))),
    )
