"""Reading: the relevant lines of a large log, hostile text made harmless, work that does not grow with noise."""

from __future__ import annotations

import json

import pytest

from core.common import i18n
from core.common.text_width import column_count
from core.explain import decode_text, explain, render_text, to_json
from core.explain.engine import NOTHING_TEXT
from core.explain.extract import MAX_EXTRACT_BYTES, relevant_part
from core.explain.reading import read_text

LINE = "2024-05-01 12:00:01 INFO service.Handler - request 12345 handled in 12 ms, permission denied, service resumed\n"
ERROR = "Could not load library cudnn_cnn_infer64_8.dll. Error code 126\n"


@pytest.mark.parametrize("text", ["", " \n", "hello world", LINE * 50_000, "Compilation finished, 0 errors\n" * 9])
def test_unrelated_text_is_called_so(text: str) -> None:
    explained = explain(text)
    assert explained.sentence == NOTHING_TEXT
    assert explained.causes == ()


@pytest.mark.parametrize("before", [0, 20_000, 60_000])
def test_one_line_is_found_in_noise(before: int) -> None:
    explained = explain(LINE * before + ERROR + LINE * (60_000 - before))
    assert explained.causes[0].cause == "zlibwapi_missing"
    assert ERROR.strip() in explained.lines


def test_what_is_read_closely_does_not_grow_with_the_text() -> None:
    for unit in ("cuda ", "cudnn64_8.dll ", "error code 126 ", "gpu\n"):
        assert len(relevant_part(unit * 1_000_000)) <= MAX_EXTRACT_BYTES + 10_000


def test_first_and_last_error_are_both_read() -> None:
    spam = "gpu worker alive, cuda stream ok\n" * 50_000
    low = read_text("CUDNN_STATUS_ALLOC_FAILED\n" + spam + "torch c10.dll\n").low
    assert "cudnn_status_alloc_failed" in low
    assert "c10.dll" in low


HOSTILE = {
    "terminal escape": "\x1b[31mCould not load library \x1b]0;owned\x07cudnn_cnn_infer64_8.dll. Error code 126\x1b[0m",
    "direction": "Could not load library \u202ecudnn_cnn_infer64_8.dll\u202c. Error code 126",
    "zero width": "Could not load lib\u200brary cudnn_cnn\u200b_infer64_8.dll. Error code 126",
    "control": "Could not load library\x00 cudnn_cnn_infer64_8.dll.\x07 Error code 126\r\n",
    "HTML": "<p>Could not load library <b>cudnn_cnn_infer64_8.dll</b>. Error code&nbsp;126<script>alert(1)</script></p>",
    "surrogate": "Could not load library cudnn_cnn_infer64_8.dll. Error code 126 \udcff\ud800",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_understood_and_shown_harmlessly(name: str) -> None:
    explained = explain(HOSTILE[name])
    shown = render_text(explained) + "".join(explained.lines)
    assert explained.causes[0].cause == "zlibwapi_missing"
    assert all(c.isprintable() or c == "\n" for c in shown)
    assert "<script" not in shown
    json.loads(to_json(explained))


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "[",
        "a" * 80 + ".dll",
        "sm_",
        "\\x",
        "/usr/lib/",
        "C:\\a\\é[",
        "cudnn compiled (8, 1, ",
        "_",
        "ln -s ",
        "copy ",
    ],
)
def test_repeated_pieces_raise_nothing(unit: str) -> None:
    assert explain(unit * (30_000 // len(unit))).sentence


def test_long_lines_are_cut_to_windows() -> None:
    assert explain("x" * 1_000_000 + " " + ERROR.strip() + " " + "y" * 1_000_000).causes[0].cause == "zlibwapi_missing"


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_files_of_windows_shells_are_decoded(coding: str) -> None:
    assert ERROR.strip() in decode_text((ERROR * 40).encode(coding))


def test_mojibake_is_no_obstacle() -> None:
    garbled = "OSError: [WinError 126] 找不到指定的模块。 fbgemm.dll torch".encode().decode("cp1252", "replace")
    assert explain(garbled).causes[0].cause == "vc_runtime_missing"


def test_json_has_the_form_of_the_contract() -> None:
    document = json.loads(to_json(explain(ERROR)))
    first = document["causes"][0]
    assert set(first) >= {"cause", "score", "because", "verdict"}
    assert first["verdict"] == "open"
    assert document["codes"][0]["meaning"]


@pytest.mark.parametrize("language", ["en", "de", "zh_CN"])
@pytest.mark.parametrize("width", [60, 80])
def test_no_line_is_wider_than_the_terminal(width: int, language: str) -> None:
    i18n.use_language(language)
    try:
        shown = render_text(explain("Could not load library cudnn64_9.dll. Error code 126"), width=width)
    finally:
        i18n.use_language(i18n.ENGLISH)
    assert [line for line in shown.splitlines() if column_count(line) > width] == []
