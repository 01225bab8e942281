"""Rules about Python's module search: shadowing modules, packages for another Python, empty packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from core.common.i18n import _, join_sentences
from core.common.late_pattern import late_pattern
from core.common.shell import shell_command, shell_of
from core.common.text import join_names
from core.common.versions import version_tuple
from core.knowledge.modules import module_table
from core.model.facts import FoundModule, ImportSearch, SearchEntry, Snapshot
from core.model.facts.imports import BEFORE_THE_PACKAGES
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, is_inside, parent
from core.model.remedies import (
    GiveOtherName,
    InstallPackages,
    Place,
    PutPackageBack,
    Remedy,
    SetForEnvironments,
    TakeOut,
    TakeOutLine,
)
from core.rules.frameworks.advice import framework_pip_command, index_of_build, reinstall_package
from core.rules.frameworks.builds import is_cpu
from core.rules.frameworks.environment_view import FRAMEWORKS, EnvironmentView, environment_views
from core.rules.frameworks.fit import gpu_side
from core.rules.wording import NOTE, WARNING, concern_row, make_finding, manual_fix, observation

INSTALLED_PTH = ("__", "easy-install.", "easy_install.", "distutils-", "_virtualenv.", "setuptools.")
"""Prefixes of the .pth files that installers maintain; uninstalling the package removes their lines."""


def views_with_imports(seen: Snapshot) -> Iterator[tuple[EnvironmentView, ImportSearch]]:
    """Yield every environment whose module search was read."""
    for home in environment_views(seen):
        if home.near <= 3 and (search := home.search) is not None:
            yield home, search


def shadowed_modules(seen: Snapshot) -> Iterator[Finding]:
    """Another file, or another installation, is imported instead of a package of the environment."""
    for home, search in views_with_imports(seen):
        for found in search.modules:
            entry = search.entry(found.entry)
            if (
                entry is None
                or entry.origin not in BEFORE_THE_PACKAGES
                or not found.hidden
                or found.kind == "namespace"
            ):
                continue
            if found.foreign:
                continue  # The rule about packages for another Python reports it.
            if found.whole and not _ends(search, found):
                continue  # Whatever asks for the hidden one gets the same from this copy.
            if not found.owner and (found.hidden_owner or found.name == "nvidia"):
                yield _file_in_the_way(home, search, found, entry)
            elif found.owner and found.hidden_owner:
                yield from _other_installation(home, found, entry)


def describe_origin(entry: SearchEntry) -> str:
    """Return what added an entry to sys.path, in words."""
    match entry.origin:
        case "start":
            return _("the folder in which the program is started")
        case "PYTHONPATH":
            return "PYTHONPATH"
        case "user site":
            return _("the user's own packages (pip install --user)")
        case _ if entry.source:
            return f"{entry.source}:{entry.line}" if entry.line else entry.source
        case _:
            return _("the environment's own packages")


def before_the_packages(entry: SearchEntry) -> str:
    """Return why Python finds a module of this entry first."""
    return _(
        "Python imports the first module of a name that it finds, and {way} comes before the environment's packages.",
        way=describe_origin(entry),
    )


def _rows(found: FoundModule, entry: SearchEntry) -> list[Evidence]:
    rows = [
        observation(_("import {name} finds", name=found.name), found.path, describe_origin(entry)),
        observation(_("Installed"), found.hidden_owner or found.name, next(iter(found.hidden), "")),
    ]
    if found.owner:
        rows.insert(1, observation(_("It belongs to"), found.owner))
    return rows


def _importers(home: EnvironmentView, module: str) -> list[str]:
    """Return the installed distributions whose start is known to import a module."""
    rows = [r for r in module_table().modules if r.module == module and r.needed_by]
    return [d.name for d in home.python.distributions if any(re.fullmatch(r.needed_by, d.name) for r in rows)]


def _file_in_the_way(home: EnvironmentView, search: ImportSearch, found: FoundModule, entry: SearchEntry) -> Finding:
    own = found.hidden_owner.partition(" ")[0]
    importers = _importers(home, found.name)
    mild = found.name == "nvidia" or not (FRAMEWORKS.fullmatch(own) or importers)
    ends = any(e.path == found.path or is_in_the_way(home, search, found, e.importer) for e in search.ended)
    severity = min(home.severity, WARNING) if mild and found.name != "numpy" and not ends else home.severity
    if found.alike and not _ends(search, found) and not _is_cut_short(home):
        severity = NOTE  # Its import was followed, and does not end.
    if _is_of_tests(home, entry) and not found.unlike:
        severity = NOTE  # Tests that have a stand-in beside them run with it on purpose.
    concerned = [home.concerns(name) for name in dict.fromkeys(importers)]
    if not concerned and any(row.module == found.name for row in module_table().modules):
        concerned = [home.concerns(own if FRAMEWORKS.fullmatch(own) else "")]
    elif not concerned:
        concerned = [
            concern_row(home.python.consumer(found.hidden_owner))
        ]  # the package itself: no framework asks for it
    return make_finding(
        f"frameworks.shadowed-{found.name}",
        severity,
        _("import {name} finds {path} instead of the installed package.", name=found.name, path=found.path),
        cause="module_shadowed",
        why=_(
            "Python imports the first module of a name that it finds. Programs that start in {folder} get this one.",
            folder=entry.path,
        )
        if entry.origin == "start"
        else before_the_packages(entry),
        evidence=[*_rows(found, entry), *_ends_in_it(home, search, found), *concerned],
        subject=found.path,
        fix=with_own_programs(_out_of_the_way(home, found, entry), [found]),
        remedy=_other_names(home, [found], entry),
    )


def _ends(search: ImportSearch, found: FoundModule) -> bool:
    """Whether the import of a module ends, or an import ends in its folder."""
    return any(found.name in e.starts or found.name == e.wanted.partition(".")[0] for e in search.ended)


def is_in_the_way(home: EnvironmentView, search: ImportSearch, found: FoundModule, file: str) -> bool:
    """Whether a file is of a module that stands in the way of an installed package, and is no package's itself."""
    system, entry = home.seen.machine.system, search.entry(found.entry)
    stands = entry is not None and entry.origin in BEFORE_THE_PACKAGES and not (found.foreign or found.owner)
    if not stands or not found.hidden or not found.hidden_owner or found.kind == "namespace":
        return False
    return found.path == file or (
        file_name(system, found.path).startswith("__init__.") and is_inside(system, file, parent(system, found.path))
    )


