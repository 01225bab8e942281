"""Rules about environments that no longer fit their Python, and about leftovers of an interrupted pip."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import _
from core.common.shell import shell_command, shell_of
from core.common.text import join_names
from core.knowledge.modules import module_table
from core.model.facts import EnvironmentFault, ImportSearch, Remains, SearchEntry, Snapshot
from core.model.findings import Finding, Fix
from core.model.paths import file_name, parent
from core.model.remedies import InstallPackages, Place, TakeOut, Unset
from core.model.steps import Severity
from core.rules.advice import how_to_unset
from core.rules.consumer_loads import environment_rank
from core.rules.frameworks.advice import framework_pip_command, index_of_build
from core.rules.frameworks.environment_view import FRAMEWORKS, WITHOUT_VERSION, EnvironmentView
from core.rules.frameworks.imports import stop_shadowing, views_with_imports
from core.rules.wording import ERROR, NOTE, WARNING, concern_row, make_finding, manual_fix, observation

OF_PYTHONS_START = ("PYTHONHOME", "PYTHONPLATLIBDIR")
"""Variables that lead an interpreter to its standard library."""


def broken_environments(seen: Snapshot) -> Iterator[Finding]:
    """An environment's Python is missing or was replaced, or its scripts name another folder."""
    for home, search in views_with_imports(seen):
        for fault in search.faults:
            yield _broken(home, fault)


def _broken(home: EnvironmentView, fault: EnvironmentFault) -> Finding:
    used = home.near <= 2 or "here" in home.python.ways
    severity = NOTE if not used or _is_beside(home) else home.severity
    if fault.kind == "moved":
        severity = min(severity, WARNING)
    elif fault.kind == "line ignored":
        severity = min(severity, WARNING)  # what needs the folder fails, and nothing else
    elif fault.kind == "copied" and "here" not in home.python.ways:
        severity = NOTE  # The interpreter works; only the scripts name another folder.
    elif fault.kind == "copied":
        severity = min(severity, WARNING)
    title, why, fix = _words_of_fault(home, fault)
    return make_finding(
        f"frameworks.environment-{fault.kind.replace(' ', '-')}",
        severity,
        title,
        cause="module_shadowed" if fault.kind == "another library" else "python_environment_broken",
        why=why,
        evidence=[
            observation(_("Seen"), fault.path, f"{fault.source}:{fault.line}" if fault.line else fault.source),
            *([observation(_("Detail"), fault.detail)] if fault.detail else []),
            home.concerns(),
        ],
        subject=home.python.prefix,
        fix=fix,
        remedy=_remedy(home, fault),
    )


def _remedy(home: EnvironmentView, fault: EnvironmentFault) -> Unset | TakeOut | None:
    if fault.source in OF_PYTHONS_START:
        return Unset(variable=fault.source)
    if fault.kind == "another library" and fault.source == "PYTHONPATH":
        return TakeOut(variable="PYTHONPATH", places=(Place(folder=fault.path, prefix=home.python.prefix),))
    return None


def _is_beside(home: EnvironmentView) -> bool:
    """Whether it is only the default environment, without a framework, while another one was named or is active."""
    ours = any(FRAMEWORKS.fullmatch(d.name) for d in home.python.distributions)
    nearest = min((environment_rank(home.seen, p.prefix) for p in home.seen.pythons or ()), default=home.near)
    return home.near > 1 and not ours and nearest <= 1


def _is_of_another_encoding(fault: EnvironmentFault) -> bool:
    """Whether an ignored line names its folder as it is, in letters that this Python reads as others."""
    plain = not any(sign in fault.detail for sign in ("~", "$", '"', "'", "\\ufeff"))
    return plain and not fault.path.isascii() and ascii(fault.path)[1:-1] not in fault.detail


