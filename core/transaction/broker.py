"""What may be done with an administrator's rights: a closed list of kinds of change, each with what must hold for it.

A plan is judged by what the machine would be afterwards, never by how its names look: whose folder it is, whole way to it
included, and who else could change it. The predicates ask a ``Ground`` and nothing else.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from core.common.i18n import _, n_
from core.host import ownership, safe_folder
from core.host.startup.edit import Edit, edited
from core.model import path_list
from core.model.changes import Change, ChangeError, EditLine, EditPath, ExchangePackages, FileItem, FileSet, SetVariable
from core.model.facts import LineForm, System
from core.model.system_steps import STEP_KINDS, SystemStep, step_words

NVIDIA_LIBRARY = re.compile(
    r"(?:lib)?(?:cudnn|cublas|cudart|nvrtc|cufft|curand|cusolver|cusparse|nvjitlink|zlibwapi|cuda)[\w.+-]*"
    r"(?:\.dll|\.so(?:\.\d+){0,4})",
    re.IGNORECASE | re.ASCII,
)
SEARCH_PATHS = {"windows": ("PATH",), "linux": ("PATH", "LD_LIBRARY_PATH")}
HIDING_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Variables that hide GPUs: they are taken away, never set."""
TOOLKIT_VARIABLE = re.compile(r"CUDA_(?:PATH|HOME|ROOT|PATH_V\d{1,2}_\d{1,2})")
"""Variables that name a toolkit, whose libraries programs load: they name only an administrator's folder."""
LINUX_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local", "/lib", "/lib64", "/opt")
WINDOWS_FOLDERS = ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)", "ProgramData")
"""Variables of Windows that name the folders below which libraries are placed or put aside."""


class Ground(Protocol):
    """What the predicates ask about the file system."""

    @property
    def system(self) -> System:
        """Whose rules hold."""
        ...

    def kind(self, path: str) -> str:
        """Return what a path leads to: folder, file, other or missing."""
        ...

    def loose(self, path: str) -> str:
        """Return the first part of the way that an ordinary user can change; empty when there is none."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        ...

    def bases(self) -> tuple[str, ...]:
        """Return the folders below which libraries lie that are everybody's."""
        ...

    def expanded(self, entry: str) -> str:
        """Return an entry of a search path as programs get it."""
        ...

    def account(self, name: str) -> int:
        """Return the number of an account; -1 where there is none."""
        ...


@dataclass(frozen=True)
class RealGround:
    """The file system of the machine itself."""

    env: Mapping[str, str] = field(default_factory=lambda: os.environ)
    system: System = "windows" if sys.platform == "win32" else "linux"

    def kind(self, path: str) -> str:
        """See Ground."""
        try:
            last = ownership.who_can_write(path)[-1]
        except (OSError, ValueError):
            return "other"
        return last.kind

    def loose(self, path: str) -> str:
        """See Ground."""
        return ownership.first_loose(path)

    def names(self, folder: str) -> tuple[str, ...]:
        """See Ground."""
        try:
            return tuple(sorted(p.name for p in Path(folder).iterdir()))
        except OSError:
            return ()

    def bases(self) -> tuple[str, ...]:
        """See Ground."""
        if self.system == "windows":
            return tuple(base for name in WINDOWS_FOLDERS if (base := self.env.get(name, "")))
        return LINUX_FOLDERS

    def expanded(self, entry: str) -> str:
        """See Ground."""
        return os.path.expandvars(entry) if self.system == "windows" else entry

    def account(self, name: str) -> int:
        """See Ground."""
        if sys.platform == "win32":
            return -1
        import pwd

        try:
            return pwd.getpwnam(name).pw_uid
        except (KeyError, ValueError):
            return -1


@dataclass(frozen=True)
class ChangeKind:
    """A kind of change that is made with an administrator's rights, and what must hold for it."""

    name: str
    """Also the end of polkit's action and of the option on the command line."""
    of: Callable[[Change], bool]
    refusal: Callable[[Change, Ground, bool], str]
    """(change, ground, back) -> a sentence, or an empty text where it may be made; ``back``: it takes one back."""
    words: Callable[[Change], tuple[str, ...]]
    """What the change does, in words that the plan has no say in."""


