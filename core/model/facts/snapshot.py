"""The Snapshot: everything that one scan observed."""

from __future__ import annotations

from core.model.facts.base import Frozen
from core.model.facts.benchmark import Benchmark
from core.model.facts.closure import Closure
from core.model.facts.driver import Driver
from core.model.facts.environment import Environment, NamedPlace, PathEntry, Variable, Vocabulary
from core.model.facts.framework_tools import UnfitTool
from core.model.facts.frameworks import (
    FrameworkBuild,
    Frameworks,
    FrameworkTrial,
    PackageRecords,
    ProgramTrial,
    PythonEnvironment,
)
from core.model.facts.imports import ImportSearch
from core.model.facts.libraries import CudnnCopy, Toolkit
from core.model.facts.loading import Load
from core.model.facts.machine import Execution, Machine, ProbeError, Unexamined
from core.model.facts.starting import ExaminedProgram, Start, StartLook
from core.model.facts.tools import Tools


class Snapshot(Frozen, frozen=True, kw_only=True):
    """Everything that one scan saw. A section is None when its probe was not run or failed (see ``errors``)."""

    machine: Machine
    taken: str = ""
    """ISO 8601 time, UTC."""
    thorough: bool = False
    driver: Driver | None = None
    toolkits: tuple[Toolkit, ...] | None = None
    cudnn: tuple[CudnnCopy, ...] | None = None
    environment: Environment | None = None
    pythons: tuple[PythonEnvironment, ...] | None = None
    frameworks: Frameworks | None = None
    imports: tuple[ImportSearch, ...] | None = None
    trials: tuple[FrameworkTrial, ...] | None = None
    """None: none was asked for."""
    program_trials: tuple[ProgramTrial, ...] | None = None
    """The starts of Python programs that the person named; None: none was, or no trial was asked for."""
    records: tuple[PackageRecords, ...] | None = None
    loads: tuple[Load, ...] | None = None
    closures: tuple[Closure, ...] | None = None
    """The dependencies of each framework's and extension's own binaries."""
    framework_tools: tuple[UnfitTool, ...] | None = None
    """Files that frameworks run or read by name and that are unusable."""
    starts: tuple[Start, ...] | None = None
    """The ways in which programs are started here, besides from this session."""
    vocabularies: tuple[Vocabulary, ...] | None = None
    """Values of variables with a documented meaning, compared with the files of the programs that read them."""
    start_looks: tuple[StartLook, ...] | None = None
    """What differs for programs of some of these ways; ways that are not named here agree with this session."""
    programs: tuple[ExaminedProgram, ...] | None = None
    """Programs that the person named; None: none was."""
    tools: Tools | None = None
    """What compiles, links and starts containers here."""
    benchmark: Benchmark | None = None
    """None: it was not asked for."""
    errors: tuple[ProbeError, ...] = ()
    unexamined: tuple[Unexamined, ...] = ()
    """Candidates that were skipped because they did not respond."""
    executions: tuple[Execution, ...] = ()
    """The files that were run or loaded, with whose rights, and those that were not, because other accounts can change them."""
    seconds: tuple[tuple[str, float], ...] = ()
    """How long each probe took."""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, of every scope; none where they were not examined."""
        return self.environment.variables if self.environment else ()

    @property
    def path_entries(self) -> tuple[PathEntry, ...]:
        """The entries of search paths; none where they were not examined."""
        return self.environment.entries if self.environment else ()

    @property
    def places(self) -> tuple[NamedPlace, ...]:
        """The files and folders that variables name; none where they were not examined."""
        return self.environment.places if self.environment else ()

    @property
    def builds(self) -> tuple[FrameworkBuild, ...]:
        """The frameworks' builds; none where they were not examined."""
        return self.frameworks.builds if self.frameworks else ()
