"""Verified is what a look in each way of starting a program shows, and no more."""

from __future__ import annotations

import os
import shutil
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.doctor.verify import ACTIVATION_SCRIPT, verification_sentences, verify
from core.host.activation_scripts import ACTIVATION_KIND
from core.host.interface import CompletedProcess, Host
from core.host.this_host import this_host
from core.host.with_environment import HostWithEnvironment
from core.model.changes import Change, SetVariable, Value
from core.model.facts import Machine, ProbeError, PythonEnvironment, Renewal, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.transaction.execute import VerifiedFor
from core.transaction.session_host import NewSessionHost
from core.transaction.variable_store import LinuxVariables
from tests.host.fake import FakeHost

FAULT = Finding(id="a.b", cause="c", step=Step.CUDNN, severity=Severity.ERROR, title="It is broken.", subject="/x")
BAD, GOOD = {"LD_LIBRARY_PATH": "/bad"}, {"LD_LIBRARY_PATH": "/good"}
STEPS = SetVariable(
    name="LD_LIBRARY_PATH", scope="environment", at="/v", after=Value(text="drop /bad", kind=ACTIVATION_KIND)
)
KEPT = SetVariable(name="LD_LIBRARY_PATH", scope="user", at="/f", before=Value(text="/bad"), after=Value(text="/good"))


def report(*findings: Finding, prefix: str = "/v") -> Report:
    its = (PythonEnvironment(prefix=prefix, kind="venv", found_by="--python"),)
    return Report(snapshot=Snapshot(machine=Machine(system="linux"), pythons=its), findings=findings)


class Looks:
    """An examination that finds the fault wherever the bad folder is on the path; it keeps what it was asked."""

    def __init__(self, after: Report | None = None) -> None:
        self.hosts: list[Host] = []
        self.after = after or report()

    def __call__(self, host: Host) -> Report:
        self.hosts.append(host)
        bad = host.fresh_environment().get("LD_LIBRARY_PATH") == "/bad"
        return replace(self.after, findings=(FAULT,)) if bad else self.after


def machine(
    tmp_path: Path, env: Mapping[str, str], login: Mapping[str, str] | None, activated: Mapping[str, str] | None
) -> FakeHost:
    """A machine whose shell makes this of an activation, and this of a log-in."""
    out = "".join(f"{n}={v}\0" for n, v in (activated or {}).items())
    answer = CompletedProcess(status=1 if activated is None else 0, out=out)
    return FakeHost(
        root=tmp_path, environment=env, login=login, runs={("/bin/sh", "-c", ACTIVATION_SCRIPT, "sh", "/v"): answer}
    )


@pytest.mark.parametrize(
    ("inherited", "login", "activated", "expected"),
    [
        (BAD, BAD, GOOD, {"process": False, "activation": True, "bare": False, "login": False}),
        (BAD, {}, GOOD, {"process": False, "activation": True, "bare": False, "login": True}),
        (GOOD, GOOD, GOOD, {"process": True, "activation": True, "bare": True, "login": True}),
    ],
)
def test_each_way_of_starting_is_looked_at(
    tmp_path: Path,
    inherited: Mapping[str, str],
    login: Mapping[str, str],
    activated: Mapping[str, str],
    expected: Mapping[str, bool],
) -> None:
    there, look = machine(tmp_path, inherited, login, activated), Looks()
    problem, found = verify(FAULT, report(FAULT), (STEPS,), session=there, inherited=there, examine=look)
    assert problem == ""
    assert {v.way: v.holds for v in found} == expected
    assert {v.way: v.at for v in found} == {"process": "", "activation": "/v", "bare": "/v", "login": ""}
    different = {tuple(sorted(e.items())) for e in (inherited, login, activated)}
    assert len(look.hosts) == len(different), "what is the same is looked at once"
    assert look.hosts[-1] is there, "the next ordinary look is the newest"


def test_a_change_is_judged_by_the_way_that_it_is_for(tmp_path: Path) -> None:
    there = machine(tmp_path, BAD, BAD, BAD)
    problem, found = verify(FAULT, report(FAULT), (STEPS,), session=there, inherited=there, examine=Looks())
    assert (problem, found) == ("Still present: It is broken.", ())
    there = machine(tmp_path, BAD, GOOD, GOOD)
    problem, found = verify(FAULT, report(FAULT), (KEPT,), session=there, inherited=there, examine=Looks())
    assert (problem, found) == ("Still present: It is broken.", ())
    renewal = Renewal(name="LD_LIBRARY_PATH", at="/f", old="/bad", new="/good")
    session = NewSessionHost(there, GOOD, renewals=(renewal,))
    problem, found = verify(FAULT, report(FAULT), (KEPT,), session=session, inherited=session, examine=Looks())
    assert problem == ""
    assert [v.holds for v in found] == [True] * 4
    assert [v.supposed for v in found] == [True, False, False, False]