def _ends_in_it(home: EnvironmentView, search: ImportSearch, found: FoundModule) -> Iterator[Evidence]:
    """Yield what the files of a module in the way ask for and do not get: with the installed packages, their import ends there."""
    for e in search.ended:
        if e.importer and is_in_the_way(home, search, found, e.importer):
            wanted = f"{e.wanted}.{e.name}" if e.name else e.wanted
            yield observation(_("It asks for this, and does not get it"), wanted, f"{e.importer}:{e.line}")
            if e.owner:
                yield observation(_("Installed"), e.owner, e.path)


def _is_cut_short(home: EnvironmentView) -> bool:
    """Whether time ran out before the imports of a named environment's frameworks were followed; of what only uses them no more is asked."""
    return any(u.path == home.python.prefix and u.what == "imports" and u.wanted_by for u in home.seen.unexamined)


def _is_of_tests(home: EnvironmentView, entry: SearchEntry) -> bool:
    """Whether pytest puts a folder in front because tests lie in it."""
    name = file_name(home.seen.machine.system, entry.source) if entry.origin == "pth" else ""
    return bool(re.fullmatch(r"conftest\.py|test_\w*\.py|\w+_test\.py", name))


def removal_remedy(home: EnvironmentView, entry: SearchEntry) -> TakeOut | TakeOutLine | SetForEnvironments | None:
    """Return the remedy for a shadowing installation: take its folder off PYTHONPATH or out of a .pth file, or turn the
    user's packages off while the environment is active.
    """
    if entry.origin == "pth":
        return _line_out(home, entry)
    if entry.origin == "PYTHONPATH":
        return TakeOut(variable="PYTHONPATH", places=(Place(folder=entry.path, prefix=home.python.prefix),))
    if entry.origin == "user site" and home.python.kind in ("venv", "conda"):
        return SetForEnvironments(variable="PYTHONNOUSERSITE", value="1", prefixes=(home.python.prefix,))
    return None


