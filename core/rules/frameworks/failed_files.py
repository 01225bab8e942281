"""What a failed import says of a file: it is for another processor or Python, may not be run, is not there, or ends the process."""

from __future__ import annotations

import re

from core.common.i18n import N_, _
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.knowledge.causes import Cause
from core.model.facts import ImportFailure
from core.model.paths import is_inside, parent
from core.rules.frameworks.advice import framework_pip_command, reinstall_package
from core.rules.frameworks.environment_view import EnvironmentView
from core.rules.frameworks.import_diagnosis import Cure, ImportDiagnosis, file_at_fault
from core.rules.wording import manual_fix

_OTHER_PROCESSOR = late_pattern(
    r"wrong ELF class|ELF file's machine|incompatible architecture|cannot execute binary file|Exec format error"
)
_MAY_NOT_RUN = late_pattern(r"failed to map segment from shared object")
_LIBRARY = late_pattern(r"(?<![^\s:'\"(<\[])(/[^\s:'\"(<\[]+\.so[\w.]*)")
_NO_FILE = ("FileNotFoundError", "NotADirectoryError", "IsADirectoryError")
_NO_PYTHON = ("SyntaxError", "IndentationError", "TabError")


def for_another_processor(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A library was built for another kind of computer."""
    if not _OTHER_PROCESSOR.search(f.text):
        return None
    return file_at_fault(
        f,
        _library(f),
        "dll_wrong_architecture",
        N_("{who} in {prefix} cannot be imported: {file} is for another kind of processor."),
        why=_("The loader reads from its header for which processor it was built, and refuses it."),
        cure=_anew(home, f.owner or f.asker),
    )


def may_not_be_run(_home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A library lies on a file system from which no code may run."""
    if not _MAY_NOT_RUN.search(f.text):
        return None
    return file_at_fault(
        f,
        _library(f),
        "noexec_mount",
        N_("{who} in {prefix} cannot be imported: no code may be run from {file}."),
        why=_("The loader may read the file, but may not map it as code: its file system is mounted with noexec."),
        cure=Cure(manual_fix(_("Put the environment on another file system"), restart="program")),
    )


def not_of_this_python(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A module's text is not Python, or not that of this interpreter."""
    if f.kind not in _NO_PYTHON or not f.path:
        return None
    installed = any(is_inside(home.seen.machine.system, f.path, site) for site in home.python.site_packages)
    return file_at_fault(
        f,
        f.path,
        "package_for_another_python" if installed else "python_environment_broken",
        N_("{who} in {prefix} cannot be imported: this Python does not accept the text of {file}."),
        why=_("The package is for another release of Python, or the file was edited.")
        if installed
        else _("The text of {path} is not Python: an edit or a merge was not finished.", path=f.path),
        cure=_anew(home, f.owner)
        if installed
        else Cure(manual_fix(_("Correct {path}", path=f.path), restart="program")),
    )


REMOVED_MODULES = frozenset(
    (
        *("asynchat", "asyncore", "binhex", "distutils", "imp", "smtpd", "aifc", "audioop", "cgi"),
        *("cgitb", "chunk", "crypt", "imghdr", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev"),
        *("pipes", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib", "lib2to3"),
    )
)
"""Modules that Python had and no longer has (https://docs.python.org/3/whatsnew/3.12.html, 3.13.html)."""
_NEWER_CHECKS = late_pattern(r"mutable default <?class|non-default argument '\w+' follows default argument")


def for_an_older_python(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """An installed package asks Python itself for what this release no longer has, or no longer accepts."""
    system = home.seen.machine.system
    installed = any(is_inside(system, f.file, site) for site in home.python.site_packages)
    lost = f.standard and f.name and not f.outside and not f.owner
    gone = f.absent and f.module.partition(".")[0] in REMOVED_MODULES and not f.owner
    refused = bool(_NEWER_CHECKS.search(f.text))
    if not (f.asker and installed and (lost or gone or refused)) and not (refused and f.asker):
        return None
    what = f"{f.module}.{f.name}".strip(".") if lost or gone else "dataclasses"
    return ImportDiagnosis(
        failure=f,
        cause="package_for_another_python",
        title=N_("{who} in {prefix} cannot be imported: it was written for an older Python ({what})."),
        values={"what": what},
        why=_("Python {version} removed or refuses it.", version=home.python.version),
        about=f"{f.asker} {what}",
        cure=upgrade(home, f.asker),
    )


def not_there(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A file that the import opens, or a program that it starts, is not there."""
    if f.kind not in _NO_FILE or not f.path:
        return None
    inside = any(is_inside(home.seen.machine.system, f.path, site) for site in home.python.site_packages)
    if (
        "/" not in f.path
        and "\\" not in f.path
        and f.kind == "FileNotFoundError"
        and re.search("Popen|subprocess|run\\(", f.code)
    ):
        cause: Cause = "system_library_missing"
        why = _("The package starts this program, and it is not on PATH.")
    elif inside:
        cause, why = "corrupt_or_truncated_file", _("It belongs to a package, and it is not there.")
    else:
        return None
    return file_at_fault(
        f,
        f.path,
        cause,
        N_("{who} in {prefix} cannot be imported: {file} is not there."),
        why=why,
        cure=_anew(home, f.owner or f.asker) if inside else Cure(),
    )


def ended_by_a_short_file(home: EnvironmentView, f: ImportFailure) -> ImportDiagnosis | None:
    """A mapped file is shorter than its headers say, and the kernel ended the process at the first page behind its end."""
    if f.kind != "SIGBUS" or not f.file:
        return None
    folder = parent(home.seen.machine.system, f.file)
    return ImportDiagnosis(
        failure=f,
        cause="corrupt_or_truncated_file",
        title=N_("{who} in {prefix} cannot be imported: a library that {file} opens is cut off."),
        values={"file": f.file},
        why=_("The kernel ends a process with SIGBUS that reads behind the end of a mapped file."),
        about=folder,
        subject=folder,
        cure=_anew(home, f.asker),
    )


def _library(f: ImportFailure) -> str:
    found = _LIBRARY.search(f.text)
    return found[1] if found else f.path or f.library


def _anew(home: EnvironmentView, owner: str) -> Cure:
    name, _space, version = owner.partition(" ")
    return Cure(reinstall_package(home.seen, home.python, name, version) if version else None)


def upgrade(home: EnvironmentView, *owners: str) -> Cure:
    """Return how packages get releases that fit each other."""
    names = [o.partition(" ")[0] for o in dict.fromkeys(owners) if o]
    if not names:
        return Cure()
    command = framework_pip_command(home.seen, home.python, "install", "--upgrade", *names)
    words = _("Install releases that fit each other: {names}", names=join_names(names))
    return Cure(manual_fix(words, command, restart="program"))
