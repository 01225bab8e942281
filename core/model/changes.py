"""Changes: compare-and-set data that records the previous state, each with its inverse."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from core.common.i18n import _, format_number
from core.common.late_pattern import late_pattern
from core.common.text import join_names
from core.model import path_list
from core.model.facts import Frozen, LineForm, System
from core.model.path_list import PathError
from core.model.system_steps import SystemStep

PersistentScope = Literal["user", "machine", "environment"]
"""Who gets a variable: this user, everybody on the machine, or one Python environment while it is active."""


class ChangeError(Exception):
    """A change that must not or cannot be made; the message is one sentence for the person."""


class Value(Frozen, frozen=True, kw_only=True):
    """The value of a variable: raw, unexpanded text and its storage form.

    ``kind`` is REG_SZ or REG_EXPAND_SZ in the Windows registry; in a file of assignments the line's own form
    (see core/transaction/variable_store.py); "activation" for steps (core/host/activation_scripts.py). Empty: as it is kept now, or as is usual.
    """

    text: str
    kind: str = ""

    def agrees_with(self, other: Value | None) -> bool:
        """Whether the other value is the same; an unknown kind equals any kind."""
        return other is not None and self.text == other.text and (not self.kind or self.kind in ("", other.kind))


def values_agree(planned: Value | None, found: Value | None) -> bool:
    """Whether the expected value is the one that was found."""
    return found is None if planned is None else planned.agrees_with(found)


class SetVariable(Frozen, frozen=True, kw_only=True, tag_field="change", tag="variable"):
    """Set a variable to another value, or remove it (``after`` None)."""

    name: str
    scope: PersistentScope
    at: str = ""
    """The file that sets it, or the environment's prefix; empty for the default file of the scope."""
    before: Value | None = None
    after: Value | None = None

    def inverse(self) -> SetVariable:
        """Return the change that undoes this one."""
        return msgspec.structs.replace(self, before=self.after, after=self.before)

    def lines(self) -> tuple[str, ...]:
        """Return the preview: what it is, then the old lines (-) and the new ones (+)."""
        nothing = _("(unchanged)") if self.scope == "environment" else _("(not set)")
        old, new = _shown_value(self.before, nothing), _shown_value(self.after, nothing)
        return (f"  {_scope_words(self)}", *(f"- {t}" for t in old), *(f"+ {t}" for t in new))


class EditPath(Frozen, frozen=True, kw_only=True, tag_field="change", tag="path"):
    """Insert, move or remove one entry of a search path; every other byte stays.

    ``before`` and ``after`` are the whole values, so that undoing an untouched value gives its exact bytes back.
    """

    name: str
    scope: PersistentScope
    system: System
    entry: str
    """The entry as written, quotes included."""
    old: int | None
    """Its index before; None when it is inserted."""
    new: int | None
    """Its index after; None when it is removed."""
    at: str = ""
    before: Value | None = None
    after: Value | None = None

    def inverse(self) -> EditPath:
        """Return the change that undoes this one."""
        return msgspec.structs.replace(self, old=self.new, new=self.old, before=self.after, after=self.before)

    def lines(self) -> tuple[str, ...]:
        """Return the preview: the entries around the edit, with - and +."""
        import difflib  # needed for a preview only; a scan starts faster without it

        old = path_list.split_entries(self.before.text, self.system, self.name) if self.before else []
        new = path_list.split_entries(self.after.text, self.system, self.name) if self.after else []
        diff = difflib.unified_diff(old, new, lineterm="", n=2)
        return (f"  {_scope_words(self)}", *(f"{d[0]} {d[1:]}" for d in diff if not d.startswith(("---", "+++", "@@"))))

    def problem(self) -> str:
        """Return a sentence if applying the edit to ``before`` does not give ``after``, else an empty text."""
        try:
            expected = apply_edit(self)
        except PathError as e:
            return str(e)
        planned = self.after.text if self.after else ""
        if path_list.split_entries(expected, self.system, self.name) != path_list.split_entries(
            planned, self.system, self.name
        ):
            return _("The planned value of {name} is not its old value with this one entry changed.", name=self.name)
        if self.before and self.after and self.before.kind != self.after.kind:
            return _("The planned value of {name} has another type than its old value.", name=self.name)
        return ""

    def rebased_on(self, current: Value | None) -> Value | None:
        """Return ``current`` with this edit made in it although others have changed the value since.

        Only the one entry is touched. An entry that is already gone, or already there, is left as it is.
        """
        if values_agree(self.before, current):
            return self.after
        text = current.text if current else ""
        goal = self.after.text if self.after else ""
        entries = path_list.split_entries(text, self.system, self.name)
        surplus = entries.count(self.entry) - path_list.split_entries(goal, self.system, self.name).count(self.entry)
        if self.old is not None and (surplus > 0 or (self.new is not None and self.entry in entries)):
            place = self.old if entries[self.old : self.old + 1] == [self.entry] else entries.index(self.entry)
            text = path_list.remove_from_path(text, self.entry, place, self.system, name=self.name)
            surplus -= 1
        elif self.old is not None:
            return current
        if self.new is not None and surplus < 0:
            text = path_list.put_back(text, self.entry, self.new, goal, self.system, name=self.name)
        kind = current.kind if current else (self.after or self.before or Value(text="")).kind
        return Value(text=text, kind=kind) if text or self.after else None


