"""Rules about compiled modules that the loader rejects: of packages other than frameworks, and of Python itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.common.i18n import N_, _
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.knowledge.modules import NEED_TK, SELDOM_BUILT, distribution_of, module_table
from core.model.facts import EndedImport, ImportSearch, Snapshot
from core.model.facts.closure import Edge
from core.model.findings import Evidence, Finding, Fix
from core.model.paths import file_name, normalise, parent
from core.model.remedies import PutPackageBack, Remedy
from core.model.steps import Severity
from core.rules.frameworks.advice import framework_pip_command, reinstall_package, without_plugin
from core.rules.frameworks.ended.queries import framework_distributions
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.frameworks.finding_ids import UNFIT_ID
from core.rules.frameworks.imports import views_with_imports
from core.rules.snapshot_queries import effective_variable
from core.rules.system_packages import library_commands, program_commands
from core.rules.windows_parts import (
    DEBUG_RUNTIME,
    MSVC_RUNTIME,
    OLDER_RUNTIME,
    PYTHONS_DLL,
    STABLE_DLL,
    install_part,
    readable_again,
)
from core.rules.wording import NOTE, WARNING, Concern, concern_row, make_finding, manual_fix, observation

MUSL = late_pattern(r"libc\.so|libc\.musl-.*|ld-musl-.*")
"""Libraries that a wheel for musl needs: glibc's own file name has a number, and libc.so is a linker script."""


def unfit_extensions(seen: Snapshot) -> Iterator[Finding]:
    """A compiled module of a package, or of the installed Python, does not load: one finding for each fault.

    A package's own file is its own fault; a system library that several need is one fault for all.
    """
    for home, search in views_with_imports(seen):
        mine = [e for e in search.ended if is_compiled(e)]
        for fault in dict.fromkeys(map(_fault, mine)):
            yield _finding(home, search, [e for e in mine if _fault(e) == fault])


def _fault(ended: EndedImport) -> tuple[str, str]:
    """Return what all imports that fail for one reason share: their package, or the library outside it."""
    edge = ended.edge
    if (
        not ended.owner
        or edge is None
        or ended.recorded
        or ended.path in (edge.name, edge.path)
        or MUSL.fullmatch(edge.name)
    ):
        return ended.owner, ""
    return "", edge.path or edge.name


def is_compiled(ended: EndedImport) -> bool:
    """Whether the rule about compiled modules reports this import."""
    return ended.kind == "unfit" or (ended.kind == "absent" and ended.wanted in SELDOM_BUILT)


def _finding(home: EnvironmentView, search: ImportSearch, its: list[EndedImport]) -> Finding:
    one = next((e for e in its if e.starts), its[0])
    consumers = list(dict.fromkeys(name for e in its for name in framework_distributions(home, e)))
    owners = list(dict.fromkeys(e.owner for e in (one, *its) if e.owner))
    package = one.owner.partition(" ")[0]
    cause, why = _cause_and_why(home, one)
    folder = search.entries[one.entry].path if 0 <= one.entry < len(search.entries) else ""
    fix, remedy = _cure(home, one, owners, cause, folder)
    return make_finding(
        f"frameworks.{UNFIT_ID}{package or one.wanted}",
        _severity(home, consumers, its),
        _title(home, one, owners, consumers),
        cause=cause,
        why=why,
        evidence=[*(row for e in its for row in _rows(e)), *_concerned(home, owners, consumers, its)],
        subjects=list(dict.fromkeys(p for e in its for p in (e.path, e.edge.path if e.edge else "") if p)) or [home.python.prefix],
        fix=fix,
        remedy=remedy,
    )  # fmt: skip


def _concerned(
    home: EnvironmentView, owners: list[str], consumers: list[str], its: list[EndedImport]
) -> Iterator[Concern]:
    """Yield the frameworks that fail and the packages themselves; for Python's own modules what comes to them, or the whole environment."""
    yield from (home.concerns(name) for name in consumers)
    yield from (concern_row(home.python.consumer(owner)) for owner in owners)
    if not owners and not consumers:
        starts = dict.fromkeys(start.partition(".")[0] for e in its for start in e.starts)
        yield from [concern_row(home.python.consumer(start)) for start in starts] or [home.concerns()]


