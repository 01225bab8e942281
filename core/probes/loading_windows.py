r"""What a consumer's cuDNN leads to on Windows: every DLL that it wants, with all candidates in the loader's order."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Mapping

from core.facts import Resolution
from core.loader.contents import library_names
from core.loader.windows import Policy, Search, closure, plain, python
from core.probes.cudnn_names import parse
from core.probes.cudnn_versions import true_version
from core.probes.places import Places
from core.probes.wants import Way, Zlibwapi

CUDA = re.compile(r"(cublas|cublasLt|cudart|nvrtc|nvJitLink)\w*\.dll|nvcuda\.dll|nvrtc-builtins\w+\.dll", re.IGNORECASE)


def loader(
    env: Mapping[str, str], application: str, way: Way | None, folders: tuple[str, ...], where: Places
) -> Policy:
    """Return the policy under which a consumer's call to load cuDNN is searched.

    ``way``: a framework's; None for a plain program. ``folders``: those of its DLLs, which it makes known.
    """
    path = next((value for name, value in env.items() if name.upper() == "PATH"), "")
    if way in ("whole folder", "added folders"):
        return python(application, path, added=folders, root=where.root)
    return plain(application, path, root=where.root)


def trace(main: str, major: int, policy: Policy, zlib: Zlibwapi, where: Places) -> tuple[Resolution, ...]:
    """Resolve the main library (a bare name or a path) and all of cuDNN and CUDA that it leads to."""

    def opens(path: str) -> tuple[str, ...]:
        what = parse(ntpath.basename(path), "windows")
        if what is None or what.major != major:
            return ()
        real = search.image(path)
        names = library_names(where.under(path)) if real.state in ("good", "truncated") else ()
        own = ntpath.basename(path).lower()
        return tuple(n for n in names if n.lower() != own and (parse(n, "windows") or CUDA.fullmatch(n)))

    search = Search(policy)
    found = closure(main, search, opens=opens)
    wanted = [r for r in found if r.name == main or parse(r.name, "windows") or CUDA.fullmatch(r.name)]
    if needs_zlibwapi(found, major, zlib, where):
        asker = next((r.winner.path for r in found if "cnn_infer" in r.name and r.winner), "")
        wanted.append(Search(policy.bare(), others=search).resolve("zlibwapi.dll", wanted_by=asker))
    return tuple({(r.name.lower()): r for r in reversed(wanted)}.values())[::-1]


def needs_zlibwapi(found: tuple[Resolution, ...], major: int, zlib: Zlibwapi, where: Places) -> bool:
    """Whether the cuDNN that was found is of a release that opens zlibwapi.dll. Its true version decides, no name."""
    if major != 8:
        return False
    for resolution in found:
        winner = resolution.winner
        if winner and winner.outcome == "found" and "ops_infer" in resolution.name:
            version = true_version(where.under(winner.path))[0]
            return version is not None and _numbers(zlib.first) <= _numbers(version) < _numbers(zlib.below)
    return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in version.split("."))
