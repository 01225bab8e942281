"""Fixes of an environment's packages: what would be installed, removed or put back, and whether Convalesce may do it. Pure.

Only an environment that is one folder of its own (venv: pip's, uv's, Poetry's) is exchanged for a twin. In the others
(a distribution's Python, conda's environments, user site) other programs own what is beside them, so that there only files
of one package are put back into its own folder; everything else stays advice.
"""

from __future__ import annotations

from core.common.i18n import _
from core.common.requirements import parse_requirement
from core.common.text import join_names
from core.fixes.search_paths import add_folder
from core.knowledge.built_from_source import BUILT_FROM_SOURCE
from core.model.changes import Change, ExchangePackages
from core.model.facts import PythonEnvironment, Snapshot
from core.model.paths import is_inside
from core.model.remedies import AddFolder, InstallPackages, PutPackageBack
from core.rules.frameworks.advice import index_of_build
from core.rules.snapshot_queries import python_of


def put_package_back(remedy: PutPackageBack, snapshot: Snapshot) -> tuple[Change, ...]:
    """Put the files of a package back as its RECORD lists them."""
    python = _python(snapshot, remedy.prefix)
    its = next((d for d in python.distributions if d.name == remedy.package), None) if python else None
    location = its.location if its else remedy.location
    if python is None or not location or python.managed:
        return ()
    names = join_names((f"{remedy.package} {remedy.version}", *remedy.more))
    title = _("Restore the files of {packages}", packages=names)
    return (
        ExchangePackages(
            title=title,
            prefix=python.prefix,
            folder=location,
            restore=(remedy.package, *remedy.more),
            index=index_of_build(remedy.version),
        ),
    )


def install_packages(remedy: InstallPackages, snapshot: Snapshot) -> tuple[Change, ...]:
    """Exchange packages of an environment that is one folder of its own; none that would have to be built here, since wheels alone are
    installed.
    """
    wishes = (parse_requirement(w) for w in remedy.install)
    if any(w and BUILT_FROM_SOURCE.fullmatch(w.name) for w in wishes):
        return ()
    python = _python(snapshot, remedy.prefix)
    if python is None or python.kind != "venv" or not python.site_packages or not python.executable:
        return ()
    folder = python.site_packages[0]
    if not is_inside(snapshot.machine.system, folder, python.prefix):
        return ()
    come = join_names(remedy.install)
    title = (
        _("Install {packages} in {prefix}", packages=come, prefix=python.prefix)
        if come
        else _("Remove {packages} from {prefix}", packages=join_names(remedy.remove), prefix=python.prefix)
    )
    exchange = ExchangePackages(
        title=title,
        prefix=python.prefix,
        folder=folder,
        remove=remedy.remove,
        install=remedy.install,
        index=remedy.index,
        alone=remedy.alone,
        dll_folders=remedy.dll_folders,
    )
    if not remedy.search:
        return (exchange,)
    first, *more = remedy.search
    searched = add_folder(AddFolder(folder=first, more=tuple(more), prefixes=(python.prefix,)), snapshot)
    there_already = snapshot.machine.system == "windows"  # a folder that PATH has is not added again
    return (exchange, *searched) if searched or there_already else ()


def _python(snapshot: Snapshot, prefix: str) -> PythonEnvironment | None:
    everything = snapshot.frameworks
    others = (p for p in (everything.others if everything else ()) if p.prefix == prefix)
    return python_of(snapshot, prefix) or next(others, None)