def _severity(home: EnvironmentView, consumers: list[str], its: list[EndedImport]) -> Severity:
    """Return the severity: an error if the package cannot be imported, or a file of it is surely damaged; less if only some of its
    modules are affected by what another package lacks, and a note if its code opens a system's library, and no program in the folder
    comes to it.
    """
    starts, opening = {start for e in its for start in e.starts}, {row.module for row in module_table().opened}
    if not consumers and starts and starts <= opening and all(home.is_idle(distribution_of(start)) for start in starts):
        return NOTE
    certain = bool(consumers) or any(
        not _is_at_use(e) and (e.starts or _is_itself(e) or _is_indispensable(e)) for e in its
    )
    return home.severity if certain else min(home.severity, WARNING)


def _is_itself(ended: EndedImport) -> bool:
    """Whether the module's own file is unfit, and not only what it needs."""
    return ended.edge is not None and ended.path in (ended.edge.name, ended.edge.path)


def _is_indispensable(ended: EndedImport) -> bool:
    """Whether the table says that a package needs this extension module."""
    owner, dotted = ended.owner.partition(" ")[0], ended.wanted.replace(".", "/")
    return any(
        dotted in row.extension.split("|") for row in module_table().modules if re.fullmatch(row.distributions, owner)
    )


def _is_at_use(ended: EndedImport) -> bool:
    """Whether the library is opened only when it is used: the import goes on without."""
    return any(row.at_use and row.module in ended.starts for row in module_table().opened)


def _title(home: EnvironmentView, one: EndedImport, owners: list[str], consumers: list[str]) -> str:
    its = home.python.prefix
    module = one.wanted
    whole = [f"{d.name} {d.version}" for n in consumers if (d := home.installed(n))]
    if one.edge is None and (home.seen.machine.system == "windows" or (one.starts and not whole)):
        return _(
            "{who} fails at its start: the Python of {prefix} has no {module}.",
            who=join_names(whole or one.starts), prefix=its, module=module,
        )  # fmt: skip
    if one.edge is None:
        return _(
            "{who} in {prefix} cannot be imported: its Python was built without {module}.",
            who=join_names(whole), prefix=its, module=module,
        )  # fmt: skip
    if not whole and not one.owner:
        name = file_name(home.seen.machine.system, one.edge.name)
        return _(
            "{module} of the Python of {prefix} does not load: it needs {name}.", module=module, prefix=its, name=name
        )
    who = join_names(whole or owners)
    if _is_at_use(one):
        return _(
            "{who} in {prefix} fails when it is used: it opens {name}, which does not load.",
            who=join_names(owners), prefix=its, name=file_name(home.seen.machine.system, one.edge.name),
        )  # fmt: skip
    if _is_itself(one):
        name = file_name(home.seen.machine.system, one.path)
        if not (whole or one.starts or one.importer or _is_indispensable(one)):
            return _("{who} in {prefix} has a module that does not load: {name}.", who=who, prefix=its, name=name)
        return _("{who} in {prefix} cannot be imported: {name} does not load.", who=who, prefix=its, name=name)
    if one.edge.state == "absent":
        return _(
            "{who} in {prefix} cannot be imported: {module} needs {name}, which is missing.",
            who=who, prefix=its, module=module, name=file_name(home.seen.machine.system, one.edge.name),
        )  # fmt: skip
    return _(
        "{who} in {prefix} cannot be imported: {module} needs {name}, which does not load.",
        who=who, prefix=its, module=module, name=file_name(home.seen.machine.system, one.edge.name),
    )  # fmt: skip


STATES: dict[str, tuple[Cause, str]] = {
    "not executable": ("noexec_mount", N_("The system maps no program code from a file system that is mounted with the option noexec.")),
    "unreadable": ("library_unreadable", N_("The file is there, but this user has no permission to open it, or to enter its folder.")),
    "wrong architecture": ("dll_wrong_architecture", N_("The file was built for another processor.")),
    "damaged": ("corrupt_or_truncated_file", N_("The file is damaged: a download or a copy was interrupted, or the disk was full.")),
    "executable stack": ("upstream_packaging_bug", N_("The file asks for an executable stack, which glibc since 2.41 refuses to a running program.")),
    "dangling": ("corrupt_or_truncated_file", N_("The link is there, but the file that it names is not.")),
}  # fmt: skip


