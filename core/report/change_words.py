"""What a plan does, in words: "Take one line out of ~/.profile". Paths and bytes are in the preview."""

from __future__ import annotations

from collections.abc import Sequence

from core.common.i18n import _, n_
from core.common.text import join_names
from core.model.changes import Change, EditLine, EditPath, ExchangePackages, FileSet, SetVariable
from core.model.facts import INTERPRETER
from core.model.findings import Report
from core.model.paths import file_name, form_of, parent
from core.report.short_names import environment_names, environment_place, shorten_paths

MOST_PACKAGES = 2
"""Most packages that a sentence names; the exact change lists all."""


def change_words(changes: Sequence[Change], report: Report) -> tuple[str, ...]:
    """Return each change in a sentence; the same sentence once."""
    return tuple(dict.fromkeys(_words(c, report) for c in changes))


def _words(change: Change, report: Report) -> str:
    if isinstance(change, FileSet):
        return _files(change, report)
    if isinstance(change, EditPath):
        return _entry(change, report)
    if isinstance(change, SetVariable):
        return _variable(change, report)
    if isinstance(change, EditLine):
        return _line(change, report)
    if isinstance(change, ExchangePackages):
        return _packages(change, report)
    return _sentence(shorten_paths(change.lines()[0], report))  # it says itself what it does


def _sentence(line: str) -> str:
    """Return a line of a preview as a sentence."""
    text = line.strip().lstrip("+-").strip()
    return text if text.endswith(".") else f"{text}."


def _packages(change: ExchangePackages, report: Report) -> str:
    who, index = _name(change.prefix, report), change.index or _("the configured package index")
    if change.restore:
        names = join_names(change.restore, MOST_PACKAGES)
        return _("Restore the files of {names} in {who}, fetched from {index}.", names=names, who=who, index=index)
    if not change.install:
        return _("Remove {names} from {who}.", names=join_names(change.remove, MOST_PACKAGES), who=who)
    names = join_names(change.install, MOST_PACKAGES)
    return _("Install {names} in {who}, fetched from {index}.", names=names, who=who, index=index)


def _files(change: FileSet, report: Report) -> str:
    placed = [i for i in change.items if i.after]
    items = placed or change.items
    system = form_of(items[0].path) if items else report.snapshot.machine.system
    where = join_names(dict.fromkeys(shorten_paths(parent(system, i.path), report) for i in items), 1)
    aside = {i.path for i in change.items if not i.after}
    if placed and all(i.source in aside for i in placed):
        old, new = (
            join_names(file_name(system, p) for p in row)
            for row in zip(*((i.source, i.path) for i in placed), strict=True)
        )
        return _("Rename {old} in {where} to {new}.", old=old, where=where, new=new)
    if not placed:
        return n_("Quarantine {n} file of {where}.", "Quarantine {n} files of {where}.", len(items), where=where)
    return n_("Put {n} file into {where}.", "Put {n} files into {where}.", len(items), where=where)


def _entry(change: EditPath, report: Report) -> str:
    entry, where = shorten_paths(change.entry, report), _place_words(change, report)
    name = "PATH" if change.name.upper() == "PATH" else change.name
    if change.old is None:
        return _("Add the folder {entry} to {name}{where}.", entry=entry, name=name, where=where)
    if change.new is None:
        return _("Remove the folder {entry} from {name}{where}.", entry=entry, name=name, where=where)
    return _("Move the folder {entry} in {name}{where}.", entry=entry, name=name, where=where)


def _variable(change: SetVariable, report: Report) -> str:
    where = _place_words(change, report)
    if change.scope == "environment":
        return _("Correct {name} whenever {who} is activated.", name=change.name, who=_name(change.at, report))
    if change.after is None:
        return _("Remove the setting {name}{where}.", name=change.name, where=where)
    return _("Give the setting {name} another value{where}.", name=change.name, where=where)


def _line(change: EditLine, report: Report) -> str:
    file, line = environment_place(change.file or change.path, report.snapshot.machine.home), change.line
    if change.name == INTERPRETER:
        who = shorten_paths(change.value, report)
        return _("Use the Python of {environment} in line {line} of {file}.", environment=who, line=line, file=file)
    if change.value:
        return _("Give {name} another value in line {line} of {file}.", name=change.name, line=line, file=file)
    if change.entry:
        entry = shorten_paths(change.entry, report)
        return _(
            "Remove the folder {entry} from line {line} of {file} ({name}).",
            entry=entry,
            line=line,
            file=file,
            name=change.name,
        )
    return _("Remove line {line} of {file} ({name}).", line=line, file=file, name=change.name)


def _place_words(change: SetVariable | EditPath, report: Report) -> str:
    return f" ({shorten_paths(change.at, report)})" if change.at else ""


def _name(prefix: str, report: Report) -> str:
    return environment_names(report).get(prefix) or shorten_paths(prefix, report)
