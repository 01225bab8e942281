"""NVIDIA's libraries in folders of all users."""

from __future__ import annotations

import re

from core.common.i18n import _, n_
from core.host import safe_folder
from core.model.changes import Change, ChangeError, FileItem, FileSet
from core.transaction.broker.ground import Ground, lies_below_base, lies_inside, visible_text

NVIDIA_LIBRARY = re.compile(
    r"(?:lib)?(?:cudnn|cublas|cudart|nvrtc|cufft|curand|cusolver|cusparse|nvjitlink|zlibwapi|cuda)[\w.+-]*"
    r"(?:\.dll|\.so(?:\.\d+){0,4})",
    re.IGNORECASE | re.ASCII,
)


def refusal(change: Change, ground: Ground, back: bool) -> str:
    """Place NVIDIA's libraries from one administrator's folder in another, or move them aside; no other file."""
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
    if not lies_below_base(folder, ground):
        return _("Convalesce does not change {folder} with administrator rights.", folder=visible_text(folder))
    bytes_come = bool(item.after) and not linked
    if "folder" in (item.before, item.after) or item.text is not None or (bytes_come and not back and not item.source):
        return _("The plan does not say which file the bytes of {path} come from.", path=item.path)
    if item.after and not back and _is_windows_own(folder, ground):
        return _("Convalesce puts nothing into {folder}, Windows' own folder.", folder=folder)
    for path in (item.path, item.source):
        if path and (loose := ground.changeable_part(path)):
            return _(
                "{loose} can be changed by other users, so {path} is not used with administrator rights.",
                loose=loose,
                path=path,
            )
    return ""


def _folder(folder: str, change: FileSet, ground: Ground, back: bool) -> str:
    try:
        safe_folder.split_path(folder)
        inside = [i for i in change.items if lies_inside(safe_folder.split_path(i.path)[0], folder)]
    except ChangeError as e:
        return str(e)
    if not lies_below_base(folder, ground) or not inside or change.unmake != back or ground.changeable_part(folder):
        return _("Convalesce does not create {folder} with administrator rights.", folder=visible_text(folder))
    return ""


def _is_windows_own(folder: str, ground: Ground) -> bool:
    return (
        ground.system == "windows"
        and bool(ground.library_folders())
        and lies_inside(folder, ground.library_folders()[0])
    )


def words(change: Change) -> tuple[str, ...]:
    """Return what the change does, in words made from its data."""
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
