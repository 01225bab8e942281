"""Loading probe: who needs cuDNN, where each consumer's loader finds it, and what happens when it is loaded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.patience import map_in_threads
from core.knowledge.cudnn import CudnnKnowledge, cudnn_knowledge
from core.knowledge.cudnn_file_names import parse_cudnn_name
from core.model.facts import Consumer, CudnnCopy, Load, PythonEnvironment
from core.probes.loading.asked_parts import SERVES_OTHERS, is_served
from core.probes.loading.consumer_load import test_load
from core.probes.loading.consumers import CudnnRequirement, cudnn_requirements
from core.probes.loading.own_loads import served_files
from core.probes.loading.plan import LoadContext, plan_load
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot, sysroot_of

LOADING_THREADS = 2
"""Maximum number of concurrent roll calls."""


class ConsumerRequirement(msgspec.Struct, frozen=True):
    """A consumer, its requirement, and its environment."""

    consumer: Consumer
    wish: CudnnRequirement
    python: PythonEnvironment | None = None


def look(request: ProbeRequest) -> tuple[Load, ...]:
    """Return one Load for each framework's requirement, each wheel that nothing requests, and each major version for a
    plain program.

    Roll calls are made only if the examined system is the running one.
    """
    where = sysroot_of(request.host)
    known = cudnn_knowledge()
    setting = LoadContext(request, where, known, request.env)
    wants = tuple(find_consumers(request, where, known))

    def load_consumer(want: ConsumerRequirement) -> Load:
        made = test_load(plan_load(want.consumer, want.wish, want.python, setting), want.python, setting)
        request.keep(made)
        return made

    return tuple(made for made in map_in_threads(wants, load_consumer, threads=LOADING_THREADS) if made is not None)


def look_again(request: ProbeRequest) -> tuple[Load, ...]:
    """Return the loads with the variables of another way of starting. Unchanged results are not loaded again."""
    where = sysroot_of(request.host)
    known = cudnn_knowledge()
    setting = LoadContext(request, where, known, request.env)
    before = {(load.consumer.full_id, load.major): load for load in request.seen.loads or ()}

    def load_again(want: ConsumerRequirement) -> Load:
        old = before.get((want.consumer.full_id, want.wish.major))
        plan = plan_load(want.consumer, want.wish, want.python, setting)
        if old is not None and old.resolutions == plan.resolutions:
            return old
        return test_load(plan, want.python, setting)

    wants = tuple(find_consumers(request, where, known))
    return tuple(made for made in map_in_threads(wants, load_again, threads=LOADING_THREADS) if made is not None)


def find_consumers(request: ProbeRequest, where: Sysroot, known: CudnnKnowledge) -> Iterator[ConsumerRequirement]:
    """Yield the consumers on this machine, with the cuDNN that each needs."""
    copies = request.seen.cudnn or ()
    for python in request.seen.pythons or ():
        asked = cudnn_requirements(python, where, known, request.seen.machine.architecture)
        majors = {wish.major for wish in asked}
        for wish in asked:
            its = _served_dlls(wish, python, request, where) if where.system == "windows" else wish
            yield ConsumerRequirement(python.consumer(wish.framework), _served(its, asked, request, where), python)
        for copy in copies:
            idle = copy.environment == python.prefix and copy.origin == "wheel" and copy.major not in majors
            if idle and (main := _main(copy, where)):
                yield ConsumerRequirement(python.consumer(), CudnnRequirement(major=copy.major, main=main), python)
    for major in sorted({copy.major for copy in copies if _is_everyones(copy)}):
        label = fact_text("any program that looks for cuDNN by its name")
        yield ConsumerRequirement(Consumer(id="plain", kind="plain", label=label), CudnnRequirement(major=major))


def _served(
    wish: CudnnRequirement, asked: tuple[CudnnRequirement, ...], request: ProbeRequest, where: Sysroot
) -> CudnnRequirement:
    """Return a requirement that is met as PyTorch's binaries find it, where the person's programs import PyTorch before."""
    first = next((w for w in asked if w.framework.startswith(f"{SERVES_OTHERS} ")), None)
    if first is None or where.system == "windows" or not is_served(wish.framework.partition(" ")[0], request, where):
        return wish
    return replace(wish, askers=(*wish.askers, *first.askers))


def _served_dlls(
    wish: CudnnRequirement, python: PythonEnvironment, request: ProbeRequest, where: Sysroot
) -> CudnnRequirement:
    """Return a requirement of a framework on Windows with the DLLs that the person's programs load before it asks for them."""
    name = wish.framework.partition(" ")[0]
    its = next((d for d in python.distributions if d.name == name), None)
    return replace(wish, loaded=served_files(its, python, request, where)) if its else wish


def _main(copy: CudnnCopy, where: Sysroot) -> str:
    """Return the path of a copy's main library; empty if it is missing, since nothing can be loaded then."""
    names = ((f.name, parse_cudnn_name(f.name, where.system)) for f in copy.files)
    return next((where.join(copy.folder, name) for name, what in names if what and not what.role), "")


def _is_everyones(copy: CudnnCopy) -> bool:
    """Whether a copy belongs to no Python environment, or is on every program's search path."""
    on_path = copy.source in ("LD_LIBRARY_PATH", "PATH", "ld.so.cache")
    return on_path or (not copy.environment and copy.origin not in ("wheel", "framework"))
