"""The wizard's steps and the severities, by which findings are sorted. Imports no other module of the program."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class Step(StrEnum):
    """The wizard's steps, in their order; also the words of ``--only``."""

    DRIVER = "driver"
    TOOLKIT = "toolkit"
    CUDNN = "cudnn"
    ENVIRONMENT = "environment"
    FRAMEWORKS = "frameworks"
    BENCHMARK = "benchmark"


SECTIONS_OF_STEP: dict[Step, tuple[str, ...]] = {
    Step.DRIVER: ("driver", "tools"),
    Step.TOOLKIT: ("toolkits", "tools"),
    Step.CUDNN: ("cudnn", "loads", "programs"),
    Step.ENVIRONMENT: ("environment", "starts", "vocabularies", "start_looks"),
    Step.FRAMEWORKS: (
        "pythons",
        "imports",
        "frameworks",
        "trials",
        "program_trials",
        "records",
        "loads",
        "closures",
        "framework_tools",
        "tools",
    ),
    Step.BENCHMARK: (),
}
"""The sections of the Snapshot that belong to each step."""


class Severity(IntEnum):
    """How severe a finding is; ordered, so that ``max()`` is the worst."""

    GOOD = 0
    NOTE = 1
    UNKNOWN = 2
    """The evidence does not decide; the finding says what would."""
    WARNING = 3
    ERROR = 4

    @property
    def word(self) -> str:
        """The word that stands for it in JSON and on screen."""
        return self.name.lower()