def _line_out(home: EnvironmentView, entry: SearchEntry) -> TakeOutLine | None:
    """Return the remedy that removes the line of a .pth file; None if an installer maintains the file."""
    installed = file_name(home.seen.machine.system, entry.source).startswith(INSTALLED_PTH)
    return (
        None
        if installed or not entry.line or not entry.source.endswith(".pth")
        else TakeOutLine(file=entry.source, line=entry.line, folder=entry.path)
    )


def _other_names(home: EnvironmentView, some: Sequence[FoundModule], entry: SearchEntry) -> Remedy | None:
    """Return the remedy that renames files that nobody installed; None if a project, an installation or programs beside them need them."""
    if any(f.meant_by for f in some):
        return None
    if entry.origin == "pth":
        return _line_out(home, entry)
    if any(f.project or f.owner for f in some) or is_of_packages(home, entry):
        return removal_remedy(home, entry) if entry.origin == "PYTHONPATH" else None
    sole = entry.origin == "PYTHONPATH" and all(f.alone for f in some)
    return GiveOtherName(files=tuple(_other_name(home, f) for f in some), entry=entry.path if sole else "")


def _other_name(home: EnvironmentView, found: FoundModule) -> tuple[str, str]:
    """Return the path of a shadowing module and a new file name; a package's folder is quarantined."""
    own = _own_path(home, found)
    return own, f"my_{file_name(home.seen.machine.system, own)}" if own == found.path else ""


def _own_path(home: EnvironmentView, found: FoundModule) -> str:
    whole = found.kind in ("module", "extension", "bytecode")
    return found.path if whole else parent(home.seen.machine.system, found.path)


def _out_of_the_way(home: EnvironmentView, found: FoundModule, entry: SearchEntry) -> Fix:
    system = home.seen.machine.system
    if found.project and not (found.owner or found.foreign) and entry.origin != "pth":
        return manual_fix(
            _("Start programs in another folder"),
            _(
                "{folder} contains the source of a project ({file}), and Python imports {name} from there.",
                folder=entry.path,
                file=file_name(system, found.project),
                name=found.name,
            ),
            restart="program",
        )
    return stop_shadowing(home, _own_path(home, found), entry, owner=found.owner, foreign=bool(found.foreign))


def with_own_programs(fix: Fix, some: Sequence[FoundModule]) -> Fix:
    """Return the fix with the lines of a person's programs that mean these files, and must change with their names."""
    lines = [
        _("{line} means this {name}: write its new name there, too.", line=line, name=f.name)
        for f in some
        for line in f.meant_by
    ]
    return replace(fix, advice="\n".join((fix.advice, *lines))) if lines else fix


def rename_unless_meant(home: EnvironmentView, file: str, fix: Fix, remedy: Remedy | None) -> tuple[Fix, Remedy | None]:
    """Return how a file gets out of the way by another name: as a change only where no program beside it means it."""
    searches = home.seen.imports or ()
    meant = [f for s in searches for f in (*s.modules, *s.hidden_standard) if f.path == file and f.meant_by]
    return (with_own_programs(fix, meant[:1]), None) if meant else (fix, remedy)


