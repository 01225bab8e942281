"""A CUDA toolkit whose own libraries lack each other: cuSOLVER without cuSPARSE, the runtime compiler without its built-ins.

Judged are toolkits of an installer, a folder, a distribution or conda; wheels and frameworks are followed from their own binaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.causes import Cause
from core.knowledge.cuda_file_names import library_family, toolkit_locations
from core.knowledge.horizon import is_beyond_horizon
from core.model.facts import LibraryFile, Snapshot, Toolkit
from core.model.findings import Finding, Fix
from core.model.paths import parent
from core.rules.wording import NOTE, WARNING, make_finding, manual_fix, observation

LOADERS = ("LD_LIBRARY_PATH", "PATH", "ld.so.cache")
"""What ``Toolkit.named_by`` says of a folder in which the loader looks."""
USES = late_pattern(r"CUDA_(PATH|HOME|ROOT|TOOLKIT_ROOT_DIR|PATH_V\d+_\d+)|" + "|".join(map(re.escape, LOADERS)))
"""What it says of a toolkit that programs use; a link such as /usr/local/cuda is there on every machine."""
BUILTINS_SINCE = (11,)
"""Since this CUDA the runtime compiler has built-ins of its own version in each release."""


def lacking_dependencies(seen: Snapshot) -> Iterator[Finding]:
    """A library of a toolkit needs another library of CUDA that is neither in the toolkit nor on the loader's search path."""
    for toolkit in _judged(seen):
        lacks = [(f, name) for f in toolkit.libraries if f.state == "good" for name in _absent(f, toolkit, seen)]
        if lacks:
            names = list(dict.fromkeys(name for _f, name in lacks))
            who = list(dict.fromkeys(f.name for f, _name in lacks))
            yield _finding(
                toolkit,
                "dependencies",
                _(
                    "In the CUDA toolkit {root}, {who} cannot be loaded for lack of {names}.",
                    root=toolkit.root,
                    who=join_names(who),
                    names=join_names(names),
                ),
                _("A program that loads it ends with the loader's message about the file that is not there."),
                "cuda_runtime_missing",
                lacks,
            )


def lacking_builtins(seen: Snapshot) -> Iterator[Finding]:
    """The runtime compiler of a toolkit has no built-ins of its own version in its folder."""
    for toolkit in _judged(seen):
        lacks = [
            (f, name) for f in toolkit.libraries if f.state == "good" and (name := _absent_builtins(f, toolkit, seen))
        ]
        if lacks:
            yield _finding(
                toolkit,
                "builtins",
                _(
                    "In the CUDA toolkit {root}, the runtime compiler lacks its built-ins: {names}.",
                    root=toolkit.root,
                    names=join_names(dict.fromkeys(name for _f, name in lacks)),
                ),
                _(
                    "The compiler opens its built-ins by name, in exactly its own version. Without them, every "
                    "kernel that is compiled at runtime fails."
                ),
                "nvrtc_missing_or_mismatch",
                lacks,
            )


def _judged(seen: Snapshot) -> Iterator[Toolkit]:
    for toolkit in seen.toolkits or ():
        if toolkit.origin not in ("wheel", "framework") and not is_beyond_horizon("cuda", toolkit.version):
            yield toolkit


def _absent(file: LibraryFile, toolkit: Toolkit, seen: Snapshot) -> Iterator[str]:
    """Yield what a library needs of CUDA and what is nowhere that it is looked for."""
    system = seen.machine.system
    others = (t for t in seen.toolkits or () if t is toolkit or set(t.named_by) & set(LOADERS))
    there = {n.lower() for t in others for f in t.libraries for n in (f.name, f.soname) if n}
    for name in file.needed:
        if library_family(name, system, toolkit_locations()) and name.lower() not in there:
            yield name


def _absent_builtins(file: LibraryFile, toolkit: Toolkit, seen: Snapshot) -> str:
    """Return the name of the built-ins that a compiler opens and that are not beside it; empty where they are, or where its version is open."""
    system = seen.machine.system
    version = version_tuple(file.version or toolkit.version)[:2] or (file.cuda_major or 0,)
    if _family(file, seen) != "nvrtc" or version < BUILTINS_SINCE:
        return ""
    folder = parent(system, file.path)
    beside = [f for f in toolkit.libraries if _family(f, seen) == "nvrtc-builtins" and parent(system, f.path) == folder]
    if any(version_tuple(f.version)[: len(version)] in ((), version) for f in beside):
        return ""
    major, *minor = version
    if system == "windows":
        return f"nvrtc-builtins64_{major}{minor[0] if minor else '*'}.dll"
    return f"libnvrtc-builtins.so.{major}.{minor[0] if minor else '*'}"


def _family(file: LibraryFile, seen: Snapshot) -> str:
    return library_family(file.name, seen.machine.system, toolkit_locations()) or ""


def _finding(  # noqa: PLR0917 - what one tells
    toolkit: Toolkit, name: str, title: str, why: str, cause: Cause, lacks: list[tuple[LibraryFile, str]]
) -> Finding:
    used = [n for n in toolkit.named_by if USES.fullmatch(n)]
    return make_finding(
        f"toolkit.incomplete-{name}" if used else f"toolkit.unused-incomplete-{name}",
        WARNING if used else NOTE,
        title,
        cause=cause,
        why=why if used else _("Nothing that was examined uses this toolkit."),
        evidence=[
            *(observation(file.path, _("needs {name}", name=lacking), file.version or "") for file, lacking in lacks),
            *([observation(_("Set by"), join_names(used))] if used else []),
        ],
        subject=toolkit.root,
        fix=_complete(toolkit),
    )


def _complete(toolkit: Toolkit) -> Fix:
    return manual_fix(
        _("Complete this toolkit"),
        _(
            "Install CUDA {version} in {root} again, with all its libraries.",
            version=toolkit.version or "",
            root=toolkit.root,
        ),
        _("Libraries of different releases cannot be combined: use all of them from one release."),
    )


RULES = (lacking_dependencies, lacking_builtins)
