"""Repairing an environment's packages: what the verbs of core/doctor/repair.py do differently for it."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.common.progress import Progress
from core.common.text import join_names
from core.fixes.packages import prepare as packages
from core.fixes.packages.context import ExchangeContext, changed_python
from core.fixes.packages.donors import home_of
from core.fixes.packages.installer import Sources, choose_installer, without_secrets
from core.fixes.packages.prepare import Prepared
from core.fixes.packages.twin_trials import import_problem, try_frameworks
from core.host.interface import Host
from core.model.changes import Change, ChangeError, ExchangePackages
from core.model.facts import FrameworkTrial, Snapshot
from core.rehearsal.planned_host import PlannedHost
from core.rehearsal.rehearse import Rehearsal
from core.transaction import package_exchange
from core.transaction.execute import Plan
from core.transaction.journal import Entry
from core.transaction.package_exchange import loose_problem

discard, clear_twin = packages.discard_twins, packages.clear_twin


def unprepared_exchange(plan: Plan) -> ExchangePackages | None:
    """Return the change of packages in a plan that is not prepared yet."""
    return next((c for c in plan.changes if isinstance(c, ExchangePackages) and not c.is_prepared), None)


def exchange_obstacles(wish: ExchangePackages) -> tuple[str, ...]:
    """Return a sentence for each reason not to change an environment's packages; uses no network."""
    folder = os.path.realpath(wish.folder)
    if not Path(folder).is_dir():
        return (_("The folder {folder} does not exist.", folder=folder),)
    needed = folder if wish.restore else os.path.realpath(wish.prefix)
    if not os.access(needed, os.W_OK):
        return (_("This user has no permission to change {path}.", path=needed),)
    problem = loose_problem(folder, wish.prefix)
    return (problem,) if problem else ()


def prepare_exchange(wish: ExchangePackages, further: tuple[Change, ...], context: ExchangeContext) -> Prepared:
    """Prepare a change of packages in a twin, which is tried as programs start after the ``further`` changes.

    See core/fixes/packages/prepare.py.
    """
    host = context.host
    real = replace(wish, prefix=os.path.realpath(wish.prefix), folder=os.path.realpath(wish.folder))
    then = PlannedHost(host=host, changes=further).fresh_environment() if further else host.fresh_environment()
    then = {n: v.replace(f"{wish.prefix}{os.sep}", f"{real.prefix}{os.sep}") for n, v in then.items()}
    return packages.prepare_exchange(real, then, context)


def trial_result(made: Prepared) -> Rehearsal | None:
    """Return the result of the trial; None if only files are restored, which are rehearsed like any others."""
    if not any(isinstance(c, ExchangePackages) for c in made.changes):
        return None
    if made.problem:
        words = join_sentences(_("Tested in a copy of the environment: it does not work."), made.problem)
        return Rehearsal(works=False, sentence=words)
    said = packages.trial_summary(made)
    if not any(t.reached != "nothing" for t in made.trials):
        words = _(
            "The packages fit together in a copy of the environment; no framework there could be imported as a test."
        )
        return Rehearsal(works=None, sentence=words)
    return Rehearsal(works=True, sentence=said)


def wheel_origin(wish: ExchangePackages, sources: Sources, host: Host, watch: Progress) -> str:
    """Return where packages would be fetched from, in one sentence; empty where nothing would be fetched."""
    if not sources.uses_network or not (wish.install or wish.restore):
        return ""
    if address := without_secrets(sources.index or wish.index):
        return _("The packages come from {address}, and from nowhere else.", address=address)
    try:
        installer = choose_installer(Path(wish.prefix), home_of(wish.prefix), host, watch)
    except ChangeError as e:
        return str(e)
    if known := installer.configured_indexes():
        return _("{name} is configured to ask {addresses}.", name=installer.name, addresses=join_names(known))
    return _("The packages come from {name}'s default index.", name=installer.name)


def import_in_place(
    changes: tuple[Change, ...], seen: Snapshot, host: Host, watch: Progress
) -> tuple[str, tuple[str, ...]]:
    """Import the frameworks of a changed environment in their place. Return in one sentence which cannot be, and in others
    what was proved; empty where there is none.
    """
    proved: list[FrameworkTrial] = []
    for change in changes:
        if not isinstance(change, ExchangePackages):
            continue
        python = changed_python(change, seen)
        touched = {p.name for p in change.come}
        for trial in try_frameworks(python, seen, host, watch) if python else ():
            if trial.reached == "nothing" and trial.framework in touched:
                return import_problem(trial), ()
            if trial.reached != "nothing":
                proved.append(trial)
    names = join_names(dict.fromkeys(f"{t.framework} {t.version}" for t in proved))
    convolved = join_names(dict.fromkeys(f"{t.framework} {t.version}" for t in proved if t.gpu and t.right))
    imported = (_("Imported: {names}.", names=names),) if names else ()
    return "", (*imported, *((_("Ran a convolution on the GPU: {names}.", names=convolved),) if convolved else ()))


def twin_bytes(entry: Entry) -> int:
    """Return the bytes that releasing an entry's kept files would free."""
    changes = (c for c in entry.changes if isinstance(c, ExchangePackages))
    return sum(map(package_exchange.kept_bytes, changes)) if entry.state == "done" else 0
