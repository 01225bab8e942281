"""Markdown: no text of a report is more than text, wherever it stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.report.text import as_markdown
from tests.report.test_redact import planted

PIECES = st.sampled_from(
    ["*", "**", "_", "`", "```", "[a](http://x)", "![i](x)", "|", "#", "# ", "- ", "+ ", "1. ", "2) ", "> ", "<b>", "</details>",
     "<img src=x>", "~~", "&amp;", "&#60;", "\\", "\n", "\n\n", "\t", "word", "---", "===", "    code", "\x1b[31m", "| - |"]
)  # fmt: skip


def skeleton(markdown: str) -> list[str]:
    """Return what Markdown would make something of, line by line: code blocks, code spans and escapes left out."""
    found = []
    for line in markdown.splitlines():
        if line.startswith("      "):
            continue
        bare = re.sub(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)", "x", line)
        bare = re.sub(r"\\[!-/:-@\[-`{-~]|&(?:amp|lt|gt);", "x", bare)
        start = re.match(r"\s*(?:[-+>#]|\d+[.)]|=+\s*$)\s?", bare)
        found.append((start[0] if start else "") + "".join(c for c in bare if c in "*_`[]|#~<>"))
    return found


@settings(max_examples=80, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=8).map("".join).filter(str.strip))
def test_no_field_of_a_report_is_more_than_text(text: str) -> None:
    assert skeleton(as_markdown(planted(text))) == skeleton(as_markdown(planted("word")))


@pytest.mark.parametrize("text", ["- item", "1. one", "> said", "=====", "---", "# head", "</details>", "a\n\n# head"])
def test_a_line_does_not_begin_something(text: str) -> None:
    assert skeleton(as_markdown(planted(text))) == skeleton(as_markdown(planted("word")))
