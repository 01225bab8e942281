"""Everything that was seen on a machine: the Snapshot and its sections, frozen and serialisable.

This package imports nothing of ours but how sentences are made. Each section has a module; all names are here. Three rules hold for every field:

* ``None`` means "not looked at, or could not be decided"; an empty tuple or text means "looked, nothing there".
* a fact that came from somewhere carries ``source``: a registry key, a file, "NVML", a variable.
* paths are plain text in the machine's own form (``text()`` makes them printable); versions are dotted text.
"""

from __future__ import annotations

from core.model.facts.base import SCHEMA, Frozen, System, text
from core.model.facts.benchmark import (
    Benchmark,
    Check,
    Direction,
    FrameworkRun,
    GpuCard,
    GpuProcess,
    GpuRun,
    GpuState,
    Layer,
    Layout,
    NumberType,
    RateLimit,
    Rung,
    Timing,
)
from core.model.facts.driver import ComputeCache, CudaInit, DeviceNode, Driver, DriverLibrary, Gpu, Nvml, PciDevice
from core.model.facts.environment import Activation, Environment, Limit, Mark, PathEntry, Renewal, Scope, Variable
from core.model.facts.frameworks import (
    DamagedFile,
    Distribution,
    FrameworkBuild,
    Frameworks,
    FrameworkTrial,
    PackageRecords,
    PythonEnvironment,
    Way,
)
from core.model.facts.libraries import (
    CudnnCopy,
    FileState,
    LibraryFile,
    Origin,
    RecordState,
    Signature,
    Toolkit,
    cuda_in_name,
)
from core.model.facts.loading import (
    Attempt,
    Call,
    Consumer,
    How,
    Load,
    Mapped,
    Outcome,
    Resolution,
    RollCall,
    full_id,
    split_id,
)
from core.model.facts.machine import Machine, ProbeError, Program, Unexamined, platform_machine
from core.model.facts.snapshot import Snapshot

__all__ = [
    "SCHEMA",
    "Activation",
    "Attempt",
    "Benchmark",
    "Call",
    "Check",
    "ComputeCache",
    "Consumer",
    "CudaInit",
    "CudnnCopy",
    "DamagedFile",
    "DeviceNode",
    "Direction",
    "Distribution",
    "Driver",
    "DriverLibrary",
    "Environment",
    "FileState",
    "FrameworkBuild",
    "FrameworkRun",
    "FrameworkTrial",
    "Frameworks",
    "Frozen",
    "Gpu",
    "GpuCard",
    "GpuProcess",
    "GpuRun",
    "GpuState",
    "How",
    "Layer",
    "Layout",
    "LibraryFile",
    "Limit",
    "Load",
    "Machine",
    "Mapped",
    "Mark",
    "NumberType",
    "Nvml",
    "Origin",
    "Outcome",
    "PackageRecords",
    "PathEntry",
    "PciDevice",
    "ProbeError",
    "Program",
    "PythonEnvironment",
    "RateLimit",
    "RecordState",
    "Renewal",
    "Resolution",
    "RollCall",
    "Rung",
    "Scope",
    "Signature",
    "Snapshot",
    "System",
    "Timing",
    "Toolkit",
    "Unexamined",
    "Variable",
    "Way",
    "cuda_in_name",
    "full_id",
    "platform_machine",
    "split_id",
    "text",
]