def test_another_fault_is_no_cure(tmp_path: Path) -> None:
    there = machine(tmp_path, GOOD, GOOD, GOOD)
    other = replace(report(), findings=(replace(FAULT, id="x.y", title="Worse."),))
    problem, _found = verify(FAULT, report(FAULT), (KEPT,), session=there, inherited=there, examine=Looks(other))
    assert problem == "It would cause another fault: Worse."


def test_what_could_not_be_looked_at_is_not_decided(tmp_path: Path) -> None:
    class Silent(FakeHost):
        def login_environment(self, timeout: float = 10.0) -> dict[str, str] | None:
            return None

    there = Silent(root=tmp_path, environment=GOOD)  # its shell is not scripted, so no activation answers, either
    _problem, found = verify(FAULT, report(FAULT), (KEPT,), session=there, inherited=there, examine=Looks())
    assert {v.way: v.holds for v in found} == {"process": True, "activation": None, "bare": True, "login": None}
    error = ProbeError(probe="loads", kind="time-out", message="It gave no answer in time.")
    after = report()
    after = replace(after, snapshot=replace(after.snapshot, errors=(error,)))
    _problem, found = verify(FAULT, report(FAULT), (KEPT,), session=there, inherited=there, examine=Looks(after))
    assert {v.holds for v in found} == {None}
    gone = report(prefix="/another")
    _problem, found = verify(FAULT, report(FAULT), (KEPT,), session=there, inherited=there, examine=Looks(gone))
    assert {v.holds for v in found} == {None}, "an environment that was not seen is not in order"


def test_the_environment_is_named_where_nothing_leads_to_it(tmp_path: Path) -> None:
    there, look = machine(tmp_path, BAD, GOOD, GOOD), Looks()
    verify(FAULT, report(FAULT), (STEPS,), session=there, inherited=there, examine=look)
    assert [h.pythons for h in look.hosts if isinstance(h, HostWithEnvironment)] == [("/v",)]


@pytest.mark.skipif(sys.platform == "win32", reason="environments have no activation of ours there")
def test_an_activation_is_verified_by_a_real_shell(tmp_path: Path) -> None:
    prefix = Path(os.path.realpath(tmp_path)) / "venv"
    venv.create(prefix, with_pip=False, symlinks=True)
    change: Change = SetVariable(
        name="CUDA_HOME", scope="environment", at=str(prefix), after=Value(text="set /opt/cuda", kind=ACTIVATION_KIND)
    )
    LinuxVariables("/", str(tmp_path)).write("CUDA_HOME", "environment", str(prefix), change.after)
    envs: list[dict[str, str]] = []

    def examine(host: Host) -> Report:
        envs.append(host.fresh_environment())
        return report(prefix=str(prefix))

    here = this_host()
    problem, found = verify(FAULT, report(FAULT), (change,), session=here, inherited=here, examine=examine)
    assert problem == ""
    assert [v.way for v in found if v.holds] == ["process", "activation", "bare", "login"]
    assert [e["VIRTUAL_ENV"] for e in envs if e.get("CUDA_HOME") == "/opt/cuda"] == [str(prefix)]
    shutil.rmtree(prefix / "bin")
    problem, found = verify(FAULT, report(FAULT), (change,), session=here, inherited=here, examine=examine)
    assert (problem, found) == (f"The activation of {prefix} failed.", ())


# --- in words ------------------------------------------------------------------------------------------------------


def test_the_words_say_for_which() -> None:
    ways = [VerifiedFor(way="process", holds=False), VerifiedFor(way="activation", at="/v", holds=True)]
    assert verification_sentences(ways) == (
        "Verified: the fault is gone for some ways of starting a program, and nothing got worse.",
        "Started from here: the fault is still there.",
        "Started while /v is active: the fault is gone.",
    )
    whole = verification_sentences(
        [VerifiedFor(way="process", holds=True, supposed=True), VerifiedFor(way="bare", at="/v", holds=True)]
    )
    assert whole[0] == "Verified: the fault is gone, and nothing got worse."
    assert whole[1] == "Started from here, once this session has the new values: the fault is gone."
    assert verification_sentences([VerifiedFor(way="login")]) == (
        "It could not be verified: the scan was incomplete in every case.",
        "Started after a new sign-in: undecided, because its shell or something else did not respond.",
    )
    assert verification_sentences([]) == ()
