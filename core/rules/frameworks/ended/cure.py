"""What cures an import that fails."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.common.i18n import _
from core.common.requirements import is_in_specifier
from core.common.shell import quote, shell_command, shell_of
from core.knowledge.causes import Cause
from core.knowledge.modules import (
    GivenUp,
    Namesake,
    distribution_of,
    given_up,
    known_distribution,
    meant_by,
    module_table,
)
from core.knowledge.numpy_names import is_given_up, is_pythons_own
from core.model.facts import EndedImport, SearchEntry
from core.model.facts.imports import BEFORE_THE_PACKAGES
from core.model.findings import Fix
from core.model.paths import file_name, parent
from core.model.remedies import GiveOtherName, PutPackageBack, Remedy
from core.rules.frameworks.advice import (
    framework_pip_command,
    install_instead,
    install_package,
    reinstall_package,
    reinstall_requirement,
    without_plugin,
)
from core.rules.frameworks.ended.queries import (
    asker,
    asks_another,
    call_spelt,
    given_up_name,
    is_asked_by_program,
    is_folder_of_data,
    is_of_other_systems,
    is_of_programs,
    is_outer_folder,
    is_program,
    package_of,
    precedes_own,
    requirers,
)
from core.rules.frameworks.environment_view import FRAMEWORKS, EnvironmentView, unmet_requirements
from core.rules.frameworks.imports import removal_remedy, stop_shadowing
from core.rules.frameworks.requirements import releases_that_fit
from core.rules.wording import manual_fix

PUT_BACK = ("corrupt_or_truncated_file", "installation_interrupted", "package_for_another_python")
"""Causes in which the record exists but files are missing or wrong: pip and uv consider the release installed and do nothing."""


def _in_another_folder(home: EnvironmentView, ended: EndedImport) -> Fix:
    return manual_fix(
        _("Start programs in another folder"),
        _("Renaming {path} is no cure: the installation leads into it.", path=ended.path),
        _("Or install {name} as a copy:", name=ended.wanted),
        framework_pip_command(home.seen, home.python, "install", ended.path, "--no-deps"),
        restart="program",
    )


def correct_file(ended: EndedImport) -> Fix:
    """Return the advice for a source that an edit left unfinished, or that is in another encoding than Python reads."""
    if ended.name:
        first = _("Or name its encoding in the first line: {line}", line="# -*- coding: cp1252 -*-")
        return manual_fix(_("Save {path} as UTF-8", path=ended.path), "" if ended.name == "UTF-16" else first)
    return manual_fix(_("Correct {path}", path=ended.path), restart="program")


def cure_of_end(
    home: EnvironmentView, ended: EndedImport, entry: SearchEntry | None, cause: Cause
) -> tuple[Fix, Remedy | None]:
    """Return the advice, and the remedy that would carry it out."""
    package = package_of(home, ended)
    if cause == "module_shadowed" and (found := _of_a_hidden_package(home, ended, entry)):
        return found
    if ended.plugin:
        return without_plugin(home, ended), None
    if is_of_programs(home, ended) and ended.kind in ("unmade", "foreign"):
        return _of_own_project(home, ended), None
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
    named = [distribution_of(s) for s in ended.starts if not is_program(s)]
    starts = [asker(home, ended)] if is_of_programs(home, ended) else named
    askers = [name for name in starts if name not in (package, "")]
    if refused := _of_a_refused_release(home, ended, askers):
        return reinstall_requirement(home.seen, home.python, *refused), None
    if known := _of_a_known_name(home, ended) or _of_a_lacking_package(home, ended):
        return known, None
    if is_asked_by_program(home, ended) and cause == "requirement_broken":
        return _for_the_program(home, ended), None
    name, _space, version = ended.owner.partition(" ")
    if (asks_another(home, ended) or (ended.kind == "refused" and _is_met(home, package))) and askers:
        return releases_that_fit(home, askers, package, version if name == package else "")
    if version and cause in PUT_BACK:
        folder = entry.path if entry else ""
        back = PutPackageBack(prefix=home.python.prefix, package=name, version=version, location=folder)
        return reinstall_package(home.seen, home.python, name, version), back
    asked = ",".join(dict.fromkeys(p for _who, text in requirers(home, ended) for p in text.split(",") if p))
    if version and askers and is_in_specifier(asked, version):  # an installer that is asked for this does nothing
        too_old = name == "numpy" and ended.kind == "no name" and is_given_up(ended.name, version)
        its = [own] if too_old and (own := asker(home, ended)) else askers
        return releases_that_fit(home, its, name, version, stays=too_old)
    return install_package(home, name or package, asked, is_required=bool(ended.required_by)), None


def _of_a_lacking_package(home: EnvironmentView, ended: EndedImport) -> Fix | None:
    """Return how a package that a program asks for comes into its environment. A guessed name may be that of a stranger's package."""
    if not ended.lacks_package:
        return None
    if name := ended.distribution or known_distribution(ended.wanted):
        return install_package(home, name, is_required=True)
    return manual_fix(
        _("Install the package that provides {name}", name=ended.wanted),
        _("The project's own instructions name it: it may be called otherwise than its module."),
        framework_pip_command(home.seen, home.python, "install", "PACKAGE"),
        restart="program",
    )


