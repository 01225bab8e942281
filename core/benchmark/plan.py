"""What to benchmark: which consumer's cuDNN, and on which GPU."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from core.benchmark.extent import Extent
from core.benchmark.protocol import BenchmarkJob, GpuSelector
from core.host.provenance import Verdict
from core.knowledge.cudnn import cudnn_knowledge
from core.model.facts import Gpu, PythonEnvironment, Resolution, Snapshot
from core.model.paths import is_inside
from core.probes.loading.plan import LoadContext, LoadPlan, plan_load
from core.probes.loading.probe import ConsumerRequirement, find_consumers
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot
from core.probes.trust import load_verdict, record_execution


@dataclass(frozen=True)
class ChosenConsumer:
    """The consumer whose cuDNN is measured, and the files that its loader will take."""

    want: ConsumerRequirement
    plan: LoadPlan
    predicted: tuple[str, ...]
    """Real paths of the files that the search predicts."""
    nvrtc: tuple[str, ...]
    cublas: tuple[str, ...]
    verdict: Verdict = field(default_factory=lambda: Verdict(may=True))

    @property
    def label(self) -> str:
        """The consumer in words, as findings about it name it."""
        return self.want.consumer.description


def choose_consumer(request: ProbeRequest, where: Sysroot) -> ChosenConsumer | None:
    """Return the consumer to measure: the one that the person named, else the active one, else PyTorch's, else any that finds a cuDNN."""
    known = cudnn_knowledge()
    setting = LoadContext(request, where, known, request.env)
    wants = sorted(find_consumers(request, where, known), key=lambda w: _rank(w, request))
    for want in wants:
        plan = plan_load(want.consumer, want.wish, want.python, setting)
        if plan.roll is not None and (plan.resolutions and plan.resolutions[0].winner):
            verdict = load_verdict(plan, want.python, where)
            record_execution("roll call", plan.resolutions[0].winner.path, verdict, request, want.consumer.full_id)
            if not verdict.may:
                continue
            return ChosenConsumer(
                verdict=verdict,
                want=want,
                plan=plan,
                predicted=tuple(where.real_path(w.path) for r in plan.resolutions if (w := r.winner)),
                nvrtc=_library("nvrtc", want.python, request.seen, plan.resolutions, where),
                cublas=_library("cublas", want.python, request.seen, plan.resolutions, where),
            )
    return None


def _rank(want: ConsumerRequirement, request: ProbeRequest) -> tuple[bool, bool, bool, bool, int]:
    prefix = want.consumer.prefix
    named = bool(prefix) and any(is_inside(request.host.system, given, prefix) for given in request.pythons)
    active = bool(prefix) and prefix in (request.env.get("VIRTUAL_ENV"), request.env.get("CONDA_PREFIX"))
    torch = want.wish.framework.startswith("torch ")
    return not named, not active, not torch, not want.wish.framework, -want.wish.major


def _library(
    stem: str, python: PythonEnvironment | None, seen: Snapshot, resolutions: tuple[Resolution, ...], where: Sysroot
) -> tuple[str, ...]:
    """Return candidates for NVRTC or cuBLAS: from the search, in the same environment, then on the machine.

    The ladder runs in its own process, so what it loads says nothing about the search.
    """
    name = re.compile(rf"(lib)?{stem}(64_[\d_]+\.dll|\.so\.[\d.]+)$")
    searched = [w.path for r in resolutions if name.match(r.name) and (w := r.winner)]
    prefix = python.prefix if python else ""
    toolkits = sorted(seen.toolkits or (), key=lambda t: not (prefix and t.root.startswith(prefix)))
    files = [f.path for t in toolkits for f in t.libraries if name.match(f.name) and f.state == "good"]
    bare = {"nvrtc": ("13", "12", "11.2"), "cublas": ("13", "12", "11")}[stem]
    windows = {"nvrtc": ("130_0", "120_0", "112_0"), "cublas": ("13", "12", "11")}[stem]
    by_name = (
        [f"{stem}64_{n}.dll" for n in windows] if where.system == "windows" else [f"lib{stem}.so.{n}" for n in bare]
    )
    return tuple(dict.fromkeys([*searched, *files, *by_name]))


def gpu_selector(gpu: Gpu) -> GpuSelector:
    """Return how a child process finds a GPU. In MIG mode, its instances have other UUIDs."""
    return GpuSelector(uuid="" if gpu.mig else gpu.uuid, ordinal=gpu.index)


def make_job(chosen: ChosenConsumer, gpu: Gpu, extent: Extent) -> BenchmarkJob:
    """Return the job for the worker, with its time limit."""
    roll = chosen.plan.roll
    assert roll is not None
    return BenchmarkJob(
        gpu=gpu_selector(gpu),
        cudnn=(roll.main,),
        preload=roll.preload,
        folders=roll.folders,
        exact=extent.exact,
        compared=extent.compared,
        timed=extent.timed,
        seconds=extent.engine_seconds,
        each=extent.each_seconds,
        rest=extent.rest,
    )