def refusal_sentences(changes: tuple[Change, ...], ground: Ground, *, back: bool = False) -> tuple[str, ...]:
    """Return a sentence for each change that is not made with an administrator's rights."""
    return tuple(row for change in changes if (row := kind_of(change).refusal(change, ground, back)))


def kind_of(change: Change) -> ChangeKind:
    """Return the kind that a change is of."""
    return next((kind for kind in CHANGE_KINDS if kind.of(change)), NEVER)


def consent_action(changes: tuple[Change, ...], *, back: bool = False) -> str:
    """Return the word for what the person is asked to allow: the plan's kind, "changes" for several, or "undo"."""
    kinds = {kind_of(change).name for change in changes}
    return "undo" if back else kinds.pop() if len(kinds) == 1 else "changes"


def describe_changes(changes: tuple[Change, ...]) -> tuple[str, ...]:
    """Return what the changes do, a sentence each, made from data alone: no title of the plan is in it."""
    return tuple(visible_text(row) for change in changes for row in kind_of(change).words(change))


def visible_text(text: str) -> str:
    """Return a text in which every character that cannot be seen, or turns the line around, is written out."""
    return "".join(c if c.isprintable() else f"<U+{ord(c):04X}>" for c in text)


# --- search paths --------------------------------------------------------------------------------------------------


def _no_search_path(change: EditPath, ground: Ground) -> str:
    name = change.name.upper() if ground.system == "windows" else change.name
    if change.scope == "machine" and name in SEARCH_PATHS[ground.system]:
        return ""
    return _(
        "{name} ({scope}) is not a search path that is edited with administrator rights.",
        name=visible_text(change.name),
        scope=change.scope,
    )


def _enter_path(change: Change, ground: Ground, back: bool) -> str:
    """An existing, absolute folder, which is the administrator's with its whole way and all that lies in it."""
    assert isinstance(change, EditPath)
    return _no_search_path(change, ground) or _not_everybodys(change.entry.strip('"'), change.name, ground, back)


def _not_everybodys(folder: str, name: str, ground: Ground, back: bool, *, below: bool = False) -> str:
    """Return why a folder must not be where everybody's programs look; ``back``: it may be missing, if it can only be
    made by an administrator. ``below``: programs look in its folders, too.
    """
    if not _is_plain(folder, ground.system):
        return _(
            "{folder} is not the absolute, plain path of a folder; nothing else is added to {name}.",
            folder=visible_text(folder),
            name=name,
        )
    kind = ground.kind(folder)
    if kind != "folder" and not (back and kind == "missing"):
        return _(
            "{folder} is not an existing folder; nothing else is added to the {name} of all users.",
            folder=folder,
            name=name,
        )
    loose = ground.loose(folder)
    if not loose and kind == "folder":
        inside = (folder.rstrip("/\\") + os.sep + n for n in ground.names(folder))
        seen = (f for f in inside if below or ground.kind(f) != "folder")
        loose = next((where for f in seen if (where := ground.loose(f))), "")
    return loose and _(
        "{loose} can be changed by ordinary users, so {folder} must not be in the {name} of all users.",
        loose=loose,
        folder=folder,
        name=name,
    )


def _is_plain(folder: str, system: System) -> bool:
    """Whether a text is a folder's whole name, of which no program makes anything else."""
    if not folder.isprintable() or any(c in folder for c in "%$\"'`" + ("\\" if system == "linux" else "")):
        return False
    names = re.split(r"[/\\]" if system == "windows" else "/", folder)
    if "." in names or ".." in names:
        return False
    if system == "windows":
        return bool(re.match(r"[A-Za-z]:[\\/]", folder)) and ":" not in folder[2:]
    return folder.startswith("/") and not folder.startswith("//") and ":" not in folder


