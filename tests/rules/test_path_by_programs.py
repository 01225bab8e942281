r"""PATH on Windows that start-up code or a program changes by itself."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.model.facts import (
    Closure,
    Consumer,
    Distribution,
    Edge,
    ImportSearch,
    Opening,
    Snapshot,
    Start,
    StartCode,
)
from core.model.findings import Finding
from core.model.steps import Severity
from core.rules.frameworks.start_code import path_by_start_code
from core.rules.own_path import with_own_path
from core.rules.wording import make_finding
from tests import machines as m

PREFIX = "C:\\ml"
CODE = PREFIX + "\\Lib\\site-packages\\sitecustomize.py"


def machine(sets: tuple[tuple[str, str], ...], number: int | None, *edges: Edge) -> Snapshot:
    its = m.python(
        prefix=PREFIX,
        executable=PREFIX + "\\Scripts\\python.exe",
        distributions=(Distribution(name="ctranslate2", version="4.8.5", location=PREFIX),),
    )
    consumer = Consumer(id=f"python:{PREFIX}", kind="python", label="ml", prefix=PREFIX, framework="ctranslate2 4.8.5")
    opening = Opening(library="cublas64_12.dll", problem="126" if number else "", number=number)
    seen = m.wheel_machine()
    return replace(
        seen,
        machine=replace(seen.machine, system="windows"),
        pythons=(its,),
        imports=(ImportSearch(prefix=PREFIX, start_code=(StartCode(source=CODE, sets=sets),)),),
        closures=(Closure(consumer=consumer, edges=edges, openings=(opening,)),),
    )


@pytest.mark.parametrize(
    ("sets", "number", "edges", "told"),
    [
        ((("PATH", "C:\\Windows"),), 126, (), True),
        ((("PATH", "C:\\Windows"),), None, (), False),
        ((("OTHER", "C:\\Windows"),), 126, (), False),
        ((("PATH", "C:\\Windows"),), 127, (), False),
        ((("PATH", "C:\\Windows"),), 126, (Edge(name="cublas64_12.dll", wanted_by="x.dll", state="absent"),), False),
    ],
)
def test_start_up_code_that_replaces_path(
    sets: tuple[tuple[str, str], ...], number: int | None, edges: tuple[Edge, ...], told: bool
) -> None:
    found = list(path_by_start_code(machine(sets, number, *edges)))
    assert [(f.cause, f.subject) for f in found] == ([("process_env_not_inherited", CODE)] if told else [])


def about(prefix: str, cause: str = "cuda_not_on_search_path") -> Finding:
    made = make_finding("frameworks.x", Severity.ERROR, "x", cause=cause, subject=prefix)
    return replace(made, consumers=(f"python/ctranslate2:{prefix}",))


@pytest.mark.parametrize(
    ("finding", "open_ones", "severity"),
    [
        (about(PREFIX), ("Path",), Severity.NOTE),
        (about(PREFIX), (), Severity.ERROR),
        (about("C:\\other"), ("Path",), Severity.ERROR),
        (about(PREFIX, "cuda_runtime_missing"), ("Path",), Severity.ERROR),
    ],
)
def test_a_program_that_changes_path_by_itself(
    finding: Finding, open_ones: tuple[str, ...], severity: Severity
) -> None:
    at = "C:\\project\\train.py"
    start = Start(id=f"script:{at}", kind="script", at=at, prefix=PREFIX, open=open_ones)
    [told] = with_own_path([finding], replace(machine((), None), starts=(start,)))
    assert told.severity is severity
    assert (at in [e.value for e in told.evidence]) is (severity is Severity.NOTE)
