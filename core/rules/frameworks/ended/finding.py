"""Rules about imports that fail: the first thing that the import of a framework does not get, and the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from core.common.i18n import N_, _
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.knowledge.modules import NEED_TK, SELDOM_BUILT, distribution_of
from core.model.facts import EndedImport, ImportSearch, SearchEntry, Snapshot
from core.model.facts.imports import BEFORE_THE_PACKAGES
from core.model.findings import Evidence, Finding
from core.model.steps import Severity
from core.rules.frameworks.ended.cure import correct_file, cure_of_end
from core.rules.frameworks.ended.queries import (
    asks_another,
    call_spelt,
    framework_distributions,
    is_asked_by_program,
    is_folder_of_data,
    is_of_other_systems,
    is_of_programs,
    is_outer_folder,
    is_part_given_up,
    is_program,
    is_pythons_own,
    leads_outside,
    may_belong_elsewhere,
    package_of,
    precedes_own,
    requirers,
    starts_programs,
)
from core.rules.frameworks.environment_view import FRAMEWORKS, EnvironmentView, is_asked_for, unmet_requirements
from core.rules.frameworks.finding_ids import ENDED_ID
from core.rules.frameworks.imports import (
    before_the_packages,
    describe_origin,
    is_in_the_way,
    is_unmeant,
    views_with_imports,
)
from core.rules.frameworks.packages import overwritten_packages_told
from core.rules.frameworks.requirements import check_of
from core.rules.wording import NOTE, WARNING, Concern, concern_row, make_finding, observation


def ended_imports(seen: Snapshot) -> Iterator[Finding]:
    """The import of a framework fails because it does not get something that it asks for."""
    for home, search in views_with_imports(seen):
        # what a program of the person's comes to is told before what nothing known does
        for ended in sorted(_one_of_each(search.ended), key=lambda e: not is_of_programs(home, e)):
            missed = ended.wanted in SELDOM_BUILT and (not ended.path or ended.wanted in NEED_TK)
            if ended.kind == "unfit" or (not ended.owner and missed):
                continue  # The rules about compiled modules report it.
            if ended.lacks_package and not starts_programs(home):
                continue
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
    """Whether the rules about shadowing modules, modules for another Python, or packages that overwrote each other report this file as a fault."""
    top = ended.wanted.partition(".")[0]
    if is_of_programs(home, ended) and any(o.package == top for o in overwritten_packages_told(home)):
        return True
    if ended.importer and any(is_in_the_way(home, search, m, ended.importer) for m in search.modules):
        return True
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
    wanted = package_of(home, ended)
    return ended.kind == "no name" and any(
        b.wanted == wanted
        and (row := check_of(b)) is not None
        and row.ends == "import"
        and ended.owner.startswith(f"{wanted} ")
        for b in unmet_requirements(home)
        if b.of.name in framework_distributions(home, ended)
    )


def _finding(home: EnvironmentView, search: ImportSearch, ended: EndedImport) -> Finding:
    entry = ended.added or search.entry(ended.entry)
    consumers = framework_distributions(home, ended)
    edited = _is_edited(ended, entry)
    if edited:
        cause, why = _unfinished(ended)
    elif ended.elsewhere:
        cause, why = _installed_elsewhere(ended)
    else:
        cause, why = _cause_and_why(home, search, ended, entry)
    by_hand = edited or (ended.kind == "damaged" and ended.name)
    fix, remedy = (correct_file(ended), None) if by_hand else cure_of_end(home, ended, entry, cause)
    return make_finding(
        f"frameworks.{ENDED_ID}{ended.wanted}",
        _severity(home, ended, consumers),
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


def _severity(home: EnvironmentView, ended: EndedImport, consumers: list[str]) -> Severity:
    """Return the severity: a failing import fails with or without a GPU.

    If an extension lacks something that it does not require, few programs need it.
    """
    if ended.lacks_package and (
        may_belong_elsewhere(home, ended) or (ended.others_find_theirs and not ended.elsewhere)
    ):
        return NOTE
    if ended.kind == "damaged" and ended.others_find_theirs:
        return NOTE  # a script of Python 2, say, that nobody runs any more
    if is_of_programs(home, ended):
        return home.severity if ended.kind == "damaged" and not ended.name else min(home.severity, WARNING)
    worked = any(t.framework in consumers and t.reached != "nothing" and not t.problem for t in home.trials)
    undeclared = ended.kind == "absent" and not ended.path and ended.importer and not requirers(home, ended)
    framework = any(FRAMEWORKS.fullmatch(name) for name in consumers)
    if worked or (undeclared and not framework and all(is_asked_for(home, name) for name in consumers)):
        if not worked and any(map(is_program, ended.starts)):
            return min(home.severity, WARNING)  # a program of the person's comes to it
        return NOTE
    if not framework and ended.starts and all(home.is_idle(distribution_of(start)) for start in ended.starts):
        return NOTE  # no program in the folder comes to it
    asked_for = all(is_asked_for(home, name) for name in consumers)
    lazily = asked_for and (
        ended.required_by or ended.kind == "no name"
    )  # Who requires it gets along until it is used.
    if (undeclared or lazily or leads_outside(home, ended)) and not framework:
        return min(home.severity, WARNING)  # It was installed for its own sake, and other packages work without it.
    return home.severity


def _call_title(ended: EndedImport, values: dict[str, str]) -> str:
    """Return what is told of an end that a call in a program comes to, after its imports."""
    if ended.kind == "no parameter" and ended.name.startswith("+"):
        return _(
            "{who} fails with the Python of {prefix}: {function} of {owner} must be given {parameter}.",
            function=f"{ended.function}()",
            owner=ended.owner or ended.wanted,
            parameter=f"{ended.name[1:]}=",
            **values,
        )
    if ended.kind == "no parameter":
        return _(
            "{who} fails with the Python of {prefix}: {function} of {owner} does not take {parameter}.",
            function=f"{ended.function}()",
            owner=ended.owner or ended.wanted,
            parameter=_("arguments without their names ({count})", count=ended.name[1:])
            if ended.name.startswith("*")
            else f"{ended.name}=",
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
    if ended.kind == "refused" and ended.name:
        return _(
            "{who} fails with the Python of {prefix}: {call} of {owner} raises {name}.",
            call=call,
            owner=ended.owner or ended.wanted,
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
    if ended.kind == "damaged" and ended.name:
        return _("{who} does not start: Python reads programs as UTF-8, and this file is not.", **values)
    if ended.kind == "damaged":
        return _("{who} ends at its start with the Python of {prefix}: the file of {module} is damaged.", **values)
    if ended.kind == "foreign":
        return _(
            "{who} ends at its start with the Python of {prefix}: {module} exists only for another Python.", **values
        )
    if ended.kind == "unmade" and ended.name:
        return _(
            "{who} ends at its start with the Python of {prefix}: {module} is absent, and the Git submodule {name} is empty.",
            name=ended.name,
            **values,
        )
    if ended.unread_line:
        return _(
            "{who} ends at its start with the Python of {prefix}: it has no module {module}, and does not read {other}, which leads there.",
            other=ended.unread_line,
            **values,
        )
    if ended.elsewhere:
        return _(
            "{who} ends at its start with the Python of {prefix}: it has no module {module}, and {other} has it.",
            other=join_names(ended.elsewhere),
            **values,
        )
    if ended.kind == "unmade" and not ended.hidden:
        return _(
            "{who} ends at its start with the Python of {prefix}: {module} is still to be compiled ({path}).",
            path=ended.path,
            **values,
        )
    return _("{who} ends at its start with the Python of {prefix}: there is no module {module}.", **values)


def _title(home: EnvironmentView, ended: EndedImport, consumers: list[str]) -> str:
    mine = [name for name in consumers if FRAMEWORKS.fullmatch(name)] or consumers  # Whatever imports these fails, too.
    whole = (f"{d.name} {d.version}" for name in mine if (d := home.installed(name)))
    values = {
        "who": join_names(whole) or join_names(ended.starts),
        "prefix": home.python.prefix,
        "module": ended.wanted,
    }
    if is_outer_folder(home, ended):
        return _("import {name} finds {path} instead of the package in it.", name=ended.wanted, path=ended.path)
    if is_of_programs(home, ended):
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


def _cause_and_why(  # noqa: C901, PLR0912 - a flat list of cases
    home: EnvironmentView, search: ImportSearch, ended: EndedImport, entry: SearchEntry | None
) -> tuple[Cause, str]:
    """Return the cause, and why."""
    package = "Python" if is_pythons_own(ended) else package_of(home, ended)
    if way := _why_shadowed(home, search, ended, entry):
        return "module_shadowed", way
    if ended.kind == "foreign":
        return "package_for_another_python", _("Its compiled parts cannot be imported by this interpreter.")
    if ended.kind == "unmade":
        return "requirement_broken", _why_unmade(ended)
    if ended.kind == "unreadable":
        return "library_unreadable", _("It was installed by another user, or only its owner has access.")
    if ended.kind == "damaged" and ended.name:
        return "corrupt_or_truncated_file", _(
            "It is UTF-16: PowerShell writes so behind > and by Out-File."
        ) if ended.name == "UTF-16" else _("It has letters of another encoding, such as a code page of Windows.")
    if ended.kind in ("empty", "damaged"):
        return "corrupt_or_truncated_file", _(
            "The package installed it with content: a copy or a download was interrupted, or the disk was full."
        )
    if ended.path.endswith(".pyc"):
        return "corrupt_or_truncated_file", _why_byte_code(ended)
    if ended.kind == "refused" and not ended.name:
        return "requirement_broken", _(
            "The code compares the release of {package} as it is imported, and stops.", package=package
        )
    if is_of_other_systems(ended):
        return "requirement_broken", _("Python has this name on Linux and macOS, and not on Windows.")
    if ended.kind in ("no name", "no parameter", "refused") or asks_another(home, ended) or is_part_given_up(ended):
        return "requirement_broken", _(
            "The program was written for another release of {package}, or for another project's module of that name.",
            package=package,
        ) if is_asked_by_program(home, ended) else _(
            "The line was written for a release of {package} that is not the installed one.", package=package
        )
    if any(r.kind == "renamed" and r.distribution == package for r in search.remains):
        return "installation_interrupted", _(
            "pip renamed the old one, and was interrupted before it put the new one in its place."
        )
    if not ended.importer:
        if leads_outside(home, ended):
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


def _why_unmade(ended: EndedImport) -> str:
    if ended.name:
        return _(
            "git clone without --recurse-submodules, and the ZIP file of a repository, leave the folders of submodules empty."
        )
    if ended.hidden:
        return _(
            "The package is not installed, and Python takes {path}, the folder of its clone, for it.", path=ended.path
        )
    return _("A clone of the project has its source alone: compiled modules are made for each Python.")


def _why_shadowed(home: EnvironmentView, search: ImportSearch, ended: EndedImport, entry: SearchEntry | None) -> str:
    """Return why another module of the name is found than the one that was meant; empty where the right one is."""
    if precedes_own(home, ended):
        return _(
            "Python imports the first module of a name that it finds: {owner} of the environment comes before {hidden}.",
            owner=ended.owner or ended.path,
            hidden=ended.hidden,
        )
    unusable = ended.kind in ("foreign", "unmade")
    if entry is None or entry.origin not in BEFORE_THE_PACKAGES or unusable or not ended.path:
        return ""
    if is_folder_of_data(home, ended):
        return _("{path} holds no code. Python takes it for the package, which is not installed.", path=ended.path)
    if is_outer_folder(home, ended):
        return _(
            "Python asks an editable installation (pip install -e) last. Before that it takes {path}, a folder of the same name without "
            "__init__.py, for the package.",
            path=ended.path,
        )
    if _hides_portions(search, ended):
        return _(
            "Python prefers a package with __init__.py to all folders of its name without one, wherever it comes on the search path."
        )
    return before_the_packages(entry)


def _is_edited(ended: EndedImport, entry: SearchEntry | None) -> bool:
    """Whether a damaged file is among sources that a .pth file leads to, and in nobody's place."""
    return ended.kind == "damaged" and not ended.hidden and entry is not None and entry.origin == "pth"