def _of_own_project(home: EnvironmentView, ended: EndedImport) -> Fix:
    """Return how a part of the person's own project is fetched, or made for this Python."""
    system = home.seen.machine.system
    if ended.hidden:
        advice = framework_pip_command(home.seen, home.python, "install", ended.path)
        return manual_fix(_("Install {name}", name=ended.path), advice, restart="program")
    folder, shell = parent(system, ended.path), shell_of(system)
    if ended.name:
        return manual_fix(
            _("Fetch the submodule {name}", name=ended.name),
            shell_command("git", "-C", folder, "submodule", "update", "--init", "--recursive", of=shell),
            _("If it came as a ZIP file, clone the repository instead, with --recurse-submodules."),
            restart="program",
        )
    script = ended.path if file_name(system, ended.path) == "setup.py" else _("the project's setup.py")
    build = shell_command(home.python.executable or "python", "setup.py", "build_ext", "--inplace", of=shell)
    return manual_fix(
        _("Compile {module} for this Python", module=ended.wanted),
        _("In the folder of {script}:", script=script),
        build,
        restart="program",
    )


def _of_a_hidden_package(
    home: EnvironmentView, ended: EndedImport, entry: SearchEntry | None
) -> tuple[Fix, Remedy | None] | None:
    """Return how the module that was meant is found; None where nothing tells which entry the other one is in."""
    if precedes_own(home, ended):
        return _own_first(home, ended), None
    if is_outer_folder(home, ended):
        return _in_another_folder(home, ended), None
    if entry is None:
        return None
    if is_folder_of_data(home, ended):
        return install_package(home, package_of(home, ended)), None
    system = home.seen.machine.system
    inner = file_name(system, ended.path).startswith("__init__.")
    own = parent(system, ended.path) if inner else ended.path
    fix = stop_shadowing(home, own, entry, owner=ended.owner)
    return fix, None if ended.added else removal_remedy(home, entry)


def _of_a_known_name(home: EnvironmentView, ended: EndedImport) -> Fix | None:
    """Return what to install where the importer, or the tables, name it: the module that it tries first, or the last release with one."""
    if ended.tried_first and ended.kind == "refused":
        return install_package(home, distribution_of(ended.tried_first))
    if namesake := _namesake_that_asks(ended):
        return install_instead(home.seen, home.python, namesake.module, namesake.install)
    if is_of_other_systems(ended):
        return manual_fix(_("Use a release for Windows, or run it inside WSL2"), restart="program")
    its = given_up_name(ended) or given_up(ended.wanted.partition(".")[0])
    if its is None or ended.kind not in ("absent", "no name"):
        return None
    if its.now:
        return _by_its_later_name(home, ended, its)
    by_package = "." in its.name and not is_asked_by_program(home, ended)  # which may have a release that does without
    return None if by_package else reinstall_requirement(home.seen, home.python, its.last)


def _namesake_that_asks(ended: EndedImport) -> Namesake | None:
    """Return the row of an installed module that asks for what is not there, and in whose place people mean another project's; else None."""
    if ended.kind != "absent" or not any(map(is_program, ended.starts)):
        return None
    inside = re.search(r"-packages[/\\]([^/\\]+)", ended.importer)
    name = inside[1].removesuffix(".py") if inside else ""
    return next((row for row in module_table().namesakes if row.module == name), None)


def _by_its_later_name(home: EnvironmentView, ended: EndedImport, its: GivenUp) -> Fix:
    """Return how a line takes from the installed release what an older one had under another name."""
    same_place = its.name.rpartition(".")[0] == its.now.rpartition(".")[0]
    words = (its.name, its.now) if not ended.name else (ended.name, its.now.rpartition(".")[2]) if same_place else ()
    linux = home.seen.machine.system == "linux"
    return manual_fix(
        _("Write {now} for {before}", now=its.now, before=its.name),
        _("{file}, line {line}, asks for {what}, which {owner} does not have.",
          file=ended.importer, line=ended.line, what=its.name, owner=ended.owner or ended.path or "Python"),
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
    entries = home.search.entries if home.search else ()
    first = any(e.path == folder and e.origin in BEFORE_THE_PACKAGES for e in entries)
    first = first and not any(is_program(s) and parent(system, s) != folder for s in ended.starts)
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
    """Return what other packages require of the packages whose import ends, if the installed release does not
    satisfy them.

    To add what that release lacks would not help: a package that requires another release refuses this one anyway,
    though perhaps only in the features of an extra. A framework stays.
    """
    if ended.kind == "refused" and ended.wanted == "grpc" and ended.owner:
        return (ended.owner.replace(" ", ">"),)  # a newer grpcio-tools wrote the code
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
    what = call_spelt(ended) if ended.kind in ("no parameter", "refused") else what
    owner = ended.owner or ended.path
    if ended.wanted == "numpy" and ended.kind == "no name" and is_given_up(ended.name, ended.owner.partition(" ")[2]):
        name = ""  # it is NumPy, in a release that dropped the name
    plain = not name and is_pythons_own(ended.name)
    return manual_fix(
        _("Install what the program was written for, or adapt the program"),
        _("{file}, line {line}, asks for {what}, which {owner} does not have.",
          file=ended.importer or ended.starts[0], line=ended.line, what=what, owner=owner) if ended.line else "",
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