def apply_edit(change: EditPath) -> str:
    """Return the result of applying the edit to ``before``.

    Raises:
        PathError: the edit does not fit the value.
    """
    text, system, name = (change.before.text if change.before else ""), change.system, change.name
    match change.old, change.new:
        case None, int(new):
            return path_list.insert_in_path(text, change.entry, new, system, name=name)
        case int(old), None:
            return path_list.remove_from_path(text, change.entry, old, system, name=name)
        case int(old), int(new):
            return path_list.move_in_path(text, change.entry, old, new, system, name=name)
    raise PathError(_("A plan must state the current or the new position of an entry."))


class FileItem(Frozen, frozen=True, kw_only=True):
    """One file of a set. A state is "" (not there), a SHA-256 in 64 hexadecimal digits, or "-> name" for a link.

    "folder" is a whole folder, which can only be quarantined: it is renamed within its parent folder.
    """

    path: str
    """Absolute, with every link along the path resolved."""
    before: str = ""
    after: str = ""
    size: int = 0
    """Bytes of the ``after`` state."""
    source: str = ""
    """File that the bytes come from; empty for the journal's backups, or for ``text``."""
    text: str | None = None
    """The whole content, where it is a short text."""


class FileSet(Frozen, frozen=True, kw_only=True, tag_field="change", tag="files"):
    """Place, replace or quarantine files, all of them or none. The journal keeps what is quarantined."""

    title: str
    """A name for the set: "cuDNN 9.10.2 for CUDA 12"."""
    items: tuple[FileItem, ...]
    folders: tuple[str, ...] = ()
    """Folders that are made (outermost first) and, when undone, removed if they are empty."""
    unmake: bool = False
    """Whether ``folders`` are removed instead of made: set in an inverse."""

    def inverse(self) -> FileSet:
        """Return the change that undoes this one; the bytes come from the journal's backups."""
        items = tuple(FileItem(path=i.path, before=i.after, after=i.before) for i in self.items)
        return msgspec.structs.replace(self, items=items, unmake=not self.unmake)

    def lines(self) -> tuple[str, ...]:
        """Return the preview: a line for every folder and file, and every line of a text."""
        shown = [f"  {self.title}"]
        shown += [("- " if self.unmake else "+ ") + _("{folder} (folder)", folder=folder) for folder in self.folders]
        for item in self.items:
            if item.before:
                shown.append(
                    "- " + (item.path if item.after else _("{path} (quarantined, can be restored)", path=item.path))
                )
            if item.after:
                shown.append(f"+ {item.path} {_origin(item)}".rstrip())
            shown += [f"+   {line}" for line in (item.text or "").splitlines()]
        return tuple(shown)