def _unfinished(ended: EndedImport) -> tuple[Cause, str]:
    why = _("The text of {path} is not Python: an edit or a merge was not finished.", path=ended.path)
    return "python_environment_broken", why


def _installed_elsewhere(ended: EndedImport) -> tuple[Cause, str]:
    if ended.unread_line:
        return "python_environment_broken", _(
            "Python reads .pth files in the folders of its own packages, and not in those that PYTHONPATH names."
        )
    return "wrong_environment_active", _(
        "Each environment has its own packages: pip of another Python installed this one, or the program is meant for that Python."
    )


def _hides_portions(search: ImportSearch, ended: EndedImport) -> bool:
    """Whether a package, or a module, hides a folder that comes before it: only one without ``__init__`` can be hidden so.

    Source: https://peps.python.org/pep-0420/#specification.
    """
    above = [e.path for e in search.entries if ended.hidden.startswith((f"{e.path}/", f"{e.path}\\"))]
    innermost = max(above, key=len, default="")
    return bool(above) and any(e.path == innermost for e in search.entries[: max(ended.entry, 0)])


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
        what = call_spelt(ended) if ended.kind == "no parameter" else what
        yield observation(_("Requested by"), what, f"{ended.importer}:{ended.line}" if ended.line else ended.importer)
    if ended.tried_first:
        its = distribution_of(ended.tried_first)
        whole = ended.tried_first if its == ended.tried_first else f"{ended.tried_first} ({its})"
        yield observation(_("Asked for first, and not installed"), whole, ended.importer)
    if ended.path:
        way = describe_origin(entry) if entry else ""
        yield observation(_("import {name} finds", name=ended.wanted), ended.path, way)
    if ended.owner:
        yield observation(_("Installed"), ended.owner)
    for prefix in ended.elsewhere:
        yield observation(_("Installed"), ended.distribution or ended.wanted, prefix)
    if ended.hidden and ended.kind != "unmade":
        yield observation(_("Hidden behind it"), ended.hidden_owner or ended.wanted, ended.hidden)
    if ended.asked_of_it:
        yield observation(_("Required"), ended.asked_of_it, _("metadata of {name}", name=ended.refused_by))
    for who, text in requirers(home, ended)[:4]:
        yield observation(_("Required"), f"{package_of(home, ended)}{text}", _("metadata of {name}", name=who))
    for r in home.search.remains if home.search else ():
        if r.distribution == package_of(home, ended):
            yield observation(_(LEFT), r.path)


LEFT = N_("Left by an interrupted installation")


RULES = (ended_imports,)
