"""Requests to and events from the children that query the driver: the parent's side of ``nvidia_calls``."""

from __future__ import annotations

from core.model.facts import CudaInit, DriverPart, Frozen, Gpu, Nvml


class DriverQuery(Frozen, frozen=True, kw_only=True):
    """The library to query."""

    library: str = ""
    """Name or path to load; empty for the name that programs use."""
    parts: bool = False
    """Whether to load also the libraries that libcuda opens later."""
    kernel: bool = False
    """Whether to load a kernel in PTX as a program does, even if the loader does not find the compiler."""


class DriverEvent(Frozen, frozen=True, kw_only=True):
    """The answer of one step."""

    nvml: Nvml | None = None
    cuda: CudaInit | None = None
    gpu: Gpu | None = None
    driver_model: str = ""
    part: DriverPart | None = None
