"""System steps: changes that the system's own tools make, as compare-and-set data. A plan cannot choose the program."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from core.common.i18n import _
from core.model.facts import Frozen

StepKind = Literal["library-folder", "device-group", "reload-uvm", "nouveau-off", "cdi", "short-path"]
"""library-folder: a folder in ld.so.conf.d, then ldconfig. device-group: a user's membership in the group of the device files.
reload-uvm: nvidia_uvm unloaded and loaded again. nouveau-off: a file in modprobe.d. cdi: the container toolkit's specification
rewritten. short-path: a link (Windows: a junction) with a plain name to a folder."""
STEP_KINDS: tuple[StepKind, ...] = get_args(StepKind)

StepState = Literal["absent", "present"]
"""What is compared and set. Of "reload-uvm" and "cdi", which leave nothing to undo: whether it was done."""

TAKES_EFFECT_LATER: tuple[StepKind, ...] = ("device-group", "nouveau-off", "cdi", "short-path")
"""Kinds that take effect only after a sign-in, a restart of the computer or a container, or a start by the plain path:
a scan from this session cannot see them, so none is called verified."""


class SystemStep(Frozen, frozen=True, kw_only=True, tag_field="change", tag="system"):
    """One step of the system's own tools: what it is about, the state that it expects, and the one that it leaves."""

    kind: StepKind
    subject: str = ""
    """The folder, the user, or the link's own path."""
    value: str = ""
    """The group, or the folder that the link leads to."""
    before: StepState = "absent"
    after: StepState = "present"

    def inverse(self) -> SystemStep:
        """Return the step that undoes this one."""
        return msgspec.structs.replace(self, before=self.after, after=self.before)

    def lines(self) -> tuple[str, ...]:
        """Return the preview: what is done, or undone."""
        return (f"{'+' if self.after == 'present' else '-'} {step_words(self)}",)


def take_effect_later(changes: Iterable[object]) -> bool:
    """Whether all changes are of such a kind."""
    return all(isinstance(c, SystemStep) and c.kind in TAKES_EFFECT_LATER for c in changes)


def step_words(step: SystemStep) -> str:
    """Return what a step does, in a sentence that is made from data alone."""
    at, value, on = step.subject, step.value, step.after == "present"
    match step.kind:
        case "library-folder":
            if on:
                return _(
                    "Let the loader find libraries in {folder} (a file in /etc/ld.so.conf.d, then ldconfig).", folder=at
                )
            return _("Remove {folder} from the loader's folders again (ld.so.conf.d, then ldconfig).", folder=at)
        case "device-group":
            if on:
                return _("Add the user {user} to the group {group}.", user=at, group=value)
            return _("Remove the user {user} from the group {group} again.", user=at, group=value)
        case "reload-uvm":
            if on:
                return _("Unload the kernel module nvidia_uvm and load it again, if no program uses it.")
            return _("Nothing: the reloaded module stays loaded.")
        case "nouveau-off":
            if on:
                return _("Keep the driver nouveau from loading (a file in /etc/modprobe.d).")
            return _("Let the driver nouveau load again (removes the file from /etc/modprobe.d).")
        case "cdi":
            if on:
                return _(
                    "Regenerate the container toolkit's specification: nvidia-ctk cdi generate, into /etc/cdi/nvidia.yaml."
                )
            return _("Restore the container toolkit's previous specification.")
        case "short-path":
            if on:
                return _("Create {link}, which leads to {folder}.", link=at, folder=value)
            return _("Remove {link}, which leads to {folder}.", link=at, folder=value)
