"""Whether a change of packages does what it should: import what the twin has, and compare with the environment as it is."""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec.structs import replace
from packaging.utils import canonicalize_name

from core.common.i18n import _, translate_fact
from core.common.late_pattern import late_pattern
from core.common.progress import Progress
from core.fixes.packages.context import ExchangeContext, changed_python
from core.fixes.packages.twin import records_of
from core.host.interface import Host
from core.host.provenance import environment_for
from core.model.changes import ExchangePackages
from core.model.facts import FrameworkTrial, PythonEnvironment, Snapshot
from core.probes.probe import ProbeRequest
from core.probes.python.installed.distributions import find_distributions
from core.probes.python.trials.probe import installed_frameworks
from core.probes.python.trials.run import run_trial
from core.probes.sysroot import sysroot_of
from core.probes.trust import interpreter_verdict
from core.transaction.package_exchange import recorded_packages

IMPORT_SECONDS = 180.0
"""Limit for the import of an extension: a first one from a cold disk takes its time."""


def try_twin(
    change: ExchangePackages, root: Path, later: Host, asked: tuple[str, ...], context: ExchangeContext
) -> tuple[tuple[FrameworkTrial, ...], str, str]:
    """Import each framework of the twin on ``later``, the machine after the change, and convolve where there is a GPU; one that fails
    or crashes must have done so before. Return the trials, what fails in a sentence, and which package that is.
    """
    seen, watch = context.seen, context.watch
    python = changed_python(change, seen)
    if python is None:
        return (), "", ""
    known = (change.twin,)
    moved = replace(
        python,
        prefix=str(root),
        executable=str(root / Path(python.executable).relative_to(python.prefix)),
        site_packages=(*known, *python.site_packages[1:]),
    )
    done = try_frameworks(moved, seen, later, watch)
    touched = {p.name for p in change.come}
    failed = [t for t in done if t.reached == "nothing"]
    there = recorded_packages(change.folder)
    new = {p.name for p in change.come if (p.name, p.version) not in there}
    has_gpu = seen.driver and seen.driver.gpus
    slow = [t for t in done if has_gpu and t.gpu is False and t.framework in new]
    crashed = [t for t in done if t.ended and not t.timed_out and t.reached != "nothing"]
    others = tuple(name for name in asked if name not in {t.framework for t in done})
    if not failed and not slow and not crashed:
        return done, *_extension_problem(change, moved, later, others, context)
    before = {t.framework: t for t in try_frameworks(python, seen, context.host, watch)}
    worked = [name for name, trial in before.items() if trial.reached != "nothing"]
    if crashes := [t for t in crashed if t.framework in worked and not before[t.framework].ended]:
        return done, _crash_problem(crashes[0]), ""
    if worse := [t for t in failed if t.framework in worked or t.framework in touched]:
        return done, import_problem(worse[0]), worse[0].framework
    if slow := [t for t in slow if t.framework in worked]:  # a framework that could not be imported before has improved
        return done, _("{name} {version} did not use the GPU.", name=slow[0].framework, version=slow[0].version), ""
    return done, *_extension_problem(change, moved, later, others, context)


def _crash_problem(trial: FrameworkTrial) -> str:
    return _(
        "{name} {version} crashed, and did not before: {ended}.",
        name=trial.framework,
        version=trial.version,
        ended=translate_fact(trial.ended),
    )


OF_THE_DRIVER = late_pattern(r"libcuda\.so|nvcuda|nvidia-smi|no CUDA-capable|NVIDIA driver|CUDA driver")
"""In the words of an import that fails where there is no driver, whatever is installed."""


def _extension_problem(
    change: ExchangePackages, moved: PythonEnvironment, host: Host, asked: tuple[str, ...], context: ExchangeContext
) -> tuple[str, str]:
    """Return in a sentence that a package cannot be imported in the twin, and its name.

    Tried are the extensions of a framework that came (torchvision, xformers), and the package that the finding is
    about, if its import is the finding's own evidence.
    """
    of_prefix = (c for c in context.seen.closures or () if os.path.realpath(c.consumer.prefix) == change.prefix)
    known = {c.consumer.framework.partition(" ")[0] for c in of_prefix}
    verdict = interpreter_verdict(moved, sysroot_of(host))
    names = dict.fromkeys((*(p.name for p in change.come if p.name in known), *asked))
    for name in names if verdict.may else ():
        module = _module_of(name, change.twin)
        if not module:
            continue
        command = [moved.executable, "-c", f"import {module}"]
        env = environment_for(verdict, host.fresh_environment())
        run = host.run(command, timeout=IMPORT_SECONDS, env=env, watch=context.watch, account=verdict.account)
        if run.status is not None and run.status > 0 and run.err.strip() and not OF_THE_DRIVER.search(run.err):
            said = run.err.strip().splitlines()[-1]
            return _("import {name} failed: {said}", name=name, said=said), name
    return "", ""


def _module_of(name: str, folder: str) -> str:
    """Return the package by which a distribution is imported: that of its own name, else the only one that it brings; empty where its
    record does not tell.
    """
    own = name.replace("-", "_").replace(".", "_").lower()
    for its, rows in records_of(folder):
        if its != canonicalize_name(name):
            continue
        tops = [m[1] for row in rows if (m := re.match(r"([A-Za-z]\w*)/__init__\.py,", row))]
        return next((t for t in tops if t.lower() == own), tops[0] if len(tops) == 1 else "")
    return ""


def import_problem(trial: FrameworkTrial) -> str:
    """Return in a sentence how the import of a framework failed."""
    said = (trial.problem.strip().splitlines() or [""])[-1] or translate_fact(trial.ended)
    return _("import {name} failed: {said}", name=trial.framework, said=said)


def try_frameworks(
    python: PythonEnvironment, seen: Snapshot, host: Host, watch: Progress
) -> tuple[FrameworkTrial, ...]:
    """Import every framework of an environment in its own interpreter, as a scan with ``--try`` does."""
    where = sysroot_of(host)
    packages = tuple(d for folder in python.site_packages for d in find_distributions(folder, where) or ())
    python = replace(python, distributions=packages)
    request = ProbeRequest(host=host, seen=seen, env=host.fresh_environment(), watch=watch)
    verdict = interpreter_verdict(python, where)
    if not verdict.may:
        return ()
    return tuple(run_trial(t, request, request.env, where, verdict) for t in installed_frameworks(python, where))
