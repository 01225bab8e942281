"""Rules about code that an interpreter runs at every start, and that takes the GPU from its programs."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.model.facts import PythonEnvironment, Snapshot
from core.model.facts.imports import StartCode
from core.model.findings import Finding
from core.model.variable_names import HIDING_VARIABLES
from core.rules.advice import start_code_rows, without_start_code
from core.rules.driver.device_order import hides_all
from core.rules.driver.facts import driver_works
from core.rules.snapshot_queries import python_of
from core.rules.wording import ERROR, WARNING, concern_row, make_finding


def hidden_by_start_code(seen: Snapshot) -> Iterator[Finding]:
    """Code that an environment's interpreter runs at every start hides all GPUs from its programs."""
    count = seen.driver.nvml.device_count if seen.driver and seen.driver.nvml else None
    for python, code in _start_code(seen):
        for name, value in code.sets:
            if name == HIDING_VARIABLES[0] and hides_all(value, count):
                yield make_finding(
                    "driver.hidden-by-start-code",
                    ERROR if seen.driver and driver_works(seen.driver) else WARNING,
                    _("The Python of {prefix} hides every GPU at start-up.", prefix=python.prefix),
                    cause="gpu_hidden_by_env",
                    why=_(
                        "Python runs this code before any program of the environment. It sets {name}, so that CUDA shows them no "
                        "GPU, whatever the variable is in the terminal.",
                        name=name,
                    ),
                    evidence=[*start_code_rows(code, name, repr(value)), concern_row(python.consumer())],
                    subject=code.source,
                    fix=without_start_code(code, _("Remove the line that sets {name}", name=name)),
                )


def stub_by_start_code(seen: Snapshot) -> Iterator[Finding]:
    """Code at the start of an environment's Python loads the stub of a driver library; ld.so(8) searches no loaded library again."""
    for python, code in _start_code(seen):
        for stub in code.stubs:
            yield make_finding(
                "driver.stub-by-start-code",
                ERROR if seen.driver and driver_works(seen.driver) else WARNING,
                _("The Python of {prefix} loads a stub instead of the GPU driver at start-up.", prefix=python.prefix),
                cause="libcuda_wrong_library",
                why=_(
                    "Python runs this code before any program of the environment. It loads the stub that is meant for "
                    "building programs; whatever asks for the driver afterwards gets that stub, which has no GPU."
                ),
                evidence=[*start_code_rows(code, _("The stub"), stub), concern_row(python.consumer())],
                subject=code.source,
                fix=without_start_code(code, _("Remove the line that loads the stub")),
            )


def _start_code(seen: Snapshot) -> Iterator[tuple[PythonEnvironment, StartCode]]:
    for search in seen.imports or ():
        if python := python_of(seen, search.prefix):
            yield from ((python, code) for code in search.start_code)


RULES = (hidden_by_start_code, stub_by_start_code)