def stop_shadowing(home: EnvironmentView, own: str, entry: SearchEntry, *, owner: str, foreign: bool = False) -> Fix:
    """Return how to stop a file or folder from preceding the environment's packages."""
    system = home.seen.machine.system
    if entry.origin == "PYTHONPATH" and (owner or foreign):
        return manual_fix(
            _("Remove {folder} from PYTHONPATH", folder=entry.path),
            _("For this terminal: unset PYTHONPATH")
            if system == "linux"
            else _("Start menu: Edit environment variables for your account; remove the entry from PYTHONPATH."),
            restart="terminal",
        )
    if entry.origin == "user site" and owner:
        return manual_fix(
            _("Remove the second installation from the user's packages"),
            _("Programs of this environment can leave them out: export PYTHONNOUSERSITE=1")
            if system == "linux"
            else _("Programs of this environment can leave them out: set PYTHONNOUSERSITE to 1."),
            *_uninstalled(home, owner, entry),
            restart="program",
        )
    if entry.origin == "pth" or _is_named_by_pth(home, entry):
        return manual_fix(
            _("Remove the line from {file}", file=entry.source),
            _(
                "Line {line} of {file} puts {folder} on the search path.",
                line=entry.line,
                file=entry.source,
                folder=entry.path,
            ),
            restart="program",
        )
    if is_of_packages(home, entry):
        return manual_fix(
            _("Start programs in another folder"),
            _(
                "{folder} is inside an installed package; Python finds the package through the folder that contains it.",
                folder=entry.path,
            ),
            restart="program",
        )
    return manual_fix(
        _("Rename {name}", name=file_name(system, own)),
        shell_command(
            "ren" if system == "windows" else "mv",
            own,
            f"my_{file_name(system, own)}"
            if system == "windows"
            else f"{parent(system, own)}/my_{file_name(system, own)}",
            of=shell_of(system),
        ),
        restart="program",
    )


def _uninstalled(home: EnvironmentView, owner: str, entry: SearchEntry) -> tuple[str, ...]:
    """Return how to remove a package from the person's own: pip removes the first of a name, which this Python finds there. An
    environment's pip leaves alone what lies outside it.
    """
    if home.python.kind in ("venv", "conda"):
        return (_("Or remove {owner} in {folder} with the Python that installed it.", owner=owner, folder=entry.path),)
    command = framework_pip_command(home.seen, home.python, "uninstall", owner.partition(" ")[0])
    return _("Or remove {owner} in {folder}:", owner=owner, folder=entry.path), command


def _other_installation(home: EnvironmentView, found: FoundModule, entry: SearchEntry) -> Iterator[Finding]:
    """A second installation wins where the person meant the first: it is another release, and no deliberate overlay."""
    same = found.owner == found.hidden_owner
    framework = bool(FRAMEWORKS.fullmatch(found.owner.partition(" ")[0]))
    if same or (_is_overlay(home, entry) and not framework):
        return
    on_cpu = _loses_the_gpu(home, found)
    yield make_finding(
        # no import that works refutes it: what is found computes, on the CPU
        f"frameworks.{'cpu-build-hides' if on_cpu else 'shadowed'}-{found.name}",
        min(home.severity, WARNING) if is_unmeant(home, found, entry) else NOTE,
        _(
            "import {name} finds {owner} in {folder} instead of {hidden} of the environment.",
            name=found.name,
            owner=found.owner,
            folder=entry.path,
            hidden=found.hidden_owner,
        ),
        cause="module_shadowed",
        why=join_sentences(
            _("The one that is found is built without CUDA, and hides one that is built for it.") if on_cpu else "",
            before_the_packages(entry),
        ),
        evidence=[*_rows(found, entry), home.concerns(found.owner.partition(" ")[0] if framework else "")],
        subject=found.path,
        fix=_out_of_the_way(home, found, entry),
        remedy=removal_remedy(home, entry),
    )


def is_unmeant(home: EnvironmentView, found: FoundModule, entry: SearchEntry) -> bool:
    """Whether a second installation, which wins, is told as a fault for its own sake, whatever imports it."""
    mine, its = (version_tuple(owner.partition(" ")[2])[:1] for owner in (found.owner, found.hidden_owner))
    framework = bool(FRAMEWORKS.fullmatch(found.owner.partition(" ")[0]))
    weighty = framework or (found.name == "numpy" and mine > its)  # what was built for NumPy 2 runs with NumPy 1, too
    unmeant = not _is_overlay(home, entry) or _loses_the_gpu(home, found)
    return weighty and found.owner != found.hidden_owner and unmeant


