"""Session codes: what is read out over the phone arrives as it was, and what was misheard is refused."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from core.doctor.examine import diagnose_snapshot
from core.knowledge.causes import cause_rows
from core.model.facts import Machine, Snapshot
from core.model.findings import Finding, Report
from core.model.steps import Severity, Step
from core.report import session_code
from tests import machines as m

VOCABULARY = cause_rows()
ITEMS = st.builds(
    session_code.CodeItem,
    cause=st.integers(0, 127),
    severity=st.sampled_from(["unknown", "warning", "error"]),
    step=st.sampled_from(list(Step)),
)
TOLD = st.builds(
    session_code.DecodedReport,
    system=st.sampled_from(["linux", "windows"]),
    items=st.lists(ITEMS, max_size=session_code.MAX_CODE_FINDINGS).map(tuple),
    primary=st.booleans(),
    more=st.booleans(),
    driver=st.none() | st.integers(0, 1023),
    driver_cuda=st.none() | st.tuples(st.integers(0, 31), st.integers(0, 15)),
    cudnn=st.none() | st.tuples(st.integers(0, 15), st.integers(0, 63), st.integers(0, 15)),
)


@given(TOLD)
def test_what_is_encoded_is_decoded(told: session_code.DecodedReport) -> None:
    text = session_code.encode_code(told)
    assert session_code.decode_code(text) == told
    assert session_code.is_code(text)
    assert len(text) <= 40


@given(TOLD, st.sampled_from([str.lower, lambda t: t.replace("-", " "), lambda t: t.replace("-", ""), str.strip]))
def test_case_and_spacing_do_not_matter(told: session_code.DecodedReport, spoken: object) -> None:
    assert session_code.decode_code(spoken(session_code.encode_code(told))) == told


def test_letters_that_look_alike_are_taken_for_digits() -> None:
    text = session_code.encode_code(session_code.DecodedReport(system="linux", driver=580))
    assert session_code.decode_code(text.replace("1", "l").replace("0", "O")) == session_code.decode_code(text)


@settings(max_examples=60, deadline=None)
@given(TOLD, st.data())
def test_any_one_or_two_wrong_signs_are_noticed(told: session_code.DecodedReport, data: st.DataObject) -> None:
    bare = session_code.encode_code(told).removeprefix("CV").replace("-", "")
    signs = list(bare)
    for place in data.draw(st.sets(st.integers(0, len(bare) - 1), min_size=1, max_size=2)):
        signs[place] = data.draw(st.sampled_from([c for c in session_code.ALPHABET if c != bare[place]]))
    with pytest.raises(session_code.CodeError):
        session_code.decode_code("CV" + "".join(signs))


@settings(max_examples=60, deadline=None)
@given(TOLD, st.data())
def test_swapped_and_lost_signs_are_noticed(told: session_code.DecodedReport, data: st.DataObject) -> None:
    bare = session_code.encode_code(told).removeprefix("CV").replace("-", "")
    at = data.draw(st.integers(0, len(bare) - 2))
    swapped = bare[:at] + bare[at + 1] + bare[at] + bare[at + 2 :]
    if swapped != bare:
        with pytest.raises(session_code.CodeError):
            session_code.decode_code("CV" + swapped)


@given(st.text(max_size=80))
def test_no_text_makes_it_fail_otherwise(text: str) -> None:
    try:
        session_code.decode_code(text)
    except session_code.CodeError as e:
        assert str(e).endswith(".")  # noqa: PT017 - most texts are refused, and a few are codes
    session_code.is_code(text)


NO_CODES = (
    "CV",
    "CVE-2024-0001 is a flaw!",
    "cuDNN",
    "126",
    "CUDNN_STATUS_NOT_INITIALIZED",
    "error.log",
    "CVlibrary",
    "",
)


@pytest.mark.parametrize("text", NO_CODES)
def test_other_terms_are_not_taken_for_codes(text: str) -> None:
    assert not session_code.is_code(text)


def broken() -> Report:
    return diagnose_snapshot(m.with_file(m.wheel_machine(), "ops", state="truncated", size=9))


def test_a_report_gives_a_short_code_with_its_cause_and_versions() -> None:
    told = session_code.decoded_report(broken())
    assert told.primary
    assert VOCABULARY[told.items[0].cause].cause == "corrupt_or_truncated_file"
    assert (told.driver, told.driver_cuda, told.cudnn) == (580, (13, 0), (9, 1, 0))
    assert len(session_code.encode_code(told).replace("-", "")) <= 20
    shown = session_code.code_text(told, VOCABULARY)
    assert "corrupt_or_truncated_file" in shown
    assert "driver 580" in shown
    assert "cuDNN 9.1.0" in shown


def test_the_json_form_has_words() -> None:
    form = msgspec.json.decode(session_code.code_json(session_code.decoded_report(broken()), VOCABULARY))
    assert form["findings"][0] == {
        "cause": "corrupt_or_truncated_file",
        "severity": "error",
        "step": broken().findings[0].step,
        "primary": True,
    }
    assert form["versions"] == {"driver": "580", "driver_cuda": "13.0", "cudnn": "9.1.0"}


def test_a_machine_in_order_and_one_with_nothing_seen_have_codes_too() -> None:
    healthy = session_code.decode_code(
        session_code.encode_code(session_code.decoded_report(diagnose_snapshot(m.wheel_machine())))
    )
    assert healthy.items == ()
    assert "Nothing wrong" in session_code.code_text(healthy, VOCABULARY)
    bare = session_code.decoded_report(Report(snapshot=Snapshot(machine=Machine(system="windows"))))
    assert session_code.decode_code(session_code.encode_code(bare)) == session_code.DecodedReport(system="windows")


def test_more_findings_than_fit_are_said_to_be_more() -> None:
    findings = tuple(
        Finding(id=f"driver.{k.cause}", cause=k.cause, step=Step.DRIVER, severity=Severity.ERROR, title="x")
        for k in VOCABULARY[:9]
    )
    told = session_code.decoded_report(replace(broken(), findings=findings))
    assert len(told.items) == session_code.MAX_CODE_FINDINGS
    assert told.more
    assert "more findings" in session_code.code_text(told, VOCABULARY)


def test_a_newer_code_is_told_as_far_as_it_is_known() -> None:
    item = session_code.CodeItem(cause=120, severity="error", step=Step.DRIVER)
    assert "does not know" in session_code.code_text(
        session_code.DecodedReport(system="linux", items=(item,)), VOCABULARY
    )


FIRST = "zlibwapi_missing cudnn_not_on_search_path cudnn_not_installed cudnn_sublibrary_missing cudnn_major_mismatch"
LAST = "nv_compute_cache_bad hardware_fault no_nvidia_gpu requirement_broken path_too_long"


def test_the_numbers_of_causes_never_change() -> None:
    words = [k.cause for k in VOCABULARY]
    # new causes go to the end of the file: codes and old reports count on it
    assert words[:5] == FIRST.split()
    assert words[46:51] == LAST.split(), "a new cause goes to the end of causes.json, so that its number is free"
    assert words[20] == "python_dll_search_change"
    assert words[33] == "driver_too_old"
    assert len(words) == len(set(words)) < session_code.NO_CAUSE
