"""The program's own folder on PATH: Setup adds it when it is asked to, and the uninstaller takes it away again.

It is no cure, so it is not in the history. Every other byte of PATH stays, and so does its kind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from core.common.exit_codes import FAILED, OK, USAGE
from core.common.i18n import _
from core.model import path_list
from core.model.changes import ChangeError, PersistentScope, Value
from core.model.path_list import PathError
from core.transaction.variable_store import VariableStore

NAME = "Path"
SCOPES: dict[str, PersistentScope] = {"user": "user", "machine": "machine"}


def main(arguments: list[str]) -> int:
    """Add (``--own-path add user``) or remove (``--own-path remove machine``) the folder of this program; return the exit status."""
    _option, verb, scope, *more = (*arguments, "", "")
    act, whose = ACTS.get(verb), SCOPES.get(scope)
    if act is None or whose is None or any(more):
        print("convalesce: usage: convalesce --own-path add|remove user|machine", file=sys.stderr)
        return USAGE
    if sys.platform == "win32":
        from core.transaction.windows_variable_store import WindowsVariables

        try:
            act(os.path.dirname(sys.executable), whose, WindowsVariables())  # noqa: PTH120 - as Setup writes it
        except (ChangeError, PathError, OSError) as e:
            print(f"convalesce: {e}", file=sys.stderr)
            return FAILED
        return OK
    print(f"convalesce: {_('--own-path changes PATH on Windows only.')}", file=sys.stderr)
    return USAGE


def add_folder(folder: str, scope: PersistentScope, store: VariableStore) -> None:
    """Put a folder last on PATH, unless it is there.

    Raises:
        PathError: the folder cannot be an entry, or PATH would be longer than Windows allows.
        ChangeError: what is kept under this name is no text.
    """
    now = store.read(NAME, scope, "")
    text = now.text if now else ""
    if path_list.find_entry(text, folder, "windows") is not None:
        return
    place = path_list.count_before_end(path_list.split_entries(text, "windows"), "windows")
    after = path_list.insert_in_path(text, _entry(folder), place, "windows", name=NAME)
    if problem := path_list.too_long(NAME, after, "windows"):
        raise PathError(problem)
    store.write(NAME, scope, "", Value(text=after, kind=now.kind if now else "REG_SZ"))
    store.announce_change()


def remove_folder(folder: str, scope: PersistentScope, store: VariableStore) -> None:
    """Take a folder out of PATH, as ``add_folder`` wrote it; an entry that is spelt in another way is somebody else's.

    Raises:
        ChangeError: what is kept under this name is no text.
    """
    now = store.read(NAME, scope, "")
    entries = path_list.split_entries(now.text, "windows") if now else []
    entry = _entry(folder)
    if now is None or entry not in entries:
        return
    place = len(entries) - 1 - entries[::-1].index(entry)
    after = path_list.remove_from_path(now.text, entry, place, "windows", name=NAME)
    store.write(NAME, scope, "", Value(text=after, kind=now.kind) if after else None)
    store.announce_change()


def _entry(folder: str) -> str:
    return f'"{folder}"' if ";" in folder else folder


ACTS: dict[str, Callable[[str, PersistentScope, VariableStore], None]] = {"add": add_folder, "remove": remove_folder}
"""What may follow ``--own-path``."""