def _leave_path(change: Change, ground: Ground, back: bool) -> str:
    """An entry that leads nowhere or stands there twice; of LD_LIBRARY_PATH, which no system needs, any entry."""
    assert isinstance(change, EditPath)
    row = _no_search_path(change, ground)
    if row or back or change.name == "LD_LIBRARY_PATH":
        return row
    text = change.before.text if change.before else ""
    same = [e for e in path_list.split_entries(text, ground.system) if _key(e, ground) == _key(change.entry, ground)]
    folder = ground.expanded(change.entry.strip('"'))
    if len(same) > 1 or not Path(folder).is_absolute() or ground.kind(folder) != "folder":
        return ""
    return _(
        "{folder} exists and is in {name} once; such an entry is not removed with administrator rights.",
        folder=visible_text(folder),
        name=change.name,
    )


def _key(entry: str, ground: Ground) -> str:
    return path_list.entry_key(entry, ground.system)


# --- variables -----------------------------------------------------------------------------------------------------


def _variable(change: Change, ground: Ground, back: bool) -> str:
    """One that hides GPUs is taken away (or put back); one that names the toolkit names an administrator's folder."""
    assert isinstance(change, SetVariable)
    name = change.name.upper() if ground.system == "windows" else change.name
    if change.scope == "machine" and name in HIDING_VARIABLES and (change.after is None or back):
        return "" if change.after is None or change.after.text.isprintable() else _odd(change)
    if change.scope == "machine" and TOOLKIT_VARIABLE.fullmatch(name):
        return "" if change.after is None else _not_everybodys(change.after.text, name, ground, back, below=True)
    return _odd(change)


def _odd(change: SetVariable) -> str:
    return _(
        "{name} ({scope}) is not a variable that is set with administrator rights.",
        name=visible_text(change.name),
        scope=change.scope,
    )


# --- files ---------------------------------------------------------------------------------------------------------


def _files(change: Change, ground: Ground, back: bool) -> str:
    """NVIDIA's libraries by name, from an administrator's folder into one, or aside; nobody else's file is touched."""
    assert isinstance(change, FileSet)
    rows = (_file(item, ground, back) for item in change.items)
    made = (_folder(f, change, ground, back) for f in change.folders)
    return next((row for row in (*rows, *made) if row), "")


def _file(item: FileItem, ground: Ground, back: bool) -> str:
    try:
        folder, name = safe_folder.split_path(item.path)
        source = safe_folder.split_path(item.source)[1] if item.source else ""
    except ChangeError as e:
        return str(e)
    linked = item.after[3:] if item.after.startswith("-> ") else ""
    for each in (name, source, linked):
        if each and not NVIDIA_LIBRARY.fullmatch(each):
            return _(
                "{name} is not one of NVIDIA's libraries; nothing else is changed with administrator rights.",
                name=visible_text(each),
            )
    if not _is_below(folder, ground):
        return _("{folder} is not a folder that is changed with administrator rights.", folder=visible_text(folder))
    bytes_come = bool(item.after) and not linked
    if "folder" in (item.before, item.after) or item.text is not None or (bytes_come and not back and not item.source):
        return _("The plan does not say which file the bytes of {path} come from.", path=item.path)
    if item.after and not back and _is_windows_own(folder, ground):
        return _("Convalesce puts nothing into {folder}, Windows' own folder.", folder=folder)
    for path in (item.path, item.source):
        if path and (loose := ground.loose(path)):
            return _(
                "{loose} can be changed by other users, so {path} is not used with administrator rights.",
                loose=loose,
                path=path,
            )
    return ""


def _folder(folder: str, change: FileSet, ground: Ground, back: bool) -> str:
    try:
        safe_folder.split_path(folder)
        inside = [i for i in change.items if _is_inside(safe_folder.split_path(i.path)[0], folder)]
    except ChangeError as e:
        return str(e)
    if not _is_below(folder, ground) or not inside or change.unmake != back or ground.loose(folder):
        return _("{folder} is not a folder that is created with administrator rights.", folder=visible_text(folder))
    return ""


def _is_below(folder: str, ground: Ground) -> bool:
    return any(base and _is_inside(folder, base) for base in ground.bases())


def _is_inside(folder: str, base: str) -> bool:
    place, top = os.path.normcase(folder) + os.sep, os.path.normcase(base).rstrip(os.sep) + os.sep
    return place.startswith(top)


def _is_windows_own(folder: str, ground: Ground) -> bool:
    return ground.system == "windows" and bool(ground.bases()) and _is_inside(folder, ground.bases()[0])


