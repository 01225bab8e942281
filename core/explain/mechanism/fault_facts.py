"""The subject of a finding or a proof, from its data: files, texts, environments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.explain.reading import named_libraries
from core.knowledge.library_names import LibraryName
from core.model.facts import LibraryFile, Snapshot
from core.model.findings import Evidence, Finding


@dataclass(frozen=True)
class FaultFacts:
    """The subject of a finding or a proof, from its data, never from its sentences."""

    cause: str
    seen: Snapshot
    name: str = ""
    """The finding's id."""
    said: tuple[str, ...] = ()
    """Its subject and the texts of its evidence: paths, names, versions."""
    files: tuple[LibraryName, ...] = ()
    """Libraries among them, and those that failed in cuDNN's roll call."""
    prefixes: tuple[str, ...] = ()
    """Environments that it concerns; empty if it concerns any program."""


def fault_facts(
    cause: str, seen: Snapshot, evidence: Iterable[Evidence], subject: str = "", name: str = ""
) -> FaultFacts:
    """Return the subject of a finding, or of a proof without one."""
    said = (subject, *(t for e in evidence for t in (e.label, e.value, e.source) if t))
    if cause in OF_FILES:
        # A failed call names the main library, which is not necessarily at fault.
        files = [x for t in said for x in named_libraries(t.lower()) if x.part or x.family != "cudnn" or _in_path(t, x)]
        # The parts open zlib, never the main library.
        files = [x for x in files if x.part or x.family != "cudnn" or cause != "zlibwapi_missing"] + [
            *_failed_libraries(seen)
        ]
    else:
        files = [x for t in said for x in named_libraries(t.lower())]
        files += [x for f in _files_in(seen, said) for x in named_libraries(f.name.lower())]
    prefixes = tuple(p.prefix for p in seen.pythons or () if p.prefix and any(_is_inside(t, p.prefix) for t in said))
    return FaultFacts(cause, seen, name, said, tuple(dict.fromkeys(files)), prefixes)


def of_finding(finding: Finding, seen: Snapshot) -> FaultFacts:
    """Return the subject of a finding."""
    return fault_facts(finding.cause, seen, finding.evidence, finding.subject, finding.id)


def _in_path(text: str, library: LibraryName) -> bool:
    at = text.lower().find(library.name)
    return at > 0 and text[at - 1] in "/\\"


def _is_inside(text: str, prefix: str) -> bool:
    at = text.find(prefix)
    return at >= 0 and text[at + len(prefix) : at + len(prefix) + 1] in ("", "/", "\\", " ", ")", ",")


def _files_in(seen: Snapshot, folders: tuple[str, ...]) -> Iterable[LibraryFile]:
    """Return the libraries of the sets whose folder is named."""
    for copy in seen.cudnn or ():
        if copy.folder in folders:
            yield from copy.files
    for toolkit in seen.toolkits or ():
        if toolkit.folder in folders:
            yield from toolkit.libraries


def _failed_libraries(seen: Snapshot) -> Iterable[LibraryName]:
    """Return the libraries that the roll call could not open, or that cuDNN then named."""
    for load in seen.loads or ():
        roll = load.roll_call
        if roll is None or not roll.loaded:
            continue
        failed = [c for c in roll.calls if c.result is None or (c.result and c.function.endswith("VersionCheck"))]
        texts = [
            roll.output,
            *(c.meaning for c in failed),
            *(c.library for c in failed if not c.function.startswith("cudnn")),
        ]
        for text in texts:
            yield from (x for x in named_libraries(text.lower()) if x.part or x.family != "cudnn")


OF_FILES = frozenset(
    (
        *("zlibwapi_missing", "cudnn_sublibrary_missing", "ld_library_path_override", "mixed_cudnn_sublibraries"),
        *("library_unreadable", "corrupt_or_truncated_file", "dll_wrong_architecture", "install_path_characters"),
        "cudnn_shadowed",
    )
)
"""Causes in cuDNN's files: what fails in the roll call belongs to them."""
