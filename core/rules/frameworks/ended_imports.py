"""Rules about imports that fail: the first thing that the import of a framework does not get, and the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from core.common.i18n import N_, _
from core.common.requirements import is_in_specifier
from core.common.shell import quote, shell_command, shell_of
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.knowledge.modules import SELDOM_BUILT, GivenUp, distribution_of, given_up, meant_by, module_table
from core.knowledge.numpy_names import is_given_up, is_pythons_own
from core.model.facts import EndedImport, ImportSearch, SearchEntry, Snapshot
from core.model.facts.imports import BEFORE_THE_PACKAGES, PACKAGES
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, is_inside, normalise, parent
from core.model.remedies import GiveOtherName, PutPackageBack, Remedy
from core.model.steps import Severity, Step
from core.rules.frameworks.advice import (
    framework_pip_command,
    install_instead,
    install_package,
    reinstall_package,
    reinstall_requirement,
    without_plugin,
)
from core.rules.frameworks.environment_view import (
    EnvironmentView,
    asked_of,
    first_of_each,
    is_asked_for,
    unmet_requirements,
)
from core.rules.frameworks.finding_ids import ENDED_ID
from core.rules.frameworks.imports import (
    describe_origin,
    is_unmeant,
    removal_remedy,
    stop_shadowing,
    views_with_imports,
)
from core.rules.frameworks.requirements import FRAMEWORKS, check_of, releases_that_fit
from core.rules.wording import NOTE, WARNING, Concern, concern_row, make_finding, manual_fix, observation

PUT_BACK = ("corrupt_or_truncated_file", "installation_interrupted", "package_for_another_python")
"""Causes in which the record exists but files are missing or wrong: pip and uv consider the release installed and do
nothing.
"""


def ended_imports(seen: Snapshot) -> Iterator[Finding]:
    """The import of a framework fails because it does not get something that it asks for."""
    for home, search in views_with_imports(seen):
        for ended in _one_of_each(search.ended):
            if ended.kind == "unfit" or (not ended.owner and ended.wanted in SELDOM_BUILT and not ended.path):
                continue  # The rules about compiled modules report it.
            if not _is_reported_elsewhere(home, ended, search) and not _is_checked(home, ended):
                yield _finding(home, search, ended)


def _one_of_each(found: Iterable[EndedImport]) -> Iterator[EndedImport]:
    """Yield one end for each thing that imports do not get, with the starts of all; one with an importer's line, if there is one."""
    same: dict[tuple[str, ...], list[EndedImport]] = {}
    for ended in found:
        same.setdefault((ended.kind, ended.wanted, ended.path, ended.plugin), []).append(ended)
    for ends in same.values():
        starts = tuple(dict.fromkeys(start for ended in ends for start in ended.starts))
        yield msgspec.structs.replace(next((e for e in ends if e.importer), ends[0]), starts=starts)


def _is_reported_elsewhere(home: EnvironmentView, ended: EndedImport, search: ImportSearch) -> bool:
    """Whether the rules about shadowing modules, or modules for another Python, report this file as a fault."""
    top = ended.wanted.partition(".")[0]
    return any(
        m.path == ended.path
        and (
            m.foreign
            or (m.hidden and (not (m.owner and m.hidden_owner) or is_unmeant(home, m, search.entries[m.entry])))
        )
        for m in search.modules
        if m.name == top
    )


