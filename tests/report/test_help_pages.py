"""The newcomer's pages: one for every step and cause, plain, complete, and found by the word in a finding."""

from __future__ import annotations

import re

import pytest

from core.knowledge.causes import cause_rows
from core.model.steps import Step
from core.report.help_pages import PAGE_SYNONYMS, find_page, page_names, page_text

CAUSES = [k.cause for k in cause_rows()]
HEADINGS = ("## Symptoms", "## How to fix it", "## What not to do")


@pytest.mark.parametrize("word", [*CAUSES, *Step])
def test_every_cause_and_every_step_has_a_page(word: str) -> None:
    found = find_page(word)
    assert found is not None
    assert found.name == word
    assert found.title


@pytest.mark.parametrize("cause", CAUSES)
def test_a_causes_page_says_what_it_is_how_one_sees_it_what_cures_it_and_what_not_to_do(cause: str) -> None:
    found = find_page(cause)
    assert found is not None
    places = [found.markdown.find(h) for h in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)
    assert places[0] > len(found.title) + 60


def test_there_is_no_page_that_nobody_finds() -> None:
    topics = {"search-path", "error-126", "first-screen", "what-changes"}
    assert set(page_names()) == {*CAUSES, *(s.value for s in Step), *topics}
    assert set(PAGE_SYNONYMS.values()) <= set(page_names())


@pytest.mark.parametrize("name", page_names())
def test_pages_are_short_and_hold_nothing_but_headings_paragraphs_and_lists(name: str) -> None:
    found = find_page(name)
    assert found is not None
    assert 60 <= len(found.markdown.split()) <= 260
    assert not re.search(r"https?://|<[a-z]|\]\(|\t", found.markdown)
    assert found.markdown.startswith("# ")
    assert found.markdown.count("\n# ") == 0
    # what a page says of other words must be there
    for mentioned in re.findall(r"\[([a-z_]+)\]", found.markdown):
        assert find_page(mentioned)


@pytest.mark.parametrize("word", ["Driver too old", "driver-too-old", "DRIVER_TOO_OLD", " driver_too_old "])
def test_a_cause_is_found_however_it_is_typed(word: str) -> None:
    found = find_page(word)
    assert found is not None
    assert found.name == "driver_too_old"


@pytest.mark.parametrize("word", ["PATH", "path", "dll", "search path"])
def test_everyday_words_lead_to_a_topic(word: str) -> None:
    assert find_page(word) is not None


@pytest.mark.parametrize(
    "word", ["", "126", "../../knowledge/causes", "en/driver", "driver.md", "a" * 500, "\x00", "C:\\x", "."]
)
def test_another_word_has_no_page_and_no_path_leads_out(word: str) -> None:
    assert find_page(word) is None


def test_a_language_without_the_page_gives_the_english_one() -> None:
    assert find_page("driver", "xx") == find_page("driver")
    assert find_page("driver", "../..") == find_page("driver")


@pytest.mark.parametrize("name", page_names())
def test_the_terminals_form_is_wrapped_and_bare(name: str) -> None:
    found = find_page(name)
    assert found is not None
    shown = page_text(found, width=72)
    assert max(map(len, shown.splitlines())) <= 72
    assert "`" not in shown
    assert "##" not in shown
    assert "\x1b" not in shown
    assert "\x1b[1m" in page_text(found, colour=True)
