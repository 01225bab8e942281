"""What the person's own programs ask for: parts of a framework that most programs never load, and what they import first."""

from __future__ import annotations

from core.knowledge.modules import OpenedLibrary, module_of, module_table
from core.probes.probe import ProbeRequest
from core.probes.python.locations import start_folder
from core.probes.python.programs.program_folder import SETTINGS, Program, programs_in, start_programs
from core.probes.sysroot import Sysroot

VARIABLES = {"TensorrtExecutionProvider": "ORT_TENSORRT_"}
"""What a program spells -> first letters of the variables that only it reads.

Source: onnxruntime/core/providers/tensorrt/tensorrt_execution_provider.h.
"""


def is_asked_for(spelt: str, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether a program or a setting in the folder where the person starts programs spells this, or a variable is set for it."""
    first = VARIABLES.get(spelt)
    if first and any(name.startswith(first) for name in request.env):
        return True
    return any(spelt in p.text for p in start_programs(request, where)) or any(
        spelt in p.text for p in programs_in(start_folder(request, where), where, SETTINGS)
    )


def opened_libraries(request: ProbeRequest, where: Sysroot) -> tuple[OpenedLibrary, ...]:
    """Return the libraries that packages' code opens by name on this system, unless a variable or a program here names another file."""
    rows = (row for row in module_table().opened if row.is_asked_for(request.env, where.system))
    return tuple(r for r in rows if not any(is_asked_for(n, request, where) for n in (r.variable, *r.chosen) if n))


SERVES_OTHERS = "torch"
"""Its import maps CUDA's libraries, which then serve whatever asks for them by their names.

Source: ONNX Runtime's documentation, "Compatibility with PyTorch".
"""


def is_served(distribution: str, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether each program here that imports a framework imports PyTorch before."""
    return distribution != SERVES_OTHERS and SERVES_OTHERS in imported_before(module_of(distribution), request, where)


def imported_before(module: str, request: ProbeRequest, where: Sysroot) -> frozenset[str]:
    """Return the modules that each program here imports before this one; empty where none imports it."""
    orders = [p.packages for p in programs_importing(module, request, where)]
    found = [frozenset(order[: order.index(module)]) for order in orders]
    return frozenset.intersection(*found) if found else frozenset()


def programs_importing(module: str, request: ProbeRequest, where: Sysroot) -> tuple[Program, ...]:
    """Return each program here that imports a module."""
    return tuple(p for p in start_programs(request, where) if module in p.text and module in p.packages)
