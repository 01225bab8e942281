"""Which modules of Python itself import a module that may be absent: sqlite3 has _sqlite3."""

from __future__ import annotations

import re

from core.probes.python.search.modules import ModuleSearch
from core.probes.python.text.package_contents import MAX_FILE_BYTES
from core.probes.sysroot import Sysroot


def importers_in_python(wanted: set[str], search: ModuleSearch, where: Sysroot) -> frozenset[str]:
    """Return the modules of Python itself that name one of these in an import, or a module that does."""
    folder = next((e.path for e in search.search.entries if where.is_file(where.join(e.path, "os.py"))), "")
    texts = {}
    for name in where.names(folder) or () if folder else ():
        inner = name if name.endswith(".py") else f"{name}/__init__.py"
        if "." not in name.removesuffix(".py") and (text := where.text(where.join(folder, inner), MAX_FILE_BYTES)):
            texts[name.removesuffix(".py")] = text
    # A package may import its extension module from an inner file: sqlite3/dbapi2.py has _sqlite3.
    found = wanted | {name for name in texts if f"_{name}" in wanted}
    for _step in range(3):
        names = re.compile(rf"(?m)^[ \t]*(?:import|from)[ \t]+(?:{'|'.join(map(re.escape, sorted(found)))})\b")
        found |= {name for name, text in texts.items() if name not in found and names.search(text)}
    return frozenset(found)
