"""A variable of all users: one that hides GPUs is removed, one that names a toolkit names an administrator's folder."""

from __future__ import annotations

import re

from core.common.i18n import _
from core.model.changes import Change, SetVariable
from core.transaction.broker.ground import Ground, everybodys_folder_refusal, visible_text

HIDING_VARIABLES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Variables that hide GPUs: they are removed, never set."""
TOOLKIT_VARIABLE = re.compile(r"CUDA_(?:PATH|HOME|ROOT|PATH_V\d{1,2}_\d{1,2})")
"""Variables that name a toolkit, whose libraries programs load: they name only an administrator's folder."""


def refusal(change: Change, ground: Ground, back: bool) -> str:
    """One that hides GPUs is taken away (or put back); one that names the toolkit names an administrator's folder."""
    assert isinstance(change, SetVariable)
    name = change.name.upper() if ground.system == "windows" else change.name
    if change.scope == "machine" and name in HIDING_VARIABLES and (change.after is None or back):
        return "" if change.after is None or change.after.text.isprintable() else _odd(change)
    if change.scope == "machine" and TOOLKIT_VARIABLE.fullmatch(name):
        return (
            "" if change.after is None else everybodys_folder_refusal(change.after.text, name, ground, back, below=True)
        )
    return _odd(change)


def _odd(change: SetVariable) -> str:
    return _(
        "Convalesce does not set the variable {name} ({scope}) with administrator rights.",
        name=visible_text(change.name),
        scope=change.scope,
    )


def words(change: Change) -> tuple[str, ...]:
    """Return what the change does, in words made from its data."""
    assert isinstance(change, SetVariable)
    if change.after is None:
        return (_("Remove the variable {name} for all users.", name=change.name),)
    return (_("Set the variable {name} for all users to {value}.", name=change.name, value=change.after.text),)
