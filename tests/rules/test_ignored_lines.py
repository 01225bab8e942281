"""Lines that their reader ignores: told beside what is not found because of them, and nowhere else."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, Snapshot, Start, StartLine
from core.model.facts.starting import LineForm
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.ignored_lines import with_ignored_lines
from core.rules.wording import concern_row, make_finding
from tests.machines import PREFIX, python, wheel_machine

FILE = "/srv/serve.env"


def machine(name: str = "LD_LIBRARY_PATH", form: LineForm = "assignments") -> Snapshot:
    row = StartLine(name=name, does="set", value="/opt/lib", file=FILE, line=2, form=form, overridden=form != "systemd")
    start = Start(id="service:x", kind="service", at="/u/serve.service", prefix=PREFIX, ignored=(row,))
    return replace(wheel_machine(), starts=(start,))


def lacking(cause: str, *ways: str) -> Finding:
    its = python(distributions=(Distribution(name="torch", version="2.6.0"),))
    row = concern_row(its.consumer("torch 2.6.0"))
    made = make_finding("frameworks.x", Severity.ERROR, "It lacks a library.", cause=cause, evidence=[row])
    return replace(made, ways=ways)


@pytest.mark.parametrize(
    ("finding", "name", "told"),
    [
        (lacking("cuda_not_on_search_path"), "LD_LIBRARY_PATH", True),
        (lacking("cuda_not_on_search_path", "service:x"), "LD_LIBRARY_PATH", True),
        (lacking("cuda_not_on_search_path", "process"), "LD_LIBRARY_PATH", False),
        (lacking("cuda_not_on_search_path"), "OMP_NUM_THREADS", False),
        (lacking("corrupt_or_truncated_file"), "LD_LIBRARY_PATH", False),
        (lacking("libdevice_not_found"), "XLA_FLAGS", True),
    ],
    ids=["everywhere", "in the service", "in this session alone", "another variable", "another cause", "a flag"],
)
def test_what_is_not_found_says_which_line_has_no_effect(finding: Finding, name: str, told: bool):
    (made,) = with_ignored_lines([finding], machine(name))
    assert any(e.source == f"{FILE}:2" for e in made.evidence) is told
    assert (FILE in made.why) is told
    assert (made.fix is not None and FILE in made.fix.title) is told


@pytest.mark.parametrize(
    ("form", "words"),
    [("assignments", "without export"), ("posix", "a shell of its own"), ("systemd", "are not expanded")],
)
def test_it_says_why_the_line_has_no_effect(form: LineForm, words: str):
    (made,) = with_ignored_lines([lacking("cuda_not_on_search_path")], machine(form=form))
    assert words in made.why


def test_a_step_of_an_image_is_told_to_be_env():
    row = StartLine(
        name="LD_LIBRARY_PATH",
        does="set",
        value="/opt/lib",
        file="/w/Dockerfile",
        line=2,
        form="posix",
        overridden=True,
    )
    start = Start(id="task:x", kind="task", at="/w/Dockerfile", prefix=PREFIX, ignored=(row,))
    (made,) = with_ignored_lines([lacking("cuda_not_on_search_path")], replace(wheel_machine(), starts=(start,)))
    assert made.fix is not None
    assert (made.fix.title, "ENV LD_LIBRARY_PATH" in str(made.fix)) == (
        "Write ENV instead of RUN export in line 2 of /w/Dockerfile",
        True,
    )


@pytest.mark.parametrize(
    ("name", "form", "says"),
    [
        ("PATH ", "cmd", "with the blank in its name"),
        ("PATH", "cmd", "no such command"),
        ("OMP_NUM_THREADS ", "cmd", ""),
        ("PATH", "powershell", "asks for $env:PATH ="),
    ],
)
def test_a_line_that_a_shell_of_windows_reads_otherwise_leaves_the_cure_as_it_is(name: str, form: LineForm, says: str):
    finding = lacking("cuda_not_on_search_path")
    (made,) = with_ignored_lines([finding], machine(name, form))
    assert made.fix == finding.fix
    assert says in made.why
    assert any(e.source == f"{FILE}:2" for e in made.evidence) is bool(says)