def _loses_the_gpu(home: EnvironmentView, found: FoundModule) -> bool:
    """Whether the installation that wins is built without CUDA, and hides one that is built for it, on a machine with a GPU."""
    built = {f"{b.distribution} {b.version}": b for b in home.builds}
    mine, its = built.get(found.owner), built.get(found.hidden_owner)
    return mine is not None and is_cpu(mine) and its is not None and bool(its.cuda) and bool(gpu_side(home.seen).there)


def _is_overlay(home: EnvironmentView, entry: SearchEntry) -> bool:
    """Whether a person's own packages come before those of an installed Python, as they are meant to."""
    return entry.origin == "user site" and home.python.kind in ("system", "other", "store")


def hidden_standard_library(seen: Snapshot) -> Iterator[Finding]:
    """A file of the person's own has the name of a standard-library module that a framework imports."""
    for home, search in views_with_imports(seen):
        for place in dict.fromkeys(f.entry for f in search.hidden_standard):
            some = [f for f in search.hidden_standard if f.entry == place]
            entry = search.entries[place]
            rows = [r for r in module_table().standard if any(f.name in r.modules for f in some)]
            frameworks = [
                d.name for d in home.python.distributions if any(re.fullmatch(r.distributions, d.name) for r in rows)
            ]
            if not frameworks:
                continue
            names = join_names(file_name(seen.machine.system, f.path) for f in some)
            fails = any(f.unlike and f.name in r.indispensable for f in some for r in rows)
            yield make_finding(
                "frameworks.shadowed-standard-library",
                home.severity if fails else min(home.severity, WARNING),
                _("{names} in {folder} hides a module of Python itself.", names=names, folder=entry.path),
                cause="module_shadowed",
                why=_(
                    "Frameworks import modules of these names and get this file. Programs that start in that folder fail."
                )
                if entry.origin == "start"
                else _("Frameworks import modules of these names and get this file."),
                evidence=[
                    *(observation(_("import {name} finds", name=f.name), f.path, describe_origin(entry)) for f in some),
                    *(home.concerns(name) for name in dict.fromkeys(frameworks)),
                ],
                subject=entry.path,
                fix=with_own_programs(
                    stop_shadowing(home, _own_path(home, some[0]), entry, owner="", foreign=True)
                    if _is_of_another_python(entry) or is_of_packages(home, entry)
                    else _out_of_the_way(home, some[0], entry),
                    some,
                ),
                remedy=removal_remedy(home, entry) if _is_of_another_python(entry) else _other_names(home, some, entry),
            )


def _is_named_by_pth(home: EnvironmentView, entry: SearchEntry) -> bool:
    """Whether the ._pth file of an embeddable Python names a folder outside it: what lies there is not its own."""
    return entry.origin == "._pth" and not is_inside(home.seen.machine.system, entry.path, home.python.prefix)


_LIBRARY = late_pattern(r"[\\/](?:lib[\\/]python3\.\d{1,3}|python[\d.-]{0,16}[\\/]lib)[\\/]?\Z", re.IGNORECASE)


def is_of_packages(home: EnvironmentView, entry: SearchEntry) -> bool:
    """Whether an entry is a folder inside a package that was installed, or that of an environment's packages: its files are the package's."""
    system = home.seen.machine.system
    places = (s for p in home.seen.pythons or () for s in p.site_packages)
    return any(is_inside(system, entry.path, place) for place in places)


def _is_of_another_python(entry: SearchEntry) -> bool:
    """Whether PYTHONPATH names a folder where a Python has its own library: none of its files is the person's to rename."""
    return entry.origin == "PYTHONPATH" and _LIBRARY.search(entry.path) is not None


# --- for another Python ----------------------------------------------------------------------------------------------