# --- lines of start-up files -----------------------------------------------------------------------------------------


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
"""Files of everybody's in which a line is edited, and the language of each."""
LINE_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", *HIDING_VARIABLES)
"""Variables that a line may be relieved of; toolkits' besides."""


def _line(change: Change, ground: Ground, back: bool) -> str:
    """A line of a listed file that gives a listed variable its value: taken out, or a folder of it; nothing is added but
    the toolkit's folder. What is done to the line is made anew here, and must be the same.
    """
    assert isinstance(change, EditLine)
    form = next((form for pattern, form in ground_line_files(ground) if re.fullmatch(pattern, change.path)), None)
    if form is None or form != change.form or not change.path.isascii():
        return _(
            "{path} is not a file of which a line is edited with administrator rights.", path=visible_text(change.path)
        )
    toolkit = bool(TOOLKIT_VARIABLE.fullmatch(change.name))
    if change.name not in LINE_VARIABLES and not toolkit:
        return _odd_line(change)
    if change.value and (not toolkit or change.entry):
        return _odd_line(change)
    if change.value and (row := _not_everybodys(change.value, change.name, ground, back, below=True)):
        return row
    if not change.reason.isprintable() or change.back is not back or not change.before_hash:
        return _odd_line(change)
    old, new = (change.after, change.before) if back else (change.before, change.after)
    edit = Edit(
        form=change.form,
        line=1,
        name=change.name,
        entry=change.entry,
        among=change.among,
        value=change.value,
        reason=change.reason,
    )
    try:
        made = edited(old, edit)
    except ChangeError:
        return _odd_line(change)
    if made.replace(": # ", "# ", 1) != new.replace(": # ", "# ", 1):
        return _odd_line(change)
    if ground.kind(change.path) != "file":
        return _("{path} does not exist.", path=change.path)
    if loose := ground.loose(change.path):
        return _(
            "{loose} can be changed by other users, so {path} is not used with administrator rights.",
            loose=loose,
            path=change.path,
        )
    return ""


def ground_line_files(ground: Ground) -> tuple[tuple[str, LineForm], ...]:
    """Return the files of which a line may be edited; none on Windows, whose variables lie in the registry."""
    return LINE_FILES if ground.system == "linux" else ()


def _odd_line(change: EditLine) -> str:
    return _(
        "The plan for line {line} of {path} is not one that is carried out with administrator rights.",
        line=change.line,
        path=visible_text(change.path),
    )


# --- system steps --------------------------------------------------------------------------------------------------

DEVICE_GROUPS = ("video", "render")
"""Groups into which a user is taken: those of device files, and of nothing that gives further rights (never disk, docker, sudo)."""
USER_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}", re.ASCII)
"""useradd(8); what begins with a hyphen or holds a colon would be another argument or row."""
FIRST_PERSON = 1000
"""First number of a person's account (UID_MIN of login.defs(5)); accounts of services are taken into no group."""

NOBODY = 65534
"""The account that stands for none."""


def _system_step(change: Change, ground: Ground, back: bool) -> str:
    """Each kind with the arguments that it takes and no other, on Linux; a short path needs no administrator."""
    assert isinstance(change, SystemStep)
    odd = _("The plan's system step is not one that is made with administrator rights.")
    if ground.system != "linux" or change.kind == "short-path" or change.before == change.after:
        return odd
    if (change.after == "absent") != back:
        return odd
    if change.kind == "library-folder":
        if change.value:
            return odd
        return _not_everybodys(change.subject, "ld.so.conf.d", ground, back) or _not_for_the_loader(change, ground)
    if change.kind == "device-group":
        known = USER_NAME.fullmatch(change.subject) and change.value in DEVICE_GROUPS
        person = ground.account(change.subject)
        if not known or (not back and (person < FIRST_PERSON or person == NOBODY)):
            return _(
                "{user} is not taken into the group {group} with administrator rights.",
                user=visible_text(change.subject),
                group=visible_text(change.value),
            )
        return ""
    return odd if change.subject or change.value else ""


def _not_for_the_loader(change: SystemStep, ground: Ground) -> str:
    if _is_below(change.subject, ground):
        return ""
    return _("{folder} is not a folder that is changed with administrator rights.", folder=visible_text(change.subject))


