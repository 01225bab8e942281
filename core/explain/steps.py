"""What to do about a cause: the steps that the text itself chooses first, then those of the cause's help page, then how to see that it worked."""

from __future__ import annotations

import re

from msgspec import structs

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.explain.model import RankedCause
from core.explain.ranking import conditions_hold
from core.knowledge.modules import distribution_of
from core.knowledge.steps import CureStep, cure_steps
from core.report.help_pages import cure_text

OF_A_PACKAGE = frozenset({"package_for_another_python", "extension_abi_mismatch", "requirement_broken"})
"""Causes whose message can name the package that the cure is about."""
_PLACEHOLDER = re.compile(r"\b(?:NAME|PACKAGE|PAKET)\b")
SYSTEMS = frozenset({"linux", "windows", "wsl", "ubuntu", "container"})
"""Marks that say where a program runs, not what failed."""
_PACKAGE = late_pattern(
    r"no matching distribution found for ([\w-]{2,40})|satisfies the requirement ([\w-]{2,40})|\b([\w]{2,40})-\d[^\s/\\]{0,80}\.whl is not a supported wheel"
    r"|site-packages[/\\](\w{2,40})[/\\][^\n]{1,120}undefined symbol|\b(flash_attn)_2_cuda\b"
    r"|cannot import name '\w{1,80}' from (?:partially initialized module )?'([\w.]{2,80})'|module '([\w.]{2,80})' has no attribute",
    re.IGNORECASE,
)
"""Texts that name the package that a cure is about."""
_ITEM = re.compile(r"(?:\d{1,3}\.|-) ")


def with_steps(r: RankedCause, marks: frozenset[str] = frozenset(), text: str = "") -> RankedCause:
    """Add steps for a cause without a finding: for the messages, frameworks, systems and packages in the text, and how to
    check success.
    """
    told = r.because or r.by_words or r.may or r.verdict == "proved"
    if r.verdict == "refuted" or not told or (r.finding and r.finding.fix):
        return r
    known = cure_steps()
    exact = [s for s in known.steps if s.cause == r.cause and conditions_hold(s.when, marks)]
    first = [_(s.step) for s in exact if _is_of_message(s)]
    rest = [_(s.step) for s in exact if not _is_of_message(s)]
    check = next((_(text) for cause, text in known.checks.items() if cause == r.cause), "")
    chosen, page = _page(r.cause, marks, bool(first))
    steps = "\n".join(part for part in (*chosen, *first, *page, *rest, check) if part)
    package = next((name for m in _PACKAGE.finditer(text) for name in m.groups() if name), "")
    return structs.replace(
        r, steps=_PLACEHOLDER.sub(distribution_of(package), steps) if package and r.cause in OF_A_PACKAGE else steps
    )


def _is_of_message(step: CureStep) -> bool:
    """Whether something that the text says chooses the step, not only its system."""
    return any(not part.startswith("!") and SYSTEMS.isdisjoint(part.split("|")) for part in step.when)


def _page(cause: str, marks: frozenset[str], has_own: bool) -> list[list[str]]:
    """Return the steps of a cause's page: those for the text's message, and the rest.

    A step for the other system goes; if the text's message has a step, here or elsewhere (``has_own``), those for other messages go, too.
    """
    lines = [line for line in cure_text(cause).split("\n") if line]
    only = {row.item: row for row in cure_steps().only if row.cause == cause}
    fits = [at for at in range(1, len(lines) + 1) if at not in only or _is_of_system(only[at].system, marks)]
    first = [at for at in fits if at in only and conditions_hold(only[at].when, marks)]
    rest = [at for at in fits if at not in first and not ((first or has_own) and at in only)]
    number = {at: f"{n}. " if _ITEM.match(lines[at - 1]) else "" for n, at in enumerate((*first, *rest), 1)}
    return [[number[at] + _ITEM.sub("", lines[at - 1], count=1) for at in part] for part in (first, rest)]


def _is_of_system(system: str, marks: frozenset[str]) -> bool:
    """Whether a step for a system ("": any) is for the text's, or for one of those that the text leaves open."""
    windows = "windows" in marks and "wsl" not in marks
    return not (system == "linux" and windows) and not (system == "windows" and "linux" in marks and not windows)
