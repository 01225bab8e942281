"""Fixes: from the remedy that a rule names to the Changes that carry it out. Pure: it reads nothing from the machine
and changes nothing.

A remedy becomes changes, or none where only the person should act; the finding keeps its advice either way. The rule has
already said what is wrong and what would cure it, so nothing here repeats its reasoning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from msgspec.structs import replace

from core.common.i18n import _
from core.common.shell import quote
from core.fixes.files import (
    add_dll_folders,
    complete_set,
    files_of_variables_back,
    give_other_name,
    give_plain_name,
    put_aside,
    put_cache_aside,
)
from core.fixes.lines import advice_of_lines, edit_lines, edited_variable, name_python, take_out_line
from core.fixes.packages.remedies import install_packages, put_package_back
from core.fixes.search_paths import add_folder, drop_dead_entries, prefer_folder, take_out_folders
from core.fixes.variables import (
    activation_change,
    effective_values,
    has_activation,
    in_single_scope,
    persistent_values,
    set_value,
    target_environments,
)
from core.model import path_list, remedies
from core.model.changes import Change, EditLine, EditPath, ExchangePackages, FileSet, SetVariable, Value
from core.model.facts import Snapshot, Variable
from core.model.findings import Finding, Fix
from core.model.path_list import PathError
from core.model.steps import Severity
from core.model.system_steps import SystemStep
from core.rules.snapshot_queries import limit_rows
from core.rules.ways import THIS_SESSION, line_evidence


def _on_search_path(remedy: remedies.AddDllFolders) -> str:
    return _("Put {folder} on the search path", folder=";".join(remedy.folders))


def attach_changes(finding: Finding, snapshot: Snapshot) -> Finding:
    """Return the finding with the changes that Convalesce can make to cure it, in place of its remedy."""
    remedy, finding = finding.remedy, replace(finding, remedy=None)
    if remedy is None:
        return finding
    finding = _with_lines(finding, remedy, snapshot)
    if finding.fix is not None and (advice := advice_of_lines(remedy, finding, snapshot)):
        title = _on_search_path(remedy) if isinstance(remedy, remedies.AddDllFolders) else finding.fix.title
        finding = replace(finding, fix=replace(finding.fix, title=title, advice=advice, restart="program"))
    if finding.severity > Severity.NOTE and (name := edited_variable(remedy)):
        known = {e.source for e in finding.evidence}
        rows = [e for e in line_evidence(snapshot, name, finding.ways) if e.source not in known]
        finding = replace(finding, evidence=(*finding.evidence, *limit_rows(rows)))
    if finding.severity <= Severity.NOTE and not isinstance(remedy, remedies.DropDead):
        return finding
    try:
        changes = _with_edits(changes_of(remedy, snapshot), remedy, finding, snapshot)
        if all(isinstance(c, SetVariable) for c in changes):
            changes = (*changes, *files_of_variables_back(finding, snapshot))
    except PathError:
        return finding  # the search path is in no state to be edited: the advice stays
    if not changes:
        return finding
    fix = finding.fix or Fix(title=_("Remove the entries that have no effect"), restart="terminal")
    if isinstance(remedy, remedies.AddDllFolders) and isinstance(changes[0], EditLine):
        fix = replace(fix, title=_on_search_path(remedy), restart="program")
    if isinstance(remedy, remedies.GiveOtherName) and isinstance(changes[0], EditLine):
        fix = Fix(title=_("Remove {folder} from PYTHONPATH", folder=remedy.entry), restart="program")
    title = _title(fix, changes)
    if isinstance(remedy, remedies.Unset) and isinstance(changes[0], SetVariable) and changes[0].scope == "environment":
        title = _("Remove this value of {name} each time the environment is activated", name=remedy.variable)
    return replace(finding, fix=replace(fix, title=title, changes=changes))


def _with_edits(
    changes: tuple[Change, ...], remedy: remedies.Remedy, finding: Finding, snapshot: Snapshot
) -> tuple[Change, ...]:
    """Return the changes with the lines that are to be edited, which spare the environments' activations.

    A fault of other ways of starting than this one is cured where they get it, or not at all.
    """
    edits = edit_lines(remedy, finding, snapshot)
    lasting = [c for c in changes if not isinstance(c, SetVariable) or c.scope != "environment"]
    if edits and isinstance(remedy, remedies.GiveOtherName):
        return in_single_scope(edits) or changes
    elsewhere = bool(finding.ways) and THIS_SESSION not in finding.ways
    if (
        snapshot.machine.system == "windows"
        and elsewhere
        and isinstance(remedy, remedies.AddFolder | remedies.AddDllFolders)
    ):
        return in_single_scope(edits)  # this session's variables are right
    if edits:
        return in_single_scope([*lasting, *edits])
    return tuple(lasting) if finding.ways and THIS_SESSION not in finding.ways else changes


def changes_of(remedy: remedies.Remedy, snapshot: Snapshot) -> tuple[Change, ...]:  # noqa: C901, PLR0912 - a flat table
    """Return the changes that carry out a remedy on this machine; none if only the person should act.

    Raises:
        PathError: a search path is in no state to be edited.
    """
    match remedy:
        case remedies.Unset():
            return unset_variable(remedy, snapshot)
        case remedies.PointTo():
            return point_variable(remedy, snapshot)
        case remedies.AddFolder():
            return add_folder(remedy, snapshot)
        case remedies.TakeOut():
            return take_out_folders(remedy, snapshot)
        case remedies.PreferFolder():
            return prefer_folder(remedy, snapshot)
        case remedies.DropDead():
            return drop_dead_entries(remedy, snapshot)
        case remedies.ExpandVariables():
            return expand_stored_variables(remedy, snapshot)
        case remedies.CompleteSet():
            return complete_set(remedy, snapshot)
        case remedies.PutAside():
            return put_aside(remedy, snapshot)
        case remedies.PutCacheAside():
            return put_cache_aside(remedy)
        case remedies.GivePlainName():
            return give_plain_name(remedy, snapshot)
        case remedies.GiveOtherName():
            return give_other_name(remedy, snapshot)
        case remedies.TakeOutLine():
            return take_out_line(remedy)
        case remedies.NamePython():
            return name_python(remedy)
        case remedies.AddDllFolders():
            return add_dll_folders(remedy, snapshot)
        case remedies.PutPackageBack():
            return put_package_back(remedy, snapshot)
        case remedies.InstallPackages():
            return install_packages(remedy, snapshot)
        case remedies.UseSystemTool():
            return (SystemStep(kind=remedy.kind, subject=remedy.subject, value=remedy.value),)
        case remedies.SetForEnvironments():
            steps = f"set {remedy.value}"
            named = [p for p in remedy.prefixes if has_activation(snapshot, p)]
            meant = named if remedy.prefixes else target_environments(snapshot)
            return tuple(activation_change(p, steps, remedy.variable) for p in meant)
        case _:
            assert_never(remedy)


def _with_lines(finding: Finding, remedy: remedies.Remedy, snapshot: Snapshot) -> Finding:
    """Return the finding with how to take its variable out of ~/.pam_environment, which Convalesce does not edit.

    pam_env(8) calls that file deprecated, and reads it only where an administrator still allows it (user_readenv).
    """
    if finding.fix is None or not isinstance(remedy, remedies.Unset | remedies.PointTo | remedies.TakeOut):
        return finding
    name = remedy.variable
    files = {v.source: None for v in snapshot.variables if v.name == name and v.source.endswith("/.pam_environment")}
    lines = [line for file in files for line in _out_of_pam(name, file)]
    if not lines:
        return finding
    return replace(finding, fix=replace(finding.fix, advice="\n".join([finding.fix.advice, *lines]).strip()))


def _out_of_pam(name: str, file: str) -> tuple[str, str]:
    words = _("{file} sets {name}. Newer systems no longer read that file. Remove the line:", file=file, name=name)
    return words, f"sed -i '/^[[:space:]]*{name}[[:space:]=]/d' {quote(file)}"


def _title(fix: Fix, changes: tuple[Change, ...]) -> str:
    """Return what will be done: by the files' own words, else by the advice's."""
    first = changes[0]
    if isinstance(first, ExchangePackages):
        return fix.title
    if isinstance(first, FileSet):
        return first.title
    if not isinstance(first, SetVariable | EditPath):
        return fix.title
    return _("{title}, in this environment", title=fix.title) if first.scope == "environment" else fix.title


# --- variables -----------------------------------------------------------------------------------------------------


def expand_stored_variables(remedy: remedies.ExpandVariables, snapshot: Snapshot) -> tuple[Change, ...]:
    """Change the kind of a stored value and keep its text."""
    kept = [v for v in persistent_values(snapshot, remedy.variable) if v.scope == remedy.scope and v.kind == "REG_SZ"]
    return tuple(
        replace(set_value(v, v.value, "windows"), after=Value(text=v.value, kind="REG_EXPAND_SZ")) for v in kept
    )


def unset_variable(remedy: remedies.Unset, snapshot: Snapshot) -> tuple[Change, ...]:
    """Remove a variable wherever it is stored. A value that only this session has is left alone, since a batch system may
    have set it on purpose, unless it is wrong for whoever reads it: then environments do without exactly this value.
    """
    if lasting := effective_values(snapshot, remedy.variable):
        return _without(lasting, snapshot)
    if not remedy.value or not remedy.value.isprintable():
        return ()
    having = [p for p in dict.fromkeys(remedy.prefixes) if has_activation(snapshot, p)]
    return tuple(activation_change(p, f"unset-if {remedy.value}", n) for p in having for n in _spelt(remedy, snapshot))


def _spelt(remedy: remedies.Unset, snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names under which the session has the value: proxies are read in small letters, too (all_proxy)."""
    its = (v.name for v in snapshot.variables if v.name.upper() == remedy.variable.upper() and v.value == remedy.value)
    return tuple(dict.fromkeys(its)) or (remedy.variable,)


def point_variable(remedy: remedies.PointTo, snapshot: Snapshot) -> tuple[Change, ...]:
    """Set the variable to the right folder, or remove it if there is none. If it is not stored (a shell's own file sets
    it), set it in the environments that were named or are active.
    """
    system = snapshot.machine.system
    there = {path_list.entry_key(folder, system) for folder in remedy.right}
    lasting = effective_values(snapshot, remedy.variable)
    if not lasting:
        steps = f"set {remedy.folder}" if remedy.folder else "unset"
        return tuple(activation_change(prefix, steps, remedy.variable) for prefix in target_environments(snapshot))
    wrong = [v for v in lasting if path_list.entry_key(v.value, system) not in there]
    if not remedy.folder:
        return _without(wrong, snapshot)
    return in_single_scope([set_value(v, remedy.folder, system) for v in wrong])


def _without(values: Sequence[Variable], snapshot: Snapshot) -> tuple[Change, ...]:
    """Return the removal of stored values; none if the machine's own, which programs get then, is the same."""
    behind = [v.value for each in values for v in persistent_values(snapshot, each.name) if v not in values]
    if any(v.value in behind for v in values):
        return ()
    return in_single_scope([set_value(v, None, snapshot.machine.system) for v in values])
