"""The grid of environments and frameworks as text."""

from __future__ import annotations

from core.common.i18n import _, translate_fact
from core.common.text import join_names
from core.common.text_width import TEXT_WIDTH
from core.model.findings import CompatibilityGrid, Verdict

VERDICT_MARKS: dict[Verdict, str] = {
    "runs": "✓",
    "should run": "+",
    "cpu only": "·",
    "cannot run": "✗",
    "not decided": "?",
}
"""A symbol for each verdict in addition to its word: never a colour alone."""


def verdict_word(verdict: Verdict) -> str:
    """Return a cell's verdict in words that stand alone."""
    return {
        "runs": _("runs on the GPU"),
        "should run": _("should run on the GPU"),
        "cpu only": _("processor only"),
        "cannot run": _("cannot run on the GPU"),
        "not decided": _("not decided"),
    }[verdict]


def environment_choices(made: CompatibilityGrid) -> tuple[tuple[str, str], ...]:
    """Return in words, for each framework that is installed, the environment to use."""
    best = dict(made.best)
    return tuple((column, best.get(column) or _("none is known to use the GPU")) for column in made.columns)


def as_lines(made: CompatibilityGrid) -> list[str]:
    """Return the grid for a terminal: one line for each framework of each environment; those without any are counted."""
    lines: list[str] = []
    for row in made.rows:
        if row.cells:
            lines.append(
                f"  {row.prefix}  (Python {row.python or _('unknown')}, {translate_fact(row.kind)}; {translate_fact(row.found_by)})"
            )
            for c in row.cells:
                reason = _without_place(c.reason, row.prefix)
                words = (
                    f"    {VERDICT_MARKS[c.verdict]} {c.distribution} {c.version}: {verdict_word(c.verdict)}. {reason}"
                )
                lines.append(words if len(words) <= 2 * TEXT_WIDTH else words[: 2 * TEXT_WIDTH - 3] + "...")
    empty = [r for r in made.rows if not r.cells]
    if empty:
        names = join_names((r.prefix for r in empty), 6)
        lines.append("  " + _("{count} more without a framework: {names}", count=len(empty), names=names))
    if made.columns:
        lines.append("  " + _("Which one to use:"))
        lines += [f"    {framework}: {where}" for framework, where in environment_choices(made)]
    if any(c.verdict == "should run" for r in made.rows for c in r.cells):
        lines.append("  " + _('("Should" means that nothing was run; to run it, add --try with --python PATH.)'))
    return lines


def _without_place(reason: str, prefix: str) -> str:
    """Return a reason without the environment's name, which is already in the line above."""
    return reason.replace(f" in {prefix}", "")
