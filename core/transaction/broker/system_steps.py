"""A step of Linux itself: a folder of its loader, a group of its users, its drivers' modules."""

from __future__ import annotations

import re

from core.common.i18n import _
from core.model.changes import Change
from core.model.system_steps import SystemStep, step_words
from core.transaction.broker.ground import Ground, everybodys_folder_refusal, lies_below_base, visible_text

DEVICE_GROUPS = ("video", "render")
"""Groups to which a user may be added: those of device files, and none with further rights (never disk, docker, sudo)."""
USER_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}", re.ASCII)
"""useradd(8); what begins with a hyphen or holds a colon would be another argument or row."""
FIRST_PERSON = 1000
"""First number of a person's account (UID_MIN of login.defs(5)); service accounts are added to no group."""
NOBODY = 65534
"""The number of the account nobody."""


def refusal(change: Change, ground: Ground, back: bool) -> str:
    """Each kind with the arguments that it takes and no other, on Linux; a short path needs no administrator."""
    assert isinstance(change, SystemStep)
    odd = _("Convalesce does not carry out the plan's system step with administrator rights.")
    if ground.system != "linux" or change.kind == "short-path" or change.before == change.after:
        return odd
    if (change.after == "absent") != back:
        return odd
    if change.kind == "library-folder":
        if change.value:
            return odd
        return everybodys_folder_refusal(change.subject, "ld.so.conf.d", ground, back) or _not_for_the_loader(
            change, ground
        )
    if change.kind == "device-group":
        known = USER_NAME.fullmatch(change.subject) and change.value in DEVICE_GROUPS
        person = ground.account_number(change.subject)
        if not known or (not back and (person < FIRST_PERSON or person == NOBODY)):
            return _(
                "Convalesce does not add {user} to the group {group} with administrator rights.",
                user=visible_text(change.subject),
                group=visible_text(change.value),
            )
        return ""
    return odd if change.subject or change.value else ""


def _not_for_the_loader(change: SystemStep, ground: Ground) -> str:
    if lies_below_base(change.subject, ground):
        return ""
    return _("Convalesce does not change {folder} with administrator rights.", folder=visible_text(change.subject))


def words(change: Change) -> tuple[str, ...]:
    """Return what the change does, in words made from its data."""
    assert isinstance(change, SystemStep)
    return (step_words(change),)
