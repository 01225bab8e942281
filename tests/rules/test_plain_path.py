r"""PATH of Windows' registry that is stored as plain text: the finding, and the change of its kind."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from core.fixes.catalogue import changes_of
from core.model.changes import SetVariable, Value
from core.model.facts import (
    Closure,
    Consumer,
    Edge,
    Environment,
    LibraryFile,
    Machine,
    PythonEnvironment,
    Snapshot,
    Toolkit,
    Variable,
)
from core.model.steps import Severity
from core.rules.environment import exceeded_limits, path_as_plain_text
from core.rules.root_cause import diagnose

CUDA = Variable(name="CUDA_PATH", value=r"C:\cuda\v12.4", scope="machine", kind="REG_SZ")
TEXT = r"C:\tools;%CUDA_PATH%\bin"


def machine(text: str, kind: str, session: str | None = None) -> Snapshot:
    """Return a machine whose session got the PATH of the registry as it is written, or another one."""
    path = Variable(name="Path", value=text, scope="user", kind=kind, source=r"HKCU\Environment")
    own = Variable(name="PATH", value=text if session is None else session, scope="process")
    return Snapshot(machine=Machine(system="windows"), environment=Environment(variables=(CUDA, path, own)))


@pytest.mark.parametrize(
    ("text", "kind", "count"),
    [(TEXT, "REG_SZ", 1), (TEXT, "REG_EXPAND_SZ", 0), (r"C:\tools", "REG_SZ", 0), (r"C:\%NOTHING%\bin", "REG_SZ", 0)],
    ids=["plain", "replaced", "without a variable", "a variable that is not set"],
)
def test_variables_in_a_plain_path_are_told(text: str, kind: str, count: int) -> None:
    found = list(path_as_plain_text(machine(text, kind)))
    assert len(found) == count
    assert all((f.evidence[0].label, f.evidence[0].value) == (r"%CUDA_PATH%\bin", r"C:\cuda\v12.4\bin") for f in found)
    assert not list(exceeded_limits(machine(text, kind)))


def test_what_windows_replaced_in_this_session_is_no_fault() -> None:
    assert not list(path_as_plain_text(machine(TEXT, "REG_SZ", r"C:\tools;C:\cuda\v12.4\bin")))


def test_the_cure_changes_the_kind_alone_and_can_be_undone() -> None:
    seen = machine(TEXT, "REG_SZ")
    (found,) = path_as_plain_text(seen)
    assert found.remedy is not None
    (change,) = changes_of(found.remedy, seen)
    assert isinstance(change, SetVariable)
    assert (change.before, change.after) == (Value(text=TEXT, kind="REG_SZ"), Value(text=TEXT, kind="REG_EXPAND_SZ"))
    assert change.inverse().after == change.before


def test_it_is_the_cause_of_what_its_folder_has_and_a_framework_does_not_find() -> None:
    file = LibraryFile(name="cublas64_12.dll", path=r"C:\cuda\v12.4\bin\cublas64_12.dll", state="good")
    toolkit = Toolkit(root=r"C:\cuda\v12.4", folder=r"C:\cuda\v12.4\bin", origin="installer", libraries=(file,))
    consumer = Consumer(id=r"python:C:\ml", kind="python", label="ml", prefix=r"C:\ml", framework="ctranslate2 4.8.5")
    edge = Edge(name="cublas64_12.dll", wanted_by="ctranslate2.dll", state="absent", by_name=True)
    seen = replace(
        machine(TEXT, "REG_SZ"),
        toolkits=(toolkit,),
        pythons=(PythonEnvironment(prefix=r"C:\ml", found_by="--python"),),
        closures=(Closure(consumer=consumer, edges=(edge,)),),
    )
    (found,) = path_as_plain_text(seen)
    assert (found.severity, found.cause) == (Severity.ERROR, "cuda_not_on_search_path")
    told = diagnose(seen)
    assert [f.id for f in told if f.primary] == ["environment.plain-path"]
