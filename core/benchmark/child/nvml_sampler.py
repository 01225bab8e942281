"""NVML's data about one GPU before and during the benchmark: clocks, power, temperature, load, memory, other processes. Child process only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from core.benchmark.protocol import BenchmarkEvent
from core.model.facts import Frozen, GpuCard, GpuProcess, GpuState

_MODELS: dict[Any, str] = {0: "WDDM", 1: "TCC", 2: "MCDM"}
"""nvmlDriverModel_t."""

SAMPLE_INTERVAL_SECONDS = 0.25
"""Seconds between two samples."""


class SamplerRequest(Frozen, frozen=True, kw_only=True):
    """The GPU, by NVML's index, and the maximum duration in seconds."""

    index: int
    seconds: float = 90.0


def sample_gpu(request: SamplerRequest, emit: Callable[[BenchmarkEvent], None]) -> None:
    """Describe the card, then report its state repeatedly until time is up or the process is killed."""
    import pynvml

    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(request.index)
    except pynvml.NVMLError:
        return
    ask = _Asker(pynvml, handle)
    start = time.monotonic()
    emit(BenchmarkEvent(state=ask.state(0.0)))  # First of all, before anything of the benchmark is on the GPU.
    emit(BenchmarkEvent(card=ask.card()))
    while (now := time.monotonic() - start) < request.seconds:
        emit(BenchmarkEvent(state=ask.state(now)))
        time.sleep(SAMPLE_INTERVAL_SECONDS)  # This child is killed when the work ends.


class _Asker:
    """Queries NVML; what this card or this driver does not report is None."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle

    def _ask(self, function: str, *arguments: Any) -> Any:
        entry = getattr(self._nvml, function, None)
        if entry is not None:
            with suppress(self._nvml.NVMLError):
                return entry(self._handle, *arguments)
        return None

    def _text(self, function: str) -> str:
        said = self._ask(function)
        return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said or "")

    def card(self) -> GpuCard:
        """Describe the card."""
        memory, pci = self._ask("nvmlDeviceGetMemoryInfo"), self._ask("nvmlDeviceGetPciInfo")
        capability = self._ask("nvmlDeviceGetCudaComputeCapability")
        attributes = self._ask("nvmlDeviceGetAttributes_v2") or self._ask("nvmlDeviceGetAttributes")
        model = self._ask("nvmlDeviceGetCurrentDriverModel") if sys.platform == "win32" else None
        display = self._ask("nvmlDeviceGetDisplayActive")
        bus = getattr(pci, "busId", "")
        return GpuCard(
            name=self._text("nvmlDeviceGetName"),
            uuid=self._text("nvmlDeviceGetUUID"),
            pci=bus.decode() if isinstance(bus, bytes) else str(bus),
            compute_capability="{}.{}".format(*capability) if capability else None,
            multiprocessors=getattr(attributes, "multiprocessorCount", None),
            max_clock=self._ask("nvmlDeviceGetMaxClockInfo", 1),  # NVML_CLOCK_SM
            max_memory_clock=self._ask("nvmlDeviceGetMaxClockInfo", 2),  # NVML_CLOCK_MEM
            bus_width=self._ask("nvmlDeviceGetMemoryBusWidth"),
            memory_total=getattr(memory, "total", None),
            power_limit=_watts(self._ask("nvmlDeviceGetEnforcedPowerLimit")),
            power_limit_default=_watts(self._ask("nvmlDeviceGetPowerManagementDefaultLimit")),
            pcie_generation_max=self._ask("nvmlDeviceGetMaxPcieLinkGeneration"),
            pcie_width_max=self._ask("nvmlDeviceGetMaxPcieLinkWidth"),
            display=None if display is None else bool(display),
            driver_model=_MODELS.get(model[0] if isinstance(model, list) else model, ""),
            # uncorrected errors since the driver's start
            ecc_uncorrected=self._ask("nvmlDeviceGetTotalEccErrors", 1, 0),
            on_battery=on_battery(),
        )

    def state(self, seconds: float) -> GpuState:
        """Describe this moment."""
        memory, load = self._ask("nvmlDeviceGetMemoryInfo"), self._ask("nvmlDeviceGetUtilizationRates")
        return GpuState(
            seconds=round(seconds, 2),
            clock=self._ask("nvmlDeviceGetClockInfo", 1),
            memory_clock=self._ask("nvmlDeviceGetClockInfo", 2),
            power=_watts(self._ask("nvmlDeviceGetPowerUsage")),
            temperature=self._ask("nvmlDeviceGetTemperature", 0),
            load=getattr(load, "gpu", None),
            reasons=self._ask("nvmlDeviceGetCurrentClocksThrottleReasons"),
            memory_used=getattr(memory, "used", None),
            memory_free=getattr(memory, "free", None),
            pcie_generation=self._ask("nvmlDeviceGetCurrPcieLinkGeneration"),
            pcie_width=self._ask("nvmlDeviceGetCurrPcieLinkWidth"),
            processes=self._processes(),
        )

    def _processes(self) -> tuple[GpuProcess, ...] | None:
        lists = [self._ask(f"nvmlDeviceGet{kind}RunningProcesses") for kind in ("Compute", "Graphics")]
        if all(found is None for found in lists):
            return None
        seen = {p.pid: getattr(p, "usedGpuMemory", None) for found in lists for p in found or ()}
        return tuple(GpuProcess(pid=pid, name=self._name(pid), memory=memory) for pid, memory in sorted(seen.items()))

    def _name(self, pid: int) -> str:
        try:
            name = self._nvml.nvmlSystemGetProcessName(pid)
        except self._nvml.NVMLError:
            return ""
        return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def on_battery(power: Path = Path("/sys/class/power_supply")) -> bool | None:
    """Whether the computer runs on battery power; None if it has no battery, or does not say."""
    if sys.platform == "win32":
        import ctypes

        status = (ctypes.c_ubyte * 12)()  # SYSTEM_POWER_STATUS; its first byte is ACLineStatus
        known = ctypes.WinDLL("kernel32").GetSystemPowerStatus(status)
        return {0: True, 1: False}.get(status[0]) if known else None
    with suppress(OSError):
        mains = [(s / "online").read_text().strip() for s in power.iterdir() if (s / "online").is_file()]
        has_battery = any((s / "type").read_text().strip() == "Battery" for s in power.iterdir())
        return not any(m == "1" for m in mains) if mains and has_battery else None
    return None
