"""Fixes: from a finding and the Snapshot to the Changes that cure it, by cause. Pure; nothing is looked at or done here.

Each function returns the changes, or none where only the person should act; the finding keeps its advice either way.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from msgspec.structs import replace

from core import pathlist
from core.changes import Change, FileSet
from core.facts import Snapshot
from core.findings import Finding, Fix
from core.fixes_files import add_dll_folders, cache_aside, complete, quarantine, quarantine_parts, under_plain_name
from core.fixes_kept import activation, chosen, given, kept, of_one_scope
from core.fixes_search import (
    add_folder,
    add_named_folder,
    drop_half,
    drop_override,
    drop_wrong_libcuda,
    past_foreign,
    remove_dead,
    reorder,
)
from core.i18n import _
from core.pathlist import PathError
from core.rules.known import numbers
from core.steps import Severity

__all__ = ["add_folder", "with_changes"]

Maker = Callable[[Finding, Snapshot], tuple[Change, ...]]


def with_changes(finding: Finding, snapshot: Snapshot) -> Finding:
    """Return the finding with the changes that Convalesce can make for it; as it was where there are none, or where it has some."""
    if finding.fix is not None and finding.fix.changes:
        return finding
    finding = _with_lines(finding, snapshot)
    named = MAKERS.get(finding.cause, ()) if finding.severity > Severity.NOTE else ()
    for maker in (*named, *BY_ID.get(finding.id, ())):
        try:
            changes = maker(finding, snapshot)
        except PathError:
            continue  # the search path is in no state to be edited: the advice stays
        if changes:
            fix = finding.fix or Fix(title=_("Take out the entries that do nothing"), restart="terminal")
            return replace(finding, fix=replace(fix, title=_title(fix, changes), changes=changes))
    return finding


ABOUT_LIBRARIES = (
    "ld_library_path_override",
    "libcuda_wrong_library",
    "cuda_compat_mismatch",
    "cuda_compat_unsupported",
    "cuda_lib_shadowed",
)
"""Causes that LD_LIBRARY_PATH brings about; those of other variables have the variable as their subject."""


def _with_lines(finding: Finding, snapshot: Snapshot) -> Finding:
    """Return the finding with how to take its variable out of ~/.pam_environment, which Convalesce does not edit.

    pam_env(8) calls that file deprecated, and reads it only where an administrator still allows it (user_readenv).
    """
    name = "LD_LIBRARY_PATH" if finding.cause in ABOUT_LIBRARIES else finding.subject
    if finding.fix is None or finding.cause not in MAKERS or not re.fullmatch(r"[A-Z_]+", name):
        return finding
    found = snapshot.environment.variables if snapshot.environment else ()
    files = {v.source: None for v in found if v.name == name and v.source.endswith("/.pam_environment")}
    lines = [line for file in files for line in _out_of_pam(name, file)]
    if not lines or lines[-1] in finding.fix.advice:
        return finding
    return replace(finding, fix=replace(finding.fix, advice="\n".join([finding.fix.advice, *lines]).strip()))


def _out_of_pam(name: str, file: str) -> tuple[str, str]:
    words = _("{file} sets {name}. Newer systems no longer read that file. Take the line out:", file=file, name=name)
    return words, f"sed -i '/^[[:space:]]*{name}[[:space:]=]/d' {shlex.quote(file)}"


def _title(fix: Fix, changes: tuple[Change, ...]) -> str:
    """Return what will be done: by the files' own words, else by the advice's."""
    first = changes[0]
    if isinstance(first, FileSet):
        return first.title
    return _("{title}, in this environment", title=fix.title) if first.scope == "environment" else fix.title


# --- variables -----------------------------------------------------------------------------------------------------


def unhide(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Take a variable away that hides the GPUs, wherever it is kept.

    A value that only this session has is left alone: a batch system may have set it on purpose.
    """
    return of_one_scope([given(v, None, snapshot.machine.system) for v in kept(snapshot, finding.subject)])


def repair_cuda_path(finding: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """Let the variable name the newest toolkit that is there; take it away where there is none.

    Where it is not kept (a shell's own file sets it), the environments that were named or are active set it right.
    """
    installed = [t for t in snapshot.toolkits or () if t.origin in ("installer", "folder")]
    best = max(installed, key=lambda t: numbers(t.version), default=None)
    system = snapshot.machine.system
    there = {pathlist.key(t.root, system) for t in installed}
    lasting = kept(snapshot, finding.subject)
    if not lasting:
        steps = f"set {best.root}" if best else "unset"
        return tuple(activation(prefix, steps, finding.subject) for prefix in chosen(snapshot))
    wrong = [v for v in lasting if pathlist.key(v.value, system) not in there]
    return of_one_scope([given(v, best.root if best else None, system) for v in wrong])


MAKERS: dict[str, tuple[Maker, ...]] = {
    "gpu_hidden_by_env": (unhide,),
    "libcuda_wrong_library": (drop_wrong_libcuda,),
    "cuda_compat_mismatch": (drop_wrong_libcuda,),
    "cuda_compat_unsupported": (drop_wrong_libcuda,),
    "cuda_path_env_wrong": (repair_cuda_path,),
    "cudnn_not_on_search_path": (add_named_folder,),
    "cuda_not_on_search_path": (add_named_folder,),
    "ld_library_path_override": (drop_override,),
    "cuda_lib_shadowed": (drop_half,),
    "cudnn_shadowed": (reorder, quarantine),
    "cudnn_sublibrary_missing": (complete,),
    "corrupt_or_truncated_file": (complete,),
    "dll_wrong_architecture": (past_foreign, complete),
    "mixed_cudnn_sublibraries": (quarantine_parts, complete),
    "python_dll_search_change": (add_dll_folders,),
    "nvrtc_missing_or_mismatch": (under_plain_name,),
    "nv_compute_cache_bad": (cache_aside,),
}
"""Cause -> what may cure it, the first that applies. A new fix is a function and a row here."""

BY_ID: dict[str, tuple[Maker, ...]] = {"environment.untidy-path": (remove_dead,)}
"""The same for findings that name no cause."""
