"""Files of variables that are gone: told where nothing starts without them, and beside what is not found."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import Distribution, FrameworkBuild, Frameworks, GoneFile, Snapshot, Start, StartKind
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.gone_files import files_that_end_the_start, with_gone_files
from core.rules.wording import concern_row, make_finding
from tests.machines import PREFIX, python, wheel_machine

GONE = GoneFile(path="/srv/serve.env", file="/u/serve.service", line=4, beside=("/srv/serve.env.bak",))


def machine(*, ends: bool, kind: StartKind = "service", prefix: str = PREFIX) -> Snapshot:
    start = Start(id=f"{kind}:x", kind=kind, at="/u/serve.service", prefix=prefix, gone=(replace(GONE, ends=ends),))
    own = python(distributions=(Distribution(name="torch", version="2.6.0"),))
    build = FrameworkBuild(prefix=PREFIX, distribution="torch", version="2.6.0", cuda="12.4")
    return replace(wheel_machine(), pythons=(own,), frameworks=Frameworks(builds=(build,)), starts=(start,))


@pytest.mark.parametrize(
    ("ends", "kind", "prefix", "told"),
    [
        (True, "service", PREFIX, True),
        (True, "script", PREFIX, True),
        (False, "service", PREFIX, False),
        (True, "terminal", PREFIX, False),
        (True, "service", "", False),
    ],
)
def test_nothing_starts_without_it(ends: bool, kind: StartKind, prefix: str, told: bool):
    found = list(files_that_end_the_start(machine(ends=ends, kind=kind, prefix=prefix)))
    assert [(f.severity, f.cause, f.ways) for f in found] == (
        [(Severity.ERROR, "process_env_not_inherited", (f"{kind}:x",))] if told else []
    )
    for one in found:
        assert {("/srv/serve.env", "/u/serve.service:4"), ("/srv/serve.env.bak", "/srv/serve.env")} <= {
            (e.value, e.source) for e in one.evidence
        }


def lacking(cause: str, *ways: str) -> Finding:
    its = python(distributions=(Distribution(name="torch", version="2.6.0"),))
    row = concern_row(its.consumer("torch 2.6.0"))
    made = make_finding("frameworks.x", Severity.ERROR, "It lacks a library.", cause=cause, evidence=[row])
    return replace(made, ways=ways)


@pytest.mark.parametrize(
    ("finding", "told"),
    [
        (lacking("cuda_not_on_search_path"), True),
        (lacking("cuda_not_on_search_path", "service:x"), True),
        (lacking("cuda_not_on_search_path", "process"), False),
        (lacking("corrupt_or_truncated_file"), False),
    ],
    ids=["everywhere", "in the service", "in this session alone", "another cause"],
)
def test_what_is_not_found_says_which_file_is_gone(finding: Finding, told: bool):
    (made,) = with_gone_files([finding], machine(ends=False))
    assert any(e.value == "/srv/serve.env" for e in made.evidence) is told