def _is_checked(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether the framework checks the version of what it imports before it reaches this line."""
    wanted = _package_of(home, ended)
    return ended.kind == "no name" and any(
        b.wanted == wanted
        and (row := check_of(b)) is not None
        and row.ends == "import"
        and ended.owner.startswith(f"{wanted} ")
        for b in unmet_requirements(home)
        if b.of.name in framework_distributions(home, ended)
    )


def _finding(home: EnvironmentView, search: ImportSearch, ended: EndedImport) -> Finding:
    entry = ended.added or (search.entries[ended.entry] if 0 <= ended.entry < len(search.entries) else None)
    consumers = framework_distributions(home, ended)
    edited = _is_edited(ended, entry)
    cause, why = _unfinished(ended) if edited else _cause_and_why(home, search, ended, entry)
    fix, remedy = (_correct(ended), None) if edited else _cure(home, ended, entry, cause)
    return make_finding(
        Step.FRAMEWORKS,
        _severity(home, ended, consumers),
        f"{ENDED_ID}{ended.wanted}",
        _title(home, ended, consumers),
        cause=cause,
        why=why,
        evidence=[*_rows(home, ended, entry), *_concerned(home, ended, consumers)],
        subject=ended.path or home.python.prefix,
        fix=fix,
        remedy=remedy,
    )


def _concerned(home: EnvironmentView, ended: EndedImport, consumers: list[str]) -> Iterator[Concern]:
    """Yield the consumers whose import fails, and the framework whose own file is damaged; else the package that lost its
    files; else the whole environment.
    """
    yield from (home.concerns(name) for name in consumers)
    owner = ended.owner.partition(" ")[0]
    if ended.kind in ("damaged", "empty") and FRAMEWORKS.fullmatch(owner) and owner not in consumers:
        yield home.concerns(owner)  # its record says the same, and one repair serves both
    if not consumers:
        whose = ended.owner or ended.hidden_owner
        yield concern_row(home.python.consumer(whose)) if whose else home.concerns()


def framework_distributions(home: EnvironmentView, ended: EndedImport) -> list[str]:
    """Return the distributions whose import fails."""
    patterns = [row.distributions for row in module_table().modules if row.module in ended.starts]
    found = [d.name for p in patterns for d in home.python.distributions if re.fullmatch(p, d.name)]
    users = [name for s in ended.starts if home.installed(name := distribution_of(s)) and name not in found]
    return list(dict.fromkeys((*found, *users)))


def _severity(home: EnvironmentView, ended: EndedImport, consumers: list[str]) -> Severity:
    """Return the severity: a failing import fails with or without a GPU.

    If an extension lacks something that it does not require, few programs need it.
    """
    if _is_of_programs(home, ended):
        return home.severity if ended.kind == "damaged" else min(home.severity, WARNING)
    worked = any(t.framework in consumers and t.reached != "nothing" and not t.problem for t in home.trials)
    undeclared = ended.kind == "absent" and not ended.path and ended.importer and not _requirers(home, ended)
    framework = any(FRAMEWORKS.fullmatch(name) for name in consumers)
    if worked or (undeclared and not framework and all(is_asked_for(home, name) for name in consumers)):
        return NOTE
    asked_for = all(is_asked_for(home, name) for name in consumers)
    lazily = ended.required_by and asked_for  # A framework that requires it gets along until it is used.
    if (undeclared or lazily or _leads_outside(home, ended)) and not framework:
        return min(home.severity, WARNING)  # It was installed for its own sake, and other packages work without it.
    return home.severity


def _is_of_programs(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether nothing but a person's own programs comes to this end, which hides nothing but their own modules."""
    alone = bool(ended.starts) and all(map(_is_program, ended.starts))
    return alone and (not ended.hidden or _precedes_own(home, ended))


def _is_program(start: str) -> bool:
    return "/" in start or "\\" in start


def _asker(home: EnvironmentView, ended: EndedImport) -> str:
    """Return the installed package whose line asks where a program's imports end; empty where the program itself does."""
    if ended.asked_by:
        return ended.asked_by.partition(" ")[0]
    system = home.seen.machine.system
    folders = [f"{normalise(system, d.location)}/" for d in home.python.distributions if d.location]
    importer = normalise(system, ended.importer).replace("\\", "/")
    inside = next(
        (importer.removeprefix(f) for f in (f.replace("\\", "/") for f in folders) if importer.startswith(f)), ""
    )
    name = distribution_of(inside.partition("/")[0].removesuffix(".py")) if inside else ""
    return name if home.installed(name) else ""


def _is_asked_by_program(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a program itself asks for what an installed module does not have."""
    return _is_of_programs(home, ended) and bool(ended.owner or ended.path) and not _asker(home, ended)


def _package_of(home: EnvironmentView, ended: EndedImport) -> str:
    """Return the distribution that brings a module; of two that do, the one that an installed package requires."""
    usual, plain = distribution_of(ended.wanted), ended.wanted.partition(".")[0].replace("_", "-").lower()
    return plain if is_asked_for(home, plain) and not is_asked_for(home, usual) else usual


def _requirers(home: EnvironmentView, ended: EndedImport) -> list[tuple[str, str]]:
    """Return the packages that require what the import does not get, with the required versions."""
    wanted = _package_of(home, ended)
    found = [(f"{d.name} {d.version}", text) for d in first_of_each(home) for text in asked_of(home, d, wanted)]
    read = [(ended.required_by, ended.required_versions)] if ended.required_by else []
    return list(dict.fromkeys((*found, *read)))


def _call_title(ended: EndedImport, values: dict[str, str]) -> str:
    """Return what is told of an end that a call in a program comes to, after its imports."""
    if ended.kind == "no parameter":
        return _(
            "{who} fails with the Python of {prefix}: {function} of {owner} does not take {parameter}.",
            function=f"{ended.function}()",
            owner=ended.owner or ended.wanted,
            parameter=f"{ended.name}=",
            **values,
        )
    call = f"{ended.call}()"
    if ended.kind == "no name":
        return _(
            "{who} fails with the Python of {prefix} in {call}: {module} has no {name}.",
            call=call,
            name=ended.name,
            **values,
        )
    if ended.kind == "refused":
        return _(
            "{who} fails with the Python of {prefix}: {call} refuses {other}.", call=call, other=ended.owner, **values
        )
    return _(
        "{who} fails with the Python of {prefix}: {call} needs the module {module}, which is not installed.",
        call=call,
        **values,
    )


def _program_title(ended: EndedImport, values: dict[str, str]) -> str:
    if ended.call or ended.kind == "no parameter":
        return _call_title(ended, values)
    if ended.kind == "no name" or (ended.kind == "absent" and ended.name):
        return _(
            "{who} ends at its start with the Python of {prefix}: {module} has no {name}.", name=ended.name, **values
        )
    if ended.kind == "refused":
        return _(
            "{who} ends at its start with the Python of {prefix}: code that it runs refuses {other}.",
            other=ended.owner,
            **values,
        )
    if ended.kind == "damaged":
        return _("{who} ends at its start with the Python of {prefix}: the file of {module} is damaged.", **values)
    return _("{who} ends at its start with the Python of {prefix}: there is no module {module}.", **values)


def _title(home: EnvironmentView, ended: EndedImport, consumers: list[str]) -> str:
    mine = [name for name in consumers if FRAMEWORKS.fullmatch(name)] or consumers  # Whatever imports these fails, too.
    whole = (f"{d.name} {d.version}" for name in mine if (d := home.installed(name)))
    values = {
        "who": join_names(whole) or join_names(ended.starts),
        "prefix": home.python.prefix,
        "module": ended.wanted,
    }
    if _is_outer_folder(home, ended):
        return _("import {name} finds {path} instead of the installed package.", name=ended.wanted, path=ended.path)
    if _is_of_programs(home, ended):
        return _program_title(ended, values)
    if ended.kind == "byte code":
        return _("{who} in {prefix} cannot be imported: the byte code of {module} is damaged.", **values)
    if ended.kind == "no name":
        return _("{who} in {prefix} cannot be imported: {module} has no {name}.", name=ended.name, **values)
    if ended.kind == "refused":
        return _(
            "{who} in {prefix} cannot be imported: code that it runs refuses {other}.", other=ended.owner, **values
        )
    if ended.kind == "empty":
        return _("{who} in {prefix} cannot be imported: the file of {module} is empty.", **values)
    if ended.kind == "foreign":
        return _("{who} in {prefix} cannot be imported: {module} exists only for another Python.", **values)
    if ended.kind == "unreadable":
        return _("{who} in {prefix} cannot be imported: this user may not read the file of {module}.", **values)
    if ended.kind == "no module":
        return _(
            "{who} in {prefix} cannot be imported: {module} leads to a library that is not a Python module.", **values
        )
    if ended.kind == "damaged":
        return _("{who} in {prefix} cannot be imported: the file of {module} is damaged.", **values)
    if not ended.importer:
        return _("{who} is recorded in {prefix}, but there is no module {module}.", **values)
    return _("{who} in {prefix} cannot be imported: there is no module {module}.", **values)


def _cause_and_why(
    home: EnvironmentView, search: ImportSearch, ended: EndedImport, entry: SearchEntry | None
) -> tuple[Cause, str]:
    """Return the cause, and why."""
    package = _package_of(home, ended)
    if way := _why_shadowed(home, search, ended, entry):
        return "module_shadowed", way
    if ended.kind == "foreign":
        return "package_for_another_python", _("Its compiled parts cannot be imported by this interpreter.")
    if ended.kind == "unreadable":
        return "library_unreadable", _("It was installed by another user, or only its owner has access.")
    if ended.kind in ("empty", "damaged"):
        return "corrupt_or_truncated_file", _(
            "The package installed it with content: a copy or a download was interrupted, or the disk was full."
        )
    if ended.path.endswith(".pyc"):
        return "corrupt_or_truncated_file", _why_byte_code(ended)
    if ended.kind == "refused":
        return "requirement_broken", _(
            "The code compares the release of {package} as it is imported, and stops.", package=package
        )
    if ended.kind in ("no name", "no parameter") or _asks_another(home, ended) or _is_part_given_up(ended):
        return "requirement_broken", _(
            "The program was written for another release of {package}, or for another project's module of that name.",
            package=package,
        ) if _is_asked_by_program(home, ended) else _(
            "The line was written for a release of {package} that is not the installed one.", package=package
        )
    if any(r.kind == "renamed" and r.distribution == package for r in search.remains):
        return "installation_interrupted", _(
            "pip renamed the old one, and was interrupted before it put the new one in its place."
        )
    if not ended.importer:
        if _leads_outside(home, ended):
            return "python_environment_broken", _(
                "It was installed as a link to a folder of sources, and that folder is gone: {path}.", path=ended.path
            )
        return "installation_interrupted", _("Nothing that can be imported is left of it.")
    if ended.path and not ended.owner:
        return "installation_interrupted", _("Only a folder without __init__.py is left of the package.")
    if ended.owner:
        return "corrupt_or_truncated_file", _("The package is recorded, but its files are gone.")
    return "requirement_broken", _("The package imports it only when this function is called.") if ended.call else _(
        "The import stops at this line, and nothing after it runs."
    )


def _why_shadowed(home: EnvironmentView, search: ImportSearch, ended: EndedImport, entry: SearchEntry | None) -> str:
    """Return why another module of the name is found than the one that was meant; empty where the right one is."""
    if _precedes_own(home, ended):
        return _(
            "Python imports the first module of a name that it finds: {owner} of the environment comes before {hidden}.",
            owner=ended.owner or ended.path,
            hidden=ended.hidden,
        )
    if entry is None or entry.origin not in BEFORE_THE_PACKAGES or ended.kind == "foreign" or not ended.path:
        return ""
    if _is_folder_of_data(home, ended):
        return _("{path} holds no code. Python takes it for the package, which is not installed.", path=ended.path)
    if _is_outer_folder(home, ended):
        return _(
            "Python asks an editable installation (pip install -e) last. Before that it takes {path}, a folder of the same name without "
            "__init__.py, for the package.",
            path=ended.path,
        )
    if _hides_portions(search, ended):
        return _(
            "Python prefers a package with __init__.py to all folders of its name without one, wherever it comes on the search path."
        )
    return _(
        "Python imports the first module of a name that it finds, and {way} comes before the environment's packages.",
        way=describe_origin(entry),
    )


def _is_outer_folder(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a folder stands in for the package that lies in it: a clone beside the program, which was installed where it is."""
    system = home.seen.machine.system
    return bool(ended.path and ended.hidden) and is_inside(
        system, normalise(system, ended.hidden), normalise(system, ended.path)
    )


def _is_folder_of_data(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a program's own folder stands in for a package that is not installed: only one without code is told, and an installed
    package would come before it.
    """
    bare = file_name(home.seen.machine.system, ended.path) == ended.wanted.partition(".")[0]
    return bare and not (ended.hidden or ended.owner) and _is_of_programs(home, ended)


def _in_another_folder(home: EnvironmentView, ended: EndedImport) -> Fix:
    return manual_fix(
        _("Start programs in another folder"),
        _("Renaming {path} is no cure: the installation leads into it.", path=ended.path),
        _("Or install {name} as a copy:", name=ended.wanted),
        framework_pip_command(home.seen, home.python, "install", ended.path, "--no-deps"),
        restart="program",
    )


def _precedes_own(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a person's own file asks for something that an installed package lacks, and a module of the person's own, of the same
    name, comes after that package.
    """
    asked = ended.kind in ("absent", "no name", "no parameter") and bool(ended.path and ended.hidden and ended.importer)
    own = (ended.hidden, ended.importer)
    return asked and _is_of_packages(home, ended.path) and not any(_is_of_packages(home, path) for path in own)


def _is_of_packages(home: EnvironmentView, path: str) -> bool:
    """Whether a path is in a folder of packages of any Python here, or of the user."""
    system, mine = home.seen.machine.system, normalise(home.seen.machine.system, path)
    searches = (s.entries for s in home.seen.imports or () if s.prefix == home.python.prefix)
    folders = {e.path for its in searches for e in its if e.origin in PACKAGES}
    folders |= {f for p in home.seen.pythons or () for f in p.site_packages}
    return any(is_inside(system, mine, normalise(system, folder)) for folder in folders)


def _is_edited(ended: EndedImport, entry: SearchEntry | None) -> bool:
    """Whether a damaged file is among sources that a .pth file leads to, and in nobody's place."""
    return ended.kind == "damaged" and not ended.hidden and entry is not None and entry.origin == "pth"


def _unfinished(ended: EndedImport) -> tuple[Cause, str]:
    why = _("The text of {path} is not Python: an edit or a merge was not finished.", path=ended.path)
    return "python_environment_broken", why


def _correct(ended: EndedImport) -> Fix:
    return manual_fix(_("Correct {path}", path=ended.path), restart="program")


def _hides_portions(search: ImportSearch, ended: EndedImport) -> bool:
    """Whether a package, or a module, hides a folder that comes before it: only one without ``__init__`` can be hidden so.

    Source: https://peps.python.org/pep-0420/#specification.
    """
    above = [e.path for e in search.entries if ended.hidden.startswith((f"{e.path}/", f"{e.path}\\"))]
    innermost = max(above, key=len, default="")
    return bool(above) and any(e.path == innermost for e in search.entries[: max(ended.entry, 0)])


def _leads_outside(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a recorded module is to be in a folder outside the environment."""
    system = home.seen.machine.system
    path = normalise(system, ended.path) if ended.path and not ended.importer else ""
    return bool(path) and not path.startswith(normalise(system, home.python.prefix))


def _asks_another(home: EnvironmentView, ended: EndedImport) -> bool:
    """Whether a package asks for a part that another package, whose start is there, never recorded."""
    system = home.seen.machine.system
    start = file_name(system, ended.path)
    inside = normalise(system, ended.importer).startswith(normalise(system, parent(system, ended.path)))
    lacks = ended.kind == "absent" and bool(ended.importer and ended.owner) and not ended.recorded
    return lacks and "." in ended.wanted and start.startswith("__init__.") and not inside


def _why_byte_code(ended: EndedImport) -> str:
    if ended.kind == "no name":
        return _(
            "Python uses {path} without comparing it with the source, and that file was made from another text.",
            path=ended.path,
        )
    if "__pycache__" in ended.path:
        return _("Python uses {path} instead of the source, and that file is cut off.", path=ended.path)
    return _("{path} is cut off, or was made by another Python.", path=ended.path)


def _rows(home: EnvironmentView, ended: EndedImport, entry: SearchEntry | None) -> Iterator[Evidence]:
    if ended.call:
        yield observation(_("Called by the program"), f"{ended.call}()", ended.called_at)
    if ended.importer:
        what = f"{ended.wanted}.{ended.name}" if ended.name else f"import {ended.wanted}"
        what = f"{ended.function}({ended.name}=...)" if ended.kind == "no parameter" else what
        yield observation(_("Requested by"), what, f"{ended.importer}:{ended.line}" if ended.line else ended.importer)
    if ended.tried_first:
        yield observation(_("Asked for first, and not installed"), ended.tried_first, ended.importer)
    if ended.path:
        way = describe_origin(entry) if entry else ""
        yield observation(_("import {name} finds", name=ended.wanted), ended.path, way)
    if ended.owner:
        yield observation(_("Installed"), ended.owner)
    if ended.hidden:
        yield observation(_("Hidden behind it"), ended.hidden_owner or ended.wanted, ended.hidden)
    if ended.asked_of_it:
        yield observation(_("Required"), ended.asked_of_it, _("metadata of {name}", name=ended.refused_by))
    for who, text in _requirers(home, ended)[:4]:
        yield observation(_("Required"), f"{_package_of(home, ended)}{text}", _("metadata of {name}", name=who))
    for r in next((s.remains for s in home.seen.imports or () if s.prefix == home.python.prefix), ()):
        if r.distribution == _package_of(home, ended):
            yield observation(_(LEFT), r.path)


LEFT = N_("Left by an interrupted installation")


def _cure(
    home: EnvironmentView, ended: EndedImport, entry: SearchEntry | None, cause: Cause
) -> tuple[Fix, Remedy | None]:
    """Return the advice, and the remedy that would carry it out."""
    package = _package_of(home, ended)
    if cause == "module_shadowed" and (found := _of_a_hidden_package(home, ended, entry)):
        return found
    if ended.plugin:
        return without_plugin(home, ended), None
    if "__pycache__" in ended.path and ended.path.endswith(".pyc"):
        return _other_byte_code(home, ended.path)
    if ended.kind == "unreadable":
        return manual_fix(_("Give this user the right to read {path}", path=ended.path), restart="program"), None
    if not ended.importer and cause == "python_environment_broken":
        name = ended.owner.partition(" ")[0]
        return manual_fix(
            _("Restore the folder, or reinstall {name}", name=name),
            ended.path,
            reinstall_requirement(home.seen, home.python, name).advice,
            restart="program",
        ), None
    named = [distribution_of(s) for s in ended.starts if not _is_program(s)]
    starts = [_asker(home, ended)] if _is_of_programs(home, ended) else named
    askers = [name for name in starts if name not in (package, "")]
    if refused := _of_a_refused_release(home, ended, askers):
        return reinstall_requirement(home.seen, home.python, *refused), None
    if known := _of_a_known_name(home, ended):
        return known, None
    if _is_asked_by_program(home, ended) and cause == "requirement_broken":
        return _for_the_program(home, ended), None
    name, _space, version = ended.owner.partition(" ")
    if (_asks_another(home, ended) or (ended.kind == "refused" and _is_met(home, package))) and askers:
        return releases_that_fit(home, askers, package, version if name == package else "")
    if version and cause in PUT_BACK:
        folder = entry.path if entry else ""
        back = PutPackageBack(prefix=home.python.prefix, package=name, version=version, location=folder)
        return reinstall_package(home.seen, home.python, name, version), back
    asked = ",".join(dict.fromkeys(p for _who, text in _requirers(home, ended) for p in text.split(",") if p))
    if version and askers and is_in_specifier(asked, version):  # an installer that is asked for this does nothing
        too_old = name == "numpy" and ended.kind == "no name" and is_given_up(ended.name, version)
        its = [own] if too_old and (own := _asker(home, ended)) else askers
        return releases_that_fit(home, its, name, version, stays=too_old)
    return install_package(home, name or package, asked, is_required=bool(ended.required_by)), None


def _of_a_hidden_package(
    home: EnvironmentView, ended: EndedImport, entry: SearchEntry | None
) -> tuple[Fix, Remedy | None] | None:
    """Return how the module that was meant is found; None where nothing tells which entry the other one is in."""
    if _precedes_own(home, ended):
        return _own_first(home, ended), None
    if _is_outer_folder(home, ended):
        return _in_another_folder(home, ended), None
    if entry is None:
        return None
    if _is_folder_of_data(home, ended):
        return install_package(home, _package_of(home, ended)), None
    system = home.seen.machine.system
    inner = file_name(system, ended.path).startswith("__init__.")
    own = parent(system, ended.path) if inner else ended.path
    fix = stop_shadowing(home, own, entry, owner=ended.owner)
    return fix, None if ended.added else removal_remedy(home, entry)


def _given_up(ended: EndedImport) -> GivenUp | None:
    return given_up(f"{ended.wanted}.{ended.name}" if ended.name else ended.wanted)


def _is_part_given_up(ended: EndedImport) -> bool:
    return (its := _given_up(ended)) is not None and "." in its.name


def _of_a_known_name(home: EnvironmentView, ended: EndedImport) -> Fix | None:
    """Return what to install where the importer, or the tables, name it: the module that it tries first, or the last release with one."""
    if ended.tried_first and ended.kind == "refused":
        return install_package(home, distribution_of(ended.tried_first))
    its = _given_up(ended) or given_up(ended.wanted.partition(".")[0])
    if its is None or ended.kind not in ("absent", "no name"):
        return None
    if its.now:
        return _by_its_later_name(home, ended, its)
    by_package = "." in its.name and not _is_asked_by_program(home, ended)  # which may have a release that does without
    return None if by_package else reinstall_requirement(home.seen, home.python, its.last)


def _by_its_later_name(home: EnvironmentView, ended: EndedImport, its: GivenUp) -> Fix:
    """Return how a line takes from the installed release what an older one had under another name."""
    same_place = its.name.rpartition(".")[0] == its.now.rpartition(".")[0]
    words = (its.name, its.now) if not ended.name else (ended.name, its.now.rpartition(".")[2]) if same_place else ()
    linux = home.seen.machine.system == "linux"
    return manual_fix(
        _("Write {now} for {before}", now=its.now, before=its.name),
        _("{file}, line {line}, asks for {what}, which {owner} does not have.",
          file=ended.importer, line=ended.line, what=its.name, owner=ended.owner or ended.path),
        shell_command("sed", "-i", _exchange(ended.line, *words), ended.importer, of=shell_of("linux"))
        if linux and words and ended.line
        else "",
        _("Or install releases that still have it: {names}", names=its.last),
        restart="program",
    )  # fmt: skip


def _exchange(line: int, before: str, now: str) -> str:
    """Return sed's command that exchanges a word in one line."""
    spelt = before.replace(".", r"\.")
    return rf"{line}s/\b{spelt}\b/{now}/"


def _own_first(home: EnvironmentView, ended: EndedImport) -> Fix:
    """Return how a person's own module is found before an installed package of the same name."""
    system = home.seen.machine.system
    inner = file_name(system, ended.hidden).startswith("__init__.")
    package = parent(system, ended.hidden) if inner else ended.hidden
    start = (
        ""
        if inner or ended.hidden.endswith(".py")
        else f"{ended.hidden}{'/' if system == 'linux' else chr(92)}__init__.py"
    )
    folder, name = parent(system, package), ended.owner.partition(" ")[0]
    searches = (s.entries for s in home.seen.imports or () if s.prefix == home.python.prefix)
    first = any(e.path == folder and e.origin in BEFORE_THE_PACKAGES for its in searches for e in its)
    return manual_fix(
        _("Let Python find {path} first", path=package),
        _("A package without __init__.py comes last; an empty file makes it one that counts: {path}", path=start)
        if start
        else "",
        ""
        if first
        else f"set PYTHONPATH={folder}"
        if system == "windows"
        else _("In this terminal: export {name}={value}", name="PYTHONPATH", value=quote(folder)),
        _("Or, if no program needs {name}:", name=ended.owner) if name else "",
        framework_pip_command(home.seen, home.python, "uninstall", "-y", name) if name else "",
        restart="program",
    )


def _of_a_refused_release(home: EnvironmentView, ended: EndedImport, askers: Sequence[str]) -> tuple[str, ...]:
    """Return what others ask of packages whose import ends and whose own release does not do for them.

    What such a release lacks would not help: who uses it refuses it all the same, if only where an extra's features are used. A
    framework stays.
    """
    refused = [b for b in unmet_requirements(home) if b.wanted in askers and b.installed]
    own = dict.fromkeys(b.wanted for b in refused if not FRAMEWORKS.fullmatch(b.wanted))
    every = ((name, [p for b in refused if b.wanted == name for p in b.specifier.split(",")]) for name in own)
    found = tuple(f"{name}{','.join(dict.fromkeys(parts))}" for name, parts in every)
    return found or ((ended.asked_of_it,) if ended.asked_of_it else ())


def _for_the_program(home: EnvironmentView, ended: EndedImport) -> Fix:
    """Return which line of a program asks for what, and whose package does not have it."""
    name, top = ended.owner.partition(" ")[0], ended.wanted.partition(".")[0]
    if other := meant_by(top, ended.name or ended.wanted.removeprefix(f"{top}.").partition(".")[0]):
        return install_instead(home.seen, home.python, name or top, other)
    what = f"{ended.wanted}.{ended.name}" if ended.name else ended.wanted
    what = f"{ended.function}({ended.name}=...)" if ended.kind == "no parameter" else what
    owner = ended.owner or ended.path
    if ended.wanted == "numpy" and ended.kind == "no name" and is_given_up(ended.name, ended.owner.partition(" ")[2]):
        name = ""  # it is NumPy, in a release that dropped the name
    plain = not name and is_pythons_own(ended.name)
    return manual_fix(
        _("Install what the program was written for, or adapt the program"),
        _("{file}, line {line}, asks for {what}, which {owner} does not have.",
          file=ended.importer or ended.starts[0], line=ended.line, what=what, owner=owner),
        _("Write {name} there: numpy.{name} was another name of Python's own type.", name=ended.name) if plain else "",
        _("To find out which project {owner} comes from:", owner=owner) if name else "",
        framework_pip_command(home.seen, home.python, "show", name) if name else "",
        restart="program",
    )  # fmt: skip


def _is_met(home: EnvironmentView, package: str) -> bool:
    """Whether every requirement on a package is met, so that its users must change."""
    return not any(b.wanted == package for b in unmet_requirements(home))


def _other_byte_code(home: EnvironmentView, path: str) -> tuple[Fix, Remedy]:
    """Return how Python makes byte code anew: it does where none is there."""
    system = home.seen.machine.system
    name = f"{file_name(system, path)}.damaged"
    command = "ren" if system == "windows" else "mv"
    target = name if system == "windows" else f"{parent(system, path)}/{name}"
    return (
        manual_fix(
            _("Rename {name}", name=file_name(system, path)),
            shell_command(command, path, target, of=shell_of(system)),
            restart="program",
        ),
        GiveOtherName(files=((path, name),)),
    )


RULES = (ended_imports,)
