"""The check: one state and one line for every machine, in every engine's form, as that engine's own readers take it."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.cli import main as cli
from core.common import i18n
from core.common.text_width import column_count
from core.doctor.check import check_report
from core.doctor.examine import diagnose_snapshot
from core.model.facts import Snapshot, Variable
from core.model.findings import Report
from core.model.steps import Severity
from core.report.check import forms
from core.report.check.expectations import PolicyError, answer_expectations, policy_of, read_policy
from core.report.check.forms import FORMS
from core.report.check.forms.table import PLAIN, Form, form_of
from core.report.check.outcome import (
    LONGEST_LINE,
    STATES,
    CheckRow,
    Outcome,
    State,
    check_outcome,
    cut_line,
    no_answer,
)
from core.report.json_form import from_json
from tests import machines as m
from tests.test_same_everywhere import MACHINES
from tests.test_snapshots import RECORDED

ROOT = Path(__file__).parents[2]
EVERY = {"plain": PLAIN, **{name: form_of(name) for name in FORMS}}


def outcome_of(seen: Snapshot) -> Outcome:
    return check_report(Report(snapshot=seen))[0]


def outcome(state: State, text: str = "It is broken.", subject: str = "") -> Outcome:
    rows = () if state == "ok" else (CheckRow(kind="finding", name="x.y", state=state, text=text, subject=subject),)
    return Outcome(state=state, line=text, rows=rows, seconds=0.25, version="1")


def test_an_engine_is_one_short_module_and_one_row() -> None:
    modules = {file.stem: file for file in Path(forms.__file__).parent.glob("*.py")}
    assert modules.keys() - {"__init__", "table"} == set(FORMS)
    assert [name for name in FORMS if len(modules[name].read_text(encoding="utf-8").splitlines()) > 60] == []


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_has_the_state_of_its_report(name: str) -> None:
    report = diagnose_snapshot(MACHINES[name]())
    got = check_outcome(report, (), (), 0.1)
    worst = report.worst_severity
    assert (got.state == "critical") == (worst is Severity.ERROR)
    assert (got.state == "warning") == (worst is Severity.WARNING)
    if got.state != "ok":
        told = next(r for r in got.rows if r.state == got.state and r.kind != "step")
        first = report.headline
        assert got.line.startswith(first.title if first and first.severity is worst else told.text)
    for form in EVERY.values():
        for line in form.render(got, 80).splitlines()[:1]:
            assert is_plain(line)


ANSWERS: dict[str, dict[State, int]] = {
    "plain": {"ok": 0, "warning": 0, "critical": 1, "unknown": 5},
    "nagios": {"ok": 0, "warning": 1, "critical": 2, "unknown": 3},
    "npd": {"ok": 0, "warning": 0, "critical": 1, "unknown": 2},
    "prom": {"ok": 0, "warning": 0, "critical": 0, "unknown": 0},
    "junit": {"ok": 0, "warning": 0, "critical": 1, "unknown": 1},
    "sarif": {"ok": 0, "warning": 0, "critical": 1, "unknown": 1},
    "github": {"ok": 0, "warning": 0, "critical": 1, "unknown": 1},
    "intune": {"ok": 0, "warning": 0, "critical": 1, "unknown": 0},
    "slurm": {"ok": 0, "warning": 0, "critical": 1, "unknown": 0},
}


def test_the_exit_statuses_are_those_of_the_engines() -> None:
    assert {name: dict(form.statuses) for name, form in EVERY.items()} == ANSWERS


@cache
def outcomes_in(language: str) -> tuple[Outcome, ...]:
    """Return the outcome for every machine; engines render what was said once."""
    i18n.use_language(language)
    try:
        return tuple(outcome_of(machine()) for machine in MACHINES.values())
    finally:
        i18n.use_language("en")


@pytest.mark.parametrize("language", ["en", "de", "zh_CN"])
@pytest.mark.parametrize("name", EVERY)
def test_no_line_is_longer_than_its_engine_keeps(name: str, language: str) -> None:
    """A Chinese letter takes two columns, and three bytes of the 80 that node-problem-detector keeps."""
    made = outcomes_in(language)
    i18n.use_language(language)
    try:
        lines = [EVERY[name].render(o, 80).partition(" | ")[0].rstrip("\n") for o in made]
        longest = [EVERY[name].render(replace(o, line=o.line * 400), LONGEST_LINE) for o in made[:3]]
    finally:
        i18n.use_language("en")
    if READERS[name] not in (prom, junit, sarif):
        assert max(column_count(line.splitlines()[0]) for line in lines if line) <= 80
        assert max(len(text.splitlines()[0]) for text in longest if text) <= LONGEST_LINE
    if name == "npd":
        assert max(len(line.encode()) for line in lines) <= 80


def is_plain(text: str) -> bool:
    """Nothing in it drives a terminal or ends a line."""
    return not {unicodedata.category(c) for c in text} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def one_line(text: str, length: int) -> None:
    """One printable line of at most ``length``, or nothing."""
    assert text == "" or (text.endswith("\n") and text.count("\n") == 1 and len(text) <= length + 1)
    assert is_plain(text.rstrip("\n"))


def nagios(text: str, length: int) -> None:
    assert len(text) <= LONGEST_LINE + 1
    line, bar, data = text.partition(" | ")
    one_line(line + "\n", length)
    assert bar
    assert "|" not in line
    assert re.fullmatch(r"faults=\d+ warnings=\d+ time=\d+\.\d{3}s\n", data)


def prom(text: str, _length: int) -> None:
    """What the text format allows; promtool itself reads it by hand (docs/engines.md)."""
    sample = re.compile(r'(?:# (?:HELP|TYPE) \w+ .+|\w+(?:\{\w+="(?:[^"\\\n]|\\["\\n])*"\})? -?\d+(?:\.\d+)?)')
    assert [line for line in text.splitlines() if not sample.fullmatch(line)] == []
    states = re.findall(r'^convalesce_state\{state="(\w+)"\} ([01])$', text, re.MULTILINE)
    assert sorted(s for s, _ in states) == sorted(STATES)
    assert sum(int(n) for _, n in states) == 1


def junit(text: str, _length: int) -> None:
    suite = ElementTree.fromstring(text)
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(cases) > 0
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("errors", "")) == len(suite.findall("testcase/error"))


def sarif(text: str, _length: int) -> None:
    run = json.loads(text)["runs"][0]
    known = {r["id"] for r in run["tool"]["driver"]["rules"]}
    assert {r["ruleId"] for r in run["results"]} <= known
    for result in run["results"]:
        for place in result.get("locations", ()):
            assert re.match(r"[a-z]+://", place["physicalLocation"]["artifactLocation"]["uri"])


def github(text: str, length: int) -> None:
    first, *annotations = text.splitlines()
    one_line(first + "\n", length)
    assert [a for a in annotations if not re.fullmatch(r"::(?:error|warning|notice) title=[^,:]*::.*", a)] == []


READERS: dict[str, Callable[[str, int], None]] = {
    "plain": one_line,
    "nagios": nagios,
    "npd": one_line,
    "prom": prom,
    "junit": junit,
    "sarif": sarif,
    "github": github,
    "intune": one_line,
    "slurm": one_line,
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("state", STATES)
@given(
    text=st.text(max_size=200),
    subject=st.one_of(st.just("/opt/x y"), st.text(max_size=40)),
    length=st.integers(20, 120),
)
def test_any_text_is_safe_in_every_form(name: str, state: State, text: str, subject: str, length: int) -> None:
    READERS[name](EVERY[name].render(outcome(state, text, subject), length), length)


@given(text=st.text(max_size=300), length=st.integers(20, LONGEST_LINE))
def test_a_line_is_cut_to_its_length(text: str, length: int) -> None:
    got = cut_line(text, length)
    assert len(got) <= length
    assert is_plain(got)


@pytest.mark.parametrize(("name", "form"), EVERY.items())
def test_a_check_that_did_not_end_is_unknown(name: str, form: Form) -> None:
    got = no_answer(2.0, 2.0, "1")
    assert got.state == "unknown"
    READERS[name](form.render(got, 80), 80)


# --- a policy ----------------------------------------------------------------------------------------------

HEALTHY = MACHINES["rule frameworks: healthy"]()
POLICIES = {
    '[driver]\nat_least = "500"': True,
    '[driver]\nat_least = "999"': False,
    '[driver]\nat_most = "999"': True,
    '[driver]\nat_most = "500"': False,
    "[gpus]\ncount = 1": True,
    "[gpus]\ncount = 8": False,
    "[gpus]\nat_least = 1": True,
    "[gpus]\nat_least = 2": False,
    '[gpus]\nname = "another"': False,
    '[variables]\nunset = ["LD_PRELOAD"]': True,
    '[variables]\nunset = ["CUDA_HOME"]': False,
    '[variables.equal]\nCUDA_HOME = "/opt/cuda"': True,
    '[variables.equal]\nCUDA_HOME = "/usr"': False,
    '[variables.equal]\nNOT_THERE = ""': False,
    '[[framework]]\nname = "pytorch"': True,
    f'[[framework]]\nname = "PyTorch"\nenvironment = "{m.PREFIX}"\nat_least = "2.0"': True,
    f'[[framework]]\nname = "PyTorch"\nenvironment = "{m.PREFIX}"\nat_least = "9.0"': False,
    '[[framework]]\nname = "PyTorch"\nenvironment = "/elsewhere"': False,
    '[[framework]]\nname = "PyTorch"\nverdict = "runs"': False,
    '[[framework]]\nname = "PyTorch"\ngpus = 1': False,
    '[[framework]]\nname = "JAX"': False,
}


def with_home(seen: Snapshot) -> Snapshot:
    assert seen.environment
    home = Variable(name="CUDA_HOME", value="/opt/cuda", source="process")
    return replace(seen, environment=replace(seen.environment, variables=(*seen.environment.variables, home)))


@pytest.mark.parametrize(("text", "held"), POLICIES.items())
def test_an_expectation_holds_or_fails_by_what_was_seen(text: str, held: bool) -> None:
    report = diagnose_snapshot(with_home(HEALTHY))
    policy = read_policy(text.encode())
    [answer] = answer_expectations(policy, report)
    assert answer.held is held, answer
    got = check_report(Report(snapshot=with_home(HEALTHY)), policy)[0]
    assert got.state == ("ok" if held else "critical") or report.worst_severity >= Severity.WARNING


BAD = {
    "no TOML": b"[driver",
    "a misspelt key": b"[driver]\natleast = '580'",
    "a misspelt table": b"[drivers]\nat_least = '580'",
    "a wrong type": b"[gpus]\ncount = 'eight'",
    "an unknown verdict": b"[[framework]]\nname = 'x'\nverdict = 'fine'",
    "no text": b"\x00\x01\xff\xfe\x80",
    "too large": b"#" * (1024 * 1024 + 1),
    "too deep": b"x = " + b"[" * 100_000,
    "long number": b"[gpus]\ncount = " + b"9" * 5000,
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_bad_policy_is_one_sentence(data: bytes) -> None:
    with pytest.raises(PolicyError) as e:
        read_policy(data)
    assert len(str(e.value).splitlines()) == 1
    assert "codec" not in str(e.value)


def test_a_policy_in_the_utf_16_of_powershell_is_read() -> None:
    assert read_policy("[gpus]\ncount = 2\n".encode("utf-16")) == read_policy(b"[gpus]\ncount = 2\n")


@pytest.mark.parametrize("name", m.HEALTHY)
def test_a_healthy_machine_meets_the_policy_that_is_written_of_it(name: str) -> None:
    report = diagnose_snapshot(m.HEALTHY[name]())
    text = policy_of(report)
    tomllib.loads(text)
    assert [a for a in answer_expectations(read_policy(text.encode()), report) if not a.held] == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_a_recorded_machine_meets_its_own_policy_or_has_none(path: Path, tmp_path: Path) -> None:
    """Through the command: written of every machine that is in order, met by it, and refused of every other one."""
    golden = tmp_path / "golden.toml"
    state = check_report(from_json(path.read_bytes()))[0].state
    written = cli.main(["check", "--report", str(path), "--write-expect", str(golden)])
    assert golden.exists() == (state in ("ok", "warning"))
    assert (written == 2) == (state in ("critical", "unknown"))
    if golden.exists():
        outcome, _report = check_report(from_json(path.read_bytes()), read_policy(golden.read_bytes()))
        assert [r.text for r in outcome.rows if r.kind == "expectation" and r.state != "ok"] == []
        assert outcome.state == state


def test_a_policy_says_what_the_golden_machine_does_without() -> None:
    golden = diagnose_snapshot(m.wheel_machine())
    policy = read_policy(policy_of(golden).encode())
    assert policy.variables.unset == ("LD_LIBRARY_PATH", "LD_PRELOAD")
    other = diagnose_snapshot(m.with_variable(m.wheel_machine(), "LD_LIBRARY_PATH", "/opt/old"))
    assert [a.key for a in answer_expectations(policy, other) if not a.held] == ["variables.unset.LD_LIBRARY_PATH"]


def test_the_golden_machine_is_a_test_for_a_sick_one() -> None:
    policy = read_policy(policy_of(diagnose_snapshot(m.wheel_machine())).encode())
    got = check_report(Report(snapshot=m.no_gpu_machine()), policy)[0]
    assert got.state == "critical"
    assert any(r.kind == "expectation" and r.state == "critical" for r in got.rows)


def test_an_accepted_cause_no_longer_counts() -> None:
    sick = m.without_file(m.wheel_machine(), "cnn")
    report = diagnose_snapshot(sick)
    assert report.primary
    causes = sorted({f.cause for f in report.findings if f.severity >= Severity.WARNING and f.cause})
    accepting = read_policy(f"accepted = {json.dumps(causes)}".encode())
    assert outcome_of(sick).state == "critical"
    got = check_report(Report(snapshot=sick), accepting)[0]
    assert [r for r in got.rows if r.cause in causes] == []
