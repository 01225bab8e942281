"""``python -m installer.windows.bills FROZEN ARTEFACT...``: in the build's environment, a bill of materials beside each.

Ends the build when a file of the frozen folder belongs to no part whose licence was looked up.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from installer import bill
from installer.by_hand import by_hand
from installer.parts import Part, frozen_in, packages, unknown

RUN_TIME = Part(
    "microsoft-visual-cpp-runtime",
    "14",
    "LicenseRef-Microsoft-Distributable-Code",
    "generic",
    ("*msvcp140*.dll", "*MSVCP140*.dll", "*vcruntime140*.dll", "*VCRUNTIME140*.dll"),
    "https://visualstudio.microsoft.com/license-terms/",
)
"""Comes with CPython and with Qt for Python, whose makers pass it on."""


def main(arguments: list[str]) -> int:
    """Write the bills; return 1 when the origin of a file is not known."""
    parts = (*packages(), *frozen_in(), RUN_TIME)
    if strange := list(unknown(Path(arguments[0]) / "_internal", parts)):
        print(f"Whose are these files? installer/parts.py does not say: {', '.join(strange)}")
        return 1
    for name in arguments[1:]:
        bill.write(Path(name), parts, hashlib.sha256(Path(name).read_bytes()).hexdigest())
    return 0


if __name__ == "__main__":
    sys.exit(main(by_hand(__doc__, "FROZEN/", "ARTEFACT...")))
