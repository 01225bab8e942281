"""The window's texts on each step: its name, and two lines for newcomers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.common.i18n import N_, _, n_
from core.model.steps import Severity, Step

if TYPE_CHECKING:
    from core.model.changes import EditPath, SetVariable
    from core.model.findings import Fix, Report


def step_title(step: Step) -> str:
    """Return the name of a step."""
    return {
        Step.DRIVER: _("Driver"),
        Step.TOOLKIT: _("CUDA toolkit"),
        Step.CUDNN: _("cuDNN"),
        Step.ENVIRONMENT: _("Environment"),
        Step.FRAMEWORKS: _("Python frameworks"),
        Step.BENCHMARK: _("GPU benchmark"),
    }[step]


def what_is_this(step: Step) -> str:
    """Return two plain sentences for somebody to whom the step's subject is new."""
    return {
        Step.DRIVER: _(
            "The driver is NVIDIA's part of the operating system: without it no program can use the GPU. "
            "It also sets the newest CUDA version that programs here can use."
        ),
        Step.TOOLKIT: _(
            "Programs use the CUDA libraries to compute on the GPU. Most Python frameworks include their "
            "own; an installed toolkit matters to programs that do not."
        ),
        Step.CUDNN: _(
            "cuDNN is NVIDIA's library for neural networks: a main file that opens several others when it "
            "needs them. One missing or foreign file among them is enough to stop a training run."
        ),
        Step.ENVIRONMENT: _(
            "Variables such as PATH tell programs which folders to search for libraries, and in which order. "
            "The first file of the right name is used, even if a better one comes later."
        ),
        Step.FRAMEWORKS: _(
            "PyTorch, TensorFlow and similar frameworks live in Python environments, each with its own "
            "libraries. Every environment that was found is examined from the outside; nothing in it changes."
        ),
        Step.BENCHMARK: _(
            "A convolution on the GPU proves that everything works together. Its speed shows whether the GPU "
            "performs as it should."
        ),
    }[step]


def step_verdict(report: Report, step: Step) -> tuple[Severity, str]:
    """Return a step's severity, and one plain sentence about it."""
    from core.report.standing import step_standing  # imported late: the window appears before there is a report

    return step_standing(report, step)


def in_place(report: Report) -> bool:
    """Whether a GPU is usable on this machine."""
    from core.report.standing import in_place

    return in_place(report)


def machine_standing(report: Report) -> Severity:
    """Return the severity of the whole machine."""
    from core.report.standing import machine_standing

    return Severity.GOOD if in_place(report) else machine_standing(report)


def shown_steps() -> tuple[Step, ...]:
    """Return the steps that have their own page, in order."""
    return tuple(Step)


def fix_verb(fix: Fix) -> str:
    """Return the text of a fix's button, in a few words: "Add folder to PATH"."""
    # imported late: the window appears before there is a fix
    from core.model.changes import EditLine, ExchangePackages, FileSet, SetVariable
    from core.model.system_steps import SystemStep

    first = fix.changes[0]
    if isinstance(first, FileSet):
        items = [i for c in fix.changes if isinstance(c, FileSet) for i in c.items]
        placed = sum(bool(i.after) for i in items)
        if placed:
            return n_("Place {n} file", "Place {n} files", placed)
        return n_("Quarantine {n} file", "Quarantine {n} files", len(items))
    if isinstance(first, SystemStep):
        return _(STEP_VERBS[first.kind])
    if isinstance(first, EditLine):
        return _("Edit {file}", file=first.path.rsplit("/", 1)[-1])
    if isinstance(first, ExchangePackages):
        return _("Repair the packages")
    if isinstance(first, SetVariable) and first.scope == "environment" and first.after is not None:
        steps = first.after.text
        if steps.startswith(("set ", "unset")):
            return _("Set {name}", name=first.name) if steps.startswith("set ") else _("Remove {name}", name=first.name)
    if edit := _edit(first):
        name = "PATH" if first.name.upper() == "PATH" else first.name
        return _of_search_path(edit, len(fix.changes), name)
    return _("Remove {name}", name=first.name) if first.after is None else _("Set {name}", name=first.name)


STEP_VERBS: dict[str, str] = {
    "library-folder": N_("Add folder for libraries"),
    "device-group": N_("Add user to group"),
    "reload-uvm": N_("Reload nvidia_uvm"),
    "nouveau-off": N_("Turn off nouveau"),
    "cdi": N_("Write CDI specification"),
    "short-path": N_("Create plain path"),
}
"""What the button of each system step does, in a few words."""


def _edit(change: SetVariable | EditPath) -> str:
    """Return "add", "drop" or "move" for an edit of a search path, empty for another change."""
    from core.model.changes import EditPath

    if isinstance(change, EditPath):
        return "add" if change.old is None else "drop" if change.new is None else "move"
    if change.scope == "environment" and change.after is not None:
        return "drop" if change.after.text.startswith("drop") else "add"
    return ""


def _of_search_path(edit: str, count: int, name: str) -> str:
    if edit == "drop" and count > 1:
        return _("Remove {n} entries from {name}", n=count, name=name)
    if edit == "drop":
        return _("Remove a folder from {name}", name=name)
    return _("Add folder to {name}", name=name) if edit == "add" else _("Change the order of {name}", name=name)
