"""Names that a text asks for and that later releases of their package no longer have, and what to do about each."""

from __future__ import annotations

from core.common.i18n import _
from core.common.late_pattern import late_pattern
from core.knowledge.modules import NOT_ON_WINDOWS, GivenUp, given_up, method_given_up
from core.knowledge.numpy_names import row_of

_ASKED = late_pattern(
    r"(?i)cannot import name '(?P<name>\w{1,80})' from '(?P<of>[\w.]{2,80})'|module '(?P<module>[\w.]{2,80})' has no attribute '(?P<part>\w{1,80})'"
    r"|\bno module named '?(?P<whole>[\w.]{2,80})|'(?P<class>\w{2,60})' object has no attribute '(?P<method>\w{1,80})'",
)
"""Python's own sentences about what it does not find."""


def names_given_up(text: str) -> tuple[GivenUp, ...]:
    """Return what is known of the names that Python did not find, in the order of the text."""
    found = {}
    for m in _ASKED.finditer(text):
        if m["class"]:
            row = method_given_up(m["class"], m["method"])
        else:
            name = m["whole"] or f"{m['of'] or m['module']}.{m['name'] or m['part']}"
            row = given_up(name) or row_of(name)
        if row and row.last != NOT_ON_WINDOWS:
            found[row.name] = row
    return tuple(found.values())


def step_of(row: GivenUp) -> str:
    """Return what to do where a program or a package asks for a name that was given up."""
    package, _sign, release = row.last.partition("<")
    name = "Python" if package == "python" else package
    return " ".join(
        (
            _("{name} was removed in {package} {release}.", name=row.name, package=name, release=release),
            _("In your own program, write {name}.", name=row.now) if row.now else "",
            _("If a package asks for it (the traceback names its file), upgrade that package.")
            if row.now
            else _("Upgrade the package whose file asks for it: the traceback names it."),
            _("If there is no newer release, take a Python before {release}.", release=release)
            if package == "python"
            else _('If there is no newer release: python -m pip install "{requirement}".', requirement=row.last),
        )
    ).replace("  ", " ")
