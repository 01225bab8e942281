"""What may be done with an administrator's rights: a closed list of kinds of change, each with its conditions. A plan
is judged by the state of the machine afterwards, never by the form of its names: who owns the folder and every folder
above it, and who else could change it. The predicates ask a ``Ground`` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from core.model.changes import Change, EditLine, EditPath, ExchangePackages, FileSet, SetVariable
from core.model.system_steps import STEP_KINDS, SystemStep
from core.transaction.broker import files, lines, packages, search_paths, system_steps, variables
from core.transaction.broker.ground import Ground, visible_text


@dataclass(frozen=True)
class ChangeKind:
    """A kind of change that is made with an administrator's rights, and its conditions."""

    name: str
    """Also the suffix of polkit's action and of the command-line option."""
    of: Callable[[Change], bool]
    refusal: Callable[[Change, Ground, bool], str]
    """(change, ground, back) -> a sentence, or an empty text if the change is allowed; ``back``: it undoes another change."""
    words: Callable[[Change], tuple[str, ...]]
    """What the change does, in words that the plan cannot influence."""


def refusal_sentences(changes: tuple[Change, ...], ground: Ground, *, back: bool = False) -> tuple[str, ...]:
    """Return a sentence for each change that is not made with an administrator's rights."""
    return tuple(row for change in changes if (row := kind_of(change).refusal(change, ground, back)))


def kind_of(change: Change) -> ChangeKind:
    """Return the kind that a change is of."""
    return next((kind for kind in CHANGE_KINDS if kind.of(change)), NEVER)


def consent_action(changes: tuple[Change, ...], *, back: bool = False) -> str:
    """Return the name of what the person is asked to allow: the plan's kind, "changes" for several, or "undo"."""
    kinds = {kind_of(change).name for change in changes}
    return "undo" if back else kinds.pop() if len(kinds) == 1 else "changes"


def describe_changes(changes: tuple[Change, ...]) -> tuple[str, ...]:
    """Return what the changes do, a sentence each, made from data alone: no title of the plan is in it."""
    return tuple(visible_text(row) for change in changes for row in kind_of(change).words(change))


def _is_step(kind: str, change: Change) -> bool:
    return isinstance(change, SystemStep) and change.kind == kind


NEVER = ChangeKind("packages", lambda c: isinstance(c, ExchangePackages), packages.refusal, packages.words)
"""What is never changed with an administrator's rights."""
CHANGE_KINDS = (
    ChangeKind(
        "search-path",
        lambda c: isinstance(c, EditPath) and c.new is not None,
        search_paths.enter_refusal,
        search_paths.enter_words,
    ),
    ChangeKind("search-path", lambda c: isinstance(c, EditPath), search_paths.leave_refusal, search_paths.leave_words),
    ChangeKind("variable", lambda c: isinstance(c, SetVariable), variables.refusal, variables.words),
    ChangeKind("line", lambda c: isinstance(c, EditLine), lines.refusal, lines.words),
    ChangeKind("files", lambda c: isinstance(c, FileSet), files.refusal, files.words),
    *(
        ChangeKind(f"system-{kind}", partial(_is_step, kind), system_steps.refusal, system_steps.words)
        for kind in STEP_KINDS
        if kind != "short-path"
    ),
    ChangeKind(
        "system-step", lambda c: isinstance(c, SystemStep), system_steps.refusal, system_steps.words
    ),  # none that is allowed
)
"""Every kind. A new one is a row here, in docs/security.md, in polkit's policy and in the fuzzer."""
