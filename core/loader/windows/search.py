"""Where Windows looks for a DLL, in its order, with the outcome of every candidate. Runs on either system.

Unlike ld.so, Windows takes the first file of the wanted name, whatever it is: one for another architecture, an empty or
damaged one ends the search with error 193 (ERROR_BAD_EXE_FORMAT), an unreadable one with error 5.
"""

from __future__ import annotations

import ntpath
import os
from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.patience import call_patiently
from core.loader import read_image
from core.loader.files import path_under_root
from core.loader.image import Image
from core.loader.windows.policy import DllPolicy, conda_folders, cpython_policy, plain_policy, policy_folders
from core.model.facts import Attempt, How, Outcome, Resolution, path_text
from core.model.paths import is_inside

__all__ = [
    "DllPolicy",
    "DllSearch",
    "conda_folders",
    "cpython_policy",
    "dll_closure",
    "is_api_set",
    "judge_dll",
    "plain_policy",
]

MAX_DLLS = 2000
MAX_NAMES = 200_000


def is_api_set(name: str) -> bool:
    """Whether a name is an API set (api-ms-win-..., ext-ms-...), which the loader maps to a system DLL, not to a file."""
    return name.lower().startswith(("api-ms-", "ext-ms-"))


def judge_dll(image: Image, architecture: str) -> tuple[Outcome, str, bool]:
    """Return Windows' reaction to the first file of the wanted name, why in one sentence, and whether the search ends there."""
    if image.state in ("missing", "dangling"):
        told = image.state == "dangling" or image.really == "not asked"
        return "not there", image.problem if told else "", False
    if image.state == "unreadable":
        return "unreadable", fact_text("{problem} (error 5)", problem=image.problem), True
    if image.really == "folder":
        return "passed over", image.problem, False
    if image.format == "PE" and image.architecture not in ("", architecture, "arm64ec"):
        return (
            "wrong architecture",
            fact_text(
                "is built for {architecture}, not {architecture2} (error 193)",
                architecture=image.architecture,
                architecture2=architecture,
            ),
            True,
        )
    if image.format != "PE" or not image.mappable or image.state in ("damaged", "not a library", "empty"):
        return "damaged", fact_text("{problem} (error 193)", problem=image.problem or fact_text("is no DLL")), True
    return "found", "", False


