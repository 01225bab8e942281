"""Lines for a terminal: as textwrap's where every letter takes one column, and right where letters take two."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.common.text_width import column_count, pad, wrap
from core.report import help_pages

CHINESE = "程序启动、找到 GPU，却在第一次卷积时失败：“Could not load library”。Convalesce 会显示缺少哪些文件。"


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("cuDNN", 5), ("环境", 4), ("ü", 1), ("u\u0308", 1), ("（", 2), ("Größe", 5)]
)
def test_columns(text: str, count: int) -> None:
    assert column_count(text) == count


def test_a_padded_text_takes_its_columns_and_loses_no_letter() -> None:
    assert pad("环境", 6) + "|" == "环境  |"
    assert pad("PATH", 2) == "PATH"


@given(st.text("ab äß.,-/ ", max_size=80), st.integers(8, 30))
def test_letters_of_one_column_are_wrapped_as_textwrap_does(text: str, width: int) -> None:
    assert wrap(text, width, "  ", "    ") == textwrap.wrap(
        text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


@pytest.mark.parametrize("width", [20, 33, 60, 96])
def test_chinese_lines_fit_lose_nothing_and_begin_with_no_closing_mark(width: int) -> None:
    lines = wrap(CHINESE, width, "  ", "  ")
    assert max(map(column_count, lines)) <= width
    assert "".join(lines).replace(" ", "") == CHINESE.replace(" ", "")
    assert not [line for line in lines if line.strip()[0] in "，。：；、”）"]
    assert all(word in "\n".join(lines) for word in ("GPU", "Convalesce", "library"))


@given(st.text("卷积cuDNN ，。/", max_size=60), st.integers(8, 40))
def test_nothing_is_lost_whatever_the_text(text: str, width: int) -> None:
    lines = wrap(text, width, "  ", "    ")
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(column_count(line) <= width + 2 for line in lines)  # a mark that may not begin a line may stand out


def test_a_path_stays_whole_where_it_is_to_be_copied() -> None:
    path = "/home/ada/" + "x" * 60
    assert path in wrap(f"文件 {path} 缺失", 40, whole_words=True)[1]


@pytest.mark.parametrize("name", help_pages.page_names())
def test_every_chinese_page_fits_a_terminal(name: str) -> None:
    found = help_pages.find_page(name, "zh_CN")
    assert found is not None
    assert max(map(column_count, help_pages.page_text(found).splitlines())) <= 96
