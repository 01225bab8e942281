"""Whether a program of the person's asks for a part of a framework that most programs never load."""

from __future__ import annotations

from core.probes.probe import ProbeRequest
from core.probes.python.locations import working_folder
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