class DllSearch:
    """One policy with a cache of what was examined, so that no file is read twice in one scan."""

    def __init__(self, policy: DllPolicy, *, others: DllSearch | None = None) -> None:
        self.policy = policy
        self._images: dict[str, Image] = others._images if others else {}
        self._names: dict[str, dict[str, str]] = others._names if others else {}

    def read_headers(self, path: str) -> Image:
        """Return the headers of a file by its Windows path, read once; case does not matter."""
        key = ntpath.normcase(path)
        if key not in self._images:
            if path.startswith(("\\\\", "//")):  # A server that does not respond would delay the scan by a minute.
                away = fact_text("lies on a network drive, which was not asked")
                self._images[key] = Image(path=path_text(path), state="missing", problem=away, really="not asked")
            else:
                self._images[key] = replace(read_image.read_image(self.real_path(path)), path=path_text(path))
        return self._images[key]

    def real_path(self, path: str) -> str:
        """Return the path for the running system: unchanged on Windows, else with the actual case of the names."""
        whole = path_under_root(self.policy.root, path)
        if os.name == "nt" or whole == path:
            return whole
        base = self.policy.root.rstrip("/")
        for part in whole[len(base) :].strip("/").split("/"):
            base = f"{base}/{self._listing(base).get(part.lower(), part)}"
        return base

    def _listing(self, folder: str) -> dict[str, str]:
        if folder not in self._names:
            try:
                self._names[folder] = call_patiently(_names, folder)
            except OSError:
                self._names[folder] = {}
        return self._names[folder]

    def resolve(self, name: str, *, wanted_by: str = "", loaded: Mapping[str, str] | None = None) -> Resolution:
        """Return every candidate for ``name``, in order.

        ``loaded``: names in lower case that the program has already loaded -> their paths; such a name is reused,
        wherever it is.
        """
        wanted = name if ntpath.splitext(name)[1] else name.rstrip(".") + ("" if name.endswith(".") else ".dll")
        base = ntpath.basename(wanted).lower()
        attempts: tuple[Attempt, ...]
        if is_api_set(base):
            attempts = (
                Attempt(
                    path="", how=How.API_SET, outcome="found", detail=fact_text("a name that Windows itself provides")
                ),
            )
        elif loaded and base in loaded and base == wanted.lower():
            attempts = (Attempt(path=path_text(loaded[base]), how=How.LOADED, outcome="found"),)
        elif ntpath.dirname(wanted):
            whole = ntpath.normpath(ntpath.join(self.policy.current, wanted))
            attempts = (self._attempt(whole, How.DIRECT, name, ""),)
        elif base in self.policy.known:
            attempts = (self._attempt(ntpath.join(self.policy.system, wanted), How.KNOWN_DLL, "KnownDLLs", ""),)
        else:
            attempts = tuple(
                self._attempt(ntpath.join(place.folder, wanted), place.how, place.via, place.remark)
                for place in policy_folders(self.policy)
            )
        return Resolution(name=path_text(name), wanted_by=path_text(wanted_by), attempts=attempts)

    def _attempt(self, path: str, how: How, via: str, remark: str) -> Attempt:
        image = self.read_headers(path)
        wanted = self.policy.architecture
        if (wanted, image.architecture) == ("x86_64", "aarch64") and is_inside("windows", path, self.policy.windows):
            wanted = image.architecture  # Windows on Arm: its own files serve programs of both kinds (ARM64X)
        outcome, detail, stops = judge_dll(image, wanted)
        if outcome == "not there":
            detail = remark or detail
        built = image.architecture if outcome == "wrong architecture" else ""
        return Attempt(
            path=path_text(path),
            how=how,
            outcome=outcome,
            detail=detail,
            via=path_text(via),
            stops=stops,
            architecture=built,
            pointer=image.pointer,
        )


def dll_closure(
    start: str,
    search: DllSearch,
    *,
    opens: Callable[[str], Iterable[str]] = lambda _path: (),
    loaded: dict[str, str] | None = None,
) -> tuple[Resolution, ...]:
    """Return all DLLs that loading ``start`` (a full path, or a bare name) brings in, breadth first.

    Imports are searched under the policy of the call, with the folder of ``start`` as the folder of the loading DLL;
    after them, as bare names, delay imports and the names that ``opens(path)`` says a file may open itself later. Those
    are calls of their own: the imports of such a library are searched as the library was. ``loaded``: what the process
    loaded before, name in lower case -> path; what this call loads is added.
    """
    first = search.resolve(start)
    folder = ntpath.dirname(start) if ntpath.isabs(start) else ""
    imports = DllSearch(replace(search.policy, loading=folder), others=search)
    bare = DllSearch(search.policy.for_bare_name(), others=search)
    found = [first]
    loaded = {} if loaded is None else loaded
    queue: list[tuple[str, DllSearch]] = []
    later: list[tuple[str, str]] = []

    def take(resolution: Resolution, by: DllSearch) -> None:
        winner = resolution.winner
        if winner and winner.outcome == "found" and winner.path:
            name = ntpath.basename(winner.path).lower()
            if name not in loaded:
                loaded[name] = winner.path
                queue.append((winner.path, by))

    take(first, imports)
    while (queue or later) and len(found) < MAX_DLLS:
        if queue:
            path, by = queue.pop(0)
            image = search.read_headers(path)
            for name in image.needed:
                if name not in image.delayed:
                    found.append(by.resolve(name, wanted_by=path, loaded=loaded))
                    take(found[-1], by)
            later += [(name, path) for name in (*image.delayed, *opens(path))]
        else:
            name, path = later.pop(0)
            found.append(bare.resolve(name, wanted_by=path, loaded=loaded))
            take(found[-1], bare)
    return tuple(found)


def _names(folder: str) -> dict[str, str]:
    with os.scandir(folder) as entries:
        return {entry.name.lower(): entry.name for _n, entry in zip(range(MAX_NAMES), entries, strict=False)}
