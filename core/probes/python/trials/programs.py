"""Trials of Python programs that the person named: the imports with which they start are carried out, and nothing else of them."""

from __future__ import annotations

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.host.provenance import Verdict
from core.model.facts import ProgramTrial, PythonEnvironment, path_text
from core.probes.loading.origin import runs_here
from core.probes.probe import ProbeRequest
from core.probes.python.trials.experiments import Laboratory
from core.probes.python.trials.probe import installed_frameworks
from core.probes.python.trials.run import Trial, run_trial
from core.probes.sysroot import Sysroot, sysroot_of
from core.probes.trust import interpreter_verdict, record_execution


def look(request: ProbeRequest) -> tuple[ProgramTrial, ...] | None:
    """Return what the start of the named program did in the first environment that was named and has a framework, else in the first;
    None where nothing was tried.
    """
    where = sysroot_of(request.host)
    if not request.script or not runs_here(where):
        return None
    named = [p for p in request.seen.pythons or () if "--python" in p.ways and p.executable and not p.problem]
    python = next((p for p in named if next(installed_frameworks(p, where), None)), next(iter(named), None))
    if python is None:
        return None
    verdict = interpreter_verdict(python, where, also=(request.script,))
    record_execution("interpreter", python.executable, verdict, request)
    return (_try_program(python, request, where, verdict),) if verdict.may and verdict.account is None else ()


def _try_program(python: PythonEnvironment, request: ProbeRequest, where: Sysroot, verdict: Verdict) -> ProgramTrial:
    request.watch.check()
    request.watch.say(fact_text("Trying {module} of {prefix}", module=where.name(request.script), prefix=python.prefix))
    trial = Trial(python, where.name(request.script), "", f"program:{where.local_path(request.script)}")
    done = run_trial(trial, request, request.env, where, verdict)
    found = ProgramTrial(
        prefix=python.prefix,
        path=path_text(request.script),
        state="imported",
        problem=done.problem,
        seconds=done.seconds,
    )
    if done.timed_out:
        return replace(found, state="no answer")
    if not done.problem and not done.ended:
        return found
    failed = replace(found, state="ended" if done.ended else "failed", failures=done.failures, ended=done.ended)
    request.keep(failed)
    begun = done.failures[0].text if done.failures else done.problem
    return replace(failed, experiments=Laboratory(request, where).look_into(trial, done, begun, verdict))
