"""What a probe checks before it runs or loads something: the verdict, the child's variables, and the fact to record."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from core.host import child, ownership, provenance
from core.host.interface import Account
from core.host.provenance import Verdict, may_run
from core.model.facts import Changeable, CudnnCopy, Execution, How, PythonEnvironment, path_text
from core.probes.loading.origin import runs_here
from core.probes.odd_files import odd_files
from core.probes.probe import ProbeRequest
from core.probes.sysroot import Sysroot

if TYPE_CHECKING:
    from core.probes.loading.plan import LoadPlan

SEARCHED = frozenset(
    (How.LD_LIBRARY_PATH, How.LD_CACHE, How.DEFAULT, How.PATH, How.SYSTEM, How.SYSTEM16, How.WINDOWS, How.KNOWN_DLL)
)
"""Results of a loader's search that are the same for every program."""


def load_verdict(its: LoadPlan, python: PythonEnvironment | None, where: Sysroot) -> Verdict:
    """Return whether the files of a load may be loaded."""
    wanted = python is None or python.is_wanted  # A plain program's search path always counts as trusted.
    paths: dict[str, bool] = {}
    for resolution in its.resolutions:
        winner = resolution.winner
        if winner and where.path_module.isabs(winner.path):
            paths.setdefault(where.local_path(winner.path), wanted or winner.how in SEARCHED)
    roll = its.roll
    for path in (roll.main, *roll.preload, *(t for p in roll.parts for t in p.tries)) if roll else ():
        if where.path_module.isabs(path):
            paths.setdefault(where.local_path(path), wanted)
    return verdict_within_reach(may_run(paths))


def interpreter_verdict(python: PythonEnvironment, where: Sysroot, *, also: Iterable[str] = ()) -> Verdict:
    """Return whether an environment's interpreter may run, with its settings, package folders and their content.

    The content counts only for an administrator, because nobody else gains rights by it. ``also``: other files that it
    runs.
    """
    me = provenance.this_person()
    folders = map(where.local_path, python.site_packages) if me.elevated else ()
    return _files_verdict(python, also, (path for folder in folders for path in odd_files(folder)), where, me)


def opening_verdict(python: PythonEnvironment, files: Iterable[str], where: Sysroot) -> Verdict:
    """Return whether an environment's interpreter may open libraries.

    Code of its packages does not run, so only the loaded ``files`` are checked with it, and only for an administrator.
    """
    me = provenance.this_person()
    return _files_verdict(python, (), map(where.local_path, files) if me.elevated else (), where, me)


def _files_verdict(
    python: PythonEnvironment, also: Iterable[str], real: Iterable[str], where: Sysroot, me: provenance.Person
) -> Verdict:
    places = [python.executable, where.join(python.prefix, "pyvenv.cfg"), *python.site_packages, *also]
    paths = dict.fromkeys((where.local_path(p) for p in places if p and where.path_module.isabs(p)), python.is_wanted)
    return verdict_within_reach(may_run(paths | dict.fromkeys(real, python.is_wanted), me))


def changeable_in_environment(python: PythonEnvironment, where: Sysroot) -> Changeable | None:
    """Return the part of an environment that others can change; None if there is none, and for another system's."""
    places = [p for p in (python.executable or python.prefix, *python.site_packages) if where.path_module.isabs(p)]
    return (
        printable_changeable(may_run({where.local_path(p): False for p in places}).changeable)
        if runs_here(where)
        else None
    )


def changeable_in_copy(copy: CudnnCopy, where: Sysroot) -> Changeable | None:
    """Return the part of a copy of cuDNN that others can change; None if there is none, and for another system's."""
    paths = {
        where.local_path(f.path): False for f in copy.files if f.state != "missing" and where.path_module.isabs(f.path)
    }
    return printable_changeable(may_run(paths).changeable) if runs_here(where) else None


def verdict_within_reach(verdict: Verdict) -> Verdict:
    """Return a verdict that can be carried out: another account can run only what it can access, including our own interpreter."""
    account = verdict.account
    if not verdict.may or account is None:
        return verdict
    ours = [p for p in child.child_command() if os.path.isabs(p)]  # noqa: PTH117 - texts, some of them code
    return verdict if all(_can_read(account, p) for p in ours) else Verdict(may=False, changeable=verdict.changeable)


def with_least_rights(verdict: Verdict, path: str) -> Verdict:
    """Return a verdict by which an administrator's own program runs as the account nobody, if that account may execute
    it.

    The number of its processes can be limited then.
    """
    least = provenance.nobody() if verdict.may and verdict.account is None else None
    return replace(verdict, account=least) if least and _can_read(least, path) else verdict


def _can_read(account: Account, path: str) -> bool:
    groups = frozenset((account.gid, *account.groups))
    real = Path(os.path.realpath(path))
    try:
        if not ownership.may_read(str(real), account.uid, groups):
            return False
        return all(ownership.may_enter(str(folder), account.uid, groups) for folder in real.parents)
    except OSError:
        return False


def record_execution(
    what: Literal["roll call", "driver", "framework", "interpreter", "nvcc", "search path"],
    path: str,
    verdict: Verdict,
    request: ProbeRequest,
    consumer: str = "",
) -> Execution:
    """Record what was run, or was not, and return it."""
    me = request.seen.machine.user
    rights = (verdict.account.name if verdict.account else me) if verdict.may else ""
    found = Execution(
        what=what,
        path=path_text(path),
        account=rights,
        consumer=consumer,
        changeable=printable_changeable(verdict.changeable),
    )
    request.tell(found)
    return found


def printable_changeable(changeable: Changeable | None) -> Changeable | None:
    """Return it with printable texts."""
    if changeable is None:
        return None
    return Changeable(
        path=path_text(changeable.path), owner=changeable.owner, mode=changeable.mode, writers=changeable.writers
    )


def trusted_search_paths(env: Mapping[str, str], request: ProbeRequest, where: Sysroot) -> dict[str, str]:
    """Return the variables for a program of the system, and record which entries an administrator's rights do not follow."""
    if not runs_here(where):
        return dict(env)
    out = provenance.trusted_environment(env)
    for name in (n for n in env if n.upper() in provenance.SEARCHED and out.get(n) != env[n]):
        kept = out.get(name, "").split(os.pathsep)
        for entry in dict.fromkeys(env[name].split(os.pathsep)):
            if entry not in kept:
                verdict = may_run({os.path.join("/", entry): True})  # noqa: PTH118 - may be no path
                record_execution("search path", entry, Verdict(may=False, changeable=verdict.changeable), request)
    for name in (n for n in env if n not in out and n.upper() not in provenance.SEARCHED):
        if provenance.HANDED_ON.fullmatch(name) and (place := provenance.place_of_others(name, env[name])):
            record_execution(
                "search path", place, Verdict(may=False, changeable=may_run({place: True}).changeable), request
            )
    return out
