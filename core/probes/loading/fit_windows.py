"""Whether each DLL exports the functions that others import from it; if one is missing, Windows refuses to start the program (error 127)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from core.knowledge.library_names import parse_library_name
from core.loader.pe_symbols import lacking_functions
from core.loader.windows.search import DllSearch
from core.model.facts import Gap, Resolution
from core.model.paths import is_inside, normalise

FUNCTIONS_TOLD = 3
"""Maximum number of functions reported for one file."""


def unmet_functions(
    found: Resolution, search: DllSearch, importer: str, elsewhere: Iterable[str] = ()
) -> Iterator[Gap]:
    """Yield the functions that ``importer`` imports and that the file found for it lacks. Windows' own DLLs are not
    checked.

    ``elsewhere``: files of the same name outside the search path.
    """
    winner = found.winner
    if winner is None or winner.outcome != "found" or not winner.path or not importer:
        return
    home = search.policy.windows
    if is_inside("windows", importer, home) or (
        is_inside("windows", winner.path, home) and _is_windows_own(found.name)
    ):
        return
    mine = normalise("windows", winner.path)
    others = dict.fromkeys(p for p in (*(a.path for a in found.found), *elsewhere) if normalise("windows", p) != mine)
    names = lacking_functions(search.real_path(importer), found.name, search.real_path(winner.path))
    for name in names[:FUNCTIONS_TOLD]:
        yield Gap(wanted_by=importer, name=name, provider=winner.path, how=winner.how, others=tuple(others))


def _is_windows_own(name: str) -> bool:
    """Whether a DLL in Windows' folders came with Windows or the driver: CUDA's did not, nor did Microsoft's C++ runtime."""
    known = parse_library_name(name.lower())
    return known is None or known.family in ("driver", "nvml", "libcuda")