def packages_for_another_python(seen: Snapshot) -> Iterator[Finding]:
    """The extension modules of the package that wins are for another Python or another processor."""
    for home, search in views_with_imports(seen):
        for found in search.modules:
            if found.foreign or found.wheel_tags:
                yield _for_another(home, search, found)


def _for_another(home: EnvironmentView, search: ImportSearch, found: FoundModule) -> Finding:
    entry = search.entry(found.entry)
    name, _space, version = found.owner.partition(" ")
    shown = found.owner or found.name
    elsewhere = entry is not None and (entry.origin in BEFORE_THE_PACKAGES or _is_named_by_pth(home, entry))
    fix = (
        _out_of_the_way(home, found, entry)
        if elsewhere and entry is not None
        else reinstall_package(home.seen, home.python, name, version)
        if name and version
        else manual_fix(
            _("Install {name} with this Python", name=found.name),
            framework_pip_command(home.seen, home.python, "install", "--force-reinstall", found.name),
        )
    )
    return make_finding(
        f"frameworks.another-python-{found.name}",
        home.severity if found.foreign or found.name == "numpy" else min(home.severity, WARNING),
        _(
            "{package} in {folder} was built for another Python or processor than {python}.",
            package=shown,
            folder=entry.path if entry else parent(home.seen.machine.system, found.path),
            python=_(
                "Python {version} ({architecture})", version=search.python, architecture=home.python.architecture or "?"
            ),
        ),
        cause="package_for_another_python",
        why=_("Its compiled parts cannot be imported by this interpreter."),
        evidence=[
            *(observation(_("Extension module"), path) for path in found.foreign),
            *([observation(_("Tags of its wheel"), join_names(found.wheel_tags), "WHEEL")] if found.wheel_tags else []),
            observation(_("import {name} finds", name=found.name), found.path, describe_origin(entry) if entry else ""),
            *(
                home.concerns(one)
                for one in _importers(home, found.name) or [name if FRAMEWORKS.fullmatch(name) else ""]
            ),
        ],
        subject=found.path,
        fix=fix,
        remedy=(removal_remedy(home, entry) if entry is not None and elsewhere else None)
        or (_exchanged(home, name, version) if version and not elsewhere else None),
    )


def _exchanged(home: EnvironmentView, name: str, version: str) -> InstallPackages:
    """Return the exchange of a package for the same release. Its files as it lists them are those for the other Python."""
    wanted, index = f"{name}=={version.partition('+')[0]}", index_of_build(version)
    return InstallPackages(prefix=home.python.prefix, remove=(name,), install=(wanted,), index=index, alone=True)


def empty_packages(seen: Snapshot) -> Iterator[Finding]:
    """Of a framework only a folder without ``__init__`` exists, beside leftovers of an interrupted pip.

    If a RECORD lists the missing file, the rule about records reports it.
    """
    for home, search in views_with_imports(seen):
        for found in search.modules:
            if found.kind != "namespace" or found.name == "nvidia" or not found.owner:
                continue
            name, _space, version = found.owner.partition(" ")
            importers = _importers(home, found.name)
            if not importers and all(r.distribution not in (name, found.name) for r in search.remains):
                continue
            yield make_finding(
                f"frameworks.empty-{found.name}",
                home.severity,
                _("{package} is recorded in {prefix}, but its folder has no content that can be imported.",
                  package=found.owner, prefix=home.python.prefix),
                cause="installation_interrupted",
                why=_("import {name} gives an empty module: its __init__.py is not there.", name=found.name),
                evidence=[observation(_("import {name} finds", name=found.name), found.path),
                          *(home.concerns(one) for one in importers or [name])],
                subject=found.path,
                fix=reinstall_package(home.seen, home.python, name, version),
                remedy=PutPackageBack(prefix=home.python.prefix, package=name, version=version) if version else None,
            )  # fmt: skip


RULES = (shadowed_modules, hidden_standard_library, packages_for_another_python, empty_packages)