def _words_of_start(prefix: str, fault: EnvironmentFault) -> tuple[str, str, Fix]:
    """Return the words about what runs or is read at the start of each program: .pth files, sitecustomize."""
    match fault.kind:
        case "line ignored" if _is_of_another_encoding(fault):
            return (
                _("Line {line} of {file} does not add {folder} to the search path of {prefix}.",
                  line=fault.line, file=fault.source, folder=fault.path, prefix=prefix),
                _("The file is UTF-8, and this Python reads it in Windows' own code page. It reads a name of which no folder is there, so the line is passed over."),
                manual_fix(
                    _("Let Python read such files as UTF-8"),
                    _("Start menu: Edit environment variables. Set {name} to {root}", name="PYTHONUTF8", root="1"),
                    _("Python 3.13 does so by itself."),
                    restart="terminal",
                ),
            )  # fmt: skip
        case "line ignored":
            return (
                _("Line {line} of {file} does not add {folder} to the search path of {prefix}.",
                  line=fault.line, file=fault.source, folder=fault.path, prefix=prefix),
                _("Python takes each letter of such a line as part of a folder's name: an editor's mark at the start of the file, quotes, \"~\" and variables, too. A folder of that name does not exist, so the line is passed over."),
                manual_fix(
                    _("Write the plain path in line {line} of {file}", line=fault.line, file=fault.source),
                    _("Save the file as UTF-8 without a byte order mark."),
                ),
            )  # fmt: skip
        case "ended at its start":
            return (
                _("The Python of {prefix} exits at start-up: {words}", prefix=prefix, words=fault.detail),
                _("Start-up code runs before every program, and this code ends the program."),
                _look_at(fault.path),
            )
        case "packages taken away":
            return (
                _("Start-up code removes the packages of {prefix} from the search path.", prefix=prefix),
                _("A child process started this Python, and {folder} is not on its sys.path.", folder=fault.detail),
                _look_at(fault.path),
            )
        case _:
            names, _space, words = fault.detail.partition(" ")
            return (
                _("Start-up code of {prefix} refuses to import {names}: {words}",
                  prefix=prefix, names=join_names(names.split(",")), words=words),
                _("A child process started this Python. Its start-up code answers imports before Python searches for a module."),
                _look_at(fault.path),
            )  # fmt: skip


def _words_of_fault(home: EnvironmentView, fault: EnvironmentFault) -> tuple[str, str, Fix]:
    prefix = home.python.prefix
    anew = _make_again(home)
    match fault.kind:
        case "interpreter gone" if not fault.detail:
            return (
                _("{prefix} has lost its interpreter: {path} is not there.", prefix=prefix, path=fault.path),
                _("Its packages are there, and nothing can start them. Virus scanners sometimes take this file away."),
                anew,
            )
        case "base gone" | "interpreter gone":
            return (
                _(
                    "The Python that {prefix} was made from is gone: {path}.",
                    prefix=prefix,
                    path=fault.detail or fault.path,
                ),
                _("A virtual environment has no interpreter of its own: nothing in it can be started."),
                anew,
            )
        case "library gone":
            return (
                _("The Python of {prefix} does not start: {name} is not found.", prefix=prefix, name=fault.detail),
                _("The interpreter is linked against this library, and no folder that the loader searches has it."),
                anew,
            )
        case "no standard library" if fault.source in OF_PYTHONS_START:
            return (
                _("{name} leads the Python of {prefix} to {path}, which has no standard library for it.",
                  name=fault.source, prefix=prefix, path=fault.path),
                _("Python does not start without its standard library: \"No module named 'encodings'\"."),
                manual_fix(_("Remove the variable {name}", name=fault.source), how_to_unset(home.seen.machine.system, fault.source), restart="terminal"),
            )  # fmt: skip
        case "no standard library":
            return (
                _("The Python of {prefix} has no standard library in {path}.", prefix=prefix, path=fault.path),
                _("Python does not start without its standard library: \"No module named 'encodings'\"."),
                anew,
            )
        case "upgraded beneath":
            old, _space, new = fault.detail.partition(" ")
            return (
                _("The packages of {prefix} are for Python {old}, but its interpreter is Python {new} now.",
                  prefix=prefix, old=old, new=new),
                _("The Python that the environment was made from was replaced. The new one does not search the folder {folder}.",
                  folder=fault.path),
                anew,
            )  # fmt: skip
        case "no configuration":
            return (
                _("The environment {prefix} has lost its pyvenv.cfg.", prefix=prefix),
                _("Its python is a link to {path}. Without pyvenv.cfg, that Python starts on its own and does not find the environment's packages.",
                  path=fault.detail),
                anew,
            )  # fmt: skip
        case "another library":
            return (
                _("The Python of {prefix} uses the standard library of Python {version} in {path}.",
                  prefix=prefix, version=fault.detail, path=fault.path)
                if fault.detail
                else _("The Python of {prefix} uses the standard library of another Python in {path}.",
                       prefix=prefix, path=fault.path),
                _("A standard library fits one release of the interpreter only, and {way} puts this one first: imports fail with errors such as \"SRE module mismatch\".",
                  way=_("the folder in which the program is started") if fault.source == fault.path else fault.source),
                _without_library(home, fault),
            )  # fmt: skip
        case "packages not named":
            return (
                _("The Python of {prefix} does not search {folder}, where its packages are.", prefix=prefix, folder=fault.detail),
                _("An embeddable Python searches only what its ._pth file names. This file leaves out the folder into which pip installs."),
                manual_fix(
                    _("Add the packages' folder to {file}", file=fault.path),
                    _("In {file}, remove the # before \"import site\", or add this line: {line}", file=fault.path, line="Lib\\site-packages"),
                    restart="program",
                ),
            )  # fmt: skip
        case "line ignored" | "ended at its start" | "packages taken away" | "import refused":
            return _words_of_start(prefix, fault)
        case "copied":
            return (
                _("The scripts of {prefix} belong to the environment {path}.", prefix=prefix, path=fault.path),
                _("The folder was copied: its activation and its pip change the other environment."),
                anew,
            )
    return (
        _(
            "The environment {prefix} was moved: its scripts name {path}, which is gone.",
            prefix=prefix,
            path=fault.path,
        ),
        _("Its activation and scripts such as pip point to a folder that no longer exists."),
        anew,
    )