def _cause_and_why(home: EnvironmentView, one: EndedImport) -> tuple[Cause, str]:
    """Return the cause, and why."""
    edge = one.edge
    if edge is None:
        return "python_environment_broken", _why_not_built(home, one)
    if MUSL.fullmatch(edge.name):
        return "package_for_another_python", _(
            "It was built for another C library (musl, of Alpine Linux) than that of this system."
        )
    if edge.name.lower() == STABLE_DLL and edge.state == "absent":
        return "python_environment_broken", _(
            "Every Python 3 has {name} beside python.exe, for packages that any of its releases can import. This one lost it.",
            name=edge.name,
        )
    if PYTHONS_DLL.fullmatch(edge.name) and edge.state == "absent":
        return "package_for_another_python", _(
            "It was built for the Python that has this DLL, and another one runs here."
        )
    if DEBUG_RUNTIME.fullmatch(edge.name) and edge.state == "absent":
        return "package_for_another_python", _("It is a debug build: only Visual Studio has the runtime that it needs.")
    if edge.lacks:
        return _other_release(home, one, edge)
    if _is_too_old(edge):
        return "cxx_runtime_too_old", _(
            "It requires {version}, which {path} does not provide.", version=edge.detail, path=edge.path
        )
    if edge.state in STATES:
        cause, why = STATES[edge.state]
        return cause, _(why)
    if one.recorded:
        return "corrupt_or_truncated_file", _(
            "The package installed it, but it no longer exists. Whatever needs it fails."
        )
    if not one.owner:
        return "python_environment_broken", _(
            "This Python was built on a system with that library; the system has another release of it now, or none."
        )
    if MSVC_RUNTIME.fullmatch(edge.name) or OLDER_RUNTIME.fullmatch(edge.name):
        return "vc_runtime_missing", _(
            "Python brings only a part of Microsoft's C++ runtime; packages need the rest of Windows."
        )
    return "system_library_missing", _(
        "The package leaves this library to the operating system, and it is not installed."
    )


def _why_not_built(home: EnvironmentView, one: EndedImport) -> str:
    if one.wanted in NEED_TK:
        return _(
            "Some distributions of Python leave tkinter out: the embeddable package for Windows, Debian's python3 without python3-tk."
        )
    if home.seen.machine.system == "windows":
        return _(
            "Python for Windows has this module as a file in its folder DLLs. It was removed, or the installation was interrupted."
        )
    return _("Python leaves a module out when it is built on a system without that library's development files.")


def _other_release(home: EnvironmentView, one: EndedImport, edge: Edge) -> tuple[Cause, str]:
    """Return cause and why for a library that lacks a function: another release is found before the right one (Windows, error 127)."""
    if home.seen.machine.system == "linux":
        why = _("It requires {version}, which {path} does not provide.", version=edge.lacks, path=edge.path)
        return "ld_library_path_override" if _is_by_variable(home, edge) else "python_environment_broken", why
    if MSVC_RUNTIME.fullmatch(edge.name):
        return "vc_runtime_missing", _("{path} is older than the one that the package was built with.", path=edge.path)
    if one.recorded:
        why = _(
            "It is a library, but not the one that was installed: another package overwrote it, or a tool modified it."
        )
        return "corrupt_or_truncated_file", why
    return "extension_abi_mismatch", _("{path} is of another release than the package was built with.", path=edge.path)


def _is_by_variable(home: EnvironmentView, edge: Edge) -> bool:
    """Whether LD_LIBRARY_PATH leads to a library."""
    its = effective_variable(home.seen, "LD_LIBRARY_PATH")
    folders = [normalise("linux", f) for f in (its.value.split(":") if its else ()) if f.startswith("/")]
    return normalise("linux", parent("linux", edge.path)) in folders


def _is_too_old(edge: Edge) -> bool:
    return edge.state == "damaged" and bool(re.fullmatch(r"[A-Z]+_[\w.]+", edge.detail))


def _rows(one: EndedImport) -> Iterator[Evidence]:
    if one.importer:
        yield observation(_("Requested by"), f"import {one.wanted}", f"{one.importer}:{one.line}")
    if one.edge is None:
        return
    wanted = _("is not there") if one.edge.state == "absent" else one.edge.detail or one.edge.state
    yield observation(one.edge.name, wanted, one.edge.path)
    if one.edge.wanted_by:
        yield observation(_("Wanted by"), one.edge.wanted_by)


