"""Environment rules: untidy entries are notes; an entry that no loader understands is a warning."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.common.fact_text import fact_text
from core.common.i18n import translate_fact, use_language
from core.model.facts import Environment, Limit, Mark, PathEntry, Snapshot, Start, StartLine
from core.model.steps import Severity
from core.rules import environment
from tests import machines as m

NOTE, WARNING, GOOD = Severity.NOTE, Severity.WARNING, Severity.GOOD


def entry(text: str, *marks: Mark, variable: str = "PATH", windows: bool = False) -> Snapshot:
    """Return a machine with one more entry in a search path."""
    base = m.windows_machine() if windows else m.wheel_machine()
    old = base.environment or Environment()
    added = PathEntry(variable=variable, index=9, text=text, expanded=text, marks=marks, exists="missing" not in marks)
    return replace(base, environment=replace(old, entries=(*old.entries, added)))


def of_a_line(cut: str, *, overridden: bool = False) -> Snapshot:
    """Return a machine with a service whose file sets a variable to a value that a blank ends."""
    row = StartLine(
        name="PYTHONPATH",
        does="set",
        value="/srv/my",
        file="/u/x.service",
        line=5,
        form="systemd",
        cut=cut,
        overridden=overridden,
    )
    return replace(
        m.wheel_machine(), starts=(Start(id="service:/u/x.service", kind="service", at="/u/x.service", lines=(row,)),)
    )


TABLE: dict[str, tuple[Snapshot, str, Severity]] = {
    "duplicate": (entry("/usr/bin", "duplicate"), "environment.untidy-path", NOTE),
    "trailing slash": (entry("/usr/bin/", "trailing slash", "duplicate"), "environment.untidy-path", NOTE),
    "gone": (entry("/opt/gone", "missing"), "environment.untidy-path", NOTE),
    "empty": (entry("", "empty", variable="LD_LIBRARY_PATH"), "environment.untidy-path", NOTE),
    "open to everybody": (entry("/tmp/lib", "writable by others"), "environment.writable-by-others", NOTE),
    "quoted CUDA folder on Windows": (
        entry('"C:\\CUDA\\bin"', "quoted", windows=True),
        "environment.broken-entry",
        WARNING,
    ),
    "unexpanded CUDA folder": (
        entry("%CUDA_PATH%\\bin", "unexpanded", windows=True),
        "environment.broken-entry",
        WARNING,
    ),
    "a value that a blank ends": (of_a_line("libs"), "environment.cut-value", WARNING),
    "tilde before a CUDA folder": (
        entry("~/cuda/lib64", "unexpanded", variable="LD_LIBRARY_PATH"),
        "environment.broken-entry",
        WARNING,
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_one_entry_has_one_finding(name: str) -> None:
    snapshot, wanted, severity = TABLE[name]
    found = [(f.id, f.severity) for rule in environment.RULES for f in rule(snapshot) if f.severity > GOOD]
    assert found == [(wanted, severity)]


def test_a_line_that_is_set_again_or_whole_is_silent() -> None:
    for snapshot in (of_a_line(""), of_a_line("libs", overridden=True)):
        assert not list(environment.cut_values(snapshot))


def test_quoted_folder_that_has_nothing_to_do_with_cuda_is_silent() -> None:
    snapshot = entry('"C:\\Program Files\\Git\\cmd"', "quoted", windows=True)
    assert [f.id for rule in environment.RULES for f in rule(snapshot)] == ["environment.in-order"]


@pytest.mark.parametrize(("most", "severity"), [(2_047, NOTE), (8_191, WARNING), (32_767, WARNING)])
def test_a_path_that_only_old_dialogs_would_cut_is_no_fault(most: int, severity: Severity) -> None:
    base = m.wheel_machine()
    limit = Limit(kind="length", text="PATH is long.", variable="PATH", limit=most)
    snapshot = replace(
        base, environment=replace(base.environment or Environment(), problems=("PATH is long.",), limits=(limit,))
    )
    assert [f.severity for f in environment.exceeded_limits(snapshot)] == [severity]


def test_a_limit_is_told_in_the_readers_language() -> None:
    words = fact_text(
        "The {scope} variable {name} is stored as {kind}, which is no text.", scope="user", name="A", kind="B"
    )
    base = m.wheel_machine()
    seen = replace(base, environment=Environment(limits=(Limit(kind="kind", text=words),)))
    use_language("de")
    try:
        [finding] = environment.exceeded_limits(seen)
        assert finding.title == translate_fact(words) != words
    finally:
        use_language("en")
    assert finding.subject == words[:80]