def _without_library(home: EnvironmentView, fault: EnvironmentFault) -> Fix:
    """Return how to keep another Python's library away."""
    if fault.source == "PYTHONPATH":
        entry = SearchEntry(path=fault.path, origin="PYTHONPATH", source=fault.source)
        return stop_shadowing(home, fault.path, entry, owner="", foreign=True)
    if fault.source == fault.path:
        return manual_fix(_("Start programs in another folder"), restart="program")
    return _look_at(fault.source)


def _look_at(path: str) -> Fix:
    """Return the advice on start-up code."""
    return manual_fix(
        _("Correct the start-up code, or remove it"), path, _("python -S starts without it."), restart="program"
    )


def _make_again(home: EnvironmentView) -> Fix:
    """Return how to recreate an environment beside the old one, with the same frameworks."""
    wanted = [f"{d.name}=={d.version}" for d in home.python.distributions if FRAMEWORKS.fullmatch(d.name)]
    system = home.seen.machine.system
    fresh = f"{home.python.prefix}-new"
    python = f"{fresh}\\Scripts\\python.exe" if system == "windows" else f"{fresh}/bin/python"
    return manual_fix(
        _("Create a new environment, and install the packages there"),
        shell_command("python" if system == "windows" else "python3", "-m", "venv", fresh, of=shell_of(system)),
        shell_command(python, "-m", "pip", "install", *wanted, of=shell_of(system)) if wanted else "",
        restart="terminal",
    )


# --- leftovers of an interrupted pip ----------------------------------------------------------------------------------


def interrupted_installations(seen: Snapshot) -> Iterator[Finding]:
    """An interrupted installation or removal left parts of a package behind."""
    for home, search in views_with_imports(seen):
        for name in dict.fromkeys(r.distribution for r in search.remains):
            some = [r for r in search.remains if r.distribution == name]
            yield _interrupted(home, search, name, some)