def _cure(
    home: EnvironmentView, one: EndedImport, owners: list[str], cause: Cause, folder: str
) -> tuple[Fix, Remedy | None]:
    name, _space, version = one.owner.partition(" ")
    if cause == "ld_library_path_override":
        return manual_fix(_("Remove the folder from LD_LIBRARY_PATH"), restart="terminal"), None
    if not name or (one.edge and one.edge.name.lower() == STABLE_DLL and one.edge.state == "absent"):
        return _other_python(home, one), None
    if home.seen.machine.system == "windows" and one.edge and _is_of_others(one, one.edge):
        return _past_other_file(home, one.edge, owners), None
    if cause in ("corrupt_or_truncated_file", "dll_wrong_architecture", "package_for_another_python"):
        back = PutPackageBack(prefix=home.python.prefix, package=name, version=version, location=folder)
        return reinstall_package(home.seen, home.python, name, version), back
    library = one.edge.name if one.edge else ""
    if one.plugin:
        return without_plugin(home, one), None
    if home.seen.machine.system == "windows" and cause in ("system_library_missing", "vc_runtime_missing"):
        return install_part(library, owners, home.seen), None
    if cause == "system_library_missing":
        steps = library_commands(home.seen, library)
        if name.startswith("opencv-") and "headless" not in name:
            headless = re.sub("python$", "python-headless", name)
            steps.append(framework_pip_command(home.seen, home.python, "install", f"{headless}=={version}"))
        return manual_fix(_("Install the system's package with {name}", name=library), *steps, restart="program"), None
    if cause == "library_unreadable":
        return readable_again(one.edge.path if one.edge else one.path, home.seen), None
    return manual_fix(_("Use a release that this system can run"),
                      _("Install a release of {who} that was built for older systems, or use a newer system or Python.", who=join_names(owners))), None  # fmt: skip


def _is_of_others(one: EndedImport, edge: Edge) -> bool:
    """Whether an unfit DLL, or one of another release, is not the package's own."""
    return bool(edge.path) and edge.state in ("damaged", "wrong architecture") and not (one.recorded or _is_itself(one))


def _past_other_file(home: EnvironmentView, edge: Edge, owners: list[str]) -> Fix:
    """Return the advice where such a DLL is found first: Microsoft's own in Windows' folder is renewed, any other is taken away."""
    if MSVC_RUNTIME.fullmatch(edge.name) and "\\windows\\" in edge.path.lower():
        return install_part(edge.name, owners, home.seen)
    return manual_fix(
        _("Remove the other {name}", name=edge.name),
        _("It is found before the one that fits. Move {path} to another place, or reinstall the program that it belongs to.", path=edge.path),
        restart="program",
    )  # fmt: skip


def _other_python(home: EnvironmentView, one: EndedImport) -> Fix:
    """Return the advice for a module of Python itself that does not load."""
    if one.wanted in NEED_TK:
        return manual_fix(
            _("Use a Python with tkinter"),
            _('Python\'s own installer brings it (the option "tcl/tk and IDLE"), and so does conda.')
            if home.seen.machine.system == "windows"
            else "",
            *(
                program_commands(home.seen, "python3-tk", "python3-tkinter")
                if home.seen.machine.system == "linux"
                else ()
            ),
            restart="program",
        )
    if home.seen.machine.system == "windows":
        return manual_fix(
            _("Repair this Python"),
            _("Settings, Apps, Python, Modify, Repair; conda: conda install --force-reinstall python. A Python that was unpacked is unpacked again."),
            restart="program",
        )  # fmt: skip
    headers = {"_lzma": ("liblzma-dev", "xz-devel"), "_bz2": ("libbz2-dev", "bzip2-devel"), "_ctypes": ("libffi-dev", "libffi-devel"),
               "_ssl": ("libssl-dev", "openssl-devel"), "_sqlite3": ("libsqlite3-dev", "sqlite-devel"), "zlib": ("zlib1g-dev", "zlib-devel"),
               "_uuid": ("uuid-dev", "libuuid-devel")}  # fmt: skip
    known = headers.get(one.wanted)
    steps = program_commands(home.seen, *known) if known else []
    version = home.python.version or "3"
    return manual_fix(
        _("Build this Python again, or make the environment with another one"),
        *steps,
        _("With pyenv: pyenv install --force {version}", version=version),
        restart="program",
    )


RULES = (unfit_extensions,)
