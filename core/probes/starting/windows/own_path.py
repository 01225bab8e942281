r"""Programs of the working folder that put NVIDIA's folders on PATH by themselves, before they load a framework.

CTranslate2 and others ask Windows by PATH alone, so people's programs do that (faster-whisper's issue 1080). What such a program's PATH comes to is
left open; what is said of the session's PATH need not hold for it.
"""

from __future__ import annotations

import ntpath
from collections.abc import Iterator

from core.common.late_pattern import late_pattern
from core.knowledge.modules import module_table
from core.model.facts import path_text
from core.probes.starting.commands.lacking_modules import has_module
from core.probes.starting.machine import Ground
from core.probes.starting.ways import Reached

MOST_PROGRAMS, MOST_BYTES = 40, 1 << 18
SETS_PATH = late_pattern(r"environ\[\s*[\"']PATH[\"']\s*\]\s*(?:\+=|=(?!=))|\bputenv\(\s*[\"']PATH[\"']")
SPEAKS_OF_CUDA = late_pattern(r"(?i)nvidia|cuda|cudnn|cublas|torch")
_IMPORTED = late_pattern(r"(?m)^(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([A-Za-z_]\w*))")


def own_path_ways(ground: Ground) -> Iterator[Reached]:
    """Yield the programs that do so, if every program of the folder that imports such a framework does."""
    if not ground.is_in_project:
        return
    frameworks = {row.module for row in module_table().modules}
    found: list[tuple[str, str]] = []
    for name in ground.programs(MOST_PROGRAMS):
        path = ntpath.join(ground.folder, name)
        text = ground.where.text(path, MOST_BYTES) or ""
        modules = {a or b for a, b in _IMPORTED.findall(text)} & frameworks - {"numpy"}
        if not modules:
            continue
        if not (SETS_PATH.search(text) and SPEAKS_OF_CUDA.search(text)):
            return
        homes = [p.prefix for p in ground.pythons if all(has_module(p, m, ground) for m in modules)]
        found += [(path, homes[0])] if len(homes) == 1 else []
    for path, prefix in found:
        state = ground.session(path)
        state.open.add(next((n for n in state.values if n.upper() == "PATH"), "PATH"))
        yield Reached(kind="script", at=path_text(path), state=state, prefix=prefix)