class EditLine(Frozen, frozen=True, kw_only=True, tag_field="change", tag="line"):
    """Edit one line of a start-up file; every other byte stays.

    Before it is resolved, it states only the variable and its new value. Once resolved, ``before`` and ``after`` are
    the exact text of the lines, line ends included; only then can it be carried out.
    """

    path: str
    """The file; once resolved, with every link followed."""
    form: LineForm
    line: int
    """The first line that is edited, from 1."""
    name: str
    """The variable."""
    scope: PersistentScope = "user"
    """Whether the file is this user's or everybody's."""
    entry: str = ""
    """The folder that is removed from the value; empty: the whole assignment is removed."""
    among: tuple[str, ...] = ()
    """All folders that the line puts into the variable."""
    value: str = ""
    """The new value, where the assignment is changed instead of removed."""
    front: tuple[str, ...] = ()
    """Folders that the line puts in front of what it gives the variable."""
    reason: str = ""
    """Written into a comment beside the line, where the format allows one."""
    starts: tuple[str, ...] = ()
    """Ways of starting that read the line (``Start.id``)."""
    held: str = ""
    """The variable's value in programs that read the line."""
    file: str = ""
    """Once resolved: the file as programs open it, links not followed."""
    before: str = ""
    after: str = ""
    before_hash: str = ""
    """SHA-256 of the whole file before; empty as long as it is not resolved."""
    after_hash: str = ""
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    """The encoding that turns the lines' bytes into text here."""
    back: bool = False
    """Whether this change undoes an earlier one."""

    def inverse(self) -> EditLine:
        """Return the change that undoes this one."""
        return msgspec.structs.replace(
            self,
            before=self.after,
            after=self.before,
            before_hash=self.after_hash,
            after_hash=self.before_hash,
            back=not self.back,
        )

    def lines(self) -> tuple[str, ...]:
        """Return the preview: the file and the line, with the present and the new text."""
        rows = (
            f"  {self.path}:{self.line}",
            *(f"- {_CONTROL.sub(_REPLACED, row)}" for row in self.before.splitlines()),
            *(f"+ {_CONTROL.sub(_REPLACED, row)}" for row in self.after.splitlines()),
        )
        if self.before_hash:
            return rows
        return (*rows, f"- {self.name} {self.entry}".rstrip(), *([f"+ {self.name} {self.value}"] if self.value else []))


class Package(Frozen, frozen=True, kw_only=True):
    """One distribution that is removed or installed."""

    name: str
    version: str
    sha256: str = ""
    """SHA-256 of its wheel; empty for a distribution that is removed."""
    size: int = 0
    """Bytes of that wheel; 0: not known."""
    source: str = ""
    """Address or file of that wheel."""


class ExchangePackages(Frozen, frozen=True, kw_only=True, tag_field="change", tag="packages"):
    """Change the packages of one environment: its site-packages folder is exchanged for a prepared twin, in one step.
    Before preparation it states only the requirements. Once ``twin`` exists (core/fixes/packages), it states exactly
    what is removed and installed, and the content of both folders; only then can it be carried out.
    """

    title: str
    prefix: str
    folder: str
    """The environment's own folder of packages, with every link along the path resolved."""
    remove: tuple[str, ...] = ()
    """Names of distributions that are removed first; "~orch" and a name that ends in ".dist-info" are leftovers of an
    interrupted pip, and are removed as files."""
    install: tuple[str, ...] = ()
    """Requirements, for the environment's own installer."""
    restore: tuple[str, ...] = ()
    """Names of distributions whose files are restored as their RECORD lists them; then nothing else is changed."""
    index: str = ""
    """Address of the index that has them; empty for the one that is configured."""
    alone: bool = False
    """Whether to install without dependencies."""
    dll_folders: tuple[str, ...] = ()
    """Folders of these packages in which the environment's Python is to find DLLs (Windows)."""
    gone: tuple[Package, ...] = ()
    come: tuple[Package, ...] = ()
    twin: str = ""
    """The folder that is exchanged with ``folder``, and afterwards holds the old content; empty until it is prepared."""
    before: str = ""
    """Hash over name, size and time of every file of ``folder``, and of ``after`` over the twin's; byte code apart."""
    after: str = ""
    old: int = 0
    """Inode number of the folder before the exchange, and of the ``new`` one after it."""
    new: int = 0

    @property
    def is_prepared(self) -> bool:
        """Whether the twin is prepared, so that the change can be carried out."""
        return bool(self.twin)

    def inverse(self) -> ExchangePackages:
        """Return the change that undoes this one: the old folder is exchanged back."""
        return msgspec.structs.replace(
            self,
            gone=self.come,
            come=self.gone,
            dll_folders=(),
            before=self.after,
            after=self.before,
            old=self.new,
            new=self.old,
        )

    def lines(self) -> tuple[str, ...]:
        """Return the preview: removed (-) and installed (+) distributions, each with its size and source."""
        shown = [f"  {self.title}"]
        found = _("Let this Python find DLLs in {folder}", folder=join_names(self.dll_folders))
        told = (f"+ {found}",) if self.dll_folders else ()
        if self.is_prepared:
            shown += [f"- {p.name} {p.version}" for p in self.gone]
            return (*shown, *(f"+ {p.name} {p.version} {_package_origin(p)}".rstrip() for p in self.come), *told)
        shown += [f"- {name}" for name in self.remove]
        origin = " (" + _("from {source}", source=self.index) + ")" if self.index else ""
        shown += [*(f"+ {wish}{origin}" for wish in self.install), *told]
        return (*shown, *("+ " + _("the files that {name} lists", name=name) for name in self.restore))