def _interrupted(home: EnvironmentView, search: ImportSearch, name: str, some: list[Remains]) -> Finding:
    bare_ones = home.without_metadata()
    whole = [d for d in home.python.distributions if d.name == name and (d.location, d.version) not in bare_ones]
    its = next(iter(whole), None) or home.installed(name)
    there = next((m for m in search.modules if m.name == name and m.kind != "namespace"), None)
    bare = any(r.kind in WITHOUT_VERSION and not r.behind for r in some)
    readers = [d.name for d in home.python.distributions if _reads_release(d.name, name)] if bare else []
    severity: Severity = NOTE
    if any(r.kind == "renamed" for r in some) and there is None and FRAMEWORKS.fullmatch(name):
        severity = home.severity
    elif bare and len(whole) < 2 and (readers or FRAMEWORKS.fullmatch(name)):
        severity = min(home.severity, WARNING)
    version = its.version if its else ""
    return make_finding(
        f"frameworks.remains-{name}",
        severity,
        _("An interrupted installation left parts of {name} in {prefix}.", name=name, prefix=home.python.prefix),
        cause="installation_interrupted",
        why=_("Nothing of that name can be imported any more.")
        if severity is ERROR
        else _("Its metadata does not show its version, and pip cannot remove or replace it.")
        if any(r.kind != "renamed" for r in some)
        else _("pip warns about them at each call; the package itself is present."),
        evidence=[
            *(observation(_REMAINS[r.kind](), r.path) for r in some),
            *(home.concerns(n) for n in readers or [name if FRAMEWORKS.fullmatch(name) else ""]),
        ],
        subject=home.python.prefix,
        fix=manual_fix(
            _("Reinstall {name}, then delete what was left", name=name),
            framework_pip_command(
                home.seen,
                home.python,
                "install",
                "--force-reinstall",
                "--no-deps",
                f"{name}=={version.partition('+')[0]}" if version else name,
            ),
            *(r.path for r in some if r.kind == "renamed"),
            restart="program",
        ),
        remedy=_installed_again(home, name, version, some) if severity > NOTE else None,
    )


def _reads_release(reader: str, name: str) -> bool:
    """Whether a package checks the version of another one at its start, and so needs its metadata."""
    return any(re.fullmatch(c.of, reader) and re.fullmatch(c.wanted, name) for c in module_table().checked)


def _installed_again(home: EnvironmentView, name: str, version: str, some: list[Remains]) -> InstallPackages | None:
    """Return the remedy that removes the leftovers and installs the release in their names; None if they name none."""
    system = home.seen.machine.system
    left = tuple(file_name(system, r.path) for r in some)
    told = version or next((v for n in left for v in re.findall(r"-(\d[\w.+!]*)\.dist-info$", n)), "")
    here = all(parent(system, r.path) == folder for r in some for folder in home.python.site_packages[:1])
    if not told or not here:
        return None
    recorded = home.installed(name) is not None and not any(r.kind != "renamed" for r in some)
    gone = (*left, *((name,) if recorded else ()))
    return InstallPackages(
        prefix=home.python.prefix, remove=gone, install=(f"{name}=={told}",), index=index_of_build(told), alone=True
    )


_REMAINS = {
    "renamed": lambda: _("Renamed by pip"),
    "no metadata": lambda: _("Metadata without METADATA"),
    "no version": lambda: _("METADATA without a version"),
    "no record": lambda: _("Metadata without RECORD"),
}


def compiled_remains(seen: Snapshot) -> Iterator[Finding]:
    """A compiled module of another release lies in a package, and Python takes it for the recorded one beside it."""
    for home, search in views_with_imports(seen):
        for name in dict.fromkeys(m.distribution for m in search.left) if home.near <= 3 else ():
            its = [m for m in search.left if m.distribution == name]
            package = f"{name} {its[0].version}"
            yield make_finding(
                f"frameworks.left-modules-{name}",
                min(home.severity, WARNING),
                _("{package} in {prefix} has compiled modules that it did not bring.", package=package, prefix=home.python.prefix),
                cause="installation_interrupted",
                why=_("Python prefers a compiled module to a module of the same name beside it, and the compiled one belongs to another release."),
                evidence=[
                    *(observation(_("Compiled module, not recorded"), m.path, _("RECORD of {package}", package=package)) for m in its[:4]),
                    *(observation(_("Hidden behind it"), m.hides) for m in its[:4]),
                    concern_row(home.python.consumer(package)),
                ],
                subject=its[0].path,
                subjects=[m.path for m in its],
                fix=manual_fix(
                    _("Delete what was left, then reinstall {name}", name=name),
                    *(m.path for m in its[:4]),
                    framework_pip_command(home.seen, home.python, "install", "--force-reinstall", "--no-deps", f"{name}=={its[0].version}"),
                    restart="program",
                ),
            )  # fmt: skip


RULES = (broken_environments, interrupted_installations, compiled_remains)
