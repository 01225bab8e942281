"""Rules about code that an interpreter runs at every start, and that takes the GPU from its programs."""

from __future__ import annotations

from collections.abc import Iterator

from core.common.i18n import _
from core.model.facts import Snapshot
from core.model.findings import Finding
from core.model.variable_names import HIDING_VARIABLES
from core.rules.driver.device_order import hides_all
from core.rules.driver.facts import driver_works
from core.rules.snapshot_queries import python_of
from core.rules.wording import ERROR, WARNING, concern_row, make_finding, manual_fix, observation


def hidden_by_start_code(seen: Snapshot) -> Iterator[Finding]:
    """Code that an environment's interpreter runs at every start hides all GPUs from its programs."""
    driver = seen.driver
    count = driver.nvml.device_count if driver and driver.nvml else None
    works = bool(driver and driver_works(driver))
    for search in seen.imports or ():
        python = python_of(seen, search.prefix)
        for code in search.start_code:
            for name, value in code.sets:
                if python is None or name != HIDING_VARIABLES[0] or not hides_all(value, count):
                    continue
                where = code.place
                yield make_finding(
                    "driver.hidden-by-start-code",
                    ERROR if works else WARNING,
                    _("The Python of {prefix} hides every GPU at start-up.", prefix=search.prefix),
                    cause="gpu_hidden_by_env",
                    why=_(
                        "Python runs this code before any program of the environment. It sets {name}, so that CUDA shows them no "
                        "GPU, whatever the variable is in the terminal.",
                        name=name,
                    ),
                    evidence=[
                        observation(name, repr(value), where),
                        *([observation(_("Line"), code.text, where)] if code.text else []),
                        concern_row(python.consumer()),
                    ],
                    subject=code.source,
                    fix=manual_fix(
                        _("Remove the line that sets {name}", name=name),
                        _("Open {where}, and delete the line, or the file if it does nothing else.", where=where),
                        restart="program",
                    ),
                )


def stub_by_start_code(seen: Snapshot) -> Iterator[Finding]:
    """An environment's start-up code loads the stub of a driver library, which ld.so(8) then takes instead of the driver's."""
    works = bool(seen.driver and driver_works(seen.driver))
    for search in seen.imports or ():
        python = python_of(seen, search.prefix)
        if python is None:
            continue
        for code in search.start_code:
            for stub in code.stubs:
                where = code.place
                yield make_finding(
                    "driver.stub-by-start-code",
                    ERROR if works else WARNING,
                    _(
                        "The Python of {prefix} loads a stub instead of the GPU driver at start-up.",
                        prefix=search.prefix,
                    ),
                    cause="libcuda_wrong_library",
                    why=_(
                        "Python runs this code before any program of the environment. It loads the stub that is meant for "
                        "building programs; whatever asks for the driver afterwards gets that stub, which has no GPU."
                    ),
                    evidence=[
                        observation(_("The stub"), stub, where),
                        *([observation(_("Line"), code.text, where)] if code.text else []),
                        concern_row(python.consumer()),
                    ],
                    subject=code.source,
                    fix=manual_fix(
                        _("Remove the line that loads the stub"),
                        _("Open {where}, and delete the line, or the file if it does nothing else.", where=where),
                        restart="program",
                    ),
                )


RULES = (hidden_by_start_code, stub_by_start_code)
