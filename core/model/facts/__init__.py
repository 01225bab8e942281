"""Everything that was seen on a machine: the Snapshot and its sections, frozen and serialisable.

Of our own code, this package imports only ``fact_text``. Each section has a module; all names are here. Three rules hold for every field:

* ``None`` means "not looked at, or could not be decided"; an empty tuple or text means "looked, nothing there".
* a fact that came from somewhere carries ``source``: a registry key, a file, "NVML", a variable.
* paths are plain text in the machine's own form (``path_text()`` makes them printable); versions are dotted text.
"""

from __future__ import annotations

from core.model.facts.base import SCHEMA_VERSION, Frozen, System, path_text
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
from core.model.facts.closure import Closure, Edge, EdgeState, Gap, Opening
from core.model.facts.driver import (
    CdiSpecification,
    ComputeCache,
    CudaInit,
    DeviceNode,
    Driver,
    DriverLibrary,
    DriverPart,
    ExpectedNode,
    Gpu,
    Nvml,
    PciDevice,
)
from core.model.facts.environment import (
    Activation,
    Environment,
    Limit,
    Mark,
    NamedPlace,
    PathEntry,
    Renewal,
    Scope,
    Variable,
    Vocabulary,
)
from core.model.facts.experiments import Experiment, ExperimentOutcome, Experiments, Suspect, SuspectKind
from core.model.facts.frameworks import (
    DamagedFile,
    Distribution,
    FrameworkBuild,
    Frameworks,
    FrameworkTrial,
    ImportFailure,
    PackageRecords,
    PackageTrial,
    ProgramTrial,
    PythonEnvironment,
    SharedFiles,
    Way,
)
from core.model.facts.imports import (
    BuiltForNumpy1,
    EndedImport,
    EnvironmentFault,
    FoundModule,
    ImportSearch,
    LeftModule,
    Misfit,
    OverwrittenPackage,
    Remains,
    SearchEntry,
    SearchOrigin,
    StartCode,
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
    is_part_of,
    split_id,
)
from core.model.facts.machine import Changeable, Execution, Machine, ProbeError, Program, Unexamined, marker_facts
from core.model.facts.snapshot import Snapshot
from core.model.facts.starting import (
    INTERPRETER,
    NOT_EDITED,
    Confinement,
    ConfinementKind,
    ExaminedProgram,
    GoneFile,
    LineForm,
    RegisteredStart,
    Start,
    StartedPython,
    StartKind,
    StartLine,
    StartLook,
)
from core.model.facts.tools import ContainerEngine, GpuDescription, HostCompiler, Linking, Tools
