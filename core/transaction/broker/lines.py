"""A line of a start-up file of all users."""

from __future__ import annotations

import re

from msgspec.structs import replace

from core.common.i18n import _
from core.host.startup.edit import edit_text
from core.model.changes import Change, ChangeError, EditLine
from core.model.facts import LineForm
from core.transaction.broker.ground import Ground, everybodys_folder_refusal, visible_text
from core.transaction.broker.variables import HIDING_VARIABLES, TOOLKIT_VARIABLE
from core.transaction.line_edit import edit_of

LINE_FILES: tuple[tuple[str, LineForm], ...] = (
    (r"/etc/environment", "assignments"),
    (r"/etc/environment\.d/[\w.+-]+\.conf", "assignments"),
    (r"/etc/(?:profile|bash\.bashrc|bashrc|zshenv|zprofile|zshrc|zlogin)", "posix"),
    (r"/etc/profile\.d/[\w.+-]+\.sh", "posix"),
    (r"/etc/zsh/(?:zshenv|zprofile|zshrc|zlogin)", "posix"),
    (r"/etc/fish/(?:config|conf\.d/[\w.+-]+)\.fish", "fish"),
    (r"/etc/crontab|/etc/cron\.d/[\w+-]+", "crontab"),
    (r"/etc/systemd/(?:system|user)/[\w@.+-]+\.service(?:\.d/[\w.+-]+\.conf)?", "systemd"),
)
"""Files of all users in which a line may be edited, and the language of each."""
LINE_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", *HIDING_VARIABLES)
"""Variables whose assignment may be removed from a line, besides those of toolkits."""


def refusal(change: Change, ground: Ground, back: bool) -> str:
    """A line of a listed file that gives a listed variable its value: taken out, or a folder of it; nothing is added but
    the toolkit's folder. The edit is made again here, and must be the same.
    """
    assert isinstance(change, EditLine)
    form = next((form for pattern, form in editable_files(ground) if re.fullmatch(pattern, change.path)), None)
    if form is None or form != change.form or not change.path.isascii():
        return _("Convalesce does not edit lines of {path} with administrator rights.", path=visible_text(change.path))
    toolkit = bool(TOOLKIT_VARIABLE.fullmatch(change.name))
    if change.name not in LINE_VARIABLES and not toolkit:
        return _odd_line(change)
    if change.front or (change.value and (not toolkit or change.entry)):
        return _odd_line(change)
    if change.value and (row := everybodys_folder_refusal(change.value, change.name, ground, back, below=True)):
        return row
    if not change.reason.isprintable() or change.back is not back or not change.before_hash:
        return _odd_line(change)
    old, new = (change.after, change.before) if back else (change.before, change.after)
    try:
        made = edit_text(old, replace(edit_of(change), line=1))
    except ChangeError:
        return _odd_line(change)
    if made.replace(": # ", "# ", 1) != new.replace(": # ", "# ", 1):
        return _odd_line(change)
    if ground.kind(change.path) != "file":
        return _("{name} does not exist.", name=change.path)
    if loose := ground.changeable_part(change.path):
        return _(
            "{loose} can be changed by other users, so {path} is not used with administrator rights.",
            loose=loose,
            path=change.path,
        )
    return ""


def editable_files(ground: Ground) -> tuple[tuple[str, LineForm], ...]:
    """Return the files of which a line may be edited; none on Windows, whose variables are in the registry."""
    return LINE_FILES if ground.system == "linux" else ()


def _odd_line(change: EditLine) -> str:
    return _(
        "Convalesce does not carry out the plan for line {line} of {path} with administrator rights.",
        line=change.line,
        path=visible_text(change.path),
    )


def _goes_whole(change: EditLine) -> bool:
    """Whether nothing sets the variable in these lines any more."""
    rows = change.after.splitlines()
    return not any(change.name in row for row in rows if not row.lstrip().removeprefix(": ").startswith("#"))


def words(change: Change) -> tuple[str, ...]:
    """Return what the change does, in words made from its data."""
    assert isinstance(change, EditLine)
    values = {
        "name": change.name,
        "path": change.path,
        "line": change.line,
        "entry": change.entry,
        "value": change.value,
    }
    if change.back:
        return (_("Restore line {line} of {path}, which sets {name}.", **values),)
    if change.value:
        return (_("Let line {line} of {path} set {name} to {value}.", **values),)
    if change.entry and not _goes_whole(change):
        return (_("Remove {entry} from {name} in line {line} of {path}.", **values),)
    return (_("Remove line {line} of {path}, which sets {name}.", **values),)
