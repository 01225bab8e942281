"""A sentence of Windows means the same in every language: the same marks, the same first cause."""

from __future__ import annotations

import pytest

from core.explain import explain
from core.explain.reading import read_text
from tests.explain.windows_sentences import SENTENCES

NAMED = {"dll": "cudnn64_8.dll", "function": "cudnnGetVersion"}
FRAMES = {
    "module": "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: {}",
    "procedure": "OSError: [WinError 127] {} Error loading C:\\venv\\torch\\lib\\torch_cuda.dll",
    "initialization": "ImportError: DLL load failed while importing onnxruntime_pybind11_state: {}",
    "paging file": "OSError: [WinError 1455] {} Error loading C:\\venv\\torch\\lib\\cudnn_cnn64_9.dll",
}
"""How programs put the sentences that name no file."""


@pytest.mark.parametrize(
    ("kind", "language"),
    [(kind, language) for kind, told in SENTENCES.items() for language in told if language != "en"],
)
def test_a_sentence_is_understood_as_the_english_one_is(kind: str, language: str) -> None:
    frame = FRAMES.get(kind, "{}")
    told, english = (frame.format(SENTENCES[kind][name].format(**NAMED)) for name in (language, "en"))
    assert read_text(told).marks == read_text(english).marks
    ours, theirs = explain(told), explain(english)
    assert [c.cause for c in ours.causes[:2]] == [c.cause for c in theirs.causes[:2]]


def test_the_words_for_a_library_alone_are_no_failed_initialization() -> None:
    assert "init-routine" not in read_text("请把动态链接库 cudnn64_8.dll 复制到这个文件夹").marks


def test_a_function_that_a_library_lacks_is_no_missing_library() -> None:
    marks = read_text(SENTENCES["entry point"]["en"].format(**NAMED)).marks
    assert "lib-mismatch-symbol" in marks
    assert not [m for m in marks if m.startswith("missing:") or m == "cudnn-not-found-words"]
