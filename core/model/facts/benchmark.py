"""The benchmark section: what was computed on which GPU, how fast, and whether it was right."""

from __future__ import annotations

from typing import Literal

from core.model.facts.base import Frozen
from core.model.facts.loading import Mapped

Layer = Literal["driver", "device", "toolkit", "cudnn"]
Direction = Literal["forward", "data gradient", "weight gradient"]
NumberType = Literal["fp32", "tf32", "fp16", "bf16", "int8"]
"""fp32: without tensor cores. tf32: the same data, multiplied in tensor cores with 10 bits of mantissa."""
Layout = Literal["NCHW", "NHWC"]


class Rung(Frozen, frozen=True, kw_only=True):
    """One rung of the ladder from the driver to a convolution: the call that was made and its answer."""

    name: str
    """What it shows: "memory copies both ways"."""
    layer: Layer
    state: Literal["passed", "failed", "absent", "not reached"]
    """absent: the library that this rung needs was not found, and nothing else needs it at once."""
    call: str = ""
    """The call that failed, or the last one: cuMemAlloc_v2."""
    status: int | None = None
    status_name: str = ""
    meaning: str = ""
    """What the status means, or what was seen instead."""
    library: str = ""
    seconds: float = 0.0

    @property
    def answer(self) -> str:
        """The status as number and name; empty if the call had none."""
        return " ".join(filter(None, (str(self.status) if self.status else "", self.status_name)))


class Check(Frozen, frozen=True, kw_only=True):
    """One check of the results."""

    kind: Literal["exact", "two algorithms", "samples", "repeated"]
    type: NumberType
    direction: Direction
    layout: Layout
    shape: str
    algorithm: str = ""
    right: bool | None = None
    """None: this cuDNN or this GPU does not offer it, or it could not be tried; ``detail`` says why."""
    worst: float | None = None
    """Largest difference."""
    bound: float | None = None
    """Largest difference that rounding allows."""
    detail: str = ""


class Timing(Frozen, frozen=True, kw_only=True):
    """The speed of one convolution."""

    shape: str
    label: str = ""
    """The shape in words: "3x3, 64 channels"."""
    type: NumberType
    direction: Direction = "forward"
    layout: Layout = "NHWC"
    by: str = "cuDNN"
    """"cuDNN", or the framework and its version."""
    milliseconds: float | None = None
    """Median of one launch; None when nothing could be measured."""
    spread: float | None = None
    """Half the distance between the quartiles over the median."""
    teraflops: float | None = None
    """Arithmetic of the direct method over the time; a Winograd algorithm may beat the card's limit."""
    gigabytes_per_second: float | None = None
    """Tensors read and written once, over the time."""
    algorithm: str = ""
    tensor_cores: bool | None = None
    algorithms: int = 0
    """How many were tried."""
    seconds: float | None = None
    """Seconds that choosing and measuring took."""
    problem: str = ""

    def is_same_convolution(self, other: Timing) -> bool:
        """Whether both are of one shape, type and direction, in any layout."""
        return (self.label, self.type, self.direction) == (other.label, other.type, other.direction)


class RateLimit(Frozen, frozen=True, kw_only=True):
    """What the card could do at most for one type of number, and what such cards reach in convolutions."""

    type: NumberType
    teraflops: float
    typical: float | None = None
    """Fraction of the limit that a large convolution reaches on a card of this kind; None if never measured."""
    source: str = ""


class GpuProcess(Frozen, frozen=True, kw_only=True):
    """A process on the GPU that is not ours. Memory in bytes."""

    pid: int
    name: str = ""
    memory: int | None = None


class GpuState(Frozen, frozen=True, kw_only=True):
    """What NVML said at one moment. Clocks in MHz, power in watts, degrees Celsius, memory in bytes, load in percent."""

    seconds: float = 0.0
    """Seconds since the first sample."""
    clock: int | None = None
    memory_clock: int | None = None
    power: float | None = None
    temperature: int | None = None
    load: int | None = None
    reasons: int | None = None
    """NVML's bit mask of clock event reasons."""
    memory_used: int | None = None
    memory_free: int | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    processes: tuple[GpuProcess, ...] | None = None


class GpuCard(Frozen, frozen=True, kw_only=True):
    """What a card is, for its limits: from NVML and the driver. Clocks in MHz, power in watts, memory in bytes."""

    name: str = ""
    uuid: str = ""
    pci: str = ""
    compute_capability: str | None = None
    multiprocessors: int | None = None
    max_clock: int | None = None
    max_memory_clock: int | None = None
    bus_width: int | None = None
    """Bits of the memory interface."""
    memory_total: int | None = None
    power_limit: float | None = None
    power_limit_default: float | None = None
    pcie_generation_max: int | None = None
    pcie_width_max: int | None = None
    display: bool | None = None
    """Whether it drives a screen."""
    driver_model: str = ""
    ecc_uncorrected: int | None = None
    """Uncorrected errors since the driver was loaded."""
    on_battery: bool | None = None


class GpuRun(Frozen, frozen=True, kw_only=True):
    """One GPU's benchmark. A run that ended early keeps everything that was learnt before."""

    index: int
    """NVML's index where NVML answers, else the driver's."""
    card: GpuCard | None = None
    consumer: str = ""
    """The consumer whose cuDNN was used, in words; the predicted files and the environment are this consumer's."""
    consumer_id: str = ""
    """``Consumer.full_id`` of the same; empty in older reports."""
    library: str = ""
    """The cuDNN main library that was asked for."""
    version: str | None = None
    rungs: tuple[Rung, ...] = ()
    checks: tuple[Check, ...] = ()
    timings: tuple[Timing, ...] = ()
    frameworks: tuple[FrameworkRun, ...] | None = None
    limits: tuple[RateLimit, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    predicted: tuple[str, ...] = ()
    """Files that the scan predicted for this consumer."""
    before: GpuState | None = None
    """Before anything of ours was on the GPU."""
    states: tuple[GpuState, ...] = ()
    during: str = ""
    """The step during which the process died; empty if it did not die."""
    ended: str = ""
    """How it ended, in one sentence; empty when it ended well."""
    xids: tuple[str, ...] = ()
    """Lines about faults of the GPU that the kernel wrote during a run that went wrong."""
    output: str = ""
    seconds: float = 0.0


class FrameworkRun(Frozen, frozen=True, kw_only=True):
    """The framework's own convolution in the person's interpreter."""

    framework: str
    """torch 2.11.0."""
    python: str = ""
    gpu: bool | None = None
    """Whether it computed on the GPU."""
    cuda: str = ""
    """The CUDA that it was built for; empty for a build without."""
    predicted: bool = False
    """Whether the run's predicted files are this framework's."""
    right: bool | None = None
    detail: str = ""
    timings: tuple[Timing, ...] = ()
    mapped: tuple[Mapped, ...] = ()
    cudnn: str = ""
    """The version that the framework says it uses."""
    problem: str = ""
    seconds: float = 0.0
    """Seconds that its process took, from start to end."""
    steps: tuple[tuple[str, float], ...] = ()
    """What it did in turn, and the seconds of each: the import, the small convolution, every timing."""
    output: str = ""
    """The end of what it printed, where it does not use the GPU that it was built for."""


class Benchmark(Frozen, frozen=True, kw_only=True):
    """The benchmark: on demand only, never part of a scan."""

    quick: bool = False
    gpus: tuple[GpuRun, ...] = ()
    problem: str = ""
    """Why nothing was run: no GPU, no driver, no cuDNN. One sentence."""
    seconds: float = 0.0