Change: TypeAlias = SetVariable | EditPath | FileSet | EditLine | SystemStep | ExchangePackages
"""All changes. A Change is data: it is shown, journalled, handed to an elevated process and undone."""


# --- making edits ------------------------------------------------------------------------------------------


def insert_entry(
    before: Value | None, entry: str, index: int, system: System, *, name: str, scope: PersistentScope
) -> EditPath:
    """Return the change that inserts ``entry`` at ``index``, but never behind the last semicolon of Windows' PATH,
    which would leave an empty entry.

    Raises:
        PathError: the entry cannot stand there.
    """
    entries = path_list.split_entries(before.text, system, name) if before else []
    new = path_list.count_before_end(entries, system) if index == len(entries) else index
    bare = EditPath(name=name, scope=scope, system=system, entry=entry, old=None, new=new, before=before, after=None)
    return _with_after(bare)


def remove_entry(
    before: Value, index: int, system: System, *, name: str, scope: PersistentScope, at: str = ""
) -> EditPath:
    """Return the change that removes the entry at ``index``.

    Raises:
        PathError: there is no such index.
    """
    entry = _entry(before, index, system, name)
    bare = EditPath(
        name=name, scope=scope, at=at, system=system, entry=entry, old=index, new=None, before=before, after=None
    )
    return _with_after(bare)


def move_entry(before: Value, index: int, to: int, system: System, *, name: str, scope: PersistentScope) -> EditPath:
    """Return the change that moves the entry at ``index`` to ``to``; the last semicolon of Windows' PATH stays last.

    Raises:
        PathError: there is no such place.
    """
    entry = _entry(before, index, system, name)
    entries = path_list.split_entries(before.text, system, name)
    new = min(to, path_list.count_before_end(entries, system) - 1) if entry and to == len(entries) - 1 else to
    bare = EditPath(name=name, scope=scope, system=system, entry=entry, old=index, new=new, before=before, after=None)
    return _with_after(bare)


def _with_after(change: EditPath) -> EditPath:
    usual = "REG_EXPAND_SZ" if change.system == "windows" else ""
    after = Value(text=apply_edit(change), kind=change.before.kind if change.before else usual)
    return msgspec.structs.replace(change, after=after)


def _entry(value: Value, index: int, system: System, name: str) -> str:
    entries = path_list.split_entries(value.text, system, name)
    path_list.check_position(index, entries, len(entries))
    return entries[index]


# --- words -------------------------------------------------------------------------------------------------

_REPLACED = "\N{REPLACEMENT CHARACTER}"
_CONTROL = late_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _shown_value(value: Value | None, nothing: str) -> tuple[str, ...]:
    if value is None:
        return (nothing,)
    return tuple(_CONTROL.sub(_REPLACED, line) for line in value.text.split("\n")) or ("",)


def _scope_words(change: SetVariable | EditPath) -> str:
    words = {
        "user": _("for this user"),
        "machine": _("for everybody on this machine"),
        "environment": _("while the environment is active in bash, zsh, fish or similar shells"),
    }
    return f"{change.name}, {words[change.scope]}" + (f" ({change.at})" if change.at else "")


def _origin(item: FileItem) -> str:
    if item.after.startswith("-> "):
        return item.after
    size = _("{size} bytes", size=format_number(item.size)) if item.size else ""
    words = [w for w in (size, _("from {source}", source=item.source) if item.source else "") if w]
    return f"({', '.join(words)})" if words else ""


def _package_origin(package: Package) -> str:
    words = [_("{size} MB", size=format_number(-(-package.size // 1_000_000)))] if package.size else []
    words += [_("from {source}", source=package.source)] if package.source else []
    words += [f"sha256 {package.sha256}"] if package.sha256 else []
    return f"({', '.join(words)})" if words else ""
