"""A folder enters or leaves a search path of all users."""

from __future__ import annotations

from pathlib import Path

from core.common.i18n import _
from core.model import path_list
from core.model.changes import Change, EditPath
from core.transaction.broker.ground import Ground, everybodys_folder_refusal, visible_text

SEARCH_PATHS = {"windows": ("PATH",), "linux": ("PATH", "LD_LIBRARY_PATH")}


def _no_search_path(change: EditPath, ground: Ground) -> str:
    name = change.name.upper() if ground.system == "windows" else change.name
    if change.scope == "machine" and name in SEARCH_PATHS[ground.system]:
        return ""
    return _(
        "Convalesce does not edit the search path {name} ({scope}) with administrator rights.",
        name=visible_text(change.name),
        scope=change.scope,
    )


def enter_refusal(change: Change, ground: Ground, back: bool) -> str:
    """An existing, absolute folder that belongs to the administrator, as do its whole path and its content."""
    assert isinstance(change, EditPath)
    return _no_search_path(change, ground) or everybodys_folder_refusal(
        change.entry.strip('"'), change.name, ground, back
    )


def leave_refusal(change: Change, ground: Ground, back: bool) -> str:
    """An entry that does not exist or is there twice; any entry of LD_LIBRARY_PATH, which no system needs."""
    assert isinstance(change, EditPath)
    row = _no_search_path(change, ground)
    if row or back or change.name == "LD_LIBRARY_PATH":
        return row
    text = change.before.text if change.before else ""
    same = [e for e in path_list.split_entries(text, ground.system) if _key(e, ground) == _key(change.entry, ground)]
    folder = ground.expand(change.entry.strip('"'))
    if len(same) > 1 or not Path(folder).is_absolute() or ground.kind(folder) != "folder":
        return ""
    return _(
        "{folder} exists and is in {name} only once; Convalesce does not remove such an entry with administrator rights.",
        folder=visible_text(folder),
        name=change.name,
    )


def _key(entry: str, ground: Ground) -> str:
    return path_list.entry_key(entry, ground.system)


def enter_words(change: Change) -> tuple[str, ...]:
    """Name the folder that is added, and where."""
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


def leave_words(change: Change) -> tuple[str, ...]:
    """Name the entry that is removed."""
    assert isinstance(change, EditPath)
    return (_("Remove {folder} from the {name} of all users.", folder=change.entry, name=change.name),)
