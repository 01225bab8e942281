"""What the person's own programs ask for: parts of a framework that most programs never load, and what they import first."""

from __future__ import annotations

from collections.abc import Iterator

from core.knowledge.modules import module_of
from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
from core.probes.python.text.module_text import packages_spelt
from core.probes.sysroot import Sysroot

PROGRAMS = (".py", ".ipynb", ".sh", ".toml", ".yaml", ".yml", ".json", ".ini", ".cfg")
MOST_PROGRAMS, PROGRAM_BYTES = 100, 64 << 10
"""Files of the folder that a program starts in, and bytes read of each."""

VARIABLES = {"TensorrtExecutionProvider": "ORT_TENSORRT_"}
"""What a program spells -> first letters of the variables that only it reads.

Source: onnxruntime/core/providers/tensorrt/tensorrt_execution_provider.h.
"""


def is_asked_for(spelt: str, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether a program or a setting in the folder where the person starts programs spells this, or a variable is set for it."""
    first = VARIABLES.get(spelt)
    if first and any(name.startswith(first) for name in request.env):
        return True
    folder = request.script_folder or working_folder(where)
    names = sorted(n for n in where.names(folder) or () if n.endswith(PROGRAMS))[:MOST_PROGRAMS]
    return any(spelt in (where.text(where.join(folder, n), PROGRAM_BYTES) or "") for n in names)


SERVES_OTHERS = "torch"
"""Its import maps CUDA's libraries, which then serve whatever asks for them by their names.

Source: ONNX Runtime's documentation, "Compatibility with PyTorch".
"""


def is_served(distribution: str, request: ProbeRequest, where: Sysroot) -> bool:
    """Whether each program here that imports a framework imports PyTorch before."""
    return distribution != SERVES_OTHERS and SERVES_OTHERS in imported_before(module_of(distribution), request, where)


def imported_before(module: str, request: ProbeRequest, where: Sysroot) -> frozenset[str]:
    """Return the modules that each program here imports before this one; empty where none imports it."""
    orders = [packages_spelt(text) for _path, text in programs_importing(module, request, where)]
    found = [frozenset(order[: order.index(module)]) for order in orders]
    return frozenset.intersection(*found) if found else frozenset()


def programs_importing(module: str, request: ProbeRequest, where: Sysroot) -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each program here that imports a module."""
    folder = request.script_folder or working_folder(where)
    names = sorted(n for n in where.names(folder) or () if n.endswith((".py", ".ipynb")))[:MOST_PROGRAMS]
    for path in (where.join(folder, name) for name in names):
        text = where.text(path, PROGRAM_BYTES) or ""
        if module in text and module in packages_spelt(text):
            yield path, text