# --- words ---------------------------------------------------------------------------------------------------------


def _words_enter(change: Change) -> tuple[str, ...]:
    assert isinstance(change, EditPath)
    place = (change.new or 0) + 1
    return (
        _(
            "Add {folder} to the {name} of all users, at position {place}.",
            folder=change.entry,
            name=change.name,
            place=place,
        ),
    )


def _words_leave(change: Change) -> tuple[str, ...]:
    assert isinstance(change, EditPath)
    return (_("Remove {folder} from the {name} of all users.", folder=change.entry, name=change.name),)


def _words_variable(change: Change) -> tuple[str, ...]:
    assert isinstance(change, SetVariable)
    if change.after is None:
        return (_("Remove the variable {name} for all users.", name=change.name),)
    return (_("Set the variable {name} for all users to {value}.", name=change.name, value=change.after.text),)


def _words_files(change: Change) -> tuple[str, ...]:
    assert isinstance(change, FileSet)
    rows = []
    for item in change.items:
        if not item.after:
            rows.append(_("Quarantine {path}.", path=item.path))
        elif item.source:
            rows.append(_("Place {path}, from {source}.", path=item.path, source=item.source))
        elif item.after.startswith("-> "):
            rows.append(_("Turn {path} into a link to {target}.", path=item.path, target=item.after[3:]))
        else:
            rows.append(_("Restore {path} from the history.", path=item.path))
    if change.folders:
        count = len(change.folders)
        rows.append(
            n_("Remove {n} folder if it is empty.", "Remove {n} folders if they are empty.", count)
            if change.unmake
            else n_("Create {n} folder.", "Create {n} folders.", count)
        )
    return tuple(rows)


def _words_line(change: Change) -> tuple[str, ...]:
    assert isinstance(change, EditLine)
    values = {
        "name": change.name,
        "path": change.path,
        "line": change.line,
        "entry": change.entry,
        "value": change.value,
    }
    if change.back:
        return (_("Put line {line} of {path} back, which sets {name}.", **values),)
    if change.value:
        return (_("Let line {line} of {path} set {name} to {value}.", **values),)
    if change.entry:
        return (_("Take {entry} out of {name} in line {line} of {path}.", **values),)
    return (_("Take line {line} of {path} out, which sets {name}.", **values),)


def _words_step(change: Change) -> tuple[str, ...]:
    assert isinstance(change, SystemStep)
    return step_words(change)


def _is_step(kind: str, change: Change) -> bool:
    return isinstance(change, SystemStep) and change.kind == kind


# --- packages ------------------------------------------------------------------------------------------------------


def _packages(_change: Change, _ground: Ground, _back: bool) -> str:
    """None: an installer runs what others wrote."""
    return _("Packages are not changed with administrator rights.")


def _words_packages(change: Change) -> tuple[str, ...]:
    assert isinstance(change, ExchangePackages)
    return (_("Change the packages of {prefix}.", prefix=change.prefix),)


NEVER = ChangeKind("packages", lambda c: isinstance(c, ExchangePackages), _packages, _words_packages)
"""What is never changed with an administrator's rights."""

CHANGE_KINDS = (
    ChangeKind("search-path", lambda c: isinstance(c, EditPath) and c.new is not None, _enter_path, _words_enter),
    ChangeKind("search-path", lambda c: isinstance(c, EditPath), _leave_path, _words_leave),
    ChangeKind("variable", lambda c: isinstance(c, SetVariable), _variable, _words_variable),
    ChangeKind("line", lambda c: isinstance(c, EditLine), _line, _words_line),
    ChangeKind("files", lambda c: isinstance(c, FileSet), _files, _words_files),
    *(
        ChangeKind(f"system-{kind}", partial(_is_step, kind), _system_step, _words_step)
        for kind in STEP_KINDS
        if kind != "short-path"
    ),
    ChangeKind("system-step", lambda c: isinstance(c, SystemStep), _system_step, _words_step),  # none that is allowed
)
"""Every kind there is. A further one is a row here, in docs/security.md, in polkit's policy and in the fuzzer."""
